"""A model that follows planted words, and the report that names them."""

import pytest

from repairs.reviews import audit_reviews, fit, write_reviews


@pytest.fixture(scope="session")
def audited(tmp_path_factory):
    """A model that follows the words, its training texts, and the report that names them."""
    pytest.importorskip("sklearn")
    train = write_reviews(1500, 0)
    model = fit(train)
    out = tmp_path_factory.mktemp("audited") / "report"
    audit_reviews(model, train, out)
    return model, train, out
