"""Where the paths of integrated gradients begin: an input without information, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.models.gradients.attribution_options import AttributionOptions
from rightreasons.models.gradients.embedding_input import EmbeddingInput
from rightreasons.models.gradients.path import Path
from rightreasons.models.items import Items
from rightreasons.models.loading import Classifier
from rightreasons.models.running.store import Column

NEAR = 1 / 64
"""Where on the path from zeros the model is asked whether it has already changed."""

SINGULAR = 0.25
"""Zero is singular where more than this share of the change of the logits happens in the first `NEAR` of the path.
Models with positions in their embeddings change there by 0.03 or less, models that normalize words alone by 0.55 or
more."""

_TEXTS = (
    "The film was good, and the story is as fine as the actors are.",
    "Why did the rain stop? Nobody knows what it was.",
    "a long and dull day",
    "She said that there were three of them, not two.",
)
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Baseline:
    """The embedding with which the path of every token begins.

    Attributes:
        name: "zeros", "mean", "pad" or "mask".
        token: The token whose embedding it is; None for the others.
        vector: (d,) the mean of the word embeddings; None for the others.
    """

    name: str
    token: int | None = None
    vector: Tensor | None = None

    @classmethod
    def of(cls, classifier: Classifier, embedding_input: EmbeddingInput, options: AttributionOptions) -> Baseline:
        """Choose the baseline that the options name.

        "auto" is "zeros", unless zero is singular for the model: then it is "mean".

        Raises:
            ValueError: If the tokenizer lacks the token.
        """
        name = options.baseline
        if name == "auto":
            able = options.layer == "word_embeddings" and options.reduce != "dot"
            name = "mean" if able and zero_is_singular(classifier, embedding_input) else "zeros"
        if name == "zeros":
            return cls(name)
        if name == "mean":
            return cls(name, vector=_mean(classifier, embedding_input))
        token: int | None = getattr(classifier.tokenizer, f"{name}_token_id")
        if token is None:
            raise ValueError(
                f"Expected the tokenizer of {classifier.name} to have a {name} token for baseline={name!r}, "
                "but it has none."
            )
        return cls(name, token)

    def embeddings(self, embedding_input: EmbeddingInput, inputs: dict[str, Tensor], kept: Tensor) -> Tensor | None:
        """Return the embeddings at which the paths of a batch begin, in the shape of its embeddings; None for zeros.

        Args:
            embedding_input: The model.
            inputs: Its inputs.
            kept: Places whose tokens stay, in the shape of the ids.
        """
        if self.token is not None:
            changed = inputs["attention_mask"].bool() & ~kept
            return embedding_input.embed({**inputs, "input_ids": inputs["input_ids"].masked_fill(changed, self.token)})
        if self.vector is None and not kept.any():
            return None
        own = embedding_input.embed(inputs)
        start = torch.zeros_like(own) if self.vector is None else self.vector.to(own.dtype).expand_as(own)
        return torch.where(kept.unsqueeze(-1), own, start)


def zero_is_singular(classifier: Classifier, embedding_input: EmbeddingInput) -> bool:
    """Tell whether a model changes at once where the embeddings of its words leave zero.

    A model that normalizes word embeddings without positions (RMSNorm of Llama, Qwen and Gemma, LayerNorm of DeBERTa-v3
    and ModernBERT) sees their direction alone, however small they are: at zero its gradient is a multiple of
    1 / sqrt(eps) for each layer, and almost all of the change from zero to the text happens next to zero, where no
    quadrature finds it. A few fixed texts are asked, one at a time.
    """
    count = len(_TEXTS)
    choices = None if classifier.label_names is not None else [["it is so", "it is not"]] * count
    items = Items.of(classifier, _TEXTS, choices=choices)

    def compute(inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        path = Path(embedding_input, inputs, baseline=None, target="logit", max_tokens=1)
        zero, near, end = path.logits(np.repeat(np.arange(1), 3), np.array([0.0, NEAR, 1.0]))
        whole = float(np.linalg.norm(end - zero))
        return {"share": np.array([float(np.linalg.norm(near - zero)) / whole if whole > 0 else 0.0])}

    shares = items.run("baseline", compute, batch_size=1, progress=False).array("share")
    return bool(np.median(shares) > SINGULAR)


def _mean(classifier: Classifier, embedding_input: EmbeddingInput) -> Tensor:
    """Return the mean word embedding of the tokens that the tokenizer knows."""
    rows = min(len(classifier.tokenizer), embedding_input.n_words)
    total = torch.zeros((), dtype=torch.float64, device=classifier.device)
    for start in range(0, rows, _BLOCK):
        block = torch.arange(start, min(start + _BLOCK, rows), device=classifier.device)
        total = total + embedding_input.look_up(block).double().sum(dim=0)
    return total / rows
