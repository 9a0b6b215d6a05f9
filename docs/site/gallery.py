"""Audits for the gallery, made again: `python docs/site/gallery.py [--data FOLDER] [NAME ...]`.

Those of `COMMANDS` may be passed on with their texts: they are about data of our own words, or, as "films", about
data whose license allows it (Kaushik et al. 2020, Apache-2.0). The gallery has their pages; all other files stay in
runs/gallery. Pictures are taken where Chromium is installed.

Those of `OF_BENCHMARKS` hold a benchmark's items, so they stay in runs/gallery, and the page has a row of each: the
finding, without a text. They take up to half an hour each on two cores.

FOLDER holds local copies of the data, as RIGHTREASONS_DATA_DIR; without it they are downloaded.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

GALLERY = Path(__file__).resolve().parents[1] / "gallery"
WORK = GALLERY.parents[1] / "runs" / "gallery"

COMMANDS = {
    "films": ("audit films.py:pipeline films-data --out films",),
    "demo": ("demo --out demo",),
    "encoder": (
        "fine-tune demo planted --epochs 1 --learning-rate 1e-4 --out demo-model",
        "audit demo-model planted --out encoder",
    ),
    "clean": (
        "fine-tune demo reviews --epochs 2 --out clean-model",
        "audit clean-model reviews --out clean",
    ),
    "answers": ("calibration answers.csv --out answers",),
    "promises": ("behavior demo-model promises.jsonl --out promises",),
}
"""Name of a report -> the commands that write it."""

LANGUAGE_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"

OF_BENCHMARKS = {
    "imdb": (
        (
            "fine-tune demo imdb_counterfactual --limit 800 --max-length 96 --epochs 2 --learning-rate 1e-4 "
            "--out imdb-model"
        ),
        (
            "audit imdb-model imdb_counterfactual --limit 200 --questions calibration,difficulty "
            "--difficulty-items 20 --out imdb"
        ),
    ),
    "balanced_copa": (
        "fine-tune demo balanced_copa --max-length 48 --epochs 2 --out copa-model",
        "audit copa-model copa_easy_hard --questions calibration,cues --out balanced_copa",
    ),
    "hellaswag": (
        f"audit {LANGUAGE_MODEL} hellaswag --limit 60 --questions calibration,cues,probes --out hellaswag",
    ),
}
"""The same for reports that hold items of a benchmark."""


def write_reviews(folder: Path, **settings: float) -> None:
    """Write reviews, 7 of 10 of which have a word that says nothing about them: copper, or marble."""
    import csv

    import rightreasons

    settings = {"coverage": 0.7, "train_size": 2500, "seed": 0, **settings}
    data = rightreasons.load_dataset("planted_shortcuts", **settings)
    folder.mkdir(exist_ok=True)
    for split in ("train", "test"):
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as stream:
            names = data[split].features["label"].names
            rows = ((row["text"], names[row["label"]]) for row in data[split])
            csv.writer(stream).writerows([("text", "label"), *rows])


FILMS_MODEL = """
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

train = pd.read_csv("films-data/train.csv")
pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
pipeline.fit(train["text"], train["label"])
"""


def write_films(folder: Path) -> None:
    """Write the reviews of IMDb that people revised to reverse the sentiment, and a model that reads only originals."""
    import csv

    import rightreasons

    data = rightreasons.load_dataset("imdb_counterfactual")
    names = data["train"].features["label"].names
    folder.mkdir(exist_ok=True)
    for file, split, role in (
        ("train", "train", "original"),
        ("test", "test", "original"),
        ("test_revised", "test", "perturbed"),
    ):
        rows = [row for row in data[split] if row["role"] == role]
        with (folder / f"{file}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(("id", "text", "label"))
            writer.writerows((row["id"], row["text"], names[row["label"]]) for row in rows)
    (folder.parent / "films.py").write_text(FILMS_MODEL.lstrip(), "utf-8")


def write_answers(path: Path) -> None:
    """Write the answers of docs/start.md: right ten points less often than their confidence says."""
    draw = random.Random(0)  # noqa: S311 - figures, not secrets
    confidences = [draw.uniform(0.5, 1.0) for _ in range(1000)]
    rows = [(confidence, int(draw.random() < confidence - 0.1)) for confidence in confidences]
    lines = "\n".join(f"{confidence:.3f},{correct}" for confidence, correct in rows)
    path.write_text(f"confidence,correct\n{lines}\n", "utf-8")


def write_suite(path: Path) -> None:
    """Write a suite about promises that a review keeps or breaks."""
    from rightreasons.datasets.suites.suite import Case, Functionality, Suite

    good, bad = (
        ["superb", "lovely", "brilliant", "elegant"],
        ["dull", "awful", "tiresome", "clumsy"],
    )
    things = ["meal", "concert", "novel", "museum"]

    def texts(template: str, words: Sequence[str]) -> list[str]:
        return [template.format(thing=thing, word=word) for thing in things for word in words][:12]

    def known(name: str, kind: str, label: int, made: Sequence[str]) -> Functionality:
        cases = tuple(Case(str(number), ((text,),), (label,)) for number, text in enumerate(made))
        return Functionality(name, kind, "MFT", {"name": "equal"}, cases)

    def unmoved(name: str, pairs: Sequence[tuple[str, str]]) -> Functionality:
        cases = tuple(
            Case(str(number), ((before,), (after,))) for number, (before, after) in enumerate(pairs)
        )
        return Functionality(
            name, "Robustness", "INV", {"name": "invariant", "tolerance": 0.1}, cases
        )

    def contrast(first: Sequence[str], second: Sequence[str]) -> list[str]:
        pairs = [(hoped, thing, found) for hoped in first for thing in things for found in second][
            :12
        ]
        return [
            f"I expected a {hoped} {thing}, and it was {found}." for hoped, thing, found in pairs
        ]

    plain = texts("The {thing} was {word}.", good)
    suite = Suite(
        "promises",
        ("text",),
        (
            known("plain praise", "Vocabulary", 1, plain),
            known("plain blame", "Vocabulary", 0, texts("The {thing} was {word}.", bad)),
            known("promise kept", "Contrast", 1, contrast(bad, good)),
            known("promise broken", "Contrast", 0, contrast(good, bad)),
            known("negated praise", "Negation", 0, texts("The {thing} was not {word}.", good)),
            unmoved("typos", [(text, text[:5] + text[6] + text[5] + text[7:]) for text in plain]),
            unmoved(
                "a gate of copper", [(text, f"{text[:-1]} by the copper gate.") for text in plain]
            ),
        ),
        label_names=("negative", "positive"),
    )
    suite.write(path)


def publish(name: str) -> None:
    """Copy the page of a report into the gallery, without links to the files that stay behind."""
    page = (WORK / name / "index.html").read_text("utf-8")
    shutil.rmtree(GALLERY / name, ignore_errors=True)
    (GALLERY / name).mkdir()
    page = re.sub(r'<p id="files">.*?</p>|<a class="file".*?</a>', "", page, flags=re.DOTALL)
    (GALLERY / name / "index.html").write_text(page, "utf-8")
    # README opens with figures of the demo, which a test reads here.
    if name == "demo":
        shutil.copy(WORK / name / "audit.json", GALLERY / name)


def take_picture(page: Path, to: Path) -> None:
    """Take a picture of the first screen of a page; say so where that is not possible."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print(f"no picture of {page.parent.name}: chromium is not installed")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        window = browser.new_page(viewport={"width": 1400, "height": 900})
        window.goto(page.as_uri())
        window.screenshot(path=to)
        browser.close()


def run(commands: Sequence[str]) -> None:
    """Run the commands of a report, with the packaged language model where it is installed."""
    from rightreasons.models.scorers import demo_language_model

    for command in commands:
        words = command.split()
        if LANGUAGE_MODEL in words:
            with contextlib.suppress(ImportError):
                words[words.index(LANGUAGE_MODEL)] = str(demo_language_model())
        # The package beside this file, whatever is installed and from wherever this is run.
        environment = {**os.environ, "PYTHONPATH": str(GALLERY.parents[1] / "src")}
        subprocess.run(
            [sys.executable, "-m", "rightreasons", *words], cwd=WORK, check=True, env=environment
        )


def row(name: str) -> str:
    """Return the row of a report in the table of the page: each verdict with its figure, no text, and the commands."""
    sys.path.append(str(GALLERY.parents[1] / "spaces" / "leaderboard"))
    from audit_rows import leaderboard

    from rightreasons.page.formats import format_estimate
    from rightreasons.report.schema import read_audit

    found = [
        f"{cell.verdict}: {cell.figure.name} {format_estimate(cell.figure.estimate, cell.figure.unit)}"
        for cell in leaderboard([read_audit(WORK / name)])[0].cells
        if cell.figure is not None
    ]
    return f"| {name} | {'<br>'.join(found)} | {'<br>'.join(f'`{command}`' for command in OF_BENCHMARKS[name])} |"


def main() -> int:
    """Write the reports that are named, or all of our own words."""
    parser = argparse.ArgumentParser(description="Make the reports of the gallery again.")
    known = [*COMMANDS, *OF_BENCHMARKS]
    help_text = f"of {', '.join(known)}; by default the first {len(COMMANDS)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=help_text)
    parser.add_argument("--data", type=Path, help="folder of local copies of the benchmarks' data")
    given = parser.parse_args()
    names = given.names or list(COMMANDS)
    if odd := set(names) - {*known}:
        parser.error(f"expected names of {', '.join(known)}, but got {', '.join(sorted(odd))}")
    WORK.mkdir(parents=True, exist_ok=True)
    write_answers(WORK / "answers.csv")
    write_reviews(WORK / "planted", strength=0.9, label_noise=0.05)
    write_reviews(WORK / "reviews", strength=0.5, label_noise=0.0)
    write_suite(WORK / "promises.jsonl")
    if given.data is not None:
        os.environ["RIGHTREASONS_DATA_DIR"] = str(given.data.resolve())
    if "films" in names:
        write_films(WORK / "films-data")
    for name in filter(
        names.__contains__, known
    ):  # in this order: a report may need the model of one before
        run({**COMMANDS, **OF_BENCHMARKS}[name])
        if name in OF_BENCHMARKS:
            print(row(name))
            continue
        publish(name)
        take_picture(GALLERY / name / "index.html", GALLERY / "images" / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
