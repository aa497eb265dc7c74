"""Every result type gives a data frame whose numbers are its own."""

from __future__ import annotations

from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")

import blindcal as bc
from blindcal.adversaries.findings import findings_of, planned_views
from blindcal.io import tables
from blindcal.policy import average_frontier, solve, spend
from blindcal.policy.budget import allocate
from blindcal.report.guarantee_survey import survey
from blindcal.simulation.population import Population, simulate_many
from small_conferences import read_small, small_conference

pytestmark = pytest.mark.edge

BELIEF = bc.Belief([[0.6, 0.4], [0.5, 0.5]], [[0.9, 0.2], [0.3, 0.8]])
POLICY = bc.Policy([1.0, 0.25])
ONE = bc.Belief([0.6, 0.4], [0.9, 0.2])


def results() -> dict[str, object]:
    front = bc.frontier(BELIEF)
    return {
        "belief": BELIEF,
        "policy": POLICY,
        "frontier": front,
        "spending": spend(front, conference_error=0.3),
        "audit": bc.audit(ONE, bc.Policy([0.75, 0.25])),
        "games": bc.play(BELIEF, POLICY, 10, np.random.default_rng(1)),
        "average frontier": average_frontier((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.5))),
        "ranking errors": bc.paper.appendix_a([0.1], ["raw"], trials=2),
        "figure": bc.paper.figure("6"),
        "solution": solve(ONE, bc.Guarantee("steady", epsilon=2.0)),
        "allocation": allocate(front.conference_error, front.adversary_error, conference_limit=0.3),
        "average rule": average_frontier((bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3))).rule(
            conference_error=0.01
        ),
    }


@pytest.mark.parametrize("name", results())
def test_every_result_type_has_a_frame(name: str) -> None:
    made = results()[name]
    assert is_dataclass(made)
    found = made.to_frame()
    assert len(found) > 0
    assert found.notna().all(axis=None)


def test_the_numbers_are_in_their_rows() -> None:
    found = BELIEF.to_frame()
    assert found.columns.tolist() == ["instance", "secret", "weight", "favor"]
    row = found[(found.instance == 1) & (found.secret == 0)].iloc[0]
    assert (row.weight, row.favor) == (0.5, 0.3)
    audited = bc.audit(ONE, bc.Policy([0.75, 0.25]))
    row = audited.to_frame().iloc[0]
    assert (row.success, row.multiplier) == (float(audited.success), audited.multiplier)


def test_whole_conferences_have_frames_too(tmp_path: Path) -> None:
    inputs = read_small(small_conference(), tmp_path / "in")
    request = bc.Request(bc.Guarantee("steady", epsilon=2.0), accept_rate=0.4)
    plan = bc.plan(inputs, request)
    assert plan.to_frame().paper.tolist() == [case.paper for case in plan.conference.cases]
    assert (plan.to_frame().epsilon <= 2.0).all()
    menu = plan.menu()
    assert menu.to_frame().wrong.tolist() == [choice.wrong for choice in menu.choices]
    bc.make_key(tmp_path / "key.bin")
    outcome = bc.decide(inputs, request, key=tmp_path / "key.bin", out=tmp_path / "out")
    public = (tmp_path / "out" / "decisions.csv").read_text(encoding="utf-8")
    assert outcome.to_frame().to_csv(index=False) == public
    assert plan.fit.to_frame().verdict.tolist() == [plan.fit.verdict]
    found = findings_of(planned_views(plan))
    assert found.to_frame().added.tolist() == [one.added for one in found.findings]
    seen = survey(plan.conference, bc.Guarantee("steady", epsilon=2.0), only=True)
    assert seen.to_frame().paper.tolist() == plan.to_frame().paper.tolist()
    checked = bc.verify(inputs, key=tmp_path / "key.bin", out=tmp_path / "out")
    assert checked.to_frame().failed.sum() == 0


def test_calibrators_have_frames_too() -> None:
    drawn = simulate_many(np.random.default_rng(1), 1, 12, 12, 3, Population(offset=0.5))
    table = drawn.reviews()
    found = bc.calibrators.raw(table)
    assert found.to_frame().paper.tolist() == list(table.papers)
    assert found.to_frame().quality.tolist() == found.quality.tolist()
    assessed = bc.assess(table)
    rows = assessed.to_frame().set_index("number")
    assert rows.loc["share of quality", "value"] == assessed.shares["quality"].value
    assert (rows.low <= rows.high).all()


def test_labels_are_columns() -> None:
    belief = bc.Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7], labels=np.array([[0, 1, 1], [5, 5, 7]]))
    assert belief.to_frame()["label 1"].tolist() == [5, 5, 7]


def test_without_pandas_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(tables, "import_module", missing)
    with pytest.raises(bc.InputError, match="needs pandas: pip install pandas"):
        POLICY.to_frame()
