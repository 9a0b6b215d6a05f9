"""Cost of `predict` compared with the bare forward passes over the same batches.

    python benchmarks/predict.py [--items 2000] [--repeats 3]

The lower bound is the packaged MiniLM encoder with a random head run over batches that are already tokenized, sorted by
length and padded. `predict` adds the tokenizer, the batching, the progress bar and the checks; with `out=` also the
fingerprint of model and texts and the writing. For comparison, the pipeline of transformers on the same texts and batch
size, which pads in the order of the data. Sentences have 4 to 60 random words of a seeded vocabulary.
"""

import argparse
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import transformers

from rightreasons.models.batching import encode, make_length_batches, pad
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.models.scorers import demo_encoder

BATCH_SIZE = 32
VOCABULARY = "the a film story plot was is very not good bad dull fine scene actor of and in that with music slow sharp"


def sentences(count: int) -> list[str]:
    rng, words = np.random.default_rng(0), VOCABULARY.split()
    return [" ".join(rng.choice(words, size=rng.integers(4, 61))) for _ in range(count)]


def seconds(function) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    start = clock()
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    texts = sentences(options.items)
    classifier = load_classifier(demo_encoder(), allow_untrained=True)
    encoded = encode(classifier.tokenizer, texts, max_length=classifier.max_length)
    batches = make_length_batches(encoded.lengths, batch_size=BATCH_SIZE)
    padded = [pad(encoded, batch, classifier.device) for batch in batches]
    pipeline = transformers.pipeline(
        "text-classification",
        model=classifier.model,
        tokenizer=classifier.tokenizer,
        device=classifier.device,
    )

    @torch.inference_mode()
    def bare() -> None:
        for inputs in padded:
            classifier.model(**inputs).logits.cpu()

    def stored() -> None:
        with tempfile.TemporaryDirectory() as folder:
            predict(
                classifier, texts, batch_size=BATCH_SIZE, progress=False, out=Path(folder) / "out"
            )

    runs = {
        "bare forward passes": bare,
        "predict": lambda: predict(classifier, texts, batch_size=BATCH_SIZE, progress=False),
        "predict with out=": stored,
        "transformers pipeline": lambda: list(
            pipeline(texts, batch_size=BATCH_SIZE, truncation=True)
        ),
    }
    bare()  # warm up
    # The methods alternate, and the best time of each counts, so that a busy moment of the machine affects all.
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(options.repeats):
        for name, run in runs.items():
            times[name].append(seconds(run))
    bound = min(times["bare forward passes"])
    print(f"{options.items} texts, batches of {BATCH_SIZE}, {classifier.device}, {torch.get_num_threads()} threads, "
          f"torch {torch.__version__}, transformers {transformers.__version__}, {platform.machine()}")  # fmt: skip
    for name, values in times.items():
        print(f"{name:24s} {min(values):8.3f} s   {min(values) / bound:6.3f} x the bound")


if __name__ == "__main__":
    main()
