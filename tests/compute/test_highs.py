"""The door to HiGHS: its threads are shared by a whole process, and somebody else may have started more."""

from __future__ import annotations

import highspy
import numpy as np
from scipy import sparse

from blindcal.compute.highs import load_model, solve_model


def test_solvers_with_other_threads_in_the_process_do_not_matter() -> None:
    """minimize x with x >= 1, before and after somebody solves on two threads."""
    cost, one = np.ones(1), sparse.csc_array(np.ones((1, 1)))
    ours = load_model(one, cost, (np.zeros(1), np.full(1, 5.0)), (np.ones(1), np.full(1, 2.0)))
    theirs = load_model(one, cost, (np.zeros(1), np.full(1, 5.0)), (np.ones(1), np.full(1, 2.0)))
    theirs.setOptionValue("threads", 2)
    for solver in (ours, theirs, ours, theirs):
        solver.clearSolver()
        assert solve_model(solver) == highspy.HighsModelStatus.kOptimal
        assert np.asarray(solver.getSolution().col_value) == 1.0


def test_a_model_arrives_as_it_was_given() -> None:
    """minimize -2x - 3y with x + y <= 3, x - y >= -1, 0 <= x <= 2, 0 <= y <= 5: at (1, 2)."""
    matrix = sparse.csc_array(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]]))
    columns = np.zeros(3), np.array([2.0, 5.0, 1.0])
    rows = np.array([-np.inf, -1.0, -np.inf]), np.array([3.0, np.inf, np.inf])
    solver = load_model(matrix, np.array([-2.0, -3.0, 1.0]), columns, rows)
    assert solve_model(solver) == highspy.HighsModelStatus.kOptimal
    assert np.allclose(solver.getSolution().col_value, [1.0, 2.0, 0.0], atol=1e-9)
    held = solver.getLp()
    assert (held.num_row_, held.num_col_) == matrix.shape
    assert list(held.a_matrix_.value_) == [1.0, 1.0, 1.0, -1.0]
    assert set(held.integrality_) <= {highspy.HighsVarType.kContinuous}
