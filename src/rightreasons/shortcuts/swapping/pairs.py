"""Edit items of two texts: exchange the words that the texts share, or one of the texts."""

from __future__ import annotations

from rightreasons.shortcuts.swapping.edits import (
    NO_EDIT,
    Edit,
    Replacement,
    Rng,
    draw_similar_neutral,
    replace_column,
)
from rightreasons.shortcuts.swapping.segments import Text, Token, get_kind, replace_tokens
from rightreasons.shortcuts.swapping.training import TrainingTexts


def measure_overlap(training: TrainingTexts, item: Text) -> float:
    """Return the share of the second text's words that are also in the first text.

    A short text within a long one overlaps fully. Without words, the share is 0.

    Args:
        training: Labeled texts, whose segmenter splits the item.
        item: A pair of texts.
    """
    premise, hypothesis = _split_columns(training, item)
    # A text of marks only has no words to share.
    if not hypothesis:
        return 0.0
    premise_words = {token.word for token in premise}
    n_shared = 0
    for token in hypothesis:
        n_shared += token.word in premise_words
    return n_shared / len(hypothesis)


def swap_overlap(
    training: TrainingTexts,
    item: Text,
    donor: Text,
    peer: Text | None,
    *,
    goal: int,
    rng: Rng,
) -> Edit:
    """Make the two texts of an item share as many words as those of a donor of another label.

    In the control, they share as many words as those of a peer of the same label.

    Args:
        training: Labeled texts, which offer neutral words.
        item: A pair of texts.
        donor: The pair of texts of an item of another predicted label.
        peer: The pair of texts of another item of the same predicted label; None if there is none.
        goal: Predicted label of the donor.
        rng: Generator of the choices.
    """
    share = measure_overlap(training, donor)
    # Only the share is copied, because the words of a donor would bring its meaning along.
    treated = _take_overlap(training, item, share, rng)
    if treated is None or treated == item:
        return NO_EDIT
    control = None
    if peer is not None:
        share = measure_overlap(training, peer)
        control = _take_overlap(training, item, share, rng)
    return Edit(treated, control, goal)


def _take_overlap(
    training: TrainingTexts,
    item: Text,
    share: float,
    rng: Rng,
) -> Text | None:
    """Replace random words of the second text until it shares a given part of its words.

    If it shares too few words with the first text, random words of the first text replace some of
    its other words. If it shares too many, neutral words replace some of the shared ones.

    Args:
        training: Labeled texts, which offer neutral words.
        item: A pair of texts.
        share: Share of the second text's words that the first text is to have.
        rng: Generator of the choices.

    Returns:
        The edited item; None if one of the texts has no words.
    """
    premise, hypothesis = _split_columns(training, item)
    premise_words = list(dict.fromkeys(token.word for token in premise))
    if not premise_words or not hypothesis:
        return None
    shared_tokens = []
    foreign_tokens = []
    for token in hypothesis:
        if token.word in premise_words:
            shared_tokens.append(token)
        else:
            foreign_tokens.append(token)

    # Number of shared words to add; negative if some are to be removed.
    n_added = round(share * len(hypothesis)) - len(shared_tokens)
    candidates = foreign_tokens if n_added > 0 else shared_tokens
    indices = rng.permutation(len(candidates))[: abs(n_added)]
    replacements: list[Replacement] = []
    for index in sorted(indices.tolist()):
        token = candidates[index]
        if n_added > 0:
            word: str | None = premise_words[int(rng.integers(len(premise_words)))]
        else:
            word = draw_similar_neutral(training, token.key, rng)
        if word is not None:
            replacements.append((token, word))
    return replace_tokens(item, replacements, training.forms)


def _split_columns(training: TrainingTexts, item: Text) -> tuple[list[Token], list[Token]]:
    """Return the words and numbers of the first text, and those of the second one, without marks.

    Args:
        training: Labeled texts, whose segmenter splits the item.
        item: A pair of texts.
    """
    premise = []
    hypothesis = []
    for token in training.segmenter.split(item):
        # Nearly all texts share their full stop, which says nothing about their overlap.
        if get_kind(token.word) == "mark":
            continue
        if token.column == 0:
            premise.append(token)
        else:
            hypothesis.append(token)
    return premise, hypothesis


def exchange_text(item: Text, column: int, donor: Text) -> Edit:
    """Replace one text of an item: a prediction that stays rests on the other text."""
    if donor[column] == item[column]:
        return NO_EDIT
    return Edit(replace_column(item, column, donor[column]))


def draw_row(n_items: int, row: int, rng: Rng) -> int:
    """Return a random row other than the given one.

    Args:
        n_items: Number of items, at least 2.
        row: The row that must not be drawn.
        rng: Generator of the draw.

    Example:
        >>> import numpy as np
        >>> draw_row(2, 0, np.random.default_rng(0))
        1
    """
    # A step of 1 to n - 1 reaches every other row with the same chance.
    step = 1 + int(rng.integers(n_items - 1))
    return (row + step) % n_items
