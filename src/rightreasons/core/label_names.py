"""Labels go by name: matches two lists of class names, and turns a column of labels into ids of named classes.

Every reader, suite and model goes through these two functions, so that a label means the same class wherever it is met:

- `match_labels` finds the class of each name in another list of names: the classes of a model, of another split, of the
  columns of scores.
- `resolve_labels` (one column) and `resolve_label_columns` (several that share their classes) turn values, whether
  numbers, words or a mixture, into ids.

A name is looked up as a name first, then without regard to letter case, spaces, hyphens and underscores where no two
names become one by that. A number that is no name is a position, where it is beyond doubt which. Everything else is
refused, and the sentence holds both lists.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.ordering import LazyArrowColumn, factorize
from rightreasons.core.results import Result
from rightreasons.core.sentences import escape_name, suggest_similar_names

BY_NAME = "by name"
BY_FOLDED_NAME = "by name, letter case aside"
BY_NUMBER = "by number"

MAX_CLASSES = 10_000
"""How many classes a column without known names may have: more is a column of ids, dates or texts."""

NO_GOLD_LABEL = "-"
"""How SNLI marks an item whose annotators did not agree."""

MULTI_LABEL_HINT = "of several labels per item, target=all asks about each, label_column='{{ COLUMN | whether(\"LABEL\") }}' about one"
"""What can be done about several labels per item."""

ASK_SEVERAL = ("target", "label_column")
"""The options that it names."""

LABEL_SEPARATOR = re.compile(r"\s*[,;|]\s*")
"""What stands between several labels in one text."""

_UNLABELED = {
    "-1": "+1",
    NO_GOLD_LABEL: "+",
}  # marks of an item without a label, unless the opposite sign is a label

# A checkpoint trained without names calls its classes LABEL_0, LABEL_1, …; a file may just number them.
_NUMBERED = re.compile(r"(?i)(?:(?:label|class)[\s_-]*)?(0|[1-9][0-9]{0,17})")
# Files have no numbers: "1", and "1.0" where a table once had a missing value, are whole numbers. "01" is a name.
_WHOLE_NUMBER = re.compile(r"(0|[1-9][0-9]{0,17})(?:\.0+)?")
# Numbers that no class has: negative, fractions, or of more digits.
_ODD_NUMBER = re.compile(r"-[0-9]+|-?[0-9]*\.[0-9]+|[1-9][0-9]{18,}")
_BOOLEANS = frozenset(("false", "true"))
_NO_AND_YES = (("false", "true"), ("no", "yes"))
"""Words for no and yes; each pair says 0 and 1."""

_SAID = tuple({no: 0, yes: 1} for no, yes in _NO_AND_YES)
NUMBER_BY_WORD = {word: number for pair in _SAID for word, number in pair.items()}
# Characters that nobody sees, such as marks of the direction of a text.
_INVISIBLE_CHARS = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def describe_match(how: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Say how names and classes met, with ten pairs at most.

    Example:
        >>> describe_match("by number", [("0", "bad"), ("1", "good")])
        'by number: 0 is bad, 1 is good'
    """
    same = all(name == label for name, label in pairs)
    shown = [name if same else f"{name} is {label}" for name, label in pairs[:10]]
    more = f" and {len(pairs) - 10:,} more" if len(pairs) > 10 else ""
    return how + (f": {', '.join(shown)}{more}" if shown else "")


@dataclasses.dataclass(frozen=True, eq=False)
class LabelMatch(Result):
    """Which of the names in one list is which of the classes in another.

    Attributes:
        class_of: (L,) the class of each name; -1 for a name that does not occur and that is none of the classes.
        how: `BY_NAME`, `BY_FOLDED_NAME` or `BY_NUMBER`.
        reason: What the match rests on, in words; "" where the names are the same.
        pairs: The names that occur anywhere and have a class, each with the name of its class.
    """

    class_of: NDArray[np.int64]
    how: str
    reason: str
    pairs: tuple[tuple[str, str], ...]

    @property
    def in_words(self) -> str:
        """The match for a person: "by name: bad is negative, good is positive"; ten pairs at most."""
        return describe_match(
            f"{self.how}, as {self.reason}" if self.reason else self.how, self.pairs
        )


@dataclasses.dataclass(frozen=True, eq=False)
class LabelColumn:
    """A column of labels as ids.

    Attributes:
        ids: (N,) the class of each row; -1 where it has no label (None, NaN, an empty text, -1, or a lone hyphen).
        names: K names of the classes, by id.
        how: `BY_NAME`, `BY_FOLDED_NAME` or `BY_NUMBER`.
        reason: What that rests on, in words; "" where there is nothing to tell.
    """

    ids: NDArray[np.int64]
    names: tuple[str, ...]
    how: str
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class LabelRow(Result):
    """A row of a mapping table: one value of a column of labels.

    Attributes:
        value: The value, as it is written.
        count: How often it occurs.
        label: The class that it is; "" for none.
        rule: By what they met; "by name" where the two names were compared, and agree.
    """

    value: str
    count: int
    label: str
    rule: str


def label_rows(values: Sequence[Any] | NDArray[Any], column: LabelColumn) -> tuple[LabelRow, ...]:
    """Return the mapping table of a column of labels, the most frequent value first.

    Example:
        >>> values = ["Up", "down", None, "Up"]
        >>> rows = label_rows(values, resolve_labels(values, ["down", "up"]))
        >>> [(row.value, row.count, row.label, row.rule) for row in rows]
        [('Up', 2, 'up', 'by name, letter case aside'), ('down', 1, 'down', 'by name'), ('', 1, '', 'no label')]
    """
    codes, distinct = factorize(values)
    _, firsts, counts = np.unique(codes, return_index=True, return_counts=True)
    pairs: Counter[tuple[str, int]] = Counter()
    for value, number, count in zip(
        distinct, column.ids[firsts].tolist(), counts.tolist(), strict=True
    ):
        pairs["" if value is None else str(value), number] += count
    rows = []
    for (value, number), count in pairs.most_common():
        label = column.names[number] if number >= 0 else ""
        rule = f"{column.how}, as {column.reason}" if column.reason else column.how
        if number < 0:
            rule = "no label"
        elif value.strip() == label:
            rule = BY_NAME
        elif fold_name(value) == fold_name(label):
            rule = BY_FOLDED_NAME
        elif column.how != BY_NUMBER:
            rule = column.reason or "by the number that stands for the name"
        rows.append(LabelRow(value, count, label, rule))
    return tuple(rows)


@dataclasses.dataclass(frozen=True)
class MatchTerms:
    """The words of an error about a match.

    Attributes:
        where: Whose the names are.
        classes_of: Whose the classes are.
        remedy: What a person can do where it is in doubt whether numbers count from 0 or from 1, after a colon.
        rename: The option that takes a class for each name, as "old=new,…"; "" where there is none.
    """

    where: str = "the data"
    classes_of: str = "the model"
    remedy: str = ""
    rename: str = ""


def match_labels(
    names: Sequence[str],
    classes: Sequence[str],
    *,
    used: Iterable[int] | None = None,
    seen: Iterable[int] | None = None,
    first: int | None = None,
    terms: MatchTerms = MatchTerms(),
) -> LabelMatch:
    """Find the class of each name: by name, else by name with case aside, else by number where one side has no names.

    1. By name: each name that occurs is one of the classes.
    2. By name, letter case aside: the same without regard to case, spaces, hyphens and underscores, if no two names
       become one by that, on either side.
    3. By number, if one side only numbers its labels ("0", "1", …, or "LABEL_0", "LABEL_1", …). Numbers count from 0 if
       0 occurs, and from 1 if 1 to K all occur, K being the number of classes; else it is in doubt, unless `first` says
       it. Words against numbered classes go by their position, if there are as many words as classes.

    Args:
        names: L names, such as those of a data set's labels.
        classes: K names, such as those of a model's classes.
        used: The positions of the names that occur; None for all. A name that does not occur need not be a class.
        seen: The positions that occur anywhere, such as in all splits, which tells where numbers begin; None for
            `used`.
        first: The number of the first class where the names are numbers, 0 or 1; None to find out.
        terms: Whose the names and the classes are, and what a person can do, for errors.

    Returns:
        The match.

    Raises:
        TypeError: If a name is not a text.
        ValueError: If the match is in doubt; the sentence holds both lists.

    Example:
        >>> match_labels(["Good", "bad"], ["bad", "good"]).class_of
        array([1, 0])
        >>> match_labels(["bad", "good"], ["LABEL_0", "LABEL_1"]).reason
        'the model only numbers its classes (labels in alphabetical order)'
        >>> match_labels(["1", "2"], ["bad", "good"]).in_words
        'by number, as the data counts from 1: 1 is bad, 2 is good'
        >>> match_labels(["joy", "anger"], ["bad", "good"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected ... among those of ... (bad, good), but they are joy, anger.
    """
    names = _texts(names, f"the labels of {terms.where}")
    classes = _texts(classes, f"the classes of {terms.classes_of}")
    occur = sorted(set(range(len(names)) if used is None else (int(label) for label in used)))
    anywhere = occur if seen is None else sorted({*occur, *(int(label) for label in seen)})
    by_name = _by_name([names[label] for label in occur], classes)
    if by_name is not None:
        index, key, how = by_name
        table, reason = np.array([index.get(key(name), -1) for name in names], dtype=np.int64), ""
    else:
        how = BY_NUMBER
        table, reason = _by_number(names, classes, occur, anywhere, first, terms)
    pairs = tuple((names[label], classes[table[label]]) for label in anywhere if table[label] >= 0)
    return LabelMatch(table, how, reason, pairs)


def suggest_class_order(
    scores: NDArray[np.float64], labels: NDArray[np.int64], names: Sequence[str] | None
) -> str:
    """Say that labels which were taken by number or position would fit far better in another order.

    It says so where the accuracy is surely below chance (99.9 %, one-sided) and another order is surely above it.

    Args:
        scores: (N, K) scores, the largest being the answer, or (N,) P(class 1).
        labels: (N,) labels, -1 for none.
        names: K names of the classes; None for numbers.

    Returns:
        A sentence; "" where there is no such doubt.

    Example:
        >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]] * 20)
        >>> suggest_class_order(scores, np.array([1, 0] * 20), ["bad", "good"])
        'The labels fit 0.0% of the answers as they are taken (0 is bad, 1 is good), but in the other order (0 is \
good, 1 is bad) it would be 100.0%: check which is which.'
    """
    from scipy.special import bdtr, bdtrc

    answers = (scores > 0.5).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
    n_classes = 2 if scores.ndim == 1 else scores.shape[1]
    kept = (labels >= 0) & (labels < n_classes)
    n_items, chance = int(kept.sum()), 1 / n_classes
    # The cell of an item in a table of labels by answers, row after row.
    cells = labels[kept] * n_classes
    cells += answers[kept]
    counts = np.bincount(cells, minlength=n_classes**2)
    counts = counts.reshape(n_classes, n_classes)
    right = int(np.trace(counts))
    if not n_items:
        return ""
    # Most labels fit as they are, which is known without the best order.
    if bdtr(right, n_items, chance) > 0.001:
        return ""
    from scipy.optimize import linear_sum_assignment

    order = linear_sum_assignment(counts, maximize=True)[1]
    best = int(counts[range(n_classes), order].sum())
    if bdtrc(best - 1, n_items, chance) > 0.001:
        return ""
    shown = [str(number) for number in range(n_classes)] if names is None else list(names)
    as_taken, otherwise = (
        ", ".join(f"{number} is {shown[place]}" for number, place in enumerate(places[:6]))
        for places in ([*range(n_classes)], order.tolist())
    )
    which = "the other order" if n_classes == 2 else "another order"
    return (
        f"The labels fit {right / n_items:.1%} of the answers as they are taken ({as_taken}), but in {which} "
        f"({otherwise}) it would be {best / n_items:.1%}: check which is which."
    )


def describe_unlabeled(names: Sequence[str]) -> str:
    """Say that numbers became classes, of which some have no label; "" where all have one."""
    return (
        f"The data has no label for {format_list(names)}: check the order of the classes."
        if names
        else ""
    )


def match_columns(
    columns: Sequence[str], classes: Sequence[str], *, where: str, classes_of: str
) -> NDArray[np.int64]:
    """Find the column of each class by `match_labels`; there must be one for each, and no others.

    Args:
        columns: K names of columns.
        classes: K names of classes.
        where: Whose the columns are, for errors.
        classes_of: Whose the classes are, for errors.

    Returns:
        (K,) the position of the column of each class.

    Raises:
        ValueError: If a column is none of the classes, or a class has no column; the sentence holds both lists.

    Example:
        >>> match_columns(["pos", "neg"], ["neg", "pos"], where="the table", classes_of="the model")
        array([1, 0])
    """
    class_of = match_labels(columns, classes, terms=MatchTerms(where, classes_of)).class_of
    if sorted(class_of) != [*range(len(classes))]:
        raise ValueError(
            f"Expected a column for each class of {classes_of} ({format_list(classes)}), but {where} "
            f"are {format_list(columns)}."
        )
    return np.argsort(class_of)


def resolve_labels(
    values: Any,
    names: Sequence[str] | None = None,
    *,
    first: int | None = None,
    where: str = "the labels",
    remedy: str = "",
    headings: bool = False,
) -> LabelColumn:
    """Turn a column of labels into ids of named classes; see `resolve_label_columns`.

    Example:
        >>> column = resolve_labels(["up", "down", None, "up"])
        >>> column.ids.tolist(), column.names
        ([1, 0, -1, 1], ('down', 'up'))
        >>> resolve_labels(["hateful", "Non-Hateful"], ["non-hateful", "hateful"]).ids.tolist()
        [1, 0]
        >>> resolve_labels(["0", "1", "n/a"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected either numbers or words ..., but it holds both: 0, 1 and 'n/a'.
    """
    return resolve_label_columns(
        {where: values}, names, first=first, remedy=remedy, headings=headings
    )[where]


def resolve_label_columns(
    columns: Mapping[str, Any],
    names: Sequence[str] | None = None,
    *,
    first: int | None = None,
    remedy: str = "",
    headings: bool = False,
) -> dict[str, LabelColumn]:
    """Turn columns of labels that share their classes, such as those of several splits, into ids.

    Values are texts (spaces around them do not count), whole numbers (also as floats, or as texts such as "1" and
    "1.0") and booleans, whose names are "false" and "true". None, NaN and an empty text are no label; nor are -1
    and a lone hyphen (SNLI's mark for no gold label), unless they are known names or +1 or a plus sign is a label.

    With known names a value is looked up as a name, as in `match_labels`, before it is taken for a number. Without,
    whole numbers are their own ids, their names being "0" to the largest, and words are numbered in their sorted order.

    Args:
        columns: Values by what the column is called in errors ("the column 'label' of x.csv"): lists or arrays.
        names: K names of the classes by id; None where they are not known.
        first: The number of the first class where labels are numbers, 0 or 1; None to find out, as in `match_labels`.
        remedy: What a person can do about doubt, after a colon at the end of the sentence.
        headings: Whether the names are those of columns in an order that means nothing: a number is then the class
            whose name says it (LABEL_1, class 1, true, yes), and is refused where names say none.

    Returns:
        The ids and the names by column; all columns have the same names.

    Raises:
        TypeError: If a value is of a kind that no label has, or booleans are mixed with numbers.
        ValueError: If numbers are mixed with words, two words differ by case or spaces only, a label is none of the
            known names, a number is in doubt, negative or not whole, or there are more than `MAX_CLASSES` classes.

    Example:
        >>> splits = resolve_label_columns({"train": ["b", "a"], "test": ["c"]})
        >>> splits["test"].ids.tolist(), splits["test"].names
        ([2], ('a', 'b', 'c'))
    """
    if first not in (None, 0, 1):
        raise ValueError(f"Expected the first label to be 0 or 1, but got {first!r}.")
    read = {where: _read(values, where) for where, values in columns.items()}
    cells: dict[str, _Cell] = {}
    for cell in itertools.chain(*(met.values() for _, met in read.values())):
        if cell is not None:
            cells.setdefault(cell.text, cell)
    known = None if names is None else check_label_names(names)
    marks = [mark for mark in _UNLABELED if mark in cells and mark not in (known or ())]
    marks = [mark for mark in marks if known is not None or _UNLABELED[mark] not in cells]
    labels = _Labels(read, cells, first, remedy)
    labels.check_marks([cells.pop(mark) for mark in marks], known)
    if known is None:
        id_of, shown, how, reason = labels.classes()
    else:
        id_of, shown, how, reason = (
            labels.among_headings(known) if headings else labels.among(known)
        )
    resolved = {}
    for where, (codes, met) in read.items():
        ids = np.array(
            [-1 if cell is None else id_of.get(cell.text, -1) for cell in met.values()],
            dtype=np.int64,
        )
        resolved[where] = LabelColumn(ids[codes], shown, how, reason)
    return resolved


def check_label_names(names: Sequence[str], name: str = "label_names") -> tuple[str, ...]:
    """Check names of classes: texts, none of them empty, none twice.

    Example:
        >>> check_label_names(["x", "x"])
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected distinct names in `label_names`, but 'x' comes again at \
position 1.
    """
    texts = _texts(names, f"`{name}`")
    known: set[str] = set()
    for position, text in enumerate(texts):
        if not text.strip():
            raise OptionError(
                f"Expected a name in each entry of `{name}`, but entry {position} is empty.",
                option=name,
            )
        if text in known:
            raise OptionError(
                f"Expected distinct names in `{name}`, but {text!r} comes again at position {position}.",
                option=name,
            )
        known.add(text)
    return texts


def format_list(names: Sequence[object]) -> str:
    """List names for a sentence: twelve at most, and how many there are."""
    texts = [escape_name(name, max_chars=60) for name in names[:12]]
    return ", ".join(texts) + (f", … ({len(names):,} in all)" if len(names) > 12 else "")


# ------------------------------------------------------------------------------------------------------------- private


class _Cell(NamedTuple):
    """A label as it is met first: its name, its number where it is a whole one, and whether no class has the number."""

    where: str
    value: Any
    text: str
    number: int | None = None
    odd: bool = False


_Column: TypeAlias = "tuple[NDArray[np.int64], dict[Any, _Cell | None]]"
_Found: TypeAlias = "tuple[dict[str, int], tuple[str, ...], str, str]"


def _texts(names: Sequence[str], what: str) -> tuple[str, ...]:
    ordered = isinstance(names, Iterable) and not isinstance(names, (str, Mapping, Set))
    texts = tuple(names) if ordered else ()
    if not ordered or not all(isinstance(name, str) for name in texts):
        raise TypeError(f"Expected {what} to be a list of strings, but got {_shown(names)}.")
    return texts


def fold_name(name: str) -> str:
    """Return what a name is without letter case, and with one space for spaces, hyphens and underscores."""
    seen = _INVISIBLE_CHARS.sub("", unicodedata.normalize("NFKC", name))
    return re.sub(r"[\s_-]+", " ", seen).strip().casefold() or name


def _by_name(
    names: Sequence[str], classes: Sequence[str]
) -> tuple[dict[str, int], Callable[[str], str], str] | None:
    """Return the classes by key, the key of a name, and how it matches; None where a name is no class, or in doubt."""
    for how, key in ((BY_NAME, str), (BY_FOLDED_NAME, fold_name)):
        index = {key(label): number for number, label in enumerate(classes)}
        keys = {key(name) for name in names}
        if len(index) == len(classes) and len(keys) == len(names) and index.keys() >= keys:
            return index, key, how
    return None


def _by_number(
    names: Sequence[str],
    classes: Sequence[str],
    here: Sequence[int],
    anywhere: Sequence[int],
    first: int | None,
    terms: MatchTerms,
) -> tuple[NDArray[np.int64], str]:
    """Match by number, given the positions of the names that occur here, and of those that occur anywhere."""
    numbers, targets = _numbers([names[label] for label in anywhere]), parse_label_numbers(classes)
    counted = targets is not None and sorted(targets) in (
        [*range(len(classes))],
        [*range(1, len(classes) + 1)],
    )
    in_order = (
        counted and targets == sorted(targets or ()) and targets == _numbers(classes)
    )  # yes and no are words
    problem = ""
    if numbers is not None and (targets is None or counted):
        start = find_first_number(set(numbers), len(classes), first)
        place = {number: position for position, number in enumerate(targets or range(len(classes)))}
        table = np.full(len(names), -1, dtype=np.int64)
        table[anywhere] = [place.get(number - (start or 0) + min(place), -1) for number in numbers]
        if start is not None and (table[here] >= 0).all():
            return table, f"{terms.where} {'counts from 1' if start else 'numbers its labels'}"
        problem = (
            describe_ambiguous_offset(set(numbers), len(classes), terms.remedy)
            if start is None
            else ""
        )
    elif (
        in_order
        and len(names) == len(classes)
        and not any(_NUMBERED.fullmatch(name.strip()) for name in names)
    ):
        order = (
            "alphabetical order" if list(names) == sorted(names) else f"the order of {terms.where}"
        )
        return np.arange(
            len(names), dtype=np.int64
        ), f"{terms.classes_of} only numbers its classes (labels in {order})"
    odd = [names[label] for label in here]
    if terms.rename and not problem and odd:
        others = "leave out the rows of any other label, or " if len(odd) > len(classes) else ""
        problem = f": {others}say which is which, as in {terms.rename}='{describe_renaming(odd, classes)}'"
    raise OptionError(
        f"Expected the labels of {terms.where} to be among those of {terms.classes_of} ({format_list(classes)}), but they "
        f"are {format_list(odd)}{problem}.",
        option=terms.rename or (),
    )


def _numbers(names: Sequence[str]) -> list[int] | None:
    """Return the number of each name if each is a mere number ("3", "LABEL_3"), and no two are the same."""
    matches = [_NUMBERED.fullmatch(name.strip()) for name in names]
    numbers = [int(match[1]) for match in matches if match]
    return numbers if names and len(set(numbers)) == len(names) else None


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether names are mere numbers, none of them twice.

    Example:
        >>> are_numbers(["LABEL_0", "LABEL_1"]), are_numbers(["0", "1"]), are_numbers(["bad", "good"])
        (True, True, False)
    """
    return _numbers(names) is not None


def describe_renaming(names: Sequence[str], classes: Sequence[str]) -> str:
    """Return what says which class each name is, with a gap for each that only a person knows.

    Example:
        >>> describe_renaming(["c", "e", "not_entailment"], ["entailment", "neutral", "contradiction"])
        'c=contradiction,e=entailment,not_entailment=?'
    """
    pairs = []
    for name in names[:6]:
        begun = [label for label in classes if fold_name(label).startswith(fold_name(name))]
        rivals = [
            other for other in names if begun and fold_name(begun[0]).startswith(fold_name(other))
        ]
        pairs.append(f"{name}={begun[0] if len(begun) == len(rivals) == 1 else '?'}")
    return ",".join(pairs) + ",…" * (len(names) > 6)


def parse_label_number(name: str) -> int | None:
    """Return the number that a name says by itself; None for none.

    Example:
        >>> parse_label_number("LABEL_2"), parse_label_number("Yes"), parse_label_number("good")
        (2, 1, None)
    """
    numbered = _NUMBERED.fullmatch(name)
    return int(numbered[1]) if numbered else NUMBER_BY_WORD.get(fold_name(name))


def parse_label_numbers(names: Sequence[str]) -> list[int] | None:
    """Return the number that each name says; None where one says none, or two say the same.

    Example:
        >>> parse_label_numbers(["LABEL_1", "class 0"]), parse_label_numbers(["yes", "no"]), parse_label_numbers(["positive", "negative"])
        ([1, 0], [1, 0], None)
    """
    for said in _SAID:
        if {fold_name(name) for name in names} == said.keys():
            return [said[fold_name(name)] for name in names]
    return _numbers(names)


def _parse_mixed_words_and_numbers(
    words: Sequence[str], numbers: Mapping[str, int]
) -> dict[str, int]:
    """Return the number that each word says, as true says 1 and LABEL_2 says 2; {} where one says none that fits."""
    said = {word: number for word in words if (number := parse_label_number(word)) is not None}
    fits = {*map(fold_name, words)}.isdisjoint(NUMBER_BY_WORD) or {
        *said.values(),
        *numbers.values(),
    } <= {0, 1}
    return said if fits and len(said) == len(words) else {}


def find_first_number(used: Set[int], n_classes: int, first: int | None) -> int | None:
    """Return the number of the first class, given those in use; None where it is in doubt."""
    if first is not None or not used or 0 in used:
        return first or 0
    return 1 if used == set(range(1, n_classes + 1)) else None


def describe_ambiguous_offset(used: Set[int], n_classes: int, remedy: str) -> str:
    """Say that it is in doubt where numbers begin, at the end of a sentence."""
    if max(used) > n_classes:
        return ""
    missing = "0" if min(used) == 1 else "0 or 1"
    return f", and whether these count from 0 or from 1 is in doubt, as there is no {missing}{_remedy(remedy)}"


def _read(values: Any, where: str) -> _Column:
    """Return the code of each value, and by code each distinct value with its meaning (None: no label)."""
    columnar = isinstance(values, LazyArrowColumn) or (
        getattr(values, "ndim", 0) == 1 and values.dtype != object
    )
    codes, plain = (
        factorize(values) if columnar else (None, getattr(values, "tolist", lambda: list(values))())
    )
    if any(issubclass(kind, np.generic) for kind in set(map(type, plain))):
        plain = [value.item() if isinstance(value, np.generic) else value for value in plain]
    kinds = set(map(type, plain))
    plain = [None if value != value else value for value in plain] if float in kinds else plain
    odd = {kind for kind in kinds if not issubclass(kind, (str, int, float, type(None)))}
    if odd or (bool in kinds and kinds & {int, float}):
        row, value = next(
            (row, value) for row, value in enumerate(plain) if type(value) in (odd or {bool})
        )
        row = row if codes is None else int(np.argmax(codes == row))
        held = f"a {type(value).__name__}" if odd else f"{value} among numbers"
        raise TypeError(
            f"Expected labels of one kind in {where}, whole numbers from 0 or names, but row {row} holds {held}."
        )
    merged, distinct = factorize(plain)
    return merged if codes is None else merged[codes], {
        value: _cell(value, where) for value in distinct
    }


def _cell(value: Any, where: str) -> _Cell | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool):
        return _Cell(where, value, str(value).lower())
    if isinstance(value, str):
        text = "-1" if value.strip() == "-1.0" else value.strip()
        number = _WHOLE_NUMBER.fullmatch(text)
        odd = not number and text not in _UNLABELED and _ODD_NUMBER.fullmatch(text) is not None
        return _Cell(where, value, text, int(number[1]) if number else None, odd)
    if value == -1 or value < 0 or value != value // 1 or value >= 10**18:
        return _Cell(where, value, "-1" if value == -1 else _shown(value), odd=value != -1)
    return _Cell(where, value, str(int(value)), int(value))


@dataclasses.dataclass(frozen=True)
class _Labels:
    """The labels of columns that share their classes, by their names.

    Each way to find the classes returns the id of each label, the names of the classes, how they were found, and what
    that rests on.
    """

    read: Mapping[str, _Column]
    cells: Mapping[str, _Cell]
    first: int | None
    remedy: str

    @property
    def where(self) -> str:
        """Where the first label is."""
        return next(iter(self.cells.values())).where

    def refused(self, expected: str, words: Iterable[str], but: str, hint: str = "") -> OptionError:
        """Return the error of labels that are no classes: where they list others, with what asks about each."""
        several = any(len(LABEL_SEPARATOR.split(word)) > 1 for word in words)
        remedy, option = (MULTI_LABEL_HINT, ASK_SEVERAL) if several else (self.remedy, ())
        return OptionError(
            f"Expected {expected}, but {but}{_remedy(remedy)}.{'' if several else hint}",
            option=option,
        )

    def held(self, cell: _Cell) -> str:
        """Say in which row a label is."""
        codes, met = self.read[cell.where]
        shown = _shown(cell.text) if cell.number is None and not cell.odd else cell.text[:60]
        return f"row {int(np.argmax(codes == list(met).index(cell.value)))} holds {shown}"

    def check_marks(self, marks: Sequence[_Cell], known: tuple[str, ...] | None) -> None:
        """Refuse -1 beside 1 alone, and a hyphen beside one label, which may be the two labels of a data set."""
        for mark in marks if len(self.cells) == 1 else ():
            other, cell = next(iter(self.cells.items()))
            if cell.number == 1 or (known is None and mark.text == NO_GOLD_LABEL):
                raise ValueError(
                    f"Expected more labels in {mark.where} than {_shown(other)} alone, but the only other value is "
                    f"{mark.text}, which marks an item without a label unless `label_names` renames it, as in "
                    f"{mark.text}=0,{other}=1{_remedy(self.remedy)}."
                )

    def classes(self) -> _Found:
        """Find the classes that labels give by themselves."""
        numbers = {
            text: cell.number for text, cell in self.cells.items() if cell.number is not None
        }
        words = [text for text in self.cells if text not in numbers]
        odd = next((cell for cell in self.cells.values() if cell.odd), None)
        if odd is not None:
            remedy = (
                "a regression has no classes, but an expression makes some"
                if "." in odd.text
                else self.remedy
            )
            expected = f"Expected class labels (whole numbers from 0, or names) in {odd.where}"
            raise ValueError(f"{expected}, but {self.held(odd)}{_remedy(remedy)}.")
        said = _parse_mixed_words_and_numbers(words, numbers) if numbers else {}
        if said:  # True beside 1, LABEL_2 beside 2
            numbers, words = numbers | said, []
        if numbers and words:
            held = f"{format_list(sorted(set(numbers.values())))} and {format_list([repr(word[:60]) for word in words])}"
            expected = f"either numbers or words as labels in {self.cells[words[0]].where}"
            raise self.refused(expected, words, f"it holds both: {held}")
        if numbers:
            low = self.first or 0
            beyond = next(
                (text for text, number in numbers.items() if not low <= number < MAX_CLASSES), None
            )
            if beyond is not None:
                cell = self.cells[beyond]
                expected = (
                    f"Expected numbers of classes from {low} to {MAX_CLASSES - 1:,} in {cell.where}"
                )
                raise ValueError(f"{expected}, but {self.held(cell)}{_remedy(self.remedy)}.")
            shown = tuple(str(number) for number in range(low, max(numbers.values()) + 1))
            reason = "the labels say it" if said else ""
            return (
                {text: number - low for text, number in numbers.items()},
                shown,
                BY_NUMBER,
                reason,
            )
        parts_of = {word: {*LABEL_SEPARATOR.split(word)} for word in words}
        met = Counter(part for parts in parts_of.values() for part in parts)
        spellings: dict[str, list[str]] = {}
        for word, parts in parts_of.items():
            spellings.setdefault(fold_name(word), []).append(word)
            if len(parts) > 1 and all(
                met[part] > 1 for part in parts
            ):  # "joy;fear" beside "joy" and "fear;anger"
                expected = f"one label per row in {self.cells[word].where}"
                raise self.refused(expected, [word], f"{_shown(word)} lists others")
        if spellings and spellings.keys() <= _BOOLEANS:
            shown = tuple(sorted(spellings))
            return {word: shown.index(fold_name(word)) for word in words}, shown, BY_NAME, ""
        twice = next((group for group in spellings.values() if len(group) > 1), None)
        if twice is not None:
            expected = "that differ by more than letter case, spaces and hyphens"
            raise ValueError(
                f"Expected labels in {self.cells[twice[1]].where} {expected}, but got "
                f"{' and '.join(repr(word[:60]) for word in twice)}{_remedy(self.remedy)}."
            )
        if len(words) > MAX_CLASSES:
            raise ValueError(
                f"Expected at most {MAX_CLASSES:,} classes in {self.where}, but it holds {len(words):,} different "
                f"labels, such as {_shown(words[0])}{_remedy(self.remedy)}."
            )
        shown = tuple(sorted(words))
        return {word: number for number, word in enumerate(shown)}, shown, BY_NAME, ""

    def among(self, known: tuple[str, ...]) -> _Found:
        """Find labels among known names."""
        numbers = {
            text: cell.number for text, cell in self.cells.items() if cell.number is not None
        }
        # "1.0" and 1 are the name "1", unless "1.0" is a name itself.
        spelled = {
            text: text if text in known else str(numbers.get(text, text)) for text in self.cells
        }
        spellings = list(dict.fromkeys(spelled.values()))
        by_name = _by_name(spellings, known)
        if by_name is not None:
            index, key, how = by_name
            return {text: index[key(name)] for text, name in spelled.items()}, known, how, ""
        words, targets = (
            [text for text in self.cells if text not in numbers],
            parse_label_numbers(known),
        )
        said = {**numbers, **_parse_mixed_words_and_numbers(words, numbers)}
        if (
            words and targets and len(said) == len(self.cells) and {*said.values()} <= {*targets}
        ):  # yes, no beside 1, 0
            return (
                {text: targets.index(number) for text, number in said.items()},
                known,
                BY_NUMBER,
                "the labels say it",
            )
        if words:
            strange = [text for text in self.cells if _by_name([spelled[text]], known) is None]
            cell = self.cells[[*strange, *self.cells][0]]
            held = (
                self.held(cell) if strange else "two of these differ by letter case or spaces only"
            )
            expected = f"the labels {format_list(known)} in {cell.where}"
            hint = suggest_similar_names(cell.text, known) if strange else ""
            raise self.refused(
                expected, strange, f"the labels are {format_list(spellings)} and {held}", hint
            )
        used = set(numbers.values())
        start = find_first_number(used, len(known), self.first)
        if start is None and max(used) <= len(known):
            doubt = describe_ambiguous_offset(used, len(known), self.remedy)
            raise ValueError(
                f"Expected labels in {self.where} that are beyond doubt numbers of the classes {format_list(known)}, but "
                f"they are {format_list(sorted(used))}{doubt}."
            )
        low = start or 0
        odd = next(
            (text for text, number in numbers.items() if not 0 <= number - low < len(known)), None
        )
        if odd is not None:
            span = f"from {low} to {len(known) - 1 + low} ({format_list(known)})"
            cell = self.cells[odd]
            raise ValueError(
                f"Expected labels {span} in {cell.where}, but {self.held(cell)}{_remedy(self.remedy)}."
            )
        reason = "the labels count from 1" if low else ""
        return {text: number - low for text, number in numbers.items()}, known, BY_NUMBER, reason

    def among_headings(self, known: tuple[str, ...]) -> _Found:
        """Find labels among names of columns: numbers only where these say numbers."""
        numbers = {
            text: cell.number for text, cell in self.cells.items() if cell.number is not None
        }
        by_name = self.first is None and _by_name(list(self.cells), known) is not None
        if not numbers or len(numbers) < len(self.cells) or by_name:
            return self.among(known)
        said = parse_label_numbers(known) or []
        shift = 0 if not said or self.first is None else min(said) - self.first
        if not {number + shift for number in numbers.values()} <= {*said}:
            raise OptionError(
                f"Expected labels in words in {self.where}, as the columns of scores are {format_list(known)}, but they "
                f"are {format_list(sorted({*numbers.values()}))}: the order of columns says nothing; `label_names` gives "
                "the names in the order of the numbers.",
                option="label_names",
            )
        ids = {text: said.index(number + shift) for text, number in numbers.items()}
        return ids, known, BY_NUMBER, "the names of the columns say it"


def _remedy(remedy: str) -> str:
    return f": {remedy}" if remedy else ""


def _shown(value: Any) -> str:
    """Show a value in a sentence, however long it is."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"a number of {value.bit_length():,} bits"
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= 60 else f"{text[:60]}…"
    return repr(text) if isinstance(value, str) else text
