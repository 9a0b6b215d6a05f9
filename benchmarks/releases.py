"""Public releases of data and predictions, read as people publish them: docs/evidence/releases.md.

    python benchmarks/releases.py FOLDER [--download] [--write] [--only WORD]

FOLDER holds the files as FOLDER/OWNER/NAME/PATH; `--download` gets those that are missing from GitHub, by commit.
releases.yaml says what each file must give: its rows, and how often each label occurs (of a choice, each position) or
the accuracy of the predictions, both computed without this package; a `yaml` of columns and names where they are not
the usual ones; `proposed: true` where the cells propose the columns, which a line says; or the sentence that refuses
the file. `drawn_tables.py` renames, shuffles, repeats and stacks the same tables.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import urllib.parse
import urllib.request
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from blocks import write_block

ROOT = Path(__file__).parents[1]
PAGE, DATA_PAGE = ROOT / "docs" / "evidence" / "releases.md", ROOT / "docs" / "data.md"
OUTCOMES = (
    "read as released",
    "read by a proposal",
    "read with a yaml",
    "refused in one sentence",
    "misread",
)
RELEASED, PROPOSED, WITH_YAML, REFUSED, WRONG = OUTCOMES
PROPOSAL = "No heading says"  # how the line about a proposal begins
FILE = "FILE"  # what a sentence of releases.yaml calls the path of the file


@dataclasses.dataclass(frozen=True)
class Release:
    """One file, and what it must give; see releases.yaml."""

    repo: str
    commit: str
    path: str
    what: str
    rows: int | None = None
    labels: dict[str, int] | list[int] | None = None
    accuracy: float | None = None
    yaml: dict[str, Any] | None = None
    refused: str | None = None
    proposed: bool = False
    misread: bool = False

    @property
    def expected(self) -> str:
        """The outcome that releases.yaml expects."""
        if self.misread:
            return WRONG
        if self.refused:
            return REFUSED
        if self.proposed:
            return PROPOSED
        return WITH_YAML if self.yaml else RELEASED


@dataclasses.dataclass(frozen=True)
class Reading:
    """What came out of a file; `sentence` refuses it, `doubts` and open `row_doubts` are what a person was told.

    `row_checks` names the checks of rows that found something, open or not; `unused` lists the unused columns.
    """

    rows: int = 0
    labels: tuple[tuple[str, int], ...] = ()
    accuracy: float | None = None
    doubts: tuple[str, ...] = ()
    row_doubts: tuple[str, ...] = ()
    row_checks: tuple[str, ...] = ()
    unused: str = ""
    sentence: str = ""

    @property
    def is_proposed(self) -> bool:
        """Whether a line says that cells, and no heading, settled what a column means."""
        return any(doubt.startswith(PROPOSAL) for doubt in self.doubts)

    def is_right(self, release: Release) -> bool:
        """Tell whether this is what the release says."""
        if self.sentence or self.rows != release.rows:
            return False
        if release.accuracy is not None:
            return self.accuracy is not None and abs(self.accuracy - release.accuracy) < 1e-6
        wanted = release.labels or {}
        if isinstance(wanted, list):
            wanted = {f"choice {place}": count for place, count in enumerate(wanted)}
        return dict(self.labels) == {name: count for name, count in wanted.items() if count}


def releases() -> list[Release]:
    content = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return [
        Release(repo, entry["commit"], path, **fields)
        for repo, entry in content.items()
        for path, fields in entry["files"].items()
    ]


def read(file: Path, given: dict[str, Any] | None) -> Reading:
    from rightreasons.io.descriptions import make_description
    from rightreasons.io.resolve import resolve

    source: Any = str(file) if given is None else make_description({"data": str(file), **given})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `resolve` tells them among its doubts
            found = resolve(source)
            if not found.readable:
                return Reading(sentence=found.doubts[0])
            accuracy = accuracy_of(source) if found.kind == "predictions" else None
    except (TypeError, ValueError) as error:
        return Reading(sentence=str(error))
    labels: Counter[str] = Counter()
    for row in found.mapping:
        labels[row.label] += row.count
    counts = tuple((name, count) for name, count in labels.items() if name)
    row_doubts = tuple(doubt.in_words for doubt in found.row_doubts if doubt.is_open)
    row_checks = tuple(doubt.check for doubt in found.row_doubts)
    n_rows = sum(found.splits.values())
    return Reading(
        rows=n_rows,
        labels=counts,
        accuracy=accuracy,
        doubts=found.doubts,
        row_doubts=row_doubts,
        row_checks=row_checks,
        unused=found.unused,
    )


def accuracy_of(source: Any) -> float:
    from rightreasons.io.predictions import read_predictions

    found = read_predictions(source, answers_alone=True)
    if found.kind == "confidence":
        return float(np.mean(found.references))
    scores = np.asarray(found.predictions)
    answers = (scores > 0.5).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return float(np.mean(answers == found.references))


def outcome(release: Release, folder: Path) -> tuple[str, str]:
    """Return what became of a file, and the sentence that refuses it or says what is wrong."""
    file = folder / release.repo / release.path
    plain = read(file, None)
    if release.refused is None and plain.is_right(release):
        return (PROPOSED if plain.is_proposed else RELEASED), ""
    if plain.labels and not plain.doubts:
        return WRONG, f"its labels were read as {dict(plain.labels)}"
    if release.yaml:
        result = read(file, release.yaml)
        return (
            (WITH_YAML, "") if result.is_right(release) else (WRONG, result.sentence or str(result))
        )
    if not plain.sentence:
        return WRONG, f"it was read as {plain}"
    return REFUSED, plain.sentence.replace(str(file), FILE).replace(file.name, FILE)


def summary(found: dict[str, list[Release]]) -> str:
    n_files, n_repos = (
        sum(map(len, found.values())),
        len({release.repo for each in found.values() for release in each}),
    )
    *first, last = [f"{len(each)} are {name}" for name, each in found.items()]
    return (
        f"Of {n_files} files from {n_repos} public repositories,\n{', '.join(first)}, and {last}."
    )


def by_outcome(all_releases: list[Release]) -> dict[str, list[Release]]:
    """Return the releases of each outcome that releases.yaml expects."""
    return {
        name: [release for release in all_releases if release.expected == name] for name in OUTCOMES
    }


def tables(all_releases: list[Release]) -> str:
    """Return the block of the page: what releases.yaml expects, which a run compares with what it finds."""
    rows = [
        summary(by_outcome(all_releases)),
        "",
        "| refused with | files | what they hold |",
        "|---|---:|---|",
    ]
    alike: dict[str, list[str]] = {}
    for release in all_releases:
        if release.refused:
            beginning = re.split(r",| \(| in | \.", release.refused)[0]
            alike.setdefault(beginning, []).append(release.what)
    rows += [
        f"| {beginning} … | {len(what)} | {'; '.join(dict.fromkeys(what))} |"
        for beginning, what in sorted(alike.items(), key=lambda pair: -len(pair[1]))
    ]
    return "\n".join(rows)


def download(release: Release, folder: Path) -> None:
    file = folder / release.repo / release.path
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        path = urllib.parse.quote(f"{release.repo}/{release.commit}/{release.path}")
        with urllib.request.urlopen(
            f"https://raw.githubusercontent.com/{path}", timeout=60
        ) as stream:
            file.write_bytes(stream.read())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--download", action="store_true", help="get the files that are missing from GitHub"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/evidence/releases.md and a line of docs/data.md",
    )
    parser.add_argument(
        "--only", default="", help="only the files whose repository or path holds this"
    )
    options = parser.parse_args()
    chosen = [each for each in releases() if options.only in f"{each.repo}/{each.path}"]
    off, missing = 0, 0
    counts = dict.fromkeys(OUTCOMES, 0)
    for release in chosen:
        if options.download:
            download(release, options.folder)
        if not (options.folder / release.repo / release.path).exists():
            missing += 1
            continue
        result, sentence = outcome(release, options.folder)
        counts[result] += 1
        is_expected = result == release.expected
        if not release.misread:
            is_expected = is_expected and sentence == (release.refused or "")
        off += not is_expected
        print(f"{'  ' if is_expected else '! '}{result:24} {release.repo}/{release.path}")
        if sentence:
            print(f"    {sentence}")
    print(
        ", ".join(f"{count} {name}" for name, count in counts.items())
        + f"; {off} not as expected; {missing} missing."
    )
    if options.write and not off and not missing and not options.only:
        write_block(PAGE, "releases", tables(chosen))
        write_block(DATA_PAGE, "releases", summary(by_outcome(chosen)))
    return int(bool(off))


if __name__ == "__main__":
    sys.exit(main())
