"""Items as a model reads them: one tokenized sequence per text, or per pair of texts.

Every kernel over a model with a head reads its items here: classes, choices, spans, attributions
and Fisher information. `Items.of` checks and tokenizes them. `Items.run` computes over them in
batches of the fastest exact way, and stores, resumes, shows progress, and shares the work among
processes.
"""

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
    encode_once,
    find_token_places,
    is_queued,
    length_batches,
    pad,
    padding_values,
)
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.running import HowToRun, Later, run_model
from rightreasons.models.runs.columns import Column, Columns
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    ModelWithHead,
    Way,
    check_tokens,
    classifier_way,
    name_failing_item,
    padding_token,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.prompts import ChoiceItems

Compute = Callable[[dict[str, torch.Tensor], NDArray[np.int64]], "Mapping[str, Column] | Later"]
"""(inputs, (n,) items) -> columns with one row per item, or a function that waits for them."""


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """N items as tokenized sequences.

    Attributes:
        classifier: The model that reads them.
        ids: N ids.
        encoded: The sequences.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does; C is 1.
        texts: N texts, the first ones of pairs.
        text_pairs: N second texts, or None.
        max_length: Maximum tokens of each sequence.
    """

    classifier: ModelWithHead
    ids: tuple[str, ...]
    encoded: Encoded
    joint: bool = False
    texts: Sequence[str] = ()
    text_pairs: Sequence[str] | None = None
    max_length: int = 0

    def __post_init__(self) -> None:
        classifier = self.classifier
        token_ids = self.encoded.columns["input_ids"]
        largest = int(token_ids.max(initial=0))
        check_tokens(classifier.model, classifier.name, largest)
        # The texts were tokenized without the model. Which token may pad them depends on both.
        padding = padding_values(classifier.tokenizer, classifier.model, token_ids)
        encoded = dataclasses.replace(self.encoded, padding=padding)
        # The class is frozen, and does not allow the usual assignment.
        object.__setattr__(self, "encoded", encoded)

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
            ValueError: If columns differ in length, a text is empty, an id occurs twice,
                `max_length` is more than the model takes, or the tokenizer is of another model.
        """
        # One of two texts may be empty, such as a prompt without a context.
        is_pair = text_pairs is not None
        texts = check_texts(texts, "texts", allow_empty=allow_empty or is_pair)
        columns: dict[str, Sequence[str]] = {"texts": texts}
        if text_pairs is not None:
            text_pairs = check_texts(text_pairs, "text_pairs", allow_empty=True)
            columns["text_pairs"] = text_pairs
        names = tuple(check_ids(range(len(texts)) if ids is None else ids, "ids"))
        check_same_length(**columns, ids=names)
        max_length = check_max_length(classifier, max_length)
        tokenizer = classifier.tokenizer
        return cls(
            classifier=classifier,
            ids=names,
            encoded=encode_once(tokenizer, texts, text_pairs, max_length=max_length),
            # A head of choices gives one score per sequence, and has no names of classes.
            joint=classifier.label_names is None,
            texts=texts,
            text_pairs=text_pairs,
            max_length=max_length,
        )

    @classmethod
    def of_pairs(
        cls, classifier: ModelWithHead, items: ChoiceItems, *, max_length: int | None = None
    ) -> Items:
        """Tokenize each prompt with each of its choices.

        Raises:
            ValueError: If the model scores classes.
        """
        if classifier.label_names is not None:
            raise ValueError(
                f"Expected a scorer of choices, but {classifier.name} is a classifier: use "
                "`predict`."
            )
        # Items may differ in their number of choices, so that each pair is a separate sequence.
        prompts: list[str] = []
        choices: list[str] = []
        names: list[str] = []
        for name, prompt, item_choices in zip(items.ids, items.prompts, items.choices, strict=True):
            for position, choice in enumerate(item_choices):
                prompts.append(prompt)
                choices.append(choice)
                names.append(f"{name} (choice {position})")
        return cls.of(classifier, prompts, text_pairs=choices, ids=names, max_length=max_length)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def places(self) -> Places:
        """The position of each token of `encoded` in its text.

        The texts are tokenized again, since only attributions need the positions.

        Raises:
            ValueError: If the tokenizer is a slow one, which does not know them.
        """
        return find_token_places(
            self.classifier.tokenizer, self.texts, self.text_pairs, max_length=self.max_length
        )

    @cached_property
    def way(self) -> Way:
        """The fastest way of batching that gives the same numbers as reading items one by one.

        Raises:
            ValueError: If the model's trial finds none.
        """
        longest = int(self.encoded.lengths.max())
        return classifier_way(self.classifier, longest=longest, joint=self.joint)

    def check_labels(self, labels: object, *, minimum: int = -1) -> NDArray[np.int64] | None:
        """Check the gold class of each item; None if there are no labels.

        Args:
            labels: (N,) labels, or None.
            minimum: The smallest label; -1 allows items without one.
        """
        if labels is None:
            return None
        check_same_length(texts=self.ids, labels=labels)
        n_classes = len(self.classifier.label_names or ())
        return check_labels(labels, n_classes, name="labels", minimum=minimum)

    def check_finite(self, is_finite: NDArray[np.bool_], batch: NDArray[np.int64]) -> None:
        """Check that the answers to a batch of items are finite.

        Args:
            is_finite: (n,) whether the answer to each item is finite.
            batch: (n,) positions of the items.

        Raises:
            ValueError: If one is not. It names the first such item in the order of the data.
        """
        if is_finite.all():
            return
        # A batch is ordered by length, but the first item in the order of the data is named.
        name = self.ids[int(batch[~is_finite].min())]
        raise ValueError(
            f"Expected finite logits, but {self.classifier.name} gave NaN or infinity for item "
            f"{name!r}."
        )

    def inputs(self, batch: NDArray[np.int64]) -> dict[str, torch.Tensor]:
        """Return the padded inputs of some items: (n, T), or (n, 1, T) if the model is joint."""
        inputs = pad(self.encoded, batch, self.classifier.device)
        # A multiple-choice model takes a dimension of choices between items and tokens.
        if self.joint:
            for name, tensor in inputs.items():
                inputs[name] = tensor.unsqueeze(1)
        return inputs

    def batches(self, batch_size: int, max_tokens: int | None = None) -> list[NDArray[np.int64]]:
        """Divide the items into batches of similar length, the longest first.

        The model's trial found which batches change no score. If padding does, the items of a batch
        are of equal length; if other items do, each is a separate batch.

        Args:
            batch_size: Maximum items per batch.
            max_tokens: Maximum tokens per padded batch; None for no bound. A single item may exceed
                it.

        Returns:
            Arrays of item positions; each position is in one of them.
        """
        check_count(batch_size, "batch_size")
        lengths = self.encoded.lengths
        if self.way.name == ONE_BY_ONE:
            batch_size = 1
        groups = None
        if self.way.name in (EQUAL_LENGTHS, ONE_BY_ONE):
            groups = lengths
        return length_batches(lengths, batch_size=batch_size, max_tokens=max_tokens, groups=groups)

    def run(
        self,
        kind: str,
        compute: Compute,
        *,
        depends: Mapping[str, Any] | None = None,
        batch_size: int = 32,
        max_tokens: int | None = None,
        **options: Unpack[HowToRun],
    ) -> Columns:
        """Compute named columns for every item, batch by batch, in the order of the items.

        Args:
            kind: Name of the results, shown next to the progress bar and stored with the run.
            compute: Takes the inputs of a batch and its (n,) items, and returns columns with one
                row per item, or a function that waits for them.
            depends: Other things that the results depend on, as short plain values.
            batch_size: Maximum items per batch.
            max_tokens: Maximum tokens per padded batch; None for no bound.
            **options: How the run is shown and stored, as in `HowToRun`.

        Returns:
            The columns that `compute` returns, over all items, or over those that did not fail.

        Raises:
            ValueError: If `out` holds other files, or another command is writing results of another
                run to it.
        """
        model = self.classifier.model
        pad_token = self.encoded.padding["input_ids"]

        def run_batch(batch: NDArray[np.int64]) -> Mapping[str, Column] | Later:
            first_id = self.ids[int(batch[0])]
            # Some models look up their padding token in their configuration.
            with (
                padding_token(model, pad_token),
                name_failing_item(self.classifier.name, first_id),
            ):
                columns = compute(self.inputs(batch), batch)
            if isinstance(columns, Mapping):
                return columns

            def wait() -> Mapping[str, Column]:
                # A GPU reports some errors only when its results are read.
                with name_failing_item(self.classifier.name, first_id):
                    return columns()

            # On a CPU they are at hand, and the progress bar need not wait for the next batch.
            return wait if is_queued(self.classifier.device) else wait()

        return run_model(
            model,
            run_batch,
            self.batches(batch_size, max_tokens),
            kind=kind,
            inputs=lambda: self._digest_inputs(depends or {}),
            lengths=self.encoded.lengths,
            **options,
        )

    def _digest_inputs(self, depends: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that the results of a run depend on, besides the model.

        Args:
            depends: What the computation depends on besides the items.
        """
        # The value that pads texts may change the last digits of a score, or more in a model that
        # does not ignore padding.
        encoded = self.encoded
        return {
            "ids": fingerprint_texts(self.ids),
            "padding": {name: int(value) for name, value in encoded.padding.items()},
            "texts": digest_arrays({**encoded.columns, "offsets": encoded.offsets}),
            **depends,
        }


def check_max_length(classifier: ModelWithHead, max_length: int | None, *, minimum: int = 4) -> int:
    """Return the maximum tokens per sequence: the given number, or what the model takes if None.

    Raises:
        OptionError: If it is less than `minimum`, or more than the model takes.
    """
    bound = classifier.max_length
    if max_length is None:
        return bound
    length = check_count(max_length, "max_length", minimum=minimum)
    if length > bound:
        raise OptionError(
            f"Expected `max_length` to be at most {bound}, the maximum length of "
            f"{classifier.name}, but got {length}.",
            option="max_length",
        )
    return length
