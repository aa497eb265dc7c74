"""Public files of a release, or a plan -> pages that people read. An edge of the core.

In: certificate and decisions as they were published; the public side of a conference. Out: one HTML page that
needs nothing else (`pages`, from what `surveys` finds and `charts` draws), and a sentence for every number of
a certificate (`explanations`). The promises are worded in `sentences`, the rest of the page in `templates/`.
Nothing here knows a true reviewer. Imports: exporters and below; Jinja2 for the page.
"""

from blindcal.reports.explanations import Explained, Line, explained
from blindcal.reports.pages import Report, page
from blindcal.reports.reading import read_certificate
from blindcal.reports.surveys import Survey, Surveyed, survey

__all__ = [
    "Explained",
    "Line",
    "Report",
    "Survey",
    "Surveyed",
    "explained",
    "page",
    "read_certificate",
    "survey",
]
