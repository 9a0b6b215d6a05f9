"""The model's own list: words whose removal lowers the score of the predicted label.

`learn_own_list` leaves out the tokens of the learning items one at a time. The list needs no label,
and shows what a model relies on even if the audited file balances it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.shortcuts.swapping.segments import Text, delete_token
from rightreasons.shortcuts.swapping.word_lists import Candidate, Key, WordList

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
        key: Column and word of the token.
        text: The item without it.
    """

    row: int
    key: Key
    text: Text


def learn_own_list(experiment: Experiment) -> WordList:
    """List the words whose removal lowers the score of the predicted label, on the learning items.

    The drop is that of the margin between this label's score and the next one. The drops of a word
    are summed, so that frequent words come first. The strength of a word is its mean drop, shrunk
    towards 0 if the word occurs only a few times.

    Args:
        experiment: The items, the model to ask, and its predictions.
    """
    removals = _list_removals(experiment)
    experiment.query(experiment.items[row] for row in experiment.learning_rows.tolist())
    experiment.query(removal.text for removal in removals)

    # A word may support different labels in different items, so that each label has its own sum.
    drops: dict[Key, NDArray[np.float64]] = {}
    counts: Counter[Key] = Counter()
    for removal in removals:
        label = int(experiment.predictions[removal.row])
        original = experiment.find_margin(experiment.items[removal.row], label)
        remaining = experiment.find_margin(removal.text, label)
        if original is not None and remaining is not None:
            drop = drops.setdefault(removal.key, np.zeros(experiment.training.n_classes))
            drop[label] += original - remaining
            counts[removal.key] += 1

    candidates = []
    for key, drop in drops.items():
        label = int(drop.argmax())
        size = float(drop[label])
        if size > 0:
            # A word that occurs once may be strong by accident.
            strength = size / (counts[key] + N_PRIOR_OCCURRENCES)
            candidates.append(Candidate(size, strength, key, label))
    return experiment.training.make_list(candidates)


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
            indices = np.sort(rng.permutation(len(tokens))[:MAX_LEFT_OUT])
        for index in indices.tolist():
            token = tokens[index]
            removals.append(Removal(row, token.key, delete_token(item, token)))
    return removals
