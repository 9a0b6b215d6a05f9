"""Roles of the columns of a table, such as "text" and "label", with the reason and the second-best column.

Options decide first, then headings (`headings.py`). If the cells contradict a heading (`contents.py`), a doubt reports
it. Without an option or a usual heading, a column may be chosen by its cells, which a doubt reports as well.
`find_text_roles` is the entry point for tables of texts to classify.
"""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rightreasons.core.errors import OptionError
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_list
from rightreasons.io.columns import (
    add_nested_columns,
    check_column_name,
    collect_results,
    describe_missing_heading,
    get_cells,
    get_nested_features,
    is_expression,
)
from rightreasons.io.contents import (
    MAX_SAMPLED_ROWS,
    Contents,
    describe_contents,
    make_key,
    sample_rows,
)
from rightreasons.io.headings import (
    LABEL_HEADINGS,
    PAIR_HEADINGS,
    TEXT_HEADINGS,
    find_statuses,
    find_usual_column,
    is_first_row,
    is_model_answer,
    list_ending_columns,
    list_usual_columns,
)
from rightreasons.io.options import TextOptions
from rightreasons.io.proposals.nested_fields import spread_fields, spread_positions
from rightreasons.io.proposals.relations import begins_with_class, find_decided_label, list_keys
from rightreasons.io.row_codes import are_crossed, encode_rows

if TYPE_CHECKING:
    import datasets

# The first texts of pairs (such as "premise") are texts as well if the second ones are missing.
FIRST_TEXT_HEADINGS = (*TEXT_HEADINGS, *(pair[0] for pair in PAIR_HEADINGS))

MIN_TEXT_RATIO = 3
"""Minimum ratio of the lengths of two columns of texts at which the longer one is chosen."""

MAX_NAMED_COLUMNS = 4
"""Maximum number of columns that a sentence about a proposal names."""

Source = Literal["option", "heading", "content"]
"""Evidence for a role: an option of the user, a heading, or only the cells."""


@dataclasses.dataclass(frozen=True)
class Role(Result):
    """The role of a column, or of several, and the reason.

    Attributes:
        name: Name of the role, such as "text", "text pair", "label", "scores", "confidence" or "right".
        columns: The columns, such as one for each class for the scores of several classes.
        source: Evidence for the role: "option", "heading", or "content" for the cells.
        reason: A phrase with the reason, such as "by its heading".
        runner_up: The second-best column for the role; "" if no other column fits.
    """

    name: str
    columns: tuple[str, ...]
    source: Source
    reason: str
    runner_up: str = ""


@dataclasses.dataclass(frozen=True)
class Roles(Result):
    """The roles of the columns of a table.

    Attributes:
        roles: The roles that were found.
        doubts: Sentences on columns whose headings and cells disagree, or that were chosen by their cells. Each names
            the option that settles the doubt.
    """

    roles: tuple[Role, ...] = ()
    doubts: tuple[str, ...] = ()

    def get(self, name: str) -> Role | None:
        """Return a role; None if no column has it."""
        for role in self.roles:
            if role.name == name:
                return role
        return None

    def get_column(self, name: str) -> str | None:
        """Return the first column of a role; None if no column has it."""
        role = self.get(name)
        return None if role is None else role.columns[0]

    def is_settled(self, name: str) -> bool:
        """Return whether an option or a heading identifies the column of a role, and not only its cells."""
        role = self.get(name)
        return role is not None and role.source != "content"


def find_text_roles(
    parts: Mapping[str, datasets.Dataset],
    options: TextOptions,
    source_name: str,
    *,
    propose_labels: bool = True,
) -> dict[str, Roles]:
    """Find the columns of the texts, the second texts and the labels of texts to classify.

    Args:
        parts: Name of a split -> its table.
        options: Options, of which `text_column`, `text_pair_column`, `label_column` and `require_labels` are
            used.
        source_name: Name of the table, for error messages.
        propose_labels: Whether labels may be chosen by their cells. Otherwise a doubt names the column.

    Returns:
        Name of a split -> its roles: "text", and if they exist "text pair" and "label".

    Raises:
        OptionError: If the texts, or labels that are required, are in no column or may be in several.

    Example:
        >>> import datasets
        >>> table = datasets.Dataset.from_dict(
        ...     {"本文": [f"この映画は{n}回も見ました、とても面白い。" for n in range(12)], "極性": ["良", "悪"] * 6}
        ... )
        >>> roles = find_text_roles({"": table}, TextOptions(), "reviews.csv")[""]
        >>> [(role.name, role.columns, role.reason) for role in roles.roles]
        [('text', ('本文',), 'the only column of texts'), ('label', ('極性',), 'the only column of classes, 2 of them')]
    """
    # All splits have the same kind of cells, so those of the first one are enough.
    first_table = next(iter(parts.values()))
    contents = describe_columns_and_fields(first_table)
    roles_by_split = {}
    for split, table in parts.items():
        finder = _TextRoleFinder(table, contents, options, source_name, propose_labels)
        # If neither texts nor labels are found, the user learns about both from one error.
        texts, labels = collect_results(finder.find_texts, finder.find_labels)
        roles_by_split[split] = Roles((*texts, *labels), tuple(finder.doubts))
    return roles_by_split


def add_role_columns(
    parts: Mapping[str, datasets.Dataset], roles: Mapping[str, Roles]
) -> dict[str, datasets.Dataset]:
    """Add a column for each field of objects that has a role, such as "output.label", to the tables.

    Args:
        parts: Name of a split -> its table.
        roles: Name of a split -> the roles of its columns and fields.
    """
    tables = {}
    for split, table in parts.items():
        names: list[str] = []
        for role in roles[split].roles:
            names += role.columns
        tables[split] = add_nested_columns(table, names)
    return tables


def describe_columns_and_fields(table: datasets.Dataset) -> Contents:
    """Summarize the cells of each column of a table, and of each field of the objects in them.

    Args:
        table: The table; of a large one, a sample of the rows is read.

    Returns:
        A mapping from columns, and from dotted names of fields such as "output.label", to summaries of
        their cells. If no column contains texts, expressions for the parts of lists, such as
        '{{ messages[0]["content"] }}', are keys as well.
    """
    fields = get_nested_features(table.features)
    if not fields:
        return describe_contents(table)
    arrow = table.with_format("arrow")[:]
    # Fields are read in a loop over rows, which is slow for a large table.
    if len(table) > MAX_SAMPLED_ROWS:
        arrow = arrow.take(sample_rows(len(table)))
    columns = {name: get_cells(arrow.column(name)) for name in arrow.column_names}
    columns |= spread_fields(columns, in_lists=True)
    contents = describe_contents(columns)
    # The texts of a conversation are in lists of messages.
    if not contents.list_texts(contents):
        contents = describe_contents({**columns, **spread_positions(columns)})
    return contents


def warn_of_doubts(doubts: Iterable[str]) -> None:
    """Issue a warning for each doubt, all from this line, which the command line recognizes."""
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=1)


def describe_proposal(subject: str, role: Role, *options: str) -> str:
    """Return the sentence that reports columns which were chosen by their cells.

    Args:
        subject: The content of the columns, in the plural, such as "labels".
        role: The role, with its columns and the reason.
        options: The options by which the user can name other columns.

    Example:
        >>> describe_proposal("labels", Role("label", ("x",), "content", "2 classes"), "label_column")
        "No heading says which column holds the labels, so 'x' is taken (2 classes): `label_column` names another."
    """
    names = ", ".join(map(repr, role.columns[:MAX_NAMED_COLUMNS]))
    # The scores of a model with many classes fill many columns.
    n_more = len(role.columns) - MAX_NAMED_COLUMNS
    if n_more > 0:
        names += f" and {n_more:,} more"
    if len(role.columns) == 1:
        claim = f"No heading says which column holds the {subject}, so {names} is taken"
    else:
        claim = f"No heading says which columns hold the {subject}, so {names} are taken"
    if len(options) == 1:
        remedy = f"`{options[0]}` names another"
    else:
        quoted = " and ".join(f"`{option}`" for option in options)
        remedy = f"{quoted} name others"
    return f"{claim} ({role.reason}): {remedy}."


class _TextRoleFinder:
    """Finds the roles of the columns of one split, and collects doubts.

    Attributes:
        names: The columns of the table.
        can_propose_labels: Whether labels may be chosen by their cells.
        doubts: Sentences on doubts that were found so far.
        known_names: Columns that may be chosen by their cells.
        field_names: Dotted names of fields of objects that may be chosen by their cells.
    """

    def __init__(
        self,
        table: datasets.Dataset,
        contents: Contents,
        options: TextOptions,
        source_name: str,
        propose_labels: bool,
    ) -> None:
        """List the columns and fields that may be chosen by their cells.

        Args:
            table: The table of the split.
            contents: Column or field -> the summary of its cells.
            options: Options that name columns.
            source_name: Name of the table, for error messages.
            propose_labels: Whether labels may be chosen by their cells.
        """
        self.table = table
        self.names = list(table.column_names)
        self.contents = contents
        self.options = options
        self.source_name = source_name
        self.can_propose_labels = propose_labels
        self.doubts: list[str] = []
        self.known_names: list[str] = []
        self.field_names: list[str] = []
        # If a file has no headings, its first row seems to be the headings. An error reports that, which
        # helps more than a column chosen by its cells.
        has_headings = not is_first_row(self.names)
        if has_headings and not _has_heading_among_classes(contents, self.names):
            fields = get_nested_features(table.features)
            self.known_names = [name for name in self.names if name in contents]
            self.field_names = [name for name in fields if name in contents]
            # The parts of conversations are read by expressions.
            self.field_names += filter(is_expression, contents)

    def find_texts(self) -> tuple[Role, ...]:
        """Find the texts, and the second texts of pairs, by options, by headings, or by the cells.

        Returns:
            The role "text", and "text pair" if there are second texts.

        Raises:
            OptionError: If no column can contain the texts, or if several can.
        """
        text = self.options.text_column
        pair = self.options.text_pair_column
        pair_roles: tuple[Role, ...] = ()
        if pair is not None:
            check_column_name(self.table, pair, "text_pair_column", self.source_name)
            pair_roles = (_make_named_role("text pair", pair, "text_pair_column"),)
        # A column that the user names is used, whatever its cells contain.
        if text is not None:
            check_column_name(self.table, text, "text_column", self.source_name)
            return (_make_named_role("text", text, "text_column"), *pair_roles)
        if pair is None:
            usual_pair = self._find_usual_pair()
            if usual_pair:
                return usual_pair
        # The column that the user names for the second texts is no candidate for the first ones.
        candidates = _drop_name(self.names, pair)
        role = self._find_text_by_heading(candidates)
        if role is not None:
            return (role, *pair_roles)
        return (*self._propose_texts(candidates), *pair_roles)

    def find_labels(self) -> tuple[Role, ...]:
        """Find the labels by an option, by their heading, or by the cells.

        Returns:
            The role "label"; empty if no column contains labels, and labels are not required.

        Raises:
            OptionError: If labels are required, and no column or several can contain them.
        """
        column = self.options.label_column
        if column is not None:
            check_column_name(self.table, column, "label_column", self.source_name)
            return (_make_named_role("label", column, "label_column"),)
        headings = list_usual_columns(self._drop_objects(self.names), LABEL_HEADINGS)
        # Headings decide before cells, because rare labels may not repeat enough to look like classes.
        if headings:
            return (self._make_label_role(headings),)
        return self._propose_labels()

    def _drop_objects(self, names: Sequence[str]) -> list[str]:
        """Return columns without those of objects, whose fields are the texts and labels instead.

        For example, the texts of a column "review" with objects such as {"body": "…", "lang": "en"} are
        those of the field "review.body".

        Args:
            names: The columns.
        """
        columns = []
        for name in names:
            content = self.contents.get(name)
            has_fields = any(field.startswith(f"{name}.") for field in self.field_names)
            # Objects of flags or shares by class are labels.
            if content is None or content.kind != "mixed" or not has_fields:
                columns.append(name)
        return columns

    def _find_usual_pair(self) -> tuple[Role, ...]:
        """Return the roles of texts and second texts if their headings are a known pair.

        For example, "premise" and "hypothesis". The result is empty if the table has no such pair.
        """
        for text_heading, pair_heading in PAIR_HEADINGS:
            text = find_usual_column(self.names, (text_heading,))
            pair = find_usual_column(self.names, (pair_heading,))
            if text is not None and pair is not None:
                reason = "by the headings of both"
                return (
                    Role("text", (text,), "heading", reason),
                    Role("text pair", (pair,), "heading", reason),
                )
        return ()

    def _find_text_by_heading(self, candidates: Sequence[str]) -> Role | None:
        """Return the role of the texts by a heading such as "text", or one that ends in it ("TweetText").

        If the cells contradict the heading, a doubt is added.

        Args:
            candidates: The columns that may be the texts.

        Returns:
            The role; None if there is no such heading, or if several headings end in a usual one.
        """
        candidates = self._drop_objects(candidates)
        headings = list_usual_columns(candidates, FIRST_TEXT_HEADINGS)
        if not headings:
            # The last word of a cell, in a table without headings, says nothing about its column.
            if is_first_row(self.names):
                return None
            headings = list_ending_columns(candidates, TEXT_HEADINGS)
            # Of two headings such as "TweetText" and "ReplyText", neither is preferred.
            if len(headings) != 1:
                return None
        column = headings[0]
        alternatives = _drop_name(self._list_texts(candidates), column)
        content = self.contents.get(column)
        # A text that is the same in all rows is an instruction, or the name of the task.
        if alternatives and content is not None and content.is_constant:
            n_texts = self.contents[alternatives[0]].n_values
            self.doubts.append(
                f"The column {column!r}, which is chosen for the texts by its heading, holds the "
                f"same text in all rows, and {alternatives[0]!r} holds {n_texts:,} texts. Name "
                "the column that the model reads with `text_column`."
            )
        self._doubt_unpaired_texts(column, alternatives)
        runners_up = [*headings[1:], *alternatives]
        runner_up = runners_up[0] if runners_up else ""
        return Role("text", (column,), "heading", "by its heading", runner_up)

    def _doubt_unpaired_texts(self, column: str, alternatives: Sequence[str]) -> None:
        """Add a doubt for each column that may contain second texts, because of a heading such as "text_b".

        Args:
            column: The column of the texts, such as "text".
            alternatives: Other columns of texts. A heading that extends that of `column` by anything but
                a letter may be that of second texts.
        """
        if self.options.text_pair_column is not None:
            return
        for name in alternatives:
            ending = name.removeprefix(column)
            # "text_b" belongs to "text", but "textual" is a different word.
            if ending != name and not ending[:1].isalpha():
                self.doubts.append(
                    f"The column {name!r} also holds texts, but is not read. If it holds the "
                    "second texts of pairs, name it with `text_pair_column`."
                )

    def _propose_texts(self, candidates: Sequence[str]) -> tuple[Role, ...]:
        """Choose the texts by their cells: the only column of texts, the much longer one, or two as pairs.

        Args:
            candidates: The columns that may be the texts.

        Returns:
            The role "text", and "text pair" for pairs; a doubt reports them.

        Raises:
            OptionError: If no column contains texts, or several do.
        """
        self._check_choices()
        texts = self._list_texts(candidates)
        if not texts:
            raise self._make_missing_error("texts", TEXT_HEADINGS, "text_column", ())
        if len(texts) == 1:
            return self._propose_single_text(texts[0], "the only column of texts")
        if len(texts) == 2:
            longest = self.contents[texts[0]]
            second = self.contents[texts[1]]
            ratio = longest.n_letters / second.n_letters
            # Titles are much shorter than texts, but the texts of a pair have similar lengths. Answers may
            # be much longer than questions, but they repeat more often.
            if ratio >= MIN_TEXT_RATIO and longest.n_values >= second.n_values:
                reason = f"its texts are {ratio:.0f} times as long as those of {texts[1]!r}"
                return self._propose_single_text(texts[0], reason, texts[1])
            if self.options.text_pair_column is None:
                return self._propose_pair(texts)
        # The longest of three columns may be answers or explanations, so none is chosen.
        raise OptionError(
            f"Expected a heading that identifies the column of texts in {self.source_name}, but "
            f"{_quote_names(texts)} all hold texts. Name the column with text_column=, and the "
            "second texts of pairs with text_pair_column=.",
            option=("text_column", "text_pair_column"),
        )

    def _propose_single_text(
        self, column: str, reason: str, runner_up: str = ""
    ) -> tuple[Role, ...]:
        """Return the role "text" of a column that was chosen by its cells, and add a doubt about it.

        Args:
            column: The column.
            reason: A phrase with the reason, such as "the only column of texts".
            runner_up: The second-best column; "" if no other column fits.
        """
        role = Role("text", (column,), "content", reason, runner_up)
        self.doubts.append(describe_proposal("texts", role, "text_column"))
        return (role,)

    def _propose_pair(self, texts: Sequence[str]) -> tuple[Role, ...]:
        """Choose two columns of texts of similar length as the texts of pairs.

        Args:
            texts: The two columns in any order.

        Returns:
            The roles "text" and "text pair", in the order of the table; a doubt reports them.
        """
        table_order = [*self.names, *self.field_names]
        first, second = sorted(texts, key=table_order.index)
        pair = Role("texts of pairs", (first, second), "content", "the only two columns of texts")
        self.doubts.append(describe_proposal("texts", pair, "text_column", "text_pair_column"))
        return (
            Role("text", (first,), "content", pair.reason, second),
            Role("text pair", (second,), "content", pair.reason),
        )

    def _check_choices(self) -> None:
        """Check that no columns look like the choices of multiple-choice items, which cannot be classified.

        Raises:
            OptionError: If there are such columns, and the user did not name labels.
        """
        choices = self.contents.list_choices(self.known_names)
        # A user who names labels of texts to classify says that the columns are not choices.
        if not choices or self.options.label_column is not None:
            return
        raise OptionError(
            "Expected headings that identify the questions and the choices in "
            f"{self.source_name}, or the texts to classify, but {_quote_names(choices)} may hold "
            "choices. Name the columns with prompt_column= and choices_column=, or the column "
            "of texts with text_column=.",
            option=("prompt_column", "choices_column", "text_column"),
        )

    def _make_label_role(self, headings: Sequence[str]) -> Role:
        """Return the role of the labels by their heading, and add a doubt if the cells contradict it.

        Args:
            headings: The columns with a usual heading of labels, the likeliest first.
        """
        column = headings[0]
        classes = _drop_name(self._list_classes(), column)
        content = self.contents.get(column)
        # Labels repeat. Texts of which most are distinct are reference answers instead.
        if content is not None and content.has_texts and 2 * content.n_values > content.n_rows:
            alternative = ""
            if classes:
                alternative = f", and {_quote_names(classes)} may hold the labels"
            self.doubts.append(
                f"The column {column!r}, which is taken for the labels by its heading, holds "
                f"texts ({content.n_values:,} different ones in {content.n_rows:,} "
                f"rows){alternative}. Name the column of the labels with `label_column`."
            )
        elif content is not None:
            self._doubt_labels(column, classes)
        runners_up = [*headings[1:], *classes]
        runner_up = runners_up[0] if runners_up else ""
        return Role("label", (column,), "heading", "by its heading", runner_up)

    def _doubt_labels(self, column: str, classes: Sequence[str]) -> None:
        """Add a doubt if two other columns look like labels and answers, and this one does not.

        Answers have only values that labels have. If some answers are values of the column, but not all of
        them, and another column has all of them, this other column may be the labels. For example,
        "category" may be the category of the task, with "positive" only by chance.

        Args:
            column: The column of the labels according to its heading.
            classes: Other columns of classes.
        """
        words = [name for name in classes if self.contents[name].kind == "text"]
        values = {name: self._list_values(name) for name in (column, *words)}
        # Either column of a pair may be the labels, and the other one the answers.
        for name, answers in itertools.permutations(words, 2):
            shared = values[answers] & values[column]
            lacks_values = shared < values[answers]
            if shared and lacks_values and values[answers] <= values[name]:
                self.doubts.append(
                    f"The column {column!r} is taken for the labels by its heading, but "
                    f"{name!r}, and not {column!r}, has all values of {answers!r}. Name the "
                    "column of the labels with `label_column`."
                )
                return

    def _list_values(self, name: str) -> set[str]:
        """Return the distinct values of a column in the form in which they are compared, without ""."""
        values = set(list_keys(self.contents.get_cells(name)))
        values.discard("")
        return values

    def _propose_labels(self) -> tuple[Role, ...]:
        """Choose the labels by their cells, if exactly one column of classes may be the labels.

        Returns:
            The role "label". It is empty if no column fits, or several, and labels are not required; or if
            labels may not be chosen by their cells, in which case a doubt names the column.

        Raises:
            OptionError: If labels are required, and no column fits, or several.
        """
        classes = self._list_classes()
        selected, reason = self._select_labels(classes)
        # Gold labels, predictions and groups look alike, so the user has to choose among several columns.
        if len(selected) != 1:
            if self.options.require_labels:
                candidates = [*classes, *self._list_grades()]
                raise self._make_missing_error("labels", LABEL_HEADINGS, "label_column", candidates)
            return ()
        column = selected[0]
        if not self.can_propose_labels:
            # An audit without labels is better than one with a column that merely looks like labels.
            self.doubts.append(
                "No heading identifies the column of labels, so no labels are read. The column "
                f"{column!r} may hold the labels, because it is {reason}. If so, name the column "
                "with `label_column`."
            )
            return ()
        alternatives = _drop_name(classes, column)
        runner_up = alternatives[0] if alternatives else ""
        role = Role("label", (column,), "content", reason, runner_up)
        self.doubts.append(describe_proposal("labels", role, "label_column"))
        return (role,)

    def _select_labels(self, classes: Sequence[str]) -> tuple[list[str], str]:
        """Return the columns of classes that may be the labels, and a phrase with the reason.

        Args:
            classes: The columns of classes.

        Returns:
            A list of one column, and the reason. If nothing decides, the list is empty and the reason "".
        """
        # A column that has all of its values for every text names systems or raters.
        labels = [name for name in classes if not self._is_crossed(name)]
        if len(labels) == 1:
            if self._list_grades():
                return [], ""
            n_values = self.contents[labels[0]].n_values
            return labels, f"the only column of classes, {n_values} of them"
        # Of several columns of classes, one may have a heading such as "airline_sentiment".
        by_heading = list_ending_columns(labels, LABEL_HEADINGS)
        if len(by_heading) == 1:
            reason = f"by the last word of its heading, among {len(classes)} columns of classes"
            return by_heading, reason
        decided = find_decided_label(self.contents, labels)
        if decided is None:
            return [], ""
        return [decided.column], decided.reason

    def _list_grades(self) -> list[str]:
        """Return the columns of grades, such as stars, which may be labels as well."""
        return [name for name in self.known_names if self.contents[name].has_grades]

    def _is_crossed(self, name: str) -> bool:
        """Return whether each text occurs equally often with each value of a column.

        Such a column names the system or the rater of each row.

        Args:
            name: The column.
        """
        texts = self._list_texts(self.names)
        # Fields of objects cannot be encoded, only columns.
        if not texts or name not in self.table.column_names:
            return False
        if texts[0] not in self.table.column_names:
            return False
        text_codes = encode_rows(self.table, texts[:1])
        value_codes = encode_rows(self.table, (name,))
        return are_crossed(text_codes, value_codes)

    def _list_texts(self, candidates: Sequence[str]) -> list[str]:
        """Return the candidates that contain texts, the longest first, without answers that a model wrote.

        If no candidate contains texts, fields of objects such as "data.text" are returned instead.

        Args:
            candidates: The columns to select from.
        """
        names = [name for name in candidates if name in self.known_names]
        texts = []
        for name in self.contents.list_texts(names):
            if not self._has_model_answers(name):
                texts.append(name)
        if texts:
            return texts
        return self.contents.list_texts(self.field_names)

    def _has_model_answers(self, name: str) -> bool:
        """Return whether texts begin with the class in another column, as in "positive, because …".

        Args:
            name: The column of texts.
        """
        cells = self.contents.get_cells(name)
        for column in self.known_names:
            content = self.contents[column]
            is_class = content.has_classes and content.kind in ("text", "marks")
            if is_class and begins_with_class(cells, self.contents.get_cells(column)):
                return True
        return False

    def _list_classes(self) -> list[str]:
        """Return the columns of classes that may be labels, without columns that the user names as texts.

        If all of these classes are numbers, which are often counts, fields of objects such as "meta.label"
        are listed as well.
        """
        text_columns = (self.options.text_column, self.options.text_pair_column)
        names = [name for name in self.known_names if name not in text_columns]
        classes = self.contents.list_classes(names)
        has_words = any(self.contents[name].kind == "text" for name in classes)
        if not has_words:
            classes += self.contents.list_classes(self.field_names)
        # Answers of a model, and statuses of an annotation tool ("reject"), are classes but no labels.
        candidates = []
        for name in classes:
            if not is_model_answer(name) and not find_statuses(name, self._list_values(name)):
                candidates.append(name)
        return candidates

    def _make_missing_error(
        self, subject: str, headings: Sequence[str], option: str, candidates: Sequence[str]
    ) -> OptionError:
        """Return the error for a role whose column was not found.

        Args:
            subject: The content of the column, such as "labels".
            headings: Usual headings of the column, of which the message names the first three.
            option: The option by which the user can name the column.
            candidates: Columns that may have the role, which the message lists if there are several.
        """
        question = ""
        if len(candidates) > 1:
            question = f", of which {_quote_names(candidates)} may hold them"
        names = format_list([*self.names, *self.field_names])
        return OptionError(
            f"Expected a column with the {subject} in {self.source_name}, such as {', '.join(headings[:3])}, but its "
            f"columns are {names}{question}; name it with "
            f"{option}={describe_missing_heading(self.table)}.",
            option=option,
        )


def _has_heading_among_classes(contents: Contents, names: Sequence[str]) -> bool:
    """Return whether the heading of a column is one of its classes, as "positive" above "negative".

    The file then has no headings, and its first row was read as such.

    Args:
        contents: Column -> the summary of its cells.
        names: The columns.
    """
    for name in names:
        if name not in contents or not contents[name].has_classes:
            continue
        if make_key(name) in list_keys(contents.get_cells(name)):
            return True
    return False


def _make_named_role(name: str, column: str, option: str) -> Role:
    return Role(name, (column,), "option", f"named by `{option}`")


def _drop_name(names: Sequence[str], dropped: str | None) -> list[str]:
    return [name for name in names if name != dropped]


def _quote_names(names: Sequence[str]) -> str:
    return format_list(list(map(repr, names)))
