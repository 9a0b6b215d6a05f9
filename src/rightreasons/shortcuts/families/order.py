"""Where words stand, in which order, side by side, and how often."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rightreasons.shortcuts.families.training import (
    LEAST_P,
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
    tokens_of,
    with_column,
)

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
            share = values.draw(label, rng)
            return None if share is None else _moved(text, here[0], share)

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
    differ &= (both.sum(axis=0) >= training.least) & (np.minimum(before.sum(axis=0), before.sum(axis=0).T) >= 5)
    features = []
    for a, b in np.argwhere(np.triu(differ, 1)).tolist():
        rows, pair = both[:, a, b], (names[a], names[b])
        change, about = functools.partial(_exchanged, training, column, pair), (labels[rows], pair, float(rows.mean()))
        features.append(Feature(f"order of “{names[a]}” and “{names[b]}”", before[rows, a, b], change, *about))
    return offered(training, column, features, max(len(names) * (len(names) - 1) // 2, 1))


def bigrams(training: Training, column: int) -> list[Candidate]:
    """Two words side by side, or anywhere, become two of another label; the control puts in two of the same label."""
    often = Counter(word for words in training.words[column] for word in set(words) if kind_of(word) != "mark")
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
    pairs = ([(words[one], words[other]) for one, other in places_of(words)] for words in texts)
    table = {pair: row for pair, row in training.table(pairs).items() if row.sum() >= training.least}
    single, pointing = training.texts_with[column], {}
    for pair, counts in table.items():
        shares = counts / counts.sum()
        # Beyond what its words say: those are a family of their own.
        known = np.maximum(*(single[word] / single[word].sum() for word in pair))
        label = int((shares - known).argmax())
        rise = shares[label] - known[label]
        error = math.sqrt(max(known[label] * (1 - known[label]), 0.01) / counts.sum())
        if rise >= LEAST_DIFFERENCE and math.erfc(rise / error / math.sqrt(2)) * len(table) < LEAST_P:
            pointing[pair] = label, float(rise), int(counts.sum())
    ranked = sorted(pointing, key=lambda pair: (-pointing[pair][1] * pointing[pair][2], pair))
    if not pointing:
        return None
    swaps = {pair: _of_another_label(pair, pointing) for pair in ranked}
    name = ", ".join(f"“{between.join(pair)}”" for pair in ranked[:2])
    return _two_for_two(column, f"{name}{names_of(training, column)}", places_of, swaps, pointing)


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
            fillers = [filler for _ in range(extra) if (filler := training.filler(column, rng, {word}))]
            treated, control = inserted(text, [word] * extra, rng), inserted(text, fillers, rng)
        else:
            spare = [token for token in training.neutral_places(column, text) if token.word != word]
            treated = deleted(text, drawn(here, -extra, rng))
            control = deleted(text, drawn(spare, -extra, rng)) if len(spare) >= -extra else text
        return treated, control if control != text else None, goal

    several = {word: held for word, held in times.items() if sum(n > 1 for _, n in held) >= training.least}
    return offered(training, column, _of_words(training, "how often “{}” is there", several, change))


# ------------------------------------------------------------------------------------------------------------- private


def _moved(text: str, token: Token, share: float) -> str:
    """Move a word to a share of the way from the first word of the text to the last."""
    rest = deleted(text, [token])
    others, word = tokens_of(rest), text[token.start : token.end]
    place = round(share * len(others))
    if place >= len(others):
        return f"{rest} {word}"
    start = others[place].start
    return f"{rest[:start]}{word} {rest[start:]}"


def _of_words(
    training: Training, name: str, held: Mapping[str, Sequence[tuple[int, float]]], change: Callable[..., Changed]
) -> list[Feature]:
    """Return a feature of each word, from the rows of the texts that hold it, and its value there."""
    features = []
    for word, pairs in held.items():
        rows, values = zip(*pairs, strict=True)
        about = training.labels[list(rows)], (word,), len(rows) / len(training)
        features.append(Feature(name.format(word), values, functools.partial(change, word), *about))
    return features


def _exchanged(
    training: Training, column: int, names: tuple[str, str], item: Text, predicted: int, rng: Rng, values: Values
) -> Changed:
    """Let two words change places; the control exchanges two that are as far apart, where possible."""
    text = item[column]
    tokens = tokens_of(text)
    first, second = (next((token for token in tokens if token.word == name), None) for name in names)
    if first is None or second is None:
        return UNCHANGED

    def exchanged(one: Token, other: Token) -> str:
        words = text[one.start : one.end], text[other.start : other.end]
        return put(text, [(one.start, one.end, words[1]), (other.start, other.end, words[0])])

    spare = [token for token in training.neutral_places(column, text) if token.word not in names]
    distance = abs(tokens.index(first) - tokens.index(second))
    others = [
        (abs(tokens.index(b) - tokens.index(a) - distance), float(rng.random()), a, b)
        for row, a in enumerate(spare)
        for b in spare[row + 1 :]
        if a.word != b.word
    ]
    control = exchanged(*min(others, key=lambda other: other[:2])[2:]) if others else None
    return exchanged(first, second), control, values.points_at(first.start > second.start)


def _of_another_label(
    pair: tuple[str, str], pointing: dict[tuple[str, str], tuple[int, float, int]]
) -> tuple[str, str]:
    """Return the bigram of another label that is nearest in frequency; else the words in the other order."""
    label, _, texts = pointing[pair]
    others = [other for other, its in pointing.items() if its[0] != label]
    return min(others, key=lambda other: (abs(math.log(pointing[other][2] / texts)), other), default=pair[::-1])


def _two_for_two(
    column: int,
    name: str,
    places_of: Callable[[Sequence[str]], Places],
    swaps: dict[tuple[str, str], tuple[str, str]],
    pointing: dict[tuple[str, str], tuple[int, float, int]],
) -> Candidate:
    """Swap the bigrams of a label for those of another one, and for others of their own label as a control."""
    by_label: dict[int, list[tuple[str, str]]] = {}
    for pair, (label, _, _) in pointing.items():
        by_label.setdefault(label, []).append(pair)

    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        text = item[column]
        tokens = tokens_of(text)
        taken: set[int] = set()
        free: list[tuple[Token, Token]] = []
        for places in places_of([token.word for token in tokens]):
            first, second = (tokens[place] for place in places)
            if (first.word, second.word) in swaps and taken.isdisjoint(places):
                taken.update(places)
                free.append((first, second))
        if not free:
            return Edits()

        def written(new: Sequence[tuple[str, str]]) -> Text:
            spans = []
            for (first, second), (one, other) in zip(free, new, strict=True):
                spans += [(first.start, first.end, one), (second.start, second.end, other)]
            return with_column(item, column, put(text, spans))

        pairs = [(first.word, second.word) for first, second in free]
        same = [next((other for other in by_label[pointing[pair][0]] if other != pair), pair) for pair in pairs]
        control = written(same) if same != pairs else None
        goal = pointing.get(swaps[pairs[0]], (-1,))[0]
        return Edits(written([swaps[pair] for pair in pairs]), control, goal)

    words = tuple(dict.fromkeys(word for pair in swaps for word in pair))
    return Candidate(name, 0.5 + max(rise for _, rise, _ in pointing.values()) / 2, edit, words[:4])
