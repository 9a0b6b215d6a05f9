"""Execute a plan of behavioral learning: train, score, store; whatever is finished stays finished."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.behavior.learning.items import Items, join_items
from rightreasons.behavior.learning.kinds import Answers, Classes
from rightreasons.behavior.learning.plan import NOT_ASKED, LearningTask, Plan, PlannedRun, open_task, shard_of
from rightreasons.behavior.learning.trainer import linear_head, train_head, train_on_behavior
from rightreasons.core.engines import EngineOptions, run_tasks
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import is_sealed, leased, save_twice, seal
from rightreasons.datasets.suites.suite import Suite
from rightreasons.models.batching import frozen
from rightreasons.models.loading import Classifier
from rightreasons.training.finetune import own_random_state


def run_plan(
    plan: Plan,
    task: LearningTask,
    *,
    shard: str = "1/1",
    engine: EngineOptions | None = None,
    progress: bool = True,
) -> int:
    """Execute the unfinished runs of a shard.

    Each run is stored when it is finished, so that a plan can be stopped and taken up again, here or elsewhere.

    Args:
        plan: The plan.
        task: What the plan's settings describe.
        shard: "i/n", from 1.
        engine: Where runs are executed; None executes them here, one after the other. Workers share the plan's folder.
        progress: Whether to show a bar of the shard's runs.

    Returns:
        How many runs were executed.

    Raises:
        ValueError: If the plan was made for other code or another task; finished runs are kept.
    """
    plan.check_code()
    differing = sorted(key for key, value in task.settings().items() if plan.settings.get(key) != value)
    if differing:
        raise ValueError(
            f"Expected the data and settings that the plan in {plan.folder} was made for, but got another "
            f"{' and another '.join(differing)}."
        )
    engine = engine or EngineOptions()
    done = plan.done()
    work = shard_of(plan.runs, shard)
    pending = [unit for runs in work if (unit := [run for run in runs if run.key not in done])]
    # Workers do not train the model of the independent data twice: runs that ask for nothing else go first.
    first = [] if engine.name == "serial" else [unit for unit in pending if unit[0].configuration == "IID"]
    executor = Runner(plan, task).execute if engine.name == "serial" else _Elsewhere(plan, task)
    with tqdm(total=sum(map(len, work)), desc=f"runs of shard {shard}", unit="run", disable=not progress) as bar:
        bar.update(sum(run.key in done for unit in work for run in unit))
        for wave in (first, [unit for unit in pending if unit not in first]):
            for place, _ in run_tasks(executor, wave, options=engine, progress=False):
                bar.update(len(wave[place]))
    return sum(map(len, pending))


class _Elsewhere:
    """Executes runs of a plan in a worker, which opens the task where the plan says how, and else is sent it."""

    def __init__(self, plan: Plan, task: LearningTask) -> None:
        self.folder = str(plan.folder.resolve())
        self.opened = f"{self.folder} {plan.inputs('worker')}"
        self.task = None if "source" in plan.settings else task

    def __call__(self, runs: list[PlannedRun]) -> None:
        if self.opened not in _OPENED:
            plan = Plan.open(self.folder)
            plan.check_code()
            _OPENED.clear()
            _OPENED[self.opened] = Runner(plan, self.task or open_task(plan.settings["source"]))
        _OPENED[self.opened].execute(runs)


_OPENED: dict[str, Runner] = {}
"""What a worker executes; it is opened once per worker and plan."""


def _save(classifier: Classifier, folder: Path) -> None:
    classifier.model.save_pretrained(folder)
    classifier.tokenizer.save_pretrained(folder)


class Runner:
    """Executes the runs of a plan.

    Args:
        plan: The plan, in which results are stored.
        task: What its runs share.
    """

    def __init__(self, plan: Plan, task: LearningTask) -> None:
        self.plan, self.task, self.kind = plan, task, task.kind
        self.test_suite = task.suite.split("test")
        self.suite_train, self.iid_train = self.kind.suite_items(task.train_suite()), self.kind.iid_items(task.train)
        self.iid_mixed = self.iid_train.select(item_rng(0, "i.i.d. share").random(len(self.iid_train)) < task.iid_share)
        self.iid_texts = (task.test.texts, task.test.text_pairs)
        self.test_texts = self.kind.texts_of(self.test_suite)

    def execute(self, runs: list[PlannedRun]) -> None:
        """Execute the runs of one work unit, and store each."""
        began = time.perf_counter()
        first = runs[0]
        if first.configuration == "IID":
            results = [self._score(self._iid_model(first.seed), first)]
        elif first.method == "lp":
            results = self._probe(runs)
        else:
            results = [self._train(first)]
        seconds = (time.perf_counter() - began) / len(runs)
        for run, result in zip(runs, results, strict=True):
            options = {} if run.configuration == "IID" else dict(self.task.options)
            self.plan.store(run, {**result, "options": options, "seconds": seconds})

    def _items(self, configuration: str) -> Items:
        return self.suite_train if configuration == "IID->T" else join_items(self.suite_train, self.iid_mixed)

    def _start(self, run: PlannedRun) -> Classifier:
        return self._pretrained(run.seed) if run.configuration == "IID+T" else self._iid_model(run.seed)

    def _pretrained(self, seed: int) -> Classifier:
        with own_random_state(seed):  # the head of an encoder is drawn at random
            classifier = self.kind.load(self.task.model, device=self.task.device, allow_untrained=True)
        if isinstance(self.kind, Classes):
            self.kind.check_model(classifier, self.task.suite)
        return classifier

    def _iid_model(self, seed: int) -> Classifier:
        """Load the model that was trained on independent data, or train it."""
        folder, inputs = self.plan.folder / "models" / f"iid-{seed}", self.plan.inputs(f"iid-{seed}")
        if not is_sealed(folder, inputs):
            classifier = self._pretrained(seed)
            self._fit(classifier, self.iid_train, "vanilla", self.task.iid_options, seed)
            scratch = folder.with_name(f".{folder.name}.{os.getpid()}.part")
            folder.parent.mkdir(parents=True, exist_ok=True)
            with leased(folder.parent):
                save_twice(scratch, lambda place: _save(classifier, place))
                seal(scratch, inputs)
                try:
                    scratch.rename(folder)
                except OSError:  # another shard was faster, with the same model
                    shutil.rmtree(scratch)
        return self.kind.load(str(folder), device=self.task.device)

    def _fit(self, classifier: Classifier, items: Items, method: str, options: Mapping[str, Any], seed: int) -> None:
        encoded, items, target = self.kind.prepare(classifier, items, self._length(classifier))
        train_on_behavior(classifier.model, encoded, items, target=target, method=method, seed=seed, **options)
        classifier.model.eval()

    def _length(self, classifier: Classifier) -> int:
        return min(self.task.max_length or self.kind.max_length, classifier.max_length)

    def _train(self, run: PlannedRun) -> dict[str, Any]:
        classifier, items = self._start(run), self._items(run.configuration)
        items = items.select(~items.holds_out(run.held_out))
        self._fit(classifier, items, run.method, self.task.options, run.seed)
        return self._score(classifier, run)

    def _probe(self, runs: list[PlannedRun]) -> list[dict[str, Any]]:
        """Train the heads of all runs on shared features."""
        start, items = self._start(runs[0]), self._items(runs[0].configuration)
        try:
            head = linear_head(start.model)
        except ValueError:  # a head of several layers: one training each
            return [self._train(run) for run in runs]
        length = self._length(start)
        with frozen(start.model):
            encoded, items, target = self.kind.prepare(start, items, length)
            features = self.kind.features(start, encoded)
            how = {"target": target, "seed": runs[0].seed, **self.task.options}
            heads = [train_head(head, features, items.select(~items.holds_out(run.held_out)), **how) for run in runs]
            on_test, on_iid = (
                self.kind.head_answers(start, texts, length)(heads) for texts in (self.test_texts, self.iid_texts)
            )
            return [self._result(*self._asked(*each)) for each in zip(runs, on_test, on_iid, strict=True)]

    def _score(self, classifier: Classifier, run: PlannedRun) -> dict[str, Any]:
        """Let a model answer what its run is there for: what was held out, or the whole suite, and independent data."""
        length, part = self._length(classifier), named(self.test_suite, run.held_out)
        on_test = self.kind.answer(classifier, self.kind.texts_of(part), length)
        return self._result(part, on_test, self.kind.answer(classifier, self.iid_texts, length))

    def _asked(self, run: PlannedRun, on_test: Answers, on_iid: Answers) -> tuple[Suite, Answers, Answers]:
        """Take what a run is there for from the answers to the whole test part."""
        part = named(self.test_suite, run.held_out)
        wanted = {functionality.name for functionality in part.functionalities}
        rows = np.array([row["functionality"] in wanted for row in self.test_suite.examples()], dtype=bool)
        return part, Answers(on_test.outputs[rows], on_test.confidence[rows]), on_iid

    def _result(self, part: Suite, on_test: Answers, on_iid: Answers) -> dict[str, Any]:
        rates = self.kind.pass_rates(on_test.outputs, part)
        figures, right = self.kind.iid_scores(on_iid, self.task.test.labels)
        passed = iter(encode_outcomes(rates.passed))
        asked = {functionality.name for functionality in part.functionalities}
        return {
            "pass_rates": {f.functionality: f.pass_rate for f in rates.functionalities},
            **figures,
            "mean_confidence": float(on_test.confidence.mean()),
            "passed": "".join(
                next(passed) if functionality.name in asked else NOT_ASKED
                for functionality in self.test_suite.functionalities
                for _ in functionality.cases
            ),
            "iid_right": encode_outcomes(right),
        }


def encode_outcomes(outcomes: Sequence[bool | None]) -> str:
    """Write outcomes as one letter each, so that runs can be compared case by case: 1, 0, and - for undefined.

    Example:
        >>> encode_outcomes([True, None, False])
        '1-0'
    """
    return "".join("-" if outcome is None else "01"[bool(outcome)] for outcome in outcomes)


def named(suite: Suite, names: Sequence[str]) -> Suite:
    """Return a suite with the named functionalities alone; with all where none is named."""
    if not names:
        return suite
    return dataclasses.replace(suite, functionalities=tuple(f for f in suite.functionalities if f.name in names))
