"""`blindcal new`: a folder and a key for a conference, before reviews are in or with every file at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from blindcal.cli.console import CONFIDENTIAL, Json, emit_json, note, progress, say
from blindcal.cli.fit import say_fitted
from blindcal.cli.imports import contents_facts, say_contents, say_next_step
from blindcal.cli.options import argument, option, word
from blindcal.compute.parallel import available_cores
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import InputError
from blindcal.planning.request import SCORES
from blindcal.project.create import (
    INPUTS,
    CreatedFolder,
    InitialSettings,
    SourceFiles,
    create_folder,
    key_beside,
)
from blindcal.project.settings import FILE, accept_setting, read_folder
from blindcal.project.workflow import folder_answer
from blindcal.report.wording import advice
from blindcal.reviews import BETTER
from blindcal.sharing import shared_folder

_KEY_ADVICE = (
    "Only you can read it. Keep it secret forever: anyone who holds it can work out the coins and, with the",
    "decisions, much of who reviewed what. Back it up now, and again after every `blindcal decide`, together",
    "with the folder {sealed}, which remembers what was decided, and after every `blindcal share`",
    "with {shared}, which remembers what was shared. If the key is lost, the decisions",
    "stand but can no longer be checked or amended; deciding again with a new key would draw new coins.",
)
# `plan` says more precisely whether calibration is worth it; here it is estimated for so many seconds.
_SECONDS = 5.0
# Arguments of the importers that only `blindcal import` has as options.
_READING = re.compile("`(?:best_first|columns|format|map|score_field|unit)`")


def new(
    folder: Path = argument("The folder to make; an existing one is never changed."),
    reviews: Path | None = option(
        "This year's reviews, as downloaded or as a table paper, reviewer, score. They may come later, by "
        "`blindcal import`."
    ),
    committee: Path | None = option(
        "Everyone who may have reviewed, also those who did not: a table with a column reviewer or email. "
        "Needed with --past."
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
    same: Path | None = option(
        "Past ids of members, if they are not found or found wrongly: columns old, new."
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
    as_json: Json = False,
) -> None:
    """Make a folder for a conference, and the key that every coin is derived from.

    Without --reviews the folder is made before they are in, so that the key's fingerprint can be published
    first; `blindcal import FOLDER FILE` brings them later. Afterward `plan FOLDER`, `decide FOLDER` and
    `verify FOLDER` need no other option: FOLDER/conference.toml has them all, each with what it means, for
    you to read and change. FOLDER/public is for what may be sent on to whoever may see the scores, which
    --scores says; the key and its sealed record lie beside FOLDER. Papers that the export calls withdrawn,
    desk rejected or deleted are listed under [withdrawn], and so left out of the decisions. All is written,
    or nothing.

    Example: blindcal new icx2027 --reviews export.csv --committee pc.csv --past 2026.csv --accept 25%
    --scores confidential
    """
    rate, number = accept_setting(accept)
    files = SourceFiles(reviews, committee, past or (), conflicts, pools, reviewers, same)
    settings = InitialSettings(scores, rate, number, better=better)
    key = key_beside(folder) if key is None else key
    try:
        made = create_folder(folder, files, settings, key, workers=available_cores(), progress=progress)
    except InputError as error:
        raise _readable_elsewhere(error, folder) from None
    facts = _facts(folder, made)
    found = folder_answer(read_folder(folder), seconds=_SECONDS)
    facts["advice"] = None if found is None else advice(found.menu, found.chosen)
    if not as_json:
        _print(made, facts)
    for remark in made.remarks:
        note(remark)
    if as_json:
        emit_json(facts)


def _readable_elsewhere(error: InputError, folder: Path) -> InputError:
    """The same error, and if it asks how to read an export, the command that can be told."""
    if not _READING.search(str(error)):
        return error
    advice = (
        f"`blindcal import` has this option: make the folder without this file (blindcal new {folder}), then "
        f"give the file and the option to blindcal import {folder}"
    )
    return InputError(f"{error}\n{advice}", error.problems)


def _facts(folder: Path, made: CreatedFolder) -> dict[str, Any]:
    contents = made.contents
    imported, fitted = contents.imported, contents.fitted
    facts: dict[str, Any] = {
        "folder": folder,
        "settings": made.settings,
        "withdrawn": made.withdrawn,
        **contents_facts(contents),
        "calibrated": None if fitted is None else fitted.checks.reviewers,
        "found": None if contents.people is None else contents.people.found,
        "key": made.key,
        "fingerprint": made.secret.fingerprint,
        "sealed": ledger_folder(made.key),
        "shared": shared_folder(made.key),
        "notes": [],
        "warning": CONFIDENTIAL,
    }
    if imported is not None:
        facts |= {
            "reviews": len(imported.reviews),
            "papers": len(imported.reviews.papers),
            "reviewers": len(imported.reviews.reviewers),
        }
    return facts


def _print(made: CreatedFolder, facts: dict[str, Any]) -> None:
    contents, folder = made.contents, facts["folder"]
    say_contents(contents, made.withdrawn)
    if contents.people is not None:
        say(f"calibrated: {contents.people}; everyone else is taken as any reviewer of the past")
    say()
    if contents.fitted is not None:
        say_fitted(contents.fitted, folder / INPUTS / "reviewers.csv")
        say()
    _print_open(made, facts)
    say(f"CONFIDENTIAL, never share: {folder / INPUTS}")
    say(f"key: {facts['key']}, fingerprint {facts['fingerprint']}")
    for line in _KEY_ADVICE:
        say(line.format(sealed=facts["sealed"], shared=facts["shared"]))
    if contents.imported is None:
        say(
            "Publish the fingerprint before reviews are in: it reveals nothing about the key, and shows later"
        )
        say("that the coins were fixed before anyone knew the scores.")
    if facts["advice"] is not None:
        say(facts["advice"])
    say_next_step(read_folder(folder))


def _print_open(made: CreatedFolder, facts: dict[str, Any]) -> None:
    """Say what the chair should look at in the settings."""
    folder, settings = facts["folder"], facts["settings"]
    say(f"wrote {folder / FILE}: check every setting and correct any that are wrong")
    if "grid" in settings:
        say(f"  grid = {settings['grid']}: taken from the scores given; could others be given too?")
    say(f"  better = {settings['better']}: are {settings['better']} scores the better ones?")
    if "scores" not in settings:
        say("  scores: not set; say who may see the scores before papers are decided")
    if not settings.keys() & {"accept-rate", "accept"}:
        say("  accept-rate, accept: neither is set; say how many papers to accept")
    if not made.calibrated and "past" not in settings:
        say(f"  past: not set; `blindcal import {folder} FILE --as past` brings past reviews")
