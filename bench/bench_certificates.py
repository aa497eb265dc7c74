"""Exact certification and the coin, against the program that found the table, in the same run."""

from __future__ import annotations

import time
from fractions import Fraction

from blindcal.certify.claims import certify
from blindcal.deciding.key import Key, draw
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.simulation.conference import simulate

PAPERS, POOL, REVIEWS, BAR = 40, 12, 3, 0.67


def main() -> None:
    cases = simulate(PAPERS, POOL, REVIEWS, seed=1).cases(BAR)
    for guarantee in (
        Guarantee("steady", epsilon=2.0),
        Guarantee("steady", epsilon=None),
        Guarantee("average", epsilon=None),
    ):
        began = time.process_time()
        tables = [solve(case, guarantee).accept for case in cases]
        solving = (time.process_time() - began) / len(cases)
        beliefs = [case.belief for case in cases]
        began = time.process_time()
        claims = [certify(b, table, guarantee)[1] for b, table in zip(beliefs, tables, strict=True)]
        certifying = (time.process_time() - began) / len(cases)
        repaired = sum(claim.mixed > 0 for claim in claims)
        print(
            f"{guarantee.name}, epsilon {guarantee.epsilon}: program {1e3 * solving:.1f} ms a paper, "
            f"certificate {1e3 * certifying:.1f} ms (ratio {certifying / solving:.2f}), "
            f"{repaired} of {len(cases)} repaired"
        )
    key, draws = Key(bytes(32)), 20_000
    began = time.process_time()
    for number in range(draws):
        draw(key, {"paper": "p", "draw": number}, Fraction(1, 3))
    print(f"coin: {1e6 * (time.process_time() - began) / draws:.0f} microseconds")


if __name__ == "__main__":
    main()
