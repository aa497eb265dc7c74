"""Deciding a conference once: decisions are drawn, recorded beside the key, and then published.

The same input always returns the stored decisions; a changed input is refused, or recorded as a new release.
`decide` reads files and publishes; `release` is its core. A killed run resumes by itself: coins follow from
key and input, the record is written before anything public, and public files that are missing are written
again from the record.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from blindcal.compute.parallel import Progress, Workers, no_progress
from blindcal.deciding.amend import (
    Changes,
    PriorDecisions,
    changes_since,
    recorded_truth,
    refuse_duplicates,
    refuse_unannounced,
    renamed_reviewers,
)
from blindcal.deciding.draft import Planner, draft
from blindcal.deciding.key_and_coins import KEY_BYTES, Key, input_stamp, read_key
from blindcal.deciding.ledger import (
    Ledger,
    Record,
    all_published,
    check_published,
    check_vacant,
    commit,
    finish_interrupted,
    ledger_folder,
    open_ledger,
    publish,
    published_at,
    read_ledger,
    release_folder,
)
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import CERTIFICATE, DECISIONS, check_writable_folder, remove_stale_files
from blindcal.io.cells import count
from blindcal.io.tables import StrPath, data_frame
from blindcal.planning.conference_plan import (
    PaperPlan,
    checked_fit,
    input_remarks,
    plan_conference,
    plan_remarks,
    quota_remarks,
)
from blindcal.planning.request import Number, Request, check_types
from blindcal.posterior.conference import Case, Conference, LevelByTrack, TrueReviewers
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.levels import LevelCase
from blindcal.posterior.reuse_guard import fit_record_path
from blindcal.posterior.this_year import ThisYearInputs

# --- Checks that secrets and public files never lie in one folder, under any name or link.
#
# Also a remark if secrets lie where other programs copy them: in a Git work tree, or in a folder that a
# service keeps in step with its servers.

# How services name the folders that they copy, on Windows, macOS and Linux.
_SERVICES = (
    ("Dropbox", "Dropbox"),
    ("OneDrive", "OneDrive"),
    ("iCloud", "iCloudDrive"),
    ("iCloud", "iCloud Drive"),
    ("iCloud", "Mobile Documents"),
    ("Google Drive", "GoogleDrive"),
    ("Google Drive", "Google Drive"),
    ("Nextcloud", "Nextcloud"),
    ("Box", "Box Sync"),
    ("a cloud service", "CloudStorage"),
)
# As many as Linux follows.
_MOST_LINKS = 40


def check_paths(**paths: object) -> None:
    """Refuses arguments that are no paths, such as the `Key` that `make_key` returns instead of its file."""
    for name, path in paths.items():
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"`{name}` must be the path of a file or folder, found {type(path).__name__}")


def check_apart(key_path: StrPath, out: StrPath) -> None:
    """Refuses public files in the ledger, and a key, ledger or fitted calibration in the public folder."""
    public, sealed = _locations(Path(out)), _locations(ledger_folder(key_path))
    if any(_within(location, folder) for location in public for folder in sealed):
        raise InputError("`out` must not lie in the private log, which must never be shared")
    inside = sorted(Path(out).iterdir()) if Path(out).is_dir() else []
    shared = [_real(out), *map(_real, inside)]
    if any(
        _within(location, folder) for location in (*_locations(Path(key_path)), *sealed) for folder in shared
    ):
        raise InputError(
            "`key` and its private log must not lie in the `out` folder, nor be linked from there: "
            "that folder is meant to be shared"
        )
    for path in inside:
        if _confidential(_real(path)):
            raise InputError(
                f"{path} is confidential and must not lie in the `out` folder, which is meant "
                "to be shared. Give a new `out` folder"
            )


def _confidential(path: Path) -> bool:
    """Whether a file is a key, or a fitted calibration, which tells how people reviewed."""
    if not path.is_file():
        return False
    if os.path.exists(fit_record_path(path)) or ledger_folder(path).is_dir():
        return True
    try:
        return path.stat().st_size == KEY_BYTES and bool(read_key(path))
    except InputError:
        return False


def copied_remarks(*paths: StrPath) -> list[str]:
    """A remark if one of some secret files or folders lies where Git or a cloud service would copy it.

    `paths`: the files and folders, which need not exist yet; the first that is copied is named.
    """
    for path in paths:
        parents = {parent for location in _locations(Path(path)) for parent in location.parents}
        marks = [parent.name for parent in parents]
        marks += ["Dropbox" for parent in parents if os.path.lexists(parent / ".dropbox.cache")]
        services = [service for service, start in _SERVICES if any(name.startswith(start) for name in marks)]
        copiers = [f"a folder of {service}, which copies it to its servers" for service in services]
        if any(os.path.lexists(parent / ".git") for parent in parents):
            copiers.append("a Git work tree, and `git add` would copy it into the history")
        if copiers:
            secret = "the folder and its key, which are secret, should lie elsewhere"
            return [f"{path} lies in {copiers[0]}: {secret}"]
    return []


def check_reviews_apart(reviews: StrPath, out: StrPath) -> None:
    """Refuses to publish in a folder that holds the reviews, which name the reviewers."""
    # A data frame is no file; `Inputs` calls it by the argument's name.
    if os.path.lexists(reviews) and any(_within(it, _real(out)) for it in _locations(Path(reviews))):
        raise InputError(
            f"{reviews} must not lie in the `out` folder: it says who reviewed what, and that folder is "
            "meant to be shared. Give a new `out` folder"
        )


def _locations(path: Path) -> list[Path]:
    """The locations of a path: its own, that of every link on the way, and the final one."""
    locations = [_location(path)]
    while locations[-1].is_symlink() and len(locations) < _MOST_LINKS:
        locations.append(_location(locations[-1].parent / os.readlink(locations[-1])))
    return [*locations, _real(path)]


def _location(path: Path) -> Path:
    """A path with all links resolved except its last name."""
    return _real(path) if path.name in ("", "..") else _real(path.parent) / path.name


def _real(path: StrPath) -> Path:
    # Unlike Path.resolve, this does not fail if links lead in a circle.
    return Path(os.path.realpath(path))


def _within(location: Path, folder: Path) -> bool:
    """Whether a location is a folder or lies in it, even if the folder has two spellings."""
    return any(
        parent == folder or (parent.exists() and folder.exists() and parent.samefile(folder))
        for parent in (location, *location.parents)
    )


def check_writable(out: StrPath) -> None:
    """Refuses a folder that cannot be made or written into, before anything is decided.

    Nothing is left there. A folder that already holds a result is only read.
    """
    folder = Path(out)
    if (folder / "certificate.json").exists():
        return
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    check_writable_folder(folder, existing)


@dataclass(frozen=True)
class Outcome:
    """A release, and how it came about.

    Attributes:
        record: The confidential record.
        how: "new", "stored" (nothing was drawn) or "amended".
        changes: The papers that differ from the release before; empty for a first release.
        remarks: Remarks for the chair, in words.
    """

    record: Record
    how: str
    changes: Changes = field(default_factory=Changes)
    remarks: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """The public table of decisions, one row per paper, as a pandas data frame; needs pandas."""
        names, *rows = csv.reader(self.record.published[DECISIONS].splitlines())
        return data_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    @property
    def certificate(self) -> dict[str, Any]:
        """The public certificate, as it was published."""
        content: dict[str, Any] = json.loads(self.record.published[CERTIFICATE])
        return content

    @property
    def full_certificate(self) -> dict[str, Any]:
        """The certificate with every figure: CONFIDENTIAL if scores are, else the public one."""
        content: dict[str, Any] = json.loads(self.record.certificate)
        return content


def decide(
    inputs: Inputs | ThisYearInputs,
    request: Request,
    key: StrPath,
    out: StrPath,
    *,
    numbered: bool = False,
    published: StrPath | Sequence[StrPath] = (),
    amend: bool = False,
    reason: str = "",
    yes_leak: bool = False,
    despite_misfit: bool = False,
    distinct_papers: bool = False,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> Outcome:
    """Decides every paper once, records the release beside the key, and publishes it.

    The folder `out` gets `decisions.csv` and `certificate.json`. The same input always returns the stored
    decisions. If scores are confidential, nothing in `out` depends on them except the decisions.

    Args:
        inputs: The inputs of the conference, from `read_inputs`.
        request: The guarantee, and how many papers to accept.
        key: The file that `make_key` made; it and the ledger beside it must never be shared.
        out: The folder to publish; it may hold this release already, but no other.
        numbered: Whether each release has a folder of its own in `out`: `release-1`, `release-2`.
        published: One or several folders that were published with this key, to check key and ledger against;
            a folder may hold all releases.
        amend: Accept a changed input, which is refused otherwise. New papers are decided, papers whose scores
            changed are decided again from their public data alone, and all other decisions stand.
        reason: The reason for the amendment, for the record.
        yes_leak: The chair's consent to decisions without a guarantee.
        despite_misfit: Decide even if the calibration does not fit the scores at all.
        distinct_papers: The chair's word that papers with the same reviewers, and the same score from each,
            are different papers, as with a jury; otherwise they are refused as one paper under several ids.
        workers: Number of processes, or a cluster's pool; results are the same.
        progress: Called as work goes on; silent by default.

    Raises:
        InputError: If an argument or a file is wrong.
        RefusedError: If a decision would be drawn again, or a published result overwritten.

    Example:
        >>> from blindcal import Guarantee, make_key
        >>> from blindcal.posterior.inputs import example_inputs
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> inputs = example_inputs()
        >>> key, out = Path(folder.name) / "key.bin", Path(folder.name) / "out"
        >>> _ = make_key(key)
        >>> outcome = decide(inputs, Request(Guarantee("steady"), accept_rate=0.5), key, out)
        >>> outcome.how, sorted(path.name for path in out.iterdir())
        ('new', ['certificate.json', 'decisions.csv'])
        >>> outcome.certificate["largest_rise"]
        0.0
        >>> decide(inputs, Request(Guarantee("steady"), accept_rate=0.5), key, out).how
        'stored'
        >>> folder.cleanup()
    """
    if reason.strip() and not amend:
        raise InputError("`reason` goes with `amend`: without it nothing is decided again")
    check_types(inputs, request)
    check_paths(key=key, out=out)
    request, key, out = request.checked().for_inputs(inputs), Path(key), Path(out)
    check_reviews_apart(inputs.sources.reviews, out)
    secret = _checked_key(key, out)
    # Certificates are read before the ledger: the ledger can only grow in between, so no certificate of a
    # concurrent run can seem to be missing from it.
    certificates = [*all_published(published), *published_at(out, numbered)]
    ledger = read_ledger(key, secret)
    check_published(ledger, certificates)
    refuse_other_conference(ledger, request.conference)
    if not distinct_papers:
        refuse_duplicates(inputs.reviews, _decided_before(ledger))
    latest = ledger.record(ledger.releases[-1]) if ledger.releases else None
    frozen: LevelByTrack | None = None
    if latest is not None:
        _refuse_other_readers(latest, request)
        frozen, inputs = latest.bar, inputs.on_grid(latest.grid)
    model = None if latest is None else latest.level_model
    conference, truth = request.prepared(inputs, frozen, model=model, workers=workers, progress=progress)
    # A conference that was decided once can be returned and corrected even if its calibration does not fit.
    despite = despite_misfit or frozen is not None
    fit = checked_fit(conference, request.better, despite_misfit=despite)
    papers = len(conference.cases)
    with (
        open_ledger(key, secret) as ledger,
        progress(f"deciding {count(papers, 'paper')}", papers) as advance,
    ):
        outcome = release(
            conference,
            truth.reviewers,
            request,
            ledger,
            partial(
                plan_conference,
                workers=workers,
                advance=advance,
                kept=partial(_for_the_draw, truth.reviewers),
            ),
            given=truth.given,
            amend=amend,
            reason=reason,
            yes_leak=yes_leak,
            vacant=release_folder(out, len(ledger.releases) + 1) if numbered else out,
        )
        publish(outcome.record, release_folder(out, outcome.record.release) if numbered else out)
        completed = finish_interrupted(ledger, out) if numbered else ()
    remarks = _remarks(inputs, conference, request, outcome, () if fit is None else fit.notes)
    return replace(
        outcome, remarks=(*completed, *_superseded(outcome, len(ledger.releases)), *outcome.remarks, *remarks)
    )


def _for_the_draw(truth: TrueReviewers, case: Case, plan: PaperPlan) -> PaperPlan:
    """What the draw needs of a plan: where the true reviewers are in a large table, and nobody else."""
    if plan.packed_layout is None or isinstance(case, LevelCase):
        return plan
    number_of = {name: index for index, name in enumerate(case.candidates)}
    own = tuple(sorted({number_of[name] for name in truth[case.paper]}))
    return replace(plan, packed_layout=plan.packed_layout.of(own))


def _checked_key(path: Path, out: Path) -> Key:
    """The key, after checking that it and its ledger lie apart from the public folder."""
    check_apart(path, out)
    check_writable(out)
    sealed = ledger_folder(path)
    if not path.exists():
        if sealed.exists():
            raise RefusedError(
                f"{sealed} holds decisions of a missing key, {path}: restore the key from its "
                "backup; a new one would draw again"
            )
        raise InputError(
            f"there is no key {path}. If these papers were never decided, make one with "
            "`blindcal new` or `blindcal.make_key`. "
            "If they were, give the key they were decided with: another one would draw again"
        )
    for folder in (path.parent, out):
        remove_stale_files(folder)
    return read_key(path)


def refuse_other_conference(ledger: Ledger, conference: str) -> None:
    """Refuses a second conference: under another name, papers would be drawn again."""
    decided = {release.conference for release in ledger.releases} - {conference}
    if decided:
        raise RefusedError(
            f"this key decided conference {decided.pop()!r}, and `conference` is {conference!r}: "
            "give that name if these are its papers; another conference needs a key of its own, as "
            "`blindcal new` makes it"
        )


def _decided_before(ledger: Ledger) -> set[str]:
    """The ids that already have a decision."""
    return {paper.paper for release in ledger.releases for paper in ledger.record(release).papers}


def _refuse_other_readers(latest: Record, request: Request) -> None:
    """Refuses to publish more, or less, than the releases before."""
    if latest.scores != request.scores:
        raise RefusedError(
            f"`scores` is {latest.scores} since release {latest.release} and cannot be changed, found "
            f"{request.scores}"
        )


def _remarks(
    inputs: Inputs | ThisYearInputs,
    conference: Conference,
    request: Request,
    outcome: Outcome,
    misfit: Sequence[str],
) -> tuple[str, ...]:
    figures = plan_remarks(outcome.full_certificate, request.guarantee.never_against)
    return *input_remarks(inputs, conference, request), *misfit, *figures, *quota_remarks(request)


def first_of_key(outcome: Outcome) -> str | None:
    """A remark after the first release of a key: from now on, older copies of the key must not decide."""
    if outcome.how != "new" or outcome.record.release != 1:
        return None
    return (
        "only this copy of the key and its private log may decide from now on: a copy made before knows "
        "nothing of this release, and would draw for changed papers as if it were the first"
    )


def _superseded(outcome: Outcome, releases: int) -> list[str]:
    """A remark if stored decisions are not the latest, because old reviews lead to old decisions."""
    record = outcome.record
    number = record.release
    if outcome.how != "stored" or number == releases:
        return []
    return [
        f"this input is that of release {number}, and so are these decisions: release {releases} came after "
        "it and replaced it. To decide by this input again, give `amend` `reason`"
    ]


def release(
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    ledger: Ledger,
    planner: Planner,
    *,
    given: Mapping[str, int] | None = None,
    amend: bool = False,
    reason: str = "",
    yes_leak: bool = False,
    vacant: Path | None = None,
) -> Outcome:
    """The decisions for this input: the stored ones if it was decided before, else drawn and recorded.

    A changed input is refused unless `amend`: then new papers are drawn, and papers whose scores changed are
    decided from public data. Corrected names of reviewers change nothing: the stored decisions are returned.
    Nothing public is written here; `ledger.publish` does that after the release is in the ledger. A folder
    that must be `vacant` for a new release is checked before anything is drawn.
    """
    past, releases = PriorDecisions(ledger), ledger.releases
    refuse_other_conference(ledger, request.conference)
    if releases:
        _refuse_other_number(past.records[-1], request)
    changes = changes_since(past, conference, truth, request)
    stamp = input_stamp(ledger.key, conference, recorded_truth(past, truth, changes), request, given)
    same = [release for release in releases if release.input == stamp]
    if same and (not amend or (same[-1] == releases[-1] and not changes.decided)):
        return Outcome(ledger.record(same[-1]), "stored", remarks=renamed_reviewers(changes))
    refuse_unannounced(past, changes, conference, amend, reason)
    if vacant is not None:
        check_vacant(vacant, None)
    if not releases and request.guarantee.name == "none" and not yes_leak:
        raise InputError(
            "without a guarantee every decision may reveal who reviewed the paper: that needs `yes_leak`"
        )
    why = reason if amend else ""
    drafted = draft(conference, truth, request, past, planner, why, changes=changes, given=given)
    commit(ledger, drafted.record, drafted.policies, stamp)
    return Outcome(drafted.record, "amended" if releases else "new", changes)


def _refuse_other_number(record: Record, request: Request) -> None:
    """Refuses another number of accepted papers: one is released, and any other is printed."""
    if record.request.quota != request.quota:
        was = record.request
        raise RefusedError(
            f"`accept` is {_number_text(was.accept)} and `wait_list` {_number_text(was.wait_list)} since "
            f"release 1 and cannot be changed: `blindcal export --accept` prints a list of another number, "
            "without a draw or a release"
        )


def _number_text(number: Number | None) -> str:
    return ",".join(f"{k}={v}" for k, v in number.items()) if isinstance(number, Mapping) else str(number)
