"""Corrects known issues in the rows of a split, and counts and describes the corrections.

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
"""First words of the paragraph on corrected known issues in the description of a data set."""

ACTION_PHRASES = {
    "drop": "left out",
    "relabel": "with a corrected label",
    "note": "noted",
}
"""Action of an entry -> description of its items in a report, in this order."""

ROW_COLUMN = "__row__"
"""Column of the row numbers while a user's data are corrected."""


@dataclasses.dataclass(frozen=True)
class IssueCount(Result):
    """The number of items of a split that one entry of a table changed.

    Attributes:
        split: Name of the split, or of the functionality of a suite.
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
    """The corrected rows of a split, and the numbers of changed items.

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

    Each entry finds its items among the released rows, so that the order of the entries does not matter.

    Args:
        rows: The rows of the split, as column -> value.
        issues: Entries of a table of known issues. An entry about another split is ignored.
        split: Name of the split.
        read_split: Function from the name of another split to its rows; None if there is no such split.
        is_published: Whether the rows are those of the published files, for which an entry states the
            exact number of items.

    Returns:
        The remaining rows, and the number of items that each entry changed.

    Raises:
        ValueError: If an entry finds another number of items than it states.
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
        # The split with which a rule compares may be missing in a local folder.
        if issue.other_split is not None and issue.other_split not in other_splits:
            continue
        matches = _find_items(issue, corrected, items, other_splits)
        _check_count(issue, len(matches), len(corrected), split, is_published)
        if issue.action == "drop":
            matches = _select_rows_to_drop(issue, corrected, matches)
            # An item is counted only by the first entry that drops it.
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
    """Read the splits with which the rules of issues compare items.

    Args:
        issues: Entries of a table of known issues.
        read_split: Function from the name of a split to its rows; None if there is no such split.

    Returns:
        Split -> its items, for the splits that exist.
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
        issue: Entry of a table of known issues.
        rows: Rows of a split.
        items: Texts, choices and answer of each row, from `make_item`.
        splits: Other split -> its items, for rules that compare splits.

    Returns:
        Numbers of the rows, ascending.
    """
    if issue.rule is not None:
        return find_rows(issue.rule, items, splits)
    matches = []
    for number, (row, item) in enumerate(zip(rows, items, strict=True)):
        # If an entry has hashes and ids, the hashes are used: the hash of an item changes when its
        # publisher repairs it, so that the correction does not apply any more.
        if issue.hashes:
            is_match = item.compute_hash() in issue.hashes
        else:
            is_match = str(row.get("id")) in issue.ids
        if is_match:
            matches.append(number)
    return matches


def _check_count(issue: Issue, n_matches: int, n_rows: int, split: str, is_published: bool) -> None:
    """Check that a published split has as many items with an issue as the table states.

    Args:
        issue: Entry of a table of known issues. `count` is the expected number of items, and `n_items`
            the size of the split; None if unknown.
        n_matches: Number of items in which the issue was found.
        n_rows: Number of rows of the split.
        split: Name of the split.
        is_published: Whether the rows are those of the published files; otherwise nothing is checked.

    Raises:
        ValueError: If the numbers differ.
    """
    # A configuration may read only a part of the split, whose number of items is not in the table.
    is_whole_split = issue.n_items in (None, n_rows)
    can_compare = is_published and issue.count is not None and is_whole_split
    if can_compare and n_matches != issue.count:
        raise OptionError(
            f"Expected the known issue {issue.kind!r} in {issue.count} items of split {split!r}, "
            f"but found the issue in {n_matches}. Correct the table, or turn off known issues "
            "with known_issues=False.",
            option=OPTION,
        )


def _select_rows_to_drop(issue: Issue, rows: Sequence[Row], matches: Sequence[int]) -> list[int]:
    """Return the numbers of the rows to drop because of an issue.

    Args:
        issue: Entry of a table of known issues. If its field `drop` is "item", the rows in which the issue
            was found are dropped; if "pair", also their partners; if "perturbed", only those whose
            column `role` is "perturbed".
        rows: Rows of the split.
        matches: Numbers of the rows in which the issue was found.
    """
    if issue.drop == "perturbed":
        # The rule finds both items of a pair, but nothing is wrong with the original.
        return [row for row in matches if rows[row]["role"] == "perturbed"]
    if issue.drop == "pair":
        # Items of a pair have the same `source_id` in COPA, and the same `pair_id` in paired reviews.
        column = "source_id" if "source_id" in rows[0] else "pair_id"
        pairs = {rows[row][column] for row in matches}
        return [number for number, row in enumerate(rows) if row[column] in pairs]
    return list(matches)


def _make_count(issue: Issue, split: str, n_items: int, n_total: int) -> IssueCount:
    """Return the number of items of a split that an issue changed, with the kind and the reason.

    Args:
        issue: Entry of a table of known issues.
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
        known_issues: Path of a table, in the form of `issues.table`. True and False leave the data
            unchanged, because this package has no table for a user's own data.

    Returns:
        The data without the dropped items and with the new labels. `get_note` returns a description of
        the changes.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not a table, or an entry finds another number of items than it states.

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
        split: Name of the split; "" if the data has no splits.
        splits: All splits by name, for rules that compare splits; empty if the data has no splits.

    Returns:
        The split without the dropped items and with the new labels, and with a note in its description;
        the unchanged split if no issue was found.
    """
    # Rows are numbered, so that the remaining ones can be selected from `data`. Making a data set of the
    # Python values would change columns of some types, such as images.
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
        corrected = corrected.remove_columns("label").add_column("label", labels)
        # The new column has numbers. Cast it to the old type, which has the names of the classes.
        corrected = corrected.cast_column("label", data.features["label"])
    corrected.info.description = add_note(data.info.description or "", correction.counts)
    return corrected


# ------------------------------------------------------------------------------------ descriptions


def describe_counts(counts: Sequence[IssueCount]) -> str:
    """Describe the corrections of known issues, with one sentence per split; "" if there are none.

    Args:
        counts: The number of items of a split that each entry changed.

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
        # The split has no name if a user's data set has no splits.
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
        Kind of an issue -> number of items, such as {"conflicting label": 10}.
    """
    n_by_kind: dict[str, int] = {}
    for count in counts:
        if count.action == action:
            # Several entries may have the same kind, such as overlaps with two other splits.
            kind = count.kind.replace("_", " ")
            n_by_kind[kind] = n_by_kind.get(kind, 0) + count.n_items
    return n_by_kind


def add_note(description: str, counts: Sequence[IssueCount]) -> str:
    """Add a paragraph on the corrected known issues to the description of a data set.

    Args:
        description: The description. If it already has such a paragraph, it is replaced.
        counts: The number of items that each entry changed. If empty, the description is returned
            unchanged.
    """
    text = describe_counts(counts)
    if not text:
        return description
    # The description of a cached data set ends with an earlier note.
    head, _, _ = description.partition(NOTE_HEADING)
    note = f"{NOTE_HEADING} {text}"
    return f"{head.rstrip()}\n\n{note}".lstrip()


def get_note(data: datasets.Dataset | datasets.DatasetDict) -> str:
    """Return the paragraph on corrected known issues in the description of a data set.

    Args:
        data: A data set of `load_dataset` or `correct_dataset`, or a part of one.

    Returns:
        A paragraph, such as "Known issues: 1 of 3 items left out (1 copy)."; "" if nothing was changed.
    """
    import datasets as hf

    tables: list[Any] = [data]
    if isinstance(data, hf.DatasetDict):
        tables = list(data.values())
    notes: list[str] = []
    for table in tables:
        note = find_paragraph(table.info.description or "", NOTE_HEADING)
        # All splits of a data set may have the same description, and so the same note.
        if note and note not in notes:
            notes.append(note)
    return " ".join(notes)
