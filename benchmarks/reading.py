"""Time the reading of files of a million rows against datasets' own readers, and of lm-eval's logs.

    python benchmarks/reading.py [--rows 1000000] [--rounds 3] [--samples 100000]

Two columns, a text of about ten words and a label, as csv, JSON lines and parquet. `read` is our
reader of files; `open` is `open_dataset`, which also finds the columns, resolves the labels and makes
ids; `datasets` is `Dataset.from_csv`, `from_json` and `from_parquet` without their cache. All run in
one process. The best processor time of the rounds is printed, and its ratio to that of datasets. The
cells of both readers are compared.

The log is a samples file of lm-evaluation-harness, as `--log_samples` writes it, of a task with two
choices; it is compared with `json.loads`. The rules that read generated answers are timed last.
"""

from __future__ import annotations

import argparse
import functools
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.io.options import PredictionOptions
from rightreasons.io.predictions import read_predictions
from rightreasons.io.reading import as_table
from rightreasons.io.tables import open_dataset
from rightreasons.models.replies.answers import read_answer

SENTENCE = "the cat sat on a mat because it was warm and dry while nobody could tell how long that would last"
"""Its words are sampled for generated answers."""


def write_rows(folder: Path, n_rows: int) -> list[Path]:
    """Write the same rows as csv, JSON lines and parquet, and return the paths."""
    rows = []
    for row in range(n_rows):
        rows.append(
            {"text": f"this is the text of row {row}, and some more words", "label": row % 2}
        )
    csv = folder / "rows.csv"
    with open(csv, "w", encoding="utf-8") as stream:
        stream.write("text,label\n")
        stream.writelines(f'"{row["text"]}",{row["label"]}\n' for row in rows)
    lines = folder / "rows.jsonl"
    with open(lines, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    parquet = folder / "rows.parquet"
    datasets.Dataset.from_list(rows).to_parquet(parquet)
    return [csv, lines, parquet]


def make_sample(row: int) -> dict[str, Any]:
    """Make one sample of a log of lm-evaluation-harness, with the fields of its PIQA."""
    goal = f"How do you do the thing of row {row}, which takes some words to say?"
    choices = [
        f"Take the first way of row {row}, and go on with it.",
        f"Take the second way of row {row}.",
    ]
    question = f"Question: {goal}\nAnswer:"
    # Log likelihood of each choice, and whether it is the greedy continuation.
    responses = [[f"-{10 + row % 7}.25", "False"], [f"-{12 - row % 5}.5", "True"]]
    arguments = {}
    for position, choice in enumerate(choices):
        arguments[f"gen_args_{position}"] = {"arg_0": question, "arg_1": f" {choice}"}
    return {
        "doc_id": row,
        "doc": {"goal": goal, "sol1": choices[0], "sol2": choices[1], "label": row % 2},
        "target": str(row % 2),
        "arguments": arguments,
        "resps": [[response] for response in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": f"{row:064x}",
        "prompt_hash": f"{row:064x}",
        "target_hash": f"{row:064x}",
        "acc": 1.0,
        "acc_norm": 0.0,
    }


def write_samples(folder: Path, n_samples: int) -> Path:
    """Write a samples file of lm-evaluation-harness, and return its path."""
    path = folder / "samples_piqa_2026-11-22.jsonl"
    with open(path, "w", encoding="utf-8") as stream:
        for row in range(n_samples):
            stream.write(json.dumps(make_sample(row)) + "\n")
    return path


def make_answer(number: int) -> str:
    """Make a generated answer to a question with four choices, in one of eight forms."""
    rng = np.random.default_rng(number)
    letter, incorrect_letter = rng.permutation(list("ABCD"))[:2]
    words = np.array(SENTENCE.split())

    def draw_sentence(length: int) -> str:
        return " ".join(rng.choice(words, length)).capitalize() + "."

    # All forms are made though one is returned: the words of a form follow those of the forms before it.
    forms = (
        f"{letter}. {draw_sentence(6)}",
        f"{draw_sentence(12)}\n\nANSWER: {letter}",
        f"The answer is {letter}. {draw_sentence(5)}",
        f"{draw_sentence(14)} {draw_sentence(12)} So the answer is ({letter}), not {incorrect_letter}.",
        f"Let me think.\n1. {draw_sentence(15)}\n2. {draw_sentence(12)}\n\nTherefore, the correct answer is **{letter}**.",
        f"{draw_sentence(9)}\n- {draw_sentence(12)}\n- If it were {incorrect_letter}, {draw_sentence(6)}\n\n\\boxed{{{letter}}}",
        f"{draw_sentence(20)} {draw_sentence(20)} I'm not sure.",
        f"**{letter}) {draw_sentence(4)}**\n\nExplanation: {draw_sentence(25)}",
    )
    return forms[number % len(forms)]


def read_answers(texts: Sequence[str], choices: Sequence[Sequence[str]]) -> list[int]:
    """Return the position of the letter in each generated answer, -1 if there is none.

    Args:
        texts: N generated answers.
        choices: Texts of the four choices of each item; empty if only letters are read.
    """
    positions = []
    for text, item_choices in zip(texts, choices, strict=True):
        positions.append(read_answer(text, "ABCD", texts=item_choices))
    return positions


def measure_seconds(function: Callable[[], Any], n_rounds: int) -> tuple[float, Any]:
    """Return the smallest processor time of the rounds, and the result of the function."""
    times = []
    result = None
    for _ in range(n_rounds):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return min(times), result


def read_by_peer(path: Path) -> datasets.Dataset:
    """Read a file with datasets, into a temporary cache."""
    reader = {".csv": "from_csv", ".jsonl": "from_json", ".parquet": "from_parquet"}[path.suffix]
    with tempfile.TemporaryDirectory() as cache:
        data: datasets.Dataset = getattr(datasets.Dataset, reader)(
            str(path), cache_dir=cache, keep_in_memory=True
        )
    return data


def print_file_times(folder: Path, n_rows: int, n_rounds: int) -> None:
    """Print the times of the readers of each file format."""
    print(f"{'':<10}{'datasets':>10}{'read':>10}{'ratio':>8}{'open':>10}{'ratio':>8}")
    for path in write_rows(folder, n_rows):
        peer_time, expected = measure_seconds(functools.partial(read_by_peer, path), n_rounds)
        read_time, table = measure_seconds(functools.partial(as_table, path), n_rounds)
        open_time, data = measure_seconds(functools.partial(open_dataset, path), n_rounds)
        assert table["text"][:] == expected["text"][:] == data["text"][:]
        assert data["label"][:] == expected["label"][:]
        print(
            f"{path.suffix:<10}{peer_time:>9.2f}s"
            f"{read_time:>9.2f}s{read_time / peer_time:>8.2f}"
            f"{open_time:>9.2f}s{open_time / peer_time:>8.2f}",
            flush=True,
        )


def print_log_times(folder: Path, n_samples: int, n_rounds: int) -> None:
    """Print the times of reading a log of lm-evaluation-harness."""
    log = write_samples(folder, n_samples)

    def parse_lines() -> list[Any]:
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]

    def read_log() -> Any:
        return read_predictions(log, options=PredictionOptions())

    parse_time, samples = measure_seconds(parse_lines, n_rounds)
    read_time, predictions = measure_seconds(read_log, n_rounds)
    assert len(predictions) == len(samples) == n_samples
    size = f"{log.stat().st_size / 1e6:.0f} MB"
    print(
        f"{n_samples:,} samples of lm-eval, {size}: read {read_time:.2f} s, "
        f"json.loads {parse_time:.2f} s"
    )


def print_answer_times(n_answers: int, n_rounds: int) -> None:
    """Print the times of reading generated answers, by their letters alone and by the choices."""
    texts = [make_answer(number) for number in range(n_answers)]
    words = np.random.default_rng(0).choice(SENTENCE.split(), (n_answers, 4, 5))
    choices = []
    for number, item_words in enumerate(words):
        choices.append([f"{' '.join(choice_words)} {number}" for choice_words in item_words])
    length = sum(map(len, texts)) / n_answers
    choices_by_kind = {
        "letters": [()] * n_answers,
        "letters and texts of their own": choices,
    }
    for kind, kind_choices in choices_by_kind.items():
        function = functools.partial(read_answers, texts, kind_choices)
        read_time, positions = measure_seconds(function, n_rounds)
        share = sum(position >= 0 for position in positions) / n_answers
        print(
            f"{n_answers:,} generated answers of {length:.0f} characters by {kind}: "
            f"{read_time:.2f} s, {share:.1%} read"
        )


def main() -> None:
    """Measure all readers and print their times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=100_000, help="number of samples in the log")
    options = parser.parse_args()
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        print_file_times(Path(folder), options.rows, options.rounds)
        print_log_times(Path(folder), options.samples, options.rounds)
    print_answer_times(options.samples, options.rounds)


if __name__ == "__main__":
    main()
