"""Windows of long contexts: questions with parts of their contexts, as token ids.

`encode_windows` tokenizes questions with their contexts. `find_answer_characters` and
`find_answer_tokens` find the answers in the contexts and in the windows, as labels for training.
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
from rightreasons.models.batching import Encoded, check_fast, get_padding_values, list_input_names

# Questions that are tokenized at once.
_BLOCK_SIZE = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class Windows:
    """W windows of N questions, which are parts of long contexts; those of a question are adjacent.

    Attributes:
        encoded: Token ids of each window: the question, then a part of its context.
        characters: Columns `first` and `last`, for the same tokens: index of the first character of
            the token in its context, and index after its last character; -1 if the token is not
            part of the context.
        owner: (W,) question of each window, in ascending order.
    """

    encoded: Encoded
    characters: Encoded
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
    """Tokenize questions with their contexts, and divide long contexts into overlapping windows.

    Each window consists of the question and a part of its context.

    Args:
        tokenizer: A fast tokenizer of transformers, which knows the characters of its tokens.
        questions: N questions. One that leaves no tokens for its context is truncated.
        contexts: N contexts.
        max_length: Maximum number of tokens per window, special tokens included.
        stride: Number of tokens of the context that a window shares with the previous one. If None,
            a third of `max_length`, which is 128 for the usual 384.

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
    # Without at least one new token of the context in each window, there would be no last window.
    max_question = max_length - tokenizer.num_special_tokens_to_add(pair=True) - stride - 1
    if max_question < 1:
        raise OptionError(
            f"Expected `stride` to leave room for a question in {max_length} tokens, but got "
            f"{stride}.",
            option="stride",
        )
    names = list_input_names(tokenizer)
    # Column -> one row per window. `first` and `last` are the characters of each token.
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
        # The tokenizer numbers the questions of a block from 0.
        for index_in_block in tokens["overflow_to_sample_mapping"]:
            owner.append(start + index_in_block)
        for name in names:
            rows_by_name[name].extend(tokens[name])
        for spans, encoding in zip(tokens["offset_mapping"], tokens.encodings, strict=True):
            # The question is the first text (0), and the context the second (1).
            in_context = np.array([sequence == 1 for sequence in encoding.sequence_ids])
            characters = np.array(spans, dtype=np.int32).reshape(-1, 2)
            characters[~in_context] = -1
            rows_by_name["first"].append(characters[:, 0])
            rows_by_name["last"].append(characters[:, 1])
    return _make_windows(tokenizer, rows_by_name, owner)


def _make_windows(
    tokenizer: Any, rows_by_name: Mapping[str, Sequence[Any]], owner: Sequence[int]
) -> Windows:
    """Join the rows of all windows to flat columns.

    Args:
        tokenizer: The tokenizer, which has a token for padding.
        rows_by_name: W rows of each column: `input_ids`, perhaps `token_type_ids`, and `first` and
            `last`, the characters of each token in its context.
        owner: Index of the question of each window.
    """
    offsets = compute_offsets(list(map(len, rows_by_name["input_ids"])))
    columns = {}
    for name, rows in rows_by_name.items():
        columns[name] = np.concatenate(rows).astype(np.int32)
    characters = {name: columns.pop(name) for name in ("first", "last")}
    encoded = Encoded(
        columns=columns,
        offsets=offsets,
        # Nothing of a context is lost, because a long one continues in the next window.
        truncated=np.zeros(len(offsets) - 1, dtype=bool),
        padding=get_padding_values(tokenizer),
    )
    return Windows(
        encoded=encoded,
        # In the form of token ids, so that `pad` can be used for both.
        characters=dataclasses.replace(
            encoded, columns=characters, padding={"first": -1, "last": -1}
        ),
        owner=np.array(owner, dtype=np.int64),
    )


def _truncate_questions(tokenizer: Any, questions: list[str], max_tokens: int) -> list[str]:
    """Cut questions after their first `max_tokens` tokens; shorter ones are returned unchanged.

    Args:
        tokenizer: A fast tokenizer.
        questions: The questions.
        max_tokens: Maximum number of tokens of a question.
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
            # A span is the index of the first character of a token, and that after its last one.
            _, end = spans[max_tokens - 1]
            question = question[:end]
        truncated.append(question)
    return truncated


def find_answer_characters(
    answers: Sequence[Mapping[str, Sequence[Any]]], contexts: Sequence[str], name: str
) -> NDArray[np.int64]:
    """Return where the first answer to each question is in its context.

    Args:
        answers: N answers in the form of SQuAD, such as {"text": ["Paris"], "answer_start": [17]}.
        contexts: N contexts.
        name: Name of the data, for errors.

    Returns:
        (N, 2): index of the first character of the answer, and index after its last character.

    Raises:
        ValueError: If a question has no answer, or the answer is not inside its context.
    """
    characters = []
    for number, (answer, context) in enumerate(zip(answers, contexts, strict=True)):
        texts = (answer or {}).get("text")
        starts = (answer or {}).get("answer_start")
        if not texts or not starts:
            raise ValueError(
                f"Expected an answer to each question of `{name}`, but question {number} has none."
            )
        # SQuAD lists the answers of several people, of which training needs one.
        text = texts[0]
        start = starts[0]
        if not text or start is None or not 0 <= start <= len(context) - len(text):
            raise ValueError(
                f"Expected the answer to question {number} of `{name}` inside its context of "
                f"{len(context)} characters, but got {text!r} at {start}."
            )
        characters.append((start, start + len(text)))
    return np.array(characters, dtype=np.int64)


def find_answer_tokens(windows: Windows, characters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the first and the last token of the answer to its question in each window.

    Args:
        windows: W windows of N questions.
        characters: (N, 2) index of the first character of each answer in its context, and index
            after its last character.

    Returns:
        (W, 2) indices of the first and the last token in the window; -1 if the window does not
        contain the whole answer.
    """
    tokens = np.full((len(windows), 2), -1, dtype=np.int64)
    for window, (answer_start, answer_end) in enumerate(characters[windows.owner].tolist()):
        row = slice(*windows.encoded.offsets[window : window + 2])
        starts = windows.characters.columns["first"][row]
        ends = windows.characters.columns["last"][row]
        # A token that overlaps the answer. Tokens of the question have a negative start.
        is_in_answer = (starts >= 0) & (starts < answer_end) & (ends > answer_start)
        positions = np.flatnonzero(is_in_answer)
        if not len(positions):
            continue
        first_token = positions[0]
        last_token = positions[-1]
        # If the window begins or ends inside the answer, it contains only a part of it.
        if starts[first_token] <= answer_start and ends[last_token] >= answer_end:
            tokens[window] = first_token, last_token
    return tokens
