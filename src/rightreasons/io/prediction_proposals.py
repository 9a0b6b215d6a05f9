"""Roles of columns of predictions that are chosen by their cells, because no heading identifies them.

`find_prediction_roles` finds roles by options and headings, and adds those for which only one column, or one pair of
columns, has suitable cells: numbers that add up to 1 are scores, and two columns with the same classes that often agree
are labels and answers. Which of the two is which does not change the accuracy. Warnings report the choice.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.core.labels.names import fold_name
from rightreasons.io.cells import parse_cell, parse_list, parse_numbers
from rightreasons.io.columns import Columns
from rightreasons.io.contents import Content, Contents, describe_contents
from rightreasons.io.headings import LABEL_HEADINGS, is_first_row, list_ending_columns
from rightreasons.io.label_columns import select_single_labels
from rightreasons.io.options import PredictionOptions
from rightreasons.io.prediction_roles import PredictionRoles, find_named_roles
from rightreasons.io.proposals.agreement import (
    MIN_KAPPA,
    find_agreeing_columns,
    find_complementary_columns,
    have_same_values,
    measure_agreement,
)
from rightreasons.io.proposals.nested_fields import spread_single_fields
from rightreasons.io.proposals.relations import begins_with_class
from rightreasons.io.roles import Role
from rightreasons.io.scores.class_headings import find_label_in_heading, list_words, match_headings
from rightreasons.io.scores.score_columns import ScoreColumns, spread_objects

MIN_PURITY = 0.98
"""Minimum share of rows in which the class with the largest score determines the value of a column of answers."""

MIN_ROWS_OF_ANSWER = 5
"""Minimum number of rows with each of two answers, from which the probability of one is recognized."""


@dataclasses.dataclass(frozen=True)
class ClassProbability:
    """A column with the probability of one of two answers.

    Attributes:
        column: Name of the column, whose numbers are from 0 to 1.
        answer: The answer in the rows in which the number is above 0.5.
    """

    column: str
    answer: str


def find_prediction_roles(
    columns: Columns, source_name: str, options: PredictionOptions
) -> PredictionRoles:
    """Find which columns of a table hold labels, answers, scores or a confidence.

    Options and headings decide first. For other roles, columns are chosen by their cells.

    Args:
        columns: Columns by their names.
        source_name: Name of the table, for error messages.
        options: Options that name columns.

    Returns:
        The roles, with those that were chosen by cells as `proposals`. A field of objects that has a role,
        such as "output.label", becomes a column of the result.

    Example:
        >>> columns = {"正解": ["良", "悪", "良", "悪"] * 25, "予測": ["良", "悪", "良", "良"] * 25}
        >>> roles = find_prediction_roles(columns, "eval.csv", PredictionOptions())
        >>> roles.labels, roles.answers
        (['正解'], ['予測'])
    """
    roles = find_named_roles(columns, source_name, options)
    # The file has no headings, and an error will report that. No columns are chosen by their cells.
    if is_first_row(list(roles.columns)):
        return roles
    fields = spread_single_fields(roles.columns)
    columns = {**roles.columns, **fields}
    label = options.label_column
    # The column that the user names as labels may contain votes of several people, which are counted here.
    # A missing column is reported by the reader of the items or predictions.
    if label in columns and not roles.is_scored:
        location = f"the column {label!r} of {source_name}"
        columns[label] = select_single_labels(columns[label], location)
    proposed = propose_roles(dataclasses.replace(roles, columns=columns))
    return _drop_unused_fields(proposed, fields)


def propose_roles(roles: PredictionRoles) -> PredictionRoles:
    """Choose columns by their cells for roles that no heading or option identifies.

    A column is chosen if it is the only one whose cells fit. Scores come first, because they show which
    columns are answers. A confidence is only searched for if there are answers.

    Args:
        roles: The roles by headings and options.

    Returns:
        The roles with the chosen columns as `proposals`; unchanged if no column fits.
    """
    contents = describe_contents(roles.columns)
    if not roles.is_scored and not roles.confidences and not roles.correct:
        roles = _propose_scores(roles, contents)
    # The columns that replaced objects of scores have no summaries yet.
    if roles.objects:
        contents = describe_contents(roles.columns)
    if roles.confidences and not roles.correct and not roles.answers and not roles.labels:
        roles = _propose_correctness(roles, contents)
    # With a column of correctness, labels and answers are not needed.
    if not roles.correct:
        roles = _propose_compared_columns(roles, contents)
    is_graded = bool(roles.correct) or len(roles.labels) == 1
    has_numbers = roles.is_scored or bool(roles.confidences)
    if roles.answers and is_graded and not has_numbers:
        roles = _propose_class_probability(roles, contents)
        if not roles.is_scored:
            roles = _propose_confidence(roles, contents)
    return roles


def _propose_correctness(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the only column of true and false, or of 1 and 0, as the correctness of answers.

    Next to a confidence without answers, such a column can have no other role.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the correctness added; unchanged if no column fits, or if several do.
    """
    flags = []
    for name in roles.list_unused():
        numbers = contents[name].numbers
        has_flags = numbers is not None and set(numbers) == {0, 1}
        if has_flags or contents[name].kind == "flag":
            flags.append(name)
    if len(flags) != 1:
        return roles
    reason = "the only column of true and false, or of 1 and 0"
    return roles.add_proposal(Role("correctness", (flags[0],), "content", reason), correct=flags)


def _propose_compared_columns(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the labels, the answers, or both by their cells.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        contents: Column -> the summary of its cells.

    Returns:
        The roles, with at most one more proposal; unchanged if no columns fit.
    """
    has_predictions = roles.is_scored or bool(roles.answers) or bool(roles.confidences)
    if has_predictions and not roles.labels:
        roles = _propose_labels(roles, contents)
    # A pair is chosen if neither column is known; otherwise only the answers are.
    if not roles.label_headings and not roles.answers and not roles.is_scored:
        roles = _propose_labels_and_answers(roles, contents)
    if not roles.answers and not roles.is_scored:
        roles = _propose_answers(roles, contents)
    return roles


# ---------------------------------------------------------------------------------- scores


def _propose_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the columns whose numbers add up to 1 in every row as the scores of the classes.

    These may be neighboring columns of numbers, or one column of lists or objects. If there are none,
    columns of numbers with the labels in their headings are chosen.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the scores added; unchanged if two sets of columns fit.
    """
    # A column with a heading of labels, such as "class", cannot be scores.
    names = [name for name in roles.columns if name not in roles.label_headings]
    # Groups of columns that add up to 1, such as [("good", "bad")].
    groups = find_complementary_columns(contents, names)
    # Columns whose single cells add up to 1, such as [0.9, 0.1].
    list_columns = [name for name in names if contents[name].has_shares]

    n_candidates = len(groups) + len(list_columns)
    if n_candidates == 0:
        return _propose_named_scores(roles, contents)
    # The table may have the scores of two models, of which neither is preferred.
    if n_candidates > 1:
        return roles
    if list_columns:
        return _propose_shares(roles, list_columns[0])
    columns = groups[0]
    kind = "probabilities"
    reason = "they add up to 1 in every row"
    if contents[columns[0]].has_log_fractions:
        kind = "log_probabilities"
        reason = "e to their power adds up to 1 in every row"
    role = Role("scores", columns, "content", reason)
    scores = ScoreColumns(columns, kind)
    # Scores need labels, so that headings of items are used for them as well.
    proposed = roles.add_proposal(role, scores=[scores], labels=roles.label_headings)
    return _name_scores(proposed, contents)


def _propose_named_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose columns of numbers as scores if their headings contain every value of a column of classes.

    For example, "logit yes" and "logit no" are scores next to a column of "yes" and "no". It is not known
    whether the numbers are probabilities or logits (the kind is None), so the reader asks the user.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the scores added; unchanged if no columns fit, or if two columns of classes lead to
        different scores.
    """
    proposals: list[tuple[str, dict[str, str]]] = []
    for label_column in contents.list_classes(roles.columns):
        # Classes that are numbers may occur in headings by accident.
        if contents[label_column].kind != "text":
            continue
        column_by_label = _find_score_column_by_label(roles, contents, label_column)
        if column_by_label:
            proposals.append((label_column, column_by_label))
    if not proposals:
        return roles
    label_column, column_by_label = proposals[0]
    # Labels and answers have the same values, which lead to the same columns of scores.
    for _, other_columns in proposals:
        if other_columns != column_by_label:
            return roles
    columns = tuple(column_by_label.values())
    scores = ScoreColumns(columns, None, tuple(column_by_label))
    reason = f"their headings name the values of {label_column!r}"
    role = Role("scores", columns, "content", reason)
    return roles.add_proposal(role, scores=[scores], labels=roles.label_headings)


def _find_score_column_by_label(
    roles: PredictionRoles, contents: Contents, label_column: str
) -> dict[str, str]:
    """Return the column of scores whose heading contains each label.

    Args:
        roles: The roles found so far (for each role, the columns that may have it), with all columns.
        contents: Column -> the summary of its cells.
        label_column: The column of labels.

    Returns:
        Label -> column of scores, such as {"yes": "logit yes", "no": "logit no"}. If a label has no column,
        an empty mapping.
    """
    cells = contents.get_cells(label_column)
    label_by_word = list_words(cell for cell in cells if cell)
    column_by_label: dict[str, str] = {}
    for column in roles.columns:
        label = find_label_in_heading(column, label_by_word)
        if label and _has_scores(contents[column]):
            column_by_label.setdefault(label, column)
    if len(column_by_label) < len(label_by_word):
        return {}
    return column_by_label


def _has_scores(content: Content) -> bool:
    """Return whether a column has a number in every row, and not only integers, which are counts."""
    if content.numbers is None or np.isnan(content.numbers).any():
        return False
    is_whole = content.numbers % 1 == 0
    return not is_whole.all()


def _propose_shares(roles: PredictionRoles, name: str) -> PredictionRoles:
    """Choose a column of lists, or of objects by class, as the scores.

    Objects such as {"up": 0.7, "down": 0.3} are replaced by one column per class, "p_up" and "p_down".

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        name: The column, whose numbers add up to 1 in every row.

    Returns:
        The roles with the scores added, and with the parsed lists or the new columns in `columns`.
    """
    role = Role("scores", (name,), "content", "its numbers add up to 1 in every row")
    cells = [parse_cell(cell) for cell in roles.columns[name]]
    column_by_class = spread_objects(cells, "probabilities")
    if not column_by_class:
        lists = list(map(parse_list, cells))
        return roles.add_proposal(
            role,
            columns={**roles.columns, name: lists},
            scores=[ScoreColumns((name,), "probabilities")],
            labels=roles.label_headings,
        )
    # The fields of the objects ("name.up") are dropped, because they equal the new columns.
    columns: dict[str, Any] = {}
    for heading, column in roles.columns.items():
        if heading != name and not heading.startswith(f"{name}."):
            columns[heading] = column
    columns.update(column_by_class)
    headings = tuple(column_by_class)
    classes = tuple(heading.removeprefix("p_") for heading in headings)
    return roles.add_proposal(
        role,
        columns=columns,
        scores=[ScoreColumns(headings, "probabilities", classes)],
        labels=roles.label_headings,
        objects=dict.fromkeys(headings, name),
    )


def _name_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Find the class of each column of scores, by the headings or else by a column of answers.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the `class_names` of the scores; unchanged if the classes remain unknown.
    """
    if len(roles.labels) != 1 or len(roles.scores) != 1:
        return roles
    scores = roles.scores[0]
    if scores.class_names is not None or len(scores.columns) < 2:
        return roles
    label_by_word = list_words(roles.columns[roles.labels[0]])
    classes = match_headings(scores.columns, label_by_word)
    if classes is None:
        classes = _name_by_answers(roles, contents, label_by_word)
    if classes is None:
        return roles
    named_scores = dataclasses.replace(scores, class_names=classes)
    return dataclasses.replace(roles, scores=[named_scores])


def _name_by_answers(
    roles: PredictionRoles, contents: Contents, label_by_word: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the class of each column of scores: the most frequent answer in rows where its score is largest.

    Args:
        roles: The roles found so far (for each role, the columns that may have it), with one group of K
            columns of scores.
        contents: Column -> the summary of its cells.
        label_by_word: Folded spelling of a label -> the label, such as {"yes": "Yes"}.

    Returns:
        K labels. None if there is no column of answers, or if its answers lead to equal labels.
    """
    score_table = _read_numbers(roles.scores[0], contents)
    if score_table is None:
        return None
    n_classes = score_table.shape[1]
    predicted = score_table.argmax(axis=1).tolist()
    candidates = contents.list_classes(roles.list_unused())
    for name in _find_predicted_columns(roles, candidates, contents):
        # Counts of the answers in the rows in which each score is the largest.
        counts_by_class: list[Counter[str]] = [Counter() for _ in range(n_classes)]
        for class_number, cell in zip(predicted, contents.get_cells(name), strict=True):
            answer = label_by_word.get(fold_name(str(cell)), "")
            counts_by_class[class_number][answer] += 1
        classes = []
        for counts in counts_by_class:
            # `most_common(1)` is empty for a score that is never the largest.
            for answer, _ in counts.most_common(1):
                classes.append(answer)
        if all(classes) and len(set(classes)) == n_classes:
            return tuple(classes)
    return None


def _find_predicted_columns(
    roles: PredictionRoles, candidates: Sequence[str], contents: Contents
) -> list[str]:
    """Return the columns whose values are determined by the largest score, so that they are answers.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
            Without exactly one group of scores, the result is empty.
        candidates: Columns of classes.
        contents: Column -> the summary of its cells.
    """
    if len(roles.scores) != 1:
        return []
    score_table = _read_numbers(roles.scores[0], contents)
    if score_table is None:
        return []
    predicted = score_table.argmax(axis=1).tolist()
    columns = []
    for name in candidates:
        if _measure_purity(predicted, contents.get_cells(name)) >= MIN_PURITY:
            columns.append(name)
    return columns


def _read_numbers(scores: ScoreColumns, contents: Contents) -> np.ndarray[Any, Any] | None:
    """Return (n, K) the scores of K classes in a sample of n rows.

    Args:
        scores: The columns: one per class, or a single one of lists.
        contents: Column -> the summary of its cells.

    Returns:
        The scores; None if they are in a single column, or if a cell is not a number.
    """
    columns = []
    for name in scores.columns:
        numbers = contents[name].numbers
        if numbers is None:
            return None
        columns.append(numbers)
    if len(columns) < 2:
        return None
    return np.column_stack(columns)


def _measure_purity(groups: Sequence[Any], cells: Sequence[Any]) -> float:
    """Return the share of rows whose value is the most frequent one of their group.

    A share of 1.0 means that the group determines the value.

    Args:
        groups: (n,) groups of the rows, such as their predicted classes.
        cells: (n,) values of the rows.
    """
    counts_by_group: dict[Any, Counter[Any]] = {}
    for group, cell in zip(groups, cells, strict=True):
        counts = counts_by_group.setdefault(group, Counter())
        counts[cell] += 1
    n_frequent = 0
    for counts in counts_by_group.values():
        n_frequent += max(counts.values())
    # A table without rows would lead to a division by zero.
    return n_frequent / max(1, len(cells))


# ------------------------------------------------------------------------ labels and answers


def _propose_labels(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the only unused column of classes that may be the labels of scores or answers.

    Args:
        roles: The roles found so far (for each role, the columns that may have it), with scores, answers
            or a confidence.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the labels added; unchanged if no column fits, or if several do.
    """
    candidates = contents.list_classes(roles.list_unused())
    if roles.answers:
        candidates = _list_similar_columns(contents, candidates, roles.answers[0])
    if len(candidates) > 1:
        candidates = _drop_predicted_columns(roles, contents, candidates)
    # Of several columns, one may have a heading such as "airline_sentiment_gold".
    if len(candidates) > 1:
        candidates = list_ending_columns(candidates, LABEL_HEADINGS)
    if len(candidates) != 1:
        return roles
    column = candidates[0]
    reason = f"its {contents[column].n_values} values repeat as labels do"
    if roles.answers:
        reason = f"it holds the values of {roles.answers[0]!r}"
    role = Role("labels", (column,), "content", reason)
    return _name_scores(roles.add_proposal(role, labels=[column]), contents)


def _list_similar_columns(contents: Contents, candidates: Sequence[str], name: str) -> list[str]:
    """Select the candidates that have the same values as a column; see `have_same_values`.

    Args:
        contents: Column -> the summary of its cells.
        candidates: The columns to select from.
        name: The column to compare with.
    """
    cells = contents.get_cells(name)
    columns = []
    for candidate in candidates:
        if have_same_values(contents.get_cells(candidate), cells):
            columns.append(candidate)
    return columns


def _drop_predicted_columns(
    roles: PredictionRoles, contents: Contents, candidates: Sequence[str]
) -> list[str]:
    """Remove the columns that the largest score determines, which are answers, from candidates for labels.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        contents: Column -> the summary of its cells.
        candidates: Columns of classes that may be the labels.

    Returns:
        The remaining candidates, or only the one that has the same values as these answers. If all
        candidates are determined, they may be correct answers as well as labels, and all remain.
    """
    predicted_columns = _find_predicted_columns(roles, candidates, contents)
    remaining = [name for name in candidates if name not in predicted_columns]
    # If all predictions are correct, the scores determine the labels as well.
    if not remaining:
        remaining = list(candidates)
    for name in predicted_columns:
        similar = _list_similar_columns(contents, remaining, name)
        if len(similar) == 1:
            remaining = similar
    return remaining


def _propose_labels_and_answers(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the only two columns that have the same classes and agree more often than by chance.

    The first column is used as the labels, unless a probability shows that it is the answers. Otherwise
    the accuracy is the same if it is the answers.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with labels and answers added. If several pairs fit, or if the pair agrees too rarely,
        their columns become `answer_candidates`, and an error asks the user.
    """
    pairs = _list_answer_pairs(roles, contents)
    if not pairs:
        return roles
    # The columns may be those of several raters or systems, which have the same kind of cells.
    if len(pairs) > 1:
        names = dict.fromkeys(itertools.chain.from_iterable(pairs))
        return dataclasses.replace(roles, answer_candidates=tuple(names))
    label, answer = pairs[0]
    unused = roles.list_unused()
    # Only answers follow from a probability without exceptions.
    if _find_class_probability(contents, unused, label) is not None:
        label, answer = answer, label
    min_kappa = MIN_KAPPA
    # A column of free texts that begin with one of the two shows that a model wrote it.
    if _has_texts_with_class(contents, (label, answer)):
        min_kappa = 0.0
    share = measure_agreement(contents.get_cells(label), contents.get_cells(answer), min_kappa)
    # The answers of a poor system may agree with the labels no more often than by chance.
    if share is None:
        return dataclasses.replace(roles, answer_candidates=(label, answer))
    reason = (
        f"they hold the same values and agree in {share:.0%} of the rows; which is which does not "
        "change the accuracy"
    )
    role = Role("labels and answers", (label, answer), "content", reason)
    return roles.add_proposal(role, labels=[label], label_headings=[label], answers=[answer])


def _list_answer_pairs(roles: PredictionRoles, contents: Contents) -> list[tuple[str, str]]:
    """Return the pairs of unused columns of classes that have the same values, in the order of the table.

    Args:
        roles: The roles found so far; columns without a role are considered.
        contents: Column -> the summary of its cells.
    """
    candidates = []
    for name in contents.list_classes(roles.list_unused()):
        # Any two columns of flags have the same values, 0 and 1.
        if contents[name].kind == "text" or contents[name].n_values > 2:
            candidates.append(name)
    pairs = []
    for label, answer in itertools.combinations(candidates, 2):
        if have_same_values(contents.get_cells(label), contents.get_cells(answer)):
            pairs.append((label, answer))
    return _drop_repeated_fields(pairs, contents)


def _drop_repeated_fields(
    pairs: Sequence[tuple[str, str]], contents: Contents
) -> list[tuple[str, str]]:
    """Drop the pairs with a field of objects whose cells are a copy of another column.

    Some tools export labels twice, for example as "label" and as "test.label".

    Args:
        pairs: Pairs of columns.
        contents: Column -> the summary of its cells.
    """
    names = dict.fromkeys(itertools.chain.from_iterable(pairs))
    repeated = set()
    for name, copy in itertools.combinations(names, 2):
        is_field = "." in copy and contents.get_cells(name) == contents.get_cells(copy)
        if is_field and name not in repeated:
            repeated.add(copy)
    return [pair for pair in pairs if repeated.isdisjoint(pair)]


def _has_texts_with_class(contents: Contents, names: Sequence[str]) -> bool:
    """Return whether the texts of any column begin with the class in one of the named columns.

    For example, a model may have written "Yes, because it rains", from which the class "yes" was read.

    Args:
        contents: Column -> the summary of its cells.
        names: Columns of classes.
    """
    for text_column in contents.list_texts(contents):
        texts = contents.get_cells(text_column)
        for name in names:
            if begins_with_class(texts, contents.get_cells(name)):
                return True
    return False


def _propose_answers(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the only unused column with the values of the labels as the answers.

    Args:
        roles: The roles found so far: for each role, such as `answers`, the columns that may have it.
            They are returned unchanged unless there is one column of labels.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the answers added. If several columns fit, they become `answer_candidates`.
    """
    labels = roles.labels or roles.label_headings
    if len(labels) != 1 or labels[0] not in contents:
        return roles
    label = labels[0]
    unused = roles.list_unused()
    # A confidence shows that the table has answers. Without one, a column may have the values of the
    # labels by accident, so that it also has to agree with them.
    if roles.confidences:
        candidates = _list_similar_columns(contents, contents.list_classes(unused), label)
    else:
        candidates = find_agreeing_columns(contents, label, unused)
    # Several columns may be the answers of several systems.
    if len(candidates) != 1:
        return dataclasses.replace(roles, answer_candidates=tuple(candidates))
    role = Role("answers", (candidates[0],), "content", f"it holds the values of {label!r}")
    return roles.add_proposal(role, answers=candidates, labels=labels)


def _propose_class_probability(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the only column of fractions above 0.5 in the rows of one of two answers as its probability.

    Args:
        roles: The roles found so far (for each role, the columns that may have it), with answers.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the scores added; unchanged if no column fits, or if several do.
    """
    # Without labels, only the correctness of each answer is known, and not its class.
    if len(roles.labels) != 1:
        return roles
    probability = _find_class_probability(contents, roles.list_unused(), roles.answers[0])
    if probability is None:
        return roles
    reason = f"its fractions are above 0.5 in the rows of {probability.answer!r}"
    role = Role("scores", (probability.column,), "content", reason)
    scores = ScoreColumns((probability.column,), "probabilities", (probability.answer,))
    return roles.add_proposal(role, scores=[scores])


def _find_class_probability(
    contents: Contents, candidates: Sequence[str], answer_column: str
) -> ClassProbability | None:
    """Return the only column whose fractions are above 0.5 exactly in the rows of one of two answers.

    Args:
        contents: Column -> the summary of its cells.
        candidates: The columns that may be the probability of an answer.
        answer_column: The column that may be the answers.

    Returns:
        The column and the answer; None if no column fits, if several do, or if there are not two answers.
    """
    answers = list(map(str, contents.get_cells(answer_column)))
    if len(set(answers)) != 2:
        return None
    matches = []
    for name in candidates:
        content = contents[name]
        if content.numbers is None or not content.has_fractions:
            continue
        # NaN is above no number, so that an empty cell counts as a low probability.
        is_above = content.numbers > 0.5
        answers_above = Counter(itertools.compress(answers, is_above))
        answers_below = Counter(itertools.compress(answers, ~is_above))
        if min(answers_above.total(), answers_below.total()) < MIN_ROWS_OF_ANSWER:
            continue
        # A confidence is above 0.5 in the rows of both answers, and the purity is low.
        answer = answers_above.most_common(1)[0][0]
        is_divided = answer != answers_below.most_common(1)[0][0]
        if is_divided and _measure_purity(is_above.tolist(), answers) >= MIN_PURITY:
            matches.append(ClassProbability(name, answer))
    return matches[0] if len(matches) == 1 else None


def _propose_confidence(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Choose the only column of fractions, or of log-probabilities, as the confidence in the answers.

    Args:
        roles: The roles found so far (for each role, the columns that may have it), with answers.
        contents: Column -> the summary of its cells.

    Returns:
        The roles with the confidence added, and with probabilities instead of log-probabilities in
        `columns`; unchanged if no column fits, or if several do.
    """
    n_classes = 2
    if roles.labels:
        n_classes = contents[roles.labels[0]].n_values
    reason_by_name: dict[str, str] = {}
    for name in roles.list_unused():
        numbers = contents[name].numbers
        if numbers is None or np.isnan(numbers).any():
            continue
        reason = "the only column of fractions from 0 to 1"
        if contents[name].has_log_fractions:
            numbers = np.exp(numbers)
            reason = "e to its power are the only fractions from 0 to 1"
        elif not contents[name].has_fractions:
            continue
        # Most confidences are at least 1 / K for K classes. Costs and error rates are smaller.
        if np.median(numbers) >= 1 / n_classes:
            reason_by_name[name] = reason
    if len(reason_by_name) != 1:
        return roles
    name, reason = reason_by_name.popitem()
    columns = dict(roles.columns)
    if contents[name].has_log_fractions:
        columns[name] = np.exp(parse_numbers(columns[name], name))
    role = Role("confidence", (name,), "content", reason)
    return roles.add_proposal(role, confidences=[name], columns=columns)


# ---------------------------------------------------------------------------------- fields


def _drop_unused_fields(roles: PredictionRoles, fields: Mapping[str, Any]) -> PredictionRoles:
    """Drop the columns of fields of objects, such as "output.label", that have no role.

    Args:
        roles: The roles, with the fields among the columns.
        fields: The fields by their dotted names.
    """
    columns = dict(roles.columns)
    for name in roles.list_unused():
        if name in fields:
            del columns[name]
    return dataclasses.replace(roles, columns=columns)
