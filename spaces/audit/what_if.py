"""What if: the prediction of an audited model for a text that a visitor edits in its report.

`choose_subject` names the model of a report. `predict_edit` runs in a worker, which keeps the model
for the next edit.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from rightreasons.models.protocol import Scorer
from rightreasons.page.formats import short_name
from rightreasons.report.demo import MODEL_NAME, train_demo_model
from rightreasons.report.live import has_pairs, predict_request
from rightreasons.report.runner import AuditResult
from rightreasons.report.schema import list_class_names
from rightreasons.widget.pages import typed_text


@dataclasses.dataclass(frozen=True)
class Subject:
    """A model that answers on the page.

    Attributes:
        model: Id of the model on the hub, or the name of the demo's model.
        labels: Names of its classes.
        is_pair: Whether it classifies pairs of texts.
    """

    model: str
    labels: tuple[str, ...]
    is_pair: bool = False

    def describe(self) -> dict[str, Any]:
        """Return what the script of a report needs to know about the model."""
        model = {"name": short_name(self.model), "labels": list(self.labels)}
        return {"models": [model], "has_pairs": self.is_pair}


def choose_subject(result: AuditResult, model: str | None) -> Subject | None:
    """Return the model of an audit; None if the page cannot query it.

    Args:
        result: The audit.
        model: Id of its model on the hub, or the name of the demo's model. None for stored
            predictions.
    """
    if model is None or result.audit["model"]["task"] != "classification":
        return None
    labels = tuple(list_class_names(result.audit))
    return Subject(model, labels, has_pairs(result.audit, result.out))


@functools.lru_cache(maxsize=1)
def load_model(name: str, labels: tuple[str, ...]) -> Scorer:
    """Load the model of a subject; a worker keeps the last one."""
    from rightreasons.models.scorers import as_named_scorer, as_scorer

    if name == MODEL_NAME:
        # The same seed trains the same model, in about a second.
        model, _ = train_demo_model()
        return as_scorer(model, name=name)
    return as_named_scorer(name, labels)


def predict_edit(subject: Subject, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Predict an edited text.

    Args:
        subject: The model.
        request: `{"text": …}`, of pairs also with `"text_pair"`.

    Returns:
        Name and probabilities of the model, as `LiveReport.predict` returns them.

    Raises:
        ValueError: If a text is empty or too long.
    """
    # A request comes from a browser, and may hold anything.
    typed_text(request.get("text"), "Text")
    if subject.is_pair:
        typed_text(request.get("text_pair"), "Second text")
    scorer = load_model(subject.model, subject.labels)
    return predict_request([scorer], request, is_pair=subject.is_pair)
