"""Certificates for people: certificate.json is read and checked, and every field is explained in a sentence.

Which fields there are, what values they take and what they mean is declared in `deciding.certificate_fields`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blindcal.cells import number_text
from blindcal.deciding.certificate_fields import FIELDS, PARTS, PROMISED, Field, field_problems
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import parse_json, read_bytes
from blindcal.io.tables import decode_utf8, input_error
from blindcal.policy.guarantee import LIMITS, Guarantee
from blindcal.report.wording import UNSEEN, fill, guarantee_words, promises, written

NAME = "certificate.json"


def read_certificate(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the certificate of a release.

    An epsilon without limit is written "inf" in the file, and is infinity here.

    Args:
        path: The file, or the folder of the release, which has it as `certificate.json`.

    Raises:
        InputError: It is no certificate; all fields that are missing or wrong are listed.

    Example:
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
    content = parse_json(decode_utf8(data, file), file)
    if not isinstance(content, dict) or "key_fingerprint" not in content:
        raise InputError(f"{file} must be a certificate that blindcal wrote")
    if problems := [Problem(file, None, name, rule) for name, rule in _problems(content)]:
        raise input_error(problems)
    if not has_figures(content):
        return content
    again = content["decided_again"]
    return {
        **content,
        "epsilon": float(content["epsilon"]),
        "largest_factor": float(content["largest_factor"]),
        "decided_again": {**again, "epsilon": float(again["epsilon"])},
    }


def has_figures(certificate: Mapping[str, Any]) -> bool:
    """Whether a `certificate` has figures that depend on the scores: not if these are confidential.

    >>> has_figures({"scores": "confidential", "guarantee": "steady"})
    False
    """
    return "success" in certificate or certificate.get("scores") != "confidential"


def certified_guarantee(certificate: Mapping[str, Any]) -> Guarantee:
    """The guarantee that a `certificate` states."""
    return Guarantee.from_record(certificate["guarantee"], certificate["limits"])


def _problems(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each field that is missing or not what it must be, and the rule."""
    problems = list(field_problems(content, has_figures(content)))
    yield from problems
    if not any(name.startswith(("guarantee", "limits")) for name, _ in problems):
        try:
            certified_guarantee(content)
        except InputError as error:
            yield "limits", str(error)


@dataclass(frozen=True)
class ExplainedField:
    """A field of a certificate in plain language."""

    name: str  # its path, such as `calibration_fit.shift`
    value: str  # its value as people write it
    sentence: str  # what that means


@dataclass(frozen=True)
class ExplainedPart:
    """A part of the explanation."""

    title: str  # what it is about
    lines: tuple[ExplainedField, ...]  # one for each field


def explain_certificate(certificate: Mapping[str, Any]) -> tuple[ExplainedPart, ...]:
    """Explains every field of a certificate, in the order in which people ask.

    Args:
        certificate: What `read_certificate` returns.

    Returns:
        The parts of the explanation. Parts about figures are missing if scores are confidential.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from blindcal import Guarantee, Request, decide, make_key, read_inputs
        >>> from blindcal.report import read_certificate
        >>> folder = TemporaryDirectory()
        >>> place = Path(folder.name)
        >>> _ = (place / "reviews.csv").write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\n")
        >>> _ = (place / "reviewers.csv").write_text("reviewer,slope,offset,noise\\nada,1,6,1\\nben,1,5,1\\n")
        >>> inputs = read_inputs(place / "reviews.csv", place / "reviewers.csv", "everyone")
        >>> _ = make_key(place / "key")
        >>> _ = decide(inputs, Request(Guarantee("public"), bar=0.0), place / "key", place / "out")
        >>> line = explain_certificate(read_certificate(place / "out"))[2].lines[2]
        >>> line.name, line.value, line.sentence
        ('added_success', '0 points', 'The decisions add nothing to that chance.')
        >>> folder.cleanup()
    """
    values = {
        **certificate,
        "unseen": UNSEEN,
        "in_papers": {
            name: share * certificate["papers"]
            for name, share in certificate.items()
            if isinstance(share, int | float)
        },
        "of_papers": {"accepted": certificate["accepted"] / certificate["papers"]},
    }
    lines: dict[str, list[ExplainedField]] = {part: [] for part in PARTS}
    for row in FIELDS:
        lines[row.part] += _lines(row, certificate, values)
    lines[PROMISED] += _promised(certificate)
    return tuple(ExplainedPart(part, tuple(lines[part])) for part in PARTS if lines[part])


def _lines(
    row: Field, content: Mapping[str, Any], values: Mapping[str, Any], within: str = ""
) -> Iterator[ExplainedField]:
    """The line of a field, if it says something, or those of an object's fields."""
    value = content.get(row.name)
    if row.kind is None:
        for part in row.fields:
            yield from _lines(part, value or {}, values, f"{row.name}.")
        return
    sentence = row.description if row.sentence is None else row.sentence
    # A function chooses its sentence also for a value that is null.
    if row.name not in content or (value is None and not callable(sentence)):
        return
    if text := sentence(values) if callable(sentence) else sentence:
        yield ExplainedField(
            f"{within}{row.name}", written(value, row.form or row.kind.form), fill(text, values)
        )


def _promised(content: Mapping[str, Any]) -> Iterable[ExplainedField]:
    guarantee = certified_guarantee(content)
    first, *more = promises(guarantee, hidden=not has_figures(content))
    yield ExplainedField("guarantee", guarantee_words(guarantee), first)
    own = [name for name in guarantee.limits if LIMITS[name].replaces == guarantee.name]
    kept = [name for name in guarantee.limits if name not in own]
    for name, sentence in zip(kept, more, strict=True):
        yield ExplainedField(f"limits.{name}", number_text(guarantee.limits[name]), sentence)
    for name in own:
        yield ExplainedField(f"limits.{name}", number_text(guarantee.limits[name]), LIMITS[name].sentence)
    further = [name for name, limit in LIMITS.items() if not limit.only_with]
    if absent := [name.replace("_", " ") for name in further if name not in kept]:
        yield ExplainedField("limits", "none", f"No further limit was requested on {_listed(absent)}.")


def _listed(names: Sequence[str]) -> str:
    """Joins names by commas and `or`.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b or c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
