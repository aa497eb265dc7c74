"""Steps on a folder: what it holds, what it lacks, and settings that come back as they were chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.app.steps import open_folder, published, requested
from blindcal.errors import InputError
from blindcal.planning.guarantee_menu import MENU
from blindcal.policy.guarantee import Guarantee
from blindcal.project.settings import folder_request, guarantee_settings, read_folder
from blindcal.project.template import conference_text, with_settings

pytestmark = pytest.mark.edge

BASE = {"conference": "icx", "key": "../k", "out": "public", "reviews": "r", "reviewers": "s"}
BASE["scores"] = "public"


@pytest.mark.parametrize("guarantee", [one for one in MENU if one.name != "none"], ids=str)
def test_every_guarantee_of_the_menu_can_be_written_and_read(guarantee: Guarantee, tmp_path: Path) -> None:
    text = conference_text({**BASE, "pools": "everyone", "epsilon": 2.0, "accept-rate": 0.3})
    (tmp_path / "conference.toml").write_text(with_settings(text, guarantee_settings(guarantee)))
    assert folder_request(read_folder(tmp_path)).request.guarantee == guarantee


def test_a_folder_that_leaves_something_open_says_what(tmp_path: Path) -> None:
    (tmp_path / "conference.toml").write_text(conference_text({**BASE, "pools": "everyone"}))
    wanted, unset = requested(read_folder(tmp_path))
    assert wanted is None
    assert "accept_rate" in str(unset)


def test_nothing_is_published_before_both_files_are_there(tmp_path: Path) -> None:
    (tmp_path / "conference.toml").write_text(conference_text({**BASE, "pools": "everyone"}))
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "decisions.csv").write_text("paper,decision,raw_decision,advice\n")
    assert published(read_folder(tmp_path)) is None


def test_a_folder_without_reviews_is_not_opened(tmp_path: Path) -> None:
    base = {name: value for name, value in BASE.items() if name != "reviews"}
    (tmp_path / "conference.toml").write_text(conference_text({**base, "pools": "everyone"}))
    with pytest.raises(InputError, match="must set reviews"):
        open_folder(tmp_path, None)
