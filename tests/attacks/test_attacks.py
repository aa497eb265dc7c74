"""Attempts to have a coin tossed twice, or to read the assignment off something that is public."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from blindcal.certify.claims import keeps_guarantee
from blindcal.certify.exact import UNIT, ExactPolicy
from blindcal.deciding.decide import Outcome
from blindcal.deciding.key import Key, make_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.deciding.record import PaperRecord
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import Conference, TrueReviewers
from blindcal.verification import Check, checks_of, refuse_failed
from sealed_releases import forge, ledger_of, probability_of
from small_conferences import (
    arguments,
    command_line,
    loaded,
    only,
    released,
    sealed_tables,
    small_conference,
    swapped,
    with_key,
)

REQUEST = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
OTHERS = (
    replace(REQUEST, conference="other"),
    Request(Guarantee("steady", epsilon=1.0), "other", accept_rate=0.4),
    Request(Guarantee("average", epsilon=2.0), "other", accept_rate=0.4),
    Request(Guarantee("steady", epsilon=2.0), "other", bar=0.1),
)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"


def verified(conference: Conference, truth: TrueReviewers, key: Path) -> list[Check]:
    return checks_of(conference, truth, ledger_of(key))


def decided(
    key: Path,
    conference: Conference,
    truth: TrueReviewers,
    request: Request = REQUEST,
    *,
    amend: bool = False,
) -> Outcome:
    return released(key, conference, truth, request, amend=amend)


def record_of(outcome: Outcome, paper: str) -> PaperRecord:
    return next(one for one in outcome.record.papers if one.paper == paper)


@pytest.mark.parametrize("other", OTHERS, ids=("same settings", "epsilon", "average", "bar"))
def test_another_name_tosses_no_paper_again_whatever_the_settings(key: Path, other: Request) -> None:
    """Nor with other pools, where a reviewer may have become someone outside, nor by an amendment."""
    conference, truth = loaded(small_conference(papers=4))
    decided(key, conference, truth)
    blurred = {**truth, conference.cases[0].paper: ("*", truth[conference.cases[0].paper][1])}
    strangers, theirs = loaded(small_conference(seed=2, papers=3))
    for papers, who in ((conference, truth), (only(conference, 2), truth), (only(conference, 0), blurred)):
        for amend in (False, True):
            with pytest.raises(RefusedError, match="this key decided conference 'conference'"):
                decided(key, papers, who, other, amend=amend)
    with pytest.raises(RefusedError, match="another conference needs a key of its own"):
        decided(key, strangers, theirs, other)
    assert len(ledger_of(key).releases) == 1


def test_a_paper_withdrawn_and_brought_back_keeps_its_decision(key: Path) -> None:
    conference, truth = loaded(small_conference(papers=4))
    first = decided(key, conference, truth)
    for _ in range(2):
        decided(key, only(conference, 2, 3), truth, amend=True)
        back = decided(key, only(conference, 0, 2, 3), truth, amend=True)
        for one in back.record.papers:
            assert one == record_of(first, one.paper)
    with pytest.raises(RefusedError, match="1 returned, 2 withdrawn"):
        decided(key, only(conference, 1, 2), truth)


def test_a_paper_brought_back_with_a_correction_is_charged_for_its_first_decision(key: Path) -> None:
    conference, truth = loaded(small_conference(papers=3))
    paper = conference.cases[0].paper
    decided(key, conference, truth)
    decided(key, only(conference, 1, 2), truth, amend=True)
    moved = replace(conference.cases[0], scores=tuple(s + 0.5 for s in conference.cases[0].scores))
    corrected = replace(conference, cases=(moved, *conference.cases[1:]))
    back = decided(key, corrected, truth, amend=True)
    assert record_of(back, paper).earlier == ((1, paper),)
    assert back.certificate["decided_again"]["papers"] == 1
    refuse_failed(verified(corrected, truth, key))


def test_there_and_back_has_one_coin(key: Path) -> None:
    conference, truth = loaded(small_conference(papers=3))
    paper = conference.cases[0].paper
    moved = replace(conference.cases[0], scores=tuple(s + 0.5 for s in conference.cases[0].scores))
    other = replace(conference, cases=(moved, *conference.cases[1:]))
    for number, now in enumerate((conference, other, conference, other), start=1):
        outcome = decided(key, now, truth, amend=number > 1)
        again = record_of(outcome, paper)
        assert again.earlier == tuple((n, paper) for n in range(1, number))
        assert number == 1 or probability_of(again) in (0, 1)
    assert decided(key, conference, truth).record.release == 3, "stored, not tossed"


def test_a_link_to_the_key_has_the_same_ledger(key: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.bin"
    link.symlink_to(key)
    assert ledger_folder(link) == ledger_folder(key)
    conference, truth = loaded(small_conference(papers=2))
    decided(key, conference, truth)
    with pytest.raises(RefusedError):
        decided(link, conference, truth, OTHERS[1])


RENAMES: dict[str, Callable[[Path, Path], object]] = {
    "moved": lambda key, other: key.rename(other),
    "hard link": lambda key, other: os.link(key, other),
    "copied": lambda key, other: shutil.copy2(key, other),
}


@pytest.mark.parametrize("renamed", RENAMES)
@pytest.mark.parametrize("folder", ["key.bin.sealed", "decisions of 2027"])
def test_a_key_under_another_name_tosses_no_coin_again(
    key: Path, tmp_path: Path, renamed: str, folder: str
) -> None:
    """Its sealed folder lies beside it, under the old name or any other."""
    conference, truth = loaded(small_conference(papers=2))
    decided(key, conference, truth)
    other = tmp_path / "chair.key"
    RENAMES[renamed](key, other)
    ledger_folder(key).rename(tmp_path / folder)
    swapped = {paper: who[::-1] for paper, who in truth.items()}
    for now in (truth, swapped):
        with pytest.raises(
            RefusedError, match=rf"{folder} holds releases .*rename that folder to chair\.key\.sealed"
        ):
            decided(other, conference, now)
    assert not ledger_folder(other).exists()
    (tmp_path / folder).rename(ledger_folder(other))
    assert decided(other, conference, truth).how == "stored"


def test_a_backup_beside_the_sealed_folder_is_no_second_ledger(key: Path, tmp_path: Path) -> None:
    """As long as the folder of the key holds all that the backup does."""
    conference, truth = loaded(small_conference(papers=3))
    decided(key, conference, truth)
    shutil.copytree(ledger_folder(key), tmp_path / "backup.sealed")
    fewer = only(conference, 0, 1)
    decided(key, fewer, truth, amend=True)
    shutil.copytree(ledger_folder(key), tmp_path / "later.sealed")
    assert decided(key, fewer, truth).how == "stored"
    (ledger_folder(key) / "0002.sealed").unlink()
    with pytest.raises(RefusedError, match=r"later\.sealed holds releases made with this key"):
        decided(key, conference, truth)


def test_the_folder_of_another_key_is_no_ledger_of_this_one(key: Path, tmp_path: Path) -> None:
    conference, truth = loaded(small_conference(papers=2))
    other = tmp_path / "other.bin"
    make_key(other)
    decided(other, conference, truth)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "0001.sealed").write_text("no release", encoding="utf-8")
    assert decided(key, conference, truth).how == "new"


def test_the_sealed_folder_is_closed_to_others_even_if_it_was_there(key: Path) -> None:
    ledger_folder(key).mkdir(mode=0o777)
    ledger_folder(key).chmod(0o777)
    conference, truth = loaded(small_conference(papers=2))
    decided(key, conference, truth)
    assert ledger_folder(key).stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in ledger_folder(key).iterdir())


def test_a_release_after_a_change_of_the_grid_alone_verifies(key: Path) -> None:
    conference, truth = loaded(small_conference(papers=2))
    decided(key, conference, truth)
    grid = tuple(sorted({score for case in conference.cases for score in case.scores}))
    gridded = replace(conference, cases=tuple(replace(case, grid=grid) for case in conference.cases))
    with pytest.raises(RefusedError, match="grid of scores is not that of release 1"):
        decided(key, gridded, truth)
    decided(key, gridded, truth, amend=True)
    refuse_failed(verified(gridded, truth, key))


def test_tables_and_certificate_tell_nothing_with_ties_and_outsiders(tmp_path: Path) -> None:
    """Equal scores, reviewers alike, someone outside: whoever wrote the reviews, one table file."""
    conference, _ = loaded(small_conference(seed=5, papers=1, pool=4))
    case = conference.cases[0]
    alike = (case.parameters[0], case.parameters[0], *case.parameters[2:])
    case = replace(
        case,
        scores=(1.0, 1.0),
        candidates=("*", *case.candidates[1:]),
        inclusion=(0.5, 0.5, 0.4, 0.6),
        parameters=alike,
    )
    tied = replace(conference, cases=(case,))
    seen = set()
    for index, who in enumerate(permutations(case.candidates, 2)):
        path = tmp_path / f"{index}.bin"
        make_key(path)
        outcome = decided(path, tied, {case.paper: who})
        own = ("accepted", "commitment", "key_fingerprint")
        told = {k: v for k, v in outcome.certificate.items() if k not in own}
        seen.add((sealed_tables(path), json.dumps(told)))
    assert len(seen) == 1


@dataclass(frozen=True)
class Copy:
    """A copy of a chair's folder, with the key in it; each decides a conference of its own in `inputs`."""

    key: Path
    inputs: Path
    public: Path

    def decide(self, *more: str) -> int:
        cli = pytest.importorskip("blindcal.cli")
        return int(cli.run(arguments(self.inputs, self.key, self.public, "numbered = true", *more)))

    def amend(self, *more: str) -> int:
        small_conference(papers=3).with_review(3, score="0.5").write(self.inputs)
        return self.decide("--amend", "--reason", "a score was mistyped", *more)

    def verify(self, *more: str) -> int:
        cli = pytest.importorskip("blindcal.cli")
        command = command_line("verify", self.inputs, self.key, self.public, "numbered = true", *more)
        return int(cli.run(command))


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Copy, Copy]:
    """The same key twice, before anything was decided, and inputs that differ in who reviewed a paper."""
    small = small_conference(papers=3)
    homes = [tmp_path / "one", tmp_path / "two"]
    for home, conference in zip(homes, (small, swapped(small)), strict=True):
        conference.write(home / "in")
    make_key(homes[0] / "key.bin")
    shutil.copy2(homes[0] / "key.bin", homes[1] / "key.bin")
    one, two = (Copy(home / "key.bin", home / "in", home / "public") for home in homes)
    return one, two


@pytest.mark.edge
def test_the_first_decision_says_that_only_one_copy_of_the_key_may_decide(
    copies: tuple[Copy, Copy], capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = copies
    warned = "decide only with this key and this private log from now on"
    assert one.decide() == 0
    assert warned in capsys.readouterr().out
    assert one.decide() == 0
    assert one.amend() == 0
    assert warned not in capsys.readouterr().out


@pytest.mark.edge
def test_two_copies_of_a_key_that_decided_apart_are_named(
    copies: tuple[Copy, Copy], capsys: pytest.CaptureFixture[str]
) -> None:
    """The first copy made two releases, the second one: it lacks the latest, and its first is another."""
    one, two = copies
    assert one.decide() == 0
    assert one.amend() == 0
    capsys.readouterr()
    assert two.decide("--published", str(one.public)) == 3
    assert "holds only 0" in capsys.readouterr().err
    assert two.decide() == 0
    assert two.verify() == one.verify() == 0, "each agrees with itself"
    assert one.verify("--published", str(one.public)) == 0
    assert "published earlier" in capsys.readouterr().out
    apart = [f"{copy.public / 'release-1' / 'certificate.json'}" for copy in (one, two)]
    assert one.verify("--published", str(two.public)) == 4
    told = capsys.readouterr().err
    assert all(path in told for path in apart)
    assert "two copies of the key decided apart" in told
    assert two.verify("--published", str(two.public), "--published", str(one.public)) == 4
    told = capsys.readouterr().err
    assert f"{apart[0]} and {apart[1]} are both release 1 made with this key" in told
    assert "two copies of the key decided apart" in told
    assert two.decide("--published", str(one.public), "--amend", "--reason", "x") == 3
    assert "two copies of the key decided apart" in capsys.readouterr().err


@pytest.mark.edge
def test_decisions_changed_in_any_published_folder_are_noticed(
    copies: tuple[Copy, Copy], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a downloaded copy, and in the chair's own folder of a release that was amended since."""
    one, _ = copies
    assert one.decide() == 0
    assert one.amend() == 0
    for name in ("release-1", "release-2"):
        copied = tmp_path / f"downloaded-{name}"
        shutil.copytree(one.public, copied)
        assert one.verify("--published", str(copied)) == 0
        file = copied / name / "decisions.csv"
        words = {"accept": "reject", "reject": "accept"}
        file.write_text("".join(words.get(part, part) for part in re.split(r"(\b)", file.read_text())))
        capsys.readouterr()
        assert one.verify("--published", str(copied)) == 4
        assert f"{file} is not what release {name[-1]}" in capsys.readouterr().err
        # A certificate may be given without its decisions.
        file.unlink()
        assert one.verify("--published", str(copied)) == 0
    (one.public / "release-1" / "decisions.csv").write_text("paper,decision\n")
    assert one.verify() == 4


def test_a_certificate_that_names_another_version_has_no_words_of_its_own(key: Path) -> None:
    """Sealed with the key: assumptions that nobody made, under the name of a version that says so."""
    conference, truth = loaded(small_conference(papers=2))
    told = decided(key, conference, truth).certificate
    other = {**told, "version": "0.0.9", "assumptions": ["Against whom: everyone, whatever they know."]}
    certificate = json.dumps(other, indent=1, sort_keys=True) + "\n"
    forge(ledger_folder(key) / "0001.sealed", Key(key.read_bytes()), record={"certificate": certificate})
    with pytest.raises(VerificationError, match="public files follow from the record"):
        refuse_failed(verified(conference, truth, key))


@pytest.mark.parametrize("name", ["public", "steady", "crowd"])
@pytest.mark.parametrize("scores", [(-1e300, 1e300), (-1e155, 1e155), (1.0, 1e200)])
def test_weights_that_are_no_numbers_are_refused_and_not_certified(
    name: str, scores: tuple[float, float], key: Path
) -> None:
    conference, truth = loaded(small_conference(papers=1))
    far = replace(conference, cases=(replace(conference.cases[0], scores=scores),))
    with pytest.raises(InputError, match="too far"):
        decided(key, far, truth, Request(Guarantee(name, epsilon=None), bar=conference.bar))
    assert not ledger_of(key).releases


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-300, 1e-17, 700.0])
def test_any_epsilon_is_kept_by_a_constant(epsilon: float) -> None:
    """However small: a constant tells nothing. However large: e^epsilon is a number."""
    asked = Guarantee("none", epsilon=epsilon)
    assert keeps_guarantee(Belief([0.6, 0.4], [0.95, 0.2]), ExactPolicy(np.array([UNIT, UNIT])), asked)
    conference, _ = loaded(small_conference(papers=2))
    plans = plan_conference(conference, asked)
    assert all(plan.claim.epsilon <= epsilon for plan in plans)
    with pytest.raises(InputError, match="epsilon"):
        Guarantee("none", epsilon=701.0)


@pytest.mark.edge
def test_swapped_columns_name_no_reviewer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The header names the columns the wrong way round: reviewers then stand where papers should."""
    cli = pytest.importorskip("blindcal.cli")
    small = small_conference(papers=3)
    swapped = replace(small, reviews=(("reviewer", "paper", "score"), *small.reviews[1:]))
    key = with_key(tmp_path / "key.bin")
    assert cli.run(arguments(swapped.write(tmp_path / "in"), key, tmp_path / "out")) == 2
    told = capsys.readouterr()
    assert "must have a pool for a paper" in told.err
    assert not any(canary in told.out + told.err for canary in small.canaries)
