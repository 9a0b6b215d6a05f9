"""Each measure as a metric that lm-evaluation-harness finds by name: the entry points `lm_eval.metrics`.

A metric passes on what `choice_results` returns for an item, and its aggregation computes the figure. An older
harness knows them once this file is imported, as by the `utils.py` of a task.
"""

from __future__ import annotations

from typing import Any

from lm_eval.api.registry import register_aggregation, register_metric

from rightreasons.integrations.lm_eval import HIGHER, MEASURES, PREFIX, aggregation


def _register(measure: str) -> Any:
    """Register a measure as a metric of the harness, and return the metric.

    Args:
        measure: A name of `MEASURES`, such as "ece".

    Returns:
        A function that returns its argument, because only the aggregation computes the figure.
    """

    def pass_item(item: Any) -> Any:
        return item

    # The harness identifies an entry point by its module and its name.
    pass_item.__module__ = __name__
    pass_item.__name__ = measure
    name = PREFIX + measure
    register_aggregation(name)(aggregation(measure))
    register = register_metric(
        metric=name,
        higher_is_better=measure in HIGHER,
        output_type="multiple_choice",
        aggregation=name,
    )
    return register(pass_item)


# An entry point names an attribute of this module.
globals().update({measure: _register(measure) for measure in MEASURES})
