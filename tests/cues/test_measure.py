"""Cues in one place: which items cues alone get right, and how a model does on them and on the others."""

import datasets
import numpy as np
import pytest
from scipy import stats

from rightreasons.core.intervals import wilson
from rightreasons.core.resampling import Resampling
from rightreasons.cues.easy_hard import easy_hard_gap
from rightreasons.cues.labels import number_groups
from rightreasons.cues.measure import ChoiceItems, measure_cues
from rightreasons.cues.options import CuesOptions
from rightreasons.cues.statistics import cue_statistics

OPTIONS = CuesOptions(features=("unigram",))
FEW = Resampling(resamples=100)


def items_of(*labels, good, start=0):
    """Items of two or three choices with words of their own; "good" is in the choice that `good` names."""
    rows = []
    for i, (label, place) in enumerate(zip(labels, good, strict=True), start=start):
        choices = [f"a{i} b{i}", f"c{i} d{i}", f"e{i} f{i}"][: 2 + i % 2]
        choices[place] += " good"
        rows.append({"prompt": f"why {i}", "choices": choices, "label": label})
    return rows


def table(rows, **columns):
    data = datasets.Dataset.from_list(rows)
    for name, values in columns.items():
        data = data.add_column(name, values)
    return data


# "good" is right in 4 of 5 training items; the fifth has it in a wrong choice.
TRAIN = ChoiceItems.from_table(table(items_of(0, 1, 0, 2, 1, good=(0, 1, 0, 2, 0), start=10)))
# Of six items the second has no label; "good" is right in the first, third and fourth.
TEST = table(items_of(0, -1, 1, 2, 0, 0, good=(0, 0, 1, 2, 1, 1)))


def test_items_without_a_label_are_left_out():
    items = ChoiceItems.from_table(TEST)
    assert len(items) == 5
    assert items.rows.tolist() == [0, 2, 3, 4, 5]
    assert items.labels.tolist() == [0, 1, 2, 0, 0]
    assert items.groups is None
    assert items.easy is None
    grouped = ChoiceItems.from_table(
        table(TEST.to_list(), pair=["x", "y", "x", "z", "z", "z"]), "pair"
    )
    assert grouped.groups == ["x", "x", "z", "z", "z"]
    # Items whose cell is empty are on their own, as everywhere in an audit.
    some = ChoiceItems.from_table(
        table(TEST.to_list(), source_id=["x", "y", "x", None, "", None])
    ).groups
    assert number_groups(some, 5).tolist() == [0, 0, 1, 2, 3]
    with pytest.raises(ValueError, match="prompt, choices"):
        ChoiceItems.from_table(TEST, "pairs")


def test_cues_of_the_training_split_decide_what_is_easy():
    items = ChoiceItems.from_table(TEST)
    # The model picks "good" in the first two items, and elsewhere another choice: right, right, wrong, right, right.
    logits = [[2.0, 0.0], [0.0, 1.0], [3.0, 0.0, 0.0], [1.0, 0.0], [4.0, 0.0, 0.0]]
    figures = measure_cues(items, train=TRAIN, logits=logits, options=OPTIONS, resampling=FEW)
    assert figures.n_train == 5
    assert figures.classifier is None
    cue = next(cue for cue in figures.statistics.cues if cue.cue == "good")
    assert (cue.applicability, cue.productivity) == (5, 0.8)
    # Only "good" was seen in training: it gets the items right in which it is, and misleads on the last two.
    assert figures.easy.tolist() == [True, True, True, False, False]
    assert figures.accuracy.value == pytest.approx(3 / 5)
    assert figures.chance == pytest.approx((3 / 2 + 2 / 3) / 5)
    assert figures.predicted.tolist() == [0, 1, 0, 0, 0]
    assert figures.gap.easy_accuracy == pytest.approx(2 / 3)
    assert figures.gap.hard_accuracy == 1.0


def test_the_data_may_say_what_is_easy():
    items = ChoiceItems.from_table(
        table(TEST.to_list(), easy=[True, True, False, True, False, True])
    )
    figures = measure_cues(items, train=TRAIN, options=OPTIONS, resampling=FEW)
    assert figures.easy_is_given
    assert figures.easy.tolist() == [True, False, True, False, True]
    assert figures.predicted is figures.gap is None


def test_without_training_items_groups_stay_in_one_fold():
    rows = items_of(*([0, 1] * 12), good=[0, 1] * 12)
    items = ChoiceItems.from_table(table(rows, source_id=[f"g{i // 6}" for i in range(24)]))
    # Four groups: the ten folds of the default become four, folds that are asked for stay.
    figures = measure_cues(items, options=OPTIONS, resampling=FEW)
    assert (figures.classifier.n_groups, figures.classifier.n_folds) == (4, 4)
    assert figures.n_train is None
    # Four groups, although all of them right, are too few.
    assert (figures.accuracy.value, figures.accuracy.high, figures.conclusion) == (
        1.0,
        1.0,
        "cannot tell",
    )
    assert figures.accuracy.low == pytest.approx(4 / (4 + 1.959964**2))  # Wilson's, of 4 of 4
    # All four groups hit alike: the sum of four alike is twice its error, sqrt(4) of Student's t with 3 degrees.
    assert figures.statistics.find("good").p_value == pytest.approx(2 * stats.t.sf(2, 3))
    assert figures.significant == ()
    assert figures.select_cues(3)[0].cue == "good"
    with pytest.raises(ValueError, match="at most the number of groups, 4, but got 5"):
        measure_cues(items, options=CuesOptions(features=("unigram",), n_folds=5), resampling=FEW)


def test_no_gap_where_all_items_are_easy():
    items = ChoiceItems.from_table(table(items_of(0, 1, 0, good=(0, 1, 0))))
    figures = measure_cues(
        items, train=TRAIN, logits=[[1, 0], [0, 1, 0], [0, 1]], options=OPTIONS, resampling=FEW
    )
    assert figures.gap is None


@pytest.mark.parametrize(
    ("right", "n_items", "conclusion"),
    [
        (0, 4, "cannot tell"),
        (4, 4, "cannot tell"),
        (19, 19, "cannot tell"),
        (18, 20, "gives answers away"),  # Wilson's interval begins at 0.699
        (16, 20, "cannot tell"),  # 0.584: above chance, but not surely by ten points
        (14, 20, "cannot tell"),  # [0.481, 0.855]
        (50, 100, "no sign"),  # [0.404, 0.596]
        (48, 100, "cannot tell"),  # [0.385, 0.577]: 10 points below chance are not ruled out
        (52, 100, "cannot tell"),
        (170, 400, "misleads"),  # [0.377, 0.474]
        (3, 20, "misleads"),  # [0.052, 0.360], of just as many items as a verdict takes
        (3, 19, "cannot tell"),
    ],
)
def test_what_cues_alone_say_of_the_data(right, n_items, conclusion):
    # "good" is right wherever the training items have it; of the items, it is in the right choice of so many.
    train = ChoiceItems(["why"] * 9, [["good", "a"]] * 9, np.zeros(9, dtype=np.int64))
    labels = (np.arange(n_items) >= right).astype(np.int64)
    items = ChoiceItems(["why"] * n_items, [["good", "b"]] * n_items, labels)
    figures = measure_cues(items, train=train, options=OPTIONS, resampling=FEW)
    ends = wilson(right, n_items)
    assert (figures.accuracy.value, figures.accuracy.low, figures.accuracy.high) == pytest.approx(
        (right / n_items, ends.low, ends.high)
    )
    assert figures.conclusion == conclusion
    # Of any share, (1.96 / 2 / 0.1)² = 96.04 items have an interval of 10 points on each side.
    if (right, n_items) == (16, 20):
        assert figures.n_needed == figures.alone.n_needed == 100
        assert "about 100 items would settle the question" in figures.too_few
    if n_items == 100:
        assert figures.n_needed is None


def test_groups_are_the_units_of_all_tests():
    # Fifty items, each five times, of which a word tells nothing: alone, 250 items seem to tell.
    rng, rejected = np.random.default_rng(11), np.zeros(4, dtype=int)
    for _ in range(150):
        labels, predicted, easy = (np.repeat(rng.integers(2, size=50), 5) for _ in range(3))
        found = []
        for groups in (None, np.repeat(np.arange(50), 5).tolist()):
            cues = cue_statistics([["a word", "another"]] * 250, labels, groups=groups)
            how = {"clusters": groups, "n_permutations": 99, "resampling": Resampling(resamples=5)}
            gap = easy_hard_gap(predicted, labels, easy.astype(bool), **how)
            found += [cues.find("word").p_value < 0.05, gap.p_value < 0.05]
        rejected += found
    assert cues.find("word").applicability == 250
    # Of 150 draws at .05, 17 and more come twice in a thousand times.
    assert (rejected[:2] > 30).all()
    assert (rejected[2:] < 17).all()


def test_groups_widen_the_intervals():
    rng = np.random.default_rng(4)
    labels, predicted = (np.repeat(rng.integers(2, size=60), 5) for _ in range(2))
    easy, names = np.repeat(np.arange(60) % 3 == 0, 5), [f"g{n // 5}" for n in range(300)]
    alone, together = (
        easy_hard_gap(predicted, labels, easy, clusters=clusters, n_permutations=9)
        for clusters in (None, names)
    )
    assert together.easy_hard_gap == alone.easy_hard_gap
    widths = [found.interval.high - found.interval.low for found in (alone, together)]
    assert widths[1] / widths[0] == pytest.approx(5**0.5, rel=0.15)
    rows = [
        cue_statistics([["a word", "b"]] * 300, labels, groups=groups).find("word")
        for groups in (None, names)
    ]
    assert rows[0].productivity == rows[1].productivity
    assert (rows[1].high - rows[1].low) / (rows[0].high - rows[0].low) == pytest.approx(
        5**0.5, rel=0.1
    )
    # Items that have nothing to do with one another are worth as much in groups.
    labels = rng.integers(2, size=300)
    rows = [
        cue_statistics([["a word", "b"]] * 300, labels, groups=groups).find("word")
        for groups in (None, names)
    ]
    assert (rows[1].high - rows[1].low) / (rows[0].high - rows[0].low) == pytest.approx(1, rel=0.15)


def test_resamples_do_not_depend_on_the_names_of_groups():
    rows = items_of(*[0, 1] * 12, good=[0, 1, 1, 0] * 6)
    rng = np.random.default_rng(7)
    logits = [rng.normal(size=len(row["choices"])) for row in rows]

    gaps = []
    numbers = [8 + row // 2 for row in range(24)]
    # As texts, "10" to "19" come before "8" and "9".
    for names in (numbers, [str(number) for number in numbers]):
        items = ChoiceItems.from_table(table(rows, source_id=names))
        figures = measure_cues(items, train=TRAIN, logits=logits, options=OPTIONS, resampling=FEW)
        gaps.append(figures.gap)

    assert gaps[0].interval == gaps[1].interval
    assert gaps[0].interval.method == "percentile bootstrap over clusters"
