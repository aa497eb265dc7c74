"""tools/hotcrp_round_trip.py against a stand-in for PHP: no HotCRP is run here, only the script itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")

import blindcal
from live_conferences import ROOT

pytestmark = pytest.mark.edge
SCRIPT = ROOT / "tools" / "hotcrp_round_trip.py"
# As much of HotCRP as the script asks for, in Python: the papers and reviews in a JSON file.
STAND_IN = """#!{python}
import csv, json, pathlib, sys
store = pathlib.Path("store.json")
papers = json.loads(store.read_text()) if store.exists() else []
command = sys.argv[1]
if command == "-r":
    print("\\n".join(f"{{paper['pid']}},{{paper.get('outcome', 0)}}" for paper in papers))
elif command == "batch/savepapers.php":
    store.write_text(sys.stdin.read())
elif command == "batch/reviewcsv.php":
    table = csv.writer(sys.stdout)
    table.writerow(["pid", "review", "email", "round", "Overall merit", "Reviewer expertise"])
    for paper in papers:
        for place, review in enumerate(paper["reviews"]):
            name = f"{{paper['pid']}}{{'ABC'[place]}}"
            who, scores = review["reviewer_email"], (review["OveMer"], review["RevExp"])
            table.writerow([paper["pid"], name, who, "", *scores])
elif command == "batch/assign.php":
    words = {{row["paper"]: row["decision"] for row in csv.DictReader(open(sys.argv[2]))}}
    outcome = {{"Accepted": 1, "Rejected": -1}}
    for paper in papers:
        if paper["pid"] not in (7, 12):
            paper["outcome"] = outcome[words[str(paper["pid"])]]
    store.write_text(json.dumps(papers))
"""


def site(folder: Path) -> Path:
    for name in ("saveusers", "savepapers", "reviewcsv", "assign"):
        path = folder / "hotcrp" / "batch" / f"{name}.php"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (folder / "hotcrp" / "conf").mkdir()
    (folder / "hotcrp" / "conf" / "options.php").touch()
    (folder / "bin").mkdir()
    program = folder / "bin" / "php"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    return folder / "hotcrp"


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    source = os.pathsep.join((str(Path(blindcal.__file__).parents[1]), os.environ.get("PYTHONPATH", "")))
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env={**os.environ, "PATH": path, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_what_came_back_is_counted(tmp_path: Path) -> None:
    """The stand-in loses the decisions of two papers."""
    place = site(tmp_path)
    assert run(tmp_path, str(place), "--out", str(tmp_path / "trip")) == (
        1,
        "HotCRP: 28 of 30 decisions came back equal\n",
    )
    code, said = run(tmp_path, str(place), "--out", str(tmp_path / "again"))
    assert (code, "the site has papers already: this is for an empty one" in said) == (1, True)


def test_what_is_no_site_is_refused(tmp_path: Path) -> None:
    code, said = run(tmp_path, str(tmp_path), "--out", str(tmp_path / "trip"))
    assert (code, "must be a checkout of HotCRP that is set up" in said) == (1, True)
