#!/usr/bin/env python3
"""Write the hashes of pinned releases into requirement files, as the package index states them.

    python tools/requirement_hashes.py requirements/*.txt

Each line `name==version` gets the hashes of its source archive and of its wheels for Linux and macOS, which
pip then insists on. A release that the index does not have is refused. Needs only Python's standard library.
"""

from __future__ import annotations

import re
import sys
import urllib.request
from pathlib import Path
from urllib.parse import unquote

INDEX = "https://pypi.org/simple"
_LINK = re.compile(r'href="[^"#]+#sha256=([0-9a-f]{64})"[^>]*>([^<]+)</a>')
_PIN = re.compile(r"([\w.-]+)(?:\[\w+\])?==([^\s;\\]+)( ?;[^\\]+)?")
# Wheels that a supported Python may take on Linux or macOS; Windows runs blindcal in WSL.
_PYTHON = re.compile(r"py3|py2\.py3|cp3\d*-abi3|cp31[1-9]-cp31[1-9]")
_SYSTEM = re.compile(r"any|manylinux\S*(?:x86_64|aarch64)|macosx\S*(?:x86_64|arm64|universal2)")


def usable(file: str, version: str) -> bool:
    """Whether a file of the index is this version, for a Python and a system that are supported.

    >>> usable("numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl", "2.4.6")
    True
    >>> usable("numpy-2.4.6-cp311-cp311-win_amd64.whl", "2.4.6"), usable("numpy-2.4.5.tar.gz", "2.4.6")
    (False, False)
    """
    if file.endswith(".whl"):
        _, own, *rest = file.removesuffix(".whl").split("-")
        python, system = "-".join(rest[-3:-1]), rest[-1]
        return own == version and bool(_PYTHON.match(python)) and bool(_SYSTEM.match(system))
    return file.endswith(".tar.gz") and file.removesuffix(".tar.gz").rpartition("-")[2] == version


def hashes(name: str, version: str) -> list[str]:
    """The hashes of a release's files, sorted."""
    project = re.sub(r"[-_.]+", "-", name).lower()
    with urllib.request.urlopen(f"{INDEX}/{project}/", timeout=60) as answer:
        files = _LINK.findall(answer.read().decode())
    found = sorted({digest for digest, file in files if usable(unquote(file.strip()), version)})
    if not found:
        sys.exit(f"{INDEX} has no {name} {version} for Linux or macOS")
    return found


def hashed(text: str) -> str:
    """The text of a requirement file with the hashes of today's pins."""
    lines = []
    for line in text.splitlines():
        if line.lstrip().startswith("--hash="):
            continue
        if (pin := _PIN.match(line)) is None:
            lines.append(line)
            continue
        parts = [pin[0].rstrip(), *(f"    --hash=sha256:{digest}" for digest in hashes(pin[1], pin[2]))]
        lines.append(" \\\n".join(parts))
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(hashed(path.read_text(encoding="utf-8")), encoding="utf-8")
