"""Figures in torchmetrics: batches and merged states give the figures of all items, as a peer counts them."""

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import multiclass_calibration_error

from rightreasons.training import compute_metrics
from rightreasons.training.torchmetrics import Figures

NAMES = ("accuracy", "ece", "brier", "auroc")


@pytest.fixture
def items():
    draw = torch.Generator().manual_seed(3)
    return torch.randn(97, 3, generator=draw), torch.randint(0, 3, (97,), generator=draw)


def test_batches_give_the_figures_of_all_items(items):
    logits, labels = items
    figures = Figures(*NAMES, n_bins=10)
    for batch in torch.arange(97).split(20):  # the last batch has 17
        figures.update(logits[batch], labels[batch])
    found = {name: float(value) for name, value in figures.compute().items()}
    assert found == pytest.approx(
        compute_metrics(*NAMES, n_bins=10)((logits.numpy(), labels.numpy())), abs=1e-6
    )
    peer = multiclass_calibration_error(logits.softmax(-1), labels, num_classes=3, n_bins=10)
    assert found["ece"] == pytest.approx(float(peer), abs=1e-6)


def test_states_of_processes_are_joined_and_reset(items):
    logits, labels = items
    first, second = Figures("ece"), Figures("ece")
    first.update(logits[:30], labels[:30])
    second.update(logits[30:], labels[30:])
    first.merge_state(second)
    whole = Figures("ece")
    whole.update(logits, labels)
    assert first.compute() == whole.compute()
    whole.reset()
    whole.update(torch.tensor([[0.0, 50.0]]), torch.tensor([1]))
    assert float(whole.compute()["ece"]) == pytest.approx(0.0)


def test_an_undefined_figure_is_not_a_number_and_a_wrong_name_one_sentence(items):
    figures = Figures("auroc")
    figures.update(torch.tensor([[0.0, 1.0]]), torch.tensor([1]))  # no wrong answer
    assert np.isnan(float(figures.compute()["auroc"]))
    with pytest.raises(ValueError, match="Did you mean 'ece'"):
        Figures("eec")


def test_batches_of_other_widths_are_told_before_they_are_joined():
    figures = Figures("accuracy")
    figures.update(torch.zeros(2, 3), torch.tensor([0, 1]))
    with pytest.raises(
        ValueError,
        match="3 columns",
    ):
        figures.update(torch.zeros(1, 2), torch.tensor([0]))
