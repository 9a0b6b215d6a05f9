"""A tiny Llama with a tokenizer of a few words, built from a configuration: no weights are fetched."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from rightreasons.models.choices import bare
from tiny_models import WORDS

LETTERS = [f"{letter}{mark}" for letter in "ABCDEFGHIJKL" for mark in ("", ".")]


def tiny_causal_tokenizer():
    vocabulary = {
        word: index for index, word in enumerate(["<unk>", "<s>", *WORDS, "Answer:", *LETTERS])
    }
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", bos_token="<s>"
    )


def save_tiny_causal(folder, *, seed=0):
    """A folder of a Llama with random weights, far from uniform."""
    words = tiny_causal_tokenizer()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = transformers.LlamaConfig(
            vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.4,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def chosen(model, prompts, choices, *, method="mean", max_tokens=4096, **how):
    """The scores of choices after prompts as they are."""
    return bare(model, method, max_tokens=max_tokens).choose(prompts, choices, **how)
