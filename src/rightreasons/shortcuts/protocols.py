"""How each paper finds shortcuts: every setting from the attributions to the bins of confidence, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from rightreasons.core.choices import HEAD_ROUNDINGS, RANKINGS, TOKEN_KINDS, UNITS
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import check_options, option
from rightreasons.models.gradients.options import AttributionOptions


class Protocol(AttributionOptions):
    """The settings with which shortcuts are found; the defaults are those of this package, "rightreasons".

    Beside the settings of `integrated_gradients` they are those of `lmi`, `shortcut_reliance` and `calibration_error`.
    `protocol_of` gives one by its name.
    """

    unit: str = option("word", "What is ranked and counted.", choices=UNITS)
    name: str = option("rightreasons", "Name of the protocol.")
    top_n: int = option(3, "Number of tokens that a prediction rests on.", minimum=1)
    rank_by: str = option("magnitude", "How tokens are ranked by their numbers.", choices=RANKINGS)
    max_length: int | None = option(
        None, "Maximum tokens per text; None takes what the model allows.", minimum=4
    )
    log_base: float | None = option(None, "Base of the logarithm of LMI; None is e.")
    head_fraction: float = option(0.05, "Share of the tokens of a label that makes its head.")
    head_rounding: str = option(
        "up", "How that share becomes a number of tokens.", choices=HEAD_ROUNDINGS
    )
    count_special: bool = option(
        False,
        "LMI counts the special tokens of the training texts, padded to the maximum length, except [CLS], [SEP] and "
        "[PAD]; with pieces only.",
    )
    kinds: str = option(
        "rightreasons", "Rules by which a token is a word or none.", choices=TOKEN_KINDS
    )
    n_bins: int = option(10, "Bins of confidence, of equal width.", minimum=1)
    min_valid: float = option(
        0.8,
        "Share of the items with valid attributions below which no figure is given.",
        minimum=0.0,
        maximum=1.0,
    )

    def _check(self) -> None:
        super()._check()
        if self.count_special and self.unit == "word":
            raise ValueError(
                "Expected unit='wordpiece' with count_special=True, as special tokens are no words, but got 'word'."
            )

    def attribution(self) -> AttributionOptions:
        """Return the settings of `integrated_gradients`."""
        return AttributionOptions(
            **{name: getattr(self, name) for name in AttributionOptions.list_names()}
        )


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        name: Protocol(name=name, **settings)
        for name, settings in yaml.safe_load(
            Path(__file__).with_suffix(".yaml").read_text("utf-8")
        ).items()
    }
)
"""The protocols by name; `protocols.yaml` has their settings."""


def protocol_of(protocol: str | Protocol | None = None, **settings: Any) -> Protocol:
    """Return a protocol by its name, with some settings in place of its own.

    Args:
        protocol: A name of `PROTOCOLS`, a `Protocol`, or None for "rightreasons".
        **settings: Fields of `Protocol`; None leaves the protocol's own.

    Returns:
        The protocol, which keeps its name.

    Raises:
        TypeError: If the protocol is neither a name nor a `Protocol`.
        ValueError: If a name is unknown, or settings do not go together.

    Example:
        >>> protocol = protocol_of("bihani2025", steps=20, top_n=None)
        >>> protocol.target, protocol.top_n, protocol.steps
        ('logit', 3, 20)
    """
    if not isinstance(protocol, (str, Protocol, type(None))):
        raise TypeError(
            f"Expected the name of a protocol or a Protocol, but got {type(protocol).__name__}."
        )
    if isinstance(protocol, str) and protocol not in PROTOCOLS:
        raise make_unknown_name_error("protocol", protocol, PROTOCOLS)
    base = protocol if isinstance(protocol, Protocol) else PROTOCOLS[protocol or "rightreasons"]
    changes = {name: value for name, value in settings.items() if value is not None}
    check_options(changes, [name for name in Protocol.list_names() if name != "name"], "a protocol")
    return base.replace(**changes)
