"""Prompts and choices as tokens, cut where lm-evaluation-harness cuts them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_BLOCK = 1024


@dataclass(frozen=True)
class Asked:
    """A prompt with choices as tokens.

    Attributes:
        name: The item.
        prompt: Tokens of the prompt, at least one.
        choices: Tokens of each choice, at least one each.
        places: The position of each choice among those of its item.
        truncated: Whether the prompt was cut, at its beginning.
    """

    name: str
    prompt: list[int]
    choices: list[list[int]]
    places: list[int]
    truncated: bool

    def after(self, size: int) -> Asked:
        """Return the same without the first `size` tokens of its prompt."""
        return dataclasses.replace(self, prompt=self.prompt[size:])


def tokenize_choices(
    tokenizer: Any,
    names: Sequence[str],
    prompts: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    start_token: int | None,
    max_length: int,
    model_name: str,
    failures: dict[int, str] | None = None,
) -> list[list[Asked]]:
    """Tokenize each prompt with each of its choices, as lm-evaluation-harness's `loglikelihood` does.

    A space is between prompt and choice. White space at the end of a prompt belongs to the choice.

    Args:
        tokenizer: A tokenizer of transformers.
        names: N ids of items, for errors.
        prompts: N prompts.
        rows: N lists of choices.
        start_token: The token in place of an empty prompt; None for a tokenizer without such a token.
        max_length: Maximum tokens that the model reads.
        model_name: What the user called the model.
        failures: Takes the reasons why items cannot be asked, by their positions; None raises the first.

    Returns:
        As `tokenize_continuations`, which also says what is raised.
    """
    # Python's own rstrip, as in the harness: every white space counts, line ends included.
    heads = [prompt.rstrip() for prompt in prompts]
    texts = [
        [f"{prompt[len(head) :]} {choice}" for choice in row]
        for prompt, head, row in zip(prompts, heads, rows, strict=True)
    ]
    return tokenize_continuations(
        tokenizer,
        names,
        heads,
        texts,
        start_token=start_token,
        max_length=max_length,
        model_name=model_name,
        failures=failures,
    )


def tokenize_continuations(
    tokenizer: Any,
    names: Sequence[str],
    heads: Sequence[str],
    texts: Sequence[Sequence[str]],
    *,
    start_token: int | None,
    max_length: int,
    model_name: str,
    bare: bool = False,
    failures: dict[int, str] | None = None,
) -> list[list[Asked]]:
    """Tokenize each text with each of its continuations.

    Both are tokenized together, and the tokens beyond as many as the text has by itself are those of the continuation.
    An empty text is the start token. The last `max_length` + 1 tokens of both are kept, the last of which the model
    need not read. Special tokens at the end of a text ([SEP] or </s>) are left out.

    Args:
        tokenizer: A tokenizer of transformers.
        names: N ids of items, for errors.
        heads: N texts.
        texts: N lists of continuations, exactly as they follow.
        start_token: The token in place of an empty text; None for a tokenizer without such a token.
        max_length: Maximum tokens that the model reads.
        model_name: What the user called the model.
        bare: Whether the texts have all of their special tokens, as those of a chat template have.
        failures: Takes the reasons why items cannot be asked, by their positions; None raises the first.

    Returns:
        N lists: one `Asked`, or several where a text is cut so that its continuations see different parts of it;
        none for an item that cannot be asked.

    Raises:
        ValueError: If a continuation has no tokens, or more than the model can read, or a text is empty and there is no
            start token.
    """
    encode = _Encoder(tokenizer, start_token)
    with_start = encode.bare if bare else encode
    items: list[list[Asked]] = []
    for start in range(0, len(heads), _BLOCK):
        block = slice(start, start + _BLOCK)
        pairs_of = list(zip(heads[block], texts[block], strict=True))
        before = with_start(heads[block])
        whole = iter(with_start([head + text for head, row in pairs_of if head for text in row]))
        alone = iter(encode.bare([text for head, row in pairs_of if not head for text in row]))
        for name, (head, row), prompt in zip(names[block], pairs_of, before, strict=True):
            first = prompt if head else []
            joined = list(itertools.islice(whole if head else alone, len(row)))
            parts = [tokens[len(first) :] for tokens in joined]
            if bare:  # a chat ends where it ends: what a model writes next does not change the tokens before
                parts = [
                    part if tokens[: len(first)] == first else encode.bare([text])[0]
                    for part, tokens, text in zip(parts, joined, row, strict=True)
                ]
            try:
                if not first:
                    if start_token is None:
                        raise ValueError(
                            f"Expected the tokenizer of {model_name} to have a begin- or end-of-sequence token, which "
                            f"the empty prompt of item {name!r} needs, but it has neither."
                        )
                    first = [start_token]
                    # A text that begins with the start token is its own prompt.
                    parts = [part[1:] if not head and part[:1] == first else part for part in parts]
                items.append(_fit(name, [(first, part) for part in parts], max_length, model_name))
            except ValueError as error:
                if failures is None:
                    raise
                failures[len(items)] = str(error)
                items.append([])
    if failures and not any(items):
        raise ValueError(failures[0])
    return items


class _Encoder:
    """Tokenizes texts as running text: with the tokens that a tokenizer puts before them, but none behind."""

    def __init__(self, tokenizer: Any, start_token: int | None) -> None:
        self.tokenizer = tokenizer
        self.start = "" if start_token is None else str(tokenizer.decode([start_token]))
        whole, plain = tokenizer("a")["input_ids"], tokenizer("a", add_special_tokens=False)["input_ids"]
        size = len(plain)
        first = next((i for i in range(len(whole) - size + 1) if whole[i : i + size] == plain), len(whole) - size)
        self.behind = len(whole) - size - first if size else 0

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts; one that begins with the start token, as chat templates write it, gets no second one."""
        bare = [bool(self.start) and text.startswith(self.start) for text in texts]
        rows = iter(self._tokens([text for text, flag in zip(texts, bare, strict=True) if not flag], True))
        others = iter(self.bare([text for text, flag in zip(texts, bare, strict=True) if flag]))
        return [next(others if flag else rows) for flag in bare]

    def bare(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts without special tokens."""
        return self._tokens(texts, False)

    def _tokens(self, texts: Sequence[str], special: bool) -> list[list[int]]:
        if not texts:
            return []
        rows: list[list[int]] = self.tokenizer(
            list(texts), add_special_tokens=special, return_attention_mask=False, verbose=False
        )["input_ids"]
        return [row[: len(row) - self.behind] for row in rows] if special and self.behind else rows


def _fit(name: str, pairs: list[tuple[list[int], list[int]]], max_length: int, model_name: str) -> list[Asked]:
    """Cut prompts at their beginning; choices that see the same part of a prompt stay together."""
    groups: dict[int, Asked] = {}
    for place, (prompt, choice) in enumerate(pairs):
        if not choice:
            raise ValueError(f"Expected choices with tokens, but choice {place} of item {name!r} has none.")
        room = max_length + 1 - len(choice)
        if room < 1:
            raise ValueError(
                f"Expected choices that {model_name} can read (up to {max_length} tokens), but one of item {name!r} "
                f"has {len(choice)}."
            )
        seen = prompt[-room:]
        asked = groups.setdefault(len(seen), Asked(name, seen, [], [], len(prompt) > room))
        asked.choices.append(choice)
        asked.places.append(place)
    return list(groups.values())
