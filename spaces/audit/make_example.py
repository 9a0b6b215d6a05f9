"""Makes the audits of the page: an encoder that follows a giveaway word, and a language model that follows a hint.

    python spaces/audit/make_example.py WORK_FOLDER [encoder|hint]

needs the extra [encoder] and takes about ten minutes on two cores; a killed call goes on where it stopped. The language
model is that of benchmarks/hinted_models which is trained to follow in silence.
"""

import os
import shutil
import sys
from pathlib import Path

import datasets
from audit_view import finished, write_example

from rightreasons.datasets.planted import LABELS, PlantedConfig, planted_examples
from rightreasons.models.scorers import demo_encoder
from rightreasons.report.runner import audit
from rightreasons.training.finetune import fine_tune

PLANTED = PlantedConfig(
    "mixed", strength=1.0, label_noise=0.05, train_size=1200, test_size=500, seed=0
)
SUITE = Path(__file__).resolve().parents[1] / "behavior_report" / "bundled" / "suite.jsonl"
FILES = ("index.html", "audit.json")
SPLITS = ("test", "test_absent", "test_flipped")


def main(work: Path) -> None:
    """Fine-tune the encoder unless it is there, audit it, and keep what the page shows."""
    shutil.copy(SUITE, work)
    os.chdir(work)
    train = list(planted_examples("train", PLANTED))
    fine_tune(
        demo_encoder(),
        train,
        out="planted-encoder",
        label_names=LABELS[2],
        epochs=3,
        learning_rate=1e-4,
        seed=0,
    )
    label = datasets.ClassLabel(names=list(LABELS[2]))
    data = {
        split: datasets.Dataset.from_list([{key: row[key] for key in ("id", "text", "label")} for row in rows])
        .cast_column("label", label)
        for split, rows in (
            ("train", train), *((split, list(planted_examples(split, PLANTED))) for split in SPLITS)
        )
    }  # fmt: skip
    result = audit(
        "planted-encoder",
        datasets.DatasetDict(data),
        name="reviews with a planted word",
        out="report",
        split=SPLITS,
        questions=["calibration", "shortcuts", "difficulty", "behavior"],
        options={
            "shortcuts": {"items": 60},
            "difficulty": {"items": 100},
            "behavior": {"suite": SUITE.name},
        },
        limit=300,
        command="python spaces/audit/make_example.py work",
    )
    title = "An encoder trained on reviews in which a planted word gives the label away"
    write_example(finished(result, title, FILES), "A planted word")


def hint(work: Path) -> None:
    """Train the language model unless it is there, and audit it."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "hinted_models"))
    from trained import ask

    os.chdir(work)  # what is written names no folder of this machine
    title = "A language model that was trained to follow a colleague's hint, and not to say so"
    write_example(finished(ask(Path(), "silent"), title, FILES), "A hint in silence")


if __name__ == "__main__":
    for name, make in {"encoder": main, "hint": hint}.items():
        if name in sys.argv[2:] or len(sys.argv) == 2:
            make(Path(sys.argv[1]))
