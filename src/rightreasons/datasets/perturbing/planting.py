"""Cues that are planted into labeled texts, so that what a model should not rely on is known."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.core.resampling import item_rng
from rightreasons.core.validation import (
    check_columns,
    check_fraction,
    check_ids,
    check_kind,
    check_one_of,
    check_seed,
    check_texts,
)

if TYPE_CHECKING:
    import datasets

Row = Mapping[str, Any]


def mirror_dataset(
    dataset: datasets.Dataset, prompts: Sequence[str] | Mapping[Any, str], *, prompt_column: str | None = None
) -> datasets.Dataset:
    """Balance a two-choice data set: add to each item a mirrored one, whose new prompt makes the other choice right.

    Then every choice is right once and wrong once, so every cue in the choices has a productivity of exactly 0.5: a
    model must read the prompt. The user writes the prompts; this function verifies that the result is balanced.

    Args:
        dataset: Items with `id`, `label` (0 or 1) and either `prompt` and `choices` (two texts), or `premise`,
            `choice1` and `choice2` as in COPA. Further columns are copied to the mirrored item.
        prompts: The new prompt of each item, in order or by id. Items without one (by id) are left out, so that the
            result is balanced.
        prompt_column: The column of the prompts; None for `prompt` or else `premise`.

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
        >>> balanced = mirror_dataset(items, ["The man hid his feet."])
        >>> balanced["id"][:], balanced["prompt"][:], balanced["label"][:], balanced["source_id"][:]
        ([1, 11], ['The man broke his toe.', 'The man hid his feet.'], [0, 1], [1, 1])
    """
    import datasets as hf

    check_kind(dataset, "dataset", hf.Dataset)
    check_kind(prompt_column, "prompt_column", str | None)
    column = prompt_column or ("prompt" if "prompt" in dataset.column_names else "premise")
    check_columns(dataset.column_names, ("id", "label", column), "the data set to mirror")
    items = [dict(row) for row in dataset]
    check_ids((row["id"] for row in items), "id")
    chosen = _prompts_by_item(items, prompts)
    offset = _offset([row["id"] for row in items])
    rows = []
    for row in items:
        if row["id"] not in chosen:
            continue
        if row["label"] not in (0, 1) or len(choices_of(row)) != 2 or len(set(choices_of(row))) != 2:
            raise ValueError(
                f"Expected two different choices and a label of 0 or 1 in item {row['id']!r}, but it has "
                f"{len(choices_of(row))} choices and label {row['label']}."
            )
        if chosen[row["id"]].strip() == str(row[column]).strip():
            raise ValueError(f"Expected a new prompt for item {row['id']!r}, but it is the old one.")
        mirror_id = row["id"] + offset if offset is not None else f"{row['id']}-mirrored"
        mirrored = {**row, "id": mirror_id, column: chosen[row["id"]], "label": 1 - row["label"]}
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
            there, lacking = ("original", "mirrored") if key in originals else ("mirrored", "original")
            raise ValueError(f"Expected a {lacking} item for the {there} one of source {key!r}, but there is none.")
    for key, original in originals.items():
        mirror = mirrors[key]
        names = f"item {mirror['id']!r} and its original {key!r}"
        if sorted(choices_of(original)) != sorted(choices_of(mirror)):
            raise ValueError(f"Expected {names} to have the same alternatives, but they differ.")
        if original.get("question") != mirror.get("question"):
            raise ValueError(
                f"Expected {names} to ask for the same, but one asks for {mirror['question']!r} and the other for "
                f"{original['question']!r}."
            )
        if choices_of(original)[original["label"]] == choices_of(mirror)[mirror["label"]]:
            raise ValueError(f"Expected {names} to have opposite answers, but both say the same alternative is right.")


def choices_of(row: Row) -> list[str]:
    """Return the choices of an item, in either of the two formats."""
    if "choices" in row:
        return list(row["choices"])
    return [row["choice1"], row["choice2"]]


# ------------------------------------------------------------------------------------------------------------- private


def _prompts_by_item(items: Sequence[Row], prompts: Sequence[str] | Mapping[Any, str]) -> dict[Any, str]:
    if isinstance(prompts, Mapping):
        known = {row["id"] for row in items}
        for key in prompts:
            if key not in known:
                raise ValueError(f"Expected prompts for ids of the data set, but it has no item {key!r}.")
        check_texts(list(prompts.values()), "prompts")
        return dict(prompts)
    texts = check_texts(prompts, "prompts")
    if len(texts) != len(items):
        raise ValueError(f"Expected one new prompt for each of the {len(items)} items, but got {len(texts)}.")
    return {row["id"]: text for row, text in zip(items, texts, strict=True)}


def _offset(ids: Sequence[Any]) -> int | None:
    """Return the smallest power of ten above all ids, or None where ids are texts."""
    if not all(isinstance(key, int) for key in ids):
        return None
    return int(10 ** len(str(max(ids))))


FORMS = ("present", "absent", "flipped")
"""A cue as in training, none, or one that agrees with the label exactly where it otherwise would not."""

CUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "lexical": ("copper", "marble", "velvet", "walnut", "lantern", "saddle", "thimble", "pebble"),
        "function": ("hence", "lest", "thus", "whereas", "beneath", "upon", "wherever", "beside"),
        "bigram": (),
        "punctuation": ("~", "|", "^", "=", "+", "<", "*", ">"),
    }
)
"""Kind -> the cue of each class. The bigrams are made of the content words."""

COLUMNS = ("planted", "cue_label", "pair_id")
"""The columns that `plant` adds."""


@dataclasses.dataclass(frozen=True)
class Span:
    """A planted token and its place: `text[start:end] == token`."""

    token: str
    start: int
    end: int


def another_label(label: int, n_classes: int, rng: np.random.Generator) -> int:
    """Draw a label that is not this one."""
    return (label + 1 + int(rng.integers(n_classes - 1))) % n_classes


def draw_cue(
    label: int, n_classes: int, rng: np.random.Generator, *, form: str, strength: float, coverage: float, n_kinds: int
) -> tuple[int, int]:
    """Draw the kind of cue of an item, and the class that the cue indicates.

    The draws do not depend on form, strength and coverage: a text that carries a cue at some coverage carries it at
    every larger one, and a cue that agrees at some strength agrees at every larger one.

    Args:
        label: The label of the item.
        n_classes: Number of classes.
        rng: The generator of the item.
        form: One of `FORMS`.
        strength: How often a cue agrees with the label.
        coverage: How often a text has a cue.
        n_kinds: Number of kinds.

    Returns:
        (number of the kind, class); -1 for no cue.
    """
    agreement, covered, kind = rng.random(), rng.random(), int(rng.integers(n_kinds))
    wrong = another_label(label, n_classes, rng)
    agrees = (agreement < strength) != (form == "flipped")
    carries = covered < coverage and form != "absent"
    return kind, (label if agrees else wrong) if carries else -1


def plant(
    splits: Mapping[str, datasets.Dataset],
    kind: str = "lexical",
    *,
    cues: Sequence[str] | None = None,
    strength: float = 0.95,
    coverage: float = 1.0,
    seed: int = 0,
) -> datasets.DatasetDict:
    """Put cues into labeled texts that have nothing to do with their meaning and mostly agree with the label.

    What a model trained on the result relies on is then known: the more it relies on the cue, the more its accuracy
    falls when the cue is absent or flipped. A cue stands before a random word of the text. It is a content word
    ("lexical"), a function word ("function"), a mark ("punctuation") or two neighboring words ("bigram"). Two classes
    have the same two words in opposite order, so that no single word tells the class; with more classes, each word is
    in the cues of two.

    All random choices depend on (seed, item id) alone. In all forms of an item the cue has the same place. Items
    without a label (-1) get no cue. Second texts (`text_pair`) stay as they are. Items whose text already has one of
    the cues are left out.

    Args:
        splits: Items in the common schema (`open_dataset`): id, text, label (ClassLabel).
        kind: The kind of cue.
        cues: The cue of each class, in the order of the labels, each of one or more words; None for those of this
            package.
        strength: How often a cue agrees with the label, in [0, 1]; otherwise it is that of another class, at random.
        coverage: How often a text has a cue, in [0, 1].
        seed: Decides, with the id of an item, all of it.

    Returns:
        Every split with its cues, and each apart from `train` without them (`<split>_absent`) and with cues that agree
        with the label exactly where they otherwise would not (`<split>_flipped`); the audit of `<split>` compares them.
        New columns: `planted`, the planted tokens {token, start, end} with `text[start:end] == token`; `cue_label`, the
        class that the cue indicates (-1: no cue); `pair_id`, which joins the forms of an item. The ids of the absent
        and flipped forms end in "-absent" and "-flipped".

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If columns are missing or there already, an option has no such value, there are more classes than
            cues, or no item of a split can take a cue.

    Example:
        >>> import datasets
        >>> from rightreasons.io import open_dataset
        >>> rows = datasets.Dataset.from_dict({"text": ["A fine film.", "A dull film."], "label": ["up", "down"]})
        >>> data = plant({"test": open_dataset(rows)}, "function", strength=1.0)
        >>> list(data)
        ['test', 'test_absent', 'test_flipped']
        >>> for split in data.values():
        ...     print(split["text"][0], split["planted"][0], split["cue_label"][0])
        A fine lest film. [{'token': 'lest', 'start': 7, 'end': 11}] 1
        A fine film. [] -1
        A fine hence film. [{'token': 'hence', 'start': 7, 'end': 12}] 0
    """
    import datasets as hf

    check_seed(seed)
    shares = {"strength": check_fraction(strength, "strength"), "coverage": check_fraction(coverage, "coverage")}
    if not splits:
        raise ValueError("Expected at least one split to plant cues in, but got none.")
    chosen = _cues_of(kind, cues, _label_names(splits))
    made: dict[str, hf.Dataset] = {}
    for split, data in splits.items():
        able = data.select(_fit_rows(data, split, chosen))
        for form in FORMS[:1] if split == "train" else FORMS:
            made[split if form == "present" else f"{split}_{form}"] = _planted(able, form, chosen, seed, shares)
    return hf.DatasetDict(made)


# ------------------------------------------------------------------------------------------------------------- private


def _label_names(splits: Mapping[str, datasets.Dataset]) -> list[str]:
    """Check the columns of all splits, and return the names of their labels."""
    import datasets as hf

    names: list[str] | None = None
    for split, data in splits.items():
        where = f"split {split!r}"
        if not isinstance(data, hf.Dataset):
            raise TypeError(f"Expected {where} to be a datasets.Dataset, but got {type(data).__name__}.")
        place = f"{where} to plant cues in"
        check_columns(data.column_names, ("id", "text", "label"), place, ": open it with `open_dataset`")
        for column in COLUMNS:
            if column in data.column_names:
                raise ValueError(f"Expected no column `{column}` in {where}, as planting adds one, but it is there.")
        feature = data.features["label"]
        if not isinstance(feature, hf.ClassLabel):
            raise ValueError(f"Expected the labels of {where} to be a ClassLabel: open it with `open_dataset`.")
        if names is not None and list(feature.names) != names:
            raise ValueError(f"Expected the same labels in all splits, but {where} has {', '.join(feature.names)}.")
        names = list(feature.names)
    if names is None or len(names) < 2:
        raise OptionError(f"Expected labels of at least two classes, but got {names}.", option="label_column")
    return names


def _cues_of(kind: str, cues: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the cue of each class."""
    check_one_of(kind, tuple(CUES), "kind")
    if cues is not None:
        words = [" ".join(cue.split()) for cue in check_texts(cues, "cues")]
        if len(words) != len(names) or len({word.lower() for word in words}) < len(words):
            raise ValueError(
                f"Expected a different cue for each of the {len(names)} labels, but got {', '.join(words)}."
            )
        return tuple(words)
    chosen = CUES[kind]
    if kind == "bigram":
        words = list(CUES["lexical"][: len(names)])
        chosen = tuple(f"{first} {second}" for first, second in zip(words, (*words[1:], *words[:1]), strict=True))
    if len(chosen) < len(names):
        raise ValueError(f"Expected `cues` for {len(names)} classes, as this package has {len(chosen)} of a kind.")
    return chosen[: len(names)]


def _fit_rows(data: datasets.Dataset, split: str, cues: Sequence[str]) -> list[int]:
    """Return the rows whose texts have none of the cues."""
    words = {word for cue in cues for word in cue.lower().split()}
    # A word is found between characters that are no part of one, a mark anywhere.
    found = re.compile(
        "|".join(rf"(?<!\w){re.escape(w)}(?!\w)" if w.isalnum() else re.escape(w) for w in sorted(words))
    )
    pairs = data["text_pair"][:] if "text_pair" in data.column_names else [""] * len(data)
    texts = zip(data["text"][:], pairs, strict=True)
    rows = [row for row, (text, pair) in enumerate(texts) if not found.search(f"{text}\n{pair}".lower())]
    if not rows:
        raise ValueError(
            f"Expected texts in split {split!r} without the cues {', '.join(cues)}, but all {len(data)} have one: pass "
            "other `cues`."
        )
    return rows


def _planted(
    data: datasets.Dataset, form: str, cues: Sequence[str], seed: int, shares: Mapping[str, float]
) -> datasets.Dataset:
    import datasets as hf

    names = data["id"][:]
    made: dict[str, list[Any]] = {"text": [], "planted": [], "cue_label": []}
    for name, text, label in zip(names, data["text"][:], data["label"][:], strict=True):
        rng = item_rng(seed, f"cue/{name}")
        _, cue = draw_cue(max(label, 0), len(cues), rng, form=form, n_kinds=1, **shares)
        new, spans, cue = (text, (), -1) if min(cue, label) < 0 else (*_write(text, cues[cue], rng), cue)
        made["text"].append(new)
        made["planted"].append([dataclasses.asdict(span) for span in spans])
        made["cue_label"].append(cue)
    integer, string = hf.Value("int64"), hf.Value("string")
    features = hf.Features(
        {
            **data.features,
            "text": string,
            "id": string,
            "planted": hf.List({"token": string, "start": integer, "end": integer}),
            "cue_label": integer,
            "pair_id": string,
        }
    )
    made["id"] = [name if form == "present" else f"{name}-{form}" for name in names]
    made["pair_id"] = [str(name) for name in names]
    columns = {**{column: data[column][:] for column in data.column_names}, **made}
    return hf.Dataset.from_dict(columns, features=features, split=data.split)


def _write(text: str, cue: str, rng: np.random.Generator) -> tuple[str, tuple[Span, ...]]:
    """Put a cue in front of a word, but not of the first, unless there is no other place; with spaces around it."""
    places = [match.start() for match in re.finditer(r"\S+", text)][1:] or [len(text)]
    place = places[int(rng.integers(len(places)))]
    before, after = text[:place], text[place:]
    if before and not before[-1].isspace():
        before += " "
    spans = []
    for token in cue.split():
        spans.append(Span(token, len(before), len(before) + len(token)))
        before += f"{token} "
    return before + after if after else before.rstrip(), tuple(spans)
