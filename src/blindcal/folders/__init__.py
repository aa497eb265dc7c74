"""A folder for each conference: `conference.toml` -> what every command would otherwise be given by options.

In: a folder that `blindcal new` made. Out: `Folder`, whose settings have the names of options; the text of a
new `conference.toml`; folders that are there whole or not at all. Imports: files and below.
"""

from blindcal.folders.making import new_folder
from blindcal.folders.settings import Folder, read_folder
from blindcal.folders.templates import conference_text

__all__ = [
    "Folder",
    "conference_text",
    "new_folder",
    "read_folder",
]
