"""Scores of classes and of choices, from any scorer or from a classifier in this process.

`predict` asks any scorer for the classes of texts, and `choose` for the choices of items.
`Classifier` is a model of transformers with a head, and `load_scores` opens the logits that one
stored. Whoever asks a function or a server needs no torch: it is imported where a model is run.
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
from rightreasons.models.running import FAILED, NO_WORDS, HowToBatch, Later, Store
from rightreasons.models.runs.columns import Column, Columns

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    from rightreasons.models.items import Items

ITEMS = "items.json"
"""Name of the file with the ids, labels and counts of stored logits."""


class HowToChoose(HowToBatch, total=False):
    """Ids and labels of multiple-choice items, and how a run over them is batched and stored."""

    ids: Iterable[object] | None
    labels: Sequence[int] | NDArray[Any] | None


class OfTransformers:
    """Properties that scorers with a model of transformers and its tokenizer share."""

    model: Any
    tokenizer: Any

    @property
    def max_length(self) -> int:
        """Maximum tokens per sequence, from `get_max_length`."""
        from rightreasons.models.input_limits import get_max_length

        return get_max_length(self.model, self.tokenizer)

    @property
    def fingerprint(self) -> str:
        """Digest of the configuration, the current values of all weights, and the tokenizer."""
        return fingerprint_model(self.model, self.tokenizer)

    @property
    def n_parameters(self) -> int:
        """Number of parameters of the model."""
        return int(self.model.num_parameters())

    def describe(self) -> dict[str, Any]:
        """Return the name of the architecture, and the form of the weights."""
        from rightreasons.models.weights import describe_weights

        return {"architecture": type(self.model).__name__, "weights": describe_weights(self.model)}


@dataclasses.dataclass(frozen=True, eq=False)
class Classifier(OfTransformers):
    """A model that scores classes, choices or the spans of a context, with its tokenizer.

    Attributes:
        model: A sequence classifier, a multiple-choice or a question-answering model of
            transformers, in evaluation mode.
        tokenizer: Its tokenizer.
        label_names: K names of the classes, in the order of the logits; None for other heads.
        name: The folder or hub id that the user gave.
    """

    model: Any
    tokenizer: Any
    label_names: tuple[str, ...] | None
    name: str
    # A head reads each choice separately.
    joint: ClassVar[bool] = False

    @property
    def device(self) -> torch.device:
        """Device of the model's input."""
        device: torch.device = self.model.device
        return device

    @property
    def abilities(self) -> frozenset[Ability]:
        """The ability "processes"; also "gradients" for a classifier without quantized weights."""
        from rightreasons.models.weights import explain_quantization

        # Gradients cannot pass integer weights, and only a classifier has classes to explain.
        if self.label_names is None or explain_quantization(self.model):
            return frozenset(("processes",))
        return frozenset(("gradients", "processes"))

    def predict(self, texts: Sequence[str], **options: Any) -> Scores:
        """Score the classes of N texts; the arguments are those of the function `predict`."""
        return predict(self, texts, **options)

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        max_length: int | None = None,
        **options: Any,
    ) -> Scores:
        """Score every choice of every item by a multiple-choice head.

        The head scores each pair of a prompt and a choice separately. The pairs of all items are
        batched by length, and items may differ in their number of choices.

        Args:
            prompts: N prompts, which may be empty.
            choices: N lists of at least two strings.
            ids: N unique ids. If None, "0", "1", …
            labels: (N,) index of the correct choice, -1 if it is unknown. None for data without
                labels.
            max_length: Maximum number of tokens per pair. If None, the maximum of the model.
            **options: `batch_size` (pairs), `max_tokens`, `progress`, `out` and `fail_fast`, as in
                `predict`. Without `fail_fast`, an item is left out if one of its pairs fails.

        Returns:
            The ids, logits ((N, C) float64 if every item has C choices, else `Ragged`), labels, and
            the number of truncated pairs; `label_names` is None.

        Raises:
            TypeError: If a column has the wrong type.
            ValueError: If the model is a classifier, columns differ in length, an item has fewer
                than two choices, a logit is not finite, or `out` contains other files.
        """
        from rightreasons.models.items import Items

        items = ChoiceItems.check(prompts, choices, ids=ids, labels=labels, allow_empty=True)
        pairs = Items.of_pairs(self, items, max_length=max_length)
        return _score(pairs, items.ids, items.labels, counts=items.counts, **options)


def predict(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    max_length: int | None = None,
    **options: Unpack[HowToBatch],
) -> Scores:
    """Score every text by a scorer of classes.

    Texts are tokenized once and batched by length. Under `accelerate launch` (or torchrun) the
    processes share the batches. Each returns the whole result, which is that of one process, to the
    rounding of the arithmetic.

    Args:
        classifier: From `load_classifier`, or any other `Scorer` of classes, such as a `Prompted`,
            which batches texts by its own rules.
        texts: N texts; none may be empty.
        text_pairs: N second texts for a task of pairs.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels below K, -1 if unknown; None for data without labels.
        batch_size: Maximum items per batch.
        max_tokens: Maximum tokens per padded batch; None for no maximum.
        max_length: Maximum tokens per item; None for the maximum of the model.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: an interrupted run resumes, and
            `load_scores` opens it later. None keeps them in memory.
        fail_fast: Whether an item that the model cannot score is an error (default). If not, it is
            left out, and `failures` has its id and the reason.

    Returns:
        ids, (N, K) float64 logits, labels, label names, the number of truncated texts, and the
        items that are left out.

    Raises:
        TypeError: If a column has the wrong type.
        ValueError: If columns differ in length, an id occurs twice, a label is not one of the
            model's, a logit is not finite (the item is named), no item can be scored, or `out`
            contains other files.
    """
    # A function or a server would be asked about empty texts, and a tokenizer refuses them all.
    failures: dict[str, str] = {}
    if not options.get("fail_fast", True) and text_pairs is None:
        texts, ids, labels, failures = drop_wordless_texts(texts, ids, labels)
    if not isinstance(classifier, Classifier):
        if not callable(getattr(classifier, "predict", None)):
            raise TypeError(
                "Expected a classifier from `load_classifier` or another scorer of classes, such "
                f"as a `Prompted`, but got {type(classifier).__name__}."
            )
        scores = classifier.predict(
            texts, text_pairs=text_pairs, ids=ids, labels=labels, **_drop_batching(options)
        )
        # Replaced only if needed: a scorer may return another kind of scores.
        if failures:
            scores = dataclasses.replace(scores, failures={**failures, **scores.failures})
        return scores
    if classifier.label_names is None:
        raise ValueError(
            f"Expected a sequence classifier, but {classifier.name} scores choices: use `choose`."
        )
    from rightreasons.models.items import Items

    items = Items.of(classifier, texts, text_pairs=text_pairs, ids=ids, max_length=max_length)
    return _score(items, items.ids, items.check_labels(labels), failures=failures, **options)


def _drop_batching(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that only a `Classifier` has: batch sizes and `fail_fast`."""
    remaining = dict(options)
    for name in ("batch_size", "max_tokens", "fail_fast"):
        remaining.pop(name, None)
    return remaining


def choose(
    scorer: Scorer,
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    **options: Unpack[HowToChoose],
) -> Scores:
    """Score every choice of every item by any scorer.

    Args:
        scorer: From `load_chooser` or `load_multiple_choice`, or any other `Scorer`, such as a
            `Prompted`, which batches by its own rules, and names in `failures` the items that it
            cannot score.
        prompts: N prompts; one may be empty.
        choices: N lists of at least two texts.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) index of the correct choice, -1 if it is unknown.
        batch_size: Maximum pairs per batch of a multiple-choice model; default 32.
        max_tokens: Maximum tokens per padded batch of a multiple-choice model; None for no maximum.
        progress: Whether to show a progress bar.
        out: A folder for the results; an interrupted run resumes.
        fail_fast: Whether an item that cannot be scored is an error (default). If not, it is left
            out, and `failures` has its id and the reason.

    Returns:
        ids, the scores ((N, C) if every item has C choices, else `Ragged`), whose softmax over an
        item's choices is its confidence, labels, and the number of truncated prompts or pairs.

    Raises:
        TypeError: If a column has the wrong type.
        ValueError: If columns differ in length, an item has fewer than two choices, a score is not
            finite, or `out` contains other files.
    """
    if isinstance(scorer, Classifier):
        return scorer.choose(prompts, choices, **options)
    if not callable(getattr(scorer, "choose", None)):
        raise TypeError(
            "Expected a scorer from `load_chooser` or another scorer of choices, such as a "
            f"`Prompted`, but got {type(scorer).__name__}."
        )
    return scorer.choose(prompts, choices, **_drop_batching(options))


def load_scores(folder: str | os.PathLike[str]) -> Scores:
    """Load the scores that `predict` or `choose` of a model with a head stored with `out`.

    Args:
        folder: The folder of the predictions.

    Returns:
        The scores, in the order of the items.

    Raises:
        ValueError: If the folder does not contain predictions, or the run that wrote them was
            interrupted.
    """
    store = Store.open(folder)
    record = store.read_json(ITEMS)
    if record is None:
        raise ValueError(
            f"Expected predictions in {folder}, but the folder has no complete {ITEMS}. Run the "
            "prediction again."
        )
    computed = store.read()
    failed = store.read(FAILED)
    # A classifier stores one row per item. A multiple-choice model stores one row per choice, and
    # the number of choices of each item in `choices`.
    if record["choices"] is None:
        n_expected = len(record["ids"])
    else:
        n_expected = sum(record["choices"])
    n_stored = len(computed) + len(failed)
    if n_stored != n_expected:
        raise ValueError(
            f"Expected {folder} to contain {n_expected} predictions, but got {n_stored}. Run the "
            "interrupted prediction again to resume it."
        )
    return _make_scores(record, computed.add_failures(failed))


def drop_wordless_texts(
    texts: Sequence[str], ids: Iterable[object] | None, labels: Any
) -> tuple[list[str], Sequence[str], Any, dict[str, str]]:
    """Remove texts that are empty or consist of white space, unless all texts do.

    Args:
        texts: N texts.
        ids: N unique ids. If None, "0", "1", …
        labels: (N,) labels, or None.

    Returns:
        The remaining texts, their ids, and their labels (None without labels); and id -> reason of
        the removed texts.
    """
    texts = check_texts(texts, "texts", allow_empty=True)
    names = check_ids(range(len(texts)) if ids is None else ids, "ids")
    columns = {"texts": texts, "ids": names}
    if labels is not None:
        columns["labels"] = labels
    check_same_length(**columns)
    rows = []
    failures = {}
    for row, text in enumerate(texts):
        if text.strip():
            rows.append(row)
        else:
            # A report counts this reason together with failures of the model.
            failures[names[row]] = NO_WORDS
    # If no text has words, all are passed on, and a later check raises an error for the first.
    if not rows or not failures:
        return texts, names, labels, {}
    remaining_labels = None
    if labels is not None:
        remaining_labels = [labels[row] for row in rows]
    remaining_texts = [texts[row] for row in rows]
    remaining_ids = [names[row] for row in rows]
    return remaining_texts, remaining_ids, remaining_labels, failures


def _score(
    items: Items,
    ids: Sequence[str],
    gold: NDArray[np.int64] | None,
    *,
    counts: NDArray[np.int64] | None = None,
    failures: Mapping[str, str] | None = None,
    **options: Any,
) -> Scores:
    """Compute the logits of tokenized texts, or of pairs of a prompt and a choice.

    Args:
        items: The tokenized sequences that the model reads.
        ids: N ids of the data's items.
        gold: (N,) gold labels, or None.
        counts: (N,) number of sequences of each id, which are adjacent. None if each id has one.
        failures: Id -> reason of items that have been removed already.
        **options: Options of `Items.run`.

    Returns:
        The scores of the items none of whose sequences failed.
    """
    import torch

    from rightreasons.models.batching import read_later

    classifier = items.classifier

    @torch.inference_mode()
    def score(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> Later:
        def make_columns(logits: NDArray[np.float64]) -> dict[str, Column]:
            items.check_finite(np.asarray(np.isfinite(logits).all(axis=1)), batch)
            return {"logits": logits}

        # In 64 bits, so that stored logits do not depend on the number type of the weights.
        return read_later(make_columns, classifier.model(**inputs).logits.double())

    # Stored next to the logits, so that `load_scores` needs neither the model nor the data.
    record: dict[str, Any] = {
        "ids": list(ids),
        "labels": None,
        "label_names": None,
        "choices": None,
        "truncated": int(items.encoded.truncated.sum()),
        "way": str(items.strategy),
        "failures": dict(failures or {}),
    }
    if gold is not None:
        record["labels"] = gold.tolist()
    if classifier.label_names is not None:
        record["label_names"] = list(classifier.label_names)
    if counts is not None:
        record["choices"] = counts.tolist()
    columns = items.run("logits", score, notes={ITEMS: record}, **options)
    return _make_scores(record, columns)


def _make_scores(record: Mapping[str, Any], columns: Columns) -> Scores:
    """Make the scores of items from the logits of their sequences.

    Args:
        record: The items, as JSON values: `ids`; `labels` and `label_names`, each of which may be
            None; `choices`, the number of sequences of each item, or None if each has one;
            `truncated`, the number of truncated sequences; `way`, the batching strategy in words;
            and `failures`, id -> reason of removed items.
        columns: The column `logits`, (S, K) for texts or (S, 1) for choices, and the failures among
            the S sequences.
    """
    ids = record["ids"]
    counts = record["choices"]
    # Index of the item of each sequence.
    owners = np.repeat(np.arange(len(ids)), 1 if counts is None else counts)
    # An item is complete if none of its sequences failed.
    is_complete, reasons = columns.find_complete(owners)
    items = np.setdiff1d(np.arange(len(ids)), list(reasons))
    logits: Any = np.asarray(columns["logits"], dtype=np.float64)[is_complete]
    if counts is not None:
        # The logits of the choices of an item become one row.
        item_counts = np.array(counts, dtype=np.int64)[items]
        logits = Ragged.of(logits[:, 0], item_counts).table()
    labels = record["labels"]
    if labels is not None:
        labels = np.array(labels, dtype=np.int64)[items]
    label_names = record["label_names"]
    failures = dict(record["failures"])
    for item, reason in reasons.items():
        failures[ids[item]] = reason
    return Scores(
        ids=tuple(ids[item] for item in items),
        logits=logits,
        labels=labels,
        label_names=None if label_names is None else tuple(label_names),
        truncated=int(record["truncated"]),
        way=record["way"],
        failures=failures,
    )
