"""What behavioral learning leaves open: how items are made, and what a kind of model answers."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.resampling import Resampling
from rightreasons.models.loading import Classifier, agree_on_padding
from rightreasons.models.running.batching import Encoded, ensure_padding
from rightreasons.training.behavior.heads import Features
from rightreasons.training.behavior.items import Items
from rightreasons.training.behavior.trainer import Target

NO_RESAMPLING = Resampling(resamples=1)
"""For figures whose intervals are not kept."""

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


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers to N texts.

    Attributes:
        outputs: (N, C) class probabilities, or (N,) texts.
        confidence: (N,) probability of each answer.
    """

    outputs: NDArray[Any]
    confidence: NDArray[np.float64]


def padded(classifier: Classifier) -> Classifier:
    """Give a model without a padding token the one of its tokenizer, or its end token, for training in batches."""
    if getattr(classifier.model.config, "pad_token_id", None) is None:
        ensure_padding(classifier.tokenizer)
        agree_on_padding(classifier.model, classifier.tokenizer)
    return classifier


class Kind(abc.ABC):
    """A kind of model and of labels: all that differs between the runs of classifiers and of other models.

    Attributes:
        max_length: Default maximum of tokens per text, or per window of a context.
        activations: Values of the training option `activation` that its losses take.
    """

    max_length: ClassVar[int]
    activations: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def check_data(self, data: IidData, name: str) -> None:
        """Check independent data, which errors call `name`.

        Raises:
            ValueError: If it cannot be learned from.
        """

    @abc.abstractmethod
    def suite_items(self, suite: Suite) -> Items:
        """Turn a suite's cases into items."""

    @abc.abstractmethod
    def iid_items(self, data: IidData) -> Items:
        """Turn independent data into items."""

    @abc.abstractmethod
    def texts_of(self, suite: Suite) -> Texts:
        """Return the texts of a suite's examples, in its order."""

    @abc.abstractmethod
    def load(self, name: str, *, device: str | None, allow_untrained: bool = False) -> Classifier:
        """Load a model."""

    def check_model(self, classifier: Classifier, suite: Suite) -> None:  # noqa: B027 (answers have no order)
        """Check that a model's classes are in the order of a suite's labels.

        Raises:
            ValueError: If they are in another order, or have other names.
        """

    @abc.abstractmethod
    def prepare(self, classifier: Classifier, items: Items, max_length: int) -> tuple[Encoded, Items, Target]:
        """Tokenize the texts of items: the tokens, the items over them, and what a model learns from them."""

    @abc.abstractmethod
    def features(self, classifier: Classifier, encoded: Encoded) -> torch.Tensor | Features:
        """Return what enters the linear head, as `train_heads` takes it; the model is frozen."""

    @abc.abstractmethod
    def answer(self, classifier: Classifier, texts: Texts, max_length: int) -> Answers:
        """Let a model answer."""

    @abc.abstractmethod
    def head_answers(
        self, classifier: Classifier, texts: Texts, max_length: int
    ) -> Callable[[Sequence[torch.nn.Linear]], list[Answers]]:
        """Return what lets each of several heads answer on top of the frozen encoder of a model."""

    @abc.abstractmethod
    def pass_rates(self, outputs: NDArray[Any], suite: Suite) -> BehavioralPassRate:
        """Score the answers to a suite."""

    @abc.abstractmethod
    def iid_scores(self, answers: Answers, labels: Sequence[Any]) -> tuple[dict[str, float], Sequence[bool]]:
        """Score the answers to independent data: figures, `iid_accuracy` among them, and which items are right."""
