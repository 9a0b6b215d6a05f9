"""A suite, what models answered to it, and what they pass: from files to everything that the page shows."""

import csv
import dataclasses
import functools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rightreasons.analysis.behavior import BehavioralPassRate, asks_for_neutral, pass_rates
from rightreasons.analysis.expectations import PAIRWISE, Answers, evaluate_cases, neutral_probabilities
from rightreasons.data.predictions import ModelAnswers, read_answers
from rightreasons.data.suite_cases import Functionality
from rightreasons.data.suites import Suite, read_hatecheck
from rightreasons.records import SuiteTable
from rightreasons.validation import SCORE_KINDS, check_scores

BUNDLED = Path(__file__).resolve().parent / "bundled"
SUITE_FILES = (".jsonl", ".gz", ".parquet", ".csv")
MAX_MODELS = 12
SENTIMENTS = ("negative", "neutral", "positive")


@dataclasses.dataclass(frozen=True, eq=False)
class Tested:
    """What one model answered, and what it passes.

    Attributes:
        name: What the model is called.
        about: A line about it.
        answers: n answers, class numbers or texts.
        probabilities: (n, K) probabilities; None where there are answers alone.
        class_names: K names; None where nothing tells them.
        result: Its pass rates.
    """

    name: str
    about: str
    answers: np.ndarray | list[str]
    probabilities: np.ndarray | None
    class_names: tuple[str, ...] | None
    result: BehavioralPassRate

    def called(self, answer: object) -> str:
        """Name an answer: the class, or the text itself."""
        if isinstance(answer, str):
            return f"“{answer}”"
        number = int(answer)  # type: ignore[call-overload]
        known = self.class_names is not None and 0 <= number < len(self.class_names)
        return self.class_names[number] if known else f"class {number}"


@dataclasses.dataclass(frozen=True, eq=False)
class Opened:
    """A suite that was opened.

    Attributes:
        suite: The suite.
        table: The suite without its texts.
        examples_file: A CSV with the examples in the suite's order, for whoever wants to ask a model.
    """

    suite: Suite
    table: SuiteTable
    examples_file: str


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """A suite and the models that were tested on it.

    Attributes:
        opened: The suite.
        models: The models.
    """

    opened: Opened
    models: tuple[Tested, ...]

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self.opened.suite

    @property
    def table(self) -> SuiteTable:
        """The suite without its texts."""
        return self.opened.table


@dataclasses.dataclass(frozen=True)
class Example:
    """One example of a case.

    Attributes:
        texts: Its texts.
        number: Its place in the suite.
        held: True, False, or None where nothing was asked of it.
    """

    texts: tuple[str, ...]
    number: int
    held: bool | None


@dataclasses.dataclass(frozen=True)
class JudgedCase:
    """One case.

    Attributes:
        id: Its id in the functionality.
        passed: True, False, or None where the expectation does not apply.
        examples: Its examples.
    """

    id: str
    passed: bool | None
    examples: tuple[Example, ...]


# --------------------------------------------------------------------------------------------------------------- files


@functools.cache
def bundled_report() -> Report:
    """Read the bundled suite and what the bundled models answered."""
    index = json.loads((BUNDLED / "index.json").read_text(encoding="utf-8"))
    opened = open_suite(BUNDLED / "suite.jsonl")
    models = []
    for entry in index:
        about = f"{entry['about']}; right on {entry['iid_accuracy']:.0%} of SST-2's validation sentences"
        models.append(judge(entry["title"], read_answers(BUNDLED / entry["file"]), opened.table, about=about))
    return Report(opened, tuple(models))


def open_report(suite_file: str | None, prediction_files: Sequence[str]) -> Report:
    """Open an upload: a suite (None: the bundled one) and one file of predictions a model."""
    if suite_file is None and not prediction_files:
        return bundled_report()
    opened = bundled_report().opened if suite_file is None else open_suite(Path(suite_file))
    if len(prediction_files) > MAX_MODELS:
        raise ValueError(f"Expected at most {MAX_MODELS} files of predictions, but got {len(prediction_files)}.")
    models: dict[str, Tested] = {}
    for path in map(Path, prediction_files):
        name = path.stem
        if name in models:
            name = f"{name} ({len(models) + 1})"
        try:
            models[name] = judge(name, read_answers(path), opened.table)
        except (TypeError, ValueError) as error:
            # With several files, the reader has to know which one it is.
            where = "" if path.name in str(error) or len(prediction_files) == 1 else f"{path.name}: "
            raise ValueError(f"{where}{error}") from error
    return Report(opened, tuple(models.values()))


@functools.lru_cache(maxsize=4)
def open_suite(path: Path) -> Opened:
    """Open a suite in our format, or a CSV in the form of HateCheck; kept, as its predictions come after it.

    An upload lies in a folder that is named after what it holds, so that a path stands for one content.
    """
    if not path.name.lower().endswith(SUITE_FILES):
        raise ValueError(f"Expected a suite that ends in .jsonl, .jsonl.gz, .parquet or .csv, but got {path.name!r}.")
    try:
        suite = read_hatecheck(path, name=path.stem) if path.suffix.lower() == ".csv" else Suite.read(path)
    except (TypeError, ValueError) as error:
        # The reader of the page knows the file by its name, not by where the server keeps it.
        raise ValueError(str(error).replace(str(path), path.name)) from error
    return Opened(suite, suite.table(), _write_examples(suite))


def judge(name: str, given: ModelAnswers, table: SuiteTable, *, about: str = "") -> Tested:
    """Score what a model answered; a model of two sentiments is asked a suite of three as BeLUGA does."""
    names = given.label_names
    if len(given) != len(table):
        raise ValueError(
            f"Expected one prediction for each of the {len(table):,} examples of the suite, in its order, but got "
            f"{len(given):,}."
        )
    if given.scores is None:
        texts = isinstance(given.answers, list)
        result = pass_rates(given.answers, table, outputs="texts" if texts else "labels")
        return Tested(name, about, given.answers, None, names, result)
    probabilities = _probabilities(given)
    if probabilities.shape[1] == 2 and asks_for_neutral(table):
        probabilities = neutral_probabilities(probabilities[:, 1])
        names = SENTIMENTS
    highest = max((label for label in table.labels if isinstance(label, int)), default=0)
    if highest >= probabilities.shape[1]:
        raise ValueError(
            f"Expected scores for every label of the suite, 0 to {highest}, but each row has {probabilities.shape[1]}."
        )
    result = pass_rates(probabilities, table)
    return Tested(name, about, probabilities.argmax(axis=1), probabilities, names, result)


def judged_cases(report: Report, model: Tested, number: int) -> list[JudgedCase]:
    """Hold the answers of a model to one functionality against what it expects, case by case."""
    table, functionality = report.table, report.suite.functionalities[number]
    cases = np.flatnonzero(table.case_functionality == number)
    offsets = table.case_offsets[cases[0] : cases[-1] + 2]
    here = slice(int(offsets[0]), int(offsets[-1]))
    held, passed = evaluate_cases(
        functionality.expectation,
        Answers(
            predictions=model.answers[here],
            offsets=offsets - offsets[0],
            probabilities=None if model.probabilities is None else model.probabilities[here],
            labels=table.labels[here],
            meta=None if table.meta is None else table.meta[here],
        ),
    )
    judged = []
    for case, begin, verdict in zip(functionality.cases, offsets[:-1].tolist(), passed.tolist(), strict=True):
        examples = []
        for place, texts in enumerate(case.examples):
            asked = place > 0 or not compares(functionality)
            value = held[begin - here.start + place] if asked else np.nan
            examples.append(Example(texts, begin + place, _verdict(value)))
        judged.append(JudgedCase(case.id, _verdict(verdict), tuple(examples)))
    return judged


def compares(functionality: Functionality) -> bool:
    """Tell whether the first example of a case is the original that the others are compared with."""
    expectation = functionality.expectation
    return bool(expectation.get("skip_first", expectation["name"] in PAIRWISE))


# ------------------------------------------------------------------------------------------------------------- private


def _write_examples(suite: Suite) -> str:
    path = Path(tempfile.mkdtemp(prefix="behavior-report-")) / "examples.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(suite.text_columns)
        writer.writerows(texts for f in suite.functionalities for case in f.cases for texts in case.examples)
    return str(path)


def _probabilities(given: ModelAnswers) -> np.ndarray:
    scores = np.asarray(given.scores, dtype=np.float64)
    if given.kind is None and np.isfinite(scores).all() and (scores.min() < 0 or scores.max() > 1):
        raise ValueError(
            f"Expected probabilities between 0 and 1, but got {float(scores.min()):.4g} to {float(scores.max()):.4g}; "
            "raw outputs of a model stand in columns that are called logits, or begin with logit_."
        )
    return check_scores(scores, scores=given.kind or SCORE_KINDS[0], name="the predictions")


def _verdict(value: float) -> bool | None:
    return None if np.isnan(value) else bool(value)
