"""A folder for each conference: `conference.toml` -> what every command would otherwise be given by options.

In: a folder that `blindcal new` made. Out: `Folder`, whose settings have the names of options. For a new one:
its inputs (`filling`), the text of its `conference.toml` (`templates`), and a folder that is there whole or
not at all (`making`). Imports: importers and below.
"""

from blindcal.folders.filling import Contents, write_inputs
from blindcal.folders.making import new_folder
from blindcal.folders.settings import Folder, read_folder
from blindcal.folders.templates import conference_text

__all__ = [
    "Contents",
    "Folder",
    "conference_text",
    "new_folder",
    "read_folder",
    "write_inputs",
]
