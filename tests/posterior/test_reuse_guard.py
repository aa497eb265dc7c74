"""A calibration fitted on the reviews being decided is refused; one that was not, is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.fitting.history import fingerprint_of_past, past_conferences
from blindcal.io.atomic_files import write_json
from blindcal.posterior.reuse_guard import (
    fingerprint_of_reviews,
    fingerprint_record,
    fit_record_path,
    is_unchanged,
    offsets_are_own_means,
    overlap,
    read_fingerprints,
    read_scale,
    refuse_reused,
    reuse_warnings,
    table_digest,
)
from blindcal.reviewers.calibration import Scale
from blindcal.reviews import Reviews
from sizes import count

Columns = dict[str, list[object]]


def conference(seed: int, papers: int = 40, people: int = 30) -> Columns:
    """Whole scores from 1 to 6; ids as every conference has them."""
    rng = np.random.default_rng(seed)
    table: Columns = {"paper": [], "reviewer": [], "score": []}
    for paper in range(papers):
        for person in rng.choice(people, 3, replace=False):
            table["paper"].append(paper + 1)
            table["reviewer"].append(f"r{person}")
            table["score"].append(float(rng.integers(1, 7)))
    return table


def past(table: Columns, name: str = "2025") -> object:
    return fingerprint_of_past(past_conferences({name: Reviews.from_table(table)})[0])


def shared(table: Columns, other: Columns) -> str:
    return overlap(past(table), fingerprint_of_reviews(Reviews.from_table(other)))


def test_the_same_reviews_are_known_whatever_the_order_and_with_several_conferences() -> None:
    table = conference(1)
    turned = {name: values[::-1] for name, values in table.items()}
    assert "with the same reviewers and scores" in shared(table, turned)
    both = {name: [*table[name], *conference(2)[name]] for name in table}
    both["conference"] = ["a"] * 120 + ["b"] * 120
    first, second = map(fingerprint_of_past, past_conferences({"x": Reviews.from_table(both)}))
    now = fingerprint_of_reviews(Reviews.from_table(table))
    assert overlap(first, now)
    assert not overlap(second, now)


def test_a_conference_of_two_papers_is_known_exactly() -> None:
    table = conference(1, papers=2)
    assert shared(table, table)
    changed = {
        **table,
        "score": [*table["score"][:-1], 7.0 - table["score"][-1]],
        "paper": [1, 1, 1, 3, 3, 3],
    }
    assert shared(table, changed)  # half of the papers
    assert not shared(table, conference(2, papers=2))


def test_other_ids_of_reviewers_or_a_part_of_the_papers_do_not_hide_it() -> None:
    table = conference(1)
    renamed = {**table, "reviewer": [f"person {name}" for name in table["reviewer"]]}
    assert "40 papers of '2025' with the same scores" in shared(table, renamed)
    part = {name: [*renamed[name][:60], *conference(9)[name][60:]] for name in table}
    assert "with the same scores" in shared(table, part)


def test_other_conferences_are_never_refused() -> None:
    """False alarm 1e-6 each, so below 1e-3 over all of them."""
    now = fingerprint_of_reviews(Reviews.from_table(conference(0)))
    for seed in range(1, count(60, 600)):
        assert not overlap(past(conference(seed)), now)


def test_the_file_beside_a_table_says_what_was_used(tmp_path: Path) -> None:
    table, path = conference(1), tmp_path / "reviewers.csv"
    write_json(fit_record_path(path), fingerprint_record([past(table)]))
    assert read_fingerprints(fit_record_path(path)) == [past(table)]
    parameters = {"*": (1.0, 3.5, 1.0)}
    with pytest.raises(InputError, match=r"was fitted on these reviews .* gives their reviewers away"):
        refuse_reused(path, parameters, Reviews.from_table(table))
    refuse_reused(path, parameters, Reviews.from_table(conference(3)))
    refuse_reused(tmp_path / "other.csv", parameters, Reviews.from_table(table))


def test_the_file_beside_a_table_says_how_it_was_moved(tmp_path: Path) -> None:
    path, scale = tmp_path / "reviewers.csv", Scale(0.3, 1.1, 5.0, 0.2)
    assert read_scale(path) is None
    write_json(fit_record_path(path), {"scale": scale})
    assert read_scale(path) == scale
    for content, found in (({"scale": Scale()}, None), ({}, None)):
        write_json(fit_record_path(path), content, replace=True)
        assert read_scale(path) == found
    for bad in ({"shift": 1.0}, 7, {"shift": 1, "stretch": -1, "center": 0, "shift_in_sds": 0}):
        write_json(fit_record_path(path), {"scale": bad}, replace=True)
        with pytest.raises(InputError, match="must state shift and stretch"):
            read_scale(path)


NOTHING = {"conference": "a", "reviews": []}


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"format": 0},
        {"format": 1, "used": [{"conference": "a"}]},
        {"format": 1, "used": [NOTHING]},
        {"format": 1, "used": [{**NOTHING, "reviews": "ab"}]},
        {"format": 1, "used": [{**NOTHING, "reviews": [["p", "r"]]}]},
        {"format": 1, "used": [{**NOTHING, "reviews": [["p", "r", "5"]]}]},
        {"format": 1, "used": [{**NOTHING, "reviews": [["p", "r", float("inf")]]}]},
    ],
)
def test_a_file_that_no_fit_wrote_is_refused(tmp_path: Path, content: object) -> None:
    path = tmp_path / "reviewers.csv"
    write_json(fit_record_path(path), content)
    with pytest.raises(InputError, match="must be what `blindcal fit` wrote"):
        refuse_reused(path, {}, Reviews.from_table(conference(1)))


def test_a_file_of_a_later_format_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "reviewers.csv"
    write_json(fit_record_path(path), {"format": 2, "used": [], "scale": None})
    for read in (lambda: read_scale(path), lambda: read_fingerprints(fit_record_path(path))):
        with pytest.raises(InputError, match="column format: must be at most 1, found 2: use the version"):
            read()


def test_a_table_is_unchanged_by_the_digest_beside_it_alone(tmp_path: Path) -> None:
    path, table = tmp_path / "reviewers.csv", b"reviewer,slope\nada,1\n"
    record = {**fingerprint_record([]), "table": table_digest(table)}
    path.write_bytes(table)
    assert not is_unchanged(path), "made by hand"
    for content, expected in (
        (fingerprint_record([]), False),
        ({"table": table_digest(table)}, False),
        (record, True),
    ):
        write_json(fit_record_path(path), content, replace=True)
        assert is_unchanged(path) is expected
    path.write_bytes(table + b"\n")
    assert not is_unchanged(path)
    path.unlink()
    assert is_unchanged(path), "what a killed fit left"
    path.symlink_to(tmp_path / "elsewhere.csv")
    assert not is_unchanged(path)
    path.unlink()
    Path(fit_record_path(path)).write_text("no record")
    assert not is_unchanged(path)


def test_offsets_that_are_this_years_means_are_noticed() -> None:
    reviews = Reviews.from_table(conference(1))
    means = np.bincount(reviews.reviewer, reviews.score) / np.bincount(reviews.reviewer)
    own = {name: (1.0, round(mean, 2), 1.0) for name, mean in zip(reviews.reviewers, means, strict=True)}
    assert offsets_are_own_means(own, reviews)
    with pytest.raises(InputError, match="own mean scores of this year"):
        refuse_reused("reviewers.csv", own, reviews)
    tenths = {name: (1.0, round(row[1], 1), 1.0) for name, row in own.items()}
    assert offsets_are_own_means(tenths, reviews)
    # Right about everybody, to half a point, as somebody might write it down: no two decimals.
    coarse = {name: (1.0, round(2 * row[1]) / 2, 1.0) for name, row in own.items()}
    assert not offsets_are_own_means(coarse, reviews)
    last_year = {name: (1.0, row[1] + 0.1, 1.0) for name, row in own.items()}
    assert not offsets_are_own_means(last_year, reviews)
    assert not offsets_are_own_means({"*": (1.0, 3.0, 1.0)}, reviews)


@pytest.mark.parametrize("unit", [1, 10, 100])
@pytest.mark.parametrize("width", [5, 100])
def test_offsets_that_are_right_about_everybody_are_no_alarm(unit: int, width: int) -> None:
    """Scores from 1 to 6 or to 101, and a past that knows everybody's mean exactly, in whole numbers, tenths
    or hundredths: this year's means are off by the papers that they had. False alarms: one in a million."""
    rng = np.random.default_rng([3, unit, width])
    for _ in range(count(30, 300)):
        habit, steady = rng.normal(0.0, width / 6, 20), rng.uniform(0.01, 1.0, 20)
        reviews = int(rng.integers(1, 40))
        score = 1 + width / 2 + habit[:, None] + width / 4 * steady[:, None] * rng.normal(size=(20, 2000))
        score = np.clip(np.round(score), 1, 1 + width)
        rows = [(f"p{i}", f"r{j}", score[j, i]) for j in range(20) for i in range(reviews)]
        table = dict(zip(("paper", "reviewer", "score"), zip(*rows, strict=True), strict=True))
        rounded = np.round(unit * score.mean(axis=1)) / unit
        honest = {f"r{j}": (1.0, float(offset), 1.0) for j, offset in enumerate(rounded)}
        assert not offsets_are_own_means(honest, Reviews.from_table(table))


def moved(table: Columns, same: int) -> Columns:
    """The same reviews, all but some of them moved by 1."""
    score = [one if i < same else one + (1 if one < 6 else -1) for i, one in enumerate(table["score"])]
    return {**table, "score": score}


def remarks(then: Columns, now: Columns) -> list[str]:
    return reuse_warnings([past(then)], Reviews.from_table(now))


def test_reviews_that_were_moved_or_a_few_whole_papers_are_worth_a_remark() -> None:
    """26 of 90 are the same and the others moved by 1; three papers of thirty are this year's."""
    now = conference(1, papers=30)
    (moved_by_one,) = remarks(moved(now, 26), now)
    assert "90 reviews of '2025' with the same paper and reviewer, and at most 1 between" in moved_by_one
    other = conference(2, papers=30)
    three = {name: [*now[name][:9], *other[name][9:]] for name in now}
    (three_papers,) = remarks(three, now)
    assert "once in a hundred times" in three_papers
    with pytest.raises(InputError, match="must be other conferences than the one being decided"):
        remarks(now, now)
    assert not remarks(other, now)


def test_remarks_about_other_conferences_are_as_rare_as_is_said() -> None:
    """Once in a hundred: over 8 of 200 (40 of 2,000) with a chance of 2e-4 (1e-4)."""
    rng, remarked = np.random.default_rng(8), 0
    for _ in range(conferences := count(200, 2000)):
        remarked += bool(remarks(panels(rng, habits := rng.normal(0.0, 1.0, 30)), panels(rng, habits)))
    assert remarked <= (8 if conferences == 200 else 40)


def panels(rng: np.random.Generator, habit: np.ndarray) -> Columns:
    """Panels whose members score the same numbers every year, each person with habits of their own."""
    paper = np.repeat(np.arange(60), 3)
    person = 3 * (paper % 10) + np.tile(np.arange(3), 60)
    score = np.clip(np.round(3.5 + habit[person] + rng.normal(0.0, 0.8, 180)), 1.0, 6.0)
    return {
        "paper": [f"p{one}" for one in paper],
        "reviewer": [f"r{one}" for one in person],
        "score": score.tolist(),
    }


def test_a_score_changed_or_a_review_missing_in_every_paper_does_not_hide_it() -> None:
    """What was downloaded before a rebuttal, or before the last reviews came in; and 007 for 7."""
    table = conference(1)
    before = {**table, "score": [7.0 - one if i % 3 == 0 else one for i, one in enumerate(table["score"])]}
    assert "with the same paper, reviewer and score" in shared(before, table)
    early = {name: [one for i, one in enumerate(values) if i % 3] for name, values in table.items()}
    assert "80 reviews of '2025' with the same paper, reviewer and score" in shared(early, table)
    padded = {**table, "paper": [f"{one:03}" for one in table["paper"]]}
    assert "with the same reviewers and scores" in shared(padded, table)


def test_the_same_people_on_the_same_ids_of_another_year_are_no_alarm() -> None:
    """The pairs all agree, and scores no more than chance makes them. False alarms: one in a million."""
    rng = np.random.default_rng(7)
    for _ in range(count(20, 200)):
        habit = rng.normal(0.0, 1.0, 30)
        assert not shared(panels(rng, habit), panels(rng, habit))


def test_a_link_to_a_fit_is_the_fit(tmp_path: Path) -> None:
    table = conference(1)
    (tmp_path / "fits").mkdir()
    real, link = tmp_path / "fits" / "reviewers.csv", tmp_path / "reviewers.csv"
    real.write_text("reviewer,slope,offset,noise\n")
    write_json(fit_record_path(real), fingerprint_record([past(table)]), confidential=True)
    link.symlink_to(real)
    assert fit_record_path(link) == fit_record_path(real.resolve())
    with pytest.raises(InputError, match="was fitted on these reviews"):
        refuse_reused(link, {}, Reviews.from_table(table))
