"""Results of a long run on disk, chunk by chunk, so that a killed run resumes.

A store is a folder: `manifest.json` describes its run, and each `chunk-*.npz` holds results of some items. A chunk
appears whole or not at all (it is written under another name and then renamed), and it carries the digest of its run,
so that a chunk of another model or other inputs is refused and never mixed in.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.atomic_write import write_json, write_with
from rightreasons.foundations.ragged import Ragged

FORMAT = "rightreasons.run"
VERSION = 1
MANIFEST = "manifest.json"

Column: TypeAlias = "NDArray[Any] | Ragged"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Results of some items of a dataset.

    Attributes:
        items: (n,) the positions of the items in the dataset.
        columns: One row per item under each name: an array (n, ...), or `Ragged` where the rows differ in length.
    """

    items: NDArray[np.int64]
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.items)


def join(chunks: Iterable[Chunk]) -> Chunk:
    """Join chunks into one with its items in the dataset's order; a repeated item is kept once.

    Example:
        >>> late = Chunk(np.array([2]), {"x": np.array([0.3])})
        >>> early = Chunk(np.array([1, 0]), {"x": np.array([0.2, 0.1])})
        >>> join([late, early]).columns["x"]
        array([0.1, 0.2, 0.3])
    """
    parts = [chunk for chunk in chunks if len(chunk)]
    if not parts:
        return Chunk(np.empty(0, np.int64), {})
    items, order = np.unique(np.concatenate([part.items for part in parts]), return_index=True)
    names = list(parts[0].columns)
    columns = {name: _take(_concatenate([part.columns[name] for part in parts]), order) for name in names}
    return Chunk(items, columns)


class Store:
    """The chunks of one run in one folder.

    Args:
        folder: The folder of the chunks; made if it does not exist.
        run: What the results depend on, as short plain values: fingerprints of model and inputs, and every option that
            changes a result. A folder with another manifest is refused.

    Raises:
        ValueError: If the folder belongs to another run (the entries that differ are named) or holds other files.
    """

    def __init__(self, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.run = json.loads(json.dumps(dict(run)))
        self._digest = hashlib.blake2b(json.dumps(self.run, sort_keys=True).encode(), digest_size=16).hexdigest()
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"Expected `out` to be a folder, but {self.folder} is a file.")
        manifest = self.folder / MANIFEST
        if manifest.is_file():
            self._check(manifest)
            return
        if self.folder.is_dir() and any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise ValueError(
                f"Expected `out` to be an empty folder or one of an earlier run, but {self.folder} holds other files."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write_json(MANIFEST, {"format": FORMAT, "version": VERSION, "run": self.run})

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Open the store of any earlier run.

        Raises:
            ValueError: If there is none.
        """
        manifest = Path(folder) / MANIFEST
        if not manifest.is_file():
            raise ValueError(f"Expected results of an earlier run in {folder}, but it has no {MANIFEST}.")
        return cls(folder, _read_manifest(manifest))

    def write(self, chunk: Chunk) -> None:
        """Write one chunk, whole or not at all."""
        if not len(chunk):
            return
        arrays: dict[str, NDArray[Any]] = {"items": chunk.items, "run": np.array(self._digest)}
        for name, column in chunk.columns.items():
            if isinstance(column, Ragged):
                arrays[f"{name}.values"], arrays[f"{name}.offsets"] = column.values, column.offsets
            else:
                arrays[f"{name}.rows"] = column
        # Chunks share no item, so each has a name of its own, whichever process writes it.
        path = self.folder / f"chunk-{int(chunk.items.min()):09d}.npz"
        write_with(path, lambda temporary: _save(temporary, arrays))

    def read(self) -> Chunk:
        """Read all chunks, in the dataset's order.

        Raises:
            ValueError: If a chunk cannot be read or belongs to another run.
        """
        return join(self._read(path) for path in sorted(self.folder.glob("chunk-*.npz")))

    def write_json(self, name: str, value: Any) -> None:
        """Write a small file beside the chunks."""
        write_json(self.folder / name, value)

    def read_json(self, name: str) -> Any:
        """Read a small file from beside the chunks."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def _check(self, manifest: Path) -> None:
        run = _read_manifest(manifest)
        differ = sorted(key for key in {*run, *self.run} if run.get(key) != self.run.get(key))
        if differ:
            raise ValueError(
                f"Expected {self.folder} to hold results of this run, but its run differs in {' and '.join(differ)}: "
                "choose another folder, or delete this one."
            )

    def _read(self, path: Path) -> Chunk:
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"Expected a chunk of results in {path}, but it cannot be read: delete it.") from error
        if str(arrays.pop("run", "")) != self._digest or "items" not in arrays:
            raise ValueError(f"Expected {path} to hold results of this run, but it is of another: delete it.")
        items = arrays.pop("items").astype(np.int64)
        columns: dict[str, Column] = {}
        for name, array in arrays.items():
            stem, kind = name.rsplit(".", 1)
            if kind == "rows":
                columns[stem] = array
            elif kind == "values":
                columns[stem] = Ragged(array, arrays[f"{stem}.offsets"])
        return Chunk(items, columns)


def _read_manifest(manifest: Path) -> dict[str, Any]:
    """Read the run that a folder belongs to."""
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        kind, version, run = content["format"], content["version"], dict(content["run"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"Expected the manifest of a run in {manifest}, but it cannot be read.") from error
    if (kind, version) != (FORMAT, VERSION):
        raise ValueError(
            f"Expected {manifest} to be of format {FORMAT} {VERSION}, but it is of {kind} {version}: "
            "choose another folder."
        )
    return run


def _save(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with path.open("wb") as file:  # a path that does not end in .npz would be given another name
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _concatenate(columns: Sequence[Column]) -> Column:
    if all(isinstance(column, Ragged) for column in columns):
        rows = [column for column in columns if isinstance(column, Ragged)]
        return Ragged.of(np.concatenate([r.values for r in rows]), np.concatenate([r.lengths for r in rows]))
    return np.concatenate([np.asarray(column) for column in columns])


def _take(column: Column, order: NDArray[np.intp]) -> Column:
    return column.take(order) if isinstance(column, Ragged) else column[order]
