"""Decisions to the files that conference systems and spreadsheets read.

In: the public table of decisions, titles, decisions overridden by hand. Out: bytes of a file, for HotCRP,
OpenReview, pretalx (the program `pretalx_states.txt`, filled in), or as a table or workbook. Open `formats`
first. Imports: io and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.exporters.formats import FORMATS as FORMATS
    from blindcal.exporters.formats import WHAT as WHAT
    from blindcal.exporters.formats import export as export
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
