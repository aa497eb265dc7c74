"""What the chair requested: the guarantee, how many papers, which end of the scale is better; and the
conference that it is about, with the bar that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from blindcal.beliefs.conferences import Conference, Level, Truth, tracks_of
from blindcal.beliefs.inputs import Inputs, check_inputs
from blindcal.checks import of_type, one_number
from blindcal.errors import InputError
from blindcal.fitting.scales import Scale
from blindcal.orientations import known_end
from blindcal.plans.quotas import WHOLE, Number, Quota, shares
from blindcal.policies.guarantees import Guarantee
from blindcal.workers import Progress, Workers, silent

# The names of settings in coins and records never change, whatever they are called here.
_WIRE = {
    "name": "guarantee",
    "added_success": "added_success",
    "epsilon": "epsilon",
    "multiplier": "multiplier",
    "posterior_cap": "posterior_cap",
    "never_against": "never_against",
}
SCORES = ("public", "confidential")
"""Who may see the scores of all papers: everyone, or the committee alone."""
# Of shift and stretch: more would name a fit exactly.
_DIGITS = 4


@dataclass(frozen=True)
class Request:
    """What the chair requested, with one of `accept_rate`, `bar` and `accept`. It is frozen with the first
    release: later ones may only change data, and `select` the numbers `accept` and `wait_list`.

    `guarantee`: what the decision on every paper must keep.
    `conference`: its name in the ledger; releases of one name belong together.
    `accept_rate`: a share of the papers, between 0 and 1; the bar is where full calibration accepts that
    many.
    `bar`: the quality from which accepting is right, where qualities have mean 0 and standard deviation 1.
    `better`: which end of the scale of scores is the better one, "high" or "low".
    `accept`: exactly this many papers are accepted: one number, or one for each track.
    `wait_list`: how many more may follow them, in the same form.
    `scale`: shift and stretch of the calibration; not requested but taken from it when it is used.
    `scores`: whether readers of the public files may see the scores of all papers, "public" (by default: say
    so if they may not) or "confidential".

    >>> Request(Guarantee("steady", epsilon=2.0), "icx2027", accept_rate=0.25).checked().quota is None
    True
    >>> Request(Guarantee("average"), accept={"main": 40, "short": 10}, wait_list={"main": 5}).quota.tracks
    ('main', 'short')
    """

    guarantee: Guarantee
    conference: str = "conference"
    accept_rate: float | None = None
    bar: float | None = None
    better: str = "high"
    accept: Number | None = None
    wait_list: Number = 0
    scale: tuple[float, float] | None = None
    scores: str = "public"

    @property
    def quota(self) -> Quota | None:
        """How many papers exactly; None where as many are accepted as the private decisions accept."""
        return None if self.accept is None else Quota(self.accept, self.wait_list)

    @property
    def settings(self) -> dict[str, Any]:
        """As it enters the coins and the record, under names that never change. How many papers are accepted
        exactly is not in it: no coin depends on that."""
        limits = {wire: getattr(self.guarantee, name) for name, wire in _WIRE.items()}
        asked = {"accept_rate": self.accept_rate, "bar": self.bar, "better": self.better}
        # Releases made before it had no such setting.
        moved = {} if self.scale is None else {"scale": list(self.scale)}
        return {**limits, **asked, **moved}

    def on_scale(self, scale: Scale | None) -> Request:
        """The same for a calibration that was moved like this."""
        moved = None if scale is None else (round(scale.shift, _DIGITS), round(scale.stretch, _DIGITS))
        return replace(self, scale=moved)

    def checked(self) -> Request:
        """The same, or an `InputError` where it does not say what to do."""
        if not isinstance(self.guarantee, Guarantee):
            raise InputError(f"`guarantee` must be like Guarantee('steady'), found {self.guarantee!r}")
        if not isinstance(self.conference, str):
            raise InputError(
                f"`conference` must be a name, found {self.conference!r}: is it a number that "
                "belongs to `accept_rate` or `bar`?"
            )
        for name, number in (("`accept_rate`", self.accept_rate), ("`bar`", self.bar)):
            if number is not None:
                one_number(name, number)
        given = [one for one in (self.accept_rate, self.bar, self.accept) if one is not None]
        if not given:
            raise InputError("give one of `accept_rate`, `accept` and `bar`")
        if len(given) > 1:
            raise InputError("give only one of `accept_rate`, `accept` and `bar`")
        if self.accept is None and self.wait_list:
            raise InputError("`wait_list` goes with `accept`: without it papers are decided one by one")
        if self.accept is not None:
            Quota(self.accept, self.wait_list)
        if not self.conference:
            raise InputError("`conference` must not be empty: give a name, or leave it out")
        known_end(self.better)
        known_readers(self.scores)
        return self

    def prepared(
        self,
        inputs: Inputs,
        frozen: Level | None = None,
        *,
        workers: Workers = 1,
        progress: Progress = silent,
    ) -> tuple[Conference, Truth]:
        """The public side of these inputs with the bar that was requested, or that an earlier release has
        `frozen`; and the true reviewers."""
        quota = self.quota
        rate: Level | None = self.accept_rate
        bar: Level | None = self.bar
        if frozen is not None:
            rate, bar = None, frozen
        elif quota is not None:
            rate = shares(quota, _groups(inputs, quota))
        return inputs.prepared(
            accept_rate=rate, bar=bar, better=self.better, workers=workers, progress=progress
        )


def known_readers(scores: str | None) -> str:
    """`scores` if it says who may see the scores: `public` or `confidential`."""
    if scores not in SCORES:
        raise InputError(
            f"`scores` must be public or confidential, found {scores or 'neither'}. public: everyone may see "
            "the scores of all papers, and figures that depend on them are published with the decisions. "
            "confidential: only the decisions and what was promised are published, and the promise says what "
            "holds for readers who do not see the scores"
        )
    return scores


def check_types(inputs: object, request: object) -> None:
    """Refuse arguments in the wrong place: paths for inputs, a guarantee or a plan for a request."""
    check_inputs(inputs)
    of_type("request", request, Request)


def recorded_request(
    conference: str,
    settings: Mapping[str, Any],
    selection: Mapping[str, Any] | None = None,
    scores: str = "public",
) -> Request:
    """The request that a record with these settings, this selection and such `scores` was made for."""
    limits = {name: settings[wire] for name, wire in _WIRE.items()}
    ends = settings["accept_rate"], settings["bar"], settings["better"]
    scale, exactly = settings.get("scale"), selection or {"accept": None, "wait_list": 0}
    moved = None if scale is None else (scale[0], scale[1])
    return Request(
        Guarantee(**limits), conference, *ends, exactly["accept"], exactly["wait_list"], moved, scores
    )


def _groups(inputs: Inputs, quota: Quota) -> list[str]:
    """The track of each paper, where the quota has several."""
    if quota.tracks and inputs.reviews.track is None:
        raise InputError(f"`accept` is by track, and {inputs.sources.reviews} has no column track")
    tracks = tracks_of(inputs.reviews)
    return [tracks[paper] if quota.tracks else WHOLE for paper in inputs.reviews.papers]
