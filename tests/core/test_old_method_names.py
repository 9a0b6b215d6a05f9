"""Earlier names of public methods call the methods under their new names, and warn."""

import numpy as np
import pytest

import rightreasons
from rightreasons.core.resampling import Resampling
from rightreasons.models import Prompt

ROWS = rightreasons.Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1])

OLD_AND_NEW_NAMES = [
    (ROWS, "row_of", "find_row", (2,), {}),
    (Prompt, "names", "list_names", (), {}),
    (Prompt(), "replaced", "replace", (), {"shots": 2}),
    (Prompt(shots=2), "changed", "get_changes", (), {}),
    (Prompt(shots=2), "flags", "to_flags", (), {}),
    (Resampling, "of", "from_options", (0.9, 100, 1), {}),
    (Resampling(resamples=10), "parts", "split_into_blocks", (1000, 4000), {}),
    (Resampling(), "at_most", "limit_resamples", (100,), {}),
    (Resampling(), "of_family", "correct_for_tests", (2,), {}),
]


@pytest.mark.parametrize(
    ("owner", "old_name", "new_name", "arguments", "options"), OLD_AND_NEW_NAMES
)
def test_an_earlier_name_warns_and_calls_the_method(owner, old_name, new_name, arguments, options):
    expected = getattr(owner, new_name)(*arguments, **options)

    with pytest.warns(FutureWarning, match=f"now .*{new_name}") as caught:
        result = getattr(owner, old_name)(*arguments, **options)

    assert result == expected
    # The warning is about the line of the caller.
    assert caught[0].filename == __file__
