"""Language models that read a prompt from both sides: `EncoderDecoder` and `MaskedLM`.

Batches hold sequences of one length, so that there is no padding to read, or a single sequence if a
trial finds that others change it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.models.batching import read_later, send_array
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.language.continuations import (
    Encoder,
    TokenizedTexts,
    Tokens,
    WaitForScores,
)
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import EQUAL_LENGTHS, ONE_BY_ONE, Answers

# Tokens that are read at once, each with a logit of every word.
_PASS_TOKENS = 2048
# Tokens of a choice that are read in a trial.
_N_TRIED_TOKENS = 3


@dataclass(frozen=True, eq=False)
class Bidirectional(CausalLM):
    """A language model that reads a prompt from both sides; attributes as of `CausalLM`."""

    WAYS: ClassVar[Sequence[str]] = (EQUAL_LENGTHS, ONE_BY_ONE)

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Return the log-likelihood of each choice of the items of a trial.

        Args:
            items: The items, with C choices in all.
            way: One of `WAYS`.

        Returns:
            C arrays of shape (1,), in the order of the items and their choices.
        """
        if way != ONE_BY_ONE:
            scores = np.concatenate(self.score(items, way)())
            return list(scores[:, None])
        answers = []
        for item in items:
            for choice in item.choices:
                # An item with a single choice is read without the others.
                single_item = dataclasses.replace(item, choices=[choice])
                answers += self.score([single_item], way)()
        return answers


@dataclass(frozen=True, eq=False)
class EncoderDecoder(Bidirectional):
    """An encoder-decoder language model with its tokenizer; attributes as of `CausalLM`.

    The log-likelihood of an answer is that of lm-evaluation-harness, sum_t log P(a_t | x, start,
    a_<t). The encoder reads the prompt with the special tokens of the tokenizer. The decoder reads
    the tokens of the answer after the start token of the model, without special tokens: neither the
    end of the answer (</s>) nor a token that opens it (<s> of BART) is scored.
    """

    KIND: ClassVar[str] = "encoder-decoder language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForSeq2SeqLM

    @property
    def opening(self) -> dict[str, Any]:
        """Tokens that begin an answer: the decoder's start, and one that must be written first.

        `decoder_start_token_id` is a token. `forced_bos_token_id` is None if the model forces none.

        Raises:
            ValueError: If neither the configuration nor the settings of generation name a start.
        """
        tokens: dict[str, int | None] = {}
        for name in ("decoder_start_token_id", "forced_bos_token_id"):
            tokens[name] = None
            # The settings of generation take precedence over the configuration.
            for settings in (self.model.config, self.model.generation_config):
                token = getattr(settings, name, None)
                if isinstance(token, int):
                    tokens[name] = token
        if tokens["decoder_start_token_id"] is None:
            raise ValueError(
                f"Expected `decoder_start_token_id` in the configuration of {self.name}, which "
                "sets the first token of the decoder, but the configuration has no such token."
            )
        return tokens

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt, which the encoder reads apart from the answer.

        Args:
            bound: Maximum tokens that the encoder or the decoder reads.
            size: Tokens of the answer.

        Returns:
            `bound`; or 0 if the answer itself is too long.
        """
        return bound if size <= bound else 0

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> TokenizedTexts:
        """Yield the tokens of each prompt, with special tokens, and of its continuations, without.

        Args:
            encode: Tokenizes texts.
            heads: N prompts. An empty one is the start token.
            texts: N lists of continuations.
            bare: Whether the prompts contain all of their special tokens already.
        """
        tokenize = encode.bare if bare else encode.whole
        prompts = tokenize(heads)
        # All at once, because a fast tokenizer divides many texts among threads. The rows are
        # handed out again in the same order.
        all_texts = list(itertools.chain.from_iterable(texts))
        choices = iter(encode.bare(all_texts))
        for head, continuations, prompt in zip(heads, texts, prompts, strict=True):
            item_choices = list(itertools.islice(choices, len(continuations)))
            yield (prompt if head else encode.start), item_choices

    def score(self, items: Sequence[Tokens], way: str) -> WaitForScores:
        """Start to compute the log-likelihood of each continuation; each prompt is encoded once.

        Args:
            items: The items.
            way: One of `WAYS`.

        Returns:
            A function that waits for one array of log-likelihoods per item.
        """
        # Prompts of equal lengths are adjacent, so that they can share a pass.
        lengths = [len(item.prompt) for item in items]
        order = np.argsort(lengths, kind="stable")
        sorted_items = [items[position] for position in order]
        scores = []
        for group in _group_items(sorted_items, way):
            scores.append(self._read(group))
        ends = _find_ends(sorted_items)

        def restore_order(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            rows = np.split(values, ends)
            # The inverse of a permutation: the sorted position of each item.
            position_by_item = np.argsort(order)
            return [rows[position] for position in position_by_item]

        return read_later(restore_order, torch.cat(scores))

    def _read(self, items: Sequence[Tokens]) -> torch.Tensor:
        """Return the log-likelihoods of the continuations of prompts of one length.

        The decoder sees only what is before a token, so that padding after a continuation changes
        nothing in it.

        Args:
            items: Items with C continuations in all, whose prompts have equal lengths.

        Returns:
            (C,) float64, in the order of the items and their continuations.
        """
        choices = []
        # Position of the prompt of each continuation.
        prompt_index = []
        for position, item in enumerate(items):
            choices += item.choices
            prompt_index += [position] * len(item.choices)
        width = max(map(len, choices))
        targets = np.zeros((len(choices), width), dtype=np.int64)
        is_token = np.zeros(targets.shape, dtype=np.bool_)
        for row, choice in enumerate(choices):
            size = len(choice)
            targets[row, :size] = choice
            is_token[row, :size] = True
        # The decoder reads the tokens shifted by one, after its start token: each predicts the
        # next.
        decoder_ids = np.roll(targets, 1, axis=1)
        decoder_ids[:, 0] = self.opening["decoder_start_token_id"]

        device = self.model.device
        prompts = _stack(items, "prompt", device)
        mask = torch.ones_like(prompts)
        owners = send_array(np.array(prompt_index), device)
        outputs = self.model(
            **self._encode(prompts, mask, owners),
            attention_mask=mask[owners],
            decoder_input_ids=send_array(decoder_ids, device),
            use_cache=False,
        )
        logs = _select_logs(outputs.logits, send_array(targets, device))
        # Padding has scores too, which do not count.
        logs = torch.where(send_array(is_token, device), logs, 0.0)
        return logs.sum(1)

    def _encode(
        self, prompts: torch.Tensor, mask: torch.Tensor, owners: torch.Tensor
    ) -> dict[str, Any]:
        """Return the encoded prompt of each continuation, as arguments of the model.

        Args:
            prompts: (n, L) tokens of the prompts, each of which is encoded once.
            mask: (n, L) ones.
            owners: (C,) position of the prompt of each continuation.

        Returns:
            `encoder_outputs` of C rows; with prompt tuning `input_ids`, (C, L), which the model
            encodes itself.
        """
        # Prompt tuning puts tokens before those that the encoder reads.
        if hasattr(self.model, "active_peft_config"):
            return {"input_ids": prompts[owners]}
        encoded = self.model.get_encoder()(input_ids=prompts, attention_mask=mask)
        states = encoded[0]
        encoded = dataclasses.replace(encoded, last_hidden_state=states[owners])
        return {"encoder_outputs": encoded}


def _select_logs(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of one token at each position.

    Args:
        logits: (..., V) logits of every token of the vocabulary.
        targets: (...) token ids.

    Returns:
        (...) float64.
    """
    # Sums over a vocabulary need more digits than half precision has.
    logits = logits.float()
    index = targets[..., None]
    target_logits = logits.gather(-1, index)[..., 0]
    logs = target_logits - logits.logsumexp(dim=-1)
    return logs.double()


def _stack(rows: Sequence[Any], name: str, device: torch.device) -> torch.Tensor:
    """Return an attribute of rows as a tensor: whole numbers, or lists of one length."""
    values = [getattr(row, name) for row in rows]
    array = np.array(values, dtype=np.int64)
    return send_array(array, device)


def _find_ends(items: Sequence[Tokens]) -> list[int]:
    """Return the indices that split the scores of all continuations into those of each item.

    The argument of `np.split`: the end of each item but the last, if all scores are in one array.
    """
    ends = []
    end = 0
    for item in items[:-1]:
        end += len(item.choices)
        ends.append(end)
    return ends


def _group_items(items: Sequence[Tokens], way: str) -> list[list[Tokens]]:
    """Divide items into those of each pass, in their order.

    Args:
        items: The items, sorted by the lengths of their prompts.
        way: `ONE_BY_ONE` for a pass per continuation; otherwise prompts of equal lengths share a
            pass.
    """
    groups = []
    if way == ONE_BY_ONE:
        for item in items:
            for choice in item.choices:
                groups.append([dataclasses.replace(item, choices=[choice])])
        return groups
    for _, group in itertools.groupby(items, key=lambda item: len(item.prompt)):
        groups.append(list(group))
    return groups


@dataclass(frozen=True)
class _MaskedRow:
    """A sequence with one token masked.

    Attributes:
        tokens: The tokens, with the mask.
        position: Position of the mask.
        target: The token there.
        owner: Number of the continuation that the token belongs to.
    """

    tokens: list[int]
    position: int
    target: int
    owner: int

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, eq=False)
class MaskedLM(Bidirectional):
    """A masked language model with its tokenizer; attributes as of `CausalLM`.

    The score of an answer is its pseudo-log-likelihood, sum_t log P(a_t | x, a without a_t): the
    model reads prompt and answer with one token of the answer masked, including what comes after
    it. It is the sum of Salazar et al. (2020), equation 1, over the tokens of the answer alone. It
    is no log-probability: over all answers its exponentials do not sum to 1. The model writes
    nothing.

    References:
        Salazar, Liang, Nguyen & Kirchhoff (2020), "Masked Language Model Scoring", ACL.
    """

    KIND: ClassVar[str] = "masked language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForMaskedLM
    ASKED: ClassVar[frozenset[Ability]] = frozenset({"likelihoods", "next_words", "processes"})
    TOLD: ClassVar[str] = "pseudo-log-likelihoods: each token of an answer masked in turn"
    SURROUNDED: ClassVar[bool] = True

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt, with special tokens around it and its answer."""
        special_tokens = [*self._encoder.before, *self._encoder.behind]
        return bound - size - len(special_tokens)

    @property
    def start_token(self) -> None:
        """None: the special tokens before all that is read take the place of an empty prompt."""
        return

    @cached_property
    def _encoder(self) -> Encoder:
        """The tokenizer with the special tokens before a text and after it."""
        return Encoder(self.tokenizer, None)

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> TokenizedTexts:
        """Yield the tokens of each text, and of each of its continuations, without special tokens.

        `score` puts the special tokens around both.
        """
        return super().tokens(encode, heads, texts, bare=True)

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Return the pseudo-log-likelihood of the first tokens of each choice of some trial items.

        Args:
            items: The items, with C choices in all.
            way: One of `WAYS`.

        Returns:
            C arrays of shape (1,), in the order of the items and their choices.
        """
        short_items = []
        for item in items:
            # Each token is a separate pass.
            choices = []
            for choice in item.choices:
                choices.append(choice[:_N_TRIED_TOKENS])
            short_items.append(dataclasses.replace(item, choices=choices))
        return super().answers(short_items, way)

    def score(self, items: Sequence[Tokens], way: str) -> WaitForScores:
        """Start to compute the pseudo-log-likelihood of each continuation of each item.

        Args:
            items: The items.
            way: `ONE_BY_ONE` for a pass per masked token; otherwise sequences of equal lengths
                share passes of up to `_PASS_TOKENS` tokens.

        Returns:
            A function that waits for one array of pseudo-log-likelihoods per item.
        """
        rows = sorted(self._make_rows(items), key=len)
        scores = []
        for size, group in itertools.groupby(rows, key=len):
            # A single row of a long text, or many short ones.
            n_rows = 1
            if way != ONE_BY_ONE:
                n_rows = max(1, _PASS_TOKENS // size)
            rows_of_size = list(group)
            for start in range(0, len(rows_of_size), n_rows):
                scores.append(self._read(rows_of_size[start : start + n_rows]))
        owners = [row.owner for row in rows]
        n_choices = sum(len(item.choices) for item in items)
        ends = _find_ends(items)

        def sum_tokens(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            sums = np.bincount(owners, values, minlength=n_choices)
            return np.split(sums, ends)

        return read_later(sum_tokens, torch.cat(scores))

    def _make_rows(self, items: Sequence[Tokens]) -> Iterator[_MaskedRow]:
        """Yield a sequence for each token of each continuation, in which that token is masked."""
        # Number of the continuation among those of all items.
        owner = 0
        for item in items:
            for choice in item.choices:
                head = [*self._encoder.before, *item.prompt]
                tokens = [*head, *choice, *self._encoder.behind]
                # The tokens of the prompt are not scored.
                for position, target in enumerate(choice, start=len(head)):
                    masked = list(tokens)
                    masked[position] = self.tokenizer.mask_token_id
                    yield _MaskedRow(masked, position, target, owner)
                owner += 1

    def _read(self, rows: Sequence[_MaskedRow]) -> torch.Tensor:
        """Return the log-probabilities of the masked tokens of n sequences of one length.

        Args:
            rows: The sequences, each with one token masked.

        Returns:
            (n,) float64.
        """
        device = self.model.device
        tokens = _stack(rows, "tokens", device)
        positions = _stack(rows, "position", device)
        targets = _stack(rows, "target", device)
        mask = torch.ones_like(tokens)
        outputs = self.model(input_ids=tokens, attention_mask=mask)
        numbers = torch.arange(len(rows), device=device)
        logits = outputs.logits[numbers, positions]
        return _select_logs(logits, targets)

    def try_out(self) -> None:
        """Try the model on a few short sequences.

        Raises:
            ValueError: If it cannot be asked, or its tokenizer has no mask token.
        """
        if self.tokenizer.mask_token_id is None:
            raise ValueError(
                f"Expected a mask token in the tokenizer of {self.name}, but the tokenizer has no "
                "mask token."
            )
        super().try_out()
