"""The declared fields of a certificate: kinds are what their schemas say, and each row is complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blindcal.deciding.certificate_fields import (
    FIELDS,
    Field,
    _fits_schema,
    field_problems,
    public_fields,
)
from blindcal.policy.guarantee import LIMITS

ARCHIVED = sorted((Path(__file__).parents[1] / "data" / "archive").glob("*/*/out/certificate.json"))
VALUES: list[Any] = [None, True, "", "x", "inf", "high", -1, 0, 0.5, 0.75, 1, 1.5, 2, 700, 701]
VALUES += [[], ["a"], [1, 2], [1.5], [1, 2, 3], {}, {"a": 1}, {"a": -1}, {"a": 1.5}, {"a": "b"}]


def rows(fields: Any = FIELDS) -> Iterator[Field]:
    for row in fields:
        yield row
        yield from rows(row.fields)


def test_kinds_accept_what_the_library_for_schemas_accepts() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for row in rows():
        if row.kind is not None:
            validator = jsonschema.Draft202012Validator(row.kind.schema)
            for value in VALUES:
                assert _fits_schema(row.kind.schema, value) == validator.is_valid(value), (row.name, value)


def test_every_row_is_complete() -> None:
    for row in rows():
        assert row.description.endswith("."), row.name
        assert (row.kind is None) == bool(row.fields), row.name
    names = [row.name for row in FIELDS]
    assert len({*names}) == len(names)


def test_every_limit_of_a_guarantee_is_a_field() -> None:
    limits = next(row for row in FIELDS if row.name == "limits")
    assert [row.name for row in limits.fields] == [*LIMITS]


@pytest.mark.parametrize("path", ARCHIVED, ids=lambda path: "-".join(path.parts[-4:-2]))
def test_what_is_published_without_scores_has_no_figure(path: Path) -> None:
    content = json.loads(path.read_text())
    public = public_fields({**content, "new": 1.0})
    assert not list(field_problems(public, figures=False))
    assert {name for name, _ in field_problems(public, figures=True)} >= {"success", "decided_again.epsilon"}
    withheld = {row.name for row in FIELDS if row.withheld}
    assert not withheld & {*public}
    assert "new" not in public
    assert {*content} - {*public} <= withheld
