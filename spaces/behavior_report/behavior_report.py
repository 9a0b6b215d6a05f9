"""Reads a suite and the answers of models, and scores them: from files to everything that the page shows."""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.behavior.measure import SuiteAnswers, read_suite_answers, score_stored
from rightreasons.core.store import csv_text
from rightreasons.datasets.suites.suite import Suite
from rightreasons.io.columns import read_columns
from rightreasons.io.options import ScoreOptions
from rightreasons.widget.pages import by_name, check_upload

BUNDLED = Path(__file__).resolve().parent / "bundled"
SUITE_FILES = (".jsonl", ".gz")
MAX_MODELS = 12


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """A suite and the models that were tested on it.

    Attributes:
        suite: The suite.
        models: The answers of each model, and which cases it passes.
        about: A line about each model, or "".
    """

    suite: Suite
    models: tuple[SuiteAnswers, ...]
    about: tuple[str, ...]


# --------------------------------------------------------------------------------------------------------------- files


@functools.cache
def bundled_report() -> Report:
    """Read the bundled suite and the answers of the bundled models."""
    index = json.loads((BUNDLED / "index.json").read_text(encoding="utf-8"))
    suite = open_suite(BUNDLED / "suite.jsonl")
    models = [
        score_stored(entry["title"], suite, read_suite_answers(BUNDLED / entry["file"], suite)) for entry in index
    ]
    about = [
        f"{entry['about']}; right on {entry['iid_accuracy']:.0%} of SST-2's validation sentences" for entry in index
    ]
    return Report(suite, tuple(models), tuple(about))


def bundled_files() -> list[Path]:
    """List the files of the bundled suite, as examples of what to upload."""
    index = json.loads((BUNDLED / "index.json").read_text(encoding="utf-8"))
    return [BUNDLED / "suite.jsonl", *(BUNDLED / entry["file"] for entry in index)]


def open_report(path: str) -> Report:
    """Open an uploaded suite, without models."""
    return Report(open_suite(check_upload(path)), (), ())


def add_models(report: Report | None, paths: Sequence[str], picked: Mapping[str, Any] | None = None) -> Report:
    """Score uploaded predictions on the suite of a report, beside the models that it has.

    Args:
        report: The report; None for the bundled suite without its models.
        paths: A file of predictions for each model.
        picked: "answer", the column of the answers, or "scores", those of the probabilities; None where the names of
            the columns say it.
    """
    suite = bundled_report().suite if report is None else report.suite
    models = {} if report is None else {model.name: model for model in report.models}
    if len(models) + len(paths) > MAX_MODELS:
        raise ValueError(f"Expected at most {MAX_MODELS} models, but got {len(models) + len(paths)}.")
    for path in map(Path, paths):
        name = path.stem
        if name in models:
            name = f"{name} ({len(models) + 1})"
        try:
            source = (
                check_upload(path)
                if picked is None
                else _picked(read_columns(check_upload(path), ScoreOptions())[0], **picked)
            )
            models[name] = score_stored(name, suite, read_suite_answers(source, suite))
        except (TypeError, ValueError) as error:
            # With several files, the message must name the file.
            where = "" if path.name in str(error) or len(paths) == 1 else f"{path.name}: "
            raise ValueError(f"{where}{error}") from error
    return Report(suite, tuple(models.values()), ("",) * len(models))


def open_suite(path: Path) -> Suite:
    """Open a suite in our format."""
    if not path.name.lower().endswith(SUITE_FILES):
        raise ValueError(f"Expected a suite that ends in .jsonl or .jsonl.gz, but got {path.name!r}.")
    with by_name(path):
        return Suite.read(path)


def examples_text(suite: Suite) -> str:
    """Write the examples of a suite in its order as CSV, as input for a model."""
    return csv_text([suite.text_columns, *suite.texts()])


def pass_rates(predictions: str, suite: str | None = None) -> dict[str, Any]:
    """Score a file of predictions on a behavioral suite.

    Args:
        predictions: The file: a row per example in the order of the suite, or a log of lm-eval or inspect_ai.
        suite: The file of the suite; None for the bundled one.

    Returns:
        What `rightreasons.load("behavioral_pass_rate")` computes.
    """
    report = add_models(None if suite is None else open_report(suite), [predictions])
    return report.models[0].result.to_dict()


# ------------------------------------------------------------------------------------------------------------- private


def _picked(columns: Mapping[str, Any], answer: str | None = None, scores: Sequence[str] = ()) -> dict[str, Any]:
    """Return the columns that a visitor has chosen under names that are known."""
    odd = next((name for name in (answer, *scores) if name is not None and name not in columns), None)
    if odd is not None:
        raise ValueError(f"Expected a column of the file, but got {odd!r}.")
    if answer is not None:
        return {"prediction": columns[answer]}
    if not scores:
        raise ValueError("Expected the column of the answers, or those of the probabilities, but none is chosen.")
    if len(scores) == 1:
        return {"probabilities": columns[scores[0]]}
    return {f"p_{name}": columns[name] for name in scores}
