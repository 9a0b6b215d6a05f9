"""Steps about learning from behavioral suites, with parts of them held out.

`learn_suites` trains the models of every task and configuration, and scores each functionality by the
model that did not train on it. `describe_scores` makes the tables of the collected scores.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from rightreasons.behavior.learning.collect import CollectedScores, collect_scores
from rightreasons.behavior.learning.kinds import IidData
from rightreasons.behavior.learning.options import PARTITIONS
from rightreasons.behavior.learning.plan import LearningTask, Plan, PlannedRun, plan_runs
from rightreasons.behavior.learning.run import run_plan
from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.significance import holm
from rightreasons.core.store import digest_package_code
from rightreasons.datasets.suites.suite import Case, Suite, open_suite
from rightreasons.io.tables import open_questions
from rightreasons.replicate.small_encoder import make_small_encoder
from rightreasons.replicate.work import Work, write_interval

HELD_OUT = PARTITIONS[1:]
"""Settings in which a functionality is scored by a model that did not train on it."""

ROUNDING = 1e-9
"""G scores that differ by less are equal."""

Settings = Mapping[str, Any]
"""Options of the scale, of the step, and of a task, by name."""


def learn_suites(work: Work) -> dict[str, Any]:
    """Train on each suite with parts of it held out, and compute the G scores (Table 3).

    Args:
        work: Settings, models, data and folder of the step. `settings["tasks"]` has the sizes of each task, and
            `settings["suites"]` its suite and data.

    Returns:
        The tables and facts of `describe_scores`.
    """
    collected = {}
    # A scale lists the suites to train on, with sizes such as the number of training items.
    for task_name, sizes in work.settings["tasks"].items():
        settings = {**work.settings, **work.settings["suites"][task_name], **sizes}
        folder = work.folder / task_name
        task = _make_task(work, settings, folder)
        plans = []
        for configuration in settings["configurations"]:
            plans.append(_run_configuration(task, configuration, settings, folder))
        collected[task_name] = collect_scores(merge_plans(plans, folder / "all"))
    return describe_scores(collected)


def _run_configuration(
    task: LearningTask, configuration: str, settings: Settings, folder: Path
) -> Plan:
    """Plan and execute the runs of one configuration; with the first one, also those of IID.

    Args:
        task: Model, suite and data of the runs.
        configuration: One of `CONFIGURATIONS`.
        settings: Options of the task, with the training options of each configuration.
        folder: Folder of the task, in which the plan gets its own folder.

    Returns:
        The finished plan.
    """
    task = dataclasses.replace(task, options=settings["training"][configuration])
    configurations = [configuration]
    first_configuration, *_ = settings["configurations"]
    if configuration == first_configuration:
        # IID, the baseline of all configurations, is trained once.
        configurations = ["IID", configuration]
    # A configuration with long trainings may have fewer partitions.
    partitions = settings.get("partitions_of", {}).get(configuration, PARTITIONS)
    runs = plan_runs(
        task.suite,
        configurations=configurations,
        methods=tuple(settings["methods"]),
        partitions=tuple(partitions),
        seeds=tuple(settings["seeds"]),
    )
    # All runs of a plan need the same code. After an upgrade, a new plan is made.
    name = f"{configuration.replace('>', '')}-{digest_package_code()}"
    plan = Plan.create(folder / name, runs, task.settings())
    run_plan(plan, task)
    return plan


def merge_plans(plans: Sequence[Plan], folder: Path) -> Plan:
    """Write the finished runs of several plans into one plan, so that their scores can be compared.

    Args:
        plans: Plans of the same suite and data.
        folder: Folder of the new plan.
    """
    field_names = [field.name for field in dataclasses.fields(PlannedRun)]
    runs = []
    results = []
    for plan in plans:
        for result in plan.results():
            fields = {name: result[name] for name in field_names}
            # A stored result has lists in place of tuples.
            fields["held_out"] = tuple(result["held_out"])
            runs.append(PlannedRun(**fields))
            results.append(result)
    # The functionalities of the suite and the numbers of their cases are the same in all plans.
    settings = {**plans[0].settings, "plans": [plan.settings for plan in plans]}
    merged = Plan.create(folder, runs, settings)
    for run, result in zip(runs, results, strict=True):
        merged.store(run, result)
    return merged


def describe_scores(collected: Mapping[str, CollectedScores]) -> dict[str, Any]:
    """Return the tables and facts of the scores of each task, in percent.

    Args:
        collected: Scores by the name of the task.

    Returns:
        Lists of rows {"key": …, "figures": …}: `rows` of G by configuration and method, and their `means`;
        `falls` of G between settings; `constant` models, which give one answer to nearly all independent
        items. And `facts`, which sentences quote.
    """
    rows: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    falls: list[dict[str, Any]] = []
    constant: list[dict[str, Any]] = []
    n_runs = 0
    comparisons: list[tuple[float, float]] = []
    for task_name, scores in collected.items():
        n_runs += scores.n_done
        rows += _list_scores(task_name, scores)
        complete_rows = _select_complete_rows(scores)
        # If all runs of a task have fewer partitions, there is no mean over all settings.
        if complete_rows:
            means.append(_average_scores(task_name, complete_rows))
        falls += _compare_settings(task_name, complete_rows)
        constant += _list_constant_models(task_name, scores)
        comparisons += _compare_with_iid(scores)
    n_better, n_better_corrected = _count_better(comparisons)
    facts = {
        "n_runs": n_runs,
        "n_suites": len(collected),
        "n_held_out": len(comparisons),
        "n_better": n_better,
        "n_better_corrected": n_better_corrected,
        "comparison": describe_comparisons(len(comparisons), n_better, n_better_corrected),
        "n_constant": len(constant),
    }
    return {"rows": rows, "means": means, "falls": falls, "constant": constant, "facts": facts}


def _count_better(comparisons: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Count the G scores that are significantly above those of IID, at a level of 0.05.

    Args:
        comparisons: Pairs (G minus G of IID, p-value), one for each held-out setting of each row.

    Returns:
        The number without a correction for many comparisons, and the number with Holm's correction.
    """
    if not comparisons:
        return 0, 0
    differences, p_values = zip(*comparisons, strict=True)
    corrected_p_values = holm(np.array(p_values))
    n_better = 0
    n_better_corrected = 0
    for difference, p_value, corrected in zip(
        differences, p_values, corrected_p_values, strict=True
    ):
        if difference > 0:
            n_better += p_value < 0.05
            n_better_corrected += int(corrected < 0.05)
    return n_better, n_better_corrected


def describe_comparisons(n_held_out: int, n_better: int, n_better_corrected: int) -> str:
    """Return a sentence on the number of held-out G scores that are above that of IID.

    Args:
        n_held_out: Number of comparisons.
        n_better: Number of significant ones without a correction.
        n_better_corrected: Number of significant ones with Holm's correction.

    Example:
        >>> describe_comparisons(0, 0, 0)
        'No G score was tested against that of the model that has seen no test.'
    """
    baseline = "that of the model that has seen no test"
    if n_held_out == 0:
        return f"No G score was tested against {baseline}."
    return (
        f"Of {n_held_out} G scores on functionalities, classes and types that a model did not train "
        f"on, the number significantly above {baseline} is {n_better}, and {n_better_corrected} "
        "after Holm's correction."
    )


def _list_scores(task_name: str, scores: CollectedScores) -> Iterator[dict[str, Any]]:
    """Yield a row for each configuration and method of a task: its accuracy and G scores in percent.

    Args:
        task_name: Name of the task in the recipe.
        scores: Scores of the finished runs of the task.
    """
    for row in scores.rows:
        figures = {"iid": _to_percent(row.iid_score)}
        for setting in PARTITIONS:
            # IID did not train on the suite, so that it has a single G, which is shown in every setting.
            name = "standard" if row.configuration == "IID" else setting
            figures[setting] = _to_percent(row.scores.get(name))
        figures["average"] = _to_percent(row.average)
        key = {"task": task_name, "configuration": row.configuration, "method": row.method}
        yield {"key": key, "figures": figures}


def _select_complete_rows(scores: CollectedScores) -> list[Mapping[str, float]]:
    """Return setting -> G for each row in which all four settings are finished, without IID."""
    complete: list[Mapping[str, float]] = []
    for row in scores.rows:
        has_all_settings = set(PARTITIONS) <= set(row.scores)
        if row.configuration != "IID" and has_all_settings:
            complete.append(row.scores)
    return complete


def _average_scores(task_name: str, complete: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return a row with the mean G of each setting over configurations and methods.

    Args:
        task_name: Name of the task in the recipe.
        complete: Setting -> G for each configuration and method.
    """
    figures = {}
    for setting in PARTITIONS:
        mean = float(np.mean([row[setting] for row in complete]))
        figures[setting] = _to_percent(mean)
    return {"key": {"task": task_name, "rows": f"mean over {len(complete)}"}, "figures": figures}


def _compare_settings(
    task_name: str, complete: Sequence[Mapping[str, float]]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each pair of successive settings, with the fall of G from the easier to the harder.

    Args:
        task_name: Name of the task in the recipe.
        complete: Setting -> G for each configuration and method. With fewer than two, nothing is yielded.

    Yields:
        {"key": …, "figures": …} with the mean fall and its interval in percent, the numbers of rows whose
        G falls and rises, and the p-value of the sign test.
    """
    # An interval needs at least two rows.
    if len(complete) < 2:
        return
    for easier, harder in itertools.pairwise(PARTITIONS):
        falls = np.array([row[easier] - row[harder] for row in complete])
        # Equal scores are not counted in the sign test.
        n_falls = int((falls > ROUNDING).sum())
        n_rises = int((falls < -ROUNDING).sum())
        interval = bootstrap_mean(falls)
        p_value = 1.0
        if n_falls + n_rises > 0:
            p_value = float(stats.binomtest(n_falls, n_falls + n_rises).pvalue)
        figures = {
            "mean": write_interval(float(falls.mean()), interval, scale=100),
            "n_rows": len(complete),
            "n_falls": n_falls,
            "n_rises": n_rises,
            "p_value": round(p_value, 6),
        }
        yield {"key": {"task": task_name, "from": easier, "to": harder}, "figures": figures}


def _list_constant_models(task_name: str, scores: CollectedScores) -> Iterator[dict[str, Any]]:
    """Yield a row for each model of a whole suite that gives one answer to nearly all independent items.

    Args:
        task_name: Name of the task in the recipe.
        scores: Scores of the finished runs of the task.
    """
    for run in scores.degenerate:
        # Pass rates of runs that hold out different functionalities cannot be compared.
        if run["partition"] != "seen" or run["configuration"] == "IID":
            continue
        key = {
            "task": task_name,
            "configuration": run["configuration"],
            "method": run["method"],
        }
        figures = {
            "class_0": _to_percent(run["called_class_0"]),
            "accuracy": _to_percent(run["iid_accuracy"]),
            "pass_rate": _to_percent(run["pass_rate"]),
        }
        yield {"key": key, "figures": figures}


def _compare_with_iid(scores: CollectedScores) -> Iterator[tuple[float, float]]:
    """Yield (G minus that of IID, p-value) for each held-out setting of each row."""
    for row in scores.rows:
        for setting in HELD_OUT:
            # IID itself has no test, and unfinished settings have none yet.
            if setting in row.p_values:
                yield row.differences[setting], row.p_values[setting]


def _to_percent(score: float | None) -> float | None:
    """Return a share in percent; None if there is no share."""
    if score is None:
        return None
    return round(100 * score, 6)


def _make_task(work: Work, settings: Settings, folder: Path) -> LearningTask:
    """Load the suite and the independent data of a task, with a smaller model if the scale requires it.

    Args:
        work: Settings, folder and data of the step.
        settings: Options of the task. "n_layers" is the number of layers of the model to keep; None for
            all.
        folder: Folder in which the smaller model is written.
    """
    suite = open_suite(
        settings["suite"],
        data_dir=work.data_dir,
        known_issues=False,
        paper_labels=settings["paper_labels"],
        max_cases=settings["n_cases"],
    )
    suite = _truncate_cases(suite, settings["n_examples"])
    train = _load_independent_data(work, settings, settings["train"], settings["n_train"])
    test = _load_independent_data(work, settings, settings["test"], settings["n_test"])
    (model,) = work.models.values()
    if settings["n_layers"] is not None:
        # The smaller model keeps only the word pieces of these texts.
        texts = list(itertools.chain.from_iterable(suite.texts()))
        for data in (train, test):
            texts += [*data.texts, *(data.text_pairs or ())]
        model = str(make_small_encoder(model, folder / "encoder", texts, settings["n_layers"]))
    return LearningTask(
        model=model,
        suite=suite,
        train=train,
        test=test,
        labels=settings["labels"],
        iid_options=settings["iid_training"],
        iid_share=settings["iid_share"],
        max_length=settings["max_length"],
        train_cases=settings.get("n_train_cases"),
    )


def _load_independent_data(
    work: Work, settings: Settings, split: str, n_items: int | None
) -> IidData:
    """Load texts and labels of a split, or questions and answers for a suite of reading.

    Args:
        work: Settings, folder and data of the step.
        settings: Options of the task: the data set, and "labels", which is "answers" for reading.
        split: Name of the split.
        n_items: Maximum number of items; None for all.
    """
    if settings["labels"] == "answers":
        questions = open_questions(
            settings["data"], split=split, data_dir=work.data_dir, limit=n_items
        )
        return IidData(
            texts=questions["question"][:],
            labels=questions["answers"][:],
            text_pairs=questions["context"][:],
        )
    rows = work.sample(work.load(settings["data"], None, split), n_items)
    # Data of paraphrases has two texts per item.
    text_pairs = None
    if "text_pair" in rows.column_names:
        text_pairs = rows["text_pair"][:]
    return IidData(texts=rows["text"][:], labels=rows["label"][:], text_pairs=text_pairs)


def _truncate_cases(suite: Suite, n_examples: int | None) -> Suite:
    """Keep the first examples of each case of a suite: the original text and some of its changed texts.

    Args:
        suite: The suite.
        n_examples: Number of examples to keep; None for all.
    """
    if n_examples is None:
        return suite
    functionalities = []
    for functionality in suite.functionalities:
        cases = tuple(_truncate_case(case, n_examples) for case in functionality.cases)
        functionalities.append(dataclasses.replace(functionality, cases=cases))
    return dataclasses.replace(suite, functionalities=tuple(functionalities))


def _truncate_case(case: Case, n_examples: int) -> Case:
    """Keep the first examples of a case, with their labels and replacements.

    Args:
        case: The case.
        n_examples: Number of examples to keep.
    """
    changes: dict[str, Any] = {"examples": case.examples[:n_examples]}
    # Labels and replacements are optional, and have one entry per example.
    if case.labels is not None:
        changes["labels"] = case.labels[:n_examples]
    if case.meta is not None:
        changes["meta"] = case.meta[:n_examples]
    return dataclasses.replace(case, **changes)
