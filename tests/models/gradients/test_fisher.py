"""Fisher eigenvalues against Algorithm 1 done literally, worked values, measured divergence, and bad items."""

import dataclasses
import warnings

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from rightreasons.core.errors import OptionError
from rightreasons.models.gradients.fisher import compute_leading_eigenvalues, fisher_information
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.loading import Classifier, load_classifier
from tiny_encoders import ARCHITECTURES, TEXTS, refusing, tiny_encoder

PROMPTS = ["the man fell because", "the glass broke"]
ENDINGS = [["of the rain", "the floor was dry"], ["so it fell", "because of the man", "not good"]]


def literal(classifier, inputs):
    """Algorithm 1: the whole matrix G over all real embeddings of one item, its eigenvalues and leading eigenvector."""
    feed = EmbeddingInput(classifier.model)
    x = feed.look_up(inputs["input_ids"]).requires_grad_()

    def log_p(x):
        with feed.feed(x, inputs):
            return classifier.model(**inputs).logits[0].log_softmax(-1)

    jacobian = torch.autograd.functional.jacobian(log_p, x).flatten(1).double()
    p = log_p(x).detach().double().exp()
    matrix = (p[:, None] * jacobian).T @ jacobian
    values, vectors = torch.linalg.eigh(matrix)
    return values.numpy(), vectors[:, -1].view(x.shape), p.numpy()


def sequence(classifier, text):
    return dict(classifier.tokenizer(text, return_tensors="pt"))


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_equals_algorithm_1_on_padded_batches(architecture, n_labels, double):
    classifier = tiny_encoder(architecture, n_labels=n_labels, double=double)
    information = fisher_information(
        classifier, TEXTS, eigenvector=True, spectrum=True, batch_size=4, progress=False
    )
    assert not information.failures
    for index, text in enumerate(TEXTS[:4]):
        values, vector, p = literal(classifier, sequence(classifier, text))
        assert information.eigenvalues[index] == pytest.approx(values[-1], rel=1e-4)
        # The other eigenvalues of the whole matrix are 0.
        spectrum = values[::-1][: n_labels - 1]
        assert information.spectrum[index] == pytest.approx(spectrum, rel=1e-3, abs=1e-6)
        norms = vector[0].norm(dim=-1).numpy()
        added = [part is None for part in classifier.tokenizer(text).sequence_ids(0)]
        plain = norms[[not flag for flag in added]]
        assert information.token_norms[index] == pytest.approx(plain, abs=2e-3)
        softmax = np.exp(information.logits[index] - information.logits[index].max())
        assert softmax / softmax.sum() == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_power_iteration_agrees_and_states_its_error(n_labels):
    classifier = tiny_encoder("bert", n_labels=n_labels)
    exact = fisher_information(classifier, TEXTS, eigenvector=True, progress=False)
    power = fisher_information(
        classifier,
        TEXTS,
        method="power",
        eigenvector=True,
        tolerance=1e-5,
        max_iterations=400,
        progress=False,
    )
    assert power.eigenvalues == pytest.approx(exact.eigenvalues, rel=1e-3)
    assert (
        np.abs(power.eigenvalues - exact.eigenvalues) <= power.error + 1e-5 * exact.eigenvalues
    ).all()
    assert power.gradient_norms == pytest.approx(exact.gradient_norms, rel=1e-4)
    assert (exact.error == 0).all()


def test_power_iteration_goes_on_until_every_item_has_converged():
    # At z = 0 the matrix of item i is W_i (I/3 - 1/9) W_i^T. Item 0 has one direction: done at once. The two leading
    # eigenvalues of item 1 are close, so it takes many rounds.
    weights = torch.tensor(
        [[[3.0, 0.0, 0.0], [0.0] * 3], [[1.0, 0.0, -1.0], [0.55, -1.1, 0.55]]]
    ).double()
    x = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    logits = (
        torch.einsum("bi,bik->bk", x, weights) + torch.tensor([[0.0] * 3, [0.3, 0.1, 0.0]]).double()
    )
    found = compute_leading_eigenvalues(
        logits, x, method="power", tolerance=1e-8, max_iterations=5000
    )
    assert (found.error <= 1e-8 * found.eigenvalues).all()
    assert found.eigenvalues.tolist() == pytest.approx(
        compute_leading_eigenvalues(logits, x).eigenvalues.tolist(), rel=1e-8
    )


def test_very_many_classes_take_power_iteration():
    classifier = tiny_encoder("bert", n_labels=60)
    information = fisher_information(classifier, TEXTS[:2], max_iterations=300, progress=False)
    for index in range(2):
        values, _, _ = literal(classifier, sequence(classifier, TEXTS[index]))
        assert (
            abs(information.eigenvalues[index] - values[-1])
            <= information.error[index] + 1e-3 * values[-1]
        )


def test_worked_values():
    # One logit z = w.x against 0, w = (3, 4): p (1 - p) |w|^2. z = 0: 25 / 4. z = 2: p = .880797, so 25 * .104994.
    weights = torch.tensor([[0.0, 3.0], [0.0, 4.0]], dtype=torch.float64)
    x = torch.tensor(
        [[0.0, 0.0], [0.24, 0.32], [-0.24, -0.32]], dtype=torch.float64, requires_grad=True
    )
    found = compute_leading_eigenvalues(x @ weights, x).eigenvalues
    assert found.tolist() == pytest.approx([6.25, 2.624840, 2.624840], abs=1e-6)
    # Three classes, W = [[1, 0], [0, 1], [-1, -1]], x = (.5, -.25).
    weights = torch.tensor([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]], dtype=torch.float64)
    x = torch.tensor([[0.5, -0.25]], dtype=torch.float64, requires_grad=True)
    for how in ({"method": "gram"}, {"method": "power", "tolerance": 1e-9}):
        information = compute_leading_eigenvalues(x @ weights, x, eigenvector=True, **how)
        assert information.eigenvalues.item() == pytest.approx(0.846882, abs=1e-6)
        # KL at 1e-3 along the eigenvector is 4.2359e-7, half lambda eps^2 is 4.2344e-7; which of the two signs the
        # eigenvector has decides the third-order term.
        step = 1e-3 * information.eigenvector
        log_p = (x.detach() @ weights).log_softmax(-1)
        kl = [
            float(
                (log_p.exp() * (log_p - ((x.detach() + s * step) @ weights).log_softmax(-1))).sum()
            )
            for s in (1, -1)
        ]
        assert max(kl) == pytest.approx(4.2359e-7, rel=1e-4)
        assert sum(kl) / 2 == pytest.approx(0.5 * information.eigenvalues.item() * 1e-6, rel=1e-4)


def test_measured_divergence_along_the_eigenvector():
    classifier = tiny_encoder("bert", n_labels=3, double=True)
    inputs = sequence(classifier, TEXTS[1])
    feed = EmbeddingInput(classifier.model)
    x = feed.look_up(inputs["input_ids"]).requires_grad_()

    def log_p(x):
        with feed.feed(x, inputs):
            return classifier.model(**inputs).logits.log_softmax(-1)

    with feed.feed(x, inputs):
        information = compute_leading_eigenvalues(
            classifier.model(**inputs).logits, x, eigenvector=True
        )
    assert information.eigenvector.norm().item() == pytest.approx(1)
    before = log_p(x).detach()
    random = torch.randn(x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    for epsilon in (1e-3, 1e-4):
        moved = [log_p(x + sign * epsilon * information.eigenvector).detach() for sign in (1, -1)]
        both = [float((before.exp() * (before - other)).sum()) for other in moved]
        half = 0.5 * information.eigenvalues.item() * epsilon**2
        assert sum(both) / 2 == pytest.approx(half, rel=1e-3)
        other = before.exp() * (before - log_p(x + epsilon * random / random.norm()).detach())
        assert float(other.sum()) < half


def test_bad_items_cost_no_other_its_result():
    classifier = tiny_encoder("bert", n_labels=2)
    clean = fisher_information(classifier, ["the film was good", "a dull plot"], progress=False)
    poisoned = classifier.tokenizer.convert_tokens_to_ids("awful")
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight[poisoned] = torch.nan
    texts = ["the film was good", "awful", "", "a dull plot"]
    information = fisher_information(classifier, texts, ids=["w", "x", "y", "z"], progress=False)
    assert [item for item, _ in information.failures] == ["x", "y"]
    assert "NaN or infinity for item 'x'" in information.failures[0][1]
    assert "item 'y' has none" in information.failures[1][1]
    assert np.isnan(information.eigenvalues[[1, 2]]).all()
    assert information.eigenvalues[[0, 3]] == pytest.approx(clean.eigenvalues, rel=1e-5)


@pytest.mark.parametrize("fail_fast", [False, True])
def test_items_that_the_model_cannot_read(fail_fast, tmp_path):
    classifier = tiny_encoder("bert", n_labels=3)
    texts, ids = ["the film was good", "awful plot", "a dull plot", "awful"], ["w", "x", "y", "z"]
    clean = fisher_information(classifier, texts, eigenvector=True, progress=False)
    how = {"ids": ids, "eigenvector": True, "fail_fast": fail_fast, "progress": False}
    with refusing(classifier, "awful"):
        if fail_fast:
            with pytest.raises(ValueError, match="batch: out of range"):
                fisher_information(classifier, texts, **how)
            return
        information = fisher_information(classifier, texts, out=tmp_path, **how)
    assert [item for item, _ in information.failures] == ["x", "z"]
    assert "fails at item 'x'" in information.failures[0][1]
    assert np.isnan(information.eigenvalues[[1, 3]]).all()
    for item in (0, 2):
        assert information.eigenvalues[item] == pytest.approx(clean.eigenvalues[item], rel=1e-5)
        assert information.token_norms[item] == pytest.approx(clean.token_norms[item], rel=1e-4)
        assert information.tokens[item] == clean.tokens[item]
    # The items that failed are stored, and not asked again.
    again = fisher_information(classifier, texts, out=tmp_path, **how)
    assert again.failures == information.failures


def test_a_model_that_refuses_inputs_embeds():
    class Strict(torch.nn.Module):
        """Takes token ids alone, as exported and home-made models do."""

        def __init__(self, model):
            super().__init__()
            self.inner, self.config, self.device = model, model.config, model.device

        def get_input_embeddings(self):
            return self.inner.get_input_embeddings()

        def forward(self, input_ids, attention_mask, token_type_ids=None):
            return self.inner(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            )

    class Tableless(Strict):
        def get_input_embeddings(self):
            raise NotImplementedError

    classifier = tiny_encoder("bert", n_labels=2)
    expected = fisher_information(classifier, TEXTS, progress=False)
    strict = Classifier(
        Strict(classifier.model), classifier.tokenizer, classifier.label_names, "strict"
    )
    information = fisher_information(strict, TEXTS, progress=False)
    assert information.eigenvalues == pytest.approx(expected.eigenvalues, rel=1e-6)
    tableless = Classifier(
        Tableless(classifier.model), classifier.tokenizer, classifier.label_names, "tableless"
    )
    with pytest.raises(ValueError, match=r"get_input_embeddings\(\) return"):
        fisher_information(tableless, TEXTS, progress=False)


def test_a_quantised_model():
    classifier = tiny_encoder("bert", n_labels=2)
    # The head is left as it is: logits still have a gradient, which goes around the quantised layers.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            classifier.model.bert = torch.ao.quantization.quantize_dynamic(
                classifier.model.bert, {torch.nn.Linear}
            )
        except RuntimeError as error:
            pytest.skip(f"torch has no quantised layers here: {error}")
    with pytest.raises(
        ValueError,
        match="quantized layer",
    ):
        fisher_information(classifier, TEXTS, progress=False)


@pytest.mark.parametrize("batch_size", [1, 8])
@pytest.mark.parametrize("empty_row", [0, 1, 2])
def test_empty_texts_without_special_tokens_have_no_result(empty_row, batch_size):
    classifier = tiny_encoder("roberta", n_labels=2)
    # The tokenizers of GPT-2 and Qwen add no special tokens either: an empty text has no tokens.
    classifier.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A")
    texts = ["the film was good", "a dull plot"]
    expected = fisher_information(classifier, texts, progress=False, batch_size=batch_size)
    texts.insert(empty_row, "")

    information = fisher_information(classifier, texts, progress=False, batch_size=batch_size)

    ((failed_id, reason),) = information.failures
    assert failed_id == str(empty_row)
    assert "has none" in reason
    assert np.flatnonzero(np.isnan(information.eigenvalues)).tolist() == [empty_row]
    remaining = np.delete(information.eigenvalues, empty_row)
    np.testing.assert_allclose(remaining, expected.eigenvalues, rtol=1e-5)


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "\x00\x01"])
def test_texts_that_are_empty_after_tokenization(text):
    classifier = tiny_encoder("bert", n_labels=2)
    information = fisher_information(
        classifier, ["the film was good", text], ids=["a", "b"], progress=False
    )
    assert information.failures == (("b", "Expected a text with tokens, but item 'b' has none."),)
    assert np.isfinite(information.eigenvalues[0])
    assert np.isnan(information.eigenvalues[1])


def test_a_classifier_takes_no_scores():
    classifier = tiny_encoder("bert", n_labels=2)
    scores = classifier.predict(TEXTS, progress=False)

    with pytest.raises(OptionError, match="no `scores`") as error:
        fisher_information(classifier, TEXTS, scores=scores, progress=False)
    assert error.value.option == ("scores",)


def test_a_model_through_which_no_gradient_flows():
    class Blind(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.inner, self.config, self.device = model, model.config, model.device

        def get_input_embeddings(self):
            return self.inner.get_input_embeddings()

        def forward(self, **inputs):
            output = self.inner(**inputs)
            output.logits = output.logits.detach()
            return output

    classifier = tiny_encoder("bert", n_labels=2)
    blind = Classifier(
        Blind(classifier.model), classifier.tokenizer, classifier.label_names, "blind"
    )
    with pytest.raises(ValueError, match="gradients to flow"):
        fisher_information(blind, ["the film"], progress=False)


def test_resumes_and_leaves_the_model_as_it_was(tmp_path):
    classifier = tiny_encoder("bert", n_labels=3)
    classifier.model.train()
    first = fisher_information(classifier, TEXTS, out=tmp_path, progress=False)
    again = fisher_information(classifier, TEXTS, out=tmp_path, progress=False)
    assert np.array_equal(first.eigenvalues, again.eigenvalues)
    assert classifier.model.training
    assert all(parameter.requires_grad for parameter in classifier.model.parameters())


def test_scale_free_does_not_see_the_size_of_embeddings():
    classifier = tiny_encoder("albert", n_labels=2)
    information = fisher_information(classifier, TEXTS[:2], progress=False)
    ids = classifier.tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]
    norm = EmbeddingInput(classifier.model).look_up(ids)[0].norm(dim=-1).mean().item()
    assert information.scale_free[0] == pytest.approx(
        information.eigenvalues[0] * norm**2, rel=1e-5
    )


def test_a_compiled_model_is_asked_without_its_compilation(classifier_folder):
    """A compiled graph does not see the hook that feeds embeddings."""
    plain = load_classifier(classifier_folder, device="cpu")
    compiled = dataclasses.replace(plain, model=torch.compile(plain.model, backend="eager"))
    want, came = (
        fisher_information(each, ["a good film"], progress=False) for each in (plain, compiled)
    )
    assert came.eigenvalues.tolist() == want.eigenvalues.tolist()
