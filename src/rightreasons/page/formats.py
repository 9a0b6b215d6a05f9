"""How figures, names and tables are written for readers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rightreasons.core.estimates import Estimate
from rightreasons.core.sentences import pluralize
from rightreasons.core.sentences import short_name as short_name
from rightreasons.page.parts import Amount, Cell, Column, Link

TONES = ("bad", "warn", "neutral", "good")
"""Tones of a verdict, the worst first."""

NONE = "–"
"""Mark of a figure that is undefined or missing."""


def badness(tone: str, size: float | None) -> tuple[int, float]:
    """Return a key that sorts the answers of an audit, the worst first.

    The tone comes first, then the share that the finding is about. An answer without a size judges
    nothing and comes last: a model without a fault is not introduced by its most fragile items.

    Example:
        >>> answers = [("neutral", None), ("good", 0.0), ("bad", 0.1), ("bad", 0.4)]
        >>> sorted(answers, key=lambda answer: badness(*answer))
        [('bad', 0.4), ('bad', 0.1), ('good', 0.0), ('neutral', None)]
    """
    if size is None:
        return len(TONES), 0.0
    return TONES.index(tone), -size


def decimal(value: float) -> str:
    """Write a figure with three decimals, or with more if it would read as zero.

    Example:
        >>> decimal(0.8349), decimal(0.00012), decimal(-0.0), decimal(-0.25)
        ('0.835', '0.00012', '0.000', '−0.250')
    """
    # Smaller values are rounding errors of 0.
    size = abs(value)
    if 1e-12 < size < 0.0005:
        text = _write_small(value, is_tiny=size < 1e-4)
    else:
        # Adding 0 removes the sign of a negative 0.
        rounded = round(value, 3) + 0.0
        text = f"{rounded:.3f}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(value: float) -> str:
    """Write a fraction in percent with one decimal, or with more if it would read as zero.

    Example:
        >>> percent(0.8349), percent(0.00012), percent(-4e-17), percent(-0.25)
        ('83.5%', '0.012%', '0.0%', '−25.0%')
    """
    # Smaller values are rounding errors of 0.
    size = abs(value)
    if 1e-9 < size < 0.0005:
        text = _write_small(100 * value, is_tiny=size < 1e-6)
    else:
        # Adding 0 removes the sign of a negative 0.
        rounded = round(100 * value, 1) + 0.0
        text = f"{rounded:.1f}"
    return f"{text}%".replace("-", "\N{MINUS SIGN}")


def _write_small(value: float, *, is_tiny: bool) -> str:
    """Write a value with two significant digits, or with a power of ten if it is tiny."""
    if is_tiny:
        return f"{value:.0e}"
    return f"{value:.2g}"


def number(value: float | None, unit: str = "fraction") -> str:
    """Format a figure according to its unit; a dash if there is no figure.

    Args:
        value: The figure.
        unit: "fraction" (written in percent), "count" (without decimals), "nats" or "ratio".

    Example:
        >>> number(0.5), number(0.25, "nats"), number(1200, "count"), number(None)
        ('50.0%', '0.250', '1,200', '–')
    """
    if value is None:
        return NONE
    if unit == "count":
        return f"{value:,.0f}"
    if unit == "fraction":
        return percent(value)
    return decimal(value)


def format_estimate(estimate: Estimate, unit: str = "fraction") -> str:
    """Format a figure with its interval, if it has one.

    Args:
        estimate: The figure and its interval.
        unit: Unit of the figure, as in `number`.

    Example:
        >>> format_estimate(Estimate(0.5, 0.4, 0.6)), format_estimate(Estimate(0.25, 0.1, 0.4), "nats")
        ('50.0% [40.0, 60.0]', '0.250 [0.100, 0.400]')
        >>> format_estimate(Estimate(None))
        '–'
    """
    text = number(estimate.value, unit)
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return text
    # The sign "%" is written only after the figure itself.
    low = number(estimate.low, unit).removesuffix("%")
    high = number(estimate.high, unit).removesuffix("%")
    return f"{text} [{low}, {high}]"


def describe_range(counts: Sequence[int]) -> str:
    """Write the range of counts, or the count if all are equal.

    Example:
        >>> describe_range([4, 4]), describe_range([3, 2, 5])
        ('4', '2 to 5')
    """
    smallest = min(counts)
    largest = max(counts)
    if smallest == largest:
        return f"{smallest:,}"
    return f"{smallest:,} to {largest:,}"


def p_value(value: float) -> str:
    """Write a p-value.

    Example:
        >>> p_value(0.0421), p_value(0.0000003)
        ('0.042', '< 0.001')
    """
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}"


def p_equals(value: float) -> str:
    """Write a p-value as it continues "p".

    Example:
        >>> p_equals(0.0421), p_equals(0.0)
        ('= 0.042', '< 0.001')
    """
    text = p_value(value)
    if text.startswith("<"):
        return text
    return f"= {text}"


def cell(value: Cell, column: Column) -> str:
    """Format a cell of a table according to its type and the kind of its column.

    Args:
        value: A number, a string, an estimate with its interval, or None for an empty cell.
        column: The column; its kind is "text", "share", "count", "p_value" or "number".

    Example:
        >>> share, count = Column("rate", "Rate", "share"), Column("n", "Items", "count")
        >>> cell(Estimate(0.5, 0.4, 0.6), share), cell(0.5, share)
        ('50.0% [40.0, 60.0]', '50.0%')
        >>> cell(1200, count), cell(None, count)
        ('1,200', '–')
    """
    unit_by_kind = {
        "share": "fraction",
        "count": "count",
    }
    # A number of any other kind has three decimals.
    unit = unit_by_kind.get(column.kind, "ratio")
    if value is None:
        return NONE
    if isinstance(value, Amount):
        return format_estimate(value.estimate, value.unit)
    if isinstance(value, Estimate):
        return format_estimate(value, unit)
    # A column of numbers may contain a word, such as "none".
    is_text = column.kind == "text"
    if is_text or isinstance(value, (str, Link)):
        return str(value)
    if column.kind == "p_value":
        return p_value(value)
    return number(value, unit)


def align_columns(rows: Sequence[Sequence[str]], texts: Collection[int] = (0,)) -> list[str]:
    """Format rows of cells as lines of text, with aligned columns.

    Args:
        rows: The rows, all of one length.
        texts: Indices of the columns that are aligned to the left; others are aligned to the right.

    Example:
        >>> align_columns([("model", "correct"), ("a", "5%")])
        ['model  correct', 'a           5%']
    """
    columns = []
    for position, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(len, cells))
        if position in texts:
            padded = [text.ljust(width) for text in cells]
        else:
            padded = [text.rjust(width) for text in cells]
        columns.append(padded)
    lines = []
    for padded_cells in zip(*columns, strict=True):
        line = "  ".join(padded_cells)
        # Invisible spaces at the end of a line would make outputs differ.
        lines.append(line.rstrip())
    return lines


def level_percent(level: float) -> str:
    """Write a confidence level.

    Example:
        >>> level_percent(0.95), level_percent(0.999)
        ('95%', '99.9%')
    """
    return f"{100 * level:g}%"


def describe_selection(n_shown: int, n_all: int, noun: str, order: str) -> str:
    """Return how many of some things are shown, as the beginning of a note.

    Args:
        n_shown: Number of things that are shown.
        n_all: Number of all.
        noun: What each of them is.
        order: Which of them come first.

    Example:
        >>> describe_selection(5, 12, "wrong prediction", "most confident")
        '5 of 12 wrong predictions, the most confident first'
        >>> describe_selection(3, 3, "wrong prediction", "most confident")
        'All 3 wrong predictions, the most confident first'
        >>> describe_selection(1, 1, "wrong prediction", "most confident")
        'The only wrong prediction'
        >>> describe_selection(2, 2, "wrong prediction", "most confident")
        'Both wrong predictions, the most confident first'
    """
    if n_all == 1:
        return f"The only {noun}"
    things = pluralize(n_all, noun)
    share = f"{n_shown:,} of {things}"
    if n_shown == n_all:
        share = f"All {things}"
        # Nobody says "all 2".
        if n_all == 2:
            share = f"Both {noun}s"
    return f"{share}, the {order} first"


def describe_unscored_items(
    noun: str, n_scored: int, left_out: Sequence[tuple[str, str]], n_max: int = 3
) -> tuple[str, ...]:
    """Return a sentence about the items that the model could not score, as a tuple.

    The tuple is empty if all items have scores.

    Args:
        noun: Noun for an item, such as "item" or "text".
        n_scored: Number of items with scores.
        left_out: (id, reason) of each item without scores.
        n_max: Maximum number of items that are listed with their reasons.

    Example:
        >>> describe_unscored_items("item", 9, [("7", "it is NaN.")])
        ('The model could not score 1 of 10 items (7: it is NaN).',)
        >>> describe_unscored_items("item", 9, [])
        ()
    """
    if not left_out:
        return ()
    reasons = []
    for item_id, reason in left_out[:n_max]:
        # The reason is a sentence, which continues inside the parentheses.
        clause = reason.rstrip(".")
        reasons.append(f"{item_id}: {clause}")
    n_unscored = len(left_out)
    n_more = n_unscored - len(reasons)
    if n_more:
        reasons.append(f"and {n_more:,} more")
    items = pluralize(n_scored + n_unscored, noun)
    listed = "; ".join(reasons)
    return (f"The model could not score {n_unscored:,} of {items} ({listed}).",)
