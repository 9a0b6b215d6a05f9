"""What a ranking by difficulty agrees with: the accuracy of its groups, and other measures of the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.words import level_percent, percent
from rightreasons.auditing.questions.difficulty import plots
from rightreasons.foundations.sentences import counted

if TYPE_CHECKING:
    from rightreasons.analysis.difficulty.ranking import AccuracyByDifficulty
    from rightreasons.foundations.resampling import Resampling
    from rightreasons.measuring.difficulty import Correlation

MIN_ITEMS = 20
"""With fewer items than this, the question does not apply."""

ENDS = (("hardest", -1, "largest"), ("easiest", 0, "smallest"))
"""Name, place and size of the two groups at the ends of a ranking."""

SMALL_MARGIN = ("Small margin", "Minus the gap of the two largest probabilities.")
ENTROPY = ("Entropy", "Of the probabilities, in nats.")
WORDS = ("Words", "Of the text.")
WRONG = ("Being wrong", "1 for a wrong answer, 0 for a right one.")


def enough_items(context: AuditContext) -> p.Applicability:
    """Return whether there are enough items to rank."""
    if len(context.primary) < MIN_ITEMS:
        return p.applies_not(f"It needs at least {MIN_ITEMS} items, but there are {len(context.primary)}.")
    return p.APPLIES


def accuracy_plot(
    key: str,
    groups: AccuracyByDifficulty,
    accuracies: Sequence[p.Estimate],
    resampling: Resampling,
    *,
    by: str,
    of: str,
    source: str,
) -> p.Plot:
    """Draw the accuracy of groups of equal size, the easiest first.

    Args:
        key: Name of the file.
        groups: The groups.
        accuracies: Their accuracies with intervals.
        resampling: Level of the intervals.
        by: What the items are ordered by: "difficulty".
        of: The figure that rises from group to group: "eigenvalue".
        source: Where the figure is from.
    """
    return plots.accuracy_steps(
        key,
        accuracies=groups.accuracies,
        lows=[one.low or 0.0 for one in accuracies],
        highs=[one.high or 0.0 for one in accuracies],
        xlabel=f"group of rising {of} ({counted(groups.counts[0], 'item')} each)",
    ).plot(
        title=f"Accuracy by {by}",
        caption=f"Groups of equal size. Whiskers are {level_percent(resampling.level)} Wilson intervals.",
        alt=f"Accuracy from the smallest to the largest {of}: "
        f"{', '.join(percent(share) for share in groups.accuracies)}.",
        source=source,
    )


def correlation_table(
    key: str,
    correlations: Mapping[str, Correlation],
    names: Mapping[str, tuple[str, str]],
    resampling: Resampling,
    *,
    of: str,
    source: str = "Spearman 1904",
) -> p.Table:
    """Return the table of rank correlations.

    Args:
        key: Name of the table.
        correlations: Measure -> its correlation with the ranking.
        names: Measure -> its name and what it is, in the order of the table.
        resampling: Level of the intervals.
        of: What the items are ranked by: "the eigenvalue".
        source: Where the measures are from.
    """
    return p.Table(
        key=key,
        title=f"Rank correlations with {of}",
        columns=(
            p.Column("measure", "Measure", "text"),
            p.Column("rho", "Spearman's ρ"),
            p.Column("p", "p", "p_value", "Of no correlation."),
            p.Column("definition", "What it is", "text"),
        ),
        rows=tuple(
            (name, correlations[measure].rho, correlations[measure].test.p_value, what)
            for measure, (name, what) in names.items()
            if measure in correlations
        ),
        note=f"In brackets: {level_percent(resampling.level)} bootstrap intervals over items.",
        source=source,
    )
