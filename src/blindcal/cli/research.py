"""`blindcal research`: two papers and two reviewers, simulations, and other venues.

`pair` and `average` say what calibrating two papers costs in privacy. The command `paper` has a
module of its own.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from blindcal.adversaries.findings import findings_of, posterior_table, read_venue
from blindcal.adversaries.single_paper import audit
from blindcal.benchmark import (
    INSTANCES,
    MECHANISMS,
    SEQUENCES,
    BenchmarkScore,
    Mechanism,
    SequentialMechanism,
    best_guesses,
    instance,
    is_sequence,
    load,
    measure,
)
from blindcal.checks import Array
from blindcal.cli.audit import Evidence, Priors, facts_of, say_findings
from blindcal.cli.console import emit_json, note, number, progress, say, table
from blindcal.cli.options import (
    ClusterAddress,
    Noise,
    Prior,
    Processes,
    Reviewers,
    argument,
    by_option,
    decimal,
    decimals,
    hired,
    numeric,
    option,
    probability,
    reviewer_pair,
    whole,
    word,
)
from blindcal.errors import InputError
from blindcal.io.atomic_files import check_targets, refuse_published, write_json, write_table
from blindcal.io.cells import count
from blindcal.policy.average_case import average_frontier
from blindcal.policy.pareto_frontier import Frontier, frontier
from blindcal.policy.policy import Policy, epsilon_policy
from blindcal.posterior.belief import Belief, pair_belief
from blindcal.posterior.loads import read_loads
from blindcal.project.settings import parse_grid
from blindcal.project.workflow import Adversaries, adversary_findings
from blindcal.reviews import BETTER
from blindcal.simulation.parameter_sweep import MEASURES, METHODS, Setting, Sweep, sweep, tasks_in
from blindcal.simulation.population import paper_population


def pair(
    reviewer: Reviewers,
    scores: str = option("The public scores of paper 1 and paper 2.", default=..., metavar="S1,S2"),
    noise: Noise = 0.0,
    prior: Prior = 0.5,
    max_error: float | None = numeric(
        probability, "Largest chance of accepting the worse paper that you allow; adds the best policy."
    ),
    epsilon: float | None = numeric(
        decimal, "Instead: add the best policy whose decision changes no one's odds by more than e^EPSILON."
    ),
) -> None:
    """Show the belief, the frontier and a policy for two papers and two reviewers.

    Each reviewer wrote one review. Assignment A1 is reviewer 1 on paper 1, A2 is reviewer 2 on paper 1. The
    conference error is the chance of accepting the worse paper; the adversary error is the chance that the
    adversary's best guess of the assignment is wrong.

    Example: blindcal research pair --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --scores 0.9,0.4
    """
    if max_error is not None and epsilon is not None:
        raise InputError("give either --max-error or --epsilon, not both")
    both = decimals("--scores", scores)
    if len(both) != 2:
        raise InputError(f"--scores {scores!r}: must be two numbers, found {len(both)}")
    belief = pair_belief(reviewer_pair(reviewer, noise), both, prior)
    front = frontier(belief)
    policy = None if epsilon is None else epsilon_policy(belief, epsilon)
    if max_error is not None:
        policy = front.policy(conference_error=max_error)
    emit_json(_pair_report(belief, front, policy))
    _print_pair(belief, front, policy)


def _pair_report(belief: Belief, front: Frontier, policy: Policy | None) -> dict[str, object]:
    report: dict[str, object] = {
        "weight": belief.weight,
        "favor": belief.favor,
        "frontier": {"conference_error": front.conference_error, "adversary_error": front.adversary_error},
    }
    if policy is not None:
        finding, q = audit(belief, policy), policy.calibrates(belief)
        report["policy"] = {
            "accept": policy.accept,
            "q": None if np.isnan(q).any() else q,
            "conference_error": policy.conference_error(belief),
            "adversary_error": float(1 - finding.success),
            "epsilon": finding.epsilon,
            "multiplier": finding.multiplier,
        }
    return report


def _print_pair(belief: Belief, front: Frontier, policy: Policy | None) -> None:
    rows: list[tuple[object, ...]] = [
        ("weight: what the scores alone say about the assignment", *belief.weight.tolist()),
        ("favor: chance that paper 1 is the better one", *belief.favor.tolist()),
        ("price: cost of deciding against that, per unit of weight", *np.abs(2 * belief.favor - 1).tolist()),
    ]
    if policy is not None:
        rows.append(("policy: chance of accepting paper 1", *policy.accept.tolist()))
    table(("", "A1", "A2"), rows)
    say()
    least, most = ((float(front.conference_error[k]), float(front.adversary_error[k])) for k in (0, -1))
    if least == most:
        say(f"One point: conference error {number(least[0])}, adversary error {number(least[1])}.")
        say("Deciding by the evidence adds nothing to what the scores reveal.")
    else:
        say(f"Frontier: conference error {number(least[0])} to {number(most[0])},")
        say(f"          adversary error  {number(least[1])} to {number(most[1])}.")
    if policy is not None:
        say()
        table(("policy", ""), _revealed(belief, policy))


def _revealed(belief: Belief, policy: Policy) -> list[tuple[str, float]]:
    finding = audit(belief, policy)
    return [
        ("conference error", float(policy.conference_error(belief))),
        # Rounded down, as the chance that the best guess is right is rounded up.
        ("adversary error", float(1 - finding.success)),
        ("adversary error from the scores alone", float(1 - finding.success_scores_only)),
        ("epsilon: odds change by at most e^", finding.epsilon),
        ("multiplier: a correct guess becomes at most this many times likelier", finding.multiplier),
        ("largest posterior after any decision", finding.largest_posterior),
    ]


# --- `blindcal research average`: two reviewers, all the scores they may give; the best trade on average


def average(
    reviewer: Reviewers,
    noise: Noise = 0.0,
    prior: Prior = 0.5,
    max_error: float | None = numeric(
        probability, "Largest average chance of accepting the worse paper that you allow; adds the best rule."
    ),
) -> None:
    """Show the errors of two papers, averaged over all possible scores.

    Two reviewers wrote one review each. The conference error is the chance of accepting the worse paper; the
    adversary error is the chance that the adversary's best guess of the assignment is wrong. The best rule
    trades error for privacy wherever the price of privacy is at most a threshold.

    Example: blindcal research average --reviewer 1.2,0.3 --reviewer 0.8,-0.3 --noise 0.5 --max-error 0.16
    """
    front = average_frontier(reviewer_pair(reviewer, noise), prior)
    rule = None if max_error is None else front.rule(conference_error=max_error)
    report = {name: getattr(front, name) for name in ("least_error", "largest_error")}
    report["adversary_error_at_largest"] = front.largest_adversary_error
    kept = ("price", "conference_error", "adversary_error")
    policy = {} if rule is None else {"policy": {name: getattr(rule, name) for name in kept}}
    emit_json(report | policy)
    if front.largest_error == front.least_error:
        say(f"One point: conference error {number(front.least_error)},")
        say(f"           adversary error  {number(front.largest_adversary_error)}.")
        say("Both assignments always favor the same paper: deciding by the evidence adds nothing.")
        return
    rows = [
        ("always by the evidence", front.least_error, front.least_adversary_error),
        ("beyond this, more error buys no privacy", front.largest_error, front.largest_adversary_error),
    ]
    if rule is not None:
        rows.append(("the best rule within the error allowed", rule.conference_error, rule.adversary_error))
    table(("average errors", "conference", "adversary"), rows)
    if rule is not None:
        say()
        share = f", {number(100 * rule.fraction, 1)} % of it where it is exactly that"
        tie = "" if rule.fraction >= 1.0 else share
        say(f"Rule: spend wherever the price of privacy is at most {number(rule.price)}{tie}.")


# --- `blindcal research simulate`: how much each way of calibrating helps, on simulated conferences

_METHODS = "raw,standardized,maximum_likelihood,posterior,hierarchical"
_OPTIONS = ("papers", "reviewers", "per_paper", "noise", "trials", "seed", "reading", "methods")
_READINGS = {
    "text": "noise is a variance, offsets have variance 0.5",
    "script": "noise is a standard deviation, offsets have standard deviation 0.5",
}


def simulate(
    papers: int = numeric(whole, "Papers in a conference.", default=100),
    reviewers: int = numeric(
        whole, "Reviewers in a conference, with loads as even as possible.", default=100
    ),
    per_paper: int = numeric(whole, "Reviews per paper.", default=3),
    noise: str = option("Noise levels, separated by commas.", default="0,0.25,0.5"),
    trials: int = numeric(whole, "Simulated conferences at each noise level.", default=100),
    seed: int = numeric(whole, "The same seed gives the same numbers.", default=1),
    reading: str = option(
        "text: noise values are variances and offsets have variance 0.5; script: they are standard "
        "deviations and offsets have standard deviation 0.5.",
        default="text",
    ),
    methods: str = option(f"One or more of {', '.join(METHODS)}, separated by commas.", default=_METHODS),
    processes: Processes = None,
    cluster: ClusterAddress = None,
    folder: Path | None = option("Keep finished parts here; the same command then resumes."),
    intervals: bool = option("Add standard errors to the JSON.", default=False),
) -> None:
    """Compare calibration methods on simulated conferences.

    Reviewers are miscalibrated: slopes are Exp(1), qualities N(0,1), assignments uniformly random.
    kendall_tau: share of pairs of papers in the wrong order. messy_middle: share of the papers around the cut
    (ranks 11-40 of 100) decided wrongly if the best quarter is accepted. Numbers do not depend on the number
    of workers.

    Example: blindcal research simulate --noise 0,0.25,0.5 --trials 100 --seed 1 --reading script
    """
    levels, names = _levels(noise), methods.split(",")
    work = f"simulating {count(trials * len(levels), 'conference')}"
    try:
        settings = [
            Setting(paper_population(level, reading), papers, reviewers, per_paper) for level in levels
        ]
        with hired(processes, cluster) as workers, progress(work, tasks_in(settings, trials)) as advance:
            result = sweep(
                settings, names, trials=trials, seed=seed, workers=workers, folder=folder, progress=advance
            )
    except InputError as error:
        raise InputError(by_option(str(error), _OPTIONS)) from None
    errors = {"standard_errors": _by_method(result, result.standard_error)} if intervals else {}
    emit_json({"noise": levels, "methods": _by_method(result, result.mean), **errors})
    size = f"{papers} papers, {reviewers} reviewers, {per_paper} reviews per paper"
    say(f"{trials} conferences per line: {size}")
    say(f"{_READINGS[reading]}; standard errors after +-")
    mean, spread = result.mean, result.standard_error
    rows = [
        (f"{level:g}", method, *(_cell(mean[n, m, k], spread[n, m, k]) for k in range(len(MEASURES))))
        for n, level in enumerate(levels)
        for m, method in enumerate(result.methods)
    ]
    table(["noise", "method", *MEASURES], rows)


def _levels(text: str) -> list[float]:
    try:
        levels = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--noise must be numbers separated by commas, found {text!r}") from None
    if len(set(levels)) < len(levels):
        raise InputError(f"--noise must list each level once, found {text!r}")
    return levels


def _by_method(result: Sweep, value: Array) -> dict[str, dict[str, list[float]]]:
    """`value[setting, method, measure]` under the names of the methods and measures."""
    return {
        method: {measure: value[:, m, k].tolist() for k, measure in enumerate(MEASURES)}
        for m, method in enumerate(result.methods)
    }


def _cell(mean: float, error: float) -> str:
    return number(mean, 3) + ("" if np.isnan(error) else f" +-{number(error, 3)}")


# --- `blindcal research audit-venue`: what the decisions of a venue reveal that decided by calibrated scores

_FULL = ("full",)


def audit_venue(
    decisions: Path = argument("What the venue decided: columns paper, decision (accept or reject)."),
    scores: Path = option(
        "The scores it published: columns paper, score; one row per review, in any order.", default=...
    ),
    reviewers: Path = option(
        "The calibrations it used: columns reviewer, slope, offset, noise, as for plan.", default=...
    ),
    pools: Path = option(
        "Who may have reviewed each paper: columns paper, reviewer, optionally probability. Or sampled "
        "assignments: draw, paper, reviewer. Or conflicts, if everyone else is a candidate: paper, conflict. "
        "Or the word everyone.",
        default=...,
    ),
    bar: float | None = numeric(decimal, "The acceptance bar, as a quality (N(0,1) over papers)."),
    grid: str | None = option(
        "The scores reviewers can give: 1..10, or a list such as 1,3,5, or none if any number can be given. "
        "Unless given, they are recognized in the scores."
    ),
    better: str = word(
        BETTER, "Which scores are better, high or low; public data cannot show it.", default="high"
    ),
    prior: Priors = None,
    evidence: Evidence = None,
    loads: Path | None = option(
        "Also an adversary who knows everyone's review load: columns reviewer, load."
    ),
    processes: Processes = None,
    posterior: Path | None = option(
        "Also write how likely each candidate wrote each review, to a table that only its owner can read. It "
        "names people: keep it confidential."
    ),
    out: Path | None = option("Also write everything as JSON to this file, which only its owner can read."),
) -> None:
    """Say what the decisions of a venue without protection reveal.

    The venue decided by calibrated scores. The command needs only what such a venue may have published:
    decisions, scores and a table of calibrations, but no key and no true reviewers. It assumes that a paper
    was accepted if its calibrated reviewers say that it is more likely above the bar than below. Without
    --bar, the bar is the one at which as many papers are accepted on average as were.

    Example: blindcal research audit-venue decisions.csv --scores scores.csv --reviewers reviewers.csv --pools
    pools.csv
    """
    check_targets(out, posterior)
    for file in (out, posterior):
        if file is not None:
            refuse_published(file)
    venue = read_venue(decisions, scores, reviewers, pools, bar=bar, grid=parse_grid(grid), better=better)
    views = venue.views
    known = None if loads is None else read_loads(loads)
    given = Adversaries(prior or (), evidence or ())
    with hired(processes, None) as workers:
        findings = adversary_findings(
            views, given, known, _FULL, outside=True, workers=workers, progress=progress
        )
    summary = findings_of(views, _FULL, better=better)
    summary = replace(summary, findings=(*summary.findings, *findings))
    facts = facts_of(
        summary,
        bar=venue.bar,
        accepted=venue.accepted,
        better=better,
        unexplained=len(venue.unexplained),
        confidential=True,
        notes=[],
    )
    if out is not None:
        write_json(out, facts, confidential=True)
    if posterior is not None:
        write_table(posterior, posterior_table(views, better=better), confidential=True)
    if venue.unexplained:
        note(
            f"for {count(len(venue.unexplained), 'paper')} no candidates lead to the decision that was "
            "published, which then says nothing: are bar, calibration and pools those of the venue?"
        )
    emit_json(facts)
    say(f"{count(venue.accepted, 'paper')} accepted; taken to be decided at a bar of {number(venue.bar, 3)}")
    say_findings(summary)
    for file in (out, posterior):
        if file is not None:
            say(f"wrote {file} (CONFIDENTIAL, never share)")


# --- `blindcal research bench`: where a mechanism lies against the frontier, and beside ours

_HEADINGS = ("mechanism", "wrong", "wasted", "added", "hinted", "coupled", "wrong then", "rise", "epsilon")


def bench(
    mechanism: str | None = argument(
        "A function from a belief to a policy, or from an instance and the decisions so far to the next "
        "paper and its policy, in a module of this folder or of Python; none: ours.",
        metavar="[MODULE:FUNCTION]",
        default=None,
    ),
    only: str | None = option(
        f"One instance: {'; '.join(INSTANCES)}; or MODULE:FUNCTION, which makes one.", metavar="INSTANCE"
    ),
    adversary: str | None = option(
        "Who sees all decisions, in place of the one who knows the matching: a function of an instance and "
        "the chances of all decisions under each matching.",
        metavar="MODULE:FUNCTION",
    ),
) -> None:
    """Measure a mechanism on fixed instances, beside ours.

    Instances are two reviewers, papers with pools, matchings and a conference. wrong: share of wrong
    decisions, in percent; wasted: how much of it another policy would save while revealing as much. added:
    percentage points by which naming a reviewer became likelier; hinted: the same for an adversary with a
    hint; coupled: the same for an adversary who knows that a matching couples the papers and sees all
    decisions; wrong then: wrong decisions for someone who knows the matching. rise: the most by which one
    outcome raised a best guess; all decisions together, if they are a sequence. epsilon: that of the worst
    paper.

    The module is imported, so run this on code that you trust.

    Example: blindcal research bench my_module:policy --only "papers, pools of 4"
    """
    chosen = [instance(score) for score in ((only,) if only is not None else INSTANCES)]
    mechanisms: dict[str, Mechanism | SequentialMechanism] = {**MECHANISMS, **SEQUENCES}
    if mechanism is not None:
        mechanisms = {mechanism: load(mechanism), **mechanisms}
    guesses = best_guesses if adversary is None else load(adversary)
    with progress("measuring mechanisms", len(chosen) * len(mechanisms)) as advance:
        scores = []
        for benchmark_instance in chosen:
            for name, function in mechanisms.items():
                if benchmark_instance.assignments is not None or not is_sequence(function):
                    scores.append(measure(function, name, benchmark_instance, guesses))
                advance(1)
    more = [asdict(score) | {"added": score.added, "wasted": score.wasted} for score in scores]
    emit_json({"scores": more})
    for benchmark_instance in chosen:
        mine = [score for score in scores if score.instance == benchmark_instance.name]
        before = number(100 * mine[0].scores_only, 1)
        say(f"{benchmark_instance.name}: a reviewer is named from the scores alone with {before} %")
        if (known := mine[0].coupled_before) == known:
            say(f"who knows the matching is right with {number(100 * known, 1)} % from the scores alone")
        table(_HEADINGS, [_row(score) for score in mine])
        say()


def _row(score: BenchmarkScore) -> tuple[str, ...]:
    percents = (score.error, score.wasted, score.added, score.hinted, score.coupled, score.coupled_error)
    shown = ["-" if value != value else number(100 * max(value, 0.0), 2) for value in percents]
    return (score.mechanism, *shown, number(score.rise, 3), number(score.epsilon, 2))
