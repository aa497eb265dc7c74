"""certificate.json -> a certificate whose every field has the kind of value that pages speak of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any

from blindcal.errors import InputError, Problem
from blindcal.files.disk import parse_json, read_bytes
from blindcal.files.tables import decode, refuse
from blindcal.policies.guarantees import Guarantee

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
    yield from _wrong(content, {**_ALWAYS, **(_FIGURES if figures else {})}, "")
    inside = {**_INSIDE, **(_FIGURES_INSIDE if figures else {})}
    inside |= {name: fields for name, fields in _SOMETIMES.items() if name in content}
    for name, fields in inside.items():
        part = content.get(name)
        if isinstance(part, Mapping):
            yield from _wrong(part, fields, f"{name}.")
        else:
            yield name, "must be an object"
    try:
        if isinstance(content.get("limits"), Mapping):
            guarantee_of(content)
    except (InputError, KeyError, TypeError):
        yield "guarantee", "must be a guarantee that blindcal knows, with limits that it can have"


def _wrong(content: Mapping[str, Any], fields: Mapping[str, str], within: str) -> Iterator[tuple[str, str]]:
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
