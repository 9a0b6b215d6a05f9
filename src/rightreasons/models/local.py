"""A language model in this process as an engine that answers requests: `LocalEngine`.

Continuations are scored by `score_continuations`, and answers are written by `generate_tokens`.
The engine turns requests into tokens for both, and their results into answers by request.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, compute_offsets
from rightreasons.core.errors import OptionError, get_first_line
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.replies import Reply, find_thinking_marks
from rightreasons.core.store import digest_arrays
from rightreasons.core.validation import check_count
from rightreasons.models.fingerprints import (
    fingerprint_model,
    fingerprint_texts,
    fingerprint_tokenizer,
)
from rightreasons.models.input_limits import check_tokens
from rightreasons.models.language.continuations import (
    LanguageModel,
    TokenizedItem,
    tokenize_continuations,
)
from rightreasons.models.language.generation import (
    find_generation_strategy,
    generate_tokens,
    get_noise_key,
    list_end_tokens,
    make_generation_batches,
)
from rightreasons.models.language.likelihood_runs import score_continuations, split_choices
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
from rightreasons.models.running import run_model
from rightreasons.models.runs.columns import Column, Columns
from rightreasons.models.trial import BatchingStrategy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep

# Longer than any prompt, for prompts that are truncated later.
_NO_BOUND = 1 << 30


@dataclasses.dataclass(frozen=True, eq=False)
class _Prompts:
    """The tokenized prompts of the requests that answers can be generated to.

    Attributes:
        request_indices: Index of the request of each prompt.
        tokens: Tokens of each prompt, truncated at its beginning.
        n_tokens: Number of tokens of each prompt before it was truncated.
        failures: Index of any other request -> the reason why it cannot be tokenized.
    """

    request_indices: list[int]
    tokens: list[list[int]]
    n_tokens: list[int]
    failures: Mapping[int, str]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) number of tokens of each truncated prompt."""
        return np.array(list(map(len, self.tokens)))


class LocalEngine:
    """A language model of transformers in this process that answers requests.

    Args:
        scorer: From `load_causal` or `load_language_model`.
        thinking: "on" or "off" if the chat template has an option for it; "auto" (default) for the
            default of the template; or the maximum number of tokens of thinking, such as "2048".
        max_tokens: Maximum number of tokens per padded batch of likelihoods; a single item may
            exceed it. If None, it depends on the device.

    Attributes:
        abilities: Abilities of the model.
        model: The model of transformers.
        tokenizer: Its tokenizer.
        has_template: Whether the tokenizer has a chat template.
    """

    def __init__(
        self, scorer: LanguageModel, thinking: str = "auto", *, max_tokens: int | None = None
    ) -> None:
        """Read the option of thinking, and find the chat template. The model is not used yet."""
        self.scorer = scorer
        self.name = scorer.name
        self.model = scorer.model
        self.tokenizer = scorer.tokenizer
        self.abilities: frozenset[Ability] = scorer.ABILITIES
        # None leaves it to the chat template.
        self._thinking = {"on": True, "off": False}.get(thinking)
        self._n_thinking_tokens = int(thinking) if thinking.isdecimal() else 0
        self._template = getattr(self.tokenizer, "chat_template", None)
        self.has_template = self._template is not None
        self._max_tokens = max_tokens
        if max_tokens is not None:
            check_count(max_tokens, "max_tokens")

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of the weights, the tokenizer, the chat template and the option of thinking."""
        thinking = "" if self._thinking is None else str(self._thinking)
        # Answers depend on the template as well as on the weights.
        parts = [
            fingerprint_model(self.model),
            fingerprint_tokenizer(self.tokenizer),
            f"{self._template}{thinking}",
        ]
        text = "|".join(parts)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @functools.cached_property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers a conversation, by its chat template.

        It thinks if the template begins a thought, or has the option `enable_thinking` and thinking
        is not turned off.

        Raises:
            OptionError: If thinking is turned off, but the template begins a thought nevertheless.
        """
        if not self.has_template:
            return False
        greeting = Request("", ({"role": "user", "content": "Hello?"},))
        begins_thought = self._begins_thought(greeting, Generation())
        if begins_thought and self._thinking is False:
            raise OptionError(
                "Expected a chat template that can disable thinking for `thinking` 'off', but "
                f"the template of {self.name} always begins with thinking. Set `thinking` to "
                "'on'.",
                option="thinking",
            )
        if begins_thought:
            return True
        return self._thinking is not False and "enable_thinking" in str(self._template)

    @property
    def budget(self) -> int:
        """Maximum tokens of an answer to a conversation, including those of thinking."""
        if not self.thinks:
            return BRIEF
        # The prompt and the answer share what the model reads, so that half is left to the prompt.
        max_budget = max(BRIEF, self.scorer.max_length // 2)
        return min((self._n_thinking_tokens or LONG) + BRIEF, max_budget)

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return the text that the model reads for a prompt.

        Args:
            prompt: A text, which is returned unchanged; or the turns of a conversation, to which
                the chat template of the model is applied.

        Raises:
            ValueError: If there is no chat template, or it refuses the turns.
        """
        if isinstance(prompt, str):
            return prompt
        if not self.has_template:
            raise ValueError(
                f"Expected a model with a chat template, but {self.name} has none. Pass the "
                "prompt as text instead of a chat."
            )
        # If the last turn is that of the assistant, the model continues it.
        is_continued = prompt[-1]["role"] == "assistant"
        options = {}
        if self._thinking is not None:
            options["enable_thinking"] = self._thinking
        try:
            text = self.tokenizer.apply_chat_template(
                [dict(turn) for turn in prompt],
                tokenize=False,
                add_generation_prompt=not is_continued,
                continue_final_message=is_continued,
                **options,
            )
        except Exception as error:
            # Templates are programs of their authors, and raise errors of any type.
            roles = ", ".join(turn["role"] for turn in prompt)
            raise ValueError(
                f"Expected a chat template that accepts the turns {roles}, but the template of "
                f"{self.name} fails: {get_first_line(error)}"
            ) from error
        return str(text)

    def likelihoods(self, requests: Sequence[Request], **options: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-likelihoods of the continuations of each request.

        A request fails if a continuation has no tokens or is too long for the model, or if a score
        is not finite.

        Args:
            requests: N requests with continuations.
            **options: Options of `HowToKeep`.

        Raises:
            ValueError: If every request fails.
        """
        reasons: dict[int, str] = {}
        items = self.tokenize(requests, failures=reasons)
        return self._score(requests, items, reasons, kind="answers by likelihood", **options)

    def next_words(self, requests: Sequence[Request], **options: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-probability of the first token of each continuation.

        A request fails if a continuation has no tokens or is too long for the model, or if a score
        is not finite.

        Args:
            requests: N requests with continuations.
            **options: Options of `HowToKeep`.

        Raises:
            ValueError: If two continuations of a request begin with the same token, or every
                request fails.
        """
        reasons: dict[int, str] = {}
        items = self.tokenize(requests, failures=reasons)
        # The same requests, with each continuation reduced to its first token.
        short_items: list[list[TokenizedItem]] = []
        for request, request_items in zip(requests, items, strict=True):
            # Continuations with the same first token would have the same score.
            self._check_first_tokens(request, request_items)
            shortened = []
            for item in request_items:
                choices = [choice[:1] for choice in item.choices]
                shortened.append(dataclasses.replace(item, choices=choices))
            short_items.append(shortened)
        return self._score(
            requests, short_items, reasons, kind="answers by their first token", **options
        )

    def _check_first_tokens(self, request: Request, items: Sequence[TokenizedItem]) -> None:
        """Check that different continuations of a request begin with different tokens.

        Args:
            request: The request.
            items: Its continuations as tokens. There are several items if the prompt is truncated
                to different lengths for the continuations.

        Raises:
            ValueError: If two continuations begin with the same token.
        """
        text_by_token: dict[int, str] = {}
        for item in items:
            for choice_index, choice in zip(item.choice_indices, item.choices, strict=True):
                first_token = choice[0]
                text = request.continuations[choice_index]
                # Text of the first continuation that begins with the token.
                earlier_text = text_by_token.setdefault(first_token, text)
                if text != earlier_text:
                    raise ValueError(
                        "Expected answers with different first tokens for scoring by the next "
                        f"word, but {earlier_text.strip()!r} and {text.strip()!r} both begin with "
                        f"{self.tokenizer.decode([first_token])!r}. Use other words, or set `scoring` "
                        "to 'sum'."
                    )

    @accept_options_as_keywords(Generation)
    def generate(
        self,
        requests: Sequence[Request],
        *,
        options: Generation,
        progress: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> Answers:
        """Generate answers to each request.

        A sampled answer depends on the seed, the name of its request, its number, and the model
        only; neither the other requests nor their order affect it. Settings of generation that the
        model brings, such as penalties, are not used. A request fails if its prompt cannot be
        tokenized, such as an empty prompt for a model without a start token.

        Args:
            requests: The requests.
            options: Options of the generation. Its fields can be given as keywords instead.
            progress: Whether to show a progress bar.
            out: A folder for the results, from which an interrupted run resumes.

        Raises:
            ValueError: If an option is out of range, every request fails, or the model fails.
        """
        # The prompt gets the length that the new tokens leave.
        max_length = self.scorer.get_max_prompt_length(
            self.scorer.max_length, options.max_new_tokens + 1
        )
        if max_length < 1:
            raise OptionError(
                f"Expected `max_new_tokens` below {self.scorer.max_length}, the length limit of "
                f"{self.name}, but got {options.max_new_tokens}.",
                option="max_new_tokens",
            )
        prompts = self._tokenize_prompts(requests, max_length)
        strategy = find_generation_strategy(self.scorer, int(prompts.lengths.max()), max_length)
        names = []
        for request_index in prompts.request_indices:
            for number in range(options.n):
                names.append(f"{requests[request_index].name}#{number}")
        columns = self._generate_rows(prompts, names, options, strategy, progress=progress, out=out)

        # Requests that failed keep an empty list. Each other one has `options.n` adjacent rows.
        replies: list[list[Reply]] = [[] for _ in requests]
        rows = iter(columns.ragged("tokens"))
        for request_index, n_tokens in zip(prompts.request_indices, prompts.n_tokens, strict=True):
            begins_thought = self._begins_thought(requests[request_index], options)
            for row in itertools.islice(rows, options.n):
                reply = self._parse_reply(
                    row.astype(np.int64), n_tokens, options, begins_thought=begins_thought
                )
                replies[request_index].append(reply)
        return Answers(
            replies,
            _name_failures(requests, prompts.failures),
            truncated=int((np.array(prompts.n_tokens) > max_length).sum()),
            way=str(strategy),
        )

    def _tokenize_prompts(self, requests: Sequence[Request], max_length: int) -> _Prompts:
        """Tokenize the prompts of requests, and truncate them at their beginning.

        Args:
            requests: The requests.
            max_length: Maximum number of tokens of a prompt.

        Raises:
            ValueError: If no prompt can be tokenized, or a token is unknown to the model.
        """
        # Prompts can only be tokenized together with a continuation. Any text will do, because its
        # tokens are not used.
        continued = [Request(request.name, request.prompt, (" a",)) for request in requests]
        reasons: dict[int, str] = {}
        items = self.tokenize(continued, max_length=_NO_BOUND, failures=reasons)
        request_indices = []
        prompts = []
        n_tokens = []
        for request_index, request_items in enumerate(items):
            if request_index in reasons:
                continue
            prompt = request_items[0].prompt
            request_indices.append(request_index)
            # The end of a prompt is kept, because it says what to write.
            prompts.append(prompt[-max_length:])
            n_tokens.append(len(prompt))
        check_tokens(self.model, self.name, max(map(max, prompts)))
        return _Prompts(request_indices, prompts, n_tokens, reasons)

    def _generate_rows(
        self,
        prompts: _Prompts,
        names: Sequence[str],
        options: Generation,
        strategy: BatchingStrategy,
        *,
        progress: bool,
        out: str | os.PathLike[str] | None,
    ) -> Columns:
        """Generate `options.n` answers to each prompt, in a run that can be resumed.

        Args:
            prompts: P prompts as tokens.
            names: P * n names of the answers, such as "item 7#0". The n answers to a prompt are
                adjacent.
            options: How answers are generated.
            strategy: How prompts are batched, from `find_generation_strategy`.
            progress: Whether to show a progress bar.
            out: Folder of the results. If None, they are not stored.

        Returns:
            The column `tokens`, with P * n rows of new tokens.
        """
        lengths = prompts.lengths
        # Index of the prompt of each answer.
        prompt_by_answer = np.repeat(np.arange(len(lengths)), options.n)

        @torch.inference_mode()
        def compute(batch: NDArray[np.int64]) -> dict[str, Column]:
            batch_prompts = []
            keys = []
            for answer_index in batch:
                batch_prompts.append(prompts.tokens[prompt_by_answer[answer_index]])
                # The noise depends on the name, so that an answer does not depend on its batch.
                keys.append(get_noise_key(options.seed, names[answer_index]))
            rows = generate_tokens(self.scorer, batch_prompts, options, keys)
            return {"tokens": Ragged.of(np.concatenate(rows), list(map(len, rows)))}

        def digest_inputs() -> dict[str, Any]:
            # The number of answers is left out, because more answers do not change the first ones.
            settings = dict(options.to_dict())
            settings.pop("n")
            columns = {"tokens": np.concatenate(prompts.tokens), "lengths": lengths}
            return {
                "ids": fingerprint_texts(names),
                "texts": digest_arrays(columns),
                "options": settings,
            }

        answer_lengths = lengths[prompt_by_answer] + options.max_new_tokens
        return run_model(
            self.model,
            compute,
            make_generation_batches(self.model, strategy, answer_lengths),
            kind="generated answers",
            inputs=digest_inputs,
            lengths=answer_lengths,
            progress=progress,
            out=out,
        )

    def _begins_thought(self, request: Request, options: Generation) -> bool:
        """Return whether the prompt of a request ends with a tag that opens a thought ("<think>").

        Some chat templates end in this tag, so that the answer begins inside a thought.

        Args:
            request: The request.
            options: Options of the generation, of which the thinking tags are used.
        """
        prompt = self.render(request.prompt).rstrip()
        for mark, closing_tag in find_thinking_marks(prompt, options.tags):
            # Only a tag that opens a thought has a closing tag.
            if closing_tag and mark.end() == len(prompt):
                return True
        return False

    def _parse_reply(
        self, row: NDArray[np.int64], n_prompt: int, options: Generation, *, begins_thought: bool
    ) -> Reply:
        """Decode the new tokens of an answer, and separate its text from its thinking.

        Args:
            row: The new tokens.
            n_prompt: Number of tokens of the prompt, for the usage of the reply.
            options: How the tokens were generated.
            begins_thought: Whether the prompt ends inside a thought.
        """
        # Some tokenizers have an empty special token, which would match everywhere.
        special_tokens = list(filter(None, self.tokenizer.all_special_tokens))
        text = self.tokenizer.decode(row, skip_special_tokens=False)
        # Thinking tags may be special tokens, and must not be removed before the reply is parsed.
        # In that case, special tokens are removed afterwards.
        marks = find_thinking_marks(text, options.tags)
        tags = "\n".join(mark[0] for mark, _ in marks)
        has_special_tags = any(token in tags for token in special_tokens)
        if not has_special_tags:
            text = self.tokenizer.decode(row, skip_special_tokens=True)

        answer = _cut_at_stop(text, options.stop)
        has_stopped = answer != text
        # An answer of the maximum length is complete only if it ends with an end token.
        is_short = len(row) < options.max_new_tokens
        is_complete = is_short or int(row[-1]) in list_end_tokens(self.scorer)
        reply = Reply.parse(
            answer,
            finish="stop" if is_complete or has_stopped else "length",
            usage={"prompt_tokens": n_prompt, "answer_tokens": len(row)},
            tags=options.tags,
            opened=begins_thought,
        )
        if not has_special_tags:
            return reply
        pattern = re.compile("|".join(map(re.escape, special_tokens)))
        return dataclasses.replace(
            reply,
            text=pattern.sub("", reply.text).strip(),
            thinking=pattern.sub("", reply.thinking),
        )

    def tokenize(
        self,
        requests: Sequence[Request],
        *,
        max_length: int | None = None,
        failures: dict[int, str] | None = None,
    ) -> list[list[TokenizedItem]]:
        """Tokenize requests, whose prompts are either all conversations or all plain texts.

        Args:
            requests: N requests.
            max_length: Maximum number of tokens of a prompt with a continuation. If None, the
                maximum of the model.
            failures: Dictionary to which index -> reason is added for each request that cannot be
                tokenized. If None, the first such request raises an error.

        Returns:
            N lists. A list has one `TokenizedItem`; several if a prompt is truncated to different
            lengths for its continuations; none if the request cannot be tokenized.
        """
        # A chat template writes all special tokens into the text of a conversation.
        is_chat = any(not isinstance(request.prompt, str) for request in requests)
        return tokenize_continuations(
            self.scorer,
            [request.name for request in requests],
            [self.render(request.prompt) for request in requests],
            [request.continuations for request in requests],
            max_length=max_length,
            bare=is_chat,
            failures=failures,
        )

    def _score(
        self,
        requests: Sequence[Request],
        items: Sequence[Sequence[TokenizedItem]],
        reasons: Mapping[int, str],
        **options: Any,
    ) -> Likelihoods:
        """Score the continuations of tokenized requests.

        Args:
            requests: N requests.
            items: N lists of their prompts and continuations as tokens; empty for requests that
                failed.
            reasons: Index of a request that failed -> the reason.
            **options: Options of `score_continuations`.

        Returns:
            N rows of log-likelihoods, NaN for requests that failed.
        """
        # A request with many continuations becomes several items.
        all_items: list[TokenizedItem] = []
        request_by_item: list[int] = []
        for request_index, request_items in enumerate(items):
            for item in request_items:
                split_items = split_choices(item, self.scorer.max_length)
                all_items += split_items
                request_by_item += [request_index] * len(split_items)
        self._check_items(all_items)
        columns, strategy = score_continuations(
            self.scorer, all_items, max_tokens=self._max_tokens, fail_fast=False, **options
        )
        # A request fails if one of its items does.
        _, new_reasons = columns.find_complete(np.array(request_by_item, dtype=np.int64))
        all_reasons = {**new_reasons, **reasons}

        # The continuations of request i are offsets[i]:offsets[i + 1] of the flat arrays.
        counts = [len(request.continuations) for request in requests]
        offsets = compute_offsets(counts)
        values = np.full(int(offsets[-1]), np.nan)
        lengths = np.ones(int(offsets[-1]))
        scored_rows = zip(columns.positions.tolist(), columns.ragged("likelihood"), strict=True)
        row_by_item = dict(scored_rows)
        for index, item in enumerate(all_items):
            positions = offsets[request_by_item[index]] + np.array(item.choice_indices)
            lengths[positions] = list(map(len, item.choices))
            # An item that failed has no row, so that its values stay NaN.
            if index in row_by_item:
                values[positions] = row_by_item[index]
        n_truncated = 0
        for request_items in items:
            n_truncated += any(item.truncated for item in request_items)
        return Likelihoods(
            values=Ragged.of(values, counts),
            lengths=Ragged.of(lengths, counts),
            failures=_name_failures(requests, all_reasons),
            truncated=n_truncated,
            way=strategy,
        )

    def _check_items(self, items: Sequence[TokenizedItem]) -> None:
        """Check that the model knows all tokens of items."""
        largest = 0
        for item in items:
            largest = max(largest, *item.prompt, *map(max, item.choices))
        check_tokens(self.model, self.name, largest)


def _name_failures(
    requests: Sequence[Request], reason_by_index: Mapping[int, str]
) -> dict[str, str]:
    """Return why requests failed, by their names, in the order of the requests.

    Args:
        requests: All requests.
        reason_by_index: Index of a request that failed -> the reason.
    """
    failures = {}
    for index in sorted(reason_by_index):
        failures[requests[index].name] = reason_by_index[index]
    return failures


def _cut_at_stop(text: str, stop_texts: Sequence[str]) -> str:
    """Return the part of a text before the first of some stop texts.

    Args:
        text: Generated text.
        stop_texts: Texts at which the generation should have ended, in any order.

    Example:
        >>> _cut_at_stop("Paris. Question: 2", ["Question:", "2"])
        'Paris. '
    """
    end = len(text)
    for stop in stop_texts:
        position = text.find(stop)
        if position >= 0:
            end = min(end, position)
    return text[:end]
