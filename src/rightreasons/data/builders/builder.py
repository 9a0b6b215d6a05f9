r"""The base of every data set builder: finds the files, verifies them, keys the cache, checks the examples.

How to add a data set: write one class in one file of this folder and one line in `catalog.py`.

    class Toy(ClassificationBuilder):
        NAME = "toy"                                    # the name in the catalog and in the cache
        FOLDER = "toy"                                  # its folder in the data directory; "a/b" works too
        DESCRIPTION = "Toys, good and bad."
        CITATION = "Maker (1999). Toys."
        LICENSE = "MIT"
        HOMEPAGE = "https://example.org/toys"
        SOURCES = (Source("train.tsv", "https://…", size, sha256),)   # `rightreasons data source FILE` prints this line
        SPLITS = {"train": ("train.tsv",)}              # split -> the paths of the sources that hold it
        LABELS = ("bad", "good")
        HUB = Hub("maker/toy", revision="<commit>", files={"default": {"train": ("train.parquet",)}})   # optional
        HUB_TEXT = "sentence"                           # the column of the texts there

        def examples(self, split, files):               # files: path of a source -> verified local Path
            for number, (text, label) in enumerate(read_table(files["train.tsv"], columns=2)):
                yield {"id": f"train-{number}", "text": text, "label": int(label)}

`ClassificationBuilder` has the columns id, text and label. Other data sets extend `Builder` and say more:

        def features(self):                             # the columns
            return multiple_choice_features()

        def from_hub(self, split, row, number):         # one row of the hub's files -> one example; None drops it
            return {"id": f"train-{number}", "prompt": row["goal"], "choices": row["ends"], "label": row["label"]}

Several configurations: `BUILDER_CONFIGS = [Config(name=…), …]`; the first is the default. For further options, extend
the dataclass `Config`, set it as `BUILDER_CONFIG_CLASS`, read them from `self.config`, and check them in
`check_options`, which runs before anything is read. Override `sources()` or `splits()` where the files depend on the
configuration. A generated data set has neither SOURCES nor HUB.

Raise a `ValueError` of one sentence on bad content. The base class checks that every example has exactly the declared
columns and an `id` of its own, and that no split is empty.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.data.builders.sources import Source, sha256_of
from rightreasons.foundations.code_version import code_of, code_version
from rightreasons.foundations.label_names import check_label_names
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of, unknown_name

DATA_DIR_VARIABLE = "RIGHTREASONS_DATA_DIR"
"""The environment variable that names the folder of local copies, with one folder per data set."""

ORIGINS = ("auto", "local", "hub", "url")
"""Where to read from; "auto" takes a named local copy, or else the hub, or else the publisher's address."""


@dataclasses.dataclass
class Config(datasets.BuilderConfig):  # type: ignore[misc]
    """A named configuration; extend it with the options of a data set."""

    version: str = "1.0.0"  # the default of BuilderConfig is 0.0.0, whatever the builder's VERSION


@dataclasses.dataclass(frozen=True)
class Hub:
    """The same data on the Hugging Face hub, as parquet or JSON lines.

    Attributes:
        repo_id: The dataset repository, or a local folder with the same layout (a mirror).
        revision: A commit, or a branch, which is resolved to its commit before anything is read, so that the data
            cannot change under a cache; `refs/convert/parquet` where the repository holds only a loading script.
        files: Configuration -> split -> the files that hold it.
    """

    repo_id: str
    revision: str
    files: Mapping[str, Mapping[str, Sequence[str]]]

    def address(self, file: str) -> str:
        """Return the address of one of the repository's files, as fsspec and the download manager read it."""
        if os.path.isdir(self.repo_id):
            return os.path.join(os.path.abspath(self.repo_id), file)
        return f"hf://datasets/{self.repo_id}@{self.revision.replace('/', '%2F')}/{file}"


class Builder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """A `datasets.GeneratorBasedBuilder` whose cache never serves stale data.

    The cache key holds the checksum of every source file and the version of the builder's code, so neither an edited
    file nor a changed builder meets an old cache, and the same files in two places share one.

    Args:
        config_name: The configuration; None for the first.
        data_dir: A folder with one folder per data set, or the data set's own folder; None for the environment variable
            `RIGHTREASONS_DATA_DIR`.
        origin: "auto", "local", "hub" or "url".
        repo_id: Another hub repository, or a local folder, with the layout of the declared one.
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
    SPLITS: ClassVar[Mapping[str, Sequence[str]]] = {}
    HUB: ClassVar[Hub | None] = None

    def __init__(
        self,
        *,
        config_name: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        origin: str = "auto",
        repo_id: str | None = None,
        revision: str | None = None,
        other_versions: bool = False,
        cache_dir: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        known = [config.name for config in self.BUILDER_CONFIGS]
        if config_name is not None and config_name not in known:
            raise unknown_name(f"configuration of {self.NAME!r}", config_name, known)
        self.origin, self.files, key = self._locate(
            config_name or known[0],
            check_one_of(origin, ORIGINS, "origin"),
            data_dir,
            repo_id,
            revision,
            other_versions,
        )
        code = code_version(Builder), code_of(type(self))
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
        return self.SPLITS

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield the examples of a split from its verified files."""
        raise NotImplementedError

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any] | None:
        """Turn one row of the hub's files into an example, or into None to leave it out."""
        raise NotImplementedError

    def check_options(self) -> None:
        """Check `self.config`; raise an error of one sentence where an option is wrong."""

    @classmethod
    def sources(cls, config_name: str) -> tuple[Source, ...]:
        """Return the sources of a configuration."""
        return cls.SOURCES

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        """Return alternative sets of files; any one suffices.

        The first one that is complete in a local folder is read; the first of all is downloaded.
        """
        return (cls.sources(config_name),)

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
        if self.origin == "hub":
            parts = self._download(dl_manager, {s: list(files) for s, files in self._hub_files().items()})
            return [_split(name, files={str(i): f for i, f in enumerate(part)}) for name, part in parts.items()]
        wanted = self.splits()
        if self.origin == "url":
            if dl_manager.is_streaming:  # a source is verified before it is read, so it is not streamed
                dl_manager = datasets.DownloadManager(dataset_name=self.NAME)
            sources = {source.path: source for source in self.forms(self.config.name)[0]}
            copies = self._download(dl_manager, {path: source.url for path, source in sources.items()})
            for path, source in sources.items():
                source.verify(copies[path])
            self.files = copies
        return [
            _split(name, files={path: self.files[path] for path in paths})
            for name, paths in wanted.items()
            if all(path in self.files for path in paths)
        ]

    def _generate_examples(self, split: str, files: Mapping[str, str]) -> Iterator[tuple[int, dict[str, Any]]]:
        columns = set(self.info.features)
        seen: set[str] = set()
        for number, example in enumerate(self._raw_examples(split, files)):
            if set(example) != columns:
                raise ValueError(
                    f"Expected each example of {self.NAME!r} to have the columns {sorted(columns)}, but example "
                    f"{number} of split {split!r} has {sorted(example)}."
                )
            if example["id"] in seen:
                raise ValueError(
                    f"Expected each id of {self.NAME!r} once, but {example['id']!r} comes again in split {split!r}."
                )
            seen.add(example["id"])
            yield number, example
        if not seen:
            raise ValueError(f"Expected at least one example in split {split!r} of {self.NAME!r}, but it is empty.")

    # --------------------------------------------------------------------------------------------------------- private

    def _raw_examples(self, split: str, files: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        if self.origin != "hub":
            yield from self.examples(split, {path: Path(file) for path, file in files.items()})
            return
        rows = (row for file in files.values() for row in read_rows(file))
        for number, row in enumerate(rows):
            example = self.from_hub(split, row, number)
            if example is not None:
                yield example

    def _hub_files(self) -> Mapping[str, Sequence[str]]:
        if self.hub is None:
            raise ValueError(f"Expected an origin of {self.NAME!r}, but it is not on the hub.")
        return {
            split: [self.hub.address(file) for file in files]
            for split, files in self.hub.files[self.config.name].items()
        }

    def _locate(
        self,
        config_name: str,
        origin: str,
        data_dir: str | os.PathLike[str] | None,
        repo_id: str | None,
        revision: str | None,
        other_versions: bool,
    ) -> tuple[str, dict[str, str], list[Any]]:
        """Decide where to read from: the origin, the local files, and their part of the cache key."""
        self.hub = self.HUB
        if self.hub is not None:
            self.hub = dataclasses.replace(
                self.hub, repo_id=repo_id or self.hub.repo_id, revision=revision or self.hub.revision
            )
        elif repo_id is not None or revision is not None:
            raise ValueError(f"Expected neither `repo_id` nor `revision` for {self.NAME!r}, which is not on the hub.")
        forms = self.forms(config_name)
        sources = forms[0]
        if not sources and self.hub is None:
            return "generated", {}, []
        named = data_dir if data_dir is not None else os.environ.get(DATA_DIR_VARIABLE) or None
        if origin == "auto":
            elsewhere = repo_id is not None or revision is not None
            folder = None if named is None or elsewhere or not sources else self._folder(named, forms)
            if folder is None and data_dir is not None and sources and not elsewhere:
                raise self._missing(sources, named)
            origin = "local" if folder is not None else "hub" if self._on_hub(config_name) else "url"
        if origin == "local":
            folder = None if named is None else self._folder(named, forms)
            if folder is None:
                raise self._missing(sources, named)
            files, checksums = self._verified(folder, _form_in(folder, forms), other_versions)
            return origin, files, [origin, checksums]
        if origin == "hub":
            if not self._on_hub(config_name) or self.hub is None:
                raise ValueError(
                    f"Expected an origin that has {self.NAME!r} ({config_name}), but it is not on the hub."
                )
            self.hub, key = self._hub_key(self.hub, config_name)
            return origin, {}, [origin, *key]
        return origin, {}, [origin, [[source.path, source.sha256] for source in sources]]

    def _on_hub(self, config_name: str) -> bool:
        return self.hub is not None and config_name in self.hub.files

    def _hub_key(self, hub: Hub, config_name: str) -> tuple[Hub, list[str]]:
        """Pin the revision to a commit and return what keys the cache: the addresses, or the checksums of a mirror."""
        if not os.path.isdir(hub.repo_id):
            hub = dataclasses.replace(hub, revision=self._commit(hub))
        addresses = [hub.address(file) for files in hub.files[config_name].values() for file in files]
        if not os.path.isdir(hub.repo_id):
            return hub, addresses
        return hub, [sha256_of(file) for file in addresses if os.path.isfile(file)]

    def _commit(self, hub: Hub) -> str:
        if re.fullmatch("[0-9a-f]{40}", hub.revision):
            return hub.revision
        # A branch moves: ask for its current commit, so that no cache outlives it.
        from huggingface_hub import HfApi

        try:
            return str(HfApi().dataset_info(hub.repo_id, revision=hub.revision).sha)
        except (OSError, RuntimeError, ValueError) as error:  # no connection, or no such revision
            raise self._unreachable(error) from error

    def _folder(self, named: str | os.PathLike[str], forms: Sequence[Sequence[Source]]) -> Path | None:
        """Find the data set's folder: the named one, or its subfolder with the data set's name."""
        root = Path(named).expanduser().resolve()
        if not root.is_dir():
            raise FileNotFoundError(
                f"Expected `data_dir` (or {DATA_DIR_VARIABLE}) to name a folder, but {root} is not one."
            )
        parts = Path(self.FOLDER).parts
        for candidate in (root.joinpath(*parts[start:]) for start in range(len(parts) + 1)):
            if any((candidate / source.path).is_file() for form in forms for source in form):
                return candidate
        return None

    def _verified(
        self, folder: Path, sources: Sequence[Source], other_versions: bool
    ) -> tuple[dict[str, str], list[list[str]]]:
        files, checksums = {}, []
        for source in sources:
            file = folder / source.path
            if not file.is_file():
                raise self._missing([source], folder)
            checksums.append([source.path, source.verify(file, other_versions=other_versions)])
            files[source.path] = str(file)
        return files, checksums

    def _missing(self, sources: Sequence[Source], where: str | os.PathLike[str] | None) -> FileNotFoundError:
        looked = f"{DATA_DIR_VARIABLE} is not set" if where is None else f"{os.fspath(where)} does not hold it"
        return FileNotFoundError(
            f"Expected the file {sources[0].path!r} of {self.NAME!r}, but {looked}: {self._two_ways(sources[0])}."
        )

    def _two_ways(self, source: Source | None) -> str:
        online = (
            f"from the hub ({self.hub.repo_id})" if self.hub is not None else f"from {source.url if source else '?'}"
        )
        return (
            f"name the folder of a local copy with data_dir= or {DATA_DIR_VARIABLE}, "
            f"or leave both out to download it {online}"
        )

    def _download(self, dl_manager: Any, addresses: Any) -> Any:
        try:
            return dl_manager.download(addresses)
        except (OSError, RuntimeError, ValueError) as error:  # what hub, requests and fsspec raise without a connection
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> ConnectionError:
        source = None if self.hub is not None else self.forms(self.config.name)[0][0]
        return ConnectionError(
            f"Expected to download {self.NAME!r}, but it cannot be reached ({type(error).__name__}): "
            f"{self._two_ways(source)}."
        )


class ClassificationBuilder(Builder):
    """A data set of texts with named labels: columns id, text and label."""

    LABELS: ClassVar[tuple[str, ...]]
    HUB_TEXT: ClassVar[str] = "text"

    def features(self) -> datasets.Features:
        return classification_features(self.LABELS)

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any] | None:
        text = row[self.HUB_TEXT].strip()
        return {"id": f"{split}-{number}", "text": text, "label": row["label"]} if text else None


@checks_kinds
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


@checks_kinds
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


def read_table(file: str | os.PathLike[str], columns: int) -> Iterator[list[str]]:
    """Yield the fields of each line of a tab-separated file without quoting, and check their number."""
    for number, line in enumerate(read_lines(file), start=1):
        fields = line.split("\t")
        if len(fields) != columns:
            raise ValueError(f"Expected {columns} columns in {file}, but line {number} has {len(fields)}.")
        yield fields


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


def _form_in(folder: Path, forms: Sequence[tuple[Source, ...]]) -> tuple[Source, ...]:
    whole = (form for form in forms if all((folder / source.path).is_file() for source in form))
    begun = (form for form in forms if any((folder / source.path).is_file() for source in form))
    return next(whole, next(begun, forms[0]))


def _split(name: str, *, files: dict[str, str]) -> datasets.SplitGenerator:
    return datasets.SplitGenerator(name=name, gen_kwargs={"split": name, "files": files})
