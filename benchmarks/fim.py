"""Cost of the largest Fisher eigenvalue, compared with bare forward passes and with algorithm 1 done literally.

    python benchmarks/fim.py [--data DATA] [--items 400] [--repeats 3]

The bound is the packaged MiniLM encoder with a random head over batches that are already tokenized, sorted by length
and padded; `fisher_information` adds the backward passes and everything else. Algorithm 1 builds the whole matrix of
(tokens x dimensions)^2 and decomposes it: at 32 tokens x 384 dimensions it has 12,288 rows, so one text is timed, for
eigenvalues only, and only up to --rows of them; the decomposition grows with the third power and is extrapolated
accordingly, which the output marks (what precedes it counts as measured). Sentences are those of the reviews of
`--data`, or random ones from a seeded vocabulary.
"""

import argparse
import json
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import transformers

from rightreasons.datasets.builder import load_dataset
from rightreasons.models.batching import encode, frozen, length_batches, pad
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.scorers import demo_encoder

BATCH_SIZE = 32
VOCABULARY = "the a film story plot was is very not good bad dull fine scene actor of and in that with music slow sharp"
SIZES = (256, 512, 768)
"""Texts of one batch whose peak memory is measured, beyond what opening the model takes."""

AS_FAST = 1_000
TARGETS = {2: 2.3, 3: 1 + 1.3 * 3, 6: 1 + 1.3 * 6}


def sentences(count: int, data: str | None) -> list[str]:
    if data is not None:
        reviews = load_dataset("imdb_counterfactual", data_dir=data)["train"]["text"][:]
        parts = [part.strip() for review in reviews for part in re.split(r"(?<=[.!?])\s", review)]
        return [part for part in parts if len(part.split()) > 3][:count]
    rng, words = np.random.default_rng(0), VOCABULARY.split()
    return [" ".join(rng.choice(words, size=rng.integers(4, 61))) for _ in range(count)]


def classifier_of(n_classes: int) -> Classifier:
    """The packaged encoder with a random head; its predictions do not matter for its cost."""
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            demo_encoder(), num_labels=n_classes
        )
        model.save_pretrained(folder)
        transformers.AutoTokenizer.from_pretrained(demo_encoder()).save_pretrained(folder)
        return load_classifier(folder)


def seconds(function) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def ratio(n_classes: int, texts: list[str], repeats: int) -> float:
    classifier = classifier_of(n_classes)
    encoded = encode(classifier.tokenizer, texts, max_length=classifier.max_length)
    padded = [
        pad(encoded, batch, classifier.device)
        for batch in length_batches(encoded.lengths, batch_size=BATCH_SIZE)
    ]

    @torch.inference_mode()
    def bare() -> None:
        for inputs in padded:
            classifier.model(**inputs).logits.cpu()

    def fisher() -> None:
        fisher_information(classifier, texts, batch_size=BATCH_SIZE, progress=False)

    bare()
    # They alternate, and the best time of each counts, so that a busy moment of the machine affects both.
    times = [(seconds(bare), seconds(fisher)) for _ in range(repeats)]
    bound, cost = min(row[0] for row in times), min(row[1] for row in times)
    print(
        f"{n_classes} classes: forward {bound:7.3f} s, eigenvalues {cost:7.3f} s: {cost / bound:5.2f} x "
        f"(target {TARGETS[n_classes]:.1f})",
        flush=True,
    )
    return cost / bound


def literal(classifier: Classifier, text: str, rows: int) -> tuple[float, float, int]:
    """Algorithm 1 as it is written, over the first `rows` coordinates.

    Returns:
        Seconds of building the matrix, seconds of decomposing it, and how many rows the whole one has.
    """
    inputs = classifier.tokenizer(text, return_tensors="pt", max_length=32, truncation=True)
    with frozen(classifier.model):
        vectors = (
            classifier.model.get_input_embeddings()(inputs["input_ids"]).detach().requires_grad_()
        )
        start = time.process_time()
        logits = classifier.model(
            inputs_embeds=vectors, attention_mask=inputs["attention_mask"]
        ).logits[0]
        logs = logits.log_softmax(0)
        gradients = [
            torch.autograd.grad(value, vectors, retain_graph=True)[0].flatten() for value in logs
        ]
        jacobian = torch.stack(gradients)[:, :rows]
        matrix = (logs.detach().exp()[:, None] * jacobian).T @ jacobian
        built = time.process_time()
        torch.linalg.eigvalsh(matrix)
    return built - start, time.process_time() - built, vectors.numel()


def memory(batch_size: int) -> float:
    """Peak memory of a process that computes one batch of that size, in MiB."""
    process = subprocess.run(
        [sys.executable, __file__, "--batch", str(batch_size)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(process.stdout.splitlines()[-1]))


def one_batch(size: int) -> None:
    texts = [" ".join(VOCABULARY.split()[:20])] * size
    fisher_information(classifier_of(2), texts, batch_size=size, max_tokens=None, progress=False)
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="Folder of local copies of the data sets.")
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--rows", type=int, default=3072, help="Rows of the literal matrix that are decomposed."
    )
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.batch:
        one_batch(options.batch)
        return
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}, {options.items} texts"
    )
    texts = sentences(options.items, options.data)
    for n_classes in TARGETS:
        ratio(n_classes, texts, options.repeats)
    classifier = classifier_of(2)
    long = " ".join(VOCABULARY.split() * 3)
    many = [long] * BATCH_SIZE
    fisher_information(classifier, many, max_length=32, progress=False)
    ours = min(
        seconds(lambda: fisher_information(classifier, many, max_length=32, progress=False))
        for _ in range(3)
    ) / len(many)
    literal(classifier, long, 512)
    built, decomposed, size = literal(classifier, long, options.rows)
    whole = built + decomposed * (size / min(options.rows, size)) ** 3
    how = (
        "measured"
        if options.rows >= size
        else f"extrapolated from {decomposed:.2f} s for {options.rows} rows"
    )
    print(
        f"algorithm 1, {size} rows: {whole:.1f} s a text ({how}); ours {1000 * ours:.2f} ms: {whole / ours:,.0f} x "
        f"(target {AS_FAST:,})",
        flush=True,
    )
    peaks = [memory(size) for size in SIZES]
    steps = [
        (b - a) / (n - m) for a, b, m, n in zip(peaks, peaks[1:], SIZES, SIZES[1:], strict=False)
    ]
    sizes = ", ".join(f"{peak:.0f} MiB at {size}" for peak, size in zip(peaks, SIZES, strict=True))
    print(
        f"peak memory: {sizes}: {', '.join(f'{step:.2f}' for step in steps)} MiB a text more, alike where it is linear"
    )


if __name__ == "__main__":
    main()
