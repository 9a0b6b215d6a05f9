"""Measures for the tasks of inspect_ai: a scorer that keeps the choices' log-probabilities, and metrics of them.

    from inspect_ai import Task
    from inspect_ai.solver import multiple_choice
    from rightreasons.integrations.inspect_ai import choice_scorer, figure

    Task(dataset=..., solver=multiple_choice(), scorer=choice_scorer(), metrics=[figure("ece"), figure("auroc")])

The model must be asked for log-probabilities: `inspect eval task.py --logprobs --top-logprobs 20`.
"""

from __future__ import annotations

from typing import Any

from rightreasons.data.opening.logs.inspect import letter_log_probabilities
from rightreasons.foundations.choices import LETTERS
from rightreasons.integrations.lm_eval import aggregation


def choice_scorer() -> Any:
    """Return a scorer of inspect_ai: that of `choice`, which keeps the log-probability of each letter too.

    They are in the metadata of each score, as `logits` (in the order of the choices; None where the model did not tell
    those of all letters) and `label`, the index of the right choice.

    Returns:
        The scorer, with the metrics accuracy and its standard error.
    """
    from inspect_ai.scorer import accuracy, choice, scorer, stderr

    @scorer(metrics=[accuracy(), stderr()], name="choice_scorer")  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        plain = choice()

        async def score(state: Any, target: Any) -> Any:
            found = await plain(state, target)
            n_choices = len(state.choices)
            answer = str(found.answer or "").strip()
            own = letter_log_probabilities(state.output.model_dump(mode="json"), n_choices, answer)
            logits = [own[letter] for letter in sorted(own)] if len(own) == n_choices else None
            right = str(target.text).strip()
            label = LETTERS.index(right) if len(right) == 1 and right in LETTERS[:n_choices] else None
            found.metadata = {**(found.metadata or {}), "logits": logits, "label": label}
            return found

        return score

    return make()


def figure(measure: str, *, kind: str = "top_label", **options: Any) -> Any:
    """Return a metric of inspect_ai: a figure of the log-probabilities that `choice_scorer` keeps.

    Args:
        measure: A name of `rightreasons.integrations.lm_eval.MEASURES`, such as "ece", "smooth_ece" or "auroc".
        kind: "top_label"; the arguments are those of `rightreasons.integrations.lm_eval.aggregation`.
        **options: Options of the kernel, such as n_bins=10.

    Returns:
        The metric; NaN where the figure is undefined.

    Raises:
        ValueError: If the measure is unknown; in a run, if no sample has log-probabilities of all its letters.
    """
    aggregate = aggregation(measure, kind=kind, **options)
    from inspect_ai.scorer import metric

    @metric(name=measure)  # type: ignore[untyped-decorator, unused-ignore]
    def make() -> Any:
        def compute(scores: list[Any]) -> float:
            kept = [one.score.metadata or {} for one in scores]
            items = [
                (tuple(one["logits"]), one["label"])
                for one in kept
                if one.get("logits") is not None and one.get("label") is not None
            ]
            if not items:
                raise ValueError(
                    f"Expected log-probabilities of all letters for {measure}, but no sample has them: ask for them "
                    "with --logprobs --top-logprobs 20, and score with `choice_scorer`."
                )
            value = aggregate(items)
            return float("nan") if value is None else value

        return compute

    return make()
