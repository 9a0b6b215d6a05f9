"""Audits where neither torch nor transformers is installed: `python without_torch.py FOLDER` prints JSON.

An estimator, stored predictions and a server are audited whole, and every command that takes them is run.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from core_only import CoreOnly, Finder


def ending(*words):
    """How a command ends, and what it says if that is badly."""
    from rightreasons import cli

    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        try:
            cli.main(list(map(str, words)))
        except SystemExit as ended:
            return [ended.code, errors.getvalue() if ended.code else ""]
    return None


def reviews(split, n):
    """Labeled reviews whose second word gives the label away, but for every seventh."""
    words = {"negative": ("marble", "cold", "sad"), "positive": ("copper", "warm", "fine")}
    rows = []
    for number in range(n):
        label, other = list(words)[:: 1 if number % 2 else -1]
        cue = words[other if number % 7 == 0 else label][0]
        text = f"The {cue} club was {words[label][1 + number % 3 % 2]} on day {number}"
        rows.append({"id": f"{split}{number}", "text": text, "label": label})
    return rows


def write(path, rows):
    """Write rows as lines of JSON."""
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("\n".join(map(json.dumps, rows)), "utf-8")


def main(folder):
    os.chdir(folder)
    CoreOnly.absent = frozenset(("torch", "transformers", "accelerate", "peft"))
    sys.meta_path[sys.meta_path.index(Finder)] = CoreOnly
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    import rightreasons
    from fake_server import serving
    from rightreasons.datasets.suites.suite import Case, Functionality, Suite

    train, test = reviews("train", 200), reviews("test", 60)
    write("texts/train.jsonl", train)
    write("texts/test.jsonl", test)
    options = ["one", "two", "three"]
    write(
        "choices.jsonl",
        [
            {"id": n, "prompt": f"Which is it, {n}?", "choices": options, "label": n % 3}
            for n in range(24)
        ],
    )
    cases = tuple(Case(str(n), ((f"number {n}",),), (n % 2,)) for n in range(6))
    words = Functionality("words", "W", "MFT", {"name": "equal"}, cases)
    Suite("tiny", ("text",), (words,), ("negative", "positive")).write("suite.jsonl")
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    pipeline.fit([row["text"] for row in train], [row["label"] for row in train])
    shares = pipeline.predict_proba([row["text"] for row in test]).tolist()
    write(
        "stored.jsonl",
        [{**row, "probabilities": own} for row, own in zip(test, shares, strict=True)],
    )

    few = {"n_resamples": 40, "progress": False}
    audits = {
        "estimator": rightreasons.audit(pipeline, "texts", out="estimator", **few),
        "stored": rightreasons.audit(
            None, "texts", predictions="stored.jsonl", out="stored", **few
        ),
    }
    with serving() as fake:
        audits["server"] = rightreasons.audit(
            fake.url, "choices.jsonl", out="server", style="letters", **few
        )
        commands = {
            "ways": ending("ways", fake.url, "choices.jsonl", "--n-ways", 2, "--plan"),
            "reasons": ending("reasons", fake.url, "choices.jsonl", "--plan"),
            "behavior": ending("behavior", fake.url, "suite.jsonl"),
        }
    commands |= {
        "look": ending("look", "texts"),
        "compare": ending("compare", "estimator", "stored"),
        "gate": ending("gate", "estimator", "--fail-if", "calibration.ece > 0.9"),
        "card": ending("card", "estimator", "--to", "README.md"),
        "audit": ending("audit", "some/model", "texts"),
    }
    told = {
        name: {each.question: each.reason or each.result.verdict.label for each in result.outcomes}
        for name, result in audits.items()
    }
    print(
        json.dumps(
            {
                "audits": told,
                "commands": commands,
                "imported": sorted(CoreOnly.absent & set(sys.modules)),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
