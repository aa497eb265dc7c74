"""The next format of certificates, with one more field and one more within an object: this one verifies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from blindcal import verification
from blindcal.deciding import certificate_fields, certificate_file, draft, ledger
from blindcal.deciding.certificate_fields import (
    CERTIFICATE_FORMAT,
    COUNT,
    PARTS,
    SHARE,
    Field,
    certificate_schema,
    field_problems,
)
from blindcal.deciding.draft import with_texts
from blindcal.deciding.key_and_coins import make_key, read_key
from blindcal.deciding.ledger import Ledger, Record
from blindcal.deciding.release import decide
from blindcal.errors import InputError, VerificationError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import Inputs
from blindcal.report import wording
from blindcal.verification import verify
from small_conferences import read_small, small_conference

NOW = CERTIFICATE_FORMAT
NEXT = NOW + 1
FIGURE = SHARE.figure("share_of_ties", "The share of papers with equal scores.", since=NEXT)
COUNTED = COUNT.field("candidates", "How many candidates papers have, added up.", since=NEXT)


def next_format(patch: pytest.MonkeyPatch) -> None:
    """As CONTRIBUTING says: the rows, their numbers, and the format counted up."""

    def added(row: Field) -> Field:
        return replace(row, fields=(*row.fields, COUNTED)) if row.name == "pools" else row

    parts = {
        part: (*map(added, rows), *[FIGURE][: part == "What was decided"]) for part, rows in PARTS.items()
    }
    patch.setattr(wording, "PARTS", parts)
    patch.setattr(certificate_fields, "FIELDS", tuple(row for rows in parts.values() for row in rows))
    pools, scale = certificate_file._pools, certificate_file.moved_to_scale
    patch.setattr(certificate_file, "_pools", lambda *given: {**pools(*given), "candidates": 24})
    patch.setattr(certificate_file, "moved_to_scale", lambda given: {**scale(given), "share_of_ties": 0.25})
    for module in (certificate_fields, ledger, draft):
        patch.setattr(module, "CERTIFICATE_FORMAT", NEXT)


@dataclass(frozen=True)
class Conference:
    home: Path
    request: Request

    @property
    def key(self) -> Path:
        return self.home / "key.bin"

    def decide(self, release: int) -> tuple[Inputs, Record]:
        """The first release, or one with another score; each has a folder of its own in `out`."""
        small = small_conference() if release == 1 else small_conference().with_review(3, score="0.25")
        inputs = read_small(small, self.home / f"{release}")
        announced: Any = {} if release == 1 else {"amend": True, "reason": "a late score"}
        made = decide(inputs, self.request, self.key, self.home / "out", numbered=True, **announced)
        return inputs, made.record

    def out(self, release: int) -> Path:
        return self.home / "out" / f"release-{release}"

    def certificate(self, release: int) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.out(release) / "certificate.json").read_text())
        return content


@pytest.fixture(params=["public", "confidential"])
def conference(request: pytest.FixtureRequest, tmp_path: Path) -> Conference:
    make_key(tmp_path / "key.bin")
    return Conference(tmp_path, Request(Guarantee("steady"), accept_rate=0.4, scores=request.param))


def test_a_release_of_this_format_verifies_in_the_next(
    conference: Conference, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, record = conference.decide(1)
    next_format(monkeypatch)
    empty = Ledger(Path(), read_key(conference.key), ())
    assert with_texts(record, empty, NOW).certificate == record.certificate
    later = json.loads(with_texts(record, empty).certificate)
    assert (later["format"], later["share_of_ties"], later["pools"].pop("candidates")) == (NEXT, 0.25, 24)
    assert {**later, "format": NOW} == json.loads(record.certificate) | {"share_of_ties": 0.25}
    found = verify(inputs, conference.key, conference.out(1), published=conference.out(1))
    found.raise_if_not()
    assert wording.explain_certificate(wording.read_certificate(conference.out(1)))


def test_the_next_release_has_the_next_format_and_both_verify(
    conference: Conference, monkeypatch: pytest.MonkeyPatch
) -> None:
    conference.decide(1)
    next_format(monkeypatch)
    inputs, _ = conference.decide(2)
    verify(inputs, conference.key, conference.out(2), published=conference.home / "out").raise_if_not()
    old, new = conference.certificate(1), conference.certificate(2)
    public = conference.request.scores == "public"
    assert (old["format"], new["format"], new["pools"]["candidates"]) == (NOW, NEXT, 24)
    assert ("share_of_ties" in new) == public
    assert "candidates" not in old["pools"]
    assert "share_of_ties" not in old
    for content in (old, new):
        assert not list(field_problems(content, figures=public))
    problems = dict(field_problems({**old, "format": NEXT}, figures=public))
    assert {*problems} == {"pools.candidates", *(["share_of_ties"] if public else [])}
    if public:
        written = {line.name for part in wording.explain_certificate(new) for line in part.lines}
        assert {"share_of_ties", "pools.candidates"} <= written


@pytest.mark.edge
def test_each_format_has_a_schema(conference: Conference, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = pytest.importorskip("jsonschema")
    first = certificate_schema()
    conference.decide(1)
    next_format(monkeypatch)
    conference.decide(2)
    assert certificate_schema(NOW) == first
    old, new = conference.certificate(1), conference.certificate(2)
    for number, own, other in ((NOW, old, new), (NEXT, new, old)):
        validator = schemas.Draft202012Validator(certificate_schema(number))
        validator.validate(own)
        assert not validator.is_valid({**own, "format": NEXT + 1})
        assert not validator.is_valid(other)
        assert not validator.is_valid({**other, "format": number})


def changed_numbers_are_noticed(conference: Conference) -> None:
    """Another number alone, and with the fields of that format: a certificate that hides what it must say."""
    inputs, record = conference.decide(2)
    path = conference.out(2) / "certificate.json"
    honest = path.read_text()
    log = ledger.read_ledger(conference.key, read_key(conference.key))
    older = with_texts(record, replace(log, releases=log.releases[:1]), NOW).published["certificate.json"]
    assert verify(inputs, conference.key, conference.out(2)).agrees
    for text in (honest.replace(f'"format": {NEXT}', f'"format": {NOW}'), older):
        assert text != honest
        path.write_text(text)
        assert not verify(inputs, conference.key, conference.out(2)).agrees
        assert not verify(inputs, conference.key, published=conference.out(2)).agrees
    path.write_text(honest)


def number_of_the_published_file(patch: pytest.MonkeyPatch) -> None:
    """What is compared with a published certificate is made in the format that it says itself."""
    compared: Callable[..., Any] = verification._files_check

    def as_published(record: Record, out: Path) -> Any:
        content = json.loads((out / "certificate.json").read_text())
        key, counter = content["key_fingerprint"], content["release_counter"]
        text = certificate_file.certificate_text(record, None, key, counter, content["format"])
        return compared(replace(record, certificate=text), out)

    patch.setattr(verification, "_files_check", as_published)


def test_a_published_number_that_was_changed_is_noticed(
    conference: Conference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And would not be if the published number chose the format."""
    conference.decide(1)
    next_format(monkeypatch)
    changed_numbers_are_noticed(conference)
    number_of_the_published_file(monkeypatch)
    with pytest.raises(AssertionError):
        changed_numbers_are_noticed(conference)


def test_a_later_format_is_refused_with_advice(
    conference: Conference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an older version, which would publish or amend it without the fields that it does not know."""
    with monkeypatch.context() as later:
        next_format(later)
        inputs, _ = conference.decide(1)
    advice = f"must be at most {NOW}, found {NEXT}: use the version of blindcal that wrote it, or a later one"
    log = rf"the format of the certificate in .*0001\.sealed {advice}"
    for refused in (
        lambda: verify(inputs, conference.key),
        lambda: conference.decide(1),
        lambda: conference.decide(2),
    ):
        with pytest.raises(VerificationError, match=log) as error:
            refused()
        assert error.value.exit_code == 4
    with pytest.raises(InputError, match=f"column format: {advice}"):
        wording.read_certificate(conference.out(1))
