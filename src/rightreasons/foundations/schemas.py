"""The declared schemas of examples: classification, multiple choice, extractive answers."""

from __future__ import annotations

from collections.abc import Mapping

CLASSIFICATION: Mapping[str, str] = {"id": "string", "text": "string", "label": "class_label"}
"""One text (optionally `text_pair`) and its class. `label` is -1 where it is unknown."""


MULTIPLE_CHOICE: Mapping[str, str] = {"id": "string", "prompt": "string", "choices": "list[string]", "label": "int64"}
"""One prompt and its choices. `label` is the index of the right choice, -1 where a perturbation leaves none."""


EXTRACTIVE_ANSWERS: Mapping[str, str] = {
    "id": "string",
    "question": "string",
    "context": "string",
    "answers": "{text: list[string], answer_start: list[int32]}",
}
"""One question on a context, and the spans that answer it: their texts and first characters."""
