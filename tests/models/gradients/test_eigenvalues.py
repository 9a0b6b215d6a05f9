"""Largest eigenvalues of the Fisher information, against its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rightreasons.core.errors import OptionError
from rightreasons.models.gradients.eigenvalues import (
    GRAM_CLASSES,
    FisherOptions,
    compute_leading_eigenvalues,
)


def make_logits(n_classes=3, shape=(2, 4), seed=0):
    """Return logits, which are not linear in their inputs, and the inputs."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
    size = inputs[0].numel()
    weights = torch.randn((size, n_classes), generator=generator, dtype=torch.float64)
    return torch.tanh(inputs.flatten(1) @ weights) * 2, inputs


def compute_fisher(logits, inputs):
    """Return the Fisher information of each item, by its definition."""
    matrices = []
    for item in range(len(logits)):
        p = logits[item].detach().softmax(0)
        matrix = 0
        for k in range(logits.shape[1]):
            log_p = logits[item].log_softmax(0)[k]
            (gradient,) = torch.autograd.grad(log_p, inputs, retain_graph=True)
            flat = gradient[item].flatten()
            matrix = matrix + p[k] * torch.outer(flat, flat)
        matrices.append(matrix.numpy())
    return matrices


@pytest.mark.parametrize("method", ["gram", "power"])
@pytest.mark.parametrize(("n_classes", "shape"), [(2, (2, 4)), (3, (2, 4)), (4, (3, 2, 3))])
def test_the_largest_eigenvalue_is_that_of_the_definition(method, n_classes, shape):
    logits, inputs = make_logits(n_classes, shape)
    matrices = compute_fisher(logits, inputs)
    predicted = logits.argmax(dim=1)
    log_p = logits.log_softmax(1)[torch.arange(len(logits)), predicted].sum()
    (gradients,) = torch.autograd.grad(log_p, inputs, retain_graph=True)

    result = compute_leading_eigenvalues(
        logits, inputs, method=method, eigenvector=True, tolerance=1e-9, max_iterations=10_000
    )

    expected = [np.linalg.eigvalsh(matrix)[-1] for matrix in matrices]
    np.testing.assert_allclose(result.eigenvalues, expected, rtol=1e-6)
    np.testing.assert_allclose(result.gradient_norms, gradients.flatten(1).norm(dim=1), rtol=1e-6)
    for item, matrix in enumerate(matrices):
        vector = result.eigenvector[item].flatten().numpy()
        assert np.linalg.norm(vector) == pytest.approx(1)
        np.testing.assert_allclose(matrix @ vector, expected[item] * vector, atol=1e-5)
    assert result.eigenvector.shape == inputs.shape
    assert bool((result.error == 0).all()) is (method == "gram")
    assert float(result.error.max()) < 1e-6


def test_all_eigenvalues_are_returned_if_they_are_requested():
    logits, inputs = make_logits(4)
    matrices = compute_fisher(logits, inputs)

    result = compute_leading_eigenvalues(logits, inputs, spectrum=True)

    expected = [np.linalg.eigvalsh(matrix)[::-1][:3] for matrix in matrices]
    np.testing.assert_allclose(result.spectrum, expected, atol=1e-9)
    assert result.eigenvector is None


def test_an_item_with_nan_leaves_the_others():
    logits, inputs = make_logits(3)
    expected = compute_leading_eigenvalues(logits, inputs).eigenvalues[1]
    logits, inputs = make_logits(3)
    broken = logits * torch.tensor([[torch.nan], [1.0]], dtype=torch.float64)

    result = compute_leading_eigenvalues(broken, inputs, method="gram")

    assert torch.isnan(result.eigenvalues).tolist() == [True, False]
    assert float(result.eigenvalues[1]) == pytest.approx(float(expected))


def test_iteration_ends_after_its_rounds():
    logits, inputs = make_logits(3)

    one = compute_leading_eigenvalues(logits, inputs, method="power", max_iterations=1)
    logits, inputs = make_logits(3)
    many = compute_leading_eigenvalues(logits, inputs, method="power", tolerance=1e-6)

    assert float(one.error.max()) > float(many.error.max())
    assert bool((many.error <= 1e-6 * many.eigenvalues).all())


@pytest.mark.parametrize(
    ("options", "n_classes", "expected"),
    [
        ({}, GRAM_CLASSES, False),
        ({}, GRAM_CLASSES + 1, True),
        ({"spectrum": True}, GRAM_CLASSES + 1, False),
        ({"method": "power"}, 2, True),
        ({"method": "gram"}, 1000, False),
    ],
)
def test_many_classes_are_iterated(options, n_classes, expected):
    assert FisherOptions(**options).uses_iteration(n_classes) is expected


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"spectrum": True, "method": "power"}, "method"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"method": "qr"}, "method"),
    ],
)
def test_options_of_the_eigenvalues_are_checked(options, name):
    with pytest.raises(OptionError) as error:
        FisherOptions(**options)
    assert error.value.option == (name,)
    assert FisherOptions(tolerance=0.0, max_iterations=1).tolerance == 0.0
    assert (FisherOptions().tolerance, FisherOptions().max_iterations) == (1e-4, 100)
