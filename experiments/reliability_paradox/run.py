"""Does the Reliability Paradox hold for a small real encoder? Its Table 3 and figures 1 to 3 on all eight data sets.

    python experiments/reliability_paradox/run.py [--data FOLDER] [--work FOLDER]
    python experiments/reliability_paradox/run.py --report     # figures, table and drawings again, from stored/

For each data set and seed the packaged MiniLM encoder is fine-tuned on a sample of the training data. Before (with a
fresh head) and after, every prediction on a sample of the test data is attributed by integrated gradients over words;
a prediction is shortcut-cued when one of its top three words is in the LMI head of the predicted label. Then LTGR is
compared with plain fine-tuning, on reviews with a planted cue and on SST-2. Writes results.json, table.md and the
figures beside this file. What each model says of each test item is kept in `stored/`, and a run that is there is not
made again; what a killed run has computed is in `--work`.

The sizes fit half an hour of two cores; --train, --test, --seeds and --epochs scale it up to the paper's protocol.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from across_report import ONE_CLASS, predicts_one_class
from figures import Change, before_after
from figures_of_seeds import N_BINS, figures
from ltgr import fine_tune_ltgr
from scipy import stats

import rightreasons
from rightreasons.calibration.errors import calibration_error
from rightreasons.core.classification import classification_scores
from rightreasons.core.estimates import Estimate
from rightreasons.core.intervals import wilson
from rightreasons.core.validation import softmax
from rightreasons.io.tables import chosen_rows
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.loading import Classifier, load_classifier, load_tokenizer
from rightreasons.models.scorers import demo_encoder
from rightreasons.page.plots import dot_rows
from rightreasons.shortcuts.detector import find_shortcuts
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.plots import TYPE_NAMES, draw_confidence_bins
from rightreasons.shortcuts.reliance import ConfidenceBin
from rightreasons.training.finetune import fine_tune

HERE = Path(__file__).resolve().parent

# Name, configuration, training split and test split. The sources at hand have no training split of TweetEval's
# sentiment task (its validation split serves), a sample of AG News, and no labels on CoLA's test split.
DATA = {
    "CoLA": ("cola", None, "train", "validation"),
    "Hate": ("tweeteval_hate", None, "train", "test"),
    "Irony": ("tweeteval_irony", None, "train", "test"),
    "SST-2": ("sst2", None, "train", "test"),
    "AG News": ("ag_news", "descriptions", "train", "test"),
    "Emotion": ("tweeteval_emotion", None, "train", "test"),
    "Sentiment": ("tweeteval_sentiment", None, "validation", "test"),
    "TREC": ("trec", None, "train", "test"),
}
PLANTED = {"strength": 0.9, "coverage": 0.7, "label_noise": 0.05}
ATTRIBUTION = {"unit": "word", "progress": False}


# ---------------------------------------------------------------------------------------------------------------- runs


def take(name: str, config: str | None, split: str, limit: int, options: argparse.Namespace) -> Any:
    """A sample of a split by (seed, id): the same for every seed of the training."""
    data = rightreasons.load_dataset(
        name, config, split=split, data_dir=options.data, known_issues=False
    )
    return data if len(data) <= limit else data.select(chosen_rows(data["id"][:], limit, seed=0))


def before_fine_tuning(names: Sequence[str], seed: int) -> Classifier:
    """The encoder with a fresh head."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            demo_encoder(), num_labels=len(names)
        )
    return Classifier(model.eval(), load_tokenizer(str(demo_encoder())), tuple(names), "before")


def look(
    classifier: Classifier, test: Any, heads: Any, folder: Path, **attribution: Any
) -> dict[str, np.ndarray]:
    """What one model does on the test items: probabilities, types of shortcuts, chances of blind picks."""
    found = integrated_gradients(
        classifier, test["text"][:], out=folder, **ATTRIBUTION, **attribution
    )
    logits = np.asarray(found.logits)
    shortcuts = find_shortcuts(
        found.tokens,
        found.scores,
        logits.argmax(axis=1),
        {
            label: heads.heads.get(label, ()) for label in range(logits.shape[1])
        },  # a rare class may be in no sample
        frequencies=heads.frequencies(),
        rank_by="magnitude",
    )
    return {
        "probabilities": softmax(logits),
        "types": shortcuts.types,
        "chance": shortcuts.chance_frequency,
        "nodes": found.nodes,
        "gap": np.abs(found.gap),
        "truncated": found.truncated,
    }


def one_run(label: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Fine-tune once and look before and after; what is kept is small, and the model is deleted."""
    called = f"{label.replace(' ', '_')}-{seed}"
    folder, kept = Path(options.work) / called, Path(options.out) / "stored" / f"{called}.npz"
    if not kept.is_file():
        name, config, train_split, test_split = DATA[label]
        train = take(name, config, train_split, options.train, options)
        test = take(name, config, test_split, options.test, options)
        names = train.features["label"].names
        heads = lmi(train["text"][:], train["label"][:])
        before = look(before_fine_tuning(names, seed), test, heads, folder / "before")
        run = fine_tune(
            demo_encoder(),
            train,
            out=folder / "model",
            epochs=options.epochs,
            learning_rate=options.learning_rate,
            max_length=64,
            seed=seed,
            checkpoint_steps=0,
            progress=False,
        )
        after = look(load_classifier(run.folder), test, heads, folder / "after")
        arrays = {
            f"{when}_{key}": value.astype(np.float32 if value.dtype.kind == "f" else np.int16)
            for when, part in (("before", before), ("after", after))
            for key, value in part.items()
        }
        kept.parent.mkdir(exist_ok=True)
        writing = folder / "writing.npz"
        np.savez_compressed(
            writing, labels=np.array(test["label"][:], np.int16), n_train=len(train), **arrays
        )
        shutil.move(writing, kept)
        for part in ("model", "before", "after"):
            shutil.rmtree(folder / part, ignore_errors=True)
    with np.load(kept) as held:
        return {key: held[key] for key in held.files}


# ---------------------------------------------------------------------------------------------------------------- LTGR


def compare_ltgr(label: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Plain fine-tuning (the teacher) and LTGR (the student) from the same seed, on the same data."""
    called = f"ltgr-{label.replace(' ', '_')}-{seed}"
    folder, kept = Path(options.work) / called, Path(options.out) / "stored" / f"{called}.json"
    if kept.is_file():
        return json.loads(kept.read_text("utf-8"))
    size = min(options.train, options.ltgr_train)
    if label == "planted":
        data = rightreasons.load_dataset(
            "planted_shortcuts",
            "lexical",
            train_size=size,
            validation_size=1,
            test_size=options.test,
            **PLANTED,
        )
        train, tests = (
            data["train"],
            {key: data[key] for key in ("test", "test_absent", "test_flipped")},
        )
    else:
        name, config, train_split, test_split = DATA[label]
        train = take(name, config, train_split, size, options)
        tests = {"test": take(name, config, test_split, options.test, options)}
    heads = lmi(train["text"][:], train["label"][:])
    run = fine_tune_ltgr(
        demo_encoder(),
        train,
        out=folder / "run",
        heads=heads,
        attribution={"steps": 6},
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        max_length=64,
        seed=seed,
        checkpoint_steps=0,
        progress=False,
    )
    result: dict[str, Any] = {
        "label": label,
        "seed": seed,
        "n_train": len(train),
        "degree": float(run.degree.mean()),
    }
    for who, path in (("plain", run.teacher.folder), ("ltgr", run.folder)):
        classifier = load_classifier(path)
        seen = look(classifier, tests["test"], heads, folder / f"look-{who}")
        gold = np.array(tests["test"]["label"][:])
        result[who] = {
            "f1": classification_scores(seen["probabilities"].argmax(axis=1), gold).f1 or 0.0,
            "ece": calibration_error(seen["probabilities"], gold, n_bins=N_BINS).ece,
            "shortcut_rate": float((seen["types"] > 0).mean()),
            "excess": float((seen["types"] > 0).mean() - seen["chance"].mean()),
            "n_test": len(gold),
            "right": {
                key: int(
                    (
                        predict(classifier, test["text"][:], progress=False).logits.argmax(axis=1)
                        == np.array(test["label"][:])
                    ).sum()
                )
                for key, test in tests.items()
            },
        }
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(result), "utf-8")
    shutil.rmtree(folder / "run", ignore_errors=True)
    return result


# ------------------------------------------------------------------------------------------------------------- writing


def cell(figure: dict[str, Any], digits: int = 2, scale: float = 1.0) -> str:
    if figure["value"] is None:
        return "undefined"
    value, low, high = (f"{scale * figure[part]:.{digits}f}" for part in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def percent(figure: dict[str, Any]) -> str:
    return cell(figure, 1, 100)


def markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["", *(f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows))]


def write_table(results: dict[str, Any], out: Path) -> None:
    # A row about a model that predicts one class, with every seed, is marked.
    data = {label + one_class_mark(row["after"]): row for label, row in results["data"].items()}
    names = (
        "data set",
        "train / test",
        "F1",
        "P_sc %",
        "blind picks %",
        "excess %",
        "T_sc",
        "ECE",
        "P(1) v. correct",
    )
    lines = markdown(
        names,
        [
            (
                label,
                f"{row['n_train']} / {row['n_test']}",
                cell(row["after"]["f1"]),
                percent(row["after"]["shortcut_rate"]),
                f"{100 * row['after']['null_rate']['value']:.1f}",
                percent(row["after"]["excess"]),
                cell(row["after"]["tradeoff"]),
                cell(row["after"]["ece"], 3),
                cell(row["after"]["positive_vs_correctness"], 3)
                if "positive_vs_correctness" in row["after"]
                else "",
            )
            for label, row in data.items()
        ],
    )
    pairs = (
        ("F1", "f1", cell),
        ("P_sc %", "shortcut_rate", percent),
        ("excess %", "excess", percent),
        ("ECE", "ece", cell),
    )
    lines += markdown(
        ("data set", *(f"{name} {when}" for name, _, _ in pairs for when in ("before", "after"))),
        [
            (
                label,
                *(write(row[when][key]) for _, key, write in pairs for when in ("before", "after")),
            )
            for label, row in data.items()
        ],
    )
    lines += markdown(
        (
            "data set",
            "P_sc % of right predictions",
            "P_sc % of wrong predictions",
            "lexicon-cued %",
            "grammar-cued %",
        ),
        [
            (
                label,
                *(
                    percent(row["after"][key])
                    for key in ("rate_of_right", "rate_of_wrong", "lexicon", "grammar")
                ),
            )
            for label, row in data.items()
        ],
    )
    splits = ("test", "test_absent", "test_flipped")
    if results["ltgr"]:
        lines += markdown(
            (
                "data, seed",
                "objective",
                "F1",
                "ECE",
                "P_sc %",
                "excess %",
                "right",
                "cue absent",
                "cue flipped",
            ),
            [
                (
                    f"{run['label']}, {run['seed']}",
                    who,
                    f"{run[who]['f1']:.2f}",
                    f"{run[who]['ece']:.3f}",
                    f"{100 * run[who]['shortcut_rate']:.1f}",
                    f"{100 * run[who]['excess']:.1f}",
                    *(right_of(run[who], split) for split in splits),
                )
                for run in results["ltgr"]
                for who in ("plain", "ltgr")
            ],
        )
    lines += [
        "",
        f"{ONE_CLASS}: after fine-tuning, the model predicts one class, so the row is about a constant.",
    ]
    (out / "table.md").write_text("\n".join(lines[1:]) + "\n", "utf-8")


def one_class_mark(after: dict[str, Any]) -> str:
    seeds = zip(after["f1"]["by_seed"], after["accuracy"]["by_seed"], strict=True)
    return f" {ONE_CLASS}" if all(predicts_one_class(*seed) for seed in seeds) else ""


def right_of(row: dict[str, Any], split: str) -> str:
    if split not in row["right"]:
        return ""
    interval = wilson(row["right"][split], row["n_test"])
    return cell(
        {"value": row["right"][split] / row["n_test"], "low": interval.low, "high": interval.high}
    )


def relations(data: dict[str, Any]) -> dict[str, Any]:
    """How shortcut rate and calibration error go together over the data sets."""

    def values(when: str, key: str, part: str = "value") -> np.ndarray:
        return np.array([row[when][key][part] for row in data.values()])

    labels = np.array(list(data))
    found: dict[str, Any] = {}
    if len(labels) >= 4:
        for key in ("shortcut_rate", "excess"):
            # With eight data sets at most, the p-value comes from permutations.
            test = stats.permutation_test(
                (values("after", "ece"),),
                lambda ece, key=key: stats.spearmanr(ece, values("after", key)).statistic,
                permutation_type="pairings",
                n_resamples=5000,
                rng=np.random.default_rng(0),
            )
            found[f"spearman_of_ece_and_{key}"] = {
                "rho": float(test.statistic),
                "p": float(test.pvalue),
            }
    better = values("after", "ece") < values("before", "ece")
    found["better_calibrated_and_more_cued"] = labels[
        better & (values("after", "shortcut_rate") > values("before", "shortcut_rate"))
    ].tolist()
    found["better_calibrated_and_more_beyond_blind_picks"] = labels[
        better & (values("after", "excess") > values("before", "excess"))
    ].tolist()
    found["beyond_blind_picks"] = labels[values("after", "excess", "low") > 0].tolist()
    return found


def draw(results: dict[str, Any], out: Path) -> None:
    data = results["data"]
    rows = []
    for label, row in data.items():
        its = row["after"]
        parts = [its[name]["value"] for name in ("lexicon", "grammar", "null_rate")]
        ends = (its["shortcut_rate"]["low"], its["shortcut_rate"]["high"])
        rows.append((label, [Estimate(sum(parts[:2]), *ends), *map(Estimate, parts)]))
    drawing = dot_rows("figure1", rows=rows, series=TYPE_NAMES, xlabel="share of predictions")
    (out / "figure1.png").write_bytes(drawing.png)

    def change(row: dict[str, Any], key: str) -> Change:
        return Change(
            *(
                tuple(row[when][key][part] for part in ("value", "low", "high"))
                for when in ("before", "after")
            )
        )

    panels = [
        (title, [change(row, key) for row in data.values()])
        for title, key in (("F1", "f1"), ("ECE", "ece"), ("shortcut rate", "shortcut_rate"))
    ]
    (out / "figure2.png").write_bytes(before_after("figure2", names=list(data), panels=panels).png)
    for label in ("TREC", "AG News"):
        if label not in data:
            continue
        row = data[label]["after"]
        held = row["bins"]
        edges = np.linspace(0, 1, N_BINS + 1)
        bins = [
            ConfidenceBin(
                lower,
                upper,
                b["n"],
                None,
                b["lexicon"],
                b["grammar"],
                b["confidence"],
                b["accuracy"],
            )
            for lower, upper, b in zip(edges[:-1], edges[1:], held, strict=True)
        ]
        drawing = draw_confidence_bins(
            "figure3",
            bins,
            intervals=[
                Estimate(b["accuracy"], b["accuracy_low"], b["accuracy_high"]) for b in held
            ],
            null=row["null_rate"]["value"],
            title=label,
        )
        (out / f"figure3_{label.lower().replace(' ', '_')}.png").write_bytes(drawing.png)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        default=os.environ.get("RIGHTREASONS_DATA_DIR"),
        help="local copies of the data sets",
    )
    parser.add_argument("--work", default="runs/reliability_paradox")
    parser.add_argument("--out", default=str(HERE))
    parser.add_argument("--datasets", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--train", type=int, default=1000)
    parser.add_argument("--test", type=int, default=200)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument(
        "--ltgr", nargs="*", default=["planted", "SST-2"], help="data of the comparison with LTGR"
    )
    parser.add_argument("--ltgr-train", type=int, default=600)
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument(
        "--report", action="store_true", help="write everything again, from stored/"
    )
    options = parser.parse_args()
    out = Path(options.out)
    if options.report:
        held = json.loads((out / "results.json").read_text("utf-8"))["options"]
        options = argparse.Namespace(**{**vars(options), **held})
    results = experiment(options)
    (out / "results.json").write_text(json.dumps(results, indent=1), "utf-8")
    write_table(results, out)
    draw(results, out)
    print(
        (out / "table.md").read_text("utf-8"), json.dumps(results["relations"], indent=1), sep="\n"
    )


def check_sizes(file: Path, options: argparse.Namespace) -> None:
    """Stop where the stored runs have other sizes than those asked for."""
    sizes = {
        key: getattr(options, key)
        for key in ("train", "test", "epochs", "learning_rate", "ltgr_train")
    }
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(sizes), "utf-8")
    elif (held := json.loads(file.read_text("utf-8"))) != sizes:
        raise SystemExit(
            f"Expected runs of {sizes} in {file.parent}, but they are of {held}: name another --out."
        )


def experiment(options: argparse.Namespace) -> dict[str, Any]:
    """Run what has not been run, and return all figures."""
    check_sizes(Path(options.out) / "stored" / "sizes.json", options)
    started, ours = time.time(), ("data", "work", "out", "report")
    results: dict[str, Any] = {
        "options": {key: value for key, value in vars(options).items() if key not in ours},
        "data": {},
        "ltgr": [],
    }
    for label in options.datasets:
        runs = []
        for seed in options.seeds:
            runs.append(one_run(label, seed, options))
            print(f"{label}, seed {seed}: {time.time() - started:.0f} s", flush=True)
        results["data"][label] = {
            "n_train": int(runs[0]["n_train"]),
            "n_test": len(runs[0]["labels"]),
            "mean_nodes": float(np.mean([run["after_nodes"].mean() for run in runs])),
            "largest_gap": float(np.max([run["after_gap"].max() for run in runs])),
            "truncated": int(runs[0]["after_truncated"].sum()),
            **{when: figures(runs, when, options.resamples) for when in ("before", "after")},
        }
    for label in options.ltgr:
        for seed in options.seeds:
            results["ltgr"].append(compare_ltgr(label, seed, options))
            print(f"LTGR on {label}, seed {seed}: {time.time() - started:.0f} s", flush=True)
    results["relations"] = relations(results["data"])
    return results


if __name__ == "__main__":
    main()
