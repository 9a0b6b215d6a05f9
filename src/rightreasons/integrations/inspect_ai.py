"""What a task of `rightreasons data export --to inspect` is made of, and metrics of its choices' log-probabilities.

    from inspect_ai import Task
    from inspect_ai.solver import generate
    from rightreasons.integrations.inspect_ai import answer_scorer, exported_samples, figure

    Task(dataset=exported_samples("items.jsonl"), solver=generate(), scorer=answer_scorer(), metrics=[figure("ece")])

The model must be asked for log-probabilities: `inspect eval task.py --logprobs --top-logprobs 20`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rightreasons.integrations.lm_eval import aggregation
from rightreasons.io.logs import first_letters, inspect_reply
from rightreasons.models.replies.answers import NO_ANSWER, read_answer


def exported_samples(path: str | os.PathLike[str]) -> Any:
    """Return the requests that `rightreasons data export --to inspect` wrote, as a dataset of inspect_ai.

    Args:
        path: The file `items.jsonl`.

    Returns:
        A sample per request, asked by its turns; the request itself is in its metadata, so that its log says what was
        asked. The target is the letter of the right answer, "" where that is not known.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return samples_of(map(json.loads, lines), Path(path).parent.name)


def samples_of(rows: Iterable[dict[str, Any]], name: str) -> Any:
    """Return requests as a dataset of inspect_ai of a name; see `exported_samples`."""
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    samples = []
    for row in rows:
        turns = [kinds[turn["role"]](content=turn["content"]) for turn in row.pop("turns")]
        target = row["options"][row["label"]] if row["label"] >= 0 else ""
        samples.append(Sample(id=row["id"], input=turns, target=target, metadata=row))
    return MemoryDataset(samples, name=name)


def answer_scorer() -> Any:
    """Return a scorer of inspect_ai for `exported_samples`: the answer as `read_answer` reads it.

    Its metadata have `logits`, the log-probability that the answer begins with each letter (None where the model told
    none), and `label`, so that `figure` can be among the task's metrics.

    Returns:
        The scorer, with the metrics accuracy and its standard error.
    """
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score, accuracy, scorer, stderr

    @scorer(metrics=[accuracy(), stderr()], name="answer_scorer")  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        async def score(state: Any, target: Any) -> Any:
            row = state.metadata
            options, label = row["options"], row["label"]
            output = state.output.model_dump(mode="json")
            reply, logits = inspect_reply(output), first_letters(output, options)
            place = NO_ANSWER
            if not reply.lack or reply.finish == "length":
                place = read_answer(reply.text, options, others=row["choices"], cut=reply.finish == "length")
            known = all(math.isfinite(value) for value in logits)
            value = NOANSWER if place < 0 else CORRECT if place == label else INCORRECT
            return Score(
                value=value,
                answer=options[place] if place >= 0 else "",
                metadata={"logits": logits if known else None, "label": label if label >= 0 else None},
            )

        return score

    return make()


def figure(measure: str, **options: Any) -> Any:
    """Return a metric of inspect_ai: a figure of the log-probabilities that `answer_scorer` keeps.

    Args:
        measure: A name of `rightreasons.integrations.lm_eval.MEASURES`, such as "ece", "smooth_ece" or "auroc".
        **options: Options of the kernel, such as n_bins=10.

    Returns:
        The metric; NaN where the figure is undefined.

    Raises:
        ValueError: If the measure is unknown; in a run, if no sample has log-probabilities of all its letters.
    """
    aggregate = aggregation(measure, **options)
    from inspect_ai.scorer import metric

    @metric(name=measure)  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        def compute(scores: list[Any]) -> float:
            kept = [sample.score.metadata or {} for sample in scores]
            items = [
                (tuple(sample["logits"]), sample["label"])
                for sample in kept
                if sample.get("logits") is not None and sample.get("label") is not None
            ]
            if not items:
                raise ValueError(
                    f"Expected log-probabilities of all letters for {measure}, but no sample has them: ask for them "
                    "with --logprobs --top-logprobs 20, and score with `answer_scorer`."
                )
            value = aggregate(items)
            return float("nan") if value is None else value

        return compute

    return make()
