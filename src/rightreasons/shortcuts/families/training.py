"""What families share: the training texts as tokens, which features go with a label, and how texts are edited."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core.arrays import Floats
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.core.tokens import split_words as tokenize
from rightreasons.datasets.perturbing.edits import cased_like, delete_words, insert_word, touches

Text = tuple[str, ...]
"""The columns of an item: one text, or two."""

Labels = NDArray[np.int64]
Rng = np.random.Generator

NEGATIONS = frozenset(
    {
        "not",
        "no",
        "never",
        "none",
        "nothing",
        "nobody",
        "neither",
        "nor",
        "cannot",
        "t",
        "without",
        "hardly",
    }
)
"""Words that turn a meaning around, and so are never neutral."""

LEAST_AUROC = 0.05
"""A feature whose AUROC is nearer to one half than this offers a model next to nothing."""

LEAST_P = 0.001
"""A feature goes with a label where chance does as much more rarely than this, over all that a family looks at."""


@dataclasses.dataclass(frozen=True)
class Edits:
    """What is done to one item.

    Attributes:
        treated: The item with the feature of another label; None where it has nothing to change.
        control: The item with something else changed in the same manner; None where it has nothing.
        goal: The label that the new feature points at; -1 for none.
    """

    treated: Text | None = None
    control: Text | None = None
    goal: int = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """A feature that goes with a label.

    Attributes:
        name: The feature, in words.
        association: How well it tells a label: AUROC, or the share of its texts that have the label.
        edit: (item, predicted label, source of random choices) -> what is done to it.
        words: The words that the feature is about, those that a person may call reasons or not.
        match: The largest ratio of training frequencies between what is changed and its control; 1 where edits of the
            same text are compared, and None where there is no control.
        fixes: Whether a prediction that *stays* under the edit is the sign, as for one text alone.
        pairs: The pairs of words that are swapped, for curves over several; () elsewhere.
        coverage: The share of the training texts that have the feature at all: a model can decide no more by it.
    """

    name: str
    association: float
    edit: Callable[[Text, int, Rng], Edits]
    words: tuple[str, ...] = ()
    match: float | None = 1.0
    fixes: bool = False
    pairs: tuple[Any, ...] = ()
    coverage: float = 1.0

    @property
    def labels(self) -> frozenset[int]:
        """The labels that the pairs of words point at."""
        return frozenset(label for pair in self.pairs for label in pair.labels if label >= 0)


@dataclasses.dataclass(frozen=True)
class Token:
    """A word or mark of a text: its lower-case form, first character and one past the last."""

    word: str
    start: int
    end: int


@functools.lru_cache(maxsize=50_000)
def tokens_of(text: str) -> list[Token]:
    """Return the words and marks of a text in order; the list is shared, and so must not be changed."""
    return [
        Token(match.group().lower(), match.start(), match.end())
        for match in WORD_PATTERN.finditer(text)
    ]


def kind_of(word: str) -> str:
    """Tell words, numbers and marks apart.

    Example:
        >>> kind_of("film"), kind_of("1999"), kind_of("!")
        ('word', 'number', 'mark')
    """
    if word.isdecimal():
        return "number"
    return "word" if word[:1].isalnum() else "mark"


class Training:
    """The labeled training texts.

    Args:
        columns: One list of texts, or two of the same length.
        labels: (N,) the label of each, in the model's numbering.
        n_classes: The number of the model's classes.
        suspected: Words that a user suspects; they are candidates whatever their association.
        reasons: Words that a user calls reasons; each is swapped for another one or for a neutral word.
        most: Texts beyond this number are left out, as they would tell nothing more.
    """

    def __init__(
        self,
        columns: Sequence[Sequence[str]],
        labels: Labels,
        n_classes: int,
        *,
        suspected: Sequence[str] = (),
        reasons: Sequence[str] = (),
        most: int = 20_000,
    ) -> None:
        rows = np.flatnonzero(labels >= 0)
        rows = rows[:: -(-len(rows) // most)] if len(rows) > most else rows
        self.columns = tuple([column[row] for row in rows.tolist()] for column in columns)
        self.labels = np.asarray(labels[rows], dtype=np.int64)
        self.n_classes = n_classes
        self.suspected = tuple(word.lower() for word in suspected)
        self.reasons = frozenset(word.lower() for word in reasons)

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def words(self) -> tuple[list[list[str]], ...]:
        """The lower-case words and marks of each text of each column."""
        return tuple(
            [[token.word for token in tokens_of(text)] for text in column]
            for column in self.columns
        )

    @functools.cached_property
    def least(self) -> int:
        """The texts that a feature must be in."""
        return int(min(20, max(5, len(self) // 50)))

    @functools.cached_property
    def priors(self) -> Floats:
        """(K,) the share of each label."""
        return np.asarray(np.bincount(self.labels, minlength=self.n_classes) / max(len(self), 1))

    def table(self, items: Iterable[Iterable[Any]]) -> dict[Any, Labels]:
        """Count for each thing how often (K,) the texts of each label hold it.

        Args:
            items: What each text holds, in the order of the texts; without repetitions, texts are counted.
        """
        counts: dict[Any, Labels] = {}
        for held, label in zip(items, self.labels.tolist(), strict=True):
            for each in held:
                if each not in counts:
                    counts[each] = np.zeros(self.n_classes, dtype=np.int64)
                counts[each][label] += 1
        return counts

    @functools.cached_property
    def texts_with(self) -> tuple[dict[str, Labels], ...]:
        """Word -> (K,) the texts of each label that hold it, of each column."""
        # Each word once, in an order that no hash decides, as it breaks ties.
        return tuple(self.table(map(dict.fromkeys, column)) for column in self.words)

    @functools.cached_property
    def neutral(self) -> tuple[dict[str, int], ...]:
        """The words of each column that no label goes with, and in how many texts each is.

        Occurrences are compared with the words of a label rather than its texts, as longer texts hold more of each.
        """
        found = []
        for column, words in enumerate(self.words):
            counts = self.table(words)
            total = sum(counts.values(), start=np.zeros(self.n_classes, dtype=np.int64))
            shares = total / max(int(total.sum()), 1)
            texts = {word: int(row.sum()) for word, row in self.texts_with[column].items()}
            kept = {}
            for word, of_label in counts.items():
                if texts[word] < 3 or word in NEGATIONS or word in self.suspected:
                    continue
                n = int(of_label.sum())
                off = np.abs(of_label / n - shares)
                if (
                    off / np.sqrt(shares * (1 - shares) / n + 1e-12)
                ).max() < 2.5 or off.max() < 0.03:
                    kept[word] = texts[word]
            found.append(kept)
        return tuple(found)

    @functools.cached_property
    def fillers(self) -> tuple[tuple[list[str], Floats], ...]:
        """The neutral words of each column with their chances to be drawn, by frequency; words of letters alone."""
        drawn = []
        for column in self.neutral:
            words = {word: n for word, n in column.items() if word.isalpha() and len(word) > 2}
            counts = np.array(list(words.values()), dtype=np.float64)
            drawn.append((list(words), counts / max(counts.sum(), 1.0)))
        return tuple(drawn)

    def filler(self, column: int, rng: Rng, absent: Iterable[str] = ()) -> str | None:
        """Draw a neutral word that is not among some words; None where there is none."""
        (names, chances), taken = self.fillers[column], set(absent)
        for _ in range(20 if names else 0):
            word = names[int(rng.choice(len(names), p=chances))]
            if word not in taken:
                return word
        return None

    @functools.cached_property
    def _associated(self) -> tuple[set[str], ...]:
        """The words of each column that a label goes with, and those that turn a meaning around."""
        return tuple(
            {word for word, row in counts.items() if row.sum() >= 3} - neutral.keys() | NEGATIONS
            for counts, neutral in zip(self.texts_with, self.neutral, strict=True)
        )

    def neutral_places(self, column: int, text: str) -> list[Token]:
        """Return the words of letters of a text that no label goes with, also those that no training text has."""
        associated = self._associated[column]
        return [
            token
            for token in tokens_of(text)
            if token.word.isalpha() and token.word not in associated
        ]

    def reworded(
        self, column: int, text: str, rng: Rng, kept: Sequence[tuple[int, int]] = ()
    ) -> str | None:
        """Replace a neutral word of a text, outside of some spans, by another one; None where there is none."""
        places = [(token.start, token.end) for token in self.neutral_places(column, text)]
        free = [place for place in places if not touches(kept, *place)]
        if not free:
            return None
        start, end = free[int(rng.integers(len(free)))]
        word = self.filler(column, rng, {text[start:end].lower()})
        return None if word is None else put(text, [(start, end, word)])

    def weak_places(self, column: int, text: str) -> list[Token]:
        """Return the words of a text that say little about its label."""
        return [token for token in tokens_of(text) if token.word not in self._strong[column]]

    @functools.cached_property
    def _strong(self) -> tuple[set[str], ...]:
        """The words whose share of a label is off by a fifth, and those that turn a meaning around."""
        strong = []
        for counts in self.texts_with:
            off = {
                word: np.abs(row / row.sum() - self.priors).max()
                for word, row in counts.items()
                if row.sum() >= 3
            }
            strong.append({word for word, value in off.items() if value > 0.2} | NEGATIONS)
        return tuple(strong)


def association(values: Any, labels: Labels, n_classes: int) -> tuple[float, float]:
    r"""Tell how far a feature goes with a label: the AUROC of the label that it tells best from the others.

    Args:
        values: (N,) the feature.
        labels: (N,) labels.
        n_classes: K.

    Returns:
        The AUROC that is farthest from one half, in [0, 1], and its two-sided p-value (Mann–Whitney, normal
        approximation with ties), times K; (0.5, 1) where a feature or a label never varies.
    """
    array = np.asarray(values, dtype=np.float64)
    if len(array) and array.min() == array.max():
        return 0.5, 1.0
    best, n_tested = (0.5, 1.0), n_classes if n_classes > 2 else 1
    for label in range(n_tested):
        with_label, others = array[labels == label], array[labels != label]
        if len(with_label) and len(others):
            found = stats.mannwhitneyu(
                with_label, others, use_continuity=False, method="asymptotic"
            )
            auroc = float(found.statistic) / (len(with_label) * len(others))
            if abs(auroc - 0.5) > abs(best[0] - 0.5):
                best = auroc, min(1.0, float(found.pvalue) * n_tested)
    return best


class Values:
    """The values of a feature by the label that they point at.

    A value points at the label that is most overrepresented among the texts with values like it: those in the same of
    at most ten bins of like size.

    Args:
        values: (N,) the feature.
        labels: (N,) labels.
        n_classes: K.
        shown: What stands for each value in a text; None for the value.
    """

    def __init__(
        self, values: Any, labels: Labels, n_classes: int, shown: Sequence[Any] | None = None
    ) -> None:
        array = np.asarray(values, dtype=np.float64)
        edges = np.unique(array)
        if len(edges) > 12:
            edges = np.unique(np.quantile(array, np.arange(10) / 10, method="lower"))
        self._edges = edges
        places = self._bin(array)
        counts = np.zeros((len(edges), n_classes))
        np.add.at(counts, (places, labels), 1.0)
        priors = np.maximum(np.bincount(labels, minlength=n_classes) / max(len(labels), 1), 1e-12)
        lift = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0) / priors
        self._points = np.where(lift.max(axis=1) >= 1.1, lift.argmax(axis=1), -1)
        held = list(array.tolist()) if shown is None else list(shown)
        of_value = self._points[places]
        self.pools = [
            [held[row] for row in np.flatnonzero((of_value == label) & (labels == label)).tolist()]
            for label in range(n_classes)
        ]

    def _bin(self, values: Floats) -> NDArray[np.intp]:
        return np.maximum(np.searchsorted(self._edges, values, side="right") - 1, 0)

    def points_at(self, value: float) -> int:
        """Return the label that a value points at; -1 for none."""
        return int(self._points[self._bin(np.array([value], dtype=np.float64))[0]])

    def draw(self, label: int, rng: Rng) -> Any | None:
        """Draw a value that points at a label, from the training texts that have the label; None where none does."""
        pool = self.pools[label]
        return pool[int(rng.integers(len(pool)))] if pool else None

    def goal(self, predicted: int, rng: Rng) -> int:
        """Draw another label than the predicted one that values point at; -1 where none is."""
        others = [label for label, pool in enumerate(self.pools) if pool and label != predicted]
        return others[int(rng.integers(len(others)))] if others else -1


MOST = 3
"""Candidates of a family."""

Changed = tuple[str | None, str | None, int]
"""A text of a column with the feature of another label, its control, and the label that the first points at; see
`Edits`."""

UNCHANGED: Changed = (None, None, -1)
"""Of an item whose feature cannot be changed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Feature:
    """Something about the texts of a column that a model may decide by, and how it is changed.

    Attributes:
        name: Its name for readers.
        values: (N,) its values, of all training texts or of some.
        change: Maps an item, its prediction, a generator and the values to the texts that take the place of its own.
        labels: (N,) the labels of these texts; None for those of all.
        words: The words that it is about; () for none.
        coverage: Share of the training texts that have it.
        shown: What stands for each value in a text; None for the value.
        of_both: Whether it is about both texts, or its name says which.
        told: How far it goes with a label, as `association` has it; None for what its values say.
    """

    name: str
    values: Any
    change: Callable[[Text, int, Rng, Values], Changed]
    labels: Labels | None = None
    words: tuple[str, ...] = ()
    coverage: float = 1.0
    shown: Sequence[Any] | None = None
    of_both: bool = False
    told: tuple[float, float] | None = None

    def candidate(self, training: Training, column: int, n_features: int) -> Candidate | None:
        """Return the candidate of this feature; None where it does not go with a label, of as many that are tried."""
        labels = training.labels if self.labels is None else self.labels
        auroc, p = self.told or association(self.values, labels, training.n_classes)
        if abs(auroc - 0.5) < LEAST_AUROC or p * n_features >= LEAST_P:
            return None
        values = Values(self.values, labels, training.n_classes, self.shown)

        def edit(item: Text, predicted: int, rng: Rng) -> Edits:
            treated, control, goal = self.change(item, predicted, rng, values)
            made = [
                None if text is None else with_column(item, column, text)
                for text in (treated, control)
            ]
            return Edits(made[0], made[1], goal)

        name = self.name if self.of_both else f"{self.name}{names_of(training, column)}"
        return Candidate(name, auroc, edit, self.words, coverage=self.coverage)


def offered(
    training: Training, column: int, features: Sequence[Feature], n_features: int | None = None
) -> list[Candidate]:
    """Return the candidates of the features that go with a label, the strongest first; `n_features` are tried."""
    tried = len(features) if n_features is None else n_features
    found = (feature.candidate(training, column, tried) for feature in features)
    return strongest([candidate for candidate in found if candidate is not None])


# ------------------------- Which items are nearly training texts: what a model says of these may be remembered

RUN = 3
"""Words of a run."""

MOST_OF_RUN = 200
"""A run of words that is in more training texts than this tells no two of them apart."""


def near_duplicates(
    texts: Sequence[str], training: Sequence[str], *, threshold: float = 0.8
) -> NDArray[np.bool_]:
    r"""Find the texts that share most of their runs of three words with one training text.

    \(J(a, b) = |S_a \cap S_b| / |S_a \cup S_b|\), \(S\) being the set of runs of three lower-case words and marks; of a
    shorter text, the text. Runs that are in more than 200 training texts are left out of both sets.

    Args:
        texts: N texts.
        training: M training texts.
        threshold: The smallest \(J\) of a near duplicate, in (0, 1].

    Returns:
        (N,) which texts have a training text of at least that \(J\).

    References:
        Broder (1997), On the resemblance and containment of documents.

    Example:
        The first shares five of its six runs, of seven together: 5 / 7 = 0.71.

        >>> training = ["it was a long and quiet film .", "the plot is thin"]
        >>> near_duplicates(["it was a long and quiet film !", "the plot is thin"], training, threshold=0.7).tolist()
        [True, True]
        >>> near_duplicates(["it was a long and quiet film !", "thin"], training, threshold=0.8).tolist()
        [False, False]
    """
    sets, holders = (
        [_runs(text) for text in training],
        defaultdict[tuple[str, ...], list[int]](list),
    )
    for row, runs in enumerate(sets):
        for run in runs:
            holders[run].append(row)
    common = {run for run, rows in holders.items() if len(rows) > MOST_OF_RUN}
    sizes = [len(runs - common) for runs in sets]

    def is_near(text: str) -> bool:
        runs = _runs(text) - common
        shared = Counter(row for run in runs for row in holders.get(run, ()))
        return any(
            count / (len(runs) + sizes[row] - count) >= threshold for row, count in shared.items()
        )

    return np.array([*map(is_near, texts)], dtype=np.bool_)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = tokenize(text)
    return {tuple(words[start : start + RUN]) for start in range(max(len(words) - RUN + 1, 1))}


# -------------------------------------------------------------------------------------------------- edits of one text


def replaced(text: str, mapping: Mapping[str, str]) -> str:
    """Replace words of a text all at once, keeping their capitals.

    Example:
        >>> replaced("Copper beats marble!", {"copper": "marble", "marble": "copper"})
        'Marble beats copper!'
    """
    known = [
        (token.word, token.start, token.end) for token in tokens_of(text) if token.word in mapping
    ]
    return put(
        text,
        [(start, end, cased_like(text[start:end], mapping[word])) for word, start, end in known],
    )


def put(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Put texts in the places of spans (first character, one past the last, text)."""
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def inserted(text: str, words: Sequence[str], rng: Rng) -> str:
    """Put words in front of words of a text, or at its end, in places drawn at random."""
    for word in words:
        tokens = [token for token in tokens_of(text) if kind_of(token.word) != "mark"]
        place = int(rng.integers(len(tokens) + 1))
        text = (
            insert_word(text, tokens[place].start, word)
            if place < len(tokens)
            else f"{text} {word}".lstrip()
        )
    return text


def deleted(text: str, tokens: Sequence[Token]) -> str:
    """Delete some words of a text."""
    return delete_words(text, [(token.start, token.end) for token in tokens])


def drawn(tokens: Sequence[Token], n: int, rng: Rng) -> list[Token]:
    """Draw n of some tokens without putting back; all where there are no more."""
    places = rng.permutation(len(tokens))[:n]
    return [tokens[place] for place in sorted(places.tolist())]


def with_column(item: Text, column: int, text: str) -> Text:
    """Return an item with another text in one of its columns."""
    return (*item[:column], text, *item[column + 1 :])


def names_of(training: Training, column: int) -> str:
    """Say which text of a pair a feature is of; "" where there is one."""
    return "" if len(training.columns) == 1 else f" of the {('first', 'second')[column]} text"


def strongest(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates by which a model could decide most: a rare word tells its label best and decides little."""
    return sorted(
        candidates, key=lambda candidate: -abs(candidate.association - 0.5) * candidate.coverage
    )[:MOST]
