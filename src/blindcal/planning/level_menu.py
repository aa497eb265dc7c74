"""What each guarantee would gain on a conference that is calibrated on its own reviews.

The scores cannot tell how much of their disagreement is strictness, so every gain is a range: the evidence
and the tables are those of the stated share, and strictness is in truth one of `SHARES`. All of it is a
function of scores and settings, and covers every paper exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blindcal.checks import Array
from blindcal.io.cells import count
from blindcal.io.tables import data_frame
from blindcal.planning.guarantee_menu import with_chosen
from blindcal.planning.request import Request
from blindcal.policy.guarantee import PUBLIC, UNLIMITED, Guarantee
from blindcal.policy.solver import private_policy
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.conference import Conference
from blindcal.posterior.levels import SHARES, LevelCase
from blindcal.posterior.this_year import EVIDENCE_FILE, ThisYearInputs
from blindcal.reviews import grid_warnings, similar_id_warnings

OUTSIDE_EVIDENCE = (
    "the evidence comes from outside: what it says of a paper can encode a name or a text, every random draw "
    "may depend on all that went into it, and a person who chooses it knowing the key can dictate decisions. "
    "Nothing is known of its errors, so no gain is stated"
)
"""What a chair should know of evidence that another method made."""
LEVEL_MENU = (PUBLIC, *(Guarantee("odds", epsilon=epsilon) for epsilon in (1.0, 2.0, 3.0)), UNLIMITED)
"""The guarantees that are compared, the strictest first."""


@dataclass(frozen=True)
class LevelChoice:
    """One guarantee on this conference, its papers decided one by one."""

    guarantee: Guarantee  # the guarantee
    # Expected number of wrong decisions avoided, compared with mean scores, for each of `SHARES`
    gains: tuple[float, ...]
    lots: int  # number of papers that a random draw decides
    changed: float  # expected number of papers decided otherwise than by mean scores

    @property
    def gain(self) -> tuple[float, float]:
        """The smallest and the largest gain."""
        return min(self.gains), max(self.gains)


@dataclass(frozen=True)
class LevelMenu:
    """Guarantees compared on one conference, beside mean scores.

    Attributes:
        choices: One per guarantee, in the order of the guarantees.
        wrong_raw: Expected number of papers decided wrongly by mean scores, for each of `SHARES`.
        papers: Number of papers.
    """

    choices: tuple[LevelChoice, ...]
    wrong_raw: tuple[float, ...]
    papers: int

    def choice(self, guarantee: Guarantee) -> LevelChoice:
        """What a `guarantee` of the menu gains."""
        return next(choice for choice in self.choices if choice.guarantee == guarantee)

    def to_frame(self) -> Any:
        """One row per guarantee and share, as a pandas data frame; needs pandas."""
        rows = [(c, share, gain) for c in self.choices for share, gain in zip(SHARES, c.gains, strict=True)]
        return data_frame(
            {
                "guarantee": [choice.guarantee.name for choice, _, _ in rows],
                "epsilon": [choice.guarantee.epsilon for choice, _, _ in rows],
                "true share": [share for _, share, _ in rows],
                "gain": [gain for _, _, gain in rows],
                "lots": [choice.lots for choice, _, _ in rows],
                "changed": [choice.changed for choice, _, _ in rows],
            }
        )


def level_menu(conference: Conference, guarantees: Sequence[Guarantee] = LEVEL_MENU) -> LevelMenu:
    """Compares guarantees on a conference that is calibrated on its own reviews.

    Args:
        conference: Public side of the conference.
        guarantees: The guarantees to compare.

    Example:
        >>> from blindcal.posterior.inputs import example_reviews
        >>> conference, _ = example_reviews().prepared(accept_rate=0.5, people=4, strictness_share=0.5)
        >>> found = level_menu(conference, [PUBLIC, UNLIMITED])
        >>> [(choice.guarantee.name, choice.lots, round(choice.changed, 2)) for choice in found.choices]
        [('public', 0, 0.0), ('none', 0, 0.11)]
    """
    cases, raw = conference.graded, np.array(conference.raw_accept)
    stated = stacked(cases)
    beliefs = [stacked(cases, share) for share in SHARES]
    right = [(belief.weight * belief.favor).sum(axis=1) for belief in beliefs]
    wrong_raw = [float((raw * (1.0 - own) + (1.0 - raw) * own).sum()) for own in right]
    choices = []
    for guarantee in guarantees:
        accept = private_policy(stated, guarantee).accept
        gains = [before - wrong(belief, accept) for before, belief in zip(wrong_raw, beliefs, strict=True)]
        chance = (stated.weight * accept).sum(axis=1)
        changed = float((raw * (1.0 - chance) + (1.0 - raw) * chance).sum())
        lots = int(((accept > 0.0) & (accept < 1.0)).any(axis=1).sum())
        choices.append(LevelChoice(guarantee, tuple(gains), lots, changed))
    return LevelMenu(tuple(choices), tuple(wrong_raw), len(cases))


def stacked(cases: Sequence[LevelCase], share: float | None = None) -> Belief:
    """The beliefs of all papers as one, if so much of the disagreement is strictness."""
    beliefs = [case.belief_if(case.model.share if share is None else share) for case in cases]
    weight = np.array([belief.weight for belief in beliefs])
    return unchecked_belief(weight, np.array([belief.favor for belief in beliefs]))


def wrong(belief: Belief, accept: Array) -> float:
    """The expected number of wrong decisions."""
    chance = belief.weight * (accept * (1.0 - belief.favor) + (1.0 - accept) * belief.favor)
    return float(chance.sum())


def level_remarks(conference: Conference, request: Request) -> list[str]:
    """What the chair of a conference that is calibrated on its own reviews should know, from public data.

    Nothing here depends on who wrote what, so that it may stand on a screen that others see.
    """
    model, cases = conference.model, conference.graded
    if model is None:
        return []
    remarks = [OUTSIDE_EVIDENCE] if request.source == EVIDENCE_FILE else []
    if request.people is None:
        remarks.append(
            f"`people` is not stated: {model.people:,} is taken, a person for every five reviews; nobody "
            "was counted. It shapes which papers a random draw decides, so it must come from the committee, "
            "never from a count of this year's reviewers"
        )
    if model.people <= max(model.reviews):
        remarks.append(
            "everyone reviews everything: strictness then changes no order, and papers are decided by their "
            "scores alone"
        )
    single = sum(len(case.scores) == 1 for case in cases)
    if single and request.guarantee.name != "public":
        remarks.append(
            f"{count(single, 'paper')} {'has' if single == 1 else 'have'} one review: its reviewer's "
            "strictness counts in full"
        )
    return remarks


_NOTHING_GAINED = (
    "to check: nothing is gained if everyone reviewed everything, if each person wrote one review, or if the "
    "same people reviewed together as fixed panels; then set `guarantee` to public"
)


@dataclass(frozen=True)
class LevelAnswer:
    """Whether calibration on this year's reviews is worth it, under one guarantee and under others.

    Attributes:
        chosen: The guarantee that was chosen, one of the menu's.
        menu: What each guarantee would gain, in papers of this conference.
        conference: The public side of the conference.
        reviews: Number of reviews.
        remarks: Remarks for the chair, in words.
        from_file: Whether another method made the evidence: the gains of the menu say nothing about it.
    """

    chosen: Guarantee
    menu: LevelMenu
    conference: Conference
    reviews: int
    remarks: tuple[str, ...]
    from_file: bool = False

    @property
    def choice(self) -> LevelChoice:
        """The chosen guarantee as the menu has it."""
        return self.menu.choice(self.chosen)

    @property
    def gain(self) -> float:
        """What the chosen guarantee gains if strictness is what is stated."""
        return self.choice.gains[SHARES.index(self.conference.graded[0].model.share)]


def level_answer(
    inputs: ThisYearInputs,
    request: Request,
    others: Sequence[Guarantee] = LEVEL_MENU,
    *,
    prepared: Conference | None = None,
) -> LevelAnswer:
    """Says how many decisions calibration on this year's reviews would correct. Nothing is drawn or frozen.

    All of it is a function of scores and settings: who wrote what does not enter.

    Args:
        inputs: The reviews, from `read_inputs`.
        request: The guarantee, and how many papers to accept.
        others: The guarantees to compare it with.
        prepared: The conference of these inputs, if it is prepared already.

    Example:
        >>> from blindcal.posterior.inputs import example_reviews
        >>> request = Request(Guarantee("odds"), accept_rate=0.5, people=4)
        >>> found = level_answer(example_reviews(), request)
        >>> found.menu.papers, found.choice.lots
        (6, 0)
    """
    request = request.checked().for_inputs(inputs)
    conference = request.prepared(inputs)[0] if prepared is None else prepared
    menu = level_menu(conference, with_chosen(request.guarantee, others))
    alike = similar_id_warnings(inputs.reviews, inputs.sources.reviews)
    known = (*inputs.remarks, *grid_warnings(inputs.reviews), *alike)
    from_file = request.source == EVIDENCE_FILE
    check = () if from_file or request.guarantee.name == "public" else (_NOTHING_GAINED,)
    remarks = (*known, *level_remarks(conference, request), *check)
    return LevelAnswer(request.guarantee, menu, conference, len(inputs.reviews), remarks, from_file)
