"""Query one language model on four datasets, in many prompt formats: which conclusions depend on the format?

    python benchmarks/language_models/run.py --data-dir DATA
    python benchmarks/language_models/run.py --report

DATA contains sst2/, trec/, piqa/ and socialiqa/ as rightreasons reads them. Scores are stored under
--work as they are computed, so that an interrupted run resumes. results.json holds the scores and no
text of the data; it is rewritten after every format. `--report` writes RESULTS.md from results.json
alone.
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
class DatasetSetup:
    """The splits of a dataset and its label words.

    Attributes:
        split: Split of the queried items.
        example_split: Split of the few-shot examples.
        label_words: Words for the labels; empty if the items have choices.
    """

    split: str
    example_split: str
    label_words: tuple[str, ...] = ()


SETUP_BY_DATASET: Mapping[str, DatasetSetup] = {
    "sst2": DatasetSetup("validation", "train", ("negative", "positive")),
    "trec": DatasetSetup(
        "test", "train", ("abbreviation", "entity", "description", "person", "location", "number")
    ),
    # The training split of PIQA is not among the files: examples are validation items that are not queried.
    "piqa": DatasetSetup("validation", "validation"),
    "socialiqa": DatasetSetup("validation", "train"),
}


@dataclasses.dataclass(frozen=True)
class Format:
    """A prompt format, in the values of the options of `Prompt`.

    Attributes:
        chat: Whether the chat template is used, "on" or "off".
        shots: Number of examples.
        style: Style of the answers, "words" or "letters".
        scoring: Score of an answer, such as "sum".
    """

    chat: str
    shots: int
    style: str
    scoring: str

    @property
    def key(self) -> str:
        """The name of the format in results.json, such as "chat/0/words/sum"."""
        template = "chat" if self.chat == "on" else "bare"
        return f"{template}/{self.shots}/{self.style}/{self.scoring}"


def list_formats() -> list[Format]:
    """Return the prompt formats. Those without examples are cheap and come first."""
    styles = [("words", "sum"), ("words", "mean"), ("words", "unconditional"), ("letters", "sum")]
    formats = []
    for shots, (style, scoring), chat in itertools.product((0, 4), styles, ("on", "off")):
        formats.append(Format(chat, shots, style, scoring))
    return formats


class Sample:
    """The queried items of a dataset, and the examples in their prompts.

    Args:
        name: Name of the dataset.
        n_items: Number of items, which are selected by seed and id.
        data_dir: Folder of local copies.
    """

    def __init__(self, name: str, n_items: int, data_dir: Path | None) -> None:
        self.name = name
        self.label_words = SETUP_BY_DATASET[name].label_words
        splits = load_dataset(name, data_dir=data_dir, known_issues=False)
        items = splits[SETUP_BY_DATASET[name].split]
        self.items = items.select(choose_rows(items["id"][:], n_items, seed=SEED))

        # A queried item must not be an example.
        candidates = splits[SETUP_BY_DATASET[name].example_split]
        queried_ids = set(self.items["id"])
        rows = [row for row, item in enumerate(candidates["id"][:]) if item not in queried_ids]
        candidates = candidates.select(rows)
        columns = ("text",) if self.label_words else ("prompt", "choices")
        fields = {column: candidates[column][:] for column in columns}
        self.examples = Examples.from_columns(candidates["id"][:], candidates["label"][:], **fields)

    def score(self, engine: LocalEngine, prompt_format: Format, work: Path) -> Scores:
        """Query the model in one format.

        Formats that differ only in scoring send the same queries, and share a folder below `work`.
        """
        prompt = Prompt(
            chat=prompt_format.chat,
            shots=prompt_format.shots,
            style=prompt_format.style,
            scoring=prompt_format.scoring,
            label_words=self.label_words,
        )
        scorer = Prompted(
            prompt, engine, self.label_words or None, examples=self.examples, seed=SEED
        )
        folder = f"{prompt_format.chat}-{prompt_format.shots}-{prompt_format.style}"
        arguments = {
            "ids": self.items["id"][:],
            "labels": self.items["label"][:],
            "out": work / self.name / folder,
            "progress": False,
        }
        if self.label_words:
            return scorer.predict(self.items["text"][:], **arguments)
        return scorer.choose(self.items["prompt"][:], self.items["choices"][:], **arguments)


def make_cell(scores: Scores, seconds: float) -> dict[str, Any]:
    """Return a cell of results.json: ids, labels and scores, and no text of the data."""
    rows = []
    for row in scores.logits:
        rows.append([round(float(value), 5) for value in row])
    return {
        "ids": list(scores.ids),
        "labels": [int(label) for label in scores.labels],
        "scores": rows,
        "truncated": scores.truncated,
        "seconds": round(seconds, 1),
    }


def score_datasets(
    datasets: Sequence[str], n_items: int, data_dir: Path | None, work: Path, file: Path
) -> None:
    """Query the model in every format that results.json lacks, or has with fewer items.

    Args:
        datasets: Names of the datasets.
        n_items: Number of items of each dataset.
        data_dir: Folder of local copies.
        work: Folder of the stored scores.
        file: Path of results.json.
    """
    results: dict[str, Any] = {}
    if file.is_file():
        results = json.loads(file.read_text("utf-8"))
    tasks = list(itertools.product(datasets, list_formats()))
    # Formats without examples are cheap: those of all datasets come first.
    tasks.sort(key=lambda task: task[1].shots > 0)
    # The model and the datasets are loaded only if a task needs them.
    engine = None
    samples: dict[str, Sample] = {}
    for name, prompt_format in tasks:
        key = prompt_format.key
        cell = results.get(name, {}).get(key, {})
        if len(cell.get("ids", ())) >= n_items:
            continue
        if engine is None:
            engine = LocalEngine(load_causal(demo_language_model()), max_tokens=2048)
        if name not in samples:
            samples[name] = Sample(name, n_items, data_dir)
        start = time.perf_counter()
        scores = samples[name].score(engine, prompt_format, work / str(n_items))
        cell = make_cell(scores, time.perf_counter() - start)
        results.setdefault(name, {})[key] = cell
        print(f"{name} {key}: {cell['seconds']} s", flush=True)
        file.write_text(json.dumps(results, separators=(",", ":")) + "\n", "utf-8")


def main() -> None:
    """Score the datasets unless only the report is required, and write the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, help="folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("runs/language_models"), help="folder of stored scores"
    )
    parser.add_argument(
        "--sets",
        nargs="*",
        default=list(SETUP_BY_DATASET),
        choices=list(SETUP_BY_DATASET),
        help="datasets to query",
    )
    parser.add_argument(
        "--items", type=int, default=N_ITEMS, help="number of items of each dataset"
    )
    parser.add_argument(
        "--report", action="store_true", help="write the report of the stored scores, score nothing"
    )
    options = parser.parse_args()
    file = HERE / "results.json"
    if not options.report:
        score_datasets(options.sets, options.items, options.data_dir, options.work, file)
    write_report(HERE, json.loads(file.read_text("utf-8")))


if __name__ == "__main__":
    main()
