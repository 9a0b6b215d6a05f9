"""The probes on one scorer: tables in one order, one call, and figures that tell dilution from paralysis."""

import json

import datasets
import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.core.validation import as_ragged
from rightreasons.datasets.perturbing.arms import name_extra_choices
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.probes.measure import (
    WITHOUT_ANSWER,
    count_spare_choices,
    measure_option_order,
    measure_probes,
    probe_tables,
)


def items(n=40, sizes=(3,)):
    return datasets.Dataset.from_list(
        [
            {
                "id": f"i{i}",
                "prompt": f"question {i}",
                "choices": [f"answer {i} {j}" for j in range(sizes[i % len(sizes)])],
                "label": i % 2,
            }
            for i in range(n)
        ]
    )


def by_pair(prompts, choices, ids):
    """Score each pair by itself: the right choices of `items` after their own question, noise elsewhere."""
    rows = []
    for prompt, row in zip(prompts, choices, strict=True):
        scores = []
        for choice in row:
            number, place = choice.split()[1:]
            own = prompt == f"question {number}" and int(place) == int(number) % 2
            scores.append(2.0 * own + (hash_of(choice) % 100) / 200)
        rows.append(scores)
    return rows


def hash_of(text):
    return sum(ord(letter) * 31**index for index, letter in enumerate(text)) % 10_007


def confused(prompts, choices, ids):
    """Score jointly: the more choices there are, the flatter the scores."""
    return [[score * 3 / len(row) for score in row] for row in by_pair(prompts, choices, ids)]


def test_a_scorer_of_pairs_shows_dilution_alone():
    scores = probe_tables(items(), ks=(1, 4)).scored_by(by_pair)
    assert len(scores) == 40
    assert set(scores.tables) == {
        ORIGINAL,
        *WITHOUT_ANSWER,
        name_extra_choices(1),
        name_extra_choices(4),
    }
    found = measure_probes(scores, resampling=Resampling(resamples=100))
    assert found.accuracy == 1.0
    for k in (1, 4):
        assert found.paralysis[k].restricted_drop.mean == pytest.approx(0, abs=1e-12)
        assert found.paralysis[k].choice_paralysis > 0.02
    # Without its question it does not know the answer: the pseudo-correct choice is picked at chance, 1/3.
    pseudo = found.prior_bias["no_question"].pseudo_correct
    assert pseudo.chance == pytest.approx(1 / 3)
    assert pseudo.p_value > 0.01
    assert found.prior_bias["no_right_answer"].pseudo_correct is None
    assert found.prior_bias["wrong_question"].prior_bias < found.original.prior_bias
    json.dumps(found.to_dict())


def test_a_joint_scorer_shows_paralysis_beyond_dilution():
    scores = probe_tables(items(), ks=(1, 4)).scored_by(confused)
    found = measure_probes(scores, resampling=Resampling(resamples=100))
    one, four = found.paralysis[1], found.paralysis[4]
    assert 0.02 < one.restricted_drop.mean < four.restricted_drop.mean
    assert four.restricted_drop.t_p_value < 1e-6


def test_scores_stay_with_their_items():
    scores = probe_tables(items(30, sizes=(2, 4)), ks=(2,)).scored_by(by_pair)
    for name, table in scores.tables.items():
        want = by_pair(table["prompt"][:], table["choices"][:], None)
        assert [list(row) for row in scores.logits[name]] == want
        sources = table["id"][:] if name == ORIGINAL else table["source_id"][:]
        assert sources == [f"i{i}" for i in range(30)]
    assert measure_probes(scores, resampling=Resampling(resamples=50)).position_bias is None


def test_items_that_cannot_be_probed_are_left_out_and_counted():
    rows = [*items(10)]
    rows[2]["label"] = -1
    rows[3]["choices"] = ["same", "same", "other"]
    tables = probe_tables(datasets.Dataset.from_list(rows), ks=(1,))
    assert tables.n_dropped == 2
    assert tables.tables[ORIGINAL]["id"][:] == [f"i{i}" for i in (0, 1, 4, 5, 6, 7, 8, 9)]
    with pytest.raises(ValueError, match="items with a label to probe"):
        probe_tables(datasets.Dataset.from_list([rows[2]]))
    with pytest.raises(ValueError, match="choices of other items to borrow"):
        probe_tables(items(2), ks=(8,))


def first_position(prompts, choices, ids):
    """Knows the answer, but leans on the first position so far that it wins everywhere."""
    return [
        [score + 4.0 * (j == 0) for j, score in enumerate(row)]
        for row in right(prompts, choices, ids)
    ]


def right(prompts, choices, ids):
    return [
        [
            2.0 * (choice == f"answer {prompt.split()[-1]} {int(prompt.split()[-1]) % 2}")
            for choice in row
        ]
        if prompt.startswith("question")
        else [0.0] * len(row)
        for prompt, row in zip(prompts, choices, strict=True)
    ]


def test_orders_of_a_scorer_that_leans_on_a_position():
    data = items(40)
    found = measure_option_order(data, first_position)
    assert found.consistency == 0.0
    assert found.n_estimation == 10
    assert found.prior[0] > 0.9
    assert found.prior_intervals[0].low < found.prior[0] < found.prior_intervals[0].high
    sound = measure_option_order(data, right)
    assert sound.consistency == 1.0
    assert sound.prior == pytest.approx([1 / 3] * 3)


def test_the_prior_of_a_sorted_file_is_that_of_all_items():
    data = items(40)

    def lean_by_number(prompts, choices, ids):
        # The first quarter of the file prefers the first position, all other items the last one.
        return [
            [3.0, 0.0, 0.0] if int(prompt.split()[-1]) < 10 else [0.0, 0.0, 3.0]
            for prompt in prompts
        ]

    figures = measure_option_order(data, lean_by_number)

    # A random quarter of the items has 2.5 of the 10 items of the first quarter of the file, 7 or more
    # with a probability below 1 %. A softmax of (3, 0, 0) is 0.91 at its position, elsewhere 0.05.
    assert figures.n_estimation == 10
    assert figures.prior[0] < 0.5 < figures.prior[2]
    shuffled = measure_option_order(data.shuffle(seed=1), lean_by_number)
    assert shuffled.prior == pytest.approx(figures.prior, abs=1e-12)


def test_orders_need_one_number_of_choices():
    data = items(10, sizes=(2, 3))
    with pytest.raises(ValueError, match="10 with 2, 3"):
        measure_option_order(data, right)


def test_spare_choices_are_counted_without_case():
    # Four different texts; the longest row has three.
    assert count_spare_choices([["Yes", "no "], ["yes", "maybe", "never"]]) == 1


def test_confidences_of_items_with_choices_of_different_numbers():
    scores = probe_tables(items(6, sizes=(2, 4)), ks=(1,)).scored_by(by_pair)
    rows = zip(scores.confidences[ORIGINAL], scores.labels(), strict=True)
    assert scores.get_correct_confidence().tolist() == [float(row[label]) for row, label in rows]


def test_an_item_that_fails_in_one_table_is_left_out_of_all():
    """Item 3 fails without its question, item 5 with more choices: 38 of 40 are scored as they are without them."""

    def failing(prompts, choices, ids):
        lost = {
            "i3/no_question": "Expected finite logits.",
            "i5/extra_choices_1": "Expected tokens.",
        }
        rows = [row for row, name in enumerate(ids) if name not in lost]
        logits = by_pair([prompts[row] for row in rows], [choices[row] for row in rows], None)
        return Scores(tuple(ids[row] for row in rows), as_ragged(logits, "logits"), failures=lost)

    whole, scores = (
        probe_tables(items(), ks=(1,)).scored_by(score) for score in (by_pair, failing)
    )
    assert scores.left_out == (("i3", "Expected finite logits."), ("i5", "Expected tokens."))
    kept = [row for row in range(40) if row not in (3, 5)]
    for name in whole.tables:
        assert scores.column(name, "id") == [whole.column(name, "id")[row] for row in kept]
        np.testing.assert_array_equal(
            scores.logits[name].values,
            whole.logits[name].take(np.array(kept, dtype=np.intp)).values,
        )
    assert measure_probes(scores, resampling=Resampling(resamples=20)).n_items == 38

    def nothing(prompts, choices, ids):
        return Scores((), np.zeros((0, 3)), failures=dict.fromkeys(ids, "Expected finite logits."))

    with pytest.raises(ValueError, match="Expected finite logits"):
        probe_tables(items(), ks=(1,)).scored_by(nothing)


def test_items_that_can_only_borrow_from_their_own_prompt_are_left_out_of_all_tables():
    from rightreasons.probes.measure import probe_tables

    rows = []
    for number in range(12):
        # Eight items share a prompt, and four have one each, with two choices.
        prompt = "Which is true?" if number < 8 else f"Question {number}?"
        choices = [f"right {number}", f"wrong {number}"]
        rows.append({"id": str(number), "prompt": prompt, "choices": choices, "label": 0})

    tables = probe_tables(datasets.Dataset.from_list(rows), ks=(1, 9))

    # The eight can borrow 8 choices of other prompts, and 9 were asked for; the others can borrow 16 + 6.
    assert sorted(tables.tables["original"]["id"]) == ["10", "11", "8", "9"]
    assert {len(table) for table in tables.tables.values()} == {4}
