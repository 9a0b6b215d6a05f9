"""A whole audit by two processes of one launch: the bytes of one process. `make -C benchmarks engines` runs it."""

import json
import os
import re
import subprocess
import sys

import pytest

from launching import launch_two

pytestmark = pytest.mark.skipif("ENGINES" not in os.environ, reason="loads PyTorch: make -C benchmarks engines")

SCRIPT = """
import sys
from rightreasons.report import audit

model, data, out = sys.argv[1:]
audit(model, data, out=out, name="items", progress=False, n_resamples=50, command="again",
      options={"shortcuts": {"items": 12}, "difficulty": {"items": 24}}, raise_errors=True)
"""


def classification(folder):
    words = "a good film with bad plot and fine story but slow end".split()
    rows = [" ".join(words[(7 * row + step) % len(words)] for step in range(3 + row % 5)) for row in range(40)]
    lines = [json.dumps({"text": text, "label": row % 2}) for row, text in enumerate(rows)]
    path = folder / "reviews.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def choices(folder):
    words = "a good film with bad plot and fine story but slow end".split()
    path = folder / "choices.jsonl"
    rows = [
        {
            "prompt": f"Why {words[row % 12]} {words[(row + 3) % 12]}?",
            "choices": [f"{words[(row + k) % 12]} {words[(5 * row + k) % 12]}" for k in (1, 4)],
            "label": row % 3 % 2,
        }
        for row in range(24)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    return path


def report(folder):
    """All that a report holds, without when it was made."""
    made = re.compile(rb"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d[+-]\d\d:\d\d)?")
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    held = {name: made.sub(b"", path.read_bytes()) for name, path in files.items() if "/." not in f"/{name}"}
    audit = json.loads(held.pop("audit.json"))
    for key in ("created", "digest"):
        audit.pop(key, None)
    audit["files"].pop("index.html", None)  # which has the date
    return audit, held


@pytest.mark.parametrize(("model", "data"), [("classifier_folder", classification), ("choice_folder", choices)])
def test_two_processes_write_the_report_of_one(model, data, request, tmp_path):
    folder, items = request.getfixturevalue(model), data(tmp_path)
    launch_two(SCRIPT, tmp_path, folder, items, tmp_path / "two")
    subprocess.run(
        [sys.executable, tmp_path / "worker.py", str(folder), str(items), str(tmp_path / "one")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        check=True,
    )
    (one, files), (two, others) = report(tmp_path / "one"), report(tmp_path / "two")
    assert one == two
    assert {"calibration"} <= {row["question"] for row in one["questions"] if row["status"] == "answered"}
    assert sorted(files) == sorted(others)
    assert [name for name in files if files[name] != others[name]] == []
