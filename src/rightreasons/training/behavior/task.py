"""What all runs of a plan share: model, suite, independent data and options."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightreasons.data.builders.sources import sha256_of
from rightreasons.data.suites.cases import check_plain
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.validation import check_count, check_fraction, check_one_of
from rightreasons.models.running.fingerprint import fingerprint_texts
from rightreasons.training.behavior.kind import IidData, Kind
from rightreasons.training.behavior.kinds import KINDS
from rightreasons.training.behavior.options import LearningOptions

_MODEL_FILES = ("*.safetensors", "*.bin", "*.json", "*.model", "vocab.txt", "merges.txt")


@dataclasses.dataclass(frozen=True, eq=False)
class LearningTask:
    """What all runs of a plan share.

    Attributes:
        model: A folder or hub id of an encoder, or of a classifier of two classes (a question-answering model).
        suite: The whole suite; it is split by `Suite.split`.
        train: Independent training data.
        test: Independent test data.
        labels: A name of `KINDS`: "sentiment" (a suite of three labels for a model of two classes), "classes", or
            "answers" (spans of a context, for a suite of reading).
        options: Options of `train_on_behavior` for the suite's runs.
        iid_options: The same for the training on independent data.
        grid: Alternatives to `options`, of which each run takes the best on the suite's validation part; () for none.
        max_length: Maximum tokens per text, or per window of a context; None takes the kind's: 128, or 384 for reading.
        device: "cpu" to keep off a GPU.
        iid_share: Share of the independent data that is mixed with the suite, in (0, 1]; `IID` takes all of it.
        train_cases: Maximum training cases of each functionality, drawn by its name; None for all. So a suite can be
            tested on many cases, which costs little, and trained on few.
    """

    model: str
    suite: Suite
    train: IidData
    test: IidData
    labels: str = "sentiment"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    iid_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    grid: tuple[Mapping[str, Any], ...] = ()
    max_length: int | None = None
    device: str | None = None
    iid_share: float = 1.0
    train_cases: int | None = None

    def __post_init__(self) -> None:
        check_one_of(self.labels, tuple(KINDS), "labels")
        grid = {f"grid[{number}]": row for number, row in enumerate(self.grid)}
        for where, values in {"options": self.options, "iid_options": self.iid_options, **grid}.items():
            self._check_options(values, where)
        if self.max_length is not None:
            check_count(self.max_length, "max_length", minimum=4)
        for functionality in self.suite.functionalities:
            check_plain(functionality)
        self.kind.check_data(self.train, "independent training data")
        self.kind.check_data(self.test, "independent test data")
        check_fraction(self.iid_share, "iid_share")
        if self.train_cases is not None:
            check_count(self.train_cases, "train_cases")

    def _check_options(self, values: Mapping[str, Any], where: str) -> None:
        try:
            options = LearningOptions.read(values, f"`{where}`")
            check_one_of(options.activation, self.kind.activations, "activation")
        except (TypeError, ValueError) as error:
            raise type(error)(f"{str(error).rstrip('.')} (in `{where}`).") from None

    @property
    def kind(self) -> Kind:
        """The kind of model and labels."""
        return KINDS[self.labels]

    def train_suite(self) -> Suite:
        """Return the training part of the suite, of at most `train_cases` cases of each functionality."""
        part, most = self.suite.split("train"), self.train_cases
        if most is None:
            return part
        return part.choose_cases(lambda f: item_rng(0, f"training cases/{f.name}").permutation(len(f.cases))[:most])

    def settings(self) -> dict[str, Any]:
        """Return what the results depend on, as plain values for a plan."""
        rows = [json.dumps([f.name, f.test_type, dict(f.expectation)]) for f in self.suite.functionalities]
        rows += [json.dumps(row) for row in self.suite.examples()]
        return {
            "model": self.model,
            "model digest": _model_digest(self.model),
            "suite": self.suite.name,
            "suite digest": fingerprint_texts(rows),
            "train digest": _data_digest(self.train),
            "test digest": _data_digest(self.test),
            "labels": self.labels,
            "options": dict(self.options),
            "i.i.d. options": dict(self.iid_options),
            "grid": [dict(row) for row in self.grid],
            "max length": self.max_length or self.kind.max_length,
            "i.i.d. share": self.iid_share,
            "training cases": self.train_cases,
        }


def _data_digest(data: IidData) -> str:
    return fingerprint_texts([*data.texts, *(data.text_pairs or ()), *map(str, data.labels)])


def _model_digest(name: str) -> str:
    """Digest the weights, configurations and vocabularies in a model's folder; "" for a hub id."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return ""
    digest = hashlib.blake2b(digest_size=16)
    files = {file for pattern in _MODEL_FILES for file in folder.glob(pattern) if file.is_file()}
    for file in sorted(files):
        digest.update(f"{file.name} {sha256_of(file)}\n".encode())
    return digest.hexdigest()
