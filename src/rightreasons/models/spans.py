"""Answers of a question-answering model: the best span of each context, over all of its windows.

`predict_answers` is the entry point. It finds the best spans of each window (`find_best_spans`),
and joins those of all windows of a context (`join_windows`).
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
"""Index of the first character of a span in its context, and index after its last character."""


@dataclasses.dataclass(frozen=True, eq=False)
class SpanAnswers:
    """The answers to N questions.

    Attributes:
        ids: N ids.
        texts: N answers: the best span of each context.
        confidence: (N,) probability of the answer among the n best spans.
        failures: Id of a question that the model could not answer -> the reason. Such a question is
            not one of the N.
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
        max_length: Maximum number of tokens per window. If None, 384, or the maximum of the model
            if that is less.
        n_best: Number of spans per context.
        batch_size: Maximum number of windows per batch; they are batched by length.
        max_tokens: Maximum number of tokens per padded batch; None for no maximum.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: an interrupted run resumes.
        fail_fast: Whether a question that the model cannot answer is an error (default). If not, it
            is left out, and `failures` has its id and the reason.

    Returns:
        A `SpanAnswers`.

    Raises:
        TypeError: If a column has the wrong type.
        ValueError: If columns differ in length, a text is empty or has no tokens, the model is of
            another kind, a logit is not finite, or `out` contains other files.
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
    is_complete, reasons = columns.find_complete(windows.owner)
    answered = np.setdiff1d(np.arange(len(names)), list(reasons))
    question_by_window = windows.owner[columns.positions[is_complete]]
    # Number the answered questions from 0. `answered` is sorted, so that the search finds them.
    owners = np.searchsorted(answered, question_by_window)
    spans = {name: columns.array(name)[is_complete] for name in ("starts", "ends", "scores")}
    best_by_question = join_windows(owners, spans, len(answered), n_best=n_best)
    texts = []
    confidence = []
    for question, scored_spans in zip(answered, best_by_question, strict=True):
        (start, end), _ = scored_spans[0]
        texts.append(contexts[question][start:end])
        # The softmax is over the best spans only, because other spans hardly change it.
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
    """Find the best spans of each window by the model, in a run that can be resumed.

    Args:
        classifier: A question-answering model.
        names: N ids of the questions.
        windows: W windows of the N contexts.
        n_best: Number of spans per window.
        options: Batch sizes and storage of the run.

    Returns:
        Columns `starts`, `ends` and `scores` of `find_best_spans`, (W, n_best) each.
    """

    @torch.inference_mode()
    def score(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> Later:
        outputs = classifier.model(**inputs)
        if not hasattr(outputs, "start_logits"):
            raise ValueError(
                f"Expected a question-answering model, but {classifier.name} gives no logits of "
                "spans."
            )
        return find_best_spans(
            outputs.start_logits.float(),
            outputs.end_logits.float(),
            windows,
            batch,
            n_best=n_best,
            name=classifier.name,
        )

    # The items of the run are windows, whose names begin with the id of the question.
    window_names = []
    for window, question in enumerate(windows.owner.tolist()):
        window_names.append(f"{names[question]} (window {window})")
    items = Items(classifier, tuple(window_names), windows.encoded)
    # Equal tokens may be at different characters of a context, and so are the answers.
    digest = digest_arrays(windows.characters.columns)
    return items.run("spans", score, depends={"places": digest, "answers": n_best}, **options)


def find_best_spans(
    start: torch.Tensor,
    end: torch.Tensor,
    windows: Windows,
    batch: NDArray[np.int64],
    *,
    max_answer_tokens: int = 30,
    n_best: int = 20,
    name: str = "the model",
) -> Callable[[], dict[str, NDArray[Any]]]:
    """Find the best spans of a batch of windows.

    Candidates are all pairs of a first and a last token of the context, of which the last is at
    most `max_answer_tokens` - 1 tokens after the first. The score of a span is the sum of its two
    logits.

    Args:
        start: (w, T) logits of the first token of an answer.
        end: (w, T) logits of the last token of an answer.
        windows: All windows.
        batch: (w,) indices of the windows of the batch.
        max_answer_tokens: Maximum number of tokens per span.
        n_best: Number of spans per window.
        name: Name of the model, for errors.

    Returns:
        A function that waits for three arrays (w, n_best): `starts`, index of the first character
        of a span in its context; `ends`, index after its last character; and `scores`. If a window
        has fewer spans, the others have -1, -1 and minus infinity. The function raises a
        `ValueError` if a context has no tokens, or a logit is not finite.
    """
    characters = pad(windows.characters, batch, start.device)
    # Tokens of the question and padding are not in the context, and cannot be part of an answer.
    in_context = characters["first"] >= 0
    is_finite = _are_finite(start, in_context) & _are_finite(end, in_context)
    start = start.masked_fill(~in_context, -torch.inf)
    end = end.masked_fill(~in_context, -torch.inf)
    scores, first_tokens, last_tokens = _select_spans(start, end, max_answer_tokens, n_best)
    # A short context has fewer than n_best spans. The rest has a score of minus infinity, or is
    # not in the table at all.
    is_span = torch.isfinite(scores)
    starts = torch.where(is_span, characters["first"].gather(1, first_tokens), -1)
    ends = torch.where(is_span, characters["last"].gather(1, last_tokens), -1)
    n_missing = n_best - scores.shape[1]
    questions = windows.owner[batch]

    def check_columns(
        has_context: NDArray[np.bool_], is_finite: NDArray[np.bool_], *columns: NDArray[Any]
    ) -> dict[str, NDArray[Any]]:
        if not has_context.all():
            question = questions[int((~has_context).argmax())]
            raise ValueError(
                f"Expected a context with tokens, but the context of question {question} has no "
                "tokens."
            )
        if not is_finite.all():
            question = questions[int((~is_finite).argmax())]
            raise ValueError(
                f"Expected finite logits, but {name} gave NaN or infinity for question {question}."
            )
        return dict(zip(("starts", "ends", "scores"), columns, strict=True))

    # The checks wait until the arrays are read, because the device may still be computing.
    return read_later(
        check_columns,
        in_context.any(dim=1),
        is_finite,
        _pad_columns(starts, n_missing, -1),
        _pad_columns(ends, n_missing, -1),
        _pad_columns(scores.double(), n_missing, -torch.inf),
    )


def _are_finite(logits: torch.Tensor, in_context: torch.Tensor) -> torch.Tensor:
    """Return, for each of w windows, whether the logits of all tokens of the context are finite."""
    return torch.isfinite(logits.masked_fill(~in_context, 0.0)).all(dim=1)


def _select_spans(
    start: torch.Tensor, end: torch.Tensor, max_answer_tokens: int, n_best: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Find the pairs of a first and a last token with the highest scores, for each window.

    Args:
        start: (w, T) logits of the first token, minus infinity outside the context.
        end: (w, T) logits of the last token, minus infinity outside the context.
        max_answer_tokens: Maximum number of tokens per span.
        n_best: Number of spans per window, n; fewer if T is so small that there are fewer pairs.

    Returns:
        The scores, the first tokens and the last tokens, (w, n) each, the highest score first.
    """
    width = start.shape[1]
    max_tokens = min(max_answer_tokens, width)
    # table[w, t, l] is the score of the span from token t to token t + l.
    padded = torch.nn.functional.pad(end, (0, max_tokens - 1), value=-torch.inf)
    table = start[:, :, None] + padded.unfold(1, max_tokens, 1)
    flat = table.flatten(1)
    scores, index = flat.topk(min(n_best, flat.shape[1]), dim=1)
    # The index in the flat table is t * max_tokens + l.
    first_tokens = torch.div(index, max_tokens, rounding_mode="floor")
    # Spans beyond the last token have a score of minus infinity, but need a valid index.
    last_tokens = (first_tokens + index % max_tokens).clamp(max=width - 1)
    return scores, first_tokens, last_tokens


def _pad_columns(table: torch.Tensor, n_missing: int, fill: float) -> torch.Tensor:
    """Add columns of the value `fill` to a table on the right."""
    return torch.nn.functional.pad(table, (0, n_missing), value=fill)


def join_windows(
    owner: NDArray[np.int64], spans: Mapping[str, NDArray[Any]], n_questions: int, *, n_best: int
) -> list[list[tuple[Span, float]]]:
    """Join the best spans of all windows of a question.

    If a span is in two windows, it has the higher of its two scores.

    Args:
        owner: (W,) question of each window.
        spans: `starts`, `ends` and `scores` of the spans of all windows, (W, n) each, from
            `find_best_spans`.
        n_questions: Number of questions.
        n_best: Number of spans per question.

    Returns:
        For each question, pairs of a span and its score, the highest score first. A span is (index
        of the first character, index after the last character).
    """
    score_by_span_of_questions: list[dict[Span, float]] = [{} for _ in range(n_questions)]
    starts = spans["starts"].tolist()
    ends = spans["ends"].tolist()
    scores = spans["scores"].tolist()
    for window, question in enumerate(owner.tolist()):
        score_by_span = score_by_span_of_questions[question]
        for start, end, score in zip(starts[window], ends[window], scores[window], strict=True):
            span = (start, end)
            if score > score_by_span.get(span, -np.inf):
                score_by_span[span] = score
    ranked_spans = []
    for score_by_span in score_by_span_of_questions:
        ranked = sorted(score_by_span.items(), key=lambda span_and_score: -span_and_score[1])
        ranked_spans.append(ranked[:n_best])
    return ranked_spans
