"""What prompts begin with is read once, where that gives the numbers of reading it for each item."""

import numpy as np
import pytest
import torch
import transformers

from rightreasons.models.choices import CausalLM
from rightreasons.models.likelihoods import FEWEST_ITEMS, longest_common
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Examples
from rightreasons.models.wording import Prompt
from tiny_models import SPECIAL, WORDS, tiny_tokenizer

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
FAMILIES = {
    "llama": SIZES,
    "qwen2": {**SIZES, "num_key_value_heads": 1},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 128},
    "mistral": {**SIZES, "num_key_value_heads": 1, "sliding_window": 12},
    "mamba2": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_heads": 4,
        "head_dim": 8,
        "state_size": 8,
        "n_groups": 1,
        "chunk_size": 8,
    },
}
BEGINNING = " ".join(WORDS[place * 7 % len(WORDS)] for place in range(30))
SUFFIXES = [" ".join(WORDS[(place + 5 * k) % len(WORDS)] for k in range(1 + place * 5 % 9)) for place in range(10)]
PROMPTS = [f"{BEGINNING} {suffix}" for suffix in SUFFIXES]
CHOICES = [
    [("good film", "bad", "so very dull")[: 2 + place % 2], ("rain", "sun")][place % 3 == 0] for place in range(10)
]


def scorer_of(family):
    torch.manual_seed(0)
    tokens = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    config = transformers.AutoConfig.for_model(
        family, vocab_size=len(SPECIAL) + len(WORDS), initializer_range=0.3, **FAMILIES[family], **tokens
    )
    words = tiny_tokenizer(128)
    words.backend_tokenizer.post_processor = None
    return CausalLM(transformers.AutoModelForCausalLM.from_config(config).eval(), words, family)


def alone(scorer, prompt, choice):
    before, new = (scorer.tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, choice))
    with torch.no_grad():
        scores = scorer.model(input_ids=torch.tensor([before + new])).logits[0].double().log_softmax(-1)
    return sum(float(scores[len(before) - 1 + place, token]) for place, token in enumerate(new))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_prefix_of_all_items_is_read_once_or_not_at_all_and_exact(family):
    scorer = scorer_of(family)
    calls = []
    scorer.model.register_forward_pre_hook(
        lambda model, args, inputs: calls.append(inputs["input_ids"].shape), with_kwargs=True
    )
    want = [[alone(scorer, prompt, choice) for choice in row] for prompt, row in zip(PROMPTS, CHOICES, strict=True)]
    scorer.choose(PROMPTS, CHOICES, method="sum", progress=False)  # the trial
    calls.clear()
    scores = scorer.choose(PROMPTS, CHOICES, method="sum", progress=False)
    for got, expected in zip(scores.logits, want, strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-4)
    once = "after the first 30 tokens, which all items share and are read once" in scores.way
    assert once or family == "mamba2"
    # 30 tokens of the prefix in one row; every other row is shorter than that.
    assert sorted(length for rows, length in calls if rows == 1)[-1:] == [30] or not once
    assert max(length for _, length in calls) == 30 or not once


def test_items_that_begin_otherwise_are_read_by_themselves():
    scorer = scorer_of("llama")
    prompts = [*PROMPTS[:9], "the plot", "what a lovely film"]
    choices = [*CHOICES[:9], ["good", "bad"], ["it was dull", "good"]]
    scores = scorer.choose(prompts, choices, method="sum", max_tokens=60, progress=False)
    assert "which 9 of 11 items share and are read once; shared prefix of up to 16 tokens" in scores.way
    for got, prompt, row in zip(scores.logits, prompts, choices, strict=True):
        np.testing.assert_allclose(got, [alone(scorer, prompt, choice) for choice in row], atol=1e-4)


def test_a_prefix_that_saves_little_is_left():
    scorer = scorer_of("llama")
    few = scorer.choose(PROMPTS[: FEWEST_ITEMS - 1], CHOICES[: FEWEST_ITEMS - 1], progress=False)
    apart = scorer.choose(PROMPTS, CHOICES, shared_prefix=False, progress=False)
    short = scorer.choose([f"what a {text}" for text in SUFFIXES], CHOICES, progress=False)
    assert [scores.way.partition(" (")[0] for scores in (few, apart, short)] == [
        "shared prefix", "right padding", "shared prefix",
    ]  # fmt: skip


def test_a_killed_run_resumes_with_its_prefix(tmp_path):
    scorer = scorer_of("gpt2")
    whole = scorer.choose(PROMPTS, CHOICES, max_tokens=40, progress=False)
    again = scorer.choose(PROMPTS, CHOICES, max_tokens=40, progress=False, out=tmp_path)
    resumed = scorer.choose(PROMPTS, CHOICES, max_tokens=40, progress=False, out=tmp_path)
    for one, two, three in zip(whole.logits, again.logits, resumed.logits, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)
        np.testing.assert_array_equal(two, three)


@pytest.mark.parametrize(("draw", "shared"), [("run", 9), ("item", 2)])
def test_few_shot_examples_of_all_items_are_read_once(draw, shared):
    """Examples of all items belong to the prefix; of those that are drawn per item, only what is before them does."""
    scorer = scorer_of("llama")
    texts = [f"{text} film" for text in SUFFIXES]
    spare = Examples.of(range(100, 112), [0, 1] * 6, text=[f"{word} plot and actor" for word in WORDS[:12]])
    prompt = Prompt(system="the film was a story " * 4, shots=3, draw=draw)
    once, apart = (
        Prompted(prompt, LocalEngine(scorer, common_prefix=common), ["bad", "good"], examples=spare)
        for common in (True, False)
    )
    scores, want = (each.predict(texts, progress=False) for each in (once, apart))
    np.testing.assert_allclose(scores.logits, want.logits, atol=1e-4)
    assert "read once" in scores.way
    assert "read once" not in want.way
    size = int(scores.way.split("first ")[1].split()[0])
    assert size == 20 if draw == "item" else size > 3 * 9 + 20


def test_the_longest_common_beginning_is_the_one_that_saves_most():
    assert longest_common([])[0] == 0
    # Reading two tokens once saves 2 * 3, reading four once 4 * 1; a whole prompt keeps its last token.
    size, members = longest_common([[1, 2, 3, 4, 9], [1, 2, 5], [1, 2, 6], [1, 2, 3, 4, 8, 8]])
    assert (size, members.tolist()) == (2, [0, 1, 2, 3])
    size, members = longest_common([[4, 5, 6]] * 3)
    assert (size, members.tolist()) == (2, [0, 1, 2])
