"""How far a classifier leans on shortcuts on some labeled texts: attributions, heads and figures in one call."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.errors import CalibrationResult, calibration_error
from rightreasons.core.resampling import Resampling
from rightreasons.core.tokens import find_piece_style
from rightreasons.core.validation import (
    check_ids,
    check_labels,
    check_same_length,
    check_texts,
    softmax,
)
from rightreasons.models.classes import Classifier
from rightreasons.models.gradients.options import MAX_TOKENS, Attributions
from rightreasons.shortcuts.mutual_information import LmiResult, lmi
from rightreasons.shortcuts.protocols import Protocol, protocol_of
from rightreasons.shortcuts.reliance import (
    Heads,
    ShortcutReliance,
    ShortcutTradeoff,
    find_shortcuts,
    shortcut_tradeoff,
    summarize,
)

UNCOUNTED = ("[CLS]", "[SEP]", "[PAD]")
"""What the released code of the Reliability Paradox leaves out of LMI: these, whatever a tokenizer calls its own."""


class WithheldError(ValueError):
    """Too few items have valid attributions for a figure about all of them."""


@dataclasses.dataclass(frozen=True, eq=False)
class ShortcutMeasurement:
    """What a classifier does on the N labeled texts, of those that it was given, whose attributions are valid.

    Attributes:
        attributions: What each prediction rests on, word for word.
        probabilities: (N, K) the predicted probabilities.
        labels: (N,) gold labels.
        reliance: Shortcut rate, types, null models.
        tradeoff: F1 divided by shortcut rate.
        calibration: Top-label calibration error.
        protocol: The settings with which they were found.
        rows: (N,) which of the texts these are.
        left_out: How many texts are left out, and why, in one sentence; "" where none is.
        n_left_out: How many.
    """

    attributions: Attributions
    probabilities: NDArray[np.float64]
    labels: NDArray[np.int64]
    reliance: ShortcutReliance
    tradeoff: ShortcutTradeoff
    calibration: CalibrationResult
    protocol: Protocol
    rows: NDArray[np.int64]
    left_out: str
    n_left_out: int

    @property
    def n_given(self) -> int:
        """How many texts were given, valid or not."""
        return len(self.attributions) + self.n_left_out

    @property
    def predictions(self) -> NDArray[np.int64]:
        """(N,) predicted labels."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)

    @property
    def cued(self) -> NDArray[np.bool_]:
        """(N,) which predictions are shortcut-cued."""
        return np.array([example.cued for example in self.reliance.examples])

    def record(self, *, step: int = 0, epoch: float = 0.0) -> dict[str, Any]:
        """Return the figures alone, as one row of a table over training: plain values, as JSON has them.

        Shares are in [0, 1]; `ece_interval` is None where no interval was requested, `f1` and `shortcut_tradeoff` where
        they are undefined.
        """
        reliance, tradeoff, calibration = self.reliance, self.tradeoff, self.calibration
        null, ends = reliance.null["frequency"], calibration.interval
        return {
            "step": step,
            "epoch": epoch,
            "n_items": reliance.n_items,
            "shortcut_rate": reliance.shortcut_reliance,
            "shortcut_rate_interval": [reliance.interval.low, reliance.interval.high],
            "null_rate": null.rate,
            "excess": null.excess,
            "lexicon_cued": reliance.lexicon_cued,
            "grammar_cued": reliance.grammar_cued,
            "f1": tradeoff.score,
            "accuracy": calibration.accuracy,
            "shortcut_tradeoff": tradeoff.shortcut_tradeoff,
            "ece": calibration.ece,
            "ece_interval": ends and [ends.low, ends.high],
            "n_bins": self.protocol.n_bins,
        }


def measure_shortcuts(
    classifier: Classifier,
    texts: Sequence[str],
    labels: Any,
    heads: Heads,
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Sequence[object] | None = None,
    protocol: str | Protocol | None = None,
    average: str = "macro",
    resampling: Resampling = Resampling(),
    batch_size: int = 32,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> ShortcutMeasurement:
    """Attribute every prediction, find its shortcuts, and compute score and calibration with them.

    By default attributions and heads are over words, so that one ranking of the training data serves every tokenizer.
    A protocol may take pieces: then its heads are those of the tokenizer, from `training_heads` with both.

    Args:
        classifier: A sequence classifier with gradients.
        texts: N texts.
        labels: (N,) gold labels, in the numbering of the classifier.
        heads: label -> the words of its head, or the `LmiResult` of the training data; see `training_heads`.
        text_pairs: N second texts, for a task of pairs.
        ids: N unique ids.
        protocol: Name of the protocol, "rightreasons" (default), "bihani2025" or "du2021", or a `Protocol`. That of
            `protocol_of` may have other settings than the paper's, such as `protocol_of("du2021", top_n=3, steps=20)`.
        average: Average of F1: "macro" (default), "binary", "micro" or "weighted".
        resampling: Level of the intervals, number of resamples and permutations, and their seed.
        batch_size: Maximum items per batch; gradients are taken of as many times 64 tokens at once.
        progress: Whether to show progress bars.
        out: A folder for the attributions, from which a killed run resumes.
        fail_fast: Whether an item that the model cannot read is an error (default); if not, it is left out.

    Returns:
        `ShortcutMeasurement`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ, a label or a protocol is unknown, settings do not go together, or a predicted
            label has no head.
        WithheldError: If the attributions of less than `min_valid` of the items are valid.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", section 2; Du et al. (2021), section 2.
    """
    from rightreasons.models.gradients.attribution import integrated_gradients

    settings = protocol_of(protocol)
    if not hasattr(classifier, "tokenizer") or classifier.label_names is None:
        raise ValueError(
            f"Expected a sequence classifier with gradients, but got {classifier.name}."
        )
    gold = check_labels(labels, len(classifier.label_names), name="labels")
    attributions = integrated_gradients(
        classifier,
        texts,
        text_pairs=text_pairs,
        ids=ids,
        labels=gold,
        options=settings.attribution(),
        max_tokens=MAX_TOKENS * batch_size // 32,
        max_length=_max_length(classifier, settings),
        progress=progress,
        out=out,
        fail_fast=fail_fast,
    )
    places = {
        name: row
        for row, name in enumerate(check_ids(range(len(gold)) if ids is None else ids, "ids"))
    }
    n_given, valid = len(gold), np.flatnonzero(attributions.valid)
    rows = np.array([places[attributions.ids[row]] for row in valid.tolist()], dtype=np.int64)
    left_out = ""
    if len(rows) < n_given:
        why = "because their gradients are not finite."
        if attributions.failures:
            why = "such as {!r}: {}".format(*next(iter(attributions.failures.items())))
        elif settings.max_gap is not None:
            why = f"because their attributions miss more than {100 * settings.max_gap:g} % of the change of the score."
        left_out = f"{n_given - len(rows):,} of {n_given:,} items are left out, {why}"
    if len(rows) < max(1, settings.min_valid * n_given):
        raise WithheldError(
            f"Expected valid attributions of at least {100 * settings.min_valid:g} % of the items, but {left_out}"
        )
    if left_out:
        attributions, gold = attributions.take(valid), gold[rows]
    probabilities = softmax(np.asarray(attributions.logits))
    predicted = probabilities.argmax(axis=1)
    shortcuts = find_shortcuts(
        attributions.tokens,
        attributions.scores,
        attributions.explained,
        heads,
        top_n=settings.top_n,
        rank_by=settings.rank_by,
        piece_style="word"
        if settings.unit == "word"
        else find_piece_style(classifier.tokenizer.get_vocab()),
        kinds=settings.kinds,
    )
    reliance = summarize(
        shortcuts,
        predictions=predicted,
        references=gold,
        confidences=probabilities.max(axis=1),
        n_bins=settings.n_bins,
        resampling=resampling,
        definition=f"Share of predictions with one of their {settings.top_n} most attributed tokens in the head of the "
        f"LMI ranking of the {settings.label} label; protocol {settings.name}.",
    )
    return ShortcutMeasurement(
        attributions=attributions,
        probabilities=probabilities,
        labels=gold,
        reliance=reliance,
        tradeoff=shortcut_tradeoff(
            predicted,
            gold,
            shortcuts.cued,
            average=average,
            n_classes=len(classifier.label_names),
            resampling=resampling,
        ),
        calibration=calibration_error(
            probabilities, gold, n_bins=settings.n_bins, resampling=resampling
        ),
        protocol=settings,
        rows=rows,
        left_out=left_out,
        n_left_out=n_given - len(rows),
    )


def training_heads(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    *,
    text_pairs: Sequence[str] | None = None,
    protocol: str | Protocol | None = None,
    classifier: Classifier | None = None,
) -> LmiResult:
    """Rank the tokens of training data by how they give a label away; texts without label or words are skipped.

    Args:
        texts: N texts.
        labels: (N,) labels, in the numbering of the classifier; -1 for none.
        text_pairs: N second texts, whose tokens count as those of the first.
        protocol: Name of the protocol, or a `Protocol`; default "rightreasons", which counts words.
        classifier: The classifier whose tokenizer makes the pieces, for a protocol that counts pieces.

    Returns:
        The `LmiResult`, whose heads `measure_shortcuts` takes.

    Raises:
        TypeError: If the protocol is neither a name nor a `Protocol`.
        ValueError: If the protocol counts pieces and there is no classifier.
    """
    settings = protocol_of(protocol)
    texts, labels = (
        check_texts(texts, "texts", allow_empty=True),
        check_labels(labels, name="labels", minimum=-1),
    )
    check_same_length(texts=texts, labels=labels)
    joined = with_pairs(texts, text_pairs)
    rows = [row for row in np.flatnonzero(labels >= 0).tolist() if joined[row].strip()]
    ranking = {
        name: getattr(settings, name) for name in ("log_base", "head_fraction", "head_rounding")
    }
    if settings.unit == "word":
        return lmi([joined[row] for row in rows], labels[rows], **ranking)
    if classifier is None:
        raise ValueError(
            f"Expected `classifier` with the protocol {settings.name!r}, which counts pieces, but got None."
        )
    pairs = None if text_pairs is None else [text_pairs[row] for row in rows]
    pieces = _pieces(classifier, [texts[row] for row in rows], pairs, settings)
    return lmi(pieces, labels[rows], tokenizer="none", **ranking)


def with_pairs(texts: Sequence[str], text_pairs: Sequence[str] | None = None) -> list[str]:
    """Join each text with its second text, where there are second texts, by a line break."""
    if text_pairs is None:
        return list(texts)
    seconds = check_texts(text_pairs, "text_pairs", allow_empty=True)
    check_same_length(texts=texts, text_pairs=seconds)
    return [f"{first}\n{second}" for first, second in zip(texts, seconds, strict=True)]


def _pieces(
    classifier: Classifier, texts: list[str], text_pairs: list[str] | None, settings: Protocol
) -> list[list[str]]:
    """Return the pieces of each text that LMI counts."""
    tokenizer = classifier.tokenizer
    encoded = tokenizer(
        texts,
        text_pairs,
        truncation=True,
        max_length=_max_length(classifier, settings) or classifier.max_length,
        padding="max_length" if settings.count_special and settings.max_length else False,
        return_attention_mask=False,
        return_special_tokens_mask=True,
    )
    pieces = [tokenizer.convert_ids_to_tokens(ids) for ids in encoded["input_ids"]]
    if settings.count_special:
        return [[token for token in row if token not in UNCOUNTED] for row in pieces]
    masks = encoded["special_tokens_mask"]
    return [
        [t for t, special in zip(*row, strict=True) if not special]
        for row in zip(pieces, masks, strict=True)
    ]


def _max_length(classifier: Any, settings: Protocol) -> int | None:
    return None if settings.max_length is None else min(settings.max_length, classifier.max_length)
