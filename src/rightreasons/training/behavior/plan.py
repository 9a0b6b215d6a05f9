"""The experiment of behavioral learning as a table of independent runs, kept in a folder.

`plan.jsonl` lists the runs and names the code they need; `results/KEY.json` appears, complete, when a run is finished.
So a plan can be killed and resumed, and its shards run in any number of processes or machines that share the folder.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.atomic_write import json_lines, write_text
from rightreasons.foundations.code_version import code_version
from rightreasons.foundations.storing.records import digest_of_value, read_record, set_aside, write_record
from rightreasons.foundations.validation import check_count, check_one_of, check_seed
from rightreasons.training.behavior.kinds import KINDS
from rightreasons.training.behavior.options import CONFIGURATIONS, METHODS, PARTITIONS

FORMAT = "rightreasons.behavior-plan"
VERSION = 2

# By name, as its module imports this one.
_RUNNER = "rightreasons.training.behavior.runner:Runner"
_PACKAGES = ("torch", "transformers")


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One training and its scores.

    Attributes:
        configuration: One of `CONFIGURATIONS`.
        method: One of `METHODS`.
        partition: One of `PARTITIONS`; "seen" for IID too, which holds nothing of the suite.
        held: The functionality, class or test type that is held out; "" where there is none.
        held_out: The functionalities that this keeps out of training.
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
        about = json.dumps([self.configuration, self.method, self.partition, self.held, self.seed])
        return hashlib.blake2b(about.encode(), digest_size=8).hexdigest()


def partition(suite: Suite, name: str) -> dict[str, tuple[str, ...]]:
    """List what is held out, one after another, in a partition of a suite.

    Args:
        suite: The suite.
        name: One of `PARTITIONS`.

    Returns:
        What is held out -> the names of its functionalities. "seen" holds out nothing, once.
    """
    check_one_of(name, PARTITIONS, "partition")
    if name == "seen":
        return {"": ()}
    groups: dict[str, list[str]] = {}
    for functionality in suite.functionalities:
        of = {
            "functionality": functionality.name,
            "class": functionality.functionality_class,
            "type": functionality.test_type,
        }
        groups.setdefault(of[name], []).append(functionality.name)
    return {held: tuple(names) for held, names in groups.items()}


def plan_runs(
    suite: Suite,
    *,
    configurations: Sequence[str] = CONFIGURATIONS,
    methods: Sequence[str] = tuple(METHODS),
    partitions: Sequence[str] = PARTITIONS,
    seeds: Sequence[int] = (42,),
) -> list[PlannedRun]:
    """List the runs of an experiment.

    IID is one run per seed. Every other configuration is run with every method and everything that a partition holds
    out, unless that leaves no functionality with training cases (such as the only type of a suite).

    Args:
        suite: The suite.
        configurations: Names of `CONFIGURATIONS`; default all.
        methods: Names of `METHODS`; default all eight.
        partitions: Names of `PARTITIONS`; default all.
        seeds: Seeds of the training.

    Returns:
        The runs, each once.

    Raises:
        ValueError: If a name is unknown, a seed too large, or no functionality has a case to train on.

    Example:
        >>> from rightreasons.data.suites.suite import Case, Functionality
        >>> pairs = Case("0", (("a",), ("b",))), Case("1", (("c",), ("d",)))
        >>> names = Functionality("names", "NER", "INV", {"name": "invariant"}, pairs)
        >>> texts = Case("0", (("e",),), (1,)), Case("1", (("f",),), (0,))
        >>> words = Functionality("words", "Vocabulary", "MFT", {"name": "equal"}, texts)
        >>> runs = plan_runs(Suite("mine", ("text",), (names, words)), methods=("vanilla",), configurations=("IID+T",))
        >>> [(run.partition, run.held) for run in runs][:4]
        [('seen', ''), ('functionality', 'names'), ('functionality', 'words'), ('class', 'NER')]
    """
    for values, known, name in (
        (configurations, CONFIGURATIONS, "configurations"),
        (methods, tuple(METHODS), "methods"),
        (partitions, PARTITIONS, "partitions"),
    ):
        for value in values:
            check_one_of(value, known, name)
    trained = _trained_on(suite)
    runs = []
    for seed in map(_check_training_seed, seeds):
        for configuration in configurations:
            if configuration == "IID":
                runs.append(PlannedRun("IID", "vanilla", "seen", "", (), seed))
                continue
            runs += [
                PlannedRun(configuration, method, name, held, names, seed)
                for method in methods
                for name in partitions
                for held, names in partition(suite, name).items()
                if trained.difference(names)
            ]
    return list(dict.fromkeys(runs))


def _trained_on(suite: Suite) -> set[str]:
    """Name the functionalities that have training cases: one case alone is a test case."""
    if all(len(functionality.cases) < 2 for functionality in suite.functionalities):
        raise ValueError(
            f"Expected a functionality with two or more cases in the suite {suite.name!r}, but each has one, which "
            "leaves none to train on."
        )
    return {functionality.name for functionality in suite.split("train").functionalities}


def _check_training_seed(seed: object) -> int:
    """Check a seed of numpy's global random state, which transformers seeds."""
    number = check_seed(seed)
    if number >= 2**32:
        raise ValueError(f"Expected `seed` to be below 2**32, but got {number}.")
    return number


def plan_code(settings: Mapping[str, Any]) -> str:
    """Name the code that a result depends on: the package's version and a digest of what computes it.

    The digest covers the definitions of this package that a run reaches, and the versions of torch and transformers.

    Args:
        settings: Those of the plan. Its runs depend on the definitions of one kind of labels.
    """
    kind = KINDS[settings.get("labels", "sentiment")]
    digest = hashlib.blake2b(code_version(_RUNNER, type(kind)).encode(), digest_size=6)
    for name in _PACKAGES:
        digest.update(f"{name}=={version(name)}".encode())
    return f"{rightreasons.__version__}+{digest.hexdigest()}"


class Plan:
    """A plan in its folder, written by `Plan.create` and read by `Plan.open`.

    Attributes:
        folder: The folder.
        runs: Its runs.
        settings: What all runs share, as plain values.
        code: The code that it was made for.
    """

    def __init__(self, folder: Path, runs: Sequence[PlannedRun], settings: Mapping[str, Any], code: str) -> None:
        self.folder, self.runs, self.settings, self.code = folder, list(runs), dict(settings), code

    @classmethod
    def create(cls, folder: str | os.PathLike[str], runs: Sequence[PlannedRun], settings: Mapping[str, Any]) -> Plan:
        """Write a plan, or open the same plan again.

        Raises:
            ValueError: If there are no runs, or the folder holds another plan.
        """
        path = Path(folder)
        if not runs:
            raise ValueError("Expected at least one run in the plan, but there is none.")
        plan = cls(path, runs, json.loads(json.dumps(dict(settings))), plan_code(settings))
        known = cls._known(path)
        if known is not None:
            if known.runs != plan.runs or known.settings != plan.settings:
                raise ValueError(f"Expected {path} to be empty or to hold this plan, but it holds another one.")
            return known
        (path / "results").mkdir(parents=True, exist_ok=True)
        rows: list[dict[str, Any]] = [{"key": run.key, **dataclasses.asdict(run)} for run in runs]
        header = {"format": FORMAT, "version": VERSION, "code": plan.code, "settings": plan.settings}
        rows = [{**header, "content": digest_of_value([header, *rows])}, *rows]
        write_text(path / "plan.jsonl", json_lines(rows))
        return plan

    @classmethod
    def _known(cls, folder: Path) -> Plan | None:
        """Open the plan in a folder; None where there is none, or it was damaged and is set aside."""
        file = folder / "plan.jsonl"
        if not file.is_file():
            return None
        try:
            return cls.open(folder)
        except ValueError:
            set_aside(file, "it is damaged")
            return None

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Plan:
        """Open a plan.

        Raises:
            FileNotFoundError: If there is none.
            ValueError: If it has another version or is damaged.
        """
        file = Path(folder) / "plan.jsonl"
        if not file.is_file():
            raise FileNotFoundError(f"Expected a plan in {folder}, but it has no plan.jsonl.")
        header, runs = _read_plan(file)
        return cls(Path(folder), runs, header["settings"], header["code"])

    def check_code(self) -> None:
        """Refuse to continue with code other than the plan was made for.

        Raises:
            ValueError: If the code has changed; finished runs are kept and can still be collected.
        """
        now = plan_code(self.settings)
        if now != self.code:
            raise ValueError(
                f"Expected the code {self.code} that the plan in {self.folder} was made for, but got {now}: make a "
                f"new plan in another folder; the {len(self.done())} finished runs of this one are kept."
            )

    def done(self) -> set[str]:
        """Return the keys of the finished runs; a run whose file is damaged is unfinished."""
        return {result["key"] for result in self.results()}

    def pending(self) -> list[PlannedRun]:
        """Return the unfinished runs, in the plan's order."""
        done = self.done()
        return [run for run in self.runs if run.key not in done]

    def store(self, run: PlannedRun, result: Mapping[str, Any]) -> None:
        """Write the result of a run, complete or not at all."""
        row = {"key": run.key, **dataclasses.asdict(run), "code": self.code, **result}
        write_record(self._file(run), row, self.inputs(run.key))

    def inputs(self, what: object) -> str:
        """Digest what a result depends on: the code, the settings of the plan, and what it is of."""
        return digest_of_value([self.code, self.settings, what])

    def results(self) -> list[dict[str, Any]]:
        """Read the results of the finished runs, in the plan's order."""
        return [result for run in self.runs if (result := self._result(run)) is not None]

    def _result(self, run: PlannedRun) -> dict[str, Any] | None:
        """Read the result of a run; None where there is none, or the file was damaged and is set aside."""
        row: dict[str, Any] | None = read_record(self._file(run), self.inputs(run.key))
        return row

    def _file(self, run: PlannedRun) -> Path:
        return self.folder / "results" / f"{run.key}.json"


def _read_plan(file: Path) -> tuple[dict[str, Any], list[PlannedRun]]:
    """Read the header and the runs of a plan's file."""
    try:
        rows = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
    except (ValueError, RecursionError):
        raise ValueError(f"Expected JSON lines in {file}, but it is damaged.") from None
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"Expected a header and runs as JSON objects in {file}, but it is empty or damaged.")
    header = rows[0]
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ValueError(f"Expected a plan of version {VERSION} in {file}, but got something else.")
    if not isinstance(header.get("settings"), dict) or not isinstance(header.get("code"), str):
        raise ValueError(f"Expected the settings and the code of the plan in {file}, but its first line is damaged.")
    if not rows[1:]:
        raise ValueError(f"Expected at least one run in {file}, but it ends after its header.")
    if header.pop("content", None) != digest_of_value(rows):
        raise ValueError(f"Expected a run in each line of {file} as it was written, but one is damaged: plan it again.")
    try:
        return header, [_run(row) for row in rows[1:]]
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"Expected a run in each line of {file} after the first, but one is damaged.") from None


def _run(row: Mapping[str, Any]) -> PlannedRun:
    run = PlannedRun(**{**{k: v for k, v in row.items() if k != "key"}, "held_out": tuple(row["held_out"])})
    hash(run)  # a TypeError where a name is a list
    return run


def work_units(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """Group runs that are executed together: linear probes of one frozen encoder share its features."""
    groups: dict[Any, list[PlannedRun]] = {}
    for run in runs:
        shared = run.method == "lp" and run.configuration != "IID"
        groups.setdefault((run.configuration, run.seed) if shared else run.key, []).append(run)
    return list(groups.values())


def shard_of(runs: Sequence[PlannedRun], shard: str) -> list[list[PlannedRun]]:
    """Return the work units of one shard.

    Args:
        runs: All runs of a plan, finished or not, so that shards do not depend on what is done.
        shard: "i/n": the i-th of n shards, from 1.

    Raises:
        ValueError: If `shard` has another form.
    """
    number, _, count = shard.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ValueError(f"Expected a shard as i/n with i from 1 to n, such as 1/4, but got {shard!r}.")
    return work_units(runs)[int(number) - 1 :: check_count(int(count), "n")]
