"""Numbers and guarantees as people say them: one wording for the command line and for every page.

`fill` puts values into the sentences that `policy.guarantee` and `deciding.certificate_fields` declare, in
the forms of `written`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import exp, floor, inf, isinf
from operator import getitem
from string import Formatter
from typing import Any

from blindcal.cells import count, number_text
from blindcal.deciding.certificate_fields import ROUNDING
from blindcal.planning.request import Quota
from blindcal.policy.guarantee import GUARANTEES, LIMITS, Guarantee

UNSEEN = (
    "To someone who does not see the scores, each decision says something about them, and through them about "
    "reviewers; such a person still names reviewers no more often than someone who sees the scores too."
)
"""What holds for readers of decisions whose scores are confidential."""
VERDICTS = {
    "worth it": "calibrating from these reviews alone (hierarchical) helps",
    "worth it with history": "these reviews say too little about the reviewers; knowing them would help",
    "not worth it": "too little would change, or the data do not bear it out: use the raw means",
    "unclear": "no reviewer has two reviews, so reviewers' habits cannot be separated from noise",
}
"""What each verdict on calibrating means."""
SOURCES = {
    "quality": "papers' quality",
    "offset": "reviewers' leniency (offset)",
    "slope": "reviewers' use of the scale (slope)",
    "noise": "noise",
}
"""What makes scores differ, as a fit finds it."""
# Odds that grow beyond this are said to be unlimited.
_MOST = 1e6


def percent(share: float, error: float = 0.0) -> str:
    """A share in percent, with its standard error if it has one; a loss too small to be shown is none.

    >>> percent(0.3066), percent(0.125, 0.0034), percent(-0.0001)
    ('30.7 %', '12.5 +- 0.34 %', '0.0 %')
    """
    beside = f" +- {100 * error:.2f}" if error > 0.0 else ""
    return f"{round(100 * share, 1) + 0.0:.1f}{beside} %"


def expected(number: float) -> str:
    """An expected number of papers.

    >>> expected(15.91), expected(0.02), expected(0.0), expected(1591.2)
    ('15.9', 'fewer than 0.1', '0', '1,591')
    """
    if 0.0 < number < 0.05:
        return "fewer than 0.1"
    return "0" if number == 0.0 else f"{number:,.0f}" if number >= 1000 else f"{number:.1f}"


def about(number: float) -> str:
    """An expected number of papers, in a letter.

    >>> about(15.91), about(22.5), about(1.42), about(0.0)
    ('about 16', 'about 23', '1.4', '0')
    """
    return f"about {floor(number + 0.5):,}" if number >= 3 else expected(number)


def factor(epsilon: float) -> str:
    """By how many times odds may change if they change by up to e^`epsilon`.

    >>> factor(2.0), factor(0.0), factor(float("inf"))
    ('7.4', '1', 'any number of')
    """
    grown = exp(epsilon) if epsilon < 20 else inf
    return "any number of" if grown > _MOST else f"{grown:.1f}".removesuffix(".0")


def after_odds(before: float, epsilon: float) -> float:
    """The most that a suspicion can become by one decision that changes odds by up to e^epsilon.

    `before` is the suspicion, a probability; so is what is returned. `epsilon` may be infinite.

    >>> round(after_odds(0.5, 2.0), 3), after_odds(0.1, float("inf"))
    (0.881, 1.0)
    """
    if isinf(epsilon):
        return 1.0
    return before / (before + (1.0 - before) * exp(-epsilon))


def points(share: float) -> str:
    """A difference of two shares, `share` being at least 0, in percentage points.

    >>> points(0.0), points(0.0123), points(1e-12)
    ('0 points', '1.23 points', 'less than 0.01 points')
    """
    if share == 0.0:
        return "0 points"
    return f"{100 * share:.2f} points" if share >= 5e-5 else "less than 0.01 points"


def written(value: Any, form: str) -> str:
    """A `value` in the `form` in which people write it; a form that is not one of these is Python's.

    >>> written(0.25, "percent"), written(0.01, "hundred point"), written(3, "count paper")
    ('25.0 %', '1 point', '3 papers')
    """
    name, _, thing = form.partition(" ")
    match name:
        case "count":
            return count(value, thing)
        case "hundred":
            return f"{100 * value:g} {thing}{'s' * (100 * value != 1)}"
        case "after":
            return f"{100 * after_odds(float(thing) / 100, value):.0f}"
        case "range":
            return " to ".join(dict.fromkeys(map(number_text, value)))
    return _FORMS[name](value) if name in _FORMS else format(value, form)


class _Sentence(Formatter):
    """A sentence with places like `{pools.people:,}`: the path of a value, and its form."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        return reduce(getitem, field_name.split("."), kwargs), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        return written(value, format_spec)


def fill(sentence: str, values: Mapping[str, Any]) -> str:
    """A `sentence` with `values` in the places that name them.

    >>> fill("{pools.people:,} people, odds times {epsilon:factor}", {"pools": {"people": 3}, "epsilon": 2})
    '3 people, odds times 7.4'
    """
    return _Sentence().vformat(sentence, (), values)


def guarantee_words(guarantee: Guarantee) -> str:
    """A guarantee in words.

    >>> guarantee_words(Guarantee("average", added_success=0.01, epsilon=None))
    'average, up to 1 percentage point more reviewers named'
    >>> guarantee_words(Guarantee("public", epsilon=None, never_against=0.95))
    'public, never against 0.95'
    """
    summaries = [
        fill(LIMITS[name].summary or f"{name.replace('_', ' ')} {{{name}:g}}", guarantee.limits)
        for name in guarantee.limits
    ]
    if not summaries:
        return f"{guarantee.name}: {GUARANTEES[guarantee.name].summary}"
    return ", ".join([guarantee.name, *summaries])


def promises(guarantee: Guarantee, *, hidden: bool = False) -> list[str]:
    """What a guarantee and its limits promise, a sentence each; to whom, if scores are `hidden` from readers.

    >>> print(promises(Guarantee("steady", epsilon=2.0))[1])
    Whatever someone already suspects, no single decision changes their odds by more than a factor of 7.4.
    """
    own = [name for name in guarantee.limits if LIMITS[name].replaces == guarantee.name]
    promised = [LIMITS[name].promise for name in own] or [GUARANTEES[guarantee.name].promise]
    promised += [LIMITS[name].promise for name in guarantee.limits if name not in own]
    sentences = [fill(sentence, guarantee.limits) for sentence in promised]
    if not hidden or guarantee.name == "none":
        return sentences
    return [f"For someone who sees all scores: {one[0].lower()}{one[1:]}" for one in sentences]


def adversary_words(guarantee: Guarantee, *, listed: bool = False) -> str:
    """Against whom a guarantee holds, and against whom it does not.

    `guarantee` is the one requested; `listed` says that an exact number of papers was accepted.

    >>> print(adversary_words(Guarantee("public", epsilon=None)))
    It holds against all who see the scores and know reviewers' habits, whatever else they know.
    >>> print(adversary_words(Guarantee("steady", epsilon=2.0)).split(". ")[1])
    The limit on odds holds even against someone who knows or suspects more
    """
    if guarantee.name == "public":
        return "It holds against all who see the scores and know reviewers' habits, whatever else they know."
    if guarantee.name == "none":
        return "There is nobody against whom it would hold."
    found = [
        "It holds against anyone who sees all scores and decisions and knows the method, every reviewer's "
        "habits and who might have reviewed what, and who has nothing else to go by."
    ]
    if limits := [LIMITS[name].prior_free for name in guarantee.limits if LIMITS[name].prior_free]:
        held = "limits on {} hold" if len(limits) > 1 else "limit on {} holds"
        found.append(
            f"The {held.format(' and on '.join(limits))} even against someone who knows or suspects more"
            + (", as long as they take papers one at a time." if listed else ".")
        )
    return " ".join([*found, "It does not hold against people who know who reviewed what or hold the key."])


def quota_line(quota: Quota) -> str:
    """How many papers are accepted, exactly, as a `quota` has it.

    >>> print(quota_line(Quota({"main": 40, "short": 10}, {"main": 5})))
    exactly 40 papers accepted in main and 5 on the wait list, 10 papers accepted in short
    """
    parts = []
    for group in quota.groups:
        accept, wait = quota.of(group)
        waiting = f" and {wait} on the wait list" if wait else ""
        parts.append(f"{count(accept, 'paper')} accepted{f' in {group}' if group else ''}{waiting}")
    return f"exactly {', '.join(parts)}"


def bar_words(bar: float | Mapping[str, float]) -> str:
    """The bar, or that of each track.

    >>> bar_words(0.5), bar_words({"main": 0.5, "short": 0.75})
    ('0.5', '0.5 in main, 0.75 in short')
    """
    if not isinstance(bar, Mapping):
        return f"{bar:.3g}"
    return ", ".join(f"{height:.3g} in {track}" for track, height in bar.items())


def _by_track(number: float | Mapping[str, float]) -> str:
    if isinstance(number, Mapping):
        return ", ".join(f"{number_text(one)} in {track}" for track, one in number.items())
    return number_text(number)


_FORMS: Mapping[str, Callable[[Any], str]] = {
    "percent": percent,
    "points": points,
    "negligible": lambda share: "0" if share < ROUNDING else percent(share),
    "expected": expected,
    "factor": factor,
    "number": number_text,
    "rounded": lambda number: number_text(round(number, 4)),
    "times": lambda factor: "any number of" if factor > _MOST else f"{factor:.3g}",
    "bound": lambda bound: "no limit" if isinf(bound) else number_text(bound),
    "quality": bar_words,
    "by_track": _by_track,
    "list": lambda numbers: "any" if numbers is None else ", ".join(map(number_text, numbers)),
}
