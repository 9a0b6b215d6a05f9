"""Tiny encoder-decoders and masked language models with random weights and their tokenizers."""

import torch
import transformers
from tokenizers import processors

from tiny_causal import tiny_causal_tokenizer
from tiny_models import tiny_config, tiny_tokenizer

SIZES = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2}


def tiny_t5(words, **options):
    return transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=len(words), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0,
            initializer_factor=1.0, eos_token_id=1, **options,
        )
    )  # fmt: skip


def tiny_bart(words):
    config = transformers.BartConfig(
        vocab_size=len(words), **SIZES, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
        max_position_embeddings=40, init_std=0.5, decoder_start_token_id=1, forced_bos_token_id=None,
        bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return transformers.BartForConditionalGeneration(config)


def tiny_bert(words):
    return transformers.BertForMaskedLM(tiny_config(vocab_size=len(words), initializer_range=0.5))


def words_of(kind):
    """A tokenizer that ends texts with a token of its own, as that of T5, or that of a tiny BERT."""
    if kind == "bert":
        return tiny_tokenizer()
    words = tiny_causal_tokenizer()
    words._tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <s>", special_tokens=[("<s>", 1)]
    )
    words.add_special_tokens({"eos_token": "<s>"})
    words.model_max_length = 50  # T5 has no table of positions
    return words


MAKERS = {"t5": tiny_t5, "bart": tiny_bart, "bert": tiny_bert}


def save_tiny_bidirectional(folder, kind):
    """Save a model of a kind of `MAKERS` and its tokenizer; return the folder."""
    words = words_of(kind)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        MAKERS[kind](words).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
