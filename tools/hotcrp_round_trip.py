#!/usr/bin/env python3
"""Take decisions through a HotCRP site of your own and back, and compare what it says with what was sent.

    apt-get install php-cli php-mysql php-mbstring php-intl mariadb-server     # what is missing, as root
    python tools/hotcrp_round_trip.py ~/hotcrp --out trip

It needs a checkout of HotCRP (github.com/kohler/hotcrp) whose `conf/options.php` names an EMPTY database,
which its `lib/createdb.sh` makes, and `blindcal` installed for the Python that runs it. A site that has
papers is refused: never try this on a real one. Everything that HotCRP's programs say is shown. What it does:

1. The people, papers and reviews of tests/data/systems/hotcrp-3.4-scores.csv (made up) go into the site, by
   HotCRP's batch/saveusers.php and batch/savepapers.php -r. Scores above 5 become 5, as in HotCRP's own form.
   One paper is withdrawn, one desk rejected, one early rejected; three have a metareview. Decisions stay
   hidden.
2. The downloads of the chair's search page must give blindcal the same reviews: scores with the list of
   assignments, reviews as CSV with it, and the JSON. None of the three papers may be decided.
3. `blindcal new`, `import`, `fit`, `plan`, `decide` and `export --to hotcrp`; the past year is
   hotcrp-3.4-scores-past.csv.
4. HotCRP's batch/assign.php reads the file. Its words yes and no are refused, since this site has three
   decisions that reject, and nothing changes; with the exact names it is taken.
5. `Paper.outcome` of every paper, and on which papers an author sees a decision, are compared with
   decisions.csv and with what was set by hand.
"""

from __future__ import annotations

import argparse
import base64
import csv
import io
import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
SYSTEMS = TOOLS.parent / "tests" / "data" / "systems"
BEST, CHAIR, BATCH = 5, "chair@example.edu", "batch.csv"
INSTALL = "apt-get install php-cli php-mysql php-mbstring php-intl mariadb-server"
DESK, EARLY, WITHDRAWN = "28", "29", "30"
DECISIONS = [
    {"id": "new", "name": "Desk rejected", "category": "desk_reject"},
    {"id": "new", "name": "Early reject", "category": "reject"},
]
METAREVIEWS = ("1", "2", "3")


@dataclass(frozen=True)
class Site:
    """A checkout of HotCRP, and the name of the site if it has several."""

    folder: Path
    name: str | None

    def run(self, *command: str, given: str = "", refused: bool = False) -> str:
        """What a program of HotCRP answers; what it says besides is shown. `refused`: it must not do it."""
        site = ["-n", self.name] if self.name and command[0].startswith("batch/") else []
        done = subprocess.run(
            ["php", command[0], *site, *command[1:]],
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
        )
        for line in done.stderr.splitlines():
            print(f"  {Path(command[0]).name}: {line}")
        if (done.returncode != 0) != refused:
            sys.exit(f"php {command[0]} ended with {done.returncode}: {done.stdout[-2000:]}")
        return done.stdout

    def ask(self, *question: str) -> str:
        """What tools/hotcrp_site.php says of the site."""
        return self.run(str(TOOLS / "hotcrp_site.php"), self.name or "-", *question)

    def lines(self, what: str) -> list[list[str]]:
        return [line.split(",", 2) for line in self.ask(what).splitlines()]

    def outcomes(self) -> dict[str, int]:
        """`Paper.outcome` by paper."""
        return {paper: int(outcome) for paper, outcome, _ in self.lines("papers")}


def scores(name: str) -> list[dict[str, str]]:
    """The rows of a file that HotCRP wrote, with scores that fit its own form."""
    with (SYSTEMS / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{**row, "OveMer": str(min(BEST, int(row["OveMer"])))} for row in rows]


def fill(site: Site, rows: list[dict[str, str]]) -> None:
    """Bring people, papers, reviews, metareviews and decisions by hand into an empty site."""
    people = {row["email"]: row["reviewername"] for row in rows}
    users = [{"email": email, "name": name, "roles": "pc"} for email, name in people.items()]
    users.append({"email": CHAIR, "name": "The Chair", "roles": "chair"})
    site.run("batch/saveusers.php", "--no-notify", "-", given=json.dumps(users))
    site.run("batch/settings.php", "save", given=json.dumps({"decision": DECISIONS}))
    pdf = base64.b64encode((site.folder / "etc" / "sample.pdf").read_bytes()).decode()
    papers: dict[str, dict[str, object]] = {}
    reviews: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        number = row["paper"]
        papers[number] = {
            "pid": int(number),
            "title": row["title"],
            "abstract": "An abstract.",
            "authors": [{"email": f"author{number}@example.net", "name": f"Author {number}"}],
            "status": "withdrawn" if number == WITHDRAWN else "submitted",
            # Without a file a paper stays a draft.
            "submission": {"content_base64": pdf, "type": "application/pdf"},
        }
        reviews.setdefault(number, []).append(answer(row["email"], int(row["OveMer"]), int(row["RevExp"])))
    content = [{**paper, "reviews": reviews[number]} for number, paper in papers.items()]
    site.run("batch/savepapers.php", "-r", "-q", "-", given=json.dumps(content))
    idle = {
        paper: sorted(people.keys() - {review["reviewer_email"] for review in reviews[paper]})[0]
        for paper in METAREVIEWS
    }
    by_hand = [f"{DESK},decision,,Desk rejected", f"{EARLY},decision,,Early reject"]
    by_hand += [f"{paper},metareview,{email}," for paper, email in idle.items()]
    table = "\n".join(["paper,action,email,decision", *by_hand, ""])
    site.run("batch/assign.php", given=table)
    meta = [{"pid": int(paper), "reviews": [answer(email, BEST, 4)]} for paper, email in idle.items()]
    site.run("batch/savepapers.php", "-r", "-q", "-", given=json.dumps(meta))


def answer(email: str, score: int, expertise: int) -> dict[str, object]:
    return {"reviewer_email": email, "ready": True, "OveMer": score, "RevExp": expertise}


def blindcal(*command: str) -> str:
    run = subprocess.run([sys.executable, "-m", "blindcal", *command], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"blindcal {command[0]} ended with {run.returncode}:\n{run.stderr}")
    return run.stdout


def downloads(site: Site, out: Path) -> dict[str, list[str]]:
    """The chair's downloads, and for each way to import them the files."""
    for action, name in (
        ("get/scores", "scores.csv"),
        ("get/revcsv", "reviews.csv"),
        ("get/jsonrqc", "rqc.json"),
        ("get/pcassignments", "assignments.csv"),
    ):
        (out / name).write_text(site.ask(action, CHAIR), encoding="utf-8")
    (out / BATCH).write_text(site.run("batch/reviewcsv.php"), encoding="utf-8")
    beside = str(out / "assignments.csv")
    tables = ("scores.csv", "reviews.csv", BATCH)
    return {"rqc.json": [str(out / "rqc.json")]} | {name: [str(out / name), beside] for name in tables}


def imported(out: Path, name: str, files: list[str], rows: list[dict[str, str]]) -> Path:
    """A new folder with a download, whose reviews must be those that went in."""
    folder = out / f"icx-{name.partition('.')[0]}"
    blindcal("new", str(folder), "--accept", "40%", "--scores", "confidential")
    facts = json.loads(blindcal("import", str(folder), *files, "--json"))
    with (folder / "inputs" / "reviews.csv").open(encoding="utf-8", newline="") as file:
        found = Counter((row["paper"], row["reviewer"], row["score"]) for row in csv.DictReader(file))
    wanted = Counter((row["paper"], row["email"].lower(), row["OveMer"]) for row in rows)
    print(f"{name}: {sum(found.values())} reviews; left out: {facts['withdrawn']}")
    if found != wanted:
        sys.exit(f"{name}: {len(found - wanted)} reviews too many, {len(wanted - found)} missing")
    return folder


def decide(out: Path, folder: Path) -> dict[str, str]:
    """Decide in a folder; the decisions by paper."""
    past = scores("hotcrp-3.4-scores-past.csv")
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, past[0])
    writer.writeheader()
    writer.writerows(past)
    (out / "past.csv").write_text(table.getvalue(), encoding="utf-8")
    blindcal("import", str(folder), str(SYSTEMS / "hotcrp-3.4-pcinfo.csv"), "--as", "committee")
    blindcal("import", str(folder), str(out / "past.csv"), "--as", "past")
    for command in ("fit", "plan", "decide"):
        blindcal(command, str(folder))
    with (folder / "public" / "release-1" / "decisions.csv").open(encoding="utf-8", newline="") as file:
        return {row["paper"]: row["decision"] for row in csv.DictReader(file)}


def compare(what: str, found: object, wanted: object) -> bool:
    print(f"{what}: {'equal' if found == wanted else f'found {found}, expected {wanted}'}")
    return found == wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("hotcrp", type=Path, help="a checkout of HotCRP with conf/options.php")
    parser.add_argument("--site", help="the name of the site, if this HotCRP has several")
    parser.add_argument("--out", type=Path, required=True, help="the folder to make, for all files")
    given = parser.parse_args()
    site, out = Site(given.hotcrp.resolve(), given.site), given.out.resolve()
    if shutil.which("php") is None:
        sys.exit(f"PHP is needed: there is no program called php. As root: {INSTALL}")
    programs = ("saveusers", "savepapers", "settings", "reviewcsv", "assign")
    missing = [
        name for name in [f"batch/{program}.php" for program in programs] if not (site.folder / name).exists()
    ]
    missing += [] if given.site or (site.folder / "conf" / "options.php").exists() else ["conf/options.php"]
    if missing:
        sys.exit(f"{site.folder} must be a checkout of HotCRP that is set up: there is no {missing[0]}")
    if out.exists():
        sys.exit(f"{out} exists already and is never overwritten")
    if site.outcomes():
        sys.exit("the site has papers already: this is for an empty one")
    out.mkdir(mode=0o700)
    rows = scores("hotcrp-3.4-scores.csv")
    fill(site, rows)
    if drafts := [paper for paper, _, status in site.lines("papers") if status == "draft"]:
        sys.exit(f"papers stayed drafts, which HotCRP does not show to reviewers: {', '.join(drafts)}")
    before, named = site.outcomes(), {name: int(number) for number, _, name in site.lines("decisions")}
    # The batch script leaves out withdrawn and desk rejected papers by itself.
    listed = [row for row in rows if row["paper"] not in (DESK, WITHDRAWN)]
    folders = {
        name: imported(out, name, files, listed if name == BATCH else rows)
        for name, files in downloads(site, out).items()
    }
    decisions = decide(out, folders["rqc.json"])
    own, exact = str(out / "yes-no.csv"), str(out / "decisions-hotcrp.csv")
    blindcal("export", str(folders["rqc.json"]), "--to", "hotcrp", "--out", own)
    words = ("--accepted", "Accepted", "--rejected", "Rejected")
    blindcal("export", str(folders["rqc.json"]), "--to", "hotcrp", *words, "--out", exact)
    site.run("batch/assign.php", own, refused=True)
    after_refusal = site.outcomes()
    site.run("batch/assign.php", exact)
    ids = {"accept": named["Accepted"], "reject": named["Rejected"]}
    wanted = {**before, **{paper: ids[decision] for paper, decision in decisions.items()}}
    by_hand = {DESK: named["Desk rejected"], EARLY: named["Early reject"], WITHDRAWN: 0}
    same = [
        compare("after the refusal", after_refusal, before),
        compare("papers decided by hand or withdrawn", {p: wanted[p] for p in by_hand}, by_hand),
        compare(f"outcomes of all {len(wanted)} papers", site.outcomes(), wanted),
        compare("papers on which an author sees a decision", site.lines("seen"), [[DESK, "Desk rejected"]]),
    ]
    equal = sum(site.outcomes().get(paper) == outcome for paper, outcome in wanted.items())
    print(f"HotCRP: {equal} of {len(wanted)} outcomes as they should be, {len(decisions)} by blindcal")
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
