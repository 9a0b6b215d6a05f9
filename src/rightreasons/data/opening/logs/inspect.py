"""Logs of inspect_ai: one JSON object (`.json`), or the archive that it writes by default (`.eval`).

Samples with choices become `prompt`, `choices`, `label` and `answer`. Where the server returned log-probabilities
(`logprobs`, `top_logprobs`), there are scores instead of answers: `logits`, the log-probability of each letter in the
place of the letter that was answered, if every sample has those of all its letters; else `confidence`, the probability
of that letter, beside `correct`. Samples without choices become `text`, `answer`, `target` and `correct`.

Samples that ended in an error, and those without an answer where there is only confidence, are left out, with a warning
that counts them. Fields of a sample's metadata are columns as in `lm_eval`.
"""

from __future__ import annotations

import math
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.data.opening.logs.fields import UNREAD, exported_columns, field_columns, is_exported, one_source
from rightreasons.foundations.bounds import MAX_JSON_CHARACTERS
from rightreasons.foundations.choices import LETTERS
from rightreasons.foundations.sentences import one_line

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
        Column by name, in the names that `rightreasons.data.read_predictions` knows.

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
    answered = [value is not None for value in columns["confidence"]]
    if not all(answered):
        _warn(len(answered) - sum(answered), len(answered), where, "have no answer")
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
    whole = [sample for sample in samples if not sample.get("error")]
    failed = len(samples) - len(whole)
    if not whole:
        raise ValueError(f"Expected samples with answers in {where}, but all {failed:,} ended in an error.")
    if failed:
        _warn(failed, len(samples), where, "ended in an error")
    return whole


def _exported(
    samples: Sequence[Mapping[str, Any]], metadata: Sequence[Mapping[str, Any]], where: str, scorer: str | None
) -> dict[str, list[Any]]:
    """Return the columns of requests that `rightreasons data export` wrote: with scores, or with answers alone."""
    ids = [str(own["id"]) for own in metadata]
    twice = next((name for name, count in Counter(ids).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"Expected each request of {where} once, but {twice!r} comes twice: it has several epochs.")
    columns = exported_columns(metadata, None, where)
    tops = [
        first_letters(sample.get("output") or {}, own["options"]) for sample, own in zip(samples, metadata, strict=True)
    ]
    able = [place for place, row in enumerate(tops) if any(math.isfinite(value) for value in row)]
    if able:
        if len(able) < len(tops):
            _warn(len(tops) - len(able), len(tops), where, "tell the log-probability of none of their answers")
        return exported_columns([metadata[place] for place in able], [tops[place] for place in able], where)
    name = one_source("scorer", {name for sample in samples for name in sample.get("scores") or {}}, scorer, where)
    given = [str(_score(sample, name).get("answer") or "").strip() for sample in samples]
    places = [
        own["options"].index(answer) if answer in own["options"] else -1
        for answer, own in zip(given, metadata, strict=True)
    ]
    if -1 in places:
        columns[UNREAD] = [place < 0 for place in places]
    if "text" in columns:
        columns["answer"] = [str(own["choices"][n]) if n >= 0 else "" for n, own in zip(places, metadata, strict=True)]
    else:
        columns["answer"] = given
    if "text" not in columns or all(own["label"] >= 0 for own in metadata):
        columns["correct"] = [int(n == own["label"] >= 0) for n, own in zip(places, metadata, strict=True)]
    return columns


def _warn(n_left_out: int, n_samples: int, where: str, why: str) -> None:
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
    letters: list[dict[str, float]] = []
    for sample in samples:
        n_choices = len(sample["choices"])
        columns["label"].append(_right(sample, n_choices, where))
        answer = str(_score(sample, scorer).get("answer") or "").strip()
        answers.append(LETTERS.index(answer) if len(answer) == 1 and answer in LETTERS[:n_choices] else None)
        letters.append(letter_log_probabilities(sample.get("output") or {}, n_choices, answer))
    if all(len(own) == len(choices) for own, choices in zip(letters, columns["choices"], strict=True)):
        return columns | {"logits": [[own[letter] for letter in sorted(own)] for own in letters]}
    columns["correct"] = [int(answer == label) for answer, label in zip(answers, columns["label"], strict=True)]
    given = [None if answer is None else LETTERS[answer] for answer in answers]
    if any(letter in own for letter, own in zip(given, letters, strict=True)):
        del columns["label"]  # whether an answer was right is said by `correct`
        columns["confidence"] = [
            math.exp(own[letter]) if letter in own else None for letter, own in zip(given, letters, strict=True)
        ]
    else:
        columns["answer"] = [letter or "" for letter in given]
    return columns


def _texts(samples: Sequence[Mapping[str, Any]], scorer: str, where: str) -> dict[str, list[Any]]:
    scores = [_score(sample, scorer) for sample in samples]
    columns = {
        "text": [_input(sample) for sample in samples],
        "answer": [str(score.get("answer") or "") for score in scores],
        "target": [_target(sample) for sample in samples],
    }
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
    asked = sample.get("input", "")
    if not isinstance(asked, list):
        return str(asked)
    messages = [one.get("content", "") for one in asked if isinstance(one, Mapping) and one.get("role") == "user"]
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
    told = token.get("top_logprobs")
    return [one for one in told if isinstance(one, Mapping)] if isinstance(told, list) else []


def _bare(token: Any) -> str:
    """Return a token without the marks of a space in front of it."""
    return str(token).strip(" Ġ▁*()\n")
