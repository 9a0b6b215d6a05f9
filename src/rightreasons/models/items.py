"""Items as a model with a head reads them: one tokenized sequence per text, or per pair of texts.

All computations over such a model use this module: classes, choices, spans, attributions and Fisher
information. `Items.of` checks and tokenizes texts. `Items.run` computes over them in batches that
do not change the results, stores results for resumption, shows progress, and shares the work among
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
    TokenPositions,
    encode_once,
    find_token_positions,
    get_padding_values,
    is_queued,
    make_length_batches,
    pad,
)
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.input_limits import check_tokens
from rightreasons.models.padding_trial import (
    ModelWithHead,
    find_classifier_strategy,
    set_padding_token,
)
from rightreasons.models.running import HowToRun, Later, run_model
from rightreasons.models.runs.columns import Column, Columns
from rightreasons.models.trial import EQUAL_LENGTHS, ONE_BY_ONE, BatchingStrategy, name_failing_item

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.prompts import ChoiceItems

Compute = Callable[[dict[str, torch.Tensor], NDArray[np.int64]], "Mapping[str, Column] | Later"]
"""(inputs, (n,) items) -> columns with one row per item, or a function that waits for them."""


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """N items as tokenized sequences.

    Attributes:
        classifier: The model that reads the items.
        ids: N ids.
        encoded: The sequences, as flat arrays of token ids.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does; C is 1.
        texts: N texts, the first ones of pairs.
        text_pairs: N second texts, or None.
        max_length: Maximum number of tokens of each sequence.
    """

    classifier: ModelWithHead
    ids: tuple[str, ...]
    encoded: Encoded
    joint: bool = False
    texts: Sequence[str] = ()
    text_pairs: Sequence[str] | None = None
    max_length: int = 0

    def __post_init__(self) -> None:
        """Check that the model knows all tokens, and choose the token for padding.

        Raises:
            ValueError: If a token id is not below the vocabulary size of the model.
        """
        classifier = self.classifier
        token_ids = self.encoded.columns["input_ids"]
        largest = int(token_ids.max(initial=0))
        check_tokens(classifier.model, classifier.name, largest)
        # The texts were tokenized without the model, which decides about padding.
        padding = get_padding_values(classifier.tokenizer, classifier.model, token_ids)
        encoded = dataclasses.replace(self.encoded, padding=padding)
        # A frozen dataclass does not allow the usual assignment.
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
        """Check and tokenize texts, or pairs of texts.

        Args:
            classifier: A sequence classifier or a multiple-choice model.
            texts: N texts.
            text_pairs: N second texts for a task of pairs.
            ids: N unique ids. If None, "0", "1", …
            max_length: Maximum number of tokens per sequence. If None, the maximum of the model.
            allow_empty: Whether texts without a second text may be empty.

        Raises:
            TypeError: If a column has the wrong type.
            ValueError: If columns differ in length, a text is empty, an id occurs twice,
                `max_length` is more than the maximum of the model, or the tokenizer belongs to
                another model.
        """
        # One text of a pair may be empty, such as a prompt without a context.
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
            # A multiple-choice head gives one score per sequence, and has no names of classes.
            joint=classifier.label_names is None,
            texts=texts,
            text_pairs=text_pairs,
            max_length=max_length,
        )

    @classmethod
    def of_pairs(
        cls, classifier: ModelWithHead, items: ChoiceItems, *, max_length: int | None = None
    ) -> Items:
        """Tokenize each prompt with each of its choices, as one sequence per pair.

        The ids of the sequences are like "7 (choice 0)" for the first choice of item "7".

        Args:
            classifier: A multiple-choice model.
            items: N items with their prompts and lists of choices.
            max_length: Maximum number of tokens per sequence. If None, the maximum of the model.

        Raises:
            ValueError: If the model scores classes.
        """
        if classifier.label_names is not None:
            raise ValueError(
                f"Expected a scorer of choices, but {classifier.name} is a classifier: use "
                "`predict`."
            )
        # Items may differ in their number of choices, so that they cannot form one table.
        prompts: list[str] = []
        choices: list[str] = []
        names: list[str] = []
        for name, prompt, item_choices in zip(items.ids, items.prompts, items.choices, strict=True):
            for choice_index, choice in enumerate(item_choices):
                prompts.append(prompt)
                choices.append(choice)
                names.append(f"{name} (choice {choice_index})")
        return cls.of(classifier, prompts, text_pairs=choices, ids=names, max_length=max_length)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def token_positions(self) -> TokenPositions:
        """The position of each token of `encoded` in its text.

        The texts are tokenized again, because the positions are needed only for attributions.

        Raises:
            ValueError: If the tokenizer is a slow one, which does not know the positions.
        """
        return find_token_positions(
            self.classifier.tokenizer, self.texts, self.text_pairs, max_length=self.max_length
        )

    @cached_property
    def strategy(self) -> BatchingStrategy:
        """The fastest batching strategy with the same scores as reading items one by one.

        Raises:
            ValueError: If the trial of the model finds that it cannot be used.
        """
        longest = int(self.encoded.lengths.max())
        return find_classifier_strategy(self.classifier, longest=longest, joint=self.joint)

    def check_labels(self, labels: object, *, minimum: int = -1) -> NDArray[np.int64] | None:
        """Check that gold labels are classes of the model, one per item.

        Args:
            labels: (N,) labels, or None for data without labels.
            minimum: The smallest allowed label: -1 if items may be unlabeled, otherwise 0.

        Returns:
            The labels as integers; None if `labels` is None.
        """
        if labels is None:
            return None
        check_same_length(texts=self.ids, labels=labels)
        n_classes = len(self.classifier.label_names or ())
        return check_labels(labels, n_classes, name="labels", minimum=minimum)

    def check_finite(self, is_finite: NDArray[np.bool_], batch: NDArray[np.int64]) -> None:
        """Raise an error that names the first item of a batch whose logits are not finite.

        Args:
            is_finite: (n,) whether all logits of each item are finite.
            batch: (n,) indices of the items of the batch.

        Raises:
            ValueError: If the logits of an item are not finite.
        """
        if is_finite.all():
            return
        # A batch is ordered by length, but the error names the first item in the order of the data.
        first_item = int(batch[~is_finite].min())
        raise ValueError(
            f"Expected finite logits, but {self.classifier.name} gave NaN or infinity for item "
            f"{self.ids[first_item]!r}."
        )

    def inputs(self, batch: NDArray[np.int64]) -> dict[str, torch.Tensor]:
        """Return the padded arguments of the model for a batch of items, such as `input_ids`.

        Args:
            batch: (n,) indices of the items.

        Returns:
            Tensors (n, T), or (n, 1, T) if the model is joint.
        """
        inputs = pad(self.encoded, batch, self.classifier.device)
        # A multiple-choice model has a dimension of choices between items and tokens.
        if self.joint:
            for name, tensor in inputs.items():
                inputs[name] = tensor.unsqueeze(1)
        return inputs

    def batches(self, batch_size: int, max_tokens: int | None = None) -> list[NDArray[np.int64]]:
        """Divide the items into batches of similar length, the longest first.

        The batches follow the strategy that a trial of the model found: right padding, equal
        lengths or one by one.

        Args:
            batch_size: Maximum number of items per batch.
            max_tokens: Maximum number of tokens per padded batch. A single item may exceed it. None
                for no maximum.

        Returns:
            Arrays of item indices; each index is in one of them.
        """
        check_count(batch_size, "batch_size")
        lengths = self.encoded.lengths
        if self.strategy.name == ONE_BY_ONE:
            batch_size = 1
        groups = None
        if self.strategy.name in (EQUAL_LENGTHS, ONE_BY_ONE):
            groups = lengths
        return make_length_batches(
            lengths, batch_size=batch_size, max_tokens=max_tokens, groups=groups
        )

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
        """Compute columns with one row per item, batch by batch, in the order of the items.

        Args:
            kind: Name of the results, such as "logits". It is shown next to the progress bar and
                stored with the run.
            compute: Receives the padded inputs of a batch and its (n,) item indices. It returns
                columns with one row per item, or a function that waits for them.
            depends: Other values that the results depend on, such as options.
            batch_size: Maximum number of items per batch.
            max_tokens: Maximum number of tokens per padded batch. None for no maximum.
            **options: Options of `HowToRun`.

        Returns:
            The columns that `compute` returns, over all items, or over those that did not fail.

        Raises:
            ValueError: If `out` contains other files, or another process is writing results of
                another run to it.
        """
        model = self.classifier.model
        pad_token = self.encoded.padding["input_ids"]

        def run_batch(batch: NDArray[np.int64]) -> Mapping[str, Column] | Later:
            first_id = self.ids[int(batch[0])]
            # Some models look up their padding token in their configuration.
            with (
                set_padding_token(model, pad_token),
                name_failing_item(self.classifier.name, first_id),
            ):
                columns = compute(self.inputs(batch), batch)
            if isinstance(columns, Mapping):
                return columns

            def wait() -> Mapping[str, Column]:
                # A GPU reports some errors only when its results are read.
                with name_failing_item(self.classifier.name, first_id):
                    return columns()

            # On a CPU the results are ready, and the progress bar need not wait for the next batch.
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
        """Return everything that identifies a stored run, in addition to the model.

        Args:
            depends: Values that the computation depends on besides the items, such as options.
        """
        # The padding token may change the last digits of a score, or more in a model that does not
        # ignore padding.
        encoded = self.encoded
        return {
            "ids": fingerprint_texts(self.ids),
            "padding": {name: int(value) for name, value in encoded.padding.items()},
            "texts": digest_arrays({**encoded.columns, "offsets": encoded.offsets}),
            **depends,
        }


def check_max_length(classifier: ModelWithHead, max_length: int | None, *, minimum: int = 4) -> int:
    """Return the maximum number of tokens per sequence, after a check.

    Args:
        classifier: The model.
        max_length: The requested maximum. If None, the maximum of the model is returned.
        minimum: Smallest allowed value of `max_length`.

    Raises:
        OptionError: If `max_length` is less than `minimum`, or more than the maximum of the model.
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
