"""Opens behavioral suites, by name or from files of every form."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.errors import unknown_name
from rightreasons.core.resampling import item_rng
from rightreasons.core.validation import check_count, check_each, check_kind
from rightreasons.datasets.builder import available_datasets, load_builder, read_csv
from rightreasons.datasets.suites.cases import Case, Functionality
from rightreasons.datasets.suites.suite import Suite

PICKLES = (".pkl", ".pickle", ".dill", ".pkl.gz", ".tar.gz", ".tgz")
"""The suffixes of suites that CheckList has saved: `rightreasons suite convert` alone reads them."""

COLUMNS = ("functionality", "test_case", "label_gold")
LABEL_NAMES = ("non-hateful", "hateful")
"""The words of `label_gold`, in the order of the numbers 0 and 1 that other releases of this format have."""


def read_hatecheck(path: str | os.PathLike[str], *, name: str = "hatecheck") -> Suite:
    """Read a suite in HateCheck's format: a CSV with functionality, test_case and label_gold, one text per case.

    Args:
        path: The CSV file. `label_gold` is "hateful" or "non-hateful" in every row, which become the names of the
            labels 1 and 0 of the suite, or a whole number in every row.
        name: The name of the suite.

    Returns:
        The suite.

    Raises:
        ValueError: If a column is missing, there is no row, or a row lacks a value.
    """
    check_kind(path, "path", str | os.PathLike)
    rows = read_csv(path, path, COLUMNS, optional=("case_id",))
    if not rows:
        raise ValueError(f"Expected at least one row in {path}, but it has only column names.")
    words = rows[0]["label_gold"].strip() in LABEL_NAMES
    groups: dict[str, list[Case]] = {}
    for column in ("functionality", "test_case"):
        check_each([row[column] for row in rows], str.strip, f"a {column} in each row of {path}", first=1)
    golds = [row["label_gold"].strip() for row in rows]
    check_each(
        golds,
        lambda gold: gold in LABEL_NAMES if words else gold.isdecimal() and len(gold) <= 10,
        f"`label_gold` to be hateful or non-hateful, or a whole number, in every row of {path}",
        first=1,
    )
    for row, gold in zip(rows, golds, strict=True):
        label = LABEL_NAMES.index(gold) if words else int(gold)
        cases = groups.setdefault(row["functionality"], [])
        cases.append(Case(row.get("case_id") or str(len(cases)), ((row["test_case"],),), (label,)))
    # HateCheck's names begin with their class: "derog_neg_emote_h" is derogation.
    functionalities = tuple(
        Functionality(key, key.split("_")[0] or key, "MFT", {"name": "equal"}, tuple(cases))
        for key, cases in groups.items()
    )
    return Suite(name, ("text",), functionalities, LABEL_NAMES if words else None)


def open_suite(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    paper_labels: bool = False,
    label_names: Sequence[str] | None = None,
    max_cases: int | None = None,
    seed: int = 0,
) -> Suite:
    """Open a suite: a file of `Suite.write`, a CSV in HateCheck's format, or a released suite of CheckList.

    Args:
        name_or_path: A .jsonl or .jsonl.gz file, a .csv file, or one of CheckList's released suites by name:
            checklist_sentiment, checklist_paraphrase, checklist_reading. `rightreasons suite convert` makes a file of
            another suite that CheckList has saved.
        data_dir: The folder of local copies of the catalog's sources.
        paper_labels: Whether two labels of CheckList's suites are corrected as in BeLUGA.
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
    check_kind(name_or_path, "name_or_path", str | os.PathLike)
    file = Path(name_or_path)
    known = [name for name in available_datasets() if name.startswith("checklist_")]
    if os.path.isfile(file):  # False for a name that no file can have
        suite = _opened(file)
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
        names: Any = label_names  # the suite checks them
        suite = dataclasses.replace(suite, label_names=names)
    if max_cases is None:
        return suite
    most = check_count(max_cases, "max_cases")
    return suite.choose_cases(lambda one: item_rng(seed, one.name).permutation(len(one.cases))[:most])


def _opened(file: Path) -> Suite:
    name = file.name.lower()
    if name.endswith(PICKLES):
        raise ValueError(
            f"Expected a suite as .jsonl, .jsonl.gz or .csv, but got the pickle {file}: convert it with "
            f"`rightreasons suite convert {file} {file.name.split('.')[0]}.jsonl`."
        )
    return read_hatecheck(file, name=file.stem) if name.endswith(".csv") else Suite.read(file)
