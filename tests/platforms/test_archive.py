"""Releases of every format that there ever was: each verifies, with this version and all later ones."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.deciding.key import read_key
from blindcal.deciding.ledger import ledger_folder, read_ledger, record_name
from make_archive import ARCHIVE, IN_USE
from small_conferences import command_line

pytestmark = pytest.mark.edge
FORMATS = sorted(path.name for path in ARCHIVE.glob("*"))


def test_every_format_is_archived() -> None:
    """A format that changes without an archive of its own is noticed here."""
    archived = [dict(re.findall(r"([a-z]+)-([0-9]+)", name)) for name in FORMATS]
    assert {kind: str(number) for kind, number in IN_USE.items()} in archived, (
        "run tests/data/make_archive.py"
    )
    for kind, latest in IN_USE.items():
        assert {int(formats[kind]) for formats in archived} == {*range(1, latest + 1)}


@pytest.fixture(params=FORMATS)
def chair(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an archive; version control does not keep that its secrets are for their owner only."""
    folder = Path(shutil.copytree(ARCHIVE / request.param, tmp_path / "chair"))
    for secret in (*folder.glob("*.bin"), *folder.glob("*.bin.sealed/*")):
        secret.chmod(0o600)
    return folder


def test_every_archived_release_verifies(chair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The latest release first, then the one before it in the folder as it was then."""
    homes = {"first": (1, 2), "second": (3,), "third": (4,)}
    for name, numbers in homes.items():
        key = chair / f"{name}.bin"
        past = read_ledger(key, read_key(key)).releases
        for release, number in reversed(list(zip(past, numbers, strict=True))):
            home, option = chair / f"{number}", f'conference = "{release.conference}"'
            code = run(command_line("verify", home, key, home / "out", option))
            said = capsys.readouterr()
            assert code == 0, said.err
            assert f"release {release.number} verified" in said.out
            (ledger_folder(key) / record_name(release.number)).unlink()


def test_an_archived_release_that_was_changed_does_not_verify(chair: Path) -> None:
    """The check above can fail: one score of the input, one decision that was published."""
    key, home = chair / "second.bin", chair / "3"
    command = command_line("verify", home, key, home / "out", 'conference = "second"')
    assert run(command) == 0
    for path, old, new in (
        (home / "out" / "decisions.csv", b",reject,", b",accept,"),
        (home / "reviews.csv", b"0\n", b"1\n"),
    ):
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new, 1))
        assert run(command) == 4
        path.write_bytes(data)
