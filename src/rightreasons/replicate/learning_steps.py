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
    """Train on each suite with parts of it held out, and score what generalizes (Table 3)."""
    collected = {}
    # A scale may leave suites out, and gives each its sizes.
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
    """Make the runs of a configuration, and those of independent data with the first one."""
    task = dataclasses.replace(task, options=settings["training"][configuration])
    configurations = [configuration]
    # The model of independent data is the baseline of all configurations, and is trained once.
    if configuration == settings["configurations"][0]:
        configurations.insert(0, "IID")
    runs = plan_runs(
        task.suite,
        configurations=configurations,
        methods=tuple(settings["methods"]),
        # A configuration of many steps may hold out fewer parts.
        partitions=tuple(settings.get("partitions_of", {}).get(configuration, PARTITIONS)),
        seeds=tuple(settings["seeds"]),
    )
    # Runs of one plan are of one version of the code; after an upgrade, the step begins anew.
    name = f"{configuration.replace('>', '')}-{digest_package_code()}"
    plan = Plan.create(folder / name, runs, task.settings())
    run_plan(plan, task)
    return plan


def merge_plans(plans: Sequence[Plan], folder: Path) -> Plan:
    """Return one plan with the finished runs of all, whose scores are compared."""
    names = [field.name for field in dataclasses.fields(PlannedRun)]
    results = []
    for plan in plans:
        results += plan.results()
    runs = []
    for result in results:
        fields = {name: result[name] for name in names}
        runs.append(PlannedRun(**{**fields, "held_out": tuple(result["held_out"])}))
    # The tests of a row need the suite's functionalities and their cases, which all plans share.
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
        `rows` of G by configuration and method, and their `means`; `falls` of G between settings;
        `constant` models, which give one answer to nearly all independent items; `facts`.
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
        complete = _select_complete(scores)
        # A task whose runs hold out few parts has no mean over all settings.
        if complete:
            means.append(_average_scores(task_name, complete))
        falls += _compare_settings(task_name, complete)
        constant += _list_constant_models(task_name, scores)
        comparisons += _compare_with_iid(scores)
    # With a hundred comparisons, some are significant by chance.
    p_values = [p_value for _, p_value in comparisons]
    corrected = holm(np.array(p_values)) if p_values else ()
    n_better = 0
    n_better_corrected = 0
    for (difference, p_value), corrected_p_value in zip(comparisons, corrected, strict=True):
        if difference > 0:
            n_better += p_value < 0.05
            n_better_corrected += int(corrected_p_value < 0.05)
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


def describe_comparisons(n_held_out: int, n_better: int, n_better_corrected: int) -> str:
    """Return a sentence on the held-out G scores that are above that of the model of no test.

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
    """Yield the accuracy and the G scores of each configuration and method."""
    for row in scores.rows:
        figures = {"iid": _to_percent(row.iid_score)}
        for setting in PARTITIONS:
            # A model of independent data trained on no test: it has one G, which nothing is held out of.
            name = "standard" if row.configuration == "IID" else setting
            figures[setting] = _to_percent(row.scores.get(name))
        figures["average"] = _to_percent(row.average)
        key = {"task": task_name, "configuration": row.configuration, "method": row.method}
        yield {"key": key, "figures": figures}


def _select_complete(scores: CollectedScores) -> list[Mapping[str, float]]:
    """Return the G scores of the rows that have all settings, without the model of no test."""
    complete: list[Mapping[str, float]] = []
    for row in scores.rows:
        if row.configuration != "IID" and set(PARTITIONS) <= set(row.scores):
            complete.append(row.scores)
    return complete


def _average_scores(task_name: str, complete: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the mean G of each setting over configurations and methods, as the paper prints it."""
    figures = {}
    for setting in PARTITIONS:
        figures[setting] = _to_percent(float(np.mean([row[setting] for row in complete])))
    return {"key": {"task": task_name, "rows": f"mean over {len(complete)}"}, "figures": figures}


def _compare_settings(
    task_name: str, complete: Sequence[Mapping[str, float]]
) -> Iterator[dict[str, Any]]:
    """Yield how far G falls from each setting to the next, harder one, paired over the rows."""
    # A single row has no interval.
    if len(complete) < 2:
        return
    for easier, harder in itertools.pairwise(PARTITIONS):
        differences = np.array([row[easier] - row[harder] for row in complete])
        # The sign test leaves equal scores out.
        n_falls = int((differences > ROUNDING).sum())
        n_rises = int((differences < -ROUNDING).sum())
        interval = bootstrap_mean(differences)
        p_value = 1.0
        if n_falls + n_rises > 0:
            p_value = float(stats.binomtest(n_falls, n_falls + n_rises).pvalue)
        figures = {
            "mean": write_interval(float(differences.mean()), interval, scale=100),
            "n_rows": len(complete),
            "n_falls": n_falls,
            "n_rises": n_rises,
            "p_value": round(p_value, 6),
        }
        yield {"key": {"task": task_name, "from": easier, "to": harder}, "figures": figures}


def _list_constant_models(task_name: str, scores: CollectedScores) -> Iterator[dict[str, Any]]:
    """Yield the models of whole suites that give one answer to nearly all independent items."""
    for run in scores.degenerate:
        # What is held out differs between runs, so that only those of whole suites compare.
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
    """Yield the difference to the model that saw no test, and its p-value, of each held-out G."""
    for row in scores.rows:
        for setting in HELD_OUT:
            # IID itself has no test, and unfinished settings have none yet.
            if setting in row.p_values:
                yield row.differences[setting], row.p_values[setting]


def _to_percent(score: float | None) -> float | None:
    """Return a share in percent, and None for none."""
    if score is None:
        return None
    return round(100 * score, 6)


def _make_task(work: Work, settings: Settings, folder: Path) -> LearningTask:
    """Load the suite and the independent data, and shorten the model if the scale asks for it."""
    suite = open_suite(
        settings["suite"],
        data_dir=work.data_dir,
        known_issues=False,
        paper_labels=settings["paper_labels"],
        max_cases=settings["n_cases"],
    )
    suite = _shorten_cases(suite, settings["n_examples"])
    train = _load_independent_data(work, settings, settings["train"], settings["n_train"])
    test = _load_independent_data(work, settings, settings["test"], settings["n_test"])
    (model,) = work.models.values()
    if settings["n_layers"] is not None:
        # The small encoder knows the word pieces of all texts that it will meet.
        texts = list(itertools.chain.from_iterable(suite.texts()))
        for data in (train, test):
            texts += [*data.texts, *(data.text_pairs or ())]
        model = str(make_small_encoder(model, folder / "encoder", texts, settings["n_layers"]))
    return LearningTask(
        model,
        suite,
        train,
        test,
        labels=settings["labels"],
        iid_options=settings["iid_training"],
        iid_share=settings["iid_share"],
        max_length=settings["max_length"],
        train_cases=settings.get("n_train_cases"),
    )


def _load_independent_data(
    work: Work, settings: Settings, split: str, n_items: int | None
) -> IidData:
    """Load texts and labels of a split, or questions and answers for a suite of reading."""
    if settings["labels"] == "answers":
        questions = open_questions(
            settings["data"], split=split, data_dir=work.data_dir, limit=n_items
        )
        return IidData(questions["question"][:], questions["answers"][:], questions["context"][:])
    rows = work.sample(work.load(settings["data"], None, split), n_items)
    # Paraphrases have a second text.
    pairs = None
    if "text_pair" in rows.column_names:
        pairs = rows["text_pair"][:]
    return IidData(rows["text"][:], rows["label"][:], pairs)


def _shorten_cases(suite: Suite, n_examples: int | None) -> Suite:
    """Keep the first examples of each case: the original text and some of its changed texts."""
    if n_examples is None:
        return suite
    functionalities = []
    for functionality in suite.functionalities:
        cases = tuple(_shorten_case(case, n_examples) for case in functionality.cases)
        functionalities.append(dataclasses.replace(functionality, cases=cases))
    return dataclasses.replace(suite, functionalities=tuple(functionalities))


def _shorten_case(case: Case, n_examples: int) -> Case:
    """Keep the first examples of a case."""
    changes: dict[str, Any] = {"examples": case.examples[:n_examples]}
    # An invariance has no labels, and few cases have further information.
    if case.labels is not None:
        changes["labels"] = case.labels[:n_examples]
    if case.meta is not None:
        changes["meta"] = case.meta[:n_examples]
    return dataclasses.replace(case, **changes)
