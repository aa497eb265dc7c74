"""A conference's folder: its settings, its template, and how it is made.

In: exports and past reviews, or an existing folder. Out: `conference.toml` with checked settings,
the folder's files, what a command asks of it. Open `settings` first, then `create`. Imports: report
and earlier.
"""

from blindcal.project.create import (
    CreatedFolder,
    FolderContents,
    InitialSettings,
    SourceFiles,
    create_folder,
)
from blindcal.project.settings import Folder, FolderRequest, folder_request, read_folder
from blindcal.project.template import conference_text

__all__ = [
    "CreatedFolder",
    "Folder",
    "FolderContents",
    "FolderRequest",
    "InitialSettings",
    "SourceFiles",
    "conference_text",
    "create_folder",
    "folder_request",
    "read_folder",
]
