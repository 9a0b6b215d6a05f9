"""Tiny encoders that the tests of training share."""

import pytest

from tiny_models import save_tiny_encoder


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"))
