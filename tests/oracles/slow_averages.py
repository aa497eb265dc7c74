"""Average-case integrals by a slower, independent method: rows of raw scores, every kink searched.

The fast code works in sums and differences of scores and in closed forms; here the outer variable is the
second score (adaptive Gauss-Kronrod), the inner one the first, and no region's shape is known beforehand.
`python tests/oracles/slow_averages.py` writes tests/data/vectors/averages.json; long tests compute it again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.integrate import cumulative_simpson, quad_vec
from scipy.special import erf, log_expit, ndtr, ndtri

VECTORS = Path(__file__).parents[1] / "data" / "vectors" / "averages.json"
LEVEL = 0.7
NAMES = ("least", "agree", "gained", "spent", "gained_at_level", "spent_at_level")

# kind, parameters (slope, offset, noise or as named), the same, prior
SETTINGS = {
    "plain": (("affine", 1.2, 0.3, 0.5), ("affine", 0.8, -0.3, 0.5), 0.5),
    "prior .9": (("affine", 1.2, 0.3, 0.5), ("affine", 0.8, -0.3, 0.5), 0.9),
    "unequal noise": (("affine", 1.2, 0.3, 0.9), ("affine", 0.8, -0.3, 0.2), 0.35),
    "one without noise": (("affine", 1.0, 0.4, 0.0), ("affine", 0.7, -0.2, 0.6), 0.6),
    "near equal slopes": (("affine", 1.0, 0.0, 0.4), ("affine", 1.001, 0.0, 0.4), 0.5),
    "near equal offsets": (("affine", 1.0, 0.001, 0.4), ("affine", 1.0, 0.0, 0.4), 0.3),
    "equal readings, other slopes": (("affine", 2.0, 0.3, 1.0), ("affine", 0.5, -0.2, 1.0), 0.5),
    "very unequal slopes": (("affine", 10.0, 0.3, 0.5), ("affine", 0.1, -0.3, 0.5), 0.5),
    "very unequal slopes, prior .9": (("affine", 10.0, 0.3, 0.05), ("affine", 0.1, -0.3, 0.05), 0.9),
    "offsets of 5 sd": (("affine", 1.0, 5.0, 0.5), ("affine", 1.0, 0.0, 0.5), 0.5),
    "offsets of 5 sd, other slopes": (("affine", 1.5, 4.0, 0.3), ("affine", 0.6, -1.0, 0.6), 0.7),
    "noise 1e-3": (("affine", 1.2, 0.3, 1e-3), ("affine", 0.8, -0.3, 1e-3), 0.5),
    "noise 1e-3, prior .9": (("affine", 1.0, 0.5, 1e-3), ("affine", 1.5, 0.0, 1e-3), 0.9),
    "noise 5": (("affine", 1.2, 0.3, 5.0), ("affine", 0.8, -0.3, 5.0), 0.4),
    "no noise, affine": (("affine", 1.2, 0.3, 0.0), ("affine", 0.8, -0.3, 0.0), 0.5),
    "no noise, affine, prior .9": (("affine", 2.0, -0.3, 0.0), ("affine", 0.7, 0.3, 0.0), 0.9),
    "no noise, logistic": (
        ("logistic", 1.0, 10.0, 2.0, 0.0, 0.0),
        ("logistic", 2.0, 9.0, 1.0, 0.5, 0.0),
        0.5,
    ),
    "no noise, affine and logistic": (("affine", 1.2, 0.3, 0.0), ("logistic", -3.0, 3.0, 1.5, 0.0, 0.0), 0.5),
    "no noise, power": (("power", 3.0, 1.0, 0.2, 0.0), ("power", 1.5, 2.0, -0.3, 0.0), 0.7),
    "no noise, pieces": (("pieces", (-1.0, 0.0, 1.0), (-2.0, 0.0, 1.0), 0.0), ("affine", 1.0, 0.3, 0.0), 0.4),
    "noisy logistics": (("logistic", 1.0, 10.0, 1.5, 0.0, 0.4), ("logistic", 1.0, 10.0, 1.0, 0.3, 0.6), 0.7),
}
_X, _W = np.polynomial.legendre.leggauss(16)


def curve(kind):
    """score, quality and d quality/d score of a reviewer, written anew."""
    name, *p = kind
    if name == "affine":
        a, b, _ = p
        return (lambda t: a * t + b), (lambda s: (s - b) / a), (lambda s: np.full_like(s, 1 / a))
    if name == "logistic":
        low, high, k, c, _ = p
        span = high - low

        def quality(s):
            share = np.clip((s - low) / span, 1e-300, 1 - 1e-16)
            return (np.log(share) - np.log1p(-share) - c) / k

        def slope(s):
            inside = (s > low) & (s < high)
            return np.where(inside, span / (k * np.where(inside, (s - low) * (high - s), 1.0)), 0.0)

        return (lambda t: low + span * np.exp(log_expit(k * t + c))), quality, slope
    if name == "power":
        e, a, b, _ = p
        return (
            (lambda t: b + a * np.sign(t) * np.abs(t) ** e),
            (lambda s: np.sign(s - b) * np.abs((s - b) / a) ** (1 / e)),
            (lambda s: np.abs((s - b) / a) ** (1 / e - 1) / (a * e)),
        )
    t, s, _ = (np.array(part) for part in p)

    def through(x, xs, ys):
        slopes = np.diff(ys) / np.diff(xs)
        return np.where(
            x < xs[0],
            ys[0] + slopes[0] * (x - xs[0]),
            np.where(x > xs[-1], ys[-1] + slopes[-1] * (x - xs[-1]), np.interp(x, xs, ys)),
        )

    def steep(x):
        return (np.diff(t) / np.diff(s))[np.clip(np.searchsorted(s, x) - 1, 0, len(s) - 2)]

    return (lambda x: through(x, t, s)), (lambda x: through(x, s, t)), steep


def slow(name):
    """The six integrals of NAMES for a setting."""
    one, two, prior = SETTINGS[name]
    noises = one[-1], two[-1]
    if noises == (0.0, 0.0):
        return _rows(*_exact(one, two, prior))
    if one[0] == two[0] == "affine":
        return _rows(*_affine(one, two, prior))
    return _rows(*_curved(one, two, prior))


def _affine(one, two, prior):
    (_, a1, b1, n1), (_, a2, b2, n2) = one, two
    v1, v2 = a1**2 + n1**2, a2**2 + n2**2
    tau = np.sqrt(n1**2 / v1 + n2**2 / v2)
    sd = np.sqrt([v1, v2])
    steps = np.linspace(-8.5, 8.5, 35)
    points = np.unique(np.concatenate([b1 + sd[0] * steps, b2 + sd[1] * steps]))

    def log_normal(s, b, v):
        return -0.5 * (s - b) ** 2 / v - 0.5 * np.log(2 * np.pi * v)

    def evaluate(s2, s1):
        pu = np.log(prior) + log_normal(s1, b1, v1) + log_normal(s2, b2, v2)
        qv = np.log1p(-prior) + log_normal(s1, b2, v2) + log_normal(s2, b1, v1)
        z1 = (a1 * (s1 - b1) / v1 - a2 * (s2 - b2) / v2) / tau
        z2 = (a2 * (s1 - b2) / v2 - a1 * (s2 - b1) / v1) / tau
        return pu, qv, z1, z2

    return points, points, evaluate


def _exact(one, two, prior):
    """In qualities: t2 outer as reviewer 2 reads the second score, t1 inner as reviewer 1 reads the first."""
    (score1, quality1, slope1), (score2, quality2, slope2) = curve(one), curve(two)
    even = np.linspace(-8.5, 8.5, 60)
    points = np.concatenate([even, quality1(score2(even)), quality2(score1(even))])
    for kind, (_, quality, _), (score, _, _) in (
        (one, curve(two), curve(one)),
        (two, curve(one), curve(two)),
    ):
        if kind[0] == "pieces":
            points = np.concatenate([points, kind[1], quality(score(np.array(kind[1])))])
        if kind[0] == "power":
            close = np.concatenate([-np.geomspace(1e-10, 0.3, 24)[::-1], [0.0], np.geomspace(1e-10, 0.3, 24)])
            points = np.concatenate([points, close, quality(score(np.zeros(1))) + close])
    points = np.unique(points[np.abs(points) <= 8.5])

    def log_density(t):
        return -0.5 * t**2 - 0.5 * np.log(2 * np.pi)

    def evaluate(t2, t1):
        s1, s2 = score1(t1), score2(np.array([t2]))
        other1, other2 = quality2(s1), quality1(s2)
        with np.errstate(divide="ignore"):
            jump1 = np.log(slope2(s1)) - np.log(slope1(s1))
            jump2 = np.log(slope1(s2)) - np.log(slope2(s2))
        pu = np.log(prior) + log_density(t1) + log_density(t2)
        qv = np.log1p(-prior) + log_density(other1) + log_density(other2) + jump1 + jump2
        return pu, np.maximum(qv, -1e4), 1e12 * (t1 - t2), 1e12 * (other1 - other2)

    return points, points, evaluate


def _curved(one, two, prior):
    t = np.linspace(-7.5, 7.5, 2401)
    phi = np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
    centers = [curve(kind)[0](t) for kind in (one, two)]
    noises = one[-1], two[-1]
    ends = [(c[0] - 8 * n, c[-1] + 8 * n) for c, n in zip(centers, noises, strict=True)]
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    points = np.linspace(low, high, 56)
    outer = np.linspace(low, high, 9)

    def joint(s, j):
        log = -0.5 * ((s[:, None] - centers[j]) / noises[j]) ** 2 - np.log(noises[j] * np.sqrt(2 * np.pi))
        return np.exp(log) * phi

    def mass(density):
        return density.sum(axis=1) * (t[1] - t[0])

    def evidence(favor, total):
        share = np.clip(favor / total, 1e-300, 1.0)
        return ndtri(share)

    def evaluate(s2, s1):
        s2 = np.array([s2])
        h = t[1] - t[0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first = [joint(s1, j) for j in (0, 1)]
            second = [joint(s2, j)[0] for j in (0, 1)]
            below = [cumulative_simpson(g, x=t, initial=0.0) for g in second]
            totals = [mass(g) for g in first], [g.sum() * h for g in second]
            pu = np.log(prior) + np.log(np.maximum(totals[0][0], 1e-300)) + np.log(max(totals[1][1], 1e-300))
            qv = (
                np.log1p(-prior)
                + np.log(np.maximum(totals[0][1], 1e-300))
                + np.log(max(totals[1][0], 1e-300))
            )
            z1 = evidence(first[0] @ below[1] * h, np.maximum(totals[0][0] * totals[1][1], 1e-300))
            z2 = evidence(first[1] @ below[0] * h, np.maximum(totals[0][1] * totals[1][0], 1e-300))
        return pu, qv, np.nan_to_num(z1, posinf=40), np.nan_to_num(z2, posinf=40)

    return outer, points, evaluate


def _rows(outer, inner, evaluate):
    scan = np.interp(np.linspace(0, len(inner) - 1, 8 * len(inner)), np.arange(len(inner)), inner)
    outer = np.unique(outer)
    total, _, info = quad_vec(
        lambda s2: _row(evaluate, float(s2), inner, scan),
        outer[0],
        outer[-1],
        points=outer[1:-1],
        epsabs=2e-11,
        epsrel=0,
        norm="max",
        limit=20000,
        quadrature="gk21",
        full_output=True,
    )
    return dict(zip(NAMES, map(float, total), strict=True)), info.neval


def _row(evaluate, s2, inner, scan):
    def switches(s1) -> np.ndarray:
        pu, qv, z1, z2 = evaluate(s2, s1)
        levels = (0.0, LEVEL, -LEVEL, 3.0, -3.0, 8.0, -8.0)
        return np.stack(
            [pu - qv, z1 + z2, *(z1 - level for level in levels), *(z2 - level for level in levels)]
        )

    values = switches(scan)
    which, at = np.nonzero(np.signbit(values[:, 1:]) != np.signbit(values[:, :-1]))
    roots = _roots(lambda s: switches(s)[which, np.arange(len(which))], scan[at], scan[at + 1])
    edges = np.unique(np.concatenate([inner, roots]))
    half = 0.5 * np.diff(edges)[:, None]
    s1 = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * _X
    pu, qv, z1, z2 = (part.reshape(s1.shape) for part in evaluate(s2, s1.reshape(-1)))
    middle = evaluate(s2, 0.5 * (edges[1:] + edges[:-1]))
    disagree = ((middle[2] < 0) != (middle[3] < 0))[:, None]
    close = (np.minimum(np.abs(middle[2]), np.abs(middle[3])) < LEVEL)[:, None]
    mass = np.exp(np.minimum(pu, qv))
    price = erf(np.minimum(np.abs(z1), np.abs(z2)) / np.sqrt(2))
    e0 = np.exp(pu) * ndtr(-np.abs(z1)) + np.exp(qv) * ndtr(-np.abs(z2))
    parts = [e0, mass * ~disagree, mass * disagree, price * mass * disagree]
    parts += [mass * (disagree & close), price * mass * (disagree & close)]
    return np.array([(part * half * _W).sum() for part in parts])


def _roots(function: Callable, low, high):
    if not len(low):
        return low
    at_low, at_high = function(low), function(high)
    for step in range(40):
        gap = np.where(at_high == at_low, 1.0, at_high - at_low)
        middle = 0.5 * (low + high) if step % 3 == 2 else high - at_high * (high - low) / gap
        value = function(middle)
        crossed = np.signbit(value) != np.signbit(at_high)
        low, at_low = np.where(crossed, high, low), np.where(crossed, at_high, 0.5 * at_low)
        done = np.abs(middle - high).max() < 1e-12
        high, at_high = middle, value
        if done:
            break
    return high


if __name__ == "__main__":
    asked = sys.argv[1:] or list(SETTINGS)
    known = json.loads(VECTORS.read_text())["values"] if VECTORS.exists() else {}
    for name in asked:
        known[name], count = slow(name)
        print(name, count, known[name], flush=True)
    by = "Written by tests/oracles/slow_averages.py"
    about = f"{by}: nested adaptive integration over raw scores, error about 1e-10."
    VECTORS.write_text(json.dumps({"about": about, "level": LEVEL, "values": known}, indent=1) + "\n")
