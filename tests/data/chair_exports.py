"""What a chair has downloaded, made up: HotCRP scores of three years, the committee, conflicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

PEOPLE = [f"canary-{number}@example.org" for number in range(8)]


def scores(rng: np.random.Generator, papers: int) -> str:
    """A HotCRP download: two reviews per paper, whole scores from 1 to 5."""
    leniency = np.linspace(-1.0, 1.0, len(PEOPLE))
    lines = ["paper,title,review,reviewername,email,OveMer,RevExp"]
    for paper in range(1, papers + 1):
        quality = rng.normal()
        for place, who in enumerate(rng.choice(len(PEOPLE), 2, replace=False)):
            score = int(np.clip(round(3 + quality + leniency[who] + 0.4 * rng.normal()), 1, 5))
            title = f'"=Paper {paper}, revisited"'
            lines.append(
                f"{paper},{title},{paper}{'AB'[place]},Canary {who},{PEOPLE[who]},{score},{1 + who % 3}"
            )
    return "\n".join(lines) + "\n"


def write_exports(folder: Path, papers: int = 10, past: int = 15) -> Path:
    """The files of a chair in a folder: this year's scores, two past years, committee and conflicts."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(4)
    for name, number in (("2025", past), ("2026", past), ("scores", papers)):
        (folder / f"{name}.csv").write_text(scores(rng, number), encoding="utf-8")
    members = "".join(
        f"Canary,{number},{who},pc\n" for number, who in enumerate([*PEOPLE, "idle@example.org"])
    )
    (folder / "pc.csv").write_text(f"first,last,email,roles\n{members}", encoding="utf-8")
    conflicts = "paper,action,email\n1,conflict,idle@example.org\n2,primaryreview,idle@example.org\n"
    (folder / "bulk.csv").write_text(conflicts, encoding="utf-8")
    people = "".join(
        f"{who},1,{3 + shift:.3f},0.6\n" for who, shift in zip(PEOPLE, np.linspace(-1, 1, 8), strict=True)
    )
    (folder / "known.csv").write_text(f"reviewer,slope,offset,noise\n{people}", encoding="utf-8")
    return folder


def options(folder: Path, *names: str) -> list[str]:
    """The options of `blindcal new` that name these files."""
    found = {
        "reviews": ["--reviews", str(folder / "scores.csv")],
        "committee": ["--committee", str(folder / "pc.csv")],
        "past": ["--past", str(folder / "2025.csv"), "--past", str(folder / "2026.csv")],
        "conflicts": ["--conflicts", str(folder / "bulk.csv")],
        "reviewers": ["--reviewers", str(folder / "known.csv")],
    }
    chosen = [word for name in names for word in found[name]]
    return [*chosen, "--scores", "public"] if "reviews" in names else chosen
