"""The plan of a conference from its files: each paper's, their sum, and words; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from blindcal.cli import run
from blindcal.errors import InputError
from blindcal.planning.conference_plan import Answer, answer, plan, plan_conference
from blindcal.planning.expected_errors import summary
from blindcal.planning.guarantee_menu import MENU, menu, with_chosen
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs
from commands import plain
from drawn_worlds import Drawn, centered, for_five_points, mirrored, one_sixty
from listed_tuples import agree, keeps
from sizes import count
from small_conferences import (
    SmallConference,
    arguments,
    command_line,
    decided,
    everything,
    loaded,
    read_small,
    small_conference,
    with_key,
)

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return read_small(small_conference(), tmp_path)


@pytest.mark.parametrize(
    "guarantee",
    [Guarantee("steady", epsilon=2.0), Guarantee("average", epsilon=None)],
    ids=("steady", "average"),
)
def test_every_paper_is_planned_in_order_and_keeps_its_promise(guarantee: Guarantee, inputs: Inputs) -> None:
    found = plan(inputs, replace(REQUEST, guarantee=guarantee))
    assert repr(found) == f"Plan(6 papers under {guarantee})"
    direct, _ = loaded(small_conference())
    assert found.conference == direct
    assert len(found.papers) == len(direct.cases) == 6
    for case, paper in zip(direct.cases, found.papers, strict=True):
        agree(paper.claim, keeps(guarantee, case.belief, paper.policy))
    assert sum((paper.claim.newly_named for paper in found.papers), Fraction(0)) == 0


def test_the_summary_is_that_of_the_papers(inputs: Inputs) -> None:
    found = plan(inputs, REQUEST)
    success = sum((paper.claim.named for paper in found.papers), Fraction(0)) / 12
    assert found.summary["success"] == pytest.approx(float(success), abs=1e-15)
    assert found.summary["expected_wrong"] == pytest.approx(sum(p.figures.wrong for p in found.papers) / 6)
    assert found.summary["epsilon"] == max(paper.claim.epsilon for paper in found.papers) <= 2
    assert (found.summary["papers"], found.summary["reviews"]) == (6, 12)


def test_planning_writes_nothing_and_is_the_same_again(inputs: Inputs, tmp_path: Path) -> None:
    before = everything(tmp_path)
    one, two = plan(inputs, REQUEST), plan(inputs, REQUEST)
    assert everything(tmp_path) == before
    for first, second in zip(one.papers, two.papers, strict=True):
        assert first.policy.integers.tolist() == second.policy.integers.tolist()
    assert one.summary == two.summary


def test_the_menu_is_that_of_the_same_conference(inputs: Inputs) -> None:
    """What it says of the guarantee that was planned is what the plan says."""
    told: list[tuple[str, int]] = []

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told.append((work, steps))
        yield lambda done: None

    found = plan(inputs, REQUEST)
    choice = found.menu(progress=progress).choice(Guarantee("steady", epsilon=2.0))
    assert choice.wrong == pytest.approx(6 * found.summary["expected_wrong"], abs=1e-9)
    assert told == [(f"comparing {len(MENU)} guarantees", 6)]


def test_the_answer_is_that_of_the_plan_and_needs_no_table(inputs: Inputs) -> None:
    found, planned, told = answer(inputs, REQUEST), plan(inputs, REQUEST), list[Answer]()
    for name in ("", "_raw", "_fully_calibrated"):
        own = found.choice.wrong if name == "" else getattr(found.menu, f"wrong{name}")
        assert own == pytest.approx(6 * planned.summary[f"expected_wrong{name}"], abs=1e-9)
    added = planned.summary["success"] - planned.summary["success_scores_only"]
    assert found.choice.added == pytest.approx(added, abs=1e-9)
    assert (found.bar, found.weighed, found.reviews) == (planned.conference.bar, 6, len(inputs.reviews))
    assert (found.fit, found.remarks) == (planned.fit, planned.remarks)
    assert answer(inputs, REQUEST, tell=told.append) == found == told[-1]
    assert answer(inputs, REQUEST, prepared=planned.conference, seconds=0.0) == told[0]
    two = answer(inputs, REQUEST, [Guarantee("public", epsilon=None)])
    assert [choice.guarantee.name for choice in two.menu.choices] == ["public", "steady"]


def test_a_request_that_says_too_little_is_refused_before_anything_is_weighed(inputs: Inputs) -> None:
    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        raise AssertionError(work)
        yield

    for bad in (
        Request(Guarantee("steady", epsilon=2.0)),
        replace(REQUEST, bar=0.0),
        replace(REQUEST, conference=""),
    ):
        with pytest.raises(InputError):
            plan(inputs, bad, progress=progress)


def test_a_misfit_is_refused_or_said(tmp_path: Path) -> None:
    small = small_conference(papers=12)
    rows = [(paper, who, f"{float(score) + 50}") for paper, who, score in small.reviews[1:]]
    far = read_small(replace(small, reviews=(small.reviews[0], *rows)), tmp_path)
    conference, _ = far.prepared(accept_rate=0.4)
    for refused in (
        lambda: plan(far, REQUEST),
        lambda: plan(far, REQUEST, prepared=conference),
    ):
        with pytest.raises(InputError, match="despite_misfit"):
            refused()
    found = plan(far, REQUEST, despite_misfit=True)
    assert found.fit.notes
    assert set(found.fit.notes) <= set(found.remarks)


# --- Each guarantee on the whole line against an adversary of fractions; plans and menus agree.


GUARANTEES = (
    Guarantee("steady", epsilon=2.0),
    Guarantee("steady", epsilon=None),
    Guarantee("crowd", among=4, epsilon=None),
    Guarantee("average", among=3, epsilon=2.0),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=2.0, multiplier=1.5),
    Guarantee("public", epsilon=None),
)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: f"{g.name}-{g.epsilon}")
def test_every_guarantee_holds_exactly_on_random_papers(guarantee: Guarantee) -> None:
    """Pools of 2 to 12, 1 to 4 reviews, other papers for each guarantee; the adversary enumerates with
    fractions, not the package's code."""
    kind = GUARANTEES.index(guarantee)
    rng = np.random.default_rng([10, kind])
    for trial in range(200 * kind, 200 * kind + count(50, 200)):
        pool = int(rng.integers(2, 13))
        reviews = int(rng.integers(1, min(pool, 4) + 1))
        small = small_conference(seed=1000 + trial, papers=1, pool=pool, reviews=reviews, reviewers=pool)
        conference, _ = loaded(small, accept_rate=None, bar=float(rng.normal()))
        (plan,) = plan_conference(conference, guarantee)
        belief = conference.cases[0].belief
        agree(plan.claim, keeps(guarantee, belief, plan.policy))


def test_every_paper_is_one_step_of_progress() -> None:
    conference, _ = loaded(small_conference(seed=6, papers=10, pool=6))
    done: list[int] = []
    plan_conference(conference, GUARANTEES[0], advance=done.append)
    assert sum(done) == 10


def test_twins_and_ties_are_treated_alike() -> None:
    """Reviewers with the same calibration and chance, and equal scores: the table cannot tell them apart."""
    conference, _ = loaded(small_conference(seed=4, papers=1), accept_rate=None, bar=0.0)
    case = conference.cases[0]
    same = (case.parameters[0], case.parameters[0], *case.parameters[2:])
    twins = replace(case, parameters=same, inclusion=(0.5,) * 4, scores=(0.4, 0.4))
    alone = replace(conference, cases=(twins,))
    for guarantee in GUARANTEES:
        (plan,) = plan_conference(alone, guarantee)
        keeps(guarantee, twins.belief, plan.policy)
        table = dict(zip(map(tuple, twins.tuples.tolist()), plan.policy.accept, strict=True))
        for (a, b), accept in table.items():
            swap = {0: 1, 1: 0}
            assert table[b, a] == pytest.approx(accept, abs=1e-6)
            assert table[swap.get(a, a), swap.get(b, b)] == pytest.approx(accept, abs=1e-6)


def test_the_menu_is_ordered_and_agrees_with_the_plan() -> None:
    """The stronger the promise, the more wrong decisions; each number is the certified plan's."""
    conference, _ = loaded(small_conference(seed=4, papers=10))
    found = menu(conference, with_chosen(Guarantee("none", epsilon=None)))
    order = [
        Guarantee("public", epsilon=None),
        Guarantee("steady", epsilon=2.0),
        Guarantee("steady", epsilon=None),
    ]
    order += [Guarantee("crowd", among=among, epsilon=None) for among in (10, 5)]
    order += [Guarantee("none", epsilon=None)]
    errors = [found.choice(one).wrong for one in order]
    assert all(weaker <= stronger + 1e-9 for stronger, weaker in pairwise(errors))
    assert found.choice(order[-1]).kept == pytest.approx(1.0)
    for one in found.choices:
        plans = plan_conference(conference, one.guarantee)
        stated = summary([plan.claim for plan in plans], [plan.figures for plan in plans])
        assert one.wrong == pytest.approx(10 * stated["expected_wrong"], abs=1e-5)
        assert found.success_scores_only + one.added == pytest.approx(stated["success"], abs=1e-6)
        assert found.success_scores_only == pytest.approx(stated["success_scores_only"], abs=1e-12)
        assert found.wrong_raw == pytest.approx(10 * stated["expected_wrong_raw"], abs=1e-11)
        full = 10 * stated["expected_wrong_fully_calibrated"]
        assert found.wrong_fully_calibrated == pytest.approx(full, abs=1e-11)


def test_papers_with_nothing_at_stake_gain_nothing() -> None:
    """A pool as large as the reviews, one review: the reviewer is known and no decision can tell more."""
    sharp, _ = loaded(small_conference(seed=4, papers=3, pool=1, reviews=1), accept_rate=None, bar=0.0)
    found = menu(sharp, [Guarantee("steady", epsilon=2.0)])
    assert (found.papers, found.success_scores_only, found.choices[0].added) == (3, 1.0, 0.0)
    assert found.choices[0].gain == pytest.approx(found.gain_fully_calibrated)


# --- What a chair is told beside the figures, and which end of the scale is better, on the command line.


@pytest.fixture
def no_early_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine `plan` prints an answer on the way, which is no remark."""
    monkeypatch.setattr("blindcal.cli.plan._SOON_SECONDS", float("inf"))


def command_test(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.edge(pytest.mark.usefixtures("no_early_answer")(test))


def _ten_points(change=np.copy, seed: int = 5, **more) -> SmallConference:
    """A conference with scores from 1 to 10 whose reviewers' offsets differ much; true authors come first."""
    rng = np.random.default_rng(seed)
    drawn = Drawn(papers=40, offset=1.4, **more)
    cases = drawn.cases(rng, change)
    reviews = [("paper", "reviewer", "score")]
    people: dict[str, tuple[str, ...]] = {}
    pools = [("paper", "reviewer")]
    for case in cases:
        pools += [(case.paper, name) for name in case.candidates]
        people |= {
            name: (name, *(f"{x:.6f}" for x in row[:3]))
            for name, row in zip(case.candidates, case.parameters, strict=True)
        }
        # Agreement is public: it must not matter which candidates stand in the table of reviews.
        reviews += [
            (case.paper, name, f"{score:g}")
            for name, score in zip(case.candidates, case.scores, strict=False)
        ]
    rows = (("reviewer", "slope", "offset", "noise"), *people.values())
    return SmallConference(tuple(reviews), rows, tuple(pools))


def _plan(folder: Path, *more: str) -> list[str]:
    rate = [] if any(line.startswith(("bar", "accept-rate")) for line in more) else ["accept-rate = 0.25"]
    return command_line("plan", folder, *rate, 'guarantee = "steady"', *more)


@command_test
@pytest.mark.parametrize("change", [for_five_points, centered])
def test_a_hopeless_calibration_is_refused_before_anything_is_written_unless_it_was_meant(
    change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _ten_points(change).write(tmp_path / "in")
    assert run(_plan(folder, 'grid = "1..10"')) == 2
    said = capsys.readouterr().err
    assert "the calibration does not fit the scores" in said
    assert "--despite-misfit" in said
    assert " Whatever is planned" in said
    assert "?." not in said
    assert run(arguments(folder, tmp_path / "key.bin", tmp_path / "out", 'grid = "1..10"')) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"in"}
    capsys.readouterr()
    assert run(_plan(folder, 'grid = "1..10"', "--despite-misfit", "--json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["calibration_fit"]["verdict"] == "does not fit"
    assert any("another scale" in note for note in shown["notes"])


@command_test
@pytest.mark.parametrize(
    ("change", "noted", "verdict"),
    [
        (one_sixty, "offset 60 ", "calibration: doubtful"),
        (mirrored, "mirrored", "calibration: doubtful"),
        (np.copy, "", "better: high scores\ncalibration: fits; predicted mean "),
    ],
)
def test_a_doubtful_calibration_is_noted_beside_the_plan(
    change, noted: str, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _ten_points(change).write(tmp_path / "in")
    assert run(_plan(folder, 'grid = "1..10"')) == 0
    shown = capsys.readouterr()
    assert verdict in shown.out
    assert noted in shown.err
    assert bool(noted) == bool(shown.err)
    assert not any(name in shown.err + shown.out for name, *_ in _ten_points(change).reviewers[1:])


def _turned(small: SmallConference) -> SmallConference:
    """The same conference on a scale where low is better: every score and offset becomes 11 less it."""
    reviews = [(paper, who, f"{11 - float(score):g}") for paper, who, score in small.reviews[1:]]
    people = [
        (who, slope, f"{11 - float(offset):.6f}", noise) for who, slope, offset, noise in small.reviewers[1:]
    ]
    return replace(small, reviews=(small.reviews[0], *reviews), reviewers=(small.reviewers[0], *people))


@command_test
def test_where_low_is_better_the_plan_is_that_of_the_scale_turned_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = _ten_points()
    assert run(_plan(small.write(tmp_path / "high"), 'grid = "1..10"', "--full", "--json")) == 0
    high = json.loads(capsys.readouterr().out)
    low_folder = _turned(small).write(tmp_path / "low")
    assert run(_plan(low_folder, 'grid = "1..10"', 'better = "low"', "--full", "--json")) == 0
    low = json.loads(capsys.readouterr().out)
    assert (high["better"], low["better"]) == ("high", "low")
    for name in ("expected_wrong", "expected_wrong_raw", "success", "bar"):
        assert low[name] == pytest.approx(high[name], abs=1e-6)
    for name in ("predicted_mean", "observed_mean"):
        assert low["calibration_fit"][name] == pytest.approx(11 - high["calibration_fit"][name], abs=2e-4)
    assert low["calibration_fit"]["shift"] == pytest.approx(-high["calibration_fit"]["shift"], abs=2e-4)
    assert run(_plan(low_folder, 'grid = "1..10"', "--full", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["expected_wrong"] != pytest.approx(
        low["expected_wrong"], abs=1e-3
    )


@command_test
def test_which_end_is_better_is_frozen_certified_and_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_conference().write(tmp_path / "in")
    key, out = tmp_path / "key.bin", tmp_path / "out"
    _, certificate = decided(folder, key, out, 'better = "low"', "--despite-misfit")
    assert certificate["better"] == "low"
    assert set(certificate["calibration_fit"]) >= {"shift", "stretch", "mirrored", "verdict"}
    assert run(arguments(folder, key, out)) == 3
    assert "frozen" in capsys.readouterr().err
    assert run(command_line("verify", folder, key, out)) == 0
    assert "better low" in capsys.readouterr().out
    assert run(arguments(folder, key, tmp_path / "other", 'better = "best"')) == 2
    assert "better must be high or low, found 'best'" in plain(capsys.readouterr().err)


@command_test
def test_the_best_raw_papers_are_the_low_ones_where_low_is_better(tmp_path: Path) -> None:
    folder = small_conference(papers=10).write(tmp_path / "in")
    rows = {}
    for better in ("high", "low"):
        table, _ = decided(
            folder, tmp_path / f"{better}.bin", tmp_path / better, f'better = "{better}"', "--despite-misfit"
        )
        rows[better] = {
            line.split(",")[0] for line in table.decode().splitlines() if line.split(",")[2] == "accept"
        }
    assert len(rows["high"]) == len(rows["low"]) == 4
    assert not rows["high"] & rows["low"]


@command_test
def test_a_bar_in_units_of_scores_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _ten_points().write(tmp_path / "in")
    for bar, who in (("6.5", "no paper"), ("-5", "every paper")):
        assert run(_plan(folder, 'grid = "1..10"', f"bar = {bar}")) == 0
        said = plain(capsys.readouterr().err)
        assert f"{who} is expected to pass bar {bar}: the bar is a quality, not a score" in said
        assert "accept-rate 0.25" in said
    assert run(_plan(folder, 'grid = "1..10"', "bar = 0.5")) == 0
    assert capsys.readouterr().err == ""


@command_test
def test_pools_that_name_the_authors_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pools of those who reviewed, whose offsets are far apart."""
    small = small_conference()
    wrote = {row[:2] for row in small.reviews[1:]}
    pools = tuple(row for row in small.pools[1:] if row[:2] in wrote)
    offset = {who: f"{20 * place}" for place, (who, *_) in enumerate(small.reviewers[1:])}
    people = tuple((who, slope, offset[who], noise) for who, slope, _, noise in small.reviewers[1:])
    reviews = tuple((paper, who, offset[who]) for paper, who, _ in small.reviews[1:])
    known = SmallConference(
        (small.reviews[0], *reviews), (small.reviewers[0], *people), (small.pools[0], *pools)
    )
    folder = known.write(tmp_path / "in")
    assert run(_plan(folder, "accept-rate = 0.4", "--despite-misfit")) == 0
    said = capsys.readouterr().err
    assert "the pools and scores already name 100.0 % of the reviewers" in said
    assert "every pool has exactly as many people as the paper has reviews, so who reviewed it is" in said


@command_test
def test_plan_and_decide_note_never_against_that_is_worse_than_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_conference(seed=36, papers=4).write(tmp_path / "in")
    sure = ("accept-rate = 0.4", "never-against = 0.9")
    decide = arguments(folder, with_key(tmp_path / "key.bin"), tmp_path / "out", *sure)
    for command in (_plan(folder, *sure), decide):
        assert run(command) == 0
        said = plain(capsys.readouterr().err)
        assert "never-against 0.9 more decisions are expected to be wrong (19.1 %) than by raw" in said
    assert run(_plan(folder, "accept-rate = 0.4")) == 0
    assert "never-against" not in capsys.readouterr().err


@command_test
def test_conflicts_of_unknown_papers_and_people_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = small_conference()
    rows = (("paper", "conflict"), ("nowhere", small.canaries[0]), ("p00", "Nobody"))
    folder = replace(small, pools=rows).write(tmp_path / "in")
    assert run(_plan(folder, "accept-rate = 0.4", "--json")) == 0
    shown = capsys.readouterr()
    notes = " / ".join(json.loads(shown.out)["notes"])
    assert "has conflicts for 1 paper without any review" in notes
    assert "has conflicts of a person without calibration" in notes
    assert "Nobody" not in notes
    assert not any(canary in notes for canary in small.canaries)


@command_test
def test_calibrating_ranks_low_scores_first_where_they_are_better(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = _ten_points()
    high, low = small.write(tmp_path / "high"), _turned(small).write(tmp_path / "low")
    tables = {}
    for folder, better in ((high, "high"), (low, "low")):
        out = folder / "calibrated.csv"
        known = ["--method", "posterior", "--reviewers", str(folder / "reviewers.csv"), "--better", better]
        assert run(["calibrate", str(folder / "reviews.csv"), *known, "--out", str(out)]) == 0
        assert f"better: {better} scores" in capsys.readouterr().out
        tables[better] = [line.split(",") for line in out.read_text(encoding="utf-8").splitlines()[1:]]
    for one, other in zip(tables["high"], tables["low"], strict=True):
        assert float(one[1]) == pytest.approx(float(other[1]), abs=1e-5)
        assert float(one[3]) == pytest.approx(11 - float(other[3]))
        assert one[5:7] == other[5:7]


@command_test
def test_a_paper_under_two_ids_is_noted_where_everyone_is_a_candidate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pools by paper would miss the second id; with everyone there is nothing else to notice it."""
    small = small_conference()
    head, (_, *first), *rest = small.reviews
    folder = replace(small, reviews=(head, ("P0", *first), *rest)).write(tmp_path)
    assert run(command_line("plan", folder, "bar = 0", 'pools = "everyone"')) == 0
    told = capsys.readouterr().err
    assert (
        f"{folder / 'reviews.csv'}: the ids of the papers in rows 2 and 3 differ only in capital letters"
        in told
    )
    assert not any(canary in told for canary in small.canaries)
