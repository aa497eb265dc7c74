"""What a HotCRP site calls its decisions: read from an export, kept in the folder, used by `export`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from blindcal.importers import import_reviews
from blindcal.project.create import InitialSettings, SourceFiles, create_folder
from blindcal.project.settings import read_folder

SYSTEMS = Path(__file__).parents[1] / "systems"


def scores(*decisions: str) -> bytes:
    lines = [f"{paper},P{paper},{word},ada@x.org,{paper}" for paper, word in enumerate(decisions, start=1)]
    return "\n".join(["paper,title,decision,email,OveMer", *lines, ""]).encode()


def words(*decisions: str) -> Mapping[str, str]:
    return import_reviews(scores(*decisions), "x").decision_words


def test_the_json_says_what_each_word_means() -> None:
    data = (SYSTEMS / "hotcrp-3.4-jsonrqc-metareview-round.json").read_bytes()
    assert import_reviews(data, "x").decision_words == {"accept": "Accepted", "reject": "Rejected"}
    other = data.replace(b'"Accepted"', b'"Take it"').replace(b'"Rejected"', b'"Thanks"')
    assert other != data
    assert import_reviews(other, "x").decision_words == {"accept": "Take it", "reject": "Thanks"}


def test_words_of_scores_are_told_apart_by_what_they_say() -> None:
    assert words("Accept as talk", "Rejected early") == {
        "accept": "Accept as talk",
        "reject": "Rejected early",
    }
    assert words("Take", "Rejected", "") == {"reject": "Rejected"}, "a word that says neither is not guessed"
    assert words("Accept", "Reject", "Accept as poster") == {"reject": "Reject"}, "of two, neither is"
    assert import_reviews((SYSTEMS / "hotcrp-3.4-scores.csv").read_bytes(), "x").decision_words == {}


def test_a_folder_keeps_the_words_of_the_latest_year_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "now.csv").write_bytes((SYSTEMS / "hotcrp-3.4-scores.csv").read_bytes())
    (tmp_path / "committee.csv").write_bytes((SYSTEMS / "hotcrp-3.4-pcinfo.csv").read_bytes())
    past = (SYSTEMS / "hotcrp-3.4-scores-past.csv").read_text(encoding="utf-8").split("\n")
    for year, word in (("2024", "Old"), ("2025", "New")):
        lines = [past[0].replace("title,", "title,decision,")]
        for line in past[1:-1]:
            paper, rest = line.split(",", 1)
            title, rest = rest.rsplit('",', 1) if rest.startswith('"') else rest.split(",", 1)
            title += '"' * title.startswith('"')
            lines.append(f"{paper},{title},{word} {'accept' if int(paper) % 2 else 'reject'},{rest}")
        table = "\n".join(lines).replace("(2025)", f"({year})") + "\n"
        (tmp_path / f"{year}.csv").write_text(table, encoding="utf-8")
    given = SourceFiles(
        tmp_path / "now.csv", tmp_path / "committee.csv", [tmp_path / "2024.csv", tmp_path / "2025.csv"]
    )
    made = create_folder(
        tmp_path / "icx", given, InitialSettings("public", accept_rate=0.5), tmp_path / "icx.key"
    )
    assert (made.settings["accepted"], made.settings["rejected"]) == ("New accept", "New reject")
    assert read_folder(tmp_path / "icx").settings["accepted"] == "New accept"
