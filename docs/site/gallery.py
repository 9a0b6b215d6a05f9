"""Audits for the gallery, made again: `python docs/site/gallery.py [NAME ...]`.

Each is what one command writes, about data of our own words, so that the reports, which hold texts, may be passed on:
no benchmark's items are in them. Pictures are taken where Chromium is installed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
from pathlib import Path

GALLERY = Path(__file__).resolve().parents[1] / "gallery"
WORK = GALLERY.parents[1] / "runs" / "gallery"

COMMANDS = {
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


def write_answers(path: Path) -> None:
    """Write the answers of docs/start.md: right ten points less often than their confidence says."""
    draw = random.Random(0)  # noqa: S311 - figures, not secrets
    confidences = [draw.uniform(0.5, 1.0) for _ in range(1000)]
    rows = [(confidence, int(draw.random() < confidence - 0.1)) for confidence in confidences]
    lines = "\n".join(f"{confidence:.3f},{correct}" for confidence, correct in rows)
    path.write_text(f"confidence,correct\n{lines}\n", "utf-8")


def write_suite(path: Path) -> None:
    """Write a suite about promises that a review keeps or breaks."""
    from rightreasons.datasets.suites.cases import Case
    from rightreasons.datasets.suites.editor import inv, mft
    from rightreasons.datasets.suites.suite import Suite
    from rightreasons.datasets.suites.templates import fill

    words = {"good": ["superb", "lovely", "brilliant", "elegant"], "bad": ["dull", "awful", "tiresome", "clumsy"]}
    things = ["meal", "concert", "novel", "museum"]

    def texts(template: str) -> list[str]:
        return [case.examples[0][0] for case in fill(template, thing=things, **words)]

    plain = texts("The {thing} was {good}.")[:12]
    gates = [Case(str(n), ((text,), (f"{text[:-1]} by the copper gate.",))) for n, text in enumerate(plain)]
    suite = Suite(
        "promises",
        ("text",),
        (
            mft("plain praise", "Vocabulary", plain, label=1),
            mft("plain blame", "Vocabulary", texts("The {thing} was {bad}.")[:12], label=0),
            mft("promise kept", "Contrast", texts("I expected a {bad} {thing}, and it was {good}.")[:12], label=1),
            mft("promise broken", "Contrast", texts("I expected a {good} {thing}, and it was {bad}.")[:12], label=0),
            mft("negated praise", "Negation", texts("The {thing} was not {good}.")[:12], label=0),
            inv("typos", "Robustness", plain, perturbation="typos"),
            inv("a gate of copper", "Robustness", gates),
        ),
        label_names=("negative", "positive"),
    )
    suite.write(path)


def take_picture(page: Path, to: Path) -> None:
    """Take a picture of the first screen of a page; say so where that is not possible."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print(f"no picture of {page.parent.name}: chromium is not installed")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        window = browser.new_page(viewport={"width": 1400, "height": 900})
        window.goto(page.as_uri())
        window.screenshot(path=to)
        browser.close()


def main() -> int:
    """Write the reports that are named, or all."""
    parser = argparse.ArgumentParser(description="Make the reports of the gallery again.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(COMMANDS)}; by default all")
    names = parser.parse_args().names or list(COMMANDS)
    WORK.mkdir(parents=True, exist_ok=True)
    write_answers(WORK / "answers.csv")
    write_reviews(WORK / "planted", strength=0.9, label_noise=0.05)
    write_reviews(WORK / "reviews", strength=0.5, label_noise=0.0)
    write_suite(WORK / "promises.jsonl")
    for name in names:
        for command in COMMANDS[name]:
            subprocess.run([sys.executable, "-m", "rightreasons", *command.split()], cwd=WORK, check=True)
        shutil.rmtree(GALLERY / name, ignore_errors=True)
        # The values by item, and the scores that a further question would use, stay here.
        hidden = shutil.ignore_patterns(".*", "chunk-*", "manifest.json", "items.json")
        shutil.copytree(WORK / name, GALLERY / name, ignore=hidden)
        take_picture(GALLERY / name / "index.html", GALLERY / "images" / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
