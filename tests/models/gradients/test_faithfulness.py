"""Comprehensiveness and sufficiency, on a model whose answer hangs on one word, and against a plain loop."""

import re

import numpy as np
import pytest
import torch
import transformers as tf

from rightreasons.core.arrays import Ragged
from rightreasons.models.gradients.attribution import faithfulness, integrated_gradients
from rightreasons.models.loading import Classifier
from tiny_causal import tiny_causal_tokenizer
from tiny_encoders import TEXTS, tiny_encoder
from tiny_models import NEGATIVE, POSITIVE, WORDS, tiny_config, tiny_tokenizer

TEXTS = list(TEXTS)


@pytest.fixture(scope="module")
def bert():
    return tiny_encoder("bert")


def _told_by_one_word(count, seed):
    """Sentences of 5 to 10 words in any order, one of which tells the label."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        label = int(rng.integers(2))
        filler = list(rng.choice(WORDS[:12], size=rng.integers(4, 10)))
        filler.insert(int(rng.integers(len(filler) + 1)), rng.choice((NEGATIVE, POSITIVE)[label]))
        texts.append(" ".join(filler))
        labels.append(label)
    return texts, labels


@pytest.fixture(scope="module")
def trained():
    """A tiny classifier that has learned that one word tells the label."""
    texts, labels = _told_by_one_word(256, seed=0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = tf.BertForSequenceClassification(tiny_config(num_labels=2))
        inputs = tiny_tokenizer()(texts, padding=True, return_tensors="pt")
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        model.train()
        for _ in range(100):
            model(**inputs, labels=torch.tensor(labels)).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return Classifier(model.eval(), tiny_tokenizer(), ("negative", "positive"), "trained")


def _ones(texts):
    lengths = [len(text.replace(",", " ,").replace("!", " !").split()) for text in texts]
    values = np.concatenate([np.arange(n, 0, -1.0) for n in lengths])
    return Ragged(values, np.concatenate(([0], np.cumsum(lengths))))


def _probability(classifier, tokens, label):
    ids = classifier.tokenizer.convert_tokens_to_ids(["[CLS]", *tokens, "[SEP]"])
    with torch.no_grad():
        return classifier.model(input_ids=torch.tensor([ids])).logits.softmax(-1)[0, label].item()


@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_equal_to_a_loop_over_items_and_fractions(bert, removal):
    # The scores fall from left to right, so the top k tokens are the first k.
    explained = np.array([0, 1, 2, 0, 1, 2])
    fractions = (0.3, 1.0)
    result = faithfulness(bert, TEXTS, _ones(TEXTS), explained, fractions=fractions, removal=removal, progress=False)
    for row, text in enumerate(TEXTS):
        tokens = bert.tokenizer.tokenize(text)
        whole = _probability(bert, tokens, explained[row])
        comprehensiveness = sufficiency = 0.0
        for fraction in fractions:
            k = int(np.ceil(fraction * len(tokens)))
            if removal == "delete":
                without, alone = tokens[k:], tokens[:k]
            else:
                without = ["[MASK]"] * k + tokens[k:]
                alone = tokens[:k] + ["[MASK]"] * (len(tokens) - k)
            comprehensiveness += (whole - _probability(bert, without, explained[row])) / 2
            sufficiency += (whole - _probability(bert, alone, explained[row])) / 2
        assert result.comprehensiveness_of[row] == pytest.approx(comprehensiveness, abs=1e-5)
        assert result.sufficiency_of[row] == pytest.approx(sufficiency, abs=1e-5)
    assert result.comprehensiveness == pytest.approx(result.comprehensiveness_of.mean())
    assert result.random_sufficiency == pytest.approx(result.random_sufficiency_of.mean())


def test_integrated_gradients_beat_chance_where_one_word_decides(trained):
    texts, labels = _told_by_one_word(60, seed=1)
    result = integrated_gradients(trained, texts, reduce="sum", progress=False)
    assert (result.explained == labels).mean() > 0.9
    told = set(POSITIVE) | set(NEGATIVE)
    top = [row[int(scores.argmax())] for row, scores in zip(result.tokens, result.scores, strict=True)]
    assert np.mean([token in told for token in top]) > 0.4  # 1 in 5 to 10 by chance
    measured = faithfulness(trained, texts, result.scores, result.explained, fractions=(0.1,), progress=False)
    assert measured.comprehensiveness > measured.random_comprehensiveness + 0.1
    assert measured.sufficiency < measured.random_sufficiency - 0.1
    # An attribution that names the least important tokens first does worse than the right one in both.
    worst = Ragged(-result.scores.values, result.scores.offsets)
    reverse = faithfulness(trained, texts, worst, result.explained, fractions=(0.1,), progress=False)
    assert reverse.comprehensiveness < measured.random_comprehensiveness
    assert reverse.sufficiency > measured.random_sufficiency
    assert measured.to_dict()["fractions"] == [0.1]


def test_random_tokens_depend_on_seed_and_item_alone(bert):
    explained = np.zeros(6, dtype=np.int64)
    one = faithfulness(bert, TEXTS, _ones(TEXTS), explained, seed=3, progress=False)
    part = faithfulness(bert, TEXTS[:3], _ones(TEXTS[:3]), explained[:3], seed=3, progress=False)
    other = faithfulness(bert, TEXTS, _ones(TEXTS), explained, seed=4, progress=False)
    np.testing.assert_allclose(one.random_comprehensiveness_of[:3], part.random_comprehensiveness_of, atol=1e-6)
    assert not np.allclose(one.random_comprehensiveness_of, other.random_comprehensiveness_of)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fractions": [0.0]}, "Expected at least one share above 0 in `fractions`"),
        ({"fractions": [1.5]}, "Expected `fractions` to be between 0 and 1, but got 1.5."),
        ({"removal": "swap"}, "Expected `removal` to be one of 'delete' or 'mask', but got 'swap'."),
        ({"explained": np.zeros(2, dtype=np.int64)}, "of one length, but got 6, 6 and 2."),
        (
            {"attributions": Ragged(np.ones(12), np.arange(0, 13, 2))},
            "Expected one attribution per word piece, but item 0 has 4 pieces and 2 attributions.",
        ),
    ],
)
def test_each_mistake_has_its_sentence(bert, change, message):
    arguments = {"attributions": _ones(TEXTS), "explained": np.zeros(6, dtype=np.int64), **change}
    with pytest.raises(ValueError, match=re.escape(message)):
        faithfulness(bert, TEXTS, **arguments, progress=False)


def test_a_text_that_is_deleted_as_a_whole_is_told(tmp_path):
    # A decoder's tokenizer puts nothing around a text: without its only word nothing is left to read.
    tokenizer = tiny_causal_tokenizer()
    config = tf.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=32, bos_token_id=1, eos_token_id=1
    )
    model = tf.GPT2ForSequenceClassification(config).eval()
    decoder = Classifier(model, tokenizer, ("no", "yes"), "a decoder")
    texts = ["the film was good", "good"]
    with pytest.raises(ValueError, match=r"something to be left of each text, but item '1' is deleted as a whole"):
        faithfulness(decoder, texts, _ones_of(decoder, texts), np.zeros(2, dtype=np.int64), progress=False)
    whole = faithfulness(
        decoder, texts[:1], _ones_of(decoder, texts[:1]), np.zeros(1, dtype=np.int64), fractions=(0.5,), progress=False
    )
    # Of equal attributions the first two of four pieces are named: f(x) - f("was good").
    logits = [
        model(torch.tensor([tokenizer(text)["input_ids"]])).logits[0] for text in ("the film was good", "was good")
    ]
    drop = [float(each.softmax(0)[0]) for each in logits]
    assert whole.comprehensiveness == pytest.approx(drop[0] - drop[1], abs=1e-5)


def _ones_of(classifier, texts):
    lengths = [len(classifier.tokenizer(text)["input_ids"]) for text in texts]
    return Ragged.of(np.ones(sum(lengths)), lengths)
