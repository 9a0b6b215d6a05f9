"""Time LMI counts of 10 million tokens against scikit-learn's CountVectorizer and numpy, on the same texts.

    python benchmarks/lmi.py [--tokens 10000000] [--data FOLDER]

Both sides count lower-case words and marks of punctuation by label, and the counts are compared. Without `--data` the
texts are made up from Zipf's law; `--data` takes real ones: every .tsv and .csv below the folder, repeated as often as
needed. Both sides run in one thread, and what is timed is processor time, which neighbors on the machine disturb less.
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
    """Yield texts of made-up words without end: a capital in front, a comma inside, a full stop behind."""
    rng = np.random.default_rng(seed)
    letters = np.array(list(string.ascii_lowercase))
    # Frequent words are short, as in language: 4.8 letters a running word, one word in ten with more than eight.
    lengths = np.clip(
        1.6 + 0.43 * np.log2(1 + np.arange(n_words)) + rng.normal(0, 2.3, n_words), 1, 14
    ).astype(int)
    words = ["".join(rng.choice(letters, size=size)) for size in lengths]
    share = 1 / (np.arange(n_words) + 2.7)
    share /= share.sum()
    while True:
        for row in rng.choice(n_words, size=(block, length), p=share):
            text = [words[i] for i in row]
            text[length // 2] += ","
            yield " ".join(text).capitalize() + "."


def real_texts(folder: Path) -> Iterator[str]:
    """Yield the lines of the tables below a folder, over and over."""
    lines = [
        line
        for path in sorted((*folder.rglob("*.tsv"), *folder.rglob("*.csv")))
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.strip()
    ]
    return itertools.cycle(lines)


def sample(folder: Path | None, n_tokens: int) -> tuple[list[str], np.ndarray]:
    texts, size = [], 0
    for text in zipf_texts() if folder is None else real_texts(folder):
        texts.append(text)
        size += len(WORD_PATTERN.findall(text))
        if size >= n_tokens:
            break
    return texts, np.random.default_rng(1).integers(N_LABELS, size=len(texts))


def peer(texts: list[str], labels: np.ndarray) -> tuple[CountVectorizer, np.ndarray]:
    vectorizer = CountVectorizer(token_pattern=WORD_PATTERN.pattern)
    table = vectorizer.fit_transform(texts)
    one_hot = np.zeros((len(texts), N_LABELS))
    one_hot[np.arange(len(texts)), labels] = 1
    return vectorizer, table.T @ one_hot


def same(counts: LmiResult, vectorizer: CountVectorizer, table: np.ndarray) -> bool:
    return all(
        dict(zip(counts[label].tokens, counts[label].count.tolist(), strict=True))
        == {
            token: int(table[row, label])
            for token, row in vectorizer.vocabulary_.items()
            if table[row, label]
        }
        for label in range(N_LABELS)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    texts, labels = sample(options.data, options.tokens)
    seconds: dict[str, list[float]] = {"rightreasons": [], "CountVectorizer + numpy": []}
    for _ in range(options.repeats):
        begin = time.process_time()
        counts = lmi(texts, labels)
        middle = time.process_time()
        vectorizer, table = peer(texts, labels)
        end = time.process_time()
        seconds["rightreasons"].append(middle - begin)
        seconds["CountVectorizer + numpy"].append(end - middle)
    assert same(counts, vectorizer, table), "the two counts differ"
    n_tokens = counts.n_tokens
    best = {name: min(values) for name, values in seconds.items()}
    print(
        f"{len(texts):,} texts, {n_tokens:,} tokens, {len(vectorizer.vocabulary_):,} distinct; the counts are equal"
    )
    for name, value in best.items():
        print(
            f"{name:26s} {value:7.2f} s   {value / n_tokens * 1e9:6.0f} ns a token   (best of {options.repeats})"
        )
    print(f"ratio {best['CountVectorizer + numpy'] / best['rightreasons']:.2f}")


if __name__ == "__main__":
    main()
