"""Verification of a conference by an auditor who has the key: every release is made again and compared.

Input, commitment, coins, lists and texts follow from the input by the same digits on every machine, so they
must agree exactly. Tables come from sums whose last digits depend on the machine. They are planned again, and
the recorded tables are compared with the new ones:

* They keep the requested limits under the weights computed here: epsilon, the multiplier and constants
  exactly, limits that depend on weights with the relative slack `_WEIGHT_SLACK`.
* They cost no more wrong decisions, paper by paper, than the new tables, up to `_COST_SLACK`.
* The recorded coins are compared with the new tables, at the true reviewers: every decision must be the same.
  A table may be changed without cost where its reviewers are next to impossible, and there a holder of the
  key could choose a decision. An honest release fails if a coin falls between the last digits of two tables.
  They differed by 4e-11 at most, at any entry, among 576 tables that were planned on other kinds of machines.

A bar must be the one computed here or, if that is a rounding error away from another, its neighbor. No slack
enters a coin: a holder of the key could otherwise choose among decisions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.certify.claims import SUMS, claim, keeps_guarantee
from blindcal.certify.exact import CLAIM_DENOMINATOR, ExactPolicy, PackedPolicy
from blindcal.compute.parallel import Progress, Workers, no_progress, parallel_map
from blindcal.deciding.amend import recorded_case
from blindcal.deciding.decide import Draft, draft, for_the_draw, with_texts
from blindcal.deciding.key import Key, coin_facts, draw, input_stamp, read_key
from blindcal.deciding.ledger import Ledger, ledger_folder, read_ledger
from blindcal.deciding.lists import list_problems, ranked_again
from blindcal.deciding.paths import check_paths
from blindcal.deciding.publish import PublishedCertificate, all_published, other_files, published_problems
from blindcal.deciding.record import PaperRecord, Record
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.io.cells import count, natural_sorted
from blindcal.io.tables import StrPath, data_frame
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.planning.expected_errors import expected_figures
from blindcal.planning.request import shares
from blindcal.policy.accept_lp import MAX_EXACT_TUPLES
from blindcal.policy.guarantee import LIMITS, PUBLIC, Guarantee
from blindcal.posterior.acceptance_bar import choose_bar
from blindcal.posterior.conference import Case, Conference, LevelByTrack, TrueReviewers, assemble, track_level
from blindcal.posterior.inputs import Inputs, check_inputs
from blindcal.posterior.large_pools import PackedLayout
from blindcal.posterior.paper import PaperCase, aggregated_in
from blindcal.posterior.this_year_evidence import LevelCase
from blindcal.posterior.this_year_inputs import ThisYearInputs, level_bar, prepared_again

__all__ = ["Verification", "verify"]
_WEIGHT_SLACK = Fraction(1, 10**9)
"""By how much a limit may be exceeded, relative to the limit, under the weights of another machine."""
_COST_SLACK, _COST_SLACK_LARGE_POOLS = 1e-8, 2e-6
"""By how much the error of a recorded table may exceed that of the new one. Programs are solved to 1e-9, and
to 1e-6 if there are too many tuples of reviewers to list."""
# Figures that are sums agree up to this; those of the calibration check are rounded to four decimals.
_FIGURES_SLACK, _FIT_SLACK = 1e-9, 1.5e-4
# The numerical error of a bar, in the share of papers it is for.
_BAR_ERROR = 1e-9
EARLIER = "earlier decisions"
"""The check of what earlier releases decided; a first release has none."""
# The fields of a record, and of a paper in it, by the check that reports them.
_RECORD_CHECKS = {
    "settings": ("conference", "release", "reason", "settings", "scores", "publishes", "model"),
    "commitment": ("commitment",),
    "calibration check": ("fit",),
    "number accepted": ("selection",),
    "public files follow from the record": ("decisions", "certificate"),
}
_PAPER_CHECKS = {
    "public data": ("paper", "public", "corrected"),
    EARLIER: ("release", "earlier"),
    "reviewers": ("reviewers",),
    "accept probabilities": ("secret", "probability"),
    "draws": ("accepted",),
    "raw decisions": ("raw_accepted",),
    "claims and figures": ("figures",),
}


@dataclass(frozen=True)
class Check:
    """One comparison of recorded items with derived ones."""

    name: str  # what was compared
    items: int  # number of items
    failed: int  # number of items that did not agree
    note: str = ""  # an explanation in words; empty if there is nothing to add
    papers: tuple[str, ...] = ()  # the papers that the note is about; confidential


@dataclass(frozen=True, eq=False)
class Verification:
    """The latest release of a conference, and the checks of all its releases.

    Attributes:
        record: The confidential record of the latest release.
        checks: Everything that was compared.
        earlier: Numbers of the earlier releases with this input, if the latest has another input.
        committed: Whether a commitment published beforehand was compared.
    """

    record: Record
    checks: tuple[Check, ...]
    earlier: tuple[int, ...]
    committed: bool = False

    @property
    def limits(self) -> str:
        """The attack that these checks cannot exclude, in words; empty if a commitment was compared."""
        if self.committed:
            return ""
        return (
            "not excluded: that several keys or inputs were tried before these were chosen. Only a "
            "commitment that was published before decisions could be known excludes it: give it as "
            "`commitment`"
        )

    @property
    def agrees(self) -> bool:
        """Whether no check failed."""
        return not any(check.failed for check in self.checks)

    def to_frame(self) -> Any:
        """One row per check, as a pandas data frame; needs pandas."""
        names = ("name", "items", "failed", "note")
        return data_frame({name: [getattr(check, name) for check in self.checks] for name in names})

    def raise_if_not(self) -> None:
        """Raises a `VerificationError` that names everything that does not agree, and the release."""
        number, older = self.record.release, ""
        if self.earlier:
            older = f". The input given is that of release {self.earlier[-1]}, not the latest"
        try:
            refuse_failed(self.checks)
        except VerificationError as error:
            raise VerificationError(f"release {number}: {error}{older}") from None


def verify(
    inputs: Inputs | ThisYearInputs,
    key: StrPath | Ledger,
    out: StrPath | None = None,
    *,
    published: StrPath | Sequence[StrPath] = (),
    conference: str = "conference",
    commitment: str | None = None,
    lists: Sequence[StrPath] = (),
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> Verification:
    """Derives everything again with the key: input, commitment, coins, tables, claims and public files.

    The request is taken from the record.

    Args:
        inputs: The inputs that were decided.
        key: The file of the key that decided them; or its ledger, if that was read already.
        out: The folder of the public files; by default these are not compared.
        published: Folders that were published with this key, as for `decide`; they reveal two copies of the
            key that decided separately.
        conference: Name of the conference in the ledger, as in the request.
        commitment: The commitment that was published before decisions could be known. Without it, several
            keys or inputs may have been tried.
        lists: Files of lists with other numbers of papers that were printed from the private log.
        workers: Number of processes, or a cluster's pool; results are the same.
        progress: Called as work goes on; silent by default.

    Example:
        >>> from blindcal import Guarantee, Request, decide, make_key
        >>> from blindcal.posterior.inputs import example_inputs
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> folder = TemporaryDirectory()
        >>> inputs = example_inputs()
        >>> key, out = Path(folder.name) / "key.bin", Path(folder.name) / "out"
        >>> _ = make_key(key)
        >>> _ = decide(inputs, Request(Guarantee("steady"), accept_rate=0.5), key, out)
        >>> verify(inputs, key, out).agrees
        True
        >>> folder.cleanup()
    """
    check_inputs(inputs)
    past = key if isinstance(key, Ledger) else latest(key, conference)
    if out is not None and not Path(out).is_dir():
        raise InputError(f"`out` {out} must be the folder of the public files: there is no such folder")
    record, certificates = past.records[-1], all_published(published)
    request = record.request
    if inputs.source != request.source:
        raise InputError(
            f"these papers were decided with source {request.source}, and the input is for source "
            f"{inputs.source}: give what was given then"
        )
    # The bar of a first release is derived again.
    frozen = {} if record.release == 1 else record.frozen
    loaded, true = request.prepared(inputs.on_grid(record.grid), **frozen, workers=workers, progress=progress)
    # One step for each paper that a release decided.
    steps = sum(paper.release == release.release for release in past.records for paper in release.papers)
    with progress(f"verifying {count(len(loaded.cases), 'paper')}", steps) as advance:
        reviewers, given = true.reviewers, true.given
        checks = checks_of(loaded, reviewers, past, out, given=given, workers=workers, advance=advance)
    checks += _published_check(past, certificates)
    checks += [_printed_check(record, path) for path in lists]
    if commitment is not None:
        published_before, recorded = commitment.strip(), past.record(1).commitment
        note = f"found {published_before}, recorded {recorded}: key, input or settings changed after that"
        differs = published_before != recorded
        checks.append(Check("commitment published beforehand", 1, int(differs), note if differs else ""))
    earlier = [
        stored.release
        for entry, stored in zip(past.releases, past.records, strict=True)
        if checks[0].failed and entry.input == _stamp_as_recorded(past, stored, loaded, reviewers, given)
    ]
    return Verification(record, tuple(checks), tuple(earlier), commitment is not None)


def latest(key: StrPath, conference: str = "conference") -> Ledger:
    """The decisions of a key, which must have decided this conference."""
    check_paths(key=key)
    past = read_ledger(key, read_key(key))
    if conference not in {release.conference for release in past.releases}:
        raise InputError(
            f"conference {conference!r} was never decided with this key, or its record is not in "
            f"{ledger_folder(key)}"
        )
    return past


def _published_check(ledger: Ledger, seen: Sequence[PublishedCertificate]) -> list[Check]:
    """Whether published certificates, and the files beside them, are those of this ledger.

    A certificate may be given without its decisions.
    """
    problems = published_problems(ledger, seen)
    for certificate in [] if problems else seen:
        record = ledger.record(certificate.number)
        if changed := [*map(str, other_files(record, certificate.path.parent))]:
            what = f"is not what release {certificate.number} made with this key published"
            problems.append(f"{', '.join(changed)} {what}")
    return [Check("published earlier", len(seen), len(problems), "; ".join(problems))] if seen else []


def _printed_check(record: Record, path: StrPath) -> Check:
    """Whether a printed list has the best papers by the private decisions, whatever their number."""
    wrong, papers, missing = list_problems(record, path)
    note = f"{count(missing, 'paper')} of the release not in it: only withdrawn papers may be missing"
    return Check(f"printed list {path}", papers, len(wrong), note if missing else "", tuple(wrong))


def checks_of(
    conference: Conference,
    truth: TrueReviewers,
    past: Ledger,
    out: StrPath | None = None,
    *,
    given: Mapping[str, int] | None = None,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> list[Check]:
    """Every check of all releases of a conference, the latest release from this input."""
    latest = past.records[-1]
    same = _stamp_as_recorded(past, latest, conference, truth, given) == past.releases[-1].input
    problem = "" if same else "reviews, calibration, pools or grid are not those that were decided"
    checks = [
        Check("input is the one that was decided", 1, int(not same), problem),
        _reviewers_check(latest, truth),
    ]
    for record in past.records:
        here = conference, {**truth, **_recorded_reviewers(record)}
        own = here if same and record is latest else _recorded_input(record, workers)
        checks += _release_checks(past, record, *own, workers, advance)
    return checks if out is None else [*checks, _files_check(latest, Path(out))]


def refuse_failed(checks: Sequence[Check]) -> None:
    """Raises a `VerificationError` that names the failed checks; papers are counted, never named."""
    failed = [
        f"{check.name}: {check.failed} of {check.items} {'does' if check.failed == 1 else 'do'} not agree"
        + (f" ({check.note})" if check.note else "")
        for check in checks
        if check.failed
    ]
    if failed:
        raise VerificationError("verification failed. " + "; ".join(failed))


def _stamp_as_recorded(
    past: Ledger,
    record: Record,
    conference: Conference,
    truth: TrueReviewers,
    given: Mapping[str, int] | None,
) -> str:
    """The stamp of an input with the reviewers on record, because reviewers are compared separately."""
    names = {**truth, **_recorded_reviewers(record)}
    return input_stamp(past.key, conference, names, record.request, given)


def _recorded_reviewers(record: Record) -> TrueReviewers:
    return {paper.paper: paper.reviewers for paper in record.papers}


def _reviewers_check(record: Record, truth: TrueReviewers) -> Check:
    """Whether the reviewers are those that the coins were derived from."""
    differ = [
        paper for paper, names in _recorded_reviewers(record).items() if truth.get(paper, names) != names
    ]
    note = "names or scores corrected after deciding change no decision: verify with the reviews as decided"
    return Check("reviewers are those recorded", len(record.papers), len(differ), note if differ else "")


def _recorded_input(record: Record, workers: Workers) -> tuple[Conference, TrueReviewers]:
    """The input of a release as on record; the bar of a first release is derived again."""
    request, first = record.request, record.release == 1
    cases = [replace(recorded_case(paper, record), settled=False) for paper in record.papers]
    rate: LevelByTrack | None = request.accept_rate if first else None
    if first and request.quota is not None:
        # The share that the requested number is.
        rate = shares(request.quota, [case.track for case in cases])
    bar, reviewers = request.bar if first else record.bar, _recorded_reviewers(record)
    if record.level_model is not None:
        graded = [case for case in cases if isinstance(case, LevelCase)]
        settings = request.quota is not None, request.strictness_share, request.people
        frozen = None if first else record.level_model
        return prepared_again(graded, rate, bar, *settings, frozen), reviewers
    pooled = [case for case in cases if isinstance(case, PaperCase)]
    return assemble(pooled, rate, bar, workers=workers), reviewers


@dataclass(frozen=True, eq=False)
class _OtherTable:
    """A recorded table that is not the one planned here."""

    case: Case
    here: PaperPlan
    plan: PaperPlan  # the recorded table, with its claim and its figures under the weights computed here

    @property
    def costlier(self) -> bool:
        """Whether the recorded table costs more wrong decisions."""
        case, wrong, recorded = self.case, self.here.figures.wrong, self.plan.figures.wrong
        if recorded <= wrong:
            return False
        # The posterior is needed only here.
        few = (isinstance(case, LevelCase) or case.listed) and case.belief.weight.size <= MAX_EXACT_TUPLES
        return recorded > wrong + (_COST_SLACK if few else _COST_SLACK_LARGE_POOLS)


def _plan_of_table(
    case: Case, here: PaperPlan, recorded: PackedPolicy, raw: float, guarantee: Guarantee
) -> PaperPlan:
    """The plan with a recorded table in the place of the one planned here."""
    promised, table = case.promised(guarantee.promise), recorded.policy
    bound = here.figures.wrong - here.figures.gap
    numbers = expected_figures(promised.belief, table.accept, raw, sample=promised.sample, bound=bound)
    return replace(here, packed=recorded, claim=claim(promised.belief, table), figures=numbers)


def _release_checks(
    past: Ledger,
    record: Record,
    conference: Conference,
    truth: TrueReviewers,
    workers: Workers,
    advance: Callable[[int], None] | None,
) -> Iterator[Check]:
    """Makes one release again and compares it with its record."""
    number, exact = record.release, record.request.quota is not None
    name, tables = f"release {number}", past.tables(number)
    missing, differ = 0, list[_OtherTable]()
    wrong_bar = conference.bar != record.bar and not _near_bar(record.bar, conference, exact=exact)
    cases = [replace(case, bar=track_level(record.bar, case.track)) for case in conference.cases]
    conference = replace(conference, bar=record.bar, cases=tuple(cases))

    def kept(case: Case, plan: PaperPlan) -> PaperPlan:
        # All of a plan is needed only if its table is not the recorded one.
        table = tables.get(case.paper)
        same = table is not None and _same_table(table, plan.policy)
        return for_the_draw(truth, case, plan) if same else plan

    def replayed(part: Conference, guarantee: Guarantee) -> list[PaperPlan]:
        nonlocal missing
        plans = plan_conference(part, guarantee, workers=workers, advance=advance, kept=kept)
        for place, (case, here, raw) in enumerate(zip(part.cases, plans, part.raw_accept, strict=True)):
            recorded = tables.packed.get(case.paper)
            if recorded is None or not _has_shape(recorded.policy, here.policy):
                missing += 1
            elif not _same_table(recorded.policy, here.policy):
                plans[place] = _plan_of_table(case, here, recorded, raw, guarantee)
                differ.append(_OtherTable(case, here, plans[place]))
        return plans

    try:
        request = record.request.checked()
        made = draft(
            conference, truth, request, past.before(number), replayed, record.reason, given=record.given
        )
    except (InputError, RefusedError) as error:
        # Nobody could have released this.
        yield Check(f"{name}: settings", 1, 1, str(error))
        return
    compared = _compare_records(record, made, past.key)
    compared["bar"] = [wrong_bar]
    compared["accept probabilities"].append(bool(missing) or set(tables) != set(made.policies))
    for what, wrong in compared.items():
        yield Check(f"{name}: {what}", len(wrong), sum(wrong))
    # A table that is the one planned here was certified under these limits when it was planned.
    papers = len(made.policies)
    beyond = parallel_map(
        partial(_beyond_limits, guarantee=request.guarantee),
        [(other.case, other.plan.packed, other.here.packed_layout) for other in differ],
        workers=workers,
    )
    yield Check(f"{name}: limits of each table", papers, missing + sum(beyond))
    costlier = sum(other.costlier for other in differ)
    yield Check(f"{name}: tables as good as those planned here", papers, costlier)
    turned = tuple(_decided_otherwise_here(made, differ, past.key))
    note = f"{count(len(turned), 'decision')} would differ on this machine" if turned else ""
    yield Check(f"{name}: draws under the tables planned here", papers, len(turned), note, turned)


def _near_bar(stored: LevelByTrack, conference: Conference, *, exact: bool) -> bool:
    """Whether another machine may have computed this bar.

    It must be the bar computed here for a share that differs by at most the numerical error, in every track.
    """
    rate = conference.accept_rate
    if rate is None or isinstance(conference.bar, Mapping) != isinstance(stored, Mapping):
        return False
    for track in {case.track for case in conference.cases}:
        requested = track_level(rate, track)
        ends = [float(np.clip(requested + error, 0.0, 1.0)) for error in (-_BAR_ERROR, 0.0, _BAR_ERROR)]
        graded = [case for case in conference.graded if case.track == track]
        pooled = [case for case in conference.pooled if case.track == track]
        bars = [level_bar(graded, end, exact=exact) for end in ends if graded]
        bars += [choose_bar(pooled, end, None)[0] for end in ends if pooled]
        if track_level(stored, track) not in bars:
            return False
    return True


def _compare_records(stored: Record, made: Draft, key: Key) -> dict[str, list[bool]]:
    """For each check, whether each of its items differs."""
    differ = defaultdict[str, list[bool]](list, bar=[])
    # Public texts follow from the recorded figures to the last digit, so they are made from these and not
    # from the figures computed here, and in the recorded format: anyone can change that of a published file.
    expected = ranked_again(replace(made.record, papers=stored.papers, fit=stored.fit))
    expected = replace(with_texts(expected, key), fit=made.record.fit)
    for check, names in _RECORD_CHECKS.items():
        for name in names:
            recorded, derived = getattr(stored, name), getattr(expected, name)
            same = _nearly_equal(recorded, derived, _FIT_SLACK) if name == "fit" else recorded == derived
            differ[check].append(not same)
    again = {paper.paper: paper for paper in made.record.papers}
    for paper in stored.papers:
        other = again.get(paper.paper)
        for check, names in _PAPER_CHECKS.items():
            differ[check] += [other is None or not _same_field(name, paper, other) for name in names]
    # Every paper once, in the order of files: another order could tell who reviewed.
    differ["public data"].append([paper.paper for paper in stored.papers] != natural_sorted(again))
    return differ


def _same_field(name: str, stored: PaperRecord, made: PaperRecord) -> bool:
    recorded, derived = getattr(stored, name), getattr(made, name)
    if name == "figures":
        # What holds under any prior depends on the table alone, so no digit of it may differ.
        exact = ("reviews", *(limit.bounds for limit in LIMITS.values() if limit.prior_free))
        same = all(recorded["claim"][part] == derived["claim"][part] for part in exact)
        return same and _nearly_equal(
            _figures_as_floats(recorded), _figures_as_floats(derived), _FIGURES_SLACK
        )
    if name == "raw_accepted":
        return _nearly_equal(recorded, derived, _FIGURES_SLACK)
    if name == "public":
        if recorded["pool"] != derived["pool"]:
            return False
        recorded, derived = ({**public, "pool": None} for public in (recorded, derived))
    return json.dumps(recorded, sort_keys=True) == json.dumps(derived, sort_keys=True)


def _figures_as_floats(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Figures with sums as floats; a record has them as multiples of 2^-80."""
    claimed = {
        name: value / CLAIM_DENOMINATOR if name in SUMS else value for name, value in figures["claim"].items()
    }
    return {**figures, "claim": claimed}


def _nearly_equal(recorded: Any, derived: Any, slack: float) -> bool:
    """Whether two parts of a record agree, numbers up to a slack."""
    if isinstance(recorded, Mapping) and isinstance(derived, Mapping):
        return recorded.keys() == derived.keys() and all(
            _nearly_equal(recorded[key], derived[key], slack) for key in recorded
        )
    if isinstance(recorded, list | tuple) and isinstance(derived, list | tuple):
        return len(recorded) == len(derived) and all(
            _nearly_equal(*pair, slack) for pair in zip(recorded, derived, strict=True)
        )
    numbers = isinstance(recorded, int | float) and isinstance(derived, int | float)
    if numbers and not isinstance(recorded, bool):
        return isclose(recorded, derived, rel_tol=slack, abs_tol=slack)
    return bool(recorded == derived)


def _has_shape(stored: ExactPolicy, own: ExactPolicy) -> bool:
    """Whether a policy has a probability for each entry of this paper's table."""
    low, high = stored.ends
    return stored.numerator.size == own.numerator.size and 0 <= low <= high <= stored.denominator


def _same_table(table: ExactPolicy, other: ExactPolicy) -> bool:
    return np.array_equal(table.numerator, other.numerator) and table.exact == other.exact


def _beyond_limits(job: tuple[Case, PackedPolicy, PackedLayout | None], guarantee: Guarantee) -> bool:
    """Whether a recorded table exceeds the requested limits under the weights computed here."""
    case, table, layout = job
    if isinstance(case, LevelCase) or layout is None:
        belief = case.belief
    else:
        belief = aggregated_in(case, layout.layout).belief
    limits = PUBLIC if case.settled else guarantee
    return not keeps_guarantee(belief, table.policy, limits, slack=_WEIGHT_SLACK)


def _decided_otherwise_here(made: Draft, differ: Sequence[_OtherTable], key: Key) -> Iterator[str]:
    """The papers that the recorded coins decide otherwise under the tables planned here.

    At the true reviewers a table must decide as the one planned here does, however unlikely they are: another
    table of the same cost could have been chosen for its decision.
    """
    papers = {paper.paper: paper for paper in made.record.papers}
    for other in differ:
        paper = papers[other.case.paper]
        facts = coin_facts(
            made.record.request, paper.release, paper.paper, paper.public, paper.reviewers, made.rows
        )
        if draw(key, facts, other.here.policy.probability(paper.secret)) != paper.accepted:
            yield paper.paper


def _files_check(record: Record, out: Path) -> Check:
    """Whether the files in a folder are those of the record."""
    texts = record.published
    wrong = [name for name in texts if not (out / name).exists()]
    wrong += [path.name for path in other_files(record, out)]
    return Check("published files", max(len(texts), len(wrong)), len(wrong), ", ".join(wrong))


def __dir__() -> list[str]:
    return sorted(__all__)
