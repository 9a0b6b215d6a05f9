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
    """Return what is inside a value of JSON; None if it is not there.

    Args:
        value: The value.
        *steps: A key of an object or a position in a list for each level.

    Example:
        >>> get_inner({"choices": [{"text": "B"}]}, "choices", 0, "text")
        'B'
    """
    for step in steps:
        # Logs are written by others: any level may be of another kind, or be missing.
        if isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        elif isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        else:
            return None
    return value


def to_list(value: Any) -> list[Any]:
    """Return a list of the elements of a value: none for None, and a single value as the only one."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value]


def list_objects(value: Any) -> list[Row]:
    """Return the objects in a list; [] for anything else."""
    objects: list[Row] = []
    if not isinstance(value, (list, tuple)):
        return objects
    for element in value:
        if isinstance(element, Mapping):
            objects.append(element)
    return objects


def list_user_texts(messages: Any) -> list[str]:
    """Return what the user wrote in some messages."""
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
    """Return the columns of requests from `data export --reasons`, and of the replies to them."""
    columns: LogColumns = {"id": []}
    for document in documents:
        columns["id"].append(str(document["id"]))
    names = {}
    for name in documents[0]:
        if name not in UNUSED_EXPORTED:
            names[name] = name
    columns.update(_select_shared_fields(documents, names))
    # The explanation is the answer here, so that text and reasoning are kept apart.
    for name in ("text", "thinking", "hidden", LACK):
        columns[name] = []
    for reply in replies:
        columns["text"].append(reply.text)
        columns["thinking"].append(reply.thinking)
        columns["hidden"].append(reply.thinks and not reply.thinking)
        columns[LACK].append(reply.no_answer_reason)
    return columns


def field_columns(documents: Sequence[Row], used_names: Collection[str]) -> LogColumns:
    """Return the fields that all items have as columns, `doc.<name>` or a name of `LINKS`.

    Args:
        documents: Documents or metadata of the items.
        used_names: Names of columns that there are already.

    Example:
        >>> field_columns([{"level": 3, "pair_id": "p"}], {"id"})
        {'doc.level': [3], 'pair_id': ['p']}
    """
    columns = {}
    for name in documents[0]:
        column = f"doc.{name}"
        if name in LINKS:
            column = name
        # Answers to other requests about an item are read by themselves.
        if column not in used_names and name not in OWN_KEYS:
            columns[name] = column
    return _select_shared_fields(documents, columns)


def select_links(row: Row) -> dict[str, str]:
    """Return the ids that an item shares with related ones.

    Example:
        >>> select_links({"id": "a", "pair_id": 7, "source_id": ""})
        {'pair_id': '7'}
    """
    links = {}
    for name in UNIT_LINKS:
        # An item without a partner is a unit by itself.
        if row.get(name) not in (None, ""):
            links[name] = str(row[name])
    return links


def _select_shared_fields(documents: Sequence[Row], columns: Mapping[str, str]) -> LogColumns:
    """Return the fields that all documents have, under the names of their columns."""
    shared: LogColumns = {}
    for name, column in columns.items():
        # A field that some documents lack would be a column with holes.
        if all(name in document for document in documents):
            shared[column] = [document[name] for document in documents]
    return shared


def arm_columns(documents: Iterable[Row]) -> LogColumns:
    """Return the answers to the changed versions of each sample as JSON; {} if no sample has any.

    Example:
        >>> arm_columns([{"rightreasons": {"seed": 0}}, {}])
        {'logged_arms': ['{"seed": 0}', '']}
    """
    records = []
    for document in documents:
        record = document.get(ARMS_KEY)
        text = ""
        # A document may have a field of this name that is not ours.
        if isinstance(record, Mapping):
            text = json.dumps(record)
        records.append(text)
    if not any(records):
        return {}
    return {ARMS: records}


# ---------------------------------------------------------------------------------- answers


def make_answer_columns(
    texts: Sequence[str], answers: Sequence[str], targets: Sequence[str], lacks: LogColumns
) -> LogColumns:
    """Return the columns of generated answers.

    Args:
        texts: What was asked.
        answers: The answers.
        targets: The correct answers.
        lacks: From `find_lacks`.
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
    """Return the reasons why replies have no answer, as columns; {} if all have one.

    Args:
        replies: The replies.
        unread: Whether an answer cannot be read in each.
        read_alone: Whether an answer that can be read is one, however its reply ended.
    """
    lacks = []
    for reply, is_unread in zip(replies, unread, strict=True):
        lack = ""
        # A reply that was cut has no answer, unless one can be read before the cut.
        if is_unread or not read_alone:
            lack = reply.no_answer_reason
        if is_unread and not lack:
            lack = NO_READABLE_ANSWER
        lacks.append(lack)
    if not any(lacks):
        return {}
    return {UNREAD: list(map(bool, lacks)), LACK: lacks}


def list_unread_replies(
    replies: Iterable[Reply], lacks: LogColumns, orders: Iterable[Sequence[int] | None]
) -> LogColumns:
    """Return the texts of the answers that ended as they should, and cannot be read.

    Args:
        replies: The replies to items with choices.
        lacks: From `find_lacks`.
        orders: The order in which each item displayed its choices; None if it is not known, so that
            the letters in the text mean nothing.
    """
    if not lacks:
        return {}
    texts = []
    for reply, reason, order in zip(replies, lacks[LACK], orders, strict=True):
        text = ""
        # A judge can read only what ended as it should, with the letters that it was shown.
        is_readable = reason == NO_READABLE_ANSWER and bool(reply.text.strip())
        if is_readable and order is not None:
            record = {"text": reply.text, "order": list(order)}
            text = json.dumps(record, ensure_ascii=False)
        texts.append(text)
    if not any(texts):
        return {}
    return {UNREAD_REPLY: texts}


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
        metrics: Metrics of each sample by name.

    Returns:
        The column `correct` with 1, 0, or None for a missing value; {} without such a metric.
    """
    names = list(metrics[0])
    # Of several, such as "is_truncated" next to "extractive_match", the name tells.
    if len(names) > 1:
        names = list(filter(METRIC_PATTERN.search, names))
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
    """Return 1 and 0 for outcomes, None for a missing value; None for values of another kind."""
    outcomes = []
    for value in values:
        outcome = OUTCOMES.get(str(value))
        # NaN is a missing value as well.
        is_missing = value is None or value != value
        if outcome is None and not is_missing:
            return None
        outcomes.append(outcome)
    # A metric without any value says nothing.
    if all(outcome is None for outcome in outcomes):
        return None
    return outcomes


def drop_unjudged(columns: LogColumns, log_name: str) -> LogColumns:
    """Return columns without the samples that were not judged, and warn of them."""
    outcomes = columns.get("correct", [])
    n_missing = outcomes.count(None)
    if n_missing == 0:
        return columns
    warn_of_excluded(n_missing, len(outcomes), log_name, "have no score")
    return _select_known(columns, outcomes)


def _select_known(columns: Mapping[str, Any], values: Sequence[Any]) -> LogColumns:
    """Return the rows of columns that have a value."""
    rows = []
    for row, value in enumerate(values):
        if value is not None:
            rows.append(row)
    selected: LogColumns = {}
    for name, column in columns.items():
        selected[name] = [column[row] for row in rows]
    return selected


def warn_of_excluded(n_excluded: int, n_samples: int, log_name: str, reason: str) -> None:
    """Warn of samples that are left out, unless there are none."""
    if n_excluded:
        warnings.warn(
            f"{n_excluded:,} of {n_samples:,} samples of {log_name} {reason} and are left out.",
            stacklevel=4,
        )


def select_confident_answers(columns: Mapping[str, Any], log_name: str) -> Mapping[str, Any]:
    """Return the rows of a log of drawn answers that have a confidence, without the label.

    Whether a drawn answer is correct is known from the column `correct`. Columns of any other file,
    and of a log without confidences, are returned as they are.

    Args:
        columns: Column by name.
        log_name: Name of the file, for warnings.
    """
    if PICKED not in columns or "confidence" not in columns:
        return columns
    confidences = list(columns["confidence"])
    n_samples = len(confidences)
    # An unread answer has no confidence, and is counted once.
    n_unread = sum(pick < 0 for pick in columns[PICKED])
    n_missing = confidences.count(None)
    warn_of_excluded(n_unread, n_samples, log_name, "have no answer")
    reason = "tell no log-probability of their answer"
    warn_of_excluded(n_missing - n_unread, n_samples, log_name, reason)
    # The remaining rows all have an answer.
    selected = dict(columns)
    for name in (PICKED, "label", "answer", UNREAD, LACK, UNREAD_REPLY):
        selected.pop(name, None)
    return _select_known(selected, confidences)


# ---------------------------------------------------------------------------------- samples


def make_units(ids: Sequence[Any]) -> LogColumns:
    """Return the ids of samples; if some were answered several times, also what belongs together.

    Example:
        >>> make_units([1, 2, 1])
        {'id': ['1/1', '2/1', '1/2'], 'source_id': ['1', '2', '1']}
    """
    names = list(map(str, ids))
    if len(set(names)) == len(names):
        return {"id": names}
    counts: Counter[str] = Counter()
    unique_names = []
    for name in names:
        counts[name] += 1
        unique_names.append(f"{name}/{counts[name]}")
    return {"id": unique_names, "source_id": names}


def normalize_scores(
    logits: Sequence[Sequence[float]], texts: Sequence[Sequence[str]]
) -> LogColumns:
    """Return log-likelihoods per character and per byte of each choice; {} if a choice is empty.

    Args:
        logits: Log-likelihoods of the choices of each item.
        texts: Choices without the space in front of them, which the harness does not count.
    """
    # An empty choice has no length to divide by.
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
    """Return the filter, scorer or provider whose answers are meant: the named one, or the only one.

    Args:
        kind: What the names are of.
        names: Those that the log contains.
        requested: The name that the user gave; None for none.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If there are several and none is named, or the one named is not there.
    """
    sources = sorted(names)
    if requested is None and len(sources) > 1:
        raise SeveralSourcesError(
            f"Expected the answers of one {kind} in {log_name}, but it has those of "
            f"{format_list(sources)}; name one with `log_filter`.",
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

    They are the columns `model` and `task` if these are constant. Of lm-evaluation-harness, they are
    the name of the folder, with "__" for "/", and that of the file; of lighteval those of the folders
    between "details" and the date, and of the file, with the suite, as in "leaderboard|piqa".

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
    samples = SAMPLE_FILES.fullmatch(file.name)
    if samples is None:
        model = _get_constant(columns, "model")
        task = _get_constant(columns, "task")
        return model, task
    task = samples[1]
    if file.suffix != ".parquet":
        return file.parent.name.replace("__", "/"), task
    # A name of the Hub is two folders.
    _, details, model = file.parent.parent.as_posix().rpartition("details/")
    if not details:
        model = ""
    return model, task


def _get_constant(columns: Mapping[str, Any], name: str) -> str:
    """Return the only text of a column; "" if there are several, or none."""
    texts: set[str] = set()
    for value in columns.get(name, ()):
        if not isinstance(value, str):
            return ""
        texts.add(value)
    return texts.pop() if len(texts) == 1 else ""
