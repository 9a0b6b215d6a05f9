"""Length, capitals, where words stand, in which order and how often; of two texts, what they share, and one alone."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.shortcuts.families.training import (
    LEAST_P,
    NEGATIONS,
    UNCHANGED,
    Candidate,
    Changed,
    Edits,
    Feature,
    Rng,
    Text,
    Token,
    Training,
    Values,
    deleted,
    drawn,
    inserted,
    kind_of,
    names_of,
    offered,
    put,
    strongest,
    tokens_of,
    with_column,
)

Write = Callable[[str], str]
"""Writes a word in another form."""


def length(training: Training, column: int) -> list[Candidate]:
    """Neutral words are put in or taken out until a text is as long as those of another label.

    The control makes it as long as another text of its own label.
    """

    def change(item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        goal, text = values.goal(predicted, rng), item[column]

        def resized(label: int) -> str | None:
            """Put neutral words in, or take them out, until a text is as long as another; None where too few can be."""
            size, tokens, spare = (
                values.draw(label, rng),
                tokens_of(text),
                training.weak_places(column, text),
            )
            if size is None:
                return None
            if size >= len(tokens):
                words = [training.filler(column, rng) for _ in range(int(size) - len(tokens))]
                new = (
                    None if None in words else inserted(text, [word for word in words if word], rng)
                )
            else:
                new = (
                    deleted(text, drawn(spare, len(tokens) - max(int(size), 1), rng))
                    if spare
                    else None
                )
            return (
                new if new is not None and values.points_at(len(tokens_of(new))) == label else None
            )

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

    def form(name: str, has: Callable[[str], bool], write: Write, other: Write) -> Feature:
        """A neutral word is put into a form, or all words are taken out of it; the control takes another form."""

        def change(item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
            text, spare = item[column], _lower_places(training, column, item[column])
            formed = [token for token in tokens_of(text)[1:] if has(text[token.start : token.end])]
            if not formed and not spare:
                return UNCHANGED
            treated = (
                _written(text, formed, str.lower)
                if formed
                else _written(text, drawn(spare, 1, rng), write)
            )
            control = None
            if spare:
                # Where a form goes, no other comes: a word is replaced by another one.
                control = (
                    training.reworded(column, text, rng)
                    if formed
                    else _written(text, drawn(spare, 1, rng), other)
                )
            return treated, control, values.points_at(not formed)

        # The first word is left out, whose capital every sentence has.
        words = (
            [word for word in WORD_PATTERN.findall(text) if word.isalpha()][1:] for text in texts
        )
        return Feature(name, np.array([any(map(has, row)) for row in words]), change)

    def turn(name: str, has: Callable[[str], bool], write: Callable[[str, bool], str]) -> Feature:
        """The capitals of a whole text are turned; the control replaces a neutral word."""

        def change(item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
            text = item[column]
            treated = next(
                (changed for changed in (write(text, True), write(text, False)) if changed != text),
                None,
            )
            if treated is None:
                return UNCHANGED
            return (
                treated,
                training.reworded(column, text, rng),
                values.points_at(write(text, True) != text),
            )

        return Feature(name, np.array([*map(has, texts)]), change)

    def begin(text: str, on: bool) -> str:
        return (text[:1].upper() if on else text[:1].lower()) + text[1:]

    def is_upper(text: str) -> bool:
        letters = [letter for letter in text if letter.isalpha()]
        return sum(map(str.isupper, letters)) > 0.6 * max(len(letters), 1)

    features = [
        form(
            "words in capitals", lambda word: len(word) > 1 and word.isupper(), str.upper, str.title
        ),
        form(
            "capitalized words", lambda word: len(word) > 1 and word.istitle(), str.title, str.upper
        ),
        turn(
            "text in capitals", is_upper, lambda text, on: text.upper() if on else text.capitalize()
        ),
        turn("capital at the beginning", lambda text: text[:1].isupper(), begin),
    ]
    return strongest([*offered(training, column, features), *_words_in_capitals(training, column)])


# ------------------------------------------------------------------------------------------------------------- private


def _lower_places(training: Training, column: int, text: str) -> list[Token]:
    """Return the neutral words of a text in lower case, the first one left out."""
    spare = training.neutral_places(column, text)
    return [
        token
        for token in spare
        if token.start and len(token.word) > 2 and text[token.start : token.end].islower()
    ]


def _written(text: str, tokens: list[Token], write: Write) -> str:
    return put(
        text, [(token.start, token.end, write(text[token.start : token.end])) for token in tokens]
    )


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
        return (
            _written(text, here, str.lower if is_up else str.upper),
            control,
            values.points_at(not is_up),
        )

    varied = {
        word: forms
        for word, forms in seen.items()
        if 5 <= sum(up for _, up in forms) <= len(forms) - 5
    }
    return offered(training, column, _of_words(training, "“{}” in capitals", varied, change))


MOST_WORDS = 60
"""Words whose order is looked at, the most frequent ones."""

MOST_TEXTS = 5_000
"""Training texts whose order is looked at."""

Places = Iterable[tuple[int, int]]
"""Two places of a text each."""

LEAST_DIFFERENCE = 0.1
"""An order or a bigram that moves the share of a label by less than this offers a model next to nothing."""


def position(training: Training, column: int) -> list[Candidate]:
    """A word is moved to a typical position of another label; the control moves it to one of its own label."""
    texts = training.words[column]
    places: dict[str, list[tuple[int, float]]] = {}
    for row, words in enumerate(texts):
        for word, times in Counter(words).items():
            if times == 1 and len(words) > 1:
                places.setdefault(word, []).append((row, words.index(word) / (len(words) - 1)))

    def change(word: str, item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        goal, text = values.goal(predicted, rng), item[column]
        here = [token for token in tokens_of(text) if token.word == word]
        if len(here) != 1 or goal < 0:
            return UNCHANGED

        def moved(label: int) -> str | None:
            """Move the word to a share of the way from the first word of the text to the last."""
            share = values.draw(label, rng)
            if share is None:
                return None
            rest, name = deleted(text, [here[0]]), text[here[0].start : here[0].end]
            starts = [token.start for token in tokens_of(rest)]
            place = round(share * len(starts))
            start = starts[place] if place < len(starts) else None
            return f"{rest} {name}" if start is None else f"{rest[:start]}{name} {rest[start:]}"

        treated, control = moved(goal), moved(predicted)
        return UNCHANGED if treated == text else (treated, control, goal)

    frequent = {word: where for word, where in places.items() if len(where) >= training.least}
    return offered(training, column, _of_words(training, "position of “{}”", frequent, change))


def order(training: Training, column: int) -> list[Candidate]:
    """Two words of a text change places; the control exchanges two other words."""
    some = slice(None, None, -(-len(training) // MOST_TEXTS))
    texts, labels = training.words[column][some], training.labels[some]
    counts = Counter(word for words in texts for word in set(words) if kind_of(word) != "mark")
    names = [word for word, n in counts.most_common(MOST_WORDS) if n >= training.least]
    index = {word: place for place, word in enumerate(names)}
    first = np.full((len(texts), len(names)), -1, dtype=np.int32)
    for row, words in enumerate(texts):
        for place, word in enumerate(words):
            if word in index and first[row, index[word]] < 0:
                first[row, index[word]] = place
    both = (first[:, :, None] >= 0) & (first[:, None, :] >= 0)
    before = both & (first[:, :, None] < first[:, None, :])
    # A pair is worth a test where one order makes a label much more frequent than the other does.
    shares = np.zeros((training.n_classes, len(names), len(names)))
    for label in range(training.n_classes):
        inside = labels == label
        shares[label] = before[inside].sum(axis=0) / np.maximum(before.sum(axis=0), 1)
    differ = np.abs(shares - shares.transpose(0, 2, 1)).max(axis=0) >= LEAST_DIFFERENCE
    differ &= (both.sum(axis=0) >= training.least) & (
        np.minimum(before.sum(axis=0), before.sum(axis=0).T) >= 5
    )
    features = []
    for a, b in np.argwhere(np.triu(differ, 1)).tolist():
        rows, pair = both[:, a, b], (names[a], names[b])
        change, about = (
            functools.partial(_exchanged, training, column, pair),
            (labels[rows], pair, float(rows.mean())),
        )
        features.append(
            Feature(f"order of “{names[a]}” and “{names[b]}”", before[rows, a, b], change, *about)
        )
    return offered(training, column, features, max(len(names) * (len(names) - 1) // 2, 1))


def bigrams(training: Training, column: int) -> list[Candidate]:
    """Two words side by side, or anywhere, become two of another label; the control puts in two of the same label."""
    often = Counter(
        word for words in training.words[column] for word in set(words) if kind_of(word) != "mark"
    )
    known = {word for word, _ in often.most_common(MOST_WORDS)}

    def anywhere(words: Sequence[str]) -> Places:
        first = {word: place for place, word in reversed([*enumerate(words)]) if word in known}
        return itertools.combinations((first[word] for word in sorted(first)), 2)

    kinds: tuple[tuple[str, Callable[[Sequence[str]], Places]], ...] = (
        (" ", lambda words: itertools.pairwise(range(len(words)))),
        (" … ", anywhere),
    )
    return [found for kind in kinds if (found := _bigrams(training, column, *kind)) is not None]


def _bigrams(
    training: Training, column: int, between: str, places_of: Callable[[Sequence[str]], Places]
) -> Candidate | None:
    """Return the candidate of the pairs of words, in the places that a text has them in, that point at a label."""
    texts = training.words[column]
    pairs = (
        [(words[first], words[second]) for first, second in places_of(words)] for words in texts
    )
    table = {
        pair: row
        for pair, row in training.table(map(dict.fromkeys, pairs)).items()
        if row.sum() >= training.least
    }
    single, pointing = training.texts_with[column], {}
    for pair, counts in table.items():
        shares = counts / counts.sum()
        # Beyond what its words say: those are a family of their own.
        known = np.maximum(*(single[word] / single[word].sum() for word in pair))
        label = int((shares - known).argmax())
        rise = shares[label] - known[label]
        error = math.sqrt(max(known[label] * (1 - known[label]), 0.01) / counts.sum())
        if (
            rise >= LEAST_DIFFERENCE
            and math.erfc(rise / error / math.sqrt(2)) * len(table) < LEAST_P
        ):
            pointing[pair] = label, float(rise), int(counts.sum())
    if not pointing:
        return None
    ranked = sorted(pointing, key=lambda pair: (-pointing[pair][1] * pointing[pair][2], pair))
    swaps = {}
    for pair in (
        ranked
    ):  # the one of another label that is nearest in frequency; else the words in the other order
        others = [other for other, its in pointing.items() if its[0] != pointing[pair][0]]
        of_texts = {
            other: abs(math.log(pointing[other][2] / pointing[pair][2])) for other in others
        }
        swaps[pair] = min(others, key=lambda other: (of_texts[other], other), default=pair[::-1])

    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        text = item[column]
        tokens, taken, free = tokens_of(text), set[int](), list[tuple[Token, Token]]()
        for places in places_of([token.word for token in tokens]):
            first, second = (tokens[place] for place in places)
            if (first.word, second.word) in swaps and taken.isdisjoint(places):
                taken.update(places)
                free.append((first, second))
        if not free:
            return Edits()

        def written(new: Sequence[tuple[str, str]]) -> Text:
            spans = []
            for (first, second), (new_first, other) in zip(free, new, strict=True):
                spans += [(first.start, first.end, new_first), (second.start, second.end, other)]
            return with_column(item, column, put(text, spans))

        here = [(first.word, second.word) for first, second in free]
        # Others of their own label are the control.
        same = [
            next(
                (
                    other
                    for other in pointing
                    if pointing[other][0] == pointing[pair][0] and other != pair
                ),
                pair,
            )
            for pair in here
        ]
        goal = pointing.get(swaps[here[0]], (-1,))[0]
        return Edits(
            written([swaps[pair] for pair in here]), written(same) if same != here else None, goal
        )

    name = ", ".join(f"“{between.join(pair)}”" for pair in ranked[:2]) + names_of(training, column)
    association = 0.5 + max(rise for _, rise, _ in pointing.values()) / 2
    return Candidate(
        name, association, edit, tuple(dict.fromkeys(word for pair in swaps for word in pair))[:4]
    )


def count(training: Training, column: int) -> list[Candidate]:
    """A word is put in or taken out once more or less; the control does that to neutral words."""
    times: dict[str, list[tuple[int, int]]] = {}
    for row, words in enumerate(training.words[column]):
        for word, n in Counter(words).items():
            times.setdefault(word, []).append((row, min(n, 5)))

    def change(word: str, item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        text = item[column]
        here = [token for token in tokens_of(text) if token.word == word]
        goal = values.goal(predicted, rng)
        wanted = values.draw(goal, rng) if here and goal >= 0 else None
        if wanted is None or int(wanted) == len(here):
            return UNCHANGED
        extra = int(wanted) - len(here)
        if extra > 0:
            fillers = [
                filler for _ in range(extra) if (filler := training.filler(column, rng, {word}))
            ]
            treated, control = inserted(text, [word] * extra, rng), inserted(text, fillers, rng)
        else:
            spare = [token for token in training.neutral_places(column, text) if token.word != word]
            treated = deleted(text, drawn(here, -extra, rng))
            control = deleted(text, drawn(spare, -extra, rng)) if len(spare) >= -extra else text
        return treated, control if control != text else None, goal

    several = {
        word: held for word, held in times.items() if sum(n > 1 for _, n in held) >= training.least
    }
    return offered(
        training, column, _of_words(training, "how often “{}” is there", several, change)
    )


def _of_words(
    training: Training,
    name: str,
    held: Mapping[str, Sequence[tuple[int, float]]],
    change: Callable[..., Changed],
) -> list[Feature]:
    """Return a feature of each word, from the rows of the texts that hold it, and its value there."""
    features = []
    for word, pairs in held.items():
        rows, values = zip(*pairs, strict=True)
        about = training.labels[list(rows)], (word,), len(set(rows)) / len(training)
        features.append(Feature(name.format(word), values, functools.partial(change, word), *about))
    return features


def _exchanged(
    training: Training,
    column: int,
    names: tuple[str, str],
    item: Text,
    predicted: int,
    rng: Rng,
    values: Values,
) -> Changed:
    """Let two words change places; the control exchanges two that are as far apart, where possible."""
    text = item[column]
    tokens = tokens_of(text)
    first, second = (
        next((token for token in tokens if token.word == name), None) for name in names
    )
    if first is None or second is None:
        return UNCHANGED

    def exchanged(former: Token, latter: Token) -> str:
        words = text[former.start : former.end], text[latter.start : latter.end]
        return put(
            text, [(former.start, former.end, words[1]), (latter.start, latter.end, words[0])]
        )

    spare = [token for token in training.neutral_places(column, text) if token.word not in names]
    distance = abs(tokens.index(first) - tokens.index(second))
    others = [
        (abs(tokens.index(b) - tokens.index(a) - distance), float(rng.random()), a, b)
        for row, a in enumerate(spare)
        for b in spare[row + 1 :]
        if a.word != b.word
    ]
    control = exchanged(*min(others, key=lambda latter: latter[:2])[2:]) if others else None
    return exchanged(first, second), control, values.points_at(first.start > second.start)


def overlap(training: Training, column: int) -> list[Candidate]:
    """Words of the second text are replaced until it shares as many with the first as in texts of another label.

    The control replaces as many of them and keeps what is shared.
    """
    if column == 0:
        return []

    def change(item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        goal = values.goal(predicted, rng)
        share = values.draw(goal, rng) if goal >= 0 else None
        first = {token.word: item[0][token.start : token.end] for token in tokens_of(item[0])}
        tokens = [token for token in tokens_of(item[1]) if kind_of(token.word) != "mark"]
        if share is None or not tokens:
            return UNCHANGED
        inside = [token for token in tokens if token.word in first]
        outside = [token for token in tokens if token.word not in first]
        extra = round(share * len(tokens)) - len(inside)
        known = [word for name, word in first.items() if kind_of(name) == "word"]
        fillers = [filler for _ in range(abs(extra)) if (filler := training.filler(1, rng, first))]
        if not extra or not known or len(fillers) < abs(extra):
            return UNCHANGED
        changed = drawn(outside if extra > 0 else inside, abs(extra), rng)

        def written(words: list[str]) -> str:
            return put(
                item[1], [(t.start, t.end, word) for t, word in zip(changed, words, strict=False)]
            )

        shared = [known[int(rng.integers(len(known)))] for _ in changed]
        treated, control = (
            (written(shared), written(fillers))
            if extra > 0
            else (written(fillers), written(shared))
        )
        reached = _shared(set(first), [token.word for token in tokens_of(treated)])
        return (treated, control, goal) if values.points_at(reached) == goal else UNCHANGED

    shares = np.array(
        [_shared(set(first), second) for first, second in zip(*training.words, strict=True)]
    )
    return offered(
        training, column, [Feature("words that the two texts share", shares, change, of_both=True)]
    )


def negation(training: Training, column: int) -> list[Candidate]:
    """“Not” is put into the second text, or negations are taken out; the control does that to neutral words."""
    if column == 0:
        return []

    def change(item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        text = item[1]
        here = [token for token in tokens_of(text) if token.word in NEGATIONS]
        spare, word = training.neutral_places(1, text), training.filler(1, rng)
        if here:
            treated, control = (
                deleted(text, here),
                deleted(text, drawn(spare, len(here), rng)) if spare else None,
            )
        else:
            treated, control = (
                inserted(text, ["not"], rng),
                None if word is None else inserted(text, [word], rng),
            )
        return treated, control, values.points_at(not here)

    flags = np.array([not NEGATIONS.isdisjoint(words) for words in training.words[1]])
    return offered(
        training,
        column,
        [Feature("negation in the second text", flags, change, words=("not",), of_both=True)],
    )


def alone(training: Training, column: int) -> list[Candidate]:
    """One text is exchanged for that of another item: a prediction that stays was made by the other text alone."""
    if column == 0:
        return []

    def other(column: int) -> Candidate:
        texts = training.columns[1 - column]

        def edit(item: Text, predicted: int, rng: Rng) -> Edits:
            new = texts[int(rng.integers(len(texts)))]
            return Edits(None if new == item[1 - column] else with_column(item, 1 - column, new))

        return Candidate(f"the {('first', 'second')[column]} text alone", 1.0, edit, fixes=True)

    return [other(0), other(1)]


def _shared(first: set[str], second: list[str]) -> float:
    words = [word for word in second if kind_of(word) != "mark"]
    return sum(word in first for word in words) / max(len(words), 1)
