"""A language model in this process as an engine: it answers requests by likelihood or in generated words."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, compute_offsets
from rightreasons.core.errors import OptionError, get_first_line
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.replies import Reply, find_thinking_marks
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import digest_arrays
from rightreasons.core.validation import check_count
from rightreasons.models.batching import length_batches
from rightreasons.models.fingerprints import (
    fingerprint_model,
    fingerprint_texts,
    fingerprint_tokenizer,
)
from rightreasons.models.likelihoods import (
    LanguageModel,
    Tokens,
    scored_continuations,
    tokenize_continuations,
)
from rightreasons.models.protocol import (
    BRIEF,
    LONG,
    Ability,
    Answers,
    Generation,
    Likelihoods,
    Message,
    Request,
)
from rightreasons.models.running import Column, run_model
from rightreasons.models.trial import (
    ONE_BY_ONE,
    TRIALS,
    Way,
    check_tokens,
    fastest_way,
    ordinary_tokens,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep

_MAX_TOKENS = 8192
# Tokens that a trial generates.
_TRIED = 2


class LocalEngine:
    """A language model of transformers that answers requests.

    Args:
        scorer: From `load_causal` or `load_language_model`.
        thinking: "on" or "off" turns thinking on or off in a chat template that can; "auto" (default) and a number of
            tokens leave it to the template.
        max_tokens: Maximum tokens per padded batch of likelihoods; a single item may exceed it. If None, what suits
            the device.

    Attributes:
        abilities: What its model can do, and words.
        model: The model of transformers.
        tokenizer: Its tokenizer.
        has_template: Whether the tokenizer has a chat template.
    """

    def __init__(
        self, scorer: LanguageModel, thinking: str = "auto", *, max_tokens: int | None = None
    ) -> None:
        self.scorer = scorer
        self._thinking = {"on": True, "off": False}.get(thinking)
        self._most = int(thinking) if thinking.isdecimal() else 0
        self.name, self.model, self.tokenizer = scorer.name, scorer.model, scorer.tokenizer
        self.abilities: frozenset[Ability] = scorer.ASKED  # what its model can do, and words
        self._template = getattr(self.tokenizer, "chat_template", None)
        self.has_template = self._template is not None
        self._max_tokens = max_tokens
        if max_tokens is not None:
            check_count(max_tokens, "max_tokens")

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the weights, the tokenizer and the chat template."""
        template = f"{self._template}{'' if self._thinking is None else self._thinking}"
        parts = (fingerprint_model(self.model), fingerprint_tokenizer(self.tokenizer), template)
        return hashlib.blake2b(
            "|".join(parts).encode("utf-8", "surrogatepass"), digest_size=16
        ).hexdigest()

    @functools.cached_property
    def thinks(self) -> bool:
        """Whether its chat template lets it think: it begins a thought, or knows `enable_thinking` and is not told no.

        Raises:
            ValueError: If thinking is to be off and the template begins a thought all the same.
        """
        if not self.has_template:
            return False
        begins = self._opened(Request("", ({"role": "user", "content": "Hello?"},)), Generation())
        if begins and self._thinking is False:
            raise OptionError(
                f"Expected a chat template that can leave thinking out where `thinking` is 'off', but that of "
                f"{self.name} begins a thought: leave it on.",
                option="thinking",
            )
        return begins or (self._thinking is not False and "enable_thinking" in str(self._template))

    @property
    def budget(self) -> int:
        """Tokens of an answer: those of thinking among them."""
        room = max(
            BRIEF, self.scorer.max_length // 2
        )  # the question needs some of what the model reads
        return min((self._most or LONG) + BRIEF, room) if self.thinks else BRIEF

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return the text that the model reads, its chat template applied.

        Raises:
            ValueError: If there is no chat template, or it refuses the turns.
        """
        if isinstance(prompt, str):
            return prompt
        if not self.has_template:
            raise ValueError(
                f"Expected a model with a chat template, but {self.name} has none: ask it without a chat."
            )
        continued = prompt[-1]["role"] == "assistant"
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    [dict(turn) for turn in prompt],
                    tokenize=False,
                    add_generation_prompt=not continued,
                    continue_final_message=continued,
                    **({} if self._thinking is None else {"enable_thinking": self._thinking}),
                )
            )
        except Exception as error:
            roles = ", ".join(turn["role"] for turn in prompt)
            raise ValueError(
                f"Expected a chat template that takes the turns {roles}, but that of {self.name} fails: "
                f"{get_first_line(error)}"
            ) from error

    def likelihoods(self, requests: Sequence[Request], **how: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-likelihoods of the continuations of each request.

        A request fails where a continuation has no tokens, or more than the model reads, or a score is not finite.

        Raises:
            ValueError: If every request fails.
        """
        reasons: dict[int, str] = {}
        tokenized = self.tokens(requests, failures=reasons)
        return self._scored(requests, tokenized, reasons, kind="answers by likelihood", **how)

    def next_words(self, requests: Sequence[Request], **how: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-probability of the first token of each continuation; requests fail as with `likelihoods`.

        Raises:
            ValueError: If two continuations of a request begin with the same token, or every request fails.
        """
        reasons: dict[int, str] = {}
        tokenized = self.tokens(requests, failures=reasons)
        for request, parts in zip(requests, tokenized, strict=True):
            seen: dict[int, str] = {}
            for part in parts:
                for place, tokens in zip(part.places, part.choices, strict=True):
                    text = request.continuations[place]
                    if text != seen.setdefault(tokens[0], text):
                        raise ValueError(
                            f"Expected answers that begin with different tokens where the next word is scored, but "
                            f"{seen[tokens[0]].strip()!r} and {text.strip()!r} both begin with "
                            f"{self.tokenizer.decode([tokens[0]])!r}: take other words, or the scoring sum."
                        )
        first = [
            [
                Tokens(
                    p.name, p.prompt, [[tokens[0]] for tokens in p.choices], p.places, p.truncated
                )
                for p in parts
            ]
            for parts in tokenized
        ]
        return self._scored(requests, first, reasons, kind="answers by their first token", **how)

    @accept_options_as_keywords(Generation)
    def generate(
        self,
        requests: Sequence[Request],
        *,
        options: Generation,
        progress: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> Answers:
        """Return generated answers to each request.

        What is drawn depends on (seed, name of the request, number of the answer) and the model alone: not on the other
        requests, nor on their order. The model's own settings of generation, such as penalties, are not taken. A
        request fails where its prompt cannot be asked, such as an empty one of a model without a start token.

        Args:
            requests: The requests.
            options: How they are generated, or the fields of `Generation` by keyword.
            progress: Whether to show a progress bar.
            out: A folder for the results; a killed run resumes.

        Raises:
            ValueError: If a number is out of range, every request fails, or the model does.
        """
        n, max_new_tokens = options.n, options.max_new_tokens
        room = self.scorer.room(self.scorer.max_length, max_new_tokens + 1)
        if room < 1:
            raise OptionError(
                f"Expected `max_new_tokens` below {self.scorer.max_length}, which {self.name} reads, but got "
                f"{max_new_tokens}.",
                option="max_new_tokens",
            )
        # Any continuation will do: what is taken are the tokens before it, uncut.
        heads = [Request(request.name, request.prompt, (" a",)) for request in requests]
        reasons: dict[int, str] = {}
        tokenized = self.tokens(heads, max_length=1 << 30, failures=reasons)
        able = [place for place in range(len(requests)) if place not in reasons]
        whole = [tokenized[place][0].prompt for place in able]
        prompts = [tokens[-room:] for tokens in whole]
        check_tokens(self.model, self.name, max(max(tokens) for tokens in prompts))
        way = _generation_way(self.scorer, max(map(len, prompts)), room)
        lengths = np.array([len(tokens) for tokens in prompts])
        copies = np.repeat(np.arange(len(prompts)), n)
        names = [f"{requests[place].name}#{copy}" for place in able for copy in range(n)]
        size = 1 if way.name == ONE_BY_ONE else 64
        batches = length_batches(
            lengths[copies] + max_new_tokens, batch_size=size, max_tokens=_MAX_TOKENS
        )

        @torch.inference_mode()
        def answer(batch: NDArray[np.int64]) -> dict[str, Column]:
            keys = [noise_key(options.seed, names[item]) for item in batch]
            rows = _generated(self.scorer, [prompts[copies[item]] for item in batch], options, keys)
            return {"tokens": Ragged.of(np.concatenate(rows), [len(row) for row in rows])}

        columns = run_model(
            self.model,
            answer,
            batches,
            kind="generated answers",
            inputs=lambda: {
                "ids": fingerprint_texts(names),
                "texts": digest_arrays({"tokens": np.concatenate(prompts), "lengths": lengths}),
                "options": {
                    name: value for name, value in options.to_dict().items() if name != "n"
                },
            },
            progress=progress,
            out=out,
        )
        rows = [row.astype(np.int64) for row in columns.ragged("tokens")]
        answered: list[list[Reply]] = [[] for _ in requests]
        for start, place in enumerate(able):
            opened = self._opened(requests[place], options)
            answered[place] = [
                self._reply(row, len(whole[start]), options, opened)
                for row in rows[start * n : (start + 1) * n]
            ]
        return Answers(
            answered,
            {requests[place].name: reason for place, reason in reasons.items()},
            truncated=sum(len(tokens) > room for tokens in whole),
            way=str(way),
        )

    def _opened(self, request: Request, options: Generation) -> bool:
        """Tell whether thinking begins in the prompt, as the chat templates of some models have it."""
        end = self.render(request.prompt).rstrip()
        return any(
            close and mark.end() == len(end)
            for mark, close in find_thinking_marks(end, options.tags)
        )

    def _reply(self, row: NDArray[np.int64], size: int, options: Generation, opened: bool) -> Reply:
        ended = len(row) < options.max_new_tokens or int(row[-1]) in _end_tokens(self.scorer)
        special = [token for token in self.tokenizer.all_special_tokens if token]
        raw = self.tokenizer.decode(row, skip_special_tokens=False)
        shown = any(
            token in mark[0]
            for mark, _ in find_thinking_marks(raw, options.tags)
            for token in special
        )
        # Tags that are special tokens are read before these are left out.
        text = raw if shown else self.tokenizer.decode(row, skip_special_tokens=True)
        cut = _before(text, options.stop)
        usage = {"prompt_tokens": size, "answer_tokens": len(row)}
        finish = "stop" if ended or cut != text else "length"
        reply = Reply.parse(cut, finish=finish, usage=usage, tags=options.tags, opened=opened)
        if not shown:
            return reply
        bare = re.compile("|".join(map(re.escape, special)))
        return dataclasses.replace(
            reply, text=bare.sub("", reply.text).strip(), thinking=bare.sub("", reply.thinking)
        )

    def tokens(
        self,
        requests: Sequence[Request],
        *,
        max_length: int | None = None,
        failures: dict[int, str] | None = None,
    ) -> list[list[Tokens]]:
        """Return the tokens of requests, all of a chat, which has all of its special tokens, or none.

        Args:
            requests: The requests.
            max_length: Maximum tokens of each; None takes what the model reads.
            failures: Takes the reasons why requests cannot be asked, by their positions; None raises the first.
        """
        return tokenize_continuations(
            self.scorer,
            [request.name for request in requests],
            [self.render(request.prompt) for request in requests],
            [request.continuations for request in requests],
            max_length=max_length,
            bare=any(not isinstance(request.prompt, str) for request in requests),
            failures=failures,
        )

    def _scored(
        self,
        requests: Sequence[Request],
        items: Sequence[Sequence[Tokens]],
        reasons: Mapping[int, str],
        **options: Any,
    ) -> Likelihoods:
        """Score tokenized requests; those without tokens fail for their reasons."""
        parts = list(itertools.chain.from_iterable(items))
        check_tokens(
            self.model, self.name, max(max(*part.prompt, *map(max, part.choices)) for part in parts)
        )
        columns, way = scored_continuations(
            self.scorer, parts, max_tokens=self._max_tokens, fail_fast=False, **options
        )
        owners = np.repeat(np.arange(len(items)), [len(group) for group in items])
        failed = {**columns.whole(owners)[1], **reasons}
        counts = [len(request.continuations) for request in requests]
        first = compute_offsets(counts)
        values, lengths = np.full(int(first[-1]), np.nan), np.ones(int(first[-1]))
        places = [
            start + np.array(part.places) for start, part in zip(first[owners], parts, strict=True)
        ]
        for place, part in zip(places, parts, strict=True):
            lengths[place] = [len(choice) for choice in part.choices]
        for number, row in zip(
            columns.positions.tolist(), columns.ragged("likelihood"), strict=True
        ):
            values[places[number]] = row
        return Likelihoods(
            Ragged.of(values, counts),
            Ragged.of(lengths, counts),
            {requests[place].name: reason for place, reason in sorted(failed.items())},
            truncated=sum(any(part.truncated for part in group) for group in items),
            way=way,
        )


def noise_key(seed: int, name: str) -> int:
    """Return the key of the noise of an answer, which depends only on the seed and the answer's name."""
    return int(item_rng(seed, name).integers(1 << 63))


def _generation_way(scorer: LanguageModel, longest: int, bound: int) -> Way:
    """Return how prompts are batched where answers are generated: left-padded where a trial finds that exact."""

    def find(reach: int) -> Way:
        draw = np.random.default_rng(0)
        words = ordinary_tokens(scorer.model, scorer.tokenizer)
        reach = max(1, min(reach, bound))
        sizes = sorted(
            {reach, max(1, reach // 2), max(1, reach // 3), min(3, reach), 1}, reverse=True
        )
        prompts = [draw.choice(words, size).tolist() for size in sizes]

        def ask(places: Sequence[int]) -> list[NDArray[np.float64]]:
            return _scores(scorer, [prompts[place] for place in places])

        every = range(len(prompts))
        return fastest_way(
            scorer.model,
            scorer.name,
            lambda: [row for place in every for row in ask([place])],
            {"left padding": lambda: ask(every)},
            longest=reach,
            again=lambda: ask([0]),
        )

    return TRIALS.way(
        scorer.model, "generated answers", min(longest, bound), find, scorer.tokenizer
    )


def _scores(scorer: LanguageModel, prompts: Sequence[list[int]]) -> list[NDArray[np.float64]]:
    """Return the log-probabilities of every token at the first steps after each prompt."""
    with _bare_settings(scorer, _TRIED) as settings:
        settings.eos_token_id, settings.output_logits, settings.return_dict_in_generate = (
            None,
            True,
            True,
        )
        made = scorer.model.generate(**_padded(scorer, prompts), generation_config=settings)
    table = (
        torch.stack([step.double().log_softmax(-1) for step in made.logits], dim=1).cpu().numpy()
    )
    return list(table)


def _generated(
    scorer: LanguageModel,
    prompts: Sequence[list[int]],
    options: Generation,
    keys: Sequence[int],
) -> list[NDArray[np.float64]]:
    """Return the new tokens of each prompt, the one that ends them included."""
    inputs = _padded(scorer, prompts)
    size = 1 if scorer.opening else inputs["input_ids"].shape[1]  # the tokens before an answer
    drawn = [_Drawn(keys, options.temperature, options.top_p)] if options.temperature > 0 else []
    ended = [_Stop(scorer.tokenizer, options.stop, size)] if options.stop else []
    try:
        with _bare_settings(scorer, options.max_new_tokens) as settings:
            made = scorer.model.generate(
                **inputs,
                generation_config=settings,
                logits_processor=transformers.LogitsProcessorList(drawn),
                stopping_criteria=transformers.StoppingCriteriaList(ended),
            )
    except (RuntimeError, IndexError) as error:
        raise ValueError(
            f"Expected a model that can answer every item, but {scorer.name} fails: {get_first_line(error)}"
        ) from error
    ends = set(_end_tokens(scorer))
    rows = []
    for row in made[:, size:].cpu().numpy():
        end = next(
            (place + 1 for place, token in enumerate(row.tolist()) if token in ends), len(row)
        )
        rows.append(row[:end].astype(np.float64))
    return rows


class _Drawn(transformers.LogitsProcessor):  # type: ignore[misc]
    """Draws tokens: the largest of log-probabilities and Gumbel noise is a draw by the probabilities.

    Args:
        keys: n whole numbers, one for each answer, which decide its noise.
        temperature: What the logits are divided by.
        top_p: Share of the probability that the likeliest tokens which are drawn from have.
    """

    def __init__(self, keys: Sequence[int], temperature: float, top_p: float) -> None:
        self._keys = torch.tensor(keys, dtype=torch.int64)
        self._temperature = temperature
        self._warp = None
        # The warper sorts the vocabulary, for nothing if all tokens are drawn from.
        if top_p < 1:
            self._warp = transformers.TopPLogitsWarper(top_p)
        self._step = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        noise = gumbel_noise(self._keys.to(scores.device), self._step, scores.shape[1])
        self._step += 1
        scaled = scores.double() / self._temperature
        if self._warp is not None:
            scaled = self._warp(input_ids, scaled)
        return scaled + noise


def gumbel_noise(keys: torch.Tensor, step: int, size: int) -> torch.Tensor:
    """Return (n, size) Gumbel noise that depends only on its key, the step and its column, on any device.

    Each number is its own counter, mixed by the finalizer of SplitMix64 (Steele, Lea & Flood 2014, "Fast Splittable
    Pseudorandom Number Generators", OOPSLA), so that no state is kept and nothing is copied from the CPU.

    Args:
        keys: (n,) int64 keys.
        step: Number of the step, from 0.
        size: Numbers of each key.
    """
    counters = torch.arange(step * size + 1, (step + 1) * size + 1, device=keys.device)
    state = _mix(keys)[:, None] + counters * _GOLDEN_GAMMA
    # 53 bits and a half, so that no number is 0 or 1, whose logarithms are infinite.
    uniform = (_shift(_mix(state), 11).double() + 0.5) * 2.0**-53
    return -(-uniform.log()).log()


# Odd constants of SplitMix64 as signed numbers, whose products wrap around as those of unsigned ones do.
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST_FACTOR = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND_FACTOR = 0x94D049BB133111EB - (1 << 64)


def _mix(state: torch.Tensor) -> torch.Tensor:
    """Return 64 bits that change about half of theirs with each bit of the state."""
    state = (state ^ _shift(state, 30)) * _FIRST_FACTOR
    state = (state ^ _shift(state, 27)) * _SECOND_FACTOR
    return state ^ _shift(state, 31)


def _shift(state: torch.Tensor, n_bits: int) -> torch.Tensor:
    """Shift signed numbers to the right as unsigned ones, zeros from the left."""
    return (state >> n_bits) & ((1 << (64 - n_bits)) - 1)


class _Stop(transformers.StoppingCriteria):  # type: ignore[misc]
    """Ends an answer in which one of some texts occurs.

    Args:
        tokenizer: Tokenizer of the model.
        stop: The texts.
        size: Tokens before each answer.
    """

    def __init__(self, tokenizer: Any, stop: tuple[str, ...], size: int) -> None:
        self._tokenizer = tokenizer
        self._stop = stop
        self._size = size
        # Earlier steps have looked at all before the last token. A text has at most a token for each of its bytes; the
        # others are for a first token that is decoded in another way, and for special tokens, which are left out.
        self._window = max(len(text.encode("utf-8")) for text in stop) + 8

    def __call__(self, input_ids: torch.Tensor, scores: Any, **options: Any) -> Any:
        answers = input_ids[:, self._size :][:, -self._window :]
        texts = self._tokenizer.batch_decode(answers, skip_special_tokens=True)
        ended = [any(mark in text for mark in self._stop) for text in texts]
        return torch.tensor(ended, device=input_ids.device)


def _padded(scorer: LanguageModel, prompts: Sequence[list[int]]) -> dict[str, torch.Tensor]:
    """Return prompts as tokens padded on the left."""
    size = max(map(len, prompts))
    tokens = np.full((len(prompts), size), _pad_token(scorer), dtype=np.int64)
    mask = np.zeros_like(tokens)
    for row, prompt in enumerate(prompts):
        tokens[row, size - len(prompt) :], mask[row, size - len(prompt) :] = prompt, 1
    device = scorer.model.device
    return {
        "input_ids": torch.from_numpy(tokens).to(device),
        "attention_mask": torch.from_numpy(mask).to(device),
    }


def _pad_token(scorer: LanguageModel) -> int:
    return next(
        (int(t) for t in (scorer.tokenizer.pad_token_id, *_end_tokens(scorer)) if t is not None), 0
    )


def _end_tokens(scorer: LanguageModel) -> list[int]:
    """Return the tokens that end an answer: the model's and the tokenizer's."""
    ends = getattr(getattr(scorer.model, "generation_config", None), "eos_token_id", None)
    tokens = ends if isinstance(ends, list) else [ends]
    return sorted(
        {int(token) for token in (*tokens, scorer.tokenizer.eos_token_id) if token is not None}
    )


@contextmanager
def _bare_settings(scorer: LanguageModel, max_new_tokens: int) -> Iterator[Any]:
    """Yield settings that take the likeliest token; the model's own, which fill gaps, are away meanwhile."""
    model = scorer.model
    ends = _end_tokens(scorer) or None
    settings = transformers.GenerationConfig(
        max_new_tokens=max_new_tokens,
        do_sample=False,
        eos_token_id=ends,
        pad_token_id=_pad_token(scorer),
        **scorer.opening,
    )
    before = model.generation_config
    model.generation_config = transformers.GenerationConfig()
    try:
        yield settings
    finally:
        model.generation_config = before


def _before(text: str, stop: Sequence[str]) -> str:
    """Return a text up to the first of some marks."""
    return text[: min((text.find(mark) for mark in stop if mark in text), default=len(text))]
