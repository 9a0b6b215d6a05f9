"""Strategies of reading prompts and choices: each is used if a trial finds it exact."""

import numpy as np
import pytest
import torch
import transformers

from rightreasons.models.choices import load_causal
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.language.continuations import TokenizedItem
from rightreasons.models.language.likelihood_runs import (
    count_rows,
    make_batches,
    measure_width,
    split_choices,
)
from rightreasons.models.language.likelihoods import STRATEGIES, likelihoods
from tiny_causal import chosen, tiny_causal_tokenizer
from tiny_models import WORDS

SIZES = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
FAMILIES = {
    "llama": {"num_key_value_heads": 2},
    "mistral": {"num_key_value_heads": 2, "sliding_window": 24},
    "mpt": {"d_model": 16, "n_heads": 2, "n_layers": 2, "max_seq_len": 128},
    "mamba": {"state_size": 4, "expand": 2, "time_step_rank": 4},
}
SHORT = [["very good", "bad"], ["dry", "wet and dry", "so"]]
PROMPTS = ["the film was", "rain fell because the sun"]


def build_scorer(family, **options):
    """Return a tiny causal model of a family, with weights far from zero."""
    sizes = {} if family == "mpt" else SIZES
    words = tiny_causal_tokenizer()
    config = transformers.AutoConfig.for_model(
        family,
        vocab_size=len(words),
        initializer_range=0.4,
        **sizes,
        **FAMILIES.get(family, {}),
        **options,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        for weight in model.parameters():
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=0.4)
    return CausalLM(model, words, family)


def score_choice(scorer, prompt, choice):
    """Return the log-likelihood of one choice by a plain forward pass."""
    prompt_ids = scorer.tokenizer(prompt)["input_ids"]
    choice_ids = scorer.tokenizer(choice)["input_ids"]
    # The logits of a token are at the position before it, so that the last token is not read.
    inputs = torch.tensor([(prompt_ids + choice_ids)[:-1]])
    with torch.no_grad():
        logits = scorer.model(inputs).logits[0]
    rows = logits.double().log_softmax(-1)[len(prompt_ids) - 1 :]
    return float(rows.gather(1, torch.tensor(choice_ids)[:, None]).sum())


@torch.no_grad()
def compute_likelihoods(scorer, items, strategy):
    return likelihoods(scorer.model, items, strategy)()


def check(scorer, prompts, choices):
    """Check the scores of choices, and return the strategy by which they are computed."""
    scores = chosen(scorer, prompts, choices, method="sum", progress=False)
    for prompt, row, values in zip(prompts, choices, scores.logits, strict=True):
        expected = [score_choice(scorer, prompt, choice) for choice in row]
        assert values == pytest.approx(expected, abs=1e-4)
    return scores.way


@pytest.mark.parametrize(
    ("family", "strategy"),
    [
        ("llama", "shared prefix"),
        ("mpt", "right padding (shared prefix is off by"),
        ("mamba", "right padding (shared prefix "),
    ],
)
def test_the_strategy_is_the_fastest_exact_one(family, strategy):
    assert check(build_scorer(family), PROMPTS, SHORT).startswith(strategy)


def test_a_prefix_is_shared_only_up_to_the_window():
    # Its window has 24 tokens.
    scorer = build_scorer("mistral")
    assert check(scorer, PROMPTS, SHORT) == "shared prefix"

    long_prompt = " ".join(WORDS[index * 7 % len(WORDS)] for index in range(45))
    strategy = check(scorer, [*PROMPTS, long_prompt], [*SHORT, SHORT[0]])
    assert strategy.startswith("right padding (shared prefix is off by")


def test_a_short_item_is_scored_alike_in_a_batch_with_one_beyond_the_original_length():
    """Rotary factors that change with the longest sequence of a batch, as those of Phi-3 with 128,000 tokens."""
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0] * 4,
        "long_factor": [1.0, 3, 9, 27],
    }
    options = {
        "original_max_position_embeddings": 32,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "num_key_value_heads": 2,
    }
    scorer = build_scorer("phi3", rope_parameters=rope, **options)
    scorer.tokenizer.model_max_length = 512
    # A quarter of it is beyond the original length, too.
    long_prompt = " ".join(WORDS * 8)
    prompts = [PROMPTS[0], long_prompt, PROMPTS[1]]
    choices = [SHORT[0], SHORT[0], SHORT[1]]

    scores = chosen(scorer, prompts, choices, method="sum", progress=False)

    for prompt, row, values in zip(prompts, choices, scores.logits, strict=True):
        expected = [score_choice(scorer, prompt, f" {choice}") for choice in row]
        assert values == pytest.approx(expected, abs=1e-3)

    # The factors do matter: those of the long item would give other numbers.
    long_rope = {**rope, "short_factor": rope["long_factor"]}
    long_scorer = build_scorer("phi3", rope_parameters=long_rope, **options)
    score = score_choice(scorer, prompts[0], " bad")
    assert abs(score_choice(long_scorer, prompts[0], " bad") - score) > 0.01


def test_a_model_that_reads_ahead_is_refused():
    with pytest.raises(ValueError, match="causal language"):
        check(build_scorer("bert"), PROMPTS, SHORT)

    assert check(build_scorer("bert", is_decoder=True), PROMPTS, SHORT) == "shared prefix"


def test_every_strategy_gives_the_same_likelihoods_for_a_plain_model():
    scorer = build_scorer("llama")
    items = make_items([(3, 1, 1, 1), (1, 4), (7, 2, 5, 2), (3, 2, 2)])

    *fast_strategies, one_by_one = STRATEGIES
    expected = compute_likelihoods(scorer, items, one_by_one)
    for strategy in fast_strategies:
        rows = compute_likelihoods(scorer, items, strategy)
        for row, expected_row in zip(rows, expected, strict=True):
            assert row == pytest.approx(expected_row, abs=1e-4)


def test_a_row_has_no_last_token_and_choices_of_one_token_need_only_the_prompt():
    letters = TokenizedItem("x", [5, 6, 7], [[1], [2], [3]], [], False)
    texts = TokenizedItem("x", [5], [[1, 2, 3], [4, 2]], [], False)

    assert STRATEGIES[:2] == ("shared prefix", "right padding")
    for strategy in STRATEGIES[:2]:
        assert measure_width(letters, strategy) == 3
        assert count_rows(letters, strategy) == 1
    # The prompt and both choices without their last tokens.
    assert measure_width(texts, "shared prefix") == 1 + 2 + 1
    assert count_rows(texts, "shared prefix") == 1
    # The prompt and the longer choice without its last token.
    assert measure_width(texts, "right padding") == 1 + 2
    assert count_rows(texts, "right padding") == 2

    scorer = build_scorer("llama")
    shapes = record_shapes(
        scorer.model, lambda: likelihoods(scorer.model, [letters], "right padding")
    )
    assert shapes == [(1, 3)]


def record_shapes(model, function):
    """Return the shapes of the tokens that a model reads while a function runs."""
    shapes = []

    def record(_, arguments, options):
        shapes.append(tuple(options["input_ids"].shape))

    hook = model.register_forward_pre_hook(record, with_kwargs=True)
    with torch.no_grad():
        function()
    hook.remove()
    return shapes


def record_likelihoods(scorer, items, strategy):
    """Return the likelihoods of items, and the shapes of the tokens that the model reads."""
    rows = []
    shapes = record_shapes(
        scorer.model, lambda: rows.extend(likelihoods(scorer.model, items, strategy)())
    )
    return rows, shapes


def make_items(sizes, seed=0):
    """Return items of random tokens, by the numbers of tokens of their prompt and of each choice."""
    rng = np.random.default_rng(seed)
    items = []
    for n_prompt, *n_choices in sizes:
        prompt = rng.integers(2, 40, n_prompt).tolist()
        choices = [rng.integers(2, 40, n).tolist() for n in n_choices]
        items.append(TokenizedItem("x", prompt, choices, [], False))
    return items


def test_packed_items_fill_rows_of_similar_length_and_do_not_see_each_other():
    scorer = build_scorer("llama")
    sizes = np.random.default_rng(1).integers(2, 60, size=(23, 3)).tolist()
    items = make_items(sizes)
    # A row of an item has its prompt and its two choices without their last tokens.
    n_tokens = sum(n_prompt + n_left - 1 + n_right - 1 for n_prompt, n_left, n_right in sizes)

    rows, shapes = record_likelihoods(scorer, items, "shared prefix")

    ((n_packed, longest),) = shapes
    assert n_packed == round(n_tokens / 256)
    assert n_packed * longest <= 1.1 * n_tokens
    singles = [compute_likelihoods(scorer, [item], "one by one")[0] for item in items]
    assert np.array(rows) == pytest.approx(np.array(singles), abs=1e-4)


def test_a_long_item_does_not_make_short_ones_padded():
    scorer = build_scorer("llama")
    items = make_items([(3, 2, 2)] * 9 + [(400, 2, 2)])

    _, shapes = record_likelihoods(scorer, items, "shared prefix")

    # 402 tokens and nine times 5: two rows would have 402 tokens each.
    assert shapes == [(1, 402 + 9 * 5)]


def test_the_common_beginning_of_choices_is_read_once():
    scorer = build_scorer("llama")
    # Without their last tokens: 9 8 7, 9 8 6 5, 9 8 6 and 9, a tree of five tokens.
    choices = [[9, 8, 7, 4], [9, 8, 6, 5, 4], [9, 8, 6, 4], [9, 3]]
    items = [TokenizedItem("x", [5, 11], choices, [], False), *make_items([(6, 4, 3)])]
    # 2 + 5 tokens of the first item, 6 + 3 + 2 of the second.
    assert [measure_width(item, "shared prefix") for item in items] == [7, 11]

    rows, shapes = record_likelihoods(scorer, items, "shared prefix")

    assert shapes == [(1, 7 + 11)]
    for choice, value in zip(choices, rows[0], strict=True):
        item = TokenizedItem("x", [5, 11], [choice], [], False)
        (expected,) = compute_likelihoods(scorer, [item], "one by one")[0]
        assert value == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_batches_contain_every_item_once_within_their_budget(strategy):
    sizes = np.random.default_rng(2).integers(1, 90, size=(60, 4)).tolist()
    longest = (700, 9, 9)
    items = make_items([*sizes, longest])

    batches = make_batches(items, strategy, 512)

    assert sorted(np.concatenate(batches).tolist()) == list(range(len(items)))
    for batch in batches:
        widths = [measure_width(items[index], strategy) for index in batch]
        n_rows = [count_rows(items[index], strategy) for index in batch]
        if strategy == "right padding":
            n_tokens = max(widths) * sum(n_rows)
        else:
            n_tokens = np.dot(widths, n_rows)
        assert n_tokens <= 512 or len(batch) == 1
    if strategy != "equal lengths":
        # The longest item comes first.
        assert 60 in batches[0]


def test_many_choices_are_split_into_items_of_one_prompt():
    choices = [[7] * size for size in (300, 200, 12, 1, 600, 5)]
    item = TokenizedItem("x", [5, 6], choices, choice_indices=[4, 2, 3, 0, 1, 5], truncated=True)

    splits = split_choices(item, max_length=2048)

    # 300 + 200 + 12 tokens are 512; one choice of more than 512 is in an item of its own.
    assert [split.choice_indices for split in splits] == [[4, 2, 3], [0], [1], [5]]
    assert [len(split.choices) for split in splits] == [3, 1, 1, 1]
    assert all(split.prompt == [5, 6] and split.truncated for split in splits)

    # A long prompt is not read again for fewer tokens than it has.
    item = TokenizedItem("x", [5] * 800, choices, choice_indices=list(range(6)), truncated=False)
    indices = [split.choice_indices for split in split_choices(item, max_length=2048)]
    assert indices == [[0, 1, 2, 3], [4, 5]]

    # The model reads 600 tokens of choices after it.
    indices = [split.choice_indices for split in split_choices(item, max_length=1400)]
    assert indices == [[0, 1, 2, 3], [4], [5]]


def test_batches_of_padded_rows_end_before_a_fifth_is_padding():
    # Rows of 100 and of 19 tokens: one of the short with the long would leave 81 of 400 tokens to padding.
    items = make_items([(19, 1), (100, 1)] * 3)

    batches = make_batches(items, "right padding", 4096)

    assert [sorted(batch.tolist()) for batch in batches] == [[1, 3, 5], [0, 2, 4]]


def test_a_trial_reads_without_a_cache():
    """As with xLSTM, whose cache fails at sequences of some lengths."""
    scorer = build_scorer("llama")
    forward = type(scorer.model).forward

    def forward_without_cache(self, input_ids=None, use_cache=True, **options):
        if use_cache:
            raise RuntimeError("matC_old has wrong shape")
        return forward(self, input_ids=input_ids, use_cache=False, **options)

    expected = [score_choice(scorer, PROMPTS[0], choice) for choice in SHORT[0]]
    scorer.model.forward = forward_without_cache.__get__(scorer.model)

    scores = chosen(scorer, PROMPTS[:1], SHORT[:1], method="sum", progress=False)

    assert list(scores.logits[0]) == pytest.approx(expected, abs=1e-4)


def test_models_that_cannot_be_scored_are_refused_with_a_reason(tmp_path):
    scorer = build_scorer("llama")
    larger_tokenizer = tiny_causal_tokenizer()
    larger_tokenizer.add_tokens(["glimmer"])
    mismatched = CausalLM(scorer.model, larger_tokenizer, "llama")
    with pytest.raises(ValueError, match=r"ids below \d+"):
        chosen(mismatched, ["the glimmer"], [["good", "bad"]], progress=False)

    with torch.no_grad():
        scorer.model.model.norm.weight[0] = torch.nan
    with pytest.raises(ValueError, match="finite weights"):
        check(scorer, PROMPTS, SHORT)

    (tmp_path / "config.json").write_text(
        '{"model_type": "own", "architectures": ["OwnForCausalLM"], "auto_map": '
        '{"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}}'
    )
    (tmp_path / "own.py").write_text("raise SystemExit('executed')")
    with pytest.raises(ValueError, match="own Python code"):
        load_causal(tmp_path)
