"""Makes the audits that the page opens with: those of the runs of the reliability explorer and of the audit Space.

    python spaces/leaderboard/make_audits.py

takes a few seconds.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from rightreasons.auditing import audit

HERE = Path(__file__).resolve().parent
SPACES = HERE.parent
sys.path.insert(0, str(SPACES / "audit"))


def main() -> None:
    """Audit the stored predictions, and copy the finished audit."""
    from audit_view import example

    runs = SPACES / "reliability_explorer" / "bundled"
    os.chdir(runs)
    records = {"planted_encoder": example().record}
    for entry in json.loads((runs / "index.json").read_text("utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            result = audit(predictions=entry["file"], name=entry["title"], out=Path(folder) / "report", progress=False)
            records[Path(entry["file"]).stem] = result.audit
    for name, record in records.items():
        path = HERE / "bundled" / f"{name}.audit.json"
        path.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
