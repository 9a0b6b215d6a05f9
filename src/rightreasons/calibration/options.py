"""Options of a question."""

from __future__ import annotations

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, QuestionOptions, option
from rightreasons.io.options import LOG_FILTER_HELP

ELICITED = ("p_true", "verbalized", "samples")
"""Sources of confidence beside the probability of an answer; see `ElicitOptions`."""

SOURCES = ("probability", *ELICITED)
"""Sources of confidence of a language model."""


VOTE_KINDS = ("counts", "distributions")


class CalibrationOptions(QuestionOptions):
    """Does its confidence match its accuracy?"""

    n_bins: int = option(15, "Number of confidence bins.", minimum=1)
    votes_columns: str | None = option(
        None,
        "Comma-separated columns of the votes of people, one per class, or one of lists in the order of the classes.",
    )
    votes: str = option("counts", "What the votes are: counts or distributions.", choices=VOTE_KINDS)
    elicit: tuple[str, ...] = option(
        (),
        "Comma-separated: how a language model is asked for the confidence in its answers too, of p_true, verbalized "
        "and samples.",
        choices=ELICITED,
    )

    def _check(self) -> None:
        if self.votes_columns is None and self.votes != "counts":
            raise OptionError(
                f"Expected `votes_columns` where `votes` is {self.votes!r}, but there is none.",
                option=("votes_columns", "votes"),
            )


class ElicitOptions(Options):
    """How sure is a language model of its answers?"""

    sources: tuple[str, ...] = option(
        ("probability", "p_true", "verbalized"),
        "Comma-separated: probability (of the answer), p_true (that it calls its answer true), verbalized (what it "
        "says), samples (how often it gives the answer again).",
        choices=SOURCES,
    )
    n_samples: int = option(10, "Drawn answers per item, for samples.", minimum=1)
    temperature: float = option(1.0, "Temperature of drawn answers.")
    max_new_tokens: int = option(32, "Maximum tokens of a drawn answer, or of a verbalized confidence.", minimum=1)
    seed: int = option(0, "Seed of drawn answers.", minimum=0)

    def _check(self) -> None:
        if not self.sources:
            raise ValueError(f"Expected at least one of {', '.join(SOURCES)} in `sources`, but there is none.")
        if not 0 < self.temperature <= 10:
            raise OptionError(
                f"Expected `temperature` above 0 and at most 10, but got {self.temperature:g}.", option="temperature"
            )


class ConfidenceOptions(Options):
    """The columns of a table of confidence; None where their names say it."""

    confidence_column: str | None = option(
        None, "Comma-separated columns of the confidence in the given answer, one per source."
    )
    correct_column: str | None = option(None, "Column that says whether the given answer was right: 1 or 0.")
    source_column: str | None = option(None, "Column that names the source of the confidence.")
    group_column: str | None = option(None, "Column of the group of the item; figures are shown by group too.")
    item_column: str | None = option(None, "Column that names the item; by default rows are items in their order.")
    log_filter: str | None = option(None, LOG_FILTER_HELP)
