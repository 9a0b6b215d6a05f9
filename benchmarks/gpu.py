"""Every instrument on a GPU in float32 and bfloat16 beside the CPU, throughput beside bare passes, and peak memory.

    python benchmarks/gpu.py [--device cuda] [--shape bert-base llama-1b] [--items 64] [--tokens 128] [--tiny]

Weights are random. For each shape and type: the largest difference of logits, attributions and Fisher eigenvalues from
the CPU's float32, relative to the largest magnitude; items per second of `predict` and of bare forward passes over the
same batches; the peak memory of the device. `--tiny` takes
shapes of two layers, to try the command where there is no GPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from small_encoder import save_small_encoder

from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier

TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
BERT_BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
LLAMA_1B = {
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
}
SHAPES = ("bert-base", "llama-1b")


def save(shape: str, folder: Path, length: int, *, tiny: bool) -> str:
    """Save a classifier of a shape."""
    if shape == "bert-base":
        return save_small_encoder(folder, length, **(TINY if tiny else BERT_BASE))
    from transformers import LlamaConfig, LlamaForSequenceClassification

    save_small_encoder(folder, length, **TINY)  # for its tokenizer
    torch.manual_seed(0)
    sizes: dict[str, Any] = {**TINY, "num_key_value_heads": 2} if tiny else LLAMA_1B
    config = LlamaConfig(vocab_size=1000, max_position_embeddings=max(length, 512), pad_token_id=0, **sizes)
    LlamaForSequenceClassification(config).eval().save_pretrained(folder)
    return str(folder)


def instruments(classifier: Any, texts: list[str]) -> dict[str, np.ndarray]:
    """Return what each instrument says, as one array each."""
    options: dict[str, Any] = {"progress": False}
    return {
        "predict": np.asarray(predict(classifier, texts, **options).logits),
        "attributions": integrated_gradients(classifier, texts[:16], steps=8, **options).scores.values,
        "Fisher": np.asarray(fisher_information(classifier, texts[:16], **options).eigenvalues),
    }


def timed(function: Any, device: str) -> float:
    function()
    if device != "cpu":
        torch.cuda.synchronize()
    clock = time.process_time if device == "cpu" else time.perf_counter
    begin = clock()
    function()
    if device != "cpu":
        torch.cuda.synchronize()
    return clock() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shape", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--items", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    texts = [
        " ".join(f"w{number}" for number in rng.integers(995, size=options.tokens - 2)) for _ in range(options.items)
    ]
    name = torch.cuda.get_device_name() if options.device != "cpu" else "no GPU here: the CPU, to try the command"
    print(f"{name}; {options.items} texts of {options.tokens} tokens\n")
    print("| shape | type | instrument | difference from CPU float32 | items/s | bare passes, items/s | peak MiB |")
    print("|---|---|---|---:|---:|---:|---:|")
    for shape in options.shape:
        with tempfile.TemporaryDirectory() as folder:
            path = save(shape, Path(folder), options.tokens, tiny=options.tiny)
            expected = instruments(load_classifier(path, device="cpu", dtype="float32"), texts)
            for dtype in ("float32", "bfloat16"):
                if options.device != "cpu":
                    torch.cuda.reset_peak_memory_stats()
                classifier = load_classifier(path, device=options.device, dtype=dtype)
                found = instruments(classifier, texts)
                ids = classifier.tokenizer(texts, return_tensors="pt").to(options.device)

                @torch.inference_mode()
                def bare(classifier: Any = classifier, ids: Any = ids, llama: bool = shape != "bert-base") -> None:
                    for start in range(0, options.items, options.batch_size):
                        batch = {key: value[start : start + options.batch_size] for key, value in ids.items()}
                        if llama:
                            batch.pop("token_type_ids", None)
                        classifier.model(**batch)

                ours = timed(
                    lambda c=classifier: predict(c, texts, batch_size=options.batch_size, progress=False),
                    options.device,
                )
                floor = timed(bare, options.device)
                peak = torch.cuda.max_memory_allocated() / 2**20 if options.device != "cpu" else None
                memory = "–" if peak is None else str(round(peak))
                for instrument, values in found.items():
                    gap = np.abs(values - expected[instrument]).max() / np.abs(expected[instrument]).max()
                    rates = (
                        f"{options.items / ours:.0f} | {options.items / floor:.0f} | {memory}"
                        if instrument == "predict"
                        else " |  | "
                    )
                    print(f"| {shape} | {dtype} | {instrument} | {gap:.1e} | {rates} |", flush=True)


if __name__ == "__main__":
    main()
