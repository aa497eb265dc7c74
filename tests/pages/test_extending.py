"""The examples of research/extending.md on one process, on two and on a Dask cluster: the same numbers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from operator import methodcaller
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("joblib")
pytest.importorskip("distributed")
pytest.importorskip("pandas")

from joblib.externals.loky import get_reusable_executor

from blindcal.compute import parallel
from blindcal.compute import parallel as dask_cluster_module
from blindcal.compute.parallel import THREADS, parallel_map
from dask_clusters import dask_cluster
from documents import ROOT, blocks

pytestmark = pytest.mark.edge

EXAMPLES = (
    "own_curves",
    "own_reviewer",
    "own_quality",
    "own_adversary",
    "own_loss",
    "own_mechanism",
    "own_sequence",
)


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """What the page defines, as a module that processes and workers can import."""
    page = (ROOT / "docs" / "research" / "extending.md").read_text(encoding="utf-8")
    parts = [block.text for block in blocks(page) if block.kind == "python" and ">>>" not in block.text]
    (tmp_path / "extending_examples.py").write_text("\n".join(parts), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(parallel, "_PATIENCE", 0.0)
    monkeypatch.setattr(dask_cluster_module, "_ANSWER", 300.0)
    for name in THREADS:
        monkeypatch.setenv(name, "1")
    # Processes that were started before do not know the folder, and those started now are no use later.
    get_reusable_executor().shutdown(wait=True)
    yield importlib.import_module("extending_examples")
    get_reusable_executor().shutdown(wait=True)
    del sys.modules["extending_examples"]


def test_every_example_gives_the_same_on_any_workers(examples: ModuleType, tmp_path: Path) -> None:
    functions = [getattr(examples, name) for name in EXAMPLES]
    alone = parallel_map(called, functions)
    calibrated = examples.own_calibrator()
    assert parallel_map(called, functions, workers=2) == alone
    assert examples.own_calibrator(workers=2) == calibrated
    with dask_cluster(tmp_path / "dask") as cluster, dask_cluster_module.connected(cluster.address) as hired:
        assert parallel_map(called, functions, workers=hired) == alone
        assert examples.own_calibrator(workers=hired) == calibrated


# Calls what it is given; every worker can import it.
called = methodcaller("__call__")
