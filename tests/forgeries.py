"""Releases forged by somebody who holds the key, and sealed as they should be. Run as a program it forges
them, each beside its honest twin, or verifies those that another kind of machine made."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.certify.claims import claim
from blindcal.certify.exact import UNIT, ExactPolicy, PolicyTables, pack_policy
from blindcal.deciding.amend import changes_since, recorded_truth
from blindcal.deciding.decide import Draft, decide_paper, draft, with_texts
from blindcal.deciding.key import Key, coin_facts, draw, input_stamp, write_bytes
from blindcal.deciding.ledger import Ledger, commit, open_ledger
from blindcal.deciding.lists import ranked, ranked_again
from blindcal.deciding.publish import publish
from blindcal.deciding.record import PaperRecord, Record
from blindcal.errors import BlindcalError
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.planning.expected_errors import expected_figures
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers, assemble
from blindcal.posterior.paper import PaperCase
from blindcal.verification import verify
from machines import conference as conference_files
from machines import read
from machines import request as request_of
from sealed_releases import pool_of, probability_of

ALL = ("continuous", "rounded", "uncertain", "exact number", "average", "tied", "large pools")
LISTED = ("exact number",)
SMALL = ALL[:-1]
_STEP = 31
Plans = Sequence[PaperPlan]


@dataclass(frozen=True)
class Scene:
    """A conference, and what the forger has before the release that is forged."""

    request: Request
    ledger: Ledger
    conference: Conference
    truth: TrueReviewers
    rng: np.random.Generator = field(repr=False)

    @property
    def key(self) -> Key:
        return self.ledger.key

    def case(self, paper: str) -> PaperCase:
        case = next(one for one in self.conference.cases if one.paper == paper)
        return case.promised(self.request.guarantee.promise)


Change = Callable[[Scene, Draft], Draft | None]
Forger = Callable[[Scene, Conference, Plans], dict[str, ExactPolicy]]


@dataclass(frozen=True)
class Forgery:
    """What is made up: other tables than those planned, or a change of what was drafted; in the first
    release, or in the one after a correction. A change that cannot be made in a conference is None."""

    change: Change | None = None
    tables: Forger | None = None
    kinds: tuple[str, ...] = ALL
    correction: str = ""
    first: bool = False


# Records that are changed.


def restated(scene: Scene, made: Draft, **values: Any) -> Draft:
    """The record with other values, and the public texts that follow from them."""
    return replace(made, record=with_texts(replace(made.record, **values), scene.key))


def with_papers(scene: Scene, made: Draft, papers: Sequence[PaperRecord]) -> Draft:
    """Other papers, and everything that follows from them."""
    record = ranked_again(replace(made.record, papers=tuple(papers)))
    return restated(scene, replace(made, record=record))


def papers(scene: Scene, made: Draft, changed: Mapping[int, PaperRecord]) -> Draft:
    """Some papers replaced, and everything that follows from them."""
    kept = [changed.get(place, paper) for place, paper in enumerate(made.record.papers)]
    return with_papers(scene, made, kept)


def tossed(made: Draft) -> list[int]:
    names = {*made.policies}
    return [place for place, paper in enumerate(made.record.papers) if paper.paper in names]


def one_paper(change: Callable[[Scene, PaperRecord], PaperRecord]) -> Change:
    def forge(scene: Scene, made: Draft) -> Draft | None:
        place = int(scene.rng.choice(tossed(made)))
        return papers(scene, made, {place: change(scene, made.record.papers[place])})

    return forge


def record_of(**values: Any) -> Change:
    return lambda scene, made: restated(scene, made, **values)


def texts_of(change: Callable[[Record], dict[str, str]]) -> Change:
    return lambda _, made: replace(made, record=replace(made.record, **change(made.record)))


def other_word(record: Record) -> dict[str, str]:
    swap = {"accept": "reject", "reject": "accept", "wait list": "accept"}
    header, first, *rest = record.decisions.splitlines()
    paper, word, *more = first.split(",")
    return {"decisions": "\n".join([header, ",".join([paper, swap[word], *more]), *rest]) + "\n"}


def certificate_of(**values: Any) -> Change:
    def change(record: Record) -> dict[str, str]:
        content = {**json.loads(record.certificate), **values}
        return {
            "certificate": json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
            + "\n"
        }

    return texts_of(change)


def figures_of(part: str, name: str, factor: float) -> Change:
    def change(_: Scene, paper: PaperRecord) -> PaperRecord:
        figures = json.loads(json.dumps(paper.figures))
        value = figures[part][name]
        figures[part][name] = int(value * factor) if isinstance(value, int) else float(value) * factor
        return replace(paper, figures=figures)

    def forge(scene: Scene, made: Draft) -> Draft | None:
        def size(place: int) -> float:
            value = float(made.record.papers[place].figures[part][name])
            return 0.0 if value in (0.0, np.inf) else value

        place = max(tossed(made), key=size)
        if size(place) == 0.0:
            return None
        return papers(scene, made, {place: change(scene, made.record.papers[place])})

    return forge


def with_other_coin(name: str, *values: object) -> Change:
    """The decisions that other coins would have led to: the first that differ."""

    def forge(scene: Scene, made: Draft) -> Draft | None:
        for value in values:
            changed = {}
            for place in tossed(made):
                paper = made.record.papers[place]
                facts = {**facts_of(scene, paper), name: value}
                if draw(scene.key, facts, probability_of(paper)) != paper.accepted:
                    changed[place] = replace(paper, accepted=not paper.accepted)
            if changed:
                return papers(scene, made, changed)
        return None

    return forge


def facts_of(scene: Scene, paper: PaperRecord) -> dict[str, Any]:
    return coin_facts(scene.request, paper.release, paper.paper, paper.public, paper.reviewers)


def ordered(order: Callable[[list[PaperRecord]], list[PaperRecord]]) -> Change:
    return lambda scene, made: with_papers(scene, made, order([*made.record.papers]))


def ranked_anew(scene: Scene, made: Draft) -> Draft | None:
    """The list of an amendment by cuts of its own, so that other papers than the corrected one change."""
    quota = made.record.request.quota
    selection = None if quota is None else ranked(made.record.papers, quota)
    return None if selection == made.record.selection else restated(scene, made, selection=selection)


def selected(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    return lambda scene, made: restated(scene, made, selection=change(dict(made.record.selection or {})))


# Tables that are changed: what they claim of themselves is right.


def replanned(
    part: Conference, plans: Plans, guarantee: Guarantee, tables: Mapping[str, ExactPolicy]
) -> list[PaperPlan]:
    """Plans with other tables, and all that these claim and cost."""
    made = []
    for case, plan, raw in zip(part.cases, plans, part.raw_accept, strict=True):
        if case.paper in tables:
            promised, table = case.promised(guarantee.promise), tables[case.paper]
            belief, bound = promised.belief, plan.figures.wrong - plan.figures.gap
            numbers = expected_figures(belief, table.accept, raw, sample=promised.sample, bound=bound)
            plan = replace(plan, packed=pack_policy(table), claim=claim(belief, table), figures=numbers)
        made.append(plan)
    return made


def unlimited(part: Conference, _: Guarantee) -> list[PaperPlan]:
    """Full calibration, also of papers that are decided again."""
    free = replace(part, cases=tuple(replace(case, settled=False) for case in part.cases))
    return plan_conference(free, Guarantee("none", epsilon=None))


def public(part: Conference, _: Guarantee) -> list[PaperPlan]:
    return plan_conference(part, Guarantee("public", epsilon=None))


def fully_calibrated(some: Callable[[int], int]) -> Forger:
    def tables(scene: Scene, part: Conference, honest: Plans) -> dict[str, ExactPolicy]:
        loose = of_same_size(part, honest, unlimited(part, scene.request.guarantee))
        open_ = [paper for paper, table in loose.items() if np.ptp(table.accept)]
        return {paper: loose[paper] for paper in open_[: some(len(open_))]}

    return tables


def of_same_size(part: Conference, honest: Plans, others: Plans) -> dict[str, ExactPolicy]:
    """Other tables of the papers whose tables they could be."""
    return {
        case.paper: other.policy
        for case, own, other in zip(part.cases, honest, others, strict=True)
        if own.policy.numerator.size == other.policy.numerator.size
    }


def ends_of(table: ExactPolicy) -> tuple[int, int]:
    """The least and the largest entry of a table, as its integers have them."""
    low, high = (end * UNIT // table.denominator for end in table.ends)
    return low, high


def bent(to: float) -> Forger:
    """The entry of the true reviewers alone, moved to where the coin falls on the other side."""

    def tables(scene: Scene, part: Conference, honest: Plans) -> dict[str, ExactPolicy]:
        made = draft(scene.conference, scene.truth, scene.request, scene.ledger, lambda *_: honest, "typo")
        for case, plan in zip(part.cases, honest, strict=True):
            paper = next(one for one in made.record.papers if one.paper == case.paper)
            table, numerator = plan.policy, plan.policy.numerator.copy()
            low, high = ends_of(table)
            low, high = int(low * (1 - to)), int(high + (UNIT - high) * to)
            numerator[paper.secret] = low if paper.accepted else high
            new = ExactPolicy(numerator, tuple(pair for pair in table.exact if pair[0] != paper.secret))
            if draw(scene.key, facts_of(scene, paper), new.probability(paper.secret)) != paper.accepted:
                return {case.paper: new}
        return {}

    return tables


def each_table(
    change: Callable[[np.ndarray], np.ndarray], which: Callable[[ExactPolicy], object] = lambda table: True
) -> Forger:
    def tables(_: Scene, part: Conference, honest: Plans) -> dict[str, ExactPolicy]:
        own = zip(part.cases, (plan.policy for plan in honest), strict=True)
        return {case.paper: ExactPolicy(change(table.numerator)) for case, table in own if which(table)}

    return tables


def raised(step: float) -> Forger:
    return each_table(lambda table: (table * (1 - step) + UNIT * step).astype(np.int64).clip(0, UNIT))


def public_tables(scene: Scene, part: Conference, honest: Plans) -> dict[str, ExactPolicy]:
    return of_same_size(part, honest, public(part, scene.request.guarantee))


constants_turned = each_table(lambda table: UNIT - table, lambda table: not np.ptp(table.accept))
# Epsilon without a limit, next to no cost.
thin = each_table(
    lambda table: np.where(np.arange(table.size), table, UNIT // 10**9), lambda table: table.ends[1] == 0
)


def moved_bar(off: float) -> Change:
    """Everything follows from the bar, and the bar from nothing."""

    def forge(scene: Scene, made: Draft) -> Draft | None:
        bar = round(scene.conference.bar + off, 4)
        near = assemble([replace(case, bar=0.0) for case in scene.conference.cases], None, bar)
        return draft(near, scene.truth, scene.request, scene.ledger, plan_conference, "")

    return forge


def other_table(change: Callable[[ExactPolicy], ExactPolicy]) -> Change:
    def forge(_: Scene, made: Draft) -> Draft | None:
        name = next(iter(made.policies))
        tables = {**made.policies.packed, name: pack_policy(change(made.policies[name]))}
        return replace(made, policies=PolicyTables(tables))

    return forge


# Amendments.


def tossed_again(scene: Scene, made: Draft) -> Draft | None:
    """A second coin for a paper whose decision stands, or that public data alone decide."""
    past, request, record = scene.ledger, scene.request, made.record
    changed, tables = {}, dict(made.policies.packed)
    for place, case in enumerate(scene.conference.cases):
        if case.paper not in past.latest:
            continue
        part = replace(
            scene.conference,
            cases=(replace(case, settled=False),),
            raw_accept=(scene.conference.raw_accept[place],),
        )
        plans = plan_conference(part, request.guarantee)
        raw, earlier = part.raw_accept[0], ((1, case.paper),)
        again = decide_paper(
            scene.key,
            request,
            record.release,
            part.cases[0],
            scene.truth[case.paper],
            plans[0],
            raw,
            earlier,
        )
        if again.accepted != record.papers[place].accepted:
            changed[place], tables[case.paper] = again, plans[0].packed
    return papers(scene, replace(made, policies=PolicyTables(tables)), changed) if changed else None


def standing_changed(scene: Scene, made: Draft) -> Draft | None:
    place = next(i for i, paper in enumerate(made.record.papers) if paper.release < made.record.release)
    paper = made.record.papers[place]
    return papers(scene, made, {place: replace(paper, accepted=not paper.accepted)})


def one_dropped(scene: Scene, made: Draft) -> Draft | None:
    return restated(scene, made, papers=made.record.papers[1:])


def look_alike_tossed(scene: Scene, made: Draft) -> Draft | None:
    """A new paper with the scores of one that was decided gets a coin of its own."""
    place = next(i for i, paper in enumerate(made.record.papers) if paper.paper == "p9")
    case = scene.conference.cases[place]
    raw = scene.conference.raw_accept[place]
    part = replace(scene.conference, cases=(replace(case, settled=False),), raw_accept=(raw,))
    plans = plan_conference(part, scene.request.guarantee)
    if not np.ptp(plans[0].policy.accept):
        return None
    coin = decide_paper(
        scene.key,
        scene.request,
        made.record.release,
        part.cases[0],
        scene.truth["p9"],
        plans[0],
        raw,
    )
    tables = PolicyTables({**made.policies.packed, "p9": plans[0].packed})
    return papers(scene, replace(made, policies=tables), {place: coin})


def other_reviewers(scene: Scene, made: Draft) -> Draft | None:
    """Somebody else is recorded, and everything else follows from that."""
    wrong = {paper: names[::-1] for paper, names in scene.truth.items()}
    return draft(scene.conference, wrong, scene.request, scene.ledger, plan_conference, "")


def public_changed(scene: Scene, paper: PaperRecord) -> PaperRecord:
    low, *rest = paper.public["scores"]
    return replace(paper, public={**paper.public, "scores": [low - 0.001, *rest]})


def pool_in_another_order(_: Scene, paper: PaperRecord) -> PaperRecord:
    return replace(paper, public={**paper.public, "pool": pool_of(paper.public["pool"][::-1])})


def consistent_flip(_: Scene, paper: PaperRecord) -> PaperRecord:
    whole = Fraction(int(not paper.accepted))
    return replace(
        paper, accepted=not paper.accepted, probability=(f"{whole.numerator:x}", f"{whole.denominator:x}")
    )


FORGERIES: dict[str, Forgery] = {
    "full calibration, all papers": Forgery(tables=fully_calibrated(lambda n: n)),
    "full calibration, one paper": Forgery(tables=fully_calibrated(lambda n: 1), kinds=SMALL),
    "bent at the true reviewers, within its range": Forgery(tables=bent(0.0)),
    "bent at the true reviewers, beyond it": Forgery(tables=bent(1.0)),
    "bent a little beyond": Forgery(tables=bent(0.2)),
    "every entry raised": Forgery(tables=raised(0.01)),
    "every entry raised a little": Forgery(tables=raised(1e-6), kinds=SMALL),
    "public tables": Forgery(tables=public_tables),
    "constants turned": Forgery(tables=constants_turned, kinds=SMALL),
    "a thin table": Forgery(tables=thin, kinds=("continuous", "uncertain")),
    "a bar moved up": Forgery(moved_bar(1e-4), kinds=("continuous", "rounded", "uncertain", "average")),
    "a bar moved down": Forgery(moved_bar(-1e-3), kinds=("continuous", "rounded", "uncertain", "average")),
    "coins of another release": Forgery(with_other_coin("release", 2, 3, 4)),
    "coins of another conference": Forgery(with_other_coin("conference", *"abc")),
    "coins of another number": Forgery(with_other_coin("accept", 2, 4, 5), kinds=LISTED),
    "coins for a bar": Forgery(with_other_coin("bar", 0.1, 0.2, 0.3)),
    "a reason": Forgery(record_of(reason="made up")),
    "another number of the release": Forgery(record_of(release=2)),
    "another commitment": Forgery(record_of(commitment="ab" * 32)),
    "a calibration that fits": Forgery(record_of(fit={"verdict": "fits"})),
    "reviewers recorded wrongly": Forgery(other_reviewers),
    "success lowered": Forgery(figures_of("claim", "named", 0.999)),
    "success lowered a little": Forgery(figures_of("claim", "named", 1 - 1e-6)),
    "largest factor lowered": Forgery(figures_of("claim", "largest_factor", 0.99)),
    "epsilon lowered": Forgery(figures_of("claim", "epsilon", 1 - 1e-12)),
    "multiplier lowered": Forgery(figures_of("claim", "multiplier", 1 - 1e-12)),
    "posterior lowered": Forgery(figures_of("claim", "largest_posterior", 0.99)),
    "wrong decisions lowered": Forgery(figures_of("numbers", "wrong", 1 - 1e-5)),
    "wrong decisions by means raised": Forgery(figures_of("numbers", "wrong_raw", 1.001)),
    "a decision": Forgery(one_paper(lambda _, paper: replace(paper, accepted=not paper.accepted))),
    "a decision and its chance": Forgery(one_paper(consistent_flip)),
    "another tuple": Forgery(one_paper(lambda _, paper: replace(paper, secret=paper.secret + 1))),
    "other scores on record": Forgery(one_paper(public_changed)),
    "a pool in another order": Forgery(one_paper(pool_in_another_order)),
    "an earlier decision": Forgery(one_paper(lambda scene, paper: replace(paper, earlier=((1, "p9"),)))),
    "a raw decision": Forgery(one_paper(lambda _, paper: replace(paper, raw_accepted=0.5))),
    "a word in the public table": Forgery(texts_of(other_word)),
    "fewer wrong decisions in public": Forgery(certificate_of(expected_wrong=0.0)),
    "a smaller epsilon in public": Forgery(certificate_of(epsilon=0.125)),
    "papers backwards": Forgery(ordered(lambda found: found[::-1])),
    "papers by reviewer": Forgery(ordered(lambda found: sorted(found, key=lambda one: one.reviewers))),
    "a paper twice": Forgery(ordered(lambda found: [*found, found[0]])),
    "a longer table": Forgery(
        other_table(lambda table: ExactPolicy(np.append(table.numerator, 0), table.exact))
    ),
    "no probability": Forgery(other_table(lambda table: ExactPolicy(table.numerator + 2 * UNIT))),
    "one more accepted": Forgery(selected(lambda one: {**one, "accept": one["accept"] + 1}), kinds=LISTED),
    "no cut": Forgery(selected(lambda one: {**one, "cuts": {"": [None, None]}}), kinds=LISTED),
    "a cut moved": Forgery(
        selected(lambda one: {**one, "cuts": {"": [one["cuts"][""][1], one["cuts"][""][1]]}}), kinds=LISTED
    ),
    "a corrected paper, fully calibrated": Forgery(
        tables=fully_calibrated(lambda n: n), correction="scores", kinds=SMALL
    ),
    "a corrected paper, turned": Forgery(tables=constants_turned, correction="scores"),
    "a corrected paper, tossed": Forgery(tossed_again, correction="scores", kinds=SMALL),
    "a paper with a late review, fully calibrated": Forgery(
        tables=fully_calibrated(lambda n: n), correction="late", kinds=SMALL
    ),
    "a standing paper": Forgery(standing_changed, correction="scores"),
    "a name corrected for another coin": Forgery(tossed_again, correction="names", kinds=SMALL),
    "pools corrected for another coin": Forgery(tossed_again, correction="pools", kinds=SMALL),
    "a new paper, fully calibrated": Forgery(
        tables=fully_calibrated(lambda n: n), correction="new", kinds=SMALL
    ),
    "a new paper, bent": Forgery(tables=bent(0.0), correction="new", kinds=SMALL),
    "a new paper's coin": Forgery(
        with_other_coin("release", 1, *range(3, 40)), correction="new", kinds=SMALL
    ),
    "a look-alike, tossed": Forgery(look_alike_tossed, correction="alike", kinds=SMALL),
    "a paper dropped": Forgery(one_dropped, correction="scores"),
    "claims of a corrected paper": Forgery(
        figures_of("claim", "epsilon", 0.5), correction="scores", kinds=SMALL
    ),
    "cuts moved by an amendment": Forgery(
        selected(lambda one: {**one, "cuts": {"": [None, None]}}), correction="scores", kinds=LISTED
    ),
    "ranked anew by an amendment": Forgery(ranked_anew, correction="scores", kinds=LISTED),
    "an earlier release, bent": Forgery(tables=bent(0.0), correction="scores", first=True, kinds=SMALL),
    "an earlier decision, changed": Forgery(
        one_paper(lambda _, paper: replace(paper, accepted=not paper.accepted)),
        correction="new",
        first=True,
        kinds=SMALL,
    ),
}


def correct(folder: Path, correction: str) -> None:
    """The chair's files after a correction."""
    reviews, pools = folder / "reviews.csv", folder / "pools.csv"
    header, *rows = (line.split(",") for line in reviews.read_text(encoding="utf-8").splitlines())
    top, *chances = (line.split(",") for line in pools.read_text(encoding="utf-8").splitlines())
    mine = [row for row in rows if row[0] == "p0"]
    if correction == "scores":
        rows[0][2] = f"{float(rows[0][2]) + 1:g}"
    elif correction == "names":
        mine[0][1], mine[1][1] = mine[1][1], mine[0][1]
    elif correction == "late":
        other = next(row[1] for row in chances if row[0] == "p0" and row[1] not in [one[1] for one in mine])
        rows.append(["p0", other, f"{float(mine[0][2]) + 1:g}"])
        for row in chances:
            row[2] = str(float(row[2]) * (len(mine) + 1) / len(mine)) if row[0] == "p0" else row[2]
    elif correction in ("new", "alike"):
        more = 1 if correction == "new" else 0
        rows += [["p9", row[1], f"{float(row[2]) + more:g}"] for row in mine]
        chances += [["p9", *row[1:]] for row in chances if row[0] == "p0"]
    elif correction == "pools":
        for paper in {row[0] for row in chances}:
            some = [row for row in chances if row[0] == paper]
            for row, step in zip(some, [0.02, -0.02] + [0.0] * len(some), strict=False):
                row[2] = str(float(row[2]) + step)
    for path, lines in ((reviews, [header, *rows]), (pools, [top, *chances])):
        path.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")


def stamp_of(scene: Scene, truth: TrueReviewers) -> str:
    """The stamp of the input, with these reviewers."""
    changes = changes_since(scene.ledger, scene.conference, truth, scene.request)
    recorded = recorded_truth(scene.ledger, truth, changes)
    return input_stamp(scene.key, scene.conference, recorded, scene.request)


def release(scene: Scene, forgery: Forgery | None, number: int) -> tuple[Draft, str] | None:
    """A release, forged or not, and the stamp of its input; None if it cannot be forged so here."""
    given = scene.conference, scene.truth, scene.request, scene.ledger
    stamp, reason = stamp_of(scene, scene.truth), "typo" if number > 1 else ""
    honest = draft(*given, plan_conference, reason)
    if forgery is None:
        return honest, stamp
    if (forger := forgery.tables) is not None:

        def planner(part: Conference, guarantee: Guarantee) -> Plans:
            plans = plan_conference(part, guarantee)
            return replanned(part, plans, guarantee, forger(scene, part, plans))

        made = draft(*given, planner, reason)
        same = all(np.array_equal(made.policies[k].accept, honest.policies[k].accept) for k in made.policies)
        return None if same else (made, stamp)
    assert forgery.change is not None
    changed = forgery.change(scene, honest)
    if changed is None or (changed.record == honest.record and changed.policies is honest.policies):
        return None
    if forgery.change is other_reviewers:
        stamp = stamp_of(scene, {paper.paper: paper.reviewers for paper in changed.record.papers})
    return changed, stamp


def sealed(folder: Path, kind: str, seed: int, correction: str, forgery: Forgery | None) -> bool:
    """All releases of a conference, sealed and published; False if the forgery cannot be made in it."""
    conference_files(folder, kind, seed)
    request, path = request_of(folder, kind, seed), folder / "key.bin"
    secret = Key(np.random.default_rng(seed).bytes(32))
    write_bytes(path, secret.secret, confidential=True)
    forged_at = 1 if forgery is None or forgery.first or not correction else 2
    corrections = ["", correction] if correction and (forgery or correction != "names") else [""]
    for number, what in enumerate(corrections, start=1):
        correct(folder, what)
        with open_ledger(path, secret) as ledger:
            frozen = ledger.record(1).frozen if ledger.releases else {}
            conference, prepared = request.prepared(read(folder, kind), **frozen)
            truth = prepared.reviewers
            scene = Scene(request, ledger, conference, truth, np.random.default_rng(seed))
            made = release(scene, forgery if number == forged_at else None, number)
            if made is None:
                return False
            record, stamp = made[0].record, made[1]
            commit(ledger, record, made[0].policies, stamp)
        publish(record, folder / "out" / f"{number}")
    return True


def forge_all(home: Path, many: int, every: int) -> Iterator[dict[str, Any]]:
    """So many forgeries of all sorts, and for every so many an honest twin; what was made."""
    names = list(FORGERIES)
    for number in range(many):
        # All sorts are among the first ones.
        name = names[_STEP * number % len(names)]
        forgery = FORGERIES[name]
        for attempt in range(30):
            kind = forgery.kinds[(number // len(names) + attempt + number) % len(forgery.kinds)]
            folder, seed = home / f"{number}-{attempt}", 100 * number + attempt
            if sealed(folder, kind, seed, forgery.correction, forgery):
                twins = [f"{number}-honest"] if number % every == 0 else []
                for twin in twins:
                    sealed(home / twin, kind, seed, forgery.correction, None)
                yield {"forgery": name, "kind": kind, "forged": folder.name, "twins": twins}
                break
        else:
            raise AssertionError(f"{name} could not be forged")


def failures(folder: Path, kind: str) -> list[str]:
    """The names of the checks that fail."""
    out = max((folder / "out").iterdir())
    try:
        found = verify(read(folder, kind), folder / "key.bin", out)
    except BlindcalError as error:
        return [type(error).__name__]
    return [check.name for check in found.checks if check.failed]


def verify_all(home: Path, made: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in made:
        noticed = failures(home / one["forged"], one["kind"])
        refused = [name for twin in one["twins"] for name in failures(home / twin, one["kind"])]
        yield {**one, "noticed": noticed, "refused": refused}


if __name__ == "__main__":
    what, path, *rest = sys.argv[1:]
    if what == "forge":
        print(json.dumps(list(forge_all(Path(path), int(rest[0]), int(rest[1])))))
    else:
        print(json.dumps(list(verify_all(Path(path), json.loads(Path(rest[0]).read_text(encoding="utf-8"))))))
