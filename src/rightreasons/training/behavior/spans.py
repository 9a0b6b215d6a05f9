"""Behavioral learning of question-answering models, which mark a span of a context."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate, pass_rates
from rightreasons.analysis.behavior.squad_scores import answer_scores
from rightreasons.data.suites.suite import Suite
from rightreasons.measuring.behavior_spans import reading_texts
from rightreasons.models.loading import Classifier, load_question_answering
from rightreasons.models.running.batching import Encoded, length_batches
from rightreasons.models.scoring.spans import SpanAnswers, best_spans, join_windows, predict_answers
from rightreasons.models.scoring.windows import encode_windows
from rightreasons.training.behavior.heads import Features, head_inputs
from rightreasons.training.behavior.items import Items
from rightreasons.training.behavior.kind import NO_RESAMPLING, Answers, IidData, Kind, Texts, padded
from rightreasons.training.behavior.span_items import question_items, reading_items, span_target, window_items
from rightreasons.training.behavior.trainer import Target
from rightreasons.training.tuning.span_examples import answer_characters

N_BEST = 5
"""Spans among which the confidence in an answer is measured."""


@dataclasses.dataclass(frozen=True)
class Spans(Kind):
    """Question-answering models."""

    max_length: ClassVar[int] = 384
    activations: ClassVar[tuple[str, ...]] = ("softmax",)

    def check_data(self, data: IidData, name: str) -> None:
        """Check that every question has an answer in its context."""
        if data.text_pairs is None:
            raise ValueError(f"Expected contexts (`text_pairs`) in the {name}, but got none.")
        answer_characters(data.labels, data.text_pairs, f"the {name}")

    def suite_items(self, suite: Suite) -> Items:
        """Turn a suite's cases into items."""
        return reading_items(suite)

    def iid_items(self, data: IidData) -> Items:
        """Turn independent questions into items."""
        return question_items(data.texts, data.text_pairs or (), data.labels)

    def texts_of(self, suite: Suite) -> Texts:
        """Return the questions and contexts of a suite's examples, in its order."""
        return reading_texts(suite)

    def load(self, name: str, *, device: str | None, allow_untrained: bool = False) -> Classifier:
        """Load a question-answering model."""
        return padded(load_question_answering(name, device=device, allow_untrained=allow_untrained))

    def prepare(self, classifier: Classifier, items: Items, max_length: int) -> tuple[Encoded, Items, Target]:
        """Tokenize questions with their contexts into windows."""
        windows = encode_windows(classifier.tokenizer, items.texts, items.text_pairs or (), max_length=max_length)
        encoded, over_windows = window_items(items, windows)
        return encoded, over_windows, span_target(encoded)

    def features(self, classifier: Classifier, encoded: Encoded) -> Features:
        """Compute the features of each batch anew: those of all tokens of all texts would not fit in memory."""
        return head_inputs(classifier.model, encoded)

    def answer(self, classifier: Classifier, texts: Texts, max_length: int) -> Answers:
        """Let a question-answering model answer."""
        questions, contexts = texts
        return _answers(
            predict_answers(classifier, questions, contexts or (), max_length=max_length, n_best=N_BEST, progress=False)
        )

    def head_answers(
        self, classifier: Classifier, texts: Texts, max_length: int
    ) -> Callable[[Sequence[torch.nn.Linear]], list[Answers]]:
        """Let every head mark its spans; each batch goes through the encoder once for all heads."""
        questions, contexts = texts[0], texts[1] or ()
        windows = encode_windows(classifier.tokenizer, questions, contexts, max_length=max_length)
        features = head_inputs(classifier.model, windows.encoded)
        batches = length_batches(windows.encoded.lengths, batch_size=32)
        back = np.argsort(np.concatenate(batches))

        @torch.no_grad()
        def answer(heads: Sequence[torch.nn.Linear]) -> list[Answers]:
            tables: list[list[dict[str, NDArray[Any]]]] = [[] for _ in heads]
            for batch in batches:
                inputs = features(batch)
                for head, rows in zip(heads, tables, strict=True):
                    first, last = head(inputs).unbind(-1)
                    rows.append(best_spans(first, last, windows, batch, n_best=N_BEST))
            joined = [{key: np.concatenate([row[key] for row in rows])[back] for key in rows[0]} for rows in tables]
            return [_answers(join_windows(windows, columns, contexts, n_best=N_BEST)) for columns in joined]

        return answer

    def pass_rates(self, outputs: NDArray[Any], suite: Suite) -> BehavioralPassRate:
        """Score texts."""
        return pass_rates(outputs.tolist(), suite.table(), outputs="texts")

    def iid_scores(self, answers: Answers, labels: Sequence[Any]) -> tuple[dict[str, float], Sequence[bool]]:
        """Compute exact match, as `iid_accuracy`, and token F1."""
        scores = answer_scores(answers.outputs.tolist(), [row["text"] for row in labels], resampling=NO_RESAMPLING)
        return {"iid_accuracy": scores.exact_match, "iid_f1": scores.f1}, scores.exact


def _answers(spans: SpanAnswers) -> Answers:
    return Answers(np.array(spans.texts, dtype=object), spans.confidence)
