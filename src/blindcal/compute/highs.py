"""HiGHS, the solver of the linear programs: how a model is loaded into it, and how it is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import highspy
import numpy as np

from blindcal.checks import Array

# One thread, so that results do not depend on the machine's cores. The variables are masses, hence the small
# tolerances: see `policy.accept_lp`.
_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,
}
# As the solver's own interface counts them.
_BY_COLUMN, _MINIMIZE = 1, 1


def load_model(
    matrix: Any,
    cost: Array,
    columns: tuple[Array, Array],
    rows: tuple[Array, Array],
    options: dict[str, str] | None = None,
) -> Any:
    """A solver that holds `minimize cost @ x` for x between `columns` and `matrix @ x` between `rows`."""
    make: Callable[[], Any] = highspy.Highs
    solver = make()
    for option, value in {**_OPTIONS, **(options or {})}.items():
        solver.setOptionValue(option, value)
    (height, width), pairs = matrix.shape, matrix.nnz
    start, index = (part.astype(np.int32, copy=False) for part in (matrix.indptr, matrix.indices))
    shape = width, height, pairs, _BY_COLUMN, _MINIMIZE, 0.0
    # Arrays are taken as they are; the fields of a `HighsLp` number by number, which takes six times as long.
    solver.passModel(
        *shape, cost, *columns, *rows, start, index, matrix.data, np.zeros(width, dtype=np.int32)
    )
    return solver


def solve_model(solver: Any) -> Any:
    """Solve from the last basis, and return how that ended."""
    solver.run()
    if solver.getModelStatus() == highspy.HighsModelStatus.kNotset:
        # All solvers of a process share their threads. If somebody else's have more than one, HiGHS does not
        # even begin: start the threads anew.
        highspy.Highs.resetGlobalScheduler(True)
        solver.run()
    return solver.getModelStatus()
