"""The pictures about the probes: confidences before and after, paralysis against added choices, and positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import PercentFormatter

from rightreasons.core.intervals import Estimate
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.plots import ABOVE, PALETTE, Drawing, canvas, drawn
from rightreasons.probes.measure import WITHOUT_ANSWER, extra_choices_name
from rightreasons.probes.measurement import NAMES

DASHED = (0, (4, 3))

N_BINS = 20


def confidence_panels(key: str, m: Any) -> Drawing:
    """Draw the confidences of the same items before and after each probe, as shares of the items."""
    scores, edges = m.tables, np.linspace(0, 1, N_BINS + 1)
    panels = [(NAMES[name], scores.top(ORIGINAL), scores.top(name), scores.uniform) for name in WITHOUT_ANSWER]
    panels.append((f"{m.k} added: right choice", scores.right(), scores.right(extra_choices_name(m.k)), None))
    with canvas(7.6, 5.0, nrows=2, ncols=2, sharex=True) as (figure, axes):
        for axis, (name, before, after, even) in zip(axes.ravel(), panels, strict=True):
            for values, color, label in ((before, "muted", "before"), (after, "orange", "after")):
                share = np.histogram(np.clip(values, 0, 1), edges)[0] / max(len(values), 1)
                axis.stairs(share, edges, fill=True, color=PALETTE[color], alpha=0.28)
                axis.stairs(share, edges, color=PALETTE[color], linewidth=1.5, label=label)
            if even is not None:
                axis.axvline(even, color=PALETTE["ink"], linewidth=1, linestyle=DASHED)
            axis.set(xlim=(0, 1))
            axis.set_title(name)
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        for axis in axes[:, 0]:
            axis.set_ylabel("share of items")
        for axis in axes[-1]:
            axis.set_xlabel("confidence")
            axis.tick_params(labelbottom=True)
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
        return drawn(figure, key)


def paralysis_curve(key: str, m: Any) -> Drawing:
    """Draw the drop of the confidence in the right choice against the number of added choices, with its null."""
    effects = dict(sorted(m.scored.paralysis.items()))
    place = np.arange(len(effects))
    with canvas(5.2, 3.5) as (figure, axis):
        axis.axhline(0, color=PALETTE["muted"], linewidth=1)

        def draw(label: str, color: str, drops: list[Estimate], **style: Any) -> None:
            if all(drop.has_interval for drop in drops):
                ends = [drop.low for drop in drops], [drop.high for drop in drops]
                axis.fill_between(place, *ends, color=PALETTE[color], alpha=0.18, linewidth=0)
            axis.plot(place, [drop.value for drop in drops], color=PALETTE[color], linewidth=1.7, label=label, **style)

        points = {"marker": "o", "markersize": 4.5}
        draw("drop", "blue", [effect.drop.estimate for effect in effects.values()], **points)
        null = [Estimate(effect.null_drop) for effect in effects.values()]
        draw("null: added choices as good as the item's own", "muted", null, linestyle=DASHED)
        restricted = [effect.restricted_drop.estimate for effect in effects.values()]
        draw("among the item's own choices (free of dilution)", "orange", restricted, **points)
        axis.set_xticks(place, list(map(str, effects)))
        axis.set(xlabel="added choices", ylabel="drop of the confidence\nin the right choice")
        axis.margins(x=0.06)
        axis.legend(**ABOVE | {"ncols": 1})
        return drawn(figure, key)
