"""Prompted scoring beside bare loops: what rendering, tokenizing and batching add, and what a common prefix saves.

    OMP_NUM_THREADS=1 python benchmarks/prompts.py [--items 16] [--shots 0,4] [--repeats 3]

The packaged SmolLM2-135M-Instruct is asked through its chat template for the label of made-up sentences of 8 to 24
words: a system prompt, few-shot examples that are the same for all items, and two label words. Processor time of one
thread; what is compared takes turns in one process, and the median of the ratios counts. The trial runs before.

1. Each item read from its beginning / a bare loop over the same tokens: `model(...)` over the same padded batches, with
   the logits of the last tokens alone.
2. The prefix read once / a bare loop over the same tokens: the prefix, then `model(...)` with what it keeps of it.
3. Each item read from its beginning / the prefix read once.
"""

from __future__ import annotations

import argparse
import copy
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
import transformers

from rightreasons.models.batching import length_batches
from rightreasons.models.choices import load_causal
from rightreasons.models.likelihoods import longest_common
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


class Loops:
    """The same requests by bare calls of the model.

    Args:
        engine: The model.
        prompts: N prompts as tokens.
        size: How many tokens they have in common.
    """

    def __init__(self, engine: LocalEngine, prompts: list[list[int]], size: int) -> None:
        self.model, self.prompts, self.size = engine.model, prompts, size

    def batches(self, before: int, room: int) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Return padded batches of what follows the first tokens: ids, mask, and where each prompt ends."""
        rests = [prompt[before:] for prompt in self.prompts]
        lengths = np.array([len(rest) for rest in rests])
        padded = []
        for batch in length_batches(lengths, batch_size=1 << 30, max_tokens=room):
            tokens = torch.zeros(len(batch), int(lengths[batch].max()), dtype=torch.long)
            mask = torch.zeros_like(tokens)
            for row, item in enumerate(batch):
                tokens[row, : lengths[item]], mask[row, : lengths[item]] = torch.tensor(rests[item]), 1
            ends = torch.from_numpy(np.unique(lengths[batch] - 1))
            padded.append((tokens, torch.nn.functional.pad(mask, (before, 0), value=1), ends))
        return padded

    @torch.inference_mode()
    def full(self) -> None:
        """Read every prompt from its beginning."""
        for tokens, mask, ends in self.batches(0, 4096):
            out = self.model(input_ids=tokens, attention_mask=mask, logits_to_keep=ends, use_cache=False)
            out.logits.float().log_softmax(-1)

    @torch.inference_mode()
    def after_prefix(self) -> None:
        """Read what the prompts have in common once."""
        before = self.size
        first = torch.tensor([self.prompts[0][:before]])
        held = self.model(input_ids=first, logits_to_keep=1, use_cache=True).past_key_values
        for tokens, mask, ends in self.batches(before, 1024):
            cache = copy.deepcopy(held)
            cache.batch_repeat_interleave(len(tokens))
            out = self.model(input_ids=tokens, attention_mask=mask, logits_to_keep=ends, past_key_values=cache)
            out.logits.float().log_softmax(-1)


def measure(model, texts: list[str], shots: int, repeats: int) -> None:
    spare = Examples.of([f"spare {n}" for n in range(8)], [0, 1] * 4, text=sentences(8, 1))
    prompt = Prompt(system=SYSTEM, shots=shots, draw="run")
    apart, once = (
        Prompted(prompt, LocalEngine(model, common_prefix=common), LABELS, examples=spare) for common in (False, True)
    )
    items = [Item(str(place), {"text": text, "text_pair": None}) for place, text in enumerate(texts)]
    requests = [apart.rendering.request(item, apart.shots(item)) for item in items]
    tokens = [parts[0].prompt for parts in apart.engine.tokens(requests)]
    size, members = longest_common(tokens)
    assert len(members) == len(texts)
    loops = Loops(apart.engine, tokens, size)
    trial = seconds(lambda: once.predict(texts, progress=False))
    longest = max(range(len(texts)), key=lambda place: len(tokens[place]))
    apart.predict([texts[longest]], progress=False)  # the trial of whole items
    rows = []
    for _ in range(repeats):
        whole, loop = seconds(lambda: apart.predict(texts, progress=False)), seconds(loops.full)
        shared, prefixed = seconds(lambda: once.predict(texts, progress=False)), seconds(loops.after_prefix)
        rows.append((whole, loop, shared, prefixed))
    scores = [each.predict(texts, progress=False) for each in (apart, once)]
    off = float(np.abs(scores[0].logits - scores[1].logits).max())
    total = sum(map(len, tokens))
    print(
        f"{shots} shots: {len(texts)} items, {total} tokens, {size} of them at the beginning of each; "
        f"{total - size * (len(texts) - 1)} read where that is read once; largest difference {off:.0e}; "
        f"first call, with the trial, {trial:.1f} s, a later one {rows[0][2]:.1f} s ({scores[1].way})"
    )
    for what, target, values in (
        ("from the beginning / bare loop", "<= 1.25", [whole / loop for whole, loop, _, _ in rows]),
        (
            "prefix once / bare loop with the prefix once",
            "<= 1.25",
            [shared / prefixed for _, _, shared, prefixed in rows],
        ),
        ("from the beginning / prefix once", "-", [whole / shared for whole, _, shared, _ in rows]),
    ):
        print(f"| {shots} | {what} | {statistics.median(values):.2f} | {target} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=16)
    parser.add_argument("--shots", default="0,4", help="comma-separated numbers of few-shot examples")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    print(f"{platform.machine()}, one thread, torch {torch.__version__}, transformers {transformers.__version__}")
    model = load_causal(demo_language_model())
    for shots in options.shots.split(","):
        measure(model, sentences(options.items, 0), int(shots), options.repeats)


if __name__ == "__main__":
    main()
