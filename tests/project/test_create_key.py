"""Keys of folders: beside them, never inside, and none in the place of one that was lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import InputError, RefusedError
from blindcal.project.create import check_key, key_beside, new_key, refuse_lost


def test_a_key_lies_beside_its_folder_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    key = key_beside(tmp_path / "icx")
    assert key == tmp_path / "icx.key"
    check_key(key, tmp_path / "icx")
    made = new_key(key)
    assert key.read_bytes() == made.secret
    assert key.stat().st_mode & 0o777 == 0o600
    check_key(key, tmp_path / "icx")


def test_a_key_within_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`key` must not lie in the folder"):
        check_key(tmp_path / "icx" / "inner" / "x.key", tmp_path / "icx")
    with pytest.raises(InputError, match="must be a folder that exists"):
        check_key(tmp_path / "nowhere" / "x.key", tmp_path / "icx")


def test_no_key_is_made_in_the_place_of_one_that_was_lost(tmp_path: Path) -> None:
    key = tmp_path / "icx.key"
    ledger_folder(key).mkdir()
    for call in (refuse_lost, new_key):
        with pytest.raises(RefusedError, match="a key that is missing"):
            call(key)
    assert not key.exists()
