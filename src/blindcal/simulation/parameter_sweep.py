"""Sweeps: a grid of settings, many simulated conferences each, on one core, on all, or on a cluster.

The numbers depend on setting, methods and seed alone: not on how many workers share the tasks or in which
order they finish, not on the other settings in the grid, not on how often a sweep was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import blindcal
from blindcal.calibrators.affine_model import (
    hierarchical_quality,
    maximum_likelihood_quality,
    offsets_quality,
    posterior_quality,
)
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.checks import Array
from blindcal.compute.parallel import Workers, available_cores, unordered_results
from blindcal.errors import InputError
from blindcal.io.atomic_files import digest, read_json, write_json
from blindcal.io.tables import data_frame
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import Population, Simulation, simulate

__all__ = ["MEASURES", "METHODS", "Setting", "Sweep", "sweep"]

# Papers simulated by one task: enough to fill the arrays, few enough that an interruption loses little.
_PAPERS_A_TASK = 2_500

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
    "kendall_tau": kendall_tau_distance,
    "messy_middle": messy_middle_error,
}


@dataclass(frozen=True)
class Setting:
    """The size of a conference and the distribution of its reviewers.

    Attributes:
        population: How reviewers are drawn and how scores arise.
        papers: How many papers there are.
        reviewers: How many reviewers there are.
        per_paper: Reviews that each paper gets.
        stacked: Assignments as in the published script, with as many reviewers as papers; by default they are
            uniform under even loads.
    """

    population: Population
    papers: int = 100
    reviewers: int = 100
    per_paper: int = 3
    stacked: bool = False

    @property
    def chunk(self) -> int:
        """Conferences simulated by one task."""
        return max(1, _PAPERS_A_TASK // max(1, self.papers))


@dataclass(frozen=True)
class Task:
    """One chunk of the conferences of a setting, through all methods.

    Its conferences come from (`seed`, `setting`, `chunk`) alone, whatever the methods.
    """

    setting: Setting  # what conferences are drawn
    methods: tuple[str | Method, ...]  # names or functions
    seed: int  # that of the sweep
    chunk: int  # the number of the chunk

    @property
    def description(self) -> dict[str, object]:
        # Another version may give other numbers.
        return {
            "version": blindcal.__version__,
            "measures": list(MEASURES),
            "setting": asdict(self.setting),
            "methods": self.methods,
            "seed": self.seed,
            "chunk": self.chunk,
        }

    def rng(self) -> np.random.Generator:
        facts = asdict(self.setting)
        # The names that seeds are made from never change, or every published figure would.
        facts["law"] = facts.pop("population")
        key = digest(facts)
        words = (int(key[start : start + 8], 16) for start in range(0, 64, 8))
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(*words, self.chunk)))

    def run(self) -> Array:
        """`errors[method, measure, conference]`."""
        s = self.setting
        drawn = simulate(self.rng(), s.chunk, s.papers, s.reviewers, s.per_paper, s.population, s.stacked)
        quality = np.stack([_quality(method, drawn) for method in self.methods])
        estimate = quality.reshape(len(self.methods), *drawn.quality.shape)
        return np.stack([measure(drawn.quality, estimate) for measure in MEASURES.values()], axis=1)


def _quality(method: str | Method, drawn: Simulation) -> Array:
    if isinstance(method, str):
        return METHODS[method](drawn)[0]
    quality = np.asarray(method(drawn)[0], dtype=np.float64)
    if quality.size != drawn.quality.size or not np.isfinite(quality).all():
        raise InputError(
            f"method {method_name(method)} must return one finite quality for each of the "
            f"{drawn.quality.size} papers of a batch, found shape {quality.shape}"
        )
    return quality.ravel()


def method_name(method: str | Method) -> str:
    """What a method is called in a `Sweep`.

    `method`: a name, which stays as it is, or a function, which goes by its own.

    Example:
        >>> method_name("raw"), method_name(max)
        ('raw', 'max')
    """
    return method if isinstance(method, str) else str(getattr(method, "__name__", type(method).__name__))


@dataclass(frozen=True, eq=False)
class Sweep:
    """The errors of all methods on the conferences of all settings.

    Attributes:
        settings: In the order of the first axis of `errors`.
        methods: In the order of its second axis.
        errors: `errors[setting, method, measure, trial]`, measures in the order of `MEASURES`; trials of one
            setting are paired between methods.
    """

    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    errors: Array

    @property
    def mean(self) -> Array:
        """`[setting, method, measure]`."""
        return np.asarray(self.errors.mean(axis=-1))

    @property
    def standard_error(self) -> Array:
        """Of the mean over trials; nan for a single trial."""
        trials = self.errors.shape[-1]
        if trials == 1:
            return np.full(self.errors.shape[:-1], np.nan)
        return np.asarray(self.errors.std(axis=-1, ddof=1) / np.sqrt(trials))

    def to_frame(self) -> Any:
        """One row per setting, method, measure and trial, as a pandas data frame; needs pandas."""
        settings, trials = self.errors.shape[0], self.errors.shape[-1]
        names = product(range(settings), self.methods, MEASURES, range(trials))
        columns = zip(*names, strict=True)
        kinds = ("setting", "method", "measure", "trial")
        return data_frame({**dict(zip(kinds, columns, strict=True)), "error": self.errors.ravel()})


def sweep(
    settings: Sequence[Setting],
    methods: Sequence[str | Method],
    *,
    trials: int,
    seed: int,
    workers: Workers | None = 1,
    folder: str | Path | None = None,
    progress: Callable[[int], None] = lambda steps: None,
) -> Sweep:
    """Many conferences of every setting through every method, and how far each method errs.

    Args:
        settings: Sizes and populations, each once.
        methods: Names of `METHODS`, or functions. A function is sent to the workers: by its value to
            processes of this machine, by the name of its module to a cluster, whose workers must have that
            module.
        trials: How many conferences of each setting; the first ones of a longer sweep are those of a shorter
            one.
        seed: With the setting, what a conference is drawn from; methods and other settings do not change it.
        workers: How many processes share the work (None: one per core), or a cluster's pool; results are the
            same.
        folder: Finished tasks of named methods are kept there and never computed again: the same call goes on
            where a killed one stopped. None: nothing is kept.
        progress: Called with each number of tasks done, out of `tasks_in(settings, trials)`; silent by
            default.

    Example:
        >>> one = sweep([Setting(Population(noise=0.1), papers=8, reviewers=8)], ["raw"], trials=2, seed=1)
        >>> one.errors.shape
        (1, 1, 2, 2)
    """
    tasks = _tasks(settings, methods, trials, seed)
    if folder is not None and not all(isinstance(method, str) for method in methods):
        raise InputError(
            "a `folder` keeps results of named methods: it cannot know when a function has changed"
        )
    store = None if folder is None else _Store(Path(folder))
    known = {} if store is None else store.read(tasks)
    missing = [task for task in tasks if task not in known]
    progress(len(known))
    with closing(_computed(missing, available_cores() if workers is None else workers)) as results:
        for task, errors in results:
            if store is not None:
                store.write(task, errors)
            known[task] = errors
            progress(1)
    rows = [
        np.concatenate([known[task] for task in tasks if task.setting == setting], axis=-1)[..., :trials]
        for setting in settings
    ]
    return Sweep(tuple(settings), tuple(map(method_name, methods)), np.stack(rows))


def tasks_in(settings: Sequence[Setting], trials: int) -> int:
    """How many tasks a sweep has."""
    return sum(_chunks(setting, trials) for setting in settings)


def _chunks(setting: Setting, trials: int) -> int:
    return -(-trials // setting.chunk)


def _tasks(
    settings: Sequence[Setting], methods: Sequence[str | Method], trials: int, seed: int
) -> list[Task]:
    for name, value in (("trials", trials), ("settings", len(settings)), ("methods", len(methods))):
        if value < 1:
            raise InputError(f"{name} must be at least 1, found {value}")
    if seed < 0:
        raise InputError(f"seed must be at least 0, found {seed}")
    if unknown := [name for name in methods if not callable(name) and name not in METHODS]:
        raise InputError(f"methods must be among {', '.join(METHODS)}; found {unknown[0]!r}")
    if len(set(map(method_name, methods))) < len(methods) or len(set(settings)) < len(settings):
        raise InputError("methods and settings must be named once each")
    return [
        Task(setting, tuple(methods), seed, chunk)
        for setting in settings
        for chunk in range(_chunks(setting, trials))
    ]


def _computed(tasks: list[Task], workers: Workers) -> Generator[tuple[Task, Array]]:
    """Every task's errors, in whatever order they finish."""
    if isinstance(workers, int) and workers < 1:
        raise InputError(f"`workers` must be at least 1, found {workers}")
    if not tasks:
        return
    if workers == 1:
        yield from ((task, task.run()) for task in tasks)
        return
    if isinstance(workers, int) and find_spec("joblib") is None:
        raise InputError("more than one worker needs joblib: pip install 'blindcal[cli]'")
    with closing(unordered_results(Task.run, tasks, workers)) as results:
        for number, errors in results:
            yield tasks[number], errors


class _Store:
    """One file for each finished task, named by what the task is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder} cannot be a folder for results: {error.strerror}") from None

    def path(self, task: Task) -> Path:
        return self.folder / f"{digest(task.description)[:32]}.json"

    def write(self, task: Task, errors: Array) -> None:
        # A task's numbers are always the same, so a second sweep in the folder replaces them by themselves.
        write_json(self.path(task), {"task": task.description, "errors": errors}, replace=True)

    def read(self, tasks: Sequence[Task]) -> dict[Task, Array]:
        return {task: self._errors(task) for task in tasks if self.path(task).exists()}

    def _errors(self, task: Task) -> Array:
        path, shape = self.path(task), (len(task.methods), len(MEASURES), task.setting.chunk)
        match read_json(path):
            case {"task": task_read, "errors": numbers} if digest(task_read) == digest(task.description):
                errors = np.asarray(numbers, dtype=np.float64)
                if errors.shape == shape:
                    return errors
        raise InputError(f"{path} is not the result of this sweep: remove it, or choose another folder")
