"""Write docs/certificate_schema.json, the JSON schema of a certificate, from the fields that are declared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blindcal.deciding.certificate_fields import CERTIFICATE_FORMAT, FIELDS, Field

PATH = Path(__file__).parents[1] / "docs" / "certificate_schema.json"


def certificate_schema() -> dict[str, Any]:
    """The JSON schema of certificate.json, with confidential scores or without."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"certificate.json of blindcal, format {CERTIFICATE_FORMAT}",
        "description": "What the decisions of a conference promise and cost. Every number is exact for the "
        "decisions as they were drawn, or an expectation over the public belief; none depends on the true "
        "reviewers but through the decisions. There is no date: the same key and input give the same bytes "
        "on any day. If scores are confidential, the public certificate has no figure that depends on them.",
        **_object_schema(FIELDS),
        "if": {"properties": {"source": {"const": "past"}}},
        "then": {
            "required": [row.name for row in FIELDS if row.of_candidates],
            "if": {"properties": {"scores": {"const": "public"}}},
            "then": {"required": [row.name for row in FIELDS if row.withheld and not row.optional]},
        },
    }


def _object_schema(fields: Sequence[Field]) -> dict[str, Any]:
    figures = [row.name for row in fields if row.withheld and not row.optional]
    # All of these fields are there, or none: the first one needs the others, and each of them needs it.
    first, *others = figures or [""]
    together = {first: others, **{name: [first] for name in others}} if others else {}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [row.name for row in fields if not (row.withheld or row.optional or row.of_candidates)],
        **({"dependentRequired": together} if together else {}),
        "properties": {row.name: {**_field_schema(row), "description": row.description} for row in fields},
    }


def _field_schema(row: Field) -> Mapping[str, Any]:
    if row.kind is None:
        return _object_schema(row.fields)
    return {"anyOf": [row.kind.schema, {"type": "null"}]} if row.nullable else row.kind.schema


def schema_text() -> str:
    return json.dumps(certificate_schema(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(schema_text(), encoding="utf-8")
