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
    """Return a scorer of inspect_ai that scores as `choice` does, and keeps log-probabilities.

    The metadata of each score has `logits`, the log-probability of the letter of each choice, None if
    one is missing; and `label`, the index of the correct choice, None if there is not exactly one.

    Returns:
        The scorer, with the metrics accuracy and its standard error.
    """
    from inspect_ai.scorer import accuracy, choice, scorer, stderr

    @scorer(metrics=[accuracy(), stderr()], name="choice_scorer")  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        """Return the scoring function, which calls that of the scorer `choice` first."""
        score_choice = choice()

        async def score(state: Any, target: Any) -> Any:
            """Return the score of `choice` with the log-probabilities of the letters in its metadata.

            Args:
                state: The state after the answer of the model, with the choices of the sample.
                target: The correct answer, a letter such as "B".
            """
            result = await score_choice(state, target)
            n_choices = len(state.choices)
            answer = str(result.answer or "").strip()
            by_letter = letter_log_probabilities(
                state.output.model_dump(mode="json"), n_choices, answer
            )
            # Without the log-probabilities of all letters, there is no distribution.
            logits = None
            if len(by_letter) == n_choices:
                logits = [by_letter[letter] for letter in sorted(by_letter)]
            label = _find_label(str(target.text).strip(), n_choices)
            result.metadata = {**(result.metadata or {}), "logits": logits, "label": label}
            return result

        return score

    return make()


def _find_label(target: str, n_choices: int) -> int | None:
    """Return the index of the choice that a target such as "B" names; None for any other target."""
    letters = LETTERS[:n_choices]
    # Several letters mean several correct choices, for which calibration is not defined.
    if len(target) != 1 or target not in letters:
        return None
    return letters.index(target)


def exported_samples(path: str | os.PathLike[str]) -> Any:
    """Return the requests that `rightreasons data export --reasons --to inspect` wrote, as a dataset of inspect_ai.

    Args:
        path: The file `items.jsonl`.

    Returns:
        A sample per request, whose input is the turns of a conversation. Its metadata, which is
        copied to the log, has the other fields of the request. Its target is the letter of the
        correct answer, "" if it is unknown.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return samples_of(map(json.loads, lines), Path(path).parent.name)


def samples_of(rows: Iterable[dict[str, Any]], name: str) -> Any:
    """Return requests as a dataset of inspect_ai; see `exported_samples`.

    Args:
        rows: Requests with "id"; "turns" of a conversation, each with "role" and "content"; "label",
            the index of the correct option, -1 if unknown; and "options", the letters. "turns" is
            removed from each request.
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
        # The remaining fields of the request are the metadata of the sample.
        samples.append(Sample(id=row["id"], input=messages, target=target, metadata=row))
    return MemoryDataset(samples, name=name)


def answer_scorer() -> Any:
    """Return a scorer of inspect_ai for `exported_samples`, which reads answers as an audit does.

    Returns:
        The scorer, with the metrics accuracy and its standard error.
    """
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score, accuracy, scorer, stderr

    @scorer(metrics=[accuracy(), stderr()], name="answer_scorer")  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        """Return the scoring function."""

        async def score(state: Any, target: Any) -> Any:
            """Return whether the answer in the reply of the model is the correct option.

            Args:
                state: The state after the reply. Its metadata has the request: "options", the
                    letters; "choices", their texts; and "label", the index of the correct option.
                target: The correct answer, which is not used.
            """
            row = state.metadata
            options = row["options"]
            reply = inspect_reply(state.output.model_dump(mode="json"))
            is_truncated = reply.finish == "length"
            choice = NO_ANSWER
            # A truncated reply is read, too, because it may contain its answer.
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
        **options: Options of the function that computes the figure, such as n_bins=10.

    Returns:
        The metric; NaN if the figure is undefined.

    Raises:
        ValueError: If the measure is unknown; in a run, if no sample has log-probabilities of all its letters.
    """
    aggregate = aggregation(measure, **options)
    from inspect_ai.scorer import metric

    @metric(name=measure)  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        """Return the function that computes the metric."""

        def compute(scores: list[Any]) -> float:
            """Return the figure over all samples, from the log-probabilities in their metadata.

            Args:
                scores: Scores of `choice_scorer`, whose metadata has "logits", a log-probability for
                    each choice, and "label", the index of the correct choice.
            """
            items = []
            for sample in scores:
                metadata = sample.score.metadata or {}
                logits = metadata.get("logits")
                label = metadata.get("label")
                # Samples without log-probabilities or a label are excluded.
                if logits is not None and label is not None:
                    items.append((tuple(logits), label))
            if not items:
                raise ValueError(
                    f"Expected log-probabilities of all letters for {measure}, but no sample has them: ask for them "
                    "with --logprobs --top-logprobs 20, and score with `choice_scorer`."
                )
            value = aggregate(items)
            # A metric of inspect_ai must be a number, and not None.
            return float("nan") if value is None else value

        return compute

    return make()
