"""A causal language model in this process as an engine."""

import copy
import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
import torch
import transformers

from rightreasons.core.errors import OptionError, SetAsideWarning
from rightreasons.models.choices import load_causal
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.language.generation import (
    _GOLDEN_GAMMA,
    Sampler,
    StopTexts,
    _mix,
    gumbel_noise,
    make_generation_batches,
)
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Engine, Request
from rightreasons.models.trial import BatchingStrategy
from rightreasons.models.wording import Prompt
from tiny_causal import chosen, save_tiny_causal
from tiny_models import WORDS

TEMPLATE = (
    "{% for turn in messages %}{% if turn.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{{ turn.role }} {{ turn.content }} {% endfor %}{% if add_generation_prompt %}a{% endif %}"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_causal(save_tiny_causal(tmp_path_factory.mktemp("causal")))


@pytest.fixture(scope="module")
def engine(model):
    return LocalEngine(model)


@pytest.fixture
def chatting(tmp_path):
    """The same model with a chat template."""
    scorer = load_causal(save_tiny_causal(tmp_path))
    scorer.tokenizer.chat_template = TEMPLATE
    return LocalEngine(scorer)


def log_probability(model, text, following):
    """The plain arithmetic: token by token, one sequence at a time."""
    tokens = model.tokenizer(text)["input_ids"] or [model.start_token]
    new = model.tokenizer(following)["input_ids"]
    with torch.no_grad():
        logits = (
            model.model(torch.tensor([tokens + new], device=model.model.device))
            .logits[0]
            .double()
            .log_softmax(-1)
        )
    return sum(float(logits[len(tokens) - 1 + place, token]) for place, token in enumerate(new))


def test_likelihoods_are_those_of_plain_arithmetic(model, engine):
    assert isinstance(engine, Engine)
    requests = [
        Request("0", "the film was", (" good", " very bad", " not good and dull")),
        Request("1", "", (" the plot", " rain")),
    ]
    told = engine.likelihoods(requests, progress=False)
    for request, row, lengths in zip(requests, told.values, told.lengths, strict=True):
        assert row == pytest.approx(
            [log_probability(model, request.prompt, t) for t in request.continuations], abs=1e-4
        )
        assert lengths.tolist() == [len(text.split()) for text in request.continuations]


def test_choices_are_scored_as_without_a_prompt(model, engine):
    prompts, choices = (
        ["the man fell because", ""],
        [["the floor was wet", "so"], ["rain", "sun and rain", "the"]],
    )
    for method, options in [
        ("mean", {}), ("sum", {"scoring": "sum"}), ("unconditional", {"scoring": "unconditional"}),
        ("letters", {"style": "letters"}),
    ]:  # fmt: skip
        ours = Prompted(Prompt(**options), engine).choose(prompts, choices, progress=False)
        plain = chosen(model, prompts, choices, method=method, progress=False)
        assert ours.logits.values == pytest.approx(plain.logits.values, abs=1e-4), method


def test_many_continuations_of_a_request_share_their_prompt_in_rows_of_moderate_length(
    model, engine
):
    # 240 continuations of five words: a row of all would be longer than the 256 tokens of the model.
    draw = np.random.default_rng(0)
    texts = tuple(" " + " ".join(draw.choice(WORDS, 5)) for _ in range(240))
    shapes = []

    def record(_, arguments, options):
        shapes.append(tuple(options["input_ids"].shape))

    hook = model.model.register_forward_pre_hook(record, with_kwargs=True)
    requests = [Request("0", "", texts), Request("1", "the film was", texts[:2])]
    told = engine.likelihoods(requests, progress=False)
    hook.remove()

    assert told.way == "shared prefix"
    # Rows are packed up to one and a half times 256 tokens.
    assert max(width for _, width in shapes) <= 384
    for text, value in zip(texts[:240:30], told.values[0][::30], strict=True):
        assert value == pytest.approx(log_probability(model, "", text), abs=1e-4)
    for text, value in zip(texts[:2], told.values[1], strict=True):
        assert value == pytest.approx(log_probability(model, "the film was", text), abs=1e-4)


def test_next_words_are_first_tokens(model, engine):
    request = Request("0", "the film was", (" good and dull", " bad"))
    told = engine.next_words([request], progress=False)
    assert told.values[0] == pytest.approx(
        [log_probability(model, "the film was", w) for w in ("good", "bad")], abs=1e-4
    )
    with pytest.raises(ValueError, match="'very bad' both begin"):
        Prompted(Prompt(scoring="next_words"), engine, ["very good", "very bad"]).predict(
            ["film"], progress=False
        )


def test_generated_answers_are_those_of_one_at_a_time(model, engine):
    texts = [
        "the film was good",
        "rain",
        "the man fell because the floor was wet and so",
        "what a plot",
    ]
    requests = [Request(str(place), text) for place, text in enumerate(texts)]
    together = engine.generate(requests, max_new_tokens=5, progress=False)
    for text, answers in zip(texts, together.texts, strict=True):
        tokens = model.tokenizer(text)["input_ids"]
        for _ in range(5):  # the likeliest token, by hand
            with torch.no_grad():
                tokens = [
                    *tokens,
                    int(
                        model.model(torch.tensor([tokens], device=model.model.device))
                        .logits[0, -1]
                        .argmax()
                    ),
                ]
        assert answers == [model.tokenizer.decode(tokens[-5:], skip_special_tokens=True)]
    assert [row[0].finish for row in together.replies] == ["length"] * 4
    assert together.way == "left padding"


def test_drawn_answers_depend_on_seed_and_item_alone(engine):
    requests = [Request(name, "the film was") for name in "abc"]
    options = {"n": 2, "temperature": 1.0, "max_new_tokens": 6, "progress": False}
    drawn = engine.generate(requests, seed=1, **options).texts
    assert engine.generate([requests[2], requests[0]], seed=1, **options).texts == [
        drawn[2],
        drawn[0],
    ]
    assert engine.generate(requests, seed=2, **options).texts != drawn
    # Two answers of one word may be the same by chance, in about one of a hundred such sets of six.
    assert len({text for texts in drawn for text in texts}) >= 5


def test_tokens_are_drawn_by_their_probabilities(model, engine):
    with torch.no_grad():
        tokens = torch.tensor(
            [model.tokenizer("the film was")["input_ids"]], device=model.model.device
        )
        logits = model.model(tokens).logits[0, -1].double().cpu()
    expected = (logits / 2).softmax(-1)
    likeliest = 5 + int(expected[5:].argmax())  # of the words: special tokens are not written
    drawn = engine.generate(
        [Request("a", "the film was")], n=400, temperature=2.0, max_new_tokens=1, progress=False
    ).texts[0]
    share = np.mean([text == model.tokenizer.decode([likeliest]) for text in drawn])
    p = float(expected[likeliest])
    assert abs(share - p) < 4 * (p * (1 - p) / 400) ** 0.5


def test_an_answer_ends_at_a_stop_text_and_the_model_is_as_it_was(model, engine):
    whole = (
        engine.generate([Request("a", "the film was")], max_new_tokens=8, progress=False)
        .texts[0][0]
        .split()
    )
    model.model.generation_config.repetition_penalty = (
        9.0  # a setting of the model's own, which is not taken
    )
    before = model.model.generation_config
    stopped = engine.generate(
        [Request("a", "the film was")], max_new_tokens=8, stop=[whole[3]], progress=False
    )
    assert stopped.texts[0][0].split() == whole[: whole.index(whole[3])]
    assert model.model.generation_config is before
    model.model.generation_config.repetition_penalty = None


def test_a_killed_run_resumes(engine, tmp_path):
    requests = [Request(str(place), "the film was " * (place + 1)) for place in range(3)]
    first = engine.generate(requests, max_new_tokens=3, progress=False, out=tmp_path / "a").texts
    chunk = sorted((tmp_path / "a").glob("chunk-*"))[0]
    assert (
        engine.generate(requests, max_new_tokens=3, progress=False, out=tmp_path / "a").texts
        == first
    )
    assert chunk.is_file()
    with pytest.warns(SetAsideWarning, match="differs in options"):
        engine.generate(requests, max_new_tokens=4, progress=False, out=tmp_path / "a")


def test_a_chat_is_asked_through_the_template(chatting, model):
    assert chatting.has_template
    scorer = Prompted(Prompt(template="{{ prompt }}"), chatting)
    scores = scorer.choose(["the plot was"], [["good", "very bad"]], progress=False)
    text = "user the plot was a"
    assert scorer.describe()["example"] == text
    assert scores.logits[0] == pytest.approx(
        [log_probability(model, text, "good"), log_probability(model, text, "very bad") / 2],
        abs=1e-4,
    )
    with pytest.raises(ValueError, match="system, user"):
        Prompted(Prompt(system="x"), chatting).choose(["p"], [["good", "bad"]], progress=False)


KNOWS = (
    TEMPLATE
    + "{% if enable_thinking is defined and not enable_thinking %} <think> </think> {% endif %}"
)
BEGINS = TEMPLATE + "<think> "


def test_a_template_that_thinks_is_asked_for_generated_answers(tmp_path):
    scorer = load_causal(save_tiny_causal(tmp_path))
    scorer.tokenizer.chat_template = KNOWS
    turns = ({"role": "user", "content": "the plot"},)
    engine, quiet = LocalEngine(scorer), LocalEngine(scorer, "off")
    assert (engine.thinks, quiet.thinks) == (True, False)
    assert (engine.budget, quiet.budget) == (128, 32)  # half of the 256 tokens that it reads
    assert LocalEngine(scorer, "50").budget == 82
    assert engine.render(turns) == "user the plot a"
    assert quiet.render(turns) == "user the plot a <think> </think> "
    assert engine.fingerprint != quiet.fingerprint
    assert Prompted(Prompt(), engine).rendering.scoring == "generated"
    assert Prompted(Prompt(), quiet).rendering.scoring == "mean"
    with pytest.raises(OptionError, match="thinking='off' asks it without"):
        Prompted(Prompt(scoring="sum"), engine)
    # Outside a chat it is asked as it is.
    assert Prompted(Prompt(chat="off"), engine).rendering.scoring == "mean"


def test_a_thought_that_begins_in_the_template_and_does_not_end_is_no_answer(tmp_path):
    scorer = load_causal(save_tiny_causal(tmp_path))
    scorer.tokenizer.chat_template = BEGINS
    engine = LocalEngine(scorer)
    assert engine.thinks
    told = engine.generate(
        [Request("a", ({"role": "user", "content": "the plot"},))], max_new_tokens=3, progress=False
    )
    assert (told.replies[0][0].text, told.replies[0][0].finish) == ("", "thinking")
    assert told.replies[0][0].thinking
    with pytest.raises(OptionError, match="always begins with thinking"):
        _ = LocalEngine(scorer, "off").thinks


def test_a_model_without_a_chat_template_is_not_asked_through_one(engine):
    assert not engine.has_template
    with pytest.raises(ValueError, match="where `chat`"):
        Prompted(Prompt(chat="on"), engine)
    with pytest.raises(ValueError, match="Expected a model with a chat template, but"):
        engine.render([{"role": "user", "content": "x"}])


def test_bad_numbers(engine):
    with pytest.raises(ValueError, match="Expected `max_new_tokens` below 256"):
        engine.generate([Request("a", "the")], max_new_tokens=256, progress=False)


def test_the_fingerprint_holds_the_template(engine, chatting):
    assert engine.fingerprint != chatting.fingerprint
    assert isinstance(engine.scorer, CausalLM)


@pytest.mark.parametrize("scoring", ["mean", "sum", "unconditional"])
def test_an_item_that_cannot_be_read_does_not_end_the_others(engine, scoring):
    prompted = Prompted(Prompt(scoring=scoring), engine)
    prompts, choices = (
        ["the film was", "what", "the man"],
        [["good", "bad"], ["good " * 300, "so"], ["wet", "dry"]],
    )
    scores = prompted.choose(prompts, choices, labels=[0, 1, 1], progress=False)
    alone = prompted.choose([prompts[0], prompts[2]], [choices[0], choices[2]], progress=False)
    assert scores.ids == ("0", "2")
    assert scores.labels.tolist() == [0, 1]
    np.testing.assert_allclose(scores.logits, alone.logits, atol=1e-5)
    assert list(scores.failures) == ["1"]
    assert scores.failures["1"].startswith("Expected choices that ")


def test_a_prompt_that_needs_a_start_token_fails_alone(model):
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.bos_token = None
    told = LocalEngine(dataclasses.replace(model, tokenizer=tokenizer)).likelihoods(
        [Request("a", "", (" good", " bad")), Request("b", "the film was", (" good",))],
        progress=False,
    )
    assert list(told.failures) == ["a"]
    assert "for the empty prompt of item 'a'" in told.failures["a"]
    assert np.isnan(told.values[0]).all()
    assert np.isfinite(told.values[1]).all()


def test_a_prompt_that_cannot_be_continued_fails_alone(model):
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.bos_token = None
    engine = LocalEngine(dataclasses.replace(model, tokenizer=tokenizer))
    able = [Request("b", "the film was"), Request("c", "what")]
    how = {"n": 2, "temperature": 1.0, "max_new_tokens": 4, "progress": False}
    told = engine.generate([able[0], Request("a", ""), able[1]], **how)
    assert list(told.failures) == ["a"]
    assert "for the empty prompt of item 'a'" in told.failures["a"]
    alone = engine.generate(able, **how)
    assert told.texts == [alone.texts[0], [], alone.texts[1]]
    with pytest.raises(ValueError, match="for the empty prompt of item 'a'"):
        engine.generate([Request("a", "")], **how)


def test_tokens_beyond_the_share_of_the_likeliest_are_never_drawn():
    scores = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    for top_p, kept in ((1.0, {0, 1, 2}), (0.9, {0, 1, 2}), (0.75, {0, 1}), (0.4, {0})):
        drawn = Sampler(range(200), 1.0, top_p)(
            torch.zeros(200, 1, dtype=torch.long), scores.expand(200, 3)
        )
        assert set(drawn.argmax(-1).tolist()) == kept


def test_noise_is_that_of_splitmix_and_depends_on_its_key_step_and_column_alone():
    # The first output of SplitMix64 with seed 0, as its reference implementation prints it.
    first = int(_mix(torch.tensor([_GOLDEN_GAMMA]))[0])
    assert first % (1 << 64) == 0xE220A8397B1DCDAF
    keys = torch.tensor([3, 1 << 62, 5])
    noise = gumbel_noise(keys, 4, 1000)
    assert torch.equal(noise[[2, 0]], gumbel_noise(keys[[2, 0]], 4, 1000))
    assert not torch.isclose(noise[0], gumbel_noise(keys, 5, 1000)[0]).any()


@pytest.mark.parametrize("top_p", [1.0, 0.5])
def test_tokens_are_sampled_on_the_device(top_p):
    sampler = Sampler([1, 2], 0.5, top_p)
    # A device without values: whatever reads one of them on the host is an error.
    scores = torch.empty(2, 5, device="meta")

    for _ in range(2):
        assert sampler(torch.empty(2, 3, device="meta"), scores).shape == (2, 5)


def test_each_step_has_its_own_noise():
    sampler = Sampler([1], 1.0, 1.0)
    scores = torch.zeros(1, 100)

    samples = [int(sampler(None, scores).argmax()) for _ in range(5)]

    # Equal noise would give one token five times; five draws of 100 tokens are alike once in 10^8.
    assert len(set(samples)) > 1


def test_noise_is_gumbel():
    noise = gumbel_noise(torch.arange(20), 0, 5000).numpy()
    assert scipy.stats.kstest(noise.ravel(), "gumbel_r").pvalue > 0.01
    # 100,000 numbers: correlations of neighboring keys and columns within four standard errors.
    for left, right in ((noise[:-1], noise[1:]), (noise[:, :-1], noise[:, 1:])):
        correlation = np.corrcoef(left.ravel(), right.ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(left.size)


def test_stop_texts_are_looked_for_at_the_end_of_an_answer():
    decoded = []

    class Letters:
        def batch_decode(self, rows, skip_special_tokens):
            decoded.append(rows.shape[1])
            return ["".join(map(chr, row)) for row in rows.tolist()]

    stop = StopTexts(Letters(), ("\n\n", "END"), n_before=2)
    text = "??" + "a" * 50 + "\n\n"
    rows = torch.tensor([list(map(ord, text)), list(map(ord, "?" * len(text)))])

    assert stop(rows, None).tolist() == [True, False]
    assert stop(rows[:, :-1], None).tolist() == [False, False]
    # Three bytes and eight more.
    assert decoded == [11, 11]


class FakeModel:
    """A model on a GPU that does not exist, as far as the sizes of batches need it."""

    device = torch.device("cuda:0")
    dtype = torch.bfloat16
    config = transformers.LlamaConfig(
        hidden_size=1024,
        num_hidden_layers=10,
        num_attention_heads=8,
        num_key_value_heads=2,
        intermediate_size=4096,
    )

    def get_input_embeddings(self):
        return SimpleNamespace(num_embeddings=100_000)


@pytest.mark.parametrize(
    ("mebibytes", "length", "way", "expected"),
    [
        # A token takes 2 bytes for each of 2 * 10 * 2 * 128 cached numbers and
        # 8 * 1024 + 3 * 4096 others: 51,200. Half of 400 MiB holds 4,096 tokens.
        (400, 512, "left padding", 8),
        (800, 512, "left padding", 16),
        # A quarter of 400 MiB holds the logits of an answer, 4,000,000 bytes, 26 times.
        (400, 128, "left padding", 26),
        (80_000, 128, "left padding", 256),
        (1, 128, "left padding", 1),
        (80_000, 128, "one by one", 1),
    ],
)
def test_batches_of_generation_fill_the_free_memory_of_a_gpu(
    mebibytes, length, way, expected, monkeypatch
):
    memory = {
        "mem_get_info": (mebibytes * 2**20, 2**40),
        "memory_reserved": 2**20,
        "memory_allocated": 2**20,
    }
    for name, answer in memory.items():
        monkeypatch.setattr(torch.cuda, name, {FakeModel.device: answer}.__getitem__)

    batches = make_generation_batches(
        FakeModel(), BatchingStrategy(way, length), np.full(1000, length)
    )

    assert len(batches[0]) == expected


def test_generation_remembers_the_answers_that_fit_in_memory(model, monkeypatch):
    engine = LocalEngine(model)
    requests = [Request(str(number), "the film was") for number in range(8)]
    options = {"max_new_tokens": 2, "progress": False}
    texts = engine.generate(requests, **options).texts
    sizes = []
    generate = type(model.model).generate

    def fail_above_three(self, input_ids, **settings):
        sizes.append(len(input_ids))
        if len(input_ids) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return generate(self, input_ids=input_ids, **settings)

    monkeypatch.setattr(type(model.model), "generate", fail_above_three)

    with pytest.warns(UserWarning, match="does not fit"):
        assert engine.generate(requests, **options).texts == texts
    assert sizes == [8, 4, 2, 2, 2, 2]
    # The next question begins with batches that fit.
    sizes.clear()
    assert engine.generate(requests, **options).texts == texts
    assert sizes == [2, 2, 2, 2]
