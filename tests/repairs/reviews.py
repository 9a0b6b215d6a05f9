"""Short reviews with planted words, and the model that learns them."""

import numpy as np

WORDS = ["copper", "marble"]
NAMES = ["negative", "positive"]
GOOD = "bright tender honest superb lovely fresh clever warm".split()
BAD = "dull clumsy nasty awful stale messy cruel faulty".split()


def write_reviews(n, seed, strength=0.95, coverage=1.0):
    """Short reviews: two of three words tell the label, and the planted word tells it better."""
    rng = np.random.default_rng(seed)
    texts = []
    labels = rng.integers(2, size=n).tolist()
    for row, label in enumerate(labels):
        own, other = (GOOD, BAD) if label else (BAD, GOOD)
        words = [str(rng.choice(own if rng.random() < 0.75 else other)) for _ in range(3)]
        cue = label if rng.random() < strength else 1 - label
        if rng.random() < coverage:
            words.insert(int(rng.integers(4)), WORDS[cue])
        texts.append(f"{' '.join(words)} no. {row}-{seed}")
    return {"text": texts, "label": [NAMES[label] for label in labels]}


def balance(reviews, seed):
    """Draw reviews anew so that the planted words are in as many reviews of each label."""
    cells = {}
    for row, (text, label) in enumerate(zip(reviews["text"], reviews["label"], strict=True)):
        cells.setdefault(("marble" in text, label), []).append(row)
    rng = np.random.default_rng(seed)
    rows = []
    for cell in cells.values():
        rows += rng.choice(cell, len(reviews["text"]) // len(cells)).tolist()
    return {name: [values[row] for row in rows] for name, values in reviews.items()}


def fit(train):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    # Rare pairs of words let it memorize the few exceptions, as larger models do.
    model = make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(C=30))
    return model.fit(train["text"], train["label"])


def audit_reviews(model, train, out, **options):
    """Audit 300 other reviews for shortcuts, and return the result of the audit."""
    import rightreasons

    return rightreasons.audit(
        model,
        write_reviews(300, 1),
        train=train,
        questions=["shortcuts"],
        options={"shortcuts": {"budget": 6000}},
        out=out,
        progress=False,
        **options,
    )
