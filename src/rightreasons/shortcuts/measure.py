"""How far a classifier leans on shortcuts on some labeled texts: attributions, heads and figures in one call."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.errors import CalibrationResult, calibration_error
from rightreasons.core.arrays import Ragged, Result
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import Estimate, Interval, poisson_binomial_p_value, share
from rightreasons.core.resampling import Resampling
from rightreasons.core.tokens import piece_style
from rightreasons.core.validation import check_ids, check_labels, check_same_length, check_texts, softmax
from rightreasons.models.classes import Classifier
from rightreasons.models.gradients.options import MAX_TOKENS, Attributions
from rightreasons.models.occlusion import Occlusion, occlude
from rightreasons.models.protocol import Scorer
from rightreasons.shortcuts.mutual_information import LmiResult, lmi
from rightreasons.shortcuts.protocols import PROTOCOLS, Protocol, protocol_of
from rightreasons.shortcuts.reliance import (
    Heads,
    ShortcutReliance,
    ShortcutTradeoff,
    chance_of_hit,
    find_shortcuts,
    shortcut_tradeoff,
    summarize,
)

DEFINITION = (
    "Occlusion: the {target} of the {label} label, minus the same where the word is left out of the text. One number "
    "per occurrence of a word or mark of punctuation; below 0 where the label gains without it."
)


def occlusion_attributions(
    occlusion: Occlusion, *, target: str = "probability", label: str = "predicted"
) -> Attributions:
    r"""Say what each prediction rests on by leaving words out, where there are no gradients.

    \[ a_j = f_y(x) - f_y(x_{-j}) \]

    for the score f_y of the explained label y, and the text without its word j. It is the importance of Li et al., who
    take log-likelihoods, divide by f_y(x), which is the same for all words of a text, and average over texts. Words
    that stand for one another hide each other: without one of two, the other still speaks. The numbers need not add up
    to anything, so that there is no completeness gap.

    Args:
        occlusion: From `occlude`.
        target: "probability" (default) or "logit" of the explained label.
        label: "predicted" (default) or "gold".

    Returns:
        `Attributions` over words, signed. Items without an answer, or without one for some of their words, are not
        valid, and their numbers are 0. `gap` and `baseline_value` are NaN; `nodes` is how often the scorer was asked.

    Raises:
        ValueError: If label="gold" and an item has none.

    References:
        Li, Monroe and Jurafsky (2016), Understanding Neural Networks through Representation Erasure, equation 1.
    """
    explained = occlusion.labels if label == "gold" else occlusion.predicted
    if explained is None or (label == "gold" and (explained < 0).any()):
        raise ValueError("Expected a gold label of each item with label='gold', but there are items without.")
    scores, n_items = occlusion.importances(explained, target=target), len(occlusion)
    lengths = np.diff(occlusion.offsets)
    valid = occlusion.answered & ~np.array([np.isnan(row).any() for row in scores])
    scores.values[~np.repeat(valid, lengths)] = 0.0
    explained = np.maximum(explained, 0)
    logits, cut = occlusion.logits, f" {occlusion.n_truncated:,} texts were cut." if occlusion.n_truncated else ""
    return Attributions(
        ids=occlusion.ids,
        tokens=occlusion.tokens,
        scores=scores,
        starts=occlusion.starts,
        ends=occlusion.ends,
        parts=occlusion.parts,
        explained=explained,
        logits=np.asarray(Ragged(np.nan_to_num(logits.values), logits.offsets).table()),
        labels=occlusion.labels,
        value=(occlusion.probabilities if target == "probability" else logits).at(explained),
        baseline_value=np.full(n_items, np.nan),
        gap=np.full(n_items, np.nan),
        special_share=np.zeros(n_items),
        nodes=lengths + 1,
        truncated=np.zeros(n_items, dtype=np.bool_),
        label_names=occlusion.label_names,
        baseline="none",
        valid=valid,
        definition=DEFINITION.format(target=target, label=label) + cut,
    )


UNCOUNTED = ("[CLS]", "[SEP]", "[PAD]")
"""What the released code of the Reliability Paradox leaves out of LMI: these, whatever a tokenizer calls its own."""

N_CUES = 8
"""Words per label that the detector may name."""


@dataclasses.dataclass(frozen=True)
class Cue(Result):
    """A word that cues predictions of a label.

    Attributes:
        label: The label.
        token: The word.
        found: Predictions of the label that it cues.
        expected: Predictions of the label that it would cue if as many words were picked blindly.
        texts: Texts with this prediction that contain the word.
        p_label: Share of its occurrences in the training data that are in texts of the label.
        lmi: Its LMI.
        p_value: Two-sided p-value of "it cues as many predictions as blind picks would", not corrected for the number
            of words.
    """

    label: int
    token: str
    found: int
    expected: float
    texts: int
    p_label: float
    lmi: float
    p_value: float


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

    def types(self, resampling: Resampling) -> dict[str, Estimate]:
        """Return the shares of lexicon-cued and grammar-cued predictions with their Wilson intervals."""
        reliance = self.reliance
        return {
            name: share(round(value * reliance.n_items), reliance.n_items, resampling) or Estimate(None)
            for name, value in (("lexicon_cued", reliance.lexicon_cued), ("grammar_cued", reliance.grammar_cued))
        }

    def bin_accuracies(self, resampling: Resampling) -> list[Estimate | None]:
        """Return the accuracy of each bin of confidence with its Wilson interval; None for empty bins."""
        return [
            share(round((row.accuracy or 0.0) * row.n_items), row.n_items, resampling) for row in self.reliance.bins
        ]

    def cues(self, heads: LmiResult, n_cues: int) -> list[Cue]:
        """Return the words that cue most predictions of each label, beyond what blind picks would.

        Args:
            heads: The `LmiResult` of the training data.
            n_cues: Maximum number of words per label.
        """
        cues = []
        for label in range(self.probabilities.shape[1]):
            table, hits, chances = heads[label], Counter[str](), defaultdict[str, list[float]](list)
            head = set(table.head)
            for item in np.flatnonzero(self.attributions.explained == label).tolist():
                tokens = Counter(self.attributions.tokens[item])
                hits.update(set(self.reliance.examples[item].tokens))
                for token in tokens.keys() & head:
                    chances[token].append(_chance(tokens.total(), tokens[token], self.protocol.top_n))
            # By excess; the p-value, which takes longest, of those that are named alone.
            above = sorted((sum(chances[token]) - n, token) for token, n in hits.items() if n > sum(chances[token]))
            for _, token in above[:n_cues]:
                row = table.tokens.index(token)
                cues.append(
                    Cue(
                        label,
                        token,
                        hits[token],
                        sum(chances[token]),
                        len(chances[token]),
                        float(table.p_label[row]),
                        float(table.lmi[row]),
                        poisson_binomial_p_value(hits[token], chances[token]),
                    )
                )
        return cues

    def words(self, row: int) -> list[tuple[int, int, bool, float, float]]:
        """Return the words of an item's first text: where each begins and ends, and its part in the answer.

        That is whether a word is a shortcut, its attribution divided by the largest magnitude of the text, in [-1, 1],
        and the share of the attribution that falls on it, in [0, 1].
        """
        scores = self.attributions.scores[row]
        first, last = self.attributions.scores.offsets[row : row + 2]
        starts, ends = self.attributions.starts[first:last], self.attributions.ends[first:last]
        sizes, shortcuts = np.abs(scores), self.reliance.examples[row].positions
        weights = scores / (float(sizes.max(initial=0.0)) or 1.0)
        shares = sizes / (float(sizes.sum()) or 1.0)
        return [
            (int(starts[at]), int(ends[at]), at in shortcuts, float(weights[at]), float(shares[at]))
            for at in np.flatnonzero((self.attributions.parts[first:last] == 0) & (ends > starts)).tolist()
        ]

    def record(self, *, step: int = 0, epoch: float = 0.0) -> ShortcutRecord:
        """Return the figures alone, as one row of a table over training."""
        reliance, tradeoff, calibration = self.reliance, self.tradeoff, self.calibration
        null, gaps = reliance.null["frequency"], self.attributions.gap
        return ShortcutRecord(
            step=step,
            epoch=epoch,
            n_items=reliance.n_items,
            shortcut_rate=reliance.shortcut_reliance,
            shortcut_rate_interval=(reliance.interval.low, reliance.interval.high),
            null_rate=null.rate,
            excess=null.excess,
            excess_interval=(null.interval.low, null.interval.high),
            lexicon_cued=reliance.lexicon_cued,
            grammar_cued=reliance.grammar_cued,
            f1=tradeoff.score,
            accuracy=calibration.accuracy,
            shortcut_tradeoff=tradeoff.shortcut_tradeoff,
            shortcut_tradeoff_interval=_ends(tradeoff.interval),
            ece=calibration.ece,
            ece_interval=_ends(calibration.interval),
            special_share=float(self.attributions.special_share.mean()),
            largest_gap=None if np.isnan(gaps).all() else float(np.abs(gaps).max()),
            n_left_out=self.n_left_out,
            baseline=self.attributions.baseline,
            n_bins=self.protocol.n_bins,
        )


@dataclasses.dataclass(frozen=True)
class ShortcutRecord(Result):
    """The figures at one point of training. Shares in [0, 1].

    Attributes:
        step: Optimizer steps so far; 0 is before fine-tuning.
        epoch: Epochs so far.
        n_items: Number of predictions.
        shortcut_rate: P_sc, share of shortcut-cued predictions.
        shortcut_rate_interval: Its Wilson interval.
        null_rate: What blind picks of tokens of like frequency would give.
        excess: `shortcut_rate - null_rate`.
        excess_interval: Its bootstrap interval.
        lexicon_cued: Share with a lexical shortcut.
        grammar_cued: Share whose shortcuts are function words and punctuation alone.
        f1: F1 of the chosen average; None where undefined.
        accuracy: Share of right predictions.
        shortcut_tradeoff: T_sc, F1 over shortcut rate; None without shortcuts.
        shortcut_tradeoff_interval: Its bootstrap interval; None where T_sc is None or the interval has no upper end.
        ece: Top-label calibration error.
        ece_interval: Its bootstrap interval; None where none was requested.
        special_share: Mean share of the attribution that falls on special tokens.
        largest_gap: Largest absolute completeness gap of an attribution; None where words are left out, which has none.
        n_left_out: Number of predictions left out of all figures, because their attributions are not valid.
        baseline: Where the paths of the attributions begin.
        n_bins: Number of bins of the calibration error.
    """

    step: int
    epoch: float
    n_items: int
    shortcut_rate: float
    shortcut_rate_interval: tuple[float, float]
    null_rate: float
    excess: float
    excess_interval: tuple[float, float]
    lexicon_cued: float
    grammar_cued: float
    f1: float | None
    accuracy: float
    shortcut_tradeoff: float | None
    shortcut_tradeoff_interval: tuple[float, float] | None
    ece: float
    ece_interval: tuple[float, float] | None
    special_share: float
    largest_gap: float | None
    n_left_out: int = 0
    baseline: str = "zeros"
    n_bins: int = PROTOCOLS["rightreasons"].n_bins

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ShortcutRecord:
        """Build a record from its `to_dict`, as JSON gives it back, without what earlier versions recorded beside."""
        known = {field.name for field in dataclasses.fields(cls)}
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items() if name in known
        }
        return cls(**fields)


def measure_shortcuts(
    classifier: Classifier | Scorer,
    texts: Sequence[str],
    labels: Any,
    heads: Heads,
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Sequence[object] | None = None,
    protocol: str | Protocol | None = None,
    average: str = "macro",
    resampling: Resampling = Resampling(),
    occlusion: Occlusion | None = None,
    batch_size: int = 32,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> ShortcutMeasurement:
    """Attribute every prediction, find its shortcuts, and compute score and calibration with them.

    By default attributions and heads are over words, so that one ranking of the training data serves every tokenizer.
    A protocol may take pieces: then its heads are those of the tokenizer, from `training_heads` with both.

    Args:
        classifier: A sequence classifier; with importance="occlusion" in the protocol, any scorer of classes.
        texts: N texts.
        labels: (N,) gold labels, in the numbering of the classifier.
        heads: label -> the words of its head, or the `LmiResult` of the training data; see `training_heads`.
        text_pairs: N second texts, for a task of pairs.
        ids: N unique ids.
        protocol: Name of the protocol, "rightreasons" (default), "bihani2025" or "du2021", or a `Protocol`. That of
            `protocol_of` may have other settings than the paper's, such as `protocol_of("du2021", top_n=3, steps=20)`,
            or `protocol_of(importance="occlusion")`, which leaves words out (`occlusion_attributions`) and needs no
            gradients; the result's protocol says so.
        average: Average of F1: "macro" (default), "binary", "micro" or "weighted".
        resampling: Level of the intervals, number of resamples and permutations, and their seed.
        occlusion: What `occlude` found about these texts and labels; None to ask for it where the protocol leaves words
            out.
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
    settings, model = protocol_of(protocol), cast("Any", classifier)
    if classifier.label_names is None:
        raise ValueError(f"Expected a sequence classifier, but {classifier.name} scores choices.")
    gold = check_labels(labels, len(classifier.label_names), name="labels")
    run: dict[str, Any] = {"progress": progress, "out": out, "fail_fast": fail_fast}
    items: dict[str, Any] = {"text_pairs": text_pairs, "ids": ids, "labels": gold}
    if settings.importance == "occlusion":
        if occlusion is None:
            occlusion = occlude(classifier, texts, **items, batch_size=batch_size, **run)
        attributions = occlusion_attributions(occlusion, target=settings.target, label=settings.label)
    elif hasattr(classifier, "tokenizer"):
        from rightreasons.models.gradients.attribution import integrated_gradients

        length = _max_length(classifier, settings)
        run |= {"max_tokens": MAX_TOKENS * batch_size // 32, "max_length": length}
        attributions = integrated_gradients(classifier, texts, **items, options=settings.attribution(), **run)
    else:
        raise OptionError(
            f"Expected a classifier with gradients, but got {classifier.name}: importance='occlusion' asks any scorer.",
            option="importance",
        )
    places = {name: row for row, name in enumerate(check_ids(range(len(gold)) if ids is None else ids, "ids"))}
    n_given, valid = len(gold), np.flatnonzero(attributions.valid)
    rows = np.array([places[attributions.ids[row]] for row in valid.tolist()], dtype=np.int64)
    left_out = _left_out(classifier, attributions, settings)
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
        piece_style="word" if settings.unit == "word" else piece_style(model.tokenizer.get_vocab()),
        kinds=settings.kinds,
    )
    reliance = summarize(
        shortcuts,
        predictions=predicted,
        references=gold,
        confidences=probabilities.max(axis=1),
        n_bins=settings.n_bins,
        resampling=resampling,
    )
    definition = (
        f"Share of predictions with one of their {settings.top_n} most attributed tokens in the head of the LMI "
        f"ranking of the {settings.label} label; protocol {settings.name}."
    )
    reliance = dataclasses.replace(reliance, definition=definition)
    return ShortcutMeasurement(
        attributions=attributions,
        probabilities=probabilities,
        labels=gold,
        reliance=reliance,
        tradeoff=shortcut_tradeoff(
            predicted,
            gold,
            [example.cued for example in reliance.examples],
            average=average,
            n_classes=len(classifier.label_names),
            resampling=resampling,
        ),
        calibration=calibration_error(probabilities, gold, n_bins=settings.n_bins, resampling=resampling),
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
    texts, labels = check_texts(texts, "texts", allow_empty=True), check_labels(labels, name="labels", minimum=-1)
    check_same_length(texts=texts, labels=labels)
    joined = with_pairs(texts, text_pairs)
    rows = [row for row in np.flatnonzero(labels >= 0).tolist() if joined[row].strip()]
    ranking = {name: getattr(settings, name) for name in ("log_base", "head_fraction", "head_rounding")}
    if settings.unit == "word":
        return lmi([joined[row] for row in rows], labels[rows], **ranking)
    if classifier is None:
        raise ValueError(
            f"Expected `classifier` with the protocol {settings.name!r}, which counts pieces, but got None."
        )
    pairs = None if text_pairs is None else [text_pairs[row] for row in rows]
    pieces = _pieces(classifier, [texts[row] for row in rows], pairs, settings)
    return lmi(pieces, labels[rows], tokenizer="none", **ranking)


def _left_out(classifier: Classifier | Scorer, attributions: Attributions, settings: Protocol) -> str:
    """Say how many items are left out and why; "" where none is."""
    n_given, failed = len(attributions) + len(attributions.failures), ""
    if attributions.failures:
        name, reason = next(iter(attributions.failures.items()))
        failed = f"{len(attributions.failures):,} of {n_given:,} items are left out, the first {name!r}: {reason}"
    if not attributions.n_invalid:
        return failed
    if settings.importance == "occlusion":
        return (
            f"{attributions.n_invalid:,} of {n_given:,} items are left out, because the model did not answer to them, "
            "or to them without one of their words."
        )
    why = "their gradients are not finite"
    if settings.max_gap is not None:
        why = f"their attributions miss more than {100 * settings.max_gap:g} % of the change of the score"
    precision = str(getattr(getattr(classifier, "model", None), "dtype", "")).removeprefix("torch.")
    hint = "" if precision in ("", "float32", "float64") else f": the model is in {precision}, load it in float32"
    invalid = f"{attributions.n_invalid:,} of {n_given:,} items are left out, because {why}{hint}."
    return f"{invalid} {failed}".rstrip()


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
    return [[t for t, special in zip(*row, strict=True) if not special] for row in zip(pieces, masks, strict=True)]


def _max_length(classifier: Any, settings: Protocol) -> int | None:
    return None if settings.max_length is None else min(settings.max_length, classifier.max_length)


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)


@functools.cache
def _chance(n_tokens: int, times: int, top_n: int) -> float:
    row, place = np.zeros(n_tokens, dtype=np.int64), np.arange(n_tokens)
    return float(chance_of_hit(row, 1, place < top_n, place < times)[0])
