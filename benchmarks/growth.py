"""Growth of time and memory with the number of items and the length of texts.

    python benchmarks/growth.py [--items 1000 10000 100000 1000000] [--tokens 16 64 256 1024] [--write]

Items: each kernel runs in a separate process and is compared with its floor, one pass over its input
(summing the scores, or joining the texts). Tokens: a small encoder with random weights reads 2,048
tokens in texts of each length, and is compared with bare forward passes over the same batches.
Everything runs in one thread. Times are processor time, because other processes may use the machine.
The slope is that of log time over log size, fitted by least squares to the upper half of the sizes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from blocks import RESULTS, write_block
from lmi import zipf_texts

HERE = Path(__file__).parent
N_TOKENS = 2048
"""Tokens that the encoder reads, in texts of any length."""
N_RUNS = 3
"""Runs of the encoder, of whose times the median counts."""
BARE = "bare forward pass"


class Kernel(NamedTuple):
    """A kernel and its floor, on one input."""

    run: Callable[[], Any]
    run_floor: Callable[[], Any]


class Cost(NamedTuple):
    """Cost of a kernel at one number of items."""

    seconds: float
    floor_seconds: float
    mebibytes: float
    """Memory that the kernel added."""


CostBySize = dict[int, Cost]
SecondsByLength = dict[int, float]


def measure_peak_memory() -> float:
    """Return the peak memory of this process in MiB, as Linux reports it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            # Such as "123456 kB".
            return int(value.split()[0]) / 1024
    raise OSError("Expected `VmHWM` in /proc/self/status, but there is none.")


def make_scores(n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Make (N, 4) probabilities and (N,) labels."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(4), size=n_items)
    labels = rng.integers(4, size=n_items)
    return probabilities, labels


def make_texts(n_texts: int) -> list[str]:
    """Make texts of 8 words, which repeat after 200,000."""
    block = list(itertools.islice(zipf_texts(length=8), min(n_texts, 200_000)))
    n_blocks = n_texts // len(block) + 1
    return (block * n_blocks)[:n_texts]


def make_calibration(n_items: int) -> Kernel:
    """Return the ECE of four classes, with its floor."""
    from rightreasons.calibration.errors import calibration_error

    probabilities, labels = make_scores(n_items)
    return Kernel(lambda: calibration_error(probabilities, labels), probabilities.sum)


def make_interval(n_items: int) -> Kernel:
    """Return the ECE of four classes with its interval, and its floor."""
    from rightreasons.calibration.errors import calibration_error
    from rightreasons.core.resampling import Resampling

    probabilities, labels = make_scores(n_items)

    def run() -> Any:
        return calibration_error(probabilities, labels, resampling=Resampling())

    return Kernel(run, probabilities.sum)


def make_prior_bias(n_items: int) -> Kernel:
    """Return the prior bias of four choices, with its floor."""
    from rightreasons.probes.bias import prior_bias

    logits = np.random.default_rng(0).normal(size=(n_items, 4))

    def run_floor() -> None:
        # The 200 shuffles read the scores 200 times.
        for _ in range(200):
            logits.sum()

    return Kernel(lambda: prior_bias(logits, scores="logits"), run_floor)


def make_lmi(n_items: int) -> Kernel:
    """Return the LMI of the words of texts, with its floor."""
    from rightreasons.shortcuts.mutual_information import lmi

    texts = make_texts(n_items)
    labels = np.random.default_rng(0).integers(2, size=n_items)
    return Kernel(lambda: lmi(texts, labels), lambda: _copy_texts(texts))


def make_cues(n_items: int) -> Kernel:
    """Return the extraction of cues from items with two choices, with its floor."""
    from rightreasons.cues.extraction import extract_cues

    texts = make_texts(2 * n_items)
    items = []
    for first_choice, second_choice in zip(texts[::2], texts[1::2], strict=True):
        items.append([first_choice, second_choice])
    return Kernel(lambda: extract_cues(items), lambda: _copy_texts(texts))


def _copy_texts(texts: Iterable[str]) -> bytes:
    """Return all texts in lower case: the floor of what finds words."""
    return "\n".join(texts).lower().encode()


KERNELS: dict[str, Callable[[int], Kernel]] = {
    "ECE, 4 classes": make_calibration,
    "ECE with its interval": make_interval,
    "prior bias, 4 choices": make_prior_bias,
    "LMI counts, texts of 8 words": make_lmi,
    "cue counts, 2 choices of 8 words": make_cues,
}
"""Functions that make the kernel for a number of items."""


def measure_seconds(function: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def measure_kernel(name: str, n_items: int, queue: multiprocessing.Queue) -> None:
    """Measure a kernel in a separate process, and put its `Cost` into a queue."""
    kernel = KERNELS[name](n_items)
    memory_of_input = measure_peak_memory()
    seconds = measure_seconds(kernel.run)
    floor_seconds = measure_seconds(kernel.run_floor)
    queue.put(Cost(seconds, floor_seconds, max(0.0, measure_peak_memory() - memory_of_input)))


def measure_kernels(sizes: Iterable[int], names: Iterable[str]) -> dict[str, CostBySize]:
    """Return the cost of each kernel at each number of items."""
    # A spawned process inherits no memory, so that the peak is that of the kernel.
    context = multiprocessing.get_context("spawn")
    costs: dict[str, CostBySize] = {}
    for name, n_items in itertools.product(names, sizes):
        queue = context.Queue()
        process = context.Process(target=measure_kernel, args=(name, n_items, queue))
        process.start()
        cost = queue.get()
        process.join()
        costs.setdefault(name, {})[n_items] = cost
        print(name, n_items, cost, flush=True)
    return costs


def measure_encoder(lengths: Sequence[int]) -> dict[str, SecondsByLength]:
    """Return the processor time of passes over `N_TOKENS` tokens, in texts of each length."""
    import torch
    from small_encoder import save_small_encoder

    from rightreasons.models.loading import load_classifier

    torch.set_num_threads(1)
    seconds: dict[str, SecondsByLength] = {}
    with tempfile.TemporaryDirectory() as folder:
        classifier = load_classifier(save_small_encoder(Path(folder), max(lengths)))
        for length in lengths:
            for name, run in _make_passes(classifier, length).items():
                # The first run finds the batch size, and warms up.
                run()
                times = [measure_seconds(run) for _ in range(N_RUNS)]
                seconds.setdefault(name, {})[length] = float(np.median(times))
                print(name, length, seconds[name][length], flush=True)
    return seconds


def _make_passes(classifier: Any, length: int) -> dict[str, Callable[[], Any]]:
    """Make the passes over texts of one length, by name."""
    import torch

    from rightreasons.models.classes import predict
    from rightreasons.models.gradients.attribution import integrated_gradients
    from rightreasons.models.gradients.fisher import fisher_information

    # Two tokens are special: [CLS] and [SEP].
    n_texts = max(1, N_TOKENS // length)
    texts = [" ".join(["w1"] * (length - 2))] * n_texts
    ids = torch.full((n_texts, length), 5)
    options: dict[str, Any] = {"progress": False, "batch_size": n_texts}

    @torch.inference_mode()
    def run_bare() -> None:
        classifier.model(input_ids=ids, attention_mask=torch.ones_like(ids))

    def run_gradients() -> Any:
        return integrated_gradients(
            classifier, texts, method="gauss_legendre", steps=4, progress=False
        )

    return {
        BARE: run_bare,
        "predict": lambda: predict(classifier, texts, **options),
        "integrated gradients, 4 nodes": run_gradients,
        "Fisher, two classes": lambda: fisher_information(classifier, texts, **options),
    }


def fit_slope(costs: CostBySize) -> float:
    """Return the slope of log time over log size, over the upper half of the sizes."""
    sizes = sorted(costs)
    # A line needs two points: of two or three sizes, one more than the half counts.
    start = len(sizes) // 2
    if len(sizes) < 4:
        start -= 1
    upper_sizes = sizes[start:]
    seconds = [costs[size].seconds for size in upper_sizes]
    slope, _ = np.polyfit(np.log(upper_sizes), np.log(seconds), 1)
    return float(slope)


def make_tables(costs: dict[str, CostBySize], seconds: dict[str, SecondsByLength]) -> str:
    """Return the tables of the kernels and of the encoder, in Markdown."""
    lines = make_kernel_table(costs)
    if seconds:
        lines += ["", *make_encoder_table(seconds)]
    return "\n".join(lines)


def make_kernel_table(costs: dict[str, CostBySize]) -> list[str]:
    """Return the lines of a table with a row per kernel and a column per number of items."""
    sizes = list(costs[next(iter(costs))])
    lines = [_make_row(["items", *_format_sizes(sizes), "slope", "µs per item"])]
    lines.append("|---" + "|---:" * (len(sizes) + 2) + "|")
    for name, cost_by_size in costs.items():
        cells = []
        for cost in cost_by_size.values():
            # A floor of no measurable time must not divide.
            ratio = cost.seconds / max(cost.floor_seconds, 1e-6)
            cells.append(f"{cost.seconds:.3g} s ({ratio:.1f}x; {cost.mebibytes:.0f} MiB)")
        largest = max(cost_by_size)
        microseconds = cost_by_size[largest].seconds / largest * 1e6
        slope = fit_slope(cost_by_size)
        lines.append(_make_row([name, *cells, f"{slope:.2f}", f"{microseconds:.2f}"]))
    return lines


def make_encoder_table(seconds: dict[str, SecondsByLength]) -> list[str]:
    """Return the lines of a table with a row per pass and a column per length."""
    bare_seconds = seconds[BARE]
    lines = [_make_row(["tokens per text", *_format_sizes(bare_seconds)])]
    lines.append("|---" + "|---:" * len(bare_seconds) + "|")
    for name, seconds_by_length in seconds.items():
        cells = []
        for length, value in seconds_by_length.items():
            cells.append(f"{value:.3g} s ({value / bare_seconds[length]:.2f}x)")
        lines.append(_make_row([name, *cells]))
    return lines


def _format_sizes(sizes: Iterable[int]) -> list[str]:
    return [f"{size:,}" for size in sizes]


def _make_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def draw(costs: dict[str, CostBySize], seconds: dict[str, SecondsByLength]) -> None:
    """Draw both tables into growth.png."""
    import matplotlib.pyplot as plt

    figure, (items_axis, tokens_axis) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for name, cost_by_size in costs.items():
        times = [cost.seconds for cost in cost_by_size.values()]
        items_axis.loglog(list(cost_by_size), times, marker="o", label=name)
    for name, seconds_by_length in seconds.items():
        lengths = list(seconds_by_length)
        tokens_axis.loglog(lengths, list(seconds_by_length.values()), marker="o", label=name)
    items_axis.set(xlabel="items")
    tokens_axis.set(xlabel=f"tokens per text, {N_TOKENS:,} tokens in all")
    for axis in (items_axis, tokens_axis):
        axis.set(ylabel="processor seconds")
        axis.legend(fontsize=7)
        axis.grid(alpha=0.3)
    figure.savefig(HERE / "growth.png", dpi=110)


def read_earlier() -> tuple[dict[str, CostBySize], dict[str, SecondsByLength]]:
    """Read the costs and times of growth.json, whose keys are the sizes as strings."""
    stored = json.loads((HERE / "growth.json").read_text("utf-8"))
    costs = {}
    for name, rows in stored["items"].items():
        costs[name] = {int(size): Cost(*row) for size, row in rows.items()}
    seconds = {}
    for name, row in stored["tokens"].items():
        seconds[name] = {int(length): value for length, value in row.items()}
    return costs, seconds


def main() -> None:
    """Measure what is selected, and print the tables with earlier results for the rest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, nargs="*", default=[10**3, 10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--tokens", type=int, nargs="*", default=[16, 64, 256, 1024, 2048])
    parser.add_argument("--only", help="kernels to measure, by a part of their names")
    parser.add_argument(
        "--write", action="store_true", help="write tables and picture into benchmarks/"
    )
    options = parser.parse_args()
    earlier_costs, seconds = read_earlier()
    if options.tokens:
        seconds = measure_encoder(options.tokens)
    names = list(KERNELS)
    if options.only is not None:
        names = [name for name in names if options.only in name]
    measured_costs = measure_kernels(options.items, names)
    costs = {}
    for name in KERNELS:
        costs[name] = measured_costs.get(name) or earlier_costs[name]
    text = make_tables(costs, seconds)
    print(text)
    if options.write:
        write_block(RESULTS, "growth", text)
        stored = {"items": costs, "tokens": seconds}
        (HERE / "growth.json").write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
        draw(costs, seconds)


if __name__ == "__main__":
    main()
