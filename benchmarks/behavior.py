"""Time the scoring of a whole suite's predictions, and the reading of a suite.

    python benchmarks/behavior.py [--data FOLDER] [--repeats 5]

CheckList's sentiment suite: 38 functionalities, 86,420 cases, 178,578 examples. Its predictions are made up (a softmax
of noise), as their values do not matter for the time. Seconds of processor time of this process, one thread, best of
the repeats; the suite that is read is the one that was written.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from rightreasons.behavior.rates import pass_rates
from rightreasons.core.validation import softmax
from rightreasons.datasets.builder import load_builder
from rightreasons.datasets.suites.suite import Suite


def best(function, repeats):
    """Return the least seconds of some calls, and what the last one gave."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        found = function()
        seconds.append(time.process_time() - began)
    return min(seconds), found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    suite = load_builder("checklist_sentiment", data_dir=options.data).suite()
    print(
        f"{len(suite.functionalities)} functionalities, {suite.n_cases:,} cases, {suite.n_examples:,} examples"
    )
    predictions = softmax(np.random.default_rng(0).normal(scale=2, size=(suite.n_examples, 3)))
    rows = []
    seconds, table = best(suite.table, options.repeats)
    rows.append(("the suite's table", seconds, None))
    seconds, _ = best(lambda: pass_rates(predictions, table), options.repeats)
    rows.append(("pass rates of all predictions", seconds, 2.0))
    with tempfile.TemporaryDirectory() as folder:
        for suffix, target in ((".jsonl", 5.0), (".jsonl.gz", 5.0), (".parquet", None)):
            path = suite.write(Path(folder) / f"suite{suffix}")
            seconds, read = best(lambda path=path: Suite.read(path), options.repeats)
            assert read == suite
            rows.append((f"reading {suffix} ({path.stat().st_size / 1e6:.1f} MB)", seconds, target))
    for name, seconds, target in rows:
        goal = (
            ""
            if target is None
            else f"   target < {target:.0f} s: {'met' if seconds < target else 'MISSED'}"
        )
        print(f"{name:36s} {seconds:6.2f} s{goal}")


if __name__ == "__main__":
    main()
