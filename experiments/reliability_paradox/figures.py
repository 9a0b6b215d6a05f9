"""The picture that only the experiment on the Reliability Paradox draws."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib.patches import Patch

from rightreasons.page.plots import PALETTE

sys.path.append(str(Path(__file__).parents[1]))
from canvas import Picture, canvas, drawn


@dataclasses.dataclass(frozen=True)
class Change:
    """A figure before and after fine-tuning, with intervals.

    Attributes:
        before: Value, low and high before; None where undefined.
        after: The same after.
    """

    before: tuple[float, float, float] | None
    after: tuple[float, float, float] | None


def before_after(
    key: str, *, names: Sequence[str], panels: Sequence[tuple[str, Sequence[Change]]]
) -> Picture:
    """Draw figures before and after fine-tuning, one row a data set and one panel a figure.

    Args:
        key: The key of the picture.
        names: The data sets.
        panels: The name of each figure with one `Change` a data set.

    Returns:
        The drawing.
    """
    with canvas(
        2.9 * len(panels) + 0.9,
        1.25 + 0.4 * len(names),
        nrows=1,
        ncols=len(panels),
        sharey=True,
        squeeze=False,
    ) as (figure, axes):
        for axis, (title, changes) in zip(axes[0], panels, strict=True):
            for y, change in enumerate(changes):
                if change.before is not None and change.after is not None:
                    axis.annotate(
                        "",
                        (change.after[0], y),
                        (change.before[0], y),
                        arrowprops={
                            "arrowstyle": "-|>",
                            "color": PALETTE["band"],
                            "linewidth": 2.2,
                            "shrinkB": 4,
                        },
                    )
                for value, color, marker, shift in (
                    (change.before, "muted", "o", 0.13),
                    (change.after, "blue", "D", -0.13),
                ):
                    if value is not None:
                        axis.hlines(
                            y + shift, value[1], value[2], color=PALETTE[color], linewidth=1.4
                        )
                        axis.plot(
                            value[0],
                            y,
                            marker=marker,
                            color=PALETTE[color],
                            markersize=5,
                            linestyle="none",
                        )
            axis.set(title=title, xlim=(0, 1.02))
            axis.grid(axis="y", visible=False)
        axes[0][0].set_yticks(range(len(names)), names)
        axes[0][0].set_ylim(len(names) - 0.5, -0.5)
        handles = [
            Patch(facecolor=PALETTE["muted"], label="before fine-tuning"),
            Patch(facecolor=PALETTE["blue"], label="after"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2)
        return drawn(figure, key)
