"""Sweeps: the same numbers however they are computed, stopped and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.simulation import parameter_sweep
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.parameter_sweep import METHODS, Setting, Task, sweep, tasks_in
from blindcal.simulation.population import paper_population, prototype_population
from sizes import count

SETTINGS = [
    Setting(paper_population(0.25), papers=50, reviewers=50),
    Setting(prototype_population(), papers=50, reviewers=30, per_paper=4),
]
CHEAP = ["raw", "standardized", "posterior"]


def small_sweep(**options):
    return sweep(SETTINGS, CHEAP, trials=110, seed=3, **options).errors


def test_every_method_and_measure_in_its_place():
    setting = Setting(prototype_population(), papers=20, reviewers=25, per_paper=3)
    result = sweep([setting], ["posterior", "raw"], trials=4, seed=5)
    assert result.errors.shape == (1, 2, 2, 4)
    drawn = parameter_sweep.simulate(
        Task(setting, (), 5, 0).rng(), setting.chunk, 20, 25, 3, setting.population
    )
    for m, name in enumerate(("posterior", "raw")):
        estimate = METHODS[name](drawn)[0].reshape(drawn.quality.shape)
        assert (result.errors[0, m, 0] == kendall_tau_distance(drawn.quality, estimate)[:4]).all()
        assert (result.errors[0, m, 1] == messy_middle_error(drawn.quality, estimate)[:4]).all()
    assert result.mean == pytest.approx(result.errors.mean(axis=-1))
    assert result.standard_error == pytest.approx(result.errors.std(axis=-1, ddof=1) / 2)


def test_every_method_runs_also_without_noise():
    result = sweep([Setting(paper_population(0.0), papers=40, reviewers=50)], list(METHODS), trials=1, seed=1)
    assert np.isfinite(result.errors).all()
    assert np.isnan(result.standard_error).all()


def test_a_settings_numbers_do_not_depend_on_the_rest_of_the_sweep():
    whole = small_sweep()
    alone = sweep(SETTINGS[1:], ["raw"], trials=60, seed=3).errors
    assert (whole[1:, :1, :, :60] == alone).all()


def test_chunks_seeds_and_settings_are_independent():
    errors = sweep(SETTINGS, ["raw"], trials=100, seed=3).errors[:, 0, 0]
    assert len({tuple(chunk) for chunk in errors.reshape(4, 50)}) == 4
    assert not np.array_equal(errors, sweep(SETTINGS, ["raw"], trials=100, seed=4).errors[:, 0, 0])
    task = Task(SETTINGS[0], ("raw",), 3, 0)
    draws = {
        one.rng().random()
        for one in (
            task,
            replace(task, seed=4),
            replace(task, chunk=1),
            replace(task, setting=replace(SETTINGS[0], papers=51)),
            replace(task, setting=replace(SETTINGS[0], population=paper_population(0.5))),
        )
    }
    assert len(draws) == 5


def test_progress_counts_every_task_once(tmp_path):
    steps = []
    small_sweep(folder=tmp_path, progress=steps.append)
    assert sum(steps) == tasks_in(SETTINGS, 110) == 6
    steps.clear()
    small_sweep(folder=tmp_path, progress=steps.append)
    assert steps == [6]


def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path, monkeypatch):
    steps = []

    def stop_after_three(step):
        steps.append(step)
        if sum(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_sweep(folder=tmp_path, progress=stop_after_three)
    assert len(list(tmp_path.iterdir())) == 3
    computed = []
    run = Task.run
    monkeypatch.setattr(Task, "run", lambda task: computed.append(task) or run(task))
    resumed = small_sweep(folder=tmp_path)
    assert len(computed) == 3
    assert (resumed == small_sweep()).all()


def test_a_stored_result_that_is_not_this_sweeps_is_refused(tmp_path):
    small_sweep(folder=tmp_path)
    files = sorted(tmp_path.iterdir())
    good = json.loads(files[0].read_text())
    for spoil in (
        lambda content: content["task"].update(seed=4),
        lambda content: content["errors"].pop(),
        lambda content: content.pop("task"),
    ):
        bad = json.loads(json.dumps(good))
        spoil(bad)
        files[0].write_text(json.dumps(bad))
        with pytest.raises(InputError, match="not the result of this sweep"):
            small_sweep(folder=tmp_path)
    files[0].write_text("{")
    with pytest.raises(InputError, match="must be JSON"):
        small_sweep(folder=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": 0}, "trials must be at least 1, found 0"),
        ({"seed": -1}, "seed must be at least 0, found -1"),
        ({"workers": 0}, "`workers` must be at least 1, found 0"),
        ({"methods": ["raw", "cooked"]}, "methods must be among raw, .*; found 'cooked'"),
        ({"methods": ["raw", "raw"]}, "named once each"),
        ({"settings": []}, "settings must be at least 1, found 0"),
        ({"settings": SETTINGS[:1] * 2}, "named once each"),
    ],
)
def test_bad_sweeps_are_refused_by_name(change, message):
    arguments = {"settings": SETTINGS, "methods": CHEAP, "trials": 5, "seed": 1} | change
    with pytest.raises(InputError, match=message):
        sweep(arguments.pop("settings"), arguments.pop("methods"), **arguments)


def test_a_folder_that_cannot_be_one_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be a folder for results"):
        small_sweep(folder=tmp_path / "file")


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(parameter_sweep, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"more than one worker needs joblib: pip install 'blindcal\[cli\]'"):
        small_sweep(workers=2)


@pytest.mark.edge
def test_one_worker_and_two_give_identical_numbers():
    """So does a Dask cluster: tests/line/test_clusters.py."""
    pytest.importorskip("joblib")
    # The short run leaves out `hierarchical`, which is the chain of `offsets` with more to sample.
    settings, trials = count(SETTINGS[:1], SETTINGS), count(60, 300)
    methods = count([*CHEAP, "offsets"], list(METHODS))
    one = sweep(settings, methods, trials=trials, seed=9)
    two = sweep(settings, methods, trials=trials, seed=9, workers=2)
    assert (one.errors == two.errors).all()


SCRIPT = """
import os, signal, sys
from pathlib import Path
from blindcal.simulation.population import paper_population
from blindcal.simulation.parameter_sweep import Setting, sweep
folder, last = Path(sys.argv[1]), int(sys.argv[2])

def killed_at_last(steps):
    if len(list(folder.glob("*.json"))) >= last:
        os.kill(os.getpid(), signal.SIGKILL)

settings = [Setting(paper_population(noise), papers=50, reviewers=50) for noise in (0.1, 0.2, 0.3)]
result = sweep(settings, ["raw", "posterior"], trials=400, seed=1, folder=folder, progress=killed_at_last)
print(result.errors.tobytes().hex())
"""
NEVER = 1 << 30


def run(folder, last=NEVER):
    """What a sweep of its own process prints; it is killed once its folder has this many parts."""
    command = [sys.executable, "-c", SCRIPT, str(folder), str(last)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )


def finished_tasks(folder):
    return len(list(folder.glob("*.json")))


def test_a_sweep_killed_half_way_and_started_again_gives_identical_numbers(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    expected = run(whole).stdout
    half = finished_tasks(whole) // 2
    assert run(killed, half).returncode == -signal.SIGKILL
    assert half <= finished_tasks(killed) < 2 * half
    assert run(killed).stdout == expected != b""


def middle(drawn):
    quality = np.sort(drawn.score, axis=-1)[..., 1].ravel()
    return quality, np.ones_like(quality)


def test_a_function_is_a_method_on_any_number_of_workers():
    """On a cluster too: tests/line/test_extending.py."""
    pytest.importorskip("joblib")
    setting = Setting(prototype_population(), papers=20, reviewers=25, per_paper=3)
    one = sweep([setting], ["raw", middle], trials=260, seed=5)
    two = sweep([setting], ["raw", middle], trials=260, seed=5, workers=2)
    assert one.methods == two.methods == ("raw", "middle")
    assert (one.errors == two.errors).all()
    assert (one.errors[:, 0] == sweep([setting], ["raw"], trials=260, seed=5).errors[:, 0]).all()
    drawn = parameter_sweep.simulate(
        Task(setting, (), 5, 0).rng(), setting.chunk, 20, 25, 3, setting.population
    )
    expected = kendall_tau_distance(drawn.quality, middle(drawn)[0].reshape(drawn.quality.shape))
    assert (one.errors[0, 1, 0, : setting.chunk] == expected).all()


def test_methods_are_not_entered_into_the_table():
    with pytest.raises(TypeError):
        METHODS["middle"] = middle


@pytest.mark.parametrize(
    ("methods", "options", "message"),
    [
        ([middle, middle], {}, "must be named once each"),
        ([middle], {"folder": "x"}, "it cannot know when a function has changed"),
        ([lambda drawn: (np.zeros(3), None)], {}, "method <lambda> must return one finite quality for each"),
        ([lambda drawn: (np.full(drawn.quality.size, np.nan), None)], {}, "one finite quality for each"),
    ],
)
def test_functions_that_do_not_fit_are_refused(methods, options, message):
    with pytest.raises(InputError, match=message):
        sweep(SETTINGS[:1], methods, trials=2, seed=1, **options)
