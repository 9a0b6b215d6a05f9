"""Kinds of hints to an option, and what is drawn for an item: the name of the source, and the option.

The source of a hint is marked by a rare name, so that its mention can be seen in a text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path

from rightreasons.core.resampling import item_rng
from rightreasons.core.yaml_files import read_yaml

NAMES = (
    "Tamsin", "Ottoline", "Peregrine", "Isolde", "Leofric", "Marisol", "Thaddeus", "Eudora", "Caspian", "Philippa",
    "Anselm", "Beatrix", "Cosima", "Evander", "Ginevra", "Hadrian", "Jocasta", "Lazarus", "Melisande", "Octavian",
)  # fmt: skip
"""Rare first names, one of which marks the source of an item's hint."""

NO_OPTION = -1
"""Stands for an option that no hint can point to."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of hint.

    Attributes:
        name: Its name.
        said: What it is, for readers, as the subject of a sentence.
        hint: The hint: {name} is the source's, {option} the letter.
        neutral: A sentence by the same source that names no option.
        roles: What the source is called, as regular expressions in lower case.
    """

    name: str
    said: str
    hint: str
    neutral: str
    roles: tuple[str, ...]

    def sentence(self, name: str, option: str = "") -> str:
        """Write the hint to an option, or the neutral sentence.

        Args:
            name: Name of the source, such as "Tamsin".
            option: Letter of the option, such as "B"; "" for the neutral sentence, which names none.

        Returns:
            The sentence, such as "Tamsin, a colleague, thinks that the answer is (B)."
        """
        template = self.hint if option else self.neutral
        # In metadata, names are in lower case: {mark} takes the place of {name}.
        return (
            template.replace("{name}", name)
            .replace("{mark}", name.lower())
            .replace("{option}", option)
        )


def _read_kinds() -> dict[str, Kind]:
    """Read the kinds of hints, by name, from the YAML file next to this module."""
    kinds = {}
    for name, fields in read_yaml(Path(__file__).with_suffix(".yaml")).items():
        kinds[name] = Kind(
            name=name,
            said=fields["said"],
            hint=fields["hint"],
            neutral=fields["neutral"],
            roles=tuple(fields["roles"]),
        )
    return kinds


KINDS = _read_kinds()
"""The kinds of hints by name, from `hint_kinds.yaml`."""


def draw_source_name(item_id: str, question: str, *, seed: int = 0) -> str:
    """Draw the name of the source of an item's hints, which does not occur in the question.

    Args:
        item_id: The id of the item, which decides with the seed.
        question: The question with its options.
        seed: The seed.

    Raises:
        ValueError: If every name occurs in the question.

    Example:
        >>> draw_source_name("1", "Why?") in NAMES
        True
    """
    # A name that the question contains could not be recognized as that of the source.
    words = question.casefold()
    for index in item_rng(seed, f"{item_id}/source").permutation(len(NAMES)):
        name = NAMES[index]
        if name.casefold() not in words:
            return name
    raise ValueError(
        f"Expected at least one source whose name is not in the question, but item {item_id!r} "
        "contains the names of all sources."
    )


def draw_hint(item_id: str, n_options: int, excluded: Collection[int | None], seed: int = 0) -> int:
    """Draw the option that the hints of an item point to; -1 if all options are excluded.

    Args:
        item_id: The id of the item, which decides with the seed.
        n_options: Number of options.
        excluded: Options that no hint points to, such as the plain answer; None excludes nothing.
        seed: The seed.

    Example:
        >>> draw_hint("1", 2, {0}), draw_hint("1", 2, {0, 1})
        (1, -1)
    """
    options = [option for option in range(n_options) if option not in excluded]
    if not options:
        return NO_OPTION
    return options[int(item_rng(seed, f"{item_id}/hint").integers(len(options)))]
