"""Choices scored by causal language models: one masked pass per item equals one plain pass per pair."""

import dataclasses

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.language.causal import CausalLM
from tiny_causal import chosen

WORDS = (
    "the cat dog sat ran on a mat hill because it was tired happy and Answer : A . B C D".split()
)
PROMPTS = [
    "the cat sat on the mat because",
    "the dog ran",
    "",
    "it was tired and the dog sat on a hill because it",
]
CHOICES = [
    ["it was tired", "the dog"],
    ["on", "a hill because", "happy"],
    ["it ran", "it"],
    ["was", "was happy and"],
]


def tokenizer():
    vocabulary = {word: index for index, word in enumerate(["<unk>", "<s>", *dict.fromkeys(WORDS)])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", bos_token="<s>"
    )


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def scorer(request):
    torch.manual_seed(0)
    words = tokenizer()
    if request.param == "llama":
        config = transformers.LlamaConfig(
            vocab_size=len(words), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
    else:
        config = transformers.GPT2Config(
            vocab_size=len(words), n_embd=16, n_layer=2, n_head=4, n_positions=64
        )
        model = transformers.GPT2LMHeadModel(config)
    for parameter in model.parameters():  # far from uniform, so that a mistake shows
        torch.nn.init.normal_(parameter, std=0.5)
    return CausalLM(model.eval(), words, request.param)


def plain(scorer, prompt, choice):
    """The log-likelihood of a choice by one plain pass."""
    before = scorer.tokenizer(prompt)["input_ids"] if prompt else [scorer.start_token]
    tokens = scorer.tokenizer(f" {choice}", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        scores = (
            scorer.model(torch.tensor([(before + tokens)[:-1]])).logits[0].double().log_softmax(-1)
        )
    return sum(float(scores[len(before) - 1 + i, token]) for i, token in enumerate(tokens)), len(
        tokens
    )


def rows(scores):
    return list(scores.logits)


def test_shared_prefix_equals_plain_passes(scorer):
    want = [
        [plain(scorer, prompt, choice) for choice in row]
        for prompt, row in zip(PROMPTS, CHOICES, strict=True)
    ]
    for max_tokens in (1, 40, 4096):
        scores = chosen(
            scorer, PROMPTS, CHOICES, method="sum", max_tokens=max_tokens, progress=False
        )
        for row, expected in zip(rows(scores), want, strict=True):
            assert row == pytest.approx([total for total, _ in expected], abs=1e-4)
    mean = chosen(scorer, PROMPTS, CHOICES, method="mean", progress=False)
    for row, expected in zip(rows(mean), want, strict=True):
        assert row == pytest.approx([total / length for total, length in expected], abs=1e-4)


def test_unconditional_is_zero_without_a_prompt(scorer):
    scores = chosen(scorer, PROMPTS, CHOICES, method="unconditional", progress=False)
    assert rows(scores)[2] == pytest.approx([0, 0], abs=1e-5)
    conditional = plain(scorer, PROMPTS[0], CHOICES[0][0])[0] - plain(scorer, "", CHOICES[0][0])[0]
    assert rows(scores)[0][0] == pytest.approx(conditional, abs=1e-4)


def test_letters_are_read_after_all_choices(scorer):
    scores = chosen(scorer, PROMPTS[:1], CHOICES[:1], method="letters", progress=False)
    asked = "the cat sat on the mat because\nA. it was tired\nB. the dog\nAnswer:"
    want = [plain(scorer, asked, letter)[0] for letter in "AB"]
    assert scores.logits[0] == pytest.approx(want, abs=1e-4)


def test_order_and_subset_do_not_matter(scorer):
    whole = rows(chosen(scorer, PROMPTS, CHOICES, progress=False))
    turned = rows(chosen(scorer, PROMPTS[::-1], CHOICES[::-1], progress=False))[::-1]
    for one, other in zip(whole, turned, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_long_prompts_lose_their_beginning(scorer):
    long = " ".join(["the cat sat on a hill and"] * 20)
    scores = chosen(scorer, [long], CHOICES[:1], method="sum", progress=False)
    assert scores.truncated == 1
    # The last 65 words of prompt and choice are kept: the model reads 64 of them, and not the last.
    kept = [long.split()[-(65 - len(choice.split())) :] for choice in CHOICES[0]]
    want = [
        plain(scorer, " ".join(words), choice)[0]
        for words, choice in zip(kept, CHOICES[0], strict=True)
    ]
    assert scores.logits[0] == pytest.approx(want, abs=1e-4)


def test_a_store_knows_tokens_and_not_texts_alone(scorer, tmp_path):
    """A tokenizer that was exchanged beside the same weights gives other tokens for the same texts."""
    chosen(scorer, PROMPTS, CHOICES, out=tmp_path, progress=False)
    words = tokenizer()
    words.backend_tokenizer.normalizer = normalizers.Replace("cat", "dog")
    with pytest.warns(SetAsideWarning, match="differs in texts"):
        chosen(
            dataclasses.replace(scorer, tokenizer=words),
            PROMPTS,
            CHOICES,
            out=tmp_path,
            progress=False,
        )


def test_a_store_knows_where_items_end(scorer, tmp_path):
    """A choice that moves from one item to the next has another score."""
    chosen(
        scorer,
        PROMPTS[:2],
        [["it ran", "on"], ["a hill", "was", "happy"]],
        out=tmp_path,
        progress=False,
    )
    moved = [["it ran", "on", "a hill"], ["was", "happy"]]
    with pytest.warns(SetAsideWarning, match="differs in texts"):
        stored = chosen(scorer, PROMPTS[:2], moved, out=tmp_path, progress=False)
    fresh = chosen(scorer, PROMPTS[:2], moved, progress=False)
    assert stored.logits.values == pytest.approx(fresh.logits.values, abs=1e-6)


def test_both_scorings_of_unconditional_are_stored(scorer, tmp_path, monkeypatch):
    first = chosen(scorer, PROMPTS, CHOICES, method="unconditional", out=tmp_path, progress=False)
    monkeypatch.setattr(
        type(scorer.model), "forward", lambda *_, **__: pytest.fail("The model was asked again.")
    )
    again = chosen(scorer, PROMPTS, CHOICES, method="unconditional", out=tmp_path, progress=False)
    assert again.logits.values.tolist() == first.logits.values.tolist()


def test_resumes(scorer, tmp_path):
    first = chosen(scorer, PROMPTS, CHOICES, out=tmp_path, progress=False)
    again = chosen(scorer, PROMPTS, CHOICES, out=tmp_path, progress=False)
    assert np.array_equal(first.logits.values, again.logits.values)
    with pytest.warns(SetAsideWarning, match="differs in texts"):
        chosen(scorer, ["the dog", *PROMPTS[1:]], CHOICES, out=tmp_path, progress=False)


def test_bad_input(scorer):
    with pytest.raises(ValueError, match="of `choices`"):
        chosen(scorer, ["a", "b"], [["x", "y"], ["x"]])
    with pytest.raises(ValueError, match="`prompts` and `choices`"):
        chosen(scorer, ["a"], [["x", "y"], ["x", "y"]])
    with pytest.raises(ValueError, match="`method` to be one of"):
        chosen(scorer, ["a"], [["x", "y"]], method="means")
    with pytest.raises(ValueError, match="at most 26 answers"):
        chosen(scorer, ["a"], [["x"] * 27], method="letters")


@pytest.mark.parametrize("method", ["mean", "unconditional"])
def test_an_item_with_a_choice_without_words_is_left_out(scorer, method):
    prompts, choices = (
        ["the film was", "what", "the man"],
        [["good", "bad"], ["", "so"], ["fell", "broke"]],
    )
    scores = chosen(scorer, prompts, choices, method=method, labels=[0, 1, 1], progress=False)
    whole = chosen(scorer, prompts[::2], choices[::2], method=method, progress=False)
    assert (scores.ids, scores.labels.tolist()) == (("0", "2"), [0, 1])
    np.testing.assert_allclose(scores.logits, whole.logits, atol=1e-5)
    assert scores.failures == {"1": "Expected answers with words, but answer 0 of item '1' is ' '."}
