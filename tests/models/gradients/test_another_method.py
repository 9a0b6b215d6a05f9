"""A gradient method of one's own works by `Items.run`, in one sitting or in two."""

import numpy as np
import pytest
import torch

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.gradients.words import merge_pieces
from rightreasons.models.items import Items
from tiny_encoders import TEXTS, tiny_encoder


def multiply_gradient_by_input(classifier, texts, *, progress=True, out=None):
    items = Items.of(classifier, texts)
    embedding_input = EmbeddingInput(classifier.model)

    def compute(inputs, batch):
        embeddings = embedding_input.look_up(inputs["input_ids"]).requires_grad_()
        with torch.enable_grad():
            probabilities = embedding_input.logits(embeddings, inputs).softmax(-1)
            largest = probabilities.amax(-1)
            (gradient,) = torch.autograd.grad(largest.sum(), embeddings)
        items.check_finite(largest.isfinite().cpu().numpy(), batch)
        is_token = inputs["attention_mask"].bool().cpu().numpy()
        scores = (gradient * embeddings.detach()).sum(-1).double().cpu().numpy()
        return {"scores": Ragged.of(scores[is_token], is_token.sum(axis=1))}

    columns = items.run("gradient times input", compute, progress=progress, out=out)
    return merge_pieces(items, columns.ragged("scores").values, unit="word", merge="sum")


def test_equals_one_text_at_a_time_and_resumes(tmp_path, monkeypatch):
    classifier = tiny_encoder("bert", double=True)
    model = classifier.model
    texts = list(TEXTS)

    words = multiply_gradient_by_input(classifier, texts, progress=False, out=tmp_path)

    for row, text in enumerate(texts):
        inputs = classifier.tokenizer(text, return_tensors="pt")
        ids = inputs.pop("input_ids")
        embeddings = model.get_input_embeddings()(ids).detach().requires_grad_()
        probability = model(inputs_embeds=embeddings, **inputs).logits.softmax(-1).amax()
        (gradient,) = torch.autograd.grad(probability, embeddings)
        scores = (gradient * embeddings).detach().sum(-1)
        # Between [CLS] and [SEP], each word of these texts is one piece.
        np.testing.assert_allclose(words.scores[row], scores[0, 1:-1], atol=1e-9)

    # A second run asks the model nothing.
    monkeypatch.setattr(model, "forward", None)
    resumed = multiply_gradient_by_input(classifier, texts, progress=False, out=tmp_path)
    np.testing.assert_array_equal(resumed.scores.values, words.scores.values)
    with (
        pytest.warns(SetAsideWarning, match="differs in ids and texts"),
        pytest.raises(TypeError, match="not callable"),
    ):
        multiply_gradient_by_input(classifier, texts[:-1], progress=False, out=tmp_path)
