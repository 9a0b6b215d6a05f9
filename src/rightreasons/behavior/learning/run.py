"""Execute a plan of behavioral learning: train, score, store; whatever is finished stays finished."""

from __future__ import annotations

import copy
import dataclasses
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.behavior.learning.items import Items, join_items
from rightreasons.behavior.learning.kinds import Classes
from rightreasons.behavior.learning.plan import NOT_ASKED, LearningTask, Plan, PlannedRun
from rightreasons.behavior.learning.trainer import train_on_behavior
from rightreasons.behavior.rates import BehavioralPassRate
from rightreasons.core.engines import EngineOptions, run_tasks
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import is_sealed, seal
from rightreasons.datasets.suites.suite import Suite
from rightreasons.models.classes import Classifier
from rightreasons.models.running import progress_bar
from rightreasons.training.finetune import own_random_state


def run_plan(
    plan: Plan, task: LearningTask, *, engine: EngineOptions | None = None, progress: bool = True
) -> int:
    """Execute the unfinished runs of a plan.

    Each run is stored when it is finished, so that a plan can be stopped and taken up again, here or elsewhere.

    Args:
        plan: The plan.
        task: What the plan's settings describe.
        engine: Where runs are executed; None executes them here, one after the other. Workers share the plan's folder.
        progress: Whether to show a bar of the runs.

    Returns:
        How many runs were executed.

    Raises:
        ValueError: If the plan was made for other code or another task; finished runs are kept.
    """
    plan.check_code()
    differing = sorted(
        key for key, value in task.settings().items() if plan.settings.get(key) != value
    )
    if differing:
        raise ValueError(
            f"Expected the data and settings that the plan in {plan.folder} was made for, but got another "
            f"{' and another '.join(differing)}."
        )
    engine = engine or EngineOptions()
    pending = plan.pending()
    for seed in {
        run.seed for run in plan.runs
    }:  # a damaged model is set aside, and trained again where it is needed
        is_sealed(*_shared(plan, seed))
    # Workers do not train the model of the independent data twice: runs that ask for nothing else go first.
    first = (
        [] if engine.name == "serial" else [run for run in pending if run.configuration == "IID"]
    )
    executor = Runner(plan, task).execute  # a worker is sent it whole
    with progress_bar(len(plan.runs), "runs", shown=progress, unit="run") as bar:
        bar.update(len(plan.runs) - len(pending))
        for wave in (first, [run for run in pending if run not in first]):
            for _ in run_tasks(executor, wave, options=engine, progress=False):
                bar.update(1)
    return len(pending)


def _shared(plan: Plan, seed: int) -> tuple[Path, str]:
    """Return the folder of the model that was trained on independent data, and the digest of what it depends on."""
    return plan.folder / "models" / f"iid-{seed}", plan.inputs(f"iid-{seed}")


class Runner:
    """Executes the runs of a plan.

    Args:
        plan: The plan, in which results are stored.
        task: What its runs share.
    """

    def __init__(self, plan: Plan, task: LearningTask) -> None:
        self.plan, self.task, self.kind = plan, task, task.kind
        self.validated = {f.name for f in task.suite.functionalities if len(f.cases) > 2}
        names = ("train", "validation", "test") if self.validated else ("train", "test")
        self.parts = {
            name: task.train_suite() if name == "train" else task.suite.split(name)
            for name in names
        }
        self.suite_train, self.iid_train = (
            self.kind.suite_items(self.parts["train"]),
            self.kind.iid_items(task.train),
        )
        self.iid_mixed = self.iid_train.select(
            item_rng(0, "i.i.d. share").random(len(self.iid_train)) < task.iid_share
        )

    def execute(self, run: PlannedRun) -> None:
        """Execute a run, and store its result."""
        self.plan.check_code()  # that of a worker
        began = time.perf_counter()
        result = (
            self._score(self._iid_model(run.seed), run, {})
            if run.configuration == "IID"
            else self._train(run)
        )
        self.plan.store(run, {**result, "seconds": time.perf_counter() - began})

    def _pretrained(self, seed: int) -> Classifier:
        with own_random_state(seed):  # the head of an encoder is drawn at random
            classifier = self.kind.load(
                self.task.model, device=self.task.device, allow_untrained=True
            )
        if isinstance(self.kind, Classes):
            self.kind.check_model(classifier, self.task.suite)
        return classifier

    def _iid_model(self, seed: int) -> Classifier:
        """Load the model that was trained on independent data, or train it."""
        folder, inputs = _shared(self.plan, seed)
        if not is_sealed(folder, inputs):
            classifier = self._pretrained(seed)
            self._fit(classifier, self.iid_train, "vanilla", self.task.iid_options, seed)
            scratch = folder.with_name(f".{folder.name}.{os.getpid()}.part")
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch.mkdir(parents=True, exist_ok=True)
            classifier.model.save_pretrained(scratch)
            classifier.tokenizer.save_pretrained(scratch)
            seal(scratch, inputs)
            try:
                scratch.rename(folder)
            except OSError:  # another process was faster, with the same model
                shutil.rmtree(scratch)
        return self.kind.load(str(folder), device=self.task.device)

    def _fit(
        self,
        classifier: Classifier,
        items: Items,
        method: str,
        options: Mapping[str, Any],
        seed: int,
    ) -> None:
        encoded, items, target = self.kind.prepare(classifier, items, self._length(classifier))
        train_on_behavior(
            classifier.model, encoded, items, target=target, method=method, seed=seed, **options
        )
        classifier.model.eval()

    def _length(self, classifier: Classifier) -> int:
        return min(self.task.max_length or self.kind.max_length, classifier.max_length)

    def _train(self, run: PlannedRun) -> dict[str, Any]:
        """Train by each alternative, and score the best."""
        start = (
            self._pretrained(run.seed)
            if run.configuration == "IID+T"
            else self._iid_model(run.seed)
        )
        items = (
            self.suite_train
            if run.configuration == "IID->T"
            else join_items(self.suite_train, self.iid_mixed)
        )
        items = items.select(~items.holds_out(run.held_out))
        alternatives = [{**self.task.options, **row} for row in self.task.grid or ({},)]
        if not self.validated.difference(run.held_out):  # no validation case could choose
            alternatives = alternatives[:1]
        best: tuple[float, Classifier, dict[str, Any]] = (-1.0, start, {})
        for options in alternatives:
            candidate = dataclasses.replace(start, model=copy.deepcopy(start.model))
            self._fit(candidate, items, run.method, options, run.seed)
            value = 0.0
            if len(alternatives) > 1:
                part = chosen(self.parts["validation"], run.held_out, keep=False)
                outputs, _ = self.kind.answer(
                    candidate, self.kind.texts_of(part), self._length(candidate)
                )
                value = validation_objective(self.kind.pass_rates(outputs, part))
            if value > best[0]:
                best = (value, candidate, options)
        return self._score(best[1], run, best[2])

    def _score(
        self, classifier: Classifier, run: PlannedRun, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Let a model answer what its run is there for: what was held out, or the whole suite, and independent data."""
        length = self._length(classifier)
        part = chosen(self.parts["test"], run.held_out, keep=True)
        outputs, confidence = self.kind.answer(classifier, self.kind.texts_of(part), length)
        rates = self.kind.pass_rates(outputs, part)
        on_iid, _ = self.kind.answer(
            classifier, (self.task.test.texts, self.task.test.text_pairs), length
        )
        figures, right = self.kind.iid_scores(on_iid, self.task.test.labels)
        passed = iter(encode_outcomes(rates.passed))
        tested = {functionality.name for functionality in part.functionalities}
        return {
            "pass_rates": {f.functionality: f.pass_rate for f in rates.functionalities},
            **figures,
            "mean_confidence": float(confidence.mean()),
            "passed": "".join(
                next(passed) if functionality.name in tested else NOT_ASKED
                for functionality in self.parts["test"].functionalities
                for _ in functionality.cases
            ),
            "iid_right": encode_outcomes(right),
            "options": dict(options),
        }


def validation_objective(result: BehavioralPassRate) -> float:
    """Return what a grid search maximizes: the sum of the test types' mean pass rates, at most 3.

    References:
        Luz de Araujo and Roth (2023) sum the accuracy on MFTs and the pass rates on INVs and DIRs.
    """
    return sum(
        group.pass_rate for group in result.test_types.values() if group.pass_rate is not None
    )


def encode_outcomes(outcomes: Sequence[bool | None]) -> str:
    """Write outcomes as one letter each, so that runs can be compared case by case: 1, 0, and - for undefined.

    Example:
        >>> encode_outcomes([True, None, False])
        '1-0'
    """
    return "".join("-" if outcome is None else "01"[bool(outcome)] for outcome in outcomes)


def chosen(suite: Suite, names: Sequence[str], *, keep: bool) -> Suite:
    """Return a suite with the named functionalities alone, or without them; with all where none is named."""
    if not names:
        return suite
    return dataclasses.replace(
        suite, functionalities=tuple(f for f in suite.functionalities if (f.name in names) == keep)
    )
