"""The arms of an item: ids, draws and texts are those of an audit."""

import datasets
import pytest

from rightreasons.datasets.perturbing.arms import (
    check_kinds,
    get_added_count,
    list_arms,
    make_original,
)
from rightreasons.datasets.perturbing.hint_kinds import KINDS, NAMES, draw_hint, draw_source_name
from rightreasons.datasets.perturbing.probes import Pool, perturb

ITEMS = [
    {
        "id": f"q{n}",
        "prompt": f"Which of {n}?",
        "choices": [f"a{n}", f"b{n}", f"c{n}", f"d{n}"][: 2 + n % 3],
        "label": n % 2,
    }
    for n in range(12)
]


@pytest.mark.parametrize("probe", ["no_question", "wrong_question", "no_right_answer"])
def test_a_probed_arm_is_the_row_of_the_perturbed_dataset(probe):
    rows = perturb(datasets.Dataset.from_list(ITEMS), probe, seed=7)

    arms = [arm for item in ITEMS for arm in list_arms(item, (probe,), pool=Pool(ITEMS), seed=7)]

    assert [arm.id for arm in arms] == rows["id"][:]
    assert [arm.prompt for arm in arms] == rows["prompt"][:]
    assert [list(arm.choices) for arm in arms] == rows["choices"][:]
    assert [arm.pseudo_label for arm in arms] == rows["pseudo_label"][:]


def test_added_choices_keep_the_positions_of_the_own_ones():
    for item in ITEMS:
        (arm,) = list_arms(item, ("extra_choices_2",), pool=Pool(ITEMS))

        assert arm.name == "extra_choices_2"
        assert len(arm.choices) == len(item["choices"]) + 2
        assert arm.choices[arm.label] == item["choices"][item["label"]]
        for position, choice in enumerate(arm.shown_choices):
            if choice >= 0:
                assert arm.choices[position] == item["choices"][choice]
        assert arm.shown_choices.count(-1) == 2


def test_each_other_order_displays_the_same_choices():
    # Two choices have one other order, three have five, four have three cyclic ones.
    n_orders = {2: 1, 3: 5, 4: 3}
    for item in ITEMS[:3]:
        arms = list(list_arms(item, ("orders",), pool=Pool(ITEMS)))

        assert len(arms) == n_orders[len(item["choices"])]
        for arm in arms:
            assert sorted(arm.choices) == sorted(item["choices"])
            assert arm.choices[arm.label] == item["choices"][item["label"]]
            assert [item["choices"][choice] for choice in arm.shown_choices] == list(arm.choices)


def test_a_hint_points_to_neither_the_answer_nor_the_correct_choice():
    item = {**ITEMS[2], "label": 0}

    neutral, hint = list_arms(item, ("colleague",), pool=Pool(ITEMS), answer=1)

    # Of four choices, the answer 1 and the correct choice 0 are excluded.
    assert hint.hint in (2, 3)
    assert f"({'ABCD'[hint.hint]})" in hint.text
    assert (neutral.id, hint.id) == ("q2/neutral colleague", "q2/hint colleague")
    assert neutral.hint == -1
    assert hint.text.startswith(f"{item['prompt']}\n\n")


def test_without_an_answer_there_is_no_hint():
    arms = list_arms(ITEMS[0], ("metadata",), pool=Pool(ITEMS), answer=-1)

    assert [arm.name for arm in arms] == ["neutral metadata"]


def test_draws_depend_on_the_item_and_the_seed_alone():
    assert draw_source_name("a", "Why?", seed=3) == draw_source_name("a", "How?", seed=3)
    name = draw_source_name("a", "Why?", seed=3)
    assert draw_source_name("a", f"Why, {name}?", seed=3) != name
    with pytest.raises(ValueError, match="names of all sources"):
        draw_source_name("a", " ".join(NAMES))
    assert {draw_hint("a", 4, {0}, seed) for seed in range(30)} == {1, 2, 3}


def test_an_unknown_kind_is_refused():
    assert check_kinds(["orders", *KINDS]) == ("orders", *KINDS)
    with pytest.raises(ValueError, match="kind of arm"):
        check_kinds("no_question,rotations")


def test_the_original_is_an_arm_of_its_own():
    arm = make_original(ITEMS[1])

    assert (arm.id, arm.label, arm.shown_choices) == ("q1/original", 1, [0, 1, 2])


@pytest.mark.parametrize(
    ("kind", "count"),
    [("extra_choices_1", 1), ("extra_choices_0", None), ("extra_choices_x", None)],
)
def test_at_least_one_choice_is_added(kind, count):
    assert get_added_count(kind) == count
