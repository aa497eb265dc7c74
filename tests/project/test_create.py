"""A folder from the files that a chair has: whole, with settings that the commands can use; or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key, read_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import InputError, RefusedError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.project.contents import Source
from blindcal.project.create import (
    CreatedFolder,
    InitialSettings,
    check_key,
    create_folder,
    key_beside,
)
from blindcal.project.folder import folder_inputs
from blindcal.project.settings import folder_request, read_folder
from small_conferences import everything, read_small, small_conference
from small_reviews import SCORES, panel


def made(place: Path, wishes: InitialSettings, **files: Path | list[Path]) -> CreatedFolder:
    """A folder `icx` of these files, by what they are."""
    listed = {kind: paths if isinstance(paths, list) else [paths] for kind, paths in files.items()}
    sources = [Source(path, kind) for kind, paths in listed.items() for path in paths]
    return create_folder(place / "icx", wishes, place / "icx.key", sources)


def small_files(place: Path) -> dict[str, Path]:
    small_conference().write(place)
    (place / "pc.csv").write_text("reviewer\n" + "\n".join(small_conference().canaries) + "\n")
    return {kind: place / f"{kind}.csv" for kind in ("reviews", "pools", "reviewers")}


def test_a_folder_loose_files_and_python_give_one_certificate(tmp_path: Path) -> None:
    """Whole scores count as rounded, wherever they are read from."""
    files, key = small_files(tmp_path / "in"), tmp_path / "icx.key"
    header, *rows = files["reviews"].read_text().splitlines()
    cells = [row.split(",") for row in rows]
    files["reviews"].write_text(
        "\n".join([header, *(f"{paper},{who},{round(float(score))}" for paper, who, score in cells), ""])
    )
    created = made(tmp_path, InitialSettings("public", "40%"), **files)
    assert read_key(key) == created.secret
    assert created.settings["grid"] != "none"
    folder = read_folder(tmp_path / "icx")
    assert (folder_request(folder).accept_rate, folder.text("key")) == (0.4, str(key))
    with folder_inputs(folder) as of_folder:
        assert len(of_folder.prepared(accept_rate=0.4)[0].cases) == 6
    texts = []
    of_files = read_inputs(files["reviews"], str(files["reviewers"]), str(files["pools"]))
    for name, inputs in (("folder", of_folder), ("files", of_files)):
        copied = tmp_path / name / "key"
        copied.parent.mkdir()
        copied.write_bytes(key.read_bytes())
        copied.chmod(0o600)
        out = tmp_path / name / "out"
        record = decide(inputs, folder_request(folder), copied, out, despite_misfit=True).record
        texts.append((record.decisions, record.certificate))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("wishes", "kinds", "told"),
    [
        (InitialSettings("public", accept="99"), "reviews", "there are only"),
        (InitialSettings("public", "40%", "up"), "reviews", "high"),
        (InitialSettings("public", accept="3.5"), "reviews", "`accept` must be a share of the papers"),
        (InitialSettings("public"), "reviews past", "`past` needs `committee`"),
        (InitialSettings("public"), "reviews past reviewers", "`past` or `reviewers`, not both"),
        (InitialSettings("public"), "reviews conflicts pools", "`conflicts` or `pools`, not both"),
        (
            InitialSettings("public"),
            "reviews past=reviews committee",
            "other conferences than the one being decided",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path, wishes: InitialSettings, kinds: str, told: str
) -> None:
    files = small_files(tmp_path / "in")
    files |= {"past": files["reviews"], "conflicts": files["pools"], "committee": tmp_path / "in" / "pc.csv"}
    files["past"] = small_conference(seed=2).write(tmp_path / "past") / "reviews.csv"
    before = everything(tmp_path)
    given = dict(word.split("=") if "=" in word else (word, word) for word in kinds.split())
    with pytest.raises(InputError, match=told):
        made(tmp_path, wishes, **{kind: files[file] for kind, file in given.items()})
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("tracks", "accept", "told"),
    [
        ("", "21", "`accept` 21: there are only 20 papers"),
        ("", "20", "then there is nothing to decide"),
        ("", "main=3", "must have a number for each track of .*, which has no tracks"),
        ("mmmmmsssss" * 2, "m=3,t=2", "which has the tracks m, s"),
        ("mmmmmsssss" * 2, "m=3", "which has the tracks m, s"),
        ("mmmmmsssss" * 2, "m=3,s=11", "there are only 10 papers in track 's'"),
        ("mmmmmsssss" * 2, "m=3,s=2", None),
        ("mmmmmsssss" * 2, "5", None),
    ],
)
def test_what_to_accept_is_checked_before_anything_is_written(
    tmp_path: Path, tracks: str, accept: str, told: str | None
) -> None:
    reviews = panel(tmp_path / "reviews.csv", tracks=tracks)
    wishes = InitialSettings("public", accept=accept)
    if told is None:
        made(tmp_path, wishes, reviews=reviews)
        return
    with pytest.raises(InputError, match=told):
        made(tmp_path, wishes, reviews=reviews)
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.csv"]


def test_past_years_are_put_in_order_and_a_bad_place_is_said(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pc.csv").write_text("reviewer\na\nb\nc\n")
    years = {year: np.random.default_rng(year).integers(1, 11, 40).astype(float) for year in (26, 25)}
    past = [panel(tmp_path / f"icx{year}.csv", list(scores)) for year, scores in years.items()]
    now = panel(tmp_path / "now.csv")
    created = made(tmp_path, InitialSettings("public"), reviews=now, committee=tmp_path / "pc.csv", past=past)
    assert created.settings["past"] == ["inputs/past/icx25.csv", "inputs/past/icx26.csv"]
    fit, remarks = created.fit, created.brought.remarks
    assert fit is not None
    assert (fit.fitted.conferences, fit.out) == (
        ("icx25", "icx26"),
        tmp_path / "icx" / "inputs" / "reviewers.csv",
    )
    assert "past conferences were put in the order of their years: icx25, icx26" in remarks
    assert any(f"{tmp_path / 'icx'} lies in a Git work tree" in remark for remark in remarks)
    assert str(fit.people) == "3 of 3 members found in past reviews"


def test_messages_name_the_folder_as_it_will_be(tmp_path: Path) -> None:
    """While it is made it has another name, which no refusal and no remark may show."""
    (tmp_path / "pc.csv").write_text("reviewer\na\nb\n")
    (tmp_path / "conflicts.csv").write_text("paper,conflict\n2,a\n99,a\n")
    now = panel(tmp_path / "now.csv")
    past = panel(tmp_path / "2025.csv", [5.0] * 40)
    lists = {"committee": tmp_path / "pc.csv", "conflicts": tmp_path / "conflicts.csv"}
    with pytest.raises(InputError) as refused:
        made(tmp_path, InitialSettings("public"), reviews=now, past=past, **lists)
    assert str(tmp_path / "icx" / "inputs" / "past" / "2025.csv") in str(refused.value)
    past = panel(tmp_path / "2025.csv", SCORES[::-1])
    brought = made(tmp_path, InitialSettings("public"), reviews=now, past=past, **lists).brought
    told = "\n".join([*brought.remarks, *brought.refusals])
    assert f"{tmp_path / 'icx/inputs/conflicts.csv'} has conflicts for 1 paper without any review" in told
    assert f"{tmp_path / 'icx/inputs/committee.csv'}, column reviewer: must list everyone" in told
    assert "blindcal-new" not in str(refused.value) + told


def test_a_key_that_decided_another_conference_is_refused(tmp_path: Path) -> None:
    """Before any file is read; its own conference may get a new folder, if the old one was lost."""
    small, key = small_conference(), tmp_path / "icx.key"
    make_key(key)
    inputs = read_small(small, tmp_path / "in")
    decide(inputs, Request(Guarantee("public"), "icx", accept_rate=0.4), key, tmp_path / "out")
    wishes = InitialSettings("public")
    with pytest.raises(RefusedError, match="this key decided conference 'icx'"):
        create_folder(tmp_path / "other", wishes, key)
    assert not (tmp_path / "other").exists()
    assert create_folder(tmp_path / "icx", wishes, key).key == key
    (tmp_path / "new").mkdir()
    for there, told in (("icx", "settings are changed in"), ("new", "never overwritten")):
        with pytest.raises(RefusedError, match=told):
            create_folder(tmp_path / there, wishes, key)


# --- Keys of folders: beside them, never inside, and none in the place of one that was lost.


def test_a_key_lies_beside_its_folder_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    key = key_beside(tmp_path / "icx")
    assert key == tmp_path / "icx.key"
    check_key(key, tmp_path / "icx")
    make_key(key)
    assert key.stat().st_mode & 0o777 == 0o600
    check_key(key, tmp_path / "icx")
    for bad, told in (("icx/inner/x.key", "must not lie in the folder"), ("nowhere/x.key", "that exists")):
        with pytest.raises(InputError, match=told):
            check_key(tmp_path / bad, tmp_path / "icx")
    # None is made in the place of one that was lost.
    key.unlink()
    ledger_folder(key).mkdir()
    with pytest.raises(RefusedError, match="a key that is missing"):
        check_key(key, tmp_path / "icx")
