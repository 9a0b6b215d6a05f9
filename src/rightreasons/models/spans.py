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
    is_complete, reasons = columns.find_complete(windows.owner)
    answered = np.setdiff1d(np.arange(len(names)), list(reasons))
    question_by_window = windows.owner[columns.positions[is_complete]]
    # Renumber the questions without those that failed: `answered` is sorted and contains them.
    owners = np.searchsorted(answered, question_by_window)
    spans = {name: columns.array(name)[is_complete] for name in ("starts", "ends", "scores")}
    best_by_question = join_windows(owners, spans, len(answered), n_best=n_best)
    texts = []
    confidence = []
    for question, scored_spans in zip(answered, best_by_question, strict=True):
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
    """Find the best spans of each window by the model, in a run that can resume.

    Args:
        classifier: A question-answering model.
        names: N ids of the questions, for errors.
        windows: W windows of the N contexts.
        n_best: Number of spans per window.
        options: Options of the run.

    Returns:
        `starts`, `ends` and `scores` of `best_spans`, (W, n_best) each.
    """

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

    # The items of the run are windows, but their names begin with the id of the question.
    window_names = []
    for window, question in enumerate(windows.owner.tolist()):
        window_names.append(f"{names[question]} (window {window})")
    items = Items(classifier, tuple(window_names), windows.encoded)
    # Contexts with equal tokens may have them at different characters, and so other answers.
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
    # Tokens of the question and padding have no place in the context, and are no answers.
    in_context = places["first"] >= 0
    is_finite = _are_finite(start, in_context) & _are_finite(end, in_context)
    start = start.masked_fill(~in_context, -torch.inf)
    end = end.masked_fill(~in_context, -torch.inf)
    scores, first_tokens, last_tokens = _select_spans(start, end, max_answer_tokens, n_best)
    # A short context has fewer spans than n_best. The others contain a masked token, or lack a
    # column.
    is_span = torch.isfinite(scores)
    starts = torch.where(is_span, places["first"].gather(1, first_tokens), -1)
    ends = torch.where(is_span, places["last"].gather(1, last_tokens), -1)
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

    # The device may still be computing, so that the checks wait until the arrays are read.
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
    """Find the pairs of a first and a last token with the highest scores, for each window.

    Args:
        start: (w, T) logits of the first token, minus infinity outside the context.
        end: (w, T) logits of the last token, minus infinity outside the context.
        max_answer_tokens: Maximum tokens per span.
        n_best: Number of spans, n; fewer if a window does not have as many pairs.

    Returns:
        (w, n) scores, first tokens and last tokens.
    """
    width = start.shape[1]
    max_tokens = min(max_answer_tokens, width)
    # table[w, t, l] is the score of the span from token t to token t + l, for all t and l at once.
    padded = torch.nn.functional.pad(end, (0, max_tokens - 1), value=-torch.inf)
    table = start[:, :, None] + padded.unfold(1, max_tokens, 1)
    flat = table.flatten(1)
    scores, index = flat.topk(min(n_best, flat.shape[1]), dim=1)
    # The position in the flat table is t * max_tokens + l.
    first_tokens = torch.div(index, max_tokens, rounding_mode="floor")
    # Spans beyond the end have a score of minus infinity, but their tokens are looked up as well.
    last_tokens = (first_tokens + index % max_tokens).clamp(max=width - 1)
    return scores, first_tokens, last_tokens


def _pad_columns(table: torch.Tensor, n_missing: int, fill: float) -> torch.Tensor:
    """Add columns to a table on the right."""
    return torch.nn.functional.pad(table, (0, n_missing), value=fill)


def join_windows(
    owner: NDArray[np.int64], spans: Mapping[str, NDArray[Any]], n_questions: int, *, n_best: int
) -> list[list[tuple[Span, float]]]:
    """Join the best spans of all windows into those of each question.

    Args:
        owner: (W,) question of each window.
        spans: `starts`, `ends` and `scores` of all windows, (W, n) each, from `best_spans`.
        n_questions: Number of questions.
        n_best: Number of spans per question.

    Returns:
        For each question ((first character, one past the last), score) of its spans, the best
        first. A span in two windows has the higher of its scores.
    """
    score_by_span: list[dict[Span, float]] = [{} for _ in range(n_questions)]
    starts = spans["starts"].tolist()
    ends = spans["ends"].tolist()
    scores = spans["scores"].tolist()
    # Spans are identified by their characters. Each window numbers its tokens anew.
    for window, question in enumerate(owner.tolist()):
        best_scores = score_by_span[question]
        for start, end, score in zip(starts[window], ends[window], scores[window], strict=True):
            span = (start, end)
            if score > best_scores.get(span, -np.inf):
                best_scores[span] = score
    ranked_spans = []
    for best_scores in score_by_span:
        ranked = sorted(best_scores.items(), key=lambda item: -item[1])
        ranked_spans.append(ranked[:n_best])
    return ranked_spans
