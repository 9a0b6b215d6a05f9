r"""The base of every data set builder: finds the files, verifies them, keys the cache, checks rows.

How to add a data set: its facts go into `declared.json`, the code that reads its files into a module
of this folder, the name of its class into `_NAMES_BY_MODULE`, and its known issues into a table in
`issues/tables`.

    "toy": {
      "folder": "toy",                                  its folder in the data directory
      "description": …, "citation": …, "license": …, "homepage": …, "labels": ["bad", "good"],
      "sources": […],                                   path, url, size and sha256 of each
      "forms": [{"train": ["train.tsv"]}],              split -> its sources; any of the forms suffices
      "hub": {"repo_id": …, "revision": …, "files": {"default": {"train": ["train.parquet"]}}}
    }

    class Toy(ClassificationBuilder):
        NAME = "toy"                                    # in the table, the catalog and the cache
        HUB_TEXT = "sentence"                           # the column of the texts on the hub

        def rows(self, file):                           # the verified files of a split
            yield from read_table(file)                 # a text and its label each

`ClassificationBuilder` has the columns id, text and label. Other data sets extend `Builder`:

        def features(self):                             # the columns
            return make_multiple_choice_features()

        def from_hub(self, split, row, number):         # a row of the hub; None drops it
            return {"id": f"train-{number}", "prompt": row["goal"], "choices": row["ends"], …}

Several configurations: `BUILDER_CONFIGS = [Config(name=…), …]`; the first is the default. For further
options, extend the dataclass `Config`, set it as `BUILDER_CONFIG_CLASS`, read them from `self.config`,
and check them in `check_options`, which runs before anything is read. `forms` is by configuration if
the files depend on the configuration. A generated data set has neither sources nor hub.

An error while reading becomes one sentence, as the published files are known by their checksums. The
base class checks that no split is empty.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import inspect
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import datasets

from rightreasons.core.errors import (
    OptionConnectionError,
    OptionFileError,
    get_first_line,
    is_user_error,
    make_unknown_name_error,
)
from rightreasons.core.options import check_options
from rightreasons.core.store import digest_package_code
from rightreasons.core.validation import check_kind
from rightreasons.datasets.files import make_classification_features, read_rows
from rightreasons.datasets.issues.correcting import IssueCount, add_note, correct_rows
from rightreasons.datasets.issues.table import KnownIssues, select_issues
from rightreasons.datasets.sources import Hub, Source, compute_sha256, get_declared_attributes

if TYPE_CHECKING:
    import datasets

_NAMES_BY_MODULE = {
    "planted": "planted_shortcuts",
    "texts": "sst2 cola trec ag_news tweeteval_emotion tweeteval_hate tweeteval_irony "
    "tweeteval_sentiment qqp imdb_contrast imdb_counterfactual",
    "question_answering": "squad",
    "suites.checklist": "checklist_sentiment checklist_paraphrase checklist_reading",
    "multiple_choice": "anli hellaswag piqa socialiqa perturbed_anli perturbed_hellaswag "
    "perturbed_piqa perturbed_socialiqa",
    "copa": "balanced_copa copa_easy_hard bcopa_ce",
}


def _make_catalog() -> dict[str, str]:
    """Return the name of each data set -> the module that has its builder."""
    catalog = {}
    for module, names in _NAMES_BY_MODULE.items():
        for name in names.split():
            catalog[name] = module
    return catalog


CATALOG: dict[str, str] = _make_catalog()
"""Name -> the module of `rightreasons.datasets` with the builder of this NAME, imported on demand."""

DATA_DIR_VARIABLE = "RIGHTREASONS_DATA_DIR"
"""Environment variable that names the folder of local copies, with one folder per data set."""

_SOURCE_OPTIONS = ("other_versions", "cache_dir", "known_issues")

_COMMIT = re.compile("[0-9a-f]{40}")

# Errors of reading a file of another form. SyntaxError is raised by XML.
_READING_ERRORS = (LookupError, TypeError, ValueError, AttributeError, SyntaxError)

Splits = Mapping[str, Sequence[str]]
"""Split -> the paths of the sources that hold it."""

Row = dict[str, Any]


def available_datasets() -> list[str]:
    """Return the names that `load_dataset` accepts, sorted."""
    return sorted(CATALOG)


def get_builder_class(name: str) -> type[Builder]:
    """Return the builder class of a data set, imported on demand.

    Args:
        name: One of `available_datasets()`.

    Raises:
        ValueError: If the name is unknown. The message suggests the nearest names.
    """
    check_kind(name, "name", str)
    if name not in CATALOG:
        raise make_unknown_name_error("data set", name, CATALOG)
    module = importlib.import_module(f"rightreasons.datasets.{CATALOG[name]}")
    # A module may have the builders of several data sets, which differ in their attribute NAME.
    for value in vars(module).values():
        if getattr(value, "NAME", None) == name:
            builder: type[Builder] = value
            return builder
    raise LookupError(f"Expected a builder of {name!r} in {module.__name__}, but there is none.")


def load_builder(
    name: str,
    config: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    revision: str | None = None,
    **options: Any,
) -> Builder:
    """Return the builder of a data set, ready to prepare it.

    Args:
        name: One of `available_datasets()`.
        config: Name of a configuration; None for the first one.
        data_dir: Folder of local copies; None for the folder that `RIGHTREASONS_DATA_DIR` names.
        revision: Revision of the hub repository; None for the pinned one.
        **options: Further options of `load_dataset`, such as `known_issues`, and those of the data set.

    Raises:
        ValueError: If the name, the configuration or an option is unknown.
    """
    import datasets

    builder_class = get_builder_class(name)
    # A configuration class declares the options of its data set as fields. The fields that it inherits
    # from `datasets` (name, version, …) are not options.
    inherited = {field.name for field in dataclasses.fields(datasets.BuilderConfig)}
    known_options = list(_SOURCE_OPTIONS)
    for field in dataclasses.fields(builder_class.BUILDER_CONFIG_CLASS):
        if field.name not in inherited:
            known_options.append(field.name)
    check_options(options, known_options, f"the data set {name!r}")
    return builder_class(config_name=config, data_dir=data_dir, revision=revision, **options)


def load_dataset(
    name: str,
    config: str | None = None,
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    streaming: bool = False,
    revision: str | None = None,
    **options: Any,
) -> (
    datasets.Dataset
    | datasets.DatasetDict
    | datasets.IterableDataset
    | datasets.IterableDatasetDict
):
    """Load a data set of this package, as `datasets.load_dataset` loads one from the hub.

    Known issues of the data set (wrong labels, contradicting copies, training items that are in the
    test split) are corrected by default. `info.description` of the result describes the corrections.

    Args:
        name: One of `available_datasets()`.
        config: A configuration. None for the first one.
        split: A split, with slices and sums as in datasets ("train[:10%]", "train+test"). None for
            all of them.
        data_dir: A folder of local copies, with one folder per data set, or the data set's folder.
            None for the environment variable `RIGHTREASONS_DATA_DIR`, and for the hub if there is no
            copy.
        streaming: Whether to return an iterable dataset that writes nothing to disk.
        revision: A revision of the hub repository instead of the pinned one. It is read from the hub
            even if there is a local copy.
        **options: `known_issues` (True corrects them, False reads the data as released, a file adds
            a user's own table), `other_versions` (True reads local files that differ from the
            published ones), `cache_dir`, and the options of the data set.

    Returns:
        A Dataset, or a DatasetDict if `split` is None; their iterable forms when streaming.

    Raises:
        ValueError: If a name or an option is unknown, or a file is not the published one.
        FileNotFoundError: If a local file is missing.
        ConnectionError: If the data would have to be downloaded and cannot be.

    Example:
        >>> data = load_dataset("planted_shortcuts", "function", split="test_flipped", streaming=True)
        >>> data.features["label"].names
        ['negative', 'positive']
    """
    from datasets.exceptions import DatasetGenerationError

    builder = load_builder(name, config, data_dir=data_dir, revision=revision, **options)
    if streaming:
        return builder.as_streaming_dataset(split=split)
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        # Raise the original error instead, whose message tells the user what to change.
        if isinstance(error.__cause__, ValueError):
            raise error.__cause__ from None
        raise
    return builder.as_dataset(split=split)


@dataclasses.dataclass
class Config(datasets.BuilderConfig):  # type: ignore[misc]
    """A named configuration. Extend it with the options of a data set."""

    # The default of BuilderConfig is 0.0.0, whatever the builder's VERSION.
    version: str = "1.0.0"


@dataclasses.dataclass(frozen=True)
class Location:
    """Where a data set is read from.

    Attributes:
        origin: "generated", "local", "hub" or "url".
        files: Path of a source -> its local copy; empty unless the origin is "local".
        key: The part of the cache key that says which content is read.
        is_published: Whether every file is verified to be the published one.
    """

    origin: str
    files: dict[str, str]
    key: list[Any]
    is_published: bool = False


class Builder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """A `datasets.GeneratorBasedBuilder` whose cache never serves stale data.

    The cache key holds the checksum of every source file, the version of the builder's code, and the
    known issues that are corrected. So neither an edited file nor a changed builder meets an old
    cache, and equal files in two folders share one.

    Args:
        config_name: The configuration. None for the first.
        data_dir: A folder with one folder per data set, or the data set's folder. None for the
            environment variable `RIGHTREASONS_DATA_DIR`. Without a local copy the data are read from
            the hub, or else from the publisher's address.
        revision: Another revision of the hub repository.
        other_versions: Whether to read local files that differ from the published ones.
        cache_dir: The folder of prepared data. None for the default of `datasets`.
        known_issues: True corrects the known issues, False reads the data as released, and a file
            adds a user's table to those of this package.
        **options: Options of the data set.
    """

    BUILDER_CONFIG_CLASS = Config
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="default")]

    NAME: ClassVar[str]
    ISSUE_TABLE: ClassVar[str] = ""
    FOLDER: ClassVar[str] = ""
    DESCRIPTION: ClassVar[str] = ""
    CITATION: ClassVar[str] = ""
    LICENSE: ClassVar[str] = ""
    HOMEPAGE: ClassVar[str] = ""
    SOURCES: ClassVar[tuple[Source, ...]] = ()
    FORMS: ClassVar[Sequence[Splits] | Mapping[str, Sequence[Splits]]] = ()
    LABELS: ClassVar[Any] = ()
    HUB: ClassVar[Hub | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Set the facts about the data set in `declared.json` as attributes of its class."""
        super().__init_subclass__(**kwargs)
        # `vars` ignores an inherited NAME, which is the name of another data set. A common base class,
        # such as `TweetEval`, has no NAME.
        name = vars(cls).get("NAME", "")
        for attribute, value in get_declared_attributes(name).items():
            setattr(cls, attribute, value)
        if name:
            cls.ISSUE_TABLE = name

    def __init__(
        self,
        *,
        config_name: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        revision: str | None = None,
        other_versions: bool = False,
        cache_dir: str | os.PathLike[str] | None = None,
        known_issues: KnownIssues = True,
        **options: Any,
    ) -> None:
        """Find the files of a configuration, and compute the key of the cache from their checksums.

        The arguments are described in the docstring of the class.

        Raises:
            ValueError: If the configuration is unknown, a revision is given for a data set that is not on
                the hub, or a local file is not the published one.
            FileNotFoundError: If a local file is missing.
        """
        known_names = [config.name for config in self.BUILDER_CONFIGS]
        if config_name is None:
            config_name = known_names[0]
        if config_name not in known_names:
            raise make_unknown_name_error(
                f"configuration of {self.NAME!r}", config_name, known_names
            )
        self.hub = self.HUB
        if revision is not None:
            if self.HUB is None:
                raise ValueError(
                    f"Expected no `revision` for {self.NAME!r}, which is not on the hub."
                )
            self.hub = dataclasses.replace(self.HUB, revision=revision)

        location = self._locate(config_name, data_dir, revision, other_versions)
        self.origin = location.origin
        self.files = location.files
        self.is_published = location.is_published
        self.known_issues = known_issues
        self.issues = select_issues(known_issues, self.ISSUE_TABLE, config_name)
        self.issue_counts: dict[str, tuple[IssueCount, ...]] = {}

        # A cache is valid only for the code that wrote it, the content that was read, and the known
        # issues that were corrected.
        builder_code = compute_sha256(inspect.getfile(type(self)))
        key: list[Any] = [digest_package_code(), builder_code, location.key]
        for issue in self.issues:
            key.append(issue.model_dump(mode="json"))
        digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        cache_folder = None
        if cache_dir is not None:
            cache_folder = os.fspath(cache_dir)
        super().__init__(
            cache_dir=cache_folder,
            dataset_name=self.NAME,
            config_name=config_name,
            hash=digest[:32],
            **options,
        )

    # ---------------------------------------------------------------- what a data set declares

    def features(self) -> datasets.Features:
        """Return the columns."""
        raise NotImplementedError

    def splits(self) -> Mapping[str, Sequence[str]]:
        """Return split -> paths of the source files that contain it.

        A data set may be published in several forms, such as an archive or its unpacked files. The first
        form with a local copy of every file is used. If there is none, the first form is downloaded.
        """
        forms = self._get_forms(self.config.name)
        for form in forms:
            is_complete = set(_list_paths(form)) <= set(self.files)
            if is_complete:
                return form
        return forms[0]

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield the examples of a split from its verified files."""
        raise NotImplementedError

    def from_hub(self, split: str, row: Row, number: int) -> Row | None:
        """Convert a row of the hub's files to an example of this data set.

        Args:
            split: Name of the split.
            row: Column of the hub -> value.
            number: Number of the row in its split, for the id.

        Returns:
            Column of `features` -> value; None to leave the row out.
        """
        raise NotImplementedError

    def transform(self, rows: Iterable[Row]) -> Iterable[Row]:
        """Change the corrected rows of a split, such as by a perturbation."""
        return rows

    def check_options(self) -> None:
        """Check `self.config`. Raise an error of one sentence if an option is invalid."""

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        """Return the alternative sets of files from which a configuration can be read.

        Any one of the sets suffices, such as an archive, or its unpacked files. From a local folder, the
        first complete set is read. If nothing is complete, the first set is downloaded.

        Args:
            config_name: Name of the configuration.

        Returns:
            The source files of each set; for a data set without alternatives, a single set of all sources.
        """
        source_by_path = {source.path: source for source in cls.SOURCES}
        forms = []
        for form in cls._get_forms(config_name):
            sources = tuple(source_by_path[path] for path in _list_paths(form))
            forms.append(sources)
        if not forms:
            return [cls.SOURCES]
        return forms

    @classmethod
    def _get_forms(cls, config_name: str) -> Sequence[Splits]:
        if isinstance(cls.FORMS, Mapping):
            return cls.FORMS[config_name]
        return cls.FORMS

    # ---------------------------------------------------------------- the interface of datasets

    def _info(self) -> datasets.DatasetInfo:
        """Return the metadata of the data set; called by `datasets` when a builder is made."""
        # Options are checked here, because `datasets` calls this method before any file is read.
        self.check_options()
        return datasets.DatasetInfo(
            description=self.DESCRIPTION,
            features=self.features(),
            citation=self.CITATION,
            license=self.LICENSE,
            homepage=self.HOMEPAGE,
        )

    def _save_info(self) -> None:
        """Store the metadata with the cache, with a note on the corrected issues; called by `datasets`."""
        # All splits have been generated by now, so that all corrections are counted.
        counts: list[IssueCount] = []
        for split_counts in self.issue_counts.values():
            counts.extend(split_counts)
        self.info.description = add_note(self.info.description, counts)
        super()._save_info()

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        """Return the splits with the arguments of `_generate_examples`; called by `datasets`.

        Args:
            dl_manager: Download manager of `datasets`.
        """
        if self.origin == "hub":
            files_by_split = self._download_hub_files(dl_manager)
        else:
            files_by_split = self._get_local_files(dl_manager)
        # The rule of a known issue may compare a split with another one, for example to find training
        # items that are in the test split. So the generator of a split gets the files of these splits, too.
        compared_splits = {issue.other_split for issue in self.issues}
        compared_files = {}
        for split, files in files_by_split.items():
            if split in compared_splits:
                compared_files[split] = files

        generators = []
        for split, files in files_by_split.items():
            arguments = {"split": split, "files": files, "compared_files": compared_files}
            generators.append(datasets.SplitGenerator(name=split, gen_kwargs=arguments))
        return generators

    def _download_hub_files(self, dl_manager: Any) -> dict[str, dict[str, str]]:
        """Download the files of the configuration from the hub.

        Args:
            dl_manager: Download manager of `datasets`; a streaming one returns addresses instead of copies.

        Returns:
            Split -> number of the file in its split, as a string -> local copy, such as
            `{"train": {"0": "/cache/3f5a", "1": "/cache/9b02"}}`.
        """
        assert self.hub is not None  # noqa: S101
        addresses_by_split = {}
        for split, names in self.hub.files[self.config.name].items():
            addresses_by_split[split] = list(map(self.hub.address, names))
        copies_by_split = self._download(dl_manager, addresses_by_split)

        files_by_split = {}
        for split, copies in copies_by_split.items():
            # The names of downloaded copies are digests. The number of a file is used in messages instead.
            files_by_split[split] = {str(number): copy for number, copy in enumerate(copies)}
        return files_by_split

    def _get_local_files(self, dl_manager: Any) -> dict[str, dict[str, str]]:
        """Return the local copies of the source files, downloaded from the publisher if necessary.

        Args:
            dl_manager: Download manager of `datasets`.

        Returns:
            Split -> path of a source -> its local copy, such as
            `{"train": {"train.tsv": "/data/toy/train.tsv"}}`. Splits whose files are missing are left out.
        """
        paths_by_split = self.splits()
        if self.origin == "url":
            self._download_sources(dl_manager)
        files_by_split = {}
        for split, paths in paths_by_split.items():
            # A folder may contain the files of some splits only.
            has_files = set(paths) <= set(self.files)
            if has_files:
                files_by_split[split] = {path: self.files[path] for path in paths}
        return files_by_split

    def _download_sources(self, dl_manager: Any) -> None:
        """Download the publisher's files, verify their checksums, and store their paths in `self.files`.

        Args:
            dl_manager: Download manager of `datasets`.
        """
        if dl_manager.is_streaming:
            # A source is verified before it is read, so that it cannot be streamed.
            dl_manager = datasets.DownloadManager(dataset_name=self.NAME)
        sources = self.forms(self.config.name)[0]
        url_by_path = {source.path: source.url for source in sources}
        copy_by_path = self._download(dl_manager, url_by_path)
        for source in sources:
            source.verify(copy_by_path[source.path])
        self.files = copy_by_path

    def _generate_examples(
        self,
        split: str,
        files: Mapping[str, str],
        compared_files: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Iterator[tuple[int, Row]]:
        """Yield (number, example) for each example of a split; called by `datasets`.

        Args:
            split: Name of the split.
            files: Path of a source -> its local copy, for the files of the split.
            compared_files: Split -> its files, for the splits with which the rules of known issues compare
                this split; None if there are none.

        Raises:
            ValueError: If a file cannot be read in its published form, or there is no example.
        """
        number = -1
        try:
            rows = self._read_corrected(split, files, compared_files or {})
            for number, example in enumerate(self.transform(rows)):
                yield number, example
        except _READING_ERRORS as error:
            # The messages of this package begin with "Expected". Other errors come from reading a damaged
            # file, and need an explanation.
            if str(error).startswith("Expected"):
                raise
            raise ValueError(
                f"Expected {', '.join(files)} of {self.NAME!r} as published, but split {split!r} "
                f"cannot be read: {get_first_line(error)}."
            ) from error
        has_examples = number >= 0
        if not has_examples:
            raise ValueError(
                f"Expected at least one example in split {split!r} of {self.NAME!r}, "
                "but it is empty."
            )

    # ----------------------------------------------------------------------------- reading rows

    def _read_split(self, split: str, files: Mapping[str, str]) -> Iterator[Row]:
        """Yield the examples of a split as released, without corrections.

        Args:
            split: Name of the split.
            files: Path of a source -> its local copy. For files of the hub, number of the file -> its
                copy or address.
        """
        if self.origin != "hub":
            paths = {path: Path(file) for path, file in files.items()}
            yield from self.examples(split, paths)
            return
        # Rows are numbered across all files of a split, including the rows that are left out, so that an
        # id is the position in the published split.
        number = 0
        for file in files.values():
            for row in read_rows(file):
                example = self.from_hub(split, row, number)
                number += 1
                if example is not None:
                    yield example

    def _read_corrected(
        self, split: str, files: Mapping[str, str], compared_files: Mapping[str, Mapping[str, str]]
    ) -> Iterable[Row]:
        """Return the examples of a split with its known issues corrected.

        The corrections are counted in `self.issue_counts`.

        Args:
            split: Name of the split.
            files: Path of a source -> its local copy, for the files of the split.
            compared_files: Split -> its files, for the splits that the rules of known issues compare with.
        """
        rows = self._read_split(split, files)
        # Issues of behavioral tests are corrected in the suite, and not in its rows.
        issues = [issue for issue in self.issues if issue.test is None]
        # An issue whose split is None affects all splits.
        affected_splits = {issue.split for issue in issues}
        is_affected = None in affected_splits or split in affected_splits
        if not is_affected:
            # The rows are streamed, and never all in memory.
            return rows

        def read_compared_split(name: str) -> Iterator[Row] | None:
            """Return the rows of another split; None if there are no files of it."""
            if name not in compared_files:
                return None
            return self._read_split(name, compared_files[name])

        correction = correct_rows(
            rows,
            issues,
            split=split,
            read_split=read_compared_split,
            is_published=self.is_published,
        )
        self.issue_counts[split] = correction.counts
        return correction.rows

    # --------------------------------------------------------------------------- finding files

    def _locate(
        self,
        config_name: str,
        data_dir: str | os.PathLike[str] | None,
        revision: str | None,
        other_versions: bool,
    ) -> Location:
        """Decide whether to read from a local folder, the hub, or the publisher's addresses.

        Args:
            config_name: Name of the configuration.
            data_dir: Folder of local copies; None for the folder that `RIGHTREASONS_DATA_DIR` names, if any.
            revision: Revision of the hub repository that the user passed; None for the pinned one.
            other_versions: Whether local files may differ from the published ones.

        Raises:
            FileNotFoundError: If a file is missing in a local folder.
        """
        forms = self.forms(config_name)
        has_sources = len(forms[0]) > 0
        if not has_sources and self.hub is None:
            return Location("generated", files={}, key=[])

        folder: str | os.PathLike[str] | None = data_dir
        if data_dir is None:
            # Use `getenv`, because `datasets` replaces the module `os` when it streams, and the `environ`
            # of the replacement may be outdated. An empty variable names no folder.
            folder = os.getenv(DATA_DIR_VARIABLE) or None
        # If the user passed a revision, the data is read from the hub even if there is a local copy.
        if has_sources and revision is None and folder is not None:
            is_required = data_dir is not None
            location = self._locate_copies(forms, folder, other_versions, is_required)
            if location is not None:
                return location
        if self.hub is not None and config_name in self.hub.files:
            addresses = self._list_hub_addresses(self.hub, config_name)
            return Location("hub", files={}, key=["hub", *addresses])
        # Without local copies and a hub repository, the first form is downloaded from the publisher.
        form = forms[0]
        checksums = [[source.path, source.sha256] for source in form]
        return Location("url", files={}, key=["url", checksums], is_published=_has_checksums(form))

    def _locate_copies(
        self,
        forms: Sequence[Sequence[Source]],
        folder: str | os.PathLike[str],
        other_versions: bool,
        is_required: bool,
    ) -> Location | None:
        """Find and verify local copies of the source files.

        Args:
            forms: Alternative sets of source files. One complete set suffices.
            folder: Folder of local copies.
            other_versions: Whether files may differ from the published ones.
            is_required: Whether the user passed the folder for this data set. Otherwise, it is a folder for
                all data sets, and may contain no file of this one.

        Returns:
            The copies of the first complete set; None if a folder that is not required contains no file of
            any set.

        Raises:
            FileNotFoundError: If no set is complete.
            ValueError: If a file is not the published one.
        """
        files = self._find_files(Path(folder), forms)
        for form in forms:
            is_complete = all(source.path in files for source in form)
            if not is_complete:
                continue
            checksums = []
            copies = {}
            for source in form:
                file = files[source.path]
                checksums.append([source.path, source.verify(file, other_versions=other_versions)])
                copies[source.path] = str(file)
            is_verified = not other_versions and _has_checksums(form)
            return Location(
                "local", files=copies, key=["local", checksums], is_published=is_verified
            )
        if not files and not is_required:
            return None

        # No set is complete. Name a missing file of the set that has the most files, which is most likely
        # the one that the user has in mind.
        nearest_form = max(forms, key=lambda form: sum(source.path in files for source in form))
        missing_sources = [source for source in nearest_form if source.path not in files]
        raise self._make_missing_error(missing_sources[0], folder)

    def _list_hub_addresses(self, hub: Hub, config_name: str) -> list[str]:
        """Return the addresses of the files of a configuration at a fixed commit of the hub repository.

        Args:
            hub: The repository. If its revision is a branch or a tag, `self.hub` is replaced by the repository
                at its current commit.
            config_name: Name of the configuration.

        Raises:
            ConnectionError: If the current commit cannot be looked up.
        """
        is_commit = _COMMIT.fullmatch(hub.revision) is not None
        if not is_commit:
            # The addresses are part of the key of the cache, so that they must not change with a branch.
            from huggingface_hub import HfApi

            with self._explain_connection_errors():
                commit = str(HfApi().dataset_info(hub.repo_id, revision=hub.revision).sha)
            hub = dataclasses.replace(hub, revision=commit)
            self.hub = hub
        addresses: list[str] = []
        for names in hub.files[config_name].values():
            addresses.extend(map(hub.address, names))
        return addresses

    def _list_folders(self, root: Path) -> Sequence[Sequence[Path]]:
        """Return the folders in which to look for the files, in groups of folders.

        All files are read from the first group with any of the files. Within the group, each file is read
        from the first folder that contains it.

        Args:
            root: Folder that the user passed.
        """
        # FOLDER may be nested, such as "tweeteval/hate", and the user may have passed any of its parents.
        # So look in root/tweeteval/hate, then in root/hate, then in root itself.
        parts = Path(self.FOLDER).parts
        groups = []
        for start in range(len(parts) + 1):
            folder = root.joinpath(*parts[start:])
            groups.append([folder])
        return groups

    def _find_files(self, folder: Path, forms: Sequence[Sequence[Source]]) -> dict[str, Path]:
        """Find the source files in a folder, or in its subfolder for the data set.

        Args:
            folder: Folder that the user passed.
            forms: Alternative sets of source files. The files of all sets are looked for.

        Returns:
            Path of a source -> its file, such as `{"train.tsv": Path("/data/toy/train.tsv")}`, for the
            files that exist.

        Raises:
            FileNotFoundError: If the folder does not exist.
        """
        root = folder.expanduser().resolve()
        if not root.is_dir():
            raise FileNotFoundError(
                f"Expected `data_dir` (or {DATA_DIR_VARIABLE}) to name a folder, "
                f"but {root} is not one."
            )
        paths: set[str] = set()
        for form in forms:
            paths.update(source.path for source in form)
        for folders in self._list_folders(root):
            files = {}
            for path in paths:
                for parent in folders:
                    file = parent / path
                    if file.is_file():
                        files[path] = file
                        break
            # Files of different groups are not mixed.
            if files:
                return files
        return {}

    # ---------------------------------------------------------------------------------- errors

    def _make_missing_error(
        self, source: Source, folder: str | os.PathLike[str]
    ) -> FileNotFoundError:
        """Return the error for a source file that is missing in a folder of local copies."""
        return OptionFileError(
            f"Expected the file {source.path!r} of {self.NAME!r}, but {os.fspath(folder)} does not "
            f"hold it: {self._describe_remedies(source)}.",
            option="data_dir",
        )

    def _describe_remedies(self, *sources: Source) -> str:
        """Describe how to get missing files, as the end of a sentence that begins with "name the folder".

        Args:
            *sources: Missing source files. The address of the first one is named if the data set is not on
                the hub.
        """
        if self.hub is None:
            origin = f"from {sources[0].url}"
        else:
            origin = f"from the hub ({self.hub.repo_id})"
        return (
            f"name the folder of a local copy with `data_dir` or {DATA_DIR_VARIABLE}, "
            f"or leave both out to download it {origin}"
        )

    def _download(self, dl_manager: Any, addresses: Any) -> Any:
        with self._explain_connection_errors():
            return dl_manager.download(addresses)

    @contextlib.contextmanager
    def _explain_connection_errors(self) -> Iterator[None]:
        """Replace an error of a download in the `with` block by an error that tells the user what to do.

        Raises:
            ConnectionError: If the download fails, whatever the hub, fsspec or an HTTP client raises.
        """
        try:
            yield
        except Exception as error:
            # httpx raises RuntimeError if its client was closed.
            is_download_error = is_user_error(error) or isinstance(error, RuntimeError)
            if not is_download_error:
                # A bug of this package must stay visible.
                raise
            raise OptionConnectionError(
                f"Expected to download {self.NAME!r}, but it cannot be reached "
                f"({type(error).__name__}): {self._describe_remedies(*self.SOURCES)}.",
                option="data_dir",
            ) from error


class ClassificationBuilder(Builder):
    """A data set of texts with named labels: columns id, text and label."""

    HUB_TEXT: ClassVar[str] = "text"

    def features(self) -> datasets.Features:
        return make_classification_features(self.LABELS)

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        """Yield (text, label) for each line of the files of a split.

        A row with an empty text is left out by `examples`, but counted in the numbers of the ids.

        Args:
            *files: Files of the split, in the order in which `declared.json` lists them.
        """
        raise NotImplementedError

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield the examples of a split whose text is not empty.

        An example is such as `{"id": "train-0", "text": "A fine film.", "label": 1}`.
        """
        for number, (text, label) in enumerate(self.rows(*files.values())):
            if text.strip():
                yield {"id": f"{split}-{number}", "text": text.strip(), "label": label}

    def from_hub(self, split: str, row: Row, number: int) -> Row | None:
        """Convert a row of the hub's files to an example; None if it has no text."""
        text = row[self.HUB_TEXT].strip()
        if not text:
            return None
        return {"id": f"{split}-{number}", "text": text, "label": row["label"]}


def _has_checksums(form: Sequence[Source]) -> bool:
    """Return whether the checksum of every file is known."""
    return all(source.sha256 for source in form)


def _list_paths(form: Splits) -> list[str]:
    """Return the distinct paths of the sources of a form, in the order of its splits.

    Args:
        form: Split -> paths of its sources, for one of the forms in which a data set is published.

    Example:
        >>> _list_paths({"train": ["all.json"], "test": ["all.json", "labels.txt"]})
        ['all.json', 'labels.txt']
    """
    # The keys of a dictionary are a set that keeps its order.
    paths: dict[str, None] = {}
    for split_paths in form.values():
        for path in split_paths:
            paths[path] = None
    return list(paths)
