"""Logs of harnesses whose formats are data: `log_forms.yaml` says where each has its samples and answers.

`log_columns` turns the samples of any log of lines or records into columns; a format that is not in
the table is that of lm-evaluation-harness, which `rightreasons.io.logs` reads.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rightreasons.core.choices import LETTERS
from rightreasons.core.replies import Reply
from rightreasons.core.validation import check_all
from rightreasons.core.yaml_files import read_yaml
from rightreasons.io.harnesses.lm_eval_logs import KEYS, lm_eval_columns
from rightreasons.io.logs import (
    ARMS,
    PICKED,
    LogColumns,
    Row,
    drop_unjudged,
    find_correct,
    find_lacks,
    find_letter,
    get_inner,
    list_unread_replies,
    list_user_texts,
    make_answer_columns,
    make_units,
    normalize_scores,
    one_source,
    to_list,
)

Form: TypeAlias = Mapping[str, Any]

ALL = "*"
"""Step of a path that stands for all elements of a list."""

FILE = "file"
"""First step of a path outside of the samples."""

MIN_RESOLVED_SHARE = 0.5
"""Share of the answers that must name a choice, for the answers to be picks of choices."""

LM_EVAL_FORM: Form = {"keys": sorted(KEYS)}
"""Format of lm-evaluation-harness, whose samples need more than paths."""


@functools.cache
def list_forms() -> tuple[Form, ...]:
    """Return the formats of `log_forms.yaml`."""
    return tuple(read_yaml(Path(__file__).with_suffix(".yaml")))


def find_form(content: object) -> Form | None:
    """Return the format of a sample, or of a whole file; None for anything else."""
    if not isinstance(content, Mapping):
        return None
    for form in (LM_EVAL_FORM, *list_forms()):
        if all(_has_path(content, key) for key in form["keys"]):
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
    for row in json.loads(path.read_text(encoding="utf-8")):
        rows[str(_find_first(row, join["by"]))] = _pair_metrics(row, join["names"], join["values"])
    return rows


def _pair_metrics(row: Row, names: str, values: str) -> dict[str, Any]:
    """Return metrics whose names and values are in lists."""
    return dict(zip(_follow(row, names), _follow(row, values), strict=True))


def is_joined_file(path: Path) -> bool:
    """Return whether a file belongs to the log next to it, which is read with it."""
    for form in list_forms():
        join = form.get("join")
        if join is None or path.name != join["file"]:
            continue
        main_file = form["name"].partition("(")[2].rstrip(")")
        return path.with_name(main_file).is_file()
    return False


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
    form = find_form(rows[0]) or LM_EVAL_FORM
    if "rows" not in form and "events" not in form:
        _check_samples(rows, form, file_name)
    if form is LM_EVAL_FORM:
        return drop_unjudged(lm_eval_columns(rows, file_name, log_filter), file_name)
    samples = _collect_samples(rows, form, file_name)
    if "source" in form:
        samples = _select_source(samples, form, file_name, log_filter)
    samples, arms = _join_arms(samples, form)
    return drop_unjudged(_make_columns(samples, form, file_name) | arms, file_name)


def _check_samples(rows: Sequence[Any], form: Form, file_name: str) -> None:
    """Check that all rows are samples of one format."""
    keys = form["keys"]

    def is_sample(row: Any) -> bool:
        if not isinstance(row, Mapping) or not all(_has_path(row, key) for key in keys):
            return False
        # Metrics are objects, or texts of them in a table, and ids are texts.
        return form is LM_EVAL_FORM or all(
            isinstance(row[key], (Mapping, str, list)) for key in keys
        )

    expected = f"a sample with {', '.join(sorted(keys))} in each line of {file_name}"
    check_all(rows, is_sample, expected, unit="line", first=1)


# ---------------------------------------------------------------------------------- samples


def _collect_samples(rows: Sequence[Any], form: Form, file_name: str) -> list[Row]:
    """Return the samples of a log, each with the rest of its file under `FILE`."""
    if "events" in form:
        return _join_events(rows, form["events"], file_name)
    if "rows" not in form:
        return list(rows)
    (content,) = rows
    joined = content.get("joined", {})
    samples: list[Row] = []
    for row in get_inner(content, *form["rows"].split(".")) or []:
        sample = {**row, FILE: content}
        if "join" in form:
            sample["joined"] = joined.get(str(_find_first(row, form["join"]["own"])), {})
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
        sample = samples.setdefault(str(name), {events["by"]: name, FILE: head})
        sample[str(row.get(events["type"]))] = row.get(events["data"])
    collected: list[Row] = [*samples.values()]
    return _check_some(collected, file_name)


def _check_some(samples: list[Row], file_name: str) -> list[Row]:
    # An interrupted run has a head and no sample.
    if not samples:
        raise ValueError(f"Expected samples in {file_name}, but it has none.")
    return samples


ORIGINAL = "original"
"""Name of the arm that is the item itself."""


def _join_arms(samples: list[Row], form: Form) -> tuple[list[Row], LogColumns]:
    """Return the samples that are items themselves, and the answers to their other versions."""
    items: list[Row] = []
    answers_by_item: dict[str, dict[str, Any]] = {}
    texts = [_find_first(sample, form.get("arm", ())) for sample in samples]
    # Samples of any other task are items.
    if not all(isinstance(text, str) for text in texts):
        return samples, {}
    # The harness may have shuffled the documents.
    for sample in sorted(samples, key=lambda sample: int(_find_first(sample, form["order"]))):
        text = _find_first(sample, form["arm"])
        arm = json.loads(text)
        name = arm.pop("name")
        item_id = str(arm.pop("item_id"))
        scores = list(map(float, to_list(_find_first(sample, form["scores"]))))
        position = scores.index(max(scores))
        answers = answers_by_item.setdefault(item_id, {})
        answers[name] = {**arm, "position": position, "logits": scores}
        if name == ORIGINAL:
            items.append(sample)
    records = []
    for item in items:
        answers = answers_by_item[str(_find_first(item, form["id"]))]
        # Each choice was scored by itself, without the others.
        records.append(json.dumps({"seed": 0, "joint": False, "arms": answers}))
    return items, {ARMS: records}


def _select_source(
    samples: Sequence[Row], form: Form, file_name: str, log_filter: str | None
) -> list[Row]:
    """Return the samples of one source, such as a provider."""
    samples_by_source: dict[str, list[Row]] = {}
    for sample in samples:
        name = _find_first(sample, form["source"])
        samples_by_source.setdefault(str(name or ""), []).append(sample)
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
    steps = path.split(".")
    for index, step in enumerate(steps):
        if step == ALL:
            inner_path = ".".join(steps[index + 1 :])
            return [_follow(element, inner_path) for element in to_list(value)]
        value = get_inner(value, int(step) if step.isdecimal() else step)
    return value


# ---------------------------------------------------------------------------------- columns


@dataclasses.dataclass(frozen=True)
class _Samples:
    """What the samples of a log contain, one element per sample.

    Attributes:
        ids: Ids of the samples.
        prompts: What was asked.
        choices: Choices; [] without any.
        golds: Indices of the correct choices; [] if they are not known.
        scores: Scores of the choices; [] without any.
        replies: What the model answered; [] for a log without answers.
        letters: Letter -> text of the choice that was displayed under it; None for the usual order.
        targets: Correct answers in words.
        metrics: Metrics by name.
    """

    ids: list[Any] = dataclasses.field(default_factory=list)
    prompts: list[str] = dataclasses.field(default_factory=list)
    choices: list[list[str]] = dataclasses.field(default_factory=list)
    golds: list[list[int]] = dataclasses.field(default_factory=list)
    scores: list[list[float]] = dataclasses.field(default_factory=list)
    replies: list[Reply] = dataclasses.field(default_factory=list)
    letters: list[Any] = dataclasses.field(default_factory=list)
    targets: list[str] = dataclasses.field(default_factory=list)
    metrics: list[Row] = dataclasses.field(default_factory=list)


def _make_columns(samples: Sequence[Row], form: Form, file_name: str) -> LogColumns:
    """Return the columns of samples: likelihoods of choices, picks of choices, or answers."""
    parsed = _parse_samples(samples, form)
    columns = make_units(parsed.ids)
    columns |= _make_constants(samples, form)
    if _are_scored(parsed):
        return columns | _make_scored_columns(parsed, file_name)
    correct = find_correct(parsed.metrics)
    # Metrics alone say how many answers are correct, and nothing else.
    if not parsed.replies:
        return columns | correct
    picks = _find_picks(parsed)
    if picks is not None:
        return columns | _make_pick_columns(parsed, picks, correct.get("correct"))
    lacks = find_lacks(parsed.replies, [False] * len(parsed.replies))
    answers = [reply.text for reply in parsed.replies]
    columns |= make_answer_columns(parsed.prompts, answers, parsed.targets, lacks)
    return columns | correct


def _parse_samples(samples: Sequence[Row], form: Form) -> _Samples:
    """Return what the paths of a format lead to in each sample."""
    parsed = _Samples()
    for sample in samples:

        def find(name: str, sample: Row = sample) -> Any:
            return _find_first(sample, form.get(name, ()))

        choices = []
        for text in to_list(find("choices")):
            # A harness may put the space before a continuation into the choice.
            choices.append(str(text).removeprefix(" "))
        golds = list(map(int, to_list(find("gold"))))
        if "tags" in form:
            golds = _find_tagged(find("tags"), form["correct_tag"])
        parsed.ids.append(find("id"))
        parsed.prompts.append(_join_prompt(find("asked")))
        parsed.choices.append(choices)
        parsed.golds.append(golds)
        parsed.scores.append(list(map(float, to_list(find("scores")))))
        parsed.letters.append(find("letters"))
        parsed.targets.append(_describe_target(to_list(find("target")), choices, golds))
        parsed.metrics.append(_get_metrics(sample, form))
        if "answer" in form:
            texts = to_list(find("answer")) or [""]
            thinking = "\n".join(map(str, to_list(find("thinking"))))
            parsed.replies.append(Reply.parse(str(texts[form["place"]]), thinking=thinking))
    return parsed


def _describe_target(targets: Sequence[Any], choices: Sequence[str], golds: Sequence[int]) -> str:
    """Return the correct answers of a sample in words."""
    texts = list(map(str, targets))
    for index in golds:
        # A position outside of the choices names none of them.
        if 0 <= index < len(choices):
            texts.append(choices[index])
    return "; ".join(texts)


def _make_constants(samples: Sequence[Row], form: Form) -> LogColumns:
    """Return the names of the model and of the task, as far as the log has them."""
    columns: LogColumns = {}
    for name in ("model", "task"):
        value = _find_first(samples[0], form.get(name, ()))
        if isinstance(value, str):
            # The folder of a run may have further settings in its name.
            text = value.partition(form.get(f"{name}_end", "\n"))[0]
            columns[name] = [text] * len(samples)
    return columns


def _get_metrics(sample: Row, form: Form) -> Row:
    """Return the metrics of a sample by name."""
    if "metric_names" in form:
        return _pair_metrics(sample, form["metric_names"], form["metric_values"])
    if "metrics" in form:
        return _find_first(sample, form["metrics"]) or {}
    return {"correct": _find_first(sample, form["correct"])}


def _find_tagged(tags_by_choice: Any, correct_tag: str) -> list[int]:
    """Return the indices of the choices that have a tag."""
    indices = []
    for index, tags in enumerate(to_list(tags_by_choice)):
        if correct_tag in to_list(tags):
            indices.append(index)
    return indices


def _join_prompt(prompt: Any) -> str:
    """Return a prompt as a text; of a conversation, what the user wrote."""
    if isinstance(prompt, list):
        return "\n".join(list_user_texts(prompt))
    return str(prompt or "")


def _are_scored(parsed: _Samples) -> bool:
    """Return whether each sample has a score per choice."""
    # One sample without scores has an answer that was generated.
    pairs = zip(parsed.scores, parsed.choices, strict=True)
    return all(len(scores) == len(choices) > 1 for scores, choices in pairs)


def _get_first(gold: list[int]) -> int:
    return gold[0]


def _make_scored_columns(parsed: _Samples, file_name: str) -> LogColumns:
    expected = f"the number of one right choice of each item of {file_name}"
    check_all(parsed.golds, lambda gold: len(gold) == 1, expected, unit="item", names=parsed.ids)
    columns: LogColumns = {
        "prompt": parsed.prompts,
        "choices": parsed.choices,
        "label": list(map(_get_first, parsed.golds)),
        "logits": parsed.scores,
    }
    return columns | normalize_scores(parsed.scores, parsed.choices)


# ---------------------------------------------------------------------------------- picks


def _find_picks(parsed: _Samples) -> list[int] | None:
    """Return the index of the choice of each answer, -1 for none; None if answers are no choices."""
    picks = []
    for index, reply in enumerate(parsed.replies):
        choices = parsed.choices[index]
        # Positions of picks mean something if each sample has one correct choice.
        if len(choices) < 2 or len(parsed.golds[index]) != 1:
            return None
        picks.append(_find_pick(reply, choices, parsed.letters[index]))
    n_readable = sum(not reply.no_answer_reason for reply in parsed.replies)
    n_resolved = sum(pick >= 0 for pick in picks)
    # Answers in sentences are compared by the metric of the harness, and not by us.
    if n_resolved < max(1, MIN_RESOLVED_SHARE * n_readable):
        return None
    return picks


def _find_pick(reply: Reply, choices: Sequence[str], names: Any) -> int:
    """Return the choice that an answer is, by its letter or its text; -1 for none."""
    if reply.no_answer_reason:
        return -1
    text = reply.text.strip().rstrip(".").strip("()")
    # The harness may have shown the choices in another order, and says so.
    if isinstance(names, Mapping) and text in names:
        text = str(names[text])
    folded_text = text.casefold()
    folded = [choice.strip().casefold() for choice in choices]
    # Of equal choices, the text names neither.
    if folded.count(folded_text) == 1:
        return folded.index(folded_text)
    letter = find_letter(text, choices)
    return -1 if letter is None else letter


def _find_displayed_order(letters: Any, choices: Sequence[str]) -> list[int] | None:
    """Return the choice behind each displayed letter; None if the letters name other texts."""
    if not isinstance(letters, Mapping):
        return list(range(len(choices)))
    order = []
    for mark in sorted(letters):
        if letters[mark] not in choices:
            return None
        order.append(choices.index(letters[mark]))
    return order


def _make_pick_columns(
    parsed: _Samples, picks: Sequence[int], correct: Sequence[Any] | None
) -> LogColumns:
    """Return the columns of a log of drawn answers to items with choices.

    Args:
        parsed: The samples.
        picks: Index of the choice of each answer, -1 for none.
        correct: Whether the harness counts each answer as correct; None if it does not say.
    """
    labels = list(map(_get_first, parsed.golds))
    final_picks = []
    final_correct = []
    answers = []
    for index, (pick, label) in enumerate(zip(picks, labels, strict=True)):
        value = None if correct is None else correct[index]
        # What the harness says decides, also of an answer that we cannot read.
        if pick < 0 and value:
            pick = label
        final_picks.append(pick)
        answers.append("" if pick < 0 else LETTERS[pick])
        final_correct.append(int(pick == label) if value is None else value)
    lacks = find_lacks(parsed.replies, [pick < 0 for pick in final_picks], read_alone=True)
    # The choices are displayed in their order, but where the log has the letters of its own.
    orders = map(_find_displayed_order, parsed.letters, parsed.choices)
    return {
        "prompt": parsed.prompts,
        "choices": parsed.choices,
        "label": labels,
        "answer": answers,
        PICKED: final_picks,
        "correct": final_correct,
        **lacks,
        **list_unread_replies(parsed.replies, lacks, orders),
    }
