"""Prompts and choices are encoded together, and split where lm-evaluation-harness splits them."""

import pytest
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from rightreasons.models.choices import bare
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.prompts import Item

ALPHABET = "▁abcdefghijklmnopqrstuvwxyz.\n"


def make_letter_tokenizer(*, prepends_space=False, template=None, merges=()):
    """Return a tokenizer of letters and the mark of a space.

    Args:
        prepends_space: Whether it puts a space before a text, as Llama 2's does.
        template: Special tokens around a text; None for no special tokens.
        merges: Pairs of letters that are one token.
    """
    tokens = ["<unk>", "<s>", "</s>", *ALPHABET, *map("".join, merges)]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    inner = Tokenizer(models.BPE(vocabulary, list(merges), unk_token="<unk>"))
    steps = [normalizers.Replace(" ", "▁")]
    if prepends_space:
        steps.insert(0, normalizers.Prepend("▁"))
    inner.normalizer = normalizers.Sequence(steps)
    inner.pre_tokenizer = pre_tokenizers.Split("|", "isolated")
    if template:
        inner.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def tokenize(scorer, prompt, choices):
    """Return the tokenized items that a language model scores."""
    prompted = bare(scorer, "sum")
    request = prompted.rendering.request(Item("x", {"prompt": prompt, "choices": choices}))
    return prompted.engine.tokenize([request])[0]


def make_stub(tokenizer, start_token, max_length):
    """Return a language model without weights, with what tokenization depends on."""
    attributes = {
        "start_token": start_token,
        "max_length": max_length,
        "abilities": frozenset(("likelihoods",)),
    }
    return type("StandIn", (CausalLM,), attributes)(None, tokenizer, "m")


def split(tokenizer, prompt, choices, *, start_token=1, max_length=99):
    """Return what each choice is read after, and what is scored, as text."""

    def decode(tokens):
        return "".join(tokenizer.convert_ids_to_tokens(tokens))

    scorer = make_stub(tokenizer, start_token, max_length)
    pairs = {}
    for item in tokenize(scorer, prompt, choices):
        for index, choice in zip(item.choice_indices, item.choices, strict=True):
            pairs[index] = (decode(item.prompt), decode(choice))
    return [pairs[index] for index in range(len(choices))]


def test_the_space_belongs_to_the_choice():
    pairs = split(make_letter_tokenizer(), "ab", ["c", "cd"])

    assert pairs == [("ab", "▁c"), ("ab", "▁cd")]


def test_a_space_that_the_tokenizer_prepends_is_only_before_the_prompt():
    pairs = split(make_letter_tokenizer(prepends_space=True), "ab", ["c", "cd"])

    assert pairs == [("▁ab", "▁c"), ("▁ab", "▁cd")]


def test_white_space_at_the_end_of_a_prompt_belongs_to_the_choice():
    tokenizer = make_letter_tokenizer()

    assert split(tokenizer, "ab ", ["c", "d"]) == [("ab", "▁▁c"), ("ab", "▁▁d")]
    assert split(tokenizer, "ab \n", ["c", "d"]) == [("ab", "▁\n▁c"), ("ab", "▁\n▁d")]


def test_tokens_across_the_border_are_split_by_the_length_of_the_prompt():
    """With "b▁" as one token, prompt and choice are a, b▁, c; the prompt alone is a, b. The harness splits after two."""
    tokenizer = make_letter_tokenizer(merges=[("b", "▁")])

    assert split(tokenizer, "ab", ["cd", "c"]) == [("ab", "cd"), ("ab", "c")]


def test_an_empty_prompt_is_the_start_token():
    tokenizer = make_letter_tokenizer()
    with_start = make_letter_tokenizer(template="<s> $A")

    assert split(tokenizer, "", ["c", "d"]) == [("<s>", "▁c"), ("<s>", "▁d")]
    assert split(with_start, "", ["c", "d"]) == [("<s>", "▁c"), ("<s>", "▁d")]
    assert split(tokenizer, "  ", ["c", "d"]) == [("<s>", "▁▁▁c"), ("<s>", "▁▁▁d")]
    with pytest.raises(ValueError, match="end-of-sequence token"):
        split(tokenizer, "", ["c", "d"], start_token=None)


def test_special_tokens_are_before_the_prompt_and_not_after_the_choice():
    with_start = make_letter_tokenizer(template="<s> $A")
    with_both = make_letter_tokenizer(template="<s> $A </s>")
    expected = [("<s>ab", "▁c"), ("<s>ab", "▁d")]

    assert split(with_start, "ab", ["c", "d"]) == expected
    assert split(with_both, "ab", ["c", "d"]) == expected
    # A chat template has written the start token already.
    assert split(with_start, "<s>ab", ["c", "d"]) == expected


def test_long_prompts_lose_their_beginning_by_choice():
    """The model reads five tokens, and the last of a choice is not read: six remain."""
    tokenizer = make_letter_tokenizer()
    pairs = split(tokenizer, "abcdefgh", ["x", "yz", "w"], max_length=5)
    assert pairs == [("efgh", "▁x"), ("fgh", "▁yz"), ("efgh", "▁w")]

    complete, truncated = tokenize(make_stub(tokenizer, 1, 5), "abcd", ["x", "yzu"])
    assert complete.truncated is False
    assert complete.choice_indices == [0]
    assert truncated.truncated is True
    assert truncated.choice_indices == [1]

    assert split(tokenizer, "ab", ["wxyz"], max_length=5) == [("b", "▁wxyz")]
    with pytest.raises(ValueError, match=r"\(up to 5 tokens\)"):
        split(tokenizer, "ab", ["vwxyz"], max_length=5)


def test_a_choice_without_tokens_is_an_error():
    tokenizer = make_letter_tokenizer()
    # Without spaces, an empty choice has no token.
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace(" ", "")

    with pytest.raises(ValueError, match="'x' has no tokens"):
        split(tokenizer, "ab", ["c", ""])
