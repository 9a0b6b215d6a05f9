"""Results as plain values."""

import dataclasses
import json

import numpy as np
import pytest

from rightreasons.core.results import NOT_SERIALIZED, Result, to_plain_python


@dataclasses.dataclass(frozen=True)
class Part(Result):
    share: float
    pixels: object = dataclasses.field(default=None, metadata=NOT_SERIALIZED)


def test_nested_results_become_json():
    value = {1: [Part(np.float32(0.5), np.ones(3)), None], "x": (np.arange(2), True, "a")}

    plain = to_plain_python(value)

    assert plain == {"1": [{"share": 0.5}, None], "x": [[0, 1], True, "a"]}
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("nan"), [1.0, -np.inf]])
def test_undefined_figures_are_refused(value):
    with pytest.raises(ValueError, match="finite"):
        to_plain_python(value)


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j])
def test_values_without_a_plain_form_are_refused(value):
    with pytest.raises(TypeError, match="plain value"):
        to_plain_python(value)
