"""`blindcal report` and `plan --out`: pages of public things alone, the same whoever wrote the reviews."""

from __future__ import annotations

import csv
import json
import random
import re
import stat
from dataclasses import replace
from math import exp
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.importers import import_reviews
from blindcal.io.cells import unescape
from blindcal.report.wording import assumptions_of, certified_guarantee, explain_certificate, read_certificate
from chair_exports import options, write_exports
from commands import call, edit, refusal, succeed
from small_conferences import SmallConference, command_line, decided, small_conference

pytestmark = pytest.mark.edge


@pytest.fixture
def small() -> SmallConference:
    return small_conference(papers=5)


def permuted(small: SmallConference, seed: int) -> SmallConference:
    """Other true reviewers behind the same public data: of each paper any of its candidates, in any order."""
    rng, rows = random.Random(seed), list(small.reviews)
    for paper in {row[0] for row in rows[1:]}:
        places = [i for i, row in enumerate(rows) if row[0] == paper]
        candidates = [row[1] for row in small.pools if row[0] == paper]
        for place, name in zip(places, rng.sample(candidates, len(places)), strict=True):
            rows[place] = (paper, name, rows[place][2])
    body = rows[1:]
    rng.shuffle(body)
    return replace(small, reviews=(rows[0], *body))


def on_release(folder: Path, out: Path, *settings: str) -> list[str]:
    return command_line("report", folder, folder.parent / "key.bin", out, *settings)


@pytest.mark.parametrize(("pool", "few"), [(4, True), (40, False)])
def test_the_page_is_the_same_whoever_wrote_the_reviews(pool: int, few: bool, tmp_path: Path) -> None:
    """With the same decisions, not a byte depends on the true reviewers; nor does one of a plan.

    Of four candidates one is always likelier than 1 in 10, which is noted, and no guess becomes likelier; of
    forty, whom noisy scores hardly tell apart, some do.
    """
    small = small_conference(papers=5, pool=pool, reviewers=2 * pool, noise=1.5)
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    _, certificate = decided(folder, tmp_path / "key.bin", out)
    assert (certificate["largest_rise"] == 0) is few
    pages = []
    for seed in range(3):
        other = permuted(small, seed)
        assert other.reviews != small.reviews
        home = other.write(tmp_path / f"other-{seed}")
        for name, more in (("public", ()), ("chair", ("--confidential",))):
            target = tmp_path / f"{name}-{seed}.html"
            err = succeed(*on_release(home, out), "--out", str(target), *more).err
            assert err == ""
        planned = tmp_path / f"plan-{seed}.html"
        noted = succeed(*command_line("plan", home), "--out", str(planned)).err
        assert ("for 5 of 5 papers fewer than 10 people may have reviewed" in " ".join(noted.split())) is few
        assert few or not noted
        names = (f"public-{seed}.html", f"chair-{seed}.html", planned.name)
        pages.append([*((tmp_path / name).read_bytes() for name in names), noted.encode()])
    assert pages[0] == pages[1] == pages[2]
    assert pages[0][0] != pages[0][1]
    for text in pages[0]:
        assert not [one for one in small.canaries if one.encode() in text], "no reviewer is named"


def test_a_page_for_the_chair_is_for_its_owner_only(small: SmallConference, tmp_path: Path) -> None:
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    decided(folder, tmp_path / "key.bin", out)
    (tmp_path / "titles.csv").write_text("paper,title\np01,<b>A title</b>\n")
    titled = on_release(folder, out, f'titles = "{tmp_path / "titles.csv"}"')
    for name, flags in (("public.html", ()), ("own.html", ("--confidential",))):
        succeed(*titled, "--out", str(tmp_path / name), *flags)
    assert stat.S_IMODE((tmp_path / "own.html").stat().st_mode) == 0o600
    assert "&lt;b&gt;A title&lt;/b&gt;" in (tmp_path / "own.html").read_text()
    assert "A title" not in (tmp_path / "public.html").read_text()


def test_a_release_alone_has_a_page_and_nothing_is_overwritten(
    small: SmallConference, tmp_path: Path
) -> None:
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    decided(folder, tmp_path / "key.bin", out)
    target = tmp_path / "page.html"
    _, said, err = succeed("report", str(out), "--out", str(target))
    assert "the page has no gray zone" in " ".join(err.split())
    assert said.startswith(f"wrote {target} (")
    before = target.read_bytes()
    refusal("report", str(out), "--out", str(target), code=3)
    assert target.read_bytes() == before
    said = succeed("report", str(out), "--out", str(tmp_path / "other.html"), "--json").out
    assert json.loads(said)["bytes"] == len(before)


def test_the_menu_on_the_page_is_that_of_plan(small: SmallConference, tmp_path: Path) -> None:
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    target, released = tmp_path / "page.html", tmp_path / "released.html"
    said = succeed(*command_line("plan", folder), "--out", str(target), "--json").out
    text, menu = target.read_text(), json.loads(said)["menu"]
    decided(folder, tmp_path / "key.bin", out)
    succeed(*on_release(folder, out), "--out", str(released))
    assert ('id="menu"' in text, 'id="menu"' in released.read_text()) == (True, False)
    for choice in menu["choices"]:
        named = 100 * (menu["success_scores_only"] + choice["added"])
        cells = f">{choice['wrong']:.1f}</td>", f">{named:.1f} %</td>"
        assert all(cell in text for cell in cells), choice


@pytest.mark.parametrize("change", ["a score", "a paper", "a calibration"])
def test_bad_files_that_were_not_decided_are_refused(
    change: str, small: SmallConference, tmp_path: Path
) -> None:
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    decided(folder, tmp_path / "key.bin", out)
    if change == "a score":
        small = small.with_review(1, score="1.23")
    elif change == "a paper":
        small = replace(small, reviews=tuple(row for row in small.reviews if row[0] != "p02"))
    else:
        small = replace(small, reviewers=(*small.reviewers[:-1], (small.reviewers[-1][0], "1", "2", "0.9")))
    target = tmp_path / "page.html"
    err = refusal(*on_release(small.write(tmp_path / "other"), out), "--out", str(target))
    assert "that were decided" in " ".join(err.split())
    assert not target.exists()


def test_a_page_or_text_must_be_asked_for(small: SmallConference, tmp_path: Path) -> None:
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    decided(folder, tmp_path / "key.bin", out)
    for more in ((), ("--text", "--out", str(tmp_path / "p.html"))):
        err = refusal("report", str(out), *more)
        assert "give either --out, for a page, or --text" in err


def test_a_folder_has_all_that_the_page_needs(place: Path) -> None:
    exports = write_exports(place / "downloads", papers=6)
    succeed("new", "icx", *options(exports, "reviews", "reviewers"), "--accept", "50%")
    succeed("plan", "icx", "--out", "plan.html")
    succeed("decide", "icx")
    assert succeed("report", "icx", "--out", "report.html", "--confidential").err == ""
    text = Path("report.html").read_text()
    assert "gray zone" in text
    assert "CONFIDENTIAL" in text
    assert "Before any paper is decided" in Path("plan.html").read_text()


def test_lists_tracks_and_low_scores_have_a_page(tmp_path: Path) -> None:
    small = small_conference(papers=6)
    small = small.with_tracks({f"p{i:02d}": "main" if i % 2 else "short" for i in range(6)})
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    more = ('accept = "main=1,short=1"', 'wait-list = "main=1"', 'better = "low"')
    decided(folder, tmp_path / "key.bin", out, *more)
    target = tmp_path / "page.html"
    assert succeed(*on_release(folder, out, *more), "--out", str(target)).err == ""
    assert "1 on the wait list" in target.read_text()
    succeed(*command_line("plan", folder, *more), "--out", str(tmp_path / "plan.html"))
    assert re.search(
        r"bar, which is [-0-9.]+ in main, [-0-9.]+ in short", (tmp_path / "plan.html").read_text()
    )


def test_every_line_of_the_text_is_printed_and_no_reviewer(small: SmallConference, tmp_path: Path) -> None:
    decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    _, said, err = succeed("report", "--text", str(tmp_path / "out" / "certificate.json"))
    assert err == ""
    assert call("report", "--text", str(tmp_path / "out"))[1] == said
    text = " ".join(said.split())
    content = read_certificate(tmp_path / "out")
    for part in explain_certificate(content):
        assert part.title in text
        for line in part.lines:
            assert f"{line.name}: {line.value}" in text
            assert line.sentence in text
    for assumption in assumptions_of(content["assumptions"], certified_guarantee(content)):
        assert assumption in text
    assert max(map(len, said.splitlines())) <= 100
    assert not [one for one in small.canaries if one in said]
    said = succeed("report", "--text", str(tmp_path / "out"), "--json").out
    lines = [line for part in json.loads(said)["parts"] for line in part["lines"]]
    assert {line["name"] for line in lines} >= {"success", "epsilon", "expected_wrong"}


def test_what_is_no_certificate_is_refused(small: SmallConference, tmp_path: Path) -> None:
    folder = small.write(tmp_path / "in")
    code, said, err = call("report", "--text", str(folder / "reviews.csv"))
    assert (code, said) == (2, "")
    assert not [one for one in small.canaries if one in err]
    refusal("report", "--text", str(tmp_path / "nowhere.json"))


PEOPLE = [f"canary{number}" for number in range(6)]


def one_file(
    scores: str, *, seed: int = 0, accept: str = "40%", publishes: str = "decisions", guarantee: str = "odds"
) -> str:
    """A folder of eight papers, whose scores others wrote for each seed, decided; what was said of that."""
    writers, grades, rows = random.Random(seed), random.Random(3), ["paper,reviewer,score"]
    for paper in range(8):
        rows += [f"p{paper},{name},{grades.randint(1, 4) + paper // 2}" for name in writers.sample(PEOPLE, 3)]
    Path("reviews.csv").write_text("\n".join([*rows, ""]))
    succeed("new", "icx", "--reviews", "reviews.csv", "--accept", accept, "--scores", scores)
    edit("# people = 40", "people = 6")
    edit("\nreviews =", f'\nrelease = "{publishes}"\nreviews =')
    edit('guarantee = "odds"', f'guarantee = "{guarantee}"')
    return "".join(succeed("decide", "icx")[1:])


def draw_pages() -> None:
    """The folder's public page, and the chair's own."""
    succeed("report", "icx", "--out", "public.html")
    succeed("report", "icx", "--out", "own.html", "--confidential")


@pytest.mark.parametrize("scores", ["public", "confidential"])
def test_the_table_of_papers_is_for_chairs_alone_and_has_titles(scores: str, place: Path) -> None:
    one_file(scores)
    edit("[overridden]\n", '[overridden]\n"p1" = "accept: <b>by hand</b>"\n')
    edit("\nreviews =", '\ntitles = "../titles.csv"\nreviews =')
    Path("titles.csv").write_text("paper,title\np1,</script><script>alert(1)</script>\n")
    said = succeed("report", "icx", "--papers", "--out", "papers.html").out
    assert "CONFIDENTIAL, for chairs alone, never share: papers.html" in said
    assert "8 papers are near the bar" in said
    page = Path("papers.html").read_text()
    assert stat.S_IMODE(Path("papers.html").stat().st_mode) == 0o600
    assert "<script>alert" not in page
    assert "by hand" in page
    assert not [name for name in PEOPLE if name in page]
    err = refusal("report", "icx/public/release-1", "--papers", "--out", "other.html")
    assert "--papers needs the conference's folder" in err
    assert not Path("other.html").exists()


@pytest.mark.parametrize("scores", ["public", "confidential"])
def test_the_page_of_a_release_by_this_years_evidence(scores: str, place: Path) -> None:
    """Its figures are those of `plan`; if scores are confidential, only the chair's page has them."""
    one_file(scores)
    said = succeed("plan", "icx", "--json").out
    planned = json.loads(said)
    own = next(choice for choice in planned["menu"]["choices"] if choice["guarantee"]["name"] == "odds")
    gain = planned["advice"].removeprefix("Expected gain: ").partition(" of 8 papers")[0]
    draw_pages()
    moved = "decided otherwise than by mean scores"
    figures = (f"<dd>{own['lots']}</dd>", f"<dd>{gain}</dd>", moved, "random draw</td>")
    for name, shown in (("public.html", scores == "public"), ("own.html", True)):
        page = Path(name).read_text()
        assert [text in page for text in figures] == [shown] * 4, name
        assert "by more than a factor of 20.1" in page
        assert f"which follows the corrected scores with chance {100 / (1 + exp(-3)):.1f} %" in page
        assert "A draw is not repeated." in page
        assert "neither stored nor published" in page
        assert ("says whether yours was" in page) == (scores == "public")
        assert "you may ask" not in page
        assert ("ask the chairs, who may tell that number" in page) == (not shown)
        assert not [person for person in PEOPLE if person in page]


@pytest.mark.parametrize("scores", ["public", "confidential"])
def test_advice_is_shown_without_any_decision(scores: str, place: Path) -> None:
    one_file(scores, publishes="advice")
    draw_pages()
    succeed("report", "icx", "--out", "papers.html", "--papers")
    public, own = Path("public.html").read_text(), Path("own.html").read_text()
    assert "not decisions: to raise, lower or leave" in public
    assert ">accept</td>" in own
    assert ">accept</td>" not in public
    assert (">leave</td>" in public) == (scores == "public")
    table = Path("papers.html").read_text()
    assert ('"advice: leave"' in table) == (scores == "public"), "what went out"


def test_the_table_of_papers_is_the_same_whoever_wrote_the_reviews(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of conferences that have the same scores under other writers, those with the same decisions."""
    pages: dict[bytes, list[bytes]] = {}
    for seed in range(12):
        home = tmp_path / str(seed)
        home.mkdir()
        monkeypatch.chdir(home)
        one_file("public", seed=seed)
        for name, more in (("papers", "--papers"), ("report", "--json")):
            succeed("report", "icx", "--out", f"{name}.html", more)
        decisions = Path("icx/public/release-1/decisions.csv").read_bytes()
        content = json.loads(Path("icx/public/release-1/certificate.json").read_bytes())
        page = Path("papers.html").read_bytes() + Path("report.html").read_bytes()
        for keyed in ("commitment", "key_fingerprint"):
            page = page.replace(content[keyed].encode(), keyed.encode())
        pages.setdefault(decisions, []).append(page)
    (draws,) = map(int, re.findall(r"(\d+) papers? w\w+ decided by a weighted draw", page.decode()))
    assert 1 < 2**draws < 12, "so that some of these conferences have the same decisions, whatever is drawn"
    assert any(len(found) > 1 for found in pages.values())
    assert all(len({*found}) == 1 for found in pages.values())


# --- `blindcal export`: from a plain release and from a conference's folder; import, export, import.


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_a_plain_release_is_exported(small: SmallConference, tmp_path: Path) -> None:
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    decided(folder, tmp_path / "key.bin", out)
    target = tmp_path / "table.csv"
    _, said, err = succeed("export", str(out), "--to", "csv", "--out", str(target))
    assert err == f"blindcal: {out} was not compared with the private log, as there is no key for it here\n"
    expected = [row[:2] for row in rows(out / "decisions.csv")]
    accepted = sum(row[1] == "accept" for row in expected)
    named = f"accept: {accepted} paper{'' if accepted == 1 else 's'}"
    assert f"wrote {target} (decisions for csv)\n  {named}\n" in said
    assert rows(target) == expected
    before = target.read_bytes()
    assert call("export", str(out), "--to", "csv", "--out", str(target))[0] == 3, "never overwritten"
    assert target.read_bytes() == before
    err = refusal("export", str(out), "--to", "hotcrp", "--out", str(tmp_path / "h.csv"))
    assert "must be a whole number: HotCRP knows papers by their numbers" in err
    assert not (tmp_path / "h.csv").exists()


def test_import_export_import(published: Path) -> None:
    """Papers and titles of a download come out as they went in; scores too, with decisions beside them."""
    succeed("export", "icx", "--to", "csv", "--out", "table.csv")
    succeed("export", "icx", "--to", "hotcrp", "--out", "hotcrp.csv")
    download = Path("downloads/scores.csv").read_bytes()
    imported = import_reviews(download, "scores.csv")
    table = rows(Path("table.csv"))
    assert {unescape(row[0]): unescape(row[1]) for row in table[1:]} == imported.titles
    bulk = {paper: decision for paper, _, decision in rows(Path("hotcrp.csv"))[1:]}
    lines = rows(Path("downloads/scores.csv"))
    place = lines[0].index("review")
    decided = [[*row[:place], bulk.get(row[0], "decision"), *row[place:]] for row in lines]
    with Path("again.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(decided)
    again = import_reviews(Path("again.csv").read_bytes(), "again.csv")
    assert again.reviews.columns() == imported.reviews.columns()
    assert (again.titles, again.committee) == (imported.titles, imported.committee)


def test_a_folder_has_titles_and_overridden_decisions(published: Path) -> None:
    first = rows(published / "public" / "release-1" / "decisions.csv")[1]
    other = {"accept": "reject", "reject": "accept"}[first[1]]
    line = f'"{first[0]}" = "{other}: the committee said so"'
    edit('# "23" = "accept: the committee found an error in a review"', line)
    code, out, _ = call("export", "icx", "--to", "xlsx", "--out", "table.xlsx", "--json")
    facts = json.loads(out)
    assert (code, facts["overridden"], facts["release"]) == (0, 1, "icx/public/release-1")
    assert "1 decision overridden by hand" in facts["notes"][0]
    code, _, err = call("export", "icx", "--to", "csv", "--out", "table.csv")
    assert "does not say what these reveal" in err
    table = rows(Path("table.csv"))
    assert table[0] == ["paper", "title", "decision", "overridden"]
    assert table[1][2:] == [other, "by hand"]
    assert call("verify", "icx")[0] == 0, "the release itself stays as it was"


def test_the_latest_complete_release_of_a_folder_is_exported(published: Path) -> None:
    second = published / "public" / "release-2"
    second.mkdir()
    (second / "decisions.csv").write_text("paper,decision,by_mean_score,advice\n1,accept,accept,leave\n")
    _, out, err = succeed("export", "icx", "--to", "openreview", "--out", "first.csv")
    assert "from icx/public/release-1\n" in out
    assert f"{second} was left incomplete" in err
    (second / "certificate.json").write_text("{}\n")
    succeed("export", "icx", "--to", "openreview", "--out", "o.csv")
    assert Path("o.csv").read_text() == "1,Accept (Poster),\n"


def test_words_for_decisions_are_printed_with_how_many_papers_have_them(published: Path) -> None:
    out = succeed("export", "icx", "--to", "hotcrp", "--out", "h.csv").out
    said = [row[2] for row in rows(Path("h.csv"))[1:]]
    yes, no = said.count("yes"), said.count("no")
    words = [f"{word}: {n} paper{'' if n == 1 else 's'}" for word, n in (("yes", yes), ("no", no))]
    assert "wrote h.csv (decisions for hotcrp)\n  {}\n  {}\n".format(*words) in out
    assert yes + no == 6
    out = succeed("export", "icx", "--to", "hotcrp", "--rejected", "Thanks", "--out", "i.csv", "--json").out
    assert json.loads(out)["words"] == {"yes": yes, "Thanks": no}
    out = succeed("export", "icx", "--to", "csv", "--what", "advice", "--out", "a.csv", "--json").out
    assert json.loads(out)["words"] == {}


def test_advice_says_whom_it_is_for(published: Path) -> None:
    out = succeed("export", "icx", "--to", "csv", "--what", "advice", "--out", "a.csv").out
    assert "Advice is for area chairs" in out


@pytest.mark.parametrize("scores", ["public", "confidential"])
def test_advice_says_what_it_starts_from_and_that_decisions_by_hand_are_not_in_it(
    scores: str, place: Path
) -> None:
    one_file(scores, publishes="advice")
    args = ("export", "icx", "--to", "csv", "--out")
    assert "by hand" not in succeed(*args, "a.csv").err
    table = rows(Path("a.csv"))
    assert table[0] == ["paper", "by_mean_score", "advice"]
    assert {row[1] for row in table[1:]} <= {"accept", "reject", "tie"}
    assert all((row[1] == "tie") == row[2].startswith("tie: ") for row in table[1:])
    if scores == "public":
        assert rows(Path("icx/public/release-1/advice.csv")) == table
    edit("[overridden]\n", '[overridden]\n"p1" = "accept: an error"\n')
    code, said, _ = call(*args, "b.csv", "--json")
    facts = json.loads(said)
    assert (code, facts["overridden"]) == (0, 0)
    assert "1 decision by hand under [overridden] in conference.toml not written" in facts["notes"][-1]
    assert Path("b.csv").read_bytes() == Path("a.csv").read_bytes()


@pytest.mark.parametrize("publishes", ["decisions", "advice"])
@pytest.mark.parametrize("accept", ["40%", "3"])
@pytest.mark.parametrize("scores", ["public", "confidential"])
def test_pages_of_decisions_by_scores_alone_speak_of_no_draw_and_no_strictness(
    scores: str, accept: str, publishes: str, place: Path
) -> None:
    said = one_file(scores, accept=accept, publishes=publishes, guarantee="public")
    assert "choose `guarantee` public" not in said
    assert "decided by the scores alone" in said
    assert "calibrated" not in said
    about_key = "If it was published before the draw, no one can have chosen the draws afterward."
    draw_pages()
    for name in ("public.html", "own.html"):
        menu = '<details class="part"><summary><h2 id="menu">'
        aside = f"(?s)<style>.*?</style>|{menu}.*?</details>|{about_key}"
        page = re.sub(aside, "", Path(name).read_text())
        assert "Who wrote which review played no part." in page
        for word in ("other reviews", "draw", "Links are not hidden", "looks strict", "calibrat"):
            assert word not in page, (name, word)
        assert "was wrong can be decided again" in page
        assert "Nobody: none were computed" in page
    code, said, _ = call("report", "icx/public/release-1", "--text")
    said = " ".join(said.split()).replace(about_key, "")
    assert (code, "draw" in said, "other reviews" in said) == (0, False, False)
    assert "Papers were decided by their scores alone" in said


def test_the_page_of_confidential_advice_names_no_file_that_is_not_there(place: Path) -> None:
    one_file("confidential", publishes="advice")
    _, said, err = succeed("report", "icx", "--out", "public.html")
    assert "the page lists no paper" in said + err
    page = Path("public.html").read_text()
    assert "advice.csv" not in page
    assert "apart from the decisions" not in page
    assert "first decisions" not in page
    assert '<th scope="col">paper</th>' not in page
    assert "no paper is listed here" in page


def test_words_of_the_folder_are_for_systems_that_have_words(published: Path) -> None:
    edit('# accepted = "Accept (Oral)"', 'accepted = "Talk"')
    edit('# rejected = "Reject"', 'rejected = "Thanks"')
    for to in ("hotcrp", "openreview", "easychair", "cmt"):
        succeed("export", "icx", "--to", to, "--out", f"{to}.csv")
        decisions = {row[2 - (to == "openreview")] for row in rows(Path(f"{to}.csv"))}
        assert {"Talk", "Thanks"} <= decisions, to
    succeed("export", "icx", "--to", "csv", "--out", "t.csv")
    assert {row[2] for row in rows(Path("t.csv"))} == {"decision", "accept", "reject"}
    succeed("export", "icx", "--to", "csv", "--what", "advice", "--out", "a.csv")
    err = refusal("export", "icx", "--to", "csv", "--what", "advice", "--accepted", "A", "--out", "b.csv")
    assert "--accepted, --rejected and --waiting must be left out" in err


@pytest.mark.parametrize(
    ("to", "line"),
    [
        ("hotcrp", "more than one matches, give the exact names of yours with --accepted and --rejected"),
        ("easychair", "a list to type from: we know of no upload of decisions to EasyChair"),
        ("cmt", "a list to type from: we know of no upload of decisions to CMT"),
    ],
)
def test_how_decisions_get_into_a_system_is_said(published: Path, to: str, line: str) -> None:
    assert line in succeed("export", "icx", "--to", to, "--out", "x.csv").out


def test_papers_that_another_number_or_a_refill_leaves_out_are_taken_back_or_named(place: Path) -> None:
    """Three are accepted; then one, one waits, one is withdrawn: the system must not accept them."""
    exports = write_exports(place / "downloads", papers=6)
    succeed("new", "icx", *options(exports, "reviews", "reviewers"), "--accept", "3")
    succeed("decide", "icx")
    succeed("export", "icx", "--to", "openreview", "--out", "three.csv")
    accepted = {row[0] for row in rows(Path("three.csv")) if row[1].startswith("Accept")}
    gone = min(accepted)
    edit("\n[withdrawn]\n", f'\n[withdrawn]\n"{gone}" = "by mail"\n')
    one = ("--accept", "1", "--wait-list", "1")
    code, _, err = call("export", "icx", *one, "--to", "openreview", "--out", "one.csv")
    first = {row[0] for row in rows(Path("one.csv")) if row[1].startswith("Accept")}
    (waits,) = accepted - first - {gone}
    assert (code, len(first)) == (0, 1)
    assert f"1 paper on the wait list: not in the file: {waits}. If an earlier file decided any of" in err
    assert f"accepted by a release and not in this list: {gone}. If an earlier file" in err
    succeed("export", "icx", *one, "--to", "hotcrp", "--out", "h.csv")
    assert {row[2] for row in rows(Path("h.csv")) if row[:2] == [waits, "cleardecision"]} == {"yes", "no"}
