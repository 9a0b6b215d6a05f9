"""Open whatever can choose: a multiple-choice model or a language model of any kind, causal or read both ways.

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
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as _ENCODER_DECODERS,
)

from rightreasons.core.choices import SCORING_METHODS
from rightreasons.core.errors import get_first_line
from rightreasons.core.validation import check_one_of
from rightreasons.models.batching import read_later, send_array
from rightreasons.models.classes import Classifier, OfTransformers
from rightreasons.models.continuations import Encoder, Tokens
from rightreasons.models.likelihood_runs import find_likelihood_way
from rightreasons.models.likelihoods import (
    WAYS,
    likelihoods,
    score_one_by_one,
    token_likelihoods,
)
from rightreasons.models.loading import (
    HowToOpen,
    architectures_of,
    check_model,
    check_vocabulary,
    gguf_path,
    load_multiple_choice,
    load_tokenizer,
    open_weights,
    own_code,
    quiet,
)
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import EQUAL_LENGTHS, ONE_BY_ONE, SHORTEST, Answers
from rightreasons.models.weights import find_adapter
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class CausalLM(OfTransformers):
    """A causal language model with its tokenizer; the other kinds of language models differ in how they are read.

    Attributes:
        KIND: What it is, for errors.
        OPENED_BY: The class of transformers that opens it.
        ASKED: What an engine can ask of it.
        WAYS: How requests may be batched, the fastest way first: a trial finds which of them is exact.
        TOLD: What is said of its answers beside the way; "" where there is nothing to say.
        SURROUNDED: Whether special tokens stand around all that is read, so that a prompt may be empty.
        model: A model of transformers with a language-modeling head, in evaluation mode.
        tokenizer: Its tokenizer.
        name: What the user called it.
    """

    model: Any
    tokenizer: Any
    name: str

    KIND: ClassVar[str] = "causal language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForCausalLM
    ASKED: ClassVar[frozenset[Ability]] = frozenset(
        {"likelihoods", "next_words", "text", "processes"}
    )
    WAYS: ClassVar[Sequence[str]] = WAYS
    TOLD: ClassVar[str] = ""
    SURROUNDED: ClassVar[bool] = False

    @property
    def start_token(self) -> int | None:
        """The token that takes the place of an empty prompt: begin of sequence, else end of sequence, else None."""
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        return next((int(token) for token in tokens if token is not None), None)

    @property
    def opening(self) -> dict[str, Any]:
        """Settings of generation that say how an answer begins where the prompt is not before it; {} where it is."""
        return {}

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt before a continuation of `size` tokens, whose last is not read."""
        return bound + 1 - size

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield the tokens of each text, and of each of its continuations.

        Both are tokenized together, and the tokens beyond as many as the text has by itself are those of the
        continuation. Special tokens at the end of a text ([SEP] or </s>) are left out.

        Args:
            encode: Tokenizes texts.
            heads: N texts.
            texts: N lists of continuations, exactly as they follow.
            bare: Whether the texts have all of their special tokens.
        """
        with_start = encode.bare if bare else encode
        before = with_start(heads)
        whole = iter(
            with_start(
                [
                    head + text
                    for head, row in zip(heads, texts, strict=True)
                    if head
                    for text in row
                ]
            )
        )
        alone = iter(
            encode.bare(
                [text for head, row in zip(heads, texts, strict=True) if not head for text in row]
            )
        )
        for head, row, tokens in zip(heads, texts, before, strict=True):
            first = tokens if head else []
            joined = list(itertools.islice(whole if head else alone, len(row)))
            parts = [tokens[len(first) :] for tokens in joined]
            if bare:  # a text that has its tokens ends where it ends: what follows does not change those before
                parts = [
                    part if tokens[: len(first)] == first else encode.bare([text])[0]
                    for part, tokens, text in zip(parts, joined, row, strict=True)
                ]
            if not head:  # a text that begins with the start token is its own prompt
                parts = [
                    part[1:] if encode.start and part[:1] == encode.start else part
                    for part in parts
                ]
            yield first or encode.start, parts

    def score(self, items: Sequence[Tokens], way: str) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the log-likelihood of each continuation of each item, as `likelihoods` says."""
        return likelihoods(self.model, items, way)

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Answer the items of a trial in a way."""
        if way == ONE_BY_ONE:
            return score_one_by_one(self.model, items, self.name)
        return token_likelihoods(self.model, items, way)()

    def try_out(self) -> None:
        """Try it on a few short sequences.

        Raises:
            ValueError: If it cannot be asked.
        """
        find_likelihood_way(self, longest=SHORTEST)


Model = TypeVar("Model", bound=CausalLM)


def load_causal(name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]) -> CausalLM:
    """Load a causal language model and its tokenizer, and try it on a few short sequences.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        **how: `revision`, `device` and `dtype`, as `HowToOpen` says.

    Returns:
        The model, in evaluation mode.

    Raises:
        ValueError: If there is no such model, or it is not a causal language model, or its tokenizer is missing, or the
            trial finds that it cannot be asked.
    """
    return open_language_model(CausalLM, name_or_path, how)


def open_language_model(
    kind: type[Model], name_or_path: str | os.PathLike[str], how: HowToOpen
) -> Model:
    """Open a language model of a kind, and try it; the errors are those of `load_causal`.

    Args:
        kind: `CausalLM`, or a kind that is read in another way.
        name_or_path: A folder, a hub id, or a GGUF file.
        how: `revision`, `device` and `dtype`.
    """
    path = gguf_path(name_or_path)
    name = check_model(name_or_path) if path is None else str(path.parent)
    options: dict[str, Any] = {} if path is None else {"gguf_file": path.name}
    model, absent = open_weights(kind.OPENED_BY, kind.KIND, name, how, **options)
    if absent:
        raise ValueError(
            f"Expected {name} to be a {kind.KIND}, but its checkpoint lacks the weights {', '.join(absent[:3])}."
        )
    tokenizer = load_tokenizer(name, how.get("revision"), **options)
    check_vocabulary(model, tokenizer, name)
    scorer = kind(model, tokenizer, os.fspath(name_or_path))
    scorer.try_out()
    return scorer


def bare(model: CausalLM, method: str = "mean", **reading: Any) -> Prompted:
    r"""Return a language model as a scorer of choices that is asked prompts as they are.

    With l(a | p) = sum_t log P(a_t | p, a_<t), the log-likelihood of the tokens of a space and the choice after p,
    `loglikelihood` of the pair in lm-evaluation-harness:

        sum            l(a | p)
        mean           l(a | p) / number of tokens of a
        unconditional  l(a | p) - l(a | p0), p0 the empty prompt (Holtzman et al. 2021, PMI_DC)
        letters        log P(letter | p, all choices with letters, "Answer:"): the model sees the choices together

    An empty prompt is read as the tokenizer's start token, and a long one loses its beginning.

    Args:
        model: The model.
        method: "mean" (default), "sum", "unconditional" or "letters".
        **reading: As in `LocalEngine`.

    References:
        Holtzman et al. (2021), "Surface Form Competition: Why the Highest Probability Answer Isn't Always Right",
        EMNLP.
    """
    check_one_of(method, SCORING_METHODS, "method")
    if method == "letters":
        template = "{{ prompt }}\n{{ options }}"
        prompt = Prompt(
            chat="off", template=template, style=method, answer_prefix="Answer:", scoring="sum"
        )
    else:
        prompt = Prompt(chat="off", template="{{ prompt }}", style="words", scoring=method)
    return Prompted(prompt, LocalEngine(model, **reading))


@dataclass(frozen=True, eq=False)
class Bidirectional(CausalLM):
    """A language model that reads a prompt from both sides; the attributes are those of `CausalLM`."""

    WAYS: ClassVar[Sequence[str]] = (EQUAL_LENGTHS, ONE_BY_ONE)

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Answer the items of a trial in a way: a number for each of their choices."""
        if way != ONE_BY_ONE:
            return [*np.concatenate(self.score(items, way)())[:, None]]
        alone = [
            dataclasses.replace(item, choices=[choice]) for item in items for choice in item.choices
        ]
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
        found = {
            name: next(
                (its for each in settings if isinstance(its := getattr(each, name, None), int)),
                None,
            )
            for name in ("decoder_start_token_id", "forced_bos_token_id")
        }
        if found["decoder_start_token_id"] is None:
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

    def score(self, items: Sequence[Tokens], way: str) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the log-likelihood of each continuation of each item; each prompt is encoded once."""
        order = sorted(range(len(items)), key=lambda place: len(items[place].prompt))
        if way == ONE_BY_ONE:
            alone = ((items[place], choice) for place in order for choice in items[place].choices)
            groups = [[dataclasses.replace(item, choices=[choice])] for item, choice in alone]
        else:
            sized = itertools.groupby(
                (items[place] for place in order), key=lambda item: len(item.prompt)
            )
            groups = [[*group] for _, group in sized]
        scored = torch.cat([self._read(group) for group in groups])
        ends = np.cumsum([len(items[place].choices) for place in order])[:-1]

        def rows(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            found = dict(zip(order, np.split(values, ends), strict=True))
            return [found[place] for place in range(len(items))]

        return read_later(rows, scored)

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
        prompts = send_array(np.array([item.prompt for item in items], dtype=np.int64), device)
        mask = torch.ones_like(prompts)
        owners = send_array(
            np.repeat(np.arange(len(items)), [len(item.choices) for item in items]), device
        )
        if hasattr(
            self.model, "active_peft_config"
        ):  # prompt tuning puts tokens before those that the encoder reads
            read = {"input_ids": prompts[owners]}
        else:
            encoded = self.model.get_encoder()(input_ids=prompts, attention_mask=mask)
            read = {
                "encoder_outputs": dataclasses.replace(
                    encoded, last_hidden_state=encoded[0][owners]
                )
            }
        logits = self.model(
            **read,
            attention_mask=mask[owners],
            decoder_input_ids=send_array(before, device),
            use_cache=False,
        ).logits.float()
        logs = logits.gather(2, send_array(wanted, device)[..., None])[..., 0] - logits.logsumexp(
            dim=2
        )
        # Of padding nothing is taken, whatever it scores.
        return torch.where(send_array(real, device) > 0, logs.double(), 0.0).sum(1)


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
    ASKED: ClassVar[frozenset[Ability]] = frozenset({"likelihoods", "next_words", "processes"})
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

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Answer the items of a trial in a way; of each choice, whose tokens are read one by one, the first few."""
        short = [
            dataclasses.replace(item, choices=[choice[:_FEW] for choice in item.choices])
            for item in items
        ]
        return super().answers(short, way)

    def score(self, items: Sequence[Tokens], way: str) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the pseudo-log-likelihood of each continuation of each item."""
        (front, behind), device = self._around, self.model.device
        rows: list[
            tuple[list[int], int, int, int]
        ] = []  # tokens, place of the mask, the token there, continuation
        choices = [(item, choice) for item in items for choice in item.choices]
        for owner, (item, choice) in enumerate(choices):
            whole, first = [*front, *item.prompt, *choice, *behind], len(front) + len(item.prompt)
            for place, token in enumerate(choice, first):
                rows.append(
                    (
                        [*whole[:place], self.tokenizer.mask_token_id, *whole[place + 1 :]],
                        place,
                        token,
                        owner,
                    )
                )
        rows.sort(key=lambda row: len(row[0]))
        parts = []
        for size, group in itertools.groupby(rows, key=lambda row: len(row[0])):
            row_list, step = [*group], 1 if way == ONE_BY_ONE else max(1, _AT_ONCE // size)
            for block in (
                row_list[start : start + step] for start in range(0, len(row_list), step)
            ):
                tokens = send_array(np.array([row[0] for row in block], dtype=np.int64), device)
                places, wanted = (
                    send_array(np.array([row[n] for row in block]), device) for n in (1, 2)
                )
                logits = self.model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits
                logits = logits[torch.arange(len(block), device=device), places].float()
                parts.append(
                    (logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(dim=1)).double()
                )
        ends = np.cumsum([len(item.choices) for item in items])[:-1]

        def summed(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            owners = np.array([row[3] for row in rows])
            return np.split(np.bincount(owners, values, len(choices)), ends)

        return read_later(summed, torch.cat(parts))

    def try_out(self) -> None:
        """Try it on a few short sequences; without a mask token it cannot be asked."""
        if self.tokenizer.mask_token_id is None:
            raise ValueError(
                f"Expected a mask token in the tokenizer of {self.name}, but it has none."
            )
        super().try_out()


LANGUAGE_MODELS: Mapping[str, type[CausalLM]] = {
    "causal": CausalLM,
    "encoder-decoder": EncoderDecoder,
    "masked": MaskedLM,
}
"""The kinds of models that are asked through a prompt."""


def load_chooser(
    name_or_path: str | os.PathLike[str], *, method: str | None = None, **how: Unpack[HowToOpen]
) -> Classifier | Prompted:
    """Open a model that can choose: a multiple-choice model or a language model, whichever it is.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        method: How a language model scores choices, as `bare` says; None is "mean", and a head has no other.
        **how: `revision`, `device` and `dtype`, as `HowToOpen` says.

    Returns:
        A `Classifier` without classes, or a language model that is asked prompts as they are.

    Raises:
        TypeError: If the name is neither text nor path.
        ValueError: If there is no such model, or it is neither of the two, or it has no such method.
    """
    kind = kind_of_model(name_or_path, how.get("revision"))
    if kind != "choice" and kind not in LANGUAGE_MODELS:
        raise ValueError(
            f"Expected {os.fspath(name_or_path)} to be a multiple-choice model or a language model, but it is {kind}: "
            "fine-tune it as a multiple-choice model first."
        )
    if kind in LANGUAGE_MODELS:
        return bare(open_language_model(LANGUAGE_MODELS[kind], name_or_path, how), method or "mean")
    if method is not None:
        raise ValueError(
            f"Expected no `method` of the multiple-choice model {name_or_path}, but got {method!r}."
        )
    return load_multiple_choice(name_or_path, **how)


def load_language_model(name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]) -> CausalLM:
    """Load a language model of any kind, as `load_causal` does a causal one."""
    kind = LANGUAGE_MODELS.get(kind_of_model(name_or_path, how.get("revision")), CausalLM)
    return open_language_model(kind, name_or_path, how)


def kind_of_model(
    model: str | os.PathLike[str] | torch.nn.Module, revision: str | None = None
) -> str:
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
        inner = getattr(
            model, "get_base_model", lambda: model
        )()  # what an adapter of peft is put on
        config, built = getattr(model, "config", None), [type(inner).__name__]
    elif gguf_path(model):
        return "causal"
    else:
        name = check_model(model)
        adapter = find_adapter(name, revision)
        with quiet():
            try:
                where, of = (
                    (name, revision) if adapter is None else (adapter.base, adapter.revision)
                )
                config = transformers.AutoConfig.from_pretrained(
                    where, revision=of, trust_remote_code=False
                )
            except (OSError, ValueError, KeyError) as error:
                raise own_code(error, name) or ValueError(
                    f"Expected {name} to be a multiple-choice model or a language model, but its configuration cannot "
                    f"be read ({get_first_line(error)})."
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
