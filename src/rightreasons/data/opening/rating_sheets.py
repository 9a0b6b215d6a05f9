"""Rating sheets: items without labels, in random order, for people to answer; and their answers, read back."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import html
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rightreasons.data.perturbing.mirror import choices_of
from rightreasons.foundations.atomic_write import check_folder, write_text
from rightreasons.foundations.bounds import read_text
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds, one_line
from rightreasons.foundations.validation import check_count, check_ids, check_one_of, check_seed

if TYPE_CHECKING:
    import datasets

FORMS = ("csv", "html")

ANSWER, ITEM = "answer", "item"


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


@checks_kinds
def write_rating_sheets(
    dataset: datasets.Dataset,
    out: str | os.PathLike[str],
    *,
    n_raters: int = 3,
    form: str = "csv",
    seed: int = 0,
) -> list[Path]:
    """Write a sheet of multiple-choice items for each rater, without labels.

    Each rater has the items in a random order of their own, so that mirrored items seldom stand together. Items are
    named by a code, as an id may tell which item is the mirrored one. In a csv file the column `answer` is to be
    filled with the number of the right choice; an html page lets raters click, and saves such a csv file.

    Args:
        dataset: Items with `id` and either `prompt` and `choices`, or `premise`, `choice1` and `choice2`; a column
            `question` is shown too.
        out: The folder of the sheets.
        n_raters: Number of raters; default 3.
        form: "csv" or "html".
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
    check_one_of(form, FORMS, "form")
    check_count(n_raters, "n_raters")
    check_seed(seed)
    items = _items(dataset)
    sheets = [f"rater-{rater}.{suffix}" for suffix in FORMS for rater in range(1, n_raters + 1)]
    folder = check_folder(out, own=sheets)
    files = []
    for rater in range(1, n_raters + 1):
        order = item_rng(seed, f"rater-{rater}").permutation(len(items))
        chosen = [items[row] for row in order]
        text = _table(chosen) if form == "csv" else _page(chosen, f"rater-{rater}")
        files.append(write_text(folder / f"rater-{rater}.{form}", text))
    return files


@checks_kinds
def read_rating_sheets(dataset: datasets.Dataset, files: Sequence[str | os.PathLike[str]]) -> Ratings:
    """Read the sheets that raters have filled.

    Args:
        dataset: The items that the sheets were written from, with `label`.
        files: The csv file of each rater, at least 2, in any order of rows; comma- or semicolon-separated.

    Returns:
        `Ratings`, for `rightreasons.analysis.human_performance`.

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
    items = _items(dataset)
    if len(files) < 2:
        raise ValueError(f"Expected the sheets of at least 2 raters in `files`, but got {len(files)}.")
    if "label" not in dataset.column_names:
        raise ValueError("Expected a column `label` in the data set, to compare the answers with.")
    for file in files:
        if not isinstance(file, (str, os.PathLike)):
            raise TypeError(f"Expected a path in each item of `files`, but got {one_line(file)}.")
    sizes = {item.code: len(item.choices) for item in items}
    sheets = [_answers(Path(file), sizes) for file in files]
    labels = dataset["label"][:]
    for item, label in zip(items, labels, strict=True):
        if not isinstance(label, int) or not 0 <= label < len(item.choices):
            raise ValueError(f"Expected the label of item {item.name!r} to be one of its choices, but it is {label}.")
    return Ratings(
        ids=tuple(item.name for item in items),
        ratings=tuple(tuple(sheet[item.code] for sheet in sheets) for item in items),
        references=tuple(labels),
        n_choices=max(sizes.values()),
    )


# ------------------------------------------------------------------------------------------------------------- private


@dataclasses.dataclass(frozen=True)
class _Item:
    name: str
    code: str
    texts: tuple[tuple[str, str], ...]
    choices: tuple[str, ...]


def _items(dataset: datasets.Dataset) -> list[_Item]:
    prompt = "prompt" if "prompt" in dataset.column_names else "premise"
    choices = ("choices",) if "choices" in dataset.column_names else ("choice1", "choice2")
    for column in ("id", prompt, *choices):
        if column not in dataset.column_names:
            raise ValueError(
                f"Expected a column `{column}` in the items to rate, but they have {', '.join(dataset.column_names)}."
            )
    if len(dataset) == 0:
        raise ValueError("Expected at least one item to rate, but the data set is empty.")
    shown = [column for column in (prompt, "question") if column in dataset.column_names]
    names = check_ids(dataset["id"][:], "id")
    return [
        _Item(
            name,
            hashlib.blake2b(name.encode(), digest_size=6).hexdigest(),
            tuple((column, str(row[column])) for column in shown),
            tuple(choices_of(row)),
        )
        for name, row in zip(names, dataset, strict=True)
    ]


def _table(items: Sequence[_Item]) -> str:
    most = max(len(item.choices) for item in items)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = [name for name, _ in items[0].texts]
    writer.writerow([ITEM, *columns, *(f"choice {k + 1}" for k in range(most)), ANSWER])
    for item in items:
        rest = [""] * (most - len(item.choices))
        writer.writerow([item.code, *(text for _, text in item.texts), *item.choices, *rest, ""])
    # Spreadsheets take a file for UTF-8 by its first character.
    return "\ufeff" + file.getvalue()


def _page(items: Sequence[_Item], name: str) -> str:
    blocks = []
    for number, item in enumerate(items, 1):
        texts = "".join(f"<p>{html.escape(text)}</p>" for _, text in item.texts)
        choices = "".join(
            f'<label><input type="radio" name="{item.code}" value="{k}" required> {html.escape(choice)}</label>'
            for k, choice in enumerate(item.choices, 1)
        )
        blocks.append(f"<fieldset><legend>{number} of {len(items)}</legend>{texts}{choices}</fieldset>")
    return _PAGE.replace("NAME", name).replace("ITEMS", "\n".join(blocks))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>NAME</title><style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem }
fieldset { border: 1px solid #bbb; border-radius: .4rem; margin: 0 0 1rem } label { display: block }
</style></head><body><h1>Which choice is right?</h1><form>
ITEMS
<button>Save the answers</button></form><script>
document.forms[0].addEventListener("submit", event => {
  event.preventDefault();
  const rows = [...new FormData(event.target)].map(pair => pair.join(","));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([["item,answer", ...rows].join("\\n") + "\\n"], {type: "text/csv"}));
  link.download = "NAME.csv";
  link.click();
});
</script></body></html>
"""


def _answers(file: Path, sizes: dict[str, int]) -> dict[str, int]:
    """Return the choice of each item by its code."""
    text = read_text(file, file.name)
    first = text.partition("\n")[0]
    try:
        rows = list(csv.DictReader(io.StringIO(text), delimiter=";" if ";" in first and "," not in first else ","))
    except csv.Error as error:
        raise ValueError(f"Expected a table in {file.name}, but it cannot be read as one: {error}.") from None
    if not rows or not {ITEM, ANSWER} <= set(rows[0]):
        raise ValueError(f"Expected the columns `item` and `answer` in {file.name}, but its first line is {first!r}.")
    answers: dict[str, int] = {}
    for line, row in enumerate(rows, 2):
        code, answer = str(row[ITEM]).strip(), str(row[ANSWER] or "").strip()
        if code not in sizes or code in answers:
            what = "an item twice" if code in answers else "an item that is not in the data"
            raise ValueError(
                f"Expected each item of the data once in {file.name}, but row {line} has {what}: {code!r}."
            )
        numbers = list(map(str, range(1, sizes[code] + 1)))
        if answer not in numbers:
            raise ValueError(
                f"Expected an answer from 1 to {sizes[code]} in row {line} of {file.name}, but got {answer!r}."
            )
        answers[code] = numbers.index(answer)
    if len(answers) < len(sizes):
        raise ValueError(f"Expected answers to {len(sizes)} items in {file.name}, but got {len(answers)}.")
    return answers
