"""Fisher eigenvalues equal those of Algorithm 1, worked values and measured divergences; failed items cost no other."""

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


def compute_algorithm_1(classifier, inputs):
    """Return the eigenvalues of the whole matrix G over all embeddings of one item, its leading eigenvector and p."""
    feed = EmbeddingInput(classifier.model)
    x = feed.look_up(inputs["input_ids"]).requires_grad_()

    def compute_log_p(x):
        with feed.feed(x, inputs):
            return classifier.model(**inputs).logits[0].log_softmax(-1)

    jacobian = torch.autograd.functional.jacobian(compute_log_p, x).flatten(1).double()
    p = compute_log_p(x).detach().double().exp()
    matrix = (p[:, None] * jacobian).T @ jacobian
    values, vectors = torch.linalg.eigh(matrix)
    return values.numpy(), vectors[:, -1].view(x.shape), p.numpy()


def tokenize(classifier, text):
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
        values, vector, p = compute_algorithm_1(classifier, tokenize(classifier, text))
        assert information.eigenvalues[index] == pytest.approx(values[-1], rel=1e-4)
        # The other eigenvalues of the whole matrix are 0.
        spectrum = values[::-1][: n_labels - 1]
        assert information.spectrum[index] == pytest.approx(spectrum, rel=1e-3, abs=1e-6)
        norms = vector[0].norm(dim=-1).numpy()
        is_word = [sequence is not None for sequence in classifier.tokenizer(text).sequence_ids(0)]
        assert information.token_norms[index] == pytest.approx(norms[is_word], abs=2e-3)
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
    differences = np.abs(power.eigenvalues - exact.eigenvalues)
    assert (differences <= power.error + 1e-5 * exact.eigenvalues).all()
    assert power.gradient_norms == pytest.approx(exact.gradient_norms, rel=1e-4)
    assert (exact.error == 0).all()


def test_power_iteration_continues_until_every_item_has_converged():
    # At z = 0 the matrix of item i is W_i (I/3 - 1/9) W_i^T. Item 0 has one direction, and converges
    # at once. The two leading eigenvalues of item 1 are close, so it takes many rounds.
    weights = torch.tensor(
        [[[3.0, 0.0, 0.0], [0.0] * 3], [[1.0, 0.0, -1.0], [0.55, -1.1, 0.55]]]
    ).double()
    bias = torch.tensor([[0.0] * 3, [0.3, 0.1, 0.0]]).double()
    x = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    logits = torch.einsum("bi,bik->bk", x, weights) + bias

    power = compute_leading_eigenvalues(
        logits, x, method="power", tolerance=1e-8, max_iterations=5000
    )

    assert (power.error <= 1e-8 * power.eigenvalues).all()
    exact = compute_leading_eigenvalues(logits, x).eigenvalues.tolist()
    assert power.eigenvalues.tolist() == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("method", ["gram", "power"])
def test_logits_that_ignore_the_input_have_no_information(method, dtype):
    x = torch.ones(2, 3, dtype=dtype, requires_grad=True)
    logits = x @ torch.zeros(3, 4, dtype=dtype) + torch.arange(4, dtype=dtype)

    eigenvalues = compute_leading_eigenvalues(logits, x, method=method).eigenvalues

    # All gradients are 0, and so is their matrix.
    assert eigenvalues.tolist() == [0.0, 0.0]


def test_very_many_classes_use_power_iteration():
    classifier = tiny_encoder("bert", n_labels=60)

    information = fisher_information(classifier, TEXTS[:2], max_iterations=300, progress=False)

    for index, text in enumerate(TEXTS[:2]):
        values, _, _ = compute_algorithm_1(classifier, tokenize(classifier, text))
        difference = abs(information.eigenvalues[index] - values[-1])
        assert difference <= information.error[index] + 1e-3 * values[-1]


def test_worked_values():
    # One logit z = w.x against 0, w = (3, 4): p (1 - p) |w|^2. z = 0: 25 / 4. z = 2: p = .880797, so 25 * .104994.
    weights = torch.tensor([[0.0, 3.0], [0.0, 4.0]], dtype=torch.float64)
    x = torch.tensor(
        [[0.0, 0.0], [0.24, 0.32], [-0.24, -0.32]], dtype=torch.float64, requires_grad=True
    )
    eigenvalues = compute_leading_eigenvalues(x @ weights, x).eigenvalues
    assert eigenvalues.tolist() == pytest.approx([6.25, 2.624840, 2.624840], abs=1e-6)

    # Three classes, W = [[1, 0], [0, 1], [-1, -1]], x = (.5, -.25).
    weights = torch.tensor([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]], dtype=torch.float64)
    x = torch.tensor([[0.5, -0.25]], dtype=torch.float64, requires_grad=True)

    def compute_kl(step):
        log_p = (x.detach() @ weights).log_softmax(-1)
        shifted_log_p = ((x.detach() + step) @ weights).log_softmax(-1)
        return float((log_p.exp() * (log_p - shifted_log_p)).sum())

    for options in ({"method": "gram"}, {"method": "power", "tolerance": 1e-9}):
        information = compute_leading_eigenvalues(x @ weights, x, eigenvector=True, **options)
        assert information.eigenvalues.item() == pytest.approx(0.846882, abs=1e-6)
        # KL at 1e-3 along the eigenvector is 4.2359e-7, half lambda eps^2 is 4.2344e-7; which of the
        # two signs the eigenvector has decides the third-order term.
        step = 1e-3 * information.eigenvector
        divergences = [compute_kl(step), compute_kl(-step)]
        assert max(divergences) == pytest.approx(4.2359e-7, rel=1e-4)
        half = 0.5 * information.eigenvalues.item() * 1e-6
        assert sum(divergences) / 2 == pytest.approx(half, rel=1e-4)


def test_the_divergence_along_the_eigenvector_is_the_largest():
    classifier = tiny_encoder("bert", n_labels=3, double=True)
    inputs = tokenize(classifier, TEXTS[1])
    feed = EmbeddingInput(classifier.model)
    x = feed.look_up(inputs["input_ids"]).requires_grad_()

    def compute_log_p(x):
        with feed.feed(x, inputs):
            return classifier.model(**inputs).logits.log_softmax(-1)

    def compute_kl(step):
        log_p = compute_log_p(x).detach()
        return float((log_p.exp() * (log_p - compute_log_p(x + step).detach())).sum())

    with feed.feed(x, inputs):
        logits = classifier.model(**inputs).logits
        information = compute_leading_eigenvalues(logits, x, eigenvector=True)

    assert information.eigenvector.norm().item() == pytest.approx(1)
    direction = torch.randn(x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    direction /= direction.norm()
    for epsilon in (1e-3, 1e-4):
        step = epsilon * information.eigenvector
        # The mean of both signs, as the third-order terms cancel.
        mean = (compute_kl(step) + compute_kl(-step)) / 2
        half = 0.5 * information.eigenvalues.item() * epsilon**2
        assert mean == pytest.approx(half, rel=1e-3)
        assert compute_kl(epsilon * direction) < half


def test_failed_items_do_not_change_the_others():
    classifier = tiny_encoder("bert", n_labels=2)
    expected = fisher_information(classifier, ["the film was good", "a dull plot"], progress=False)
    awful = classifier.tokenizer.convert_tokens_to_ids("awful")
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight[awful] = torch.nan
    texts = ["the film was good", "awful", "", "a dull plot"]

    information = fisher_information(classifier, texts, ids=["w", "x", "y", "z"], progress=False)

    assert [item for item, _ in information.failures] == ["x", "y"]
    assert "NaN or infinity for item 'x'" in information.failures[0][1]
    assert "item 'y' has none" in information.failures[1][1]
    assert np.isnan(information.eigenvalues[[1, 2]]).all()
    assert information.eigenvalues[[0, 3]] == pytest.approx(expected.eigenvalues, rel=1e-5)


@pytest.mark.parametrize("fail_fast", [False, True])
def test_items_that_the_model_cannot_read_end_the_run_or_are_excluded(fail_fast, tmp_path):
    classifier = tiny_encoder("bert", n_labels=3)
    texts = ["the film was good", "awful plot", "a dull plot", "awful"]
    expected = fisher_information(classifier, texts, eigenvector=True, progress=False)
    options = {
        "ids": ["w", "x", "y", "z"],
        "eigenvector": True,
        "fail_fast": fail_fast,
        "progress": False,
    }

    with refusing(classifier, "awful"):
        if fail_fast:
            with pytest.raises(ValueError, match="batch: out of range"):
                fisher_information(classifier, texts, **options)
            return
        information = fisher_information(classifier, texts, out=tmp_path, **options)

    assert [item for item, _ in information.failures] == ["x", "z"]
    assert "fails at item 'x'" in information.failures[0][1]
    assert np.isnan(information.eigenvalues[[1, 3]]).all()
    for item in (0, 2):
        assert information.eigenvalues[item] == pytest.approx(expected.eigenvalues[item], rel=1e-5)
        assert information.token_norms[item] == pytest.approx(expected.token_norms[item], rel=1e-4)
        assert information.tokens[item] == expected.tokens[item]
    # The failed items are stored, and not computed again.
    stored = fisher_information(classifier, texts, out=tmp_path, **options)
    assert stored.failures == information.failures


class IdModel(torch.nn.Module):
    """Accepts only token ids, as exported and home-made models do."""

    def __init__(self, model):
        super().__init__()
        self.inner = model
        self.config = model.config
        self.device = model.device

    def get_input_embeddings(self):
        return self.inner.get_input_embeddings()

    def forward(self, input_ids, attention_mask, token_type_ids=None):
        return self.inner(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        )


class TablelessModel(IdModel):
    """Has no table of word embeddings."""

    def get_input_embeddings(self):
        raise NotImplementedError


class DetachedModel(IdModel):
    """Returns logits without gradients."""

    def forward(self, **inputs):
        output = self.inner(**inputs)
        output.logits = output.logits.detach()
        return output


def wrap(classifier, wrapper, name):
    model = wrapper(classifier.model)
    return Classifier(model, classifier.tokenizer, classifier.label_names, name)


def test_a_model_without_inputs_embeds_needs_a_table_of_word_embeddings():
    classifier = tiny_encoder("bert", n_labels=2)
    expected = fisher_information(classifier, TEXTS, progress=False)

    information = fisher_information(wrap(classifier, IdModel, "strict"), TEXTS, progress=False)

    assert information.eigenvalues == pytest.approx(expected.eigenvalues, rel=1e-6)
    tableless = wrap(classifier, TablelessModel, "tableless")
    with pytest.raises(ValueError, match=r"get_input_embeddings\(\) return"):
        fisher_information(tableless, TEXTS, progress=False)


def test_a_model_with_a_quantized_layer_is_refused():
    classifier = tiny_encoder("bert", n_labels=2)
    # The head is not quantized: logits still have a gradient, which bypasses the quantized layers.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            classifier.model.bert = torch.ao.quantization.quantize_dynamic(
                classifier.model.bert, {torch.nn.Linear}
            )
        except RuntimeError as error:
            pytest.skip(f"torch has no quantized layers here: {error}")

    with pytest.raises(ValueError, match="quantized layer"):
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
def test_a_text_without_tokens_has_no_result(text):
    classifier = tiny_encoder("bert", n_labels=2)

    information = fisher_information(
        classifier, ["the film was good", text], ids=["a", "b"], progress=False
    )

    assert information.failures == (("b", "Expected a text with tokens, but item 'b' has none."),)
    assert np.isfinite(information.eigenvalues[0])
    assert np.isnan(information.eigenvalues[1])


def test_a_classifier_has_no_option_for_scores():
    classifier = tiny_encoder("bert", n_labels=2)
    scores = classifier.predict(TEXTS, progress=False)

    with pytest.raises(OptionError, match="no `scores`") as error:
        fisher_information(classifier, TEXTS, scores=scores, progress=False)

    assert error.value.option == ("scores",)


def test_a_model_without_a_gradient_is_refused():
    detached = wrap(tiny_encoder("bert", n_labels=2), DetachedModel, "blind")

    with pytest.raises(ValueError, match="gradients to flow"):
        fisher_information(detached, ["the film"], progress=False)


def test_stored_results_are_read_again_and_the_model_is_unchanged(tmp_path):
    classifier = tiny_encoder("bert", n_labels=3)
    classifier.model.train()

    computed = fisher_information(classifier, TEXTS, out=tmp_path, progress=False)
    stored = fisher_information(classifier, TEXTS, out=tmp_path, progress=False)

    assert np.array_equal(computed.eigenvalues, stored.eigenvalues)
    assert classifier.model.training
    assert all(parameter.requires_grad for parameter in classifier.model.parameters())


def test_the_scale_free_eigenvalue_is_relative_to_the_size_of_embeddings():
    classifier = tiny_encoder("albert", n_labels=2)

    information = fisher_information(classifier, TEXTS[:2], progress=False)

    ids = classifier.tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]
    norm = EmbeddingInput(classifier.model).look_up(ids)[0].norm(dim=-1).mean().item()
    expected = information.eigenvalues[0] * norm**2
    assert information.scale_free[0] == pytest.approx(expected, rel=1e-5)


def test_a_compiled_model_is_run_without_its_compilation(classifier_folder):
    """A compiled graph does not see the hook that feeds embeddings."""
    classifier = load_classifier(classifier_folder, device="cpu")
    model = torch.compile(classifier.model, backend="eager")
    compiled = dataclasses.replace(classifier, model=model)

    information = fisher_information(compiled, ["a good film"], progress=False)

    expected = fisher_information(classifier, ["a good film"], progress=False)
    assert information.eigenvalues.tolist() == expected.eigenvalues.tolist()
