"""Roles: which column of a table is what, why, and which column comes second.

Options decide. Where there are none, headings do (`headings.py`), and the cells confirm or contradict them
(`contents.py`): a heading that the cells contradict becomes a doubt. Where no heading says it, the cells propose a
column, and the proposal is told. `find_text_roles` resolves tables of texts to classify.
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
from rightreasons.io.proposals.nested_fields import spread_fields
from rightreasons.io.proposals.relations import begins_with_class, find_decided_label, list_keys
from rightreasons.io.row_codes import are_crossed, encode_rows

if TYPE_CHECKING:
    import datasets

# Texts whose second texts are missing are known by the heading of the first.
FIRST_TEXT_HEADINGS = (*TEXT_HEADINGS, *(pair[0] for pair in PAIR_HEADINGS))

MIN_TEXT_RATIO = 3
"""How many times as long as the next texts those have to be that are proposed among several."""

Source = Literal["option", "heading", "content"]
"""What settled a role: an option of the user, a heading, or the cells alone."""


@dataclasses.dataclass(frozen=True)
class Role(Result):
    """What some columns are taken for, and why.

    Attributes:
        name: The role: "text", "text pair", "label", "answer", "scores", "confidence", "correct" or "id".
        columns: The columns; several for scores of several classes.
        source: "option", "heading" or "content".
        reason: A phrase that says why.
        runner_up: The column that comes second; "" if no other column fits.
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
        doubts: Sentences about columns whose headings and cells disagree, or that only their cells proposed; each
            names the option that settles it.
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
        """Return whether an option or a heading says which column has a role."""
        role = self.get(name)
        return role is not None and role.source != "content"


def find_text_roles(
    parts: Mapping[str, datasets.Dataset],
    options: TextOptions,
    source_name: str,
    *,
    propose_labels: bool = True,
) -> dict[str, Roles]:
    """Find the texts, the second texts and the labels of each split of a table of texts.

    Args:
        parts: The table of each split.
        options: Options, of which `text_column`, `text_pair_column`, `label_column` and `require_labels` count.
        source_name: The name of the table, for errors.
        propose_labels: Whether labels that only their cells propose are taken. Otherwise the doubt names them.

    Returns:
        The roles in each split: "text", and where they exist "text pair" and "label".

    Raises:
        OptionError: If no column, or several, may hold the texts or labels that are required.

    Example:
        >>> import datasets
        >>> table = datasets.Dataset.from_dict(
        ...     {"本文": [f"この映画は{n}回も見ました、とても面白い。" for n in range(12)], "極性": ["良", "悪"] * 6}
        ... )
        >>> roles = find_text_roles({"": table}, TextOptions(), "reviews.csv")[""]
        >>> [(role.name, role.columns, role.reason) for role in roles.roles]
        [('text', ('本文',), 'the only column of texts'), ('label', ('極性',), 'the only column of classes, 2 of them')]
    """
    # The rows of one split show what the columns of all splits hold.
    contents = describe_columns_and_fields(next(iter(parts.values())))
    roles = {}
    for split, table in parts.items():
        finder = _TextRoleFinder(table, contents, options, source_name, propose_labels)
        texts, labels = collect_results(finder.find_texts, finder.find_labels)
        roles[split] = Roles(
            tuple(role for role in (*texts, *labels) if role is not None), tuple(finder.doubts)
        )
    return roles


def add_role_columns(
    parts: Mapping[str, datasets.Dataset], roles: Mapping[str, Roles]
) -> dict[str, datasets.Dataset]:
    """Return the tables with the fields of objects that have a role as columns."""
    tables = {}
    for split, table in parts.items():
        names: list[str] = []
        for role in roles[split].roles:
            names += role.columns
        tables[split] = add_nested_columns(table, names)
    return tables


def describe_columns_and_fields(table: datasets.Dataset) -> Contents:
    """Describe the columns of a table, and the fields of objects in them by their dotted names."""
    fields = get_nested_features(table.features)
    if not fields:
        return describe_contents(table)
    # Fields are read row by row, so that only a sample of the rows is.
    arrow = table.with_format("arrow")[:]
    if len(table) > MAX_SAMPLED_ROWS:
        arrow = arrow.take(sample_rows(len(table)))
    columns = {name: get_cells(arrow.column(name)) for name in arrow.column_names}
    return describe_contents({**columns, **spread_fields(columns, in_lists=True)})


def warn_of_doubts(doubts: Iterable[str]) -> None:
    """Warn of each doubt, from here, so that the command line prints it as a line."""
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=1)


def describe_proposal(subject: str, role: Role, *options: str) -> str:
    """Return the sentence about columns that only their cells propose.

    Args:
        subject: What the columns hold, in the plural.
        role: The role.
        options: The options that name the columns.

    Example:
        >>> describe_proposal("labels", Role("label", ("x",), "content", "2 classes"), "label_column")
        "No heading says which column holds the labels, so 'x' is taken (2 classes): `label_column` names another."
    """
    # A model of many classes has as many columns of scores.
    columns = ", ".join(map(repr, role.columns[:4]))
    if len(role.columns) > 4:
        columns += f" and {len(role.columns) - 4:,} more"
    claim = f"No heading says which column holds the {subject}, so {columns} is taken"
    if len(role.columns) > 1:
        claim = f"No heading says which columns hold the {subject}, so {columns} are taken"
    remedy = f"`{options[0]}` names another"
    if len(options) > 1:
        quoted = " and ".join(f"`{option}`" for option in options)
        remedy = f"{quoted} name others"
    return f"{claim} ({role.reason}): {remedy}."


class _TextRoleFinder:
    """Finds the roles of the columns of one split, and collects doubts."""

    def __init__(
        self,
        table: datasets.Dataset,
        contents: Contents,
        options: TextOptions,
        source_name: str,
        propose_labels: bool,
    ) -> None:
        self.table = table
        self.names = list(table.column_names)
        # The first row of a table without a heading proposes nothing.
        self.known_names: list[str] = []
        self.field_names: list[str] = []
        if not is_first_row(self.names) and not _has_heading_among_classes(contents, self.names):
            self.known_names = list(filter(contents.__contains__, self.names))
            self.field_names = list(
                filter(contents.__contains__, get_nested_features(self.table.features))
            )
        self.contents = contents
        self.options = options
        self.source_name = source_name
        self.takes_proposals = propose_labels
        self.doubts: list[str] = []

    def find_texts(self) -> tuple[Role, ...]:
        """Return the roles of the texts, and of the second texts if there are some."""
        pair = self.options.text_pair_column
        pair_roles: tuple[Role, ...] = ()
        if pair is not None:
            check_column_name(self.table, pair, "text_pair_column", self.source_name)
            pair_roles = (_make_named_role("text pair", pair, "text_pair_column"),)
        # The user's word is not checked against the cells.
        if self.options.text_column is not None:
            text = check_column_name(
                self.table, self.options.text_column, "text_column", self.source_name
            )
            return (_make_named_role("text", text, "text_column"), *pair_roles)
        if pair is None:
            usual_pair = self._find_usual_pair()
            if usual_pair:
                return usual_pair
        # Second texts that the user names are no first texts.
        candidates = [name for name in self.names if name != pair]
        role = self._find_text_by_heading(candidates)
        if role is not None:
            return (role, *pair_roles)
        return (*self._propose_texts(candidates), *pair_roles)

    def find_labels(self) -> tuple[Role, ...]:
        """Return the role of the labels; () if there are none and none are required."""
        column = self.options.label_column
        if column is not None:
            check_column_name(self.table, column, "label_column", self.source_name)
            return (_make_named_role("label", column, "label_column"),)
        headings = list_usual_columns(self.names, LABEL_HEADINGS)
        # A usual heading of labels comes before all contents, also of labels that repeat less.
        if headings:
            return (self._check_labels(headings),)
        return self._propose_labels()

    def _find_usual_pair(self) -> tuple[Role, ...]:
        """Return the roles of texts and second texts whose headings belong together."""
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
        headings = list_usual_columns(candidates, FIRST_TEXT_HEADINGS)
        if not headings:
            # TweetText, comment_text: one heading alone may end in the word.
            headings = list_ending_columns(candidates, TEXT_HEADINGS)
            if len(headings) != 1:
                return None
        column = headings[0]
        alternatives = [name for name in self._list_texts(candidates) if name != column]
        content = self.contents.get(column)
        # One text for all rows is an instruction, or the name of the task.
        if alternatives and content is not None and content.is_constant:
            self.doubts.append(
                f"All rows of {column!r}, which is taken for the texts by its heading, hold one text, and "
                f"{alternatives[0]!r} holds {self.contents[alternatives[0]].n_values:,} texts: `text_column` names the column "
                "that the model reads."
            )
        self._doubt_single_texts(column, alternatives)
        runner_up = [*headings[1:], *alternatives, ""][0]
        return Role("text", (column,), "heading", "by its heading", runner_up)

    def _doubt_single_texts(self, column: str, alternatives: Sequence[str]) -> None:
        """Doubt that texts are all if the heading of other texts continues theirs, as text_b continues text."""
        if self.options.text_pair_column is not None:
            return
        for name in alternatives:
            rest = name.removeprefix(column)
            # "textual" is another word.
            if rest != name and not rest[:1].isalpha():
                self.doubts.append(
                    f"The column {name!r} holds texts as well, and is not read: `text_pair_column` names the second "
                    "texts of pairs."
                )

    def _propose_texts(self, candidates: Sequence[str]) -> tuple[Role, ...]:
        """Return the texts that only their cells propose, or the two texts of pairs."""
        self._check_choices()
        texts = self._list_texts(candidates)
        if not texts:
            raise self._make_missing_error("texts", TEXT_HEADINGS, "text_column", ())
        if len(texts) == 1:
            role = Role("text", (texts[0],), "content", "the only column of texts")
            self.doubts.append(describe_proposal("texts", role, "text_column"))
            return (role,)
        longest = self.contents[texts[0]]
        second = self.contents[texts[1]]
        ratio = longest.n_letters / second.n_letters
        # Answers are longer than questions as well, but repeat.
        is_distinct = longest.n_values >= second.n_values
        # Titles and texts differ in length; premises and hypotheses, or drafts, do not. Of three texts, the longest
        # may be an answer or an explanation.
        if len(texts) == 2 and ratio >= MIN_TEXT_RATIO and is_distinct:
            reason = f"its texts are {ratio:.0f} times as long as those of {texts[1]!r}"
            role = Role("text", (texts[0],), "content", reason, texts[1])
            self.doubts.append(describe_proposal("texts", role, "text_column"))
            return (role,)
        if len(texts) == 2 and self.options.text_pair_column is None:
            return self._propose_pair(texts)
        raise OptionError(
            f"Expected a heading that says which column holds the texts in {self.source_name}, but "
            f"{_quote_names(texts)} all hold texts; name it with text_column=, and the second texts "
            "of pairs with text_pair_column=.",
            option=("text_column", "text_pair_column"),
        )

    def _propose_pair(self, texts: Sequence[str]) -> tuple[Role, ...]:
        """Return two columns of texts of similar length as the texts of pairs, in the order of the columns."""
        ordered = sorted(texts, key=[*self.names, *self.field_names].index)
        pair = Role("texts of pairs", tuple(ordered), "content", "the only two columns of texts")
        sentence = describe_proposal("texts", pair, "text_column", "text_pair_column")
        self.doubts.append(sentence)
        return (
            Role("text", (ordered[0],), "content", pair.reason, ordered[1]),
            Role("text pair", (ordered[1],), "content", pair.reason),
        )

    def _check_choices(self) -> None:
        """Ask about columns that may be choices: their items are no texts to classify.

        Raises:
            OptionError: If there are such columns.
        """
        # A user who names the labels, but no choices, has texts to classify.
        choices = self.contents.list_choices(self.known_names)
        if not choices or self.options.label_column is not None:
            return
        raise OptionError(
            "Expected a heading that says which columns hold the questions and the choices in "
            f"{self.source_name}, or the texts to classify, but {_quote_names(choices)} may hold choices; "
            "name them with prompt_column= and choices_column=, or the texts with text_column=.",
            option=("prompt_column", "choices_column", "text_column"),
        )

    def _check_labels(self, headings: Sequence[str]) -> Role:
        """Return the labels by their heading, with a doubt if their cells are texts."""
        column = headings[0]
        classes = [name for name in self._list_classes() if name != column]
        content = self.contents.get(column)
        # Every other row has its own label: answers to write, or references.
        if content is not None and content.has_texts and 2 * content.n_values > content.n_rows:
            alternative = f"; {_quote_names(classes)} may hold them" if classes else ""
            self.doubts.append(
                f"The column {column!r}, which is taken for the labels by its heading, holds texts "
                f"({content.n_values:,} different ones in {content.n_rows:,} rows){alternative}: `label_column` "
                "names the column of the labels."
            )
        elif content is not None:
            self._doubt_labels(column, classes)
        runner_up = [*headings[1:], *classes, ""][0]
        return Role("label", (column,), "heading", "by its heading", runner_up)

    def _doubt_labels(self, column: str, classes: Sequence[str]) -> None:
        """Doubt labels of which a third column lacks some values, if another column has them all.

        The cells of a column "category" may be those of a task; labels and answers have one set of values.
        """
        words = [name for name in classes if self.contents[name].kind == "text"]
        values = {column: self._list_values(column)}
        for name in words:
            values[name] = self._list_values(name)
        for name, answers in itertools.permutations(words, 2):
            shared = values[answers] & values[column]
            if shared and shared < values[answers] <= values[name]:
                self.doubts.append(
                    f"The column {column!r} is taken for the labels by its heading, but {name!r}, and not "
                    f"{column!r}, has all values of {answers!r}: `label_column` names the column of the labels."
                )
                return

    def _list_values(self, name: str) -> set[str]:
        return {*list_keys(self.contents.get_cells(name))} - {""}

    def _propose_labels(self) -> tuple[Role, ...]:
        classes = self._list_classes()
        selected, reason = self._select_labels(classes)
        # Gold labels, predictions and groups look alike, so that several are never decided here.
        if len(selected) != 1:
            if self.options.require_labels:
                raise self._make_missing_error("labels", LABEL_HEADINGS, "label_column", classes)
            return ()
        column = selected[0]
        alternatives = [name for name in classes if name != column]
        # Data without labels is audited as such, rather than by a column that merely fits.
        if not self.takes_proposals:
            self.doubts.append(
                f"No heading says which column holds the labels, so that none are read; {column!r} may hold them, "
                f"{reason}: `label_column` names it."
            )
            return ()
        role = Role("label", (column,), "content", reason, [*alternatives, ""][0])
        self.doubts.append(describe_proposal("labels", role, "label_column"))
        return (role,)

    def _select_labels(self, classes: Sequence[str]) -> tuple[list[str], str]:
        """Return the columns of classes that may be the labels, and why these."""
        # A column that has each of its values for every text tells systems or raters apart.
        labels = list(itertools.filterfalse(self._is_crossed, classes))
        if len(labels) == 1:
            n_values = self.contents[labels[0]].n_values
            return labels, f"the only column of classes, {n_values} of them"
        # Among several columns of classes, a heading such as airline_sentiment may settle it.
        by_heading = list_ending_columns(labels, LABEL_HEADINGS)
        if len(by_heading) == 1:
            reason = f"by the last word of its heading, among {len(classes)} columns of classes"
            return by_heading, reason
        decided = find_decided_label(self.contents, labels)
        if decided is None:
            return [], ""
        return [decided.column], decided.reason

    def _is_crossed(self, name: str) -> bool:
        """Return whether each text comes equally often with each value of a column."""
        texts = self._list_texts(self.names)
        # Fields of objects are no columns of the table.
        if not texts or not {name, texts[0]} <= {*self.table.column_names}:
            return False
        units = encode_rows(self.table, texts[:1])
        arms = encode_rows(self.table, (name,))
        return are_crossed(units, arms)

    def _list_texts(self, candidates: Sequence[str]) -> list[str]:
        names = list(filter(self.known_names.__contains__, candidates))
        texts = itertools.filterfalse(self._is_output, self.contents.list_texts(names))
        # Fields of objects are what no column is.
        return list(texts) or self.contents.list_texts(self.field_names)

    def _is_output(self, name: str) -> bool:
        """Return whether the texts of a column begin with a class of their row, as answers do."""
        cells = self.contents.get_cells(name)
        for column in self.known_names:
            content = self.contents[column]
            is_class = content.has_classes and content.kind in ("text", "marks")
            if is_class and begins_with_class(cells, self.contents.get_cells(column)):
                return True
        return False

    def _list_classes(self) -> list[str]:
        named = (self.options.text_column, self.options.text_pair_column)
        classes = self.contents.list_classes(name for name in self.known_names if name not in named)
        # Next to the labels in an object, numbers may count what was done with a row.
        if not any(self.contents[name].kind == "text" for name in classes):
            classes += self.contents.list_classes(self.field_names)
        return list(filter(self._may_be_said_by_people, classes))

    def _may_be_said_by_people(self, name: str) -> bool:
        """Return whether a column of classes is neither what a model answered nor whether a row counts."""
        return not is_model_answer(name) and not find_statuses(name, self._list_values(name))

    def _make_missing_error(
        self, subject: str, headings: Sequence[str], option: str, candidates: Sequence[str]
    ) -> OptionError:
        """Return the error of a role that no column has, with the columns that may have it."""
        question = ""
        if len(candidates) > 1:
            question = f", of which {_quote_names(candidates)} may hold them"
        return OptionError(
            f"Expected a column with the {subject} in {self.source_name}, such as {', '.join(headings[:3])}, but its "
            f"columns are {format_list([*self.names, *self.field_names])}{question}; name it with "
            f"{option}={describe_missing_heading(self.table)}.",
            option=option,
        )


def _has_heading_among_classes(contents: Contents, names: Sequence[str]) -> bool:
    """Return whether a heading is one of the classes of its column, as the first row of a file without headings is."""
    for name in names:
        if name not in contents or not contents[name].has_classes:
            continue
        if make_key(name) in list_keys(contents.get_cells(name)):
            return True
    return False


def _make_named_role(name: str, column: str, option: str) -> Role:
    return Role(name, (column,), "option", f"named by `{option}`")


def _quote_names(names: Sequence[str]) -> str:
    return format_list([repr(name) for name in names])
