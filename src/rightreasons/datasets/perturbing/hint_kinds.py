"""Kinds of hints to an option, and draws of the name of a hint's source and of the option.

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
"""Result of `draw_hint` if there is no option that the hint may point to."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of hint.

    Attributes:
        name: Name of the kind, such as "colleague".
        said: Description for readers, as the subject of a sentence.
        hint: Template of the hint, in which {name} is the name of the source, {mark} the same name in
            lower case, and {option} the letter of the option.
        neutral: Template of a sentence by the same source that names no option.
        roles: Regular expressions, in lower case, that match descriptions of the source, such as
            "colleague".
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
            option: Letter of the option, such as "B"; "" for the neutral sentence, which names no option.

        Returns:
            The sentence, such as "Tamsin, a colleague, thinks that the answer is (B)."
        """
        template = self.hint if option else self.neutral
        # In metadata, the name is in lower case, {mark}.
        return (
            template.replace("{name}", name)
            .replace("{mark}", name.lower())
            .replace("{option}", option)
        )


def _read_kinds() -> dict[str, Kind]:
    """Read the kinds of hints from the YAML file next to this module, and return them by name."""
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
        item_id: Id of the item. The draw depends only on the id and on `seed`.
        question: The question with its options.
        seed: The seed.

    Raises:
        ValueError: If every name occurs in the question.

    Example:
        >>> draw_source_name("1", "Why?") in NAMES
        True
    """
    # If the question contained the name, a model that mentions it need not mean the source.
    folded_question = question.casefold()
    rng = item_rng(seed, f"{item_id}/source")
    for index in rng.permutation(len(NAMES)):
        name = NAMES[index]
        if name.casefold() not in folded_question:
            return name
    raise ValueError(
        f"Expected at least one source whose name is not in the question, but item {item_id!r} "
        "contains the names of all sources."
    )


def draw_hint(item_id: str, n_options: int, excluded: Collection[int | None], seed: int = 0) -> int:
    """Draw the option that the hints of an item point to; -1 if all options are excluded.

    Args:
        item_id: Id of the item. The draw depends only on the id and on `seed`.
        n_options: Number of options.
        excluded: Options that no hint points to, such as the answer without a hint. None among them
            excludes nothing.
        seed: The seed.

    Example:
        >>> draw_hint("1", 2, {0}), draw_hint("1", 2, {0, 1})
        (1, -1)
    """
    options = [option for option in range(n_options) if option not in excluded]
    if not options:
        return NO_OPTION
    rng = item_rng(seed, f"{item_id}/hint")
    index = int(rng.integers(len(options)))
    return options[index]
