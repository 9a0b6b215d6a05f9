"""Logs of harnesses as columns: of inspect_ai, and samples files of lm-evaluation-harness (`--log_samples`).

A samples file has one JSON object per item and filter. An item is a document, its requests (`arguments`), the answers
to them (`resps`, after a filter `filtered_resps`), the target, and its metrics. What becomes of it depends on the
requests:

- log-likelihoods of choices: `prompt`, `choices`, `label` and `logits`, the log-likelihood of each choice, which `acc`
  compares; beside them `per_character` (`acc_norm`), `per_byte` (`acc_bytes`) and, where the harness asked for them,
  `unconditional` (`acc_mutual_info`), to be named in `score_columns`;
- the same where every item has the same choices, and these are words: `text`, `label` and one column per class;
- generated answers: `text`, `answer`, and `target`.

The metrics and the fields of the documents are columns too, the latter as `doc.<name>`, but for those that say what
belongs together (`LINKS`). An item has the id of its document, or else its number.
"""

from __future__ import annotations

import contextlib
import math
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.core.errors import OptionError, one_line, unknown_name
from rightreasons.core.label_names import listing
from rightreasons.core.replies import Reply, words_of
from rightreasons.core.validation import MAX_JSON_CHARACTERS

# -------------------------------------------------------------------------------------------------- what all logs share


LINKS = ("pair_id", "source_id", "role", "is_original", "mirrored")
"""Fields of a document that keep their names, since they say which items belong together."""

EXPORTED = ("asked", "prompt", "choices", "options", "label")
"""Fields of a document that `rightreasons data export` wrote: they come back as they were."""

UNREAD = "answer_unread"
"""The column that says which samples hold no answer that can be read; not there where all do."""

LACK = "answer_lack"
"""The column that says why a sample holds no answer, "" where it holds one; not there where all do."""

LEFT_OUT = "answers_left_out"
"""The column that holds, in every row, how many samples without an answer are not among the rows."""

_TOLD = frozenset((*EXPORTED, "id", "number", "task", "text", "text_pair", "turns"))
"""Fields of such a document that are columns of their own, or none."""


def is_exported(document: Any) -> bool:
    """Tell whether a document, or the metadata of a sample, is a request that `rightreasons data export` wrote."""
    return isinstance(document, Mapping) and document.keys() >= {"id", *EXPORTED}


def exported_columns(
    documents: Sequence[Mapping[str, Any]], logits: Sequence[Sequence[float]] | None, where: str
) -> dict[str, list[Any]]:
    """Return the columns of requests that `rightreasons data export` wrote.

    Args:
        documents: The requests.
        logits: A row of scores for each, one per option; None where only answers are known.
        where: The name of the file, for errors.

    Raises:
        ValueError: If requests are of different tasks, or a request is not as it was written.

    Example:
        >>> row = {"id": "a", "asked": "items", "prompt": "Fun.", "choices": ["bad", "good"], "options": ["A", "B"]}
        >>> row |= {"label": 1, "task": "classification", "text_pair": None, "pair_id": "p"}
        >>> exported_columns([row], [[-2.0, -1.0]], "samples.jsonl")
        {'id': ['a'], 'text': ['Fun.'], 'label': ['good'], 'logit_bad': [-2.0], 'logit_good': [-1.0], 'pair_id': ['p']}
    """
    first = documents[0]
    tasks = {str(one.get("task", "multiple_choice")) for one in documents}
    if len(tasks) > 1:
        raise ValueError(f"Expected requests of one task in {where}, but it has those of {listing(sorted(tasks))}.")
    for place, one in enumerate(documents):
        label, choices, options = one["label"], one["choices"], one["options"]
        n_choices = len(choices) if isinstance(choices, list) and isinstance(options, list) else 0
        if not n_choices or len(options) != n_choices or not (isinstance(label, int) and -1 <= label < n_choices):
            raise ValueError(
                f"Expected the requests of {where} as they were written, but that of {str(one['id'])[:40]!r} has the "
                f"choices {str(choices)[:40]} and the label {str(label)[:40]}."
            )
        if logits is not None and len(logits[place]) != n_choices:
            raise ValueError(
                f"Expected a score for each of {n_choices} choices in {where}, but {str(one['id'])[:40]!r} has "
                f"{len(logits[place])}."
            )
    columns: dict[str, list[Any]] = {"id": [str(one["id"]) for one in documents]}
    if tasks == {"classification"}:
        names = [str(name) for name in first["choices"]]
        if any(one["choices"] != first["choices"] for one in documents):
            raise ValueError(f"Expected the same classes in every request of {where}, but they differ.")
        columns["text"] = [one["prompt"] for one in documents]
        if any(one.get("text_pair") is not None for one in documents):
            columns["text_pair"] = [one.get("text_pair") for one in documents]
        columns["label"] = [names[one["label"]] if one["label"] >= 0 else None for one in documents]
        for place, name in enumerate(names if logits is not None else ()):
            columns[f"logit_{name}"] = [row[place] for row in logits or ()]
    else:
        columns |= {name: [one[name] for one in documents] for name in EXPORTED}
        if logits is not None:
            columns["logits"] = [list(row) for row in logits]
    further = [name for name in first if name not in _TOLD and name not in columns]
    return columns | {
        name: [one[name] for one in documents] for name in further if all(name in one for one in documents)
    }


def reply_columns(replies: Sequence[Reply]) -> dict[str, list[Any]]:
    """Return what a model wrote, where that is what is asked: its text, its thinking, and why it is no answer."""
    return {
        "text": [reply.text for reply in replies],
        "thinking": [reply.thinking for reply in replies],
        "hidden": [reply.thinks and not reply.thinking for reply in replies],
        LACK: [reply.lack for reply in replies],
    }


def field_columns(documents: Sequence[Mapping[str, Any]], taken: Collection[str]) -> dict[str, list[Any]]:
    """Return the fields that all items have as columns, `doc.<name>` or a name of `LINKS`, where these are not taken.

    Example:
        >>> field_columns([{"level": 3, "pair_id": "p"}], {"id"})
        {'doc.level': [3], 'pair_id': ['p']}
    """
    columns = {name: name if name in LINKS else f"doc.{name}" for name in documents[0]}
    return {
        column: [document[name] for document in documents]
        for name, column in columns.items()
        if column not in taken and all(name in document for document in documents)
    }


def one_source(kind: str, names: Collection[str], chosen: str | None, where: str) -> str:
    """Return the filter or scorer whose answers are meant: the one that is named, or the only one.

    Raises:
        ValueError: If there are several and none is named, or the one named is not there.
    """
    known = sorted(names)
    if chosen is None and len(known) > 1:
        raise OptionError(
            f"Expected the answers of one {kind} in {where}, but it has those of {listing(known)}; name one with "
            "`log_filter`.",
            option="log_filter",
        )
    if chosen is not None and chosen not in known:
        raise unknown_name(f"{kind} of {where}", chosen, known)
    return chosen or known[0]


# --------------------------------------------------------------------------------------------------- the model of a log


_SAMPLES = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl")
"""How lm-evaluation-harness names a file of samples, in a folder named after the model."""


def logged(path: str | Path) -> tuple[str, str]:
    """Return the names of the model whose answers a log holds, and of its task; "" for what it does not tell.

    Of lm-evaluation-harness they are the names of the folder, where "__" stands for "/", and of the file; of
    inspect_ai, what the header of an `.eval` file says.

    Args:
        path: The log, whether it is one or not.

    Example:
        >>> logged("logs/HuggingFaceTB__SmolLM2-135M/samples_piqa_2026-11-22T10-00-00.123456.jsonl")
        ('HuggingFaceTB/SmolLM2-135M', 'piqa')
        >>> logged("answers.csv")
        ('', '')
    """
    file = Path(path)
    samples = _SAMPLES.fullmatch(file.name)
    if samples is not None:
        return file.parent.name.replace("__", "/"), samples[1]
    if file.suffix != ".eval":
        return "", ""
    try:
        from inspect_ai.log import read_eval_log

        told = read_eval_log(str(file), header_only=True).eval
        return str(told.model), str(told.task).rpartition("/")[2]
    except Exception:  # of inspect_ai, pydantic, json and zip: whatever a damaged archive leads to
        return "", ""


# ----------------------------------------------------------------------------------------------------------- inspect_ai


_PARTS: Mapping[str, Any] = {"choices": list, "scores": Mapping, "output": Mapping, "metadata": Mapping}
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
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise _unreadable(path, error) from None
    if size > MAX_JSON_CHARACTERS:
        raise ValueError(f"Expected at most {MAX_JSON_CHARACTERS:,} bytes in {path.name}, but it unpacks to {size:,}.")
    try:
        log = read_eval_log(str(path), resolve_attachments=False)
    except Exception as error:  # of inspect_ai, pydantic, json and zip: whatever a damaged archive leads to
        raise _unreadable(path, error) from None
    content: Mapping[str, Any] = log.model_dump(mode="json")
    return content


def inspect_columns(log: Mapping[str, Any], where: str, *, scorer: str | None = None) -> dict[str, list[Any]]:
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
    if all(map(is_exported, metadata)):
        if all(isinstance(own.get("number"), int) for own in metadata):  # inspect_ai sorts its samples by their ids
            samples = sorted(samples, key=lambda sample: int(sample["metadata"]["number"]))
        return _exported(samples, [sample["metadata"] for sample in samples], where, scorer)
    names = {name for sample in samples for name in sample.get("scores") or {}}
    if not names:
        raise ValueError(f"Expected samples with scores in {where}, but none has any.")
    name = one_source("scorer", names, scorer, where)
    several = len({str(sample.get("epoch", 1)) for sample in samples}) > 1
    columns: dict[str, list[Any]] = {
        "id": [f"{one['id']}/{one.get('epoch', 1)}" if several else str(one["id"]) for one in samples]
    }
    if several:  # the answers to one sample belong together
        columns["source_id"] = [str(one["id"]) for one in samples]
    have_choices = {bool(sample.get("choices")) for sample in samples}
    if len(have_choices) > 1:
        raise ValueError(f"Expected samples of one kind in {where}, but only some have choices.")
    columns |= (_choices if have_choices.pop() else _texts)(samples, name, where)
    columns |= field_columns(metadata, columns)
    if "confidence" not in columns:
        return columns
    n_unread = columns.pop(LEFT_OUT)[0]
    answered = [value is not None for value in columns["confidence"]]
    if not all(answered):
        _warn(n_unread, len(answered), where, "have no answer")
        _warn(len(answered) - sum(answered) - n_unread, len(answered), where, "tell no log-probability of their answer")
        columns |= {LEFT_OUT: [n_unread] * len(answered)} if n_unread else {}
    return {
        key: [value for value, is_kept in zip(column, answered, strict=True) if is_kept]
        for key, column in columns.items()
    }


# ------------------------------------------------------------------------------------------------------------- private


def _unreadable(path: Path, error: Exception) -> ValueError:
    said = one_line(str(error) or type(error).__name__).strip("'\"")
    return ValueError(f"Expected a log of inspect_ai in {path.name}, but it cannot be read as such: {said}.")


def _whole(log: Mapping[str, Any], where: str) -> list[Mapping[str, Any]]:
    """Return the samples that ended without an error."""
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise ValueError(f"Expected samples in {where}, but it has none: the log may have been written without them.")
    odd = next(
        (row for row, one in enumerate(samples) if not isinstance(one, Mapping) or not {"id", "target"} <= one.keys()),
        None,
    )
    if odd is not None:
        raise ValueError(
            f"Expected samples with an id and a target in {where}, but sample {odd} is {str(samples[odd])[:40]!r}."
        )
    for one in samples:
        for name, kind in _PARTS.items():
            if not isinstance(one.get(name), (kind, type(None))):
                raise ValueError(
                    f"Expected {'an object' if kind is Mapping else 'a list'} as {name} of each sample of {where}, but "
                    f"that of sample {one_line(one['id'])} is {one_line(one[name], 40)}."
                )
    ended = [sample for sample in samples if not sample.get("error")]
    failed = len(samples) - len(ended)
    if not ended:
        raise ValueError(f"Expected samples with answers in {where}, but all {failed:,} ended in an error.")
    if failed:
        _warn(failed, len(samples), where, "ended in an error")
    return ended


def _exported(
    samples: Sequence[Mapping[str, Any]], metadata: Sequence[Mapping[str, Any]], where: str, scorer: str | None
) -> dict[str, list[Any]]:
    """Return the columns of requests that `rightreasons data export` wrote: with scores, or with answers alone."""
    ids = [str(own["id"]) for own in metadata]
    twice = next((name for name, count in Counter(ids).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"Expected each request of {where} once, but {twice!r} comes twice: it has several epochs.")
    columns = exported_columns(metadata, None, where)
    if "arm" in columns:
        return columns | reply_columns([inspect_reply(sample.get("output") or {}) for sample in samples])
    tops = [
        first_letters(sample.get("output") or {}, own["options"]) for sample, own in zip(samples, metadata, strict=True)
    ]
    able = [place for place, row in enumerate(tops) if any(math.isfinite(value) for value in row)]
    if able:
        if len(able) < len(tops):
            _warn(len(tops) - len(able), len(tops), where, "tell the log-probability of none of their answers")
        return exported_columns([metadata[place] for place in able], [tops[place] for place in able], where)
    name = one_source("scorer", {name for sample in samples for name in sample.get("scores") or {}}, scorer, where)
    answers = [str(_score(sample, name).get("answer") or "").strip() for sample in samples]
    places = [
        own["options"].index(answer) if answer in own["options"] else -1
        for answer, own in zip(answers, metadata, strict=True)
    ]
    if -1 in places:
        columns[UNREAD] = [place < 0 for place in places]
    if "text" in columns:
        columns["answer"] = [str(own["choices"][n]) if n >= 0 else "" for n, own in zip(places, metadata, strict=True)]
    else:
        columns["answer"] = answers
    if "text" not in columns or all(own["label"] >= 0 for own in metadata):
        columns["correct"] = [int(n == own["label"] >= 0) for n, own in zip(places, metadata, strict=True)]
    return columns


def _warn(n_left_out: int, n_samples: int, where: str, why: str) -> None:
    if not n_left_out:
        return
    warnings.warn(
        f"{n_left_out:,} of {n_samples:,} samples of {where} {why} and are left out.", UserWarning, stacklevel=3
    )


def _choices(samples: Sequence[Mapping[str, Any]], scorer: str, where: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "prompt": [_input(sample) for sample in samples],
        "choices": [list(map(str, sample["choices"])) for sample in samples],
        "label": [],
    }
    answers: list[int | None] = []
    letters: list[dict[int, float]] = []
    for sample in samples:
        choices = list(map(str, sample["choices"]))
        columns["label"].append(_right(sample, len(choices), where))
        answer = str(_score(sample, scorer).get("answer") or "").strip()
        picked = LETTERS.index(answer) if len(answer) == 1 and answer in LETTERS[: len(choices)] else None
        answers.append(picked)
        letters.append(_told(sample, choices, picked))
    if all(len(own) == len(choices) for own, choices in zip(letters, columns["choices"], strict=True)):
        return columns | {"logits": [[own[place] for place in sorted(own)] for own in letters]}
    columns["correct"] = [int(answer == label) for answer, label in zip(answers, columns["label"], strict=True)]
    if any(picked in own for picked, own in zip(answers, letters, strict=True)):
        del columns["label"]  # whether an answer was right is said by `correct`
        columns[LEFT_OUT] = [answers.count(None)] * len(answers)
        columns["confidence"] = [
            None if picked is None or picked not in own else math.exp(own[picked])
            for picked, own in zip(answers, letters, strict=True)
        ]
    else:
        columns["answer"] = ["" if picked is None else LETTERS[picked] for picked in answers]
        columns |= _lacks(map(_reply_of, samples), [picked is None for picked in answers], read_alone=True)
    return columns


def _told(sample: Mapping[str, Any], choices: Sequence[str], picked: int | None) -> dict[int, float]:
    """Return the log-probability of each choice where the letter of the answer was generated.

    Of shuffled choices the harness turns answers, prompt and message back, but not the tokens, which name the letters
    as they were shown. The events tell the order, where the log has them; else the answer's own is all that is known.
    """
    output = sample.get("output") or {}
    marks = [_bare(token.get("token")) for token in _tokens(output)]
    letter = next((mark for mark in reversed(marks) if len(mark) == 1 and mark in LETTERS[: len(choices)]), "")
    if picked is None or not letter:
        return {}
    told = letter_log_probabilities(output, len(choices), letter)
    for texts in (_asked(sample), _said_by_user(sample.get("messages"))):
        lines = {line.strip() for text in texts for line in text.split("\n")}
        places = [
            next((place for place, text in enumerate(choices) if f"{mark}) {text.strip()}" in lines), -1)
            for mark in LETTERS[: len(choices)]
        ]
        if sorted(places) == [*range(len(choices))] and places[LETTERS.index(letter)] == picked:
            return {places[LETTERS.index(mark)]: value for mark, value in told.items()}
    own = letter in told and (LETTERS[picked] != letter or bool(_asked(sample)))
    return {picked: told[letter]} if own else {LETTERS.index(mark): value for mark, value in told.items()}


def _asked(sample: Mapping[str, Any]) -> list[str]:
    """Return what the user said when the model was asked, by the events of a sample; [] where it has none."""
    events = [one for one in sample.get("events") or () if isinstance(one, Mapping) and one.get("event") == "model"]
    held = sample.get("attachments")
    attached = held if isinstance(held, Mapping) else {}
    texts = _said_by_user(events[-1].get("input")) if events else []
    return [str(attached.get(text.removeprefix("attachment://"), text)) for text in texts]


def _said_by_user(messages: Any) -> list[str]:
    """Return what the user said in some messages."""
    told = [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list) else []
    return [words_of(one.get("content")) for one in told if one.get("role") == "user"]


def _reply_of(sample: Mapping[str, Any]) -> Reply:
    return inspect_reply(sample.get("output") or {})


def _lacks(replies: Iterable[Reply], unread: Sequence[bool], *, read_alone: bool = False) -> dict[str, list[Any]]:
    """Return why replies hold no answer: by their end, or because none can be read; {} where all do.

    With `read_alone`, one that could be read is an answer, however it ended.
    """
    lacks = [
        (reply.lack or ("no answer that can be read" if lost else "")) if lost or not read_alone else ""
        for reply, lost in zip(replies, unread, strict=True)
    ]
    return {UNREAD: [bool(lack) for lack in lacks], LACK: lacks} if any(lacks) else {}


def _texts(samples: Sequence[Mapping[str, Any]], scorer: str, where: str) -> dict[str, list[Any]]:
    scores = [_score(sample, scorer) for sample in samples]
    columns = {
        "text": [_input(sample) for sample in samples],
        "answer": [str(score.get("answer") or "") for score in scores],
        "target": [_target(sample) for sample in samples],
    }
    unread = [not str(score.get("answer") or "").strip() for score in scores]
    columns |= _lacks(map(_reply_of, samples), unread, read_alone=True)
    right = [{"C": 1, "I": 0, "1": 1, "0": 0, "1.0": 1, "0.0": 0}.get(str(score.get("value"))) for score in scores]
    return columns if None in right else {**columns, "correct": right}


def _score(sample: Mapping[str, Any], scorer: str) -> Mapping[str, Any]:
    score = (sample.get("scores") or {}).get(scorer)
    return score if isinstance(score, Mapping) else {}


def _target(sample: Mapping[str, Any]) -> str:
    target = sample["target"]
    return str(target[0]) if isinstance(target, list) and len(target) == 1 else str(target)


def _right(sample: Mapping[str, Any], n_choices: int, where: str) -> int:
    target = _target(sample).strip()
    if len(target) == 1 and target in LETTERS[:n_choices]:
        return LETTERS.index(target)
    raise ValueError(
        f"Expected the letter of one choice as the target of each sample of {where}, but sample {sample['id']!r} has "
        f"{target[:40]!r}."
    )


def _input(sample: Mapping[str, Any]) -> str:
    """Return what was asked; of a chat, the messages of the user."""
    content = sample.get("input", "")
    if not isinstance(content, list):
        return str(content)
    messages = [one.get("content", "") for one in content if isinstance(one, Mapping) and one.get("role") == "user"]
    return "\n".join(map(str, messages))


def letter_log_probabilities(output: Mapping[str, Any], n_choices: int, answer: str) -> dict[str, float]:
    """Return the log-probability of each letter where the letter of the answer was generated: its last place.

    Args:
        output: The output of a sample, with the log-probabilities of its tokens.
        n_choices: How many letters there are.
        answer: The letter that was answered; "" for none.

    Returns:
        Letter -> log-probability, for the letters that the model told.
    """
    for token in reversed(_tokens(output)):
        if answer and _bare(token.get("token")) == answer:
            top = {_bare(one.get("token")): one.get("logprob") for one in reversed(_top(token))}
            top[answer] = token.get("logprob")
            return {
                letter: float(top[letter])
                for letter in LETTERS[:n_choices]
                if isinstance(top.get(letter), (int, float))
            }
    return {}


def inspect_words(content: Any) -> dict[str, str]:
    """Return the text, thinking and refusal of a message; of redacted thinking its summary, or that there was some.

    Example:
        >>> inspect_words([{"type": "reasoning", "reasoning": "x9", "redacted": True}, {"type": "text", "text": "B"}])
        {'text': 'B', 'thinking': '(hidden)', 'refusal': ''}
    """
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts: dict[str, str] = {"text": "", "thinking": "", "refusal": ""}
    for part in (one for one in parts if isinstance(one, Mapping)):
        if part.get("type") == "reasoning":
            shown = "" if part.get("redacted") else part.get("reasoning")
            texts["thinking"] += str(shown or part.get("summary") or "(hidden)")
        elif part.get("type") == "text":
            texts["refusal" if part.get("refusal") else "text"] += str(part.get("text") or "")
    return texts


def inspect_reply(output: Mapping[str, Any]) -> Reply:
    """Return what an output of a sample says."""
    choices = output.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    message, usage = choice.get("message"), output.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    names = {"prompt_tokens": "input_tokens", "answer_tokens": "output_tokens", "thinking_tokens": "reasoning_tokens"}
    said = inspect_words(message.get("content") if isinstance(message, Mapping) else output.get("completion"))
    return Reply.of(
        said["text"],
        thinking=said["thinking"],
        refusal=said["refusal"],
        finish=choice.get("stop_reason"),
        usage={name: counts[told] for name, told in names.items() if isinstance(counts.get(told), int)},
    )


def first_letters(output: Mapping[str, Any], options: Sequence[str]) -> list[float]:
    """Return the log-probability that a model's answer begins with each of some letters, first of all as they are.

    Args:
        output: The output of a sample, with the log-probabilities of its tokens.
        options: The letters.

    Returns:
        One number per letter; minus infinity for one that is not among the likeliest tokens that the model told.
    """
    tokens = _tokens(output)
    exact: dict[str, float] = {}
    bare: dict[str, float] = {}
    for one in (_top(tokens[0]) or tokens[:1]) if tokens else ():
        token, value = str(one.get("token")), one.get("logprob")
        if isinstance(value, (int, float)):
            exact.setdefault(token, float(value))
            bare.setdefault(_bare(token), float(value))
    return [exact.get(option, bare.get(option, -math.inf)) for option in options]


def _tokens(output: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tokens of an output with their log-probabilities; [] where it has none."""
    inner: Any = output.get("choices")
    inner = inner[0] if isinstance(inner, list) and inner else None
    for name in ("logprobs", "content"):
        inner = inner.get(name) if isinstance(inner, Mapping) else None
    return [token for token in inner if isinstance(token, Mapping)] if isinstance(inner, list) else []


def _top(token: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the likeliest tokens in the place of one."""
    tokens = token.get("top_logprobs")
    return [one for one in tokens if isinstance(one, Mapping)] if isinstance(tokens, list) else []


def _bare(token: Any) -> str:
    """Return a token without the marks of a space in front of it."""
    return str(token).strip(" Ġ▁*()\n")


# ------------------------------------------------------------------------------------------------ lm-evaluation-harness


KEYS = frozenset(("doc_id", "doc", "target", "arguments", "resps", "filtered_resps"))
"""Keys of every sample."""

NORMALIZED = ("per_character", "per_byte", "unconditional")
"""Columns of log-likelihoods in other measures than their sum."""

_SIGN = re.compile(r"\W*(?:[A-Za-z]|\d+)\W*")
_METRICS = ("correct", "exact_match", "acc", "em")


LIGHTEVAL = frozenset(("doc", "metric", "model_response"))
"""Columns of the details of lighteval."""

EVERY_EVAL = frozenset(("sample_id", "interaction_type", "input", "output", "evaluation"))
"""Keys of the samples of Every Eval Ever."""


def is_log(row: object) -> bool:
    """Tell whether a JSON object is a sample of a log.

    Example:
        >>> is_log({"text": "good", "label": 1})
        False
    """
    return isinstance(row, dict) and any(row.keys() >= keys for keys in (KEYS, LIGHTEVAL, EVERY_EVAL))


def log_columns(rows: Sequence[Any], where: str, *, log_filter: str | None = None) -> dict[str, list[Any]] | None:
    """Turn the rows of a log into columns: samples of lm-evaluation-harness, lighteval's details, Every Eval Ever's.

    Args:
        rows: The rows.
        where: The name of the file, for errors.
        log_filter: The filter whose answers are meant, where there are several.

    Returns:
        Column by name; None where the rows are of no log.

    Example:
        >>> doc = {"id": "7", "query": "Sky?", "choices": [" blue", " red"], "gold_index": [0]}
        >>> row = {"doc": doc, "metric": {"acc": 1}, "model_response": {"logprobs": [-1.0, -2.0], "text": []}}
        >>> columns = log_columns([row], "details.parquet")
        >>> columns["choices"], columns["label"], columns["logits"]
        ([['blue', 'red']], [0], [[-1.0, -2.0]])
        >>> log_columns([{"text": "good", "label": 1}], "file.jsonl") is None
        True
    """
    first = rows[0] if rows and isinstance(rows[0], Mapping) else {}
    if first.keys() >= KEYS:
        return lm_eval_columns(rows, where, filter_name=log_filter)
    for keys, read in ((LIGHTEVAL, _lighteval), (EVERY_EVAL, _every_eval)):
        if first.keys() >= keys:
            for number, row in enumerate(rows, start=1):
                if not isinstance(row, Mapping) or any(not isinstance(row.get(key), (Mapping, str)) for key in keys):
                    raise ValueError(f"Expected a sample with {listing(sorted(keys))} in each row of {where}, but row "
                                     f"{number} is {one_line(row, 40)}.")  # fmt: skip
            return read(rows, where)
    return None


def _lighteval(rows: Sequence[Mapping[str, Any]], where: str) -> dict[str, list[Any]]:
    """Return the columns of lighteval's details: likelihoods of choices, or generated answers."""
    documents = [row["doc"] for row in rows]
    replies = [row["model_response"] for row in rows]
    golds = [_listed(document.get("gold_index")) for document in documents]
    choices = [[str(text).removeprefix(" ") for text in _listed(document.get("choices"))] for document in documents]
    columns: dict[str, list[Any]] = {"id": _distinct([str(document.get("id")) for document in documents])}
    asked = [str(document.get("query", "")) for document in documents]
    scores = [_listed(reply.get("logprobs")) for reply in replies]
    if all(len(own) == len(texts) > 1 for own, texts in zip(scores, choices, strict=True)):
        odd = next((name for name, gold in zip(columns["id"], golds, strict=True) if len(gold) != 1), None)
        if odd is not None:
            raise ValueError(f"Expected one right choice of each item of {where}, but {odd!r} has another number.")
        columns |= {"prompt": asked, "choices": choices, "label": [int(gold[0]) for gold in golds]}
        columns["logits"] = [[float(value) for value in own] for own in scores]
        return columns | _normalized(columns["logits"], choices)
    texts = [_listed(reply.get("text_post_processed")) or _listed(reply.get("text")) for reply in replies]
    answers = [Reply.of(str(own[0]) if own else "") for own in texts]
    targets = [
        [own[place] for place in gold if 0 <= place < len(own)] for gold, own in zip(golds, choices, strict=True)
    ]
    metrics = [row["metric"] for row in rows]
    return columns | _answered(asked, answers, ["; ".join(own) for own in targets], metrics)


def _every_eval(rows: Sequence[Mapping[str, Any]], where: str) -> dict[str, list[Any]]:
    """Return the columns of samples of Every Eval Ever: answers, and whether they were right."""
    answers = [
        Reply.of(
            str((_listed(row["output"].get("raw")) or [""])[-1]),
            thinking="\n".join(map(str, _listed(row["output"].get("reasoning_trace")))),
        )
        for row in rows
    ]
    asked = [str(row["input"].get("raw") or row["input"].get("formatted") or "") for row in rows]
    targets = ["; ".join(map(str, _listed(row["input"].get("reference")))) for row in rows]
    columns: dict[str, list[Any]] = {"id": _distinct([str(row["sample_id"]) for row in rows])}
    return columns | _answered(
        asked, answers, targets, [{"correct": row["evaluation"].get("is_correct")} for row in rows]
    )


def _answered(
    asked: Sequence[str], replies: Sequence[Reply], targets: Sequence[str], metrics: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Return the columns of generated answers; `correct` where a metric says it of each."""
    columns: dict[str, list[Any]] = {
        "text": list(asked),
        "answer": [reply.text for reply in replies],
        "target": list(targets),
    }
    columns |= _lacks(replies, [False] * len(replies))
    usual = [name for name in _METRICS if name in metrics[0]]
    for name in (*usual, *(name for name in metrics[0] if name not in usual)):
        if all(own.get(name) in (0, 1) for own in metrics):
            return {**columns, "correct": [int(own[name]) for own in metrics]}
    return columns


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names, or numbers where one comes twice."""
    return list(names) if len(set(names)) == len(names) else [str(number) for number in range(len(names))]


def lm_eval_columns(rows: Sequence[Any], where: str, *, filter_name: str | None = None) -> dict[str, list[Any]]:
    """Turn samples of one task into columns.

    Args:
        rows: The samples.
        where: The name of the file, for errors.
        filter_name: The filter whose answers are meant, where the file has those of several.

    Returns:
        Column by name, in the names that `rightreasons.io.predictions.read_predictions` knows.

    Raises:
        ValueError: If a sample lacks a key or its answers are of another kind, there are several filters and none is
            named, or items come twice.

    Example:
        >>> pairs = {f"gen_args_{i}": {"arg_0": "Sky?", "arg_1": f" {word}"} for i, word in enumerate(["blue", "red"])}
        >>> answers = [["-1.5", "False"], ["-3.0", "False"]]
        >>> sample = {"doc_id": 0, "doc": {}, "target": "0", "arguments": pairs, "resps": answers}
        >>> sample |= {"filtered_resps": answers, "filter": "none", "metrics": ["acc"], "acc": 1.0}
        >>> other = {**sample, "doc_id": 1, "arguments": {**pairs, "gen_args_1": {"arg_0": "Sky?", "arg_1": " green"}}}
        >>> columns = lm_eval_columns([sample, other], "samples.jsonl")
        >>> columns["choices"][1], columns["label"], columns["logits"][0], columns["per_character"][0]
        (['blue', 'green'], [0, 0], [-1.5, -3.0], [-0.375, -1.0])
    """
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not row.keys() >= KEYS:
            raise ValueError(
                f"Expected a sample of lm-evaluation-harness, with {', '.join(sorted(KEYS))}, in each line of {where}, "
                f"but line {number} is {str(row)[:40]!r}."
            )
    rows = _of_one_filter(rows, where, filter_name)
    requests = [_requests(row, where) for row in rows]
    kinds = [_kind(row, asked, where) for row, asked in zip(rows, requests, strict=True)]
    odd = next((index for index, kind in enumerate(kinds) if kind != kinds[0]), None)
    if odd is not None:
        raise ValueError(
            f"Expected samples of one task in {where}, but item {rows[0]['doc_id']!r} has {kinds[0]} and item "
            f"{rows[odd]['doc_id']!r} has {kinds[odd]}."
        )
    documents = [row["doc"] if isinstance(row["doc"], Mapping) else {} for row in rows]
    reasoned = all("arm" in document for document in documents)
    exported = (reasoned or kinds[0] != "a generated answer") and all(map(is_exported, documents))
    if exported and reasoned:
        replies = [Reply.of(str(_innermost(row["resps"]))) for row in rows]
        columns = exported_columns(documents, None, where) | reply_columns(replies)
    elif exported:
        columns = _exported_lm_eval(rows, requests, documents, where)
    else:
        columns = _generated(rows, requests) if kinds[0] == "a generated answer" else _scored(rows, requests, where)
    metrics = rows[0].get("metrics")
    for name in filter(lambda each: isinstance(each, str), metrics if isinstance(metrics, list) else ()):
        values = [row.get(name) for row in rows]
        if name not in columns and all(isinstance(value, (int, float)) for value in values):
            columns[name] = values
    if exported:
        return columns
    columns |= field_columns(documents, columns)
    return {"id": _ids(rows, documents, where), **columns}


# ------------------------------------------------------------------------------------------------------------- private


def _of_one_filter(rows: Sequence[Any], where: str, filter_name: str | None) -> list[Any]:
    chosen = one_source("filter", {str(row.get("filter", "none")) for row in rows}, filter_name, where)
    return [row for row in rows if str(row.get("filter", "none")) == chosen]


def _kind(row: Mapping[str, Any], requests: list[list[Any]], where: str) -> str:
    """Tell what was asked about an item."""
    answers = row["filtered_resps"]
    if all(len(request) > 1 and isinstance(request[1], dict) for request in requests):
        return "a generated answer"
    scored = isinstance(answers, list) and len(answers) == len(requests) > 1
    if scored and all(len(request) == 2 and all(isinstance(part, str) for part in request) for request in requests):
        return "log-likelihoods of choices"
    raise ValueError(
        f"Expected log-likelihoods of at least two choices, or a generated answer, per item of {where}, but item "
        f"{row['doc_id']!r} has {str(answers)[:40]!r}."
    )


def _requests(row: Mapping[str, Any], where: str) -> list[list[Any]]:
    """Return the arguments of each request, which the harness writes as objects with numbered keys."""
    arguments = row["arguments"]
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if isinstance(requests, list) and requests:
        plain = [list(one.values()) if isinstance(one, dict) else one for one in requests]
        if all(isinstance(one, list) and one for one in plain):
            return plain
    raise ValueError(
        f"Expected the requests of each item of {where}, but item {row['doc_id']!r} has {str(arguments)[:40]!r}."
    )


def _exported_lm_eval(
    rows: Sequence[Mapping[str, Any]],
    asked: Sequence[list[list[Any]]],
    documents: Sequence[Mapping[str, Any]],
    where: str,
) -> dict[str, list[Any]]:
    """Return the columns of requests that `rightreasons data export` wrote, in each normalization of the harness."""
    _ids(rows, documents, where)
    logits = [[_log_likelihood(one, row, where) for one in row["filtered_resps"]] for row in rows]
    columns = exported_columns(documents, logits, where)
    texts = [[str(text).removeprefix(" ") for _, text in requests] for requests in asked]
    return columns if "logits" not in columns else {**columns, **_normalized(logits, texts)}


def _normalized(logits: Sequence[Sequence[float]], texts: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
    """Return log-likelihoods per character and byte of a choice without the space in front of it, as the harness."""
    columns: dict[str, list[Any]] = {}
    if all(all(own) for own in texts):
        for name, length in (
            ("per_character", len),
            ("per_byte", lambda text: len(text.encode("utf-8", "surrogatepass"))),
        ):
            columns[name] = [
                [score / length(text) for score, text in zip(scores, own, strict=True)]
                for scores, own in zip(logits, texts, strict=True)
            ]
    return columns


def _scored(rows: Sequence[Mapping[str, Any]], asked: Sequence[list[list[Any]]], where: str) -> dict[str, list[Any]]:
    prompts, choices, labels, logits, alone = [], [], [], [], []
    for row, requests in zip(rows, asked, strict=True):
        scores = [_log_likelihood(one, row, where) for one in row["filtered_resps"]]
        n_choices = len(requests)
        if n_choices % 2 == 0 and all(not context for context, _ in requests[n_choices // 2 :]) and requests[0][0]:
            n_choices //= 2
        contexts, continuations = zip(*requests[:n_choices], strict=True)
        in_prompt = (
            len(set(continuations)) == 1 and len(set(contexts)) > 1
        )  # choices within the prompt, as Winogrande's
        texts_of_item = list(contexts) if in_prompt else [text.removeprefix(" ") for text in continuations]
        prompts.append(continuations[0].removeprefix(" ") if in_prompt else contexts[0])
        choices.append(texts_of_item)
        logits.append(scores[:n_choices])
        alone.append(scores[n_choices:])
        labels.append(_label(row, texts_of_item, scores[:n_choices], where, in_prompt=in_prompt))
    shared = len(rows) > 1 and all(texts_of_item == choices[0] for texts_of_item in choices)
    if shared and all(map(_SIGN.fullmatch, choices[0])):
        texts = [_choice_texts(row["doc"], len(choices[0])) for row in rows]
        choices = [texts_of_item if text is None else text for texts_of_item, text in zip(choices, texts, strict=True)]
    elif shared and len(set(choices[0])) == len(choices[0]):
        classes = choices[0]
        table = {f"logit_{name}": [row[index] for row in logits] for index, name in enumerate(classes)}
        return {"text": prompts, "label": [classes[label] for label in labels], **table}
    columns: dict[str, list[Any]] = {"prompt": prompts, "choices": choices, "label": labels, "logits": logits}
    columns |= _normalized(logits, choices)
    if all(alone):
        columns["unconditional"] = [
            [score - bare for score, bare in zip(scores, texts_of_item, strict=True)]
            for scores, texts_of_item in zip(logits, alone, strict=True)
        ]
    return columns


def _log_likelihood(answer: Any, row: Mapping[str, Any], where: str) -> float:
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    value = math.nan
    with contextlib.suppress(TypeError, ValueError, IndexError):
        value = float(answer[0] if isinstance(answer, list) else answer)
    if math.isnan(value):
        raise ValueError(
            f"Expected a log-likelihood per choice in {where}, but item {row['doc_id']!r} has {str(answer)[:40]!r}."
        )
    return value


def _label(
    row: Mapping[str, Any], choices: Sequence[str], scores: Sequence[float], where: str, *, in_prompt: bool
) -> int:
    """Return the index of the right choice: the target is its number or its text."""
    target = str(row["target"])
    texts = [text.strip() for text in choices]
    if not in_prompt and texts.count(target.strip()) == 1:
        return texts.index(target.strip())
    if not in_prompt and target.strip().isdigit() and int(target) < len(choices):
        return int(target)
    # Where the choices are in the prompt, the target is what follows them; of two, the metric tells which was right.
    if in_prompt and len(choices) == 2 and row.get("acc") in (0, 1):
        picked = int(scores[1] > scores[0])
        return picked if row["acc"] == 1 else 1 - picked
    raise ValueError(
        f"Expected one right choice, by number or text, as the target of each item of {where}, but item "
        f"{row['doc_id']!r} has {target[:40]!r}."
    )


def _choice_texts(document: Any, n_choices: int) -> list[str] | None:
    """Return the texts that letters stand for, where the document has them."""
    texts = document.get("choices") if isinstance(document, Mapping) else None
    texts = texts.get("text") if isinstance(texts, Mapping) else texts
    if isinstance(texts, list) and len(texts) == n_choices and all(isinstance(text, str) for text in texts):
        return texts
    return None


def _generated(rows: Sequence[Mapping[str, Any]], requests: Sequence[list[list[Any]]]) -> dict[str, list[Any]]:
    raw, read = (
        [str(_innermost(row[name])) if isinstance(_innermost(row[name]), str) else "" for row in rows]
        for name in ("resps", "filtered_resps")
    )
    replies = [Reply.of(text) for text in raw]
    metric = [{name: row[name] for name in _METRICS if name in row} for row in rows]
    columns = _answered([str(asked[0][0]) for asked in requests], replies, [str(row["target"]) for row in rows], metric)
    return {**columns, "answer": read, **_lacks(replies, [answer.strip() in ("", "[invalid]") for answer in read])}


def _innermost(value: Any) -> Any:
    while isinstance(value, list) and value:
        value = value[0]
    return value


def _ids(rows: Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]], where: str) -> list[str]:
    names = [document.get("id") for document in documents]
    if all(isinstance(name, (str, int)) for name in names) and len(set(names)) == len(names):
        return [str(name) for name in names]
    numbers = [str(row["doc_id"]) for row in rows]
    twice = next(
        (name for name, before in zip(sorted(numbers)[1:], sorted(numbers), strict=False) if name == before), 0
    )
    if twice:
        raise ValueError(f"Expected each item of {where} once, but the document {twice} comes twice.")
    return numbers
