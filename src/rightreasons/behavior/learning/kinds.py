"""The two kinds of models that learn from a suite: classifiers, and question-answering models.

`KINDS` lists them by the labels of a suite. A kind loads models, makes items, and scores answers;
all that differs between the runs of a plan is here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.behavior.expectations import answer_scores
from rightreasons.behavior.learning.items import (
    CLASSES,
    Items,
    Target,
    iid_items,
    question_items,
    reading_items,
    span_target,
    suite_items,
    suite_texts,
    window_items,
)
from rightreasons.behavior.learning.options import ACTIVATIONS
from rightreasons.behavior.matching import match_classes
from rightreasons.behavior.measure import is_reading, reading_texts
from rightreasons.behavior.predictions import asks_for_neutral
from rightreasons.behavior.rates import BehavioralPassRate, pass_rates
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_labels, softmax
from rightreasons.datasets.suites.suite import Suite
from rightreasons.models.batching import Encoded, encode, ensure_padding, padding_values
from rightreasons.models.classes import Classifier, predict
from rightreasons.models.loading import agree_on_padding, load_classifier, load_question_answering
from rightreasons.models.spans import predict_answers
from rightreasons.models.windows import answer_characters, encode_windows

Texts: TypeAlias = "tuple[Sequence[str], Sequence[str] | None]"
"""N texts, and N second texts or None."""


@dataclasses.dataclass(frozen=True, eq=False)
class IidData:
    """Labeled independent data.

    Attributes:
        texts: N texts; the questions for reading.
        labels: N labels of the model's classes; for reading, the answers to each question, {text, answer_start}.
        text_pairs: N second texts, or None; the contexts for reading.
    """

    texts: Sequence[str]
    labels: Sequence[Any]
    text_pairs: Sequence[str] | None = None


Answers: TypeAlias = "tuple[NDArray[Any], NDArray[np.float64]]"
"""Predictions of a model, (N, C) probabilities or (N,) texts, and the (N,) probability of each."""


def ensure_model_padding(classifier: Classifier) -> Classifier:
    """Give a model without a padding token that of its tokenizer, or its end token, for batches."""
    if getattr(classifier.model.config, "pad_token_id", None) is None:
        ensure_padding(classifier.tokenizer)
        agree_on_padding(classifier.model, classifier.tokenizer)
    return classifier


@dataclasses.dataclass(frozen=True)
class Classes:
    """Classifiers.

    Attributes:
        labels: How a suite's labels are read, of `TARGETS`.
    """

    max_length: ClassVar[int] = 128
    activations: ClassVar[tuple[str, ...]] = ACTIVATIONS
    labels: str = "classes"
    texts_of = staticmethod(suite_texts)

    def check_data(self, data: IidData, name: str) -> None:
        """Check that every item has a label."""
        check_labels(data.labels, name=f"labels of the {name}")

    def suite_items(self, suite: Suite) -> Items:
        """Turn a suite's cases into items."""
        return suite_items(suite, labels=self.labels)

    def iid_items(self, data: IidData) -> Items:
        """Turn independent data into items."""
        return iid_items(data.texts, data.labels, text_pairs=data.text_pairs)

    def load(self, name: str, *, device: str | None, allow_untrained: bool = False) -> Classifier:
        """Load a classifier.

        Args:
            name: Folder or hub id.
            device: Device of the model; None for the default one.
            allow_untrained: Whether the model may lack a classification head, which is then drawn at random.

        Raises:
            ValueError: If it has not two classes.
        """
        classifier = ensure_model_padding(
            load_classifier(name, device=device, allow_untrained=allow_untrained)
        )
        n_classes = classifier.model.config.num_labels
        # The soft labels of the paper divide a neutral sentiment among two classes.
        if n_classes != 2:
            raise ValueError(f"Expected a model of two classes, but {name} has {n_classes}.")
        return classifier

    def class_names(self, suite: Suite) -> tuple[str, ...] | None:
        """Return the names of the suite's labels that are classes of the model; None if labels have no names.

        A model of two sentiments has no class for the neutral label of a suite of three.
        """
        names = suite.label_names
        if names is not None and self.labels == "sentiment" and len(names) == 3:
            return names[0], names[2]
        return names

    def check_model(self, classifier: Classifier, suite: Suite) -> None:
        """Check that a model's classes are in the order of a suite's labels, if both have names.

        Args:
            classifier: The model.
            suite: The suite.

        Raises:
            ValueError: If they are in another order, or have other names.
        """
        if suite.label_names is None or classifier.label_names is None:
            return
        match = match_classes(suite, classifier.label_names, classifier.name)
        # Targets and figures are by number, and a model keeps the order of its classes.
        if list(match.order) != sorted(match.order):
            raise ValueError(
                f"Expected the classes of {classifier.name} in the order of the labels of "
                f"{suite.name!r}, {format_list(match.class_names or ())}, but got "
                f"{format_list(classifier.label_names)}."
            )

    def prepare(
        self, classifier: Classifier, items: Items, max_length: int
    ) -> tuple[Encoded, Items, Target]:
        """Tokenize the texts of items.

        Args:
            classifier: The classifier, whose tokenizer is used.
            items: The items.
            max_length: Maximum number of tokens per text; longer texts are truncated.

        Returns:
            The tokens of the texts, the items, and what the model learns from them.
        """
        encoded = encode(classifier.tokenizer, items.texts, items.text_pairs, max_length=max_length)
        padding = padding_values(classifier.tokenizer, classifier.model)
        encoded = dataclasses.replace(encoded, padding=padding)
        return encoded, items, CLASSES

    def answer(self, classifier: Classifier, texts: Texts, max_length: int) -> Answers:
        """Let a classifier answer.

        Args:
            classifier: The classifier.
            texts: N texts, and N second texts or None.
            max_length: Maximum number of tokens per text.

        Returns:
            (N, C) probabilities of the classes, and (N,) the largest of each text.
        """
        scores = predict(
            classifier, texts[0], text_pairs=texts[1], max_length=max_length, progress=False
        )
        # In double precision, so that the probabilities sum to 1 as exactly as the checks expect.
        probabilities = softmax(np.asarray(scores.logits, dtype=np.float64))
        return probabilities, probabilities.max(1)

    def pass_rates(self, outputs: NDArray[Any], suite: Suite) -> BehavioralPassRate:
        """Score probabilities; for sentiment, those of two classes on a suite of three."""
        # The neutral label is expected of predictions near one half.
        kind = "binary_sentiment" if self.labels == "sentiment" else "probabilities"
        return pass_rates(outputs, suite.table(), outputs=kind)

    def iid_scores(
        self, outputs: NDArray[Any], labels: Sequence[Any]
    ) -> tuple[dict[str, float], Sequence[bool]]:
        """Compute accuracy, and the share of predictions that are class 0.

        Args:
            outputs: (N, C) probabilities, from `answer`.
            labels: N labels.

        Returns:
            Name of a figure -> its value, and whether each prediction is correct.
        """
        # Outputs and labels have the numbers of the model's classes.
        predicted = outputs.argmax(1)
        is_correct = predicted == np.asarray(labels)
        figures = {
            "iid_accuracy": float(is_correct.mean()),
            # The share shows a model that gives one answer to everything.
            "iid_predicted_negative": float((predicted == 0).mean()),
        }
        return figures, is_correct.tolist()


N_BEST = 5
"""Spans among which the confidence in an answer is measured."""


@dataclasses.dataclass(frozen=True)
class Spans:
    """Question-answering models."""

    max_length: ClassVar[int] = 384
    activations: ClassVar[tuple[str, ...]] = ("softmax",)

    def check_data(self, data: IidData, name: str) -> None:
        """Check that every question has an answer in its context."""
        if data.text_pairs is None:
            raise ValueError(f"Expected contexts (`text_pairs`) in the {name}, but got none.")
        answer_characters(data.labels, data.text_pairs, f"the {name}")

    suite_items = staticmethod(reading_items)
    texts_of = staticmethod(reading_texts)

    def iid_items(self, data: IidData) -> Items:
        """Turn independent questions into items."""
        return question_items(data.texts, data.text_pairs or (), data.labels)

    def load(self, name: str, *, device: str | None, allow_untrained: bool = False) -> Classifier:
        """Load a question-answering model."""
        return ensure_model_padding(
            load_question_answering(name, device=device, allow_untrained=allow_untrained)
        )

    def prepare(
        self, classifier: Classifier, items: Items, max_length: int
    ) -> tuple[Encoded, Items, Target]:
        """Tokenize questions with their contexts into windows, for contexts that are longer than the model reads.

        Args:
            classifier: The model.
            items: Items over questions and contexts.
            max_length: Maximum number of tokens per window.

        Returns:
            The tokens of the windows, the items over the windows, and what the model learns from them.
        """
        # Every window has the whole question, and a part of its context.
        windows = encode_windows(
            classifier.tokenizer, items.texts, items.text_pairs or (), max_length=max_length
        )
        encoded, over_windows = window_items(items, windows)
        return encoded, over_windows, span_target(encoded)

    def answer(self, classifier: Classifier, texts: Texts, max_length: int) -> Answers:
        """Let a question-answering model answer.

        Args:
            classifier: The model.
            texts: N questions, and N contexts.
            max_length: Maximum number of tokens per window of a context.

        Returns:
            (N,) answers, and (N,) the share of the answer's probability in that of the best `N_BEST` spans.
        """
        spans = predict_answers(
            classifier,
            texts[0],
            texts[1] or (),
            max_length=max_length,
            n_best=N_BEST,
            progress=False,
        )
        return np.array(spans.texts, dtype=object), spans.confidence

    def pass_rates(self, outputs: NDArray[Any], suite: Suite) -> BehavioralPassRate:
        """Score texts."""
        return pass_rates(outputs.tolist(), suite.table(), outputs="texts")

    def iid_scores(
        self, outputs: NDArray[Any], labels: Sequence[Any]
    ) -> tuple[dict[str, float], Sequence[bool]]:
        """Compute exact match, as `iid_accuracy`, and token F1.

        Args:
            outputs: (N,) answers.
            labels: N entries {"text": correct answers, …}, any of which counts.

        Returns:
            Name of a figure -> its value, and whether each answer is correct.
        """
        # SQuAD's questions have several answers of people, any of which is correct.
        references = [row["text"] for row in labels]
        scores = answer_scores(outputs.tolist(), references)
        return {"iid_accuracy": scores.exact_match, "iid_f1": scores.f1}, scores.exact


Kind: TypeAlias = Classes | Spans
"""All that differs between the runs of classifiers and of question-answering models."""

KINDS: Mapping[str, Kind] = {
    "sentiment": Classes("sentiment"),
    "classes": Classes("classes"),
    "answers": Spans(),
}
"""The kinds by the labels of a suite.

They are three sentiments for a model of two classes, classes, or spans of a text.
"""


def kind_of(suite: Suite) -> str:
    """Return the name of the kind that a suite asks for."""
    if is_reading(suite):
        return "answers"
    return "sentiment" if asks_for_neutral(suite.table()) else "classes"
