"""The released CheckList suites for sentiment, paraphrase detection and reading comprehension.

The authors released pickles, which are read without running anything.
In the release, the expectation of a test is code; here `EXPECTATIONS` names it, or else the type of the test: the label
for an MFT, an invariance for an INV.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.datasets.builder import Builder, Config, sha256_of
from rightreasons.datasets.suites.cases import Case, Functionality
from rightreasons.datasets.suites.checklist import PickledTest, Texts, read_pickled_suite, replacements
from rightreasons.datasets.suites.suite import Suite, example_features

Row = dict[str, Any]

_TESTS = json.loads(Path(__file__).with_name("checklist.json").read_text("utf-8"))

PAPER_LABELS: Mapping[str, int] = _TESTS["paper_labels"]
"""Labels that BeLUGA corrects: the first is the opposite of the released one, the second makes an INV test an MFT."""

EXPECTATIONS: Mapping[str, Row] = _TESTS["expectations"]
"""What the released tests expect beyond the label of an MFT and the invariance of an INV, by their names.

A synonym of a question is released as an invariance of one example: a question and itself reworded. Of "Q & A: no",
whose released function takes a positive answer for a neutral one, the label is asked.
"""

SPLITS = {"test": None, "paper_train": "train", "paper_validation": "validation", "paper_test": "test"}
"""Split of the data set -> part of BeLUGA's split; "test" is the whole suite."""


@dataclasses.dataclass
class SuiteConfig(Config):
    """A suite, as released or with two labels corrected as in BeLUGA."""

    paper_labels: bool = False


class CheckList(Builder):
    """The common part of the three suites."""

    BUILDER_CONFIG_CLASS = SuiteConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [SuiteConfig(name="default")]

    TEXT_COLUMNS: ClassVar[tuple[str, ...]]
    LABEL_NAMES: ClassVar[tuple[str, ...] | None] = None

    _kept: tuple[Path, Suite] | None = None

    def features(self) -> datasets.Features:
        return example_features(self.TEXT_COLUMNS, self.LABEL_NAMES)

    def splits(self) -> Mapping[str, Sequence[str]]:
        return dict.fromkeys(SPLITS, (self.SOURCES[0].path,))

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        suite = self._read(next(iter(files.values())))
        part = SPLITS[split]
        yield from (suite if part is None else suite.split(part)).examples()

    def suite(self) -> Suite:
        """Return the whole suite, with its expectations, from the local files or else the publisher's."""
        if not self.files:
            config = datasets.DownloadConfig(cache_dir=self._cache_downloaded_dir, use_etag=False)
            # Download and verify the files of the data set; this sets `self.files`.
            self._split_generators(datasets.DownloadManager(dataset_name=self.NAME, download_config=config))
        return self._read(Path(next(iter(self.files.values()))))

    def _read(self, path: Path) -> Suite:
        # Every split is a part of the one file, which takes seconds to read: it is kept for the others.
        if self._kept is None or self._kept[0] != path:
            labels = {"label_names": self.LABEL_NAMES, "paper_labels": self.config.paper_labels}
            self._kept = path, read_checklist(path, self.NAME, self.TEXT_COLUMNS, **labels)
        return self._kept[1]


class CheckListSentiment(CheckList):
    """Sentiment: 38 functionalities over tweets about airlines; labels 0 negative, 1 neutral, 2 positive."""

    NAME = "checklist_sentiment"
    TEXT_COLUMNS = ("text",)
    LABEL_NAMES = ("negative", "neutral", "positive")


class CheckListParaphrase(CheckList):
    """Paraphrase detection: 53 functionalities over Quora questions; labels 0 not_duplicate, 1 duplicate."""

    NAME = "checklist_paraphrase"
    TEXT_COLUMNS = ("text", "text_pair")
    LABEL_NAMES = ("not_duplicate", "duplicate")


class CheckListReading(CheckList):
    """Reading comprehension: 24 functionalities over SQuAD; the expected answer is a text."""

    NAME = "checklist_reading"
    TEXT_COLUMNS = ("context", "question")


def read_checklist(
    path: Path,
    name: str,
    text_columns: tuple[str, ...],
    *,
    label_names: tuple[str, ...] | None = None,
    paper_labels: bool = False,
    run: bool = False,
) -> Suite:
    """Read a released suite.

    Args:
        path: Its archive.
        name: The name of the suite.
        text_columns: The names of the texts of an example.
        label_names: The names of the labels 0, 1, …; None where they have none, or are texts.
        paper_labels: Whether to correct two labels as BeLUGA does (`PAPER_LABELS`).
        run: Whether to read the cases alone that were run, in the order of CheckList's files of predictions.

    Raises:
        ValueError: If the file is damaged or no suite, or its pickle does not hold plain data.
    """
    made = functools.partial(_functionality, paper_labels=paper_labels)
    return read_pickled_suite(path, text_columns=text_columns, name=name, label_names=label_names, run=run, made=made)


def convert_checklist(path: Path, *, text_columns: Sequence[str] | None = None) -> Suite:
    """Turn a suite that CheckList has saved into one whose file says what it expects.

    Args:
        path: A .pkl or .pkl.gz file, or a .tar.gz archive that holds one; nothing of it is run.
        text_columns: As in `read_pickled_suite`.

    Returns:
        The cases that were run, in the order of CheckList's files of predictions. The expectations of a released
        archive are those of its name here; of another file, code is `unknown`.

    Raises:
        ValueError: As `read_pickled_suite`.
    """
    checksum = sha256_of(path)
    for released in (CheckListSentiment, CheckListParaphrase, CheckListReading):
        if checksum == released.SOURCES[0].sha256:
            names = released.LABEL_NAMES
            return read_checklist(path, released.NAME, released.TEXT_COLUMNS, label_names=names, run=True)
    return read_pickled_suite(path, text_columns=text_columns)


def _functionality(test: PickledTest, texts: Texts, paper_labels: bool) -> Functionality:
    corrected = PAPER_LABELS.get(test.name) if paper_labels else None
    kind = test.kind if corrected is None else "MFT"
    if corrected is None:
        labels = test.labels(texts)
    else:
        labels = {row: (corrected,) * len(examples) for row, examples in texts.items()}
    meta = test.value("meta") if kind == "INV" else None
    cases = tuple(
        Case(str(row), examples, labels.get(row), replacements(meta[row], len(examples)) if meta else None)
        for row, examples in texts.items()
    )
    return Functionality(test.name, test.capability, kind, _expectation(test.name, kind, cases), cases)


def _expectation(name: str, test_type: str, cases: Sequence[Case]) -> Row:
    """Return what a test expects: by its name, or else by its type."""
    if test_type == "MFT" and cases and any(label is not None for label in cases[0].labels or ()):
        texts = any(isinstance(label, str) for label in cases[0].labels or ())
        return {"name": "equal", "clean": "article"} if texts else {"name": "equal"}
    if name in EXPECTATIONS:
        return dict(EXPECTATIONS[name])
    return {"name": "invariant", "tolerance": 0.1} if test_type == "INV" else {"name": "unknown", "why": "not released"}
