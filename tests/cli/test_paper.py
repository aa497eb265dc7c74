"""`blindcal research paper`: files where they are wanted, tables, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from operator import attrgetter
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

import blindcal.paper
from blindcal.paper import algorithm_3, setting, to_letters
from blindcal.paper.figures import FIGURES
from commands import call, refusal, succeed

pytestmark = pytest.mark.edge


def test_a_figure_in_every_format(tmp_path: Path) -> None:
    out = tmp_path / "made" / "here"
    _, said, err = succeed("research", "paper", "figure", "5", "--out", str(out), "--format", "svg,png,pdf")
    assert err == ""
    assert said.split() == [str(out / f"figure_5.{form}") for form in ("svg", "png", "pdf")]
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    for form, start in starts.items():
        assert (out / f"figure_5.{form}").read_bytes().startswith(start)
    # The same bytes every time, and never over a file that is there.
    again = tmp_path / "again"
    succeed("research", "paper", "figure", "5", "--out", str(again), "--format", "svg,pdf")
    for form in ("svg", "pdf"):
        assert (again / f"figure_5.{form}").read_bytes() == (out / f"figure_5.{form}").read_bytes()
    code, said, err = call("research", "paper", "figure", "5", "--out", str(out))
    assert (code, said) == (2, "")
    assert err.endswith("figure_5.svg exists: choose another folder, or remove it\n")


def test_a_table_is_printed_or_written(tmp_path: Path) -> None:
    code, said, _ = call("research", "paper", "table", "6")
    rows = list(csv.DictReader(io.StringIO(said)))
    assert code == 0
    corner = next(row for row in rows if row["label"].startswith("2: (u (Phi_1"))
    assert (corner["x"], corner["y"]) == ("0.371", "0.35")
    succeed("research", "paper", "table", "6", "--out", str(tmp_path))
    assert (tmp_path / "figure_6.csv").read_text(encoding="utf-8") == said


def test_the_table_of_figure_3_tells_its_panels_and_measures_apart() -> None:
    code, said, _ = call("research", "paper", "table", "3", "--trials", "2")
    rows = list(csv.DictReader(io.StringIO(said)))
    assert code == 0
    lines = {(row["panel"], row["measure"], row["label"]) for row in rows}
    assert len(lines) == 2 * 2 * 3
    for line in lines:
        own = [row for row in rows if (row["panel"], row["measure"], row["label"]) == line]
        assert [float(row["x"]) for row in own] == [step / 20 for step in range(11)]
    assert any(float(row["error"]) > 0.0 for row in rows)


def test_all_of_them(tmp_path: Path) -> None:
    code, said, _ = call("research", "paper", "all", "--out", str(tmp_path), "--trials", "1", "--json")
    report = json.loads(said)
    assert code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        f"figure_{name}.{form}" for name in FIGURES for form in ("svg", "csv")
    }
    assert [one["name"] for one in report["figures"]] == list(FIGURES)
    assert all(len(one["caption"]) > 100 for one in report["figures"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("picture", "1"), "what to make must be one of items, letters, figure, table, all, found 'picture'"),
        (("figure", "7", "--out", "x"), "a figure must be one of 1, 2, 3, 4, 5, 6, cases, limit, found '7'"),
        (("figure", "--out", "x"), "a figure must be one of 1, 2, 3, 4, 5, 6, cases, limit, found 'none'"),
        (("all", "1", "--out", "x"), "`paper all` takes no number, found '1'"),
        (("figure", "1"), "`paper figure` writes files: give a folder with --out"),
        (
            ("figure", "1", "--out", "x", "--format", "gif"),
            "--format must be among svg, png, pdf, found 'gif'",
        ),
        (("figure", "3", "--out", "x", "--trials", "0"), "--trials must be at least 1, found 0"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], message: str, place: Path) -> None:
    assert call("research", "paper", *arguments) == (2, "", f"blindcal: {message}\n")
    assert not list(place.iterdir())


def test_the_items_are_those_of_the_page() -> None:
    code, said, _ = call("research", "paper", "--json")
    page = (Path(__file__).parents[2] / "docs" / "research" / "paper.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].strip("| ") for line in page.splitlines() if line.startswith("| ")]
    items = json.loads(said)["items"]
    assert code == 0
    assert sorted(items) == sorted(row for row in rows if row != "item" and not row.startswith("Open: "))
    for place in items.values():
        assert callable(attrgetter(place.removeprefix("blindcal.paper."))(blindcal.paper))


def test_an_instance_in_the_letters_of_the_paper() -> None:
    """Noise: Algorithm 3, of which the tests of theorems know every branch; none: Algorithm 1."""
    instance = ("--reviewer", "1.2,0.6", "--reviewer", "0.8,-0.6")
    more = ("--noise", "0.5", "--scores", "1.2,0.2", "--max-error", "0.3", "--json")
    code, said, _ = call("research", "paper", "letters", *instance, *more)
    found = json.loads(said)
    belief = setting([1.2, 0.2], a_1=1.2, b_1=0.6, a_2=0.8, b_2=-0.6, sigma=0.5)
    letters, chosen = to_letters(belief), algorithm_3(belief, 0.3)
    assert code == 0
    assert [found[k] for k in ("u", "v", "Phi_1", "Phi_2")] == [float(one) for one in vars(letters).values()]
    assert (found["branch"], found["q1"], found["q2"]) == (str(chosen.branch), *chosen.q.tolist())
    error = letters.u * (1 - found["q1"]) + letters.v * (1 - found["q2"])
    assert 0.0 < error < min(letters.u, letters.v)
    code, said, _ = call(
        "research", "paper", "letters", *instance, "--scores", "0.9,0.4", "--max-error", "0.1"
    )
    lines = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert (lines["branch"], lines["q1"], lines["q2"]) == ("interior", "1.0000", "0.6390")
    # Algorithm 1 spends the allowed error on the lighter assignment: v (1 - q2) = 0.1.
    assert float(lines["v"]) * (1 - float(lines["q2"])) == pytest.approx(0.1, abs=1e-4)
    for wrong in (("letters",), ("letters", *instance, "--scores", "1"), ("nothing",)):
        refusal("research", "paper", *wrong)
