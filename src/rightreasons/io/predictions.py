"""Finds a model's predictions in the columns of a user's file: class scores and labels, or confidence and correctness.

The names of the columns say what they are, or options do; nothing is guessed from values:

- scores: one column of a usual name with a list of scores per item (or P(class 1)), or one column per class, such as
  `p_negative, p_positive` or `logit0, logit1, logit2`;
- labels: names or numbers of the classes, resolved by `resolve_labels`;
- confidence in the given answer, beside a column that says whether it was right, or beside the answer and the label.
  Scores, where there are any, come first.

usual_headings.json has the usual names of each.
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rightreasons.core.arrays import CLASS_COLUMNS, parse_class_column
from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.label_names import (
    BY_NUMBER,
    NUMBER_BY_WORD,
    LabelColumn,
    LabelRow,
    check_label_names,
    describe_match,
    fold_name,
    format_list,
    label_rows,
    match_columns,
    parse_label_number,
    parse_label_numbers,
    resolve_label_columns,
    resolve_labels,
    suggest_class_order,
)
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.options import parse_names as listed_names
from rightreasons.core.ordering import LazyArrowColumn, factorize
from rightreasons.core.sentences import escape_name
from rightreasons.core.validation import ROW_SUM_TOLERANCE, check_all, check_ids
from rightreasons.io.cells import is_number, parse_cell, parse_list, parse_numbers
from rightreasons.io.columns import (
    Column,
    Columns,
    check_column_name,
    check_unique_columns,
    collect_results,
    quote_column,
    read_names,
    require_column,
)
from rightreasons.io.headings import find_usual_column, make_heading_key
from rightreasons.io.label_columns import (
    NamedLabels,
    parse_renamed_labels,
    rename_values,
    select_single_labels,
)
from rightreasons.io.logs import NORMALIZED, UNREAD, select_confident_answers
from rightreasons.io.opened_columns import get_columns, read_columns
from rightreasons.io.options import PredictionOptions, ScoreOptions
from rightreasons.io.prediction_proposals import find_prediction_roles
from rightreasons.io.prediction_roles import (
    GIVEN_ANSWERS,
    USUAL,
    PredictionRoles,
    ScoreColumns,
    find_label_in_heading,
    is_answer,
    iterate_distinct,
    list_score_columns,
    list_words,
    to_typed_values,
)
from rightreasons.io.reading import parse_table
from rightreasons.io.roles import Role, warn_of_doubts

_FEW, _MANY = 10, 100  # so few rows may hold no right answer; so many words may be free answers
_TRUE, _FALSE = (
    {f"{number}", f"{number}.0", *(word for word, said in NUMBER_BY_WORD.items() if said == number)}
    for number in (1, 0)
)


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """A table of predictions for the calibration kernels, which check its values.

    Attributes:
        predictions: (N, K) scores, (N,) P(class 1), or N rows of different lengths. For kind="confidence": (N,)
            confidence in the given answer.
        references: (N,) labels, -1 where there is none. For kind="confidence": (N,) booleans, whether the answer was
            right, which no kernel takes for labels. None where they are not read.
        label_names: K class names where the columns have them, or else None.
        scores: The kind of score that an option or the column names state ("probabilities", "logits",
            "log_probabilities"), or None.
        kind: "top_label" for class scores or "confidence" for the confidence in given answers, as the kernels call it.
        ids: N ids of the items where there is a column of them, or else None; `ids.arrow` is the column of Arrow.
        columns: All columns of the file.
        taken: What was read -> the columns that it was read from.
        remark: What was done to the first of these, in brackets; "" for nothing.
        label_match: In words, how labels and classes were matched; "" where there are no names.
        answers_once: Whether there is one answer per item, and neither scores nor a confidence: `predictions` are 1.
        mapping: The mapping table: every value of the labels with its count, its class and the rule by which they met.
        doubt: A sentence where another order of the classes would fit far better; "" where none would.
        roles: The roles of the columns that were read, with the reasons.
    """

    predictions: NDArray[Any] | list[list[float]]
    references: NDArray[Any] | None
    label_names: tuple[str, ...] | None = None
    scores: str | None = None
    kind: str = "top_label"
    ids: LazyArrowColumn | None = None
    columns: Columns = dataclasses.field(default_factory=dict)
    taken: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    remark: str = ""
    label_match: str = ""
    answers_once: bool = False
    mapping: tuple[LabelRow, ...] = ()
    doubt: str = ""
    roles: tuple[Role, ...] = ()

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def used(self) -> str:
        """In words, which columns were taken for what."""
        parts = {
            what: " is ".join(names) if what == "right" else format_list(names)
            for what, names in self.taken.items()
        }
        words = [f"{what}: {names}" for what, names in parts.items()]
        words[:1] = [word + self.remark for word in words[:1]]
        return "; ".join((["answers without scores"] if self.answers_once else []) + words)

    @property
    def match_in_words(self) -> str:
        """How labels and classes were matched, with ten pairs at most; "" where there are no names."""
        pairs = [(row.value, row.label) for row in self.mapping if row.label]
        return describe_match(self.label_match, pairs) if self.label_match else ""


@dataclasses.dataclass(frozen=True, eq=False)
class ModelAnswers:
    """A model's answers to items whose labels are stored elsewhere, such as the examples of a behavioral suite.

    Attributes:
        scores: (N, K) scores or (N,) P(class 1); None where the file has only answers.
        answers: (N,) labels, or N texts; None where the file has only scores.
        label_names: K class names where the columns have them, or else None.
        kind: The kind of score that the column names state ("probabilities", "logits", "log_probabilities"), or None.
        ids: N ids of the items where there is a column `id`, or else None.
        unread: (N,) whether what a model wrote holds no answer that can be read, as a log tells; None where all do.
    """

    scores: NDArray[Any] | None
    answers: NDArray[np.int64] | list[str] | None = None
    label_names: tuple[str, ...] | None = None
    kind: str | None = None
    ids: LazyArrowColumn | None = None
    unread: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        content = self.answers if self.scores is None else self.scores
        return 0 if content is None else len(content)

    def take(self, rows: Sequence[int]) -> ModelAnswers:
        """Return some rows, in that order."""
        parts = ("scores", "answers", "ids", "unread")
        return dataclasses.replace(
            self, **{name: _rows_of(getattr(self, name), rows) for name in parts}
        )


def _rows_of(column: Any, rows: Sequence[int]) -> Any:
    if column is None or isinstance(column, (np.ndarray, LazyArrowColumn)):
        return None if column is None else column[np.array(rows, dtype=np.int64)]
    return [column[row] for row in rows]


@accept_options_as_keywords(PredictionOptions)
def read_predictions(
    path: Any, *, answers_alone: bool = False, options: PredictionOptions
) -> Predictions:
    """Read a file of predictions in the format of its suffix, or a table of them.

    Args:
        path: Anything that `as_table` takes, or a data.yaml of `rightreasons look`.
        answers_alone: Whether answers that have neither scores nor a confidence will do; see `without_scores`.
        options: The fields of `PredictionOptions`, each of which may be given as a keyword:
            - label_column: The column of the labels; None where its name is a usual one. As the other columns that are
              named, it may be a field (`output.label`) or an expression over columns.
            - label_names: The names of the classes in the order of their numbers, matched with those that the columns
              of scores have; or a new name for each label, as "old=new".
            - first_label: The number of the first class where labels are numbers, 0 or 1; None to find out.
            - score_columns, confidence_column, correct_column, scores, log_filter (of a log of a harness).

    Returns:
        The predictions, and the labels or whether each answer was right.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file does not have the format of its suffix, lacks a column, or leaves open which is meant.

    Example:
        >>> read = read_predictions({"confidence": [0.9, 0.6], "correct": [1, 0]})
        >>> from rightreasons.calibration import calibration_error
        >>> calibration_error(read.predictions, read.references, kind=read.kind).ece
        0.35
    """
    columns, options, where = read_columns(path, options)
    return find_predictions(columns, where, answers_alone=answers_alone, options=options)


@accept_options_as_keywords(ScoreOptions, exclude=("confidence_column", "correct_column"))
@attach_options("score_columns")
def read_answers(path: Any, *, options: ScoreOptions) -> ModelAnswers:
    """Read a file or a table of predictions without labels; a label column is ignored.

    Args:
        path: As in `read_predictions`: scores, or one column of answers (or "predictions") with a whole number
            or a text per item. A column `id` is kept.
        options: score_columns, scores and log_filter.

    Returns:
        The scores, or the answers where there are no scores.

    Raises:
        ValueError: If the file does not have the format of its suffix, or has neither scores nor answers.
    """
    columns, options, where = read_columns(path, options)
    roles = find_prediction_roles(columns, where, options.of_predictions())
    columns, answers = roles.columns, roles.answers
    if answers and not roles.is_scored:
        name = require_column(answers, columns, "answers", USUAL["answer"], "", where)
        unread = np.array(columns[UNREAD], dtype=np.bool_) if UNREAD in columns else None
        values = _answers(columns[name], name)
        return ModelAnswers(None, values, ids=find_ids(columns), unread=unread)
    chosen, scores, kind, _ = _scored(roles)
    if isinstance(scores, list):
        raise ValueError(
            f"Expected as many scores for each item of {where}, but the rows differ in length."
        )
    return ModelAnswers(scores, None, chosen.class_names, kind, find_ids(columns))


@accept_options_as_keywords(PredictionOptions)
def parse_predictions(text: str, *, options: PredictionOptions) -> Predictions:
    r"""Read predictions from a pasted text: JSON, one JSON object per line, or comma- or tab-separated values.

    Example:
        >>> parsed = parse_predictions("p_no,p_yes,label\n0.9,0.1,no\n0.2,0.8,yes\n")
        >>> parsed.predictions.tolist(), parsed.references.tolist(), parsed.label_names, parsed.scores
        ([[0.9, 0.1], [0.2, 0.8]], [0, 1], ('no', 'yes'), 'probabilities')
        >>> parsed = parse_predictions("answer,confidence,correct\nParis,0.9,1\nRome,0.4,0\n")
        >>> parsed.kind, parsed.predictions.tolist(), parsed.references.tolist()
        ('confidence', [0.9, 0.4], [True, False])
    """
    columns = get_columns(parse_table(text, "the text"), "the text")
    return find_predictions(columns, "the text", options=options)


@accept_options_as_keywords(PredictionOptions)
@attach_options("score_columns", "label_column")
def find_predictions(
    columns: Columns,
    where: str = "the table",
    *,
    with_labels: bool = True,
    answers_alone: bool = False,
    options: PredictionOptions,
) -> Predictions:
    """Find scores and labels, or confidence and correctness, among named columns.

    Args:
        columns: Column by name, in order.
        where: The name of the table, for errors.
        with_labels: Whether to read the labels; a table without them is then refused.
        answers_alone: As in `read_predictions`.
        options: As in `read_predictions`.

    Raises:
        ValueError: If there is no column of scores or of labels, or more than one.
    """
    for option in ("confidence_column", "correct_column", "label_column"):
        if (name := getattr(options, option)) is not None:
            check_column_name(columns, name, option, where)
    columns = select_confident_answers(columns, where)
    roles = find_prediction_roles(columns, where, options)
    warn_of_doubts(roles.doubts)
    predictions = _read_roles(roles, with_labels=with_labels, answers_alone=answers_alone)
    return dataclasses.replace(predictions, roles=roles.describe(predictions.taken))


def _read_roles(roles: PredictionRoles, *, with_labels: bool, answers_alone: bool) -> Predictions:
    """Read the predictions from the columns that have a role."""
    where = roles.source_name
    if answers_alone and (found := without_scores(roles)) is not None:
        return found
    columns, options, labels, answers = roles.columns, roles.options, roles.labels, roles.answers
    named = [
        name
        for name in ("confidence_column", "correct_column")
        if getattr(options, name) is not None
    ]
    if named and options.score_columns is not None:
        both = ("score_columns", named[0])
        raise OptionError(f"Expected `score_columns` or `{named[0]}`, but got both.", option=both)
    if named or (roles.confident and not roles.is_scored):
        return _confidence(roles)
    if with_labels and not labels and roles.correct:
        raise OptionError(
            f"Expected the confidence in each answer of {where} beside {roles.correct[0]!r}, or scores with "
            f"labels, but its columns are {format_list(list(columns))}; `confidence_column` or `label_column` names it.",
            option=("confidence_column", "label_column"),
        )
    label, (chosen, table, kind, remark) = collect_results(
        lambda: (
            require_column(labels, columns, "labels", USUAL["label"], "label_column", where)
            if with_labels
            else None
        ),
        lambda: _scored(roles),
    )
    check_unique_columns(columns, (*chosen.columns, label), where)
    vector = not isinstance(table, list) and table.ndim == 1
    given = (
        set(map(str, iterate_distinct(columns[answers[0]])))
        if options.score_columns is None and len(answers) == 1
        else ()
    )
    if len(given) > 1 and vector and table.min() >= 0.5:  # the confidence in the given answer
        raise OptionError(
            f"Expected P(class 1) in the column {chosen.columns[0]!r} of {where}, but none is below 0.5, and "
            f"{answers[0]!r} holds several classes: name it with `confidence_column`, or with `score_columns`.",
            option=("confidence_column", "score_columns"),
        )
    place, label_names = f"the column {label!r} of {where}", options.label_names
    values = None if label is None else select_single_labels(columns[label], place)
    if renamed := parse_renamed_labels(label_names):
        label_names = None
        values = None if values is None else rename_values(values, renamed, place)
    headings = chosen.class_names is not None
    if isinstance(values, NamedLabels):
        if isinstance(table, list):  # the choices of an item have no names
            values = values.numbers
        elif label_names is None and (
            chosen.class_names is None or _are_numbers(chosen.class_names)
        ):
            label_names = values.names
    if values is not None and label_names is None and (headings or vector):
        words = list_words(values)
        classes = chosen.class_names or chosen.columns
        endings = tuple(find_label_in_heading(name, words) for name in classes)
        in_words = {*map(fold_name, classes)} & words.keys() if headings else ()
        if not in_words and all(endings) and len(set(endings)) == len(endings):
            chosen = dataclasses.replace(chosen, class_names=endings)
    names, table = _class_names(chosen, table, label_names, where)
    read: dict[str, Any] = {"references": None}
    if values is not None:
        first = (
            0 if make_heading_key(str(label)) == "label_ids" else options.first_label
        )  # of transformers
        column, names = _labels(
            values, place, names, table, first, headings=headings and label_names is None
        )
        match = column.how + (f", as {column.reason}" if column.reason else "")
        read = {
            "references": column.ids,
            "label_match": match,
            "mapping": label_rows(values, column),
        }
        if isinstance(table, np.ndarray) and (
            column.how == BY_NUMBER or _are_numbers(column.names)
        ):
            read["doubt"] = suggest_class_order(table, column.ids, names)
    return Predictions(
        predictions=table,
        label_names=None if names is None or len(names) == 1 or _are_numbers(names) else names,
        scores=kind,
        ids=find_ids(columns),
        columns=columns,
        taken={"scores": chosen.columns} | ({} if label is None else {"labels": (label,)}),
        remark=remark,
        **read,
    )


def each_score(
    path: Any, *, label_names: Sequence[str] | None = None, options: ScoreOptions
) -> tuple[dict[str, str], str | None, bool]:
    """Find the scores of several labels that an item may have, each by itself.

    Args:
        path: As in `read_predictions`.
        label_names: The names of the labels in the order of their numbers; None for what the columns say.
        options: As in `read_predictions`.

    Returns:
        Label -> the column of its scores, or an expression for it; the kind of the scores, as in `Predictions`; and
        whether the labels are names of columns, whose order means nothing.

    Raises:
        ValueError: If there is one score per item.
    """
    columns, options, where = read_columns(path, options)
    read = find_predictions(columns, where, with_labels=False, options=options.of_predictions())
    shown, table = read.taken["scores"], read.predictions
    if isinstance(table, list) or table.ndim < 2:
        raise ValueError(
            f"Expected scores of as many labels for each item of {where}, but got {format_list(shown)}."
        )
    classes = tuple(parse_class_column(name)[1] for name in shown)
    if len(shown) == 1:
        classes = tuple(map(str, range(table.shape[1])))
        shown = tuple(f"{{{{ {quote_column(shown[0])}[{place}] }}}}" for place in classes)
    names, order = (
        classes if label_names is None else check_label_names(label_names),
        np.arange(len(classes)),
    )
    if label_names is not None and (
        parse_label_numbers(classes) is None or len(names) != len(classes)
    ):
        order = match_columns(
            classes, names, where=f"the columns of scores in {where}", classes_of="`label_names`"
        )
    return (
        {name: shown[place] for name, place in zip(names, order, strict=True)},
        read.scores,
        label_names is None,
    )


def _settled(scores: str | None) -> str | None:
    """Return what the scores are once percentages are fractions."""
    return "probabilities" if scores == "percentages" else scores


def _scored(
    roles: PredictionRoles,
) -> tuple[ScoreColumns, NDArray[Any] | list[list[float]], str | None, str]:
    """Return the columns of scores, the scores, their kind, and what was done to them."""
    chosen = _chosen_scores(roles)
    kind = _settled(roles.options.scores) or chosen.kind
    columns = {name: {**roles.columns, **roles.label_columns}[name] for name in chosen.columns}
    if len(columns) == 1:
        read = _score_column(columns[chosen.columns[0]], chosen.columns[0])
    else:
        single = {name: parse_numbers(column, name) for name, column in columns.items()}
        lists = next(
            (escape_name(name) for name, column in single.items() if column.ndim != 1), None
        )
        if lists is not None:
            raise ValueError(
                f"Expected one score per item in each column of a class, but {lists!r} holds lists."
            )
        read = np.column_stack(list(single.values()))
    table, remark = _rounded_sums(
        _as_fractions(read, roles, kind, format_list(chosen.columns)), kind
    )
    if kind == "logits" and isinstance(table, np.ndarray) and table.ndim == 1:
        table, kind, remark = expit(table), "probabilities", " (its sigmoid)"
    return chosen, table, kind, remark


def _as_fractions(table: Any, roles: PredictionRoles, kind: str | None, shown: str) -> Any:
    """Divide percentages by 100 where an option says that they are; refuse what can be nothing else."""
    if roles.options.scores == "percentages":
        return (
            table / 100
            if isinstance(table, np.ndarray)
            else [[score / 100 for score in row] for row in table]
        )
    if kind not in (None, "probabilities") or not isinstance(table, np.ndarray) or not table.size:
        return table
    percent = table.min() >= 0 and 1 < table.max() <= 100
    if percent and (
        np.allclose(table.sum(axis=1), 100, atol=1) if table.ndim > 1 else np.median(table) > 1
    ):
        raise OptionError(
            f"Expected fractions from 0 to 1 in {shown} of {roles.source_name}, but got {table.max():g}: where these are "
            "percentages, say scores=percentages.",
            option="scores",
        )
    return table


def _rounded_sums(table: Any, kind: str | None) -> tuple[Any, str]:
    """Divide rows of probabilities by their sums where these miss 1 by no more than the rounding of the numbers."""
    if not isinstance(table, np.ndarray) or table.ndim < 2 or kind not in (None, "probabilities"):
        return table, ""
    off = np.abs(table.sum(axis=1) - 1)
    # Most tables add up: whether their numbers are rounded takes long to find out, and does not matter.
    if not off.max() > ROW_SUM_TOLERANCE:
        return table, ""
    decimals = next(
        (places for places in (2, 3) if np.allclose(table, np.round(table, places), atol=1e-9)),
        None,
    )
    bound = 0 if decimals is None else table.shape[1] * 0.5 * 10.0**-decimals + 1e-9
    if (table < 0).any() or not off.max() <= bound:
        return table, ""
    return table / table.sum(
        axis=1, keepdims=True
    ), f" (rounded to {decimals} decimals, and made to add up to 1)"


# ------------------------------------------------------------------------------------------------------------- columns


def _in_order(scores: ScoreColumns, where: str) -> ScoreColumns:
    """Return columns that are numbered in the order of their numbers."""
    names = scores.class_names or ("",)
    if not all(name.isascii() and name.isdecimal() and len(name) < 19 for name in names):
        return scores
    numbered = sorted(zip(map(int, names), names, scores.columns, strict=True))
    numbers, names, columns = zip(*numbered, strict=True)
    if numbers not in (tuple(range(len(names))), tuple(range(1, len(names) + 1))):
        raise OptionError(
            f"Expected the columns of scores in {where} to be numbered from 0 or from 1, but got "
            f"{', '.join(columns)}; `score_columns` names those that are meant.",
            option="score_columns",
        )
    return dataclasses.replace(scores, columns=columns, class_names=names)


def _chosen_scores(roles: PredictionRoles) -> ScoreColumns:
    """Return the scores that an option names, or else the only ones."""
    columns, where, options = roles.columns, roles.source_name, roles.options
    if options.score_columns is not None:
        names = tuple(listed_names(options.score_columns) or ("",))
        for name in names:
            check_column_name(columns, name, "score_columns", where)
        check_ids(names, "score_columns")
        classes = tuple(parse_class_column(name)[1] for name in names)
        prefix = parse_class_column(names[0])[0]
        stated = USUAL["scores"].get(make_heading_key(names[0]), CLASS_COLUMNS.get(prefix or ""))
        kind = "logits" if names[0] in NORMALIZED else stated
        class_names = None if len(names) == 1 and prefix is None else classes
        return ScoreColumns(names, kind, class_names)
    unlabeled = {name: columns[name] for name in columns if name not in roles.labels}
    candidates = fitting = roles.scores or list_score_columns(
        unlabeled
    )  # answers in their place are refused as such
    if options.scores is not None:
        fitting = [
            candidate
            for kind in (_settled(options.scores), None)
            for candidate in candidates
            if candidate.kind == kind
        ]
        fitting = [candidate for candidate in fitting if candidate.kind == fitting[0].kind]
        if candidates and not fitting:
            shown = format_list([name for candidate in candidates for name in candidate.columns])
            raise OptionError(
                f"Expected {options.scores} in {where}, as `scores` says, but its scores are {shown}.",
                option="scores",
            )
    if len(fitting) == 1:
        return _in_order(fitting[0], where)
    if fitting:
        groups = " and ".join(format_list(candidate.columns) for candidate in fitting)
        raise OptionError(
            f"Expected scores once in {where}, but got {groups}: choose by `scores` or `score_columns`.",
            option=("scores", "score_columns"),
        )
    raise OptionError(
        f"Expected a column of scores ({', '.join([*USUAL['scores']][:3])}, …) or one column per class such as p_0, p_1"
        f" in {where}, but its columns are: {format_list(list(columns))}; name them with `score_columns`, or with "
        "`confidence_column` and `correct_column`; items that have none need a model that answers them.",
        option=("score_columns", "confidence_column", "correct_column"),
    )


def _are_numbers(names: Sequence[str]) -> bool:
    """Tell whether the names of the classes are their numbers, and so no names."""
    return list(names) == [str(number) for number in range(len(names))]


def find_ids(columns: Columns) -> LazyArrowColumn | None:
    """Return the ids of the items; None where no column is called like them."""
    name = find_usual_column(columns, USUAL["id"])
    return None if name is None else read_names(columns[name])


# -------------------------------------------------------------------------------------------------------------- scores


def _score_column(column: Column, name: str) -> NDArray[Any] | list[list[float]]:
    cells = (
        []
        if isinstance(column, np.ndarray) and column.dtype != object
        else list(map(parse_list, column))
    )
    if any(isinstance(cell, (list, np.ndarray)) for cell in cells):
        expected = f"a list of scores in each item of {name!r}, such as [0.9, 0.1]"
        check_all(cells, lambda cell: isinstance(cell, (list, np.ndarray)), expected, unit="item")
        rows = [parse_numbers(cell, f"{name}[{item}]") for item, cell in enumerate(cells)]
        check_all(
            rows, lambda row: row.ndim == 1, f"one list of scores per item in {name!r}", unit="item"
        )
        if len(set(map(len, rows))) > 1:
            return [row.tolist() for row in rows]
        table = np.stack(rows)
    else:
        table = parse_numbers(column, name)
    if table.ndim == 1 and (table == np.floor(table)).all():
        raise ValueError(
            f"Expected probabilities in column {name!r}, but every value is a whole number: "
            "predicted classes do not tell how confident the model was."
        )
    return table


# -------------------------------------------------------------------------------------------------------------- labels


def _class_names(
    scores: ScoreColumns, table: Any, given: Sequence[str] | None, where: str
) -> tuple[tuple[str, ...] | None, Any]:
    """Return the names of the classes, and the scores in their order: given names are matched with those of columns."""
    if given is None:
        return scores.class_names, table
    names = check_label_names(given)
    n_classes = (
        max(map(len, table))
        if isinstance(table, list)
        else table.shape[1]
        if table.ndim == 2
        else 2
    )
    if len(names) != n_classes:
        raise OptionError(
            f"Expected {n_classes} names of classes (`label_names`, or else those of the labels), one per class of "
            f"{where}, but got {len(names)}: {format_list(names)}.",
            option="label_names",
        )
    classes = scores.class_names
    if classes is None or isinstance(table, list):
        return names, table
    said, whose = (
        parse_label_numbers(classes),
        {"where": f"the columns of scores in {where}", "classes_of": "`label_names`"},
    )
    if table.ndim == 1:  # of one of two classes
        place = _place_of(classes[0], names)
        place = said[0] if place is None and said in ([0], [1]) else place
        return names, table if (
            match_columns(classes, names, **whose)[0] if place is None else place
        ) else 1 - table
    if said is not None:
        return names, table
    return names, table[:, match_columns(classes, names, **whose)]


@attach_options("label_names", "first_label")
def _labels(
    values: Column,
    place: str,
    names: tuple[str, ...] | None,
    table: Any,
    first: int | None,
    *,
    headings: bool,
) -> tuple[LabelColumn, tuple[str, ...] | None]:
    """Return the labels as classes of the scores, and the names of the classes."""
    if names is None or len(names) == 1:
        two = (
            _names_of_two(values, names, place)
            if not isinstance(table, list) and table.ndim == 1
            else None
        )
        if two is None and names is not None and parse_label_numbers(names) is None:
            raise OptionError(
                f"Expected labels in words in {place}, one of them {names[0]!r} as the column of scores says, but "
                "there are others: `label_names` gives both in the order of the numbers.",
                option="label_names",
            )
        names, headings = two, False
    known = names
    if known is None and not isinstance(table, list) and table.ndim == 1:
        known, first = ("0", "1"), first or 0  # P(class 1) says which numbers are meant
    elif known is None:
        n_classes = max(map(len, table)) if isinstance(table, list) else table.shape[1]
        known = tuple(f"class {number}" for number in range(n_classes))
    rows = zip(values, table, strict=True) if first is None and isinstance(table, list) else ()
    # A label that is the number of choices of its item counts them from 1.
    if rows and not any(
        str(value).strip() in (str(len(row)), f"{len(row)}.0") for value, row in rows
    ):
        first = 0
    remedy = "name the classes in the order of the scores with `label_names`"
    if names is not None:
        remedy = "`label_names` renames labels as old=new, `first_label` says where numbers begin"
    return resolve_labels(
        values, known, first=first, where=place, remedy=remedy, headings=headings
    ), names


def _names_of_two(
    values: Column, names: tuple[str, ...] | None, place: str
) -> tuple[str, str] | None:
    """Name both classes of a column of P(class 1): from the class that its name names, or from false and true."""
    both: tuple[str, ...] = ()
    with contextlib.suppress(TypeError, ValueError):  # the labels are refused where they are read
        both = resolve_labels(values, where=place).names
    if len(both) != 2:
        return None
    if (
        names is None and parse_label_numbers(both) == [0, 1] and not _are_numbers(both)
    ):  # words that say their number
        return (both[0], both[1])
    positive = None if names is None else _place_of(names[0], both)
    return None if positive is None else (both[1 - positive], both[positive])


def _place_of(name: str, both: Sequence[str]) -> int | None:
    """Return which of two classes a name is, by name or by the number that both say; None for neither."""
    names, numbers = list(map(fold_name, both)), parse_label_numbers(both) or []
    if fold_name(name) in names:
        return names.index(fold_name(name))
    number = parse_label_number(name)
    return numbers.index(number) if number in numbers else None


# ------------------------------------------------------------------------------------------- answers and confidence


def _confidence(roles: PredictionRoles) -> Predictions:
    """Read the confidence in given answers, and whether they were right."""
    columns, where, options = roles.columns, roles.source_name, roles.options
    name = require_column(
        roles.confident, columns, "confidence", USUAL["confidence"], "confidence_column", where
    )
    kind = _settled(options.scores)
    numbers = parse_numbers(columns[name], name)
    # Only logarithms of fractions are negative throughout.
    if kind is None and numbers.size and numbers.max() <= 0 and numbers.min() < 0:
        kind = "log_probabilities"
    confidence = _as_fractions(numbers, roles, kind, name)
    whole = all(
        cell.strip().isdigit() if isinstance(cell, str) else type(cell) is int
        for cell in columns[name]
    )
    expected = f"the confidence in each answer, from 0 to 1, in column {name!r} of {where}"
    if confidence.ndim != 1 or (
        options.scores != "percentages" and whole
    ):  # 1.0 is no whole number here
        held = (
            "lists" if confidence.ndim != 1 else "whole numbers, as if they were predicted classes"
        )
        raise ValueError(f"Expected {expected}, but it holds {held}.")
    if kind in (None, "probabilities"):
        check_all(confidence, lambda value: not (value < 0 or value > 1), expected)
    return _of_answers(roles, confidence, {"confidence": (name,)}, scores=kind)


def _of_answers(
    roles: PredictionRoles,
    confidence: NDArray[Any],
    taken: Mapping[str, tuple[str, ...]],
    **more: Any,
) -> Predictions:
    """Return the confidence in each answer, a probability unless more is said, and whether it was right."""
    right, columns_of_right, doubt = correctness(roles)
    if doubt:
        warnings.warn(doubt, stacklevel=2)
    columns = roles.columns
    if UNREAD in columns:
        right = right & ~np.array(columns[UNREAD], dtype=np.bool_)
    more = {
        "scores": "probabilities",
        "ids": find_ids(columns),
        "taken": {**taken, "right": columns_of_right},
        **more,
    }
    return Predictions(confidence, right, kind="confidence", columns=columns, doubt=doubt, **more)


@attach_options("correct_column")
def correctness(roles: PredictionRoles) -> tuple[NDArray[np.bool_], tuple[str, ...], str]:
    """Read whether each answer was right: from a column that says so, or from the answers and the labels.

    Returns:
        (N,) whether the answer was right; the column that says it, or those of answers and of labels; and a
        sentence where another order of the classes would fit far better, or "".
    """
    columns, where, correct = roles.columns, roles.source_name, roles.correct
    labels, answers = roles.labels, roles.answers
    if not correct and len(answers) == 1 and len(labels) == 1:
        right, doubt = _agreement(columns, answers[0], labels[0], where)
        return right, (answers[0], labels[0]), doubt
    if len(correct) != 1:
        got = (
            f"got {' and '.join(correct)}"
            if correct
            else f"its columns are: {format_list(list(columns))}"
        )
        label = quote_column(labels[0]) if len(labels) == 1 else "LABEL"
        raise OptionError(
            f"Expected a column that says whether each answer was right ({', '.join(USUAL['correct'][:4])}) "
            f"in {where}, or one of answers (prediction) and one of labels, but {got}; name it with `correct_column`, "
            f"which may compare two: '{{{{ ANSWER == {label} }}}}'.",
            option="correct_column",
        )
    (name,) = correct
    codes, met = factorize(columns[name])
    texts = np.array([str(value).strip().lower() for value in met], dtype=object)
    check_all(
        texts[codes],
        lambda text: text in _TRUE | _FALSE,
        f"1 and 0, true and false, or yes and no, in column {name!r} of {where} (for other words, `correct_column` "
        f"may compare: '{{{{ {quote_column(name)} == \"WORD\" }}}}')",
        unit="item",
    )
    return np.isin(texts, [*_TRUE])[codes], (name,), ""


def _agreement(
    columns: Columns, answer: str, label: str, where: str
) -> tuple[NDArray[np.bool_], str]:
    """Return whether an answer names the class that the label names; and the doubt, or ""."""
    both = {f"the column {name!r} of {where}": columns[name] for name in (answer, label)}
    labeled, said = list_words(columns[label]), list_words(columns[answer])
    if len(said) == len(
        {each for each in iterate_distinct(columns[answer]) if isinstance(each, str)}
    ):  # POSITIVE is positive
        spelled = {said[word]: labeled[word] for word in said.keys() & labeled.keys()}
        codes, met = factorize(columns[answer])
        both[next(iter(both))] = np.array(
            [spelled.get(str(each).strip(), each) for each in met], dtype=object
        )[codes]
    same = f"'{{{{ {quote_column(answer)}.strip(\"( )\") == {quote_column(label)} }}}}'"
    remedy = f"`correct_column` says which answers were right, also as an expression such as {same}"
    names = next(
        (column.names for column in reversed(both.values()) if isinstance(column, NamedLabels)),
        None,
    )
    if names is None:
        answers, gold = resolve_label_columns(both, remedy=remedy).values()
    else:  # the other column may hold the numbers of these names
        answers, gold = (
            resolve_labels(values, names, first=0, where=place, remedy=remedy)
            for place, values in both.items()
        )
    check_all(gold.ids.tolist(), lambda label: label >= 0, f"a label in each row of {[*both][1]}")
    given = answers.ids >= 0
    if len(given) >= _FEW and not np.isin(answers.ids, gold.ids).any():
        said_by, of_labels = (
            format_list([*dict.fromkeys(map(str, column))]) for column in both.values()
        )
        expected = f"Expected some answers in {next(iter(both))} among the labels {of_labels}"
        raise ValueError(f"{expected}, but they are {said_by}: {remedy}.")
    doubt = ""
    is_correct = np.asarray(answers.ids == gold.ids)
    # Answers in words know their order: a list of errors fits every other order better.
    may_be_shifted = is_correct.any() or all(map(is_number, gold.names))
    if (
        len(gold.names) <= _MANY and may_be_shifted
    ):  # the scores of answers: 1 for the class, 0 for the others
        doubt = suggest_class_order(
            np.eye(len(gold.names))[answers.ids[given]], gold.ids[given], gold.names
        )
    return is_correct, doubt


def without_scores(roles: PredictionRoles) -> Predictions | None:
    """Read answers that have neither scores nor a confidence; None where there are any, or no answers.

    Returns:
        Predictions with `answers_once`, of kind="confidence": which answers were right, and nothing else.

    Example:
        >>> columns = {"text": ["2 + 2", "3 + 3"], "answer": ["4", "5"], "correct": [1, 0]}
        >>> found = without_scores(find_prediction_roles(columns, "log.jsonl", PredictionOptions()))
        >>> found.references.tolist(), found.predictions.tolist()
        ([True, False], [1.0, 1.0])
        >>> without_scores(find_prediction_roles({**columns, "confidence": [0.9, 0.8]}, "log.jsonl", PredictionOptions()))
    """
    columns, answers = roles.columns, roles.answers
    if roles.is_scored or roles.confident or not (answers or roles.correct):
        return None
    is_models = (
        UNREAD in columns
        or roles.is_proposed("answers")
        or any(make_heading_key(name) in GIVEN_ANSWERS for name in answers)
    )
    # Of an answer and a prediction, one is the gold answer, which a column of correctness makes needless.
    if len(answers) > 1 and not (is_models and roles.correct):
        return None
    if not roles.correct and (len(roles.labels) != 1 or not is_models):
        return None
    n_rows = len(next(iter(columns.values())))
    return _of_answers(roles, np.ones(n_rows), {}, answers_once=True)


def _answers(column: Column, name: str) -> NDArray[np.int64] | list[str]:
    values = to_typed_values(column)
    texts = bool(values) and isinstance(values[0], str)
    lists = texts and all(isinstance(parse_cell(value), list) for value in values)
    check_all(
        values,
        lambda value: (
            isinstance(value, str) == texts
            and is_answer(value)
            and not lists
            and (texts or abs(value) < 2**63)
        ),
        f"texts, or whole numbers below 2**63, in column {name!r}",
        unit="item",
    )
    return values if texts else np.asarray(values, dtype=np.int64)
