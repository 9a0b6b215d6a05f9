"""An encoder-decoder language model, such as FLAN-T5 or BART: the encoder reads the prompt, the decoder the answer."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.models.batching import later, sent
from rightreasons.models.causal import CausalLM
from rightreasons.models.likelihoods import Asked, Encoder
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import EQUAL_LENGTHS, ONE_BY_ONE, Answers


@dataclass(frozen=True, eq=False)
class Bidirectional(CausalLM):
    """A language model that reads a prompt from both sides; the attributes are those of `CausalLM`."""

    WAYS: ClassVar[Sequence[str]] = (EQUAL_LENGTHS, ONE_BY_ONE)

    @property
    def abilities(self) -> frozenset[Ability]:
        """Likelihoods of choices, and items shared by processes."""
        return frozenset(("likelihoods", "processes"))

    def answers(self, items: Sequence[Asked], way: str, name: str | None = None) -> Answers:
        """Answer the items of a trial in a way: a number for each of their choices."""
        if way != ONE_BY_ONE:
            return [*np.concatenate(self.score(items, way)())[:, None]]
        alone = [dataclasses.replace(asked, choices=[choice]) for asked in items for choice in asked.choices]
        return [self.score([asked], way)()[0] for asked in alone]


@dataclass(frozen=True, eq=False)
class EncoderDecoder(Bidirectional):
    """An encoder-decoder language model with its tokenizer; the attributes are those of `CausalLM`.

    The log-likelihood of an answer is that of lm-evaluation-harness, sum_t log P(a_t | x, start, a_<t): the encoder
    reads the prompt with the special tokens of the tokenizer, and the decoder, from the start token of the model, the
    tokens of the answer without any, so that neither the end of the answer (</s>) nor a token that opens it (<s> of
    BART) is scored.
    """

    KIND: ClassVar[str] = "encoder-decoder language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForSeq2SeqLM

    @property
    def opening(self) -> dict[str, Any]:
        """The tokens that begin an answer: the decoder's start, and one that a model is made to write first."""
        settings = (self.model.generation_config, self.model.config)
        names = ("decoder_start_token_id", "forced_bos_token_id")
        found = {name: next(filter(_is_token, (getattr(own, name, None) for own in settings)), None) for name in names}
        if found[names[0]] is None:
            raise ValueError(
                f"Expected the configuration of {self.name} to name the token that its decoder begins with in "
                "`decoder_start_token_id`, but it names none."
            )
        return found

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt: those of the answer take none of them, up to as many."""
        return bound if size <= bound else 0

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield the tokens of prompts with special tokens, unless they have them, and of continuations without."""
        answers = iter(encode.bare([text for row in texts for text in row]))
        prompts = (encode.bare if bare else encode.whole)(heads)
        for head, row, prompt in zip(heads, texts, prompts, strict=True):
            yield (prompt if head else encode.start), list(itertools.islice(answers, len(row)))

    def score(self, items: Sequence[Asked], way: str, *_: Any) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the log-likelihood of each continuation of each item; each prompt is encoded once."""
        order = sorted(range(len(items)), key=lambda place: len(items[place].prompt))
        if way == ONE_BY_ONE:
            alone = ((items[place], choice) for place in order for choice in items[place].choices)
            groups = [[dataclasses.replace(asked, choices=[choice])] for asked, choice in alone]
        else:
            sized = itertools.groupby((items[place] for place in order), key=lambda asked: len(asked.prompt))
            groups = [[*group] for _, group in sized]
        scored = torch.cat([self._read(group) for group in groups])
        ends = np.cumsum([len(items[place].choices) for place in order])[:-1]

        def rows(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            found = dict(zip(order, np.split(values, ends), strict=True))
            return [found[place] for place in range(len(items))]

        return later(rows, scored)

    def _read(self, items: Sequence[Asked]) -> torch.Tensor:
        """Return the log-likelihoods of the continuations of prompts of one length, one after another.

        The decoder sees what is before a token alone, so that padding behind a continuation changes nothing in it.
        """
        device = self.model.device
        choices = [choice for asked in items for choice in asked.choices]
        wanted = np.zeros((len(choices), max(map(len, choices))), dtype=np.int64)
        real = np.zeros(wanted.shape)
        for place, choice in enumerate(choices):
            wanted[place, : len(choice)], real[place, : len(choice)] = choice, 1
        before = np.full_like(wanted, self.opening["decoder_start_token_id"])
        before[:, 1:] = wanted[:, :-1]
        prompts = sent(np.array([asked.prompt for asked in items], dtype=np.int64), device)
        mask = torch.ones_like(prompts)
        owners = sent(np.repeat(np.arange(len(items)), [len(asked.choices) for asked in items]), device)
        if hasattr(self.model, "active_peft_config"):  # prompt tuning puts tokens before those that the encoder reads
            read = {"input_ids": prompts[owners]}
        else:
            encoded = self.model.get_encoder()(input_ids=prompts, attention_mask=mask)
            read = {"encoder_outputs": dataclasses.replace(encoded, last_hidden_state=encoded[0][owners])}
        logits = self.model(
            **read,
            attention_mask=mask[owners],
            decoder_input_ids=sent(before, device),
            use_cache=False,
        ).logits.float()
        logs = logits.gather(2, sent(wanted, device)[..., None])[..., 0] - logits.logsumexp(dim=2)
        # Of padding nothing is taken, whatever it scores.
        return torch.where(sent(real, device) > 0, logs.double(), 0.0).sum(1)


def _is_token(value: object) -> bool:
    return isinstance(value, int)
