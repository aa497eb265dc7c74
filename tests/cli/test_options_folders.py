"""Commands on a folder: what was decided is frozen, releases are numbered, each step says the next."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.project.settings import FILE
from chair_exports import options, write_exports
from commands import call, plain

pytestmark = pytest.mark.edge


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    exports = write_exports(tmp_path / "downloads", papers=6)
    assert call("new", "icx", *options(exports, "reviews", "reviewers"), "--accept", "50%")[0] == 0
    return Path("icx")


def edit(folder: Path, old: str, new: str) -> None:
    text = (folder / FILE).read_text(encoding="utf-8")
    assert old in text
    (folder / FILE).write_text(text.replace(old, new), encoding="utf-8")


def withdraw(folder: Path, paper: str) -> None:
    edit(folder, '# "17" = "by its authors, May 3"', f'"{paper}" = "by its authors"')


def corrected(folder: Path) -> tuple[str, ...]:
    """The command that records a correction, after a first score was mistyped."""
    table = folder / "inputs" / "reviews.csv"
    text = table.read_text()
    table.write_text(
        re.sub(r"^(1,[^,]*,)(\d)", lambda found: f"{found[1]}{int(found[2]) % 5 + 1}", text, flags=re.M)
    )
    return "decide", "icx", "--amend", "--reason", "mistyped"


def test_what_was_decided_is_frozen(folder: Path) -> None:
    assert call("decide", "icx")[0] == 0
    edit(folder, "accept-rate = 0.5", "accept-rate = 0.25")
    code, _, err = call("decide", "icx")
    assert code == 3
    assert "accept-rate was 0.5, now 0.25" in plain(err)
    edit(folder, "accept-rate = 0.25", "accept-rate = 0.5")
    code, out, _ = call("decide", "icx")
    assert (code, "nothing was drawn" in out) == (0, True)


def test_withdrawn_papers_and_late_reviews_are_recorded_as_such(folder: Path) -> None:
    assert call("decide", "icx")[0] == 0
    withdraw(folder, "3")
    code, _, err = call("decide", "icx")
    assert (code, "(1 withdrawn)" in err) == (3, True)
    code, out, _ = call("decide", "icx", "--amend", "--reason", "paper 3 was withdrawn")
    assert (code, "  withdrawn: 3\n" in out) == (0, True)
    assert "icx/public/release-2/decisions.csv" in out
    table = (folder / "inputs" / "reviews.csv").read_text()
    wrote = set(re.findall(r"^1,(.*?),", table, re.M))
    other = next(name for name in (f"canary-{n}@example.org" for n in range(8)) if name not in wrote)
    (folder / "inputs" / "late.csv").write_text(f"{table}1,{other},4,2\n")
    edit(folder, "inputs/reviews.csv", "inputs/late.csv")
    code, _, err = call("decide", "icx")
    assert (code, "(1 with late reviews)" in err) == (3, True)
    code, out, _ = call("decide", "icx", "--amend", "--reason", "a late review")
    assert (code, "  late reviews, decided from public data: 1\n" in out) == (0, True)
    assert call("verify", "icx")[0] == 0
    assert sorted(path.name for path in (folder / "public").iterdir()) == [f"release-{n}" for n in (1, 2, 3)]


def test_a_bad_value_is_reported_by_the_file(folder: Path) -> None:
    edit(folder, "accept-rate = 0.5", "accept-rate = 50")
    code, _, err = call("plan", "icx")
    assert code == 2
    place, problem = (
        "blindcal: icx/conference.toml: accept-rate",
        "'50' must be between 0 and 1, ends excluded",
    )
    assert err == f"{place}: {problem}: for 50 % give 0.5\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["plan", "downloads"], "downloads must be a folder that `blindcal new` made"),
        (["plan", "icy"], "icy: there is no such folder"),
        (["decide", "icx/conference.toml"], "icx/conference.toml must be a folder that `blindcal new` made"),
        (["verify", "icx/inputs/reviews.csv"], "reviews.csv must be a folder that `blindcal new` made"),
        (["report", "icy", "--text"], "icy"),
        (["export", "downloads", "--to", "csv", "--out", "a.csv"], "downloads"),
    ],
)
def test_what_cannot_be_done_is_said(command: list[str], message: str, folder: Path) -> None:
    code, _, err = call(*command)
    assert code == 2
    assert message in err


def test_a_key_that_lies_elsewhere_is_named(folder: Path) -> None:
    Path("icx.key").rename("elsewhere.key")
    for command in ("decide", "verify", "audit"):
        assert call(command, "icx")[0] == 2
        assert call(command, "icx", "--key", "elsewhere.key")[0] == 0


def test_a_folder_without_a_calibration_is_told_how_to_make_it(folder: Path) -> None:
    (folder / "inputs" / "reviewers.csv").unlink()
    for command in ("plan", "decide", "verify"):
        code, _, err = call(command, "icx")
        assert code == 2
        assert "there is no calibration icx/inputs/reviewers.csv yet: `blindcal fit icx` makes it" in err


def test_a_folder_stands_for_its_latest_release_once_there_is_one(folder: Path) -> None:
    for command in (
        ("report", "icx", "--text"),
        ("audit", "icx"),
        ("report", "icx", "--out", "a.html"),
        ("export", "icx", "--to", "csv", "--out", "a.csv"),
    ):
        said = "blindcal: icx has no release yet: `blindcal decide icx` makes the first\n"
        assert call(*command) == (2, "", said)
    assert call("decide", "icx")[0] == 0
    assert call("report", "icx", "--text") == call("report", "icx/public/release-1", "--text")
    assert call("report", "icx", "--text")[0] == 0


def last(out: str) -> str:
    return out.rstrip("\n").split("\n")[-1]


def test_every_step_says_the_next_one(folder: Path) -> None:
    told = "next: write what you choose into icx/conference.toml, then blindcal decide icx"
    assert last(call("plan", "icx")[1]) == told
    told = "next: back up the key with its private log, then blindcal report icx --out icx.html"
    assert last(call("decide", "icx")[1]) == told
    told = "next: blindcal export icx --to csv --out icx.csv"
    assert last(call("report", "icx", "--out", "icx.html")[1]) == told
    assert call("export", "icx", "--to", "csv", "--out", "icx.csv")[0] == 0
    assert "next:" not in call("verify", "icx")[1]
    told = 'next: if something was corrected, blindcal decide icx --amend --reason "..."'
    assert last(call("plan", "icx")[1]) == told
    assert "next" not in call("plan", "icx", "--json")[1]


def printed(folder: Path, *more: str) -> tuple[int, str, str]:
    Path("list.csv").unlink(missing_ok=True)
    return call("export", "icx", "--to", "csv", "--out", "list.csv", *more)


def accepted_in(path: str) -> list[str]:
    rows = csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines())
    return [row["paper"] for row in rows if row["decision"] == "accept"]


def test_another_number_of_papers_is_printed_and_can_be_checked(folder: Path) -> None:
    edit(folder, "accept-rate = 0.5", "accept = 2")
    assert call("decide", "icx")[0] == 0
    public = {path: path.read_bytes() for path in sorted((folder / "public").rglob("*.*"))}
    for number in ("3", "1", "6"):
        code, out, _ = printed(folder, "--accept", number)
        assert code == 0
        assert out.startswith(f"6 papers, {number} accepted, from icx/public/release-1\nwrote list.csv")
        assert "CONFIDENTIAL until you give it out, and no release: list.csv\n" in out
        assert Path("list.csv").stat().st_mode & 0o777 == 0o600
        assert len(accepted_in("list.csv")) == int(number)
        code, out, _ = call("verify", "icx", "--list", "list.csv")
        assert (code, "printed list list.csv" in out) == (0, True)
    one = accepted_in("icx/public/release-1/decisions.csv")[0]
    text = Path("list.csv").read_text(encoding="utf-8")
    assert printed(folder, "--accept", "1")[2].startswith("blindcal: accept in the release, reject here: ")
    header, *rows = text.splitlines()
    swapped = [row.replace(",accept", ",reject", 1) if row.startswith(f"{one},") else row for row in rows]
    assert swapped != rows
    Path("list.csv").write_text("\n".join([header, *swapped]) + "\n", encoding="utf-8")
    code, _, err = call("verify", "icx", "--list", "list.csv")
    assert (code, "printed list list.csv: " in err) == (4, True)
    assert {path: path.read_bytes() for path in sorted((folder / "public").rglob("*.*"))} == public


def test_a_withdrawn_paper_is_refilled_in_print(folder: Path) -> None:
    edit(folder, "accept-rate = 0.5", "accept = 2\nwait-list = 1")
    assert call("decide", "icx")[0] == 0
    gone = accepted_in("icx/public/release-1/decisions.csv")[0]
    withdraw(folder, gone)
    code, out, err = printed(folder, "--accept", "2", "--wait-list", "0")
    assert (code, out.startswith("5 papers, 2 accepted")) == (0, True)
    assert "wait list in the release, accept here: " in err
    assert gone not in accepted_in("list.csv")


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--accept", "7"], 2, "accept 7: there are only 6 papers"),
        (["--accept", "3", "--wait-list", "4"], 2, "accept 3 and 4 on the wait list: there are only 6 pap"),
        (["--accept", "0.5"], 2, "for a share of the papers give accept-rate"),
        (["--accept", "main=2"], 3, "accept must be about the tracks that each have a bar (none: give one"),
        (["--wait-list", "1"], 2, "wait-list goes with accept"),
    ],
)
def test_a_list_that_cannot_be_printed(options: list[str], code: int, told: str, folder: Path) -> None:
    edit(folder, "accept-rate = 0.5", "accept = 2")
    assert call("decide", "icx")[0] == 0
    found, _, err = printed(folder, *options)
    assert (found, told in plain(err)) == (code, True)
    assert not Path("list.csv").exists()


def test_a_release_that_was_interrupted_is_passed_over_and_said_until_it_is_finished(folder: Path) -> None:
    edit(folder, "accept-rate = 0.5", "accept = 2")
    assert call("decide", "icx")[0] == 0
    first = call("report", "icx", "--text")
    amend = corrected(folder)
    assert call(*amend)[0] == 0
    second, public = call("report", "icx", "--text"), folder / "public" / "release-2"
    whole = {path.name: path.read_bytes() for path in public.iterdir()}
    said = (
        "blindcal: icx/public/release-2 was left incomplete by an interrupted run: `blindcal decide icx` "
        "completes it; the latest complete release is icx/public/release-1\n"
    )
    for again in (amend, ("decide", "icx")):
        for name in ("certificate.json", "decisions.csv"):
            (public / name).unlink()
            assert call("report", "icx", "--text") == (0, first[1], said)
        code, _, err = call("verify", "icx")
        assert (code, err.startswith(said)) == (4, True)
        code, _, err = call(*again)
        assert code == 0
        finished = (
            "blindcal: icx/public/release-2 was left incomplete by an interrupted run, and is complete now\n"
        )
        assert finished not in err, "the release that is returned is published again without a word"
        assert {path.name: path.read_bytes() for path in public.iterdir()} == whole
        assert call("report", "icx", "--text") == second
    for name in whole:
        (folder / "public" / "release-1" / name).unlink()
        (public / name).unlink()
    said = "blindcal: icx has no release yet: `blindcal decide icx` makes the first\n"
    assert call("report", "icx", "--text") == (2, "", said)


def test_a_release_that_was_sealed_and_not_published_is_said_and_published_by_the_same_command(
    folder: Path,
) -> None:
    """Killed after sealing, before there was a folder: the release before it is the latest complete one."""
    edit(folder, "accept-rate = 0.5", "accept = 2")
    assert call("decide", "icx")[0] == 0
    again = corrected(folder)
    assert call(*again)[0] == 0
    public = folder / "public" / "release-2"
    whole = {path.name: path.read_bytes() for path in public.iterdir()}
    shutil.rmtree(public)
    code, _, err = call("verify", "icx")
    assert code == 2
    assert "release 2 is recorded, and there is no folder icx/public/release-2: if the run" in err
    assert "run the same command again" in err
    assert call(*again)[0] == 0
    assert {path.name: path.read_bytes() for path in public.iterdir()} == whole
    assert call("verify", "icx")[0] == 0


def test_what_was_published_is_looked_at_wherever_decide_publishes(folder: Path) -> None:
    assert call("decide", "icx")[0] == 0
    shutil.copytree(folder / "public" / "release-1", "earlier")
    amend = corrected(folder)
    assert call(*amend)[0] == 0
    (Path("icx.key.sealed") / "0002.sealed").unlink()
    for more in ((), ("--published", "earlier")):
        code, _, err = call(*amend, *more)
        assert (code, "icx/public/release-2/certificate.json is release 2" in err) == (3, True)
    edit(folder, 'out = "public"', 'out = "../other"')
    code, _, err = call(*amend, "--published", "icx/public")
    assert (code, "icx/public/release-2/certificate.json is release 2" in err) == (3, True)
    assert not Path("other").exists()


def test_nothing_confidential_is_written_among_what_is_public(folder: Path, tmp_path: Path) -> None:
    assert call("decide", "icx")[0] == 0
    before = sorted(path for path in tmp_path.rglob("*"))
    commands = (
        ["audit", "icx", "--out"],
        ["report", "icx", "--confidential", "--out"],
    )
    for place in ("icx/public", "icx/public/release-1"):
        for command in commands:
            code, out, err = call(*command, f"{place}/secret.csv")
            assert (code, out) == (2, ""), command
            assert "meant to be shared: give a place outside" in err
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert call("report", "icx", "--out", "icx/public/report.html")[0] == 0
    assert call("audit", "icx", "--out", "icx/audit.json")[0] == 0
