#!/usr/bin/env python3
"""Take decisions through a HotCRP of your own and back, and count how many came back equal.

    python tools/hotcrp_round_trip.py ~/hotcrp --out trip

NOT RUN IN THE TESTS, which have no PHP and no MariaDB: they run this program against a stand-in for PHP only.
It was written by reading HotCRP's batch scripts. When their last step was tried by hand, batch/assign.php of
HotCRP 3.4 took such a file: 30 of 30 decisions.

It needs PHP, MariaDB (or MySQL), a checkout of HotCRP with a `conf/options.php` of an EMPTY database (its
`lib/createdb.sh` makes both), and `blindcal` installed for the Python that runs it. A site that has papers is
refused: never try this on a real one. What it does:

1. The people, papers and reviews of tests/data/systems/hotcrp-3.4-scores.csv (made up) go into the database,
   by HotCRP's batch/saveusers.php and batch/savepapers.php -r. Scores above 5 become 5, as in HotCRP's form.
2. HotCRP's batch/reviewcsv.php writes the reviews, and blindcal must find all of them.
3. `blindcal new`, `import`, `fit`, `plan`, `decide` and `export --to hotcrp`; the past year is
   hotcrp-3.4-scores-past.csv.
4. HotCRP's batch/assign.php reads the file.
5. `Paper.outcome` in the database (positive: accepted, negative: rejected) is compared with decisions.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

SYSTEMS = Path(__file__).resolve().parents[1] / "tests" / "data" / "systems"
BEST = 5
OUTCOMES = """
require_once("./src/init.php");
$conf = initialize_conf(null, null);
$result = $conf->qe("select paperId, outcome from Paper where paperId>0 order by paperId");
while (($row = $result->fetch_row())) echo join(",", $row), "\\n";
"""


def scores(name: str) -> list[dict[str, str]]:
    """The rows of a file that HotCRP wrote, with scores that fit its own form."""
    with (SYSTEMS / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{**row, "OveMer": str(min(BEST, int(row["OveMer"])))} for row in rows]


def php(site: Path, *command: str, given: str = "") -> str:
    """What a script of HotCRP answers."""
    try:
        run = subprocess.run(["php", *command], cwd=site, input=given, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit("PHP is needed: there is no program called php")
    if run.returncode:
        sys.exit(f"php {command[0]} ended with {run.returncode}:\n{run.stderr or run.stdout}")
    return run.stdout


def outcomes(site: Path) -> dict[str, int]:
    """`Paper.outcome` by paper."""
    lines = php(site, "-r", OUTCOMES).split()
    return {paper: int(outcome) for paper, _, outcome in (line.partition(",") for line in lines)}


def fill(site: Path, rows: list[dict[str, str]]) -> None:
    """Bring people, papers and reviews into an empty site."""
    people = {row["email"]: row["reviewername"] for row in rows}
    users = [{"email": email, "name": name, "roles": "pc"} for email, name in people.items()]
    php(site, "batch/saveusers.php", "--no-notify", "-", given=json.dumps(users))
    papers: dict[str, dict[str, object]] = {}
    reviews: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        author = {"email": f"author{row['paper']}@example.net", "name": f"Author {row['paper']}"}
        papers[row["paper"]] = {
            "pid": int(row["paper"]),
            "title": row["title"],
            "abstract": "An abstract.",
            "authors": [author],
            "status": "submitted",
        }
        review = {"reviewer_email": row["email"], "ready": True, "OveMer": int(row["OveMer"])}
        reviews.setdefault(row["paper"], []).append({**review, "RevExp": int(row["RevExp"])})
    content = [{**paper, "reviews": reviews[number]} for number, paper in papers.items()]
    php(site, "batch/savepapers.php", "-r", "-q", "-", given=json.dumps(content))


def blindcal(*command: str) -> str:
    run = subprocess.run([sys.executable, "-m", "blindcal", *command], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"blindcal {command[0]} ended with {run.returncode}:\n{run.stderr}")
    return run.stdout


def decide(out: Path, rows: list[dict[str, str]], exported: str) -> dict[str, str]:
    """Decide in a new folder; the decisions by paper, and decisions-hotcrp.csv beside them."""
    (out / "reviews.csv").write_text(exported, encoding="utf-8")
    past = scores("hotcrp-3.4-scores-past.csv")
    with (out / "past.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, past[0])
        writer.writeheader()
        writer.writerows(past)
    folder = str(out / "icx")
    blindcal("new", folder, "--accept", "40%", "--scores", "confidential")
    found = json.loads(blindcal("import", folder, str(out / "reviews.csv"), "--as", "reviews", "--json"))
    if found["reviews"]["reviews"] != len(rows):
        sys.exit(
            f"HotCRP wrote {found['reviews']['reviews']} reviews and was given {len(rows)}: "
            f"see {out / 'reviews.csv'}"
        )
    blindcal("import", folder, str(SYSTEMS / "hotcrp-3.4-pcinfo.csv"), "--as", "committee")
    blindcal("import", folder, str(out / "past.csv"), "--as", "past")
    blindcal("fit", folder)
    blindcal("plan", folder)
    blindcal("decide", folder)
    blindcal("export", folder, "--to", "hotcrp", "--out", str(out / "decisions-hotcrp.csv"))
    with (out / "icx" / "public" / "release-1" / "decisions.csv").open(encoding="utf-8", newline="") as file:
        return {row["paper"]: row["decision"] for row in csv.DictReader(file)}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("hotcrp", type=Path, help="a checkout of HotCRP with conf/options.php")
    parser.add_argument("--out", type=Path, required=True, help="the folder to make, for all files")
    given = parser.parse_args()
    site, out = given.hotcrp.resolve(), given.out.resolve()
    needed = ["batch/saveusers.php", "batch/savepapers.php", "batch/reviewcsv.php", "batch/assign.php"]
    missing = [name for name in [*needed, "conf/options.php"] if not (site / name).exists()]
    if missing:
        sys.exit(f"{site} must be a checkout of HotCRP that is set up: there is no {missing[0]}")
    if out.exists():
        sys.exit(f"{out} exists already and is never overwritten")
    if outcomes(site):
        sys.exit("the site has papers already: this is for an empty one")
    out.mkdir(mode=0o700)
    rows = scores("hotcrp-3.4-scores.csv")
    fill(site, rows)
    decisions = decide(out, rows, php(site, "batch/reviewcsv.php"))
    php(site, "batch/assign.php", str(out / "decisions-hotcrp.csv"))
    signs = {paper: (outcome > 0) - (outcome < 0) for paper, outcome in outcomes(site).items()}
    wanted = {paper: 1 if decision == "accept" else -1 for paper, decision in decisions.items()}
    equal = sum(signs.get(paper) == sign for paper, sign in wanted.items())
    print(f"HotCRP: {equal} of {len(wanted)} decisions came back equal")
    if signs != wanted:
        sys.exit(1)


if __name__ == "__main__":
    main()
