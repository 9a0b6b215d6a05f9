"""Fine-tune the packaged encoder on SST-2 and TREC, and audit both: are its confidences to be trusted?

    python experiments/calibration/run.py --data-dir DATA
    python experiments/calibration/run.py --report

DATA holds `sst2/` and `trec/` as rightreasons reads them. Everything that takes time is kept under --work and goes
on after a kill; results.json and figures/ beside this file are written anew from the two audits. `--report` writes
RESULTS.md from results.json alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import time
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.audited.predictions_file import read_predictions
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import measure_figures
from rightreasons.calibration.recalibrators import Temperature, fit_temperature
from rightreasons.core.estimates import Estimate
from rightreasons.datasets.builder import load_dataset
from rightreasons.io.tables import chosen_rows
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.report.runner import AuditResult, audit
from rightreasons.training.finetune import FineTuned, fine_tune

HERE = Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Run:
    """One data set and how it is trained on."""

    dataset: str
    epochs: float
    learning_rate: float
    held_out: int = 0  # training items that serve as validation split, where the data set has none


RUNS = (
    Run("sst2", epochs=2, learning_rate=5e-5),
    Run("trec", epochs=4, learning_rate=1e-4, held_out=500),
)
FIGURES = (
    "accuracy",
    "macro_f1",
    "mean_confidence",
    "confidence_gap",
    "ece",
    "ece_debiased",
    "adaptive_ece",
    "smooth_ece",
    "classwise_ece",
    "macro_ce",
    "brier",
    "nll",
    "aurc",
    "auroc",
)
SCALED = [key for key in FIGURES if key not in ("accuracy", "macro_f1", "aurc", "auroc")]
PICTURES = ("reliability",)


def splits_of(run: Run, data_dir: str | None) -> datasets.DatasetDict:
    """Load a data set; what is held out of its training split is chosen by the ids alone."""
    data = load_dataset(run.dataset, data_dir=data_dir, known_issues=False)
    if not run.held_out:
        return data
    train = data["train"]
    held = set(chosen_rows(train["id"][:], run.held_out).tolist())
    kept = [row for row in range(len(train)) if row not in held]
    return datasets.DatasetDict(
        {**data, "train": train.select(kept), "validation": train.select(sorted(held))}
    )


def train_and_audit(
    run: Run, data_dir: str | None, work: Path, seed: int
) -> tuple[datasets.DatasetDict, FineTuned, AuditResult]:
    data = splits_of(run, data_dir)
    trained = fine_tune(
        demo_encoder(),
        data["train"],
        validation=data["validation"],
        out=work / f"{run.dataset}-{seed}",
        epochs=run.epochs,
        learning_rate=run.learning_rate,
        max_length=128,
        seed=seed,
    )
    result = audit(
        trained.folder,
        data,
        name=run.dataset,
        out=work / f"report-{run.dataset}-{seed}",
        questions=["calibration"],
        split="test",
        seed=seed,
        command="python experiments/calibration/run.py --data-dir DATA",
    )
    return data, trained, result


def record(
    run: Run, data: datasets.DatasetDict, trained: FineTuned, result: AuditResult
) -> dict[str, Any]:
    """Return all that RESULTS.md says of one data set."""
    answer, (fit, scaled) = result["calibration"].result, at_temperature(data, trained, result)
    split = result.audit["dataset"]["splits"][0]
    return {
        "n_train": trained.n_train,
        "epochs": run.epochs,
        "learning_rate": run.learning_rate,
        "split": split["name"],
        "n_items": split["n_items"],
        "verdict": answer.verdict.to_dict(),
        "temperature": fit.to_dict(),
        "figures": {key: answer.data["figures"][key] for key in FIGURES},
        "figures_at_temperature": {
            key: {"estimate": estimate.to_dict()} for key, estimate in scaled.items()
        },
    }


def at_temperature(
    data: datasets.DatasetDict, trained: FineTuned, result: AuditResult
) -> tuple[Temperature, dict[str, Estimate]]:
    """Fit a temperature on the validation split, and measure the audited one at it."""
    scores = predict(load_classifier(trained.folder), data["validation"]["text"])
    fit = fit_temperature(scores.logits, data["validation"]["label"])
    test = read_predictions(result.out / "predictions" / "test.parquet")
    items = JudgedItems.of(np.asarray(test.logits) / fit.temperature, test.labels)
    return fit, measure_figures(items, SCALED)


def table(sets: dict[str, dict[str, Any]]) -> str:
    """Write the figures of all data sets, before and after the temperature, as a markdown table."""

    def cell(figure: dict[str, Any] | None) -> str:
        if figure is None or figure["estimate"]["value"] is None:
            return ""
        estimate = figure["estimate"]
        return f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"

    heads = ["figure", *(f"{name}{part}" for name in sets for part in ("", ", at its temperature"))]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for key in FIGURES:
        cells = [
            cell(set_figures[part].get(key))
            for set_figures in sets.values()
            for part in ("figures", "figures_at_temperature")
        ]
        name = next(iter(sets.values()))["figures"][key]["name"]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def paragraph(name: str, figures: dict[str, Any]) -> str:
    verdict, temperature = figures["verdict"], figures["temperature"]
    return (
        f"**{name}**: trained on {figures['n_train']:,} items for {figures['epochs']:g} epochs at learning rate "
        f"{figures['learning_rate']:g}; audited on all {figures['n_items']:,} items of “{figures['split']}”. "
        f"{verdict['label']}. {verdict['summary']} Temperature {temperature['temperature']:.3f}, fitted on "
        f"{temperature['n_items']:,} validation items."
    )


def write_report(results: dict[str, Any]) -> None:
    """Write RESULTS.md."""
    sets = results["sets"]
    pictures = [
        " ".join(
            f"![{name}: {picture.replace('_', ' ')}](figures/{name}_{picture}.png)"
            for picture in PICTURES
        )
        for name in sets
    ]
    versions = ", ".join(
        f"{package} {version}" for package, version in results["environment"].items()
    )
    text = "\n\n".join(
        [
            "# Results",
            "Written by `run.py`; README.md says how to read it. In brackets: 95 % intervals over the items.",
            table(sets),
            *(paragraph(name, figures) for name, figures in sets.items()),
            "\n".join(pictures),
            f"Seed {results['seed']}. {versions}.",
        ]
    )
    (HERE / "RESULTS.md").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data-dir", help="a folder with sst2/ and trec/; else RIGHTREASONS_DATA_DIR or the hub"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("runs/calibration"), help="models and reports"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--report", action="store_true", help="write RESULTS.md again, from results.json"
    )
    given = parser.parse_args()
    file = HERE / "results.json"
    if not given.report:
        began = time.perf_counter()
        audited = [
            (run, *train_and_audit(run, given.data_dir, given.work, given.seed)) for run in RUNS
        ]
        (HERE / "figures").mkdir(exist_ok=True)
        for run, *_, result in audited:
            for name in PICTURES:
                target = HERE / "figures" / f"{run.dataset}_{name}.png"
                shutil.copyfile(result.out / "figures" / f"{name}.png", target)
        results = {
            "seed": given.seed,
            "environment": audited[0][-1].audit["environment"],
            "sets": {run.dataset: record(run, *parts) for run, *parts in audited},
        }
        file.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(f"{file}, after {(time.perf_counter() - began) / 60:.1f} minutes")
    write_report(json.loads(file.read_text("utf-8")))


if __name__ == "__main__":
    main()
