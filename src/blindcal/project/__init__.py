"""A conference's folder: its settings, its template, and how it is made.

In: exports and past reviews, or an existing folder. Out: `conference.toml` with checked settings,
the folder's files, one step of a conference per function. Open `settings` first, then `folder`.
Imports: report and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.project.settings import read_folder as read_folder
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
