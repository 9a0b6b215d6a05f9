"""Kinds of parts of a text: numbers, names, marks and spaces, the first word. All of a kind give way together.

Where each of many names points at a label, none decides much by itself. The parts of a text that are of a kind are
replaced by those of a training text whose label they point at; the control takes them from a text of its own label.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats
from rightreasons.datasets.perturbing.edits import (
    LAST_NAMES,
    NAMES,
    PLACES,
    PROTECTED,
    WORDS,
    touches,
)
from rightreasons.shortcuts.families.training import (
    NEGATIONS,
    UNCHANGED,
    Candidate,
    Changed,
    Feature,
    Rng,
    Text,
    Training,
    Values,
    association,
    kind_of,
    offered,
    put,
    tokens_of,
)

Span = tuple[int, int]
"""The first character of a part, and one past its last."""

WORD = re.compile(r"\w+(?:['’]\w+)*")
"""What marks and spaces stand between."""

MOST_TEXTS = 5_000
"""Training texts whose parts are looked at."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of parts of a text.

    Attributes:
        name: Its name for readers, in the plural where a text may have several.
        find: Finds them in a text.
        plain: Finds what may become one: places of words that point at no label, or plain spaces.
        filler: Draws what takes the place of one that goes; None where nothing does.
    """

    name: str
    find: Callable[[str], list[Span]]
    plain: Callable[[str], list[Span]] = lambda text: []
    filler: Callable[[Rng], str | None] = lambda rng: ""


def numbers(training: Training, column: int) -> list[Candidate]:
    """Numbers."""
    return _offered(training, column, [_of_words(training, column, "numbers", r"\d+")])


def names(training: Training, column: int) -> list[Candidate]:
    """Names: known ones, in capitals or not, and all capitalized words inside of sentences."""
    known = {*NAMES["male"], *NAMES["female"], *LAST_NAMES, *PLACES["city"], *PLACES["country"]}
    listed = _of_words(training, column, "names", {name.lower() for name in known})
    inside = _of_words(
        training, column, "capitalized words", r"(?<=[^\W\d_] )[^\W\d_a-zß-ÿ][^\W\d_A-Z]+\b"
    )
    return _offered(training, column, [listed, inside])


def groups(training: Training, column: int) -> list[Candidate]:
    """Words that are alike in something but their meaning: listed, rare, repeated and stretched ones, and addresses."""
    counts = Counter(word for words in training.words[column] for word in set(words))
    kinds: dict[str, str | Collection[str] | Callable[[str], bool]] = {
        **{name: words.split() for name, words in WORDS["kinds"].items()},
        "negations": NEGATIONS,
        "rare words": lambda word: counts[word] < 3 and word.isalpha(),
        "repeated words": r"\b(\w+) \1\b",
        "stretched words": r"\b\w*(\w)\1\1\w*\b",
        "addresses and tags": PROTECTED.pattern,
    }
    return _offered(
        training, column, [_of_words(training, column, name, how) for name, how in kinds.items()]
    )


def ends(training: Training, column: int) -> list[Candidate]:
    """The first and the last word of a text; words that point at a label wherever they stand are left alone."""

    def word_at(place: int, text: str) -> list[Span]:
        words = [token for token in tokens_of(text) if kind_of(token.word) != "mark"]
        weak = training.weak_places(column, text)
        return [(token.start, token.end) for token in words[place:][:1] if token in weak]

    kinds = (
        Kind(name, functools.partial(word_at, at))
        for name, at in {"first word": 0, "last word": -1}.items()
    )
    return _offered(training, column, [*kinds])


def between(training: Training, column: int) -> list[Candidate]:
    """Marks and spaces: before the first word, between words, and after the last."""

    def inside(text: str, plain: bool) -> list[Span]:
        return [
            (start, end) for start, end in _gaps(text)[1:-1] if (text[start:end] == " ") == plain
        ]

    kinds = [
        Kind("marks and spaces at the beginning", lambda text: _gaps(text)[:1]),
        Kind("marks and spaces at the end", lambda text: _gaps(text)[-1:]),
        Kind(
            "marks and spaces between words",
            functools.partial(inside, plain=False),
            functools.partial(inside, plain=True),
            lambda rng: " ",
        ),
    ]
    return _offered(training, column, kinds)


# ------------------------------------------------------------------------------------------------------------- private


def _gaps(text: str) -> list[Span]:
    """Return what is before, between and behind the words of a text, of which there are one fewer."""
    words = [match.span() for match in WORD.finditer(text)]
    return list(
        zip(
            [0, *(end for _, end in words)],
            [*(start for start, _ in words), len(text)],
            strict=True,
        )
    )


def _of_words(
    training: Training, column: int, name: str, how: str | Collection[str] | Callable[[str], bool]
) -> Kind:
    """Return a kind of words, in a list, of a pattern or by a rule, that give way to neutral words."""

    def find(text: str) -> list[Span]:
        if isinstance(how, str):
            return [match.span() for match in re.finditer(how, text)]
        is_one = how if callable(how) else how.__contains__
        return [(token.start, token.end) for token in tokens_of(text) if is_one(token.word)]

    def plain(text: str) -> list[Span]:
        return [(token.start, token.end) for token in training.neutral_places(column, text)]

    return Kind(name, find, plain, functools.partial(training.filler, column))


def _aspects(parts: Sequence[str]) -> list[str]:
    """Return what a model may see in the parts of a text: which, how many, how long, their first and last letters."""
    aspects = [f"{min(len(parts), 3)} of them"]
    for part in map(str.lower, parts):
        aspects += [f"“{part}”", f"{part[:1]}…", f"…{part[-1:]}", f"{part[:1]}… of {len(part)}"]
    return aspects


def _pointing(
    aspects: Sequence[Sequence[str]], labels: NDArray[np.int64], n_classes: int
) -> Floats:
    r"""Return (N, K) how far the parts of each text point at each label, by the other half of the texts: naive Bayes.

    \[ S_{il} = \sum_{v \in i} \log \frac{c_{vl} + 2 \pi_l}{(c_v + 2) \pi_l} \]

    where c_v texts of that half have aspect v, c_vl of them with label l, whose share there is pi_l.
    """
    index: dict[str, int] = {}
    distinct = [list(dict.fromkeys(held)) for held in aspects]
    rows = np.repeat(np.arange(len(labels)), [*map(len, distinct)])
    ids = np.array(
        [index.setdefault(each, len(index)) for held in distinct for each in held], dtype=np.int64
    )
    scores, halves = np.zeros((len(labels), n_classes)), np.zeros(len(labels), dtype=np.int64)
    for label in range(n_classes):
        halves[np.flatnonzero(labels == label)[::2]] = 1
    for half in (0, 1):
        is_in, counts = halves[rows] == half, np.zeros((len(index), n_classes))
        np.add.at(counts, (ids[~is_in], labels[rows[~is_in]]), 1.0)
        others = np.bincount(labels[halves != half], minlength=n_classes)
        priors = np.maximum(others / max(int(others.sum()), 1), 1e-9)
        lifts = np.log((counts + 2 * priors) / ((counts.sum(axis=1, keepdims=True) + 2) * priors))
        np.add.at(scores, rows[is_in], lifts[ids[is_in]])
    return scores


def _offered(training: Training, column: int, kinds: Sequence[Kind]) -> list[Candidate]:
    """Return the candidates of the kinds that go with a label."""
    some = slice(None, None, -(-len(training) // MOST_TEXTS))
    texts, labels = training.columns[column][some], training.labels[some]
    features = []
    for kind in kinds:
        held = [[text[start:end] for start, end in kind.find(text)] for text in texts]
        if sum(map(bool, held)) < training.least:
            continue
        scores = _pointing([*map(_aspects, held)], labels, training.n_classes)
        auroc, p = max(
            association(scores[:, label], labels != label, 2) for label in range(training.n_classes)
        )
        if auroc < 0.5:
            continue
        says = np.where(scores.max(axis=1) > np.log(1.1), scores.argmax(axis=1), -1)
        change = functools.partial(_exchanged, training, column, kind)
        how = auroc, p * training.n_classes
        features.append(
            Feature(kind.name, says, change, labels, (), float((says >= 0).mean()), held, told=how)
        )
    return offered(training, column, features)


def _exchanged(
    training: Training,
    column: int,
    kind: Kind,
    item: Text,
    predicted: int,
    rng: Rng,
    values: Values,
) -> Changed:
    """Put the parts of another text in the place of all; the control puts those of a text of the same label."""
    text = item[column]
    here, plain, goal = kind.find(text), kind.plain(text), values.goal(predicted, rng)
    free = [span for span in plain if not touches(here, *span)]

    def written(new: Sequence[str]) -> str:
        spans = [(*span, part) for span, part in zip(here, new, strict=False)]
        spans += [(*span, kind.filler(rng) or "") for span in here[len(new) :]]
        places = sorted(rng.permutation(len(free))[: max(len(new) - len(here), 0)].tolist())
        return put(
            text,
            spans
            + [(*free[place], part) for place, part in zip(places, new[len(here) :], strict=False)],
        )

    new, replaced = (values.draw(goal, rng) if goal >= 0 else None), values.draw(predicted, rng)
    treated = text if new is None else written(new)
    if treated == text:
        return UNCHANGED
    control = text if replaced is None else written(replaced)
    return treated, training.reworded(column, text, rng, here) if control == text else control, goal
