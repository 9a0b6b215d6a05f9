"""The packaged encoder as a classifier."""

import pytest
import torch
import transformers

from rightreasons.models.loading import Classifier, load_tokenizer
from rightreasons.models.scorers import demo_encoder


@pytest.fixture(scope="session")
def packaged_classifier():
    try:
        folder = demo_encoder()
    except ImportError as error:
        pytest.skip(str(error))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=3
        )
        with torch.no_grad():  # a head whose answers differ from text to text
            model.classifier.weight.normal_(0, 1.0)
    return Classifier(model.eval(), load_tokenizer(str(folder)), ("a", "b", "c"), "MiniLM")
