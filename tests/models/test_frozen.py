"""A frozen model has no gradients of parameters, and is restored afterwards."""

import pytest
import torch
from transformers import BertForSequenceClassification

from rightreasons.models.batching import frozen
from tiny_models import tiny_config


@pytest.fixture
def model():
    model = BertForSequenceClassification(tiny_config()).train()
    model.bert.embeddings.requires_grad_(False)
    model.bert.encoder.layer[0].eval()
    return model


def get_state(model):
    """Return the modes of all modules, and whether and where each parameter has gradients."""
    modes = [module.training for module in model.modules()]
    parameters = [(parameter.requires_grad, parameter.device) for parameter in model.parameters()]
    return modes, parameters


def test_a_frozen_model_is_restored(model):
    state = get_state(model)

    with frozen(model) as frozen_model:
        assert frozen_model is model
        assert not any(module.training for module in model.modules())
        assert not any(parameter.requires_grad for parameter in model.parameters())

    assert get_state(model) == state


def test_a_frozen_model_is_restored_after_an_error(model):
    state = get_state(model)

    with pytest.raises(RuntimeError, match="inside"), frozen(model):
        raise RuntimeError("inside")

    assert get_state(model) == state


def test_gradients_flow_to_the_input_and_to_no_parameter(model):
    with frozen(model):
        inputs = torch.zeros(1, 4, model.config.hidden_size, requires_grad=True)
        model(inputs_embeds=inputs).logits[0, 0].backward()

    assert inputs.grad is not None
    assert all(parameter.grad is None for parameter in model.parameters())
