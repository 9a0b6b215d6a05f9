"""Writes the reports of the gallery: `python docs/site/gallery.py [--data FOLDER] [NAME ...]`.

The texts of the reports in `COMMANDS` may be published: they are generated, or their license allows it, as for "films"
(Kaushik et al. 2020, Apache-2.0). The gallery has the pages of these reports; all other files stay in runs/gallery.
Pictures need Chromium.

The reports in `BENCHMARK_COMMANDS` contain items of benchmarks, so they stay in runs/gallery, and this script prints a
row with the findings of each. They take up to half an hour each on two cores.

FOLDER has local copies of the data, as RIGHTREASONS_DATA_DIR. Without it, the data are downloaded.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pictures import write_picture

import rightreasons
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.models.scorers import demo_language_model
from rightreasons.page.formats import format_estimate
from rightreasons.report.schema import read_audit

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
"""Report -> the commands that write it. "promises" needs the model of "encoder"."""

LANGUAGE_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"

BENCHMARK_COMMANDS = {
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
"""The same for reports that contain items of a benchmark."""


def write_reviews(folder: Path, **settings: float) -> None:
    """Write reviews, 7 of 10 of which have a word that says nothing about them: copper, or marble."""
    settings = {"coverage": 0.7, "train_size": 2500, "seed": 0, **settings}
    data = rightreasons.load_dataset("planted_shortcuts", **settings)
    folder.mkdir(exist_ok=True)
    for split in ("train", "test"):
        names = data[split].features["label"].names
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("text", "label"))
            for row in data[split]:
                writer.writerow((row["text"], names[row["label"]]))


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
    """Write the reviews of IMDb that people revised to reverse the sentiment, and a model of the originals."""
    data = rightreasons.load_dataset("imdb_counterfactual")
    names = data["train"].features["label"].names
    folder.mkdir(exist_ok=True)
    for name, split, role in (
        ("train", "train", "original"),
        ("test", "test", "original"),
        ("test_revised", "test", "perturbed"),
    ):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("id", "text", "label"))
            for row in data[split]:
                if row["role"] == role:
                    writer.writerow((row["id"], row["text"], names[row["label"]]))
    (folder.parent / "films.py").write_text(FILMS_MODEL.lstrip(), "utf-8")


def write_answers(path: Path) -> None:
    """Write the answers of docs/start.md, whose accuracy is ten points below their confidence."""
    rng = random.Random(0)  # noqa: S311 - figures, not secrets
    confidences = [rng.uniform(0.5, 1.0) for _ in range(1000)]
    rows = [(confidence, int(rng.random() < confidence - 0.1)) for confidence in confidences]
    lines = "\n".join(f"{confidence:.3f},{correct}" for confidence, correct in rows)
    path.write_text(f"confidence,correct\n{lines}\n", "utf-8")


GOOD_WORDS = ("superb", "lovely", "brilliant", "elegant")
BAD_WORDS = ("dull", "awful", "tiresome", "clumsy")
THINGS = ("meal", "concert", "novel", "museum")
N_CASES = 12
"""Cases of each functionality."""


def fill_template(template: str, words: Sequence[str]) -> list[str]:
    """Return texts of a template with each thing and word."""
    texts = [template.format(thing=thing, word=word) for thing in THINGS for word in words]
    return texts[:N_CASES]


def write_contrasts(expected_words: Sequence[str], actual_words: Sequence[str]) -> list[str]:
    """Return reviews that expect something of one kind and get another."""
    texts = []
    for expected, thing, actual in itertools.product(expected_words, THINGS, actual_words):
        texts.append(f"I expected a {expected} {thing}, and it was {actual}.")
    return texts[:N_CASES]


def make_labeled_test(name: str, ability: str, label: int, texts: Sequence[str]) -> Functionality:
    """Return a minimum functionality test: all its texts have one label."""
    cases = []
    for number, text in enumerate(texts):
        cases.append(Case(str(number), ((text,),), (label,)))
    return Functionality(name, ability, "MFT", {"name": "equal"}, tuple(cases))


def make_invariance_test(name: str, pairs: Sequence[tuple[str, str]]) -> Functionality:
    """Return an invariance test: the second text of a pair must not change the prediction."""
    cases = []
    for number, (original, changed) in enumerate(pairs):
        cases.append(Case(str(number), ((original,), (changed,))))
    expectation = {"name": "invariant", "tolerance": 0.1}
    return Functionality(name, "Robustness", "INV", expectation, tuple(cases))


def swap_letters(text: str) -> str:
    """Return a text with a typo: its sixth and seventh characters are exchanged."""
    return text[:5] + text[6] + text[5] + text[7:]


def write_suite(path: Path) -> None:
    """Write a suite about promises that a review keeps or breaks."""
    praise = fill_template("The {thing} was {word}.", GOOD_WORDS)
    blame = fill_template("The {thing} was {word}.", BAD_WORDS)
    negated = fill_template("The {thing} was not {word}.", GOOD_WORDS)
    # Neither a typo nor a gate changes what a review says of a meal.
    typos = [(text, swap_letters(text)) for text in praise]
    gates = [(text, f"{text[:-1]} by the copper gate.") for text in praise]
    functionalities = (
        make_labeled_test("plain praise", "Vocabulary", 1, praise),
        make_labeled_test("plain blame", "Vocabulary", 0, blame),
        make_labeled_test("promise kept", "Contrast", 1, write_contrasts(BAD_WORDS, GOOD_WORDS)),
        make_labeled_test("promise broken", "Contrast", 0, write_contrasts(GOOD_WORDS, BAD_WORDS)),
        make_labeled_test("negated praise", "Negation", 0, negated),
        make_invariance_test("typos", typos),
        # The model of "encoder" has learned from "copper", which says nothing about a meal.
        make_invariance_test("a gate of copper", gates),
    )
    suite = Suite("promises", ("text",), functionalities, label_names=("negative", "positive"))
    suite.write(path)


def publish(name: str) -> None:
    """Copy the page of a report into the gallery, without links to files that are not published."""
    page = (WORK / name / "index.html").read_text("utf-8")
    shutil.rmtree(GALLERY / name, ignore_errors=True)
    (GALLERY / name).mkdir()
    # The site has the page, but not the files of its report.
    page = re.sub(r'<p id="files">.*?</p>|<a class="file".*?</a>', "", page, flags=re.DOTALL)
    (GALLERY / name / "index.html").write_text(page, "utf-8")
    # README opens with figures of the demo, which a test reads here.
    if name == "demo":
        shutil.copy(WORK / name / "audit.json", GALLERY / name)


def take_picture(page: Path, target: Path) -> None:
    """Write a picture of the first screen of a page, or print that Chromium is missing."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print(f"no picture of {page.parent.name}: chromium is not installed")
        return
    # Only pictures need it.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        window = browser.new_page(viewport={"width": 1400, "height": 900})
        window.goto(page.as_uri())
        screenshot = window.screenshot()
        browser.close()
    write_picture(io.BytesIO(screenshot), target)


def run(commands: Sequence[str]) -> None:
    """Run the commands of a report."""
    # Later commands use the files of earlier ones.
    for command in commands:
        words = command.split()
        if LANGUAGE_MODEL in words:
            # If the package with its weights is installed, the model is not downloaded.
            with contextlib.suppress(ImportError):
                words[words.index(LANGUAGE_MODEL)] = str(demo_language_model())
        # The package of this checkout, whatever is installed and in whatever folder this runs.
        environment = {**os.environ, "PYTHONPATH": str(GALLERY.parents[1] / "src")}
        subprocess.run(
            [sys.executable, "-m", "rightreasons", *words], cwd=WORK, check=True, env=environment
        )


def format_row(name: str) -> str:
    """Return the row of a report in the table of the page: verdicts with their figures."""
    # The leaderboard of the app has the same cells.
    sys.path.append(str(GALLERY.parents[1] / "spaces" / "leaderboard"))
    from audit_rows import leaderboard

    findings = []
    for cell in leaderboard([read_audit(WORK / name)])[0].cells:
        if cell.figure is not None:
            figure = format_estimate(cell.figure.estimate, cell.figure.unit)
            findings.append(f"{cell.verdict}: {cell.figure.name} {figure}")
    return f"| {name} | {'<br>'.join(findings)} |"


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command, with the names of the reports to write."""
    available = [*COMMANDS, *BENCHMARK_COMMANDS]
    parser = argparse.ArgumentParser(description="Write the reports of the gallery.")
    help_text = f"any of {', '.join(available)}; by default the first {len(COMMANDS)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=help_text)
    parser.add_argument("--data", type=Path, help="folder of local copies of the benchmarks' data")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(available))
    if unknown:
        parser.error(f"expected names of {', '.join(available)}, but got {', '.join(unknown)}")
    selected = arguments.names or list(COMMANDS)
    # In the order above: a report may need the model of an earlier one.
    arguments.names = [name for name in available if name in selected]
    return arguments


def write_inputs(names: Sequence[str]) -> None:
    """Write the data that the commands read."""
    WORK.mkdir(parents=True, exist_ok=True)
    write_answers(WORK / "answers.csv")
    write_reviews(WORK / "planted", strength=0.9, label_noise=0.05)
    write_reviews(WORK / "reviews", strength=0.5, label_noise=0.0)
    write_suite(WORK / "promises.jsonl")
    if "films" in names:
        write_films(WORK / "films-data")


def main() -> int:
    """Write the reports that the command names, or all whose texts may be published."""
    arguments = parse_arguments()
    if arguments.data is not None:
        os.environ["RIGHTREASONS_DATA_DIR"] = str(arguments.data.resolve())
    write_inputs(arguments.names)

    for name in arguments.names:
        if name in BENCHMARK_COMMANDS:
            # The texts of a benchmark are not published, only its row in the table.
            run(BENCHMARK_COMMANDS[name])
            print(format_row(name))
            continue
        run(COMMANDS[name])
        publish(name)
        take_picture(GALLERY / name / "index.html", GALLERY / "images" / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
