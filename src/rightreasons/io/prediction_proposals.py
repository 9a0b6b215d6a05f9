"""Roles of the columns of predictions that no heading names: their cells propose them, and a warning reports it.

`find_prediction_roles` returns the roles by options and headings, and fills in those for which the cells of a single
column, or of a single pair, fit: numbers that add up to 1 are scores, two columns of one set of classes that agree are
labels and answers. Which of these are the labels does not change the accuracy.
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
"""Share of rows in which the largest score decides a value that is the answer, and not the label."""


def find_prediction_roles(
    columns: Columns, source_name: str, options: PredictionOptions
) -> PredictionRoles:
    """Find which columns of a table hold labels, answers, scores or a confidence.

    Options and headings decide first. Roles that they leave open are proposed by the cells.

    Args:
        columns: Column by name.
        source_name: The name of the table, for errors.
        options: Options that name columns.

    Returns:
        The roles, with `proposals` for those that only the cells suggest. Fields of objects are
        columns of the result ("output.label") if they have a role.

    Example:
        >>> columns = {"正解": ["良", "悪", "良", "悪"] * 25, "予測": ["良", "悪", "良", "良"] * 25}
        >>> roles = find_prediction_roles(columns, "eval.csv", PredictionOptions())
        >>> roles.labels, roles.answers
        (['正解'], ['予測'])
    """
    roles = find_named_roles(columns, source_name, options)
    # The first row of a table without a heading proposes nothing.
    if is_first_row(list(roles.columns)):
        return roles
    fields = spread_single_fields(roles.columns)
    columns = {**roles.columns, **fields}
    label = options.label_column
    # An option that names the labels also allows votes of several people, which are counted here.
    if label is not None and not roles.is_scored:
        location = f"the column {label!r} of {source_name}"
        columns[label] = select_single_labels(columns[label], location)
    proposed = propose_roles(dataclasses.replace(roles, columns=columns))
    return _drop_unused_fields(proposed, fields)


def propose_roles(roles: PredictionRoles) -> PredictionRoles:
    """Fill in the roles that no heading or option names, if the cells of exactly one column fit.

    Scores come first, because they show which columns are answers. A confidence is only looked for
    once answers are known.

    Args:
        roles: The roles by headings and options.

    Returns:
        The roles with the proposals added; unchanged if nothing fits.
    """
    contents = describe_contents(roles.columns)
    if not roles.is_scored and not roles.confident and not roles.correct:
        roles = _propose_scores(roles, contents)
    # Objects of scores were replaced by one column per class, which must be described as well.
    if roles.objects:
        contents = describe_contents(roles.columns)
    # A column that says which answers are correct makes labels and answers unnecessary.
    if not roles.correct:
        roles = _propose_compared_columns(roles, contents)
    is_graded = bool(roles.correct) or len(roles.labels) == 1
    has_numbers = roles.is_scored or bool(roles.confident)
    if roles.answers and is_graded and not has_numbers:
        roles = _propose_confidence(roles, contents)
    return roles


def _propose_compared_columns(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the columns that accuracy compares: the labels, the answers, or both.

    Args:
        roles: The roles found so far.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with at most one proposal for labels and answers.
    """
    has_predictions = roles.is_scored or bool(roles.answers) or bool(roles.confident)
    if has_predictions and not roles.labels:
        roles = _propose_labels(roles, contents)
    # If a heading names the labels, only the answers are missing.
    if not roles.label_headings and not roles.answers and not roles.is_scored:
        roles = _propose_labels_and_answers(roles, contents)
    if not roles.answers and not roles.is_scored:
        roles = _propose_answers(roles, contents)
    return roles


# ---------------------------------------------------------------------------------- scores


def _propose_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the columns whose numbers add up to 1 in every row as the scores of the classes.

    They are neighboring columns with one number each, or one column of lists or objects. Without
    these, headings that name the labels may show the scores.

    Args:
        roles: The roles found so far, which are returned with a proposal added.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with the scores; unchanged if two sets of columns fit.
    """
    # A heading of labels, such as "class", rules out that a column holds scores.
    names = [name for name in roles.columns if name not in roles.label_headings]
    # Groups of columns that add up to 1, such as [("good", "bad")].
    groups = find_complementary_columns(contents, names)
    # Columns whose single cells add up to 1, such as [0.9, 0.1].
    list_columns = [name for name in names if contents[name].has_shares]

    n_candidates = len(groups) + len(list_columns)
    if n_candidates == 0:
        return _propose_named_scores(roles, contents)
    # A table may hold the scores of two models, and nothing says which are meant.
    if n_candidates > 1:
        return roles
    if list_columns:
        return _propose_shares(roles, list_columns[0])
    columns = groups[0]
    role = Role("scores", columns, "content", "they add up to 1 in every row")
    scores = ScoreColumns(columns, "probabilities")
    # Scores are compared with labels, so that less usual headings of labels count from now on.
    proposed = roles.add_proposal(role, scores=[scores], labels=roles.label_headings)
    return _name_scores(proposed, contents)


def _propose_named_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose columns of numbers as scores if their headings name every value of a label column.

    For example, a column of "yes" and "no" next to the columns "logit yes" and "logit no". Whether the
    numbers are probabilities or logits stays open (kind None), and the reader asks for it.

    Args:
        roles: The roles found so far.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with the scores; unchanged if no columns fit, or different ones for two labels.
    """
    proposals: list[tuple[str, dict[str, str]]] = []
    for label_column in contents.list_classes(roles.columns):
        # Numbers occur in headings by accident.
        if contents[label_column].kind != "text":
            continue
        column_by_label = _find_score_column_by_label(roles, contents, label_column)
        if column_by_label:
            proposals.append((label_column, column_by_label))
    if not proposals:
        return roles
    label_column, column_by_label = proposals[0]
    # Labels and answers have the same values, and so the same columns of scores.
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
    """Return the column of scores whose heading names each label.

    Args:
        roles: The roles found so far.
        contents: Summaries of the cells of each column.
        label_column: The column of labels.

    Returns:
        Label -> heading, as in `{"yes": "logit yes", "no": "logit no"}`; {} if a label has no column.
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
    """Return whether a column holds numbers with fractions in every row; whole numbers are counts."""
    if content.numbers is None or np.isnan(content.numbers).any():
        return False
    is_whole = content.numbers % 1 == 0
    return not is_whole.all()


def _propose_shares(roles: PredictionRoles, name: str) -> PredictionRoles:
    """Propose a column of lists, or of objects by class, whose numbers add up to 1, as the scores.

    Objects such as {"up": 0.7, "down": 0.3} are replaced by one column per class, "p_up" and "p_down".

    Args:
        roles: The roles found so far.
        name: The column.

    Returns:
        The roles with the scores, and with columns that hold lists or single numbers.
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
    # The fields of the objects ("name.up") hold the same numbers as the new columns.
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
    """Find which class each proposed column of scores is about, and store the class names.

    The headings name the classes, or else a column of answers does.

    Args:
        roles: The roles found so far.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with `class_names` in the scores; unchanged if the classes stay unknown.
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
    """Name each column of scores by the answer given when its score is the largest.

    Args:
        roles: The roles found so far, with one group of scores.
        contents: Summaries of the cells of each column.
        label_by_word: Folded spelling of a label -> the label, as in `{"yes": "Yes"}`.

    Returns:
        One label per column of scores; None unless some column of answers gives distinct labels.
    """
    score_table = _read_numbers(roles.scores[0], contents)
    if score_table is None:
        return None
    n_classes = score_table.shape[1]
    predicted = score_table.argmax(axis=1).tolist()
    candidates = contents.list_classes(roles.list_unused())
    for name in _find_predicted_columns(roles, candidates, contents):
        counts_by_class: list[Counter[str]] = [Counter() for _ in range(n_classes)]
        for class_number, cell in zip(predicted, contents.get_cells(name), strict=True):
            answer = label_by_word.get(fold_name(str(cell)), "")
            counts_by_class[class_number][answer] += 1
        classes = []
        for counts in counts_by_class:
            # A class that is never predicted has no answers.
            for answer, _ in counts.most_common(1):
                classes.append(answer)
        if all(classes) and len(set(classes)) == n_classes:
            return tuple(classes)
    return None


def _find_predicted_columns(
    roles: PredictionRoles, candidates: Sequence[str], contents: Contents
) -> list[str]:
    """Return the columns of classes that follow from the largest score, and so hold answers, not labels.

    Args:
        roles: The roles found so far.
        candidates: Columns of classes.
        contents: Summaries of the cells of each column.
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
    """Return (n, K) the sampled scores of K columns with one class each; None for other columns.

    Args:
        scores: The columns, of which a single one may hold lists.
        contents: Summaries of the cells of each column.
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
    """Return the share of rows whose cell is the most frequent value of its group.

    1.0 means that the group determines the cell.

    Args:
        groups: The group of each row, such as the predicted class.
        cells: The value of each row.
    """
    counts_by_group: dict[Any, Counter[Any]] = {}
    for group, cell in zip(groups, cells, strict=True):
        counts = counts_by_group.setdefault(group, Counter())
        counts[cell] += 1
    n_frequent = 0
    for counts in counts_by_group.values():
        n_frequent += max(counts.values())
    # Avoid a division by zero for a table without rows.
    return n_frequent / max(1, len(cells))


# ------------------------------------------------------------------------ labels and answers


def _propose_labels(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only unused column of classes that can be the labels of scores or answers.

    Args:
        roles: The roles found so far, with scores, answers or a confidence.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with the labels; unchanged if no column fits, or several.
    """
    candidates = contents.list_classes(roles.list_unused())
    if roles.answers:
        candidates = _list_similar_columns(contents, candidates, roles.answers[0])
    if len(candidates) > 1:
        candidates = _drop_predicted_columns(roles, contents, candidates)
    # A heading such as "airline_sentiment_gold" may settle it.
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
    """Return the candidates that share at least half of their values with a column."""
    cells = contents.get_cells(name)
    columns = []
    for candidate in candidates:
        if have_same_values(contents.get_cells(candidate), cells):
            columns.append(candidate)
    return columns


def _drop_predicted_columns(
    roles: PredictionRoles, contents: Contents, candidates: Sequence[str]
) -> list[str]:
    """Narrow the candidates for labels by what the scores predict.

    Args:
        roles: The roles found so far.
        contents: Summaries of the cells of each column.
        candidates: Columns of classes that may be the labels.

    Returns:
        The candidates without the columns that the largest score determines, which are answers; the
        one with the values of these answers, if there is exactly one.
    """
    predicted_columns = _find_predicted_columns(roles, candidates, contents)
    remaining = [name for name in candidates if name not in predicted_columns]
    # If the scores are always correct, they determine the labels as well.
    if not remaining:
        remaining = list(candidates)
    for name in predicted_columns:
        similar = _list_similar_columns(contents, remaining, name)
        if len(similar) == 1:
            remaining = similar
    return remaining


def _propose_labels_and_answers(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only two columns that share their classes and agree more often than by chance.

    The earlier column becomes the labels; the accuracy is the same either way.

    Args:
        roles: The roles found so far.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with labels and answers. If several pairs fit, or the pair hardly agrees, its columns
        become `answer_candidates`, about which the reader asks.
    """
    pairs = _list_answer_pairs(roles, contents)
    if not pairs:
        return roles
    # Three raters, or two systems, cannot be distinguished by their cells.
    if len(pairs) > 1:
        names = dict.fromkeys(itertools.chain.from_iterable(pairs))
        return dataclasses.replace(roles, answer_candidates=tuple(names))
    label, answer = pairs[0]
    min_kappa = MIN_KAPPA
    # A column of free texts that begin with one of the two shows that a model wrote it.
    if _is_read_from_texts(contents, (label, answer)):
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
    """Return the pairs of unused columns of classes that share their values, in the order of the table."""
    candidates = []
    for name in contents.list_classes(roles.list_unused()):
        # Two flags share their values whatever they mean.
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
    """Drop the pairs with a field of objects that repeats another column.

    Tools may export the label twice, for example as "label" and as "test.label".

    Args:
        pairs: Pairs of columns.
        contents: Summaries of the cells of each column.
    """
    names = dict.fromkeys(itertools.chain.from_iterable(pairs))
    repeated = set()
    for name, copy in itertools.combinations(names, 2):
        is_field = "." in copy and contents.get_cells(name) == contents.get_cells(copy)
        if is_field and name not in repeated:
            repeated.add(copy)
    return [pair for pair in pairs if repeated.isdisjoint(pair)]


def _is_read_from_texts(contents: Contents, names: Sequence[str]) -> bool:
    """Return whether the texts of some column begin with the class in one of the named columns.

    A model's answer "Yes, because it rains" next to the class "yes" is an example.
    """
    for text_column in contents.list_texts(contents):
        texts = contents.get_cells(text_column)
        for name in names:
            if begins_with_class(texts, contents.get_cells(name)):
                return True
    return False


def _propose_answers(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only unused column of classes with the values of the labels as the answers.

    Args:
        roles: The roles found so far, with one column of labels; otherwise nothing is proposed.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with the answers. If several columns fit, they become `answer_candidates`.
    """
    # Items have further headings for labels, such as "class".
    labels = roles.labels or roles.label_headings
    if len(labels) != 1 or labels[0] not in contents:
        return roles
    label = labels[0]
    unused = roles.list_unused()
    # A confidence shows that there are answers. Without one, equal values may be an accident, so
    # that the column also has to agree with the labels.
    if roles.confident:
        candidates = _list_similar_columns(contents, contents.list_classes(unused), label)
    else:
        candidates = find_agreeing_columns(contents, label, unused)
    # A second column may be the answers of another system.
    if len(candidates) != 1:
        return dataclasses.replace(roles, answer_candidates=tuple(candidates))
    role = Role("answers", (candidates[0],), "content", f"it holds the values of {label!r}")
    return roles.add_proposal(role, answers=candidates, labels=labels)


def _propose_confidence(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only column of fractions, or of log-probabilities, as the confidence in the answer.

    Args:
        roles: The roles found so far.
        contents: Summaries of the cells of each column.

    Returns:
        The roles with the confidence, as probabilities; unchanged if no column fits, or several.
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
        # A confidence is mostly above chance; costs and error rates are smaller.
        if np.median(numbers) >= 1 / n_classes:
            reason_by_name[name] = reason
    if len(reason_by_name) != 1:
        return roles
    name, reason = reason_by_name.popitem()
    columns = dict(roles.columns)
    if contents[name].has_log_fractions:
        columns[name] = np.exp(parse_numbers(columns[name], name))
    role = Role("confidence", (name,), "content", reason)
    return roles.add_proposal(role, confident=[name], columns=columns)


# ---------------------------------------------------------------------------------- fields


def _drop_unused_fields(roles: PredictionRoles, fields: Mapping[str, Any]) -> PredictionRoles:
    """Drop the fields of objects ("output.label") that got no role; their objects are columns anyway.

    Args:
        roles: The roles, whose columns include the fields.
        fields: The fields by their dotted names.
    """
    columns = dict(roles.columns)
    for name in roles.list_unused():
        if name in fields:
            del columns[name]
    return dataclasses.replace(roles, columns=columns)
