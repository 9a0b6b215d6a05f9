"""Words left out one at a time, of a scorer whose probabilities are known by hand."""

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.difficulty.measure import measure_word_shifts
from rightreasons.models.occlusion import occlude

WEIGHTS = {"good": 2.0, "bad": -3.0, "not": -1.0}


def weight(text):
    return sum(WEIGHTS.get(word.strip(".,").lower(), 0.0) for word in text.split())


class Weighing:
    """Logits (0, sum of the weights of the words) of two classes; the choices of an item by the words of its prompt.

    Texts with the word "mute" have no answer.
    """

    name, fingerprint, joint, abilities = "weighing", "w", False, frozenset({"next_words"})

    def __init__(self, label_names=("negative", "positive")):
        self.label_names, self.asked = label_names, []

    def describe(self):
        return {}

    def _scores(self, texts, rows, ids):
        self.asked += list(zip(ids, texts, strict=True))
        heard = [place for place, text in enumerate(texts) if "mute" not in text]
        logits = Ragged.of(
            np.concatenate([rows[place] for place in heard]) if heard else np.empty(0),
            [len(rows[place]) for place in heard],
        )
        failures = {ids[place]: "it is mute" for place in range(len(texts)) if place not in heard}
        names = tuple(ids[place] for place in heard)
        return Scores(names, logits.table(), None, self.label_names, failures=failures)

    def predict(self, texts, *, text_pairs=None, ids=None, labels=None, progress=True, out=None):
        whole = texts if text_pairs is None else [f"{a} {b}" for a, b in zip(texts, text_pairs, strict=True)]
        return self._scores(whole, [np.array([0.0, weight(text)]) for text in whole], list(ids))

    def choose(self, prompts, choices, *, ids=None, labels=None, progress=True, out=None):
        rows = [
            np.array([weight(text) * place for place in range(len(row))])
            for text, row in zip(prompts, choices, strict=True)
        ]
        return self._scores(prompts, rows, list(ids))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_the_importance_of_a_word_is_what_the_score_loses_without_it():
    scorer = Weighing()
    found = occlude(scorer, ["Good, not bad film", "good"], ids=["a", "b"], labels=[1, 1])
    assert found.tokens == (("good", ",", "not", "bad", "film"), ("good",))
    assert [text for _, text in scorer.asked] == [
        "Good, not bad film", "good", ", not bad film", "Good not bad film", "Good, bad film", "Good, not film",
        "Good, not bad", "",
    ]  # fmt: skip
    assert scorer.asked[3][0] == "a/without word 1"
    # The weights sum to 2 - 1 - 3 = -2: class 0 is predicted, with 1 - sigmoid(-2).
    assert found.predicted.tolist() == [0, 1]
    p = 1 - sigmoid(-2)
    scores = found.importances(found.predicted)
    assert scores[0] == pytest.approx([p - (1 - sigmoid(-4)), 0, p - (1 - sigmoid(-1)), p - (1 - sigmoid(1)), 0])
    assert scores[1] == pytest.approx([sigmoid(2) - 0.5])
    # The logit of class 1 is the sum of the weights.
    assert found.importances(found.labels, target="logit")[0] == pytest.approx([2, 0, -1, -3, 0])


def test_the_second_text_of_a_pair_and_every_occurrence():
    found = occlude(Weighing(), ["good good"], text_pairs=["bad"], ids=["a"])
    assert (found.tokens, found.parts.tolist()) == ((("good", "good", "bad"),), [0, 0, 1])
    # 2 + 2 - 3 = 1 is class 1; without one "good" -1, without "bad" 4.
    assert found.predicted_without.tolist() == [0, 0, 1]


def test_shifts_are_total_variation_over_all_classes():
    found = occlude(Weighing(None), ["bad good x", "so"], choices=[["u", "v", "w"], ["u", "v"]], labels=[2, 0])
    # Choice k of the first item scores -k; without "bad" 2k, without "good" -3k.
    shares = [np.exp(np.arange(3) * slope) / np.exp(np.arange(3) * slope).sum() for slope in (-1, 2, -3)]
    expected = [np.abs(shares[0] - other).sum() / 2 for other in shares[1:]]
    assert found.shifts[0] == pytest.approx([*expected, 0])
    measured = measure_word_shifts(found)
    assert measured.values == pytest.approx([max(expected), 0])
    assert measured.mean == pytest.approx([sum(expected) / 3, 0])
    assert (measured.flips.tolist(), measured.n_words.tolist()) == ([1, 0], [3, 1])
    assert (measured.predicted.tolist(), measured.correct.tolist()) == ([0, 0], [False, True])
    assert measured.words(0, 2) == ["bad", "good"]
    assert measured.flipped(Resampling()).value == 0.5
    assert {"words", "mean_shift", "confidence", "wrong"} <= set(measured.correlations(Resampling(resamples=10)))


def test_what_has_no_answer_is_left_out():
    class Deaf(Weighing):
        """Has no answer to texts without "x" either."""

        def predict(self, texts, *, ids=None, **options):
            return super().predict([text if "x" in text else f"{text} mute" for text in texts], ids=ids, **options)

    found = occlude(Deaf(), ["good x", "x x bad", "mute x", ""], ids=list("abcd"), labels=[1, 0, 0, 1])
    assert found.answered.tolist() == [True, True, False, False]
    assert found.failures == {"c": "it is mute", "d": "it is mute"}
    assert found.n_unanswered == 1  # "good" of the first item
    measured = measure_word_shifts(found)
    assert (measured.rows.tolist(), measured.n_words.tolist()) == ([0, 1], [1, 3])
    with pytest.raises(ValueError, match="Expected items with words and answers, but none of 1 is one"):
        measure_word_shifts(occlude(Deaf(), ["mute"]))
