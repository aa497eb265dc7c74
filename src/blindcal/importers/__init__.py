"""Importers: the exports of conference systems -> Reviews and what came with them. An edge of the core.

bytes -> Opened (sheets or JSON) -> Found (a system's reviews, as text) -> Imported (checked, sorted)

In: bytes of an export. Out: `Imported`: reviews, committee, titles, conflicts, and what was dropped. A
new system is a module of its own here with `NAME`, `recognize` and `read`, listed in `recognizing` before
`panels`, which takes any table; `cli.imports` and `app.views` name it, tests/exports.py has its exports.
Imports: the core, never the reverse.
"""

from blindcal.importers.detect import FORMATS, import_reviews
from blindcal.importers.export import Choices, Dropped
from blindcal.importers.lists import read_conflicts, read_people
from blindcal.importers.normalize import Imported, coded, withdrawn_lines
from blindcal.importers.open import MAX_EXPORT
from blindcal.importers.people import read_codes, read_map, read_maps, team_codes
from blindcal.importers.scores import ScoreScale

__all__ = [
    "FORMATS",
    "MAX_EXPORT",
    "Choices",
    "Dropped",
    "Imported",
    "ScoreScale",
    "coded",
    "import_reviews",
    "read_codes",
    "read_conflicts",
    "read_map",
    "read_maps",
    "read_people",
    "team_codes",
    "withdrawn_lines",
]
