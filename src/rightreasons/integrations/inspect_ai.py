"""Measures for tasks of inspect_ai: a scorer that keeps the log-probabilities of choices, and metrics.

    from inspect_ai import Task
    from inspect_ai.solver import multiple_choice
    from rightreasons.integrations.inspect_ai import choice_scorer, figure

    Task(dataset=..., solver=multiple_choice(), scorer=choice_scorer(), metrics=[figure("ece"), figure("auroc")])

The model must be asked for log-probabilities: `inspect eval task.py --logprobs --top-logprobs 20`.

A task of `rightreasons data export --reasons --to inspect` consists of `exported_samples` and `answer_scorer`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.integrations.lm_eval import aggregation
from rightreasons.io.harnesses.inspect_logs import inspect_reply, letter_log_probabilities
from rightreasons.models.replies.answers import read_answer
from rightreasons.models.replies.options import NO_ANSWER


def choice_scorer() -> Any:
    """Return a scorer of inspect_ai: that of `choice`, which keeps the log-probability of each letter too.

    They are in the metadata of each score, as `logits` (in the order of the choices; None if those of some letters
    are missing) and `label`, the index of the correct choice.

    Returns:
        The scorer, with the metrics accuracy and its standard error.
    """
    from inspect_ai.scorer import accuracy, choice, scorer, stderr

    @scorer(metrics=[accuracy(), stderr()], name="choice_scorer")  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        score_choice = choice()

        async def score(state: Any, target: Any) -> Any:
            result = await score_choice(state, target)
            n_choices = len(state.choices)
            answer = str(result.answer or "").strip()
            by_letter = letter_log_probabilities(
                state.output.model_dump(mode="json"), n_choices, answer
            )
            # Scores of some of the choices are no distribution.
            logits = None
            if len(by_letter) == n_choices:
                logits = [by_letter[letter] for letter in sorted(by_letter)]
            label = _find_label(str(target.text).strip(), n_choices)
            result.metadata = {**(result.metadata or {}), "logits": logits, "label": label}
            return result

        return score

    return make()


def _find_label(target: str, n_choices: int) -> int | None:
    """Return the index of the choice that a target names by its letter; None if it names none."""
    letters = LETTERS[:n_choices]
    # Several letters are several correct choices, which have no calibration by one label.
    if len(target) != 1 or target not in letters:
        return None
    return letters.index(target)


def exported_samples(path: str | os.PathLike[str]) -> Any:
    """Return the requests that `rightreasons data export --reasons --to inspect` wrote, as a dataset of inspect_ai.

    Args:
        path: The file `items.jsonl`.

    Returns:
        A sample per request, asked by its turns; the request itself is in its metadata, so that its log says what was
        asked. The target is the letter of the right answer, "" where that is not known.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return samples_of(map(json.loads, lines), Path(path).parent.name)


def samples_of(rows: Iterable[dict[str, Any]], name: str) -> Any:
    """Return requests as a dataset of inspect_ai; see `exported_samples`.

    Args:
        rows: Requests with "id", "turns" of a conversation {role, content}, "label", -1 if unknown,
            and "options", the letters. Their "turns" are removed.
        name: Name of the dataset.
    """
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    message_classes = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    samples = []
    for row in rows:
        messages = []
        for turn in row.pop("turns"):
            messages.append(message_classes[turn["role"]](content=turn["content"]))
        target = ""
        if row["label"] >= 0:
            target = row["options"][row["label"]]
        # What remains of the row is the metadata of the sample.
        samples.append(Sample(id=row["id"], input=messages, target=target, metadata=row))
    return MemoryDataset(samples, name=name)


def answer_scorer() -> Any:
    """Return a scorer of inspect_ai for `exported_samples`: the answer as `read_answer` reads it.

    Returns:
        The scorer, with the metrics accuracy and its standard error.
    """
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score, accuracy, scorer, stderr

    @scorer(metrics=[accuracy(), stderr()], name="answer_scorer")  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        async def score(state: Any, target: Any) -> Any:
            row = state.metadata
            options = row["options"]
            reply = inspect_reply(state.output.model_dump(mode="json"))
            is_truncated = reply.finish == "length"
            choice = NO_ANSWER
            # A truncated reply may have its answer before the end.
            if is_truncated or not reply.no_answer_reason:
                choice = read_answer(
                    reply.text, options, texts=row["choices"], is_truncated=is_truncated
                )
            if choice < 0:
                return Score(value=NOANSWER, answer="")
            value = CORRECT if choice == row["label"] else INCORRECT
            return Score(value=value, answer=options[choice])

        return score

    return make()


def figure(measure: str, **options: Any) -> Any:
    """Return a metric of inspect_ai: a figure of the log-probabilities that `choice_scorer` keeps.

    Args:
        measure: A name of `rightreasons.integrations.lm_eval.MEASURES`, such as "ece", "smooth_ece" or "auroc".
        **options: Options of the kernel, such as n_bins=10.

    Returns:
        The metric; NaN if the figure is undefined.

    Raises:
        ValueError: If the measure is unknown; in a run, if no sample has log-probabilities of all its letters.
    """
    aggregate = aggregation(measure, **options)
    from inspect_ai.scorer import metric

    @metric(name=measure)  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        def compute(scores: list[Any]) -> float:
            items = []
            for sample in scores:
                metadata = sample.score.metadata or {}
                logits = metadata.get("logits")
                label = metadata.get("label")
                # The figure is over the samples that have both.
                if logits is not None and label is not None:
                    items.append((tuple(logits), label))
            if not items:
                raise ValueError(
                    f"Expected log-probabilities of all letters for {measure}, but no sample has them: ask for them "
                    "with --logprobs --top-logprobs 20, and score with `choice_scorer`."
                )
            value = aggregate(items)
            # A metric of inspect_ai is a number.
            return float("nan") if value is None else value

        return compute

    return make()
