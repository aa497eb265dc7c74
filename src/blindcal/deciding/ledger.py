"""The ledger: the sealed files of every release made with one key, and the public files of each.

The files lie in a folder beside the key (`key.bin` -> `key.bin.sealed`), one per release, numbered over all
conferences of the key. They are the ledger: nothing else could be older or newer than they are. A release
counts from the moment its one file has its name, and nothing public is written before that. So a killed run
leaves a release that counts or none at all, and the same command goes on from either.

One sealed file per release: a stamped head that can be read alone, then the parts it describes.

    line 1   that the file is confidential, and the version of its format
    line 2   the stamp of the head: only the key's holder can have made it
    line 3   the head: JSON, at most 32 KiB; it gives the name, size and SHA-256 of each part
    then     the parts, one after the other

A file is written once and never replaced. Each head holds the stamp of the head before it, and through its
digests every byte of its file: no file of a row can be changed, exchanged or left out unnoticed. A head has
no field that nothing can be compared with: the key's holder could have written anything there.

The texts of a release -> those that are published: all of them, or what does not depend on the scores.

Where scores are confidential, a reader of the public files learns the decisions and what was requested, and
no figure that the scores enter. The full texts are in the sealed record, for the chair and an auditor.
"""

from __future__ import annotations

import csv
import hmac
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from blindcal.certify.exact import ExactPolicy, Packed, Tables, packed
from blindcal.deciding.certificate_fields import public_fields
from blindcal.deciding.coins import COIN_FORMAT, Key, input_commitment, read_key, refuse_open
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.io.atomic_files import (
    CERTIFICATE,
    DECISIONS,
    NUMBERED,
    clear_stale,
    jsonable,
    lock,
    make_folder,
    read_bytes,
    read_json,
    read_part,
    write_bytes,
)
from blindcal.io.tables import quoted
from blindcal.planning.request import Number, Request, recorded_request
from blindcal.policy.guarantee import LIMITS
from blindcal.posterior.conference import Level
from blindcal.reviews import as_given

SEALED_FORMAT = 1
"""The version of a sealed file; docs/formats.md says what each version holds."""
NOTICE = "CONFIDENTIAL: names who wrote which review. Keep with the key; never publish or send on."
_OPENING = f"{NOTICE} blindcal sealed format "
_HEAD_LIMIT = 1 << 16
# What says where in the chain a file belongs, and what it holds.
_CHAIN = ("kind", "counter", "previous", "key_fingerprint", "parts")
_PART = {"name": str, "size": int, "sha256": str}
_SEALED = re.compile(r"[0-9]{4,}\.sealed")


@dataclass(frozen=True)
class Seal:
    """The head of a sealed file, checked; `start` is where its parts begin."""

    path: Path
    stamp: str
    head: Mapping[str, Any]
    start: int

    def fields(self, types: Mapping[str, tuple[type, ...]], parts: Sequence[str]) -> dict[str, Any]:
        """What the head says besides its place in the chain, or a `VerificationError` unless it is exactly
        this: fields of these types, and these parts."""
        values = {name: value for name, value in self.head.items() if name not in _CHAIN}
        names = [part["name"] for part in self.head["parts"]]
        if values.keys() != types.keys() or names != list(parts):
            raise changed(self.path)
        # No subclass will do: true is no number.
        if any(type(value) not in types[name] for name, value in values.items()):
            raise changed(self.path)
        return values

    def part(self, name: str) -> bytes:
        """One part of the file, or a `VerificationError` if it is not what was sealed."""
        at = self.start
        for part in self.head["parts"]:
            if part["name"] == name:
                data = read_part(self.path, at, part["size"])
                if not hmac.compare_digest(sha256(data).hexdigest(), part["sha256"]):
                    raise changed(self.path)
                return data
            at += part["size"]
        raise changed(self.path)


def sealed_name(counter: int) -> str:
    """The name of the file of a key's release number `counter`.

    >>> sealed_name(7), sealed_name(12345)
    ('0007.sealed', '12345.sealed')
    """
    return f"{counter:04d}.sealed"


def full_head(
    key: Key, kind: str, counter: int, previous: str, fields: Mapping[str, Any], parts: Mapping[str, bytes]
) -> dict[str, Any]:
    """A head of its own `fields` with its place in the chain and the description of its parts."""
    described = [
        {"name": name, "size": len(data), "sha256": sha256(data).hexdigest()} for name, data in parts.items()
    ]
    place = {"kind": kind, "counter": counter, "previous": previous, "key_fingerprint": key.fingerprint}
    return {**fields, **place, "parts": described}


def sealed(key: Key, head: Mapping[str, Any], parts: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The stamp of a full head, and the bytes of its file."""
    text = _text(head)
    if len(text) > _HEAD_LIMIT // 2:
        raise InputError(
            "the name of the conference and the reason must be shorter: at most 2,500 characters"
        )
    stamp = _stamp(key, text)
    lines = f"{_OPENING}{SEALED_FORMAT}\n{stamp}\n{text}\n"
    return stamp, b"".join([lines.encode(), *parts.values()])


def read_seal(path: Path, key: Key) -> Seal:
    """The head of a sealed file, or a `VerificationError` that says what is wrong with it and what to do. A
    file that others could have read is refused, as a key is."""
    refuse_open(path)
    lines = read_part(path, 0, _HEAD_LIMIT).split(b"\n", 3)
    _check_opening(path, lines[0].decode("utf-8", "replace"))
    if len(lines) < 4:
        raise changed(path)
    text = lines[2].decode("utf-8", "replace")
    stamp = _stamp(key, text)
    if not hmac.compare_digest(lines[1], stamp.encode()):
        raise _other_key(path, text, key)
    head, start = _parsed(text, key), sum(len(line) + 1 for line in lines[:3])
    if head is None or os.stat(path).st_size != start + sum(part["size"] for part in head["parts"]):
        raise changed(path)
    return Seal(path, stamp, head, start)


def _parsed(text: str, key: Key) -> dict[str, Any] | None:
    """A head that was stamped with the key, in the form in which heads are written; None in any other."""
    try:
        head: dict[str, Any] = json.loads(text)
        described = all(
            {name: type(value) for name, value in part.items()} == _PART for part in head["parts"]
        )
        same = head["key_fingerprint"] == key.fingerprint and _text(head) == text
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return head if same and described else None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """A folder of sealed files, held by this process alone: a second run is refused at once.

    The folder is made with its first file, so that a run that seals nothing leaves nothing.
    """
    with lock(folder):
        if os.path.lexists(folder):
            make_folder(folder)
        clear_stale(folder)
        yield


def sealed_files(folder: Path) -> list[Path]:
    """The sealed files of a folder in their order, without a gap and with nothing between them."""
    # A name with a dot in front is a lock, a temporary file, or the system's own.
    names = {name for name in os.listdir(folder) if name[0] != "."} if folder.is_dir() else set()
    if strange := sorted(name for name in names if not _SEALED.fullmatch(name)):
        raise VerificationError(
            f"{folder / strange[0]} is no sealed release of blindcal, and nothing else belongs there: "
            "move it away"
        )
    expected = [sealed_name(counter) for counter in range(1, len(names) + 1)]
    if missing := [name for name in expected if name not in names]:
        raise VerificationError(
            f"{folder / missing[0]} is missing, and later ones are not: {restore(folder)}"
        )
    return [folder / name for name in expected]


def read_chain(folder: Path, key: Key, kind: str) -> tuple[Seal, ...]:
    """The heads of all sealed files of a folder, each of this kind and checked against the one before it;
    none if there is no folder."""
    _refuse_other_names(folder, key, kind)
    chain, last = list[Seal](), ""
    for counter, path in enumerate(sealed_files(folder), start=1):
        seal = read_seal(path, key)
        if seal.head.get("kind") != kind:
            raise changed(path)
        # Compared as JSON, in which 1 and true differ.
        if json.dumps([seal.head.get(name) for name in ("counter", "previous")]) != json.dumps(
            [counter, last]
        ):
            raise VerificationError(f"{path} does not follow the file before it: {restore(folder)}")
        last = seal.stamp
        chain.append(seal)
    return tuple(chain)


def _refuse_other_names(folder: Path, key: Key, kind: str) -> None:
    """Refuse a key that has releases in another folder beside it: the key or the folder was renamed, and as a
    key without a past it would do everything once more. A backup holds nothing that `folder` lacks."""
    for other in _folders_beside(folder):
        theirs = {stamp for stamp, *rest in _named_in(other) if rest == [key.fingerprint, kind]}
        if theirs and theirs - {stamp for stamp, _, _ in _named_in(folder)}:
            raise RefusedError(
                f"{other} holds releases made with this key (fingerprint {key.fingerprint}) that {folder} "
                "does not hold. Going on without them would decide, or share, what was decided or shared "
                f"already. If the key was renamed, rename that folder to {folder.name}, or give the key its "
                "old name; if there are two folders, keep the one that was used last"
            )


def _folders_beside(folder: Path) -> list[Path]:
    """The other folders in the folder of a key that seem to hold sealed files."""
    try:
        with os.scandir(folder.parent) as entries:
            names = [entry.name for entry in entries if entry.name != folder.name and entry.is_dir()]
    except OSError:
        return []
    beside = [folder.with_name(name) for name in sorted(names)]
    return [other for other in beside if os.path.lexists(other / sealed_name(1))]


def _named_in(folder: Path) -> Iterator[tuple[str, object, object]]:
    """Of every sealed file in a folder, not checked: its stamp, the key that it names, and its kind."""
    with suppress(OSError):
        for name in filter(_SEALED.fullmatch, os.listdir(folder)):
            with suppress(InputError, ValueError, TypeError, KeyError, IndexError):
                _, stamp, text = read_part(folder / name, 0, _HEAD_LIMIT).split(b"\n", 3)[:3]
                head = json.loads(text)
                yield stamp.decode(), head["key_fingerprint"], head["kind"]


def changed(path: Path) -> VerificationError:
    """What to say, and to do, about a sealed file that is not as it was sealed."""
    return VerificationError(f"{path} was changed since it was sealed: {restore(path.parent)}")


def restore(folder: Path) -> str:
    """How to go on without a whole sealed folder."""
    return f"restore all of {folder} from the latest backup that was made with the key"


def _text(head: Mapping[str, Any]) -> str:
    return json.dumps(head, sort_keys=True, allow_nan=False)


def _stamp(key: Key, text: str) -> str:
    return key.stamp("sealed head", text, version=SEALED_FORMAT).hex()


def _check_opening(path: Path, line: str) -> None:
    if line == f"{_OPENING}{SEALED_FORMAT}":
        return
    if line.startswith(_OPENING) and line.removeprefix(_OPENING).isdecimal():
        raise VerificationError(
            f"{path} has sealed format {line.removeprefix(_OPENING)}, and this version of blindcal reads "
            f"format {SEALED_FORMAT}: use the version it was made with, or a later one"
        )
    raise changed(path)


def _other_key(path: Path, text: str, key: Key) -> VerificationError:
    """Whether the head names another key or was changed; it is not to be believed beyond that."""
    try:
        named = json.loads(text)["key_fingerprint"]
    except (ValueError, TypeError, KeyError):
        return changed(path)
    if named == key.fingerprint:
        return changed(path)
    return VerificationError(
        f"{path} was sealed with another key than the one given (fingerprint {key.fingerprint}): give the "
        "key that its decisions were made with; a new one would draw new coins"
    )


def pack(policies: Mapping[str, ExactPolicy]) -> bytes:
    """Tables as one part: a line that says where each one lies, then their integers, compressed."""
    at_rest = (
        policies.packed if isinstance(policies, Tables) else {k: packed(one) for k, one in policies.items()}
    )
    exact = [
        [[secret, f"{p.numerator:x}", f"{p.denominator:x}"] for secret, p in one.exact]
        for one in at_rest.values()
    ]
    blobs = [one.numerator for one in at_rest.values()]
    index = [[paper, len(blob), few] for paper, blob, few in zip(at_rest, blobs, exact, strict=True)]
    return b"\n".join([json.dumps(index).encode(), b"".join(blobs)])


def unpack(data: bytes) -> Tables:
    """The tables of a part."""
    index, blobs = data.split(b"\n", 1)
    at_rest, at = {}, 0
    for paper, size, few in json.loads(index):
        exact = tuple((secret, Fraction(int(top, 16), int(bottom, 16))) for secret, top, bottom in few)
        at_rest[paper], at = Packed(blobs[at : at + size], exact), at + size
    return Tables(at_rest)


CONFIDENTIAL = "confidential"
_COLUMNS = ("paper", "decision", "track", "wait_list")
# The limits that hold for readers who do not see the scores, too.
_HELD = {name: limit for name, limit in LIMITS.items() if limit.without_scores}
# Of the assumptions, those that speak of no figure.
_KEPT = ("One paper at a time", "One place on the list", "Fixed beforehand", "Not covered")
HIDDEN = (
    "Scores are confidential: apart from the decisions, nothing here depends on them. The chance of naming "
    "an author, the bar, expected errors and what the decision on each paper reveals at most are in the "
    "sealed record, for the chair and an auditor.",
    "Against whom: the guarantee and its limits are kept for someone who sees all scores and decisions and "
    "knows this method, how each reviewer scores and who may have reviewed each paper. They limit what a "
    "decision reveals to such a person beyond the scores.",
    "To someone who does not see the scores, a decision says something about them, and through them about "
    "reviewers: their best guess and their odds may change by more than the guarantee and epsilon say. They "
    "still name authors no more often than someone who sees the scores too"
    + "".join(
        f", and {limit.without_scores} ({name}) holds for them as well" for name, limit in _HELD.items()
    )
    + ", if they have the stated pools and nothing more to go by.",
    "Decided more than once: each decision on a paper keeps the limits, and several reveal more than one.",
)


def public_decisions(text: str, scores: str) -> str:
    """The table of decisions that is published; without what mean scores say if `scores` are confidential.

    >>> public_decisions("paper,decision,raw_decision,advice\\n17,accept,reject,raise\\n", "confidential")
    'paper,decision\\n17,accept\\n'
    """
    if scores != CONFIDENTIAL:
        return text
    header, *rows = csv.reader(io.StringIO(text))
    places = [place for place, name in enumerate(header) if name in _COLUMNS]
    return "".join(",".join(quoted(row[place]) for place in places) + "\n" for row in (header, *rows))


def public_certificate(text: str, scores: str) -> str:
    """The certificate that is published; without any figure that the scores enter if they are confidential.

    >>> full = json.dumps({"papers": 2, "success": 0.4, "guarantee": "steady", "assumptions": []})
    >>> sorted(json.loads(public_certificate(full, "confidential")))
    ['assumptions', 'guarantee', 'papers']
    """
    if scores != CONFIDENTIAL:
        return text
    content: Mapping[str, Any] = json.loads(text)
    kept = public_fields(content)
    kept["assumptions"] = [*HIDDEN, *(one for one in content["assumptions"] if one.startswith(_KEPT))]
    return certificate_json(kept)


def certificate_json(content: Mapping[str, Any]) -> str:
    """A certificate as it is written."""
    plain = jsonable(content)
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


_T = TypeVar("_T")
_KIND = "decisions"
_HEAD_FIELDS: Mapping[str, tuple[type, ...]] = {
    "coins": (int,),
    "conference": (str,),
    "number": (int,),
    "input": (str,),
}
Reference = tuple[str, int, str]
"""A decision: conference, release, paper id."""


@dataclass(frozen=True)
class Release:
    """One set of decisions that the world may have seen.

    `counter`: which release of the key it is, over all its conferences.
    `conference`, `number`: which release of which conference.
    `input`: the stamp of the whole input, by which the same one is recognized.
    """

    counter: int
    conference: str
    number: int
    input: str


@dataclass(frozen=True)
class PaperRecord:
    """One paper of a record: what was public, who wrote what, and how it was decided.

    `release` is the one that tossed the coin, `earlier` the decisions about its reviews before it, whatever
    they were called then. `price` is that of a shared budget, at which its table was solved. `probability` is
    the exact accept probability under the true reviewers, numerator and denominator in hexadecimal: with it
    the coin can be tossed again by whoever holds the key. `raw_accepted` is 1, 0 or, at a tie, the share of
    the tied papers that fits. `accepted` is the private decision, sealed where a number of papers was
    requested. `corrected`: its pools or calibration were corrected since. What is secret is not in its text:
    notebooks and logs keep what they print.
    """

    paper: str
    release: int
    earlier: tuple[Reference, ...]
    price: float | None
    public: Mapping[str, Any]
    reviewers: tuple[str, ...] = field(repr=False)
    secret: int = field(repr=False)
    probability: tuple[str, str] = field(repr=False)
    accepted: bool = field(repr=False)
    raw_accepted: float
    figures: Mapping[str, Any]
    corrected: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "earlier", tuple((c, int(n), p) for c, n, p in self.earlier))


@dataclass(frozen=True)
class Record:
    """Everything about one release: enough to return it, to amend it and to audit it. CONFIDENTIAL.

    `conference`, `release`: the name, and the number of the release among those of that name, from 1.
    `reason`: the chair's, for an amendment; else empty.
    `settings`: of the request, as they enter the coins.
    `bar`: the quality from which accepting is right, or one for each track.
    `price`: wrong decisions per added correct guess, where a budget is shared; else None.
    `commitment`: the number that fixes key and input, as `commitment` makes it.
    `papers`: for each what was public, who reviewed it and how it was decided.
    `fit`: how well the calibration predicts the scores, as the certificate says it.
    `decisions`, `certificate`: the texts of the two files; `published` has those that are public.
    `selection`: where a number of papers was requested, `accept`, `wait_list`, the `cuts` of the final list,
    and in which release it was `ranked`; else None.
    `first_accept`: the number of papers that was requested first, which the bar was set for and which enters
    the coins; else None.
    `redecided`: whether papers with corrected pools or calibration were decided again; else they stand.
    `scores`: whether they are `public` or `confidential`.
    """

    conference: str
    release: int
    reason: str = field(repr=False)
    settings: Mapping[str, Any]
    bar: Level
    price: float | None
    commitment: str
    papers: tuple[PaperRecord, ...] = field(repr=False)
    fit: Mapping[str, Any]
    decisions: str = field(repr=False)
    certificate: str = field(repr=False)
    selection: Mapping[str, Any] | None = field(default=None, repr=False)
    first_accept: Number | None = None
    redecided: bool = False
    scores: str = "public"

    @property
    def published(self) -> dict[str, str]:
        """The public files by name: what does not depend on the scores, if these are confidential."""
        return {
            DECISIONS: public_decisions(self.decisions, self.scores),
            CERTIFICATE: public_certificate(self.certificate, self.scores),
        }

    @property
    def request(self) -> Request:
        """What was requested when it was made."""
        return recorded_request(self.conference, self.settings, self.selection, self.scores)

    @property
    def grid(self) -> list[float]:
        """The scores that could be given, on the scale of the reviews; none of them if any number could."""
        return as_given(self.papers[0].public["grid"] or (), self.settings["better"])


@dataclass(frozen=True)
class Ledger:
    """The releases made with one key.

    `folder`: where their sealed files lie.
    `key`: that they are sealed with.
    `releases`: oldest first, over all conferences of the key.
    `last`: the stamp of the latest one's head, to which the next will be chained; empty before the first.
    """

    folder: Path
    key: Key
    releases: tuple[Release, ...]
    last: str = ""

    @property
    def fingerprint(self) -> str:
        """What identifies this key, in every sealed file and every certificate."""
        return self.key.fingerprint

    @property
    def counter(self) -> int:
        """How many releases were sealed with the key."""
        return len(self.releases)

    def of(self, conference: str) -> tuple[Release, ...]:
        """The releases of one conference."""
        return tuple(release for release in self.releases if release.conference == conference)

    def record(self, release: Release) -> Record:
        """The sealed record of a release."""
        seal = self._seal(release)
        try:
            content = json.loads(seal.part("record"))
            papers = tuple(_from_json(PaperRecord, paper) for paper in content.pop("papers"))
            record = _from_json(Record, {**content, "papers": papers})
        except (ValueError, TypeError, KeyError):
            raise changed(seal.path) from None
        fixed = input_commitment(self.key, release.conference, release.input)
        found = record.conference, record.release, record.commitment
        if found != (release.conference, release.number, fixed):
            raise changed(seal.path)
        return record

    def tables(self, record: Record) -> Tables:
        """The tables that a release sampled."""
        release = next(r for r in self.of(record.conference) if r.number == record.release)
        return unpack(self._seal(release).part("tables"))

    def _seal(self, release: Release) -> Seal:
        seal = read_seal(self.folder / sealed_name(release.counter), self.key)
        if _release(seal) != release:
            raise changed(seal.path)
        return seal


def sealed_folder(key_path: str | os.PathLike[str]) -> Path:
    """Where the sealed files of a key lie: beside it.

    >>> sealed_folder("chair/key.bin").as_posix()
    'chair/key.bin.sealed'
    """
    path = Path(key_path)
    # A link to a key is no other key: it has the same ledger.
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.name in ("", ".."):
        raise InputError(f"{os.fspath(key_path)} must be the name of a key file, and is a folder")
    return path.with_name(f"{path.name}.sealed")


@contextmanager
def open_ledger(key_path: str | os.PathLike[str], key: Key) -> Iterator[Ledger]:
    """The ledger of a key, held by this process alone: a second run is refused at once.

    `key_path` is the file of the key, beside which the sealed files lie; `key` is what `read_key` found
    there.

    >>> from blindcal.deciding.coins import make_key
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> path = Path(folder.name) / "key.bin"
    >>> with open_ledger(path, make_key(path)) as ledger:
    ...     ledger.counter, ledger.of("icx2027")
    (0, ())
    >>> folder.cleanup()
    """
    with held(sealed_folder(key_path)):
        yield read_ledger(key_path, key)


def read_ledger(key_path: str | os.PathLike[str], key: Key) -> Ledger:
    """The ledger of a key as it stands; empty if nothing was released.

    Only heads are read, and checked one against the other: the parts of a file when they are asked for.
    """
    folder = sealed_folder(key_path)
    chain = read_chain(folder, key, _KIND)
    return Ledger(folder, key, tuple(map(_release, chain)), chain[-1].stamp if chain else "")


def commit(ledger: Ledger, record: Record, policies: Mapping[str, ExactPolicy], input_stamp: str) -> Ledger:
    """Seal a release in one new file. If that file is there already it must be the same release."""
    release = Release(ledger.counter + 1, record.conference, record.release, input_stamp)
    parts = {"record": _json(asdict(record)), "tables": pack(policies)}
    fields = {"coins": COIN_FORMAT, **asdict(release)}
    head = full_head(ledger.key, _KIND, fields.pop("counter"), ledger.last, fields, parts)
    stamp, data = sealed(ledger.key, head, parts)
    path = ledger.folder / sealed_name(release.counter)
    make_folder(ledger.folder)
    if not os.path.lexists(path):
        write_bytes(path, data, confidential=True)
    elif read_seal(path, ledger.key).stamp != stamp:
        raise RefusedError(f"{path} holds another release, and a sealed release is never replaced")
    return Ledger(ledger.folder, ledger.key, (*ledger.releases, release), stamp)


def publish(record: Record, out: str | os.PathLike[str]) -> list[Path]:
    """Write the public files of a sealed `record` into the folder `out`, which is made where it is missing;
    one that is there already must be the same byte by byte. Returns the files that were written.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> texts = {"decisions": "paper,decision\\np1,accept\\n", "certificate": "{}\\n"}
    >>> record = Record("icx2027", 1, "", {}, 0.0, None, "", (), {}, **texts)
    >>> [path.name for path in publish(record, folder.name)], publish(record, folder.name)
    (['decisions.csv', 'certificate.json'], [])
    >>> folder.cleanup()
    """
    check_vacant(out, record)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    clear_stale(folder)
    written = []
    for path, text in _public_files(record, folder).items():
        if not path.exists():
            write_bytes(path, text.encode())
            written.append(path)
    return written


def check_vacant(out: str | os.PathLike[str], record: Record | None) -> None:
    """Refuse an output folder that holds another result; a new result needs a new folder."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"{folder} is not a folder")
    expected = {} if record is None else _public_files(record, folder)
    for path in (folder / "decisions.csv", folder / "certificate.json"):
        if path.exists() and (path not in expected or path.read_bytes() != expected[path].encode()):
            raise RefusedError(
                f"{path} holds another result and is never overwritten: give a new `out` folder"
            )


def release_folder(out: str | os.PathLike[str], number: int) -> Path:
    """Where a release is published if each has a folder of its own in `out`.

    >>> release_folder("public", 2).as_posix()
    'public/release-2'
    """
    return Path(out) / f"release-{number}"


def latest_release(out: str | os.PathLike[str]) -> Path | None:
    """The folder of the highest number that `release_folder` can have made in `out` and that is complete, if
    there is one."""
    return next((folder for folder in _release_folders(out) if _complete(folder)), None)


def interrupted_release(out: str | os.PathLike[str]) -> Path | None:
    """The folder of the highest number in `out`, if a killed run left it incomplete."""
    return next((folder for folder in _release_folders(out)[:1] if not _complete(folder)), None)


def finish(ledger: Ledger, conference: str, out: str | os.PathLike[str]) -> tuple[str, ...]:
    """Publish the sealed releases of a `conference` whose folders in `out` killed runs left incomplete.
    Returns what the chair should know, in words."""
    numbered = [(release, release_folder(out, release.number)) for release in ledger.of(conference)]
    left = [(release, folder) for release, folder in numbered if folder.is_dir() and not _complete(folder)]
    for release, folder in left:
        publish(ledger.record(release), folder)
    return tuple(
        f"{folder} was left incomplete by an interrupted run, and is complete now" for _, folder in left
    )


def _release_folders(out: str | os.PathLike[str]) -> list[Path]:
    """The numbered folders in `out`, latest first."""
    names = os.listdir(out) if os.path.isdir(out) else []
    numbers = [int(match[1]) for name in names if (match := NUMBERED.fullmatch(name))]
    return [release_folder(out, number) for number in sorted(numbers, reverse=True)]


def _complete(folder: Path) -> bool:
    """Whether all of a release is there: its certificate is written last."""
    return (folder / "certificate.json").exists()


@dataclass(frozen=True)
class Published:
    """A certificate that was published: which key made it, and as which of its releases."""

    path: Path
    fingerprint: str
    counter: int
    text: bytes


def read_published(folder: str | os.PathLike[str]) -> Published | None:
    """The certificate in a folder; None if there is none, or if it does not say how it was made."""
    path = Path(folder) / "certificate.json"
    try:
        text, content = read_bytes(path), read_json(path)
    except InputError:
        return None
    match content:
        case {"key_fingerprint": str(fingerprint), "release_counter": int(counter)} if counter > 0:
            return Published(path, fingerprint, counter, text)
    return None


def published_in(folder: str | os.PathLike[str]) -> list[Published]:
    """The certificate in a folder, and those of the numbered releases in it, oldest first."""
    folders = [Path(folder), *reversed(_release_folders(folder))]
    return [seen for seen in map(read_published, folders) if seen is not None]


def published_at(out: str | os.PathLike[str], numbered: bool) -> list[Published]:
    """What a folder for new results holds already: one release, or several that are `numbered`."""
    return published_in(out) if numbered else [seen for seen in [read_published(out)] if seen is not None]


def all_published(
    folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> list[Published]:
    """Every certificate in folders that were published; an `InputError` if one of them has none."""
    seen = []
    for folder in [folders] if isinstance(folders, str | os.PathLike) else folders:
        if not (here := published_in(folder)):
            raise InputError(f"`published` {folder} must hold a certificate.json that blindcal wrote")
        seen += here
    return seen


def check_published(ledger: Ledger, seen: Sequence[Published]) -> None:
    """Refuse to go on if something published shows that this is not its key, or not all of its ledger."""
    if problems := published_problems(ledger, seen):
        raise RefusedError("; ".join(problems))


def published_problems(ledger: Ledger, seen: Sequence[Published]) -> list[str]:
    """For each certificate that is not a release of this ledger: what is wrong, and what to do."""
    problems = (_published_problem(ledger, certificate, seen) for certificate in seen)
    return [problem for problem in problems if problem is not None]


def _published_problem(ledger: Ledger, certificate: Published, seen: Sequence[Published]) -> str | None:
    path, counter = certificate.path, certificate.counter
    if certificate.fingerprint != ledger.fingerprint:
        return (
            f"{path} was made with another key (fingerprint {certificate.fingerprint}) than the one given "
            f"({ledger.fingerprint}): give that key; another one would draw new coins"
        )
    if counter > ledger.counter:
        return (
            f"{path} is release {counter} made with this key, and {ledger.folder} holds only "
            f"{ledger.counter}: it is older than what was published; {restore(ledger.folder)}"
        )
    if ledger.record(ledger.releases[counter - 1]).published[CERTIFICATE].encode() == certificate.text:
        return None
    apart = "two copies of the key decided apart, or one of the two was changed"
    for other in seen:
        same = other.fingerprint == certificate.fingerprint and other.counter == counter
        if same and other.text != certificate.text:
            return f"{path} and {other.path} are both release {counter} made with this key: {apart}"
    return (
        f"{path} is not what {ledger.folder} holds as release {counter} made with this key: {apart}. If that "
        f"folder is not the one to go on with, {restore(ledger.folder)}"
    )


def sealed_record(published: str | os.PathLike[str], key: str | os.PathLike[str]) -> Record:
    """The sealed record of the release in the folder `published`, which was made with this `key`.
    CONFIDENTIAL."""
    seen = read_published(published)
    if seen is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    ledger = read_ledger(key, read_key(key))
    check_published(ledger, [seen])
    return ledger.record(ledger.releases[seen.counter - 1])


def _public_files(record: Record, folder: Path) -> dict[Path, str]:
    return {folder / name: text for name, text in record.published.items()}


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, allow_nan=False).encode()


def _from_json(kind: type[_T], content: Mapping[str, Any]) -> _T:
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})


def _release(seal: Seal) -> Release:
    if seal.head.get("coins") != COIN_FORMAT:
        raise VerificationError(
            f"{seal.path} has coins of another format than {COIN_FORMAT}, which this version of blindcal "
            "derives: use the version it was made with, or a later one"
        )
    fields = seal.fields(_HEAD_FIELDS, ("record", "tables"))
    return Release(seal.head["counter"], fields["conference"], fields["number"], fields["input"])
