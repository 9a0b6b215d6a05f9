"""Every instrument on a GPU in float32 and bfloat16 beside the CPU, throughput beside bare passes, and peak memory.

    python benchmarks/gpu.py [--device cuda] [--shape bert-base llama-1b] [--items 1024] [--tokens 128] [--tiny]

Weights are random, texts are random words of one length. For each shape and type:

1. The largest difference of logits, attributions, Fisher eigenvalues and likelihoods of choices from the CPU's float32
   (the language model's first two layers there), relative to the largest magnitude.
2. Items per second of each instrument, and of bare passes over the same batches, on the device already: forward passes
   for `predict` and the choices; a forward and a backward pass per node and per label for the gradients.
3. The seconds of a model's trial, and of its fingerprint, and the peak memory of `predict`.
4. A batch of all items where the memory holds but a part of them.

`--tiny` takes shapes of two narrow layers, to try the command where there is no GPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from small_encoder import save_small_encoder

from rightreasons.models.choices import bare, load_causal
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier
from rightreasons.models.runs.processes import default_batch_size

TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
BERT_BASE = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}
LLAMA_1B = {
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
}
SHAPES = ("bert-base", "llama-1b")
NODES = 8
COMPARED = 8
"""Texts whose numbers are compared with the CPU's."""

GRADIENTS = 8
"""One text in so many is asked for gradients."""

MOST_LAYERS = 2
"""Layers of the language model in that comparison."""

SPARE = 400 << 20
"""Bytes that are left for a batch that does not fit."""


def save(shape: str, folder: Path, length: int, *, tiny: bool, layers: int | None = None) -> str:
    """Save a classifier of a shape, and beside it, in `causal`, a language model where it is a decoder."""
    folder.mkdir()
    if shape == "bert-base":
        return save_small_encoder(folder, length, **(TINY if tiny else BERT_BASE))
    from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification

    save_small_encoder(folder, length, **TINY)  # for its tokenizer
    sizes: dict[str, Any] = {**TINY, "num_key_value_heads": 2} if tiny else dict(LLAMA_1B)
    if layers is not None:
        sizes["num_hidden_layers"] = layers
    config = LlamaConfig(
        vocab_size=1000, max_position_embeddings=max(length, 512), pad_token_id=0, **sizes
    )
    for kind, where in (
        (LlamaForSequenceClassification, folder),
        (LlamaForCausalLM, folder / "causal"),
    ):
        torch.manual_seed(0)
        kind(config).eval().save_pretrained(where)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / "causal" / name).write_bytes((folder / name).read_bytes())
    return str(folder)


def n_for_gradients(texts: list[str]) -> int:
    """Return how many texts are asked for gradients."""
    return max(len(texts) // GRADIENTS, COMPARED)


def instruments(
    path: str, texts: list[str], *, batch_size: int, **where: Any
) -> dict[str, Callable[[], np.ndarray]]:
    """Return what each instrument says of texts, as one array each."""
    classifier = load_classifier(path, **where)
    tokens = batch_size * (len(texts[0].split()) + 2)
    how: dict[str, Any] = {"progress": False, "max_tokens": tokens}
    few = texts[: n_for_gradients(texts)]
    found = {
        "predict": lambda: np.asarray(
            predict(classifier, texts, batch_size=batch_size, progress=False).logits
        ),
        "attributions": lambda: (
            integrated_gradients(classifier, few, steps=NODES, **how).scores.values
        ),
        "Fisher": lambda: np.asarray(
            fisher_information(classifier, few, batch_size=batch_size, **how).eigenvalues
        ),
    }
    if (Path(path) / "causal").exists():
        model = load_causal(Path(path) / "causal", **where)
        choices = [[f"w{row} w1", f"w2 w{row}", "w3", f"w4 w5 w{row}"] for row in range(len(texts))]
        found["choices"] = lambda: np.asarray(
            bare(model, max_tokens=tokens)
            .choose([text[: len(text) // 2] for text in texts], choices, progress=False)
            .logits
        )
    return found


def seconds(function: Callable[[], object], device: str) -> float:
    """Return the seconds of a second call."""
    function()
    waits = torch.cuda.synchronize if device != "cpu" else lambda: None
    waits()
    begin = time.perf_counter()
    function()
    waits()
    return time.perf_counter() - begin


def floors(
    path: str, texts: list[str], *, batch_size: int, **where: Any
) -> dict[str, Callable[[], object]]:
    """Return the bare passes of `predict`, attributions and Fisher information over inputs that lie on the device."""
    classifier = load_classifier(path, **where)
    model = classifier.model.requires_grad_(False)
    ids = classifier.tokenizer(texts, return_tensors="pt", return_token_type_ids=False).to(
        model.device
    )
    table = model.get_input_embeddings()

    def batches(count: int) -> Iterator[dict[str, Any]]:
        for start in range(0, count, batch_size):
            yield {key: value[start : min(start + batch_size, count)] for key, value in ids.items()}

    @torch.inference_mode()
    def forward() -> None:
        for batch in batches(len(texts)):
            model(**batch)

    def backward(times: int) -> None:
        for _ in range(times):
            for batch in batches(n_for_gradients(texts)):
                embedded = table(batch.pop("input_ids")).detach().requires_grad_()
                torch.autograd.grad(
                    model(inputs_embeds=embedded, **batch).logits[:, 0].sum(), embedded
                )

    return {
        "predict": forward,
        "attributions": lambda: backward(NODES),
        "Fisher": lambda: backward(1),
    }


def differences(shape: str, options: argparse.Namespace, texts: list[str]) -> None:
    """Print the table of differences."""
    print("| shape | type | instrument | largest difference from the CPU's float32 |")
    print("|---|---|---|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path = save(
            shape, Path(folder) / "model", options.tokens, tiny=options.tiny, layers=MOST_LAYERS
        )
        few = texts[:COMPARED]
        expected = {
            name: ask()
            for name, ask in instruments(
                path, few, batch_size=4, device="cpu", dtype="float32"
            ).items()
        }
        for dtype in ("float32", "bfloat16"):
            found = instruments(path, few, batch_size=4, device=options.device, dtype=dtype)
            for name, ask in found.items():
                gap = np.abs(ask() - expected[name]).max() / np.abs(expected[name]).max()
                print(f"| {shape} | {dtype} | {name} | {gap:.1e} |", flush=True)
    print()


def speeds(shape: str, options: argparse.Namespace, texts: list[str]) -> None:
    """Print the table of items per second."""
    device = options.device
    print(
        "| shape | type | batch | instrument | items/s | bare passes, items/s | share | peak MiB |"
    )
    print("|---|---|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path = save(shape, Path(folder) / "model", options.tokens, tiny=options.tiny)
        for dtype in ("float32", "bfloat16")[shape != "bert-base" :]:
            begin = time.perf_counter()
            classifier = load_classifier(path, device=device, dtype=dtype)
            predict(classifier, texts[:2], progress=False)
            first = time.perf_counter() - begin
            for size in options.batch_size:
                ours = instruments(path, texts, batch_size=size, device=device, dtype=dtype)
                bare = floors(path, texts, batch_size=size, device=device, dtype=dtype)
                for name, ask in ours.items():
                    if device != "cpu":
                        torch.cuda.reset_peak_memory_stats()
                    count = len(texts) if name in ("predict", "choices") else n_for_gradients(texts)
                    rate = count / seconds(ask, device)
                    peak = (
                        torch.cuda.max_memory_allocated() / 2**20
                        if device != "cpu"
                        else float("nan")
                    )
                    least = count / seconds(bare[name], device) if name in bare else None
                    floor = "– | –" if least is None else f"{least:.0f} | {rate / least:.2f}"
                    print(
                        f"| {shape} | {dtype} | {size} | {name} | {rate:.0f} | {floor} | {peak:.0f} |",
                        flush=True,
                    )
            digests = [classifier.fingerprint]
            begin = time.perf_counter()
            digests.append(classifier.fingerprint)
            digest = time.perf_counter() - begin
            digests.append(load_classifier(path, device="cpu", dtype=dtype).fingerprint)
            same = "that of the CPU" if len(set(digests)) == 1 else "ANOTHER than on the CPU"
            costs = f"opening and two texts {first:.2f} s, fingerprint {digest:.2f} s, {same}"
            costs += f", batches of {default_batch_size(classifier.model)} by default"
            print(
                f"| {shape} | {dtype} | | {costs}, {classifier.n_parameters} parameters | | | | |"
            )
        if device != "cpu":
            print(f"\n{too_large(classifier, texts)}")
    print()


def too_large(classifier: Any, texts: list[str]) -> str:
    """Ask all texts in one batch, where the memory holds the model and a part of them."""
    expected = np.asarray(predict(classifier, texts, progress=False).logits)
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + SPARE) / whole)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = np.asarray(predict(classifier, texts, batch_size=len(texts), progress=False).logits)
    torch.cuda.set_per_process_memory_fraction(1.0)
    gap = np.abs(found - expected).max() / np.abs(expected).max()
    said = "; ".join(str(warning.message) for warning in caught)
    return f"A batch of {len(texts)}, where {SPARE >> 20} MiB are left: off by {gap:.1e}. {said}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shape", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--items", type=int, default=1024)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--batch-size", type=int, nargs="*", default=[32, 256])
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    texts = [
        " ".join(f"w{number}" for number in rng.integers(995, size=options.tokens - 2))
        for _ in range(options.items)
    ]
    name = (
        torch.cuda.get_device_name()
        if options.device != "cpu"
        else "no GPU here: the CPU, to try the command"
    )
    print(f"{name}; torch {torch.__version__}; {options.items} texts of {options.tokens} tokens\n")
    for shape in options.shape:
        differences(shape, options, texts)
        speeds(shape, options, texts)


if __name__ == "__main__":
    main()
