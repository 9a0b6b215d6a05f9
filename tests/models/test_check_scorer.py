"""The test that users run on scorers of their own: what keeps the contract passes, and each breach has its sentence."""

import dataclasses

import numpy as np
import pytest
from scipy.special import log_softmax

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.models import Prompt, Prompted, as_scorer, load_classifier, load_multiple_choice
from rightreasons.models.choices import load_causal, load_language_model
from rightreasons.models.local import LocalEngine
from rightreasons.testing import _RowCheck, check_scorer
from tiny_bidirectional import save_tiny_bidirectional
from tiny_causal import save_tiny_causal


class Own:
    """Counts letters; it keeps the contract."""

    name, label_names, abilities, fingerprint, joint = (
        "own",
        ("few", "many"),
        frozenset(),
        "v1",
        False,
    )

    def describe(self):
        return {"letters": "all"}

    def predict(self, texts, *, text_pairs=None, ids=None, labels=None, **how):
        if text_pairs is not None:
            raise ValueError("Expected single texts.")
        logits = np.array([[0.0, len(text) - 9.5] for text in texts])
        return Scores(
            tuple(ids), logits, None if labels is None else np.array(labels), self.label_names
        )

    def choose(self, prompts, choices, **how):
        raise ValueError("Expected texts.")


@pytest.mark.parametrize(
    "kind", ["own", "classifier", "choice", "causal", "t5", "bert", "prompted"]
)
def test_scorers_of_every_kind_keep_the_contract(kind, classifier_folder, choice_folder, tmp_path):
    make = {
        "own": Own,
        "classifier": lambda: load_classifier(classifier_folder, device="cpu"),
        "choice": lambda: load_multiple_choice(choice_folder, device="cpu"),
        "causal": lambda: Prompted(
            Prompt(), LocalEngine(load_causal(save_tiny_causal(tmp_path / "causal")))
        ),
        "prompted": lambda: as_scorer(
            save_tiny_causal(tmp_path / "causal"), label_names=["bad", "good"]
        ),
    }.get(kind) or (
        lambda: Prompted(
            Prompt(),
            LocalEngine(load_language_model(save_tiny_bidirectional(tmp_path / kind, kind))),
        )
    )
    check_scorer(make())


def changed(how):
    """A scorer whose answers are changed by a function of scores and texts."""

    class Changed(Own):
        def predict(self, texts, **given):
            return how(super().predict(texts, **given), texts)

    return Changed()


def of(**members):
    return type("Changed", (Own,), members)()


BREACHES = {
    "a member less": (lambda: type("Less", (), {"name": "less"})(), "all members of `Scorer`, but got 'Less'"),
    "no name": (lambda: of(name=""), "a text in `name`"),
    "two classes of one name": (lambda: of(label_names=("few", "few")), "two names or more in `label_names`"),
    "an unknown ability": (lambda: of(abilities=frozenset({"mind reading"})), "known `abilities`, but got"),
    "no fingerprint": (lambda: of(fingerprint=None), "a text in `fingerprint`, but got None"),
    "joint in words": (lambda: of(joint="no"), "True or False in `joint`"),
    "ids of its own": (lambda: changed(lambda s, _: dataclasses.replace(s, ids=s.ids[::-1])), "the ids .* in this"),
    "NaN": (lambda: changed(lambda s, _: dataclasses.replace(s, logits=s.logits * np.nan)), "finite scores"),
    "one class more": (
        lambda: changed(lambda s, _: dataclasses.replace(s, logits=np.pad(s.logits, ((0, 0), (0, 1))))),
        r"scores of the shapes \[\(2,\), ",
    ),
    "scores depend on the rest of the batch": (
        lambda: changed(lambda s, texts: dataclasses.replace(s, logits=s.logits * (1 + len(texts) / 10))),
        "the same scores when asked into a folder of other items, but got 'a difference of 0",
    ),
    "the order changes it": (
        lambda: changed(lambda s, texts: dataclasses.replace(s, logits=s.logits * (1 + len(texts[0]) / 9))),
        "the same scores when asked in another order",
    ),
    "labels are lost": (
        lambda: changed(lambda s, _: dataclasses.replace(s, labels=None)), r"the labels \[0, 1, 0, 1, 0\]"),
    "other names": (
        lambda: changed(lambda s, _: dataclasses.replace(s, label_names=("a", "b"))), r"scores, but got \('a', 'b'\)"
    ),
    "nothing but failures": (
        lambda: changed(
            lambda s, _: dataclasses.replace(
                s, ids=(), logits=np.empty((0, 2)), labels=None, failures=dict.fromkeys(s.ids, "no")
            )
        ),
        "scores of all items but the empty one at most",
    ),
}  # fmt: skip


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_told_in_a_sentence(breach):
    make, said = BREACHES[breach]
    with pytest.raises(AssertionError, match=f"Expected .*{said}"):
        check_scorer(make())


class OwnChoices(Own):
    """Prefers long choices; each is scored by itself."""

    label_names = None

    def predict(self, texts, **how):
        raise ValueError("Expected choices.")

    def choose(self, prompts, choices, *, ids=None, labels=None, **how):
        rows = [self.score(row) for row in choices]
        logits = Ragged.of(np.concatenate(rows), [len(row) for row in rows]).table()
        return Scores(tuple(ids), logits, None if labels is None else np.array(labels), None)

    def score(self, row):
        return np.array([len(choice) / 10 for choice in row])


def choosing(score):
    return type("Changed", (OwnChoices,), {"score": lambda self, row: score(row)})()


def multiplied(factor):
    """A scorer whose logits are multiplied by a function of the texts and the keywords."""

    class Changed(Own):
        def predict(self, texts, *, text_pairs=None, **given):
            scores = Own.predict(self, texts, **given)
            factors = np.asarray(factor(texts, text_pairs, given), dtype=float)
            return dataclasses.replace(scores, logits=scores.logits * factors.reshape(-1, 1))

    return Changed()


class Stale(Own):
    """Returns what it stored in the folder, whatever the items are."""

    def __init__(self):
        self.stored = {}

    def predict(self, texts, *, out=None, **given):
        scores = Own.predict(self, texts, **given)
        first = self.stored.setdefault(str(out), scores.logits) if out else scores.logits
        return dataclasses.replace(scores, logits=first[: len(texts)])


class Cached(Own):
    """Remembers the answer to a text by its length."""

    def __init__(self):
        self.answers = {}

    def predict(self, texts, **given):
        for text in texts:
            self.answers.setdefault(len(text), 1.0 if "good" in text else -1.0)
        scores = Own.predict(self, texts, **given)
        return dataclasses.replace(
            scores, logits=np.array([[0.0, self.answers[len(text)]] for text in texts])
        )


class Renamed(Own):
    """Has another fingerprint each time."""

    n = 0

    @property
    def fingerprint(self):
        self.n += 1
        return str(self.n)


def crash(texts, text_pairs, given):
    if not all(texts):
        raise RuntimeError("no words")
    return 1.0


NOISE = np.random.default_rng(0)
# (Text, label) pairs of one length in which "good" decides.
LABELED = {"texts": ["good film", "evil film", "good plot", "evil plot"], "labels": [1, 0, 1, 0]}
WRONG_SCORERS = {
    "depends on the size of the batch": lambda: multiplied(lambda t, p, g: 1 + len(t) / 10),
    "depends on the position": lambda: multiplied(lambda t, p, g: 1 + np.arange(len(t)) / 10),
    "reads padding": lambda: multiplied(lambda t, p, g: 1 + max(map(len, t)) / 100),
    "is random": lambda: multiplied(lambda t, p, g: NOISE.random(len(t))),
    "has 0.3 % noise": lambda: multiplied(lambda t, p, g: 1 + 0.003 * NOISE.normal(size=len(t))),
    "loses labels": BREACHES["labels are lost"][0],
    "has other ids": BREACHES["ids of its own"][0],
    "changes its fingerprint": Renamed,
    "is infinite": lambda: multiplied(lambda t, p, g: np.inf),
    "crashes at the empty text": lambda: multiplied(crash),
    "scores choices jointly": lambda: choosing(
        lambda row: np.array([len(choice) / 10 - len(set("".join(row))) * i for i, choice in enumerate(row)])
    ),
    "prefers the first choice": lambda: choosing(
        lambda row: np.array([len(choice) / 10 - i for i, choice in enumerate(row)])
    ),
    "ignores the second text": lambda: multiplied(lambda t, p, g: 1.0),
    "returns probabilities": lambda: changed(
        lambda s, _: dataclasses.replace(s, logits=np.exp(log_softmax(s.logits, axis=1)))
    ),
    "hides differences by an offset": lambda: changed(
        lambda s, t: dataclasses.replace(s, logits=s.logits * (1 + len(t)) + 1e6)
    ),
    "cuts long texts silently": lambda: multiplied(
        lambda t, p, g: [1 / (len(text) - 9.5) * len(text[:2000]) for text in t]
    ),
    "remembers texts by their length": Cached,
    "has its classes in another order": lambda: as_scorer(
        lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts],
        label_names=["negative", "positive"],
    ),
    "reads the labels": lambda: multiplied(
        lambda t, p, g: 1.0 if g.get("labels") is None else 1 + np.array(g["labels"])
    ),
    "reads the ids": lambda: multiplied(
        lambda t, p, g: [1 + len(str(name)) for name in g.get("ids") or [""] * len(t)]
    ),
    "claims gradients": lambda: of(abilities=frozenset({"gradients"})),
    "reads stored scores of other items": Stale,
    # Not to be seen from outside: nothing tells which results another version would have.
    "keeps its fingerprint with other weights": lambda: as_scorer(
        lambda texts: [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts],
        label_names=["negative", "positive"],
        fingerprint="the same for every version",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG_SCORERS)[:-1])
def test_wrong_scorers_are_detected(name):
    scorer = WRONG_SCORERS[name]()
    with pytest.raises(AssertionError, match="Expected"):
        check_scorer(scorer, **(LABELED if scorer.label_names else {}))


def test_scorers_of_pairs_and_choices_keep_the_contract():
    check_scorer(OwnChoices())
    check_scorer(multiplied(lambda t, p, g: 1.0 if p is None else [1 + len(pair) for pair in p]))


@pytest.mark.parametrize(("excess", "is_refused"), [(0.9, False), (1.5, True)])
def test_the_tolerance_is_a_share_of_the_largest_log_probability_or_of_one(excess, is_refused):
    # ln 0.5 = -0.69, which counts as 1: of two classes alike, 1.5 tolerances are too many.
    check = _RowCheck(Own(), {0: np.log([0.5, 0.5])}, tolerance=0.01)
    share = 0.5 * np.exp(-0.01 * excess)
    changed = np.log([share, 1 - share])

    if is_refused:
        with pytest.raises(AssertionError, match="the same scores"):
            check.compare("again", 0, changed, [0, 1])
    else:
        check.compare("again", 0, changed, [0, 1])
