"""The picture about behavior: pass rates of one model or several, one cell per functionality."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from rightreasons.behavior.measure import JudgedCase, JudgedExample, SuiteAnswers
from rightreasons.behavior.rates import BehavioralPassRate
from rightreasons.core.suites import EXPECTATION_PARAMETERS, combined
from rightreasons.page.plots import PALETTE, Drawing, canvas, drawn, shortened
from rightreasons.page.prose import Prose, percent

TYPES = {
    "MFT": ("minimum functionality", "the answer is known"),
    "INV": ("invariance", "it must not change"),
    "DIR": ("directional", "it must move one way"),
}
"""Name of each test type, and what it asks of the answer."""


PROSE = Prose(Path(__file__).with_name("words.md.j2"))
"""What each expectation asks: `rule.NAME`; and of which cases and examples: `conditions`."""


def rule(answers: SuiteAnswers, number: int) -> str:
    """Say what a functionality expects of all its cases."""
    return _rule(answers, answers.suite.functionalities[number].expectation)


def _rule(answers: SuiteAnswers, spec: Mapping[str, Any]) -> str:
    called, rule = functools.partial(_called, answers), functools.partial(_rule, answers)
    limits = {"tolerance": _tolerance(spec), "limit": _limit(spec)}
    say = PROSE.of(answers=answers, spec=spec, combined=combined, called=called, rule=rule, **limits)
    return " ".join(filter(None, (say(f"rule.{spec['name']}"), say("conditions"))))


def expected(answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample) -> str:
    """Say what was expected of one example of a case; "" where that depends on the other examples."""
    spec, original = answers.suite.functionalities[number].expectation, case.examples[0]
    if case.compared and example is original:
        return "the original"
    if example.held is None:
        return "not asked"
    label = expected_answer(answers, number, example)
    if label:
        return f"expected {label}"
    moved = movement(answers, number, case, example)
    if spec["name"] == "changed":
        return f"expected another answer than {_called(answers, answers.answers[original.row])}"
    if spec["name"] == "invariant":
        again = f"expected {_called(answers, answers.answers[original.row])} again"
        return f"{again}; {moved}" if moved else again
    return f"{moved}; it {_limit(spec)}" if moved and spec["name"] in ("monotonic", "sentiment_shift") else ""


def expected_answer(answers: SuiteAnswers, number: int, example: JudgedExample) -> str:
    """Name the answer that is expected whatever the others are; "" where there is none."""
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "not_equal":
        return f"anything but {_called(answers, spec['value'])}"
    value = spec.get("value") if spec["name"] == "equal" else None
    label = answers.table.labels[example.row] if value is None else value
    return "" if spec["name"] != "equal" or label is None else answers.called(label)


def movement(answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample) -> str:
    """Say how the confidence moves from the original to an example; "" without probabilities."""
    table, rows = answers.probabilities, (case.examples[0].row, example.row)
    if table is None:
        return ""
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "sentiment_shift":
        name, values = "P(positive) − P(negative)", [float(table[row, 2] - table[row, 0]) for row in rows]
    else:
        label = spec.get("label")
        answer = int(answers.answers[rows[0]] if label is None else label)
        name, values = f"P({answers.called(answer)})", [float(table[row, answer]) for row in rows]
    return f"{name} from {percent(values[0])} to {percent(values[1])}"


def _called(answers: SuiteAnswers, answer: Any) -> str:
    return f"“{answer}”" if isinstance(answer, str) else answers.called(answer)


def _limit(spec: Mapping[str, Any]) -> str:
    rises = spec.get("increasing", spec.get("positive"))
    tolerance = _tolerance(spec)
    return f"must not {'fall' if rises else 'rise'}{'' if tolerance == '0' else f' by more than {tolerance}'}"


def _tolerance(spec: Mapping[str, Any]) -> str:
    parameter, said = EXPECTATION_PARAMETERS[spec["name"]].get("tolerance"), spec.get("tolerance")
    return "" if parameter is None else f"{parameter.default if said is None else said:g}"


Floats = NDArray[np.float64]
Rates: TypeAlias = BehavioralPassRate | Mapping[str, float | None]

HOW_TO_READ = (
    "Dark cells fail. Rules separate the classes; the color of a label and the letter behind it are the test type; the "
    "last column is the mean. Intervals are in the table below."
)
SOURCE = "Ribeiro et al. 2020; drawn as Luz de Araujo & Roth 2023, figure 1"

TYPE_COLORS = {"MFT": "blue", "INV": "green", "DIR": "ink"}
"""The colors of the test types, names in `PALETTE`; each is labeled with the letter M, I or D."""

# Lightness alone gives the order, so that it can be read in gray and without telling hues apart: failing is dark.
_RATES = LinearSegmentedColormap.from_list(
    "pass rate", ["#5a1705", "#a83c14", "#e2824a", "#f1c49d", "#e3e6ea", "#d3e1f7"], N=256
)
_DARK, _LIGHT = "#17202e", "#ffffff"  # numbers in cells keep their color on a dark page
_NAMES, _SMALL, _NUMBERS = 8.5, 7.0, 6.3  # points
_LONGEST_COLUMN, _LONGEST_ROW = 46, 34  # characters of a name beside an axis
_MOST_NUMBERED = 12  # rows whose cells have room for numbers
_UNDEFINED: dict[str, Any] = {
    "facecolor": PALETTE["paper"],
    "edgecolor": PALETTE["band"],
    "hatch": "/////",
    "linewidth": 0.5,
}


def columns_of(result: BehavioralPassRate) -> list[tuple[str, str, str]]:
    """Return (name, class, test type) of each functionality of a result, in the suite's order."""
    return [(each.functionality, each.functionality_class, each.test_type) for each in result.functionalities]


def pass_rate_heat_map(rows: Mapping[str, Rates], functionalities: Sequence[tuple[str, str, str]]) -> Figure:
    """Draw pass rates as a heat map: one row per model (or configuration and method), one column per functionality.

    Columns keep the given order and are numbered from 1; rules separate the classes, whose names are above; the color
    of a label and its letter give the test type; the last column is the unweighted mean of what is defined in a row.
    Cells hold their percentage where there are at most 12 rows. On the first axes of the figure, column j covers
    x in (j - 0.5, j + 0.5) and row i covers y in (i - 0.5, i + 0.5).

    Args:
        rows: Name of the row -> its pass rates in [0, 1], None where undefined: a result of `pass_rates`, or a mapping
            from the name of a functionality (what it lacks is undefined).
        functionalities: (name, class, test type) of each column.

    Returns:
        A figure without pyplot; `savefig` or a Space shows it.

    Raises:
        ValueError: If there is no row or no column, a row names a functionality that is no column, or a value is not a
            fraction.
    """
    if not rows or not functionalities:
        raise ValueError("Expected at least one row and one column of pass rates, but got none.")
    values = np.stack([_row(row, rates, [name for name, *_ in functionalities]) for row, rates in rows.items()])
    n_rows, n_columns = values.shape
    names = [shortened(name, _LONGEST_ROW) for name in rows]
    labels = [
        f"{number}  {shortened(name, _LONGEST_COLUMN)}  {kind[:1]}"
        for number, (name, _, kind) in enumerate(functionalities, start=1)
    ]
    # An inch holds about 18 small characters; class names are slanted.
    above = max(len(group) for _, group, _ in functionalities) / 25
    width = float(np.clip(9.0 / n_columns, 0.22, 0.5)) * (n_columns + 2) + max(map(len, names)) / 15 + above
    height = (0.3 if n_rows <= _MOST_NUMBERED else 0.2) * n_rows + max(map(len, labels)) / 18 + above + 1.5
    with canvas(max(width, 4.2), height) as (figure, axis):
        known = ~np.isnan(values)
        sums, counts = np.where(known, values, 0).sum(axis=1), known.sum(axis=1)
        means = np.divide(sums, counts, out=np.full(n_rows, np.nan), where=counts > 0)
        _cells(axis, values, 0, n_rows <= _MOST_NUMBERED)
        # The means have numbers even where there are too many cells for theirs.
        _cells(axis, means[:, None], n_columns + 0.4, True)
        axis.set(xlim=(-0.5, n_columns + 0.9), ylim=(n_rows - 0.5, -0.5))
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
        axis.set_yticks(range(n_rows), names, fontsize=_NAMES)
        axis.set_xticks([*range(n_columns), n_columns + 0.4], [*labels, "mean"], fontsize=_SMALL, rotation=90)
        for tick, (_, _, kind) in zip(axis.get_xticklabels(), functionalities, strict=False):
            tick.set_color(PALETTE[TYPE_COLORS.get(kind, "muted")])
        _class_names(axis, [group for _, group, _ in functionalities], n_rows)
        axis.tick_params(length=0)
        _legend(figure, axis, [kind for _, _, kind in functionalities], not known.all())
    return figure


def behavior_heat_map(
    key: str, *, rows: Mapping[str, Rates], functionalities: Sequence[tuple[str, str, str]]
) -> Drawing:
    """Draw `pass_rate_heat_map` in both forms of the report; `key` is the key of the picture."""
    return drawn(pass_rate_heat_map(rows, functionalities), key)


def rate_colors(rate: float) -> tuple[str, str]:
    """Return the color of a cell and of the number on it, for other ways to draw the cells.

    Example:
        >>> rate_colors(0.0), rate_colors(1.0)
        (('#5a1705', '#ffffff'), ('#d3e1f7', '#17202e'))
    """
    red, green, blue, _ = _RATES(rate)
    dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
    return to_hex((red, green, blue)), _LIGHT if dark else _DARK


def whole_percent(value: float) -> str:
    """Write 0 and 100 only where all cases fail or pass: 0.998 is 99, not 100.

    Example:
        >>> [whole_percent(value) for value in (0.0, 0.001, 0.5, 0.998, 1.0)]
        ['0', '1', '50', '99', '100']
    """
    return f"{value:.0%}"[:-1] if value in (0.0, 1.0) else str(min(99, max(1, round(100 * value))))


# ------------------------------------------------------------------------------------------------------------- private


def _row(row: str, rates: Rates, names: Sequence[str]) -> Floats:
    if isinstance(rates, BehavioralPassRate):
        rates = {each.functionality: each.pass_rate for each in rates.functionalities}
    if strange := rates.keys() - set(names):
        raise ValueError(f"Expected functionalities of the columns in row {row!r}, but got {min(strange)!r}.")
    for name, rate in rates.items():
        if rate is not None and not 0 <= rate <= 1:
            raise ValueError(f"Expected pass rates in [0, 1], but row {row!r} has {rate:g} in {name!r}.")
    return np.array([rates.get(name) for name in names], dtype=np.float64)


def _class_names(axis: Any, groups: Sequence[str], n_rows: int) -> None:
    """Draw the name above each run of columns of one class, and a rule before each run but the first."""
    runs = [(name, len(list(members))) for name, members in itertools.groupby(groups)]
    begins = np.cumsum([0, *(size for _, size in runs)])[:-1] - 0.5
    for begin in begins[1:]:
        axis.plot([begin, begin], [-0.5, n_rows - 0.5], color=PALETTE["ink"], linewidth=1.1)
    above = axis.secondary_xaxis("top")
    slanted = {"rotation": 45, "rotation_mode": "anchor", "ha": "left", "fontweight": "bold"}
    above.set_xticks(begins + 0.5, [name for name, _ in runs], fontsize=_SMALL, **slanted)
    above.tick_params(length=0)
    above.spines[:].set_visible(False)


def _cells(axis: Any, values: Floats, first: float, shown: bool) -> None:
    """Draw a block of cells whose first column is at x = `first`."""
    n_rows, n_columns = values.shape
    axis.pcolormesh(
        np.arange(n_columns + 1) + first - 0.5,
        np.arange(n_rows + 1) - 0.5,
        np.ma.masked_invalid(values),
        cmap=_RATES,
        vmin=0,
        vmax=1,
        edgecolors=PALETTE["paper"],
        linewidth=0.7,
    )
    for row, column in zip(*np.nonzero(np.isnan(values)), strict=True):
        axis.add_patch(Rectangle((column + first - 0.5, row - 0.5), 1, 1, **_UNDEFINED))
    if not shown:
        return
    for row, column in zip(*np.nonzero(~np.isnan(values)), strict=True):
        value = float(values[row, column])
        axis.text(
            column + first,
            row,
            whole_percent(value),
            ha="center",
            va="center_baseline",
            fontsize=_NUMBERS,
            color=rate_colors(value)[1],
        )


def _legend(figure: Figure, axis: Any, kinds: Sequence[str], undefined: bool) -> None:
    bar = figure.colorbar(ScalarMappable(cmap=_RATES), ax=axis, location="bottom", ticks=[0, 0.5, 1], shrink=0.3)
    bar.outline.set_visible(False)
    bar.ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    bar.ax.tick_params(labelsize=_SMALL, length=0)
    bar.set_label("cases that pass", fontsize=_SMALL)
    handles = [
        Patch(
            facecolor=PALETTE[TYPE_COLORS.get(kind, "muted")],
            label=f"{kind}: {TYPES[kind][1]}" if kind in TYPES else kind,
        )
        for kind in sorted(set(kinds), key=[*TYPES, *kinds].index)
    ]
    if undefined:
        handles.append(Patch(label="undefined", **_UNDEFINED))
    figure.legend(handles=handles, loc="outside lower center", fontsize=_SMALL, handlelength=1.1)
