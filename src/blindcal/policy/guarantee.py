"""What a policy promises: six named guarantees, and the further limits that may go with them.

Each guarantee is one row of `GUARANTEES`, and each limit is one field of `Guarantee` with its `Limit`.
conference.toml, the command line, records, the certificate and its schema, and every sentence about a promise
read these rows. A new limit is a new row here, and its mathematics in `policy` and `certify`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from blindcal.checks import Array, check_scalar, strictly_within, within
from blindcal.errors import InputError

if TYPE_CHECKING:
    from blindcal.posterior.large_pools import LayoutTarget

# e^epsilon must be a float; so large a limit means none.
MOST_EPSILON = 700.0


@dataclass(frozen=True)
class GuaranteeKind:
    """A guarantee that has a name."""

    summary: str  # what it means, in a few words
    promise: str  # what it promises, as a sentence
    conditions: str = ""  # to whom and when that does not apply, if the sentence leaves it open
    limited: bool = True  # whether limits with a default go with it if a chair does not mention them
    # The limits that it cannot do without, and their values if a chair does not mention them
    needs: Mapping[str, float] = field(default_factory=dict)
    epsilon: float | None = None  # the epsilon that goes with it if none is given in Python


# An epsilon that was not given: it follows from the name of the guarantee.
_BY_NAME: Any = "by name"
_CROWD = (
    "For someone with only public information and the stated prior: after a decision, nobody listed by name "
    "is likelier than 1 in {among:g} to have written a given review. If the scores alone already made "
    "someone likelier than that, no decision makes anyone likelier than that person was."
)


GUARANTEES: Mapping[str, GuaranteeKind] = {
    "public": GuaranteeKind(
        "decisions reveal nothing new",
        "Decisions depend on public information alone, so to anyone who has that they reveal nothing new "
        "about who wrote which review.",
        limited=False,
    ),
    "steady": GuaranteeKind(
        "no decision makes the best guess likelier",
        "To someone with only public information, no decision makes the best guess of who wrote a review any "
        "likelier than it is from the scores alone.",
        epsilon=3.0,
    ),
    "crowd": GuaranteeKind(
        "no decision makes anyone likelier than 1 in so many",
        _CROWD,
        "Papers are taken as independent. A decision may raise an unlikely person up to the limit; a limit "
        "on odds (epsilon) restricts by what factor. A person's chance of having reviewed the paper can be "
        "up to the sum over its reviews. For co-reviewers, people who know how many papers each person "
        "reviewed, and people with other information, only a limit on odds holds.",
        needs={"among": 10},
        epsilon=3.0,
    ),
    "average": GuaranteeKind(
        "the best guess is no likelier on average",
        "To someone with only public information, decisions do not make the best guess of who wrote a review "
        "any likelier, on average over all reviews.",
        "Papers are taken as independent: to someone who knows how many papers each person reviewed, all "
        "decisions together may reveal far more.",
    ),
    "odds": GuaranteeKind(
        "no decision changes anyone's odds by more than a factor",
        "For someone who sees the scores, no single decision changes the odds about who reviewed what by "
        "more than a factor of {epsilon:factor}, whatever else they know.",
        needs={"epsilon": 3.0},
        epsilon=3.0,
    ),
    "none": GuaranteeKind(
        "full calibration",
        "There is no promise: decisions may reveal who wrote which review.",
        limited=False,
    ),
}
"""The guarantees by their names, in settings and in records."""
NAMES = tuple(GUARANTEES)


@dataclass(frozen=True)
class Limit:
    """A further limit of a guarantee.

    Its name is that of the field of `Guarantee`; records and certificates have the same name for ever, and
    settings have it with hyphens. Texts may quote values of the guarantee, like `{epsilon:factor}`.
    """

    default: float | None  # its value in settings that do not mention it
    low: float  # its lowest value
    high: float  # its highest value
    sentence: str  # what it limits, for chairs and for readers of the certificate's schema
    promise: str  # what it promises, as a sentence with its value
    example: float  # a value that shows how it is written
    inside: bool = False  # whether `low` and `high` are excluded
    whole: bool = False  # whether it is a whole number
    only_with: tuple[str, ...] = ()  # the guarantees that it may go with; empty: any
    replaces: str = ""  # the guarantee whose promise it replaces; empty: its promise is a further one
    bounds: str = ""  # the figure of a certificate that keeps it; empty if there is none
    # What it limits whatever an adversary believes, so that its figure depends on the table of accept
    # probabilities alone; empty if it depends on a prior
    prior_free: str = ""
    # What it limits also for someone who does not see the scores; empty if it does not
    without_scores: str = ""
    # Whether records name it even if it is absent. Coins depend on records, so a later limit must not appear
    # in those that are made without it.
    always_recorded: bool = False

    @property
    def removable(self) -> bool:
        """Whether a chair must say so to have no such limit."""
        return self.default is not None

    def check(self, name: str, value: Any, guarantee: str) -> None:
        """Refuse a value that it cannot have, or that another guarantee cannot have."""
        if value is None:
            return
        check_scalar(name, value)
        if self.whole and not isinstance(value, int):
            raise InputError(f"{name} must be a whole number, found {value!r}")
        (strictly_within if self.inside else within)(name, value, self.low, self.high)
        if self.only_with and guarantee not in self.only_with:
            named = " and ".join(self.only_with)
            raise InputError(f"{name} goes with the guarantee {named} only, found it with {guarantee}")


def _limit(default: Any, low: float, high: float, chair: float | None = None, **row: Any) -> Any:
    """A field of `Guarantee` with its row of the table of limits; `chair`: a default of settings alone."""
    set_by_chairs = default if chair is None else chair
    return field(default=default, metadata={"limit": Limit(set_by_chairs, low, high, **row)})


@dataclass(frozen=True)
class Guarantee:
    """What a policy may reveal, for a pair of papers or for every paper of a conference.

    `steady`, `crowd` and `odds`, which limit every single decision, come with an epsilon of 3 unless another
    is given, the others without one. (A conference.toml has an epsilon of 3 with `average` too, unless it
    says otherwise.) The fields after the name are further limits for every paper; None means no limit.

    Attributes:
        name: `public`: decide by public information alone, so that decisions reveal nothing more to anyone
            who knows scores, pools and calibration, whatever else they know; `steady`: no decision makes the
            best guess about a review's writer likelier; `crowd`: no decision makes anyone likelier than 1 in
            `among`, or than the best guess from the scores alone; `average`: the best guess is no likelier on
            average over the two outcomes, which is zero added success; `odds`: no decision changes anyone's
            odds by more than a factor of e^epsilon, whatever they know; `none`: full calibration.
        epsilon: The most by which the logarithm of an outcome's chance may differ between two secrets.
        multiplier: The factor, from 1 to 2, by which anyone's best guess may gain at most, whatever they
            know.
        posterior_cap: The most, from 0 to 1, that the chance of any guess may be after the decision.
        never_against: A tuple of reviewers whose evidence for one side is at least this, strictly between 1/2
            and 1, is always decided that way; None: any may be decided against.
        among: The size of the crowd, 10 by default with `crowd`. With `average` both promises hold: that of
            the crowd after every decision, and that of `average`.

    Raises:
        InputError: The name is unknown, or a limit is out of its range.

    Example:
        >>> Guarantee()
        Guarantee(name='crowd', epsilon=3.0, multiplier=None, posterior_cap=None, never_against=None,
                  among=10)
        >>> Guarantee("steady").limits, Guarantee("average").limits, Guarantee("none").limits
        ({'epsilon': 3.0}, {}, {})
    """

    # The default follows from what each guarantee keeps and reveals: studies/committees.py.
    name: str = "crowd"
    epsilon: float | None = _limit(
        _BY_NAME,
        chair=3.0,
        low=0.0,
        high=MOST_EPSILON,
        bounds="epsilon",
        prior_free="odds",
        example=2.0,
        sentence="No decision changes anyone's odds between two assignments of a paper by more than a factor "
        "of e to this.",
        promise="Whatever someone already suspects, no single decision changes their odds by more than a "
        "factor of {epsilon:factor}.",
        always_recorded=True,
    )
    multiplier: float | None = _limit(
        None,
        low=1.0,
        high=2.0,
        bounds="multiplier",
        prior_free="a correct guess",
        example=1.5,
        sentence="No decision makes a correct guess likelier by more than this factor, on average over its "
        "outcomes.",
        promise="Whatever someone already suspects, a correct guess becomes at most {multiplier:g} times as "
        "likely.",
        always_recorded=True,
    )
    posterior_cap: float | None = _limit(
        None,
        low=0.0,
        high=1.0,
        bounds="largest_posterior",
        without_scores="a limit on how sure anyone can be",
        example=0.8,
        sentence="No decision leaves anyone likelier than this to have written a review.",
        promise="No decision leaves anyone more than {posterior_cap:percent} likely to have written a "
        "review.",
        always_recorded=True,
    )
    never_against: float | None = _limit(
        None,
        low=0.5,
        high=1.0,
        inside=True,
        example=0.95,
        sentence="No paper is decided against evidence at least this strong.",
        promise="No paper is decided against evidence of {never_against:percent} or stronger, unless it is "
        "decided again: then it goes by public information alone.",
        always_recorded=True,
    )
    among: int | None = _limit(
        None,
        low=2,
        high=1_000_000,
        whole=True,
        only_with=("crowd", "average"),
        replaces="crowd",
        example=10,
        sentence="No decision leaves anyone likelier than 1 in this many to have written a review, unless "
        "the scores alone already made someone likelier.",
        promise=_CROWD,
    )

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise InputError(f"`guarantee` must be one of {', '.join(NAMES)}, found {self.name!r}")
        if self.epsilon is _BY_NAME:
            object.__setattr__(self, "epsilon", GUARANTEES[self.name].epsilon)
        for name, value in GUARANTEES[self.name].needs.items():
            if getattr(self, name) is None:
                if LIMITS[name].default is not None:
                    raise InputError(f"`{name}` must be a number with `guarantee` {self.name}, found None")
                object.__setattr__(self, name, value)
        for name, limit in LIMITS.items():
            limit.check(f"`{name}`", getattr(self, name), self.name)

    @property
    def limits(self) -> dict[str, float]:
        """The limits that there are, by their names.

        Example:
            >>> Guarantee(posterior_cap=0.8).limits
            {'epsilon': 3.0, 'posterior_cap': 0.8, 'among': 10}
        """
        values = {name: getattr(self, name) for name in LIMITS}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def recorded(self) -> dict[str, float | None]:
        """The limits as coins and records have them.

        Example:
            >>> list(Guarantee().recorded.values())
            [3.0, None, None, None, 10]
        """
        values = {name: getattr(self, name) for name in LIMITS}
        return {k: v for k, v in values.items() if v is not None or LIMITS[k].always_recorded}

    @classmethod
    def from_record(cls, name: str, limits: Mapping[str, Any]) -> Guarantee:
        """The guarantee of this `name` with the `limits` that a record or a certificate has.

        Example:
            >>> Guarantee.from_record("steady", {"multiplier": 1.5}).epsilon is None
            True
        """
        return cls(name, **{key: limits.get(key) for key in LIMITS})

    @property
    def figure_limits(self) -> dict[str, float]:
        """The most that each figure of a certificate can be, by the limits; the scores alone may give more.

        >>> Guarantee("crowd", among=10).figure_limits
        {'epsilon': 3.0, 'largest_posterior': 0.1}
        """
        kept = {LIMITS[name].bounds: value for name, value in self.limits.items() if LIMITS[name].bounds}
        if self.among is not None:
            kept["largest_posterior"] = min(1.0 / self.among, kept.get("largest_posterior", 1.0))
        return kept

    @property
    def capped(self) -> bool:
        """Whether the chance of a candidate is limited after each single decision."""
        return self.name == "steady" or self.among is not None or self.posterior_cap is not None

    def caps(self, tops: Array) -> Array:
        """The most that anyone may be likely after a decision, from the likeliest by the scores alone.

        `tops` has a number for each review, or for each of many; no cap is below it, because no decision
        could keep that.

        >>> Guarantee("crowd", among=10).caps(np.array([0.04, 0.25]))
        array([0.1 , 0.25])
        """
        caps = tops if self.name == "steady" else np.ones_like(tops)
        if self.among is not None:
            caps = np.maximum(tops, 1.0 / self.among)
        if self.posterior_cap is not None:
            caps = np.minimum(caps, np.maximum(tops, self.posterior_cap))
        return caps

    @property
    def promise(self) -> LayoutTarget:
        """What the tables of large pools are laid out for."""
        # Without large pools, guarantees load quickly.
        from blindcal.posterior.large_pools import LayoutTarget

        # A crowd is steady with caps that are no lower than one in so many.
        name = "steady" if self.name == "crowd" else self.name
        least = 0.0 if self.among is None else 1.0 / self.among
        return LayoutTarget(name, float(np.diff(self.corners).max()), least)

    @property
    def corners(self) -> Array:
        """Corners `[corner, (low, high)]` of the region that the limits leave to the range of a policy.

        epsilon: `high <= e^eps low` and `1-low <= e^eps (1-high)`, a triangle between the two constants and
        randomized response; multiplier: `high - low <= multiplier - 1` cuts its tip off.

        Example:
            >>> Guarantee(epsilon=None).corners.tolist()
            [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
            >>> Guarantee(epsilon=0.0).corners.tolist()
            [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]
        """
        low = 0.0 if self.epsilon is None else 1.0 / (1.0 + exp(self.epsilon))
        reject, accept, tip = np.array([[0.0, 0.0], [1.0, 1.0], [low, 1.0 - low]])
        widest = 1.0 - 2.0 * low
        if self.multiplier is None or widest <= self.multiplier - 1.0:
            return np.array([reject, accept, tip])
        cut = (self.multiplier - 1.0) / widest
        return np.array([reject, accept, (1 - cut) * accept + cut * tip, cut * tip])


LIMITS: Mapping[str, Limit] = {
    row.name: row.metadata["limit"] for row in fields(Guarantee) if "limit" in row.metadata
}
"""The further limits by their names, in the order of records."""
PUBLIC = Guarantee("public", epsilon=None)
"""The same decision for all possible reviewers: nothing is revealed to anyone."""
UNLIMITED = Guarantee("none", epsilon=None)
"""Full calibration."""
