"""Baselines of attributions: the embedding at which the path of every token begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.models.classes import Classifier
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.gradients.options import AttributionOptions
from rightreasons.models.gradients.paths import Path
from rightreasons.models.input_limits import get_vocabulary_size
from rightreasons.models.items import Items
from rightreasons.models.runs.columns import Column

NEAR = 1 / 64
"""Position on the path from zeros at which the model is asked whether it has already changed."""

SINGULAR = 0.25
"""Zero is singular if more than this share of the change of the logits happens in the first `NEAR`
of the path. Models with positions in their embeddings change there by 0.03 or less, models that
normalize only words by 0.55 or more."""

_TEXTS = (
    "The film was good, and the story is as fine as the actors are.",
    "Why did the rain stop? Nobody knows what it was.",
    "a long and dull day",
    "She said that there were three of them, not two.",
)


@dataclass(frozen=True, eq=False)
class Baseline:
    """The embedding at which the path of every token to its own embedding begins.

    Attributes:
        name: "zeros", "mean" or "pad".
        token: Id of the token whose embedding is the baseline, for "pad"; otherwise None.
        vector: (d,) mean of the word embeddings, for "mean"; otherwise None.
    """

    name: str
    token: int | None = None
    vector: Tensor | None = None

    @classmethod
    def choose(
        cls, classifier: Classifier, embedding_input: EmbeddingInput, options: AttributionOptions
    ) -> Baseline:
        """Return the baseline of the options, with its vector or token.

        For the option "auto", the baseline is "zeros", or "mean" if the logits of the model change
        abruptly near zero embeddings.

        Args:
            classifier: The model.
            embedding_input: The same model, fed by embeddings.
            options: Options of attributions, of which `baseline` and `layer` are used.

        Raises:
            ValueError: If the baseline is "pad", and the tokenizer has no padding token.
        """
        name = options.baseline
        if name == "auto":
            name = "zeros"
            # A mean over the vocabulary is defined for word embeddings only.
            feeds_words = options.layer == "word_embeddings"
            if feeds_words and is_zero_singular(classifier, embedding_input):
                name = "mean"
        if name == "mean":
            return cls(name, vector=_average_words(classifier, embedding_input))
        if name == "pad":
            token = classifier.tokenizer.pad_token_id
            if token is None:
                raise ValueError(
                    f"Expected the tokenizer of {classifier.name} to have a pad token for "
                    "baseline='pad', but the tokenizer has no pad token."
                )
            return cls(name, token)
        return cls(name)

    def make_embeddings(
        self, embedding_input: EmbeddingInput, inputs: dict[str, Tensor], is_kept: Tensor
    ) -> Tensor | None:
        """Return the embeddings at which the paths of a batch begin.

        Args:
            embedding_input: The model, which looks up embeddings.
            inputs: The padded inputs of the model, (b, L) each.
            is_kept: (b, L) whether a token begins at its own embedding, and so does not change;
                used for special tokens.

        Returns:
            (b, L, d) embeddings. None if all of them are zero.
        """
        if self.token is not None:
            is_replaced = inputs["attention_mask"].bool() & ~is_kept
            input_ids = inputs["input_ids"].masked_fill(is_replaced, self.token)
            return embedding_input.embed({**inputs, "input_ids": input_ids})
        # The most common case, zeros for all tokens, needs no table.
        if self.vector is None and not is_kept.any():
            return None
        embeddings = embedding_input.embed(inputs)
        start: Tensor | float = 0.0
        if self.vector is not None:
            start = self.vector.to(embeddings.dtype)
        return torch.where(is_kept.unsqueeze(-1), embeddings, start)


def _average_words(classifier: Classifier, embedding_input: EmbeddingInput) -> Tensor:
    """Return the mean embedding, (d,), of the tokens of the tokenizer."""
    # A table may have more rows, because its size is padded to a round number.
    n_words = min(len(classifier.tokenizer), get_vocabulary_size(classifier.model) or 0)
    words = embedding_input.look_up(torch.arange(n_words, device=classifier.device))
    return words.mean(dim=0, dtype=torch.float64)


def is_zero_singular(classifier: Classifier, embedding_input: EmbeddingInput) -> bool:
    """Return whether the logits of a model change abruptly if word embeddings leave zero.

    A model that normalizes word embeddings without positions (RMSNorm in Llama, Qwen and Gemma,
    LayerNorm in DeBERTa-v3 and ModernBERT) depends on their direction only, however small they are.
    At zero its gradient is a multiple of 1 / sqrt(eps) for each layer. Almost all of the change
    from zero to the text then happens so close to zero that no quadrature rule has nodes there.

    The change from zero to `NEAR` of the path is measured for a few fixed texts, as a share of the
    change over the whole path. Zero is singular if the median share exceeds `SINGULAR`.

    Args:
        classifier: The model with its tokenizer.
        embedding_input: The same model, fed by word embeddings in place of tokens.
    """
    items = Items.of(classifier, _TEXTS)

    def measure_share(inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        """Return the share of the change close to zero, for the only item of a batch."""
        path = Path(embedding_input, inputs, baseline=None, target="logit", max_tokens=1)
        # Three points on the path of the only item of the batch.
        item_of_points = np.zeros(3, dtype=np.int64)
        at_zero, near_zero, at_text = path.logits(item_of_points, np.array([0.0, NEAR, 1.0]))
        change = float(np.linalg.norm(at_text - at_zero))
        # If the logits do not change at all, zero is not singular.
        share = 0.0
        if change > 0:
            share = float(np.linalg.norm(near_zero - at_zero)) / change
        return {"share": np.array([share])}

    columns = items.run("baseline", measure_share, batch_size=1, progress=False)
    return bool(np.median(columns.array("share")) > SINGULAR)
