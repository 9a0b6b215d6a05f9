"""TABLES.md: each printed table next to ours, and the sentences that follow from the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rightreasons.core.store import write_text
from rightreasons.replicate.recipe import Figure, Recipe, Table

MISSING = "–"
"""Cell of a figure that the paper, or our replication, does not have."""

COMPARED = (
    "printed row",
    "our row",
    "figure",
    "printed",
    "ours",
    "difference",
)
"""Headings of a comparison: a line per figure, as figures with intervals do not fit side by side."""

Row = Mapping[str, Any]


def write_tables(recipe: Recipe, scale: str, results: Mapping[str, Any], file: Path) -> Path:
    """Write the tables and sentences of a replication.

    Args:
        recipe: The recipe.
        scale: Name of the scale of the results.
        results: Result of each step by its name.
        file: The file to write.

    Returns:
        The file.
    """
    sections = [_write_introduction(recipe, scale)]
    bullets = [f"- {sentence}" for sentence in write_sentences(recipe, results)]
    sections.append("\n".join(bullets))
    for table in recipe.tables:
        sections.append(write_table(recipe, table, results))
    return write_text(file, "\n\n".join(sections) + "\n")


def write_sentences(recipe: Recipe, results: Mapping[str, Any]) -> list[str]:
    """Fill the sentences of a recipe with the facts of its steps.

    Args:
        recipe: The recipe. A template names a fact as {step.fact}, with the format of a number after a
            colon: "{train.p_value:.2f}".
        results: Result of each step by its name, with its `facts`.
    """
    # In a template, `str.format` reads {step.fact} as an attribute, so that facts become attributes.
    facts_by_step = {}
    for name, result in results.items():
        facts_by_step[name] = SimpleNamespace(**result["facts"])
    return [sentence.format(**facts_by_step).strip() for sentence in recipe.sentences]


def write_table(recipe: Recipe, table: Table, results: Mapping[str, Any]) -> str:
    """Write a table in Markdown, with its heading.

    If the printed figures are available, there is a line per row and figure, with the printed figure next
    to ours. Otherwise, there is a line per row of ours.

    Args:
        recipe: The recipe, with the printed tables.
        table: The table.
        results: Result of each step by its name.
    """
    rows = results[table.step][table.rows]
    lines = [f"## {table.title}", ""]
    if table.printed is None:
        lines += _list_rows(table, rows)
    else:
        printed = recipe.printed[table.printed]
        lines += _compare_rows(table, printed["rows"], rows)
        source = printed["source"].strip()
        lines += ["", f"Printed: {source}"]
    # At the end, the reason why our figures differ from the printed ones.
    if table.why:
        lines += ["", table.why.strip()]
    return "\n".join(lines)


def _write_introduction(recipe: Recipe, scale: str) -> str:
    """Write the beginning of the page: paper, question, command, cost, and definitions.

    Args:
        recipe: The recipe.
        scale: Name of the scale of the results.
    """
    command = f"rightreasons replicate {recipe.paper} --scale {scale}"
    paragraphs = [
        f"# {recipe.title}",
        recipe.reference,
        recipe.question,
        f"```bash\n{command}\n```",
        f"Scale `{scale}`: {recipe.scales[scale].cost}",
    ]
    # At a smaller scale, also state the cost of the scale of the paper.
    paper_scale = recipe.scales["paper"]
    if scale != "paper":
        paragraphs.append(
            f"Scale `paper`: {paper_scale.cost} About {paper_scale.gpu_hours:g} GPU hours."
        )
    bullets = [f"- {definition}" for definition in recipe.definitions]
    paragraphs.append("\n".join(bullets))
    return "\n\n".join(paragraphs)


def _list_rows(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table of our figures, without printed ones.

    Args:
        table: The table, with its columns of figures.
        rows: Rows such as {"key": {"task": "sst2", "model": "BERT"}, "figures": {"f1": 90.1, …}}, all with
            the same keys, which become the left columns.
    """
    # At a small scale, a step may have no rows.
    if not rows:
        yield "There is nothing to show at this scale."
        return
    headings = list(rows[0]["key"])
    for figure in table.figures:
        headings.append(figure.header)
    yield _join_cells(headings)
    yield _join_cells(["---"] * len(headings))

    for row in rows:
        cells = list(map(str, row["key"].values()))
        for figure in table.figures:
            value = row["figures"].get(figure.name)
            cells.append(format_figure(value, figure))
        yield _join_cells(cells)


def _compare_rows(
    table: Table, printed_rows: Sequence[Row], our_rows: Sequence[Row]
) -> Iterator[str]:
    """Yield the lines of a Markdown table of printed figures next to ours, in the order of the paper.

    Args:
        table: The table; `match` has the keys in which corresponding rows have the same values.
        printed_rows: Rows {"key": …, "figures": …} of the paper.
        our_rows: Our rows. A row of ours may correspond to several rows of the paper, and vice versa.
    """
    yield _join_cells(COMPARED)
    yield _join_cells(["---"] * len(COMPARED))
    for printed in printed_rows:
        matching_rows = _find_matching_rows(printed, our_rows, table.match)
        for row in matching_rows:
            yield from _compare_figures(table, printed, row)
        # Also show printed rows that we did not repeat.
        if not matching_rows:
            yield from _compare_figures(table, printed, None)


def _compare_figures(table: Table, printed: Row, ours: Row | None) -> Iterator[str]:
    """Yield a line for each figure that a printed row or our row has.

    Args:
        table: The table, with its columns of figures.
        printed: A row of the paper.
        ours: Our row; None if we did not repeat the printed one.
    """
    for figure in table.figures:
        printed_value = printed["figures"].get(figure.name)
        our_value = None
        if ours is not None:
            our_value = ours["figures"].get(figure.name)
        # Not all rows of a paper have the same figures.
        if printed_value is None and our_value is None:
            continue
        cells = [
            _describe_key(printed),
            _describe_key(ours),
            figure.header,
            format_figure(printed_value, figure),
            format_figure(our_value, figure),
            _format_difference(printed_value, our_value, figure.digits),
        ]
        yield _join_cells(cells)


def _find_matching_rows(printed: Row, our_rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return our rows that have the same values of the given keys as a printed row.

    Args:
        printed: A row of the paper.
        our_rows: Our rows.
        keys: The keys. If empty, all our rows are returned.
    """
    matching_rows = []
    for row in our_rows:
        is_equal = [row["key"].get(key) == printed["key"].get(key) for key in keys]
        if all(is_equal):
            matching_rows.append(row)
    return matching_rows


def _describe_key(row: Row | None) -> str:
    """Return the key of a row in one cell."""
    if row is None:
        return MISSING
    values = map(str, row["key"].values())
    return ", ".join(values)


def format_figure(value: Any, figure: Figure) -> str:
    """Write a figure with its standard deviation over runs and its interval, if it has them.

    Args:
        value: A number; a mapping such as {"value": 63.73, "std": 2.81} or {"value": 5.0, "low": 1.0,
            "high": 9.0}; or None for a missing figure.
        figure: The column of the table; `digits` is its number of decimal places.

    Example:
        >>> format_figure({"value": 63.73, "std": 2.81}, Figure("overall", "overall"))
        '63.7 ± 2.8'
    """
    numbers = _parse_figure(value)
    if numbers["value"] is None:
        return MISSING
    digits = figure.digits
    texts = {name: f"{number:.{digits}f}" for name, number in numbers.items()}
    text = texts["value"]
    if "std" in texts:
        text += f" ± {texts['std']}"
    if "low" in texts:
        text += f" [{texts['low']}, {texts['high']}]"
    return text


def _format_difference(printed: Any, ours: Any, digits: int) -> str:
    """Write our figure minus the printed one; "same" if both are equal after rounding.

    Args:
        printed: Figure of the paper: a number, {"value": number, …}, or None if it is missing.
        ours: Our figure, in one of these forms.
        digits: Number of decimal places that the paper prints.
    """
    printed_value = _parse_figure(printed)["value"]
    our_value = _parse_figure(ours)["value"]
    if printed_value is None or our_value is None:
        return MISSING
    # Our figure is rounded to the digits that the paper prints.
    difference = round(our_value, digits) - round(printed_value, digits)
    # The difference may not be exactly 0, because decimal fractions are inexact.
    last_digit = 10**-digits
    if abs(difference) < 0.5 * last_digit:
        return "same"
    return f"{difference:+.{digits}f}"


def _parse_figure(value: Any) -> Mapping[str, Any]:
    """Return a figure as a mapping with the key "value". A number has no further keys, such as "std"."""
    if isinstance(value, Mapping):
        return value
    return {"value": value}


def _join_cells(cells: Sequence[str]) -> str:
    """Write a line of a table."""
    return f"| {' | '.join(cells)} |"
