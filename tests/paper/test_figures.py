"""The figures' data: as stored, and each against the formulas of its caption in the paper.

The stored numbers are made again by `python tests/paper/test_figures.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blindcal import Policy, paper
from blindcal.paper.appendix_simulations import NOISES
from blindcal.paper.figures import FIGURES, NOISY, Figure

STORED = Path(__file__).parents[1] / "data" / "vectors" / "paper_figures.json"
TRIALS = 2


def data(name: str) -> dict[str, object]:
    """What is compared: the words, and every tenth point of long lines."""
    found = paper.figure(name, trials=TRIALS)
    return {
        "title": found.title,
        "caption": found.caption,
        "points": [[*row[:4], *(round(number, 12) for number in row[4:])] for row in thinned(found)],
    }


def thinned(found: Figure) -> list[tuple[str, str, str, str, float, float, float]]:
    rows = found.rows()
    return rows if len(rows) < 200 else rows[::10]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_what_was_stored(name: str) -> None:
    stored, found = json.loads(STORED.read_text(encoding="utf-8"))[name], data(name)
    assert [found["title"], found["caption"]] == [stored["title"], stored["caption"]]
    points, expected = (one["points"] for one in (found, stored))
    assert isinstance(points, list)
    assert [row[:4] for row in points] == [row[:4] for row in expected]
    np.testing.assert_allclose([row[4:] for row in points], [row[4:] for row in expected], atol=1e-9)


def test_figure_5_has_the_adversary_error_that_is_written_in_each_region() -> None:
    """Random (q1, q2): the region that holds it has its error, and a level line has its conference error."""
    u, v, phi_1, phi_2 = NOISY
    belief = paper.from_letters(u, v, phi_1, phi_2)
    (panel,) = paper.figure("5").panels
    errors = (lambda a, b: u * a + v * b, lambda a, b: u, lambda a, b: 1 - u * a - v * b)
    rng = np.random.default_rng(5)
    hit = set()
    for q1, q2 in rng.random((400, 2)):
        (which,) = [k for k, one in enumerate(panel.regions) if inside(q1, q2, one.x, one.y)]
        hit.add(which)
        policy = Policy([q1, 1.0 - q2])
        assert policy.adversary_error(belief) == pytest.approx(errors[which](q1, q2), abs=1e-12)
    assert hit == {0, 1, 2}
    for curve in panel.curves[:-1]:
        stated = float(curve.label.split()[-1])
        for q1, q2 in zip(curve.x, curve.y, strict=True):
            assert min(q1, q2) >= -1e-9
            assert max(q1, q2) <= 1 + 1e-9
            policy = Policy(np.clip([q1, 1.0 - q2], 0.0, 1.0))
            assert policy.conference_error(belief) == pytest.approx(stated, abs=5e-4)


def inside(x: float, y: float, xs: np.ndarray, ys: np.ndarray) -> bool:
    """Whether a point lies in a convex polygon."""
    ahead = np.roll(np.arange(len(xs)), -1)
    turn = (xs[ahead] - xs) * (y - ys) - (ys[ahead] - ys) * (x - xs)
    return bool((turn >= 0).all() or (turn <= 0).all())


def test_figure_6_has_the_coordinates_of_its_caption() -> None:
    u, v, phi_1, phi_2 = NOISY
    printed = [
        u * phi_1 + v * (1 - phi_2),
        u * (phi_1 + 2 * phi_2 - 1) + v * (1 - phi_2),
        u * (2 - phi_1 - 2 * phi_2) + v * phi_2,
        u * (1 - phi_1) + v * phi_2,
    ]
    corners = paper.figure("6").panels[0].corners
    assert [corner.x for corner in corners] == pytest.approx(printed)
    assert [corner.y for corner in corners] == pytest.approx([0.0, u, u, 0.0])


def test_the_eight_cases_are_eight() -> None:
    titles = [panel.title for panel in paper.figure("cases").panels]
    assert len(set(titles)) == 8
    for panel in paper.figure("cases").panels:
        front = next(curve for curve in panel.curves if curve.kind == "frontier")
        assert front.y[-1] == pytest.approx(0.35)
        assert (front.y[-1] - front.y[0]) / (front.x[-1] - front.x[0]) == pytest.approx(1 / 0.44)


def test_noise_that_goes_to_0_leads_to_theorem_4_2() -> None:
    """Convergence, not only the last curve: ends at noise 0.01 lie within 1e-4 of the noiseless ones."""
    still = paper.theorem_4_2(paper.setting([1.2, 0.2], 1.2, 0.6, 0.8, -0.6))
    nearly = paper.theorem_4_5(paper.setting([1.2, 0.2], 1.2, 0.6, 0.8, -0.6, sigma=0.01))
    np.testing.assert_allclose([nearly.start, nearly.end], [still.start, still.end], atol=1e-4)
    drawn = paper.figure("limit").panels[0].curves[-1]
    np.testing.assert_allclose([drawn.x[-1], drawn.y[-1]], still.end)


def test_figure_3_depends_on_trials_and_seed() -> None:
    """The same conferences as stored where the seed is the same, others where it is not."""
    rows = json.loads(STORED.read_text(encoding="utf-8"))["3"]["points"]
    other = paper.figure("3", trials=TRIALS, seed=2).rows()
    assert len(rows) == len(other)
    assert rows[0][5] != round(other[0][5], 12)


@pytest.mark.edge
def test_every_figure_has_one_row_a_point_with_panel_measure_and_error() -> None:
    pytest.importorskip("pandas")
    frame = paper.figure(3, trials=TRIALS).to_frame()
    assert frame.columns.tolist() == ["panel", "measure", "kind", "label", "x", "y", "error"]
    for _, rows in frame.groupby(["panel", "measure", "label"]):
        assert rows.x.tolist() == list(NOISES)
    errors = paper.appendix_a(reading="script", trials=TRIALS)
    own = frame[(frame.panel == "as in the script") & (frame.measure == "messy-middle error")]
    rows = own[own.label == "known parameters"]
    assert rows.y.tolist() == errors.mean[:, 2, 1].tolist()
    assert rows.error.tolist() == errors.standard_error[:, 2, 1].tolist()
    for name in FIGURES:
        rows = paper.figure(name, trials=TRIALS).to_frame()
        # The eight cases and Figure 3 have several panels, told apart by panel and measure.
        keys = ["panel", "measure", "kind", "label", "x", "y"]
        assert not rows.duplicated(keys).any() or name != "3"
        assert (rows.error > 0).any() == (name == "3")


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: data(name) for name in FIGURES}, indent=0) + "\n", encoding="utf-8")
