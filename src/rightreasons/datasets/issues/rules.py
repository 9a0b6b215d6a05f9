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
    """Return the words of a text in one form: NFKC, casefolded, joined by single spaces.

    Example:
        >>> normalize("It's  FINE!")
        'it s fine'
    """
    # Marks and spaces are what copies of a text most often differ in.
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded))


@dataclasses.dataclass(frozen=True)
class Item:
    """An item as the rules see it.

    Attributes:
        texts: The texts before the answer, as they are.
        choices: The choices, as they are; empty for classification.
        answer: The correct choice, or the label as a text; "" if it is hidden.
        pair_id: The pair of an original and its revision; None without pairs.
    """

    texts: tuple[str, ...]
    choices: tuple[str, ...]
    answer: str
    pair_id: str | None = None

    def get_prompt_key(self, exact: bool = False) -> tuple[str, ...]:
        """Return what two items with the same prompt share."""
        if exact:
            return self.texts
        return tuple(map(normalize, self.texts))

    def get_key(self, exact: bool = False) -> tuple[Any, ...]:
        """Return what two copies of an item share, whatever the order of choices and the label."""
        choices = self.choices
        if not exact:
            choices = tuple(map(normalize, choices))
        # Copies often have their choices in another order.
        return self.get_prompt_key(exact), tuple(sorted(choices))

    def compute_hash(self) -> str:
        """Return a hash of the words, the choices, and the answer; it survives other ids."""
        texts, choices = self.get_key()
        content = "\n".join((*texts, *choices, normalize(self.answer)))
        return hashlib.sha256(content.encode()).hexdigest()[:HASH_LENGTH]


def make_item(row: Row) -> Item:
    """Return the item of a row, in one of the forms of this package's data sets.

    Raises:
        ValueError: If the row has none of the columns of texts.

    Example:
        >>> row = {"prompt": "Why cook?", "choices": ["To eat.", "To fly."], "label": 0}
        >>> make_item(row).answer
        'To eat.'
    """
    columns = _find_text_columns(row)
    texts = tuple(str(row[column]) for column in columns if row.get(column) is not None)
    choices = tuple(row.get("choices") or ())
    if "choice1" in row:
        choices = (row["choice1"], row["choice2"])
    return Item(texts, choices, _get_answer(row, choices), row.get("pair_id"))


def _find_text_columns(row: Row) -> tuple[str, ...]:
    """Return the columns of the texts that a reader sees before the answer."""
    for marker, columns in _TEXT_COLUMNS:
        if marker in row:
            return columns
    raise ValueError(
        "Expected a column of texts (text, prompt, premise, or context) to look for known issues, "
        f"but the columns are {', '.join(map(str, row))}."
    )


def _get_answer(row: Row, choices: Sequence[str]) -> str:
    # A question may have several answers of people, of which the first stands for all.
    if "answers" in row:
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
    """Return the items whose copies have several answers."""
    rows: list[int] = []
    for group in _group_rows(items, exact):
        answers = {normalize(items[row].answer) for row in group}
        if len(answers) > 1:
            rows.extend(group)
    return sorted(rows)


def find_duplicates(items: Sequence[Item], splits: Splits, *, exact: bool = False) -> list[int]:
    """Return the later copies of items that have the same answer."""
    keys = set()
    rows = []
    for row, item in enumerate(items):
        # A copy with another answer is no duplicate but a conflict.
        key = (item.get_key(exact), normalize(item.answer))
        if key in keys:
            rows.append(row)
        keys.add(key)
    return rows


def find_repeated_prompts(
    items: Sequence[Item], splits: Splits, *, exact: bool = False
) -> list[int]:
    """Return the items whose prompt occurs with other choices too."""
    rows_by_prompt: dict[Any, list[int]] = {}
    for row, item in enumerate(items):
        key = item.get_prompt_key(exact)
        rows_by_prompt.setdefault(key, []).append(row)
    rows = []
    for group in rows_by_prompt.values():
        # Mere copies of one item are duplicates, which another rule finds.
        if len({items[row].get_key(exact) for row in group}) > 1:
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
    """Return the items that are in another split too.

    Args:
        items: The items of a split.
        splits: The other splits.
        other_split: The split to compare with.
        exact: Whether texts must be equal to the character.
        conflict: True for the items whose copies all have another answer, False for the others; None
            for all.
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
        # One copy with the same answer suffices for no conflict.
        is_conflict = normalize(item.answer) not in answers
        if conflict is None or conflict == is_conflict:
            rows.append(row)
    return rows


def find_equal_choices(items: Sequence[Item], splits: Splits, *, with_answer: bool) -> list[int]:
    """Return the items with equal choices: the correct one twice, or only incorrect ones."""
    rows = []
    for row, item in enumerate(items):
        choices = list(map(normalize, item.choices))
        if len(set(choices)) == len(choices):
            continue
        has_answer_twice = choices.count(normalize(item.answer)) > 1
        if has_answer_twice == with_answer:
            rows.append(row)
    return rows


def find_matches(
    items: Sequence[Item], splits: Splits, *, pattern: str, ignore_case: bool = False
) -> list[int]:
    """Return the items with a regular expression in a text or a choice."""
    expression = compile_pattern(pattern, ignore_case)
    rows = []
    for row, item in enumerate(items):
        # A pattern never crosses the border of two texts.
        if any(map(expression.search, (*item.texts, *item.choices))):
            rows.append(row)
    return rows


def find_unlabeled(items: Sequence[Item], splits: Splits) -> list[int]:
    """Return the items whose answer is hidden."""
    return [row for row, item in enumerate(items) if not item.answer]


def find_unrevised_pairs(items: Sequence[Item], splits: Splits) -> list[int]:
    """Return both items of the pairs whose original and revision have the same words."""
    rows_by_pair: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        if item.pair_id is not None:
            rows_by_pair.setdefault(item.pair_id, []).append(row)
    rows = []
    for group in rows_by_pair.values():
        keys = {items[row].get_prompt_key() for row in group}
        # An item without its twin, which another entry may have dropped, is no pair.
        if len(group) > 1 and len(keys) == 1:
            rows.extend(group)
    return sorted(rows)


def find_shared_texts(items: Sequence[Item], splits: Splits, *, other_split: str) -> list[int]:
    """Return the items with a text that is a text of an item in another split too."""
    # One shared text is enough, such as one question of a pair.
    texts: set[str] = set()
    for item in splits[other_split]:
        texts.update(item.get_prompt_key())
    rows = []
    for row, item in enumerate(items):
        if not texts.isdisjoint(item.get_prompt_key()):
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
    """Return the rows that a rule of a table finds.

    Args:
        rule: The name of the rule, with its parameters: {"match": {"pattern": "#irony"}}.
        items: The items of a split.
        splits: The other splits that the rule compares with.

    Raises:
        ValueError: If the rule or a parameter is unknown; `error.option` is "known_issues".
    """
    name, parameters = split_rule(rule)
    if name not in RULES:
        raise make_unknown_name_error("rule of a known issue", name, RULES)
    try:
        return RULES[name](items, splits, **parameters)
    # An unknown or a missing parameter of the function.
    except TypeError as error:
        raise OptionError(
            f"Expected the parameters of the rule {name!r} of a known issue, but got {parameters}.",
            option="known_issues",
        ) from error


def split_rule(rule: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a rule."""
    ((name, parameters),) = rule.items()
    return name, dict(parameters or {})


def get_other_split(rule: Mapping[str, Mapping[str, Any]] | None) -> str | None:
    """Return the split with which a rule compares; None if it needs none."""
    if rule is None:
        return None
    _, parameters = split_rule(rule)
    return parameters.get("other_split")


def compile_pattern(pattern: str, ignore_case: bool = False) -> re.Pattern[str]:
    """Compile the regular expression of a rule.

    Raises:
        ValueError: If it is invalid; `error.option` is "known_issues".
    """
    flags = re.IGNORECASE if ignore_case else 0
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise OptionError(
            f"Expected a regular expression in a known issue, but got {pattern!r}: {error}.",
            option="known_issues",
        ) from error


def _group_rows(items: Iterable[Item], exact: bool) -> list[list[int]]:
    """Return the rows of each item that has copies."""
    rows_by_key: dict[Any, list[int]] = {}
    for row, item in enumerate(items):
        key = item.get_key(exact)
        rows_by_key.setdefault(key, []).append(row)
    return [rows for rows in rows_by_key.values() if len(rows) > 1]
