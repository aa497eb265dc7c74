"""A conference's folder: its settings, its template, and how it is made.

In: exports and past reviews, or an existing folder. Out: `conference.toml` with checked settings,
the folder's files, what a command asks of it. Open `settings` first, then `create`. Imports: report
and earlier.
"""

from blindcal.project.settings import read_folder

__all__ = ["read_folder"]
