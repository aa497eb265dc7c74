"""Where secrets and public files may lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.deciding.key import make_key, read_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.deciding.paths import check_apart, check_paths
from blindcal.deciding.publish import check_vacant
from blindcal.errors import InputError, RefusedError


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x", encoding="utf-8")
    with pytest.raises(RefusedError, match="not a folder"):
        check_vacant(tmp_path / "out", None)


# The key and the public folder, then what is made: folders, and links with what they lead to.
MIXED: dict[str, tuple[str, str, dict[str, str | None]]] = {
    "a key in out": ("out/key.bin", "out", {}),
    "a key deep in out": ("out/chair/key.bin", "out", {"out/chair": None}),
    "out above the key": ("chair/key.bin", ".", {}),
    "out is the sealed folder": ("chair/key.bin", "chair/key.bin.sealed", {}),
    "out in the sealed folder": ("chair/key.bin", "chair/key.bin.sealed/out", {}),
    "out linked to the sealed folder": (
        "chair/key.bin",
        "public",
        {"chair/key.bin.sealed": None, "public": "{home}/chair/key.bin.sealed"},
    ),
    "out through a linked folder": (
        "chair/key.bin",
        "links/key.bin.sealed/public",
        {"links": "{home}/chair"},
    ),
    "a linked key in out": ("out/key.bin", "out", {"out/key.bin": "{home}/chair/key.bin"}),
    "a link in out to the key": ("chair/key.bin", "out", {"out/other": "../chair/key.bin"}),
    "a link in out to the chair": ("chair/key.bin", "out", {"out/other": "{home}/chair"}),
    "a key whose target lies in out": ("chair/link.bin", "out", {"chair/link.bin": "../out/real.bin"}),
    "a link that leads through out": (
        "first.bin",
        "out",
        {"out/middle.bin": "../chair/key.bin", "first.bin": "out/middle.bin"},
    ),
    "out linked to the chair": ("chair/key.bin", "public", {"public": "chair"}),
    "a sealed folder linked into out": (
        "chair/key.bin",
        "out",
        {"out/kept": None, "chair/key.bin.sealed": "{home}/out/kept"},
    ),
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("relative", [False, True])
def test_secrets_and_public_files_never_lie_in_one_folder(
    name: str, relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("chair", "out"):
        (tmp_path / folder).mkdir()
    make_key(tmp_path / "chair" / "key.bin")
    monkeypatch.chdir(tmp_path)
    home = Path() if relative else tmp_path
    for out in ("out", "new", "chair2", "key.bin.sealed"):
        check_apart(home / "chair/key.bin", home / out)
    key, out, made = MIXED[name]
    (tmp_path / "out" / "real.bin").write_bytes(bytes(32))
    for place, target in made.items():
        if target is None:
            (tmp_path / place).mkdir()
        else:
            (tmp_path / place).symlink_to(target.format(home=tmp_path))
    with pytest.raises(InputError, match=r"must never be shared|meant to be shared"):
        check_apart(home / key, home / out)


@pytest.mark.parametrize("kind", ["fit", "key", "sealed", "link"])
def test_nothing_is_published_beside_what_is_confidential(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    key = tmp_path / "key.bin"
    make_key(key)
    for name in ("reviewers.csv", "notes.txt"):
        (out / name).write_text("x" * 32)
    check_apart(key, out)
    if kind == "fit":
        (out / "reviewers.csv.fit.json").write_text("{}")
    elif kind == "key":
        make_key(out / "another.bin")
    elif kind == "sealed":
        (out / "notes.txt.sealed").mkdir()
    else:
        make_key(tmp_path / "another.bin")
        (out / "linked").symlink_to(tmp_path / "another.bin")
    found = {"fit": "reviewers.csv", "key": "another.bin", "sealed": "notes.txt", "link": "linked"}[kind]
    with pytest.raises(InputError, match=rf"{found} is confidential and must not lie in the `out` folder"):
        check_apart(key, out)


@pytest.mark.parametrize("key", [".", "..", "/", "chair/..", ""])
def test_a_folder_is_no_key(key: str) -> None:
    with pytest.raises(InputError, match="must be the name of a key file"):
        ledger_folder(key)


def test_two_spellings_of_one_folder_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems do not tell capitals from small letters: the system is asked."""
    for name in ("out", "OUT"):
        (tmp_path / name).mkdir()
    make_key(tmp_path / "out" / "key.bin")
    check_apart(tmp_path / "out" / "key.bin", tmp_path / "OUT")
    monkeypatch.setattr(Path, "samefile", lambda one, other: str(one).lower() == str(other).lower())
    with pytest.raises(InputError, match="meant to be shared"):
        check_apart(tmp_path / "out" / "key.bin", tmp_path / "OUT")


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    check_apart(tmp_path / "one", tmp_path / "out")
    check_apart(tmp_path / "key.bin", tmp_path / "one")


def test_a_key_is_given_by_its_path(key_path: Path) -> None:
    """`make_key` returns the key itself, and a chair may hand that on."""
    check_paths(key=key_path, out="out")
    for wrong in (read_key(key_path), b"key.bin", None):
        with pytest.raises(InputError, match="`key` must be the path of a file or folder, found"):
            check_paths(key=wrong)
