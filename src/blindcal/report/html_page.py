"""The report: what was published, and the survey, as one HTML page that needs nothing else.

The page has no script and loads nothing: a policy in its head forbids both. Its numbers come from the
certificate, the decisions and the public side of the conference, so it is the same whoever wrote the reviews.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.resources import files
from itertools import combinations
from math import ceil, floor, inf, isinf
from typing import TYPE_CHECKING, Any

from blindcal.errors import InputError
from blindcal.exporters.formats import WAITING, DecidedPaper
from blindcal.io.cells import count
from blindcal.planning.advice import ADVICE, LEAVE, LOWER, RAISE, TIE_LOWER, TIE_RAISE
from blindcal.planning.calibration_check import FITS
from blindcal.planning.guarantee_menu import Menu
from blindcal.planning.level_menu import LevelAnswer
from blindcal.policy.guarantee import Guarantee
from blindcal.report.charts import WIDTH, Bar, Histogram, Span, bars, histogram, spans
from blindcal.report.guarantee_survey import Survey
from blindcal.report.paper_table import DRAW, HOW, PaperTable
from blindcal.report.wording import (
    MENU_HEADINGS,
    MENU_NOTE,
    UNSEEN,
    about,
    added_text,
    adversary_words,
    advice,
    after_odds,
    assumptions_of,
    bar_words,
    certified_conditions,
    certified_guarantee,
    certified_promises,
    expected,
    explain_certificate,
    factor,
    gain_range,
    guarantee_words,
    has_figures,
    level_table,
    menu_rows,
    papers_text,
    percent,
    points,
)

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_LISTED = 1000
"""More papers than this are not listed one by one."""
_SUSPICIONS = (0.01, 0.1, 0.25, 0.5, 0.9)
_KINDS = ("accepted", "not accepted")
# More words than this before a colon are no title.
_LEAD = 5


@dataclass(frozen=True, eq=False)
class Report:
    """What a page is about, for everyone or for the chair. Neither says who reviewed what."""

    # What `read_certificate` returns; before the draw, the fields that it would have
    certificate: Mapping[str, Any]
    decided: tuple[DecidedPaper, ...] = ()  # the papers as `read_decided` returns them; none before the draw
    # Of the public side of the conference; without it the page has no menu and no gray zone
    survey: Survey | None = None
    # Whether the page is for the chair: it then also lists papers with titles, mean scores and chances, and
    # is marked so everywhere
    confidential: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)  # by paper; only a confidential page shows them
    # What the chair should know, a sentence each; only a confidential page shows them
    notes: tuple[str, ...] = ()
    # If papers were decided by this year's evidence, and readers may see the scores
    level: LevelFigures | None = None


@dataclass(frozen=True)
class LevelFigures:
    """What a release decided by this year's evidence has beside its decisions. It depends on the scores."""

    table: PaperTable  # its papers, with how each was decided
    answer: LevelAnswer  # what the chosen guarantee gains, and what others would


def page(report: Report) -> str:
    """The HTML of a report, in one file that loads nothing; needs Jinja2."""
    if has_figures(report.certificate):
        return _rendered("report.html", **facts(report))
    return _rendered("decisions.html", **{**_common(report), **_level_facts(report)})


def table_page(table: PaperTable) -> str:
    """The HTML of a table of papers, for chairs: one file whose only script is its own; needs Jinja2."""
    script = _template_file("papers.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    content = {"content": table.certificate, "papers": count(len(table.papers), "paper"), "table": table}
    guarantee = guarantee_words(table.guarantee)
    return _rendered(
        "papers.html", confidential=True, script=script, digest=digest, guarantee=guarantee, **content
    )


def page_templates(*packages: str) -> Environment:
    """The templates of this package, after those of other `packages`, as Jinja2 has them; needs Jinja2."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise InputError("a page needs Jinja2: pip install 'blindcal[cli]'") from None
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "blindcal.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "points": points, "counted": count, "grouped": "{:,}".format}
    made.globals |= {"width": WIDTH}
    return made


def _rendered(template: str, **content: Any) -> str:
    return page_templates().get_template(template).render(style=_template_file("report.css"), **content)


def _template_file(name: str) -> str:
    return files("blindcal.report").joinpath("templates", name).read_text(encoding="utf-8")


def _common(report: Report) -> dict[str, Any]:
    content, guarantee = report.certificate, certified_guarantee(report.certificate)
    advised = content.get("publishes") == "advice"
    tossed = advised or bool(report.decided)
    hidden, by_evidence = content["scores"] == "confidential", content["source"] != "past"
    return {
        "content": content,
        "tossed": tossed,
        "advised": advised,
        # Whether readers see decisions: if advice is published, the chair alone does
        "decisions": any(decided.decision for decided in report.decided),
        "confidential": report.confidential,
        "hidden": hidden,
        "by_evidence": by_evidence,
        "papers": count(content["papers"], "paper"),
        "reviews": count(content["reviews"], "review"),
        "guarantee": guarantee_words(guarantee),
        "guarantee_name": guarantee.name,
        "promises": certified_promises(content),
        "conditions": certified_conditions(content),
        "against_whom": adversary_words(guarantee, listed="selection" in content, calibrated=not by_evidence),
        # What holds for readers who do not see the scores; odds says itself for whom it is
        "unseen": UNSEEN if hidden and not by_evidence and not has_figures(content) else "",
        "suspicion": _suspicion(guarantee.epsilon or 0.0),
        "lots": guarantee.name not in ("public", "none"),
        "chance": _chance(guarantee),
        # Whether authors can look up whether their papers were drawn
        "told_by_table": report.level is not None and not hidden and content["papers"] <= MOST_LISTED,
        "rows": report.decided[:MOST_LISTED],
        "listed": MOST_LISTED,
        "waiting": sum(decided.decision == WAITING for decided in report.decided),
        "explained": explain_certificate(content) if tossed else (),
        "assumptions": [
            _lead(assumption) for assumption in assumptions_of(content["assumptions"], guarantee)
        ],
        "about": None,
        "titles": report.titles if report.confidential else {},
    }


def _chance(guarantee: Guarantee) -> str:
    """With what chance a draw follows the corrected scores; empty where more than its epsilon shapes it.

    >>> _chance(Guarantee("odds")), _chance(Guarantee("public"))
    ('95.3 %', '')
    """
    alone = guarantee.name == "odds" and {*guarantee.limits} == {"epsilon"}
    return percent(after_odds(0.5, guarantee.epsilon or 0.0)) if alone else ""


def _suspicion(epsilon: float) -> str:
    """What a suspicion of 10 in 100 can become by one decision; empty if it stays, or if there is no limit.

    >>> _suspicion(3.0), _suspicion(0.0), _suspicion(inf)
    ('69', '', '')
    """
    return f"{100 * after_odds(0.1, epsilon):.0f}" if 0.0 < epsilon < inf else ""


def _level_facts(report: Report) -> dict[str, Any]:
    """What a page says of papers that were decided by this year's evidence, if readers see the scores."""
    if report.level is None:
        return {"level": None, "how": HOW}
    table, answer = report.level.table, report.level.answer
    headings, lines, note = level_table(answer)
    chosen = [choice == answer.choice for choice in answer.menu.choices]
    means = {paper.paper: paper.mean for paper in table.papers}
    level = {
        "drawn": table.number(DRAW),
        "follows": table.follows,
        "changed": sum(paper.advice in (RAISE, LOWER) for paper in report.decided),
        "tied": sum(paper.advice in (TIE_RAISE, TIE_LOWER) for paper in report.decided),
        "gain": "" if answer.from_file else gain_range(answer),
        "changes": _change_bars(report.decided),
        "chart": _score_chart(report, means),
        "headings": headings,
        "menu": [(name, cells, own) for (name, *cells), own in zip(lines, chosen, strict=True)],
        "note": note,
    }
    return {"level": level, "how": HOW, "rows": table.papers[:MOST_LISTED]}


def facts(report: Report) -> dict[str, Any]:
    """Everything that the page of a `report` says, in words or as geometry, by the names of its template."""
    content, survey = report.certificate, report.survey
    papers, tossed = content["papers"], bool(report.decided) or content.get("publishes") == "advice"
    menu, chosen = (None, None) if survey is None else (survey.menu, survey.chosen)
    if menu is not None and chosen is not None:
        menu = _with_certified(menu, chosen, content)
    names = ("", "_raw", "_fully_calibrated")
    wrong = {name: content[f"expected_wrong{name}"] * papers for name in names}
    against_evidence = content["against_evidence"] * papers
    return {
        **_common(report),
        "notes": report.notes if report.confidential else (),
        "bar": bar_words(content["bar"]),
        "number": {name or "_now": text for name, text in _side_by_side(wrong).items()},
        "saved": wrong["_raw"] - wrong[""],
        "saved_text": expected(abs(wrong["_raw"] - wrong[""])),
        "cost": expected(max(wrong[""] - wrong["_fully_calibrated"], 0.0)),
        "against": expected(against_evidence),
        "added": added_text(content["added_success"]),
        "about": _in_letters(wrong) | {"against": about(against_evidence)},
        "wrong_bars": _wrong_bars(wrong, tossed),
        "named_bars": _named_bars(content, tossed),
        "odds": _odds(content["epsilon"]),
        "suspicion": _suspicion(content["epsilon"]),
        "factor": None if isinf(content["epsilon"]) else factor(content["epsilon"]),
        "spans": score_spans(content["calibration_fit"]),
        "fits": content["calibration_fit"]["verdict"] == FITS,
        "survey": survey,
        "menu_bars": None if menu is None or chosen is None else menu_bars(menu, chosen),
        "advice": None if menu is None or chosen is None else advice(menu, chosen),
        "gray": None if survey is None else _gray(report, survey),
        "score_chart": None if survey is None else _score_chart(report, _means(survey)),
        "change_bars": _change_bars(report.decided),
        "changed": sum(decided.advice in (RAISE, LOWER) for decided in report.decided),
        "tied": sum(decided.advice in (TIE_RAISE, TIE_LOWER) for decided in report.decided),
        "scale": _scale(content),
        "percent": percent,
        "menu_headings": MENU_HEADINGS,
        "menu_note": MENU_NOTE,
        "points": points,
        "kinds": _KINDS if any(paper.decision for paper in report.decided) else ("papers",),
    }


def _lead(text: str) -> tuple[str, str]:
    """The first words of an assumption, which say what it is about, and the rest.

    >>> _lead("Not covered: texts"), _lead("Reviewers are taken as independent given all of this: so")[0]
    (('Not covered:', 'texts'), '')
    """
    lead, colon, rest = text.partition(": ")
    return (f"{lead}:", rest) if colon and len(lead.split()) <= _LEAD else ("", text)


def _side_by_side(wrong: Mapping[str, float]) -> dict[str, str]:
    """Numbers of papers as they are shown beside their differences, with digits enough for these.

    >>> _side_by_side({"_raw": 5.2, "": 4.9}), _side_by_side({"_raw": 5.04, "": 4.76})
    ({'_raw': '5.2', '': '4.9'}, {'_raw': '5.04', '': '4.76'})
    """
    adds_up = all(
        round(abs(round(a, 1) - round(b, 1)), 1) == round(abs(a - b), 1)
        for a, b in combinations(wrong.values(), 2)
    )
    return {
        name: expected(value) if adds_up or value >= 1000 else f"{value:.2f}" for name, value in wrong.items()
    }


def _scale(content: Mapping[str, Any]) -> dict[str, str] | None:
    """How far the calibration was moved to this year's scores; None where it was not.

    >>> _scale({"calibration_scale": {"shift": 0.1712, "stretch": 0.89}}), _scale({})
    ({'shift': '+0.17', 'stretch': '0.89'}, None)
    """
    if "calibration_scale" not in content:
        return None
    moved = content["calibration_scale"]
    return {"shift": f"{moved['shift']:+.2f}", "stretch": f"{moved['stretch']:.2f}"}


def _in_letters(wrong: Mapping[str, float]) -> dict[str, str]:
    """Expected wrong decisions as letters say them: roughly, unless that hides what differs."""
    rough, shown = ({words(value) for value in wrong.values()} for words in (about, expected))
    words = about if len(rough) == len(shown) else expected
    return {name or "_now": words(value) for name, value in wrong.items()}


def _with_certified(menu: Menu, chosen: Guarantee, content: Mapping[str, Any]) -> Menu:
    """The menu with the exact figures of the certificate in the place of their estimates from some papers.

    Other guarantees keep the gains that were estimated for them.
    """
    raw, now, full = (
        content[f"expected_wrong{name}"] * content["papers"] for name in ("_raw", "", "_fully_calibrated")
    )
    before, most = content["success_scores_only"], raw - full
    choices = []
    for choice in menu.choices:
        own = choice.guarantee == chosen
        gain, error = (raw - now, 0.0) if own else (choice.gain, choice.gain_se)
        added = (content["added_success"], 0.0) if own else (choice.added, choice.added_se)
        kept = (gain / most, error / most) if most > 0.0 else (choice.kept, choice.kept_se)
        choices.append(
            replace(
                choice,
                wrong=raw - gain,
                gain=gain,
                kept=kept[0],
                added=added[0],
                wrong_se=error,
                gain_se=error,
                kept_se=kept[1],
                added_se=added[1],
            )
        )
    return replace(
        menu,
        choices=tuple(choices),
        wrong_raw=raw,
        wrong_fully_calibrated=full,
        gain_fully_calibrated=most,
        success_scores_only=before,
        added_fully_calibrated=content["success_fully_calibrated"] - before,
        wrong_raw_se=0.0,
        wrong_fully_calibrated_se=0.0,
        gain_fully_calibrated_se=0.0,
        success_scores_only_se=0.0,
        added_fully_calibrated_se=0.0,
    )


def _wrong_bars(wrong: Mapping[str, float], tossed: bool) -> tuple[Bar, ...]:
    """Wrong decisions avoided, compared with mean scores: how many, and how many are left."""
    named = (
        ("", "as decided" if tossed else "as planned", True),
        ("_fully_calibrated", "with full calibration, which would reveal reviewers", False),
    )
    gains, left = {name: wrong["_raw"] - wrong[name] for name, _, _ in named}, _side_by_side(wrong)
    return bars(
        (label, gains[name], papers_text(gains[name]), own, (left[name],)) for name, label, own in named
    )


def _named_bars(content: Mapping[str, Any], tossed: bool) -> tuple[Bar, ...]:
    named = (
        ("success_scores_only", "from the scores alone, before any decision", False),
        ("success", "with the decision on its paper" + ("" if tossed else ", as planned"), True),
        ("success_fully_calibrated", "if papers were decided with no protection", False),
    )
    return bars((label, content[name], percent(content[name]), own, ()) for name, label, own in named)


def _odds(epsilon: float) -> list[tuple[str, str, str]]:
    if isinf(epsilon):
        return []
    return [
        (
            f"{100 * suspicion:.0f} %",
            percent(1.0 - after_odds(1.0 - suspicion, epsilon)),
            percent(after_odds(suspicion, epsilon)),
        )
        for suspicion in _SUSPICIONS
    ]


def score_spans(fit: Mapping[str, Any]) -> tuple[Span, ...]:
    """The scores that the calibration predicts, and those that were given, as two rows of a chart.

    `fit` is the `calibration_fit` of a certificate.

    >>> fit = {"predicted_mean": 5.0, "predicted_sd": 1.0, "observed_mean": 6.0, "observed_sd": 1.5}
    >>> [span.text for span in score_spans(fit)]
    ['5.00 ± 1.00', '6.00 ± 1.50']
    """
    rows = [("predicted", fit["predicted_mean"], fit["predicted_sd"])]
    return spans([*rows, ("observed", fit["observed_mean"], fit["observed_sd"])])


def menu_bars(menu: Menu, chosen: Guarantee) -> tuple[Bar, ...]:
    """A `menu` as bars of gains over mean scores, the `chosen` guarantee marked.

    Mean scores come first, and full calibration last.
    """
    gains = [0.0, *(choice.gain for choice in menu.choices), menu.gain_fully_calibrated]
    own = [False, *(choice.guarantee == chosen for choice in menu.choices), False]
    rows = zip(menu_rows(menu), gains, own, strict=True)
    return bars((name, value, text, mine, tuple(more)) for (name, text, *more), value, mine in rows)


def _change_bars(decided: Sequence[DecidedPaper]) -> tuple[Bar, ...]:
    """How many decisions differ from those of the mean score, in which way, and what that means."""
    number = Counter(paper.advice for paper in decided)
    return bars(
        (word, float(number[word]), f"{number[word]:,}", False, (words,))
        for word, words in ADVICE.items()
        if number[word] or word in (RAISE, LOWER, LEAVE)
    )


def changed_and_tied(decided: Sequence[DecidedPaper]) -> tuple[int, int]:
    """How many papers are decided otherwise than by mean scores, and how many tie there."""
    number = Counter(paper.advice for paper in decided)
    return number[RAISE] + number[LOWER], number[TIE_RAISE] + number[TIE_LOWER]


def _means(survey: Survey) -> dict[str, float]:
    return {row.paper: row.mean for row in survey.papers}


def _score_chart(report: Report, means: Mapping[str, float]) -> Histogram | None:
    """Papers by their `means`, accepted or not, and where the mean score alone would draw the line."""
    low, high = floor(min(means.values())), ceil(max(means.values()))
    if high <= low:
        return None
    decided = {row.paper: row for row in report.decided}
    values = [
        (mean, int(paper in decided and decided[paper].decision != "accept")) for paper, mean in means.items()
    ]
    sides = [
        [means[row.paper] for row in report.decided if row.by_mean_score == side and row.paper in means]
        for side in ("accept", "reject")
    ]
    cut = None
    if all(sides):
        (first, second) = sides if report.certificate["better"] == "low" else sides[::-1]
        # Tracks have cuts of their own.
        cut = (max(first) + min(second)) / 2 if max(first) <= min(second) else None
    kinds = 2 if any(paper.decision for paper in report.decided) else 1
    values = [(mean, kind % kinds) for mean, kind in values]
    return histogram(values, kinds, ends=(float(low), float(high)), mark=cut)


def _gray(report: Report, survey: Survey) -> dict[str, Any]:
    """The gray zone: how many papers, how many accepted, a chart; for the chair, those nearest to the bar."""
    decided = {decided_paper.paper: decided_paper for decided_paper in report.decided}
    gray = [(paper, decided.get(paper.paper)) for paper in survey.papers if paper.gray]
    values = [(paper.chance, int(made is not None and made.decision != "accept")) for paper, made in gray]
    kinds = 2 if any(paper.decision for paper in report.decided) else 1
    nearest = sorted(gray, key=lambda pair: abs(pair[0].chance - 0.5)) if report.confidential else []
    return {
        "papers": survey.gray,
        "accepted": sum(made is not None and made.decision == "accept" for _, made in gray),
        "chart": histogram([(chance, kind % kinds) for chance, kind in values], kinds),
        "nearest": nearest[:MOST_LISTED],
    }
