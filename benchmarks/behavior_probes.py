"""Linear probing of every held-out functionality beside one: features once for all heads.

    python benchmarks/behavior_probes.py [--data FOLDER] [--model FOLDER] [--max-cases 20] [--epochs 1]

The real sentiment suite (so many cases of each functionality, its training part) on the packaged MiniLM encoder, or on
the model that is named. Both times begin at the texts: tokenizing, features, heads. CPU seconds of this process, so
that other work on the machine does not count.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from rightreasons.behavior.learning.items import suite_items
from rightreasons.behavior.learning.plan import partition
from rightreasons.behavior.learning.trainer import head_features, linear_head, train_head
from rightreasons.datasets.suites.suite import open_suite
from rightreasons.models.batching import encode
from rightreasons.models.loading import load_classifier
from rightreasons.models.scorers import demo_encoder


def seconds(classifier, items, held, epochs):
    began = time.process_time()
    encoded = encode(classifier.tokenizer, items.texts, max_length=128)
    features = head_features(classifier.model, encoded)
    middle = time.process_time()
    head = linear_head(classifier.model)
    for row in held:
        train_head(head, features, items.select(~row), epochs=epochs, batch_size=16)
    end = time.process_time()
    return middle - began, end - middle


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", default=None)
    parser.add_argument("--max-cases", type=int, default=20)
    parser.add_argument("--epochs", type=float, default=1.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    suite = open_suite("checklist_sentiment", data_dir=options.data, max_cases=options.max_cases).split("train")
    items = suite_items(suite)
    classifier = load_classifier(options.model or str(demo_encoder()), device="cpu", allow_untrained=True)
    held = np.stack([items.holds_out(names) for names in partition(suite, "functionality").values()])
    print(f"{len(items):,} items, {len(items.texts):,} texts, {len(held)} held-out functionalities")
    totals = {}
    for name, rows in (("one", held[:1]), ("all", held)):
        features, heads = seconds(classifier, items, rows, options.epochs)
        totals[name] = features + heads
        print(f"{name:>4}: features {features:.2f} s, heads {heads:.2f} s, together {totals[name]:.2f} s")
    print(f"all / one = {totals['all'] / totals['one']:.2f}")


if __name__ == "__main__":
    main()
