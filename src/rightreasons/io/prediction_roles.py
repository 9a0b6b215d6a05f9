"""Which columns of a table of predictions may be the labels, the answers, the scores, the confidence.

Options decide, then headings, of which usual_headings.json has the usual ones. `find_named_roles` returns every column
that may have a role; `prediction_proposals` adds what the cells alone propose, and `predictions` reads the values.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.core.arrays import CLASS_COLUMNS, parse_class_column
from rightreasons.core.labels.names import fold_name
from rightreasons.core.options import parse_names
from rightreasons.core.ordering import LazyArrowColumn, factorize
from rightreasons.io.cells import is_number, parse_cell, parse_numbers
from rightreasons.io.columns import Column, Columns
from rightreasons.io.headings import LABEL_HEADINGS, USUAL_HEADINGS, make_heading_key
from rightreasons.io.options import PredictionOptions
from rightreasons.io.roles import Role, describe_proposal
from rightreasons.io.score_cells import make_pipeline_columns

USUAL: Mapping[str, Any] = USUAL_HEADINGS["predictions"]
"""Usual names of columns by what they hold; those of scores state their kind."""

GIVEN_ANSWERS = frozenset(USUAL["answer"]) - {"answer", "answers"}
"""Those names of answers that are of nothing but a model's: "answer" may be that of an item."""

OPTIONS_BY_ROLE = {
    "labels": ("label_column",),
    "labels and answers": ("label_column", "correct_column"),
    "answers": ("correct_column",),
    "scores": ("score_columns",),
    "confidence": ("confidence_column",),
}
"""Role -> the options that name its columns; answers are compared by an expression."""

SUM_TOLERANCE = 0.02
"""Columns that are named as the labels are scores if their rows miss 1, or 100, by no more than this share."""

# Between a label and the words around it, as in "P(good)" or "good_prob".
_WORD_BORDERS = " _.:-()"


@dataclasses.dataclass(frozen=True)
class ScoreColumns:
    """Columns of scores: one of lists, or of P(class 1), or one per class.

    Attributes:
        columns: The columns, in the order of the classes.
        kind: "probabilities", "logits" or "log_probabilities", as their headings say; None if they do not.
        class_names: The class that each column names; None if they name none.
    """

    columns: tuple[str, ...]
    kind: str | None
    class_names: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class PredictionRoles:
    """What the columns of a table may hold.

    Attributes:
        columns: Column by name, with a column per class in place of objects of scores by class.
        source_name: The name of the table, for errors.
        options: Options that name columns.
        labels: Columns that may be the labels.
        label_headings: Columns that may be the labels if there are scores: items have further names for labels.
        answers: Columns that may be the model's answers.
        confident: Columns that may be the confidence in the answer.
        correct: Columns that may say whether the answer is correct.
        scores: Columns that may be the scores.
        label_columns: Columns of P(label) whose headings are the labels, by headings that say so.
        proposals: Roles that only the cells of columns proposed.
        objects: Column of one class -> the column of objects that it was made from.
    """

    columns: Columns
    source_name: str
    options: PredictionOptions
    labels: list[str]
    label_headings: list[str]
    answers: list[str]
    confident: list[str]
    correct: list[str]
    scores: list[ScoreColumns]
    label_columns: Columns
    proposals: tuple[Role, ...] = ()
    objects: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_scored(self) -> bool:
        """Whether there are scores."""
        return bool(self.scores) or self.options.score_columns is not None

    @property
    def doubts(self) -> list[str]:
        """Sentences about the proposals."""
        return [
            describe_proposal(role.name, role, *OPTIONS_BY_ROLE[role.name])
            for role in self.proposals
        ]

    def is_proposed(self, name: str) -> bool:
        """Return whether only the cells of a column propose that it is one of answers, labels, …."""
        return any(name in role.name for role in self.proposals)

    def add_proposal(self, role: Role, **changes: Any) -> PredictionRoles:
        """Return the roles with one that only the cells of columns propose."""
        return dataclasses.replace(self, proposals=(*self.proposals, role), **changes)

    def list_unused(self) -> list[str]:
        """Return the columns that have no role."""
        used = {*self.labels, *self.answers, *self.confident, *self.correct}
        for scores in self.scores:
            used.update(scores.columns)
        return [name for name in self.columns if name not in used]

    def describe(self, columns_by_role: Mapping[str, tuple[str, ...]]) -> tuple[Role, ...]:
        """Return the roles of the columns that were read, with the reasons."""
        return tuple(
            self._describe_role(name, columns) for name, columns in columns_by_role.items()
        )

    def _describe_role(self, name: str, columns: tuple[str, ...]) -> Role:
        # The columns of the classes are those of the objects that they were made from.
        sources = tuple(dict.fromkeys(self.objects.get(column, column) for column in columns))
        for role in self.proposals:
            # Correctness has two columns, of which one may have been proposed.
            if set(role.columns) <= set(sources):
                return dataclasses.replace(role, name=name, columns=sources)
        if sources[0] in self._list_named():
            return Role(name, sources, "option", "named by an option")
        return Role(name, sources, "heading", "by its heading")

    def _list_named(self) -> list[str | None]:
        """Return the columns that options name."""
        return [
            self.options.label_column,
            self.options.confidence_column,
            self.options.correct_column,
            *(parse_names(self.options.score_columns) or ()),
        ]


def find_named_roles(
    columns: Columns, source_name: str, options: PredictionOptions
) -> PredictionRoles:
    """Find what the columns of a table may hold by options and headings.

    Args:
        columns: Column by name.
        source_name: The name of the table, for errors.
        options: Options that name columns.
    """
    columns, options = spread_class_objects(columns, options)
    answers = list_role_columns(columns, "answer")
    for name in columns:
        # Scores are called "predictions" as well.
        if make_heading_key(name) == "predictions" and are_answers(columns[name]):
            answers.append(name)

    correct = list_role_columns(columns, "correct", options.correct_column)
    labels = list_role_columns(columns, "label", options.label_column)
    label_headings = labels
    if not labels and not correct:
        label_headings = [name for name in columns if make_heading_key(name) in LABEL_HEADINGS]

    unused = {name: columns[name] for name in columns if name not in (*label_headings, *answers)}
    scores = list_score_columns(unused)
    label_columns: Columns = {}
    if not scores and len(label_headings) == 1 and label_headings[0] in columns:
        label_columns = find_label_columns(unused, columns[label_headings[0]])
        scores = list_score_columns(label_columns)
    return PredictionRoles(
        columns=columns,
        source_name=source_name,
        options=options,
        labels=label_headings if scores or options.score_columns else labels,
        label_headings=label_headings,
        answers=answers,
        confident=list_role_columns(columns, "confidence", options.confidence_column),
        correct=correct,
        scores=scores,
        label_columns=label_columns,
    )


def list_role_columns(
    columns: Iterable[str], role: str, option_name: str | None = None
) -> list[str]:
    """Return the column that an option names for a role, or those of its usual headings."""
    if option_name is not None:
        return [option_name]
    return [name for name in columns if make_heading_key(name) in USUAL[role]]


# ---------------------------------------------------------------------------------- scores


def list_score_columns(columns: Columns) -> list[ScoreColumns]:
    """Return what may be the scores by its headings: columns of a usual name, and runs of one per class."""
    candidates = []
    for name in list_role_columns(columns, "scores"):
        # Annotation tools export a column of predictions that no model has filled in.
        if _is_empty(columns[name]):
            continue
        candidates.append(ScoreColumns((name,), USUAL["scores"][make_heading_key(name)]))
    for name in list_role_columns(columns, "confidence"):
        # Lists of confidences are the scores of all classes.
        if _has_lists(columns[name]):
            candidates.append(ScoreColumns((name,), "probabilities"))

    used = {candidate.columns[0] for candidate in candidates}
    names_by_class: dict[str, dict[str, str]] = {}
    for name in columns:
        prefix, class_name = parse_class_column(name)
        if prefix is not None and name not in used:
            names_by_class.setdefault(prefix, {})[class_name] = name
    for prefix, names in names_by_class.items():
        if len(names) > 1:
            kind = CLASS_COLUMNS[prefix]
            candidates.append(ScoreColumns(tuple(names.values()), kind, tuple(names)))
    return candidates


def spread_class_objects(
    columns: Columns, options: PredictionOptions
) -> tuple[Columns, PredictionOptions]:
    """Make a column per class of scores that are an object of them per item, or what a pipeline returned."""
    option_names = parse_names(options.score_columns) or ()
    for name in list(columns):
        key = make_heading_key(name)
        is_meant = name in option_names or key in USUAL["scores"]
        example = parse_cell(columns[name][0])
        if not make_pipeline_columns([example]) and not (is_meant and isinstance(example, dict)):
            continue
        cells = list(map(parse_cell, columns[name]))
        spread = make_pipeline_columns(cells)
        if not spread and is_meant:
            spread = spread_objects(cells, USUAL["scores"].get(key))
        # A column of that name exists: this is not the place to decide which is meant.
        if not spread or spread.keys() & columns.keys():
            continue
        columns = {**columns, **spread}
        del columns[name]
        if name in option_names:
            options = options.replace(score_columns=None)
    return columns, options


def spread_objects(cells: Sequence[Any], kind: str | None) -> dict[str, list[Any]]:
    """Return a column per class of objects of scores by class; {} if a cell is no object.

    Example:
        >>> spread_objects([{"up": 0.75, "down": 0.25}], "probabilities")
        {'p_up': [0.75], 'p_down': [0.25]}
    """
    if not all(isinstance(cell, dict) for cell in cells):
        return {}
    prefixes = [prefix for prefix, stated in CLASS_COLUMNS.items() if stated == kind]
    class_names = dict.fromkeys(itertools.chain(*cells))
    return {f"{prefixes[0]}_{name}": [cell.get(name) for cell in cells] for name in class_names}


def find_label_columns(columns: Columns, labels: Column) -> dict[str, Column]:
    """Return the columns whose headings are the labels as those of P(label), if they add up to 1 or to 100."""
    words = {word: label for word, label in list_words(labels).items() if not is_number(label)}
    names_by_label: dict[str, str] = {}
    for name in columns:
        label = find_label_in_heading(name, words)
        if not label:
            continue
        # Two columns of one label are no scores of classes.
        if label in names_by_label:
            return {}
        names_by_label[label] = name
    if len(names_by_label) < 2:
        return {}
    try:
        sums = sum(parse_numbers(columns[name], name) for name in names_by_label.values())
    except ValueError:
        return {}
    if not any(np.allclose(sums, total, atol=SUM_TOLERANCE * total) for total in (1, 100)):
        return {}
    return {f"p_{label}": columns[name] for label, name in names_by_label.items()}


def _is_empty(column: Column) -> bool:
    """Return whether all cells of a column are empty lists, texts or missing; numbers and arrays are not."""
    if isinstance(column, np.ndarray):
        return False
    return all(cell is None or cell in ([], "", "[]") for cell in iterate_distinct(column))


def _has_lists(column: Column) -> bool:
    """Return whether a column holds lists of numbers."""
    if isinstance(column, np.ndarray) and column.ndim > 1:
        return True
    return isinstance(column[0], list)


# ------------------------------------------------------------------------ words in headings


def iterate_distinct(column: Iterable[Any]) -> Iterable[Any]:
    """Return the distinct values of a column if Arrow or numpy find them quickly; otherwise all of them."""
    is_array = isinstance(column, np.ndarray) and column.dtype != object
    if is_array or isinstance(column, LazyArrowColumn):
        return factorize(column)[1]
    return column


def list_words(labels: Iterable[Any]) -> dict[str, str]:
    """Return the labels that are texts or flags: folded name -> the label as it is written."""
    texts = [label for label in iterate_distinct(labels) if isinstance(label, (str, bool))]
    # Of two spellings, the one that comes later counts.
    return {fold_name(str(label)): str(label).strip() for label in dict.fromkeys(texts)}


def find_label_in_heading(name: str, words: Mapping[str, str]) -> str:
    """Return the label that a heading is, ends in or begins with; "" for none.

    Example:
        >>> find_label_in_heading("P(good)", {"good": "Good"}), find_label_in_heading("goods", {"good": "Good"})
        ('Good', '')
    """
    borders = [position for position, sign in enumerate(name) if sign in _WORD_BORDERS]
    segments = [name]
    segments += [name[position + 1 :].rstrip(")") for position in borders]
    segments += [name[:position] for position in reversed(borders)]
    for segment in map(fold_name, segments):
        if segment in words:
            return words[segment]
    return ""


def match_headings(names: Sequence[str], words: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the label that each heading names, or else contains; None unless these are distinct labels.

    Scripts without spaces have no borders between a label and the words around it.

    Example:
        >>> match_headings(["良いの確率", "悪いの確率"], {"良い": "良い", "悪い": "悪い"})
        ('良い', '悪い')
    """
    classes = tuple(find_label_in_heading(name, words) for name in names)
    if not all(classes):
        classes = tuple(_find_contained_label(name, words) for name in names)
    if not all(classes) or len({*classes}) < len(classes):
        return None
    return classes


def _find_contained_label(name: str, words: Mapping[str, str]) -> str:
    """Return the only label that a heading contains; "" for none or several. Numbers occur by accident."""
    heading = fold_name(name)
    matches = [word for word in words if word in heading and not is_number(word)]
    if not matches:
        return ""
    # "not good" contains "good", so that the longest label counts if it contains all others.
    longest = max(matches, key=len)
    if not all(word in longest for word in matches):
        return ""
    return words[longest]


# --------------------------------------------------------------------------------- answers


def are_answers(column: Column) -> bool:
    """Return whether a column holds whole numbers or plain texts, rather than scores or lists of scores as texts."""
    values = to_typed_values(column)
    if all(isinstance(value, str) for value in values):
        return not any(isinstance(parse_cell(value), list) for value in values)
    return all(is_answer(value) and not isinstance(value, str) for value in values)


def to_typed_values(column: Column) -> list[Any]:
    """Return plain values; the cells of a csv file as numbers if all that are not empty are numbers."""
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if not any(values):
        return values
    for value in values:
        if not isinstance(value, str) or (value and not is_number(value)):
            return values
    return [float(value or "nan") for value in values]


def is_answer(value: Any) -> bool:
    """Return whether a value may be an answer: a text or a whole number."""
    if isinstance(value, (str, int)):
        return True
    return is_number(value) and float(value).is_integer()
