"""A certificate -> plain language: a sentence for every number in it.

certificate.json -> a certificate whose every field has the kind of value that pages speak of.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isinf
from pathlib import Path
from typing import Any

from blindcal.cells import count, number_text
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import parse_json, read_bytes
from blindcal.io.tables import decode, refuse
from blindcal.planning.calibration_check import DOUBTFUL, FITS, HOPELESS
from blindcal.policy.guarantee import Guarantee
from blindcal.report.wording import UNSEEN, after_odds, bar_words, expected, factor, percent, promises, shown

NAME = "certificate.json"
_LIMITS = ("added_success", "epsilon", "multiplier", "posterior_cap", "never_against")
# What every certificate has, by the kind of its value; "?" where it may be null, or missing altogether.
_ALWAYS: Mapping[str, str] = {
    "papers": "count",
    "reviews": "count",
    "accepted": "count",
    "release": "count",
    "release_counter": "count",
    "conference": "text",
    "guarantee": "text",
    "better": "text",
    "commitment": "text",
    "key_fingerprint": "text",
    "assumptions": "texts",
    "scores": "text",
    "format": "count",
}
# What a certificate has unless it is one without figures, as scores are confidential.
_FIGURES: Mapping[str, str] = {
    "bar": "level",
    "success_scores_only": "share",
    "success": "share",
    "added_success": "share",
    "added_share_of_full": "share",
    "success_fully_calibrated": "share",
    "largest_rise": "share",
    "largest_posterior": "share",
    "largest_posterior_scores_only": "share",
    "epsilon": "limit",
    "multiplier": "number",
    "expected_wrong": "share",
    "expected_wrong_raw": "share",
    "expected_wrong_public": "share?",
    "expected_wrong_fully_calibrated": "share?",
    "against_evidence": "share?",
    "gap": "share?",
    "decided_by_public_information": "count",
}
_INSIDE: Mapping[str, Mapping[str, str]] = {
    "limits": dict.fromkeys(_LIMITS, "number?"),
    "decided_again": {"papers": "count", "corrected": "count"},
}
_FIGURES_INSIDE: Mapping[str, Mapping[str, str]] = {
    "calibration_fit": {
        **dict.fromkeys(("predicted_mean", "observed_mean", "predicted_sd", "observed_sd"), "number"),
        **dict.fromkeys(("shift", "stretch", "shape"), "number"),
        **dict.fromkeys(("following", "mirrored"), "number?"),
        **dict.fromkeys(("impossible", "odd"), "count"),
        "verdict": "text",
    },
    "decided_again": {
        "papers": "count",
        "corrected": "count",
        "epsilon": "limit",
        "multiplier": "number",
        "note": "text",
    },
}
_SOMETIMES: Mapping[str, Mapping[str, str]] = {
    "selection": {
        "accept": "level",
        "wait_list": "level",
        "waiting": "count",
        "bar_for": "level",
        "expected_wrong_private": "share?",
    },
    "calibration_scale": {"shift": "number", "stretch": "number"},
    "scale": {"lowest_score": "number", "highest_score": "number", "possible_scores": "numbers?"},
    "pools": {
        **dict.fromkeys(("people", "smallest", "median", "largest", "with_others"), "count"),
        "reviews_per_paper": "numbers",
    },
    "requested": {
        "accept_rate": "number?",
        "bar": "number?",
        "accept": "level?",
        "wait_list": "level?",
    },
}
_RULES = {
    "count": "must be a whole number of at least 0",
    "number": "must be a number",
    "share": "must be a number from 0 to 1",
    "limit": 'must be a number of at least 0, or "inf"',
    "text": "must be text",
    "texts": "must be a list of texts",
    "numbers": "must be a list of numbers",
    "level": "must be a number, or one for each track",
}


def read_certificate(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The certificate of a release; an `InputError` lists all that is wrong with it.

    `path` is the file, or the folder of the release, which has it as `certificate.json`. An epsilon without
    limit is written "inf", and is infinity here.

    >>> from tempfile import TemporaryDirectory
    >>> from blindcal import Guarantee, Request, decide, make_key, read_inputs
    >>> folder = TemporaryDirectory()
    >>> place = Path(folder.name)
    >>> _ = (place / "reviews.csv").write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\n")
    >>> _ = (place / "reviewers.csv").write_text("reviewer,slope,offset,noise\\nada,1,6,1\\nben,1,5,1\\n")
    >>> inputs = read_inputs(place / "reviews.csv", place / "reviewers.csv", "everyone")
    >>> _ = make_key(place / "key")
    >>> _ = decide(inputs, Request(Guarantee("public"), bar=0.0), place / "key", place / "out")
    >>> read_certificate(place / "out")["papers"], read_certificate(place / "out")["added_success"]
    (2, 0.0)
    >>> folder.cleanup()
    """
    file = Path(path) / NAME if Path(path).is_dir() else Path(path)
    return certificate_of(read_bytes(file), str(file))


def certificate_of(data: bytes, file: str) -> dict[str, Any]:
    """The certificate in the `data` of a `file`, as `read_certificate` returns it."""
    content = parse_json(decode(data, file), file)
    if not isinstance(content, dict) or "key_fingerprint" not in content:
        raise InputError(f"{file} must be a certificate that blindcal wrote")
    if problems := [Problem(file, None, name, rule) for name, rule in _problems(content)]:
        raise refuse(problems)
    if not has_figures(content):
        return content
    again = content["decided_again"]
    return {
        **content,
        "epsilon": float(content["epsilon"]),
        "decided_again": {**again, "epsilon": float(again["epsilon"])},
    }


def has_figures(certificate: Mapping[str, Any]) -> bool:
    """Whether a `certificate` has figures that depend on the scores: not where these are confidential.

    >>> has_figures({"scores": "confidential", "guarantee": "steady"})
    False
    """
    return "success" in certificate or certificate.get("scores") != "confidential"


def guarantee_of(certificate: Mapping[str, Any]) -> Guarantee:
    """The guarantee that a `certificate` states.

    >>> guarantee_of({"guarantee": "steady", "limits": {"epsilon": 2.0}}).epsilon
    2.0
    """
    limits = {name: certificate["limits"].get(name) for name in _LIMITS}
    return Guarantee(certificate["guarantee"], **{**limits, "added_success": limits["added_success"] or 0.0})


def _problems(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each field that is missing or not what it must be, and the rule."""
    figures = has_figures(content)
    yield from _wrong_fields(content, {**_ALWAYS, **(_FIGURES if figures else {})}, "")
    inside = {**_INSIDE, **(_FIGURES_INSIDE if figures else {})}
    inside |= {name: fields for name, fields in _SOMETIMES.items() if name in content}
    for name, fields in inside.items():
        part = content.get(name)
        if isinstance(part, Mapping):
            yield from _wrong_fields(part, fields, f"{name}.")
        else:
            yield name, "must be an object"
    try:
        if isinstance(content.get("limits"), Mapping):
            guarantee_of(content)
    except (InputError, KeyError, TypeError):
        yield "guarantee", "must be a guarantee that blindcal knows, with limits that it can have"


def _wrong_fields(
    content: Mapping[str, Any], fields: Mapping[str, str], within: str
) -> Iterator[tuple[str, str]]:
    for name, kind in fields.items():
        value, plain = content.get(name), kind.rstrip("?")
        if (value is None and plain == kind) or (value is not None and not _is(plain, value)):
            yield f"{within}{name}", _RULES[plain]


def _is(kind: str, value: object) -> bool:
    if isinstance(value, Mapping):
        return kind == "level" and all(_is("number", one) for one in value.values())
    if isinstance(value, list):
        one = {"texts": "text", "numbers": "number"}.get(kind)
        return one is not None and all(_is(one, item) for item in value)
    if kind == "text" or isinstance(value, str):
        return isinstance(value, str) and (kind == "text" or (kind == "limit" and value == "inf"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    least, most = {"share": (0.0, 1.0), "limit": (0.0, inf), "count": (0.0, inf)}.get(kind, (-inf, inf))
    return (
        kind not in ("texts", "numbers")
        and least <= value <= most
        and (kind != "count" or type(value) is int)
    )


# A share of wrong decisions below this is rounding.
_ROUNDING = 1e-6
_VERDICTS = {
    FITS: "The calibration predicts scores like those that were given.",
    DOUBTFUL: "The calibration predicts scores that differ from those that were given: doubt the expected "
    "errors, and the chances of naming authors.",
    HOPELESS: "The calibration does not predict scores like those that were given: the figures of this "
    "certificate mean little.",
}


_READERS = {
    "public": "Everyone may see the scores of all papers.",
    "confidential": "Not everyone may see the scores: figures that depend on them are not published. "
    f"{UNSEEN}",
}


@dataclass(frozen=True)
class Line:
    """A field of a certificate: its `name`, such as `calibration_fit.shift`, its `value` as people write it,
    and a `sentence` that says what that means."""

    name: str
    value: str
    sentence: str


@dataclass(frozen=True)
class Explained:
    """A part of the certificate: its `title` says what it is about, its `lines` have one field each."""

    title: str
    lines: tuple[Line, ...]


def explained(certificate: Mapping[str, Any]) -> tuple[Explained, ...]:
    """Every field of a certificate in plain language, in the order in which people ask.

    `certificate` is what `read_certificate` returns.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from blindcal import Guarantee, Request, decide, make_key, read_inputs
    >>> from blindcal.report import read_certificate
    >>> folder = TemporaryDirectory()
    >>> place = Path(folder.name)
    >>> _ = (place / "reviews.csv").write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\n")
    >>> _ = (place / "reviewers.csv").write_text("reviewer,slope,offset,noise\\nada,1,6,1\\nben,1,5,1\\n")
    >>> inputs = read_inputs(place / "reviews.csv", place / "reviewers.csv", "everyone")
    >>> _ = make_key(place / "key")
    >>> _ = decide(inputs, Request(Guarantee("public"), bar=0.0), place / "key", place / "out")
    >>> line = explained(read_certificate(place / "out"))[2].lines[2]
    >>> line.name, line.value, line.sentence
    ('added_success', '0 points', 'The decisions add nothing to that chance.')
    >>> folder.cleanup()
    """
    parts: tuple[tuple[str, Callable[[Mapping[str, Any]], Iterable[Line]]], ...] = (
        ("What was decided", _decided),
        ("What was promised", _promised),
        ("What the decisions reveal", _revealed),
        ("How good the decisions are", _wrong),
        ("Does the calibration fit the scores", _fit),
        ("What identifies this certificate", _made),
    )
    if not has_figures(certificate):
        parts = tuple((title, lines) for title, lines in parts if lines not in (_revealed, _wrong, _fit))
    return tuple(Explained(title, tuple(lines(certificate))) for title, lines in parts)


def _decided(content: Mapping[str, Any]) -> Iterable[Line]:
    papers, again = content["papers"], content["decided_again"]
    yield Line("conference", content["conference"], "The name of the conference, in its own records.")
    yield Line("release", str(content["release"]), _release(content["release"]))
    yield Line("papers", f"{papers:,}", f"{count(papers, 'paper')} decided in all.")
    yield Line(
        "reviews", f"{content['reviews']:,}", f"They have {count(content['reviews'], 'review')} in all."
    )
    accepted = (
        f"{count(content['accepted'], 'paper')} accepted, {percent(content['accepted'] / papers)} of all."
    )
    yield Line("accepted", f"{content['accepted']:,}", accepted)
    if "requested" in content:
        yield from _requested(content["requested"])
    if "selection" in content:
        yield from _selection(content)
    if content.get("scores") is not None:
        yield Line("scores", content["scores"], _READERS.get(content["scores"], "Who may see the scores."))
    if "bar" in content:
        yield Line(
            "bar",
            bar_words(content["bar"]),
            "Accepting a paper was correct if its quality is above this. Quality is measured in standard "
            "deviations over papers: 0 is the average paper, and 1 is better than five in six.",
        )
    better = f"The {'highest' if content['better'] == 'high' else 'lowest'} scores are the best ones."
    yield Line("better", content["better"], better)
    if "scale" in content:
        yield from _scale(content["scale"])
    if "pools" in content:
        yield from _pools(content["pools"])
    yield from _again(again)


def _again(again: Mapping[str, Any]) -> Iterable[Line]:
    if not again["papers"] and not again["corrected"]:
        yield Line("decided_again.papers", "0", "No paper was decided twice.")
        return
    papers = count(again["papers"], "paper")
    twice = f"{papers} decided again, from public data alone. {again.get('note', '')}"
    yield Line("decided_again.papers", str(again["papers"]), twice.rstrip())
    corrected = count(again["corrected"], "paper")
    stand = f"Of {corrected} the decision stands, although pools or calibration were corrected since."
    yield Line("decided_again.corrected", str(again["corrected"]), stand)
    if "epsilon" in again:
        shift = factor(again["epsilon"])
        odds = f"Under corrected data, the coin of one of these shifts odds by a factor of up to {shift}."
        if shift == "1":
            odds = "The decisions on these shift nobody's odds."
        yield Line("decided_again.epsilon", _limit(again["epsilon"]), odds)
        times = number_text(round(again["multiplier"], 4))
        guess = f"And it makes a correct guess at most {times} times as likely."
        yield Line("decided_again.multiplier", times, guess)


def _release(number: int) -> str:
    if number == 1:
        return "These are the first decisions that were published."
    return f"These decisions replace those of {count(number - 1, 'earlier release')}."


def _requested(asked: Mapping[str, Any]) -> Iterable[Line]:
    if asked.get("accept_rate") is not None:
        rate = asked["accept_rate"]
        yield Line(
            "requested.accept_rate",
            percent(rate),
            f"The chair requested that about {percent(rate)} be accepted. This set the bar; each paper is "
            "decided by itself, so the number accepted varies a little around it.",
        )
    if asked.get("bar") is not None:
        bar = asked["bar"]
        yield Line("requested.bar", bar_words(bar), "The chair set the bar; no number was requested.")
    if asked.get("accept") is not None:
        exactly = "The chair requested exactly this number of accepted papers."
        yield Line("requested.accept", _number(asked["accept"]), exactly)
        waiting = "This number of papers may follow them, in the order of the wait list."
        yield Line("requested.wait_list", _number(asked["wait_list"] or 0), waiting)


def _selection(content: Mapping[str, Any]) -> Iterable[Line]:
    selection = content["selection"]
    yield Line(
        "selection.accept",
        _number(selection["accept"]),
        "Exactly this number of papers is accepted: the best by their private decisions, which stay sealed.",
    )
    yield Line(
        "selection.wait_list", _number(selection["wait_list"]), "The wait list has this number of places."
    )
    yield Line(
        "selection.waiting",
        f"{selection['waiting']:,}",
        f"{count(selection['waiting'], 'paper')} on the wait list.",
    )
    if "expected_wrong_private" in selection:
        yield Line(
            "selection.expected_wrong_private",
            percent(selection["expected_wrong_private"]),
            "The expected share of wrong decisions if the private decisions had been published as they are. "
            f"The list that was published has {percent(content['expected_wrong'])}.",
        )
    yield Line("selection.bar_for", _number(selection["bar_for"]), _bar_for(selection))


def _bar_for(selection: Mapping[str, Any]) -> str:
    if selection["bar_for"] == selection["accept"]:
        return "The bar was set for this number of papers."
    return (
        "The bar was set for this number of papers, and another is accepted. A wrong decision is still "
        "one on the wrong side of that bar; what would be decided by the bar itself is not compared."
    )


def _number(value: float | Mapping[str, float]) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{number_text(one)} in {track}" for track, one in value.items())
    return number_text(value)


def _scale(scale: Mapping[str, Any]) -> Iterable[Line]:
    ends = number_text(scale["lowest_score"]), number_text(scale["highest_score"])
    yield Line("scale.lowest_score", ends[0], f"The lowest score that a reviewer gave is {ends[0]}.")
    yield Line("scale.highest_score", ends[1], f"The highest score that a reviewer gave is {ends[1]}.")
    possible = scale["possible_scores"]
    if possible is None:
        said = "Any number can be given as a score: none was taken as rounded."
        yield Line("scale.possible_scores", "any", said)
    else:
        listed = ", ".join(map(number_text, possible))
        said = f"Reviewers can give {count(len(possible), 'score')}: scores are rounded to these."
        yield Line("scale.possible_scores", listed, said)


def _pools(pools: Mapping[str, Any]) -> Iterable[Line]:
    people, per = pools["people"], pools["reviews_per_paper"]
    yield Line("pools.people", f"{people:,}", f"{people:,} people may have reviewed at least one paper.")
    for name, words in (("smallest", "fewest"), ("largest", "most")):
        said = f"The paper with the {words} candidates has {count(pools[name], 'candidate')}."
        yield Line(f"pools.{name}", f"{pools[name]:,}", said)
    middle = f"Half of the papers have at most {count(pools['median'], 'candidate')}."
    yield Line("pools.median", f"{pools['median']:,}", middle)
    others = pools["with_others"]
    said = (
        f"For {count(others, 'paper')}, someone who is not listed by name may have reviewed too."
        if others
        else "Everyone who may have reviewed is listed by name."
    )
    yield Line("pools.with_others", f"{others:,}", said)
    shown_per = " to ".join(dict.fromkeys(map(number_text, per)))
    yield Line("pools.reviews_per_paper", shown_per, f"Each paper has {shown_per} reviews.")


def _promised(content: Mapping[str, Any]) -> Iterable[Line]:
    guarantee = guarantee_of(content)
    first, *more = promises(guarantee, hidden=not has_figures(content))
    yield Line("guarantee", shown(guarantee), first)
    names = ("epsilon", "multiplier", "posterior_cap", "never_against")
    given = [name for name in names if getattr(guarantee, name) is not None]
    for name, sentence in zip(given, more, strict=True):
        yield Line(f"limits.{name}", number_text(getattr(guarantee, name)), sentence)
    if guarantee.added_success:
        yield Line(
            "limits.added_success",
            number_text(guarantee.added_success),
            f"The chair allowed {percent(guarantee.added_success)} of authors to be named beyond those that "
            "the scores alone name.",
        )
    if absent := [name.replace("_", " ") for name in names if name not in given]:
        yield Line("limits", "none", f"No further limit was requested on {_listed(absent)}.")


def _revealed(content: Mapping[str, Any]) -> Iterable[Line]:
    before, after, full = (
        content[name] for name in ("success_scores_only", "success", "success_fully_calibrated")
    )
    yield Line(
        "success_scores_only",
        percent(before),
        "Someone who knows all scores, how each reviewer scores and who might have reviewed what, and "
        f"nothing more, names the author of a review correctly in {percent(before)} of tries, before any "
        "decision is known.",
    )
    yield Line("success", percent(after), f"Once they know all decisions, in {percent(after)} of tries.")
    yield Line("added_success", points(content["added_success"]), _added(content["added_success"]))
    yield Line(
        "success_fully_calibrated",
        percent(full),
        f"Had papers been decided with no regard for privacy, it would be {percent(full)} of tries.",
    )
    if content.get("added_share_of_full") is not None:
        share = content["added_share_of_full"]
        said = f"The decisions reveal {percent(share)} of what decisions without protection would add."
        yield Line("added_share_of_full", percent(share), said)
    rise = content["largest_rise"]
    yield Line(
        "largest_rise",
        points(rise),
        "To them, no decision on any paper makes the likeliest author of any of its reviews likelier."
        if rise == 0.0
        else "To them, the decision that reveals most makes the likeliest author of some review likelier by "
        f"{points(rise)}.",
    )
    yield from _largest(content)
    yield Line(
        "epsilon", _limit(content["epsilon"]), _odds(content["epsilon"], listed="selection" in content)
    )
    yield Line(
        "multiplier",
        number_text(round(content["multiplier"], 4)),
        "Whatever someone suspected before, their chance of a correct guess "
        + (
            "does not grow"
            if content["multiplier"] == 1
            else f"becomes at most {content['multiplier']:.3g} times as large"
        )
        + ", on average over the decisions that a paper can get.",
    )


def _largest(content: Mapping[str, Any]) -> Iterable[Line]:
    alone, most = content.get("largest_posterior_scores_only"), content["largest_posterior"]
    if alone is not None:
        yield Line(
            "largest_posterior_scores_only",
            percent(alone),
            f"From the scores alone, they can be {percent(alone)} sure of the author of some review.",
        )
    yield Line(
        "largest_posterior",
        percent(most),
        f"With the decisions, they can be at most {percent(most)} sure of the author of any review"
        + (
            ", whichever way its paper is decided."
            if alone is None
            else f" ({percent(alone)} from the scores alone)."
        ),
    )


def points(share: float) -> str:
    """A difference of two shares, `share` being at least 0, in percentage points.

    >>> points(0.0), points(0.0123), points(1e-12)
    ('0 points', '1.23 points', 'less than 0.01 points')
    """
    if share == 0.0:
        return "0 points"
    return f"{100 * share:.2f} points" if share >= 5e-5 else "less than 0.01 points"


def _added(share: float) -> str:
    if share == 0.0:
        return "The decisions add nothing to that chance."
    return f"The decisions add {points(share)} (of 100) to that chance."


def _odds(epsilon: float, *, listed: bool) -> str:
    if epsilon == 0.0:
        return "No decision changes the odds of anyone who sees the scores, whatever else they know."
    if isinf(epsilon):
        return "There is no limit on how far a decision can shift the odds of someone who knows more."
    return (
        "Whatever someone suspects, no single decision changes their odds by more than a factor of "
        f"{factor(epsilon)}: a suspicion of 10 in 100 becomes {100 * after_odds(0.1, epsilon):.0f} in 100 at "
        f"most, one of 50 becomes {100 * after_odds(0.5, epsilon):.0f}."
        + (
            " Places on a list depend on all papers: this is for someone who takes papers one at a time."
            if listed
            else ""
        )
    )


def _limit(value: float) -> str:
    return "no limit" if isinf(value) else number_text(value)


def _wrong(content: Mapping[str, Any]) -> Iterable[Line]:
    yield _wrong_line(
        content,
        "expected_wrong_raw",
        "Decided by their mean scores, {} papers are expected to be decided wrongly.",
    )
    yield _wrong_line(content, "expected_wrong", "As they were decided, {} papers are expected to be wrong.")
    if "expected_wrong_fully_calibrated" in content:
        yield from _by_the_bar(content)
    same = content["decided_by_public_information"]
    yield Line(
        "decided_by_public_information",
        f"{same:,}",
        f"{count(same, 'paper')} decided the same way whoever reviewed them.",
    )


def _wrong_line(content: Mapping[str, Any], name: str, sentence: str) -> Line:
    share = content[name]
    return Line(name, percent(share), sentence.format(expected(share * content["papers"])))


def _by_the_bar(content: Mapping[str, Any]) -> Iterable[Line]:
    """What other ways to decide by the bar would cost, and what the promise costs."""
    yield _wrong_line(content, "expected_wrong_public", "Decided by public information alone, {} would be.")
    yield _wrong_line(
        content,
        "expected_wrong_fully_calibrated",
        "Decided with full calibration, which would reveal reviewers, {} would be: reviews are noisy, and "
        "some errors cannot be avoided.",
    )
    yield _wrong_line(
        content,
        "against_evidence",
        "Privacy has a price: {} papers are expected to be decided against what their own reviewers' "
        "corrected scores indicate. Which ones is known only to those who hold the sealed record.",
    )
    gap = content["gap"]
    yield Line(
        "gap",
        "0" if gap < _ROUNDING else percent(gap),
        "No other decisions that keep the promise have fewer expected errors, but for rounding."
        if gap < _ROUNDING
        else f"Large pools are approximated: the best possible decisions that keep the promise have up to "
        f"{expected(gap * content['papers'])} fewer wrong ones.",
    )


def _fit(content: Mapping[str, Any]) -> Iterable[Line]:
    fit = content["calibration_fit"]
    verdict = _VERDICTS.get(fit["verdict"], "How well the calibration predicts the scores.")
    yield Line("calibration_fit.verdict", fit["verdict"], verdict)
    for name, what in (("mean", "mean"), ("sd", "standard deviation")):
        one, other = (f"{fit[f'{kind}_{name}']:.2f}" for kind in ("predicted", "observed"))
        yield Line(
            f"calibration_fit.predicted_{name}", one, f"The scores were predicted to have {what} {one}."
        )
        yield Line(
            f"calibration_fit.observed_{name}", other, f"The scores that were given have {what} {other}."
        )
    yield Line(
        "calibration_fit.shift",
        f"{fit['shift']:+z.2f}",
        f"The mean score is {abs(fit['shift']):.2f} standard deviations "
        f"{'above' if fit['shift'] >= 0 else 'below'} what was predicted.",
    )
    stretch = f"The scores vary {fit['stretch']:.2f} times as much as predicted."
    yield Line("calibration_fit.stretch", f"{fit['stretch']:.2f}", stretch)
    yield Line(
        "calibration_fit.shape",
        percent(fit["shape"]),
        f"The share of scores up to any value is within {percent(fit['shape'])} of the prediction.",
    )
    if fit.get("following") is not None:
        yield Line(
            "calibration_fit.following",
            f"{fit['following']:.2f}",
            "Papers with generous candidates get higher scores: 1 is as much as predicted, 0 is not at all.",
        )
    if fit.get("mirrored") is not None:
        yield Line(
            "calibration_fit.mirrored",
            f"{fit['mirrored']:.2f}",
            "Evidence that strict and generous reviewers were exchanged (a logarithm): below 0 speaks "
            "against it.",
        )
    yield Line(
        "calibration_fit.impossible",
        str(fit["impossible"]),
        f"{count(fit['impossible'], 'score')} so far out that no candidate for the paper would give it.",
    )
    yield Line(
        "calibration_fit.odd",
        str(fit["odd"]),
        f"{count(fit['odd'], 'candidate')} would hardly give scores like these.",
    )
    if "calibration_scale" in content:
        scale = content["calibration_scale"]
        shift = "The calibration was moved by this much, toward the better end, to fit this year's scores."
        yield Line("calibration_scale.shift", number_text(scale["shift"]), shift)
        stretch = "The calibration was stretched by this factor to fit this year's scores."
        yield Line("calibration_scale.stretch", number_text(scale["stretch"]), stretch)


def _made(content: Mapping[str, Any]) -> Iterable[Line]:
    if content.get("format") is not None:
        said = "The format of the certificate: which fields it has, and what they mean."
        yield Line("format", str(content["format"]), said)
    yield Line(
        "commitment",
        content["commitment"],
        "Fixes the key and the whole input without revealing them. If it was published before the draw, "
        "nobody can have chosen the coins afterward.",
    )
    yield Line(
        "key_fingerprint",
        content["key_fingerprint"],
        "Says which key was used, and nothing else about it.",
    )
    yield Line(
        "release_counter",
        str(content["release_counter"]),
        f"This is release {content['release_counter']} made with that key, over all its conferences.",
    )


def _listed(names: Sequence[str]) -> str:
    """
    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b or c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
