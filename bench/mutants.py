"""Mutants of the core, and which of them the tests kill: `python bench/mutants.py --count 300`.

One small change at a time (a comparison, a sign, a constant, a dropped argument, a negated condition), drawn
evenly over the modules from belief to release; each runs the tests of its module until one fails. A mutant
that lives is a hole in the tests or changes nothing that can be seen: read it. Constants at the top of a
module, which tune a search, and texts are left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# The tests of each module, the quickest and most likely to notice first.
TESTS = {
    "posterior/acceptance_bar": (
        "posterior/acceptance_bar posterior/conference posterior/large_pools verification archive"
    ),
    "posterior/belief": ("posterior/belief outsiders certify/claims policy/policy"),
    "posterior/tuple_weights": (
        "posterior/tuple_weights outsiders precise_reviewers certify/claims planning/conference_plan "
        "posterior/large_pools"
    ),
    "posterior/paper": (
        "posterior/paper posterior/tuple_weights outsiders certify/claims planning/conference_plan "
        "policy/accept_lp posterior/large_pools posterior/conference deciding/decide"
    ),
    "certify/claims": (
        "certify/claims precise_reviewers outsiders planning/conference_plan attacks verification "
        "posterior/large_pools"
    ),
    "deciding/key": ("deciding/key deciding/decide planted_bugs cli/decide attacks verification"),
    "posterior/conference": (
        "posterior/conference planning/conference_plan posterior/large_pools cli/decide verification"
    ),
    "posterior/large_pools": ("posterior/large_pools posterior/tuple_sums policy/accept_lp outsiders"),
    "policy/budget": ("policy/budget policy/accept_lp planning/guarantee_menu attacks"),
    "certify/exact": (
        "certify/exact certify/claims precise_reviewers outsiders posterior/large_pools deciding/ledger "
        "attacks planning/conference_plan"
    ),
    "deciding/amend": ("deciding/amend deciding/decide attacks verification deciding/decide"),
    "planning/conference_plan": (
        "planning/conference_plan deciding/decide verification attacks posterior/large_pools "
        "planning/guarantee_menu"
    ),
    "pools/candidates": ("pools/candidates posterior/conference outsiders posterior/large_pools cli/decide"),
    "deciding/ledger": ("deciding/ledger attacks verification deciding/amend cli/decide"),
    "deciding/lists": (
        "deciding/lists deciding/decide deciding/amend attacks verification planted_bugs cli/decide"
    ),
    "deciding/decide": ("deciding/amend attacks verification cli/decide"),
    "policy/accept_lp": (
        "policy/accept_lp policy/solver planning/conference_plan outsiders posterior/large_pools "
        "certify/claims"
    ),
    "policy/solver": ("policy/solver policy/accept_lp policy/pareto_frontier"),
    "planning/expected_errors": (
        "planning/expected_errors planning/conference_plan planning/guarantee_menu posterior/conference "
        "posterior/large_pools verification deciding/decide attacks"
    ),
    "deciding/certificate": (
        "deciding/certificate deciding/decide attacks verification planted_bugs cli/decide"
    ),
    "verification": ("verification attacks cli/decide"),
}
FLIPPED: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SWAPPED = {"max": "min", "min": "max", "any": "all", "all": "any", "maximum": "minimum", "minimum": "maximum"}
SWAPPED |= {"argmax": "argmin"}


@dataclass(frozen=True)
class Mutant:
    """A change of one expression: module, place, and the text before and after."""

    module: str
    line: int
    start: int
    end: int
    before: str
    after: str


def mutants(module: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    tree = ast.parse(text)
    left_out = [one for one in tree.body if isinstance(one, ast.Assign | ast.AnnAssign)]
    left_out += [one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr | ast.Raise)]
    tuned = {id(node) for one in left_out for node in ast.walk(one)}
    offsets = [0]
    for line in text.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    for node in ast.walk(tree):
        if id(node) in tuned or not isinstance(node, ast.expr):
            continue
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = text.encode()[start:end].decode()
        for after in changes(node):
            yield Mutant(module, node.lineno, start, end, before, after)


def changes(node: ast.expr) -> Iterator[str]:
    """The texts that may stand in place of an expression."""
    copy = deepcopy(node)
    if isinstance(copy, ast.Compare) and len(copy.ops) == 1:
        copy.ops = [FLIPPED[type(copy.ops[0])]()]
    elif isinstance(copy, ast.BinOp | ast.BoolOp) and type(copy.op) in FLIPPED:
        copy.op = FLIPPED[type(copy.op)]()
    elif isinstance(copy, ast.UnaryOp) and isinstance(copy.op, ast.Not | ast.USub):
        copy = copy.operand
    elif isinstance(copy, ast.Constant) and isinstance(copy.value, bool):
        copy.value = not copy.value
    elif isinstance(copy, ast.Constant) and isinstance(copy.value, int | float):
        copy.value = copy.value + 1 if isinstance(copy.value, int) else 2 * copy.value + 1e-3
    elif isinstance(copy, ast.IfExp):
        copy.body, copy.orelse = copy.orelse, copy.body
    elif isinstance(copy, ast.Call):
        yield from changed_calls(copy)
        return
    else:
        return
    yield f"({ast.unparse(copy)})"


def changed_calls(call: ast.Call) -> Iterator[str]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name in SWAPPED:
        text = ast.unparse(call)
        yield text.replace(f"{name}(", f"{SWAPPED[name]}(", 1)
    for index in range(len(call.keywords)):
        if call.keywords[index].arg not in (None, "strict", "dtype", "axis"):
            kept = [k for i, k in enumerate(call.keywords) if i != index]
            yield ast.unparse(ast.Call(call.func, call.args, kept))


def alive(mutant: Mutant, seconds: float, python: str) -> tuple[bool, str]:
    """Whether every test passes with the mutant in place, and what noticed it otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        path = source_of(source, mutant.module)
        text = path.read_bytes()
        path.write_bytes(text[: mutant.start] + mutant.after.encode() + text[mutant.end :])
        files = [str(path), *(str(test_of(name)) for name in TESTS[mutant.module].split())]
        command = [python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *files]
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = {**os.environ, **one, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            run = subprocess.run(
                [*command, "--basetemp", f"{folder}/tmp"],
                cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False, "out of time"
    lines = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR", "E  "))]
    return run.returncode == 0, " | ".join(line[:120] for line in lines[:6]) or f"exit code {run.returncode}"


def source_of(folder: Path, module: str) -> Path:
    """The file of a module, given as `package/module`."""
    return folder / "blindcal" / f"{module}.py"


def test_of(name: str) -> Path:
    """The file of tests of this name, whichever folder it is in; a name may say the folder."""
    folder, _, stem = name.rpartition("/")
    (found,) = (ROOT / "tests").rglob(f"{folder}/test_{stem}.py" if folder else f"test_{stem}.py")
    return found


def rows_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modules", default=",".join(TESTS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600.0, help="for one mutant")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--again", type=Path, help="try those that lived in this earlier --out")
    asked = parser.parse_args()
    names = asked.modules.split(",")
    found = {
        name: list(mutants(name, source_of(ROOT / "src", name).read_text(encoding="utf-8"))) for name in names
    }
    everything = [one for ones in found.values() for one in ones]
    # Which ones: the same for the same seed. Nothing here is secret.
    chosen = random.Random(asked.seed).sample(everything, min(asked.count, len(everything)))
    if asked.again:
        lived = {(row["module"], row["before"], row["after"]) for row in rows_of(asked.again) if row["lives"]}
        chosen = [one for one in everything if (one.module, one.before, one.after) in lived]
    print(f"{len(everything)} mutants of {len(names)} modules, {len(chosen)} tried", flush=True)
    rows = []
    with ThreadPoolExecutor(asked.workers) as pool:
        whole = [] if asked.again else [Mutant(name, 0, 0, 0, "", "") for name in names]
        for one, job in [(one, pool.submit(alive, one, asked.seconds, asked.python)) for one in whole]:
            if not job.result()[0]:
                sys.exit(f"the tests of {one.module} fail without any mutant: {job.result()[1]}")
        jobs = [(one, pool.submit(alive, one, asked.seconds, asked.python)) for one in chosen]
        for one, job in jobs:
            lives, noticed = job.result()
            rows.append({**asdict(one), "lives": lives, "noticed": noticed})
            if asked.out:
                asked.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
            if lives:
                print(f"LIVES {one.module}.py:{one.line}: {one.before}  ->  {one.after}", flush=True)
    print(f"{sum(not row['lives'] for row in rows)} of {len(rows)} killed")


if __name__ == "__main__":
    main()
