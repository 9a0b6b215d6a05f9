"""Calibration in lighteval: metrics for tasks that compare log-probabilities of choices, and Balanced COPA with them.

    lighteval accelerate "model_name=MODEL" rightreasons_balanced_copa --custom-tasks lighteval_tasks.py

The last word is the path of this file. A task of your own imports it and names `Metrics.rightreasons_ece` among
its metrics, or another figure of `MEASURES`.
"""

from __future__ import annotations

from typing import Any

from aenum import extend_enum
from lighteval.metrics.metrics import Metrics
from lighteval.metrics.sample_preparator import Preparator
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

from rightreasons.integrations.lm_eval import HIGHER, MEASURES, ListedFigure


class Scores(Preparator):  # type: ignore[misc]
    """Pass on the log-probabilities of the choices and the label of an item."""

    @staticmethod
    def prepare(doc: Any, model_response: Any, **_: Any) -> list[float]:
        """Return the label, followed by the log-probabilities of the choices, as one list.

        lighteval stores this list in its details. If there are several correct choices, the label is
        the first one.
        """
        label = doc.gold_index
        # A document may have several correct choices, and calibration needs one label.
        if not isinstance(label, int):
            label = label[0]
        return [float(label), *map(float, model_response.logprobs)]


# A task names its metrics as members of lighteval's own list.
for _name in MEASURES:
    _metric = CorpusLevelMetric(
        metric_name=_name,
        higher_is_better=_name in HIGHER,
        category=SamplingMethod.LOGPROBS,
        sample_level_fn=Scores(),
        corpus_level_fn=ListedFigure(_name).of,
    )
    extend_enum(Metrics, f"rightreasons_{_name}", _metric)


def copa(line: dict[str, Any], task_name: str = "") -> Doc:
    """Return an item of COPA as a document with a sentence and two continuations of it.

    The template is that of Gordon et al. (2011) and Kavumba et al. (2019), such as "The glass broke
    because" with the continuation "it fell.".

    Args:
        line: The item, with "premise", "question" ("cause" or "effect"), "choice1", "choice2", and
            "label", the index of the correct choice.
        task_name: Name of the task.
    """
    word = "because" if line["question"] == "cause" else "so"
    choices = []
    for name in ("choice1", "choice2"):
        text = line[name]
        # A choice begins with a small letter, because it continues the sentence.
        choices.append(f" {text[:1].lower()}{text[1:]}")
    query = f"{line['premise'].strip().rstrip('.')} {word}"
    return Doc(task_name=task_name, query=query, choices=choices, gold_index=line["label"])


TASKS_TABLE = [
    LightevalTaskConfig(
        name="rightreasons_balanced_copa",
        prompt_function=copa,
        hf_repo="pkavumba/balanced-copa",
        hf_subset="default",
        hf_avail_splits=["train", "test"],
        evaluation_splits=["test"],
        metrics=[
            Metrics.loglikelihood_acc,
            *(Metrics[f"rightreasons_{name}"] for name in ("ece", "brier", "auroc")),
        ],
        version=0,
    )
]
