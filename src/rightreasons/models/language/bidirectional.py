"""Language models that read a prompt from both sides: `EncoderDecoder` and `MaskedLM`.

Batches consist of sequences of equal lengths, which need no padding; or of a single sequence, if a
trial finds that the other sequences of a batch change its scores.
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
    TokenizedItem,
    TokenizedTexts,
    WaitForScores,
)
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import EQUAL_LENGTHS, ONE_BY_ONE, Outputs

# Tokens that are read at once, each with a logit of every word.
_PASS_TOKENS = 2048
# Tokens of a choice that are read in a trial.
_N_TRIED_TOKENS = 3


@dataclass(frozen=True, eq=False)
class Bidirectional(CausalLM):
    """A language model that reads a prompt from both sides; see `CausalLM` for the attributes."""

    STRATEGIES: ClassVar[Sequence[str]] = (EQUAL_LENGTHS, ONE_BY_ONE)

    def score_trial_items(self, items: Sequence[TokenizedItem], strategy: str) -> Outputs:
        """Return the log-likelihood of each choice of some trial items.

        Args:
            items: The items, with C choices in all.
            strategy: "equal lengths", or "one by one" to read each choice in a separate pass.

        Returns:
            C arrays of shape (1,), in the order of the items and their choices.
        """
        if strategy != ONE_BY_ONE:
            scores = np.concatenate(self.score(items, strategy)())
            return list(scores[:, None])
        outputs = []
        for item in items:
            for choice in item.choices:
                single_choice_item = dataclasses.replace(item, choices=[choice])
                outputs += self.score([single_choice_item], strategy)()
        return outputs


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
    def start_settings(self) -> dict[str, Any]:
        """Settings of generation for the start of an answer: a start token, and a forced next token.

        The keys are `decoder_start_token_id`, a token id, and `forced_bos_token_id`, a token id or
        None if the model forces no first token.

        Raises:
            ValueError: If the model names no start token of its decoder.
        """
        tokens: dict[str, int | None] = {}
        for name in ("decoder_start_token_id", "forced_bos_token_id"):
            tokens[name] = None
            # The later one of the two takes precedence.
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

    def get_max_prompt_length(self, max_length: int, n_continuation: int) -> int:
        """Return the maximum number of tokens of a prompt, which only the encoder reads.

        Args:
            max_length: Maximum number of tokens that the encoder or the decoder reads.
            n_continuation: Number of tokens of the continuation, which the decoder reads.

        Returns:
            `max_length`; or 0 if the continuation is too long for the decoder.
        """
        return max_length if n_continuation <= max_length else 0

    def tokenize(
        self,
        encode: Encoder,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        bare: bool,
    ) -> TokenizedTexts:
        """Yield the tokens of each prompt, with special tokens, and of its continuations, without.

        Args:
            encode: Tokenizes texts.
            prompts: N prompts. An empty one is replaced by the start token.
            continuations: N lists of continuations.
            bare: Whether the prompts already contain their special tokens.
        """
        tokenize = encode.without_special_tokens if bare else encode.with_special_tokens
        prompt_rows = tokenize(prompts)
        # All texts are tokenized at once, because a fast tokenizer divides them among threads. The
        # rows of tokens are distributed again in the same order.
        all_texts = list(itertools.chain.from_iterable(continuations))
        rows = iter(encode.without_special_tokens(all_texts))
        for prompt, item_continuations, prompt_tokens in zip(
            prompts, continuations, prompt_rows, strict=True
        ):
            choices = list(itertools.islice(rows, len(item_continuations)))
            yield (prompt_tokens if prompt else encode.start), choices

    def score(self, items: Sequence[TokenizedItem], strategy: str) -> WaitForScores:
        """Start to compute the log-likelihood of each choice; each prompt is encoded once.

        Args:
            items: The items.
            strategy: "equal lengths" if prompts of equal lengths share a pass of the model, or "one
                by one" for a pass per choice.

        Returns:
            A function that waits for one array of log-likelihoods per item.
        """
        # Prompts of equal lengths become adjacent, so that they can share a pass.
        lengths = [len(item.prompt) for item in items]
        order = np.argsort(lengths, kind="stable")
        sorted_items = [items[position] for position in order]
        scores = []
        for group in _group_items(sorted_items, strategy):
            scores.append(self._score_group(group))
        ends = _find_choice_ends(sorted_items)

        def restore_order(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            rows = np.split(values, ends)
            # The inverse of a permutation: the sorted position of each item.
            position_by_item = np.argsort(order)
            return [rows[position] for position in position_by_item]

        return read_later(restore_order, torch.cat(scores))

    def _score_group(self, items: Sequence[TokenizedItem]) -> torch.Tensor:
        """Compute the log-likelihoods of the choices of items with equally long prompts.

        The decoder sees only what is before a token, so that padding after a choice does not affect
        it.

        Args:
            items: Items with C choices in all, whose prompts have equal lengths.

        Returns:
            (C,) float64, in the order of the items and their choices.
        """
        choices = []
        # Index of the prompt of each choice.
        prompt_index = []
        for index, item in enumerate(items):
            choices += item.choices
            prompt_index += [index] * len(item.choices)
        width = max(map(len, choices))
        targets = np.zeros((len(choices), width), dtype=np.int64)
        is_token = np.zeros(targets.shape, dtype=np.bool_)
        for row, choice in enumerate(choices):
            size = len(choice)
            targets[row, :size] = choice
            is_token[row, :size] = True
        # The decoder predicts each token from those before it: it reads a start token, and all
        # tokens but the last.
        decoder_ids = np.roll(targets, 1, axis=1)
        decoder_ids[:, 0] = self.start_settings["decoder_start_token_id"]

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
        logs = _select_log_probabilities(outputs.logits, send_array(targets, device))
        # Padding has log-probabilities, too, which are not part of the sum.
        logs = torch.where(send_array(is_token, device), logs, 0.0)
        return logs.sum(1)

    def _encode(
        self, prompts: torch.Tensor, mask: torch.Tensor, owners: torch.Tensor
    ) -> dict[str, Any]:
        """Encode each prompt once, and repeat the result for each of its choices.

        Args:
            prompts: (n, L) tokens of the prompts.
            mask: (n, L) ones.
            owners: (C,) index of the prompt of each choice.

        Returns:
            Arguments of the model: `encoder_outputs` of C rows or, with prompt tuning, `input_ids`,
            (C, L), which the model encodes itself.
        """
        # Prompt tuning inserts virtual tokens before those that the encoder reads.
        if hasattr(self.model, "active_peft_config"):
            return {"input_ids": prompts[owners]}
        encoded = self.model.get_encoder()(input_ids=prompts, attention_mask=mask)
        states = encoded[0]
        encoded = dataclasses.replace(encoded, last_hidden_state=states[owners])
        return {"encoder_outputs": encoded}


def _select_log_probabilities(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of one token at each position.

    Args:
        logits: (..., V) logits of every token of the vocabulary.
        targets: (...) token ids.

    Returns:
        (...) float64.
    """
    # A sum over the vocabulary needs more digits than half precision has.
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


def _find_choice_ends(items: Sequence[TokenizedItem]) -> list[int]:
    """Return where to split an array with a score for each choice of all items into one per item.

    Returns:
        The index after the last choice of each item, except for the last item: the argument of
        `np.split`.
    """
    ends = []
    end = 0
    for item in items[:-1]:
        end += len(item.choices)
        ends.append(end)
    return ends


def _group_items(items: Sequence[TokenizedItem], strategy: str) -> list[list[TokenizedItem]]:
    """Divide items into groups that share a pass of the model, in their order.

    Args:
        items: The items, sorted by the lengths of their prompts.
        strategy: "one by one" for a pass per choice; otherwise items whose prompts have equal
            lengths share a pass.
    """
    groups = []
    if strategy == ONE_BY_ONE:
        for item in items:
            for choice in item.choices:
                groups.append([dataclasses.replace(item, choices=[choice])])
        return groups
    for _, group in itertools.groupby(items, key=lambda item: len(item.prompt)):
        groups.append(list(group))
    return groups


@dataclass(frozen=True)
class _MaskedRow:
    """A prompt with a choice, of which one token is masked.

    Attributes:
        tokens: The tokens, with the mask token.
        position: Index of the mask token.
        target: The token that is masked.
        owner: Number of the choice among those of all items.
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
    it. It is the sum of Salazar et al. (2020), equation 1, over only the tokens of the answer. It
    is no log-probability: over all answers its exponentials do not sum to 1. The model writes
    nothing.

    References:
        Salazar, Liang, Nguyen & Kirchhoff (2020), "Masked Language Model Scoring", ACL.
    """

    KIND: ClassVar[str] = "masked language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForMaskedLM
    ABILITIES: ClassVar[frozenset[Ability]] = frozenset({"likelihoods", "next_words", "processes"})
    REMARK: ClassVar[str] = "pseudo-log-likelihoods: each token of an answer masked in turn"
    HAS_OUTER_TOKENS: ClassVar[bool] = True

    def get_max_prompt_length(self, max_length: int, n_continuation: int) -> int:
        """Return the maximum number of tokens of a prompt, without the special tokens around it."""
        special_tokens = [*self._encoder.prefix, *self._encoder.suffix]
        return max_length - n_continuation - len(special_tokens)

    @property
    def start_token(self) -> None:
        """None, because special tokens before every text make a start token unnecessary."""
        return

    @cached_property
    def _encoder(self) -> Encoder:
        """The tokenizer with the special tokens before a text and after it."""
        return Encoder(self.tokenizer, None)

    def tokenize(
        self,
        encode: Encoder,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        bare: bool,
    ) -> TokenizedTexts:
        """Yield the tokens of each prompt and of each of its continuations, without special tokens.

        `score` adds the special tokens before the prompt and after the continuation.
        """
        return super().tokenize(encode, prompts, continuations, bare=True)

    def score_trial_items(self, items: Sequence[TokenizedItem], strategy: str) -> Outputs:
        """Return the pseudo-log-likelihood of the beginning of each choice of some trial items.

        Args:
            items: The items, with C choices in all. Only the first few tokens of a choice are
                scored, because each of them takes a pass of the model.
            strategy: "equal lengths" or "one by one".

        Returns:
            C arrays of shape (1,), in the order of the items and their choices.
        """
        short_items = []
        for item in items:
            choices = []
            for choice in item.choices:
                choices.append(choice[:_N_TRIED_TOKENS])
            short_items.append(dataclasses.replace(item, choices=choices))
        return super().score_trial_items(short_items, strategy)

    def score(self, items: Sequence[TokenizedItem], strategy: str) -> WaitForScores:
        """Start to compute the pseudo-log-likelihood of each choice of each item.

        Args:
            items: The items.
            strategy: "one by one" for a pass per masked token; otherwise sequences of equal lengths
                share passes of up to `_PASS_TOKENS` tokens.

        Returns:
            A function that waits for one array of pseudo-log-likelihoods per item.
        """
        rows = sorted(self._make_masked_rows(items), key=len)
        scores = []
        for size, group in itertools.groupby(rows, key=len):
            # At least one row, even if a single one exceeds the limit.
            n_rows = 1
            if strategy != ONE_BY_ONE:
                n_rows = max(1, _PASS_TOKENS // size)
            rows_of_size = list(group)
            for start in range(0, len(rows_of_size), n_rows):
                scores.append(self._score_masked_tokens(rows_of_size[start : start + n_rows]))
        owners = [row.owner for row in rows]
        n_choices = sum(len(item.choices) for item in items)
        ends = _find_choice_ends(items)

        def sum_by_choice(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            sums = np.bincount(owners, values, minlength=n_choices)
            return np.split(sums, ends)

        return read_later(sum_by_choice, torch.cat(scores))

    def _make_masked_rows(self, items: Sequence[TokenizedItem]) -> Iterator[_MaskedRow]:
        """Yield one sequence for each token of each choice of all items, with that token masked.

        A sequence consists of special tokens, the prompt, the choice, and special tokens. The
        tokens of the prompt are not masked, because they are not scored.
        """
        # Number of the choice among those of all items.
        owner = 0
        for item in items:
            for choice in item.choices:
                head = [*self._encoder.prefix, *item.prompt]
                tokens = [*head, *choice, *self._encoder.suffix]
                for position, target in enumerate(choice, start=len(head)):
                    masked = list(tokens)
                    masked[position] = self.tokenizer.mask_token_id
                    yield _MaskedRow(masked, position, target, owner)
                owner += 1

    def _score_masked_tokens(self, rows: Sequence[_MaskedRow]) -> torch.Tensor:
        """Return the log-probabilities of the masked tokens of n sequences of equal lengths.

        Args:
            rows: The sequences, each with one masked token.

        Returns:
            (n,) float64.
        """
        device = self.model.device
        tokens = _stack(rows, "tokens", device)
        positions = _stack(rows, "position", device)
        targets = _stack(rows, "target", device)
        mask = torch.ones_like(tokens)
        outputs = self.model(input_ids=tokens, attention_mask=mask)
        row_index = torch.arange(len(rows), device=device)
        logits_at_mask = outputs.logits[row_index, positions]
        return _select_log_probabilities(logits_at_mask, targets)

    def try_out(self) -> None:
        """Run a trial of the model on a few short sequences.

        Raises:
            ValueError: If the model cannot score texts, or its tokenizer has no mask token.
        """
        if self.tokenizer.mask_token_id is None:
            raise ValueError(
                f"Expected a mask token in the tokenizer of {self.name}, but the tokenizer has no "
                "mask token."
            )
        super().try_out()
