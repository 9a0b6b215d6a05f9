"""Mirrored items: a two-choice data set that is balanced, so that no cue in the choices tells the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_columns, check_ids, check_kind, check_texts

if TYPE_CHECKING:
    import datasets

Row = Mapping[str, Any]


def mirror_dataset(dataset: datasets.Dataset, prompts: Mapping[Any, str]) -> datasets.Dataset:
    """Balance a two-choice data set: add to each item a mirrored one, whose new prompt makes the other choice right.

    Then every choice is right once and wrong once, so every cue in the choices has a productivity of exactly 0.5: a
    model must read the prompt. The user writes the prompts; this function verifies that the result is balanced.

    Args:
        dataset: Items with `id`, `label` (0 or 1) and either `prompt` and `choices` (two texts), or `premise`,
            `choice1` and `choice2` as in COPA. Further columns are copied to the mirrored item.
        prompts: The id of each item -> its new prompt. Items without one are left out, so that the result is balanced.

    Returns:
        Each item followed by its mirror, with two more columns: `mirrored`, and `source_id`, the id of the original.
        A mirror's id is its original's plus a power of ten above all ids (as Balanced COPA has id + 1000), or the
        original's with "-mirrored" where ids are texts.

    Raises:
        TypeError: If a prompt is not a text.
        ValueError: If an item does not have two different choices and a label of 0 or 1, a prompt is missing, empty or
            the old one, or an id occurs twice.

    References:
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, §3.

    Example:
        >>> import datasets
        >>> item = {"id": 1, "prompt": "The man broke his toe.", "label": 0}
        >>> items = datasets.Dataset.from_list([{**item, "choices": ["A hammer fell.", "His sock tore."]}])
        >>> balanced = mirror_dataset(items, {1: "The man hid his feet."})
        >>> balanced["id"][:], balanced["prompt"][:], balanced["label"][:], balanced["source_id"][:]
        ([1, 11], ['The man broke his toe.', 'The man hid his feet.'], [0, 1], [1, 1])
    """
    import datasets as hf

    check_kind(dataset, "dataset", hf.Dataset)
    column = "prompt" if "prompt" in dataset.column_names else "premise"
    check_columns(dataset.column_names, ("id", "label", column), "the data set to mirror")
    items = [dict(row) for row in dataset]
    check_ids((row["id"] for row in items), "id")
    check_kind(prompts, "prompts", Mapping)
    if unknown := prompts.keys() - {row["id"] for row in items}:
        raise ValueError(
            f"Expected prompts for ids of the data set, but it has no item {min(unknown, key=repr)!r}."
        )
    check_texts(list(prompts.values()), "prompts")
    # Numbers go on above the next power of ten.
    numbers = all(isinstance(row["id"], int) for row in items)
    offset = 10 ** len(str(max(row["id"] for row in items))) if numbers else None
    rows = []
    for row in items:
        if row["id"] not in prompts:
            continue
        same = prompts[row["id"]].strip() == str(row[column]).strip()
        if (
            same
            or row["label"] not in (0, 1)
            or len(choices_of(row)) != 2
            or len(set(choices_of(row))) != 2
        ):
            raise ValueError(
                f"Expected two different choices, a label of 0 or 1 and a new prompt for item {row['id']!r}, but got "
                f"{format_value(row)}, and {'the old' if same else 'a new'} prompt."
            )
        mirror_id = row["id"] + offset if offset is not None else f"{row['id']}-mirrored"
        mirrored = {**row, "id": mirror_id, column: prompts[row["id"]], "label": 1 - row["label"]}
        rows += [
            {**row, "mirrored": False, "source_id": row["id"]},
            {**mirrored, "mirrored": True, "source_id": row["id"]},
        ]
    check_ids((row["id"] for row in rows), "id")
    check_mirrored(rows)
    added = {"mirrored": hf.Value("bool"), "source_id": dataset.features["id"]}
    features = hf.Features({**dataset.features, **added})
    return hf.Dataset.from_list(rows, features=features)


def check_mirrored(rows: Sequence[Row]) -> None:
    """Check that items come in mirrored pairs: the same two choices and question, the other choice right.

    Choices are compared by text, never by position: Balanced COPA swaps them in half of its pairs.

    Args:
        rows: Items with `id`, `source_id`, `mirrored`, `label`, and choices in one of the formats of `mirror_dataset`.

    Raises:
        ValueError: If an item has no partner or a pair is not balanced; both ids are named.
    """
    originals = {row["id"]: row for row in rows if not row["mirrored"]}
    mirrors = {row["source_id"]: row for row in rows if row["mirrored"]}
    for key in (*originals, *mirrors):
        if key not in originals or key not in mirrors:
            there, lacking = (
                ("original", "mirrored") if key in originals else ("mirrored", "original")
            )
            raise ValueError(
                f"Expected a {lacking} item for the {there} one of source {key!r}, but there is none."
            )
    for key, original in originals.items():
        mirror = mirrors[key]
        answers = {choices_of(row)[row["label"]] for row in (original, mirror)}
        if (
            original.get("question") != mirror.get("question")
            or sorted(choices_of(original)) != sorted(choices_of(mirror))
            or len(answers) != 2
        ):
            raise ValueError(
                f"Expected item {mirror['id']!r} and its original {key!r} to have the same question and alternatives, "
                f"but opposite answers; they are {format_value(mirror, 300)} and {format_value(original, 300)}."
            )


def choices_of(row: Row) -> list[str]:
    """Return the choices of an item, in either of the two formats."""
    if "choices" in row:
        return list(row["choices"])
    return [row["choice1"], row["choice2"]]
