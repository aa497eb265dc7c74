"""An exact number of papers: a `Quota`, and the share of the papers that it is, by which a bar is chosen.

How many are accepted is no part of a coin. It may be changed after the toss: every number accepted, every
split by track and every wait list is a function of the same private decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from blindcal.beliefs.conferences import Level
from blindcal.cells import count, id_problem
from blindcal.errors import InputError

Number = int | Mapping[str, int]
"""One number of papers, or one for each track."""
WHOLE = ""
"""What stands for the track where a conference is not divided."""


@dataclass(frozen=True)
class Quota:
    """How many papers are accepted, and how many are on the wait list: of the conference, or of each track.

    `accept` is a number of at least 1, or one for each track by its name, of which some may be 0; `wait_list`
    likewise, of at least 0. By default nobody waits.

    >>> Quota(50, 10).of(WHOLE), Quota({"main": 40, "short": 10}, {"main": 5}).of("short")
    ((50, 10), (10, 0))
    """

    accept: Number
    wait_list: Number = 0

    def __post_init__(self) -> None:
        for name, least in (("accept", 1), ("wait_list", 0)):
            _check_numbers(name, getattr(self, name), least)
        if isinstance(self.accept, Mapping):
            _check_names(self.accept)
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
        """The tracks that have numbers of their own; none where the conference is not divided."""
        return tuple(self.accept) if isinstance(self.accept, Mapping) else ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The tracks, or `WHOLE`."""
        return self.tracks or (WHOLE,)

    def of(self, track: str) -> tuple[int, int]:
        """How many papers of a track are accepted, and how many wait."""
        return _of(self.accept, track), _of(self.wait_list, track)

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


def _of(number: Number, track: str) -> int:
    return number.get(track, 0) if isinstance(number, Mapping) else number


def _check_numbers(name: str, value: Number, least: int) -> None:
    """Refuse what is no number of papers; of a single track all or none may be accepted."""
    numbers, least = (value, 0) if isinstance(value, Mapping) else ({WHOLE: value}, least)
    for track, one in numbers.items():
        if type(one) is not int or one < least:
            where = f" for track {track!r}" if isinstance(value, Mapping) else ""
            raise InputError(f"`{name}` must be whole numbers of at least {least}, found {one!r}{where}")


def _check_names(accept: Mapping[str, int]) -> None:
    if not accept:
        raise InputError("`accept` must have a number for at least one track")
    for track in accept:
        problem = id_problem(track)
        if problem is not None:
            raise InputError(f"`accept`: a track {problem[0]}, found {track!r}")


def shares(quota: Quota, tracks: Sequence[str]) -> Level:
    """The share of the papers that a quota accepts, of the conference or of each track that has papers;
    `tracks` has one entry for each paper. In some track there must be something to decide.

    >>> shares(Quota(1), [WHOLE] * 4), shares(Quota({"a": 1, "b": 1}), ["a", "b", "b", "a"])
    (0.25, {'a': 0.5, 'b': 0.5})
    """
    quota.check(tracks)
    papers = Counter(tracks)
    found = {group: quota.of(group)[0] / papers[group] for group in quota.groups if papers[group]}
    if all(share in (0.0, 1.0) for share in found.values()):
        what = "every paper of a track or none, in each track" if quota.tracks else "every paper"
        number = "" if quota.tracks else f" {papers[WHOLE]}"
        raise InputError(f"`accept`{number} is {what}: then there is nothing to decide")
    return found if quota.tracks else found[WHOLE]
