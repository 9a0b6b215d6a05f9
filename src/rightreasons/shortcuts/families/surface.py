"""The surface of a text: its length, its capitals, its numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.shortcuts.families.training import (
    Candidate,
    Edits,
    Rng,
    Text,
    Token,
    Training,
    Values,
    association,
    deleted,
    drawn,
    inserted,
    is_offered,
    kind_of,
    names_of,
    put,
    strongest,
    tokens_of,
    with_column,
)

MOST = 3
"""Candidates of a family."""


def length(training: Training, column: int) -> list[Candidate]:
    """Neutral words are put in or taken out until a text is as long as those of another label.

    The control makes it as long as another text of its own label.
    """
    sizes = np.array([len(words) for words in training.words[column]])
    how = association(sizes, training.labels, training.n_classes)
    if not is_offered(how):
        return []
    values = Values(sizes, training.labels, training.n_classes)

    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        goal = values.goal(predicted, rng)

        def resized(label: int) -> str | None:
            size = values.draw(label, rng)
            text = None if size is None else _resized(training, column, item[column], int(size), rng)
            return text if text is not None and values.points_at(len(tokens_of(text))) == label else None

        treated = None if goal < 0 else resized(goal)
        if treated is None or treated == item[column]:
            return Edits()
        control = resized(predicted)
        if control is None or control == item[column]:
            control = _reworded(training, column, item[column], rng)
        control_item = None if control is None else with_column(item, column, control)
        return Edits(with_column(item, column, treated), control_item, goal)

    return [Candidate(f"length in words{names_of(training, column)}", how[0], edit)]


def capitals(training: Training, column: int) -> list[Candidate]:
    """Words are put into capitals or taken out of them; the control changes the capitals of another word."""
    found = []
    texts = training.columns[column]
    where = names_of(training, column)
    forms: dict[str, tuple[Callable[[str], bool], Callable[[str], str]]] = {
        "words in capitals": (lambda word: len(word) > 1 and word.isupper(), str.upper),
        "capitalized words": (lambda word: len(word) > 1 and word.istitle(), str.title),
    }
    for name, (has, write) in forms.items():
        flags = np.array([any(has(word) for word in _inner(text)) for text in texts])
        how = association(flags, training.labels, training.n_classes)
        if is_offered(how, 4):
            values = Values(flags, training.labels, training.n_classes)
            found.append(Candidate(f"{name}{where}", how[0], _toggle(training, column, values, has, write)))
    upper = np.array([_is_upper(text) for text in texts])
    first = np.array([text[:1].isupper() for text in texts])
    for name, flags, turn in (
        ("text in capitals", upper, lambda text, on: text.upper() if on else text.capitalize()),
        ("capital at the beginning", first, lambda text, on: (text[:1].upper() if on else text[:1].lower()) + text[1:]),
    ):
        how = association(flags, training.labels, training.n_classes)
        if is_offered(how, 4):
            values = Values(flags, training.labels, training.n_classes)
            found.append(Candidate(f"{name}{where}", how[0], _turned(training, column, values, turn)))
    found += _word_in_capitals(training, column)
    return strongest(found, MOST)


def numbers(training: Training, column: int) -> list[Candidate]:
    """Numbers are replaced by those of a training text of another label; the control takes them from the same label."""
    found = []
    texts = training.words[column]
    held = [[word for word in row if kind_of(word) == "number"] for row in texts]
    rows = [row for row, numbers in enumerate(held) if numbers]
    if len(rows) < training.least:
        return []
    labels = training.labels[rows]
    firsts = [held[row][0] for row in rows]
    features = {
        "digits of a number": [len(number) for number in firsts],
        "size of a number": [float(number[:15]) for number in firsts],
        "odd or even number": [int(number[-1]) % 2 for number in firsts],
    }
    for name, feature in features.items():
        how = association(feature, labels, training.n_classes)
        if is_offered(how, len(features) + 1):
            values = Values(feature, labels, training.n_classes, firsts)
            edit = _renumbered(column, values)
            name = f"{name}{names_of(training, column)}"
            found.append(Candidate(name, how[0], edit, coverage=len(rows) / len(texts)))
    present = np.array([bool(numbers) for numbers in held])
    how = association(present, training.labels, training.n_classes)
    if is_offered(how, len(features) + 1):
        values = Values(present, training.labels, training.n_classes)
        name = f"presence of a number{names_of(training, column)}"
        found.append(Candidate(name, how[0], _numbered(training, column, values, firsts)))
    return strongest(found, MOST)


# ------------------------------------------------------------------------------------------------------------- private


def _resized(training: Training, column: int, text: str, size: int, rng: Rng) -> str | None:
    """Put neutral words in, or take them out, until a text has a number of words; None where too few can be."""
    tokens = tokens_of(text)
    if size >= len(tokens):
        words = [training.filler(column, rng) for _ in range(size - len(tokens))]
        return None if None in words else inserted(text, [word for word in words if word], rng)
    spare = training.weak_places(column, text)
    return deleted(text, drawn(spare, len(tokens) - max(size, 1), rng)) if spare else None


def _reworded(training: Training, column: int, text: str, rng: Rng) -> str | None:
    """Replace a neutral word of a text by another one."""
    spare = training.neutral_places(column, text)
    if not spare:
        return None
    token = drawn(spare, 1, rng)[0]
    word = training.filler(column, rng, {token.word})
    return None if word is None else put(text, [(token.start, token.end, word)])


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


def _toggle(
    training: Training, column: int, values: Values, has: Callable[[str], bool], write: Callable[[str], str]
) -> Callable[[Text, int, Rng], Edits]:
    """Put a neutral word into a form, or take all words out of it; the control writes a word in another form."""
    other: Callable[[str], str] = str.title if write is str.upper else str.upper

    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        text = item[column]
        formed = [token for token in tokens_of(text)[1:] if has(text[token.start : token.end])]
        goal, spare = values.points_at(not formed), _lower_places(training, column, text)
        if not formed and not spare:
            return Edits()
        treated = _written(text, formed, str.lower) if formed else _written(text, drawn(spare, 1, rng), write)
        control = None
        if spare:
            # Where a form goes, no other comes: a word is replaced by another one.
            control = _reworded(training, column, text, rng) if formed else _written(text, drawn(spare, 1, rng), other)
        control_item = None if control is None else with_column(item, column, control)
        return Edits(with_column(item, column, treated), control_item, goal)

    return edit


def _turned(
    training: Training, column: int, values: Values, turn: Callable[[str, bool], str]
) -> Callable[[Text, int, Rng], Edits]:
    """Turn the capitals of a whole text; the control replaces a neutral word."""

    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        text = item[column]
        treated = next((changed for changed in (turn(text, True), turn(text, False)) if changed != text), None)
        if treated is None:
            return Edits()
        control = _reworded(training, column, text, rng)
        control_item = None if control is None else with_column(item, column, control)
        goal = values.points_at(turn(text, True) != text)
        return Edits(with_column(item, column, treated), control_item, goal)

    return edit


def _word_in_capitals(training: Training, column: int) -> list[Candidate]:
    """Find single words whose capitals go with a label, among the texts that hold them."""
    seen: dict[str, list[tuple[int, bool]]] = {}
    for row, text in enumerate(training.columns[column]):
        for token in tokens_of(text)[1:]:
            shown = text[token.start : token.end]
            if len(shown) > 1 and shown.isalpha():
                seen.setdefault(token.word, []).append((row, shown.isupper()))
    found = []
    mixed = {word: forms for word, forms in seen.items() if 5 <= sum(up for _, up in forms) <= len(forms) - 5}
    for word, forms in mixed.items():
        rows, upper = zip(*forms, strict=True)
        how = association(upper, training.labels[list(rows)], training.n_classes)
        if not is_offered(how, len(mixed)):
            continue
        values = Values(upper, training.labels[list(rows)], training.n_classes)

        def edit(item: Text, predicted: int, rng: Rng, word: str = word, values: Values = values) -> Edits:
            text = item[column]
            here = [token for token in tokens_of(text) if token.word == word]
            if not here:
                return Edits()
            is_up = text[here[0].start : here[0].end].isupper()
            treated = _written(text, here, str.lower if is_up else str.upper)
            spare = [token for token in _lower_places(training, column, text) if token.word != word]
            control = _written(text, drawn(spare, 1, rng), str.title) if spare else None
            control_item = None if control is None else with_column(item, column, control)
            return Edits(with_column(item, column, treated), control_item, values.points_at(not is_up))

        name = f"“{word}” in capitals{names_of(training, column)}"
        found.append(Candidate(name, how[0], edit, (word,), coverage=len(set(rows)) / len(training)))
    return strongest(found, MOST)


def _renumbered(column: int, values: Values) -> Callable[[Text, int, Rng], Edits]:
    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        here = [token for token in tokens_of(item[column]) if kind_of(token.word) == "number"]
        goal = values.goal(predicted, rng)
        if not here or goal < 0:
            return Edits()

        def with_number(label: int) -> Text | None:
            new = values.draw(label, rng)
            if new is None:
                return None
            return with_column(item, column, put(item[column], [(token.start, token.end, new) for token in here]))

        return Edits(with_number(goal), with_number(predicted), goal)

    return edit


def _numbered(training: Training, column: int, values: Values, numbers: list[str]) -> Callable[[Text, int, Rng], Edits]:
    """Put a number in, or take all out; the control does it to neutral words."""

    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        text = item[column]
        here = [token for token in tokens_of(text) if kind_of(token.word) == "number"]
        goal, spare = values.points_at(not here), training.neutral_places(column, text)
        if here:
            treated, control = deleted(text, here), deleted(text, drawn(spare, len(here), rng)) if spare else None
        else:
            word = training.filler(column, rng)
            treated = inserted(text, [numbers[int(rng.integers(len(numbers)))]], rng)
            control = None if word is None else inserted(text, [word], rng)
        control_item = None if control is None else with_column(item, column, control)
        return Edits(with_column(item, column, treated), control_item, goal)

    return edit
