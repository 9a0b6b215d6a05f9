"""The model's own words: words whose removal lowers the score of the predicted label.

`measure_drops` leaves out the tokens of the learning items one at a time. `learn_own_list` lists the
words that matter in many items, and `find_strongest_drops` the one that matters most in each item,
which may occur nowhere else. Neither needs a label, so that they show what a model relies on even if
the audited file balances it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.shortcuts.swapping.segments import Text, Token, delete_token
from rightreasons.shortcuts.swapping.word_lists import Candidate, Drop, Key, WordList

if TYPE_CHECKING:
    from rightreasons.shortcuts.experiment import Experiment

MAX_LEFT_OUT = 40
"""Number of tokens of an item that are left out one at a time; of a longer item, this many random
ones."""

N_PRIOR_OCCURRENCES = 2
"""Number of occurrences without a drop that are added to those of each word."""


class Removal(NamedTuple):
    """An item without one of its tokens.

    Attributes:
        row: Row of the item.
        token: The token.
        text: The item without it.
    """

    row: int
    token: Token
    text: Text


def measure_drops(experiment: Experiment) -> list[Drop]:
    """Leave out each token of the learning items, and return by how much the margin drops.

    The margin of a label is by how much its score exceeds the best score of the other labels.

    Args:
        experiment: All items (`items`), the rows of those from which word lists are learned
            (`learning_rows`), the predicted label of each item (`predictions`), and the model, which
            `query` asks and whose stored scores `find_margin` reads.

    Returns:
        One `Drop` per token, in the order of the rows: the row, the token, and the margin of the
        predicted label on the item minus that without the token. Tokens are missing if the model
        failed on a text.
    """
    removals = _list_removals(experiment)
    # The model scores all texts in two batched calls; the loop below only looks their scores up.
    learning_rows = experiment.learning_rows.tolist()
    experiment.query(experiment.items[row] for row in learning_rows)
    experiment.query(removal.text for removal in removals)

    drops = []
    for removal in removals:
        label = int(experiment.predictions[removal.row])
        original = experiment.find_margin(experiment.items[removal.row], label)
        remaining = experiment.find_margin(removal.text, label)
        # The model may have failed on a text.
        if original is not None and remaining is not None:
            size = original - remaining
            drops.append(Drop(removal.row, removal.token, size))
    return drops


def learn_own_list(experiment: Experiment, drops: Sequence[Drop]) -> WordList:
    """List the words whose removal lowers the score of the predicted label, on the learning items.

    The drops of a word are summed, so that frequent words come first. The strength of a word is its
    mean drop, shrunk towards 0 if the word occurs only a few times.

    Args:
        experiment: The items and their predictions.
        drops: Effects of the tokens that were left out.
    """
    # A word may support different labels in different items, so that each label has its own sum.
    sums: dict[Key, NDArray[np.float64]] = {}
    counts: Counter[Key] = Counter()
    for drop in drops:
        label = int(experiment.predictions[drop.row])
        key = drop.token.key
        label_sums = sums.setdefault(key, np.zeros(experiment.training.n_classes))
        label_sums[label] += drop.size
        counts[key] += 1

    candidates = []
    for key, label_sums in sums.items():
        label = int(label_sums.argmax())
        size = float(label_sums[label])
        if size > 0:
            # A word that occurs once may be strong by accident.
            n_occurrences = counts[key] + N_PRIOR_OCCURRENCES
            strength = size / n_occurrences
            candidates.append(Candidate(size, strength, key, label))
    return experiment.training.make_list(candidates)


def find_strongest_drops(drops: Sequence[Drop], reasons: Collection[str]) -> dict[int, Drop]:
    """Return, for each row, the token that matters most; rows without such a token are left out.

    Args:
        drops: Effects of the tokens that were left out.
        reasons: Words that the user accepts as reasons for a label. They are never selected.
    """
    strongest: dict[int, Drop] = {}
    for drop in drops:
        if drop.size <= 0 or drop.token.word in reasons:
            continue
        # Of two equal drops, the first token of the item counts.
        if drop.row not in strongest or drop.size > strongest[drop.row].size:
            strongest[drop.row] = drop
    return strongest


def _list_removals(experiment: Experiment) -> list[Removal]:
    """Return the copies of the learning items that lack one token each.

    An item of more than `MAX_LEFT_OUT` tokens has copies for that many random tokens only.
    """
    removals = []
    for row in experiment.learning_rows.tolist():
        item = experiment.items[row]
        tokens = experiment.training.segmenter.split(item)
        indices = np.arange(len(tokens))
        # Long items would use up most of the budget, and add little information.
        if len(tokens) > MAX_LEFT_OUT:
            rng = experiment.make_rng("leave out", row)
            sampled = rng.permutation(len(tokens))[:MAX_LEFT_OUT]
            indices = np.sort(sampled)
        for index in indices.tolist():
            token = tokens[index]
            removals.append(Removal(row, token, delete_token(item, token)))
    return removals
