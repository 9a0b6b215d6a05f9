"""Settings by which each paper finds shortcuts, from attributions to bins of confidence.

`protocols.yaml` has the settings that differ from the defaults of `Protocol`; `get_protocol` returns
a protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from rightreasons.core.choices import (
    HEAD_ROUNDINGS,
    RANKINGS,
    TOKEN_KINDS,
    UNITS,
)
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import check_options, option
from rightreasons.models.gradients.options import AttributionOptions
from rightreasons.shortcuts.options import STOP_WORD_LISTS


class Protocol(AttributionOptions):
    """Settings by which shortcuts are found; the defaults are the protocol "rightreasons".

    They are the settings of `integrated_gradients`, `lmi`, `shortcut_reliance` and
    `calibration_error` together.
    """

    unit: str = option("word", "Tokens that are ranked and counted.", choices=UNITS)
    name: str = option("rightreasons", "Name of the protocol.")
    top_n: int = option(3, "Number of tokens that a prediction relies on.", minimum=1)
    rank_by: str = option(
        "magnitude",
        "Whether tokens are ranked by attribution or by its magnitude.",
        choices=RANKINGS,
    )
    max_length: int | None = option(
        None, "Maximum tokens per text. If None, what the model allows.", minimum=4
    )
    log_base: float | None = option(None, "Base of the logarithm of LMI; None is e.")
    head_fraction: float = option(0.05, "Share of the tokens of a label that form its head.")
    head_rounding: str = option(
        "up", "Rounding of that share to a number of tokens.", choices=HEAD_ROUNDINGS
    )
    count_special: bool = option(
        False,
        "Whether LMI counts the special tokens of the training texts, padded to the maximum "
        "length, except [CLS], [SEP] and [PAD]; only with word pieces.",
    )
    kinds: str = option("rightreasons", "Rules of the token categories.", choices=TOKEN_KINDS)
    # The released code takes NLTK's list, which has to be downloaded: no protocol requires it.
    stop_words: str = option("rightreasons", "List of English stop words.", choices=STOP_WORD_LISTS)
    n_bins: int = option(10, "Number of confidence bins of equal width.", minimum=1)
    min_valid: float = option(
        0.8,
        "Share of items with valid attributions below which no figure is computed.",
        minimum=0.0,
        maximum=1.0,
    )

    def _check(self) -> None:
        """Refuse special tokens among words."""
        super()._check()
        # Words are split by this package, which adds no special tokens to them.
        if self.count_special and self.unit == "word":
            raise ValueError(
                "Expected unit='wordpiece' with count_special=True, because special tokens are "
                "not words, but got 'word'."
            )

    def attribution(self) -> AttributionOptions:
        """Return the settings of `integrated_gradients`."""
        # A protocol is an `AttributionOptions`; the copy drops the settings of the other steps.
        settings = {name: getattr(self, name) for name in AttributionOptions.list_names()}
        return AttributionOptions(**settings)


def _read_protocols() -> dict[str, Protocol]:
    """Read the protocols of `protocols.yaml`."""
    text = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    protocols = {}
    for name, settings in yaml.safe_load(text).items():
        protocols[name] = Protocol(name=name, **settings)
    return protocols


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(_read_protocols())
"""Name -> protocol. The mapping is read-only, as all audits share it."""


def get_protocol(protocol: str | Protocol | None = None, **settings: Any) -> Protocol:
    """Return a protocol by its name, with other values of some settings.

    Args:
        protocol: A name of `PROTOCOLS`, a `Protocol`, or None for "rightreasons".
        **settings: Fields of `Protocol`. If None, the value of the protocol stays.

    Returns:
        The protocol, under its own name.

    Raises:
        TypeError: If the protocol is neither a name nor a `Protocol`.
        ValueError: If a name is unknown, or settings contradict each other.

    Example:
        >>> protocol = get_protocol("bihani2025", steps=20, top_n=None)
        >>> protocol.target, protocol.top_n, protocol.steps
        ('logit', 3, 20)
    """
    if not isinstance(protocol, (str, Protocol, type(None))):
        raise TypeError(
            f"Expected the name of a protocol or a Protocol, but got {type(protocol).__name__}."
        )
    if isinstance(protocol, str) and protocol not in PROTOCOLS:
        raise make_unknown_name_error("protocol", protocol, PROTOCOLS)
    if isinstance(protocol, Protocol):
        base = protocol
    else:
        base = PROTOCOLS[protocol or "rightreasons"]
    changes = {name: value for name, value in settings.items() if value is not None}
    # A changed protocol keeps its name: the settings next to it show what differs from the paper.
    known_names = [name for name in Protocol.list_names() if name != "name"]
    check_options(changes, known_names, "a protocol")
    return base.replace(**changes)
