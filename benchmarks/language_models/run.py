"""One language model, four data sets, many ways to ask: which conclusion depends on the way?

    python benchmarks/language_models/run.py --data-dir DATA
    python benchmarks/language_models/run.py --report

DATA holds sst2/, trec/, piqa/ and socialiqa/ as rightreasons reads them. Scores are kept under --work as they are
computed, so a run that was killed goes on; results.json, which holds the scores and no text of the data, is written
anew after every way. `--report` writes RESULTS.md from results.json alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from report import write_report
from rightreasons.core.scores import Scores
from rightreasons.datasets.builder import load_dataset
from rightreasons.io.samples import choose_rows
from rightreasons.models.choices import load_causal
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Examples
from rightreasons.models.scorers import demo_language_model
from rightreasons.models.wording import Prompt

HERE = Path(__file__).resolve().parent
SEED = 0
N_ITEMS = 60


@dataclasses.dataclass(frozen=True)
class Set:
    """A data set, the split that is asked, and where few-shot examples come from."""

    split: str
    examples: str
    label_words: tuple[str, ...] = ()


SETS: Mapping[str, Set] = {
    "sst2": Set("validation", "train", ("negative", "positive")),
    "trec": Set(
        "test", "train", ("abbreviation", "entity", "description", "person", "location", "number")
    ),
    # The training split of PIQA is not among the files: examples are validation items that are not asked.
    "piqa": Set("validation", "validation"),
    "socialiqa": Set("validation", "train"),
}


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to ask."""

    chat: str
    shots: int
    style: str
    scoring: str

    @property
    def key(self) -> str:
        """What it is called in results.json."""
        return f"{'chat' if self.chat == 'on' else 'bare'}/{self.shots}/{self.style}/{self.scoring}"


def ways_of() -> list[Way]:
    """Return the ways to ask: what is cheap comes first."""
    styles = [("words", "sum"), ("words", "mean"), ("words", "unconditional"), ("letters", "sum")]
    every = [
        Way(chat, shots, style, scoring)
        for shots, (style, scoring), chat in itertools.product((0, 4), styles, ("on", "off"))
    ]
    return sorted(every, key=lambda way: way.shots)


class Asked:
    """The items of a data set that are asked, and the examples before them.

    Args:
        name: The data set.
        n_items: How many items, chosen by (seed, id).
        data_dir: The folder of local copies.
    """

    def __init__(self, name: str, n_items: int, data_dir: Path | None) -> None:
        self.name, self.set = name, SETS[name]
        data = load_dataset(name, data_dir=data_dir, known_issues=False)
        whole = data[self.set.split]
        rows = choose_rows(whole["id"][:], n_items, seed=SEED)
        self.items = whole.select(rows)
        lenders = data[self.set.examples]
        ids = set(self.items["id"])
        others = [row for row, lender in enumerate(lenders["id"][:]) if lender not in ids]
        lenders = lenders.select(others)
        columns = ("text",) if self.set.label_words else ("prompt", "choices")
        fields = {column: lenders[column][:] for column in columns}
        self.examples = Examples.from_columns(lenders["id"][:], lenders["label"][:], **fields)

    def ask(self, engine: LocalEngine, way: Way, work: Path) -> Scores:
        """Ask in one way; ways that ask the same model the same share the folder."""
        words = self.set.label_words
        prompt = Prompt(
            chat=way.chat, shots=way.shots, style=way.style, scoring=way.scoring, label_words=words
        )
        scorer = Prompted(prompt, engine, words or None, examples=self.examples, seed=SEED)
        ids, labels = self.items["id"][:], self.items["label"][:]
        out = work / self.name / f"{way.chat}-{way.shots}-{way.style}"
        if words:
            return scorer.predict(
                self.items["text"][:], ids=ids, labels=labels, out=out, progress=False
            )
        columns = self.items["prompt"][:], self.items["choices"][:]
        return scorer.choose(*columns, ids=ids, labels=labels, out=out, progress=False)


def record(scores: Scores, seconds: float) -> dict[str, Any]:
    """Return what RESULTS.md is made of: ids, labels and scores, and no text of the data."""
    return {
        "ids": list(scores.ids),
        "labels": [int(label) for label in scores.labels],
        "scores": [[round(float(value), 5) for value in row] for row in scores.logits],
        "truncated": scores.truncated,
        "seconds": round(seconds, 1),
    }


def ask_all(
    sets: Sequence[str], n_items: int, data_dir: Path | None, work: Path, file: Path
) -> None:
    """Ask every way that results.json does not have yet of so many items."""
    results: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    engine = None
    by_name = {}
    order = sorted(
        ((name, way) for name in sets for way in ways_of()),
        key=lambda pair: pair[1].shots > 0,
    )
    for name, way in order:
        if len(results.get(name, {}).get(way.key, {}).get("ids", ())) >= n_items:
            continue
        if engine is None:
            engine = LocalEngine(load_causal(demo_language_model()), max_tokens=2048)
        if name not in by_name:
            by_name[name] = Asked(name, n_items, data_dir)
        began = time.perf_counter()
        scores = by_name[name].ask(engine, way, work / str(n_items))
        results.setdefault(name, {})[way.key] = record(scores, time.perf_counter() - began)
        print(f"{name} {way.key}: {results[name][way.key]['seconds']} s", flush=True)
        file.write_text(json.dumps(results, separators=(",", ":")) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("runs/language_models"), help="where scores are kept"
    )
    parser.add_argument(
        "--sets", nargs="*", default=list(SETS), choices=list(SETS), help="data sets to ask about"
    )
    parser.add_argument("--items", type=int, default=N_ITEMS, help="items of each data set")
    parser.add_argument(
        "--report", action="store_true", help="write the report of what is there, score nothing"
    )
    given = parser.parse_args()
    file = HERE / "results.json"
    if not given.report:
        ask_all(given.sets, given.items, given.data_dir, given.work, file)
    write_report(HERE, json.loads(file.read_text("utf-8")))


if __name__ == "__main__":
    main()
