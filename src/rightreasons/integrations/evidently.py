"""Figures of calibration as a metric of Evidently, for reports on stored predictions.

    from evidently import Report
    from rightreasons.integrations.evidently import ProbabilityFigure

    Report([ProbabilityFigure(measure="ece"), ProbabilityFigure(measure="auroc")]).run(data)

The data definition of the datasets names the columns of the labels and of the probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from evidently.core.datasets import BinaryClassification
from evidently.core.metric_types import SingleValueCalculation, SingleValueMetric

from rightreasons.core.arrays import Floats
from rightreasons.integrations.lm_eval import aggregation


class ProbabilityFigure(SingleValueMetric):  # type: ignore[misc, unused-ignore]
    """A figure of the probabilities of a classification, such as its expected calibration error.

    Attributes:
        measure: A name of `rightreasons.integrations.lm_eval.MEASURES`.
        classification_name: The classification in the data definition.
    """

    measure: str = "ece"
    classification_name: str = "default"


# Evidently finds the calculation of a metric by this type.
class FigureCalculation(SingleValueCalculation[ProbabilityFigure]):  # type: ignore[misc, unused-ignore]
    """The calculation of a `ProbabilityFigure`; NaN if the figure is undefined."""

    def display_name(self) -> str:
        """Return the name of the figure in a report."""
        return f"{self.metric.measure} (rightreasons)"

    def calculate(self, context: Any, current_data: Any, reference_data: Any) -> Any:
        """Return the figure of the current data, and of the reference if there is one."""
        current = self.result(self._compute(current_data))
        if reference_data is None:
            return current
        return current, self.result(self._compute(reference_data))

    def _compute(self, dataset: Any) -> float:
        """Return the figure of a dataset of Evidently; NaN if it is undefined.

        Args:
            dataset: Rows, and a data definition that names the columns of labels and probabilities.

        Raises:
            ValueError: If the data definition has no such columns.
        """
        name = self.metric.classification_name
        columns = dataset.data_definition.get_classification(name)
        if columns is None or not columns.prediction_probas:
            raise ValueError(
                f"Expected a classification {name!r} with `prediction_probas` in the data "
                "definition, but there is none."
            )
        probabilities, labels = _read_columns(dataset.as_dataframe(), columns)
        compute = aggregation(self.metric.measure, scores="probabilities")
        value = compute(list(zip(probabilities.tolist(), labels, strict=True)))
        # A metric of Evidently must be a number, and not None.
        return math.nan if value is None else value


def _read_columns(table: Any, columns: Any) -> tuple[Floats, list[int]]:
    """Return (N, K) probabilities of the classes, and N labels as positions of classes.

    Args:
        table: DataFrame with a row per item.
        columns: Classification of the data definition, with the names of the columns of targets and
            of probabilities. For two classes, there is one column, for the positive class.
    """
    probabilities = table[columns.prediction_probas].to_numpy(dtype=np.float64)
    targets = table[columns.target].astype(str)
    if not isinstance(columns, BinaryClassification):
        # Each column of probabilities has the name of its class.
        return probabilities, _find_labels(targets, columns.prediction_probas)
    labels = (targets == str(columns.pos_label)).astype(int).tolist()
    return np.column_stack([1 - probabilities, probabilities]), labels


def _find_labels(targets: Iterable[str], class_names: Sequence[str]) -> list[int]:
    """Return the position of each target in the list of classes, or raise a ValueError."""
    unknown = sorted(set(targets) - set(class_names))
    if unknown:
        raise ValueError(
            f"Expected targets among the columns of `prediction_probas`, but {unknown[0]!r} is "
            f"none of {', '.join(class_names)}."
        )
    return [class_names.index(target) for target in targets]
