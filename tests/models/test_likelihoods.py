"""The ways of reading prompts and choices: each is taken where a trial finds it exact."""

import itertools

import numpy as np
import pytest
import torch
import transformers

from rightreasons.models.choices import CausalLM, load_causal
from rightreasons.models.likelihoods import WAYS, Tokens, likelihoods, n_rows, width
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
    items = [Tokens("x", prompt, choices, [], False) for prompt, *choices in tokens]
    with torch.no_grad():
        want, *others = (likelihoods(scorer.model, items, way)() for way in reversed(WAYS))
    for got, (one, other) in itertools.product(others, enumerate(want)):
        assert got[one] == pytest.approx(other, abs=1e-4)


def test_a_row_holds_no_last_token_and_choices_of_one_token_need_the_prompt_alone():
    letters, texts = (
        Tokens("x", [5, 6, 7], [[1], [2], [3]], [], False),
        Tokens("x", [5], [[1, 2, 3], [1, 2]], [], False),
    )
    assert [(width(letters, way), n_rows(letters, way)) for way in WAYS[:2]] == [(3, 1), (3, 1)]
    assert [(width(texts, way), n_rows(texts, way)) for way in WAYS[:2]] == [
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
    with pytest.raises(ValueError, match="needs Python code"):
        load_causal(tmp_path)
