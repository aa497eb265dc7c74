"""A folder for each conference: `conference.toml` -> what every command would otherwise be given by options.

In: a folder that `blindcal new` made. Out: `Folder`, whose settings have the names of options, and what they
add up to (`asking`). For a new one: `founding` makes it from the files that a chair has, with its inputs
(`filling`), the text of its `conference.toml` (`templates`) and its key (`keys`), in a folder that is there
whole or not at all (`making`). Imports: importers and below.
"""

from blindcal.folders.asking import Asked, asked
from blindcal.folders.filling import Contents, write_inputs
from blindcal.folders.founding import Founded, Given, Wishes, found_folder
from blindcal.folders.making import new_folder
from blindcal.folders.settings import Folder, read_folder
from blindcal.folders.templates import conference_text

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
