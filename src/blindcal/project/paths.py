"""Where a conference's folder and its key should not lie: where other programs copy them."""

from __future__ import annotations

import os
from pathlib import Path

from blindcal.deciding.paths import locations
from blindcal.io.tables import StrPath

# How services name the folders that they copy, on Windows, macOS and Linux.
_SERVICES = (
    ("Dropbox", "Dropbox"),
    ("OneDrive", "OneDrive"),
    ("iCloud", "iCloudDrive"),
    ("iCloud", "iCloud Drive"),
    ("iCloud", "Mobile Documents"),
    ("Google Drive", "GoogleDrive"),
    ("Google Drive", "Google Drive"),
    ("Nextcloud", "Nextcloud"),
    ("Box", "Box Sync"),
    ("a cloud service", "CloudStorage"),
)


def copied_remarks(*paths: StrPath) -> list[str]:
    """A remark if one of some secret files or folders lies where Git or a cloud service would copy it.

    `paths`: the files and folders, which need not exist yet; the first that is copied is named.
    """
    for path in paths:
        parents = {parent for location in locations(Path(path)) for parent in location.parents}
        marks = [parent.name for parent in parents]
        marks += ["Dropbox" for parent in parents if os.path.lexists(parent / ".dropbox.cache")]
        services = [service for service, start in _SERVICES if any(name.startswith(start) for name in marks)]
        copiers = [f"a folder of {service}, which copies it to its servers" for service in services]
        if any(os.path.lexists(parent / ".git") for parent in parents):
            copiers.append("a Git work tree, and `git add` would copy it into the history")
        if copiers:
            secret = "the folder and its key, which are secret, should lie elsewhere"
            return [f"{path} lies in {copiers[0]}: {secret}"]
    return []
