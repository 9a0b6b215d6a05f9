"""What auditing a 7B model on a million items costs: the figures of docs/scale.md, from measured unit costs.

    python benchmarks/schedule.py [--write]

Costs are in passes; one pass takes 2 x parameters operations per token. The schedule is simulated: items of random
lengths are put into the package's own batches and dealt to the processes in turn, as `rightreasons.models.running`
does, and the last process to end sets the time.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import re
from pathlib import Path

import numpy as np
from blocks import RESULTS, read_block, write_block

from rightreasons.models.batching import make_length_batches

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"

KERNELS = {
    "ECE and its interval": "ECE with its interval",
    "LMI counts": "LMI counts, texts of 8 words",
    "cue counts": "cue counts, 2 choices of 8 words",
    "prior bias": "prior bias, 4 choices",
}
"""The name of a kernel here -> its row in the table of growth."""

PARAMETERS = 7e9
TOKENS = 128
"""Of the items here, and of those of benchmarks/gpu.py."""
PRICE = 3.0
"""Price of a GPU hour, assumed."""

ITEMS = 1_000_000
GRADIENT_ITEMS = 1_000
"""Items of shortcuts, and of difficulty."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One part of the audit: its passes, of so many items."""

    what: str
    items: int
    passes: float


@dataclasses.dataclass(frozen=True)
class Costs:
    """What was measured: in bare passes, and processor seconds per item of a kernel."""

    predict: float
    nodes: float
    node: float
    fisher: float
    kernels: dict[str, float]


@functools.cache
def costs() -> Costs:
    """Read the unit costs from the blocks of benchmarks/RESULTS.md that their benchmarks wrote."""

    def find(block: str, pattern: str) -> float:
        match = re.search(pattern, read_block(RESULTS, block), re.MULTILINE)
        if match is None:
            raise ValueError(
                f"Expected {pattern} in the block {block!r} of {RESULTS}, but it is not there."
            )
        return float(match[1])

    return Costs(
        predict=find("predict", r"^predict +[\d.]+ s +([\d.]+) x"),
        nodes=find("attribution", r"^ *ours, adaptive, gap 0\.02 +[\d.]+ +[\d.]+ +([\d.]+)"),
        # At the length next to that of the items, with predicting the class and the ends of the path.
        node=find("growth", r"^\| integrated gradients, 4 nodes \|(?:[^|]*\|){2}[^|]*\(([\d.]+)x\)")
        / 4,
        fisher=find("fim", r"^2 classes: .*: +([\d.]+) x"),
        kernels={
            name: find("growth", rf"^\| {re.escape(row)} \|.*\| *([\d.]+) \|$") / 1e6
            for name, row in KERNELS.items()
        },
    )


def rows() -> list[Row]:
    unit = costs()
    return [
        Row("predictions", ITEMS, max(unit.predict, 1.0) * ITEMS),
        Row(
            f"attributions ({unit.nodes:.1f} nodes)",
            GRADIENT_ITEMS,
            unit.nodes * unit.node * GRADIENT_ITEMS,
        ),
        Row("Fisher information, two labels", GRADIENT_ITEMS, unit.fisher * GRADIENT_ITEMS),
    ]


@functools.cache
def operations() -> float:
    """Return the operations per second of the largest model that was measured on a GPU: bare passes in bfloat16."""
    block = read_block(RESULTS, "gpu")
    rates = re.findall(
        r"^\| llama-1b \| bfloat16 \| \d+ \| predict \| [^|]*\| ([\d.]+) ", block, re.MULTILINE
    )
    (parameters,) = re.findall(
        r"^\| llama-1b \| bfloat16 \|.* (\d+) parameters", block, re.MULTILINE
    )
    return max(map(float, rates)) * TOKENS * 2 * float(parameters)


def hours(passes: float, tokens: float = TOKENS) -> float:
    return passes * tokens * 2 * PARAMETERS / operations() / 3600


def simulate(n_items: int, n_processes: int, *, max_tokens: int = 16_384, seed: int = 0) -> float:
    """Return the time of the last process over that of an equal share of tokens without padding."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(TOKENS) - 0.125, 0.5, n_items).round(), 8, 2048).astype(
        np.int64
    )
    batches = make_length_batches(lengths, batch_size=128, max_tokens=max_tokens)
    padded = np.array([len(batch) * lengths[batch].max() for batch in batches])
    loads = np.array([padded[rank::n_processes].sum() for rank in range(n_processes)])
    return float(loads.max() / (lengths.sum() / n_processes))


def figures() -> str:
    lines = ["| part | items | passes | hours of one GPU |", "|---|---:|---:|---:|"]
    lines += [
        f"| {row.what} | {row.items:,} | {row.passes:,.0f} | {hours(row.passes):.2f} |"
        for row in rows()
    ]
    total = sum(row.passes for row in rows())
    lines += [f"| all | | {total:,.0f} | {hours(total):.2f} |", ""]
    clusters = []
    for n in (8, 64):
        factor = simulate(100_000, n)
        time, price = hours(total) * factor / n, hours(total) * factor * PRICE
        clusters.append(f"{n} GPUs take {time:.2f} hours, at a price of {price:.2f}")
    kernels = [f"{seconds * ITEMS:.1f} s ({name})" for name, seconds in costs().kernels.items()]
    lines += [
        f"{'; '.join(clusters)}.",
        f"On one core, the metrics of a million items take {', '.join(kernels)}.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the tables into docs/scale.md")
    options = parser.parse_args()
    text = figures()
    print(text)
    if options.write:
        write_block(PAGE, "figures", text)


if __name__ == "__main__":
    main()
