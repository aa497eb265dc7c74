"""Reviews: ids as text, the same table whatever its form, grids and connected parts."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bad_files import write
from blindcal.errors import InputError, RefusedError
from blindcal.reviews import (
    Reviews,
    infer_grid,
    orient_reviewers,
    orient_reviews,
    original_scores,
    similar_id_warnings,
)

FIXTURES = sorted((Path(__file__).parent / "data" / "vectors" / "reviews").glob("*.csv"))
IDS = (
    st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=6)
    .map(str.strip)
    .filter(bool)
)
TABLES = st.lists(
    st.tuples(IDS, IDS, st.integers(-5, 5) | st.floats(-1e9, 1e9)),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[:2],
)


def same(one: Reviews, other: Reviews) -> bool:
    return (
        one.columns() == other.columns() and one.papers == other.papers and one.reviewers == other.reviewers
    )


def columns(rows: list[tuple[str, str, float]]) -> dict[str, list[object]]:
    return dict(zip(("paper", "reviewer", "score"), map(list, zip(*rows, strict=True)), strict=True))


def read(tmp_path: Path, text: str, **options: object) -> Reviews:
    path = tmp_path / "reviews.csv"
    path.write_bytes(text.encode())
    return Reviews.read(path, **options)


def test_ids_are_text(tmp_path: Path) -> None:
    reviews = read(tmp_path, "paper,reviewer,score\n007,NA,1\n7,nan,2\n7.0,007,3\n1e2,null,4\n")
    assert reviews.papers == ("1e2", "007", "7", "7.0")
    assert reviews.reviewers == ("007", "NA", "nan", "null")
    assert reviews.score.tolist() == [4.0, 1.0, 2.0, 3.0]
    assert reviews.paper.dtype == np.int64


def test_integers_lead_back_to_the_rows_of_the_file(tmp_path: Path) -> None:
    rows = [("b", "y", -1.5), ("a", "z", 2.0), ("b", "x", 3.0)]
    reviews = read(tmp_path, "score,reviewer,paper\n" + "".join(f"{s},{r},{p}\n" for p, r, s in rows))
    ids = zip(reviews.paper, reviews.reviewer, reviews.score, strict=True)
    assert [(reviews.papers[p], reviews.reviewers[r], s) for p, r, s in ids] == sorted(rows)
    assert repr(reviews) == "Reviews(3 reviews of 2 papers by 3 reviewers)"


@pytest.mark.parametrize(
    "header",
    [
        *("paper,reviewer,score", "Paper,Reviewer,Score", "item,rater,score", "task,worker,label"),
        *("PaperID,PersonID,Rating", " paper , reviewer , SCORE "),
    ],
)
def test_synonyms(header: str, tmp_path: Path) -> None:
    reviews = read(tmp_path, header + "\na,x,1\n")
    assert (reviews.papers, reviews.reviewers, reviews.score.tolist()) == (("a",), ("x",), [1.0])
    names = [name.strip() for name in header.split(",")]
    assert same(reviews, Reviews.from_table(dict(zip(names, (["a"], ["x"], [1]), strict=True))))


@given(TABLES, st.randoms(use_true_random=False))
def test_row_order_line_ends_marks_and_column_order_do_not_matter(
    rows: list[tuple[str, str, float]], rng: Random
) -> None:
    expected = Reviews.from_table(columns(rows))
    shuffled = rng.sample(rows, len(rows))
    assert same(expected, Reviews.from_table(columns(shuffled)))
    assert expected.digest() == Reviews.from_table(columns(shuffled)).digest()
    moved = columns([(p, r, s + 1e-6 * (1 + abs(s)) if i == 0 else s) for i, (p, r, s) in enumerate(rows)])
    assert Reviews.from_table(moved).digest() != expected.digest()


@given(TABLES, st.randoms(use_true_random=False))
def test_a_file_by_another_writer_gives_the_same_reviews(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, float]], rng: Random
) -> None:
    # An apostrophe in front may be an escape, which only our own writer knows how to double.
    rows = [(p.lstrip("'") or "p", r.lstrip("'") or "r", s) for p, r, s in rows]
    if len({row[:2] for row in rows}) < len(rows):
        return
    names = rng.sample(["paper", "reviewer", "score"], 3)
    table = columns(rows)
    lines = [names, *([str(table[name][i]) for name in names] for i in range(len(rows)))]
    path = tmp_path_factory.mktemp("r") / "reviews.csv"
    path.write_bytes(write(lines, rng))
    assert same(Reviews.read(path), Reviews.from_table(table))


@given(TABLES)
def test_written_reviews_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, float]]
) -> None:
    path = tmp_path_factory.mktemp("r") / "reviews.csv"
    reviews = Reviews.from_table(columns(rows))
    reviews.write(path)
    assert same(Reviews.read(path), reviews)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RefusedError):
        reviews.write(path)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_good_fixtures_survive_writing(fixture: Path, tmp_path: Path) -> None:
    reviews = Reviews.read(fixture)
    reviews.write(tmp_path / "again.csv")
    again = Reviews.read(tmp_path / "again.csv")
    assert repr(again.columns()) == repr(reviews.columns())
    assert again.digest() == reviews.digest()


def test_conferences_keep_papers_apart_and_reviewers_together(tmp_path: Path) -> None:
    header = "conference,paper,reviewer,score,confidence,track\n"
    reviews = read(tmp_path, header + "2024,1,ada,3,5,\n2025,1,ada,4,,demo\n2025,2,bo,5,2,main\n")
    assert reviews.papers == ("2024/1", "2025/1", "2025/2")
    assert reviews.reviewers == ("ada", "bo")
    assert reviews.conferences == ("2024", "2025")
    assert reviews.conference is not None
    assert reviews.conference.tolist() == [0, 1, 1]
    assert reviews.tracks == ("demo", "main")
    assert reviews.track is not None
    assert reviews.track.tolist() == [-1, 0, 1]
    assert reviews.confidence is not None
    assert reviews.confidence[0] == 5
    assert math.isnan(reviews.confidence[1])
    one = reviews.only("2025")
    assert (one.papers, one.reviewers, one.conferences) == (("1", "2"), ("ada", "bo"), ())
    assert one.score.tolist() == [4.0, 5.0]
    with pytest.raises(InputError, match=r"conference must be one of \['2024', '2025'\], found '2026'"):
        reviews.only("2026")


def test_papers_keep_their_ids_where_one_conference_is_left() -> None:
    columns = {
        "paper": [1, 1, 2, 2],
        "reviewer": ["ada", "bo", "cy", "bo"],
        "score": [5, 3, 4, 2],
        "conference": ["A", "B", "B", "B"],
        "track": ["x", "y", "", ""],
    }
    reviews = Reviews.from_table(columns)
    assert reviews.without(["A/9"]) is reviews
    left = reviews.without(["A/1", "B/9"])
    assert left.papers == ("B/1", "B/2")
    assert (left.reviewers, left.reviewer.tolist()) == (("bo", "cy"), [0, 0, 1])
    assert left.track is not None
    assert (left.tracks, left.track.tolist()) == (("y",), [0, -1, -1])
    assert left.columns()["paper"] == ["1", "2", "2"]
    assert left.without(["B/1"]).papers == ("B/2",)
    assert left.only("B").papers == ("1", "2")


@given(st.sets(st.integers(0, 11)), st.data())
def test_what_is_left_is_what_a_table_without_those_rows_has(gone: set[int], data: st.DataObject) -> None:
    pairs = data.draw(st.sets(st.tuples(st.integers(0, 11), st.integers(0, 5)), min_size=1))
    rows = [(p, r) for p, r in sorted(pairs)]
    kept = [(p, r) for p, r in rows if p not in gone]
    assume(kept)

    def table(pairs: list[tuple[int, int]]) -> dict[str, list[object]]:
        return {
            "paper": [p for p, _ in pairs],
            "reviewer": [f"r{r}" for _, r in pairs],
            "score": [float(p % 3) for p, _ in pairs],
            "track": [["", "x", "y"][p % 3] for p, _ in pairs],
            "confidence": [float(r) for _, r in pairs],
        }

    left = Reviews.from_table(table(rows)).without([str(p) for p in gone])
    fresh = Reviews.from_table(table(kept))
    names = ("papers", "reviewers", "paper", "reviewer", "score", "confidence", "tracks", "track")
    for name in names:
        assert np.array_equal(getattr(left, name), getattr(fresh, name)), name
    assert [rows[i] for i in left.row] == [kept[i] for i in fresh.row]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "conference,paper,reviewer,score\na/b,1,x,1\n",
            "row 2, column conference: must not contain a slash",
        ),
        (
            "track,paper,reviewer,score\nm,1,x,1\nm,2,x,1\nd,1,y,1\n",
            "row 4, column track: must be the track of the paper's first row, found not row 2's",
        ),
        (
            "paper,reviewer,score\n1,x,1\n1,y,1\n1,x,2\n1,x,3\n",
            "row 4, column reviewer: must not repeat an earlier row's paper and reviewer, found row 2's",
        ),
    ],
)
def test_what_one_row_cannot_tell(text: str, place: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=place):
        read(tmp_path, text)


def test_the_same_pair_in_two_conferences_is_no_repetition(tmp_path: Path) -> None:
    assert len(read(tmp_path, "conference,paper,reviewer,score\na,1,x,1\nb,1,x,1\n")) == 2


def test_a_declared_grid_is_kept_and_enforced(tmp_path: Path) -> None:
    text = "paper,reviewer,score\na,x,1\na,y,3\nb,x,10\n"
    reviews = read(tmp_path, text, grid=[10, 1, 3, 5])
    assert reviews.grid is not None
    assert reviews.grid.tolist() == [1, 3, 5, 10]
    assert reviews.grid_declared
    with pytest.raises(InputError, match=r"row 3, column score: must be on the declared grid \(1, 5, 10\)"):
        read(tmp_path, text, grid=[1, 5, 10])
    with pytest.raises(InputError, match="grid must be finite"):
        read(tmp_path, text, grid=[1, math.nan])


def test_any_number_can_be_declared_a_score(tmp_path: Path) -> None:
    reviews = read(tmp_path, "conference,paper,reviewer,score\na,1,x,1\na,1,y,3\nb,1,x,10\n", grid=[])
    assert (reviews.grid, reviews.grid_declared) == (None, True)
    assert (reviews.only("a").grid, reviews.only("a").grid_declared) == (None, True)


def test_a_paper_that_is_withdrawn_does_not_change_what_scores_can_be_given(tmp_path: Path) -> None:
    """A folder infers the grid once, from all papers; so does whoever reads the same table."""
    reviews = read(tmp_path, "paper,reviewer,score\na,x,1\na,y,3\nb,x,10\n")
    kept = reviews.without(["b"]).grid
    assert reviews.grid is not None
    assert kept is not None
    assert kept.tolist() == reviews.grid.tolist() == list(range(1, 11))


def test_a_grid_is_recognized_in_whole_scores_and_in_few_that_repeat() -> None:
    rng = np.random.default_rng(3)
    irregular = np.array([1.0, 3, 5, 6, 8, 10])
    found = infer_grid(rng.choice(irregular, 200))
    assert found is not None
    assert found.tolist() == irregular.tolist()
    assert infer_grid(rng.normal(size=200)) is None
    assert infer_grid(np.array([1.5, 2.0, 3.0])) is None
    whole = infer_grid(np.array([4.0, 1.0, 3.0]))
    assert whole is not None
    assert whole.tolist() == [1, 2, 3, 4]
    assert infer_grid(np.array([1.0, 30.0])) is None
    table = {"paper": list(range(30)), "reviewer": ["x"] * 30, "score": [1, 2.5, 4] * 10}
    grid = Reviews.from_table(table).grid
    assert grid is not None
    assert grid.tolist() == [1, 2.5, 4]
    assert not Reviews.from_table(table).grid_declared


TWINS = {
    "paper,reviewer,score\nP2,a,1\np2,b,2\nP3,a,3\n": (["rows 2 and 3 differ"], "P2"),
    "paper,reviewer,score\nP02,a,1\nP3,a,3\nP2,b,2\nP03,b,1\n": (["rows 2 and 4", "1 other paper"], "P02"),
    "paper,reviewer,score\nA7,a,1\nA7.0,b,2\n": (["rows 2 and 3 differ"], "7.0"),
    "paper,reviewer,score\n1,Ann Lee,1\n2,ann lee,2\n": (["2 reviewers differ from another's"], "ann"),
}


@pytest.mark.parametrize("text", TWINS)
def test_ids_that_are_almost_equal_are_remarked_and_not_quoted(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(text)
    parts, name = TWINS[text]
    (remark,) = similar_id_warnings(Reviews.read(tmp_path / "r.csv"), "x.csv")
    assert [part for part in parts if part not in remark] == []
    assert name not in remark


def test_ids_that_differ_in_more_are_not_remarked() -> None:
    ids = [*("1.2", "12", "1-2", "1_2", "100", "10", "1.02", "a1"), *("a10", "b1", "p", "P'", "0", "00a")]
    ids += ["x.05", "x.5"]
    table = {"paper": ids, "reviewer": [f"r{name}" for name in ids], "score": [1] * len(ids)}
    assert similar_id_warnings(Reviews.from_table(table), "x.csv") == []


def test_components_agree_with_a_search_through_the_graph() -> None:
    rng = Random(11)
    for _ in range(60):
        papers, reviewers = rng.randint(1, 12), rng.randint(1, 12)
        pairs = rng.sample([(p, r) for p in range(papers) for r in range(reviewers)], rng.randint(1, papers))
        reviews = Reviews.from_table(columns([(f"p{p}", f"r{r}", 1.0) for p, r in pairs]))
        parts = reviews.components
        assert parts.count == len(_parts(pairs))
        for part in _parts(pairs):
            labels = {int(parts.paper[reviews.papers.index(f"p{p}")]) for p, _ in part}
            labels |= {int(parts.reviewer[reviews.reviewers.index(f"r{r}")]) for _, r in part}
            assert len(labels) == 1
        sizes = np.bincount(parts.paper[reviews.paper])
        assert (np.diff(sizes) <= 0).all()


def _parts(pairs: list[tuple[int, int]]) -> list[set[tuple[int, int]]]:
    """Connected sets of reviews, by merging those that share a paper or a reviewer."""
    parts: list[set[tuple[int, int]]] = []
    for pair in pairs:
        touching = [part for part in parts if any(pair[0] == p or pair[1] == r for p, r in part)]
        parts = [part for part in parts if part not in touching]
        parts.append({pair}.union(*touching))
    return parts


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("paper", 1.0, "row 1, column paper: must be text or a whole number, found float"),
        ("paper", True, "column paper: must be text or a whole number, found bool"),
        ("reviewer", None, "column reviewer: must be text or a whole number, found NoneType"),
        ("reviewer", "", "row 1, column reviewer: must not be empty"),
        ("reviewer", " x", "row 1, column reviewer: must not start or end with a space"),
        ("score", None, "row 1, column score: must be a finite number"),
        ("score", math.nan, "row 1, column score: must be a finite number, found 'nan'"),
        ("score", math.inf, "row 1, column score: must be a finite number"),
        ("score", "good", "row 1, column score: must be a number"),
        ("score", True, "row 1, column score: must be a number, found bool"),
        ("score", [1], "row 1, column score"),
    ],
)
def test_bad_values_of_a_table_are_refused_by_row(column: str, value: object, message: str) -> None:
    table: dict[str, list[object]] = {"paper": ["a", "b"], "reviewer": ["x", "y"], "score": [1, 2]}
    table[column][1] = value
    with pytest.raises(InputError, match=message):
        Reviews.from_table(table)


def test_bad_tables_are_refused() -> None:
    with pytest.raises(InputError, match=r"column score: must be a column \(or rating, label\)"):
        Reviews.from_table({"paper": [1], "reviewer": [2]})
    with pytest.raises(InputError, match="column score: must appear once, found 2 columns that mean it"):
        Reviews.from_table({"paper": [1], "reviewer": [2], "score": [3], "label": [4]})
    with pytest.raises(InputError, match="columns must have one length"):
        Reviews.from_table({"paper": [1], "reviewer": [2], "score": [3, 4]})
    with pytest.raises(InputError, match="at least one row"):
        Reviews.from_table({"paper": [], "reviewer": [], "score": []})
    with pytest.raises(InputError, match="column paper: must be a column"):
        Reviews.from_table(7)


def test_structured_arrays_are_tables() -> None:
    rows = np.array([("a", 7, 1.5), ("b", 8, 2.5)], dtype=[("item", "U2"), ("rater", "i4"), ("score", "f4")])
    reviews = Reviews.from_table(rows)
    assert (reviews.papers, reviews.reviewers, reviews.score.tolist()) == (("a", "b"), ("7", "8"), [1.5, 2.5])


@pytest.mark.edge
def test_data_frames_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"Paper": [1, 2], "Reviewer": ["007", "NA"], "Score": [1, 2.5], "note": ["x", None]}
    )
    reviews = Reviews.from_table(frame)
    assert (reviews.papers, reviews.reviewers, reviews.score.tolist()) == (
        ("1", "2"),
        ("007", "NA"),
        [1.0, 2.5],
    )
    assert same(reviews, Reviews.from_table(frame.set_index(pandas.Index([9, 9]))))
    frame["track"] = pandas.array(["main", pandas.NA], dtype="string")
    assert Reviews.from_table(frame).tracks == ("main",)
    frame["Score"] = pandas.array([1, pandas.NA], dtype="Int64")
    with pytest.raises(InputError, match="row 1, column score: must be a finite number"):
        Reviews.from_table(frame)


def test_an_email_is_one_person_however_it_is_written(tmp_path: Path) -> None:
    table = {"paper": ["1", "2"], "reviewer": ["Ada@X.org", "ada@x.org"], "score": [1.0, 2.0]}
    (tmp_path / "r.csv").write_text("paper,reviewer,score\n1,ADA@x.org,1\n2,ada@x.ORG,2\n")
    assert Reviews.from_table(table).reviewers == Reviews.read(tmp_path / "r.csv").reviewers == ("ada@x.org",)


# --- Which end of the scale is better: everything turned round once, at the door.


def test_upright_reviews_and_reviewers_have_the_likelihood_of_those_given() -> None:
    """`score = offset - slope * quality`, negated, is affine with the correlation of its errors turned."""
    reviews = Reviews.from_table(
        {"paper": ["p", "p"], "reviewer": ["a", "b"], "score": [1, 0]}, grid=[0, 1, 5]
    )
    turned = orient_reviews(reviews, "low")
    assert turned.score.tolist() == [-1.0, 0.0]
    assert turned.grid is not None
    assert turned.grid.tolist() == [-5.0, -1.0, 0.0]
    assert not np.signbit(turned.score[1])
    rng, t = np.random.default_rng(1), 1.7
    slope_se, offset_se, correlation = 0.3, 0.4, 0.6
    errors = rng.multivariate_normal(
        [0, 0],
        [
            [slope_se**2, correlation * slope_se * offset_se],
            [correlation * slope_se * offset_se, offset_se**2],
        ],
        400_000,
    )
    scores = (5 + errors[:, 1]) - (1.5 + errors[:, 0]) * t
    row = orient_reviewers({"a": (1.5, 5.0, 0.5, slope_se, offset_se, correlation, 0.0)}, "low")["a"]
    # Six standard errors of 400,000 draws.
    assert -scores.mean() == pytest.approx(row[0] * t + row[1], abs=6 * scores.std() / np.sqrt(400_000))
    variance = (row[3] * t) ** 2 + 2 * row[5] * row[3] * row[4] * t + row[4] ** 2
    # 400,000 draws: a relative error of 0.22 % a standard deviation; false alarm below 1e-5.
    assert scores.var() == pytest.approx(variance, rel=0.01)
    assert original_scores(turned.score, "low") == [0.0, 1.0]
    with pytest.raises(InputError, match="high or low"):
        orient_reviewers({}, "best")
