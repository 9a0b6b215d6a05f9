"""Options on the location of data, the meaning of its columns, and an audit as a whole.

The options of a single question are in its folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rightreasons.core.choices import TASKS
from rightreasons.core.options import Options, option, parse_name_or_names, parse_names

if TYPE_CHECKING:
    from rightreasons.core.resampling import Resampling


LOG_FILTER_HELP = (
    "Filter (lm-evaluation-harness) or scorer (inspect_ai) to use if a log has several."
)

# Options about items of every task, and of one task alone.
_EVERY_TASK = ("config", "label_column", "first_label", "data_dir", "known_issues")
_TEXTS: tuple[str, ...] = ("text_column", "text_pair_column", "label_names")
_CHOICES: tuple[str, ...] = ("prompt_column", "choices_column")


class LabelOptions(Options):
    """Labels of the data."""

    label_column: str | None = option(None, "Column of the labels, or of the correct choice.")
    first_label: int | None = option(
        None,
        "Number of the first label, 0 or 1; by default inferred from the labels.",
        minimum=0,
        maximum=1,
    )


class DataOptions(LabelOptions):
    """Location of the data, and its labels."""

    data_dir: str | None = option(None, "Folder of local copies of known datasets.")
    known_issues: str | None = option(
        None,
        "off to read known datasets as released, or a file with your own known issues; by "
        "default the known issues of this package are corrected.",
    )


class SourceOptions(DataOptions):
    """Location of a data set, and the columns of its labels and choices."""

    config: str | None = option(None, "Configuration of the dataset.")
    prompt_column: str | None = option(
        None, "Comma-separated columns that make up the prompt of a multiple-choice item."
    )
    choices_column: str | None = option(
        None, "Column that lists the choices, or comma-separated columns with one choice each."
    )

    def source(self, task: str) -> dict[str, Any]:
        """Return the keyword arguments of `open_splits` for a task.

        Args:
            task: "classification" or "multiple_choice".

        Raises:
            ValueError: If an option of the other task is given, which would have no effect.
        """
        arguments: dict[str, Any] = {}
        for name in (*_EVERY_TASK, *_TEXTS, *_CHOICES):
            arguments[name] = getattr(self, name, None)
        task_names = _TEXTS
        excluded = _CHOICES
        if task == "multiple_choice":
            task_names = _CHOICES
            excluded = _TEXTS
            # For items with choices, a column of texts is the column of prompts.
            text = arguments["text_column"]
            arguments["text_column"] = None
            arguments["prompt_column"] = parse_names(self.prompt_column) or text
        for name in excluded:
            if arguments[name] is not None:
                raise ValueError(f"Expected no `{name}` for {task}, but got {arguments[name]!r}.")
        # On the command line, lists are strings with commas.
        arguments["choices_column"] = parse_name_or_names(self.choices_column)
        arguments["label_names"] = parse_names(arguments["label_names"])
        selected = {name: arguments[name] for name in (*_EVERY_TASK, *task_names)}
        return {"task": task, **selected}


class ItemOptions(SourceOptions):
    """Location of a data set, and the columns of its texts, labels and choices."""

    text_column: str | None = option(None, "Column of the texts.")
    text_pair_column: str | None = option(None, "Column of the second texts.")


CHECK_NAMES = (
    "rejected_rows",
    "long_format",
    "choice_rows",
    "failing_group",
    "constant_text",
    "several_labels",
    "class_order",
    "selected_outcomes",
    "single_class",
    "conflicting_labels",
    "answer_copies",
    "train_leak",
    "repeated_ids",
    "repeated_rows",
    "repeated_texts",
    "near_duplicates",
)
"""Names of the checks of rows; see `rightreasons.io.row_checks`."""


class CheckOptions(Options):
    """Checks of rows whose doubts are settled."""

    settled_checks: tuple[str, ...] = option(
        (),
        "Comma-separated checks of rows that you have settled, or all; their doubts no longer "
        "make verdicts gray.",
        choices=(*CHECK_NAMES, "all"),
    )


class LookOptions(CheckOptions):
    """Kind of a table, and checks of its rows whose doubts are settled."""

    kind: str | None = option(
        None,
        "Content of the table, if it is ambiguous: items or predictions.",
        choices=("items", "predictions"),
    )


class RowOptions(Options):
    """Selection of rows."""

    where: str | None = option(
        None, "Expression over columns that selects rows, such as arm == 'student'."
    )
    rows: str | None = option(
        None,
        "Path of the records in a JSON document, such as results.results, or sheet of a workbook.",
    )
    line_format: str | None = option(
        None, "Columns of a file of plain lines, in order, such as 'label text'."
    )


class FileForm(RowOptions):
    """Format of a file; an option that is None is inferred from the file.

    A csv or tsv file that is not in UTF-8, and has no mark of another encoding, is read as cp1252, with a warning.
    """

    column_names: tuple[str, ...] | None = option(
        None, "Column names of a csv or tsv file without a header."
    )
    separator: str | None = option(None, "Separator of the cells of a csv file.")
    quote: str | None = option(None, "Quotation mark around the cells of a csv file, or none.")
    encoding: str | None = option(None, "Encoding of the text of a file, such as cp1252.")
    log_filter: str | None = option(None, LOG_FILTER_HELP)


NO_FORM = FileForm()


class TableOptions(DataOptions, FileForm):
    """Selection of items of a data set, for any task."""

    # Which rows are items.
    split: str | None = option(None, "Split; by default all of them.")
    id_column: str | None = option(None, "Column of the ids.")
    revision: str | None = option(None, "Revision on the hub.")
    require_labels: bool = option(True, "Refuse data without labels.")
    limit: int | None = option(None, "Maximum number of items per split.", minimum=1)
    seed: int = option(0, "Seed of the sample of items.", minimum=0)


class TextOptions(TableOptions):
    """Columns and classes of texts to classify."""

    text_column: str | None = option(None, "Column of the texts.")
    text_pair_column: str | None = option(None, "Column of the second texts.")
    label_names: tuple[str, ...] | None = option(
        None, "Names of the classes, or new names as old=new."
    )
    # Rows without a text are refused unless one of these says otherwise.
    drop_empty: bool = option(False, "Drop rows with an empty text.")
    keep_empty: bool = option(False, "Keep rows with an empty text.")


class ChoiceOptions(TableOptions):
    """Columns of multiple-choice items."""

    prompt_column: str | tuple[str, ...] | None = option(None, "Columns of the prompts.")
    choices_column: str | tuple[str, ...] | None = option(
        None, "Column of the choices, or one per choice."
    )


class ScoreOptions(Options):
    """Columns of scores and answers in a file of predictions; None for columns with usual headings."""

    score_columns: str | None = option(
        None, "Comma-separated columns of the scores, one per class, or one column of lists."
    )
    confidence_column: str | None = option(
        None, "Column of the confidence in the given answer, instead of scores."
    )
    correct_column: str | None = option(
        None, "Column that states whether the answer is correct, 1 or 0."
    )
    scores: str | None = option(
        None,
        "Kind of the scores; by default according to the column names, or else probabilities.",
        choices=("probabilities", "percentages", "logits", "log_probabilities"),
    )
    log_filter: str | None = option(None, LOG_FILTER_HELP)

    def of_predictions(self, **labels: Any) -> PredictionOptions:
        """Return these options as options on predictions, with labels.

        Args:
            **labels: Options on labels, such as `label_column`.
        """
        # Subclasses have further options, such as the file of predictions, which are not about columns.
        options = {name: getattr(self, name) for name in ScoreOptions.list_names()}
        return PredictionOptions(**options, **labels)


class PredictionOptions(ScoreOptions, LabelOptions):
    """Columns of a file of predictions, and names of the classes; None for those in the file."""

    label_names: tuple[str, ...] | None = option(
        None, "Names of the classes, or new names as old=new."
    )


RESAMPLED = ("n_resamples", "confidence_level", "seed")
"""Options of an audit on its confidence intervals."""


class AuditOptions(ItemOptions, RowOptions, CheckOptions):
    """Items, model and statistics of an audit."""

    # Items.
    split: str | None = option(
        None,
        "Splits to audit, comma-separated; by default the first of test, validation and dev "
        "that has labels.",
    )
    train: str | None = option(
        None,
        "Training texts of the model, if they are not a split of the data; the audit searches "
        "them for shortcuts.",
    )
    limit: int | None = option(
        None,
        "Maximum number of items per split; they are a random sample, selected by seed and id.",
        minimum=1,
    )
    task: str | None = option(
        None, "Task of the data, if the model does not determine it.", choices=TASKS
    )
    label_names: str | None = option(
        None,
        "Comma-separated names of the labels in the order of their numbers, or new names such "
        "as false=NO,true=YES.",
    )
    # Groups of items.
    groups_column: str | None = option(
        None,
        "Column that names the contrast set or pair of each item; by default pair_id or source_id.",
    )
    by: str | None = option(
        None, "Column whose values are audited separately, such as the system or the seed."
    )
    # The model.
    revision: str | None = option(None, "Revision of the model on the hub.")
    device: str | None = option(
        None,
        "Device of the model, such as cpu or cuda:0, or auto for all GPUs; by default a GPU if there is one.",
    )
    dtype: str | None = option(
        None, "Type of the weights, such as bfloat16; by default the type of the checkpoint."
    )
    target: str | None = option(
        None,
        "Label of a multi-label classifier to audit. Several comma-separated labels, or all, "
        "are audited separately.",
    )
    batch_size: int | None = option(
        None, "Items per batch; by default 32, and up to 256 on a GPU.", minimum=1
    )
    # Statistics.
    n_resamples: int = option(1000, "Number of resamples of each bootstrap.", minimum=1)
    confidence_level: float = option(0.95, "Confidence level of the intervals.")
    seed: int = option(0, "Seed of every random choice.", minimum=0)
    # What is done if items cost money, or fail.
    plan: bool = option(
        False,
        "Print the requests that each question would send to a language model and their "
        "price, without sending them.",
    )
    fail_fast: bool = option(
        False,
        "Stop at the first item that the model cannot score; by default such items are "
        "excluded and listed.",
    )

    def _check(self) -> None:
        # numpy is loaded only if options are checked.
        from rightreasons.core.validation import check_fraction

        super()._check()
        check_fraction(self.confidence_level, "confidence_level", open_ends=True)

    @property
    def resampling(self) -> Resampling:
        """The resampling of confidence intervals and tests."""
        from rightreasons.core.resampling import Resampling

        return Resampling(self.confidence_level, self.n_resamples, self.seed)


class StoredOptions(ScoreOptions):
    """Stored predictions to audit instead of a model."""

    predictions: str | None = option(
        None, "File of predictions, or log of a harness, to audit instead of a model."
    )
    # Items and answers in two files.
    items: str | None = option(
        None, "File of the items and gold labels, which are matched with `answers` by id."
    )
    answers: str | None = option(
        None, "File of a model's answers to `items`, such as the output of a batch interface."
    )
    join: str | None = option(
        None, "Columns of the ids of items and answers, such as id=custom_id; detected by default."
    )
    # Answers that rules cannot read.
    judge: str | None = option(
        None,
        "Folder or server address of a model that parses the unreadable answers of a log.",
    )
    judge_model: str | None = option(
        None, "Name of the judge on its server; by default the only model of the server."
    )
