"""Labels by people: how well they agree (Fleiss' kappa), and sheets of items to rate, written and read back."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core import validation
from rightreasons.core.intervals import Interval, bounded_mean_interval, compute_wilson_ends
from rightreasons.core.resampling import item_rng
from rightreasons.core.results import Result
from rightreasons.core.store import check_folder, write_text
from rightreasons.core.validation import (
    check_all,
    check_columns,
    check_count,
    check_ids,
    check_seed,
)
from rightreasons.cues.labels import parse_runs
from rightreasons.datasets.perturbing.mirroring import choices_of
from rightreasons.io.columns import read_columns
from rightreasons.io.options import ScoreOptions

if TYPE_CHECKING:
    import datasets


METHOD = "Wilson at the effective number of items, Student's t"


@dataclasses.dataclass(frozen=True)
class FleissKappa(Result):
    """Agreement of raters beyond chance.

    Attributes:
        fleiss_kappa: In [-1 / (m - 1), 1] for m raters: 1 for full agreement, 0 for that of chance; None where all
            ratings are of one category.
        interval: Interval of it over items; None where kappa is.
        agreement: Share of the pairs of ratings of an item that agree, the mean over items.
        chance: The share that would agree by chance.
        n_items: Number of items.
        n_raters: Ratings per item.
        n_categories: Number of categories.
    """

    fleiss_kappa: float | None
    interval: Interval | None
    agreement: float
    chance: float
    n_items: int
    n_raters: int
    n_categories: int


@dataclasses.dataclass(frozen=True)
class HumanPerformance(Result):
    """How well people do on items, and how well they agree.

    Attributes:
        accuracy: Share of right answers over raters and items, in [0, 1].
        interval: Interval of it over items.
        kappa: `FleissKappa` of the answers.
    """

    accuracy: float
    interval: Interval
    kappa: FleissKappa


def fleiss_kappa(counts: Any, *, confidence_level: float = 0.95) -> FleissKappa:
    r"""Compute Fleiss' kappa.

    \[ \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
       P_i = \frac{\sum_j n_{ij} (n_{ij} - 1)}{m (m - 1)}, \quad \bar P_e = \sum_j p_j^2 \]

    for m ratings of each item, \(n_{ij}\) of them of category j, and \(p_j\) the share of all ratings.

    The interval is Wilson's on kappa, moved to [0, 1], with Student's t and with the number of items that has the
    linearized variance of kappa over the items. One vote of one more item counts as dissenting, so that the width is
    never zero.

    Args:
        counts: (N, K) how many raters put each item into each category; the same number of ratings, at least 2, of
            each of at least 2 items.
        confidence_level: Such as 0.95.

    Returns:
        `FleissKappa`.

    Raises:
        TypeError: If the counts are no whole numbers.
        ValueError: If they are no such table.

    References:
        Fleiss (1971), Measuring Nominal Scale Agreement among Many Raters.

    Example:
        >>> result = fleiss_kappa([[3, 0], [3, 0], [0, 3], [1, 2]])
        >>> round(result.fleiss_kappa, 4), round(result.agreement, 4), round(result.chance, 4)
        (0.6571, 0.8333, 0.5139)
    """
    table = _counts(counts)
    level = validation.check_fraction(confidence_level, "confidence_level", open_ends=True)
    n_items, n_raters = len(table), int(table[0].sum())
    agreements = ((table * table).sum(axis=1) - n_raters) / (n_raters * (n_raters - 1))
    shares = table.sum(axis=0) / table.sum()
    agreement, chance = float(agreements.mean()), float(shares @ shares)
    kappa = interval = None
    if np.count_nonzero(shares) > 1:
        kappa = (agreement - chance) / (1 - chance)
        beyond = 2 * (table @ shares / n_raters - chance)
        influence = ((agreements - agreement) * (1 - chance) - (1 - agreement) * beyond) / (
            1 - chance
        ) ** 2
        dissent = 2 / n_raters / (1 - chance)
        variance = float(np.sum(influence**2) + dissent**2) / (n_items * (n_items + 1))
        interval = _interval(kappa, variance, n_items, -1 / (n_raters - 1), level)
    return FleissKappa(kappa, interval, agreement, chance, n_items, n_raters, table.shape[1])


def human_performance(
    ratings: Any, references: Any, *, n_choices: int | None = None, confidence_level: float = 0.95
) -> HumanPerformance:
    """Compute how often raters choose the right answer, and how well they agree.

    Args:
        ratings: (N, R) the choice of each of R raters, at least 2, for each of N items.
        references: (N,) the right choices.
        n_choices: Number of choices of each item; None for the largest choice that occurs.
        confidence_level: Such as 0.95.

    Returns:
        `HumanPerformance`.

    Raises:
        TypeError: If something is no whole number.
        ValueError: If lengths differ, there are fewer than 2 items or raters, or a choice is beyond `n_choices`.

    References:
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, Table 3.

    Example:
        >>> result = human_performance([[0, 0, 0], [1, 1, 0], [1, 1, 1]], [0, 1, 1])
        >>> round(result.accuracy, 3), round(result.kappa.fleiss_kappa, 3)
        (0.889, 0.55)
    """
    right = validation.check_labels(references)
    table = parse_runs(ratings, "ratings", min_columns=2).T
    validation.check_same_length(ratings=table.T, references=right)
    largest = int(max(table.max(), right.max())) + 1
    size = (
        max(largest, 2)
        if n_choices is None
        else validation.check_count(n_choices, "n_choices", minimum=2)
    )
    if largest > size:
        raise ValueError(f"Expected choices below `n_choices` = {size}, but got {largest - 1}.")
    votes = np.stack([(table == choice).sum(axis=0) for choice in range(size)], axis=1)
    correct = table == right
    return HumanPerformance(
        accuracy=float(correct.mean()),
        interval=bounded_mean_interval(
            correct.mean(axis=0), low=0.0, high=1.0, confidence_level=confidence_level
        ),
        kappa=fleiss_kappa(votes, confidence_level=confidence_level),
    )


ANSWER, ITEM, CHOICE = "answer", "item", "choice "
"""The columns of a sheet beside the texts; choices are numbered from 1."""


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
        files.append(
            write_text(
                folder / f"{name}.csv", "\ufeff" + shuffled.to_csv(index=False, lineterminator="\n")
            )
        )
    return files


def read_rating_sheets(
    dataset: datasets.Dataset, files: Sequence[str | os.PathLike[str]]
) -> dict[str, Any]:
    """Read the sheets that raters have filled.

    Args:
        dataset: The items that the sheets were written from, with `label`.
        files: The csv file of each rater, at least 2, in any order of rows; comma- or semicolon-separated.

    Returns:
        What `human_performance` takes: "ratings", the choice of each rater, counted from 0; "references", the right
        choices; and "n_choices", the largest number of choices of an item.

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
        ...     read_rating_sheets(data, files)["ratings"]
        [[0, 1]]
    """
    if len(files) < 2:
        raise ValueError(
            f"Expected the sheets of at least 2 raters in `files`, but got {len(files)}."
        )
    check_columns(dataset.column_names, ["label"], "the items, to compare the answers with")
    sizes = {
        code: sum(column.startswith(CHOICE) for column in row)
        for code, row in _rows(dataset).items()
    }
    sheets = [_answers(Path(file), sizes) for file in files]
    labels = dataset["label"][:]
    for name, size, label in zip(dataset["id"][:], sizes.values(), labels, strict=True):
        if not isinstance(label, int) or not 0 <= label < size:
            raise ValueError(
                f"Expected the label of item '{name}' to be one of its choices, but it is {label}."
            )
    ratings = [[sheet[code] for sheet in sheets] for code in sizes]
    return {"ratings": ratings, "references": list(labels), "n_choices": max(sizes.values())}


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
        rows[code] = {
            ITEM: code,
            **texts,
            **{f"{CHOICE}{k}": text for k, text in enumerate(choices_of(row), 1)},
        }
    return rows


def _answers(file: Path, sizes: dict[str, int]) -> dict[str, int]:
    """Return the choice of each item by its code."""
    columns = read_columns(file, ScoreOptions())[0]
    check_columns([*columns], (ITEM, ANSWER), file.name)
    codes, answers = ([str(cell).strip() for cell in columns[name]] for name in (ITEM, ANSWER))
    check_ids(codes, f"item of {file.name}")
    check_all(codes, sizes.__contains__, f"items of the data in {file.name}", first=2)
    if len(codes) < len(sizes):
        raise ValueError(
            f"Expected answers to {len(sizes)} items in {file.name}, but got {len(codes)}."
        )
    for line, (code, answer) in enumerate(zip(codes, answers, strict=True), 2):
        numbers = list(map(str, range(1, sizes[code] + 1)))
        check_all(
            [answer],
            numbers.__contains__,
            f"an answer from 1 to {sizes[code]} in {file.name}",
            first=line,
        )
    return {code: int(answer) - 1 for code, answer in zip(codes, answers, strict=True)}


# ------------------------------------------------------------------------------------------------------------- private


def _counts(counts: Any) -> NDArray[np.int64]:
    table = parse_runs(counts, "counts", min_columns=2)
    if len(table) < 2:
        raise ValueError("Expected at least 2 items in `counts`, but got 1.")
    sums = table.sum(axis=1)
    for item, total in enumerate(sums):
        if total != sums[0] or total < 2:
            raise ValueError(
                f"Expected each item of `counts` to have the same number of ratings, at least 2, but item 0 has "
                f"{sums[0]} and item {item} has {total}."
            )
    return table


def _interval(kappa: float, variance: float, n_items: int, low: float, level: float) -> Interval:
    scale = 1 - low
    share = min(max((kappa - low) / scale, 0.0), 1.0)
    # Half an item at each end, so that a share of 0 or 1 has a spread.
    smooth = (n_items * share + 0.5) / (n_items + 1)
    n = smooth * (1 - smooth) / (variance / scale**2)
    low_share, high_share = compute_wilson_ends(
        share, n, float(stats.t.isf((1 - level) / 2, n_items - 1))
    )
    return Interval(
        low + scale * low_share, 1.0 if share == 1 else low + scale * high_share, level, METHOD
    )
