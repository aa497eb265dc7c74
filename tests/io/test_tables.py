"""The strict reader and the writer of tables."""

from __future__ import annotations

import csv
import io
import math
import os
import shutil
import subprocess
from dataclasses import is_dataclass
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blindcal as bc
from bad_files import FAMILIES, Bad, good_rows, write
from blindcal.adversaries.findings import findings_of, planned_views
from blindcal.errors import InputError, Problem
from blindcal.io import tables
from blindcal.io.atomic_files import read_table, write_table
from blindcal.io.cells import Column, natural_key, unescape
from blindcal.io.tables import format_table, match_columns, parse_table
from blindcal.policy import average_frontier, solve, spend
from blindcal.reviews import Reviews
from blindcal.simulation.population import Population, simulate_many
from sizes import count
from small_conferences import read_small, small_conference
from strategies import TEXT

HERE = Path(__file__).parents[1]
FIXTURES = sorted((HERE / "data" / "vectors" / "reviews").glob("*.csv"))


@pytest.mark.parametrize("name", FAMILIES)
def test_bad_files_are_refused_at_the_place_of_the_fault(name: str, tmp_path: Path) -> None:
    """One fault in tables that are made or stored, in any spelling that a good one may have."""
    rng = Random(crc32(name.encode()))
    for _ in range(20):
        assert_refused(FAMILIES[name](good_rows(rng), rng), tmp_path)
    for fixture in FIXTURES:
        text = fixture.read_bytes().decode("utf-8-sig").rstrip()
        text = text if "\n" in text else text.replace("\r", "\n")
        for _ in range(3):
            rows = list(csv.reader(io.StringIO(text, newline="")))
            assert_refused(FAMILIES[name](rows, rng), tmp_path)


def assert_refused(bad: Bad, folder: Path) -> None:
    path = folder / "reviews.csv"
    path.write_bytes(bad.data)
    with pytest.raises(InputError) as caught:
        Reviews.read(path)
    assert os.listdir(folder) == ["reviews.csv"]
    problems = caught.value.problems
    told = [p for p in problems if p.row == bad.row and p.column == bad.column and bad.rule in str(p)]
    assert told, f"{bad}\n{caught.value}"
    if bad.offset is not None:
        assert str(told[0].found).split().count(str(bad.offset)) == 1, f"{bad}\n{caught.value}"


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_any_change_of_bytes_is_read_or_refused_with_a_place(fixture: Path, tmp_path: Path) -> None:
    data, path = fixture.read_bytes(), tmp_path / "reviews.csv"
    assert len(Reviews.read(fixture)) > 0
    rng = Random(crc32(data))
    refusals: list[InputError] = []
    for _ in range(count(300, 20_000)):
        path.write_bytes(_mutated(data, rng))
        try:
            Reviews.read(path)
        except InputError as error:
            refusals.append(error)
    assert len(refusals) > 20
    assert all(refusal.problems for refusal in refusals)
    assert all(p.row is not None or "byte" in str(p.found) for refusal in refusals for p in refusal.problems)


def _mutated(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(changed) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            del changed[place : place + rng.randint(1, 5)]
        elif kind == 1:
            changed[place:place] = rng.choice(
                [b",", b'"', b"\n", b"\r", b"\0", b"'", b"=", b" ", b"\xff", b"9"]
            )
        elif kind == 2 and place < len(changed):
            changed[place] = rng.randrange(256)
        else:
            start = rng.randrange(len(changed) + 1)
            changed[place:place] = changed[start : start + rng.randint(1, 30)]
    return bytes(changed)


def test_every_problem_of_a_file_is_told_at_once() -> None:
    data = b'paper,reviewer,score\np1,a,x\n,b,1_0\np3,c\np4,d,nan\np5,"e,1\n'
    with pytest.raises(InputError) as caught:
        parse_table(
            data, "r.csv", [Column("paper", "id"), Column("reviewer", "id"), Column("score", "number")]
        )
    assert [(p.row, p.column) for p in caught.value.problems] == [
        (2, "score"),
        (3, "paper"),
        (3, "score"),
        (4, None),
        (5, "score"),
        (6, "2"),
    ]
    assert str(caught.value).count("r.csv, row") == 6


def test_messages_about_reviews_quote_no_cell(tmp_path: Path) -> None:
    canary, path = "canary-7f3a", tmp_path / "reviews.csv"
    tables = [
        f"paper,reviewer,score\np1,{canary},{canary}\n",
        f"paper,reviewer,score\n{canary} ,{canary} ,1\n",
        f"{canary},{canary},1\np1,x,2\n",
        f'paper,reviewer,score\np,"{canary}"x,3\n',
        f"paper,reviewer,score\np,{canary},3\np,{canary},4\n",
        f"paper,reviewer,score,track\np,{canary},3,a\np,b,4,{canary}\n",
        f"paper,reviewer,score\np,{canary},3,{canary}\n",
    ]
    for text in tables:
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            Reviews.read(path)
        assert canary not in str(caught.value)
        assert canary not in repr(caught.value.problems)


NAMES = ",".join(f"c{i}" for i in range(1_000))
WIDE = [Column(name) for name in NAMES.split(",")]
LONG = b"x\n" * 50_000
OTHERS = "must have cells separated by commas (`blindcal import` reads such files of reviews), found"
REFUSED = {
    "fraction": (b"n\n2.5\n", Column("n", "integer"), "row 2, column n: must be a whole number, found '2.5'"),
    "choice": (b"n\nc\n", Column("n", choices=("a", "b")), "column n: must be one of a, b, found 'c'"),
    "range": (b"n\n2\n", Column("n", "number", low=0, high=1), "column n: must lie in [0, 1], found '2'"),
    "column": (b"n,o\n2,3\n", Column("n"), "row 1, column 2: must be one of the known columns (n)"),
    "cell": (
        b't\n"' + LONG + b'x"\n',
        Column("t"),
        "row 2: must have at most 100,000 characters per cell, found 100,001",
    ),
    "width": (f"{NAMES},x\n".encode(), WIDE, "row 1: must have at most 1,000 columns, found 1,001"),
    "quoted width": (
        f'"x",{NAMES},x\n'.encode(),
        WIDE,
        "row 1: must have at most 1,000 columns, found 1,001",
    ),
    "Latin 1": (
        "n\né\n".encode("latin-1"),
        Column("n", "id"),
        "row 2: must be UTF-8 text (save as CSV UTF-8), found byte 0xe9",
    ),
    "semicolons": (b"n;t\np;1\n", [Column("n"), Column("t")], f"x.csv, row 1: {OTHERS} semicolons"),
    "tabs": (b"n\tt\np\t1\n", [Column("n"), Column("t")], f"x.csv, row 1: {OTHERS} tabs"),
    "bars": (b"n|t\np|1\n", [Column("n"), Column("t")], f"x.csv, row 1: {OTHERS} bars"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_table_is_refused_with_its_place_and_rule(name: str) -> None:
    """Without a secret column the bad value is quoted."""
    data, columns, message = REFUSED[name]
    with pytest.raises(InputError) as caught:
        parse_table(data, "x.csv", columns if isinstance(columns, list) else [columns])
    (told,) = str(caught.value).split("\n")
    assert message in told


def test_limits_are_the_last_values_allowed() -> None:
    unit = [Column("n", "number", low=0, high=1)]
    assert parse_table(b"n\n0\n1\n", "r.csv", unit).number("n").tolist() == [0, 1]
    for cell in (LONG, LONG[2:] + b"xx"):
        assert len(parse_table(b't\n"' + cell + b'"\n', "r.csv", [Column("t")])) == 1
    assert len(parse_table(f"{NAMES}\n{NAMES}\n".encode(), "r.csv", WIDE).columns) == 1_000


def test_many_problems_are_counted_and_not_all_listed() -> None:
    column, rule = [Column("size", "number", low=0.0, high=1.0)], "with the same problem"
    with pytest.raises(InputError, match=f"and 4,997 more rows {rule}") as caught:
        parse_table(b"size\n" + b"x\n" * 5_000, "r.csv", column)
    assert len(caught.value.problems) == 100
    with pytest.raises(InputError, match=rf"and at least 1\d,\d\d\d more rows {rule}"):
        parse_table(b"size\n" + b"x\n" * 50_000, "r.csv", column)
    with pytest.raises(InputError, match=f"... and 197 more rows {rule}\nand 7 more problems$"):
        parse_table(b"size\n" + b"50\n" * 200 + b"much\n" * 7, "p.csv", column)


def test_one_mistake_in_many_rows_is_told_once_and_listed_in_full() -> None:
    """Percentages for probabilities, and one row with a mistake of its own in the midst of them."""
    rows = ["p,50"] * 100
    rows[40] = "p,much"
    columns = [Column("paper", "id"), Column("chance", "number", low=0.0, high=1.0)]
    with pytest.raises(InputError) as caught:
        parse_table("\n".join(["paper,chance", *rows]).encode(), "p.csv", columns)
    assert str(caught.value).split("\n") == [
        "p.csv, row 2, column chance: must lie in [0, 1], found '50'",
        "p.csv, row 3, column chance: must lie in [0, 1], found '50'",
        "p.csv, row 4, column chance: must lie in [0, 1], found '50'",
        "... and 96 more rows with the same problem",
        "p.csv, row 42, column chance: must be a number, found 'much'",
    ]
    assert [problem.row for problem in caught.value.problems] == list(range(2, 102))


def test_optional_missing_and_infinite_cells() -> None:
    columns = [
        Column("e", "number", infinite=True, empty=True),
        Column("t", empty=True),
        Column("n", required=False),
    ]
    table = parse_table(b"t,e\n,inf\nx,\n", "r.csv", columns)
    assert table.text("t") == ("", "x")
    assert table.number("e")[0] == math.inf
    assert math.isnan(table.number("e")[1])
    assert "n" not in table
    assert len(table) == 2
    with pytest.raises(TypeError, match="holds text"):
        table.number("t")
    with pytest.raises(TypeError, match="holds numbers"):
        table.text("e")


@pytest.mark.parametrize("cell", ["1", "-1", "+1.5", ".5", "5.", "1e3", "1E-3", "007", "-0", "1e-400"])
def test_numbers_of_the_grammar_are_read_by_value(cell: str) -> None:
    assert parse_table(f"n\n{cell}\n".encode(), "r.csv", [Column("n", "number")]).number("n")[0] == float(
        cell
    )


def test_the_reader_agrees_with_the_csv_module_on_good_tables() -> None:
    rng = Random(20)
    for _ in range(count(200, 5_000)):
        rows = good_rows(rng)
        columns = [Column(name, "text", empty=True) for name in rows[0]]
        table = parse_table(write(rows, rng), "r.csv", columns)
        for place, name in enumerate(rows[0]):
            assert list(table.text(name)) == [unescape(row[place]) for row in rows[1:]]


def test_the_limit_of_lines_and_bytes_is_checked_before_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blindcal.io.tables.MAX_LINES", 100)
    with pytest.raises(InputError, match="at most 100 lines, found 101"):
        parse_table(b"n\n" * 101, "r.csv", [Column("n")])
    monkeypatch.setattr("blindcal.io.tables.MAX_BYTES", 20)
    with pytest.raises(InputError, match="at most 20 bytes, found 202"):
        parse_table(b"n\n" * 101, "r.csv", [Column("n")])


NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53).map(float)


@given(st.lists(st.tuples(TEXT, NUMBER), min_size=1, max_size=8))
def test_a_written_table_reads_back_equal(rows: list[tuple[str, float]]) -> None:
    # NUL is refused by the reader and half a surrogate pair is not text.
    rows = [(text.replace("\0", ""), value) for text, value in rows]
    data = format_table({"text": [t for t, _ in rows], "value": [v for _, v in rows]})
    table = parse_table(data, "t.csv", [Column("text", empty=True), Column("value", "number")])
    expected = sorted(rows, key=lambda row: (natural_key(row[0]), row[1]))
    assert list(zip(table.text("text"), table.number("value").tolist(), strict=True)) == expected


@given(st.lists(st.text("ab'=\n\r \t", max_size=3), min_size=1, max_size=5))
def test_columns_with_empty_cells_read_back_equal(cells: list[str]) -> None:
    for width in (1, 3):
        names = [f"t{i}" for i in range(width)]
        written = format_table(dict.fromkeys(names, cells))
        table = parse_table(written, "t.csv", [Column(name, empty=True) for name in names])
        assert all(list(table.text(name)) == sorted(cells) for name in names)


@pytest.mark.parametrize("end", ["", "\n\n\n", ",,\n", "\r\n , ,\r\n", "\n\t\n", ",,,,,,\n,\n"])
def test_blank_lines_at_the_end_are_harmless_and_elsewhere_are_not(end: str) -> None:
    columns = [Column("a"), Column("b"), Column("c", empty=True)]
    table = parse_table(f"a,b,c\n1,2,\n{end}".encode(), "t.csv", columns)
    assert (len(table), table.text("b")) == (1, ("2",))
    if end:
        with pytest.raises(InputError, match="row 3"):
            parse_table(f"a,b,c\n1,2,\n{end.rstrip()}\n3,4,5\n".encode(), "t.csv", columns)


@pytest.mark.parametrize("text", ["x;=HYPERLINK(1)", "a title\t=1+1", 'x;"y"', ";"])
def test_what_another_country_separates_by_is_quoted_and_reads_back(text: str) -> None:
    """A spreadsheet that splits at semicolons or tabs would run what follows one in a cell of its own."""
    made = format_table({"paper": [text], "note": ["n"]})
    for separator in ";\t":
        first = next(iter([*csv.reader(io.StringIO(made.decode()), delimiter=separator)][1:]))
        assert not [cell for cell in first if cell.startswith("=")]
    assert parse_table(made, "t.csv", [Column("paper"), Column("note")]).text("paper") == (text,)


def test_tables_are_written_sorted_with_missing_and_infinite_numbers() -> None:
    data = format_table({"n": [2.0, math.inf, math.nan, -1], "t": ["b", "c", "d", "a"]})
    assert data == b"n,t\n,d\n-1,a\n2,b\ninf,c\n"
    assert format_table({"n": np.array([3, 1])}) == b"n\n1\n3\n"
    assert format_table({"n": []}) == b"n\n"
    with pytest.raises(InputError, match="one length"):
        format_table({"a": [1], "b": [1, 2]})
    with pytest.raises(InputError, match="column a must hold text or numbers, found bool"):
        format_table({"a": [True]})
    with pytest.raises(InputError, match="found NoneType"):
        format_table({"a": [None]})
    with pytest.raises(InputError, match="half a surrogate pair"):
        format_table({"a": ["\ud800"]})


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_formulas_open_as_text_in_libreoffice(tmp_path: Path) -> None:
    cells = [
        *("=1+1", "+2", "-3", "@SUM(A1)", "\t=4", "'=5", '=HYPERLINK("http://x")', "plain"),
        "=cmd|'/c calc'!A1",
    ]
    ids = [f"k{i}" for i in range(len(cells))]
    write_table(tmp_path / "ours.csv", {"id": ids, "text": cells})
    (tmp_path / "raw.csv").write_text("id,text\nk0,=1+1\n")
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = ["soffice", "--headless", profile, "--convert-to", "fods", "--outdir", str(tmp_path)]
    inputs = [str(tmp_path / "ours.csv"), str(tmp_path / "raw.csv")]
    subprocess.run([*command, *inputs], check=True, capture_output=True, timeout=300)
    ours, raw = ((tmp_path / f"{name}.fods").read_text(encoding="utf-8") for name in ("ours", "raw"))
    assert "table:formula" in raw
    assert "table:formula" not in ours
    assert ours.count('office:value-type="string"') == 2 * (len(cells) + 1)
    assert read_table(tmp_path / "ours.csv", [Column("id"), Column("text")]).text("text") == tuple(cells)


# --- Every result type gives a data frame whose numbers are its own.


BELIEF = bc.Belief([[0.6, 0.4], [0.5, 0.5]], [[0.9, 0.2], [0.3, 0.8]])
POLICY = bc.Policy([1.0, 0.25])
ONE = bc.Belief([0.6, 0.4], [0.9, 0.2])


AUDITED = bc.audit(ONE, bc.Policy([0.75, 0.25]))
FRONTIER = bc.frontier(BELIEF)
AVERAGE = average_frontier((bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)))
RESULTS = {
    "belief": BELIEF,
    "policy": POLICY,
    "frontier": FRONTIER,
    "spending": spend(FRONTIER, conference_error=0.3),
    "audit": AUDITED,
    "games": bc.play(BELIEF, POLICY, 10, np.random.default_rng(1)),
    "average frontier": average_frontier((bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.5))),
    "average rule": AVERAGE.rule(conference_error=0.01),
    "ranking errors": bc.paper.appendix_a([0.1], ["raw"], trials=2),
    "figure": bc.paper.figure("6"),
    "solution": solve(ONE, bc.Guarantee("steady", epsilon=2.0)),
}


@pytest.mark.edge
@pytest.mark.parametrize("name", RESULTS)
def test_every_result_type_has_a_frame(name: str) -> None:
    assert is_dataclass(RESULTS[name])
    found = RESULTS[name].to_frame()
    assert len(found) > 0
    assert found.notna().all(axis=None)


@pytest.mark.edge
def test_the_numbers_are_in_their_rows() -> None:
    found = BELIEF.to_frame()
    assert found.columns.tolist() == ["instance", "secret", "weight", "favor"]
    row = found[(found.instance == 1) & (found.secret == 0)].iloc[0]
    assert (row.weight, row.favor) == (0.5, 0.3)
    row = AUDITED.to_frame().iloc[0]
    assert (row.success, row.multiplier) == (float(AUDITED.success), AUDITED.multiplier)


@pytest.mark.edge
def test_whole_conferences_have_frames_too(tmp_path: Path) -> None:
    inputs = read_small(small_conference(), tmp_path / "in")
    request = bc.Request(bc.Guarantee("steady", epsilon=2.0), accept_rate=0.4)
    plan = bc.plan(inputs, request)
    assert plan.to_frame().paper.tolist() == [case.paper for case in plan.conference.cases]
    assert (plan.to_frame().epsilon <= 2.0).all()
    menu = plan.menu()
    assert menu.to_frame().wrong.tolist() == [choice.wrong for choice in menu.choices]
    bc.make_key(tmp_path / "key.bin")
    outcome = bc.decide(inputs, request, key=tmp_path / "key.bin", out=tmp_path / "out")
    public = (tmp_path / "out" / "decisions.csv").read_text(encoding="utf-8")
    assert outcome.to_frame().to_csv(index=False) == public
    assert plan.fit.to_frame().verdict.tolist() == [plan.fit.verdict]
    found = findings_of(planned_views(plan))
    assert found.to_frame().added.tolist() == [one.added for one in found.findings]
    checked = bc.verify(inputs, key=tmp_path / "key.bin", out=tmp_path / "out")
    assert checked.to_frame().failed.sum() == 0


@pytest.mark.edge
def test_calibrators_have_frames_too() -> None:
    drawn = simulate_many(np.random.default_rng(1), 1, 12, 12, 3, Population(offset=0.5))
    table = drawn.reviews()
    found = bc.calibrators.raw(table)
    assert found.to_frame().paper.tolist() == list(table.papers)
    assert found.to_frame().quality.tolist() == found.quality.tolist()
    assessed = bc.assess(table)
    rows = assessed.to_frame().set_index("number")
    assert rows.loc["share of quality", "value"] == assessed.shares["quality"].value
    assert (rows.low <= rows.high).all()


@pytest.mark.edge
def test_labels_are_columns() -> None:
    belief = bc.Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7], labels=np.array([[0, 1, 1], [5, 5, 7]]))
    assert belief.to_frame()["label 1"].tolist() == [5, 5, 7]


@pytest.mark.edge
def test_without_pandas_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(tables, "import_module", missing)
    with pytest.raises(bc.InputError, match="needs pandas: pip install pandas"):
        POLICY.to_frame()


# --- Headers: where the columns stand, and what a header that does not fit is taken for.


REVIEWS = [Column("paper", "id"), Column("reviewer", "id", secret=True), Column("score", "number")]
PEOPLE = [Column(name, "id") for name in ("reviewer", "slope", "offset", "noise")]
POOLS = [Column("paper", "id"), *(Column(name, "id", required=False) for name in ("reviewer", "conflict"))]
SWAPPED = {
    "reviewer,slope,offset,noise,noise_se": (REVIEWS, "the reviewers' calibration"),
    "Paper,Reviewer,Score,confidence": (POOLS, "the reviews"),
    "paper,reviewer,probability": (PEOPLE, "the pools"),
    "paper,reviewer": (REVIEWS, "the pools"),
    "paper,conflict": (REVIEWS, "the conflicts"),
}


@pytest.mark.parametrize("header", SWAPPED)
def test_the_header_of_another_table_is_recognized(header: str) -> None:
    columns, kind = SWAPPED[header]
    rule = "x.csv, row 1: must be the header of this table"
    expected = f"{rule}, found that of {kind}: is it the wrong file, or are two swapped?"
    with pytest.raises(InputError) as caught:
        parse_table(f"{header}\n".encode(), "x.csv", columns)
    assert str(caught.value).split("\n")[0] == expected


def test_a_missing_header_is_asked_for_and_not_quoted() -> None:
    for first in ("", "sep=,\n", "# exported in May\n"):
        data = f"{first}p1,canary,4\np2,canary,5\n".encode()
        with pytest.raises(InputError) as caught:
            parse_table(data, "x.csv", REVIEWS)
        lines = str(caught.value).split("\n")
        assert lines[0].endswith("found none of its names: is there no header, or a line before it?")
        assert [line.split(": ")[0] for line in lines[1:]] == [
            f"x.csv, row 1, column {name}" for name in ("paper", "reviewer", "score")
        ]
        assert "canary" not in str(caught.value)


@pytest.mark.parametrize("header", ["paper,reviewer,scores", "reviewer,score", "paper,reviewer,score,score"])
def test_a_header_that_is_almost_right_is_taken_for_no_other(header: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_table(f"{header}\n".encode(), "x.csv", REVIEWS, extra=True)
    assert "must be the header of this table" not in str(caught.value)


def test_a_column_that_nobody_asked_for_makes_no_other_table_of_it() -> None:
    """Whoever looks for one column of a file may leave out the others."""
    data = b"paper,reviewer,probability\np1,a,0.5\n"
    assert parse_table(data, "x.csv", [Column("paper", "id")], extra=True).text("paper") == ("p1",)


def test_columns_are_found_in_any_order_and_case_and_by_their_other_names() -> None:
    columns = [
        Column("paper", "id", synonyms=("item",)),
        Column("score", "number"),
        Column("track", required=False),
    ]
    assert match_columns([" SCORE", "Item "], "x.csv", columns) == ({"paper": 1, "score": 0}, [])


def test_every_problem_of_a_header_is_listed_at_once() -> None:
    columns = [Column("paper", "id", synonyms=("item",)), Column("score", "number"), Column("reviewer", "id")]
    place, problems = match_columns(["paper", "item", "score", "canary"], "x.csv", columns)
    assert place == {"score": 2}
    assert problems == [
        Problem("x.csv", 1, "paper", "must appear once", "2 columns that mean it"),
        Problem("x.csv", 1, "reviewer", "must be in the header"),
        Problem("x.csv", 1, "4", "must be one of the known columns (paper, score, reviewer)"),
    ]


def test_a_single_column_may_hold_any_character() -> None:
    assert match_columns(["a;b"], "x.csv", [Column("a;b")]) == ({"a;b": 0}, [])
