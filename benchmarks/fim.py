"""Measure the cost of the largest Fisher eigenvalue, relative to forward passes and to a literal algorithm 1.

    python benchmarks/fim.py [--data DATA] [--items 400] [--repeats 3]

The lower bound is the packaged MiniLM encoder with a random head over batches that are already
tokenized, sorted by length and padded. `fisher_information` adds the backward passes and everything
else.

Algorithm 1 builds the whole matrix of (tokens x dimensions)^2 and decomposes it. At 32 tokens x 384
dimensions it has 12,288 rows, so one text is timed, for eigenvalues only, and only up to --rows of
them. The decomposition grows with the third power and is extrapolated accordingly, which the output
marks. Sentences are those of the reviews of `--data`, or random ones from a seeded vocabulary.
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
from collections.abc import Callable

import numpy as np
import torch
import transformers

from rightreasons.datasets.builder import load_dataset
from rightreasons.models.batching import encode, frozen, make_length_batches, pad
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.scorers import demo_encoder

BATCH_SIZE = 32
VOCABULARY = "the a film story plot was is very not good bad dull fine scene actor of and in that with music slow sharp"
BATCH_SIZES = (256, 512, 768)
"""Numbers of texts in one batch whose peak memory is measured."""

TARGET_SPEEDUP = 1_000
"""Target of the time of algorithm 1, relative to ours."""

TARGETS = {2: 2.3, 3: 1 + 1.3 * 3, 6: 1 + 1.3 * 6}
"""Number of classes -> target of the cost, relative to forward passes."""


def make_sentences(n_sentences: int, data: str | None) -> list[str]:
    """Return sentences of the reviews in a folder, or random ones without a folder."""
    if data is not None:
        reviews = load_dataset("imdb_counterfactual", data_dir=data)["train"]["text"][:]
        sentences = []
        for review in reviews:
            # A sentence ends at a mark that white space follows.
            sentences += [part.strip() for part in re.split(r"(?<=[.!?])\s", review)]
        return [sentence for sentence in sentences if len(sentence.split()) > 3][:n_sentences]
    rng = np.random.default_rng(0)
    words = VOCABULARY.split()
    sentences = []
    for _ in range(n_sentences):
        sentences.append(" ".join(rng.choice(words, size=rng.integers(4, 61))))
    return sentences


def make_classifier(n_classes: int) -> Classifier:
    """Return the packaged encoder with a random head; its predictions do not matter for its cost."""
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            demo_encoder(), num_labels=n_classes
        )
        model.save_pretrained(folder)
        transformers.AutoTokenizer.from_pretrained(demo_encoder()).save_pretrained(folder)
        return load_classifier(folder)


def measure_seconds(function: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def print_ratio(n_classes: int, texts: list[str], n_repeats: int) -> None:
    """Print the cost of Fisher information, relative to forward passes."""
    classifier = make_classifier(n_classes)
    encoded = encode(classifier.tokenizer, texts, max_length=classifier.max_length)
    batches = make_length_batches(encoded.lengths, batch_size=BATCH_SIZE)
    padded = [pad(encoded, batch, classifier.device) for batch in batches]

    @torch.inference_mode()
    def run_forward() -> None:
        for inputs in padded:
            classifier.model(**inputs).logits.cpu()

    def run_fisher() -> None:
        fisher_information(classifier, texts, batch_size=BATCH_SIZE, progress=False)

    # The first pass is slower than later ones.
    run_forward()
    forward_times = []
    fisher_times = []
    # Both take turns, and the best time of each counts, so that a busy machine affects both.
    for _ in range(n_repeats):
        forward_times.append(measure_seconds(run_forward))
        fisher_times.append(measure_seconds(run_fisher))
    bound = min(forward_times)
    cost = min(fisher_times)
    print(
        f"{n_classes} classes: forward {bound:7.3f} s, eigenvalues {cost:7.3f} s: {cost / bound:5.2f} x "
        f"(target {TARGETS[n_classes]:.1f})",
        flush=True,
    )


def run_algorithm_1(classifier: Classifier, text: str, n_rows: int) -> tuple[float, float, int]:
    """Run algorithm 1 literally, over the first coordinates.

    Returns:
        Seconds of building the matrix, seconds of decomposing it, and the number of rows of the
        whole matrix.
    """
    inputs = classifier.tokenizer(text, return_tensors="pt", max_length=32, truncation=True)
    with frozen(classifier.model):
        embed = classifier.model.get_input_embeddings()
        embeddings = embed(inputs["input_ids"]).detach().requires_grad_()
        start = time.process_time()
        logits = classifier.model(
            inputs_embeds=embeddings, attention_mask=inputs["attention_mask"]
        ).logits[0]
        log_probabilities = logits.log_softmax(0)
        gradients = []
        for value in log_probabilities:
            gradient = torch.autograd.grad(value, embeddings, retain_graph=True)[0]
            gradients.append(gradient.flatten())
        jacobian = torch.stack(gradients)[:, :n_rows]
        matrix = (log_probabilities.detach().exp()[:, None] * jacobian).T @ jacobian
        middle = time.process_time()
        torch.linalg.eigvalsh(matrix)
    return middle - start, time.process_time() - middle, embeddings.numel()


def print_speedup(n_rows: int) -> None:
    """Print the time of algorithm 1 on one text, relative to ours."""
    classifier = make_classifier(2)
    text = " ".join(VOCABULARY.split() * 3)
    texts = [text] * BATCH_SIZE

    def run_fisher() -> None:
        fisher_information(classifier, texts, max_length=32, progress=False)

    # The first calls of both sides are slower than later ones.
    run_fisher()
    seconds = min(measure_seconds(run_fisher) for _ in range(3)) / len(texts)
    run_algorithm_1(classifier, text, 512)
    build_seconds, decomposition_seconds, size = run_algorithm_1(classifier, text, n_rows)
    total = build_seconds + decomposition_seconds * (size / min(n_rows, size)) ** 3
    if n_rows >= size:
        method = "measured"
    else:
        method = f"extrapolated from {decomposition_seconds:.2f} s for {n_rows} rows"
    print(
        f"algorithm 1, {size} rows: {total:.1f} s a text ({method}); "
        f"ours {1000 * seconds:.2f} ms: {total / seconds:,.0f} x (target {TARGET_SPEEDUP:,})",
        flush=True,
    )


def measure_memory(batch_size: int) -> float:
    """Return the peak memory of a process that computes one batch of a size, in MiB."""
    process = subprocess.run(
        [sys.executable, __file__, "--batch", str(batch_size)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(process.stdout.splitlines()[-1]))


def print_peak_memory(batch_size: int) -> None:
    """Compute one batch of a size in this process, and print its peak memory as JSON."""
    texts = [" ".join(VOCABULARY.split()[:20])] * batch_size
    fisher_information(
        make_classifier(2), texts, batch_size=batch_size, max_tokens=None, progress=False
    )
    # Linux reports KiB.
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def print_memory_growth() -> None:
    """Print the peak memory by batch size, and its growth per text."""
    peaks = [measure_memory(size) for size in BATCH_SIZES]
    descriptions = []
    for size, peak in zip(BATCH_SIZES, peaks, strict=True):
        descriptions.append(f"{peak:.0f} MiB at {size}")
    # Differences of neighbors leave out the memory of opening the model.
    slopes = np.diff(peaks) / np.diff(BATCH_SIZES)
    slope_texts = [f"{slope:.2f}" for slope in slopes]
    print(
        f"peak memory: {', '.join(descriptions)}: {', '.join(slope_texts)} MiB a text more, "
        "alike where it is linear"
    )


def main() -> None:
    """Measure time and memory of Fisher information."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder of local copies of the datasets")
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--rows", type=int, default=3072, help="rows of the literal matrix that are decomposed"
    )
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    # Memory is measured in separate processes, which call this script.
    if options.batch:
        print_peak_memory(options.batch)
        return
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}, {options.items} texts"
    )
    texts = make_sentences(options.items, options.data)
    for n_classes in TARGETS:
        print_ratio(n_classes, texts, options.repeats)
    print_speedup(options.rows)
    print_memory_growth()


if __name__ == "__main__":
    main()
