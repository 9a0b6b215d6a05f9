"""What a stored report says of a pair of words is what it shows, and nothing is guessed between two texts."""

import pytest

from rightreasons.core.estimates import Estimate
from rightreasons.shortcuts.stored_pairs import find_named_pair, find_pair_share
from rightreasons.shortcuts.swapping.edits import Pair
from rightreasons.shortcuts.wording import name_pair_key

COPPER = Pair(0, ("marble", "copper"), (1, 0))
TIN = Pair(0, ("tin", "lamp"), (0, -1))
SECOND_TIN = Pair(1, ("tin", "lamp"), (0, -1))


def make_row(pair, share, level=0.9):
    """A row of the table of pairs, as audit.json has it."""
    interval = {"low": share - 0.125, "high": share + 0.25, "method": "Tango score"}
    row = {"name": " / ".join(pair.words), "words": list(pair.predictive_words)}
    return {**row, "effect": {"deciding_share": share, "interval": interval}, "level": level}


def make_result(rows, test="words", words=("copper", "marble"), pairs=()):
    by_item = [{"key": f"deciding_share.{name_pair_key(pair)}"} for pair in pairs]
    data = {"swaps": {"pairs": rows}, "tested": {"test": test, "words": list(words)}}
    return {"data": data, "by_item": by_item}


def test_the_share_of_a_pair_is_found_by_the_key_of_its_figure():
    result = make_result([make_row(TIN, 0.25), make_row(COPPER, 0.5)])
    key = f"deciding_share.{name_pair_key(COPPER)}"
    assert find_pair_share(result, key) == Estimate(0.5, 0.375, 0.75, 0.9, "Tango score")
    assert find_pair_share(result, "deciding_share.copper") is None
    assert find_pair_share({"data": {}}, key) is None


def test_the_strongest_neutral_partner_counts_as_in_the_figure():
    other = Pair(0, ("tin", "spoon"), (0, -1))
    result = make_result([make_row(TIN, 0.25), make_row(other, 0.125)])
    assert find_pair_share(result, "deciding_share.tin").value == 0.25


def test_the_same_words_in_both_texts_are_not_guessed():
    second = f"deciding_share.{name_pair_key(SECOND_TIN)}"
    one = make_result([make_row(SECOND_TIN, 0.25)], words=("tin",), pairs=(SECOND_TIN,))
    assert find_pair_share(one, second).value == 0.25
    assert find_named_pair(one) == second
    rows = [make_row(TIN, 0.25), make_row(SECOND_TIN, 0.125)]
    both = make_result(rows, words=("tin",), pairs=(TIN, SECOND_TIN))
    assert find_pair_share(both, second) is None
    assert find_named_pair(both) == ""


@pytest.mark.parametrize(
    ("test", "words", "key"),
    [
        ("words", ("marble", "copper"), "deciding_share.copper/marble"),
        ("declared words", ("copper", "marble"), "deciding_share.copper/marble"),
        # A list of words, of which the pair is a part, is another feature.
        ("all listed words", ("copper", "marble"), ""),
        ("words", ("copper", "marble", "tin"), ""),
        ("", (), ""),
    ],
)
def test_a_finding_names_a_pair_only_if_it_is_about_this_pair(test, words, key):
    result = make_result([make_row(COPPER, 0.5)], test, words, pairs=(TIN, COPPER))
    assert find_named_pair(result) == key
    assert find_named_pair({**result, "data": {}}) == ""
