"""What the probes cost: building them, and scoring choices by an encoder and by a causal language model.

    python benchmarks/probes.py --data-dir DATA [--build-only] [--items 40] [--repeats 2]

Building: the four probes of every item of HellaSwag's validation split through `perturb` (Arrow table in, Arrow table
out), one process. Encoder: `Classifier.choose` beside the bare forward passes over the same batches, already tokenized,
sorted by length and padded. Causal: `CausalLM.choose` with the prompt encoded once per item, compared with every
(prompt, choice) pair in full, by a plain loop over length-sorted batches.
"""

import argparse
import platform
import resource
import time
from pathlib import Path

import numpy as np
import torch

from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.perturbing.probes import PROBES, Pool, perturb
from rightreasons.io.samples import choose_rows
from rightreasons.models.batching import encode, length_batches, pad
from rightreasons.models.choices import bare, load_causal
from rightreasons.models.loading import load_multiple_choice
from rightreasons.models.scorers import demo_encoder, demo_language_model

BATCH_SIZE = 32


def best(runs, repeats):
    """The best time of each run behind one that pays for the trial; they take turns: a busy moment hits none alone."""
    times = {name: [] for name in runs}
    for _ in range(repeats + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return {name: min(found[1:]) for name, found in times.items()}


def building(data, repeats):
    def build():
        pool = Pool(data)
        for probe in PROBES:
            # A few items have two equal choices.
            perturb(data, probe, pool=pool, duplicates="drop")

    seconds = best({"build": build}, repeats)["build"]
    count = len(data) * len(PROBES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"building {count:,} perturbed items: {seconds:.2f} s, {count / seconds:,.0f} items/s, peak {peak:,.0f} MiB"
    )


def encoder(items, repeats):
    model = load_multiple_choice(demo_encoder(), allow_untrained=True)
    prompts, choices = items["prompt"][:], items["choices"][:]
    first = [prompt for prompt, row in zip(prompts, choices, strict=True) for _ in row]
    encoded = encode(
        model.tokenizer,
        first,
        [text for row in choices for text in row],
        max_length=model.max_length,
    )
    padded = [
        pad(encoded, b, model.device)
        for b in length_batches(encoded.lengths, batch_size=BATCH_SIZE)
    ]

    @torch.inference_mode()
    def bare():
        for inputs in padded:
            model.model(
                **{name: tensor.unsqueeze(1) for name, tensor in inputs.items()}
            ).logits.cpu()

    bare()
    found = best(
        {
            "bare": bare,
            "predict_choices": lambda: model.choose(prompts, choices, progress=False),
        },
        repeats,
    )
    print(
        f"encoder, {len(first):,} pairs: bare {found['bare']:.2f} s, `choose` {found['predict_choices']:.2f} s, "
        f"{found['predict_choices'] / found['bare']:.2f} times the bare loop"
    )


def plain_loop(scorer, prompts, choices, max_tokens=4096):
    """Score every pair in full, as one writes it by hand: batches of like length, the logits of all tokens."""
    tokenizer = scorer.tokenizer
    heads = [
        tokens
        for tokens, row in zip(tokenizer(prompts)["input_ids"], choices, strict=True)
        for _ in row
    ]
    tails = tokenizer([f" {text}" for row in choices for text in row], add_special_tokens=False)[
        "input_ids"
    ]
    lengths = np.array([len(head) + len(tail) for head, tail in zip(heads, tails, strict=True)])
    order, scores, start = np.argsort(-lengths), np.empty(len(heads)), 0
    while start < len(order):
        batch = order[start : start + max(1, max_tokens // int(lengths[order[start]]))]
        tokens = torch.zeros(len(batch), int(lengths[batch].max()), dtype=torch.long)
        mask, wanted = torch.zeros_like(tokens), torch.zeros_like(tokens)
        for row, pair in enumerate(batch):
            tokens[row, : lengths[pair]] = torch.tensor(heads[pair] + tails[pair])
            mask[row, : lengths[pair]] = 1
            wanted[row, len(heads[pair]) - 1 : lengths[pair] - 1] = 1
        with torch.inference_mode():
            found = (
                scorer.model(input_ids=tokens, attention_mask=mask).logits.float().log_softmax(-1)
            )
        picked = found[:, :-1].gather(2, tokens[:, 1:, None])[:, :, 0]
        scores[batch] = (picked * wanted[:, :-1]).sum(1).numpy()
        start += len(batch)
    return scores.reshape(len(prompts), -1)


def causal(items, repeats):
    try:
        file = demo_language_model()
    except ImportError as error:
        print(f"causal: left out. {error}")
        return
    model = load_causal(file)
    prompts, choices = items["prompt"][:], items["choices"][:]
    bare(model).choose(prompts[:2], choices[:2], progress=False)
    runs = {
        "shared": lambda: bare(model, "sum").choose(prompts, choices, progress=False).logits,
        "plain": lambda: plain_loop(model, prompts, choices),
    }
    found = best(runs, repeats)
    ours, plain = (np.asarray(run()) for run in runs.values())
    largest = float(np.abs(ours - plain).max())
    print(
        f"causal, {len(prompts)} items of 4 choices: shared prefix {found['shared']:.1f} s; plain loop over pairs "
        f"{found['plain']:.1f} s, {found['plain'] / found['shared']:.2f} times as long; "
        f"largest difference {largest:.1e}"
    )
    behind = sum(
        map(len, model.tokenizer([f" {text}" for row in choices for text in row])["input_ids"])
    )
    before = [len(tokens) for tokens in model.tokenizer(prompts)["input_ids"]]
    full_tokens = behind + sum(size * len(row) for size, row in zip(before, choices, strict=True))
    shared_tokens = sum(before) + behind
    print(
        f"tokens: shared {shared_tokens:,}, full {full_tokens:,}, {full_tokens / shared_tokens:.2f} times as many"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data-dir", type=Path, help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    data = load_dataset("hellaswag", split="validation", data_dir=options.data_dir)
    building(data, options.repeats)
    if not options.build_only:
        items = data.select(choose_rows(data["id"][:], options.items))
        encoder(items, options.repeats)
        causal(items, options.repeats)


if __name__ == "__main__":
    main()
