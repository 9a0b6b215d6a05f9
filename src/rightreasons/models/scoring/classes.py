"""What a classifier says about a dataset: logits of every item, once, kept with their ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.validation import (
    check_choices,
    check_count,
    check_ids,
    check_labels,
    check_same_length,
    check_texts,
)
from rightreasons.models.loading import Classifier
from rightreasons.models.running.batching import Encoded, encode, length_batches, pad
from rightreasons.models.running.fingerprint import fingerprint_arrays, fingerprint_model, fingerprint_texts
from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.processes import processes
from rightreasons.models.running.run import open_store, run_batches
from rightreasons.models.running.store import Column, Store

ITEMS = "items.json"


def predict(
    classifier: Classifier,
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

    Texts are tokenized once and batched by length. Under `accelerate launch` (or torchrun) every process scores a share
    of the same batches and each returns the whole: the same answer as one process, to the rounding of the arithmetic.

    Args:
        classifier: From `load_classifier`.
        texts: N texts; none may be empty.
        text_pairs: N second texts for a task of pairs.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels below K, -1 where there is none; None when the data has no labels.
        batch_size: The most items of a batch.
        max_tokens: The most tokens of a padded batch; None for no bound.
        max_length: The most tokens of an item; None takes what the model allows.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: a killed run goes on where it stopped, and
            `load_scores` opens it later. None keeps them in memory alone.

    Returns:
        ids, (N, K) float64 logits, labels, label names, and how many texts were cut.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an id comes twice, a label is not one of the model's, a logit is not
            finite (the item is named), or `out` belongs to another run.
    """
    if classifier.label_names is None:
        raise ValueError(
            f"Expected a sequence classifier, but {classifier.name} scores choices: use `predict_choices`."
        )
    texts = check_texts(texts, "texts", allow_empty=text_pairs is not None)
    columns: dict[str, Any] = {"texts": texts}
    if text_pairs is not None:
        text_pairs = columns["text_pairs"] = check_texts(text_pairs, "text_pairs", allow_empty=True)
    names, gold = _about(ids, labels, len(classifier.label_names), columns)
    encoded = _encode(classifier, texts, text_pairs, max_length)
    logits = _logits(
        classifier,
        encoded,
        item_names=names,
        batch_size=batch_size,
        max_tokens=max_tokens,
        progress=progress,
        out=out,
        items=_about_items(names, gold, classifier.label_names, encoded, None),
    )
    return Scores(names, logits, gold, classifier.label_names, int(encoded.truncated.sum()))


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
    item they belong to, and the number of choices may differ between items.

    Args:
        classifier: From `load_multiple_choice`.
        prompts: N prompts.
        choices: N lists of at least two texts.
        ids: As in `predict`.
        labels: (N,) the index of the right choice, -1 where there is none.
        batch_size: The most (prompt, choice) pairs of a batch.
        max_tokens: As in `predict`.
        max_length: As in `predict`.
        progress: As in `predict`.
        out: As in `predict`.

    Returns:
        ids, the logits ((N, C) float64 where every item has C choices, else `Ragged`), labels, and how many pairs were
        cut; `label_names` is None.

    Raises:
        TypeError: As in `predict`.
        ValueError: As in `predict`, and if an item has fewer than two choices.
    """
    if classifier.label_names is not None:
        raise ValueError(f"Expected a multiple-choice model, but {classifier.name} is a classifier: use `predict`.")
    prompts, rows, counts = check_choices(prompts, choices, allow_empty=True)
    names, gold = _about(ids, labels, counts, {"prompts": prompts, "choices": rows})
    first = [prompt for prompt, row in zip(prompts, rows, strict=True) for _ in row]
    encoded = _encode(classifier, first, [choice for row in rows for choice in row], max_length)
    pair_names = tuple(
        f"{name} (choice {choice})" for name, row in zip(names, rows, strict=True) for choice in range(len(row))
    )
    flat = _logits(
        classifier,
        encoded,
        item_names=pair_names,
        batch_size=batch_size,
        max_tokens=max_tokens,
        progress=progress,
        out=out,
        items=_about_items(names, gold, None, encoded, counts),
    )
    return Scores(names, _as_rows(flat[:, 0], counts), gold, None, int(encoded.truncated.sum()))


def __getattr__(name: str) -> Any:
    # `choose` stands above this module, as it asks causal language models too; it is found here as well.
    if name == "choose":
        from rightreasons.models.scoring.choices import choose

        return choose
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_scores(folder: str | os.PathLike[str]) -> Scores:
    """Open what `predict(..., out=folder)` or `predict_choices(..., out=folder)` wrote.

    Raises:
        ValueError: If the folder holds no predictions, or the run that wrote them did not end.
    """
    store = Store.open(folder)
    items = store.read_json(ITEMS)
    chunk = store.read()
    counts = None if items["choices"] is None else np.array(items["choices"], dtype=np.int64)
    wanted = len(items["ids"]) if counts is None else int(counts.sum())
    if len(chunk) != wanted:
        raise ValueError(
            f"Expected {folder} to hold {wanted} predictions, but {len(chunk)} are there: the run did not end; "
            "run it again and it goes on."
        )
    logits = np.asarray(chunk.columns["logits"], dtype=np.float64)
    labels = None if items["labels"] is None else np.array(items["labels"], dtype=np.int64)
    names = None if items["label_names"] is None else tuple(items["label_names"])
    rows = logits if counts is None else _as_rows(logits[:, 0], counts)
    return Scores(tuple(items["ids"]), rows, labels, names, int(items["truncated"]))


def _encode(
    classifier: Classifier, texts: Sequence[str], text_pairs: Sequence[str] | None, max_length: int | None
) -> Encoded:
    bound = classifier.max_length
    length = bound if max_length is None else check_count(max_length, "max_length", minimum=4)
    if length > bound:
        raise ValueError(
            f"Expected `max_length` to be at most {bound}, which {classifier.name} takes, but got {length}."
        )
    encoded = encode(classifier.tokenizer, texts, text_pairs, max_length=length)
    known = int(classifier.model.get_input_embeddings().num_embeddings)
    largest = int(encoded.columns["input_ids"].max())
    if largest >= known:
        raise ValueError(
            f"Expected token ids below {known}, which {classifier.name} knows, but its tokenizer gave {largest}: "
            "tokenizer and model do not belong together."
        )
    return encoded


def _logits(
    classifier: Classifier,
    encoded: Encoded,
    *,
    item_names: Sequence[str],
    batch_size: int,
    max_tokens: int | None,
    progress: bool,
    out: str | os.PathLike[str] | None,
    items: dict[str, Any],
) -> NDArray[np.float64]:
    """Score every encoded item; (n, K), with K = 1 for the pairs of a multiple-choice model."""
    model = classifier.model
    batches = length_batches(encoded.lengths, batch_size=batch_size, max_tokens=max_tokens)
    store = open_store(
        out,
        lambda: {
            "kind": "logits",
            "model": fingerprint_model(model),
            "ids": fingerprint_texts(item_names),
            "texts": fingerprint_arrays({**encoded.columns, "offsets": encoded.offsets}),
        },
    )
    if store and processes().is_main:
        store.write_json(ITEMS, items)

    @torch.inference_mode()
    def score(batch: NDArray[np.int64]) -> dict[str, Column]:
        inputs = pad(encoded, batch, classifier.device)
        if classifier.label_names is None:
            inputs = {name: tensor.unsqueeze(1) for name, tensor in inputs.items()}
        logits = model(**inputs).logits.double().cpu().numpy()
        finite = np.isfinite(logits).all(axis=1)
        if not finite.all():
            item = item_names[int(batch[~finite].min())]
            raise ValueError(f"Expected finite logits, but {classifier.name} gave NaN or infinity for item {item!r}.")
        return {"logits": logits}

    with frozen(model):
        found = run_batches(score, batches, store=store, progress=progress, description="predicting")
    return np.asarray(found["logits"], dtype=np.float64)


def _about(
    ids: Iterable[object] | None,
    labels: Sequence[int] | NDArray[Any] | None,
    n_classes: int | NDArray[np.int64],
    columns: dict[str, Any],
) -> tuple[tuple[str, ...], NDArray[np.int64] | None]:
    n_items = len(next(iter(columns.values())))
    names = check_ids(range(n_items) if ids is None else ids, "ids")
    check_same_length(**columns, ids=names)
    if labels is None:
        return tuple(names), None
    check_same_length(**columns, labels=labels)
    return tuple(names), check_labels(labels, n_classes, name="labels", minimum=-1)


def _about_items(
    ids: Sequence[str],
    labels: NDArray[np.int64] | None,
    label_names: Sequence[str] | None,
    encoded: Encoded,
    counts: NDArray[np.int64] | None,
) -> dict[str, Any]:
    return {
        "ids": list(ids),
        "labels": None if labels is None else labels.tolist(),
        "label_names": None if label_names is None else list(label_names),
        "choices": None if counts is None else counts.tolist(),
        "truncated": int(encoded.truncated.sum()),
    }


def _as_rows(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64] | Ragged:
    if (counts == counts[0]).all():
        return values.reshape(len(counts), int(counts[0]))
    return Ragged(values, np.concatenate(([0], np.cumsum(counts))).astype(np.int64))
