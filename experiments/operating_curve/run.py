"""How well does the shortcut test tell a model that follows a planted cue from one that does not?

    python experiments/operating_curve/run.py --data-dir DATA [--work FOLDER]
    python experiments/operating_curve/run.py --report

Plants cues of six kinds into sentences of SST-2 (`rightreasons.datasets.perturbing.planting.plant`), trains small
networks on them, and asks the audit's question of each: which words stand out, and do predictions change without
them? What a model relies on is known, as every text exists with the cue of the other label too. Every cell (model,
kind, strength, length, seed) is kept in `--work`, so a killed run goes on. Writes results.json, table.md and
figure.png beside this file; `--collect` writes them from the cells that are there, `--report` writes table and figure
from results.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from curve_report import columns_of, write_report

from rightreasons.core.engines import EngineOptions, run_tasks
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.perturbing.planting import CUES, plant
from rightreasons.models.classes import predict
from rightreasons.models.cnn import CnnConfig, CnnForSequenceClassification, glove_vectors, word_tokenizer
from rightreasons.models.loading import Classifier
from rightreasons.shortcuts.measure import N_CUES, measure_shortcuts, training_heads
from rightreasons.shortcuts.measure_causal import cue_groups, measure_causal_shortcuts, named_cues
from rightreasons.shortcuts.measurement import ShortcutAnswers, SplitShortcuts
from rightreasons.shortcuts.question import SHORTCUTS

HERE = Path(__file__).resolve().parent

NAMES = ("negative", "positive")
N_TRAIN, N_TEST = 1000, 300
SIZES = (50, 100, 300)
"""Items that the audit sees: the first of the test items."""

MODELS = {"bag": (1,), "cnn": (1, 2, 3)}
"""Name -> words that the filters of a network over word vectors see; filters of one word make a bag of words."""

N_FILTERS = 50
EPOCHS, BATCH, RATE = 4, 32, 2e-3
N_FREQUENT = 20_000
RESAMPLING = Resampling(resamples=200)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One model: what was planted how strongly into texts of how many sentences, which network, which seed."""

    model: str
    kind: str
    strength: float
    sentences: int
    seed: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return "-".join(str(value) for value in dataclasses.astuple(self))


PLAN = (
    ("cnn", 1, (0.5, 0.9)),
    ("cnn", 1, (0.75,)),
    ("bag", 1, (0.9,)),
    ("cnn", 4, (0.5, 0.9)),
    ("bag", 1, (0.5,)),
    ("cnn", 1, (1.0,)),
)
"""(network, sentences per text, strengths), in the order in which they are run: each seed by seed, with every kind."""


def cells(seeds: int) -> Iterator[Cell]:
    """Yield all cells in the order of the plan."""
    for model, sentences, strengths in PLAN:
        for seed in range(seeds):
            for kind in CUES:
                for strength in strengths:
                    yield Cell(model, kind, strength, sentences, seed)


# ---------------------------------------------------------------------------------------------------------------- data


def joined(split: datasets.Dataset, n_items: int, sentences: int, seed: int) -> datasets.Dataset:
    """Join sentences of the same label, drawn without replacement, to texts; half of the texts are of each label."""
    rng = np.random.default_rng([seed, sentences])
    labels, texts = np.array(split["label"][:]), np.array(split["text"][:], dtype=object)
    rows: dict[str, list[Any]] = {"id": [], "text": [], "label": []}
    for label in range(len(NAMES)):
        drawn = rng.permutation(np.flatnonzero(labels == label))[: n_items // 2 * sentences]
        for number, group in enumerate(drawn.reshape(-1, sentences)):
            rows["id"].append(f"{label}-{number}")
            rows["text"].append(" ".join(texts[row] for row in group))
            rows["label"].append(label)
    order = rng.permutation(len(rows["id"]))
    return datasets.Dataset.from_dict(
        {key: [values[place] for place in order] for key, values in rows.items()},
        features=datasets.Features(
            {
                "id": datasets.Value("string"),
                "text": datasets.Value("string"),
                "label": datasets.ClassLabel(names=NAMES),
            }
        ),
    )


# --------------------------------------------------------------------------------------------------------------- model


def network(cell: Cell, vectors: tuple[list[str], np.ndarray]) -> Classifier:
    """Make an untrained network over word vectors."""
    words, rows = vectors
    config = CnnConfig(
        vocab_size=len(words) + 3,
        filter_sizes=MODELS[cell.model],
        n_filters=N_FILTERS,
        dropout=0.3,
        id2label=dict(enumerate(NAMES)),
        label2id={name: label for label, name in enumerate(NAMES)},
        problem_type="single_label_classification",
    )
    with torch.random.fork_rng():
        torch.manual_seed(cell.seed)
        model = CnnForSequenceClassification(config)
    with torch.no_grad():
        model.cnn.embeddings.weight[3:] = torch.from_numpy(rows)
    model.cnn.embeddings.weight.requires_grad_(False)
    return Classifier(model.eval(), word_tokenizer(words), NAMES, cell.name)


def train(classifier: Classifier, texts: list[str], labels: list[int], seed: int) -> None:
    """Train all weights but the word vectors, by Adam."""
    model, gold = classifier.model, torch.tensor(labels)
    encoded = classifier.tokenizer(texts)["input_ids"]
    lengths = np.array([len(row) for row in encoded])
    generator = np.random.default_rng(seed)
    optimizer = torch.optim.Adam([weight for weight in model.parameters() if weight.requires_grad], lr=RATE)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model.train()
        for _ in range(EPOCHS):
            # Texts of like length go together, in a random order.
            order = np.argsort(lengths + generator.random(len(texts)) * 10)
            batches = np.array_split(order, len(order) // BATCH)
            for batch in (batches[number] for number in generator.permutation(len(batches))):
                ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(encoded[row]) for row in batch], batch_first=True)
                loss = model(input_ids=ids, labels=gold[batch]).loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    model.eval()


# ----------------------------------------------------------------------------------------------------------- one model


def measure(cell: Cell, splits: dict[str, datasets.Dataset], vectors: tuple[list[str], np.ndarray]) -> dict[str, Any]:
    """Train a model on planted data, and compare what the audit says of it with what it does."""
    data = plant(
        {"train": joined(splits["train"], N_TRAIN, cell.sentences, cell.seed),
         "test": joined(splits["test"], N_TEST, cell.sentences, cell.seed)},
        cell.kind, strength=cell.strength, unfit="drop", seed=cell.seed,
    )  # fmt: skip
    classifier = network(cell, vectors)
    texts, labels = data["train"]["text"][:], data["train"]["label"][:]
    train(classifier, texts, labels, cell.seed)
    heads = training_heads(texts, np.array(labels))
    test, gold = data["test"]["text"][:], np.array(data["test"]["label"][:])
    predicted = {
        form: np.asarray(predict(classifier, data[form]["text"][:], progress=False).logits).argmax(axis=1)
        for form in ("test", "test_absent", "test_flipped")
    }
    planted = {token["token"] for row in data["test"]["planted"] for token in row}
    return {
        **dataclasses.asdict(cell),
        "n_test": len(gold),
        "words": float(np.mean([len(text.split()) for text in test])),
        # The truth: predictions that change with the label of their cue.
        "decided": float((predicted["test"] != predicted["test_flipped"]).mean()),
        **{f"accuracy_{form}": float((guess == gold).mean()) for form, guess in predicted.items()},
        "sizes": {
            str(size): asked(classifier, test[:size], gold[:size], predicted["test"][:size], heads, planted)
            for size in SIZES
        },
    }


def asked(
    classifier: Classifier, texts: list[str], gold: np.ndarray, predicted: np.ndarray, heads: Any, planted: set[str]
) -> dict[str, Any]:
    """Ask the audit's question of some items, of a user who does not know what is planted."""
    options: dict[str, Any] = {"resampling": RESAMPLING, "progress": False}
    measured = measure_shortcuts(classifier, texts, gold, heads, **options)
    cues = named_cues(measured.cues(heads, N_CUES, None))
    tested = measure_causal_shortcuts(
        classifier, [texts[row] for row in measured.rows], measured, heads, cues, **options
    )
    groups = cue_groups(texts, predicted, gold, cues)
    nothing: Any = None  # the verdict takes neither an audit nor a split
    splits = [SplitShortcuts(nothing, len(gold), measured)]
    answers = ShortcutAnswers(nothing, measured.protocol, splits, cues=cues, tested=tested, groups=groups)
    null, found = measured.reliance.null["frequency"], tested.shortcuts
    result: dict[str, Any] = {
        "rate": measured.reliance.shortcut_reliance,
        "excess": null.excess,
        "excess_low": null.interval.low,
        "n_items": len(measured.rows),
        "named": len(cues),
        "named_planted": sum(cue.token in planted for cue in cues),
        "n_with_cue": tested.n_with_cue,
        "n_tested": len(tested.items),
        "tone": SHORTCUTS.rule(answers).tone,
        "conclusion": "none" if found is None else found.conclusion,
        "causal_rate": None,
        "causal_excess": None,
        "causal_low": None,
        "insertion_excess": None,
        "insertion_low": None,
        "planted_excess": None,
        "other_excess": None,
    }
    if found is not None:
        result |= {
            "causal_rate": found.removal.rate,
            "causal_excess": found.removal.excess,
            "causal_low": found.removal.excess_interval.low,
            "planted_excess": mean_excess(found.cues, planted, inside=True),
            "other_excess": mean_excess(found.cues, planted, inside=False),
        }
        if found.insertion is not None:
            result |= {
                "insertion_excess": found.insertion.excess,
                "insertion_low": found.insertion.excess_interval.low,
            }
    return result


def mean_excess(effects: Any, planted: set[str], *, inside: bool) -> float | None:
    """Return the mean causal excess of the predictions whose cue is planted, or is not."""
    rows = [cue.effect for cue in effects if (cue.cue in planted) == inside]
    total = sum(effect.n_items for effect in rows)
    return sum(effect.excess * effect.n_items for effect in rows) / total if total else None


# ----------------------------------------------------------------------------------------------------------------- all


def word_vectors(splits: dict[str, datasets.Dataset]) -> tuple[list[str], np.ndarray]:
    """Return the words that the networks know: frequent ones, those of the data, and all cues."""
    words, rows = glove_vectors()
    place = {word: row for row, word in enumerate(words)}
    tokenizer = word_tokenizer(words[:N_FREQUENT])
    texts = [text for split in splits.values() for text in split["text"][:]]
    seen = {word for word, _ in tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(" ".join(texts))}
    cues = [word for kind in CUES.values() for cue in kind for word in cue.split()]
    known = [word for word in dict.fromkeys((*words[:N_FREQUENT], *sorted(seen), *cues)) if word in place]
    return known, np.asarray(rows[[place[word] for word in known]], dtype=np.float32)


@functools.cache
def sources(data_dir: str | None) -> tuple[dict[str, datasets.Dataset], tuple[list[str], np.ndarray]]:
    """Open the data and the word vectors, once in each process."""
    datasets.disable_progress_bars()
    splits = {part: load_dataset("sst2", split=part, data_dir=data_dir) for part in ("train", "test")}
    return splits, word_vectors(splits)


def run_cell(work: Path, data_dir: str | None, cell: Cell) -> tuple[float, float]:
    """Measure a cell, keep it, and return the seconds that it took and how much its model decides by the cue."""
    began = time.perf_counter()
    row = measure(cell, *sources(data_dir))
    with tempfile.NamedTemporaryFile("w", dir=work, delete=False, suffix=".part") as writing:
        json.dump(row, writing)
    Path(writing.name).rename(work / f"{cell.name}.json")
    return time.perf_counter() - began, row["decided"]


def run(options: argparse.Namespace) -> None:
    """Measure all cells that are not there yet."""
    options.work.mkdir(parents=True, exist_ok=True)
    pending = [cell for cell in cells(options.seeds) if not (options.work / f"{cell.name}.json").is_file()]
    task = functools.partial(run_cell, options.work.resolve(), options.data_dir)
    engine = EngineOptions(options.engine, options.jobs)
    for place, (seconds, decided) in run_tasks(task, pending, options=engine, progress=False):
        print(f"{pending[place].name}: {seconds:.1f} s, decided {decided:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", default=os.environ.get("RIGHTREASONS_DATA_DIR"), help="local copies of the data")
    parser.add_argument("--work", type=Path, default=Path("runs/operating_curve"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--engine", help="where cells are measured: serial, loky or dask, as in docs/scale.md")
    parser.add_argument("--jobs", type=int, help="cells at a time")
    parser.add_argument("--collect", action="store_true", help="train nothing, take the cells that are there")
    parser.add_argument("--report", action="store_true", help="train nothing, write the report of results.json")
    options = parser.parse_args()
    if not options.report:
        if not options.collect:
            run(options)
        rows = [json.loads(file.read_text("utf-8")) for cell in cells(options.seeds)
                if (file := options.work / f"{cell.name}.json").is_file()]  # fmt: skip
        (HERE / "results.json").write_text(json.dumps(columns_of(rows), separators=(",", ":")) + "\n")
    write_report(HERE)


if __name__ == "__main__":
    import run as here  # by name, so that the workers of an engine find what they run

    here.main()
