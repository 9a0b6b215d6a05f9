"""Logs of harnesses whose formats are data: `log_forms.yaml` says where each has its samples and answers.

`log_columns` turns the samples of any log of lines or records into columns; a format that is not in
the table is that of lm-evaluation-harness, which `rightreasons.io.logs` reads.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rightreasons.core.replies import Reply
from rightreasons.core.validation import check_all
from rightreasons.core.yaml_files import read_yaml
from rightreasons.io.harnesses.lm_eval_logs import KEYS, lm_eval_columns
from rightreasons.io.harnesses.log_samples import LoggedSample, make_sample_columns
from rightreasons.io.logs import (
    ARMS,
    LogColumns,
    Row,
    drop_unjudged,
    get_inner,
    list_user_texts,
    make_units,
    one_source,
    to_list,
)

Form: TypeAlias = Mapping[str, Any]

ALL = "*"
"""Step of a path that selects all members of a list."""

FILE = "file"
"""First step of a path outside of the samples."""

LOG_TYPES = (".eval", ".json", ".jsonl", ".parquet")
"""Types of files that logs of harnesses have."""

SUMMARY_FILES = re.compile(r"results_.*\.json|.*\.header\.json|logs\.json|listing\.json")
"""Names of files that harnesses write next to their logs, without answers."""

LM_EVAL_FORM: Form = {"keys": sorted(KEYS)}
"""Format of lm-evaluation-harness, whose samples need more than paths."""


@functools.cache
def list_forms() -> tuple[Form, ...]:
    """Return the formats of `log_forms.yaml`."""
    path = Path(__file__).with_suffix(".yaml")
    return tuple(read_yaml(path))


def find_form(content: object) -> Form | None:
    """Return the format of a log by the keys of one of its samples, or of the whole file.

    Args:
        content: The parsed JSON of a sample or a file.

    Returns:
        The entry of `log_forms.yaml`, or `LM_EVAL_FORM`; None for anything that is no log.
    """
    if not isinstance(content, Mapping):
        return None
    for form in (LM_EVAL_FORM, *list_forms()):
        has_keys = [_has_path(content, key) for key in form["keys"]]
        if all(has_keys):
            return form
    return None


def _has_path(content: Row, path: str) -> bool:
    """Return whether an object has a key at a path such as "doc.query" or "trials.0.score".

    The value may be missing (null), but not the key.
    """
    *parents, name = path.split(".")
    # A number is a position in a list.
    steps = [int(step) if step.isdecimal() else step for step in parents]
    parent = get_inner(content, *steps)
    return isinstance(parent, Mapping) and name in parent


def is_log(content: object) -> bool:
    """Return whether a JSON object, or a row of a table, is a sample of a log, or a whole log.

    Example:
        >>> is_log({"text": "good", "label": 1})
        False
    """
    return find_form(content) is not None


def complete_log(content: Any, path: Path) -> Any:
    """Add to the content of a log what is outside of its file: the folder, and the rows of a second file.

    Args:
        content: Content of the file; anything that is no log of several files is returned as it is.
        path: The file.

    Returns:
        The content with "folder", and with "joined" if there is a second file: id -> metrics.
    """
    form = find_form(content)
    if form is None or "rows" not in form:
        return content
    completed = {**content, "folder": path.resolve().parent.name}
    join = form.get("join")
    if join is None:
        return completed
    second_file = path.with_name(join["file"])
    # Without metrics, the answers are compared with the labels.
    if second_file.is_file():
        completed["joined"] = _read_joined_rows(second_file, join)
    return completed


def _read_joined_rows(path: Path, join: Form) -> dict[str, dict[str, Any]]:
    """Read the metrics of each sample from the second file of a log.

    Args:
        path: The second file.
        join: The paths of the ids, the names and the values in its rows.

    Returns:
        Id of a sample -> its metrics by name.
    """
    metrics_by_id = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        sample_id = _find_first(row, join["by"])
        metrics_by_id[str(sample_id)] = _pair_metrics(row, join["names"], join["values"])
    return metrics_by_id


def _pair_metrics(row: Row, names: str, values: str) -> dict[str, Any]:
    """Return metrics whose names and values are in lists."""
    metric_names = _follow(row, names)
    metric_values = _follow(row, values)
    return dict(zip(metric_names, metric_values, strict=True))


def is_joined_file(path: Path) -> bool:
    """Return whether a file is the second file of a log, which is read together with the first."""
    for form in list_forms():
        join = form.get("join")
        if join is None or path.name != join["file"]:
            continue
        # The name of such a format ends in that of the first file, in brackets.
        first_file = form["name"].partition("(")[2].rstrip(")")
        return path.with_name(first_file).is_file()
    return False


def list_logs(folder: Path) -> list[Path]:
    """Return the files of a folder, and of those in it, that may be logs of harnesses, in order.

    Args:
        folder: The folder.
    """
    logs = []
    for file in sorted(folder.rglob("*")):
        if file.suffix not in LOG_TYPES or SUMMARY_FILES.fullmatch(file.name):
            continue
        # Some harnesses write several files about one run.
        if not is_joined_file(file):
            logs.append(file)
    return logs


def log_columns(rows: Sequence[Any], file_name: str, log_filter: str | None = None) -> LogColumns:
    """Read the samples of a log of any known harness as columns.

    Args:
        rows: Samples, or the one object of a file, of which the first `is_log`.
        file_name: Name of the file, for errors.
        log_filter: Filter or source whose answers are meant, if there are several.

    Returns:
        Column by name, in the names that `rightreasons.io.predictions.read_predictions` knows.

    Raises:
        ValueError: If a row lacks a key or its answers are of another kind, there are several filters
            and none is named, or items occur twice.

    Example:
        >>> doc = {"id": "7", "query": "Sky?", "choices": [" blue", " red"], "gold_index": [0]}
        >>> row = {"doc": doc, "metric": {"acc": 1}, "model_response": {"logprobs": [-1.0, -2.0], "text": []}}
        >>> columns = log_columns([row], "details.parquet")
        >>> columns["choices"], columns["label"], columns["logits"]
        ([['blue', 'red']], [0], [[-1.0, -2.0]])
        >>> pairs = {f"gen_args_{i}": {"arg_0": "Sky?", "arg_1": f" {word}"} for i, word in enumerate(["blue", "red"])}
        >>> answers = [["-1.5", "False"], ["-3.0", "False"]]
        >>> sample = {"doc_id": 0, "doc": {}, "target": "0", "arguments": pairs, "resps": answers}
        >>> sample |= {"filtered_resps": answers, "filter": "none", "metrics": ["acc"], "acc": 1.0}
        >>> other = {**sample, "doc_id": 1, "arguments": {**pairs, "gen_args_1": {"arg_0": "Sky?", "arg_1": " green"}}}
        >>> columns = log_columns([sample, other], "samples.jsonl")
        >>> columns["choices"][1], columns["label"], columns["logits"][0], columns["per_character"][0]
        (['blue', 'green'], [0, 0], [-1.5, -3.0], [-0.375, -1.0])
    """
    form = find_form(rows[0])
    # The reader of lm-evaluation-harness reports which keys an unknown format lacks.
    if form is None:
        form = LM_EVAL_FORM
    has_one_object = "rows" in form or "events" in form
    if not has_one_object:
        _check_samples(rows, form, file_name)
    if form is LM_EVAL_FORM:
        columns = lm_eval_columns(rows, file_name, log_filter)
        return drop_unjudged(columns, file_name)
    samples = _collect_samples(rows, form, file_name)
    # A log may have the samples of several providers of a model.
    if "source" in form:
        samples = _select_source(samples, form, file_name, log_filter)
    samples, arms = _join_arms(samples, form)
    parsed = [_parse_sample(sample, form) for sample in samples]
    columns = make_units([sample.id for sample in parsed])
    columns.update(_make_constants(samples, form))
    columns.update(make_sample_columns(parsed, file_name))
    columns.update(arms)
    return drop_unjudged(columns, file_name)


def _check_samples(rows: Sequence[Any], form: Form, file_name: str) -> None:
    """Check that all rows of a file are samples of one format.

    Args:
        rows: The rows.
        form: The format, of which `keys` count.
        file_name: Name of the file, for errors.

    Raises:
        ValueError: If a row lacks a key; the message gives its line.
    """
    keys = ", ".join(sorted(form["keys"]))
    check_all(
        rows,
        functools.partial(_is_sample, form),
        f"a sample with {keys} in each line of {file_name}",
        unit="line",
        first=1,
    )


def _is_sample(form: Form, row: Any) -> bool:
    """Return whether a row is a sample of a format: it has all keys, with values of the right types.

    Args:
        form: The format.
        row: The row.
    """
    if not isinstance(row, Mapping):
        return False
    for key in form["keys"]:
        if not _has_path(row, key):
            return False
        # Metrics are objects, which tables may store as texts, and ids are texts.
        if form is not LM_EVAL_FORM and not isinstance(row[key], (Mapping, str, list)):
            return False
    return True


# ---------------------------------------------------------------------------------- samples


def _collect_samples(rows: Sequence[Any], form: Form, file_name: str) -> list[Row]:
    """Return the samples of a log, each with what its file has besides the samples.

    Args:
        rows: The samples; the events of a log of events; or the one object of a file.
        form: The format, which says where the samples are.
        file_name: Name of the file, for errors.

    Returns:
        The samples, with the object of the file under `FILE`, and the metrics of a second file under
        "joined".

    Raises:
        ValueError: If there are none.
    """
    if "events" in form:
        return _join_events(rows, form["events"], file_name)
    if "rows" not in form:
        return list(rows)
    (content,) = rows
    metrics_by_id = content.get("joined", {})
    steps = form["rows"].split(".")
    samples: list[Row] = []
    for row in to_list(get_inner(content, *steps)):
        sample = {**row, FILE: content}
        if "join" in form:
            sample_id = _find_first(row, form["join"]["own"])
            # The second file may lack a sample.
            sample["joined"] = metrics_by_id.get(str(sample_id), {})
        samples.append(sample)
    return _check_some(samples, file_name)


def _join_events(rows: Sequence[Any], events: Form, file_name: str) -> list[Row]:
    """Join the lines of a log of events to one object per sample.

    Args:
        rows: The head of the log, followed by events such as
            {"sample_id": "7", "type": "match", "data": {...}}.
        events: The keys of the id of the sample, of the type and of the data of an event.
        file_name: Name of the file, for errors.

    Returns:
        Samples with the data of each type, of which the last event counts, and the head under `FILE`.

    Raises:
        ValueError: If no event is about a sample.
    """
    head = rows[0]
    id_key = events["by"]
    sample_by_id: dict[str, dict[str, Any]] = {}
    for row in rows[1:]:
        sample_id = row.get(id_key)
        # The final report of a log is about no sample.
        if sample_id is None:
            continue
        sample = sample_by_id.setdefault(str(sample_id), {id_key: sample_id, FILE: head})
        event_type = row.get(events["type"])
        sample[str(event_type)] = row.get(events["data"])
    return _check_some(list(sample_by_id.values()), file_name)


def _check_some(samples: Sequence[Row], file_name: str) -> list[Row]:
    # An interrupted run has a head and no sample.
    if not samples:
        raise ValueError(f"Expected samples in {file_name}, but got an empty file.")
    return list(samples)


ORIGINAL = "original"
"""Name of the arm that is the item itself."""


def _join_arms(samples: list[Row], form: Form) -> tuple[list[Row], LogColumns]:
    """Separate the samples that are items from those that are changed versions of items.

    Args:
        samples: The samples of a task of ours, each with its arm; those of any other task are items.
        form: The format.

    Returns:
        The items, and a column with the answers to the versions of each as JSON; {} without versions.
    """
    arm_texts = [_find_field(sample, form, "arm") for sample in samples]
    if not all(isinstance(text, str) for text in arm_texts):
        return samples, {}
    items: list[Row] = []
    answers_by_item: dict[str, dict[str, Any]] = {}
    # The harness may have shuffled the samples: their numbers give the order of the task.
    numbers = [int(_find_field(sample, form, "order")) for sample in samples]
    for index in np.argsort(numbers, kind="stable").tolist():
        sample = samples[index]
        arm = json.loads(arm_texts[index])
        name = arm.pop("name")
        item_id = arm.pop("item_id")
        answers = answers_by_item.setdefault(item_id, {})
        answers[name] = _read_arm_answer(sample, form, arm)
        if name == ORIGINAL:
            items.append(sample)
    records = []
    for item in items:
        item_id = str(_find_field(item, form, "id"))
        # Each choice was scored separately, so that added choices change no other scores.
        record = {"seed": 0, "joint": False, "arms": answers_by_item[item_id]}
        records.append(json.dumps(record))
    return items, {ARMS: records}


def _read_arm_answer(sample: Row, form: Form, arm: Row) -> dict[str, Any]:
    """Return the record of the answer to a version of an item.

    Args:
        sample: The sample of the version.
        form: The format.
        arm: What is known about the version, which becomes a part of the record.

    Returns:
        The record with "position", that of the likeliest choice, and "logits", the scores of all.
    """
    values = to_list(_find_field(sample, form, "scores"))
    scores = list(map(float, values))
    position = scores.index(max(scores))
    return {**arm, "position": position, "logits": scores}


def _select_source(
    samples: Sequence[Row], form: Form, file_name: str, log_filter: str | None
) -> list[Row]:
    """Return the samples of one source, such as the provider of a model.

    Args:
        samples: The samples.
        form: The format, with the paths of the source.
        file_name: Name of the file, for errors.
        log_filter: The source; None if there is only one.

    Raises:
        ValueError: If there are several and none is named, or the named one is missing.
    """
    samples_by_source: dict[str, list[Row]] = {}
    for sample in samples:
        source = str(_find_first(sample, form["source"]) or "")
        samples_by_source.setdefault(source, []).append(sample)
    selected = one_source("provider", samples_by_source, log_filter, file_name)
    return samples_by_source[selected]


# ---------------------------------------------------------------------------------- paths


def _find_first(sample: Any, paths: Iterable[str]) -> Any:
    """Return the value at the first of several paths that leads to one; None if none does.

    Args:
        sample: The sample.
        paths: Paths such as "doc.query", see `_follow`. None, "" and [] count as no value.
    """
    for path in paths:
        value = _follow(sample, path)
        if value not in (None, "", []):
            return value
    return None


def _follow(value: Any, path: str) -> Any:
    """Return the value at a path of keys, positions and "*" for all members of a list.

    Args:
        value: A value of JSON.
        path: The path, such as "choices.0.text".

    Returns:
        The value; None if it is missing, and a list of values after "*".

    Example:
        >>> _follow({"stats": [{"name": "acc"}, {"name": "em"}]}, "stats.*.name")
        ['acc', 'em']
    """
    step, _, inner_path = path.partition(".")
    if step == ALL:
        members = to_list(value)
        return [_follow(member, inner_path) for member in members]
    if step.isdecimal():
        inner = get_inner(value, int(step))
    else:
        inner = get_inner(value, step)
    if not inner_path:
        return inner
    return _follow(inner, inner_path)


# ---------------------------------------------------------------------------------- contents


def _parse_sample(sample: Row, form: Form) -> LoggedSample:
    """Return the fields of a sample at the paths that its format names.

    Args:
        sample: The sample.
        form: The format: name of a field -> its paths.
    """
    choices = []
    for text in to_list(_find_field(sample, form, "choices")):
        # A harness may write the space before a continuation as a part of the choice.
        choices.append(str(text).removeprefix(" "))
    golds = _find_golds(sample, form)
    targets = to_list(_find_field(sample, form, "target"))
    scores = to_list(_find_field(sample, form, "scores"))
    prompt = _find_field(sample, form, "asked")
    return LoggedSample(
        id=_find_field(sample, form, "id"),
        prompt=_join_prompt(prompt),
        choices=choices,
        golds=golds,
        scores=list(map(float, scores)),
        reply=_find_reply(sample, form),
        letters=_find_field(sample, form, "letters"),
        target=_describe_target(targets, choices, golds),
        metrics=_get_metrics(sample, form),
    )


def _find_field(sample: Row, form: Form, name: str) -> Any:
    """Return what the paths of a field lead to; None for a field that the format lacks."""
    paths = form.get(name, ())
    return _find_first(sample, paths)


def _find_golds(sample: Row, form: Form) -> list[int]:
    """Return the positions of the correct choices of a sample; [] if they are not known.

    Args:
        sample: The sample.
        form: The format, in which positions are listed, or each choice has tags.
    """
    if "tags" not in form:
        golds = to_list(_find_field(sample, form, "gold"))
        return list(map(int, golds))
    positions = []
    tags_by_choice = to_list(_find_field(sample, form, "tags"))
    for position, tags in enumerate(tags_by_choice):
        if form["correct_tag"] in to_list(tags):
            positions.append(position)
    return positions


def _find_reply(sample: Row, form: Form) -> Reply | None:
    """Return the reply of the model to a sample; None for a format without replies.

    Args:
        sample: The sample, whose reply is empty if it lacks one.
        form: The format, which says which of several texts is the reply.
    """
    if "answer" not in form:
        return None
    texts = to_list(_find_field(sample, form, "answer"))
    if not texts:
        texts = [""]
    text = str(texts[form["place"]])
    thoughts = to_list(_find_field(sample, form, "thinking"))
    thinking = "\n".join(map(str, thoughts))
    return Reply.parse(text, thinking=thinking)


def _join_prompt(prompt: Any) -> str:
    """Return a prompt as a text; of a conversation, what the user wrote."""
    if isinstance(prompt, list):
        return "\n".join(list_user_texts(prompt))
    return str(prompt or "")


def _describe_target(targets: Sequence[Any], choices: Sequence[str], golds: Sequence[int]) -> str:
    """Return the correct answers of a sample as one text, separated by semicolons.

    Args:
        targets: Correct answers in words.
        choices: The choices.
        golds: The positions of the correct choices; one outside of the choices is skipped.
    """
    texts = list(map(str, targets))
    for position in golds:
        if 0 <= position < len(choices):
            texts.append(choices[position])
    return "; ".join(texts)


def _get_metrics(sample: Row, form: Form) -> Row:
    """Return the metrics of a sample by name, as in {"acc": 1.0}.

    Args:
        sample: The sample.
        form: The format, with the paths of names and values, of an object, or of a single outcome.
    """
    if "metric_names" in form:
        return _pair_metrics(sample, form["metric_names"], form["metric_values"])
    if "metrics" in form:
        # A sample may lack them.
        metrics: Row | None = _find_first(sample, form["metrics"])
        return metrics or {}
    outcome = _find_first(sample, form["correct"])
    return {"correct": outcome}


def _make_constants(samples: Sequence[Row], form: Form) -> LogColumns:
    """Return the columns `model` and `task`, which have one value in all rows of a log.

    Args:
        samples: The samples, of which the first has the values.
        form: The format, with the paths of the values.

    Returns:
        The columns; a value that is missing, or no text, has none.
    """
    columns: LogColumns = {}
    for name in ("model", "task"):
        value = _find_field(samples[0], form, name)
        if not isinstance(value, str):
            continue
        # The name of a folder may continue with further settings after this text.
        end = form.get(f"{name}_end", "\n")
        text = value.partition(end)[0]
        columns[name] = [text] * len(samples)
    return columns
