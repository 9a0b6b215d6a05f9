"""Scores of the finished runs of a plan: pass rates, G over fixed functionalities, and tests.

`collect_scores` is the entry point. It also lists models that give one answer to everything, and
refuses methods that trained exactly as another one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.behavior.generalization import (
    GeneralizationPair,
    NegativeTransfer,
    compare_average_generalization,
    compare_generalization,
    find_negative_transfer,
    generalization_score,
)
from rightreasons.behavior.learning.options import PARTITIONS
from rightreasons.behavior.learning.plan import NOT_ASKED, Plan, PlannedRun
from rightreasons.core.results import Result
from rightreasons.core.significance import mcnemar

SHUFFLE_SEED = 42
"""Seed of the randomization tests, as in the published analysis."""

MAX_SHARE_OF_ONE_ANSWER = 0.9
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
        iid_score: Accuracy on independent data, or exact match for reading, of the model that was
            trained on the whole suite (for IID, on none of it); None if that run is not finished.
        suite_scores: Mean pass rate over the plan's fixed functionalities by setting, each scored by
            the run that held it out.
        scores: G by setting, the harmonic mean of `iid_score` and the suite score.
        average: Mean of the G scores of the four settings; None if one is missing.
        pass_rates: Pass rate by setting and functionality; None if the expectation applies to no
            case.
        differences: G minus that of IID with the same seed, by setting.
        p_values: "iid": McNemar's mid-p test of `iid_score` against that of IID. Each setting:
            approximate randomization of the difference of the G scores.
        n_runs: Number of finished runs.
        n_unchanged: Number of them with the same outcome as IID, with the same seed, on every case
            and independent item: their training changed no prediction.
        iid_f1: Token F1 on independent data, for reading; None for classes.
        negative_transfer: Held-out functionalities on which the training on the others made the
            model significantly worse than IID with the same seed.
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
    negative_transfer: list[NegativeTransfer] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class CollectedScores(Result):
    """The scores of the finished runs of a plan.

    Attributes:
        rows: One per configuration, method and seed, with the settings whose runs are all finished.
        degenerate: Runs whose models give nearly one answer to the independent data: their
            configuration, the share of these items that they call class 0, their accuracy on them,
            and their mean confidence and mean pass rate on the held-out functionalities, or on the whole
            suite; None if no expectation applies.
        functionalities: Fixed set of functionalities of which every score is a mean: those whose
            pass rate is defined in every finished setting of every row.
        n_functionalities: Number of functionalities of the suite.
        n_done: Number of finished runs.
        n_runs: Number of runs of the plan.
    """

    rows: list[PlanScores]
    degenerate: list[dict[str, Any]]
    functionalities: tuple[str, ...]
    n_functionalities: int
    n_done: int
    n_runs: int


def collect_scores(plan: Plan) -> CollectedScores:
    """Compute pass rates, G scores and their tests from the finished runs of a plan.

    In the settings "functionality", "class" and "type", the pass rate of a functionality is that of
    the run that held it out of training. A setting is included when all of its runs are finished. As
    in the paper and its released code, all four G scores of a row use the accuracy on independent data
    of the model that was trained on the whole suite, and all pass rates are averaged over the same
    functionalities. The tests are about the differences in the result.

    Args:
        plan: The plan; unfinished runs are left out.

    Returns:
        Pass rates and G scores by configuration, method and setting.

    Raises:
        ValueError: If all runs of a method kept their initial weights, or ended with the same weights
            as those of another method.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
        Learning", TACL, sections 3 to 5.
    """
    results = _get_results(plan)
    rows = _gather_rows(plan, results)
    names, fixed_names = _select_functionalities(rows)
    # Rows can be compared only if they have a functionality in common.
    scored_rows = []
    if fixed_names:
        scored_rows = _score_rows(rows, fixed_names, _find_case_ranges(plan))
    degenerate = []
    for run in plan.runs:
        if run.key in results and _gives_one_answer(results[run.key]):
            degenerate.append(_describe_degenerate(run, results[run.key]))
    return CollectedScores(
        rows=scored_rows,
        degenerate=degenerate,
        functionalities=fixed_names,
        n_functionalities=len(names),
        n_done=len(results),
        n_runs=len(plan.runs),
    )


@dataclasses.dataclass(frozen=True)
class AverageScore(Result):
    """The mean G of a configuration and method over tasks and seeds, next to that of IID.

    Attributes:
        configuration: One of `CONFIGURATIONS`.
        method: One of `METHODS`.
        n_tasks: Number of tasks.
        n_seeds: Number of seeds, in all tasks together.
        average: Mean G over the four settings, the seeds, and then the tasks: "Avg" of the paper's
            Table 3.
        difference: Difference to the mean G of IID with the same seeds.
        p_value: Approximate randomization of the difference (`compare_average_generalization`).
    """

    configuration: str
    method: str
    n_tasks: int
    n_seeds: int
    average: float
    difference: float
    p_value: float


def compare_averages(plans: Sequence[Plan]) -> list[AverageScore]:
    """Compare the mean G of each configuration and method with that of IID, over tasks and seeds.

    A seed counts if all four of its settings are finished, and IID with the same seed. Each plan is
    a task.

    Args:
        plans: One plan per task.

    Returns:
        One row per configuration and method that has a finished seed in every plan.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
        Learning", TACL, Table 3 (column Avg); Yeh (2000) for the test.
    """
    # For each configuration and method: outcomes paired with those of IID, and the mean G of each
    # seed by task. Two plans may have suites of the same name, so that a task is named by the number
    # of its plan.
    pairs_by_group: dict[tuple[str, str], list[GeneralizationPair]] = {}
    averages_by_group: dict[tuple[str, str], dict[str, list[float]]] = {}
    for number, plan in enumerate(plans):
        task = str(number)
        for row, pairs, average in _pair_complete_rows(plan, task):
            group = (row.run.configuration, row.run.method)
            pairs_by_group.setdefault(group, []).extend(pairs)
            averages_by_task = averages_by_group.setdefault(group, {})
            averages_by_task.setdefault(task, []).append(average)

    scores = []
    for (configuration, method), averages_by_task in averages_by_group.items():
        # A mean over some of the tasks cannot be compared with a mean over all.
        if len(averages_by_task) < len(plans):
            continue
        pairs = pairs_by_group[configuration, method]
        test = compare_average_generalization(pairs, seed=SHUFFLE_SEED)
        # All tasks weigh the same, even if some have fewer finished seeds.
        task_means = [float(np.mean(averages)) for averages in averages_by_task.values()]
        scores.append(
            AverageScore(
                configuration=configuration,
                method=method,
                n_tasks=len(averages_by_task),
                n_seeds=sum(map(len, averages_by_task.values())),
                average=float(np.mean(task_means)),
                difference=test.difference,
                p_value=test.p_value,
            )
        )
    return scores


def _pair_complete_rows(
    plan: Plan, task: str
) -> Iterator[tuple[_Row, list[GeneralizationPair], float]]:
    """Yield the rows of a plan whose runs are finished in all four settings, paired with IID.

    A row is a configuration, method and seed. It is left out if IID is not finished for its seed.

    Args:
        plan: The plan.
        task: Name of the task, which is stored in the pairs.

    Yields:
        The row; for each setting, its outcomes paired with those of IID; and its mean G over the
        settings.
    """
    rows = _gather_rows(plan, _get_results(plan))
    _, names = _select_functionalities(rows)
    ranges = _find_case_ranges(plan)
    # Plans of earlier versions have no outcomes of single cases.
    if not names or not ranges:
        return
    baselines = _find_baselines(rows)
    for row in rows:
        baseline = baselines.get(row.run.seed)
        if baseline is None or baseline.whole_suite_result is None:
            # IID is not finished for this seed.
            continue
        if baseline is row:
            # IID is not compared with itself.
            continue
        average = row.score(names, None, ranges).average
        if average is not None and "passed" in baseline.whole_suite_result:
            pairs = row.make_pairs(baseline.whole_suite_result, names, ranges, task)
            yield row, list(pairs.values()), average


def _get_results(plan: Plan) -> dict[str, Stored]:
    """Return the results of the finished runs of a plan by the key of the run."""
    results: dict[str, Stored] = {}
    for result in plan.results():
        results[result["key"]] = result
    return results


def _gather_rows(plan: Plan, results: Mapping[str, Stored]) -> list[_Row]:
    """Group the runs of a plan by configuration, method and seed.

    Args:
        plan: The plan.
        results: Key of a finished run -> its stored result.

    Returns:
        One row per group with at least one setting whose runs are all finished.

    Raises:
        ValueError: If two methods ended with the same weights.
    """
    runs_by_row: dict[tuple[str, str, int], list[PlannedRun]] = {}
    for run in plan.runs:
        runs_by_row.setdefault((run.configuration, run.method, run.seed), []).append(run)
    _check_methods_differ(runs_by_row, results)

    rows = []
    for runs in runs_by_row.values():
        row = _Row(runs, results)
        # A row has rates only for settings whose runs are all finished.
        if row.rates:
            rows.append(row)
    return rows


def _check_methods_differ(
    runs_by_row: Mapping[tuple[str, str, int], Sequence[PlannedRun]],
    results: Mapping[str, Stored],
) -> None:
    """Check that all methods trained a model, and that no two methods trained the same one.

    Args:
        runs_by_row: (configuration, method, seed) -> its runs.
        results: Key of a finished run -> its stored result. `weights` and `initial_weights` are digests
            of the weights after and before the training.

    Raises:
        ValueError: If all runs of a method kept their initial weights, or ended with the same weights
            as those of another method.
    """
    # (configuration, seed) -> method -> digest of the weights of each run; None if it is not finished.
    digests_by_group: dict[tuple[str, int], dict[str, tuple[str | None, ...]]] = {}
    for (configuration, method, seed), runs in runs_by_row.items():
        if configuration == "IID":
            continue
        finished = [results[run.key] for run in runs if run.key in results]
        # Results of earlier versions have no digests of weights.
        if not finished or "weights" not in finished[0]:
            continue
        is_untrained = [result["weights"] == result["initial_weights"] for result in finished]
        if all(is_untrained):
            raise ValueError(
                f"Expected the method {method!r} to change weights, but all weights are unchanged "
                f"after {configuration} with seed {seed}."
            )
        digests = _list_weight_digests(runs, results)
        digests_by_method = digests_by_group.setdefault((configuration, seed), {})
        for partner, partner_digests in digests_by_method.items():
            if digests == partner_digests:
                raise ValueError(
                    f"Expected the methods {partner!r} and {method!r} to train differently, but "
                    f"all runs of {configuration} with seed {seed} ended with the same weights. "
                    "Remove one method from the plan."
                )
        digests_by_method[method] = digests


def _list_weight_digests(
    runs: Sequence[PlannedRun], results: Mapping[str, Stored]
) -> tuple[str | None, ...]:
    """Return the digest of the trained weights of each run; None for a run that is not finished.

    Args:
        runs: Runs of one configuration, method and seed.
        results: Key of a finished run -> its stored result, with the digest of the trained weights.
    """
    digests: list[str | None] = []
    for run in runs:
        digest = None
        if run.key in results:
            digest = results[run.key]["weights"]
        digests.append(digest)
    return tuple(digests)


def _select_functionalities(rows: Sequence[_Row]) -> tuple[list[str], tuple[str, ...]]:
    """Select the functionalities over which rows can be compared.

    Args:
        rows: Rows, whose `rates` are pass rates by setting and functionality; None if undefined.

    Returns:
        The names of all functionalities, and of those whose pass rate is defined in every setting of
        every row. Both are in the order of the suite.
    """
    # Functionality -> its pass rate, for each setting of each row.
    tables: list[Mapping[str, float | None]] = []
    for row in rows:
        tables.extend(row.rates.values())
    # A dictionary keeps the order of the suite, which a set would lose.
    names: dict[str, None] = {}
    for rates in tables:
        names.update(dict.fromkeys(rates))
    fixed_names = []
    for name in names:
        is_defined = [rates.get(name) is not None for rates in tables]
        if all(is_defined):
            fixed_names.append(name)
    return list(names), tuple(fixed_names)


def _score_rows(
    rows: Sequence[_Row], names: Sequence[str], ranges: Mapping[str, slice]
) -> list[PlanScores]:
    """Score each row over the named functionalities, and compare it with IID for the same seed."""
    baselines = _find_baselines(rows)
    return [row.score(names, baselines.get(row.run.seed), ranges) for row in rows]


def _find_baselines(rows: Sequence[_Row]) -> dict[int, _Row]:
    """Return seed -> the row of IID, with which other rows are compared; without unfinished seeds."""
    baselines = {}
    for row in rows:
        if row.run.configuration == "IID":
            baselines[row.run.seed] = row
    return baselines


class _Row:
    """The finished runs of one configuration, method and seed.

    Attributes:
        run: One of the runs, whose configuration, method and seed are those of the row.
        whole_suite_result: Result of the run that was trained on the whole suite; None if it is not finished.
        results: Results of the finished runs.
        test_results: Result of the run that held a functionality out of training, by setting and
            functionality.
        rates: Pass rate by setting and functionality; None if the expectation applies to no case.
    """

    def __init__(self, runs: Sequence[PlannedRun], results: Mapping[str, Stored]) -> None:
        """Select the results and pass rates of the settings whose runs are all finished.

        Args:
            runs: All runs of the configuration, method and seed.
            results: Key of a finished run -> its stored result.
        """
        self.run = runs[0]
        self.whole_suite_result: Stored | None = None
        self.results = []
        for run in runs:
            if run.key in results:
                self.results.append(results[run.key])
                # The partition "seen" holds out nothing.
                if run.partition == "seen":
                    self.whole_suite_result = results[run.key]

        self.test_results: dict[str, dict[str, Stored]] = {}
        self.rates: dict[str, dict[str, float | None]] = {}
        for partition in PARTITIONS:
            members = [run for run in runs if run.partition == partition]
            n_finished = sum(run.key in results for run in members)
            if not members or n_finished < len(members):
                continue
            setting = partition
            if self.run.configuration == "IID":
                # This model was not trained on the suite, so that holding out makes no difference.
                setting = "standard"
            test_results = _find_test_results(members, results)
            rates = {}
            for name, result in test_results.items():
                rates[name] = result["pass_rates"][name]
            self.test_results[setting] = test_results
            self.rates[setting] = rates

    def score(
        self, names: Sequence[str], baseline: _Row | None, ranges: Mapping[str, slice]
    ) -> PlanScores:
        """Compute the G scores of the row over the named functionalities, and compare them with IID.

        G is the harmonic mean of the accuracy on independent data and the mean pass rate.

        Args:
            names: Functionalities whose pass rates are defined.
            baseline: The IID row with the same seed; None to compare nothing.
            ranges: Functionality -> slice of its cases among the stored outcomes. An empty mapping if the
                plan was made by an earlier version, which stored no outcomes; then nothing is compared.
        """
        rates_by_setting = {}
        for setting, rates in self.rates.items():
            rates_by_setting[setting] = [rates[name] for name in names]
        iid_score = None
        iid_f1 = None
        if self.whole_suite_result is not None:
            iid_score = float(self.whole_suite_result["iid_accuracy"])
            iid_f1 = self.whole_suite_result.get("iid_f1")
        result = generalization_score(rates_by_setting, iid_score or 0.0)
        # The score on independent data, and so G, needs the model that was trained on the whole suite.
        scores = {}
        if iid_score is not None:
            scores = result.scores

        baseline_result = None
        if baseline is not None and baseline is not self:
            baseline_result = baseline.whole_suite_result
        differences: dict[str, float] = {}
        p_values: dict[str, float] = {}
        losses: list[NegativeTransfer] = []
        if baseline_result is not None and ranges and "passed" in baseline_result:
            pairs = self.make_pairs(baseline_result, names, ranges)
            differences, p_values = self._test_against_iid(baseline_result, pairs)
            # Only when a functionality is held out alone, the effect of training on the others is seen.
            if "functionality" in pairs:
                losses = _find_worse_functionalities(names, pairs["functionality"])
        # Number of runs whose training changed no prediction.
        n_unchanged = 0
        for stored in self.results:
            n_unchanged += _has_same_outcomes(stored, baseline_result)
        return PlanScores(
            configuration=self.run.configuration,
            method=self.run.method,
            seed=self.run.seed,
            iid_score=iid_score,
            suite_scores=result.suite_scores,
            scores=scores,
            average=_average_settings(scores),
            pass_rates=self.rates,
            differences=differences,
            p_values=p_values,
            n_runs=len(self.results),
            n_unchanged=n_unchanged,
            iid_f1=iid_f1,
            negative_transfer=losses,
        )

    def make_pairs(
        self,
        baseline: Stored,
        names: Sequence[str],
        ranges: Mapping[str, slice],
        task: str = "",
    ) -> dict[str, GeneralizationPair]:
        """Pair the outcomes of this row with those of the IID model, for a paired test.

        Args:
            baseline: Result of the IID model with the same seed.
            names: Functionalities whose pass rates are defined.
            ranges: Functionality -> slice of its cases among the stored outcomes.
            task: Name of the task, if there are several.

        Returns:
            Setting -> outcomes of both models on independent data and on each functionality. An empty
            dictionary if the model that is trained on the whole suite is not finished.
        """
        if self.whole_suite_result is None:
            return {}
        # All settings share the accuracy of the model of the whole suite, as in the paper's code.
        iid = (outcomes(self.whole_suite_result["iid_right"]), outcomes(baseline["iid_right"]))
        pairs = {}
        for setting, test_results in self.test_results.items():
            suites = []
            for name in names:
                cases = ranges[name]
                passed = outcomes(test_results[name]["passed"][cases])
                baseline_passed = outcomes(baseline["passed"][cases])
                suites.append((passed, baseline_passed))
            pairs[setting] = GeneralizationPair(iid=iid, suites=suites, task=task)
        return pairs

    def _test_against_iid(
        self, baseline: Stored, pairs: Mapping[str, GeneralizationPair]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Test the accuracy on independent data, and the G of each setting, against IID.

        Args:
            baseline: Result of the IID model with the same seed.
            pairs: Setting -> outcomes of this row and of IID, from `make_pairs`.

        Returns:
            Setting -> G minus that of IID; and "iid" or a setting -> p-value. Both are empty if the model
            that is trained on the whole suite is not finished.
        """
        differences: dict[str, float] = {}
        p_values: dict[str, float] = {}
        if self.whole_suite_result is None:
            return differences, p_values
        is_correct = outcomes(self.whole_suite_result["iid_right"]) == 1
        is_baseline_correct = outcomes(baseline["iid_right"]) == 1
        p_values["iid"] = mcnemar(is_correct, is_baseline_correct).p_value
        for setting, pair in pairs.items():
            # A randomization test: it exchanges outcomes of the two models on the same case.
            test = compare_generalization(pair.iid, pair.suites, seed=SHUFFLE_SEED)
            differences[setting] = test.difference
            p_values[setting] = test.p_value
        return differences, p_values


def _average_settings(scores: Mapping[str, float]) -> float | None:
    """Return the mean G over the settings of `PARTITIONS`; None if one of them is missing."""
    # A mean over some of the settings cannot be compared with a mean over all.
    if not set(PARTITIONS) <= scores.keys():
        return None
    return float(np.mean([scores[setting] for setting in PARTITIONS]))


def _find_worse_functionalities(
    names: Sequence[str], pair: GeneralizationPair
) -> list[NegativeTransfer]:
    """Return the functionalities on which models that were not trained on them are worse than IID.

    Args:
        names: Functionalities.
        pair: `suites` has, for each functionality, the outcomes of its cases for the model that held
            it out of training, and for IID.
    """
    held_out_outcomes = {}
    iid_outcomes = {}
    for name, (outcomes_of_model, outcomes_of_iid) in zip(names, pair.suites, strict=True):
        held_out_outcomes[name] = outcomes_of_model
        iid_outcomes[name] = outcomes_of_iid
    return find_negative_transfer(iid_outcomes, held_out_outcomes)


def _find_test_results(
    runs: Sequence[PlannedRun], results: Mapping[str, Stored]
) -> dict[str, Stored]:
    """Return functionality -> result of the run that held it out of training, and so tests it.

    Args:
        runs: Finished runs of one partition. A run that holds out nothing tests all functionalities.
        results: Key of a run -> its stored result.
    """
    test_results = {}
    for run in runs:
        result = results[run.key]
        holds_out_nothing = not run.held
        for name in result["pass_rates"]:
            if holds_out_nothing or name in run.held_out:
                test_results[name] = result
    return test_results


def outcomes(letters: str) -> NDArray[np.float64]:
    """Convert stored outcomes to numbers.

    Args:
        letters: One letter per case: 1 passed, 0 failed, - undefined or . not evaluated.

    Returns:
        (C,) 1, 0, or NaN for the other letters.

    Example:
        >>> outcomes("1-0.").tolist()
        [1.0, nan, 0.0, nan]
    """
    values = np.full(len(letters), np.nan)
    for index, letter in enumerate(letters):
        if letter in "01":
            values[index] = float(letter)
    return values


def _has_same_outcomes(result: Stored, baseline: Stored | None) -> bool:
    """Return whether a model agrees with the IID model on every independent item and every case.

    Args:
        result: Stored result of the model: a letter per independent item in `iid_right`, and per case in
            `passed`. Cases that it did not evaluate are not compared.
        baseline: Stored result of the IID model. If it is None or has no `passed`, return False.
    """
    if baseline is None or "passed" not in baseline:
        return False
    if result["iid_right"] != baseline["iid_right"]:
        return False
    for letter, baseline_letter in zip(result["passed"], baseline["passed"], strict=True):
        # A run evaluates only the functionalities that it held out.
        is_evaluated = letter != NOT_ASKED
        if is_evaluated and letter != baseline_letter:
            return False
    return True


def _find_case_ranges(plan: Plan) -> dict[str, slice]:
    """Return functionality -> slice of its cases among the stored outcomes of a run.

    Outcomes are stored as a string with one letter per case, in the order of the suite. The result is
    empty for a plan of an earlier version, which has no numbers of cases.

    Args:
        plan: A plan, whose settings have the functionalities and their numbers of test cases.
    """
    counts = plan.settings.get("n_cases", [])
    functionalities = plan.settings.get("functionalities", [])
    ranges = {}
    start = 0
    # A functionality is stored as a list [name, class, test type].
    for (name, _, _), count in zip(functionalities, counts, strict=True):
        ranges[name] = slice(start, start + count)
        start += count
    return ranges


def _gives_one_answer(result: Stored) -> bool:
    """Return whether a model of two classes predicts one class for over 90 % of the independent items.

    Training on INV and DIR tests alone may lead to such a model, which passes all of them.

    Args:
        result: Stored result of a run. `iid_predicted_negative` is the share of class 0; the result of
            a question-answering model does not have it.
    """
    negative_share = result.get("iid_predicted_negative")
    if negative_share is None:
        return False
    largest_share = max(negative_share, 1 - negative_share)
    return bool(largest_share > MAX_SHARE_OF_ONE_ANSWER)


def _describe_degenerate(run: PlannedRun, result: Stored) -> dict[str, Any]:
    """Return the row of `CollectedScores.degenerate` for a run whose model gives one answer.

    Args:
        run: The run.
        result: Its stored result.
    """
    # Without a held-out functionality, the mean is over all of them.
    names = run.held_out or result["pass_rates"]
    rates = []
    for name in names:
        rate = result["pass_rates"][name]
        # The rate is None if the expectation applies to no case.
        if rate is not None:
            rates.append(rate)
    mean_rate = None
    if rates:
        mean_rate = float(np.mean(rates))
    return {
        "configuration": run.configuration,
        "method": run.method,
        "seed": run.seed,
        "partition": run.partition,
        "held": run.held,
        "called_class_0": result["iid_predicted_negative"],
        "iid_accuracy": result["iid_accuracy"],
        "mean_confidence": result["mean_confidence"],
        "pass_rate": mean_rate,
    }
