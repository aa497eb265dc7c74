"""Other kinds of machines, as far as this one can play them: narrower kernels of OpenBLAS, and numpy without
its wider instructions. As a program it decides conferences, or verifies what another kind decided."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np

from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key
from blindcal.io.atomic_files import write_bytes
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.verification import verify

# Narrowest first. What a kernel needs: only those below the machine's own can be chosen, and a wider one ends
# in an illegal instruction.
_KERNELS = {"Nehalem": "SSE42", "Haswell": "AVX2", "SkylakeX": "AVX512_SKX"}
# What numpy goes without on such a machine: it chooses among its extensions one by one.
_WITHOUT = {"Nehalem": ("X86_V3", "X86_V4", "AVX"), "Haswell": ("X86_V4", "AVX512"), "SkylakeX": ()}
KINDS = (
    "continuous",
    "rounded",
    "uncertain",
    "large pools",
    "amended",
    "exact number",
    "average",
    "tied",
)


def machines() -> dict[str, dict[str, str]]:
    """Settings of the environment under which this machine computes like another kind, by its kernel's name;
    only this machine itself where processors are not of this family."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {"own": {}}
    features = np._core._multiarray_umath.__cpu_features__
    able = [kernel for kernel, needed in _KERNELS.items() if features.get(needed)]
    dispatched = np._core._multiarray_umath.__cpu_dispatch__
    kinds = {}
    for kernel in able:
        wider = _WITHOUT[kernel]
        without = [name for name in dispatched if features.get(name) and name.startswith(wider)]
        kinds[kernel] = {"OPENBLAS_CORETYPE": kernel, "NPY_DISABLE_CPU_FEATURES": " ".join(without)}
    return kinds


def run_as(machine: dict[str, str], *arguments: str, program: str = __file__) -> str:
    """What this module, or another one, prints as a program on such a machine."""
    environment = {**os.environ, **machine, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment = {name: value for name, value in environment.items() if value}
    found = subprocess.run(
        [sys.executable, "-W", "error", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def conference(folder: Path, kind: str, seed: int) -> Inputs:
    """A small conference of a kind, as files."""
    rng = np.random.default_rng([27, seed, KINDS.index(kind)])
    large, whole = kind == "large pools", kind in ("rounded", "tied")
    people, papers, reviews = (90, 3, 3) if large else (14, 6, 2 + seed % 2)
    slope, offset = np.exp(rng.normal(0, 0.25, people)), rng.normal(5, 0.9, people)
    if kind == "tied":
        # Nice numbers: evidence that is exactly even, equal scores, people who look alike.
        slope, offset = np.ones(people), rng.integers(4, 7, people).astype(float)
    uncertain = kind in ("uncertain", "rounded")
    lines = ["paper,reviewer,score"]
    pools = ["paper,reviewer,probability"]
    for paper in range(papers):
        quality, candidates = rng.normal(), rng.permutation(people)[: people if large else 7]
        for j in candidates[:reviews]:
            score = slope[j] * quality + offset[j] + 0.8 * rng.normal()
            lines.append(f"p{paper},r{j},{round(score) if whole else round(score, 3)}")
        chance = reviews / len(candidates)
        pools += [f"p{paper},r{j},{chance}" for j in sorted(candidates)]
    more = ",slope_se,offset_se" if uncertain else ""
    known = [
        f"r{j},{float(slope[j])},{float(offset[j])},0.8{',0.1,0.3' if uncertain else ''}"
        for j in range(people)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        ("reviews", lines),
        ("reviewers", ["reviewer,slope,offset,noise" + more, *known]),
        ("pools", pools),
    ):
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return read(folder, kind)


def read(folder: Path, kind: str) -> Inputs:
    inputs = (folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools"))
    return read_inputs(*inputs, grid=[float(k) for k in range(-3, 14)] if kind == "rounded" else None)


def request(folder: Path, kind: str, seed: int) -> Request:
    guarantee = (
        Guarantee("steady", epsilon=2.0),
        Guarantee("average", epsilon=2.0),
        Guarantee("steady", epsilon=None),
    )[seed % 3]
    if kind == "average":
        return Request(Guarantee("average", epsilon=None), accept_rate=0.4)
    if kind == "exact number":
        return Request(guarantee, accept=3, wait_list=1)
    return Request(guarantee, accept_rate=0.4)


def decide_all(home: Path, conferences: int) -> None:
    for number, kind in kinds(conferences):
        folder = home / str(number)
        inputs, key = conference(folder, kind, number), folder / "key.bin"
        make_key(key)
        decide(inputs, request(folder, kind, number), key, folder / "out", numbered=True, yes_leak=True)
        if kind == "amended":
            table = folder / "reviews.csv"
            header, first, *rest = table.read_text(encoding="utf-8").splitlines()
            paper, who, score = first.split(",")
            changed = [header, f"{paper},{who},{float(score) + 0.5}", *rest]
            table.write_text("\n".join(changed) + "\n", encoding="utf-8")
            again = read(folder, kind)
            decide(
                again,
                request(folder, kind, number),
                key,
                folder / "out",
                numbered=True,
                amend=True,
                reason="typo",
            )


def verify_all(home: Path, conferences: int) -> Iterator[dict[str, object]]:
    for number, kind in kinds(conferences):
        folder = home / str(number)
        latest = max((folder / "out").glob("release-*"))
        found = verify(read(folder, kind), folder / "key.bin", latest)
        wrong = [f"{c.name}: {c.failed} of {c.items}" for c in found.checks if c.failed]
        differ = sum(len(check.papers) for check in found.checks)
        yield {"conference": number, "kind": kind, "wrong": wrong, "differ": differ}


def this_year(home: Path, conferences: int) -> str:
    """The digest of all that is published of conferences on their own reviews, with keys that are fixed.

    Rounded or not, one by one or an exact number, with centers of areas or not; each is amended once.
    """
    digest = sha256()
    for number in range(conferences):
        rng, folder = np.random.default_rng([28, number]), home / f"year{number}"
        folder.mkdir(parents=True)
        write_bytes(folder / "key.bin", sha256(f"key {number}".encode()).digest(), confidential=True)
        offset = rng.normal(0, 0.9, 20)
        rows = [
            [f"p{paper}", f"r{who}", 5.5 + 1.6 * quality + offset[who] + rng.normal(), f"a{paper % 3}"]
            for paper, quality in enumerate(rng.normal(size=40))
            for who in rng.choice(20, 3, replace=False)
        ]
        digits, exact = (0, 3)[number % 2], number % 4 > 1
        for row in rows:
            row[2] = round(float(np.clip(row[2], 1, 10)), digits)
        names = ("paper", "reviewer", "score", "area")[: 3 + (number % 3 > 0)]
        share = {"accept": 10, "wait_list": 3} if exact else {"accept_rate": 0.25}
        wanted = Request(Guarantee("odds", epsilon=2.0 + number % 2), people=20, **share)
        corrected = next(row[2] for row in rows if row[2] != rows[0][2])
        for again in (False, True):
            rows[0][2] = corrected if again else rows[0][2]
            inputs = read_inputs({name: [row[at] for row in rows] for at, name in enumerate(names)})
            more = {"amend": True, "reason": "typo"} if again else {}
            decide(inputs, wanted, folder / "key.bin", folder / "out", numbered=True, yes_leak=True, **more)
        files = sorted(path for path in (folder / "out").rglob("*") if path.is_file())
        for path in files:
            digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def kinds(conferences: int) -> Iterator[tuple[int, str]]:
    for number in range(conferences):
        yield number, KINDS[number % len(KINDS)]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["decide", path, size]:
            decide_all(Path(path), int(size))
        case ["verify", size, *paths]:
            print(json.dumps([one for path in paths for one in verify_all(Path(path), int(size))]))
        case ["this-year", path, size]:
            print(this_year(Path(path), int(size)))
        case ["others"]:
            # The widest is this machine itself.
            print(*list(machines())[:-1])
        case ["settings", name]:
            print(*(f"{key}={value.replace(' ', ',')}" for key, value in machines()[name].items() if value))
