"""The experiment of behavioral learning as a table of independent runs, stored in a folder.

`plan.json` lists the runs and names the code they need; `results/KEY.json` appears, complete, when
a run is finished. So a plan can be killed and resumed, and its runs are executed in any number of
processes that share the folder. `open_task` opens the model, the suite and the data of a plan.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rightreasons
from rightreasons.behavior.learning.kinds import KINDS, Classes, IidData, Kind, kind_of
from rightreasons.behavior.learning.options import (
    CONFIGURATIONS,
    METHODS,
    PARTITIONS,
    LearningOptions,
    PlanOptions,
    parse_grid,
)
from rightreasons.core.labels.matching import MatchTerms, match_labels
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import (
    digest_files,
    digest_package_code,
    digest_value,
    read_record,
    write_record,
)
from rightreasons.core.validation import check_count, check_fraction, check_one_of
from rightreasons.datasets.builder import CATALOG
from rightreasons.datasets.issues.table import parse_known_issues
from rightreasons.datasets.suites.suite import Functionality, Suite, open_suite
from rightreasons.io.tables import open_dataset, open_questions
from rightreasons.models.fingerprints import fingerprint_texts

_MODEL_FILES = ("*.safetensors", "*.bin", "*.json", "*.model", "vocab.txt", "merges.txt")


@dataclasses.dataclass(frozen=True, eq=False)
class LearningTask:
    """Model, suite, independent data and options, which all runs of a plan share.

    Attributes:
        model: A folder or hub id of an encoder, or of a classifier of two classes (a
            question-answering model).
        suite: The whole suite; it is split by `Suite.split`.
        train: Independent training data.
        test: Independent test data.
        labels: A name of `KINDS`: "sentiment" (a suite of three labels for a model of two classes),
            "classes", or "answers" (spans of a context, for a suite of reading).
        options: Options of `train_on_behavior` for the suite's runs.
        iid_options: Options of `train_on_behavior` for the training on independent data.
        grid: Alternatives to `options`, of which each run takes the best on the suite's validation
            part; empty if there are no alternatives.
        max_length: Maximum tokens per text, or per window of a context; None for that of the kind:
            128, or 384 for reading.
        device: "cpu" to keep off a GPU; None for the default device.
        iid_share: Share of the independent data that is mixed with the suite, in (0, 1]; `IID`
            takes all of it.
        train_cases: Maximum training cases of each functionality, selected by its name; None for
            all. So a suite can be tested on many cases, which costs little, and trained on few.
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
        """Check all options and the data, so that an error is found before days of training.

        Raises:
            TypeError, ValueError: If an option is unknown or invalid, or an item of the independent data
                has no label or answer.
        """
        check_one_of(self.labels, tuple(KINDS), "labels")
        self._check_options(self.options, "options")
        self._check_options(self.iid_options, "iid_options")
        for number, row in enumerate(self.grid):
            self._check_options(row, f"grid[{number}]")
        if self.max_length is not None:
            check_count(self.max_length, "max_length", minimum=4)
        self.kind.check_data(self.train, "independent training data")
        self.kind.check_data(self.test, "independent test data")
        check_fraction(self.iid_share, "iid_share")
        if self.train_cases is not None:
            check_count(self.train_cases, "train_cases")

    def _check_options(self, values: Mapping[str, Any], name: str) -> None:
        """Check options of a training.

        Args:
            values: Options of `train_on_behavior`.
            name: Field of the task that contains them, such as "iid_options", for error messages.

        Raises:
            TypeError, ValueError: If an option is unknown or invalid.
        """
        try:
            options = LearningOptions.read(values, f"`{name}`")
            check_one_of(options.activation, self.kind.activations, "activation")
        except (TypeError, ValueError) as error:
            # The message is changed in place, because the error also has the name of the option.
            message = str(error).rstrip(".")
            error.args = (f"{message} (in `{name}`).",)
            raise

    @property
    def kind(self) -> Kind:
        """Functions that differ between classifiers and question-answering models."""
        return KINDS[self.labels]

    def train_suite(self) -> Suite:
        """Return the training part of the suite, with at most `train_cases` cases per functionality."""
        suite = self.suite.split("train")
        if self.train_cases is None:
            return suite

        def select_cases(functionality: Functionality) -> NDArray[np.int64]:
            """Return the indices of the cases to train on."""
            # The name seeds the selection, so that adding a functionality to the suite does not change it.
            rng = item_rng(0, f"training cases/{functionality.name}")
            return rng.permutation(len(functionality.cases))[: self.train_cases]

        return suite.choose_cases(select_cases)

    def settings(self) -> dict[str, Any]:
        """Return everything that the results of a run depend on, as JSON values for plan.json.

        Texts and weights are represented by digests.
        """
        functionalities = []
        suite_rows = []
        for functionality in self.suite.functionalities:
            name = functionality.name
            test_type = functionality.test_type
            functionalities.append([name, functionality.functionality_class, test_type])
            suite_rows.append(json.dumps([name, test_type, dict(functionality.expectation)]))
        suite_rows.extend(map(json.dumps, self.suite.examples()))
        # The outcomes of a run are stored as one letter per case of the test suite. The numbers of
        # cases are needed to assign the letters to functionalities.
        test_suite = self.suite.split("test")
        n_cases = [len(functionality.cases) for functionality in test_suite.functionalities]
        return {
            "model": self.model,
            "model digest": _digest_model(self.model),
            "suite": self.suite.name,
            "suite digest": fingerprint_texts(suite_rows),
            "functionalities": functionalities,
            "n_cases": n_cases,
            "train digest": _digest_data(self.train),
            "test digest": _digest_data(self.test),
            "labels": self.labels,
            "options": dict(self.options),
            "i.i.d. options": dict(self.iid_options),
            "grid": [dict(row) for row in self.grid],
            "max length": self.max_length or self.kind.max_length,
            "i.i.d. share": self.iid_share,
            "training cases": self.train_cases,
        }


def _digest_data(data: IidData) -> str:
    """Return a digest of the texts, second texts and labels of independent data."""
    labels = map(str, data.labels)
    return fingerprint_texts([*data.texts, *(data.text_pairs or ()), *labels])


def _digest_model(name: str) -> str:
    """Return a digest of the weights, configurations and vocabularies in a model's folder.

    Args:
        name: Folder or hub id.

    Returns:
        The digest; "" for a hub id, whose files are not on this machine, and for a folder without files
        of a model.
    """
    folder = Path(name).expanduser()
    files = set()
    for pattern in _MODEL_FILES:
        for file in folder.glob(pattern):
            files.add(str(file.relative_to(folder)))
    if not files:
        return ""
    return digest_value(digest_files(folder, files))


def describe_sources(model: str, suite: str, data: str, options: PlanOptions) -> dict[str, Any]:
    """Return the record of a plan's model, suite, data and options, from which `open_task` opens them.

    Paths are made absolute, because a plan may be continued from another working directory.

    Args:
        model: Folder or hub id.
        suite: Name or file of a suite.
        data: Known name, hub id or folder of independent data.
        options: The options.

    Returns:
        Plain values, such as `{"model": "/models/bert", "suite": "checklist_sentiment", "data": "sst2",
        "epochs": 1.0, …}`.
    """
    sources = {"model": _resolve_path(model), "suite": _resolve_path(suite), "data": data}
    # The name of a catalog data set has priority over a local folder of the same name.
    if data not in CATALOG:
        sources["data"] = _resolve_path(data)
    absolute_paths = {}
    if options.data_dir is not None:
        absolute_paths["data_dir"] = str(Path(options.data_dir).resolve())
    if options.known_issues is not None:
        absolute_paths["known_issues"] = _resolve_path(options.known_issues)
    return {**sources, **options.replace(**absolute_paths).to_dict()}


def open_task(source: Mapping[str, Any]) -> LearningTask:
    """Open the suite and the independent data of a plan, with its model's name and options.

    Args:
        source: Model, suite, data and options of a plan, as `describe_sources` returns them.

    Raises:
        ValueError: If the data lacks splits or labels, or options contradict one another.
    """
    values = dict(source)
    model = values.pop("model")
    suite_name = values.pop("suite")
    data = values.pop("data")
    options = PlanOptions.read(values, "a plan")
    _check_has_splits(data, options)

    known_issues = parse_known_issues(options.known_issues)
    paper_labels = None
    if known_issues is False:
        # The two corrections that the paper makes stay, so that its figures can be reproduced.
        paper_labels = True
    suite = open_suite(
        suite_name,
        data_dir=options.data_dir,
        known_issues=known_issues,
        paper_labels=paper_labels,
        max_cases=options.max_cases,
    )

    # The labels of a suite determine whether the model is a classifier or answers questions.
    labels = kind_of(suite)
    kind = KINDS[labels]
    open_split: Callable[..., IidData]
    if isinstance(kind, Classes):
        open_split = functools.partial(
            _open_texts, data, classes=kind.class_names(suite), suite=suite.name
        )
    else:
        open_split = functools.partial(_open_questions, data)
    train = open_split(
        split=options.train_split, limit=options.train_limit, data_dir=options.data_dir
    )
    test = open_split(split=options.test_split, limit=options.test_limit, data_dir=options.data_dir)

    training = {name: getattr(options, name) for name in LearningOptions.list_names()}
    return LearningTask(
        model=model,
        suite=suite,
        train=train,
        test=test,
        labels=labels,
        options=training,
        iid_options={
            **training,
            "epochs": options.iid_epochs,
            "batch_size": options.iid_batch_size,
        },
        grid=tuple(parse_grid(options.grid)),
        max_length=options.max_length,
    )


def _check_has_splits(data: str, options: PlanOptions) -> None:
    """Check that independent data is not a single file, which has no splits.

    Args:
        data: Known name, hub id, folder or file.
        options: Options of the plan, with the names of the splits.

    Raises:
        ValueError: If it is a single file.
    """
    file = Path(data).expanduser()
    # A data.yaml is not a table, because it may refer to a folder with splits.
    is_table = file.is_file() and file.suffix not in (".yaml", ".yml")
    if data in CATALOG or not is_table:
        return
    raise ValueError(
        f"Expected data with the splits {options.train_split!r} and {options.test_split!r}, but "
        f"{data} is one table. Pass a folder with one file per split, such as train.csv and "
        "validation.csv."
    )


def _resolve_path(name: str) -> str:
    """Return the absolute path of a file or folder; a name without such a file stays unchanged."""
    path = Path(name).expanduser()
    if path.exists():
        return os.path.abspath(path)
    return name


def _open_questions(data: str, *, split: str, limit: int | None, data_dir: str | None) -> IidData:
    """Open questions with their contexts and answers.

    Args:
        data: Known name, hub id or folder.
        split: Name of the split.
        limit: Maximum number of questions; None for all.
        data_dir: Folder of local copies of known data sets; None to download them.
    """
    rows: Any = open_questions(data, split=split, data_dir=data_dir, limit=limit)
    return IidData(
        texts=rows["question"][:], labels=rows["answers"][:], text_pairs=rows["context"][:]
    )


def _open_texts(
    data: str,
    *,
    split: str,
    limit: int | None,
    data_dir: str | None,
    classes: Sequence[str] | None,
    suite: str,
) -> IidData:
    """Open labeled texts, with the labels numbered as the classes of the model.

    Args:
        data: Known name, hub id or folder.
        split: Name of the split.
        limit: Maximum number of texts; None for all.
        data_dir: Folder of local copies of known data sets; None to download them.
        classes: Names of the model's classes, to which labels are assigned by their names; None to keep
            the numbers of the data.
        suite: Name of the suite, for error messages.

    Raises:
        ValueError: If an item has no label, or labels do not match the classes.
    """
    rows: Any = open_dataset(data, split=split, data_dir=data_dir, limit=limit, drop_empty=True)
    labels = rows["label"][:]
    # An item without a label can be neither trained on nor scored.
    if min(labels) < 0:
        raise ValueError(
            f"Expected a label on every item of the split {split!r} of {data}, but some items "
            "have no label."
        )
    if classes is not None:
        # The data may number the classes in another order.
        names = rows.features["label"].names
        match = match_labels(
            names, classes, used=set(labels), terms=MatchTerms(data, f"the suite {suite!r}")
        )
        labels = match.class_of[labels].tolist()
    text_pairs = None
    if "text_pair" in rows.column_names:
        text_pairs = rows["text_pair"][:]
    return IidData(texts=rows["text"][:], labels=labels, text_pairs=text_pairs)


NOT_ASKED = "."
"""Letter of a case that a run did not evaluate, in place of its outcome."""

FILE = "plan.json"
"""File of a plan in its folder."""

FORMAT = "rightreasons.behavior-plan 3"
"""Format of the record of a plan, with its version."""


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One training and its scores.

    Attributes:
        configuration: One of `CONFIGURATIONS`.
        method: One of `METHODS`.
        partition: One of `PARTITIONS`; "seen" for IID too, which trains on nothing of the suite.
        held: The functionality, class or test type that is held out; "" for none.
        held_out: The functionalities that are kept out of training.
        seed: Seed of the training.
    """

    configuration: str
    method: str
    partition: str
    held: str
    held_out: tuple[str, ...]
    seed: int

    @property
    def key(self) -> str:
        """A short name, unique within the plan."""
        # `held_out` is not needed: the partition and the group `held` determine it.
        values = [self.configuration, self.method, self.partition, self.held, self.seed]
        return hashlib.blake2b(json.dumps(values).encode(), digest_size=8).hexdigest()


def partition(suite: Suite, name: str) -> dict[str, tuple[str, ...]]:
    """Group the functionalities of a suite that are held out of training together.

    To test generalization, a model is trained once per group, on the functionalities of all other
    groups, and tested on the group.

    Args:
        suite: The suite.
        name: How functionalities are grouped: one by one ("functionality"), by their "class", or by
            their test "type" (MFT, INV or DIR). "seen" holds out nothing.

    Returns:
        Name of each group -> names of its functionalities. For "class", it is such as
        `{"Negation": ("not good", "not bad"), "Typos": ("one typo",)}`; for "seen", `{"": ()}`.
    """
    check_one_of(name, PARTITIONS, "partition")
    if name == "seen":
        return {"": ()}
    groups: dict[str, list[str]] = {}
    for functionality in suite.functionalities:
        # Name of the group of a functionality in each partition.
        group_by_partition = {
            "functionality": functionality.name,
            "class": functionality.functionality_class,
            "type": functionality.test_type,
        }
        group = group_by_partition[name]
        groups.setdefault(group, []).append(functionality.name)
    return {group: tuple(names) for group, names in groups.items()}


def plan_runs(
    suite: Suite,
    *,
    configurations: Sequence[str] = CONFIGURATIONS,
    methods: Sequence[str] = tuple(METHODS),
    partitions: Sequence[str] = PARTITIONS,
    seeds: Sequence[int] = (42,),
) -> list[PlannedRun]:
    """List the runs of an experiment.

    The configuration "IID" (no training on the suite) is one run per seed. Every other
    configuration has a run for each method and each group of functionalities that a partition holds
    out, unless no case would be left to train on.

    Args:
        suite: The suite.
        configurations: Names of `CONFIGURATIONS`; default all.
        methods: Names of `METHODS`; default all eight.
        partitions: Names of `PARTITIONS`; default all.
        seeds: Seeds of the training.

    Returns:
        The distinct runs, by seed, configuration, method and partition.

    Raises:
        ValueError: If a name is unknown, if a seed is too large, or if no functionality has a case
            to train on.

    Example:
        >>> from rightreasons.datasets.suites.suite import Case, Functionality
        >>> pairs = Case("0", (("a",), ("b",))), Case("1", (("c",), ("d",)))
        >>> names = Functionality("names", "NER", "INV", {"name": "invariant"}, pairs)
        >>> texts = Case("0", (("e",),), (1,)), Case("1", (("f",),), (0,))
        >>> words = Functionality("words", "Vocabulary", "MFT", {"name": "equal"}, texts)
        >>> runs = plan_runs(Suite("mine", ("text",), (names, words)), methods=("vanilla",), configurations=("IID+T",))
        >>> [(run.partition, run.held) for run in runs][:4]
        [('seen', ''), ('functionality', 'names'), ('functionality', 'words'), ('class', 'NER')]
    """
    for value in configurations:
        check_one_of(value, CONFIGURATIONS, "configurations")
    for value in methods:
        check_one_of(value, tuple(METHODS), "methods")
    # A single case is used for testing, so that training needs a second one.
    if all(len(functionality.cases) < 2 for functionality in suite.functionalities):
        raise ValueError(
            f"Expected a functionality with two or more cases in the suite {suite.name!r}, but "
            "each functionality has one case, so no case remains to train on."
        )
    runs = []
    for seed in seeds:
        # The seed is also used for numpy's global random state, which accepts 32 bits.
        seed = check_count(seed, "seed", minimum=0, maximum=2**32 - 1)
        for configuration in configurations:
            if configuration == "IID":
                # Without training on the suite, methods and partitions make no difference.
                run = PlannedRun(
                    configuration="IID",
                    method="vanilla",
                    partition="seen",
                    held="",
                    held_out=(),
                    seed=seed,
                )
                runs.append(run)
                continue
            for method in methods:
                for group in _list_held_out_groups(suite, partitions):
                    run = PlannedRun(
                        configuration=configuration,
                        method=method,
                        partition=group.partition,
                        held=group.name,
                        held_out=group.functionalities,
                        seed=seed,
                    )
                    runs.append(run)
    # A name or a seed may be passed twice. Drop the repeated runs, and keep the order.
    return list(dict.fromkeys(runs))


class _HeldOutGroup(NamedTuple):
    """Functionalities that a run holds out of training.

    Attributes:
        partition: One of `PARTITIONS`, such as "class".
        name: Name of the group, such as "Negation"; "" if nothing is held out.
        functionalities: Names of its functionalities, such as ("not good", "not bad").
    """

    partition: str
    name: str
    functionalities: tuple[str, ...]


def _list_held_out_groups(suite: Suite, partitions: Sequence[str]) -> list[_HeldOutGroup]:
    """List the groups of functionalities that are held out of training together, by each partition.

    For the partition "class", for example, there is a group for each class of functionalities. A group
    that would leave no case to train on, such as the only test type of a suite, is skipped.

    Args:
        suite: The suite.
        partitions: Names of partitions: "seen", "functionality", "class" or "type".
    """
    trainable_names = {functionality.name for functionality in suite.split("train").functionalities}
    groups = []
    for partition_name in partitions:
        for group_name, functionalities in partition(suite, partition_name).items():
            has_training_cases = bool(trainable_names.difference(functionalities))
            if has_training_cases:
                groups.append(_HeldOutGroup(partition_name, group_name, functionalities))
    return groups


def plan_code() -> str:
    """Name the code that a result depends on: the package's version, and a digest of its files and libraries."""
    return f"{rightreasons.__version__}+{digest_package_code()}"


class Plan:
    """A plan in its folder, written by `Plan.create` and read by `Plan.open`.

    Attributes:
        folder: The folder.
        runs: The runs of the plan.
        settings: Data, model and options that all runs share, as plain values; from
            `LearningTask.settings`.
        code: Version and digest of the code that the plan was made for, from `plan_code`.
    """

    def __init__(
        self, folder: Path, runs: Sequence[PlannedRun], settings: Mapping[str, Any], code: str
    ) -> None:
        self.folder = folder.resolve()
        self.runs = list(runs)
        self.settings = dict(settings)
        self.code = code

    @classmethod
    def create(
        cls, folder: str | os.PathLike[str], runs: Sequence[PlannedRun], settings: Mapping[str, Any]
    ) -> Plan:
        """Write a plan into a folder, or open it if the folder has the same plan already.

        Args:
            folder: The folder; created if it does not exist.
            runs: Runs of the plan, at least one.
            settings: Data, model and options that all runs share, from `LearningTask.settings`.

        Raises:
            ValueError: If there are no runs, or the folder contains another plan.
        """
        if not runs:
            raise ValueError("Expected at least one run in the plan, but there is none.")
        # Settings are compared with those of a JSON file, in which tuples become lists.
        plain_settings = json.loads(json.dumps(dict(settings)))
        plan = cls(Path(folder), runs, plain_settings, plan_code())
        stored = cls._read(plan.folder)
        if stored is None:
            (plan.folder / "results").mkdir(parents=True, exist_ok=True)
            rows = list(map(dataclasses.asdict, runs))
            record = {"code": plan.code, "settings": plan.settings, "runs": rows}
            write_record(plan.folder / FILE, record, FORMAT)
            return plan
        # A plan of other code can be opened, because its finished runs can still be collected.
        if stored.runs != plan.runs or stored.settings != plan.settings:
            raise ValueError(
                f"Expected {folder} to be empty or to hold this plan, but the folder holds "
                "another plan."
            )
        return stored

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Plan:
        """Open the plan in a folder.

        Args:
            folder: Folder of the plan.

        Raises:
            FileNotFoundError: If the folder contains no plan.
            ValueError: If the file of the plan is damaged or has another version.
        """
        if not (Path(folder) / FILE).is_file():
            raise FileNotFoundError(f"Expected a plan in {folder}, but it has no {FILE}.")
        plan = cls._read(Path(folder))
        if plan is None:
            raise ValueError(
                f"Expected {FILE} of {folder} to be unchanged, but the file is damaged. Repeat "
                "the plan."
            )
        return plan

    @classmethod
    def _read(cls, folder: Path) -> Plan | None:
        """Read the plan in a folder; None if there is none, or its file is damaged and was renamed.

        Args:
            folder: Folder of the plan.
        """
        record = read_record(folder / FILE, FORMAT)
        if record is None:
            return None
        runs = []
        for row in record["runs"]:
            # JSON has lists in place of tuples.
            fields = {**row, "held_out": tuple(row["held_out"])}
            runs.append(PlannedRun(**fields))
        return cls(folder, runs, record["settings"], record["code"])

    def check_code(self) -> None:
        """Check that the code of this package is the same as when the plan was made.

        Runs of different code must not be mixed. Finished runs can still be collected.

        Raises:
            ValueError: If the code or the version of a library has changed.
        """
        code = plan_code()
        if code != self.code:
            raise ValueError(
                f"Expected the code {self.code} that the plan in {self.folder} was made for, but "
                f"got {code}. Make a new plan in another folder; the "
                f"{len(self.list_finished_keys())} finished runs of the old plan are kept."
            )

    def list_finished_keys(self) -> set[str]:
        """Return the keys of the finished runs; a run whose file is damaged is unfinished."""
        return {result["key"] for result in self.results()}

    def pending(self) -> list[PlannedRun]:
        """Return the unfinished runs, in the plan's order."""
        finished_keys = self.list_finished_keys()
        return [run for run in self.runs if run.key not in finished_keys]

    def store(self, run: PlannedRun, result: Mapping[str, Any]) -> None:
        """Write the result of a run into its file, completely or not at all.

        Args:
            run: The run.
            result: Its scores, as JSON values.
        """
        # The fields of the run are stored, too, so that the file can be read without the plan.
        row = {"key": run.key, **dataclasses.asdict(run), "code": self.code, **result}
        write_record(self._result_file(run), row, self.inputs(run.key))

    def inputs(self, subject: object) -> str:
        """Return a digest of everything that a stored file depends on, by which it is recognized.

        Args:
            subject: Name of the file's content: the key of a run for its result, or "iid-42" for the
                model trained on independent data with the seed 42.
        """
        return digest_value([self.code, self.settings, subject])

    def results(self) -> list[dict[str, Any]]:
        """Read the stored results of the finished runs, in the plan's order.

        A damaged file, or a result of other code or settings, is renamed, and its run counts as
        unfinished.
        """
        results = []
        for run in self.runs:
            result = read_record(self._result_file(run), self.inputs(run.key))
            if result is not None:
                results.append(result)
        return results

    def _result_file(self, run: PlannedRun) -> Path:
        """Return the file of the result of a run."""
        return self.folder / "results" / f"{run.key}.json"
