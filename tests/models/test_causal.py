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


def make_tokenizer():
    """Return a tokenizer with a token per word."""
    tokens = ["<unk>", "<s>", *dict.fromkeys(WORDS)]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", bos_token="<s>"
    )


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def scorer(request):
    torch.manual_seed(0)
    words = make_tokenizer()
    if request.param == "llama":
        config = transformers.LlamaConfig(
            vocab_size=len(words),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
        )
        model = transformers.LlamaForCausalLM(config)
    else:
        config = transformers.GPT2Config(
            vocab_size=len(words), n_embd=16, n_layer=2, n_head=4, n_positions=64
        )
        model = transformers.GPT2LMHeadModel(config)
    # Far from uniform, so that a mistake shows.
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return CausalLM(model.eval(), words, request.param)


def encode_choice(scorer, choice):
    return scorer.tokenizer(f" {choice}", add_special_tokens=False)["input_ids"]


def score_choice(scorer, prompt, choice):
    """Return the log-likelihood of a choice by one plain pass."""
    context = scorer.tokenizer(prompt)["input_ids"] if prompt else [scorer.start_token]
    tokens = encode_choice(scorer, choice)
    # The logits of a token are at the position before it, so that the last token is not read.
    inputs = torch.tensor([(context + tokens)[:-1]])
    with torch.no_grad():
        logits = scorer.model(inputs).logits[0]
    rows = logits.double().log_softmax(-1)[len(context) - 1 :]
    return float(rows.gather(1, torch.tensor(tokens)[:, None]).sum())


def choose(scorer, prompts=PROMPTS, choices=CHOICES, **options):
    """Return a list of scores for each item."""
    return list(chosen(scorer, prompts, choices, progress=False, **options).logits)


def test_a_shared_prefix_gives_the_scores_of_plain_passes(scorer):
    sums = []
    means = []
    for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
        row = np.array([score_choice(scorer, prompt, choice) for choice in choices])
        lengths = [len(encode_choice(scorer, choice)) for choice in choices]
        sums.append(row)
        means.append(row / lengths)

    for max_tokens in (1, 40, 4096):
        rows = choose(scorer, method="sum", max_tokens=max_tokens)
        for row, expected in zip(rows, sums, strict=True):
            assert row == pytest.approx(expected, abs=1e-4)
    for row, expected in zip(choose(scorer, method="mean"), means, strict=True):
        assert row == pytest.approx(expected, abs=1e-4)


def test_unconditional_scores_are_zero_without_a_prompt(scorer):
    rows = choose(scorer, method="unconditional")

    assert rows[2] == pytest.approx([0, 0], abs=1e-5)
    choice = CHOICES[0][0]
    difference = score_choice(scorer, PROMPTS[0], choice) - score_choice(scorer, "", choice)
    assert rows[0][0] == pytest.approx(difference, abs=1e-4)


def test_letters_are_scored_after_all_choices(scorer):
    rows = choose(scorer, PROMPTS[:1], CHOICES[:1], method="letters")

    prompt = "the cat sat on the mat because\nA. it was tired\nB. the dog\nAnswer:"
    expected = [score_choice(scorer, prompt, letter) for letter in "AB"]
    assert rows[0] == pytest.approx(expected, abs=1e-4)


def test_the_order_of_the_items_does_not_matter(scorer):
    rows = choose(scorer)
    reversed_rows = choose(scorer, PROMPTS[::-1], CHOICES[::-1])

    for row, same_row in zip(rows, reversed_rows[::-1], strict=True):
        assert row == pytest.approx(same_row, abs=1e-5)


def test_long_prompts_lose_their_beginning(scorer):
    prompt = " ".join(["the cat sat on a hill and"] * 20)

    scores = chosen(scorer, [prompt], CHOICES[:1], method="sum", progress=False)

    assert scores.truncated == 1
    expected = []
    for choice in CHOICES[0]:
        # The last 65 words of prompt and choice remain: the model reads 64 of them, and not the last.
        n_words = 65 - len(choice.split())
        truncated = " ".join(prompt.split()[-n_words:])
        expected.append(score_choice(scorer, truncated, choice))
    assert scores.logits[0] == pytest.approx(expected, abs=1e-4)


def test_a_store_depends_on_tokens_and_not_only_on_texts(scorer, tmp_path):
    """A tokenizer that was exchanged next to the same weights gives other tokens for the same texts."""
    choose(scorer, out=tmp_path)
    words = make_tokenizer()
    words.backend_tokenizer.normalizer = normalizers.Replace("cat", "dog")
    changed = dataclasses.replace(scorer, tokenizer=words)

    with pytest.warns(SetAsideWarning, match="differs in texts"):
        choose(changed, out=tmp_path)


def test_a_store_depends_on_where_items_end(scorer, tmp_path):
    """A choice that moves from one item to the next has another score."""
    prompts = PROMPTS[:2]
    choose(scorer, prompts, [["it ran", "on"], ["a hill", "was", "happy"]], out=tmp_path)
    moved = [["it ran", "on", "a hill"], ["was", "happy"]]

    with pytest.warns(SetAsideWarning, match="differs in texts"):
        stored = chosen(scorer, prompts, moved, out=tmp_path, progress=False)

    fresh = chosen(scorer, prompts, moved, progress=False)
    assert stored.logits.values == pytest.approx(fresh.logits.values, abs=1e-6)


def test_both_scores_of_the_unconditional_method_are_stored(scorer, tmp_path, monkeypatch):
    options = {"method": "unconditional", "out": tmp_path, "progress": False}
    computed = chosen(scorer, PROMPTS, CHOICES, **options)
    monkeypatch.setattr(
        type(scorer.model), "forward", lambda *_, **__: pytest.fail("The model was asked again.")
    )

    stored = chosen(scorer, PROMPTS, CHOICES, **options)

    assert stored.logits.values.tolist() == computed.logits.values.tolist()


def test_stored_scores_are_read_again_for_the_same_items(scorer, tmp_path):
    computed = chosen(scorer, PROMPTS, CHOICES, out=tmp_path, progress=False)
    stored = chosen(scorer, PROMPTS, CHOICES, out=tmp_path, progress=False)

    assert np.array_equal(computed.logits.values, stored.logits.values)
    with pytest.warns(SetAsideWarning, match="differs in texts"):
        choose(scorer, ["the dog", *PROMPTS[1:]], out=tmp_path)


def test_invalid_choices_and_methods_are_refused(scorer):
    with pytest.raises(ValueError, match="of `choices`"):
        chosen(scorer, ["a", "b"], [["x", "y"], ["x"]])
    with pytest.raises(ValueError, match="`prompts` and `choices`"):
        chosen(scorer, ["a"], [["x", "y"], ["x", "y"]])
    with pytest.raises(ValueError, match="`method` to be one of"):
        chosen(scorer, ["a"], [["x", "y"]], method="means")
    with pytest.raises(ValueError, match="at most 26 answers"):
        chosen(scorer, ["a"], [["x"] * 27], method="letters")


@pytest.mark.parametrize("method", ["mean", "unconditional"])
def test_an_item_with_a_choice_without_words_is_excluded(scorer, method):
    prompts = ["the film was", "what", "the man"]
    choices = [["good", "bad"], ["", "so"], ["fell", "broke"]]

    scores = chosen(scorer, prompts, choices, method=method, labels=[0, 1, 1], progress=False)

    assert scores.ids == ("0", "2")
    assert scores.labels.tolist() == [0, 1]
    expected = chosen(scorer, prompts[::2], choices[::2], method=method, progress=False)
    np.testing.assert_allclose(scores.logits, expected.logits, atol=1e-5)
    assert scores.failures == {"1": "Expected answers with words, but answer 0 of item '1' is ' '."}
