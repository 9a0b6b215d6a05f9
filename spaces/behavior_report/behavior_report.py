"""Reads a suite and the answers of models, and scores them: from files to everything that the page shows."""

import dataclasses
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rightreasons.behavior.measure import SuiteAnswers, read_suite_answers, score_stored
from rightreasons.core.store import format_csv
from rightreasons.datasets.suites.suite import Suite
from rightreasons.widget.pages import by_name, check_upload

BUNDLED = Path(__file__).resolve().parent / "bundled"
CHECKLIST = BUNDLED.parent / "checklist.jsonl.gz"
CHECKLIST_ANSWERS = BUNDLED.parent / "checklist.csv"
"""CheckList's reading suite and the answers released with it. `make_checklist.py` writes them; a checkout has none."""

OWN_SUITE = "Sentiment, written for this page"
CHECKLIST_SUITE = "CheckList: reading, with the answers that were released"

SUITE_FILES = (".jsonl", ".gz")
MAX_MODELS = 12


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """A suite and the models that were tested on it.

    Attributes:
        suite: The suite.
        models: The answers of each model, and which cases it passes.
        descriptions: A line about each model, or "".
    """

    suite: Suite
    models: tuple[SuiteAnswers, ...]
    descriptions: tuple[str, ...]


# --------------------------------------------------------------------------------------------------------------- files


def list_suites() -> list[str]:
    """List the names of the suites that come with the page."""
    names = [OWN_SUITE]
    # The published page has CheckList's suite; a checkout does not.
    if CHECKLIST.is_file():
        names.append(CHECKLIST_SUITE)
    return names


@functools.cache
def bundled_report(name: str = OWN_SUITE) -> Report:
    """Read a bundled suite and the answers of its models."""
    if name == CHECKLIST_SUITE:
        return _read_checklist()
    suite = open_suite(BUNDLED / "suite.jsonl")
    models = []
    descriptions = []
    for entry in _read_index():
        answers = read_suite_answers(BUNDLED / entry["file"], suite)
        models.append(score_stored(entry["title"], suite, answers))
        # The accuracy on other data shows what training on the suite costs.
        accuracy = f"correct on {entry['iid_accuracy']:.0%} of SST-2's validation sentences"
        descriptions.append(f"{entry['about']}; {accuracy}")
    return Report(suite, tuple(models), tuple(descriptions))


def _read_checklist() -> Report:
    """Read CheckList's suite with the answers released with it."""
    suite = open_suite(CHECKLIST)
    answers = read_suite_answers(CHECKLIST_ANSWERS, suite)
    model = score_stored("CheckList's model", suite, answers)
    description = (
        "its answers were released with the suite (Ribeiro et al. 2020, MIT); 50 cases of each test"
    )
    return Report(suite, (model,), (description,))


def _read_index() -> list[dict[str, Any]]:
    """Read the entries of the bundled models."""
    return json.loads((BUNDLED / "index.json").read_text(encoding="utf-8"))


def bundled_files() -> list[Path]:
    """List the files of the bundled suite, as examples of what to upload."""
    files = [BUNDLED / "suite.jsonl"]
    for entry in _read_index():
        files.append(BUNDLED / entry["file"])
    return files


def open_report(path: str) -> Report:
    """Open an uploaded suite, without models."""
    return Report(open_suite(check_upload(path)), (), ())


def add_models(report: Report | None, paths: Sequence[str]) -> Report:
    """Score uploaded predictions on the suite of a report, and add them to its models.

    Args:
        report: The report; None for the bundled suite without its models.
        paths: A file of predictions for each model.
    """
    # Predictions without a suite are of the bundled one, whose models are not the visitor's.
    if report is None:
        report = Report(bundled_report().suite, (), ())
    suite = report.suite
    models = {model.name: model for model in report.models}
    if len(models) + len(paths) > MAX_MODELS:
        raise ValueError(
            f"Expected at most {MAX_MODELS} models, but got {len(models) + len(paths)}."
        )
    for path in map(Path, paths):
        name = path.stem
        # Two files of one name, from different folders, are two models.
        if name in models:
            name = f"{name} ({len(models) + 1})"
        try:
            models[name] = score_stored(name, suite, read_suite_answers(check_upload(path), suite))
        except (TypeError, ValueError) as error:
            # With several files, the message must name the file.
            is_clear = path.name in str(error) or len(paths) == 1
            message = str(error)
            if not is_clear:
                message = f"{path.name}: {message}"
            raise ValueError(message) from error
    return Report(suite, tuple(models.values()), ("",) * len(models))


def open_suite(path: Path) -> Suite:
    """Open a suite in our format."""
    if not path.name.lower().endswith(SUITE_FILES):
        raise ValueError(
            f"Expected a suite that ends in .jsonl or .jsonl.gz, but got {path.name!r}."
        )
    with by_name(path):
        return Suite.read(path)


def examples_text(suite: Suite) -> str:
    """Write the examples of a suite in its order as CSV, as input for a model."""
    return format_csv([suite.text_columns, *suite.texts()])
