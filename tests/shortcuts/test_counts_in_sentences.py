"""Sentences on what decides: their numbers are counted, and lead from one denominator to the next."""

import re
from types import SimpleNamespace

import pytest

from rightreasons.shortcuts.measure_deciding import measure_swaps
from rightreasons.shortcuts.question import SHORTCUTS, compare_with_control, count_tested
from rightreasons.shortcuts.swapping.training import TrainingTexts
from shortcuts.planted_models import RuleModel, draw_texts, insert, measure_rule, read_content

CUES = ("marble", "copper")
"""Words that are planted into texts of the labels 0 and 1."""


def plant_in_most(text, label, rng):
    return insert(text, CUES[label], rng) if rng.random() < 0.6 else text


def follow_loosely(text):
    # A meaning of more than 4 outweighs the cue, so that only some predictions flip.
    return 4 * (("copper" in text.split()) - ("marble" in text.split())) + read_content(text)


@pytest.fixture(scope="module")
def measured():
    return measure_rule(follow_loosely, plant_in_most, n_items=300, declared=CUES)


@pytest.fixture(scope="module")
def items():
    """Texts of the measured items, with the label that the rule predicts."""
    texts, _ = draw_texts(300, 1, plant_in_most, agreement=0.95)
    return [(text, int(follow_loosely(text) > 0)) for text in texts]


def get_row(measured, test):
    return next(row for row in measured.rows if row.test == test)


def exchange(text):
    partners = {"marble": "copper", "copper": "marble"}
    return " ".join(partners.get(word, word) for word in text.split())


def write(row, measured, n_replacing=0):
    """Return the evidence on a row as the page has it."""
    answers = SimpleNamespace(swaps=measured, n_replacing=n_replacing)
    return SHORTCUTS.prose.of(m=answers, row=row).line("{{ evidence(row) }}")


def test_a_pair_is_counted_in_all_items_that_contain_it(measured, items):
    counts = get_row(measured, "words").counts

    containing = [(text, label) for text, label in items if set(CUES) & set(text.split())]
    flipped = [text for text, label in containing if (follow_loosely(exchange(text)) > 0) != label]
    assert 0 < len(flipped) < len(containing) < 300
    assert (counts.n_items, counts.n_containing, counts.n_swapped, counts.n_flipped) == (
        300,
        len(containing),
        len(containing),
        len(flipped),
    )


def test_a_list_is_only_swapped_if_a_word_of_it_goes_with_the_prediction(measured, items):
    counts = get_row(measured, "declared words").counts

    n_containing = 0
    n_agreeing = 0
    for text, label in items:
        n_containing += bool(set(CUES) & set(text.split()))
        n_agreeing += CUES[label] in text.split()
    assert 0 < n_agreeing < n_containing
    assert (counts.n_containing, counts.n_swapped) == (n_containing, n_agreeing)
    assert counts.n_towards_other == n_agreeing


@pytest.mark.parametrize("test", ["words", "declared words"])
def test_the_numbers_of_a_sentence_lead_to_the_share(measured, test):
    row = get_row(measured, test)
    counts = row.counts
    sentence = write(row, measured)

    containing, total = map(int, re.search(r"(\d+) of the (\d+) tested items", sentence).groups())
    assert (containing, total) == (counts.n_containing, 300)
    swapped = containing
    if test == "declared words":
        swapped, among = map(int, re.search(r"In (\d+) of these (\d+)", sentence).groups())
        assert among == containing
    flipped, of_swapped = map(
        int, re.search(r"flips (\d+) of these (\d+) predictions", sentence).groups()
    )
    assert (flipped, of_swapped) == (counts.n_flipped, swapped)
    sum_ = re.search(r"flips (\d+): \((\d+) − (\d+)\) / (\d+) = ([\d.]+)%\.$", sentence)
    control, first, second, n_items = map(int, sum_.groups()[:4])
    assert (first, second, n_items) == (flipped, control, 300)
    assert float(sum_[5]) == round(100 * (first - second) / n_items, 1)
    assert float(sum_[5]) == round(100 * row.effect.deciding_share, 1)


def test_every_test_has_a_sum_that_is_right(measured):
    sentences = {row.test: write(row, measured) for row in measured.rows}

    assert {"length", "place", "any word", "a word per text"} <= set(sentences)
    for row in measured.rows:
        terms, total, share = re.search(
            r": ([^:]+) / (\d+) = (−?[\d.]+%)", sentences[row.test]
        ).groups()
        # A difference such as (435 − 2), or a number without a control.
        first, *rest = (int(number.replace("−", "-")) for number in re.findall(r"−?\d+", terms))
        numerator = first - sum(rest)
        assert f"{round(100 * numerator / int(total), 1) + 0.0:.1f}%".replace("-", "−") == share
        assert total == str(row.effect.n_items)
    assert "no item has a control" not in sentences["length"]
    assert "control" not in sentences["any word"]


def test_items_that_are_not_tested_are_accounted_for(measured):
    row = get_row(measured, "a word per text")
    n_tested = row.effect.n_items
    assert n_tested < 300

    sentence = write(row, measured)
    assert f"of the {n_tested} tested items" in sentence
    assert sentence.endswith(
        f"The test used {n_tested} of 300 items: {300 - n_tested} selected the words."
    )
    halved = write(get_row(measured, "words"), measured, n_replacing=300)
    assert halved.endswith(
        "The test used 300 of 600 items: the other 300 replaced the missing training texts."
    )
    assert "The test used" not in write(get_row(measured, "words"), measured)


def test_a_single_word_has_no_counterpart():
    def plant(text, label, rng):
        return insert(text, "copper", rng) if label and rng.random() < 0.5 else text

    measured = measure_rule(lambda text: 30 * ("copper" in text) + read_content(text) - 8, plant)

    row = next(row for row in measured.pairs if row.words == ("copper",))
    assert "Replacing this word with a neutral word flips" in write(row, measured)


def test_one_text_of_a_pair_counts_predictions_that_stay():
    firsts, labels = draw_texts(200, 4)
    seconds, _ = draw_texts(200, 5)
    model = RuleModel(lambda first, second: read_content(second))
    measured = measure_swaps(
        model,
        [firsts, seconds],
        model.predict(firsts, text_pairs=seconds).predicted,
        TrainingTexts([firsts, seconds], labels, 2),
        ids=[str(row) for row in range(200)],
        labels=labels,
    )

    row = next(row for row in measured.rows if row.name == "the second text alone")
    # The model ignores the first text.
    assert "200 of 200 predictions (100.0%) stay the same" in write(row, measured)


@pytest.mark.parametrize("test", ["declared words", "place"])
def test_two_bars_differ_by_what_is_decided(measured, test):
    row = get_row(measured, test)

    first, second = compare_with_control(SimpleNamespace(reported=row))

    assert first - second == pytest.approx(row.effect.deciding_share)
    assert count_tested(SimpleNamespace(reported=row)) == row.effect.n_items


def test_pairs_of_both_halves_are_not_counted_as_one(measured):
    row = get_row(measured, "words")
    mixed = SimpleNamespace(
        test="words",
        words=row.words,
        effect=row.effect,
        counts=SimpleNamespace(**{**vars(row.counts), "n_containing": None}),
    )

    assert write(mixed, measured).startswith("Each half of the 300 items was tested with the pair")
