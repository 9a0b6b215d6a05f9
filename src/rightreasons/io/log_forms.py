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
"""Step of a path that stands for all elements of a list."""

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
    """Return the format of a sample, or of a whole file; None for anything else."""
    if not isinstance(content, Mapping):
        return None
    for form in (LM_EVAL_FORM, *list_forms()):
        has_keys = [_has_path(content, key) for key in form["keys"]]
        if all(has_keys):
            return form
    return None


def _has_path(content: Row, path: str) -> bool:
    *parents, name = path.split(".")
    steps: list[str | int] = []
    for step in parents:
        # A number is a position in a list.
        if step.isdecimal():
            steps.append(int(step))
        else:
            steps.append(step)
    parent = get_inner(content, *steps)
    # A sample may lack a value, but not its name.
    return isinstance(parent, Mapping) and name in parent


def is_log(content: object) -> bool:
    """Return whether a JSON object, or a row of a table, is a sample of a log, or a whole log.

    Example:
        >>> is_log({"text": "good", "label": 1})
        False
    """
    return find_form(content) is not None


def complete_log(content: Any, path: Path) -> Any:
    """Return the content of a log with the name of its folder, and the rows of a file next to it.

    Args:
        content: Content of the file; anything that is no log of several files is returned as it is.
        path: The file.
    """
    form = find_form(content)
    if form is None or "rows" not in form:
        return content
    completed = {**content, "folder": path.resolve().parent.name}
    join = form.get("join")
    if join is None:
        return completed
    other_path = path.with_name(join["file"])
    # Without the other file, the metrics are unknown, and the answers are compared with the labels.
    if other_path.is_file():
        completed["joined"] = _read_joined_rows(other_path, join)
    return completed


def _read_joined_rows(path: Path, join: Form) -> dict[str, dict[str, Any]]:
    """Return the metrics of each sample by its id."""
    rows = {}
    content = json.loads(path.read_text(encoding="utf-8"))
    for row in content:
        sample_id = _find_first(row, join["by"])
        rows[str(sample_id)] = _pair_metrics(row, join["names"], join["values"])
    return rows


def _pair_metrics(row: Row, names: str, values: str) -> dict[str, Any]:
    """Return metrics whose names and values are in lists."""
    metric_names = _follow(row, names)
    metric_values = _follow(row, values)
    return dict(zip(metric_names, metric_values, strict=True))


def is_joined_file(path: Path) -> bool:
    """Return whether a file belongs to the log next to it, which is read with it."""
    for form in list_forms():
        join = form.get("join")
        if join is None or path.name != join["file"]:
            continue
        main_file = form["name"].partition("(")[2].rstrip(")")
        return path.with_name(main_file).is_file()
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
    """Turn the samples of a log into columns.

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
    # What no format describes is taken for lm-evaluation-harness, whose reader says what it lacks.
    if form is None:
        form = LM_EVAL_FORM
    if "rows" not in form and "events" not in form:
        _check_samples(rows, form, file_name)
    if form is LM_EVAL_FORM:
        columns = lm_eval_columns(rows, file_name, log_filter)
        return drop_unjudged(columns, file_name)
    samples = _collect_samples(rows, form, file_name)
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
    """Check that all rows are samples of one format."""
    keys = sorted(form["keys"])
    listed = ", ".join(keys)
    check_all(
        rows,
        functools.partial(_is_sample, form),
        f"a sample with {listed} in each line of {file_name}",
        unit="line",
        first=1,
    )


def _is_sample(form: Form, row: Any) -> bool:
    """Return whether a row has all keys of a format, with values of the right kinds."""
    if not isinstance(row, Mapping):
        return False
    for key in form["keys"]:
        if not _has_path(row, key):
            return False
        # Metrics are objects, or texts of them in a table, and ids are texts.
        if form is not LM_EVAL_FORM and not isinstance(row[key], (Mapping, str, list)):
            return False
    return True


# ---------------------------------------------------------------------------------- samples


def _collect_samples(rows: Sequence[Any], form: Form, file_name: str) -> list[Row]:
    """Return the samples of a log, each with the rest of its file under `FILE`."""
    if "events" in form:
        return _join_events(rows, form["events"], file_name)
    if "rows" not in form:
        return list(rows)
    (content,) = rows
    joined = content.get("joined", {})
    steps = form["rows"].split(".")
    samples: list[Row] = []
    for row in to_list(get_inner(content, *steps)):
        sample = {**row, FILE: content}
        if "join" in form:
            # A sample that the other file lacks has no metrics.
            sample_id = _find_first(row, form["join"]["own"])
            sample["joined"] = joined.get(str(sample_id), {})
        samples.append(sample)
    return _check_some(samples, file_name)


def _join_events(rows: Sequence[Any], events: Form, file_name: str) -> list[Row]:
    """Return a sample for all lines about it; the last line of a type counts."""
    head = rows[0]
    samples: dict[str, dict[str, Any]] = {}
    for row in rows[1:]:
        # The last line of a log has its final report, and is about no sample.
        name = row.get(events["by"])
        if name is None:
            continue
        sample = samples.get(str(name))
        if sample is None:
            sample = {events["by"]: name, FILE: head}
            samples[str(name)] = sample
        event_type = row.get(events["type"])
        sample[str(event_type)] = row.get(events["data"])
    return _check_some(list(samples.values()), file_name)


def _check_some(samples: Sequence[Row], file_name: str) -> list[Row]:
    # An interrupted run has a head and no sample.
    if not samples:
        raise ValueError(f"Expected samples in {file_name}, but it has none.")
    return list(samples)


ORIGINAL = "original"
"""Name of the arm that is the item itself."""


def _join_arms(samples: list[Row], form: Form) -> tuple[list[Row], LogColumns]:
    """Return the samples that are items themselves, and the answers to their other versions."""
    texts = [_find_field(sample, form, "arm") for sample in samples]
    # Samples of any other task are items.
    if not all(isinstance(text, str) for text in texts):
        return samples, {}
    items: list[Row] = []
    answers_by_item: dict[str, dict[str, Any]] = {}
    # The harness may have shuffled the documents.
    numbers = [int(_find_field(sample, form, "order")) for sample in samples]
    for index in np.argsort(numbers, kind="stable").tolist():
        sample = samples[index]
        arm = json.loads(texts[index])
        name = arm.pop("name")
        item_id = arm.pop("item_id")
        answers = answers_by_item.setdefault(item_id, {})
        answers[name] = _read_arm_answer(sample, form, arm)
        if name == ORIGINAL:
            items.append(sample)
    records = []
    for item in items:
        item_id = str(_find_field(item, form, "id"))
        # Each choice was scored by itself, without the others.
        record = {"seed": 0, "joint": False, "arms": answers_by_item[item_id]}
        records.append(json.dumps(record))
    return items, {ARMS: records}


def _read_arm_answer(sample: Row, form: Form, arm: Row) -> dict[str, Any]:
    """Return the fields of an arm with its likeliest choice and the scores of all of them."""
    values = to_list(_find_field(sample, form, "scores"))
    scores = list(map(float, values))
    highest = max(scores)
    position = scores.index(highest)
    return {**arm, "position": position, "logits": scores}


def _select_source(
    samples: Sequence[Row], form: Form, file_name: str, log_filter: str | None
) -> list[Row]:
    """Return the samples of one source, such as a provider."""
    samples_by_source: dict[str, list[Row]] = {}
    for sample in samples:
        name = str(_find_first(sample, form["source"]) or "")
        samples_by_source.setdefault(name, [])
        samples_by_source[name].append(sample)
    selected = one_source("provider", samples_by_source, log_filter, file_name)
    return samples_by_source[selected]


# ---------------------------------------------------------------------------------- paths


def _find_first(sample: Any, paths: Iterable[str]) -> Any:
    """Return the first value of several paths that is not empty; None without any."""
    for path in paths:
        value = _follow(sample, path)
        if value not in (None, "", []):
            return value
    return None


def _follow(value: Any, path: str) -> Any:
    """Return what a path leads to; a list of it after `ALL`, None if there is nothing.

    Example:
        >>> _follow({"stats": [{"name": "acc"}, {"name": "em"}]}, "stats.*.name")
        ['acc', 'em']
    """
    step, _, inner_path = path.partition(".")
    if step == ALL:
        elements = to_list(value)
        return [_follow(element, inner_path) for element in elements]
    # A number is a position in a list.
    if step.isdecimal():
        inner = get_inner(value, int(step))
    else:
        inner = get_inner(value, step)
    if not inner_path:
        return inner
    return _follow(inner, inner_path)


# ---------------------------------------------------------------------------------- contents


def _parse_sample(sample: Row, form: Form) -> LoggedSample:
    """Return what the paths of a format lead to in a sample."""
    choices = []
    for text in to_list(_find_field(sample, form, "choices")):
        # A harness may put the space before a continuation into the choice.
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
    """Return the indices of the correct choices; [] if they are not known."""
    # Choices may say themselves whether they are correct.
    if "tags" not in form:
        golds = to_list(_find_field(sample, form, "gold"))
        return list(map(int, golds))
    indices = []
    tags_by_choice = to_list(_find_field(sample, form, "tags"))
    for index, tags in enumerate(tags_by_choice):
        if form["correct_tag"] in to_list(tags):
            indices.append(index)
    return indices


def _find_reply(sample: Row, form: Form) -> Reply | None:
    """Return the reply of a sample; None in a log without replies."""
    if "answer" not in form:
        return None
    texts = to_list(_find_field(sample, form, "answer"))
    # A sample without an answer has an empty one.
    if not texts:
        texts = [""]
    thoughts = to_list(_find_field(sample, form, "thinking"))
    thinking = "\n".join(map(str, thoughts))
    text = str(texts[form["place"]])
    return Reply.parse(text, thinking=thinking)


def _join_prompt(prompt: Any) -> str:
    """Return a prompt as a text; of a conversation, what the user wrote."""
    if isinstance(prompt, list):
        return "\n".join(list_user_texts(prompt))
    return str(prompt or "")


def _describe_target(targets: Sequence[Any], choices: Sequence[str], golds: Sequence[int]) -> str:
    """Return the correct answers of a sample in words."""
    texts = list(map(str, targets))
    for index in golds:
        # A position outside of the choices names none of them.
        if 0 <= index < len(choices):
            texts.append(choices[index])
    return "; ".join(texts)


def _get_metrics(sample: Row, form: Form) -> Row:
    """Return the metrics of a sample by name."""
    if "metric_names" in form:
        return _pair_metrics(sample, form["metric_names"], form["metric_values"])
    if "metrics" in form:
        metrics: Row | None = _find_first(sample, form["metrics"])
        return metrics or {}
    outcome = _find_first(sample, form["correct"])
    return {"correct": outcome}


def _make_constants(samples: Sequence[Row], form: Form) -> LogColumns:
    """Return the names of the model and of the task, as far as the log has them."""
    columns: LogColumns = {}
    for name in ("model", "task"):
        value = _find_field(samples[0], form, name)
        if not isinstance(value, str):
            continue
        # The folder of a run may have further settings in its name.
        end = form.get(f"{name}_end", "\n")
        text = value.partition(end)[0]
        columns[name] = [text] * len(samples)
    return columns
