"""Time the LMI counts of 10 million tokens against scikit-learn's CountVectorizer and numpy.

    python benchmarks/lmi.py [--tokens 10000000] [--data FOLDER]

Both sides count lower-case words and marks of punctuation by label in the same texts, and the counts
are compared. Without `--data` the texts are sampled by Zipf's law. `--data` takes real texts: every
.tsv and .csv below the folder, repeated as often as needed. Both sides run in one thread and take
turns. Times are processor time, which other processes on the machine disturb less.
"""

from __future__ import annotations

import argparse
import itertools
import string
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.shortcuts.mutual_information import LmiResult, lmi

N_LABELS = 4


def zipf_texts(
    seed: int = 0, *, n_words: int = 60_000, length: int = 24, block: int = 10_000
) -> Iterator[str]:
    """Yield texts of random words without end: a capital first, a comma inside, a full stop last.

    Args:
        seed: Seed of the words and the texts.
        n_words: Size of the vocabulary.
        length: Number of words of each text.
        block: Number of texts that are sampled at once.
    """
    rng = np.random.default_rng(seed)
    letters = np.array(list(string.ascii_lowercase))
    # As in English, frequent words are short: a running word has 4.8 letters on average, and one
    # word in ten has more than eight.
    mean_lengths = 1.6 + 0.43 * np.log2(1 + np.arange(n_words))
    lengths = np.clip(mean_lengths + rng.normal(0, 2.3, n_words), 1, 14).astype(int)
    words = ["".join(rng.choice(letters, size=size)) for size in lengths]
    # The law of Zipf and Mandelbrot: the frequency of rank r is proportional to 1 / (r + 2.7).
    shares = 1 / (np.arange(n_words) + 2.7)
    shares /= shares.sum()
    while True:
        for indices in rng.choice(n_words, size=(block, length), p=shares):
            text_words = [words[index] for index in indices]
            text_words[length // 2] += ","
            yield " ".join(text_words).capitalize() + "."


def read_texts(folder: Path) -> Iterator[str]:
    """Yield the lines of the tables below a folder, over and over."""
    lines = []
    for path in sorted((*folder.rglob("*.tsv"), *folder.rglob("*.csv"))):
        text = path.read_text(encoding="utf-8", errors="replace")
        lines += [line for line in text.splitlines() if line.strip()]
    return itertools.cycle(lines)


def make_texts(folder: Path | None, n_tokens: int) -> tuple[list[str], np.ndarray]:
    """Return texts with about as many tokens in all, and a random label of each."""
    source = zipf_texts() if folder is None else read_texts(folder)
    texts = []
    n_counted = 0
    for text in source:
        texts.append(text)
        n_counted += len(WORD_PATTERN.findall(text))
        if n_counted >= n_tokens:
            break
    labels = np.random.default_rng(1).integers(N_LABELS, size=len(texts))
    return texts, labels


def count_by_peer(texts: list[str], labels: np.ndarray) -> tuple[CountVectorizer, np.ndarray]:
    """Return the fitted vectorizer, and its (V, K) counts of words by label."""
    vectorizer = CountVectorizer(token_pattern=WORD_PATTERN.pattern)
    table = vectorizer.fit_transform(texts)
    one_hot = np.zeros((len(texts), N_LABELS))
    one_hot[np.arange(len(texts)), labels] = 1
    return vectorizer, table.T @ one_hot


def are_equal(result: LmiResult, vectorizer: CountVectorizer, table: np.ndarray) -> bool:
    """Return whether both sides found the same words for each label, as often."""
    for label in range(N_LABELS):
        counts = result[label]
        count_by_token = dict(zip(counts.tokens, counts.count.tolist(), strict=True))
        peer_count_by_token = {}
        for token, row in vectorizer.vocabulary_.items():
            # LMI lists only the words of a label.
            if table[row, label]:
                peer_count_by_token[token] = int(table[row, label])
        if count_by_token != peer_count_by_token:
            return False
    return True


def main() -> None:
    """Measure both sides and print their times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    texts, labels = make_texts(options.data, options.tokens)
    seconds = []
    peer_seconds = []
    for _ in range(options.repeats):
        start = time.process_time()
        result = lmi(texts, labels)
        middle = time.process_time()
        vectorizer, table = count_by_peer(texts, labels)
        end = time.process_time()
        seconds.append(middle - start)
        peer_seconds.append(end - middle)
    if not are_equal(result, vectorizer, table):
        raise SystemExit("Expected the counts of both sides to be equal, but they differ.")
    n_tokens = result.n_tokens
    print(
        f"{len(texts):,} texts, {n_tokens:,} tokens, {len(vectorizer.vocabulary_):,} distinct; "
        "the counts are equal"
    )
    best_by_name = {
        "rightreasons": min(seconds),
        "CountVectorizer + numpy": min(peer_seconds),
    }
    for name, best in best_by_name.items():
        nanoseconds = best / n_tokens * 1e9
        print(
            f"{name:26s} {best:7.2f} s   {nanoseconds:6.0f} ns a token   "
            f"(best of {options.repeats})"
        )
    print(f"ratio {min(peer_seconds) / min(seconds):.2f}")


if __name__ == "__main__":
    main()
