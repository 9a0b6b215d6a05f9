"""What the finished runs of a plan say: pass rates, G over fixed functionalities, tests, and runs that went wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.behavior.generalization import compare_generalization, generalization_score
from rightreasons.behavior.learning.options import PARTITIONS
from rightreasons.behavior.learning.plan import NOT_ASKED, Plan, PlannedRun
from rightreasons.core.results import Result
from rightreasons.core.significance import mcnemar

SHUFFLE_SEED = 42
"""Seed of the randomization tests, as in the published analysis."""

ONE_ANSWER = 0.9
"""A model that gives one answer to more than this share of the independent items is degenerate."""

Stored = Mapping[str, Any]
"""The stored result of a run."""


@dataclasses.dataclass(frozen=True)
class PlanScores(Result):
    """The scores of one configuration, method and seed.

    Attributes:
        configuration: One of `CONFIGURATIONS`.
        method: One of `METHODS`.
        seed: Seed.
        iid_score: Accuracy on independent data, or exact match for reading, of the model that was trained on the whole
            suite (for IID, on none of it); None where that run is not finished.
        suite_scores: Setting -> mean pass rate over the plan's fixed functionalities, each scored by the run that held
            it out.
        scores: Setting -> G, the harmonic mean of `iid_score` and the suite score.
        average: Mean of the G scores of the four settings; None where one is missing.
        pass_rates: Setting -> functionality -> pass rate; None where the expectation applies to no case.
        differences: Setting -> G minus that of IID with the same seed.
        p_values: "iid" -> McNemar's mid-p test of `iid_score` against that of IID; setting -> approximate randomization
            of the difference of the G scores.
        n_runs: Finished runs.
        n_unchanged: Those of them with the outcome of IID, with the same seed, on every case and independent item:
            their training changed nothing.
        iid_f1: Token F1 on independent data, for reading; None for classes.
    """

    configuration: str
    method: str
    seed: int
    iid_score: float | None
    suite_scores: dict[str, float]
    scores: dict[str, float]
    average: float | None
    pass_rates: dict[str, dict[str, float | None]]
    differences: dict[str, float]
    p_values: dict[str, float]
    n_runs: int
    n_unchanged: int
    iid_f1: float | None = None


@dataclasses.dataclass(frozen=True)
class CollectedScores(Result):
    """The scores of the finished runs of a plan.

    Attributes:
        rows: One per configuration, method and seed, with the settings whose runs are all finished.
        degenerate: The runs whose models give nearly one answer to the independent data: what they are, the share of
            these items that they call class 0, their accuracy on them, and their mean confidence and mean pass rate on
            what was held out, or on the whole suite; None where nothing applies.
        functionalities: The fixed set of functionalities that every score is a mean of: those whose pass rate is
            defined in every finished setting of every row.
        n_functionalities: Number of functionalities of the suite.
        n_done: Finished runs.
        n_runs: Runs of the plan.
    """

    rows: list[PlanScores]
    degenerate: list[dict[str, Any]]
    functionalities: tuple[str, ...]
    n_functionalities: int
    n_done: int
    n_runs: int


def collect_scores(plan: Plan) -> CollectedScores:
    """Gather the finished runs into pass rates, G scores and their tests.

    In the settings "functionality", "class" and "type", each functionality is scored by the run that held it out of
    training. A setting appears when all of its runs are finished. As in the paper and its released code, the score on
    independent data of all four G's of a row is that of the model trained on the whole suite, and all rows and settings
    are means over one fixed set of functionalities. The test of a row is of the very difference that is printed.

    Args:
        plan: The plan; unfinished runs are left out.

    Returns:
        Pass rates and G scores by configuration, method and setting.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL,
        sections 3 to 5.
    """
    results = {result["key"]: result for result in plan.results()}
    groups: dict[tuple[str, str, int], list[PlannedRun]] = {}
    for run in plan.runs:
        groups.setdefault((run.configuration, run.method, run.seed), []).append(run)
    finished = [row for runs in groups.values() if (row := _Row(runs, results)).rates]
    tables = [rates for row in finished for rates in row.rates.values()]
    every = list(dict.fromkeys(name for rates in tables for name in rates))
    fixed = tuple(name for name in every if all(rates.get(name) is not None for rates in tables))
    baselines = {row.first.seed: row for row in finished if row.first.configuration == "IID"}
    places = _case_places(plan)
    rows = (
        [row.scored(fixed, baselines.get(row.first.seed), places) for row in finished]
        if fixed
        else []
    )
    return CollectedScores(
        rows=rows,
        degenerate=[
            _degenerate(run, results[run.key])
            for run in plan.runs
            if _gives_one_answer(results.get(run.key))
        ],
        functionalities=fixed,
        n_functionalities=len(every),
        n_done=len(results),
        n_runs=len(plan.runs),
    )


class _Row:
    """The finished runs of one configuration, method and seed."""

    def __init__(self, runs: Sequence[PlannedRun], results: Mapping[str, Stored]) -> None:
        self.first = runs[0]
        self.whole = next((results.get(run.key) for run in runs if run.partition == "seen"), None)
        self.finished = [results[run.key] for run in runs if run.key in results]
        # Setting -> functionality -> the result of the run that scores it.
        self.scorers: dict[str, dict[str, Stored]] = {}
        for name in PARTITIONS:
            members = [run for run in runs if run.partition == name]
            if members and all(run.key in results for run in members):
                self.scorers["standard" if self.first.configuration == "IID" else name] = {
                    functionality: results[run.key]
                    for run in members
                    for functionality in results[run.key]["pass_rates"]
                    if not run.held or functionality in run.held_out
                }
        self.rates: dict[str, dict[str, float | None]] = {
            setting: {name: result["pass_rates"][name] for name, result in scorers.items()}
            for setting, scorers in self.scorers.items()
        }

    def scored(
        self, fixed: Sequence[str], baseline: _Row | None, places: Mapping[str, slice]
    ) -> PlanScores:
        """Score the row over fixed functionalities, and compare it with the model of the independent data."""
        iid = None if self.whole is None else float(self.whole["iid_accuracy"])
        defined = {
            setting: [rates[name] for name in fixed] for setting, rates in self.rates.items()
        }
        score = generalization_score(defined, iid or 0.0)
        scores = {} if iid is None else score.scores
        four = [scores[setting] for setting in PARTITIONS if setting in scores]
        before = None if baseline in (None, self) else baseline.whole
        differences: dict[str, float] = {}
        p_values: dict[str, float] = {}
        if self.whole is not None and before is not None and places and "passed" in before:
            right = outcomes(self.whole["iid_right"]), outcomes(before["iid_right"])
            p_values["iid"] = mcnemar(right[0] == 1, right[1] == 1).p_value
            for setting, scorers in self.scorers.items():
                sides = [
                    (scorers[name]["passed"], before["passed"], places[name]) for name in fixed
                ]
                pairs = [
                    (outcomes(ours[place]), outcomes(theirs[place]))
                    for ours, theirs, place in sides
                ]
                test = compare_generalization(right, pairs, seed=SHUFFLE_SEED)
                differences[setting], p_values[setting] = test.difference, test.p_value
        return PlanScores(
            configuration=self.first.configuration,
            method=self.first.method,
            seed=self.first.seed,
            iid_score=iid,
            suite_scores=score.suite_scores,
            scores=scores,
            average=float(np.mean(four)) if len(four) == len(PARTITIONS) else None,
            pass_rates=self.rates,
            differences=differences,
            p_values=p_values,
            n_runs=len(self.finished),
            n_unchanged=sum(_has_same_outcomes(result, before) for result in self.finished),
            iid_f1=None if self.whole is None else self.whole.get("iid_f1"),
        )


def outcomes(letters: str) -> NDArray[np.float64]:
    """Read outcomes as a runner writes them: 1, 0, - for undefined, and . for a case that the run was not asked.

    Example:
        >>> outcomes("1-0.").tolist()
        [1.0, nan, 0.0, nan]
    """
    return np.array([float(letter) if letter in "01" else np.nan for letter in letters])


def _has_same_outcomes(result: Stored, before: Stored | None) -> bool:
    """Tell whether a model does as the one before on every case that it was asked, and every independent item."""
    if before is None or "passed" not in before or result["iid_right"] != before["iid_right"]:
        return False
    return all(
        now in (then, NOT_ASKED)
        for now, then in zip(result["passed"], before["passed"], strict=True)
    )


def _case_places(plan: Plan) -> dict[str, slice]:
    """Return the places of each functionality's test cases among the outcomes, in the suite's order."""
    counts = plan.settings.get("n_cases", [])
    ends = np.cumsum(counts, dtype=np.int64).tolist()
    names = (name for name, *_ in plan.settings.get("functionalities", []))
    return {name: slice(end - n, end) for name, n, end in zip(names, counts, ends, strict=True)}


def _gives_one_answer(result: Stored | None) -> bool:
    """Tell whether a model gives one answer: the paper finds one that was trained on INV and DIR tests alone."""
    called = None if result is None else result.get("iid_predicted_negative")
    return called is not None and not 1 - ONE_ANSWER <= called <= ONE_ANSWER


def _degenerate(run: PlannedRun, result: Stored) -> dict[str, Any]:
    known = [
        rate
        for name in run.held_out or result["pass_rates"]
        if (rate := result["pass_rates"][name]) is not None
    ]
    return {
        **{
            name: getattr(run, name)
            for name in ("configuration", "method", "seed", "partition", "held")
        },
        "called_class_0": result["iid_predicted_negative"],
        **{name: result[name] for name in ("iid_accuracy", "mean_confidence")},
        "pass_rate": float(np.mean(known)) if known else None,
    }
