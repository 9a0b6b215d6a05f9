"""The one door of data: `as_table` makes a Dataset, or those of several splits, of anything that holds rows."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import datasets
import pyarrow as pa

from rightreasons.core.arrays import columns_of, is_tensor, kind_of
from rightreasons.core.errors import did_you_mean
from rightreasons.core.label_names import listing
from rightreasons.core.stopping import use_hub_or_cache
from rightreasons.core.validation import check_at_most, check_ids, check_kind
from rightreasons.datasets.builder import CATALOG, load_dataset
from rightreasons.io.files import (
    FILE_TYPES,
    NAMED_TYPES,
    NAMES_OF_SPLITS,
    concatenated,
    data_type,
    dataset_of,
    described,
    document_table,
    plain_path,
    read_file,
    short_reason,
    split_of,
    table_of,
)
from rightreasons.io.options import NO_FORM, FileForm

Splits: TypeAlias = "datasets.Dataset | datasets.DatasetDict"

MAX_ENTRIES = 10_000
"""The maximum number of files and folders below a folder of data."""

MAX_DOWNLOAD = 1 << 32
"""The maximum number of bytes of a file that is read from an address."""


_SEVERAL = re.compile(r"[-._ ]*\d+([-._ ]*of[-._ ]*\d+)?$")
"""How the names of the parts of one file end."""

_SHARD = re.compile(r"^data/([^/]+)-[0-9]{5}-of-[0-9]{5}[^/]*\.[^/]*$")
_NOT_DATA = frozenset(("config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json"))
# Where no name tells a split, the files of the most common type are the data; of the first of these in a draw.
_PREFERRED = (".parquet", ".csv", ".tsv", ".jsonl", ".json", ".npz", ".eval")
_DESCRIBED = re.compile(r"^(?:configs|dataset_info)\s*:", re.MULTILINE)


def as_table(
    source: Any,
    config: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    revision: str | None = None,
    form: FileForm = NO_FORM,
    where: str = "",
) -> Splits:
    """Read anything that holds rows, with its columns and their features unchanged.

    Args:
        source: A name of the catalog; a file (csv, tsv, jsonl, json, parquet, npz, a log of lm-evaluation-harness or
            inspect_ai), perhaps compressed; its address (https://, hf://, s3://, …); a folder of files or of
            `save_to_disk`; a hub id; a data.yaml of `rightreasons look`. Or in memory: a Dataset in any format, also
            streamed; a DataFrame of pandas or polars; a Table of pyarrow; a list of dictionaries; a dictionary of
            columns; what a pipeline of transformers or `Trainer.predict` returns; a mapping from split names to any of
            these.
        config: A configuration of a data set of the catalog or the hub.
        data_dir: The folder of local copies of the catalog's sources.
        revision: A revision on the hub.
        form: How a file is to be read where it does not say so.
        where: What the source is called in errors; "" for its path.

    Returns:
        A Dataset, or a DatasetDict where there are splits. A column of unlike values is one of JSON: it refuses nothing
        until it is used.

    Raises:
        TypeError: If it holds no rows.
        FileNotFoundError: If a path does not exist.
        ValueError: If a name is unknown, or a file is not of the type that its suffix says.

    Example:
        >>> as_table([{"id": 7, "text": "Fine."}, {"id": "b", "text": "Dull."}])["id"][:]
        [7, 'b']
        >>> as_table({"train": {"text": ["Fine."]}, "dev": {"text": ["Dull."]}})["dev"].num_rows
        1
    """
    check_kind(config, "config", str | None)
    check_kind(form, "form", FileForm)
    description = described(source)
    source, config = description.source, config or description.given.get("config")
    form = description.options(form)
    if not isinstance(source, (str, os.PathLike)):
        return _in_memory(source, form, where or "the data set")
    name = os.fspath(source)
    if name in CATALOG:
        return load_dataset(name, config, data_dir=data_dir, revision=revision)
    if "://" in name:
        with _downloaded(name) as path:
            return _file(path, form, where or name)
    path = Path(name).expanduser()
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError as error:  # a name that no file can have
        raise FileNotFoundError(
            f"Expected a data set, but there is none at {name[:60]!r}…: {error.strerror}."
        ) from None
    if is_file:
        if config is not None:
            raise _no_config(path, config)
        return _file(path, form, where or str(path))
    if is_folder:
        return _folder(path, config, form)
    return _hub(name, config, revision)


def parse_table(text: str, where: str) -> datasets.Dataset:
    """Read a pasted text: JSON, one JSON object per line, or separated values."""
    text = text.strip().removeprefix("\ufeff").lstrip()
    if not text:
        raise ValueError(f"Expected a table of predictions, but {where} is empty.")
    suffix = ".json" if text[0] in "[{" else ".tsv" if "\t" in text.split("\n", 1)[0] else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pasted{suffix}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return only_part(_file(path, NO_FORM, where), where)


def only_part(tables: Splits, where: str) -> datasets.Dataset:
    """Return the only split of what was read.

    Raises:
        ValueError: If there are several.
    """
    if isinstance(tables, datasets.Dataset):
        return tables
    if len(tables) > 1:
        raise ValueError(f"Expected one table in {where}, but it has the splits {', '.join(map(str, tables))}.")
    return next(iter(tables.values()))


def _no_config(path: Path, config: str) -> ValueError:
    """Refuse a configuration of what has none: silence would mean that it was heeded."""
    return ValueError(f"Expected no configuration for {path}, which has none, but got {config!r}.")


# ----------------------------------------------------------------------------------------------------------- in memory


def _in_memory(source: Any, form: FileForm, where: str) -> Splits:
    if isinstance(source, datasets.Dataset):
        return source.with_format(None)
    if isinstance(source, datasets.IterableDataset):
        rows = list(source.with_format(None))
        return datasets.Dataset.from_list(rows, features=source.features)
    if isinstance(source, Mapping) and source and all(_is_part(name, part) for name, part in source.items()):
        parts = {name: only_part(_in_memory(part, form, f"{name} of {where}"), where) for name, part in source.items()}
        return datasets.DatasetDict(parts)
    return dataset_of(_arrow_table(source, form, where), where)


def _arrow_table(source: Any, form: FileForm, where: str) -> Any:
    if hasattr(source, "predictions") and hasattr(source, "label_ids"):  # of Trainer.predict
        scores = source.predictions[0] if isinstance(source.predictions, tuple) else source.predictions
        columns = {"logits": scores, "label_ids": source.label_ids}
        source = {name: column for name, column in columns.items() if column is not None}
    table = None if is_tensor(source) else columns_of(source)
    if table is not None:
        names = list(map(str, table[0]))
        check_ids(names, f"column of {where}")
        source = dict(zip(names, table[1], strict=True))
    if isinstance(source, Mapping):
        return table_of(source, where)
    if _holds_rows(source):
        rows = [dict(row) if isinstance(row, Mapping) else list(row) for row in source]
        return document_table(rows, form, where)
    raise TypeError(
        f"Expected a data set by its name, its path or as a table (a DataFrame, a Dataset, rows, columns), but got "
        f"{kind_of(source)}."
    )


def _is_part(name: Any, value: Any) -> bool:
    """Tell whether the value of a name is the table of a split, and no column."""
    if isinstance(value, (datasets.Dataset, datasets.IterableDataset)) or hasattr(type(value), "columns"):
        return True
    return isinstance(name, str) and bool(split_of(name)) and _holds_rows(value)


def _holds_rows(value: Any) -> bool:
    """Tell whether a value is a list of rows or a dictionary of columns."""
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(column, (list, tuple)) for column in value.values())
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(row, (Mapping, list, tuple)) for row in value)
    )


# ------------------------------------------------------------------------------------------------- files and addresses


def _file(path: Path, form: FileForm, where: str) -> Splits:
    parsed = read_file(path, form, where)
    if isinstance(parsed, dict):
        return datasets.DatasetDict({split: dataset_of(part, where, split) for split, part in parsed.items()})
    return dataset_of(parsed, where)


@contextmanager
def _downloaded(address: str) -> Iterator[Path]:
    """Copy the file at an address here."""
    import fsspec

    name = PurePosixPath(address.partition("?")[0]).name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            with fsspec.open(address, "rb") as stream, path.open("wb") as target:
                while target.tell() <= MAX_DOWNLOAD and (block := stream.read(1 << 20)):
                    target.write(block)
        except Exception as error:  # of any protocol
            raise ValueError(f"Expected a file at {address}, but it cannot be read: {short_reason(error)}.") from error
        if path.stat().st_size > MAX_DOWNLOAD:
            raise ValueError(f"Expected at most {MAX_DOWNLOAD:,} bytes at {address}, but there are more.")
        yield path


def _hub(name: str, config: str | None, revision: str | None) -> Splits:
    looks_like_a_path = name.startswith((".", "/", "~")) or data_type(name) in NAMED_TYPES
    if looks_like_a_path or name.count("/") > 1:
        raise FileNotFoundError(f"Expected a data set at {name}, but there is no such file or folder.")
    use_hub_or_cache()
    try:
        return datasets.load_dataset(name, config, revision=revision)
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"Expected a data set of this package, a file, a folder or a data set on the hub, but {name!r} cannot be "
            f"read as any of them ({type(error).__name__}: {short_reason(error)}).{did_you_mean(name, CATALOG, n=2)} "
            f"This package has: {', '.join(sorted(CATALOG))}."
        ) from error


# -------------------------------------------------------------------------------------------------------------- folders


def _folder(path: Path, config: str | None, form: FileForm) -> Splits:
    saved = (path / "dataset_dict.json").is_file() or (path / "state.json").is_file()
    files = () if saved or _is_described(path) else _data_files(path)
    if not files and not saved:
        return _by_datasets(path, lambda: datasets.load_dataset(str(path), config, cache_dir=_cache_of(path)))
    if config is not None:
        raise _no_config(path, config)
    if saved:
        return _by_datasets(path, lambda: datasets.load_from_disk(str(path)))
    tables = {split: _joined([path / file for file in names], form) for split, names in _splits(files, path).items()}
    return datasets.DatasetDict(
        {split: dataset_of(table, str(path), split) for split, table in _same_columns(tables).items()}
    )


def _cache_of(path: Path) -> str:
    """Return a cache for this folder as it is: datasets knows one by its name and the names of its files alone."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(path.resolve().rglob("*")):
        if file.is_file():
            digest.update(f"{file}|{file.stat().st_size}|{file.stat().st_mtime_ns}".encode("utf-8", "surrogatepass"))
    return os.path.join(datasets.config.HF_DATASETS_CACHE, "folders", digest.hexdigest())


def _by_datasets(path: Path, read: Callable[[], Splits]) -> Splits:
    try:
        return read()
    except Exception as error:  # whatever a damaged folder makes of the libraries behind `datasets`
        raise ValueError(
            "Expected a folder of data files or a folder written by save_to_disk, but "
            f"{path} cannot be read: {short_reason(error)}."
        ) from error


def _is_described(path: Path) -> bool:
    """Tell whether a card says which files belong to which configuration, or of which types the columns are."""
    try:
        card = (path / "README.md").read_bytes()[: 1 << 20].decode("utf-8-sig", "replace")
    except OSError:
        return False
    header = re.match(r"---\s*\n(.*?)\n---", card, re.DOTALL)
    return header is not None and _DESCRIBED.search(header[1]) is not None


def _data_files(path: Path) -> list[str]:
    """Return the data files below a folder, sorted, hidden ones left out, relative to it and with slashes."""
    files, n_entries = [], 0
    for folder, subfolders, names in os.walk(path):
        n_entries += len(subfolders) + len(names)
        check_at_most(n_entries, MAX_ENTRIES, "files and folders", path)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith((".", "__")))
        for name in sorted(names):
            if not name.startswith((".", "__")) and name not in _NOT_DATA and data_type(name) in FILE_TYPES:
                files.append((Path(folder) / name).relative_to(path).as_posix())
    plain = {plain_path(file): file for file in files}
    twice = next((file for file in files if file not in plain.values()), None)
    if twice is not None:
        again = plain[plain_path(twice)]
        raise ValueError(f"Expected each file once in {path}, but {again} and {twice} are one, compressed.")
    return files


def _splits(files: Sequence[str], path: Path) -> dict[str, list[str]]:
    """Return the files of each split: by shards, else by folders, else by names of files; else all are `train`."""

    def named(file: str, rule: str) -> Iterable[str]:
        if rule == "shards":
            return _SHARD.findall(file)
        names = Path(file).parent.parts if rule == "folders" else (plain_path(file).stem,)
        return {split for name in names if (split := split_of(name))}

    for rule in ("shards", "folders", "files"):
        splits: dict[str, list[str]] = {}
        for file in files:
            for split in named(file, rule):
                splits.setdefault(split, []).append(file)
        for split, held in list(splits.items()):
            _refuse_versions(split, held, path)
            if rule == "files":
                del splits[split]
                splits |= _variants(split, held)
        if splits:
            read = {*itertools.chain(*splits.values())}
            unread = [file for file in files if file not in read and data_type(file) in map(data_type, read)]
            if unread:
                warnings.warn(f"{listing(unread)} of {path} tells no split by its name, and is not read.", stacklevel=2)
            order = ["train", "validation", "test", *splits]
            return {split: splits[split] for split in sorted(splits, key=order.index)}
    types = Counter(map(data_type, files))
    kind = max(types, key=lambda suffix: (types[suffix], -_PREFERRED.index(suffix)))
    return {"train": [file for file in files if data_type(file) == kind]}


def _variants(split: str, files: Sequence[str]) -> dict[str, list[str]]:
    """Tell the parts of a split, whose names differ in digits alone, from its variants, such as test_hard.csv."""
    parts: dict[str, list[str]] = {}
    for file in files:
        parts.setdefault(_SEVERAL.sub("", plain_path(file).stem), []).append(file)
    plain = [name for name in parts if name.lower() in NAMES_OF_SPLITS[split]] if len(parts) > 1 else list(parts)
    return {split if [name] == plain else name: held for name, held in parts.items()}


def _refuse_versions(split: str, files: Sequence[str], path: Path) -> None:
    """Refuse files of one name and split whose folders are no splits, such as those of several languages."""
    apart: dict[str, str] = {}
    for file in files:
        folders = Path(file).parent.parts
        above = "/".join(itertools.takewhile(lambda name: not split_of(name), folders))
        if apart.setdefault(Path(file).name, above) != above:
            raise ValueError(
                f"Expected each split once in {path}, but {split} is in {apart[Path(file).name] or '.'} and in "
                f"{above or '.'}: name one of these folders."
            )


def _joined(files: Sequence[Path], form: FileForm) -> pa.Table:
    """Read the files of a split, one after the other."""
    tables: list[pa.Table] = []
    for file in files:
        separated = data_type(file) in (".csv", ".tsv")
        parsed = read_file(file, form if separated else NO_FORM)
        if isinstance(parsed, dict):
            raise ValueError(f"Expected the rows of one split in {file}, but it has the splits {', '.join(parsed)}.")
        if tables and set(parsed.column_names) != set(tables[0].column_names):
            raise ValueError(
                f"Expected the same columns in all files of a split, but {files[0]} has "
                f"{', '.join(tables[0].column_names)} and {file} has {', '.join(parsed.column_names)}."
            )
        tables.append(parsed)
    return concatenated(tables, str(files[0].parent))


def _same_columns(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Fill the columns that a split lacks with nulls: a public test split often comes without labels."""
    fields = {field.name: field for table in reversed(list(tables.values())) for field in table.schema}
    filled = {}
    for split, table in tables.items():
        lacking = pa.schema([field for name, field in fields.items() if name not in table.column_names])
        filled[split] = pa.concat_tables([table, lacking.empty_table()], promote_options="default")
    return filled
