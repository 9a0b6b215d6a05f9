"""What a model makes of a right and of a wrong choice: the difference of their sequence embeddings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

import numpy as np
import torch
from choice_pairs import choice_pairs
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_count, check_labels
from rightreasons.models.loading import Classifier
from rightreasons.models.running.batching import encode, length_batches, pad
from rightreasons.models.running.fingerprint import fingerprint_arrays, fingerprint_model
from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.run import open_store, run_batches
from rightreasons.models.running.store import Column


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceDifferences:
    """The difference between the right and the wrong choices of N items.

    Attributes:
        embeddings: (N, d) embedding of the right choice minus the mean embedding of the wrong ones.
        scores: (N,) score of the right choice minus the highest score of the wrong ones: positive where the model is
            right.
    """

    embeddings: NDArray[np.float64]
    scores: NDArray[np.float64]


def choice_differences(
    classifier: Classifier,
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    labels: object,
    *,
    batch_size: int = 32,
    max_length: int | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> ChoiceDifferences:
    r"""Embed every (prompt, choice) pair and subtract: d_i = h(p_i, a_right) - h(p_i, a_wrong).

    The embedding h of a pair is the encoder's last hidden state at the first token ([CLS], <s>).

    Args:
        classifier: From `load_multiple_choice`; an encoder with an untrained head will do where the scores do not
            matter.
        prompts: N prompts.
        choices: N lists of at least two texts.
        labels: (N,) the index of the right choice.
        batch_size: Pairs of a batch.
        max_length: The most tokens of a pair; None takes what the model allows.
        progress: Whether to show a progress bar.
        out: A folder for the results, from which a killed run goes on.

    Returns:
        `ChoiceDifferences`.

    Raises:
        ValueError: If the model is no multiple-choice model, or lengths differ, or a label is out of range.

    References:
        Kavumba et al. (2019), §5.4, the figure of sequence embeddings.
    """
    pairs = choice_pairs(classifier, prompts, choices)
    counts = np.diff(pairs.offsets)
    right = check_labels(labels, counts, name="labels")
    length = min(
        classifier.max_length if max_length is None else check_count(max_length, "max_length"), classifier.max_length
    )
    encoded = encode(classifier.tokenizer, pairs.prompts, pairs.choices, max_length=length)
    model = classifier.model
    store = open_store(
        out,
        lambda: {
            "kind": "choice embeddings",
            "model": fingerprint_model(model),
            "texts": fingerprint_arrays({**encoded.columns, "offsets": encoded.offsets}),
        },
    )

    @torch.inference_mode()
    def compute(batch: NDArray[np.int64]) -> dict[str, Column]:
        inputs = pad(encoded, batch, classifier.device)
        first = inputs["attention_mask"].argmax(dim=1)
        found = model(**{name: tensor.unsqueeze(1) for name, tensor in inputs.items()}, output_hidden_states=True)
        states = found.hidden_states[-1]
        embeddings = states[torch.arange(len(states), device=states.device), first]
        return {"embeddings": embeddings.double().cpu().numpy(), "scores": found.logits[:, 0].double().cpu().numpy()}

    with frozen(model):
        columns = run_batches(
            compute,
            length_batches(encoded.lengths, batch_size=batch_size),
            store=store,
            progress=progress,
            description="embedding",
        )
    embeddings = np.asarray(columns["embeddings"], dtype=np.float64)
    scores = np.asarray(columns["scores"], dtype=np.float64)
    at_right = pairs.offsets[:-1] + right
    sums = np.add.reduceat(embeddings, pairs.offsets[:-1], axis=0)
    wrong = np.where(np.isin(np.arange(len(scores)), at_right), -np.inf, scores)
    return ChoiceDifferences(
        embeddings=embeddings[at_right] - (sums - embeddings[at_right]) / (counts - 1)[:, None],
        scores=scores[at_right] - np.maximum.reduceat(wrong, pairs.offsets[:-1]),
    )
