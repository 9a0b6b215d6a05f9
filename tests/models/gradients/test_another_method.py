"""The gradient method that the documentation writes from scratch works, in one sitting or in two."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from rightreasons.core.stopping import SetAsideWarning
from tiny_encoders import TEXTS, tiny_encoder

PAGE = Path(__file__).parents[3] / "docs" / "attributions.md"


@pytest.fixture(scope="module")
def gradient_times_input():
    (code,) = re.findall(r"```python\n(import torch\n.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {}
    exec(code, names)
    return names["gradient_times_input"]


def test_equals_one_text_at_a_time_and_resumes(gradient_times_input, tmp_path, monkeypatch):
    classifier = tiny_encoder("bert", double=True)
    texts = list(TEXTS)
    words = gradient_times_input(classifier, texts, progress=False, out=tmp_path)
    for row, text in enumerate(texts):
        inputs = classifier.tokenizer(text, return_tensors="pt")
        embeddings = classifier.model.get_input_embeddings()(inputs.pop("input_ids")).detach().requires_grad_()
        probability = classifier.model(inputs_embeds=embeddings, **inputs).logits.softmax(-1).amax()
        (gradient,) = torch.autograd.grad(probability, embeddings)
        expected = (gradient * embeddings).sum(-1)[0, 1:-1].detach()  # each word of these texts is one piece
        np.testing.assert_allclose(words.scores[row], expected, atol=1e-9)
    monkeypatch.setattr(classifier.model, "forward", None)  # a second run asks the model nothing
    again = gradient_times_input(classifier, texts, progress=False, out=tmp_path)
    np.testing.assert_array_equal(again.scores.values, words.scores.values)
    with (
        pytest.warns(SetAsideWarning, match="differs in ids and texts"),
        pytest.raises(TypeError, match="not callable"),
    ):
        gradient_times_input(classifier, texts[:-1], progress=False, out=tmp_path)
