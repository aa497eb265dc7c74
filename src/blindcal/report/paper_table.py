"""The table of papers for a meeting: where each paper lies, how it was decided, and what that can say.

CONFIDENTIAL: it has scores and titles. It names no reviewer, and its only facts that depend on who wrote what
are the decisions: all others are functions of scores, settings and, if there are any, pools and calibration.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import fsum
from typing import Any, NamedTuple

from blindcal.deciding.certificate import figures_of
from blindcal.deciding.record import PaperRecord, Record
from blindcal.exporters.formats import DecidedPaper, decided_of
from blindcal.io.cells import count
from blindcal.planning.advice import LOWER, RAISE, TIE
from blindcal.policy.guarantee import Guarantee
from blindcal.report.wording import certified_promises, percent
from blindcal.reviews import original_scores

SCORES, DRAW, UNSAID, EVIDENCE = "scores", "draw", "unsaid", "evidence"
"""What decided a paper: public information, a random draw, one of the two, or its corrected scores."""


class HowDecided(NamedTuple):
    """What decided a paper, in words."""

    short: str
    long: str
    told: str  # what its authors may be told


HOW: Mapping[str, HowDecided] = {
    SCORES: HowDecided(
        "public information",
        "Public information settles it: the decision is the same for all who may have reviewed it.",
        "Its authors may be told that no draw decided it.",
    ),
    DRAW: HowDecided(
        "random draw",
        "Its scores alone do not settle it. A secret random draw decided: it follows the scores, corrected "
        "for how strict the reviewers are, with chance {follows}, and otherwise goes against them.",
        "Its authors may be told that it was drawn{hidden}, never whether the draw followed the corrected "
        "scores.",
    ),
    UNSAID: HowDecided(
        "not said",
        "Public information does not settle it: some possible reviewers speak for it and some against it. "
        "Either all of that led to one decision or a random draw decided. Which of the two is not said, "
        "since it may depend on who reviewed it.",
        "Its authors can only be told that nobody can say whether it was drawn.",
    ),
    EVIDENCE: HowDecided(
        "corrected scores",
        "Its scores, corrected for how its reviewers use the scale, decided it, without protection: the "
        "decision may tell who they are.",
        "Its authors may be told that corrected scores decided it.",
    ),
}
_MOVED = (
    "That is not what its mean score decides: the bar is a quality, so the number of reviews, areas and a "
    "share to accept that is not reached by these papers count too."
)
_ON_A_LIST = " Whether it is on the list of accepted papers also depends on the other papers."
_UNKNOWN = (
    "How strict its reviewers are, what their corrected scores are{draw}: each would help to name them. Nor "
    "can it be decided again, since two draws reveal what one hides."
)
NEAR = (
    "Near the bar: public information does not settle it, its mean ties at the cut, or it was decided "
    "otherwise than by its mean. Range: its highest score less its lowest."
)
MEETING = (
    "People decide. What was promised to reviewers is about these decisions as they were drawn. It covers a "
    "change for reasons that have nothing to do with who reviewed the paper, such as an error of fact. It "
    "does not cover a change by area chairs who know the reviewers: others can learn from it what they know."
)
_WRITE = {
    "decisions": "Write a change with its reason under [overridden] in conference.toml, or in the app "
    "under Results.",
    "advice": "What people decide on advice stays in your own system.",
}
"""What a meeting should know before it changes a decision, and where it writes that."""
_MORE = (
    "This table does not rank further papers: `blindcal export --accept NUMBER`, or Lists in the app, has "
    "the list of another number."
)
_NO_MORE = (
    "This table does not rank further papers, and no list of another number can be made: papers were decided "
    "one by one, without an exact number."
)


@dataclass(frozen=True)
class TablePaper:
    """One paper as a meeting sees it."""

    paper: str  # its id
    title: str  # empty if it is not known
    track: str  # empty if there is none
    area: str  # likewise
    scores: tuple[float, ...]  # as they were given, from the lowest up
    mean: float  # of the scores
    above: float  # the probability that it is above the bar, by public information
    how: str  # what decided it, one of `HOW`
    by_means: str  # what mean scores decide: accept, reject or tie
    advice: str  # the way from there to the decision
    decision: str  # accept, reject or wait list
    wait_list: str  # its place there, as text; empty if it has none
    by_hand: str  # the chair's own decision with its reason; empty if there is none
    published: tuple[str, ...]  # what each release decided, from the first on

    @property
    def near(self) -> bool:
        """Whether it is near the bar: unsettled by public information, a tie, or moved from its mean."""
        return self.how != SCORES or self.by_means == TIE or self.advice in (RAISE, LOWER)


@dataclass(frozen=True)
class PaperTable:
    """All papers of a release, and what holds for all of them."""

    certificate: Mapping[str, Any]
    papers: tuple[TablePaper, ...]
    guarantee: Guarantee
    follows: str  # the chance that a draw follows the corrected scores, in words; empty without draws
    against: float = 0.0  # how many draws are expected to go against them

    @property
    def near(self) -> int:
        """How many papers are near the bar."""
        return sum(paper.near for paper in self.papers)

    @property
    def listed(self) -> bool:
        """Whether an exact number of papers was accepted, so that there is a list."""
        return "selection" in self.certificate

    def number(self, how: str) -> int:
        """How many papers were decided so."""
        return sum(paper.how == how for paper in self.papers)

    @property
    def meeting(self) -> str:
        """What a meeting should know before it changes a decision, and where it writes that."""
        return f"{MEETING} {_WRITE[self.certificate['publishes']]}"

    @property
    def promise(self) -> str:
        """What was promised to reviewers, in a line."""
        return certified_promises(self.certificate)[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What words of the table mean, and where the list of another number is."""
        return NEAR, _MORE if self.listed else _NO_MORE

    @property
    def draws(self) -> str:
        """How many papers were drawn, and how many draws are expected to go against corrected scores."""
        drawn = self.number(DRAW)
        if not drawn:
            return "No paper was decided by a random draw: scores settle all."
        papers = count(drawn, "paper")
        made = f"{papers} {'was' if drawn == 1 else 'were'} decided by a weighted draw"
        if self.listed:
            made = f"For {papers} a weighted draw was made, and the list follows from it"
        if drawn == 1:
            return f"{made}: it follows the corrected scores with chance {self.follows}."
        wrong = f"about {self.against:,.0f}" if self.against >= 0.5 else "fewer than 1"
        verb = "are" if self.against >= 1.5 else "is"
        return (
            f"{made}: each follows the corrected scores with chance {self.follows}, so {wrong} of {drawn:,} "
            f"{verb} expected to go against them; which ones is said nowhere."
        )

    @property
    def number_accepted(self) -> str:
        """Why as many are accepted as by mean scores or not; empty where the number was fixed or is equal."""
        accepted = sum(paper.decision == "accept" for paper in self.papers)
        means = sum(paper.by_means == "accept" for paper in self.papers)
        if self.listed or accepted == means:
            return ""
        tied = f" and {self.ties:,} tie{'s' if self.ties == 1 else ''}" if self.ties else ""
        share = self.certificate["requested"]["accept_rate"]
        around = "no number was fixed" if share is None else f"{100 * share:g} % set the bar"
        return (
            f"{accepted:,} {'is' if accepted == 1 else 'are'} accepted, where mean scores accept "
            f"{means:,}{tied}: papers are decided one by one, so the number varies ({around})."
        )

    @property
    def ties(self) -> int:
        """How many papers tie by their mean scores."""
        return sum(paper.by_means == TIE for paper in self.papers)

    @property
    def summary(self) -> list[str]:
        """What the papers near the bar are, a sentence each."""
        papers, unsaid = count(len(self.papers), "paper"), self.number(UNSAID)
        moved = sum(paper.advice in (RAISE, LOWER) for paper in self.papers)
        tied = f", and {self.ties:,} tie by mean score, which decides nothing" if self.ties else ""
        sentences = [
            self.draws if self.guarantee.name == "odds" else "",
            f"{self.near:,} of {papers} are near the bar.",
            f"Of {unsaid:,} it is not said whether a random draw decided: that may depend on who reviewed."
            if unsaid
            else "",
            f"{moved:,} {'was' if moved == 1 else 'were'} decided otherwise than by mean scores{tied}.",
            self.number_accepted,
        ]
        return [sentence for sentence in sentences if sentence]

    @property
    def words(self) -> dict[str, Any]:
        """The sentences that the pages of single papers have, by what decided the paper."""
        public = self.certificate["scores"] == "public"
        hidden = "" if public else " if you wish, although that says how close its scores are to the bar"
        return {
            "how": {
                how: {
                    "short": words.short,
                    "long": words.long.format(follows=self.follows) + (_ON_A_LIST if self.listed else ""),
                    "unknown": _UNKNOWN.format(
                        draw=", and whether the draw followed them" if how == DRAW else ""
                    ),
                    "told": words.told.format(hidden=hidden),
                }
                for how, words in HOW.items()
            },
            "moved": _MOVED,
        }

    @property
    def data(self) -> str:
        """The table as JSON that can stand in a page: no character in it ends or begins markup."""
        names = [*(field.name for field in fields(TablePaper)), "near"]
        content = {
            "columns": names,
            "rows": [[getattr(paper, name) for name in names] for paper in self.papers],
            "better": self.certificate["better"],
            "words": self.words,
        }
        text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def paper_table(
    record: Record,
    *,
    titles: Mapping[str, str] | None = None,
    by_hand: Mapping[str, str] | None = None,
    releases: Iterable[Sequence[DecidedPaper]] = (),
) -> PaperTable:
    """The table of the papers of a release.

    Args:
        record: The release. Its reviewers, draws and private decisions do not enter.
        titles: By paper, those that are known.
        by_hand: Decisions of the chair with their reasons, by paper.
        releases: The papers of earlier releases and of this one, as they were published.
    """
    guarantee, certificate = record.request.guarantee, json.loads(record.certificate)
    published: dict[str, list[str]] = {}
    for papers in releases:
        for paper in papers:
            published.setdefault(paper.paper, []).append(paper.decision or f"advice: {paper.advice}")
    rows, follows = [], []
    decisions = decided_of(record.decisions.encode(), "record")
    for recorded, decided in zip(record.papers, decisions, strict=True):
        how, figures = _decided_by(recorded, guarantee), figures_of(recorded)
        scores = original_scores(recorded.public["scores"], record.request.better)
        follows += [1.0 - figures.against] if how == DRAW else []
        above = fsum(standing.chance * standing.favor for standing in figures.standings)
        row = TablePaper(
            paper=recorded.paper,
            title=(titles or {}).get(recorded.paper, ""),
            track=recorded.public["track"],
            area=recorded.public.get("area", ""),
            scores=tuple(scores),
            mean=round(fsum(scores) / len(scores), 4),
            above=round(above, 3),
            how=how,
            by_means=decided.by_mean_score,
            advice=decided.advice,
            decision=decided.decision,
            wait_list=decided.wait_list,
            by_hand=(by_hand or {}).get(recorded.paper, ""),
            published=tuple(published.get(recorded.paper, ())),
        )
        rows.append(row)
    ends = dict.fromkeys(map(percent, (min(follows), max(follows)))) if follows else ()
    against = fsum(1.0 - chance for chance in follows)
    return PaperTable(certificate, tuple(rows), guarantee, " to ".join(ends), against)


def _decided_by(paper: PaperRecord, guarantee: Guarantee) -> str:
    """What decided a paper. A table that is the same for all secrets, or a second decision, is public."""
    if paper.earlier or float(paper.figures["claim"]["epsilon"]) == 0.0:
        return SCORES
    return {"odds": DRAW, "none": EVIDENCE}.get(guarantee.name, UNSAID)
