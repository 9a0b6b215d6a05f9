"""Open a behavioral suite by its name or its file, whatever form it has."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.data.builders.catalog import available_datasets, load_builder
from rightreasons.data.suites.suite import Suite, read_hatecheck
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.validation import check_count, unknown_name


def open_suite(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    paper_labels: bool = False,
    max_cases: int | None = None,
    seed: int = 0,
) -> Suite:
    """Open a suite: a file of `Suite.write`, a CSV in the form of HateCheck, or one of CheckList's by its name.

    Args:
        name_or_path: A .jsonl, .jsonl.gz or .parquet file, a .csv file, or checklist_sentiment, checklist_paraphrase,
            checklist_reading.
        data_dir: Where local copies of the catalog's data sets are.
        paper_labels: Whether BeLUGA's two labels are mended in CheckList's suites.
        max_cases: At most so many cases of each functionality; None for all.
        seed: Decides which.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no suite.
    """
    file = Path(name_or_path)
    known = [name for name in available_datasets() if name.startswith("checklist_")]
    if file.suffix.lower() == ".csv":
        suite = read_hatecheck(file, name=file.stem)
    elif str(name_or_path) in known and not file.is_file():
        # `suite` is a method of these builders alone.
        builder: Any = load_builder(str(name_or_path), data_dir=data_dir, paper_labels=paper_labels)
        suite = builder.suite()
    elif file.suffix or file.exists():
        suite = Suite.read(file)
    else:
        raise unknown_name("suite", name_or_path, known)
    if max_cases is None:
        return suite
    check_count(max_cases, "max_cases")
    kept = []
    for functionality in suite.functionalities:
        chosen = np.sort(item_rng(seed, functionality.name).permutation(len(functionality.cases))[:max_cases])
        kept.append(dataclasses.replace(functionality, cases=tuple(functionality.cases[i] for i in chosen)))
    return Suite(suite.name, suite.text_columns, tuple(kept))
