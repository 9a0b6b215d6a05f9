"""Functions that the readers of logs of all harnesses share: column names, fields, answers, and ids.

`rightreasons.io.harnesses.inspect_logs` reads the logs of inspect_ai, `rightreasons.io.harnesses.lm_eval_logs` the logs
of lm-evaluation-harness, and `rightreasons.io.log_forms` all formats that are described in `log_forms.yaml`.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rightreasons.core.choices import LETTERS
from rightreasons.core.errors import SeveralSourcesError, make_unknown_name_error
from rightreasons.core.replies import Reply, extract_text
from rightreasons.core.sentences import format_list

Row: TypeAlias = Mapping[str, Any]
LogColumns: TypeAlias = "dict[str, list[Any]]"

# ---------------------------------------------------------------------------------- names of columns


UNIT_LINKS = ("source_id", "pair_id")
"""Columns with the id that related items share. Confidence intervals treat related items as one unit."""

LINKS = (*UNIT_LINKS, "role", "is_original", "mirrored")
"""Fields of a document that keep their names as columns, because they show which items are related."""

UNREAD = "answer_unread"
"""Column: whether a sample has no readable answer. A log in which all samples have one lacks this column."""

LACK = "answer_lack"
"""Column: the reason why a sample has no answer, "" if it has one. A log without such samples lacks this column."""

UNREAD_REPLY = "unread_reply"
"""Column: the text of an unread answer to an item with choices, and the order in which the model saw the choices, as
JSON; "" for other samples. A log without such answers lacks this column."""

NO_READABLE_ANSWER = "no answer that can be read"
"""Reason for a missing answer if the reply is complete, but no answer could be read from it."""

PICKED = "answer_choice"
"""Column of a log of sampled answers: the index of the choice of each answer, -1 for no answer."""

ARMS_KEY = "rightreasons"
"""Name under which a sample or a document contains the answers to its changed versions."""

ITEM_KEY = "rightreasons_item"
"""Name under which a document that is one version of an item contains the id of the item."""

REQUESTS_KEY = "rightreasons_requests"
"""Name under which a sample or a document contains the answers to the requests of an audit."""

OWN_KEYS = (ARMS_KEY, REQUESTS_KEY)
"""Fields of a document that the tasks of this package write."""

ARMS = "logged_arms"
"""Column: the answers to changed versions of each item, as JSON. A log without such answers lacks this column."""

ARMS_COMMAND = "arms_command"
"""Column: the command that evaluates the same items and changed versions of them."""

NORMALIZED = ("per_character", "per_byte", "unconditional")
"""Columns of log-likelihoods that are divided by lengths, or compared with those without the prompt."""

# ---------------------------------------------------------------------------------- values of JSON


def get_inner(value: Any, *steps: str | int) -> Any:
    """Return the value inside nested objects and lists at a path of keys and positions.

    Logs are written by other programs, so that any level may be missing or of another type. The result is
    then None.

    Args:
        value: The outermost object or list.
        *steps: For each level, the key of an object (a string) or the position in a list (an integer).

    Example:
        >>> get_inner({"choices": [{"text": "B"}]}, "choices", 0, "text")
        'B'
    """
    for step in steps:
        if isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        elif isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        else:
            return None
    return value


def to_list(value: Any) -> list[Any]:
    """Return a list for a list or tuple, an empty list for None, and a list of one for any other value."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value]


def list_objects(value: Any) -> list[Row]:
    """Return the members of a list that are JSON objects; an empty list if the value is not a list."""
    objects: list[Row] = []
    if not isinstance(value, (list, tuple)):
        return objects
    for element in value:
        if isinstance(element, Mapping):
            objects.append(element)
    return objects


def list_user_texts(messages: Any) -> list[str]:
    """Return the texts of the messages of a conversation that the user wrote.

    Args:
        messages: A list such as [{"role": "user", "content": "Why?"}]; anything else has none.
    """
    texts = []
    for message in list_objects(messages):
        if message.get("role") == "user":
            texts.append(extract_text(message.get("content")))
    return texts


def find_letter(mark: str, choices: Sequence[str]) -> int | None:
    """Return the position of the choice with a letter, 0 for "A"; None if no choice has this letter.

    Args:
        mark: The letter, or any other string.
        choices: The choices, which are lettered from A.

    Example:
        >>> find_letter("B", ["yes", "no"]), find_letter("C", ["yes", "no"])
        (1, None)
    """
    position = LETTERS.find(mark)
    # `find` also finds strings of several letters, such as "AB".
    if len(mark) != 1 or not 0 <= position < len(choices):
        return None
    return position


# ---------------------------------------------------------------------------------- fields of documents


REQUEST_FIELDS = frozenset(
    ("id", "number", "arm", "asked", "prompt", "choices", "options", "label")
)
"""Fields of each request that `rightreasons data export --reasons` writes, as a document or as metadata."""

UNUSED_REQUEST_FIELDS = frozenset(("id", "number", "task", "text", "text_pair", "turns"))
"""Fields of such a request that are not copied to a column of the same name."""


def are_audit_requests(documents: Iterable[Any]) -> bool:
    """Return whether all documents, or metadata of samples, are requests from `data export --reasons`."""
    return all(map(_is_audit_request, documents))


def _is_audit_request(document: Any) -> bool:
    return isinstance(document, Mapping) and document.keys() >= REQUEST_FIELDS


def make_request_columns(documents: Sequence[Row], replies: Iterable[Reply]) -> LogColumns:
    """Return the columns of requests that `data export --reasons` wrote, with the replies to them.

    Args:
        documents: The documents of the requests, or the metadata of their samples.
        replies: The replies, in the same order.

    Returns:
        The columns of the ids, of the fields of the documents, and of each reply: `text`, `thinking`,
        `hidden` (whether the provider hides the reasoning), and the reason for a missing answer. Text and
        reasoning are separate columns, because explanations are evaluated.
    """
    columns: LogColumns = {"id": [str(document["id"]) for document in documents]}
    column_by_field = {}
    for field in documents[0]:
        if field not in UNUSED_REQUEST_FIELDS:
            column_by_field[field] = field
    columns.update(_select_shared_fields(documents, column_by_field))
    for name in ("text", "thinking", "hidden", LACK):
        columns[name] = []
    for reply in replies:
        columns["text"].append(reply.text)
        columns["thinking"].append(reply.thinking)
        # The model reasoned, but the provider does not return the reasoning.
        columns["hidden"].append(reply.thinks and not reply.thinking)
        columns[LACK].append(reply.no_answer_reason)
    return columns


def make_field_columns(documents: Sequence[Row], used_names: Collection[str]) -> LogColumns:
    """Return a column named "doc.FIELD" for each field that all documents have.

    A field of `LINKS` keeps its name, because it shows which items are related.

    Args:
        documents: Documents or metadata of the items.
        used_names: Names of existing columns, which are not made again.

    Example:
        >>> make_field_columns([{"level": 3, "pair_id": "p"}], {"id"})
        {'doc.level': [3], 'pair_id': ['p']}
    """
    column_by_field = {}
    for field in documents[0]:
        column = field if field in LINKS else f"doc.{field}"
        # Other functions read the fields that the tasks of this package write.
        if column not in used_names and field not in OWN_KEYS:
            column_by_field[field] = column
    return _select_shared_fields(documents, column_by_field)


def select_links(row: Row) -> dict[str, str]:
    """Return the ids that an item shares with related items, as strings.

    Args:
        row: The item, of which the fields `UNIT_LINKS` are read.

    Example:
        >>> select_links({"id": "a", "pair_id": 7, "source_id": ""})
        {'pair_id': '7'}
    """
    links = {}
    for name in UNIT_LINKS:
        # An item without related items has an empty id.
        if row.get(name) not in (None, ""):
            links[name] = str(row[name])
    return links


def _select_shared_fields(documents: Sequence[Row], columns: Mapping[str, str]) -> LogColumns:
    """Return the columns of some fields, without those that a document lacks.

    Args:
        documents: Documents of the items.
        columns: Field -> name of its column.
    """
    shared: LogColumns = {}
    for field, column in columns.items():
        if all(field in document for document in documents):
            shared[column] = [document[field] for document in documents]
    return shared


def make_arm_columns(documents: Iterable[Row]) -> LogColumns:
    """Return the column of the answers to changed versions of each item, as JSON.

    Args:
        documents: Documents of the items, in which the solver or task of this package stores these answers.

    Returns:
        The column, with "" for an item without such answers; an empty mapping if no item has any.

    Example:
        >>> make_arm_columns([{"rightreasons": {"seed": 0}}, {}])
        {'logged_arms': ['{"seed": 0}', '']}
    """
    records = []
    for document in documents:
        record = document.get(ARMS_KEY)
        # Another program may use the same name for a field of another type.
        if isinstance(record, Mapping):
            records.append(json.dumps(record))
        else:
            records.append("")
    if not any(records):
        return {}
    return {ARMS: records}


# ---------------------------------------------------------------------------------- answers


def make_answer_columns(
    texts: Sequence[str],
    answers: Sequence[str],
    targets: Sequence[str],
    missing_answers: LogColumns,
) -> LogColumns:
    """Return the columns `text`, `answer` and `target` of generated answers, and those of missing answers.

    Args:
        texts: (N,) prompts.
        answers: (N,) answers.
        targets: (N,) correct answers.
        missing_answers: Columns that `find_missing_answers` made, which are added.
    """
    columns: LogColumns = {
        "text": list(texts),
        "answer": list(answers),
        "target": list(targets),
    }
    columns.update(missing_answers)
    return columns


def find_missing_answers(
    replies: Iterable[Reply], unread: Iterable[bool], *, accepts_incomplete: bool = False
) -> LogColumns:
    """Return the columns of missing answers: whether each answer is missing, and the reason.

    Args:
        replies: (N,) replies, each of which knows whether it was truncated or refused.
        unread: (N,) whether no answer could be read from each reply.
        accepts_incomplete: Whether an answer that could be read counts even if its reply was truncated or
            refused.

    Returns:
        The columns `answer_unread` (booleans) and `answer_lack` (reasons, "" for an answer that is not
        missing). If no answer is missing, an empty mapping.
    """
    reasons = []
    for reply, is_unread in zip(replies, unread, strict=True):
        reason = ""
        # The reason of a truncated or refused reply is the reply's own.
        if is_unread or not accepts_incomplete:
            reason = reply.no_answer_reason
        if is_unread and not reason:
            reason = NO_READABLE_ANSWER
        reasons.append(reason)
    # A log without missing answers does not have these columns.
    if not any(reasons):
        return {}
    return {UNREAD: list(map(bool, reasons)), LACK: reasons}


def list_unread_replies(
    replies: Iterable[Reply], missing_answers: LogColumns, orders: Iterable[Sequence[int] | None]
) -> LogColumns:
    """Return the column of complete replies from which no rule could read an answer, but a judge may.

    Args:
        replies: (N,) replies to items with choices.
        missing_answers: Columns that `find_missing_answers` made, with the reason of each missing answer.
        orders: (N,) the order in which each item displayed its choices, to which letters in the reply
            refer; None if the order is not known.

    Returns:
        A column of records {"text": …, "order": […]} as JSON, "" for items without such a reply. If there
        is no such reply, an empty mapping.
    """
    if not missing_answers:
        return {}
    records = []
    for reply, reason, order in zip(replies, missing_answers[LACK], orders, strict=True):
        # A judge cannot read an answer from a truncated, refused or empty reply.
        is_complete = reason == NO_READABLE_ANSWER and bool(reply.text.strip())
        record = ""
        if is_complete and order is not None:
            content = {"text": reply.text, "order": list(order)}
            record = json.dumps(content, ensure_ascii=False)
        records.append(record)
    if not any(records):
        return {}
    return {UNREAD_REPLY: records}


METRICS = ("correct", "exact_match", "acc", "em")
"""Metrics that show whether an answer is correct, as lm-evaluation-harness names them, preferred ones first."""

METRIC_PATTERN = re.compile(r"correct|match|acc|em$|pass@|maj@|avg@|mc1|value")
"""Names of such metrics in any harness."""

OUTCOMES = {
    "C": 1,
    "True": 1,
    "1": 1,
    "1.0": 1,
    **dict.fromkeys(("I", "N", "False", "0", "0.0"), 0),
}
"""Value of a metric -> 1 for a correct answer, 0 for an incorrect one. In inspect_ai, N is no answer."""


def find_correct(metrics: Sequence[Row]) -> LogColumns:
    """Return whether each answer is correct, by the first metric whose values are only 0 and 1, or similar.

    Args:
        metrics: (N,) metrics of the samples by name, such as {"acc": 1.0}.

    Returns:
        The column `correct` with 1, 0, or None for a missing value. If there is no such metric, an empty
        mapping.
    """
    names = list(metrics[0])
    # Metrics such as "is_truncated" are 0 or 1 as well, so that several metrics are selected by name.
    if len(names) > 1:
        names = [name for name in names if METRIC_PATTERN.search(name)]
    for name in sorted(names, key=_rank_metric):
        values = [row.get(name) for row in metrics]
        outcomes = _parse_outcomes(values)
        if outcomes is not None:
            return {"correct": outcomes}
    return {}


def _rank_metric(name: str) -> int:
    """Return the position of a metric in `METRICS`; unknown metrics come last."""
    if name in METRICS:
        return METRICS.index(name)
    return len(METRICS)


def _parse_outcomes(values: Sequence[Any]) -> list[int | None] | None:
    """Return the values of a metric as 1 for correct, 0 for incorrect, and None for a missing value.

    Args:
        values: The values, such as "C" and "I", or 1.0 and 0.0.

    Returns:
        The outcomes; None if a value is neither correct, incorrect nor missing, or if all are missing.
    """
    outcomes = []
    for value in values:
        outcome = OUTCOMES.get(str(value))
        # NaN is the only value that differs from itself.
        is_missing = value is None or value != value
        if outcome is None and not is_missing:
            return None
        outcomes.append(outcome)
    if all(outcome is None for outcome in outcomes):
        return None
    return outcomes


def drop_unjudged(columns: LogColumns, log_name: str) -> LogColumns:
    """Drop the samples of a log whose column `correct` has no value, with a warning.

    Args:
        columns: Columns by their names; without a column `correct`, no sample is dropped.
        log_name: Name of the file, for the warning.
    """
    outcomes = columns.get("correct", [])
    n_missing = outcomes.count(None)
    if n_missing == 0:
        return columns
    warn_of_excluded(n_missing, len(outcomes), log_name, "have no score")
    return _select_known(columns, outcomes)


def _select_known(columns: Mapping[str, Any], values: Sequence[Any]) -> LogColumns:
    """Select the rows of columns in which another column has a value other than None.

    Args:
        columns: Columns of N rows by their names.
        values: (N,) the other column.
    """
    rows = [row for row, value in enumerate(values) if value is not None]
    selected: LogColumns = {}
    for name, column in columns.items():
        selected[name] = [column[row] for row in rows]
    return selected


def warn_of_excluded(n_excluded: int, n_samples: int, log_name: str, reason: str) -> None:
    """Warn of samples that are left out, unless there are none.

    Args:
        n_excluded: Number of samples that are left out.
        n_samples: Number of all samples.
        log_name: Name of the file.
        reason: A phrase with the reason, such as "have no score".
    """
    if n_excluded:
        warnings.warn(
            f"{n_excluded:,} of {n_samples:,} samples of {log_name} {reason} and are left out.",
            stacklevel=4,
        )


def select_confident_answers(columns: Mapping[str, Any], log_name: str) -> Mapping[str, Any]:
    """Select the samples of a log whose sampled answers have a confidence, for calibration.

    The columns of labels and answers are dropped, because `correct` shows which answers are correct.

    Args:
        columns: Columns by their names. They are returned unchanged if they are not those of a log of
            sampled answers with confidences.
        log_name: Name of the file, for warnings about excluded samples.
    """
    if PICKED not in columns or "confidence" not in columns:
        return columns
    confidences = list(columns["confidence"])
    n_samples = len(confidences)
    n_missing = confidences.count(None)
    # An unread answer has no confidence either, but only the first warning counts it.
    n_unread = sum(pick < 0 for pick in columns[PICKED])
    warn_of_excluded(n_unread, n_samples, log_name, "have no answer")
    reason = "have no log-probability of the answer"
    warn_of_excluded(n_missing - n_unread, n_samples, log_name, reason)
    selected = dict(columns)
    for name in (PICKED, "label", "answer", UNREAD, LACK, UNREAD_REPLY):
        selected.pop(name, None)
    return _select_known(selected, confidences)


# ---------------------------------------------------------------------------------- samples


def make_id_columns(ids: Sequence[Any]) -> LogColumns:
    """Return the column `id` of samples, with distinct ids even if a sample was answered several times.

    Args:
        ids: The ids of the samples, which repeat if a log has several epochs.

    Returns:
        The column `id`. If ids repeat, also `source_id` with the original ids, which show the rows that are
        not independent.

    Example:
        >>> make_id_columns([1, 2, 1])
        {'id': ['1/1', '2/1', '1/2'], 'source_id': ['1', '2', '1']}
    """
    names = list(map(str, ids))
    if len(set(names)) == len(names):
        return {"id": names}
    # The first answer to "7" becomes "7/1", the second one "7/2".
    counts: Counter[str] = Counter()
    unique_names = []
    for name in names:
        counts[name] += 1
        unique_names.append(f"{name}/{counts[name]}")
    return {"id": unique_names, "source_id": names}


def normalize_scores(
    logits: Sequence[Sequence[float]], texts: Sequence[Sequence[str]]
) -> LogColumns:
    """Divide the log-likelihoods of choices by their lengths, in characters and in bytes.

    Args:
        logits: (N,) lists of the log-likelihoods of the choices of each item.
        texts: (N,) lists of the choices, without the space in front of a choice, which is not counted.

    Returns:
        The columns `per_character` and `per_byte`. If a choice is empty, an empty mapping, because its
        log-likelihood cannot be divided.
    """
    # The log-likelihood of an empty choice cannot be divided by its length.
    for choices in texts:
        if "" in choices:
            return {}
    per_character = []
    per_byte = []
    for scores, choices in zip(logits, texts, strict=True):
        by_character = []
        by_byte = []
        for score, text in zip(scores, choices, strict=True):
            by_character.append(score / len(text))
            by_byte.append(score / _count_bytes(text))
        per_character.append(by_character)
        per_byte.append(by_byte)
    return {"per_character": per_character, "per_byte": per_byte}


def _count_bytes(text: str) -> int:
    # Half of a surrogate pair counts as well, although it cannot be encoded strictly.
    return len(text.encode("utf-8", "surrogatepass"))


def choose_source(kind: str, names: Collection[str], requested: str | None, log_name: str) -> str:
    """Return the filter, scorer or provider of a log to read: the requested or the only one.

    Args:
        kind: "filter", "scorer" or "provider", for error messages.
        names: The names of the filters, scorers or providers in the log.
        requested: The name that the user gave; None if the user gave none.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If the log has several and none is requested, or if it lacks the requested one.
    """
    # The names are sorted, so that messages list them in a fixed order.
    sources = sorted(names)
    if requested is None and len(sources) > 1:
        raise SeveralSourcesError(
            f"Expected the answers of one {kind} in {log_name}, but got the answers of "
            f"{format_list(sources)}. Choose one with `log_filter`.",
            kind=kind,
            sources=sources,
            option="log_filter",
        )
    if requested is not None and requested not in sources:
        raise make_unknown_name_error(f"{kind} of {log_name}", requested, sources)
    return requested or sources[0]


# ---------------------------------------------------------------------------------- the model of a log


SAMPLE_FILES = re.compile(
    r"(?:samples|details)_(.+?)(?:\|\d+)?_\d{4}-\d\d-\d\dT[\d.:-]+\.(?:jsonl|parquet)"
)
"""Names of files of samples of lm-evaluation-harness, and of details of lighteval."""


def find_model_and_task(path: str | Path, columns: Mapping[str, Any]) -> tuple[str, str]:
    """Return the model whose answers a file contains, and the task.

    The names are parts of the path of a log of two harnesses:

    - lm-evaluation-harness: MODEL/samples_TASK_DATE.jsonl, with "__" for "/" in the model;
    - lighteval: details/MODEL/DATE/details_TASK_DATE.parquet.

    For any other file, they are the values of the columns `model` and `task`, if these are constant.

    Args:
        path: The file.
        columns: The columns of the file by their names.

    Returns:
        The model and the task, each "" if it is unknown.

    Example:
        >>> find_model_and_task("logs/HuggingFaceTB__SmolLM2-135M/samples_piqa_2026-11-22T10-00-00.123456.jsonl", {})
        ('HuggingFaceTB/SmolLM2-135M', 'piqa')
        >>> find_model_and_task("details/org/gpt2/2026-11-27T23-38-56.16/details_copa|0_2026-11-27T23-38-56.16.parquet", {})
        ('org/gpt2', 'copa')
        >>> find_model_and_task("answers.csv", {"model": ["m", "m"], "task": ["a", "b"]})
        ('m', '')
    """
    file = Path(path)
    sample_file = SAMPLE_FILES.fullmatch(file.name)
    if sample_file is None:
        return _get_constant(columns, "model"), _get_constant(columns, "task")
    task = sample_file[1]
    if file.suffix != ".parquet":
        return file.parent.name.replace("__", "/"), task
    # The name of a model of the hub, such as org/gpt2, is a path of two folders.
    folder_of_model = file.parent.parent.as_posix()
    _, details, model = folder_of_model.rpartition("details/")
    if not details:
        model = ""
    return model, task


def _get_constant(columns: Mapping[str, Any], name: str) -> str:
    """Return the string that a column has in all rows; "" if the column is missing, or not constant.

    Args:
        columns: Columns by their names.
        name: The name of the column.
    """
    texts: set[str] = set()
    for value in columns.get(name, ()):
        if not isinstance(value, str):
            return ""
        texts.add(value)
    if len(texts) != 1:
        return ""
    return texts.pop()
