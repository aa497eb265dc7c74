"""`blindcal research simulate`: the JSON of its contract, its readings, its refusals."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.simulation.parameter_sweep import Setting, sweep
from blindcal.simulation.population import paper_population

pytestmark = pytest.mark.edge

QUICK = [
    "simulate",
    "--papers",
    "50",
    "--reviewers",
    "50",
    "--methods",
    "raw,standardized,posterior",
    "--workers",
    "1",
]


def printed(capsys, *arguments):
    code = run(["research", *arguments])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def refused(capsys, *arguments):
    pairs = zip(QUICK[1::2], QUICK[2::2], strict=True)
    others = [word for pair in pairs if pair[0] not in arguments for word in pair]
    code = run(["research", "simulate", *others, *arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    return err


def test_the_json_of_the_contract(capsys):
    out = printed(
        capsys,
        *(
            [
                "simulate",
                "--papers",
                "100",
                "--reviewers",
                "100",
                "--per-paper",
                "3",
                "--noise",
                "0,0.25",
                "--trials",
                "3",
                "--seed",
                "1",
            ]
        ),
        *("--reading", "script", "--json"),
    )
    report = json.loads(out)
    assert report.keys() == {"noise", "methods"}
    assert report["noise"] == [0.0, 0.25]
    names = {"raw", "standardized", "maximum_likelihood", "posterior", "hierarchical"}
    assert report["methods"].keys() == names
    for errors in report["methods"].values():
        assert errors.keys() == {"kendall_tau", "messy_middle"}
        assert all(len(values) == 2 and all(0 <= x <= 1 for x in values) for values in errors.values())
    assert report["methods"]["maximum_likelihood"]["kendall_tau"][0] == 0


@pytest.mark.parametrize("reading", ["text", "script"])
def test_readings_differ_as_the_paper_and_its_script_do(capsys, reading):
    out = printed(capsys, *QUICK, "--noise", "0.09", "--trials", "60", "--json", "--reading", reading)
    setting = Setting(paper_population(0.09, reading), 50, 50, 3)
    noise, offset = (0.3, math.sqrt(0.5)) if reading == "text" else (0.09, 0.5)
    assert (setting.population.noise, setting.population.offset) == pytest.approx((noise, offset))
    expected = sweep([setting], ["raw", "standardized", "posterior"], trials=60, seed=1).mean
    methods = json.loads(out)["methods"]
    assert methods["standardized"]["kendall_tau"] == [expected[0, 1, 0]]
    assert methods["posterior"]["messy_middle"] == [expected[0, 2, 1]]


def test_the_text_reading_is_the_default(capsys):
    arguments = [*QUICK, "--noise", "0.5", "--trials", "5", "--json"]
    assert printed(capsys, *arguments) == printed(capsys, *arguments, "--reading", "text")
    assert printed(capsys, *arguments) != printed(capsys, *arguments, "--reading", "script")


def test_two_workers_and_a_folder_change_nothing(capsys, tmp_path):
    arguments = [*QUICK, "--noise", "0,0.5", "--trials", "110", "--json", "--intervals"]
    alone = printed(capsys, *arguments)
    two = ["2" if word == "1" else word for word in arguments]
    kept = [*two, "--folder", str(tmp_path / "parts")]
    assert printed(capsys, *kept) == alone
    assert len(list((tmp_path / "parts").iterdir())) == 6
    assert printed(capsys, *kept) == alone
    report = json.loads(alone)
    assert report["standard_errors"].keys() == report["methods"].keys()
    assert 0 < report["standard_errors"]["raw"]["kendall_tau"][1] < 0.02


def test_the_seed_decides_everything(capsys):
    arguments = [*QUICK, "--trials", "5", "--noise", "0.1", "--json"]
    assert printed(capsys, *arguments, "--seed", "2") == printed(capsys, *arguments, "--seed", "2")
    assert printed(capsys, *arguments, "--seed", "2") != printed(capsys, *arguments, "--seed", "3")


def test_people_get_a_table_with_standard_errors(capsys):
    lines = printed(capsys, *QUICK, "--trials", "8", "--noise", "0.1").splitlines()
    assert lines[0] == "8 conferences per line: 50 papers, 50 reviewers, 3 reviews per paper"
    assert lines[1].startswith("noise is a variance")
    assert lines[2].split() == ["noise", "method", "kendall_tau", "messy_middle"]
    assert [line.split()[1] for line in lines[3:]] == ["raw", "standardized", "posterior"]
    assert all("+-" in line for line in lines[3:])
    single = printed(capsys, *QUICK, "--trials", "1", "--noise", "0.1")
    assert "+-" not in single.split("posterior")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise", "0.1,high"], "--noise must be numbers separated by commas, found '0.1,high'"),
        (["--noise", "0.5,0,0.50"], "--noise must list each level once, found '0.5,0,0.50'"),
        (["--noise", "-0.1"], "--noise must be at least 0, found -0.1"),
        (["--noise", "nan"], "--noise must be finite, found nan"),
        (["--reading", "figure"], "--reading must be text or script, found 'figure'"),
        (["--methods", "raw,cooked"], "--methods must be among"),
        (["--per-paper", "51"], "--per-paper must be at most the number of reviewers 50, found 51"),
        (["--trials", "0"], "--trials must be at least 1, found 0"),
        (["--papers", "1", "--reviewers", "3"], "same 2 or more papers"),
        (["--papers", "0"], "--papers must be at least 1, found 0"),
        (["--workers", "0"], "--workers must be at least 1, found 0"),
        (["--trials", "1.5"], "'--trials': '1.5' must be a whole number"),
        (["--seed", "abc"], "'--seed': 'abc' must be a number"),
        (["--seed", "-3"], "--seed must be at least 0, found -3"),
    ],
)
def test_bad_input_is_exit_code_2_and_names_the_value(capsys, arguments, message):
    assert message in refused(capsys, *arguments)
    assert message in json.loads(refused(capsys, "--json", *arguments))["error"]["message"]


def test_an_interrupted_sweep_says_so_and_keeps_its_parts(tmp_path):
    arguments = [
        *QUICK[:-2],
        "--workers",
        "2",
        "--trials",
        "400000",
        "--noise",
        "0.1",
        "--folder",
        str(tmp_path),
    ]
    command = [sys.executable, "-c", "from blindcal.cli import main; main()", "research", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not any(tmp_path.glob("*.json")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err == "blindcal: interrupted\n"
    assert any(tmp_path.glob("*.json"))
