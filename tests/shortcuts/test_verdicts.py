"""Verdicts on models of known truth: a short form of `python -m benchmarks.verdicts.natural`."""

import pytest
from benchmarks.verdicts import choices, surface
from benchmarks.verdicts.__main__ import LEVELS, Outcome, format_summary, rank_auroc
from benchmarks.verdicts.classes import PARTS, SCENARIOS
from benchmarks.verdicts.natural.__main__ import audit_case
from benchmarks.verdicts.natural.cases import Case, list_cases
from benchmarks.verdicts.natural.scripts import ALPHABETS, Script

N_ITEMS = 300
FOLLOWERS = ("follows a word of 1.0", "follows a word of .9")
SIXTEEN = (("size", 16),)


@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_follower_of_made_up_texts_is_flagged(name):
    assert (SCENARIOS | surface.SCENARIOS)[name].run(N_ITEMS, 1) in ("warn", "bad")


def test_the_share_is_the_truth():
    part = PARTS["follows a word of .9"]
    row = next(row for row in part.measure(N_ITEMS, 1).rows if row.test == "words")

    assert part.truth == "follower"
    assert row.effect.interval.low <= part.strength <= row.effect.interval.high
    assert set(row.words) == {"copper", "marble"}


@pytest.mark.real_data
def test_scattered_nouns_that_decide_are_amber_and_named(real_data):
    case = Case("sst2", cue="nouns", options=SIXTEEN, share=0.6)

    row = audit_case(case, 200, 1, real_data)

    assert row["truth"] > 0.5
    assert row["color"] == "amber"
    assert row["is_named"]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("cue", "options"), [("nouns", SIXTEEN), ("topics", (("position", "any"),))]
)
def test_a_set_of_words_that_decides_a_third_is_amber_and_named(real_data, cue, options):
    case = Case("sst2", cue=cue, options=options, share=0.3)

    row = audit_case(case, 400, 1, real_data)

    assert 0.3 < row["truth"] < 0.5
    assert row["color"] == "amber"
    assert row["is_named"]


@pytest.mark.real_data
def test_a_model_is_not_green_without_training_texts(real_data):
    case = Case("sst2", reader="lexicon", has_training=False)

    row = audit_case(case, 200, 1, real_data)

    assert row["color"] in ("gray", "amber")


@pytest.mark.real_data
def test_a_reader_of_emoticons_is_not_red(real_data):
    signs = (("signs", (":(", ":)")),)
    case = Case("sst2", cue="signs", options=signs, share=0.85, coverage=0.6, is_reason=True)

    assert audit_case(case, 200, 1, real_data)["color"] != "red"


def test_every_case_has_a_name_of_its_own():
    names = [case.name for case in list_cases()]

    assert len(set(names)) == len(names)
    assert {case.script for case in list_cases()} == {"", *ALPHABETS}


@pytest.mark.parametrize("name", sorted(ALPHABETS))
def test_a_script_has_a_letter_for_each_latin_one(name):
    written = Script(name).write("The quick brown fox")

    assert not any(letter.isascii() and letter.isalpha() for letter in written)
    assert (" " in written) == Script(name).has_spaces


def test_the_page_counts():
    follower, reader = "probes: always A", "probes: reads the question"
    scenarios = {name: choices.SCENARIOS[name] for name in (follower, reader)}
    outcomes = [
        Outcome(follower, 200, 0, "warn"),
        Outcome(follower, 200, 1, "good"),
        Outcome(follower, 200, 2, "bad"),
        Outcome(reader, 200, 0, "neutral"),
        Outcome(reader, 200, 1, "good"),
    ]

    text = "\n".join(format_summary(outcomes, scenarios))

    assert "| probes | 1 of 3 | 0 of 2 | 2 of 3 | 1 of 5 | 0.75 |" in text
    # Of the 3 * 2 pairs, the follower is worse in 2 + 2, and in one pair with its green one there
    # is a tie: 4.5 / 6.
    followers = [LEVELS[tone] for tone in ("warn", "good", "bad")]
    assert rank_auroc(followers, [LEVELS["neutral"], LEVELS["good"]]) == 0.75
