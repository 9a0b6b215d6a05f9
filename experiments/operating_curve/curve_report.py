"""What is written of the models: results.json in columns, table.md and figure.png."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.proper_scores import auroc
from rightreasons.core.intervals import wilson
from rightreasons.page.plots import MARKERS, PALETTE, SERIES, Drawing, canvas, drawn

FOLLOWS = 0.1
"""A model follows its cue if at least this share of its predictions changes with the label of the cue."""

CONTROL = 0.5
"""The strength at which a cue tells nothing."""

WORDS = ("lexical", "function", "punctuation")
"""Kinds whose cue is a token of its own; the others are made of the order, the place or the number of tokens."""

RESAMPLES = 1000
Rows = list[dict[str, Any]]
Columns = dict[str, NDArray[Any]]


def columns_of(rows: Rows) -> dict[str, Any]:
    """Turn the rows of models into columns: those of the models, and those of each number of items."""

    def columns(table: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        return {
            key: [round(row[key], 4) if isinstance(row[key], float) else row[key] for row in table] for key in table[0]
        }

    models = [{key: value for key, value in row.items() if key != "sizes"} for row in rows]
    sizes = rows[0]["sizes"]
    return {"models": columns(models), "sizes": {size: columns([row["sizes"][size] for row in rows]) for size in sizes}}


def write_report(folder: Path) -> None:
    """Write table.md and figure.png from results.json."""
    results = json.loads((folder / "results.json").read_text("utf-8"))
    models, sizes = arrays_of(results)
    (folder / "table.md").write_text("\n".join(tables(models, sizes)) + "\n", "utf-8")
    (folder / "figure.png").write_bytes(figure(models, sizes).png)


def arrays_of(results: Mapping[str, Any]) -> tuple[Columns, dict[int, Columns]]:
    """Return the columns of the models, and those of each number of items."""
    return _arrays(results["models"]), {int(size): _arrays(part) for size, part in results["sizes"].items()}


# ------------------------------------------------------------------------------------------------------------- figures


def scores(part: Columns) -> dict[str, NDArray[np.float64]]:
    """Return what ranks the models, by name; 0 where nothing stands out, so that nothing could be tested."""
    filled = {name: np.nan_to_num(part[name].astype(float)) for name in ("causal_excess", "insertion_excess")}
    return {
        "P_sc": part["rate"].astype(float),
        "excess of P_sc": part["excess"].astype(float),
        "causal excess, removal": filled["causal_excess"],
        "causal excess, insertion": filled["insertion_excess"],
        "causal excess, larger of both": np.maximum(filled["causal_excess"], filled["insertion_excess"]),
    }


def area(score: NDArray[np.float64], follows: NDArray[np.bool_], seeds: NDArray[Any]) -> str:
    """Write the AUROC with its percentile interval from resampling seeds.

    There is no interval with fewer than three seeds, or where all pairs of models are in order, which no resample
    changes; and nothing with models of one sort alone.
    """
    value, groups = auroc(score, follows), [np.flatnonzero(seeds == seed) for seed in np.unique(seeds)]
    if value is None:
        return "–"
    if len(groups) < 3 or value in (0.0, 1.0):
        return f"{value:.2f}"
    generator, drawn_values = np.random.default_rng(0), []
    for _ in range(RESAMPLES):
        rows = np.concatenate([groups[place] for place in generator.integers(len(groups), size=len(groups))])
        again = auroc(score[rows], follows[rows])
        if again is not None:
            drawn_values.append(again)
    low, high = np.quantile(drawn_values, [0.025, 0.975])
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _lower_bound(part: Columns) -> NDArray[np.float64]:
    """Return the larger lower bound of the two causal excesses."""
    low, other = (np.nan_to_num(part[name].astype(float), nan=-1.0) for name in ("causal_low", "insertion_low"))
    return np.where(part["n_tested"] >= 20, np.maximum(low, other), -1.0)


ALARMS: dict[str, Callable[[Columns], NDArray[np.bool_]]] = {
    "excess of P_sc above 0": lambda part: part["excess_low"].astype(float) > 0,
    "a planted word is named": lambda part: part["named_planted"] > 0,
    "lower bound of a causal excess above 0.05": lambda part: _lower_bound(part) > 0.05,
    "… above 0.10": lambda part: _lower_bound(part) > 0.1,
    "cues decide": lambda part: part["conclusion"] == "cues decide",
    "red": lambda part: part["tone"] == "bad",
    "green": lambda part: part["tone"] == "good",
    "cannot tell or none stands out": lambda part: part["tone"] == "neutral",
}
"""What the audit may say of a model, by name."""


# -------------------------------------------------------------------------------------------------------------- tables


def tables(models: Columns, sizes: Mapping[int, Columns]) -> list[str]:
    """Return the lines of table.md."""
    largest = max(sizes)
    follows, control = models["decided"] >= FOLLOWS, models["strength"] == CONTROL
    introduction = (
        f"{len(follows)} models: {int(follows.sum())} follow their cue (at least {FOLLOWS:.0%} of the predictions "
        f"change with its label), {int(control.sum())} are controls, whose cue tells nothing (strength {CONTROL}). "
        f"Of {largest} items unless said."
    )
    lines = [
        introduction,
        "",
        "**What the models do, and what the audit says of them** (means over seeds; tones: red / amber / green / none)",
        "",
    ]
    head = (
        "network", "sentences", "kind", "strength", "models", "decided by the cue", "accuracy", "… absent", "… flipped",
        "P_sc", "excess", "causal rate", "causal excess", "… insertion", "planted word named", "tones",
    )  # fmt: skip
    part = sizes[largest]
    names = ("model", "sentences", "kind", "strength")
    truths = ("decided", "accuracy_test", "accuracy_test_absent", "accuracy_test_flipped")
    said = ("rate", "excess", "causal_rate", "causal_excess", "insertion_excess")
    rows = []
    for key in sorted(set(zip(*(models[name].tolist() for name in names), strict=True))):
        inside = np.all([models[name] == value for name, value in zip(names, key, strict=True)], axis=0)
        tones = [int((part["tone"][inside] == tone).sum()) for tone in ("bad", "warn", "good", "neutral")]
        rows.append(
            (
                *map(str, key),
                str(int(inside.sum())),
                *(_mean(models[name][inside]) for name in truths),
                *(_mean(part[name][inside]) for name in said),
                _mean(part["named_planted"][inside] > 0),
                " / ".join(map(str, tones)),
            )
        )
    lines += _markdown(head, rows)
    lines += [
        "",
        "**AUROC: models that follow their cue against those that do not** (intervals resample three or more seeds)",
        "",
    ]
    groups = {
        "all": np.ones(len(follows), bool),
        "words: content, function, mark": np.isin(models["kind"], WORDS),
        "bigram, position, length": ~np.isin(models["kind"], WORDS),
        **{
            f"{n} sentence{'s' if n > 1 else ''} per text": models["sentences"] == n
            for n in np.unique(models["sentences"]).tolist()
        },
        **{network: models["model"] == network for network in np.unique(models["model"]).tolist()},
    }
    rows = []
    for name, inside in groups.items():
        found = [area(score[inside], follows[inside], models["seed"][inside]) for score in scores(part).values()]
        rows.append((name, str(int(follows[inside].sum())), str(int((~follows[inside]).sum())), *found))
    lines += _markdown(("models", "follow", "do not", *scores(part)), rows)
    for title, inside in (
        ("**Power: models that follow a cue that is a word**", follows & np.isin(models["kind"], WORDS)),
        ("**Power: models that follow a bigram, a position or a length**", follows & ~np.isin(models["kind"], WORDS)),
        ("**False alarms: controls**", control & ~follows),
        ("**False alarms: models that do not follow a cue that tells the label**", ~control & ~follows),
    ):
        lines += ["", f"{title} ({int(inside.sum())}; shares with Wilson intervals)", ""]
        rows = [
            (name, *(_share(alarm(sizes[size])[inside]) for size in sorted(sizes))) for name, alarm in ALARMS.items()
        ]
        lines += _markdown(("the audit says", *(f"{size} items" for size in sorted(sizes))), rows)
    lines += ["", *_planted_and_others(models, part, follows)]
    return lines


def _planted_and_others(models: Columns, part: Columns, follows: NDArray[np.bool_]) -> list[str]:
    """Compare the causal excess of planted words and of the words of the texts, in models where both are named."""
    planted, others = part["planted_excess"].astype(float), part["other_excess"].astype(float)
    both = follows & ~np.isnan(planted) & ~np.isnan(others)
    if not both.any():
        return []
    events = np.repeat([True, False], int(both.sum()))
    found = area(np.concatenate([planted[both], others[both]]), events, np.tile(models["seed"][both], 2))
    text = f"; AUROC {found}"
    models_with_both = f"the {int(both.sum())} models that follow their cue and name both"
    means = f"{planted[both].mean():.2f} and {others[both].mean():.2f}{text}"
    return [f"Causal excess of planted words and of other named words in {models_with_both}: {means}."]


def _mean(values: NDArray[Any]) -> str:
    numbers = values.astype(float)
    return "–" if np.isnan(numbers).all() else f"{np.nanmean(numbers):.2f}"


def _share(flags: NDArray[np.bool_]) -> str:
    if not len(flags):
        return "–"
    interval = wilson(int(flags.sum()), len(flags))
    return f"{flags.mean():.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows)]


def _arrays(columns: Mapping[str, Sequence[Any]]) -> Columns:
    return {
        key: np.array(values) if isinstance(next((v for v in values if v is not None), 0.0), str)
        else np.array([np.nan if value is None else value for value in values])
        for key, values in columns.items()
    }  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- figure


def figure(models: Columns, sizes: Mapping[int, Columns]) -> Drawing:
    """Draw the two scores of every model against the truth, and power and false alarms by number of items."""
    part = scores(sizes[max(sizes)])
    with canvas(13.0, 4.2, ncols=3) as (drawing, axes):
        _draw(axes, models, sizes, part)
        return drawn(drawing, "operating_curve")


def _draw(axes: Any, models: Columns, sizes: Mapping[int, Columns], part: Mapping[str, NDArray[np.float64]]) -> None:
    kinds, colors = list(dict.fromkeys(models["kind"].tolist())), [PALETTE[name] for name in (*SERIES, "ink")]
    follows, control = models["decided"] >= FOLLOWS, models["strength"] == CONTROL
    for axis, name in zip(axes, ("excess of P_sc", "causal excess, removal"), strict=False):
        for kind, color, marker in zip(kinds, colors, (*MARKERS, "P"), strict=False):
            inside = models["kind"] == kind
            axis.plot(
                models["decided"][inside],
                part[name][inside],
                marker,
                color=color,
                label=kind,
                markersize=4,
                linestyle="",
                alpha=0.7,
            )
        axis.axhline(0, color="#888888", linewidth=0.8)
        axis.set_xlabel("predictions that the cue decides")
        axis.set_title(name, fontsize=10)
    axes[0].legend(fontsize=8)
    lines = {
        "cues decide, word is followed": (follows & np.isin(models["kind"], WORDS), "cues decide", "-"),
        "red, word is followed": (follows & np.isin(models["kind"], WORDS), "red", "-"),
        "cues decide, control": (control & ~follows, "cues decide", "--"),
        "red, control": (control & ~follows, "red", "--"),
    }
    for (label, (inside, alarm, style)), color in zip(lines.items(), colors, strict=False):
        if inside.any():
            shares = [float(ALARMS[alarm](sizes[size])[inside].mean()) for size in sorted(sizes)]
            axes[2].plot(sorted(sizes), shares, f"o{style}", color=color, label=label, markersize=4)
    axes[2].set_xlabel("items")
    axes[2].set_ylim(-0.02, 1.02)
    axes[2].set_title("share of the models", fontsize=10)
    axes[2].legend(fontsize=8, loc=(0.02, 0.6))
