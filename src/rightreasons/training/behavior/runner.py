"""Run a plan of behavioral learning: train, score, keep; whatever is finished stays finished."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate, pass_rates
from rightreasons.data.builders.sources import sha256_of
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.validation import check_count, check_fraction, check_labels, check_one_of, check_options
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.running.batching import encode
from rightreasons.models.running.fingerprint import fingerprint_texts
from rightreasons.models.scoring.classes import predict
from rightreasons.training.behavior.items import LABEL_TREATMENTS, Items, iid_items, join_items, suite_items
from rightreasons.training.behavior.plan import Plan, Run, shard_of
from rightreasons.training.behavior.trainer import (
    check_training_option,
    head_features,
    linear_head,
    train_heads,
    train_on_behavior,
)
from rightreasons.training.tuning.finetune import own_random_state
from rightreasons.training.tuning.span_examples import answer_characters

OPTIONS = ("learning_rate", "head_learning_rate", "epochs", "batch_size", "activation", "detach", "precision")
"""What a grid or the settings of a plan may say about training; see `train_on_behavior`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """Labeled independent data.

    Attributes:
        texts: N texts; the questions for reading.
        labels: N labels of the model's classes; for reading, the answers to each question, {text, answer_start}.
        text_pairs: N second texts, or None; the contexts for reading.
    """

    texts: Sequence[str]
    labels: Sequence[Any]
    text_pairs: Sequence[str] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """What all runs of a plan share.

    Attributes:
        model: A folder or hub id of an encoder, or of a classifier of two classes (a question-answering model).
        suite: The whole suite; it is split as `Suite.split` does.
        train: Independent training data.
        test: Independent test data.
        labels: "sentiment" (a suite of three labels for a model of two classes), "classes", or "answers" (spans of a
            context, for a suite of reading).
        options: Options of `train_on_behavior` for the suite's runs.
        iid_options: The same for the training on independent data.
        grid: Alternatives to `options`, of which each run takes the best on the suite's validation part; () for none.
        max_length: The most tokens of a text, or of a window of a context.
        device: "cpu" to keep off a GPU.
        iid_share: How much of the independent data is mixed with the suite, in (0, 1]; `IID` takes all of it.
    """

    model: str
    suite: Suite
    train: Data
    test: Data
    labels: str = "sentiment"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    iid_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    grid: tuple[Mapping[str, Any], ...] = ()
    max_length: int = 128
    device: str | None = None
    iid_share: float = 1.0

    def __post_init__(self) -> None:
        check_one_of(self.labels, (*LABEL_TREATMENTS, "answers"), "labels")
        self._check_options()
        check_count(self.max_length, "max_length", minimum=4)
        if self.labels == "answers":
            for name, data in (("training", self.train), ("test", self.test)):
                if data.text_pairs is None:
                    raise ValueError(f"Expected contexts (`text_pairs`) in the independent {name} data, but got none.")
                answer_characters(data.labels, data.text_pairs, f"the independent {name} data")
        else:
            check_labels(self.test.labels, name="labels of the independent test data")
        check_fraction(self.iid_share, "iid_share")

    def _check_options(self) -> None:
        grid = [(f"grid[{number}]", row) for number, row in enumerate(self.grid)]
        for name, given in (("options", self.options), ("iid_options", self.iid_options), *grid):
            check_options(given, OPTIONS, f"`{name}`")
            for option, value in given.items():
                check_training_option(option, value, called=f"{option} of {name}")
            if self.labels == "answers":  # spans have one loss
                check_one_of(given.get("activation", "softmax"), ("softmax",), f"activation of {name}")

    def runner(self, plan: Plan) -> Runner:
        """Return what makes the runs of a plan."""
        if self.labels == "answers":
            from rightreasons.training.behavior.question_answering import ReadingRunner  # builds on this module

            return ReadingRunner(plan, self)
        return Runner(plan, self)

    def settings(self) -> dict[str, Any]:
        """Return what the results depend on, as plain values for a plan."""
        rows = [json.dumps([f.name, f.test_type, dict(f.expectation)]) for f in self.suite.functionalities]
        rows += [json.dumps(row) for row in self.suite.examples()]
        return {
            "model": self.model,
            "model digest": _model_digest(self.model),
            "suite": self.suite.name,
            "suite digest": fingerprint_texts(rows),
            "train digest": fingerprint_texts(_flat(self.train)),
            "test digest": fingerprint_texts(_flat(self.test)),
            "labels": self.labels,
            "options": dict(self.options),
            "i.i.d. options": dict(self.iid_options),
            "grid": [dict(row) for row in self.grid],
            "max length": self.max_length,
            "i.i.d. share": self.iid_share,
        }


def validation_objective(result: BehavioralPassRate) -> float:
    """Return what a grid search maximizes: the mean pass rates of the test types, summed (at most 3).

    References:
        Luz de Araujo and Roth (2023) sum the accuracy on MFTs and the pass rates on INVs and DIRs.
    """
    return sum(group.pass_rate for group in result.test_types.values() if group.pass_rate is not None)


def run_plan(plan: Plan, task: Task, *, shard: str = "1/1", progress: bool = True) -> int:
    """Make the runs of a shard that are not finished.

    Args:
        plan: The plan.
        task: What the plan's settings describe.
        shard: "i/n", from 1.
        progress: Whether to show a bar of the shard's runs.

    Returns:
        How many runs were made.

    Raises:
        ValueError: If the code or the task is another than the plan was made for; finished runs are kept.
    """
    plan.check_code()
    settings = task.settings()
    differ = sorted(key for key, value in settings.items() if plan.settings.get(key) != value)
    if differ:
        raise ValueError(
            f"Expected the data and settings that the plan in {plan.folder} was made for, but another "
            f"{' and another '.join(differ)} came."
        )
    work = shard_of(plan.runs, shard)
    total, done = sum(map(len, work)), plan.done()
    made = 0
    with tqdm(total=total, desc=f"runs of shard {shard}", unit="run", disable=not progress) as bar:
        bar.update(sum(run.key in done for unit in work for run in unit))
        runner = task.runner(plan)
        for unit in work:
            left = [run for run in unit if run.key not in done]
            if not left:
                continue
            runner.make(left)
            made += len(left)
            bar.update(len(left))
    return made


class Runner:
    """Makes the runs of a plan for classifiers; what other models do otherwise is overridden.

    Args:
        plan: The plan, in which results are stored.
        task: What its runs share.
    """

    def __init__(self, plan: Plan, task: Task) -> None:
        self.plan, self.task = plan, task
        self.validated = {f.name for f in task.suite.functionalities if len(f.cases) > 2}
        names = ("train", "validation", "test") if self.validated else ("train", "test")
        self.parts = {name: task.suite.split(name) for name in names}
        self.suite_train, self.iid_train = self._training_items()
        self.iid_mixed = self.iid_train.select(item_rng(0, "i.i.d. share").random(len(self.iid_train)) < task.iid_share)

    def make(self, runs: list[Run]) -> None:
        """Make runs that are worked on at once, and store each."""
        began = time.perf_counter()
        first = runs[0]
        if first.configuration == "IID":
            results = [self._score(self._iid_model(first.seed), {})]
        elif first.method == "lp":
            results = self._probe(runs)
        else:
            results = [self._train(first)]
        seconds = (time.perf_counter() - began) / len(runs)
        for run, result in zip(runs, results, strict=True):
            self.plan.store(run, {**result, "seconds": seconds})

    def _training_items(self) -> tuple[Items, Items]:
        suite, data = self.parts["train"], self.task.train
        return suite_items(suite, labels=self.task.labels), iid_items(
            data.texts, data.labels, text_pairs=data.text_pairs
        )

    def _items(self, configuration: str) -> Items:
        return self.suite_train if configuration == "IID->T" else join_items(self.suite_train, self.iid_mixed)

    def _start(self, run: Run) -> Classifier:
        return self._pretrained(run.seed) if run.configuration == "IID+T" else self._iid_model(run.seed)

    def _pretrained(self, seed: int) -> Classifier:
        with own_random_state(seed):  # an encoder's head is drawn
            classifier = load_classifier(self.task.model, device=self.task.device, allow_untrained=True)
        if classifier.model.config.num_labels != 2:
            raise ValueError(
                f"Expected a model of two classes, but {self.task.model} has {classifier.model.config.num_labels}."
            )
        return classifier

    def _iid_model(self, seed: int) -> Classifier:
        """Open the model that was trained on independent data, or train it."""
        folder = self.plan.folder / "models" / f"iid-{seed}"
        if not folder.is_dir():
            classifier = self._pretrained(seed)
            self._fit(classifier, self.iid_train, "vanilla", self.task.iid_options, seed)
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".iid-"))
            classifier.model.save_pretrained(scratch)
            classifier.tokenizer.save_pretrained(scratch)
            try:
                scratch.rename(folder)
            except OSError:  # another shard was faster, with the same model
                shutil.rmtree(scratch)
        return self._open(str(folder))

    def _open(self, folder: str) -> Classifier:
        return load_classifier(folder, device=self.task.device)

    def _fit(self, classifier: Classifier, items: Items, method: str, options: Mapping[str, Any], seed: int) -> None:
        encoded = encode(classifier.tokenizer, items.texts, items.text_pairs, max_length=self._length(classifier))
        train_on_behavior(
            classifier.model, encoded, items, method=method, seed=seed, device=self.task.device, **options
        )
        classifier.model.eval()

    def _length(self, classifier: Classifier) -> int:
        return min(self.task.max_length, classifier.max_length)

    def _alternatives(self) -> list[dict[str, Any]]:
        """Return the alternatives of the grid; the first alone where no validation case could choose."""
        grid = self.task.grid if self.validated else self.task.grid[:1]
        return [{**self.task.options, **row} for row in (grid or ({},))]

    def _validates(self, run: Run) -> bool:
        """Tell whether the validation part has cases of what is not held out."""
        return bool(self.validated.difference(run.held_out))

    def _train(self, run: Run) -> dict[str, Any]:
        start, items = self._start(run), self._items(run.configuration)
        kept = items.select(~items.holds_out(run.held_out))
        best: tuple[float, Classifier, dict[str, Any]] | None = None
        alternatives = self._alternatives() if self._validates(run) else self._alternatives()[:1]
        for options in alternatives:
            own = dataclasses.replace(start, model=copy.deepcopy(start.model))
            self._fit(own, kept, run.method, options, run.seed)
            value = self._objective(own, run) if len(alternatives) > 1 else 0.0
            if best is None or value > best[0]:
                best = (value, own, options)
        if best is None:
            raise ValueError("Expected at least one alternative in `grid`, but it is empty.")
        return self._score(best[1], best[2])

    def _objective(self, classifier: Classifier, run: Run) -> float:
        part = without(self.parts["validation"], run.held_out)
        return validation_objective(self._pass_rates(part, self._probabilities(classifier, *_texts(part))))

    def _probe(self, runs: list[Run]) -> list[dict[str, Any]]:
        """Train the heads of all runs from features that are computed once."""
        start, items = self._start(runs[0]), self._items(runs[0].configuration)
        try:
            head = linear_head(start.model)
        except ValueError:  # a head of several layers: one training each
            return [self._train(run) for run in runs]
        features = self._features(start, items.texts, items.text_pairs)
        alternatives = self._alternatives()
        needed = ("validation", "test") if len(alternatives) > 1 else ("test",)
        of_parts = {name: self._features(start, *_texts(self.parts[name])) for name in needed}
        iid = self._features(start, self.task.test.texts, self.task.test.text_pairs)
        held = np.stack([items.holds_out(run.held_out) for run in runs])
        best: list[tuple[float, dict[str, Any]]] = [(-1.0, {})] * len(runs)
        for options in alternatives:
            heads = train_heads(head, features, items, held, seed=runs[0].seed, **head_options(options))
            for number, (run, trained) in enumerate(zip(runs, heads, strict=True)):
                value = 0.0
                if len(alternatives) > 1 and self._validates(run):
                    validation = self.parts["validation"]
                    logits = _apply(trained, of_parts["validation"])
                    keep = np.array([row["functionality"] not in run.held_out for row in validation.examples()])
                    rates = self._pass_rates(without(validation, run.held_out), softmax(logits[keep]))
                    value = validation_objective(rates)
                if value > best[number][0]:
                    on_suite, on_iid = (softmax(_apply(trained, table)) for table in (of_parts["test"], iid))
                    best[number] = (value, self._result(on_suite, on_iid, options))
        return [result for _, result in best]

    def _features(self, classifier: Classifier, texts: Sequence[str], pairs: Sequence[str] | None) -> Any:
        encoded = encode(classifier.tokenizer, texts, pairs, max_length=self._length(classifier))
        return head_features(classifier.model, encoded)

    def _probabilities(
        self, classifier: Classifier, texts: Sequence[str], pairs: Sequence[str] | None
    ) -> NDArray[np.float64]:
        found = predict(classifier, texts, text_pairs=pairs, max_length=self._length(classifier), progress=False)
        return softmax(np.asarray(found.logits, dtype=np.float64))

    def _pass_rates(self, part: Suite, chances: NDArray[np.float64]) -> BehavioralPassRate:
        outputs = "binary_sentiment" if self.task.labels == "sentiment" else "probabilities"
        return pass_rates(chances, part.table(), outputs=outputs, resampling=Resampling(resamples=1))

    def _score(self, classifier: Classifier, options: Mapping[str, Any]) -> dict[str, Any]:
        on_suite = self._probabilities(classifier, *_texts(self.parts["test"]))
        on_iid = self._probabilities(classifier, self.task.test.texts, self.task.test.text_pairs)
        return self._result(on_suite, on_iid, options)

    def _result(
        self, on_suite: NDArray[np.float64], on_iid: NDArray[np.float64], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        result = self._pass_rates(self.parts["test"], on_suite)
        right = on_iid.argmax(1) == np.asarray(self.task.test.labels)
        return {
            "pass_rates": {f.functionality: f.pass_rate for f in result.functionalities},
            "iid_accuracy": float(right.mean()),
            "iid_predicted_negative": float((on_iid.argmax(1) == 0).mean()),
            "mean_confidence": float(on_suite.max(1).mean()),
            "passed": marks(result.passed),
            "iid_right": marks(right.tolist()),
            "options": dict(options),
        }


def head_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `train_heads` takes of the options of a run; heads have a learning rate of their own."""
    taken = {"head_learning_rate": "learning_rate"} | {n: n for n in ("epochs", "batch_size", "activation", "detach")}
    return {taken[name]: value for name, value in options.items() if name in taken}


def marks(outcomes: Sequence[bool | None]) -> str:
    """Write outcomes as one letter each, so that two runs can be compared case by case: 1, 0, and - for undefined."""
    return "".join("-" if outcome is None else "01"[bool(outcome)] for outcome in outcomes)


def _apply(head: Any, features: Any) -> NDArray[np.float64]:
    weight, bias = (value.detach().numpy().astype(np.float64) for value in (head.weight, head.bias))
    return np.asarray(features.numpy().astype(np.float64) @ weight.T + bias)


def _texts(suite: Suite) -> tuple[list[str], list[str] | None]:
    rows = suite.texts()
    return [row[0] for row in rows], [row[1] for row in rows] if len(suite.text_columns) == 2 else None


def without(suite: Suite, names: Sequence[str]) -> Suite:
    """Return a suite without some functionalities."""
    return dataclasses.replace(suite, functionalities=tuple(f for f in suite.functionalities if f.name not in names))


_MODEL_FILES = ("*.safetensors", "*.bin", "*.json", "*.model", "vocab.txt", "merges.txt")


def _model_digest(name: str) -> str:
    """Digest the weights, configurations and vocabularies in a model's folder; "" for a hub id."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return ""
    digest = hashlib.blake2b(digest_size=16)
    files = {file for kind in _MODEL_FILES for file in folder.glob(kind) if file.is_file()}
    for file in sorted(files):
        digest.update(f"{file.name} {sha256_of(file)}\n".encode())
    return digest.hexdigest()


def _flat(data: Data) -> list[str]:
    return [*data.texts, *(data.text_pairs or ()), *map(str, data.labels)]
