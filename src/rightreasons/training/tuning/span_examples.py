"""Questions, contexts and answers in the form that Trainer reads: windows with the answer's first and last token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.storing.records import digest_of_arrays
from rightreasons.foundations.validation import check_texts
from rightreasons.models.scoring.windows import Windows, encode_windows
from rightreasons.training.tuning.examples import Examples


def span_examples(dataset: Any, tokenizer: Any, *, max_length: int, stride: int | None, name: str) -> Examples:
    """Tokenize questions with their contexts and locate the first answer of each in its windows.

    The target of a window without the whole answer is its first token, which is outside the context.

    Args:
        dataset: Rows of `question`, `context` and `answers`.
        tokenizer: A fast tokenizer of transformers.
        max_length: Maximum tokens per window.
        stride: Tokens that windows share; None for a third of `max_length`.
        name: Name of the data in errors.

    Returns:
        One example per window; `truncated` counts questions that were cut.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    questions = check_texts(dataset["question"], f"{name}['question']")
    contexts = check_texts(dataset["context"], f"{name}['context']")
    characters = answer_characters(dataset["answers"], contexts, name)
    windows = encode_windows(tokenizer, questions, contexts, max_length=max_length, stride=stride)
    places = np.maximum(answer_tokens(windows, characters), 0)
    encoded = windows.encoded
    columns: dict[str, Any] = {
        key: [row.tolist() for row in np.split(column, encoded.offsets[1:-1])]
        for key, column in encoded.columns.items()
    }
    columns["start_positions"], columns["end_positions"] = places[:, 0].tolist(), places[:, 1].tolist()
    return Examples(
        dataset=datasets.Dataset.from_dict(columns),
        lengths=encoded.lengths,
        truncated=windows.n_cut,
        fingerprint=digest_of_arrays({**encoded.columns, "offsets": encoded.offsets, "places": places}),
    )


def answer_characters(
    answers: Sequence[Mapping[str, Sequence[Any]]], contexts: Sequence[str], name: str
) -> NDArray[np.int64]:
    """Return (N, 2): the first character of each first answer in its context, and the one after its last.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = []
    for number, (answer, context) in enumerate(zip(answers, contexts, strict=True)):
        texts, starts = (answer or {}).get("text"), (answer or {}).get("answer_start")
        if not texts or not starts:
            raise ValueError(f"Expected an answer to each question of `{name}`, but question {number} has none.")
        text, start = texts[0], starts[0]
        if not text or start is None or not 0 <= start <= len(context) - len(text):
            raise ValueError(
                f"Expected the answer to question {number} of `{name}` inside its context of {len(context)} "
                f"characters, but got {text!r} at {start}."
            )
        characters.append((start, start + len(text)))
    return np.array(characters, dtype=np.int64)


def answer_tokens(windows: Windows, characters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the first and last token of each answer in the windows.

    Args:
        windows: W windows of N questions.
        characters: (N, 2) the first character of each answer and the one after its last.

    Returns:
        (W, 2) tokens, -1 where the window does not contain the whole answer.
    """
    places = np.full((len(windows), 2), -1, dtype=np.int64)
    for window, (begin, end) in enumerate(characters[windows.owner].tolist()):
        first, last = windows.tokens_of(window)
        touched = np.flatnonzero((first >= 0) & (first < end) & (last > begin))
        if len(touched) and first[touched[0]] <= begin and last[touched[-1]] >= end:
            places[window] = touched[0], touched[-1]
    return places
