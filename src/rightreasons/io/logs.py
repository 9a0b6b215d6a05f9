"""Logs of harnesses as columns: of inspect_ai, and samples files of lm-evaluation-harness (`--log_samples`).

A samples file has one JSON object per item and filter. An item is a document, its requests (`arguments`), the answers
to them (`resps`, after a filter `filtered_resps`), the target, and its metrics. What becomes of it depends on the
requests:

- log-likelihoods of choices: `prompt`, `choices`, `label` and `logits`, the log-likelihood of each choice, which `acc`
  compares; beside them `per_character` (`acc_norm`), `per_byte` (`acc_bytes`) and, where the harness asked for them,
  `unconditional` (`acc_mutual_info`), to be named in `score_columns`;
- the same where every item has the same choices, and these are words: `text`, `label` and one column per class;
- generated answers: `text`, `answer`, and `target`.

The fields of the documents are columns too, as `doc.<name>`, but for those that say what belongs together (`LINKS`). An
item has the id of its document, or else its number.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
import shlex
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rightreasons.core.choices import LETTERS
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.json_files import MAX_JSON_CHARACTERS
from rightreasons.core.label_names import format_list
from rightreasons.core.replies import Reply, extract_text
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_all, check_at_most, check_ids

Row: TypeAlias = Mapping[str, Any]
LogColumns: TypeAlias = "dict[str, list[Any]]"
Form: TypeAlias = "Mapping[str, Any]"

# -------------------------------------------------------------------------------------------------- what all logs share


LINKS = ("pair_id", "source_id", "role", "is_original", "mirrored")
"""Fields of a document that keep their names, since they say which items belong together."""

EXPORTED = frozenset(("id", "number", "arm", "asked", "prompt", "choices", "options", "label"))
"""Fields of a document, or of the metadata of a sample, that `rightreasons data export --reasons` wrote."""

UNREAD = "answer_unread"
"""The column that says which samples hold no answer that can be read; not there where all do."""

LACK = "answer_lack"
"""The column that says why a sample holds no answer, "" where it holds one; not there where all do."""

NO_READABLE_ANSWER = "no answer that can be read"
"""Reason of an answer that ended as it should, and cannot be read."""

PICKED = "answer_choice"
"""The column of a log of drawn answers with the index of the choice of each answer, -1 for no answer."""

ARMS_KEY = "rightreasons"
"""Name under which a sample or a document contains the answers to its changed versions."""

ARMS_SCORER, CHOICE_SCORER = "arms", "choice"
"""Scorers of inspect_ai: ours, which keeps these answers, and that of items with choices."""

ARMS_COMMAND = "arms_command"
"""The column of the command that asks the same items in all arms."""

ARMS = "logged_arms"
"""The column of these answers, as JSON; not there where no sample has any."""

_TOLD = frozenset(("id", "number", "task", "text", "text_pair", "turns"))
"""Fields of such a document that are columns of their own, or none."""


def are_exported(documents: Iterable[Any]) -> bool:
    """Tell whether documents, or the metadata of samples, are requests that `data export --reasons` wrote."""
    return all(
        isinstance(document, Mapping) and document.keys() >= EXPORTED for document in documents
    )


def exported_columns(documents: Sequence[Row], replies: Iterable[Reply]) -> LogColumns:
    """Return the columns of requests that `rightreasons data export --reasons` wrote, and of the replies to them."""
    columns = {name: name for name in documents[0] if name not in _TOLD}
    ids = [str(document["id"]) for document in documents]
    return {"id": ids} | _shared_fields(documents, columns) | _thought(list(replies))


def _shared_fields(documents: Sequence[Row], columns: Mapping[str, str]) -> LogColumns:
    """Return the fields that all documents have, under the names of their columns."""
    shared = [
        (name, column)
        for name, column in columns.items()
        if all(name in document for document in documents)
    ]
    return {column: [document[name] for document in documents] for name, column in shared}


def field_columns(documents: Sequence[Row], taken: Collection[str]) -> LogColumns:
    """Return the fields that all items have as columns, `doc.<name>` or a name of `LINKS`, where these are not taken.

    Example:
        >>> field_columns([{"level": 3, "pair_id": "p"}], {"id"})
        {'doc.level': [3], 'pair_id': ['p']}
    """
    columns = {name: name if name in LINKS else f"doc.{name}" for name in documents[0]}
    return _shared_fields(
        documents, {name: column for name, column in columns.items() if column not in taken}
    )


def arm_columns(documents: Iterable[Row]) -> LogColumns:
    """Return the answers to the changed versions of each sample as JSON; {} where no sample has any.

    Example:
        >>> arm_columns([{"rightreasons": {"seed": 0}}, {}])
        {'logged_arms': ['{"seed": 0}', '']}
    """
    records = []
    for document in documents:
        record = document.get(ARMS_KEY)
        records.append(json.dumps(record) if isinstance(record, Mapping) else "")
    return {ARMS: records} if any(records) else {}


def _thought(replies: Sequence[Reply]) -> LogColumns:
    """Return what a model wrote, where that is what is asked: its text, its thinking, and why it is no answer."""
    return {
        "text": [reply.text for reply in replies],
        "thinking": [reply.thinking for reply in replies],
        "hidden": [reply.thinks and not reply.thinking for reply in replies],
        LACK: [reply.no_answer_reason for reply in replies],
    }


def make_answer_columns(
    texts: Sequence[str], answers: Sequence[str], targets: Sequence[str], lacks: LogColumns
) -> LogColumns:
    """Return the columns of generated answers: what was asked, the answers, the correct ones, and `find_lacks`."""
    return {"text": list(texts), "answer": list(answers), "target": list(targets)} | lacks


def find_lacks(
    replies: Iterable[Reply], unread: Iterable[bool], *, read_alone: bool = False
) -> LogColumns:
    """Return why replies hold no answer: by their end, or because none can be read; {} where all do.

    With `read_alone`, one that could be read is an answer, however it ended.
    """
    lacks = [
        (reply.no_answer_reason or (NO_READABLE_ANSWER if lost else ""))
        if lost or not read_alone
        else ""
        for reply, lost in zip(replies, unread, strict=True)
    ]
    return {UNREAD: [bool(lack) for lack in lacks], LACK: lacks} if any(lacks) else {}


def find_correct(metrics: Sequence[Row]) -> LogColumns:
    """Return whether each answer was right, by the first metric that says nothing else of any: 1, 0, or None for null.

    {} where there is no such metric.
    """
    # Of several, such as "is_truncated" beside "extractive_match", those count whose names say that much.
    names = list(metrics[0]) if len(metrics[0]) == 1 else list(filter(_METRIC.search, metrics[0]))
    for name in sorted(names, key=lambda name: (*_METRICS, name).index(name)):
        values = [row.get(name) for row in metrics]
        right = [_RIGHT.get(str(value)) for value in values]
        untold = [value for value, is_right in zip(values, right, strict=True) if is_right is None]
        if len(untold) < len(right) and all(value is None or value != value for value in untold):
            return {"correct": right}
    return {}


_RIGHT = {"C": 1, "True": 1, "1": 1, "1.0": 1, **dict.fromkeys(("I", "N", "False", "0", "0.0"), 0)}
"""What harnesses say of a right and of a wrong answer; inspect_ai says N of none."""


def drop_unjudged(columns: LogColumns, where: str) -> LogColumns:
    """Leave out the samples that were not judged."""
    right = columns.get("correct", [])
    _warn(right.count(None), len(right), where, "have no score")
    return _with_value(columns, right) if None in right else columns


def _with_value(columns: LogColumns, values: Sequence[Any]) -> LogColumns:
    """Return the rows of columns that have a value."""
    return {
        name: [each for each, value in zip(column, values, strict=True) if value is not None]
        for name, column in columns.items()
    }


def make_units(ids: Sequence[Any]) -> LogColumns:
    """Return the ids of samples; where one was answered several times, its answers belong together."""
    names = list(map(str, ids))
    if len(set(names)) == len(names):
        return {"id": names}
    again = defaultdict[str, Iterator[int]](lambda: itertools.count(1))
    return {"id": [f"{name}/{next(again[name])}" for name in names], "source_id": names}


def normalize_scores(
    logits: Sequence[Sequence[float]], texts: Sequence[Sequence[str]]
) -> LogColumns:
    """Return log-likelihoods per character and byte of a choice without the space in front of it, as the harness."""
    if not all(all(row) for row in texts):
        return {}
    rows = [[*zip(*pair, strict=True)] for pair in zip(logits, texts, strict=True)]
    return {
        "per_character": [[score / len(text) for score, text in row] for row in rows],
        "per_byte": [
            [score / len(text.encode("utf-8", "surrogatepass")) for score, text in row]
            for row in rows
        ],
    }


def get_inner(value: Any, *steps: Any) -> Any:
    """Return what is inside a value of JSON; None where it is not there."""
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _mappings(value: Any) -> list[Row]:
    """Return the objects in a list; none of anything else."""
    return (
        [part for part in value if isinstance(part, Mapping)]
        if isinstance(value, (list, tuple))
        else []
    )


def to_list(value: Any) -> list[Any]:
    """Return a list of the elements of a value: none for None, and a single value as the only one."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value]


def one_source(kind: str, names: Collection[str], chosen: str | None, where: str) -> str:
    """Return the filter or scorer whose answers are meant: the one that is named, or the only one.

    Raises:
        ValueError: If there are several and none is named, or the one named is not there.
    """
    known = sorted(names)
    if chosen is None and len(known) > 1:
        raise OptionError(
            f"Expected the answers of one {kind} in {where}, but it has those of {format_list(known)}; name one with "
            "`log_filter`.",
            option="log_filter",
        )
    if chosen is not None and chosen not in known:
        raise make_unknown_name_error(f"{kind} of {where}", chosen, known)
    return chosen or known[0]


# --------------------------------------------------------------------------------------------------- the model of a log


_SAMPLES = re.compile(
    r"(?:samples|details)_(.+?)(?:\|\d+)?_\d{4}-\d\d-\d\dT[\d.:-]+\.(?:jsonl|parquet)"
)
"""How lm-evaluation-harness names a file of samples, and lighteval one of details, in folders named after the model."""


def logged(path: str | Path, columns: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the model whose answers a file holds, and of its task; "" for what it does not tell.

    The task of lighteval has its suite before it, as in "leaderboard|piqa".

    They are what columns `model` and `task` say of every row; of lm-evaluation-harness the names of the folder, where
    "__" stands for "/", and of the file; of lighteval those of the folders between "details" and the date, and of the
    file.

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
    samples = _SAMPLES.fullmatch(file.name)
    if samples is not None and file.suffix == ".parquet":
        above = file.parent.parent.as_posix().rpartition("details/")
        return above[2] if above[1] else "", samples[1]
    if samples is not None:
        return file.parent.name.replace("__", "/"), samples[1]
    names_in_log = [
        {each if isinstance(each, str) else "" for each in columns.get(name, ())}
        for name in ("model", "task")
    ]
    model, task = (next(iter(names)) if len(names) == 1 else "" for names in names_in_log)
    return model, task


# ----------------------------------------------------------------------------------------------------------- inspect_ai


_PARTS: Mapping[str, Any] = {
    "choices": list,
    "scores": Mapping,
    "output": Mapping,
    "metadata": Mapping,
}
"""Parts of a sample, each of which may be missing, and their kinds."""


def is_inspect(content: object) -> bool:
    """Tell whether the content of a JSON file is a log of inspect_ai."""
    return isinstance(content, Mapping) and content.keys() >= {"version", "status", "eval"}


def read_archive(path: Path) -> Mapping[str, Any]:
    """Read a log in inspect_ai's own format, by inspect_ai.

    Raises:
        ImportError: If inspect_ai is not installed.
        ValueError: If the file is no such log, or unpacks to more than the limit.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise ImportError(
            f"Expected inspect_ai to read {path.name}: pip install 'rightreasons[harness]', or convert the log with "
            "`inspect log convert --to json`."
        ) from None
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        check_at_most(size, MAX_JSON_CHARACTERS, "bytes", path.name)
        content: Mapping[str, Any] = read_eval_log(str(path), resolve_attachments=False).model_dump(
            mode="json"
        )
    except (
        Exception
    ) as error:  # of inspect_ai, pydantic, json and zip: whatever a damaged archive leads to
        said = format_value(str(error) or type(error).__name__).strip("'\"")
        raise ValueError(
            f"Expected a log of inspect_ai in {path.name}, but it cannot be read: {said}."
        ) from None
    return content


def inspect_columns(log: Row, where: str, *, scorer: str | None = None) -> LogColumns:
    """Turn the samples of a log into columns.

    Args:
        log: The content of the file.
        where: The name of the file, for errors.
        scorer: The scorer whose answers are meant, where there are several.

    Returns:
        Column by name, in the names that `rightreasons.io.predictions.read_predictions` knows.

    Raises:
        ValueError: If there is no sample that has an answer, samples are of different kinds, or there are several
            scorers and none is named.
    """
    samples = _whole(log, where)
    metadata = [sample.get("metadata") or {} for sample in samples]
    if are_exported(metadata):
        check_ids([meta["id"] for meta in metadata], f"request of {where}, in one epoch,")
        samples = sorted(
            samples, key=lambda sample: int(sample["metadata"]["number"])
        )  # inspect_ai sorts by the ids
        return exported_columns([sample["metadata"] for sample in samples], map(_reply_of, samples))
    scores = _scores(samples, scorer, where)
    columns = make_units([entry["id"] for entry in samples])
    have_choices = {bool(sample.get("choices")) for sample in samples}
    if len(have_choices) > 1:
        raise ValueError(f"Expected samples of one kind in {where}, but only some have choices.")
    columns |= (_choices if have_choices.pop() else _texts)(samples, scores, where)
    names = {
        "model": get_inner(log, "eval", "model"),
        "task": str(get_inner(log, "eval", "task") or "").rpartition("/")[2],
    }
    columns |= {name: [value] * len(samples) for name, value in names.items() if value}
    columns |= arm_columns(metadata)
    columns[ARMS_COMMAND] = [_write_arms_command(log)] * len(samples)
    fields = [{key: value for key, value in meta.items() if key != ARMS_KEY} for meta in metadata]
    columns |= field_columns(fields, columns)
    return drop_unjudged(columns, where)


def _write_arms_command(log: Row) -> str:
    """Return the command that asks the samples of a log in their arms, too."""
    name = str(get_inner(log, "eval", "task") or "")
    task_file = get_inner(log, "eval", "task_file")
    if task_file:
        name = f"{task_file}@{name.rpartition('/')[2]}"
    model = get_inner(log, "eval", "model")
    words = ["inspect", "eval", name]
    if model:
        words += ["--model", str(model)]
    return shlex.join([*words, "--solver", "rightreasons/probed"])


def _whole(log: Row, where: str) -> list[Row]:
    """Return the samples that ended without an error."""
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise ValueError(
            f"Expected samples in {where}, but it has none: the log may have been written without them."
        )
    check_all(
        samples,
        lambda entry: (
            isinstance(entry, Mapping)
            and {"id", "target"} <= entry.keys()
            and all(
                isinstance(entry.get(name), (kind, type(None))) for name, kind in _PARTS.items()
            )
        ),
        f"samples with an id and a target, a list of choices, and objects of scores, output and metadata in {where}",
        unit="sample",
    )
    ended = [sample for sample in samples if not sample.get("error")]
    if not ended:
        raise ValueError(
            f"Expected samples with answers in {where}, but all {len(samples):,} ended in an error."
        )
    _warn(len(samples) - len(ended), len(samples), where, "ended in an error")
    return ended


def _warn(n_left_out: int, n_samples: int, where: str, why: str) -> None:
    if n_left_out:
        warnings.warn(
            f"{n_left_out:,} of {n_samples:,} samples of {where} {why} and are left out.",
            stacklevel=3,
        )


def _scores(samples: Sequence[Row], scorer: str | None, where: str) -> list[Row]:
    """Return what the scorer that is meant says of each sample."""
    names = {name for sample in samples for name in sample.get("scores") or {}}
    if not names:
        raise ValueError(f"Expected samples with scores in {where}, but none has any.")
    # Our own scorer keeps the arms; of several others, `choice` is that of items with choices.
    if scorer is None and len(names) > 1:
        names -= {ARMS_SCORER}
    if scorer is None and CHOICE_SCORER in names:
        names = {CHOICE_SCORER}
    name = one_source("scorer", names, scorer, where)
    return [
        score if isinstance(score := get_inner(each, "scores", name), Mapping) else {}
        for each in samples
    ]


def _choices(samples: Sequence[Row], scores: Sequence[Row], where: str) -> LogColumns:
    choices = [list(map(str, sample["choices"])) for sample in samples]
    targets = [_target(sample).strip() for sample in samples]
    check_all(
        zip(targets, choices, strict=True),
        lambda pair: find_letter(*pair) is not None,
        f"the letter of one choice as the target of each sample of {where}",
        unit="sample",
        names=[sample["id"] for sample in samples],
    )
    labels = [find_letter(*pair) for pair in zip(targets, choices, strict=True)]
    # What the scorer says decides, also of an answer that is no letter; where it says nothing, the letters do.
    right = find_correct([{"value": score.get("value")} for score in scores]).get(
        "correct", [None] * len(scores)
    )
    picked, by_place = list[int | None](), list[dict[Any, float]]()
    for sample, texts, score, value, gold in zip(
        samples, choices, scores, right, labels, strict=True
    ):
        place = find_letter(str(score.get("answer") or "").strip(), texts)
        # Our solver reads an answer that the scorer of the harness may not read.
        own = get_inner(sample, "metadata", ARMS_KEY, "arms", "original") or {}
        if place is None and own.get("position", -1) >= 0:
            place = own["position"]
        picked.append(gold if place is None and value else place)
        if own.get("logits"):
            by_place.append(dict(enumerate(own["logits"])))
        else:
            by_place.append(_told(sample, texts, picked[-1]))
    columns: LogColumns = {
        "prompt": list(map(_input, samples)),
        "choices": choices,
        "label": labels,
    }
    # Of answers that were drawn, the scores of all letters would be those of other answers.
    whole = (
        len(row) == len(texts) and row[place] == max(row.values())
        for row, texts, place in zip(by_place, choices, picked, strict=True)
    )
    if all(whole):
        return columns | {"logits": [[row[place] for place in sorted(row)] for row in by_place]}
    columns["correct"] = [
        int(place == gold) if value is None else value
        for place, value, gold in zip(picked, right, labels, strict=True)
    ]
    columns["answer"] = ["" if place is None else LETTERS[place] for place in picked]
    columns[PICKED] = [-1 if place is None else place for place in picked]
    confidences = _answer_confidences(picked, by_place)
    if any(confidence is not None for confidence in confidences):
        columns["confidence"] = confidences
    return columns | find_lacks(
        map(_reply_of, samples), [place is None for place in picked], read_alone=True
    )


def _answer_confidences(
    picks: Sequence[int | None], by_choice: Sequence[Mapping[int, float]]
) -> list[float | None]:
    """Return the probability of each answer; None if the log does not contain it.

    Args:
        picks: Index of the choice of each answer, None for no answer.
        by_choice: Choice -> its log-probability, for each sample.
    """
    confidences: list[float | None] = []
    for pick, log_probabilities in zip(picks, by_choice, strict=True):
        confidence = None
        if pick is not None and pick in log_probabilities:
            confidence = math.exp(log_probabilities[pick])
        confidences.append(confidence)
    return confidences


def select_confident_answers(columns: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return the rows of a log of drawn answers that have a confidence, without the label.

    Whether a drawn answer is correct is known from the column `correct`. Columns of any other file,
    and of a log without confidences, are returned as they are.

    Args:
        columns: Column by name.
        where: Name of the file, for warnings.
    """
    if PICKED not in columns or "confidence" not in columns:
        return columns
    confidences = list(columns["confidence"])
    n_unread = sum(pick < 0 for pick in columns[PICKED])
    n_missing = sum(confidence is None for confidence in confidences)
    _warn(n_unread, len(confidences), where, "have no answer")
    _warn(n_missing - n_unread, len(confidences), where, "tell no log-probability of their answer")
    # The remaining rows all have an answer.
    unused = (PICKED, "label", "answer", UNREAD, LACK)
    selected = {name: column for name, column in columns.items() if name not in unused}
    return _with_value(selected, confidences)


def find_letter(mark: str, choices: Sequence[str]) -> int | None:
    """Return the place of a letter among those of some choices; None for anything else."""
    return LETTERS.index(mark) if len(mark) == 1 and mark in LETTERS[: len(choices)] else None


def _told(sample: Row, choices: Sequence[str], picked: int | None) -> dict[Any, float]:
    """Return the log-probability of each choice where the letter of the answer was generated.

    Of shuffled choices the harness turns answers, prompt and message back, but not the tokens, which name the letters
    as they were shown. The events tell the order, where the log has them; else the answer's own is all that is known.
    """
    output = sample.get("output") or {}
    letters = [
        mark
        for token in _tokens(output)
        if find_letter(mark := _bare(token.get("token")), choices) is not None
    ]
    if picked is None or not letters:
        return {}
    by_mark = letter_log_probabilities(output, len(choices), letters[-1])
    prompts = _asked(sample)
    for texts in (prompts, join_user_texts(sample.get("messages"))):
        lines = {line.strip() for text in texts for line in text.split("\n")}
        places = {
            mark: place
            for mark in LETTERS[: len(choices)]
            for place, text in reversed([*enumerate(choices)])
            if f"{mark}) {text.strip()}" in lines
        }
        if sorted(places.values()) == [*range(len(choices))] and places[letters[-1]] == picked:
            return {places[mark]: value for mark, value in by_mark.items()}
    if letters[-1] in by_mark and (LETTERS[picked] != letters[-1] or prompts):
        return {picked: by_mark[letters[-1]]}
    return {LETTERS.index(mark): value for mark, value in by_mark.items()}


def _asked(sample: Row) -> list[str]:
    """Return what the user said when the model was asked, by the events of a sample; [] where it has none."""
    events = [event for event in _mappings(sample.get("events")) if event.get("event") == "model"]
    pool, refs = (
        get_inner(sample, "events_data", "messages"),
        events[-1].get("input_refs") if events else None,
    )
    pooled = [message for start, end in refs or () for message in to_list(pool)[start:end]]
    texts = join_user_texts(events[-1].get("input") or pooled) if events else []
    return [
        str(get_inner(sample, "attachments", text.removeprefix("attachment://")) or text)
        for text in texts
    ]


def join_user_texts(messages: Any) -> list[str]:
    """Return what the user said in some messages."""
    return [
        extract_text(message.get("content"))
        for message in _mappings(messages)
        if message.get("role") == "user"
    ]


def _texts(samples: Sequence[Row], scores: Sequence[Row], where: str) -> LogColumns:
    replies = list(map(_reply_of, samples))
    # A scorer that keeps no answer read all of the text.
    kept = [score.get("answer") for score in scores]
    answers = [
        reply.text if answer is None else str(answer)
        for reply, answer in zip(replies, kept, strict=True)
    ]
    lacks = find_lacks(replies, [not answer.strip() for answer in answers], read_alone=True)
    columns = make_answer_columns(
        list(map(_input, samples)), answers, list(map(_target, samples)), lacks
    )
    return columns | find_correct([{"value": score.get("value")} for score in scores])


def _target(sample: Row) -> str:
    target = sample["target"]
    return str(target[0]) if isinstance(target, list) and len(target) == 1 else str(target)


def _input(sample: Row) -> str:
    """Return what was asked; of a chat, the messages of the user."""
    content = sample.get("input", "")
    return "\n".join(join_user_texts(content)) if isinstance(content, list) else str(content)


def letter_log_probabilities(
    output: Mapping[str, Any], n_choices: int, answer: str
) -> dict[str, float]:
    """Return the log-probability of each letter where the letter of the answer was generated: its last place.

    Args:
        output: The output of a sample, with the log-probabilities of its tokens.
        n_choices: How many letters there are.
        answer: The letter that was answered; "" for none.

    Returns:
        Letter -> log-probability, for the letters that the model told.
    """
    token = next(
        (
            entry
            for entry in reversed(_tokens(output))
            if answer and _bare(entry.get("token")) == answer
        ),
        None,
    )
    if token is None:
        return {}
    by_letter = _told_by(_mappings(token.get("top_logprobs"))) | _told_by(
        [{**token, "token": answer}]
    )
    return {letter: by_letter[letter] for letter in LETTERS[:n_choices] if letter in by_letter}


def _bare(token: Any) -> str:
    """Return a token without the marks of a space in front of it."""
    return str(token).strip(" Ġ▁*()\n")


def _told_by(tokens: Sequence[Row]) -> dict[str, float]:
    """Return the log-probability of each token as it is written, the likeliest of equal ones."""
    pairs = [(_bare(entry.get("token")), entry.get("logprob")) for entry in reversed(tokens)]
    return {token: float(value) for token, value in pairs if isinstance(value, (int, float))}


def inspect_words(content: Any) -> dict[str, str]:
    """Return the text, thinking and refusal of a message; of redacted thinking its summary, or that there was some.

    Example:
        >>> inspect_words([{"type": "reasoning", "reasoning": "x9", "redacted": True}, {"type": "text", "text": "B"}])
        {'text': 'B', 'thinking': '(hidden)', 'refusal': ''}
    """
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts: dict[str, str] = {"text": "", "thinking": "", "refusal": ""}
    for part in (part_of for part_of in parts if isinstance(part_of, Mapping)):
        if part.get("type") == "reasoning":
            shown = "" if part.get("redacted") else part.get("reasoning")
            texts["thinking"] += str(shown or part.get("summary") or "(hidden)")
        elif part.get("type") == "text":
            texts["refusal" if part.get("refusal") else "text"] += str(part.get("text") or "")
    return texts


def _reply_of(sample: Row) -> Reply:
    return inspect_reply(sample.get("output") or {})


def inspect_reply(output: Row) -> Reply:
    """Return what an output of a sample says."""
    message = get_inner(output, "choices", 0, "message")
    names = {
        "prompt_tokens": "input_tokens",
        "answer_tokens": "output_tokens",
        "thinking_tokens": "reasoning_tokens",
    }
    counts = {name: get_inner(output, "usage", key) for name, key in names.items()}
    said: Any = inspect_words(
        message.get("content") if isinstance(message, Mapping) else output.get("completion")
    )
    return Reply.parse(
        **said,
        finish=get_inner(output, "choices", 0, "stop_reason"),
        usage={name: count for name, count in counts.items() if isinstance(count, int)},
    )


def _tokens(output: Row) -> list[Row]:
    """Return the tokens of an output with their log-probabilities; [] where it has none."""
    return _mappings(get_inner(output, "choices", 0, "logprobs", "content"))


# ---------------------------------------------------------------- lm-evaluation-harness, lighteval and Every Eval Ever


KEYS = frozenset(("doc_id", "doc", "target", "arguments", "resps", "filtered_resps"))
"""Keys of every sample."""

NORMALIZED = ("per_character", "per_byte", "unconditional")
"""Columns of log-likelihoods in other measures than their sum."""

_SIGN = re.compile(r"\W*(?:[A-Za-z]|\d+)\W*")
_METRICS = ("correct", "exact_match", "acc", "em")
_METRIC = re.compile(r"correct|match|acc|em$|pass@|maj@|avg@|mc1|value")
"""The metrics that say whether an answer was right, those of lm-evaluation-harness first, and how others are named."""


def lm_eval_columns(rows: Sequence[Row], where: str, log_filter: str | None) -> LogColumns:
    """Return the columns of samples of one task of lm-evaluation-harness."""
    filters = [str(row.get("filter", "none")) for row in rows]
    chosen = one_source("filter", set(filters), log_filter, where)
    rows = [row for row, pair in zip(rows, filters, strict=True) if pair == chosen]
    rows = list(map(_drop_arms, rows))
    requests = [_requests(row, where) for row in rows]
    kinds = [_kind(row, pairs, where) for row, pairs in zip(rows, requests, strict=True)]
    expected = f"samples of one task in {where}, each with {kinds[0]}"
    check_all(
        kinds,
        lambda kind: kind == kinds[0],
        expected,
        unit="item",
        names=[row["doc_id"] for row in rows],
    )
    documents = [row["doc"] if isinstance(row["doc"], Mapping) else {} for row in rows]
    raw, read = ([_innermost(row[name]) for row in rows] for name in ("resps", "filtered_resps"))
    generated = kinds[0] == "a generated answer"
    ids = _ids(rows, documents, where)
    if are_exported(documents):
        return exported_columns(documents, [Reply.parse(str(text)) for text in raw])
    if generated:
        replies, texts = (
            [Reply.parse(_text(resp)) for resp in raw],
            [_text(resp) for resp in read],
        )
        lacks = find_lacks(replies, [text.strip() in ("", "[invalid]") for text in texts])
        columns = make_answer_columns(
            [str(pair[0][0]) for pair in requests],
            texts,
            [str(row["target"]) for row in rows],
            lacks,
        )
        columns |= find_correct(
            [{name: row[name] for name in _METRICS if name in row} for row in rows]
        )
    else:
        logits = [
            [_log_likelihood(resp, row, where) for resp in row["filtered_resps"]] for row in rows
        ]
        columns = _scored(rows, requests, logits, where)
    columns |= arm_columns(documents)
    fields = [{key: doc[key] for key in doc if key != ARMS_KEY} for doc in documents]
    return {"id": list(ids), **columns, **field_columns(fields, columns)}


def _drop_arms(row: Row) -> Row:
    """Return a sample without the requests of its arms, whose answers are in the document."""
    n_requests = get_inner(row, "doc", ARMS_KEY, "n_requests")
    if n_requests is None:
        return row
    arguments = row["arguments"]
    if isinstance(arguments, Mapping):
        arguments = dict(itertools.islice(arguments.items(), n_requests))
    else:
        arguments = arguments[:n_requests]
    answers = {name: row[name][:n_requests] for name in ("resps", "filtered_resps")}
    return {**row, **answers, "arguments": arguments}


def _kind(row: Row, requests: list[list[Any]], where: str) -> str:
    """Tell what was asked about an item."""
    answers = row["filtered_resps"]
    if all(len(request) > 1 and isinstance(request[1], dict) for request in requests):
        return "a generated answer"
    scored = isinstance(answers, list) and len(answers) == len(requests) > 1
    if scored and all(
        len(request) == 2 and all(isinstance(part, str) for part in request) for request in requests
    ):
        return "log-likelihoods of choices"
    raise _odd_item(
        "log-likelihoods of at least two choices, or a generated answer, per item",
        where,
        row,
        answers,
    )


def _odd_item(expected: str, where: str, row: Row, value: Any) -> ValueError:
    return ValueError(
        f"Expected {expected} of {where}, but item {row['doc_id']!r} has {str(value)[:40]!r}."
    )


def _requests(row: Row, where: str) -> list[list[Any]]:
    """Return the arguments of each request, which the harness writes as objects with numbered keys."""
    arguments = row["arguments"]
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if isinstance(requests, list) and requests:
        plain = [
            list(request.values()) if isinstance(request, dict) else request for request in requests
        ]
        if all(isinstance(request, list) and request for request in plain):
            return plain
    raise _odd_item("the requests of each item", where, row, arguments)


def _scored(
    rows: Sequence[Row],
    requests_of: Sequence[list[list[Any]]],
    scores: Sequence[list[float]],
    where: str,
) -> LogColumns:
    prompts, choices, labels, logits, alone = [], [], [], [], []
    for row, requests, row_scores in zip(rows, requests_of, scores, strict=True):
        n_choices = len(requests)
        if (
            n_choices % 2 == 0
            and all(not context for context, _ in requests[n_choices // 2 :])
            and requests[0][0]
        ):
            n_choices //= 2  # the other half asks for the choices without the prompt
        contexts, continuations = zip(*requests[:n_choices], strict=True)
        # Choices within the prompt, as Winogrande's.
        in_prompt = len(set(continuations)) == 1 and len(set(contexts)) > 1
        texts = list(contexts) if in_prompt else [text.removeprefix(" ") for text in continuations]
        prompts.append(continuations[0].removeprefix(" ") if in_prompt else contexts[0])
        choices.append(texts)
        logits.append(row_scores[:n_choices])
        alone.append(row_scores[n_choices:])
        labels.append(_label(row, texts, row_scores[:n_choices], where, in_prompt=in_prompt))
    shared = len(rows) > 1 and all(texts == choices[0] for texts in choices)
    if shared and all(map(_SIGN.fullmatch, choices[0])):
        choices = [
            _choice_texts(row["doc"], len(texts)) or texts
            for row, texts in zip(rows, choices, strict=True)
        ]
    elif shared and len(set(choices[0])) == len(choices[0]):
        by_class = zip(choices[0], map(list, zip(*logits, strict=True)), strict=True)
        scores_of = {f"logit_{name}": column for name, column in by_class}
        return {"text": prompts, "label": [choices[0][label] for label in labels], **scores_of}
    columns: LogColumns = {"prompt": prompts, "choices": choices, "label": labels, "logits": logits}
    columns |= normalize_scores(logits, choices)
    if all(alone):
        columns["unconditional"] = [
            [score - bare for score, bare in zip(*pair, strict=True)]
            for pair in zip(logits, alone, strict=True)
        ]
    return columns


def _log_likelihood(answer: Any, row: Row, where: str) -> float:
    while (
        isinstance(answer, list)
        and answer
        and (len(answer) == 1 or not isinstance(answer[0], list))
    ):
        answer = answer[0]
    with contextlib.suppress(TypeError, ValueError):  # it may be anything
        if not math.isnan(value := float(answer)):
            return value
    raise _odd_item("a log-likelihood per choice of each item", where, row, answer)


def _label(
    row: Row, choices: Sequence[str], scores: Sequence[float], where: str, *, in_prompt: bool
) -> int:
    """Return the index of the right choice: the target is its number or its text."""
    target = str(row["target"]).strip()
    texts = [text.strip() for text in choices]
    if not in_prompt:
        places = [int(target)] if target.isdecimal() and int(target) < len(choices) else []
        places += [texts.index(target)] if texts.count(target) == 1 else []
        # Of choices that are numbers themselves, the metric tells which of the two is meant.
        picked = max(range(len(scores)), key=scores.__getitem__)
        fitting = [place for place in places if row.get("acc") == float(place == picked)]
        if places:
            return (fitting or places)[0]
    # Where the choices are in the prompt, the target is what follows them; of two, the metric tells which was right.
    if in_prompt and len(choices) == 2 and row.get("acc") in (0, 1):
        picked = int(scores[1] > scores[0])
        return picked if row["acc"] == 1 else 1 - picked
    raise _odd_item(
        "one right choice, by number or text, as the target of each item", where, row, target
    )


def _choice_texts(document: Any, n_choices: int) -> list[str] | None:
    """Return the texts that letters stand for, where the document has them."""
    texts = get_inner(document, "choices", "text") or get_inner(document, "choices")
    is_whole = (
        isinstance(texts, list)
        and len(texts) == n_choices
        and all(isinstance(text, str) for text in texts)
    )
    return texts if is_whole else None


def _innermost(value: Any) -> Any:
    while isinstance(value, list) and value:
        value = value[0]
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _ids(rows: Sequence[Row], documents: Sequence[Row], where: str) -> Sequence[str]:
    names = [document.get("id") for document in documents]
    if all(isinstance(name, (str, int)) for name in names) and len(set(names)) == len(names):
        return [str(name) for name in names]
    return check_ids([row["doc_id"] for row in rows], f"doc_id of {where}")
