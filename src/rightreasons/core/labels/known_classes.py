"""Labels among known names of classes: by name, or by number where that is beyond doubt.

`find_known_classes` takes names in the order of their ids, and `find_heading_classes` names of
columns, whose order means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rightreasons.core.errors import OptionError
from rightreasons.core.labels.names import (
    BY_NUMBER,
    NameIndex,
    describe_ambiguous_offset,
    find_first_number,
    format_remedy,
    parse_label_numbers,
)
from rightreasons.core.labels.new_classes import NUMBERS_IN_WORDS, FoundClasses
from rightreasons.core.labels.values import LabelValues
from rightreasons.core.sentences import format_list, suggest_similar_names


def find_known_classes(values: LabelValues, known_names: tuple[str, ...]) -> FoundClasses:
    """Find the class of each label in a list of names: by name, otherwise by number.

    Args:
        values: The distinct labels, as `words` and as `numbers`.
        known_names: Names of the classes in the order of their ids.

    Returns:
        The id of each label, and the rule by which it was found.

    Raises:
        ValueError: If a label is not one of the names, or the class of a number is ambiguous.
    """
    # Names are compared first, because "1" and "2" may be names of classes. A label such as "1.0" is
    # compared as "1".
    spelling_by_text = _spell_numbers(values, known_names)
    spellings = list(dict.fromkeys(spelling_by_text.values()))
    index = NameIndex.find(spellings, known_names)
    if index is not None:
        id_by_text = {}
        for text, spelling in spelling_by_text.items():
            id_by_text[text] = index.get_class(spelling)
        return FoundClasses(id_by_text, known_names, index.rule)

    if not values.words:
        return _find_numbered_classes(values, known_names)
    # Words may express numbers: the labels are yes and no, or LABEL_1 and LABEL_0, and the names are
    # 1 and 0, or the other way around.
    expressed_id_by_text = _match_expressed_numbers(values, known_names)
    if expressed_id_by_text is not None:
        return FoundClasses(expressed_id_by_text, known_names, BY_NUMBER, NUMBERS_IN_WORDS)
    raise _make_unknown_label_error(values, spelling_by_text, known_names)


def _spell_numbers(values: LabelValues, known_names: Sequence[str]) -> dict[str, str]:
    """Return each label as it is compared with names: a number in its usual spelling.

    Args:
        values: The distinct labels.
        known_names: Names of the classes.

    Returns:
        Text of the label -> spelling. "1.0" is spelled "1", unless "1.0" is itself a name.
    """
    spelling_by_text = {}
    for text, label in values.label_by_text.items():
        is_number = label.number is not None and text not in known_names
        spelling_by_text[text] = str(label.number) if is_number else text
    return spelling_by_text


def _match_expressed_numbers(
    values: LabelValues, known_names: Sequence[str]
) -> dict[str, int] | None:
    """Match labels and names by the numbers that they express, such as "yes" or "LABEL_1" for 1.

    Args:
        values: The distinct labels, some of them words.
        known_names: Names of the classes.

    Returns:
        Text of each label -> position of its class. None if a label or a name does not express a
        number, or if no name expresses the number of a label.
    """
    class_numbers = parse_label_numbers(known_names)
    number_by_text = values.find_expressed_numbers()
    if not class_numbers or number_by_text is None:
        return None
    # Every label needs a class of its number.
    if not set(number_by_text.values()) <= set(class_numbers):
        return None
    return {text: class_numbers.index(number) for text, number in number_by_text.items()}


def _make_unknown_label_error(
    values: LabelValues, spelling_by_text: Mapping[str, str], known_names: Sequence[str]
) -> OptionError:
    """Return the error for labels that cannot be matched with the known names.

    Either a label is not one of the names, or two labels are the same name except for letter case.

    Args:
        values: The distinct labels.
        spelling_by_text: Text of each label -> the spelling in which it is compared with names; they
            differ for numbers such as "1.0", which is compared as "1".
        known_names: Names of the classes.
    """
    labels = list(values.label_by_text)
    unknown_labels = []
    for text in labels:
        if NameIndex.find([spelling_by_text[text]], known_names) is None:
            unknown_labels.append(text)
    if unknown_labels:
        label = values.label_by_text[unknown_labels[0]]
        problem = values.describe_row(label)
        suggestion = suggest_similar_names(label.text, known_names)
    else:
        # Each label alone matches a name, so two of them must match the same name.
        label = values.label_by_text[labels[0]]
        problem = "two of these differ by letter case or spaces only"
        suggestion = ""
    spellings = list(dict.fromkeys(spelling_by_text.values()))
    return values.make_refusal(
        expected=f"the labels {format_list(known_names)} in {label.column}",
        words=unknown_labels,
        problem=f"the labels are {format_list(spellings)} and {problem}",
        suggestion=suggestion,
    )


def _find_numbered_classes(values: LabelValues, known_names: tuple[str, ...]) -> FoundClasses:
    """Match labels that are numbers with classes by their position, from 0 or from 1.

    Args:
        values: The distinct labels, all of them numbers.
        known_names: Names of the classes, which are not numbers.

    Raises:
        ValueError: If it is ambiguous whether the labels count from 0 or from 1, or if a number is
            too large or too small for the classes.
    """
    numbers = values.numbers
    n_classes = len(known_names)
    occurring = set(numbers.values())
    start = find_first_number(occurring, n_classes, values.first)
    if start is None and max(occurring) <= n_classes:
        doubt = describe_ambiguous_offset(occurring, n_classes, values.remedy)
        raise ValueError(
            f"Expected unambiguous numbers of the classes {format_list(known_names)} as labels "
            f"in {values.source}, but got {format_list(sorted(occurring))}{doubt}."
        )
    # If a number exceeds the number of classes, it is an error for either start.
    start = start or 0
    for text, number in numbers.items():
        if start <= number < start + n_classes:
            continue
        label = values.label_by_text[text]
        raise ValueError(
            f"Expected labels from {start} to {n_classes - 1 + start} "
            f"({format_list(known_names)}) in {label.column}, but {values.describe_row(label)}"
            f"{format_remedy(values.remedy)}."
        )
    id_by_text = {text: number - start for text, number in numbers.items()}
    reason = "the labels count from 1" if start else ""
    return FoundClasses(id_by_text, known_names, BY_NUMBER, reason)


def find_heading_classes(values: LabelValues, known_names: tuple[str, ...]) -> FoundClasses:
    """Find the class of each label among the headings of score columns, whose order has no meaning.

    A label that is a number belongs to the class whose heading expresses this number ("LABEL_1",
    "class 1", "true", "yes"), not to the column at this position.

    Args:
        values: The distinct labels. `first` is the number of the first class, 0 or 1, if the user
            gave it.
        known_names: Headings of the columns.

    Returns:
        The id of each label, a position in `known_names`.

    Raises:
        OptionError: If labels are numbers that the headings do not express.
        ValueError: If a label is not one of the headings.
    """
    numbers = values.numbers
    # Labels such as "1" and "2" may be headings themselves. If the user gave the first number, they
    # are numbers in any case.
    are_headings = False
    if values.first is None:
        are_headings = NameIndex.find(values.label_by_text, known_names) is not None
    if not numbers or values.words or are_headings:
        return find_known_classes(values, known_names)

    heading_numbers = parse_label_numbers(known_names) or []
    shift = 0
    if heading_numbers and values.first is not None:
        # The headings may count from 0, and the labels from 1.
        shift = min(heading_numbers) - values.first
    shifted_numbers = {number + shift for number in numbers.values()}
    if not shifted_numbers <= set(heading_numbers):
        shown_numbers = format_list(sorted(set(numbers.values())))
        raise OptionError(
            f"Expected labels in words in {values.source}, as the columns of scores are "
            f"{format_list(known_names)}, but got {shown_numbers}. The order of the columns does "
            "not define the order of the numbers. List the names in the order of the numbers "
            "with `label_names`.",
            option="label_names",
        )
    id_by_text = {}
    for text, number in numbers.items():
        id_by_text[text] = heading_numbers.index(number + shift)
    return FoundClasses(
        id_by_text=id_by_text,
        names=known_names,
        rule=BY_NUMBER,
        reason="the names of the columns show this",
    )
