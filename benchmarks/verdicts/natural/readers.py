"""Models of known truth: readers, which use the content, and followers, which also use a cue.

`fit_reader` fits a reader on clean texts. `make_follower` raises its score for the class that has the
most votes of a cue. By how much is determined on the audited texts, so that another value of the cue
changes a given share of the predictions.
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
"""Pattern of words. Unlike the default of scikit-learn, it includes words of one letter."""

N_LEXICON_WORDS = 400
"""Number of words of each class in a lexicon."""

N_TUNING_TEXTS = 3_000
"""Number of texts on which an encoder is fine-tuned."""


def make_scorer(model: object) -> Scorer:
    """Return a function from texts to the log-probabilities of a fitted scikit-learn classifier."""

    def score(texts: Sequence[str]) -> np.ndarray:
        probabilities = model.predict_proba(list(texts))
        # A probability of 0 has no logarithm.
        return np.log(np.clip(probabilities, 1e-9, None))

    return score


def fit_tfidf(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fit a logistic regression on words and pairs of words."""
    vectorizer = TfidfVectorizer(
        token_pattern=WORD_PATTERN, ngram_range=(1, 2), min_df=2, sublinear_tf=True
    )
    model = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=300))
    return make_scorer(model.fit(texts, labels))


def fit_characters(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fit a logistic regression on 2 to 5 characters in a row, for scripts without spaces."""
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(2, 5), min_df=3, sublinear_tf=True)
    model = make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=300))
    return make_scorer(model.fit(texts, labels))


def fit_naive_bayes(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fit naive Bayes on words."""
    vectorizer = CountVectorizer(token_pattern=WORD_PATTERN, min_df=2)
    return make_scorer(make_pipeline(vectorizer, MultinomialNB(alpha=0.5)).fit(texts, labels))


def fit_lexicon(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Make a lexicon of each class from training texts, and score a text by counting its words.

    A lexicon has the words that are most typical of its class; all of them have equal weight.
    """
    vectorizer = CountVectorizer(token_pattern=WORD_PATTERN, min_df=5, binary=True)
    is_present = vectorizer.fit_transform(texts)
    one_hot = np.eye(max(labels) + 1)[np.asarray(labels)]
    # (words, K) texts of each class with the word. One more, so that no logarithm is infinite.
    counts = (is_present.T @ one_hot) + 1
    class_shares = counts / counts.sum(axis=1, keepdims=True)
    log_ratios = np.log(class_shares / one_hot.mean(axis=0))
    weights = np.zeros_like(log_ratios)
    for index in range(log_ratios.shape[1]):
        lexicon = np.argsort(-log_ratios[:, index])[:N_LEXICON_WORDS]
        weights[lexicon, index] = 1.0

    def score(items: Sequence[str]) -> np.ndarray:
        return vectorizer.transform(items) @ weights

    return score


def fit_minilm(texts: Sequence[str], labels: Sequence[int]) -> Scorer:
    """Fine-tune the MiniLM of the extra [encoder] on the first `N_TUNING_TEXTS` training texts."""
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
        # The weights are in memory afterwards, so the folder may be deleted.
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
def fit_reader(reader: str, corpus: Corpus) -> Scorer:
    """Fit a reader on the training texts of a data set, without any cue.

    Args:
        reader: Key in `FITS`, such as "naive Bayes".
        corpus: Data set.

    Returns:
        Function from texts to (N, K) scores.
    """
    return FITS[reader](corpus.train_texts, corpus.train_labels)


@dataclasses.dataclass(frozen=True)
class Follower:
    """A reader that also follows a cue.

    Attributes:
        reader: Function from texts to (N, K) scores of their content.
        cue: Cue whose votes raise the scores.
        weight: Log-odds that are added to the score of the class with most votes.
    """

    reader: Scorer
    cue: Cue
    weight: float

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the (N, K) scores of texts by their content and by the cue."""
        votes = np.stack([self.cue.vote(text) for text in texts])
        is_largest = votes == votes.max(axis=1, keepdims=True)
        # The content alone decides texts without a sign, or with equally many of every class.
        has_preference = ~is_largest.all(axis=1, keepdims=True)
        return self.reader(texts) + self.weight * (is_largest & has_preference)


def make_follower(
    reader: Scorer,
    cue: Cue,
    texts: Sequence[str],
    labels: Sequence[int],
    share: float,
    rng: np.random.Generator,
) -> Follower:
    """Return a follower for which the cue decides about `share` of the predictions.

    Args:
        reader: Function from texts to (N, K) scores of their content.
        cue: Cue to follow.
        texts: (N,) texts without the cue.
        labels: (N,) labels of the texts.
        share: Share of predictions that the cue decides.
        rng: Source of the other label that each text's cue is exchanged for.
    """
    scores = reader(texts)
    n_classes = scores.shape[1]
    rows = np.arange(len(texts))
    offsets = rng.integers(1, n_classes, size=len(texts))
    other_labels = (np.asarray(labels) + offsets) % n_classes
    # A cue for another label flips a prediction if its weight exceeds the margin of the content.
    margins = scores.max(axis=1) - scores[rows, other_labels]
    # Texts with a margin of 0 are predicted as the other label already.
    positive_margins = margins[margins > 0]
    return Follower(reader, cue, float(np.quantile(positive_margins, share)))


def measure_truth(model: Scorer, cue: Cue, texts: Sequence[str], n_classes: int) -> float:
    """Return the share of texts whose prediction differs between two values of the cue.

    Args:
        model: Function from texts to (N, K) scores.
        cue: Cue whose values of the first and the last class are compared.
        texts: (N,) texts without the cue.
        n_classes: Number of classes.
    """

    def predict(class_index: int) -> np.ndarray:
        planted_texts = []
        for row, text in enumerate(texts):
            # The row seeds the draws, so that both values get the same position in a text.
            planted_texts.append(cue.plant(text, class_index, np.random.default_rng(row)))
        return model(planted_texts).argmax(axis=1)

    is_flipped = predict(0) != predict(n_classes - 1)
    return float(is_flipped.mean())
