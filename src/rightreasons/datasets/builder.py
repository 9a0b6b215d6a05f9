r"""The base of every data set builder: finds the files, verifies them, keys the cache, checks the examples.

How to add a data set: what it is, in `declared.json`; how its files are read, in the files of this folder; where
its class is, in `catalog.py`.

    "toy": {
      "folder": "toy",                                  its folder in the data directory; "a/b" works too
      "description": …, "citation": …, "license": …, "homepage": …, "labels": ["bad", "good"],
      "sources": […],                                   path, url, size and sha256 of each
      "forms": [{"train": ["train.tsv"]}],              split -> the sources that hold it; any one of the forms suffices
      "hub": {"repo_id": …, "revision": …, "files": {"default": {"train": ["train.parquet"]}}}           optional
    }

    class Toy(ClassificationBuilder):
        NAME = "toy"                                    # the name in the table, the catalog and the cache
        HUB_TEXT = "sentence"                           # the column of the texts on the hub

        def rows(self, file):                           # the verified files of a split
            yield from read_table(file)                 # a text and its label each

`ClassificationBuilder` has the columns id, text and label. Other data sets extend `Builder` and say more:

        def features(self):                             # the columns
            return multiple_choice_features()

        def from_hub(self, split, row, number):         # one row of the hub's files -> one example; None drops it
            return {"id": f"train-{number}", "prompt": row["goal"], "choices": row["ends"], "label": row["label"]}

Several configurations: `BUILDER_CONFIGS = [Config(name=…), …]`; the first is the default. For further options, extend
the dataclass `Config`, set it as `BUILDER_CONFIG_CLASS`, read them from `self.config`, and check them in
`check_options`, which runs before anything is read. `forms` is by configuration where the files depend on the
configuration. A generated data set has neither sources nor hub.

What reading raises becomes one sentence, as the published files are known by their checksums. The base class checks
that no split is empty.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import inspect
import json
import lzma
import os
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

import datasets

from rightreasons.core.errors import (
    OptionConnectionError,
    OptionFileError,
    get_first_line,
    is_user_error,
    make_unknown_name_error,
)
from rightreasons.core.label_names import check_label_names
from rightreasons.core.options import check_options
from rightreasons.core.store import digest_package_code
from rightreasons.core.validation import check_kind

if TYPE_CHECKING:
    import datasets

_MODULES = {
    "planted": "planted_shortcuts",
    "texts": "sst2 cola trec ag_news tweeteval_emotion tweeteval_hate tweeteval_irony tweeteval_sentiment qqp "
    "imdb_contrast imdb_counterfactual squad",
    "suites.checklist": "checklist_sentiment checklist_paraphrase checklist_reading",
    "multiple_choice": "anli hellaswag piqa socialiqa perturbed_anli perturbed_hellaswag perturbed_piqa "
    "perturbed_socialiqa balanced_copa copa_easy_hard bcopa_ce",
}

CATALOG: dict[str, str] = {
    name: module for module, names in _MODULES.items() for name in names.split()
}
"""Name -> the module of `rightreasons.datasets` that has the builder with this NAME, imported on demand."""

_SOURCE_OPTIONS = ("other_versions", "cache_dir")


def available_datasets() -> list[str]:
    """Return the names that `load_dataset` accepts, sorted."""
    return sorted(CATALOG)


def builder_class(name: str) -> type[Builder]:
    """Return the builder class of a data set.

    Raises:
        ValueError: If the name is unknown; the message suggests the nearest names.
    """
    check_kind(name, "name", str)
    if name not in CATALOG:
        raise make_unknown_name_error("data set", name, CATALOG)
    module = importlib.import_module(f"rightreasons.datasets.{CATALOG[name]}")
    builder: type[Builder] = next(
        each for each in vars(module).values() if getattr(each, "NAME", None) == name
    )
    return builder


def load_builder(
    name: str,
    config: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    revision: str | None = None,
    **options: Any,
) -> Builder:
    """Return the builder of a data set, ready to prepare it; the arguments are those of `load_dataset`."""
    import datasets

    builder = builder_class(name)
    inherited = {field.name for field in dataclasses.fields(datasets.BuilderConfig)}
    options_of_data = [
        f.name for f in dataclasses.fields(builder.BUILDER_CONFIG_CLASS) if f.name not in inherited
    ]
    check_options(options, (*options_of_data, *_SOURCE_OPTIONS), f"the data set {name!r}")
    return builder(config_name=config, data_dir=data_dir, revision=revision, **options)


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

    Args:
        name: One of `available_datasets()`.
        config: A configuration; None for the first one.
        split: A split, with slices and sums as in datasets ("train[:10%]", "train+test"); None for all of them.
        data_dir: A folder of local copies, with one folder per data set, or the data set's own folder. None for the
            environment variable `RIGHTREASONS_DATA_DIR`, and for the hub where there is no copy.
        streaming: Whether to return an iterable dataset that writes nothing to disk.
        revision: A revision of the hub repository instead of the pinned one, read from the hub even where there is a
            local copy.
        **options: `other_versions` (True reads local files that differ from the published ones), `cache_dir`, and the
            options of the data set itself.

    Returns:
        A Dataset, or a DatasetDict when `split` is None; their iterable forms when streaming.

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
        # The user needs the sentence of the builder itself; datasets hides it behind a general one.
        if isinstance(error.__cause__, ValueError):
            raise error.__cause__ from None
        raise
    return builder.as_dataset(split=split)


# ------------------------------------------------------------------------------------------------- sources and archives


MAX_ARCHIVE_BYTES = 1 << 30
"""The default limit on the unpacked size of an archive: 1 GiB."""

# What the standard library raises on broken archives; RuntimeError: an encrypted zip, OverflowError: an absurd size.
_DAMAGED: tuple[type[Exception], ...] = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
)
_DAMAGED += (OSError, RuntimeError, OverflowError, UnicodeError, struct.error)


@dataclasses.dataclass(frozen=True)
class Source:
    """One official file of a data set.

    Attributes:
        path: Its path inside the data set's own folder, with forward slashes.
        url: Its official address, pinned to a version where possible.
        size: Its length in bytes; None with an unknown checksum.
        sha256: Its checksum, 64 hexadecimal digits; None where it is unknown, so that no copy can be verified.
        license: The license of the file; empty where it is that of the data set.
        citation: Whom to cite: authors, year, title; empty where it is the citation of the data set.
    """

    path: str
    url: str
    size: int | None = None
    sha256: str | None = None
    license: str = ""
    citation: str = ""

    def verify(self, file: str | os.PathLike[str], *, other_versions: bool = False) -> str:
        """Check a copy of this file and return its sha256.

        Args:
            file: The copy.
            other_versions: Whether a copy with another size or checksum is accepted.

        Returns:
            The checksum of the copy.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If its size or checksum is not the declared one; the message names both.
        """
        file = Path(file)
        if not file.is_file():
            raise FileNotFoundError(
                f"Expected a file at {file}, but there is none; it is published at {self.url}."
            )
        size, sha256 = file.stat().st_size, sha256_of(file)
        known = self.sha256 is not None
        if known and not other_versions and (size != self.size or sha256 != self.sha256):
            raise ValueError(
                f"Expected {file} to be the published file of {self.size} bytes with sha256 {self.sha256}, but found "
                f"{size} bytes with sha256 {sha256}; other_versions=True accepts it."
            )
        return sha256


def sha256_of(file: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with open(file, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def members(
    archive: str | os.PathLike[str], *, max_bytes: int = MAX_ARCHIVE_BYTES
) -> Iterator[tuple[str, bytes]]:
    """Read the files of a zip or (compressed) tar archive, one by one, without writing anything.

    Skips folders, links, and the `__MACOSX` shadows of Apple's archiver. Counts the bytes while it unpacks, so that a
    header with a false size gains nothing.

    Args:
        archive: A .zip, .tar, .tar.gz, .tar.bz2 or .tar.xz file.
        max_bytes: The maximum size of all files together.

    Yields:
        The name and the content of each file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no such archive, damaged or encrypted, or exceeds the limit.
    """
    left = max_bytes
    try:
        for name, stream in _entries(Path(archive)):
            with stream:
                content = stream.read(left + 1)
            if len(content) > left:
                raise ValueError(
                    f"Expected the archive {archive} to unpack to at most {max_bytes} bytes, but {name!r} exceeds that."
                )
            left -= len(content)
            yield name, content
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise ValueError(
            f"Expected a whole zip or tar archive, but {archive} cannot be read: {error}."
        ) from error


def _entries(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if not entry.is_dir() and not entry.filename.startswith("__MACOSX/"):
                    yield entry.filename, packed.open(entry)
    else:
        with tarfile.open(archive) as bundle:
            for item in bundle:
                if item.isfile() and (stream := bundle.extractfile(item)) is not None:
                    yield item.name, stream


DATA_DIR_VARIABLE = "RIGHTREASONS_DATA_DIR"
"""The environment variable that names the folder of local copies, with one folder per data set."""

DECLARED = Path(__file__).with_name("declared.json")
"""What the data sets are: name -> description, citation, license, sources, forms, and their place on the hub."""

Splits = Mapping[str, Sequence[str]]
"""Split -> the paths of the sources that hold it."""


@dataclasses.dataclass
class Config(datasets.BuilderConfig):  # type: ignore[misc]
    """A named configuration; extend it with the options of a data set."""

    version: str = "1.0.0"  # the default of BuilderConfig is 0.0.0, whatever the builder's VERSION


@dataclasses.dataclass(frozen=True)
class Hub:
    """The same data on the Hugging Face hub, as parquet or JSON lines.

    Attributes:
        repo_id: The dataset repository.
        revision: A commit, or a branch, which is resolved to its commit before anything is read, so that the data
            cannot change under a cache; `refs/convert/parquet` where the repository holds only a loading script.
        files: Configuration -> split -> the files that hold it.
    """

    repo_id: str
    revision: str
    files: Mapping[str, Mapping[str, Sequence[str]]]

    def address(self, file: str) -> str:
        """Return the address of one of the repository's files, as fsspec and the download manager read it."""
        return f"hf://datasets/{self.repo_id}@{self.revision.replace('/', '%2F')}/{file}"


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads(DECLARED.read_text("utf-8"))
    return table


def sources_of(name: str) -> tuple[Source, ...]:
    """Return the sources that `declared.json` has under a name."""
    return tuple(Source(**source) for source in _table()[name].get("sources", ()))


def _declared(name: str) -> dict[str, Any]:
    """Return the attributes of a builder class that `declared.json` has."""
    if name not in _table():
        return {}
    found = {key.upper(): value for key, value in _table()[name].items()}
    hub = {"HUB": Hub(**found["HUB"])} if "HUB" in found else {}
    sources = {"SOURCES": sources_of(name)} if "SOURCES" in found else {}
    return {**found, **sources, **hub}


class Builder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """A `datasets.GeneratorBasedBuilder` whose cache never serves stale data.

    The cache key holds the checksum of every source file and the version of the builder's code, so neither an edited
    file nor a changed builder meets an old cache, and the same files in two places share one.

    Args:
        config_name: The configuration; None for the first.
        data_dir: A folder with one folder per data set, or the data set's own folder; None for the environment variable
            `RIGHTREASONS_DATA_DIR`. Without a local copy it is read from the hub, or else from the publisher's address.
        revision: Another revision of the hub repository.
        other_versions: Whether to read local files that differ from the published ones.
        cache_dir: The folder of prepared data; None for the default of `datasets`.
        **options: Options of the data set.
    """

    BUILDER_CONFIG_CLASS = Config
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="default")]

    NAME: ClassVar[str]
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
        super().__init_subclass__(**kwargs)
        for name, value in _declared(vars(cls).get("NAME", "")).items():
            setattr(cls, name, value)

    def __init__(
        self,
        *,
        config_name: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        revision: str | None = None,
        other_versions: bool = False,
        cache_dir: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        known = [config.name for config in self.BUILDER_CONFIGS]
        if config_name is not None and config_name not in known:
            raise make_unknown_name_error(f"configuration of {self.NAME!r}", config_name, known)
        self.hub = self.HUB
        if revision is not None:
            if self.HUB is None:
                raise ValueError(
                    f"Expected no `revision` for {self.NAME!r}, which is not on the hub."
                )
            self.hub = dataclasses.replace(self.HUB, revision=revision)
        self.origin, self.files, key = self._locate(
            config_name or known[0], data_dir, revision, other_versions
        )
        code = digest_package_code(), sha256_of(inspect.getfile(type(self)))
        super().__init__(
            cache_dir=None if cache_dir is None else os.fspath(cache_dir),
            dataset_name=self.NAME,
            config_name=config_name or known[0],
            hash=hashlib.sha256(json.dumps([*code, key]).encode()).hexdigest()[:32],
            **options,
        )

    # ------------------------------------------------------------------------------- what a data set declares

    def features(self) -> datasets.Features:
        """Return the columns."""
        raise NotImplementedError

    def splits(self) -> Mapping[str, Sequence[str]]:
        """Return each split with the paths of the sources that hold it."""
        forms = self._forms(self.config.name)
        return next(
            (
                form
                for form in forms
                if {path for paths in form.values() for path in paths} <= set(self.files)
            ),
            forms[0],
        )

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield the examples of a split from its verified files."""
        raise NotImplementedError

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any] | None:
        """Turn one row of the hub's files into an example, or into None to leave it out."""
        raise NotImplementedError

    def check_options(self) -> None:
        """Check `self.config`; raise an error of one sentence where an option is wrong."""

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        """Return alternative sets of files; any one suffices.

        The first one that is complete in a local folder is read; the first of all is downloaded.
        """
        sources = {source.path: source for source in cls.SOURCES}
        forms = [
            dict.fromkeys(path for paths in form.values() for path in paths)
            for form in cls._forms(config_name)
        ]
        return [tuple(sources[path] for path in form) for form in forms] or [cls.SOURCES]

    @classmethod
    def _forms(cls, config_name: str) -> Sequence[Splits]:
        return cls.FORMS[config_name] if isinstance(cls.FORMS, Mapping) else cls.FORMS

    # ---------------------------------------------------------------------------------------- the interface of datasets

    def _info(self) -> datasets.DatasetInfo:
        self.check_options()
        return datasets.DatasetInfo(
            description=self.DESCRIPTION,
            features=self.features(),
            citation=self.CITATION,
            license=self.LICENSE,
            homepage=self.HOMEPAGE,
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        if self.origin == "hub" and (hub := self.hub) is not None:
            wanted_files = hub.files[self.config.name].items()
            parts = self._download(
                dl_manager, {s: [hub.address(file) for file in files] for s, files in wanted_files}
            )
            return [
                _split(name, files={str(i): f for i, f in enumerate(part)})
                for name, part in parts.items()
            ]
        wanted = self.splits()
        if self.origin == "url":
            if (
                dl_manager.is_streaming
            ):  # a source is verified before it is read, so it is not streamed
                dl_manager = datasets.DownloadManager(dataset_name=self.NAME)
            sources = {source.path: source for source in self.forms(self.config.name)[0]}
            copies = self._download(
                dl_manager, {path: source.url for path, source in sources.items()}
            )
            for path, source in sources.items():
                source.verify(copies[path])
            self.files = copies
        return [
            _split(name, files={path: self.files[path] for path in paths})
            for name, paths in wanted.items()
            if all(path in self.files for path in paths)
        ]

    def _generate_examples(
        self, split: str, files: Mapping[str, str]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        number = -1
        try:
            for number, example in enumerate(self._raw_examples(split, files)):
                yield number, example
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            SyntaxError,
        ) as error:  # the last one of XML
            if str(error).startswith("Expected"):
                raise
            raise ValueError(
                f"Expected {', '.join(files)} of {self.NAME!r} as published, but split {split!r} cannot be read: "
                f"{get_first_line(error)}."
            ) from error
        if number < 0:
            raise ValueError(
                f"Expected at least one example in split {split!r} of {self.NAME!r}, but it is empty."
            )

    # --------------------------------------------------------------------------------------------------------- private

    def _raw_examples(self, split: str, files: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        if self.origin != "hub":
            yield from self.examples(split, {path: Path(file) for path, file in files.items()})
            return
        rows = (row for file in files.values() for row in read_rows(file))
        examples = (self.from_hub(split, row, number) for number, row in enumerate(rows))
        yield from (example for example in examples if example is not None)

    def _locate(
        self,
        config_name: str,
        data_dir: str | os.PathLike[str] | None,
        revision: str | None,
        other_versions: bool,
    ) -> tuple[str, dict[str, str], list[Any]]:
        """Decide where to read from: the origin, the local files, and their part of the cache key."""
        forms = self.forms(config_name)
        sources = forms[0]
        if not sources and self.hub is None:
            return "generated", {}, []
        # By getenv: where datasets streams, it puts a copy of `os` in its place, whose `environ` may be an old one.
        named = data_dir if data_dir is not None else os.getenv(DATA_DIR_VARIABLE) or None
        if sources and revision is None and named is not None:
            found = self._found(Path(named), forms)
            form = next(
                (form for form in forms if all(source.path in found for source in form)), None
            )
            if form is not None:
                files = {source.path: str(found[source.path]) for source in form}
                checksums = [
                    [file.path, file.verify(files[file.path], other_versions=other_versions)]
                    for file in form
                ]
                return "local", files, ["local", checksums]
            if found or data_dir is not None:
                raise self._missing(
                    next(source for source in sources if source.path not in found), named
                )
        if self.hub is not None and config_name in self.hub.files:
            return "hub", {}, ["hub", *self._hub_key(self.hub, config_name)]
        return "url", {}, ["url", [[source.path, source.sha256] for source in sources]]

    def _hub_key(self, hub: Hub, config_name: str) -> list[str]:
        """Pin the revision to a commit and return what keys the cache: the addresses."""
        if not re.fullmatch("[0-9a-f]{40}", hub.revision):
            # A branch moves: ask for its current commit, so that no cache outlives it.
            from huggingface_hub import HfApi

            with self._reached():  # no connection, or no such revision
                commit = str(HfApi().dataset_info(hub.repo_id, revision=hub.revision).sha)
            self.hub = hub = dataclasses.replace(hub, revision=commit)
        return [hub.address(file) for files in hub.files[config_name].values() for file in files]

    def _places(self, root: Path) -> Sequence[Sequence[Path]]:
        """Return groups of folders; the first that holds a file holds them all."""
        parts = Path(self.FOLDER).parts
        return [[root.joinpath(*parts[start:])] for start in range(len(parts) + 1)]

    def _found(self, named: Path, forms: Sequence[Sequence[Source]]) -> dict[str, Path]:
        """Find the data set's files: in the named folder, or in its subfolder with the data set's name."""
        root = named.expanduser().resolve()
        if not root.is_dir():
            raise FileNotFoundError(
                f"Expected `data_dir` (or {DATA_DIR_VARIABLE}) to name a folder, but {root} is not one."
            )
        paths = {source.path for form in forms for source in form}
        for folders in self._places(root):
            files = {
                path: next((f / path for f in folders if (f / path).is_file()), None)
                for path in paths
            }
            if found := {path: file for path, file in files.items() if file is not None}:
                return found
        return {}

    def _missing(self, source: Source, where: str | os.PathLike[str]) -> FileNotFoundError:
        return OptionFileError(
            f"Expected the file {source.path!r} of {self.NAME!r}, but {os.fspath(where)} does not hold it: "
            f"{self._two_ways(source)}.",
            option="data_dir",
        )

    def _two_ways(self, *sources: Source) -> str:
        online = (
            f"from {sources[0].url}" if self.hub is None else f"from the hub ({self.hub.repo_id})"
        )
        return (
            f"name the folder of a local copy with `data_dir` or {DATA_DIR_VARIABLE}, "
            f"or leave both out to download it {online}"
        )

    def _download(self, dl_manager: Any, addresses: Any) -> Any:
        with self._reached():
            return dl_manager.download(addresses)

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Say in one sentence what the hub, fsspec and their clients raise without a connection."""
        try:
            yield
        except Exception as error:
            if not is_user_error(error) and not isinstance(error, RuntimeError):
                raise
            raise OptionConnectionError(
                f"Expected to download {self.NAME!r}, but it cannot be reached ({type(error).__name__}): "
                f"{self._two_ways(*self.SOURCES)}.",
                option="data_dir",
            ) from error


class ClassificationBuilder(Builder):
    """A data set of texts with named labels: columns id, text and label."""

    HUB_TEXT: ClassVar[str] = "text"

    def features(self) -> datasets.Features:
        return classification_features(self.LABELS)

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        """Yield the text and the label of each row; rows without words are left out, and keep their number."""
        raise NotImplementedError

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        for number, (text, label) in enumerate(self.rows(*files.values())):
            if text.strip():
                yield {"id": f"{split}-{number}", "text": text.strip(), "label": label}

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any] | None:
        text = row[self.HUB_TEXT].strip()
        return {"id": f"{split}-{number}", "text": text, "label": row["label"]} if text else None


def classification_features(label_names: Sequence[str], **extra: Any) -> datasets.Features:
    """Return the columns id, text and label with named labels, and those that a data set adds.

    Args:
        label_names: The names of the classes, in the order of their ids.
        **extra: Column -> feature.
    """
    return datasets.Features(
        {
            "id": datasets.Value("string"),
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=list(check_label_names(label_names))),
            **extra,
        }
    )


def multiple_choice_features(**extra: Any) -> datasets.Features:
    """Return the columns id, prompt, choices and label, and those that a data set adds."""
    return datasets.Features(
        {
            "id": datasets.Value("string"),
            "prompt": datasets.Value("string"),
            "choices": datasets.List(datasets.Value("string")),
            "label": datasets.Value("int64"),
            **extra,
        }
    )


def read_lines(file: str | os.PathLike[str], encoding: str = "utf-8") -> list[str]:
    """Return the lines of a text file; only a newline ends a line.

    `str.splitlines` would also break a text at Unicode's line separators and misalign two line-aligned files.
    """
    text = Path(file).read_bytes().decode(encoding).replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def read_table(file: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the fields of each line of a tab-separated file without quoting."""
    yield from (line.split("\t") for line in read_lines(file))


def read_rows(file: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parquet or JSON-lines file, local or on the hub, a batch at a time."""
    import pyarrow.parquet as pq
    from datasets.utils.file_utils import xopen  # opens hf:// addresses too

    with xopen(file, "rb") as stream:
        if stream.read(4) == b"PAR1":
            stream.seek(0)
            for batch in pq.ParquetFile(stream).iter_batches(batch_size=1024):
                yield from batch.to_pylist()
        else:
            stream.seek(0)
            for line in stream:
                yield json.loads(line)


def _split(name: str, *, files: dict[str, str]) -> datasets.SplitGenerator:
    return datasets.SplitGenerator(name=name, gen_kwargs={"split": name, "files": files})
