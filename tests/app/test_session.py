"""The session: a folder made, filled, decided and checked by what commands use; its errors and its end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest

from app_clients import text_of
from blindcal.app import session as sessions
from blindcal.app.folder_state import LatestRelease
from blindcal.app.pages import page_view
from blindcal.app.session import CanceledError, Job, Reading, Session, Staging, TooLargeError, checked_name
from blindcal.compute.parallel import Progress, parallel_map
from blindcal.deciding.key import read_key
from blindcal.errors import BlindcalError, InputError, RefusedError
from blindcal.fitting.committee import read_aliases
from blindcal.importers.raw_export import Choices
from blindcal.planning.guarantee_menu import MENU
from blindcal.policy.guarantee import Guarantee
from blindcal.project.create import InitialSettings
from blindcal.project.settings import folder_request, read_folder
from small_conferences import SmallConference, everything, small_conference
from small_pasts import few_sweeps

pytestmark = pytest.mark.edge

SMALL = small_conference(papers=8)
PUBLIC = InitialSettings("public", "40%")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "home").mkdir()
    made = Session(tmp_path / "home")
    yield made
    made.close()


def upload(session: Session, name: str, text: str) -> None:
    with session.staging.incoming(name, 10**6) as write:
        write(text.encode())
    session.uploaded()


def bring(session: Session, small: SmallConference = SMALL) -> None:
    """The files of a small conference, as if they were uploaded."""
    for kind in ("reviews", "reviewers", "pools"):
        upload(session, f"{kind}.csv", text_of(getattr(small, kind)))


def wait(session: Session) -> None:
    assert session.job is not None
    session.job.join(120.0)
    if session.error is not None:
        raise session.error


def run(session: Session, step: Callable[..., None], *given: object, **named: object) -> None:
    """Take a step, and wait for its job."""
    step(*given, **named)
    wait(session)


def latest(session: Session) -> LatestRelease:
    assert session.state.release is not None
    return session.state.release


def nobody_named(folder: Path) -> None:
    for name, text in everything(folder).items():
        assert not [canary for canary in SMALL.canaries if canary.encode() in text], name


def filled(session: Session, settings: InitialSettings = PUBLIC, small: SmallConference = SMALL) -> Path:
    session.new("icx", settings)
    bring(session, small)
    session.bring_in()
    return session.home / "icx"


def decided(session: Session, settings: InitialSettings = PUBLIC) -> Path:
    folder = filled(session, settings)
    run(session, session.decide)
    return folder


def test_a_guarantee_that_was_chosen_in_the_menu_is_decided(session: Session) -> None:
    folder = filled(session)
    assert session.state.fingerprint == read_key(session.home / "icx.key").fingerprint
    with pytest.raises(InputError, match="no such line"):
        session.choose_guarantee(0)
    run(session, session.plan)
    for line in (99, len(MENU), -1):
        with pytest.raises(InputError, match="no such line"):
            session.choose_guarantee(line)
    chosen = Guarantee("crowd", epsilon=3.0)
    menu = [choice.guarantee for choice in session.result("planned").menu.choices]
    session.choose_guarantee(menu.index(chosen))
    assert page_view(session, "plan")[1]["planned"].chosen == chosen, "the menu outlives a choice in it"
    assert folder_request(read_folder(folder)).guarantee == chosen
    run(session, session.decide)
    release = latest(session)
    assert release.path == folder / "public" / "release-1"
    assert release.certificate["limits"]["epsilon"] == 3.0
    assert len(release.papers) == 8
    nobody_named(folder / "public")


@pytest.mark.parametrize("release", ["decisions", "advice"])
def test_one_file_is_decided_on_the_pages_too(session: Session, release: str) -> None:
    session.new("icx", PUBLIC)
    upload(session, "reviews.csv", text_of(SMALL.reviews))
    session.bring_in()
    session.set_texts({"release": release})
    assert page_view(session, "plan")[1]["open"]["unset"] is None
    run(session, session.plan)
    assert page_view(session, "plan")[1]["answer"].count("Expected gain") == 1
    others = [name for name, *_ in page_view(session, "settings")[1]["others"]]
    assert others == ["past-better", "posterior-cap", "among"]
    assert page_view(session, "papers")[1]["table"] is None
    run(session, session.decide)
    template, view = page_view(session, "papers")
    assert (template, view["confidential"], len(view["table"].papers)) == ("papers.html", True, 8)
    assert not [one for one in SMALL.canaries if one in view["table"].data]
    results = page_view(session, "results")[1]
    assert (results["content"]["publishes"], results["table"]) == (release, f"{release}.csv")
    said = {name: words for name, _, _, words in page_view(session, "overview")[1]["open"]["steps"]}
    assert said["decide"].startswith("release 1: advice on 8" if release == "advice" else "release 1: ")


def test_what_is_decided_is_seen_by_another_session_and_frozen(session: Session) -> None:
    again = Session(session.home, filled(session))
    assert again.state.release is None
    run(session, session.decide)
    before = everything(session.home)
    assert again.state.release is not None
    for change in (lambda: again.set_texts({"accept": "2"}), lambda: again.set({"guarantee": "public"})):
        with pytest.raises(RefusedError, match="frozen"):
            change()
    with pytest.raises(InputError, match="say why they are amended"):
        again.decide()
    with pytest.raises(InputError, match="say why the papers are amended"):
        again.decide(reason=" ")
    with pytest.raises(RefusedError, match="one by one"):
        again.preview("5", "")
    run(again, again.decide, reason="to be sure")
    assert again.result("decided").outcome.how == "stored"
    assert everything(session.home) == before, "the same decisions are returned"
    again.close()


def test_settings_are_written_as_they_are_typed(session: Session) -> None:
    filled(session, InitialSettings("public"))
    assert session.state.request is None
    assert "accept_rate" in str(session.state.unset)
    with pytest.raises(InputError, match="accept_rate"):
        session.plan()
    session.set_texts({"accept": "3", "wait-list": "1", "accepted": "Accept (Talk)"})
    request = folder_request(read_folder(session.home / "icx"))
    assert (request.accept, request.wait_list) == (3, 1)
    session.set_texts({"accept": "", "wait-list": "", "accept-rate": "0.5"})
    request = folder_request(read_folder(session.home / "icx"))
    assert (request.accept, request.accept_rate) == (None, 0.5)
    before = everything(session.home)
    for name, text, told in (
        ("accept-rate", "half", "must be a number"),
        ("distinct-papers", "yes", "true or false"),
        ("key", "elsewhere.key", "no such setting"),
        ("nothing", "1", "no such setting"),
    ):
        with pytest.raises(InputError, match=told):
            session.set_texts({name: text})
    assert everything(session.home) == before


def test_what_is_printed_is_what_was_shown(session: Session) -> None:
    """Not if two tabs show two lists, or a paper was withdrawn meanwhile."""
    decided(session, InitialSettings("public", accept="3"))
    before = everything(session.home)
    session.preview("6", "1")
    other = session.result("preview")[2].digest
    session.preview("5", "2")
    _, _, preview = session.result("preview")
    assert (preview.accepted, preview.waiting, len(preview.changes)) == (5, 2, 4)
    with pytest.raises(InputError, match="how many papers"):
        session.preview("", "2")

    def refused(*digests: str) -> None:
        for digest in digests:
            with pytest.raises(RefusedError, match="not the list that was shown"):
                session.print_list(digest, "csv", "")

    refused("", preview.digest[:-1], other)
    assert session.result("printed") is None
    session.print_list(preview.digest, "csv", "")
    made = session.result("printed")
    assert made.confidential
    words = {paper: word for paper, _, word in preview.changes}
    assert {one.paper: one.decision for one in made.papers if one.paper in words} == words
    assert [row.split(b",")[1] for row in made.data.splitlines()].count(b"accept") == 5
    assert everything(session.home) == before, "nothing is recorded, published or changed"
    session.withdraw(preview.text.splitlines()[1].split(",")[0], "by its authors")
    refused(other, preview.digest)


def test_a_correction_a_withdrawal_and_new_papers_are_amended_with_a_reason(session: Session) -> None:
    folder = decided(session)
    more = small_conference(papers=10)
    upload(session, "late.csv", text_of(more.reviews))
    assert "reviews of this year already" in str(session.checked.errors["late.csv"])
    session.read_as(Reading(kinds={"late.csv": "reviews"}))
    upload(session, "pools.csv", text_of(more.pools))
    session.bring_in()
    session.withdraw("p00", "by its authors")
    for paper, reason in (("p00", "again"), ("nothing", "why"), ("p01", " ")):
        with pytest.raises(InputError):
            session.withdraw(paper, reason)
    run(session, session.decide, reason="two late papers, one withdrawn")
    changes = session.result("decided").outcome.changes
    assert len(changes.new) == 2
    assert changes.withdrawn == ("p00",)
    release = latest(session)
    assert release.path == folder / "public" / "release-2"
    assert (folder / "inputs" / "reviews.csv").is_file()
    assert (folder / "inputs" / "correction-1" / "reviews.csv").is_file()
    run(session, session.start, "verified")
    assert session.result("verified").verification.agrees


def test_a_withdrawn_paper_comes_back_with_the_decision_it_had(session: Session) -> None:
    """Until then, and once a file is another, the decisions are out of date."""
    decided(session)
    before = {one.paper: one.decision for one in latest(session).papers}
    changes = {
        "p00 is withdrawn": lambda: session.withdraw("p00", "by its authors"),
        "p00 is back": lambda: session.restore("p00"),
    }
    for reason, change in changes.items():
        assert not session.state.amendable
        change()
        assert session.state.amendable, "the papers are others than those that are decided"
        run(session, session.decide, reason=reason)
    assert session.state.folder.withdrawn == {}
    assert {one.paper: one.decision for one in latest(session).papers} == before
    with pytest.raises(InputError, match="no such paper"):
        session.restore("p00")
    assert not session.state.amendable
    upload(session, "late.csv", text_of(SMALL.with_review(1, score="1.5").reviews))
    session.read_as(Reading(kinds={"late.csv": "reviews"}))
    session.bring_in()
    assert session.state.amendable, "the papers are the same, the file is another"


def test_a_decision_by_hand_is_in_exports_alone(session: Session) -> None:
    folder = decided(session)
    release = latest(session)
    paper, own = release.papers[0].paper, release.papers[0].decision
    other = "reject" if own == "accept" else "accept"
    before = everything(folder / "public")
    for given in ((paper, other, " "), (paper, "perhaps", "why"), ("nothing", other, "why")):
        with pytest.raises(InputError):
            session.override(*given)
    session.override(paper, other, "an error in a review")
    assert session.state.folder.overridden == {paper: f"{other}: an error in a review"}
    session.export("csv", "decisions", {})
    assert f"{paper},{other}" in session.result("export").data.decode()
    assert everything(folder / "public") == before
    session.override(paper, "", "")
    session.export("csv", "decisions", {})
    made = session.result("export")
    assert (made.name, f"{paper},{own}" in made.data.decode()) == ("decisions-csv.csv", True)
    with pytest.raises(BlindcalError):
        session.export("typewriter", "decisions", {})


def test_reviewers_get_codes_that_they_keep(session: Session) -> None:
    session.new("icx", PUBLIC)
    upload(session, "now.csv", text_of(SMALL.reviews))
    session.read_as(Reading(codes=True))
    session.bring_in()
    table = session.home / "icx.codes.csv"
    codes = table.read_text()
    assert table.stat().st_mode & 0o777 == 0o600
    nobody_named(session.home / "icx")
    upload(session, "more.csv", text_of(small_conference(papers=10).reviews))
    session.read_as(Reading(kinds={"more.csv": "reviews"}))
    session.bring_in()
    assert table.read_text().startswith(codes), "nobody is asked again, and everybody keeps their code"
    nobody_named(session.home / "icx")


def test_no_promise_needs_consent(session: Session) -> None:
    filled(session)
    session.set_texts({"guarantee": "none", "epsilon": "", "among": ""})
    assert session.state.request is not None
    assert session.state.request.guarantee.name == "none"
    with pytest.raises(InputError, match="yes_leak"):
        session.decide()
    run(session, session.decide, leak=True)
    assert latest(session).papers


def test_a_file_with_problems_is_told_and_one_that_was_mended_is_read(session: Session) -> None:
    session.new("icx", PUBLIC)
    upload(session, "r.csv", "paper,reviewer,score\n1,canary-a,good\n2,canary-a,3\n2,canary-a,4\n")
    error = session.checked.errors[""]
    assert isinstance(error, InputError)
    assert [(one.row, one.column) for one in error.problems] == [(2, "score"), (4, "reviewer")]
    with pytest.raises(InputError, match="no file that can be brought in"):
        session.bring_in()
    upload(session, "r.csv", "paper,reviewer,score\n1,canary-a,2\n2,canary-a,3\n")
    assert session.checked.brought is not None
    upload(session, "more.csv", "paper,reviewer,score\n1,canary-a,2\n2,canary-a,3\n")
    assert {*session.checked.errors} == {"r.csv", "more.csv"}, (
        "each file says that it is to be told what it is"
    )
    assert "several files of reviews" in str(session.checked.errors["r.csv"])
    session.read_as(Reading(kinds={"r.csv": "reviews", "more.csv": "reviews"}))
    assert "give one file as reviews, found 2" in str(session.checked.errors[""])
    session.remove_upload("more.csv")
    assert session.checked.brought is not None
    session.open(None)
    assert not session.staging.files


def test_files_are_read_again_by_other_choices(session: Session) -> None:
    session.new("icx", PUBLIC)
    upload(session, "r.csv", "paper,reviewer,mark,other\n1,a,A,1\n2,a,B,2\n")
    assert session.checked.brought is None
    columns = {"paper": "paper", "reviewer": "reviewer", "score": "mark"}
    session.read_as(Reading(choices=Choices(columns=columns, best_first=("A", "B"))))
    assert session.checked.brought is not None
    with pytest.raises(InputError, match="no such kind"):
        session.read_as(Reading(kinds={"r.csv": "key"}))


def test_a_table_of_who_is_behind_the_ids_is_recognized(session: Session) -> None:
    session.new("icx", PUBLIC)
    upload(session, "people.csv", "signature,profile_id\nx1,~Ada_Byron1\nx2,~Ben_Ali1\n")
    upload(session, "reviews.csv", "paper,reviewer,score\n1,x1,2\n2,x1,3\n2,x2,5\n")
    assert session.checked.kinds == {"reviews.csv": "reviews", "people.csv": "map"}
    brought = session.checked.brought
    assert brought is not None
    assert brought.contents.imported is not None
    assert {*brought.contents.imported.reviews.reviewers} == {"~Ada_Byron1", "~Ben_Ali1"}


def test_a_bad_folder_is_refused_and_folders_at_home_are_opened_by_name(session: Session) -> None:
    for name in ("../icx", "", ".icx", "a/b"):
        with pytest.raises(InputError, match="plain name"):
            session.new(name, PUBLIC)
    with pytest.raises(InputError, match="better"):
        session.new("icx", InitialSettings(better="up"))
    assert not everything(session.home)
    with pytest.raises(BlindcalError):
        session.open(session.home / "icx")
    with pytest.raises(InputError, match="no conference is open"):
        session.plan()
    session.new("icx", PUBLIC)
    with pytest.raises(RefusedError, match="exists already"):
        session.new("icx", PUBLIC)
    (session.home / "other").mkdir()
    assert session.folders == ["icx"]
    bring(session)
    session.bring_in()
    session.open(None)
    session.open(session.home / "icx")
    assert session.state.calibrated == 8


def test_one_job_at_a_time_and_a_stopped_one_changes_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(session)
    before = everything(session.home)
    seen, go = Event(), Event()
    plain = sessions.answer

    def slow(*given: object, **more: object) -> object:
        seen.set()
        assert go.wait(60.0)
        return plain(*given, **more)  # the hook of progress notices that it was stopped

    monkeypatch.setattr(sessions, "answer", slow)
    session.plan()
    assert seen.wait(60.0)
    others = (
        session.plan,
        session.decide,
        lambda: session.open(None),
        session.open_example,
        session.bring_in,
    )
    for other in (*others, lambda: session.set({"accept": 2}), lambda: session.withdraw("p00", "why")):
        with pytest.raises(RefusedError, match="still being computed"):
            other()
    session.cancel()
    go.set()
    with pytest.raises(CanceledError):
        wait(session)
    assert session.result("planned") is None
    assert everything(session.home) == before


def test_the_embedded_conference_lives_in_a_private_place_that_goes(session: Session) -> None:
    session.open_example()
    assert session.is_example
    reviews = session.state.reviews
    assert reviews is not None
    assert len(reviews.papers) == 200
    assert session.private.stat().st_mode & 0o777 == 0o700
    assert not everything(session.home)
    session.open(None)
    assert session.path is None
    session.open_example()
    session.close()
    assert not session.private.exists()


def test_confidential_scores_are_in_the_report_of_the_chair_alone(session: Session) -> None:
    decided(session, InitialSettings("confidential", "40%"))
    run(session, session.start, "report")
    release = latest(session)
    assert "success" not in release.public
    assert 0 < release.certificate["success"] < 1
    assert all(one.advice for one in release.papers)
    public, chair = session.result("report")
    assert "by mean score" not in public
    assert "by mean score" in chair


def test_reviewers_whom_no_pool_holds_are_listed_in_a_file_and_named_nowhere_else(session: Session) -> None:
    paper, author = SMALL.reviews[1][:2]
    pools = tuple(row for row in SMALL.pools if row[:2] != (paper, author))
    filled(session, PUBLIC, SmallConference(SMALL.reviews, SMALL.reviewers, pools))
    session.plan()
    with pytest.raises(InputError) as caught:
        wait(session)
    assert author not in str(caught.value)
    (listed,) = session.home.rglob("CONFIDENTIAL-unknown-reviewers.csv")
    assert listed.parent == session.home / "icx" / "inputs"
    assert listed.stat().st_mode & 0o777 == 0o600
    assert author in listed.read_text()


def test_people_with_another_id_in_past_reviews_are_confirmed_side_by_side(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who changed their address: one found by name, one whom initials leave open."""
    few_sweeps(monkeypatch)
    session.new("icx", InitialSettings("public", "40%"))
    people = ["ada@new.org", "ben.ali@x.org", "cy@x.org", "dora@x.org"]
    names = ["Ada Byron", "Ben Ali", "Cy Young", "Dora Maar"]
    rows = [f"{who},{name}" for who, name in zip(people, names, strict=True)]
    upload(session, "pc.csv", "\n".join(["email,name", *rows]) + "\n")
    past = {
        **dict(zip(people, people, strict=True)),
        "ada@new.org": "A. Byron",
        "ben.ali@x.org": "ben.ali@old.org",
    }
    for year in ("2025", "2026"):
        scores = [
            f"{p},{past[people[(p + k) % 4]]},{1 + (p * (k + 2)) % 5}" for p in range(12) for k in (0, 1)
        ]
        upload(session, f"{year}.csv", "\n".join(["paper,reviewer,score", *scores]) + "\n")
    scores = [f"{p},{people[(p + k) % 4]},{1 + (p * (k + 3)) % 5}" for p in range(8) for k in (0, 1)]
    upload(session, "now.csv", "\n".join(["paper,reviewer,score", *scores]) + "\n")
    session.read_as(Reading(kinds={"2025.csv": "past", "2026.csv": "past", "now.csv": "reviews"}))
    session.bring_in()
    run(session, session.start, "fitted")
    pairs = {(one.old, one.new): one.taken for one in session.state.pairs}
    assert {old for old, _ in pairs} == {"A. Byron", "ben.ali@old.org"}
    run(
        session,
        session.confirm_people,
        {place: one.old == "A. Byron" for place, one in enumerate(session.state.pairs)},
    )
    assert session.state.pairs == (), "what was said is not asked again"
    same = read_aliases(str(session.state.folder.settings["same"]))
    assert same == {"A. Byron": "ada@new.org", "ben.ali@old.org": "ben.ali@old.org"}
    assert session.result("fitted").people.found == 3
    run(session, session.join_people, {"ben.ali@old.org": "ben.ali@x.org"})
    assert session.state.same == {"A. Byron": "ada@new.org", "ben.ali@old.org": "ben.ali@x.org"}
    assert session.result("fitted").people.found == 4, "said by hand, and in place of what was said before"
    with pytest.raises(InputError, match="one that the committee's file has"):
        session.join_people({"ben.ali@old.org": "somebody@x.org"})
    run(session, session.join_people, {"nobody@x.org": "ada@new.org"})
    assert any("1 id of" in one and "in no past review" in one for one in session.result("fitted").remarks)


# --- Jobs: how far they are, their result or error, and their end when they are canceled.


def test_a_job_tells_its_steps_and_hands_over_its_result_or_error() -> None:
    told: list[tuple[Any, BaseException | None]] = []
    seen, halfway = Event(), Event()

    def work(progress: Progress) -> str:
        with progress("weighing 4 papers", 4) as advance:
            advance(1)
            advance(1)
            seen.set()
            assert halfway.wait(30.0)
            advance(5)
        return "found"

    job = Job("job", work, lambda result, error: told.append((result, error)))
    assert job.state.work == "job"
    job.start()
    assert seen.wait(30.0)
    state = job.state
    assert (state.work, state.done, state.steps, state.running) == ("weighing 4 papers", 2, 4, True)
    halfway.set()
    job.join(30.0)
    assert told == [("found", None)]
    assert (job.state.done, job.state.running, job.state.canceled) == (4, False, False)
    failure = ValueError("no")
    failed = Job("job", Mock(side_effect=failure), lambda result, error: told.append((result, error)))
    failed.start()
    failed.join(30.0)
    assert (told[1], failed.state.running) == ((None, failure), False)


def test_a_job_tells_how_long_its_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third took six seconds; before a second has passed nobody knows."""
    clock = [100.0]
    monkeypatch.setattr(sessions, "monotonic", lambda: clock[0])
    job = Job("job", lambda progress: None, lambda result, error: None)
    with job.progress("weighing", 9) as advance:
        advance(3)
        assert job.state.left == ""
        clock[0] += 6.1
        assert job.state.left == "about 12 s left"


@pytest.mark.parametrize("before", [True, False])
def test_a_canceled_job_stops_at_its_next_step(before: bool) -> None:
    told: list[BaseException | None] = []
    seen, go = Event(), Event()
    done: list[int] = []

    def one(item: int) -> int:
        done.append(item)
        seen.set()
        assert go.wait(30.0)
        return item

    def work(progress: Progress) -> list[int]:
        with progress("items", 10) as advance:
            return parallel_map(one, range(10), advance=advance)

    job = Job("job", work, lambda result, error: told.append(error))
    if before:
        job.cancel()
    job.start()
    if not before:
        assert seen.wait(30.0)
        job.cancel()
        assert job.state.canceled
        go.set()
    job.join(30.0)
    assert isinstance(told[0], CanceledError)
    assert len(done) == (0 if before else 1)


# --- Files that come in: plain names alone, whole or not at all, never too large; none stays after a kill.


BAD = ["", ".", "..", "../key.bin", "..\\key.bin", "a/b", "/etc/passwd", ".hidden", "a\x00b", "a\nb", " a"]
BAD += ["a ", "x" * 101, "é" * 101]


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path / "uploads")


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_is_a_path_or_hidden_is_refused(name: str, staging: Staging, tmp_path: Path) -> None:
    for call in (checked_name, staging.remove, lambda bad: fill(staging, bad)):
        with pytest.raises(InputError, match=r"^the name of a file must be a plain name of at most 100"):
            call(name)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def fill(staging: Staging, name: str, *parts: Any) -> None:
    with staging.incoming(name, 10) as write:
        for part in parts:
            write(part)


def test_files_are_for_their_owner_alone_and_one_of_the_same_name_is_replaced(staging: Staging) -> None:
    for name in ("2027 (final).xlsx", "Begutachtungen für Ä.csv", "<b>.csv"):
        assert checked_name(name) == name
    for name in ("b.csv", "a.csv", "b.csv"):
        fill(staging, name, b"abc", name.encode())
    assert [path.name for path in staging.files] == ["a.csv", "b.csv"]
    assert staging.files[1].read_bytes() == b"abcb.csv"
    assert staging.files[1].stat().st_mode & 0o777 == 0o600
    assert staging.directory.stat().st_mode & 0o777 == 0o700
    staging.remove("a.csv")
    staging.remove("never.csv")
    assert [path.name for path in staging.files] == ["b.csv"]
    staging.clear()
    assert not staging.files


def test_what_is_too_large_or_broken_off_leaves_what_was_there(staging: Staging) -> None:
    fill(staging, "a.csv", b"old")
    with pytest.raises(TooLargeError, match="at most 10 bytes"):
        fill(staging, "b.csv", b"12345678", b"90!")
    with pytest.raises(TypeError):
        fill(staging, "a.csv", b"new", None)
    (only,) = staging.files
    assert only.read_bytes() == b"old"
    assert not list(staging.directory.rglob(".*"))


def test_a_file_that_arrives_after_its_conference_was_closed_is_not_the_next_ones(staging: Staging) -> None:
    with ExitStack() as arriving:
        arriving.enter_context(staging.incoming("reviews.csv", 100))(b"who reviewed what")
        staging.clear(arriving=True)
        with pytest.raises(InputError, match="closed before"):
            arriving.close()
    assert [*staging.directory.iterdir()] == []


def test_two_at_a_time_are_not_mixed_and_there_are_not_too_many(staging: Staging) -> None:
    with staging.incoming("a.csv", 10**6) as first, staging.incoming("b.csv", 10**6) as second:
        for _ in range(2):
            first(b"ada" * 5000)
            second(b"ben" * 5000)
    found = {path.name: path.read_bytes() for path in staging.files}
    assert found == {"a.csv": b"ada" * 10000, "b.csv": b"ben" * 10000}
    assert not list(staging.directory.rglob(".*"))
    for number in range(28):
        fill(staging, f"{number}.csv", b"x")
    with pytest.raises(InputError, match="at most 30 files"):
        fill(staging, "more.csv", b"x")
    fill(staging, "7.csv", b"again")


KILLED = """
import os, signal, sys
from pathlib import Path
from blindcal.app.session import Session
session = Session(Path(sys.argv[1]))
(session.staging.directory / "reviews.csv").write_text("who reviewed what")
print(session.private, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_session_left_is_removed_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True)
    left = Path(ended.stdout.strip())
    assert (left / "uploads" / "reviews.csv").is_file()
    other = tmp_path / "blindcal-app-notes.txt"
    other.write_text("not a session's")
    running = Session(tmp_path)
    assert not left.exists()
    assert other.exists()
    second = Session(tmp_path)
    assert running.private.is_dir(), "a session that runs keeps its files"
    for session in (running, second):
        session.close()
        assert not session.private.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name]
