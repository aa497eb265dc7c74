"""HotCRP: scores CSV, reviews CSV, the batch script's CSV, and the JSON of the API and of `jsonrqc`."""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from types import MappingProxyType

from blindcal.errors import Problem
from blindcal.importers.raw_export import (
    METAREVIEWS,
    Choices,
    RawExport,
    RawReview,
    clean_id,
    dropped_count,
    export_error,
    silent,
    withdrawn_papers,
)
from blindcal.importers.scores import find_scores, score_shaped
from blindcal.importers.sheet import (
    HeadedTable,
    Item,
    OpenedExport,
    find_only_table,
    json_cell,
    json_objects,
    json_pages,
    record_table,
)

NAME, TITLE = "hotcrp", "HotCRP"
_IDENTITIES = (
    "must say who the reviewers are: letters such as 1A only number the reviews. Download as a chair who "
    "may see reviewer names and emails"
)
_NOT_SCORES = {
    *("paper", "pid", "title", "decision", "review", "reviewername", "email", "round", "submitted_at"),
    *("vtag", "status", "sitename", "siteclass"),
}
_NOT_FIELDS = {
    *("object", "pid", "rid", "ordinal", "rtype", "round", "status", "blind", "ghost", "subject_to_approval"),
    *("reviewer", "reviewer_email", "reviewer_name", "reviewer_first", "reviewer_last", "review_token"),
    *("modified_at", "modified_at_text", "submitted_at", "version", "vtag", "ratings", "editable", "draft"),
    *("needs_approval", "my_review", "format"),
}
_KEPT_FIELDS = ("object", "pid", "round", "reviewer", "reviewer_email")
_DOUBT = (
    "numbers of reviews look as if {} of them were metareviews, which HotCRP's CSV does not say: give the "
    "list of assignments (pcassignments) together with this file, or import the JSON (jsonrqc) instead"
)
# Fewer are chance: a review more on a paper is most often one.
_FEWEST_DOUBTED = 3
_METAREVIEW = "5"
_UNFINISHED = frozenset(("empty", "acknowledged", "draft", "delivered", "pending"))
_FINISHED = frozenset(("", "approved", "complete", "submitted"))


def recognize(opened: OpenedExport, choices: Choices) -> str | None:
    """What kind of HotCRP export this is, in words, or None."""
    if opened.value is not None:
        return "HotCRP reviews as JSON" if _papers_and_reviews(opened.value) else None
    table = _review_table(opened)
    if table is None:
        return None
    if "pid" in table:
        return "HotCRP reviews from its batch script"
    return "HotCRP scores" if _shows_decisions(table) else "HotCRP reviews"


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The submitted reviews."""
    if opened.value is not None:
        return _read_json(opened, choices)
    table = _review_table(opened)
    if table is None:
        raise export_error(opened.file, "must be a HotCRP export: a header with paper, title and email")
    if {"field", "format", "data"} <= set(table.folded):
        raise export_error(table.file, "must have a column for each field: run the batch script without -x")
    if "email" not in table:
        raise export_error(table.file, _IDENTITIES, row=table.row)
    return _read_table(table, choices)


def _lists_reviews(names: frozenset[str]) -> bool:
    if "action" in names:  # a bulk assignment
        return False
    if {"pid", "review", "email"} <= names:
        return True
    known = names & {"reviewername", "email"} or ("review" in names and "reviewer" not in names)
    return {"paper", "title"} <= names and bool(known)


def _review_table(opened: OpenedExport) -> HeadedTable | None:
    return find_only_table(opened.sheets, _lists_reviews)


def _keyworded(table: HeadedTable) -> bool:
    """Whether fields go by their search keywords, as in the scores CSV."""
    fields = [name for name in table.names if name.casefold() not in _NOT_SCORES]
    return bool(fields) and all(re.fullmatch(r"\w+", name) for name in fields)


def _read_table(
    table: HeadedTable,
    choices: Choices,
    form: Mapping[str, object] = MappingProxyType({}),
    left: Sequence[str] = (),
) -> RawExport:
    """The submitted reviews of a table; `left` are fields of the export that did not come into it."""

    def full_name(name: str) -> tuple[str, ...]:
        field = form.get(name)
        full = field.get("name") if isinstance(field, dict) else None
        return (full,) if isinstance(full, str) else ()

    scored = table.columns_beside(_NOT_SCORES)
    keyworded = table.row is not None and _keyworded(table)
    fields = [name for name, cells in scored.items() if keyworded or score_shaped(cells)]
    given = choices.score_field
    score, confidence, *_, texts = find_scores(scored, given, table.file, table.row, fields, full_name)
    paper = table.first("paper", "pid")
    columns = {"paper": paper, "reviewer": "email", "score": score, "confidence": confidence}
    columns |= {"round": "round", "title": "title", "name": "reviewername"}
    export = table.export(NAME, columns, ("status", "decision"), texts, left)
    rule = "must be complete, approved, draft or another status of HotCRP"
    submitted, problems = list[RawReview](), list(export.problems)
    for review, cell in zip(export.rows, table.column("status"), strict=True):
        if cell.casefold() not in _UNFINISHED:
            submitted.append(review._replace(round="" if review.round == "unnamed" else review.round))
            if cell.casefold() not in _FINISHED:
                problems.append(Problem(table.file, review.row, "status", rule))
    unfinished = len(export.rows) - len(submitted)
    decisions = zip(table.column(paper), table.column("decision"), strict=True)
    return replace(
        export,
        rows=submitted,
        best_first=_letters_of_field(form, score),
        withdrawn=withdrawn_papers((number, "", word) for number, word in decisions),
        dropped=(
            *export.dropped,
            *dropped_count(unfinished, "unfinished review", "only submitted ones count"),
        ),
        warnings=(
            *(_metareview_doubts(submitted) if choices.metareviews is None else ()),
            silent("HotCRP's table of scores", "withdrawn")
            if _shows_decisions(table)
            else silent("HotCRP's CSV of reviews"),
        ),
        problems=tuple(problems),
    )


def _metareview_doubts(rows: Sequence[RawReview]) -> list[str]:
    """A doubt if a few people have one review of every paper, or of every one with more reviews than most.

    >>> plain = [RawReview(0, f"{paper}", who, "1") for paper in range(7) for who in "ab"]
    >>> extra = [RawReview(0, f"{paper}", "chair", "1") for paper in range(3)]
    >>> _metareview_doubts(plain), _metareview_doubts(plain + extra)[0][:45]
    ([], 'numbers of reviews look as if 3 of them were ')
    """
    papers, people = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for row in rows:
        papers[row.paper].add(row.reviewer)
        people[row.reviewer].add(row.paper)
    sizes = Counter(map(len, papers.values()))
    usual = max(sizes, key=lambda size: (sizes[size], -size), default=0)
    more = {paper for paper, reviewers in papers.items() if len(reviewers) > usual}
    above = [reviewed for reviewed in people.values() if reviewed <= more]
    busiest = _busiest_reviewers([*people.values()], len(papers))
    for covered, group in ((more, above), ({*papers}, busiest)):
        if {*chain(*group)} == covered and len(covered) >= _FEWEST_DOUBTED and max(sizes) > 2:
            return [_DOUBT.format(f"{len(covered):,}")]
    return []


def _busiest_reviewers(reviewed: Sequence[set[str]], total: int) -> Sequence[set[str]]:
    """The people with the most reviews, as many as wrote this `total`; none if others wrote as many each."""
    ordered = sorted(reviewed, key=len, reverse=True)
    written = 0
    for number, (papers, later) in enumerate(pairwise(ordered), start=1):
        written += len(papers)
        if written >= total:
            return ordered[:number] if written == total and len(later) < len(papers) else []
    return []


def read_metareviews(opened: OpenedExport) -> frozenset[tuple[str, str]] | None:
    """Paper and reviewer of each metareview in a list of assignments; None for any other file.

    A bulk assignment with a conflict is a list of conflicts.
    """
    table = find_only_table(opened.sheets, lists_assignments)
    if table is None:
        return None
    who = table.column(table.first("email", "user"))
    rows = list(zip(table.column("paper"), table.column("action"), who, strict=True))
    actions = {action.strip().casefold() for _, action, _ in rows}
    if any("conflict" in action for action in actions) or not any("review" in action for action in actions):
        return None
    return frozenset(
        (clean_id(paper), clean_id(email))
        for paper, action, email in rows
        if action.strip().casefold() == "metareview"
    )


def lists_assignments(names: frozenset[str]) -> bool:
    """Whether a table with columns of these `names` is a bulk assignment."""
    return {"paper", "action"} <= names and bool(names & {"email", "user"})


def _shows_decisions(table: HeadedTable) -> bool:
    """Whether a paper without a decision has none: the scores have the column if any paper has one."""
    return "pid" not in table and ("decision" in table or _keyworded(table))


def _papers_and_reviews(value: object) -> list[tuple[Item, Item]]:
    """Each review and the paper it belongs to (the review itself where there is no more about it)."""
    items, pairs = json_pages(value), list[tuple[Item, Item]]()
    for paper in _json_papers(value):
        pairs += [({**paper, "reviews": None}, review) for review in json_objects(paper.get("reviews"))]
    alone = [item for item in items if item.keys().isdisjoint(("papers", "pid"))]
    pairs += [(review, review) for item in alone for review in json_objects(item.get("reviews"))]
    if not pairs and any(item.get("object") == "review" or {"pid", "rid"} <= item.keys() for item in items):
        pairs = [(item, item) for item in items]
    return pairs if any("pid" in paper or "pid" in review for paper, review in pairs) else []


def _read_json(opened: OpenedExport, choices: Choices) -> RawExport:
    pairs = _papers_and_reviews(opened.value)
    if not pairs:
        raise export_error(opened.file, "must be HotCRP's reviews: an object with reviews, each with its pid")
    if not any(review.get("reviewer_email") for _, review in pairs):
        raise export_error(opened.file, _IDENTITIES)
    records = {
        number: _table_row(paper, review)
        for number, (paper, review) in enumerate(pairs, start=1)
        if json_cell(review.get("rtype")) != _METAREVIEW
    }
    if not records:
        raise export_error(opened.file, "must hold reviews", "metareviews alone")
    unused = dict.fromkeys(name for _, review in pairs for name in review if name in _NOT_FIELDS)
    forms: list[Item] = [
        page["reviewform"] for page in json_pages(opened.value) if isinstance(page.get("reviewform"), dict)
    ]
    export = _read_table(
        record_table(opened.file, [*records.values()], records),
        choices,
        forms[0] if forms else {},
        [name for name in unused if name not in _KEPT_FIELDS],
    )
    whole = _json_papers(opened.value)
    items = whole or [paper for paper, _ in pairs]
    papers = {json_cell(paper.get("pid")): paper for paper in items}
    return replace(
        export,
        dropped=(*export.dropped, *dropped_count(len(pairs) - len(records), "metareview", METAREVIEWS)),
        warnings=() if whole else (silent("HotCRP's JSON of reviews"),),
        titles={number: json_cell(paper.get("title")) for number, paper in papers.items()},
        tracks={number: json_cell(paper.get("submission_class")) for number, paper in papers.items()},
        conflicts=tuple(_json_conflicts(items)),
        withdrawn=withdrawn_papers(
            (number, json_cell(paper.get("status")), _decision(paper)) for number, paper in papers.items()
        ),
    )


def _table_row(paper: Item, review: Item) -> dict[str, str]:
    """A review as a row of HotCRP's table of reviews."""
    known = {
        "paper": review.get("pid", paper.get("pid")),
        "title": paper.get("title"),
        "email": review.get("reviewer_email"),
        "reviewername": html.unescape(re.sub(r"<[^<>]*+>", "", json_cell(review.get("reviewer")))),
        "round": review.get("round"),
        "status": review.get("status"),
    }
    fields = {name: value for name, value in review.items() if name not in _NOT_FIELDS}
    return {name: json_cell(value) for name, value in (fields | known).items()}


def _decision(paper: Item) -> str:
    """The decision on a paper; none if it is one that leaves a paper open, such as Discuss.

    >>> _decision({"status": "reject", "decision": "Early reject"})
    'Early reject'
    >>> _decision({"status": "submitted", "decision": "Discuss"})
    ''
    """
    status = json_cell(paper.get("status"))
    return "" if status == "submitted" else json_cell(paper.get("decision"))


def read_conflicts(opened: OpenedExport) -> list[tuple[str, str]] | None:
    """The conflicts `(paper, email)` in the JSON of papers (`jsonrqc`); None if there is no word of them."""
    papers = _json_papers(opened.value)
    return list(_json_conflicts(papers)) if any("pc_conflicts" in paper for paper in papers) else None


def _json_papers(value: object) -> list[Item]:
    """The papers that a page lists, or that it is itself."""
    papers = list[Item]()
    for item in json_pages(value):
        papers += json_objects(item.get("papers")) or [item] * ({"pid", "reviews"} <= item.keys())
    return papers


def _json_conflicts(papers: Sequence[Item]) -> Iterator[tuple[str, str]]:
    for paper in papers:
        conflicts = paper.get("pc_conflicts")
        names = conflicts if isinstance(conflicts, dict | list) else ()
        yield from ((json_cell(paper.get("pid")), name) for name in names if isinstance(name, str))


def _letters_of_field(form: Mapping[str, object], score: str) -> tuple[str, ...]:
    """The letters of a field, best first: the review form lists its values from worst to best.

    >>> _letters_of_field({"OveMer": {"values": ["Reject", "Maybe", "Accept"], "start": "A"}}, "OveMer")
    ('A', 'B', 'C')
    >>> _letters_of_field({"OveMer": {"values": ["Bad", "Good"], "symbols": ["X", "Y"]}}, "OveMer")
    ('Y', 'X')
    """
    field = form.get(score)
    if not isinstance(field, dict) or not isinstance(field.get("values"), list):
        return ()
    symbols, start, count = field.get("symbols"), field.get("start"), len(field["values"])
    if isinstance(symbols, list) and len(symbols) == count and all(isinstance(s, str) for s in symbols):
        return tuple(reversed(symbols))
    if isinstance(start, str) and re.fullmatch(r"[A-Z]", start) and ord(start) + count <= ord("Z") + 1:
        return tuple(chr(ord(start) + index) for index in range(count))
    return ()
