"""Small tables of reviews."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import blindcal as bc

GRID = st.integers(1, 6).map(float)


@st.composite
def tables(draw: st.DrawFn, scores: st.SearchStrategy[float] = GRID) -> dict[str, list[object]]:
    """Small uneven tables: 1-6 papers, 1-4 reviewers, each paper with at least one review."""
    papers, reviewers = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rows = [
        (f"p{i}", f"r{j}", draw(scores))
        for i in range(papers)
        for j in sorted(draw(st.sets(st.integers(0, reviewers - 1), min_size=1)))
    ]
    paper, reviewer, score = zip(*rows, strict=True)
    return {"paper": list(paper), "reviewer": list(reviewer), "score": list(score)}


def conference(seed: int, papers: int = 30, reviewers: int = 15, per_paper: int = 4) -> bc.Reviews:
    """Uneven loads, slopes and offsets that differ, moderate noise, scores around 5."""
    rng = np.random.default_rng(seed)
    popular = rng.uniform(0.7, 1.4, reviewers)
    chosen = np.argsort(rng.random((papers, reviewers)) ** popular, axis=1)[:, :per_paper]
    quality, slope = rng.standard_normal(papers), rng.uniform(0.4, 1.6, reviewers)
    offset = rng.normal(5, 1, reviewers)
    score = slope[chosen] * quality[:, None] + offset[chosen] + 0.4 * rng.standard_normal(chosen.shape)
    return bc.Reviews.from_table(
        {
            "paper": np.repeat([f"p{i:02d}" for i in range(papers)], per_paper),
            "reviewer": [f"r{j:02d}" for j in chosen.ravel()],
            "score": score.ravel(),
        }
    )


def strict_panels(
    seed: int, papers: int, people: int, least: int = 1, digits: int = 1
) -> dict[str, list[object]]:
    """From `least` to 4 reviews of each paper by unequally busy people, some of them strict."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[object]] = {"paper": [], "reviewer": [], "score": []}
    strict = rng.normal(size=people)
    for paper in range(papers):
        quality = rng.normal()
        for who in rng.choice(people, int(rng.integers(least, 5)), replace=False):
            columns["paper"].append(f"p{paper:02d}")
            columns["reviewer"].append(f"r{who}")
            columns["score"].append(round(5 + 2 * (quality + strict[who] + rng.normal()), digits))
    return columns


def this_year(seed: int, papers: int = 30, *, steps: bool = False) -> dict[str, list[object]]:
    """Three reviews of each paper, by 20 people strict in their own ways; in `steps` 1 to 10, means tie."""
    rng, rows = np.random.default_rng(seed), []
    strict = rng.normal(size=20)
    for paper, quality in enumerate(rng.normal(size=papers)):
        for who in rng.choice(20, 3, replace=False):
            score = 5 + 2 * (quality + strict[who] + (0.0 if steps else rng.normal()))
            given = float(np.clip(np.rint(score), 1, 10)) if steps else round(score, 2)
            rows.append((f"p{paper:02d}", f"r{who:02d}", given))
    return dict(zip(("paper", "reviewer", "score"), map(list, zip(*rows, strict=True)), strict=True))


SCORES = [float(1 + 7 * i % 10) for i in range(40)]


def panel(path: Path, scores: list[float] = SCORES, tracks: str = "") -> Path:
    """A file of scores, two of each paper, by three people in turn; `tracks`: a letter for each paper."""
    rows = [
        f"{place // 2},{'abc'[place % 3]},{score:g}" + (f",{tracks[place // 2]}" if tracks else "")
        for place, score in enumerate(scores)
    ]
    path.write_text("\n".join(["paper,reviewer,score" + ",track" * bool(tracks), *rows, ""]))
    return path
