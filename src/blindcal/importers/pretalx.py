"""pretalx: the reviews of its API as JSON, plain or with submissions, users and scores expanded."""

from __future__ import annotations

from collections.abc import Mapping

from blindcal.importers.findings import Choices, Found, Row, chosen_score, dropped_columns, refusal
from blindcal.importers.scores import score_shaped
from blindcal.importers.sheets import Opened
from blindcal.importers.values import Item, cell_of, objects, pages, whole

NAME = "pretalx"
_TOTAL = "score"


def recognize(opened: Opened, choices: Choices) -> str | None:
    """What kind of pretalx export this is, in words, or None.

    `opened` is what `open_export` returns; the `choices` do not matter here.

    >>> opened = Opened("x.json", value=[{"submission": "ABC", "user": "ada", "score": 2.5}], is_json=True)
    >>> recognize(opened, Choices())
    'pretalx reviews'
    """
    return "pretalx reviews" if opened.is_json and any(map(_is_review, _items(opened.value))) else None


def read(opened: Opened, choices: Choices) -> Found:
    """The reviews of all pages.

    `opened` is what `open_export` returns; `choices` are the chair's. Nothing is checked yet but the form.

    >>> opened = Opened("x.json", value=[{"submission": "ABC", "user": "ada", "score": 2.5}], is_json=True)
    >>> found = read(opened, Choices())
    >>> found.score_field, [(row.paper, row.reviewer, row.score) for row in found.rows]
    ('score', [('ABC', 'ada', '2.5')])
    """
    found = pages(opened.value)
    paged = any("results" in page for page in found)
    reviews = list(whole(found, "results", opened.file)) if paged else found
    if not any(map(_is_review, reviews)):
        raise refusal(opened.file, "must be pretalx reviews: objects with submission, user and score")
    if not any(_user(review)[0] for review in reviews):
        raise refusal(
            opened.file, "must say who the reviewers are: fetch as an organizer who may see reviewers"
        )
    answers = [_answers(review) for review in reviews]
    labels = dict.fromkeys(label for answer in answers for label in answer)
    columns = {label: [answer.get(label, "") for answer in answers] for label in labels}
    fields: dict[str, tuple[str, ...]] = {name: () for name, cells in columns.items() if score_shaped(cells)}
    given = choices.score_field or (_TOTAL if _TOTAL in fields else None)
    score = chosen_score(fields, given, opened.file)
    cells = enumerate(zip(reviews, columns[score], strict=True), start=1)
    unused = dict.fromkeys(key for review in reviews for key in review)
    kept = {"submission", "user", "scores", _TOTAL}
    return Found(
        format=NAME,
        file=opened.file,
        rows=[_row(number, review, cell) for number, (review, cell) in cells],
        score_field=score,
        dropped=dropped_columns(
            [*(key for key in unused if key not in kept), *(name for name in labels if name != score)],
            ["text"],
        ),
    )


def _row(number: int, review: Item, score: str) -> Row:
    (paper, title, track), (user, name) = _paper(review), _user(review)
    return Row(number, paper, user, score, track=track, title=title, name=name)


def _items(value: object) -> list[Item]:
    found = pages(value)
    return [item for page in found for item in objects(page.get("results"))] or found


def _is_review(item: Item) -> bool:
    return {"submission", "user", "score"} <= item.keys()


def _user(review: Item) -> tuple[str, str]:
    """Id and name: the code where the user is expanded."""
    user = review.get("user")
    if isinstance(user, dict):
        name = cell_of(user.get("name"))
        return cell_of(user.get("code")) or cell_of(user.get("email")) or name, name
    return cell_of(user), ""


def _paper(review: Item) -> tuple[str, str, str]:
    """Code, title and track of the submission."""
    paper = review.get("submission")
    if isinstance(paper, dict):
        return cell_of(paper.get("code")), cell_of(paper.get("title")), _translated(paper.get("track"))
    return cell_of(paper), "", ""


def _translated(value: object) -> str:
    """A text that may come in several languages: the English one, or the first."""
    if isinstance(value, dict):
        name = value.get("name", value)
        if isinstance(name, dict):
            name = name.get("en") or next(iter(name.values()), "")
        return cell_of(name)
    return cell_of(value)


def _answers(review: Item) -> Mapping[str, str]:
    """The total, and the score in each category where they are expanded."""
    answer = {_TOTAL: cell_of(review.get("score"))}
    for score in objects(review.get("scores")):
        category = _translated(score.get("category"))
        if category:
            answer[f"category {category}"] = cell_of(score.get("value"))
    return answer
