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

from blindcal.io.cells import count
from blindcal.io.tables import data_frame
from blindcal.planning.advice import decided_by_means
from blindcal.planning.guarantee_menu import with_chosen
from blindcal.planning.remarks import input_remarks
from blindcal.planning.request import Request
from blindcal.policy.guarantee import PUBLIC, UNLIMITED, Guarantee
from blindcal.policy.policy import unchecked_policy
from blindcal.policy.solver import private_policy
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.conference import Conference, LevelByTrack
from blindcal.posterior.this_year_evidence import SHARES
from blindcal.posterior.this_year_inputs import EVIDENCE_FILE, ThisYearInputs

LEVEL_MENU = (PUBLIC, *(Guarantee("odds", epsilon=epsilon) for epsilon in (1.0, 2.0, 3.0)), UNLIMITED)
"""The guarantees that are compared, the strictest first."""


@dataclass(frozen=True)
class LevelChoice:
    """One guarantee on this conference, its papers decided one by one."""

    guarantee: Guarantee  # the guarantee
    # Expected number of wrong decisions avoided, compared with mean scores, for each of `SHARES`
    gains: tuple[float, ...]
    lots: int  # number of papers that a random draw decides
    changed: float  # expected number of papers decided otherwise than by mean scores, ties aside
    accepted: float  # expected number of papers accepted

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
                "accepted": [choice.accepted for choice, _, _ in rows],
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
    cases, by_mean = conference.graded, np.array(conference.raw_accept)[:, None].repeat(2, axis=1)
    stated = _stacked_beliefs([case.belief for case in cases])
    beliefs = [_stacked_beliefs([case.belief_if(share) for case in cases]) for share in SHARES]
    wrong_raw = [float(unchecked_policy(by_mean).conference_error(belief).sum()) for belief in beliefs]
    choices = []
    for guarantee in guarantees:
        policy = private_policy(stated, guarantee)
        wrong = [float(policy.conference_error(belief).sum()) for belief in beliefs]
        gains = tuple(before - after for before, after in zip(wrong_raw, wrong, strict=True))
        chance = policy.accept
        lots = int(((chance > 0.0) & (chance < 1.0)).any(axis=1).sum())
        moved = by_mean * (1.0 - chance) + (1.0 - by_mean) * chance
        changed = float((stated.weight * decided_by_means(by_mean) * moved).sum())
        accepted = float((stated.weight * chance).sum())
        choices.append(LevelChoice(guarantee, gains, lots, changed, accepted))
    return LevelMenu(tuple(choices), tuple(wrong_raw), len(cases))


def _stacked_beliefs(beliefs: Sequence[Belief]) -> Belief:
    """The beliefs about all papers as instances of one; the level itself is the secret."""
    weight, favor = (np.array([getattr(one, name) for one in beliefs]) for name in ("weight", "favor"))
    return unchecked_belief(weight, favor)


_NOTHING_GAINED = (
    "to check: nothing is gained if everyone reviewed everything, if each person wrote one review, or if the "
    "same people reviewed together as fixed panels; then decide by the scores alone (public)"
)


@dataclass(frozen=True)
class LevelAnswer:
    """Whether calibration on this year's reviews is worth it, under one guarantee and under others.

    Attributes:
        chosen: The guarantee that was chosen, one of the menu's.
        menu: What each guarantee would gain, in papers of this conference.
        bar: The bar.
        reviews: Number of reviews.
        remarks: Remarks for the chair, in words.
        from_file: Whether another method made the evidence: the gains of the menu say nothing about it.
    """

    chosen: Guarantee
    menu: LevelMenu
    bar: LevelByTrack
    reviews: int
    remarks: tuple[str, ...]
    from_file: bool = False

    @property
    def choice(self) -> LevelChoice:
        """The chosen guarantee as the menu has it."""
        return self.menu.choice(self.chosen)


def _number_remark(menu: LevelMenu, request: Request) -> tuple[str, ...]:
    """What a share means for the number accepted: estimated qualities lie closer together than true ones."""
    expected, asked = menu.choice(request.guarantee).accepted, (request.accept_rate or 0.0) * menu.papers
    if request.accept_rate is None or abs(expected - asked) < 0.5:
        return ()
    return (
        f"a share sets the bar: about {expected:.0f} of {count(menu.papers, 'paper')} will be accepted, "
        f"where {100 * request.accept_rate:g} % are {asked:g}; if you need that many, give `accept` a number",
    )


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
    request = request.for_inputs(inputs)
    conference = request.prepared(inputs)[0] if prepared is None else prepared
    menu = level_menu(conference, with_chosen(request.guarantee, others))
    from_file = request.source == EVIDENCE_FILE
    check = () if from_file or request.guarantee.name == "public" else (_NOTHING_GAINED,)
    remarks = (*input_remarks(inputs, conference, request), *_number_remark(menu, request), *check)
    return LevelAnswer(request.guarantee, menu, conference.bar, len(inputs.reviews), remarks, from_file)
