"""Opens data sets, from files, folders, the catalog or the hub, in the common schema of a task.

Texts to classify: id, text, perhaps text_pair, label. Multiple choice: id, prompt, choices, label. Extractive question
answering: id, question, context, answers. `open_splits` opens all splits for a task.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rightreasons.core.choices import TASKS
from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.labels.ids import LabelColumn
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.validation import (
    check_all,
    check_columns,
    check_ids,
    check_kind,
    check_one_of,
)
from rightreasons.datasets.builder import CATALOG
from rightreasons.datasets.issues.correcting import correct_dataset
from rightreasons.datasets.question_answering import make_question_features, read_questions
from rightreasons.io import columns, label_columns
from rightreasons.io.arrow_tables import Splits
from rightreasons.io.choices.cells import read_choices, read_prompts
from rightreasons.io.choices.forms import (
    CHOICE_HEADINGS,
    ChoiceForm,
    find_choice_form,
    find_known_form,
)
from rightreasons.io.choices.right_choices import NO_LABEL, list_numbers, read_right_choices
from rightreasons.io.columns import add_nested_columns, get_nested_features
from rightreasons.io.descriptions import read_description
from rightreasons.io.files.splits import NAMES_OF_SPLITS
from rightreasons.io.headings import ID_HEADINGS, find_usual_column
from rightreasons.io.options import (
    ChoiceOptions,
    FileForm,
    SourceOptions,
    TableOptions,
    TextOptions,
)
from rightreasons.io.reading import as_table
from rightreasons.io.roles import Roles, add_role_columns, find_text_roles, warn_of_doubts
from rightreasons.io.row_codes import find_repeats
from rightreasons.io.samples import choose_split, limit_items

ONLY_SPLIT = "data"
"""The name of the only split of a table without splits."""

Parts: TypeAlias = "Mapping[str, datasets.Dataset]"
"""Name of a split -> its table; the single table of a data set without splits has the name ""."""

MakeItems: TypeAlias = Callable[[datasets.Dataset, str], datasets.Dataset]
"""Makes the items of a split from its table and its name."""

OptionsOfTable = TypeVar("OptionsOfTable", bound=TableOptions)

_TEXT = datasets.Value("string")


@dataclasses.dataclass(frozen=True)
class CommonColumn:
    """A column of the common schema.

    Attributes:
        values: (N,) values, as a list, an array or a column of Arrow.
        feature: Their feature.
    """

    values: Any
    feature: Any


# ------------------------------------------------------------------------------- texts to classify


@accept_options_as_keywords(TextOptions)
@attach_options("text_column", "label_column")
def open_dataset(name_or_path: Any, config: str | None = None, *, options: TextOptions) -> Splits:
    """Open a classification data set.

    Args:
        name_or_path: Anything that `as_table` accepts, or a data.yaml of `rightreasons look`.
        config: A configuration of the data set.
        options: The fields of `TextOptions`, each of which may be given as a keyword:
            - split: A split; None for all of them.
            - where: An expression over the columns that selects rows. If None, all rows are read.
            - rows: The path of the records in a JSON document, or the sheet of a workbook.
            - text_column: The column of the texts; None for the first usual name (text, sentence, content, …). A dotted
              name is a field of the objects in a column: `question.stem`.
            - text_pair_column: The column of the second texts; None for the partner of a usual first name (sentence1
              and sentence2, premise and hypothesis, …).
            - label_column: The column of the labels; None for the first usual name (label, class, category, …).
            - id_column: The column of the ids; None for a usual one if its values are unique, and otherwise row
              numbers.
            - label_names: The names of the classes in the order of their ids; None for those of a ClassLabel, or else
              the sorted words, or else the numbers. Labels are matched with them by name before a number is used as
              a position (docs/data.md has the rules). Entries "old=new" rename the labels.
            - first_label: The number of the first class if labels are numbers, 0 or 1; None to derive it from the
              labels.
            - column_names: The column names of a csv or tsv file without a header, or of rows that are lists.
            - separator: The separator of the cells of a csv file; None to infer it from the first lines.
            - quote: The quotation mark around cells, or "none"; None to infer it from the file.
            - encoding: The encoding of a text file; None for UTF-8, or to infer it from the file.
            - line_format: The names of the columns of lines without separators, such as "label text".
            - log_filter: The filter or scorer of a log whose answers are read, if there are several.
            - data_dir: The folder of local copies of the catalog's sources.
            - known_issues: off to read data of the catalog as released, or a file of further known issues
              (docs/data.md); None corrects those of this package.
            - revision: A revision on the hub.
            - require_labels: Whether to refuse a data set without labels; otherwise it has no column `label`.
            - drop_empty: Whether to leave out rows with an empty text instead of refusing them.
            - keep_empty: Whether to keep them, as "", if there are no second texts, for a caller that reports them.
            - limit: The maximum number of items per split. The sample depends only on the seed and the ids (see
              `choose_rows`), and not on the order of the items or their labels.
            - seed: The seed of that choice.

    Returns:
        A Dataset if `split` is given or there are no splits (one file), otherwise a DatasetDict. Columns: `id`
        (string, unique), `text`, `text_pair` if there is one, `label` (ClassLabel, -1 if it is unknown), and all
        other columns unchanged.

    Raises:
        TypeError: If a text is not a string or a label has a type that no class can have.
        ValueError: If a column or a split is missing, a text is empty, a label is unknown or in doubt, an id occurs
            twice, or the columns are those of multiple choice and `text_column` names none of them.

    Example:
        >>> rows = datasets.Dataset.from_dict({"review": ["Fine.", "Dull.", "Grand."], "verdict": ["up", "down", "up"]})
        >>> data = open_dataset(rows, label_column="verdict")
        >>> data[0], data.features["label"].names
        ({'id': '0', 'text': 'Fine.', 'label': 1}, ['down', 'up'])
    """
    name, parts, options = _open_parts(name_or_path, config, options)
    fields = (options.text_column, options.text_pair_column, options.label_column)
    parts = {split_name: add_nested_columns(data, fields) for split_name, data in parts.items()}
    # A user who names the texts wants them classified, even if there are choices as well.
    if not options.text_column:
        _check_no_choices(parts, options.label_column, name)
    # Labels that are not required are only read if an option or a heading identifies them.
    roles, labels = read_text_labels(parts, options, name, propose_labels=options.require_labels)
    parts = add_role_columns(parts, roles)
    # Columns have the same roles in all splits, so that one warning is enough.
    warn_of_doubts(next(iter(roles.values())).doubts)

    def make_items(data: datasets.Dataset, split_name: str) -> datasets.Dataset:
        return _make_text_items(
            data, split_name, roles[split_name], labels.get(split_name), options, name
        )

    return _make_corrected_items(parts, options, make_items, name)


load_data = open_dataset
"""Short alias of `open_dataset`."""


def read_text_labels(
    parts: Parts, options: TextOptions, source_name: str, *, propose_labels: bool = True
) -> tuple[dict[str, Roles], dict[str, LabelColumn]]:
    """Find the columns of texts and labels of each split, and read the labels of all splits together.

    Args:
        parts: Name of a split -> its table.
        options: Options that name columns and classes.
        source_name: Name of the data, for error messages.
        propose_labels: Whether a column may be used as labels if no option or heading names it, because
            its cells look like labels.

    Returns:
        The roles of the columns of each split ("text", "text pair", "label"), and the labels of each
        split that has some. All splits share their classes.

    Raises:
        OptionError: If the texts, or labels that are required, are in no column or may be in several.
        ValueError: If a label is unknown, or can be read in two ways.
    """
    roles_by_part = find_text_roles(parts, options, source_name, propose_labels=propose_labels)
    parts = add_role_columns(parts, roles_by_part)
    labeled_parts = {}
    for split_name, roles in roles_by_part.items():
        label = roles.get_column("label")
        if label is not None:
            labeled_parts[split_name] = (parts[split_name], label)
    labels = label_columns.read_labels(
        labeled_parts, options.label_names, options.first_label, source_name
    )
    return roles_by_part, labels


def _check_no_choices(parts: Parts, label_column: str | None, source_name: str) -> None:
    """Check that no split has the columns of a known multiple-choice format, such as HellaSwag.

    Args:
        parts: Name of a split -> its table.
        label_column: The column of labels that the user named, which the format has to have as well;
            None if the user named no labels.
        source_name: Name of the data, for error messages.

    Raises:
        OptionError: If a split has such columns.
    """
    for data in parts.values():
        form = find_known_form(data, label_column)
        if form is not None:
            raise OptionError(
                f"Expected texts to classify in {source_name}, but its columns "
                f"{', '.join((*form.prompt, *form.choices))} are multiple choice, which needs a "
                "multiple-choice or causal language model. Name a column of texts with "
                "text_column=.",
                option="text_column",
            )


def _find_nonempty_rows(
    texts: Mapping[str, pa.ChunkedArray | pa.Array], accepts_empty: bool, source_name: str
) -> NDArray[np.int64]:
    """Return the indices of the rows in which all texts have a character other than spaces.

    Args:
        texts: Column -> its N texts; null for a missing text.
        accepts_empty: Whether empty rows are left out of the result; otherwise they are refused.
        source_name: Name of the table, for error messages.

    Raises:
        OptionError: If a row is empty, and `accepts_empty` is False.
        ValueError: If all rows are empty.
    """
    n_rows = len(next(iter(texts.values())))
    has_texts = np.ones(n_rows, dtype=np.bool_)
    for column, values in texts.items():
        # `utf8_is_space` is false for the empty string.
        is_blank = pc.or_(pc.utf8_is_space(values), pc.equal(values, ""))
        is_empty = np.asarray(pc.fill_null(is_blank, True))
        if is_empty.any() and not accepts_empty:
            raise OptionError(
                f"Expected a text in each row of the column {column!r} of {source_name}, but row "
                f"{is_empty.argmax()} is empty. Exclude empty rows with `drop_empty`.",
                option="drop_empty",
            )
        has_texts &= ~is_empty
    if not has_texts.any():
        raise ValueError(f"Expected at least one text in {source_name}, but got no texts.")
    return np.flatnonzero(has_texts)


def _make_text_items(
    data: datasets.Dataset,
    split_name: str,
    roles: Roles,
    labels: LabelColumn | None,
    options: TextOptions,
    source_name: str,
) -> datasets.Dataset:
    """Make the items of a split in the common schema: id, text, text_pair, label, and other columns.

    Args:
        data: The rows of the split.
        split_name: Name of the split, with which ids begin that are row numbers, as in "test-7".
        roles: The roles of columns: "text", and if they exist "text pair" and "label".
        labels: The labels of all rows; None without labels.
        options: Options, of which `id_column`, `drop_empty`, `keep_empty`, `limit` and `seed` are used.
        source_name: Name of the data, for error messages.

    Raises:
        TypeError: If a cell is not a string.
        ValueError: If a text is empty although options do not allow it, ids repeat, or a heading repeats.
    """
    text_column = str(roles.get_column("text"))
    pair_column = roles.get_column("text pair")
    label_column = roles.get_column("label")
    text_columns = [text_column]
    if pair_column is not None:
        text_columns.append(pair_column)
    columns.check_unique_columns(data, (*text_columns, label_column), source_name)

    ids, id_column = _read_ids(data, options.id_column, split_name, source_name)
    texts = {name: columns.get_texts(data, name, source_name) for name in text_columns}
    # A pair with an empty text is always left out or refused.
    keeps_empty = options.keep_empty and pair_column is None
    accepts_empty = options.drop_empty or keeps_empty
    rows = _find_nonempty_rows(texts, accepts_empty, source_name)
    if keeps_empty:
        rows = np.arange(len(data))
        texts[text_column] = pc.fill_null(texts[text_column], "")

    cells: dict[str, Any] = {"id": ids, "text": texts[text_column]}
    if pair_column is not None:
        cells["text_pair"] = texts[pair_column]
    repeats: dict[str, Any] = {}
    if id_column is None:
        # Rows that only have row numbers for ids may be copies, and not independent items.
        repeats = find_repeats(data, ID_HEADINGS, text_columns)
    # Row numbers are counted before empty rows are left out.
    if len(rows) < len(data):
        data = data.select(rows)
        indices = pa.array(rows)
        cells = {name: values.take(indices) for name, values in cells.items()}
        repeats = {name: values.take(indices) for name, values in repeats.items()}

    common = {name: CommonColumn(values, _TEXT) for name, values in cells.items()}
    if labels is not None:
        class_label = datasets.ClassLabel(names=list(labels.names))
        common["label"] = CommonColumn(labels.ids[rows], class_label)
    for name, values in repeats.items():
        common[name] = CommonColumn(values, _TEXT)
    items = _combine_columns(data, common, used_columns=(*text_columns, label_column, id_column))
    return limit_items(items, options.limit, options.seed)


# ------------------------------------------------------------------------------- multiple choice


@accept_options_as_keywords(ChoiceOptions)
@attach_options("prompt_column", "choices_column", "label_column")
def open_multiple_choice(
    name_or_path: Any, config: str | None = None, *, options: ChoiceOptions
) -> Splits:
    """Open a multiple-choice data set.

    It recognizes the usual formats by their columns: {prompt, choices, label}, HellaSwag, PIQA, SocialIQA, COPA, aNLI,
    ARC, CommonsenseQA and OpenBookQA (on the hub and as released), SWAG, Winogrande, CosmosQA, ReClor, LogiQA, AGIEval,
    MedQA, MedMCQA, AQuA-RAT, RACE, MMLU, and a question with columns A, B, C, D and a letter as its answer. Otherwise
    it recognizes a question with a column for each choice, counted from 0 or 1 or lettered (choice_0, choice_1, …;
    option_a, …). The last columns may be empty for items with fewer choices.

    Args:
        name_or_path: A name, a path or a table, as in `open_dataset`.
        config: A configuration of the data set.
        options: The fields of `ChoiceOptions`, each of which may be given as a keyword:
            - split: A split; None for all of them.
            - prompt_column: The column of the prompts, or several, joined by a space; None for those of a known format.
            - choices_column: The column with the list of choices, or one column per choice; None for those of a known
              format.
            - label_column: The column of the correct choice, which contains its name in the list of choices, its
              number, its letter, or its text, by the same rule in all rows; None for that of a known format.
            - id_column: The column of the ids; None for a usual one if its values are unique, and otherwise row
              numbers.
            - first_label: The number of the first choice, 0 or 1; None for that of the known format, or to derive it:
              0 if 0 occurs in any split, 1 if all numbers from 1 to the number of choices occur, and otherwise an error.
            - column_names, separator, quote, encoding, line_format, where, log_filter: Options on how a file is read and
              which rows are used, as in `open_dataset`.
            - data_dir: The folder of local copies of the catalog's sources.
            - known_issues: off to read data of the catalog as released, or a file of further known issues
              (docs/data.md); None corrects those of this package.
            - revision: A revision on the hub.
            - require_labels: Whether to refuse a data set without labels; otherwise its labels are -1.
            - limit: The maximum number of items per split, chosen as in `open_dataset`.
            - seed: The seed of that choice.

    Returns:
        A Dataset if `split` is given or there are no splits (one file), otherwise a DatasetDict. Columns: `id`
        (string, unique), `prompt`, `choices` (list of strings), `label` (the index of the correct choice, -1 if there
        is none), and all other columns unchanged.

    Raises:
        TypeError: If a prompt or a choice is not a string.
        ValueError: If a column or a split is missing, an item has fewer than two choices, or a label is none of them.

    Example:
        >>> rows = datasets.Dataset.from_dict(
        ...     {"goal": ["Open a jar"], "sol1": ["Twist the lid."], "sol2": ["Sing."], "label": [0]}
        ... )
        >>> open_multiple_choice(rows)[0]
        {'id': '0', 'prompt': 'Open a jar', 'choices': ['Twist the lid.', 'Sing.'], 'label': 0}
    """
    name, parts, options = _open_parts(name_or_path, config, options)
    tables = {}
    forms = {}
    numbers: set[int] = set()
    for split_name, data in parts.items():
        tables[split_name], forms[split_name] = find_choice_form(data, options, name)
        numbers |= list_numbers(tables[split_name], forms[split_name])

    def make_items(_: datasets.Dataset, split_name: str) -> datasets.Dataset:
        form = forms[split_name]
        # Whether labels count from 0 or from 1 may only show in another split.
        if form.numbers is not None:
            form = dataclasses.replace(form, numbers=frozenset(numbers))
        return _make_choice_items(tables[split_name], split_name, form, options, name)

    return _make_corrected_items(parts, options, make_items, name)


def _make_choice_items(
    data: datasets.Dataset,
    split_name: str,
    form: ChoiceForm,
    options: ChoiceOptions,
    source_name: str,
) -> datasets.Dataset:
    """Make the items of a split in the common schema: id, prompt, choices, label, and other columns.

    Args:
        data: The rows of the split.
        split_name: Name of the split, with which ids begin that are row numbers, as in "test-7".
        form: The columns of the prompts, of the choices, and of the correct choice (`label`, None if the
            data has no labels).
        options: Options, of which `id_column`, `require_labels`, `limit` and `seed` are used.
        source_name: Name of the data, for error messages.

    Raises:
        TypeError: If a prompt or a choice is not a string.
        ValueError: If labels are required and missing, or a label names no choice.
    """
    if form.label is None and options.require_labels:
        # Without candidates, this call raises the error that lists the columns of the table.
        columns.require_column(
            (), data, "right choices", CHOICE_HEADINGS["label"], "label_column", source_name
        )
    prompts = read_prompts(data, form, source_name)
    choices = read_choices(data, form, source_name)
    labels = [NO_LABEL] * len(choices)
    if form.label is not None:
        labels = read_right_choices(data, choices, form, source_name)
    ids, id_column = _read_ids(data, options.id_column, split_name, source_name)
    texts = [choice.texts for choice in choices]
    common = {
        "id": CommonColumn(ids, _TEXT),
        "prompt": CommonColumn(prompts, _TEXT),
        "choices": CommonColumn(texts, datasets.List(_TEXT)),
        "label": CommonColumn(labels, datasets.Value("int64")),
    }
    if id_column is None:
        # Rows that only have row numbers for ids may be copies, and not independent items.
        for name, values in find_repeats(data, ID_HEADINGS, form.prompt).items():
            common[name] = CommonColumn(values, _TEXT)

    # Columns that an expression such as "{{ passage }} {{ question }}" reads are used as well.
    used_columns: set[str | None] = set()
    for column in (*form.prompt, *form.choices, form.label, id_column):
        if column:
            used_columns |= {column, *columns.list_read_names(column)}
    items = _combine_columns(data, common, used_columns)
    return limit_items(items, options.limit, options.seed)


# ------------------------------------------------------------------------------- any task


def open_splits(
    name_or_path: Any, config: str | None = None, *, task: str = "classification", **options: Any
) -> dict[str, datasets.Dataset]:
    """Open every split of a data set in the common schema of a task.

    Args:
        name_or_path: A name, a path or a table, as in `open_dataset`.
        config: A configuration of the data set.
        task: "classification" (`open_dataset`) or "multiple_choice" (`open_multiple_choice`).
        **options: Further options of that function, without `split`.

    Returns:
        Name of a split -> its items. The name is "data" for a table without splits, unless it has a name.

    Raises:
        TypeError: If a cell does not have the type of its column.
        ValueError: If the task is unknown, or if the data cannot be read for it.

    Example:
        >>> rows = datasets.Dataset.from_dict({"review": ["Fine.", "Dull."], "label": ["up", "down"]})
        >>> {name: items["label"][:] for name, items in open_splits({"train": rows, "test": rows}).items()}
        {'train': [1, 0], 'test': [1, 0]}
        >>> list(open_splits(rows))
        ['data']
    """
    check_one_of(task, TASKS, "task")
    open_table = open_multiple_choice if task == "multiple_choice" else open_dataset
    items = open_table(name_or_path, config, **options)
    if isinstance(items, datasets.Dataset):
        return {str(items.split or ONLY_SPLIT): items}
    return {str(split_name): split_items for split_name, split_items in items.items()}


def open_task_items(
    name_or_path: Any,
    source: SourceOptions,
    task: str | None = None,
    *,
    label_names: Sequence[str] | None = None,
    require_labels: bool = True,
) -> tuple[str, dict[str, datasets.Dataset]]:
    """Open every split of a data set, and find out its task if nothing names it.

    Without a name of the task, the data is read as multiple choice, and as classification if that fails.

    Args:
        name_or_path: A name, a path or a table, as in `open_dataset`.
        source: Options on where the data is, and on its columns.
        task: "classification" or "multiple_choice"; None to go by the data.yaml, then by the options
            (`prompt_column` means multiple choice), then by trial.
        label_names: The names of the classes, for classification only; None for those that `source` or
            the data has.
        require_labels: Whether to refuse a data set without labels.

    Returns:
        The task, and name of a split -> its items.

    Raises:
        ValueError: If the data cannot be read for the task, or, with both reasons, for either task.
    """
    if task is None:
        task = read_description(name_or_path).settings.get("task")
    if task is None:
        task = _find_task(source, label_names)
    # Few texts to classify come with choices, so multiple choice is tried first.
    candidates = ["multiple_choice", "classification"]
    if task is not None:
        candidates = [task]
    errors: list[ValueError] = []
    for candidate in candidates:
        try:
            options = source.source(candidate)
            if label_names is not None:
                options["label_names"] = label_names
            return candidate, open_splits(name_or_path, **options, require_labels=require_labels)
        except ValueError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    # Most data is for classification, so the message begins with that error. Dictionaries drop
    # repeated sentences and options, and keep their order.
    errors.reverse()
    sentences = dict.fromkeys(map(str, errors))
    option_names: dict[str, None] = {}
    for refusal in errors:
        option_names |= dict.fromkeys(getattr(refusal, "option", ()))
    raise OptionError(" As multiple choice: ".join(sentences), option=tuple(option_names))


def _find_task(source: SourceOptions, label_names: Sequence[str] | None) -> str | None:
    """Return the task that options imply; None if they imply no task.

    Args:
        source: Options, which imply a task if they name prompts, choices or second texts.
        label_names: The names of classes that the user gave; None if there are none.
    """
    if source.prompt_column or source.choices_column:
        return "multiple_choice"
    if label_names is not None or getattr(source, "text_pair_column", None):
        return "classification"
    return None


# ------------------------------------------------------------------------------- original rows


@dataclasses.dataclass(frozen=True, eq=False)
class SourceRows:
    """The rows of a split with the columns and headings of their file.

    Attributes:
        table: The N rows, with all columns under their original names.
        ids: (N,) the id that `open_dataset` gives each row; it may leave out some of them.
        names: Common column ("text", "text_pair", "label", "id") -> the column of `table` from which it is read.
            Values of an expression such as "{{title}} {{body}}", and row numbers, have no entry.
    """

    table: datasets.Dataset
    ids: list[str]
    names: dict[str, str]


@accept_options_as_keywords(TextOptions)
def open_source_rows(name_or_path: Any, *, options: TextOptions) -> dict[str, SourceRows]:
    """Open the rows of each split with the original names of their columns.

    Args:
        name_or_path: A name, a path or a table, as in `open_dataset`.
        options: Options that name columns, as in `open_dataset`.

    Returns:
        Name of a split -> its rows (`table`), their ids, and `names`: "text", "text_pair", "label" or
        "id" -> the column from which `open_splits` would read it.

    Example:
        >>> rows = datasets.Dataset.from_dict({"review": ["Fine.", "Dull."], "label": ["up", "down"], "year": [1, 2]})
        >>> source = open_source_rows(rows, text_column="review")["data"]
        >>> source.names, source.table.column_names
        ({'text': 'review', 'label': 'label'}, ['review', 'label', 'year'])
    """
    name, tables, options = _open_parts(name_or_path, None, options)
    # Options may name fields of objects, such as "question.stem".
    fields = (options.text_column, options.text_pair_column, options.label_column)
    tables_with_fields = {split: add_nested_columns(data, fields) for split, data in tables.items()}
    # Split -> which of its columns has the texts, the second texts of pairs, and the labels.
    roles = find_text_roles(tables_with_fields, options, name)
    sources = {}
    for split, data in tables.items():
        ids, id_column = _read_ids(data, options.id_column, split, name)
        column_by_role = {
            "text": roles[split].get_column("text"),
            "text_pair": roles[split].get_column("text pair"),
            "label": roles[split].get_column("label"),
            "id": id_column,
        }
        original_names = {}
        for common_name, column in column_by_role.items():
            # Expressions and fields of objects may have a role, but are not columns of the table.
            if column in data.column_names:
                original_names[common_name] = str(column)
        # `open_splits` gives a table without splits the same name.
        split_name = split or str(data.split or ONLY_SPLIT)
        sources[split_name] = SourceRows(data, ids.to_pylist(), original_names)
    return sources


# ------------------------------------------------------------------------------- questions on a context


EXTRACTIVE_ANSWERS = ("id", "question", "context", "answers")
"""The columns of extractive question answering; `answers` contains {"text": ["Rome"], "answer_start": [17]}."""


def open_questions(
    name_or_path: Any,
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> datasets.Dataset:
    """Open a data set of extractive question answering: questions whose answers are spans of a context.

    Args:
        name_or_path: "squad", a JSON file in the form of SQuAD 1.1, any other file or hub id with the columns `id`,
            `question`, `context` and `answers` ({text, answer_start}, a list each), or a Dataset with them.
        split: A split; a file or a Dataset has none, and any name gives all of it.
        data_dir: The folder of local copies of the catalog's sources.
        limit: The maximum number of questions, chosen as in `open_dataset`.
        seed: The seed of that choice.

    Returns:
        The questions; those without an answer (SQuAD 2.0 has them) are left out.

    Raises:
        ValueError: If a column or a split is not there, an id repeats, or no question has an answer.
    """
    check_kind(data_dir, "data_dir", str | os.PathLike | None)
    folder = None if data_dir is None else os.fspath(data_dir)
    name, parts, _ = _open_parts(name_or_path, None, TableOptions(data_dir=folder))
    table = _select_question_split(parts, split, name)
    rows = _unfold_paragraphs(table, name)
    check_columns(rows.column_names, EXTRACTIVE_ANSWERS, name)
    ids = check_ids(columns.get_values(rows, "id"), f"id of {name}")
    # Ids of several types are stored as JSON, and become strings.
    if not isinstance(rows.features["id"], datasets.Value):
        rows = rows.remove_columns("id").add_column("id", ids)
    answers_of_rows = columns.get_values(rows, "answers")
    check_all(
        answers_of_rows,
        _are_answers,
        f"`answers` in {name} to be objects of two lists, `text` and `answer_start`",
    )
    answered_rows = []
    for row, answers in enumerate(answers_of_rows):
        if answers is not None and answers["text"]:
            answered_rows.append(row)
    if not answered_rows:
        raise ValueError(
            f"Expected questions with answers in {name}, but no question has an answer."
        )
    return limit_items(rows.select(answered_rows), limit, seed)


def find_paragraphs(data: datasets.Dataset) -> str | None:
    """Return the column of paragraphs of a table with the structure of SQuAD; None if there is no such column.

    Its cells are lists such as [{"context": "…", "qas": […]}], with the questions of each context.

    Args:
        data: The table, in which the column may have any heading.
    """
    fields = get_nested_features(data.features)
    for name in data.column_names:
        # Articles without any question have no fields, and are recognized by the heading.
        if name == "paragraphs" or {f"{name}.context", f"{name}.qas"} <= fields.keys():
            return str(name)
    return None


def _select_question_split(parts: Parts, split: str | None, source_name: str) -> datasets.Dataset:
    """Return the table of the split with a name, or the only table of a data set.

    Args:
        parts: Name of a split -> its table; a file or a Dataset is a single table with the name "".
        split: The name of the split, which is ignored for a single table; None if the user named none.
        source_name: Name of the data, for error messages.

    Raises:
        OptionError: If there are several splits, and `split` is None.
        ValueError: If there is no split of this name.
    """
    if "" in parts:
        return parts[""]
    if split is None and len(parts) > 1:
        raise OptionError(
            f"Expected a value of `split` for {source_name}, but got no split. The splits are "
            f"{', '.join(parts)}.",
            option="split",
        )
    return parts[choose_split(parts, split, source_name=source_name, takes_any=True)]


def _unfold_paragraphs(rows: datasets.Dataset, source_name: str) -> datasets.Dataset:
    """Return a table with a row per question, from one with a row per article, as in SQuAD.

    Args:
        rows: The table; one without a column of paragraphs is returned unchanged.
        source_name: Name of the table, for error messages.
    """
    paragraphs = find_paragraphs(rows)
    if paragraphs is None:
        return rows
    # The reader of questions knows only the usual heading.
    if paragraphs != "paragraphs":
        rows = rows.rename_column(paragraphs, "paragraphs")
    questions = list(read_questions(rows, source_name))
    return datasets.Dataset.from_list(questions, features=make_question_features())


def _are_answers(answers: Any) -> bool:
    """Return whether a value is None or an object of two equally long lists, "text" and "answer_start".

    Args:
        answers: The value.
    """
    if answers is None:
        return True
    if not isinstance(answers, dict):
        return False
    texts = answers.get("text")
    starts = answers.get("answer_start")
    if not isinstance(texts, list) or not isinstance(starts, list):
        return False
    return len(texts) == len(starts)


# ------------------------------------------------------------------------------- splits


def _open_parts(
    name_or_path: Any, config: str | None, options: OptionsOfTable
) -> tuple[str, dict[str, datasets.Dataset], OptionsOfTable]:
    """Open the tables of all splits of a data set.

    Args:
        name_or_path: Anything that `as_table` accepts, such as a path, or a data.yaml with settings.
        config: A configuration of the data set; None for the default.
        options: Options on how files are read, and the option `id_column`.

    Returns:
        A tuple of three: the name of the data set for error messages; name of a split -> its table ("" for
        a table without splits); and the options, completed by the settings of the data.yaml.
    """
    description = read_description(name_or_path)
    options = description.complete(options)
    source_name = "the data set"
    if isinstance(description.source, (str, os.PathLike)):
        source_name = os.fspath(description.source)
    form_options = {name: getattr(options, name) for name in FileForm.list_names()}
    tables = as_table(
        description,
        config,
        data_dir=options.data_dir,
        known_issues=options.known_issues,
        revision=options.revision,
        form=FileForm(**form_options),
    )
    parts = {}
    for split_name, data in divide_splits(tables).items():
        # The ids may be in a field of objects, such as "meta.id".
        parts[split_name] = add_nested_columns(data, [options.id_column])
    return source_name, parts, options


def divide_splits(tables: Splits) -> dict[str, datasets.Dataset]:
    """Return the table of each split of a data set.

    A single table is divided by its column `split`, if this has the names of two splits or more, and no
    other values.

    Args:
        tables: A single table, or a table per split.

    Returns:
        Name of a split -> its table; the name is "" for a table without splits.

    Example:
        >>> rows = datasets.Dataset.from_dict({"text": ["Fine.", "Dull.", "Odd."], "split": ["train", "Dev", "train"]})
        >>> {name: data["text"][:] for name, data in divide_splits(rows).items()}
        {'train': ['Fine.', 'Odd.'], 'validation': ['Dull.']}
    """
    if not isinstance(tables, datasets.Dataset):
        return dict(tables)
    column = find_usual_column(tables.column_names, ("split",))
    if column is None:
        return {"": tables}
    # A word for a split in lower case, such as "dev" -> the name of the split, "validation".
    split_by_word: dict[str, str] = {}
    for split, words in NAMES_OF_SPLITS.items():
        split_by_word |= dict.fromkeys(words, split)
    split_of_rows = []
    for value in columns.get_values(tables, column):
        split_of_rows.append(split_by_word.get(str(value).lower()))
    splits = [split for split in NAMES_OF_SPLITS if split in split_of_rows]
    # With other values, or a single one, the column may mean something else.
    if None in split_of_rows or len(splits) < 2:
        return {"": tables}
    table = tables.with_format("arrow")[:]
    info = datasets.DatasetInfo(features=tables.features)
    split_array = pa.array(split_of_rows)
    parts = {}
    for split in splits:
        rows = table.filter(pc.equal(split_array, split))
        parts[split] = datasets.Dataset(rows, info=info)
    return parts


def _make_corrected_items(
    parts: Parts, options: OptionsOfTable, make_items: MakeItems, source_name: str
) -> Splits:
    """Make the items of one split or of all, and correct the issues that a file of the user lists.

    Args:
        parts: Name of a split -> its table.
        options: Options, of which `split` and `known_issues`, the file of issues, are used.
        make_items: The function that makes the items of a split from its table and its name.
        source_name: Name of the data. Issues of a data set of the catalog were corrected when it was
            loaded.

    Raises:
        ValueError: If there is no such split, or the items are invalid.
    """
    if options.known_issues is None or source_name in CATALOG:
        return _make_split_items(parts, options.split, make_items, source_name)
    # Rules may compare a split with others, so that the items of all splits are made.
    items = _make_split_items(parts, None, make_items, source_name)
    corrected = correct_dataset(items, options.known_issues)
    if isinstance(corrected, datasets.Dataset):
        # This call raises an error if the user named a split that the table does not have.
        _make_split_items(parts, options.split, make_items, source_name)
        return corrected
    if options.split is None:
        return corrected
    return corrected[choose_split(corrected, options.split, source_name=source_name)]


def _make_split_items(
    parts: Parts, split: str | None, make_items: MakeItems, source_name: str
) -> Splits:
    """Make the items of one split, or of all.

    Args:
        parts: Name of a split -> its table; the name is "" for a table without splits.
        split: The name of the split; None for all of them.
        make_items: The function that makes the items of a split from its table and its name.
        source_name: Name of the data, for error messages.

    Returns:
        A Dataset for one split or a table without splits, or else a DatasetDict.

    Raises:
        ValueError: If there is no such split.
    """
    if "" in parts:
        table = parts[""]
        if split not in (None, table.split):
            raise ValueError(
                f"Expected a split {split!r} of {source_name}, but the table has no splits."
            )
        return make_items(table, "")
    if split is not None:
        split_table = parts[choose_split(parts, split, source_name=source_name)]
        return make_items(split_table, split)
    items = {split_name: make_items(data, split_name) for split_name, data in parts.items()}
    return datasets.DatasetDict(items)


# ------------------------------------------------------------------------------- columns


def _read_ids(
    data: datasets.Dataset, id_column: str | None, split_name: str, source_name: str
) -> tuple[pa.Array | pa.ChunkedArray, str | None]:
    """Return unique ids of the rows of a split, and the column from which they are read.

    Args:
        data: The N rows.
        id_column: The column that the user named; None for a column with a usual heading ("id") if its
            values are unique, and otherwise row numbers.
        split_name: Name of the split, with which row numbers begin, as in "test-7"; "" if it has none.
        source_name: Name of the table, for error messages.

    Returns:
        (N,) ids as strings, and the name of their column; None if the ids are row numbers.

    Raises:
        ValueError: If the named column is missing, or its values repeat.
    """
    column = columns.find_column(data, id_column, ID_HEADINGS, "id_column", source_name)
    if column is not None:
        ids = columns.read_names(columns.get_cells(columns.get_arrow_column(data, column)))
        if id_column is not None:
            check_ids(ids, column)
            return ids.arrow, column
        # A column with a usual heading may also number groups of items.
        if _are_unique(ids.arrow):
            return ids.arrow, column
    numbers = pa.array(np.arange(len(data))).cast(pa.string())
    if split_name:
        numbers = pc.binary_join_element_wise(f"{split_name}-", numbers, "")
    return numbers, None


def _are_unique(names: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether all names are distinct and not empty."""
    has_empty_name = pc.any(pc.equal(names, "")).as_py()
    return len(names.unique()) == len(names) and not has_empty_name


def _combine_columns(
    data: datasets.Dataset,
    common: Mapping[str, CommonColumn],
    used_columns: Collection[str | None],
) -> datasets.Dataset:
    """Make the items of a split: the columns of the common schema, followed by unused columns.

    Args:
        data: The N rows of the split.
        common: Name in the common schema, such as "text" -> its N values and their feature.
        used_columns: The columns of `data` from which these values were read, which are dropped.
    """
    # Descriptions of the features of the original columns do not apply to the items.
    info = datasets.DatasetInfo(description=data.info.description, citation=data.info.citation)
    features = {name: column.feature for name, column in common.items()}
    info.features = datasets.Features(features)
    schema = info.features.arrow_schema
    arrays = []
    for field, column in zip(schema, common.values(), strict=True):
        arrays.append(_cast(column.values, field.type))
    table = pa.Table.from_arrays(arrays, schema=schema)
    # Without a fingerprint, datasets would pickle and digest the whole table.
    fingerprint = datasets.fingerprint.generate_random_fingerprint()
    items = datasets.Dataset(table, info=info, split=data.split, fingerprint=fingerprint)

    other_columns = []
    for name in data.column_names:
        if name not in used_columns and name not in common:
            other_columns.append(name)
    if not other_columns:
        return items
    remaining = data.select_columns(other_columns)
    return datasets.concatenate_datasets([items, remaining], split=data.split, axis=1)


def _cast(values: Any, arrow_type: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values.cast(arrow_type)
    return pa.array(values, arrow_type)
