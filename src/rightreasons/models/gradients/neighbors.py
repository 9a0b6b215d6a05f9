"""Words that are alike to a model: the nearest ones in its table of word embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_count
from rightreasons.models.gradients.embedding_input import EmbeddingInput
from rightreasons.models.loading import Classifier


class NoWordError(ValueError):
    """None of the candidate words is a token of the model."""


class EmbeddingNeighbors:
    """Nearest words by the cosine of their word embeddings.

    Args:
        classifier: The model.
        among: Lower-case candidates, such as the words of texts of one class; those that are not one token of the
            vocabulary are left out. None takes all words of the vocabulary that consist of letters.
        count: Number of neighbors per word; default 5.

    Raises:
        ValueError: If the model has no table of word embeddings, or no word is left.

    Example:
        >>> neighbors = EmbeddingNeighbors(classifier)  # doctest: +SKIP
        >>> neighbors("good")  # doctest: +SKIP
        ['great', 'better', 'well', 'nice', 'bad']
    """

    def __init__(self, classifier: Classifier, among: Iterable[str] | None = None, *, count: int = 5) -> None:
        self.count = check_count(count, "count")
        vocabulary: dict[str, int] = classifier.tokenizer.get_vocab()
        special = set(classifier.tokenizer.all_special_tokens)
        # Byte-level and metaspace vocabularies mark the word's first piece, BERT's marks the others.
        marks = next((mark for mark in ("Ġ", "▁") if sum(token[:1] == mark for token in vocabulary) > 100), "")
        whole = {
            token[len(marks) :].lower(): row
            for token, row in sorted(vocabulary.items(), key=lambda pair: -pair[1])
            if token.startswith(marks) and token[len(marks) :].isalpha() and token not in special
        }
        names = sorted(whole) if among is None else sorted(set(among) & set(whole))
        if not names:
            raise NoWordError(
                "Expected at least one word that is a token of the model's vocabulary, but there is none."
            )
        rows = torch.tensor([whole[name] for name in names], device=classifier.device)
        self.words = names
        self._place = {name: place for place, name in enumerate(names)}
        self._whole = whole
        self._device = classifier.device
        self._table = EmbeddingInput(classifier.model)
        self._vectors = _unit(self._table.look_up(rows))

    def __call__(self, word: str) -> list[str]:
        """Return the words nearest to a word, nearest first; [] where the word is not one token."""
        row = self._whole.get(word.lower())
        if row is None:
            return []
        near = self._vectors @ _unit(self._table.look_up(torch.tensor([row], device=self._device)))[0]
        own = self._place.get(word.lower())
        if own is not None:
            near[own] = -np.inf
        count = min(self.count, len(near) - (own is not None))
        order = np.argsort(-near, kind="stable")[:count]
        return [self.words[place] for place in order.tolist()]


def class_neighbors(
    classifier: Classifier, words: Mapping[int, Iterable[str]], *, count: int = 5
) -> dict[int, EmbeddingNeighbors]:
    """Return neighbors for each class among the words of that class only, for changes that should keep the label.

    Args:
        classifier: The model.
        words: Lower-case words of each class, such as `data.substitutions.class_words` gives.
        count: Number of neighbors per word; default 5.

    Returns:
        The neighbors of each class that has a word in the model's vocabulary.
    """
    neighbors = {}
    for label, own in words.items():
        try:
            neighbors[label] = EmbeddingNeighbors(classifier, own, count=count)
        except NoWordError:
            continue
    return neighbors


def _unit(vectors: Any) -> NDArray[np.float64]:
    rows = vectors.double().cpu().numpy()
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12), dtype=np.float64)
