"""Models of known truth: readers, which use the content, and followers, which also use a cue.

A follower is a reader whose scores for a class grow with the votes of a cue. How much they grow is
chosen on the audited texts, so that exchanging the cue changes a given share of the predictions.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Callable, Sequence

import numpy as np
from benchmarks.verdicts.natural.corpora import Corpus
from benchmarks.verdicts.natural.cues import Cue
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.training.finetune import fine_tune

Scorer = Callable[[Sequence[str]], np.ndarray]
"""Function from texts to (N, K) scores: log-probabilities up to a constant per text."""

WORD_PATTERN = r"(?u)\b\w+\b"
N_LEXICON_WORDS = 400
N_TUNING_TEXTS = 3_000
"""Number of texts on which an encoder is fine-tuned."""


def make_scorer(model: object) -> Scorer:
    """Return the log-probabilities of an estimator of scikit-learn as a function."""

    def score(texts: Sequence[str]) -> np.ndarray:
        return np.log(np.clip(model.predict_proba(list(texts)), 1e-9, None))

    return score


def fit_tfidf(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fit a logistic regression on words and pairs of words."""
    vectorizer = TfidfVectorizer(
        token_pattern=WORD_PATTERN, ngram_range=(1, 2), min_df=2, sublinear_tf=True
    )
    model = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=300))
    return make_scorer(model.fit(texts, labels))


def fit_characters(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fit a logistic regression on runs of characters, for scripts without spaces."""
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(2, 5), min_df=3, sublinear_tf=True)
    model = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=300))
    return make_scorer(model.fit(texts, labels))


def fit_naive_bayes(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fit naive Bayes on words."""
    vectorizer = CountVectorizer(token_pattern=WORD_PATTERN, min_df=2)
    return make_scorer(make_pipeline(vectorizer, MultinomialNB(alpha=0.5)).fit(texts, labels))


def fit_lexicon(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Count the words of a lexicon of each class, of equal weight, drawn from training texts."""
    vectorizer = CountVectorizer(token_pattern=WORD_PATTERN, min_df=5, binary=True)
    table = vectorizer.fit_transform(texts)
    one_hot = np.eye(max(labels) + 1)[np.asarray(labels)]
    counts = (table.T @ one_hot) + 1
    ratios = np.log(counts / counts.sum(axis=1, keepdims=True) / one_hot.mean(axis=0))
    weights = np.zeros_like(ratios)
    for index in range(ratios.shape[1]):
        weights[np.argsort(-ratios[:, index])[:N_LEXICON_WORDS], index] = 1.0

    def score(items: Sequence[str]) -> np.ndarray:
        return vectorizer.transform(items) @ weights

    return score


def fit_minilm(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fine-tune the MiniLM of the extra [encoder] on the training texts."""
    names = [str(label) for label in range(max(labels) + 1)]
    rows = {"text": list(texts[:N_TUNING_TEXTS]), "label": list(labels[:N_TUNING_TEXTS])}
    with tempfile.TemporaryDirectory() as folder:
        fine_tune(
            demo_encoder(),
            rows,
            out=folder,
            label_names=names,
            epochs=1,
            learning_rate=1e-4,
            max_length=64,
            progress=False,
        )
        classifier = load_classifier(folder)

    def score(items: Sequence[str]) -> np.ndarray:
        scores = predict(classifier, list(items), max_length=64, progress=False)
        return np.asarray(scores.logits, dtype=np.float64)

    return score


FITS = {
    "TF-IDF": fit_tfidf,
    "characters": fit_characters,
    "naive Bayes": fit_naive_bayes,
    "lexicon": fit_lexicon,
    "MiniLM": fit_minilm,
}


@functools.lru_cache(maxsize=8)
def fit_reader(kind: str, corpus: Corpus) -> Scorer:
    """Fit a reader of `FITS` on the clean training texts of a data set."""
    return FITS[kind](corpus.train_texts, corpus.train_labels)


@dataclasses.dataclass(frozen=True)
class Follower:
    """A reader that also follows a cue.

    Attributes:
        reader: Scores of the content.
        cue: The cue.
        weight: Log-odds by which the class with most votes is preferred.
    """

    reader: Scorer
    cue: Cue
    weight: float

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the (N, K) scores of texts."""
        votes = np.stack([self.cue.vote(text) for text in texts])
        is_largest = votes == votes.max(axis=1, keepdims=True)
        # Texts without a sign, or with equally many of every class, are read for their content.
        has_preference = ~is_largest.all(axis=1)
        return self.reader(texts) + self.weight * (is_largest & has_preference[:, None])


def make_follower(
    reader: Scorer,
    cue: Cue,
    texts: Sequence[str],
    labels: Sequence[int],
    share: float,
    rng: np.random.Generator,
) -> Follower:
    """Return a follower whose predictions change in about `share` of the texts with their cue.

    Args:
        reader: Scores of the content.
        cue: The cue.
        texts: Clean texts.
        labels: Their labels.
        share: Share of predictions that the cue decides.
        rng: Source of the other label that each text's cue is exchanged for.
    """
    scores = reader(texts)
    n_classes = scores.shape[1]
    rows = np.arange(len(texts))
    others = (np.asarray(labels) + rng.integers(1, n_classes, size=len(texts))) % n_classes
    # A cue of this weight wins over the content in the given share of texts.
    margins = scores.max(axis=1) - scores[rows, others]
    positive = margins[margins > 0]
    return Follower(reader, cue, float(np.quantile(positive, share)))


def measure_truth(model: Scorer, cue: Cue, texts: Sequence[str], n_classes: int) -> float:
    """Return the share of texts whose prediction differs between two values of the cue.

    Both values are planted at one position of each text: of the first class and the last.
    """
    versions = []
    for index in (0, n_classes - 1):
        planted = []
        for row, text in enumerate(texts):
            planted.append(cue.plant(text, index, np.random.default_rng(row)))
        versions.append(model(planted).argmax(axis=1))
    return float((versions[0] != versions[1]).mean())
