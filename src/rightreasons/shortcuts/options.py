"""The options of the question about shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rightreasons.core.choices import BASELINES, IMPORTANCES, INTEGRATION_METHODS, PROTOCOL_NAMES, REDUCTIONS, TARGETS
from rightreasons.core.errors import OptionError
from rightreasons.core.options import QuestionOptions, option

if TYPE_CHECKING:
    from rightreasons.shortcuts.protocols import Protocol


MAX_ITEMS, COMPARED_ITEMS = 300, 150
"""Attributed items of the primary split and of each other one; the option `items` changes both."""

OF_GRADIENTS = ("baseline", "integration", "steps", "reduce")
"""The options of shortcuts that are about integrated gradients alone."""


GRADIENTS_PER_ATTRIBUTION = 11
"""Gradients of the adaptive rule per item, as measured of an encoder on sentences."""

SWAP_PASSES = 15.0
"""About how many passes the swaps take per item, of at most 400 items."""


class ShortcutsOptions(QuestionOptions):
    """Does it decide by shortcuts?

    Words and other features of a text are swapped for those of another label: how many predictions change?
    """

    protocol: str | None = option(
        None,
        "How shortcuts are found: rightreasons, bihani2025 (the released code of the Reliability Paradox), "
        "bihani2025_text (its text) or du2021; the other settings take the place of its own.",
        choices=PROTOCOL_NAMES,
    )
    top_n: int | None = option(None, "Number of tokens that a prediction rests on.", minimum=1)

    items: int | None = option(
        None,
        "Number of items to ask about, however long that takes; by default as many as `seconds` allow, and the "
        "attributions of 300 of them, of 150 in each other split, a third of that by occlusion.",
        minimum=1,
    )
    importance: str | None = option(
        None,
        "How important a word is: by integrated gradients, or by occlusion (the score without it, for any model); by "
        "default by gradients where the model has them.",
        choices=IMPORTANCES,
    )
    target: str | None = option(None, "Score that attributions explain: probability or logit.", choices=TARGETS)
    baseline: str | None = option(None, "Input without information: auto, zeros, mean, pad or mask.", choices=BASELINES)
    integration: str | None = option(
        None, "Integration rule: adaptive, gauss_legendre or riemann_right.", choices=INTEGRATION_METHODS
    )
    steps: int | None = option(None, "Gradients per item of a fixed rule; the most of the adaptive one.", minimum=1)
    reduce: str | None = option(None, "One number per token: l2 or sum over the embedding.", choices=REDUCTIONS)
    words: tuple[str, ...] = option(
        (),
        "Comma-separated words that you suspect; whether they decide is tested with the words that the detector names.",
    )

    seconds: float = option(
        120.0,
        "Time for the swaps where `items` is not given; what is then open is called so.",
        minimum=0.0,
    )
    reasons: tuple[str, ...] = option(
        (), "Comma-separated words, or families such as length, that are reasons for a label."
    )
    not_reasons: tuple[str, ...] = option(
        (),
        "Comma-separated words, or families such as length, that are no reasons; if one decides, the verdict is red.",
    )
    other_split: str | None = option(
        None, "An audited split in which a spurious word does not go with its label, such as one of another source."
    )

    def _check(self) -> None:
        both = sorted({*self.reasons} & {*self.not_reasons})
        if both:
            raise OptionError(f"Expected {both[0]!r} to be a reason or none, but got both.", option="not_reasons")
        protocol = self.settings()
        odd = [name for name in OF_GRADIENTS if getattr(self, name) is not None]
        if protocol.importance == "occlusion" and odd:
            raise OptionError(
                f"Expected no `{odd[0]}` with importance='occlusion', which takes no gradients, but got "
                f"{getattr(self, odd[0])!r}.",
                option="importance",
            )
        if self.words and protocol.unit != "word":
            raise OptionError(
                f"Expected a protocol of words where `words` are named, but {protocol.name} is of pieces.",
                option="words",
            )

    def needs_gradients(self) -> bool:
        """Return whether an option needs gradients, for which leaving words out is no substitute."""
        return (
            self.importance == "gradients"
            or self.settings().unit != "word"
            or any(getattr(self, name) is not None for name in OF_GRADIENTS)
        )

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs; one with its gradient costs three."""
        most = [MAX_ITEMS, *[COMPARED_ITEMS] * len(context.comparisons)]
        if self.importance == "occlusion" or (context.why_no_gradients() and not self.needs_gradients()):
            most, each = [limit // 3 for limit in most], 1 + context.primary.mean_words
        else:
            each = 3 * (self.steps or GRADIENTS_PER_ATTRIBUTION)
        counts = [min(self.items or limit, len(split)) for split, limit in zip(context.splits, most, strict=True)]
        return float(sum(counts) * each + min(len(context.primary), self.items or 400) * SWAP_PASSES)

    def settings(self) -> Protocol:
        """Return the protocol with the settings that take the place of its own."""
        from rightreasons.shortcuts.protocols import protocol_of

        names = {"integration": "method"}
        settings = {names.get(name, name): value for name, value in self.to_dict().items()}
        for name in ("items", "words", "seconds", "reasons", "not_reasons", "other_split"):
            del settings[name]
        return protocol_of(settings.pop("protocol"), **settings)
