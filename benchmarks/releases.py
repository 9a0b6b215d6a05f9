"""Read public releases of data and predictions, and compare the results with releases.yaml.

    python benchmarks/releases.py FOLDER [--download] [--write] [--only WORD]

FOLDER holds the files as FOLDER/OWNER/NAME/PATH; `--download` gets the missing ones from GitHub, by
commit. releases.yaml says what each file must give:

- `rows` and `labels`, the number of rows and the counts of the labels (or of each position of the
  correct choice), or the `accuracy` of the predictions. Both were computed without this package.
- `yaml`, the names of columns if they are not the usual ones.
- `proposed: true` if the cells propose the columns, which a message says.
- `refused`, the error message if the file cannot be read.

Writes docs/evidence/releases.md. `drawn_tables.py` renames, shuffles, repeats and stacks the same
tables.
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
PAGE = ROOT / "docs" / "evidence" / "releases.md"
DATA_PAGE = ROOT / "docs" / "data.md"
OUTCOMES = (
    "read as released",
    "read with a suggested column",
    "read with a few lines of YAML",
    "refused with a one-line error",
    "misread",
)
RELEASED, PROPOSED, WITH_YAML, REFUSED, WRONG = OUTCOMES
PROPOSAL = "No heading says"
"""Beginning of the message about columns that the cells propose."""

FILE = "FILE"
"""Placeholder for the path of the file in the messages of releases.yaml."""


@dataclasses.dataclass(frozen=True)
class Release:
    """One file, and what it must give.

    Attributes:
        repo: Repository on GitHub, such as "OWNER/NAME".
        commit: Hash of the commit.
        path: Path of the file in the repository.
        what: Content of the file in a few words.
        rows: Number of rows; None if the file is refused.
        labels: Label -> count, or counts by the position of the correct choice; None if there are
            no labels to compare.
        accuracy: Accuracy of the predictions. If None, the file contains no predictions.
        yaml: Names of the columns; None if the file is read without them.
        refused: Error message; None if the file is read.
        proposed: Whether a message says that the cells propose the columns.
        misread: Whether the file is known to be misread.
    """

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
    def name(self) -> str:
        """Repository and path."""
        return f"{self.repo}/{self.path}"

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

    @property
    def positive_labels(self) -> dict[str, int]:
        """Label, or "choice 0" for a position -> count, without labels that do not occur."""
        if isinstance(self.labels, list):
            labels = {f"choice {position}": count for position, count in enumerate(self.labels)}
        else:
            labels = self.labels or {}
        return {name: count for name, count in labels.items() if count}


@dataclasses.dataclass(frozen=True)
class Reading:
    """The content of a file as the package reads it, and the messages to the user.

    Attributes:
        rows: Number of rows.
        labels: Pairs of a label and its count.
        accuracy: Accuracy of the predictions. If None, the file contains no predictions.
        doubts: Messages about the file.
        row_doubts: Messages about rows that need a decision.
        row_checks: Checks of rows that found something, open or settled.
        unused: The unused columns, in words.
        sentence: Error message; "" if the file was read.
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
        """Whether a message says that the cells, and no heading, settled what a column means."""
        return any(doubt.startswith(PROPOSAL) for doubt in self.doubts)

    def is_correct(self, release: Release) -> bool:
        """Return whether rows and labels, or the accuracy, are those of the release."""
        if self.sentence or self.rows != release.rows:
            return False
        if release.accuracy is not None:
            return self.accuracy is not None and abs(self.accuracy - release.accuracy) < 1e-6
        return dict(self.labels) == release.positive_labels


def load_releases() -> list[Release]:
    """Return the releases of releases.yaml."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    releases = []
    for repo, entry in content.items():
        for path, fields in entry["files"].items():
            releases.append(Release(repo, entry["commit"], path, **fields))
    return releases


def read_release(file: Path, description: dict[str, Any] | None) -> Reading:
    """Read a file with the package.

    Args:
        file: Path of the file.
        description: Options of a YAML description, such as the names of columns; None to read the
            file as released.
    """
    from rightreasons.io.descriptions import make_description
    from rightreasons.io.resolve import resolve

    source: Any = str(file)
    if description is not None:
        source = make_description({"data": str(file), **description})
    try:
        with warnings.catch_warnings():
            # `resolve` lists the warnings among its doubts.
            warnings.simplefilter("ignore")
            data = resolve(source)
            if not data.readable:
                return Reading(sentence=data.doubts[0])
            accuracy = measure_accuracy(source) if data.kind == "predictions" else None
    except (TypeError, ValueError) as error:
        return Reading(sentence=str(error))

    counts: Counter[str] = Counter()
    for row in data.mapping:
        counts[row.label] += row.count
    return Reading(
        rows=sum(data.splits.values()),
        labels=tuple((label, count) for label, count in counts.items() if label),
        accuracy=accuracy,
        doubts=data.doubts,
        row_doubts=tuple(doubt.in_words for doubt in data.row_doubts if doubt.is_open),
        row_checks=tuple(doubt.check for doubt in data.row_doubts),
        unused=data.unused,
    )


def measure_accuracy(source: Any) -> float:
    """Return the accuracy of the predictions of a file or description."""
    from rightreasons.io.predictions import read_predictions

    data = read_predictions(source, answers_alone=True)
    if data.kind == "confidence":
        # Confidence in given answers: the references say whether each of them is correct.
        return float(np.mean(data.references))
    scores = np.asarray(data.predictions)
    if scores.ndim == 1:
        answers = (scores > 0.5).astype(int)
    else:
        answers = scores.argmax(axis=1)
    return float(np.mean(answers == data.references))


def find_outcome(release: Release, folder: Path) -> tuple[str, str]:
    """Read a release, and return its outcome and the message of a refused or misread file.

    A file is first read as released. Its description is used only if that is not enough.
    """
    file = folder / release.repo / release.path
    reading = read_release(file, None)
    if release.refused is None and reading.is_correct(release):
        return (PROPOSED if reading.is_proposed else RELEASED), ""
    # Labels that are incorrect without any message are the worst case, whatever a description says.
    if reading.labels and not reading.doubts:
        return WRONG, f"its labels were read as {dict(reading.labels)}"
    if release.yaml:
        described = read_release(file, release.yaml)
        if described.is_correct(release):
            return WITH_YAML, ""
        return WRONG, described.sentence or str(described)
    if not reading.sentence:
        return WRONG, f"it was read as {reading}"
    return REFUSED, reading.sentence.replace(str(file), FILE).replace(file.name, FILE)


def format_summary(releases: list[Release]) -> str:
    """Return the number of files with each outcome that releases.yaml expects, in a sentence."""
    counts = Counter(release.expected for release in releases)
    n_repos = len({release.repo for release in releases})
    *clauses, final_clause = [f"{counts[outcome]} are {outcome}" for outcome in OUTCOMES]
    return (
        f"Of {len(releases)} files from {n_repos} public repositories,\n"
        f"{', '.join(clauses)}, and {final_clause}."
    )


def format_block(releases: list[Release]) -> str:
    """Return the block of the page. It is made from releases.yaml, which a run has confirmed."""
    counts: Counter[str] = Counter()
    for release in releases:
        if release.refused:
            # Messages of the same cause differ in what follows.
            beginning = re.split(r",| \(| in | \.", release.refused)[0]
            counts[beginning] += 1
    *reasons, final_reason = [f"“{text} …” ({count})" for text, count in counts.most_common(3)]
    return (
        f"{format_summary(releases)}\n"
        f"The most frequent messages on refused files are {', '.join(reasons)} and {final_reason}."
    )


def download(release: Release, folder: Path) -> None:
    """Get the file of a release from GitHub, unless the folder has it."""
    file = folder / release.repo / release.path
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    path = urllib.parse.quote(f"{release.repo}/{release.commit}/{release.path}")
    url = f"https://raw.githubusercontent.com/{path}"
    with urllib.request.urlopen(url, timeout=60) as stream:
        file.write_bytes(stream.read())


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
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
        "--only", default="", help="read only files whose repository or path contains this word"
    )
    return parser.parse_args()


def main() -> int:
    """Read the files, print their outcomes, and return 1 if an outcome is not the expected one."""
    options = parse_arguments()
    releases = [release for release in load_releases() if options.only in release.name]
    n_unexpected = 0
    n_missing = 0
    counts = dict.fromkeys(OUTCOMES, 0)
    for release in releases:
        if options.download:
            download(release, options.folder)
        if not (options.folder / release.repo / release.path).exists():
            n_missing += 1
            continue
        outcome, sentence = find_outcome(release, options.folder)
        counts[outcome] += 1
        is_expected = outcome == release.expected
        # The message about a file that is misread quotes the content, which releases.yaml does not.
        if not release.misread:
            is_expected = is_expected and sentence == (release.refused or "")
        if not is_expected:
            n_unexpected += 1
        mark = "  " if is_expected else "! "
        print(f"{mark}{outcome:24} {release.name}")
        if sentence:
            print(f"    {sentence}")
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    print(f"{summary}; {n_unexpected} not as expected; {n_missing} missing.")

    # The pages are about all files.
    is_complete = not n_missing and not options.only
    if options.write and is_complete and not n_unexpected:
        write_block(PAGE, "releases", format_block(releases))
        write_block(DATA_PAGE, "releases", format_summary(releases))
    return int(n_unexpected > 0)


if __name__ == "__main__":
    sys.exit(main())
