"""Mirrored items: a two-choice data set that is balanced, so that no cue in the choices helps.

`mirror_dataset` adds the mirrors of a user's own items, and `check_mirrored` verifies any set of
pairs, among them those of Balanced COPA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_columns, check_ids, check_kind, check_texts

if TYPE_CHECKING:
    import datasets

Row = Mapping[str, Any]


def mirror_dataset(dataset: datasets.Dataset, prompts: Mapping[Any, str]) -> datasets.Dataset:
    """Balance a two-choice data set: add to each item a mirror whose new prompt has the other answer.

    Then every choice is right once and wrong once, so every cue in the choices has a productivity of
    exactly 0.5: a model must read the prompt. The user writes the prompts; this function verifies
    that the result is balanced.

    Args:
        dataset: Items with `id`, `label` (0 or 1) and either `prompt` and `choices` (two texts), or
            `premise`, `choice1` and `choice2` as in COPA. Further columns are copied to the mirror.
        prompts: The id of each item -> its new prompt. Items without one are left out, so that the
            result is balanced.

    Returns:
        Each item followed by its mirror, with two more columns: `mirrored`, and `source_id`, the id
        of the original. A mirror's id is its original's plus a power of ten above all ids (as
        Balanced COPA has id + 1000), or the original's with "-mirrored" if ids are texts.

    Raises:
        TypeError: If a prompt is not a text.
        ValueError: If an item does not have two different choices and a label of 0 or 1, a prompt is
            missing, empty or the old one, or an id occurs twice.

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
    prompt_column = "prompt" if "prompt" in dataset.column_names else "premise"
    check_columns(dataset.column_names, ("id", "label", prompt_column), "the data set to mirror")
    ids = dataset["id"][:]
    check_ids(ids, "id")
    _check_prompts(prompts, ids)

    # All mirrors have one offset, so that the id of an original can be read off its mirror's.
    rows: list[dict[str, Any]] = []
    offset = _choose_offset(ids)
    for item in dataset:
        row = dict(item)
        # Without a mirror, an item would unbalance the set.
        if row["id"] not in prompts:
            continue
        prompt = prompts[row["id"]]
        _check_item(row, prompt, prompt_column)
        if offset is None:
            mirror_id = f"{row['id']}-mirrored"
        else:
            mirror_id = row["id"] + offset
        mirror = {**row, "id": mirror_id, prompt_column: prompt, "label": 1 - row["label"]}
        source_id = row["id"]
        rows.append({**row, "mirrored": False, "source_id": source_id})
        rows.append({**mirror, "mirrored": True, "source_id": source_id})
    # A text id may already end in "-mirrored".
    check_ids([row["id"] for row in rows], "id")
    check_mirrored(rows)

    # `from_list` without features would lose the names of classes.
    features = hf.Features(dataset.features)
    features["mirrored"] = hf.Value("bool")
    features["source_id"] = dataset.features["id"]
    return hf.Dataset.from_list(rows, features=features)


def _check_prompts(prompts: Mapping[Any, str], ids: Sequence[Any]) -> None:
    """Check the new prompts of items, by id.

    Raises:
        TypeError: If they are no mapping, or a prompt is no text.
        ValueError: If an id is not one of the data set's, or a prompt is empty.
    """
    check_kind(prompts, "prompts", Mapping)
    unknown_ids = prompts.keys() - set(ids)
    if unknown_ids:
        # Ids may be of types that cannot be compared, and the message should not depend on a hash.
        raise ValueError(
            f"Expected prompts for ids of the data set, but it has no item "
            f"{min(unknown_ids, key=repr)!r}."
        )
    check_texts(list(prompts.values()), "prompts")


def _choose_offset(ids: Sequence[Any]) -> int | None:
    """Return the power of ten above all ids, None if they are no numbers."""
    if not all(isinstance(key, int) for key in ids):
        return None
    return int(10 ** len(str(max(ids))))


def _check_item(row: Row, prompt: str, column: str) -> None:
    """Check that an item can be mirrored: two different choices, a label of 0 or 1, and a new prompt.

    Args:
        row: The item.
        prompt: Prompt of its mirror.
        column: Column of the old prompt, "prompt" or "premise".

    Raises:
        ValueError: If it cannot.
    """
    is_old_prompt = prompt.strip() == str(row[column]).strip()
    has_label = row["label"] in (0, 1)
    choices = get_choices(row)
    has_two_choices = len(choices) == 2 and choices[0] != choices[1]
    if is_old_prompt or not has_label or not has_two_choices:
        prompt_kind = "the old" if is_old_prompt else "a new"
        raise ValueError(
            f"Expected two different choices, a label of 0 or 1 and a new prompt for item "
            f"{row['id']!r}, but got {format_value(row)}, and {prompt_kind} prompt."
        )


def check_mirrored(rows: Sequence[Row]) -> None:
    """Check that items come in mirrored pairs: equal choices and question, the other choice correct.

    Choices are compared by text, never by position: Balanced COPA swaps them in half of its pairs.

    Args:
        rows: Items with `id`, `source_id`, `mirrored`, `label`, and choices in one of the formats of
            `mirror_dataset`.

    Raises:
        ValueError: If an item has no partner or a pair is not balanced. Both ids are named.
    """
    original_by_id = {}
    mirror_by_source = {}
    for row in rows:
        if row["mirrored"]:
            mirror_by_source[row["source_id"]] = row
        else:
            original_by_id[row["id"]] = row
    # A mirror without its original is as unbalanced as an original without its mirror.
    for item_id in original_by_id:
        if item_id not in mirror_by_source:
            raise _make_partner_error("mirrored", "original", item_id)
    for item_id in mirror_by_source:
        if item_id not in original_by_id:
            raise _make_partner_error("original", "mirrored", item_id)

    for item_id, original in original_by_id.items():
        mirror = mirror_by_source[item_id]
        if not _is_balanced(original, mirror):
            raise ValueError(
                f"Expected item {mirror['id']!r} and its original {item_id!r} to have the same "
                f"question and alternatives, but opposite answers; they are "
                f"{format_value(mirror, 300)} and {format_value(original, 300)}."
            )


def _make_partner_error(missing: str, present: str, key: object) -> ValueError:
    return ValueError(
        f"Expected a {missing} item for the {present} item of source {key!r}, but there is no "
        "such item."
    )


def _is_balanced(original: Row, mirror: Row) -> bool:
    """Return whether two items have the same question and choices, but different correct choices."""
    # COPA asks for a cause or an effect; other data sets have no such column.
    has_one_question = original.get("question") == mirror.get("question")
    choices = get_choices(original)
    mirror_choices = get_choices(mirror)
    has_equal_choices = sorted(choices) == sorted(mirror_choices)
    # The texts of the answers decide, as their positions may have been swapped too.
    answer = choices[original["label"]]
    mirror_answer = mirror_choices[mirror["label"]]
    return has_one_question and has_equal_choices and answer != mirror_answer


def get_choices(row: Row) -> list[str]:
    """Return the choices of an item, in either of the two formats."""
    if "choices" in row:
        return list(row["choices"])
    return [row["choice1"], row["choice2"]]
