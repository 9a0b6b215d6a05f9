"""Time the probes: making them, and scoring choices by an encoder and by a causal language model.

    python benchmarks/probes.py --data-dir DATA [--build-only] [--items 40] [--repeats 2]

Making: the four probes of every item of HellaSwag's validation split by `perturb`, from one Arrow
table to another, in one process. Encoder: `choose` next to the bare forward passes over the same
batches, which are already tokenized, sorted by length and padded. Causal: `choose`, which encodes
the prompt once per item, next to a plain loop that reads every (prompt, choice) pair in full, in
batches of similar length.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch

from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.perturbing.probes import PROBES, Pool, perturb
from rightreasons.io.samples import choose_rows
from rightreasons.models.batching import encode, make_length_batches, pad
from rightreasons.models.choices import bare, load_causal
from rightreasons.models.loading import load_multiple_choice
from rightreasons.models.scorers import demo_encoder, demo_language_model

BATCH_SIZE = 32


def measure_seconds(runs: Mapping[str, Callable[[], Any]], n_repeats: int) -> dict[str, float]:
    """Return the least processor time of each run.

    The runs take turns, so that a busy moment of the machine does not slow down only one of them.
    The first round does not count: it includes finding the batch size.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(n_repeats + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return {name: min(seconds[1:]) for name, seconds in times.items()}


def report_making(data: datasets.Dataset, n_repeats: int) -> None:
    """Print the time and the memory of making all probes of a data set."""

    def make_probes() -> None:
        pool = Pool(data)
        for probe in PROBES:
            # A few items have two equal choices.
            perturb(data, probe, pool=pool, duplicates="drop")

    seconds = measure_seconds({"making": make_probes}, n_repeats)["making"]
    n_probes = len(data) * len(PROBES)
    # Linux reports kibibytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"making {n_probes:,} perturbed items: {seconds:.2f} s, {n_probes / seconds:,.0f} items/s, "
        f"peak {peak:,.0f} MiB"
    )


def report_encoder(items: datasets.Dataset, n_repeats: int) -> None:
    """Print the times of an encoder: bare forward passes, and `choose`."""
    model = load_multiple_choice(demo_encoder(), allow_untrained=True)
    prompts = items["prompt"][:]
    choices = items["choices"][:]
    first_texts = []
    second_texts = []
    for prompt, item_choices in zip(prompts, choices, strict=True):
        first_texts += [prompt] * len(item_choices)
        second_texts += item_choices
    encoded = encode(model.tokenizer, first_texts, second_texts, max_length=model.max_length)
    padded_batches = []
    for batch in make_length_batches(encoded.lengths, batch_size=BATCH_SIZE):
        padded_batches.append(pad(encoded, batch, model.device))

    @torch.inference_mode()
    def run_bare() -> None:
        for inputs in padded_batches:
            # The model expects (items, choices, tokens).
            with_choices = {name: tensor.unsqueeze(1) for name, tensor in inputs.items()}
            model.model(**with_choices).logits.cpu()

    runs = {
        "bare": run_bare,
        "choose": lambda: model.choose(prompts, choices, progress=False),
    }
    seconds = measure_seconds(runs, n_repeats)
    ratio = seconds["choose"] / seconds["bare"]
    print(
        f"encoder, {len(first_texts):,} pairs: bare {seconds['bare']:.2f} s, "
        f"`choose` {seconds['choose']:.2f} s, {ratio:.2f} times the bare loop"
    )


def score_pairs(
    scorer: Any, prompts: Sequence[str], choices: Sequence[Sequence[str]], max_tokens: int = 4096
) -> np.ndarray:
    """Score every pair of prompt and choice in full, as one would write it by hand.

    Args:
        scorer: A causal language model.
        prompts: N prompts.
        choices: K choices of each item.
        max_tokens: Number of tokens of a batch, padding included.

    Returns:
        (N, K) sums of the log-probabilities of the tokens of each choice.
    """
    tokenizer = scorer.tokenizer
    prompt_tokens = []
    for tokens, item_choices in zip(tokenizer(prompts)["input_ids"], choices, strict=True):
        prompt_tokens += [tokens] * len(item_choices)
    choice_texts = [f" {choice}" for item_choices in choices for choice in item_choices]
    choice_tokens = tokenizer(choice_texts, add_special_tokens=False)["input_ids"]
    pairs = [[*start, *end] for start, end in zip(prompt_tokens, choice_tokens, strict=True)]
    lengths = np.array(list(map(len, pairs)))
    # The longest pairs come first, so that a batch has pairs of similar length.
    order = np.argsort(-lengths)
    scores = np.empty(len(pairs))
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        batch = order[start : start + max(1, max_tokens // longest)]
        token_ids = torch.zeros(len(batch), longest, dtype=torch.long)
        mask = torch.zeros_like(token_ids)
        is_scored = torch.zeros_like(token_ids)
        for row, pair in enumerate(batch):
            token_ids[row, : lengths[pair]] = torch.tensor(pairs[pair])
            mask[row, : lengths[pair]] = 1
            # The logits at position t predict token t + 1.
            is_scored[row, len(prompt_tokens[pair]) - 1 : lengths[pair] - 1] = 1
        with torch.inference_mode():
            logits = scorer.model(input_ids=token_ids, attention_mask=mask).logits
            log_probabilities = logits.float().log_softmax(-1)
        next_tokens = token_ids[:, 1:, None]
        token_scores = log_probabilities[:, :-1].gather(2, next_tokens)[:, :, 0]
        scores[batch] = (token_scores * is_scored[:, :-1]).sum(1).numpy()
        start += len(batch)
    return scores.reshape(len(prompts), -1)


def report_language_model(items: datasets.Dataset, n_repeats: int) -> None:
    """Print the times of a causal language model: with shared prompts, and pair by pair."""
    try:
        file = demo_language_model()
    except ImportError as error:
        print(f"causal: skipped. {error}")
        return
    model = load_causal(file)
    prompts = items["prompt"][:]
    choices = items["choices"][:]

    def score_with_shared_prompts() -> np.ndarray:
        return np.asarray(bare(model, "sum").choose(prompts, choices, progress=False).logits)

    def score_pair_by_pair() -> np.ndarray:
        return score_pairs(model, prompts, choices)

    runs = {"shared": score_with_shared_prompts, "plain": score_pair_by_pair}
    seconds = measure_seconds(runs, n_repeats)
    differences = np.abs(score_with_shared_prompts() - score_pair_by_pair())
    print(
        f"causal, {len(prompts)} items of 4 choices: shared prefix {seconds['shared']:.1f} s; plain "
        f"loop over pairs {seconds['plain']:.1f} s, {seconds['plain'] / seconds['shared']:.2f} times "
        f"as long; largest difference {differences.max():.1e}"
    )
    n_prompt_tokens = 0
    n_repeated_tokens = 0
    n_choice_tokens = 0
    for tokens, item_choices in zip(model.tokenizer(prompts)["input_ids"], choices, strict=True):
        texts = [f" {choice}" for choice in item_choices]
        n_prompt_tokens += len(tokens)
        n_repeated_tokens += len(tokens) * len(item_choices)
        n_choice_tokens += sum(map(len, model.tokenizer(texts)["input_ids"]))
    n_shared = n_prompt_tokens + n_choice_tokens
    n_full = n_repeated_tokens + n_choice_tokens
    print(
        f"tokens: shared {n_shared:,}, full {n_full:,}, {n_full / n_shared:.2f} times as many",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--build-only", action="store_true", help="measure no model")
    options = parser.parse_args()
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    data = load_dataset("hellaswag", split="validation", data_dir=options.data_dir)
    report_making(data, options.repeats)
    if not options.build_only:
        items = data.select(choose_rows(data["id"][:], options.items))
        report_encoder(items, options.repeats)
        report_language_model(items, options.repeats)


if __name__ == "__main__":
    main()
