"""Items as a model reads them: a tokenized sequence per text, or pair of texts, such as a prompt with one choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.store import digest_arrays
from rightreasons.core.validation import (
    check_count,
    check_ids,
    check_labels,
    check_same_length,
    check_texts,
)
from rightreasons.models.batching import (
    Encoded,
    Places,
    encode,
    length_batches,
    pad,
    padding_values,
    places_of,
)
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.running import (
    Column,
    Columns,
    HowToRun,
    Later,
    run_model,
)
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    ModelWithHead,
    Way,
    check_tokens,
    classifier_way,
    fails_at,
    padding_token,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.prompts import ChoiceItems

Compute = Callable[[dict[str, torch.Tensor], NDArray[np.int64]], "Mapping[str, Column] | Later"]


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """N items as tokenized sequences.

    A kernel makes them with `Items.of` and computes over them with `Items.run`, which batches, stores, resumes, shows
    progress and shares the work among processes.

    Attributes:
        classifier: The model that reads them.
        ids: N ids.
        encoded: The sequences.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does; C is 1.
        first: N first texts.
        second: N second texts, or None.
        max_length: Maximum tokens of each.
    """

    classifier: ModelWithHead
    ids: tuple[str, ...]
    encoded: Encoded
    joint: bool = False
    first: Sequence[str] = ()
    second: Sequence[str] | None = None
    max_length: int = 0

    def __post_init__(self) -> None:
        largest = int(self.encoded.columns["input_ids"].max(initial=0))
        check_tokens(self.classifier.model, self.classifier.name, largest)
        padding = padding_values(
            self.classifier.tokenizer, self.classifier.model, self.encoded.columns["input_ids"]
        )
        object.__setattr__(self, "encoded", dataclasses.replace(self.encoded, padding=padding))

    @classmethod
    def of(
        cls,
        classifier: ModelWithHead,
        texts: Sequence[str],
        *,
        text_pairs: Sequence[str] | None = None,
        ids: Iterable[object] | None = None,
        max_length: int | None = None,
        allow_empty: bool = False,
    ) -> Items:
        """Check and tokenize items.

        Args:
            classifier: A sequence classifier or a multiple-choice model.
            texts: N texts.
            text_pairs: N second texts for a task of pairs.
            ids: N unique ids; by default "0", "1", …
            max_length: Maximum tokens per sequence; None takes what the model allows.
            allow_empty: Whether texts without a pair may be empty.

        Raises:
            TypeError: If a column is of the wrong kind.
            ValueError: If columns differ in length, a text is empty, an id comes twice, `max_length` is more than the
                model takes, or the tokenizer is of another model.
        """
        first = check_texts(texts, "texts", allow_empty=allow_empty or text_pairs is not None)
        columns = {"texts": first}
        if text_pairs is not None:
            columns["text_pairs"] = check_texts(text_pairs, "text_pairs", allow_empty=True)
        names = tuple(check_ids(range(len(first)) if ids is None else ids, "ids"))
        check_same_length(**columns, ids=names)
        second, length = columns.get("text_pairs"), check_max_length(classifier, max_length)
        encoded = encode(classifier.tokenizer, first, second, max_length=length)
        return cls(
            classifier, names, encoded, classifier.label_names is None, first, second, length
        )

    @classmethod
    def of_pairs(
        cls, classifier: ModelWithHead, items: ChoiceItems, *, max_length: int | None = None
    ) -> Items:
        """Tokenize each prompt with each of its choices, which a multiple-choice model reads one by one."""
        if classifier.label_names is not None:
            raise ValueError(
                f"Expected a scorer of choices, but {classifier.name} is a classifier: use `predict`."
            )
        return cls.of(
            classifier,
            [prompt for prompt, row in zip(items.prompts, items.choices, strict=True) for _ in row],
            text_pairs=[choice for row in items.choices for choice in row],
            ids=[
                f"{name} (choice {place})"
                for name, row in zip(items.ids, items.choices, strict=True)
                for place in range(len(row))
            ],
            max_length=max_length,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def places(self) -> Places:
        """Where each token of `encoded` is in its text; the texts are tokenized again.

        Raises:
            ValueError: If the tokenizer is a slow one, which does not know.
        """
        return places_of(
            self.classifier.tokenizer, self.first, self.second, max_length=self.max_length
        )

    @cached_property
    def way(self) -> Way:
        """How the sequences are batched: the fastest way that gives the numbers of one by one.

        Raises:
            ValueError: If the model's trial finds none.
        """
        return classifier_way(
            self.classifier, longest=int(self.encoded.lengths.max()), joint=self.joint
        )

    def check_labels(self, labels: object, *, minimum: int = -1) -> NDArray[np.int64] | None:
        """Check the gold class of each item; None where there are no labels.

        Args:
            labels: (N,) labels, or None.
            minimum: The smallest label; -1 allows items without one.
        """
        if labels is None:
            return None
        check_same_length(texts=self.ids, labels=labels)
        return check_labels(
            labels, len(self.classifier.label_names or ()), name="labels", minimum=minimum
        )

    def check_finite(self, finite: NDArray[np.bool_], batch: NDArray[np.int64]) -> None:
        """Refuse what a model said of a batch of items where it is not finite; the error names the first such item."""
        if not finite.all():
            raise ValueError(
                f"Expected finite logits, but {self.classifier.name} gave NaN or infinity for item "
                f"{self.ids[int(batch[~finite].min())]!r}."
            )

    def inputs(self, batch: NDArray[np.int64]) -> dict[str, torch.Tensor]:
        """Return the padded inputs of some items: (n, T), or (n, 1, T) for a multiple-choice model."""
        padded = pad(self.encoded, batch, self.classifier.device)
        return (
            {name: tensor.unsqueeze(1) for name, tensor in padded.items()} if self.joint else padded
        )

    def batches(self, batch_size: int, max_tokens: int | None = None) -> list[NDArray[np.int64]]:
        """Cut the items into batches of like length, the longest first.

        Where the model's way asks for it, the items of a batch are of equal length, or each is a batch of its own.

        Args:
            batch_size: Maximum items per batch.
            max_tokens: Maximum tokens per padded batch; None for no bound. A single item may exceed it.
        """
        check_count(batch_size, "batch_size")
        size = 1 if self.way.name == ONE_BY_ONE else batch_size
        lengths = self.encoded.lengths
        groups = lengths if self.way.name in (EQUAL_LENGTHS, ONE_BY_ONE) else None
        return length_batches(lengths, batch_size=size, max_tokens=max_tokens, groups=groups)

    def run(
        self,
        kind: str,
        compute: Compute,
        *,
        depends: Mapping[str, Any] | None = None,
        batch_size: int = 32,
        max_tokens: int | None = None,
        **how: Unpack[HowToRun],
    ) -> Columns:
        """Compute named columns for every item, batch by batch, and return them in the order of the items.

        Args:
            kind: What is computed; it is shown beside the progress bar and names the run in its folder.
            compute: Takes the inputs of a batch and its (n,) items, and returns columns with one row per item, or a
                function that waits for them.
            depends: Whatever else the results depend on beside model and items, as short plain values.
            batch_size: Maximum items per batch.
            max_tokens: Maximum tokens per padded batch; None for no bound.
            **how: How the run is shown and kept, as `HowToRun` says.

        Raises:
            ValueError: If `out` holds other files, or another command is writing results of another run to it.
        """
        encoded, model = self.encoded, self.classifier.model

        def run(batch: NDArray[np.int64]) -> Mapping[str, Column] | Later:
            about = self.classifier.name, self.ids[int(batch[0])]
            with padding_token(model, encoded.padding["input_ids"]), fails_at(*about):
                columns = compute(self.inputs(batch), batch)
            return columns if isinstance(columns, Mapping) else fails_at(*about)(columns)

        return run_model(
            model,
            run,
            self.batches(batch_size, max_tokens),
            kind=kind,
            inputs=lambda: {
                "ids": fingerprint_texts(self.ids),
                "padding": {name: int(value) for name, value in encoded.padding.items()},
                "texts": digest_arrays({**encoded.columns, "offsets": encoded.offsets}),
                **(depends or {}),
            },
            **how,
        )


def check_max_length(classifier: ModelWithHead, max_length: int | None, *, minimum: int = 4) -> int:
    """Check the maximum tokens per sequence against what the model takes; None gives that."""
    bound = classifier.max_length
    length = bound if max_length is None else check_count(max_length, "max_length", minimum=minimum)
    if length > bound:
        raise OptionError(
            f"Expected `max_length` to be at most {bound}, which {classifier.name} takes, but got {length}.",
            option="max_length",
        )
    return length
