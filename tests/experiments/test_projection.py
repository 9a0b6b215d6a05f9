"""Principal components: scikit-learn's, signs and the edge cases apart."""

import numpy as np
import pytest
from projection import principal_components, unit_rows
from sklearn.decomposition import PCA

VECTORS = np.random.default_rng(0).normal(size=(40, 7)) * np.arange(1, 8)


@pytest.mark.parametrize("normalize", [True, False])
def test_equals_scikit_learn(normalize):
    found = principal_components(VECTORS, n=3, normalize=normalize)
    rows = unit_rows(VECTORS) if normalize else VECTORS
    peer = PCA(n_components=3, svd_solver="full").fit(rows)
    np.testing.assert_allclose(found.explained, peer.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(found.points), np.abs(peer.transform(rows)), atol=1e-10)
    np.testing.assert_allclose(found.apply(VECTORS, normalize=normalize), found.points, atol=1e-12)


def test_signs_are_fixed():
    found = principal_components(VECTORS)
    largest = np.abs(found.axes).argmax(axis=1)
    assert (found.axes[[0, 1], largest] > 0).all()
    np.testing.assert_allclose(principal_components(VECTORS[::-1]).axes, found.axes, atol=1e-10)


def test_a_vector_of_zeros_stays():
    assert unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0.0, 0.0], [0.6, 0.8]]


@pytest.mark.parametrize(
    ("vectors", "n", "message"),
    [
        ([[1.0, 2.0]], 1, "N of at least 2"),
        ([1.0, 2.0], 1, "shape"),
        ([[1.0, np.nan], [1.0, 2.0]], 1, "row 0 holds others"),
        ([[1.0, 2.0], [1.0, 3.0]], 3, "at most 2"),
        ([[1.0, 2.0], [2.0, 4.0]], 1, "all of `vectors` are the same"),
    ],
)
def test_one_sentence(vectors, n, message):
    with pytest.raises(ValueError, match=message):
        principal_components(vectors, n=n)
