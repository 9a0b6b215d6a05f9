"""Whether a single path is a model, data or predictions, and which inputs are incomplete."""

from __future__ import annotations

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.joined_files import JoinedFiles
from rightreasons.io.options import StoredOptions
from rightreasons.models.wording import Prompt
from rightreasons.report.request import is_table, join_answers, resolve_inputs


def resolve(model=None, dataset=None, predictions=None):
    return resolve_inputs(model, dataset, predictions, StoredOptions(), Prompt())


def test_a_single_file_is_a_file_of_predictions(tmp_path):
    table = tmp_path / "scores.txt"
    table.write_text("a,b\n")
    weights = tmp_path / "model.gguf"
    weights.touch()

    assert resolve(str(table)) == (None, None, str(table))
    # A missing table is one by its suffix.
    assert resolve("missing.csv") == (None, None, "missing.csv")
    assert resolve("model", "data") == ("model", "data", None)
    assert resolve("data.csv", predictions="scores.csv") == (None, "data.csv", "scores.csv")
    for model in ("org/model", weights):
        with pytest.raises(OptionError) as error:
            resolve(model)
        assert error.value.option == ("predictions",)


def test_inputs_have_to_be_complete():
    for inputs in ({}, {"dataset": "data"}, {"model": "m", "dataset": "d", "predictions": "p"}):
        with pytest.raises(OptionError) as error:
            resolve(**inputs)
        assert error.value.option == ("predictions",)


@pytest.mark.parametrize(
    ("options", "predictions", "names"),
    [
        ({"items": "i"}, None, ("items",)),
        ({"answers": "a"}, None, ("answers",)),
        ({"items": "i", "answers": "a"}, "p", ("items", "answers")),
        ({"join": "id"}, None, ("join",)),
    ],
)
def test_items_and_answers_are_joined_in_pairs(options, predictions, names):
    with pytest.raises(OptionError) as error:
        join_answers(predictions, StoredOptions(**options))
    assert error.value.option == names


def test_joined_files_replace_predictions():
    joined = join_answers(None, StoredOptions(items="i", answers="a", join="id"))

    assert joined == JoinedFiles("i", "a", "id")
    assert join_answers("p", StoredOptions()) == "p"


@pytest.mark.parametrize(("source", "expected"), [("x", False), (None, False), ({"a": [1]}, True)])
def test_a_table_in_memory_is_no_path(source, expected):
    assert is_table(source) is expected
