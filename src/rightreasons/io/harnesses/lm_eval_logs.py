"""Samples files of lm-evaluation-harness (`--log_samples`) as columns: `lm_eval_columns`.

A file has one JSON object per item and filter: a document, its requests (`arguments`), the answers to
them (`resps`, and `filtered_resps` after a filter), the target, and metrics. It becomes

- log-likelihoods of choices: `prompt`, `choices`, `label` and `logits`, which `acc` compares; also
  `per_character` (`acc_norm`), `per_byte` (`acc_bytes`) and, if the harness asked for them,
  `unconditional` (`acc_mutual_info`), to be named in `score_columns`;
- the same if every item has the same choices, and these are words: `text`, `label` and one column per
  class;
- generated answers: `text`, `answer` and `target`.

The fields of the documents are columns, too, as `doc.<name>`, but for `LINKS`. An item has the id of
its document, or else its number.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.replies import Reply
from rightreasons.core.validation import check_all, check_ids
from rightreasons.io.logs import (
    ARMS_KEY,
    METRICS,
    LogColumns,
    Row,
    are_exported,
    arm_columns,
    exported_columns,
    field_columns,
    find_correct,
    find_lacks,
    get_inner,
    make_answer_columns,
    normalize_scores,
    one_source,
)

KEYS = frozenset(("doc_id", "doc", "target", "arguments", "resps", "filtered_resps"))
"""Keys of every sample."""

GENERATED = "a generated answer"
SCORED = "log-likelihoods of choices"
"""Kinds of samples, as errors name them."""

NO_FILTERED_ANSWER = ("", "[invalid]")
"""What a filter returns if it finds no answer."""

LETTER_PATTERN = re.compile(r"\W*(?:[A-Za-z]|\d+)\W*")
"""A choice that is only a letter or a number, which stands for a text in the prompt."""

Request = list[Any]


@dataclasses.dataclass(frozen=True)
class _Scored:
    """The requests and the scores of an item with choices.

    Attributes:
        prompt: What was asked.
        choices: Choices.
        logits: Log-likelihood of each choice.
        unconditional: Log-likelihood of each choice without the prompt; [] if it was not asked.
        is_in_prompt: Whether the choices are in the prompt, as those of Winogrande.
    """

    prompt: str
    choices: list[str]
    logits: list[float]
    unconditional: list[float]
    is_in_prompt: bool


def lm_eval_columns(rows: Sequence[Row], log_name: str, log_filter: str | None) -> LogColumns:
    """Return the columns of samples of one task.

    Args:
        rows: The samples.
        log_name: Name of the file, for errors.
        log_filter: Filter whose answers are meant; None if there is one.

    Raises:
        ValueError: If there are several filters and none is named, samples are of several kinds, or
            one is malformed.
    """
    samples = _select_filter(rows, log_name, log_filter)
    requests = [_get_requests(sample, log_name) for sample in samples]
    kind = _find_common_kind(samples, requests, log_name)
    documents = []
    for sample in samples:
        document = sample["doc"]
        documents.append(document if isinstance(document, Mapping) else {})
    if are_exported(documents):
        texts = [str(_get_innermost(sample["resps"])) for sample in samples]
        return exported_columns(documents, map(Reply.parse, texts))
    columns: LogColumns = {"id": list(_get_ids(samples, documents, log_name))}
    if kind == GENERATED:
        columns |= _make_generated_columns(samples, requests)
    else:
        columns |= _make_scored_columns(samples, requests, log_name)
    columns |= arm_columns(documents)
    return columns | field_columns(documents, columns)


def _select_filter(rows: Sequence[Row], log_name: str, log_filter: str | None) -> list[Row]:
    """Return the samples of one filter, without the requests of their arms."""
    rows_by_filter: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_filter.setdefault(str(row.get("filter", "none")), []).append(row)
    selected = one_source("filter", rows_by_filter, log_filter, log_name)
    return list(map(_drop_arms, rows_by_filter[selected]))


def _drop_arms(row: Row) -> Row:
    """Return a sample without the requests of its arms, whose answers are in the document."""
    n_requests = get_inner(row, "doc", ARMS_KEY, "n_requests")
    if n_requests is None:
        return row
    arguments = row["arguments"]
    # Requests are an object with numbered keys, or a list.
    if isinstance(arguments, Mapping):
        arguments = dict(itertools.islice(arguments.items(), n_requests))
    else:
        arguments = arguments[:n_requests]
    answers = {name: row[name][:n_requests] for name in ("resps", "filtered_resps")}
    return {**row, **answers, "arguments": arguments}


def _get_requests(sample: Row, log_name: str) -> list[Request]:
    """Return the arguments of each request, which may be objects with numbered keys."""
    arguments = sample["arguments"]
    if isinstance(arguments, Mapping):
        arguments = list(arguments.values())
    requests = []
    for request in arguments if isinstance(arguments, list) else ():
        requests.append(list(request.values()) if isinstance(request, Mapping) else request)
    are_lists = all(isinstance(request, list) and request for request in requests)
    if not requests or not are_lists:
        raise _make_error("the requests of each item", log_name, sample, sample["arguments"])
    return requests


def _find_common_kind(
    samples: Sequence[Row], requests: Sequence[list[Request]], log_name: str
) -> str:
    """Return the kind of all samples."""
    kinds = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        kinds.append(_find_kind(sample, sample_requests, log_name))
    check_all(
        kinds,
        lambda kind: kind == kinds[0],
        f"samples of one task in {log_name}, each with {kinds[0]}",
        unit="item",
        names=[sample["doc_id"] for sample in samples],
    )
    return kinds[0]


def _find_kind(sample: Row, requests: Sequence[Request], log_name: str) -> str:
    """Return what was asked about an item."""
    # The second argument of a generation has its options.
    if all(len(request) > 1 and isinstance(request[1], dict) for request in requests):
        return GENERATED
    answers = sample["filtered_resps"]
    has_answers = isinstance(answers, list) and len(answers) == len(requests) > 1
    if has_answers and all(map(_is_pair_of_texts, requests)):
        return SCORED
    expected = "log-likelihoods of at least two choices, or a generated answer, per item"
    raise _make_error(expected, log_name, sample, answers)


def _is_pair_of_texts(request: Request) -> bool:
    return len(request) == 2 and all(isinstance(part, str) for part in request)


def _make_error(expected: str, log_name: str, sample: Row, value: Any) -> ValueError:
    item = sample["doc_id"]
    return ValueError(
        f"Expected {expected} of {log_name}, but item {item!r} has {str(value)[:40]!r}."
    )


def _get_ids(samples: Sequence[Row], documents: Sequence[Row], log_name: str) -> Sequence[str]:
    """Return the ids of the documents if they are unique, or else their numbers."""
    names = [document.get("id") for document in documents]
    are_names = all(isinstance(name, (str, int)) for name in names)
    if are_names and len(set(names)) == len(names):
        return list(map(str, names))
    return check_ids([sample["doc_id"] for sample in samples], f"doc_id of {log_name}")


def _get_innermost(value: Any) -> Any:
    """Return the first element of nested lists."""
    while isinstance(value, list) and value:
        value = value[0]
    return value


# ---------------------------------------------------------------------------------- generated answers


def _make_generated_columns(
    samples: Sequence[Row], requests: Sequence[list[Request]]
) -> LogColumns:
    replies = []
    answers = []
    metrics = []
    for sample in samples:
        replies.append(Reply.parse(_get_text(sample["resps"])))
        answers.append(_get_text(sample["filtered_resps"]))
        metrics.append({name: sample[name] for name in METRICS if name in sample})
    is_unread = [answer.strip() in NO_FILTERED_ANSWER for answer in answers]
    columns = make_answer_columns(
        texts=[str(sample_requests[0][0]) for sample_requests in requests],
        answers=answers,
        targets=[str(sample["target"]) for sample in samples],
        lacks=find_lacks(replies, is_unread),
    )
    return columns | find_correct(metrics)


def _get_text(answers: Any) -> str:
    """Return the first of the answers to a request; "" if it is no text."""
    answer = _get_innermost(answers)
    return answer if isinstance(answer, str) else ""


# ---------------------------------------------------------------------------------- choices


def _make_scored_columns(
    samples: Sequence[Row], requests: Sequence[list[Request]], log_name: str
) -> LogColumns:
    """Return the columns of log-likelihoods: by choice, or by class if all choices are the same."""
    items = []
    labels = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        item = _make_scored_item(sample, sample_requests, log_name)
        items.append(item)
        labels.append(_find_label(sample, item, log_name))
    first_choices = items[0].choices
    are_shared = len(items) > 1 and all(item.choices == first_choices for item in items)
    are_letters = are_shared and all(map(LETTER_PATTERN.fullmatch, first_choices))
    if are_shared and not are_letters and len(set(first_choices)) == len(first_choices):
        return _make_class_columns(items, labels)
    choices = []
    for sample, item in zip(samples, items, strict=True):
        texts = None
        if are_letters:
            texts = _get_document_choices(sample["doc"], len(item.choices))
        choices.append(texts or item.choices)
    logits = [item.logits for item in items]
    columns: LogColumns = {
        "prompt": [item.prompt for item in items],
        "choices": choices,
        "label": labels,
        "logits": logits,
    }
    columns |= normalize_scores(logits, choices)
    # Only some metrics make the harness ask for the choices alone.
    if all(item.unconditional for item in items):
        columns["unconditional"] = list(map(_subtract_unconditional, items))
    return columns


def _make_scored_item(sample: Row, requests: Sequence[Request], log_name: str) -> _Scored:
    """Return the choices of an item with their scores."""
    scores = []
    for answer in sample["filtered_resps"]:
        scores.append(_parse_log_likelihood(answer, sample, log_name))
    n_choices = len(requests)
    half = n_choices // 2
    # The second half may ask for the choices without the prompt.
    has_bare_half = n_choices % 2 == 0 and all(not context for context, _ in requests[half:])
    if has_bare_half and requests[0][0]:
        n_choices = half
    contexts = [context for context, _ in requests[:n_choices]]
    continuations = [text for _, text in requests[:n_choices]]
    is_in_prompt = len(set(continuations)) == 1 and len(set(contexts)) > 1
    prompt = contexts[0]
    choices = [text.removeprefix(" ") for text in continuations]
    if is_in_prompt:
        prompt = choices[0]
        choices = contexts
    return _Scored(
        prompt=prompt,
        choices=choices,
        logits=scores[:n_choices],
        unconditional=scores[n_choices:],
        is_in_prompt=is_in_prompt,
    )


def _make_class_columns(items: Sequence[_Scored], labels: Sequence[int]) -> LogColumns:
    """Return one column of scores per class."""
    names = items[0].choices
    columns: LogColumns = {
        "text": [item.prompt for item in items],
        "label": [names[label] for label in labels],
    }
    for index, name in enumerate(names):
        columns[f"logit_{name}"] = [item.logits[index] for item in items]
    return columns


def _subtract_unconditional(item: _Scored) -> list[float]:
    pairs = zip(item.logits, item.unconditional, strict=True)
    return [score - bare_score for score, bare_score in pairs]


def _get_document_choices(document: Any, n_choices: int) -> list[str] | None:
    """Return the texts that letters stand for, if the document has them."""
    texts = get_inner(document, "choices", "text") or get_inner(document, "choices")
    if not isinstance(texts, list) or len(texts) != n_choices:
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    return texts


def _parse_log_likelihood(answer: Any, sample: Row, log_name: str) -> float:
    """Return the log-likelihood of an answer, which is nested in lists with whether it is greedy."""
    value = answer
    while isinstance(value, list) and value:
        # A list of several lists has several answers, of which none is meant.
        if len(value) > 1 and isinstance(value[0], list):
            break
        value = value[0]
    try:
        log_likelihood = float(value)
    except (TypeError, ValueError):
        log_likelihood = math.nan
    if math.isnan(log_likelihood):
        raise _make_error("a log-likelihood per choice of each item", log_name, sample, value)
    return log_likelihood


def _find_label(sample: Row, item: _Scored, log_name: str) -> int:
    """Return the index of the correct choice: the target is its number or its text."""
    target = str(sample["target"]).strip()
    label = None
    if item.is_in_prompt:
        label = _find_label_by_metric(sample, item)
    else:
        label = _find_label_by_target(target, sample, item)
    if label is None:
        expected = "one right choice, by number or text, as the target of each item"
        raise _make_error(expected, log_name, sample, target)
    return label


def _find_label_by_target(target: str, sample: Row, item: _Scored) -> int | None:
    """Return the choice that a target names; None for none."""
    candidates = []
    if target.isdecimal() and int(target) < len(item.choices):
        candidates.append(int(target))
    texts = [text.strip() for text in item.choices]
    if texts.count(target) == 1:
        candidates.append(texts.index(target))
    pick = max(range(len(item.logits)), key=item.logits.__getitem__)
    # Of choices that are numbers themselves, the metric tells which of the two is meant.
    for candidate in candidates:
        if sample.get("acc") == float(candidate == pick):
            return candidate
    return candidates[0] if candidates else None


def _find_label_by_metric(sample: Row, item: _Scored) -> int | None:
    """Return the correct one of two choices in the prompt, whose target is what follows them."""
    accuracy = sample.get("acc")
    if len(item.choices) != 2 or accuracy not in (0, 1):
        return None
    pick = int(item.logits[1] > item.logits[0])
    return pick if accuracy == 1 else 1 - pick
