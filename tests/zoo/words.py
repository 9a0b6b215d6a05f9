"""Texts and tokenizers of the zoo: trained here, once per process."""

from __future__ import annotations

import functools
from typing import Any

import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
ALPHABET = 256
VOCABULARY = 340
RESERVED = tuple(range(VOCABULARY - 8, VOCABULARY))
"""Ids that no text holds: for the tokens of pictures and sound, and for a padding id of the model's own."""

TEXTS = (
    "the film was good",
    "a dull plot, and a very bad actor who never once looked awake",
    "not great",
    "the woman was lovely but the story was awful, and the scene so poor that the man fell because of the rain",
    "fine!",
    "the glass broke because the floor was hard",
    "nobody in the room believed that the sun would ever shine again over this wet and rather lonely town of ours",
)
PAIRS = (
    "it was seen twice",
    "no",
    "what a pity, she said and left the house before the end of it",
    "he fell",
    "the actor was there, and so was the plot",
    "glass is not iron",
    "a day",
)
PROMPTS = (
    "the glass fell because",
    "",
    "the woman saw that the man had left the room in the rain without his coat, so she",
    "the film",
)
CHOICES = (
    ["the floor was wet", "he ran"],
    ["rain fell on the town", "the sun", "a very bad and dull actor left"],
    ["called him", "was good, and the story of the man who broke the glass was awful", "sat"],
    ["was good", "was the dullest of all the films that she had seen"],
)


@functools.cache
def _trained(kind: str) -> Tokenizer:
    if kind == "bytes":
        inner = Tokenizer(models.BPE(unk_token="<unk>"))
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:  # as Llama 2: a space before the text becomes a mark, whatever stands there
        inner = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=False))
        inner.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        inner.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
        inner.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
        alphabet = []
    trainer = trainers.BpeTrainer(
        vocab_size=RESERVED[0],
        special_tokens=list(SPECIAL),
        show_progress=False,
        initial_alphabet=alphabet,
    )
    corpus = [*TEXTS, *PAIRS, *PROMPTS, *(f" {choice}" for row in CHOICES for choice in row)]
    inner.train_from_iterator(corpus, trainer)
    return inner


def tokenizer(
    *, kind: str = "bytes", side: str = "right", ends: bool = True, types: bool = False
) -> Any:
    """Return a tokenizer that was trained here.

    Args:
        kind: "bytes" as GPT-2's, or "prepend" as Llama 2's.
        side: The side that it pads.
        ends: Whether it puts a start token before and an end token after each text, as encoders read them.
        types: Whether it gives type ids.
    """
    inner = Tokenizer.from_str(_trained(kind).to_str())
    if ends:
        inner.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>",
            pair="<s> $A </s> </s> $B:1 </s>:1",
            special_tokens=[("<s>", 0), ("</s>", 2)],
        )
    names = dict(
        zip(
            ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), SPECIAL, strict=True
        )
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        cls_token="<s>",
        sep_token="</s>",
        padding_side=side,
        model_input_names=["input_ids", *(["token_type_ids"] if types else []), "attention_mask"],
        **names,
    )
