"""Samples files of lm-evaluation-harness (`--log_samples`): one JSON object per item and filter.

An item is a document, its requests (`arguments`), the answers to them (`resps`, after a filter `filtered_resps`), the
target, and its metrics. What becomes of it depends on what was asked:

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
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.data.opening.logs.fields import exported_columns, field_columns, is_exported, one_source

KEYS = frozenset(("doc_id", "doc", "target", "arguments", "resps", "filtered_resps"))
"""Keys of every sample."""

NORMALIZED = ("per_character", "per_byte", "unconditional")
"""Columns of log-likelihoods in other measures than their sum."""

_SIGN = re.compile(r"\W*(?:[A-Za-z]|\d+)\W*")
_METRICS = ("exact_match", "acc", "em")


def is_lm_eval(row: object) -> bool:
    """Tell whether a JSON object is a sample of lm-evaluation-harness.

    Example:
        >>> is_lm_eval({"text": "good", "label": 1})
        False
    """
    return isinstance(row, dict) and row.keys() >= KEYS


def lm_eval_columns(rows: Sequence[Any], where: str, *, filter_name: str | None = None) -> dict[str, list[Any]]:
    """Turn samples of one task into columns.

    Args:
        rows: The samples.
        where: The name of the file, for errors.
        filter_name: The filter whose answers are meant, where the file has those of several.

    Returns:
        Column by name, in the names that `rightreasons.data.read_predictions` knows.

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
        if not is_lm_eval(row):
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
    exported = kinds[0] != "a generated answer" and all(map(is_exported, documents))
    if exported:
        columns = _exported(rows, requests, documents, where)
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


def _exported(
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
        own = list(contexts) if in_prompt else [text.removeprefix(" ") for text in continuations]
        prompts.append(continuations[0].removeprefix(" ") if in_prompt else contexts[0])
        choices.append(own)
        logits.append(scores[:n_choices])
        alone.append(scores[n_choices:])
        labels.append(_label(row, own, scores[:n_choices], where, in_prompt=in_prompt))
    shared = len(rows) > 1 and all(own == choices[0] for own in choices)
    if shared and all(map(_SIGN.fullmatch, choices[0])):
        texts = [_choice_texts(row["doc"], len(choices[0])) for row in rows]
        choices = [own if text is None else text for own, text in zip(choices, texts, strict=True)]
    elif shared and len(set(choices[0])) == len(choices[0]):
        classes = choices[0]
        table = {f"logit_{name}": [row[index] for row in logits] for index, name in enumerate(classes)}
        return {"text": prompts, "label": [classes[label] for label in labels], **table}
    columns: dict[str, list[Any]] = {"prompt": prompts, "choices": choices, "label": labels, "logits": logits}
    columns |= _normalized(logits, choices)
    if all(alone):
        columns["unconditional"] = [
            [score - bare for score, bare in zip(scores, own, strict=True)]
            for scores, own in zip(logits, alone, strict=True)
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
    answers = []
    for row in rows:
        answer = row["filtered_resps"]
        while isinstance(answer, list) and answer:
            answer = answer[0]
        answers.append(answer if isinstance(answer, str) else "")
    columns = {
        "text": [str(asked[0][0]) for asked in requests],
        "answer": answers,
        "target": [str(row["target"]) for row in rows],
    }
    metric = next((name for name in _METRICS if all(row.get(name) in (0, 1) for row in rows)), None)
    return columns if metric is None else {**columns, "correct": [int(row[metric]) for row in rows]}


def _ids(rows: Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]], where: str) -> list[str]:
    own = [document.get("id") for document in documents]
    if all(isinstance(name, (str, int)) for name in own) and len(set(own)) == len(own):
        return [str(name) for name in own]
    numbers = [str(row["doc_id"]) for row in rows]
    twice = next(
        (name for name, before in zip(sorted(numbers)[1:], sorted(numbers), strict=False) if name == before), 0
    )
    if twice:
        raise ValueError(f"Expected each item of {where} once, but the document {twice} comes twice.")
    return numbers
