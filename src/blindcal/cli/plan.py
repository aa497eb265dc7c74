"""`blindcal plan`: is calibration worth it here, and what would each guarantee gain? Nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from textwrap import fill
from time import monotonic
from typing import Any

from blindcal.adversaries.findings import findings_of, planned_views
from blindcal.cli.audit import facts_of, say_findings
from blindcal.cli.console import about, emit_json, note, say, say_gap, table
from blindcal.cli.options import (
    AMEND,
    ClusterAddress,
    FolderPath,
    Leak,
    Misfit,
    Processes,
    flag,
    hired,
    option,
    word,
)
from blindcal.cli.startup import interrupted, without_time_limit
from blindcal.deciding.certificate import stated
from blindcal.deciding.certificate_fields import ASSUMED, CONFIDENTIAL
from blindcal.deciding.key import input_commitment, input_stamp, read_key
from blindcal.errors import InputError
from blindcal.io.atomic_files import refuse_existing, refuse_published, write_bytes
from blindcal.io.cells import count
from blindcal.planning.conference_plan import A_MINUTE, Answer, Plan, answer
from blindcal.planning.conference_plan import plan as plan_papers
from blindcal.planning.guarantee_menu import MENU
from blindcal.planning.level_menu import LEVEL_MENU, LevelAnswer, level_answer
from blindcal.planning.request import Request
from blindcal.policy.guarantee import NAMES
from blindcal.posterior.conference import Conference
from blindcal.posterior.inputs import Inputs
from blindcal.posterior.this_year_inputs import ThisYearInputs
from blindcal.project.folder import Work, folder_inputs, settings_of
from blindcal.project.imports import decided
from blindcal.project.settings import Folder, checked_consent, parse_guarantee, read_folder
from blindcal.report.html_page import Report, page
from blindcal.report.paper_survey import survey
from blindcal.report.wording import (
    MENU_HEADINGS,
    MENU_NOTE,
    advice,
    bar_words,
    doubt,
    guarantee_words,
    level_advice,
    level_facts,
    level_table,
    menu_rows,
    papers_text,
    percent,
    quota_line,
)

# A chair who waits longer than this wants to know it beforehand.
_LONG_SECONDS = 60.0
# If the whole answer takes longer than this, the first one is given as soon as it is known.
_SOON_SECONDS = 3.0
_WIDTH = 100


def plan(
    path: FolderPath,
    guarantee: list[str] | None = word(
        NAMES,
        "What if: this guarantee in place of the folder's, like public, or 'crowd=10 epsilon=3'. Repeatable: "
        "the first takes its place, and it is compared with the others instead of the menu.",
        metavar="TEXT",
    ),
    full: bool = flag(
        "Solve and certify every paper, however long it takes: exact numbers, no estimates.", "--full"
    ),
    audit: bool = flag(
        "Also plan every paper, and play adversaries against the planned decisions, on average over what may "
        "come out.",
        "--audit",
    ),
    key: Path | None = option(
        "Also print this key's fingerprint and the commitment, to publish before the draw.", metavar="FILE"
    ),
    out: Path | None = option(
        "Also plan every paper, and write all of it as a page to read or print, for the chair alone if "
        "scores are confidential; nothing is overwritten.",
        metavar="FILE",
    ),
    yes_leak: Leak = False,
    despite_misfit: Misfit = False,
    processes: Processes = None,
    cluster: ClusterAddress = None,
) -> None:
    """Say whether calibration is worth it here, within a minute, and what each guarantee would gain.

    The first line is the answer: how many papers are expected to be decided rightly that mean scores decide
    wrongly, under the folder's guarantee. Then comes the menu: for each guarantee the expected number of
    wrong decisions, the gain, and the chance of naming who wrote a review, beside mean scores and full
    calibration. The numbers are estimated from some of the papers, with standard errors, and refined until a
    minute is over; Ctrl-C ends it with what is known. Nothing is decided, drawn or frozen.

    Example: blindcal plan icx2027 --guarantee 'crowd=10 epsilon=3' --guarantee average
    """
    given = [checked_consent(parse_guarantee(text), yes_leak=yes_leak) for text in guarantee or ()]
    if out is not None and len(given) > 1:
        raise InputError("--out goes with one --guarantee: its page has the menu")
    folder = read_folder(path)
    hidden = folder.settings.get("scores") == CONFIDENTIAL
    if out is not None:
        refuse_existing(out)
        if hidden:
            refuse_published(out)
    request = settings_of(folder, yes_leak=yes_leak or bool(given))
    request = replace(request, guarantee=given[0]) if given else request
    every = full or audit or out is not None
    prepared, planned, findings = None, None, None
    # What can be published before the draw, if a key is given.
    sealed: dict[str, str | None] = {"key_fingerprint": None, "commitment": None}
    with hired(processes, cluster) as work:
        with folder_inputs(folder) as inputs:
            request = request.for_inputs(inputs)
            by_level = isinstance(inputs, ThisYearInputs)
            if by_level and (audit or out is not None):
                raise InputError(
                    "--audit and --out need past years: what this year's reviews gain is printed as a "
                    "whole, and `blindcal app` shows it as a page"
                )
            if every or by_level or key is not None:
                prepared, truth = request.prepared(inputs, **work)
                if key is not None:
                    secret = read_key(key)
                    stamp = input_stamp(secret, prepared, truth.reviewers, request, truth.given)
                    promise = input_commitment(secret, request.conference, stamp)
                    sealed = {"key_fingerprint": secret.fingerprint, "commitment": promise}
            several = given if len(given) > 1 else None
            if isinstance(inputs, ThisYearInputs):
                levels = level_answer(inputs, request, several or LEVEL_MENU, prepared=prepared)
                _print_levels(levels, request, sealed)
                _say_next(folder, None if given else levels)
                return
            estimate = partial(answer, inputs, request, several or MENU, prepared=prepared, **work)
            seconds = inf if full else A_MINUTE
            gains = _first_or_last(partial(estimate, seconds=seconds, despite_misfit=despite_misfit))
        _print_answer(gains, request, sealed)
        # After an interrupt there is what is known, and nothing further is begun.
        if every and prepared is not None and not interrupted():
            planned = _planned(inputs, prepared, request, despite_misfit, work)
            _print_planned(planned)
            if out is not None:
                _write_page(out, planned, gains, work, hidden=hidden)
            if audit:
                findings = findings_of(planned_views(planned), better=request.better)
                say()
                say_findings(findings)
    note(*(gains if planned is None else planned).remarks)
    more = {} if findings is None else {"audit": facts_of(findings)}
    emit_json({**_plan_facts(gains, request, planned), **sealed, **more})
    if out is not None and planned is not None:
        say(f"wrote {out}; open it in any browser, or print it from there")
        if hidden:
            say(f"CONFIDENTIAL, never share: {out}")
    _say_next(folder)


def _print_levels(answer: LevelAnswer, request: Request, sealed: Mapping[str, str | None]) -> None:
    """What each guarantee gains if papers are decided by this year's evidence."""
    headings, lines, meaning = level_table(answer)
    _print_menu(level_advice(answer), headings, lines, answer.menu.choices.index(answer.choice), meaning)
    one_by_one = "" if answer.from_file else "; gains are about papers decided one by one"
    _print_conference(answer, request, "", one_by_one)
    _print_sealed(sealed)
    note(*answer.remarks)
    facts = {"advice": level_advice(answer), "source": request.source, "menu": level_facts(answer)}
    emit_json({**_shared_facts(answer, request), **facts, **sealed})


def _say_next(folder: Folder, answer: LevelAnswer | None = None) -> None:
    """Which command comes next; `answer`: what this year's evidence gains under the folder's guarantee."""
    step = f"write what you choose into {folder.file}, then blindcal decide {folder.path}"
    if decided(folder):
        step = AMEND.format(folder.path)
    elif answer is not None and answer.chosen.name == "public":
        step = f"blindcal decide {folder.path}"
    elif answer is not None and doubt(answer):
        step = f'set guarantee = "public" in {folder.file}, then blindcal decide {folder.path}'
    say(f"next: {step}")


def _first_or_last(estimate: Callable[..., Answer]) -> Answer:
    """The answer; the first estimate is said if the rest takes a while, and Ctrl-C ends with the last."""
    start, known, said = monotonic(), list[Answer](), False

    def tell(so_far: Answer) -> None:
        nonlocal said
        without_time_limit()
        known[:] = [so_far]
        if so_far.menu.sampled and not said and monotonic() - start > _SOON_SECONDS:
            said = True
            note(f"from {count(so_far.menu.solved, 'paper')} so far: {advice(so_far.menu, so_far.chosen)}")

    try:
        return estimate(tell=tell)
    except KeyboardInterrupt:
        if not known:
            raise
        note("interrupted: this is what is known so far")
        return known[0]


def _planned(
    inputs: Inputs, prepared: Conference, request: Request, despite_misfit: bool, work: Work
) -> Plan:
    """The certified plan of every paper; how long deciding takes is noted if it is long."""
    start = monotonic()
    planned = plan_papers(inputs, request, prepared=prepared, despite_misfit=despite_misfit, **work)
    taken = monotonic() - start
    if taken >= _LONG_SECONDS:
        note(f"deciding takes as long as planning did, {about(taken)}, and verifying too")
    return planned


def _write_page(out: Path, planned: Plan, answer: Answer, work: Work, *, hidden: bool) -> None:
    request = planned.request
    own = request.guarantee
    stands = survey(planned.conference, better=request.better, **work)
    # The fields of the certificate that this plan would get, but for those of the draw.
    limits = {name: value for name, value in vars(own).items() if name != "name"}
    exactly = {} if request.quota is None else {"selection": {"accept": request.accept}}
    requested = {"conference": request.conference, "guarantee": own.name, "limits": limits}
    requested |= {"scores": request.scores, "source": request.source}
    assumed = [*ASSUMED["past"], *(ASSUMED["list"] if exactly else ())]
    content = {**_plan_facts(answer, request, planned), **requested, **exactly, "assumptions": assumed}
    made = page(Report(content, survey=stands, menu=answer.menu, confidential=hidden))
    write_bytes(out, made.encode(), confidential=hidden)


def _shared_facts(answer: Answer | LevelAnswer, request: Request) -> dict[str, Any]:
    return {
        "papers": answer.menu.papers,
        "reviews": answer.reviews,
        "guarantee": request.guarantee,
        "bar": answer.bar,
        "accept": request.accept,
        "wait_list": request.wait_list,
        "better": request.better,
    }


def _plan_facts(answer: Answer, request: Request, planned: Plan | None) -> dict[str, Any]:
    """The answer as JSON has it; with the numbers of the certificate if every paper is planned."""
    return {
        **_shared_facts(answer, request),
        "advice": advice(answer.menu, answer.chosen),
        "bar_of_papers": answer.weighed,
        "calibration_fit": answer.fit.public,
        "menu": answer.menu,
        **({} if planned is None else stated(planned.summary, request.guarantee)),
    }


def _print_answer(answer: Answer, request: Request, sealed: Mapping[str, str | None]) -> None:
    menu = answer.menu
    own = 1 + menu.choices.index(answer.choice)
    _print_menu(
        advice(menu, answer.chosen),
        MENU_HEADINGS,
        menu_rows(menu),
        own,
        _about_numbers(answer, request),
        menu.gap,
    )
    some = f", that of {answer.weighed:,} papers: the one to be frozen comes from all of them"
    of_some = some if answer.weighed != menu.papers else ""
    frozen = "; the bar alone is frozen when papers are decided"
    _print_conference(answer, request, of_some, frozen)
    fit = answer.fit
    say(
        f"calibration: {fit.verdict}; predicted mean {fit.predicted_mean:.2f} and standard deviation "
        f"{fit.predicted_sd:.2f}, scores {fit.observed_mean:.2f} and {fit.observed_sd:.2f}"
    )
    _print_sealed(sealed)


def _print_menu(
    answer: str,
    headings: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    chosen: int,
    meaning: str,
    gap: float = 0.0,
) -> None:
    """The answer, and below it every guarantee with what its numbers mean; the one `chosen` is marked."""
    say(answer)
    say()
    marked = [(f"{name} (chosen)" if i == chosen else name, *more) for i, (name, *more) in enumerate(rows)]
    table(["guarantee", *headings], marked)
    say(fill(meaning, _WIDTH))
    say_gap(gap)
    say()


def _print_conference(answer: Answer | LevelAnswer, request: Request, of_bar: str, of_quota: str) -> None:
    """What the answer is about; `of_bar`, `of_quota`: what is to be added to these lines."""
    say(f"{count(answer.menu.papers, 'paper')}, {count(answer.reviews, 'review')}; nothing was drawn")
    say(f"bar: quality {bar_words(answer.bar)} (quality is N(0,1) over papers){of_bar}")
    if request.quota is not None:
        say(f"{quota_line(request.quota)}{of_quota}")
    say(f"better: {request.better} scores")


def _print_sealed(sealed: Mapping[str, str | None]) -> None:
    for name, value in sealed.items():
        if value is not None:
            say(f"{name.replace('_', ' ')}: {value}")


def _about_numbers(answer: Answer, request: Request) -> str:
    menu, parts = answer.menu, [MENU_NOTE]
    if menu.sampled:
        parts.append(
            f"They are estimated from {menu.solved:,} of {count(menu.papers, 'paper')}, chosen by public "
            "data alone; +- is one standard error. --full solves every paper."
        )
    if request.quota is not None:
        parts.append(
            "They are about papers decided one by one; a list of an exact number gains less, sometimes half."
        )
    return " ".join(parts)


def _print_planned(planned: Plan) -> None:
    facts, request = planned.summary, planned.request
    papers = int(facts["papers"])
    say(
        f"planned: {guarantee_words(request.guarantee)}. Expected: "
        f"{papers_text(papers * facts['expected_wrong'])} of {count(papers, 'paper')} decided wrongly, "
        f"{percent(facts['success'])} of reviewers identified "
        f"({percent(facts['success_scores_only'])} from the scores alone)"
    )
