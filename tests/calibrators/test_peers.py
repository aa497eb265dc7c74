"""Agreement with independent implementations: statsmodels, RaschPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("statsmodels")
pytest.importorskip("raschpy")
import pandas as pd
import statsmodels.api as sm
from raschpy import MFRM

import blindcal as bc
from blindcal.calibrators import offsets

pytestmark = pytest.mark.edge


def crossed(seed: int, papers: int, reviewers: int, per_paper: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    chosen = np.argsort(rng.random((papers, reviewers)), axis=1)[:, :per_paper]
    effect = 1.2 * rng.standard_normal(papers)[:, None] + 0.8 * rng.standard_normal(reviewers)[chosen]
    return pd.DataFrame(
        {
            "paper": np.repeat([f"p{i:03d}" for i in range(papers)], per_paper),
            "reviewer": [f"r{j:02d}" for j in chosen.ravel()],
            "score": (6 + effect + 0.7 * rng.standard_normal(chosen.shape)).ravel(),
        }
    )


def test_offsets_agrees_with_a_mixed_model_library() -> None:
    """Restricted maximum likelihood with crossed effects: modes, up to 0.21 of the posterior's spread from
    our medians; predicted effects differ by 0.004 at the most."""
    table = crossed(1, papers=70, reviewers=25, per_paper=4)
    parts = {"paper": "0 + C(paper)", "reviewer": "0 + C(reviewer)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library warns of its own optimizer's last step
        model = sm.MixedLM.from_formula("score ~ 1", table, groups=np.ones(len(table)), vc_formula=parts)
        peer = model.fit(reml=True)
    variances = {**dict(zip(model.exog_vc.names, peer.vcomp, strict=True)), "residual": peer.scale}
    result = offsets(bc.Reviews.from_table(table))
    spreads = result.fit.spreads
    for draws, name in (
        (spreads.quality, "paper"),
        (spreads.offset, "reviewer"),
        (spreads.noise, "residual"),
    ):
        assert abs(np.median(draws) - np.sqrt(variances[name])) < 0.3 * draws.std(), name
    effects = peer.random_effects[1.0]
    ours = dict(zip(result.reviews.papers, result.quality * np.median(spreads.quality), strict=True))
    theirs = {name.split("[")[-1].rstrip("]"): value for name, value in effects.items() if "C(paper)" in name}
    pairs = np.array([(ours[name], theirs[name]) for name in ours])
    assert np.corrcoef(pairs.T)[0, 1] > 0.9999
    assert np.abs(pairs[:, 0] - pairs[:, 1]).max() < 0.02


def test_offsets_agrees_with_many_facet_rasch_on_severity() -> None:
    """Scores 0..8, six judges, a fifth of the scores missing: the same judges are severe."""
    rng = np.random.default_rng(5)
    quality, leniency = rng.standard_normal(80), rng.normal(0, 0.7, 6)
    exact = 4 + 1.3 * quality + leniency[:, None] + 0.7 * rng.standard_normal((6, 80))
    index = pd.MultiIndex.from_product(
        [[f"r{j}" for j in range(6)], [f"p{i:02d}" for i in range(80)]], names=["Rater", "Person"]
    )
    table = pd.DataFrame({"score": np.clip(np.rint(exact), 0, 8).ravel()}, index=index)
    table = table[rng.random(480) < 0.8]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = MFRM(table, max_score=8)
        peer.calibrate_global()
    flat = table.reset_index().rename(columns={"Person": "paper", "Rater": "reviewer"})
    result = offsets(bc.Reviews.from_table(flat))
    severity = peer.raters_global.loc[list(result.reviews.reviewers)].to_numpy()
    assert np.corrcoef(severity, -result.fitted.offset)[0, 1] > 0.99
    assert (np.argsort(severity) == np.argsort(-result.fitted.offset)).all()
