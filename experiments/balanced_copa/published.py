"""Print every published number of Balanced COPA that can be had from released files, beside what comes out of them.

    python experiments/balanced_copa/published.py --data-dir DATA

DATA holds the folders balanced_copa/ (balacopa-dev-all.xml or balanced_copa.tar.bz2, easy_hard_subsets.json,
predictions.tar.bz2) and copa/ (copa-test.xml, results/). Nothing is trained. Exit status 1 if a number is not the
published one.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from pathlib import Path, PurePosixPath

import datasets
import numpy as np

from rightreasons.cues.classifier import cue_transfer
from rightreasons.cues.easy_hard import EasyHardGap, easy_hard_gap
from rightreasons.cues.statistics import cue_statistics
from rightreasons.datasets.builder import DATA_DIR_VARIABLE, load_dataset
from rightreasons.datasets.sources import Source, read_members

PREDICTIONS = Source(
    "predictions.tar.bz2",
    "https://raw.githubusercontent.com/Balanced-COPA/Balanced-COPA.github.io/6e031959/downloads/predictions.tar.bz2",
    2273,
    "3386956d3ffd4c5210f44bd9161739d60a5805a9e630766f4bc0df2949584c92",
    "MIT",
    "Kavumba et al. (2019)",
)
TABLE_2 = {
    "in": (47, 55.3, 9.40),
    "was": (55, 61.8, 11.0),
    "to": (82, 40.2, 16.4),
    "the": (85, 38.8, 17.0),
    "a": (106, 57.5, 21.2),
}
TABLE_7 = {
    "woman": (4, 0.25),
    "mother": (4, 0.75),
    "went": (22, 0.73),
    "down": (14, 0.71),
    "into": (15, 0.40),
}
TABLE_4 = {
    "BERT": ((76.5, 2.7), (83.9, 4.4), (71.9, 2.5)),
    "RoBERTa": ((87.7, 0.9), (91.6, 1.1), (85.3, 2.0)),
}


class Report:
    """Prints lines, and remembers whether a number was another than the published one."""

    def __init__(self) -> None:
        self.wrong = 0

    def line(self, what: str, found: object, published: object) -> None:
        """Print one number beside the published one."""
        agrees = found == published
        self.wrong += not agrees
        print(
            f"  {what:<44} {found!s:<34} published {published!s:<34} {'same' if agrees else 'DIFFERENT'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get(DATA_DIR_VARIABLE))
    folder = parser.parse_args().data_dir
    if folder is None:
        parser.exit(2, f"Expected --data-dir, or {DATA_DIR_VARIABLE} to be set.\n")
    datasets.disable_progress_bars()
    report = Report()
    original = load_dataset("balanced_copa", "original", split="train", data_dir=folder)
    balanced = load_dataset(
        "balanced_copa", "balanced", split="train", data_dir=folder, known_issues=False
    )
    test = load_dataset("copa_easy_hard", "all", split="test", data_dir=folder)

    print("Data")
    report.line("items of COPA's development set", original.num_rows, 500)
    report.line("items of Balanced COPA", balanced.num_rows, 1000)
    report.line(
        "answer of item 1", original[0][f"choice{original[0]['label'] + 1}"], "The sun was rising."
    )
    report.line(
        "Easy and Hard test items",
        (sum(test["easy"]), test.num_rows - sum(test["easy"])),
        (190, 310),
    )

    print("\nTable 2: applicability, productivity %, coverage %")
    table = cue_statistics(_choices(original), original["label"][:])
    for cue, published in TABLE_2.items():
        row = table.find(cue)
        found = (row.applicability, round(100 * row.productivity, 1), round(100 * row.coverage, 2))
        report.line(repr(cue), found, published)
    print(
        f"  ({table.n_significant} of {table.n_cues:,} words differ from chance after Holm's correction)"
    )

    print("\nTable 7: applicability and productivity")
    for cue, published in TABLE_7.items():
        row = table.find(cue)
        report.line(repr(cue), (row.applicability, round(row.productivity, 2)), published)

    print("\nBalanced COPA: productivity of every cue")
    features = ("unigram", "bigram", "trigram", "length", "negation")
    after = cue_statistics(_choices(balanced), balanced["label"][:], features=features)
    report.line(f"all {after.n_cues:,} cues", {row.productivity for row in after.cues}, {0.5})

    print(
        "\nTable 4 from the released predictions: overall, Easy, Hard (mean and population std of three seeds, %)"
    )
    for model, published in TABLE_4.items():
        predictions, references = _released(folder, model)
        gap = easy_hard_gap(predictions, references, test["easy"][:], n_permutations=1_000_000)
        report.line(f"{model}-large-FT", _percent(gap), published)
        pooled = easy_hard_gap(
            predictions, references, test["easy"][:], unit="prediction", n_permutations=1_000_000
        )
        report.line("  p in %, each prediction by itself", round(100 * pooled.p_value, 1), 0.0)
        print(
            f"    with the seeds of an item kept together: p = {100 * gap.p_value:.2f} %, gap {_gap(gap)}"
        )

    print("\nBaselines, with what is not to be had from the files beside it")
    gold = _key(folder, "gold")
    for name, published in (("PMIgutenbergW5", 58.8), ("baselineFirst", 50.0)):
        gap = easy_hard_gap(_key(folder, name), gold, test["easy"][:])
        report.line(name, round(100 * gap.accuracy, 1), published)
    credit = cue_transfer(
        _choices(original), original["label"][:], _choices(test), test["label"][:]
    )
    easy = np.array(test["easy"])
    found = tuple(
        round(100 * float(part.mean()), 1) for part in (credit, credit[easy], credit[~easy])
    )
    print(
        f"  cues alone (naive Bayes on words), ours       {found}; the paper's word frequency: (53.5, 57.4, 51.3)"
    )
    sys.exit(report.wrong > 0)


def _choices(data: datasets.Dataset) -> list[list[str]]:
    return [list(pair) for pair in zip(data["choice1"], data["choice2"], strict=True)]


def _released(folder: Path, model: str) -> tuple[list[list[int]], list[int]]:
    archive = Path(folder) / "balanced_copa" / PREDICTIONS.path
    PREDICTIONS.verify(archive)
    wanted = f"{model}_Original_COPA_DEV_predictions_test.csv"
    (content,) = (
        body for name, body in read_members(archive) if PurePosixPath(name).name == wanted
    )
    rows = sorted(
        csv.DictReader(io.StringIO(content.decode())),
        key=lambda row: int(row["QuestionNumber"][1:]),
    )
    predictions = [[int(row[f"SystemOutput_Seed{seed}"]) - 1 for seed in range(3)] for row in rows]
    return predictions, [int(row["CorrectAnswer"]) - 1 for row in rows]


def _key(folder: Path, name: str) -> list[int]:
    lines = (Path(folder) / "copa" / "results" / f"{name}.test").read_text("utf-8").splitlines()
    return [int(second) for _, _, second in sorted(line.split() for line in lines)]


def _percent(gap: EasyHardGap) -> tuple[tuple[float, float], ...]:
    return tuple(
        (round(100 * getattr(gap, name), 1), round(100 * getattr(gap, f"{name}_std"), 1))
        for name in ("accuracy", "easy_accuracy", "hard_accuracy")
    )


def _gap(gap: EasyHardGap) -> str:
    return f"{100 * gap.easy_hard_gap:.1f} [{100 * gap.interval.low:.1f}, {100 * gap.interval.high:.1f}]"


if __name__ == "__main__":
    main()
