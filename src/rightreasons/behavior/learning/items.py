"""Items of behavioral learning, and the steps in which a training takes them.

An item is a labeled text, or a text with its changed versions, one of which is drawn each time the
item comes up. `suite_items`, `reading_items`, `iid_items` and `question_items` make items;
`plan_steps` lays out a training; a `Target` says how batches are described to the losses.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

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
from rightreasons.models.windows import Windows, answer_characters, answer_tokens

TYPES = ("iid", "MFT", "INV", "DIR")
"""Origin of an item; `Items.type` numbers them. Batches of the plain methods have one type each."""

IID = "i.i.d. data"
"""The environment of independent data."""

Step = list[tuple[int, int]]
"""The items of a batch, each with the text that it shows."""


class ItemRow(NamedTuple):
    """The numbers of an item, which `Items` has as columns and explains."""

    text: int
    changed_text: int
    n_changed: int
    rule: int
    case_type: int
    environment: int


LABELED_RULE = RULES.index("labeled")
"""Rule of an item that is learned by its label, and not by a comparison of two predictions."""

_COLUMNS = ("first", "changed", "n_changed", "rule", "type", "environment", "targets")


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """n items over N texts.

    Attributes:
        texts: N texts.
        text_pairs: N second texts, or None.
        first: (n,) text of each item; the original of a pair.
        changed: (n,) first changed version; the versions of an item follow one another.
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
        """Make items from a table with one row per item.

        Args:
            texts: N texts.
            text_pairs: N second texts, or None.
            rows: (n, 6) numbers, of which each row is an `ItemRow`.
            targets: (n, C) target probabilities; 0 for pairs.
            environments: Names of the environments.
        """
        originals, versions, n_changed, rules, case_types, environment_numbers = rows.T
        return cls(
            texts,
            text_pairs,
            first=originals,
            changed=versions,
            n_changed=n_changed,
            rule=rules,
            type=case_types,
            environment=environment_numbers,
            targets=targets,
            environments=environments,
        )

    def holds_out(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Return which items belong to the named functionalities, (n,)."""
        is_named = np.array([name in names for name in self.environments], dtype=bool)
        return is_named[self.environment]

    def select(self, rows: NDArray[Any]) -> Items:
        """Return some of the items, by a mask or by their numbers, over the same texts."""
        columns = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return dataclasses.replace(self, **columns)


Batch = dict[str, torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Target:
    """What a kind of model learns: descriptions of its batches, its logits, and its losses.

    Attributes:
        describe: As `describe`: the texts of a step, and tensors with one row per item.
        logits: The logits of a model's output, one row per text.
        losses: As `class_losses`: from logits and a described batch to (…, n) losses.
    """

    describe: Callable[[Items, Step], tuple[NDArray[np.int64], Batch]]
    logits: Callable[[Any], torch.Tensor]
    losses: Callable[..., torch.Tensor]


def describe(items: Items, step: Step) -> tuple[NDArray[np.int64], Batch]:
    """Describe a batch of items for a model and its losses.

    Args:
        items: All items.
        step: b items of the batch, each with the number of the text that it shows: its own for a labeled
            item, a changed version for a pair.

    Returns:
        (t,) numbers of the distinct texts of the batch, which the model reads. And one tensor per column
        of the batch: `first` and `second`, (b,) positions in these texts of the own text of each item and
        of the shown one; `targets` (b, C); `rule` and `environment`, (b,).
    """
    table = np.array(step, dtype=np.int64)
    rows = table[:, 0]
    displayed = table[:, 1]
    # A text that occurs several times is read once: both texts of a labeled item are the same.
    text_numbers = np.concatenate((items.first[rows], displayed))
    texts, positions = np.unique(text_numbers, return_inverse=True)
    return texts, {
        "first": torch.from_numpy(positions[: len(rows)]),
        "second": torch.from_numpy(positions[len(rows) :]),
        "targets": torch.from_numpy(items.targets[rows]).float(),
        "rule": torch.from_numpy(items.rule[rows]),
        "environment": torch.from_numpy(items.environment[rows]),
    }


CLASSES = Target(describe, lambda outputs: outputs.logits, class_losses)
"""The target of a classifier."""


def join_items(first: Items, second: Items) -> Items:
    """Concatenate the items of two sources; their texts and environments stay separate.

    Raises:
        ValueError: If one source has pairs of texts and the other has not.
    """
    if (first.text_pairs is None) != (second.text_pairs is None):
        raise ValueError(
            "Expected one text per item in both sources, or two texts per item in both, but the "
            "sources differ."
        )
    text_pairs = None
    if first.text_pairs is not None and second.text_pairs is not None:
        text_pairs = first.text_pairs + second.text_pairs

    # Columns of the second source that number texts or environments continue those of the first one.
    shift_by_column = {
        "first": len(first.texts),
        "changed": len(first.texts),
        "environment": len(first.environments),
    }
    columns = {}
    for name in _COLUMNS:
        shifted = getattr(second, name) + shift_by_column.get(name, 0)
        columns[name] = np.concatenate((getattr(first, name), shifted))
    return Items(
        texts=first.texts + second.texts,
        text_pairs=text_pairs,
        environments=first.environments + second.environments,
        **columns,
    )


def plan_steps(
    items: Items, *, objective: str, batch_size: int, epochs: float, seed: int
) -> list[Step]:
    """Lay out a training: for each step, its items and the changed text that each pair shows.

    "mean" takes batches of one type in random order, each item once per epoch; pairs count as two,
    so their batches are half as large. "dro" takes a batch of one random environment per step,
    "fish" one of each of five different environments in turn, and "irm" takes one batch of every
    environment. All see about the same number of items per epoch.

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
        raise ValueError("Expected items to train on, but all items are held out.")
    # The second number separates this stream from others with the same seed.
    rng = np.random.default_rng([seed, 7])
    # The plain methods mix functionalities, but not types, whose losses differ.
    source_of_item = items.type if objective == "mean" else items.environment
    sources = []
    for number in np.unique(source_of_item):
        members = np.flatnonzero(source_of_item == number)
        sources.append(_Source(members, items, batch_size, rng))

    n_batches = sum(source.n_batches for source in sources)
    n_batches_per_step = len(sources) if objective == "irm" else 1
    n_steps = max(1, int(np.ceil(n_batches * epochs / n_batches_per_step)))
    if objective == "irm":
        batches = _draw_joint_batches(sources, n_steps)
    elif objective == "mean":
        batches = _draw_epochs(sources, n_steps, rng)
    else:
        n_sources = min(5, len(sources)) if objective == "fish" else 1
        batches = _draw_sources(sources, n_steps, n_sources, rng)
    return [_draw_texts(items, batch, rng) for batch in batches]


def _draw_joint_batches(sources: Sequence[_Source], n_steps: int) -> list[NDArray[np.int64]]:
    """Return batches that each join the next batch of every source.

    Args:
        sources: The sources, such as the environments of the items.
        n_steps: Number of batches.

    Returns:
        Numbers of the items of each batch.
    """
    batches = []
    for _ in range(n_steps):
        batches.append(np.concatenate([source.draw() for source in sources]))
    return batches


def _draw_epochs(
    sources: Sequence[_Source], n_steps: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return the batches of all sources in random order, epoch after epoch.

    Args:
        sources: The sources. An epoch has each of their items once.
        n_steps: Number of batches; the last epoch may be incomplete.
        rng: Random generator.

    Returns:
        Numbers of the items of each batch.
    """
    batches: list[NDArray[np.int64]] = []
    while len(batches) < n_steps:
        epoch: list[NDArray[np.int64]] = []
        for source in sources:
            epoch.extend(source.draw_epoch())
        batches.extend(epoch[index] for index in rng.permutation(len(epoch)))
    return batches[:n_steps]


def _draw_sources(
    sources: Sequence[_Source], n_steps: int, n_sources: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return batches of random sources.

    Args:
        sources: The sources, such as the environments of the items.
        n_steps: Number of batches.
        n_sources: Number of consecutive batches that are of different sources.
        rng: Random generator.

    Returns:
        Numbers of the items of each batch.
    """
    order: list[int] = []
    while len(order) < n_steps:
        order.extend(rng.choice(len(sources), size=n_sources, replace=False).tolist())
    return [sources[number].draw() for number in order[:n_steps]]


class _Source:
    """Items that come in shuffled batches, epoch after epoch.

    Attributes:
        n_batches: Number of batches of an epoch.
    """

    def __init__(
        self, members: NDArray[np.intp], items: Items, batch_size: int, rng: np.random.Generator
    ) -> None:
        """Choose the size of the batches.

        Args:
            members: Numbers of the items of the source.
            items: All items.
            batch_size: Maximum number of texts per batch.
            rng: Random generator, which shuffles each epoch.
        """
        has_pairs = bool((items.n_changed[members] > 0).any())
        self._members = members
        self._rng = rng
        self._size = batch_size
        if has_pairs:
            # A pair has two texts.
            self._size = max(1, batch_size // 2)
        self.n_batches = math.ceil(len(members) / self._size)
        # Batches of the current epoch in reverse, so that the next one is popped from the end.
        self._remaining: list[NDArray[np.int64]] = []

    def draw_epoch(self) -> list[NDArray[np.int64]]:
        """Return all batches of an epoch."""
        order = self._rng.permutation(self._members).astype(np.int64)
        return [order[start : start + self._size] for start in range(0, len(order), self._size)]

    def draw(self) -> NDArray[np.int64]:
        """Return the next batch, of a new epoch after the last one."""
        if not self._remaining:
            self._remaining = self.draw_epoch()[::-1]
        return self._remaining.pop()


def _draw_texts(items: Items, batch: NDArray[np.int64], rng: np.random.Generator) -> Step:
    """Draw the text that each item of a batch shows: a random changed version of a pair.

    Args:
        items: All items.
        batch: (b,) numbers of the items.
        rng: Random generator.

    Returns:
        b pairs (item, text) of numbers.
    """
    n_versions = items.n_changed[batch]
    # A labeled item takes a draw as well, so that draws do not depend on the kinds of the items.
    versions = items.changed[batch] + rng.integers(0, np.maximum(n_versions, 1))
    texts = np.where(n_versions > 0, versions, items.first[batch])
    return list(zip(batch.tolist(), texts.tolist(), strict=True))


TARGETS: Mapping[str, Mapping[Any, tuple[float, float]]] = {
    "sentiment": {0: (1.0, 0.0), 1: (0.5, 0.5), 2: (0.0, 1.0), "not negative": (1 / 3, 2 / 3)},
    "classes": {0: (1.0, 0.0), 1: (0.0, 1.0), "not negative": (0.0, 1.0)},
}
"""Target probabilities of the two classes of a model, by treatment and label.

A model of two classes shares a neutral sentiment among both.
"""


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
                f"Expected labels of {treatment} from 0 to {len(table) - 2}, "
                f"but got {format_value(label)}."
            )
    return np.array([table[label] for label in labels], dtype=np.float64).reshape(-1, 2)


def suite_items(suite: Suite, *, labels: str = "sentiment") -> Items:
    """Turn a suite's cases into items.

    Minimum functionality tests, and directional tests that expect a label (such as those of
    paraphrases), become labeled items. Invariance tests become pairs of an original and one changed
    text; directional tests of confidence become pairs with the direction that their expectation
    names.

    Args:
        suite: A suite with one or two texts per example.
        labels: "sentiment" or "classes"; see `TARGETS`.

    Returns:
        The items; `environments` are the functionalities.

    Raises:
        ValueError: If no loss is known for an expectation, or a label fits no class.
    """
    check_one_of(labels, tuple(TARGETS), "labels")
    rows, case_labels = _make_case_rows(suite, _find_rule, _find_labels)
    targets = np.zeros((len(rows), 2))
    # Pairs have no target: their loss compares two predictions.
    targets[_are_labeled(rows)] = label_targets(case_labels, treatment=labels)
    texts, text_pairs = suite_texts(suite)
    return Items.of_rows(texts, text_pairs, rows, targets, _list_environments(suite))


def _are_labeled(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (n,) which of (n, 6) rows, each an `ItemRow`, are learned by their labels."""
    rules = rows[:, ItemRow._fields.index("rule")]
    return np.asarray(rules == LABELED_RULE)


def _list_environments(suite: Suite) -> tuple[str, ...]:
    """Return the names of the functionalities."""
    return tuple(functionality.name for functionality in suite.functionalities)


def suite_texts(suite: Suite) -> tuple[list[str], list[str] | None]:
    """Return the N texts of all examples, and their second texts; None if they have one text each.

    Raises:
        ValueError: If there are more than two.
    """
    if len(suite.text_columns) > 2:
        raise ValueError(
            f"Expected one or two texts per example, but the suite {suite.name!r} has "
            f"{suite.text_columns}."
        )
    examples = suite.texts()
    texts = [example[0] for example in examples]
    if len(suite.text_columns) == 1:
        return texts, None
    return texts, [example[1] for example in examples]


def _make_case_rows(
    suite: Suite,
    find_rule: Callable[[Functionality], int],
    find_labels: Callable[[Functionality, Case, int], Sequence[Any]],
) -> tuple[NDArray[np.int64], list[Any]]:
    """Make an item of each labeled example, and of each case that compares predictions.

    Args:
        suite: The suite.
        find_rule: Returns the number of the rule of a functionality.
        find_labels: Returns the label of each example of a case, given the number of its first
            text; None for an example without one.

    Returns:
        (n, 6) rows, of which each is an `ItemRow`, and the labels of the labeled ones.
    """
    rows: list[ItemRow] = []
    labels: list[Any] = []
    # Texts are numbered throughout the suite, as `suite_texts` lists them: this is the first of a case.
    start = 0
    for environment, functionality in enumerate(suite.functionalities):
        rule = find_rule(functionality)
        case_type = TYPES.index(functionality.test_type)
        for case in functionality.cases:
            n_examples = len(case.examples)
            if rule == LABELED_RULE:
                # A directional test with a label is trained on as a minimum functionality test.
                case_labels = find_labels(functionality, case, start)
                for text, label in enumerate(case_labels, start):
                    if label is not None:
                        row = ItemRow(text, text, 0, rule, TYPES.index("MFT"), environment)
                        rows.append(row)
                        labels.append(label)
            elif n_examples > 1:
                # The first text is the original, and those that follow are its changed versions.
                row = ItemRow(start, start + 1, n_examples - 1, rule, case_type, environment)
                rows.append(row)
            start += n_examples
    return np.array(rows, dtype=np.int64).reshape(-1, 6), labels


def iid_items(
    texts: Sequence[str], labels: Sequence[int], *, text_pairs: Sequence[str] | None = None
) -> Items:
    """Turn independent labeled data into items of one environment.

    Args:
        texts: N texts.
        labels: N labels, 0 or 1.
        text_pairs: N second texts; None for one text per item.

    Raises:
        ValueError: If texts and labels differ in number, or a label is not one of the classes.
    """
    check_same_length(texts=texts, labels=labels)
    return _make_labeled_items(texts, text_pairs, label_targets(labels))


def _make_labeled_items(
    texts: Sequence[str], text_pairs: Sequence[str] | None, targets: NDArray[np.float64]
) -> Items:
    """Make one labeled item of each text, in a single environment, the independent data.

    Args:
        texts: N texts.
        text_pairs: N second texts, or None.
        targets: (N, C) target probabilities, or (N, 2) characters of an answer.
    """
    # A row is an `ItemRow`. Its first two fields are the own text of an item and the one that it shows.
    # All others are 0: no changed versions, the rule and the type of labeled data, one environment.
    rows = np.zeros((len(texts), len(ItemRow._fields)), dtype=np.int64)
    text_numbers = np.arange(len(texts))
    rows[:, 0] = text_numbers
    rows[:, 1] = text_numbers
    if text_pairs is not None:
        text_pairs = list(text_pairs)
    return Items.of_rows(list(texts), text_pairs, rows, targets, (IID,))


def _find_rule(functionality: Functionality, names: Collection[str] = EXPECTATIONS) -> int:
    """Return the number in `RULES` of the rule by which a functionality is trained on.

    Args:
        functionality: The functionality.
        names: Expectations that the kind of model can learn.

    Raises:
        ValueError: If its expectation has no loss.
    """
    expectation = functionality.expectation
    name = expectation["name"]
    # Expectations of a movement say in which direction the confidence, or the sentiment, should move.
    should_rise = expectation.get("increasing", expectation.get("positive"))
    rule_by_name = {
        "equal": "labeled",
        "not_equal": "labeled",
        "transitive": "labeled",
        "invariant": "invariant",
        "monotonic": "not_less_conf" if should_rise else "not_more_conf",
        "sentiment_shift": "not_less_2" if should_rise else "not_less_0",
    }
    # The paper has no loss for the confidence in one fixed label.
    if expectation.get("label") is not None:
        name = f"{name} of one label"
    if name not in rule_by_name or name not in names:
        raise ValueError(
            f"Expected an expectation with a known loss for {functionality.name!r}, "
            f"but got {name!r}, which has none."
        )
    return RULES.index(rule_by_name[name])


def _find_labels(functionality: Functionality, case: Case, start: int) -> list[Any]:
    """Return the label of each example of a case for training; None for an example without one.

    Args:
        functionality: The functionality.
        case: One of its cases.
        start: Not used; `_make_case_rows` gives the number of the first text.
    """
    n_examples = len(case.examples)
    expectation = functionality.expectation
    value = expectation.get("value")
    if expectation["name"] == "not_equal":
        # Only "not negative" is a separate label, with soft targets.
        label = "not negative" if value == 0 else None
        return [label] * n_examples
    if value is not None:
        labels = [value] * n_examples
        # The first example is the original, of which nothing is required.
        if expectation.get("skip_first"):
            labels[0] = None
        return labels
    if not case.labels:
        return [None] * n_examples
    return [None if label == -1 else label for label in case.labels]


def locate(answer: str, context: str) -> int:
    """Find an answer in its context, preferably as whole words.

    Returns:
        The first character of the first occurrence; -1 if there is none.

    Example:
        >>> locate("Ann", "Annabel met Ann.")
        12
    """
    match = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", context)
    if match is None:
        return context.find(answer)
    return match.start()


def reading_items(suite: Suite) -> Items:
    """Turn a suite of reading into items over its questions (`texts`) and contexts (`text_pairs`).

    Minimum functionality tests become labeled items, whose `targets` are the first character of the
    answer in the context and the one after its last; an example whose context does not contain the
    answer is left out. Invariance tests become pairs of an original and one changed text.

    Args:
        suite: A suite with the text columns question and context.

    Raises:
        ValueError: If the suite has other texts, or no loss is known for an expectation.
    """
    questions, contexts = reading_texts(suite)

    def find_spans(
        functionality: Functionality, case: Case, start: int
    ) -> list[tuple[int, int] | None]:
        """Return the characters of each answer of a case, whose first text has the number `start`."""
        spans: list[tuple[int, int] | None] = []
        for text, answer in enumerate(case.labels or (), start):
            # A label that is no text, such as -1, is no answer.
            begin = -1
            if answer and isinstance(answer, str):
                begin = locate(answer, contexts[text])
            if begin < 0:
                spans.append(None)
            else:
                spans.append((begin, begin + len(str(answer))))
        return spans

    find_rule = functools.partial(_find_rule, names=("equal", "invariant"))
    rows, spans = _make_case_rows(suite, find_rule, find_spans)
    # A pair has no answer: -1.
    targets = np.full((len(rows), 2), -1.0)
    targets[_are_labeled(rows)] = np.array(spans, dtype=np.float64).reshape(-1, 2)
    return Items.of_rows(questions, contexts, rows, targets, _list_environments(suite))


def question_items(
    questions: Sequence[str],
    contexts: Sequence[str],
    answers: Sequence[Mapping[str, Sequence[Any]]],
) -> Items:
    """Turn independent questions into labeled items of one environment.

    Args:
        questions: N questions.
        contexts: N contexts.
        answers: N answers {"text": […], "answer_start": […]}, of which the first of each is learned.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = answer_characters(answers, contexts, "the independent data")
    targets = characters.astype(np.float64).reshape(-1, 2)
    return _make_labeled_items(questions, contexts, targets)


def window_items(items: Items, windows: Windows) -> tuple[Encoded, Items]:
    """Turn items over texts into items over the windows of these texts.

    A labeled item becomes one item per window, whose `targets` are the first and last token of the
    answer, or the first token of the window if it does not contain the whole answer. A pair takes
    the first window of each of its texts.

    Args:
        items: From `reading_items` or `question_items`.
        windows: The windows of all their texts.

    Returns:
        The windows' tokens, first windows first, and the items over them.
    """
    n_texts = len(items.texts)
    n_windows = np.bincount(windows.owner, minlength=n_texts)
    # Put the first window of each text first, so that window i is the first of text i. The further
    # windows follow, those of a text together.
    first_windows = np.concatenate(([0], np.cumsum(n_windows)[:-1]))
    further_windows = np.setdiff1d(np.arange(len(windows)), first_windows)
    order = np.concatenate((first_windows, further_windows)).astype(np.int64)
    # Position in this order of the second window of each text.
    further_starts = n_texts + np.concatenate(([0], np.cumsum(n_windows - 1)[:-1]))

    # The answers are known as characters of texts; find their tokens in each window.
    # Windows without the whole answer have the token 0, which stands for "no answer".
    is_labeled = items.n_changed == 0
    characters = np.full((n_texts, 2), -1, dtype=np.int64)
    characters[items.first[is_labeled]] = items.targets[is_labeled].astype(np.int64)
    tokens = np.maximum(answer_tokens(windows, characters), 0)[order]

    # Repeat each labeled item for all windows of its text. `position` counts the repetitions.
    n_repeats = np.where(is_labeled, n_windows[items.first], 1)
    sources = np.repeat(np.arange(len(items)), n_repeats)
    starts = np.cumsum(n_repeats) - n_repeats
    position = np.arange(len(sources)) - np.repeat(starts, n_repeats)
    text = items.first[sources]
    window = np.where(position == 0, text, further_starts[text] + position - 1)

    repeated = items.select(sources)
    is_labeled = is_labeled[sources]
    targets = np.where(is_labeled[:, None], tokens[window], 0)
    return _reorder_texts(windows.encoded, order), dataclasses.replace(
        repeated,
        texts=[""] * len(windows),
        text_pairs=None,
        first=window,
        changed=np.where(is_labeled, window, repeated.changed),
        targets=targets.astype(np.float64),
    )


def span_target(encoded: Encoded) -> Target:
    """Return what a question-answering model learns from items over windows.

    Args:
        encoded: Tokens of the windows.

    Returns:
        The target, whose batches have three more columns than those of `describe`: `shared_first` and
        `shared_second`, the positions of the tokens that both windows of a pair contain, padded with
        -1; and `mask`, which tokens the first window of each item has.
    """
    token_ids = encoded.columns["input_ids"]
    offsets = encoded.offsets

    def describe_spans(items: Items, step: Step) -> tuple[NDArray[np.int64], Batch]:
        """Describe a batch as `describe` does, with the tokens that are compared."""
        windows, batch = describe(items, step)
        tokens = [token_ids[offsets[row] : offsets[row + 1]].tolist() for row in windows]
        original_rows: list[NDArray[np.int64]] = []
        version_rows: list[NDArray[np.int64]] = []
        first_windows = batch["first"].tolist()
        second_windows = batch["second"].tolist()
        rules = batch["rule"].tolist()
        for window, partner, rule in zip(first_windows, second_windows, rules, strict=True):
            # Only pairs are compared token by token.
            if RULES[rule] == "invariant":
                originals, versions = aligned_positions(tokens[window], tokens[partner])
            else:
                originals = versions = np.empty(0, np.int64)
            original_rows.append(originals)
            version_rows.append(versions)
        return windows, {
            **batch,
            "shared_first": _pad_positions(original_rows),
            "shared_second": _pad_positions(version_rows),
            "mask": pad(encoded, windows)["attention_mask"][batch["first"]],
        }

    def stack_logits(outputs: Any) -> torch.Tensor:
        """Return (N, T, 2) logits for the first and the last token of an answer."""
        return torch.stack((outputs.start_logits, outputs.end_logits), dim=-1)

    return Target(describe_spans, stack_logits, span_losses)


def _pad_positions(rows: Sequence[NDArray[np.int64]]) -> torch.Tensor:
    """Return rows of positions as a table, padded with -1."""
    table = np.full((len(rows), max(map(len, rows))), -1, dtype=np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return torch.from_numpy(table)


def aligned_positions(
    original: Sequence[int], changed: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the tokens that two texts share, in order.

    Args:
        original: Token ids of one text.
        changed: Token ids of another.

    Returns:
        (P,) positions in `original`, and (P,) positions in `changed`: the k-th of both have the same
        token. They are those of the matching blocks of `difflib.SequenceMatcher`.

    Example:
        >>> first, second = aligned_positions([101, 7, 8, 9, 102], [101, 7, 5, 5, 9, 102])
        >>> first.tolist(), second.tolist()
        ([0, 1, 3, 4], [0, 1, 4, 5])
    """
    # The heuristic for long texts (autojunk) would skip frequent tokens.
    matcher = difflib.SequenceMatcher(None, list(original), list(changed), autojunk=False)
    original_positions: list[int] = []
    changed_positions: list[int] = []
    for start, changed_start, size in matcher.get_matching_blocks():
        original_positions.extend(range(start, start + size))
        changed_positions.extend(range(changed_start, changed_start + size))
    return (
        np.array(original_positions, dtype=np.int64),
        np.array(changed_positions, dtype=np.int64),
    )


def _reorder_texts(encoded: Encoded, order: NDArray[np.int64]) -> Encoded:
    """Return tokenized texts in another order.

    Args:
        encoded: N texts, whose tokens are in flat arrays, one text after another.
        order: (N,) number of the text at each position of the result.
    """
    lengths = encoded.lengths[order]
    offsets = compute_offsets(lengths)
    # For each token of the result, find its position in the source: the tokens of a text follow each
    # other in both, at a constant distance.
    distances = encoded.offsets[order] - offsets[:-1]
    source = np.repeat(distances, lengths) + np.arange(offsets[-1])
    return dataclasses.replace(
        encoded,
        columns={name: column[source] for name, column in encoded.columns.items()},
        offsets=offsets,
        truncated=encoded.truncated[order],
    )
