"""Four commonsense data sets, four confusion probes, three ways to score: is there prior bias, is there paralysis?

    python experiments/confusion_probes/run.py --data-dir DATA

DATA holds anli/, hellaswag/, piqa/ and socialiqa/ as rightreasons reads them. Scores are kept under --work as they
are computed, so a run that was killed goes on; RESULTS.md, results.json and figures/ are written anew after every data
set, from what is there and, for the rest, from results.json. `--report` writes them without scoring anything.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from report import write_report
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.perturbing.probes import Pool
from rightreasons.io.tables import chosen_rows
from rightreasons.models.choices import load_chooser
from rightreasons.models.classes import choose
from rightreasons.models.protocol import Scorer
from rightreasons.models.scorers import demo_encoder, demo_language_model
from rightreasons.probes.measure import measure_option_order, measure_probes, probe_tables
from rightreasons.training.finetune import fine_tune

HERE = Path(__file__).resolve().parent
SETS = ("socialiqa", "anli", "piqa", "hellaswag")
SEED = 0

# MiniLM has 22.7 million parameters; with 1e-4 and two epochs it learns what a sub-sample of this size can teach it.
TRAIN_ITEMS = 2000
TRAINING: dict[str, Any] = {"epochs": 2, "learning_rate": 1e-4, "batch_size": 16, "max_length": 64}


@dataclasses.dataclass(frozen=True)
class Way:
    """A scorer, how it scores, and on how many items of each data set's validation split."""

    key: str
    name: str
    method: str | None
    n_items: int
    ks: tuple[int, ...] = (1, 2, 4, 8)


WAYS = (
    Way("encoder", "MiniLM, multiple-choice head", None, 240),
    Way("smollm2_mean", "SmolLM2-135M, mean log-likelihood", "mean", 200),
    Way("smollm2_letters", "SmolLM2-135M, letters", "letters", 200, (1, 2, 4)),
)
WAYS_BY_KEY = {way.key: way for way in WAYS}


def encoder(work: Path, data_dir: Path | None) -> str:
    """Fine-tune the head on a sub-sample of SocialIQA's training split; a finished run is opened."""
    train = load_dataset("socialiqa", split="train", data_dir=data_dir, known_issues=False)
    rows = chosen_rows(train["id"][:], TRAIN_ITEMS, seed=SEED)
    done = fine_tune(
        demo_encoder(),
        train.select(rows),
        out=work / "model",
        task="multiple_choice",
        seed=SEED,
        **TRAINING,
    )
    return done.folder


def ask(way: Way, scorer: Scorer, name: str, work: Path, data_dir: Path | None) -> dict[str, Any]:
    """Probe one scorer on one data set; the answer is kept."""
    file = work / way.key / f"{name}.json"
    if file.is_file():
        return json.loads(file.read_text("utf-8"))
    began = time.perf_counter()
    data = load_dataset(name, split="validation", data_dir=data_dir, known_issues=False)
    items = data.select(chosen_rows(data["id"][:], way.n_items, seed=SEED))

    def score(part: str) -> Any:
        def scored(
            prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]
        ) -> Any:
            out = work / way.key / f"{name}-{part}"
            return choose(scorer, prompts, choices, ids=ids, out=out, max_tokens=2048).logits

        return scored

    # The whole split lends texts, so that a larger sub-sample has the same perturbed items.
    scores = probe_tables(items, ks=way.ks, pool=Pool(data), seed=SEED).scored_by(score("probes"))
    orders = None
    if scorer.joint:
        orders = measure_option_order(scores.tables["original"], score("orders"))
    figures = {
        "way": way.key,
        "dataset": name,
        "n_available": len(data),
        "n_dropped": scores.n_dropped,
        "seconds": round(time.perf_counter() - began, 1),
        "probes": measure_probes(scores, resampling=Resampling(seed=SEED)).to_dict(),
        "orders": None if orders is None else orders.to_dict(),
        "top_confidence": {
            table: np.histogram(rows.reduce(np.maximum), bins=20, range=(0, 1))[0].tolist()
            for table, rows in scores.confidences.items()
        },
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(figures), "utf-8")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument(
        "--work", type=Path, default=HERE / "runs", help="where model and scores are kept"
    )
    parser.add_argument(
        "--ways",
        nargs="*",
        default=list(WAYS_BY_KEY),
        choices=list(WAYS_BY_KEY),
        help="scorers to ask",
    )
    parser.add_argument(
        "--sets", nargs="*", default=list(SETS), choices=SETS, help="data sets to ask about"
    )
    parser.add_argument(
        "--report", action="store_true", help="write the report of what is there, score nothing"
    )
    given = parser.parse_args()
    if not given.report:
        for way in (WAYS_BY_KEY[key] for key in given.ways):
            scorer: Scorer | None = None
            for name in given.sets:
                if (given.work / way.key / f"{name}.json").is_file():
                    continue
                if scorer is None:
                    folder = (
                        encoder(given.work, given.data_dir)
                        if way.method is None
                        else demo_language_model()
                    )
                    scorer = load_chooser(folder, method=way.method)
                figures = ask(way, scorer, name, given.work, given.data_dir)
                print(f"{way.name}, {name}: {figures['seconds']} s", flush=True)
                write_report(HERE, given.work, WAYS, SETS)
    write_report(HERE, given.work, WAYS, SETS)


if __name__ == "__main__":
    main()
