"""Decisions to the files that conference systems and spreadsheets read.

In: the public table of decisions, titles, decisions overridden by hand. Out: bytes of a file, for HotCRP,
OpenReview, pretalx (the program `pretalx_states.txt`, filled in), or as a table or workbook. Open `formats`
first. Imports: io and earlier.
"""

from blindcal.exporters.formats import FORMATS, WHAT, export

__all__ = ["FORMATS", "WHAT", "export"]
