"""The trial of models with a head: whether padding changes the scores of classes, choices or spans.

`find_classifier_strategy` makes a few short items, and one as long as the longest of the data, and
has `PaddingTrial` score them one by one, in padded batches, and in batches of equal lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import compute_offsets
from rightreasons.models.batching import (
    Encoded,
    encode,
    get_padding_values,
    get_text_config,
    pad,
)
from rightreasons.models.input_limits import list_ordinary_tokens
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    SHORTEST,
    TRIALS,
    BatchingStrategy,
    ModelWithTokenizer,
    Outputs,
    RefusalError,
    find_fastest_strategy,
)

RIGHT = "right padding"

# Approximate number of tokens of long texts in a trial.
_N_LONG_TOKENS = 512
# Numbers of words of the short texts of a trial; the first one is also a neighbor of long texts.
_SHORT_LENGTHS = (7, 1, 4, 4, 12, 11, 10, 9, 8, 6, 5, 3)


class ModelWithHead(ModelWithTokenizer, Protocol):
    """A model with a head that scores classes, choices or spans, such as `Classifier`."""

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """K names of the classes, in the order of the logits; None if the head has no classes."""

    @property
    def device(self) -> torch.device:
        """Device of the input of the model."""


def find_classifier_strategy(
    classifier: ModelWithHead, *, longest: int, joint: bool = False
) -> BatchingStrategy:
    """Find the fastest way to batch texts that leaves the scores of a model with a head unchanged.

    The candidates are right padding, batches of texts of equal lengths, and reading one by one. The
    padding side of the tokenizer does not matter.

    Args:
        classifier: A sequence classifier, a multiple-choice or a question-answering model.
        longest: Number of tokens of the longest sequence of the data.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does.

    Raises:
        ValueError: If the model cannot be used, with the reason.
    """
    model = classifier.model
    n_classes = None
    if classifier.label_names is not None:
        n_classes = len(classifier.label_names)

    def run_trial(max_tokens: int) -> BatchingStrategy:
        """Find the fastest strategy for texts of up to `max_tokens` tokens."""
        is_short = max_tokens <= SHORTEST
        earlier_strategy = None
        if not is_short:
            # A strategy that fails for short texts is not tried for long ones.
            earlier_strategy = find_classifier_strategy(classifier, longest=SHORTEST, joint=joint)
        items = _make_trial_items(
            model,
            classifier.tokenizer,
            min(max_tokens, classifier.max_length),
            # Models of choices or spans read pairs of texts: a prompt and a choice, or a question
            # and a context.
            is_paired=n_classes is None,
            is_short=is_short,
        )
        trial = PaddingTrial(model, classifier.name, items, joint=joint, n_classes=n_classes)
        with set_padding_token(model, items.padding["input_ids"]):
            return find_fastest_strategy(
                model,
                classifier.name,
                trial.score_singly,
                {RIGHT: trial.score_padded, EQUAL_LENGTHS: trial.score_by_length},
                longest=max_tokens,
                repeat=trial.repeat,
                earlier_strategy=earlier_strategy,
            )

    kind = "choices" if joint else "texts"
    max_tokens = min(longest, classifier.max_length)
    return TRIALS.get_strategy(model, kind, max_tokens, run_trial, classifier.tokenizer)


class PaddingTrial:
    """Outputs of a model for a few items, computed one by one and in different batches.

    Args:
        model: The model.
        name: Name of the model, for errors.
        items: The items of the trial.
        joint: Whether the model reads tensors (n, C, T).
        n_classes: Number of classes of a classifier; None if the model is not one.
    """

    def __init__(
        self, model: Any, name: str, items: Encoded, *, joint: bool, n_classes: int | None
    ) -> None:
        """Store the model and the items. Nothing is computed yet."""
        self.model = model
        self.name = name
        self.items = items
        self.joint = joint
        self.n_classes = n_classes
        # Indices of the items at which the model does not fail, and its outputs for them.
        self._readable_items = np.arange(len(items))
        self._single_outputs: list[NDArray[np.float64]] = []

    def score_singly(self) -> Outputs:
        """Return the outputs for every item that the model can read, one item at a time.

        Some models fail at very short items. The other methods leave these items out, too.

        Raises:
            RuntimeError: If the model fails at every item. It is the error of the last item, which
                may also be an IndexError.
        """
        readable_items: list[int] = []
        for item in range(len(self.items)):
            try:
                self._single_outputs += self._score_batch(np.array([item]))
                readable_items.append(item)
            except (RuntimeError, IndexError) as error:
                last_error = error
        if not readable_items:
            raise last_error
        self._readable_items = np.array(readable_items)
        return self._single_outputs

    def repeat(self) -> Outputs:
        """Score the longest item once more, and return the outputs for the items up to it.

        A difference from the earlier output reveals a model with random outputs. The longest item
        is used because sparse attention that samples tokens at random may read short items in full.
        """
        longest = int(self.items.lengths[self._readable_items].argmax())
        repeated = self._score_batch(self._readable_items[[longest]])
        return [*self._single_outputs[:longest], *repeated]

    def score_padded(self) -> Outputs:
        """Return the outputs for the items in two padded batches, of long and of short items."""
        is_long = self.items.lengths[self._readable_items] > SHORTEST
        long_items = self._readable_items[is_long]
        short_items = self._readable_items[~is_long]
        # One short item in the batch of long ones is enough to test a large amount of padding.
        if len(long_items) and len(short_items):
            long_items = np.append(long_items, short_items[0])
        return self._score_batches([long_items, short_items])

    def score_by_length(self) -> Outputs:
        """Return the outputs for the items in batches of equal lengths, which need no padding."""
        lengths = self.items.lengths[self._readable_items]
        batches = [self._readable_items[lengths == length] for length in np.unique(lengths)]
        return self._score_batches(batches)

    def _score_batches(self, batches: Sequence[NDArray[np.int64]]) -> Outputs:
        """Return the outputs for the items of several batches, in the order of the items.

        Args:
            batches: Arrays of item indices, which may be empty. If an item is in two batches, its
                output is from the first.
        """
        output_by_item: dict[int, NDArray[np.float64]] = {}
        for batch in batches:
            if not len(batch):
                continue
            for item, output in zip(batch.tolist(), self._score_batch(batch), strict=True):
                output_by_item.setdefault(item, output)
        return [output_by_item[item] for item in sorted(output_by_item)]

    def _score_batch(self, batch: NDArray[np.int64]) -> Outputs:
        """Run the model on one batch of items, padded on the right, and return its scores.

        Args:
            batch: (n,) indices of the items in `self.items`.

        Returns:
            n arrays: (K,) logits of the classes, (1,) score of a choice, or for a
            question-answering model (T, 2) start and end logits of the T tokens of the item,
            without padding.

        Raises:
            RefusalError: If the model does not return one logit per class, or one score per choice.
        """
        inputs = pad(self.items, batch, self.model.device)
        is_token = inputs["attention_mask"].bool()
        if self.joint:
            # A multiple-choice model reads (n, choices, T); each trial item is a single choice.
            inputs = {key: tensor[:, None] for key, tensor in inputs.items()}
        outputs = self.model(**inputs)
        if hasattr(outputs, "start_logits"):
            span_logits = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1).double()
            scores = []
            for item_logits, is_item_token in zip(span_logits, is_token, strict=True):
                scores.append(item_logits[is_item_token].cpu().numpy())
            return scores
        logits = getattr(outputs, "logits", None)
        n_scores = len(is_token) * (self.n_classes or 1)
        if logits is None or logits.numel() != n_scores:
            raise RefusalError(self._explain_refusal(outputs, logits, len(is_token)))
        return list(logits.double().flatten(1).cpu().numpy())

    def _explain_refusal(self, outputs: Any, logits: Any, n_texts: int) -> str:
        """Return an error message that compares the expected scores with the output of the model.

        Args:
            outputs: The output of the model.
            logits: Its attribute `logits`. None if it has no such attribute.
            n_texts: Number of texts of the batch.
        """
        expected = "one score per choice"
        if self.n_classes is not None:
            expected = f"one score for each of {self.n_classes} classes"
        actual = "none"
        if isinstance(outputs, tuple):
            actual = "a tuple (set `config.return_dict`)"
        elif logits is not None:
            actual = f"a tensor of shape {tuple(logits.shape)}"
        return f"Expected {expected} from {self.name}, but it gives {actual} for {n_texts} texts."


@contextmanager
def set_padding_token(model: Any, token: int) -> Iterator[None]:
    """Set the padding token of a model that has none, during the block.

    A decoder with a classification head reads the score at the last token of a text that is not
    padding. It refuses batches if its configuration names no padding token.

    Args:
        model: The model, whose configuration is restored afterwards.
        token: Id of the token.
    """
    config = get_text_config(model)
    # Nothing has to be set.
    if config is None or getattr(config, "pad_token_id", None) is not None:
        yield
        return
    settings = dict(vars(config))
    config.pad_token_id = token
    try:
        yield
    finally:
        # All settings are restored, because the model may have added others meanwhile.
        vars(config).clear()
        vars(config).update(settings)


def _make_trial_items(
    model: Any, tokenizer: Any, longest: int, *, is_paired: bool, is_short: bool
) -> Encoded:
    """Make tokenized texts of random words, of the lengths that a trial of batching needs.

    Args:
        model: The model, whose vocabulary the words are from.
        tokenizer: Its tokenizer.
        longest: Number of tokens of the longest text.
        is_paired: Whether each item is a pair of texts.
        is_short: Whether all texts have up to 16 tokens. If not, there is one such text, and the
            others are long.
    """
    batches = _encode_trial_texts(tokenizer, longest, is_paired=is_paired, is_short=is_short)
    columns = {}
    for name in batches[0].columns:
        columns[name] = np.concatenate([batch.columns[name] for batch in batches])
    lengths = np.concatenate([batch.lengths for batch in batches])
    # The encoded texts of letters only give the lengths and the positions of special tokens. All
    # other tokens are replaced by random words, because the tokenizer may not know the letters.
    special_ids = [token for token in tokenizer.all_special_ids if token != tokenizer.unk_token_id]
    is_special = np.isin(columns["input_ids"], special_ids)
    words = list_ordinary_tokens(model, tokenizer)
    random_words = np.random.default_rng(0).choice(words, len(is_special)).astype(np.int32)
    columns["input_ids"] = np.where(is_special, columns["input_ids"], random_words)
    return Encoded(
        columns=columns,
        offsets=compute_offsets(lengths),
        truncated=np.zeros(len(lengths), dtype=np.bool_),
        padding=get_padding_values(tokenizer, model, columns["input_ids"]),
    )


def _encode_trial_texts(
    tokenizer: Any, longest: int, *, is_paired: bool, is_short: bool
) -> list[Encoded]:
    """Tokenize texts of single letters, such as "a b c d", of the lengths that a trial needs.

    Args:
        tokenizer: The tokenizer.
        longest: Maximum number of tokens of a text.
        is_paired: Whether each text has a second one, "b".
        is_short: If True, the texts have the numbers of words in `_SHORT_LENGTHS`. If False, there
            is one such text, one of the maximum length, and others of 5/16 to 12/16 of that
            length, until all have about `_N_LONG_TOKENS` tokens.

    Returns:
        One batch with the short texts, and one for each long text.
    """
    letters = [*"abcdefghijklmnop"]
    max_short = min(longest, SHORTEST)
    n_short = len(_SHORT_LENGTHS) if is_short else 1
    texts = [" ".join(letters[:n_words]) for n_words in _SHORT_LENGTHS[:n_short]]
    pairs = ["b"] * len(texts) if is_paired else None
    batches = [encode(tokenizer, texts, pairs, max_length=max_short)]
    if is_short:
        return batches

    # Many tokens are needed to notice that padding changes which tokens sparse attention selects,
    # because that happens only at near ties. The tokenizer truncates one text to each length.
    long_text = " ".join(letters * (longest // 8 + 1))
    lengths_in_sixteenths = [16]
    for number in range(max(1, _N_LONG_TOKENS // longest)):
        # 12, 7, 10, 5, 8, …: steps of 5 modulo 8 repeat no length among eight texts.
        lengths_in_sixteenths.append(12 - 5 * number % 8)
    for sixteenths in lengths_in_sixteenths:
        length = max(max_short + 1, longest * sixteenths // 16)
        pair = ["b"] if is_paired else None
        batches.append(encode(tokenizer, [long_text], pair, max_length=length))
    return batches
