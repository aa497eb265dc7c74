"""Certificates that are read: what blindcal wrote, and nothing else."""

from __future__ import annotations

import json
import random
from math import inf
from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.policy.guarantee import Guarantee
from blindcal.report.wording import certified_guarantee, read_certificate

ARCHIVED = sorted((Path(__file__).parents[1] / "data" / "archive").glob("*/*/out/certificate.json"))


def written(folder: Path, content: object) -> Path:
    path = folder / "certificate.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", ARCHIVED, ids=lambda path: "-".join(path.parts[-4:-2]))
def test_certificates_of_every_version_are_read(path: Path):
    content = read_certificate(path)
    assert read_certificate(path.parent) == content
    assert content["papers"] > 0
    assert isinstance(certified_guarantee(content), Guarantee)


def test_an_epsilon_without_limit_is_infinite(tmp_path: Path):
    content = json.loads(ARCHIVED[0].read_text())
    assert read_certificate(written(tmp_path, {**content, "epsilon": "inf"}))["epsilon"] == inf


def test_a_certificate_with_bad_fields_is_refused_with_all_of_them(tmp_path: Path):
    content = json.loads(ARCHIVED[0].read_text())
    del content["success_scores_only"]
    bad = {**content, "papers": "many", "epsilon": "large", "largest_rise": 1.5, "guarantee": "total"}
    bad["calibration_fit"] = {**content["calibration_fit"], "verdict": 7}
    with pytest.raises(InputError) as raised:
        read_certificate(written(tmp_path, bad))
    columns = {problem.column for problem in raised.value.problems}
    names = {
        "papers",
        "epsilon",
        "largest_rise",
        "guarantee",
        "success_scores_only",
        "calibration_fit.verdict",
    }
    assert columns == names


@pytest.mark.parametrize("content", [[], {}, "text", 7, {"papers": 3}])
def test_what_is_no_certificate_is_refused(content: object, tmp_path: Path):
    with pytest.raises(InputError, match="must be a certificate that blindcal wrote"):
        read_certificate(written(tmp_path, content))


def test_a_certificate_damaged_anywhere_is_refused_or_read(tmp_path: Path):
    """Any value replaced by any other kind: an `InputError` or a certificate, and never another error."""
    rng, text = random.Random(8), ARCHIVED[0].read_text()
    for _ in range(300):
        content = json.loads(text)
        place = content if rng.random() < 0.5 else content[rng.choice(["limits", "calibration_fit"])]
        place[rng.choice([*place])] = rng.choice([None, "x", -1, 2.5, 1e300, True, [], {}, ["a"], {"a": 1}])
        try:
            read_certificate(written(tmp_path, content))
        except InputError:
            continue
