"""What `fit` knows after two past years: the share of its 90 % intervals that hold the truth at the next one.

A committee of 40 reviews at both past conferences, nine reviews each. Two years hardly show how habits drift,
so the fit averages over what its prior takes for possible, correlations from one year to the next around .8
(Beta(4, 1)). Habits that last for ever are the best case of it, and the more reviewers differ, the more width
is left over; if drift is drawn as the prior has it, intervals hold nearly what they say. Writes
docs/numbers/two_past_years.json and the table of docs/explanation/calibration_models.md.

    python studies/two_past_years.py --histories 120
"""

from __future__ import annotations

import argparse

import numpy as np

from blindcal.compute.parallel import available_cores, parallel_map
from past_reviews import Compared, compared, coverage_table, drawn_pasts
from stated import keep

PEOPLE, REVIEWS = 40, 9
# The correlation of habits from one conference to the next, None for one drawn from the prior of the fit; and
# the standard deviation of offsets.
SETTINGS = {
    "habits last": (1.0, 0.4),
    "habits last, offsets of .67": (1.0, 0.67),
    "habits correlate by .8": (0.8, 0.4),
    "any drift, as the fit expects it": (None, 0.4),
}


def compute(job: tuple[str, int]) -> Compared:
    """One history, drawn by its setting and number."""
    setting, number = job
    rng = np.random.default_rng([98, number])
    fixed, offset = SETTINGS[setting]
    persistence = float(rng.beta(4.0, 1.0)) if fixed is None else fixed
    each = {"least": REVIEWS, "most": REVIEWS, "offset_sd": offset}
    return compared(drawn_pasts(rng, PEOPLE, 2, persistence=persistence, **each))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--histories", type=int, default=120, help="for each setting")
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    jobs = [(name, number) for name in SETTINGS for number in range(options.histories)]
    runs = parallel_map(compute, jobs, workers=options.workers)
    found = {name: [run for run, job in zip(runs, jobs, strict=True) if job[0] == name] for name in SETTINGS}
    table = coverage_table(found)
    print(*table, sep="\n")
    command = f"python studies/two_past_years.py --histories {options.histories}"
    keep("two_past_years", command, {"docs/explanation/calibration_models.md": {"two past years": table}}, {})


if __name__ == "__main__":
    main()
