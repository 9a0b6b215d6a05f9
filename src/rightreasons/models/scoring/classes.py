"""Predictions of a classifier on a dataset: the logits of every item, computed once and kept with their ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.scores import Scores
from rightreasons.models.items import Items
from rightreasons.models.loading import Classifier
from rightreasons.models.protocol import Scorer
from rightreasons.models.running.store import Column, Store

ITEMS = "items.json"


def predict(
    classifier: Classifier | Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    batch_size: int = 32,
    max_tokens: int | None = None,
    max_length: int | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
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

    Returns:
        ids, (N, K) float64 logits, labels, label names, and how many texts were cut.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an id comes twice, a label is not one of the model's, a logit is not
            finite (the item is named), or `out` belongs to another run.
    """
    if not isinstance(classifier, Classifier):
        if not callable(getattr(classifier, "predict", None)):
            raise TypeError(
                f"Expected a classifier from `load_classifier` or another scorer of classes, such as a `Prompted`, but "
                f"got {type(classifier).__name__}."
            )
        return classifier.predict(texts, text_pairs=text_pairs, ids=ids, labels=labels, progress=progress, out=out)
    if classifier.label_names is None:
        raise ValueError(
            f"Expected a sequence classifier, but {classifier.name} scores choices: use `predict_choices`."
        )
    items = Items.of(classifier, texts, text_pairs=text_pairs, ids=ids, max_length=max_length)
    gold = items.check_labels(labels)
    logits = _logits(items, gold, batch_size=batch_size, max_tokens=max_tokens, progress=progress, out=out)
    n_cut = int(items.encoded.truncated.sum())
    return Scores(items.ids, logits, gold, classifier.label_names, n_cut, way=str(items.way))


def predict_choices(
    classifier: Classifier,
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    *,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    batch_size: int = 32,
    max_tokens: int | None = None,
    max_length: int | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> Scores:
    """Score every choice of every item by a multiple-choice model.

    A multiple-choice head scores each (prompt, choice) pair by itself, so the pairs are batched by length, whatever
    item they belong to, and the number of choices may differ between items. What is not described here is as in
    `predict`.

    Args:
        classifier: From `load_multiple_choice`.
        prompts: N prompts; one may be empty.
        choices: N lists of at least two texts.
        ids: N unique ids.
        labels: (N,) the index of the right choice, -1 where there is none.
        batch_size: Maximum (prompt, choice) pairs per batch.
        max_tokens: Maximum tokens per padded batch.
        max_length: Maximum tokens per pair.
        progress: Whether to show a progress bar.
        out: A folder for the results.

    Returns:
        ids, logits ((N, C) float64 where every item has C choices, else `Ragged`), labels, and how many pairs were cut;
        `label_names` is None.

    Raises:
        TypeError: As in `predict`.
        ValueError: As in `predict`, and if an item has fewer than two choices.
    """
    if classifier.label_names is not None:
        raise ValueError(f"Expected a multiple-choice model, but {classifier.name} is a classifier: use `predict`.")
    items = Items.of(classifier, prompts, choices=choices, ids=ids, max_length=max_length, name="prompts")
    gold = items.check_labels(labels)
    flat = _logits(items, gold, batch_size=batch_size, max_tokens=max_tokens, progress=progress, out=out)
    rows = Ragged.of(flat[:, 0], items.counts)
    return Scores(items.ids, rows.table(), gold, None, int(items.encoded.truncated.sum()), way=str(items.way))


def load_scores(folder: str | os.PathLike[str]) -> Scores:
    """Open what `predict(..., out=folder)` or `predict_choices(..., out=folder)` wrote.

    Args:
        folder: The folder of the predictions.

    Returns:
        The scores, in the order of the items.

    Raises:
        ValueError: If the folder holds no predictions, or the run that wrote them did not finish.
    """
    store = Store.open(folder)
    items = store.read_json(ITEMS)
    chunk = store.read()
    counts = None if items["choices"] is None else np.array(items["choices"], dtype=np.int64)
    expected = len(items["ids"]) if counts is None else int(counts.sum())
    if len(chunk) != expected:
        raise ValueError(
            f"Expected {folder} to hold {expected} predictions, but {len(chunk)} are there: run the interrupted "
            "prediction again, and it resumes."
        )
    logits = np.asarray(chunk.columns["logits"], dtype=np.float64)
    labels = None if items["labels"] is None else np.array(items["labels"], dtype=np.int64)
    names = None if items["label_names"] is None else tuple(items["label_names"])
    rows = logits if counts is None else Ragged.of(logits[:, 0], counts).table()
    return Scores(tuple(items["ids"]), rows, labels, names, int(items["truncated"]), way=items["way"])


def _logits(
    items: Items,
    gold: NDArray[np.int64] | None,
    *,
    batch_size: int,
    max_tokens: int | None,
    progress: bool,
    out: str | os.PathLike[str] | None,
) -> NDArray[np.float64]:
    """Score every sequence; (S, K), with K = 1 for the pairs of a multiple-choice model."""
    classifier, sequences = items.classifier, items.sequences()

    @torch.inference_mode()
    def score(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        logits = sequences.asked(inputs, batch).logits.double().cpu().numpy()
        sequences.check_finite(np.isfinite(logits).all(axis=1), batch)
        return {"logits": logits}

    names = classifier.label_names
    about = {
        "ids": list(items.ids),
        "labels": None if gold is None else gold.tolist(),
        "label_names": None if names is None else list(names),
        "choices": items.counts.tolist() if items.joint else None,
        "truncated": int(items.encoded.truncated.sum()),
        "way": str(items.way),
    }
    columns = sequences.run(
        "logits",
        score,
        batch_size=batch_size,
        max_tokens=max_tokens,
        progress=progress,
        out=out,
        notes={ITEMS: about},
    )
    return columns.array("logits")
