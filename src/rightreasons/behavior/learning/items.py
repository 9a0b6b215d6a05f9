"""What behavioral learning trains on: items with a rule each, and the steps in which a training takes them.

An item is a labeled text, or a text with its changed versions, one of which is drawn each time the item comes up.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.behavior.learning.methods import RULES, class_losses, span_losses
from rightreasons.behavior.measure import reading_texts
from rightreasons.core.arrays import compute_offsets
from rightreasons.core.sentences import format_value
from rightreasons.core.suites import EXPECTATIONS
from rightreasons.core.validation import check_count, check_one_of, check_same_length
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.models.batching import Encoded, pad
from rightreasons.models.spans import Windows

TYPES = ("iid", "MFT", "INV", "DIR")
"""Where an item comes from; `Items.type` numbers them. Batches of the plain methods have one type each."""

IID = "i.i.d. data"
"""The environment of independent data."""

Step = list[tuple[int, int]]
"""The items of a batch, each with the text that it shows."""


_NUMBERS = ("first", "changed", "n_changed", "rule", "type", "environment")
_COLUMNS = (*_NUMBERS, "targets")


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """n items over N texts.

    Attributes:
        texts: N texts.
        text_pairs: N second texts, or None.
        first: (n,) the text of each item; the original of a pair.
        changed: (n,) the first changed version; the versions of an item follow one another.
        n_changed: (n,) number of changed versions; 0 for a labeled item.
        targets: (n, C) target probabilities; 0 for pairs.
        rule: (n,) number in `losses.RULES`.
        type: (n,) number in `TYPES`.
        environment: (n,) number in `environments`.
        environments: Names of the functionalities, and `IID`.
    """

    texts: list[str]
    text_pairs: list[str] | None
    first: NDArray[np.int64]
    changed: NDArray[np.int64]
    n_changed: NDArray[np.int64]
    targets: NDArray[np.float64]
    rule: NDArray[np.int64]
    type: NDArray[np.int64]
    environment: NDArray[np.int64]
    environments: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of_rows(
        cls,
        texts: list[str],
        text_pairs: list[str] | None,
        rows: NDArray[np.int64],
        targets: NDArray[np.float64],
        environments: tuple[str, ...],
    ) -> Items:
        """Make items of (n, 6) rows: first, changed, n_changed, rule, type and environment of each item."""
        return cls(
            texts,
            text_pairs,
            targets=targets,
            environments=environments,
            **dict(zip(_NUMBERS, rows.T, strict=True)),
        )

    def holds_out(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Return which items belong to the named functionalities, (n,)."""
        return np.array([name in names for name in self.environments], dtype=bool)[self.environment]

    def select(self, keep: NDArray[Any]) -> Items:
        """Return some of the items, by a mask or by their numbers, over the same texts."""
        return dataclasses.replace(self, **{name: getattr(self, name)[keep] for name in _COLUMNS})


Batch = dict[str, torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Target:
    """What a kind of model learns: how its batches are described, where its logits are, and what items lose.

    Attributes:
        describe: As `describe`: the texts of a step, and tensors with one row per item.
        logits: The logits of a model's output, one row per text.
        losses: As `class_losses`: from logits and a described batch to (…, n) losses.
    """

    describe: Callable[[Items, Step], tuple[NDArray[np.int64], Batch]]
    logits: Callable[[Any], torch.Tensor]
    losses: Callable[..., torch.Tensor]


def describe(items: Items, step: Step) -> tuple[NDArray[np.int64], Batch]:
    """Return the texts of a step, each once, and the columns of its items that losses and methods read."""
    chosen, shown = (np.array(column, dtype=np.int64) for column in zip(*step, strict=True))
    texts, places = np.unique(np.concatenate((items.first[chosen], shown)), return_inverse=True)
    return texts, {
        "first": torch.from_numpy(places[: len(chosen)]),
        "second": torch.from_numpy(places[len(chosen) :]),
        "targets": torch.from_numpy(items.targets[chosen]).float(),
        "rule": torch.from_numpy(items.rule[chosen]),
        "environment": torch.from_numpy(items.environment[chosen]),
    }


CLASSES = Target(describe, lambda outputs: outputs.logits, class_losses)
"""The target of a classifier."""


def join_items(first: Items, second: Items) -> Items:
    """Concatenate the items of two sources; their environments stay separate.

    Raises:
        ValueError: If one source has pairs of texts and the other has not.
    """
    if (first.text_pairs is None) != (second.text_pairs is None):
        raise ValueError(
            "Expected one text per item in both sources or two in both, but they differ."
        )
    shifts = {
        "first": len(first.texts),
        "changed": len(first.texts),
        "environment": len(first.environments),
    }
    columns = {
        name: np.concatenate((getattr(first, name), getattr(second, name) + shifts.get(name, 0)))
        for name in _COLUMNS
    }
    return Items(
        texts=first.texts + second.texts,
        text_pairs=None
        if first.text_pairs is None
        else first.text_pairs + (second.text_pairs or []),
        environments=first.environments + second.environments,
        **columns,
    )


def plan_steps(
    items: Items, *, objective: str, batch_size: int, epochs: float, seed: int
) -> list[Step]:
    """Lay out a training: for each step, its items and the changed text that each pair shows.

    "mean" takes batches of one type in random order, each item once per epoch; pairs count as two, so their batches
    are half as large. "dro" takes a batch of one random environment per step, "fish" one of each of five different
    environments in turn, and "irm" takes one batch of every environment. All see about the same number of items per
    epoch.

    Args:
        items: The items.
        objective: As in `methods.Method`.
        batch_size: Texts per batch.
        epochs: Passes over the items; may be fractional.
        seed: Seed of the order and the changed texts.

    Returns:
        Steps of (item, text) pairs; the text of a labeled item is its own.

    Raises:
        ValueError: If there are no items.
    """
    check_count(batch_size, "batch_size")
    if not len(items):
        raise ValueError("Expected items to train on, but everything is held out.")
    rng = np.random.default_rng([seed, 7])
    by = items.type if objective == "mean" else items.environment
    sources = [
        _Source(np.flatnonzero(by == number), items, batch_size, rng) for number in np.unique(by)
    ]
    per_step = len(sources) if objective == "irm" else 1
    n_steps = max(1, int(np.ceil(sum(source.n_batches for source in sources) * epochs / per_step)))
    batches: list[NDArray[np.int64]] = []
    if objective == "irm":
        batches = [np.concatenate([source.next() for source in sources]) for _ in range(n_steps)]
    elif objective == "mean":
        while len(batches) < n_steps:
            epoch = [batch for source in sources for batch in source.epoch()]
            batches.extend(epoch[place] for place in rng.permutation(len(epoch)))
    else:
        size = min(5, len(sources)) if objective == "fish" else 1
        order: list[int] = []
        while len(order) < n_steps:
            order.extend(rng.choice(len(sources), size=size, replace=False).tolist())
        batches = [sources[place].next() for place in order[:n_steps]]
    return [_draw_texts(items, batch, rng) for batch in batches[:n_steps]]


class _Source:
    """Items that come in shuffled batches, epoch after epoch."""

    def __init__(
        self, members: NDArray[np.intp], items: Items, batch_size: int, rng: np.random.Generator
    ) -> None:
        pairs = bool((items.n_changed[members] > 0).any())
        self.members, self.rng = members, rng
        self.size = max(1, batch_size // 2) if pairs else batch_size
        self.n_batches = -(-len(members) // self.size)
        self._left: list[NDArray[np.int64]] = []

    def epoch(self) -> list[NDArray[np.int64]]:
        order = self.rng.permutation(self.members).astype(np.int64)
        return [order[start : start + self.size] for start in range(0, len(order), self.size)]

    def next(self) -> NDArray[np.int64]:
        if not self._left:
            self._left = self.epoch()[::-1]
        return self._left.pop()


def _draw_texts(items: Items, batch: NDArray[np.int64], rng: np.random.Generator) -> Step:
    counts = items.n_changed[batch]
    versions = items.changed[batch] + rng.integers(0, np.maximum(counts, 1))
    return list(
        zip(
            batch.tolist(), np.where(counts > 0, versions, items.first[batch]).tolist(), strict=True
        )
    )


TARGETS: Mapping[str, Mapping[Any, tuple[float, float]]] = {
    "sentiment": {0: (1.0, 0.0), 1: (0.5, 0.5), 2: (0.0, 1.0), "not negative": (1 / 3, 2 / 3)},
    "classes": {0: (1.0, 0.0), 1: (0.0, 1.0), "not negative": (0.0, 1.0)},
}
"""Treatment -> label -> what the two classes of the model should get. Three sentiments are shared among them."""


def label_targets(labels: Sequence[Any], *, treatment: str = "classes") -> NDArray[np.float64]:
    """Turn labels into target probabilities of a model of two classes.

    Args:
        labels: N classes, or sentiments (0 negative, 1 neutral, 2 positive), or "not negative".
        treatment: One of `TARGETS`.

    Returns:
        (N, 2) rows that sum to one.

    Raises:
        ValueError: If a label is unknown.

    Example:
        >>> label_targets([0, 1, 2, "not negative"], treatment="sentiment").round(3).tolist()
        [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.333, 0.667]]
        >>> label_targets([0, "not negative"]).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    table = TARGETS[treatment]
    for label in labels:
        if label not in table:
            raise ValueError(
                f"Expected labels of {treatment} from 0 to {len(table) - 2}, but got {format_value(label)}."
            )
    return np.array([table[label] for label in labels], dtype=np.float64).reshape(-1, 2)


def suite_items(suite: Suite, *, labels: str = "sentiment") -> Items:
    """Turn a suite's cases into items.

    Minimum functionality tests, and directional tests that expect a label (such as those of paraphrases), become
    labeled items. Invariance tests become pairs of an original and one changed text; directional tests of confidence
    become pairs with the direction that their expectation names.

    Args:
        suite: A suite with one or two texts per example.
        labels: "sentiment" or "classes"; see `TARGETS`.

    Returns:
        The items; `environments` are the functionalities.

    Raises:
        ValueError: If no loss is known for an expectation, or a label fits no class.
    """
    check_one_of(labels, tuple(TARGETS), "labels")
    table, known = _case_rows(suite, _rule, _labels)
    targets = np.zeros((len(table), 2))
    targets[table[:, 3] == 0] = label_targets(known, treatment=labels)
    return Items.of_rows(
        *suite_texts(suite), table, targets, tuple(f.name for f in suite.functionalities)
    )


def suite_texts(suite: Suite) -> tuple[list[str], list[str] | None]:
    """Return the texts of all examples, and their second texts where there are two.

    Raises:
        ValueError: If there are more than two.
    """
    if len(suite.text_columns) > 2:
        raise ValueError(
            f"Expected one or two texts per example, but the suite {suite.name!r} has {suite.text_columns}."
        )
    columns = [list(column) for column in zip(*suite.texts(), strict=True)]
    return columns[0], columns[1] if len(columns) == 2 else None


def _case_rows(
    suite: Suite,
    rule_of: Callable[[Functionality], int],
    labels_of: Callable[[Functionality, Case, int], Sequence[Any]],
) -> tuple[NDArray[np.int64], list[Any]]:
    """Lay out the cases of a suite: (n, 6) rows as `Items.of_rows` takes them, and the labels of the labeled ones."""
    rows: list[tuple[int, int, int, int, int, int]] = []
    labels: list[Any] = []
    start = 0
    for number, functionality in enumerate(suite.functionalities):
        rule, kind = rule_of(functionality), TYPES.index(functionality.test_type)
        for case in functionality.cases:
            n_changed = len(case.examples) - 1
            if rule and n_changed:
                rows.append((start, start + 1, n_changed, rule, kind, number))
            for text, label in enumerate(
                () if rule else labels_of(functionality, case, start), start
            ):
                if label is not None:
                    rows.append((text, text, 0, rule, TYPES.index("MFT"), number))
                    labels.append(label)
            start += n_changed + 1
    return np.array(rows, dtype=np.int64).reshape(-1, 6), labels


def iid_items(
    texts: Sequence[str], labels: Sequence[int], *, text_pairs: Sequence[str] | None = None
) -> Items:
    """Turn independent labeled data into items of one environment.

    Raises:
        ValueError: If texts and labels differ in number, or a label is not one of the classes.
    """
    check_same_length(texts=texts, labels=labels)
    return _labeled(texts, text_pairs, label_targets(labels))


def _labeled(
    texts: Sequence[str], text_pairs: Sequence[str] | None, targets: NDArray[np.float64]
) -> Items:
    """Make labeled items of one environment."""
    places = np.arange(len(texts))
    rows = np.column_stack((places, places, np.zeros((len(texts), 4), dtype=np.int64)))
    return Items.of_rows(
        list(texts), None if text_pairs is None else list(text_pairs), rows, targets, (IID,)
    )


def _rule(functionality: Functionality, among: Collection[str] = EXPECTATIONS) -> int:
    expectation = functionality.expectation
    name, rises = expectation["name"], expectation.get("increasing", expectation.get("positive"))
    known = {
        **dict.fromkeys(("equal", "not_equal", "transitive"), "labeled"),
        "invariant": "invariant",
        "monotonic": "not_less_conf" if rises else "not_more_conf",
        "sentiment_shift": "not_less_2" if rises else "not_less_0",
    }
    if expectation.get("label") is not None:
        name = f"{name} of one label"
    if name not in known or name not in among:
        raise ValueError(
            f"Expected an expectation with a known loss for {functionality.name!r}, but got {name!r}, which has none."
        )
    return RULES.index(known[name])


def _labels(functionality: Functionality, case: Case, _: int) -> tuple[Any, ...]:
    expectation = functionality.expectation
    if expectation["name"] == "not_equal":
        return ("not negative" if expectation.get("value") == 0 else None,) * len(case.examples)
    if expectation.get("value") is not None:
        # The first example is the original, of which nothing is asked.
        head = (None,) if expectation.get("skip_first") else (expectation["value"],)
        return head + (expectation["value"],) * (len(case.examples) - 1)
    labels = case.labels or (None,) * len(case.examples)
    return tuple(None if label is None or label == -1 else label for label in labels)


def locate(answer: str, context: str) -> int:
    """Find an answer in its context: its first occurrence as whole words, else its first occurrence; -1 if none.

    Example:
        >>> locate("Ann", "Annabel met Ann.")
        12
    """
    match = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", context)
    return match.start() if match else context.find(answer)


def reading_items(suite: Suite) -> Items:
    """Turn a suite of reading into items over its questions (`texts`) and contexts (`text_pairs`).

    Minimum functionality tests become labeled items, whose `targets` are the first character of the answer in the
    context and the one after its last; an example whose context does not contain the answer is left out. Invariance
    tests become pairs of an original and one changed text.

    Raises:
        ValueError: If the suite has other texts, or no loss is known for an expectation.
    """
    questions, contexts = reading_texts(suite)

    def spans(_: Functionality, case: Case, start: int) -> list[tuple[int, int] | None]:
        answers = [answer if isinstance(answer, str) else "" for answer in case.labels or ()]
        begins = [
            locate(answer, contexts[text]) if answer else -1
            for text, answer in enumerate(answers, start)
        ]
        return [
            None if begin < 0 else (begin, begin + len(answer))
            for begin, answer in zip(begins, answers, strict=True)
        ]

    rows, labels = _case_rows(suite, functools.partial(_rule, among=("equal", "invariant")), spans)
    targets = np.full((len(rows), 2), -1.0)
    targets[rows[:, 3] == 0] = np.array(labels, dtype=np.float64).reshape(-1, 2)
    return Items.of_rows(
        questions, contexts, rows, targets, tuple(f.name for f in suite.functionalities)
    )


def question_items(
    questions: Sequence[str],
    contexts: Sequence[str],
    answers: Sequence[Mapping[str, Sequence[Any]]],
) -> Items:
    """Turn independent questions into labeled items of one environment; the first answer of each is learned.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = answer_characters(answers, contexts, "the independent data")
    return _labeled(questions, contexts, characters.astype(np.float64).reshape(-1, 2))


def window_items(items: Items, windows: Windows) -> tuple[Encoded, Items]:
    """Turn items over texts into items over the windows of these texts.

    A labeled item becomes one item per window, whose `targets` are the first and last token of the answer, or the
    first token of the window where it does not contain the whole answer. A pair takes the first window of each of its
    texts.

    Args:
        items: From `reading_items` or `question_items`.
        windows: The windows of all their texts.

    Returns:
        The windows' tokens, first windows first, and the items over them.
    """
    n_texts = len(items.texts)
    counts = np.bincount(windows.owner, minlength=n_texts)
    begins = np.concatenate(([0], np.cumsum(counts)[:-1]))
    further = np.setdiff1d(np.arange(len(windows)), begins)
    # Window i is the first of text i; the further windows follow, those of a text together.
    order = np.concatenate((begins, further)).astype(np.int64)
    behind = n_texts + np.concatenate(([0], np.cumsum(counts - 1)[:-1]))

    characters = np.full((n_texts, 2), -1, dtype=np.int64)
    labeled = items.n_changed == 0
    characters[items.first[labeled]] = items.targets[labeled].astype(np.int64)
    tokens = np.maximum(answer_tokens(windows, characters), 0)[order]

    repeats = np.where(labeled, counts[items.first], 1)
    sources = np.repeat(np.arange(len(items)), repeats)
    place = np.arange(len(sources)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    text = items.first[sources]
    window = np.where(place == 0, text, behind[text] + place - 1)
    is_labeled, chosen = labeled[sources], items.select(sources)
    return _take(windows.encoded, order), dataclasses.replace(
        chosen,
        texts=[""] * len(windows),
        text_pairs=None,
        first=window,
        changed=np.where(is_labeled, window, chosen.changed),
        targets=np.where(is_labeled[:, None], tokens[window], 0).astype(np.float64),
    )


def span_target(encoded: Encoded) -> Target:
    """Return what a question-answering model learns from items over windows."""

    def describe_spans(items: Items, step: Step) -> tuple[NDArray[np.int64], Batch]:
        windows, batch = describe(items, step)
        pairs = zip(*(batch[name].tolist() for name in ("first", "second", "rule")), strict=True)
        nothing = np.empty(0, np.int64), np.empty(0, np.int64)
        ids, offsets = encoded.columns["input_ids"], encoded.offsets
        tokens = [ids[offsets[window] : offsets[window + 1]].tolist() for window in windows]
        shared = [
            aligned_positions(tokens[first], tokens[second])
            if RULES[rule] == "invariant"
            else nothing
            for first, second, rule in pairs
        ]
        columns: Batch = {}
        for side, name in enumerate(("first", "second")):
            table = np.full(
                (len(shared), max(len(pair[side]) for pair in shared)), -1, dtype=np.int64
            )
            for row, pair in enumerate(shared):
                table[row, : len(pair[side])] = pair[side]
            columns[f"shared_{name}"] = torch.from_numpy(table)
        return windows, {
            **batch,
            **columns,
            "mask": pad(encoded, windows)["attention_mask"][batch["first"]],
        }

    return Target(
        describe_spans,
        lambda outputs: torch.stack((outputs.start_logits, outputs.end_logits), dim=-1),
        span_losses,
    )


def aligned_positions(
    original: Sequence[int], changed: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the tokens that two texts share, in order.

    Args:
        original: Token ids of one text.
        changed: Token ids of another.

    Returns:
        The positions in each, of the matching blocks of `difflib.SequenceMatcher`.

    Example:
        >>> first, second = aligned_positions([101, 7, 8, 9, 102], [101, 7, 5, 5, 9, 102])
        >>> first.tolist(), second.tolist()
        ([0, 1, 3, 4], [0, 1, 4, 5])
    """
    blocks = difflib.SequenceMatcher(
        None, list(original), list(changed), autojunk=False
    ).get_matching_blocks()
    first = np.concatenate([np.arange(b.a, b.a + b.size) for b in blocks]).astype(np.int64)
    second = np.concatenate([np.arange(b.b, b.b + b.size) for b in blocks]).astype(np.int64)
    return first, second


def _take(encoded: Encoded, order: NDArray[np.int64]) -> Encoded:
    lengths = encoded.lengths[order]
    offsets = compute_offsets(lengths)
    source = np.repeat(encoded.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return dataclasses.replace(
        encoded,
        columns={name: column[source] for name, column in encoded.columns.items()},
        offsets=offsets,
        truncated=encoded.truncated[order],
    )


def answer_characters(
    answers: Sequence[Mapping[str, Sequence[Any]]], contexts: Sequence[str], name: str
) -> NDArray[np.int64]:
    """Return (N, 2): the first character of each first answer in its context, and the one after its last.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = []
    for number, (answer, context) in enumerate(zip(answers, contexts, strict=True)):
        texts, starts = (answer or {}).get("text"), (answer or {}).get("answer_start")
        if not texts or not starts:
            raise ValueError(
                f"Expected an answer to each question of `{name}`, but question {number} has none."
            )
        text, start = texts[0], starts[0]
        if not text or start is None or not 0 <= start <= len(context) - len(text):
            raise ValueError(
                f"Expected the answer to question {number} of `{name}` inside its context of {len(context)} "
                f"characters, but got {text!r} at {start}."
            )
        characters.append((start, start + len(text)))
    return np.array(characters, dtype=np.int64)


def answer_tokens(windows: Windows, characters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the first and last token of each answer in the windows.

    Args:
        windows: W windows of N questions.
        characters: (N, 2) the first character of each answer and the one after its last.

    Returns:
        (W, 2) tokens, -1 where the window does not contain the whole answer.
    """
    places = np.full((len(windows), 2), -1, dtype=np.int64)
    for window, (begin, end) in enumerate(characters[windows.owner].tolist()):
        row = slice(*windows.encoded.offsets[window : window + 2])
        first, last = (windows.places.columns[name][row] for name in ("first", "last"))
        touched = np.flatnonzero((first >= 0) & (first < end) & (last > begin))
        if len(touched) and first[touched[0]] <= begin and last[touched[-1]] >= end:
            places[window] = touched[0], touched[-1]
    return places
