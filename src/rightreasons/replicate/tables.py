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
    lines = []
    for sentence in write_sentences(recipe, results):
        lines.append(f"- {sentence}")
    sections.append("\n".join(lines))
    for table in recipe.tables:
        sections.append(write_table(recipe, table, results))
    return write_text(file, "\n\n".join(sections) + "\n")


def write_sentences(recipe: Recipe, results: Mapping[str, Any]) -> list[str]:
    """Fill the sentences of a recipe with the facts of its steps.

    A template names a fact as {step.fact}, with the format of a number after a colon.
    """
    # The fields of `str.format` reach attributes, but no keys of a mapping with a format.
    facts = {}
    for name, result in results.items():
        facts[name] = SimpleNamespace(**result["facts"])
    return [sentence.format(**facts).strip() for sentence in recipe.sentences]


def write_table(recipe: Recipe, table: Table, results: Mapping[str, Any]) -> str:
    """Write a table: a line per row and figure if there are printed figures, else a line per row."""
    rows = results[table.step][table.rows]
    lines = [f"## {table.title}", ""]
    # A table that is not at hand as numbers is ours alone.
    if table.printed is None:
        lines += _list_rows(table, rows)
    else:
        printed = recipe.printed[table.printed]
        lines += _compare_rows(table, printed["rows"], rows)
        lines += ["", f"Printed: {printed['source'].strip()}"]
    if table.why:
        lines += ["", table.why.strip()]
    return "\n".join(lines)


def _write_introduction(recipe: Recipe, scale: str) -> str:
    """Write the head of the page: what is repeated, at which scale, and at what cost."""
    command = f"rightreasons replicate {recipe.paper} --scale {scale}"
    paragraphs = [
        f"# {recipe.title}",
        recipe.reference,
        recipe.question,
        f"```bash\n{command}\n```",
        f"Scale `{scale}`: {recipe.scales[scale].cost}",
    ]
    # Whoever reads the page at a small scale wants to know what the scale of the paper would cost.
    paper = recipe.scales["paper"]
    if scale != "paper":
        paragraphs.append(f"Scale `paper`: {paper.cost} About {paper.gpu_hours:g} GPU hours.")
    definitions = []
    for definition in recipe.definitions:
        definitions.append(f"- {definition}")
    paragraphs.append("\n".join(definitions))
    return "\n\n".join(paragraphs)


def _list_rows(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table of our figures alone."""
    # A tiny model may know none of the words that a step inserts.
    if not rows:
        yield "There is nothing to show at this scale."
        return
    # The rows of a step have the same keys, which are the headings of the left columns.
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
    """Yield the lines of a table of printed figures next to ours, in the order of the paper."""
    yield _join_cells(COMPARED)
    yield _join_cells(["---"] * len(COMPARED))
    # A row of ours may correspond to several printed ones: one model of ours, several of the paper.
    for printed in printed_rows:
        partners = _find_partners(printed, our_rows, table.match)
        for partner in partners:
            yield from _compare_figures(table, printed, partner)
        if not partners:
            yield from _compare_figures(table, printed, None)


def _compare_figures(table: Table, printed: Row, ours: Row | None) -> Iterator[str]:
    """Yield a line for each figure that a printed row or one of ours has."""
    for figure in table.figures:
        printed_value = printed["figures"].get(figure.name)
        our_value = None
        if ours is not None:
            our_value = ours["figures"].get(figure.name)
        # A paper prints other figures for some rows than for others.
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


def _find_partners(printed: Row, our_rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return our rows that are about the same as a printed one."""
    partners = []
    for row in our_rows:
        differing = [key for key in keys if row["key"].get(key) != printed["key"].get(key)]
        if not differing:
            partners.append(row)
    return partners


def _describe_key(row: Row | None) -> str:
    """Return the key of a row in one cell."""
    if row is None:
        return MISSING
    values = map(str, row["key"].values())
    return ", ".join(values)


def format_figure(value: Any, figure: Figure) -> str:
    """Write a figure with its standard deviation over runs and its interval, where it has them.

    Example:
        >>> format_figure({"value": 63.73, "std": 2.81}, Figure("overall", "overall"))
        '63.7 ± 2.8'
    """
    parts = _parse_figure(value)
    if parts["value"] is None:
        return MISSING
    digits = figure.digits
    texts = {name: f"{number:.{digits}f}" for name, number in parts.items()}
    text = texts["value"]
    if "std" in texts:
        text += f" ± {texts['std']}"
    if "low" in texts:
        text += f" [{texts['low']}, {texts['high']}]"
    return text


def _format_difference(printed: Any, ours: Any, digits: int) -> str:
    """Write our figure minus the printed one; "same" if both are equal as printed."""
    printed_value = _parse_figure(printed)["value"]
    our_value = _parse_figure(ours)["value"]
    if printed_value is None or our_value is None:
        return MISSING
    difference = round(our_value, digits) - round(printed_value, digits)
    # The printed figure has no further digits, so that equal roundings are all there is to compare.
    if abs(difference) < 0.5 * 10**-digits:
        return "same"
    return f"{difference:+.{digits}f}"


def _parse_figure(value: Any) -> Mapping[str, Any]:
    """Return a figure as a mapping with `value`: a number stands for one without further parts."""
    if isinstance(value, Mapping):
        return value
    return {"value": value}


def _join_cells(cells: Sequence[str]) -> str:
    """Write a line of a table."""
    return f"| {' | '.join(cells)} |"
