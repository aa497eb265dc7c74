"""What a bug report should say: versions of blindcal, of what it computes with, and of its formats."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from blindcal import __version__

_CORE = ("numpy", "scipy", "highspy")
_REST = ("typer", "rich", "joblib", "jinja2", "dask", "distributed", "matplotlib", "opendp")


def version_text() -> str:
    """The version in the first line; then everything that decisions and errors may depend on.

    >>> version_text().splitlines()[0] == f"blindcal {__version__}"
    True
    """
    from blindcal.deciding.certificate_file import CERTIFICATE_FORMAT
    from blindcal.deciding.coins import COIN_FORMAT
    from blindcal.deciding.ledger import SEALED_FORMAT

    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return "\n".join(
        [
            f"blindcal {__version__}",
            f"{platform.python_implementation()} {platform.python_version()} on {system}",
            ", ".join(f"{name} {_installed(name)}" for name in _CORE),
            ", ".join(f"{name} {_installed(name)}" for name in _REST),
            f"formats: sealed {SEALED_FORMAT}, coins {COIN_FORMAT}, certificate {CERTIFICATE_FORMAT}",
        ]
    )


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
