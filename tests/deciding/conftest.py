"""A key in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.deciding.key import make_key


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"
