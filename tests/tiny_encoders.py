"""Tiny encoders of six architectures with tokenizers of their own kind, built from configurations: nothing fetched."""

import contextlib

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from rightreasons.models.loading import Classifier
from tiny_models import tiny_tokenizer

TEXTS = (
    "the film was good",
    "a dull plot and a very bad actor",
    "not great",
    "the woman was lovely but the story was awful, and the scene so poor that the man fell because of the rain",
    "fine!",
    "the glass broke",
)
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
BART_SIZES = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
}
ARCHITECTURES = ("bert", "roberta", "deberta", "deberta_v2", "albert", "bart")
CHOICE_ARCHITECTURES = ("bert", "roberta", "deberta_v2", "albert")
_SENTENCE = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def tiny_encoder(
    architecture: str, *, n_labels: int | None = 3, seed: int = 0, double: bool = False
) -> Classifier:
    """A classifier with random weights, or a multiple-choice model where `n_labels` is None."""
    tokenizer = _tokenizer(architecture)
    config = _config(architecture, tokenizer, n_labels or 2)
    auto = (
        tf.AutoModelForMultipleChoice if n_labels is None else tf.AutoModelForSequenceClassification
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = auto.from_config(config)
        # Embeddings and weights of the usual spread: with the initial ones nothing depends on the input.
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.8 if "embed" in name else 0.35)
                elif "norm" not in name.lower():
                    parameter.normal_(0.0, 0.1)
    model = (model.double() if double else model.float()).eval()
    names = None if n_labels is None else tuple(f"class {k}" for k in range(n_labels))
    return Classifier(model, tokenizer, names, architecture)


def _tokenizer(architecture):
    if architecture == "bert":
        return tiny_tokenizer()
    if architecture in ("roberta", "bart", "deberta"):
        inner = Tokenizer(models.BPE(unk_token="<unk>"))
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=380,
            special_tokens=_SENTENCE,
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
    else:
        inner = Tokenizer(models.Unigram())
        inner.pre_tokenizer = pre_tokenizers.Metaspace()
        inner.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=70, special_tokens=_SENTENCE, unk_token="<unk>", show_progress=False
        )
    inner.train_from_iterator(TEXTS, trainer)
    between = "</s> </s>" if architecture in ("roberta", "bart") else "</s>"
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair=f"<s> $A {between} $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    names = dict(
        zip(
            ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"),
            _SENTENCE,
            strict=True,
        )
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=96,
        model_input_names=["input_ids", "attention_mask"],
        **names,
    )


def _config(architecture, tokenizer, n_labels):
    ids = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    common = {
        "vocab_size": len(tokenizer),
        "num_labels": n_labels,
        **{k: v for k, v in ids.items() if v is not None},
    }
    relative = {
        "relative_attention": True,
        "position_biased_input": False,
        "pos_att_type": ["p2c", "c2p"],
        "max_position_embeddings": 96,
        "type_vocab_size": 0,
        "pooler_hidden_size": 16,
    }
    if architecture == "bert":
        return tf.BertConfig(max_position_embeddings=32, **SIZES, **common)
    if architecture == "roberta":
        return tf.RobertaConfig(max_position_embeddings=98, type_vocab_size=1, **SIZES, **common)
    if architecture == "deberta":
        return tf.DebertaConfig(**relative, **SIZES, **common)
    if architecture == "deberta_v2":
        return tf.DebertaV2Config(
            **relative,
            position_buckets=8,
            share_att_key=True,
            norm_rel_ebd="layer_norm",
            **SIZES,
            **common,
        )
    if architecture == "albert":
        return tf.AlbertConfig(embedding_size=8, max_position_embeddings=96, **SIZES, **common)
    return tf.BartConfig(
        max_position_embeddings=98,
        scale_embedding=True,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
        **BART_SIZES,
        **common,
    )


@contextlib.contextmanager
def refusing(classifier, word):
    """Let a classifier fail where a word is among what it reads."""
    token = classifier.tokenizer.convert_tokens_to_ids(word)

    def refuse(_, inputs):
        if (inputs[0] == token).any():
            raise IndexError("out of range")

    hook = classifier.model.get_input_embeddings().register_forward_pre_hook(refuse)
    try:
        yield
    finally:
        hook.remove()
