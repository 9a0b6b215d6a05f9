"""Each measure as a metric that lm-evaluation-harness finds by name: the entry points `lm_eval.metrics`.

A metric hands over what `choice_results` made of an item; its aggregation makes the figure. An older harness knows them
once this file is imported, as by the `utils.py` of a task.
"""

from __future__ import annotations

from typing import Any

from lm_eval.api.registry import register_aggregation, register_metric

from rightreasons.integrations.lm_eval import HIGHER, MEASURES, PREFIX, aggregation


def _registered(measure: str) -> Any:
    def handed_over(item: Any) -> Any:
        return item

    # The harness takes the place of an entry point by these.
    handed_over.__module__, handed_over.__name__ = __name__, measure
    name = PREFIX + measure
    register_aggregation(name)(aggregation(measure))
    return register_metric(
        metric=name,
        higher_is_better=measure in HIGHER,
        output_type="multiple_choice",
        aggregation=name,
    )(handed_over)


globals().update({measure: _registered(measure) for measure in MEASURES})
