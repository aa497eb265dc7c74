"""Pools whose tuples are not listed: sums over them are right, and every candidate is protected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from blindcal.certify.claims import keeps_guarantee
from blindcal.certify.exact import UNIT, ExactPolicy
from blindcal.compute import parallel
from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import decide_paper, release, true_secret
from blindcal.deciding.key import Key
from blindcal.deciding.ledger import open_ledger
from blindcal.errors import CertificateError, InputError
from blindcal.planning.conference_plan import PaperPlan, plan_conference, plan_paper
from blindcal.planning.guarantee_menu import menu
from blindcal.planning.request import Request
from blindcal.policy.accept_lp import EntryProgram
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import accept_program
from blindcal.pools.candidates import AllBut, everyone
from blindcal.posterior import paper as paper_module
from blindcal.posterior.conference import MOST_REVIEWS, Conference, prepare, true_reviewers
from blindcal.posterior.large_pools import (
    STEPS,
    EvidenceSteps,
    LayoutTarget,
    evidence_steps,
    pack_layout,
    start_search,
)
from blindcal.posterior.paper import PaperCase, paper_nodes
from blindcal.posterior.tuple_weights import _row_likelihoods, acceptance_evidence
from blindcal.reviews import Reviews
from blindcal.verification import checks_of, refuse_failed
from listed_tuples import ROUNDING, keeps, solvable
from random_cases import GUARANTEES, crowded, odd_cases, random_case, row_of
from sizes import count
from small_conferences import drawn


def crowded_conference(conference: Conference) -> Conference:
    return replace(conference, cases=tuple(map(crowded, conference.cases)))


def test_a_sample_of_tuples_has_the_distribution_of_the_belief():
    """False alarm 1e-6 a case."""
    for listed in list(odd_cases())[-7:]:
        case, belief, rows = crowded(listed), listed.belief, listed.tuples
        drawn = case.sample
        base = len(case.candidates) ** np.arange(len(case.scores))
        seen = np.bincount(drawn.rows @ base, minlength=int((rows @ base).max()) + 1)[rows @ base]
        expected = belief.weight * len(drawn.rows)
        common = expected > 10
        assert seen.sum() == len(drawn.rows)
        rest = np.array([seen[~common].sum(), expected[~common].sum()])
        distance = ((seen - expected) ** 2 / np.maximum(expected, 1))[common].sum()
        distance += (rest[0] - rest[1]) ** 2 / max(rest[1], 1)
        assert distance < chi2.isf(1e-6, common.sum())
        table = dict(zip(map(tuple, rows.tolist()), belief.favor, strict=True))
        exact = [table[tuple(row)] for row in drawn.rows[:50].tolist()]
        np.testing.assert_allclose(drawn.favor[:50], exact, atol=1e-9)


def protected_plan(listed: PaperCase, guarantee: Guarantee) -> PaperPlan:
    """A plan by sums over tuples; an adversary that lists them finds every promise kept."""
    case = crowded(listed).promised(guarantee.promise)
    solved = accept_program(case, guarantee).solve()
    plan = plan_paper(case.belief, solved.accept, True, guarantee, sample=case.sample)
    assert keeps_guarantee(case.belief, plan.policy, guarantee)
    accept = case.layout.expected(plan.policy.accept, listed.tuples)
    adversary = keeps(guarantee, listed.belief, accept, ROUNDING)
    assert float(plan.claim.named) == pytest.approx(adversary.success, abs=1e-9)
    return plan


def test_every_candidate_is_protected_against_an_adversary_that_lists_all_tuples():
    """What full calibration would do is estimated from the sample: six standard errors either way, a false
    alarm of 2e-9 each."""
    limited = [g for g in GUARANTEES if g.never_against is None]
    for index, listed in enumerate(odd_cases()):
        guarantee = limited[index % len(limited)]
        if not solvable(listed, guarantee):
            continue
        plan, belief = protected_plan(listed, guarantee), listed.belief
        assert plan.figures.success_fully_calibrated >= float(plan.claim.named_scores_only) - 1e-9
        wrong = np.minimum(belief.favor, 1 - belief.favor)
        full, drawn = belief.weight @ wrong, len(crowded(listed).sample.rows)
        error = np.sqrt(belief.weight @ (wrong - full) ** 2 / drawn)
        assert plan.figures.wrong_fully_calibrated == pytest.approx(full, abs=6 * error + 1e-9)


def test_many_reviews_are_protected_too():
    """Sums over distinct reviewers alternate, and lose the more digits the more reviews there are: with seven
    of eight candidates still none that count."""
    listed = random_case(np.random.default_rng(46), 8, count(4, 7))
    for guarantee in (
        Guarantee("steady", epsilon=2.0),
        Guarantee("average", epsilon=None),
        Guarantee("crowd", among=6, epsilon=2.0),
    ):
        protected_plan(listed, guarantee)


def test_tables_are_nearly_as_good_as_with_an_entry_for_each_tuple_and_the_bound_holds():
    """The bound is stated four standard errors low, and three draws for what was not seen. Sharing entries
    costs up to 0.012 with 40 candidates, half a point and less in most papers; under steady 0.0066 at most
    and 0.0005 on average, under average 0.010 and 0.0020."""
    rng, lost = np.random.default_rng(44), defaultdict[Guarantee, list[float]](list)
    for _ in range(count(3, 20)):
        listed = random_case(rng, count(20, 40), 3)
        for guarantee in (
            Guarantee("steady", epsilon=2.0),
            Guarantee("steady", epsilon=None),
            Guarantee("average", epsilon=None),
            Guarantee("crowd", among=10, epsilon=2.0),
            Guarantee("crowd", among=8, epsilon=None),
            Guarantee("average", among=10, epsilon=3.0),
        ):
            case = crowded(listed).promised(guarantee.promise)
            found = accept_program(case, guarantee).solve()
            exact = accept_program(listed, guarantee).solve()
            assert exact.error - 1e-9 <= found.error <= exact.error + 0.02
            lost[guarantee].append(found.error - exact.error)
            assert found.bound <= exact.error + 1e-9
            plan = plan_paper(case.belief, found.accept, True, guarantee, bound=found.bound)
            assert plan.figures.wrong <= found.error + 1e-6, "the repair must cost next to nothing"
            assert plan.figures.gap == pytest.approx(plan.figures.wrong - found.bound, abs=1e-12)
    steady, average = lost[Guarantee("steady", epsilon=2.0)], lost[Guarantee("average", epsilon=None)]
    assert np.mean(steady) < 0.002
    assert max(steady) < 0.01
    assert np.mean(average) < 0.005


@pytest.mark.parametrize("members", [2, 4])
def test_tables_of_look_alikes_are_repaired_at_no_cost(members: int):
    """Reviewers without history share the population's calibration."""
    for seed in range(count(3, 12)):
        case = crowded(random_case(np.random.default_rng(seed), 24, 3))
        kinds = case.parameters[::members]
        case = replace(
            case, parameters=tuple(kinds[j // members] for j in range(24)), inclusion=(0.125,) * 24
        )
        for guarantee in (Guarantee("steady", epsilon=2.0), Guarantee("average", epsilon=None)):
            found = accept_program(case, guarantee).solve()
            plan = plan_paper(case.belief, found.accept, True, guarantee)
            assert plan.figures.wrong <= found.error + 1e-6


def test_what_needs_every_tuple_is_refused():
    case = crowded(random_case(np.random.default_rng(47), 8, 3))
    with pytest.raises(CertificateError, match="never-against"):
        accept_program(case, Guarantee("steady", never_against=0.9, epsilon=2.0))
    policy = ExactPolicy(np.zeros(case.aggregated.weight.size, dtype=np.int64))
    with pytest.raises(CertificateError, match="never-against"):
        keeps_guarantee(case.belief, policy, Guarantee("none", epsilon=None, never_against=0.9))


def crowd_conference(papers: int, people: int, seed: int = 48, reviews: int = 3):
    """Everyone may have reviewed everything."""
    rng = np.random.default_rng(seed)
    slope, offset = np.exp(rng.normal(0, 0.4, people)), rng.normal(0, 0.7, people)
    names = [f"r{j:04d}" for j in range(people)]
    rows = zip(slope.tolist(), offset.tolist(), strict=True)
    parameters = {name: row_of(a, b, 0.5) for name, (a, b) in zip(names, rows, strict=True)}
    table: dict[str, list] = {"paper": [], "reviewer": [], "score": []}
    for i in range(papers):
        quality = rng.normal()
        for j in rng.choice(people, reviews, replace=False):
            table["paper"].append(f"p{i:02d}")
            table["reviewer"].append(names[j])
            table["score"].append(round(float(slope[j] * quality + offset[j] + 0.5 * rng.normal()), 3))
    return table, parameters, everyone(sorted(set(table["paper"])), names)


def prepared(table, parameters, pools, **level: float):
    """The public side, by default with a bar of 0.2, and the true reviewers."""
    reviews = Reviews.from_table(table)
    conference = prepare(reviews, parameters, pools, **(level or {"bar": 0.2}))
    return conference, true_reviewers(conference, reviews)


def test_a_conference_with_pools_of_hundreds_is_decided_and_verified(tmp_path):
    people = count(160, 800)
    table, parameters, pools = crowd_conference(4, people)
    conference, truth = prepared(table, parameters, pools, accept_rate=0.5)
    assert not any(case.listed for case in conference.cases)
    assert isinstance(accept_program(conference.cases[0], Guarantee("steady", epsilon=2.0)), EntryProgram)
    key = Key(bytes(32))
    request = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.5)
    with open_ledger(tmp_path / "key.bin", key) as ledger:
        outcome = release(conference, truth, request, ledger, plan_conference)
    with open_ledger(tmp_path / "key.bin", key) as ledger:
        again = release(conference, truth, request, ledger, plan_conference)
        checks = checks_of(conference, truth, ledger)
    refuse_failed(checks)
    assert again.how == "stored"
    certificate = outcome.certificate
    assert certificate["added_success"] == 0
    assert certificate["largest_rise"] <= 0
    assert certificate["epsilon"] <= 2
    order = [certificate[f"expected_wrong{name}"] for name in ("_fully_calibrated", "", "_public")]
    # The first is estimated from 20,000 tuples of each of four papers: six standard errors of at most
    # 0.25 / sqrt(80,000).
    assert order[0] - 0.006 <= order[1] <= order[2] + 1e-12
    # Three draws of 20,000 for what was not seen with 160 candidates; 0.022 with 800.
    assert 0 <= certificate["gap"] < count(1, 40) / 1000
    # Whoever wrote the reviews, the tables are the same to the last byte.
    other = dict(table, reviewer=sorted(parameters)[: len(table["reviewer"])])
    swapped = prepare(Reviews.from_table(other), parameters, pools, accept_rate=0.5)
    plans = [plan_conference(one, Guarantee("steady", epsilon=2.0)) for one in (conference, swapped)]
    for one, two in zip(*plans, strict=True):
        assert one.policy.numerator.tobytes() == two.policy.numerator.tobytes()
        assert one.policy.exact == two.policy.exact
    for case in conference.cases:
        recorded = next(paper for paper in outcome.record.papers if paper.paper == case.paper)
        assert true_secret(key, request, 1, case, truth[case.paper]) == recorded.secret


def test_a_coin_is_tossed_by_the_layout_of_the_table_that_was_certified(monkeypatch):
    """It comes with the table, so it is not worked out again, and no other machine's digits can matter."""
    table, parameters, pools = crowd_conference(1, 40, seed=53, reviews=4)
    conference, truth = prepared(table, parameters, pools)
    request, (case,) = Request(Guarantee("steady", epsilon=2.0), bar=0.2), conference.cases
    (planned,) = plan_conference(conference, request.guarantee)
    who = truth[case.paper]
    keys = [Key(bytes([n]) * 32) for n in range(20)]
    found = [true_secret(key, request, 1, case, who) for key in keys]
    monkeypatch.setattr(paper_module, "_promised_layout", None)

    def tossed(plan: PaperPlan) -> list[int]:
        return [decide_paper(key, request, 1, case, who, plan, 1.0).secret for key in keys]

    assert tossed(planned) == found
    upside_down = replace(planned.layout, steps=planned.layout.steps.max() - planned.layout.steps)
    assert tossed(replace(planned, packed_layout=pack_layout(upside_down))) != found


def test_a_paper_with_a_large_pool_is_decided_again_by_public_information(tmp_path):
    table, parameters, pools = crowd_conference(1, 40, seed=52, reviews=4)
    request, key = Request(Guarantee("average", epsilon=3.0), bar=0.2), Key(bytes(32))
    corrected = [dict(table, score=[table["score"][0] + more, *table["score"][1:]]) for more in (0.5, -0.25)]
    with open_ledger(tmp_path / "key.bin", key) as ledger:
        conference, truth = prepared(table, parameters, pools)
        assert not any(case.listed for case in conference.cases)
        first = release(conference, truth, request, ledger, plan_conference)
    before = claim_of(first.record.papers[0])
    for number, changed in enumerate(corrected, start=2):
        conference, truth = prepared(changed, parameters, pools)
        with open_ledger(tmp_path / "key.bin", key) as ledger:
            again = release(
                conference, truth, request, ledger, plan_conference, amend=True, reason="a mistake"
            )
        with open_ledger(tmp_path / "key.bin", key) as ledger:
            policy = ledger.tables(len(ledger.releases))["p00"]
            refuse_failed(checks_of(conference, truth, ledger))
        stated = claim_of(again.record.papers[0])
        assert again.record.release == number
        assert set(policy.numerator.tolist()) in ({0}, {UNIT})
        assert stated == before, "what its one coin promised"
        assert before.epsilon > 0


def test_the_menu_of_a_conference_with_large_pools():
    table, parameters, pools = crowd_conference(3, 14, seed=49)
    conference = prepare(Reviews.from_table(table), parameters, pools, bar=0.3)
    names = {"public": None, "steady": 2.0, "average": None}
    chosen = [Guarantee(name, epsilon=epsilon) for name, epsilon in names.items()]
    found, exact = menu(crowded_conference(conference), chosen), menu(conference, chosen)
    assert found.wrong_raw == pytest.approx(exact.wrong_raw, abs=1e-9)
    assert found.success_scores_only == pytest.approx(exact.success_scores_only, abs=1e-9)
    for one, other in zip(found.choices, exact.choices, strict=True):
        # Sharing entries is made for pools of hundreds: with 14 candidates it costs up to 0.011 here.
        assert other.wrong - 1e-9 <= one.wrong <= other.wrong + 3 * 0.015
        assert one.wrong - 3 * found.gap <= other.wrong + 1e-9
    assert exact.gap < 1e-8


def test_many_reviews_with_a_large_pool_are_refused():
    table, parameters, pools = crowd_conference(1, 40, reviews=MOST_REVIEWS + 1)
    with pytest.raises(InputError, match=f"must be small if a paper has over {MOST_REVIEWS} reviews"):
        prepare(Reviews.from_table(table), parameters, pools, bar=0.0)


def test_decisions_follow_the_entry_of_the_true_tuple():
    """Frequencies over 2,000 keys match the probability of each paper's true tuple, on average over the steps
    that its candidates take; false alarm 1e-6 in all."""
    table, parameters, pools = crowd_conference(4, 12, seed=51)
    conference, truth = prepared(table, parameters, pools)
    conference, request = crowded_conference(conference), Request(Guarantee("none", epsilon=1.0), bar=0.2)
    plans = plan_conference(conference, request.guarantee)
    accepted, keys = np.zeros(len(plans)), 2000
    for number in range(keys):
        papers = drawn(Key(number.to_bytes(32)), conference, truth, request, plans)
        accepted += [paper.accepted for paper in papers]
    chances = [
        float(case.layout.expected(plan.policy.accept, _true_rows(case, truth[case.paper]))[0])
        for case, plan in zip(conference.cases, plans, strict=True)
    ]
    assert len(set(chances)) > 1
    for seen, chance in zip(accepted, chances, strict=True):
        assert binomtest(int(seen), keys, chance).pvalue > 1e-6 / len(chances)


def _true_rows(case: PaperCase, who: Sequence[str]) -> np.ndarray:
    return np.array([[case.candidates.index(name) for name in who]])


def test_the_bar_is_the_same_on_several_cores(monkeypatch):
    table, parameters, pools = crowd_conference(3, 160, seed=54)
    monkeypatch.setattr(parallel, "_PATIENCE", 0.0)
    done: list[int] = []
    reviews = Reviews.from_table(table)
    one, two = (
        prepare(reviews, parameters, pools, accept_rate=0.4, workers=count_, advance=done.append)
        for count_ in (1, 2)
    )
    assert one == two
    assert sum(done) == 6
    accepted = [float((case.sample.favor > 0.5).mean()) for case in one.cases]
    # The bar is chosen by 4,000 tuples of each paper's 20,000: six standard errors of both counts.
    variance = sum(share * (1 - share) for share in accepted) * (1 / 4_000 + 1 / 20_000)
    assert np.mean(accepted) == pytest.approx(0.4, abs=6 * np.sqrt(variance) / len(accepted))


def committee(papers: int) -> list[PaperCase]:
    """Papers of one committee: other conflicts each, rounded scores, members known more or less well."""
    rng = np.random.default_rng(83)
    unsure = [(rng.uniform(0.1, 0.3, 2) * (j % 2)).tolist() for j in range(14)]
    rows = [(rng.uniform(0.7, 1.5), rng.normal(5, 0.7), 0.8, *own, 0.0, 0.0) for own in unsure]
    cases = []
    for paper in range(papers):
        who = sorted(rng.permutation(14)[: int(rng.integers(10, 13))].tolist())
        scores = tuple(sorted(rng.integers(3, 8, 3).astype(float).tolist()))
        public = tuple(f"r{j:02}" for j in who), (3 / len(who),) * len(who), tuple(rows[j] for j in who)
        cases.append(PaperCase(f"p{paper}", scores, *public, 0.3, tuple(np.arange(1.0, 11.0))))
    return [crowded(case) for case in cases]


@pytest.mark.parametrize(
    "guarantee",
    [
        Guarantee("steady", epsilon=2.0),
        Guarantee("crowd", among=4, epsilon=2.0),
        Guarantee("average", epsilon=2.0),
    ],
)
def test_a_table_is_a_function_of_its_own_paper(guarantee: Guarantee) -> None:
    """Papers share what is kept in a process: neither their order, nor a paper solved under other guarantees
    before, nor the number of processes may change a bit."""
    cases = committee(6)

    def tables(some: Sequence[PaperCase], workers: int = 1) -> dict[str, tuple[object, object]]:
        whole = Conference(tuple(some), 0.3, None, (0.0,) * len(some))
        plans = plan_conference(whole, guarantee, workers=workers)
        pairs = zip(some, plans, strict=True)
        return {case.paper: (plan.packed, plan.layout.steps.tobytes()) for case, plan in pairs}

    alone = {}
    for case in cases:
        for kept in (
            _row_likelihoods,
            paper_module.paper_nodes,
            paper_module._penalty_search,
            paper_module._tuple_sample,
        ):
            kept.cache_clear()
        alone |= tables([case])
    assert tables(cases) == alone
    assert tables(cases[::-1]) == alone
    for case in cases:
        menu(Conference((case,), 0.3, None, (0.0,)), [Guarantee("public", epsilon=None), guarantee])
    assert tables(cases) == alone
    many = [*cases, *(replace(case, paper=f"{case.paper}-{i}") for i in range(8) for case in cases)]
    assert tables(many, workers=2).items() >= alone.items()


def test_papers_of_a_committee_are_weighed_like_papers_with_pools_of_their_own():
    """To the last digit, whatever papers share: with look-alikes, the first of whom has a conflict."""
    table, parameters, _ = crowd_conference(6, 80, seed=59, reviews=4)
    papers, names = sorted(set(table["paper"])), sorted(parameters)
    parameters |= dict.fromkeys(names[5:9], parameters[names[0]])
    wrote = set(zip(table["paper"], table["reviewer"], strict=True))
    barred = [(paper, name) for paper in papers for name in (names[0], names[7], names[40])]
    pools = everyone(papers, names, [pair for pair in barred if pair not in wrote])
    reviews = replace(Reviews.from_table(table), grid=np.unique(table["score"]))
    shared = prepare(reviews, parameters, pools, accept_rate=0.4)
    apart = prepare(reviews, parameters, {p: dict(pool) for p, pool in pools.items()}, accept_rate=0.4)
    assert isinstance(shared.cases[0].candidates, AllBut)
    assert isinstance(apart.cases[0].candidates, tuple)
    assert (shared.bar, shared.cases) == (apart.bar, apart.cases)
    for one, other in zip(shared.cases, apart.cases, strict=True):
        assert [part.tolist() for part in one.look_alikes] == [part.tolist() for part in other.look_alikes]
        np.testing.assert_array_equal(one.calibration, other.calibration)
        steps = one.layout.steps.tolist()
        paper_module._promised_layout.cache_clear()
        paper_module._penalty_search.cache_clear()
        paper_module.paper_nodes.cache_clear()
        paper_module._kinds_of_candidates.cache_clear()
        assert steps == other.layout.steps.tolist()


# --- Penalties: every candidate in range, and as good as an entry for each tuple would be.


def penalized(case: PaperCase, promise: LayoutTarget) -> EvidenceSteps:
    tied, alike = case.look_alikes
    search = start_search(paper_nodes(case), acceptance_evidence(case), alike, tied)
    return evidence_steps(search, promise)


def accepted(case: PaperCase, evidence: EvidenceSteps, span: float) -> np.ndarray:
    """P(accept | tuple) of the policy that the penalties lead to, by going through the tuples."""
    steps = evidence.steps[np.arange(len(case.scores)), case.tuples]
    whole, chance = np.floor(steps), np.zeros(len(steps))
    for upper in np.ndindex(*(2,) * steps.shape[1]):
        share = np.where(upper, steps - whole, 1.0 - steps + whole).prod(axis=1)
        total = (whole + np.array(upper)).sum(axis=1)
        chance += share * np.clip(total - evidence.threshold + 0.5, 0.0, 1.0)
    return 0.5 + span * (chance - 0.5)


def by_candidate(case: PaperCase, values: np.ndarray) -> np.ndarray:
    """`[slot, candidate]` sums over the tuples."""
    size = len(case.candidates)
    return np.stack([np.bincount(slot, values, size) for slot in case.tuples.T])


@pytest.mark.parametrize("name", ["steady", "average"])
def test_nobody_becomes_likelier_than_the_likeliest_reviewer(name: str) -> None:
    """In most papers; what the search leaves in the others, and everywhere, a program takes care of."""
    rng, span, missed = np.random.default_rng(74), Guarantee("steady", epsilon=2.0).promise.span, []
    for _ in range(count(6, 60)):
        listed = random_case(rng, 20, 3)
        evidence, weight = penalized(crowded(listed), LayoutTarget(name, span)), listed.belief.weight
        accept = accepted(listed, evidence, span)
        before = by_candidate(listed, weight)
        for chance in (accept, 1.0 - accept):
            now = by_candidate(listed, weight * chance)
            most = before.max(axis=1) * float(weight @ chance)
            if name == "average":
                most = np.take_along_axis(now, before.argmax(axis=1)[:, None], axis=1)[:, 0]
            missed.append(float((now.max(axis=1) - most).max()))
    # By the evidence alone somebody becomes likelier by 0.01 and more in most of them.
    assert np.quantile(missed, 0.75) < 5e-4


def test_without_a_promise_nobody_has_a_penalty() -> None:
    case = crowded(random_case(np.random.default_rng(75), 9, 3))
    for promise in (LayoutTarget("none", 1.0), LayoutTarget("public", 0.0), LayoutTarget("steady", 0.0)):
        evidence = penalized(case, promise)
        assert not evidence.penalty.any()
        assert (evidence.steps >= 0.0).all()
        assert (evidence.steps <= STEPS - 1).all()


def test_guarantees_that_need_no_penalty_share_their_layout_and_belief() -> None:
    case = crowded(random_case(np.random.default_rng(76), 9, 3))
    free, public, steady = (
        case.promised(LayoutTarget(*promise)) for promise in (("none", 1.0), ("public", 0.0), ("steady", 1.0))
    )
    assert free.layout is public.layout
    assert free.aggregated is public.aggregated
    assert steady.layout.penalty.any()
    assert not np.array_equal(steady.layout.steps, free.layout.steps)


def test_candidates_and_slots_that_look_alike_are_treated_alike() -> None:
    case = random_case(np.random.default_rng(76), 8, 3)
    case = replace(case, parameters=case.parameters[:4] * 2, inclusion=(0.375,) * 8, scores=(0.0, 1.0, 1.0))
    evidence = penalized(crowded(case), LayoutTarget())
    np.testing.assert_array_equal(evidence.steps[:, :4], evidence.steps[:, 4:])
    np.testing.assert_allclose(evidence.steps[1], evidence.steps[2], rtol=1e-12)
