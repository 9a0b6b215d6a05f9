"""The causal shortcut rate by hand: three classes, two removals that disagree, cues of unequal counts."""

import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.causal import causal_shortcuts

A, B, C = [0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]
BEFORE = [A, A, B, C, A]
CUES = ["who", "what", "who", "who", "what"]
DELETE = [B, A, A, C, C]  # changes 0, 2, 4
SWAP = [B, A, B, B, A]  # changes 0, 3
CONTROL = {"delete": [A, B, B, C, A], "swap": [A, A, B, C, A]}  # delete changes 1


@pytest.fixture(scope="module")
def result():
    return causal_shortcuts(
        BEFORE, {"delete": DELETE, "swap": SWAP}, CONTROL, CUES, resampling=Resampling(resamples=99)
    )


def test_rates(result):
    # Five of ten predictions change without the cue, one of ten without the control word.
    assert (result.causal_shortcut_rate, result.removal.control_rate) == (0.5, 0.1)
    assert result.removal.excess == pytest.approx(0.4)
    assert [result.removals[name].rate for name in ("delete", "swap")] == [0.6, 0.4]
    assert [result.removals[name].excess for name in ("delete", "swap")] == pytest.approx([0.4, 0.4])


def test_confidence(result):
    # delete: .8-.2, 0, .7-.1, 0, .8-.1 = 1.9 for the cue, .8-.2 = .6 for the control; swap: .6 + (.6-.1) = 1.1, and 0.
    assert result.removals["delete"].confidence == pytest.approx((1.9 - 0.6) / 5)
    assert result.removal.confidence == pytest.approx((1.9 - 0.6 + 1.1) / 10)


def test_cues(result):
    # who: items 0, 2, 3, changes 1 and 1, 1 and 0, 0 and 1 of two removals; what: item 4 once, control of item 1 once.
    effects = {cue.cue: cue.effect for cue in result.cues}
    assert list(effects) == ["what", "who"]
    assert (effects["who"].n_items, effects["who"].rate) == (3, pytest.approx(4 / 6))
    assert (effects["what"].rate, effects["what"].control_rate, effects["what"].excess) == (0.25, 0.25, 0)


def test_one_control_word_per_item():
    # Items 0, 3, 4 lose their control word by deletion (no change, no change, A to B), 1 and 2 by swapping (2 changes).
    result = causal_shortcuts(
        BEFORE,
        {"delete": DELETE, "swap": SWAP, "mask": SWAP},
        [A, A, A, C, B],
        CUES,
        control_removals=["delete", "swap", "swap", "delete", "delete"],
        resampling=Resampling(resamples=99),
    )
    # Cue: 3 + 2 + 2 of 15. Control: 2 of 5. Over items: 1, 0, 1/3 - 1, 2/3, 1/3 - 1 = 1/3 of 5.
    assert (result.causal_shortcut_rate, result.removal.control_rate) == (pytest.approx(7 / 15), 0.4)
    assert result.removal.excess == pytest.approx(7 / 15 - 0.4)
    # Removed alike, cue and control word differ in item 0 alone: 1, 0, 0 - 1, 0, 1 - 1, of which two may be flipped.
    assert result.removal.p_value == 1
    # Deleted are items 0, 3, 4: the cue changes 0 and 4, the control 4. Swapped 1 and 2: none, and 2.
    delete, swap = result.removals["delete"], result.removals["swap"]
    assert (delete.n_items, delete.rate, delete.control_rate) == (3, pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert (swap.n_items, swap.rate, swap.control_rate, swap.excess) == (2, 0, 0.5, -0.5)
    assert list(result.removals) == ["delete", "swap"]
    # who: items 0, 2, 3 with 3, 1, 2 changes of 9; the controls of 2 alone.
    (who,) = (cue.effect for cue in result.cues if cue.cue == "who")
    assert (who.rate, who.control_rate) == (pytest.approx(6 / 9), pytest.approx(1 / 3))


def test_insertion():
    # Of four texts, cue labels 1, 1, 2, 0: with the cue 1, 0, 2, 0 are predicted; the last was 0 before.
    inserted = ([A, A, A, A], [B, A, C, A], [A, B, A, A], [1, 1, 2, 0])
    effect = causal_shortcuts(
        BEFORE, {"delete": DELETE}, {"delete": CONTROL["delete"]}, CUES, inserted=inserted
    ).insertion
    assert (effect.n_items, effect.rate, effect.control_rate, effect.excess) == (4, 0.5, 0.25, 0.25)
    # P(label of the cue): .1 to .7, .1 to .1, .1 to .6, .8 to .8; with the control .1 to .1, .1 to .7, 0, 0.
    assert effect.confidence == pytest.approx((0.6 + 0.5 - 0.6) / 4)


@pytest.mark.parametrize(
    ("cue_rate", "control_rate", "n_items", "conclusion"),
    [
        (0.6, 0.1, 40, "cues decide"),
        (0.02, 0.02, 400, "cues do not decide"),
        (0.2, 0.1, 40, "cannot tell"),
        (0.3, 0.1, 100, "cues decide"),
        (0.06, 0.02, 100, "cannot tell"),
        (1.0, 0.0, 19, "cannot tell"),
        (0.03, 0.01, 2000, "cues do not decide"),  # +2 points [1.1, 2.9]: there, and too small to speak of
    ],
)
def test_conclusions(cue_rate, control_rate, n_items, conclusion):
    def table(rate):
        return [B if item < rate * n_items else A for item in range(n_items)]

    result = causal_shortcuts(
        [A] * n_items, {"mask": table(cue_rate)}, {"mask": table(control_rate)[::-1]}, ["x"] * n_items
    )
    assert result.conclusion == conclusion
    assert f"{n_items} predictions with a cue" in result.reason


def test_no_change_at_all_leaves_a_width():
    result = causal_shortcuts([A] * 30, {"mask": [A] * 30}, {"mask": [A] * 30}, ["x"] * 30)
    assert result.removal.excess_interval.low < 0 < result.removal.excess_interval.high
    assert result.removal.p_value == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"without_cue": {}}, "at least one, but got none"),
        ({"without_control": {"swap": SWAP}}, "got delete and swap"),
        ({"without_cue": {"delete": DELETE[:4]}}, r"Expected `without_cue\['delete'\]` of shape"),
        ({"cues": CUES[:4]}, "`probabilities` and `cues`"),
        ({"inserted": ([A], [B], [B], [3])}, "labels"),
        ({"without_control": DELETE, "control_removals": ["delete"] * 4 + ["burn"]}, r"\(delete\), but got 'burn'"),
        ({"without_control": DELETE, "control_removals": ["delete"] * 4}, "`probabilities` and `control_removals`"),
        ({"without_control": DELETE[:4], "control_removals": ["delete"] * 5}, "Expected `without_control` of shape"),
    ],
)
def test_refuses(change, sentence):
    arguments = {"without_cue": {"delete": DELETE}, "without_control": {"delete": CONTROL["delete"]}, "cues": CUES}
    with pytest.raises(ValueError, match=sentence):
        causal_shortcuts(BEFORE, **{**arguments, **change})


def test_is_plain():
    import json

    json.dumps(causal_shortcuts(np.array(BEFORE), {"delete": DELETE}, {"delete": CONTROL["delete"]}, CUES).to_dict())


def test_the_removals_are_told_first_where_they_show_an_effect():
    stays, changes = [0.9, 0.1], [0.2, 0.8]
    texts = [stays] * 40
    # Half of the predictions change without the cue; all change when one is put in, which alone would prove less.
    result = causal_shortcuts(
        texts, {"delete": [changes] * 20 + [stays] * 20}, {"delete": texts}, ["copper"] * 40,
        inserted=(texts, [changes] * 40, texts, [1] * 40),
    )  # fmt: skip
    assert result.insertion.excess > result.removal.excess > 0
    assert result.conclusion == "cues decide"
    assert result.reason.startswith("Of 40 predictions with a cue, 50.0% change without it")
    # Where they show none, the insertion is.
    result = causal_shortcuts(
        texts, {"delete": texts}, {"delete": texts}, ["copper"] * 40, inserted=(texts, [changes] * 40, texts, [1] * 40)
    )
    assert result.reason.startswith("Of 40 predictions, 100.0% become another label")
