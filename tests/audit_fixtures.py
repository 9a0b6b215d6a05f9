"""A real, tiny model that has learned a planted cue, and an audit of it."""

import re

import pytest

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def tiny_encoder_of(texts, folder, seed=0):
    """A BERT of one layer whose vocabulary is the words of the texts."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower())})
    vocabulary = {word: index for index, word in enumerate((*SPECIAL, *words))}
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=48,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.1,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(folder)
    BertTokenizerFast(vocab=vocabulary, model_max_length=48).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def planted():
    """Planted data of a few hundred items a split."""
    import datasets

    from rightreasons.datasets.builder import load_dataset

    datasets.disable_progress_bars()
    return load_dataset("planted_shortcuts", train_size=400, validation_size=120, test_size=150)


@pytest.fixture(scope="session")
def planted_encoder(planted, tmp_path_factory):
    """An encoder without a head that knows the words of the data."""
    texts = [text for split in planted.values() for text in split["text"]]
    return tiny_encoder_of(texts, tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="session")
def planted_model(planted, planted_encoder, tmp_path_factory):
    """A classifier that goes by the cue."""
    from rightreasons.training.finetune import fine_tune

    folder = tmp_path_factory.mktemp("model") / "tiny-planted"
    fine_tune(
        planted_encoder,
        planted["train"],
        out=folder,
        epochs=4,
        learning_rate=5e-3,
        max_length=48,
        progress=False,
    )
    return folder


@pytest.fixture(scope="session")
def report(planted, planted_model, tmp_path_factory):
    """An audit of that model on the splits with the cue, without it and flipped."""
    from rightreasons.report.runner import audit

    options = {"questions": ["calibration"], "n_resamples": 100, "progress": False}
    return audit(planted_model, planted, out=tmp_path_factory.mktemp("audit") / "report", **options)
