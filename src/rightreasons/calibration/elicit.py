"""Elicitation: a language model answers, and is then asked how confident it is.

`elicit_confidence` is the entry point. The model answers each item as in any audit. Its verbalized
confidence is the number that it states in a second turn, which follows its answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidence_table import ConfidenceTable
from rightreasons.core.arrays import Floats
from rightreasons.core.store import get_results_subfolder
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item, make_items
from rightreasons.models.protocol import Message, Request
from rightreasons.models.replies.probabilities import read_probability

CONFIDENCE_QUESTION = (
    "Provide the probability that your answer is correct. Give ONLY the probability, no other "
    "words or explanation.\n\nFor example:\n\nProbability: <the probability between 0.0 and 1.0 "
    "that your answer is correct, without any extra commentary whatsoever; just the probability!>"
)
"""Question of the second turn, as in Tian et al. (2023), "Verb. 2S"."""

MAX_NEW_TOKENS = 32
"""Maximum number of tokens of a stated confidence."""


def elicit_confidence(
    scorer: Prompted,
    rows: Mapping[str, Sequence[Any]],
    *,
    seed: int = 0,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> ConfidenceTable:
    """Query a language model for its answers and for its confidence in them.

    Args:
        scorer: The language model with its prompt.
        rows: Columns `id`, `label`, and either `text` (and optionally `text_pair`) or `prompt` and
            `choices`.
        seed: Seed of the generated text.
        progress: Whether to show a progress bar.
        out: Folder that stores the replies, so that an interrupted run can resume.

    Returns:
        A table of two sources. "probability" is the probability of the answer among the labels or
        choices, if the answers are scored. "verbalized" is the number from 0 to 1, or percentage,
        that the model states in a second turn, NaN if its reply contains none.

    Raises:
        ValueError: If the model does not generate text, an item has no label, or a server fails
            before all items are done.

    References:
        Tian et al. (2023), Just Ask for Calibration.
    """
    engine = scorer.engine
    if "text" not in engine.abilities:
        raise ValueError(
            "Expected a model that generates text to elicit its confidence, but "
            f"{engine.name} does not."
        )
    labels = np.asarray(rows["label"], dtype=np.int64)
    if (labels < 0).any() or not len(labels):
        raise ValueError(
            "Expected a label for each item, to determine which answers are correct, but some "
            "items have no label."
        )
    ids = [str(item_id) for item_id in rows["id"]]
    folder = None if out is None else Path(out)

    # First turn: the answers.
    run_options: dict[str, Any] = {
        "ids": ids,
        "labels": labels,
        "progress": progress,
        "out": get_results_subfolder(folder, "answers"),
    }
    if "choices" in rows:
        scores = scorer.choose(rows["prompt"], rows["choices"], **run_options)
    else:
        scores = scorer.predict(rows["text"], text_pairs=rows.get("text_pair"), **run_options)
    answers = scores.answers(ids)

    # Second turn: the confidence in each answer that could be read.
    answered = np.flatnonzero(answers >= 0)
    verbalized = _elicit_verbalized(
        scorer,
        _select_items(rows, ids, answered),
        answers[answered],
        seed=seed,
        progress=progress,
        out=get_results_subfolder(folder, "verbalized"),
    )

    sources: dict[str, Any] = {}
    # A single generated answer has no probability.
    if not scorer.answers_once:
        sources["probability"] = scores.confidence
    sources["verbalized"] = verbalized
    confidence = {}
    for name, values in sources.items():
        column = np.full(len(ids), np.nan)
        column[answered] = values
        confidence[name] = column
    correct = np.where(answers < 0, -1, answers == labels).astype(np.int64)
    return ConfidenceTable(confidence, correct, f"elicited from {scorer.name}")


def _select_items(
    rows: Mapping[str, Sequence[Any]], ids: Sequence[str], selected: NDArray[np.intp]
) -> Sequence[Item]:
    """Return selected rows of a table as items of a prompt.

    Args:
        rows: Columns `text` (and optionally `text_pair`), or `prompt` and `choices`.
        ids: Id of each row.
        selected: Indices of the rows to return.
    """
    names = ["text", "text_pair"]
    if "choices" in rows:
        names = ["prompt", "choices"]
    fields = {}
    for name in names:
        # `text_pair` is optional.
        if name in rows:
            fields[name] = [rows[name][row] for row in selected.tolist()]
    return make_items([ids[row] for row in selected], **fields)


def _elicit_verbalized(
    scorer: Prompted,
    items: Sequence[Item],
    answers: NDArray[np.int64],
    *,
    seed: int,
    progress: bool,
    out: Path | None,
) -> Floats:
    """Ask a language model how confident it is in its answers, and read the stated probabilities.

    Args:
        scorer: The language model with its prompt.
        items: N items that it has answered.
        answers: (N,) index of its answer among the labels or choices of each item.
        seed: Seed of the generated text.
        progress: Whether to show a progress bar.
        out: Folder that stores the replies. If None, they are not stored.

    Returns:
        (N,) the probability that the model states of each answer, NaN if it states none.
    """
    rendering = scorer.rendering
    question = CONFIDENCE_QUESTION
    if not rendering.chat:
        # A base model continues the prompt, so the prompt ends with the beginning of the reply.
        question += "\n\nProbability:"
    requests = []
    for item, answer in zip(items, answers.tolist(), strict=True):
        request = rendering.request(item, scorer.shots(item))
        answer_text = rendering.answers(item)[answer]
        requests.append(_append_turn(request, answer_text, question))

    # The stop strings of the answers do not apply to the confidence.
    options = scorer.generation(brief=MAX_NEW_TOKENS).replace(stop=(), seed=seed)
    results = scorer.engine.generate(requests, options=options, progress=progress, out=out)
    confidences = []
    for replies in results.replies:
        # A reply that ended while the model was still reasoning does not state a confidence.
        text = ""
        if replies and replies[0].finish != "thinking":
            text = replies[0].text
        if not rendering.chat:
            # A base model continues after its reply: only the first line with text is the reply.
            text = text.strip().split("\n")[0]
        probability = read_probability(text)
        confidences.append(np.nan if probability is None else probability)
    return np.array(confidences)


def _append_turn(request: Request, answer: str, question: str) -> Request:
    """Return a request that contains the model's answer, followed by a further question.

    Args:
        request: The request that the model has answered: a text, or a list of chat messages.
        answer: Text of the answer.
        question: Text of the question.
    """
    # The prompt of a base model is one string, without turns.
    if isinstance(request.prompt, str):
        text = _join_answer(request.prompt, answer)
        return Request(request.name, f"{text}\n\n{question}")
    turns: list[Message] = list(request.prompt)
    # The prompt may already contain the beginning of the reply, which the answer continues.
    if turns[-1]["role"] == "assistant":
        reply_start = turns.pop()["content"]
        answer = _join_answer(reply_start, answer)
    turns.append({"role": "assistant", "content": answer})
    turns.append({"role": "user", "content": question})
    return Request(request.name, tuple(turns))


def _join_answer(text: str, answer: str) -> str:
    """Return a text followed by an answer, separated by one space unless the text ends in space."""
    separator = "" if text[-1:].isspace() else " "
    return f"{text}{separator}{answer}"
