"""Bids, similarities and conflicts: every form is the same matrix, and whatever is wrong is said by row."""

from __future__ import annotations

import contextlib
import io
import zipfile
from pathlib import Path
from random import Random

import numpy as np
import pytest

import blindcal.assignment.similarity as similarity
from blindcal.assignment.similarity import (
    Similarity,
    read_conflicts,
    read_papers,
    read_similarity,
    zero_similarity,
)
from blindcal.errors import InputError
from sizes import count

CANARY = "canary-51"


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def same(one: Similarity, other: Similarity) -> bool:
    return (
        (one.papers, one.reviewers) == (other.papers, other.reviewers)
        and (one.value.toarray() == other.value.toarray()).all()
        and (one.barred.toarray() == other.barred.toarray()).all()
        and one.digest == other.digest
    )


EXPECTED = Similarity.dense(
    ["p", "q"], ["a", "b", "c"], [[1.0, 0.5, 0.0], [0.0, 0.25, 0.0]], [[False, False, True], [False] * 3]
)


def test_bids_are_words_or_numbers_in_any_order(tmp_path: Path) -> None:
    for rows in (
        "q,b,0.25\np,c,conflict\np,b,Maybe\np,a,yes\n",
        "p,a,1\np,b,5e-1\np,c,CONFLICT\nq,b,.25\nq,a,no\n",
    ):
        assert same(read_similarity(written(tmp_path, "paper,reviewer,bid\n" + rows), bids=True), EXPECTED)


def test_a_table_and_a_matrix_are_the_same(tmp_path: Path) -> None:
    conflicts = written(tmp_path, "paper,conflict\np,c\n", "conflicts.csv")
    text = "similarity,paper,reviewer\n0.25,q,b\n1,p,a\n0.5,p,b\n"
    people = written(tmp_path, text)
    assert same(read_similarity(people, conflicts=conflicts, reviewers=["c", "a"]), EXPECTED)
    dense, entries = tmp_path / "dense.npz", tmp_path / "entries.npz"
    value = np.array([[0.0, 0.25, 0.0], [0.0, 0.5, 1.0]], dtype=np.float32)
    np.savez(dense, papers=["q", "p"], reviewers=["c", "b", "a"], similarity=value)
    np.savez_compressed(
        entries,
        papers=["q", "p"],
        reviewers=["b", "a"],
        similarity=[0.25, 0.5, 1.0],
        paper=[0, 1, 1],
        reviewer=np.array([0, 0, 1], dtype=np.uint8),
    )
    assert same(read_similarity(dense, conflicts=conflicts), EXPECTED)
    assert same(read_similarity(entries, conflicts=conflicts, reviewers=["c"]), EXPECTED)
    fortran = tmp_path / "fortran.npz"
    np.savez(fortran, papers=["q", "p"], reviewers=["c", "b", "a"], similarity=np.asfortranarray(value))
    assert same(read_similarity(fortran, conflicts=conflicts), EXPECTED)


def test_a_matrix_with_numbers_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    np.savez(path, papers=np.arange(2), reviewers=np.arange(1), similarity=[[1], [2]])
    found = read_similarity(path)
    assert (found.papers, found.reviewers) == (("0", "1"), ("0",))


def test_a_matrix_with_bytes_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    np.savez(path, papers=np.array([b"p"]), reviewers=np.array(["Zoë".encode(), b"b"]), similarity=[[1, 2]])
    assert read_similarity(path).reviewers == ("Zoë", "b")


def test_a_changed_number_or_name_changes_the_digest() -> None:
    asked = ["p", "q"], ["a", "b"]
    one = Similarity.dense(*asked, [[1.0, 0.0], [0.0, 2.0]])
    assert one.digest == Similarity.dense(["q", "p"], ["b", "a"], [[2.0, 0.0], [0.0, 1.0]]).digest
    others = [
        Similarity.dense(*asked, [[1.0, 0.0], [0.0, 3.0]]),
        Similarity.dense(["p", "s"], ["a", "b"], [[1.0, 0.0], [0.0, 2.0]]),
        Similarity.dense(*asked, [[0.0, 1.0], [0.0, 2.0]]),
        one.barring([("p", "a")]),
    ]
    assert len({one.digest, *(other.digest for other in others)}) == 5
    assert one.barring([]).digest == one.digest


def test_papers_and_people_of_whom_nothing_is_known(tmp_path: Path) -> None:
    found = zero_similarity(["q", "p"], ["b", "a"])
    assert (found.papers, found.reviewers, found.value.nnz, found.barred.nnz) == (
        ("p", "q"),
        ("a", "b"),
        0,
        0,
    )
    path = written(tmp_path, "title,paper\nOn x,p\nOn y,q\nOn x,p\n")
    assert read_papers(path) == ("p", "q")


@pytest.mark.parametrize(
    ("text", "bids", "problems"),
    [
        (
            "paper,reviewer,bid\np,canary-51,perhaps\nq,canary-51,-1\n",
            True,
            ["row 2, column bid", "row 3, column bid"],
        ),
        (
            "paper,reviewer,bid\np,canary-51,1\np,canary-51,2\n",
            True,
            ["row 3, column reviewer: must not be listed"],
        ),
        ("paper,reviewer,similarity\np,canary-51,-0.1\n", False, ["row 2, column similarity: must lie in"]),
        (
            "paper,reviewer,similarity\np,canary-51,nan\n",
            False,
            ["row 2, column similarity: must be a finite"],
        ),
        ("paper,reviewer,bid\np,canary-51,1\n", False, ["column similarity: must be in the header"]),
        ("paper,reviewer,bid\np,,1\n", True, ["row 2, column reviewer: must not be empty"]),
    ],
)
def test_bad_tables_name_rows_and_no_reviewer(
    tmp_path: Path, text: str, bids: bool, problems: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        read_similarity(written(tmp_path, text), bids=bids)
    assert all(problem in str(caught.value) for problem in problems)
    assert len(caught.value.problems) >= len(problems)
    assert CANARY not in str(caught.value)


def test_conflicts_must_name_known_papers_and_reviewers(tmp_path: Path) -> None:
    path = written(tmp_path, f"paper,conflict\np,a\nx,a\np,{CANARY}\n")
    with pytest.raises(InputError) as caught:
        read_conflicts(path, EXPECTED)
    assert "row 3, column paper: must be a paper that is to be assigned" in str(caught.value)
    assert "row 4, column conflict: must be a reviewer" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert read_conflicts(written(tmp_path, "paper,conflict\nq,a\n"), EXPECTED) == [("q", "a")]


def saved(**arrays: object) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


GOOD = {"papers": ["p"], "reviewers": ["a", "b"], "similarity": [[1.0, 2.0]]}


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"similarity": [[1.0, -2.0]]}, "column similarity: must be finite numbers of at least 0"),
        ({"similarity": [[1.0, np.nan]]}, "column similarity: must be finite numbers of at least 0"),
        ({"similarity": [["1", "2"]]}, "column similarity: must be finite numbers of at least 0"),
        ({"similarity": [[1.0], [2.0]]}, r"must hold arrays papers, .* found shape \(2, 1\) for \(1, 2\)"),
        ({"reviewers": ["a", "a"]}, "column reviewers: must be ids, each once"),
        ({"papers": [" p"]}, "column papers: must not start or end with a space"),
        ({"papers": [1.5]}, "column papers: must be ids, each once"),
        (
            {"similarity": [1.0], "paper": [0], "reviewer": [2]},
            "column reviewer: must be 1 whole numbers from 0 to 1",
        ),
        (
            {"similarity": [1.0], "paper": [-1], "reviewer": [0]},
            "column paper: must be 1 whole numbers from 0 to 0",
        ),
        ({"similarity": [1.0], "paper": [0.0], "reviewer": [0]}, "column paper: must be 1 whole"),
        ({"similarity": [1.0, 2.0], "paper": [0, 0], "reviewer": [1, 1]}, "must not be listed twice"),
        ({"similarity": np.array([[object(), 1]])}, "must be a NumPy .npz file without objects"),
    ],
)
def test_bad_matrices(tmp_path: Path, changed: dict[str, object], rule: str) -> None:
    path = tmp_path / "s.npz"
    path.write_bytes(saved(**{**GOOD, **changed}))
    with pytest.raises(InputError, match=rule):
        read_similarity(path)


def test_files_that_are_no_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, good = tmp_path / "s.npz", saved(**GOOD)
    for bad in (good[:-30], good[:200] + bytes(100) + good[300:], b"PK\x03\x04 nothing"):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"s\.npz"):
            read_similarity(path)
    path.write_bytes(saved(papers=["p"]))
    with pytest.raises(InputError, match=r"must hold arrays papers, .* found papers"):
        read_similarity(path)
    # A header that promises more than there is.
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**3)}
        )
        packed.writestr("similarity.npy", head.getvalue())
    path.write_bytes(content.getvalue())
    with pytest.raises(InputError, match="without objects"):
        read_similarity(path)
    monkeypatch.setattr(similarity, "MAX_MATRIX", len(good))
    path.write_bytes(saved(**{**GOOD, "similarity": np.zeros((1, 2)), "more": np.zeros(1)})[: len(good)])
    with pytest.raises(InputError, match=r"s\.npz"):
        read_similarity(path)
    content = io.BytesIO()
    np.savez_compressed(content, **{**GOOD, "more": np.zeros(10_000)})
    monkeypatch.setattr(similarity, "MAX_MATRIX", len(content.getvalue()))
    path.write_bytes(content.getvalue())
    with pytest.raises(InputError, match="must unpack to at most"):
        read_similarity(path)


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"similarity": np.zeros(2**27 + 1, dtype=np.uint8)}, "at most 134,217,728 entries in an array"),
        ({"papers": np.zeros(2_000_001, dtype="S1")}, "column papers: must be at most 2,000,000 ids"),
    ],
)
def test_small_files_of_many_entries_are_refused(
    changed: dict[str, object], rule: str, tmp_path: Path
) -> None:
    content, path = io.BytesIO(), tmp_path / "s.npz"
    np.savez_compressed(content, **{**GOOD, **changed})
    assert len(content.getvalue()) < 10**6
    path.write_bytes(content.getvalue())
    with pytest.raises(InputError, match=rule):
        read_similarity(path)


def with_part(part: str, data: bytes) -> bytes:
    """A good file with one array's bytes replaced, checksums right."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(**GOOD))) as good, zipfile.ZipFile(content, "w") as packed:
        for name in good.namelist():
            packed.writestr(name, data if name == f"{part}.npy" else good.read(name))
    return content.getvalue()


@pytest.mark.parametrize(
    ("part", "header", "body"),
    [
        ("papers", "{'descr': '<U1', 'fortran_order", b"1\0\0\0"),  # NumPy's parser: TokenError
        ("papers", "{'descr': '<U1', 'fortran_order': False, 'shape': (1L,)}", b"1\0\0\0"),  # it only warns
        ("papers", "{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", b"\xff\xff\xff\x7f"),
        ("papers", "{'descr': '<U0', 'fortran_order': False, 'shape': (1,)}", b""),
        ("similarity", "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -2)}", bytes(16)),
        ("similarity", "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1, 2)}", bytes(16)),
        ("similarity", "{'descr': [('a', '<f8')], 'fortran_order': 1, 'shape': (1, 2)}", bytes(16)),
        ("similarity", "[" * 3000, b""),
    ],
)
def test_arrays_that_are_damaged(tmp_path: Path, part: str, header: str, body: bytes) -> None:
    text = header.encode().ljust(118) + b"\n"
    path = tmp_path / "s.npz"
    path.write_bytes(with_part(part, b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body))
    with pytest.raises(InputError, match=r"s\.npz.*: must be"):
        read_similarity(path)


@pytest.mark.parametrize("kind", ["matrix", "similarity", "bid"])
def test_any_change_of_bytes_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    rng, path = Random(5), tmp_path / "s.npz"
    text = f"paper,reviewer,{kind}\np,a,0.5\np,b,{'yes' if kind == 'bid' else 1}\nq,a,3\n".encode()
    whole = saved(**GOOD) if kind == "matrix" else text
    for _ in range(count(300, 20_000)):
        place, byte = rng.randrange(len(whole)), rng.randrange(256)
        path.write_bytes(whole[:place] + bytes([byte]) * rng.randrange(3) + whole[place + 1 :])
        with contextlib.suppress(InputError):
            found = read_similarity(path, bids=kind == "bid")
            assert np.isfinite(found.value.data).all()
            assert found.value.shape == (len(found.papers), len(found.reviewers))


def test_numbers_beyond_a_float(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    path.write_bytes(saved(**{**GOOD, "similarity": np.array([[1, np.longdouble("1e4000")]])}))
    with pytest.raises(InputError, match="column similarity: must be finite numbers"):
        read_similarity(path)


def test_matrices_must_fit_their_ids() -> None:
    with pytest.raises(InputError, match="must have 1 rows and 2 columns"):
        Similarity.dense(["p"], ["a", "b"], [[1.0]])
    with pytest.raises(InputError, match="similarity must be at least 0"):
        Similarity.dense(["p"], ["a"], [[-1.0]])
