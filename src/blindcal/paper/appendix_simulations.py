"""Appendix A of the paper: how far ways to rank papers err where reviewers are miscalibrated, by simulation.

A conference has 100 papers and 100 reviewers, three reviews a paper, slopes Exp(1) and qualities N(0,1). The
text and the published script differ in two ways, and both readings are here: in the script noise and offsets
are given by their standard deviations instead of variances, and assignments are stacked permutations.

Numbers depend on noise, methods, trials and seed alone, not on the workers or on the other noise levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from blindcal.calibrators.affine_model import (
    hierarchical_quality,
    maximum_likelihood_quality,
    offsets_quality,
    posterior_quality,
)
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.checks import Array
from blindcal.compute.parallel import Workers, parallel_map
from blindcal.errors import InputError
from blindcal.io.atomic_files import digest
from blindcal.io.tables import data_frame
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import Simulation, paper_population, simulate_many

PAPERS, REVIEWERS, PER_PAPER = 100, 100, 3
NOISES = tuple(step / 20 for step in range(11))
READINGS = {"text": "variance of the noise", "script": "standard deviation of the noise"}
# Conferences drawn together: enough to fill the arrays.
_CHUNK = 25

Method = Callable[[Simulation], tuple[Array, Array]]
"""Simulated conferences -> quality and its deviation of each paper, in the order of `Simulation.batch`."""

_METHODS: dict[str, Method] = {
    "raw": lambda drawn: raw_quality(drawn.batch),
    "standardized": lambda drawn: standardized_quality(drawn.batch),
    "maximum_likelihood": lambda drawn: maximum_likelihood_quality(drawn.batch, *drawn.parameters),
    "posterior": lambda drawn: posterior_quality(drawn.batch, *drawn.parameters),
    "offsets": lambda drawn: offsets_quality(drawn.batch),
    "hierarchical": lambda drawn: hierarchical_quality(drawn.batch),
}
# Read only: a method that was entered here would be unknown to other processes.
METHODS: Mapping[str, Method] = MappingProxyType(_METHODS)
MEASURES: Mapping[str, Callable[[Array, Array], Array]] = {
    "Kendall-tau distance": kendall_tau_distance,
    "messy-middle error": messy_middle_error,
}
PAPER_METHODS = ("raw", "standardized", "maximum_likelihood")


@dataclass(frozen=True, eq=False)
class SimulatedErrors:
    """How far each method errs at each noise.

    Attributes:
        noise: In the order of the first axis of `errors`.
        methods: In the order of its second axis.
        errors: `errors[noise, method, measure, trial]`, measures in the order of `MEASURES`; the trials of
            one noise are the same conferences for all methods.
    """

    noise: tuple[float, ...]
    methods: tuple[str, ...]
    errors: Array

    @property
    def mean(self) -> Array:
        """`[noise, method, measure]`."""
        return np.asarray(self.errors.mean(axis=-1))

    @property
    def standard_error(self) -> Array:
        """Of the mean over trials; nan for a single trial."""
        trials = self.errors.shape[-1]
        if trials == 1:
            return np.full(self.errors.shape[:-1], np.nan)
        return np.asarray(self.errors.std(axis=-1, ddof=1) / np.sqrt(trials))

    def to_frame(self) -> Any:
        """One row per noise, method and measure, as a pandas data frame; needs pandas."""
        names = zip(*product(self.noise, self.methods, MEASURES), strict=True)
        columns = dict(zip(("noise", "method", "measure"), names, strict=True))
        return data_frame(
            {**columns, "mean": self.mean.ravel(), "standard_error": self.standard_error.ravel()}
        )


@dataclass(frozen=True)
class _Chunk:
    """Some conferences at one noise, which come from reading, noise, seed and number alone."""

    reading: str
    stacked: bool
    noise: float
    methods: tuple[str | Method, ...]
    seed: int
    number: int

    def rng(self) -> np.random.Generator:
        # The names that seeds are made from never change, or every published figure would.
        facts = {
            "law": asdict(paper_population(self.noise, self.reading)),
            "papers": PAPERS,
            "reviewers": REVIEWERS,
            "per_paper": PER_PAPER,
            "stacked": self.stacked,
        }
        key = digest(facts)
        words = (int(key[start : start + 8], 16) for start in range(0, 64, 8))
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(*words, self.number)))

    def errors(self) -> Array:
        """`[method, measure, conference]`."""
        population = paper_population(self.noise, self.reading)
        drawn = simulate_many(self.rng(), _CHUNK, PAPERS, REVIEWERS, PER_PAPER, population, self.stacked)
        quality = np.stack([_method_quality(method, drawn) for method in self.methods])
        estimate = quality.reshape(len(self.methods), *drawn.quality.shape)
        return np.stack([measure(drawn.quality, estimate) for measure in MEASURES.values()], axis=1)


def appendix_a(
    noise: Sequence[float] = NOISES,
    methods: Sequence[str | Method] = PAPER_METHODS,
    *,
    reading: str = "script",
    stacked: bool | None = None,
    trials: int = 100,
    seed: int = 1,
    workers: Workers = 1,
) -> SimulatedErrors:
    """Simulates the conferences of Appendix A, and measures how far each method errs.

    Args:
        noise: Noise levels, each once; variances in the text, standard deviations in the script.
        methods: Names of `METHODS`, or functions of a `Simulation` that return a quality for each paper and
            its deviation. A cluster's workers must have the module of a function.
        reading: "script", as the authors simulated, or "text", as the paper describes it.
        stacked: Assignments as stacked permutations; by default in the script's reading alone. Otherwise they
            are uniform among all with even loads.
        trials: How many conferences at each noise; the first ones of more trials are those of fewer.
        seed: What the conferences are drawn from.
        workers: How many processes share the work, or a cluster's pool; results are the same.

    Example:
        >>> appendix_a([0.0], ["maximum_likelihood"], trials=2).mean.tolist()
        [[[0.0, 0.0]]]
    """
    if unknown := [name for name in methods if not callable(name) and name not in METHODS]:
        raise InputError(f"methods must be among {', '.join(METHODS)}; found {unknown[0]!r}")
    names = tuple(map(_method_name, methods))
    if len(set(names)) < len(names) or len(set(noise)) < len(noise) or not (names and len(noise)):
        raise InputError("methods and noise levels must be named, each once")
    if trials < 1:
        raise InputError(f"`trials` must be at least 1, found {trials}")
    if seed < 0:
        raise InputError(f"`seed` must be at least 0, found {seed}")
    stacks = reading == "script" if stacked is None else stacked
    chunks = [
        _Chunk(reading, stacks, float(level), tuple(methods), seed, number)
        for level in noise
        for number in range(-(-trials // _CHUNK))
    ]
    parts = np.array(parallel_map(_Chunk.errors, chunks, workers=workers))
    # `[noise, chunk, method, measure, conference]`, conferences of one noise side by side.
    by_noise = np.moveaxis(parts.reshape(len(noise), -1, *parts.shape[1:]), 1, 3)
    errors = by_noise.reshape(*by_noise.shape[:3], -1)[..., :trials]
    return SimulatedErrors(tuple(map(float, noise)), names, errors)


def _method_quality(method: str | Method, drawn: Simulation) -> Array:
    if isinstance(method, str):
        return METHODS[method](drawn)[0]
    quality = np.asarray(method(drawn)[0], dtype=np.float64)
    if quality.size != drawn.quality.size or not np.isfinite(quality).all():
        raise InputError(
            f"method {_method_name(method)} must return one finite quality for each of the "
            f"{drawn.quality.size} papers of a batch, found shape {quality.shape}"
        )
    return quality.ravel()


def _method_name(method: str | Method) -> str:
    """A method's name, or that of a function."""
    return method if isinstance(method, str) else str(getattr(method, "__name__", type(method).__name__))
