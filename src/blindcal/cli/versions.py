"""What a bug report should say: the versions of blindcal and of the packages that it computes with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from blindcal import __version__

_CORE = ("numpy", "scipy", "highspy")
_OPTIONAL = ("typer", "rich", "joblib", "jinja2", "dask", "distributed", "matplotlib", "opendp")


def version_text() -> str:
    """The version on the first line, then the versions on which decisions and errors may depend.

    No package is imported for it. Certificates and sealed files state their own formats.

    >>> version_text().splitlines()[0] == f"blindcal {__version__}"
    True
    """
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return "\n".join(
        [
            f"blindcal {__version__}",
            f"{platform.python_implementation()} {platform.python_version()} on {system}",
            *(", ".join(f"{name} {_installed(name)}" for name in names) for names in (_CORE, _OPTIONAL)),
        ]
    )


def _installed(name: str) -> str:
    """The version of a package, by its metadata."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
