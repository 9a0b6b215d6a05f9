"""What can be set about each question: one frozen class per question, read by measurements, commands and the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rightreasons.foundations.choices import (
    BASELINES,
    FEATURES,
    IMPORTANCES,
    INTEGRATION_METHODS,
    NEIGHBORS,
    ORDERS,
    PROTOCOL_NAMES,
    REDUCTIONS,
    TARGETS,
)
from rightreasons.foundations.options import Options, listed, option
from rightreasons.foundations.sentences import one_line

if TYPE_CHECKING:
    from rightreasons.measuring.protocols import Protocol

OF_GRADIENTS = ("baseline", "integration", "steps", "reduce")
"""The options of shortcuts that are about integrated gradients alone."""

MEASURES = ("eigenvalue", "left_out_words", "information", "contrast")
"""Measures of difficulty; see `DifficultyOptions`."""
ELICITED = ("p_true", "verbalized", "samples")
"""Sources of confidence beside the probability of an answer; see `ElicitOptions`."""

VOTE_KINDS = ("counts", "distributions")
SUITE_HELP = (
    "A .jsonl, .jsonl.gz or .parquet suite, one that CheckList has saved (.pkl, .pkl.gz, .tar.gz), a CSV in the form "
    "of HateCheck, or checklist_sentiment, checklist_paraphrase or checklist_reading."
)
TEXT_COLUMNS_HELP = "Comma-separated names of the texts of an example in a suite that CheckList has saved."


@dataclasses.dataclass(frozen=True)
class CalibrationOptions(Options):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.votes_columns is None and self.votes != "counts":
            raise ValueError(f"Expected `votes_columns` where `votes` is {self.votes!r}, but there is none.")


@dataclasses.dataclass(frozen=True)
class ShortcutsOptions(Options):
    """Does it decide by shortcuts?

    None leaves a setting to the protocol.
    """

    protocol: str | None = option(
        None,
        "How shortcuts are found: rightreasons, bihani2025 (as in the released code of the Reliability Paradox) or "
        "du2021; the other settings take the place of its own.",
        choices=PROTOCOL_NAMES,
    )
    top_n: int | None = option(None, "Number of tokens that a prediction rests on.", minimum=1)

    items: int | None = option(
        None,
        "Maximum number of attributed items per split; 300 of the first split and 150 of each other, a third of that "
        "by occlusion.",
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
        None,
        "Integration rule: adaptive, gauss_legendre or riemann_right.",
        choices=INTEGRATION_METHODS,
    )
    steps: int | None = option(None, "Gradients per item of a fixed rule; the most of the adaptive one.", minimum=1)
    reduce: str | None = option(None, "One number per token: l2, sum or dot over the embedding.", choices=REDUCTIONS)
    words: tuple[str, ...] = option(
        (),
        "Comma-separated words that you suspect; whether they decide is tested with the words that the detector names.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.words, tuple) or not all(isinstance(word, str) for word in self.words):
            raise TypeError(f"Expected a list of words in `words`, but got {one_line(self.words)}.")
        protocol = self.settings()
        odd = [name for name in OF_GRADIENTS if getattr(self, name) is not None]
        if protocol.importance == "occlusion" and odd:
            raise ValueError(
                f"Expected no `{odd[0]}` with importance='occlusion', which takes no gradients, but got "
                f"{getattr(self, odd[0])!r}."
            )
        if self.words and protocol.unit != "word":
            raise ValueError(f"Expected a protocol of words where `words` are named, but {protocol.name} is of pieces.")

    def needs_gradients(self) -> bool:
        """Return whether an option needs gradients, for which leaving words out is no substitute."""
        return (
            self.importance == "gradients"
            or self.settings().unit != "word"
            or any(getattr(self, name) is not None for name in OF_GRADIENTS)
        )

    def settings(self) -> Protocol:
        """Return the protocol with the settings that take the place of its own."""
        from rightreasons.measuring.protocols import protocol_of

        names = {"integration": "method"}
        settings = {names.get(name, name): value for name, value in self.to_dict().items()}
        del settings["items"], settings["words"]
        return protocol_of(settings.pop("protocol"), **settings)


@dataclasses.dataclass(frozen=True)
class CuesOptions(Options):
    """Do the answer options give the answer away?"""

    features: tuple[str, ...] = option(
        ("unigram", "length", "overlap", "negation"),
        f"Families of cues, of {', '.join(FEATURES)}; comma-separated.",
        choices=FEATURES,
    )
    min_applicability: int = option(1, "Minimum applicability of a cue.", minimum=1)
    groups_column: str | None = option(
        None, "Column that names the group each item belongs to; source_id where there is one."
    )
    n_folds: int = option(10, "Folds of the cue-only classifier.", minimum=2)


@dataclasses.dataclass(frozen=True)
class ProbesOptions(Options):
    """Does it pick an answer before reading the question?"""

    ks: tuple[int, ...] = option(
        (1, 2, 4, 8), "Numbers of choices that the fourth probe adds; comma-separated.", minimum=1
    )
    orders: str = option(
        "auto",
        "Orders of the choices: cyclic, random, all, or auto: all of up to three choices, else cyclic.",
        choices=ORDERS,
    )
    distractors: bool = option(
        True, "Whether near choices and “None of the above” are added too, to compare with random choices."
    )
    templates: bool = option(
        True, "Whether a language model is also asked without its chat template, or with it, to compare."
    )


@dataclasses.dataclass(frozen=True)
class DifficultyOptions(Options):
    """Which examples is it fragile on?"""

    measures: tuple[str, ...] = option(
        (),
        "Comma-separated: eigenvalue (how far each prediction is from changing), left_out_words (what one left-out "
        "word changes, for any model), information (what a prompted model has from its input) and contrast (contrast "
        "sets); by default all that apply, left_out_words where a model has no gradients.",
        choices=MEASURES,
    )
    items: int | None = option(
        None, "Maximum number of ranked items; 1,000 by eigenvalue, and 100 by left-out words.", minimum=1
    )
    neighbors: str = option(
        "same_class", "Words that replace others: same_class (of the predicted class) or any.", choices=NEIGHBORS
    )
    data_map: str | None = option(None, "Folder of DataMapCallback, from training on these items, to compare with.")
    original_column: str | None = option(
        None,
        "Column that marks the original of each contrast set, by true and false or by the word original; role, "
        "is_original or mirrored where there is one, else the first item of each set is it.",
    )


@dataclasses.dataclass(frozen=True)
class SuiteOptions(Options):
    """How a behavioral suite is read, and how much of its results is shown."""

    text_columns: str | None = option(None, TEXT_COLUMNS_HELP)
    label_names: str | None = option(
        None, "Names of the suite's labels 0, 1, …, comma-separated, where it has none or other ones than a model."
    )
    max_cases: int | None = option(None, "Maximum number of cases per functionality.", minimum=1)
    examples: int = option(3, "Failing cases shown per functionality.", minimum=0)

    def opening(self) -> dict[str, Any]:
        """Return the keywords of `open_suite`."""
        texts, labels = listed(self.text_columns), listed(self.label_names)
        return {"text_columns": texts, "label_names": labels, "max_cases": self.max_cases}


@dataclasses.dataclass(frozen=True)
class BehaviorOptions(SuiteOptions):
    """Does its good behavior generalize?"""

    suite: str | None = option(None, SUITE_HELP)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max_cases", "text_columns", "label_names"):
            if self.suite is None and getattr(self, name) is not None:
                raise ValueError(f"Expected `suite` where `{name}` is given, but there is none.")


QUESTIONS: Mapping[str, type[Options]] = {
    "calibration": CalibrationOptions,
    "shortcuts": ShortcutsOptions,
    "cues": CuesOptions,
    "probes": ProbesOptions,
    "difficulty": DifficultyOptions,
    "behavior": BehaviorOptions,
}
"""The options of each question of the audit, by its name."""
