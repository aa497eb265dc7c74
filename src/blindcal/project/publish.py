"""What is made of a release of a folder: files for other systems, lists of another length, and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from blindcal.deciding.lists import PrintedList, printed_list
from blindcal.deciding.publish import other_files, published_in, read_published, read_record
from blindcal.deciding.record import Record
from blindcal.errors import InputError, RefusedError
from blindcal.exporters import FORMATS, export
from blindcal.exporters.formats import (
    DECISIONS,
    LEFT_OUT,
    TAKEN_BACK,
    WAITING,
    DecidedPaper,
    decided_of,
    decision_words,
    read_decided,
    read_titles,
    table_of,
)
from blindcal.io.atomic_files import CERTIFICATE, read_json
from blindcal.io.cells import count
from blindcal.planning.remarks import plan_remarks
from blindcal.posterior.inputs import PAST, Inputs
from blindcal.project.folder import Work, folder_inputs, key_of, release_of
from blindcal.project.settings import FILE, Folder, parse_paper_counts
from blindcal.report.html_page import LevelFigures, Report, page
from blindcal.report.paper_survey import recorded_answer, survey_release
from blindcal.report.paper_table import PaperTable, paper_table
from blindcal.report.wording import certificate_of, has_figures, read_certificate
from blindcal.reviews import Reviews


@dataclass(frozen=True)
class ReleaseExport:
    """The decisions of a release as a system reads them."""

    name: str  # what to call the file
    to: str  # the system
    what: str  # `decisions` or `advice`
    data: bytes  # the bytes of the file
    papers: tuple[DecidedPaper, ...]  # the papers, with decisions by hand in place of blindcal's
    words: Mapping[str, int]  # how many papers each word for a decision stands at
    remarks: tuple[str, ...]  # what the chair should know, a sentence each
    confidential: bool = False  # whether it is a list that was not released


def folder_list(
    folder: Folder, accept: str, wait_list: str | None = None, *, key: Path | None = None
) -> PrintedList:
    """The list of another number of papers than was released, for the chair alone; nothing is drawn.

    `accept`: how many papers, or how many of each track, as text. `wait_list`: how many more wait, in the
    same form; by default those who wait in the release. Papers that the folder calls withdrawn are left out.
    """
    number = parse_paper_counts("`accept`", accept or None)
    if number is None:
        raise InputError("say how many papers to accept")
    record = read_record(release_of(folder), key_of(folder, key))
    return printed_list(record, number, parse_paper_counts("`wait_list`", wait_list), folder.withdrawn)


def export_release(
    folder: Folder | None,
    release: Path,
    to: str,
    what: str | None = None,
    *,
    accepted: str | None = None,
    rejected: str | None = None,
    waiting: str | None = None,
    printed: PrintedList | None = None,
    key: Path | None = None,
) -> ReleaseExport:
    """The decisions of a release for a conference system, or as a table.

    `folder`: the conference's folder, whose titles, words and decisions by hand are used; None without. `to`:
    the system or kind of table, one of `exporters.FORMATS`. `what`: by default what was published. `waiting`:
    what it calls the wait list; without it, its papers are not sent to a system. `printed`: a list of another
    number in place of the release's.

    Raises:
        RefusedError: Decisions are exported, and advice was published: these stay in the private log.
    """
    publishes = published_kind(release)
    what = what or publishes
    if what == "decisions" and publishes == "advice":
        raise RefusedError(
            f"{release} publishes advice (`release` in {FILE}), and its decisions stay in the private log: "
            "export advice"
        )
    own, secret = folder or _NO_FOLDER, key if folder is None else key_of(folder, key)
    compared = not_compared(release, secret) if printed is None else ()
    titles, by_hand = own.text("titles") or None, own.overridden
    edits = {paper: text.split(":")[0] for paper, text in by_hand.items() if what == "decisions"}
    if printed is not None:
        edits = {paper: word for paper, word in edits.items() if paper not in own.withdrawn}
        text = printed.text if what == "advice" else printed.public
        papers = decided_of(text.encode(), "the printed list", titles, edits)
    else:
        confidential = what == "advice" and table_of(release) is None
        papers = () if confidential else read_decided(release, titles, edits)
    if what == "advice" and not (papers and all(paper.advice for paper in papers)):
        if secret is None:
            raise InputError(
                "scores are confidential, and so is the advice, which only the private log has: give `key`"
            )
        papers = decided_of(read_record(release, secret).decisions.encode(), str(release), titles, edits)
    if what == "decisions" and to in FORMATS and FORMATS[to].worded:
        # The folder's words are for systems that have words; words that are given may be a mistake elsewhere.
        accepted = own.text("accepted") or None if accepted is None else accepted
        rejected = own.text("rejected") or None if rejected is None else rejected
    data = export(papers, to, what, accepted=accepted, rejected=rejected, waiting=waiting)
    remarks, words = tuple[str, ...](), dict[str, int]()
    if what == "decisions":
        remarks, number = _export_remarks(papers, to, waiting), Counter(paper.decision for paper in papers)
        remarks += _gone_remarks(own, papers, to)
        called = decision_words(to, accepted, rejected, waiting).items()
        words = {
            word: number[decision] for decision, word in called if number[decision] or decision in DECISIONS
        }
    elif by_hand:
        remarks = (
            f"{count(len(by_hand), 'decision')} by hand under [overridden] in {FILE} not written: advice is "
            "what blindcal says, and people decide on it",
        )
    remarks = (*compared, *(() if printed is None else _changed_words(printed)), *remarks)
    name = f"{what}-{to}.{FORMATS[to].ending}"
    return ReleaseExport(name, to, what, data, tuple(papers), words, remarks, printed is not None)


def not_compared(release: Path, key: Path | None) -> tuple[str, ...]:
    """A remark if nothing here can tell whether the public table is that of the release.

    Raises:
        RefusedError: The private log of the `key` says that it is not.
    """
    if key is None or not key.exists() or read_published(release) is None:
        return (f"{release} was not compared with the private log, as there is no key for it here",)
    if changed := other_files(read_record(release, key), release):
        raise RefusedError(
            f"{changed[0]} was changed since it was published: put back what `blindcal decide` wrote, which "
            f"writes it again if the file is gone. Decisions by hand go under [overridden] in {FILE}"
        )
    return ()


def other_reviews(record: Record, reviews: Reviews) -> list[str]:
    """The papers whose scores are not those that a release decided."""
    sign, now = -1.0 if record.settings["better"] == "low" else 1.0, dict[str, list[float]]()
    for paper, score in zip(reviews.paper.tolist(), reviews.score.tolist(), strict=True):
        now.setdefault(reviews.papers[paper], []).append(score)
    then = {paper.paper: [sign * score for score in paper.public["scores"]] for paper in record.papers}
    return [paper for paper in {**then, **now} if sorted(now.get(paper, [])) != sorted(then.get(paper, []))]


def published_kind(release: Path) -> str:
    """What a release publishes, `decisions` or `advice`, as its certificate says; a lone table has no say."""
    file = release / CERTIFICATE
    content = read_json(file) if file.is_file() else {}
    return "advice" if isinstance(content, dict) and content.get("publishes") == "advice" else "decisions"


def _changed_words(printed: PrintedList) -> tuple[str, ...]:
    """Remarks on the papers that the printed list decides otherwise than the release."""
    words = sorted({(then, now) for _, then, now in printed.changes})
    return tuple(
        f"{then} in the release, {now} here: "
        + ", ".join(paper for paper, *both in printed.changes if both == [then, now])
        for then, now in words
    )


def _export_remarks(papers: Sequence[DecidedPaper], to: str, waiting: str | None) -> tuple[str, ...]:
    overridden = sum(paper.overridden for paper in papers)
    by_hand = (
        f"{count(overridden, 'decision')} overridden by hand: the certificate is about blindcal's own "
        "decisions, and does not say what these reveal"
    )
    waits = [paper.paper for paper in papers if paper.decision == WAITING] if waiting is None else []
    what = {
        TAKEN_BACK: "the file takes back what an earlier one said of them",
        LEFT_OUT: f"not in the file: {', '.join(waits)}. {_TAKE_BACK}",
    }.get(FORMATS[to].waiting)
    word = "" if FORMATS[to].own_words else "; `waiting` says what you call it"
    on_it = f"{count(len(waits), 'paper')} on the wait list: {what}{word}"
    return (*([by_hand] if overridden else []), *([on_it] if waits and what else []))


_NO_FOLDER = Folder(Path(), {}, {}, {})
_TAKE_BACK = "If an earlier file decided any of them, take that back in your system"


def _gone_remarks(folder: Folder, papers: Sequence[DecidedPaper], to: str) -> tuple[str, ...]:
    """A remark on papers that a release of the folder accepted and this list does not have."""
    if not folder.text("out") or not FORMATS[to].upload:
        return ()
    releases = _decided_releases(folder)
    accepted = [paper.paper for release in releases for paper in release if paper.decision == DECISIONS[0]]
    gone = [paper for paper in dict.fromkeys(accepted) if paper not in {other.paper for other in papers}]
    named = f"accepted by a release and not in this list: {', '.join(gone)}. {_TAKE_BACK}"
    return (named,) if gone else ()


def _decided_releases(folder: Folder) -> list[tuple[DecidedPaper, ...]]:
    """The papers of each release of a folder that published a table, oldest first."""
    published = [seen.path.parent for seen in published_in(folder.text("out"))]
    return [read_decided(release) for release in published if table_of(release)]


# How many papers a remark names.
_MOST_NAMED = 5


class ReleasePage(NamedTuple):
    """A report about a release: its HTML, and what the reader should know."""

    html: str
    remarks: tuple[str, ...]


def report_release(
    folder: Folder | None,
    release: Path,
    *,
    confidential: bool = False,
    key: Path | None = None,
    **work: Unpack[Work],
) -> ReleasePage:
    """The page about a release, for everyone or for the chair.

    Where papers stand is found from the files of the conference's `folder`. A `confidential` page is for the
    chair alone, and needs the `key` if scores are confidential.
    """
    certificate, papers = read_certificate(release), read_decided(release) if table_of(release) else ()
    secret = key if folder is None else key_of(folder, key)
    if confidential and (certificate["scores"] == "confidential" or certificate["publishes"] == "advice"):
        certificate, papers = sealed_release(release, secret)
    if folder is not None:
        not_compared(release, secret)
    if papers and len(papers) != certificate["papers"]:
        raise InputError(
            f"{release}: certificate.json is about {count(certificate['papers'], 'paper')}, and its table "
            f"has {len(papers):,}"
        )
    survey, remarks, notes, level = None, list[str](), tuple[str, ...](), None
    if certificate["source"] != PAST:
        readable = confidential or certificate["scores"] == "public"
        level, remarks = _level_figures(release, secret, readable)
    elif not has_figures(certificate):
        remarks += [
            "scores are confidential: the page has no figure that depends on them; `confidential` has all"
        ]
    elif folder is None:
        remarks += ["without the conference's folder the page has no gray zone"]
    else:
        with folder_inputs(folder) as inputs:
            record = read_record(release, secret) if secret is not None and secret.exists() else None
            if record is not None and (others := other_reviews(record, inputs.reviews)):
                named = ", ".join([*others[:_MOST_NAMED], *(["..."] if len(others) > _MOST_NAMED else [])])
                raise InputError(
                    f"{inputs.sources.reviews}: the scores of {count(len(others), 'paper')} are not those "
                    f"that were decided ({named}): put them back, or take them in by "
                    "`decide` with `amend` and `reason`"
                )
            if isinstance(inputs, Inputs):
                survey = survey_release(inputs, certificate, papers, **work)
    if has_figures(certificate):
        notes = tuple(plan_remarks(certificate, certificate["limits"].get("never_against")))
    titles = (folder or _NO_FOLDER).text("titles")
    names = read_titles(titles) if titles and confidential else {}
    html = page(Report(certificate, papers, survey, confidential, names, notes, level))
    return ReleasePage(html, tuple(remarks))


def _level_figures(
    release: Path, secret: Path | None, readable: bool
) -> tuple[LevelFigures | None, list[str]]:
    """What readers of a release by this year's evidence may see if scores are `readable`; or a remark."""
    if not readable:
        listed = "lists no paper" if published_kind(release) == "advice" else "has decisions alone"
        return None, [f"scores are confidential: the page {listed}; `confidential` has all figures"]
    if secret is None or not secret.exists():
        return None, ["without the conference's folder and its key the page has no figures"]
    record = read_record(release, secret)
    return LevelFigures(paper_table(record), recorded_answer(record)), []


def folder_papers(folder: Folder, key: Path | None = None) -> PaperTable:
    """The table of papers of a folder's latest release, for chairs alone; it names no reviewer."""
    record = read_record(release_of(folder), key_of(folder, key))
    titles = folder.text("titles")
    return paper_table(
        record,
        titles=read_titles(titles) if titles else {},
        by_hand=folder.overridden,
        releases=_decided_releases(folder),
    )


def sealed_release(release: Path, key: Path | None) -> tuple[dict[str, Any], tuple[DecidedPaper, ...]]:
    """Certificate and decisions of a release with all figures, from the private log of its `key`."""
    if key is None:
        raise InputError(
            "scores are confidential, and only the private log has the figures of this release: give `key`"
        )
    record, name = read_record(release, key), str(release)
    return certificate_of(record.certificate.encode(), name), decided_of(record.decisions.encode(), name)
