"""Exchange a feature of an item for that of another label, or as a control for that of its own label.

Every edit has the same shape. A *treated* item has a feature of another label (the *goal*), a
*control* item is changed in the same manner without a step towards another label. Words are
exchanged within lists (`swap_pairs`, `swap_list`, `swap_strongest`, `insert_word`), everything else
comes from another text (`exchange_parts`): its form, a third of it, or its length.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

import numpy as np

from rightreasons.shortcuts.swapping.segments import Text, Token, get_kind, replace_tokens
from rightreasons.shortcuts.swapping.training import TrainingTexts
from rightreasons.shortcuts.swapping.word_lists import Key, WordList

Rng = np.random.Generator

Replacement = tuple[Token, str]
"""A token of an item, and the word that takes its place."""


@dataclasses.dataclass(frozen=True)
class Edit:
    """An edited item and its control.

    Attributes:
        treated: The item with a feature of another label; None if it has nothing to exchange.
        control: The item with a matched change of no consequence; None if it has nothing to change.
        goal: Label that the new feature predicts; -1 if there is none.
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
        column: Column of the texts in which the words are exchanged: 0, or 1 for second texts.
        words: The two words. The second is neutral if no word of another label resembles the first.
        labels: Label that each predicts; -1 for a neutral word.
    """

    column: int
    words: tuple[str, str]
    labels: tuple[int, int]

    @property
    def predictive_words(self) -> tuple[str, ...]:
        """The words that predict a label."""
        # A neutral partner is drawn at random, and means nothing.
        if self.labels[1] < 0:
            return self.words[:1]
        return self.words

    @property
    def keys(self) -> list[Key]:
        """Column and word of each word that predicts a label."""
        return [(self.column, word) for word in self.predictive_words]


def swap_pairs(
    training: TrainingTexts,
    pairs: Sequence[Pair],
    item: Text,
    rng: Rng,
) -> Edit:
    """Exchange the two words of each pair for each other wherever they occur in an item.

    A neutral word replaces its partner but is not replaced itself, because it is no feature of any
    label.

    Args:
        training: Labeled texts, which offer the words of the control.
        pairs: Pairs of words with the label that each word predicts, or -1 for a neutral word. If a
            word is in several pairs, the first one counts.
        item: A tuple of one text, or of two texts for a task of pairs.
        rng: Generator of the choices of the control.
    """
    # (column, word) -> its replacement, and the label that the replacement predicts.
    replacement_by_key: dict[Key, tuple[str, int]] = {}
    for pair in pairs:
        word, partner = pair.words
        label, partner_label = pair.labels
        replacement_by_key.setdefault((pair.column, word), (partner, partner_label))
        if partner_label >= 0:
            replacement_by_key.setdefault((pair.column, partner), (word, label))

    replacements: list[Replacement] = []
    predicted_labels: set[int] = set()
    for token in training.segmenter.split(item):
        if token.key in replacement_by_key:
            replacement, predicted_label = replacement_by_key[token.key]
            replacements.append((token, replacement))
            # A neutral word predicts no label.
            if predicted_label >= 0:
                predicted_labels.add(predicted_label)
    # If words of two labels were exchanged, the edited item has no single goal.
    goal = predicted_labels.pop() if len(predicted_labels) == 1 else -1
    return _edit_words(training, item, replacements, goal, rng, excluded=())


def swap_list(
    training: TrainingTexts,
    words: WordList,
    item: Text,
    *,
    label: int,
    goal: int,
    rng: Rng,
) -> Edit:
    """Exchange all words of an item that predict its label for words that predict another label.

    A word is replaced by a listed one of the same kind (word, number or mark), drawn by frequency.
    If the list has no word of the other label, a neutral word replaces it.

    Args:
        training: Labeled texts, which offer neutral words.
        words: The list, with the label that each word predicts.
        item: A tuple of one text, or of two texts for a task of pairs.
        label: Label that the model predicts for the item.
        goal: Label towards which it is edited; -1 if there is none.
        rng: Generator of the choices.
    """
    replacements: list[Replacement] = []
    for token in training.segmenter.split(item):
        if words.labels.get(token.key) != label:
            continue
        partner = words.draw(token.column, goal, get_kind(token.word), rng)
        # Without a listed word of the goal, a neutral word at least removes the feature.
        if partner is None:
            partner = draw_similar_neutral(training, token.key, rng)
        if partner is not None:
            replacements.append((token, partner))
    return _edit_words(training, item, replacements, goal, rng, excluded=words.labels)


def swap_strongest(
    training: TrainingTexts,
    words: WordList,
    item: Text,
    *,
    label: int,
    goal: int,
    rng: Rng,
) -> Edit:
    """Exchange the strongest word that predicts an item's label for a similar word of another label.

    All occurrences of the word are exchanged. If no listed word of the other label is similar, a
    neutral word replaces it.

    Args:
        training: Labeled texts, which offer neutral words.
        words: The list, with the strength of each word.
        item: A tuple of one text, or of two texts for a task of pairs.
        label: Label that the model predicts for the item.
        goal: Label towards which it is edited; -1 if there is none.
        rng: Generator of the choices.
    """
    tokens = training.segmenter.split(item)
    keys = set()
    for token in tokens:
        if words.labels.get(token.key) == label:
            keys.add(token.key)
    if not keys:
        return NO_EDIT
    # The key breaks ties, so that the choice does not depend on the order of a set.
    strongest = max(keys, key=lambda key: (words.strengths[key], key))

    partners = words.find_partners(strongest, goal)
    # A word of the other label is preferred: it may pull the prediction over, and a neutral word
    # only takes a support away.
    if partners:
        partner: str | None = partners[int(rng.integers(len(partners)))]
    else:
        partner = draw_similar_neutral(training, strongest, rng)
    if partner is None:
        return NO_EDIT
    replacements = [(token, partner) for token in tokens if token.key == strongest]
    return _edit_words(training, item, replacements, goal, rng, excluded=words.labels)


def replace_word(
    training: TrainingTexts,
    item: Text,
    key: Key,
    word: str,
    *,
    goal: int,
    rng: Rng,
) -> Edit:
    """Replace all occurrences of a word of an item; the control replaces as many other words.

    Args:
        training: Labeled texts, which offer the neutral words of the control.
        item: A tuple of one text, or of two texts for a task of pairs.
        key: Column and word to replace.
        word: The new word.
        goal: Label that the new word predicts.
        rng: Generator of the choices of the control.
    """
    replacements = []
    for token in training.segmenter.split(item):
        if token.key == key:
            replacements.append((token, word))
    return _edit_words(training, item, replacements, goal, rng, excluded=())


def draw_similar_neutral(training: TrainingTexts, key: Key, rng: Rng) -> str | None:
    """Draw a neutral word that is about as frequent as a word; None if there is none."""
    column, _ = key
    frequency = training.get_frequency(key)
    return training.draw_neutral(column, frequency, rng)


def _edit_words(
    training: TrainingTexts,
    item: Text,
    replacements: Sequence[Replacement],
    goal: int,
    rng: Rng,
    *,
    excluded: Collection[Key],
) -> Edit:
    """Replace tokens of an item, and make the control of this edit.

    The control replaces as many other words by neutral ones, so that it changes the text as much.

    Args:
        training: Labeled texts, which offer neutral words.
        item: A tuple of one text, or of two texts for a task of pairs.
        replacements: Pairs of a token to replace and its new word.
        goal: Label that the new words predict; -1 if there is no single one.
        rng: Generator of the choices of the control.
        excluded: (column, word) of words that the control does not replace.

    Returns:
        The edited item and its control; `NO_EDIT` if there is nothing to replace.
    """
    if not replacements:
        return NO_EDIT
    replaced_tokens = [token for token, _ in replacements]
    controls = _draw_controls(training, item, replaced_tokens, rng, excluded=excluded)
    # A text without other words has no control.
    control = None
    if controls:
        control = replace_tokens(item, controls, training.forms)
    return Edit(
        treated=replace_tokens(item, replacements, training.forms),
        control=control,
        goal=goal,
        words=tuple(dict.fromkeys(token.word for token in replaced_tokens)),
    )


def _draw_controls(
    training: TrainingTexts,
    item: Text,
    replaced: Sequence[Token],
    rng: Rng,
    *,
    excluded: Collection[Key],
) -> list[Replacement]:
    """Draw the replacements of the control: one neutral word for each token that the edit replaces.

    The neutral word replaces another word of the item: the one whose frequency is closest to that
    of the token, because rare words matter more than frequent ones.

    Args:
        training: Labeled texts, which offer neutral words and the frequencies.
        item: A tuple of one text, or of two texts for a task of pairs.
        replaced: Tokens that the edit replaces.
        rng: Generator of the choices.
        excluded: (column, word) of words that the control does not replace.

    Returns:
        Pairs of a token and its new word; fewer than `replaced` in a short item.
    """
    eligible = []
    for token in training.segmenter.split(item):
        is_word = get_kind(token.word) == "word"
        if is_word and token not in replaced and token.key not in excluded:
            eligible.append(token)

    controls: list[Replacement] = []
    for token in replaced:
        # A short text may have fewer other words.
        if not eligible:
            break
        log_frequency = np.log(training.get_frequency(token.key))
        eligible_frequencies = [training.get_frequency(candidate.key) for candidate in eligible]
        distances = np.abs(np.log(eligible_frequencies) - log_frequency)
        control = eligible.pop(int(distances.argmin()))
        neutral = draw_similar_neutral(training, control.key, rng)
        if neutral is not None:
            controls.append((control, neutral))
    return controls


def insert_word(
    training: TrainingTexts,
    key: Key,
    item: Text,
    *,
    goal: int,
    rng: Rng,
) -> Edit:
    """Insert a word into an item at a random position; the control inserts a neutral word there.

    Args:
        training: Labeled texts, which offer neutral words.
        key: Column of the text (0, or 1 for second texts), and word.
        item: A tuple of one or two texts. If they contain the word, nothing is inserted.
        goal: Label that the word predicts.
        rng: Generator of the position and of the neutral word.

    Returns:
        The edit: the item with the word (`treated`), and the item with a neutral word of a similar
        frequency at the same position (`control`, None if there is no such word). `NO_EDIT` if the
        item contains the word already, so that inserting it would change little.
    """
    column, word = key
    for token in training.segmenter.split(item):
        if token.key == key:
            return NO_EDIT
    words = item[column].split(" ")
    # The word may also become the first or the last one.
    position = int(rng.integers(len(words) + 1))
    neutral = draw_similar_neutral(training, key, rng)

    def insert(inserted: str) -> Text:
        """Return the item with a word at the random position, which is that of the control, too."""
        written = training.forms.get_inner_form(inserted)
        text = " ".join([*words[:position], written, *words[position:]])
        return replace_column(item, column, text)

    control = None
    if neutral is not None:
        control = insert(neutral)
    return Edit(
        treated=insert(word),
        control=control,
        goal=goal,
        words=(word,),
    )


def replace_column(item: Text, column: int, text: str) -> Text:
    """Return an item with another text in one of its columns.

    Example:
        >>> replace_column(("a", "b"), 1, "c")
        ('a', 'c')
    """
    return (*item[:column], text, *item[column + 1 :])


Exchange = Callable[[str, str], str | None]
"""(text, donor) -> the text with a feature of the donor; None if it cannot have it."""


def exchange_parts(
    exchange: Exchange,
    item: Text,
    donor: Text,
    peer: Text | None,
    *,
    goal: int,
) -> Edit:
    """Give an item a feature, such as the length, of a donor of another label.

    The control gets the feature of a peer, which has the item's own label.

    Args:
        exchange: Function of a text and a donor text that returns the text with the feature.
        item: A tuple of one text, or of two texts for a task of pairs.
        donor: The texts of an item of another predicted label.
        peer: The texts of another item of the same predicted label; None if there is none.
        goal: Predicted label of the donor.
    """
    treated = _apply_exchange(exchange, item, donor)
    if treated is None:
        return NO_EDIT
    # A text with any feature of another text is less natural. The effect of the peer shows how much
    # this matters.
    control = None if peer is None else _apply_exchange(exchange, item, peer)
    return Edit(treated, control, goal)


def _apply_exchange(exchange: Exchange, item: Text, donor: Text) -> Text | None:
    """Return an item with a feature of a donor in all of its texts; None if nothing changes.

    Args:
        exchange: Function of a text and a donor text that returns the text with the feature, or
            None if it cannot have it.
        item: One or two texts.
        donor: As many texts.
    """
    columns = []
    for text, source in zip(item, donor, strict=True):
        edited = exchange(text, source)
        # A model cannot answer an empty text.
        if edited is None or not edited.strip():
            edited = text
        columns.append(edited)
    result = tuple(columns)
    return None if result == item else result


def swap_rare_words(
    training: TrainingTexts,
    item: Text,
    *,
    label: int,
    goal: int,
    rng: Rng,
) -> Edit:
    """Exchange words that are in at most one training text for rare words of the goal's texts.

    The control exchanges them for rare words of the item's own label: rare words carry meaning, so
    that neutral words would be no fair comparison.

    Args:
        training: Labeled texts, which offer rare words.
        item: A tuple of one text, or of two texts for a task of pairs.
        label: Label that the model predicts for the item.
        goal: Label towards which it is edited; -1 if there is none.
        rng: Generator of the choices.
    """
    tokens = [token for token in training.segmenter.split(item) if training.is_rare(token)]
    treated = _replace_by_rare_words(training, item, tokens, goal, rng)
    if treated is None:
        return NO_EDIT
    control = _replace_by_rare_words(training, item, tokens, label, rng)
    words = tuple(dict.fromkeys(token.word for token in tokens))
    return Edit(treated, control, goal, words)


def _replace_by_rare_words(
    training: TrainingTexts,
    item: Text,
    tokens: Sequence[Token],
    label: int,
    rng: Rng,
) -> Text | None:
    """Replace tokens by random rare words of the texts of a label.

    Args:
        training: Labeled texts, with the rare words of each column and label.
        item: A tuple of one text, or of two texts for a task of pairs.
        tokens: Tokens to replace.
        label: The label.
        rng: Generator of the choices.

    Returns:
        The edited item; None if there are no tokens, or no rare words of the label.
    """
    replacements: list[Replacement] = []
    for token in tokens:
        words = training.rare_words.get((token.column, label), [])
        if words:
            word = words[int(rng.integers(len(words)))]
            replacements.append((token, word))
    if not replacements:
        return None
    return replace_tokens(item, replacements, training.forms)


def replace_neutral_word(training: TrainingTexts, item: Text, rng: Rng) -> Edit:
    """Replace a random word that predicts no label by another such word of similar frequency.

    There is no control, because the edit itself should change nothing.

    Args:
        training: Labeled texts, whose counts show which words predict no label.
        item: A tuple of one text, or of two texts for a task of pairs.
        rng: Generator of the choices.
    """
    tokens = [token for token in training.segmenter.split(item) if training.is_neutral(token)]
    if not tokens:
        return NO_EDIT
    token = tokens[int(rng.integers(len(tokens)))]
    neutral = draw_similar_neutral(training, token.key, rng)
    # The draw may give the word itself.
    if neutral is None or neutral == token.word:
        return NO_EDIT
    treated = replace_tokens(item, [(token, neutral)], training.forms)
    return Edit(treated, words=(token.word,))


def neutralize(
    training: TrainingTexts,
    words: WordList,
    item: Text,
    rng: Rng,
) -> Edit:
    """Replace every listed word of an item by a neutral one of similar frequency, without a control.

    Args:
        training: Labeled texts, which offer neutral words.
        words: The list, a mapping `labels` from (column, word) among others.
        item: A tuple of one text, or of two texts for a task of pairs.
        rng: Generator of the choices.
    """
    replacements: list[Replacement] = []
    for token in training.segmenter.split(item):
        if token.key in words.labels:
            neutral = draw_similar_neutral(training, token.key, rng)
            if neutral is not None:
                replacements.append((token, neutral))
    if not replacements:
        return NO_EDIT
    return Edit(replace_tokens(item, replacements, training.forms))
