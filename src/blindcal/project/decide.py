"""The decisions of a conference's folder, and whether calibration is worth it there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Unpack

from blindcal.compute.parallel import Workers
from blindcal.deciding.decide import Outcome, decide
from blindcal.deciding.publish import release_folder
from blindcal.errors import BlindcalError
from blindcal.planning.conference_plan import Answer, answer
from blindcal.planning.level_menu import LevelAnswer, level_answer
from blindcal.posterior.this_year_inputs import ThisYearInputs
from blindcal.project.folder import Work, folder_inputs, key_of, read_folder_inputs, releases_of, settings_of
from blindcal.project.settings import Folder


def folder_answer(folder: Folder, *, seconds: float, workers: Workers = 1) -> Answer | LevelAnswer | None:
    """Whether calibration is worth it under the folder's guarantee, refined for some `seconds`.

    None if the folder is not ready for it.
    """
    try:
        request, inputs = settings_of(folder), read_folder_inputs(folder, folder.grid)
        if isinstance(inputs, ThisYearInputs):
            return level_answer(inputs, request)
        return answer(inputs, request, seconds=seconds, workers=workers)
    except BlindcalError:
        # What is missing or wrong is said by the command that needs it.
        return None


class FolderRelease(NamedTuple):
    """A release that was made in a folder: its `outcome`, and the public folder where it lies."""

    outcome: Outcome
    public: Path


def decide_folder(
    folder: Folder,
    *,
    key: Path | None = None,
    amend: bool = False,
    reason: str = "",
    published: Sequence[Path] = (),
    yes_leak: bool = False,
    despite_misfit: bool = False,
    **work: Unpack[Work],
) -> FolderRelease:
    """Decides every paper privately, once, as a folder's settings and `blindcal.decide` say.

    `despite_misfit`: whether to go on though the calibration does not fit the scores.
    """
    request = settings_of(folder, yes_leak=yes_leak)
    with folder_inputs(folder) as inputs:
        outcome = decide(
            inputs,
            request,
            key_of(folder, key),
            folder.required("out"),
            numbered=folder.numbered,
            published=[*published, *releases_of(folder)],
            amend=amend,
            reason=reason,
            yes_leak=yes_leak,
            despite_misfit=despite_misfit,
            distinct_papers=folder.settings.get("distinct-papers") is True,
            **work,
        )
    public = release_folder(folder.required("out"), outcome.record.release, folder.numbered)
    return FolderRelease(outcome, public)
