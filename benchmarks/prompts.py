"""Prompted scoring beside bare loops: what rendering, tokenizing and batching add.

    OMP_NUM_THREADS=1 python benchmarks/prompts.py [--items 16] [--shots 0,4] [--repeats 3]

The packaged SmolLM2-135M-Instruct is asked through its chat template for the label of made-up sentences of 8 to 24
words: a system prompt, few-shot examples that are the same for all items, and two label words. Processor time of one
thread; what is compared takes turns in one process, and the median of the ratios counts. The trial runs before.

The bare loop is `model(...)` over the same tokens in the same padded batches, with the logits of the last tokens alone.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
import transformers

from rightreasons.models.batching import make_length_batches
from rightreasons.models.choices import load_causal
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Examples, Item
from rightreasons.models.scorers import demo_language_model
from rightreasons.models.wording import Prompt

SYSTEM = "You read sentences of film reviews and say whether their author liked the film. Answer with one word."
WORDS = (
    "the a film story plot actor scene music ending and but so very quite rather hardly never was is felt looked "
    "seemed lovely dull bright slow tender empty clever loud warm flat honest tired moving careless rich thin"
)
LABELS = ("negative", "positive")


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def sentences(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS.split(), int(rng.integers(8, 25)))) for _ in range(count)]


@torch.inference_mode()
def bare_loop(model, prompts: list[list[int]]) -> None:
    """Read the same prompts by bare calls of the model."""
    lengths = np.array([len(prompt) for prompt in prompts])
    for batch in make_length_batches(lengths, batch_size=1 << 30, max_tokens=4096):
        tokens = torch.zeros(len(batch), int(lengths[batch].max()), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, item in enumerate(batch):
            tokens[row, : lengths[item]], mask[row, : lengths[item]] = (
                torch.tensor(prompts[item]),
                1,
            )
        ends = torch.from_numpy(np.unique(lengths[batch] - 1))
        out = model(input_ids=tokens, attention_mask=mask, logits_to_keep=ends, use_cache=False)
        out.logits.float().log_softmax(-1)


def measure(model, texts: list[str], shots: int, repeats: int) -> None:
    spare = Examples.from_columns(
        [f"spare {n}" for n in range(8)], [0, 1] * 4, text=sentences(8, 1)
    )
    scorer = Prompted(
        Prompt(system=SYSTEM, shots=shots), LocalEngine(model), LABELS, examples=spare
    )
    items = [
        Item(str(place), {"text": text, "text_pair": None}) for place, text in enumerate(texts)
    ]
    requests = [scorer.rendering.request(item, scorer.shots(item)) for item in items]
    tokens = [parts[0].prompt for parts in scorer.engine.tokenize(requests)]
    trial = seconds(lambda: scorer.predict(texts, progress=False))
    ratios = [
        seconds(lambda: scorer.predict(texts, progress=False))
        / seconds(lambda: bare_loop(model.model, tokens))
        for _ in range(repeats)
    ]
    print(
        f"{shots} shots: {len(texts)} items, {sum(map(len, tokens))} tokens; first call, with the trial, {trial:.1f} s"
    )
    print(f"| {shots} | ours / bare loop | {statistics.median(ratios):.2f} | <= 1.25 |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=16)
    parser.add_argument(
        "--shots", default="0,4", help="comma-separated numbers of few-shot examples"
    )
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    print(
        f"{platform.machine()}, one thread, torch {torch.__version__}, transformers {transformers.__version__}"
    )
    model = load_causal(demo_language_model())
    for shots in options.shots.split(","):
        measure(model, sentences(options.items, 0), int(shots), options.repeats)


if __name__ == "__main__":
    main()
