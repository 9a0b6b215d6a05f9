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
def chat_engine(tmp_path):
    """The same model with a chat template."""
    scorer = load_causal(save_tiny_causal(tmp_path))
    scorer.tokenizer.chat_template = TEMPLATE
    return LocalEngine(scorer)


def compute_logits(model, tokens):
    """Return the logits of the next token at each position, of a single sequence."""
    with torch.no_grad():
        return model.model(torch.tensor([tokens], device=model.model.device)).logits[0]


def score_text(model, prompt, text):
    """Return the log-likelihood of a text after a prompt by plain arithmetic."""
    context = model.tokenizer(prompt)["input_ids"] or [model.start_token]
    tokens = model.tokenizer(text)["input_ids"]
    log_probabilities = compute_logits(model, context + tokens).double().log_softmax(-1)
    total = 0.0
    for index, token in enumerate(tokens):
        total += float(log_probabilities[len(context) - 1 + index, token])
    return total


def test_likelihoods_are_those_of_plain_arithmetic(model, engine):
    assert isinstance(engine, Engine)
    requests = [
        Request("0", "the film was", (" good", " very bad", " not good and dull")),
        Request("1", "", (" the plot", " rain")),
    ]

    likelihoods = engine.likelihoods(requests, progress=False)

    for request, values, lengths in zip(
        requests, likelihoods.values, likelihoods.lengths, strict=True
    ):
        expected = [score_text(model, request.prompt, text) for text in request.continuations]
        assert values == pytest.approx(expected, abs=1e-4)
        assert lengths.tolist() == [len(text.split()) for text in request.continuations]


def test_choices_are_scored_as_without_a_prompt(model, engine):
    prompts = ["the man fell because", ""]
    choices = [["the floor was wet", "so"], ["rain", "sun and rain", "the"]]
    options_by_method = {
        "mean": {},
        "sum": {"scoring": "sum"},
        "unconditional": {"scoring": "unconditional"},
        "letters": {"style": "letters"},
    }

    for method, options in options_by_method.items():
        prompted = Prompted(Prompt(**options), engine).choose(prompts, choices, progress=False)
        expected = chosen(model, prompts, choices, method=method, progress=False)
        assert prompted.logits.values == pytest.approx(expected.logits.values, abs=1e-4), method


def test_many_continuations_of_a_request_share_their_prompt_in_rows_of_moderate_length(
    model, engine
):
    # 240 continuations of five words: a row of all would be longer than the 256 tokens of the model.
    rng = np.random.default_rng(0)
    texts = tuple(" " + " ".join(rng.choice(WORDS, 5)) for _ in range(240))
    requests = [Request("0", "", texts), Request("1", "the film was", texts[:2])]
    shapes = []

    def record(_, arguments, options):
        shapes.append(tuple(options["input_ids"].shape))

    hook = model.model.register_forward_pre_hook(record, with_kwargs=True)
    likelihoods = engine.likelihoods(requests, progress=False)
    hook.remove()

    assert likelihoods.way == "shared prefix"
    # Rows are packed up to one and a half times 256 tokens.
    assert max(width for _, width in shapes) <= 384
    for text, value in zip(texts[:240:30], likelihoods.values[0][::30], strict=True):
        assert value == pytest.approx(score_text(model, "", text), abs=1e-4)
    for text, value in zip(texts[:2], likelihoods.values[1], strict=True):
        assert value == pytest.approx(score_text(model, "the film was", text), abs=1e-4)


def test_next_words_are_first_tokens(model, engine):
    request = Request("0", "the film was", (" good and dull", " bad"))

    likelihoods = engine.next_words([request], progress=False)

    expected = [score_text(model, "the film was", word) for word in ("good", "bad")]
    assert likelihoods.values[0] == pytest.approx(expected, abs=1e-4)
    prompted = Prompted(Prompt(scoring="next_words"), engine, ["very good", "very bad"])
    with pytest.raises(ValueError, match="'very bad' both begin"):
        prompted.predict(["film"], progress=False)


def test_generated_answers_are_those_of_one_at_a_time(model, engine):
    texts = [
        "the film was good",
        "rain",
        "the man fell because the floor was wet and so",
        "what a plot",
    ]
    requests = [Request(str(number), text) for number, text in enumerate(texts)]

    answers = engine.generate(requests, max_new_tokens=5, progress=False)

    for text, generated in zip(texts, answers.texts, strict=True):
        tokens = model.tokenizer(text)["input_ids"]
        for _ in range(5):
            # The likeliest token.
            tokens.append(int(compute_logits(model, tokens)[-1].argmax()))
        assert generated == [model.tokenizer.decode(tokens[-5:], skip_special_tokens=True)]
    assert [row[0].finish for row in answers.replies] == ["length"] * 4
    assert answers.way == "left padding"


def test_sampled_answers_depend_on_seed_and_item_alone(engine):
    requests = [Request(name, "the film was") for name in "abc"]
    options = {"n": 2, "temperature": 1.0, "max_new_tokens": 6, "progress": False}

    samples = engine.generate(requests, seed=1, **options).texts

    subset = engine.generate([requests[2], requests[0]], seed=1, **options).texts
    assert subset == [samples[2], samples[0]]
    assert engine.generate(requests, seed=2, **options).texts != samples
    # Two answers of one word may be the same by chance, in about one of a hundred such sets of six.
    distinct = {text for texts in samples for text in texts}
    assert len(distinct) >= 5


def test_tokens_are_sampled_by_their_probabilities(model, engine):
    tokens = model.tokenizer("the film was")["input_ids"]
    logits = compute_logits(model, tokens)[-1].double().cpu()
    probabilities = (logits / 2).softmax(-1)
    # Of the words, since special tokens are not decoded.
    likeliest = 5 + int(probabilities[5:].argmax())

    (texts,) = engine.generate(
        [Request("a", "the film was")], n=400, temperature=2.0, max_new_tokens=1, progress=False
    ).texts

    share = np.mean([text == model.tokenizer.decode([likeliest]) for text in texts])
    p = float(probabilities[likeliest])
    # Four standard errors.
    assert abs(share - p) < 4 * (p * (1 - p) / 400) ** 0.5


def test_an_answer_ends_at_a_stop_text_and_the_model_is_unchanged(model, engine):
    request = Request("a", "the film was")
    options = {"max_new_tokens": 8, "progress": False}
    words = engine.generate([request], **options).texts[0][0].split()
    # A setting of the model's own, which is not used.
    model.model.generation_config.repetition_penalty = 9.0
    config = model.model.generation_config

    stopped = engine.generate([request], stop=[words[3]], **options)

    assert stopped.texts[0][0].split() == words[: words.index(words[3])]
    assert model.model.generation_config is config
    model.model.generation_config.repetition_penalty = None


def test_a_stored_run_is_read_again(engine, tmp_path):
    out = tmp_path / "a"
    requests = [Request(str(number), "the film was " * (number + 1)) for number in range(3)]

    texts = engine.generate(requests, max_new_tokens=3, progress=False, out=out).texts
    chunk = sorted(out.glob("chunk-*"))[0]
    repeated = engine.generate(requests, max_new_tokens=3, progress=False, out=out).texts

    assert repeated == texts
    assert chunk.is_file()
    with pytest.warns(SetAsideWarning, match="differs in options"):
        engine.generate(requests, max_new_tokens=4, progress=False, out=out)


def test_a_chat_model_is_prompted_by_its_template(chat_engine, model):
    assert chat_engine.has_template
    prompted = Prompted(Prompt(template="{{ prompt }}"), chat_engine)

    scores = prompted.choose(["the plot was"], [["good", "very bad"]], progress=False)

    text = "user the plot was a"
    assert prompted.describe()["example"] == text
    # Means over the tokens.
    expected = [score_text(model, text, "good"), score_text(model, text, "very bad") / 2]
    assert scores.logits[0] == pytest.approx(expected, abs=1e-4)
    with_system = Prompted(Prompt(system="x"), chat_engine)
    with pytest.raises(ValueError, match="system, user"):
        with_system.choose(["p"], [["good", "bad"]], progress=False)


# A template that can open and close the thinking, and one that always opens it.
OPTIONAL_THINKING = (
    TEMPLATE
    + "{% if enable_thinking is defined and not enable_thinking %} <think> </think> {% endif %}"
)
CONSTANT_THINKING = TEMPLATE + "<think> "


def test_a_template_with_thinking_needs_generated_answers(tmp_path):
    scorer = load_causal(save_tiny_causal(tmp_path))
    scorer.tokenizer.chat_template = OPTIONAL_THINKING
    turns = ({"role": "user", "content": "the plot"},)
    thinking = LocalEngine(scorer)
    unthinking = LocalEngine(scorer, "off")

    assert thinking.thinks is True
    assert unthinking.thinks is False
    # Half of the 256 tokens that it reads, and the default of an answer without thinking.
    assert thinking.budget == 128
    assert unthinking.budget == 32
    assert LocalEngine(scorer, "50").budget == 82
    assert thinking.render(turns) == "user the plot a"
    assert unthinking.render(turns) == "user the plot a <think> </think> "
    assert thinking.fingerprint != unthinking.fingerprint
    assert Prompted(Prompt(), thinking).rendering.scoring == "generated"
    assert Prompted(Prompt(), unthinking).rendering.scoring == "mean"
    with pytest.raises(OptionError, match="thinking='off' asks it without"):
        Prompted(Prompt(scoring="sum"), thinking)
    # Without the chat template, it does not think.
    assert Prompted(Prompt(chat="off"), thinking).rendering.scoring == "mean"


def test_thinking_that_the_template_begins_and_that_does_not_end_is_no_answer(tmp_path):
    scorer = load_causal(save_tiny_causal(tmp_path))
    scorer.tokenizer.chat_template = CONSTANT_THINKING
    engine = LocalEngine(scorer)
    assert engine.thinks
    request = Request("a", ({"role": "user", "content": "the plot"},))

    ((reply,),) = engine.generate([request], max_new_tokens=3, progress=False).replies

    assert reply.text == ""
    assert reply.finish == "thinking"
    assert reply.thinking
    with pytest.raises(OptionError, match="always begins with thinking"):
        _ = LocalEngine(scorer, "off").thinks


def test_a_model_without_a_chat_template_cannot_render_a_chat(engine):
    assert not engine.has_template
    with pytest.raises(ValueError, match="where `chat`"):
        Prompted(Prompt(chat="on"), engine)
    with pytest.raises(ValueError, match="Expected a model with a chat template, but"):
        engine.render([{"role": "user", "content": "x"}])


def test_answers_must_be_shorter_than_the_model_reads(engine):
    with pytest.raises(ValueError, match="Expected `max_new_tokens` below 256"):
        engine.generate([Request("a", "the")], max_new_tokens=256, progress=False)


def test_the_fingerprint_depends_on_the_template(engine, chat_engine):
    assert engine.fingerprint != chat_engine.fingerprint
    assert isinstance(engine.scorer, CausalLM)


@pytest.mark.parametrize("scoring", ["mean", "sum", "unconditional"])
def test_an_item_that_cannot_be_read_does_not_change_the_others(engine, scoring):
    prompted = Prompted(Prompt(scoring=scoring), engine)
    prompts = ["the film was", "what", "the man"]
    # The choice of the second item exceeds the 256 tokens of the model.
    choices = [["good", "bad"], ["good " * 300, "so"], ["wet", "dry"]]

    scores = prompted.choose(prompts, choices, labels=[0, 1, 1], progress=False)

    readable = prompted.choose([prompts[0], prompts[2]], [choices[0], choices[2]], progress=False)
    assert scores.ids == ("0", "2")
    assert scores.labels.tolist() == [0, 1]
    np.testing.assert_allclose(scores.logits, readable.logits, atol=1e-5)
    assert list(scores.failures) == ["1"]
    assert scores.failures["1"].startswith("Expected choices that ")


@pytest.fixture
def engine_without_start_token(model):
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.bos_token = None
    return LocalEngine(dataclasses.replace(model, tokenizer=tokenizer))


def test_only_an_empty_prompt_needs_a_start_token_to_be_scored(engine_without_start_token):
    requests = [Request("a", "", (" good", " bad")), Request("b", "the film was", (" good",))]

    likelihoods = engine_without_start_token.likelihoods(requests, progress=False)

    assert list(likelihoods.failures) == ["a"]
    assert "for the empty prompt of item 'a'" in likelihoods.failures["a"]
    assert np.isnan(likelihoods.values[0]).all()
    assert np.isfinite(likelihoods.values[1]).all()


def test_only_an_empty_prompt_needs_a_start_token_to_be_continued(engine_without_start_token):
    engine = engine_without_start_token
    empty = Request("a", "")
    film = Request("b", "the film was")
    question = Request("c", "what")
    options = {"n": 2, "temperature": 1.0, "max_new_tokens": 4, "progress": False}

    answers = engine.generate([film, empty, question], **options)

    assert list(answers.failures) == ["a"]
    assert "for the empty prompt of item 'a'" in answers.failures["a"]
    film_texts, question_texts = engine.generate([film, question], **options).texts
    assert answers.texts == [film_texts, [], question_texts]
    with pytest.raises(ValueError, match="for the empty prompt of item 'a'"):
        engine.generate([empty], **options)


def test_tokens_beyond_the_share_top_p_are_never_sampled():
    scores = torch.log(torch.tensor([[0.5, 0.3, 0.2]])).expand(200, 3)
    prompts = torch.zeros(200, 1, dtype=torch.long)

    for top_p, expected in ((1.0, {0, 1, 2}), (0.9, {0, 1, 2}), (0.75, {0, 1}), (0.4, {0})):
        sampled = Sampler(range(200), 1.0, top_p)(prompts, scores)
        assert set(sampled.argmax(-1).tolist()) == expected


def test_noise_is_that_of_splitmix_and_depends_on_its_key_step_and_column_alone():
    # The first output of SplitMix64 with seed 0, as its reference implementation prints it.
    output = int(_mix(torch.tensor([_GOLDEN_GAMMA]))[0])
    assert output % (1 << 64) == 0xE220A8397B1DCDAF

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
    for values, neighbors in ((noise[:-1], noise[1:]), (noise[:, :-1], noise[:, 1:])):
        correlation = np.corrcoef(values.ravel(), neighbors.ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(values.size)


class LetterTokenizer:
    """A tokenizer with a token per character, which records the number of decoded tokens."""

    def __init__(self):
        self.n_decoded = []

    def batch_decode(self, rows, skip_special_tokens):
        self.n_decoded.append(rows.shape[1])
        return ["".join(map(chr, row)) for row in rows.tolist()]


def test_only_the_end_of_an_answer_is_searched_for_stop_texts():
    tokenizer = LetterTokenizer()
    stop = StopTexts(tokenizer, ("\n\n", "END"), n_before=2)
    text = "??" + "a" * 50 + "\n\n"
    rows = torch.tensor([list(map(ord, text)), list(map(ord, "?" * len(text)))])

    assert stop(rows, None).tolist() == [True, False]
    assert stop(rows[:, :-1], None).tolist() == [False, False]
    # Three bytes and eight more.
    assert tokenizer.n_decoded == [11, 11]


class FakeModel:
    """A model on a GPU that does not exist, with what the sizes of batches depend on."""

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
    ("mebibytes", "length", "strategy", "expected"),
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
    mebibytes, length, strategy, expected, monkeypatch
):
    memory = {
        "mem_get_info": (mebibytes * 2**20, 2**40),
        "memory_reserved": 2**20,
        "memory_allocated": 2**20,
    }
    for name, value in memory.items():
        monkeypatch.setattr(torch.cuda, name, {FakeModel.device: value}.__getitem__)
    lengths = np.full(1000, length)

    batches = make_generation_batches(FakeModel(), BatchingStrategy(strategy, length), lengths)

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
