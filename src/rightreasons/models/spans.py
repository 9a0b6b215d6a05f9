"""Answers of a question-answering model: the best spans of every context, over all of its windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.errors import OptionError
from rightreasons.core.store import digest_arrays
from rightreasons.core.validation import (
    check_count,
    check_ids,
    check_same_length,
    check_texts,
    softmax,
)
from rightreasons.models.batching import (
    Encoded,
    check_fast,
    input_names,
    pad,
    padding_values,
    read_later,
)
from rightreasons.models.classes import Classifier
from rightreasons.models.items import Items, check_max_length
from rightreasons.models.running import HowToBatch, Later

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BLOCK = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class Windows:
    """W windows of N questions; those of a question are adjacent.

    Attributes:
        encoded: The token ids of each window: the question, then a part of its context.
        places: In the same rows, `first` and `last`: the first character of each token in its context, and one past
            its last character; -1 where the token is not of the context.
        owner: (W,) the question of each window, in ascending order.
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
    """Tokenize questions with their contexts; what is longer than `max_length` becomes several windows.

    Args:
        tokenizer: A fast tokenizer of transformers, which knows the characters of its tokens.
        questions: N questions; one that would leave its context no room is cut.
        contexts: N contexts.
        max_length: Maximum tokens per window, special tokens included.
        stride: Tokens that a window shares with the previous one; None takes a third of
            `max_length`, which is 128 for the usual 384.

    Returns:
        The windows.

    Raises:
        ValueError: If the tokenizer is not a fast one, or `stride` leaves no room.
    """
    check_fast(tokenizer)
    check_same_length(questions=questions, contexts=contexts)
    overlap = max_length // 3 if stride is None else check_count(stride, "stride", minimum=0)
    room = max_length - tokenizer.num_special_tokens_to_add(pair=True) - overlap - 1
    if room < 1:
        raise OptionError(
            f"Expected `stride` to leave room for a question in {max_length} tokens, but got {overlap}.",
            option="stride",
        )
    names = input_names(tokenizer)
    parts: dict[str, list[Any]] = {name: [] for name in (*names, "first", "last")}
    owner: list[int] = []
    for start in range(0, len(questions), _BLOCK):
        tokens = tokenizer(
            _cut(tokenizer, list(questions[start : start + _BLOCK]), room),
            list(contexts[start : start + _BLOCK]),
            truncation="only_second",
            max_length=max_length,
            stride=overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_attention_mask=False,
        )
        owner.extend(start + sample for sample in tokens["overflow_to_sample_mapping"])
        for name in names:
            parts[name].extend(tokens[name])
        for spans, encoding in zip(tokens["offset_mapping"], tokens.encodings, strict=True):
            inside = np.array([sequence == 1 for sequence in encoding.sequence_ids])
            table = np.where(inside[:, None], np.array(spans, dtype=np.int32).reshape(-1, 2), -1)
            parts["first"].append(table[:, 0])
            parts["last"].append(table[:, 1])
    offsets = compute_offsets([len(row) for row in parts["input_ids"]])
    columns = {name: np.concatenate(rows).astype(np.int32) for name, rows in parts.items()}
    encoded = Encoded(
        columns={name: columns[name] for name in names},
        offsets=offsets,
        truncated=np.zeros(len(offsets) - 1, dtype=bool),
        padding=padding_values(tokenizer),
    )
    places = dataclasses.replace(
        encoded,
        columns={name: columns[name] for name in ("first", "last")},
        padding={"first": -1, "last": -1},
    )
    return Windows(encoded, places, np.array(owner, dtype=np.int64))


def _cut(tokenizer: Any, questions: list[str], room: int) -> list[str]:
    """Cut questions to a number of tokens."""
    tokens = tokenizer(
        questions,
        add_special_tokens=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
    )
    rows = zip(questions, tokens["offset_mapping"], strict=True)
    return [text if len(spans) <= room else text[: spans[room - 1][1]] for text, spans in rows]


def answer_characters(
    answers: Sequence[Mapping[str, Sequence[Any]]], contexts: Sequence[str], name: str
) -> NDArray[np.int64]:
    """Return the characters of the first answer to each question.

    Returns:
        (N, 2) the first character of the answer in its context, and the one after its last.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = []
    for number, (answer, context) in enumerate(zip(answers, contexts, strict=True)):
        answer = answer or {}
        texts = answer.get("text")
        starts = answer.get("answer_start")
        if not texts or not starts:
            raise ValueError(
                f"Expected an answer to each question of `{name}`, but question {number} has none."
            )
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
        characters: (N, 2) the first character of each answer and the one after its last.

    Returns:
        (W, 2) tokens, -1 if the window does not contain the whole answer.
    """
    tokens = np.full((len(windows), 2), -1, dtype=np.int64)
    for window, (begin, end) in enumerate(characters[windows.owner].tolist()):
        row = slice(*windows.encoded.offsets[window : window + 2])
        starts = windows.places.columns["first"][row]
        ends = windows.places.columns["last"][row]
        # Tokens that are not of the context start at -1.
        touched = np.flatnonzero((starts >= 0) & (starts < end) & (ends > begin))
        if not len(touched):
            continue
        head = touched[0]
        tail = touched[-1]
        # A window may end within the answer.
        if starts[head] <= begin and ends[tail] >= end:
            tokens[window] = head, tail
    return tokens


MAX_LENGTH = 384
"""Maximum tokens per window, if the model takes as many."""


@dataclasses.dataclass(frozen=True, eq=False)
class SpanAnswers:
    """The answers to N questions.

    Attributes:
        ids: N ids.
        texts: N texts: the best span of each context.
        confidence: (N,) its probability among the n best spans.
        failures: Id of a question that the model could not answer -> the reason; it is not among the N.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    confidence: NDArray[np.float64]
    failures: Mapping[str, str]


def predict_answers(
    classifier: Classifier,
    questions: Sequence[str],
    contexts: Sequence[str],
    *,
    ids: Iterable[object] | None = None,
    max_length: int | None = None,
    n_best: int = 20,
    **how: Unpack[HowToBatch],
) -> SpanAnswers:
    """Mark the answer to each question in its context.

    A span's score is the logit of its first token plus that of its last. All spans of at most 30 tokens in all windows
    of a context are candidates; a span in two windows counts with its higher score.

    Args:
        classifier: From `load_question_answering`.
        questions: N questions.
        contexts: N contexts; none may be empty.
        ids: N unique ids; by default "0", "1", …
        max_length: Maximum tokens per window; None takes 384, or what the model allows if that is less.
        n_best: Number of spans per context.
        batch_size: Maximum windows per batch; they are batched by length.
        max_tokens: Maximum tokens per padded batch; None for no bound.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: a killed run resumes.
        fail_fast: Whether a question that the model cannot answer is an error (default). If not, it is left out, and
            `failures` has its id and the reason.

    Returns:
        A `SpanAnswers`.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, a text is empty or has no tokens, the model is of another kind, a logit
            is not finite, or `out` holds other files.
    """
    questions, contexts = check_texts(questions, "questions"), check_texts(contexts, "contexts")
    names = check_ids(range(len(questions)) if ids is None else ids, "ids")
    check_same_length(questions=questions, contexts=contexts, ids=names)
    length = min(MAX_LENGTH, classifier.max_length)
    if max_length is not None:
        length = check_max_length(classifier, max_length, minimum=8)
    windows = encode_windows(classifier.tokenizer, questions, contexts, max_length=length)
    check_count(n_best, "n_best")

    @torch.inference_mode()
    def score(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> Later:
        outputs = classifier.model(**inputs)
        if not hasattr(outputs, "start_logits"):
            raise ValueError(
                f"Expected a question-answering model, but {classifier.name} gives no logits of spans."
            )
        return best_spans(
            outputs.start_logits.float(),
            outputs.end_logits.float(),
            windows,
            batch,
            n_best=n_best,
            name=classifier.name,
        )

    window_names = tuple(
        f"{names[owner]} (window {window})" for window, owner in enumerate(windows.owner.tolist())
    )
    items = Items(classifier, window_names, windows.encoded)
    columns = items.run(
        "spans",
        score,
        # Two contexts of the same tokens may have them at other characters.
        depends={"places": digest_arrays(windows.places.columns), "answers": n_best},
        **how,
    )
    rows, reasons = columns.whole(windows.owner)
    kept = np.setdiff1d(np.arange(len(names)), list(reasons))
    number = np.cumsum(np.isin(np.arange(len(names)), kept)) - 1
    owners = number[windows.owner[columns.positions[rows]]]
    found = {name: columns.array(name)[rows] for name in ("starts", "ends", "scores")}
    best = join_windows(owners, found, len(kept), n_best=n_best)
    texts = (contexts[item][slice(*spans[0][0])] for item, spans in zip(kept, best, strict=True))
    return SpanAnswers(
        ids=tuple(names[item] for item in kept),
        texts=tuple(texts),
        confidence=np.array(
            [softmax(np.array([[score for _, score in spans]]))[0, 0] for spans in best]
        ),
        failures={names[item]: reason for item, reason in reasons.items()},
    )


def best_spans(
    start: torch.Tensor,
    end: torch.Tensor,
    windows: Windows,
    batch: NDArray[np.int64],
    *,
    max_answer_tokens: int = 30,
    n_best: int = 20,
    name: str = "the model",
) -> Callable[[], dict[str, NDArray[Any]]]:
    """Find the best spans of some windows, over all starts and all ends that are not before them and not too far.

    Args:
        start: (w, T) logits of the first token.
        end: (w, T) logits of the last token.
        windows: All windows.
        batch: (w,) the positions of these.
        max_answer_tokens: Maximum tokens per span.
        n_best: Number of spans.
        name: The model, for errors.

    Returns:
        A function that waits for `starts` and `ends` (w, n_best) characters, -1 where there are fewer spans, and
        `scores` (w, n_best), minus infinity there. It raises a `ValueError` if a context has no tokens, or a logit is
        not finite.
    """
    places = pad(windows.places, batch, start.device)
    inside = places["first"] >= 0
    finite = (
        torch.isfinite(torch.where(inside[None], torch.stack([start, end]), 0.0))
        .all(dim=2)
        .all(dim=0)
    )
    start, end = (logits.masked_fill(~inside, -torch.inf) for logits in (start, end))
    width = start.shape[1]
    reach = min(max_answer_tokens, width)
    # scores[w, t, l] is that of the span from token t to token t + l.
    ends = torch.nn.functional.pad(end, (0, reach - 1), value=-torch.inf).unfold(1, reach, 1)
    flat = (start[:, :, None] + ends).flatten(1)
    scores, where = flat.topk(min(n_best, flat.shape[1]), dim=1)
    first = torch.div(where, reach, rounding_mode="floor")
    last = (first + where % reach).clamp(max=width - 1)
    exists = torch.isfinite(scores)
    missing = n_best - scores.shape[1]
    columns = {
        "starts": (torch.where(exists, places["first"].gather(1, first), -1), -1),
        "ends": (torch.where(exists, places["last"].gather(1, last), -1), -1),
        "scores": (scores.double(), -torch.inf),
    }
    padded = [
        torch.nn.functional.pad(table, (0, missing), value=fill) for table, fill in columns.values()
    ]

    def checked(
        some: NDArray[np.bool_], finite: NDArray[np.bool_], *tables: NDArray[Any]
    ) -> dict[str, NDArray[Any]]:
        for right, what in (
            (some, "Expected a context with tokens, but that of question {} has none."),
            (finite, f"Expected finite logits, but {name} gave NaN or infinity for question {{}}."),
        ):
            if not right.all():
                raise ValueError(what.format(windows.owner[batch[int((~right).argmax())]]))
        return dict(zip(columns, tables, strict=True))

    return read_later(checked, inside.any(dim=1), finite, *padded)


def join_windows(
    owner: NDArray[np.int64], spans: Mapping[str, NDArray[Any]], n_questions: int, *, n_best: int
) -> list[list[tuple[tuple[int, int], float]]]:
    """Join the best spans of all windows into those of each question.

    Args:
        owner: (W,) the question of each window.
        spans: `starts`, `ends` and `scores` of all windows, from `best_spans`.
        n_questions: Number of questions.
        n_best: Number of spans per question.

    Returns:
        The spans of each question, the best first, with their scores; one in two windows has the higher one.
    """
    best: list[dict[tuple[int, int], float]] = [{} for _ in range(n_questions)]
    rows = zip(
        owner.tolist(),
        *(spans[name].tolist() for name in ("starts", "ends", "scores")),
        strict=True,
    )
    for question, starts, ends, scores in rows:
        for start, end, score in zip(starts, ends, scores, strict=True):
            if score > best[question].get((start, end), -np.inf):
                best[question][start, end] = score
    return [sorted(each.items(), key=lambda span: -span[1])[:n_best] for each in best]
