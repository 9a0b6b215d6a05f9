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
"""A choice that is only a letter or a number, which represents a text in the prompt."""

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
    """Read the samples of one task of lm-evaluation-harness as columns.

    Args:
        rows: The samples.
        log_name: Name of the file, for errors.
        log_filter: Filter whose answers are meant; None if there is one.

    Returns:
        Column by name: scores of choices, or generated answers, and the fields of the documents.

    Raises:
        ValueError: If there are several filters and none is named, samples are of several kinds, or
            one is malformed.
    """
    samples = _select_filter(rows, log_name, log_filter)
    requests = [_get_requests(sample, log_name) for sample in samples]
    kind = _find_common_kind(samples, requests, log_name)
    documents: list[Row] = []
    for sample in samples:
        document = sample["doc"]
        # The documents of a task may be texts, which have no fields.
        if not isinstance(document, Mapping):
            document = {}
        documents.append(document)
    if are_exported(documents):
        return _make_exported_columns(samples, documents)
    ids = _get_ids(samples, documents, log_name)
    columns: LogColumns = {"id": list(ids)}
    if kind == GENERATED:
        columns.update(_make_generated_columns(samples, requests))
    else:
        columns.update(_make_scored_columns(samples, requests, log_name))
    columns.update(arm_columns(documents))
    columns.update(field_columns(documents, columns))
    return columns


def _make_exported_columns(samples: Sequence[Row], documents: Sequence[Row]) -> LogColumns:
    """Return the columns of requests that `data export --reasons` wrote, with the replies to them.

    Args:
        samples: The samples, with the replies.
        documents: The document of each sample, which is a request.
    """
    replies = []
    for sample in samples:
        # Responses are nested in lists of one.
        text = str(_get_innermost(sample["resps"]))
        replies.append(Reply.parse(text))
    return exported_columns(documents, replies)


def _select_filter(rows: Sequence[Row], log_name: str, log_filter: str | None) -> list[Row]:
    """Return the samples of one filter, which is a rule of the harness that extracts answers.

    Args:
        rows: The samples, one for each document and filter.
        log_name: Name of the file, for errors.
        log_filter: The filter; None if there is only one.

    Raises:
        ValueError: If there are several and none is named, or the named one is missing.
    """
    rows_by_filter: dict[str, list[Row]] = {}
    for row in rows:
        name = str(row.get("filter", "none"))
        rows_by_filter.setdefault(name, []).append(row)
    selected = one_source("filter", rows_by_filter, log_filter, log_name)
    return list(map(_drop_arms, rows_by_filter[selected]))


def _drop_arms(row: Row) -> Row:
    """Return a sample without the requests of changed versions, which a task of ours adds to it.

    Their answers are in the document. Other samples are returned as they are.
    """
    n_requests = get_inner(row, "doc", ARMS_KEY, "n_requests")
    if n_requests is None:
        return row
    arguments = row["arguments"]
    # Requests are an object with numbered keys, or a list; those of the item itself come first.
    if isinstance(arguments, Mapping):
        arguments = dict(itertools.islice(arguments.items(), n_requests))
    else:
        arguments = arguments[:n_requests]
    return {
        **row,
        "arguments": arguments,
        "resps": row["resps"][:n_requests],
        "filtered_resps": row["filtered_resps"][:n_requests],
    }


def _get_requests(sample: Row, log_name: str) -> list[Request]:
    """Return the arguments of each request of a sample, as [["Sky?", " blue"], ["Sky?", " red"]].

    Args:
        sample: The sample. Requests and their arguments are lists, or objects with numbered keys.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If there are no requests, or one has no arguments.
    """
    requests = []
    for request in _list_values(sample["arguments"]):
        requests.append(_list_values(request))
    if not requests or not all(requests):
        raise _make_error("the requests of each item", log_name, sample, sample["arguments"])
    return requests


def _list_values(value: Any) -> list[Any]:
    """Return the members of a list, or the values of an object; [] for anything else, such as a text."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list):
        return value
    return []


def _find_common_kind(
    samples: Sequence[Row], requests: Sequence[list[Request]], log_name: str
) -> str:
    """Return the kind of the samples of a file, which all have to be of one task.

    Args:
        samples: The samples.
        requests: The requests of each sample.
        log_name: Name of the file, for errors.

    Returns:
        `GENERATED` or `SCORED`.

    Raises:
        ValueError: If samples are of different kinds.
    """
    kinds = []
    names = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        kinds.append(_find_kind(sample, sample_requests, log_name))
        names.append(sample["doc_id"])
    # A group of tasks has a file for each of them, so that the first sample shows the kind.
    common_kind = kinds[0]
    check_all(
        kinds,
        lambda kind: kind == common_kind,
        f"samples of one task in {log_name}, each with {common_kind}",
        unit="item",
        names=names,
    )
    return common_kind


def _find_kind(sample: Row, requests: Sequence[Request], log_name: str) -> str:
    """Return whether a sample has log-likelihoods of choices (`SCORED`) or an answer (`GENERATED`).

    Args:
        sample: The sample.
        requests: Its requests.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If it has neither.
    """
    if all(map(_is_generation, requests)):
        return GENERATED
    # Log-likelihoods have a response for each of two requests or more.
    answers = sample["filtered_resps"]
    has_answers = isinstance(answers, list) and len(answers) == len(requests) > 1
    if has_answers and all(map(_is_pair_of_texts, requests)):
        return SCORED
    expected = "log-likelihoods of at least two choices, or a generated answer, per item"
    raise _make_error(expected, log_name, sample, answers)


def _is_generation(request: Request) -> bool:
    # The second argument of a generation has its options.
    return len(request) > 1 and isinstance(request[1], dict)


def _is_pair_of_texts(request: Request) -> bool:
    return len(request) == 2 and isinstance(request[0], str) and isinstance(request[1], str)


def _make_error(expected: str, log_name: str, sample: Row, value: Any) -> ValueError:
    item = sample["doc_id"]
    return ValueError(
        f"Expected {expected} of {log_name}, but item {item!r} has {str(value)[:40]!r}."
    )


def _get_ids(samples: Sequence[Row], documents: Sequence[Row], log_name: str) -> Sequence[str]:
    """Return the ids of samples: those of the documents if all are distinct, or else their numbers.

    Ids of documents are preferred, because they are the same in other logs of the same data.

    Args:
        samples: The samples.
        documents: The document of each sample.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If numbers repeat.
    """
    ids = []
    for document in documents:
        document_id = document.get("id")
        if isinstance(document_id, (str, int)):
            ids.append(document_id)
    # Ids that repeat, or that some documents lack, name no items.
    if len(set(ids)) == len(documents):
        return list(map(str, ids))
    numbers = [sample["doc_id"] for sample in samples]
    return check_ids(numbers, f"doc_id of {log_name}")


def _get_innermost(value: Any) -> Any:
    """Return the first element of nested lists."""
    while isinstance(value, list) and value:
        value = value[0]
    return value


# ---------------------------------------------------------------------------------- generated answers


def _make_generated_columns(
    samples: Sequence[Row], requests: Sequence[list[Request]]
) -> LogColumns:
    """Return the columns of generated answers: texts, answers, targets and correctness.

    Args:
        samples: The samples. The raw response says how it ended, the filtered one what the answer is.
        requests: The requests of each sample.
    """
    replies = []
    texts = []
    answers = []
    targets = []
    metrics = []
    is_unread = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        replies.append(Reply.parse(_get_text(sample["resps"])))
        answer = _get_text(sample["filtered_resps"])
        answers.append(answer)
        is_unread.append(answer.strip() in NO_FILTERED_ANSWER)
        # The first argument of a request is the prompt.
        texts.append(str(sample_requests[0][0]))
        targets.append(str(sample["target"]))
        metrics.append({name: sample[name] for name in METRICS if name in sample})
    lacks = find_lacks(replies, is_unread)
    columns = make_answer_columns(texts, answers, targets, lacks)
    columns.update(find_correct(metrics))
    return columns


def _get_text(answers: Any) -> str:
    """Return the first of the answers to a request; "" if it is no text."""
    answer = _get_innermost(answers)
    if not isinstance(answer, str):
        return ""
    return answer


# ---------------------------------------------------------------------------------- choices


def _make_scored_columns(
    samples: Sequence[Row], requests: Sequence[list[Request]], log_name: str
) -> LogColumns:
    """Return the columns of log-likelihoods of choices, or of classes if all items have the same choices.

    Args:
        samples: The samples.
        requests: The requests of each sample.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If a log-likelihood is missing, or a target is not one choice.
    """
    items = []
    labels = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        item = _make_scored_item(sample, sample_requests, log_name)
        items.append(item)
        labels.append(_find_label(sample, item, log_name))
    first_choices = items[0].choices
    are_shared = len(items) > 1 and all(item.choices == first_choices for item in items)
    are_letters = are_shared and all(map(LETTER_PATTERN.fullmatch, first_choices))
    are_distinct = len(set(first_choices)) == len(first_choices)
    # The same words after every prompt are names of classes, unless they are letters of choices.
    if are_shared and are_distinct and not are_letters:
        return _make_class_columns(items, labels)
    columns: LogColumns = {"prompt": [], "choices": [], "label": labels, "logits": []}
    for sample, item in zip(samples, items, strict=True):
        choices = item.choices
        # The document may have the texts behind the letters.
        if are_letters:
            choices = _get_document_choices(sample["doc"], len(choices)) or choices
        columns["prompt"].append(item.prompt)
        columns["choices"].append(choices)
        columns["logits"].append(item.logits)
    columns.update(normalize_scores(columns["logits"], columns["choices"]))
    # The harness requests choices without the prompt only for some metrics.
    if all(item.unconditional for item in items):
        columns["unconditional"] = list(map(_subtract_unconditional, items))
    return columns


def _make_scored_item(sample: Row, requests: Sequence[Request], log_name: str) -> _Scored:
    """Return the prompt, the choices and the scores of a sample.

    Usually the prompt is followed by one choice in each request. For a sentence with a gap, the
    choices are in the contexts, and what follows the gap is the same.

    Args:
        sample: The sample.
        requests: Its requests, each with a context and a continuation.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If a log-likelihood is missing.
    """
    scores = []
    for answer in sample["filtered_resps"]:
        scores.append(_parse_log_likelihood(answer, sample, log_name))
    n_choices = _count_choices(requests)
    contexts = []
    continuations = []
    for context, continuation in requests[:n_choices]:
        contexts.append(context)
        continuations.append(continuation)
    # The space before a continuation is no part of the choice.
    texts = [continuation.removeprefix(" ") for continuation in continuations]
    has_gap = len(set(continuations)) == 1 and len(set(contexts)) > 1
    prompt = contexts[0]
    choices = texts
    if has_gap:
        prompt = texts[0]
        choices = contexts
    return _Scored(
        prompt=prompt,
        choices=choices,
        logits=scores[:n_choices],
        unconditional=scores[n_choices:],
        is_in_prompt=has_gap,
    )


def _count_choices(requests: Sequence[Request]) -> int:
    """Return the number of choices of a sample, which may be requested with and without the prompt.

    Args:
        requests: The requests, each with a context and a continuation. Requests without the prompt have
            an empty context, and form the second half.
    """
    half = len(requests) // 2
    second_contexts = [context for context, _ in requests[half:]]
    has_prompt = bool(requests[0][0])
    if len(requests) % 2 == 0 and has_prompt and not any(second_contexts):
        return half
    return len(requests)


def _make_class_columns(items: Sequence[_Scored], labels: Sequence[int]) -> LogColumns:
    """Return the columns `text` and `label`, and one of scores for each class, "logit_CLASS".

    Args:
        items: The items, which all have the same choices.
        labels: The position of the correct choice of each item.
    """
    names = items[0].choices
    columns: LogColumns = {"text": [], "label": []}
    for item, label in zip(items, labels, strict=True):
        columns["text"].append(item.prompt)
        columns["label"].append(names[label])
    for index, name in enumerate(names):
        columns[f"logit_{name}"] = [item.logits[index] for item in items]
    return columns


def _subtract_unconditional(item: _Scored) -> list[float]:
    differences = []
    for score, bare_score in zip(item.logits, item.unconditional, strict=True):
        differences.append(score - bare_score)
    return differences


def _get_document_choices(document: Any, n_choices: int) -> list[str] | None:
    """Return the texts of the choices in a document, for samples whose choices are letters.

    Args:
        document: The document, with {"choices": […]} or {"choices": {"text": […]}}.
        n_choices: The number of choices.

    Returns:
        The texts; None if the document has none, or as many as there are letters are not there.
    """
    texts = get_inner(document, "choices", "text") or get_inner(document, "choices")
    if not isinstance(texts, list) or len(texts) != n_choices:
        return None
    # Numbers would be read as positions.
    if not all(isinstance(text, str) for text in texts):
        return None
    return texts


def _parse_log_likelihood(answer: Any, sample: Row, log_name: str) -> float:
    """Return the log-likelihood in a response such as [["-1.5", "False"]].

    The second value says whether the choice is the likeliest continuation.

    Args:
        answer: The response to a request.
        sample: The sample, for errors.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If there is no number.
    """
    value = answer
    while isinstance(value, list) and value:
        # Several lists are several responses, of which none can be selected.
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
    """Return the position of the correct choice of a sample.

    Args:
        sample: The sample, with its target and the accuracy.
        item: Its choices and scores.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If the target is not one choice.
    """
    target = str(sample["target"]).strip()
    if item.is_in_prompt:
        label = _find_label_by_metric(sample, item)
    else:
        label = _find_label_by_target(target, sample, item)
    if label is None:
        expected = "one correct choice, by number or text, as the target of each item"
        raise _make_error(expected, log_name, sample, target)
    return label


def _find_label_by_target(target: str, sample: Row, item: _Scored) -> int | None:
    """Return the position of the choice that a target names by its number or its text; None for none.

    Args:
        target: The target.
        sample: The sample. If the choices are numbers themselves, the target may be either; the
            accuracy shows which of the two the harness takes for correct.
        item: Its choices and scores.
    """
    candidates = []
    if target.isdecimal() and int(target) < len(item.choices):
        candidates.append(int(target))
    texts = [text.strip() for text in item.choices]
    if texts.count(target) == 1:
        candidates.append(texts.index(target))
    pick = item.logits.index(max(item.logits))
    # The candidate that explains the accuracy is meant.
    for candidate in candidates:
        if sample.get("acc") == float(candidate == pick):
            return candidate
    if not candidates:
        return None
    return candidates[0]


def _find_label_by_metric(sample: Row, item: _Scored) -> int | None:
    """Return the position of the correct one of two choices by the accuracy of the harness.

    Args:
        sample: The sample, whose target is the text after the gap, and no choice.
        item: Its choices and scores.

    Returns:
        The likelier choice if the accuracy is 1, and the other one if it is 0; None without these.
    """
    accuracy = sample.get("acc")
    if len(item.choices) != 2 or accuracy not in (0, 1):
        return None
    # The harness picks the likelier choice.
    pick = int(item.logits[1] > item.logits[0])
    if accuracy == 0:
        return 1 - pick
    return pick
