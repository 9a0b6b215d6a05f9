"""Columns of a table of predictions that may be the labels, the answers, the scores, or the confidence.

Options decide first, then usual headings. `find_named_roles` returns every column that may have a role according to
these; `prediction_proposals` adds columns that are chosen by their cells, and `predictions` reads the values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.options import parse_names
from rightreasons.io.columns import Columns
from rightreasons.io.headings import LABEL_HEADINGS, list_role_columns, make_heading_key
from rightreasons.io.options import PredictionOptions
from rightreasons.io.proposals.nested_fields import spread_single_fields
from rightreasons.io.roles import Role, describe_proposal
from rightreasons.io.scores.score_columns import (
    ScoreColumns,
    find_label_columns,
    list_score_columns,
    spread_class_objects,
)
from rightreasons.io.scores.typed_values import are_answers

OPTIONS_BY_ROLE = {
    "labels": ("label_column",),
    "labels and answers": ("label_column", "correct_column"),
    "answers": ("correct_column",),
    "scores": ("score_columns",),
    "confidence": ("confidence_column",),
    "correctness": ("correct_column",),
}
"""Role -> the options that name its columns. Answers are named in an expression that compares them with labels."""


@dataclasses.dataclass(frozen=True, eq=False)
class PredictionRoles:
    """The columns of a table of predictions that may have each role.

    A role is settled if one column may have it. Several columns are reported by an error.

    Attributes:
        columns: Columns by their names. A column of objects of scores by class is replaced by a column per class.
        source_name: Name of the table, for error messages.
        options: Options that name columns.
        labels: Columns that may be the labels, by headings of predictions such as "gold".
        label_headings: `labels`, or if there are none columns with a heading of items such as "class", which may be the
            labels if there are scores.
        answers: Columns that may be the model's answers.
        confidences: Columns that may be the confidence in the answer.
        correct: Columns that may show whether the answer is correct.
        scores: Columns that may be the scores, in groups of one column per class.
        label_columns: Columns of scores whose headings are the labels themselves, such as "good" and "bad".
        proposals: Roles whose columns were chosen by their cells.
        answer_candidates: Columns that may each be the answers of a system, if no single one was chosen.
        objects: Column of scores of one class -> the column of objects from which it was made.
    """

    columns: Columns
    source_name: str
    options: PredictionOptions
    labels: list[str]
    label_headings: list[str]
    answers: list[str]
    confidences: list[str]
    correct: list[str]
    scores: list[ScoreColumns]
    label_columns: Columns
    proposals: tuple[Role, ...] = ()
    answer_candidates: tuple[str, ...] = ()
    objects: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_scored(self) -> bool:
        """Whether columns may be scores, or an option names some."""
        return bool(self.scores) or self.options.score_columns is not None

    @property
    def doubts(self) -> list[str]:
        """A sentence on each role whose columns were chosen by their cells, with the option that names others."""
        sentences = []
        for role in self.proposals:
            options = OPTIONS_BY_ROLE[role.name]
            sentences.append(describe_proposal(role.name, role, *options))
        return sentences

    def is_proposed(self, name: str) -> bool:
        """Return whether the columns of a role, such as "answers", were chosen by their cells."""
        return any(name in role.name for role in self.proposals)

    def add_proposal(self, role: Role, **changes: Any) -> PredictionRoles:
        """Return the roles with another one whose columns were chosen by their cells.

        Args:
            role: The role.
            **changes: New values of other fields, such as `labels`.
        """
        return dataclasses.replace(self, proposals=(*self.proposals, role), **changes)

    def list_unused(self) -> list[str]:
        """Return the columns that have no role, in the order of the table."""
        used = {*self.labels, *self.answers, *self.confidences, *self.correct}
        for scores in self.scores:
            used.update(scores.columns)
        return [name for name in self.columns if name not in used]

    def describe(self, columns_by_role: Mapping[str, tuple[str, ...]]) -> tuple[Role, ...]:
        """Return the roles of the columns that were read, with the reasons.

        Args:
            columns_by_role: Role, such as "scores" -> the columns that were read.
        """
        roles = []
        for name, columns in columns_by_role.items():
            roles.append(self._describe_role(name, columns))
        return tuple(roles)

    def _describe_role(self, name: str, columns: tuple[str, ...]) -> Role:
        """Return a role with the reason: the cells, an option, or the heading.

        Args:
            name: The name of the role.
            columns: The columns that were read.
        """
        # The user does not know the columns that were made from a column of objects.
        original_columns = [self.objects.get(column, column) for column in columns]
        original_columns = list(dict.fromkeys(original_columns))
        for role in self.proposals:
            # Correctness is read from two columns, of which only one may have been chosen by its cells.
            if set(role.columns) <= set(original_columns):
                return dataclasses.replace(role, name=name, columns=tuple(original_columns))
        named_columns = [
            self.options.label_column,
            self.options.confidence_column,
            self.options.correct_column,
            *(parse_names(self.options.score_columns) or ()),
        ]
        if original_columns[0] in named_columns:
            return Role(name, tuple(original_columns), "option", "named by an option")
        return Role(name, tuple(original_columns), "heading", "by its heading")


def find_named_roles(
    columns: Columns, source_name: str, options: PredictionOptions
) -> PredictionRoles:
    """Find which columns may be labels, answers, scores or a confidence, by options and headings.

    Args:
        columns: Columns by their names.
        source_name: Name of the table, for error messages.
        options: Options that name columns.

    Returns:
        All columns that may have each role. A column of objects of scores by class, such as
        {"up": 0.7, "down": 0.3}, is replaced by a column per class.
    """
    columns, options = spread_class_objects(columns, options)
    columns, answers = _open_answer_objects(columns, _list_answer_columns(columns))
    correct = list_role_columns(columns, "correct", options.correct_column)
    labels = _drop_objects(list_role_columns(columns, "label", options.label_column), columns)
    label_headings = labels
    # Headings such as "class", which are usual for labels of items, are used if there is nothing else
    # with which predictions can be compared.
    if not labels and not correct:
        label_headings = [name for name in columns if make_heading_key(name) in LABEL_HEADINGS]

    unused = dict(columns)
    for name in (*label_headings, *answers):
        unused.pop(name, None)
    scores = list_score_columns(unused)
    # Columns whose headings are the labels, such as "good" and "bad", may be scores as well.
    label_columns: Columns = {}
    if not scores and len(label_headings) == 1 and label_headings[0] in columns:
        label_columns = find_label_columns(unused, columns[label_headings[0]])
        scores = list_score_columns(label_columns)
    # Scores need labels, so that headings of items are used for them as well.
    if scores or options.score_columns:
        labels = label_headings
    return PredictionRoles(
        columns=columns,
        source_name=source_name,
        options=options,
        labels=labels,
        label_headings=label_headings,
        answers=answers,
        confidences=list_role_columns(columns, "confidence", options.confidence_column),
        correct=correct,
        scores=scores,
        label_columns=label_columns,
    )


def _open_answer_objects(columns: Columns, names: Sequence[str]) -> tuple[Columns, list[str]]:
    """Replace answers that are objects by their labels, as in {"label": "up", "score": 0.9}.

    Args:
        columns: Columns by their names.
        names: Columns with headings of answers.

    Returns:
        The columns, with a column for each field that is an answer, such as "prediction.label"; and the
        columns of answers. The other fields of the objects may be chosen by their cells.
    """
    plain_names = _drop_objects(names, columns)
    opened_columns = dict(columns)
    answer_names = list(plain_names)
    for name in names:
        if name in plain_names:
            continue
        fields = spread_single_fields({name: columns[name]})
        for field, cells in fields.items():
            heading = make_heading_key(field.removeprefix(f"{name}."))
            if heading in LABEL_HEADINGS:
                opened_columns[field] = cells
                answer_names.append(field)
    return opened_columns, answer_names


def _drop_objects(names: Sequence[str], columns: Columns) -> list[str]:
    """Return columns without those of objects, whose fields may have the role instead.

    For example, a pipeline of transformers returns objects such as {"label": "up", "score": 0.9}.

    Args:
        names: Columns whose headings have a role.
        columns: Columns by their names.
    """
    kept_names = []
    for name in names:
        cells = columns.get(name)
        # Columns of Arrow that are not lists have no objects.
        is_object = isinstance(cells, list) and any(isinstance(cell, dict) for cell in cells)
        if not is_object:
            kept_names.append(name)
    return kept_names


def _list_answer_columns(columns: Columns) -> list[str]:
    """Return the columns that may be a model's answers according to their headings.

    The heading "predictions" is used for scores as well, so that the column also has to contain answers. If
    several columns have headings of answers, those that do not contain answers are left out.

    Args:
        columns: Columns by their names.
    """
    names = list_role_columns(columns, "answer")
    for name in columns:
        if make_heading_key(name) == "predictions" and are_answers(columns[name]):
            names.append(name)
    if len(names) < 2:
        return names
    answer_names = []
    for name in names:
        if are_answers(columns[name]):
            answer_names.append(name)
    # If no column contains answers, an error will name all of them.
    return answer_names or names
