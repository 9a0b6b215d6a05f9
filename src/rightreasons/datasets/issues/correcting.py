"""Applies known issues to the rows of a split, counts what it changed, and says so.

`correct_rows` works on the rows that a builder reads, `correct_dataset` on a user's own data set.
The counts travel in the description of a data set, where `get_note` finds them for reports.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.core.errors import OptionError
from rightreasons.core.results import Result
from rightreasons.core.sentences import find_paragraph
from rightreasons.datasets.issues.rules import Item, Row, find_rows, make_item
from rightreasons.datasets.issues.table import OPTION, Issue, KnownIssues, select_issues

if TYPE_CHECKING:
    import datasets

NOTE_HEADING = "Known issues:"
"""First words of the paragraph of a description that says what was changed."""

ACTION_PHRASES = {
    "drop": "left out",
    "relabel": "with a corrected label",
    "note": "noted",
}
"""Action of an entry -> what a report says about its items, in this order."""

ROW_COLUMN = "__row__"
"""Column of the row numbers while a user's data are corrected."""


@dataclasses.dataclass(frozen=True)
class IssueCount(Result):
    """What one entry did to one split.

    Attributes:
        split: The split, or the suite.
        kind: Kind of the issue.
        action: "drop", "relabel" or "note".
        n_items: Number of items that the entry changed, or found if it only notes.
        n_total: Number of items of the split before any change.
        reason: What is wrong, as a sentence.
    """

    split: str
    kind: str
    action: str
    n_items: int
    n_total: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Correction:
    """The rows of a split after the known issues, and what was changed.

    Attributes:
        rows: The remaining rows, relabeled where an entry says so.
        counts: One count per entry that found an item.
    """

    rows: list[dict[str, Any]]
    counts: tuple[IssueCount, ...]


def correct_rows(
    rows: Iterable[Row],
    issues: Sequence[Issue],
    *,
    split: str,
    read_split: Callable[[str], Iterable[Row] | None],
    is_published: bool = False,
) -> Correction:
    """Apply known issues to the rows of one split.

    All entries look at the rows as released; only then are items dropped and relabeled. So the
    order of the entries does not matter.

    Args:
        rows: The rows of the split, as column -> value.
        issues: Entries of a table of known issues; those of other splits are ignored.
        split: Name of the split.
        read_split: Returns the rows of another split, None if there is no such split.
        is_published: Whether the rows are the published ones, so that the counts must be exact.

    Returns:
        The remaining rows, and the number of items that each entry changed.

    Raises:
        ValueError: If an entry finds another number of items than it says.
    """
    corrected = list(map(dict, rows))
    issues = [issue for issue in issues if issue.split in (None, split)]
    if not issues:
        return Correction(corrected, ())

    items = list(map(make_item, corrected))
    other_splits = _read_other_splits(issues, read_split)
    dropped_rows: set[int] = set()
    counts = []
    for issue in issues:
        # A local folder may lack the split that a rule compares with.
        if issue.other_split is not None and issue.other_split not in other_splits:
            continue
        matches = _find_items(issue, corrected, items, other_splits)
        _check_count(issue, len(matches), len(corrected), split, is_published)
        if issue.action == "drop":
            matches = _extend_drop(issue, corrected, matches)
            # Entries may overlap: an item is counted by the first entry that drops it.
            matches = [row for row in matches if row not in dropped_rows]
            dropped_rows.update(matches)
        elif issue.action == "relabel":
            for row in matches:
                corrected[row]["label"] = issue.to[0]
        if matches:
            counts.append(_make_count(issue, split, len(matches), len(corrected)))

    # An item that one entry relabels and another one drops is dropped.
    remaining = []
    for number, corrected_row in enumerate(corrected):
        if number not in dropped_rows:
            remaining.append(corrected_row)
    return Correction(remaining, tuple(counts))


def _read_other_splits(
    issues: Sequence[Issue], read_split: Callable[[str], Iterable[Row] | None]
) -> dict[str, list[Item]]:
    """Read the splits with which the rules of some issues compare, each once.

    Args:
        issues: The issues.
        read_split: Returns the rows of a split, None if there is no such split.

    Returns:
        Split -> its items, without missing splits.
    """
    items_by_split: dict[str, list[Item]] = {}
    for issue in issues:
        name = issue.other_split
        if name is None or name in items_by_split:
            continue
        rows = read_split(name)
        if rows is not None:
            items_by_split[name] = list(map(make_item, rows))
    return items_by_split


def _find_items(
    issue: Issue,
    rows: Sequence[Row],
    items: Sequence[Item],
    splits: Mapping[str, Sequence[Item]],
) -> list[int]:
    """Find the items that an issue is about, by its rule, its hashes or its ids.

    Args:
        issue: The issue.
        rows: Rows of a split.
        items: The item of each row.
        splits: Other split -> its items, for rules that compare splits.

    Returns:
        Numbers of the rows, ascending.
    """
    if issue.rule is not None:
        return find_rows(issue.rule, items, splits)
    matches = []
    for number, (row, item) in enumerate(zip(rows, items, strict=True)):
        # Hashes are preferred to ids: a repaired item has another hash, so that the correction no
        # longer applies to it.
        if issue.hashes:
            is_match = item.compute_hash() in issue.hashes
        else:
            is_match = str(row.get("id")) in issue.ids
        if is_match:
            matches.append(number)
    return matches


def _check_count(issue: Issue, n_matches: int, n_rows: int, split: str, is_published: bool) -> None:
    """Check that a published split has as many items with an issue as the table says.

    Args:
        issue: The issue.
        n_matches: Number of items in which it was found.
        n_rows: Number of rows of the split.
        split: Name of the split.
        is_published: Whether the rows are the published ones; otherwise nothing is checked.

    Raises:
        ValueError: If the numbers differ.
    """
    # A configuration may read a part of the split, for which the table has no count.
    is_whole_split = issue.n_items in (None, n_rows)
    is_comparable = is_published and issue.count is not None and is_whole_split
    if is_comparable and n_matches != issue.count:
        raise OptionError(
            f"Expected the known issue {issue.kind!r} in {issue.count} items of split {split!r}, "
            f"but found the issue in {n_matches}. Correct the table, or turn off known issues "
            "with known_issues=False.",
            option=OPTION,
        )


def _extend_drop(issue: Issue, rows: Sequence[Row], matches: Sequence[int]) -> list[int]:
    """Return the numbers of the rows to drop for an issue that was found in some rows.

    Args:
        issue: The issue. Its field `drop` says whether to drop the "item" itself, its whole "pair", or
            only the "perturbed" items among those that were found.
        rows: Rows of the split.
        matches: Numbers of the rows in which the issue was found.
    """
    if issue.drop == "perturbed":
        # The rule finds both items of a pair, of which the original is sound.
        return [row for row in matches if rows[row]["role"] == "perturbed"]
    if issue.drop == "pair":
        # COPA has the id of the original, and paired reviews have the id of the pair.
        column = "source_id" if "source_id" in rows[0] else "pair_id"
        pairs = {rows[row][column] for row in matches}
        return [number for number, row in enumerate(rows) if row[column] in pairs]
    return list(matches)


def _make_count(issue: Issue, split: str, n_items: int, n_total: int) -> IssueCount:
    """Return the count of what an issue did to a split.

    Args:
        issue: The issue.
        split: Name of the split.
        n_items: Number of items that were changed or noted.
        n_total: Number of items of the split.
    """
    return IssueCount(
        split=split,
        kind=issue.kind,
        action=issue.action,
        n_items=n_items,
        n_total=n_total,
        reason=issue.reason,
    )


# ------------------------------------------------------------------------------ a user's own data


def correct_dataset(
    data: datasets.Dataset | datasets.DatasetDict, known_issues: KnownIssues
) -> datasets.Dataset | datasets.DatasetDict:
    """Apply a user's table of known issues to a data set.

    Args:
        data: Rows with the columns of this package: `text` (and `text_pair`), or `prompt` and
            `choices`, or `premise`, `question`, `choice1` and `choice2`; with `label`, and `id` if
            the table names ids.
        known_issues: A file in the form of `issues.table`. True and False leave the data unchanged,
            as this package knows no issues of them.

    Returns:
        The data without the dropped items and with the new labels. `get_note` returns what was
        changed.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no table, or an entry finds another number of items than it says.

    Example:
        >>> import datasets, tempfile
        >>> table = "[{kind: copy, rule: {duplicate: {}}, action: drop}]"
        >>> data = datasets.Dataset.from_dict({"text": ["Fine.", "fine", "Dull."], "label": [1, 1, 0]})
        >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        ...     _ = file.write(table), file.flush()
        ...     corrected = correct_dataset(data, file.name)
        >>> corrected["text"][:], get_note(corrected)
        (['Fine.', 'Dull.'], 'Known issues: 1 of 3 items left out (1 copy).')
    """
    import datasets as hf

    issues = select_issues(known_issues)
    if not issues:
        return data
    if not isinstance(data, hf.DatasetDict):
        return _correct_split(data, issues, "", {})
    corrected = {}
    for split, rows in data.items():
        corrected[split] = _correct_split(rows, issues, split, data)
    return hf.DatasetDict(corrected)


def _correct_split(
    data: datasets.Dataset,
    issues: Sequence[Issue],
    split: str,
    splits: Mapping[str, datasets.Dataset],
) -> datasets.Dataset:
    """Apply known issues to one split of a user's data set.

    Args:
        data: The split.
        issues: Entries of the user's table.
        split: Name of the split; "" if the data has none.
        splits: All splits by name, for rules that compare splits; {} if there is only one.

    Returns:
        The split without the dropped items and with the new labels, and a note in its description. The
        split itself if nothing was found.
    """
    # The number of each row lets `select` copy columns of any type, such as images, without rebuilding
    # them from Python values.
    rows = []
    for number, row in enumerate(data):
        rows.append({**row, ROW_COLUMN: number})
    correction = correct_rows(rows, issues, split=split, read_split=splits.get, is_published=True)
    if not correction.counts:
        return data
    corrected = data.select([row[ROW_COLUMN] for row in correction.rows])
    is_relabeled = bool(_count_kinds(correction.counts, "relabel"))
    if is_relabeled:
        labels = [row["label"] for row in correction.rows]
        # The cast keeps the names of the classes.
        feature = data.features["label"]
        corrected = corrected.remove_columns("label").add_column("label", labels)
        corrected = corrected.cast_column("label", feature)
    corrected.info.description = add_note(data.info.description or "", correction.counts)
    return corrected


# ------------------------------------------------------------------------------------- what to say


def describe_counts(counts: Sequence[IssueCount]) -> str:
    """Describe what known issues changed, with one sentence per split; "" if they changed nothing.

    Example:
        >>> counts = [IssueCount("validation", "conflicting_label", "drop", 10, 1954, ""),
        ...           IssueCount("validation", "duplicate", "note", 19, 1954, "")]
        >>> print(describe_counts(counts))
        validation: 10 of 1,954 items left out (10 conflicting label), 19 noted (19 duplicate).
    """
    counts_by_split: dict[str, list[IssueCount]] = {}
    for count in counts:
        counts_by_split.setdefault(count.split, []).append(count)

    sentences = []
    for split, split_counts in counts_by_split.items():
        # One clause for each action: left out, relabeled, noted.
        clauses: list[str] = []
        for action, phrase in ACTION_PHRASES.items():
            n_by_kind = _count_kinds(split_counts, action)
            if not n_by_kind:
                continue
            number = f"{sum(n_by_kind.values()):,}"
            # Only the first clause gives the size of the split.
            if not clauses:
                number = f"{number} of {split_counts[0].n_total:,} items"
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in n_by_kind.items())
            clauses.append(f"{number} {phrase} ({kinds})")
        sentence = f"{', '.join(clauses)}."
        # The only split of a user's table has no name.
        if split:
            sentence = f"{split}: {sentence}"
        sentences.append(sentence)
    return " ".join(sentences)


def _count_kinds(counts: Sequence[IssueCount], action: str) -> dict[str, int]:
    """Sum the items of the entries with one action by the kind of issue.

    Args:
        counts: One count per entry.
        action: "drop", "relabel" or "note".

    Returns:
        Kind in words -> number of items, such as {"conflicting label": 10}.
    """
    n_by_kind: dict[str, int] = {}
    for count in counts:
        if count.action == action:
            # Several entries may have one kind, such as overlaps with two splits.
            kind = count.kind.replace("_", " ")
            n_by_kind[kind] = n_by_kind.get(kind, 0) + count.n_items
    return n_by_kind


def add_note(description: str, counts: Sequence[IssueCount]) -> str:
    """Add a paragraph to the description of a data set that says what known issues changed.

    Args:
        description: The description. An earlier paragraph of this kind is replaced.
        counts: The number of items that each entry changed; the description is returned unchanged if
            there are none.
    """
    text = describe_counts(counts)
    if not text:
        return description
    # A cached data set already has a note, at the end of its description.
    head = description.partition(NOTE_HEADING)[0].rstrip()
    note = f"{NOTE_HEADING} {text}"
    return f"{head}\n\n{note}".lstrip()


def get_note(data: datasets.Dataset | datasets.DatasetDict) -> str:
    """Return what known issues changed in a data set, as a paragraph; "" if nothing was changed.

    Args:
        data: A data set of `load_dataset` or `correct_dataset`, or a part of one.
    """
    import datasets as hf

    tables: list[Any] = [data]
    if isinstance(data, hf.DatasetDict):
        tables = list(data.values())
    notes: list[str] = []
    for table in tables:
        note = find_paragraph(table.info.description or "", NOTE_HEADING)
        # The splits of one data set share their description, and with it the note.
        if note and note not in notes:
            notes.append(note)
    return " ".join(notes)
