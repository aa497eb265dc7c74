"""A conference runs through the layers in their order, and what a paper needs is computed once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import blindcal as bc
from layers import LAYERS
from small_conferences import small_conference

SOURCE = Path(bc.__file__).parent

# What stands at the head of a paper's way, in the order in which it is passed.
STATIONS = {
    "posterior/acceptance_bar.py:choose_bar": "bar",
    "posterior/tuple_weights.py:tuple_posteriors": "belief",
    "policy/accept_lp.py:solve": "policy",
    "certify/claims.py:certify": "certificate",
    "deciding/key.py:draw": "decision",
}
# Whoever shares out work, or keeps what was computed, is handed a function and calls it; whoever drafts a
# release is handed a planner, which replays stored tables where a release is verified. A planner is handed
# what a draw, or a check of one, keeps of each plan, and whoever writes a pool down asks it for its rows.
HANDED = {"compute", "errors"}
FUNCTIONS = {
    ("deciding", "verification"), ("planning", "deciding"), ("planning", "verification"), ("io", "deciding"),
}  # fmt: skip


class Trace:
    """The calls within the package while a `with` block runs: who called whom, and in which order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (here := place(frame)) is not None:
            before = frame.f_back
            while before is not None and place(before) is None:
                before = before.f_back
            self.calls.append(("" if before is None else place(before) or "", here))

    @property
    def stations(self) -> list[str]:
        return [STATIONS[here] for _, here in self.calls if here in STATIONS]

    def count(self, name: str) -> int:
        return sum(here.endswith(f":{name}") for _, here in self.calls)


def place(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(SOURCE):
        return None
    return f"{path.relative_to(SOURCE).as_posix()}:{frame.f_code.co_name}"


def layer_of(station: str) -> str:
    return station.partition("/")[0].partition(".")[0]


@contextmanager
def traced() -> Iterator[Trace]:
    trace = Trace()
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)


def files(folder: Path, seed: int) -> bc.Inputs:
    """A conference of a seed that no other test has: what is kept of another one would not be traced."""
    home = small_conference(seed=seed, papers=7, pool=5, reviews=3).write(folder)
    return bc.read_inputs(home / "reviews.csv", home / "reviewers.csv", home / "pools.csv")


def test_calls_go_to_the_same_layer_or_to_one_before_it(tmp_path: Path) -> None:
    """Read, plan, decide, verify: nothing that comes earlier in the line calls what comes later."""
    request = bc.Request(bc.Guarantee("steady", epsilon=2.0), "c", accept_rate=0.4)
    bc.make_key(tmp_path / "key.bin")
    # Names load when they are first used, which is no step of the line.
    assert callable(bc.plan)
    assert callable(bc.decide)
    assert callable(bc.verify)
    with traced() as trace:
        inputs = files(tmp_path / "in", 9301)
        bc.plan(inputs, request).menu()
        bc.decide(inputs, request, tmp_path / "key.bin", tmp_path / "out")
        bc.verify(inputs, tmp_path / "key.bin", tmp_path / "out", conference="c")
    height = {name: index for index, name in enumerate(LAYERS)}
    seen = {(layer_of(caller), layer_of(here)) for caller, here in trace.calls if caller}
    # The face of the package only loads what is behind it.
    seen = {pair for pair in seen if "__init__" not in pair}
    assert {"posterior", "policy", "planning", "deciding", "verification"} <= {here for _, here in seen}
    upwards = {(one, two) for one, two in seen if one not in HANDED and height[two] > height[one]}
    assert upwards == FUNCTIONS


def test_each_paper_passes_belief_policy_certificate_and_decision_in_this_order(tmp_path: Path) -> None:
    """One program, one certificate and one coin a paper, and its tuples weighed once: the bar, which all
    papers set together and at which every integral is cut, needs no exact weight."""
    inputs, request = (
        files(tmp_path / "in", 9302),
        bc.Request(bc.Guarantee("steady", epsilon=2.0), "c", accept_rate=0.4),
    )
    bc.make_key(tmp_path / "key.bin")
    with traced() as trace:
        bc.decide(inputs, request, tmp_path / "key.bin", tmp_path / "out")
    assert trace.stations == ["bar", *["belief", "policy", "certificate"] * 7, *["decision"] * 7]
    assert trace.count("_check_calibration") == 1
    assert trace.count("publish") == 1
