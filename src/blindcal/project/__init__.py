"""A conference's folder: its settings, its template, and how it is made.

In: exports and past reviews, or an existing folder. Out: `conference.toml` with checked settings,
the folder's files, what a command asks of it. Open `settings` first, then `create`. Imports: report
and earlier.
"""

from blindcal.project.create import Contents, Founded, Given, Wishes, found_folder, new_folder, write_inputs
from blindcal.project.settings import Asked, Folder, asked, read_folder
from blindcal.project.template import conference_text

__all__ = [
    "Asked",
    "Contents",
    "Folder",
    "Founded",
    "Given",
    "Wishes",
    "asked",
    "conference_text",
    "found_folder",
    "new_folder",
    "read_folder",
    "write_inputs",
]
