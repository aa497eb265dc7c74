"""The fit: past reviews to each reviewer's slope, offset and noise, with their errors.

`fit` runs the sampler's chains (`gibbs`), moves the result to this year's scale and gathers its diagnostics;
`Fitted` keeps all of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.checks import check_type
from blindcal.compute.parallel import Progress, Workers, no_progress, parallel_map
from blindcal.errors import InputError, RefusedError
from blindcal.fitting.diagnostics import FitDiagnostics, diagnose, forecast_last_conference
from blindcal.fitting.direction import direction
from blindcal.fitting.gibbs import Moments, chain, parameters, pooled_moments
from blindcal.fitting.history import (
    DatedSums,
    History,
    PastConference,
    build_history,
    fingerprint_of_past,
    match_scale,
    past_conferences,
)
from blindcal.fitting.received_sums import SharedSums, rename_reviewers
from blindcal.fitting.value_of_history import ValueOfHistory, value_of_history
from blindcal.io.atomic_files import check_targets, write_bytes, write_json
from blindcal.io.cells import count, natural_sorted
from blindcal.io.tables import StrPath, data_frame, format_table
from blindcal.posterior.reuse_guard import (
    Fingerprint,
    fingerprint_record,
    fit_record_path,
    is_unchanged,
    table_digest,
)
from blindcal.reviewers.calibration import ANYONE, FIELDS, Scale, calibration_rows
from blindcal.reviews import Reviews, orient_reviewers, orient_reviews

SEED = 20250101  # the chains' own coins: the same data always give the same numbers
CHAINS = 2

# Sweeps of a chain: more for short histories, which are quick and leave more to chance.
_MAX_SWEEPS, _MIN_SWEEPS, _WORK = 900, 240, 24_000_000

# A slope is written as at least this share of the population's.
_MIN_SLOPE = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A calibration from past conferences. CONFIDENTIAL: any number about a reviewer reveals something.

    Attributes:
        roster: For each reviewer slope, offset, noise, slope_se, offset_se, correlation and noise_se
            (`FIELDS`) on this year's scale, and a row `*` for anybody else, which is `population`.
        reviews: How many past reviews each row rests on; for `*` all of them.
        scale: How rows were moved to this year's scale.
        checks: How far to believe all this.
        conferences: The names of the past ones, oldest first.
        shared: The names of those that are known only by what they shared.
        better: The better end of this year's scale, `high` or `low`.
        past_better: The better end of each past one, by name.
        reviews_per_paper: The past mean, rounded.
        footprints: Digests of the past reviews, by which a calibration of the reviews being decided is
            refused.
    """

    roster: Mapping[str, tuple[float, ...]]
    reviews: Mapping[str, int]
    scale: Scale
    checks: FitDiagnostics
    conferences: tuple[str, ...]
    shared: tuple[str, ...]
    better: str
    past_better: Mapping[str, str]
    reviews_per_paper: int
    footprints: tuple[Fingerprint, ...]

    def __repr__(self) -> str:
        people, past = count(len(self.roster) - 1, "reviewer"), count(self.reviews[ANYONE], "past review")
        return f"Fitted({people} from {past} of {count(len(self.conferences), 'conference')})"

    @property
    def population(self) -> tuple[float, ...]:
        return self.roster[ANYONE]

    def prospects(self, accept_rate: float = 0.25) -> ValueOfHistory:
        """What this history is worth to this committee, and what more would be worth (see `ValueOfHistory`).

        Args:
            accept_rate: The share of papers to accept.
        """
        rows = orient_reviewers(self.roster, self.better)
        people = [rows[name] for name in natural_sorted(rows) if name != ANYONE]
        return value_of_history(
            np.array(people).T,
            np.array(rows[ANYONE]),
            self.checks.persistence.value,
            accept_rate=accept_rate,
            reviews_per_paper=min(self.reviews_per_paper, len(people)),
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table as `write` writes it: `reviewer`, `FIELDS`, `reviews`."""
        names = natural_sorted(self.roster)
        values = zip(*(self.roster[name] for name in names), strict=True)
        table = dict(zip(FIELDS, map(list, values), strict=True))
        return {"reviewer": names, **table, "reviews": [self.reviews[name] for name in names]}

    def to_frame(self) -> Any:
        """The table as a pandas data frame; needs pandas."""
        return data_frame(self.columns())

    def write(self, path: StrPath, *, replace: bool = False) -> None:
        """Write the table and, beside it, what it was made from; both readable by their owner only.

        Args:
            path: The table; an existing file is never overwritten.
            replace: Whether what an earlier fit wrote there is replaced all the same, if nobody changed it.
        """
        check_fit_targets(path, replace=replace)
        table = format_table(self.columns())
        record = {
            **fingerprint_record(self.footprints),
            "conferences": self.conferences,
            "better": self.past_better,
            "shared": self.shared,
            "table": table_digest(table),
            "scale": self.scale,
            "checks": self.checks,
        }
        # A table must never be there without what it was made from.
        if replace:
            Path(path).unlink(missing_ok=True)
        write_json(fit_record_path(path), record, confidential=True, replace=replace)
        write_bytes(path, table, confidential=True)


def fit(
    reviews: Reviews | Mapping[str, Reviews | SharedSums],
    *,
    committee: Iterable[str] | None = None,
    this_year: Reviews | None = None,
    better: str = "high",
    past_better: Mapping[str, str] | None = None,
    same: Mapping[str, str] | None = None,
    scale: Scale | None = None,
    sweeps: int | None = None,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> Fitted:
    """Reviewers' slopes, offsets and noise from reviews of past conferences, and their uncertainty.

    Nobody's row depends on who wrote which review of this year: permuting its reviewers changes nothing.

    Args:
        reviews: One table, in which a column `conference` orders conferences by name; or tables by name,
            oldest first. What other conferences shared (`read_shared`) stands among them in its time, its
            noise counted as uncertainty.
        committee: Who gets a row, listed without looking at this year's reviews; by default everyone in the
            past.
        this_year: All of this year's scores, whose mean and spread set the scale; nothing else of them is
            read. By default the scale is that of the last past conference.
        better: The better end of this year's scale, `high` or `low`, and of past ones unless `past_better`
            says otherwise.
        past_better: The better end at past conferences, by name, if it was another, or if scores look
            mirrored and are not.
        same: The present ids of people who had others, by their old ids.
        scale: That of an earlier fit for the same reviews, to be kept in place of `this_year`: one corrected
            score then does not move every paper.
        sweeps: How long the sampler runs; by default long enough for the size of the history.
        workers: How many processes, or the pool that works instead of them; results are the same.
        progress: Called as work goes on; silent by default.

    Raises:
        InputError: If the past reviews cannot tell quality from noise, are on another scale, or look
            mirrored and `past_better` does not say that they are not.

    Example:
        >>> papers = [f"p{i}" for i in range(12) for _ in range(3)]
        >>> scores = [5.0 + i % 4 + j for i in range(12) for j in range(3)]
        >>> people = ["ada", "ben", "cleo"] * 12
        >>> past = Reviews.from_table({"paper": papers, "reviewer": people, "score": scores})
        >>> fitted = fit(past, sweeps=20)
        >>> sorted(fitted.roster)
        ['*', 'ada', 'ben', 'cleo']
        >>> fitted.roster["ada"][1] < fitted.roster["ben"][1] < fitted.roster["cleo"][1]    # offsets
        True
    """
    check_type("reviews", reviews, Reviews | Mapping, "what Reviews.read returns, or such tables by name")
    tables = {"past": reviews} if isinstance(reviews, Reviews) else reviews
    own = {name: table for name, table in tables.items() if isinstance(table, Reviews)}
    if not own:
        raise InputError("give at least one table of past reviews")
    pasts = past_conferences(own, better=better, past_better=past_better, same=same)
    turned = None if this_year is None else orient_reviews(this_year, better)
    asked = direction(pasts, past_better or (), turned).notes()
    shared = _dated_sums(tables, pasts, same or {})
    history = build_history(pasts, shared)
    # All but the last conference, to see how well the last one is predicted.
    before_last = [(before, sums) for before, sums in shared if before < len(pasts)]
    earlier = build_history(pasts[:-1], before_last) if len(pasts) > 1 else None
    chains, held_out = _run_chains(history, earlier, sweeps, workers, progress)
    moments = pooled_moments(chains)
    people = tuple(dict.fromkeys(history.reviewers if committee is None else committee))
    if ANYONE in people:
        raise InputError(f"committee must list people, found {ANYONE}, which the fit writes itself")
    if scale is not None and this_year is not None:
        raise InputError("give either this year's scores or the scale of an earlier fit, not both")
    rows, moved = _on_this_years_scale(history, moments, people, this_year, better, scale)
    forecast = None
    if earlier is not None and held_out is not None:
        forecast = forecast_last_conference(pasts[-1], earlier, held_out)
    counts = dict(zip(history.reviewers, history.per_reviewer().astype(int).tolist(), strict=True))
    return Fitted(
        roster=orient_reviewers(rows, better),
        reviews={**{name: counts.get(name, 0) for name in people}, ANYONE: len(history)},
        scale=moved,
        checks=diagnose(history, moments, chains, people, forecast, asked),
        conferences=history.conferences,
        shared=tuple(sums.conference for _, sums in shared),
        better=better,
        past_better={past.name: past.better for past in pasts},
        reviews_per_paper=max(1, round(len(history) / len(history.paper_conference))),
        footprints=tuple(map(fingerprint_of_past, pasts)),
    )


def _dated_sums(
    tables: Mapping[str, Reviews | SharedSums], pasts: Sequence[PastConference], same: Mapping[str, str]
) -> list[DatedSums]:
    """What was shared, each with the number of conferences of `pasts` that came before it."""
    dated = list[DatedSums]()
    before = 0
    for name, table in tables.items():
        if isinstance(table, SharedSums):
            dated.append((before, rename_reviewers(table, same)))
        else:
            before += sum(past.file == name for past in pasts)
    names = [sums.conference for _, sums in dated]
    if len(set(names)) < len(names) or set(names) & {past.name for past in pasts}:
        raise InputError("a conference must be given once: its reviews, or what it shared")
    return dated


def _run_chains(
    history: History, earlier: History | None, sweeps: int | None, workers: Workers, progress: Progress
) -> tuple[list[Moments], Moments | None]:
    """Chains on all conferences, and one on the earlier ones."""
    length = int(np.clip(_WORK // len(history), _MIN_SWEEPS, _MAX_SWEEPS)) if sweeps is None else sweeps
    jobs = [partial(chain, history, (SEED, number), length) for number in range(CHAINS)]
    if earlier is not None:
        # For one figure alone: a shorter chain will do.
        jobs.append(partial(chain, earlier, (SEED, CHAINS), length // 2))
    reviews = count(len(history), "past review")
    with progress(f"fitting {reviews}", len(jobs)) as advance:
        done = parallel_map(call, jobs, workers=workers, advance=advance)
    return done[:CHAINS], done[CHAINS] if earlier is not None else None


def _on_this_years_scale(
    history: History,
    moments: Moments,
    people: Sequence[str],
    this_year: Reviews | None,
    better: str,
    frozen: Scale | None,
) -> tuple[dict[str, tuple[float, ...]], Scale]:
    """Everybody's row on this year's scale, high scores better."""
    units = Scale(float(history.middle[-1]), float(history.width[-1]))
    index = {name: number for number, name in enumerate(history.reviewers)}
    anyone, known = parameters(moments.anyone), parameters(moments.reviewers)
    rows = np.stack(
        [known[:, index[name]] if name in index else anyone for name in people] + [anyone], axis=1
    )
    # A calibration needs slopes above 0.
    rows[0] = np.maximum(rows[0], _MIN_SLOPE * anyone[0])
    rows = units.moved(rows)
    # Without the last row, which is nobody.
    scale = frozen or Scale()
    if this_year is not None:
        scale = match_scale(rows[:, :-1], orient_reviews(this_year, better))
    return calibration_rows([*people, ANYONE], scale.moved(rows)), scale


def check_fit_targets(path: StrPath, *more: StrPath | None, replace: bool = False) -> None:
    """Refuse a `path` to which a fit cannot be written, with its record and the files `more`.

    With `replace`, what a fit wrote there and nobody changed since may be there (see `check_targets`).
    """
    if replace and is_unchanged(path):
        check_targets(*more)
        return
    existing = [name for name in (os.fspath(path), fit_record_path(path)) if os.path.lexists(name)]
    if replace and existing:
        raise RefusedError(
            f"{existing[0]} exists already and is never overwritten: it is not as `blindcal fit` wrote it. "
            f"To fit again, move {' and '.join(existing)} away"
        )
    check_targets(path, fit_record_path(path), *more)
