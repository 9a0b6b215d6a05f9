"""The released CheckList suites for sentiment, paraphrase detection and reading comprehension.

The authors released pickles, which are read here without running anything; JSON lines with the same content work too.
In the release, the expectation of a test is code; here `_expectation` names it, by the type of the test and its use in
the release's notebooks.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.data.builders.builder import Builder, Config
from rightreasons.data.builders.sources import Source
from rightreasons.data.suites.checklist_pickle import pickled_tests, replacements
from rightreasons.data.suites.suite import Case, Functionality, Suite, example_features
from rightreasons.foundations.sentences import checks_kinds

Row = dict[str, Any]

_RELEASE = "https://raw.githubusercontent.com/marcotcr/checklist/4e6e5e33/release_suites"

_DAMAGED = (
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    UnicodeError,
    json.JSONDecodeError,
    zlib.error,
)

PAPER_LABELS = {
    "Order does matter for asymmetric relations": 0,
    "(question, f(question)) where f(question) replaces synonyms?": 1,
}
"""Labels that BeLUGA corrects: the first is the opposite of the released one, the second makes an INV test an MFT."""

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
    FOLDER = "checklist"
    CITATION = (
        "Ribeiro, Wu, Guestrin, Singh (2020). Beyond Accuracy: Behavioral Testing of NLP Models with CheckList. ACL."
    )
    LICENSE = "MIT"
    HOMEPAGE = "https://github.com/marcotcr/checklist"

    STEM: ClassVar[str]
    TEXT_COLUMNS: ClassVar[tuple[str, ...]]
    LABEL_NAMES: ClassVar[tuple[str, ...] | None] = None
    JSON_LINES: ClassVar[tuple[int, str]]
    ARCHIVE: ClassVar[tuple[int, str]]

    _kept: tuple[Path, Suite] | None = None

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        # The publisher has the archive, which is downloaded; the JSON lines are made from it.
        address = f"{_RELEASE}/{cls.STEM}_suite.tar.gz"
        names = (f"release/{cls.STEM}_suite.tar.gz", f"suites/{cls.STEM}_suite.jsonl.gz")
        return tuple(
            (Source(name, address, size, sha256),)
            for name, (size, sha256) in zip(names, (cls.ARCHIVE, cls.JSON_LINES), strict=True)
        )

    def features(self) -> datasets.Features:
        return example_features(self.TEXT_COLUMNS, self.LABEL_NAMES)

    def splits(self) -> Mapping[str, Sequence[str]]:
        files = tuple(self.files) or (self.forms("default")[0][0].path,)
        return dict.fromkeys(SPLITS, files)

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
    STEM = "sentiment"
    TEXT_COLUMNS = ("text",)
    LABEL_NAMES = ("negative", "neutral", "positive")
    DESCRIPTION = "CheckList's sentiment suite. Some texts are abusive."
    JSON_LINES = (1207439, "47bc20dc1ccbc7f98051c5eeb43d657a845c14f5c16261d9f3117ffb7f8c3871")
    ARCHIVE = (2109760, "d546320bd859e04fc3eb5f11b62ca96d7b19b29010b8925843cbfb8722091111")


class CheckListParaphrase(CheckList):
    """Paraphrase detection: 53 functionalities over Quora questions; labels 0 not_duplicate, 1 duplicate."""

    NAME = "checklist_paraphrase"
    STEM = "qqp"
    TEXT_COLUMNS = ("text", "text_pair")
    LABEL_NAMES = ("not_duplicate", "duplicate")
    DESCRIPTION = "CheckList's suite of Quora question pairs."
    JSON_LINES = (2023502, "12fec2a7858e192f2712f93ffcfbff4bac1b7a607a3cadc9ca3efbdc888cfbfb")
    ARCHIVE = (3902543, "60836d96a7f64b8006b78134a75f6664677a90318b0830768d971dbde35e64c4")


class CheckListReading(CheckList):
    """Reading comprehension: 24 functionalities over SQuAD; the expected answer is a text."""

    NAME = "checklist_reading"
    STEM = "squad"
    TEXT_COLUMNS = ("context", "question")
    DESCRIPTION = "CheckList's suite of SQuAD questions."
    JSON_LINES = (1920610, "fb14f5369f9f97c52375e4adfa95bf6026193070ca2e16e7d52750b358cbc07e")
    ARCHIVE = (3599964, "2942d48eaa71cdd525416db253571207a6f64c1ec79ad3b2aa2dbda98d05253e")


@checks_kinds
def read_checklist(
    path: Path,
    name: str,
    text_columns: tuple[str, ...],
    *,
    label_names: tuple[str, ...] | None = None,
    paper_labels: bool = False,
) -> Suite:
    """Read a released suite from its tar.gz or its JSON lines.

    Args:
        path: The file.
        name: The name of the suite.
        text_columns: The names of the texts of an example.
        label_names: The names of the labels 0, 1, …; None where they have none, or are texts.
        paper_labels: Whether to correct two labels as BeLUGA does (`PAPER_LABELS`).

    Raises:
        ValueError: If the file is damaged or no suite, or its pickle does not hold plain data.
    """
    # A downloaded file has no suffix; the error for a damaged archive should say that it is an archive.
    archive = path.name.endswith(".tar.gz") or (not path.suffix and tarfile.is_tarfile(path))
    rows = _from_archive(path) if archive else _from_json_lines(path)
    try:
        functionalities = tuple(_functionality(row, len(text_columns), paper_labels) for row in rows)
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise ValueError(
            f"Expected a released suite of CheckList in {path}, but it cannot be read: {error!r}."
        ) from error
    return Suite(name, text_columns, functionalities, label_names)


def _from_json_lines(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def _from_archive(path: Path) -> Iterator[Row]:
    tests, plain = pickled_tests(path)
    for test in tests:
        values = {key: plain(test.state.get(key)) for key in ("labels", "data", "meta", "agg_fn")}
        yield {"name": test.name, "type": test.kind, "capability": test.capability, **values}


def _functionality(row: Row, n_texts: int, paper_labels: bool) -> Functionality:
    name, test_type = _text(row["name"]), _text(row["type"])
    corrected = PAPER_LABELS.get(name) if paper_labels else None
    if corrected is not None:
        test_type = "MFT"
    cases = []
    for number, data in enumerate(row["data"]):
        examples = _examples(data, n_texts)
        labels = _labels(row["labels"] if corrected is None else corrected, number, len(examples))
        meta = row["meta"][number] if row["meta"] and test_type == "INV" else None
        cases.append(Case(str(number), examples, labels, replacements(meta, len(examples))))
    return Functionality(
        name, _text(row["capability"]), test_type, _expectation(row, test_type, corrected), tuple(cases)
    )


def _examples(data: Any, n_texts: int) -> tuple[tuple[str, ...], ...]:
    # A case is one example, or a list of them; an example is a text, or a pair of texts.
    if isinstance(data, str):
        return ((data,),)
    if n_texts > 1 and isinstance(data[0], str):
        return (tuple(map(_text, data)),)
    return tuple((part,) if isinstance(part, str) else tuple(map(_text, part)) for part in data)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in the place of a text")
    return value


def _labels(labels: Any, case: int, n_examples: int) -> tuple[Any, ...] | None:
    if labels is None:
        return None
    own = labels[case] if isinstance(labels, list) else labels
    return tuple(own) if isinstance(own, (list, tuple)) else (own,) * n_examples


def _expectation(row: Row, test_type: str, corrected: int | None) -> Row:
    name = row["name"]
    every = row["agg_fn"] == "all"
    if test_type == "MFT":
        if row["labels"] is None and corrected is None:
            return {"name": "not_equal", "value": 0}  # "not negative": neutral or positive
        texts = isinstance(row["data"][0], (list, tuple)) and _is_text(row["labels"])
        return {"name": "equal", "clean": "article"} if texts else {"name": "equal"}
    if test_type == "INV":
        if name in PAPER_LABELS:  # released as an invariance of one example: a question and itself reworded
            return {"name": "equal", "value": PAPER_LABELS[name]}
        return {"name": "invariant", "tolerance": 0.1}
    if name == "intensifiers":
        return {"name": "monotonic", "increasing": True, "tolerance": 0.1, "where_first": {"not": [1]}}
    if name in ("reducers", '"used to" should reduce'):
        return {"name": "monotonic", "increasing": False, "tolerance": 0.1, "where_first": {"not": [1]}}
    if name in ("add positive phrases", "add negative phrases"):
        return {"name": "sentiment_shift", "positive": name == "add positive phrases", "tolerance": 0.1}
    if name == "Testing implications":
        return {"name": "transitive"}
    if every:  # a question and its paraphrases
        return {"name": "equal", "value": 1}
    spec: Row = {"name": "equal", "value": 0, "skip_first": True}
    if name.startswith("Change"):  # tested only on pairs that the model calls duplicates
        spec["where_first"] = {"is": [1]}
    return spec


def _is_text(labels: Any) -> bool:
    while isinstance(labels, (list, tuple)):
        labels = labels[0]
    return isinstance(labels, str)
