"""The figures of the paper as data: every curve, corner and region computed by the functions of this package.

Figures 1 to 6 have their own numbers. `cases` shows the eight noisy cases side by side, of which the paper
draws one, and `limit` how the noisy frontier becomes the noiseless one. `drawing` draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import Workers
from blindcal.errors import InputError
from blindcal.paper.appendix_simulations import MEASURES, NOISES, READINGS, appendix_a
from blindcal.paper.drawing import Corner, Curve, Figure, Panel, Region
from blindcal.paper.theorems import (
    Segment,
    algorithm_3,
    from_letters,
    setting,
    theorem_4_2,
    theorem_4_5,
    to_letters,
)
from blindcal.policy.pareto_frontier import frontier
from blindcal.posterior.belief import Belief

__all__ = ["Figure", "figure"]

CONFERENCE, ADVERSARY = "conference error", "adversary error"
# u, v, Phi_1, Phi_2 of the examples; the noisy one is the case that the paper works out.
NOISELESS = (0.65, 0.35, 0.0, 1.0)
NOISY = (0.35, 0.65, 0.1, 0.72)
AGREEING = (0.35, 0.65, 0.1, 0.3)
METHODS = {
    "raw": "no calibration",
    "standardized": "within-conference calibration",
    "maximum_likelihood": "known parameters",
}
_LIMIT = (0.8, 0.5, 0.3, 0.15, 0.0)


def figure_1() -> Figure:
    """Figure 1: the noiseless frontier, part (1) and part (2) of Theorem 4.2."""
    agree, disagree = (0.65, 0.35, 0.0, 0.0), NOISELESS
    point, line = (theorem_4_2(from_letters(*letters)) for letters in (agree, disagree))
    corners = (
        Corner("1", "origin: full calibration", *line.start),
        Corner("2", "min(u,v)/(u+v)", *line.end),
    )
    return Figure(
        "1",
        "Pareto frontier of the per-instance errors without noise (Theorem 4.2)",
        "Left: both assignments favor the same paper; one point, no conference error, and the adversary "
        "errs as from the scores alone. Right: they favor different papers; a line of slope 1 from the "
        "origin (1), where the decision names the assignment, to (2), where both errors are min(u,v)/(u+v)."
        " Beyond it more conference error buys nothing. Here u = 0.65, v = 0.35.",
        _theorem_panels(point, Corner("1", "(0, min(u,v)/(u+v))", *point.start), line, corners),
    )


def _theorem_panels(
    point: Segment, agreed: Corner, line: Segment, corners: tuple[Corner, ...]
) -> tuple[Panel, Panel]:
    """The two parts of a theorem: the point where the assignments agree, the line where they do not."""
    axes, reach = (CONFERENCE, ADVERSARY), (0.5, 0.5)
    return (
        Panel("part (1): agree", *axes, (_scores_alone_curve(point),), (agreed,), reach=reach),
        Panel(
            "part (2): disagree",
            *axes,
            (_scores_alone_curve(line), Curve("frontier", "Pareto frontier", *_segment_ends(line))),
            corners,
            reach=reach,
        ),
    )


def figure_2() -> Figure:
    """Figure 2: a noisy frontier, part (1) and part (2) of Theorem 4.5, in the case that the paper draws."""
    point, line = (theorem_4_5(from_letters(*letters)) for letters in (AGREEING, NOISY))
    corners = (
        Corner("1", "(u Phi_1 + v (1-Phi_2))/(u+v)", *line.start),
        Corner("2", "(u (Phi_1 + 2 Phi_2 - 1) + v (1-Phi_2))/(u+v)", *line.end),
    )
    return Figure(
        "2",
        "Pareto frontier of the per-instance errors with noise (Theorem 4.5)",
        "Left: both assignments favor the same paper; one point. Right: u < v and Phi_1 < 1/2 < Phi_2 with "
        "Phi_2 nearer to 1/2; from full calibration (1), which errs with (u Phi_1 + v (1-Phi_2))/(u+v), a "
        "line of slope 1/(2 Phi_2 - 1) to (2), where the adversary errs with u/(u+v) as from the scores "
        "alone. Here u = 0.35, v = 0.65, Phi_1 = 0.1, and Phi_2 = 0.3 on the left, 0.72 on the right.",
        _theorem_panels(point, Corner("1", "(u Phi_1 + v Phi_2)/(u+v)", *point.start), line, corners),
    )


def figure_3(trials: int = 100, seed: int = 1, workers: Workers = 1) -> Figure:
    """Figure 3 (Appendix A): both errors of three methods against the noise, in both readings.

    `trials`: how many conferences are simulated for each point. `seed`: of the simulations; the same seed
    gives the same figure. `workers`: how many processes share the work, or a cluster's pool; results are the
    same.
    """
    panels, noise = [], np.array(NOISES)
    for reading, axis in READINGS.items():
        errors = appendix_a(methods=list(METHODS), reading=reading, trials=trials, seed=seed, workers=workers)
        for k, measure in enumerate(MEASURES):
            curves = (
                Curve(method, name, noise, errors.mean[:, m, k], errors.standard_error[:, m, k])
                for m, (method, name) in enumerate(METHODS.items())
            )
            panels.append(Panel(f"as in the {reading}", axis, measure, tuple(curves), reach=(0.5, 0.45)))
    return Figure(
        "3",
        "Miscalibrated reviewers simulated (Appendix A)",
        f"Kendall-tau distance and messy-middle error of three ways to rank 100 papers, means of {trials} "
        "conferences with 95 % intervals. Above: noise and offsets by their variance, as in the text; below: "
        "by their standard deviation, as in the published script.",
        tuple(panels),
    )


def figure_4() -> Figure:
    """Figure 4: the whole relation without noise, for u > v and for u < v."""
    return Figure(
        "4",
        "Greatest adversary error for each exact conference error, without noise",
        "A trapezoid with sides of slope 1, 0 and -1. Corners: (1) full calibration, nothing hidden; (2) "
        "min(u,v)/(u+v) on both axes, the end of the Pareto frontier; (3) its mirror image at "
        "max(u,v)/(u+v); (4) always the wrong paper, which names the assignment just as well.",
        (
            _relation_panel("u > v: u = 0.65, v = 0.35", NOISELESS, _NOISELESS_CORNERS),
            _relation_panel("u < v: u = 0.2, v = 0.8", (0.2, 0.8, 0.0, 1.0), _NOISELESS_CORNERS),
        ),
    )


def figure_5() -> Figure:
    """Figure 5: the optimization in the square of (q1, q2), for the noisy case that the paper works out."""
    belief = from_letters(*NOISY)
    letters, line = to_letters(belief), theorem_4_5(belief)
    u, v = float(letters.u), float(letters.v)
    share = u / v
    low, high = float(line.start[0]), float(line.end[0])
    half = 0.5 * (low + high)
    chosen = np.stack([algorithm_3(belief, error).q for error in (low, half, high)])
    return Figure(
        "5",
        "The optimization in the square of (q1, q2), with noise",
        "q1 and q2 are the chances of calibrating under the true assignment. The two lines u q1 + v q2 = u "
        "and u q1 + v q2 = v cut the square into three regions, each with the adversary error written in it: "
        "in the middle one it is greatest. Along a dashed line the conference error is constant; the lines "
        "are not parallel to the cuts because Phi_2 is nearer to 1/2 than Phi_1. Corners: (1) q = (1, 1), "
        "full calibration; (2) q = (1, 1-u/v), where the best path, drawn bold, enters the middle region; "
        "(3) q = (0, u/v), its mirror image; (4) q = (0, 0), always the wrong assignment. Here u = 0.35, v = "
        "0.65, Phi_1 = 0.1, Phi_2 = 0.72.",
        (
            Panel(
                "adversary error by region",
                "q1",
                "q2",
                (
                    *(_error_level_curve(belief, error) for error in (high, 0.5, 1.0 - high)),
                    Curve("frontier", "best q1, q2 (Algorithm 3)", chosen[:, 0], chosen[:, 1]),
                ),
                (
                    Corner("1", "full calibration", 1.0, 1.0),
                    Corner("2", "(1, 1-u/v): saturated", 1.0, 1.0 - share),
                    Corner("3", "(0, u/v)", 0.0, share),
                    Corner("4", "always the wrong assignment", 0.0, 0.0),
                ),
                _adversary_error_regions(share),
            ),
        ),
    )


def figure_6() -> Figure:
    """Figure 6: the whole relation with noise, with the four coordinates that the paper's caption gives."""
    return Figure(
        "6",
        "Greatest adversary error for each exact conference error, with noise",
        "u < v and Phi_1 < 1/2 < Phi_2 with Phi_2 nearer to 1/2. Corners: (1) (u Phi_1 + v (1-Phi_2))/(u+v), "
        "the least possible error; (2) (u (Phi_1 + 2 Phi_2 - 1) + v (1-Phi_2))/(u+v), the end of the Pareto "
        "frontier; (3) (u (2 - Phi_1 - 2 Phi_2) + v Phi_2)/(u+v); (4) (u (1-Phi_1) + v Phi_2)/(u+v), the "
        "greatest possible error. Between (2) and (3) the adversary errs with u/(u+v). Here u = 0.35, "
        "v = 0.65, Phi_1 = 0.1, Phi_2 = 0.72.",
        (_relation_panel("u < v, Phi_1 < 1/2 < Phi_2", NOISY, _NOISY_CORNERS),),
    )


def eight_cases() -> Figure:
    """The eight noisy cases side by side, of which the paper works out the second.

    They differ in which product is larger, which paper A1 favors, and whose evidence is weaker.
    """
    panels = []
    heavier = {"u < v": 0.35, "u > v": 0.65}
    favored = {"Phi_1 < 1/2 < Phi_2": -1.0, "Phi_2 < 1/2 < Phi_1": 1.0}
    for (weights, u), (sides, sign), weaker in product(heavier.items(), favored.items(), (1, 2)):
        lean_1, lean_2 = (0.22, 0.4) if weaker == 1 else (0.4, 0.22)
        values = (u, 1.0 - u, 0.5 + sign * lean_1, 0.5 - sign * lean_2)
        panels.append(
            _relation_panel(f"{weights}, {sides},\nq{weaker} is randomized", values, _EIGHT_CORNERS)
        )
    return Figure(
        "cases",
        "The eight noisy cases",
        "Bold: the Pareto frontier, from full calibration (1) at e0 = u min(Phi_1, 1-Phi_1) + v min(Phi_2, "
        "1-Phi_2) to (2) at e0 + m w, with m = min(u, v), w = min(|2 Phi_1 - 1|, |2 Phi_2 - 1|) and u + v = "
        "1. Only the assignment whose Phi is nearer to 1/2 is randomized. The left and the right half agree: "
        "it does not matter which paper A1 favors. The paper draws the second case of the first row.",
        tuple(panels),
    )


def noise_limit() -> Figure:
    """The noisy frontier of a pair of reviewers and scores as the noise goes to 0, and its ends."""
    curves = []
    for sigma in _LIMIT:
        belief = _limit_belief(sigma)
        line = theorem_4_5(belief) if sigma else theorem_4_2(belief)
        name = f"sigma = {sigma:g}" + ("" if sigma else " (Theorem 4.2)")
        curves.append(Curve("noise", name, *_segment_ends(line)))
    sigmas = np.linspace(0.0, 0.8, 81)
    lines = [theorem_4_5(_limit_belief(sigma)) for sigma in sigmas]
    least = np.array([line.start[0] for line in lines])
    reached, most = np.array([line.end for line in lines]).T
    ends = (
        Curve("frontier", "adversary error at the end", sigmas, most),
        Curve("relation", "conference error at the end", sigmas, reached),
        Curve("level", "least conference error e0", sigmas, least),
    )
    return Figure(
        "limit",
        "From the noisy to the noiseless frontier",
        "Left: the frontier at scores (1.2, 0.2) of reviewers a = (1.2, 0.8), b = (0.6, -0.6) for falling "
        "noise sigma. It moves to the origin and its slope falls to 1. Right: its ends against the noise. At "
        "sigma = 0 the least error e0 is 0 and both errors at the end are min(u,v)/(u+v): Theorem 4.2.",
        (
            Panel("frontiers", CONFERENCE, ADVERSARY, tuple(curves), reach=(0.5, 0.5)),
            Panel("ends of the frontier", "noise sigma", "error", ends, reach=(0.8, 0.5)),
        ),
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "1": figure_1,
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "6": figure_6,
    "cases": eight_cases,
    "limit": noise_limit,
}


def figure(name: str | int, trials: int = 100, seed: int = 1, workers: Workers = 1) -> Figure:
    """A figure of the paper by its number or name.

    Args:
        name: 1 to 6, `cases` or `limit`. The other arguments are for Figure 3 alone.
        trials: How many conferences are simulated for each of its points.
        seed: That of these simulations; the same seed gives the same figure.
        workers: How many processes share the work, or a cluster's pool; results are the same.

    Example:
        >>> figure(5).title
        'The optimization in the square of (q1, q2), with noise'
    """
    if str(name) not in FIGURES:
        raise InputError(f"a figure must be one of {', '.join(FIGURES)}, found {str(name)!r}")
    return figure_3(trials, seed, workers) if str(name) == "3" else FIGURES[str(name)]()


_NOISELESS_CORNERS = ("0", "min(u,v)/(u+v)", "max(u,v)/(u+v)", "1")
_NOISY_CORNERS = (
    "(u Phi_1 + v (1-Phi_2))/(u+v)",
    "(u (Phi_1 + 2 Phi_2 - 1) + v (1-Phi_2))/(u+v)",
    "(u (2 - Phi_1 - 2 Phi_2) + v Phi_2)/(u+v)",
    "(u (1-Phi_1) + v Phi_2)/(u+v)",
)
_EIGHT_CORNERS = ("e0", "e0 + m w", "1 - e0 - m w", "1 - e0")


def _segment_ends(line: Segment) -> tuple[Array, Array]:
    ends = np.stack([line.start, line.end])
    return ends[:, 0], ends[:, 1]


def _scores_alone_curve(line: Segment) -> Curve:
    """What the adversary errs from the scores alone, whatever the conference does."""
    return Curve("scores", "from the scores alone", np.array([0.0, 1.0]), np.full(2, line.end[1]))


def _relation_panel(title: str, values: tuple[float, float, float, float], meanings: Sequence[str]) -> Panel:
    """The trapezoid of one instance, its frontier and its corners."""
    front = frontier(from_letters(*values))
    conference, adversary = front.relation()
    corners = tuple(
        Corner(str(number), meaning, float(x), float(y))
        for number, meaning, x, y in zip((1, 2, 3, 4), meanings, conference, adversary, strict=True)
    )
    curves = (
        Curve("relation", "greatest adversary error", conference, adversary),
        Curve("frontier", "Pareto frontier", front.conference_error, front.adversary_error),
    )
    return Panel(title, CONFERENCE, ADVERSARY, curves, corners, reach=(1.0, 0.5))


def _adversary_error_regions(share: float) -> tuple[Region, ...]:
    """The square cut by `u q1 + v q2 = u` and `u q1 + v q2 = v`, with `share = u/v < 1`."""
    return (
        Region("(q1 u + q2 v)/(u+v)", np.array([0, 1.0, 0]), np.array([0, 0, share]), (0.19, 0.14)),
        Region("u/(u+v)", np.array([1.0, 1.0, 0, 0]), np.array([0, 1.0 - share, 1.0, share]), (0.2, 0.6)),
        Region("1 - (q1 u + q2 v)/(u+v)", np.array([1.0, 1, 0]), np.array([1 - share, 1, 1]), (0.79, 0.93)),
    )


def _error_level_curve(belief: Belief, error: float) -> Curve:
    """The line of the square on which the conference error is `error`, A1 favoring paper 1 and A2 paper 2.

    `E = u (1-Phi_1) + v Phi_2 + u (2 Phi_1 - 1) q1 + v (1 - 2 Phi_2) q2`.
    """
    letters = to_letters(belief)
    left = error - letters.u * (1.0 - letters.Phi_1) - letters.v * letters.Phi_2
    slope, height = letters.u * (2.0 * letters.Phi_1 - 1.0), letters.v * (1.0 - 2.0 * letters.Phi_2)
    # Where it meets the sides q2 = 1 and q2 = 0, or if these are beyond the square q1 = 0 and q1 = 1.
    q1 = np.clip((left - height * np.array([1.0, 0.0])) / slope, 0.0, 1.0)
    return Curve("level", f"conference error {error:.3f}", q1, (left - slope * q1) / height)


def _limit_belief(sigma: float) -> Belief:
    return setting([1.2, 0.2], a_1=1.2, b_1=0.6, a_2=0.8, b_2=-0.6, sigma=sigma)
