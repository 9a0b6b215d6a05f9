"""Balanced COPA with a small encoder: our own Tables 4 to 7 and both figures, beside the paper's large models.

    python experiments/balanced_copa/run.py --data-dir DATA
    python experiments/balanced_copa/run.py --report     # tables and the first two figures again, from results.json

Trains the packaged encoder (22.7 million parameters) three times on COPA, on half of Balanced COPA and on Balanced
COPA, whole and with a frozen encoder, and without the premises; then asks how sensitive its scores are to each cue and
what it makes of right and wrong alternatives. Writes results.json, tables.md, easy_hard.png, sensitivity.png and
embeddings.png beside this file. A run that is finished is read back: a killed experiment goes on where it stopped.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import train as training
from choice_embeddings import choice_differences
from numpy.typing import NDArray
from PIL import Image
from plots import embedding_panels, sensitivity_difference
from projection import principal_components
from protocol import CopaRow, run_folder
from sensitivity import cue_sensitivity, token_sensitivity
from styles import as_multiple_choice

from rightreasons.core.estimates import Estimate
from rightreasons.cues.classifier import cue_transfer
from rightreasons.cues.easy_hard import EasyHardGap, easy_hard_gap
from rightreasons.cues.statistics import cue_statistics
from rightreasons.datasets.builder import load_dataset
from rightreasons.models.loading import load_multiple_choice
from rightreasons.models.scorers import demo_encoder
from rightreasons.page.plots import dot_rows
from rightreasons.training.premise_oblivious import EasyHardSplit

HERE = Path(__file__).resolve().parent

NAMES = {"original": "COPA", "balanced_50": "B-COPA 50 %", "balanced": "B-COPA"}
INTRODUCTION = (
    "Written by `run.py`. Accuracy in percent: mean ± population standard deviation over three seeds, on the 500 test "
    "items of COPA, its 190 Easy and its 310 Hard ones. p: approximate randomization over items, with all seeds."
)
MODELS = ("BERT-large", "RoBERTa-large")
TABLE_7 = ("woman", "mother", "went", "down", "into")
MIN_APPLICABILITY = 4
"""Rarer cues are left out of the figure: Table 7 begins at 4."""

# Kavumba et al. (2019), Tables 5 and 6, in percent: mean and deviation overall, on Easy, on Hard.
PAPER = {
    ("BERT-large", False, "original"): ((76.5, 2.7), (83.9, 4.4), (71.9, 2.5)),
    ("BERT-large", False, "balanced_50"): ((74.3, 2.2), (76.8, 1.9), (72.8, 3.1)),
    ("BERT-large", False, "balanced"): ((74.5, 0.7), (74.7, 0.4), (74.4, 0.9)),
    ("RoBERTa-large", False, "original"): ((87.7, 0.9), (91.6, 1.1), (85.3, 2.0)),
    ("RoBERTa-large", False, "balanced_50"): ((86.1, 2.2), (87.4, 1.1), (85.4, 2.9)),
    ("RoBERTa-large", False, "balanced"): ((89.0, 0.3), (88.9, 2.1), (89.0, 0.8)),
    ("BERT-large", True, "original"): ((71.7, 0.5), (80.5, 0.4), (66.3, 0.8)),
    ("BERT-large", True, "balanced_50"): ((69.9, 1.9), (71.2, 1.3), (69.0, 3.5)),
    ("BERT-large", True, "balanced"): ((70.5, 2.5), (72.6, 2.3), (69.1, 2.7)),
    ("RoBERTa-large", True, "original"): ((76.4, 0.7), (79.6, 1.0), (74.4, 1.1)),
    ("RoBERTa-large", True, "balanced_50"): ((72.4, 2.0), (72.1, 1.7), (72.6, 2.1)),
    ("RoBERTa-large", True, "balanced"): ((76.7, 0.8), (73.3, 1.5), (78.8, 2.0)),
}
PAPER_TABLE_7 = {  # sensitivity after COPA and after B-COPA, in 1e-2
    "woman": (7.98, 4.84),
    "mother": (5.16, 3.95),
    "went": (6.00, 5.15),
    "down": (5.52, 4.93),
    "into": (4.07, 3.51),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data-dir", type=Path, help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument("--runs", type=Path, default=HERE / "runs", help="where the runs are kept")
    parser.add_argument(
        "--out", type=Path, default=HERE, help="where tables and figures are written"
    )
    parser.add_argument(
        "--report", action="store_true", help="write tables and figures again, from results.json"
    )
    given = parser.parse_args()
    file = given.out / "results.json"
    if not given.report:
        given.out.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(_experiment(given), ensure_ascii=False, indent=1), "utf-8")
    results = json.loads(file.read_text("utf-8"))
    _figures(given.out, results)
    (given.out / "tables.md").write_text(_tables(results), "utf-8")
    print(f"Tables: {given.out / 'tables.md'}")


def _experiment(given: argparse.Namespace) -> dict[str, Any]:
    """Train what has not been trained, draw the embeddings, and return all that the tables need."""
    datasets.disable_progress_bars()
    original = load_dataset("balanced_copa", "original", split="train", data_dir=given.data_dir)
    test = load_dataset("copa_easy_hard", "all", split="test", data_dir=given.data_dir)
    cues = cue_statistics(_choices(original), original["label"][:])
    alone = _cues_alone(original, test)
    rows = (
        *training.fine_tuned(given.runs, given.data_dir),
        *training.frozen(given.runs, given.data_dir),
    )
    split = training.premise_oblivious(given.runs, given.data_dir)
    sensitivity = _sensitivity(given.runs, original)
    panels, explained = _embeddings(given.runs, test)
    columns = tuple(dict.fromkeys(model for _, model in panels))
    _save(
        embedding_panels("embeddings", columns=columns, panels=panels), given.out / "embeddings.png"
    )
    return {
        "settings": {
            "fine_tuning": training.FINE_TUNING,
            "frozen": training.FROZEN,
            "seeds": training.N_RUNS,
        },
        "cues_alone": alone.to_dict(),
        "rows": [row.to_dict() for row in rows],
        "premise_oblivious": _short(split),
        "own_easy_hard": _own_split(rows, split, given.runs, test),
        "sensitivity": {
            row.cue: {
                **sensitivity[row.cue],
                "productivity": row.productivity,
                "applicability": row.applicability,
            }
            for row in cues.cues
            if row.applicability >= MIN_APPLICABILITY and row.cue in sensitivity
        },
        "explained_variance": explained,
    }


# ------------------------------------------------------------------------------------------------------------- figures


def _cues_alone(original: datasets.Dataset, test: datasets.Dataset) -> EasyHardGap:
    """Table 4, word frequency: naive Bayes on the words of the alternatives; a tie takes the first."""
    credit = cue_transfer(
        _choices(original), original["label"][:], _choices(test), test["label"][:]
    )
    labels = np.array(test["label"])
    chosen = np.where(credit == 0.5, 0, np.where(credit == 1.0, labels, 1 - labels))
    return easy_hard_gap(chosen, labels, test["easy"][:])


def _sensitivity(runs: Path, original: datasets.Dataset) -> dict[str, dict[str, float]]:
    """Average the contribution of each word of COPA's alternatives over the seeds of each training set."""
    items = as_multiple_choice(original)
    found: dict[str, dict[str, list[float]]] = {}
    for name in ("original", "balanced"):
        for seed in range(training.N_RUNS):
            folder = run_folder(runs / "fine_tuned", name, seed)
            classifier = load_multiple_choice(folder / "model")
            shares = token_sensitivity(
                classifier,
                items["prompt"][:],
                items["choices"][:],
                out=folder / "sensitivity",
                progress=False,
            )
            for cue in cue_sensitivity(shares):
                found.setdefault(cue.cue, {}).setdefault(name, []).append(cue.sensitivity)
    return {
        cue: {name: float(np.mean(values)) for name, values in sets.items()}
        for cue, sets in found.items()
    }


def _embeddings(
    runs: Path, test: datasets.Dataset
) -> tuple[
    dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]], dict[str, list[float]]
]:
    """Embed the differences of right and wrong alternatives; one plane a model, the first seed of each."""
    items = as_multiple_choice(test)
    easy = np.array(test["easy"])
    models = {
        "pre-trained": load_multiple_choice(demo_encoder(), allow_untrained=True),
        "after COPA": load_multiple_choice(
            run_folder(runs / "fine_tuned", "original", 0) / "model"
        ),
        "after B-COPA": load_multiple_choice(
            run_folder(runs / "fine_tuned", "balanced", 0) / "model"
        ),
    }
    panels, explained = {}, {}
    for name, classifier in models.items():
        differences = choice_differences(
            classifier, items["prompt"][:], items["choices"][:], items["label"][:], progress=False
        )
        plane = principal_components(differences.embeddings)
        explained[name] = plane.explained.tolist()
        for subset, mask in (("Easy", easy), ("Hard", ~easy)):
            panels[subset, name] = (plane.points[mask], differences.scores[mask])
    return panels, explained


def _figures(out: Path, results: Mapping[str, Any]) -> None:
    bars = [_bars(row) for row in results["rows"] if not row["frozen_encoder"]]
    kinds = ("all items", "Easy", "Hard")
    _save(
        dot_rows("easy_hard", rows=bars, series=kinds, xlabel="accuracy", line=0.5),
        out / "easy_hard.png",
    )
    cues = results["sensitivity"]
    picture = sensitivity_difference(
        "sensitivity",
        productivity=np.array([row["productivity"] for row in cues.values()]),
        difference=np.array([_difference(row) for row in cues.values()]),
        applicability=np.array([row["applicability"] for row in cues.values()]),
        named={
            place: cue for place, cue in enumerate(cues) if cue in (*TABLE_7, "the", "was", "a")
        },
    )
    _save(picture, out / "sensitivity.png")


def _save(picture: Any, path: Path) -> None:
    # 64 colors are enough for these pictures, and a third of the bytes.
    Image.open(io.BytesIO(picture.png)).convert("RGB").quantize(64).save(path, optimize=True)


def _bars(row: Mapping[str, Any]) -> tuple[str, list[Estimate]]:
    gap, parts = row["gap"], ("accuracy", "easy_accuracy", "hard_accuracy")
    ends = [(gap[f"{part}_interval"]["low"], gap[f"{part}_interval"]["high"]) for part in parts]
    return NAMES[row["training_set"]], [
        Estimate(gap[part], *both) for part, both in zip(parts, ends, strict=True)
    ]


def _own_split(
    rows: Sequence[CopaRow], split: EasyHardSplit, runs: Path, test: datasets.Dataset
) -> dict[str, Any]:
    """Ask the same of our own Easy items, and how far they are the published ones."""
    easy = np.array(split.easy)
    published = np.array(test["easy"])
    both = int((easy & published).sum())
    gaps = {}
    for row in rows:
        if not row.frozen_encoder:
            gaps[row.training_set] = easy_hard_gap(
                _chosen(row, runs), test["label"][:], easy
            ).to_dict()
    return {
        "n_easy": int(easy.sum()),
        "in_both": both,
        "expected_in_both": float(easy.mean() * published.sum()),
        "gaps": gaps,
    }


def _chosen(row: CopaRow, runs: Path) -> NDArray[np.int64]:
    """Read the answers of the models of a training set, one column per seed."""
    from rightreasons.models.classes import load_scores

    trained = runs / ("frozen" if row.frozen_encoder else "fine_tuned")
    folders = [run_folder(trained, row.training_set, seed) for seed in row.seeds]
    return np.stack([load_scores(folder / "scores-test").predicted for folder in folders], axis=1)


# -------------------------------------------------------------------------------------------------------------- tables


def _tables(results: Mapping[str, Any]) -> str:
    rows, cues, split, own_split = (
        results[key] for key in ("rows", "sensitivity", "premise_oblivious", "own_easy_hard")
    )
    lines = [
        "# Our tables",
        "",
        INTRODUCTION,
        "",
        "## Table 4: trained on COPA",
        "",
        "| model | overall | Easy | Hard | gap [95 %] | p |",
        "|---|---|---|---|---|---|",
        _gap_row("cues alone (naive Bayes on words)", results["cues_alone"]),
        _gap_row("MiniLM (ours)", _row(rows, "original", frozen=False)["gap"]),
        *(_paper_row(f"{model} (paper)", PAPER[model, False, "original"]) for model in MODELS),
        "",
        *_training_table("## Table 5: fine-tuned", rows, frozen=False),
        *_training_table("## Table 6: frozen encoder, trained head", rows, frozen=True),
        "## Table 7: sensitivity to cues (1e-2)",
        "",
        "| cue | productivity | applicable | COPA | B-COPA | change | COPA (paper) | B-COPA (paper) | change |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cue in TABLE_7:
        ours, paper = cues[cue], PAPER_TABLE_7[cue]
        lines.append(
            f"| {cue} | {ours['productivity']:.2f} | {ours['applicability']} | {100 * ours['original']:.2f} | "
            f"{100 * ours['balanced']:.2f} | {100 * _difference(ours):+.2f} | {paper[0]:.2f} | {paper[1]:.2f} | "
            f"{paper[1] - paper[0]:+.2f} |"
        )
    lines += ["", *_sensitivity_lines(cues), "", "## Without the premises", ""]
    n_items = split["n_easy"] + split["n_hard"]
    without = (
        f"Trained on COPA's alternatives alone, three runs get {100 * split['mean_accuracy']:.1f} ± "
        f"{100 * split['std_accuracy']:.1f} of the test items right. Our Easy items, which all three get: "
        f"{split['n_easy']} of {n_items}; {split['easy_by_chance'] * n_items:.0f} would be by luck."
    )
    lines += [without]
    overlap = (
        f"The paper has 190 Easy items. Of our {own_split['n_easy']}, {own_split['in_both']} are among them; "
        f"{own_split['expected_in_both']:.0f} would be by chance. On our own Easy and Hard items:"
    )
    lines += [
        "",
        overlap,
        "",
        "| trained on | overall | Easy | Hard | gap [95 %] | p |",
        "|---|---|---|---|---|---|",
        *(_gap_row(NAMES[name], gap) for name, gap in own_split["gaps"].items()),
        "",
    ]
    return "\n".join(lines)


def _training_table(title: str, rows: Sequence[Mapping[str, Any]], *, frozen: bool) -> list[str]:
    lines = [
        title,
        "",
        "| model | trained on | overall | Easy | Hard | gap [95 %] | p | on its training set |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for name, shown in NAMES.items():
        row = _row(rows, name, frozen=frozen)
        lines.append(f"| MiniLM {_gap_row(shown, row['gap'])} {100 * row['train_accuracy']:.1f} |")
    for model in MODELS:
        for name, shown in NAMES.items():
            lines.append(f"| {model} (paper) {_paper_row(shown, PAPER[model, frozen, name])} |")
    return [*lines, ""]


def _gap_row(name: str, gap: Mapping[str, Any]) -> str:
    cells = []
    for key in ("accuracy", "easy_accuracy", "hard_accuracy"):
        std = gap[f"{key}_std"]
        cells.append(f"{100 * gap[key]:.1f}" + (f" ± {100 * std:.1f}" if std is not None else ""))
    ends = gap["interval"]
    p_value = "< 0.001" if gap["p_value"] < 0.001 else f"{gap['p_value']:.3f}"
    interval = (
        f"{100 * gap['easy_hard_gap']:+.1f} [{100 * ends['low']:+.1f}, {100 * ends['high']:+.1f}]"
    )
    return f"| {name} | {' | '.join(cells)} | {interval} | {p_value} |"


def _paper_row(name: str, figures: Sequence[tuple[float, float]]) -> str:
    (_, (easy, _), (hard, _)) = figures
    cells = " | ".join(f"{mean:.1f} ± {std:.1f}" for mean, std in figures)
    return f"| {name} | {cells} | {easy - hard:+.1f} | |"


def _sensitivity_lines(cues: Mapping[str, Mapping[str, float]]) -> list[str]:
    lines = []
    for name, low, high in (
        ("productivity above 0.6", np.nextafter(0.6, 1), 1.0),
        ("productivity 0.4 to 0.6", 0.4, 0.6),
        ("productivity below 0.4", 0.0, np.nextafter(0.4, 0)),
    ):
        change = np.array(
            [_difference(row) for row in cues.values() if low <= row["productivity"] <= high]
        )
        lines.append(
            f"- {name}: {len(change)} cues, mean change {100 * change.mean():+.2f}, {np.mean(change < 0):.0%} fall."
        )
    return lines


def _row(
    rows: Sequence[Mapping[str, Any]], training_set: str, *, frozen: bool
) -> Mapping[str, Any]:
    return next(
        row
        for row in rows
        if row["training_set"] == training_set and row["frozen_encoder"] == frozen
    )


def _difference(sets: Mapping[str, float]) -> float:
    return sets["balanced"] - sets["original"]


def _choices(data: datasets.Dataset) -> list[list[str]]:
    return [list(pair) for pair in zip(data["choice1"], data["choice2"], strict=True)]


def _short(split: EasyHardSplit) -> dict[str, Any]:
    return {
        key: value
        for key, value in split.to_dict().items()
        if key not in ("ids", "easy", "n_correct")
    }


if __name__ == "__main__":
    main()
