"""How a language model was asked, for the top of a report."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rightreasons.foundations.sentences import counted

_SCORINGS = {
    "sum": "by the log-likelihood of their tokens",
    "mean": "by the mean log-likelihood of their tokens",
    "unconditional": "by their log-likelihood beyond that without the item (Holtzman et al. 2021)",
    "calibrated": "by their probability over that of inputs without content (Zhao et al. 2021)",
    "next_words": "by the log-probability of their first token",
    "generated": "by what the model writes",
}
_STYLES = {"words": "in words", "letters": "as letters", "numbers": "as numbers"}


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the top of a report says about a prompt.

    Attributes:
        summary: How it was asked, in a few sentences.
        template: The template.
        system: The system prompt; "" for none.
        example: One item, as the model reads it.
        answers: The answers of that item, in words.
        server: The server that was asked, what its trial found, and what it cost; none for a model that is here.
        name: The model, on a page about several; "" on one about a single model.
    """

    summary: str
    template: str
    system: str
    example: str
    answers: str
    server: tuple[str, ...] = ()
    name: str = ""


def asked_of(
    told: Mapping[str, Any], right: str = "", server: Mapping[str, Any] | None = None, name: str = ""
) -> Asked:
    """Put what `Prompted.describe` returns into sentences.

    Args:
        told: The description.
        right: How many answers are right, in a sentence; "" where a section says it.
        server: What `ServerEngine.describe` returns; None for a model that is here.
        name: The model, on a page about several.
    """
    chat = "through its chat template" if told["chat"] else "without a chat template"
    shots = told["shots"]
    examples = "without examples"
    if shots:
        drawn = "the same for all items" if told["draw"] == "run" else "drawn for each item"
        examples = f"after {counted(shots, 'example')} of the training split, {drawn}"
    sentences = [
        f"Items are asked {chat}, {examples}.",
        f"Answers are given {_STYLES[told['style']]} and scored {_SCORINGS[told['scoring']]}.",
    ]
    if told["label_words"]:
        sentences.append(f"The labels are called {', '.join(told['label_words'])}.")
    if told["scoring"] == "generated":
        if told["samples"] > 1:
            sentences.append(f"Each item is answered {told['samples']} times; its scores are the shares of answers.")
        if told["pattern"]:
            sentences.append(f"Answers are found by the regular expression {told['pattern']}.")
        sentences.append(f"{told['way'][:1].upper()}{told['way'][1:]}.")
    sentences += [right] if right else []
    answers = ", ".join(repr(answer) for answer in told["answers"])
    return Asked(
        summary=" ".join(sentences),
        template=told["template"],
        system=told["system"] or "",
        example=told["example"],
        answers=f"Its answers are {answers}, exactly as they follow.",
        server=() if server is None else _lines(server),
        name=name,
    )


def _lines(server: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a report says about a server, a sentence each."""
    able = ", ".join(ability.replace("_", " ") for ability in server["abilities"])
    usage = server["usage"]
    cost = "" if usage["price"] is None else f", at a price of {usage['price']:,.4f}"
    spent = (
        f"{counted(usage['requests'], 'request was', 'requests were')} answered, with "
        f"{counted(usage['prompt_tokens'], 'prompt token')} and {counted(usage['answer_tokens'], 'generated token')}"
        f"{cost}."
    )
    return (
        f"{server['server']} with the model {server['model']}; its trial found that it can be asked for {able}.",
        *(f"{'Yes' if one['passed'] else 'No'}: {one['part']}. {one['words']}" for one in server["trial"]),
        *filter(None, [server["changes"]]),
        spent,
    )
