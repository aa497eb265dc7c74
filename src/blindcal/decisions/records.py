"""The ledger: the sealed files of every release made with one key, and the public files of each.

The files lie in a folder beside the key (`key.bin` -> `key.bin.sealed`), one per release, numbered over all
conferences of the key. They are the ledger: nothing else could be older or newer than they are. A release
counts from the moment its one file has its name, and nothing public is written before that. So a killed run
leaves a release that counts or none at all, and the same command goes on from either.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from blindcal.beliefs.conferences import Level
from blindcal.decisions.coins import COIN_FORMAT, Key, input_commitment, read_key
from blindcal.decisions.public_texts import public_certificate, public_decisions
from blindcal.decisions.seals import (
    Seal,
    changed,
    full_head,
    held,
    pack,
    read_chain,
    read_seal,
    restore,
    sealed,
    sealed_name,
    unpack,
)
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.files.disk import clear_stale, make_folder, read_bytes, read_json, write_bytes
from blindcal.files.published import CERTIFICATE, DECISIONS, NUMBERED
from blindcal.orientations import as_given
from blindcal.plans.exact import ExactPolicy, Tables
from blindcal.plans.quotas import Number
from blindcal.plans.requests import Request, recorded_request

_T = TypeVar("_T")
_KIND = "decisions"
_FIELDS: Mapping[str, tuple[type, ...]] = {
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

    >>> from blindcal.decisions.coins import make_key
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
    fields = seal.fields(_FIELDS, ("record", "tables"))
    return Release(seal.head["counter"], fields["conference"], fields["number"], fields["input"])
