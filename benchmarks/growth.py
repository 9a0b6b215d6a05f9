"""How time and memory grow with the number of items and with the length of texts: figures, slopes and a picture.

    python benchmarks/growth.py [--items 1000 10000 100000 1000000] [--tokens 16 64 256 1024] [--write]

Items: each kernel runs in a process of its own, beside its floor, one pass over its input (a sum of the scores, or
joining the texts). Tokens: a small encoder with random weights reads 2,048 tokens in texts of each length, beside bare
forward passes over the same batches. All in one thread; times are processor time, as others may use the machine.
The slope is that of log time over log size, by least squares over the upper half of the sizes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from blocks import RESULTS, write_block
from lmi import zipf_texts

HERE = Path(__file__).parent


def memory() -> float:
    """Return the peak of this very process in MiB (Linux)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def scores(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(4), size=n)
    return table, rng.integers(4, size=n)


def texts(n: int) -> list[str]:
    block = list(itertools.islice(zipf_texts(length=8), min(n, 200_000)))
    return (block * (n // len(block) + 1))[:n]


def calibration(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from rightreasons.calibration.errors import calibration_error

    table, labels = scores(n)
    return lambda: calibration_error(table, labels), lambda: table.sum()


def interval(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from rightreasons.calibration.errors import calibration_error
    from rightreasons.core.resampling import Resampling

    table, labels = scores(n)
    return lambda: calibration_error(table, labels, resampling=Resampling()), lambda: table.sum()


def prior(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from rightreasons.probes.bias import prior_bias

    table = np.random.default_rng(0).normal(size=(n, 4))
    # The 200 shuffles read the scores 200 times.
    return lambda: prior_bias(table, scores="logits"), lambda: [table.sum() for _ in range(200)]


def words(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from rightreasons.shortcuts.mutual_information import lmi

    data, labels = texts(n), np.random.default_rng(0).integers(2, size=n)
    return lambda: lmi(data, labels), lambda: "\n".join(data).lower().encode()


def cues(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from rightreasons.cues.extraction import extract_cues

    data = texts(2 * n)
    pairs = [list(pair) for pair in zip(data[::2], data[1::2], strict=True)]
    return lambda: extract_cues(pairs), lambda: "\n".join(data).lower().encode()


KERNELS = {
    "ECE, 4 classes": calibration,
    "ECE with its interval": interval,
    "prior bias, 4 choices": prior,
    "LMI counts, texts of 8 words": words,
    "cue counts, 2 choices of 8 words": cues,
}


def one(name: str, n: int, queue: multiprocessing.Queue) -> None:
    run, floor = KERNELS[name](n)
    before = memory()
    seconds = []
    for function in (run, floor):
        begin = time.process_time()
        function()
        seconds.append(time.process_time() - begin)
    queue.put((*seconds, max(0.0, memory() - before)))


def over_items(
    sizes: list[int], names: list[str]
) -> dict[str, dict[int, tuple[float, float, float]]]:
    context = multiprocessing.get_context("spawn")
    found: dict[str, dict[int, tuple[float, float, float]]] = {}
    for name, n in itertools.product(names, sizes):
        queue = context.Queue()
        process = context.Process(target=one, args=(name, n, queue))
        process.start()
        found.setdefault(name, {})[n] = queue.get()
        process.join()
        print(name, n, found[name][n], flush=True)
    return found


def over_tokens(lengths: list[int], budget: int = 2048) -> dict[str, dict[int, float]]:
    """Return processor seconds of the encoder's passes over as many tokens in texts of each length."""
    import tempfile

    import torch
    from small_encoder import save_small_encoder

    from rightreasons.models.classes import predict
    from rightreasons.models.gradients.attribution import integrated_gradients
    from rightreasons.models.gradients.fisher import fisher_information
    from rightreasons.models.loading import load_classifier

    torch.set_num_threads(1)
    found: dict[str, dict[int, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        classifier = load_classifier(save_small_encoder(Path(folder), max(lengths)))
        for length in lengths:
            data = [" ".join(["w1"] * (length - 2))] * max(1, budget // length)
            ids = torch.full((len(data), length), 5)

            @torch.inference_mode()
            def bare(ids: torch.Tensor = ids) -> None:
                classifier.model(input_ids=ids, attention_mask=torch.ones_like(ids))

            options: dict[str, Any] = {"progress": False, "batch_size": len(data)}
            ways: dict[str, Callable[[], Any]] = {
                "bare forward pass": bare,
                "predict": lambda data=data, options=options: predict(classifier, data, **options),
                "integrated gradients, 4 nodes": lambda data=data: integrated_gradients(
                    classifier, data, method="gauss_legendre", steps=4, progress=False
                ),
                "Fisher, two classes": lambda data=data, options=options: fisher_information(
                    classifier, data, **options
                ),
            }
            for name, run in ways.items():
                run()  # the trial of the model, and warming up
                seconds = []
                for _ in range(3):
                    begin = time.process_time()
                    run()
                    seconds.append(time.process_time() - begin)
                found.setdefault(name, {})[length] = float(np.median(seconds))
                print(name, length, found[name][length], flush=True)
    return found


def slope(figures: dict[int, float]) -> float:
    sizes = sorted(figures)
    upper = sizes[len(sizes) // 2 - (len(sizes) < 4) :]
    return float(np.polyfit(np.log(upper), np.log([figures[n] for n in upper]), 1)[0])


def tables(
    items: dict[str, dict[int, tuple[float, float, float]]], tokens: dict[str, dict[int, float]]
) -> str:
    lines = [
        "| items | "
        + " | ".join(f"{n:,}" for n in next(iter(items.values())))
        + " | slope | µs per item |"
    ]
    lines.append("|---" + "|---:" * (len(next(iter(items.values()))) + 2) + "|")
    for name, rows in items.items():
        cells = [
            f"{s:.3g} s ({s / max(floor, 1e-6):.1f}x; {mib:.0f} MiB)"
            for s, floor, mib in rows.values()
        ]
        most = max(rows)
        rate = slope({n: row[0] for n, row in rows.items()})
        lines.append(
            f"| {name} | {' | '.join(cells)} | {rate:.2f} | {rows[most][0] / most * 1e6:.2f} |"
        )
    if tokens:
        lengths = next(iter(tokens.values()))
        lines += ["", "| tokens per text | " + " | ".join(f"{n:,}" for n in lengths) + " |"]
        lines.append("|---" + "|---:" * len(lengths) + "|")
        bare = tokens["bare forward pass"]
        for name, figures in tokens.items():
            cells = [f"{s:.3g} s ({s / bare[n]:.2f}x)" for n, s in figures.items()]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(
    items: dict[str, dict[int, tuple[float, float, float]]], tokens: dict[str, dict[int, float]]
) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for name, rows in items.items():
        axes[0].loglog(list(rows), [row[0] for row in rows.values()], marker="o", label=name)
    for name, figures in tokens.items():
        axes[1].loglog(list(figures), list(figures.values()), marker="o", label=name)
    for axis, title in zip(
        axes, ("items", f"tokens per text, {2048:,} tokens in all"), strict=True
    ):
        axis.set(xlabel=title, ylabel="processor seconds")
        axis.legend(fontsize=7)
        axis.grid(alpha=0.3)
    figure.savefig(HERE / "growth.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, nargs="*", default=[10**3, 10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--tokens", type=int, nargs="*", default=[16, 64, 256, 1024, 2048])
    parser.add_argument(
        "--only", help="kernels to measure, by a word of their names; growth.json has others"
    )
    parser.add_argument(
        "--write", action="store_true", help="write tables and picture into benchmarks/"
    )
    options = parser.parse_args()
    known = json.loads((HERE / "growth.json").read_text("utf-8"))
    earlier_tokens = {
        name: {int(n): s for n, s in row.items()} for name, row in known["tokens"].items()
    }
    tokens = over_tokens(options.tokens) if options.tokens else earlier_tokens
    names = [name for name in KERNELS if options.only is None or options.only in name]
    measured = over_items(options.items, names)
    earlier = {
        name: {int(n): tuple(row) for n, row in rows.items()}
        for name, rows in known["items"].items()
    }
    items = {name: measured.get(name) or earlier[name] for name in KERNELS}
    text = tables(items, tokens)
    print(text)
    if options.write:
        write_block(RESULTS, "growth", text)
        (HERE / "growth.json").write_text(
            json.dumps({"items": items, "tokens": tokens}, indent=1) + "\n", "utf-8"
        )
        draw(items, tokens)


if __name__ == "__main__":
    main()
