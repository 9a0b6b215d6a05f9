"""Behavioral learning of classifiers with two classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate, pass_rates
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.label_names import listed, match_labels
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.validation import check_labels
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.running.batching import Encoded, encode
from rightreasons.models.running.padding import padding_values
from rightreasons.models.scoring.classes import predict
from rightreasons.training.behavior.class_items import iid_items, suite_items
from rightreasons.training.behavior.heads import head_features
from rightreasons.training.behavior.items import Items
from rightreasons.training.behavior.kind import Answers, IidData, Kind, Texts, padded
from rightreasons.training.behavior.options import ACTIVATIONS
from rightreasons.training.behavior.trainer import CLASSES, Target


@dataclasses.dataclass(frozen=True)
class Classes(Kind):
    """Classifiers.

    Attributes:
        labels: How a suite's labels are read, of `LABEL_TREATMENTS`.
    """

    max_length: ClassVar[int] = 128
    activations: ClassVar[tuple[str, ...]] = ACTIVATIONS
    labels: str = "classes"

    def check_data(self, data: IidData, name: str) -> None:
        """Check that every item has a label."""
        check_labels(data.labels, name=f"labels of the {name}")

    def suite_items(self, suite: Suite) -> Items:
        """Turn a suite's cases into items."""
        return suite_items(suite, labels=self.labels)

    def iid_items(self, data: IidData) -> Items:
        """Turn independent data into items."""
        return iid_items(data.texts, data.labels, text_pairs=data.text_pairs)

    def texts_of(self, suite: Suite) -> Texts:
        """Return the texts of a suite's examples, in its order."""
        rows = suite.texts()
        return [row[0] for row in rows], [row[1] for row in rows] if len(suite.text_columns) == 2 else None

    def load(self, name: str, *, device: str | None, allow_untrained: bool = False) -> Classifier:
        """Load a classifier.

        Raises:
            ValueError: If it has not two classes.
        """
        classifier = padded(load_classifier(name, device=device, allow_untrained=allow_untrained))
        if classifier.model.config.num_labels != 2:
            raise ValueError(f"Expected a model of two classes, but {name} has {classifier.model.config.num_labels}.")
        return classifier

    def class_names(self, suite: Suite) -> tuple[str, ...] | None:
        """Return the names of the suite's labels that the model's classes stand for; None where it names none."""
        names = suite.label_names
        return (names[0], names[2]) if names is not None and self.labels == "sentiment" and len(names) == 3 else names

    def check_model(self, classifier: Classifier, suite: Suite) -> None:
        """Check that a model's classes are in the order of a suite's labels.

        Raises:
            ValueError: If they are in another order, or have other names.
        """
        names = self.class_names(suite)
        if names is None or classifier.label_names is None:
            return
        match = match_labels(
            names, classifier.label_names, where=f"the suite {suite.name!r}", classes_of=classifier.name
        )
        if match.class_of.tolist() != list(range(len(names))):
            raise ValueError(
                f"Expected the classes of {classifier.name} in the order of the labels of {suite.name!r}, "
                f"{listed(names)}, but they are {listed(classifier.label_names)}."
            )

    def prepare(self, classifier: Classifier, items: Items, max_length: int) -> tuple[Encoded, Items, Target]:
        """Tokenize the texts of items."""
        return self._encode(classifier, (items.texts, items.text_pairs), max_length), items, CLASSES

    def features(self, classifier: Classifier, encoded: Encoded) -> torch.Tensor:
        """Compute the features of all texts, once."""
        return head_features(classifier.model, encoded)

    def answer(self, classifier: Classifier, texts: Texts, max_length: int) -> Answers:
        """Let a classifier answer."""
        scores = predict(classifier, texts[0], text_pairs=texts[1], max_length=max_length, progress=False)
        return _answers(np.asarray(scores.logits, dtype=np.float64))

    def head_answers(
        self, classifier: Classifier, texts: Texts, max_length: int
    ) -> Callable[[Sequence[torch.nn.Linear]], list[Answers]]:
        """Compute the features once; each head multiplies them in float64."""
        features = self.features(classifier, self._encode(classifier, texts, max_length)).numpy().astype(np.float64)

        def answer(heads: Sequence[torch.nn.Linear]) -> list[Answers]:
            tables = [[part.detach().numpy().astype(np.float64) for part in (h.weight, h.bias)] for h in heads]
            return [_answers(features @ weight.T + bias) for weight, bias in tables]

        return answer

    def pass_rates(self, outputs: NDArray[Any], suite: Suite) -> BehavioralPassRate:
        """Score probabilities; for sentiment, those of two classes on a suite of three."""
        kind = "binary_sentiment" if self.labels == "sentiment" else "probabilities"
        return pass_rates(outputs, suite.table(), outputs=kind)

    def iid_scores(self, answers: Answers, labels: Sequence[Any]) -> tuple[dict[str, float], Sequence[bool]]:
        """Compute accuracy, and the share of items called class 0, which shows a model that gives one answer."""
        predicted = answers.outputs.argmax(1)
        right = predicted == np.asarray(labels)
        figures = {"iid_accuracy": float(right.mean()), "iid_predicted_negative": float((predicted == 0).mean())}
        return figures, right.tolist()

    def _encode(self, classifier: Classifier, texts: Texts, max_length: int) -> Encoded:
        encoded = encode(classifier.tokenizer, *texts, max_length=max_length)
        return dataclasses.replace(encoded, padding=padding_values(classifier.model, classifier.tokenizer))


def _answers(logits: NDArray[np.float64]) -> Answers:
    probabilities = softmax(logits)
    return Answers(probabilities, probabilities.max(1))
