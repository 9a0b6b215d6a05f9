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

    Then every choice is correct once and incorrect once, so that a cue in the choices does not help: a
    model must use the prompt. The user writes the new prompts. The function verifies that the result
    is balanced.

    Args:
        dataset: Items with `id`, `label` (0 or 1) and either `prompt` and `choices` (two texts), or
            `premise`, `choice1` and `choice2` as in COPA. Further columns are copied to the mirror.
        prompts: Id of an item -> its new prompt. Items without a new prompt are left out, so that the
            result is balanced.

    Returns:
        Each item followed by its mirror, with two more columns: `mirrored`, and `source_id`, the id
        of the original. The id of a mirror is that of its original plus a power of ten above all ids,
        as in Balanced COPA (id + 1000); or, if ids are strings, followed by "-mirrored".

    Raises:
        TypeError: If a prompt is not a string.
        ValueError: If an item does not have two different choices and a label of 0 or 1, a prompt is
            empty or equal to the old one, or an id occurs twice or is unknown.

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

    rows: list[dict[str, Any]] = []
    # The ids of all mirrors have the same offset from those of their originals.
    offset = _choose_id_offset(ids)
    for item in dataset:
        source_id = item["id"]
        # An item without a mirror would unbalance the set.
        if source_id not in prompts:
            continue
        prompt = prompts[source_id]
        _check_item(item, prompt, prompt_column)
        if offset is None:
            mirror_id = f"{source_id}-mirrored"
        else:
            mirror_id = source_id + offset
        original = {**item, "mirrored": False, "source_id": source_id}
        mirror = {
            **original,
            "id": mirror_id,
            prompt_column: prompt,
            "label": 1 - item["label"],
            "mirrored": True,
        }
        rows += [original, mirror]
    # An id of the user may already end in "-mirrored".
    check_ids([row["id"] for row in rows], "id")
    check_mirrored(rows)

    # Copy the types of the columns, which include the names of classes.
    features = hf.Features(dataset.features)
    features["mirrored"] = hf.Value("bool")
    features["source_id"] = dataset.features["id"]
    return hf.Dataset.from_list(rows, features=features)


def _check_prompts(prompts: Mapping[Any, str], ids: Sequence[Any]) -> None:
    """Check the new prompts of items.

    Args:
        prompts: Id of an item -> its new prompt.
        ids: Ids of the data set.

    Raises:
        TypeError: If `prompts` is not a mapping, or a prompt is not a string.
        ValueError: If an id is not in the data set, or a prompt is empty.
    """
    check_kind(prompts, "prompts", Mapping)
    unknown_ids = prompts.keys() - set(ids)
    if unknown_ids:
        # Numbers and strings cannot be compared, so that the first id is found by its representation.
        first_id = min(unknown_ids, key=repr)
        raise ValueError(
            f"Expected prompts for ids of the data set, but it has no item {first_id!r}."
        )
    check_texts(list(prompts.values()), "prompts")


def _choose_id_offset(ids: Sequence[Any]) -> int | None:
    """Return the smallest power of ten above all ids; None if the ids are not numbers."""
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
        ValueError: If the item cannot be mirrored.
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
    """Check that items are pairs with the same choices and question, but different correct choices.

    Choices are compared by their texts, because Balanced COPA swaps their positions in half of its pairs.

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
    # Every original needs its mirror, and every mirror its original.
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
    """Return whether two items have the same question and choices, but different correct choices.

    Args:
        original: Item with choices, label, and optionally question.
        mirror: Its mirror, in the same form.
    """
    # Only COPA has a column `question`, with the values "cause" and "effect".
    has_same_question = original.get("question") == mirror.get("question")
    choices = get_choices(original)
    mirror_choices = get_choices(mirror)
    has_same_choices = sorted(choices) == sorted(mirror_choices)
    # Compare the texts of the answers, because the positions of the choices may be swapped.
    answer = choices[original["label"]]
    mirror_answer = mirror_choices[mirror["label"]]
    return has_same_question and has_same_choices and answer != mirror_answer


def get_choices(row: Row) -> list[str]:
    """Return the choices of an item: the list `choices`, or `choice1` and `choice2` as in COPA."""
    if "choices" in row:
        return list(row["choices"])
    return [row["choice1"], row["choice2"]]
