"""Do attributions show what a prediction rests on? Remove the named tokens, or keep nothing else."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged, offsets_of
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import (
    check_count,
    check_fraction,
    check_one_of,
    check_same_length,
    check_seed,
)
from rightreasons.models.items import Items
from rightreasons.models.loading import Classifier
from rightreasons.models.running.store import Column

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)
"""The shares of the tokens in ERASER (DeYoung et al. 2020, section 4)."""

REMOVALS = ("delete", "mask")


@dataclass(frozen=True, eq=False)
class Faithfulness(Result):
    """How much of each prediction depends on the tokens that an attribution names.

    Attributes:
        comprehensiveness: Mean over items of f(x) - f(x without its top tokens), averaged over the fractions. In
            [-1, 1]; higher is better.
        sufficiency: Mean over items of f(x) - f(its top tokens alone), averaged likewise. Lower is better.
        random_comprehensiveness: The same for as many random tokens: the level that an attribution must beat.
        random_sufficiency: The same for as many random tokens.
        comprehensiveness_of: (N,) by item.
        sufficiency_of: (N,) by item.
        random_comprehensiveness_of: (N,) by item.
        random_sufficiency_of: (N,) by item.
        fractions: The shares of tokens.
        definition: The definition used, in words.
    """

    comprehensiveness: float
    sufficiency: float
    random_comprehensiveness: float
    random_sufficiency: float
    comprehensiveness_of: NDArray[np.float64]
    sufficiency_of: NDArray[np.float64]
    random_comprehensiveness_of: NDArray[np.float64]
    random_sufficiency_of: NDArray[np.float64]
    fractions: tuple[float, ...]
    definition: str


def faithfulness(
    classifier: Classifier,
    texts: Sequence[str],
    attributions: Ragged,
    explained: NDArray[np.int64],
    *,
    text_pairs: Sequence[str] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    removal: str = "delete",
    max_length: int | None = None,
    batch_size: int = 64,
    seed: int = 0,
    progress: bool = True,
) -> Faithfulness:
    r"""Measure comprehensiveness and sufficiency of attributions, beside those of random tokens.

    \[ comp = f_y(x) - f_y(x \setminus r), \qquad suff = f_y(x) - f_y(r) \]

    for the probability f_y of the explained class and r the ceil(fraction · T) word pieces of largest attribution,
    averaged over the fractions. Special tokens always stay. The same number of random tokens gives the level that any
    attribution has to beat.

    Args:
        classifier: A sequence classifier.
        texts: N texts.
        attributions: N rows, one number per word piece, without special tokens: `Attributions.scores` of
            `integrated_gradients(..., unit="wordpiece")` on the same texts.
        explained: (N,) the classes that were explained: `Attributions.explained`.
        text_pairs: N second texts for a task of pairs.
        fractions: Shares of the tokens, each in (0, 1]; default 1, 5, 10, 20 and 50 %.
        removal: "delete" (default; the text closes up) or "mask": the mask token takes their place.
        max_length: As in `integrated_gradients`.
        batch_size: Maximum texts per batch.
        seed: Seed of the random tokens; they depend only on it and on the position of the item.
        progress: Whether to show a progress bar.

    Returns:
        `Faithfulness`.

    Raises:
        TypeError: If an argument is of the wrong kind.
        ValueError: If an item's attributions and word pieces differ in number, a fraction is out of range, there is no
            mask token for removal="mask", or nothing is left of a text, as of a word without special tokens around it.

    References:
        DeYoung et al. (2020), "ERASER: A Benchmark to Evaluate Rationalized NLP Models", section 4.
    """
    check_same_length(texts=texts, attributions=attributions, explained=explained)
    shares = [check_fraction(fraction, "fractions") for fraction in fractions]
    if not shares or min(shares) == 0:
        raise ValueError(f"Expected at least one share above 0 in `fractions`, but got {list(fractions)}.")
    check_one_of(removal, REMOVALS, "removal")
    check_count(batch_size, "batch_size")
    check_seed(seed)
    if classifier.label_names is None:
        raise ValueError(f"Expected a sequence classifier, but {classifier.name} scores choices.")
    mask_id = classifier.tokenizer.mask_token_id if removal == "mask" else None
    if removal == "mask" and mask_id is None:
        raise ValueError(f"Expected the tokenizer of {classifier.name} to have a mask token, but it has none.")
    items = Items.of(classifier, texts, text_pairs=text_pairs, max_length=max_length, places=True)
    _check_pieces(items, attributions)

    rows = _variants(items, attributions, shares, mask_id, seed)
    scores = _probabilities(rows, explained, batch_size=batch_size, progress=progress)
    # Per item: the whole text, then for each of (ranked, random) the text without r and r alone, by fraction.
    whole, rest = scores[:, :1], scores[:, 1:].reshape(len(items), 2, 2, len(shares))
    drop = (whole[:, :, None, None] - rest).mean(axis=-1)
    means = drop.mean(axis=0)
    how = "deleted" if mask_id is None else "masked"
    return Faithfulness(
        comprehensiveness=float(means[0, 0]),
        sufficiency=float(means[0, 1]),
        random_comprehensiveness=float(means[1, 0]),
        random_sufficiency=float(means[1, 1]),
        comprehensiveness_of=drop[:, 0, 0],
        sufficiency_of=drop[:, 0, 1],
        random_comprehensiveness_of=drop[:, 1, 0],
        random_sufficiency_of=drop[:, 1, 1],
        fractions=tuple(shares),
        definition=(
            f"Drop of the explained class's probability when the top {', '.join(f'{share:g}' for share in shares)} of "
            f"the word pieces are {how} (comprehensiveness) or all others are (sufficiency), averaged."
        ),
    )


def _check_pieces(items: Items, attributions: Ragged) -> None:
    pieces = np.bincount(items.encoded.row[~items.places.special], minlength=len(items))
    differ = np.flatnonzero(pieces != attributions.lengths)
    if differ.size:
        item = int(differ[0])
        raise ValueError(
            f"Expected one attribution per word piece, but item {item} has {pieces[item]} pieces and "
            f"{attributions.lengths[item]} attributions."
        )


def _variants(items: Items, attributions: Ragged, shares: Sequence[float], mask_id: int | None, seed: int) -> Items:
    """Return the texts, each followed by itself without, and with nothing but, its top and as many random tokens."""
    encoded = items.encoded
    masks: list[NDArray[np.bool_]] = []
    for item, (start, end) in enumerate(itertools.pairwise(encoded.offsets.tolist())):
        special = items.places.special[start:end]
        n_pieces = int((~special).sum())
        ranked = np.argsort(-attributions[item], kind="stable")
        masks.append(np.ones(len(special), dtype=np.bool_))
        for order in (ranked, item_rng(seed, item).permutation(n_pieces)):
            for alone in (False, True):
                for share in shares:
                    named = np.zeros(n_pieces, dtype=np.bool_)
                    named[order[: int(np.ceil(share * n_pieces))]] = True
                    mask = special.copy()
                    mask[~special] = named if alone else ~named
                    if mask_id is None and n_pieces and not mask.any():
                        raise ValueError(
                            f"Expected something to be left of each text, but item {items.ids[item]!r} is deleted as a "
                            "whole: take removal='mask', or leave it out."
                        )
                    masks.append(mask)
    n_variants = 4 * len(shares) + 1
    source = np.concatenate([np.tile(np.arange(a, b), n_variants) for a, b in itertools.pairwise(encoded.offsets)])
    mask = np.concatenate(masks)
    columns = {name: column[source] for name, column in encoded.columns.items()}
    if mask_id is not None:
        columns["input_ids"] = np.where(mask, columns["input_ids"], mask_id).astype(np.int32)
        lengths = [len(each) for each in masks]
    else:
        columns = {name: column[mask] for name, column in columns.items()}
        lengths = [int(each.sum()) for each in masks]
    variants = dataclasses.replace(encoded, columns=columns, offsets=offsets_of(lengths))
    ids = tuple(f"{item} (variant {number})" for item in items.ids for number in range(n_variants))
    return Items(items.classifier, ids, np.ones(len(ids), dtype=np.int64), variants)


def _probabilities(
    variants: Items, explained: NDArray[np.int64], *, batch_size: int, progress: bool
) -> NDArray[np.float64]:
    """(N, n_variants) the probability of the explained class in every variant."""
    labels = np.repeat(explained, len(variants) // len(explained))

    @torch.inference_mode()
    def score(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        logits = variants.classifier.model(**inputs).logits.double()
        chosen = torch.from_numpy(labels[batch]).to(logits.device).unsqueeze(1)
        return {"probability": logits.softmax(dim=-1).gather(1, chosen).squeeze(1).cpu().numpy()}

    columns = variants.run("faithfulness", score, batch_size=batch_size, progress=progress)
    return columns.array("probability").reshape(len(explained), -1)
