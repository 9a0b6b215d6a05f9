"""Which columns of a table of predictions may be the labels, the answers, the scores, the confidence.

Options decide, then headings, of which usual_headings.json has the usual ones. `find_named_roles` returns every column
that may have a role; `prediction_proposals` adds what the cells alone propose, and `predictions` reads the values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rightreasons.core.options import parse_names
from rightreasons.io.columns import Columns
from rightreasons.io.headings import LABEL_HEADINGS, list_role_columns, make_heading_key
from rightreasons.io.options import PredictionOptions
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
}
"""Role -> the options that name its columns; answers are compared by an expression."""


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
        answer_candidates: Columns of which each may be the answers of a system, if no single one can be taken.
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
    answer_candidates: tuple[str, ...] = ()
    objects: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_scored(self) -> bool:
        """Whether there are scores."""
        return bool(self.scores) or self.options.score_columns is not None

    @property
    def doubts(self) -> list[str]:
        """A sentence about each role that only the cells of columns suggest, with the option that names it."""
        sentences = []
        for role in self.proposals:
            options = OPTIONS_BY_ROLE[role.name]
            sentences.append(describe_proposal(role.name, role, *options))
        return sentences

    def is_proposed(self, name: str) -> bool:
        """Return whether only the cells of a column propose that it is one of answers, labels, …."""
        return any(name in role.name for role in self.proposals)

    def add_proposal(self, role: Role, **changes: Any) -> PredictionRoles:
        """Return the roles with one that only the cells of columns propose."""
        return dataclasses.replace(self, proposals=(*self.proposals, role), **changes)

    def list_unused(self) -> list[str]:
        """Return the columns that have no role, in the order of the table."""
        used = {*self.labels, *self.answers, *self.confident, *self.correct}
        for scores in self.scores:
            used.update(scores.columns)
        return [name for name in self.columns if name not in used]

    def describe(self, columns_by_role: Mapping[str, tuple[str, ...]]) -> tuple[Role, ...]:
        """Return the roles of the columns that were read, with the reasons."""
        roles = []
        for name, columns in columns_by_role.items():
            roles.append(self._describe_role(name, columns))
        return tuple(roles)

    def _describe_role(self, name: str, columns: tuple[str, ...]) -> Role:
        """Return a role with the reason why its columns have it.

        Args:
            name: The name of the role.
            columns: The columns that were read for it.
        """
        # A column of one class was made from a column of objects, which the user knows.
        original_columns = [self.objects.get(column, column) for column in columns]
        sources = tuple(dict.fromkeys(original_columns))
        for role in self.proposals:
            # Correctness is read from two columns, of which only one may have been proposed.
            if set(role.columns) <= set(sources):
                return dataclasses.replace(role, name=name, columns=sources)
        if sources[0] in self._list_named():
            return Role(name, sources, "option", "named by an option")
        # Roles that neither the cells nor an option decide come from headings.
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
    """Find which columns may be labels, answers, scores or a confidence, by options and headings.

    Args:
        columns: Column by name.
        source_name: The name of the table, for errors.
        options: Options that name columns.

    Returns:
        All candidates for each role. Columns of objects by class are replaced by a column per class.
    """
    columns, options = spread_class_objects(columns, options)
    answers = _list_answer_columns(columns)
    correct = list_role_columns(columns, "correct", options.correct_column)
    labels = list_role_columns(columns, "label", options.label_column)
    label_headings = labels
    # Items have further headings for labels, such as "class", which count if nothing else can be
    # compared with the predictions.
    if not labels and not correct:
        label_headings = [name for name in columns if make_heading_key(name) in LABEL_HEADINGS]

    unused = dict(columns)
    for name in (*label_headings, *answers):
        unused.pop(name, None)
    scores = list_score_columns(unused)
    # Columns whose headings are the labels ("good", "bad") are scores if they add up to 1.
    label_columns: Columns = {}
    if not scores and len(label_headings) == 1 and label_headings[0] in columns:
        label_columns = find_label_columns(unused, columns[label_headings[0]])
        scores = list_score_columns(label_columns)
    # Scores need labels, so that the headings of items count for these as well.
    if scores or options.score_columns:
        labels = label_headings
    return PredictionRoles(
        columns=columns,
        source_name=source_name,
        options=options,
        labels=labels,
        label_headings=label_headings,
        answers=answers,
        confident=list_role_columns(columns, "confidence", options.confidence_column),
        correct=correct,
        scores=scores,
        label_columns=label_columns,
    )


def _list_answer_columns(columns: Columns) -> list[str]:
    """Return the columns that may be a model's answers by their headings.

    A column "predictions" counts if it holds answers, because scores have this heading as well. Next
    to another column of answers, one that holds fractions is the confidence in them.
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
    # If none holds answers, the error about them names all of them.
    return answer_names or names
