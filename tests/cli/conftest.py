"""Folders with a tiny model, a suite and data, for the commands about behavior and learning."""

import json

import pytest

from tiny_models import save_tiny_classifier, save_tiny_reader, tiny_questions, tiny_texts
from tiny_suites import behavior_suite, reading_suite


@pytest.fixture(scope="package")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    save_tiny_classifier(folder / "model")
    behavior_suite().write(folder / "suite.jsonl")
    texts, labels = tiny_texts(24)
    (folder / "data").mkdir()
    for name, part in (("train", slice(0, 16)), ("test", slice(16, 24))):
        rows = [f"{text},{label}" for text, label in zip(texts[part], labels[part], strict=True)]
        (folder / "data" / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    return folder


@pytest.fixture(scope="package")
def reading(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    save_tiny_reader(folder / "model")
    reading_suite().write(folder / "suite.jsonl")
    rows = tiny_questions(24)
    lines = [
        json.dumps(dict(zip(rows, row, strict=True))) + "\n"
        for row in zip(*rows.values(), strict=True)
    ]
    (folder / "data").mkdir()
    for name, part in (("train", slice(0, 16)), ("test", slice(16, 24))):
        (folder / "data" / f"{name}.jsonl").write_text("".join(lines[part]))
    return folder
