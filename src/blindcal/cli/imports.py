"""`blindcal new`: a conference's folder and key; and `blindcal import`: files into it, at any time."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.checks import Array
from blindcal.cli.console import CONFIDENTIAL, as_options, emit_json, note, progress, say, table
from blindcal.cli.fit import say_fitted
from blindcal.cli.options import (
    argument,
    flag,
    folder_argument,
    option,
    options_of,
    say_next_step,
    word,
)
from blindcal.compute.parallel import available_cores
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import BlindcalError, InputError
from blindcal.importers import FORMATS
from blindcal.importers.people import read_maps
from blindcal.importers.plain_table import LAYOUTS, columns_of
from blindcal.importers.raw_export import Choices, Unit
from blindcal.io.atomic_files import read_bytes, refuse_published
from blindcal.io.cells import number_text
from blindcal.planning.request import SCORES
from blindcal.private_sharing import shared_folder
from blindcal.project.contents import INPUTS, KINDS, Source, metareviews_in, resolved_kinds
from blindcal.project.create import CreatedFolder, InitialSettings, create_folder, key_beside
from blindcal.project.decide import folder_answer
from blindcal.project.fit import FolderFit, fit_folder
from blindcal.project.imports import (
    CALIBRATING,
    FolderImport,
    fit_follows,
    folder_reviews,
    imported_lines,
    papers_of,
    read_import,
    write_import,
)
from blindcal.project.settings import FILE, Folder, read_folder
from blindcal.report.wording import answer_words
from blindcal.reviews import BETTER, Reviews

WARNING = "CONFIDENTIAL: inputs say who reviewed what; only you can read them."
CODES_WARNING = (
    "The codes name everyone: keep that file apart from the folder, and delete it when it is no longer "
    "needed."
)
_UNITS: Mapping[str, Unit] = {"reviewer": "reviewer", "member": "member"}
_PAST_BETTER = "were {better} scores the better ones in each of these years? Name others"


def _reading(
    system: str | None = word(FORMATS, f"One of {', '.join(FORMATS)}; needed only if it is not recognized."),
    score_field: str | None = option("The field to use as the score, if there are several."),
    columns: str | None = option(
        "The columns of any other table, like paper=item_id,reviewer=rater_id,score=points."
    ),
    layout: str | None = word(
        LAYOUTS, f"Of a table with a column for each person or each paper, one of {', '.join(LAYOUTS)}."
    ),
    latest: bool = flag(
        "Of several rows of one person on one paper, take the last: a second answer to a form.", "--latest"
    ),
    best_first: str | None = option(
        "Letters or words from best to worst, like A,B,C,D; also numbers, if 1 is best."
    ),
    unit: str = word(
        _UNITS,
        "Whose severity counts on EasyChair: reviewer (who wrote the review) or member (who is responsible "
        "for it).",
        default="reviewer",
    ),
    people: list[Path] | None = option(
        "A table of who is behind the ids: signature, profile_id; repeatable.", "--map", metavar="<path>"
    ),
    keep: str = option(
        "Papers to decide though the export calls them withdrawn, desk rejected, deleted or decided: their "
        "ids, like 4,9,17.",
        default="",
        metavar="PAPERS",
    ),
) -> tuple[Choices, Collection[str]]:
    """How exports are read if their content leaves it open, and papers to keep, for both commands."""
    for name, text, words in (("system", system, FORMATS), ("unit", unit, _UNITS)):
        if text is not None and text not in words:
            raise InputError(f"--{name} must be one of {', '.join(words)}, found {text!r}")
    choices = Choices(
        format=system,
        score_field=score_field,
        columns={} if columns is None else columns_of(columns),
        best_first=() if best_first is None else _best_to_worst(best_first),
        layout=layout or "",
        latest=latest,
        people=read_maps({str(path): read_bytes(path) for path in people}) if people else None,
        unit=_UNITS[unit],
    )
    return choices, papers_of(keep)


@options_of(_reading)
def import_(
    reading: tuple[Choices, Collection[str]],
    folder: Path = folder_argument("A folder that `blindcal new` made."),
    files: list[Path] | None = argument(
        "Files as downloaded, compressed with gzip or zip or not. With --dry-run and no file the folder is "
        "checked as it is.",
        metavar="FILE",
        default=None,
    ),
    kind: str | None = word(
        KINDS,
        f"What the files are, one of {', '.join(KINDS)}; needed only if the content does not show "
        "it. Further reviews correct those that the folder has.",
        "--as",
        metavar="KIND",
    ),
    name: str | None = option("The name of a past conference; else that of its file."),
    codes: Path | None = option(
        "Replace reviewers with codes, and keep in this file who has which; people already in it keep theirs."
    ),
    dry_run: bool = flag("Read, name every problem, say what would be written, and stop.", "--dry-run"),
) -> None:
    """Bring reviews, a correction, a past year or a list into a conference's folder.

    Exports of HotCRP, OpenReview, CMT, EasyChair and pretalx, and any table, are recognized from their
    content. Reports what was recognized, what was dropped, and why; times, review numbers and the order of
    rows are always dropped. Titles, tracks, conflicts and a committee come along if the export has them and
    the folder does not. Papers that the export calls withdrawn, desk rejected, deleted or decided already are
    listed under [withdrawn], and so left out of the decisions. Earlier files are kept: a correction goes into
    FOLDER/inputs/correction-1, and FOLDER/conference.toml then names it. Decisions are not touched: `decide
    --amend` follows a correction. All is written, or nothing.

    Example: blindcal import icx2027 conf-scores.csv
    """
    conference, (choices, keep) = read_folder(folder), reading
    if not files and not dry_run:
        raise InputError("give a FILE to import, or --dry-run to check the folder as it is")
    if codes is not None:
        refuse_published(codes)
    sources = resolved_kinds(conference, files or (), kind, choices)
    if name is not None:
        if len(sources) != 1 or sources[0].kind != "past":
            raise InputError("--name is for one past conference: give one file, with --as past")
        sources = (sources[0]._replace(name=name),)
    brought = read_import(conference, sources, choices, keep=keep, codes=codes)
    reviews, made = _reviews_after(conference, brought), None
    if not dry_run:
        write_import(conference, brought, codes)
        made = _fit_if_ready(read_folder(folder), sources)
    note(*brought.remarks, *(() if made is None else made.remarks), *(() if dry_run else brought.refusals))
    places = [folder / path for path in brought.places.values()]
    emit_json(
        {
            **_import_facts(folder, brought, made),
            "files": [{"file": source.path, "as": source.kind} for source in sources],
            "wrote": [] if dry_run else places,
            "would_write": places if dry_run else [],
            "refused_by_plan": list(brought.refusals),
            "codes": codes,
            "warning": WARNING,
            **({} if reviews is None else {"reviews": _review_facts(reviews)}),
        }
    )
    _print_import(conference, brought, codes, dry_run)
    _print_fit(made)
    if dry_run and reviews is not None:
        _print_reviews(reviews, conference.text("better"))
    if dry_run and brought.refusals:
        raise InputError("\n".join(brought.refusals))
    if dry_run and places:
        say("nothing was written: run it without --dry-run")
    else:
        # Of this year's reviews a calibration takes mean and spread alone.
        refit = made is None and bool(CALIBRATING - {"reviews"} & {source.kind for source in sources})
        say_next_step(folder, refit=refit, refused=bool(brought.refusals))


def _fit_if_ready(folder: Folder, sources: Sequence[Source]) -> FolderFit | None:
    """The reviewers of a folder, fitted if all that it takes is there; what stands in the way is noted."""
    if not fit_follows(folder, sources):
        return None
    try:
        return fit_folder(folder, workers=available_cores(), progress=progress)
    except BlindcalError as error:
        note(f"reviewers are not calibrated yet: {error}. Then `blindcal fit {folder.path}`")
        return None


def _best_to_worst(text: str) -> tuple[str, ...]:
    order = tuple(name.strip() for name in text.split(","))
    if len(order) < 2 or not all(order) or len({name.casefold() for name in order}) < len(order):
        raise InputError(f"--best-first must be different scores, like A,B,C,D, found {text!r}")
    return order


def _reviews_after(folder: Folder, brought: FolderImport) -> Reviews | None:
    """This year's reviews as the folder has them with these files, without withdrawn papers."""
    imported, grid = brought.contents.imported, folder.grid
    reviews = folder_reviews(folder) if imported is None else imported.reviews
    if imported is not None and grid is not None:
        reviews = replace(imported.reviews, grid=np.array(grid) if grid else None, grid_declared=True)
    return None if reviews is None else reviews.without({**folder.withdrawn, **brought.withdrawn})


def _import_facts(folder: Path, brought: FolderImport, fit: FolderFit | None) -> dict[str, Any]:
    """What files were taken for and hold, as `new` and `import` report it with --json."""
    contents = brought.contents
    facts: dict[str, Any] = {
        "folder": folder,
        "committee": len(contents.committee),
        "conflicts": len(contents.conflicts),
        "past": {name: len(past) for name, past in contents.past_reviews.items()},
        "withdrawn": brought.withdrawn,
        "settings": brought.settings,
        "calibrated": None if fit is None else fit.fitted.checks.reviewers,
    }
    if (imported := contents.imported) is not None:
        kept = ("recognized", "score_field", "confidence_field", "scale", "dropped", "warnings")
        facts |= {"system": imported.format, **{name: getattr(imported, name) for name in kept}}
    return facts


def _print_import(folder: Folder, brought: FolderImport, codes: Path | None, dry_run: bool) -> None:
    for source in brought.sources:
        say(f"{source.path}: {source.kind}")
    for line in imported_lines(brought):
        say(as_options(line))
    if not brought.sources:
        return
    for path in brought.places.values():
        say(f"{'would write' if dry_run else 'wrote'} {folder.path / path}")
    if not brought.places and not brought.withdrawn:
        say("the folder has this already: nothing to write")
    changed = [*brought.settings, *(["[withdrawn]"] if brought.withdrawn else [])]
    if changed:
        say(f"{'would set' if dry_run else 'set'} {', '.join(changed)} in {folder.path / FILE}")
    if isinstance(past := brought.settings.get("past"), list):
        say(f"past conferences, oldest first: {', '.join(Path(path).stem for path in past)}")
        say(f"  past-better: {_PAST_BETTER.format(better=folder.text('better'))}")
    say(WARNING if codes is None else f"{WARNING}\n{CODES_WARNING}")


def _print_fit(fit: FolderFit | None) -> None:
    """Who of the committee was found in past reviews, in numbers, and what these have shown."""
    if fit is not None:
        if fit.people is not None:
            say(f"calibrated: {fit.people}; everyone else is taken as any reviewer of the past")
        say_fitted(fit.fitted, fit.out)


def _review_facts(reviews: Reviews) -> dict[str, object]:
    """Counts of a conference's reviews, and the scores that can be given. CONFIDENTIAL."""
    by_paper, by_reviewer = np.bincount(reviews.paper), np.bincount(reviews.reviewer)
    return {
        "reviews": len(reviews),
        "papers": len(reviews.papers),
        "reviewers": len(reviews.reviewers),
        "conferences": 1 if reviews.conference is None else len(np.unique(reviews.conference)),
        "reviews_a_paper": [int(by_paper.min()), int(by_paper.max())],
        "reviewers_with_one_review": int((by_reviewer == 1).sum()),
        "connected_parts": reviews.components.count,
        "lowest_and_highest_score": [reviews.score.min(), reviews.score.max()],
        "grid": reviews.grid,
        "grid_declared": reviews.grid_declared,
    }


def _print_reviews(reviews: Reviews, better: str) -> None:
    say(CONFIDENTIAL)
    facts = {**_review_facts(reviews), "grid": _grid_words(reviews), "better": f"{better} scores"}
    facts = {
        name.replace("_a_", " per ").replace("_", " "): _fact_text(value) for name, value in facts.items()
    }
    table(("", ""), [*facts.items()])


def _grid_words(reviews: Reviews) -> str:
    if not reviews.grid_declared and len(scores := np.unique(reviews.score)) == 1:
        return f"all scores are {number_text(float(scores[0]))}"
    if reviews.grid is not None:
        return _fact_text(reviews.grid)
    return "none: any number can be given" if reviews.grid_declared else "none: scores look continuous"


def _fact_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " to ".join(number_text(float(end)) for end in dict.fromkeys(value))
    if isinstance(value, np.ndarray):
        return " ".join(number_text(float(item)) for item in value)
    return f"{value:,}"


_KEY_ADVICE = (
    "Only you can read it. Keep it secret forever: anyone who holds it can work out the draws and, with the",
    "decisions, much of who reviewed what. Back it up now, and again after every `blindcal decide`, together",
    "with the folder {sealed}, which remembers what was decided, and after every `blindcal share`",
    "with {shared}, which remembers what was shared. If the key is lost, the decisions",
    "stand but can no longer be checked or amended; deciding again with a new key would draw again.",
)
# `plan` says more precisely whether calibration is worth it; here it is estimated for so many seconds.
_ANSWER_SECONDS = 5.0


@options_of(_reading)
def new(
    reading: tuple[Choices, Collection[str]],
    folder: Path = argument("The folder to make; an existing one is never changed."),
    reviews: Path | None = option(
        "This year's reviews, as downloaded or as a table paper, reviewer, score. They may come later, by "
        "`blindcal import`."
    ),
    committee: list[Path] | None = option(
        "Everyone who may have reviewed, also those who did not: a table with a column reviewer or email. "
        "Needed with --past; repeatable, as external reviewers often stand in a list of their own.",
        metavar="<path>",
    ),
    past: list[Path] | None = option(
        "Reviews of a past conference, as downloaded, or sums that one shared; repeatable, oldest first. "
        "With --reviews, reviewers are calibrated at once.",
        metavar="<path>",
    ),
    conflicts: Path | None = option(
        "Who cannot have reviewed what: paper, conflict (or email), or HotCRP's pcconf, allrevpref, jsonrqc "
        "or bulk assignment."
    ),
    pools: Path | None = option(
        "Or who may have reviewed each paper: paper, reviewer, optionally probability."
    ),
    reviewers: Path | None = option("A calibration that you have already, in place of --past."),
    assignments: Path | None = option(
        "HotCRP's list of assignments, pcassignments: it says which reviews are metareviews."
    ),
    same: Path | None = option(
        "Past ids of members, if they are not found or found wrongly: columns old, new."
    ),
    evidence: Path | None = option(
        "Another method's calibration, in place of --past: paper, evidence, which is accept or reject, or a "
        "number, for every paper."
    ),
    scores: str | None = word(
        SCORES,
        "Who may see the scores of all papers, and so the public folder: public, everyone; or confidential: "
        "then nothing in it depends on scores but the decisions. There is no default.",
    ),
    accept: str | None = option(
        "What to accept: 25% is a share of the papers, 50 a number, main=40,short=10 a number for each "
        "track.",
        metavar="NUMBER",
    ),
    better: str = word(BETTER, "Which scores are better, high or low.", default="high"),
    key: Path | None = option("The key; FOLDER.key unless given. One that exists is used, else it is made."),
) -> None:
    """Make a folder for a conference, and the key that every random draw is derived from.

    Without --reviews the folder is made before they are in, so that the key's fingerprint can be published
    first; `blindcal import FOLDER FILE` brings them later. Afterward `plan FOLDER`, `decide FOLDER` and
    `verify FOLDER` need no other option: FOLDER/conference.toml has them all, each with what it means, for
    you to read and change. FOLDER/public may be sent to people who may see the scores, as stated by
    --scores; the key and its private log lie beside FOLDER. Papers that the export calls withdrawn,
    desk rejected, deleted or decided already are listed under [withdrawn], and so left out of the decisions.
    All is written, or nothing.

    Example: blindcal new icx2027 --reviews export.csv --committee pc.csv --past 2026.csv --accept 25%
    --scores confidential
    """
    choices, keep = reading
    if assignments is not None:
        choices = replace(choices, metareviews=metareviews_in(assignments))
    given = {"reviews": reviews, "conflicts": conflicts, "pools": pools, "reviewers": reviewers}
    given |= {"same": same, "evidence": evidence}
    sources = [Source(path, kind) for kind, path in given.items() if path is not None]
    for kind, paths in {"committee": committee, "past": past}.items():
        sources += [Source(path, kind) for path in paths or ()]
    made = create_folder(
        folder,
        InitialSettings(scores, accept, better),
        key_beside(folder) if key is None else key,
        sources,
        choices,
        keep=keep,
        workers=available_cores(),
        progress=progress,
    )
    brought, fit = made.brought, made.fit
    facts = {**_import_facts(folder, brought, fit), **_new_facts(made)}
    facts["advice"] = answer_words(folder_answer(read_folder(folder), seconds=_ANSWER_SECONDS))
    note(*brought.remarks, *(() if fit is None else fit.remarks), *brought.refusals)
    emit_json(facts)
    for line in imported_lines(brought):
        say(as_options(line))
    _print_fit(fit)
    say()
    _print_open(folder, made)
    say(f"CONFIDENTIAL, never share: {folder / INPUTS}")
    say(f"key: {facts['key']}, fingerprint {facts['fingerprint']}")
    for line in _KEY_ADVICE:
        say(line.format(sealed=facts["sealed"], shared=facts["shared"]))
    if reviews is None:
        say(
            "Publish the fingerprint before reviews are in: it reveals nothing about the key, and shows later"
        )
        say("that the draws were fixed before anyone knew the scores.")
    if facts["advice"] is not None:
        say(facts["advice"])
    say_next_step(folder, refused=bool(brought.refusals))


def _new_facts(made: CreatedFolder) -> dict[str, Any]:
    imported, people = made.brought.contents.imported, None if made.fit is None else made.fit.people
    facts = {
        "settings": made.settings,
        "found": None if people is None else people.found,
        "key": made.key,
        "fingerprint": made.secret.fingerprint,
        "sealed": ledger_folder(made.key),
        "shared": shared_folder(made.key),
        "warning": CONFIDENTIAL,
    }
    if imported is None:
        return facts
    reviews = imported.reviews
    sizes = {"reviews": len(reviews), "papers": len(reviews.papers), "reviewers": len(reviews.reviewers)}
    return facts | sizes


def _stated_range(field: str, score: Array) -> str:
    """The range that the heading of a column of scores states, as a `grid`; empty if it states none.

    >>> _stated_range("Overall score (1 to 10)", np.array([2.0, 9.0]))
    '1..10'
    >>> _stated_range("Q2: score from 1 to 10", np.array([2.0])), _stated_range("1-5", np.array([7.0]))
    ('', '')
    """
    ends = re.findall("[0-9]+", field)
    if len(ends) != 2 or not int(ends[0]) <= score.min() <= score.max() <= int(ends[1]):
        return ""
    return f"{ends[0]}..{ends[1]}"


def _print_open(folder: Path, made: CreatedFolder) -> None:
    """What the chair should look at in the new conference.toml."""
    settings, contents = made.settings, made.brought.contents
    say(f"wrote {folder / FILE}: check every setting and correct any that are wrong")
    if "grid" in settings:
        known = contents.imported
        stated = "" if known is None else _stated_range(known.score_field, known.reviews.score)
        doubt = f'its heading says {stated}: then write grid = "{stated}"' if stated else ""
        if stated != settings["grid"]:
            doubt = doubt or "could others be given too?"
            say(f"  grid = {settings['grid']}: taken from the scores given; {doubt}")
    say(f"  better = {settings['better']}: are {settings['better']} scores the better ones?")
    if "scores" not in settings:
        say("  scores: not set; say who may see the scores before papers are decided")
    if not settings.keys() & {"accept-rate", "accept"}:
        say("  accept-rate, accept: neither is set; say how many papers to accept")
    if "past" in settings:
        say(f"  past-better: not set; {_PAST_BETTER.format(better=settings['better'])}")
    if "reviewers" not in contents.files and not {"past", "evidence"} & settings.keys():
        say(
            "  past: not set, so these reviews calibrate themselves; "
            f"`blindcal import {folder} FILE --as past` brings past reviews, which gain more"
        )
        if "committee" not in settings:
            say("  people: not set; how many people are on the committee's list?")
