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
# As much of HotCRP as the script asks for, in Python: papers, reviews and decisions in a JSON file.
STAND_IN = """#!{python}
import csv, json, os, pathlib, sys
path = pathlib.Path("store.json")
store = json.loads(path.read_text()) if path.exists() else dict(papers=[], meta=[])
papers = store["papers"]
ids = dict(zip(("Unspecified", "Accepted", "Rejected", "Desk rejected", "Early reject"), (0, 1, -1, -2, -3)))
classes = dict(zip(ids, ("maybe", "accept", "reject", "desk_reject", "reject")))
names = {{number: name for name, number in ids.items()}}
command, words = sys.argv[1], sys.argv[2:]


def reviews(header):
    table = csv.writer(sys.stdout)
    table.writerow(header)
    for paper in papers:
        gone = paper["status"] == "withdrawn" or paper["outcome"] == ids["Desk rejected"]
        for place, review in enumerate(paper["reviews"] if header[0] == "paper" or not gone else []):
            name = f"{{paper['pid']}}{{'ABCD'[place]}}"
            who, scores = review["reviewer_email"], (review["OveMer"], review["RevExp"])
            known = dict(
                paper=paper["pid"], pid=paper["pid"], title=paper["title"], review=name, email=who, round="",
                decision=names[paper["outcome"]] * (paper["outcome"] != 0),
            )
            table.writerow([known[cell] for cell in header[:-2]] + [*scores])


if command.endswith("hotcrp_site.php"):
    question = words[1]
    if question == "papers":
        for paper in papers:
            print(f"{{paper['pid']}},{{paper['outcome']}},{{paper['status']}}")
    elif question == "decisions":
        for name, number in ids.items():
            print(f"{{number}},{{classes[name]}},{{name}}")
    elif question == "seen":
        for paper in papers:
            if paper["outcome"] == ids["Desk rejected"]:
                print(f"{{paper['pid']}},Desk rejected")
    elif question == "get/scores":
        reviews(["paper", "title", "decision", "review", "email", "OveMer", "RevExp"])
    elif question == "get/revcsv":
        reviews(["paper", "title", "review", "email", "Overall merit", "Reviewer expertise"])
    elif question == "get/pcassignments":
        print("paper,action,email,title")
        for paper in papers:
            for review in paper["reviews"]:
                who = review["reviewer_email"]
                kind = "metareview" if [f"{{paper['pid']}}", who] in store["meta"] else "pcreview"
                print(f"{{paper['pid']}},{{kind}},{{who}}")
    else:
        status = {{1: "accept", -1: "reject", -2: "desk_reject", -3: "reject"}}
        listed = [
            {{
                "pid": paper["pid"], "title": paper["title"], "pc_conflicts": {{}},
                "status": status.get(paper["outcome"], paper["status"]),
                "decision": names[paper["outcome"]] * (paper["outcome"] != 0),
                "reviews": [
                    {{
                        **review, "pid": paper["pid"], "rid": place, "status": "complete",
                        "rtype": 5 if [f"{{paper['pid']}}", review["reviewer_email"]] in store["meta"] else 2,
                    }}
                    for place, review in enumerate(paper["reviews"])
                ],
            }}
            for paper in papers
        ]
        print(json.dumps({{"papers": listed}}))
elif command == "batch/savepapers.php":
    for given in json.loads(sys.stdin.read()):
        known = [paper for paper in papers if paper["pid"] == given["pid"]]
        if known:
            known[0]["reviews"] += given["reviews"]
        else:
            papers.append({{**given, "outcome": 0, "submission": None}})
elif command == "batch/reviewcsv.php":
    reviews(["pid", "review", "email", "round", "Overall merit", "Reviewer expertise"])
elif command == "batch/assign.php":
    rows = list(csv.DictReader(open(words[0]) if words else sys.stdin))
    if any(row["decision"] == "no" for row in rows):
        sys.exit("More than one decision matches 'no'")
    store["meta"] += [[row["paper"], row["email"]] for row in rows if row["action"] == "metareview"]
    given = {{row["paper"]: row["decision"] for row in rows if row["action"] == "decision"}}
    for paper in papers:
        if f"{{paper['pid']}}" in given and not (words and paper["pid"] in {lost}):
            paper["outcome"] = ids[given[f"{{paper['pid']}}"]]
path.write_text(json.dumps(store))
"""


def site(folder: Path, lost: tuple[int, ...] = ()) -> Path:
    for name in ("saveusers", "savepapers", "settings", "reviewcsv", "assign"):
        path = folder / "hotcrp" / "batch" / f"{name}.php"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (folder / "hotcrp" / "conf").mkdir()
    (folder / "hotcrp" / "conf" / "options.php").touch()
    (folder / "hotcrp" / "etc").mkdir()
    (folder / "hotcrp" / "etc" / "sample.pdf").write_bytes(b"%PDF-1.4")
    (folder / "bin").mkdir()
    program = folder / "bin" / "php"
    program.write_text(STAND_IN.format(python=sys.executable, lost=lost))
    program.chmod(0o755)
    return folder / "hotcrp"


def run(path: str, *arguments: str) -> tuple[int, str]:
    source = os.pathsep.join((str(Path(blindcal.__file__).parents[1]), os.environ.get("PYTHONPATH", "")))
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env={**os.environ, "PATH": path, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    return ended.returncode, ended.stdout + ended.stderr


def with_stand_in(folder: Path) -> str:
    return f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("lost", [(), (7, 12)])
def test_outcomes_are_compared_themselves(tmp_path: Path, lost: tuple[int, ...]) -> None:
    """The stand-in loses the decisions of no paper, or of two."""
    place, path = site(tmp_path, lost), with_stand_in(tmp_path)
    code, said = run(path, str(place), "--out", str(tmp_path / "trip"))
    assert (code, f"HotCRP: {30 - len(lost)} of 30 outcomes as they should be, 27 by blindcal\n" in said) == (
        int(bool(lost)),
        True,
    ), said
    for name in ("rqc.json", "scores.csv", "reviews.csv"):
        assert f"{name}: 90 reviews; left out: " in said
    assert "'29': 'decided already (Early reject)'" in said
    assert "assign.php: More than one decision matches 'no'" in said, "what HotCRP says is shown"
    assert "papers on which an author sees a decision: equal" in said
    code, said = run(path, str(place), "--out", str(tmp_path / "again"))
    assert (code, "the site has papers already: this is for an empty one" in said) == (1, True)


def test_what_is_missing_is_said_with_the_line_that_installs_it(tmp_path: Path) -> None:
    place = site(tmp_path)
    code, said = run(with_stand_in(tmp_path), str(tmp_path), "--out", str(tmp_path / "trip"))
    assert (code, "must be a checkout of HotCRP that is set up" in said) == (1, True)
    code, said = run(str(tmp_path / "nothing"), str(place), "--out", str(tmp_path / "trip"))
    assert (code, "As root: apt-get install php-cli php-mysql" in said) == (1, True)
