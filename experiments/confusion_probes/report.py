"""What is written of the scores: tables, two figures and a reading that follows from the figures."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.page.plots import PALETTE, SERIES
from rightreasons.page.prose import decimal, p_equals

sys.path.append(str(Path(__file__).parents[1]))
from canvas import MARKERS, Picture, canvas, drawn

PRIOR = {
    "no_question": "no question",
    "wrong_question": "wrong question",
    "no_right_answer": "no right answer",
}
K = "4"
"""The number of added choices that the tables show; the figure shows all."""

ALPHA = 0.05
INTRODUCTION = (
    "Written by `run.py`. Validation splits only; the head saw a sub-sample of SocialIQA's training split and nothing "
    "of the other sets. Items are chosen by (seed, id), texts are borrowed from the whole split. Brackets are 95 % "
    "intervals (bootstrap over items; Wilson for shares)."
)
DROPS = (
    "Drop of the confidence in the right choice; the null adds choices as good as the item's own; beyond dilution is "
    "the drop among the item's own choices."
)
ORDERS = ("data", "same content under every order", "prior over positions (PriDe)")
Cells = Mapping[tuple[str, str], dict[str, Any]]


def write_report(folder: Path, work: Path, ways: Sequence[Any], sets: Sequence[str]) -> None:
    """Write RESULTS.md, results.json and figures/ from results.json and the cells of `work`, which take its place."""
    stored = folder / "results.json"
    rows = json.loads(stored.read_text("utf-8")) if stored.is_file() else []
    cells = {(row["way"], row["dataset"]): row for row in rows}
    for way in ways:
        for name in sets:
            file = work / way.key / f"{name}.json"
            if file.is_file():
                cells[way.key, name] = json.loads(file.read_text("utf-8"))
    if not cells:
        raise ValueError(f"Expected scores in {work}, but nothing has been scored yet.")
    cells = {
        (way.key, name): cells[way.key, name]
        for way in ways
        for name in sets
        if (way.key, name) in cells
    }
    (folder / "figures").mkdir(exist_ok=True)
    for name, drawing in (
        ("prior_bias", _bias(cells, ways, sets)),
        ("paralysis", _paralysis(cells, ways, sets)),
    ):
        (folder / "figures" / f"{name}.png").write_bytes(drawing.png)
    text = "\n\n".join(
        [_head(cells, ways, sets), _tables(cells, ways, sets), _reading(cells, ways, sets)]
    )
    (folder / "RESULTS.md").write_text(text + "\n", "utf-8")
    figures = [_rounded(cell) for cell in cells.values()]
    stored.write_text(json.dumps(figures, indent=None, separators=(",", ":")) + "\n", "utf-8")


# -------------------------------------------------------------------------------------------------------------- tables


def _head(cells: Cells, ways: Sequence[Any], sets: Sequence[str]) -> str:
    lines = [
        "# Confusion probes: results",
        "",
        INTRODUCTION,
        "",
        "| scorer | " + " | ".join(sets) + " |",
        "|---|" + "---|" * len(sets),
    ]
    for way in ways:
        row = []
        for name in sets:
            cell = cells.get((way.key, name))
            row.append(
                "not run"
                if cell is None
                else f"{cell['probes']['n_items']} of {cell['n_available']:,}"
            )
        lines.append(f"| {way.name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _tables(cells: Cells, ways: Sequence[Any], sets: Sequence[str]) -> str:
    bias = [
        "## Prior bias",
        "",
        "Mean within-item variance of the confidences, normalized to [0, 1] in parentheses.",
        "",
    ]
    bias += [
        "| scorer | data | accuracy | as it was | no question | wrong question | no right answer |",
        "|" + "---|" * 7,
    ]
    old = [
        "## The old answer, picked without a reason",
        "",
        "Share of items whose once right choice is still picked; p: two-sided exact binomial test against chance.",
        "",
        "| scorer | data | chance | no question | p | wrong question | p | without the prompt: commonest position |",
        "|" + "---|" * 8,
    ]
    drop = [
        f"## Choice paralysis, {K} choices added",
        "",
        DROPS,
        "",
        "| scorer | data | drop | null | beyond dilution | p | accuracy before | after | after, own choices |",
        "|" + "---|" * 9,
    ]
    order = [
        "## Order of the choices (letters)",
        "",
        f"| {' | '.join(ORDERS)} |",
        "|" + "---|" * 3,
    ]
    for way in ways:
        for name in sets:
            cell = cells.get((way.key, name))
            if cell is None:
                continue
            probes, lead = cell["probes"], f"| {way.name} | {name} | "
            accuracy = _share(probes["accuracy"], probes["accuracy_interval"])
            row = [
                _variance(probes["original"]),
                *(_variance(probes["prior_bias"][probe]) for probe in PRIOR),
            ]
            bias.append(lead + " | ".join([accuracy, *row]) + " |")
            pseudo = {
                probe: probes["prior_bias"][probe]["pseudo_correct"] for probe in list(PRIOR)[:2]
            }
            row = [f"{pseudo['no_question']['chance']:.3f}"]
            for probe, found in pseudo.items():
                row += [
                    _share(found["rate"], probes["pseudo_correct_intervals"][probe]),
                    _p(found["p_value"]),
                ]
            old.append(
                lead + " | ".join([*row, f"{probes['choices_only']['majority']:.3f}"]) + " |"
            )
            found = probes["paralysis"][K]
            beyond = found["restricted_drop"]
            row = [
                _share(found["choice_paralysis"], found["drop"]["interval"]),
                f"{found['null_drop']:.3f}",
                _share(beyond["mean"], beyond["interval"]),
                "–" if _is_zero(beyond) else _p(beyond["t_p_value"]),
                *(
                    f"{found[key]:.3f}"
                    for key in ("accuracy", "perturbed_accuracy", "restricted_accuracy")
                ),
            ]
            drop.append(lead + " | ".join(row) + " |")
            if cell["orders"] is not None:
                o = cell["orders"]
                prior = ", ".join(f"{p:.2f}" for p in o["prior"])
                row = [f"{o['consistency']:.3f}", prior]
                order.append(f"| {name} | " + " | ".join(row) + " |")
    pictures = [
        "![Prior bias](figures/prior_bias.png)",
        "Drop of the confidence in the right choice against the number of added choices:",
        "![Choice paralysis](figures/paralysis.png)",
    ]
    parts = [bias, old, drop] + ([order] if len(order) > 4 else [])
    return "\n\n".join(["\n".join(part) for part in parts] + pictures)


def _variance(found: Mapping[str, Any]) -> str:
    ends = found["interval"]
    return f"{found['prior_bias']:.4f} [{ends['low']:.4f}, {ends['high']:.4f}] ({found['normalized_prior_bias']:.3f})"


def _share(value: float, ends: Mapping[str, Any]) -> str:
    return f"{value + 0.0:.3f} [{ends['low']:.3f}, {ends['high']:.3f}]".replace("-0.000", "0.000")


def _p(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _is_zero(drop: Mapping[str, Any]) -> bool:
    return abs(drop["mean"]) < 1e-9


# ------------------------------------------------------------------------------------------------------------- reading


def _reading(cells: Cells, ways: Sequence[Any], sets: Sequence[str]) -> str:
    said = ["## Reading", ""]
    for way in ways:
        mine = {name: cells[way.key, name]["probes"] for name in sets if (way.key, name) in cells}
        if not mine:
            said.append(f"**{way.name}**: not run.\n")
            continue
        said.append(f"**{way.name}.** {_bias_words(mine)} {_paralysis_words(mine)}\n")
    said.append(
        f"“Differs” means p < {ALPHA} after Bonferroni over the tests of a scorer. With few items a difference can be "
        "missed; none found is not none there."
    )
    return "\n".join(said)


def _bias_words(mine: Mapping[str, Any]) -> str:
    tests = [(name, probe) for name in mine for probe in ("no_question", "wrong_question")]
    above, below = [], []
    for name, probe in tests:
        found = mine[name]["prior_bias"][probe]["pseudo_correct"]
        if found["p_value"] < ALPHA / len(tests):
            side = above if found["rate"] > found["chance"] else below
            side.append(
                f"{name} ({PRIOR[probe]}: {found['rate']:.2f}, chance {found['chance']:.2f})"
            )
    sizes = "; ".join(
        f"{name} {probes['prior_bias']['no_question']['normalized_prior_bias']:.3f} "
        f"({probes['original']['normalized_prior_bias']:.3f})"
        for name, probes in mine.items()
    )
    words = f"Normalized variance of its confidences without the question, and with it in parentheses: {sizes}. "
    if above:
        words += (
            "What it prefers is the old answer more often than chance on " + ", ".join(above) + "."
        )
    else:
        words += "That it prefers the old answer more often than chance is not seen."
    if below:
        words += " Less often than chance: " + ", ".join(below) + "."
    return words


def _paralysis_words(mine: Mapping[str, Any]) -> str:
    drops = {name: probes["paralysis"][K] for name, probes in mine.items()}
    if all(_is_zero(found["restricted_drop"]) for found in drops.values()):
        span = [found["choice_paralysis"] for found in drops.values()]
        return (
            f"With {K} more choices the confidence in the right one drops by {min(span):.2f} to {max(span):.2f}, all "
            "of it dilution by the softmax: it scores one choice at a time and cannot be paralyzed."
        )
    beyond = []
    for name, found in drops.items():
        left = found["restricted_drop"]
        differs = left["t_p_value"] is not None and left["t_p_value"] < ALPHA / len(drops)
        beyond.append(
            f"{name} {decimal(left['mean'])} of {decimal(found['choice_paralysis'])} "
            f"(p {p_equals(left['t_p_value'])}{', differs' if differs else ''})"
        )
    return (
        f"With {K} more choices it sees them together; beyond dilution it drops by: "
        + "; ".join(beyond)
        + "."
    )


# ------------------------------------------------------------------------------------------------------------- figures


def _bias(cells: Cells, ways: Sequence[Any], sets: Sequence[str]) -> Picture:
    kinds = {"original": "as it was", **PRIOR}
    with canvas(3.0 * len(ways) + 0.4, 3.1, ncols=len(ways), sharey=True, squeeze=False) as (
        figure,
        axes,
    ):
        for axis, way in zip(axes[0], ways, strict=True):
            for index, (kind, label) in enumerate(kinds.items()):
                color, marker = PALETTE[("muted", *SERIES)[index]], MARKERS[index]
                for place, name in enumerate(sets):
                    if (way.key, name) not in cells:
                        continue
                    probes = cells[way.key, name]["probes"]
                    found = probes["original"] if kind == "original" else probes["prior_bias"][kind]
                    # The number of choices is one for each set, so that the factor carries over to the ends.
                    factor = found["normalized_prior_bias"] / max(found["prior_bias"], 1e-12)
                    x = place + (index - 1.5) * 0.16
                    axis.vlines(
                        x,
                        factor * found["interval"]["low"],
                        factor * found["interval"]["high"],
                        color=color,
                    )
                    axis.plot(x, found["normalized_prior_bias"], marker, color=color, markersize=5)
                axis.plot([], [], marker, color=color, markersize=5, linestyle="none", label=label)
            axis.set_xticks(range(len(sets)), sets, rotation=20)
            axis.set_title(way.name.replace(", ", ",\n"), fontsize=8.5)
            axis.set(xlim=(-0.5, len(sets) - 0.5))
        axes[0][0].set_ylim(bottom=0)  # of all: they share it
        axes[0][0].set_ylabel("normalized variance\nof the confidences")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
        return drawn(figure, "prior_bias")


def _paralysis(cells: Cells, ways: Sequence[Any], sets: Sequence[str]) -> Picture:
    grid = {"nrows": len(ways), "ncols": len(sets), "sharey": True, "squeeze": False}
    with canvas(2.1 * len(sets) + 0.5, 1.75 * len(ways) + 0.5, **grid) as (figure, axes):
        for r, way in enumerate(ways):
            for c, name in enumerate(sets):
                axis = axes[r][c]
                axis.axhline(0, color=PALETTE["muted"], linewidth=0.8)
                axis.set_title(name, fontsize=8)
                if c == 0:
                    axis.set_ylabel(way.name.replace(", ", ",\n"), fontsize=8)
                cell = cells.get((way.key, name))
                if cell is None:
                    axis.text(
                        0.5,
                        0.5,
                        "not run",
                        transform=axis.transAxes,
                        ha="center",
                        color=PALETTE["muted"],
                    )
                    axis.set_xticks([])
                    continue
                found = {int(k): row for k, row in cell["probes"]["paralysis"].items()}
                ks = sorted(found)
                place = np.arange(len(ks))
                for part, color, label in (
                    ("drop", "blue", "drop"),
                    ("restricted_drop", "orange", "beyond dilution"),
                ):
                    ends = [found[k][part]["interval"] for k in ks]
                    axis.fill_between(
                        place,
                        [end["low"] for end in ends],
                        [end["high"] for end in ends],
                        color=PALETTE[color],
                        alpha=0.2,
                        linewidth=0,
                    )
                    axis.plot(
                        place,
                        [found[k][part]["mean"] for k in ks],
                        "o-",
                        color=PALETTE[color],
                        markersize=3,
                        label=label,
                    )
                null = [found[k]["null_drop"] for k in ks]
                axis.plot(
                    place,
                    null,
                    color=PALETTE["muted"],
                    linestyle=(0, (4, 3)),
                    linewidth=1.2,
                    label="null",
                )
                axis.set_xticks(place, [str(k) for k in ks])
                if r == len(ways) - 1:
                    axis.set_xlabel("added choices", fontsize=8)
        axes[0][0].legend(loc="best", fontsize=6.5)
        return drawn(figure, "paralysis")


def _rounded(value: Any) -> Any:
    """Six significant digits are enough, and keep the file small."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {
            key: _rounded(item)
            for key, item in value.items()
            if key not in ("definition", "reading")
        }
    return [_rounded(item) for item in value] if isinstance(value, list) else value
