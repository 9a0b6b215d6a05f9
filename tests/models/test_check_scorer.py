"""The test that users run on scorers of their own: what keeps the contract passes, and each breach has its sentence."""

import dataclasses

import numpy as np
import pytest

from rightreasons.core.scores import Scores
from rightreasons.models import Prompt, Prompted, as_scorer, load_classifier, load_multiple_choice
from rightreasons.models.choices import load_causal, load_language_model
from rightreasons.models.local import LocalEngine
from rightreasons.testing import check_scorer
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
        lambda: changed(lambda s, texts: dataclasses.replace(s, logits=s.logits + len(texts) / 10)),
        "the same scores when asked of item 0 alone, but got 'a difference of 0.4'",
    ),
    "the order changes it": (
        lambda: changed(lambda s, texts: dataclasses.replace(s, logits=s.logits + len(texts[0]) / 9)),
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
