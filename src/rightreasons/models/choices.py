"""Open whatever can choose: a multiple-choice model or a language model of any kind, and the kinds that read both ways.

Encoder-decoders and masked language models are asked through a prompt, as causal language models are. Batches hold
sequences of one length, so that there is no padding to read, or one sequence where a trial finds that others change it.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as _ENCODER_DECODERS

from rightreasons.core.choices import SCORING_METHODS
from rightreasons.core.errors import first_line
from rightreasons.core.validation import check_one_of
from rightreasons.models.batching import later, sent
from rightreasons.models.causal import CausalLM, open_language_model
from rightreasons.models.classes import HEAD, Classifier, check_head
from rightreasons.models.likelihoods import Encoder, Tokens
from rightreasons.models.loading import architectures_of, check_model, gguf_path, load_multiple_choice, own_code, quiet
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import EQUAL_LENGTHS, ONE_BY_ONE, Answers
from rightreasons.models.weights import adapter_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.loading import HowToOpen


@dataclass(frozen=True, eq=False)
class Bidirectional(CausalLM):
    """A language model that reads a prompt from both sides; the attributes are those of `CausalLM`."""

    WAYS: ClassVar[Sequence[str]] = (EQUAL_LENGTHS, ONE_BY_ONE)

    @property
    def abilities(self) -> frozenset[Ability]:
        """Likelihoods of choices, and items shared by processes."""
        return frozenset(("likelihoods", "processes"))

    def answers(self, items: Sequence[Tokens], way: str, name: str | None = None) -> Answers:
        """Answer the items of a trial in a way: a number for each of their choices."""
        if way != ONE_BY_ONE:
            return [*np.concatenate(self.score(items, way)())[:, None]]
        alone = [dataclasses.replace(item, choices=[choice]) for item in items for choice in item.choices]
        return [self.score([item], way)()[0] for item in alone]


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
        held = {name: [getattr(values, name, None) for values in settings] for name in names}
        found = {
            name: next((value for value in values if isinstance(value, int)), None) for name, values in held.items()
        }
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

    def score(self, items: Sequence[Tokens], way: str, *_: Any) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the log-likelihood of each continuation of each item; each prompt is encoded once."""
        order = sorted(range(len(items)), key=lambda place: len(items[place].prompt))
        if way == ONE_BY_ONE:
            alone = ((items[place], choice) for place in order for choice in items[place].choices)
            groups = [[dataclasses.replace(item, choices=[choice])] for item, choice in alone]
        else:
            sized = itertools.groupby((items[place] for place in order), key=lambda item: len(item.prompt))
            groups = [[*group] for _, group in sized]
        scored = torch.cat([self._read(group) for group in groups])
        ends = np.cumsum([len(items[place].choices) for place in order])[:-1]

        def rows(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            found = dict(zip(order, np.split(values, ends), strict=True))
            return [found[place] for place in range(len(items))]

        return later(rows, scored)

    def _read(self, items: Sequence[Tokens]) -> torch.Tensor:
        """Return the log-likelihoods of the continuations of prompts of one length, one after another.

        The decoder sees what is before a token alone, so that padding behind a continuation changes nothing in it.
        """
        device = self.model.device
        choices = [choice for item in items for choice in item.choices]
        wanted = np.zeros((len(choices), max(map(len, choices))), dtype=np.int64)
        real = np.zeros(wanted.shape)
        for place, choice in enumerate(choices):
            wanted[place, : len(choice)], real[place, : len(choice)] = choice, 1
        before = np.full_like(wanted, self.opening["decoder_start_token_id"])
        before[:, 1:] = wanted[:, :-1]
        prompts = sent(np.array([item.prompt for item in items], dtype=np.int64), device)
        mask = torch.ones_like(prompts)
        owners = sent(np.repeat(np.arange(len(items)), [len(item.choices) for item in items]), device)
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


# Tokens that are read at once, each with a logit of every word.
_AT_ONCE = 2048
# Tokens of a choice that are read in a trial.
_FEW = 3


@dataclass(frozen=True, eq=False)
class MaskedLM(Bidirectional):
    """A masked language model with its tokenizer; the attributes are those of `CausalLM`.

    The score of an answer is its pseudo-log-likelihood, sum_t log P(a_t | x, a without a_t): the model reads prompt and
    answer with one token of the answer masked, and what is behind it, too. It is the sum of Salazar et al. (2020),
    equation 1, over the tokens of the answer alone, and no log-probability: over all answers its exponentials do not
    sum to 1. It writes nothing.

    References:
        Salazar, Liang, Nguyen & Kirchhoff (2020), "Masked Language Model Scoring", ACL.
    """

    KIND: ClassVar[str] = "masked language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForMaskedLM
    ASKED: ClassVar[frozenset[Ability]] = frozenset({"next_words"})
    TOLD: ClassVar[str] = "pseudo-log-likelihoods: each token of an answer masked in turn"
    SURROUNDED: ClassVar[bool] = True

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt beside a continuation and the special tokens around both."""
        return bound - size - sum(map(len, self._around))

    @property
    def start_token(self) -> None:
        """None: what stands before all that is read takes the place of an empty prompt."""
        return

    @cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        """The special tokens before a text and behind it."""
        encode = Encoder(self.tokenizer, None)
        return encode.before, encode.behind

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield the tokens of each text, and of each of its continuations, without special tokens."""
        return super().tokens(encode, heads, texts, bare=True)

    def answers(self, items: Sequence[Tokens], way: str, name: str | None = None) -> Answers:
        """Answer the items of a trial in a way; of each choice, whose tokens are read one by one, the first few."""
        short = [dataclasses.replace(item, choices=[choice[:_FEW] for choice in item.choices]) for item in items]
        return super().answers(short, way, name)

    def score(self, items: Sequence[Tokens], way: str, *_: Any) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the pseudo-log-likelihood of each continuation of each item."""
        (front, behind), device = self._around, self.model.device
        rows: list[tuple[list[int], int, int, int]] = []  # tokens, place of the mask, the token there, continuation
        choices = [(item, choice) for item in items for choice in item.choices]
        for owner, (item, choice) in enumerate(choices):
            whole, first = [*front, *item.prompt, *choice, *behind], len(front) + len(item.prompt)
            for place, token in enumerate(choice, first):
                rows.append(([*whole[:place], self.tokenizer.mask_token_id, *whole[place + 1 :]], place, token, owner))
        rows.sort(key=lambda row: len(row[0]))
        parts = []
        for size, group in itertools.groupby(rows, key=lambda row: len(row[0])):
            row_list, step = [*group], 1 if way == ONE_BY_ONE else max(1, _AT_ONCE // size)
            for block in (row_list[start : start + step] for start in range(0, len(row_list), step)):
                tokens = sent(np.array([row[0] for row in block], dtype=np.int64), device)
                places, wanted = (sent(np.array([row[n] for row in block]), device) for n in (1, 2))
                logits = self.model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits
                logits = logits[torch.arange(len(block), device=device), places].float()
                parts.append((logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(dim=1)).double())
        ends = np.cumsum([len(item.choices) for item in items])[:-1]

        def summed(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            owners = np.array([row[3] for row in rows])
            return np.split(np.bincount(owners, values, len(choices)), ends)

        return later(summed, torch.cat(parts))

    def try_out(self) -> None:
        """Try it on a few short sequences; without a mask token it cannot be asked."""
        if self.tokenizer.mask_token_id is None:
            raise ValueError(f"Expected a mask token in the tokenizer of {self.name}, but it has none.")
        super().try_out()


LANGUAGE_MODELS: Mapping[str, type[CausalLM]] = {
    "causal": CausalLM,
    "encoder-decoder": EncoderDecoder,
    "masked": MaskedLM,
}
"""The kinds of models that are asked through a prompt."""


def load_chooser(
    name_or_path: str | os.PathLike[str], *, method: str | None = None, **how: Unpack[HowToOpen]
) -> Classifier | CausalLM:
    """Open a model that can choose: a multiple-choice model or a language model, whichever it is.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        method: How a language model scores choices, one of `SCORING_METHODS`; None is "mean". For a
            multiple-choice model "head" or None.
        **how: `revision`, `device` and `dtype`, as `HowToOpen` says.

    Returns:
        A `Classifier` without classes, or a `CausalLM` with that `method`.

    Raises:
        TypeError: If the name is neither text nor path.
        ValueError: If there is no such model, or it is neither of the two, or it has no such method.
    """
    if method is not None:
        check_one_of(method, (HEAD, *SCORING_METHODS), "method")
    kind = kind_of_model(name_or_path, how.get("revision"))
    if kind != "choice" and kind not in LANGUAGE_MODELS:
        raise ValueError(
            f"Expected {os.fspath(name_or_path)} to be a multiple-choice model or a language model, but it is {kind}: "
            "fine-tune it as a multiple-choice model first."
        )
    if kind in LANGUAGE_MODELS:
        model = open_language_model(LANGUAGE_MODELS[kind], name_or_path, how)
        used = model.method if method is None else method
        return dataclasses.replace(model, method=check_one_of(used, SCORING_METHODS, "method"))
    head = load_multiple_choice(name_or_path, **how)
    check_head(head, method)
    return head


def load_language_model(name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]) -> CausalLM:
    """Load a language model of any kind, as `load_causal` does a causal one."""
    kind = LANGUAGE_MODELS.get(kind_of_model(name_or_path, how.get("revision")), CausalLM)
    return open_language_model(kind, name_or_path, how)


def kind_of_model(model: str | os.PathLike[str] | torch.nn.Module, revision: str | None = None) -> str:
    """Return what a model folder, a hub repository or a GGUF file holds, as its configuration says, or what a model is.

    Args:
        model: The model: a name, or loaded.
        revision: A branch, tag or commit of the hub repository.

    Returns:
        "choice", one of `LANGUAGE_MODELS`, or the name of another architecture.

    Raises:
        ValueError: If there is no configuration that can be read.
    """
    adapter, config = None, cast("Any", None)
    if isinstance(model, torch.nn.Module):
        inner = getattr(model, "get_base_model", lambda: model)()  # what an adapter of peft is put on
        config, built = getattr(model, "config", None), [type(inner).__name__]
    elif gguf_path(model):
        return "causal"
    else:
        name = check_model(model)
        adapter = adapter_of(name, revision)
        with quiet():
            try:
                where, of = (name, revision) if adapter is None else (adapter.base, adapter.revision)
                config = transformers.AutoConfig.from_pretrained(where, revision=of, trust_remote_code=False)
            except (OSError, ValueError, KeyError) as error:
                raise own_code(error, name) or ValueError(
                    f"Expected {name} to be a multiple-choice model or a language model, but its configuration cannot "
                    f"be read ({first_line(error)})."
                ) from error
        built = [adapter.head] if adapter is not None and adapter.head else architectures_of(config)
    # What turns pictures or sound into text is no encoder-decoder, but a decoder after an encoder of its own.
    texts = _ENCODER_DECODERS.values() if getattr(config, "is_encoder_decoder", False) else ()
    # An adapter that does not tell its task made no classifier of its base if it holds no head.
    headless = adapter is None or adapter.headless
    for architecture in built:
        if architecture.endswith("ForMultipleChoice"):
            return "choice"
        if architecture == "Seq2SeqLM" or (architecture in texts and headless):
            return "encoder-decoder"
        # One class of XLM reads both ways, and says in its configuration which.
        both = architecture.endswith("WithLMHeadModel") and not getattr(config, "causal", True)
        if (both or architecture.endswith("ForMaskedLM")) and headless:
            return "masked"
        if architecture.endswith(("ForCausalLM", "LMHeadModel")):
            return "causal"
    return built[0] if built else f"a model of type {config.model_type} without a head"
