"""Columns of the items on a page: the figures of the findings, by which a reader filters items.

`select_columns` takes the figures by item of all answers. The one that the worst finding names comes
first, and is shown when the page opens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rightreasons.page.formats import number
from rightreasons.page.parts import ItemFigure, SectionResult

MAX_COLUMNS = 12
"""Number of figures that a page offers; items/ has all of them."""

N_DECIMALS = 4
"""Decimals of a value on the page."""


@dataclasses.dataclass(frozen=True)
class ItemColumn:
    """A figure with a value for items of the page.

    Attributes:
        key: Key of the figure.
        name: Name for readers, such as "Answer changes with the order of the choices".
        unit: "flag" for a figure that is true or false, "fraction" or "ratio".
        better: Whether "higher" or "lower" values are better.
        value_by_id: Id of an item -> its value. An item that was not tested is missing.
    """

    key: str
    name: str
    unit: Literal["flag", "fraction", "ratio"]
    better: str
    value_by_id: Mapping[str, float]

    @property
    def is_flag(self) -> bool:
        """Whether the figure is true or false for each item."""
        return self.unit == "flag"

    @property
    def option(self) -> str:
        """Name of the items with the worse values, such as "Correct on Hard items: no"."""
        if self.is_flag and self.better == "higher":
            return f"{self.name}: no"
        return self.name

    def is_affected(self, value: float | None) -> bool:
        """Return whether an item with this value shows the fault that the figure measures."""
        if value is None:
            return False
        # A flag of -1 is a change that only the control made.
        if self.is_flag and self.better == "higher":
            return value <= 0
        return value > 0

    def write_value(self, value: float | None) -> str:
        """Return a value for readers: "yes", "no", a share, a number, or "not tested" without a value."""
        if value is None:
            return "not tested"
        if not self.is_flag:
            return number(value, self.unit)
        # A change that only the control made counts as none.
        return "yes" if value > 0 else "no"


def select_columns(results: Sequence[SectionResult]) -> tuple[ItemColumn, ...]:
    """Select the figures by which the items of a page can be filtered.

    Args:
        results: The answers, the worst first. The figures that their findings name come first, then
            those that their examples show, and then the others that findings are about.

    Returns:
        At most `MAX_COLUMNS` figures.
    """
    finding_figures = []
    example_figures = []
    further_figures = []
    for result in results:
        finding_key = ""
        if result.finding is not None:
            finding_key = result.finding.item_figure
        example_keys = _list_example_keys(result)
        for figure in result.by_item:
            # Only the cases of a suite have groups, and these are no items of the page.
            if figure.groups:
                continue
            if figure.key == finding_key:
                finding_figures.append(figure)
            elif figure.key in example_keys:
                example_figures.append(figure)
            elif figure.is_finding:
                further_figures.append(figure)
    figures = [*finding_figures, *example_figures, *further_figures]
    return tuple(map(_make_column, figures[:MAX_COLUMNS]))


def _list_example_keys(result: SectionResult) -> set[str]:
    """Return the keys of the figures that the lists of examples of a section show."""
    keys = set()
    for section_part in result.parts:
        for example_list in section_part.examples:
            keys.add(example_list.item_figure)
    return keys


def _make_column(figure: ItemFigure) -> ItemColumn:
    """Make a column from a figure by item."""
    unit: Literal["flag", "fraction", "ratio"] = "ratio"
    if set(figure.values) <= {-1.0, 0.0, 1.0}:
        unit = "flag"
    elif figure.unit == "fraction":
        unit = "fraction"
    # An item with several cases is affected if any of its cases is.
    choose_worst: Callable[[float, float], float] = max
    if figure.better == "higher":
        choose_worst = min
    value_by_id: dict[str, float] = {}
    for item_id, value in zip(figure.ids, figure.values, strict=True):
        previous_value = value_by_id.get(item_id, value)
        value_by_id[item_id] = round(choose_worst(previous_value, value), N_DECIMALS)
    return ItemColumn(figure.key, figure.name, unit, figure.better, value_by_id)
