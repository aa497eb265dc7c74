"""Values from the command line: numbers as in tables, what was meant by a wrong one, reviewers as text."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("typer")

import typer

from blindcal.cli.options import (
    decimal,
    decimals,
    probability,
    reviewer_pair,
    share,
)
from blindcal.errors import InputError
from blindcal.exporters import FORMATS
from blindcal.policy.guarantee import NAMES
from blindcal.project.settings import FILE
from blindcal.reviewers import Affine, Logistic, Power
from commands import call, edit, last, plain, refusal, succeed
from small_conferences import everything

pytestmark = pytest.mark.edge


Parser = Callable[[str | float], float]


@pytest.mark.parametrize(
    ("parse", "good", "bad"),
    [
        (decimal, ["0", "-2.5", "+1e3", "700"], ["", "x", "nan", "inf", "1_000", "0x1", "1,5", "1 2"]),
        (probability, ["0", "1", "0.25", "1.0"], ["-0.1", "1.1", "nan", "25", "25%"]),
        (share, ["0.001", "0.999"], ["0", "1", "-1", "2", "nan", "50%"]),
    ],
)
def test_numbers_within_their_limits_and_no_others(parse: Parser, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert parse(text) == float(text)
        assert parse(float(text)) == float(text), "a default is a number already"
    for text in bad:
        with pytest.raises(typer.BadParameter) as caught:
            parse(text)
        assert str(caught.value).startswith(repr(text))


def test_a_refused_number_says_what_was_meant() -> None:
    for parse in (probability, share):
        with pytest.raises(typer.BadParameter, match=r"'60'.*: for 60 % give 0\.6$"):
            parse("60")
    with pytest.raises(typer.BadParameter) as caught:
        decimal("60%")
    assert str(caught.value).endswith(": for 60 % give 0.6")


def test_lists_of_numbers() -> None:
    assert decimals("--x", "1,-2.5,3e2") == [1.0, -2.5, 300.0]
    for text, part in (("1,,2", "''"), ("1, 2", "' 2'"), ("1;2", "'1;2'"), ("1,nan", "'nan'")):
        with pytest.raises(InputError) as caught:
            decimals("--x", text)
        assert str(caught.value).startswith(f"--x {text!r}: {part} must")


def test_every_kind_of_reviewer_has_its_parameters_in_order() -> None:
    """Each reviewer's curve at two qualities, against the formula; without a noise of its own it has that of
    all."""
    one, two = reviewer_pair(["1.5,0.25", "logistic:1,5,2,-0.5,0.1"], 0.75)
    assert isinstance(one, Affine)
    assert [float(one.score(t)) for t in (0.0, 2.0)] == [0.25, 3.25]
    assert float(one.noise) == 0.75
    assert isinstance(two, Logistic)
    assert float(two.score(0.25)) == pytest.approx(3.0)
    assert float(two.score(9.0)) == pytest.approx(5.0, abs=1e-6)
    assert float(two.noise) == 0.1
    three, four = reviewer_pair(["power:3,2,1", "affine:1,0,0.5"], 0.2)
    assert isinstance(three, Power)
    assert float(three.score(2.0)) == pytest.approx(float(Power(3.0, 2.0, 1.0, noise=0.2).score(2.0)))
    assert float(three.score(0.0)) == pytest.approx(1.0)
    assert (float(three.noise), float(four.noise)) == (0.2, 0.5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1", "must be slope,offset[,noise]"),
        ("1,2,3,4", "must be slope,offset[,noise], found 4 numbers"),
        ("logistic:1,2,3", "must be low,high,slope,offset[,noise], found 3 numbers"),
        ("power:1,2", "must be exponent,slope,offset[,noise], found 2 numbers"),
        ("cubic:1,2", "the kind must be one of affine, logistic, power, found 'cubic'"),
        (":1,2", "the kind must be one of affine, logistic, power, found ''"),
        ("a:b:1,2", "found 'a:b'"),
        ("0,1", "slope must be above 0"),
        ("logistic:5,1,1,0", "low"),
        ("x,1", "'x' must be a number"),
    ],
)
def test_a_reviewer_that_is_none_is_quoted(text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        reviewer_pair(["1,0", text], 0.5)
    assert str(caught.value).startswith(f"--reviewer {text!r}: ")
    assert told in str(caught.value)


# --- What Tab offers in every shell that is supported, and that only the shell's own files are written.


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two conferences, another folder, and a table."""
    for name in ("icx2026", "icx2027", "more/icy"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / FILE).touch()
    (tmp_path / "icecream").mkdir()
    (tmp_path / "ideas.csv").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def offered(monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    """What bash is given for a line whose last word is being typed."""
    words = line.split(" ")
    with monkeypatch.context() as patch:
        patch.setenv("_BLINDCAL_COMPLETE", "complete_bash")
        patch.setenv("COMP_WORDS", "\n".join(words))
        patch.setenv("COMP_CWORD", str(len(words) - 1))
        code, out, err = call()
    assert (code, err) == (0, "")
    return out.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("blindcal pl", ["plan"]),
        ("blindcal res", ["research"]),
        ("blindcal research av", ["average"]),
        ("blindcal plan ic", ["icx2026", "icx2027"]),
        ("blindcal plan more/", ["more/icy"]),
        ("blindcal plan id", []),
        ("blindcal plan nowhere/", []),
        ("blindcal plan icx2027 --guarantee ", [*NAMES]),
        ("blindcal plan icx2027 --guarantee s", ["steady"]),
        ("blindcal export icx2026 --to ", [*FORMATS]),
        ("blindcal export icx2026 --what a", ["advice"]),
        ("blindcal import icx2027 x.csv --system hot", ["hotcrp"]),
        ("blindcal pools icx2027 bids.csv --assume b", ["bidders"]),
        ("blindcal export icx2", ["icx2026", "icx2027"]),
        ("blindcal report icx2027 --confid", ["--confidential"]),
    ],
)
def test_tab_offers_what_can_stand_there(
    line: str, expected: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(monkeypatch, line) == expected


@pytest.mark.parametrize("command", ["fit", "plan", "decide", "verify", "audit", "report", "export"])
def test_every_command_on_a_folder_offers_folders(
    command: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(monkeypatch, f"blindcal {command} icx") == ["icx2026", "icx2027"]


def test_an_unfinished_line_is_completed_whatever_is_wrong_with_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(monkeypatch, "blindcal plan icx2027 --key 1 --key 2 --guarantee p") == ["public"]
    assert offered(monkeypatch, "blindcal plan nowhere --guarantee p") == ["public"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_its_script(shell: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: shell)
    _, out, err = succeed("--show-completion")
    assert err == ""
    assert f"_BLINDCAL_COMPLETE=complete_{shell}" in out
    assert not (here / "home").exists(), "showing writes nothing"


def test_installing_writes_where_the_shell_reads(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: "bash")
    _, out, err = succeed("--install-completion")
    assert err == ""
    assert "bash completion installed in" in out
    home = here / "home"
    assert sorted(one.relative_to(home).as_posix() for one in home.rglob("*") if one.is_file()) == [
        ".bash_completions/blindcal.sh",
        ".bashrc",
    ]


# --- Commands on a folder: what was decided is frozen, releases are numbered, each step says the next.


def withdraw(paper: str) -> None:
    edit('# "17" = "by its authors, May 3"', f'"{paper}" = "by its authors"')


def corrected(folder: Path) -> tuple[str, ...]:
    """The command that records a correction, after a first score was mistyped."""
    table = folder / "inputs" / "reviews.csv"
    text = table.read_text()
    table.write_text(
        re.sub(r"^(1,[^,]*,)(\d)", lambda found: f"{found[1]}{int(found[2]) % 5 + 1}", text, flags=re.M)
    )
    return "decide", "icx", "--amend", "--reason", "mistyped"


def test_withdrawn_papers_and_late_reviews_are_recorded_as_such(published: Path) -> None:
    withdraw("3")
    assert "(1 withdrawn)" in refusal("decide", "icx", code=3)
    out = succeed("decide", "icx", "--amend", "--reason", "paper 3 was withdrawn").out
    assert "  withdrawn: 3\n" in out
    assert "icx/public/release-2/decisions.csv" in out
    table = (published / "inputs" / "reviews.csv").read_text()
    wrote = set(re.findall(r"^1,(.*?),", table, re.M))
    other = next(name for name in (f"canary-{n}@example.org" for n in range(8)) if name not in wrote)
    (published / "inputs" / "late.csv").write_text(f"{table}1,{other},4,2\n")
    edit("inputs/reviews.csv", "inputs/late.csv")
    assert "(1 with late reviews)" in refusal("decide", "icx", code=3)
    out = succeed("decide", "icx", "--amend", "--reason", "a late review").out
    assert "  late reviews, decided from public data: 1\n" in out
    succeed("verify", "icx")
    assert sorted(path.name for path in (published / "public").iterdir()) == [
        f"release-{n}" for n in (1, 2, 3)
    ]


def test_a_bad_value_is_reported_by_the_file(undecided: Path) -> None:
    edit("accept-rate = 0.5", "accept-rate = 50")
    err = refusal("plan", "icx")
    place, problem = (
        "blindcal: icx/conference.toml: accept-rate",
        "'50' must be between 0 and 1, ends excluded",
    )
    assert err == f"{place}: {problem}: for 50 % give 0.5\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["plan", "downloads"], "downloads must be a folder that `blindcal new` made"),
        (["plan", "icy"], "icy must be a folder that `blindcal new` made: there is no such folder"),
        (["decide", "icx/conference.toml"], "icx/conference.toml must be a folder that `blindcal new` made"),
        (["verify", "icx/inputs/reviews.csv"], "reviews.csv must be a folder that `blindcal new` made"),
        (["report", "icy", "--text"], "icy"),
        (["export", "downloads", "--to", "csv", "--out", "a.csv"], "downloads"),
    ],
)
def test_what_cannot_be_done_is_said(command: list[str], message: str, undecided: Path) -> None:
    assert message in refusal(*command)


def test_a_key_that_lies_elsewhere_is_named(undecided: Path) -> None:
    Path("icx.key").rename("elsewhere.key")
    for command in ("decide", "verify", "audit"):
        refusal(command, "icx")
        succeed(command, "icx", "--key", "elsewhere.key")


def test_a_folder_without_a_calibration_is_told_how_to_make_it(undecided: Path) -> None:
    (undecided / "inputs" / "reviewers.csv").unlink()
    for command in ("plan", "decide", "verify"):
        err = refusal(command, "icx")
        assert "there is no calibration icx/inputs/reviewers.csv yet: `blindcal fit icx` makes it" in err


def test_a_folder_stands_for_its_latest_release_once_there_is_one(undecided: Path) -> None:
    for command in (
        ("report", "icx", "--text"),
        ("audit", "icx"),
        ("report", "icx", "--out", "a.html"),
        ("export", "icx", "--to", "csv", "--out", "a.csv"),
    ):
        said = "blindcal: icx has no release yet: `blindcal decide icx` makes the first\n"
        assert call(*command) == (2, "", said)
    succeed("decide", "icx")
    assert call("report", "icx", "--text") == call("report", "icx/public/release-1", "--text")
    succeed("report", "icx", "--text")


def test_every_step_says_the_next_one(undecided: Path) -> None:
    told = "next: write what you choose into icx/conference.toml, then blindcal decide icx"
    assert last(call("plan", "icx")[1]) == told
    told = "next: back up the key with its private log, then blindcal report icx --out icx.html"
    assert last(call("decide", "icx")[1]) == told
    told = "next: blindcal export icx --to csv --out icx.csv"
    assert last(call("report", "icx", "--out", "icx.html")[1]) == told
    succeed("export", "icx", "--to", "csv", "--out", "icx.csv")
    assert "next:" not in call("verify", "icx")[1]
    told = 'next: if something was corrected, blindcal decide icx --amend --reason "..."'
    assert last(call("plan", "icx")[1]) == told
    assert "next" not in call("plan", "icx", "--json")[1]


def printed(*more: str) -> tuple[int, str, str]:
    Path("list.csv").unlink(missing_ok=True)
    return call("export", "icx", "--to", "csv", "--out", "list.csv", *more)


def accepted_in(path: str) -> list[str]:
    rows = csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines())
    return [row["paper"] for row in rows if row["decision"] == "accept"]


def test_another_number_of_papers_is_printed_and_can_be_checked(undecided: Path) -> None:
    edit("accept-rate = 0.5", "accept = 2")
    succeed("decide", "icx")
    public = {path: path.read_bytes() for path in sorted((undecided / "public").rglob("*.*"))}
    for number in ("3", "1", "6"):
        code, out, _ = printed("--accept", number)
        assert code == 0
        assert out.startswith(f"6 papers, {number} accepted, from icx/public/release-1\nwrote list.csv")
        assert "CONFIDENTIAL until you give it out, and no release: list.csv\n" in out
        assert Path("list.csv").stat().st_mode & 0o777 == 0o600
        assert len(accepted_in("list.csv")) == int(number)
        out = succeed("verify", "icx", "--list", "list.csv").out
        assert "printed list list.csv" in out
    one = accepted_in("icx/public/release-1/decisions.csv")[0]
    text = Path("list.csv").read_text(encoding="utf-8")
    assert printed("--accept", "1")[2].startswith("blindcal: accept in the release, reject here: ")
    header, *rows = text.splitlines()
    swapped = [row.replace(",accept", ",reject", 1) if row.startswith(f"{one},") else row for row in rows]
    assert swapped != rows
    Path("list.csv").write_text("\n".join([header, *swapped]) + "\n", encoding="utf-8")
    assert "printed list list.csv: " in refusal("verify", "icx", "--list", "list.csv", code=4)
    assert {path: path.read_bytes() for path in sorted((undecided / "public").rglob("*.*"))} == public


def test_a_withdrawn_paper_is_refilled_in_print(undecided: Path) -> None:
    edit("accept-rate = 0.5", "accept = 2\nwait-list = 1")
    succeed("decide", "icx")
    gone = accepted_in("icx/public/release-1/decisions.csv")[0]
    withdraw(gone)
    code, out, err = printed("--accept", "2", "--wait-list", "0")
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
def test_a_list_that_cannot_be_printed(options: list[str], code: int, told: str, undecided: Path) -> None:
    edit("accept-rate = 0.5", "accept = 2")
    succeed("decide", "icx")
    found, _, err = printed(*options)
    assert (found, told in plain(err)) == (code, True)
    assert not Path("list.csv").exists()


def test_a_release_that_was_interrupted_is_passed_over_and_said_until_it_is_finished(undecided: Path) -> None:
    edit("accept-rate = 0.5", "accept = 2")
    succeed("decide", "icx")
    first = call("report", "icx", "--text")
    amend = corrected(undecided)
    succeed(*amend)
    second, public = call("report", "icx", "--text"), undecided / "public" / "release-2"
    whole = {path.name: path.read_bytes() for path in public.iterdir()}
    said = (
        "blindcal: icx/public/release-2 was left incomplete by an interrupted run: `blindcal decide icx` "
        "completes it; the latest complete release is icx/public/release-1\n"
    )
    for again in (amend, ("decide", "icx")):
        for name in ("certificate.json", "decisions.csv"):
            (public / name).unlink()
            assert call("report", "icx", "--text") == (0, first[1], said)
        err = refusal("verify", "icx", code=4)
        assert err.startswith(said)
        err = succeed(*again).err
        finished = (
            "blindcal: icx/public/release-2 was left incomplete by an interrupted run, and is complete now\n"
        )
        assert finished not in err, "the release that is returned is published again without a word"
        assert {path.name: path.read_bytes() for path in public.iterdir()} == whole
        assert call("report", "icx", "--text") == second
    for name in whole:
        (undecided / "public" / "release-1" / name).unlink()
        (public / name).unlink()
    said = "blindcal: icx has no release yet: `blindcal decide icx` makes the first\n"
    assert call("report", "icx", "--text") == (2, "", said)


def test_a_release_that_was_sealed_and_not_published_is_said_and_published_by_the_same_command(
    undecided: Path,
) -> None:
    """Killed after sealing, before there was a folder: the release before it is the latest complete one."""
    edit("accept-rate = 0.5", "accept = 2")
    succeed("decide", "icx")
    again = corrected(undecided)
    succeed(*again)
    public = undecided / "public" / "release-2"
    whole = {path.name: path.read_bytes() for path in public.iterdir()}
    shutil.rmtree(public)
    err = refusal("verify", "icx")
    assert "release 2 is recorded, and there is no folder icx/public/release-2: if the run" in err
    assert "run the same command again" in err
    succeed(*again)
    assert {path.name: path.read_bytes() for path in public.iterdir()} == whole
    succeed("verify", "icx")


def test_what_was_published_is_looked_at_wherever_decide_publishes(published: Path) -> None:
    shutil.copytree(published / "public" / "release-1", "earlier")
    amend = corrected(published)
    succeed(*amend)
    (Path("icx.key.sealed") / "0002.sealed").unlink()
    for more in ((), ("--published", "earlier")):
        err = refusal(*amend, *more, code=3)
        assert "icx/public/release-2/certificate.json is release 2" in err
    edit("numbered = true", "numbered = false")
    assert "icx/public/release-2/certificate.json is release 2" in refusal(*amend, code=3)
    edit('out = "public"', 'out = "../other"')
    err = refusal(*amend, "--published", "icx/public", code=3)
    assert "icx/public/release-2/certificate.json is release 2" in err
    assert not Path("other").exists()


def test_nothing_confidential_is_written_among_what_is_public(published: Path, tmp_path: Path) -> None:
    before = everything(tmp_path)
    commands = (
        ["audit", "icx", "--out"],
        ["report", "icx", "--confidential", "--out"],
        ["report", "icx", "--papers", "--out"],
        ["import", "icx", "downloads/2025.csv", "--as", "past", "--codes"],
    )
    for place in ("icx/public", "icx/public/release-1"):
        for command in commands:
            code, out, err = call(*command, f"{place}/secret.csv")
            assert (code, out) == (2, ""), command
            assert "meant to be shared: give a place outside" in err
    assert everything(tmp_path) == before
    succeed("report", "icx", "--out", "icx/public/report.html")
    succeed("audit", "icx", "--out", "icx/audit.json")
