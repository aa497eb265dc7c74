"""Where secrets and public files may lie."""

from __future__ import annotations

from collections.abc import Callable
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


def a_key_in_out(home: Path) -> tuple[str, str]:
    return "out/key.bin", "out"


def a_key_deep_in_out(home: Path) -> tuple[str, str]:
    (home / "out" / "chair").mkdir()
    return "out/chair/key.bin", "out"


def out_above_the_key(home: Path) -> tuple[str, str]:
    return "chair/key.bin", "."


def out_is_the_sealed_folder(home: Path) -> tuple[str, str]:
    return "chair/key.bin", "chair/key.bin.sealed"


def out_in_the_sealed_folder(home: Path) -> tuple[str, str]:
    return "chair/key.bin", "chair/key.bin.sealed/out"


def out_linked_to_the_sealed_folder(home: Path) -> tuple[str, str]:
    (home / "chair" / "key.bin.sealed").mkdir()
    (home / "public").symlink_to(home / "chair" / "key.bin.sealed")
    return "chair/key.bin", "public"


def out_through_a_linked_folder(home: Path) -> tuple[str, str]:
    (home / "links").symlink_to(home / "chair")
    return "chair/key.bin", "links/key.bin.sealed/public"


def a_linked_key_in_out(home: Path) -> tuple[str, str]:
    (home / "out" / "key.bin").symlink_to(home / "chair" / "key.bin")
    return "out/key.bin", "out"


def a_link_in_out_to_the_key(home: Path) -> tuple[str, str]:
    (home / "out" / "other").symlink_to("../chair/key.bin")
    return "chair/key.bin", "out"


def a_link_in_out_to_the_chair(home: Path) -> tuple[str, str]:
    (home / "out" / "other").symlink_to(home / "chair")
    return "chair/key.bin", "out"


def a_key_whose_target_lies_in_out(home: Path) -> tuple[str, str]:
    (home / "out" / "real.bin").write_bytes(bytes(32))
    (home / "chair" / "link.bin").symlink_to("../out/real.bin")
    return "chair/link.bin", "out"


def a_link_that_leads_through_out(home: Path) -> tuple[str, str]:
    (home / "out" / "middle.bin").symlink_to("../chair/key.bin")
    (home / "first.bin").symlink_to("out/middle.bin")
    return "first.bin", "out"


def out_linked_to_the_chair(home: Path) -> tuple[str, str]:
    (home / "public").symlink_to("chair")
    return "chair/key.bin", "public"


def a_sealed_folder_linked_into_out(home: Path) -> tuple[str, str]:
    (home / "out" / "kept").mkdir()
    (home / "chair" / "key.bin.sealed").symlink_to(home / "out" / "kept")
    return "chair/key.bin", "out"


MIXED = [
    a_key_in_out,
    a_key_deep_in_out,
    out_above_the_key,
    out_is_the_sealed_folder,
    out_in_the_sealed_folder,
    out_linked_to_the_sealed_folder,
    out_through_a_linked_folder,
    a_linked_key_in_out,
    a_link_in_out_to_the_key,
    a_link_in_out_to_the_chair,
    a_key_whose_target_lies_in_out,
    a_link_that_leads_through_out,
    out_linked_to_the_chair,
    a_sealed_folder_linked_into_out,
]


@pytest.mark.parametrize("mixed", MIXED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("relative", [False, True])
def test_secrets_and_public_files_never_lie_in_one_folder(
    mixed: Callable[[Path], tuple[str, str]], relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("chair", "out"):
        (tmp_path / name).mkdir()
    make_key(tmp_path / "chair" / "key.bin")
    monkeypatch.chdir(tmp_path)
    home = Path() if relative else tmp_path
    for out in ("out", "new", "chair2", "key.bin.sealed"):
        check_apart(home / "chair/key.bin", home / out)
    key, out = mixed(tmp_path)
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
