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
from rightreasons.models.batching import Encoded, encode, ensure_padding, get_padding_values
from rightreasons.models.classes import Classifier, predict
from rightreasons.models.loading import load_classifier, load_question_answering, share_padding
from rightreasons.models.spans import predict_answers
from rightreasons.models.windows import encode_windows, find_answer_characters

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
        share_padding(classifier.model, classifier.tokenizer)
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
        """Load a classifier of two classes.

        Args:
            name: Folder or hub id.
            device: Device of the model; None for the default one.
            allow_untrained: Whether the model may lack a classification head, which is then initialized
                at random.

        Raises:
            ValueError: If the number of classes is not two.
        """
        classifier = ensure_model_padding(
            load_classifier(name, device=device, allow_untrained=allow_untrained)
        )
        n_classes = classifier.model.config.num_labels
        # In the paper, the soft label of a neutral sentiment is one half for each of two classes.
        if n_classes != 2:
            raise ValueError(f"Expected a model of two classes, but {name} has {n_classes}.")
        return classifier

    def class_names(self, suite: Suite) -> tuple[str, ...] | None:
        """Return the names of the suite's labels that are classes of the model.

        A model of two sentiments has no class for the label neutral: for ("negative", "neutral",
        "positive"), the result is ("negative", "positive"). None if the labels have no names.
        """
        names = suite.label_names
        if names is not None and self.labels == "sentiment" and len(names) == 3:
            # Drop the label neutral.
            return names[0], names[2]
        return names

    def check_model(self, classifier: Classifier, suite: Suite) -> None:
        """Check that a model's classes are in the order of a suite's labels, if both have names.

        Args:
            classifier: The model.
            suite: The suite.

        Raises:
            ValueError: If the order or the names differ.
        """
        if suite.label_names is None or classifier.label_names is None:
            return
        match = match_classes(suite, classifier.label_names, classifier.name)
        # Labels are stored as numbers, so that the classes of the model must be numbered alike.
        is_same_order = list(match.order) == sorted(match.order)
        if not is_same_order:
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
            The tokens of the texts, the unchanged items, and the functions that compute a classifier's
            losses.
        """
        encoded = encode(classifier.tokenizer, items.texts, items.text_pairs, max_length=max_length)
        padding = get_padding_values(classifier.tokenizer, classifier.model)
        encoded = dataclasses.replace(encoded, padding=padding)
        return encoded, items, CLASSES

    def answer(self, classifier: Classifier, texts: Texts, max_length: int) -> Answers:
        """Compute the probabilities that a classifier gives to its classes.

        Args:
            classifier: The classifier.
            texts: N texts, and N second texts or None.
            max_length: Maximum number of tokens per text.

        Returns:
            (N, C) probabilities of the classes, and (N,) the largest probability of each text.
        """
        first_texts, second_texts = texts
        scores = predict(
            classifier,
            first_texts,
            text_pairs=second_texts,
            max_length=max_length,
            progress=False,
        )
        # Double precision, so that the probabilities sum to 1 within the tolerance of `pass_rates`.
        logits = np.asarray(scores.logits, dtype=np.float64)
        probabilities = softmax(logits)
        confidence = probabilities.max(1)
        return probabilities, confidence

    def pass_rates(self, outputs: NDArray[Any], suite: Suite) -> BehavioralPassRate:
        """Score probabilities; for sentiment, those of two classes on a suite of three."""
        # A model of two sentiments is neutral if its probabilities are near one half.
        kind = "binary_sentiment" if self.labels == "sentiment" else "probabilities"
        return pass_rates(outputs, suite.table(), outputs=kind)

    def iid_scores(
        self, outputs: NDArray[Any], labels: Sequence[Any]
    ) -> tuple[dict[str, float], Sequence[bool]]:
        """Compute the accuracy, and the share of predictions that are class 0.

        Args:
            outputs: (N, C) probabilities, from `answer`.
            labels: N labels, which are numbers of the model's classes.

        Returns:
            Name of a figure -> its value, and whether each prediction is correct.
        """
        predicted = outputs.argmax(1)
        is_correct = predicted == np.asarray(labels)
        figures = {
            "iid_accuracy": float(is_correct.mean()),
            # A share near 0 or 1 shows that a model nearly always predicts the same class.
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
        find_answer_characters(data.labels, data.text_pairs, f"the {name}")

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
        """Tokenize questions with their contexts; a long context is divided into windows.

        Args:
            classifier: The model, whose tokenizer is used.
            items: Items over questions and contexts.
            max_length: Maximum number of tokens per window.

        Returns:
            The tokens of the windows, the items over these windows, and the functions that compute the
            losses of a question-answering model.
        """
        # Every window has the whole question, and a part of its context.
        windows = encode_windows(
            classifier.tokenizer, items.texts, items.text_pairs or (), max_length=max_length
        )
        encoded, items_over_windows = window_items(items, windows)
        return encoded, items_over_windows, span_target(encoded)

    def answer(self, classifier: Classifier, texts: Texts, max_length: int) -> Answers:
        """Predict the answers of a question-answering model.

        Args:
            classifier: The model.
            texts: N questions, and N contexts.
            max_length: Maximum number of tokens per window of a context.

        Returns:
            (N,) answers, and (N,) confidence in each: its probability divided by the sum over the
            `N_BEST` most probable spans.
        """
        questions, contexts = texts
        spans = predict_answers(
            classifier,
            questions,
            contexts or (),
            max_length=max_length,
            n_best=N_BEST,
            progress=False,
        )
        return np.array(spans.texts, dtype=object), spans.confidence

    def pass_rates(self, outputs: NDArray[Any], suite: Suite) -> BehavioralPassRate:
        """Score texts."""
        # The answers of all examples are compared as texts.
        return pass_rates(outputs.tolist(), suite.table(), outputs="texts")

    def iid_scores(
        self, outputs: NDArray[Any], labels: Sequence[Any]
    ) -> tuple[dict[str, float], Sequence[bool]]:
        """Compute exact match, as `iid_accuracy`, and token F1.

        Args:
            outputs: (N,) answers.
            labels: N correct answers, such as `{"text": ["Ann", "Ann Lee"], "answer_start": [12, 12]}`;
                a prediction may equal any of the texts.

        Returns:
            Name of a figure -> its value, and whether each answer is correct.
        """
        # A question of SQuAD has the answers of several people.
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
    """Return the name in `KINDS` of the models that can learn from a suite."""
    if is_reading(suite):
        return "answers"
    if asks_for_neutral(suite.table()):
        return "sentiment"
    return "classes"
