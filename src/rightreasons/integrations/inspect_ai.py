"""What a task of inspect_ai that `rightreasons data export --reasons --to inspect` writes is made of."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rightreasons.io.logs import inspect_reply
from rightreasons.models.replies.answers import NO_ANSWER, read_answer


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

    Returns:
        The scorer, with the metrics accuracy and its standard error.
    """
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score, accuracy, scorer, stderr

    @scorer(metrics=[accuracy(), stderr()], name="answer_scorer")  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        async def score(state: Any, target: Any) -> Any:
            row = state.metadata
            options, label = row["options"], row["label"]
            reply = inspect_reply(state.output.model_dump(mode="json"))
            place = NO_ANSWER
            if not reply.lack or reply.finish == "length":
                place = read_answer(reply.text, options, others=row["choices"], cut=reply.finish == "length")
            value = NOANSWER if place < 0 else CORRECT if place == label else INCORRECT
            return Score(value=value, answer=options[place] if place >= 0 else "")

        return score

    return make()
