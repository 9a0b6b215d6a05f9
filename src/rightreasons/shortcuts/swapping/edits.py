"""Edit items: exchange something of a text for that of another label, and as a control for that of its own label.

Every edit has the same shape. A *treated* item has a feature of another label (the *goal*), a *control* item is
changed in the same manner without a step towards another label. Words are exchanged within lists (`swap_pair`,
`swap_list`, `swap_strongest`, `insert_word`), everything else comes from another text (`exchange`): its form, a third
of it, its length, or its rare words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Sequence

import numpy as np

from rightreasons.shortcuts.swapping.segments import Text, Token, kind_of, replace_tokens
from rightreasons.shortcuts.swapping.training import Key, TrainingTexts, WordList

Rng = np.random.Generator


@dataclasses.dataclass(frozen=True)
class Edit:
    """An edited item and its control.

    Attributes:
        treated: The item with a feature of another label; None if it has nothing to exchange.
        control: The item with a matched change of no consequence; None if it has nothing to change.
        goal: Label that the new feature predicts; -1 for none.
        words: Words that were replaced.
    """

    treated: Text | None = None
    control: Text | None = None
    goal: int = -1
    words: tuple[str, ...] = ()


NO_EDIT = Edit()
"""The edit of an item that lacks the feature."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two words of different labels that are exchanged for each other.

    Attributes:
        column: Column of the items that they are looked for in.
        words: The two words. The second is neutral if no word of another label resembles the first.
        labels: Label that each predicts; -1 for a neutral word.
    """

    column: int
    words: tuple[str, str]
    labels: tuple[int, int]

    @property
    def named(self) -> tuple[str, ...]:
        """The words that predict a label."""
        return tuple(
            word for word, label in zip(self.words, self.labels, strict=True) if label >= 0
        )


def swap_pair(training: TrainingTexts, pair: Pair, item: Text, rng: Rng) -> Edit:
    """Exchange two words for each other wherever they occur."""
    partners = {pair.words[0]: pair.words[1]}
    goals = {pair.words[0]: pair.labels[1]}
    if pair.labels[1] >= 0:
        partners[pair.words[1]] = pair.words[0]
        goals[pair.words[1]] = pair.labels[0]
    replacements = []
    goal = -1
    for token in training.segmenter.split(item):
        if token.column == pair.column and token.word in partners:
            replacements.append((token, partners[token.word]))
            goal = goals[token.word]
    return _edit_words(training, item, replacements, goal, rng, excluded=frozenset())


def swap_list(
    training: TrainingTexts, words: WordList, item: Text, *, label: int, goal: int, rng: Rng
) -> Edit:
    """Exchange every listed word that predicts the label for a listed word of the goal."""
    replacements = []
    for token in training.segmenter.split(item):
        if words.labels.get(token.key) == label:
            new = words.draw(token.column, goal, kind_of(token.word), rng) if goal >= 0 else None
            if new is None:
                new = training.draw_neutral(token.column, training.get_frequency(token.key), rng)
            if new is not None:
                replacements.append((token, new))
    return _edit_words(training, item, replacements, goal, rng, excluded=words.labels.keys())


def swap_strongest(
    training: TrainingTexts, words: WordList, item: Text, *, label: int, goal: int, rng: Rng
) -> Edit:
    """Exchange the strongest listed word of an item, wherever it occurs, for one of the goal of similar strength."""
    tokens = training.segmenter.split(item)
    listed = {token.key for token in tokens if words.labels.get(token.key) == label}
    if not listed:
        return NO_EDIT
    strongest = max(listed, key=lambda key: (words.strengths[key], key))
    partners = words.find_partners(strongest, goal) if goal >= 0 else []
    if partners:
        new: str | None = partners[int(rng.integers(len(partners)))]
    else:
        new = training.draw_neutral(strongest[0], training.get_frequency(strongest), rng)
    if new is None:
        return NO_EDIT
    replacements = [(token, new) for token in tokens if token.key == strongest]
    return _edit_words(training, item, replacements, goal, rng, excluded=words.labels.keys())


def _edit_words(
    training: TrainingTexts,
    item: Text,
    replacements: Sequence[tuple[Token, str]],
    goal: int,
    rng: Rng,
    *,
    excluded: Container[Key],
) -> Edit:
    """Return the edit that replaces tokens; its control replaces as many other words by neutral ones."""
    if not replacements:
        return NO_EDIT
    replaced = {token for token, _ in replacements}
    free = []
    for token in training.segmenter.split(item):
        is_free = token not in replaced and token.key not in excluded
        if is_free and kind_of(token.word) == "word":
            free.append(token)
    controls = []
    for token, _ in replacements:
        if not free:
            break
        # The word of the text that is about as frequent gives way to a neutral one that is about as frequent.
        frequency = np.log(training.get_frequency(token.key))
        distances = [abs(np.log(training.get_frequency(other.key)) - frequency) for other in free]
        other = free.pop(int(np.argmin(distances)))
        new = training.draw_neutral(other.column, training.get_frequency(other.key), rng)
        if new is not None:
            controls.append((other, new))
    return Edit(
        treated=replace_tokens(item, replacements),
        control=replace_tokens(item, controls) if controls else None,
        goal=goal,
        words=tuple(dict.fromkeys(token.word for token, _ in replacements)),
    )


def insert_word(training: TrainingTexts, key: Key, item: Text, *, goal: int, rng: Rng) -> Edit:
    """Put a word into an item that lacks it, at a random position; the control puts in a neutral word."""
    column, word = key
    if any(token.key == key for token in training.segmenter.split(item)):
        return NO_EDIT
    words = item[column].split(" ")
    index = int(rng.integers(len(words) + 1))
    neutral = training.draw_neutral(column, training.get_frequency(key), rng)

    def write(new: str) -> Text:
        columns = list(item)
        columns[column] = " ".join([*words[:index], new, *words[index:]])
        return tuple(columns)

    return Edit(write(word), None if neutral is None else write(neutral), goal, (word,))


Exchange = Callable[[str, str], str | None]
"""(text, donor) -> the text with a feature of the donor; None if it cannot have it."""


def exchange_parts(
    exchange: Exchange, item: Text, donor: Text, control_donor: Text | None, *, goal: int
) -> Edit:
    """Give an item a feature of a donor of another label; the control takes it from a peer."""
    treated = _take_from(exchange, item, donor)
    if treated is None:
        return NO_EDIT
    control = None if control_donor is None else _take_from(exchange, item, control_donor)
    return Edit(treated, control, goal)


def _take_from(exchange: Exchange, item: Text, donor: Text) -> Text | None:
    """Return an item with a feature of a donor in all of its texts; None if nothing changes."""
    columns = []
    for text, source in zip(item, donor, strict=True):
        new = exchange(text, source)
        columns.append(text if new is None or not new.strip() else new)
    edited = tuple(columns)
    return None if edited == item else edited


def swap_rare_words(
    training: TrainingTexts, item: Text, *, label: int, goal: int, rng: Rng
) -> Edit:
    """Exchange words that the training texts hardly know for rare words of the goal's texts."""
    rare = [token for token in training.segmenter.split(item) if training.is_rare(token)]
    new_items = []
    for source in (goal, label):
        replacements = []
        for token in rare:
            words = training.rare_words.get((token.column, source), [])
            if words:
                replacements.append((token, words[int(rng.integers(len(words)))]))
        new_items.append(replace_tokens(item, replacements) if replacements else None)
    treated, control = new_items
    if treated is None:
        return NO_EDIT
    return Edit(treated, control, goal, tuple(dict.fromkeys(token.word for token in rare)))


def replace_neutral_word(training: TrainingTexts, item: Text, rng: Rng) -> Edit:
    """Replace a random word that predicts no label by another one of similar frequency."""
    tokens = [token for token in training.segmenter.split(item) if training.is_neutral(token)]
    if not tokens:
        return NO_EDIT
    token = tokens[int(rng.integers(len(tokens)))]
    new = training.draw_neutral(token.column, training.get_frequency(token.key), rng)
    if new is None or new == token.word:
        return NO_EDIT
    return Edit(replace_tokens(item, [(token, new)]), words=(token.word,))


def neutralize(training: TrainingTexts, words: WordList, item: Text, rng: Rng) -> Edit:
    """Replace every listed word of an item by a neutral one of similar frequency."""
    replacements = []
    for token in training.segmenter.split(item):
        if token.key in words.labels:
            new = training.draw_neutral(token.column, training.get_frequency(token.key), rng)
            if new is not None:
                replacements.append((token, new))
    return Edit(replace_tokens(item, replacements)) if replacements else NO_EDIT
