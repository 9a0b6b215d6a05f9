"""Windows of long contexts: questions with parts of their contexts, as token ids.

`encode_windows` tokenizes questions with their contexts. `answer_characters` and `answer_tokens`
find the labels of training: where the answers are in the contexts, and in the windows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.errors import OptionError
from rightreasons.core.validation import check_count, check_same_length
from rightreasons.models.batching import Encoded, check_fast, input_names, padding_values

# Questions that are tokenized at once.
_BLOCK_SIZE = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class Windows:
    """W windows of N questions; those of a question are adjacent.

    Attributes:
        encoded: Token ids of each window: the question, then a part of its context.
        places: In the same rows, `first` and `last`: the first character of each token in its
            context, and one past its last character; -1 if the token is not of the context.
        owner: (W,) question of each window, in ascending order.
    """

    encoded: Encoded
    places: Encoded
    owner: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.owner)


def encode_windows(
    tokenizer: Any,
    questions: Sequence[str],
    contexts: Sequence[str],
    *,
    max_length: int,
    stride: int | None = None,
) -> Windows:
    """Tokenize questions with their contexts; one longer than `max_length` is several windows.

    Args:
        tokenizer: A fast tokenizer of transformers, which knows the characters of its tokens.
        questions: N questions; one that leaves no tokens for its context is truncated.
        contexts: N contexts.
        max_length: Maximum tokens per window, special tokens included.
        stride: Tokens that a window shares with the previous one; None takes a third of
            `max_length`, which is 128 for the usual 384.

    Returns:
        The windows.

    Raises:
        ValueError: If the tokenizer is not a fast one, or `stride` leaves no tokens for a question.
    """
    check_fast(tokenizer)
    check_same_length(questions=questions, contexts=contexts)
    if stride is None:
        stride = max_length // 3
    stride = check_count(stride, "stride", minimum=0)
    # Each window must have at least one new token of the context, or the windows would not end.
    max_question = max_length - tokenizer.num_special_tokens_to_add(pair=True) - stride - 1
    if max_question < 1:
        raise OptionError(
            f"Expected `stride` to leave room for a question in {max_length} tokens, but got "
            f"{stride}.",
            option="stride",
        )
    names = input_names(tokenizer)
    # One row per window: the token ids and types, and the first and last character of each token.
    rows_by_name: dict[str, list[Any]] = {name: [] for name in (*names, "first", "last")}
    owner: list[int] = []
    for start in range(0, len(questions), _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        tokens = tokenizer(
            _truncate_questions(tokenizer, list(questions[block]), max_question),
            list(contexts[block]),
            truncation="only_second",
            max_length=max_length,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_attention_mask=False,
        )
        # The question of each window, as a position in the block.
        for position in tokens["overflow_to_sample_mapping"]:
            owner.append(start + position)
        for name in names:
            rows_by_name[name].extend(tokens[name])
        for spans, encoding in zip(tokens["offset_mapping"], tokens.encodings, strict=True):
            # The question is the first text (0), and the context the second (1).
            in_context = np.array([sequence == 1 for sequence in encoding.sequence_ids])
            characters = np.array(spans, dtype=np.int32).reshape(-1, 2)
            characters[~in_context] = -1
            rows_by_name["first"].append(characters[:, 0])
            rows_by_name["last"].append(characters[:, 1])
    return _join_rows(tokenizer, rows_by_name, owner)


def _join_rows(
    tokenizer: Any, rows_by_name: Mapping[str, Sequence[Any]], owner: Sequence[int]
) -> Windows:
    """Make `Windows` of the rows of all windows.

    Args:
        tokenizer: The tokenizer, which pads token ids.
        rows_by_name: W rows of each column of the model's input, and of `first` and `last`, the
            characters of each token.
        owner: The question of each of the W windows.
    """
    offsets = compute_offsets(list(map(len, rows_by_name["input_ids"])))
    columns = {}
    for name, rows in rows_by_name.items():
        columns[name] = np.concatenate(rows).astype(np.int32)
    places = {name: columns.pop(name) for name in ("first", "last")}
    encoded = Encoded(
        columns=columns,
        offsets=offsets,
        # A context that is too long continues in the next window, and loses nothing.
        truncated=np.zeros(len(offsets) - 1, dtype=bool),
        padding=padding_values(tokenizer),
    )
    return Windows(
        encoded=encoded,
        # Stored like token ids, so that both are padded in the same way.
        places=dataclasses.replace(encoded, columns=places, padding={"first": -1, "last": -1}),
        owner=np.array(owner, dtype=np.int64),
    )


def _truncate_questions(tokenizer: Any, questions: list[str], max_tokens: int) -> list[str]:
    """Return questions without the text after their first `max_tokens` tokens.

    Args:
        tokenizer: A fast tokenizer.
        questions: The questions.
        max_tokens: Maximum tokens of a question.
    """
    tokens = tokenizer(
        questions,
        add_special_tokens=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
    )
    truncated = []
    for question, spans in zip(questions, tokens["offset_mapping"], strict=True):
        if len(spans) > max_tokens:
            end = spans[max_tokens - 1][1]
            question = question[:end]
        truncated.append(question)
    return truncated


def answer_characters(
    answers: Sequence[Mapping[str, Sequence[Any]]], contexts: Sequence[str], name: str
) -> NDArray[np.int64]:
    """Return the characters of the first answer to each question.

    Args:
        answers: N answers in the form of SQuAD: `text` and `answer_start`, lists of equal lengths.
        contexts: N contexts.
        name: Name of the data, for errors.

    Returns:
        (N, 2) first character of the answer in its context, and the one after its last.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = []
    for number, (answer, context) in enumerate(zip(answers, contexts, strict=True)):
        texts = (answer or {}).get("text")
        starts = (answer or {}).get("answer_start")
        if not texts or not starts:
            raise ValueError(
                f"Expected an answer to each question of `{name}`, but question {number} has none."
            )
        # Training needs one answer; SQuAD lists those of several people.
        text = texts[0]
        start = starts[0]
        if not text or start is None or not 0 <= start <= len(context) - len(text):
            raise ValueError(
                f"Expected the answer to question {number} of `{name}` inside its context of "
                f"{len(context)} characters, but got {text!r} at {start}."
            )
        characters.append((start, start + len(text)))
    return np.array(characters, dtype=np.int64)


def answer_tokens(windows: Windows, characters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the first and last token of each answer in the windows.

    Args:
        windows: W windows of N questions.
        characters: (N, 2) first character of each answer, and the one after its last.

    Returns:
        (W, 2) tokens, -1 if the window does not contain the whole answer.
    """
    tokens = np.full((len(windows), 2), -1, dtype=np.int64)
    for window, (begin, end) in enumerate(characters[windows.owner].tolist()):
        row = slice(*windows.encoded.offsets[window : window + 2])
        starts = windows.places.columns["first"][row]
        ends = windows.places.columns["last"][row]
        # Tokens of the question have the characters -1 in the context.
        is_in_answer = (starts >= 0) & (starts < end) & (ends > begin)
        positions = np.flatnonzero(is_in_answer)
        if not len(positions):
            continue
        first_token = positions[0]
        last_token = positions[-1]
        # A window may begin or end within the answer, and then has a part of it.
        if starts[first_token] <= begin and ends[last_token] >= end:
            tokens[window] = first_token, last_token
    return tokens
