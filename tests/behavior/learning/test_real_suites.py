"""CheckList's released suites as training items, counted against the suites' published case counts."""

import numpy as np
import pytest

from rightreasons.behavior.learning.items import TYPES, reading_items, suite_items
from rightreasons.behavior.learning.methods import RULES
from rightreasons.datasets.suites.suite import open_suite

pytestmark = pytest.mark.real_data


def test_sentiment(real_data):
    items = suite_items(open_suite("checklist_sentiment", data_dir=real_data, known_issues=False))
    assert np.bincount(items.type, minlength=4).tolist() == [
        0,
        68912,
        8140,
        9368,
    ]  # one an MFT, one a pair's case
    assert len(items.texts) == 178578
    by_rule = dict(zip(RULES, np.bincount(items.rule, minlength=len(RULES)).tolist(), strict=True))
    assert by_rule == {
        "labeled": 68912,
        "invariant": 8140,
        "not_more_conf": 2000 + 4368,  # reducers, "used to" should reduce
        "not_less_conf": 2000,  # intensifiers
        "not_less_0": 500,
        "not_less_2": 500,
    }
    soft = np.isclose(items.targets[items.type == TYPES.index("MFT"), 0], 1 / 3).sum()
    assert soft == 6786 + 2124 + 1000  # the three functionalities of "not negative"


def test_paraphrases(real_data):
    suite = open_suite(
        "checklist_paraphrase", data_dir=real_data, known_issues=False, paper_labels=True
    )
    items = suite_items(suite, labels="classes")
    assert set(items.rule.tolist()) == {RULES.index("labeled"), RULES.index("invariant")}
    assert (items.rule == RULES.index("invariant")).sum() == 3677 - 326  # one INV becomes an MFT
    where = items.holds_out(("Keep entitites, fill in with gibberish",))
    assert where.sum() == 4649 - 500  # the original of each case is asked nothing
    assert set(items.targets[where].argmax(1).tolist()) == {0}


def test_reading(real_data):
    suite = open_suite("checklist_reading", data_dir=real_data, known_issues=False)
    items = reading_items(suite)
    assert len(items.texts) == 71293
    pairs = items.rule == RULES.index("invariant")
    # cases of the five INV functionalities; their examples are 2 * 500, 1005, 3 * 500, 11 * 500 and 11 * 500
    assert pairs.sum() == 2500
    assert items.n_changed.sum() == 1000 + 1005 + 1500 + 5500 + 5500 - 2500
    # every other example has an answer, and every context contains its answer
    assert (~pairs).sum() == 71293 - 14505
    first, last = items.targets[0].astype(int)
    assert items.text_pairs[0][first:last] == suite.functionalities[0].cases[0].labels[0]


def test_a_suite_of_reading_is_none_for_a_classifier(real_data):
    with pytest.raises(ValueError, match="sentiment from"):
        suite_items(open_suite("checklist_reading", data_dir=real_data))
