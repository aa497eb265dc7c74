"""The door to HiGHS: its threads are shared by a whole process, and somebody else may have started more."""

from __future__ import annotations

import highspy
import numpy as np
from scipy import sparse

from blindcal.highs import passed, run


def test_solvers_with_other_threads_in_the_process_do_not_matter() -> None:
    """minimize x with x >= 1, before and after somebody solves on two threads."""
    cost, one = np.ones(1), sparse.csc_array(np.ones((1, 1)))
    ours = passed(one, cost, (np.zeros(1), np.full(1, 5.0)), (np.ones(1), np.full(1, 2.0)))
    theirs = passed(one, cost, (np.zeros(1), np.full(1, 5.0)), (np.ones(1), np.full(1, 2.0)))
    theirs.setOptionValue("threads", 2)
    for solver in (ours, theirs, ours, theirs):
        solver.clearSolver()
        assert run(solver) == highspy.HighsModelStatus.kOptimal
        assert np.asarray(solver.getSolution().col_value) == 1.0
