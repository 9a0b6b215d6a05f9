"""CheckList's three released suites as data sets, with their known issues corrected."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.datasets.builder import Builder, Config
from rightreasons.datasets.issues.table import Issue, select_issues
from rightreasons.datasets.suites.pickled_suites import (
    PickledTest,
    Texts,
    parse_replacements,
    read_pickled_suite,
)
from rightreasons.datasets.suites.suite import Case, Functionality, Suite, make_example_features

Row = dict[str, Any]

EXPECTATIONS: Mapping[str, Row] = json.loads(
    Path(__file__).with_name("checklist.json").read_text("utf-8")
)
"""Name of a released test -> its expectation, for tests that are neither labeled nor plainly invariant.

A synonym of a question is released as an invariance of one example: a question and itself reworded.
"""

SPLITS = {
    "test": None,
    "paper_train": "train",
    "paper_validation": "validation",
    "paper_test": "test",
}
"""Split of the data set -> part of BeLUGA's split; "test" is the whole suite."""


@dataclasses.dataclass
class SuiteConfig(Config):
    """A suite with known issues corrected, with two labels corrected as in BeLUGA, or as released.

    Attributes:
        paper_labels: Whether the two corrections of BeLUGA are made; None to decide by `known_issues`.
    """

    paper_labels: bool | None = None


class CheckList(Builder):
    """The common part of the three suites."""

    BUILDER_CONFIG_CLASS = SuiteConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [SuiteConfig(name="default")]

    TEXT_COLUMNS: ClassVar[tuple[str, ...]]
    LABEL_NAMES: ClassVar[tuple[str, ...] | None] = None

    _cache: tuple[Path, Suite] | None = None

    def features(self) -> datasets.Features:
        return make_example_features(self.TEXT_COLUMNS, self.LABEL_NAMES)

    def splits(self) -> Mapping[str, Sequence[str]]:
        return dict.fromkeys(SPLITS, (self.SOURCES[0].path,))

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield one row per example of a split, which is the whole suite or a part of BeLUGA's split.

        Args:
            split: "test" for the whole suite; "paper_train", "paper_validation" or "paper_test" for a part.
            files: Path of the source -> the released file.
        """
        (file,) = files.values()
        suite = self._read(file)
        # All splits are read from one file, so that its corrections are counted once.
        self.issue_counts["suite"] = suite.changes
        part = SPLITS[split]
        if part is not None:
            suite = suite.split(part)
        yield from suite.examples()

    def suite(self) -> Suite:
        """Return the whole suite with its expectations, from local files or the publisher's."""
        return self._read(self.release())

    def release(self) -> Path:
        """Return the path of the released file, from a local folder or downloaded."""
        if not self.files:
            config = datasets.DownloadConfig(cache_dir=self._cache_downloaded_dir, use_etag=False)
            dl_manager = datasets.DownloadManager(dataset_name=self.NAME, download_config=config)
            # This downloads and verifies the files of the data set, and sets `self.files`.
            self._split_generators(dl_manager)
        return Path(self.files[self.SOURCES[0].path])

    def _read(self, path: Path) -> Suite:
        """Read the released suite with its known issues corrected, or return it if it was read before.

        Args:
            path: The released file, which contains all splits.
        """
        # Reading the file takes seconds, and every split needs it.
        if self._cache is not None:
            cached_path, cached_suite = self._cache
            if cached_path == path:
                return cached_suite
        suite = read_pickled_suite(
            path,
            make_functionality=make_released,
            name=self.NAME,
            text_columns=self.TEXT_COLUMNS,
            label_names=self.LABEL_NAMES,
        )
        issues = self._select_suite_issues()
        corrected = suite.correct(issues, is_published=self.is_published)
        self._cache = path, corrected
        return corrected

    def _select_suite_issues(self) -> list[Issue]:
        """Return the known issues to correct, according to the options `known_issues` and `paper_labels`.

        The entries with a `paper` are the corrections that BeLUGA made. `paper_labels` turns them on or
        off; if it is None, they are treated like all others.
        """
        paper_labels = self.config.paper_labels
        if paper_labels is None:
            return list(self.issues)
        issues = [issue for issue in self.issues if not issue.paper]
        if paper_labels:
            # Add them from the table of the package: `self.issues` is empty if known issues are turned off.
            for issue in select_issues(True, self.ISSUE_TABLE):
                if issue.paper:
                    issues.append(issue)
        return issues


class CheckListSentiment(CheckList):
    """Sentiment: 38 functionalities over tweets about airlines; negative, neutral, positive."""

    NAME = "checklist_sentiment"
    TEXT_COLUMNS = ("text",)
    LABEL_NAMES = ("negative", "neutral", "positive")


class CheckListParaphrase(CheckList):
    """Paraphrase detection: 53 functionalities over Quora questions; duplicate or not."""

    NAME = "checklist_paraphrase"
    TEXT_COLUMNS = ("text", "text_pair")
    LABEL_NAMES = ("not_duplicate", "duplicate")


class CheckListReading(CheckList):
    """Reading comprehension: 24 functionalities over SQuAD; the expected answer is a text."""

    NAME = "checklist_reading"
    TEXT_COLUMNS = ("context", "question")


def make_released(test: PickledTest, texts: Texts) -> Functionality:
    """Convert a test of a released suite to a functionality.

    Args:
        test: The test, from the pickle. Its name and type determine the expectation.
        texts: Number of a case -> the texts of its examples.
    """
    labels_by_case = test.read_labels(texts)
    # In an invariance test, `meta` has a pair of words (old, new) for each example in which the word
    # `old` of the original is replaced.
    meta = None
    if test.kind == "INV":
        meta = test.get("meta")
    cases = []
    for row, examples in texts.items():
        replacements = None
        if meta:
            replacements = parse_replacements(meta[row], len(examples))
        cases.append(
            Case(
                id=str(row),
                examples=examples,
                labels=labels_by_case.get(row),
                meta=replacements,
            )
        )
    return Functionality(
        name=test.name,
        functionality_class=test.capability,
        test_type=test.kind,
        expectation=_get_released_expectation(test.name, test.kind, cases),
        cases=tuple(cases),
    )


def _get_released_expectation(name: str, test_type: str, cases: Sequence[Case]) -> Row:
    """Return the expectation of a released test.

    Args:
        name: Name of the test, by which the expectation of most tests without labels is found.
        test_type: "MFT", "INV" or "DIR".
        cases: Cases of the test. The labels of the first case show whether the test has labels.

    Returns:
        The name of an expectation with its parameters, such as {"name": "invariant", "tolerance": 0.1}.
    """
    labels: tuple[Any, ...] = ()
    if cases:
        labels = cases[0].labels or ()
    has_labels = any(label is not None for label in labels)
    has_text_labels = any(isinstance(label, str) for label in labels)
    if test_type == "MFT" and has_text_labels:
        # As in CheckList, answers are compared without a leading article.
        return {"name": "equal", "clean": "article"}
    if test_type == "MFT" and has_labels:
        return {"name": "equal"}
    if name in EXPECTATIONS:
        return dict(EXPECTATIONS[name])
    if test_type == "INV":
        return {"name": "invariant", "tolerance": 0.1}
    return {"name": "unknown", "why": "not released"}
