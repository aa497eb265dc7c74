"""The sealed files that are the ledger: stamped, chained, read by their owner only, never replaced."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.certify.exact import UNIT, PolicyTables
from blindcal.deciding import key as key_module
from blindcal.deciding import ledger
from blindcal.deciding import ledger as ledger_module
from blindcal.deciding.key import Key, read_key
from blindcal.deciding.ledger import (
    NOTICE,
    commit,
    ledger_folder,
    open_ledger,
    read_chain,
    read_head,
    read_ledger,
)
from blindcal.deciding.publish import (
    PublishedCertificate,
    check_published,
    check_vacant,
    finish_interrupted,
    interrupted_release,
    latest_release,
    publish,
    read_published,
    release_folder,
)
from blindcal.errors import InputError, RefusedError, VerificationError
from sealed_releases import POLICIES, RECORD, committed, everything, forge, ledger_of, sealed, several
from sizes import count
from small_conferences import known_key
from stress import stress


def test_a_run_without_a_release_leaves_no_empty_folder(key_path: Path) -> None:
    """An empty folder would later say that a lost key had decided something."""

    def refused() -> None:
        with open_ledger(key_path, read_key(key_path)):
            raise RefusedError("no")

    with pytest.raises(RefusedError):
        refused()
    with open_ledger(key_path, read_key(key_path)) as ledger:
        assert not ledger.releases
    assert list(key_path.parent.iterdir()) == [key_path]
    sealed(key_path)
    with pytest.raises(RefusedError):
        refused()
    assert len(ledger_of(key_path).releases) == 1


def test_sealed_files_are_numbered_confidential_and_beside_the_key(key_path: Path) -> None:
    files, folder, ledger = several(key_path), ledger_folder(key_path), ledger_of(key_path)
    assert [(r.number, r.conference) for r in ledger.releases] == [(1, "c"), (2, "c"), (3, "c")]
    assert ledger.record(2).release == 2
    assert folder.parent == key_path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [file.name for file in files] == ["0001.sealed", "0002.sealed", "0003.sealed"]
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_bytes().startswith(NOTICE.encode())


def exchanged(files: list[Path]) -> None:
    one, two = files[0].read_bytes(), files[1].read_bytes()
    files[0].write_bytes(two)
    files[1].write_bytes(one)


def renumbered(files: list[Path]) -> None:
    files[0].unlink()
    files[1].rename(files[0])
    files[2].rename(files[1])


HARMS: dict[str, Callable[[list[Path]], object]] = {
    "shorter": lambda files: files[1].write_bytes(files[1].read_bytes()[:-1]),
    "longer": lambda files: files[1].write_bytes(files[1].read_bytes() + b"x"),
    "empty": lambda files: files[1].write_bytes(b""),
    "lost": lambda files: files[1].unlink(),
    "first lost": lambda files: files[0].unlink(),
    "doubled": lambda files: files[1].write_bytes(files[0].read_bytes()),
    "exchanged": exchanged,
    "renumbered": renumbered,
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_row_of_files_that_is_not_whole_is_refused_with_how_to_restore_it(
    key_path: Path, harm: str
) -> None:
    HARMS[harm](several(key_path))
    with pytest.raises(VerificationError, match=r"restore all of .*key\.bin\.sealed from the latest backup"):
        ledger_of(key_path)


def test_a_file_of_another_ledger_of_the_same_key_is_refused(key_path: Path, tmp_path: Path) -> None:
    """An older copy of the folder went on by itself: its files are stamped, and do not follow."""
    files = several(key_path)
    before = ledger_of(key_path)
    other = known_key(tmp_path / "copy" / "key.bin", key_path.read_bytes())
    sealed(other, replace(RECORD, bar=0.25))
    files[0].write_bytes((ledger_folder(other) / "0001.sealed").read_bytes())
    with pytest.raises(VerificationError, match=r"0002\.sealed does not follow"):
        ledger_of(key_path)
    with pytest.raises(VerificationError, match=r"0001\.sealed was changed"):
        before.record(1)


@pytest.mark.parametrize(
    "fields", [{"conference": "d"}, {"release": 2}, {"papers": [{}]}, {"papers": 1}, {"more": 1}]
)
def test_a_record_that_is_not_that_of_its_head_is_refused(fields: dict[str, object], key_path: Path) -> None:
    """Sealed with the key, but not by blindcal."""
    sealed(key_path)
    forge(ledger_folder(key_path) / "0001.sealed", read_key(key_path), record=fields)
    with pytest.raises(VerificationError, match="was changed"):
        everything(key_path)


FORGED = {
    "coins": [0, "1", None],
    "conference": ["d", 1, None],
    "counter": [2, "1", True, None],
    "input": ["t", 1, None],
    "key_fingerprint": ["0" * 16, None],
    "kind": ["shared sums", None],
    "parts": [[], {}, 1, None],
    "previous": ["0" * 64, 0, None],
    # A head holds nothing that nobody checks.
    **{name: [1] for name in ("format", "made", "papers", "decided", "reason", "note")},
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in FORGED.items() for value in values]
)
def test_a_head_that_was_forged_with_the_key_is_refused(key_path: Path, name: str, value: object) -> None:
    """Every field of a head follows from the key, the chain and the record."""
    sealed(key_path)
    forge(ledger_folder(key_path) / "0001.sealed", read_key(key_path), {name: value})
    with pytest.raises(VerificationError):
        everything(key_path)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_sealed_file_that_others_could_read_is_refused(key_path: Path, mode: int) -> None:
    """As a key is: it says who reviewed what."""
    path = several(key_path, 2)[1]
    path.chmod(mode)
    with pytest.raises(InputError, match=rf"0002\.sealed must be readable by its owner only .*{mode:o}"):
        ledger_of(key_path)
    path.chmod(0o600)
    assert len(ledger_of(key_path).releases) == 2


STRAYS = ["ledger.json", "1-1.tables", "0002.sealed.bak", "notes", "002.sealed", ".hidden"]
STRAYS += [".0001.sealed", ".0001.sealed.lock", "0001.sealed~", "._0001.sealed"]


@pytest.mark.parametrize("name", STRAYS)
def test_a_stray_file_is_named_and_a_renamed_record_is_not_skipped(key_path: Path, name: str) -> None:
    """Skipped, it would leave a key that seems to have decided nothing, and the key would draw again."""
    (file,) = several(key_path, 1)
    stray = file.with_name(name)
    stray.write_text("x", encoding="utf-8")
    with pytest.raises(VerificationError, match=f"{name} is no record of a release"):
        ledger_of(key_path)
    stray.rename(file.with_name(".DS_Store"))
    assert len(everything(key_path)) == 1, "the system's own file"
    file.rename(stray)
    with pytest.raises(VerificationError, match=f"{name} is no record of a release"):
        ledger_of(key_path)


def test_another_key_cannot_read_the_ledger(key_path: Path) -> None:
    several(key_path)
    with pytest.raises(VerificationError, match="another key than the one given"):
        read_ledger(key_path, Key(bytes(32)))


def test_a_head_says_everything_about_its_release_but_the_reviews(key_path: Path) -> None:
    key, path = read_key(key_path), several(key_path, 2)[1]
    head = dict(read_head(path, key).head)
    assert head.keys() < FORGED.keys(), "every field is forged above"
    first = read_head(path.with_name("0001.sealed"), key)
    assert [part.pop("name") for part in head["parts"]] == ["record", "tables"]
    assert all(part.keys() == {"size", "sha256"} for part in head.pop("parts"))
    assert head == {
        "kind": "decisions",
        "coins": key_module.COIN_FORMAT,
        "counter": 2,
        "key_fingerprint": key.fingerprint,
        "previous": first.stamp,
        "conference": "c",
        "input": "s1",
    }


def test_coins_of_a_later_format_do_not_change_how_heads_are_read(
    key_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several(key_path, 2)
    key = read_key(key_path)
    heads = [read_head(path, key).stamp for path in sorted(ledger_folder(key_path).iterdir())]
    real = key_module.Key.stamp
    monkeypatch.setattr(
        key_module.Key,
        "stamp",
        lambda self, purpose, content, version=2: real(self, purpose, content, version),
    )
    assert key.stamp("coin", "x") != real(key, "coin", "x")
    assert [read_head(path, key).stamp for path in sorted(ledger_folder(key_path).iterdir())] == heads
    assert len(read_ledger(key_path, key).releases) == 2


def test_the_ledger_is_read_from_heads_alone(key_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several(key_path)
    read: list[int] = []
    real = ledger_module.read_range
    monkeypatch.setattr(
        ledger_module,
        "read_range",
        lambda path, start, size: (read.append(start), real(path, start, size))[1],
    )
    ledger_of(key_path)
    assert read == [0, 0, 0]


def test_a_release_that_is_sealed_already_is_finished_and_never_replaced(key_path: Path) -> None:
    """Two runs that read the ledger before either sealed: the same release is one, another is refused."""
    key = read_key(key_path)
    before = read_ledger(key_path, key)
    first = sealed(key_path)
    data = (ledger_folder(key_path) / "0001.sealed").read_bytes()
    same = committed(key, RECORD, "s")
    assert commit(before, same, POLICIES, "s") == first
    for record, stamp in ((replace(same, bar=0.25), "s"), (same, "t")):
        with pytest.raises(RefusedError, match="never replaced"):
            commit(before, record, POLICIES, stamp)
    with pytest.raises(RefusedError, match="never replaced"):
        commit(before, same, PolicyTables({}), "s")
    assert (ledger_folder(key_path) / "0001.sealed").read_bytes() == data
    assert os.listdir(ledger_folder(key_path)) == ["0001.sealed"]


def test_a_name_that_no_head_can_hold_is_refused_and_nothing_is_sealed(key_path: Path) -> None:
    with pytest.raises(InputError, match="must be shorter"):
        sealed(key_path, replace(RECORD, conference="x" * 40_000))
    assert not ledger_folder(key_path).exists()
    sealed(key_path, replace(RECORD, conference="\n" + "é" * 5_000, reason="\udcff" * 40_000))
    assert len(everything(key_path)) == 1


def test_temporaries_of_killed_writers_are_cleared_at_the_start(key_path: Path) -> None:
    several(key_path, 1)
    stale = ledger_folder(key_path) / ".0002.sealed.0123456789abcdef.blindcal-new"
    stale.write_bytes(b"who reviewed what")
    ledger_of(key_path)
    with open_ledger(key_path, read_key(key_path)) as ledger:
        assert len(ledger.releases) == 1
        assert not stale.exists()


def test_a_second_run_is_refused_at_once(key_path: Path) -> None:
    key = read_key(key_path)
    with (
        open_ledger(key_path, key),
        pytest.raises(RefusedError, match="another run"),
        open_ledger(key_path, key),
    ):
        pass


def test_a_file_in_the_place_of_the_ledger_is_refused(key_path: Path) -> None:
    ledger_folder(key_path).write_bytes(b"")
    with pytest.raises(InputError, match="must be a folder"), open_ledger(key_path, read_key(key_path)):
        pass


def test_public_files_are_written_once_and_kept(key_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert len(publish(RECORD, out)) == 2
    assert publish(RECORD, out) == []
    (out / "certificate.json").unlink()
    assert publish(RECORD, out) == [out / "certificate.json"], "what a killed run did not write is written"
    with pytest.raises(RefusedError, match="another result"):
        publish(replace(RECORD, decisions="other\n"), out)
    with pytest.raises(RefusedError, match="another result"):
        check_vacant(out, None)
    assert (out / "decisions.csv").read_text(encoding="utf-8") == RECORD.decisions


def certificate(folder: Path, fingerprint: object, counter: object) -> Path:
    folder.mkdir(exist_ok=True)
    text = json.dumps({"format": 1, "key_fingerprint": fingerprint, "release": counter})
    (folder / "certificate.json").write_text(text, encoding="utf-8")
    return folder


def test_what_was_published_must_be_of_this_key_and_in_its_ledger(key_path: Path, tmp_path: Path) -> None:
    key = read_key(key_path)
    text = json.dumps({"format": 1, "key_fingerprint": key.fingerprint, "release": 2})
    sealed(key_path)
    ledger = sealed(key_path, replace(RECORD, release=2, certificate=text))

    def check(fingerprint: str, counter: int) -> None:
        seen = read_published(certificate(tmp_path / "out", fingerprint, counter))
        assert seen is not None
        check_published(ledger, [seen])

    check(key.fingerprint, 2)
    with pytest.raises(RefusedError, match="was made with another key"):
        check(Key(bytes(32)).fingerprint, 2)
    with pytest.raises(RefusedError, match=r"holds only 2: it is older.*restore all of"):
        check(key.fingerprint, 3)
    with pytest.raises(RefusedError, match=r"not what .* holds as release 1.*restore all of"):
        check(key.fingerprint, 1)


@pytest.mark.parametrize("bad", [("x", "1"), (1, 1), ("x", 0), ("x", -1), ("x", 1.5), ("x", None)])
def test_a_certificate_that_does_not_say_how_it_was_made_says_nothing(
    tmp_path: Path, bad: tuple[object, object]
) -> None:
    assert read_published(tmp_path) is None
    assert read_published(certificate(tmp_path / "out", *bad)) is None
    (tmp_path / "out" / "certificate.json").write_text("{", encoding="utf-8")
    assert read_published(tmp_path / "out") is None
    good = read_published(certificate(tmp_path / "out", "x", 1))
    assert good == PublishedCertificate(good.path, "x", 1, good.path.read_bytes())


@pytest.mark.parametrize("named", [0, 1])
def test_a_killed_writer_leaves_the_old_ledger_or_the_new_one(named: int, tmp_path: Path) -> None:
    """Killed before and after every call into the system: the ledger reads, and what it names is whole."""
    seen = stress("kill_at_every_call_of_a_release", tmp_path, named=named)
    assert seen["torn"] == 0
    assert seen["left_over"] == 0, "no stray secrets"
    assert min(seen["old"], seen["new"]) >= 5


def test_a_release_without_its_certificate_is_interrupted_and_finished_from_the_ledger(
    key_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "public"
    assert (latest_release(out), interrupted_release(out)) == (None, None)
    sealed(key_path)
    second = replace(RECORD, release=2, certificate='{"format": 1, "release": 2}\n')
    ledger = sealed(key_path, second)
    publish(RECORD, release_folder(out, 1))
    assert finish_interrupted(ledger, out) == (), "what was published elsewhere stays there"
    assert (latest_release(out), interrupted_release(out)) == (out / "release-1", None)
    release_folder(out, 2).mkdir()
    release_folder(out, 3).mkdir()
    assert (latest_release(out), interrupted_release(out)) == (out / "release-1", out / "release-3")
    said = f"{out / 'release-2'} was left incomplete by an interrupted run, and is complete now"
    assert finish_interrupted(ledger, out) == (said,)
    assert (out / "release-2" / "certificate.json").read_text(encoding="utf-8") == second.certificate
    assert list((out / "release-3").iterdir()) == [], "no such release was sealed"
    assert (latest_release(out), finish_interrupted(ledger, out)) == (
        out / "release-2",
        (),
    )


# --- Sealed files: packed tables, formats, and every changed byte.


def test_every_changed_byte_is_found(key_path: Path) -> None:
    """The bytes of the second file of three, one at a time: head, stamp, record, tables."""
    path = several(key_path)[1]
    data = path.read_bytes()
    for at in range(0, len(data), count(7, 1)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(VerificationError):
            everything(key_path)
    path.write_bytes(data)
    assert len(everything(key_path)) == 3


def test_a_chain_has_every_head_and_the_stamp_of_the_one_before(key_path: Path) -> None:
    folder = several(key_path)[0].parent
    chain = read_chain(folder, read_key(key_path), "decisions")
    assert [seal.head["counter"] for seal in chain] == [1, 2, 3]
    assert [seal.head["previous"] for seal in chain] == ["", chain[0].stamp, chain[1].stamp]
    assert read_chain(folder / "nothing", read_key(key_path), "decisions") == ()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("RECORD_FORMAT", "log format 2, and this version of blindcal reads format 1"),
        ("COIN_FORMAT", "draws of another format than 1"),
    ],
)
def test_later_formats_are_named_and_not_guessed(
    name: str, told: str, key_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(ledger, name, 2)
        several(key_path, 1)
    with pytest.raises(VerificationError, match=told):
        ledger_of(key_path)


def test_a_file_is_what_the_page_on_formats_says(key_path: Path) -> None:
    """Written out, so that an auditor can check a file with any tool."""
    key, path = read_key(key_path), several(key_path, 1)[0]
    first, stamp, head, rest = path.read_bytes().split(b"\n", 3)
    assert first == f"{NOTICE} blindcal sealed format 1".encode()
    quoted = json.dumps(head.decode())
    message = f'{{"content":{quoted},"purpose":"blindcal/sealed head","version":1}}'
    assert stamp.decode() == hmac.new(key.secret, message.encode(), hashlib.sha256).hexdigest()
    for part in json.loads(head)["parts"]:
        data, rest = rest[: part["size"]], rest[part["size"] :]
        assert hashlib.sha256(data).hexdigest() == part["sha256"]
        if part["name"] == "record":
            assert json.loads(data)["papers"][0]["reviewers"] == ["a", "b"]
    assert rest == b""
    index, blob = data.split(b"\n", 1)
    assert json.loads(index) == [["p1", len(blob), [[1, "1", "3"]]]]
    assert np.frombuffer(zlib.decompress(blob), "<i8").tolist() == [UNIT // 2, 0]
