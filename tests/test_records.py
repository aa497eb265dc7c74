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
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.decisions import coins, records, seals
from blindcal.decisions.coins import Key, make_key, read_key
from blindcal.decisions.places import check_apart
from blindcal.decisions.records import (
    Ledger,
    PaperRecord,
    Published,
    Record,
    check_published,
    check_vacant,
    commit,
    open_ledger,
    publish,
    read_ledger,
    read_published,
    sealed_folder,
)
from blindcal.decisions.seals import NOTICE, pack, read_seal, unpack
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.plans.exact import UNIT, ExactPolicy
from sizes import count
from stress import stress

PAPER = PaperRecord(
    paper="p1",
    release=1,
    earlier=(),
    price=None,
    public={"scores": [1.5, 2.0], "grid": None, "pool": [["a", 0.5, 1.0], ["b", 0.5, 2.0]]},
    reviewers=("a", "b"),
    secret=0,
    probability=("1", "2"),
    accepted=True,
    raw_accepted=False,
    weights="",
    figures={"claim": {"epsilon": "inf"}},
)
RECORD = Record(
    conference="c",
    release=1,
    reason="",
    made_with="planner 0",
    settings={"epsilon": 2.0},
    bar=0.5,
    price=None,
    commitment="",
    papers=(PAPER,),
    decisions="paper,decision\np1,accept\n",
    certificate="{}\n",
)
POLICIES = {"p1": ExactPolicy(np.array([UNIT // 2, 0]), ((1, Fraction(1, 3)),))}


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"


def sealed(key_path: Path, record: Record = RECORD, stamp: str = "s") -> Ledger:
    with open_ledger(key_path, read_key(key_path)) as ledger:
        return commit(ledger, record, POLICIES, stamp)


def seal_next(ledger: Ledger) -> Ledger:
    """One more release of the same papers."""
    return commit(ledger, replace(RECORD, release=ledger.counter + 1), POLICIES, f"s{ledger.counter}")


def several(key_path: Path, releases: int = 3) -> list[Path]:
    for _ in range(releases):
        with open_ledger(key_path, read_key(key_path)) as ledger:
            seal_next(ledger)
    return sorted(sealed_folder(key_path).iterdir())


def everything(key_path: Path) -> list[dict[str, ExactPolicy]]:
    """Every part of every file, read."""
    ledger = read_ledger(key_path, read_key(key_path))
    return [ledger.tables(ledger.record(release)) for release in ledger.releases]


def test_a_record_reads_back_equal(key_path: Path) -> None:
    sealed(key_path)
    ledger = read_ledger(key_path, read_key(key_path))
    (release,) = ledger.of("c")
    record = ledger.record(release)
    assert record == RECORD
    assert (release.number, release.papers, release.decided, release.input) == (1, 1, 1, "s")
    table = ledger.tables(record)["p1"]
    assert table.exact == POLICIES["p1"].exact
    assert table.numerator.tolist() == POLICIES["p1"].numerator.tolist()


def test_releases_are_counted_over_all_conferences_of_a_key(key_path: Path) -> None:
    for number, conference in enumerate(("c", "d", "c"), start=1):
        sealed(key_path, replace(RECORD, conference=conference, release=1 + number // 3))
    ledger = read_ledger(key_path, read_key(key_path))
    assert [(r.counter, r.conference, r.number) for r in ledger.releases] == [
        (1, "c", 1),
        (2, "d", 1),
        (3, "c", 2),
    ]
    assert ledger.counter == 3
    assert ledger.of("d") == ledger.releases[1:2]
    assert ledger.record(ledger.releases[1]).conference == "d"
    assert ledger.fingerprint == read_key(key_path).fingerprint


def test_sealed_files_are_confidential_and_lie_beside_the_key(key_path: Path) -> None:
    files = several(key_path, 2)
    folder = sealed_folder(key_path)
    assert folder.parent == key_path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [file.name for file in files] == ["0001.sealed", "0002.sealed"]
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_bytes().startswith(NOTICE.encode())


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


def shorter(files: list[Path]) -> None:
    files[1].write_bytes(files[1].read_bytes()[:-1])


def longer(files: list[Path]) -> None:
    files[1].write_bytes(files[1].read_bytes() + b"x")


def empty(files: list[Path]) -> None:
    files[1].write_bytes(b"")


def lost(files: list[Path]) -> None:
    files[1].unlink()


def first_lost(files: list[Path]) -> None:
    files[0].unlink()


def exchanged(files: list[Path]) -> None:
    one, two = files[0].read_bytes(), files[1].read_bytes()
    files[0].write_bytes(two)
    files[1].write_bytes(one)


def doubled(files: list[Path]) -> None:
    files[1].write_bytes(files[0].read_bytes())


def renumbered(files: list[Path]) -> None:
    files[0].unlink()
    files[1].rename(files[0])
    files[2].rename(files[1])


@pytest.mark.parametrize(
    "harm",
    [shorter, longer, empty, lost, first_lost, exchanged, doubled, renumbered],
    ids=lambda f: f.__name__,
)
def test_a_row_of_files_that_is_not_whole_is_refused_with_how_to_restore_it(
    key_path: Path, harm: Callable[[list[Path]], None]
) -> None:
    harm(several(key_path))
    with pytest.raises(VerificationError, match=r"restore all of .*key\.bin\.sealed from the latest backup"):
        read_ledger(key_path, read_key(key_path))


def test_a_file_of_another_ledger_of_the_same_key_is_refused(key_path: Path, tmp_path: Path) -> None:
    """An older copy of the folder went on by itself: its files are stamped, and do not follow."""
    files = several(key_path)
    before = read_ledger(key_path, read_key(key_path))
    other = tmp_path / "copy" / "key.bin"
    other.parent.mkdir()
    other.write_bytes(key_path.read_bytes())
    other.chmod(0o600)
    sealed(other, replace(RECORD, bar=0.25))
    files[0].write_bytes((sealed_folder(other) / "0001.sealed").read_bytes())
    with pytest.raises(VerificationError, match=r"0002\.sealed does not follow"):
        read_ledger(key_path, read_key(key_path))
    with pytest.raises(VerificationError, match=r"0001\.sealed was changed"):
        before.record(before.releases[0])


@pytest.mark.parametrize(
    "content", [{"conference": "d"}, {"release": 2}, {"papers": [{}]}, {"papers": 1}, {"more": 1}, None]
)
def test_a_record_that_is_not_that_of_its_head_is_refused(
    content: dict[str, object] | None, key_path: Path
) -> None:
    """Sealed with the key, but not by blindcal."""
    sealed(key_path)
    key, path = read_key(key_path), sealed_folder(key_path) / "0001.sealed"
    seal = read_seal(path, key)
    record = json.loads(seal.part("record"))
    forged = b"no JSON" if content is None else json.dumps({**record, **content}).encode()
    parts = {"record": forged, "tables": seal.part("tables")}
    path.write_bytes(seals.sealed(key, seals.full_head(seal.head, parts), parts)[1])
    ledger = read_ledger(key_path, key)
    with pytest.raises(VerificationError, match="was changed"):
        ledger.record(ledger.releases[0])


@pytest.mark.parametrize("name", ["ledger.json", "1-1.tables", "0002.sealed.bak", "notes", "002.sealed"])
def test_a_stray_file_is_named(key_path: Path, name: str) -> None:
    several(key_path, 1)
    (sealed_folder(key_path) / name).write_text("x", encoding="utf-8")
    with pytest.raises(VerificationError, match=f"{name} is no sealed release"):
        read_ledger(key_path, read_key(key_path))
    (sealed_folder(key_path) / name).rename(sealed_folder(key_path) / f".{name}")
    assert len(everything(key_path)) == 1, "the system's own files have a dot in front"


def test_another_key_cannot_read_the_ledger(key_path: Path) -> None:
    several(key_path)
    with pytest.raises(VerificationError, match="another key than the one given"):
        read_ledger(key_path, Key(bytes(32)))


def test_later_formats_are_named_and_not_guessed(key_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(seals, "SEALED_FORMAT", 2)
        several(key_path, 1)
    with pytest.raises(
        VerificationError, match="sealed format 2, and this version of blindcal reads format 1"
    ):
        read_ledger(key_path, read_key(key_path))
    other = key_path.with_name("other.bin")
    make_key(other)
    with monkeypatch.context() as later:
        later.setattr(records, "COIN_FORMAT", 2)
        several(other, 1)
    with pytest.raises(VerificationError, match="coins of another format than 1"):
        read_ledger(other, read_key(other))


def test_a_head_says_everything_about_its_release_but_the_reviews(key_path: Path) -> None:
    key, path = read_key(key_path), several(key_path, 2)[1]
    head = dict(read_seal(path, key).head)
    first = read_seal(path.with_name("0001.sealed"), key)
    assert head.pop("made") >= "2024"
    assert [part.pop("name") for part in head["parts"]] == ["record", "tables"]
    assert all(part.keys() == {"size", "sha256"} for part in head.pop("parts"))
    assert head == {
        "format": seals.SEALED_FORMAT,
        "coins": coins.COIN_FORMAT,
        "counter": 2,
        "key_fingerprint": key.fingerprint,
        "previous": first.stamp,
        "conference": "c",
        "number": 2,
        "reason": "",
        "papers": 1,
        "decided": 0,
        "input": "s1",
    }


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


def test_coins_of_a_later_format_do_not_change_how_heads_are_read(
    key_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several(key_path, 2)
    key = read_key(key_path)
    heads = [read_seal(path, key).stamp for path in sorted(sealed_folder(key_path).iterdir())]
    real = coins.Key.stamp
    monkeypatch.setattr(
        coins.Key, "stamp", lambda self, purpose, content, version=2: real(self, purpose, content, version)
    )
    assert key.stamp("coin", "x") != real(key, "coin", "x")
    assert [read_seal(path, key).stamp for path in sorted(sealed_folder(key_path).iterdir())] == heads
    assert read_ledger(key_path, key).counter == 2


def test_the_ledger_is_read_from_heads_alone(key_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several(key_path)
    read: list[int] = []
    real = seals.read_part
    monkeypatch.setattr(
        seals, "read_part", lambda path, start, size: (read.append(start), real(path, start, size))[1]
    )
    read_ledger(key_path, read_key(key_path))
    assert read == [0, 0, 0]


def test_a_release_that_is_sealed_already_is_finished_and_never_replaced(key_path: Path) -> None:
    """Two runs that read the ledger before either sealed: the same release is one, another is refused."""
    key = read_key(key_path)
    before = read_ledger(key_path, key)
    first = sealed(key_path)
    data = (sealed_folder(key_path) / "0001.sealed").read_bytes()
    again = commit(before, RECORD, POLICIES, "s")
    assert again == first
    for record, stamp in ((replace(RECORD, bar=0.25), "s"), (RECORD, "t")):
        with pytest.raises(RefusedError, match="never replaced"):
            commit(before, record, POLICIES, stamp)
    with pytest.raises(RefusedError, match="never replaced"):
        commit(before, RECORD, {}, "s")
    assert (sealed_folder(key_path) / "0001.sealed").read_bytes() == data
    assert os.listdir(sealed_folder(key_path)) == ["0001.sealed"]


def test_a_reason_that_no_head_can_hold_is_refused_and_nothing_is_sealed(key_path: Path) -> None:
    with pytest.raises(InputError, match="must be shorter"):
        sealed(key_path, replace(RECORD, reason="x" * 40_000))
    assert os.listdir(sealed_folder(key_path)) == []
    sealed(key_path, replace(RECORD, reason="\udcff\n" + "é" * 5_000))
    assert len(everything(key_path)) == 1


def test_temporaries_of_killed_writers_are_cleared_at_the_start(key_path: Path) -> None:
    several(key_path, 1)
    stale = sealed_folder(key_path) / ".0002.sealed.0123456789abcdef.blindcal-new"
    stale.write_bytes(b"who reviewed what")
    read_ledger(key_path, read_key(key_path))
    with open_ledger(key_path, read_key(key_path)) as ledger:
        assert ledger.counter == 1
        assert not stale.exists()


def test_a_second_run_is_refused_at_once(key_path: Path) -> None:
    key = read_key(key_path)
    with (
        open_ledger(key_path, key),
        pytest.raises(RefusedError, match="another run"),
        open_ledger(key_path, key),
    ):
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


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x", encoding="utf-8")
    with pytest.raises(RefusedError, match="not a folder"):
        check_vacant(tmp_path / "out", None)


def certificate(folder: Path, fingerprint: object, counter: object) -> Path:
    folder.mkdir(exist_ok=True)
    text = json.dumps({"key_fingerprint": fingerprint, "release_counter": counter})
    (folder / "certificate.json").write_text(text, encoding="utf-8")
    return folder


def test_what_was_published_must_be_of_this_key_and_in_its_ledger(key_path: Path, tmp_path: Path) -> None:
    key = read_key(key_path)
    text = json.dumps({"key_fingerprint": key.fingerprint, "release_counter": 2})
    sealed(key_path)
    ledger = sealed(key_path, replace(RECORD, release=2, certificate=text))

    def check(fingerprint: str, counter: int) -> None:
        seen = read_published(certificate(tmp_path / "out", fingerprint, counter))
        assert seen is not None
        check_published(ledger, seen)

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
    assert good == Published(good.path, "x", 1, good.path.read_bytes())


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


@pytest.mark.parametrize("key", [".", "..", "/", "chair/..", ""])
def test_a_folder_is_no_key(key: str) -> None:
    with pytest.raises(InputError, match="must be the name of a key file"):
        sealed_folder(key)


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


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.tuples(st.lists(st.integers(0, UNIT), min_size=1, max_size=9), st.fractions(0, 1)),
        max_size=4,
    )
)
def test_tables_pack_and_unpack(tables: dict[str, tuple[list[int], Fraction]]) -> None:
    policies = {name: ExactPolicy(np.array(rows), ((0, few),)) for name, (rows, few) in tables.items()}
    again = unpack(pack(policies))
    assert list(again) == list(policies)
    for name, policy in policies.items():
        assert again[name].exact == policy.exact
        assert again[name].numerator.tolist() == policy.numerator.tolist()


@pytest.mark.parametrize("named", [0, 1])
def test_a_killed_writer_leaves_the_old_ledger_or_the_new_one(named: int, tmp_path: Path) -> None:
    """Killed before and after every call into the system: the ledger reads, and what it names is whole."""
    seen = stress("kill_at_every_call_of_a_release", tmp_path, named=named)
    assert seen["torn"] == 0
    assert seen["left_over"] == 0, "no stray secrets"
    assert min(seen["old"], seen["new"]) >= 5
