"""The report: what was published, and the survey, as one HTML page that needs nothing else.

The page has no script and loads nothing: a policy in its head forbids both. Its numbers come from the
certificate, the decisions and the public side of the conference, so it is the same whoever wrote the reviews.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
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
from blindcal.planning.guarantee_menu import Choice, Menu
from blindcal.planning.level_menu import LevelAnswer
from blindcal.policy.guarantee import Guarantee
from blindcal.report.charts import HEIGHT, WIDTH, Bar, Histogram, Span, bars, histogram, spans
from blindcal.report.paper_survey import Surveyed
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
# More words than this before a colon are no title.
_LEAD = 5


@dataclass(frozen=True, eq=False)
class Report:
    """What a page is about, for everyone or for the chair. Neither says who reviewed what."""

    # What `read_certificate` returns; before the draw, the fields that it would have
    certificate: Mapping[str, Any]
    decided: tuple[DecidedPaper, ...] = ()  # the papers as `read_decided` returns them; none before the draw
    # The papers by public information; without them the page has no gray zone
    survey: tuple[Surveyed, ...] | None = None
    # Whether the page is for the chair: it then also lists papers with titles, mean scores and chances, and
    # is marked so everywhere
    confidential: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)  # by paper; only a confidential page shows them
    # What the chair should know, a sentence each; only a confidential page shows them
    notes: tuple[str, ...] = ()
    # If papers were decided by this year's evidence, and readers may see the scores
    level: LevelFigures | None = None
    menu: Menu | None = None  # what each guarantee would gain, before anything is decided


@dataclass(frozen=True)
class LevelFigures:
    """What a release decided by this year's evidence has beside its decisions. It depends on the scores."""

    table: PaperTable  # its papers, with how each was decided
    answer: LevelAnswer  # what the chosen guarantee gains, and what others would


def page(report: Report) -> str:
    """The HTML of a report, in one file that loads nothing; needs Jinja2."""
    template = "report.html" if has_figures(report.certificate) else "decisions.html"
    return _rendered(template, **facts(report))


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
    made.globals |= {"width": WIDTH, "height": HEIGHT}
    return made


def _rendered(template: str, **content: Any) -> str:
    return page_templates().get_template(template).render(style=_template_file("report.css"), **content)


def _template_file(name: str) -> str:
    return files("blindcal.report").joinpath("templates", name).read_text(encoding="utf-8")


def facts(report: Report) -> dict[str, Any]:
    """Everything that the page of a `report` says, in words or as geometry, by the names of its template."""
    content, guarantee = report.certificate, certified_guarantee(report.certificate)
    advised, decided = content.get("publishes") == "advice", report.decided
    tossed, figures = advised or bool(decided), has_figures(content)
    hidden, by_evidence = content["scores"] == "confidential", content["source"] != "past"
    changed, tied = changed_and_tied(decided)
    common = {
        "content": content,
        "tossed": tossed,
        "advised": advised,
        # Whether readers see decisions: if advice is published, the chair alone does
        "decisions": any(paper.decision for paper in decided),
        "confidential": report.confidential,
        "hidden": hidden,
        "by_evidence": by_evidence,
        "papers": count(content["papers"], "paper"),
        "guarantee": guarantee_words(guarantee),
        "guarantee_name": guarantee.name,
        "promises": certified_promises(content),
        "conditions": certified_conditions(content),
        "against_whom": adversary_words(guarantee, listed="selection" in content, calibrated=not by_evidence),
        # What holds for readers who do not see the scores; odds says itself for whom it is
        "unseen": UNSEEN if hidden and not by_evidence and not figures else "",
        "suspicion": _suspicion(content["epsilon"] if figures else guarantee.epsilon or 0.0),
        "lots": guarantee.name not in ("public", "none"),
        "chance": _chance(guarantee),
        # Whether authors can look up whether their papers were drawn
        "told_by_table": report.level is not None and not hidden and content["papers"] <= MOST_LISTED,
        "rows": decided[:MOST_LISTED],
        "listed": MOST_LISTED,
        "changed": changed,
        "tied": tied,
        "change_bars": _change_bars(decided),
        "waiting": sum(paper.decision == WAITING for paper in decided),
        "explained": explain_certificate(content) if tossed else (),
        "assumptions": [_split_lead(text) for text in assumptions_of(content["assumptions"], guarantee)],
        "about": None,
        "titles": report.titles if report.confidential else {},
    }
    if figures:
        return {**common, **_certified_figures(report, tossed), **_survey_facts(report)}
    level = None if report.level is None else _level_facts(report, report.level)
    return {**common, "level": level, "how": HOW, **({} if level is None else {"rows": level["rows"]})}


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


def _level_facts(report: Report, level: LevelFigures) -> dict[str, Any]:
    """What a page says of papers that were decided by this year's evidence, if readers see the scores."""
    table, answer = level.table, level.answer
    headings, lines, note = level_table(answer)
    chosen = [choice == answer.choice for choice in answer.menu.choices]
    return {
        "drawn": table.number(DRAW),
        "follows": table.follows,
        "gain": "" if answer.from_file else gain_range(answer),
        "chart": _score_chart(report, {paper.paper: paper.mean for paper in table.papers}),
        "headings": headings,
        "menu": [(name, cells, own) for (name, *cells), own in zip(lines, chosen, strict=True)],
        "note": note,
        "rows": table.papers[:MOST_LISTED],
    }


def _certified_figures(report: Report, tossed: bool) -> dict[str, Any]:
    """What a page says of the figures of a certificate: errors, what someone could learn, the fit."""
    content = report.certificate
    wrong = wrong_papers(content)
    gains, left = {name: wrong["_raw"] - number for name, number in wrong.items()}, _side_by_side(wrong)
    avoided = {
        "": "as decided" if tossed else "as planned",
        "_fully_calibrated": "with full calibration, which would reveal reviewers",
    }
    named = {
        "success_scores_only": "from the scores alone, before any decision",
        "success": "with the decision on its paper" + ("" if tossed else ", as planned"),
        "success_fully_calibrated": "if papers were decided with no protection",
    }
    epsilon, against = content["epsilon"], content["against_evidence"] * content["papers"]
    return {
        "notes": report.notes if report.confidential else (),
        "bar": bar_words(content["bar"]),
        "number": {name or "_now": text for name, text in left.items()},
        "saved": gains[""],
        "saved_text": expected(abs(gains[""])),
        "cost": expected(max(wrong[""] - wrong["_fully_calibrated"], 0.0)),
        "against": expected(against),
        "added": added_text(content["added_success"]),
        "about": _in_letters(wrong) | {"against": about(against)},
        "wrong_bars": bars(
            (label, gains[name], papers_text(gains[name]), name == "", (left[name],))
            for name, label in avoided.items()
        ),
        "named_bars": bars(
            (label, content[name], percent(content[name]), name == "success") for name, label in named.items()
        ),
        "odds": [
            (suspicion, 1.0 - after_odds(1.0 - suspicion, epsilon), after_odds(suspicion, epsilon))
            for suspicion in (() if isinf(epsilon) else _SUSPICIONS)
        ],
        "factor": None if isinf(epsilon) else factor(epsilon),
        "spans": score_spans(content["calibration_fit"]),
        "fits": content["calibration_fit"]["verdict"] == FITS,
    }


def wrong_papers(content: Mapping[str, Any]) -> dict[str, float]:
    """How many papers are expected to be decided wrongly, by the endings of a certificate's fields."""
    endings = ("", "_raw", "_fully_calibrated")
    return {name: content[f"expected_wrong{name}"] * content["papers"] for name in endings}


def _survey_facts(report: Report) -> dict[str, Any]:
    """What a page says of the menu, of papers by their means, and of the gray zone. All may be missing."""
    facts: dict[str, Any] = {"menu": report.menu, "gray": None, "score_chart": None}
    if report.menu is not None:
        chosen = certified_guarantee(report.certificate)
        menu = _with_certified(report.menu, chosen, report.certificate)
        facts |= {"menu_bars": menu_bars(menu, chosen), "advice": advice(menu, chosen)}
        facts |= {"menu_headings": MENU_HEADINGS, "menu_note": MENU_NOTE}
    if report.survey is None:
        return facts
    chart = _score_chart(report, {row.paper: row.mean for row in report.survey})
    return facts | {"gray": _gray_zone(report, report.survey), "score_chart": chart}


def _split_lead(text: str) -> tuple[str, str]:
    """The first words of an assumption, which say what it is about, and the rest.

    >>> _split_lead("Not covered: texts"), _split_lead("Reviewers of papers are taken as independent: so")[0]
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


def _in_letters(wrong: Mapping[str, float]) -> dict[str, str]:
    """Expected wrong decisions as letters say them: roughly, unless that hides what differs."""
    rough, shown = ({words(value) for value in wrong.values()} for words in (about, expected))
    words = about if len(rough) == len(shown) else expected
    return {name or "_now": words(value) for name, value in wrong.items()}


def _with_certified(menu: Menu, chosen: Guarantee, content: Mapping[str, Any]) -> Menu:
    """The menu with the exact figures of the certificate in the place of their estimates from some papers.

    Other guarantees keep the gains that were estimated for them.
    """
    wrong = wrong_papers(content)
    raw, full, before = wrong["_raw"], wrong["_fully_calibrated"], content["success_scores_only"]
    most, own = raw - full, {"gain": raw - wrong[""], "added": content["added_success"]}

    def certified(choice: Choice) -> Choice:
        if choice.guarantee == chosen:
            choice = replace(choice, **own, gain_se=0.0, added_se=0.0)
        if most > 0.0:
            choice = replace(choice, kept=choice.gain / most, kept_se=choice.gain_se / most)
        return replace(choice, wrong=raw - choice.gain, wrong_se=choice.gain_se)

    errors: dict[str, Any] = {field.name: 0.0 for field in fields(menu) if field.name.endswith("_se")}
    return replace(
        menu,
        choices=tuple(map(certified, menu.choices)),
        wrong_raw=raw,
        wrong_fully_calibrated=full,
        gain_fully_calibrated=most,
        success_scores_only=before,
        added_fully_calibrated=content["success_fully_calibrated"] - before,
        **errors,
    )


def score_spans(fit: Mapping[str, Any]) -> tuple[Span, ...]:
    """The scores that the calibration predicts, and those that were given, as two rows of a chart.

    `fit` is the `calibration_fit` of a certificate.

    >>> fit = {"predicted_mean": 5.0, "predicted_sd": 1.0, "observed_mean": 6.0, "observed_sd": 1.5}
    >>> [span.text for span in score_spans(fit)]
    ['5.00 ± 1.00', '6.00 ± 1.50']
    """
    return spans([(name, fit[f"{name}_mean"], fit[f"{name}_sd"]) for name in ("predicted", "observed")])


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
        (word, number[word], f"{number[word]:,}", False, (words,))
        for word, words in ADVICE.items()
        if number[word] or word in (RAISE, LOWER, LEAVE)
    )


def changed_and_tied(decided: Sequence[DecidedPaper]) -> tuple[int, int]:
    """How many papers are decided otherwise than by mean scores, and how many tie there."""
    number = Counter(paper.advice for paper in decided)
    return number[RAISE] + number[LOWER], number[TIE_RAISE] + number[TIE_LOWER]


def _chart_kinds(report: Report) -> dict[str, int]:
    """Of each paper, 0 if it was accepted and 1 if not, as charts stack them; empty if nobody reads that."""
    return {paper.paper: int(paper.decision != "accept") for paper in report.decided if paper.decision}


def _score_chart(report: Report, means: Mapping[str, float]) -> Histogram | None:
    """Papers by their `means`, accepted or not, and where the mean score alone would draw the line."""
    low, high = floor(min(means.values())), ceil(max(means.values()))
    if high <= low:
        return None
    sides = [
        [means[row.paper] for row in report.decided if row.by_mean_score == side and row.paper in means]
        for side in ("accept", "reject")
    ]
    cut = None
    if all(sides):
        (first, second) = sides if report.certificate["better"] == "low" else sides[::-1]
        # Tracks have cuts of their own.
        cut = (max(first) + min(second)) / 2 if max(first) <= min(second) else None
    kinds = _chart_kinds(report)
    values = [(mean, kinds.get(paper, 0)) for paper, mean in means.items()]
    return histogram(values, 2 if kinds else 1, ends=(float(low), float(high)), mark=cut)


def _gray_zone(report: Report, survey: Sequence[Surveyed]) -> dict[str, Any]:
    """The gray zone: how many papers, how many accepted, a chart; for the chair, those nearest to the bar."""
    decided = {paper.paper: paper for paper in report.decided}
    gray, kinds = [paper for paper in survey if paper.gray], _chart_kinds(report)
    nearest = sorted(gray, key=lambda paper: abs(paper.chance - 0.5)) if report.confidential else []
    values = [(paper.chance, kinds.get(paper.paper, 0)) for paper in gray]
    return {
        "papers": len(gray),
        "accepted": sum(kinds.get(paper.paper) == 0 for paper in gray),
        "chart": histogram(values, 2 if kinds else 1),
        "nearest": [(paper, decided.get(paper.paper)) for paper in nearest[:MOST_LISTED]],
    }
