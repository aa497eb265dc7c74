"""What a chair requests: a guarantee, how many papers to accept, and which end of the scale is better.

A `Quota` is an exact number of papers, of the conference or of each track. Every number accepted, every split
by track and every wait list is a function of the same private decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blindcal.checks import check_scalar, check_type
from blindcal.compute.parallel import Progress, Workers, no_progress
from blindcal.errors import InputError
from blindcal.io.cells import count, id_problem
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, LevelByTrack, Truth, paper_tracks
from blindcal.posterior.inputs import PAST, Inputs, check_inputs
from blindcal.posterior.this_year_evidence import SHARE, LevelModel, check_share
from blindcal.posterior.this_year_inputs import EVIDENCE_FILE, THIS_YEAR, ThisYearInputs
from blindcal.reviews import check_better

Number = int | Mapping[str, int]
"""One number of papers, or one for each track."""
WHOLE = ""
"""What stands for the track if a conference is not divided."""


@dataclass(frozen=True)
class Quota:
    """How many papers are accepted, and how many wait: of the conference, or of each track.

    Attributes:
        accept: A number of at least 1, or one for each track by its name, of which some may be 0.
        wait_list: The same for papers on the wait list, at least 0.

    Raises:
        InputError: A number is too small, or the two are about different tracks.

    Example:
        >>> Quota(50, 10).of(WHOLE), Quota({"main": 40, "short": 10}, {"main": 5}).of("short")
        ((50, 10), (10, 0))
    """

    accept: Number
    wait_list: Number = 0

    def __post_init__(self) -> None:
        for name, least in (("accept", 1), ("wait_list", 0)):
            _check_paper_counts(name, getattr(self, name), least)
        if isinstance(self.accept, Mapping):
            if not self.accept:
                raise InputError("`accept` must have a number for at least one track")
            for track in self.accept:
                if (problem := id_problem(track)) is not None:
                    raise InputError(f"`accept`: a track {problem[0]}, found {track!r}")
            if not any(self.accept.values()):
                raise InputError("`accept` must be at least 1 in some track, found 0 in each")
        if isinstance(self.wait_list, Mapping) and set(self.wait_list) - set(self.tracks):
            raise InputError("`wait_list` must be about the tracks of `accept`")
        if self.tracks and self.wait_list and not isinstance(self.wait_list, Mapping):
            raise InputError("`wait_list` must have one number for each track, as `accept` has")
        if isinstance(self.wait_list, Mapping):
            # One way to say that nobody waits.
            some = {track: number for track, number in self.wait_list.items() if number}
            object.__setattr__(self, "wait_list", some or 0)

    @property
    def tracks(self) -> tuple[str, ...]:
        """The tracks that have numbers of their own; none if the conference is not divided."""
        return tuple(self.accept) if isinstance(self.accept, Mapping) else ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The tracks, or `WHOLE`."""
        return self.tracks or (WHOLE,)

    def of(self, track: str) -> tuple[int, int]:
        """How many papers of a track are accepted, and how many wait."""
        numbers = (self.accept, self.wait_list)
        accept, wait = (one.get(track, 0) if isinstance(one, Mapping) else one for one in numbers)
        return accept, wait

    def check(self, tracks: Iterable[str]) -> None:
        """Refuse more places than there are papers; `tracks` has one entry for each paper."""
        papers = Counter(tracks)
        for group in self.groups:
            if sum(self.of(group)) > papers[group]:
                where = f" in track {group!r}" if group else ""
                more = f" and {self.of(group)[1]} on the wait list" if self.of(group)[1] else ""
                raise InputError(
                    f"`accept` {self.of(group)[0]}{more}: there {'is' if papers[group] == 1 else 'are'} only "
                    f"{count(papers[group], 'paper')}{where}"
                )


def _check_paper_counts(name: str, value: Number, least: int) -> None:
    """Refuse what is no number of papers; of a single track all or none may be accepted."""
    numbers, least = (value, 0) if isinstance(value, Mapping) else ({WHOLE: value}, least)
    for track, number in numbers.items():
        if type(number) is not int or number < least:
            where = f" for track {track!r}" if isinstance(value, Mapping) else ""
            raise InputError(f"`{name}` must be whole numbers of at least {least}, found {number!r}{where}")


def shares(quota: Quota, tracks: Sequence[str]) -> LevelByTrack:
    """The share of the papers that a quota accepts, of the conference or of each track that has papers.

    `tracks` has one entry for each paper. In some track there must be something to decide.
    """
    quota.check(tracks)
    papers = Counter(tracks)
    accepted = {group: quota.of(group)[0] / papers[group] for group in quota.groups if papers[group]}
    if all(share in (0.0, 1.0) for share in accepted.values()):
        what = "every paper of a track or none, in each track" if quota.tracks else "every paper"
        number = "" if quota.tracks else f" {papers[WHOLE]}"
        raise InputError(f"`accept`{number} is {what}: then there is nothing to decide")
    return accepted if quota.tracks else accepted[WHOLE]


SOURCES = (PAST, THIS_YEAR, EVIDENCE_FILE)
"""Where evidence comes from: a calibration, the reviews themselves, or another method."""
SCORES = ("public", "confidential")
"""Who may see the scores of all papers: everyone, or the committee alone."""
RELEASES = ("decisions", "advice")
"""What goes out: decisions, or advice for a meeting that decides, relative to mean scores."""
# Of shift and stretch: more would name a fit exactly.
_DIGITS = 4


@dataclass(frozen=True)
class Request:
    """What a chair requests, with one of `accept_rate`, `bar` and `accept`.

    It is frozen with the first release: later releases may only change data.

    Attributes:
        guarantee: What the decision on every paper must keep.
        conference: Its name in the ledger; releases of one name belong together.
        accept_rate: A share of the papers, between 0 and 1; the bar is where full calibration accepts that
            many.
        bar: The quality from which accepting is right; qualities have mean 0 and standard deviation 1.
        better: Which end of the scale of scores is the better one, "high" or "low".
        accept: Exactly this many papers are accepted: one number, or one for each track.
        wait_list: How many more may follow them, in the same form.
        scale: Shift and stretch of the calibration; not requested but taken from it when it is used.
        scores: "public" if readers of the public files may see the scores of all papers, else
            "confidential".
        source: Where evidence comes from: "past", a calibration from elsewhere; "this-year", the reviews
            themselves; "file", another method. Not requested but taken from the inputs when they are used.
        strictness_share: The part of the scores' disagreement that is taken as strictness if the reviews are
            calibrated on themselves: .15, .25, .35 or .5. The scores cannot tell which is right.
        people: How many people reviewed, likewise; None: five reviews each.
        release: What goes out: "decisions", or "advice" for people who decide by it: to raise, lower or leave
            what mean scores say. Decisions then stay in the private log.

    Example:
        >>> Request(Guarantee("steady", epsilon=2.0), "icx2027", accept_rate=0.25).checked().quota is None
        True
        >>> Request(Guarantee("average"), accept={"main": 40, "short": 10}).quota.tracks
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
    source: str = PAST
    strictness_share: float = SHARE
    people: int | None = None
    release: str = "decisions"

    @property
    def quota(self) -> Quota | None:
        """How many papers exactly; None if the private decisions are published as they are."""
        return None if self.accept is None else Quota(self.accept, self.wait_list)

    @property
    def settings(self) -> dict[str, Any]:
        """The request as it enters the coins and the record, under names that never change.

        It is without the exact number of papers: no coin depends on that.
        """
        acceptance = {"accept_rate": self.accept_rate, "bar": self.bar, "better": self.better}
        # Releases made before it had no such setting.
        moved = {} if self.scale is None else {"scale": list(self.scale)}
        # Settings of another source say nothing here.
        own = {"strictness_share": self.strictness_share, "people": self.people}
        evidence = {} if self.source == PAST else {"source": self.source, **own}
        guarantee = {"guarantee": self.guarantee.name, **self.guarantee.recorded}
        return {**guarantee, **acceptance, **moved, **evidence}

    def for_inputs(self, inputs: Inputs | ThisYearInputs) -> Request:
        """The same request for these inputs, checked: their source, and how their calibration was moved."""
        request = self.checked()
        if isinstance(inputs, ThisYearInputs):
            _refuse_limits_on_candidates(self.guarantee)
            return replace(request, source=inputs.source, scale=None)
        moved, scale = inputs.scale, None
        if moved is not None:
            scale = round(moved.shift, _DIGITS), round(moved.stretch, _DIGITS)
        return replace(request, source=PAST, scale=scale)

    def checked(self) -> Request:
        """The same request, or an `InputError` if it does not say what to do."""
        if not isinstance(self.guarantee, Guarantee):
            raise InputError(f"`guarantee` must be like Guarantee('steady'), found {self.guarantee!r}")
        if not isinstance(self.conference, str):
            raise InputError(
                f"`conference` must be a name, found {self.conference!r}: is it a number that "
                "belongs to `accept_rate` or `bar`?"
            )
        for name, number in (("`accept_rate`", self.accept_rate), ("`bar`", self.bar)):
            if number is not None:
                check_scalar(name, number)
        choices = sum(choice is not None for choice in (self.accept_rate, self.bar, self.accept))
        if choices != 1:
            raise InputError(f"give {'only ' if choices else ''}one of `accept_rate`, `accept` and `bar`")
        if self.quota is None and self.wait_list:
            raise InputError("`wait_list` goes with `accept`: without it papers are decided one by one")
        if not self.conference:
            raise InputError("`conference` must not be empty: give a name, or leave it out")
        check_better(self.better)
        known_readers(self.scores)
        if self.release not in RELEASES:
            raise InputError(f"`release` must be one of {', '.join(RELEASES)}, found {self.release!r}")
        check_share(self.strictness_share)
        if self.people is not None and (type(self.people) is not int or self.people < 1):
            raise InputError(f"`people` must be a whole number of at least 1, found {self.people!r}")
        return self

    def prepared(
        self,
        inputs: Inputs | ThisYearInputs,
        frozen: LevelByTrack | None = None,
        *,
        model: LevelModel | None = None,
        standing: Mapping[str, int] | None = None,
        workers: Workers = 1,
        progress: Progress = no_progress,
    ) -> tuple[Conference, Truth]:
        """The public side of these inputs, and what is true.

        An earlier release's `frozen` bar replaces the one that was requested, and so do its `model`, if the
        reviews are calibrated on themselves, and its `standing` levels of evidence from another method.
        """
        rate, bar = self.levels(inputs) if frozen is None else (None, frozen)
        if isinstance(inputs, ThisYearInputs):
            return inputs.prepared(
                accept_rate=rate,
                bar=bar,
                exact=self.accept is not None,
                better=self.better,
                strictness_share=self.strictness_share,
                people=self.people,
                model=model,
                standing=standing,
            )
        better = self.better
        return inputs.prepared(accept_rate=rate, bar=bar, better=better, workers=workers, progress=progress)

    def levels(self, inputs: Inputs | ThisYearInputs) -> tuple[LevelByTrack | None, LevelByTrack | None]:
        """The share of these papers to accept, or None and the bar."""
        if (quota := self.quota) is None:
            return self.accept_rate, self.bar
        return shares(quota, _track_of_each_paper(inputs, quota)), self.bar


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
    check_type("request", request, Request)


def recorded_request(
    conference: str,
    settings: Mapping[str, Any],
    selection: Mapping[str, Any] | None = None,
    scores: str = "public",
    release: str = "decisions",
) -> Request:
    """The request that a record with these settings was made for; the other arguments are a record's, too."""
    guarantee = Guarantee.from_record(settings["guarantee"], settings)
    acceptance = settings["accept_rate"], settings["bar"], settings["better"]
    scale, quota = settings.get("scale"), selection or {"accept": None, "wait_list": 0}
    return Request(
        guarantee,
        conference,
        *acceptance,
        quota["accept"],
        quota["wait_list"],
        None if scale is None else (scale[0], scale[1]),
        scores,
        settings.get("source", PAST),
        settings.get("strictness_share", SHARE),
        settings.get("people"),
        release,
    )


def _refuse_limits_on_candidates(guarantee: Guarantee) -> None:
    """Refuse a guarantee that is about candidates if there are none."""
    named = guarantee.name in ("crowd", "steady", "average")
    if named or guarantee.capped:
        what = guarantee.name if named else "posterior_cap"
        raise InputError(
            f"`{what}` limits how likely anyone becomes, so it needs to know who may have reviewed what and "
            "how they score: a committee and past reviews (`past`), or a calibration (`reviewers`) and "
            "`pools`. Without these there are the guarantees odds and public"
        )


def _track_of_each_paper(inputs: Inputs | ThisYearInputs, quota: Quota) -> list[str]:
    """The track of each paper, if the quota has several."""
    if quota.tracks and inputs.reviews.track is None:
        raise InputError(f"`accept` is by track, and {inputs.sources.reviews} has no column track")
    tracks = paper_tracks(inputs.reviews)
    return [tracks[paper] if quota.tracks else WHOLE for paper in inputs.reviews.papers]
