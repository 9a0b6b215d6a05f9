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

    Each run is stored when it is finished, so that a plan can be stopped and resumed, also on another
    machine.

    Args:
        plan: The plan.
        task: Model, suite, data and options, to which the plan's settings belong.
        engine: Processes or machines that execute the runs, all with access to the plan's folder;
            None to execute them in this process, one after another.
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
    # `is_sealed` renames the folder of a damaged model, so that the first run that needs the model
    # trains it again.
    for seed in {run.seed for run in plan.runs}:
        folder, inputs = _locate_iid_model(plan, seed)
        is_sealed(folder, inputs)
    execute = Runner(plan, task).execute
    with progress_bar(len(plan.runs), "runs", shown=progress, unit="run") as bar:
        bar.update(len(plan.runs) - len(pending))
        for wave in _order_runs(pending, engine):
            for _ in run_tasks(execute, wave, options=engine, progress=False):
                bar.update(1)
    return len(pending)


def _check_task(plan: Plan, task: LearningTask) -> None:
    """Check that a plan was made for a task, with the same model, data and options.

    Args:
        plan: The plan, with the settings for which it was made.
        task: Model, suite, data and options.

    Raises:
        ValueError: If a setting differs, such as the digest of the model; the message names all settings
            that differ.
    """
    differing_names = []
    for name, value in task.settings().items():
        if plan.settings.get(name) != value:
            differing_names.append(name)
    if differing_names:
        raise ValueError(
            f"Expected the data and settings that the plan in {plan.folder} was made for, "
            f"but got another {' and another '.join(sorted(differing_names))}."
        )


def _order_runs(pending: Sequence[PlannedRun], engine: EngineOptions) -> list[list[PlannedRun]]:
    """Divide runs into waves, each of which is executed when the previous wave is finished.

    The first wave trains on independent data. Other runs start from its models, which several workers
    would otherwise train at the same time.

    Args:
        pending: Runs to execute.
        engine: Processes or machines that execute the runs. The engine "serial" needs a single wave.
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
        task: Model, suite, data and options of the runs.
    """

    def __init__(self, plan: Plan, task: LearningTask) -> None:
        """Make the items that the runs train on, and select the training and test cases of the suite."""
        self.plan = plan
        self.task = task
        self.kind = task.kind
        # Functionalities with validation cases: with two cases, one is for training and one for testing.
        self.validated = set()
        for functionality in task.suite.functionalities:
            if len(functionality.cases) > 2:
                self.validated.add(functionality.name)
        self.train_suite = task.train_suite()
        self.test_suite = task.suite.split("test")
        self.suite_train = self.kind.suite_items(self.train_suite)
        self.iid_train = self.kind.iid_items(task.train)
        # Select a random share of the independent data, which is mixed with the suite.
        random_numbers = item_rng(0, "i.i.d. share").random(len(self.iid_train))
        self.iid_mixed = self.iid_train.select(random_numbers < task.iid_share)

    @functools.cached_property
    def validation_suite(self) -> Suite:
        """The validation part of the suite, which only a grid search needs."""
        return self.task.suite.split("validation")

    def execute(self, run: PlannedRun) -> None:
        """Execute a run, and store its result with the duration in seconds.

        Args:
            run: A run of the plan.

        Raises:
            ValueError: If this process has another version of the code than the plan.
        """
        # A worker may run on a machine with another version of the package.
        self.plan.check_code()
        start = time.perf_counter()
        if run.configuration == "IID":
            result = self._score_model(self._open_iid_model(run.seed), run, {})
        else:
            result = self._train(run)
        self.plan.store(run, {**result, "seconds": time.perf_counter() - start})

    def _load_pretrained(self, seed: int) -> Classifier:
        """Load the model of the task, and check the order of its classes.

        Args:
            seed: Seed of the weights of a new head, if the model has none.
        """
        with seed_random_state(seed):
            classifier = self.kind.load(
                self.task.model, device=self.task.device, allow_untrained=True
            )
        if isinstance(self.kind, Classes):
            self.kind.check_model(classifier, self.task.suite)
        return classifier

    def _open_iid_model(self, seed: int) -> Classifier:
        """Load the model that is trained on independent data with a seed; train it if it is not stored.

        Args:
            seed: Seed of the training.
        """
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
        max_length = self._get_max_length(classifier)
        encoded, items, target = self.kind.prepare(classifier, items, max_length)
        train_on_behavior(
            classifier.model, encoded, items, target=target, method=method, seed=seed, **options
        )
        classifier.model.eval()

    def _get_max_length(self, classifier: Classifier) -> int:
        """Return the maximum number of tokens that the task and the model allow."""
        return min(self.task.max_length or self.kind.max_length, classifier.max_length)

    def _train(self, run: PlannedRun) -> dict[str, Any]:
        """Train a model for a run, with each row of the grid, and score the best one.

        Args:
            run: A run of any configuration but IID.

        Returns:
            The result to store: the scores of the best model, and digests of its weights before and
            after the training.
        """
        if run.configuration == "IID+T":
            initial = self._load_pretrained(run.seed)
        else:
            initial = self._open_iid_model(run.seed)

        # "IID->T" trains on the suite alone; the other configurations mix independent data into it.
        items = self.suite_train
        if run.configuration != "IID->T":
            items = join_items(items, self.iid_mixed)
        is_held_out = items.holds_out(run.held_out)
        items = items.select(~is_held_out)

        # Without a grid, train once, with the options of the task.
        grid = self.task.grid or ({},)
        alternatives = [{**self.task.options, **row} for row in grid]
        can_validate = bool(self.validated.difference(run.held_out))
        if not can_validate:
            # Without validation cases, alternatives cannot be compared, so that only the first is used.
            alternatives = alternatives[:1]

        # Any model is better than -1: the validation objective is a sum of pass rates.
        best_value = -1.0
        best = initial
        best_options: Mapping[str, Any] = {}
        for options in alternatives:
            # Each alternative starts from the same weights.
            candidate = dataclasses.replace(initial, model=copy.deepcopy(initial.model))
            self._fit(candidate, items, run.method, options, run.seed)
            value = 0.0
            if len(alternatives) > 1:
                value = self._compute_objective(candidate, run)
            if value > best_value:
                best_value = value
                best = candidate
                best_options = options
        return {
            **self._score_model(best, run, best_options),
            # `collect_scores` checks by these digests that methods train differently.
            "initial_weights": fingerprint_model(initial.model),
            "weights": fingerprint_model(best.model),
        }

    def _compute_objective(self, classifier: Classifier, run: PlannedRun) -> float:
        """Compute the objective of the grid search on validation cases.

        Args:
            classifier: A trained model.
            run: The run, whose held-out functionalities are excluded.
        """
        cases = select_functionalities(self.validation_suite, run.held_out, keep=False)
        texts = self.kind.texts_of(cases)
        outputs, _ = self.kind.answer(classifier, texts, self._get_max_length(classifier))
        return validation_objective(self.kind.pass_rates(outputs, cases))

    def _score_model(
        self, classifier: Classifier, run: PlannedRun, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Score a model on the held-out functionalities, or on the whole suite, and on independent data.

        Args:
            classifier: The trained model.
            run: The run. If it holds out nothing, the model is tested on the whole suite.
            options: Options of its training, which are stored with the result.

        Returns:
            Plain values: pass rate by functionality, figures on independent data, and outcomes as letters.
        """
        max_length = self._get_max_length(classifier)
        test_cases = select_functionalities(self.test_suite, run.held_out, keep=True)
        test_texts = self.kind.texts_of(test_cases)
        outputs, confidence = self.kind.answer(classifier, test_texts, max_length)
        result = self.kind.pass_rates(outputs, test_cases)
        pass_rates = {}
        for functionality in result.functionalities:
            pass_rates[functionality.functionality] = functionality.pass_rate

        # All runs are scored on the same independent data.
        iid_data = self.task.test
        iid_texts = iid_data.texts, iid_data.text_pairs
        iid_outputs, _ = self.kind.answer(classifier, iid_texts, max_length)
        iid_figures, is_correct = self.kind.iid_scores(iid_outputs, iid_data.labels)
        return {
            "pass_rates": pass_rates,
            **iid_figures,
            "mean_confidence": float(confidence.mean()),
            "passed": _align_outcomes(result.passed, test_cases, self.test_suite),
            "iid_right": encode_outcomes(is_correct),
            "options": dict(options),
        }


def _save_model(classifier: Classifier, folder: Path, inputs: str) -> None:
    """Save a model and its tokenizer in a folder, completely or not at all.

    Args:
        classifier: The model.
        folder: The folder.
        inputs: Digest of the data and settings that the model was trained with.
    """
    # Write to a temporary folder of this process, and rename the folder when it is complete.
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    temporary.mkdir(parents=True, exist_ok=True)
    classifier.model.save_pretrained(temporary)
    classifier.tokenizer.save_pretrained(temporary)
    seal(temporary, inputs)
    try:
        temporary.rename(folder)
    except OSError:
        # The folder exists: another process has saved the same model.
        shutil.rmtree(temporary)


def _align_outcomes(passed: Sequence[bool | None], part: Suite, suite: Suite) -> str:
    """Write the outcomes of some functionalities as letters for all cases of the suite.

    The outcomes of runs that evaluated different functionalities can then be compared case by case.

    Args:
        passed: Outcome of each case of `part`; None if it is undefined.
        part: Some functionalities of the suite, with all their cases, in the order of the suite.
        suite: The suite.

    Returns:
        One letter per case of the suite: 1 passed, 0 failed, - undefined, or . if the functionality is
        not in `part`.
    """
    letters = encode_outcomes(passed)
    evaluated_names = {functionality.name for functionality in part.functionalities}
    aligned = ""
    start = 0
    for functionality in suite.functionalities:
        n_cases = len(functionality.cases)
        if functionality.name in evaluated_names:
            aligned += letters[start : start + n_cases]
            start += n_cases
        else:
            aligned += NOT_ASKED * n_cases
    return aligned


def validation_objective(result: BehavioralPassRate) -> float:
    """Return the objective of a grid search: the sum of the mean pass rates of MFT, INV and DIR tests.

    A test type without a pass rate counts as 0, so that the objective is between 0 and 3.

    References:
        Luz de Araujo and Roth (2023) sum the accuracy on MFTs and the pass rates on INVs and DIRs.
    """
    total = 0.0
    for type_result in result.test_types.values():
        if type_result.pass_rate is not None:
            total += type_result.pass_rate
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
        is_named = functionality.name in names
        if is_named == keep:
            selected.append(functionality)
    return dataclasses.replace(suite, functionalities=tuple(selected))
