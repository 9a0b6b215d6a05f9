"""Prompts and choices as tokens: together, and cut where lm-evaluation-harness cuts them."""

import pytest
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from rightreasons.models.choices import bare
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.prompts import Item


def letters(*, prepend=False, special=None, merges=()):
    """A tokenizer of letters and the mark of a space; as Llama 2's, it may put one before the text."""
    alphabet = [
        "<unk>",
        "<s>",
        "</s>",
        *"▁abcdefghijklmnopqrstuvwxyz.\n",
        *(a + b for a, b in merges),
    ]
    inner = Tokenizer(
        models.BPE(
            {token: index for index, token in enumerate(alphabet)}, list(merges), unk_token="<unk>"
        )
    )
    steps = [normalizers.Prepend("▁")] if prepend else []
    inner.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    inner.pre_tokenizer = pre_tokenizers.Split("|", "isolated")
    if special:
        inner.post_processor = processors.TemplateProcessing(
            single=special, special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def asked_of(scorer, prompt, choices):
    """The tokens that a language model is asked."""
    prompted = bare(scorer, "sum")
    request = prompted.rendering.request(Item("x", {"prompt": prompt, "choices": choices}))
    return prompted.engine.tokenize([request])[0]


def stand_in(tokenizer, start_token, max_length):
    """A language model without weights, of which a few things are known."""
    known = {
        "start_token": start_token,
        "max_length": max_length,
        "abilities": frozenset(("likelihoods",)),
    }
    return type("StandIn", (CausalLM,), known)(None, tokenizer, "m")


def cut(tokenizer, prompt, choices, *, start_token=1, max_length=99):
    """What each choice is read after, and what is scored, as text."""
    scorer = stand_in(tokenizer, start_token, max_length)
    items = asked_of(scorer, prompt, choices)
    rows = {}
    for asked in items:
        for place, choice in zip(asked.choice_indices, asked.choices, strict=True):
            rows[place] = tuple(
                "".join(tokenizer.convert_ids_to_tokens(part)) for part in (asked.prompt, choice)
            )
    return [rows[place] for place in range(len(choices))]


def test_the_space_belongs_to_the_choice():
    assert cut(letters(), "ab", ["c", "cd"]) == [("ab", "▁c"), ("ab", "▁cd")]


def test_a_space_that_the_tokenizer_puts_before_texts_stands_before_the_prompt_alone():
    assert cut(letters(prepend=True), "ab", ["c", "cd"]) == [("▁ab", "▁c"), ("▁ab", "▁cd")]


def test_white_space_at_the_end_of_a_prompt_belongs_to_the_choice():
    assert cut(letters(), "ab ", ["c", "d"]) == [("ab", "▁▁c"), ("ab", "▁▁d")]
    assert cut(letters(), "ab \n", ["c", "d"]) == [("ab", "▁\n▁c"), ("ab", "▁\n▁d")]


def test_tokens_across_the_border_are_cut_by_the_length_of_the_prompt():
    """With "b▁" as one token, prompt and choice are a, b▁, c; the prompt alone is a, b. The harness cuts after two."""
    assert cut(letters(merges=[("b", "▁")]), "ab", ["cd", "c"]) == [("ab", "cd"), ("ab", "c")]


def test_an_empty_prompt_is_the_start_token():
    assert cut(letters(), "", ["c", "d"]) == [("<s>", "▁c"), ("<s>", "▁d")]
    assert cut(letters(special="<s> $A"), "", ["c", "d"]) == [("<s>", "▁c"), ("<s>", "▁d")]
    assert cut(letters(), "  ", ["c", "d"]) == [("<s>", "▁▁▁c"), ("<s>", "▁▁▁d")]
    with pytest.raises(
        ValueError,
        match="end-of-sequence token",
    ):
        cut(letters(), "", ["c", "d"], start_token=None)


def test_special_tokens_stand_before_the_prompt_and_none_behind_the_choice():
    assert cut(letters(special="<s> $A"), "ab", ["c", "d"]) == [("<s>ab", "▁c"), ("<s>ab", "▁d")]
    assert cut(letters(special="<s> $A </s>"), "ab", ["c", "d"]) == [
        ("<s>ab", "▁c"),
        ("<s>ab", "▁d"),
    ]
    # A chat template has written the start token already.
    assert cut(letters(special="<s> $A"), "<s>ab", ["c", "d"]) == [("<s>ab", "▁c"), ("<s>ab", "▁d")]


def test_long_prompts_lose_their_beginning_by_choice():
    """The model reads five tokens, and the last of a choice is not read: six are kept."""
    got = cut(letters(), "abcdefgh", ["x", "yz", "w"], max_length=5)
    assert got == [("efgh", "▁x"), ("fgh", "▁yz"), ("efgh", "▁w")]
    scorer = stand_in(letters(), 1, 5)
    items = asked_of(scorer, "abcd", ["x", "yzu"])
    assert [(asked.truncated, asked.choice_indices) for asked in items] == [
        (False, [0]),
        (True, [1]),
    ]
    assert cut(letters(), "ab", ["wxyz"], max_length=5) == [("b", "▁wxyz")]
    with pytest.raises(ValueError, match=r"\(up to 5 tokens\)"):
        cut(letters(), "ab", ["vwxyz"], max_length=5)


def test_a_choice_without_tokens_is_an_error():
    dropped = letters()
    dropped.backend_tokenizer.normalizer = normalizers.Replace(" ", "")
    with pytest.raises(ValueError, match="'x' has no tokens"):
        cut(dropped, "ab", ["c", ""])
