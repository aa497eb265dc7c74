"""`blindcal explain`: a page in the terminal, and the same as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.report.explanation import explained, read_certificate
from commands import call
from small_conferences import SmallConference, decided

pytestmark = pytest.mark.edge


def test_every_line_is_printed_and_no_reviewer(small: SmallConference, tmp_path: Path) -> None:
    decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    code, said, err = call("explain", str(tmp_path / "out" / "certificate.json"))
    assert (code, err) == (0, "")
    assert call("explain", str(tmp_path / "out"))[1] == said
    plain = " ".join(said.split())
    content = read_certificate(tmp_path / "out")
    for part in explained(content):
        assert part.title in plain
        for line in part.lines:
            assert f"{line.name}: {line.value}" in plain
            assert line.sentence in plain
    for one in content["assumptions"]:
        assert one in plain
    assert max(map(len, said.splitlines())) <= 100
    assert not [one for one in small.canaries if one in said]
    code, said, _ = call("explain", str(tmp_path / "out"), "--json")
    assert code == 0
    lines = [line for part in json.loads(said)["parts"] for line in part["lines"]]
    assert {line["name"] for line in lines} >= {"success", "epsilon", "expected_wrong"}


def test_what_is_no_certificate_is_refused(small: SmallConference, tmp_path: Path) -> None:
    folder = small.write(tmp_path / "in")
    code, said, err = call("explain", str(folder / "reviews.csv"))
    assert (code, said) == (2, "")
    assert not [one for one in small.canaries if one in err]
    assert call("explain", str(tmp_path / "nowhere.json"))[0] == 2
