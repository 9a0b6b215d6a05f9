"""Reads a suite and the answers of models, and scores them: from files to everything that the page shows."""

import csv
import dataclasses
import functools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rightreasons.data.opening.suite_answers import read_suite_answers
from rightreasons.data.opening.uploads import check_upload
from rightreasons.data.suites.hatecheck import read_hatecheck
from rightreasons.data.suites.suite import Suite
from rightreasons.measuring.behavior import SuiteAnswers, score_stored

BUNDLED = Path(__file__).resolve().parent / "bundled"
SUITE_FILES = (".jsonl", ".gz", ".parquet", ".csv")
MAX_MODELS = 12


@dataclasses.dataclass(frozen=True, eq=False)
class Opened:
    """A suite that was opened.

    Attributes:
        suite: The suite.
        source: The file.
        folder: A folder with `examples.csv`: the examples in the suite's order, as input for a model. It is deleted
            when nobody looks at the suite any longer.
    """

    suite: Suite
    source: Path
    folder: tempfile.TemporaryDirectory[str]

    @property
    def examples_file(self) -> str:
        """The CSV with the examples."""
        return str(Path(self.folder.name) / "examples.csv")


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """A suite and the models that were tested on it.

    Attributes:
        opened: The suite.
        models: The answers of each model, and which cases it passes.
        about: A line about each model, or "".
    """

    opened: Opened
    models: tuple[SuiteAnswers, ...]
    about: tuple[str, ...]

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self.opened.suite


# --------------------------------------------------------------------------------------------------------------- files


@functools.cache
def bundled_report() -> Report:
    """Read the bundled suite and the answers of the bundled models."""
    index = json.loads((BUNDLED / "index.json").read_text(encoding="utf-8"))
    opened = open_suite(BUNDLED / "suite.jsonl")
    models = [
        score_stored(entry["title"], opened.suite, read_suite_answers(BUNDLED / entry["file"], opened.suite))
        for entry in index
    ]
    about = [
        f"{entry['about']}; right on {entry['iid_accuracy']:.0%} of SST-2's validation sentences" for entry in index
    ]
    return Report(opened, tuple(models), tuple(about))


def open_report(suite_file: str | None, prediction_files: Sequence[str], before: Report | None = None) -> Report:
    """Open an upload: a suite (None: the bundled one) and a file of predictions for each model.

    The suite of the report `before` is kept where it is the same file, as predictions come after their suite.
    An upload lies in a folder that is named after what it holds, so that a path stands for one content.
    """
    if suite_file is None and not prediction_files:
        return bundled_report()
    if suite_file is None:
        opened = bundled_report().opened
    elif before is not None and before.opened.source == Path(suite_file):
        opened = before.opened
    else:
        opened = open_suite(check_upload(suite_file))
    if len(prediction_files) > MAX_MODELS:
        raise ValueError(f"Expected at most {MAX_MODELS} files of predictions, but got {len(prediction_files)}.")
    models: dict[str, SuiteAnswers] = {}
    for path in map(Path, prediction_files):
        name = path.stem
        if name in models:
            name = f"{name} ({len(models) + 1})"
        try:
            models[name] = score_stored(name, opened.suite, read_suite_answers(check_upload(path), opened.suite))
        except (TypeError, ValueError) as error:
            # With several files, the message must name the file.
            where = "" if path.name in str(error) or len(prediction_files) == 1 else f"{path.name}: "
            raise ValueError(f"{where}{error}") from error
    return Report(opened, tuple(models.values()), ("",) * len(models))


def open_suite(path: Path) -> Opened:
    """Open a suite in our format, or a CSV in the form of HateCheck."""
    if not path.name.lower().endswith(SUITE_FILES):
        raise ValueError(f"Expected a suite that ends in .jsonl, .jsonl.gz, .parquet or .csv, but got {path.name!r}.")
    try:
        suite = read_hatecheck(path, name=path.stem) if path.suffix.lower() == ".csv" else Suite.read(path)
    except (TypeError, ValueError) as error:
        # A visitor knows the file by its name, not by its path on the server.
        raise ValueError(str(error).replace(str(path), path.name)) from error
    return Opened(suite, path, _write_examples(suite))


# ------------------------------------------------------------------------------------------------------------- private


def _write_examples(suite: Suite) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="behavior-report-")
    with Path(folder.name, "examples.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(suite.text_columns)
        writer.writerows(suite.texts())
    return folder
