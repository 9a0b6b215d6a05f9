"""Batches of multiple-choice items for Trainer, as the data set builders of this package make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from rightreasons.core.errors import OptionError
from rightreasons.core.validation import check_count
from rightreasons.models.batching import ensure_padding
from rightreasons.training.evaluations import IGNORED_LABEL

Item = Mapping[str, Any]


class MultipleChoiceCollator:
    """Make batches for `AutoModelForMultipleChoice` of items with any number of choices.

    Items are rows of a data set with `prompt`, `choices`, and optionally `label`, as
    `rightreasons.load_dataset` and `perturb` give them. They are tokenized here, so that Trainer
    takes such a data set without preparation; it needs `remove_unused_columns=False`. Rows that are
    tokenized already, with a list of `input_ids` per choice, are accepted too.

    Perturbed items without a correct choice have the label -1. It becomes -100, which the losses of
    transformers ignore. A batch without any label has a loss of NaN.

    If an item has fewer choices than another item of its batch, copies of its first choice are added,
    so that all items have the same number. The logits of the copies must be ignored: pass the true
    numbers to `compute_metrics` as `n_choices`, or pass `probes`. The loss of transformers does not
    ignore them, so that all training items should have the same number of choices.

    Args:
        tokenizer: A tokenizer of transformers.
        max_length: Maximum number of tokens of a prompt with one choice; longer texts are truncated.
            None for the limit of the tokenizer.

    Example:
        >>> collator = MultipleChoiceCollator(tokenizer)  # doctest: +SKIP
        >>> items = [{"prompt": "Why?", "choices": ["So.", "No."], "label": -1}]
        >>> collator(items)["labels"]  # doctest: +SKIP
        tensor([-100])
    """

    def __init__(self, tokenizer: Any, *, max_length: int | None = None) -> None:
        if max_length is not None:
            check_count(max_length, "max_length", minimum=4)
        ensure_padding(tokenizer)
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __call__(self, items: Sequence[Item]) -> dict[str, torch.Tensor]:
        """Tokenize and pad B items into the inputs of a multiple-choice model.

        Args:
            items: B rows with `prompt`, `choices`, and optionally `label`.

        Returns:
            `input_ids`, `attention_mask` and further inputs of the model, of shape (B, C, L) for the
            largest number of choices C, and `labels` (B,) if the items have labels.

        Raises:
            OptionError: If Trainer has removed the columns.
            ValueError: If an item has no choices, or only some items have labels.
        """
        rows_by_item = list(map(self._encode_choices, items))
        n_choices = max(map(len, rows_by_item))
        rows = []
        for choices in rows_by_item:
            rows.extend(choices)
            # Missing choices are filled with the first one. With empty rows, a model would have no
            # token to attend to, and return NaN.
            n_missing = n_choices - len(choices)
            rows.extend([choices[0]] * n_missing)

        # The tokenizer pads a flat list of rows, which is reshaped by item afterwards.
        padded = self.tokenizer.pad(rows, padding=True, return_tensors="pt")
        batch = {}
        for name, table in padded.items():
            batch[name] = table.view(len(items), n_choices, -1)
        labels = _read_labels(items)
        if labels is not None:
            batch["labels"] = torch.tensor(labels, dtype=torch.int64)
        return batch

    def _encode_choices(self, item: Item) -> list[dict[str, Any]]:
        """Tokenize the prompt of an item with each of its choices.

        Args:
            item: A row with `prompt` and `choices`; or with the tokens of each choice, such as
                `{"input_ids": [[2, 7, 3], [2, 8, 3]], …}`.

        Returns:
            One mapping per choice, such as `{"input_ids": [2, 7, 3], "attention_mask": [1, 1, 1]}`.

        Raises:
            OptionError: If the columns are missing, because Trainer has removed them.
            ValueError: If the item has no choices.
        """
        if "input_ids" in item:
            # Tokens may have been made without some of the columns that the tokenizer names.
            names = sorted(set(self.tokenizer.model_input_names) & set(item))
            return _split_rows(item, names)
        if "choices" not in item:
            # By default, Trainer removes columns that are not arguments of the model's `forward`.
            raise OptionError(
                "Expected items with `prompt` and `choices`, but got the columns "
                f"{', '.join(item) or 'none'}. Pass remove_unused_columns=False to "
                "TrainingArguments.",
                option="remove_unused_columns",
            )
        if not item["choices"]:
            raise ValueError(f"Expected choices in the item {item.get('id')!r}, but it has none.")
        choices = list(item["choices"])
        encoded = self.tokenizer(
            [item["prompt"]] * len(choices),
            choices,
            truncation=True,
            max_length=self.max_length,
        )
        return _split_rows(encoded, list(encoded))


def _split_rows(columns: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Convert columns of equal length to rows.

    Args:
        columns: Name -> values, one per row.
        names: Names of the columns to convert.

    Returns:
        One mapping of names to values per row.
    """
    selected_columns = map(columns.__getitem__, names)
    rows = []
    for values in zip(*selected_columns, strict=True):
        rows.append(dict(zip(names, values, strict=True)))
    return rows


def _read_labels(items: Sequence[Item]) -> list[int] | None:
    """Return the label of each item of a batch; None if no item has a column of labels.

    Args:
        items: Rows of a batch, with a column `labels` or `label`, or with neither.

    Raises:
        ValueError: If some items have a column of labels, and others do not.
    """
    labels = []
    unlabeled_ids = []
    for row, item in enumerate(items):
        label = _read_label(item)
        if label is None:
            unlabeled_ids.append(item.get("id", row))
        else:
            labels.append(label)
    if not labels:
        return None
    if unlabeled_ids:
        raise ValueError(
            "Expected a `label` in all items of a batch, or in none, but item "
            f"{unlabeled_ids[0]!r} has no label. Set the label of unlabeled items to -1."
        )
    return labels


def _read_label(item: Item) -> int | None:
    """Return the label of an item for the losses of transformers.

    Args:
        item: A row with a column `labels` or `label`.

    Returns:
        The label; -100, which the losses ignore, if no choice is correct; None if the item has
        neither column.
    """
    for name in ("labels", "label"):
        if name in item:
            label = item[name]
            # In data sets, -1 means that no choice is correct, and None that the label is unknown.
            if label is None or label < 0:
                return IGNORED_LABEL
            return int(label)
    return None
