"""Exports of conference systems to reviews and what came with them.

In: bytes of an export. Out: `Imported`: reviews, committee, titles, conflicts, and what was dropped. Bytes
are opened (`open`), recognized (`detect`), read as text by the system's module, and checked (`normalize`).
Open `detect` first, whose table lists the systems. A new one is a module of its own with `NAME`, `TITLE`,
`recognize` and `read`; tests/data/exports.py has its exports. Imports: the core.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.importers.detect import FORMATS as FORMATS
    from blindcal.importers.detect import import_reviews as import_reviews
    from blindcal.importers.open import MAX_EXPORT as MAX_EXPORT
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
