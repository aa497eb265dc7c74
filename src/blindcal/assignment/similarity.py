"""Bids, similarities and conflicts as one matrix: how well each reviewer fits each paper.

Papers and reviewers are sorted by id, so that nothing depends on the order of a file. A pair that is not
listed has similarity 0 and may be assigned; only a conflict bars it.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from blindcal.checks import Array, Integers, nonnegative
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_bytes, read_range, read_table
from blindcal.io.cells import Column, cell_problem, id_problem, normalize_id
from blindcal.io.tables import MAX_LINES, StrPath, Table, input_error

MAX_MATRIX = 2**30
"""Bytes of a matrix file, packed or unpacked, and of an array in it once each entry takes 8 of them."""
WORDS = {"yes": 1.0, "maybe": 0.5, "no": 0.0}
"""What a bid that is a word counts; `conflict` bars the pair."""
_CONFLICT = "conflict"
_ZIP = b"PK\x03\x04"
_NO_OBJECTS = "must be a NumPy .npz file without objects"
_TWICE = "must not be listed twice for one paper"
_FORM = (
    "must hold arrays papers, reviewers and similarity: a matrix [papers, reviewers], or its entries with "
    "arrays paper and reviewer, their places from 0"
)


@dataclass(frozen=True, eq=False)
class Similarity:
    """How well each reviewer fits each paper, and who may not review what. Made by `dense` or from a file.

    Attributes:
        papers: Their ids in ascending order.
        reviewers: Their ids in ascending order.
        value: `[paper, reviewer]`, sparse, at least 0; a pair that is not listed has 0 and may be assigned.
        barred: `[paper, reviewer]`, sparse, true at conflicts.
    """

    papers: tuple[str, ...]
    reviewers: tuple[str, ...]
    value: Any
    barred: Any

    @classmethod
    def dense(
        cls,
        papers: Sequence[str],
        reviewers: Sequence[str],
        value: ArrayLike,
        barred: ArrayLike | None = None,
    ) -> Similarity:
        """From a matrix `value[papers, reviewers]`, with ids in any order, and one of conflicts.

        Example:
            >>> Similarity.dense(["q", "p"], ["a"], [[1.0], [2.0]]).value.toarray().tolist()
            [[2.0], [1.0]]
        """
        matrix = nonnegative("similarity", value)
        no = np.zeros(matrix.shape, dtype=bool) if barred is None else np.asarray(barred, dtype=bool)
        return _sorted(papers, reviewers, sparse.csr_array(matrix), sparse.csr_array(no))

    def of(self, paper: Integers, reviewer: Integers) -> Array:
        """The similarity of some pairs."""
        return np.asarray(self.value[paper, reviewer], dtype=np.float64).ravel()

    @property
    def digest(self) -> str:
        """A hash of papers, people, similarities and conflicts, in whatever order they were listed."""
        content = hashlib.sha256(repr((self.papers, self.reviewers)).encode())
        for matrix in (self.value, self.barred):
            for part in (matrix.indptr, matrix.indices, matrix.data):
                content.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
        return content.hexdigest()

    def barring(self, conflicts: Iterable[tuple[str, str]]) -> Similarity:
        """The same with more conflicts `(paper, reviewer)`."""
        paper, reviewer = _index_of(self.papers), _index_of(self.reviewers)
        pairs = np.array([(paper[p], reviewer[r]) for p, r in conflicts], dtype=np.int64).reshape(-1, 2)
        more = sparse.csr_array(
            (np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), self.barred.shape
        )
        return Similarity(self.papers, self.reviewers, self.value, _canonical(self.barred + more))


def read_similarity(
    path: StrPath,
    *,
    bids: bool = False,
    conflicts: StrPath | None = None,
    papers: Iterable[str] = (),
    reviewers: Iterable[str] = (),
) -> Similarity:
    """Similarities, or bids in their place, from a file.

    Args:
        path: A table `paper,reviewer,similarity`, or a NumPy `.npz` file with arrays `papers`, `reviewers`
            and the matrix `similarity`.
        bids: Whether it is a table `paper,reviewer,bid` instead. A bid is a number, or one of the words yes,
            which counts 1, maybe 0.5, no 0, and conflict.
        conflicts: A table `paper,conflict` of pairs that may not be assigned; None: no more than the bids
            say.
        papers: Further papers that the file may not mention.
        reviewers: Further reviewers that the file may not mention.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "bids.csv"
        ...     _ = path.write_text("paper,reviewer,bid\\np,ada,yes\\np,ben,maybe\\nq,ben,conflict\\n")
        ...     similarity = read_similarity(path, bids=True)
        >>> similarity.value.toarray().tolist(), similarity.barred.toarray().tolist()
        ([[1.0, 0.5], [0.0, 0.0]], [[False, False], [False, True]])
    """
    if not bids and read_range(path, 0, len(_ZIP)) == _ZIP:
        similarity = _extended(_read_matrix(path), papers, reviewers)
    else:
        similarity = _read_pairs(path, "bid" if bids else "similarity", papers, reviewers)
    return similarity if conflicts is None else similarity.barring(read_conflicts(conflicts, similarity))


def zero_similarity(papers: Iterable[str], reviewers: Iterable[str]) -> Similarity:
    """Papers and people of whom only the names are known: all similarities are 0."""
    rows, people = sorted(set(papers)), sorted(set(reviewers))
    return Similarity.dense(rows, people, np.zeros((len(rows), len(people))))


def read_papers(path: StrPath) -> tuple[str, ...]:
    """The ids in the column `paper` of a table; other columns are not read."""
    return tuple(dict.fromkeys(read_table(path, [Column("paper", "id")], extra=True).text("paper")))


def _read_pairs(path: StrPath, name: str, papers: Iterable[str], reviewers: Iterable[str]) -> Similarity:
    """The similarities of a table with a row for each pair."""
    kind = Column(name, "text") if name == "bid" else Column(name, "number", low=0.0)
    columns = [Column("paper", "id", secret=True), Column("reviewer", "id", secret=True), kind]
    table = read_table(path, columns)
    value, barred, problems = _values(table, name)
    problems += table.repeated("reviewer", "paper", rule=_TWICE)
    if problems:
        raise input_error(sorted(problems))
    rows = sorted({*table.text("paper"), *papers})
    people = sorted({*table.text("reviewer"), *reviewers})
    row, who = _index_of(rows), _index_of(people)
    paper = np.array([row[name] for name in table.text("paper")])
    reviewer = np.array([who[name] for name in table.text("reviewer")])
    at, shape = (paper, reviewer), (len(rows), len(people))
    return _sorted(rows, people, sparse.csr_array((value, at), shape), sparse.csr_array((barred, at), shape))


def _values(table: Table, name: str) -> tuple[Array, NDArray[np.bool_], list[Problem]]:
    """The similarity of each row, whether it is a conflict, and the problems."""
    if name != "bid":
        return table.number(name), np.zeros(len(table), dtype=bool), []
    bids = table.text(name)
    column = Column(name, "number", low=0.0)
    known = {bid: WORDS.get(bid.casefold(), 0.0) for bid in set(bids)}
    broken = {}
    for bid in [bid for bid in known if bid.casefold() not in {*WORDS, _CONFLICT}]:
        if (problem := cell_problem(bid, column)) is None:
            known[bid] = float(bid)
        else:
            broken[bid] = f"{problem[0]}, or one of {', '.join((*WORDS, _CONFLICT))}"
    problems = [
        Problem(table.file, row, name, broken[bid])
        for row, bid in zip(table.rows, bids, strict=True)
        if bid in broken
    ]
    barred = np.array([bid.casefold() == _CONFLICT for bid in bids])
    return np.array([known[bid] for bid in bids]), barred, problems


def read_conflicts(path: StrPath, known: Similarity) -> list[tuple[str, str]]:
    """The conflicts `(paper, reviewer)` of a table `paper,conflict`, which must name known ones."""
    columns = [Column("paper", "id", secret=True), Column("conflict", "id", secret=True)]
    table = read_table(path, columns)
    papers, people = set(known.papers), set(known.reviewers)
    pairs = list(zip(table.text("paper"), table.text("conflict"), strict=True))
    problems = []
    for row, (paper, reviewer) in zip(table.rows, pairs, strict=True):
        if paper not in papers:
            rule = "must be a paper that is to be assigned (those without bids are listed by `papers`)"
            problems.append(Problem(table.file, row, "paper", rule))
        if reviewer not in people:
            rule = "must be a reviewer (those without bids are listed by `committee`)"
            problems.append(Problem(table.file, row, "conflict", rule))
    if problems:
        raise input_error(problems)
    return pairs


def _read_matrix(path: StrPath) -> Similarity:
    """A NumPy file; nothing in it is run, and no more is unpacked than its size says."""
    name = os.fspath(path)
    parts = _arrays(read_bytes(path, MAX_MATRIX), name)
    if not {"papers", "reviewers", "similarity"} <= parts.keys():
        raise input_error([Problem(name, None, None, _FORM, ", ".join(sorted(parts)) or "nothing")])
    papers, reviewers = (_ids(parts[key], name, key) for key in ("papers", "reviewers"))
    value, shape = _numbers(parts["similarity"], name), (len(papers), len(reviewers))
    if value.ndim == 2 and value.shape == shape:
        matrix = sparse.csr_array(value)
    elif value.ndim == 1 and {"paper", "reviewer"} <= parts.keys():
        indices = [
            _indices(parts[key], name, key, value.size, size)
            for key, size in zip(("paper", "reviewer"), shape, strict=True)
        ]
        matrix = sparse.csr_array((value, (indices[0], indices[1])), shape)
        if np.unique(indices[0] * shape[1] + indices[1]).size < value.size:
            raise input_error([Problem(name, None, "reviewer", _TWICE)])
    else:
        raise input_error([Problem(name, None, "similarity", _FORM, f"shape {value.shape} for {shape}")])
    return _sorted(papers, reviewers, matrix, sparse.csr_array(shape, dtype=bool))


def _numbers(values: Any, name: str) -> Array:
    """The similarities as floats, checked."""
    good = values.dtype.kind in "fiu"
    with np.errstate(over="ignore", invalid="ignore"):
        array = values.astype(np.float64) if good else np.empty(0)
    if not good or not np.isfinite(array).all() or (array < 0).any():
        rule = "must be finite numbers of at least 0 (conflicts are a table of their own)"
        raise input_error([Problem(name, None, "similarity", rule)])
    return np.asarray(array, dtype=np.float64)


def _arrays(data: bytes, name: str) -> dict[str, Any]:
    """The arrays of an `.npz` file, without objects and within the limits on size."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            infos = packed.infolist()
            if sum(info.file_size for info in infos) > MAX_MATRIX:
                raise InputError(f"must unpack to at most {MAX_MATRIX:,} bytes")
            return {info.filename.removesuffix(".npy"): _array(packed, info) for info in infos}
    except InputError as error:
        raise input_error([Problem(name, None, None, str(error))]) from None
    # The libraries that read damaged headers and packed bytes raise errors of many kinds.
    except Exception:
        raise input_error([Problem(name, None, None, _NO_OBJECTS)]) from None


def _array(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """One array, of which as much is unpacked as both its header and its size in the file say."""
    with packed.open(info) as member:
        version = np.lib.format.read_magic(member)
        formats = np.lib.format
        header = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
        with catch_warnings():
            # NumPy warns of headers that only its most lenient parser can read, and goes on.
            simplefilter("error")
            shape, fortran, kind = header(member)
        size = prod(shape) * kind.itemsize
        if kind.hasobject or size > info.file_size:
            raise InputError(_NO_OBJECTS)
        if 8 * prod(shape) > MAX_MATRIX:
            raise InputError(f"must have at most {MAX_MATRIX // 8:,} entries in an array")
        flat = np.frombuffer(member.read(size), dtype=kind)
    return flat.reshape(shape, order="F" if fortran else "C")


def _ids(values: Any, name: str, key: str) -> list[str]:
    """The ids of papers or reviewers, checked."""
    if values.size > MAX_LINES:
        raise input_error(
            [Problem(name, None, key, f"must be at most {MAX_LINES:,} ids", f"{values.size:,}")]
        )
    valid = values.dtype.kind in "SiuU"
    if values.dtype.kind == "U" and values.size:
        # Text of valid characters.
        codes = np.ascontiguousarray(values).view(np.dtype(np.uint32).newbyteorder(values.dtype.byteorder))
        valid = int(codes.max(initial=0)) <= sys.maxunicode
    ids = [normalize_id(_text(text)) for text in values.ravel().tolist()] if valid else []
    problems = [
        Problem(name, None, key, broken[0]) for text in ids if (broken := id_problem(text)) is not None
    ]
    if len(set(ids)) < len(ids) or not ids:
        problems.append(Problem(name, None, key, "must be ids, each once"))
    if problems:
        raise input_error(problems)
    return ids


def _text(value: object) -> str:
    """An id as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _indices(values: Any, name: str, key: str, count: int, size: int) -> Integers:
    """Indices into a list of `size` ids, checked."""
    good = values.dtype.kind in "iu" and values.shape == (count,)
    if not good or (count and not 0 <= int(values.min()) <= int(values.max()) < size):
        rule = f"must be {count:,} whole numbers from 0 to {size - 1:,}"
        raise input_error([Problem(name, None, key, rule)])
    return np.asarray(values, dtype=np.int64)


def _extended(known: Similarity, papers: Iterable[str], reviewers: Iterable[str]) -> Similarity:
    """The same with further papers and people, of whom nothing else is known."""
    rows = [*known.papers, *sorted(set(papers) - set(known.papers))]
    people = [*known.reviewers, *sorted(set(reviewers) - set(known.reviewers))]
    shape = len(rows), len(people)
    value, barred = known.value.copy(), known.barred.copy()
    value.resize(shape)
    barred.resize(shape)
    return _sorted(rows, people, value, barred)


def _sorted(papers: Sequence[str], reviewers: Sequence[str], value: Any, barred: Any) -> Similarity:
    """The similarities with papers and reviewers sorted by id."""
    rows, people = list(papers), list(reviewers)
    order = sorted(range(len(rows)), key=rows.__getitem__)
    columns = sorted(range(len(people)), key=people.__getitem__)
    if value.shape != (len(rows), len(people)) or barred.shape != value.shape:
        raise InputError(
            f"similarity must have {len(rows)} rows and {len(people)} columns, found {value.shape}"
        )
    return Similarity(
        tuple(rows[i] for i in order),
        tuple(people[i] for i in columns),
        _canonical(value[order][:, columns]),
        _canonical(barred[order][:, columns]),
    )


def _canonical(matrix: Any) -> Any:
    """Each entry once, in order, none of them 0."""
    canonical = sparse.csr_array(matrix)
    canonical.sum_duplicates()
    canonical.eliminate_zeros()
    canonical.sort_indices()
    return canonical


def _index_of(names: Sequence[str]) -> dict[str, int]:
    """The index of each name."""
    return {name: index for index, name in enumerate(names)}
