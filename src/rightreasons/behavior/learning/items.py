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
from rightreasons.core.arrays import Floats, Integers, Positions, compute_offsets
from rightreasons.core.sentences import format_value
from rightreasons.core.suites import EXPECTATIONS
from rightreasons.core.validation import check_count, check_one_of, check_same_length
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.models.batching import Encoded, pad
from rightreasons.models.windows import Windows, find_answer_characters, find_answer_tokens

TYPES = ("iid", "MFT", "INV", "DIR")
"""Origin of an item; `Items.type` numbers them. Batches of the plain methods have one type each."""

IID = "i.i.d. data"
"""The environment of independent data."""

Step = list[tuple[int, int]]
"""The items of a batch, each with the text that it shows."""


class ItemRow(NamedTuple):
    """The numbers of one item.

    Attributes:
        text: Number of its text; of the original, for a pair.
        changed_text: Number of its first changed version; of its own text, for a labeled item.
        n_changed: Number of changed versions; 0 for a labeled item.
        rule: Number in `RULES`.
        case_type: Number in `TYPES`.
        environment: Number of its functionality.
    """

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
    first: Integers
    changed: Integers
    n_changed: Integers
    targets: Floats
    rule: Integers
    type: Integers
    environment: Integers
    environments: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of_rows(
        cls,
        texts: list[str],
        text_pairs: list[str] | None,
        rows: Integers,
        targets: Floats,
        environments: tuple[str, ...],
    ) -> Items:
        """Make items from a table with one row per item.

        Args:
            texts: N texts.
            text_pairs: N second texts, or None.
            rows: (n, 6) numbers; the columns are the fields of `ItemRow`, in their order.
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
        """Return a mask, (n,), of the items that belong to the named functionalities."""
        is_named = [name in names for name in self.environments]
        mask_by_environment = np.array(is_named, dtype=bool)
        return mask_by_environment[self.environment]

    def select(self, rows: NDArray[Any]) -> Items:
        """Return some of the items, by a mask or by their numbers, over the same texts."""
        columns = {}
        for name in _COLUMNS:
            column = getattr(self, name)
            columns[name] = column[rows]
        return dataclasses.replace(self, **columns)


Batch = dict[str, torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Target:
    """The functions by which a classifier, or a question-answering model, is trained on items.

    Attributes:
        describe: A function such as `describe`, which returns the texts of a step, and tensors with
            one row per item.
        logits: A function that returns the logits in a model's output, one row per text.
        losses: A function such as `class_losses`, which computes (…, n) losses from logits and the
            tensors of `describe`.
    """

    describe: Callable[[Items, Step], tuple[Integers, Batch]]
    logits: Callable[[Any], torch.Tensor]
    losses: Callable[..., torch.Tensor]


def describe(items: Items, step: Step) -> tuple[Integers, Batch]:
    """List the texts that a model reads for a batch of items, and the tensors for its losses.

    Args:
        items: All items.
        step: b pairs (number of an item, number of the text that is compared with its first text):
            a changed version for a pair, its first text again for a labeled item.

    Returns:
        (t,) numbers of the distinct texts of the batch, which the model reads. And one tensor per column
        of the batch: `first` and `second`, (b,) positions in these t texts of the two texts of each item;
        `targets` (b, C); `rule` and `environment`, (b,).
    """
    rows, second_texts = np.array(step, dtype=np.int64).T
    # A text that occurs several times is read once: both texts of a labeled item are the same.
    text_numbers = np.concatenate((items.first[rows], second_texts))
    texts, positions = np.unique(text_numbers, return_inverse=True)
    first_positions = positions[: len(rows)]
    second_positions = positions[len(rows) :]
    return texts, {
        "first": torch.from_numpy(first_positions),
        "second": torch.from_numpy(second_positions),
        "targets": torch.from_numpy(items.targets[rows]).float(),
        "rule": torch.from_numpy(items.rule[rows]),
        "environment": torch.from_numpy(items.environment[rows]),
    }


CLASSES = Target(describe, lambda outputs: outputs.logits, class_losses)
"""The target of a classifier."""


def join_items(first: Items, second: Items) -> Items:
    """Concatenate the items of two sources; their texts and environments stay separate.

    Args:
        first: Items of the first source.
        second: Items of the second source, whose numbers of texts and environments are shifted.

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

    # The numbers of texts and environments of the second source follow those of the first source.
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

    The objective decides which items form a batch:

    - "mean": Items of one type, such as "INV". Each item occurs once per epoch, in random order.
    - "dro": Items of one random environment.
    - "fish": Items of one environment. Five batches in a row are of different environments.
    - "irm": One batch of every environment, joined.

    All see about the same number of items per epoch. A pair counts as two texts, so that batches of
    pairs are half as large.

    Args:
        items: The items.
        objective: "mean", "irm", "dro" or "fish".
        batch_size: Texts per batch.
        epochs: Passes over the items; may be fractional.
        seed: Seed of the order and the changed texts.

    Returns:
        Steps of pairs (number of an item, number of its changed text); for a labeled item, the number
        of its only text.

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
    n_batches_per_step = 1
    if objective == "irm":
        n_batches_per_step = len(sources)
    n_steps = max(1, int(np.ceil(n_batches * epochs / n_batches_per_step)))
    if objective == "irm":
        batches = _draw_joint_batches(sources, n_steps)
    elif objective == "mean":
        batches = _draw_epochs(sources, n_steps, rng)
    else:
        # Fish takes an outer step after five inner steps, as in the released code.
        n_distinct = min(5, len(sources)) if objective == "fish" else 1
        batches = _draw_from_random_sources(sources, n_steps, n_distinct, rng)
    return [_draw_changed_texts(items, batch, rng) for batch in batches]


def _draw_joint_batches(sources: Sequence[_Source], n_steps: int) -> list[Integers]:
    """Join the next batch of every source into one batch, `n_steps` times.

    Args:
        sources: Groups of items, such as those of one environment; `draw` returns the next batch.
        n_steps: Number of joined batches.

    Returns:
        Numbers of the items of each joined batch.
    """
    joint_batches = []
    for _ in range(n_steps):
        batches = [source.draw() for source in sources]
        joint_batches.append(np.concatenate(batches))
    return joint_batches


def _draw_epochs(
    sources: Sequence[_Source], n_steps: int, rng: np.random.Generator
) -> list[Integers]:
    """Return the batches of all sources in random order, epoch after epoch.

    Args:
        sources: Groups of items, such as those of one type; `draw_epoch` returns batches in which
            each item occurs once.
        n_steps: Number of batches; the last epoch may be incomplete.
        rng: Random generator.

    Returns:
        Numbers of the items of each batch.
    """
    batches: list[Integers] = []
    while len(batches) < n_steps:
        epoch: list[Integers] = []
        for source in sources:
            epoch.extend(source.draw_epoch())
        for index in rng.permutation(len(epoch)):
            batches.append(epoch[index])
    return batches[:n_steps]


def _draw_from_random_sources(
    sources: Sequence[_Source], n_steps: int, n_distinct: int, rng: np.random.Generator
) -> list[Integers]:
    """Return batches, each of the items of one random source.

    Args:
        sources: Groups of items, such as those of one environment; `draw` returns the next batch.
        n_steps: Number of batches.
        n_distinct: Number of consecutive batches that are of different sources.
        rng: Random generator.

    Returns:
        Numbers of the items of each batch.
    """
    order: list[int] = []
    while len(order) < n_steps:
        numbers = rng.choice(len(sources), size=n_distinct, replace=False)
        order.extend(numbers.tolist())
    return [sources[number].draw() for number in order[:n_steps]]


class _Source:
    """A group of items, such as those of one environment, in shuffled batches.

    `draw_epoch` returns the batches of an epoch, in which each item occurs once; `draw` returns one
    batch after another, without end.

    Attributes:
        n_batches: Number of batches of an epoch.
    """

    def __init__(
        self, members: Positions, items: Items, batch_size: int, rng: np.random.Generator
    ) -> None:
        """Set the size of the batches, which is half as large for pairs of texts.

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
        self._remaining: list[Integers] = []

    def draw_epoch(self) -> list[Integers]:
        """Return batches of the numbers of all items of the source, in random order."""
        order = self._rng.permutation(self._members).astype(np.int64)
        batches = []
        for start in range(0, len(order), self._size):
            end = start + self._size
            batches.append(order[start:end])
        return batches

    def draw(self) -> Integers:
        """Return the next batch; after the last one of an epoch, the first one of a new epoch."""
        if not self._remaining:
            self._remaining = self.draw_epoch()[::-1]
        return self._remaining.pop()


def _draw_changed_texts(items: Items, batch: Integers, rng: np.random.Generator) -> Step:
    """Draw a changed version of each pair in a batch, at random.

    Args:
        items: All items.
        batch: (b,) numbers of the items.
        rng: Random generator.

    Returns:
        b pairs (number of an item, number of the version); for a labeled item, the number of its only
        text.
    """
    n_versions = items.n_changed[batch]
    # A labeled item uses up a random number, too, so that the versions of the pairs do not depend on
    # how many labeled items come before them.
    max_shift = np.maximum(n_versions, 1)
    shifts = rng.integers(0, max_shift)
    versions = items.changed[batch] + shifts
    is_pair = n_versions > 0
    texts = np.where(is_pair, versions, items.first[batch])
    return list(zip(batch.tolist(), texts.tolist(), strict=True))


TARGETS: Mapping[str, Mapping[Any, tuple[float, float]]] = {
    "sentiment": {0: (1.0, 0.0), 1: (0.5, 0.5), 2: (0.0, 1.0), "not negative": (1 / 3, 2 / 3)},
    "classes": {0: (1.0, 0.0), 1: (0.0, 1.0), "not negative": (0.0, 1.0)},
}
"""Target probabilities of the two classes of a model, by treatment and label.

A model of two classes shares a neutral sentiment among both.
"""


def label_targets(labels: Sequence[Any], *, treatment: str = "classes") -> Floats:
    """Turn labels into target probabilities of a model of two classes.

    Args:
        labels: N labels. Of the treatment "classes": 0, 1 or "not negative". Of "sentiment":
            0 negative, 1 neutral, 2 positive or "not negative".
        treatment: "classes" or "sentiment".

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
    target_by_label = TARGETS[treatment]
    targets = []
    for label in labels:
        if label not in target_by_label:
            # All labels but "not negative" are numbers, from 0.
            max_label = len(target_by_label) - 2
            raise ValueError(
                f"Expected labels of {treatment} from 0 to {max_label}, "
                f"but got {format_value(label)}."
            )
        targets.append(target_by_label[label])
    # Without labels, the shape is (0, 2).
    return np.array(targets, dtype=np.float64).reshape(-1, 2)


def suite_items(suite: Suite, *, labels: str = "sentiment") -> Items:
    """Turn a suite's cases into items.

    Minimum functionality tests, and directional tests that expect a label (such as those of
    paraphrases), become labeled items. Invariance tests, and directional tests of confidence,
    become pairs of an original and its changed texts.

    Args:
        suite: A suite with one or two texts per example.
        labels: "sentiment" for the labels negative, neutral and positive; "classes" for the classes
            of a model.

    Returns:
        The items; `environments` are the functionalities.

    Raises:
        ValueError: If no loss is known for an expectation, or a label fits no class.
    """
    check_one_of(labels, tuple(TARGETS), "labels")
    rows, case_labels = _make_case_rows(suite, _find_rule, _find_labels)
    # Pairs keep the target 0, which is not used: their loss compares two predictions.
    targets = np.zeros((len(rows), 2))
    is_labeled = _are_labeled(rows)
    targets[is_labeled] = label_targets(case_labels, treatment=labels)
    texts, text_pairs = suite_texts(suite)
    environments = _list_functionality_names(suite)
    return Items.of_rows(texts, text_pairs, rows, targets, environments)


def _are_labeled(rows: Integers) -> NDArray[np.bool_]:
    """Return a mask, (n,), of the items that are learned by their labels.

    Args:
        rows: (n, 6) numbers; the columns are the fields of `ItemRow`.
    """
    rule_column = ItemRow._fields.index("rule")
    is_labeled: NDArray[np.bool_] = rows[:, rule_column] == LABELED_RULE
    return is_labeled


def _list_functionality_names(suite: Suite) -> tuple[str, ...]:
    """Return the names of the functionalities."""
    return tuple(functionality.name for functionality in suite.functionalities)


def suite_texts(suite: Suite) -> tuple[list[str], list[str] | None]:
    """Return the first text of each example, and the second text of each; None if it has one text.

    Args:
        suite: A suite with one or two texts per example.

    Raises:
        ValueError: If examples have more than two texts.
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
) -> tuple[Integers, list[Any]]:
    """Make an item of each labeled example, and of each case that compares predictions.

    Args:
        suite: The suite.
        find_rule: Function from a functionality to the number of its rule in `RULES`.
        find_labels: Function from a functionality, one of its cases and the number of the first text
            of the case to the label of each example; None for an example without a label.

    Returns:
        (n, 6) numbers, whose columns are the fields of `ItemRow`; and the labels of the labeled items.
    """
    rows: list[ItemRow] = []
    labels: list[Any] = []
    # Number of the first text of a case. The texts of all cases are numbered throughout the suite.
    start = 0
    for environment, functionality in enumerate(suite.functionalities):
        rule = find_rule(functionality)
        case_type = TYPES.index(functionality.test_type)
        for case in functionality.cases:
            n_examples = len(case.examples)
            if rule == LABELED_RULE:
                case_labels = find_labels(functionality, case, start)
                for text, label in enumerate(case_labels, start):
                    if label is None:
                        continue
                    row = ItemRow(
                        text=text,
                        changed_text=text,
                        n_changed=0,
                        rule=rule,
                        # A directional test with a label is learned as a minimum functionality test.
                        case_type=TYPES.index("MFT"),
                        environment=environment,
                    )
                    rows.append(row)
                    labels.append(label)
            elif n_examples > 1:
                # The first text is the original, and those that follow are its changed versions.
                row = ItemRow(
                    text=start,
                    changed_text=start + 1,
                    n_changed=n_examples - 1,
                    rule=rule,
                    case_type=case_type,
                    environment=environment,
                )
                rows.append(row)
            start += n_examples
    return np.array(rows, dtype=np.int64).reshape(-1, len(ItemRow._fields)), labels


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
    targets = label_targets(labels)
    return _make_labeled_items(texts, text_pairs, targets)


def _make_labeled_items(
    texts: Sequence[str], text_pairs: Sequence[str] | None, targets: Floats
) -> Items:
    """Make one labeled item of each text. All belong to one environment, the independent data.

    Args:
        texts: N texts.
        text_pairs: N second texts, or None.
        targets: (N, C) target probabilities; or (N, 2) first character of an answer, and the one after
            its last.
    """
    row = ItemRow(
        text=0,
        changed_text=0,
        n_changed=0,
        rule=LABELED_RULE,
        case_type=TYPES.index("iid"),
        environment=0,
    )
    # Items differ only in their text, which is shown as it is. There may be very many of them.
    table = np.tile(np.array(row, dtype=np.int64), (len(texts), 1))
    text_numbers = np.arange(len(texts))
    table[:, ItemRow._fields.index("text")] = text_numbers
    table[:, ItemRow._fields.index("changed_text")] = text_numbers
    if text_pairs is not None:
        text_pairs = list(text_pairs)
    return Items.of_rows(list(texts), text_pairs, table, targets, (IID,))


def _find_rule(functionality: Functionality, names: Collection[str] = EXPECTATIONS) -> int:
    """Return the number in `RULES` of the rule by which a model is trained on a functionality.

    Args:
        functionality: A functionality, whose expectation is such as `{"name": "monotonic",
            "increasing": True}` or `{"name": "sentiment_shift", "positive": False}`.
        names: Names of the expectations that the model can learn.

    Raises:
        ValueError: If the expectation has no loss.
    """
    expectation = functionality.expectation
    name = expectation["name"]
    # Only "monotonic" has `increasing`, and only "sentiment_shift" has `positive`.
    should_rise = expectation.get("increasing", expectation.get("positive"))
    # "not_less_conf" forbids a lower confidence, and "not_less_2" a lower probability of label 2, positive.
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
    """Return the label of each example of a case for training; None for an example without a label.

    Args:
        functionality: The functionality.
        case: One of its cases.
        start: Not used. `_make_case_rows` passes the number of the first text of the case.
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
    labels = list(case.labels or [None] * n_examples)
    # A stored label of -1 means that the example has no label.
    for index, label in enumerate(labels):
        if label == -1:
            labels[index] = None
    return labels


def locate(answer: str, context: str) -> int:
    """Find an answer in its context, preferably as whole words.

    Args:
        answer: The text of the answer.
        context: The text that may contain the answer, once or several times.

    Returns:
        The first character of the first occurrence; -1 if there is none.

    Example:
        >>> locate("Ann", "Annabel met Ann.")
        12
    """
    # Neither the character before the answer nor the one after it belongs to a word.
    match = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", context)
    if match is None:
        return context.find(answer)
    return match.start()


def reading_items(suite: Suite) -> Items:
    """Turn a suite of reading into items over its questions (`texts`) and contexts (`text_pairs`).

    Minimum functionality tests become labeled items, whose `targets` are the first character of the
    answer in the context and the one after its last; an example whose context does not contain the
    answer is left out. Invariance tests become pairs of an original and its changed texts.

    Args:
        suite: A suite with the text columns question and context.

    Raises:
        ValueError: If the suite has other texts, or no loss is known for an expectation.
    """
    questions, contexts = reading_texts(suite)

    def find_spans(
        functionality: Functionality, case: Case, start: int
    ) -> list[tuple[int, int] | None]:
        """Find the first character of each answer in its context, and the one after its last.

        Args:
            functionality: Not used. `_make_case_rows` passes it.
            case: A case, whose labels are the answers.
            start: Number of the first text of the case.

        Returns:
            One span per example; None if the example has no answer, or its context does not contain it.
        """
        spans: list[tuple[int, int] | None] = []
        for text, answer in enumerate(case.labels or (), start):
            span = None
            # The label of an example without an answer is a number, -1.
            if answer and isinstance(answer, str):
                begin = locate(answer, contexts[text])
                if begin >= 0:
                    span = (begin, begin + len(answer))
            spans.append(span)
        return spans

    find_rule = functools.partial(_find_rule, names=("equal", "invariant"))
    rows, spans = _make_case_rows(suite, find_rule, find_spans)
    # A pair has no answer: -1.
    targets = np.full((len(rows), 2), -1.0)
    is_labeled = _are_labeled(rows)
    targets[is_labeled] = np.array(spans, dtype=np.float64).reshape(-1, 2)
    environments = _list_functionality_names(suite)
    return Items.of_rows(questions, contexts, rows, targets, environments)


def question_items(
    questions: Sequence[str],
    contexts: Sequence[str],
    answers: Sequence[Mapping[str, Sequence[Any]]],
) -> Items:
    """Turn independent questions into labeled items of one environment.

    Args:
        questions: N questions.
        contexts: N contexts.
        answers: N answers, such as `{"text": ["Ann", "Ann Lee"], "answer_start": [12, 12]}`. The first
            text of each is learned.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = find_answer_characters(answers, contexts, "the independent data")
    targets = characters.astype(np.float64).reshape(-1, 2)
    return _make_labeled_items(questions, contexts, targets)


def window_items(items: Items, windows: Windows) -> tuple[Encoded, Items]:
    """Turn items over texts into items over the windows of these texts.

    A model reads a long text in windows, which overlap. A labeled item becomes one item per window
    of its text; its `targets` are the first and last token of the answer, or twice the first token
    of the window if it does not contain the whole answer. A pair stays one item, over the first
    windows of its texts.

    Args:
        items: Items from `reading_items` or `question_items`, over N texts.
        windows: The windows of the N texts.

    Returns:
        The tokens of the windows: the first window of each text, then the further windows. And the
        items, whose texts are these windows.
    """
    n_texts = len(items.texts)
    n_windows_of_text = np.bincount(windows.owner, minlength=n_texts)
    # Put the first window of each text first, so that window i is the first of text i. The further
    # windows follow, those of a text together.
    first_windows = compute_offsets(n_windows_of_text)[:-1]
    further_windows = np.setdiff1d(np.arange(len(windows)), first_windows)
    order = np.concatenate((first_windows, further_windows)).astype(np.int64)
    # Position in this order of the second window of each text.
    second_windows = n_texts + compute_offsets(n_windows_of_text - 1)[:-1]

    # The answers are known as characters of texts; find their tokens in each window.
    is_labeled = items.n_changed == 0
    labeled_texts = items.first[is_labeled]
    characters = np.full((n_texts, 2), -1, dtype=np.int64)
    characters[labeled_texts] = items.targets[is_labeled].astype(np.int64)
    tokens = find_answer_tokens(windows, characters)[order]
    # Windows without the whole answer have the token 0, by which models say "no answer".
    tokens = np.maximum(tokens, 0)

    # Repeat each labeled item for all windows of its text: (W,) item, text and window of each copy.
    n_copies = np.where(is_labeled, n_windows_of_text[items.first], 1)
    item_of_copy = np.repeat(np.arange(len(items)), n_copies)
    text_of_copy = items.first[item_of_copy]
    # Number the copies of an item 0, 1, …: copy k is about window k of the text.
    first_copies = compute_offsets(n_copies)[:-1]
    copy_number = np.arange(len(item_of_copy)) - np.repeat(first_copies, n_copies)
    further_window = second_windows[text_of_copy] + copy_number - 1
    window_of_copy = np.where(copy_number == 0, text_of_copy, further_window)

    copies = items.select(item_of_copy)
    is_labeled_copy = is_labeled[item_of_copy]
    targets = np.where(is_labeled_copy[:, None], tokens[window_of_copy], 0)
    window_copies = dataclasses.replace(
        copies,
        # The tokens of the windows replace the texts, of which only the number is needed.
        texts=[""] * len(windows),
        text_pairs=None,
        first=window_of_copy,
        changed=np.where(is_labeled_copy, window_of_copy, copies.changed),
        targets=targets.astype(np.float64),
    )
    return _reorder_texts(windows.encoded, order), window_copies


def span_target(encoded: Encoded) -> Target:
    """Return the functions by which a question-answering model is trained on items over windows.

    Args:
        encoded: Tokens of the windows.

    Returns:
        The target, whose batches have three more columns than those of `describe`: `shared_first` and
        `shared_second`, (b, P) positions of the tokens that both windows of a pair contain, padded with
        -1; and `mask`, (b, T) 1 for the tokens of the first window of an item, and 0 for padding.
    """
    token_ids = encoded.columns["input_ids"]
    offsets = encoded.offsets

    def describe_spans(items: Items, step: Step) -> tuple[Integers, Batch]:
        """Describe a batch as `describe` does, and find the tokens that are compared.

        Args:
            items: All items, whose texts are the windows.
            step: b pairs (number of an item, number of the window that is compared with its first
                window), as in `describe`.

        Returns:
            (t,) numbers of the distinct windows of the batch, which the model reads; and the columns
            of `describe`, with `shared_first`, `shared_second` and `mask` in addition.
        """
        windows, batch = describe(items, step)
        tokens_of_window = []
        for window in windows:
            start, end = offsets[window], offsets[window + 1]
            tokens_of_window.append(token_ids[start:end].tolist())

        shared_first: list[Integers] = []
        shared_second: list[Integers] = []
        rows = zip(
            batch["first"].tolist(), batch["second"].tolist(), batch["rule"].tolist(), strict=True
        )
        for window, partner, rule in rows:
            # Labeled items have one window each, so that there is nothing to compare.
            first_positions = second_positions = np.empty(0, np.int64)
            if RULES[rule] == "invariant":
                first_positions, second_positions = aligned_positions(
                    tokens_of_window[window], tokens_of_window[partner]
                )
            shared_first.append(first_positions)
            shared_second.append(second_positions)
        mask = pad(encoded, windows)["attention_mask"]
        return windows, {
            **batch,
            "shared_first": _pad_positions(shared_first),
            "shared_second": _pad_positions(shared_second),
            "mask": mask[batch["first"]],
        }

    def stack_logits(outputs: Any) -> torch.Tensor:
        """Return (N, T, 2) logits for the first and the last token of an answer."""
        return torch.stack((outputs.start_logits, outputs.end_logits), dim=-1)

    return Target(describe_spans, stack_logits, span_losses)


def _pad_positions(rows: Sequence[Integers]) -> torch.Tensor:
    """Return rows of positions as a table, padded with -1."""
    max_length = max(map(len, rows))
    table = np.full((len(rows), max_length), -1, dtype=np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return torch.from_numpy(table)


def aligned_positions(original: Sequence[int], changed: Sequence[int]) -> tuple[Integers, Integers]:
    """Find the tokens that two texts share, in order.

    Args:
        original: Token ids of the original text.
        changed: Token ids of the changed text.

    Returns:
        (P,) positions in `original`, and (P,) positions in `changed`: the k-th of both have the same
        token. They are the matching blocks of `difflib.SequenceMatcher`.

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


def _reorder_texts(encoded: Encoded, order: Integers) -> Encoded:
    """Return tokenized texts in another order.

    Args:
        encoded: N texts, whose tokens are in flat arrays, one text after another.
        order: (N,) number of the text at each position of the result.
    """
    lengths = encoded.lengths[order]
    offsets = compute_offsets(lengths)
    # The tokens of a text stay together, so that all are shifted by the same distance.
    distances = encoded.offsets[order] - offsets[:-1]
    old_positions = np.repeat(distances, lengths) + np.arange(offsets[-1])
    columns = {name: column[old_positions] for name, column in encoded.columns.items()}
    return dataclasses.replace(
        encoded,
        columns=columns,
        offsets=offsets,
        truncated=encoded.truncated[order],
    )
