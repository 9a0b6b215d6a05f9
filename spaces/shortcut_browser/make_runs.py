"""Makes the bundled runs: encoders fine-tuned on planted shortcuts of growing strength.

    python spaces/shortcut_browser/make_runs.py WORK_FOLDER

needs the extra [encoder] and takes about a quarter of an hour on two cores; a killed call goes on where it stopped.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from shortcut_runs import HEAD, RUNS, SPLITS, STRENGTHS, TOP_N, UNIT, config, heads, run_file

from rightreasons.core.validation import softmax
from rightreasons.datasets.planted import LABELS, generate_planted_examples
from rightreasons.models.classes import predict
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.shortcuts.measure import measure_shortcuts
from rightreasons.shortcuts.mutual_information import LmiResult
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.training.finetune import fine_tune

EXPLAINED = 120
"""Texts of each split that are attributed; all of them are predicted."""


def main(work: Path) -> None:
    """Make what is not there yet."""
    RUNS.mkdir(exist_ok=True)
    for strength in STRENGTHS:
        path = RUNS / run_file(strength)
        # An interrupted call continues with the strengths that are missing.
        if path.exists():
            continue
        planted = config(strength)
        model = fine_tune(
            demo_encoder(),
            list(generate_planted_examples("train", planted)),
            out=work / f"model_{strength:.2f}",
            label_names=LABELS[2],
            epochs=3,
            learning_rate=1e-4,
            seed=0,
        )
        classifier = load_classifier(model.folder)
        ranking = heads(strength, HEAD)
        rows = []
        for split in SPLITS:
            items = list(generate_planted_examples(split, planted))
            folder = work / f"{strength:.2f}-{split}"
            rows += explain(classifier, ranking, split, items, folder)
        table = pa.Table.from_pylist(rows, SCHEMA)
        # The files are part of the repository.
        pq.write_table(table, path, compression="zstd", compression_level=19)


SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("split", pa.string()),
        ("label", pa.int8()),
        ("p_positive", pa.int16()),  # this and all other numbers in 1/UNIT
        ("tokens", pa.list_(pa.string())),
        ("attributions", pa.list_(pa.int16())),
        ("planted", pa.list_(pa.bool_())),
    ]
)


def explain(
    classifier: Classifier, ranking: LmiResult, split: str, items: list[dict], work: Path
) -> list[dict]:
    """Predict all items of a split, and attribute the first of them."""
    # All texts are predicted at once.
    all_texts = []
    ids = []
    for item in items:
        all_texts.append(item["text"])
        ids.append(item["id"])
    scores = predict(classifier, all_texts, ids=ids)
    positive = softmax(np.asarray(scores.logits))[:, 1]
    explained_items = items[:EXPLAINED]
    # Attributions take most of the time, so only some texts have them.
    measured = measure_shortcuts(
        classifier,
        all_texts[:EXPLAINED],
        [item["label"] for item in explained_items],
        ranking,
        ids=ids[:EXPLAINED],
        protocol=get_protocol(top_n=TOP_N),
        out=work,
    )
    attributions = measured.attributions
    rows = []
    for i, item in enumerate(items):
        row = {
            "id": item["id"],
            "split": split,
            "label": item["label"],
            "p_positive": round_weight(positive[i]),
        }
        # The explained items come first.
        if i < len(explained_items):
            token_slice = slice(attributions.scores.offsets[i], attributions.scores.offsets[i + 1])
            starts = attributions.starts[token_slice].tolist()
            ends = attributions.ends[token_slice].tolist()
            row["tokens"] = list(attributions.tokens[i])
            row["attributions"] = [round_weight(value) for value in attributions.scores[i]]
            row["planted"] = []
            for start, end in zip(starts, ends, strict=True):
                row["planted"].append(is_planted(start, end, item["planted"]))
        rows.append(row)
    return rows


def is_planted(start: int, end: int, planted: list[dict]) -> bool:
    """Return whether a token overlaps a planted word."""
    # The tokenizer may split a planted word, or join it with its neighbors.
    return any(max(start, word["start"]) < min(end, word["end"]) for word in planted)


def round_weight(value: float) -> int:
    """Return a number as it is kept."""
    return round(float(value) * UNIT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
