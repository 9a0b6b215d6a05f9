"""Items of behavioral learning, and the order in which a training takes them."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.behavior.learning.items import (
    IID,
    TYPES,
    aligned_positions,
    describe,
    iid_items,
    join_items,
    label_targets,
    locate,
    plan_steps,
    question_items,
    reading_items,
    suite_items,
)
from rightreasons.behavior.learning.methods import RULES
from rightreasons.datasets.suites.suite import Case, Suite
from tiny_suites import behavior_suite, functionality


def make_items(n_items, **options):
    """Return independent items with distinct texts."""
    texts = [f"text {number}" for number in range(n_items)]
    return iid_items(texts, [number % 2 for number in range(n_items)], **options)


def make_pairs(n_pairs, n_changed=2):
    """Return pairs of an original and its changed texts."""
    cases = []
    for number in range(n_pairs):
        texts = [f"original {number}"] + [f"version {number} {k}" for k in range(n_changed)]
        cases.append(Case(str(number), tuple((text,) for text in texts)))
    suite = behavior_suite()
    pair_functionality = functionality("inv", "INV", {"name": "invariant"}, cases)
    return suite_items(Suite(suite.name, suite.text_columns, (pair_functionality,)))


@pytest.mark.parametrize(
    ("label", "treatment"), [(2, "classes"), (3, "sentiment"), (-1, "classes"), ("x", "sentiment")]
)
def test_an_unknown_label_is_refused(label, treatment):
    with pytest.raises(ValueError, match="from 0 to"):
        label_targets([0, label], treatment=treatment)


def test_targets_of_labels_sum_to_one():
    targets = label_targets([0, 1, 2, "not negative"], treatment="sentiment")

    np.testing.assert_allclose(targets, [[1, 0], [0.5, 0.5], [0, 1], [1 / 3, 2 / 3]])
    assert label_targets([]).shape == (0, 2)
    with pytest.raises(ValueError, match="from 0 to 1"):
        label_targets([2])


def test_independent_items_have_one_environment():
    items = make_items(3, text_pairs=["a", "b", "c"])

    assert items.environments == (IID,)
    assert items.first.tolist() == items.changed.tolist() == [0, 1, 2]
    assert items.n_changed.tolist() == [0, 0, 0]
    assert set(items.rule) == {RULES.index("labeled")}
    assert set(items.type) == {TYPES.index("iid")}
    assert items.targets.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert items.text_pairs == ["a", "b", "c"]


def test_joined_items_have_separate_texts_and_environments():
    items = join_items(make_items(3), make_pairs(2))

    assert len(items) == 5
    assert items.first.tolist() == [0, 1, 2, 3, 6]
    assert items.changed.tolist() == [0, 1, 2, 4, 7]
    assert items.environment.tolist() == [0, 0, 0, 1, 1]
    assert items.holds_out({"inv"}).tolist() == [False] * 3 + [True] * 2
    assert items.select(np.array([4, 0])).first.tolist() == [6, 0]
    assert items.text_pairs is None
    pairs = join_items(make_items(1, text_pairs=["a"]), make_items(1, text_pairs=["b"]))
    assert pairs.text_pairs == ["a", "b"]
    with pytest.raises(ValueError, match="two texts"):
        join_items(make_items(1), make_items(1, text_pairs=["a"]))


@pytest.mark.parametrize(
    ("batch_size", "epochs", "sizes"),
    [(4, 1, [2, 4, 4]), (4, 2, [2, 2, 4, 4, 4, 4]), (5, 0.5, [5]), (10, 1, [10]), (20, 0.1, [10])],
)
def test_an_epoch_has_each_item_once(batch_size, epochs, sizes):
    steps = plan_steps(
        make_items(10), objective="mean", batch_size=batch_size, epochs=epochs, seed=0
    )

    assert sorted(map(len, steps)) == sizes
    if epochs == 1:
        assert sorted(item for step in steps for item, _ in step) == list(range(10))
    # A labeled item shows its own text.
    assert all(item == text for step in steps for item, text in step)


def test_a_pair_counts_as_two_texts_and_shows_a_version():
    items = make_pairs(6, n_changed=3)

    steps = plan_steps(items, objective="mean", batch_size=4, epochs=20, seed=0)

    # Six pairs in batches of two, for 20 epochs.
    assert [len(step) for step in steps] == [2] * 60
    shown = {(item, text - items.changed[item]) for step in steps for item, text in step}
    assert shown == {(item, version) for item in range(6) for version in range(3)}
    assert len(plan_steps(items, objective="mean", batch_size=1, epochs=1, seed=0)) == 6


@pytest.mark.parametrize("objective", ["mean", "irm", "dro", "fish"])
def test_steps_depend_on_the_seed_alone(objective):
    items = join_items(make_items(8), make_pairs(4))
    options = {"objective": objective, "batch_size": 4, "epochs": 3}

    steps = plan_steps(items, seed=1, **options)

    assert steps == plan_steps(items, seed=1, **options)
    assert steps != plan_steps(items, seed=2, **options)


def test_batches_of_an_objective_have_one_or_all_environments():
    items = join_items(make_items(8), make_pairs(4))

    def list_environments(objective):
        steps = plan_steps(items, objective=objective, batch_size=4, epochs=2, seed=0)
        return [sorted({int(items.environment[item]) for item, _ in step}) for step in steps]

    # Two batches of each environment per epoch; those of "irm" are joined.
    assert list_environments("irm") == [[0, 1]] * 4
    for objective in ("mean", "dro", "fish"):
        environments = list_environments(objective)
        assert len(environments) == 8
        assert all(len(names) == 1 for names in environments)
    # Two batches in a row of "fish" are of different environments.
    fish = list_environments("fish")
    assert all(fish[index] != fish[index + 1] for index in range(0, 8, 2))


@pytest.mark.parametrize(("objective", "batch_size"), [("mean", 0), ("dro", -1)])
def test_batches_have_a_positive_size(objective, batch_size):
    with pytest.raises(ValueError, match="batch_size"):
        plan_steps(make_items(4), objective=objective, batch_size=batch_size, epochs=1, seed=0)


def test_without_items_nothing_is_planned():
    with pytest.raises(ValueError, match="held out"):
        plan_steps(make_items(0), objective="mean", batch_size=4, epochs=1, seed=0)


def test_a_text_of_a_batch_is_read_once():
    items = join_items(make_items(3), make_pairs(2))

    texts, batch = describe(items, [(1, 1), (3, 5), (0, 0)])

    # The texts 0 and 1, and the original 3 with its second version.
    assert texts.tolist() == [0, 1, 3, 5]
    assert batch["first"].tolist() == [1, 2, 0]
    assert batch["second"].tolist() == [1, 3, 0]
    assert batch["targets"].tolist() == [[0, 1], [0, 0], [1, 0]]
    assert batch["environment"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("answer", "context", "start"),
    [
        ("Ann", "Ann met Bo.", 0),
        ("Ann", "Annabel met Ann.", 12),
        # Without whole words, the first occurrence.
        ("Ann", "Joann, Annabel", 7),
        ("Bo", "Ann", -1),
        ("(x)", "f(x) = (x)", 7),
    ],
)
def test_an_answer_is_found_as_a_whole_word(answer, context, start):
    assert locate(answer, context) == start


def test_questions_have_spans_of_characters():
    answers = [{"text": ["Ann"], "answer_start": [4]}]

    items = question_items(["Who?"], ["Hi, Ann."], answers)

    assert items.targets.tolist() == [[4, 7]]
    assert items.text_pairs == ["Hi, Ann."]


def test_questions_without_their_answer_are_left_out():
    cases = [
        Case("0", (("Who?", "Ann met Bo."),), labels=("Bo",)),
        Case("1", (("Who?", "Nobody."),), labels=("Bo",)),
        Case("2", (("Who?", "Nobody."),), labels=(-1,)),
        Case("3", (("Who?", "Ann."),), labels=("Ann",)),
    ]
    mft = functionality("mft", "MFT", {"name": "equal"}, cases)
    suite = Suite("reading", ("question", "context"), (mft,))

    items = reading_items(suite)

    assert items.first.tolist() == [0, 3]
    assert items.targets.tolist() == [[8, 10], [0, 3]]


def test_tokens_that_two_texts_share_are_aligned():
    first, second = aligned_positions([1, 7, 8, 2], [1, 9, 7, 2])

    assert (first.tolist(), second.tolist()) == ([0, 1, 3], [0, 2, 3])
    first, second = aligned_positions([1], [2])
    assert (first.tolist(), second.tolist()) == ([], [])
