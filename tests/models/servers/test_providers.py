"""Models of inspect_ai's providers are used like a server, and answer like one."""

from __future__ import annotations

import json

import pytest

from fake_server import serving
from rightreasons.core.errors import OptionError
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Engine, Request
from rightreasons.models.servers.opening import open_server
from rightreasons.models.wording import Prompt
from thinking_server import CHOICES, PROMPTS, RIGHT, thinking

model = pytest.importorskip("inspect_ai.model")

LOCAL = "inspect:openai-api/local/toy"
MOCK = "inspect:mockllm/model"
CAPITAL = [
    Request(f"item {n}", ({"role": "user", "content": f"Capital of France, {n}?"},))
    for n in range(12)
]


@pytest.fixture
def connect(monkeypatch):
    """A function that lets inspect_ai's own client of OpenAI-compatible servers use an address."""

    def set_address(url):
        monkeypatch.setenv("LOCAL_BASE_URL", url)
        monkeypatch.setenv("LOCAL_API_KEY", "sk-of-local")

    return set_address


@pytest.fixture
def set_answer(monkeypatch):
    """A function that lets inspect_ai's mock model answer by another function.

    That function takes a text and the configuration of the request, and returns a `ModelOutput`.
    """
    get_model = model.get_model

    def set_function(answer):
        def make_output(messages, _tools, _choice, config):
            output = answer(messages[-1].text, config)
            if not output.usage:
                output.usage = model.ModelUsage(input_tokens=10, output_tokens=3, total_tokens=13)
            return output

        def get_mock(name, **options):
            return get_model(name, custom_outputs=make_output, **options)

        monkeypatch.setattr(model, "get_model", get_mock)

    return set_function


def make_output(content, **options):
    return model.ModelOutput.from_content("mock", content, **options)


def read_number(text):
    """Return the number in the prompt of an item of `CAPITAL`; -1 for another text."""
    if not text.startswith("Capital of France,"):
        return -1
    return int(text.split(",")[1].split("?")[0])


@pytest.mark.parametrize("dialect", ["vllm", "deepseek", "openrouter", "raw_tags"])
def test_a_provider_gives_the_answers_of_its_server(dialect, connect):
    with thinking(dialect) as server:
        connect(server.url)
        server_engine = open_server(server.url, progress=False, retries=0)
        provider_engine = open_server(LOCAL, progress=False, retries=0)
        for engine in (server_engine, provider_engine):
            scores = Prompted(Prompt(), engine).choose(PROMPTS, CHOICES, progress=False)
            assert scores.predicted.tolist() == RIGHT
            assert engine.budget == 2048

        assert provider_engine.thinks
        assert isinstance(provider_engine, Engine)
        ((reply,),) = provider_engine.generate(
            CAPITAL[:1], max_new_tokens=200, progress=False
        ).replies
        assert reply.thinking.startswith("The answer is A at first sight.")
        assert reply.text == "**Paris**"
        assert reply.finish == "stop"
        assert reply.usage["answer_tokens"] == 61


def test_a_provider_has_log_probabilities_of_letters_but_not_of_given_texts(connect):
    letters = Prompt(style="letters", scoring="next_words")
    with serving() as server:
        connect(server.url)
        server_engine = open_server(server.url, progress=False)
        provider_engine = open_server(LOCAL, progress=False)
        assert provider_engine.abilities == {"next_words", "text"}

        expected, scores = [
            Prompted(letters, engine).choose(PROMPTS, CHOICES, progress=False).logits
            for engine in (server_engine, provider_engine)
        ]
        assert [row.tolist() for row in scores] == [row.tolist() for row in expected]
        with pytest.raises(OptionError, match=r"\(next_words, generated\)"):
            Prompted(Prompt(scoring="mean"), provider_engine)


def test_an_interrupted_run_through_a_provider_resumes(connect, tmp_path):
    with serving() as server:
        connect(server.url)
        engine = open_server(LOCAL, progress=False, retries=0)
        server.reset()
        server.faults = lambda number, _: (500, {}, "{}") if number > 7 else None
        interrupted = engine.generate(CAPITAL, progress=False, out=tmp_path)
        n_answered = [len(row) for row in interrupted.replies].count(1)
        assert 0 < n_answered < len(CAPITAL)

        server.faults = lambda *_: None
        resuming = open_server(LOCAL, progress=False, retries=0)
        server.reset()
        assert not resuming.generate(CAPITAL, progress=False, out=tmp_path).failures
        assert len(server.bodies) == len(CAPITAL) - n_answered


def test_thinking_refusals_and_filters_are_distinguished(set_answer):
    paris = model.ContentText(text="Paris")
    visible = model.ContentReasoning(reasoning="Lyon? No.")
    hidden = model.ContentReasoning(reasoning="x9f", redacted=True)
    # By the number of the item; a function makes each anew, as the usage is set on it.
    outputs = {
        0: lambda: make_output([visible, paris]),
        1: lambda: make_output([hidden, paris]),
        2: lambda: make_output([model.ContentText(text="I can't help.", refusal=True)]),
        3: lambda: make_output("Blocked.", stop_reason="content_filter"),
        4: lambda: make_output("Paris is", stop_reason="max_tokens"),
    }

    def answer(text, _):
        make = outputs.get(read_number(text))
        return make() if make else make_output("Paris is", stop_reason="stop")

    set_answer(answer)
    engine = open_server(MOCK, progress=False)
    assert engine.name == "model"

    replies = [row[0] for row in engine.generate(CAPITAL[:6], progress=False).replies]

    assert [(reply.text, reply.thinking, reply.finish) for reply in replies] == [
        ("Paris", "Lyon? No.", "stop"),
        ("Paris", "(hidden)", "stop"),
        ("", "", "refusal"),
        ("Blocked.", "", "content_filter"),
        ("Paris is", "", "length"),
        ("Paris is", "", "stop"),
    ]
    assert replies[2].refusal == "I can't help."
    assert replies[0].usage == {"prompt_tokens": 10, "answer_tokens": 3}


def test_the_options_of_a_request_reach_the_provider(set_answer):
    configs = []

    def answer(text, config):
        configs.append(config)
        content = [model.ContentText(text="Paris")]
        if config.reasoning_tokens:
            content.insert(0, model.ContentReasoning(reasoning="Hm."))
        return make_output(content)

    set_answer(answer)
    engine = open_server(
        MOCK,
        progress=False,
        thinking="500",
        header=("X-Team: red",),
        extra_body='{"mine": 7, "top_k": 9}',
    )
    assert engine.thinks
    # 500 tokens of thinking, and 32 of the answer.
    assert engine.budget == 532

    engine.generate(
        CAPITAL[:1], max_new_tokens=80, stop=("###",), top_p=0.9, temperature=0.7, progress=False
    )

    config = configs[-1]
    assert config.max_tokens == 80
    assert config.stop_seqs == ["###"]
    assert config.top_p == 0.9
    assert config.temperature == 0.7
    # `top_k` is an option of inspect_ai, and `mine` is none.
    assert config.top_k == 9
    assert config.extra_body == {"mine": 7}
    assert config.reasoning_tokens == 500
    assert config.extra_headers == {"X-Team": "red"}
    assert config.max_retries == 0


def test_answers_are_constrained_by_a_schema_if_the_provider_obeys_it(set_answer):
    def answer(_, config):
        if config.response_schema is None:
            return make_output("The capital is Paris.")
        choices = config.response_schema.json_schema.properties["answer"].enum
        return make_output(json.dumps({"answer": choices[-1]}))

    set_answer(answer)
    engine = open_server(MOCK, progress=False)
    assert "constrained_text" in engine.abilities

    request = Request("item", CAPITAL[0].prompt, (" A", " B"))
    answers = engine.generate([request], constrained=True, progress=False)
    assert answers.texts == [["B"]]


class BusyError(Exception):
    """An error that a provider's own package may raise."""


def test_a_failure_of_a_provider_names_its_item_and_the_others_are_answered(
    set_answer, monkeypatch
):
    # Item 3 succeeds at the second attempt, and item 5 never does.
    n_failures = {3: 1}

    def answer(text, _):
        number = read_number(text)
        if n_failures.get(number, 0) > 0:
            n_failures[number] -= 1
            raise BusyError("come back")
        if number == 5:
            raise KeyError("no such thing")
        return make_output("Paris")

    set_answer(answer)
    monkeypatch.setattr("rightreasons.models.servers.client.FIRST_PAUSE", 0.01)
    engine = open_server(MOCK, progress=False)
    api_class = type(engine.client._model.api)
    monkeypatch.setattr(api_class, "should_retry", lambda _, error: isinstance(error, BusyError))

    answers = engine.generate(CAPITAL, progress=False)

    assert answers.failures == {"item 5": "the provider fails: KeyError: 'no such thing'"}
    assert [row[0].text for row in answers.replies if row] == ["Paris"] * 11
    assert engine.client.usage.repeated == 1


def test_a_key_that_a_provider_repeats_is_not_shown(connect):
    reply = json.dumps({"error": {"message": "bad key sk-of-local"}})
    message = "the server refuses the key|requires a key"
    with serving() as server:
        connect(server.url)
        server.faults = lambda *_: (401, {}, reply)

        with pytest.raises(ValueError, match=message) as error:
            open_server(LOCAL, progress=False, retries=0)

        assert "sk-of-local" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nobody/x", "Model API nobody of model 'nobody/x' not recognized"),
        ("openai-api/unset/x", "UNSET_API_KEY"),
        ("x", "should be in the format of"),
    ],
)
def test_a_model_that_inspect_does_not_have_is_refused(name, reason):
    message = f"^Expected a model that inspect_ai can ask, but of inspect:{name}: .*{reason}"
    with pytest.raises(ValueError, match=message):
        open_server(f"inspect:{name}", progress=False)
