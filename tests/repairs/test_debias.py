"""Corrections of answer priors on held-out items, of scripted models whose priors are known."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import rightreasons
from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate
from rightreasons.core.intervals import Interval
from rightreasons.core.scores import Scores
from rightreasons.core.significance import PairedTest
from rightreasons.probes.corrected import CorrectedScorer
from rightreasons.probes.corrections import PriorCorrection
from rightreasons.repairs.debias import _fit_position_corrections
from rightreasons.repairs.prior_effects import (
    CorrectionEffect,
    QuestionScores,
    list_correction_criteria,
    measure_effect,
)

N_ITEMS = 170
WORDS = "apple brick cloud dune ember frost grape hazel ivory jade".split()


def make_items(share_led=0.0, share_told=1.0):
    """Items whose question repeats the word of one choice, while another word, "surely", is in one of them, too.

    Args:
        share_led: Share of the items with "surely" in the correct choice; in the others it is in an incorrect one.
        share_told: Share of the items whose question repeats the word of the correct choice.
    """
    rng = np.random.default_rng(3)
    rows = []
    for number in range(N_ITEMS):
        words = rng.choice(WORDS, 3, replace=False).tolist()
        label = int(rng.integers(3))
        wrong = (label + 1 + int(rng.integers(2))) % 3
        surely = label if rng.random() < share_led else wrong
        told = label if rng.random() < share_told else wrong
        choices = [f"{word} {number}" for word in words]
        choices[surely] = f"surely {choices[surely]}"
        prompt = f"Which is the {words[told]} of {number}?"
        rows.append({"id": f"i{number}", "prompt": prompt, "choices": choices, "label": label})
    return {name: [row[name] for row in rows] for name in rows[0]}


class PriorScorer:
    """A scorer whose score is 4 for "surely" and 3 for a word of the question."""

    name = "scripted"
    label_names = None
    abilities = frozenset()
    fingerprint = "scripted"

    def __init__(self, joint=False):
        self.joint = joint

    def describe(self):
        return {}

    def predict(self, texts, **keeping):
        raise NotImplementedError

    def choose(self, prompts, choices, *, ids=None, labels=None, progress=True, out=None):
        rows = []
        for prompt, texts in zip(prompts, choices, strict=True):
            words = [text.split() for text in texts]
            row = [4.0 * ("surely" in each) + 3.0 * (each[-2] in prompt) for each in words]
            # A scorer that sees all choices prefers the first one, too.
            row[0] += 0.5 * self.joint
            rows.append(np.array(row))
        logits = Ragged.of(np.concatenate(rows), [len(row) for row in rows]).table()
        names = [str(name) for name in (ids if ids is not None else range(len(prompts)))]
        return Scores(tuple(names), logits)


@pytest.fixture(scope="module")
def corrected(tmp_path_factory):
    out = tmp_path_factory.mktemp("debias") / "out"
    return rightreasons.debias(PriorScorer(), make_items(), out=out, progress=False)


def test_a_misleading_prior_is_corrected(corrected):
    # "surely" is always wrong and outweighs the question: accuracy 0, and every answer stays.
    assert corrected.before.accuracy.value == 0
    assert corrected.before.kept.value == 1
    # Without it the question decides, and the answer to another one is another word or none.
    assert corrected.after.accuracy.value == 1
    assert corrected.after.kept.value < 0.6
    assert corrected.recommended
    assert corrected.n_fit == 56
    assert corrected.n_items == 114


def test_the_saved_correction_makes_a_scorer_that_every_audit_takes(corrected, tmp_path):
    correction = rightreasons.load_prior_correction(corrected.out / "correction.json")

    assert correction == corrected.correction
    result = rightreasons.audit(
        CorrectedScorer(PriorScorer(), correction),
        make_items(),
        questions=["probes"],
        out=tmp_path / "report",
        progress=False,
    )
    # Without a question all choices tie, and the first one is taken.
    assert result["probes.lost_without_question"].estimate.value > 0.5


def test_page_and_record_hold_the_decision(corrected):
    record = json.loads((corrected.out / "audit.json").read_text("utf-8"))
    headlines = record["questions"][0]["result"]["headlines"]

    assert record["questions"][0]["result"]["verdict"]["label"] == "Corrected"
    assert {row["key"] for row in headlines} >= {"kept", "kept_before", "accuracy"}
    text = corrected.page.read_text("utf-8")
    assert "The model scores each choice alone" in text
    assert rightreasons.gate(corrected.out, ["debias.recommended < 1"]).passed


def test_a_prior_that_carries_accuracy_is_not_removed(tmp_path):
    # "surely" is correct in 9 of 10 items, and the question names the correct word in one of three.
    items = make_items(share_led=0.9, share_told=1 / 3)

    result = rightreasons.debias(PriorScorer(), items, out=tmp_path / "out", progress=False)

    # The fit keeps the prior, so that the answers stay as they were.
    assert result.correction.strength < 0.1
    assert result.after.kept_test.difference == 0
    assert result.recommended is False


def test_a_scorer_that_sees_all_choices_gets_the_corrections_of_the_papers(tmp_path):
    result = rightreasons.debias(
        PriorScorer(joint=True), make_items(), out=tmp_path / "out", progress=False
    )

    # Under the orders every text is at every place, so that 0.5 at the first is all that is left:
    # e^0.5 / (e^0.5 + 2) = 0.452.
    prior = result.effects["positions"].correction.prior
    assert prior == pytest.approx([0.4519, 0.2741, 0.2741], abs=1e-3)
    # No position can undo a word.
    assert result.effects["positions"].accuracy.value == 0
    assert set(result.effects) == {"per_item", "positions", "content_free"}


def test_the_order_of_the_data_changes_nothing(corrected, tmp_path):
    items = make_items()
    order = np.random.default_rng(0).permutation(N_ITEMS).tolist()
    shuffled = {name: [values[row] for row in order] for name, values in items.items()}

    result = rightreasons.debias(PriorScorer(), shuffled, out=tmp_path / "out", progress=False)

    assert result.correction.strength == pytest.approx(corrected.correction.strength)
    assert result.after.kept.value == corrected.after.kept.value


def test_too_few_items_are_refused_before_the_model_is_asked(tmp_path):
    items = {name: values[:100] for name, values in make_items().items()}

    with pytest.raises(OptionError, match="fit on") as error:
        rightreasons.debias(PriorScorer(), items, out=tmp_path / "out", progress=False)

    assert error.value.option == ("fit_share",)
    assert not (tmp_path / "out").exists()


def test_an_effect_counts_the_answers_that_another_question_keeps():
    # Log-odds of the first choice: with the question, without it, with another one.
    question = [(2.0, 0.0), (0.5, 0.0), (-1.0, 0.0)]
    without = [(1.0, 0.0), (1.0, 0.0), (1.0, 0.0)]
    another = [(0.5, 0.0), (2.0, 0.0), (1.5, 0.0)]
    scores = QuestionScores(
        *(Ragged.of_table(np.array(table)) for table in (question, without, another)),
        labels=np.array([0, 1, 1]),
    )

    effect = measure_effect(scores, PriorCorrection("per_item", 1.0, 1.0, 0))

    # 2 - 1, 0.5 - 1 and -1 - 1 choose 0, 1 and 1: all correct, one more than 0, 0 and 1 as they are.
    assert effect.accuracy.value == 1
    assert effect.accuracy_test.difference == pytest.approx(1 / 3)
    # With another question 0.5 - 1, 2 - 1 and 1.5 - 1 choose 1, 0 and 0: none stays; as they are, 0, 0 and 0: two.
    assert effect.kept.value == 0
    assert effect.kept_test.difference == pytest.approx(-2 / 3)


def make_effect(beyond_low=0.3, accuracy_change=0.0, kept_high=-0.1):
    estimate = Estimate(0.5, 0.4, 0.6, 0.95)
    return CorrectionEffect(
        correction=PriorCorrection("per_item", 1.0, 1.0, 0),
        accuracy=estimate,
        kept=estimate,
        beyond_chance=Estimate(beyond_low + 0.1, beyond_low, beyond_low + 0.2, 0.95),
        by_chance=0.5,
        calibration_error=0.1,
        accuracy_test=PairedTest(accuracy_change, 0.5, 100, "test"),
        kept_test=PairedTest(-0.2, 0.01, 100, "test", Interval(-0.3, kept_high, 0.95, "test")),
    )


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({}, []),
        ({"beyond_low": 0.09}, ["prior"]),
        ({"accuracy_change": -0.02}, []),
        ({"accuracy_change": -0.03}, ["accuracy"]),
        ({"kept_high": 0.01}, ["kept"]),
    ],
)
def test_each_condition_can_fail(changes, failed):
    effect = make_effect(**changes)

    criteria = list_correction_criteria(effect, effect)

    assert [row.name for row in criteria if not row.is_met] == failed


@pytest.mark.parametrize(
    ("lengths", "is_joint", "words"),
    [([2, 2, 2], False, "each choice alone"), ([2, 3, 2], True, "different numbers")],
)
def test_a_prior_of_positions_needs_equal_lists_that_are_seen_together(lengths, is_joint, words):
    fit = SimpleNamespace(question=SimpleNamespace(lengths=np.array(lengths)))

    corrections, reasons = _fit_position_corrections(None, fit, None, is_joint=is_joint)

    assert corrections == {}
    assert list(reasons) == ["positions", "content_free"]
    assert all(words in reason for reason in reasons.values())
