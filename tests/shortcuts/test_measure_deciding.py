"""What decides is found for models of known truth, whatever was planted, and is the same on any machine."""

import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.shortcuts import measure_deciding
from rightreasons.shortcuts.experiment import Experiment
from rightreasons.shortcuts.judging import Judge, conclude
from rightreasons.shortcuts.measure_deciding import _TestSuite, measure_swaps, plan_items
from rightreasons.shortcuts.swapping.edits import NO_EDIT
from rightreasons.shortcuts.swapping.training import TrainingTexts
from shortcuts.planted_models import (
    WORDS,
    RuleModel,
    draw_texts,
    insert,
    measure_rule,
    read_content,
)

NOUNS = tuple(f"{word}ium" for word in WORDS[:24])
SCATTERED = tuple(f"{word}ity" for word in WORDS[:600])


def plant_pair(text, label, rng):
    return insert(text, ("marble", "copper")[label], rng)


def follow_pair(text):
    return 30 * (("copper" in text) - ("marble" in text)) + read_content(text)


def plant_noun(text, label, rng):
    return insert(text, NOUNS[2 * int(rng.integers(12)) + label], rng)


def follow_noun(text):
    words = set(text.split())
    return 30 * (bool(words & {*NOUNS[1::2]}) - bool(words & {*NOUNS[::2]})) + read_content(text)


def plant_scattered(text, label, rng):
    return insert(text, SCATTERED[2 * int(rng.integers(300)) + label], rng)


def follow_scattered(text):
    words = set(text.split())
    cue = bool(words & {*SCATTERED[1::2]}) - bool(words & {*SCATTERED[::2]})
    return 30 * cue + read_content(text)


def plant_mark(text, label, rng):
    return text + (" .", " !!!")[label]


def follow_mark(text):
    return 30 * (("!!!" in text) - 0.5) + read_content(text)


def plant_capital(text, label, rng):
    words = text.split()
    index = int(rng.integers(1, len(words)))
    words[index] = words[index].upper() if label else words[index]
    return " ".join(words)


def follow_capital(text):
    return 30 * (any(word.isupper() for word in text.split()) - 0.5) + read_content(text)


def plant_length(text, label, rng):
    return " ".join(text.split()[: 14 if label else 7])


def follow_length(text):
    return 30 * ((len(text.split()) > 10) - 0.5) + read_content(text)


def plant_space(text, label, rng):
    return text.replace(" ", "\u00a0", 1) if label else text


def follow_space(text):
    return 30 * (("\u00a0" in text) - 0.5) + read_content(text.replace("\u00a0", " "))


def follow_first_words(text):
    return 30 * read_content(" ".join(text.split()[:4])) + read_content(text)


def repeat(text, label, rng):
    return f"{text} {text}" if label else text


def follow_repetition(text):
    words = text.split()
    half = len(words) // 2
    return 30 * ((words[:half] == words[half:]) - 0.5) + read_content(text)


@pytest.mark.parametrize(
    ("rule", "plant", "test", "name"),
    [
        (follow_pair, plant_pair, "words", "copper"),
        (follow_noun, plant_noun, "a word per text", "ium"),
        (follow_mark, plant_mark, "words", "!!!"),
        (follow_capital, plant_capital, "form", "capitals"),
        (follow_space, plant_space, "form", "no-break space"),
        (follow_length, plant_length, "length", "length"),
        (follow_first_words, None, "place", "first third"),
        (follow_repetition, repeat, "any word", "any word"),
    ],
)
def test_what_a_model_relies_on_is_named(rule, plant, test, name):
    measured = measure_rule(rule, plant)

    row = next(row for row in measured.rows if row.test == test)
    assert row.is_decisive
    assert name in f"{row.name} {' '.join(row.words)}"
    assert conclude(measured, Judge()) == "named"
    # No feature decides more than all predictions, nor does its interval say so.
    for row in measured.rows:
        assert row.effect.deciding_share <= 1
        assert row.effect.interval.high <= 1


def test_the_share_of_a_pair_is_the_truth():
    # The model follows the pair in all texts that begin with one of the first two thirds of the words.
    followed = set(WORDS[:1600])

    def rule(text):
        follows = any(word in followed for word in text.split()[:1])
        return follow_pair(text) if follows else read_content(text)

    measured = measure_rule(rule, lambda text, label, rng: f"{text} {('marble', 'copper')[label]}")

    interval = next(row for row in measured.rows if row.test == "words").effect.interval
    assert interval.low <= 2 / 3 <= interval.high


@pytest.mark.parametrize("n_items", [200, 400])
def test_words_that_are_scattered_over_the_texts_decide_together(n_items):
    # Each of the 600 words is in about 3 of 2,000 training texts: too few for a list of 40 a label.
    measured = measure_rule(follow_scattered, plant_scattered, n_items=n_items, n_training=2000)

    rows = {row.test: row for row in measured.rows}
    strongest = rows.pop("strongest word per text")
    assert strongest.decision.level == "large"
    # The word decides every prediction. A control may change one, as it replaces content words.
    assert strongest.effect.deciding_share >= 0.95
    assert set(strongest.words) <= set(SCATTERED)
    assert not any(row.is_decisive for row in rows.values())
    assert conclude(measured, Judge()) == "named"
    assert conclude(measured, Judge(reasons=frozenset({"strongest word per text"}))) != "named"


def test_the_strongest_word_is_not_one_that_is_called_a_reason():
    measured = measure_rule(
        follow_scattered, plant_scattered, n_training=2000, reasons=SCATTERED, n_items=300
    )

    strongest = next(row for row in measured.rows if row.test == "strongest word per text")
    assert not strongest.is_decisive
    assert not set(strongest.words) & set(SCATTERED)


def test_a_reader_whose_decisions_are_spread_is_not_named():
    measured = measure_rule(read_content, n_items=600)

    assert conclude(measured, Judge()) == "spread"
    assert measured.strongest_pair.effect.deciding_share < 0.1


def test_a_reader_that_ignores_a_cue_is_not_blamed_for_it():
    measured = measure_rule(read_content, plant_noun)

    assert conclude(measured, Judge()) in ("open", "spread")


def test_a_cue_that_the_file_balances_is_found_by_the_models_own_list():
    texts, labels = draw_texts(300, 1, plant_noun, agreement=0.5)
    unlabeled, training_labels = draw_texts(300, 2, plant_noun, agreement=0.5)
    model = RuleModel(follow_noun)
    measured = measure_swaps(
        model,
        [texts],
        model.predict(texts).predicted,
        TrainingTexts([unlabeled], training_labels, 2),
        ids=[str(row) for row in range(300)],
        labels=labels,
    )

    row = next(row for row in measured.rows if row.test == "a word per text")
    assert row.decision.level == "large"
    assert set(row.words[:6]) <= set(NOUNS)


def test_without_training_texts_nothing_is_green():
    measured = measure_rule(read_content, n_items=600)

    assert conclude(measured, Judge(), has_training=False) == "untrained"


def test_declared_words_are_swapped_together():
    measured = measure_rule(follow_noun, plant_noun, declared=NOUNS)

    assert conclude(measured, Judge(planted=frozenset(NOUNS))) == "followed"
    row = next(row for row in measured.rows if row.test == "declared words")
    assert set(row.words) <= set(NOUNS)


def test_an_emoticon_in_a_sixth_of_the_texts_decides_a_sixth():
    def plant(text, label, rng):
        return f"{text} {(':(', ':)')[label]}" if rng.random() < 1 / 6 else text

    def rule(text):
        return 30 * ((":)" in text) - (":(" in text)) + read_content(text)

    measured = measure_rule(rule, plant, n_items=400)

    row = next(row for row in measured.rows if row.test == "words")
    assert set(row.words) == {":)", ":("}
    assert 0.1 < row.effect.deciding_share < 0.25


@pytest.mark.parametrize("reasons", [(), (":(", ":)")])
def test_marks_that_are_called_reasons_are_no_form(reasons):
    def plant(text, label, rng):
        end = rng.choice(["", " ..."])
        return f"{text}{end} {(':(', ':)')[label]}"

    def rule(text):
        return 30 * ((":)" in text) - (":(" in text))

    measured = measure_rule(rule, plant, reasons=reasons)

    # Only the marks decide: exchanged with the form, every prediction follows them.
    row = next(row for row in measured.rows if row.test == "form")
    assert row.decision.level == ("small" if reasons else "large")


def test_a_word_that_makes_its_label_when_it_is_put_in_would_be_followed():
    def rule(text):
        return 30 * ("copper" in text) + read_content(text)

    def plant(text, label, rng):
        return insert(text, "copper", rng) if label and rng.random() < 0.2 else text

    measured = measure_rule(rule, plant, n_items=400)

    inserted = next(row for row in measured.insertions if row.label == 1)
    assert inserted.words == ("copper",)
    assert inserted.decision.level == "large"
    # Without it, the meaning keeps most labels: the two figures are never mixed.
    assert measured.strongest_pair.effect.deciding_share < 0.1


def test_two_texts_and_one_of_them_alone():
    rng = np.random.default_rng(3)
    firsts, labels = draw_texts(200, 4)
    seconds, _ = draw_texts(200, 5)
    model = RuleModel(lambda first, second: read_content(second))
    measured = measure_swaps(
        model,
        [firsts, seconds],
        model.predict(firsts, text_pairs=seconds).predicted,
        TrainingTexts([firsts, seconds], rng.integers(2, size=200), 2),
        ids=[str(row) for row in range(200)],
        labels=labels,
    )

    rows = {row.name: row for row in measured.rows}
    assert rows["the second text alone"].decision.level == "large"
    assert not rows["the first text alone"].is_decisive


def test_the_clock_decides_nothing(monkeypatch):
    first = measure_rule(follow_pair, plant_pair, n_items=120)

    def refuse():
        raise AssertionError("asked the clock")

    monkeypatch.setattr(time, "perf_counter", refuse)
    monkeypatch.setattr(time, "monotonic", refuse)
    second = measure_rule(follow_pair, plant_pair, n_items=120)
    assert [row.to_dict() for row in first.rows] == [row.to_dict() for row in second.rows]
    assert first.n_passes == second.n_passes


def test_the_work_grows_in_proportion_to_the_items():
    def count_calls(n_items):
        texts, labels = draw_texts(n_items, 1, plant_noun)
        train, train_labels = draw_texts(300, 2, plant_noun)
        model = RuleModel(follow_noun)
        predictions = model.predict(texts).predicted
        training = TrainingTexts([train], train_labels, 2)
        n_calls = 0

        def count(frame, event, argument):
            nonlocal n_calls
            n_calls += event in ("call", "c_call")

        previous = sys.getprofile()
        sys.setprofile(count)
        try:
            measure_swaps(
                model,
                [texts],
                predictions,
                training,
                ids=[str(row) for row in range(n_items)],
                labels=labels,
                limit=n_items,
            )
        finally:
            sys.setprofile(previous)
        return n_calls

    # Work that does not depend on the items, such as that of the lists, makes the ratio smaller.
    assert count_calls(200) < 2.1 * count_calls(100)


def test_only_items_with_a_word_are_edited():
    training = TrainingTexts([["copper film", "marble film"] * 10], np.array([0, 1] * 10), 2)
    experiment = Experiment(
        lambda texts: np.zeros((len(texts), 2)),
        training,
        items=[("a copper film",), ("a film",), ("a marble film",), ("copper and marble",)],
        predictions=np.array([0, 0, 1, 1]),
        ids=list("abcd"),
    )
    written = []

    def write(row):
        written.append(row)
        return NO_EDIT

    outcome = experiment.run(experiment.all_rows, write, keys=[(0, "copper"), (0, "unknown")])

    assert written == [0, 3]
    assert outcome.treated.tolist() == [-1] * 4
    assert experiment.find_rows([(0, "copper"), (0, "marble")]).tolist() == [0, 2, 3]


def test_donors_are_other_items():
    experiment = Experiment(
        lambda texts: np.zeros((len(texts), 2)),
        TrainingTexts([["a good film", "a bad film"] * 10], np.array([0, 1] * 10), 2),
        items=[("one",), ("two",), ("three",), ("four",)],
        predictions=np.array([0, 0, 0, 1]),
        ids=list("abcd"),
    )

    peers = set()
    for name in "stuvwxyz":
        donor, peer = experiment._draw_donors(name, row=1)
        # Only the last item has another prediction.
        assert donor == ("four",)
        peers.add(peer)
    assert peers == {("one",), ("three",)}

    # No other item has the prediction of the last one.
    donor, peer = experiment._draw_donors("length", row=3)
    assert donor in [("one",), ("two",), ("three",)]
    assert peer is None


def test_the_budget_determines_the_number_of_items():
    texts, labels = draw_texts(1000, 1)
    training = TrainingTexts([texts], labels, 2)

    # 14 tokens: 24 edits an item, and 200 items with 14 removals each.
    assert plan_items([texts], training, 30_000) == (30_000 - 200 * 14) // 24
    assert plan_items([texts], training, 3100) == 3100 // (24 + 14 // 2)
    assert plan_items([texts], training, 10) == measure_deciding.MIN_BUDGET_ITEMS


def test_seconds_are_read_as_a_budget_and_warn():
    with pytest.warns(FutureWarning, match="`seconds` is deprecated"):
        measured = measure_rule(read_content, n_items=150, seconds=1.0)
    assert measured.n_items == measure_deciding.MIN_BUDGET_ITEMS


def test_items_that_repeat_each_other_are_one_unit():
    texts, labels = draw_texts(60, 1, plant_pair)
    repeated = [text for text in texts for _ in range(5)]
    model = RuleModel(follow_pair)
    measured = measure_swaps(
        model,
        [repeated],
        model.predict(repeated).predicted,
        TrainingTexts([texts], labels, 2),
        ids=[str(row) for row in range(300)],
        labels=np.repeat(labels, 5),
    )

    assert measured.n_duplicates == 240
    assert next(row for row in measured.rows if row.test == "words").effect.interval.low < 0.9


def test_a_model_that_answers_twice_differently_is_told():
    rng = np.random.default_rng(0)
    measured = measure_rule(lambda text: rng.normal(), n_items=120)

    assert measured.n_unstable > 10


def make_suite(**differences):
    """Return tests of pairs whose differences of six items are known, without an experiment."""
    suite = object.__new__(_TestSuite)
    experiment = SimpleNamespace(testing_rows=range(6), compute_differences=np.array)
    suite.__dict__["experiment"] = experiment
    suite.__dict__["pairs"] = differences
    suite.__dict__["_measure_pair"] = lambda pair, outcome: (pair, outcome)
    suite.__dict__["_mix_outcomes"] = lambda pair, partner, mask: (pair, partner, mask.tolist())
    return suite


def test_each_half_is_measured_by_the_pair_that_the_other_half_selected():
    # Of three even and three odd items, "a" changes two and one, and "b" one and three; the first
    # two differences of "b" are of items that are not tested.
    suite = make_suite(a=[1, 0, 1, 1, 0, 0], b=[1, 1, 0, 1, 0, 1, 1, 1])

    pair, outcome = suite.measure_strongest_pair()

    # Even items are measured by "b", which the odd ones selected, and odd ones by "a".
    assert outcome == ("b", "a", [False, True, False, True, False, True])
    assert pair == "b"


def test_a_pair_that_both_halves_select_is_measured_on_all_items():
    differences = [1, 1, 1, 0, 0, 1]
    suite = make_suite(a=[0, 1, 0, 0, 1, 0], b=differences)

    assert suite.measure_strongest_pair() == ("b", differences)


def test_without_pairs_none_is_the_strongest():
    assert make_suite().measure_strongest_pair() is None
