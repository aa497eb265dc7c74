"""What the chair requested: the guarantee, how many papers, which end of the scale is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from blindcal.beliefs.inputs import check_inputs
from blindcal.checks import one_number
from blindcal.errors import InputError
from blindcal.fitting.scales import Scale
from blindcal.orientations import known_end
from blindcal.policies.guarantees import Guarantee

# The names of settings in coins and records never change, whatever they are called here.
_WIRE = {
    "name": "guarantee",
    "added_success": "added_success",
    "epsilon": "epsilon",
    "multiplier": "multiplier",
    "posterior_cap": "posterior_cap",
    "never_against": "never_against",
}
# Of shift and stretch: more would name a fit exactly.
_DIGITS = 4


@dataclass(frozen=True)
class Request:
    """What the chair requested. It is frozen with the first release: later ones may only change data.

    `scale`, shift and stretch of the calibration, is not requested but taken from it when it is used.
    """

    guarantee: Guarantee
    conference: str = "conference"
    accept_rate: float | None = None
    bar: float | None = None
    better: str = "high"
    scale: tuple[float, float] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """As it enters the coins and the record, under names that never change."""
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
        if self.accept_rate is None and self.bar is None:
            raise InputError("give either `accept_rate` or `bar`")
        if self.accept_rate is not None and self.bar is not None:
            raise InputError("give either `accept_rate` or `bar`, not both")
        if not self.conference:
            raise InputError("`conference` must not be empty: give a name, or leave it out")
        known_end(self.better)
        return self


def check_types(inputs: object, request: object) -> None:
    """Refuse arguments in the wrong place: paths for inputs, a guarantee or a plan for a request."""
    check_inputs(inputs)
    if not isinstance(request, Request):
        raise InputError(f"request must be a Request, found {type(request).__name__}")


def recorded_request(conference: str, settings: Mapping[str, Any]) -> Request:
    """The request that a record with these settings was made for."""
    limits = {name: settings[wire] for name, wire in _WIRE.items()}
    scale = settings.get("scale")
    return Request(
        Guarantee(**limits),
        conference,
        settings["accept_rate"],
        settings["bar"],
        settings["better"],
        None if scale is None else (scale[0], scale[1]),
    )
