"""Steps about behavioral suites: CheckList's released answers, and learning from a suite."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

from rightreasons.behavior.learning.collect import CollectedScores, collect_scores
from rightreasons.behavior.learning.kinds import IidData
from rightreasons.behavior.learning.plan import LearningTask, Plan, plan_runs
from rightreasons.behavior.learning.run import run_plan
from rightreasons.behavior.rates import pass_rates
from rightreasons.core.errors import OptionError
from rightreasons.core.store import digest_package_code
from rightreasons.datasets.suites.suite import Case, Suite, open_suite
from rightreasons.replicate.small_encoder import make_small_encoder
from rightreasons.replicate.work import Work

RELEASED = "checklist/suites/squad_suite.jsonl.gz"
"""CheckList's reading suite with the answers of the authors' model, below the folder of the data."""

SETTINGS = ("seen", "functionality", "class", "type")


def score_released_answers(work: Work) -> dict[str, Any]:
    """Score the answers that CheckList released with its reading suite, test by test."""
    file = Path(work.data_dir or "") / RELEASED
    if not file.is_file():
        raise OptionError(
            f"Expected CheckList's released suite at {RELEASED} in `data_dir`, but there is none.",
            option="data_dir",
        )
    # The answers are scored by our own rules; the released flags are what they are compared with.
    suite = open_suite("checklist_reading", data_dir=work.data_dir, known_issues=False)
    released = _read_released(file)
    answers = []
    for functionality in suite.functionalities:
        for case in functionality.cases:
            answers += released[functionality.name]["answers"][case.id]

    rows = []
    n_equal = 0
    for result in pass_rates(answers, suite.table(), outputs="texts").functionalities:
        passed = released[result.functionality]["passed"]
        n_failed = result.n_cases - result.n_passed
        n_released = len(passed) - sum(passed)
        n_equal += n_failed == n_released
        key = {"test": result.functionality, "type": result.test_type, "cases": result.n_cases}
        rows.append({"key": key, "figures": {"released": n_released, "ours": n_failed}})
    return {"rows": rows, "facts": {"n_equal": n_equal, "n_tests": len(rows)}}


def learn_suite(work: Work) -> dict[str, Any]:
    """Train on a suite with parts of it held out, and score what generalizes (Table 3)."""
    settings = work.settings
    task = _make_task(work)
    runs = plan_runs(
        task.suite,
        configurations=("IID", *settings["configurations"]),
        methods=tuple(settings["methods"]),
        partitions=tuple(settings["partitions"]),
        seeds=tuple(settings["seeds"]),
    )
    # Runs of one plan are of one version of the code; after an upgrade, the step begins anew.
    folder = work.folder / f"plan-{digest_package_code()}"
    plan = Plan.create(folder, runs, task.settings())
    run_plan(plan, task)
    return _describe_scores(collect_scores(plan), settings["task"])


def _describe_scores(scores: CollectedScores, task_name: str) -> dict[str, Any]:
    """Return the G scores of each configuration and method, in percent."""
    rows = []
    falls = []
    for row in scores.rows:
        figures = {"iid": _to_percent(row.iid_score)}
        for setting in SETTINGS:
            # A setting is missing until all runs that it needs are finished.
            figures[setting] = _to_percent(row.scores.get(setting))
        key = {"task": task_name, "configuration": row.configuration, "method": row.method}
        rows.append({"key": key, "figures": figures})
        # A model that trained on no test sees the same suite in every setting.
        seen = figures["seen"]
        held_out = figures["type"]
        if row.configuration != "IID" and seen is not None and held_out is not None:
            falls.append(seen - held_out)
    facts = {
        "n_runs": scores.n_done,
        "n_functionalities": len(scores.functionalities),
        "smallest_fall": min(falls, default=0.0),
        "largest_fall": max(falls, default=0.0),
        "n_degenerate": len(scores.degenerate),
    }
    return {"rows": rows, "facts": facts}


def _to_percent(score: float | None) -> float | None:
    """Return a share in percent, and None for none."""
    if score is None:
        return None
    return round(100 * score, 6)


def _make_task(work: Work) -> LearningTask:
    """Load the suite and the independent data, and shorten the model if the scale asks for it."""
    settings = work.settings
    suite = open_suite(
        settings["suite"],
        data_dir=work.data_dir,
        known_issues=False,
        paper_labels=settings["paper_labels"],
        max_cases=settings["n_cases"],
    )
    suite = _shorten_cases(suite, settings["n_examples"])
    parts = []
    for split, n_items in ((settings["train"], "n_train"), (settings["test"], "n_test")):
        rows = work.sample(work.load(settings["data"], None, split), settings[n_items])
        # Paraphrases have a second text.
        pairs = None
        if "text_pair" in rows.column_names:
            pairs = rows["text_pair"][:]
        parts.append(IidData(rows["text"][:], rows["label"][:], pairs))

    (model,) = work.models.values()
    if settings["n_layers"] is not None:
        # The small encoder knows the word pieces of all texts that it will meet.
        texts = list(itertools.chain.from_iterable(suite.texts()))
        for data in parts:
            texts += [*data.texts, *(data.text_pairs or ())]
        model = str(make_small_encoder(model, work.folder / "encoder", texts, settings["n_layers"]))
    return LearningTask(
        model,
        suite,
        parts[0],
        parts[1],
        labels=settings["labels"],
        options=settings["training"],
        iid_options=settings["iid_training"],
        iid_share=settings["iid_share"],
        max_length=settings["max_length"],
    )


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


def _read_released(file: Path) -> dict[str, dict[str, Any]]:
    """Return the released answers and flags of each test by its name."""
    released = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            test = json.loads(line)
            released[test["name"]] = {
                "answers": _list_answers(test),
                "passed": test["results"]["passed"],
            }
    return released


def _list_answers(test: dict[str, Any]) -> dict[str, list[str]]:
    """Return the answers to each case of a test by the id of the case."""
    answers = {}
    # Cases are numbered in their order, as the ids of `Suite` are.
    for number, predictions in enumerate(test["results"]["preds"]):
        # A test whose cases have one example has its answers in a flat list.
        if isinstance(predictions, str):
            predictions = [predictions]
        answers[str(number)] = list(predictions)
    return answers
