"""What an audit tested is recorded, and read for another model."""

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.shortcuts import measure_deciding
from rightreasons.shortcuts.judging import Judge, conclude
from rightreasons.shortcuts.swapping.edits import Pair
from rightreasons.shortcuts.swapping.record import FeatureRecord, make_recorded_list, read_record
from shortcuts.planted_models import measure_rule, read_content
from shortcuts.test_measure_deciding import follow_noun, follow_pair, plant_noun, plant_pair

COPPER = Pair(0, ("copper", "marble"), (1, 0))
RARE = Pair(1, ("tin", "lamp"), (0, -1))
RECORD = FeatureRecord(
    pairs=(COPPER, RARE),
    lists={"all listed words": {(0, "copper"): 1, (0, "marble"): 0, (1, "tin"): 0}},
    decisive=(COPPER,),
    inserted={(0, "copper"): 1},
    strengths={(0, "copper"): 0.25, (1, "tin"): 1.5},
)


def test_labels_are_recorded_by_name():
    values = RECORD.to_plain(["no", "yes"])

    assert read_record(values, ["no", "yes"], n_columns=2) == RECORD
    # A model with its classes in another order numbers them otherwise; a neutral word has none.
    turned = read_record(values, ["yes", "no"], n_columns=2)
    assert turned.decisive == (Pair(0, ("copper", "marble"), (0, 1)),)
    assert turned.pairs[1].labels == (1, -1)
    assert turned.inserted == {(0, "copper"): 0}


@pytest.mark.parametrize(("names", "n_columns"), [(["no", "maybe"], 2), (["no", "yes"], 1)])
def test_a_report_about_something_else_is_refused(names, n_columns):
    with pytest.raises(OptionError, match="Expected a report about") as raised:
        read_record(RECORD.to_plain(["no", "yes"]), names, n_columns)
    assert raised.value.option == ("after",)


def test_reasons_are_not_tested_again():
    record = RECORD.exclude({"copper"})

    assert record.pairs == (RARE,)
    assert record.lists == {"all listed words": {(0, "marble"): 0, (1, "tin"): 0}}
    assert record.strengths == {(1, "tin"): 1.5}
    assert record.decisive == ()
    assert record.inserted == {}


def test_a_pair_that_decided_is_tested_again_without_its_training_texts():
    first = measure_rule(follow_pair, plant_pair, seed=3)
    named = first.record.decisive
    assert [set(pair.words) for pair in named] == [{"copper", "marble"}]

    # The training texts of this measurement have neither word.
    repaired = measure_rule(read_content, previous=first.record, seed=3)
    row = next((row for row in repaired.rows if row.test == "words named before"), None)
    # Nor have its items: there is nothing to swap, which is no evidence.
    assert row is None
    assert "words named before" in repaired.untested
    assert named[0] in repaired.record.decisive


def test_a_list_that_decided_is_swapped_again():
    # Of 24 planted words no pair decides a tenth; together they decide nearly everything.
    first = measure_rule(follow_noun, plant_noun, seed=3)
    planted = first.record.lists["all listed words"]
    # As after a balanced draw: the items have the words, and the training texts offer none.
    second = measure_rule(
        follow_noun, plant_noun, seed=3, plants_training=False, previous=first.record
    )

    rows = {row.test: row for row in second.rows}
    assert rows["words listed before"].effect.deciding_share > 0.6
    # The same model depends on the same words, so that their list is tested once.
    assert rows["a word per text"].effect.deciding_share > 0.6
    assert "a word per text before" not in rows
    assert conclude(second, Judge()) == "named"
    assert planted.keys() <= second.record.lists["all listed words"].keys()


def test_the_own_list_of_another_model_is_swapped_again(monkeypatch):
    first = measure_rule(follow_noun, plant_noun, seed=3)
    strengths = first.record.strengths
    strengths_by_words = {}

    def make_list(labels, strengths, frequencies):
        strengths_by_words[frozenset(labels)] = strengths
        return make_recorded_list(labels, strengths, frequencies)

    monkeypatch.setattr(measure_deciding, "make_recorded_list", make_list)
    second = measure_rule(
        read_content, plant_noun, seed=3, plants_training=False, previous=first.record
    )

    # The strengths are those of the model's own list, and mean nothing in the others.
    own_list = frozenset(first.record.lists["a word per text"])
    assert strengths_by_words.pop(own_list) == strengths
    assert list(strengths_by_words.values()) == [{}] * len(strengths_by_words) != []
    rows = {row.test: row for row in second.rows}
    # The nouns of the first model decide nothing in the second one.
    assert rows["a word per text before"].effect.deciding_share < 0.1
    # They were the strongest words of the first model, and so come first in each text.
    nouns = [word for (_, word) in strengths if word.endswith("ium")]
    strongest = sorted(strengths, key=lambda key: -strengths[key])
    assert {word for _, word in strongest[: len(nouns)]} == set(nouns)
