"""Opens a behavioral suite by its name, or from a file of any known format."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rightreasons.data.builders.catalog import available_datasets, load_builder
from rightreasons.data.suites.cases import check_label_names
from rightreasons.data.suites.checklist_pickle import SUFFIXES, read_pickled_suite
from rightreasons.data.suites.hatecheck import read_hatecheck
from rightreasons.data.suites.suite import Functionality, Suite
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_count, unknown_name


@checks_kinds
def open_suite(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    paper_labels: bool = False,
    text_columns: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    max_cases: int | None = None,
    seed: int = 0,
) -> Suite:
    """Open a suite: a file of `Suite.write`, a CSV in HateCheck's format, or a suite of CheckList.

    Args:
        name_or_path: A .jsonl, .jsonl.gz or .parquet file, a .csv file, a suite that CheckList has saved (.pkl, .pkl.gz
            or .tar.gz), or one of the released ones by name: checklist_sentiment, checklist_paraphrase,
            checklist_reading.
        data_dir: The folder of local copies of the catalog's sources.
        paper_labels: Whether two labels of CheckList's suites are corrected as in BeLUGA.
        text_columns: The names of the texts of an example of a saved suite, in their order, such as ("context",
            "question"); None for text and text_pair.
        label_names: The names of the labels 0, 1, …, where the suite has none or other ones; None for its own.
        max_cases: The maximum number of cases per functionality; None for all.
        seed: The seed of their choice.

    Returns:
        The suite.

    Raises:
        TypeError: If the argument is neither a name nor a path, or the names of labels are no list of texts.
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no suite, or there is no suite of this name.
    """
    file = Path(name_or_path)
    known = [name for name in available_datasets() if name.startswith("checklist_")]
    if _is_file(file):
        suite = _read(file, text_columns)
    elif str(name_or_path) in known:
        # `suite` is a method of these builders alone.
        builder: Any = load_builder(str(name_or_path), data_dir=data_dir, paper_labels=paper_labels)
        suite = builder.suite()
    elif os.path.isdir(file):
        raise ValueError(f"Expected the file of a suite, but {file} is a folder.")
    elif file.suffix or len(file.parts) > 1:
        raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
    else:
        raise unknown_name("suite", name_or_path, known)
    if label_names is not None:
        check_label_names(label_names, suite.name)
        suite = dataclasses.replace(suite, label_names=tuple(label_names))
    if max_cases is None:
        return suite
    check_count(max_cases, "max_cases")

    def rows(functionality: Functionality) -> Any:
        return item_rng(seed, functionality.name).permutation(len(functionality.cases))[:max_cases]

    return suite.choose_cases(rows)


def _read(file: Path, text_columns: Sequence[str] | None) -> Suite:
    name = file.name.lower()
    if name.endswith(SUFFIXES):
        return read_pickled_suite(file, text_columns=text_columns)
    if text_columns is not None:
        raise ValueError(
            f"Expected `text_columns` with a suite that CheckList has saved, but {file.name} names its own texts."
        )
    return read_hatecheck(file, name=file.stem) if name.endswith(".csv") else Suite.read(file)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
