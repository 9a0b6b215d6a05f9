"""Tiny models that the tests of the models wing share."""

import pytest

from tiny_models import save_tiny_classifier, save_tiny_encoder, save_tiny_multiple_choice


@pytest.fixture(scope="session")
def classifier_folder(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="session")
def choice_folder(tmp_path_factory):
    return save_tiny_multiple_choice(tmp_path_factory.mktemp("choice"))


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"))
