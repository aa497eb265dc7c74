"""The ledger: one confidential record for every release made with a key, and the public files of each.

The records lie in a folder beside the key (`key.bin` -> `key.bin.sealed`), numbered from 1; a key decides
one conference. These files are the ledger; there is no index that could be older or newer than they are. A
release counts from the moment its one file has its name, and nothing public is written before that. So a
killed run leaves either a whole release or none, and the same command continues from there: it finds the
release and publishes it, or draws the same coins again.

A record file has a stamped head that can be read alone, then the parts that the head describes:

    line 1   a notice that the file is confidential, and the version of its format
    line 2   the stamp of the head: only a holder of the key can have made it
    line 3   the head: JSON, at most 32 KiB; it gives the name, size and SHA-256 of each part
    then     the parts, one after the other

A file is written once and never replaced. Each head contains the stamp of the head before it and, through
its digests, fixes every byte of its file. So the files form a hash chain: none can be changed, exchanged or
left out unnoticed. A head has no field that cannot be checked against something else, because a holder of the
key could have written anything there.

If scores are confidential, the public files contain the decisions and the request, but no figure that depends
on scores. The full texts are in the record, for the chair and an auditor.

The chapter reads top-down: the ledger and its records, publishing, certificates that were published, and the
record files.
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
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from blindcal.certify.exact import ExactPolicy, PackedPolicy, PolicyTables, pack_policy
from blindcal.deciding.certificate_fields import assumptions_without_scores, public_fields
from blindcal.deciding.key_and_coins import (
    COIN_FORMAT,
    Key,
    input_commitment,
    read_key,
    refuse_shared_file,
)
from blindcal.deciding.recorded_pools import PoolRows, RecordedPeople
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.io.atomic_files import (
    CERTIFICATE,
    DECISIONS,
    RELEASE_NAME,
    is_temporary_name,
    lock,
    make_folder,
    read_bytes,
    read_json,
    read_range,
    remove_stale_files,
    to_jsonable,
    write_bytes,
)
from blindcal.io.tables import StrPath, quote_cell
from blindcal.planning.request import Request, recorded_request
from blindcal.pools.candidates import union
from blindcal.posterior.conference import LevelByTrack
from blindcal.posterior.levels import LevelModel
from blindcal.posterior.this_year import EVIDENCE_FILE, model_of_json
from blindcal.reviews import original_scores

RECORD_FORMAT = 1
"""The version of a record file; docs/reference/records_and_randomness.md has each version."""
NOTICE = "CONFIDENTIAL: names who wrote which review. Keep with the key; never publish or send on."
_FIRST_LINE = f"{NOTICE} blindcal sealed format "
_HEAD_LIMIT = 1 << 16
# The fields of every head: its position in the chain, and its parts.
_CHAIN = ("kind", "counter", "previous", "key_fingerprint", "parts")
_PART = {"name": str, "size": int, "sha256": str}
_RECORD_NAME = re.compile(r"[0-9]{4,}\.sealed")
_KIND = "decisions"
_HEAD_FIELDS: Mapping[str, tuple[type, ...]] = {
    "coins": (int,),
    "conference": (str,),
    "input": (str,),
}
CONFIDENTIAL = "confidential"
_PUBLIC_COLUMNS = ("paper", "decision", "track", "wait_list")
Reference = tuple[int, str]
"""A decision: release, paper id."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class ReleaseEntry:
    """The entry of a release in the ledger."""

    number: int  # number of the release, from 1
    conference: str  # name of the conference, the same for all releases of a key
    input: str  # stamp of the whole input, which recognizes the same input again


@dataclass(frozen=True)
class PaperRecord:
    """One paper of a record: its public facts, its reviewers and its decision.

    Secret fields are not in its `repr`, because notebooks and logs keep what they print.
    """

    paper: str  # id of the paper
    release: int  # the release that drew the coin
    earlier: tuple[Reference, ...]  # earlier decisions about its reviews, under any name
    public: Mapping[str, Any]  # its public facts
    reviewers: tuple[str, ...] = field(repr=False)  # its reviewers
    secret: int = field(repr=False)  # index of the tuple of reviewers in its table
    # Exact accept probability under the true reviewers, numerator and denominator in hexadecimal; with it, a
    # holder of the key can draw the coin again
    probability: tuple[str, str] = field(repr=False)
    # The private decision; confidential if a number of papers was requested
    accepted: bool = field(repr=False)
    # 1 if the mean score accepts the paper, 0 if not; at a tie, the share of the tied papers that fits
    raw_accepted: float
    figures: Mapping[str, Any]  # its claim and its expected errors
    corrected: bool = False  # whether its pools or calibration were corrected since

    def __post_init__(self) -> None:
        object.__setattr__(self, "earlier", tuple((int(n), p) for n, p in self.earlier))


@dataclass(frozen=True)
class Record:
    """The confidential record of one release: enough to return, amend and audit it."""

    conference: str  # name of the conference
    release: int  # number of the release of that conference, from 1
    reason: str = field(repr=False)  # the chair's reason for an amendment; else empty
    settings: Mapping[str, Any]  # settings of the request, as they enter the coins
    bar: LevelByTrack  # quality from which accepting is right, or one per track
    commitment: str  # the commitment to key and input
    # For each paper its public facts, its reviewers and its decision
    papers: tuple[PaperRecord, ...] = field(repr=False)
    fit: Mapping[str, Any]  # how well the calibration predicts the scores, as in the certificate
    decisions: str = field(repr=False)  # full text of `decisions.csv`; `published` has the public text
    certificate: str = field(repr=False)  # full text of `certificate.json`; `published` has the public text
    # If a number of papers was requested: `accept`, `wait_list` and the `cuts` of the final list, which are
    # those of the first release; else None
    selection: Mapping[str, Any] | None = field(default=None, repr=False)
    scores: str = "public"  # "public" or "confidential"
    # What all papers share if they are decided by this year's evidence; else None
    model: Mapping[str, Any] | None = field(default=None, repr=False)

    @cached_property
    def level_model(self) -> LevelModel | None:
        """What all papers share, frozen with the first release."""
        return None if self.model is None else model_of_json(self.model)

    @property
    def given(self) -> dict[str, int] | None:
        """The level of evidence of each paper, if another method made it."""
        made = self.settings.get("source") == EVIDENCE_FILE
        return {paper.paper: paper.secret for paper in self.papers} if made else None

    @property
    def published(self) -> dict[str, str]:
        """The public files by name; if scores are confidential, the parts that do not depend on them."""
        return {
            DECISIONS: public_decisions(self.decisions, self.scores),
            CERTIFICATE: public_certificate(self.certificate, self.scores),
        }

    @property
    def request(self) -> Request:
        """The request of this release."""
        return recorded_request(self.conference, self.settings, self.selection, self.scores)

    @property
    def grid(self) -> list[float]:
        """The grid of scores, on the scale of the reviews; empty if any number is a score."""
        return original_scores(self.papers[0].public["grid"] or (), self.settings["better"])


@dataclass(frozen=True)
class Ledger:
    """The releases made with one key."""

    folder: Path  # the folder of the records
    key: Key  # the key that stamps them
    releases: tuple[ReleaseEntry, ...]  # oldest first
    last: str = ""  # stamp of the latest head, to which the next is chained; empty before the first

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key, which is in every record and every certificate."""
        return self.key.fingerprint

    def record(self, release: ReleaseEntry) -> Record:
        """The record of a release, checked against its head and its commitment."""
        head = self._seal(release)
        try:
            content = json.loads(head.part("record"))
            papers = _papers_of(content)
            record = _from_json(Record, {**content, "papers": papers})
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, StopIteration):
            raise changed_record(head.path) from None
        committed = input_commitment(self.key, release.conference, release.input)
        identity = record.conference, record.release, record.commitment
        if identity != (release.conference, release.number, committed):
            raise changed_record(head.path)
        return record

    def tables(self, record: Record) -> PolicyTables:
        """The tables that a release sampled."""
        return unpack(self._seal(self.releases[record.release - 1]).part("tables"))

    def _seal(self, release: ReleaseEntry) -> RecordHead:
        head = read_head(self.folder / record_name(release.number), self.key)
        if _entry_of(head) != release:
            raise changed_record(head.path)
        return head


def ledger_folder(key_path: StrPath) -> Path:
    """The folder of a key's ledger, beside the key."""
    path = Path(key_path)
    # A link to a key is the same key, and has the same ledger.
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.name in ("", ".."):
        raise InputError(f"{os.fspath(key_path)} must be the name of a key file, and is a folder")
    return path.with_name(f"{path.name}.sealed")


@contextmanager
def open_ledger(key_path: StrPath, key: Key) -> Iterator[Ledger]:
    """Opens the ledger of a key for this process alone; a second run is refused at once.

    `key_path`: the file of the key, beside which the ledger lies.
    """
    with lock_ledger(ledger_folder(key_path)):
        yield read_ledger(key_path, key)


def read_ledger(key_path: StrPath, key: Key) -> Ledger:
    """The ledger of a key as it stands; empty if nothing was released.

    Only heads are read and checked against each other; the parts of a record are read when needed.
    """
    folder = ledger_folder(key_path)
    chain = read_chain(folder, key, _KIND)
    return Ledger(folder, key, tuple(map(_entry_of, chain)), chain[-1].stamp if chain else "")


def commit(ledger: Ledger, record: Record, policies: Mapping[str, ExactPolicy], input_stamp: str) -> Ledger:
    """Writes the record of a release in one new file; an existing file must be the same release."""
    entry = ReleaseEntry(len(ledger.releases) + 1, record.conference, input_stamp)
    parts = {"record": _json_bytes(record), "tables": pack(policies)}
    fields = {"coins": COIN_FORMAT, **asdict(entry)}
    head = full_head(ledger.key, _KIND, fields.pop("number"), ledger.last, fields, parts)
    stamp, data = record_bytes(ledger.key, head, parts)
    path = ledger.folder / record_name(entry.number)
    make_folder(ledger.folder)
    if not os.path.lexists(path):
        write_bytes(path, data, confidential=True)
    elif read_head(path, ledger.key).stamp != stamp:
        raise RefusedError(f"{path} holds another release, and a recorded release is never replaced")
    return Ledger(ledger.folder, ledger.key, (*ledger.releases, entry), stamp)


def _json_bytes(record: Record) -> bytes:
    pools = [PoolRows.of(paper.public["pool"]) for paper in record.papers]
    people = sorted(union([pool.people for pool in pools]))
    everyone = RecordedPeople.of([[name, *parameters] for name, parameters in people])
    papers = [
        {**_by_field(paper), "public": {**paper.public, "pool": everyone.encoded(pool)}}
        for paper, pool in zip(record.papers, pools, strict=True)
    ]
    content = {**_by_field(record), "papers": papers, "people": everyone.rows}
    return json.dumps(content, sort_keys=True, allow_nan=False).encode()


def _by_field(part: Any) -> dict[str, Any]:
    # Not `asdict`, which copies every number.
    return {each.name: getattr(part, each.name) for each in fields(part)}


def _papers_of(content: dict[str, Any]) -> tuple[PaperRecord, ...]:
    """Takes the papers out of the content of a record; a ValueError if pools are not as they are written."""
    everyone = RecordedPeople.of(content.pop("people"))
    for paper in (papers := content.pop("papers")):
        paper["public"]["pool"] = everyone.decoded(paper["public"]["pool"])
    people = sorted(union([paper["public"]["pool"].people for paper in papers]))
    if [[name, *parameters] for name, parameters in people] != everyone.rows:
        raise ValueError("people must be those of the pools, sorted")
    return tuple(_from_json(PaperRecord, paper) for paper in papers)


def _from_json(kind: type[_T], content: Mapping[str, Any]) -> _T:
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})


def _entry_of(head: RecordHead) -> ReleaseEntry:
    if head.head.get("coins") != COIN_FORMAT:
        raise VerificationError(
            f"{head.path} has draws of another format than {COIN_FORMAT}, which this version of blindcal "
            "derives: use the version it was made with, or a later one"
        )
    fields = head.fields(_HEAD_FIELDS, ("record", "tables"))
    return ReleaseEntry(head.head["counter"], fields["conference"], fields["input"])


def read_record(published: StrPath, key: StrPath) -> Record:
    """The confidential record of the release in the folder `published`, which was made with this `key`."""
    certificate = read_published(published)
    if certificate is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    ledger = read_ledger(key, read_key(key))
    check_published(ledger, [certificate])
    return ledger.record(ledger.releases[certificate.number - 1])


def publish(record: Record, out: StrPath) -> list[Path]:
    """Writes the public files of a record.

    An existing file must be identical, so a killed run can publish again. The certificate is written last and
    marks the folder as complete.

    `record`: the record of a release in the ledger. `out`: the folder to publish, which is made if it is
    missing.
    """
    check_vacant(out, record)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    remove_stale_files(folder)
    written = []
    for path, text in _public_files(record, folder).items():
        if not path.exists():
            write_bytes(path, text.encode())
            written.append(path)
    return written


def check_vacant(out: StrPath, record: Record | None) -> None:
    """Refuses an output folder that holds another result; a new result needs a new folder."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"{folder} is not a folder")
    expected = {} if record is None else _public_files(record, folder)
    for path in (folder / "decisions.csv", folder / "certificate.json"):
        if path.exists() and (path not in expected or path.read_bytes() != expected[path].encode()):
            raise RefusedError(
                f"{path} holds another result and is never overwritten: give a new `out` folder"
            )


def _public_files(record: Record, folder: Path) -> dict[Path, str]:
    return {folder / name: text for name, text in record.published.items()}


def release_folder(out: StrPath, number: int) -> Path:
    """The folder of a release if each has a folder of its own in `out`."""
    return Path(out) / f"release-{number}"


def latest_release(out: StrPath) -> Path | None:
    """The complete folder of the latest numbered release in `out`, if there is one."""
    return next((folder for folder in _release_folders(out) if _is_complete(folder)), None)


def interrupted_release(out: StrPath) -> Path | None:
    """The folder of the latest numbered release in `out`, if a killed run left it incomplete."""
    return next((folder for folder in _release_folders(out)[:1] if not _is_complete(folder)), None)


def finish_interrupted(ledger: Ledger, out: StrPath) -> tuple[str, ...]:
    """Publishes the releases whose folders in `out` killed runs left incomplete.

    Returns a remark on each.
    """
    numbered = [(release, release_folder(out, release.number)) for release in ledger.releases]
    interrupted = [
        (release, folder) for release, folder in numbered if folder.is_dir() and not _is_complete(folder)
    ]
    for release, folder in interrupted:
        publish(ledger.record(release), folder)
    return tuple(
        f"{folder} was left incomplete by an interrupted run, and is complete now"
        for _, folder in interrupted
    )


def _release_folders(out: StrPath) -> list[Path]:
    """The numbered folders in `out`, latest first."""
    names = os.listdir(out) if os.path.isdir(out) else []
    numbers = [int(match[1]) for name in names if (match := RELEASE_NAME.fullmatch(name))]
    return [release_folder(out, number) for number in sorted(numbers, reverse=True)]


def _is_complete(folder: Path) -> bool:
    """Whether a release is complete: its certificate is written last."""
    return (folder / "certificate.json").exists()


def public_decisions(text: str, scores: str) -> str:
    """The public table of decisions; if `scores` are confidential, without columns that depend on them."""
    if scores != CONFIDENTIAL:
        return text
    header, *rows = csv.reader(io.StringIO(text))
    columns = [column for column, name in enumerate(header) if name in _PUBLIC_COLUMNS]
    return "".join(",".join(quote_cell(row[column]) for column in columns) + "\n" for row in (header, *rows))


def public_certificate(text: str, scores: str) -> str:
    """The public certificate; if `scores` are confidential, without figures that depend on them.

    >>> full = {"format": 1, "papers": 2, "success": 0.4, "guarantee": "steady", "assumptions": ["observer"]}
    >>> sorted(json.loads(public_certificate(json.dumps(full), "confidential")))
    ['assumptions', 'format', 'guarantee', 'papers']
    """
    if scores != CONFIDENTIAL:
        return text
    content: Mapping[str, Any] = json.loads(text)
    kept = public_fields(content)
    kept["assumptions"] = assumptions_without_scores(content["assumptions"])
    return certificate_json(kept)


def certificate_json(content: Mapping[str, Any]) -> str:
    """The text of a certificate file."""
    plain = to_jsonable(content)
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True)
class PublishedCertificate:
    """A published certificate, with the key that made it and the number of its release."""

    path: Path
    fingerprint: str
    number: int
    text: bytes


def read_published(folder: StrPath) -> PublishedCertificate | None:
    """The certificate in a folder; None if there is none, or if it does not name its key and release."""
    path = Path(folder) / "certificate.json"
    try:
        text, content = read_bytes(path), read_json(path)
    except InputError:
        return None
    match content:
        case {"key_fingerprint": str(fingerprint), "release": int(number)} if number > 0:
            return PublishedCertificate(path, fingerprint, number, text)
    return None


def published_in(folder: StrPath) -> list[PublishedCertificate]:
    """The certificate in a folder, and those of the numbered releases in it, oldest first."""
    folders = [Path(folder), *reversed(_release_folders(folder))]
    return [seen for seen in map(read_published, folders) if seen is not None]


def published_at(out: StrPath, numbered: bool) -> list[PublishedCertificate]:
    """The certificates that a folder for new results already holds: one, or several if `numbered`."""
    return published_in(out) if numbered else [seen for seen in [read_published(out)] if seen is not None]


def all_published(
    folders: StrPath | Sequence[StrPath],
) -> list[PublishedCertificate]:
    """Every certificate in published folders; a folder without any is refused."""
    certificates = []
    for folder in [folders] if isinstance(folders, str | os.PathLike) else folders:
        if not (inside := published_in(folder)):
            raise InputError(f"`published` {folder} must hold a certificate.json that blindcal wrote")
        certificates += inside
    return certificates


def check_published(ledger: Ledger, seen: Sequence[PublishedCertificate]) -> None:
    """Refuses to continue if a published certificate has another key, or is missing from the ledger.

    A ledger restored from an old backup would otherwise draw new coins for papers that were decided.
    """
    if problems := published_problems(ledger, seen):
        raise RefusedError("; ".join(problems))


def published_problems(ledger: Ledger, seen: Sequence[PublishedCertificate]) -> list[str]:
    """A message for each certificate that is not a release of this ledger, with advice."""
    problems = (_published_problem(ledger, certificate, seen) for certificate in seen)
    return [problem for problem in problems if problem is not None]


def _published_problem(
    ledger: Ledger, certificate: PublishedCertificate, seen: Sequence[PublishedCertificate]
) -> str | None:
    path, number = certificate.path, certificate.number
    if certificate.fingerprint != ledger.fingerprint:
        return (
            f"{path} was made with another key (fingerprint {certificate.fingerprint}) than the one given "
            f"({ledger.fingerprint}): give that key; another one would draw again"
        )
    if number > len(ledger.releases):
        return (
            f"{path} is release {number} made with this key, and {ledger.folder} holds only "
            f"{len(ledger.releases)}: it is older than what was published; {_restore_advice(ledger.folder)}"
        )
    if ledger.record(ledger.releases[number - 1]).published[CERTIFICATE].encode() == certificate.text:
        return None
    apart = "two copies of the key decided apart, or one of the two was changed"
    for other in seen:
        same = other.fingerprint == certificate.fingerprint and other.number == number
        if same and other.text != certificate.text:
            return f"{path} and {other.path} are both release {number} made with this key: {apart}"
    return (
        f"{path} is not what {ledger.folder} holds as release {number} made with this key: {apart}. If that "
        f"folder is not the one to go on with, {_restore_advice(ledger.folder)}"
    )


@dataclass(frozen=True)
class RecordHead:
    """The checked head of a record file; `start` is the offset of its parts."""

    path: Path
    stamp: str
    head: Mapping[str, Any]
    start: int

    def fields(self, types: Mapping[str, tuple[type, ...]], parts: Sequence[str]) -> dict[str, Any]:
        """The fields of the head besides its position in the chain.

        A `VerificationError` unless it has exactly these fields, of these types, and these parts.
        """
        values = {name: value for name, value in self.head.items() if name not in _CHAIN}
        names = [part["name"] for part in self.head["parts"]]
        if values.keys() != types.keys() or names != list(parts):
            raise changed_record(self.path)
        # Exact types, because True is an instance of int.
        if any(type(value) not in types[name] for name, value in values.items()):
            raise changed_record(self.path)
        return values

    def part(self, name: str) -> bytes:
        """One part of the file, or a `VerificationError` if its digest is wrong."""
        offset = self.start
        for part in self.head["parts"]:
            if part["name"] == name:
                data = read_range(self.path, offset, part["size"])
                if not hmac.compare_digest(sha256(data).hexdigest(), part["sha256"]):
                    raise changed_record(self.path)
                return data
            offset += part["size"]
        raise changed_record(self.path)


def record_name(counter: int) -> str:
    """The name of the file of a key's release number `counter`."""
    return f"{counter:04d}.sealed"


def full_head(
    key: Key, kind: str, counter: int, previous: str, fields: Mapping[str, Any], parts: Mapping[str, bytes]
) -> dict[str, Any]:
    """A head with its own `fields`, its position in the chain and the description of its parts."""
    described = [
        {"name": name, "size": len(data), "sha256": sha256(data).hexdigest()} for name, data in parts.items()
    ]
    position = {"kind": kind, "counter": counter, "previous": previous, "key_fingerprint": key.fingerprint}
    return {**fields, **position, "parts": described}


def record_bytes(key: Key, head: Mapping[str, Any], parts: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The stamp of a full head, and the bytes of its record file."""
    text = _head_text(head)
    if len(text) > _HEAD_LIMIT // 2:
        raise InputError(
            "the name of the conference and the reason must be shorter: at most 2,500 characters"
        )
    stamp = _head_stamp(key, text)
    lines = f"{_FIRST_LINE}{RECORD_FORMAT}\n{stamp}\n{text}\n"
    return stamp, b"".join([lines.encode(), *parts.values()])


def read_head(path: Path, key: Key) -> RecordHead:
    """The checked head of a record file, or a `VerificationError` with advice.

    A file that others could have read is refused, as a key is.
    """
    refuse_shared_file(path)
    lines = read_range(path, 0, _HEAD_LIMIT).split(b"\n", 3)
    _check_opening(path, lines[0].decode("utf-8", "replace"))
    if len(lines) < 4:
        raise changed_record(path)
    text = lines[2].decode("utf-8", "replace")
    stamp = _head_stamp(key, text)
    if not hmac.compare_digest(lines[1], stamp.encode()):
        raise _wrong_stamp(path, text, key)
    head, start = _parse_head(text, key), sum(len(line) + 1 for line in lines[:3])
    if head is None or os.stat(path).st_size != start + sum(part["size"] for part in head["parts"]):
        raise changed_record(path)
    return RecordHead(path, stamp, head, start)


def _parse_head(text: str, key: Key) -> dict[str, Any] | None:
    """A stamped head in the canonical form in which heads are written; None in any other form.

    A second form of the same head would have another stamp, and could replace the file.
    """
    try:
        head: dict[str, Any] = json.loads(text)
        described = all(
            {name: type(value) for name, value in part.items()} == _PART for part in head["parts"]
        )
        same = head["key_fingerprint"] == key.fingerprint and _head_text(head) == text
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return head if same and described else None


def _head_text(head: Mapping[str, Any]) -> str:
    return json.dumps(head, sort_keys=True, allow_nan=False)


def _head_stamp(key: Key, text: str) -> str:
    return key.stamp("sealed head", text, version=RECORD_FORMAT).hex()


def _check_opening(path: Path, line: str) -> None:
    if line == f"{_FIRST_LINE}{RECORD_FORMAT}":
        return
    if line.startswith(_FIRST_LINE) and line.removeprefix(_FIRST_LINE).isdecimal():
        raise VerificationError(
            f"{path} has log format {line.removeprefix(_FIRST_LINE)}, and this version of blindcal reads "
            f"format {RECORD_FORMAT}: use the version it was made with, or a later one"
        )
    raise changed_record(path)


def _wrong_stamp(path: Path, text: str, key: Key) -> VerificationError:
    """The error for a head with a wrong stamp: another key, or a change. Nothing else in it is trusted."""
    try:
        named = json.loads(text)["key_fingerprint"]
    except (ValueError, TypeError, KeyError):
        return changed_record(path)
    if named == key.fingerprint:
        return changed_record(path)
    return VerificationError(
        f"{path} was made with another key than the one given (fingerprint {key.fingerprint}): give the "
        "key of its decisions; a new one would draw again"
    )


def pack(policies: Mapping[str, ExactPolicy]) -> bytes:
    """Tables as one part: a line of JSON with the size of each, then their compressed integers."""
    compressed = (
        policies.packed
        if isinstance(policies, PolicyTables)
        else {k: pack_policy(table) for k, table in policies.items()}
    )
    exact = [
        [[secret, f"{p.numerator:x}", f"{p.denominator:x}"] for secret, p in table.exact]
        for table in compressed.values()
    ]
    blobs = [table.numerator for table in compressed.values()]
    index = [[paper, len(blob), few] for paper, blob, few in zip(compressed, blobs, exact, strict=True)]
    return b"\n".join([json.dumps(index).encode(), b"".join(blobs)])


def unpack(data: bytes) -> PolicyTables:
    """The tables of a part."""
    index, blobs = data.split(b"\n", 1)
    compressed, offset = {}, 0
    for paper, size, few in json.loads(index):
        exact = tuple((secret, Fraction(int(top, 16), int(bottom, 16))) for secret, top, bottom in few)
        compressed[paper], offset = PackedPolicy(blobs[offset : offset + size], exact), offset + size
    return PolicyTables(compressed)


@contextmanager
def lock_ledger(folder: Path) -> Iterator[None]:
    """Locks a folder of records for this process; a second run is refused at once.

    The folder is made with its first record, so that a run without a release leaves nothing.
    """
    with lock(folder):
        if os.path.lexists(folder):
            make_folder(folder)
        remove_stale_files(folder)
        yield


def record_files(folder: Path) -> list[Path]:
    """The record files of a folder in order; a gap or any other file is refused."""
    # A record that is skipped under another name would be drawn again, so any other name is refused, but for
    # the file of a writer at work and the one that macOS leaves in folders.
    names = set(os.listdir(folder)) if folder.is_dir() else set()
    names -= {name for name in names if name == ".DS_Store" or is_temporary_name(name)}
    if strange := sorted(name for name in names if not _RECORD_NAME.fullmatch(name)):
        raise VerificationError(
            f"{folder / strange[0]} is no record of a release, and nothing else belongs in the private log: "
            "move it away"
        )
    expected = [record_name(counter) for counter in range(1, len(names) + 1)]
    if missing := [name for name in expected if name not in names]:
        raise VerificationError(
            f"{folder / missing[0]} is missing, and later ones are not: {_restore_advice(folder)}"
        )
    return [folder / name for name in expected]


def read_chain(folder: Path, key: Key, kind: str) -> tuple[RecordHead, ...]:
    """The heads of all records of a folder, each of this kind and checked against the head before it."""
    _refuse_other_names(folder, key, kind)
    chain, last = list[RecordHead](), ""
    for counter, path in enumerate(record_files(folder), start=1):
        head = read_head(path, key)
        if head.head.get("kind") != kind:
            raise changed_record(path)
        # Compared as JSON, in which 1 and true differ.
        if json.dumps([head.head.get(name) for name in ("counter", "previous")]) != json.dumps(
            [counter, last]
        ):
            raise VerificationError(f"{path} does not follow the file before it: {_restore_advice(folder)}")
        last = head.stamp
        chain.append(head)
    return tuple(chain)


def _refuse_other_names(folder: Path, key: Key, kind: str) -> None:
    """Refuses a key that has releases in another folder beside it.

    The key or the folder was renamed, and a key without a ledger would decide everything again. A backup
    is no such folder, because it holds no release that `folder` lacks.
    """
    for other in _folders_beside(folder):
        theirs = {stamp for stamp, *rest in _unchecked_heads(other) if rest == [key.fingerprint, kind]}
        if theirs and theirs - {stamp for stamp, _, _ in _unchecked_heads(folder)}:
            raise RefusedError(
                f"{other} holds releases made with this key (fingerprint {key.fingerprint}) that {folder} "
                "does not hold. Going on without them would decide, or share, what was decided or shared "
                f"already. If the key was renamed, rename that folder to {folder.name}, or give the key its "
                "old name; if there are two folders, keep the one that was used last"
            )


def _folders_beside(folder: Path) -> list[Path]:
    """The other folders beside a ledger that seem to hold records."""
    try:
        with os.scandir(folder.parent) as entries:
            names = [entry.name for entry in entries if entry.name != folder.name and entry.is_dir()]
    except OSError:
        return []
    beside = [folder.with_name(name) for name in sorted(names)]
    return [other for other in beside if os.path.lexists(other / record_name(1))]


def _unchecked_heads(folder: Path) -> Iterator[tuple[str, object, object]]:
    """The stamp, the key and the kind that each record file in a folder claims, unchecked."""
    with suppress(OSError):
        for name in filter(_RECORD_NAME.fullmatch, os.listdir(folder)):
            with suppress(InputError, ValueError, TypeError, KeyError, IndexError):
                _, stamp, text = read_range(folder / name, 0, _HEAD_LIMIT).split(b"\n", 3)[:3]
                head = json.loads(text)
                yield stamp.decode(), head["key_fingerprint"], head["kind"]


def changed_record(path: Path) -> VerificationError:
    """The error for a record file that was changed, with advice."""
    return VerificationError(f"{path} was changed since it was written: {_restore_advice(path.parent)}")


def _restore_advice(folder: Path) -> str:
    """Advice for a ledger that is not complete."""
    return f"restore all of {folder} from the latest backup that was made with the key"
