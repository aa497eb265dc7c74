"""share: sealed once, added up, and nothing in it but noisy sums and public numbers."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from blindcal import private_sharing
from blindcal.deciding.key import make_key, read_key
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.fitting.history import PastConference, fingerprint_of_past
from blindcal.fitting.received_sums import read_shared_sums
from blindcal.posterior.reuse_guard import Fingerprint, fingerprint_entry
from blindcal.private_sharing import (
    LossLimit,
    Share,
    SharedRelease,
    TotalLoss,
    add_noise,
    compose,
    differences,
    open_account,
    points_of,
    read_account,
    record_share,
    share,
    shared_folder,
    sums_of,
    unlearned,
)
from blindcal.reviews import Reviews
from chances import within
from sizes import count

ROWS: dict[str, list[Any]] = {
    "paper": [1, 1, 2, 2, 3, 3, 4, 4],
    "reviewer": ["ann", "bob", "ann", "cyd", "bob", "cyd", "ann", "dan"],
    "score": [7, 4, 6, 5, 8, 3, 9, 2],
}
PEOPLE = ("ann", "bob", "cyd", "eve")
ONE = LossLimit(epsilon=1.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key; noise that is never the same twice, without OpenDP, which has tests of its own."""
    monkeypatch.chdir(tmp_path)
    make_key("key.bin")
    rng = np.random.default_rng(5)
    monkeypatch.setattr(
        private_sharing, "add_noise", lambda sums, limit: sums + rng.integers(-500, 500, sums.shape)
    )
    return tmp_path


def shared(
    out: str = "out.csv", rows: dict[str, list[Any]] = ROWS, limit: LossLimit = ONE, **how: Any
) -> Share:
    people = how.pop("people", PEOPLE)
    how = {"conference": "C", **how}
    return share(Reviews.from_table(rows), people, limit, "key.bin", out, **how)


@pytest.mark.usefixtures("folder")
def test_the_same_input_returns_the_same_release_whatever_the_order() -> None:
    first = shared()
    assert (first.how, first.left_out) == ("new", 1)
    table = Path("out.csv").read_text()
    assert [line.split(",")[0] for line in table.splitlines()] == ["reviewer", *PEOPLE]
    turned = {name: column[::-1] for name, column in ROWS.items()}
    again = shared("again.csv", turned, people=PEOPLE[::-1])
    assert (again.how, again.statement) == ("stored", first.statement)
    assert Path("again.csv").read_text() == table
    assert shared().how == "stored"
    assert len([*shared_folder("key.bin").glob("*.sealed")]) == 1


@pytest.mark.usefixtures("folder")
def test_a_further_release_needs_a_reason_and_adds_up() -> None:
    assert shared().total == TotalLoss(1.0, 0.5)
    for name in ("C", "C under another name"):
        with pytest.raises(RefusedError, match=r"epsilon 1, zCDP 0.5 spent.*zCDP 2.5: give a `reason`"):
            shared("two.csv", limit=LossLimit(zcdp=2.0), conference=name)
    with pytest.raises(RefusedError, match="give a `reason`"):
        shared("two.csv", {**ROWS, "reviewer": ["ann", "eve", *ROWS["reviewer"][2:]]})
    assert not Path("two.csv").exists()
    second = shared("two.csv", limit=LossLimit(zcdp=2.0), reason="another list")
    assert second.total == TotalLoss(None, 2.5)
    assert second.statement["release"] == 2
    assert shared("three.csv", limit=LossLimit(epsilon=0.5), reason="x").total == TotalLoss(None, 2.625)


@pytest.mark.usefixtures("folder")
def test_public_numbers_do_not_depend_on_who_wrote_what() -> None:
    first = shared().statement
    changed = {**ROWS, "reviewer": ["cyd", "ann", "bob", "ann", "dan", "ann", "bob", "eve"]}
    second = shared("two.csv", changed, reason="x").statement
    for one in (first, second):
        for name in ("release", "total", "total_epsilon_at_delta_1e-6"):
            del one[name]
    assert first == second


@pytest.mark.usefixtures("folder")
def test_sums_are_of_the_listed_and_the_statement_is_enough_to_read_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(private_sharing, "add_noise", lambda sums, limit: sums)
    shared()
    found = read_shared_sums("out.csv")
    assert found.counts.tolist() == [3.0, 2.0, 2.0, 0.0]
    assert found.conference == "C"
    assert found.noise == pytest.approx(ONE.variance)
    assert found.sums[0] > found.sums[1] > found.sums[2]
    stated = json.loads(Path("out.csv.share.json").read_text())
    assert (stated["people"], stated["reviews"], stated["epsilon"]) == (4, 8, 1.0)


@pytest.mark.usefixtures("folder")
def test_nothing_is_overwritten_and_nothing_sealed_where_out_is_taken() -> None:
    for name in ("out.csv", "out.csv.share.json"):
        Path(name).write_text("mine")
        with pytest.raises(RefusedError, match="never overwritten"):
            shared()
        Path(name).unlink()
    assert not shared_folder("key.bin").exists()


@pytest.mark.usefixtures("folder")
def test_nothing_is_spent_where_out_cannot_be_written() -> None:
    Path("full.csv").mkdir()
    Path("file").write_text("")
    for out, error in (
        ("nowhere/out.csv", "nowhere must be a folder that exists"),
        ("file/out.csv", "file must be a folder that exists"),
        ("full.csv", "full.csv exists already"),
        ("", "a path must not be empty"),
    ):
        with pytest.raises((InputError, RefusedError), match=error):
            shared(out)
    assert not shared_folder("key.bin").exists()
    # Nor is anything else for what was shared before: it only says that it could not be written.
    shared()
    with pytest.raises(InputError, match="nowhere must be a folder that exists"):
        shared("nowhere/out.csv")
    assert len([*shared_folder("key.bin").glob("*.sealed")]) == 1


@pytest.mark.usefixtures("folder")
def test_what_was_shared_before_comes_with_what_is_spent_now() -> None:
    first = shared()
    stated = Path("out.csv.share.json").read_bytes()
    assert shared("two.csv", limit=LossLimit(epsilon=2.0), reason="again").total == TotalLoss(3.0, 2.5)
    again = shared("three.csv")
    assert (again.how, again.total) == ("stored", TotalLoss(3.0, 2.5))
    # What was published stays as it was.
    assert again.statement == first.statement
    assert Path("three.csv.share.json").read_bytes() == stated


@pytest.mark.usefixtures("folder")
def test_a_run_that_was_killed_after_sealing_publishes_the_same_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(private_sharing, "_write_release", killed)
        with pytest.raises(KeyboardInterrupt):
            shared()
    assert not Path("out.csv").exists()
    assert shared().how == "stored"
    assert Path("out.csv").exists()


@pytest.mark.usefixtures("folder")
def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="one conference at a time"):
        shared(rows={**ROWS, "conference": [*"aaaabbbb"]})
    for people in ((), ("*", "ann")):
        with pytest.raises(InputError, match="committee must list people"):
            shared(people=people)
    with pytest.raises(InputError, match="scores that differ"):
        shared(rows={**ROWS, "score": [3] * 8})
    for folder in ("key.bin.shared", "key.bin.sealed"):
        with pytest.raises(InputError, match="must not lie in a private log"):
            shared(f"{folder}/out.csv")
    with pytest.raises(InputError, match="high or low"):
        shared(better="up")


# --- The account of shared sums: sealed, chained, and by which reviews it adds up.


def footprint(
    score: np.ndarray, name: str = "x", paper: list[str] | None = None, who: list[str] | None = None
) -> Fingerprint:
    """Papers 0, 1, 2, ... with one review each by one person, unless others are given."""
    ids, people = paper or [str(i) for i in range(score.size)], who or ["a"] * score.size
    missing = np.full(score.size, np.nan)
    return fingerprint_of_past(PastConference(name, name, ids, people, score, missing, None, "high"))


def used(name: str, first: float) -> Fingerprint:
    """A conference of 40 papers with scores that nobody else's have."""
    return footprint(first + np.random.default_rng(int(10 * first)).random(40), name)


def entered(
    key: Path, name: str, limit: LossLimit = ONE, first: float = 1.0, stamp: str = "x"
) -> SharedRelease:
    return sealed(key, name, used(name, first), limit, stamp)


def sealed(
    key: Path, name: str, footprint: Fingerprint, limit: LossLimit = ONE, stamp: str = "x"
) -> SharedRelease:
    used_reviews = json.dumps(fingerprint_entry(footprint)).encode()
    parts = {"footprint": used_reviews, "table": b"t", "statement": b"s"}
    with open_account(key, read_key(key)) as account:
        return record_share(account, name, limit, stamp, "", parts)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key.bin")
    return tmp_path / "key.bin"


def test_entries_come_back_in_their_order(key: Path) -> None:
    assert read_account(key, read_key(key)).entries == ()
    assert not shared_folder(key).exists()
    one = entered(key, "A", stamp="x")
    two = entered(key, "B", LossLimit(zcdp=0.5), 2.0, stamp="y")
    assert read_account(key, read_key(key)).entries == (one, two)
    assert (one.table, one.statement, one.limit, one.input) == (b"t", b"s", ONE, "x")
    assert {path.stat().st_mode & 0o777 for path in shared_folder(key).glob("*.sealed")} == {0o600}


def test_a_key_under_another_name_has_no_second_account(key: Path) -> None:
    entered(key, "A")
    other = key.rename(key.with_name("chair.key"))
    with pytest.raises(RefusedError, match=r"key\.bin\.shared holds releases made with this key"):
        entered(other, "A")
    shared_folder(key).rename(shared_folder(other))
    assert len(read_account(other, read_key(other)).entries) == 1


def test_the_same_reviews_are_known_by_name_or_by_papers_and_scores(key: Path) -> None:
    entered(key, "A")
    entered(key, "B", LossLimit(epsilon=2.0), 2.0)
    account = read_account(key, read_key(key))
    assert account.spent_on("A", used("A", 3.0)) == [ONE]
    assert account.spent_on("C", used("C", 2.0)) == [LossLimit(epsilon=2.0)]
    assert account.spent_on("C", used("C", 3.0)) == []


def test_a_few_papers_or_a_score_changed_in_each_are_still_the_same_reviews(key: Path) -> None:
    """Three reviews a paper by 20 people."""
    paper = [str(one) for one in np.repeat(np.arange(60), 3)]
    people = np.random.default_rng(1).permuted(np.tile(np.arange(20), (60, 1)), axis=1)[:, :3]
    who = [f"r{one}" for one in people.ravel()]
    score = np.random.default_rng(2).integers(1, 6, 180).astype(float)
    changed = np.where(np.arange(180) % 3 == 0, 6.0 - score, score)
    sealed(key, "A", footprint(score, "x", paper, who))
    account = read_account(key, read_key(key))
    for again in (footprint(score[:18], "x", paper[:18], who[:18]), footprint(changed, "x", paper, who)):
        assert account.spent_on("B", again) == [ONE]
    other = np.random.default_rng(3).integers(1, 6, 180).astype(float)
    assert account.spent_on("B", footprint(other, "x", paper, who)) == []


def test_a_changed_missing_or_foreign_file_is_noticed(key: Path, tmp_path: Path) -> None:
    entered(key, "A")
    entered(key, "B", first=2.0)
    first, second = (shared_folder(key) / name for name in ("0001.sealed", "0002.sealed"))
    whole = first.read_bytes()
    for bad in (whole.replace(b'"epsilon": 1.0', b'"epsilon": 0.1'), whole[:-1], whole[:-1] + b"x"):
        first.write_bytes(bad)
        with pytest.raises(VerificationError):
            read_account(key, read_key(key))
    first.unlink()
    with pytest.raises(VerificationError, match="missing"):
        read_account(key, read_key(key))
    second.rename(first)
    with pytest.raises(VerificationError, match="does not follow"):
        read_account(key, read_key(key))
    first.write_bytes(whole)
    other = make_key(tmp_path / "other.bin")
    with pytest.raises(VerificationError, match="another key"):
        read_account(key, other)


def test_what_only_the_key_could_have_written_is_still_checked(key: Path) -> None:
    """Stamped records with a footprint of no reviews, and with two limits or none."""
    parts = {"footprint": b"{}", "table": b"t", "statement": b"s"}
    secret = read_key(key)
    with open_account(key, secret) as account, pytest.raises(VerificationError, match="was changed"):
        record_share(account, "A", ONE, "x", "", parts)
    with pytest.raises(VerificationError, match="was changed"):
        read_account(key, secret)


def test_two_runs_at_once_are_refused(key: Path) -> None:
    with open_account(key, read_key(key)), pytest.raises(RefusedError), open_account(key, read_key(key)):
        pass


# --- Points: from papers and scores alone; what a change of one author moves, by trying all of them.


PAPER = ("1", "1", "2", "2", "2", "3")
CODE = np.array([0, 0, 1, 1, 1, 2])
SCORE = np.array([7.0, 4.0, 3.0, 5.0, 3.0, 9.0])
AUTHORS = ("a", "b", "a", "b", "c", "c")


def past(authors: tuple[str, ...] = AUTHORS, better: str = "high") -> PastConference:
    missing = np.full(6, np.nan)
    return PastConference("A", "A", PAPER, authors, SCORE, missing, None, better, this_year=better)


def sums(past: PastConference) -> np.ndarray:
    return sums_of(points_of(past), past, ["a", "b", "c"])


def test_a_difference_is_the_score_less_what_the_others_let_expect() -> None:
    """By the covariance of the scores of one paper, written out, where all reviewers are alike."""
    z = (SCORE - SCORE.mean()) / SCORE.std()
    pairs = [(i, j) for i in range(6) for j in range(6) if i != j and CODE[i] == CODE[j]]
    part = np.mean([z[i] * z[j] for i, j in pairs])
    assert 0.05 < part < 0.95
    found = differences(SCORE, CODE)
    for i in range(6):
        others = [j for j in range(6) if j != i and CODE[j] == CODE[i]]
        covariance = np.full((len(others), len(others)), part) + (1 - part) * np.eye(len(others))
        expected = np.full(len(others), part) @ np.linalg.solve(covariance, z[others]) if others else 0.0
        assert found[i] == pytest.approx(z[i] - expected)


def test_points_split_a_review_by_its_difference() -> None:
    points, found = points_of(past()), differences(SCORE, CODE)
    assert (np.abs(points.above - 50 * (1 + np.clip(found, -1, 1))) <= 0.5 + 1e-9).all()
    counted = 2 * points.above / 100 - 1
    assert points.mean == pytest.approx(counted.mean())
    assert points.variance == pytest.approx(counted.var())
    assert points.gain == pytest.approx((np.abs(found) < 1).mean())


def test_low_scores_may_be_the_better_ones() -> None:
    above, below = sums(past())
    turned, rest = sums(past(better="low"))
    assert (np.abs(turned - below) <= 2).all()  # a point may go either way where it is split in halves
    assert (turned + rest == above + below).all()


def test_one_author_moves_one_reviews_points_and_nothing_else_whoever_wrote_the_rest() -> None:
    """All authors of six reviews among three people of the list and one who is not on it."""
    people, everyone = ["a", "b", "c"], "abcx"
    tables = {authors: sums(past(authors)) for authors in product(everyone, repeat=6)}
    largest, squares = 0, 0
    for authors, own in tables.items():
        for place, other in product(range(6), everyone):
            changed = own - tables[(*authors[:place], other, *authors[place + 1 :])]
            moved = int(np.abs(changed).sum())
            listed = (authors[place] in people) + (other in people)
            assert moved == (100 * listed if other != authors[place] else 0)
            largest, squares = max(largest, moved), max(squares, int((changed**2).sum()))
    assert largest == 200
    assert squares <= 20_000


@given(st.permutations(range(6)))
def test_the_order_of_rows_leaves_no_trace(order: list[int]) -> None:
    paper, authors = ([column[i] for i in order] for column in (PAPER, AUTHORS))
    mixed = replace(past(), paper=paper, reviewer=authors, score=SCORE[order])
    one, two = points_of(past()), points_of(mixed)
    assert (one.above[order] == two.above).all()
    assert (one.mean, one.gain, one.variance) == (two.mean, two.gain, two.variance)
    assert (sums(past()) == sums(mixed)).all()


def test_papers_of_one_review_each_are_compared_with_all() -> None:
    found = differences(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2]))
    assert found == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)])


# --- Limits of privacy loss against the exact probabilities of noise, and the bound against a known method.


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_discrete_laplace_noise_keeps_epsilon_for_every_split_of_a_review(epsilon: float) -> None:
    """The log probability of an output falls by |change| / scale: all points of a review leave a row and come
    to another."""
    scale = LossLimit(epsilon=epsilon).scale
    for above in range(101):
        for change in ((above, 100 - above, above, 100 - above), (above, 100 - above, 0, 0)):
            assert sum(change) / scale <= epsilon * (1 + 1e-12)
    seen = np.arange(-3000, 3001)
    log = -np.abs(seen) / scale
    assert np.abs(log[100:] - log[:-100]).max() <= 100 / scale + 1e-12


@pytest.mark.parametrize("rho", [0.1, 0.5, 4.0])
def test_discrete_gaussian_noise_keeps_zcdp(rho: float) -> None:
    """Renyi divergences by sums over the whole numbers, at several orders."""
    scale = LossLimit(zcdp=rho).scale
    for above, order in product((0, 37, 50, 100), (1.5, 2.0, 8.0)):
        total = sum(_renyi(change, scale, order) for change in (above, 100 - above) * 2)
        assert total <= order * rho * (1 + 1e-9)


def _renyi(change: int, scale: float, order: float) -> float:
    far = int(40 * scale * order) + 200
    seen = np.arange(-far, far + 1)
    one, other = -(seen**2) / (2 * scale**2), -((seen - change) ** 2) / (2 * scale**2)
    constant = np.log(np.exp(one).sum())
    log = order * one + (1 - order) * other - constant
    return float((np.log(np.exp(log - log.max()).sum()) + log.max()) / (order - 1))


@pytest.mark.parametrize("limit", [LossLimit(epsilon=0.5), LossLimit(epsilon=50.0), LossLimit(zcdp=2.0)])
def test_variance_of_the_noise(limit: LossLimit) -> None:
    far = int(60 * limit.scale)
    seen = np.arange(-far, far + 1, dtype=float)
    log = -np.abs(seen) / limit.scale if limit.pure else -(seen**2) / (2 * limit.scale**2)
    chance = np.exp(log) / np.exp(log).sum()
    assert limit.variance == pytest.approx(chance @ seen**2, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "zcdp"), [(None, None), (1.0, 1.0), (0.0, None), (float("nan"), None), (None, 1e3)]
)
def test_bad_limits_are_refused(epsilon: float | None, zcdp: float | None) -> None:
    with pytest.raises(InputError, match="`epsilon` or `zcdp`"):
        LossLimit(epsilon, zcdp)


def test_losses_add_up() -> None:
    assert compose([LossLimit(epsilon=0.5), LossLimit(epsilon=1.5)]) == TotalLoss(2.0, 1.25)
    mixed = compose([LossLimit(epsilon=2.0), LossLimit(zcdp=0.25)])
    assert mixed == TotalLoss(None, 2.25)
    # Bun and Steinke 2016: rho-zCDP is (rho + 2 sqrt(rho log 1/delta), delta)-differentially private.
    assert mixed.epsilon_at(1e-6) == pytest.approx(2.25 + 2 * np.sqrt(2.25 * np.log(1e6)))
    assert TotalLoss(0.5, 0.125).epsilon_at(1e-6) == 0.5


def test_the_bound_in_its_limits() -> None:
    for reviews in (1, 4, 20):
        free = 0.6 / (0.6 + reviews * 0.2)
        sds = np.sqrt(0.2), np.sqrt(0.6)
        assert unlearned(1e-6, reviews, *sds) == pytest.approx(1.0, abs=1e-6)
        assert unlearned(50.0, reviews, *sds) == pytest.approx(free)
    left = [unlearned(epsilon, 4, 0.4, 0.9) for epsilon in (0.05, 0.1, 0.2, 0.4, 0.8)]
    assert left == sorted(left, reverse=True)


def test_the_bound_for_one_review_is_an_integral_that_can_be_written_out() -> None:
    def inner(b: float) -> float:
        changed = 2 * norm.cdf(b / 0.9) - 1
        return float(b**2 * (1 - changed * np.tanh(0.3) ** 2) * 2 * norm.pdf(b, scale=0.4))

    # Gauss-Hermite on one side of a kink in |b|: a thousandth off.
    assert unlearned(0.3, 1, 0.4, 0.9) == pytest.approx(quad(inner, 0, 8)[0] / 0.4**2, rel=2e-3)


@pytest.mark.parametrize(("epsilon", "reviews"), [(0.2, 3), (0.5, 5), (1.0, 10), (4.0, 5)])
def test_no_method_does_better_than_the_bound_says(epsilon: float, reviews: int) -> None:
    """Signs of differences, summed, with Laplace noise: what is left after the best estimate, by integration.

    Exchanging a review changes two authors, so the sum of signs, which moves by 2, may use 2 epsilon."""
    offset_sd, review_sd = 0.4, 0.9
    b = np.linspace(-2, 2, 401)
    prior = norm.pdf(b, scale=offset_sd)
    prior /= prior.sum()
    up = norm.cdf(b / review_sd)
    sums = np.arange(-reviews, reviews + 1, 2)
    chance = np.array([_binomial(reviews, (s + reviews) // 2, up) for s in sums])
    seen = np.linspace(-60, 60, 4001)
    density = np.exp(-np.abs(seen[:, None] - sums) * epsilon)
    joint = density @ chance * prior
    estimate = joint @ b / joint.sum(axis=1)
    left = ((b - estimate[:, None]) ** 2 * joint).sum() / joint.sum()
    assert left / offset_sd**2 > unlearned(epsilon, reviews, offset_sd, review_sd)


def _binomial(n: int, k: int, p: np.ndarray) -> np.ndarray:
    from math import comb

    return np.asarray(comb(n, k) * p**k * (1 - p) ** (n - k))


# --- Noise by OpenDP: frequencies against the exact probabilities, false alarm 1e-6. It takes no seed.


@pytest.mark.edge
@pytest.mark.parametrize("limit", [LossLimit(epsilon=80.0), LossLimit(zcdp=100.0)])
def test_frequencies_of_the_noise(limit: LossLimit) -> None:
    pytest.importorskip("opendp")
    draws = count(40_000, 1_000_000)
    found = add_noise(np.full((2, draws // 2), 1000, dtype=np.int64), limit) - 1000
    assert found.shape == (2, draws // 2)
    seen = np.arange(-4000, 4001)
    log = -np.abs(seen) / limit.scale if limit.pure else -(seen**2) / (2 * limit.scale**2)
    chance = np.exp(log) / np.exp(log).sum()
    edges = range(-30, 31)
    for value in edges:
        assert within(int((found == value).sum()), draws, chance[value + 4000], 2 * len(edges))
        assert within(int((found <= value).sum()), draws, chance[: value + 4001].sum(), 2 * len(edges))
    half = found.reshape(2, -1)
    both = int(((half[0] > 0) & (half[1] > 0)).sum())
    assert within(both, draws // 2, chance[4001:].sum() ** 2)


@pytest.mark.edge
@pytest.mark.parametrize(
    "limit", [LossLimit(epsilon=0.3), LossLimit(zcdp=0.7), LossLimit(epsilon=7.7), LossLimit(zcdp=0.01)]
)
def test_opendp_agrees_with_the_loss_that_is_stated(limit: LossLimit) -> None:
    """It is refused otherwise."""
    pytest.importorskip("opendp")
    assert add_noise(np.zeros((2, 1), dtype=np.int64), limit).shape == (2, 1)


def test_without_opendp_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", MagicMock(side_effect=ImportError))
    with pytest.raises(InputError, match=r"sharing needs OpenDP: pip install 'blindcal\[share\]'"):
        add_noise(np.zeros((2, 1), dtype=np.int64), ONE)


def test_noise_beyond_the_limit_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    prelude = MagicMock()
    prelude.m.make_laplace.return_value.map.return_value = 1.5
    monkeypatch.setattr(importlib, "import_module", lambda name: prelude)
    with pytest.raises(InputError, match="OpenDP's own account"):
        add_noise(np.zeros((2, 1), dtype=np.int64), ONE)
    prelude.m.make_laplace.return_value.assert_not_called()
