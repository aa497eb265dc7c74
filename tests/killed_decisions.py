"""`decide` killed at random moments: run by test_cli_decide.py in a small process that may fork."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from random import Random

from blindcal.cli import run
from small_conferences import arguments

PUBLIC = ("decisions.csv", "certificate.json")


def quiet(command: list[str]) -> int:
    """Run a command in a child without its words."""
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os._exit(run(command))
    return child


def main(inputs: Path, work: Path, kills: int, seed: int) -> None:
    """Each round starts from nothing but the key, kills one run, changes nothing, and runs again."""
    rng, key = Random(seed), (work / "chair" / "key.bin").read_bytes()
    expected = {name: (work / "expected" / name).read_bytes() for name in PUBLIC}
    began = time.monotonic()
    seen = {"killed": 0, "wrong": 0, "published": 0, "sealed": 0}
    longest = 0.0
    for index in range(kills):
        chair, out = work / f"killed{index}", work / f"killed{index}-out"
        chair.mkdir()
        (chair / "key.bin").write_bytes(key)
        (chair / "key.bin").chmod(0o600)
        command = arguments(inputs, chair / "key.bin", out)
        began = time.monotonic()
        child = quiet(command)
        if index:
            time.sleep(rng.uniform(0, 1.1 * longest))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        longest = longest or time.monotonic() - began
        seen["killed"] += os.WIFSIGNALED(status)
        found = {name: (out / name).read_bytes() for name in PUBLIC if (out / name).exists()}
        seen["wrong"] += any(data != expected[name] for name, data in found.items())
        ledger = (chair / "key.bin.sealed" / "ledger.json").exists()
        seen["wrong"] += bool(found) and not ledger
        seen["published"] += bool(found)
        seen["sealed"] += ledger
        os.waitpid(quiet(command), 0)
        seen["wrong"] += {name: (out / name).read_bytes() for name in PUBLIC} != expected
        left = {path.name for path in (chair / "key.bin.sealed").iterdir()}
        seen["wrong"] += left != {"ledger.json", "1-1.json", "1-1.tables"}
        shutil.rmtree(chair)
        shutil.rmtree(out)
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
