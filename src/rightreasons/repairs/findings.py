"""Read what an audit named: the words that decide, and the items that it was about."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.predictions_file import read_predictions
from rightreasons.core.errors import OptionError
from rightreasons.report.pairing import get_prediction_files, get_report_folder
from rightreasons.report.schema import check_files, read_audit
from rightreasons.shortcuts.swapping.segments import Text

QUESTION = "shortcuts"
"""The question whose findings are repaired."""

PAIR_SIZE = 2
"""Number of words of a pair. A feature with more words is a list."""

DECISIVE = ("large", "some")
"""Decisions that a feature decides more than its margin allows."""


@dataclasses.dataclass(frozen=True)
class NamedFeature:
    """A feature of texts that decides, as an audit found it.

    Attributes:
        name: Its name in the report.
        test: The test that found it, such as "words" for a pair of words.
        words: Its words, the most effective first; empty for other features, such as the length.
        deciding_share: Share of predictions that it decides.
        is_spurious: Whether the audit had evidence that the feature is no reason for a label: its
            words are planted, vanish in another split, or were named by the user.
    """

    name: str
    test: str
    words: tuple[str, ...]
    deciding_share: float
    is_spurious: bool

    @property
    def joint_share(self) -> float | None:
        """Share that the words of a list decide together; None for a single word or a pair."""
        if len(self.words) <= PAIR_SIZE:
            return None
        return round(self.deciding_share, 4)


@dataclasses.dataclass(frozen=True, eq=False)
class Findings:
    """What an audit found about shortcuts.

    Attributes:
        folder: Folder of the report.
        audit: Its audit.json.
        features: Features that decide, the largest share first.
        pair_shares: Word -> share of the predictions that the strongest pair with it decides, however
            small.
        items: N audited items.
        ids: N ids.
        labels: (N,) gold labels in the model's numbering; -1 if there is none.
        predicted: (N,) labels that the audited model predicted.
    """

    folder: Path
    audit: Mapping[str, Any]
    features: tuple[NamedFeature, ...]
    items: Sequence[Text]
    ids: Sequence[str]
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    pair_shares: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the model's classes."""
        return tuple(self.audit["model"]["label_names"])

    @property
    def model_name(self) -> str:
        """Name of the model in the report."""
        return str(self.audit["model"]["name"])

    @property
    def model_path(self) -> str | None:
        """Path or hub id of the model; None if it cannot be loaded again, see `missing_model`."""
        model = self.audit["model"]
        if model["prompt"] is not None or model["server"] is not None:
            return None
        # Reports of earlier versions have no path, but the name often is one.
        path: str | None = model.get("path", self.model_name)
        return path

    @property
    def missing_model(self) -> str:
        """Description of a model that cannot be loaded again, for error messages."""
        # The prompts of a language model are made by the audit, and its answers may cost money.
        if self.audit["model"]["prompt"] is not None or self.audit["model"]["server"] is not None:
            return "a language model that answers prompts"
        return "an object in memory"

    @property
    def training_digest(self) -> str:
        """Digest of the audit's training texts; "" if the report has none."""
        result = find_result(self.audit)
        return str(result["data"]["swaps"].get("training_digest", ""))

    def find_share(self, words: Collection[str]) -> float:
        """Return the largest share of predictions that a named feature of some words decides.

        Features that consist only of these words take precedence over lists with other words.

        Args:
            words: The words.

        Returns:
            The share; 0 if the report names none of the words.
        """
        # The features are sorted by their shares, the largest first.
        for feature in self.features:
            if feature.words and set(feature.words) <= set(words):
                return feature.deciding_share
        for feature in self.features:
            if set(feature.words) & set(words):
                return feature.deciding_share
        return 0.0

    @property
    def spurious_words(self) -> tuple[str, ...]:
        """The distinct words that the audit itself showed to be no reasons."""
        words: dict[str, None] = {}
        # The keys of a dictionary are an ordered set. A word may be in a pair and in a list.
        for feature in self.features:
            if feature.is_spurious:
                words.update(dict.fromkeys(feature.words))
        return tuple(words)


def find_result(audit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer of an audit to the question about shortcuts; empty if it has none.

    Args:
        audit: Content of audit.json.
    """
    for outcome in audit["questions"]:
        if outcome["question"] == QUESTION and outcome["result"] is not None:
            result: Mapping[str, Any] = outcome["result"]
            return result
    return {}


def explain_missing_answer(audit: Mapping[str, Any]) -> str:
    """Return why an audit has no answer to the question about shortcuts.

    If the question was not asked, it is a sentence with the command that asks it.

    Args:
        audit: Content of audit.json.
    """
    for outcome in audit["questions"]:
        # For example, a model with stored predictions cannot answer texts with swapped words.
        if outcome["question"] == QUESTION and outcome["reason"]:
            return str(outcome["reason"])
    return f"`rightreasons audit … --questions {QUESTION}` asks it."


def read_findings(report: str | os.PathLike[str]) -> Findings:
    """Read the features that decide according to an audit, and the audited items.

    Args:
        report: Folder of a report, or its audit.json.

    Returns:
        The findings.

    Raises:
        FileNotFoundError: If there is no report.
        ValueError: If the question about shortcuts was not answered, or the file of predictions is
            missing or was changed.
    """
    audit = read_audit(report)
    folder = get_report_folder(report)
    result = find_result(audit)
    if not result:
        raise OptionError(
            "Expected a report with an answered question about shortcuts, but the report of "
            f"{folder} has no answer: {explain_missing_answer(audit)}",
            option="report",
        )
    # The items are read from the file of predictions, because the data may have changed.
    file = get_prediction_files(audit)[audit["dataset"]["primary"]]
    check_files(folder, audit, [file])
    predictions = read_predictions(folder / file)
    # Results of the experiment that exchanges words: rows of tested features ("tests"), and of
    # single pairs of words ("pairs"), each with its effect on the predictions.
    swaps = result["data"]["swaps"]
    features = list(list_features(swaps))
    # The feature that decides the largest share of the predictions comes first.
    features.sort(key=lambda feature: -feature.deciding_share)
    return Findings(
        folder=folder,
        audit=audit,
        features=tuple(features),
        items=predictions.items,
        ids=predictions.ids,
        labels=predictions.labels,
        predicted=np.asarray(predictions.logits).argmax(axis=1),
        pair_shares=_find_pair_shares(swaps["pairs"]),
    )


def _find_pair_shares(pairs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return word -> largest share of predictions that a pair with the word decides.

    Args:
        pairs: Pairs in audit.json, each with its `words` and its `effect`.
    """
    share_by_word: dict[str, float] = {}
    for pair in pairs:
        share = round(float(pair["effect"]["deciding_share"]), 4)
        for word in pair["words"]:
            # Shares may be negative, so that the maximum must not start at 0.
            share_by_word[word] = max(share, share_by_word.get(word, share))
    return share_by_word


def list_features(swaps: Mapping[str, Any]) -> Iterator[NamedFeature]:
    """Yield the features that decide more than their margins allow, each once.

    Args:
        swaps: The results of the swaps in audit.json: "tests" and "pairs", rows of effects, and
            "judged", name of a feature -> judgment, such as "spurious".
    """
    judgment_by_name = swaps["judged"]
    listed = set()
    # The strongest pair is among the tests and among the pairs.
    for row in (*swaps["tests"], *swaps["pairs"]):
        identity = (row["test"], row["name"])
        if row["decision"]["level"] not in DECISIVE or identity in listed:
            continue
        listed.add(identity)
        yield NamedFeature(
            name=row["name"],
            test=row["test"],
            words=tuple(row["words"]),
            deciding_share=float(row["effect"]["deciding_share"]),
            is_spurious=judgment_by_name.get(row["name"]) == "spurious",
        )
