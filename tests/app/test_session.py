"""The desk: a folder made, opened, compared and decided by what the commands use; its errors; its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

pytest.importorskip("jinja2")

from blindcal.app import session, steps
from blindcal.app.jobs import CanceledError
from blindcal.app.session import Session, Upload
from blindcal.deciding.coins import read_key
from blindcal.errors import BlindcalError, InputError, RefusedError
from blindcal.importers import Choices
from blindcal.planning.guarantee_menu import MENU
from blindcal.policy.guarantee import Guarantee
from blindcal.project.create import InitialSettings
from blindcal.project.settings import folder_request, read_folder
from blindcal.verification import verify
from small_conferences import SmallConference, everything, small_conference

pytestmark = pytest.mark.edge

SMALL = small_conference(papers=8)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "home").mkdir()
    found = Session(tmp_path / "home")
    yield found
    found.close()


def bring(desk: Session, small: SmallConference = SMALL) -> None:
    """The files of a small conference, as if they were uploaded."""
    for role in ("reviews", "reviewers", "pools"):
        text = "".join(",".join(row) + "\n" for row in getattr(small, role))
        with desk.staging.open(role, f"{role}.csv") as incoming:
            incoming.write(text.encode(), 10**6)
        desk.check_upload(role, incoming.target)


def wait(desk: Session) -> None:
    assert desk.job is not None
    desk.job.wait(120.0)
    if desk.error is not None:
        raise desk.error


def founded(desk: Session) -> Path:
    bring(desk)
    desk.found("icx", InitialSettings("public", accept_rate=0.4))
    wait(desk)
    return desk.home / "icx"


def test_a_conference_from_files_to_decisions_that_verify(desk: Session) -> None:
    folder = founded(desk)
    assert desk.opened is not None
    assert not desk.uploads
    assert read_key(desk.home / "icx.key")
    desk.compare()
    wait(desk)
    assert desk.opened.compared is not None
    menu = desk.opened.compared.survey.menu
    assert menu is not None
    desk.choose_guarantee([one.guarantee for one in menu.choices].index(Guarantee("steady", epsilon=1.0)))
    assert folder_request(read_folder(folder)).request.guarantee == Guarantee("steady", epsilon=1.0)
    desk.decide()
    wait(desk)
    release, pages = desk.opened.release, desk.opened.pages
    assert release is not None
    assert pages is not None
    assert release.path == folder / "public" / "release-1"
    assert release.certificate["limits"]["epsilon"] == 1.0
    assert len(release.decided) == 8
    wanted = folder_request(read_folder(folder))
    assert verify(wanted.inputs(), wanted.key, release.path, conference="icx").agrees
    for name, text in everything(folder / "public").items():
        assert not [one for one in SMALL.canaries if one.encode() in text], name
    for text in (pages.public, pages.chair):
        assert not [one for one in SMALL.canaries if one in text]


def test_what_is_decided_is_found_again_and_frozen(desk: Session, tmp_path: Path) -> None:
    folder = founded(desk)
    desk.decide()
    wait(desk)
    before = everything(desk.home)
    again = Session(desk.home, folder)
    assert again.opened is not None
    assert again.opened.release is not None
    assert again.opened.pages is None
    for change in (lambda: again.accept({"accept": 2}), lambda: again._set({"guarantee": "public"})):
        with pytest.raises(RefusedError, match="frozen"):
            change()
    again.report()
    wait(again)
    assert again.opened.pages is not None
    assert desk.opened is not None
    assert again.opened.pages == desk.opened.pages
    again.decide()
    wait(again)
    assert everything(desk.home) == before, "the same decisions are returned"
    again.close()


def test_how_many_to_accept_is_set_in_the_folder(desk: Session) -> None:
    bring(desk)
    desk.found("icx", InitialSettings("public"))
    wait(desk)
    assert desk.opened is not None
    assert desk.opened.wanted is None
    assert "accept_rate" in str(desk.opened.unset)
    with pytest.raises(InputError, match="accept_rate"):
        desk.compare()
    desk.accept({"accept": 3})
    assert desk.opened.wanted is not None
    assert desk.opened.wanted.request.accept == 3
    desk.accept({"accept-rate": 0.5})
    request = folder_request(read_folder(desk.home / "icx")).request
    assert (request.accept, request.accept_rate) == (None, 0.5)


def test_a_line_that_is_not_in_the_menu_or_reveals_everything_is_refused(desk: Session) -> None:
    founded(desk)
    with pytest.raises(InputError, match="no such line"):
        desk.choose_guarantee(0)
    desk.compare()
    wait(desk)
    with pytest.raises(InputError, match="no such line"):
        desk.choose_guarantee(99)
    with pytest.raises(InputError, match="without protection"):
        desk.choose_guarantee(len(MENU) - 1)


def upload(desk: Session, role: str, text: str, name: str = "x.csv") -> Upload:
    with desk.staging.open(role, name) as incoming:
        incoming.write(text.encode(), 10**6)
    desk.check_upload(role, incoming.target)
    return next(one for one in desk.uploads if one.role == role)


def test_a_file_with_problems_is_told_and_one_that_was_mended_is_read(desk: Session) -> None:
    bad = upload(desk, "reviews", "paper,reviewer,score\n1,canary-a,good\n2,canary-a,3\n2,canary-a,4\n")
    assert isinstance(bad.error, InputError)
    assert [(one.row, one.column) for one in bad.error.problems] == [(2, "score"), (4, "reviewer")]
    good = upload(desk, "reviews", "paper,reviewer,score\n1,canary-a,2\n2,canary-a,3\n")
    assert good.error is None
    assert good.lines[1] == "2 reviews of 2 papers by 1 reviewer"


@pytest.mark.parametrize(
    ("role", "text", "line"),
    [
        ("committee", "reviewer\na\nb\n", "2 members"),
        ("past", "paper,reviewer,score\n1,a,2\n2,a,3\n", "2 reviews of 2 papers by 1 reviewer"),
        ("conflicts", "paper,conflict\n1,a\n", "1 conflict"),
        ("reviewers", "reviewer,slope,offset,noise\na,1,0,1\n", "1 row of reviewers"),
        ("same", "old,new\na,b\n", "1 changed id"),
        ("pools", "anything", "checked once the folder is made, against reviews and reviewers"),
    ],
)
def test_each_kind_of_file_is_read_as_what_it_is(desk: Session, role: str, text: str, line: str) -> None:
    assert line in upload(desk, role, text).lines
    desk.remove_upload(role, "x.csv")
    assert not desk.uploads


def test_files_are_read_again_by_other_choices(desk: Session) -> None:
    asked_for = upload(desk, "reviews", "paper,reviewer,mark,other\n1,a,A,1\n2,a,B,2\n")
    assert asked_for.error is not None
    desk.choose(
        Choices(columns={"paper": "paper", "reviewer": "reviewer", "score": "mark"}, best_first=("A", "B"))
    )
    (found,) = desk.uploads
    assert found.error is None, found.error


def test_a_bad_folder_is_refused_and_nothing_is_made(desk: Session) -> None:
    with pytest.raises(InputError, match="needs this year's reviews"):
        desk.found("icx", InitialSettings("public"))
    bring(desk)
    for name in ("../icx", "", ".icx", "a/b"):
        with pytest.raises(InputError, match="plain name"):
            desk.found(name, InitialSettings("public"))
    desk.found("icx", InitialSettings("public", accept_rate=0.4, grid="1..3"))
    with pytest.raises(InputError, match="must hold every score"):
        wait(desk)
    assert not everything(desk.home)
    assert desk.opened is None
    with pytest.raises(BlindcalError):
        desk.open_named("icx")
    with pytest.raises(InputError, match="no conference is open"):
        desk.compare()


def test_one_job_at_a_time_and_a_canceled_one_changes_nothing(
    desk: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    founded(desk)
    before = everything(desk.home)
    seen, go = Event(), Event()
    plain = steps.survey

    def slow(*given: object, **more: object) -> object:
        seen.set()
        assert go.wait(60.0)
        return plain(*given, **more)  # the hook of progress notices that it was canceled

    monkeypatch.setattr(steps, "survey", slow)
    desk.compare()
    assert seen.wait(60.0)
    for other in (desk.compare, desk.decide, desk.leave, desk.open_example):
        with pytest.raises(RefusedError, match="still being computed"):
            other()
    desk.cancel()
    go.set()
    with pytest.raises(CanceledError):
        wait(desk)
    assert desk.opened is not None
    assert desk.opened.compared is None
    assert everything(desk.home) == before


def test_whether_calibration_is_worth_it_is_estimated_apart_and_can_be_canceled(
    desk: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    founded(desk)

    def fake(function: object, item: object, *, waiting: object) -> str:
        assert callable(waiting)
        waiting()
        return "verdict"

    monkeypatch.setattr(session, "run_in_process", fake)
    desk.assess()
    wait(desk)
    assert desk.opened is not None
    assert str(desk.opened.assessed) == "verdict"
    begun = Event()

    def endless(function: object, item: object, *, waiting: object) -> str:
        assert callable(waiting)
        begun.set()
        while True:
            waiting()

    monkeypatch.setattr(session, "run_in_process", endless)
    desk.assess()
    assert begun.wait(60.0)
    desk.cancel()
    with pytest.raises(CanceledError):
        wait(desk)


def test_the_embedded_conference_lives_in_a_private_place_that_goes(desk: Session) -> None:
    desk.open_example()
    assert desk.is_example
    assert desk.opened is not None
    assert len(desk.opened.reviews.papers) == 200
    assert desk.private.stat().st_mode & 0o777 == 0o700
    assert not everything(desk.home)
    desk.leave()
    assert desk.opened is None
    desk.open_example()
    desk.close()
    assert not desk.private.exists()


def test_folders_at_home_are_found_and_opened_by_name(desk: Session) -> None:
    founded(desk)
    (desk.home / "other").mkdir()
    assert desk.folders == ["icx"]
    desk.leave()
    desk.open_named("icx")
    assert desk.opened is not None
    assert desk.opened.calibrated == 8


def test_confidential_scores_are_in_the_report_of_the_chair_alone(desk: Session) -> None:
    bring(desk)
    desk.found("icx", InitialSettings("confidential", accept_rate=0.4))
    wait(desk)
    desk.decide()
    wait(desk)
    assert desk.opened is not None
    assert desk.opened.release is not None
    assert desk.opened.pages is not None
    assert "success" not in desk.opened.release.public
    assert 0 < desk.opened.release.certificate["success"] < 1
    assert "by mean score" not in desk.opened.pages.public
    assert "by mean score" in desk.opened.pages.chair
    desk.leave()
    desk.open_named("icx")
    assert desk.opened.release is not None
    assert all(one.advice for one in desk.opened.release.decided)


def test_reviewers_whom_no_pool_holds_are_listed_in_a_file_and_named_nowhere_else(desk: Session) -> None:
    paper, author = SMALL.reviews[1][:2]
    pools = tuple(row for row in SMALL.pools if row[:2] != (paper, author))
    bring(desk, SmallConference(SMALL.reviews, SMALL.reviewers, pools))
    desk.found("icx", InitialSettings("public", accept_rate=0.4))
    wait(desk)
    desk.compare()
    with pytest.raises(InputError) as caught:
        wait(desk)
    assert author not in str(caught.value)
    (listed,) = desk.home.rglob("CONFIDENTIAL-unknown-reviewers.csv")
    assert listed.parent == desk.home / "icx" / "inputs"
    assert listed.stat().st_mode & 0o777 == 0o600
    assert author in listed.read_text()
