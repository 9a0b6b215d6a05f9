"""What the commands are asked under faults: tiny models and data, and one case per command that writes."""

import json
from collections.abc import Collection
from pathlib import Path

from rightreasons.cli import main
from tiny_bidirectional import save_tiny_bidirectional
from tiny_models import (
    save_tiny_classifier,
    save_tiny_encoder,
    save_tiny_multiple_choice,
    tiny_texts,
)
from tiny_suites import behavior_suite

QUICK = ("--n-resamples", "20", "--seed", "0")

PRINTS_ONLY = {
    "data gaps", "data issues", "data list", "doctor", "gate",
}  # fmt: skip
"""Commands that write no file."""

LEFT_OUT = {
    "data labels read": "its one file is written as those of the other commands are",
    "data labels write": "its one file is written as those of the other commands are",
    "data mirror read": "its one file is written as those of the other commands are",
    "data mirror write": "its one file is written as those of the other commands are",
    "debias": "it keeps the scores of a model as an audit does, and writes its files together at the end",
    "serve": "it writes nothing, and runs until it is interrupted",
    "demo": "it is audit, of a bag of words that is trained in memory",
    "ways": "it is an audit of one question, and keeps the answers of a language model as other audits do",
    "look": "its one small file is written as those of the other commands are",
    "repair": "its files are written together at the end, as those of an audit are",
    "replicate": "its steps are stored as those of learn are",
    "suite convert": "its one file is written as those of the other commands are",
}
"""Commands that write and have no case, with the reason."""


def make_world(folder: Path, names: Collection[str]):
    """Write the inputs of cases."""
    save_tiny_classifier(folder / "model")
    save_tiny_classifier(folder / "other", seed=1)
    save_tiny_multiple_choice(folder / "chooser")
    save_tiny_encoder(folder / "encoder")
    for name in ("t5", "bert"):
        save_tiny_bidirectional(folder / name, name)
    behavior_suite().write(folder / "suite.jsonl")
    texts, labels = tiny_texts(40)
    lines = [
        f"{number},{text},{label}"
        for number, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    (folder / "rows.csv").write_text("\n".join(["id,text,label", *lines]))
    (folder / "data").mkdir()
    for name, part in (("train", slice(0, 16)), ("test", slice(16, 24))):
        (folder / "data" / f"{name}.csv").write_text("\n".join(["id,text,label", *lines[part]]))
    rows = [
        {
            "id": str(n), "prompt": f"the {'cat' if n % 3 else 'dog'} number {n}", "label": n % 2,
            "easy": n % 5 < 2,
            "choices": [f"it was {'good' if n % 2 else 'bad'} {n}", f"it ran {n}"],
        }
        for n in range(24)
    ]  # fmt: skip
    (folder / "choices.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "parted").mkdir()
    for name, part in (("train", rows[::2]), ("test", rows[1::2])):
        (folder / "parted" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, part)))
    for name, step in (("first", 3), ("second", 2)):
        picks = [
            f"{row['id']},{(row['label'] + (n % step == 0)) % 2}" for n, row in enumerate(rows)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["id,prediction", *picks]))
    scores = [
        f"{0.5 + 0.4 * ((n * 7) % 10) / 10},{0.5 - 0.4 * ((n * 7) % 10) / 10},{n % 3 == 0:d}"
        for n in range(60)
    ]
    answers = [f"{n},{0.3 + 0.07 * (n % 10)},{n % 4 == 0:d}" for n in range(40)]
    (folder / "answers.csv").write_text("\n".join(["item,confidence,correct", *answers]))
    arms = [
        {
            "item": str(n),
            "arm": arm,
            "answer": n % 2 if arm == "hint" else 0,
            "kind": "colleague",
            "hint": 1,
            "source": "Tamsin",
        }
        for n in range(24)
        for arm in ("plain", "neutral", "hint")
    ]
    (folder / "arms.jsonl").write_text("\n".join(map(json.dumps, arms)))
    verdicts = [f"{n},j,{'ab'[n % 3 == 0]},{'ba'[n % 3 == 0]},{n % 2 + 1}" for n in range(40)]
    (folder / "judgments.csv").write_text("\n".join(["item,judge,first,second,verdict", *verdicts]))
    (folder / "scores.csv").write_text("\n".join(["prob_0,prob_1,label", *scores]))
    for name in ("model", "other") if {"compare", "card", "gate"} & {*names} else ():
        _run(
            "audit",
            folder / name,
            folder / "rows.csv",
            "--questions",
            "calibration",
            "--out",
            folder / f"of-{name}",
        )
    if "data ratings read" in names:
        _write_sheets(folder)


def _write_sheets(folder: Path):
    """Let two raters answer the same for every item."""
    _run(
        "data",
        "ratings",
        "write",
        folder / "choices.jsonl",
        "--out",
        folder / "sheets",
        "--raters",
        "2",
    )
    for sheet in (folder / "sheets").glob("rater-*.csv"):
        head, *rest = sheet.read_text("utf-8").splitlines()
        place = head.split(",").index("answer")
        cells = [line.split(",") for line in rest]
        for number, row in enumerate(cells):
            row[place] = str(1 + number % 2)
        sheet.write_text("\n".join([head, *map(",".join, cells)]), "utf-8")


def _run(*words):
    try:
        main([str(word) for word in words])
    except SystemExit as ended:
        if ended.code not in (0, None):
            raise RuntimeError(f"{words}: exit code {ended.code}") from None


def cases(world: Path):
    """Name -> the commands of a case, each a list of words, which write to the folder they run in."""
    model, rows, choices = world / "model", world / "rows.csv", world / "choices.jsonl"
    sheets = sorted(map(str, (world / "sheets").glob("rater-*.csv")))
    plan = (
        "out",
        "--model",
        model,
        "--suite",
        world / "suite.jsonl",
        "--data",
        world / "data",
        "--test-split",
        "test",
    )
    plan += (
        "--configurations",
        "IID,IID->T",
        "--methods",
        "lp",
        "--partitions",
        "seen",
        "--iid-epochs",
        "1",
    )
    named = {
        "fine-tune": [("fine-tune", world / "encoder", rows, "--epochs", 3, "--batch-size", 8, "--learning-rate", 3e-3,
                       "--checkpoint-steps", 4, "--cpu")],
        "audit": [("audit", model, rows, "--questions", "calibration,difficulty", "--difficulty-items", 24, *QUICK)],
        "audit of an encoder-decoder": [("audit", world / "t5", rows, *QUICK)],
        "audit of a masked model": [("audit", world / "bert", rows, "--questions", "calibration", *QUICK)],
        "calibration": [("calibration", model, rows, *QUICK)],
        "difficulty": [("difficulty", model, rows, "--items", 24, *QUICK)],
        "shortcuts": [("shortcuts", model, rows, "--train", rows, *QUICK)],
        "probes": [("probes", world / "chooser", choices, *QUICK)],
        "reasons": [("reasons", world / "arms.jsonl", *QUICK)],
        "behavior": [("behavior", model, world / "suite.jsonl")],
        "compare": [("compare", world / "of-model", world / "of-other", "--n-resamples", 20)],
        "card": [("card", world / "of-model", "--to", "out")],
        "gate": [("gate", world / "of-model", "--fail-if", "calibration.ece > 0.99")],
        "cues": [("cues", choices)],
        "data ratings write": [("data", "ratings", "write", choices, "--raters", 2)],
        "data ratings read": [("data", "ratings", "read", choices, *sheets)],
        "judges": [("judges", world / "judgments.csv", "--n-resamples", 20)],
        "confidence": [("confidence", world / "answers.csv", "--n-resamples", 20)],
        "recalibrate": [("recalibrate", world / "scores.csv", world / "scores.csv", "--out", "out.csv")],
        "data split": [("data", "split", world / "parted", "--model", world / "encoder", "--n-runs", 1,
                        "--epochs", 1, "--max-length", 24)],
        "data export": [("data", "export", choices, "--limit", 8, "--to", "benchmark")],
        "learn": [("learn", "plan", *plan), ("learn", "run", "out"), ("learn", "collect", "out")],
    }  # fmt: skip
    return {name: [_with_out(step) for step in steps] for name, steps in named.items()}


COVERS = {
    "learn": {"learn plan", "learn run", "learn collect"},
    "audit of an encoder-decoder": {"audit"},
    "audit of a masked model": {"audit"},
}
"""The commands that a case covers, where they are not its name."""


def _with_out(step):
    """Let the words of a command end with `--out out`, where they do not say where to write."""
    words = [str(word) for word in step]
    prints = words[0] in ("learn", "card", "gate", "suite", "cues", "judges", "confidence")
    names_it = (
        prints or "--out" in words or words[1:3] == ["ratings", "read"] or words[1:2] == ["gaps"]
    )
    return words if names_it else [*words, "--out", "out"]
