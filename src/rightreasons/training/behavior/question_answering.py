"""Behavioral learning of reading: the runs of a plan for question-answering models, and a test on a suite."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate, pass_rates
from rightreasons.analysis.behavior.squad_scores import answer_scores
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.behavior_answers import SuiteAnswers
from rightreasons.models.loading import Classifier, load_question_answering
from rightreasons.models.running.batching import length_batches
from rightreasons.models.running.frozen import frozen
from rightreasons.models.scoring.spans import SpanAnswers, best_spans, join_windows, predict_answers
from rightreasons.models.scoring.windows import Windows, encode_windows
from rightreasons.training.behavior.items import Items
from rightreasons.training.behavior.plan import Run
from rightreasons.training.behavior.runner import Runner, head_options, marks, validation_objective, without
from rightreasons.training.behavior.span_items import (
    question_items,
    reading_items,
    reading_texts,
    span_target,
    window_items,
)
from rightreasons.training.behavior.trainer import head_inputs, linear_head, train_heads, train_on_behavior
from rightreasons.training.tuning.finetune import own_random_state

N_BEST = 5
"""Spans among which the confidence in an answer is measured."""

NO_RESAMPLING = Resampling(resamples=1)
"""For figures whose intervals nobody reads."""


def run_reading_suite(
    classifier: Classifier,
    suite: Suite,
    *,
    batch_size: int = 32,
    max_length: int | None = None,
    resampling: Resampling = Resampling(),
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> tuple[BehavioralPassRate, SpanAnswers]:
    """Ask a question-answering model every example of a suite of reading and score its answers.

    Args:
        classifier: From `load_question_answering`.
        suite: A suite with the text columns question and context, such as checklist_reading.
        batch_size: The most windows of a batch.
        max_length: As in `predict_answers`.
        resampling: Level of the intervals, and how those of the means are resampled.
        progress: Whether to show a bar.
        out: A folder for the answers, from which a killed run goes on.

    Returns:
        The pass rates, and the answers in the suite's order.

    Raises:
        ValueError: If the suite has other texts, or the model is of another kind.
    """
    questions, contexts = reading_texts(suite)
    found = predict_answers(
        classifier,
        questions,
        contexts,
        ids=[row["id"] for row in suite.examples()],
        max_length=max_length,
        batch_size=batch_size,
        progress=progress,
        out=out,
    )
    rates = pass_rates(
        list(found.texts),
        suite.table(),
        outputs="texts",
        resampling=resampling,
    )
    return rates, found


def ask_reader(classifier: Classifier, suite: Suite, **options: Any) -> SuiteAnswers:
    """Ask a question-answering model a suite, as `ask` asks a classifier; the options are those of `run_reading_suite`.

    Raises:
        ValueError: As `run_reading_suite`.
    """
    rates, found = run_reading_suite(classifier, suite, **options)
    return SuiteAnswers(classifier.name, suite, rates, list(found.texts))


class ReadingRunner(Runner):
    """Makes the runs of a plan for question-answering models."""

    def _training_items(self) -> tuple[Items, Items]:
        data = self.task.train
        return reading_items(self.parts["train"]), question_items(data.texts, data.text_pairs or (), data.labels)

    def _pretrained(self, seed: int) -> Classifier:
        with own_random_state(seed):  # an encoder's head is drawn
            return load_question_answering(self.task.model, device=self.task.device, allow_untrained=True)

    def _open(self, folder: str) -> Classifier:
        return load_question_answering(folder, device=self.task.device)

    def _windows(self, classifier: Classifier, questions: Sequence[str], contexts: Sequence[str]) -> Windows:
        return encode_windows(classifier.tokenizer, questions, contexts, max_length=self._length(classifier))

    def _fit(self, classifier: Classifier, items: Items, method: str, options: Mapping[str, Any], seed: int) -> None:
        encoded, own = window_items(items, self._windows(classifier, items.texts, items.text_pairs or ()))
        train_on_behavior(
            classifier.model,
            encoded,
            own,
            target=span_target(encoded),
            method=method,
            seed=seed,
            device=self.task.device,
            **options,
        )
        classifier.model.eval()

    def _read(self, classifier: Classifier, questions: Sequence[str], contexts: Sequence[str]) -> SpanAnswers:
        length = self._length(classifier)
        return predict_answers(classifier, questions, contexts, max_length=length, n_best=N_BEST, progress=False)

    def _objective(self, classifier: Classifier, run: Run) -> float:
        part = without(self.parts["validation"], run.held_out)
        found = self._read(classifier, *reading_texts(part))
        return validation_objective(
            pass_rates(list(found.texts), part.table(), outputs="texts", resampling=NO_RESAMPLING)
        )

    def _score(self, classifier: Classifier, options: Mapping[str, Any]) -> dict[str, Any]:
        on_suite = self._read(classifier, *reading_texts(self.parts["test"]))
        on_iid = self._read(classifier, self.task.test.texts, self.task.test.text_pairs or ())
        return self._found(on_suite, on_iid, options)

    def _found(self, on_suite: SpanAnswers, on_iid: SpanAnswers, options: Mapping[str, Any]) -> dict[str, Any]:
        rates = pass_rates(list(on_suite.texts), self.parts["test"].table(), outputs="texts", resampling=NO_RESAMPLING)
        iid = answer_scores(on_iid.texts, [row["text"] for row in self.task.test.labels], resampling=NO_RESAMPLING)
        return {
            "pass_rates": {f.functionality: f.pass_rate for f in rates.functionalities},
            "iid_accuracy": iid.exact_match,
            "iid_f1": iid.f1,
            "mean_confidence": float(on_suite.confidence.mean()),
            "passed": marks(rates.passed),
            "iid_right": marks(iid.exact),
            "options": dict(options),
        }

    def _probe(self, runs: list[Run]) -> list[dict[str, Any]]:
        """Train the heads of all runs in one pass: each batch goes through the frozen encoder once for all of them.

        Features of all tokens of all texts would not fit in memory, so they are not kept.
        """
        start, items = self._start(runs[0]), self._items(runs[0].configuration)
        try:
            head = linear_head(start.model)
        except ValueError:  # a head of several layers: one training each
            return [self._train(run) for run in runs]
        encoded, own = window_items(items, self._windows(start, items.texts, items.text_pairs or ()))
        held = np.stack([own.holds_out(run.held_out) for run in runs])
        tests = reading_texts(self.parts["test"])
        iid = (self.task.test.texts, self.task.test.text_pairs or ())
        alternatives = self._alternatives()
        best: list[tuple[float, dict[str, Any]]] = [(-1.0, {})] * len(runs)
        with frozen(start.model):
            for options in alternatives:
                heads = train_heads(
                    head,
                    head_inputs(start.model, encoded),
                    own,
                    held,
                    target=span_target(encoded),
                    seed=runs[0].seed,
                    **head_options(options),
                )
                values = [0.0] * len(runs)
                if len(alternatives) > 1:
                    answers = self._read_by(start, heads, *reading_texts(self.parts["validation"]))
                    values = [self._value(run, found) for run, found in zip(runs, answers, strict=True)]
                on_suite, on_iid = (self._read_by(start, heads, *texts) for texts in (tests, iid))
                for number, value in enumerate(values):
                    if value > best[number][0]:
                        best[number] = (value, self._found(on_suite[number], on_iid[number], options))
        return [result for _, result in best]

    def _value(self, run: Run, found: SpanAnswers) -> float:
        """Return the objective of a run from answers to the whole validation part."""
        if not self._validates(run):
            return 0.0
        whole = self.parts["validation"]
        kept = [row["functionality"] not in run.held_out for row in whole.examples()]
        texts = [text for text, keep in zip(found.texts, kept, strict=True) if keep]
        table = without(whole, run.held_out).table()
        return validation_objective(pass_rates(texts, table, outputs="texts", resampling=NO_RESAMPLING))

    def _read_by(
        self,
        classifier: Classifier,
        heads: Sequence[torch.nn.Linear],
        questions: Sequence[str],
        contexts: Sequence[str],
    ) -> list[SpanAnswers]:
        """Let every head mark the answers; each batch goes through the encoder once."""
        windows = self._windows(classifier, questions, contexts)
        features = head_inputs(classifier.model, windows.encoded)
        batches = length_batches(windows.encoded.lengths, batch_size=32)
        found: list[list[dict[str, NDArray[Any]]]] = [[] for _ in heads]
        with torch.no_grad():
            for batch in batches:
                seen = features(batch)
                for number, own in enumerate(heads):
                    first, last = own(seen).unbind(-1)
                    found[number].append(best_spans(first, last, windows, batch, n_best=N_BEST))
        back = np.argsort(np.concatenate(batches))
        joined = [
            {key: np.concatenate([row[key] for row in rows])[back] for key in ("starts", "ends", "scores")}
            for rows in found
        ]
        return [join_windows(windows, columns, contexts, n_best=N_BEST) for columns in joined]
