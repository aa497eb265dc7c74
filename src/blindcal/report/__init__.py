"""A release or a plan to pages that people read.

In: a certificate with its decisions, or a plan. Out: an HTML report, charts, and one plain sentence
for every number. Open `wording` first for the sentences, then `page`. Imports: exporters and
earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.report.wording import explain_certificate as explain_certificate
    from blindcal.report.wording import read_certificate as read_certificate
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
