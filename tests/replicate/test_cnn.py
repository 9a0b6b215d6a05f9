"""The convolutional classifier: a model of transformers like every other, and Kim's network."""

import numpy as np
import pytest
import torch
import transformers

from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier
from rightreasons.replicate.cnn import (
    CnnConfig,
    CnnForSequenceClassification,
    build_cnn,
    load_glove_vectors,
    make_word_tokenizer,
)
from rightreasons.training.finetune import fine_tune

TEXTS = [
    "a good film",
    "a bad film with a dull plot, it isn't good",
    "good",
    "unheard words only",
    "the film is bad",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_cnn(TEXTS[:3], tmp_path_factory.mktemp("cnn") / "model", n_filters=4)


def test_it_is_kims_network():
    # 3, 4 and 5 words x 50 dimensions x 100 filters + 100 biases each, and a linear layer of 300 x 2 + 2.
    model = CnnForSequenceClassification(CnnConfig(vocab_size=10))
    sizes = sum(parameter.numel() for parameter in model.parameters())
    assert sizes == 10 * 50 + sum(size * 50 * 100 + 100 for size in (3, 4, 5)) + 602


def test_logits_of_one_filter_by_hand():
    config = CnnConfig(vocab_size=4, embedding_size=1, filter_sizes=[2], n_filters=1)
    model = CnnForSequenceClassification(config).eval()
    with torch.no_grad():
        model.cnn.embeddings.weight[:] = torch.tensor([[0.0], [1.0], [2.0], [-3.0]])
        model.cnn.filters[0].weight[:] = torch.tensor([[[1.0, 10.0]]])
        model.cnn.filters[0].bias[:] = 0.5
        model.classifier.weight[:] = torch.tensor([[1.0], [-1.0]])
        model.classifier.bias[:] = 0.0
    # Text 1, 2, -3 with zeros around: 10, 1 + 20, 2 - 30, -3; the largest is 21, and 0.5 the bias.
    logits = model(torch.tensor([[1, 2, 3, 0, 0]])).logits
    assert logits.tolist() == [[21.5, -21.5]]


def test_padding_changes_nothing(folder):
    model = load_classifier(folder)
    # A large bias would win the maximum over padding.
    with torch.no_grad():
        for layer in model.model.cnn.filters:
            layer.bias[:] = torch.linspace(-1, 3, 4)
    together = predict(model, TEXTS, progress=False).logits
    alone = np.concatenate([predict(model, [text], progress=False).logits for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_it_saves_and_loads_the_same(folder, tmp_path):
    first = load_classifier(folder)
    assert first.label_names == ("negative", "positive")
    assert first.max_length == 512
    first.model.save_pretrained(tmp_path)
    first.tokenizer.save_pretrained(tmp_path)
    second = load_classifier(tmp_path)
    assert second.tokenizer(TEXTS)["input_ids"] == first.tokenizer(TEXTS)["input_ids"]
    np.testing.assert_array_equal(
        predict(first, TEXTS, progress=False).logits, predict(second, TEXTS, progress=False).logits
    )
    assert isinstance(transformers.AutoConfig.from_pretrained(tmp_path), CnnConfig)


def test_embeddings_are_as_good_as_words(folder):
    model = load_classifier(folder).model
    ids = torch.tensor([[3, 4, 5, 6]], device=model.device)
    embedded = model(inputs_embeds=model.get_input_embeddings()(ids)).logits
    torch.testing.assert_close(embedded, model(ids).logits)
    with pytest.raises(ValueError, match="Expected `input_ids` or `inputs_embeds`"):
        model()


def test_gradients_reach_the_words(folder):
    model = load_classifier(folder)
    information = fisher_information(model, TEXTS, eigenvector=True, progress=False)
    assert not information.failures
    assert (information.eigenvalues > 0).all()
    assert information.tokens[0] == ("a", "good", "film")
    # p (1 - p) |grad (z_1 - z_0)|^2, with the gradient of autograd on the text alone.
    ids = model.tokenizer(TEXTS[1], return_tensors="pt")["input_ids"].to(model.model.device)
    vectors = model.model.get_input_embeddings()(ids).detach().requires_grad_()
    logits = model.model(inputs_embeds=vectors).logits[0]
    (gradient,) = torch.autograd.grad(logits[1] - logits[0], vectors)
    p = logits.softmax(0)
    assert information.eigenvalues[1] == pytest.approx(
        (p[0] * p[1] * gradient.square().sum()).item(), rel=1e-5
    )
    explained = integrated_gradients(model, TEXTS, unit="word", progress=False)
    assert np.abs(explained.gap).max() < 0.02


def test_it_learns(folder, tmp_path):
    rows = [
        {"text": f"a {word} film", "label": label} for label, word in enumerate(("bad", "good"))
    ] * 20
    done = fine_tune(
        folder,
        rows,
        out=tmp_path / "run",
        epochs=8,
        learning_rate=1e-2,
        batch_size=8,
        progress=False,
    )
    scores = predict(load_classifier(done.folder), ["a good film", "a bad film"], progress=False)
    assert scores.logits.argmax(axis=1).tolist() == [1, 0]


def test_words_are_cut_as_glove_cuts_them():
    tokenizer = make_word_tokenizer(["film", "'s", "do", "n't", "a"])
    assert tokenizer.tokenize("Film's a don't") == ["film", "'s", "a", "do", "n't"]
    assert tokenizer("")["input_ids"] == [tokenizer.sep_token_id]


@pytest.mark.real_weights
def test_word_vectors():
    pytest.importorskip("pyarrow")
    try:
        words, vectors = load_glove_vectors()
    except ImportError as error:
        pytest.skip(str(error))
    assert (len(words), vectors.shape) == (400_000, (400_000, 50))
    assert words[:3] == ["the", ",", "."]

    def cosine(first, second):
        a, b = (vectors[words.index(word)] for word in (first, second))
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine("film", "movie") > 0.9 > 0.5 > cosine("film", "carbon")


@pytest.mark.real_weights
def test_a_network_over_word_vectors(tmp_path, monkeypatch):
    try:
        vectors = load_glove_vectors()
    except ImportError as error:
        pytest.skip(str(error))
    monkeypatch.setattr("rightreasons.replicate.cnn.N_FREQUENT_WORDS", 100)
    model = load_classifier(
        build_cnn(["a splendid zzyzxq"], tmp_path, vectors=vectors, n_filters=2)
    )
    row = model.tokenizer.convert_tokens_to_ids("splendid")
    np.testing.assert_array_equal(
        model.model.get_input_embeddings().weight[row].detach().numpy(),
        vectors[1][vectors[0].index("splendid")],
    )
    assert model.tokenizer.tokenize("zzyzxq") == ["[UNK]"]


def test_vectors_of_special_words_are_left_out(tmp_path):
    vectors = ["[UNK]", "good", "[SEP]", "film"], np.diag([1.0, 2.0, 3.0, 4.0])
    folder = build_cnn(["good film"], tmp_path, vectors=vectors)
    classifier = load_classifier(folder)
    table = classifier.model.get_input_embeddings().weight.detach().cpu().numpy()
    rows = classifier.tokenizer("good film", add_special_tokens=False)["input_ids"]
    assert table[rows].tolist() == [[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0]]
