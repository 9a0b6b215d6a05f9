"""Logs with recorded answers: which options of the questions an audit takes."""

from rightreasons.audited.recorded import RecordSettings
from rightreasons.audited.recorded_logs import RecordedLog
from rightreasons.probes.options import ProbesOptions
from rightreasons.ways.options import WaysOptions


def make_log(questions):
    """Return a log with recorded answers to questions, by their options."""
    settings = RecordSettings(
        questions=questions,
        prompt={},
        abilities=("next_words",),
        has_template=True,
        is_single_pass=False,
        seed=0,
    )
    return RecordedLog("log.eval", scorer=None, items=None, settings=settings)


def test_default_options_of_questions_that_a_log_lacks_are_no_choice():
    log = make_log({"ways": {"n_ways": 4}})

    # A command line has the options of all questions.
    options = log.choose_options(["ways"], {"probes": ProbesOptions(), "ways": WaysOptions()})
    changed = log.choose_options(["ways"], {"probes": ProbesOptions(ks=(2,))})

    assert options == {"ways": {"n_ways": 4}}
    assert changed["probes"] == {"ks": (2,)}


def test_recorded_options_of_a_question_that_is_not_answered_are_left_out():
    log = make_log({"ways": {"n_ways": 4}, "probes": {"ks": [1]}})

    options = log.choose_options(["probes", "cues"], None)

    assert options == {"probes": {"ks": [1]}}
