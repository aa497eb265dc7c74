"""The fields of certificate.json: each one is declared here, and nowhere else.

A row of `PARTS` says what values a field takes, what it means, for the schema and for people, and whether it
is withheld if scores are confidential. These rows make the public certificate, the JSON schema in
docs/certificate_schema.json (tools/certificate_schema.py), the check of a certificate that is read, and its
explanation. A new field is a new row here, and its number in `certificate_text`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blindcal.io.atomic_files import to_jsonable
from blindcal.io.cells import number_text
from blindcal.io.tables import quote_cell
from blindcal.planning.calibration_check import DOUBTFUL, FITS, HOPELESS
from blindcal.planning.request import RELEASES, SCORES, SOURCES
from blindcal.policy.guarantee import LIMITS, NAMES, Limit

CERTIFICATE_FORMAT = 1
"""The format of certificates: which fields they have, and what these mean."""
ASSUMED: Mapping[str, tuple[str, ...]] = {
    "past": ("observer", "knowledge", "one_paper", "fixed", "uncovered"),
    "list": ("list", "one_place", "list_errors"),
    "confidential": ("confidential", "observer_of_scores", "unseen", "repeated"),
    "this-year": ("draws", "renaming", "links", "evidence_fixed", "strategy", "uncovered_evidence"),
    "file": ("draws", "outside_evidence", "evidence_fixed", "uncovered_evidence"),
    "list of evidence": ("place_of_evidence",),
    "scores": ("scores_alone", "uncovered_evidence"),
}
"""What a certificate assumes, by name: by the source that decided papers, `scores` if it is neither a
calibration nor evidence; if an exact number is accepted; if scores are confidential.

`report.wording` has the sentences, so that words can change and certificates stay as they are.
"""
_ASSUMPTIONS = dict.fromkeys(name for names in ASSUMED.values() for name in names)
# Those that mention no figure: they stand if scores are confidential.
_WITHOUT_FIGURES = ("one_paper", "one_place", "fixed", "uncovered")
Content = Mapping[str, Any]
Schema = Mapping[str, Any]
Sentence = str | Callable[[Content], str] | None
"""What people read of the value of a field; None: the description. Empty: pages show it elsewhere.

A function of the whole certificate chooses between sentences. Values stand in one by their path and form,
like `{epsilon:factor}`.
"""
ROUNDING = 1e-6
"""A share of wrong decisions below this is rounding."""


@dataclass(frozen=True)
class ValueKind:
    """What values a field takes."""

    schema: Schema  # the values, in JSON schema
    rule: str  # the same in words
    form: str = ""  # how people write such a value; `fill` in `report.wording` has the forms

    def field(self, name: str, description: str, sentence: Sentence = None, **row: Any) -> Field:
        """A field with such a value."""
        return Field(name, self, description, sentence, **row)

    def figure(self, name: str, description: str, sentence: Sentence = None, **row: Any) -> Field:
        """A field with such a value that depends on scores."""
        return Field(name, self, description, sentence, withheld=True, **row)


@dataclass(frozen=True)
class Field:
    """A field of the certificate."""

    name: str  # what the file calls it
    kind: ValueKind | None  # what values it takes; None for an object, which has `fields`
    description: str  # what it is, as a sentence
    sentence: Sentence = None
    form: str = ""  # how people write its value, if not as others of its kind
    # Whether it depends on scores, so that it is not published if these are confidential
    withheld: bool = False
    of_decisions: bool = False  # whether it is a number of decisions, which advice does not publish
    optional: bool = False  # whether it can be missing for another reason
    of_candidates: bool = False  # whether it is missing if there are none, as with this year's evidence
    nullable: bool = False  # whether it can be null
    fields: tuple[Field, ...] = ()  # the fields of an object


def _number_kind(rule: str, form: str, **limits: float) -> ValueKind:
    return ValueKind({"type": "number", **limits}, f"must be a number{rule}", form)


def _or_infinite(kind: ValueKind, form: str) -> ValueKind:
    # JSON has no infinity.
    return ValueKind({"anyOf": [kind.schema, {"const": "inf"}]}, f'{kind.rule}, or "inf"', form)


def _whole_number(least: int) -> ValueKind:
    schema = {"type": "integer", "minimum": least}
    return ValueKind(schema, f"must be a whole number of at least {least}", ",")


def _or_by_track(one: ValueKind, each: ValueKind, form: str, rule: str = "") -> ValueKind:
    schema = {"anyOf": [one.schema, {"type": "object", "additionalProperties": each.schema}]}
    return ValueKind(schema, f"{rule or one.rule}, or one for each track", form)


def _one_of(*values: str) -> ValueKind:
    return ValueKind({"enum": list(values)}, f"must be one of {', '.join(values)}")


NUMBER, DECIMAL = _number_kind("", "number"), _number_kind("", ".2f")
SHARE = _number_kind(" from 0 to 1", "percent", minimum=0, maximum=1)
FACTOR = _number_kind(" of at least 1", "rounded", minimum=1)
BOUND, TIMES = (
    _or_infinite(_number_kind(" of at least 0", "", minimum=0), "bound"),
    _or_infinite(FACTOR, "times"),
)
COUNT, POSITIVE = _whole_number(0), _whole_number(1)
LEVEL = _or_by_track(NUMBER, NUMBER, "quality")
PAPERS = _or_by_track(COUNT, COUNT, "by_track", "must be a whole number")
ACCEPTED = _or_by_track(POSITIVE, COUNT, "by_track")
TEXT = ValueKind({"type": "string"}, "must be text")
FORMAT = ValueKind(
    {"type": "integer", "minimum": CERTIFICATE_FORMAT, "maximum": CERTIFICATE_FORMAT},
    f"must be {CERTIFICATE_FORMAT}, which this version reads",
)
ASSUMPTIONS = ValueKind(
    {"type": "array", "items": {"enum": [*_ASSUMPTIONS]}}, "must be a list of names of assumptions"
)
SCORE_LIST = ValueKind({"type": "array", "items": NUMBER.schema}, "must be a list of numbers", "list")
RANGE = ValueKind(
    {"type": "array", "items": COUNT.schema, "minItems": 2, "maxItems": 2},
    "must be a list of two whole numbers",
    "range",
)


def _in_papers(name: str, description: str) -> Field:
    """A share of wrong decisions, which people read as a number of papers too."""
    papers = f"In this conference: {{in_papers.{name}:expected}} papers."
    return SHARE.figure(name, description, f"{description} {papers}")


def _limit_field(name: str, limit: Limit) -> Field:
    """The field of a guarantee's limit, without a sentence: `promises` has it."""
    low, high = ("exclusiveMinimum", "exclusiveMaximum") if limit.inside else ("minimum", "maximum")
    number = {"type": "integer" if limit.whole else "number", low: limit.low, high: limit.high}
    kind = ValueKind(number, f"must be a number from {number_text(limit.low)} to {number_text(limit.high)}")
    return Field(name, kind, limit.sentence, "", nullable=True, optional=not limit.always_recorded)


def by_scores_alone(content: Content) -> bool:
    """Whether a certificate is about papers that neither a calibration nor evidence decided."""
    return bool(content["source"] != "past" and content["guarantee"] == "public")


_SOURCES = {
    "past": "Reviewers were calibrated on other conferences.",
    "this-year": "Strictness was estimated from each reviewer's other reviews of this conference.",
    "file": "Another method gave accept or reject for each paper; blindcal did not look at how.",
}


def _source_sentence(content: Content) -> str:
    if by_scores_alone(content):
        return "Papers were decided by their scores alone: how strict reviewers are was not estimated."
    return _SOURCES[content["source"]]


def _readers_sentence(content: Content) -> str:
    if content["scores"] == "public":
        return "Everyone may see the scores of all papers."
    return "Not everyone may see the scores: figures that depend on them are not published. {unseen}"


def _some_decided_again(content: Content) -> bool:
    """Whether papers were decided again or corrected; if scores are confidential, only whether corrected."""
    return any(content["decided_again"].get(name) for name in ("papers", "corrected"))


def _if_decided_again(row: Field) -> Field:
    """The field, about which people read only if papers were decided again or corrected."""
    return replace(row, sentence=lambda content: row.description if _some_decided_again(content) else "")


def _decided_again_sentence(content: Content) -> str:
    if not _some_decided_again(content):
        return "No paper was decided twice."
    return (
        "Papers decided before, under this name or one with the same scores, and decided again from public "
        "data alone, which reveals nothing further. The figures above are those of the first decision, for "
        "the scores, pools and calibration of its release and the reviewers as recorded then. Under "
        "corrected ones only its epsilon and multiplier are promised, as stated here; success, largest_rise, "
        "largest_factor, largest_posterior and those like it are not stated for them."
    )


def _odds_sentence(content: Content) -> str:
    if content["epsilon"] == 0.0:
        return "No decision changes the odds of anyone who sees the scores, whatever else they know."
    if content["epsilon"] == float("inf"):
        return "There is no limit on how far a decision can shift the odds of someone who knows more."
    listed = " Places on a list depend on all papers: this is for someone who looks at each separately."
    return (
        "Whatever someone suspects, no single decision changes their odds by more than a factor of "
        "{epsilon:factor}: a suspicion of 10 in 100 becomes {epsilon:after 10} in 100 at most, one of 50 "
        f"becomes {{epsilon:after 50}}.{listed if 'selection' in content else ''}"
    )


_VERDICTS = {
    FITS: "The calibration predicts scores like those that were given.",
    DOUBTFUL: "The calibration predicts scores that differ from those that were given: doubt the expected "
    "errors, and the chances of naming reviewers.",
    HOPELESS: "The calibration does not predict scores like those that were given: the figures of this "
    "certificate mean little.",
}
_REQUESTED = (
    SHARE.field(
        "accept_rate",
        "The share of papers to accept. It set the bar; each paper is decided by itself, so the number "
        "accepted varies.",
        nullable=True,
    ),
    NUMBER.field("bar", "The chair set the bar; no number was requested.", form="quality", nullable=True),
    ACCEPTED.field("accept", "The chair requested exactly this number of accepted papers.", nullable=True),
    PAPERS.field(
        "wait_list", "This number of papers may follow them, in the order of the wait list.", nullable=True
    ),
)
_SELECTION = (
    ACCEPTED.field(
        "accept",
        "Exactly this number of papers is accepted: the best by their private decisions, which stay secret. "
        "Corrections may later add or remove some.",
    ),
    PAPERS.field("wait_list", "The wait list has this number of places."),
    COUNT.field("waiting", "How many papers are on the wait list."),
    SHARE.figure("expected_wrong_private", "expected_wrong if the private decisions were published."),
)
_SCALE = (
    NUMBER.field("lowest_score", "The lowest score that was given."),
    NUMBER.field("highest_score", "The highest score that was given."),
    SCORE_LIST.field(
        "possible_scores", "The scores that can be given; null if none was taken as rounded.", nullable=True
    ),
)
_POOLS = (
    COUNT.field("people", "How many people are candidates for some paper."),
    COUNT.field("smallest", "Candidates of the paper with the fewest; an unlisted reviewer counts as one."),
    COUNT.field("largest", "Candidates of the paper with the most."),
    COUNT.field("median", "Half of the papers have up to so many candidates."),
    COUNT.field("with_others", "For how many papers an unlisted reviewer is possible."),
    RANGE.field("reviews_per_paper", "The fewest and the most reviews of a paper."),
    COUNT.field(
        "smaller_than_crowd",
        "Only under a crowd: how many papers have fewer candidates than it, all listed by name. A crowd is "
        "steady there: no decision makes the likeliest candidate likelier.",
        optional=True,
    ),
)
_CORRECTED = (
    COUNT.field("corrected", "How many decisions stand although pools or calibration were corrected since."),
    BOUND.figure(
        "epsilon", "The largest epsilon of their one draw, which is promised under corrected data too."
    ),
    FACTOR.figure("multiplier", "The largest multiplier of their one draw, which is promised likewise."),
)
_DECIDED_AGAIN = (
    # Whether a new paper has the scores of a decided one shows in this number.
    COUNT.figure("papers", "How many were decided again, from public data alone.", _decided_again_sentence),
    *map(_if_decided_again, _CORRECTED),
)
_CALIBRATION_FIT = (
    _one_of(FITS, DOUBTFUL, HOPELESS).field(
        "verdict", "The verdict.", lambda content: _VERDICTS[content["calibration_fit"]["verdict"]]
    ),
    DECIMAL.field("predicted_mean", "Mean score as predicted."),
    DECIMAL.field("observed_mean", "Mean score that was given."),
    DECIMAL.field("predicted_sd", "Standard deviation of scores as predicted."),
    DECIMAL.field("observed_sd", "Standard deviation of the scores that were given."),
    NUMBER.field("shift", "Difference of the means in standard deviations.", form="+z.2f"),
    DECIMAL.field("stretch", "Ratio of the standard deviations."),
    DECIMAL.field(
        "mirrored",
        "Evidence that strict and generous reviewers were exchanged (a logarithm): below 0 speaks against "
        "it.",
        nullable=True,
    ),
    COUNT.field("impossible", "Scores that no candidate gives."),
    COUNT.field("odd", "Candidates who would not give scores like these."),
)
_CALIBRATION_SCALE = (
    NUMBER.field(
        "shift", "The calibration was moved by this much, toward the better end, to fit this year's scores."
    ),
    NUMBER.field("stretch", "The calibration was stretched by this factor to fit this year's scores."),
)
_DECIDED: Sequence[Field] = (
    TEXT.field("conference", "The name of the conference, in its own records."),
    POSITIVE.field("release", "Which of the conference's releases this is; it replaces those before it."),
    POSITIVE.field("papers", "How many papers were decided."),
    POSITIVE.field("reviews", "How many reviews they had."),
    _one_of(*RELEASES).field(
        "publishes",
        "What goes out: decisions, or advice to raise, lower or leave what mean scores say. Someone who sees "
        "the scores can work out each decision from advice, so what is stated of decisions holds for it.",
    ),
    COUNT.field(
        "accepted",
        "How many papers are accepted. Not if advice is published.",
        optional=True,
        of_decisions=True,
    ),
    Field(
        "requested",
        None,
        "What the chair requested: one of a share, a bar and a number. What was not given is null.",
        fields=_REQUESTED,
    ),
    Field(
        "selection", None, "Only if exactly so many papers are accepted.", optional=True, fields=_SELECTION
    ),
    _one_of(*SCORES).field(
        "scores",
        "Who may see the scores of all papers: everyone, or not. If not, the figures are in the private log.",
        _readers_sentence,
    ),
    LEVEL.figure(
        "bar",
        "Accepting a paper was correct if its quality is above this. Quality is measured in standard "
        "deviations over papers: 0 is the average paper, and 1 is better than five in six.",
    ),
    _one_of("high", "low").field("better", "Which scores are better, as the chair said."),
    Field("scale", None, "The scores, as they were given.", withheld=True, fields=_SCALE),
    _one_of(*SOURCES).field(
        "source",
        "What calibrated: a calibration from elsewhere, these reviews themselves, or another method's file.",
        _source_sentence,
    ),
    Field(
        "pools",
        None,
        "Who may have reviewed. Not if papers are decided by this year's evidence: it needs no candidates.",
        of_candidates=True,
        fields=_POOLS,
    ),
    Field(
        "decided_again",
        None,
        "Papers that were decided more than once, or whose pools or calibration were corrected afterwards.",
        fields=_DECIDED_AGAIN,
    ),
)
_PROMISED: Sequence[Field] = (
    _one_of(*NAMES).field("guarantee", "The promise by name.", ""),
    Field(
        "limits",
        None,
        "The limits that go with it; null: no limit.",
        fields=tuple(_limit_field(name, limit) for name, limit in LIMITS.items()),
    ),
)
_REVEALED: Sequence[Field] = (
    SHARE.figure(
        "success_scores_only",
        "The chance that someone who knows all scores, how each reviewer scores and who might have reviewed "
        "what, and nothing more, names who wrote a review in one guess, mean over reviews, before any "
        "decision is seen.",
    ),
    SHARE.figure("success", "The same once the decisions are seen, each paper taken separately."),
    SHARE.figure(
        "added_success",
        "What the decisions add to that chance. The promise of a crowd does not limit this.",
        form="points",
    ),
    SHARE.figure("success_fully_calibrated", "The chance if papers were decided with no protection."),
    SHARE.figure(
        "added_share_of_full", "added_success as a share of what decisions without protection would add."
    ),
    SHARE.figure(
        "largest_rise",
        "The most that a decision makes the likeliest candidate for one of its paper's reviews likelier than "
        "the scores alone do. At 0, no decision does.",
        form="points",
    ),
    SHARE.figure(
        "largest_posterior_scores_only",
        "How sure someone can be of who wrote some review before any decision: the largest posterior of a "
        "candidate.",
    ),
    SHARE.figure("largest_posterior", "The same after any decision."),
    SHARE.figure(
        "largest_posterior_named",
        "The same for someone who knows that the review was written by a candidate who is listed by name.",
    ),
    SHARE.figure(
        "largest_posterior_paper",
        "The largest posterior chance of anyone to have written one of a paper's reviews, after any outcome.",
    ),
    TIMES.figure(
        "largest_factor",
        "The largest factor by which an outcome of a paper multiplies the posterior of a candidate for one "
        'of its reviews. "inf": too large for a number. Without decisions it would be 1.',
    ),
    BOUND.figure(
        "epsilon",
        "No decision changes anyone's odds between two assignments of a paper by more than e to this. "
        '"inf": no limit holds. Without decisions it would be 0.',
        _odds_sentence,
    ),
    FACTOR.figure(
        "multiplier",
        "No decision makes anyone's correct guess likelier by more than this factor, on average over its "
        "outcomes, whatever they suspected before. Without decisions it would be 1.",
    ),
)
_ERRORS: Sequence[Field] = (
    _in_papers(
        "expected_wrong_raw",
        "Mean chance that a paper is decided wrongly if papers are decided by their mean scores.",
    ),
    _in_papers("expected_wrong", "Mean chance that a paper is decided wrongly."),
    _in_papers("expected_wrong_public", "The same if they were decided by public information alone."),
    _in_papers(
        "expected_wrong_fully_calibrated",
        "The same with full calibration, which would reveal reviewers: some errors cannot be avoided.",
    ),
    _in_papers(
        "against_evidence",
        "Mean chance that a paper is decided against what its true reviewers' calibrated scores speak for; "
        "over the public belief. Which ones they are is only in the private log.",
    ),
    SHARE.figure(
        "gap",
        "By how much expected_wrong may exceed the least that the guarantee allows: tables of large pools "
        "are approximate, and some are repaired to keep it exactly.",
        form="negligible",
    ),
    COUNT.figure(
        "decided_by_public_information",
        "How many papers are decided the same way for all their candidates.",
    ),
)
_FIT: Sequence[Field] = (
    Field(
        "calibration_fit",
        None,
        "How well pools and calibration predict all scores together, from public data.",
        withheld=True,
        fields=_CALIBRATION_FIT,
    ),
    Field(
        "calibration_scale",
        None,
        "Only if the calibration was moved to this year's scores.",
        withheld=True,
        optional=True,
        fields=_CALIBRATION_SCALE,
    ),
)
_IDENTITY: Sequence[Field] = (
    FORMAT.field("format", "The format of the certificate: which fields it has, and what they mean."),
    TEXT.field(
        "commitment",
        "Fixes the key and the whole input without revealing them. If it was published before the draw, "
        "no one can have chosen the draws afterward.",
    ),
    TEXT.field("key_fingerprint", "Says which key was used, and nothing else about it."),
    ASSUMPTIONS.field("assumptions", "On which assumptions all of this holds, and what is not covered.", ""),
)
PROMISED = "What was promised"
PARTS: Mapping[str, Sequence[Field]] = {
    "What was decided": _DECIDED,
    PROMISED: _PROMISED,
    "What the decisions reveal": _REVEALED,
    "How good the decisions are": _ERRORS,
    "Does the calibration fit the scores": _FIT,
    "What identifies this certificate": _IDENTITY,
}
"""The fields by the part of the explanation that they belong to, in the order in which people ask."""
FIELDS = tuple(row for rows in PARTS.values() for row in rows)
"""The fields of a certificate."""


def public_fields(content: Content) -> dict[str, Any]:
    """The fields of a certificate that do not depend on scores. What no row declares is withheld."""
    return _fields_without(content, "withheld", FIELDS)


def _fields_without(content: Content, mark: str, fields: Sequence[Field]) -> dict[str, Any]:
    """The declared fields of a certificate, at every depth, but for those whose rows have this mark."""
    return {
        row.name: _fields_without(content[row.name], mark, row.fields) if row.fields else content[row.name]
        for row in fields
        if row.name in content and not getattr(row, mark)
    }


def assumptions(content: Content) -> list[str]:
    """What a full certificate assumes."""
    if by_scores_alone(content):
        return [*ASSUMED["scores"]]
    kind = "list" if content["source"] == "past" else "list of evidence"
    return [*ASSUMED[content["source"]], *(ASSUMED[kind] if "selection" in content else ())]


def assumptions_without_scores(names: Sequence[str]) -> list[str]:
    """What a certificate assumes for readers who do not see the scores."""
    if {"draws", "scores_alone"} & {*names}:
        return [*names]
    return [*ASSUMED["confidential"], *(name for name in names if name in _WITHOUT_FIGURES)]


def field_problems(
    content: Content, figures: bool, fields: Sequence[Field] = FIELDS, within: str = ""
) -> Iterator[tuple[str, str]]:
    """Each field of a certificate that is missing or not what it must be in its format, and the rule.

    `figures` says whether the certificate must have those that depend on scores. `within`: the path of the
    object that has these `fields`.
    """
    for row in fields:
        name, value = f"{within}{row.name}", content.get(row.name)
        rule = "must be an object" if row.kind is None else row.kind.rule
        if value is None:
            missing = row.of_candidates and content.get("source") != "past"
            if not (row.nullable or row.optional or missing or (row.withheld and not figures)):
                yield name, rule
        elif row.fields and isinstance(value, Mapping):
            yield from field_problems(value, figures, row.fields, f"{name}.")
        elif row.kind is None or not _fits_schema(row.kind.schema, value):
            yield name, rule


def _fits_schema(schema: Schema, value: object) -> bool:
    """Whether a value is as a schema of these kinds says."""
    # jsonschema is no dependency: reading a certificate must work with the core alone.
    match schema:
        case {"anyOf": options}:
            return any(_fits_schema(option, value) for option in options)
        case {"enum": values}:
            return isinstance(value, str) and value in values
        case {"const": constant}:
            return bool(value == constant)
        case {"type": "string"}:
            return isinstance(value, str)
        case {"type": "array", "items": items}:
            least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))
            if not isinstance(value, list) or not least <= len(value) <= most:
                return False
            return all(_fits_schema(items, item) for item in value)
        case {"type": "object", "additionalProperties": each}:
            return isinstance(value, Mapping) and all(_fits_schema(each, item) for item in value.values())
    number = int if schema["type"] == "integer" else (int, float)
    return (
        isinstance(value, number)
        and not isinstance(value, bool)
        and schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", value - 1) < value < schema.get("exclusiveMaximum", value + 1)
    )


# --- What is published if scores are confidential, or if what goes out is advice.

CONFIDENTIAL = "confidential"
# By what goes out and who may see the scores; in all other cases every column. Advice depends on scores.
_PUBLIC_COLUMNS = {
    ("decisions", CONFIDENTIAL): ("paper", "decision", "track", "wait_list"),
    ("advice", "public"): ("paper", "by_mean_score", "advice", "track"),
    ("advice", CONFIDENTIAL): (),
}


def public_table(text: str, scores: str, publishes: str = "decisions") -> str:
    """The public part of the full table of decisions; empty if nothing of it is published."""
    columns = _PUBLIC_COLUMNS.get((publishes, scores))
    if columns is None:
        return text
    header, *rows = csv.reader(io.StringIO(text))
    places = [place for place, name in enumerate(header) if name in columns]
    lines = (",".join(quote_cell(row[place]) for place in places) for row in (header, *rows))
    return "".join(f"{line}\n" for line in lines) if places else ""


def public_certificate(text: str, scores: str, publishes: str = "decisions") -> str:
    """The public certificate; if `scores` are confidential, without figures that depend on them.

    >>> full = {"format": 1, "papers": 2, "success": 0.4, "guarantee": "steady", "assumptions": ["observer"]}
    >>> sorted(json.loads(public_certificate(json.dumps(full), "confidential")))
    ['assumptions', 'format', 'guarantee', 'papers']
    """
    if scores != CONFIDENTIAL and publishes != "advice":
        return text
    content: Mapping[str, Any] = json.loads(text)
    if publishes == "advice":
        # Advice does not tell how many decisions there are.
        content = _fields_without(content, "of_decisions", FIELDS)
    if scores == CONFIDENTIAL:
        names = assumptions_without_scores(content["assumptions"])
        content = {**public_fields(content), "assumptions": names}
    return certificate_json(content)


def certificate_json(content: Mapping[str, Any]) -> str:
    """The text of a certificate file."""
    plain = to_jsonable(content)
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
