"""How figures are written, in the report and in its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PureWindowsPath

from rightreasons.core.errors import counted
from rightreasons.core.intervals import Estimate

PLAIN_NAMES = ("model", "output", "out", "best", "final", "latest")
"""Names of folders that do not tell one model from another."""


TONES = ("bad", "warn", "neutral", "good")
"""What a verdict is, the worst first."""


def badness(tone: str, size: float) -> tuple[int, float]:
    """Return what orders the answers of an audit, the worst first: the tone, then the share that the finding is about.

    Example:
        >>> sorted([("good", 0.0), ("bad", 0.1), ("bad", 0.4)], key=lambda answer: badness(*answer))
        [('bad', 0.4), ('bad', 0.1), ('good', 0.0)]
    """
    return TONES.index(tone), -size


def capitalized(words: str) -> str:
    """Begin a sentence with words; unlike `str.capitalize`, the other letters stay as they are.

    Example:
        >>> capitalized("the DIR tests"), capitalized("")
        ('The DIR tests', '')
    """
    return words[:1].upper() + words[1:]


def decimal(value: float) -> str:
    """Write a figure with three decimals, or with more where it would read as zero.

    Example:
        >>> decimal(0.8349), decimal(0.00012), decimal(-0.0), decimal(-0.25)
        ('0.835', '0.00012', '0.000', '−0.250')
    """
    text = f"{value + 0.0:.3f}"  # no sign before 0
    if value != 0 and abs(value) < 0.0005:
        text = f"{value:.2g}" if abs(value) >= 1e-4 else f"{value:.0e}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(value: float) -> str:
    """Write a fraction in percent with one decimal, or with more where it would read as zero.

    Example:
        >>> percent(0.8349), percent(0.00012), percent(-0.0), percent(-0.25)
        ('83.5%', '0.012%', '0.0%', '−25.0%')
    """
    text = f"{100 * value + 0.0:.1f}"
    if value != 0 and abs(value) < 0.0005:
        text = f"{100 * value:.2g}" if abs(value) >= 1e-6 else f"{100 * value:.0e}"
    return f"{text}%".replace("-", "\N{MINUS SIGN}")


def number(value: float, unit: str) -> str:
    """Write a figure of a unit: a fraction in percent, a count whole, any other with three decimals.

    Example:
        >>> number(0.5, "fraction"), number(0.25, "nats"), number(1200, "count")
        ('50.0%', '0.250', '1,200')
    """
    if unit == "count":
        return f"{value:,.0f}"
    return percent(value) if unit == "fraction" else decimal(value)


def written(estimate: Estimate, unit: str = "fraction") -> str:
    """Write a figure with its interval.

    Example:
        >>> written(Estimate(0.5, 0.4, 0.6)), written(Estimate(0.25, 0.1, 0.4), "nats"), written(Estimate(None))
        ('50.0% [40.0, 60.0]', '0.250 [0.100, 0.400]', 'undefined')
    """
    if estimate.value is None:
        return "undefined"
    if estimate.low is None or estimate.high is None:
        return number(estimate.value, unit)
    ends = (number(end, unit).removesuffix("%") for end in (estimate.low, estimate.high))
    return f"{number(estimate.value, unit)} [{', '.join(ends)}]"


def p_value(value: float) -> str:
    """Write a p-value.

    Example:
        >>> p_value(0.0421), p_value(0.0000003)
        ('0.042', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_equals(value: float) -> str:
    """Write what follows "p".

    Example:
        >>> p_equals(0.0421), p_equals(0.0)
        ('= 0.042', '< 0.001')
    """
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def level_percent(level: float) -> str:
    """Write a confidence level.

    Example:
        >>> level_percent(0.95), level_percent(0.999)
        ('95%', '99.9%')
    """
    return f"{100 * level:g}%"


def short_name(model: str) -> str:
    """Shorten the path of a model or of data, here or on another machine, to what tells it from others.

    A hub id stays whole.

    Example:
        >>> short_name("google-bert/bert-base-uncased"), short_name("/home/ann/runs/tone"), short_name("/a/b/best")
        ('google-bert/bert-base-uncased', 'tone', 'b/best')
    """
    paths = (Path(model), PureWindowsPath(model))
    path = next((path for path in paths if path.is_absolute()), paths[0])
    if isinstance(path, Path) and path.exists():
        path = path.resolve()
    elif not path.is_absolute():
        return model
    plain = path.name.lower() in PLAIN_NAMES or path.name.startswith("checkpoint")
    return "/".join(path.parts[-2:]) if plain else path.name


def first_of(shown: int, among: int, one: str, order: str) -> str:
    """Say which of some things are shown, as the beginning of a note.

    Args:
        shown: How many are shown.
        among: How many there are.
        one: What one of them is.
        order: Which of them come first.

    Example:
        >>> first_of(5, 12, "wrong prediction", "surest")
        'The 5 surest of 12 wrong predictions'
        >>> first_of(3, 3, "wrong prediction", "surest"), first_of(1, 1, "wrong prediction", "surest")
        ('All 3 wrong predictions, the surest first', 'The only wrong prediction')
    """
    if among == 1:
        return f"The only {one}"
    if shown == among:
        return f"All {counted(among, one)}, the {order} first"
    return f"The {f'{shown:,} ' if shown > 1 else ''}{order} of {counted(among, one)}"


def named_reasons(left_out: Sequence[tuple[str, str]], most: int = 3) -> str:
    """Name items that are left out, with the reasons: the first few, and how many more there are.

    Example:
        >>> named_reasons([("7", "it is empty."), ("9", "it is NaN.")], most=1)
        '7: it is empty; and 1 more'
    """
    named = "; ".join(f"{name}: {reason.rstrip('.')}" for name, reason in left_out[:most])
    return named + (f"; and {len(left_out) - most:,} more" if len(left_out) > most else "")


def not_scored_told(what: str, n_scored: int, left_out: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Say in one sentence which items the model could not score, or nothing where it scored all; `what` names one.

    Example:
        >>> not_scored_told("item", 9, [("7", "it is NaN.")]), not_scored_told("item", 9, [])
        (('The model could not score 1 of 10 items (7: it is NaN).',), ())
    """
    if not left_out:
        return ()
    whole = counted(n_scored + len(left_out), what)
    return (f"The model could not score {len(left_out):,} of {whole} ({named_reasons(left_out)}).",)
