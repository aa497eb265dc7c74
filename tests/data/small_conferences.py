"""Small conferences as the files a chair would have, for tests of the whole line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from blindcal.cli import run
from blindcal.deciding.decide import Outcome, decide, decide_paper, release
from blindcal.deciding.key import Key, make_key, read_key
from blindcal.deciding.ledger import ledger_folder, open_ledger, read_head, record_name
from blindcal.deciding.record import PaperRecord
from blindcal.io.atomic_files import write_bytes
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.planning.request import Request
from blindcal.posterior.conference import Conference, TrueReviewers, prepare, true_reviewers
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.posterior.this_year_inputs import ThisYearInputs
from blindcal.reviews import Reviews
from blindcal.verification import Verification, verify

Rows = tuple[tuple[str, ...], ...]
AnyInputs = Inputs | ThisYearInputs


@dataclass(frozen=True)
class SmallConference:
    """Rows of the three input files; reviewer ids are canaries that no public output may hold."""

    reviews: Rows
    reviewers: Rows
    pools: Rows

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("reviews", "reviewers", "pools"):
            rows = getattr(self, name)
            (folder / f"{name}.csv").write_text(
                "".join(",".join(row) + "\n" for row in rows), encoding="utf-8"
            )
        return folder

    def with_review(
        self, index: int, *, reviewer: str | None = None, score: str | None = None
    ) -> SmallConference:
        """One review changed (the header is row 0)."""
        rows = list(self.reviews)
        paper, old_reviewer, old_score = rows[index]
        rows[index] = (paper, reviewer or old_reviewer, score or old_score)
        return replace(self, reviews=tuple(rows))

    def with_tracks(self, tracks: dict[str, str]) -> SmallConference:
        """The reviews with a column that says in which track each paper is."""
        header, *rows = self.reviews
        return replace(self, reviews=((*header, "track"), *((*row, tracks.get(row[0], "")) for row in rows)))

    @property
    def canaries(self) -> list[str]:
        return [row[0] for row in self.reviewers[1:]]


def small_conference(
    seed: int = 4,
    papers: int = 6,
    pool: int = 4,
    reviews: int = 2,
    reviewers: int = 8,
    noise: float = 0.5,
    spread: float = 1.0,
) -> SmallConference:
    """Papers of qualities N(0, spread^2): the closer they are, the more decisions are open."""
    rng = np.random.default_rng(seed)
    ids = [f"canary-{rng.integers(10**9):09d}" for _ in range(reviewers)]
    slope, offset = np.exp(rng.normal(0, 0.5, reviewers)), rng.normal(0, 1.5, reviewers)
    table: list[tuple[str, ...]] = [("paper", "reviewer", "score")]
    pools: list[tuple[str, ...]] = [("paper", "reviewer", "probability")]
    for index in range(papers):
        paper, quality = f"p{index:02d}", spread * rng.normal()
        candidates = rng.choice(reviewers, pool, replace=False)
        for j in candidates[:reviews]:
            score = slope[j] * quality + offset[j] + noise * rng.normal()
            table.append((paper, ids[j], f"{score:.2f}"))
        pools += [
            (paper, ids[j], f"{p:.2f}")
            for j, p in zip(sorted(candidates), rng.uniform(0.4, 0.9, pool), strict=True)
        ]
    people = [("reviewer", "slope", "offset", "noise")]
    people += [(ids[j], f"{slope[j]:.3f}", f"{offset[j]:.3f}", f"{noise}") for j in range(reviewers)]
    return SmallConference(tuple(table), tuple(people), tuple(pools))


def loaded(
    small: SmallConference, *, accept_rate: float | None = 0.4, bar: float | None = None
) -> tuple[Conference, dict[str, tuple[str, ...]]]:
    """The conference and its true reviewers without any file."""
    columns = dict(zip(small.reviews[0], zip(*small.reviews[1:], strict=True), strict=True))
    table = {**columns, "score": [float(score) for score in columns["score"]]}
    reviews = Reviews.from_table(table)
    people = {row[0]: (*map(float, row[1:]), 0.0, 0.0, 0.0, 0.0) for row in small.reviewers[1:]}
    pools: dict[str, dict[str, float]] = {}
    for paper, reviewer, chance in small.pools[1:]:
        pools.setdefault(paper, {})[reviewer] = float(chance)
    conference = prepare(reviews, people, pools, accept_rate=accept_rate, bar=bar)
    return conference, true_reviewers(conference, reviews)


def drawn(
    key: Key, conference: Conference, truth: TrueReviewers, request: Request, plans: list[PaperPlan]
) -> tuple[PaperRecord, ...]:
    """Every paper's coin under a key, without any file."""
    return tuple(
        decide_paper(key, request, 1, case, truth[case.paper], plan, raw)
        for case, plan, raw in zip(conference.cases, plans, conference.raw_accept, strict=True)
    )


@cache
def _folders() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="blindcal-conferences-")


def project(folder: Path, key: Path | None, out: Path | None, *settings: str) -> str:
    """A conference's folder for the files in `folder`, with more lines for its conference.toml.

    It has a place of its own, by what it says: tests look at everything that lies beside the files.
    """
    files = {name: folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")}
    paths = files | {"key": key or folder.parent / "key.bin"} | ({} if out is None else {"out": out})
    lines = {name: json.dumps(str(path.absolute())) for name, path in paths.items()}
    lines |= {"accept-rate": "0.4", "scores": '"public"'}
    given = dict(line.split(" = ", 1) for line in settings if not line.startswith("["))
    if {"accept", "bar"} & {*given}:
        del lines["accept-rate"]
    tables = [line for line in settings if line.startswith("[")]
    text = "\n".join([*(f"{name} = {value}" for name, value in (lines | given).items()), *tables, ""])
    home = Path(_folders().name) / sha256(text.encode()).hexdigest()[:16]
    home.mkdir(exist_ok=True)
    (home / "conference.toml").write_text(text, encoding="utf-8")
    return str(home)


def command_line(name: str, folder: Path, *more: str | Path) -> list[str]:
    """A command on the conference in `folder`. Of `more`, paths are the key and the public folder, lines like
    `epsilon = 1` are settings, and the rest are options."""
    texts = [text for text in more if isinstance(text, str)]
    key, out, *_ = (*(path for path in more if isinstance(path, Path)), None, None)
    settings = [text for text in texts if re.match(r"[a-z-]+ = |\[", text)]
    if out is None and name != "verify":
        out = folder / "public"
    return [name, project(folder, key, out, *settings), *(text for text in texts if text not in settings)]


def arguments(folder: Path, key: Path, out: Path, *more: str) -> list[str]:
    """The command line that decides the conference in `folder`."""
    return command_line("decide", folder, key, out, *more)


def with_key(path: Path) -> Path:
    """A file with a key, made if there is none."""
    if not path.exists():
        make_key(path)
    return path


def released(
    key: Path,
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    *,
    amend: bool = False,
    reason: str = "again",
) -> Outcome:
    """A release under the key in this file, which is made if there is none; nothing is published."""
    with open_ledger(key, read_key(with_key(key))) as ledger:
        return release(conference, truth, request, ledger, plan_conference, amend=amend, reason=reason)


def only(conference: Conference, *places: int) -> Conference:
    """Some papers of a conference."""
    cases, raw = (
        tuple(some[place] for place in places) for some in (conference.cases, conference.raw_accept)
    )
    return replace(conference, cases=cases, raw_accept=raw)


def known_key(path: Path, secret: bytes = bytes(range(32))) -> Path:
    """A file with this key, in a folder that is made: what a test finds does not hang on a coin."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, secret, confidential=True)
    return path


def sealed_tables(key: Path, counter: int = 1) -> bytes:
    """The tables of a release as they were sealed."""
    path = ledger_folder(key) / record_name(counter)
    return read_head(path, Key(key.read_bytes())).part("tables")


def decided(folder: Path, key: Path, out: Path, *more: str) -> tuple[bytes, dict[str, object]]:
    """Decide, with a new key if there is none, and return the public table and the certificate."""
    with_key(key)
    code = run(arguments(folder, key, out, *more))
    assert code == 0, f"exit code {code}"
    certificate = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    return (out / "decisions.csv").read_bytes(), certificate


def swapped(small: SmallConference) -> SmallConference:
    """The two reviewers of the first paper exchanged: public data stay, the truth changes."""
    first, second = small.reviews[1][1], small.reviews[2][1]
    return small.with_review(1, reviewer=second).with_review(2, reviewer=first)


def read_small(small: SmallConference, folder: Path) -> Inputs:
    """The conference as it is read from its files."""
    small.write(folder)
    return read_inputs(*(folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))


def everything(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, to see that nothing was written."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@dataclass(frozen=True)
class Chair:
    """A chair's folder with a key in it, the conference that is decided there, and what is asked for it."""

    home: Path
    given: SmallConference | AnyInputs
    request: Request

    @property
    def key(self) -> Path:
        return self.home / "key.bin"

    def read(self, given: SmallConference | AnyInputs | None = None) -> AnyInputs:
        """A conference as it is read from its files: this chair's if no other is given."""
        given = given or self.given
        return read_small(given, self.home / "in") if isinstance(given, SmallConference) else given

    def decide(
        self,
        given: SmallConference | AnyInputs | None = None,
        request: Request | None = None,
        *,
        out: str = "out",
        **more: Any,
    ) -> Outcome:
        self.home.mkdir(exist_ok=True)
        return decide(self.read(given), request or self.request, with_key(self.key), self.home / out, **more)

    def amend(
        self, given: SmallConference | AnyInputs, *, out: str = "out2", reason: str = "mistyped", **more: Any
    ) -> Outcome:
        return self.decide(given, out=out, amend=True, reason=reason, **more)

    def verify(
        self, given: SmallConference | AnyInputs | None = None, out: str | None = "out", **more: Any
    ) -> Verification:
        return verify(self.read(given), self.key, None if out is None else self.home / out, **more)

    @property
    def files(self) -> dict[str, bytes]:
        """Every file but those of the conference, to see that nothing was written."""
        return {name: data for name, data in everything(self.home).items() if not name.startswith("in/")}
