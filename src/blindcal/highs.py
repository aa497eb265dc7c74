"""The one door to HiGHS, which solves the linear programs: how a model is passed to it, and how it is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import highspy

from blindcal.checks import Array

# One thread, so that results do not depend on the machine's cores. The variables are masses: see `programs`.
_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,
}


def passed(
    matrix: Any,
    cost: Array,
    columns: tuple[Array, Array],
    rows: tuple[Array, Array],
    options: dict[str, str] | None = None,
) -> Any:
    """A solver that holds `minimize cost @ x` with x between `columns` and `matrix @ x` between `rows`."""
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, (lp.col_lower_, lp.col_upper_), (lp.row_lower_, lp.row_upper_) = cost, columns, rows
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    make: Callable[[], Any] = highspy.Highs
    solver = make()
    for option, value in {**_OPTIONS, **(options or {})}.items():
        solver.setOptionValue(option, value)
    solver.passModel(lp)
    return solver


def run(solver: Any) -> Any:
    """Solve from the last basis, and how that ended."""
    solver.run()
    if solver.getModelStatus() == highspy.HighsModelStatus.kNotset:
        # All solvers of a process share their threads. If somebody else's have more than one, HiGHS does not
        # even begin: start the threads anew.
        highspy.Highs.resetGlobalScheduler(True)
        solver.run()
    return solver.getModelStatus()
