"""Answers of a question-answering model: the best span of each context, over all of its windows.

`predict_answers` is the entry point: it finds the best spans of each window (`best_spans`), and
joins those of the windows of a context (`join_windows`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.store import digest_arrays
from rightreasons.core.validation import (
    check_count,
    check_ids,
    check_same_length,
    check_texts,
    softmax,
)
from rightreasons.models.batching import pad, read_later
from rightreasons.models.classes import Classifier
from rightreasons.models.items import Items, check_max_length
from rightreasons.models.running import HowToBatch, Later
from rightreasons.models.runs.columns import Columns
from rightreasons.models.windows import Windows, encode_windows

if TYPE_CHECKING:
    from typing_extensions import Unpack

MAX_LENGTH = 384
"""Maximum tokens per window, if the model takes as many."""

Span = tuple[int, int]
"""The first character of a span in its context, and the one after its last."""


@dataclasses.dataclass(frozen=True, eq=False)
class SpanAnswers:
    """The answers to N questions.

    Attributes:
        ids: N ids.
        texts: N texts: the best span of each context.
        confidence: (N,) its probability among the n best spans.
        failures: Id of a question that the model could not answer -> the reason; it is not among
            the N.
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
    **options: Unpack[HowToBatch],
) -> SpanAnswers:
    """Mark the answer to each question in its context.

    A span's score is the logit of its first token plus that of its last. All spans of at most 30
    tokens in all windows of a context are candidates; a span in two windows counts with its higher
    score.

    Args:
        classifier: From `load_question_answering`.
        questions: N questions.
        contexts: N contexts; none may be empty.
        ids: N unique ids; by default "0", "1", …
        max_length: Maximum tokens per window; None takes 384, or what the model allows if that is
            less.
        n_best: Number of spans per context.
        batch_size: Maximum windows per batch; they are batched by length.
        max_tokens: Maximum tokens per padded batch; None for no bound.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: a killed run resumes.
        fail_fast: Whether a question that the model cannot answer is an error (default). If not, it
            is left out, and `failures` has its id and the reason.

    Returns:
        A `SpanAnswers`.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, a text is empty or has no tokens, the model is of
            another kind, a logit is not finite, or `out` holds other files.
    """
    questions = check_texts(questions, "questions")
    contexts = check_texts(contexts, "contexts")
    names = check_ids(range(len(questions)) if ids is None else ids, "ids")
    check_same_length(questions=questions, contexts=contexts, ids=names)
    if max_length is None:
        max_length = min(MAX_LENGTH, classifier.max_length)
    else:
        max_length = check_max_length(classifier, max_length, minimum=8)
    windows = encode_windows(classifier.tokenizer, questions, contexts, max_length=max_length)
    check_count(n_best, "n_best")
    columns = _score_windows(classifier, names, windows, n_best, options)

    # A question is answered if none of its windows failed.
    rows, reasons = columns.find_complete(windows.owner)
    answered = np.setdiff1d(np.arange(len(names)), list(reasons))
    owners = np.searchsorted(answered, windows.owner[columns.positions[rows]])
    spans = {name: columns.array(name)[rows] for name in ("starts", "ends", "scores")}
    best = join_windows(owners, spans, len(answered), n_best=n_best)
    texts = []
    confidence = []
    for question, scored_spans in zip(answered, best, strict=True):
        (start, end), _ = scored_spans[0]
        texts.append(contexts[question][start:end])
        # A distribution over the best spans alone: further ones hardly change it.
        scores = np.array([[score for _, score in scored_spans]])
        confidence.append(softmax(scores)[0, 0])
    return SpanAnswers(
        ids=tuple(names[question] for question in answered),
        texts=tuple(texts),
        confidence=np.array(confidence),
        failures={names[question]: reason for question, reason in reasons.items()},
    )


def _score_windows(
    classifier: Classifier,
    names: Sequence[str],
    windows: Windows,
    n_best: int,
    options: HowToBatch,
) -> Columns:
    """Return the best spans of each window, in the columns of `best_spans`."""

    @torch.inference_mode()
    def score(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> Later:
        outputs = classifier.model(**inputs)
        if not hasattr(outputs, "start_logits"):
            raise ValueError(
                f"Expected a question-answering model, but {classifier.name} gives no logits of "
                "spans."
            )
        return best_spans(
            outputs.start_logits.float(),
            outputs.end_logits.float(),
            windows,
            batch,
            n_best=n_best,
            name=classifier.name,
        )

    # Errors name the question, as the user knows it.
    window_names = []
    for window, owner in enumerate(windows.owner.tolist()):
        window_names.append(f"{names[owner]} (window {window})")
    items = Items(classifier, tuple(window_names), windows.encoded)
    # Two contexts of the same tokens may have them at other characters.
    places = digest_arrays(windows.places.columns)
    return items.run("spans", score, depends={"places": places, "answers": n_best}, **options)


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
    """Find the best spans of some windows.

    Candidates are all pairs of a first and a last token that is not before it, and not too far.

    Args:
        start: (w, T) logits of the first token.
        end: (w, T) logits of the last token.
        windows: All windows.
        batch: (w,) positions of these windows.
        max_answer_tokens: Maximum tokens per span.
        n_best: Number of spans.
        name: Name of the model, for errors.

    Returns:
        A function that waits for `starts` and `ends` (w, n_best) characters, -1 if there are fewer
        spans, and `scores` (w, n_best), minus infinity there. It raises a `ValueError` if a context
        has no tokens, or a logit is not finite.
    """
    places = pad(windows.places, batch, start.device)
    in_context = places["first"] >= 0
    is_finite = _are_finite(start, in_context) & _are_finite(end, in_context)
    # Tokens of the question and padding are no answers.
    start = start.masked_fill(~in_context, -torch.inf)
    end = end.masked_fill(~in_context, -torch.inf)
    scores, heads, tails = _select_spans(start, end, max_answer_tokens, n_best)
    # Short contexts have fewer spans than are asked for.
    exists = torch.isfinite(scores)
    starts = torch.where(exists, places["first"].gather(1, heads), -1)
    ends = torch.where(exists, places["last"].gather(1, tails), -1)
    n_missing = n_best - scores.shape[1]
    owners = windows.owner[batch]

    def check_columns(
        has_context: NDArray[np.bool_], is_finite: NDArray[np.bool_], *columns: NDArray[Any]
    ) -> dict[str, NDArray[Any]]:
        if not has_context.all():
            question = owners[int((~has_context).argmax())]
            raise ValueError(
                f"Expected a context with tokens, but that of question {question} has none."
            )
        if not is_finite.all():
            question = owners[int((~is_finite).argmax())]
            raise ValueError(
                f"Expected finite logits, but {name} gave NaN or infinity for question {question}."
            )
        return dict(zip(("starts", "ends", "scores"), columns, strict=True))

    return read_later(
        check_columns,
        in_context.any(dim=1),
        is_finite,
        _pad_columns(starts, n_missing, -1),
        _pad_columns(ends, n_missing, -1),
        _pad_columns(scores.double(), n_missing, -torch.inf),
    )


def _are_finite(logits: torch.Tensor, in_context: torch.Tensor) -> torch.Tensor:
    """Return (w,) whether the logits of all tokens of a context are finite."""
    return torch.isfinite(logits.masked_fill(~in_context, 0.0)).all(dim=1)


def _select_spans(
    start: torch.Tensor, end: torch.Tensor, max_answer_tokens: int, n_best: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the scores of the best spans of each window, with their first and last tokens.

    Args:
        start: (w, T) logits of the first token, minus infinity outside the context.
        end: (w, T) logits of the last token.
        max_answer_tokens: Maximum tokens per span.
        n_best: Number of spans.
    """
    width = start.shape[1]
    # All lengths of all starts at once, in place of a loop over pairs of tokens.
    reach = min(max_answer_tokens, width)
    # scores[w, t, l] is that of the span from token t to token t + l.
    padded = torch.nn.functional.pad(end, (0, reach - 1), value=-torch.inf)
    table = start[:, :, None] + padded.unfold(1, reach, 1)
    flat = table.flatten(1)
    scores, index = flat.topk(min(n_best, flat.shape[1]), dim=1)
    heads = torch.div(index, reach, rounding_mode="floor")
    # Spans beyond the end have no finite score, but their tokens must be in the table.
    tails = (heads + index % reach).clamp(max=width - 1)
    return scores, heads, tails


def _pad_columns(table: torch.Tensor, n_missing: int, fill: float) -> torch.Tensor:
    """Add columns to a table on the right."""
    return torch.nn.functional.pad(table, (0, n_missing), value=fill)


def join_windows(
    owner: NDArray[np.int64], spans: Mapping[str, NDArray[Any]], n_questions: int, *, n_best: int
) -> list[list[tuple[Span, float]]]:
    """Join the best spans of all windows into those of each question.

    Args:
        owner: (W,) question of each window.
        spans: `starts`, `ends` and `scores` of all windows, from `best_spans`.
        n_questions: Number of questions.
        n_best: Number of spans per question.

    Returns:
        The spans of each question, the best first, with their scores; one in two windows has the
        higher one.
    """
    score_by_span: list[dict[Span, float]] = [{} for _ in range(n_questions)]
    starts = spans["starts"].tolist()
    ends = spans["ends"].tolist()
    scores = spans["scores"].tolist()
    # By characters: windows overlap, and number their tokens anew.
    for window, question in enumerate(owner.tolist()):
        known_scores = score_by_span[question]
        for start, end, score in zip(starts[window], ends[window], scores[window], strict=True):
            span = (start, end)
            if score > known_scores.get(span, -np.inf):
                known_scores[span] = score
    best = []
    for known_scores in score_by_span:
        ranked = sorted(known_scores.items(), key=lambda item: -item[1])
        best.append(ranked[:n_best])
    return best
