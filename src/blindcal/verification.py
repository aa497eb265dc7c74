"""Inputs + key -> `Verification`: what a confidential auditor runs. `comparisons` says what is compared.

A ledger and the inputs -> `Check`s: with the key, every release is made again and compared.

What was given, and what follows from it by the same digits everywhere, must agree exactly: input, commitment,
coins, lists and texts. Tables come from sums whose last digits depend on the kind of machine, so they are
planned again here and the stored ones are measured against that:

* they keep what was requested under the weights computed here: epsilon, the multiplier and constants exactly,
  limits that depend on weights with a relative slack of `WEIGHTS`;
* they cost no more wrong decisions, paper by paper, than those planned here, but for `COST`;
* the recorded coins are compared with the tables planned here. Papers whose decision would differ are listed.
  Their tables must agree but for the last digits (`DIGITS`), and there may be no more of them than those
  explain; nor may tables differ at the true reviewers more than they do on average over who may have
  reviewed.

A bar or a price is the one computed here or, if that is a rounding away from another, the neighbor. No slack
enters a coin: whoever holds the key could otherwise choose among decisions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import exp, fsum, isclose, log
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.cells import count, in_natural_order
from blindcal.certify.claims import claim, keeps
from blindcal.certify.exact import FINE, ExactPolicy, Tables, packed
from blindcal.compute.parallel import Progress, Workers, silent
from blindcal.deciding.certificate_file import SUMS
from blindcal.deciding.coins import Key, coin_facts, input_stamp, read_key, toss
from blindcal.deciding.draft import (
    Draft,
    Planned,
    Planner,
    budget_left,
    draft,
    first_accept,
    ranked_again,
    true_secret,
    with_texts,
)
from blindcal.deciding.ledger import (
    Ledger,
    PaperRecord,
    Published,
    Record,
    all_published,
    published_problems,
    read_ledger,
    sealed_folder,
)
from blindcal.deciding.path_checks import check_paths
from blindcal.deciding.prior_decisions import Past, recorded_case
from blindcal.errors import InputError, VerificationError
from blindcal.io.tables import frame
from blindcal.planning.conference_plan import PaperPlan, plan_conference, planning_steps
from blindcal.planning.expected_errors import expected_figures
from blindcal.planning.request import Request, shares
from blindcal.planning.shared_budget import frozen_price
from blindcal.policy.aggregated_lp import MOST_EXACT
from blindcal.policy.guarantee import LIMITS, PUBLIC, Guarantee
from blindcal.posterior.acceptance_bar import bar_of
from blindcal.posterior.conference import Conference, Level, Truth, assemble, level_of
from blindcal.posterior.inputs import Inputs, check_inputs
from blindcal.posterior.paper import PaperCase

__all__ = ["Check", "Verification", "verify"]

WEIGHTS = Fraction(1, 10**9)
"""By how much a limit may be exceeded, relative to it, under the weights of another machine."""
COST, COST_OF_LARGE_POOLS = 1e-8, 2e-6
"""How many more wrong decisions a paper's table may cost than the one planned here. Programs are solved to
1e-9, and to 1e-6 where the reviewers of a paper are too many to list."""
DIGITS = 1e-8
"""By how much a table differs, on average over who may have reviewed, from the one planned here if only the
last digits do: 6e-12 at most among 2,200 papers decided and verified on other kinds of machines. A decision
that differs under a table further away was chosen."""
# Figures that are sums agree to this much; those of the calibration check have four decimals.
_FIGURES, _FIT = 1e-9, 1.5e-4
# The stated numerical error of a bar (in the share of papers it is for) and of a price (relative to it).
_BAR_ERROR, _PRICE_ERROR = 1e-9, 1e-8
# Honest releases fail the comparison of decisions less often than this.
FALSE_ALARM = 1e-6
# What is compared, and under which name it is told.
_RECORD = {
    "conference": "settings",
    "release": "settings",
    "reason": "settings",
    "settings": "settings",
    "redecided": "settings",
    "first_accept": "settings",
    "scores": "settings",
    "price": "bar and price",
    "commitment": "commitment",
    "fit": "calibration check",
    "selection": "number accepted",
    "decisions": "public files follow from the record",
    "certificate": "public files follow from the record",
}
_PAPER = {
    "paper": "public data",
    "release": "earlier decisions",
    "earlier": "earlier decisions",
    "price": "bar and price",
    "public": "public data",
    "reviewers": "reviewers",
    "secret": "accept probabilities",
    "probability": "accept probabilities",
    "accepted": "coins",
    "raw_accepted": "raw decisions",
    "figures": "claims and figures",
    "corrected": "public data",
}
Prepare = Callable[[Sequence[PaperCase], Level | None, Level | None], Conference]
"""Cases, accept rate and bar (one of them None) -> Conference, as it is prepared to be decided."""


@dataclass(frozen=True)
class Check:
    """One thing that was derived again.

    `name`: what was compared.
    `items`: how many.
    `failed`: how many of them did not agree.
    `note`: what that means, in words; empty where there is nothing to add.
    `papers`: which papers the note is about: CONFIDENTIAL.
    """

    name: str
    items: int
    failed: int
    note: str = ""
    papers: tuple[str, ...] = ()


def checks_of(
    conference: Conference,
    truth: Truth,
    request: Request,
    past: Past,
    planner: Planner,
    prepare: Prepare,
    out: Path | None = None,
) -> list[Check]:
    """Every check of all releases of a conference, the latest one from the input given; `refuse_failed`
    raises if one failed."""
    ledger = past.ledger
    places = [i for i, release in enumerate(ledger.releases) if release.conference == request.conference]
    if not places:
        raise InputError(f"conference {request.conference!r} was never decided with this key")
    latest = past.record(places[-1])
    same = stamp_as_recorded(past, latest, conference, truth) == ledger.releases[places[-1]].input
    other = "" if same else "reviews, calibration, pools or grid are not those that were decided"
    checks = [Check("input is the one that was decided", 1, int(not same), other), _reviewers(latest, truth)]
    for place in places:
        named = {**truth, **_recorded(latest)}
        given = (conference, named) if same and place == places[-1] else None
        checks += _release(past, place, given or _recorded_input(past, place, prepare), planner)
    return checks if out is None else [*checks, _files(latest, out)]


def refuse_failed(checks: Sequence[Check]) -> None:
    """Raise a `VerificationError` that names the checks that failed; papers are counted, never named."""
    failed = [
        f"{check.name}: {check.failed} of {check.items} {'does' if check.failed == 1 else 'do'} not agree"
        + (f" ({check.note})" if check.note else "")
        for check in checks
        if check.failed
    ]
    if failed:
        raise VerificationError("verification failed. " + "; ".join(failed))


def stamp_as_recorded(past: Past, record: Record, conference: Conference, truth: Truth) -> str:
    """The stamp of an input, with the reviewers that a record holds: those are compared by themselves."""
    names = {**truth, **_recorded(record)}
    accept = first_accept(past, record.request)
    return input_stamp(past.ledger.key, conference, names, record.request, accept)


def _recorded(record: Record) -> Truth:
    return {paper.paper: paper.reviewers for paper in record.papers}


def _reviewers(record: Record, truth: Truth) -> Check:
    """Whether those who reviewed are those whom the coins were derived from."""
    differ = [paper for paper, names in _recorded(record).items() if truth.get(paper, names) != names]
    note = (
        ""
        if not differ
        else (
            "a name that was corrected after deciding changes no decision: verify with the reviews as decided"
        )
    )
    return Check("reviewers are those recorded", len(record.papers), len(differ), note)


def _recorded_input(past: Past, place: int, prepare: Prepare) -> tuple[Conference, Truth]:
    """The input of a release as its record holds it; the bar of a first one is derived again."""
    record = past.record(place)
    request, first = record.request, record.release == 1
    cases = [replace(recorded_case(paper, record.bar), settled=False) for paper in record.papers]
    rate, bar = recorded_rate(request, cases) if first else None, request.bar if first else record.bar
    return prepare(cases, rate, bar), _recorded(record)


def recorded_rate(request: Request, cases: Sequence[PaperCase]) -> Level | None:
    """The share of these papers that was requested, or that the number requested is."""
    quota = request.quota
    return request.accept_rate if quota is None else shares(quota, [case.track for case in cases])


def _release(past: Past, place: int, given: tuple[Conference, Truth], planner: Planner) -> Iterator[Check]:
    """Make one release again and compare it."""
    stored, before, tables = past.record(place), past.before(place), past.tables(place)
    conference, truth = given
    wrong_bar = conference.bar != stored.bar and not _near_bar(stored.bar, conference)
    conference = with_bar(conference, stored.bar)
    here, sealed = dict[str, PaperPlan](), dict[str, PaperPlan]()
    replay = _replaying(stored, tables, here, sealed)
    request, again = stored.request.checked(), stored.redecided
    made = draft(conference, truth, request, before, planner, stored.reason, redecide=again, replayed=replay)
    tables = Tables(
        {k: one for k, one in tables.packed.items() if k not in here or _is_table(one.policy, here[k].policy)}
    )
    name = f"release {stored.release}"
    for what, (items, failed) in _compared(stored, tables, made, before, wrong_bar).items():
        yield Check(f"{name}: {what}", items, failed)
    guarantee = stored.request.guarantee
    yield Check(f"{name}: limits of each table", len(made.cases), _loose(made, tables, guarantee))
    if guarantee.spends:
        yield _budget(name, made, sealed, before)
    yield Check(f"{name}: tables as good as those planned here", len(made.cases), _worse(made, sealed, here))
    yield _decisions(name, made, here, tables, past.ledger.key)


def with_bar(conference: Conference, bar: Level) -> Conference:
    cases = tuple(replace(case, bar=level_of(bar, case.track)) for case in conference.cases)
    return replace(conference, bar=bar, cases=cases)


def _near_bar(stored: Level, conference: Conference) -> bool:
    """Whether another machine may have found this bar: it is the one here for a share that differs by the
    stated numerical error, in every track that has one."""
    rate = conference.accept_rate
    if rate is None or isinstance(conference.bar, Mapping) != isinstance(stored, Mapping):
        return False
    for track in {case.track for case in conference.cases}:
        cases = [case for case in conference.cases if case.track == track]
        wanted = level_of(rate, track)
        ends = [float(np.clip(wanted + error, 0.0, 1.0)) for error in (-_BAR_ERROR, 0.0, _BAR_ERROR)]
        if level_of(stored, track) not in [bar_of(cases, end, None)[0] for end in ends]:
            return False
    return True


def _near_price(stored: float, computed: float) -> float:
    """The stored price if it is the computed one, or the neighbor that a rounding could have led to."""
    ends = [frozen_price(computed * (1.0 + error)) for error in (-_PRICE_ERROR, _PRICE_ERROR)]
    return stored if stored in ends else computed


def _replaying(
    stored: Record, tables: Tables, here: dict[str, PaperPlan], sealed: dict[str, PaperPlan]
) -> Callable[[Conference, Planned], Planned]:
    """Keep what was planned `here`, and say what the tables that were `sealed` promise under the weights
    computed here."""
    prices = [paper.price for paper in stored.papers if paper.release == stored.release]

    def replay(part: Conference, planned: Planned) -> Planned:
        plans, computed = planned
        promise = stored.request.guarantee.promise
        here.update({case.paper: plan for case, plan in zip(part.cases, plans, strict=True)})
        for case, plan, raw in zip(part.cases, plans, part.raw_accept, strict=True):
            sealed[case.paper] = _replayed(case.promised(promise), plan, tables.get(case.paper), raw)
        if computed is not None and prices and prices[0] is not None:
            computed = _near_price(prices[0], computed)
        return [sealed[case.paper] for case in part.cases], computed

    return replay


def _replayed(case: PaperCase, plan: PaperPlan, stored: ExactPolicy | None, raw: float) -> PaperPlan:
    """What a stored table promises and costs; one of another shape is no table for this paper."""
    own = plan.policy
    if stored is None or not _is_table(stored, own) or _equal(stored, own):
        return plan
    bound = plan.figures.wrong - plan.figures.gap
    numbers = expected_figures(case.belief, stored.accept, raw, sample=case.sample, bound=bound)
    return replace(plan, packed=packed(stored), claim=claim(case.belief, stored), figures=numbers)


def _compared(
    stored: Record, tables: Tables, made: Draft, before: Past, wrong_bar: bool
) -> dict[str, list[int]]:
    """For each check the number of items and of those that differ."""
    found: dict[str, list[int]] = {name: [0, 0] for name in (*_RECORD.values(), *_PAPER.values())}

    def tally(name: str, wrong: bool) -> None:
        found[name][0] += 1
        found[name][1] += wrong

    # What is said in public follows from the record to the last digit, whatever its figures are.
    whole = replace(made.record, papers=stored.papers, fit=stored.fit)
    whole = replace(with_texts(ranked_again(whole), before.ledger), fit=made.record.fit)
    tally("bar and price", wrong_bar)
    for name, told in _RECORD.items():
        one, other = getattr(stored, name), getattr(whole, name)
        tally(told, not (_close(one, other, _FIT) if name == "fit" else one == other))
    again = {paper.paper: paper for paper in made.record.papers}
    for paper in stored.papers:
        other = again.get(paper.paper)
        for name in _PAPER:
            tally(_PAPER[name], other is None or not _agree(name, paper, other))
    # Each once, in the order of files: an order of one's own could say who reviewed.
    tally("public data", [paper.paper for paper in stored.papers] != in_natural_order(again))
    tally("accept probabilities", set(tables) != set(made.policies))
    return found


def _agree(name: str, stored: PaperRecord, made: PaperRecord) -> bool:
    one, other = getattr(stored, name), getattr(made, name)
    if name == "figures":
        # What holds under any prior depends on the table alone: no digit of it may differ.
        exact = ("reviews", *(limit.bounds for limit in LIMITS.values() if limit.prior_free))
        same = all(one["claim"][part] == other["claim"][part] for part in exact)
        return same and _close(_in_units(one), _in_units(other), _FIGURES)
    if name == "raw_accepted":
        return _close(one, other, _FIGURES)
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _in_units(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Figures with the sums that are kept as whole numbers of 2^-80 as what they are."""
    claimed = {name: value / FINE if name in SUMS else value for name, value in figures["claim"].items()}
    return {**figures, "added": figures["added"] / FINE, "claim": claimed}


def _close(one: Any, other: Any, slack: float) -> bool:
    """Whether two pieces of a record agree, numbers up to a slack."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_close(one[key], other[key], slack) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(_close(*pair, slack) for pair in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool):
        return isclose(one, other, rel_tol=slack, abs_tol=slack)
    return bool(one == other)


def _is_table(stored: ExactPolicy, own: ExactPolicy) -> bool:
    """Whether it holds a probability for each entry of this paper's table."""
    low, high = stored.ends
    return stored.numerator.size == own.numerator.size and 0 <= low <= high <= stored.denominator


def _equal(one: ExactPolicy, other: ExactPolicy) -> bool:
    return np.array_equal(one.numerator, other.numerator) and one.exact == other.exact


def _loose(made: Draft, tables: Tables, guarantee: Guarantee) -> int:
    """How many stored tables do not keep what was requested, under the weights computed here."""
    limits = [(case.promised(guarantee.promise), tables.get(case.paper)) for case in made.cases]
    return sum(
        table is None or not _kept(case, table, PUBLIC if case.settled else guarantee)
        for case, table in limits
    )


def _kept(case: PaperCase, table: ExactPolicy, guarantee: Guarantee) -> bool:
    return keeps(case.belief, table, guarantee, slack=WEIGHTS)


def _budget(name: str, made: Draft, sealed: Mapping[str, PaperPlan], before: Past) -> Check:
    """The shared budget, which all tables together keep, with those of earlier releases."""
    claims = [plan.claim for plan in sealed.values()]
    spent, reached = (sum((getattr(c, part) for c in claims), Fraction(0)) for part in ("added", "success"))
    left = budget_left(before, made.record.request, made.cases)
    return Check(f"{name}: the budget", 1, int(spent > left + WEIGHTS * reached))


def _worse(made: Draft, sealed: Mapping[str, PaperPlan], here: Mapping[str, PaperPlan]) -> int:
    """How many stored tables cost more wrong decisions than those planned here, each with its own slack.
    Under a shared budget success costs its price: papers may share it differently at the same price."""
    prices = {paper.paper: paper.price for paper in made.record.papers}
    costs = [
        [_cost(plans[case.paper], prices[case.paper]) for plans in (sealed, here)] for case in made.cases
    ]
    return sum(cost > own + _slack(case) for case, (cost, own) in zip(made.cases, costs, strict=True))


def _cost(plan: PaperPlan, price: float | None) -> float:
    return plan.figures.wrong + (price or 0.0) * float(plan.claim.success)


def _slack(case: PaperCase) -> float:
    few = case.listed and case.belief.weight.size <= MOST_EXACT
    return COST if few else COST_OF_LARGE_POOLS


def _decisions(name: str, made: Draft, here: Mapping[str, PaperPlan], tables: Tables, key: Key) -> Check:
    """The recorded coins under the tables planned here: which decisions would differ, and whether the last
    digits of the tables explain so many. Another table of the same cost explains none: whoever holds the key
    could choose it for its decision. Nor do tables bent at the true reviewers: those of an honest chair
    differ there as little as elsewhere."""
    papers = {paper.paper: paper for paper in made.record.papers}
    request, accept = made.record.request, made.record.first_accept
    differ, chosen, apart, usual = [], 0, [], []
    for case in made.cases:
        paper, plan, table = papers[case.paper], here[case.paper], tables.get(case.paper)
        if table is None or _equal(table, plan.policy):
            continue
        at = true_secret(key, request, paper.release, case, paper.reviewers, plan.layout)
        stored, own = (policy.probability(at) for policy in (table, plan.policy))
        facts = coin_facts(request, paper.release, paper.paper, paper.public, paper.reviewers, accept)
        belief = case.promised(request.guarantee.promise).belief
        apart.append(abs(float(stored - own)))
        usual.append(float(belief.weight @ belief.spread(np.abs(table.accept - plan.policy.accept))))
        if toss(key, facts, own) != paper.accepted:
            differ.append(paper.paper)
            chosen += usual[-1] > DIGITS
    unlikely = (
        _chance(len(differ), fsum(apart)) < FALSE_ALARM or _chance(fsum(apart), fsum(usual)) < FALSE_ALARM
    )
    note = f"{count(len(differ), 'decision')} would differ on this machine" if differ else ""
    what = f"{name}: coins under the tables planned here"
    failed = max(1, len(differ)) if unlikely else chosen
    return Check(what, len(made.cases), failed, note, tuple(differ))


def _chance(total: float, expected: float) -> float:
    """At most how likely independent numbers from 0 to 1 sum to this much (Chernoff); 1 where that is no
    more than expected."""
    if total <= expected:
        return 1.0
    return exp(total - expected + total * log(expected / total)) if expected > 0.0 else 0.0


def _files(record: Record, out: Path) -> Check:
    """The files in a folder are the ones that were released."""
    kept = record.published
    wrong = [
        name
        for name, text in kept.items()
        if not (out / name).exists() or (out / name).read_bytes() != text.encode()
    ]
    return Check("published files", len(kept), len(wrong), ", ".join(wrong))


@dataclass(frozen=True, eq=False)
class Verification:
    """The latest release of a conference, and what was checked of it and of the ones before it.

    `record`: the sealed record of that release, CONFIDENTIAL.
    `checks`: everything that was compared.
    `earlier`: numbers of the releases whose input is the one given, where that of the latest one is not.
    `committed`: whether a commitment published beforehand was compared.
    """

    record: Record
    checks: tuple[Check, ...]
    earlier: tuple[int, ...]
    committed: bool = False

    @property
    def limits(self) -> str:
        """What these checks cannot exclude, in words; empty if the commitment was published beforehand."""
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
        return frame({name: [getattr(check, name) for check in self.checks] for name in names})

    def raise_if_not(self) -> None:
        """A `VerificationError` that says what does not agree, and of which release, if anything does not."""
        number, older = self.record.release, ""
        if self.earlier:
            older = f". The input given is that of release {self.earlier[-1]}, not the latest"
        try:
            refuse_failed(self.checks)
        except VerificationError as error:
            raise VerificationError(f"release {number}: {error}{older}") from None


def latest(key: str | os.PathLike[str], conference: str = "conference") -> tuple[Past, Record]:
    """What was decided with a key, read once, and the latest release of a conference in it."""
    past = Past(read_ledger(key, read_key(key)))
    records = [i for i, release in enumerate(past.ledger.releases) if release.conference == conference]
    if not records:
        raise InputError(
            f"conference {conference!r} was never decided with this key, or its record is not in "
            f"{sealed_folder(key)}"
        )
    return past, past.record(records[-1])


def verify(
    inputs: Inputs,
    key: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    published: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    conference: str = "conference",
    commitment: str | None = None,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Verification:
    """Derive everything again with the key: input, commitment, coins, tables, claims and public files.

    Returns a `Verification`: whether everything `agrees`, and every check with what it counted. What was
    requested is in the sealed record.

    `inputs`: those that were decided.
    `key`: the file of the key that they were decided with.
    `out`: the folder of the public files; by default these are not compared.
    `published`: folders published earlier with this key, as for `decide`: two copies of the key that decided
    apart are found by them.
    `conference`: its name in the ledger, as in the request.
    `commitment`: the number that was published before decisions could be known. Without it nothing excludes
    that several keys or inputs were tried.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `progress`: called as work goes on; silent by default.

    >>> from blindcal import Guarantee, Request, decide, make_key, read_inputs
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> reviews, reviewers = (Path(folder.name) / name for name in ("reviews.csv", "reviewers.csv"))
    >>> _ = reviews.write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\np3,cleo,6\\n")
    >>> _ = reviewers.write_text("reviewer,slope,offset,noise\\nada,1.2,6,1\\nben,1,4.5,1\\ncleo,1,5,1\\n")
    >>> inputs = read_inputs(reviews, reviewers, "everyone")
    >>> key, out = Path(folder.name) / "key.bin", Path(folder.name) / "out"
    >>> _ = make_key(key)
    >>> _ = decide(inputs, Request(Guarantee("steady"), accept_rate=0.5), key, out)
    >>> verify(inputs, key, out).agrees
    True
    >>> folder.cleanup()
    """
    check_inputs(inputs)
    check_paths(key=key)
    past, record = latest(key, conference)
    return verify_latest(
        inputs,
        past,
        record,
        out,
        published=published,
        commitment=commitment,
        workers=workers,
        progress=progress,
    )


def verify_latest(
    inputs: Inputs,
    past: Past,
    record: Record,
    out: str | os.PathLike[str] | None = None,
    *,
    published: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    commitment: str | None = None,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Verification:
    """`verify`, for whoever has read what `latest` returns already."""
    if out is not None and not Path(out).is_dir():
        raise InputError(f"`out` {out} must be the folder of the public files: there is no such folder")
    inputs = inputs.on_grid(record.grid)
    seen = all_published(published)
    # The bar of a first release is derived again.
    first, request = record.release == 1, record.request
    loaded, truth = request.prepared(
        inputs, None if first else record.bar, workers=workers, progress=progress
    )
    steps = sum(_steps(one) for one in past.of(record.conference))
    with progress(f"verifying {count(len(loaded.cases), 'paper')}", steps) as advance:
        planner = partial(plan_conference, workers=workers, advance=advance)
        checks = checks_of(
            loaded,
            truth,
            request,
            past,
            planner,
            partial(assemble, workers=workers),
            None if out is None else Path(out),
        )
    checks += _published_check(past.ledger, seen)
    if commitment is not None:
        made = past.of(record.conference)[0].commitment
        checks.append(Check("commitment published beforehand", 1, int(commitment.strip() != made)))
    earlier = _earlier(past, record, loaded, truth)
    return Verification(record, tuple(checks), earlier, commitment is not None)


def _published_check(ledger: Ledger, seen: Sequence[Published]) -> list[Check]:
    """Whether certificates that were published are releases of this ledger, if any are given."""
    problems = published_problems(ledger, seen)
    return [Check("published earlier", len(seen), len(problems), "; ".join(problems))] if seen else []


def _steps(record: Record) -> int:
    """How many steps it takes to plan once more what was tossed in a release."""
    tossed = [recorded_case(one, record.bar) for one in record.papers if one.release == record.release]
    price = None if record.release == 1 else record.price
    return planning_steps(tossed, record.request.guarantee, price)


def _earlier(past: Past, record: Record, conference: Conference, truth: Truth) -> tuple[int, ...]:
    same = tuple(
        release.number
        for release, made in zip(past.ledger.of(record.conference), past.of(record.conference), strict=True)
        if release.input == stamp_as_recorded(past, made, conference, truth)
    )
    # Another list of the same papers has the input of the list before it.
    return () if record.release in same else same
