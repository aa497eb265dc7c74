"""A release or a plan to pages that people read.

In: a certificate with its decisions, or a plan. Out: an HTML report, charts, and one plain sentence
for every number. Open `wording` first for the sentences, then `page`. Imports: exporters and
earlier.
"""

from blindcal.report.explanation import ExplainedField, ExplainedPart, explain_certificate, read_certificate
from blindcal.report.guarantee_survey import Survey, Surveyed, survey
from blindcal.report.html_page import Report, page

__all__ = [
    "ExplainedField",
    "ExplainedPart",
    "Report",
    "Survey",
    "Surveyed",
    "explain_certificate",
    "page",
    "read_certificate",
    "survey",
]
