"""A release or a plan to pages that people read.

In: a certificate with its decisions, or a plan. Out: an HTML report, charts, and one plain sentence
for every number. Open `wording` first for the sentences, then `page`. Imports: exporters and
earlier.
"""

from blindcal.report.wording import explain_certificate, read_certificate

__all__ = ["explain_certificate", "read_certificate"]
