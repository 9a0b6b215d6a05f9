"""Answers of functions, in any of the usual forms, as a table of scores.

A function of N texts may return a table of numbers, a tensor, a data frame, a list of dictionaries
by class, or the output of a text-classification or zero-shot pipeline; and it may be a generator or
a coroutine. `parse_answers` turns each of these into (N, K) or (N,) numbers.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import describe_kind
from rightreasons.core.errors import OptionError


def parse_answers(answers: Any, label_names: Sequence[str], scores: str) -> NDArray[np.float64]:
    """Return the answers of a function of texts as a table of numbers.

    Args:
        answers: The return value of the function: rows of K numbers; one number per text, for the
            second of two classes; rows by class name, like {"pos": 0.75, "neg": 0.25}; or rows of
            {"label": …, "score": …}, as pipelines return them. Tensors, data frames, generators and
            coroutines of these are accepted.
        label_names: K names of the classes.
        scores: Kind of the numbers: "probabilities", "logits" or "log_probabilities".

    Returns:
        (N, K) numbers, or (N,) numbers of the second class.

    Raises:
        TypeError: If the answers have none of these forms.
        ValueError: If rows by name have other names than `label_names`.

    Example:
        >>> parse_answers([{"pos": 0.75, "neg": 0.25}], ["neg", "pos"], "probabilities")
        array([[0.25, 0.75]])
        >>> top = [{"label": "pos", "score": 0.75}]
        >>> parse_answers(top, ["neg", "pos"], "probabilities")
        array([[0.25, 0.75]])
    """
    answers = _collect(answers)
    if not isinstance(answers, Iterable):
        raise TypeError(f"it returns {describe_kind(answers)}")
    if hasattr(answers, "columns"):
        return _parse_frame(answers, label_names)
    if isinstance(answers, np.ndarray):
        table = answers.astype(np.float64)
    else:
        table = _parse_rows(answers, label_names, scores)
    # A network with a single output returns a column.
    if table.ndim == 2 and table.shape[1] == 1:
        return table[:, 0]
    return table


def _collect(answers: Any) -> Any:
    """Run a coroutine, read an iterator to its end, and convert a tensor to an array."""
    if inspect.iscoroutine(answers):
        # A thread of its own is needed in a notebook, where an event loop is running already.
        with ThreadPoolExecutor(max_workers=1) as executor:
            answers = executor.submit(asyncio.run, answers).result()
    if isinstance(answers, Iterator):
        answers = list(answers)
    return _to_numpy(answers)


def _to_numpy(value: Any) -> Any:
    """Return a tensor as an array, and any other value unchanged."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        # numpy has no bfloat16, and refuses tensors with gradients.
        return value.detach().double().cpu().numpy()
    return value


def _parse_frame(frame: Any, label_names: Sequence[str]) -> NDArray[np.float64]:
    """Return a data frame with a column per class as a table, in the order of `label_names`.

    Args:
        frame: Data frame of N rows and one column of scores per class, in any order.
        label_names: Names of the K classes.

    Raises:
        OptionError: If the columns are not named like the classes.
    """
    column_by_name = {}
    # The columns may be in any order, and their names need not be strings.
    for name in frame.columns:
        column_by_name[str(name)] = np.asarray(frame[name], dtype=np.float64)
    _check_names(column_by_name, label_names)
    return np.column_stack([column_by_name[name] for name in label_names])


def _parse_rows(
    answers: Iterable[Any], label_names: Sequence[str], scores: str
) -> NDArray[np.float64]:
    """Return the answers to N texts as a table.

    Args:
        answers: N answers. An answer is a row of K numbers, one number, or scores by class name
            like {"pos": 0.9, "neg": 0.1}.
        label_names: K names of the classes.
        scores: Kind of the scores, such as "probabilities".

    Returns:
        (N, K); or (N,) if each answer is one number.

    Raises:
        TypeError: If an answer is a string, such as the name of a class.
    """
    rows = []
    for answer in answers:
        if isinstance(answer, str):
            raise TypeError(
                "it returns names of classes: scores of all classes are needed, such as 1 for the "
                "predicted class and 0 for the others"
            )
        scores_by_name = _get_scores_by_name(answer)
        if scores_by_name is None:
            row = _to_numpy(answer)
        else:
            row = _order_scores(scores_by_name, label_names, scores)
        rows.append(row)
    return np.asarray(rows, dtype=np.float64)


def _get_scores_by_name(answer: Any) -> dict[str, float] | None:
    """Return the scores of one answer by class name, from any form that names the classes.

    The forms are {"pos": 0.9, "neg": 0.1}; {"label": "pos", "score": 0.9}, or a list of these, as a
    text-classification pipeline returns them; and {"labels": ["pos", "neg"], "scores": [0.9, 0.1]}
    of a zero-shot pipeline.

    Args:
        answer: What a function or a pipeline of the user returns for one text.

    Returns:
        Class name -> score. None if the answer names no classes, like [0.9, 0.1].
    """
    members = answer
    if isinstance(answer, Mapping):
        members = [answer]
    if not isinstance(members, (list, tuple)) or not members:
        return None
    if not isinstance(members[0], Mapping):
        return None
    scores_by_name = {}
    for member in members:
        # A zero-shot pipeline sorts the classes of each text by their scores.
        if isinstance(member.get("labels"), list) and "scores" in member:
            for name, score in zip(member["labels"], member["scores"], strict=True):
                scores_by_name[str(name)] = float(_to_numpy(score))
        elif "label" in member and "score" in member:
            scores_by_name[str(member["label"])] = float(_to_numpy(member["score"]))
        else:
            for name, score in member.items():
                scores_by_name[str(name)] = float(_to_numpy(score))
    return scores_by_name


def _order_scores(
    scores_by_name: Mapping[str, float], label_names: Sequence[str], scores: str
) -> list[float]:
    """Return the scores of an answer in the order of the classes.

    By default, a pipeline returns only the class with the largest probability p. If there are two
    classes, the other one has the probability 1 - p.

    Args:
        scores_by_name: Class name -> score.
        label_names: K names of the classes.
        scores: Kind of the scores, such as "probabilities" or "logits".

    Raises:
        OptionError: If the scores are not those of all classes.
    """
    is_top_of_two = len(scores_by_name) == 1 and len(label_names) == 2
    if is_top_of_two and scores == "probabilities":
        ((name, probability),) = scores_by_name.items()
        if name == label_names[0]:
            return [probability, 1.0 - probability]
        if name == label_names[1]:
            return [1.0 - probability, probability]
    _check_names(scores_by_name, label_names)
    return [scores_by_name[name] for name in label_names]


def _check_names(names: Iterable[str], label_names: Sequence[str]) -> None:
    """Check that the class names in the answers of a function are exactly `label_names`.

    Args:
        names: Class names in the answers.
        label_names: Names of the K classes of the model.

    Raises:
        OptionError: If a name is missing or unknown. The message continues one that names the
            function.
    """
    unique_names = set(names)
    if unique_names == set(label_names):
        return
    advice = "name the classes as the answers do in `label_names`"
    # All names are known, but some classes are missing.
    is_incomplete = unique_names < set(label_names)
    if is_incomplete:
        advice = "return the scores of all classes, as top_k=None of a pipeline does"
    raise OptionError(
        f"it returns scores of {', '.join(names)}, but `label_names` are {', '.join(label_names)}: "
        f"{advice}",
        option="label_names",
    )
