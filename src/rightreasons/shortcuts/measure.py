"""Measure how far a classifier relies on shortcuts: attributions, heads and figures in one call.

`measure_shortcuts` is the entry point. It attributes the predictions by integrated gradients, finds
their shortcuts in the heads of `rank_training_heads`, and computes F1 and calibration error of the same
items.
"""

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
from rightreasons.shortcuts.detector import Heads, Shortcuts, find_shortcuts
from rightreasons.shortcuts.mutual_information import LmiResult, lmi
from rightreasons.shortcuts.protocols import Protocol, get_protocol
from rightreasons.shortcuts.reliance import ShortcutReliance, summarize_shortcuts
from rightreasons.shortcuts.tradeoff import ShortcutTradeoff, shortcut_tradeoff

UNCOUNTED_TOKENS = ("[CLS]", "[SEP]", "[PAD]")
"""Special tokens that the released code of the paper excludes from LMI, for every tokenizer."""


class WithheldError(ValueError):
    """Too few items have valid attributions to measure shortcuts."""


@dataclasses.dataclass(frozen=True, eq=False)
class ShortcutMeasurement:
    """Shortcuts, score and calibration of a classifier on the N texts with valid attributions.

    Attributes:
        attributions: Attributions of the predictions, token by token.
        probabilities: (N, K) predicted probabilities.
        labels: (N,) gold labels.
        reliance: Shortcut rate, types, null models.
        tradeoff: F1 divided by shortcut rate.
        calibration: Top-label calibration error.
        protocol: Settings of the measurement.
        rows: (N,) rows of these texts among those that were passed.
        left_out: Number of excluded texts and the reason, in one sentence; "" if none is excluded.
        n_left_out: Number of excluded texts.
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
        """Number of texts that were passed, with valid attributions or without."""
        return len(self.attributions) + self.n_left_out

    @property
    def predictions(self) -> NDArray[np.int64]:
        """(N,) predicted labels."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)

    @property
    def cued(self) -> NDArray[np.bool_]:
        """(N,) whether each prediction is shortcut-cued."""
        return np.array([example.cued for example in self.reliance.examples])

    def record(self, *, step: int = 0, epoch: float = 0.0) -> dict[str, Any]:
        """Return the figures as one row of a table over training, in plain values for JSON.

        Shares are in [0, 1]; `ece_interval` is None if no interval was requested, `f1` and
        `shortcut_tradeoff` if they are undefined.
        """
        reliance = self.reliance
        calibration = self.calibration
        null = reliance.null["frequency"]
        # Without resampling there is no interval, and its columns stay empty.
        ece_interval = None
        if calibration.interval is not None:
            ece_interval = [calibration.interval.low, calibration.interval.high]
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
            "f1": self.tradeoff.score,
            "accuracy": calibration.accuracy,
            "shortcut_tradeoff": self.tradeoff.shortcut_tradeoff,
            "ece": calibration.ece,
            "ece_interval": ece_interval,
            "n_bins": self.protocol.n_bins,
        }


def measure_shortcuts(  # noqa: PLR0913
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

    By default attributions and heads are over words, so that one ranking of the training data can
    be used with every tokenizer. A protocol over word pieces needs heads of the same pieces;
    `rank_training_heads` makes them from the classifier and the protocol.

    Args:
        classifier: A sequence classifier with gradients.
        texts: N texts.
        labels: (N,) gold labels, in the numbering of the classifier.
        heads: label -> the words of its head, or the `LmiResult` of the training data; see
            `rank_training_heads`.
        text_pairs: N second texts, for a task of pairs.
        ids: N unique ids.
        protocol: Name of the protocol, "rightreasons" (default), "bihani2025" or "du2021", or a
            `Protocol`. That of `get_protocol` may have other settings than the paper's, such as
            `get_protocol("du2021", top_n=3, steps=20)`.
        average: Average of F1: "macro" (default), "binary", "micro" or "weighted".
        resampling: Level of the intervals, number of resamples and permutations, and their seed.
        batch_size: Maximum items per batch; gradients are taken of as many times 64 tokens at once.
        progress: Whether to show progress bars.
        out: A folder for the attributions, from which an interrupted run resumes.
        fail_fast: Whether an item that the model cannot read raises (default); otherwise it is
            excluded.

    Returns:
        `ShortcutMeasurement`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ, a label or a protocol is unknown, settings contradict each
            other, or a predicted label has no head.
        WithheldError: If the share of items with valid attributions is below `min_valid`.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", section 2; Du et al. (2021), section 2.
    """
    from rightreasons.models.gradients.attribution import integrated_gradients

    settings = get_protocol(protocol)
    # A pipeline of scikit-learn has class names, but neither a tokenizer nor gradients.
    if not hasattr(classifier, "tokenizer") or classifier.label_names is None:
        raise ValueError(
            f"Expected a sequence classifier that supports gradients, but got {classifier.name}."
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
        max_length=_get_max_length(classifier, settings),
        progress=progress,
        out=out,
        fail_fast=fail_fast,
    )

    # Attributions that do not add up to the change of the score do not show which token matters.
    rows = _find_valid_rows(attributions, range(len(gold)) if ids is None else ids)
    left_out = _describe_exclusions(attributions, len(gold) - len(rows), len(gold), settings)
    # A figure about a few of the items would be about the ones that are easy to attribute.
    if len(rows) < max(1, settings.min_valid * len(gold)):
        raise WithheldError(
            f"Expected valid attributions of at least {100 * settings.min_valid:g} % of the items, "
            f"but {left_out}"
        )
    n_left_out = len(gold) - len(rows)
    if n_left_out:
        attributions = attributions.take(np.flatnonzero(attributions.valid))
        gold = gold[rows]

    probabilities = softmax(np.asarray(attributions.logits))
    predicted = probabilities.argmax(axis=1)
    shortcuts = _find_attributed_shortcuts(classifier, attributions, heads, settings)
    reliance = summarize_shortcuts(
        shortcuts,
        # The shortcuts may be those of the gold label; correctness is about the prediction.
        predictions=predicted,
        references=gold,
        confidences=probabilities.max(axis=1),
        n_bins=settings.n_bins,
        resampling=resampling,
        definition=f"Share of predictions with one of their {settings.top_n} most attributed "
        f"tokens in the head of the LMI ranking of the {settings.label} label; "
        f"protocol {settings.name}.",
    )
    # Macro F1 is over the classes that occur, as in the other figures of a report.
    tradeoff = shortcut_tradeoff(
        predicted,
        gold,
        shortcuts.cued,
        average=average,
        resampling=resampling,
    )
    calibration = calibration_error(
        probabilities,
        gold,
        n_bins=settings.n_bins,
        resampling=resampling,
    )
    return ShortcutMeasurement(
        attributions=attributions,
        probabilities=probabilities,
        labels=gold,
        reliance=reliance,
        tradeoff=tradeoff,
        calibration=calibration,
        protocol=settings,
        rows=rows,
        left_out=left_out,
        n_left_out=n_left_out,
    )


def _find_valid_rows(attributions: Attributions, ids: Sequence[object]) -> NDArray[np.int64]:
    """Return (M,) rows of the texts with valid attributions, in the order of the attributions.

    Args:
        attributions: Attributions by id. Items that the model could not read are missing.
        ids: N ids of the texts, in their order.
    """
    row_by_id = {}
    for row, item_id in enumerate(check_ids(ids, "ids")):
        row_by_id[item_id] = row
    rows = []
    for index in np.flatnonzero(attributions.valid).tolist():
        rows.append(row_by_id[attributions.ids[index]])
    return np.array(rows, dtype=np.int64)


def _describe_exclusions(
    attributions: Attributions, n_excluded: int, n_items: int, settings: Protocol
) -> str:
    """Return a sentence on how many items are excluded and why; "" if no item is excluded.

    Args:
        attributions: Attributions of the items that the model could read, and the failures of the
            others.
        n_excluded: Number of items without valid attributions.
        n_items: Number of all items.
        settings: Settings of the measurement, with the largest allowed gap between the sum of the
            attributions and the change of the score.
    """
    if not n_excluded:
        return ""
    reason = "because their gradients are not finite."
    if attributions.failures:
        # One example of a failure is enough for a reader.
        item_id, message = next(iter(attributions.failures.items()))
        reason = f"such as {item_id!r}: {message}"
    # Without failures, the attributions of the excluded items do not add up.
    elif settings.max_gap is not None:
        gap = f"{100 * settings.max_gap:g}%"
        reason = f"because their attributions miss more than {gap} of the change of the score."
    return f"{n_excluded:,} of {n_items:,} items are excluded, {reason}"


def _find_attributed_shortcuts(
    classifier: Classifier, attributions: Attributions, heads: Heads, settings: Protocol
) -> Shortcuts:
    """Find the shortcuts of attributed predictions by the settings of a protocol.

    Args:
        classifier: The classifier with the tokenizer of the attributed pieces.
        attributions: Attributions of the tokens of N predictions.
        heads: Label -> the tokens of its head.
        settings: The protocol: whether tokens are words or pieces, and how they are ranked.
    """
    piece_style = "word"
    if settings.unit != "word":
        # Tokenizers mark the pieces that begin, or continue, a word in different styles.
        piece_style = find_piece_style(classifier.tokenizer.get_vocab())
    return find_shortcuts(
        attributions.tokens,
        attributions.scores,
        attributions.explained,
        heads,
        top_n=settings.top_n,
        rank_by=settings.rank_by,
        piece_style=piece_style,
        kinds=settings.kinds,
        stop_words=settings.stop_words,
    )


def rank_training_heads(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    *,
    text_pairs: Sequence[str] | None = None,
    protocol: str | Protocol | None = None,
    classifier: Classifier | None = None,
) -> LmiResult:
    """Rank the tokens of training texts by their local mutual information with each label.

    Texts without a label or without words are skipped.

    Args:
        texts: N texts.
        labels: (N,) labels, in the numbering of the classifier; -1 for unlabeled texts.
        text_pairs: N second texts, whose tokens count as those of the first.
        protocol: Name of the protocol, or a `Protocol`; default "rightreasons", which counts words.
        classifier: The classifier whose tokenizer makes the pieces, for a protocol that counts
            pieces.

    Returns:
        The `LmiResult`, which is the argument `heads` of `measure_shortcuts`.

    Raises:
        TypeError: If the protocol is neither a name nor a `Protocol`.
        ValueError: If the protocol counts pieces and there is no classifier.
    """
    settings = get_protocol(protocol)
    texts = check_texts(texts, "texts", allow_empty=True)
    labels = check_labels(labels, name="labels", minimum=-1)
    check_same_length(texts=texts, labels=labels)
    joined = join_pairs(texts, text_pairs)
    rows = []
    # A text without words has no tokens to rank.
    for row in np.flatnonzero(labels >= 0).tolist():
        if joined[row].strip():
            rows.append(row)

    ranking: dict[str, Any] = {
        "log_base": settings.log_base,
        "head_fraction": settings.head_fraction,
        "head_rounding": settings.head_rounding,
    }
    # A ranking of words can be used with every tokenizer, one of pieces only with its own.
    if settings.unit == "word":
        return lmi([joined[row] for row in rows], labels[rows], **ranking)
    if classifier is None:
        raise ValueError(
            f"Expected `classifier` with the protocol {settings.name!r}, which counts pieces, "
            "but got None."
        )
    pairs = None
    if text_pairs is not None:
        pairs = [text_pairs[row] for row in rows]
    pieces = _split_into_pieces(classifier, [texts[row] for row in rows], pairs, settings)
    return lmi(pieces, labels[rows], tokenizer="none", **ranking)


def join_pairs(texts: Sequence[str], text_pairs: Sequence[str] | None = None) -> list[str]:
    """Join each text with its second text, if there are second texts, by a line break."""
    if text_pairs is None:
        return list(texts)
    second_texts = check_texts(text_pairs, "text_pairs", allow_empty=True)
    check_same_length(texts=texts, text_pairs=second_texts)
    return ["\n".join(pair) for pair in zip(texts, second_texts, strict=True)]


def _split_into_pieces(
    classifier: Classifier, texts: list[str], text_pairs: list[str] | None, settings: Protocol
) -> list[list[str]]:
    """Split texts into the pieces of a tokenizer that local mutual information counts.

    Special tokens are excluded, unless the protocol counts them (`count_special`): then each text
    is padded, and only [CLS], [SEP] and [PAD] are excluded, as in the released code of the paper.

    Args:
        classifier: The classifier with the tokenizer.
        texts: N texts.
        text_pairs: N second texts; None for single texts.
        settings: The protocol: its maximum length, and whether it counts special tokens.

    Returns:
        N lists of pieces.
    """
    tokenizer = classifier.tokenizer
    max_length = _get_max_length(classifier, settings)
    padding: bool | str = False
    if settings.count_special and settings.max_length:
        padding = "max_length"
    # Texts are truncated as for the attributions, so that both see the same pieces.
    encoded = tokenizer(
        texts,
        text_pairs,
        truncation=True,
        max_length=max_length or classifier.max_length,
        padding=padding,
        return_attention_mask=False,
        return_special_tokens_mask=True,
    )

    pieces_by_text = []
    for ids, special_mask in zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True):
        counted_pieces = []
        pieces = tokenizer.convert_ids_to_tokens(ids)
        for piece, is_special in zip(pieces, special_mask, strict=True):
            is_excluded = is_special
            # The names are those of BERT. Special tokens of other tokenizers are counted.
            if settings.count_special:
                is_excluded = piece in UNCOUNTED_TOKENS
            if not is_excluded:
                counted_pieces.append(piece)
        pieces_by_text.append(counted_pieces)
    return pieces_by_text


def _get_max_length(classifier: Any, settings: Protocol) -> int | None:
    """Return the number of tokens to which a protocol truncates texts; None for no truncation.

    It is at most the number that the model allows, which may be less than that of the paper.
    """
    # The shortcuts of a truncated text are those of its beginning.
    if settings.max_length is None:
        return None
    return min(settings.max_length, int(classifier.max_length))
