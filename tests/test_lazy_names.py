"""Names of packages: found when they are used, listed by `dir`, and known to type checkers.

`make lint` checks this file too: each `assert_type` is a claim about what type checkers and editors see.
"""

from __future__ import annotations

import re
import subprocess
import sys
from types import ModuleType
from typing import assert_type

import pytest

import blindcal as bc
from blindcal.checks import Array

REVIEWERS = bc.Affine(1.2, 0.6, noise=0.5), bc.Affine(0.8, -0.6, noise=0.5)
# Packages without names for programs are `io`, `compute` and `app`.
FACES = [
    bc,
    *(
        face
        for name in dir(bc)
        if isinstance(face := getattr(bc, name), ModuleType) and "__dir__" in vars(face)
    ),
]


def test_names_of_packages_and_methods_of_beliefs_have_types() -> None:
    belief = assert_type(bc.pair_belief(REVIEWERS, [0.9, 0.4]), bc.Belief)
    front = assert_type(belief.frontier(), bc.policy.Frontier)
    policy = assert_type(belief.policy(bc.Guarantee("none", epsilon=1.0)), bc.Policy)
    assert_type(belief.audit(policy), bc.certify.Claim)
    assert_type(bc.paper.algorithm_3(belief, conference_error=0.2).q, Array)
    assert_type(front.policy(conference_error=0.2).accept, Array)


def test_methods_of_beliefs_are_the_functions_of_later_layers() -> None:
    belief = bc.pair_belief(REVIEWERS, [0.9, 0.4])
    guarantee = bc.Guarantee("average", epsilon=2.0)
    policy = bc.private_policy(belief, guarantee, success=0.9)
    assert (belief.policy(guarantee, success=0.9).accept == policy.accept).all()
    assert (belief.frontier().conference_error == bc.frontier(belief).conference_error).all()
    assert belief.audit(policy) == bc.audit(belief, policy)


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_dir_shows_what_is_public_and_nothing_else(face: ModuleType) -> None:
    assert dir(face) == sorted(face.__all__)
    assert all(hasattr(face, name) for name in face.__all__)


def test_every_package_with_names_shows_them() -> None:
    others = {name for name in dir(bc) if isinstance(getattr(bc, name), ModuleType)} - {
        face.__name__.removeprefix("blindcal.") for face in FACES
    }
    assert others == {"io", "compute", "app"}


def test_a_name_that_is_not_there_is_refused_as_python_does() -> None:
    for face in (bc, bc.policy):
        with pytest.raises(AttributeError, match=f"module '{face.__name__}' has no attribute 'nothing'"):
            getattr(face, "nothing")  # noqa: B009


def test_only_what_is_used_is_loaded() -> None:
    program = (
        "import sys, blindcal as bc; bc.policy.Policy; print(*[m for m in sys.modules if 'blindcal.p' in m])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        *("blindcal.policy", "blindcal.policy.policy", "blindcal.posterior", "blindcal.posterior.belief")
    }


def test_the_help_of_the_package_names_what_is_there() -> None:
    named = set(re.findall(r"`bc\.(\w+)`", bc.__doc__ or ""))
    assert len(named) > 10
    assert named <= set(dir(bc))
    assert all(getattr(bc, name) for name in named)
