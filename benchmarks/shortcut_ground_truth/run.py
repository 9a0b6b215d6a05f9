"""How good is the shortcut detector where the shortcuts are known?

    python benchmarks/shortcut_ground_truth/run.py
    python benchmarks/shortcut_ground_truth/run.py --report     # table and figure again, from results.json

Fine-tunes the packaged encoder on reviews with planted cues, one model for each strength of the cue, and asks the
detector which tokens its predictions rest on. The planted tokens are known, so its precision and recall are; and the
same reviews exist with the cue of the other label, so it is known which predictions the cue decides. Then one setting
after another is changed from its default. Writes results.json, table.md and figure.png beside this file.

A killed run goes on where it stopped: models and attributions lie in `--work`.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.intervals import cluster_wilson
from rightreasons.datasets.builder import load_dataset
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.options import Attributions
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.shortcuts.detector import find_shortcuts
from rightreasons.shortcuts.mutual_information import LmiResult, lmi
from rightreasons.shortcuts.reliance import summarize_shortcuts
from rightreasons.training.finetune import fine_tune

HERE = Path(__file__).resolve().parent

STRENGTHS = (0.5, 0.75, 0.9, 1.0)
BASE_STRENGTH = 0.9
TOP_N = (1, 2, 3, 5, 10)
HEAD_FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2)
FREQUENCY_BINS = (1, 2, 3, 5, 8)


@dataclasses.dataclass(frozen=True)
class Setting:
    """How attributions are made; the defaults are those of `integrated_gradients`."""

    method: str = "adaptive"
    steps: int = 50
    target: str = "probability"
    baseline: str = "zeros"
    reduce: str = "l2"

    @property
    def name(self) -> str:
        """The folder of its results."""
        return "-".join(str(value) for value in dataclasses.astuple(self))


STEPS = (
    *(Setting("riemann_right", steps) for steps in (5, 10, 50)),
    Setting("gauss_legendre", 10),
    Setting(),
)
TARGETS = (Setting(), Setting(target="logit"), Setting(baseline="pad"), Setting(reduce="sum"))


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A model that was fine-tuned on one strength of the cue, and what it says about the test items."""

    classifier: Classifier
    data: Any
    texts: list[str]
    planted: list[Any]
    accuracy: dict[str, float]
    decided: np.ndarray
    folder: Path


def train(strength: float, options: argparse.Namespace) -> Trained:
    folder = options.work / f"strength-{strength:g}"
    data = load_dataset(
        "planted_shortcuts",
        "mixed",
        strength=strength,
        train_size=options.train_size,
        test_size=options.test_size,
        validation_size=1,
        seed=options.seed,
    )
    fine_tune(
        demo_encoder(),
        data["train"],
        out=folder / "model",
        epochs=options.epochs,
        learning_rate=1e-4,
        seed=options.seed,
        progress=False,
    )
    classifier = load_classifier(folder / "model")
    predicted = {}
    for split in ("test", "test_absent", "test_flipped"):
        scores = predict(classifier, data[split]["text"], progress=False, out=folder / split)
        predicted[split] = np.asarray(scores.logits).argmax(axis=1)
    return Trained(
        classifier=classifier,
        data=data,
        texts=list(data["test"]["text"]),
        planted=list(data["test"]["planted"]),
        accuracy={
            split: float((guess == np.array(data[split]["label"])).mean())
            for split, guess in predicted.items()
        },
        decided=predicted["test"] != predicted["test_flipped"],
        folder=folder,
    )


def attribute(model: Trained, setting: Setting, unit: str = "wordpiece") -> Attributions:
    return integrated_gradients(
        model.classifier,
        model.texts,
        **dataclasses.asdict(setting),
        unit=unit,
        progress=False,
        out=model.folder / setting.name,
    )


def count(model: Trained, unit: str = "wordpiece", **options: Any) -> LmiResult:
    tokenizer = model.classifier.tokenizer if unit == "wordpiece" else "words"
    return lmi(
        model.data["train"]["text"], model.data["train"]["label"], tokenizer=tokenizer, **options
    )


def planted_mask(
    planted: Sequence[Mapping[str, Any]], spans: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which tokens, by their (first, one past the last) characters, share one with a planted token."""
    mask = np.zeros(len(spans), dtype=np.bool_)
    for token in planted:
        mask |= np.maximum(spans[:, 0], token["start"]) < np.minimum(spans[:, 1], token["end"])
    return mask


def measure(
    model: Trained,
    found: Attributions,
    heads: LmiResult,
    *,
    piece_style: str = "wordpiece",
    **options: int,
) -> dict[str, Any]:
    """Compare what the detector finds with what was planted."""
    shortcuts = find_shortcuts(
        found.tokens, found.scores, found.explained, heads, piece_style=piece_style, **options
    )
    reliance = summarize_shortcuts(shortcuts)
    cuts = list(itertools.pairwise(found.scores.offsets.tolist()))
    spans = np.stack((found.starts, found.ends), axis=1)
    planted = [
        planted_mask(tokens, spans[a:b]) for tokens, (a, b) in zip(model.planted, cuts, strict=True)
    ]
    flags = [shortcuts.is_shortcut[a:b] for a, b in cuts]
    counts = np.array(
        [
            [(flag & cue).sum(), flag.sum(), cue.sum()]
            for flag, cue in zip(flags, planted, strict=True)
        ]
    )
    both, n_found, n_planted = counts.T
    named = np.array([bool((flag & cue).any()) for flag, cue in zip(flags, planted, strict=True)])
    return {
        "precision": float(both.sum() / n_found.sum()) if n_found.any() else None,
        "precision_interval": of_texts(both, n_found),
        "recall": float(both.sum() / n_planted.sum()) if n_planted.any() else None,
        "recall_interval": of_texts(both, n_planted),
        "f1": float(2 * both.sum() / (n_found + n_planted).sum())
        if n_found.any() and n_planted.any()
        else None,
        "named_where_cue_decides": share(named[model.decided]),
        "named_where_it_does_not": share(named[~model.decided]),
        "shortcut_rate": reliance.shortcut_reliance,
        "null_random": reliance.null["random"].rate,
        "null_frequency": reliance.null["frequency"].rate,
        "excess_over_frequency": reliance.null["frequency"].excess,
        "excess_interval": interval(reliance.null["frequency"].interval),
        "p_value": reliance.null["frequency"].p_value,
        "grammar_cued": reliance.grammar_cued,
        "mean_gap": float(np.abs(found.gap).mean()),
        "mean_nodes": float(found.nodes.mean()),
    }


def interval(value: Any) -> list[float] | None:
    return None if value is None else [value.low, value.high]


def of_texts(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[float] | None:
    """Return the interval of a share of tokens, whose texts are clusters."""
    some = sizes > 0
    return interval(cluster_wilson(hits[some], sizes[some])) if some.any() else None


def share(flags: np.ndarray) -> float | None:
    return float(flags.mean()) if len(flags) else None


def experiment(options: argparse.Namespace) -> dict[str, Any]:
    models = {strength: train(strength, options) for strength in STRENGTHS}
    rows = []
    for row in itertools.chain(over_strengths(models), over_settings(models[BASE_STRENGTH])):
        rows.append(row)
        report(row)
    return {
        "train_size": options.train_size,
        "test_size": options.test_size,
        "epochs": options.epochs,
        "seed": options.seed,
        "base_strength": BASE_STRENGTH,
        "rows": rows,
    }


def over_strengths(models: dict[float, Trained]) -> Iterator[dict[str, Any]]:
    for strength, model in models.items():
        reliance = {"decided_by_cue": share(model.decided), **model.accuracy}
        found = measure(model, attribute(model, Setting()), count(model))
        yield {"varied": "strength", "value": f"{strength:g}", **reliance, **found}


def over_settings(model: Trained) -> Iterator[dict[str, Any]]:
    """Change one setting after another from its default."""
    heads, found = count(model), attribute(model, Setting())
    for top_n in TOP_N:
        yield {"varied": "top_n", "value": str(top_n), **measure(model, found, heads, top_n=top_n)}
    for fraction in HEAD_FRACTIONS:
        smaller = count(model, head_fraction=fraction)
        sizes = "/".join(str(table.head_size) for table in smaller.by_label)
        yield {
            "varied": "head_fraction",
            "value": f"{fraction:g} ({sizes})",
            **measure(model, found, smaller),
        }
    for setting in STEPS:
        name = "adaptive" if setting.method == "adaptive" else f"{setting.method} {setting.steps}"
        yield {"varied": "steps", "value": name, **measure(model, attribute(model, setting), heads)}
    for setting in TARGETS:
        name = f"{setting.target}, {setting.baseline}, {setting.reduce}"
        yield {
            "varied": "target",
            "value": name,
            **measure(model, attribute(model, setting), heads),
        }
    words = measure(
        model, attribute(model, Setting(), "word"), count(model, "word"), piece_style="word"
    )
    yield {"varied": "unit", "value": "wordpiece", **measure(model, found, heads)}
    yield {"varied": "unit", "value": "word", **words}
    for n_bins in FREQUENCY_BINS:
        row = measure(model, found, heads, n_frequency_bins=n_bins)
        yield {"varied": "n_frequency_bins", "value": str(n_bins), **row}


def report(row: dict[str, Any]) -> None:
    figures = [
        f"{COLUMNS[name]} {cell(row, name)}"
        for name in ("precision", "recall", "shortcut_rate", "null_frequency")
    ]
    print(
        f"{time.strftime('%H:%M:%S')} {row['varied']} {row['value']}: {', '.join(figures)}",
        flush=True,
    )


# -------------------------------------------------------------------------------------------------- table and figure

COLUMNS = {
    "value": "setting",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "named_where_cue_decides": "cue named where it decides",
    "named_where_it_does_not": "… where it does not",
    "shortcut_rate": "P_sc",
    "null_random": "null, random",
    "null_frequency": "null, like frequency",
    "excess_over_frequency": "excess",
    "p_value": "p",
}
MORE = {
    "strength": {
        "decided_by_cue": "decided by the cue",
        "test": "accuracy",
        "test_absent": "… cue absent",
        "test_flipped": "… cue flipped",
    },
    "steps": {"mean_gap": "mean gap", "mean_nodes": "mean nodes"},
    "target": {"mean_gap": "mean gap", "mean_nodes": "mean nodes"},
}


def table(results: dict[str, Any]) -> str:
    lines = []
    for varied, rows in itertools.groupby(results["rows"], key=lambda row: row["varied"]):
        columns = {**COLUMNS, **MORE.get(varied, {})}
        lines += [
            f"\n**{varied}**\n",
            f"| {' | '.join(columns.values())} |",
            "|" + " --- |" * len(columns),
        ]
        for row in rows:
            lines.append(f"| {' | '.join(cell(row, name) for name in columns)} |")
    return "\n".join(lines).strip() + "\n"


def cell(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    between = row.get(f"{name}_interval")
    spread = f" [{between[0]:.2f}, {between[1]:.2f}]" if between else ""
    return f"{value:.3f}{spread}"


PANELS = {
    "strength": "strength of the cue",
    "top_n": "N of the top N tokens",
    "head_fraction": "head: share of a label's tokens",
    "steps": "rule and nodes",
    "target": "target, baseline, reduction",
}
LINES = {
    "precision": ("precision", "#1f5fa8", "o-"),
    "recall": ("recall", "#c8501e", "s-"),
    "shortcut_rate": ("shortcut rate P_sc", "#444444", "^--"),
    "null_frequency": ("P_sc of blind picks", "#999999", "v:"),
    "decided_by_cue": ("predictions that the cue decides", "#2c7d3f", "d-."),
}
TICKS = {
    "riemann_right ": "Riem.\n",
    "gauss_legendre ": "Gauss\n",
    "adaptive": "adap-\ntive",
    "probability, zeros, ": "prob.\nzeros\n",
    "probability, pad, ": "prob.\npad\n",
    "logit, zeros, ": "logit\nzeros\n",
}


def figure(results: dict[str, Any], path: Path) -> None:
    of = {
        name: list(rows)
        for name, rows in itertools.groupby(results["rows"], key=lambda row: row["varied"])
    }
    figure, axes = plt.subplots(
        1, len(PANELS), figsize=(14.5, 3.6), sharey=True, layout="constrained"
    )
    for axis, (varied, title) in zip(axes, PANELS.items(), strict=True):
        rows = of[varied]
        places = np.arange(len(rows))
        for name, (label, color, style) in LINES.items():
            if name not in rows[0]:
                continue
            # Points of unordered settings are not joined.
            marker = style[0] if varied in ("steps", "target") else style
            axis.plot(
                places, [row[name] for row in rows], marker, color=color, label=label, markersize=5
            )
            if f"{name}_interval" in rows[0]:
                ends = np.array([row[f"{name}_interval"] for row in rows])
                axis.vlines(places, ends[:, 0], ends[:, 1], color=color, alpha=0.45, linewidth=2)
        names = [row["value"].split(" (")[0] for row in rows]
        for long, short in TICKS.items():
            names = [name.replace(long, short) for name in names]
        axis.set_xticks(places, names, fontsize=9)
        axis.set_xlim(-0.4, len(rows) - 0.6)
        axis.set_title(title, fontsize=10)
        axis.set_ylim(0, 1.02)
        axis.grid(alpha=0.25)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, fontsize=9, ncols=len(LINES), loc="outside lower center", frameon=False
    )
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train-size", type=int, default=1000)
    parser.add_argument("--test-size", type=int, default=150)
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("runs/shortcut_ground_truth"))
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument(
        "--report", action="store_true", help="write table and figure again, from results.json"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "results.json"
    if not options.report:
        file.write_text(json.dumps(experiment(options), indent=1) + "\n", encoding="utf-8")
    results = json.loads(file.read_text("utf-8"))
    (options.out / "table.md").write_text(table(results), encoding="utf-8")
    figure(results, options.out / "figure.png")


if __name__ == "__main__":
    main()
