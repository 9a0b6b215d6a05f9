"""Words left out one at a time, of a scorer whose probabilities are known by hand."""

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.models.occlusion import occlude
from rightreasons.shortcuts.measure import measure_shortcuts, occlusion_attributions
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.options import ShortcutsOptions
from rightreasons.shortcuts.protocols import protocol_of

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
    attributed = occlusion_attributions(found)
    p = 1 - sigmoid(-2)
    assert attributed.scores[0] == pytest.approx(
        [p - (1 - sigmoid(-4)), 0, p - (1 - sigmoid(-1)), p - (1 - sigmoid(1)), 0]
    )
    assert attributed.scores[1] == pytest.approx([sigmoid(2) - 0.5])
    assert attributed.value == pytest.approx([p, sigmoid(2)])
    assert (attributed.nodes.tolist(), attributed.valid.all()) == ([6, 2], True)
    gold = occlusion_attributions(found, target="logit", label="gold")
    assert gold.scores[0] == pytest.approx([2, 0, -1, -3, 0])  # the logit of class 1 is the sum of the weights
    with pytest.raises(ValueError, match="Expected a gold label of each item"):
        occlusion_attributions(occlude(scorer, ["good"]), label="gold")


def test_the_second_text_of_a_pair_and_every_occurrence():
    found = occlude(Weighing(), ["good good"], text_pairs=["bad"], ids=["a"])
    assert (found.tokens, found.parts.tolist()) == ((("good", "good", "bad"),), [0, 0, 1])
    # 2 + 2 - 3 = 1 is class 1.
    assert occlusion_attributions(found, target="logit").scores[0] == pytest.approx([2, 2, -3])


def test_what_has_no_answer_is_left_out():
    class Deaf(Weighing):
        """Has no answer to texts without "x" either."""

        def predict(self, texts, *, ids=None, **options):
            return super().predict([text if "x" in text else f"{text} mute" for text in texts], ids=ids, **options)

    found = occlude(Deaf(), ["good x", "x x bad", "mute x", ""], ids=list("abcd"), labels=[1, 0, 0, 1])
    assert found.answered.tolist() == [True, True, False, False]
    assert found.failures == {"c": "it is mute", "d": "it is mute"}
    assert found.n_unanswered == 1  # "good" of the first item
    attributed = occlusion_attributions(found)
    assert attributed.valid.tolist() == [False, True, False, False]


def test_shortcuts_without_gradients():
    texts = ["good film", "a good plot", "bad film", "the bad plot", "good set here", "bad set", "not a plot", "good x"]
    labels = np.array([1, 1, 0, 0, 1, 0, 0, 1])
    heads = lmi(texts, labels, head_fraction=0.2)
    measured = measure_shortcuts(
        Weighing(), texts, labels, heads, protocol=protocol_of(importance="occlusion", top_n=1),
        resampling=Resampling(resamples=20),
    )  # fmt: skip
    assert (measured.protocol.importance, measured.protocol.rank_by) == ("occlusion", "value")
    # Every prediction rests on its one word of weight.
    assert [example.tokens for example in measured.reliance.examples][:3] == [("good",), ("good",), ("bad",)]
    assert measured.record().largest_gap is None
    assert "minus the same where the word is left out" in measured.attributions.definition
    cues = measured.cues(heads, 2)
    assert {cue.token for cue in cues} >= {"good", "bad"}


def test_settings_that_do_not_go_together():
    with pytest.raises(ValueError, match="Expected no `baseline` with importance='occlusion'"):
        ShortcutsOptions(importance="occlusion", baseline="pad")
    with pytest.raises(ValueError, match="Expected unit='word' with importance='occlusion'"):
        protocol_of("bihani2025", importance="occlusion")
    assert protocol_of(importance="occlusion", rank_by="magnitude").rank_by == "magnitude"
    with pytest.raises(ValueError, match="Expected a classifier with gradients, but got weighing"):
        measure_shortcuts(Weighing(), ["good"], [1], {0: ["a"], 1: ["good"]})
