"""Numbers and guarantees as people say them: one wording for the command line and for every page.

`fill` puts values into the sentences that `policy.guarantee` and `deciding.certificate_fields` declare, in
the forms of `written`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import exp, floor, hypot, inf, isinf
from operator import getitem
from pathlib import Path
from string import Formatter
from typing import Any

from blindcal.deciding.certificate_fields import PARTS, PROMISED, ROUNDING, Field, field_problems
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import CERTIFICATE, parse_json, read_bytes
from blindcal.io.cells import count, number_text
from blindcal.io.tables import StrPath, decode_utf8, input_error
from blindcal.planning.conference_plan import Answer
from blindcal.planning.expected_errors import WORTH
from blindcal.planning.guarantee_menu import Choice, Menu
from blindcal.planning.level_menu import LevelAnswer, LevelMenu
from blindcal.planning.remarks import steady_crowd
from blindcal.planning.request import Quota
from blindcal.policy.guarantee import GUARANTEES, LIMITS, Guarantee

BY_MEAN, FULLY = "mean scores, no calibration", "full calibration, no promise"
"""The first and the last row of every menu."""
NOTHING = "nothing to gain"
MENU_HEADINGS = ("expected gain", "wrong decisions", "of full's gain", "reviewers identified")
"""What the numbers of a menu's row are."""
LEVEL_HEADINGS = ("gain over mean scores", "random draws", "decided otherwise than by means")
"""The same if papers are decided by this year's evidence; of another method's, the second alone is known."""
LEVEL_NOTE = (
    "Gains are expected numbers of wrong decisions avoided, the smallest and the largest if strictness is in "
    "truth 15, 25, 35 or 50 percent of the scores' disagreement, which the scores cannot tell. They count "
    "papers that tie by mean score, the last column does not. All of this follows from scores and settings; "
    "who wrote what was not looked at."
)
FILE_NOTE = (
    "A random draw follows what the file says of its paper with chance e^epsilon / (1 + e^epsilon), .953 at "
    "epsilon 3. All other papers are decided by their scores. Which papers are drawn, and with what chance, "
    "follows from scores and settings alone."
)
"""What these numbers mean, if another method made the evidence."""
MENU_NOTE = (
    "Numbers are expected values: how many fewer papers are decided wrongly than by mean scores; how many "
    "are; the gain as a share of what full calibration would gain; the chance of naming who wrote a review."
)
"""What they mean."""
UNSEEN = (
    "To someone who does not see the scores, each decision says something about them, and through them about "
    "reviewers; such a person still names reviewers no more often than someone who sees the scores too."
)
"""What holds for readers of decisions whose scores are confidential."""
NOT_ONE_PLACE = "One place on the list is not covered by this factor: it depends on all private draws."
"""What the guarantee odds does not promise if an exact number of papers is accepted."""
VERDICTS = {
    "worth it": "calibrating from these reviews alone (hierarchical) helps",
    "worth it with history": "these reviews say too little about the reviewers; knowing them would help",
    "not worth it": "too little would change, or the data do not bear it out: use the raw means",
    "unclear": "no reviewer has two reviews, so strictness cannot be separated from noise",
}
"""What each verdict on calibrating means."""
SOURCES = {
    "quality": "papers' quality",
    "offset": "reviewers' leniency (offset)",
    "slope": "reviewers' use of the scale (slope)",
    "noise": "noise",
}
"""What makes scores differ, as a fit finds it."""
# A promise that keeps this share of what full calibration gains needs no other one beside it.
_HALF = 0.5
# A standard error that is shown, as a share.
_SEEN = 5e-5
# Odds that grow beyond this are said to be unlimited.
_MOST = 1e6


def percent(share: float, error: float = 0.0) -> str:
    """A share in percent, with its standard error if it has one; a loss too small to be shown is none.

    >>> percent(0.3066), percent(0.125, 0.0034), percent(0.125, 0.0003), percent(-0.0001)
    ('30.7 %', '12.5 +- 0.3 %', '12.5 +- 0.03 %', '0.0 %')
    """
    beside = f" +- {100 * error:.{1 if error >= 5e-4 else 2}f}" if error > 0.0 else ""
    return f"{round(100 * share, 1) + 0.0:.1f}{beside} %"


def expected(number: float) -> str:
    """An expected number of papers."""
    if 0.0 < number < 0.05:
        return "fewer than 0.1"
    return "0" if round(number, 1) == 0.0 else f"{number:,.0f}" if number >= 1000 else f"{number:.1f}"


def papers_text(number: float, error: float = 0.0) -> str:
    """An expected number of papers with its standard error, if it has one.

    >>> papers_text(2.13), papers_text(2.13, 0.41), papers_text(2.13, 0.03), papers_text(296.4, 40.4)
    ('2.1', '2.1 +- 0.4', '2.1 +- 0.03', '296 +- 40')
    """
    if error <= 0.0:
        return expected(number)
    digits = 0 if number >= 1000 or error >= 10 else 1
    return f"{number:z,.{digits}f} +- {error:,.{digits if error >= 0.05 else 2}f}"


def about(number: float) -> str:
    """An expected number of papers, in a letter."""
    return f"about {floor(number + 0.5):,}" if number >= 3 else expected(number)


def factor(epsilon: float) -> str:
    """By how many times odds may change if they change by up to e^`epsilon`."""
    grown = exp(epsilon) if epsilon < 20 else inf
    return "any number of" if grown > _MOST else f"{grown:.1f}".removesuffix(".0")


def after_odds(before: float, epsilon: float) -> float:
    """The most that a suspicion can become by one decision that changes odds by up to e^epsilon.

    `before` is the suspicion, a probability; so is what is returned. `epsilon` may be infinite.
    """
    if isinf(epsilon):
        return 1.0
    return before / (before + (1.0 - before) * exp(-epsilon))


def points(share: float) -> str:
    """A difference of two shares, `share` being at least 0, in percentage points."""
    if share == 0.0:
        return "0 points"
    return f"{100 * share:.2f} points" if share >= 5e-5 else "less than 0.01 points"


def added_text(share: float) -> str:
    """What decisions add to a chance, in percentage points.

    >>> added_text(0.0), added_text(0.0001), added_text(0.0234)
    ('+0.0 points', 'under +0.1 points', '+2.3 points')
    """
    return "under +0.1 points" if 0.0 < share < 5e-4 else f"+{100 * share:.1f} points"


def written(value: Any, form: str) -> str:
    """A `value` in the `form` in which people write it; a form that is not one of these is Python's."""
    name, _, before = form.partition(" ")
    if name == "after":
        return f"{100 * after_odds(float(before) / 100, value):.0f}"
    return _FORMS[name](value) if name in _FORMS else format(value, form)


class _Sentence(Formatter):
    """A sentence with places like `{in_papers.gap:expected}`: the path of a value, and its form."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        return reduce(getitem, field_name.split("."), kwargs), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        return written(value, format_spec)


def fill(sentence: str, values: Mapping[str, Any]) -> str:
    """A `sentence` with `values` in the places that name them."""
    return _Sentence().vformat(sentence, (), values)


def guarantee_words(guarantee: Guarantee) -> str:
    """A guarantee in words."""
    crowd = guarantee.name == "crowd"
    summaries = [
        fill(f"{name.replace('_', ' ')} {{{name}:g}}", guarantee.limits)
        for name in guarantee.limits
        if not (crowd and name == "among")
    ]
    named = f"crowd of {guarantee.among}" if crowd else guarantee.name
    if not summaries:
        return f"{named}: {GUARANTEES[guarantee.name].summary}"
    return ", ".join([named, *summaries])


def short_words(guarantee: Guarantee) -> str:
    """A guarantee by its name and its limits, within a sentence.

    >>> short_words(Guarantee("steady", epsilon=2.0)), short_words(Guarantee("average", epsilon=None))
    ('steady and epsilon 2', 'average')
    >>> short_words(Guarantee("crowd", among=10, epsilon=None))
    'a crowd of 10 and no epsilon'
    """
    words = guarantee_words(guarantee).partition(":")[0].replace(", ", " and ")
    if guarantee.epsilon is None and GUARANTEES[guarantee.name].epsilon is not None:
        words += " and no epsilon"
    return f"a {words}" if guarantee.name == "crowd" else words


def better_choice(menu: Menu, chosen: Guarantee) -> Choice | None:
    """A guarantee of the `menu` that would clearly gain more than the `chosen` one, if that gains little.

    The chosen one is enough if it is worth it and keeps half of what full calibration would gain. Otherwise
    it is the first in the menu's order, which begins with the strictest, that is worth it and keeps half; or
    else the one that gains most.
    """
    own, least = menu.choice(chosen), WORTH * menu.papers
    if own.gain >= least and own.kept >= _HALF:
        return None
    more = [
        choice
        for choice in menu.choices
        if choice.guarantee.name != "none"
        and choice.gain >= least
        and choice.gain - own.gain > max(least / 2, 2.0 * hypot(choice.gain_se, own.gain_se))
    ]
    most = max(more, key=lambda choice: choice.gain, default=None)
    return next((choice for choice in more if choice.kept >= _HALF), most)


def advice(menu: Menu, chosen: Guarantee) -> str:
    """Whether calibration is worth it with the `chosen` promise of a `menu`, and what another would gain."""
    own, least = menu.choice(chosen), WORTH * menu.papers
    gained = (
        f"Expected gain: {papers_text(own.gain, own.gain_se)} of {count(menu.papers, 'paper')}; "
        f"{papers_text(own.changed)} decided otherwise than by mean scores, ties aside."
    )
    if own.gain < least:
        gained = f"Not worth it with {short_words(chosen)}. {gained}"
    full = papers_text(menu.gain_fully_calibrated, menu.gain_fully_calibrated_se)
    if menu.gain_fully_calibrated < least:
        return f"{gained} Even full calibration, without any promise, would gain {full}."
    other = better_choice(menu, chosen)
    if other is not None:
        more = papers_text(other.gain, other.gain_se)
        return f"{gained} With {short_words(other.guarantee)} it would be {more}."
    if own.gain < least:
        return f"{gained} No promise of the menu gains clearly more; full calibration would gain {full}."
    return gained


def level_advice(answer: LevelAnswer) -> str:
    """Whether calibrating on this year's reviews is worth it with the chosen guarantee."""
    papers = count(answer.menu.papers, "paper")
    if answer.from_file:
        return (
            f"Random draws decide {answer.choice.lots:,} of {papers} and follow the evidence that was given. "
            "Nothing is known of its errors: no gain is stated."
        )
    gained = (
        f"Expected gain: {gain_range(answer)} of {papers}, by how strict reviewers are; "
        f"{papers_text(answer.choice.changed)} decided otherwise than by mean scores, ties aside."
    )
    if answer.chosen.name == "public":
        return f"Papers are decided by the scores alone. {gained}"
    why = doubt(answer)
    if not why:
        return gained
    return (
        f"Not worth it with {short_words(answer.chosen)}: {why}. {gained} "
        'guarantee = "public" decides by the scores alone, with everything else of a folder.'
    )


def doubt(answer: LevelAnswer) -> str:
    """Why calibrating on this year's reviews is not worth it; empty if it is, or if nothing is known."""
    low, high = answer.choice.gain
    if answer.from_file:
        return ""
    if high < WORTH * answer.menu.papers:
        return "even the larger end of the range is below one paper in a hundred"
    return "the smaller end of the range is a loss" if round(low, 1) < 0.0 else ""


def gain_range(answer: LevelAnswer) -> str:
    """What the chosen guarantee gains, the smallest and the largest number."""
    low, high = map(papers_text, answer.choice.gain)
    return high if low == high else f"up to {high}" if low == expected(0.01) else f"{low} to {high}"


def answer_words(answer: Answer | LevelAnswer | None) -> str | None:
    """The sentence that answers whether calibration is worth it; None if there is no answer."""
    if answer is None:
        return None
    return level_advice(answer) if isinstance(answer, LevelAnswer) else advice(answer.menu, answer.chosen)


def level_table(answer: LevelAnswer) -> tuple[tuple[str, ...], list[tuple[str, ...]], str]:
    """The menu as a table: headings, a row for each guarantee with its name in front, and what they mean.

    Of another method's evidence there are draws alone: nothing is known of its errors.
    """
    rows = [
        (
            guarantee_words(choice.guarantee),
            " to ".join(dict.fromkeys(f"{gain:z.2f}" for gain in choice.gain)),
            f"{choice.lots:,}",
            papers_text(choice.changed),
        )
        for choice in answer.menu.choices
    ]
    if answer.from_file:
        return LEVEL_HEADINGS[1:2], [(name, lots) for name, _, lots, _ in rows], FILE_NOTE
    return LEVEL_HEADINGS, [*rows], LEVEL_NOTE


def level_facts(answer: LevelAnswer) -> LevelMenu | list[dict[str, object]]:
    """The menu for machines, likewise."""
    if answer.from_file:
        return [{"guarantee": choice.guarantee, "lots": choice.lots} for choice in answer.menu.choices]
    return answer.menu


def menu_rows(menu: Menu) -> list[tuple[str, str, str, str, str]]:
    """The rows of a `menu`: name, gain, wrong decisions, share of full calibration's gain, reviewers named.

    Mean scores are the first row and full calibration the last; all numbers are expected values.
    """
    full = menu.gain_fully_calibrated, menu.gain_fully_calibrated_se
    raw = papers_text(menu.wrong_raw, menu.wrong_raw_se)
    named = percent(menu.success_scores_only, menu.success_scores_only_se)

    def row(name: str, *numbers: tuple[float, float]) -> tuple[str, str, str, str, str]:
        gain, wrong, kept, (added, error) = numbers
        # A share of a gain that may be none says nothing.
        share = percent(*kept) if full[0] > full[1] else NOTHING
        # The standard error is that of what decisions add, if it can be seen.
        named = percent(menu.success_scores_only + added, error if error >= _SEEN else 0.0)
        return name, papers_text(*gain), papers_text(*wrong), share, named

    names = ("gain", "wrong", "kept", "added")
    rows = [
        row(
            guarantee_words(choice.guarantee),
            *((getattr(choice, name), getattr(choice, f"{name}_se")) for name in names),
        )
        for choice in menu.choices
    ]
    wrong = menu.wrong_fully_calibrated, menu.wrong_fully_calibrated_se
    added = menu.added_fully_calibrated, menu.added_fully_calibrated_se
    return [(BY_MEAN, "", raw, "", named), *rows, row(FULLY, full, wrong, (1.0, 0.0), added)]


def promises(guarantee: Guarantee, *, hidden: bool = False) -> list[str]:
    """What a guarantee and its limits promise, a sentence each; to whom, if scores are `hidden` from readers.

    >>> print(promises(Guarantee("steady", epsilon=2.0))[1])
    Whatever someone already suspects, no single decision changes their odds by more than a factor of 7.4.
    """
    own = [name for name in guarantee.limits if LIMITS[name].replaces == guarantee.name]
    promised = [LIMITS[name].promise for name in own] or [GUARANTEES[guarantee.name].promise]
    promised += [LIMITS[name].promise for name in _further_limits(guarantee)]
    sentences = [fill(sentence, guarantee.limits) for sentence in promised]
    return sentences if not hidden or guarantee.name == "none" else [*map(_to_readers_of_scores, sentences)]


def _further_limits(guarantee: Guarantee) -> list[str]:
    """The limits that are no part of a guarantee itself."""
    own = {*GUARANTEES[guarantee.name].needs}
    own |= {name for name, limit in LIMITS.items() if limit.replaces == guarantee.name}
    return [name for name in guarantee.limits if name not in own]


def _to_readers_of_scores(promise: str) -> str:
    """A promise where only some people see the scores.

    >>> _to_readers_of_scores("To someone with only public information, nothing is revealed.")
    'To someone who sees the scores and has only public information, nothing is revealed.'
    """
    outsider = "someone with only public information"
    if outsider in promise:
        return promise.replace(outsider, "someone who sees the scores and has only public information")
    return f"For someone who sees the scores: {promise[0].lower()}{promise[1:]}"


def conditions(guarantee: Guarantee) -> list[str]:
    """What the promises of a guarantee rest on and do not cover, a paragraph each.

    >>> [text.partition(":")[0] for text in conditions(Guarantee("average", epsilon=None))]
    ['Papers are taken as independent']
    """
    names = [guarantee.name, *(LIMITS[name].replaces for name in guarantee.limits)]
    texts = (GUARANTEES[name].conditions for name in dict.fromkeys(names) if name)
    return [fill(text, guarantee.limits) for text in texts if text]


def adversary_words(guarantee: Guarantee, *, listed: bool = False, calibrated: bool = True) -> str:
    """Against whom a guarantee holds, and against whom it does not.

    `guarantee` is the one requested; `listed` says that an exact number of papers was accepted,
    `calibrated` that reviewers were calibrated beforehand.

    >>> print(adversary_words(Guarantee("public", epsilon=None)))
    It holds against all who see the scores and the calibration, whatever else they know.
    >>> print(adversary_words(Guarantee("steady", epsilon=2.0)).split(". ")[1])
    The limit on odds holds even against someone who knows or suspects more
    """
    if guarantee.name == "public":
        seen = "the scores and the calibration" if calibrated else "the scores"
        return f"It holds against all who see {seen}, whatever else they know."
    if guarantee.name == "none":
        return "It protects no one."
    if guarantee.name == "odds":
        return "It holds against all who see the scores, whatever else they know, unless they hold the key."
    sentences = [
        "It holds against anyone who sees all scores and decisions and knows the method, how every "
        "reviewer scores and who might have reviewed what, and who has nothing else to go by."
    ]
    if limits := [LIMITS[name].prior_free for name in guarantee.limits if LIMITS[name].prior_free]:
        held = "limits on {} hold" if len(limits) > 1 else "limit on {} holds"
        sentences.append(
            f"The {held.format(' and on '.join(limits))} even against someone who knows or suspects more"
            + (", as long as they look at each paper separately." if listed else ".")
        )
    return " ".join(
        [*sentences, "It does not hold against people who know who reviewed what or hold the key."]
    )


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


def bar_words(bar: float | Mapping[str, float], words: Callable[[float], str] = "{:.3g}".format) -> str:
    """The bar, or that of each track, a number in the form that `words` gives it.

    >>> bar_words(0.5), bar_words({"main": 0.5, "short": 0.75})
    ('0.5', '0.5 in main, 0.75 in short')
    """
    if not isinstance(bar, Mapping):
        return words(bar)
    return ", ".join(f"{words(height)} in {track}" for track, height in bar.items())


_FORMS: Mapping[str, Callable[[Any], str]] = {
    "percent": percent,
    "points": points,
    "negligible": lambda share: "0" if share < ROUNDING else percent(share),
    "expected": expected,
    "factor": factor,
    "number": number_text,
    "rounded": lambda number: number_text(round(number, 4)),
    "times": lambda factor: (
        "any number of" if factor > _MOST else f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"
    ),
    "bound": lambda bound: "no limit" if isinf(bound) else number_text(bound),
    "quality": bar_words,
    "by_track": lambda number: bar_words(number, number_text),
    "list": lambda numbers: ", ".join(map(number_text, numbers)),
    "range": lambda ends: " to ".join(dict.fromkeys(map(number_text, ends))),
}


# --- Certificates for people: certificate.json is read and checked, and every field is explained in a
# sentence. `deciding.certificate_fields` declares which fields there are, and what they mean.


def read_certificate(path: StrPath) -> dict[str, Any]:
    """Reads the certificate of a release.

    An epsilon without limit is written "inf" in the file, and is infinity here.

    Args:
        path: The file, or the folder of the release, which has it as `certificate.json`.

    Raises:
        InputError: It is no certificate; all fields that are missing or wrong are listed.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from blindcal import Guarantee, Request, decide, make_key
        >>> from blindcal.posterior.inputs import example_inputs
        >>> with TemporaryDirectory() as folder:
        ...     key, out = Path(folder) / "key", Path(folder) / "out"
        ...     _ = make_key(key)
        ...     _ = decide(example_inputs(), Request(Guarantee("public"), bar=0.0), key, out)
        ...     certificate = read_certificate(out)
        >>> certificate["papers"], certificate["added_success"]
        (3, 0.0)
    """
    file = Path(path) / CERTIFICATE if Path(path).is_dir() else Path(path)
    return certificate_of(read_bytes(file), str(file))


def certificate_of(data: bytes, file: str) -> dict[str, Any]:
    """The certificate in the `data` of a `file`, as `read_certificate` returns it."""
    content = parse_json(decode_utf8(data, file), file)
    if not isinstance(content, dict) or "key_fingerprint" not in content:
        raise InputError(f"{file} must be a certificate that blindcal wrote")
    problems = list(field_problems(content, has_figures(content)))
    if not any(name.startswith(("guarantee", "limits")) for name, _ in problems):
        try:
            certified_guarantee(content)
        except InputError as error:
            problems.append(("limits", str(error)))
    if problems:
        raise input_error([Problem(file, None, name, rule) for name, rule in problems])
    if not has_figures(content):
        return content
    again = content["decided_again"]
    return {
        **content,
        "epsilon": float(content["epsilon"]),
        "largest_factor": float(content["largest_factor"]),
        "decided_again": {**again, "epsilon": float(again["epsilon"])},
    }


def has_figures(certificate: Mapping[str, Any]) -> bool:
    """Whether a `certificate` must have figures that depend on the scores.

    It has none if scores are confidential, or if papers were decided by this year's evidence.

    >>> has_figures({"scores": "confidential", "guarantee": "steady"})
    False
    """
    if certificate.get("source", "past") != "past":
        return False
    return "success" in certificate or certificate.get("scores") != "confidential"


def certified_guarantee(certificate: Mapping[str, Any]) -> Guarantee:
    """The guarantee that a `certificate` states."""
    return Guarantee.from_record(certificate["guarantee"], certificate["limits"])


def _hides_scores(certificate: Mapping[str, Any]) -> bool:
    """Whether readers of a `certificate` do not see the scores; the guarantee odds says itself for whom."""
    figures = has_figures(certificate) or certificate.get("scores") != "confidential"
    return not figures and certificate["guarantee"] != "odds"


def certified_promises(certificate: Mapping[str, Any]) -> list[str]:
    """What a `certificate` promises, a sentence each: the promise in force, where crowds are steady too."""
    guarantee = certified_guarantee(certificate)
    first, *more = promises(guarantee, hidden=_hides_scores(certificate))
    if guarantee.name == "odds" and "selection" in certificate:
        first = f"{first.replace('no single decision', 'no private draw')} {NOT_ONE_PLACE}"
    if not (steady := certified_steady(certificate)):
        return [first, *more]
    if guarantee.name == "crowd" and certificate["pools"]["smaller_than_crowd"] == certificate["papers"]:
        # No paper has a crowd: what is promised instead is all there is.
        first, steady = promises(Guarantee("steady", epsilon=None), hidden=_hides_scores(certificate))[0], []
    return [first, *steady, *more]


def certified_conditions(certificate: Mapping[str, Any]) -> list[str]:
    """What the promises of a `certificate` rest on and do not cover; that a crowd is steady on all papers."""
    guarantee, steady = certified_guarantee(certificate), certified_steady(certificate)
    everywhere = [one for one in steady if one not in certified_promises(certificate)]
    return [*everywhere, *([] if everywhere else conditions(guarantee))]


def certified_steady(certificate: Mapping[str, Any]) -> list[str]:
    """A sentence if the crowd of a `certificate` is steady for some of its papers."""
    small = certificate.get("pools", {}).get("smaller_than_crowd", 0)
    return steady_crowd(small, certificate["papers"], certificate["limits"].get("among"))


@dataclass(frozen=True)
class ExplainedField:
    """A field of a certificate in plain language."""

    name: str  # its path, such as `calibration_fit.shift`
    value: str  # its value as people write it
    sentence: str  # what that means


@dataclass(frozen=True)
class ExplainedPart:
    """A part of the explanation."""

    title: str  # what it is about
    lines: tuple[ExplainedField, ...]  # one for each field


def explain_certificate(certificate: Mapping[str, Any]) -> tuple[ExplainedPart, ...]:
    """Explains every field of a certificate, in the order in which people ask.

    Args:
        certificate: What `read_certificate` returns.

    Returns:
        The parts of the explanation. Parts about figures are missing if scores are confidential.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from blindcal import Guarantee, Request, decide, make_key
        >>> from blindcal.posterior.inputs import example_inputs
        >>> from blindcal.report import read_certificate
        >>> with TemporaryDirectory() as folder:
        ...     key, out = Path(folder) / "key", Path(folder) / "out"
        ...     _ = make_key(key)
        ...     _ = decide(example_inputs(), Request(Guarantee("public"), bar=0.0), key, out)
        ...     line = explain_certificate(read_certificate(out))[2].lines[2]
        >>> line.name, line.value, line.sentence.partition(".")[0]
        ('added_success', '0 points', 'What the decisions add to that chance')
    """
    values = {
        **certificate,
        "unseen": UNSEEN,
        "in_papers": {
            name: share * certificate["papers"]
            for name, share in certificate.items()
            if isinstance(share, int | float)
        },
    }
    lines = {
        part: [line for row in rows for line in _field_lines(row, certificate, values)]
        for part, rows in PARTS.items()
    }
    lines[PROMISED] += _promise_lines(certificate)
    return tuple(ExplainedPart(part, tuple(sentences)) for part, sentences in lines.items() if sentences)


def _field_lines(
    row: Field, content: Mapping[str, Any], values: Mapping[str, Any], within: str = ""
) -> Iterator[ExplainedField]:
    """The line of a field, if it says something, or those of an object's fields."""
    value = content.get(row.name)
    if row.kind is None:
        for part in row.fields:
            yield from _field_lines(part, value or {}, values, f"{row.name}.")
        return
    sentence = row.description if row.sentence is None else row.sentence
    if value is not None and (text := sentence(values) if callable(sentence) else sentence):
        yield ExplainedField(
            f"{within}{row.name}", written(value, row.form or row.kind.form), fill(text, values)
        )


def _promise_lines(content: Mapping[str, Any]) -> Iterable[ExplainedField]:
    guarantee = certified_guarantee(content)
    first, *more = promises(guarantee, hidden=_hides_scores(content))
    sentences = dict(zip(_further_limits(guarantee), more, strict=True))
    yield ExplainedField("guarantee", guarantee_words(guarantee), " ".join([first, *conditions(guarantee)]))
    for name in sorted(guarantee.limits, key=lambda name: name not in sentences):
        sentence = sentences.get(name, LIMITS[name].sentence)
        yield ExplainedField(f"limits.{name}", number_text(guarantee.limits[name]), sentence)
    further = [name for name, limit in LIMITS.items() if not limit.only_with]
    if absent := [name.replace("_", " ") for name in further if name not in guarantee.limits]:
        yield ExplainedField("limits", "none", f"No further limit was requested on {_or_list(absent)}.")


def _or_list(names: Sequence[str]) -> str:
    """Joins names by commas and `or`.

    >>> _or_list(["a"]), _or_list(["a", "b", "c"])
    ('a', 'a, b or c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


ASSUMPTIONS: Mapping[str, str] = {
    "observer": "Against whom: someone who knows all scores, all decisions, this method, how each "
    "reviewer scores (the stated calibration) and who may have reviewed each paper, with what chance (the "
    "stated pools), but not who did. They name one person as the reviewer who wrote a review; success is "
    "their chance of being right.",
    "knowledge": "What they know: the chance of naming a reviewer (success), its largest rise by one "
    "decision (largest_rise), how sure someone can be of one (largest_posterior) or of anyone having "
    "reviewed a paper (largest_posterior_paper), and how many times as likely a candidate becomes "
    "(largest_factor) are those of someone who has the stated pools and nothing more to go by, or who also "
    "knows that the reviewer was no outsider (largest_posterior_named). The limits on odds (epsilon) and "
    "on the chance of a correct guess (multiplier) also hold for someone who knows or suspects more, "
    "whatever it is; they limit what the decision on one paper reveals.",
    "one_paper": "One paper at a time: the reviewers of different papers are taken as independent once "
    "the scores are known. Someone who knows how papers were assigned, such as how many each person "
    "reviewed, can combine all decisions and learn more.{moved} Every id stands for another paper: one "
    "paper decided under several ids would reveal more.",
    "fixed": "Fixed beforehand: how reviewers score, who may have reviewed what and the bar were set "
    "without looking at who wrote which review. Where a reviewer's scoring is uncertain, what one paper's "
    "scores say about it is not counted on another paper.",
    "uncovered": "Not covered: decisions changed by hand by someone who knows the reviewers, the texts "
    "of reviews, published lists of reviewers, a wrong description of how reviewers score, and anyone who "
    "holds the key or the private log.",
    "list": "The final list: papers are ranked by the chance that each is right to accept, given its "
    "scores and its private decision, to 6 decimals, ties by mean score, then by id, and the best are "
    "accepted. The list follows from the private decisions and from what is public, so it reveals no more "
    "than they would. success, added_success, largest_rise, largest_posterior and those like it, "
    "largest_factor, epsilon and multiplier are those of someone who sees the private decisions "
    "themselves: for someone who sees the list and takes papers as independent they are upper limits, "
    "whatever number is accepted, and for all lists together.",
    "one_place": "One place on the list depends on the private decisions on all papers. For someone who "
    "knows how papers share reviewers, it can therefore move odds as far as several decisions together "
    "would: epsilon and multiplier limit a single place only for someone who takes papers as independent.",
    "list_errors": "How good the list is: expected_wrong and against_evidence are those of the final "
    "list, on average over what is publicly possible; a paper on the wait list counts as not accepted. gap "
    "and never_against are about the private decisions: whatever the evidence, a paper at the cut may be "
    "accepted or not.",
    "confidential": "Scores are confidential: nothing here depends on them, apart from decisions that are "
    "published. The chance of naming a reviewer, the bar, expected errors and what the decision on each "
    "paper reveals at most are in the private log, for the chair and an auditor.",
    "observer_of_scores": "Against whom: the guarantee and its limits are kept for someone who sees all "
    "scores and decisions and knows this method, how each reviewer scores and who may have reviewed each "
    "paper. They limit what a decision reveals to such a person beyond the scores.",
    "unseen": "To someone who does not see the scores, a decision says something about them, and through "
    "them about reviewers: their best guess and their odds may change by more than the guarantee and "
    "epsilon say. They still name reviewers no more often than someone who sees the scores too{held}, if "
    "they have the stated pools and nothing more to go by.",
    "repeated": "Decided more than once: each decision on a paper keeps the limits, and several reveal "
    "more than one.",
    "draws": "What is promised: each private draw changes the odds of two statements about who reviewed "
    "what by at most the stated factor, for someone who sees the scores, whatever else they know. Someone "
    "who does not see the scores has this factor only if told that the paper was drawn: to them, any "
    "decision, by mean scores too, also says something about the scores.",
    "renaming": "Names: all decisions together are exactly as likely if members exchanged names throughout, "
    "since nothing personal entered. That nobody is named needs members who look alike from outside: "
    "conflicts, unequal numbers of reviews and areas tell people apart.",
    "links": "Links are not hidden: someone who knows one of a person's reviews may learn of another. If the "
    "writers of two reviews were exchanged, only the chances of the draws of these two people's papers would "
    "change; the odds from everything published change by at most the stated factor for each of these draws.",
    "place_of_evidence": "One place on the list is not covered by this factor: it depends on the private "
    "decisions on all papers.",
    "evidence_fixed": "Fixed by scores and settings alone: which papers are drawn and with what chance, the "
    "bar, the spread of scores, the number of people. The promise is broken if these settings were chosen "
    "after looking at who wrote what, or at figures fitted to this year's reviewers.",
    "scores_alone": "Decided by scores and settings alone: who wrote which review played no part, so that "
    "decisions say nothing about it beyond the scores, to anyone who sees these. To others, any decision, by "
    "mean scores too, says something about the scores. Settings that were chosen after looking at who wrote "
    "what would break this.",
    "strategy": "A reviewer who scores others low looks strict, which helps the papers they score high.",
    "outside_evidence": "The evidence came from outside: another method gave accept or reject for each "
    "paper, and every draw may depend on everything that went into it. A level can encode a name or a text. "
    "A person who chose the file and had the key could dictate decisions; the commitment binds the file.",
    "uncovered_evidence": "Not covered: decisions changed by hand by someone who knows the reviewers, the "
    "texts of reviews, published lists of reviewers, and anyone who holds the key or the private log.",
}
"""What a certificate assumes, and what is not covered, by the names that it has there."""


_ALL_TOGETHER: Mapping[tuple[str, float], tuple[float, float]] = {
    ("steady", 1): (9, 0.33),
    ("steady", 2): (80, 0.67),
    ("steady", 3): (543, 0.73),
    ("steady", inf): (inf, 0.79),
    ("odds", 1): (22, 0.46),
    ("odds", 2): (501, 0.72),
    ("odds", 3): (9956, 0.80),
    ("average", 1): (12, 0.45),
    ("average", 2): (137, 0.65),
    ("average", 3): (1540, 0.75),
    ("average", inf): (inf, 0.83),
    ("none", inf): (inf, 0.83),
}
"""By guarantee and epsilon: the factor by which all decisions together moved odds at most in small matchings,
and by how much likelier they made a best guess (studies/matchings.py)."""


def moved_together(guarantee: Guarantee) -> str:
    """How far all decisions together moved odds under a guarantee, or the next weaker one that was measured.

    >>> moved_together(Guarantee("steady", epsilon=1.5)).partition(": ")[2].partition(" (")[0]
    'under steady and epsilon 2, odds moved up to 80-fold and a best guess by up to 0.67'
    >>> moved_together(Guarantee("public"))
    ''
    """
    name = "steady" if guarantee.name == "crowd" else guarantee.name
    epsilon = inf if guarantee.epsilon is None else guarantee.epsilon
    measured = [limit for own, limit in _ALL_TOGETHER if own == name and limit >= epsilon]
    if not measured:
        return ""
    limit = min(measured)
    fold, rise = _ALL_TOGETHER[name, limit]
    words = name if limit == inf else f"{name} and epsilon {limit:g}"
    if guarantee.name == "crowd":
        words += " (which a crowd of 10 is in so small pools)"
    far = "without limit" if fold == inf else f"up to {fold:,}-fold"
    return (
        " In simulated conferences of 4 to 6 papers with as many reviewers, one review each and every "
        f"assignment equally likely: under {words}, odds moved {far} and a best guess by up to {rise:.2f} "
        "(studies/matchings.py)."
    )


def assumptions_of(names: Iterable[str], guarantee: Guarantee) -> list[str]:
    """The assumptions of a certificate as sentences; a limit that holds without the scores is named.

    >>> made = assumptions_of(["fixed", "uncovered"], Guarantee("public"))
    >>> [assumption.partition(":")[0] for assumption in made]
    ['Fixed beforehand', 'Not covered']
    """
    held = "".join(
        f", and {limit.without_scores} ({name}) holds for them as well"
        for name, limit in LIMITS.items()
        if limit.without_scores
    )
    moved = moved_together(guarantee)
    return [ASSUMPTIONS[name].format(held=held, moved=moved) for name in names]
