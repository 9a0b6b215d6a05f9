"""Figures of an audit depend neither on the order of the rows nor on the names of clusters.

The same rows are audited three times: in the order of the file, shuffled, and with other names of the
groups of rows. All that the three audits found is equal to the last digit.
"""

import json
import random

import datasets
import numpy as np
import pytest

from rightreasons.models.prompted import Prompted
from rightreasons.models.wording import Prompt
from rightreasons.report.runner import audit
from scripted_choices import make_items
from scripted_texts import ScriptedEngine, draw_byte
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice

pytestmark = pytest.mark.usefixtures("unrendered")

NAMES = ("cedar", "alder", "birch", "aspen")
FILLERS = ("rain", "stone", "wool", "door", "glass", "corn", "river", "moon", "bread", "salt")


def make_texts(n_items, first=0):
    """Texts with "good" or "bad", some with a wrong label, and a source for one to three of them.

    Ids have several lengths, and neither ids nor sources are in the order of the rows.
    """
    draw = random.Random(first)
    rows = []
    for number in range(first, first + n_items):
        label = draw.randrange(2)
        word = ("bad", "good")[label if draw.random() < 0.85 else 1 - label]
        words = [*draw.choices(FILLERS, k=draw.randrange(3, 9)), word]
        draw.shuffle(words)
        # With the signs of the text, a model is correct on most texts, and confident on some.
        score = 2.0 * (2 * (word == "good") - 1) + draw.gauss(0, 1.5)
        rows.append(
            {
                "id": f"t{number * 7919 % 1009}",
                "text": f"{' '.join(words)} {number}",
                "label": ("down", "up")[label],
                "source_id": f"{NAMES[number % 4]} {number // 9}",
                "down": round(1 / (1 + np.exp(score)), 6),
                "up": round(1 - 1 / (1 + np.exp(score)), 6),
            }
        )
    return rows


def make_choices(n_items):
    """Items with choices, two of three of which share a source with others."""
    rows = []
    for number, item in enumerate(make_items(n_items)):
        source = "" if number % 3 == 2 else f"{NAMES[number % 4]} {number // 8}"
        rows.append({**item, "id": f"q{number * 7919 % 1009}", "source_id": source})
    return rows


def shuffle(rows, seed=5):
    return random.Random(seed).sample(rows, len(rows))


def rename_sources(rows):
    """Give sources names whose order is not that of the old ones."""
    renamed = []
    for row in rows:
        source = row["source_id"]
        renamed.append({**row, "source_id": source and f"{draw_byte(source)} {source[::-1]}"})
    return renamed


def list_results(result):
    """Return all that an audit found: questions, answers, row checks and splits."""
    content = json.loads(json.dumps(result.audit))
    return {
        "questions": content["questions"],
        "answers": content["answers"],
        "rows": content["dataset"]["rows"],
        "splits": content["dataset"]["splits"],
    }


def find_differences(first, second, path=""):
    """Return the paths of the values that differ between two results."""
    if isinstance(first, dict) and isinstance(second, dict):
        differences = []
        for key in sorted(first.keys() | second.keys()):
            differences += find_differences(first.get(key), second.get(key), f"{path}.{key}")
        return differences
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        differences = []
        for index, values in enumerate(zip(first, second, strict=True)):
            differences += find_differences(*values, f"{path}[{index}]")
        return differences
    if first == second:
        return []
    return [f"{path}: {first!r:.80} and {second!r:.80}"]


# Models, each with rows and the questions that apply. The functions audit rows in a folder.


def score_words(texts):
    """Score texts by a word that is a reason, and by two words that are none."""
    rows = []
    for text in texts:
        words = text.split()
        logit = 1.5 * (("good" in words) - ("bad" in words)) + (draw_byte(text) - 128) / 100
        logit += 1.0 * ("rain" in words) - 0.8 * ("stone" in words)
        positive = 1 / (1 + np.exp(-logit))
        rows.append([1 - positive, positive])
    return np.array(rows)


def audit_stored(rows, folder):
    """Audit predictions that are stored in the rows of a file, together with the texts."""
    return audit(predictions=write_lines(folder / "rows.jsonl", rows), **OPTIONS)


def audit_by_position(rows, folder):
    """Audit predictions without ids, which belong to the texts at the same positions of another file."""
    texts = []
    scores = []
    for row in rows:
        texts.append({name: row[name] for name in ("id", "text", "label", "source_id")})
        scores.append({name: row[name] for name in ("down", "up")})
    path = write_lines(folder / "texts.jsonl", texts)
    predictions = write_lines(folder / "scores.jsonl", scores)
    columns = "down,up"
    return audit(None, path, predictions=predictions, score_columns=columns, **OPTIONS)


def audit_limited(rows, folder):
    """Audit a sample of the texts, whose groups are sampled as wholes."""
    data = datasets.Dataset.from_list(rows)
    arguments = {**OPTIONS, "questions": ["calibration"], "limit": 90, "label_names": "down,up"}
    return audit(score_words, data, **arguments)


def audit_function(rows, folder):
    """Audit a function on a sample of pairs of texts, which are in two splits, with training texts."""
    splits = {"train": [], "test": [], "test_changed": []}
    for row in rows:
        paired = {**row, "pair_id": row["source_id"]}
        del paired["source_id"]
        if draw_byte(row["id"]) < 160:
            splits["train"].append(paired)
            continue
        splits["test"].append(paired)
        text = row["text"].replace("rain", "moon")
        splits["test_changed"].append({**paired, "id": f"changed {row['id']}", "text": text})
    data = {name: datasets.Dataset.from_list(part) for name, part in splits.items()}
    arguments = {**OPTIONS, "limit": 130, "label_names": "down,up"}
    return audit(score_words, datasets.DatasetDict(data), **arguments)


def audit_classifier(rows, folder):
    """Audit a tiny classifier, whose rounding errors depend on the batch of a text."""
    model = folder.parent / "classifier"
    if not model.exists():
        save_tiny_classifier(model)
    labels = {"down": "negative", "up": "positive"}
    renamed = [{**row, "label": labels[row["label"]]} for row in rows]
    questions = ["calibration", "shortcuts", "difficulty"]
    return audit(model, datasets.Dataset.from_list(renamed), questions=questions, **OPTIONS)


def audit_chooser(rows, folder):
    model = folder.parent / "chooser"
    if not model.exists():
        save_tiny_multiple_choice(model)
    return audit(model, datasets.Dataset.from_list(rows), **OPTIONS)


def audit_prompted(rows, folder):
    """Audit a language model, which picks letters with a confidence."""
    model = Prompted(Prompt(style="letters"), ScriptedEngine(is_scored=True))
    return audit(model, datasets.Dataset.from_list(rows), **OPTIONS)


def audit_generating(rows, folder):
    """Audit a language model that generates answers, also in other formats and with hints."""
    model = Prompted(Prompt(style="letters"), ScriptedEngine())
    questions = ["cues", "probes", "reasons", "ways"]
    return audit(model, datasets.Dataset.from_list(rows), questions=questions, **OPTIONS)


OPTIONS = {"out": "report", "n_resamples": 40, "progress": False}
CASES = {
    "stored": (audit_stored, make_texts(120)),
    "by position": (audit_by_position, make_texts(120)),
    "limited": (audit_limited, make_texts(150)),
    "prompted": (audit_prompted, make_choices(40)),
    "function": (audit_function, make_texts(420)),
    "classifier": (audit_classifier, make_texts(150)),
    "chooser": (audit_chooser, make_choices(60)),
    "generating": (audit_generating, make_choices(60)),
}


def write_lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path.name


@pytest.mark.parametrize("case", CASES)
def test_neither_the_order_of_rows_nor_the_names_of_groups_matter(case, tmp_path, monkeypatch):
    audit_rows, rows = CASES[case]
    versions = {"file": rows, "shuffled": shuffle(rows), "renamed": rename_sources(rows)}
    results = {}

    for name, version in versions.items():
        folder = tmp_path / name
        folder.mkdir()
        # Commands on the page name files and the report: all audits have the same names for them.
        monkeypatch.chdir(folder)
        results[name] = list_results(audit_rows(version, folder))

    statuses = [question["status"] for question in results["file"]["questions"]]
    assert "answered" in statuses
    assert "failed" not in statuses
    assert find_differences(results["file"], results["shuffled"]) == []
    assert find_differences(results["file"], results["renamed"]) == []


def test_the_order_of_the_file_is_that_of_items_without_ids(tmp_path):
    rows = [{"text": row["text"], "label": row["label"]} for row in make_texts(12)]
    options = {**OPTIONS, "out": tmp_path / "report", "questions": ["calibration"]}

    result = audit(score_words, datasets.Dataset.from_list(rows), label_names="down,up", **options)

    assert result.items()["text"].tolist() == [row["text"] for row in rows]
