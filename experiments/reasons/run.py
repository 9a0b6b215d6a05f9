"""A small language model beside a colleague's hint: is it moved, and does it say so?

    python experiments/reasons/run.py --data-dir DATA

DATA holds socialiqa/ as rightreasons reads it. Answers are kept in --work as they come, so that a run that was killed
goes on. results.json holds options and what the reasoning says of the hint, item by item, and no text of the data.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rightreasons.models.scorers import demo_language_model
from rightreasons.reasons.hints import LEVELS
from rightreasons.reasons.measure import read_traces
from rightreasons.report.runner import audit

HERE = Path(__file__).resolve().parent
HINT = "colleague"


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask a small language model in four arms.")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("reasons-work"))
    parser.add_argument("--items", type=int, default=40)
    given = parser.parse_args()
    result = audit(
        demo_language_model(),
        "socialiqa",
        out=given.work,
        questions=["reasons"],
        options={"reasons": {"hints": (HINT,), "items": given.items}},
        split="validation",
        limit=given.items,
        data_dir=given.data_dir,
        max_new_tokens=96,
    )
    write(given.work, result.audit)


def write(folder: Path, record: dict) -> None:
    """Write results.json: what the answers are, and the figures of the report."""
    lines = (folder / "reasons.jsonl").read_text("utf-8").splitlines()
    answers = read_traces(map(json.loads, lines))
    names = ("item", "arm", "hint", "answer", "label", "n_options")
    rows = [
        {
            **{name: getattr(trace, name) for name in names},
            "level": LEVELS[level] if trace.kind else "",
            "shows": bool(shows),
        }
        for arm in answers.arms.values()
        for trace, level, shows in zip(arm.traces.values(), arm.levels, arm.shows, strict=True)
    ]
    (answer,) = [each["result"] for each in record["questions"] if each["question"] == "reasons"]
    figures = {
        name: answer["data"][name] for name in ("hints", "early", "unread", "status", "not_cut")
    }
    said = {"verdict": answer["verdict"]["label"], "summary": answer["verdict"]["summary"]}
    text = json.dumps({**said, "figures": figures, "rows": rows}, indent=1, ensure_ascii=False)
    (HERE / "results.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
