"""A new estimator is fitted on the repaired texts, with weights only if they say something."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.repairs.retraining import fit_clone, parse_command

TRAINING = SimpleNamespace(items=[("a",), ("b",), ("c",)], labels=np.array([1, 0, 1]))


class Estimator:
    """Keeps what it is fitted on; its labels are names."""

    classes_ = ("no", "yes")
    fitted = None

    def fit(self, texts, labels, **weights):
        self.fitted = (list(texts), list(labels), weights)
        return self


def test_equal_weights_are_not_given():
    estimator = Estimator()

    clone = fit_clone(estimator, TRAINING, np.ones(3))

    assert clone.fitted == (["a", "b", "c"], ["yes", "no", "yes"], {})
    assert estimator.fitted is None


def test_one_other_weight_is_enough_to_give_all():
    clone = fit_clone(Estimator(), TRAINING, np.array([1.0, 2.0, 1.0]))

    assert clone.fitted[2]["sample_weight"].tolist() == [1, 2, 1]


def test_a_pipeline_hands_weights_to_its_last_step():
    pipeline = Estimator()
    pipeline.steps = [("words", None), ("model", None)]

    clone = fit_clone(pipeline, TRAINING, np.array([1.0, 2.0, 1.0]))

    assert list(clone.fitted[2]) == ["model__sample_weight"]


@pytest.mark.parametrize("command", ["", "fine-tune", "train demo", "fine-tune 'demo"])
def test_another_command_than_fine_tune_with_a_model_is_refused(command):
    with pytest.raises(OptionError, match="a command") as error:
        parse_command(command)

    assert error.value.option == ("retrain",)
