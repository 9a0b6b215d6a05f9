"""Logs with recorded answers: which options of the questions an audit takes."""

from rightreasons.audited.recorded import RecordSettings
from rightreasons.audited.recorded_logs import RecordedLog
from rightreasons.probes.options import ProbesOptions
from rightreasons.ways.options import WaysOptions


def test_default_options_of_questions_that_a_log_lacks_are_no_choice():
    settings = RecordSettings(
        questions={"ways": {"n_ways": 4}},
        prompt={},
        abilities=("next_words",),
        has_template=True,
        is_single_pass=False,
        seed=0,
    )
    log = RecordedLog("log.eval", scorer=None, items=None, settings=settings)

    # A command line has the options of all questions.
    options = log.choose_options({"probes": ProbesOptions(), "ways": WaysOptions()})

    assert options == {"ways": {"n_ways": 4}}
    assert log.choose_options({"probes": ProbesOptions(ks=(2,))})["probes"] == {"ks": (2,)}
