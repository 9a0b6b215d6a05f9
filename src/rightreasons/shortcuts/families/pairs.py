"""Tasks of two texts: how many words they share, a negation in the second, and one of them alone."""

from __future__ import annotations

import numpy as np

from rightreasons.shortcuts.families.training import (
    NEGATIONS,
    UNCHANGED,
    Candidate,
    Changed,
    Edits,
    Feature,
    Rng,
    Text,
    Training,
    Values,
    deleted,
    drawn,
    inserted,
    kind_of,
    offered,
    put,
    tokens_of,
    with_column,
)


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
            return put(item[1], [(t.start, t.end, word) for t, word in zip(changed, words, strict=False)])

        shared = [known[int(rng.integers(len(known)))] for _ in changed]
        treated, control = (written(shared), written(fillers)) if extra > 0 else (written(fillers), written(shared))
        reached = _shared(set(first), [token.word for token in tokens_of(treated)])
        return (treated, control, goal) if values.points_at(reached) == goal else UNCHANGED

    shares = np.array([_shared(set(first), second) for first, second in zip(*training.words, strict=True)])
    return offered(training, column, [Feature("words that the two texts share", shares, change, of_both=True)])


def negation(training: Training, column: int) -> list[Candidate]:
    """“Not” is put into the second text, or negations are taken out; the control does that to neutral words."""
    if column == 0:
        return []

    def change(item: Text, predicted: int, rng: Rng, values: Values) -> Changed:
        text = item[1]
        here = [token for token in tokens_of(text) if token.word in NEGATIONS]
        spare, word = training.neutral_places(1, text), training.filler(1, rng)
        if here:
            treated, control = deleted(text, here), deleted(text, drawn(spare, len(here), rng)) if spare else None
        else:
            treated, control = inserted(text, ["not"], rng), None if word is None else inserted(text, [word], rng)
        return treated, control, values.points_at(not here)

    flags = np.array([not NEGATIONS.isdisjoint(words) for words in training.words[1]])
    return offered(
        training, column, [Feature("negation in the second text", flags, change, words=("not",), of_both=True)]
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
