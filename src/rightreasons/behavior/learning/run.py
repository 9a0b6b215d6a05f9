"""Execution of a plan of behavioral learning: train, score, and store.

`run_plan` executes the unfinished runs, here or in workers. `Runner` executes one of them: it takes
a pretrained model or the one that was trained on independent data, trains it by the run's method,
and scores it on the cases that the run has held out.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
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
from rightreasons.models.fingerprints import fingerprint_model
from rightreasons.models.runs.progress import progress_bar
from rightreasons.training.finetune import seed_random_state


def run_plan(
    plan: Plan, task: LearningTask, *, engine: EngineOptions | None = None, progress: bool = True
) -> int:
    """Execute the unfinished runs of a plan.

    Each run is stored when it is finished, so that a plan can be stopped and resumed, here or
    elsewhere.

    Args:
        plan: The plan.
        task: What the plan's settings describe.
        engine: Where runs are executed; None to execute them here, one after the other. Workers
            share the plan's folder.
        progress: Whether to show a bar of the runs.

    Returns:
        Number of runs that were executed.

    Raises:
        ValueError: If the plan was made for other code or another task; finished runs are kept.
    """
    plan.check_code()
    _check_task(plan, task)
    engine = engine or EngineOptions()
    pending = plan.pending()
    # This sets a damaged model aside, so that the first run that needs it trains it again.
    for seed in {run.seed for run in plan.runs}:
        is_sealed(*_locate_iid_model(plan, seed))
    # A worker process gets the runner as a whole, with the method that it calls.
    executor = Runner(plan, task).execute
    with progress_bar(len(plan.runs), "runs", shown=progress, unit="run") as bar:
        bar.update(len(plan.runs) - len(pending))
        for wave in _order_runs(pending, engine):
            for _ in run_tasks(executor, wave, options=engine, progress=False):
                bar.update(1)
    return len(pending)


def _check_task(plan: Plan, task: LearningTask) -> None:
    """Check that a plan was made for a task.

    Raises:
        ValueError: If a setting differs, such as the digest of the model; the message names all.
    """
    differing = []
    for key, value in task.settings().items():
        if plan.settings.get(key) != value:
            differing.append(key)
    if differing:
        raise ValueError(
            f"Expected the data and settings that the plan in {plan.folder} was made for, "
            f"but got another {' and another '.join(sorted(differing))}."
        )


def _order_runs(pending: Sequence[PlannedRun], engine: EngineOptions) -> list[list[PlannedRun]]:
    """Divide runs into waves, each of which is executed when the one before it is finished.

    Other runs start from the model that was trained on independent data. So that two workers do not
    train it at the same time, the runs of independent data come first.

    Args:
        pending: Runs to execute.
        engine: Where they are executed; one process needs no waves.
    """
    if engine.name == "serial":
        return [list(pending)]
    iid_runs = [run for run in pending if run.configuration == "IID"]
    later_runs = [run for run in pending if run.configuration != "IID"]
    return [iid_runs, later_runs]


def _locate_iid_model(plan: Plan, seed: int) -> tuple[Path, str]:
    """Return the folder of the model trained on independent data, and the digest of its inputs."""
    return plan.folder / "models" / f"iid-{seed}", plan.inputs(f"iid-{seed}")


class Runner:
    """Executes the runs of a plan.

    Args:
        plan: The plan, in which results are stored.
        task: What its runs share.
    """

    def __init__(self, plan: Plan, task: LearningTask) -> None:
        """Make the items that the runs train on, and select the parts of the suite."""
        self.plan = plan
        self.task = task
        self.kind = task.kind
        # Names of the functionalities with validation cases: of two cases, one trains and one tests.
        self.validated = set()
        for functionality in task.suite.functionalities:
            if len(functionality.cases) > 2:
                self.validated.add(functionality.name)
        self.train_suite = task.train_suite()
        self.test_suite = task.suite.split("test")
        self.suite_train = self.kind.suite_items(self.train_suite)
        self.iid_train = self.kind.iid_items(task.train)
        # A random share of the independent data is mixed with the suite.
        is_mixed = item_rng(0, "i.i.d. share").random(len(self.iid_train)) < task.iid_share
        self.iid_mixed = self.iid_train.select(is_mixed)

    @functools.cached_property
    def validation_suite(self) -> Suite:
        """The validation part of the suite, which only a grid search needs."""
        return self.task.suite.split("validation")

    def execute(self, run: PlannedRun) -> None:
        """Execute a run, and store its result with the seconds that it took.

        Raises:
            ValueError: If the code of this process is not that of the plan.
        """
        # A worker may run on a machine with another version.
        self.plan.check_code()
        start = time.perf_counter()
        if run.configuration == "IID":
            result = self._score(self._open_iid_model(run.seed), run, {})
        else:
            result = self._train(run)
        self.plan.store(run, {**result, "seconds": time.perf_counter() - start})

    def _load_pretrained(self, seed: int) -> Classifier:
        """Load the model of the task, with a head that is drawn from the seed if it lacks one."""
        with seed_random_state(seed):
            classifier = self.kind.load(
                self.task.model, device=self.task.device, allow_untrained=True
            )
        if isinstance(self.kind, Classes):
            self.kind.check_model(classifier, self.task.suite)
        return classifier

    def _open_iid_model(self, seed: int) -> Classifier:
        """Load the model that was trained on independent data with a seed, or train and store it first."""
        folder, inputs = _locate_iid_model(self.plan, seed)
        is_stored = is_sealed(folder, inputs)
        if not is_stored:
            classifier = self._load_pretrained(seed)
            self._fit(classifier, self.iid_train, "vanilla", self.task.iid_options, seed)
            _save_model(classifier, folder, inputs)
        return self.kind.load(str(folder), device=self.task.device)

    def _fit(
        self,
        classifier: Classifier,
        items: Items,
        method: str,
        options: Mapping[str, Any],
        seed: int,
    ) -> None:
        """Train a classifier in place, and leave it in evaluation mode.

        Args:
            classifier: The classifier.
            items: Items to train on.
            method: A name of `METHODS`.
            options: Options of `train_on_behavior`.
            seed: Seed of the training.
        """
        encoded, items, target = self.kind.prepare(
            classifier, items, self._get_max_length(classifier)
        )
        train_on_behavior(
            classifier.model, encoded, items, target=target, method=method, seed=seed, **options
        )
        classifier.model.eval()

    def _get_max_length(self, classifier: Classifier) -> int:
        """Return the maximum number of tokens that the task and the model allow."""
        return min(self.task.max_length or self.kind.max_length, classifier.max_length)

    def _train(self, run: PlannedRun) -> dict[str, Any]:
        """Train a model for a run, with each alternative of the grid, and score the best one.

        Args:
            run: A run of any configuration but IID.

        Returns:
            The result to store: that of `_score`, and digests of the weights before and after the training.
        """
        if run.configuration == "IID+T":
            initial = self._load_pretrained(run.seed)
        else:
            initial = self._open_iid_model(run.seed)
        # "IID->T" trains on the suite alone; the other configurations mix independent data into it.
        items = self.suite_train
        if run.configuration != "IID->T":
            items = join_items(items, self.iid_mixed)
        items = items.select(~items.holds_out(run.held_out))
        # Without a grid there is one alternative: the options of the task.
        grid = self.task.grid or ({},)
        alternatives = [{**self.task.options, **row} for row in grid]
        # Without validation cases, alternatives cannot be compared: the first one is taken.
        if not self.validated.difference(run.held_out):
            alternatives = alternatives[:1]

        best_value = -1.0
        best = initial
        best_options: Mapping[str, Any] = {}
        for options in alternatives:
            # Each alternative starts from the same weights.
            candidate = dataclasses.replace(initial, model=copy.deepcopy(initial.model))
            self._fit(candidate, items, run.method, options, run.seed)
            value = 0.0
            if len(alternatives) > 1:
                value = self._validate(candidate, run)
            if value > best_value:
                best_value = value
                best = candidate
                best_options = options
        return {
            **self._score(best, run, best_options),
            # `collect_scores` checks by these digests that methods train differently.
            "initial_weights": fingerprint_model(initial.model),
            "weights": fingerprint_model(best.model),
        }

    def _validate(self, classifier: Classifier, run: PlannedRun) -> float:
        """Return how well a model does on the validation cases of the functionalities that it trained on."""
        cases = select_functionalities(self.validation_suite, run.held_out, keep=False)
        outputs, _ = self.kind.answer(
            classifier, self.kind.texts_of(cases), self._get_max_length(classifier)
        )
        return validation_objective(self.kind.pass_rates(outputs, cases))

    def _score(
        self, classifier: Classifier, run: PlannedRun, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Score a model on what was held out, or on the whole suite, and on independent data.

        Args:
            classifier: The trained model.
            run: The run.
            options: Options of its training, which are stored with the result.

        Returns:
            Plain values: pass rate by functionality, figures on independent data, and outcomes as letters.
        """
        max_length = self._get_max_length(classifier)
        test_cases = select_functionalities(self.test_suite, run.held_out, keep=True)
        outputs, confidence = self.kind.answer(
            classifier, self.kind.texts_of(test_cases), max_length
        )
        rates = self.kind.pass_rates(outputs, test_cases)
        # All runs are scored on the same independent data.
        test = self.task.test
        iid_outputs, _ = self.kind.answer(classifier, (test.texts, test.text_pairs), max_length)
        figures, is_correct = self.kind.iid_scores(iid_outputs, test.labels)
        pass_rates = {}
        for functionality in rates.functionalities:
            pass_rates[functionality.functionality] = functionality.pass_rate
        return {
            "pass_rates": pass_rates,
            **figures,
            "mean_confidence": float(confidence.mean()),
            "passed": _align_outcomes(rates.passed, test_cases, self.test_suite),
            "iid_right": encode_outcomes(is_correct),
            "options": dict(options),
        }


def _save_model(classifier: Classifier, folder: Path, inputs: str) -> None:
    """Save a model and its tokenizer in a folder, complete or not at all.

    Args:
        classifier: The model.
        folder: The folder.
        inputs: Digest of what the model was made from, by which it is recognized later.
    """
    # Written next to the folder, and renamed when it is complete. Each process has its own copy.
    scratch = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    scratch.mkdir(parents=True, exist_ok=True)
    classifier.model.save_pretrained(scratch)
    classifier.tokenizer.save_pretrained(scratch)
    seal(scratch, inputs)
    try:
        scratch.rename(folder)
    except OSError:
        # Another process was faster, with the same model.
        shutil.rmtree(scratch)


def _align_outcomes(passed: Sequence[bool | None], part: Suite, suite: Suite) -> str:
    """Write the outcomes of a part of a suite as letters for all cases of the suite.

    So the outcomes of runs that evaluated different parts can be compared case by case.

    Args:
        passed: Outcome of each case of the part; None if it is undefined.
        part: Some functionalities of the suite, with all their cases.
        suite: The suite.

    Returns:
        One letter per case of the suite, `NOT_ASKED` for those of other functionalities.
    """
    letters = iter(encode_outcomes(passed))
    evaluated_names = {functionality.name for functionality in part.functionalities}
    aligned = []
    for functionality in suite.functionalities:
        is_evaluated = functionality.name in evaluated_names
        for _ in functionality.cases:
            aligned.append(next(letters) if is_evaluated else NOT_ASKED)
    return "".join(aligned)


def validation_objective(result: BehavioralPassRate) -> float:
    """Return what a grid search maximizes: the sum of the test types' mean pass rates, at most 3.

    Test types without a pass rate count as 0.

    References:
        Luz de Araujo and Roth (2023) sum the accuracy on MFTs and the pass rates on INVs and DIRs.
    """
    total = 0.0
    for group in result.test_types.values():
        if group.pass_rate is not None:
            total += group.pass_rate
    return total


def encode_outcomes(outcomes: Sequence[bool | None]) -> str:
    """Write outcomes as one letter each: 1 for passed, 0 for failed, and - for undefined (None).

    Example:
        >>> encode_outcomes([True, None, False])
        '1-0'
    """
    letter_by_outcome = {None: "-", False: "0", True: "1"}
    return "".join(letter_by_outcome[outcome] for outcome in outcomes)


def select_functionalities(suite: Suite, names: Sequence[str], *, keep: bool) -> Suite:
    """Return a suite with only the named functionalities, or without them.

    Args:
        suite: The suite.
        names: Names of functionalities; empty for the whole suite.
        keep: Whether to keep the named functionalities, rather than the others.
    """
    if not names:
        return suite
    selected = []
    for functionality in suite.functionalities:
        if (functionality.name in names) == keep:
            selected.append(functionality)
    return dataclasses.replace(suite, functionalities=tuple(selected))
