"""A smaller encoder computes what the first layers of the whole one do, for the texts that it was made for."""

import pytest
import torch
import transformers

from rightreasons.replicate.small_encoder import N_RESERVED, make_small_encoder

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# "films" is "film" and "##s"; a piece of none of the texts lies between those that are kept.
WORDS = ("the", "plot", "film", "unseen", "##s", "was", "good")
TEXTS = ["the films", "film was good"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A BERT of three layers, whose vocabulary begins with 104 entries that are no words."""
    folder = tmp_path_factory.mktemp("encoder")
    unused = [f"[unused{number}]" for number in range(N_RESERVED - len(SPECIAL))]
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL, *unused, *WORDS])}
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=8,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocab=vocabulary).save_pretrained(folder)
    return folder


def read_states(folder, text):
    """Return the tokens of a text, and its hidden states before and after each layer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        states = model(**inputs, output_hidden_states=True).hidden_states
    return tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), states


def test_tokens_and_states_are_those_of_the_whole_encoder(encoder, tmp_path):
    small = make_small_encoder(encoder, tmp_path / "small", TEXTS, n_layers=2)

    for text in TEXTS:
        tokens, states = read_states(small, text)
        whole_tokens, whole_states = read_states(encoder, text)
        assert tokens == whole_tokens
        assert len(states) == 3
        for state, whole_state in zip(states, whole_states, strict=False):
            assert torch.allclose(state, whole_state)
    # Of seven words and pieces, "plot" and "unseen" are gone.
    tokenizer = transformers.AutoTokenizer.from_pretrained(small)
    assert len(tokenizer) == N_RESERVED + 5
    assert tokenizer.tokenize("plot") == ["[UNK]"]


def test_without_texts_the_vocabulary_stays(encoder, tmp_path):
    small = make_small_encoder(encoder, tmp_path / "small", None, n_layers=1)

    tokens, states = read_states(small, "unseen plot")

    assert tokens == ["[CLS]", "unseen", "plot", "[SEP]"]
    assert len(states) == 2


def test_a_folder_that_is_complete_is_left_as_it_is(encoder, tmp_path):
    small = make_small_encoder(encoder, tmp_path / "small", None, n_layers=1)

    # The vocabulary would be cut, and there would be two layers.
    assert make_small_encoder(encoder, small, TEXTS, n_layers=2) == small

    assert read_states(small, "plot")[0] == ["[CLS]", "plot", "[SEP]"]
