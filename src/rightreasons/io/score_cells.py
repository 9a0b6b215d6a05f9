"""Parsers of scores in the formats of libraries and servers.

`parse_number_list` reads lists that numpy and torch printed, `spread_token_logprobs` the tokens that
servers report, and `make_pipeline_columns` the results of pipelines of transformers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MAX_SUM_ERROR = 0.02
"""Maximum difference from 1 of the sum of probabilities that are rounded to two decimals."""

NUMBER_LIST = re.compile(r"\s*(?:tensor\(|array\()?\[([^\[\]]*)\](?:,[^\[\]]*)?\)?\s*")
"""Matches a list that numpy or torch printed: "[0.9 0.1]", or "tensor([0.9, 0.1], device='cuda:0')"."""


def parse_number_list(text: str) -> list[str] | None:
    """Return the numbers in a list that numpy or torch printed, as strings.

    Args:
        text: A string such as "[0.9 1.e-01]" or "tensor([0.3, 0.7])".

    Returns:
        The numbers; None if the string is not such a list.

    Example:
        >>> parse_number_list("[0.9 1.e-01]"), parse_number_list("tensor([0.3, 0.7])")
        (['0.9', '1.e-01'], ['0.3', '0.7'])
        >>> parse_number_list("0.3")
    """
    match = NUMBER_LIST.fullmatch(text)
    if match is None:
        return None
    # numpy separates numbers by spaces, torch by commas.
    return match[1].replace(",", " ").split()


def spread_token_logprobs(cells: Sequence[Any]) -> dict[str, list[float]]:
    """Return the log-probabilities of tokens that servers report, as a column for each token of all items.

    Each token is a possible answer. The log-probabilities are logits: their softmax is the probability of
    each answer, given that it is one of these.

    Args:
        cells: (N,) lists of {"token": …, "logprob": …}.

    Returns:
        Token -> (N,) its log-probabilities. If a cell has another format, or if items share fewer than two
        tokens, an empty mapping.

    Example:
        >>> yes, no = {"token": " yes", "logprob": -0.1}, {"token": "no", "logprob": -2.4}
        >>> spread_token_logprobs([[yes, no]])
        {'yes': [-0.1], 'no': [-2.4]}
    """
    rows = []
    for cell in cells:
        logprob_by_token = _read_token_logprobs(cell)
        if logprob_by_token is None:
            return {}
        rows.append(logprob_by_token)
    if not rows:
        return {}
    # A token that is missing in some items cannot be a column.
    shared_tokens = set(rows[0]).intersection(*rows)
    if len(shared_tokens) < 2:
        return {}
    columns = {}
    for token in rows[0]:
        if token in shared_tokens:
            columns[token] = [row[token] for row in rows]
    return columns


def make_pipeline_columns(items: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the results of a pipeline for classification, such as that of transformers, as columns.

    Args:
        items: (N,) results: objects of a label and a score, lists of such objects, or lists of tokens
            with log-probabilities.

    Returns:
        The columns "prediction" and "confidence" for single objects, a column "p_CLASS" for each class, or a
        column "logit_TOKEN" for each token. If the items have another format, an empty mapping.

    Example:
        >>> make_pipeline_columns([{"label": "up", "score": 0.9}])
        {'prediction': ['up'], 'confidence': [0.9]}
        >>> make_pipeline_columns([[{"label": "up", "score": 0.75}, {"label": "down", "score": 0.25}]])
        {'p_up': [0.75], 'p_down': [0.25]}
    """
    columns: dict[str, list[Any]] = {}
    logits_by_token = spread_token_logprobs(items)
    if logits_by_token:
        for token, logits in logits_by_token.items():
            columns[f"logit_{token}"] = logits
        return columns
    # By default, a pipeline returns only the likeliest class.
    if _are_class_scores(items):
        columns["prediction"] = [entry["label"] for entry in items]
        columns["confidence"] = [entry["score"] for entry in items]
        return columns
    # Other programs use other keys for the label and the score.
    if not all(map(_are_class_scores, items)):
        items = list(map(_name_entries, items))
        if not all(map(_are_class_scores, items)):
            return {}
    return _spread_class_scores(items)


# ------------------------------------------------------------------------------- private


def _spread_class_scores(items: Sequence[Any]) -> dict[str, list[Any]]:
    """Return a column of scores for each class.

    Args:
        items: (N,) lists of {"label": …, "score": …}.

    Returns:
        Column "p_LABEL" -> (N,) scores, None for an item without this class.
    """
    columns: dict[str, list[Any]] = {}
    n_items = len(items)
    for row, entries in enumerate(items):
        for entry in entries:
            label = entry["label"]
            name = f"p_{label}"
            if name not in columns:
                columns[name] = [None] * n_items
            columns[name][row] = entry["score"]
    return columns


def _name_entries(cell: Any) -> Any:
    """Rename the keys of a list of probabilities by class to "label" and "score".

    For example, Comprehend returns `[{"Name": "up", "Score": 0.75}, {"Name": "down", "Score": 0.25}]`.

    Args:
        cell: The value of an item. It is returned unchanged unless it is a list of objects of a string and
            a float, and the numbers add up to 1.
    """
    if not isinstance(cell, list) or not cell:
        return cell
    score_by_name: dict[str, float] = {}
    for entry in cell:
        if not isinstance(entry, Mapping) or len(entry) != 2:
            return cell
        # The fields may be in either order. Sorting puts the string (True) after the number (False).
        score, name = sorted(entry.values(), key=_is_text)
        if not _is_text(name) or not isinstance(score, float):
            return cell
        score_by_name[name] = score
    # A single number need not be a probability, and names of classes do not repeat.
    if len(cell) == 1 or len(score_by_name) < len(cell):
        return cell
    # Numbers that do not add up to 1 are counts or distances.
    total = sum(score_by_name.values())
    if not math.isclose(total, 1, abs_tol=MAX_SUM_ERROR):
        return cell
    entries = []
    for name, score in score_by_name.items():
        entries.append({"label": name, "score": score})
    return entries


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_class_scores(cells: Any) -> bool:
    """Return whether cells are a list of objects with the keys "label" and "score", and no others."""
    if not isinstance(cells, (list, tuple)) or not cells:
        return False
    return all(map(_is_class_score, cells))


def _is_class_score(cell: Any) -> bool:
    return isinstance(cell, Mapping) and cell.keys() == {"label", "score"}


def _read_token_logprobs(cell: Any) -> dict[str, float] | None:
    """Return the log-probability of each token of an item, without the spaces around it.

    Args:
        cell: A list of {"token": …, "logprob": …}.

    Returns:
        Token -> log-probability; None if the cell has another format.
    """
    if not isinstance(cell, list) or not cell:
        return None
    logprobs: dict[str, float] = {}
    for entry in cell:
        if not isinstance(entry, Mapping):
            return None
        if not {"token", "logprob"} <= entry.keys():
            return None
        token = str(entry["token"]).strip()
        # " yes" and "yes" are the same answer. `logaddexp` adds their probabilities.
        log_sum = logprobs.get(token, -np.inf)
        logprobs[token] = float(np.logaddexp(log_sum, entry["logprob"]))
    return logprobs
