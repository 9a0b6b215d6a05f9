"""How much of a choice's score hangs on each of its words: gradient contributions, averaged per cue."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from choice_pairs import ChoicePairs, choice_pairs
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import check_count
from rightreasons.models.gradients.embedding_input import EmbeddingInput
from rightreasons.models.gradients.token_table import TokenTable, token_table, word_of_piece, word_spans
from rightreasons.models.loading import Classifier
from rightreasons.models.running.batching import length_batches, pad
from rightreasons.models.running.fingerprint import fingerprint_arrays, fingerprint_model
from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.run import open_store, run_batches
from rightreasons.models.running.store import Column


@dataclasses.dataclass(frozen=True, eq=False)
class Sensitivity:
    """The contribution of every word of every choice.

    Attributes:
        words: The lower-cased words of all P choices, one choice after another.
        shares: (total,) what each contributes, in [0, 1]; the prompt and special tokens hold the rest of each 1.
        offsets: (P + 1,) where each choice's words begin.
        item: (P,) which item a choice belongs to.
        scores: (P,) the score (logit) of each choice.
    """

    words: tuple[str, ...]
    shares: NDArray[np.float64]
    offsets: NDArray[np.int64]
    item: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class CueSensitivity(Result):
    """How sensitive a model's scores are to one cue.

    Attributes:
        cue: The word.
        sensitivity: Its mean contribution where it occurs in a choice, in [0, 1].
        count: How often it occurs.
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
    r"""Take the gradient of each choice's score with respect to each of its tokens' embeddings.

    With s(x) the score (logit) of the pair x of prompt and choice and e_t the word embedding of its token t,

        c_t(x) = \frac{\|\partial s(x) / \partial e_t\|_2}{\sum_{t'} \|\partial s(x) / \partial e_{t'}\|_2}.

    A word's contribution is the sum over its pieces. Padding never counts, and a pair's contribution does not depend on
    the batch that it is in.

    Args:
        classifier: From `load_multiple_choice`.
        prompts: N prompts.
        choices: N lists of at least two texts.
        batch_size: Pairs of a batch.
        max_length: The most tokens of a pair; None takes what the model allows.
        progress: Whether to show a progress bar.
        out: A folder for the results, from which a killed run goes on.

    Returns:
        `Sensitivity`: words, their contributions, and the scores.

    Raises:
        ValueError: If the model is no multiple-choice model, has no table of word embeddings, or lengths differ.

    References:
        Kavumba et al. (2019), §5.3 and Table 7, whose printed magnitudes fit shares that sum to one; Brunner et al.
        (2020), On Identifiability in Transformers (hidden token attribution).
    """
    pairs = choice_pairs(classifier, prompts, choices)
    length = min(
        classifier.max_length if max_length is None else check_count(max_length, "max_length"), classifier.max_length
    )
    table = token_table(classifier.tokenizer, pairs.prompts, pairs.choices, max_length=length)
    encoded = table.encoded
    model = classifier.model
    embedding = EmbeddingInput(model)
    store = open_store(
        out,
        lambda: {
            "kind": "sensitivity",
            "model": fingerprint_model(model),
            "texts": fingerprint_arrays({**encoded.columns, "offsets": encoded.offsets}),
        },
    )

    def compute(batch: NDArray[np.int64]) -> dict[str, Column]:
        inputs = pad(encoded, batch, classifier.device)
        vectors = embedding.look_up(inputs["input_ids"]).detach().requires_grad_(True)
        with embedding.feed(vectors), torch.enable_grad():
            scores = model(**{name: tensor.unsqueeze(1) for name, tensor in inputs.items()}).logits[:, 0]
            # The pairs of a batch do not see each other, so one backward pass gives each its own gradient.
            (gradient,) = torch.autograd.grad(scores.sum(), vectors)
        norms = gradient.double().norm(dim=-1)
        mask = inputs["attention_mask"].bool()
        total = (norms * mask).sum(dim=1, keepdim=True)
        shares = torch.where(total > 0, norms / total.clamp_min(torch.finfo(torch.float64).tiny), 0.0)
        lengths = mask.sum(dim=1).cpu().numpy()
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return {
            "shares": Ragged(shares[mask].cpu().numpy(), offsets),
            "scores": scores.detach().double().cpu().numpy(),
        }

    with frozen(model):
        found = run_batches(
            compute,
            length_batches(encoded.lengths, batch_size=batch_size),
            store=store,
            progress=progress,
            description="sensitivity",
        )
    shares, scores = found["shares"], found["scores"]
    if not isinstance(shares, Ragged) or isinstance(scores, Ragged):
        raise RuntimeError("the stored columns are of another kind")
    return _words_of(pairs, table, shares, scores)


def cue_sensitivity(sensitivity: Sensitivity, cues: Iterable[str] | None = None) -> tuple[CueSensitivity, ...]:
    r"""Average the contribution of each cue over its occurrences in the choices: S_k = mean of c_t over t with x_t = k.

    Args:
        sensitivity: From `token_sensitivity`.
        cues: The words to look at; None takes all that occur.

    Returns:
        One entry for each cue that occurs, in the order of `cues`, or by falling count.
    """
    vocabulary, word = np.unique(np.array(sensitivity.words, dtype=np.str_), return_inverse=True)
    count = np.bincount(word.reshape(-1), minlength=len(vocabulary))
    mean = np.bincount(word.reshape(-1), weights=sensitivity.shares, minlength=len(vocabulary)) / np.maximum(count, 1)
    place = {str(name): index for index, name in enumerate(vocabulary)}
    wanted = cues if cues is not None else sorted(place, key=lambda name: (-count[place[name]], name))
    return tuple(CueSensitivity(cue, float(mean[place[cue]]), int(count[place[cue]])) for cue in wanted if cue in place)


# ------------------------------------------------------------------------------------------------------------- private


def _words_of(pairs: ChoicePairs, table: TokenTable, shares: Ragged, scores: NDArray[np.float64]) -> Sensitivity:
    words: list[str] = []
    parts: list[NDArray[np.float64]] = []
    lengths: list[int] = []
    bounds = table.encoded.offsets
    for pair, choice in enumerate(pairs.choices):
        tokens = slice(int(bounds[pair]), int(bounds[pair + 1]))
        of_choice = (table.part[tokens] == 1) & ~table.special[tokens]
        spans = word_spans(choice)
        word = word_of_piece(spans, table.start[tokens][of_choice], table.end[tokens][of_choice])
        # A word of which no piece is left was cut off.
        seen = np.unique(word[word >= 0])
        sums = np.bincount(word[word >= 0], weights=shares[pair][of_choice][word >= 0], minlength=len(spans))
        words += [choice[start:end].lower() for start, end in spans[seen].tolist()]
        parts.append(np.asarray(sums[seen], dtype=np.float64))
        lengths.append(len(seen))
    return Sensitivity(
        words=tuple(words),
        shares=np.concatenate(parts),
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        item=pairs.item,
        scores=np.asarray(scores, dtype=np.float64),
    )
