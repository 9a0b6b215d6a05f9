"""Tables of judgments by models and people.

A row of a table says which of two candidates a judge preferred: the item, the judge, the candidate shown first and the
one shown second (by the names of their authors), and the verdict. The same two candidates in the other order are the
swapped judgment of the same pair. Here are also the pairs to judge, and rating sheets: items without labels, in random
order, for people to answer, and their answers, read back.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rightreasons.core.arrays import Result
from rightreasons.core.errors import OptionError, one_line
from rightreasons.core.label_names import listing
from rightreasons.core.options import listed as listed_names
from rightreasons.core.options import takes
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import check_folder, write_text
from rightreasons.core.validation import (
    check_columns,
    check_count,
    check_each,
    check_ids,
    check_ragged,
    check_scores,
    check_seed,
)
from rightreasons.datasets.perturbing.planting import choices_of
from rightreasons.io import predictions
from rightreasons.io.columns import (
    USUAL_COLUMNS,
    Column,
    Columns,
    all_found,
    column_key,
    find_column,
    in_expression,
    named_column,
    names_in,
    read_columns,
)
from rightreasons.io.options import ConfidenceOptions, JudgmentOptions, PredictionOptions, ScoreOptions

if TYPE_CHECKING:
    import datasets

ANSWER, ITEM, CHOICE = "answer", "item", "choice "
"""The columns of a sheet beside the texts; choices are numbered from 1."""


@dataclasses.dataclass(frozen=True)
class Ratings(Result):
    """The answers of several people, as `human_performance` takes them.

    Attributes:
        ids: N ids of the items, in the order of the data.
        ratings: N rows, the choice of each rater, counted from 0.
        references: N right choices.
        n_choices: The largest number of choices of an item.
    """

    ids: tuple[str, ...]
    ratings: tuple[tuple[int, ...], ...]
    references: tuple[int, ...]
    n_choices: int


def write_rating_sheets(
    dataset: datasets.Dataset, out: str | os.PathLike[str], *, n_raters: int = 3, seed: int = 0
) -> list[Path]:
    """Write a sheet of multiple-choice items for each rater, without labels.

    Each rater has the items in a random order of their own, so that mirrored items seldom stand together. Items are
    named by a code, as an id may tell which item is the mirrored one. The column `answer` is to be filled with the
    number of the right choice.

    Args:
        dataset: Items with `id` and either `prompt` and `choices`, or `premise`, `choice1` and `choice2`; a column
            `question` is shown too.
        out: The folder of the sheets.
        n_raters: Number of raters; default 3.
        seed: Decides the orders.

    Returns:
        The files, `rater-1.csv` and so on.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If columns are missing or there are no items.

    References:
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, §3 and Table 3.

    Example:
        >>> import datasets, tempfile
        >>> row = {"id": "a", "prompt": "The man broke his toe.", "choices": ["A hammer fell.", "His sock tore."]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = write_rating_sheets(datasets.Dataset.from_list([{**row, "label": 0}]), folder, n_raters=2)
        ...     print([file.name for file in files])
        ...     print(files[0].read_text("utf-8-sig"), end="")
        ['rater-1.csv', 'rater-2.csv']
        item,prompt,choice 1,choice 2,answer
        433911c6eb0d,The man broke his toe.,A hammer fell.,His sock tore.,
    """
    check_count(n_raters, "n_raters")
    table = pd.DataFrame(_rows(dataset).values()).assign(**{ANSWER: ""}).fillna("")
    names = [f"rater-{rater}" for rater in range(1, n_raters + 1)]
    folder = check_folder(out, own=[f"{name}.csv" for name in names])
    files = []
    for name in names:
        shuffled = table.iloc[item_rng(check_seed(seed), name).permutation(len(table))]
        # Spreadsheets take a file for UTF-8 by its first character.
        files.append(write_text(folder / f"{name}.csv", "\ufeff" + shuffled.to_csv(index=False, lineterminator="\n")))
    return files


def read_rating_sheets(dataset: datasets.Dataset, files: Sequence[str | os.PathLike[str]]) -> Ratings:
    """Read the sheets that raters have filled.

    Args:
        dataset: The items that the sheets were written from, with `label`.
        files: The csv file of each rater, at least 2, in any order of rows; comma- or semicolon-separated.

    Returns:
        `Ratings`, for `rightreasons.cues.agreement.human_performance`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a sheet lacks an item or an answer, has an item twice or one that is not in the data, or an
            answer is not the number of a choice.

    Example:
        >>> import datasets, tempfile
        >>> from pathlib import Path
        >>> row = {"id": "a", "prompt": "The man broke his toe.", "choices": ["A hammer fell.", "His sock tore."]}
        >>> data = datasets.Dataset.from_list([{**row, "label": 0}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = write_rating_sheets(data, folder, n_raters=2)
        ...     for file, answer in zip(files, "12"):
        ...         _ = file.write_text(file.read_text("utf-8-sig").rstrip() + answer, "utf-8")
        ...     read_rating_sheets(data, files).ratings
        ((0, 1),)
    """
    if len(files) < 2:
        raise ValueError(f"Expected the sheets of at least 2 raters in `files`, but got {len(files)}.")
    check_columns(dataset.column_names, ["label"], "the items, to compare the answers with")
    sizes = {code: sum(column.startswith(CHOICE) for column in row) for code, row in _rows(dataset).items()}
    sheets = [_answers(Path(file), sizes) for file in files]
    ids, labels = tuple(map(str, dataset["id"][:])), dataset["label"][:]
    for name, size, label in zip(ids, sizes.values(), labels, strict=True):
        if not isinstance(label, int) or not 0 <= label < size:
            raise ValueError(f"Expected the label of item {name!r} to be one of its choices, but it is {label}.")
    return Ratings(
        ids=ids,
        ratings=tuple(tuple(sheet[code] for sheet in sheets) for code in sizes),
        references=tuple(labels),
        n_choices=max(sizes.values()),
    )


def _rows(dataset: datasets.Dataset) -> dict[str, dict[str, str]]:
    """Return what a sheet shows of each item, by its code."""
    prompt = "prompt" if "prompt" in dataset.column_names else "premise"
    choices = ("choices",) if "choices" in dataset.column_names else ("choice1", "choice2")
    check_columns(dataset.column_names, ("id", prompt, *choices), "the items to rate")
    if len(dataset) == 0:
        raise ValueError("Expected at least one item to rate, but the data set is empty.")
    shown = [column for column in (prompt, "question") if column in dataset.column_names]
    rows = {}
    for name, row in zip(check_ids(dataset["id"][:], "id"), dataset, strict=True):
        code = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
        texts = {column: str(row[column]) for column in shown}
        rows[code] = {ITEM: code, **texts, **{f"{CHOICE}{k}": text for k, text in enumerate(choices_of(row), 1)}}
    return rows


def _answers(file: Path, sizes: dict[str, int]) -> dict[str, int]:
    """Return the choice of each item by its code."""
    columns = read_columns(file, ScoreOptions())[0]
    check_columns([*columns], (ITEM, ANSWER), file.name)
    codes, answers = ([str(cell).strip() for cell in columns[name]] for name in (ITEM, ANSWER))
    check_ids(codes, f"item of {file.name}")
    check_each(codes, sizes.__contains__, f"items of the data in {file.name}", first=2)
    if len(codes) < len(sizes):
        raise ValueError(f"Expected answers to {len(sizes)} items in {file.name}, but got {len(codes)}.")
    for line, (code, answer) in enumerate(zip(codes, answers, strict=True), 2):
        numbers = list(map(str, range(1, sizes[code] + 1)))
        check_each([answer], numbers.__contains__, f"an answer from 1 to {sizes[code]} in {file.name}", first=line)
    return {code: int(answer) - 1 for code, answer in zip(codes, answers, strict=True)}


# ------------------------------------------------------------------------------------------------- tables of confidence


ROWS: Mapping[str, Sequence[str]] = USUAL_COLUMNS["confidence"]
"""Usual names of the columns that say which item a row is about, from which source, and of which group."""

PREFIX = "confidence_"
"""What the columns of a wide table begin with; the rest names the source."""


@dataclasses.dataclass(frozen=True, eq=False)
class ConfidenceTable:
    """How sure each source was of its answers to N items.

    Attributes:
        items: N names of items.
        confidence: Source -> (N,) confidence in [0, 1]; NaN where the source gave none.
        correct: Source -> (N,) 1 where the answer was right, 0 where it was wrong, -1 where the source has no answer.
        groups: N names of groups, "" for none; None where there are no groups.
        used: In words, which columns were taken for what.
    """

    items: tuple[str, ...]
    confidence: dict[str, NDArray[np.float64]]
    correct: dict[str, NDArray[np.int64]]
    groups: tuple[str, ...] | None = None
    used: str = ""

    def __len__(self) -> int:
        return len(self.items)


@takes(ConfidenceOptions)
def read_confidence(files: Any, *, options: ConfidenceOptions) -> ConfidenceTable:
    """Read how sure the authors of answers were, from one file or table, or from several.

    Args:
        files: A file as `read_predictions` takes them, a log of lm-evaluation-harness or inspect_ai among them, a table
            in memory, or a list of files.
        options: The fields of `ConfidenceOptions`, for columns whose names do not say what they are.

    Returns:
        A `ConfidenceTable` of all items that any source has.

    Raises:
        TypeError: If it is neither a file nor a table.
        FileNotFoundError: If a file is missing.
        ValueError: If a column is missing, a confidence is not in [0, 1], a source has an item twice, or the sources
            cannot be matched by items.

    Example:
        >>> rows = {"item": ["a", "b", "a"], "source": ["p", "p", "said"], "confidence": [0.9, 0.4, 0.8],
        ...         "correct": [1, 0, 1]}
        >>> table = read_confidence(rows)
        >>> table.confidence["said"].tolist(), table.correct["said"].tolist()
        ([0.8, nan], [1, -1])
    """
    several = isinstance(files, Sequence) and not isinstance(files, (str, os.PathLike))
    if several and not files:
        raise ValueError("Expected at least one file of confidence, but got none.")
    parts = [_confidence_rows(one, options, several and len(files) > 1) for one in (files if several else [files])]
    table = pd.concat(parts, ignore_index=True)
    twice = table[table.duplicated(["name", "item"])]
    if len(twice):
        name, item, where = twice[["name", "item", "where"]].iloc[0]
        raise OptionError(
            f"Expected each item once per source in {where}, but {name!r} has {item!r} twice; name the sources with "
            "`source_column`, or the items with `item_column`.",
            option=("source_column", "item_column"),
        )
    grouped = table.dropna(subset="group").drop_duplicates(["item", "group"])
    group_of = dict(zip(grouped["item"], grouped["group"], strict=True))
    if len(group_of) < len(grouped):
        item = grouped["item"][grouped.duplicated("item")].iloc[0]
        first, second = grouped["group"][grouped["item"] == item].iloc[:2]
        raise ValueError(f"Expected each item in one group, but {item!r} is in {first!r} and in {second!r}.")
    if table["by_row"].any() and len({part.index.nunique() for part in parts}) > 1:
        odd = table["where"][table["by_row"]].iloc[0]
        raise OptionError(
            f"Expected a column that names the items ({', '.join(ROWS['item'])}) in {odd}, as the files have "
            "different numbers of rows; name it with `item_column`.",
            option="item_column",
        )
    names = table["name"].unique()
    items = table.set_index("name").loc[names, "item"].unique()
    wide = table.pivot(index="item", columns="name", values=["confidence", "correct"]).reindex(items)
    return ConfidenceTable(
        items=tuple(items),
        confidence={name: wide["confidence", name].to_numpy(np.float64) for name in names},
        correct={name: wide["correct", name].fillna(-1).to_numpy(np.int64) for name in names},
        groups=tuple(group_of.get(item, "") for item in items) if group_of else None,
        used="; ".join(table["used"].unique()),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _confidence_rows(source: Any, options: ConfidenceOptions, is_one_of_several: bool) -> pd.DataFrame:
    """Return the rows of one file, once per column of confidence; the index is the number of the row."""
    columns, options, where = read_columns(source, options)
    named = {what: getattr(options, f"{what}_column") for what in ROWS}
    item, by, group = (
        find_column(columns, named[what], usual, f"{what}_column", where) for what, usual in ROWS.items()
    )
    names = listed_names(options.confidence_column) or [
        name
        for name in columns
        if column_key(name) in predictions.USUAL["confidence"] or name.lower().startswith(PREFIX)
    ]
    for name in names:
        named_column(columns, name, "confidence_column", where)
    if by is not None and item is None and len(set(map(str, columns[by]))) > 1:
        raise OptionError(
            f"Expected a column that names the items ({', '.join(ROWS['item'])}) in {where}, as it has several "
            "sources; name it with `item_column`.",
            option="item_column",
        )
    if names:
        of_right = PredictionOptions(correct_column=options.correct_column)
        right, told, _ = predictions.correctness(predictions.roles_of(columns, where, of_right))
        read: dict[str, Any] = {
            re.sub(f"(?i)^{PREFIX}", "", name) if len(names) > 1 else "": _confidences(columns[name], name, where)
            for name in names
        }
        if all(np.isnan(values).all() for values in read.values()):
            raise ValueError(
                f"Expected the confidence in each answer in {listing(names)} of {where}, but no row has one."
            )
        used = f"confidence: {listing(names)}; right: {' is '.join(told)}"
    else:
        likeliest, right, used = _top_label(columns, where, options)
        read = {"": likeliest}
    of_file = Path(source).name.split(".")[0] if isinstance(source, (str, os.PathLike)) else "table"
    n_rows = len(next(iter(columns.values())))
    sources = names_in(columns[by]) if by else [of_file if is_one_of_several else ""] * n_rows
    rows = {
        "item": names_in(columns[item] if item else range(n_rows)),
        "group": None if group is None else [name or None for name in names_in(columns[group])],
        "correct": right,
    }
    shared = {"where": where, "used": used, "by_row": item is None}
    return pd.concat(
        pd.DataFrame(
            {**rows, "name": [f"{one} {column}".strip() or "confidence" for one in sources], "confidence": values}
        ).assign(**shared)
        for column, values in read.items()
    )


def _confidences(column: Column, name: str, where: str) -> NDArray[np.float64]:
    values = predictions.as_numbers(column, name, missing=True)
    check_each(
        values,
        lambda value: not (value < 0 or value > 1),
        f"the confidence in each answer, from 0 to 1, or nothing, in column {name!r} of {where} (`confidence_column` "
        f"may divide percentages: '{{{{ {in_expression(name)} | float / 100 }}}}')",
    )
    return values


def _top_label(columns: Columns, where: str, options: ConfidenceOptions) -> tuple[list[float], Any, str]:
    """Return the probability of the likeliest class of each item, and whether it is the label."""
    of_right = PredictionOptions(correct_column=options.correct_column)
    found = predictions.find_predictions(columns, where, answers_alone=True, options=of_right)
    if found.answers_once:
        raise OptionError(
            f"Expected a confidence or scores beside the answers of {where}, but it has answers alone: `elicit` asks a "
            "model how sure it is, and a column of it is named by `confidence_column`.",
            option=("elicit", "confidence_column"),
        )
    if found.kind == "confidence":
        return list(found.predictions), found.references, found.used
    if found.references is None or (found.references < 0).any():
        raise ValueError(f"Expected a label in each row of {where}, but some have none.")
    table, scores = found.predictions, found.scores or "probabilities"
    rows = check_ragged(table, scores=scores) if isinstance(table, list) else check_scores(table, scores=scores)
    answers = [int(row.argmax()) for row in rows]
    confidence = [float(row[answer]) for row, answer in zip(rows, answers, strict=True)]
    used = f"{found.used}; confidence: the probability of the likeliest class"
    return confidence, np.array(answers) == found.references, used


# ------------------------------------------------------------------------------------------------------------ judgments


USUAL: Mapping[str, Sequence[str]] = USUAL_COLUMNS["judgments"]
"""Usual names of columns by what they hold."""

SHOWN = {"first": "candidate shown first", "second": "candidate shown second", "verdict": "verdict"}
"""What a row of judgments must have -> in words."""

ASKED = {"prompt": "prompt", "first_text": "answer shown first", "second_text": "answer shown second"}
"""What a row of pairs must have -> in words."""

FIRST = frozenset(("first", "a", "model_a", "candidate_a", "[[a]]", "1"))
SECOND = frozenset(("second", "b", "model_b", "candidate_b", "[[b]]", "2"))
TIE = frozenset(("tie", "both", "draw", "[[c]]", "c", "equal"))
NONE = frozenset(("", "none", "null", "nan", "error", "n/a"))


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedPairs:
    """The judgments of one judge on N pairs of candidates; `analysis.judge_bias` says what each array is.

    Attributes:
        judge: The judge.
        items: N names of items.
        pairs: N (first, second) names of candidates.
        first_wins: (N,) share of judgments that the first wins where it is shown first; NaN for none.
        swapped: (N,) the same where it is shown second.
        longer: (N,) 1, 0 or 0.5; NaN where lengths are unknown.
        reference: (N,) share of judgments of the reference that the first wins; NaN for none.
    """

    judge: str
    items: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    first_wins: NDArray[np.float64]
    swapped: NDArray[np.float64]
    longer: NDArray[np.float64]
    reference: NDArray[np.float64]

    @property
    def own(self) -> NDArray[np.float64]:
        """(N,) 1 where the first candidate is the judge's own, 0 where the second is, 0.5 otherwise."""
        return np.array([0.5 * (1 + (first == self.judge) - (second == self.judge)) for first, second in self.pairs])


@dataclasses.dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of a table, by judge.

    Attributes:
        judges: The judges with what they said.
        n_rows: Rows of the table.
        n_without: Rows without a verdict, such as answers that could not be parsed.
    """

    judges: tuple[JudgedPairs, ...]
    n_rows: int
    n_without: int


@takes(JudgmentOptions)
def read_judgments(source: Any, *, options: JudgmentOptions) -> Judgments:
    """Read which of two candidates judges preferred.

    Verdicts are "first", "second" and "tie", also as A, B and C, [[A]], 1 and 2, or model_a and model_b, or the name of
    the candidate; an empty one is none. The reference of a judge is the column for it, or else all other judges.

    Args:
        source: A file as `read_predictions` takes them, or a table.
        options: The fields of `JudgmentOptions`, for columns whose names do not say what they are.

    Returns:
        The pairs of each judge.

    Raises:
        ValueError: If a column is missing, a verdict is unknown, or two candidates of a row have one name.

    Example:
        >>> rows = {"item": [1, 1], "model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]}
        >>> pairs = read_judgments(rows).judges[0]
        >>> pairs.pairs, pairs.first_wins.tolist(), pairs.swapped.tolist()
        ((('x', 'y'),), [1.0], [0.5])
    """
    rows, keys = [], dict[tuple[str, ...], int]()
    held_by_row, where = _held(source, options, needed=SHOWN)
    for row, held in enumerate(held_by_row):
        first, second, place = str(held["first"]), str(held["second"]), f"row {row} of {where}"
        key = (str(held.get("item", row)), *sorted((first, second)))
        reference = _verdict(held["reference"], first, second, place) if "reference" in held else None
        values = (_verdict(held["verdict"], first, second, place), reference, _longer(held, place))
        turned = (None if value is None else value if first == key[1] else 1 - value for value in values)
        judge = str(held.get("judge", "judge"))
        rows.append((keys.setdefault(key, len(keys)), judge, key[0], (first, second), first == key[1], *turned))
    columns = ["pair", "judge", "item", "shown", "ahead", "wins", "reference", "longer"]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[5:], float))
    return Judgments(
        judges=tuple(_pairs_of(judge, table) for judge in table["judge"].unique()),
        n_rows=len(rows),
        n_without=int(table["wins"].isna().sum()),
    )


@takes(JudgmentOptions)
def read_pairs(source: Any, *, options: JudgmentOptions) -> dict[str, list[Any]]:
    """Read pairs of answers that a model can be asked to judge.

    Args:
        source: A file as `read_predictions` takes them, or a table: what is answered, two answers, perhaps an item, the
            names of their authors and the verdict of a reference, as `read_judgments` takes it.
        options: The fields of `JudgmentOptions`, for columns whose names do not say what they are.

    Returns:
        Columns for `probes.judges.judge_pairs`: item, prompt, first_text, second_text, first and second where
        there are authors, and reference ("first", "second", "tie" or "") where there is one.

    Raises:
        ValueError: If a column is missing, a text is empty, a verdict is unknown, or two authors have one name.

    Example:
        >>> pairs = read_pairs({"question": ["Why?"], "answer_a": ["So."], "answer_b": ["No."], "human": ["A"]})
        >>> pairs["prompt"], pairs["first_text"], pairs["reference"]
        (['Why?'], ['So.'], ['first'])
    """
    rows, where = _held(source, options, needed=ASKED)
    pairs: dict[str, list[Any]] = {"item": [str(held.get("item", row)) for row, held in enumerate(rows)]}
    for what in ASKED:
        texts = [held[what] for held in rows]
        pairs[what] = ["" if text is None or text != text else str(text) for text in texts]
        check_each(pairs[what], str.strip, f"a text as the {ASKED[what]} in each row of {where}")
    if {"first", "second"} <= rows[0].keys():
        pairs |= {side: [str(held[side]) for held in rows] for side in ("first", "second")}
    if "reference" in rows[0]:
        words = {1.0: "first", 0.0: "second", 0.5: "tie", None: ""}
        pairs["reference"] = [
            words[_verdict(held["reference"], *_authors(held), f"row {row} of {where}")]
            for row, held in enumerate(rows)
        ]
    return pairs


# ------------------------------------------------------------------------------------------------------------- private


def _held(source: Any, options: JudgmentOptions, needed: Mapping[str, str]) -> tuple[list[dict[str, Any]], str]:
    """Return what each row of a table holds of `USUAL`, without what it has no column of, and what it is called."""
    columns, options, where = read_columns(source, options)

    def find(what: str) -> str | None:
        option = f"{what}_column"
        return find_column(columns, getattr(options, option), USUAL[what], option, where, needed.get(what, ""))

    found = all_found(*(functools.partial(find, what) for what in USUAL))
    taken = {what: columns[name] for what, name in zip(USUAL, found, strict=True) if name is not None}
    rows = [dict(zip(taken, cells, strict=True)) for cells in zip(*taken.values(), strict=True)]
    check_each(map(_authors, rows), lambda pair: pair[0] != pair[1], f"two candidates in each row of {where}")
    return rows, where


def _authors(held: Mapping[str, Any]) -> tuple[str, str]:
    return str(held.get("first", "first")), str(held.get("second", "second"))


def _pairs_of(judge: str, table: pd.DataFrame) -> JudgedPairs:
    """Join the judgments of the same two candidates, and those of the others as their reference.

    The table counts for the alphabetically first candidate; the pairs, for the one that the judge first saw first.
    """
    own, ahead = table["judge"] == judge, table["ahead"]
    pairs = table[own].drop_duplicates("pair")
    stated = table["reference"].notna().any()
    parts = {
        "first": table["wins"].where(own & ahead),
        "second": table["wins"].where(own & ~ahead),
        "longer": table["longer"],
        "reference": table["reference"] if stated else table["wins"].where(~own),
    }
    means = pd.DataFrame(parts).groupby(table["pair"]).mean().loc[pairs["pair"]]
    turned = ~pairs["ahead"].to_numpy()
    first, second, longer, reference = (np.where(turned, 1 - mean, mean) for mean in means.to_numpy().T)
    return JudgedPairs(
        judge,
        items=tuple(pairs["item"]),
        pairs=tuple(pairs["shown"]),
        first_wins=np.where(turned, second, first),
        swapped=np.where(turned, first, second),
        longer=longer,
        reference=reference,
    )


def _verdict(value: Any, first: str, second: str, place: str) -> float | None:
    """Return 1 where the first wins, 0 where the second does, 0.5 for a tie and None for no verdict."""
    text = "" if value is None else str(value).strip()
    word = text.lower().split(" (")[0]
    if text in (first, second):
        if word in (FIRST if text == second else SECOND):
            raise ValueError(
                f"Expected a verdict that names one candidate, but in {place} {text!r} names a place and the candidate "
                "in the other: rename the candidates."
            )
        return float(text == first)
    for known, share in ((FIRST, 1.0), (SECOND, 0.0), (TIE, 0.5), (NONE, None)):
        if word in known:
            return share
    raise ValueError(
        f"Expected first, second or tie, A, B or C, or the name of a candidate as the verdict, but {place} has "
        f"{text[:40]!r}."
    )


def _longer(held: Mapping[str, Any], place: str) -> float | None:
    """Return 1 where the first candidate is longer, 0 where the second is, 0.5 for equal; None where one is unknown."""
    lengths = []
    for side in ("first", "second"):
        if f"{side}_length" in held:
            (told,) = names_in([held[f"{side}_length"]])
            if told and not told.isdecimal():  # "1,234" and "1.234" have a mark of thousands, or not
                raise ValueError(
                    f"Expected a length, a whole number without marks of thousands, or nothing, for the {side} "
                    f"candidate, but {place} has {one_line(told, 40)}."
                )
            length = float(told or "nan")
        else:
            text = held.get(f"{side}_text")
            length = np.nan if text is None else float(len(str(text)))
        lengths.append(length)
    if np.isnan(lengths).any():
        return None
    return 0.5 + 0.5 * float(np.sign(lengths[0] - lengths[1]))
