"""Fixed public instances -> where a mechanism lies against the frontier and against the menu.

In: a mechanism, which is a function from a belief to a policy. Out: its errors and what it reveals on every
instance (`instances`), to three adversaries (`measures`), beside ours and simple ones (`baselines`).
Imports: paper and below.
"""

from blindcal.mechanisms.baselines import MECHANISMS, Mechanism, load
from blindcal.mechanisms.instances import INSTANCES, Instance, instance
from blindcal.mechanisms.measures import Score, measure, results_frame, run

__all__ = [
    "INSTANCES",
    "MECHANISMS",
    "Instance",
    "Mechanism",
    "Score",
    "instance",
    "load",
    "measure",
    "results_frame",
    "run",
]
