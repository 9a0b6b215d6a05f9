"""How much the score of a choice depends on each of its words.

`token_sensitivity` takes the gradient of every choice's score, and `cue_sensitivity` averages the
shares of each word over its occurrences, as Table 7 of Kavumba et al. (2019) does for cues.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, compute_offsets
from rightreasons.core.results import Result
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.gradients.words import merge_pieces
from rightreasons.models.items import Items
from rightreasons.models.loading import Classifier
from rightreasons.models.prompts import ChoiceItems
from rightreasons.models.runs.columns import Column

CHOICE_PART = 1
"""Number of the part of a pair that is the choice; the prompt is part 0."""

SMALLEST = torch.finfo(torch.float64).tiny
"""Smallest sum of norms that shares are divided by."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sensitivity:
    """Shares of the words of every choice in the gradient of its score.

    Attributes:
        words: Lower-case words of all P choices, one choice after another.
        shares: (total,) share of each word, in [0, 1]. The prompt and the special tokens have the
            remaining share of each choice.
        offsets: (P + 1,) index of the first word of each choice, and the number of all words.
        item: (P,) index of the item of each choice.
        scores: (P,) score (logit) of each choice.
    """

    words: tuple[str, ...]
    shares: NDArray[np.float64]
    offsets: NDArray[np.int64]
    item: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class CueSensitivity(Result):
    """Sensitivity of the scores of a model to one cue.

    Attributes:
        cue: The word.
        sensitivity: Mean share over its occurrences in choices, in [0, 1].
        count: Number of its occurrences.
    """

    cue: str
    sensitivity: float
    count: int


def token_sensitivity(
    classifier: Classifier,
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    *,
    batch_size: int = 32,
    max_length: int | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> Sensitivity:
    r"""Compute the share of each word of a choice in the gradient of the choice's score.

    With s(x) the score (logit) of the pair x of prompt and choice, and e_t the word embedding of
    its token t,

        c_t(x) = \frac{\|\partial s(x) / \partial e_t\|_2}{\sum_{t'} \|\partial s(x) / \partial
        e_{t'}\|_2}.

    The share of a word is the sum over its pieces. Padding has none, and the shares of a pair do
    not depend on its batch.

    Args:
        classifier: A multiple-choice model, from `load_multiple_choice`.
        prompts: N prompts.
        choices: N lists of at least two texts.
        batch_size: Number of pairs in a batch.
        max_length: Maximum number of tokens of a pair. If None, that of the model.
        progress: Whether to show a progress bar.
        out: Folder of the results, from which an interrupted run resumes. If None, nothing is
            stored.

    Returns:
        The `Sensitivity`.

    Raises:
        ValueError: If the model is no multiple-choice model, or has no table of word embeddings; or
            if there is not one list of choices for each prompt.

    References:
        Kavumba et al. (2019), section 5.3 and Table 7, which has no formula: its magnitudes fit
        shares that sum to one. Brunner et al. (2020), "On Identifiability in Transformers".
    """
    items = ChoiceItems.check(prompts, choices)
    pairs = Items.of_pairs(classifier, items, max_length=max_length)
    embedding_input = EmbeddingInput(classifier.model)

    def compute(inputs: dict[str, torch.Tensor], _: NDArray[np.int64]) -> dict[str, Column]:
        return _compute_shares(embedding_input, inputs)

    columns = pairs.run("sensitivity", compute, batch_size=batch_size, progress=progress, out=out)
    # A word has the shares of all its pieces.
    merged = merge_pieces(pairs, columns.ragged("shares").values, unit="word", merge="sum")
    # Cues are words of the choices, so that the words of the prompts are left out.
    in_choice = merged.parts == CHOICE_PART
    words = list(itertools.chain.from_iterable(merged.tokens))
    pair_by_token = np.repeat(np.arange(len(pairs)), merged.scores.lengths)
    n_words = np.bincount(pair_by_token[in_choice], minlength=len(pairs))
    return Sensitivity(
        words=tuple(itertools.compress(words, in_choice)),
        shares=merged.scores.values[in_choice],
        offsets=compute_offsets(n_words),
        item=np.repeat(np.arange(len(items.ids)), items.counts),
        scores=columns.array("scores"),
    )


def _compute_shares(
    embedding_input: EmbeddingInput, inputs: dict[str, torch.Tensor]
) -> dict[str, Column]:
    """Compute the share of each token in the gradient of the score of its pair.

    Args:
        embedding_input: A multiple-choice model that is fed embeddings.
        inputs: Padded inputs of the model for n pairs of a prompt and a choice, (n, 1, L) each.

    Returns:
        `shares`, one row of numbers per pair, without padding; and `scores`, (n,) logits.
    """
    embeddings = embedding_input.look_up(inputs["input_ids"]).requires_grad_()
    with torch.enable_grad():
        scores = embedding_input.logits(embeddings, inputs)[:, 0]
        # The pairs of a batch do not affect each other, so that the gradient of the sum consists of
        # the gradients of all pairs.
        (gradient,) = torch.autograd.grad(scores.sum(), embeddings)
    # The second dimension is that of the choices of an item, of which a pair has one.
    norms = gradient[:, 0].double().norm(dim=-1)
    mask = inputs["attention_mask"][:, 0].bool()
    totals = (norms * mask).sum(dim=1, keepdim=True)
    # If all gradients of a pair are 0, its shares are 0, too.
    shares = torch.where(totals > 0, norms / totals.clamp_min(SMALLEST), 0.0)
    n_tokens = mask.sum(dim=1)
    return {
        "shares": Ragged.of(shares[mask].cpu().numpy(), n_tokens.cpu().numpy()),
        "scores": scores.detach().double().cpu().numpy(),
    }


def cue_sensitivity(
    sensitivity: Sensitivity, cues: Iterable[str] | None = None
) -> tuple[CueSensitivity, ...]:
    r"""Average the share of each word over its occurrences: S_k = mean of c_t over t with x_t = k.

    Args:
        sensitivity: Shares of the words of all choices, from `token_sensitivity`.
        cues: Words to average. If None, all words that occur.

    Returns:
        A `CueSensitivity` for each word that occurs, in the order of `cues`, or by falling count.

    Example:
        >>> shares = Sensitivity(
        ...     words=("it", "rained", "it", "froze"),
        ...     shares=np.array([0.1, 0.4, 0.3, 0.2]),
        ...     offsets=np.array([0, 2, 4]),
        ...     item=np.array([0, 0]),
        ...     scores=np.array([1.0, 0.5]),
        ... )
        >>> cue_sensitivity(shares, ["it", "snowed"])
        (CueSensitivity(cue='it', sensitivity=0.2, count=2),)
    """
    shares_by_word: dict[str, list[float]] = {}
    for word, share in zip(sensitivity.words, sensitivity.shares.tolist(), strict=True):
        shares_by_word.setdefault(word, []).append(share)
    if cues is None:
        # Words with equal counts are in alphabetical order.
        cues = sorted(shares_by_word, key=lambda word: (-len(shares_by_word[word]), word))
    results = []
    for cue in cues:
        shares = shares_by_word.get(cue)
        if shares is not None:
            results.append(CueSensitivity(cue, float(np.mean(shares)), len(shares)))
    return tuple(results)
