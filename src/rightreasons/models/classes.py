"""What any scorer is asked about a dataset, classes or choices, and a classifier, whose logits are kept with their ids.

Whoever asks a function or a server needs no torch: it is imported where a model of torch is run.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.core.validation import check_ids, check_same_length, check_texts
from rightreasons.models.fingerprints import fingerprint_model
from rightreasons.models.prompts import ChoiceItems
from rightreasons.models.protocol import Ability, Scorer
from rightreasons.models.running import (
    FAILED,
    NO_WORDS,
    Column,
    Columns,
    HowToBatch,
    Later,
    Store,
)

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    from rightreasons.models.items import Items

ITEMS = "items.json"


class HowToChoose(HowToBatch, total=False):
    """What is known of multiple-choice items, and how they are run; `choose` says more."""

    ids: Iterable[object] | None
    labels: Sequence[int] | NDArray[Any] | None


class OfTransformers:
    """What scorers with a model of transformers and its tokenizer have in common."""

    model: Any
    tokenizer: Any

    @property
    def max_length(self) -> int:
        """Maximum tokens per sequence, from `length_bound`."""
        from rightreasons.models.trial import length_bound

        return length_bound(self.model, self.tokenizer)

    @property
    def fingerprint(self) -> str:
        """A digest of the configuration, of every weight as it is now, and of the tokenizer."""
        return fingerprint_model(self.model, self.tokenizer)

    @property
    def n_parameters(self) -> int:
        """Number of parameters of the model."""
        return int(self.model.num_parameters())

    def describe(self) -> dict[str, Any]:
        """Return the architecture, and what its weights are."""
        from rightreasons.models.weights import told_of

        return {"architecture": type(self.model).__name__, "weights": told_of(self.model)}


@dataclasses.dataclass(frozen=True, eq=False)
class Classifier(OfTransformers):
    """A model that gives scores to classes, to choices or to the spans of a context, with its tokenizer.

    Attributes:
        model: A sequence classifier, a multiple-choice or a question-answering model of transformers, in evaluation
            mode.
        tokenizer: Its tokenizer.
        label_names: The names of the K classes in the order of the logits; None for the other models.
        name: What the user called it: a folder or a hub id.
    """

    model: Any
    tokenizer: Any
    label_names: tuple[str, ...] | None
    name: str
    joint: ClassVar[bool] = False  # a head reads each choice by itself

    @property
    def device(self) -> torch.device:
        """Device of the model's input."""
        device: torch.device = self.model.device
        return device

    @property
    def abilities(self) -> frozenset[Ability]:
        """Items shared by processes, and gradients of classes where no weight is quantized."""
        from rightreasons.models.weights import quantized

        plain = self.label_names is not None and not quantized(self.model)
        return frozenset(("gradients", "processes") if plain else ("processes",))

    def predict(self, texts: Sequence[str], **how: Any) -> Scores:
        """Score the classes of N texts; the arguments are those of the function `predict`."""
        return predict(self, texts, **how)

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        max_length: int | None = None,
        **how: Any,
    ) -> Scores:
        """Score every choice of every item by a multiple-choice head.

        A head scores each (prompt, choice) pair by itself, so the pairs are batched by length, whatever item they
        belong to, and the number of choices may differ between items.

        Args:
            prompts: N prompts; one may be empty.
            choices: N lists of at least two texts.
            ids: N unique ids; by default "0", "1", …
            labels: (N,) the index of the right choice, -1 where there is none.
            max_length: Maximum tokens per pair; None takes what the model allows.
            **how: `batch_size` (pairs), `max_tokens`, `progress`, `out` and `fail_fast` of `predict`; one pair that
                fails leaves its item out.

        Returns:
            ids, logits ((N, C) float64 where every item has C choices, else `Ragged`), labels, and how many pairs were
            cut; `label_names` is None.

        Raises:
            TypeError: As in `predict`.
            ValueError: As in `predict`, if an item has fewer than two choices, or the model is a classifier.
        """
        from rightreasons.models.items import Items

        items = ChoiceItems.check(prompts, choices, ids=ids, labels=labels, allow_empty=True)
        pairs = Items.of_pairs(self, items, max_length=max_length)
        return _score(pairs, items.ids, items.labels, counts=items.counts, **how)


def predict(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    max_length: int | None = None,
    **how: Unpack[HowToBatch],
) -> Scores:
    """Score every text by a sequence classifier.

    Texts are tokenized once and batched by length. Under `accelerate launch` (or torchrun) the processes share the
    batches and each returns the whole result: that of one process, to the rounding of the arithmetic.

    Args:
        classifier: From `load_classifier`, or any other `Scorer` of classes, such as a `Prompted`, which batches by
            itself.
        texts: N texts; none may be empty.
        text_pairs: N second texts for a task of pairs.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels below K, -1 where there is none; None when the data has no labels.
        batch_size: Maximum items per batch.
        max_tokens: Maximum tokens per padded batch; None for no bound.
        max_length: Maximum tokens per item; None takes what the model allows.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: a killed run resumes, and `load_scores` opens it
            later. None keeps them in memory.
        fail_fast: Whether an item that the model cannot score is an error (default). If not, it is left out, and
            `failures` has its id and the reason.

    Returns:
        ids, (N, K) float64 logits, labels, label names, how many texts were cut, and what was left out.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an id comes twice, a label is not one of the model's, a logit is not
            finite (the item is named), no item can be scored, or `out` holds other files.
    """
    failures: dict[str, str] = {}
    if not how.get("fail_fast", True) and text_pairs is None:
        texts, ids, labels, failures = leave_out_empty(texts, ids, labels)
    if not isinstance(classifier, Classifier):
        if not callable(getattr(classifier, "predict", None)):
            raise TypeError(
                f"Expected a classifier from `load_classifier` or another scorer of classes, such as a `Prompted`, but "
                f"got {type(classifier).__name__}."
            )
        scores = classifier.predict(
            texts, text_pairs=text_pairs, ids=ids, labels=labels, **_kept(how)
        )
        return (
            dataclasses.replace(scores, failures={**failures, **scores.failures})
            if failures
            else scores
        )
    if classifier.label_names is None:
        raise ValueError(
            f"Expected a sequence classifier, but {classifier.name} scores choices: use `choose`."
        )
    from rightreasons.models.items import Items

    items = Items.of(classifier, texts, text_pairs=text_pairs, ids=ids, max_length=max_length)
    return _score(items, items.ids, items.check_labels(labels), failures=failures, **how)


def _kept(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a scorer that batches by itself, and names its failures, is told."""
    return {
        name: value
        for name, value in how.items()
        if name not in ("batch_size", "max_tokens", "fail_fast")
    }


def choose(
    scorer: Scorer,
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    **how: Unpack[HowToChoose],
) -> Scores:
    """Score every choice of every item by any scorer.

    Args:
        scorer: From `load_chooser` or `load_multiple_choice`, or any other `Scorer`, such as a `Prompted`, which
            batches by itself, and names in `failures` the items that it cannot score.
        prompts: N prompts; one may be empty.
        choices: N lists of at least two texts.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) the index of the right choice, -1 where there is none.
        batch_size: Maximum pairs per batch of a multiple-choice model; default 32.
        max_tokens: Maximum tokens per padded batch of a multiple-choice model; None is no bound.
        progress: Whether to show a progress bar.
        out: A folder for the results; a killed run resumes.
        fail_fast: Whether an item that cannot be scored is an error (default). If not, it is left out, and `failures`
            has its id and the reason.

    Returns:
        ids, the scores ((N, C) where every item has C choices, else `Ragged`), whose softmax over an item's choices is
        its confidence, labels, and how many prompts or pairs were cut.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an item has fewer than two choices, a score is not finite, or `out`
            holds other files.
    """
    if isinstance(scorer, Classifier):
        return scorer.choose(prompts, choices, **how)
    if not callable(getattr(scorer, "choose", None)):
        raise TypeError(
            f"Expected a scorer from `load_chooser` or another scorer of choices, such as a `Prompted`, but got "
            f"{type(scorer).__name__}."
        )
    return scorer.choose(prompts, choices, **_kept(how))


def load_scores(folder: str | os.PathLike[str]) -> Scores:
    """Open what `predict(..., out=folder)` or `choose(..., out=folder)` of a head wrote.

    Args:
        folder: The folder of the predictions.

    Returns:
        The scores, in the order of the items.

    Raises:
        ValueError: If the folder holds no predictions, or the run that wrote them did not finish.
    """
    store = Store.open(folder)
    about = store.read_json(ITEMS)
    if about is None:
        raise ValueError(
            f"Expected predictions in {folder}, but it has no whole {ITEMS}: run the prediction again."
        )
    chunk, failed = store.read(), store.read(FAILED)
    expected = len(about["ids"]) if about["choices"] is None else sum(about["choices"])
    done = len(chunk) + len(failed)
    if done != expected:
        raise ValueError(
            f"Expected {folder} to hold {expected} predictions, but {done} are there: run the interrupted "
            "prediction again, and it resumes."
        )
    return _assemble(about, chunk.leaving_out(failed))


def leave_out_empty(
    texts: Sequence[str], ids: Iterable[object] | None, labels: Any
) -> tuple[list[str], Sequence[str], Any, dict[str, str]]:
    """Leave out the texts without words, unless all are.

    Args:
        texts: N texts.
        ids: N unique ids, or None.
        labels: (N,) labels, or None.

    Returns:
        The other texts, their ids and labels, and id -> reason of those that are left out.
    """
    texts = check_texts(texts, "texts", allow_empty=True)
    names = check_ids(range(len(texts)) if ids is None else ids, "ids")
    check_same_length(texts=texts, ids=names, **({} if labels is None else {"labels": labels}))
    rows = [row for row, text in enumerate(texts) if text.strip()]
    if len(rows) in (0, len(texts)):
        return texts, names, labels, {}
    failures = {name: NO_WORDS for name, text in zip(names, texts, strict=True) if not text.strip()}
    kept = None if labels is None else [labels[row] for row in rows]
    return [texts[row] for row in rows], [names[row] for row in rows], kept, failures


def _score(
    items: Items,
    ids: Sequence[str],
    gold: NDArray[np.int64] | None,
    *,
    counts: NDArray[np.int64] | None = None,
    failures: Mapping[str, str] | None = None,
    **how: Any,
) -> Scores:
    """Score texts, or pairs of a prompt with a choice, of which each of the `ids` has as many as `counts` say."""
    import torch

    from rightreasons.models.batching import later

    classifier = items.classifier

    @torch.inference_mode()
    def score(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> Later:
        def columns(logits: NDArray[np.float64]) -> dict[str, Column]:
            items.check_finite(np.asarray(np.isfinite(logits).all(axis=1)), batch)
            return {"logits": logits}

        return later(columns, classifier.model(**inputs).logits.double())

    names = classifier.label_names
    about = {
        "ids": list(ids),
        "labels": None if gold is None else gold.tolist(),
        "label_names": None if names is None else list(names),
        "choices": None if counts is None else counts.tolist(),
        "truncated": int(items.encoded.truncated.sum()),
        "way": str(items.way),
        "failures": dict(failures or {}),
    }
    return _assemble(about, items.run("logits", score, notes={ITEMS: about}, **how))


def _assemble(about: Mapping[str, Any], columns: Columns) -> Scores:
    """Join the logits of all sequences with what is kept beside them."""
    ids, counts, labels, names = (about[key] for key in ("ids", "choices", "labels", "label_names"))
    rows, reasons = columns.whole(np.repeat(np.arange(len(ids)), 1 if counts is None else counts))
    kept = np.setdiff1d(np.arange(len(ids)), list(reasons))
    logits = np.asarray(columns["logits"], dtype=np.float64)[rows]
    table = (
        logits
        if counts is None
        else Ragged.of(logits[:, 0], np.array(counts, dtype=np.int64)[kept]).table()
    )
    return Scores(
        ids=tuple(ids[item] for item in kept),
        logits=table,
        labels=None if labels is None else np.array(labels, dtype=np.int64)[kept],
        label_names=None if names is None else tuple(names),
        truncated=int(about["truncated"]),
        way=about["way"],
        failures={**about["failures"], **{ids[item]: reason for item, reason in reasons.items()}},
    )
