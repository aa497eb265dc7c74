"""Experiments that fork and kill run in a small process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def stress(experiment: str, folder: Path, script: str = "crashes", **numbers: int | str) -> dict[str, int]:
    """What one experiment of a script counted."""
    path = Path(__file__).with_name(f"{script}.py")
    command = [sys.executable, str(path), experiment, str(folder), json.dumps(numbers)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))
