"""`blindcal research bench`: a mechanism of one's own beside ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.benchmark import MECHANISMS, SEQUENCES
from commands import call

pytestmark = pytest.mark.edge


def test_a_mechanism_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("bench_example.py").write_text(
        "import blindcal as bc\n\n\ndef coin(belief):\n    return bc.Policy(0 * belief.favor + 0.5)\n",
        encoding="utf-8",
    )
    code, out, err = call("research", "bench", "bench_example:coin", "--only", "pair with noise")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("pair with noise: a reviewer is named from the scores alone with ")
    cells = ["50.00", "16.21", "0.00", "0.00", "-", "-", "0.000", "0.00"]
    assert lines[2].split() == ["bench_example:coin", *cells]
    code, out, _ = call("research", "bench", "bench_example:coin", "--only", "matching of 2", "--json")
    scores = json.loads(out)["scores"]
    assert [one["mechanism"] for one in scores] == ["bench_example:coin", *MECHANISMS, *SEQUENCES]
    assert scores[0]["coupled"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere:policy",), "no function at 'nowhere:policy'"),
        (("nowhere",), "must be given as module:function"),
        (("--only", "nothing"), "an instance must be one of"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], message: str) -> None:
    code, out, err = call("research", "bench", *arguments)
    assert (code, out) == (2, "")
    assert message in err
