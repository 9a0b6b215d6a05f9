"""What the logs of all harnesses share: the names of their columns, and what becomes of answers.

`rightreasons.io.harnesses.inspect_logs` reads those of inspect_ai, `rightreasons.io.harnesses.lm_eval_logs` those of
lm-evaluation-harness, and `rightreasons.io.log_forms` all formats that are described as data.
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
"""Columns with the id that related items share, which are one unit of an interval."""

LINKS = (*UNIT_LINKS, "role", "is_original", "mirrored")
"""Fields of a document that keep their names, since they say which items belong together."""

UNREAD = "answer_unread"
"""Column: whether a sample has no answer that can be read. It is missing if all have one."""

LACK = "answer_lack"
"""Column: the reason why a sample has no answer, "" if it has one. It is missing if all have one."""

UNREAD_REPLY = "unread_reply"
"""Column: the text of an unread answer to an item with choices, and the order in which it saw the
choices, as JSON; "" for other samples. It is missing if there is none."""

NO_READABLE_ANSWER = "no answer that can be read"
"""Reason of an answer that ended as it should, and cannot be read."""

PICKED = "answer_choice"
"""Column of a log of drawn answers: the index of the choice of each answer, -1 for no answer."""

ARMS_KEY = "rightreasons"
"""Name under which a sample or a document contains the answers to its changed versions."""

ITEM_KEY = "rightreasons_item"
"""Name under which a document that is one version of an item contains the id of the item."""

REQUESTS_KEY = "rightreasons_requests"
"""Name under which a sample or a document contains the answers to the requests of an audit."""

OWN_KEYS = (ARMS_KEY, REQUESTS_KEY)
"""Fields of a document that our tasks write."""

ARMS = "logged_arms"
"""Column: these answers, as JSON. It is missing if no sample has any."""

ARMS_COMMAND = "arms_command"
"""Column: the command that asks the same items in all arms."""

NORMALIZED = ("per_character", "per_byte", "unconditional")
"""Columns of log-likelihoods in other measures than their sum."""

# ---------------------------------------------------------------------------------- values of JSON


def get_inner(value: Any, *steps: str | int) -> Any:
    """Return what is inside a value of JSON at some keys and positions; None if it is not there.

    Logs are written by other programs, so that any level may be missing or of another type.

    Args:
        value: The value.
        *steps: A key of an object or a position in a list for each level.

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
    """Return a value as a list: [] for None, and a list of one for a single value."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value]


def list_objects(value: Any) -> list[Row]:
    """Return the objects among the members of a list; [] for anything that is no list."""
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
    """Return the position of a letter among those of some choices; None for anything else.

    Example:
        >>> find_letter("B", ["yes", "no"]), find_letter("C", ["yes", "no"])
        (1, None)
    """
    position = LETTERS.find(mark)
    # A text of several letters may occur in the alphabet as well.
    if len(mark) != 1 or not 0 <= position < len(choices):
        return None
    return position


# ---------------------------------------------------------------------------------- fields of documents


EXPORTED = frozenset(("id", "number", "arm", "asked", "prompt", "choices", "options", "label"))
"""Fields of a document, or of the metadata of a sample, from `rightreasons data export --reasons`."""

UNUSED_EXPORTED = frozenset(("id", "number", "task", "text", "text_pair", "turns"))
"""Fields of such a document that are separate columns, or none."""


def are_exported(documents: Iterable[Any]) -> bool:
    """Return whether documents, or the metadata of samples, are from `data export --reasons`."""
    # A single sample of another kind makes it another log.
    return all(map(_is_exported, documents))


def _is_exported(document: Any) -> bool:
    return isinstance(document, Mapping) and document.keys() >= EXPORTED


def exported_columns(documents: Sequence[Row], replies: Iterable[Reply]) -> LogColumns:
    """Return the columns of requests that `data export --reasons` wrote, with the replies to them.

    Args:
        documents: The documents of the requests, or the metadata of their samples.
        replies: The replies, in the same order.

    Returns:
        The ids, the fields of the documents, and `text`, `thinking`, `hidden` and the reason for a
        missing answer of each reply. Text and reasoning stay separate, because explanations are
        evaluated.
    """
    columns: LogColumns = {"id": [str(document["id"]) for document in documents]}
    column_by_field = {}
    for field in documents[0]:
        if field not in UNUSED_EXPORTED:
            column_by_field[field] = field
    columns.update(_select_shared_fields(documents, column_by_field))
    for name in ("text", "thinking", "hidden", LACK):
        columns[name] = []
    for reply in replies:
        columns["text"].append(reply.text)
        columns["thinking"].append(reply.thinking)
        # The model reasoned, but its provider does not show it.
        columns["hidden"].append(reply.thinks and not reply.thinking)
        columns[LACK].append(reply.no_answer_reason)
    return columns


def field_columns(documents: Sequence[Row], used_names: Collection[str]) -> LogColumns:
    """Return the fields that all items have as columns named "doc.FIELD".

    A field of `LINKS` keeps its name, because it says which items belong together.

    Args:
        documents: Documents or metadata of the items.
        used_names: Names of columns that exist already, which are skipped.

    Example:
        >>> field_columns([{"level": 3, "pair_id": "p"}], {"id"})
        {'doc.level': [3], 'pair_id': ['p']}
    """
    column_by_field = {}
    for field in documents[0]:
        column = field if field in LINKS else f"doc.{field}"
        # The fields that our own tasks write are read separately.
        if column not in used_names and field not in OWN_KEYS:
            column_by_field[field] = column
    return _select_shared_fields(documents, column_by_field)


def select_links(row: Row) -> dict[str, str]:
    """Return the ids that an item shares with related items, as texts.

    Args:
        row: The item, of which the fields in `UNIT_LINKS` count.

    Example:
        >>> select_links({"id": "a", "pair_id": 7, "source_id": ""})
        {'pair_id': '7'}
    """
    links = {}
    for name in UNIT_LINKS:
        # An item without a partner has an empty id.
        if row.get(name) not in (None, ""):
            links[name] = str(row[name])
    return links


def _select_shared_fields(documents: Sequence[Row], columns: Mapping[str, str]) -> LogColumns:
    """Return those fields that all documents have, as columns.

    Args:
        documents: Documents of the items.
        columns: Field -> the name of its column.
    """
    shared: LogColumns = {}
    for field, column in columns.items():
        if all(field in document for document in documents):
            shared[column] = [document[field] for document in documents]
    return shared


def arm_columns(documents: Iterable[Row]) -> LogColumns:
    """Return the column of the answers to changed versions of each item, as JSON.

    Args:
        documents: Documents of the items, in which our solver or task stores these answers.

    Returns:
        The column, with "" for an item without them; {} if no item has any.

    Example:
        >>> arm_columns([{"rightreasons": {"seed": 0}}, {}])
        {'logged_arms': ['{"seed": 0}', '']}
    """
    records = []
    for document in documents:
        record = document.get(ARMS_KEY)
        # A field of this name may also be somebody else's.
        if isinstance(record, Mapping):
            records.append(json.dumps(record))
        else:
            records.append("")
    if not any(records):
        return {}
    return {ARMS: records}


# ---------------------------------------------------------------------------------- answers


def make_answer_columns(
    texts: Sequence[str], answers: Sequence[str], targets: Sequence[str], lacks: LogColumns
) -> LogColumns:
    """Return the columns `text`, `answer` and `target` of generated answers.

    Args:
        texts: The prompt of each item.
        answers: The answer to each item.
        targets: The correct answer to each item.
        lacks: Columns with the reasons for missing answers, from `find_lacks`.
    """
    columns: LogColumns = {
        "text": list(texts),
        "answer": list(answers),
        "target": list(targets),
    }
    columns.update(lacks)
    return columns


def find_lacks(
    replies: Iterable[Reply], unread: Iterable[bool], *, read_alone: bool = False
) -> LogColumns:
    """Return columns that say which replies have no answer, and why.

    Args:
        replies: The reply to each item.
        unread: Whether no answer could be read in each reply.
        read_alone: Whether an answer counts if it could be read, even from a truncated reply.

    Returns:
        Whether an answer is missing, and the reason, "" for none; {} if no answer is missing.
    """
    reasons = []
    for reply, is_unread in zip(replies, unread, strict=True):
        reason = ""
        # A truncated or refused reply has its own reason.
        if is_unread or not read_alone:
            reason = reply.no_answer_reason
        if is_unread and not reason:
            reason = NO_READABLE_ANSWER
        reasons.append(reason)
    if not any(reasons):
        return {}
    return {UNREAD: list(map(bool, reasons)), LACK: reasons}


def list_unread_replies(
    replies: Iterable[Reply], lacks: LogColumns, orders: Iterable[Sequence[int] | None]
) -> LogColumns:
    """Return the column of the replies that a judge may read, because no rule could.

    These are complete replies to items with choices, without a readable answer.

    Args:
        replies: The reply to each item.
        lacks: Columns with the reasons for missing answers, from `find_lacks`.
        orders: The order in which each item displayed its choices, to which letters in the reply
            refer; None if it is not known.

    Returns:
        A record {"text": …, "order": […]} per item as JSON, "" for other items; {} if there is none.
    """
    if not lacks:
        return {}
    records = []
    for reply, reason, order in zip(replies, lacks[LACK], orders, strict=True):
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
"""Metrics that say whether an answer is correct, those of lm-evaluation-harness first."""

METRIC_PATTERN = re.compile(r"correct|match|acc|em$|pass@|maj@|avg@|mc1|value")
"""How such metrics are named elsewhere."""

OUTCOMES = {
    "C": 1,
    "True": 1,
    "1": 1,
    "1.0": 1,
    **dict.fromkeys(("I", "N", "False", "0", "0.0"), 0),
}
"""What harnesses call a correct and an incorrect answer; N is no answer in inspect_ai."""


def find_correct(metrics: Sequence[Row]) -> LogColumns:
    """Return whether each answer is correct, by the first metric whose values are only outcomes.

    Args:
        metrics: Metrics of each sample by name, as in {"acc": 1.0}.

    Returns:
        The column `correct` with 1, 0, or None for a missing value; {} without such a metric.
    """
    names = list(metrics[0])
    # Other metrics may be 0 or 1 as well, such as "is_truncated": among several, the name decides.
    if len(names) > 1:
        names = [name for name in names if METRIC_PATTERN.search(name)]
    for name in sorted(names, key=_rank_metric):
        values = [row.get(name) for row in metrics]
        outcomes = _parse_outcomes(values)
        if outcomes is not None:
            return {"correct": outcomes}
    return {}


def _rank_metric(name: str) -> int:
    """Return the rank of a metric; those that are not known come last, in their order."""
    if name in METRICS:
        return METRICS.index(name)
    return len(METRICS)


def _parse_outcomes(values: Sequence[Any]) -> list[int | None] | None:
    """Return the values of a metric as 1 for correct, 0 for incorrect, and None for a missing value.

    Args:
        values: The values, such as "C" and "I", or 1.0 and 0.0.

    Returns:
        The outcomes; None if some value is no outcome, or if all are missing.
    """
    outcomes = []
    for value in values:
        outcome = OUTCOMES.get(str(value))
        # NaN differs from itself.
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
        columns: Column by name; without the column, all samples are kept.
        log_name: Name of the file, for the warning.
    """
    outcomes = columns.get("correct", [])
    n_missing = outcomes.count(None)
    if n_missing == 0:
        return columns
    warn_of_excluded(n_missing, len(outcomes), log_name, "have no score")
    return _select_known(columns, outcomes)


def _select_known(columns: Mapping[str, Any], values: Sequence[Any]) -> LogColumns:
    """Select the rows of columns for which a value is not None.

    Args:
        columns: Column by name.
        values: A value per row.
    """
    rows = []
    for row, value in enumerate(values):
        if value is not None:
            rows.append(row)
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
        reason: A phrase that says why, such as "have no score".
    """
    if n_excluded:
        warnings.warn(
            f"{n_excluded:,} of {n_samples:,} samples of {log_name} {reason} and are left out.",
            stacklevel=4,
        )


def select_confident_answers(columns: Mapping[str, Any], log_name: str) -> Mapping[str, Any]:
    """Select the samples of a log whose sampled answers have a confidence, for calibration.

    The columns of the labels and answers are dropped, because `correct` says which answers are correct.

    Args:
        columns: Column by name; those of another file, or without confidences, are returned as they are.
        log_name: Name of the file, for warnings about the samples that are left out.
    """
    if PICKED not in columns or "confidence" not in columns:
        return columns
    confidences = list(columns["confidence"])
    n_samples = len(confidences)
    n_missing = confidences.count(None)
    # An unread answer has no confidence either, and is only counted as unread.
    n_unread = sum(pick < 0 for pick in columns[PICKED])
    warn_of_excluded(n_unread, n_samples, log_name, "have no answer")
    reason = "have no log-probability of the answer"
    warn_of_excluded(n_missing - n_unread, n_samples, log_name, reason)
    selected = dict(columns)
    for name in (PICKED, "label", "answer", UNREAD, LACK, UNREAD_REPLY):
        selected.pop(name, None)
    return _select_known(selected, confidences)


# ---------------------------------------------------------------------------------- samples


def make_units(ids: Sequence[Any]) -> LogColumns:
    """Return the column of the ids of samples, made unique if a sample was answered several times.

    Args:
        ids: The ids of the samples, which repeat for several epochs.

    Returns:
        The column `id`; if ids repeat, also `source_id` with the original ones, which are the
        independent units.

    Example:
        >>> make_units([1, 2, 1])
        {'id': ['1/1', '2/1', '1/2'], 'source_id': ['1', '2', '1']}
    """
    names = list(map(str, ids))
    if len(set(names)) == len(names):
        return {"id": names}
    # The first answer to "7" becomes "7/1", the second one "7/2".
    n_seen: Counter[str] = Counter()
    unique_names = []
    for name in names:
        n_seen[name] += 1
        unique_names.append(f"{name}/{n_seen[name]}")
    return {"id": unique_names, "source_id": names}


def normalize_scores(
    logits: Sequence[Sequence[float]], texts: Sequence[Sequence[str]]
) -> LogColumns:
    """Divide the log-likelihoods of choices by their lengths, in characters and in bytes.

    Args:
        logits: Log-likelihoods of the choices of each item.
        texts: The choices of each item, without the space in front of them, which is not counted.

    Returns:
        The columns `per_character` and `per_byte`; {} if a choice is empty, and has no length.
    """
    # `all` of a list of texts is false if one of them is empty.
    if not all(map(all, texts)):
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
    # Half of a surrogate pair has bytes, too.
    return len(text.encode("utf-8", "surrogatepass"))


def one_source(kind: str, names: Collection[str], requested: str | None, log_name: str) -> str:
    """Return the filter, scorer or provider of a log whose answers are read: the requested or the only one.

    Args:
        kind: What the names are of, for errors: "filter", "scorer" or "provider".
        names: Those in the log.
        requested: The name that the user gave; None for none.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If there are several and none is requested, or the requested one is not there.
    """
    # Errors list the names in a fixed order.
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


def logged(path: str | Path, columns: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the model whose answers a file contains, and of its task; "" if unknown.

    They are the columns `model` and `task` if these are constant, or parts of the path:

    - lm-evaluation-harness: MODEL/samples_TASK_DATE.jsonl, with "__" for "/" in the model;
    - lighteval: details/MODEL/DATE/details_TASK_DATE.parquet.

    Args:
        path: The file.
        columns: Its columns by name.

    Example:
        >>> logged("logs/HuggingFaceTB__SmolLM2-135M/samples_piqa_2026-11-22T10-00-00.123456.jsonl", {})
        ('HuggingFaceTB/SmolLM2-135M', 'piqa')
        >>> logged("details/org/gpt2/2026-11-27T23-38-56.16/details_copa|0_2026-11-27T23-38-56.16.parquet", {})
        ('org/gpt2', 'copa')
        >>> logged("answers.csv", {"model": ["m", "m"], "task": ["a", "b"]})
        ('m', '')
    """
    file = Path(path)
    sample_file = SAMPLE_FILES.fullmatch(file.name)
    if sample_file is None:
        return _get_constant(columns, "model"), _get_constant(columns, "task")
    task = sample_file[1]
    if file.suffix != ".parquet":
        return file.parent.name.replace("__", "/"), task
    # A model of the hub is two folders, such as org/gpt2.
    folder_of_model = file.parent.parent.as_posix()
    _, details, model = folder_of_model.rpartition("details/")
    if not details:
        model = ""
    return model, task


def _get_constant(columns: Mapping[str, Any], name: str) -> str:
    """Return the text that a column has in all rows; "" if there is no such column, or its values differ."""
    texts: set[str] = set()
    for value in columns.get(name, ()):
        if not isinstance(value, str):
            return ""
        texts.add(value)
    if len(texts) != 1:
        return ""
    return texts.pop()
