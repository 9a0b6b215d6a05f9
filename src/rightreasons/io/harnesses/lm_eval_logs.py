"""Samples files of lm-evaluation-harness (`--log_samples`) as columns: `read_lm_eval_columns`.

A file has one JSON object per item and filter: a document, its requests (`arguments`), the responses to
them (`resps`, and `filtered_resps` after a filter), the target, and metrics. The columns depend on the task:

- for log-likelihoods of choices: `prompt`, `choices`, `label` and `logits`, which `acc` compares; also
  `per_character` (`acc_norm`), `per_byte` (`acc_bytes`) and, if the harness requested them,
  `unconditional` (`acc_mutual_info`), which users may name in `score_columns`;
- for the same words as choices of every item: `text`, `label` and one column of scores per class;
- for generated answers: `text`, `answer` and `target`.

The fields of the documents are columns named `doc.<name>`, except for `LINKS`, which keep their names. The id
of an item is the id of its document, or else its number.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.replies import Reply
from rightreasons.core.validation import check_all
from rightreasons.io.logs import (
    ARMS_KEY,
    METRICS,
    LogColumns,
    Row,
    are_audit_requests,
    choose_source,
    find_correct,
    find_missing_answers,
    get_inner,
    make_answer_columns,
    make_arm_columns,
    make_field_columns,
    make_request_columns,
    normalize_scores,
)

KEYS = frozenset(("doc_id", "doc", "target", "arguments", "resps", "filtered_resps"))
"""Keys that every sample has."""

GENERATED = "a generated answer"
SCORED = "log-likelihoods of choices"
"""Kinds of samples; error messages contain these phrases."""

NO_FILTERED_ANSWER = ("", "[invalid]")
"""Results of a filter that finds no answer."""

LETTER_PATTERN = re.compile(r"\W*(?:[A-Za-z]|\d+)\W*")
"""Matches a choice that is only a letter or a number, as in "(B)", which refers to a text in the prompt."""

Request = list[Any]
"""Arguments of a request: [context, continuation] for a log-likelihood, or [prompt, options] for a generation."""


@dataclasses.dataclass(frozen=True)
class _Scored:
    """An item with K choices and their scores.

    Attributes:
        prompt: The prompt.
        choices: (K,) texts of the choices.
        logits: (K,) log-likelihood of each choice.
        unconditional: (K,) log-likelihood of each choice without the prompt; an empty list if the harness did not
            request it.
        is_in_prompt: Whether each choice fills a gap in the prompt, as in Winogrande.
    """

    prompt: str
    choices: list[str]
    logits: list[float]
    unconditional: list[float]
    is_in_prompt: bool


def read_lm_eval_columns(rows: Sequence[Row], log_name: str, log_filter: str | None) -> LogColumns:
    """Read the samples of one task of lm-evaluation-harness as columns.

    Args:
        rows: The samples, one for each document and filter.
        log_name: Name of the file, for error messages.
        log_filter: Filter whose answers are read; None if there is only one.

    Returns:
        Columns by their names: the ids, the scores of choices or the generated answers, and the fields of
        the documents.

    Raises:
        ValueError: If there are several filters and none is named, if only some samples have choices, or
            if a sample is malformed.
    """
    samples = _select_filter(rows, log_name, log_filter)
    requests = [_get_requests(sample, log_name) for sample in samples]
    kind = _find_common_kind(samples, requests, log_name)
    documents: list[Row] = []
    for sample in samples:
        document = sample["doc"]
        # The documents of some tasks are strings, which have no fields.
        if not isinstance(document, Mapping):
            document = {}
        documents.append(document)
    # Requests of an audit are answers to changed items, which are put together in a different way.
    if are_audit_requests(documents):
        return _make_exported_columns(samples, documents)
    ids = _get_ids(samples, documents, log_name)
    columns: LogColumns = {"id": list(ids)}
    if kind == GENERATED:
        columns.update(_make_generated_columns(samples, requests))
    else:
        columns.update(_make_scored_columns(samples, requests, log_name))
    columns.update(make_arm_columns(documents))
    columns.update(make_field_columns(documents, columns))
    return columns


def _make_exported_columns(samples: Sequence[Row], documents: Sequence[Row]) -> LogColumns:
    """Return the columns of requests that `data export --reasons` wrote, with the replies to them.

    Args:
        samples: (N,) samples, with the reply of the model in `resps`.
        documents: (N,) documents of the samples, which are the requests.
    """
    replies = []
    for sample in samples:
        # A response is nested in lists of one, as in [["B"]].
        text = str(_get_innermost(sample["resps"]))
        replies.append(Reply.parse(text))
    return make_request_columns(documents, replies)


def _select_filter(rows: Sequence[Row], log_name: str, log_filter: str | None) -> list[Row]:
    """Return the samples of one filter. A filter is a rule by which the harness extracts answers.

    Args:
        rows: The samples, one for each document and filter.
        log_name: Name of the file, for error messages.
        log_filter: Name of the filter; None if there is only one.

    Raises:
        ValueError: If there are several and none is named, or the named one is missing.
    """
    rows_by_filter: dict[str, list[Row]] = {}
    for row in rows:
        name = str(row.get("filter", "none"))
        rows_by_filter.setdefault(name, []).append(row)
    selected = choose_source("filter", rows_by_filter, log_filter, log_name)
    return list(map(_drop_arms, rows_by_filter[selected]))


def _drop_arms(row: Row) -> Row:
    """Return a sample without the requests for changed versions of its item.

    A task of this package adds such requests, and stores the answers in the document. Samples of other
    tasks are returned unchanged.

    Args:
        row: The sample, whose document may contain the number of requests for the item itself.
    """
    n_requests = get_inner(row, "doc", ARMS_KEY, "n_requests")
    if n_requests is None:
        return row
    arguments = row["arguments"]
    # The requests for the item itself come first, in an object with numbered keys, or in a list.
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
    """Return the arguments of each request of a sample, such as [["Sky?", " blue"], ["Sky?", " red"]].

    Args:
        sample: The sample, whose requests and their arguments are lists, or objects with numbered keys.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If the sample has no requests, or a request has no arguments.
    """
    requests = []
    for request in _list_values(sample["arguments"]):
        requests.append(_list_values(request))
    if not requests or not all(requests):
        raise _make_error("the requests of each item", log_name, sample, sample["arguments"])
    return requests


def _list_values(value: Any) -> list[Any]:
    """Return the members of a list, or the values of an object; an empty list for any other value."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list):
        return value
    return []


def _find_common_kind(
    samples: Sequence[Row], requests: Sequence[list[Request]], log_name: str
) -> str:
    """Return whether the samples of a file have generated answers, or log-likelihoods of choices.

    Args:
        samples: (N,) samples.
        requests: (N,) lists of the requests of each sample.
        log_name: Name of the file, for error messages.

    Returns:
        `GENERATED` or `SCORED`.

    Raises:
        ValueError: If some samples have generated answers, and others have log-likelihoods.
    """
    kinds = []
    names = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        kinds.append(_find_kind(sample, sample_requests, log_name))
        names.append(sample["doc_id"])
    # A file has the samples of one task, which should all be like the first one.
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
        sample: The sample, with its responses in `filtered_resps`.
        requests: Its requests: [prompt, options] for a generation, or [context, continuation].
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If it has neither.
    """
    if all(map(_is_generation, requests)):
        return GENERATED
    # For log-likelihoods, there are at least two requests, with a response each.
    answers = sample["filtered_resps"]
    has_answers = isinstance(answers, list) and len(answers) == len(requests) > 1
    if has_answers and all(map(_is_pair_of_texts, requests)):
        return SCORED
    expected = "log-likelihoods of at least two choices, or a generated answer, per item"
    raise _make_error(expected, log_name, sample, answers)


def _is_generation(request: Request) -> bool:
    # The second argument of a generation is an object of options, such as {"until": ["\n"]}.
    return len(request) > 1 and isinstance(request[1], dict)


def _is_pair_of_texts(request: Request) -> bool:
    return len(request) == 2 and isinstance(request[0], str) and isinstance(request[1], str)


def _make_error(expected: str, log_name: str, sample: Row, value: Any) -> ValueError:
    item = sample["doc_id"]
    return ValueError(
        f"Expected {expected} of {log_name}, but item {item!r} has {str(value)[:40]!r}."
    )


def _get_ids(samples: Sequence[Row], documents: Sequence[Row], log_name: str) -> Sequence[str]:
    """Return the ids of the documents of samples if they are distinct, or else the numbers of the samples.

    Ids of documents are preferred, because they are the same in other logs of the same data.

    Args:
        samples: (N,) samples, with their numbers in `doc_id`.
        documents: (N,) documents of the samples, perhaps with an `id`.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If the numbers are needed, and repeat.
    """
    ids = []
    for document in documents:
        document_id = document.get("id")
        if isinstance(document_id, (str, int)):
            ids.append(document_id)
    # There are fewer distinct ids than documents if ids repeat, or if a document has none.
    if len(set(ids)) == len(documents):
        return list(map(str, ids))
    numbers = [str(sample["doc_id"]) for sample in samples]
    number, count = Counter(numbers).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"Expected each `doc_id` once in {log_name}, but {number!r} occurs {count} times. If the file "
            "contains several tasks or runs, audit them one by one."
        )
    return numbers


def _get_innermost(value: Any) -> Any:
    """Return the first value that is not a list in nested lists, such as "B" in [["B"]]."""
    while isinstance(value, list) and value:
        value = value[0]
    return value


# ---------------------------------------------------------------------------------- generated answers


def _make_generated_columns(
    samples: Sequence[Row], requests: Sequence[list[Request]]
) -> LogColumns:
    """Return the columns of generated answers: `text` (the prompt), `answer`, `target` and `correct`.

    Further columns report answers that are missing, if there are any.

    Args:
        samples: (N,) samples. `resps` is the whole response, which shows whether it was truncated or
            refused, and `filtered_resps` is the answer that the filter extracted from it.
        requests: (N,) lists of the requests of each sample, such as [["Sky?", {"until": ["."]}]]. The
            first request contains the prompt.
    """
    prompts = []
    answers = []
    targets = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        prompt, *_ = sample_requests[0]
        prompts.append(str(prompt))
        answers.append(_get_first_text(sample["filtered_resps"]))
        targets.append(str(sample["target"]))

    replies = [Reply.parse(_get_first_text(sample["resps"])) for sample in samples]
    is_unread = [answer.strip() in NO_FILTERED_ANSWER for answer in answers]
    missing_answers = find_missing_answers(replies, is_unread)
    columns = make_answer_columns(prompts, answers, targets, missing_answers)

    # A sample has its metrics next to other fields. Only metrics of correctness are of use here.
    metrics = []
    for sample in samples:
        metrics.append({name: sample[name] for name in METRICS if name in sample})
    columns.update(find_correct(metrics))
    return columns


def _get_first_text(responses: Any) -> str:
    """Return the first string in nested lists of responses; "" if the first value is not a string."""
    response = _get_innermost(responses)
    return response if isinstance(response, str) else ""


# ---------------------------------------------------------------------------------- choices


def _make_scored_columns(
    samples: Sequence[Row], requests: Sequence[list[Request]], log_name: str
) -> LogColumns:
    """Return the columns of log-likelihoods of choices, or of classes if all items have the same choices.

    Args:
        samples: (N,) samples.
        requests: (N,) lists of the requests of each sample: [context, continuation] for each choice.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If a log-likelihood is missing, if a target does not identify one choice, or if
            the harness counts other answers as correct.
    """
    items = []
    labels = []
    for sample, sample_requests in zip(samples, requests, strict=True):
        item = _make_scored_item(sample, sample_requests, log_name)
        items.append(item)
        labels.append(_find_label(sample, item, log_name))
    _check_accuracies(samples, items, labels, log_name)
    first_choices = items[0].choices
    are_shared = len(items) > 1 and all(item.choices == first_choices for item in items)
    are_letters = are_shared and all(map(LETTER_PATTERN.fullmatch, first_choices))
    are_distinct = len(set(first_choices)) == len(first_choices)
    # The same words in all items are classes, unless they are the letters of different choices.
    if are_shared and are_distinct and not are_letters:
        return _make_class_columns(items, labels)
    columns: LogColumns = {"prompt": [], "choices": [], "label": labels, "logits": []}
    for sample, item in zip(samples, items, strict=True):
        choices = item.choices
        # Letters are replaced by the texts to which they refer, if the document has them.
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

    Usually, all requests have the prompt as their context, and a choice as their continuation. For a
    sentence with a gap, each context ends in a choice, and all continuations are the rest of the sentence.

    Args:
        sample: The sample, with the log-likelihoods in `filtered_resps`.
        requests: Its requests, each with a context and a continuation.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If a log-likelihood is missing.
    """
    scores = []
    for answer in sample["filtered_resps"]:
        scores.append(_parse_log_likelihood(answer, sample, log_name))
    n_choices = _count_choices(requests)
    contexts = []
    continuations = []
    texts = []
    for context, continuation in requests[:n_choices]:
        contexts.append(context)
        continuations.append(continuation)
        # The space in front of a continuation is not a part of the choice, or of the prompt.
        texts.append(continuation.removeprefix(" "))
    has_gap = len(set(continuations)) == 1 and len(set(contexts)) > 1
    if has_gap:
        prompt = texts[0]
        choices = contexts
    else:
        prompt = contexts[0]
        choices = texts
    return _Scored(
        prompt=prompt,
        choices=choices,
        logits=scores[:n_choices],
        unconditional=scores[n_choices:],
        is_in_prompt=has_gap,
    )


def _count_choices(requests: Sequence[Request]) -> int:
    """Return the number of choices of a sample: half the number of requests if the second half has no prompt.

    Args:
        requests: The requests, each with a context and a continuation. The harness may request every
            choice a second time, with an empty context instead of the prompt.
    """
    half = len(requests) // 2
    second_contexts = [context for context, _ in requests[half:]]
    has_prompt = bool(requests[0][0])
    if len(requests) % 2 == 0 and has_prompt and not any(second_contexts):
        return half
    return len(requests)


def _make_class_columns(items: Sequence[_Scored], labels: Sequence[int]) -> LogColumns:
    """Return the columns `text`, `label` (a class name), and a column `logit_CLASS` of scores for each class.

    Args:
        items: (N,) items, which all have the same choices: the classes.
        labels: (N,) positions of the correct choices.
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
        document: The document, which may contain {"choices": […]} or {"choices": {"text": […]}}.
        n_choices: The number of letters.

    Returns:
        The texts; None if the document has no texts of choices, or not as many as there are letters.
    """
    texts = get_inner(document, "choices", "text") or get_inner(document, "choices")
    if not isinstance(texts, list) or len(texts) != n_choices:
        return None
    # Numbers are positions rather than texts.
    if not all(isinstance(text, str) for text in texts):
        return None
    return texts


def _parse_log_likelihood(answer: Any, sample: Row, log_name: str) -> float:
    """Return the log-likelihood in a response such as [["-1.5", "False"]].

    The second value shows whether the choice is the likeliest continuation, and is not needed.

    Args:
        answer: The response to a request.
        sample: The sample, for error messages.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If the response contains no number, or if there are several responses.
    """
    value = answer
    while isinstance(value, list) and value:
        # Several lists are several responses. The conversion to a number then fails.
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
        sample: The sample, with its `target`, and the accuracy of the harness in `acc`.
        item: The choices and scores of the sample.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If the target does not identify one choice.
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


def _check_accuracies(
    samples: Sequence[Row], items: Sequence[_Scored], labels: Sequence[int], log_name: str
) -> None:
    """Check that the likeliest choice is the correct one exactly if the harness counts it as such.

    A task may define its accuracy in another way. For example, truthfulqa_mc2 has several correct
    choices, and its accuracy is their probability. One correct choice would give false figures.

    Args:
        samples: (N,) samples, with the accuracy of the harness in `acc`, if the task measures it.
        items: (N,) choices and scores of the samples.
        labels: (N,) positions of the correct choices.
        log_name: Name of the file, for the error message.

    Raises:
        ValueError: If the accuracies of the harness are others.
    """
    mismatches = []
    for sample, item, label in zip(samples, items, labels, strict=True):
        # The harness predicts the first one of equally likely choices.
        likeliest = item.logits.index(max(item.logits))
        if sample.get("acc") not in (None, float(likeliest == label)):
            mismatches.append(sample)
    if not mismatches:
        return
    example = mismatches[0]
    raise ValueError(
        f"Expected `acc` of {log_name} to be 1 if the likeliest choice is the target, and 0 otherwise, "
        f"but {len(mismatches):,} of {len(samples):,} items differ, such as item "
        f"{example['doc_id']} with {example['acc']}. The task counts answers in another way, perhaps "
        "with several correct choices; log a task that has one correct choice per item."
    )


def _find_label_by_target(target: str, sample: Row, item: _Scored) -> int | None:
    """Return the position of the choice that a target identifies by its number or its text.

    If choices are numbers, a target such as "2" may be both the number of a choice and the text of
    another one. The accuracy of the harness then shows which of the two is correct.

    Args:
        target: The target as a string.
        sample: The sample, with the accuracy of the harness in `acc`: 1 if the likeliest choice is correct.
        item: The choices and scores of the sample.

    Returns:
        The position; None if the target is neither the number nor the text of one choice.
    """
    candidates = []
    if target.isdecimal() and int(target) < len(item.choices):
        candidates.append(int(target))
    texts = [text.strip() for text in item.choices]
    if texts.count(target) == 1:
        candidates.append(texts.index(target))
    if not candidates:
        return None
    likeliest = item.logits.index(max(item.logits))
    for candidate in candidates:
        expected_accuracy = float(candidate == likeliest)
        if sample.get("acc") == expected_accuracy:
            return candidate
    return candidates[0]


def _find_label_by_metric(sample: Row, item: _Scored) -> int | None:
    """Return the position of the correct one of two choices, by the accuracy of the harness.

    Args:
        sample: The sample, with the accuracy in `acc`. Its target is the text after a gap, and therefore
            does not identify the correct choice.
        item: The choices and scores of the sample.

    Returns:
        The likelier choice if the accuracy is 1, and the other one if it is 0. None if the accuracy is
        neither, or if there are not two choices.
    """
    accuracy = sample.get("acc")
    if len(item.choices) != 2 or accuracy not in (0, 1):
        return None
    # The harness predicts the likelier choice.
    prediction = int(item.logits[1] > item.logits[0])
    return prediction if accuracy == 1 else 1 - prediction
