"""Options of prompts: their defaults, limits and conflicts."""

from __future__ import annotations

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.models.wording import Prompt, Wording


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"label_words": ("yes", " ")}, ("label_words",)),
        ({"label_words": ("yes", "yes")}, ("label_words",)),
        ({"shots": -1}, ("shots",)),
        ({"style": "roman"}, ("style",)),
        ({"scoring": "best"}, ("scoring",)),
        ({"chat": "maybe"}, ("chat",)),
        ({"form": "long"}, ("form",)),
        ({"repair": "maybe"}, ("repair",)),
        ({"pattern": "("}, ("pattern",)),
        ({"max_new_tokens": 0}, ("max_new_tokens",)),
        ({"samples": 0}, ("samples",)),
        ({"temperature": -0.5}, ("temperature",)),
        ({"top_p": 0.0}, ("top_p",)),
        ({"top_p": 1.5}, ("top_p",)),
        ({"thinking": "some"}, ("thinking",)),
        ({"thinking": "0"}, ("thinking",)),
        ({"thinking": "-1"}, ("thinking",)),
        # Patterns and samples have no effect on likelihoods.
        ({"pattern": "x", "scoring": "sum"}, ("scoring",)),
        ({"samples": 2, "scoring": "next_words"}, ("scoring",)),
    ],
)
def test_options_outside_of_their_limits_are_refused(options, names):
    with pytest.raises(OptionError) as error:
        Prompt(**options)
    assert error.value.option == names


@pytest.mark.parametrize(
    "options",
    [
        {"label_words": ("yes", "no")},
        {"shots": 0},
        {"max_new_tokens": 1},
        {"samples": 1, "scoring": "sum"},
        {"samples": 2, "scoring": "generated"},
        {"samples": 2},
        {"pattern": "x", "scoring": "generated"},
        {"pattern": "x"},
        {"temperature": 0.0},
        {"top_p": 0.01},
        {"top_p": 1.0},
        {"thinking": "1"},
        {"thinking": "on"},
    ],
)
def test_options_at_their_limits_are_accepted(options):
    assert Prompt(**options).get_changes().keys() <= options.keys()


def test_defaults_leave_most_settings_to_the_task():
    prompt = Prompt()

    assert (prompt.shots, prompt.samples, prompt.top_p) == (0, 1, 1.0)
    assert (prompt.max_new_tokens, prompt.temperature, prompt.pattern) == (None, None, None)
    assert {prompt.style, prompt.chat, prompt.scoring, prompt.form, prompt.thinking} == {"auto"}
    assert Wording().label_words == ()
