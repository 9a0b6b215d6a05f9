"""The test for users' own scorers: one that keeps the contract passes, and each breach has its message."""

import dataclasses

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.models import Prompt, Prompted, as_scorer, load_classifier, load_multiple_choice
from rightreasons.models.choices import load_causal, load_language_model
from rightreasons.models.local import LocalEngine
from rightreasons.testing import _RowCheck, check_scorer
from tiny_bidirectional import save_tiny_bidirectional
from tiny_causal import save_tiny_causal


class LetterCounter:
    """Counts letters; it keeps the contract."""

    name = "own"
    label_names = ("few", "many")
    abilities = frozenset()
    fingerprint = "v1"
    joint = False

    def describe(self):
        return {"letters": "all"}

    def predict(self, texts, *, text_pairs=None, ids=None, labels=None, **options):
        if text_pairs is not None:
            raise ValueError("Expected single texts.")
        logits = np.array([[0.0, len(text) - 9.5] for text in texts])
        label_array = None if labels is None else np.array(labels)
        return Scores(tuple(ids), logits, label_array, self.label_names)

    def choose(self, prompts, choices, **options):
        raise ValueError("Expected texts.")


@pytest.mark.parametrize(
    "kind", ["own", "classifier", "choice", "causal", "t5", "bert", "prompted"]
)
def test_scorers_of_every_kind_keep_the_contract(kind, classifier_folder, choice_folder, tmp_path):
    if kind == "own":
        scorer = LetterCounter()
    elif kind == "classifier":
        scorer = load_classifier(classifier_folder, device="cpu")
    elif kind == "choice":
        scorer = load_multiple_choice(choice_folder, device="cpu")
    elif kind == "causal":
        causal_model = load_causal(save_tiny_causal(tmp_path / "causal"))
        scorer = Prompted(Prompt(), LocalEngine(causal_model))
    elif kind == "prompted":
        scorer = as_scorer(save_tiny_causal(tmp_path / "causal"), label_names=["bad", "good"])
    else:
        model = load_language_model(save_tiny_bidirectional(tmp_path / kind, kind))
        scorer = Prompted(Prompt(), LocalEngine(model))

    check_scorer(scorer)


def change_scores(change):
    """Return a scorer whose scores are changed by a function of scores and texts."""

    class ChangedScorer(LetterCounter):
        def predict(self, texts, **options):
            return change(super().predict(texts, **options), texts)

    return ChangedScorer()


def change_attributes(**attributes):
    return type("Changed", (LetterCounter,), attributes)()


def change_logits(change):
    """Return a scorer whose logits are changed by a function of logits and texts."""

    def replace_logits(scores, texts):
        return dataclasses.replace(scores, logits=change(scores.logits, texts))

    return change_scores(replace_logits)


def replace_fields(**fields):
    """Return a scorer whose scores have other fields."""
    return change_scores(lambda scores, texts: dataclasses.replace(scores, **fields))


def reverse_ids():
    return change_scores(lambda scores, _: dataclasses.replace(scores, ids=scores.ids[::-1]))


def fail_at_all():
    def fail(scores, texts):
        failures = dict.fromkeys(scores.ids, "no")
        empty = np.empty((0, 2))
        return dataclasses.replace(scores, ids=(), logits=empty, labels=None, failures=failures)

    return change_scores(fail)


# Breach of the contract -> a function that makes such a scorer, and the message.
BREACHES = {
    "a member less": (
        lambda: type("Less", (), {"name": "less"})(),
        "all members of `Scorer`, but got 'Less'",
    ),
    "no name": (lambda: change_attributes(name=""), "a text in `name`"),
    "two classes of one name": (
        lambda: change_attributes(label_names=("few", "few")),
        "two names or more in `label_names`",
    ),
    "an unknown ability": (
        lambda: change_attributes(abilities=frozenset({"mind reading"})),
        "known `abilities`, but got",
    ),
    "no fingerprint": (
        lambda: change_attributes(fingerprint=None),
        "a text in `fingerprint`, but got None",
    ),
    "joint in words": (lambda: change_attributes(joint="no"), "True or False in `joint`"),
    "ids of its own": (reverse_ids, "the ids .* in this"),
    "NaN": (lambda: change_logits(lambda logits, _: logits * np.nan), "finite scores"),
    "one class more": (
        lambda: change_logits(lambda logits, _: np.pad(logits, ((0, 0), (0, 1)))),
        r"scores of the shapes \[\(2,\), ",
    ),
    "scores depend on the rest of the batch": (
        lambda: change_logits(lambda logits, texts: logits * (1 + len(texts) / 10)),
        "the same scores when asked into a folder of other items, but got 'a difference of 0",
    ),
    "the order changes it": (
        lambda: change_logits(lambda logits, texts: logits * (1 + len(texts[0]) / 9)),
        "the same scores when asked in another order",
    ),
    "labels are lost": (lambda: replace_fields(labels=None), r"the labels \[0, 1, 0, 1, 0\]"),
    "other names": (
        lambda: replace_fields(label_names=("a", "b")),
        r"scores, but got \('a', 'b'\)",
    ),
    "probabilities instead of logits": (
        lambda: change_logits(
            lambda logits, _: np.column_stack([expit(-logits[:, 1]), expit(logits[:, 1])])
        ),
        "logits, such as logarithms of probabilities",
    ),
    "nothing but failures": (fail_at_all, "scores of all items but the empty one at most"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_of_the_contract_is_named(breach):
    make_scorer, message = BREACHES[breach]

    with pytest.raises(AssertionError, match=f"Expected .*{message}"):
        check_scorer(make_scorer())


class LengthChooser(LetterCounter):
    """Prefers long choices; each choice is scored independently of the others."""

    label_names = None

    def predict(self, texts, **options):
        raise ValueError("Expected choices.")

    def choose(self, prompts, choices, *, ids=None, labels=None, **options):
        rows = [self.score(row) for row in choices]
        logits = Ragged.of(np.concatenate(rows), [len(row) for row in rows]).table()
        label_array = None if labels is None else np.array(labels)
        return Scores(tuple(ids), logits, label_array, None)

    def score(self, row):
        return np.array([len(choice) / 10 for choice in row])


def score_jointly(row):
    """Score choices by the letters of all of them."""
    n_letters = len(set("".join(row)))
    return np.array([len(choice) / 10 - n_letters * i for i, choice in enumerate(row)])


def score_by_position(row):
    return np.array([len(choice) / 10 - i for i, choice in enumerate(row)])


def make_chooser(score):
    """Return a scorer of choices by a function of all choices of an item."""
    return type("Changed", (LengthChooser,), {"score": lambda self, row: score(row)})()


def multiply_logits(compute_factor):
    """Return a scorer whose logits are multiplied by a function of texts, second texts and options."""

    class MultipliedScorer(LetterCounter):
        def predict(self, texts, *, text_pairs=None, **options):
            scores = LetterCounter.predict(self, texts, **options)
            factors = np.asarray(compute_factor(texts, text_pairs, options), dtype=float)
            return dataclasses.replace(scores, logits=scores.logits * factors.reshape(-1, 1))

    return MultipliedScorer()


class StaleScorer(LetterCounter):
    """Returns the scores that it stored in the folder, whatever the items are."""

    def __init__(self):
        self.stored = {}

    def predict(self, texts, *, out=None, **options):
        scores = LetterCounter.predict(self, texts, **options)
        logits = scores.logits
        if out:
            logits = self.stored.setdefault(str(out), logits)
        return dataclasses.replace(scores, logits=logits[: len(texts)])


class CachingScorer(LetterCounter):
    """Remembers the answer to a text by its length."""

    def __init__(self):
        self.answers = {}

    def predict(self, texts, **options):
        for text in texts:
            self.answers.setdefault(len(text), 1.0 if "good" in text else -1.0)
        scores = LetterCounter.predict(self, texts, **options)
        logits = np.array([[0.0, self.answers[len(text)]] for text in texts])
        return dataclasses.replace(scores, logits=logits)


class UnstableScorer(LetterCounter):
    """Has another fingerprint each time."""

    n = 0

    @property
    def fingerprint(self):
        self.n += 1
        return str(self.n)


def crash(texts, text_pairs, options):
    if not all(texts):
        raise RuntimeError("no words")
    return 1.0


def truncate_silently(texts, text_pairs, options):
    """Replace the length of a text by that of its first 2,000 characters."""
    return [1 / (len(text) - 9.5) * len(text[:2000]) for text in texts]


def read_labels(texts, text_pairs, options):
    if options.get("labels") is None:
        return 1.0
    return 1 + np.array(options["labels"])


def read_ids(texts, text_pairs, options):
    ids = options.get("ids") or [""] * len(texts)
    return [1 + len(str(name)) for name in ids]


def read_pairs(texts, text_pairs, options):
    if text_pairs is None:
        return 1.0
    return [1 + len(pair) for pair in text_pairs]


def rate_by_word(positive_row, other_row, **options):
    """Return a scorer with one row of probabilities for texts with "good", and another for the rest."""
    return as_scorer(
        lambda texts: [positive_row if "good" in text else other_row for text in texts],
        label_names=["negative", "positive"],
        **options,
    )


NOISE = np.random.default_rng(0)
# (Text, label) pairs of one length in which "good" decides.
LABELED = {"texts": ["good film", "evil film", "good plot", "evil plot"], "labels": [1, 0, 1, 0]}
WRONG_SCORERS = {
    "depends on the size of the batch": lambda: multiply_logits(
        lambda texts, pairs, options: 1 + len(texts) / 10
    ),
    "depends on the position": lambda: multiply_logits(
        lambda texts, pairs, options: 1 + np.arange(len(texts)) / 10
    ),
    "reads padding": lambda: multiply_logits(
        lambda texts, pairs, options: 1 + max(map(len, texts)) / 100
    ),
    "is random": lambda: multiply_logits(lambda texts, pairs, options: NOISE.random(len(texts))),
    "has 0.3 % noise": lambda: multiply_logits(
        lambda texts, pairs, options: 1 + 0.003 * NOISE.normal(size=len(texts))
    ),
    "loses labels": lambda: replace_fields(labels=None),
    "has other ids": reverse_ids,
    "changes its fingerprint": UnstableScorer,
    "is infinite": lambda: multiply_logits(lambda texts, pairs, options: np.inf),
    "crashes at the empty text": lambda: multiply_logits(crash),
    "scores choices jointly": lambda: make_chooser(score_jointly),
    "prefers the first choice": lambda: make_chooser(score_by_position),
    "ignores the second text": lambda: multiply_logits(lambda texts, pairs, options: 1.0),
    "returns probabilities": lambda: change_logits(
        lambda logits, _: np.exp(log_softmax(logits, axis=1))
    ),
    "hides differences by an offset": lambda: change_logits(
        lambda logits, texts: logits * (1 + len(texts)) + 1e6
    ),
    "cuts long texts silently": lambda: multiply_logits(truncate_silently),
    "remembers texts by their length": CachingScorer,
    "has its classes in another order": lambda: rate_by_word([0.9, 0.1], [0.2, 0.8]),
    "reads the labels": lambda: multiply_logits(read_labels),
    "reads the ids": lambda: multiply_logits(read_ids),
    "claims gradients": lambda: change_attributes(abilities=frozenset({"gradients"})),
    "reads stored scores of other items": StaleScorer,
    # Not to be seen from outside: nothing shows which results another version would have.
    "keeps its fingerprint with other weights": lambda: rate_by_word(
        [0.1, 0.9], [0.8, 0.2], fingerprint="the same for every version"
    ),
}


@pytest.mark.parametrize("name", list(WRONG_SCORERS)[:-1])
def test_wrong_scorers_are_detected(name):
    scorer = WRONG_SCORERS[name]()
    options = LABELED if scorer.label_names else {}

    with pytest.raises(AssertionError, match="Expected"):
        check_scorer(scorer, **options)


def test_scorers_of_pairs_and_choices_keep_the_contract():
    check_scorer(LengthChooser())
    check_scorer(multiply_logits(read_pairs))


@pytest.mark.parametrize(("excess", "is_refused"), [(0.9, False), (1.5, True)])
def test_the_tolerance_is_a_share_of_the_largest_log_probability_or_of_one(excess, is_refused):
    # ln 0.5 = -0.69, which counts as 1: of two equally likely classes, 1.5 tolerances are too many.
    check = _RowCheck(LetterCounter(), {0: np.log([0.5, 0.5])}, tolerance=0.01)
    share = 0.5 * np.exp(-0.01 * excess)
    changed = np.log([share, 1 - share])

    if is_refused:
        with pytest.raises(AssertionError, match="the same scores"):
            check.compare("again", 0, changed, [0, 1])
    else:
        check.compare("again", 0, changed, [0, 1])
