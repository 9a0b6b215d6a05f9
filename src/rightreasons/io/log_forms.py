"""Logs of harnesses whose formats are described in `log_forms.yaml`: where samples and answers are.

`read_log_columns` is the entry point: it reads the samples of any log as columns. The samples of
lm-evaluation-harness need more than paths, and have their own reader.
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
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_all
from rightreasons.core.yaml_files import read_yaml
from rightreasons.io.harnesses.lm_eval_logs import KEYS, read_lm_eval_columns
from rightreasons.io.harnesses.log_samples import LoggedSample, make_sample_columns
from rightreasons.io.logs import (
    ARMS,
    LogColumns,
    Row,
    choose_source,
    drop_unjudged,
    get_inner,
    list_user_texts,
    make_id_columns,
    to_list,
    warn_of_excluded,
)

Form: TypeAlias = Mapping[str, Any]
"""Format of a log, an entry of `log_forms.yaml`: name of a field of a sample -> the paths at which it may be."""

ALL = "*"
"""Step of a path that selects all members of a list."""

FILE = "file"
"""First step of a path to a value of the file that is outside of its samples."""

LOG_TYPES = (".eval", ".json", ".jsonl", ".parquet")
"""Types of the files of logs."""

SUMMARY_FILES = re.compile(r"results_.*\.json|.*\.header\.json|logs\.json|listing\.json")
"""Names of files without answers that harnesses write next to their logs."""

LM_EVAL_FORM: Form = {"keys": sorted(KEYS)}
"""Format of lm-evaluation-harness, whose samples need more than paths."""


@functools.cache
def list_forms() -> tuple[Form, ...]:
    """Return the formats of `log_forms.yaml`."""
    path = Path(__file__).with_suffix(".yaml")
    return tuple(read_yaml(path))


def find_form(content: object) -> Form | None:
    """Return the format of a log, which is recognized by the keys of a sample or of the whole file.

    Args:
        content: The parsed JSON of a sample or a file.

    Returns:
        The entry of `log_forms.yaml`, or `LM_EVAL_FORM`; None if the content is not that of a log.
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

    The value at the key may be null.
    """
    *parents, name = path.split(".")
    # A number is a position in a list.
    steps = [int(step) if step.isdecimal() else step for step in parents]
    parent = get_inner(content, *steps)
    return isinstance(parent, Mapping) and name in parent


def is_log(content: object) -> bool:
    """Return whether a JSON object, or a row of a table, is a sample of a log, or a whole log.

    Args:
        content: The object.

    Example:
        >>> is_log({"text": "good", "label": 1})
        False
    """
    return find_form(content) is not None


def complete_log(content: Any, path: Path) -> Any:
    """Add the name of the folder of a log, and the metrics in its second file, to the content of the log.

    Args:
        content: Content of the file. It is returned unchanged if it is not a log that is one object.
        path: The file.

    Returns:
        The content with two more keys: "folder", and, if there is a second file, "joined", which maps the
        id of a sample to its metrics.
    """
    form = find_form(content)
    if form is None or "rows" not in form:
        return content
    completed = {**content, "folder": path.resolve().parent.name}
    join = form.get("join")
    if join is None:
        return completed
    second_file = path.with_name(join["file"])
    # The second file may be missing: answers are then compared with the labels.
    if second_file.is_file():
        completed["joined"] = _read_joined_rows(second_file, join)
    return completed


def _read_joined_rows(path: Path, join: Form) -> dict[str, dict[str, Any]]:
    """Read the metrics of each sample from the second file of a log.

    Args:
        path: The second file.
        join: The paths in each row: "by" to the values that identify the sample, "names" and "values" to
            the metrics.

    Returns:
        Key of a sample, from `_make_join_key` -> its metrics by name.
    """
    metrics_by_id = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        metrics_by_id[_make_join_key(row, join["by"])] = _pair_metrics(
            row, join["names"], join["values"]
        )
    return metrics_by_id


def _make_join_key(row: Row, paths: Sequence[str]) -> str:
    """Return the values that identify a sample, which has several answers, as JSON.

    Args:
        row: The sample, or a row of the second file.
        paths: The paths of the values, such as the id of the item and the number of the trial. A value
            may be missing, such as the perturbation of an unchanged item.
    """
    return json.dumps([_get_at_path(row, path) for path in paths])


def _pair_metrics(row: Row, names: str, values: str) -> dict[str, Any]:
    """Return metrics by their names, from the paths of a list of names and a list of values."""
    metric_names = _get_at_path(row, names)
    metric_values = _get_at_path(row, values)
    return dict(zip(metric_names, metric_values, strict=True))


def is_joined_file(path: Path) -> bool:
    """Return whether a file is the second file of a log, which is read with the first one.

    Args:
        path: The file.
    """
    for form in list_forms():
        join = form.get("join")
        if join is None or path.name != join["file"]:
            continue
        # The name of a format ends in the name of the first file, as in "HELM (scenario_state.json)".
        first_file = form["name"].partition("(")[2].rstrip(")")
        return path.with_name(first_file).is_file()
    return False


def list_logs(folder: Path) -> list[Path]:
    """Return the files in a folder, at any depth, that may be logs of harnesses, in sorted order.

    Args:
        folder: The folder.
    """
    logs = []
    for file in sorted(folder.rglob("*")):
        if file.suffix not in LOG_TYPES or SUMMARY_FILES.fullmatch(file.name):
            continue
        # A second file of a log is read with the first one.
        if not is_joined_file(file):
            logs.append(file)
    return logs


def read_log_columns(
    rows: Sequence[Any], file_name: str, log_filter: str | None = None
) -> LogColumns:
    """Read the samples of a log of any known harness as columns.

    Args:
        rows: The samples, or a list of the one object of a file. `is_log` is true for the first row.
        file_name: Name of the file, for error messages.
        log_filter: Filter or provider whose answers are read; None if there is only one.

    Returns:
        Columns by the names that `rightreasons.io.predictions.read_predictions` knows.

    Raises:
        ValueError: If a row lacks a key or is malformed, if there are several filters and none is named,
            or if items occur twice.

    Example:
        >>> doc = {"id": "7", "query": "Sky?", "choices": [" blue", " red"], "gold_index": [0]}
        >>> row = {"doc": doc, "metric": {"acc": 1}, "model_response": {"logprobs": [-1.0, -2.0], "text": []}}
        >>> columns = read_log_columns([row], "details.parquet")
        >>> columns["choices"], columns["label"], columns["logits"]
        ([['blue', 'red']], [0], [[-1.0, -2.0]])
        >>> pairs = {f"gen_args_{i}": {"arg_0": "Sky?", "arg_1": f" {word}"} for i, word in enumerate(["blue", "red"])}
        >>> answers = [["-1.5", "False"], ["-3.0", "False"]]
        >>> sample = {"doc_id": 0, "doc": {}, "target": "0", "arguments": pairs, "resps": answers}
        >>> sample |= {"filtered_resps": answers, "filter": "none", "metrics": ["acc"], "acc": 1.0}
        >>> other = {**sample, "doc_id": 1, "arguments": {**pairs, "gen_args_1": {"arg_0": "Sky?", "arg_1": " green"}}}
        >>> columns = read_log_columns([sample, other], "samples.jsonl")
        >>> columns["choices"][1], columns["label"], columns["logits"][0], columns["per_character"][0]
        (['blue', 'green'], [0, 0], [-1.5, -3.0], [-0.375, -1.0])
    """
    form = find_form(rows[0])
    # For an unknown format, the check of the samples reports which keys of this one are missing.
    if form is None:
        form = LM_EVAL_FORM
    has_one_object = "rows" in form or "events" in form
    if not has_one_object:
        _check_samples(rows, form, file_name)
    if form is LM_EVAL_FORM:
        columns = read_lm_eval_columns(rows, file_name, log_filter)
        return drop_unjudged(columns, file_name)
    samples = _collect_samples(rows, form, file_name)
    # Some logs have the answers of several providers of models to each item.
    if "source" in form:
        samples = _select_source(samples, form, file_name, log_filter)
    if "version" in form:
        samples = _select_version(samples, form, file_name, log_filter)
    samples, arms = _join_arms(samples, form)
    parsed = [_parse_sample(sample, form) for sample in samples]
    columns = make_id_columns([sample.id for sample in parsed])
    columns.update(_make_constants(samples, form))
    columns.update(make_sample_columns(parsed, file_name))
    columns.update(arms)
    return drop_unjudged(columns, file_name)


def _check_samples(rows: Sequence[Any], form: Form, file_name: str) -> None:
    """Check that all rows of a file are samples of one format.

    Args:
        rows: The rows.
        form: The format, of which `keys` are the paths that every sample has.
        file_name: Name of the file, for error messages.

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
        form: The format, of which `keys` are the paths that every sample has.
        row: The row.
    """
    if not isinstance(row, Mapping):
        return False
    for key in form["keys"]:
        if not _has_path(row, key):
            return False
        # The values are objects or lists, which tables may store as strings, or ids, which are strings.
        if form is not LM_EVAL_FORM and not isinstance(row[key], (Mapping, str, list)):
            return False
    return True


# ---------------------------------------------------------------------------------- samples


def _collect_samples(rows: Sequence[Any], form: Form, file_name: str) -> list[Row]:
    """Return the samples of a log, each with the values of the file that are outside of its samples.

    Args:
        rows: The samples, the events of a log of events, or a list of the one object of a file.
        form: The format. It has "events" for a log of events, and "rows", the path of the samples, for a
            file of one object.
        file_name: Name of the file, for error messages.

    Returns:
        The samples. Those of a file of one object have this object under `FILE`, and the metrics of a second
        file under "joined".

    Raises:
        ValueError: If there are no samples.
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
            key = _make_join_key(row, form["join"]["own"])
            # A sample may be missing in the second file.
            sample["joined"] = metrics_by_id.get(key, {})
        samples.append(sample)
    _check_not_empty(samples, file_name)
    return samples


def _join_events(rows: Sequence[Any], events: Form, file_name: str) -> list[Row]:
    """Join the lines of a log of events to one object per sample.

    Args:
        rows: The head of the log, followed by events such as
            {"sample_id": "7", "type": "match", "data": {...}}.
        events: The keys of an event: "by" names the key of the sample's id, "type" and "data" the keys of
            its type and its data.
        file_name: Name of the file, for error messages.

    Returns:
        One object per sample, with the head under `FILE`, and the data of the last event of each type
        under the name of the type.

    Raises:
        ValueError: If no event has the id of a sample.
    """
    head = rows[0]
    id_key = events["by"]
    sample_by_id: dict[str, dict[str, Any]] = {}
    for row in rows[1:]:
        sample_id = row.get(id_key)
        # The final report of a log does not concern a sample.
        if sample_id is None:
            continue
        sample = sample_by_id.setdefault(str(sample_id), {id_key: sample_id, FILE: head})
        event_type = row.get(events["type"])
        sample[str(event_type)] = row.get(events["data"])
    samples: list[Row] = list(sample_by_id.values())
    _check_not_empty(samples, file_name)
    return samples


def _check_not_empty(samples: Sequence[Row], file_name: str) -> None:
    # The log of an interrupted run may have a head and no samples.
    if not samples:
        raise ValueError(f"Expected samples in {file_name}, but got an empty file.")


ORIGINAL = "original"
"""Name of the arm of the item itself; other arms are changed versions of it."""


def _join_arms(samples: list[Row], form: Form) -> tuple[list[Row], LogColumns]:
    """Separate the samples of items from the samples of changed versions of these items.

    Only the tasks of this package have changed versions. Each of their samples has an arm, as JSON: the
    name of the version, the id of the item, and further fields.

    Args:
        samples: The samples.
        form: The format, with the paths of the arm ("arm"), of the number of the sample ("order"), of the
            scores and of the id.

    Returns:
        The samples of items, and a column with the answers to all versions of each item, as JSON. For
        another task, all samples, and an empty mapping.
    """
    arm_texts = [_find_field(sample, form, "arm") for sample in samples]
    if not all(isinstance(text, str) for text in arm_texts):
        return samples, {}
    items: list[Row] = []
    answers_by_item: dict[str, dict[str, Any]] = {}
    # The harness may have shuffled the samples. Their numbers show the order of the task.
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
        # Each choice was scored separately ("joint": False): added choices change no other scores.
        record = {"seed": 0, "joint": False, "arms": answers_by_item[item_id]}
        records.append(json.dumps(record))
    return items, {ARMS: records}


def _read_arm_answer(sample: Row, form: Form, arm: Row) -> dict[str, Any]:
    """Return the record of the answer to a changed version of an item.

    Args:
        sample: The sample of the version.
        form: The format, with the paths of the scores.
        arm: Further fields of the version, which are copied to the record.

    Returns:
        The record, with the position of the likeliest choice under "position", and the scores of all
        choices under "logits".
    """
    values = to_list(_find_field(sample, form, "scores"))
    scores = list(map(float, values))
    position = scores.index(max(scores))
    return {**arm, "position": position, "logits": scores}


def _select_source(
    samples: Sequence[Row], form: Form, file_name: str, log_filter: str | None
) -> list[Row]:
    """Return the samples of one provider of models.

    Args:
        samples: The samples of all providers.
        form: The format, with the paths of the provider under "source".
        file_name: Name of the file, for error messages.
        log_filter: Name of the provider; None if there is only one.

    Raises:
        ValueError: If there are several and none is named, or the named one is missing.
    """
    samples_by_source: dict[str, list[Row]] = {}
    for sample in samples:
        source = str(_find_first(sample, form["source"]) or "")
        samples_by_source.setdefault(source, []).append(sample)
    selected = choose_source("provider", samples_by_source, log_filter, file_name)
    return samples_by_source[selected]


def _select_version(
    samples: Sequence[Row], form: Form, file_name: str, log_filter: str | None
) -> list[Row]:
    """Return the samples of the unchanged items, or of one changed version of them.

    HELM asks some items again with typing errors or other names. Its accuracy is that of the items
    themselves, and answers to two versions of an item are not independent.

    Args:
        samples: The samples of all versions.
        form: The format, with the path of the version under "version".
        file_name: Name of the file, for messages.
        log_filter: Name of a version; None for the items themselves.

    Raises:
        ValueError: If the log has no such version.
    """
    samples_by_version: dict[str, list[Row]] = {}
    for sample in samples:
        version = str(_get_at_path(sample, form["version"]) or ORIGINAL)
        samples_by_version.setdefault(version, []).append(sample)
    # A log may contain only one changed version.
    default = ORIGINAL if ORIGINAL in samples_by_version else None
    selected = choose_source("version", samples_by_version, log_filter or default, file_name)
    if log_filter is None:
        others = [version for version in samples_by_version if version != selected]
        n_excluded = len(samples) - len(samples_by_version[selected])
        reason = f"are about changed items ({format_list(others)}; see `log_filter`)"
        warn_of_excluded(n_excluded, len(samples), file_name, reason)
    return samples_by_version[selected]


# ---------------------------------------------------------------------------------- paths


def _find_first(sample: Any, paths: Iterable[str]) -> Any:
    """Return the first value at one of several paths that is neither None, "" nor []; None if there is none.

    Args:
        sample: The sample.
        paths: Paths such as "doc.query"; see `_get_at_path`.
    """
    for path in paths:
        value = _get_at_path(sample, path)
        if value not in (None, "", []):
            return value
    return None


def _get_at_path(value: Any, path: str) -> Any:
    """Return the value at a path of keys and positions; None if it is missing.

    Args:
        value: A value of JSON.
        path: The path, such as "choices.0.text". The step "*" selects all members of a list, so that the
            result is a list.

    Example:
        >>> _get_at_path({"stats": [{"name": "acc"}, {"name": "em"}]}, "stats.*.name")
        ['acc', 'em']
    """
    step, _, inner_path = path.partition(".")
    if step == ALL:
        members = to_list(value)
        return [_get_at_path(member, inner_path) for member in members]
    if step.isdecimal():
        inner = get_inner(value, int(step))
    else:
        inner = get_inner(value, step)
    if not inner_path:
        return inner
    return _get_at_path(inner, inner_path)


# ---------------------------------------------------------------------------------- contents


def _parse_sample(sample: Row, form: Form) -> LoggedSample:
    """Return the fields of a sample, which are at the paths of its format.

    Args:
        sample: The sample.
        form: The format: name of a field, such as "choices" -> the paths at which it may be.
    """
    choices = []
    for text in to_list(_find_field(sample, form, "choices")):
        # Some harnesses store a choice with the space that precedes it in a prompt.
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
    """Return the value of a field of a sample; None if the format or the sample does not have it."""
    paths = form.get(name, ())
    return _find_first(sample, paths)


def _find_golds(sample: Row, form: Form) -> list[int]:
    """Return the positions of the correct choices of a sample; an empty list if they are not known.

    Args:
        sample: The sample.
        form: The format, with the paths of the positions under "gold", or the paths of the tags of each
            choice under "tags", and the tag of a correct choice under "correct_tag".
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
        sample: The sample. If it has no reply, an empty one is returned.
        form: The format, with the paths of the reply under "answer", and under "place" the position of the
            reply if there are several texts.
    """
    if "answer" not in form:
        return None
    texts = to_list(_find_field(sample, form, "answer"))
    if not texts:
        texts = [""]
    # Some formats have the reply first ("place" 0), others after the messages of the user (-1).
    text = str(texts[form["place"]])
    thoughts = to_list(_find_field(sample, form, "thinking"))
    thinking = "\n".join(map(str, thoughts))
    return Reply.parse(text, thinking=thinking)


def _join_prompt(prompt: Any) -> str:
    """Return a prompt as a string; if it is a conversation, the messages of the user."""
    if isinstance(prompt, list):
        return "\n".join(list_user_texts(prompt))
    return str(prompt or "")


def _describe_target(targets: Sequence[Any], choices: Sequence[str], golds: Sequence[int]) -> str:
    """Return the correct answers of a sample as one text, separated by semicolons.

    Args:
        targets: Correct answers in words.
        choices: The choices.
        golds: The positions of correct choices. Positions that are not those of a choice are skipped.
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
        form: The format, with paths of lists of names and values ("metric_names", "metric_values"), or of
            an object of metrics ("metrics"), or of a single outcome ("correct").
    """
    if "metric_names" in form:
        return _pair_metrics(sample, form["metric_names"], form["metric_values"])
    if "metrics" in form:
        # A sample may have no metrics.
        metrics: Row | None = _find_first(sample, form["metrics"])
        return metrics or {}
    outcome = _find_first(sample, form["correct"])
    return {"correct": outcome}


def _make_constants(samples: Sequence[Row], form: Form) -> LogColumns:
    """Return the columns `model` and `task`, which have the same value in all rows of a log.

    Args:
        samples: The samples, of which only the first one is read.
        form: The format, with the paths of the values, and perhaps the texts at which they end
            ("model_end", "task_end").

    Returns:
        The columns. There is no column for a value that is missing, or not a string.
    """
    columns: LogColumns = {}
    for name in ("model", "task"):
        value = _find_field(samples[0], form, name)
        if not isinstance(value, str):
            continue
        # Some harnesses append settings to the name, as in the name of a folder.
        end = form.get(f"{name}_end", "\n")
        text = value.partition(end)[0]
        columns[name] = [text] * len(samples)
    return columns
