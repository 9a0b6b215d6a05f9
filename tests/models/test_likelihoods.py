"""The ways of reading prompts and choices: each is taken where a trial finds it exact."""

import itertools
import math

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


def build(family, **options):
    general = {} if family == "mpt" else SIZES
    words = tiny_causal_tokenizer()
    config = transformers.AutoConfig.for_model(
        family,
        vocab_size=len(words),
        initializer_range=0.4,
        **general,
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


def alone(scorer, prompt, choice):
    before, after = (scorer.tokenizer(text)["input_ids"] for text in (prompt, choice))
    with torch.no_grad():
        logits = (
            scorer.model(torch.tensor([(before + after)[:-1]])).logits[0].double().log_softmax(-1)
        )
    return sum(float(logits[len(before) - 1 + place, token]) for place, token in enumerate(after))


def check(scorer, prompts, choices):
    scores = chosen(scorer, prompts, choices, method="sum", progress=False)
    for prompt, row, got in zip(prompts, choices, scores.logits, strict=True):
        assert got == pytest.approx([alone(scorer, prompt, choice) for choice in row], abs=1e-4)
    return scores.way


@pytest.mark.parametrize(
    ("family", "way"),
    [
        ("llama", "shared prefix"),
        ("mpt", "right padding (shared prefix is off by"),
        ("mamba", "right padding (shared prefix "),
    ],
)
def test_the_way_is_the_fastest_exact_one(family, way):
    assert check(build(family), PROMPTS, SHORT).startswith(way)


def test_a_prefix_is_shared_up_to_the_window_alone():
    scorer = build("mistral")
    long = " ".join(WORDS[place * 7 % len(WORDS)] for place in range(45))
    assert check(scorer, PROMPTS, SHORT) == "shared prefix"
    way = check(scorer, [*PROMPTS, long], [*SHORT, SHORT[0]])
    assert way.startswith("right padding (shared prefix is off by")


def test_a_short_item_is_scored_as_alone_beside_one_beyond_the_original_length():
    """Rotary factors that change with the longest sequence of a batch, as those of Phi-3 with 128,000 tokens."""
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0] * 4,
        "long_factor": [1.0, 3, 9, 27],
    }
    sizes = {
        "original_max_position_embeddings": 32,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
    }
    scorer = build("phi3", rope_parameters=rope, num_key_value_heads=2, **sizes)
    scorer.tokenizer.model_max_length = 512
    long = " ".join(WORDS * 8)  # so long that a quarter of it is beyond the original length, too
    prompts, choices = [PROMPTS[0], long, PROMPTS[1]], [SHORT[0], SHORT[0], SHORT[1]]
    scores = chosen(scorer, prompts, choices, method="sum", progress=False)
    want = [
        alone(scorer, prompt, f" {choice}")
        for prompt, row in zip(prompts, choices, strict=True)
        for choice in row
    ]
    assert np.concatenate(list(scores.logits)) == pytest.approx(want, abs=1e-3)
    # The factors do matter: those of the long item would give other numbers.
    factors = dict(rope, short_factor=rope["long_factor"])
    other = build("phi3", rope_parameters=factors, num_key_value_heads=2, **sizes)
    assert abs(alone(other, prompts[0], " bad") - alone(scorer, prompts[0], " bad")) > 0.01


def test_a_model_that_reads_ahead_is_refused_by_name():
    with pytest.raises(ValueError, match="causal language"):
        check(build("bert"), PROMPTS, SHORT)
    assert check(build("bert", is_decoder=True), PROMPTS, SHORT) == "shared prefix"


def test_every_way_gives_the_same_figures_for_a_plain_model():
    scorer = build("llama")
    draw = np.random.default_rng(0)
    sizes = [(3, (1, 1, 1)), (1, (4,)), (7, (2, 5, 2)), (3, (2, 2))]
    tokens = [
        [draw.integers(2, 40, size).tolist() for size in (size, *rest)] for size, rest in sizes
    ]
    items = [TokenizedItem("x", prompt, choices, [], False) for prompt, *choices in tokens]
    with torch.no_grad():
        want, *others = (likelihoods(scorer.model, items, way)() for way in reversed(STRATEGIES))
    for got, (one, other) in itertools.product(others, enumerate(want)):
        assert got[one] == pytest.approx(other, abs=1e-4)


def test_a_row_holds_no_last_token_and_choices_of_one_token_need_the_prompt_alone():
    letters, texts = (
        TokenizedItem("x", [5, 6, 7], [[1], [2], [3]], [], False),
        TokenizedItem("x", [5], [[1, 2, 3], [4, 2]], [], False),
    )
    assert [(measure_width(letters, way), count_rows(letters, way)) for way in STRATEGIES[:2]] == [
        (3, 1),
        (3, 1),
    ]
    assert [(measure_width(texts, way), count_rows(texts, way)) for way in STRATEGIES[:2]] == [
        (1 + 2 + 1, 1),
        (1 + 2, 2),
    ]
    scorer, shapes = build("llama"), []
    hook = scorer.model.register_forward_pre_hook(
        lambda _, args, options: shapes.append(tuple(options["input_ids"].shape)), with_kwargs=True
    )
    with torch.no_grad():
        likelihoods(scorer.model, [letters], "right padding")
    hook.remove()
    assert shapes == [(1, 3)]


def record_shapes(model, function):
    """The shapes of the tokens that a model reads while a function runs."""
    shapes = []

    def record(_, arguments, options):
        shapes.append(tuple(options["input_ids"].shape))

    hook = model.register_forward_pre_hook(record, with_kwargs=True)
    with torch.no_grad():
        function()
    hook.remove()
    return shapes


def make_items(sizes, seed=0):
    """Items of (tokens of the prompt, tokens of each choice)."""
    draw = np.random.default_rng(seed)
    items = []
    for n_prompt, *n_choices in sizes:
        prompt = draw.integers(2, 40, n_prompt).tolist()
        choices = [draw.integers(2, 40, n).tolist() for n in n_choices]
        items.append(TokenizedItem("x", prompt, choices, [], False))
    return items


def test_packed_items_fill_rows_of_like_length_and_do_not_see_each_other():
    scorer = build("llama")
    sizes = np.random.default_rng(1).integers(2, 60, size=(23, 3)).tolist()
    items = make_items(sizes)
    # A row of an item has its prompt and its choices without their last tokens.
    n_tokens = sum(n_prompt + first - 1 + second - 1 for n_prompt, first, second in sizes)

    scores = []
    shapes = record_shapes(
        scorer.model, lambda: scores.extend(likelihoods(scorer.model, items, "shared prefix")())
    )

    ((n_packed, longest),) = shapes
    assert n_packed == round(n_tokens / 256)
    assert n_packed * longest <= 1.1 * n_tokens
    with torch.no_grad():
        singles = [likelihoods(scorer.model, [item], "one by one")()[0] for item in items]
    assert np.array(scores) == pytest.approx(np.array(singles), abs=1e-4)


def test_a_long_item_is_not_padded_by_short_ones():
    scorer = build("llama")
    items = make_items([(3, 2, 2)] * 9 + [(400, 2, 2)])

    shapes = record_shapes(
        scorer.model, lambda: likelihoods(scorer.model, items, "shared prefix")()
    )

    # 402 tokens and nine times 5: two rows would have 402 tokens each.
    assert shapes == [(1, 402 + 9 * 5)]


def test_choices_that_begin_alike_are_read_once_up_to_where_they_differ():
    scorer = build("llama")
    # Without their last tokens: 9 8 7, 9 8 6 5, 9 8 6 and 9, a tree of five tokens.
    choices = [[9, 8, 7, 4], [9, 8, 6, 5, 4], [9, 8, 6, 4], [9, 3]]
    items = [TokenizedItem("x", [5, 11], choices, [], False), *make_items([(6, 4, 3)])]
    # 2 + 5 tokens of the first item, 6 + 3 + 2 of the second.
    assert [measure_width(item, "shared prefix") for item in items] == [7, 11]

    scores = []
    shapes = record_shapes(
        scorer.model, lambda: scores.extend(likelihoods(scorer.model, items, "shared prefix")())
    )

    assert shapes == [(1, 7 + 11)]
    for choice, score in zip(choices, scores[0], strict=True):
        single = TokenizedItem("x", [5, 11], [choice], [], False)
        with torch.no_grad():
            (want,) = likelihoods(scorer.model, [single], "one by one")()[0]
        assert score == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("way", STRATEGIES)
def test_batches_hold_every_item_once_within_their_budget(way):
    sizes = np.random.default_rng(2).integers(1, 90, size=(60, 4)).tolist()
    items = make_items([*sizes, (700, 9, 9)])

    batches = make_batches(items, way, 512)

    assert sorted(np.concatenate(batches).tolist()) == list(range(len(items)))
    for batch in batches:
        widths = [measure_width(items[place], way) for place in batch]
        rows = [count_rows(items[place], way) for place in batch]
        n_tokens = sum(map(math.prod, zip(widths, rows, strict=True)))
        if way == "right padding":
            n_tokens = max(widths) * sum(rows)
        assert n_tokens <= 512 or len(batch) == 1
    if way != "equal lengths":
        assert 60 in batches[0]  # the longest first


def test_many_choices_are_split_into_items_of_one_prompt():
    choices = [[7] * size for size in (300, 200, 12, 1, 600, 5)]
    item = TokenizedItem("x", [5, 6], choices, choice_indices=[4, 2, 3, 0, 1, 5], truncated=True)

    parts = split_choices(item, max_length=2048)

    # 300 + 200 + 12 tokens are 512; one choice of more than 512 is alone.
    assert [part.choice_indices for part in parts] == [[4, 2, 3], [0], [1], [5]]
    assert [len(part.choices) for part in parts] == [3, 1, 1, 1]
    assert all(part.prompt == [5, 6] and part.truncated for part in parts)
    # A long prompt is not read again for fewer tokens than it has.
    item = TokenizedItem("x", [5] * 800, choices, choice_indices=list(range(6)), truncated=False)
    assert [part.choice_indices for part in split_choices(item, max_length=2048)] == [
        [0, 1, 2, 3],
        [4, 5],
    ]
    # The model reads 600 tokens of choices after it.
    places = [part.choice_indices for part in split_choices(item, max_length=1400)]
    assert places == [[0, 1, 2, 3], [4], [5]]


def test_batches_of_padded_rows_are_cut_before_a_fifth_is_padding():
    # Rows of 100 and of 19 tokens: one of the short with the long would leave 81 of 400 tokens to padding.
    items = make_items([(19, 1), (100, 1)] * 3)

    batches = make_batches(items, "right padding", 4096)

    assert [sorted(batch.tolist()) for batch in batches] == [[1, 3, 5], [0, 2, 4]]


def test_a_trial_reads_without_a_cache():
    """As with xLSTM, whose cache fails at sequences of some lengths."""
    scorer = build("llama")
    forward = type(scorer.model).forward

    def forward_without_cache(self, input_ids=None, use_cache=True, **options):
        if use_cache:
            raise RuntimeError("matC_old has wrong shape")
        return forward(self, input_ids=input_ids, use_cache=False, **options)

    want = [alone(scorer, PROMPTS[0], choice) for choice in SHORT[0]]
    scorer.model.forward = forward_without_cache.__get__(scorer.model)

    scores = chosen(scorer, PROMPTS[:1], SHORT[:1], method="sum", progress=False)

    assert list(scores.logits[0]) == pytest.approx(want, abs=1e-4)


def test_models_that_cannot_be_asked_are_told_in_a_sentence(tmp_path):
    scorer = build("llama")
    more = tiny_causal_tokenizer()
    more.add_tokens(["glimmer"])
    with pytest.raises(ValueError, match=r"ids below \d+"):
        chosen(
            CausalLM(scorer.model, more, "llama"),
            ["the glimmer"],
            [["good", "bad"]],
            progress=False,
        )
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
