"""Classes of labels whose names nobody gave: whole numbers are ids, and words are sorted.

`find_new_classes` is the entry point. The result, `FoundClasses`, is also that of known names.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from rightreasons.core.errors import OptionError
from rightreasons.core.labels.names import (
    BOOLEANS,
    BY_NAME,
    BY_NUMBER,
    MAX_VALUE_CHARS,
    fold_name,
    format_label,
    format_remedy,
)
from rightreasons.core.labels.values import LABEL_SEPARATOR, LabelValues
from rightreasons.core.sentences import format_list

MAX_CLASSES = 10_000
"""Number of classes that a column may have: more is a column of ids, dates or texts."""

NUMBERS_IN_WORDS = "the labels show this"
"""The reason of classes by numbers that some labels hold as words."""


@dataclasses.dataclass(frozen=True)
class FoundClasses:
    """The classes of labels.

    Attributes:
        id_by_text: The id of each label.
        names: The names of the classes by id.
        rule: `BY_NAME`, `BY_FOLDED_NAME` or `BY_NUMBER`.
        reason: What a match by number rests on; "" if there is nothing to say.
    """

    id_by_text: Mapping[str, int]
    names: tuple[str, ...]
    rule: str
    reason: str = ""


def find_new_classes(values: LabelValues) -> FoundClasses:
    """Define classes from labels, if no names are known: numbers are ids, and words are sorted.

    Args:
        values: The distinct labels, as `words` and as `numbers`.

    Returns:
        The id of each label, and the names of the classes.

    Raises:
        ValueError: If a number is negative or not whole, numbers are mixed with words, a label
            lists other labels, two labels differ only by case or spaces, or there are too many.
    """
    _check_numbers(values)
    if not values.numbers:
        return _find_word_classes(values)
    # Words that express numbers may be mixed with numbers: "true" with 1, or "LABEL_2" with 2.
    number_by_text = values.find_expressed_numbers()
    if number_by_text is None:
        raise _make_mixture_error(values)
    reason = NUMBERS_IN_WORDS if values.words else ""
    return _find_number_classes(values, number_by_text, reason)


def _make_mixture_error(values: LabelValues) -> OptionError:
    """Return the error for numbers mixed with words that express no numbers.

    Args:
        values: The distinct labels, some of them numbers and some of them words.
    """
    words = values.words
    shown_numbers = format_list(sorted(set(values.numbers.values())))
    shown_words = format_list(_quote_words(words))
    column = values.label_by_text[words[0]].column
    return values.make_refusal(
        expected=f"either numbers or words as labels in {column}",
        words=words,
        problem=f"it holds both: {shown_numbers} and {shown_words}",
    )


def _quote_words(words: Sequence[str]) -> list[str]:
    return [repr(word[:MAX_VALUE_CHARS]) for word in words]


def _check_numbers(values: LabelValues) -> None:
    """Check that labels that are numbers can be ids of classes: whole, and not negative.

    Args:
        values: The distinct labels. `is_invalid` marks numbers that are no ids, such as "-2" or "0.5".

    Raises:
        ValueError: If a number is invalid.
    """
    for label in values.label_by_text.values():
        if not label.is_invalid:
            continue
        remedy = values.remedy
        # A fraction is the target of a regression, such as a score or a grade.
        if "." in label.text:
            remedy = "A regression has no classes, but an expression can assign some"
        raise ValueError(
            f"Expected class labels (whole numbers from 0, or names) in {label.column}, but "
            f"{values.describe_row(label)}{format_remedy(remedy)}."
        )


def _find_number_classes(
    values: LabelValues, number_by_text: Mapping[str, int], reason: str
) -> FoundClasses:
    """Define classes by number, whose names are the numbers up to the largest one that occurs.

    Args:
        values: The distinct labels. `first` is the number of the first class; None for 0.
        number_by_text: Text of each label -> its number.
        reason: Why words among the labels have numbers, for the user; "" if there are no words.

    Raises:
        ValueError: If a number is below the first one, or above `MAX_CLASSES`.
    """
    start = values.first or 0
    for text, number in number_by_text.items():
        if start <= number < MAX_CLASSES:
            continue
        label = values.label_by_text[text]
        raise ValueError(
            f"Expected numbers of classes from {start} to {MAX_CLASSES - 1:,} in {label.column}, "
            f"but {values.describe_row(label)}{format_remedy(values.remedy)}."
        )
    # Numbers without items are classes too, so that ids and numbers do not drift apart.
    end = max(number_by_text.values()) + 1
    names = tuple(map(str, range(start, end)))
    id_by_text = {text: number - start for text, number in number_by_text.items()}
    return FoundClasses(id_by_text, names, BY_NUMBER, reason)


def _find_word_classes(values: LabelValues) -> FoundClasses:
    """Define classes from labels that are words: their ids follow the sorted order of the words.

    Args:
        values: The distinct labels, all of them words.

    Raises:
        ValueError: If a label lists other labels, two labels differ only by case or spaces (except
            for "true" and "false"), or there are more than `MAX_CLASSES` labels.
    """
    _check_single_labels(values)
    words = values.words
    spellings_by_name: dict[str, list[str]] = {}
    for word in words:
        spellings_by_name.setdefault(fold_name(word), []).append(word)

    # Tools write true, True and TRUE for one value.
    if spellings_by_name and spellings_by_name.keys() <= set(BOOLEANS):
        names = tuple(sorted(spellings_by_name))
        id_by_text = {word: names.index(fold_name(word)) for word in words}
        return FoundClasses(id_by_text, names, BY_NAME)

    # Two spellings may be one label with a typing error, or two labels. The user has to decide.
    for spellings in spellings_by_name.values():
        if len(spellings) > 1:
            shown_words = " and ".join(_quote_words(spellings))
            column = values.label_by_text[spellings[1]].column
            raise ValueError(
                f"Expected labels in {column} that differ by more than letter case, spaces and "
                f"hyphens, but got {shown_words}{format_remedy(values.remedy)}."
            )
    if len(words) > MAX_CLASSES:
        raise ValueError(
            f"Expected at most {MAX_CLASSES:,} classes in {values.source}, but it holds "
            f"{len(words):,} different labels, such as {format_label(words[0])}"
            f"{format_remedy(values.remedy)}."
        )
    # Sorted names do not depend on the order of the rows.
    names = tuple(sorted(words))
    id_by_text = dict(zip(names, range(len(names)), strict=True))
    return FoundClasses(id_by_text, names, BY_NAME)


def _check_single_labels(values: LabelValues) -> None:
    """Check that no label lists other labels, such as "joy;fear" next to "joy" and "fear;anger".

    Args:
        values: The distinct labels, all of them words.

    Raises:
        OptionError: If all segments of a label also occur in other labels.
    """
    # Split each label at its separators, and count in how many labels each segment occurs.
    segments_by_word = {}
    counts: Counter[str] = Counter()
    for word in values.words:
        segments_by_word[word] = set(LABEL_SEPARATOR.split(word))
        counts.update(segments_by_word[word])
    for word, segments in segments_by_word.items():
        # A label with a segment that occurs nowhere else may be a single name, as in "Austin, Texas".
        if len(segments) > 1 and all(counts[segment] > 1 for segment in segments):
            raise values.make_refusal(
                expected=f"one label per row in {values.label_by_text[word].column}",
                words=[word],
                problem=f"{format_label(word)} lists several labels",
            )
