"""Roles of the columns of predictions that no heading says: their cells propose them, and a line tells so.

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
    """Find what the columns of a table may hold: by options and headings, or else by their cells.

    Args:
        columns: Column by name.
        source_name: The name of the table, for errors.
        options: Options that name columns.

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
    # The votes of several people on a label are known if an option names their column.
    if label is not None and not roles.is_scored:
        location = f"the column {label!r} of {source_name}"
        columns[label] = select_single_labels(columns[label], location)
    proposed = propose_roles(dataclasses.replace(roles, columns=columns))
    return _drop_unused_fields(proposed, fields)


def propose_roles(roles: PredictionRoles) -> PredictionRoles:
    """Fill in the roles that no heading and no option names, if the cells of one column alone fit.

    Args:
        roles: The roles by headings and options.
    """
    contents = describe_contents(roles.columns)
    if not roles.is_scored and not roles.confident and not roles.correct:
        roles = _propose_scores(roles, contents)
    # Objects of scores were replaced by a column per class.
    if roles.objects:
        contents = describe_contents(roles.columns)
    # A column of correctness needs neither labels nor answers.
    if not roles.correct:
        roles = _propose_compared_columns(roles, contents)
    is_graded = bool(roles.correct) or len(roles.labels) == 1
    has_numbers = roles.is_scored or bool(roles.confident)
    if roles.answers and is_graded and not has_numbers:
        roles = _propose_confidence(roles, contents)
    return roles


def _propose_compared_columns(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the labels, the answers, or both."""
    has_predictions = roles.is_scored or bool(roles.answers) or bool(roles.confident)
    if has_predictions and not roles.labels:
        roles = _propose_labels(roles, contents)
    # A heading of labels says that the table holds items.
    if not roles.label_headings and not roles.answers and not roles.is_scored:
        roles = _propose_labels_and_answers(roles, contents)
    if not roles.answers and not roles.is_scored:
        roles = _propose_answers(roles, contents)
    return roles


# ---------------------------------------------------------------------------------- scores


def _propose_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only columns, or the only column of lists or objects, whose numbers add up to 1."""
    names = list(itertools.filterfalse(roles.label_headings.__contains__, roles.columns))
    runs = find_complementary_columns(contents, names)
    shares = list(filter(lambda name: contents[name].has_shares, names))
    # Two models may have scores in one table.
    if len(runs) + len(shares) > 1:
        return roles
    if not runs and not shares:
        return _propose_named_scores(roles, contents)
    if shares:
        return _propose_shares(roles, shares[0])
    scores = ScoreColumns(runs[0], "probabilities")
    role = Role("scores", runs[0], "content", "they add up to 1 in every row")
    proposed = roles.add_proposal(role, scores=[scores], labels=roles.label_headings)
    return _name_scores(proposed, contents)


def _propose_named_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the columns of numbers whose headings name each value of a column of labels, such as logits.

    Their kind is a question that the reader asks.
    """
    proposals = []
    for name in contents.list_classes(roles.columns):
        # Numbers occur in headings by accident.
        if contents[name].kind != "text":
            continue
        words = list_words(filter(None, contents.get_cells(name)))
        name_by_label: dict[str, str] = {}
        for column in roles.columns:
            label = find_label_in_heading(column, words)
            if label and _has_scores(contents[column]):
                name_by_label.setdefault(label, column)
        if len(name_by_label) == len(words):
            proposals.append((name, name_by_label))
    # Labels and answers have the same values.
    if not proposals or any(columns != proposals[0][1] for _, columns in proposals):
        return roles
    name, name_by_label = proposals[0]
    columns = tuple(name_by_label.values())
    scores = ScoreColumns(columns, None, tuple(name_by_label))
    role = Role("scores", columns, "content", f"their headings name the values of {name!r}")
    return roles.add_proposal(role, scores=[scores], labels=roles.label_headings)


def _has_scores(content: Content) -> bool:
    """Return whether a column holds numbers with fractions in every row; whole numbers are counts."""
    if content.numbers is None or np.isnan(content.numbers).any():
        return False
    is_whole = content.numbers % 1 == 0
    return not is_whole.all()


def _propose_shares(roles: PredictionRoles, name: str) -> PredictionRoles:
    """Propose a column of lists, or of objects by class, whose numbers add up to 1."""
    role = Role("scores", (name,), "content", "its numbers add up to 1 in every row")
    cells = list(map(parse_cell, roles.columns[name]))
    spread = spread_objects(cells, "probabilities")
    if not spread:
        lists = {name: list(map(parse_list, cells))}
        return roles.add_proposal(
            role,
            columns={**roles.columns, **lists},
            scores=[ScoreColumns((name,), "probabilities")],
            labels=roles.label_headings,
        )
    classes = tuple(heading.removeprefix("p_") for heading in spread)
    # The fields of these objects are the scores themselves.
    remaining = {
        heading: column
        for heading, column in roles.columns.items()
        if heading != name and not heading.startswith(f"{name}.")
    }
    return roles.add_proposal(
        role,
        columns={**remaining, **spread},
        scores=[ScoreColumns(tuple(spread), "probabilities", classes)],
        labels=roles.label_headings,
        objects=dict.fromkeys(spread, name),
    )


def _name_scores(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Give scores that only their cells proposed the classes that their headings name."""
    if len(roles.labels) != 1 or len(roles.scores) != 1:
        return roles
    scores = roles.scores[0]
    if scores.class_names is not None or len(scores.columns) < 2:
        return roles
    words = list_words(roles.columns[roles.labels[0]])
    classes = match_headings(scores.columns, words)
    if classes is None:
        classes = _name_by_answers(roles, contents, words)
    if classes is None:
        return roles
    return dataclasses.replace(roles, scores=[dataclasses.replace(scores, class_names=classes)])


def _name_by_answers(
    roles: PredictionRoles, contents: Contents, words: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the label that the answers hold wherever a score is the largest; None unless these are distinct labels."""
    numbers = _read_numbers(roles.scores[0], contents)
    if numbers is None:
        return None
    predicted = numbers.argmax(axis=1)
    candidates = contents.list_classes(roles.list_unused())
    for name in _find_predicted_columns(roles, candidates, contents):
        answers = [words.get(fold_name(str(cell)), "") for cell in contents.get_cells(name)]
        classes = []
        for number in range(numbers.shape[1]):
            counts = Counter(
                answer for answer, k in zip(answers, predicted, strict=True) if k == number
            )
            classes += [answer for answer, _ in counts.most_common(1)]
        if all(classes) and len({*classes}) == numbers.shape[1]:
            return tuple(classes)
    return None


def _find_predicted_columns(
    roles: PredictionRoles, candidates: Sequence[str], contents: Contents
) -> list[str]:
    """Return the columns of classes that the largest score decides: these are answers, and no labels."""
    if len(roles.scores) != 1:
        return []
    numbers = _read_numbers(roles.scores[0], contents)
    if numbers is None:
        return []
    predicted = numbers.argmax(axis=1).tolist()
    return [
        name
        for name in candidates
        if _measure_purity(predicted, contents.get_cells(name)) >= MIN_PURITY
    ]


def _read_numbers(scores: ScoreColumns, contents: Contents) -> np.ndarray[Any, Any] | None:
    """Return (N, K) the sampled scores of columns of one class each; None for other columns."""
    columns = []
    for name in scores.columns:
        numbers = contents[name].numbers
        if numbers is None:
            return None
        columns.append(numbers)
    return np.column_stack(columns) if len(columns) > 1 else None


def _measure_purity(groups: Sequence[Any], cells: Sequence[Any]) -> float:
    """Return the share of rows that hold the most frequent value of their group."""
    counts_by_group: dict[Any, Counter[Any]] = {}
    for group, cell in zip(groups, cells, strict=True):
        counts = counts_by_group.setdefault(group, Counter())
        counts[cell] += 1
    n_frequent = 0
    for counts in counts_by_group.values():
        n_frequent += max(counts.values())
    # Without any row there is no share.
    return n_frequent / max(1, len(cells))


# ------------------------------------------------------------------------ labels and answers


def _propose_labels(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    candidates = contents.list_classes(roles.list_unused())
    if roles.answers:
        answers = contents.get_cells(roles.answers[0])
        candidates = [
            name for name in candidates if have_same_values(contents.get_cells(name), answers)
        ]
    if len(candidates) > 1:
        predicted = _find_predicted_columns(roles, candidates, contents)
        candidates = [name for name in candidates if name not in predicted] or candidates
        # Labels have the values of what the scores decide.
        for name in predicted:
            answers = contents.get_cells(name)
            alike = [
                column
                for column in candidates
                if have_same_values(contents.get_cells(column), answers)
            ]
            if len(alike) == 1:
                candidates = alike
    if len(candidates) > 1:
        candidates = list_ending_columns(candidates, LABEL_HEADINGS)
    if len(candidates) != 1:
        return roles
    (column,) = candidates
    reason = f"its {contents[column].n_values} values repeat as labels do"
    if roles.answers:
        reason = f"it holds the values of {roles.answers[0]!r}"
    role = Role("labels", (column,), "content", reason)
    return _name_scores(roles.add_proposal(role, labels=[column]), contents)


def _propose_labels_and_answers(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only two columns that hold one set of classes and agree more often than by chance."""
    # Two flags share their values whatever they say.
    candidates = [
        name
        for name in contents.list_classes(roles.list_unused())
        if contents[name].kind == "text" or contents[name].n_values > 2
    ]
    pairs = []
    for label, answer in itertools.combinations(candidates, 2):
        if have_same_values(contents.get_cells(label), contents.get_cells(answer)):
            pairs.append((label, answer))
    pairs = _drop_repeated_fields(pairs, contents)
    # Three raters, or two systems, are for a person to tell apart.
    if len(pairs) > 1:
        # In the order of the table.
        names = dict.fromkeys(itertools.chain(*pairs))
        return dataclasses.replace(roles, answer_candidates=tuple(names))
    if not pairs:
        return roles
    label, answer = pairs[0]
    # A column of answers that models wrote shows that one of the two was read from it.
    min_kappa = 0.0 if _is_read_from_texts(contents, (label, answer)) else MIN_KAPPA
    share = measure_agreement(contents.get_cells(label), contents.get_cells(answer), min_kappa)
    # Rows of a poor system may be among those of a good one.
    if share is None:
        return dataclasses.replace(roles, answer_candidates=(label, answer))
    reason = (
        f"they hold the same values and agree in {share:.0%} of the rows; which is which does not "
        "change the accuracy"
    )
    role = Role("labels and answers", (label, answer), "content", reason)
    return roles.add_proposal(role, labels=[label], label_headings=[label], answers=[answer])


def _drop_repeated_fields(
    pairs: Sequence[tuple[str, str]], contents: Contents
) -> list[tuple[str, str]]:
    """Return the pairs without fields of objects that repeat another column, as tools export the label of a test."""
    names = dict.fromkeys(itertools.chain(*pairs))
    repeated = set()
    for name, copy in itertools.combinations(names, 2):
        is_field = "." in copy and contents.get_cells(name) == contents.get_cells(copy)
        if is_field and name not in repeated:
            repeated.add(copy)
    return [pair for pair in pairs if repeated.isdisjoint(pair)]


def _is_read_from_texts(contents: Contents, names: Sequence[str]) -> bool:
    """Return whether a column of texts begins with what one of some columns holds."""
    texts = contents.list_texts(contents)
    for text, name in itertools.product(texts, names):
        if begins_with_class(contents.get_cells(text), contents.get_cells(name)):
            return True
    return False


def _propose_answers(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only column of classes that holds the values of the labels, or list the columns that do."""
    # A heading of items, such as "class", may name the labels as well.
    labels = roles.labels or roles.label_headings
    if len(labels) != 1 or labels[0] not in contents:
        return roles
    # Next to a confidence, one column has to be the answers. Without one, two may just share their values.
    if roles.confident:
        candidates = []
        cells = contents.get_cells(labels[0])
        for name in contents.list_classes(roles.list_unused()):
            if have_same_values(contents.get_cells(name), cells):
                candidates.append(name)
    else:
        candidates = find_agreeing_columns(contents, labels[0], roles.list_unused())
    # A second such column may be another system.
    if len(candidates) != 1:
        return dataclasses.replace(roles, answer_candidates=tuple(candidates))
    reason = f"it holds the values of {labels[0]!r}"
    role = Role("answers", (candidates[0],), "content", reason)
    return roles.add_proposal(role, answers=candidates, labels=labels)


def _propose_confidence(roles: PredictionRoles, contents: Contents) -> PredictionRoles:
    """Propose the only column of fractions, or of log-probabilities, as the confidence in the answer."""
    n_classes = 2
    if roles.labels:
        n_classes = contents[roles.labels[0]].n_values
    reasons: dict[str, str] = {}
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
        # A model is mostly more confident in its answer than chance; costs and error rates are smaller.
        if np.median(numbers) >= 1 / n_classes:
            reasons[name] = reason
    if len(reasons) != 1:
        return roles
    ((name, reason),) = reasons.items()
    columns = dict(roles.columns)
    if contents[name].has_log_fractions:
        columns[name] = np.exp(parse_numbers(columns[name], name))
    role = Role("confidence", (name,), "content", reason)
    return roles.add_proposal(role, confident=[name], columns=columns)


# ---------------------------------------------------------------------------------- fields


def _drop_unused_fields(roles: PredictionRoles, fields: Mapping[str, Any]) -> PredictionRoles:
    """Return the roles without the fields of objects that have no role: they are in their objects."""
    columns = dict(roles.columns)
    for name in roles.list_unused():
        if name in fields:
            del columns[name]
    return dataclasses.replace(roles, columns=columns)
