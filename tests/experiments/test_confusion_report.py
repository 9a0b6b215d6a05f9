"""The report of the confusion probes follows from its committed results, without the scores."""

import importlib.util
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).parents[2] / "experiments" / "confusion_probes"


@pytest.fixture(scope="module")
def write_report():
    spec = importlib.util.spec_from_file_location("confusion_report", FOLDER / "report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_report


def test_the_report_follows_from_results(write_report, tmp_path):
    ways = [
        SimpleNamespace(key=key, name=name)
        for key, name in re.findall(
            r'Way\("(\w+)", "([^"]+)"', (FOLDER / "run.py").read_text("utf-8")
        )
    ]
    rows = json.loads((FOLDER / "results.json").read_text("utf-8"))
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    shutil.copy(FOLDER / "results.json", tmp_path)
    write_report(tmp_path, tmp_path / "work", ways, sets)
    for name in ("RESULTS.md", "results.json"):
        assert (tmp_path / name).read_text("utf-8") == (FOLDER / name).read_text("utf-8")
    # A cell that has been scored takes the place of the stored one.
    work = tmp_path / "work" / rows[-1]["way"]
    work.mkdir(parents=True)
    new = {**rows[-1], "seconds": 1.5}
    (work / f"{rows[-1]['dataset']}.json").write_text(json.dumps(new), "utf-8")
    write_report(tmp_path, tmp_path / "work", ways, sets)
    assert json.loads((tmp_path / "results.json").read_text("utf-8")) == [*rows[:-1], new]
    with pytest.raises(ValueError, match="nothing has been scored"):
        write_report(tmp_path / "empty", tmp_path / "empty", ways, sets)
