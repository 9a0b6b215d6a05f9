"""The surface of a text: its length and its capitals."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.shortcuts.families.training import (
    UNCHANGED,
    Candidate,
    Changed,
    Feature,
    Rng,
    Text,
    Token,
    Training,
    Values,
    deleted,
    drawn,
    inserted,
    offered,
    put,
    strongest,
    tokens_of,
)


def length(training: Training, column: int) -> list[Candidate]:
    """Neutral words are put in or taken out until a text is as long as those of another label.

    The control makes it as long as another text of its own label.
    """

    def change(item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        goal, text = values.goal(predicted, rng), item[column]

        def resized(label: int) -> str | None:
            size = values.draw(label, rng)
            new = None if size is None else _resized(training, column, text, int(size), rng)
            return new if new is not None and values.points_at(len(tokens_of(new))) == label else None

        treated = None if goal < 0 else resized(goal)
        if treated is None or treated == text:
            return UNCHANGED
        control = resized(predicted)
        if control is None or control == text:
            control = training.reworded(column, text, rng)
        return treated, control, goal

    sizes = np.array([len(words) for words in training.words[column]])
    return offered(training, column, [Feature("length in words", sizes, change)])


def capitals(training: Training, column: int) -> list[Candidate]:
    """Words are put into capitals or taken out of them; the control changes the capitals of another word."""
    texts = training.columns[column]

    def form(name: str, form: Form) -> Feature:
        flags = np.array([any(form[0](word) for word in _inner(text)) for text in texts])
        return Feature(name, flags, functools.partial(_toggled, training, column, form))

    def turn(name: str, has: Callable[[str], bool], write: Callable[[str, bool], str]) -> Feature:
        return Feature(name, np.array([*map(has, texts)]), functools.partial(_turned, training, column, write))

    def begin(text: str, on: bool) -> str:
        return (text[:1].upper() if on else text[:1].lower()) + text[1:]

    features = [
        form("words in capitals", (lambda word: len(word) > 1 and word.isupper(), str.upper, str.title)),
        form("capitalized words", (lambda word: len(word) > 1 and word.istitle(), str.title, str.upper)),
        turn("text in capitals", _is_upper, lambda text, on: text.upper() if on else text.capitalize()),
        turn("capital at the beginning", lambda text: text[:1].isupper(), begin),
    ]
    return strongest([*offered(training, column, features), *_words_in_capitals(training, column)])


# ------------------------------------------------------------------------------------------------------------- private


def _resized(training: Training, column: int, text: str, size: int, rng: Rng) -> str | None:
    """Put neutral words in, or take them out, until a text has a number of words; None where too few can be."""
    tokens = tokens_of(text)
    if size >= len(tokens):
        words = [training.filler(column, rng) for _ in range(size - len(tokens))]
        return None if None in words else inserted(text, [word for word in words if word], rng)
    spare = training.weak_places(column, text)
    return deleted(text, drawn(spare, len(tokens) - max(size, 1), rng)) if spare else None


def _inner(text: str) -> list[str]:
    """Return the words of a text but the first, whose capital every sentence has."""
    return [match.group() for match in WORD_PATTERN.finditer(text) if match.group().isalpha()][1:]


def _is_upper(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return sum(map(str.isupper, letters)) > 0.6 * max(len(letters), 1)


def _lower_places(training: Training, column: int, text: str) -> list[Token]:
    """Return the neutral words of a text in lower case, the first one left out."""
    spare = training.neutral_places(column, text)
    return [token for token in spare if token.start and len(token.word) > 2 and text[token.start : token.end].islower()]


def _written(text: str, tokens: list[Token], write: Callable[[str], str]) -> str:
    return put(text, [(token.start, token.end, write(text[token.start : token.end])) for token in tokens])


Form = tuple[Callable[[str], bool], Callable[[str], str], Callable[[str], str]]
"""Whether a word has a form, what writes it, and what writes another one."""


def _toggled(
    training: Training, column: int, form: Form, item: Text, predicted: int, rng: Rng, values: Values
) -> Changed:
    """Put a neutral word into a form, or take all words out of it; the control writes a word in another form."""
    text, (has, write, other) = item[column], form
    formed = [token for token in tokens_of(text)[1:] if has(text[token.start : token.end])]
    goal, spare = values.points_at(not formed), _lower_places(training, column, text)
    if not formed and not spare:
        return UNCHANGED
    treated = _written(text, formed, str.lower) if formed else _written(text, drawn(spare, 1, rng), write)
    control = None
    if spare:
        # Where a form goes, no other comes: a word is replaced by another one.
        control = training.reworded(column, text, rng) if formed else _written(text, drawn(spare, 1, rng), other)
    return treated, control, goal


def _turned(
    training: Training, column: int, turn: Callable[[str, bool], str], item: Text, _: int, rng: Rng, values: Values
) -> Changed:
    """Turn the capitals of a whole text; the control replaces a neutral word."""
    text = item[column]
    treated = next((changed for changed in (turn(text, True), turn(text, False)) if changed != text), None)
    if treated is None:
        return UNCHANGED
    return treated, training.reworded(column, text, rng), values.points_at(turn(text, True) != text)


def _words_in_capitals(training: Training, column: int) -> list[Candidate]:
    """Find single words whose capitals go with a label, among the texts that hold them."""
    seen: dict[str, list[tuple[int, bool]]] = {}
    for row, text in enumerate(training.columns[column]):
        for token in tokens_of(text)[1:]:
            shown = text[token.start : token.end]
            if len(shown) > 1 and shown.isalpha():
                seen.setdefault(token.word, []).append((row, shown.isupper()))

    def change(word: str, item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        text = item[column]
        here = [token for token in tokens_of(text) if token.word == word]
        if not here:
            return UNCHANGED
        is_up = text[here[0].start : here[0].end].isupper()
        spare = [token for token in _lower_places(training, column, text) if token.word != word]
        control = _written(text, drawn(spare, 1, rng), str.title) if spare else None
        return _written(text, here, str.lower if is_up else str.upper), control, values.points_at(not is_up)

    features = []
    for word, forms in seen.items():
        if 5 <= sum(up for _, up in forms) <= len(forms) - 5:
            rows, upper = zip(*forms, strict=True)
            about = training.labels[list(rows)], (word,), len(set(rows)) / len(training)
            features.append(Feature(f"“{word}” in capitals", upper, functools.partial(change, word), *about))
    return offered(training, column, features)
