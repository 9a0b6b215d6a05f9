"""Rules that find the items of an issue: conflicting labels, copies, overlaps of splits, patterns.

A rule is a function of the items of a split that returns their row numbers. `find_rows` applies the
rule that an issue names. Rules compare items by their words, so they work on every copy of a data
set, and on a user's own file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rightreasons.core.errors import OptionError, make_unknown_name_error

Row = Mapping[str, Any]

HASH_LENGTH = 12
"""Number of hexadecimal digits in the hash of an item: 48 bits, far beyond a chance match."""

_WORD = re.compile(r"\w+")

# Columns of the texts that a reader sees before the answer, by the column that a kind of data has.
_TEXT_COLUMNS = (
    ("prompt", ("prompt",)),
    ("premise", ("premise", "question")),
    ("context", ("context", "question")),
    ("text", ("text", "text_pair")),
)


def normalize(text: str) -> str:
    """Return the words of a text, case-folded (NFKC) and separated by single spaces.

    Example:
        >>> normalize("It's  FINE!")
        'it s fine'
    """
    # Punctuation, spaces and letter case are ignored, because copies of a text often differ in them.
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded))


@dataclasses.dataclass(frozen=True)
class Item:
    """Texts, choices and answer of an item, in the same form for all data sets.

    Attributes:
        texts: The texts that a reader sees before the answer, such as a premise and a question.
        choices: The choices; empty for classification.
        answer: The correct choice, or the label as a string; "" if it is not public.
        pair_id: Id of the pair of an original and its revision; None if the item has no partner.
    """

    texts: tuple[str, ...]
    choices: tuple[str, ...]
    answer: str
    pair_id: str | None = None

    def get_prompt_key(self, exact: bool = False) -> tuple[str, ...]:
        """Return a key that is equal for items with the same texts before the answer.

        Args:
            exact: Whether texts must be equal in every character, and not only in their words.
        """
        if exact:
            return self.texts
        return tuple(map(normalize, self.texts))

    def get_key(self, exact: bool = False) -> tuple[Any, ...]:
        """Return a key that is equal for items with the same texts and the same choices.

        The order of the choices and the label do not matter.

        Args:
            exact: Whether texts must be equal in every character, and not only in their words.
        """
        choices = self.choices
        if not exact:
            choices = tuple(map(normalize, choices))
        return self.get_prompt_key(exact), tuple(sorted(choices))

    def compute_hash(self) -> str:
        """Return a hash of the words of the texts, the choices and the answer, for tables of issues.

        It identifies an item in any copy of a data set, even if the copy has other ids, another
        punctuation, or the choices in another order.
        """
        texts, choices = self.get_key()
        content = "\n".join((*texts, *choices, normalize(self.answer)))
        return hashlib.sha256(content.encode()).hexdigest()[:HASH_LENGTH]


def make_item(row: Row) -> Item:
    """Convert a row to an item: its texts, its choices and its answer.

    Args:
        row: Column -> value, in one of the forms of this package's data sets: `text` (and `text_pair`);
            `prompt` and `choices`; `premise`, `question`, `choice1` and `choice2`; or `context`,
            `question` and `answers`.

    Raises:
        ValueError: If the row has no column of texts.

    Example:
        >>> row = {"prompt": "Why cook?", "choices": ["To eat.", "To fly."], "label": 0}
        >>> make_item(row).answer
        'To eat.'
    """
    texts = []
    for column in _find_text_columns(row):
        if row.get(column) is not None:
            texts.append(str(row[column]))
    choices = tuple(row.get("choices") or ())
    if "choice1" in row:
        # COPA has two columns in place of a list.
        choices = (row["choice1"], row["choice2"])
    return Item(
        texts=tuple(texts),
        choices=choices,
        answer=_get_answer(row, choices),
        pair_id=row.get("pair_id"),
    )


def _find_text_columns(row: Row) -> tuple[str, ...]:
    """Return the names of the columns of texts that a reader sees before the answer.

    Args:
        row: Column -> value. With a column `premise`, the result is ("premise", "question").

    Raises:
        ValueError: If the row has no known column of texts.
    """
    for marker_column, text_columns in _TEXT_COLUMNS:
        if marker_column in row:
            return text_columns
    raise ValueError(
        "Expected a column of texts (text, prompt, premise, or context) to look for known issues, "
        f"but the columns are {', '.join(map(str, row))}."
    )


def _get_answer(row: Row, choices: Sequence[str]) -> str:
    """Return the correct answer to an item as a string; "" if it is not public.

    Args:
        row: The item, with a column `label`, or `answers` such as {"text": ["Ann"], "answer_start": [12]}.
        choices: Choices of the item; empty for classification and for answers that are spans.
    """
    if "answers" in row:
        # Several people answered a question of SQuAD. Use the first answer.
        answers = row["answers"]["text"]
        return str(answers[0]) if answers else ""
    label = row.get("label")
    if label is None or label == -1:
        return ""
    if choices:
        return choices[label]
    return str(label)


# ------------------------------------------------------------------------------------------- rules


Splits = Mapping[str, Sequence[Item]]
"""Other split -> its items, for the rules that compare splits."""


def find_conflicts(items: Sequence[Item], splits: Splits, *, exact: bool = False) -> list[int]:
    """Find the items that occur several times, with different answers.

    Args:
        items: The items of a split.
        splits: Not used; every rule is called with the other splits.
        exact: Whether copies must be equal in every character, and not only in their words.

    Returns:
        Row numbers of all copies, ascending.
    """
    rows: list[int] = []
    for group in _group_copies(items, exact):
        answers = {normalize(items[row].answer) for row in group}
        if len(answers) > 1:
            rows.extend(group)
    return sorted(rows)


def find_duplicates(items: Sequence[Item], splits: Splits, *, exact: bool = False) -> list[int]:
    """Find the repetitions of items with the same answer, without their first occurrence.

    Args:
        items: The items of a split.
        splits: Not used; every rule is called with the other splits.
        exact: Whether copies must be equal in every character, and not only in their words.

    Returns:
        Row numbers, ascending.
    """
    seen_keys = set()
    rows = []
    for row, item in enumerate(items):
        # The answer is part of the key: a copy with another answer is a conflict, not a duplicate.
        key = (item.get_key(exact), normalize(item.answer))
        if key in seen_keys:
            rows.append(row)
        seen_keys.add(key)
    return rows


def find_repeated_prompts(
    items: Sequence[Item], splits: Splits, *, exact: bool = False
) -> list[int]:
    """Find the items whose prompt occurs with other choices, too.

    Args:
        items: The items of a split.
        splits: Not used; every rule is called with the other splits.
        exact: Whether texts must be equal in every character, and not only in their words.

    Returns:
        Row numbers, ascending.
    """
    rows_by_prompt: dict[Any, list[int]] = {}
    for row, item in enumerate(items):
        key = item.get_prompt_key(exact)
        rows_by_prompt.setdefault(key, []).append(row)
    rows = []
    for group in rows_by_prompt.values():
        # Items with the same choices, too, are duplicates, which another rule finds.
        distinct_keys = {items[row].get_key(exact) for row in group}
        if len(distinct_keys) > 1:
            rows.extend(group)
    return sorted(rows)


def find_overlap(
    items: Sequence[Item],
    splits: Splits,
    *,
    other_split: str,
    exact: bool = False,
    conflict: bool | None = None,
) -> list[int]:
    """Find the items that are in another split, too.

    Args:
        items: The items of a split.
        splits: Other split -> its items.
        other_split: The split to compare with.
        exact: Whether texts must be equal in every character, and not only in their words.
        conflict: True to find only items whose copies all have another answer, False to find only items
            with a copy that has the same answer, None to find both.

    Returns:
        Row numbers, ascending.
    """
    answers_by_key: dict[Any, set[str]] = {}
    for item in splits[other_split]:
        key = item.get_key(exact)
        answers_by_key.setdefault(key, set()).add(normalize(item.answer))

    rows = []
    for row, item in enumerate(items):
        answers = answers_by_key.get(item.get_key(exact))
        if answers is None:
            continue
        # One copy with the same answer is enough for an item to be no conflict.
        is_conflict = normalize(item.answer) not in answers
        if conflict is None or conflict == is_conflict:
            rows.append(row)
    return rows


def find_equal_choices(items: Sequence[Item], splits: Splits, *, with_answer: bool) -> list[int]:
    """Find the items in which two choices have the same words.

    Args:
        items: The items of a split.
        splits: Not used; every rule is called with the other splits.
        with_answer: True to find the items whose correct choice occurs twice, False to find those in
            which only incorrect choices are repeated.

    Returns:
        Row numbers, ascending.
    """
    rows = []
    for row, item in enumerate(items):
        choices = list(map(normalize, item.choices))
        has_equal_choices = len(set(choices)) < len(choices)
        has_answer_twice = choices.count(normalize(item.answer)) > 1
        if has_equal_choices and has_answer_twice == with_answer:
            rows.append(row)
    return rows


def find_matches(
    items: Sequence[Item], splits: Splits, *, pattern: str, ignore_case: bool = False
) -> list[int]:
    """Find the items in which a regular expression matches a text or a choice.

    Args:
        items: The items of a split.
        splits: Not used; every rule is called with the other splits.
        pattern: The regular expression.
        ignore_case: Whether the case of letters is ignored.

    Returns:
        Row numbers, ascending.
    """
    expression = compile_pattern(pattern, ignore_case)
    rows = []
    for row, item in enumerate(items):
        # Texts are searched separately, so that a match cannot extend from one text to the next.
        texts = (*item.texts, *item.choices)
        if any(expression.search(text) for text in texts):
            rows.append(row)
    return rows


def find_unlabeled(items: Sequence[Item], splits: Splits) -> list[int]:
    """Return the row numbers of the items whose answer is not public."""
    return [row for row, item in enumerate(items) if not item.answer]


def find_unrevised_pairs(items: Sequence[Item], splits: Splits) -> list[int]:
    """Find the pairs of an original and its revision that have the same words.

    Args:
        items: The items of a split.
        splits: Not used; every rule is called with the other splits.

    Returns:
        Row numbers of both items of each pair, ascending.
    """
    rows_by_pair: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        if item.pair_id is not None:
            rows_by_pair.setdefault(item.pair_id, []).append(row)
    rows = []
    for group in rows_by_pair.values():
        prompts = {items[row].get_prompt_key() for row in group}
        # A pair may be incomplete. Then there is nothing to compare.
        if len(group) > 1 and len(prompts) == 1:
            rows.extend(group)
    return sorted(rows)


def find_shared_texts(items: Sequence[Item], splits: Splits, *, other_split: str) -> list[int]:
    """Find the items that have a text in common with an item of another split.

    It suffices that one of their texts is equal, such as one of two questions.

    Args:
        items: The items of a split.
        splits: Other split -> its items.
        other_split: The split to compare with.

    Returns:
        Row numbers, ascending.
    """
    other_texts: set[str] = set()
    for item in splits[other_split]:
        other_texts.update(item.get_prompt_key())
    rows = []
    for row, item in enumerate(items):
        if not other_texts.isdisjoint(item.get_prompt_key()):
            rows.append(row)
    return rows


RULES: Mapping[str, Callable[..., list[int]]] = {
    "conflict": find_conflicts,
    "duplicate": find_duplicates,
    "repeated_prompt": find_repeated_prompts,
    "overlap": find_overlap,
    "equal_choices": find_equal_choices,
    "match": find_matches,
    "hidden": find_unlabeled,
    "same_pair_text": find_unrevised_pairs,
    "shared_text": find_shared_texts,
}
"""Name of a rule in a table -> its function of the items and the other splits."""


def find_rows(
    rule: Mapping[str, Mapping[str, Any]], items: Sequence[Item], splits: Splits
) -> list[int]:
    """Return the row numbers of the items that a rule of a table finds.

    Args:
        rule: Name of the rule -> its parameters, such as {"match": {"pattern": "#irony"}}.
        items: The items of a split.
        splits: Other split -> its items, for rules that compare splits.

    Raises:
        ValueError: If the rule or a parameter is unknown; `error.option` is "known_issues".
    """
    name, parameters = split_rule(rule)
    if name not in RULES:
        raise make_unknown_name_error("rule of a known issue", name, RULES)
    try:
        return RULES[name](items, splits, **parameters)
    except TypeError as error:
        # The parameters are passed to the function of the rule: one is unknown or missing.
        raise OptionError(
            f"Expected the parameters of the rule {name!r} of a known issue, but got {parameters}.",
            option="known_issues",
        ) from error


def split_rule(rule: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a rule.

    Example:
        >>> split_rule({"match": {"pattern": "#irony"}})
        ('match', {'pattern': '#irony'})
    """
    ((name, parameters),) = rule.items()
    # A rule without parameters may have nothing after its name.
    return name, dict(parameters or {})


def get_other_split(rule: Mapping[str, Mapping[str, Any]] | None) -> str | None:
    """Return the name of the other split with which a rule compares items; None if there is none."""
    if rule is None:
        return None
    _, parameters = split_rule(rule)
    return parameters.get("other_split")


def compile_pattern(pattern: str, ignore_case: bool = False) -> re.Pattern[str]:
    """Compile the regular expression of a rule.

    Args:
        pattern: The regular expression.
        ignore_case: Whether the case of letters is ignored.

    Raises:
        ValueError: If the expression is invalid; `error.option` is "known_issues".
    """
    flags = re.IGNORECASE if ignore_case else 0
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise OptionError(
            f"Expected a regular expression in a known issue, but got {pattern!r}: {error}.",
            option="known_issues",
        ) from error


def _group_copies(items: Iterable[Item], exact: bool) -> list[list[int]]:
    """Return groups of row numbers, one for each item that occurs several times.

    Items with the same texts and choices are copies, even if their answers differ.

    Args:
        items: The items.
        exact: Whether copies must be equal in every character, and not only in their words.
    """
    rows_by_key: dict[Any, list[int]] = {}
    for row, item in enumerate(items):
        key = item.get_key(exact)
        rows_by_key.setdefault(key, []).append(row)
    return [rows for rows in rows_by_key.values() if len(rows) > 1]
