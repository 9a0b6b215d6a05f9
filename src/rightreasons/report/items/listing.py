"""The items on the page of a report, which a reader filters, sorts and searches.

`collect_items` selects the labeled items of every split, all of them if they fit on the page.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.ordering import to_sortable
from rightreasons.core.sentences import pluralize
from rightreasons.report.items.changes import list_edits
from rightreasons.report.items.columns import ItemColumn

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.audited.splits import AuditSplit

MAX_BYTES = 4_000_000
"""Size of all items on the page. With the rest of it, the file stays below 5 MB."""

MAX_STATIC_ITEMS = 50
"""Number of items that can be read where the script does not run, such as on paper."""

MAX_CHARACTERS = 500
"""Longest text of an item on the page; predictions/ has whole texts."""

ITEM_OVERHEAD = 40
"""Approximate number of bytes of an item in addition to its id and its text."""

VALUE_BYTES = 5
"""Approximate number of bytes of a value of a figure, such as "0.25,"."""

MAX_TEXTLESS_ITEMS = 300
"""Number of items of a file without texts, which offers nothing to read."""

N_COMPARED_TEXTS = 200
"""Number of texts whose differences describe a split."""


@dataclasses.dataclass(frozen=True)
class PageItem:
    """One item on the page.

    Attributes:
        id: Its id in the data.
        text: Its text, cut to `MAX_CHARACTERS`.
        label: Name of its label.
        prediction: Name of the predicted label.
        confidence: Confidence in the prediction; None if the model gives none.
        is_correct: Whether the prediction is the label.
        contradicts: Whether the data says that the label contradicts the text.
        value: Value of the first of `PageItems.columns`; None if the item was not tested, or
            without columns.
        text_pair: Second text of a pair, or the choices, cut as well; "" for a single text.
    """

    id: str
    text: str
    label: str
    prediction: str
    confidence: float | None
    is_correct: bool
    contradicts: bool
    value: float | None = None
    text_pair: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class SplitItems:
    """Labeled items of a split on the page, as columns: there may be tens of thousands.

    Errors come first, the most confident ones at the top, and then correct predictions, the least
    confident ones at the top. Labels that contradict their texts come last among the errors and
    among the correct predictions.

    Attributes:
        name: Name of the split.
        n_items: Number of labeled items of the split.
        n_wrong: Number of these that the model answers incorrectly.
        ids: M ids in the data.
        texts: M texts, cut to `MAX_CHARACTERS`.
        labels: (M,) labels in the model's numbering.
        predictions: (M,) predicted labels.
        confidences: (M,) confidences in the predictions; None if the model gives none.
        contradicts: (M,) whether the data says that the label contradicts the text.
        values: M tuples with a value for each of `PageItems.columns`; None for an item that was not
            tested.
        label_names: Names of the labels that occur, by their numbers.
        description: How the split differs from the first one; "" if it is not paired with it.
        text_pairs: M second texts, or lists of choices, cut as well; None for single texts.
    """

    name: str
    n_items: int
    n_wrong: int
    ids: list[str]
    texts: list[str]
    labels: NDArray[np.int64]
    predictions: NDArray[np.int64]
    confidences: NDArray[np.float64] | None
    contradicts: NDArray[np.bool_]
    values: list[tuple[float | None, ...]]
    label_names: Mapping[int, str]
    description: str = ""
    text_pairs: list[str] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def error_rate(self) -> float:
        """Share of the labeled items that the model answers incorrectly."""
        return self.n_wrong / self.n_items

    @property
    def is_correct(self) -> NDArray[np.bool_]:
        """(M,) whether the prediction is the label."""
        return np.asarray(self.predictions == self.labels)

    @functools.cached_property
    def is_tested(self) -> bool:
        """Whether any item was tested for what the worst finding is about."""
        return any(values and values[0] is not None for values in self.values)

    @property
    def is_complete(self) -> bool:
        """Whether the page has all labeled items."""
        return len(self) == self.n_items

    @property
    def facts(self) -> str:
        """Sentences on the errors of the split, on what it is, and on what the page leaves out."""
        # The template shows them, and the script when a reader chooses another split.
        verb = "is" if self.n_wrong == 1 else "are"
        total = pluralize(self.n_items, "prediction")
        sentences = [f"{self.n_wrong:,} of {total} on “{self.name}” {verb} incorrect."]
        if self.description:
            sentences.append(self.description)
        if not self.is_complete:
            sentences.append(
                f"The page has {len(self):,} of the items: the most confident errors and the least "
                "confident correct predictions. All are in predictions/."
            )
        return " ".join(sentences)

    @property
    def first_items(self) -> list[PageItem]:
        """The first items, which can be read where the script does not run."""
        items = []
        for row in range(min(len(self), MAX_STATIC_ITEMS)):
            confidence = None
            if self.confidences is not None:
                confidence = float(self.confidences[row])
            text_pair = ""
            if self.text_pairs is not None:
                text_pair = self.text_pairs[row]
            value = None
            if self.values[row]:
                value = self.values[row][0]
            item = PageItem(
                id=self.ids[row],
                text=self.texts[row],
                label=self.label_names[int(self.labels[row])],
                prediction=self.label_names[int(self.predictions[row])],
                confidence=confidence,
                is_correct=bool(self.is_correct[row]),
                contradicts=bool(self.contradicts[row]),
                value=value,
                text_pair=text_pair,
            )
            items.append(item)
        return items


@dataclasses.dataclass(frozen=True)
class PageItems:
    """Items of an audit on its page.

    Attributes:
        splits: The splits with labeled items, in the order of the audit.
        columns: Figures of the findings, by which a reader filters the items, that of the worst
            finding first; () if no finding is about single items.
    """

    splits: tuple[SplitItems, ...]
    columns: tuple[ItemColumn, ...] = ()

    @property
    def worst(self) -> SplitItems:
        """The split with the largest share of errors; the first of equals."""
        return max(self.splits, key=lambda split: split.error_rate)

    @property
    def has_confidence(self) -> bool:
        """Whether the model gives a confidence."""
        return self.splits[0].confidences is not None

    @functools.cached_property
    def has_texts(self) -> bool:
        """Whether any item has a text."""
        return any(map(any, [split.texts for split in self.splits]))

    @functools.cached_property
    def ids(self) -> frozenset[str]:
        """Ids of all items on the page."""
        return frozenset().union(*[split.ids for split in self.splits])

    def find_column(self, key: str) -> int | None:
        """Return the number of the column of a figure; None if there is none."""
        for index, column in enumerate(self.columns):
            if column.key == key:
                return index
        return None

    def count_affected(self, index: int) -> int:
        """Return how many items of the page show the fault that a column is about."""
        column = self.columns[index]
        n_affected = 0
        for split in self.splits:
            n_affected += sum(column.is_affected(values[index]) for values in split.values)
        return n_affected


def collect_items(
    context: AuditContext, columns: Sequence[ItemColumn] = (), *, max_bytes: int = MAX_BYTES
) -> PageItems | None:
    """Collect the labeled items of an audit for its page, all of them if they fit on it.

    Args:
        context: The audit, scored.
        columns: Figures with values by item, that of the worst finding first.
        max_bytes: Approximate size of all items, of which each split may use an equal part. If the
            items of a split do not fit, two thirds of the selected ones are errors.

    Returns:
        The items; None if no item has a label and a prediction.
    """
    # In this task, it is known whether an answer is correct, but not which answer it is.
    if context.task == "confidence":
        return None
    splits = []
    for split in context.splits:
        if split.labeled.any() and context.has_scores(split):
            splits.append(split)
    if not splits:
        return None

    max_split_bytes = max_bytes // len(splits)
    collected = []
    for split in splits:
        description = ""
        if split is not context.primary:
            description = describe_difference(context.primary, split)
        items = _collect_split(context, split, columns, max_split_bytes)
        collected.append(dataclasses.replace(items, description=description))
    return PageItems(tuple(collected), tuple(columns))


def _collect_split(
    context: AuditContext,
    split: AuditSplit,
    columns: Sequence[ItemColumn],
    max_bytes: int,
) -> SplitItems:
    """Return the labeled items of a split for the page, as many as fit.

    Args:
        context: The audit, scored.
        split: The split, with at least one label.
        columns: Figures with values by item.
        max_bytes: Approximate size of the items.
    """
    from rightreasons.io.columns import get_arrow_column

    scores = context.scores(split)
    # A prediction without a label is neither correct nor incorrect.
    labeled_rows = np.flatnonzero(split.labeled)
    is_correct = scores.predicted[labeled_rows] == split.labels[labeled_rows]
    texts = get_arrow_column(split.data, split.text_column)
    second_texts = None
    if "text_pair" in split.data.column_names:
        second_texts = get_arrow_column(split.data, "text_pair")
    elif split.choices is not None:
        second_texts = _list_choices(split.choices)
    text_columns = [texts] if second_texts is None else [texts, second_texts]
    n_items = count_fitting(
        text_columns, split.ids.arrow, labeled_rows, max_bytes, n_values=len(columns)
    )
    labeled_confidences = scores.confidence[labeled_rows]
    order = _order_items(split, labeled_rows, is_correct, labeled_confidences, n_items)
    rows = labeled_rows[order]

    confidences = None
    if not context.answers_once:
        # By rounding errors, a confidence may exceed 1.
        confidences = np.minimum(scores.confidence[rows], 1.0)
    # A model may have many more classes than occur among the items.
    label_names = {}
    for label in np.union1d(split.labels[rows], scores.predicted[rows]).tolist():
        label_names[label] = context.label_name(label)
    ids = split.ids.arrow.take(rows).to_pylist()
    values = []
    for item_id in ids:
        values.append(tuple(column.value_by_id.get(item_id) for column in columns))
    text_pairs = None
    if second_texts is not None:
        text_pairs = _shorten_texts(second_texts.take(rows))
    return SplitItems(
        name=split.name,
        n_items=len(labeled_rows),
        n_wrong=int((~is_correct).sum()),
        ids=ids,
        texts=_shorten_texts(texts.take(rows)),
        labels=split.labels[rows],
        predictions=scores.predicted[rows],
        confidences=confidences,
        contradicts=split.mislabeled[rows],
        values=values,
        label_names=label_names,
        text_pairs=text_pairs,
    )


def count_fitting(
    text_columns: Sequence[Any],
    ids: Any,
    rows: NDArray[np.intp],
    max_bytes: int,
    *,
    n_values: int = 0,
) -> int:
    """Estimate from the first thousand items how many of them fit into a number of bytes.

    Args:
        text_columns: Arrow columns with the texts of each row of a file.
        ids: Arrow column with the id of each row.
        rows: Rows of the items.
        max_bytes: The number of bytes.
        n_values: Number of values of each item in addition to its texts.
    """
    import pyarrow.compute as pc

    # Measuring every text would read a large file another time.
    sample = rows[:1000]
    n_text_bytes = 0
    for texts in text_columns:
        truncated_texts = pc.utf8_slice_codeunits(texts.take(sample), 0, MAX_CHARACTERS)
        n_text_bytes += pc.sum(pc.binary_length(truncated_texts)).as_py() or 0
    n_id_bytes = pc.sum(pc.binary_length(ids.take(sample))).as_py() or 0
    # A file of scores without texts has nothing to read, so that a few items are enough.
    if n_text_bytes == 0:
        return min(len(rows), MAX_TEXTLESS_ITEMS)
    n_overhead_bytes = (ITEM_OVERHEAD + n_values * VALUE_BYTES) * len(sample)
    n_sample_bytes = n_overhead_bytes + n_text_bytes + n_id_bytes
    n_fitting = int(max_bytes * len(sample) / n_sample_bytes)
    return min(len(rows), n_fitting)


def _list_choices(choices: Sequence[Sequence[str]]) -> Any:
    """Return the choices of each item as an Arrow column, such as "1. to eat | 2. to fly"."""
    import pyarrow as pa

    listings = []
    for item_choices in choices:
        numbered = [f"{number}. {text}" for number, text in enumerate(item_choices, start=1)]
        listings.append(" | ".join(numbered))
    return pa.array(listings, type=pa.string())


def _shorten_texts(texts: Any) -> list[str]:
    """Return the texts of an Arrow column, with single spaces and at most `MAX_CHARACTERS` long."""
    import pyarrow.compute as pc

    # Line breaks become spaces, so that all rows of the page have the same height.
    spaced = pc.replace_substring_regex(texts, pattern=r"[\s\p{Z}]+", replacement=" ")
    shortened: list[str] = pc.utf8_trim(spaced, characters=" ").to_pylist()
    # Arrow finds the long texts, which are few, so that Python handles only these.
    is_long = pc.greater(pc.utf8_length(spaced), MAX_CHARACTERS)
    long_rows = np.flatnonzero(is_long.to_numpy(zero_copy_only=False))
    for row in long_rows.tolist():
        shortened[row] = shorten(shortened[row], MAX_CHARACTERS)
    return shortened


def _order_items(
    split: AuditSplit,
    rows: NDArray[np.intp],
    is_correct: NDArray[np.bool_],
    confidences: NDArray[np.float64],
    n_items: int,
) -> NDArray[np.intp]:
    """Select and order the items of a split that the page shows.

    Errors come first, the most confident ones at the top, and then correct predictions, the least
    confident ones at the top. In both groups, labels that contradict their texts come last.

    Args:
        split: The split.
        rows: (M,) rows of the labeled items.
        is_correct: (M,) whether each prediction is correct.
        confidences: (M,) confidence of each prediction.
        n_items: Number of items to select. A third of them are correct predictions, and more if
            there are few errors.

    Returns:
        (n_items,) indices into `rows`.
    """
    contradicts = split.mislabeled[rows]
    # Small keys come first: confident errors, and hesitant correct predictions.
    keys = np.where(is_correct, confidences, -confidences)
    n_errors = int((~is_correct).sum())
    n_selected_correct = max(n_items // 3, n_items - n_errors)
    n_selected_correct = min(n_selected_correct, len(rows) - n_errors)
    n_selected_errors = n_items - n_selected_correct

    groups = []
    for mask, n_selected in ((~is_correct, n_selected_errors), (is_correct, n_selected_correct)):
        # Only the candidates are sorted: a split may have a million items.
        candidates = select_smallest(keys, contradicts, np.flatnonzero(mask), n_selected)
        # Ids decide between equal confidences, so that the order of the file does not matter.
        ids = to_sortable(split.ids[rows[candidates]])
        # `lexsort` sorts by its last key first.
        order = np.lexsort((ids, keys[candidates], contradicts[candidates]))
        groups.append(candidates[order][:n_selected])
    return np.concatenate(groups)


def select_smallest(
    keys: NDArray[np.float64],
    is_last: NDArray[np.bool_],
    rows: NDArray[np.intp],
    n_rows: int,
) -> NDArray[np.intp]:
    """Return the rows that can be among the first `n_rows` by (is_last, key), in any order.

    Rows with the key of the last one are all included, so that the caller can order them by
    something else. Unlike a sort of all rows, this takes linear time.

    Args:
        keys: (N,) keys.
        is_last: (N,) whether a row comes after those that are not last, whatever its key.
        rows: Rows to select from.
        n_rows: Number of rows that are needed.
    """
    if n_rows < 1:
        return rows[:0]
    candidates = rows[~is_last[rows]]
    # Rows that come last are needed too.
    if len(candidates) <= n_rows:
        return rows
    # `partition` puts the n-th smallest key where it would be after sorting.
    threshold = np.partition(keys[candidates], n_rows - 1)[n_rows - 1]
    return np.asarray(candidates[keys[candidates] <= threshold])


def describe_difference(primary: AuditSplit, split: AuditSplit) -> str:
    """Describe how a split differs from the primary one, if it has the same items in another version.

    Args:
        primary: The primary split.
        split: The other split, whose items have the pair ids of the primary one.

    Returns:
        A sentence on the numbers of changed texts and labels and on the most frequent edit; "" if
        the items of the two splits are not paired one to one.
    """
    if primary.pair_ids is None or split.pair_ids is None:
        return ""
    row_by_pair = {pair: row for row, pair in enumerate(primary.pair_ids)}
    # With several versions of an item, or with some of the items, "the items of" would be wrong.
    has_distinct_pairs = len(row_by_pair) == len(primary) == len(split)
    if not has_distinct_pairs or set(split.pair_ids) != row_by_pair.keys():
        return ""

    n_changed_labels = 0
    changed_texts = []
    for row, pair in enumerate(split.pair_ids):
        primary_row = row_by_pair[pair]
        n_changed_labels += int(primary.labels[primary_row] != split.labels[row])
        text = primary.texts[primary_row]
        if text != split.texts[row]:
            changed_texts.append((text, split.texts[row]))
    texts = "the same texts"
    if changed_texts:
        texts = pluralize(len(changed_texts), "changed text")
    labels = "the same labels"
    if n_changed_labels:
        labels = pluralize(n_changed_labels, "changed label")
    sentence = f"This split contains the items of “{primary.name}” with {texts} and {labels}."

    edit_counts: collections.Counter[str] = collections.Counter()
    # A sample of the texts is enough to find the most frequent edit.
    for text, changed_text in changed_texts[:N_COMPARED_TEXTS]:
        for start, end, replacement in list_edits(text, changed_text):
            edit = _describe_edit(text[start:end].strip(), replacement.strip())
            edit_counts[edit] += 1
    if edit_counts:
        most_frequent, _ = edit_counts.most_common(1)[0]
        sentence += f" The most frequent change {most_frequent}."
    return sentence


def _describe_edit(removed: str, added: str) -> str:
    """Return a description such as "replacing “dull” with “fine”"; either text may be empty."""
    if not removed:
        return f"adds “{added}”"
    if not added:
        return f"removes “{removed}”"
    return f"replaces “{removed}” with “{added}”"


def shorten(text: str, n_characters: int) -> str:
    """Return a text with at most `n_characters`, and the number of omitted characters after it."""
    if len(text) <= n_characters:
        return text
    return f"{text[:n_characters].rstrip()} … ({len(text) - n_characters:,} more characters)"
