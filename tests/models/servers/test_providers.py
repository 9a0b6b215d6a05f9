"""Models of inspect_ai's providers are asked like a server, and answer like one."""

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
def local(monkeypatch):
    """Lets inspect_ai's own client of OpenAI-compatible servers ask the one at an address."""

    def point(url):
        monkeypatch.setenv("LOCAL_BASE_URL", url)
        monkeypatch.setenv("LOCAL_API_KEY", "sk-of-local")

    return point


@pytest.fixture
def mock(monkeypatch):
    """Lets inspect_ai's mock model answer by a function of what it is asked."""
    get_model = model.get_model

    def answer_by(said):
        def output(messages, _tools, _choice, config):
            told = said(messages[-1].text, config)
            told.usage = told.usage or model.ModelUsage(
                input_tokens=10, output_tokens=3, total_tokens=13
            )
            return told

        monkeypatch.setattr(
            model, "get_model", lambda name, **how: get_model(name, custom_outputs=output, **how)
        )

    return answer_by


def says(text, **how):
    return model.ModelOutput.from_content("mock", text, **how)


def numbered(text):
    return int(text.split(",")[1].split("?")[0]) if text.startswith("Capital of France,") else -1


@pytest.mark.parametrize("dialect", ["vllm", "deepseek", "openrouter", "raw_tags"])
def test_a_provider_has_the_answers_of_the_server_behind_it(dialect, local):
    with thinking(dialect) as fake:
        local(fake.url)
        engines = [open_server(address, progress=False, retries=0) for address in (fake.url, LOCAL)]
        ours, theirs = (
            Prompted(Prompt(), engine).choose(PROMPTS, CHOICES, progress=False)
            for engine in engines
        )
        assert ours.predicted.tolist() == theirs.predicted.tolist() == RIGHT
        assert engines[1].thinks
        assert engines[1].budget == engines[0].budget == 2048
        assert isinstance(engines[1], Engine)
        reply = engines[1].generate(CAPITAL[:1], max_new_tokens=200, progress=False).replies[0][0]
        assert reply.thinking.startswith("The answer is A at first sight.")
        assert reply.text == "**Paris**"
        assert (reply.finish, reply.usage["answer_tokens"]) == ("stop", 61)


def test_letters_have_the_log_probabilities_that_the_provider_tells_and_those_of_prompts_are_refused(
    local,
):
    with serving() as fake:
        local(fake.url)
        engines = [open_server(address, progress=False) for address in (fake.url, LOCAL)]
        assert engines[1].abilities == {"next_words", "text"}
        letters = Prompt(style="letters", scoring="next_words")
        ours, theirs = (
            Prompted(letters, engine).choose(PROMPTS, CHOICES, progress=False) for engine in engines
        )
        assert [row.tolist() for row in ours.logits] == [row.tolist() for row in theirs.logits]
        with pytest.raises(OptionError, match=r"\(next_words, generated\)"):
            Prompted(Prompt(scoring="mean"), engines[1])


def test_a_run_through_a_provider_goes_on_where_it_was_killed(local, tmp_path):
    with serving() as fake:
        local(fake.url)
        engine = open_server(LOCAL, progress=False, retries=0)
        fake.reset()
        fake.faults = lambda number, _: (500, {}, "{}") if number > 7 else None
        first = engine.generate(CAPITAL, progress=False, out=tmp_path)
        answered = [len(row) for row in first.replies].count(1)
        assert 0 < answered < len(CAPITAL)
        fake.faults = lambda *_: None
        again = open_server(LOCAL, progress=False, retries=0)
        fake.reset()
        assert not again.generate(CAPITAL, progress=False, out=tmp_path).failures
        assert len(fake.bodies) == len(CAPITAL) - answered


def test_thoughts_refusals_and_filters_keep_their_names(mock):
    def said(text, _):
        if numbered(text) == 0:
            return says(
                [model.ContentReasoning(reasoning="Lyon? No."), model.ContentText(text="Paris")]
            )
        if numbered(text) == 1:
            return says(
                [
                    model.ContentReasoning(reasoning="x9f", redacted=True),
                    model.ContentText(text="Paris"),
                ]
            )
        if numbered(text) == 2:
            return says([model.ContentText(text="I can't help.", refusal=True)])
        if numbered(text) == 3:
            return says("Blocked.", stop_reason="content_filter")
        return says("Paris is", stop_reason="max_tokens" if numbered(text) == 4 else "stop")

    mock(said)
    engine = open_server(MOCK, progress=False)
    assert engine.name == "model"
    replies = [row[0] for row in engine.generate(CAPITAL[:6], progress=False).replies]
    assert [(reply.text, reply.thinking, reply.finish) for reply in replies] == [
        ("Paris", "Lyon? No.", "stop"), ("Paris", "(hidden)", "stop"), ("", "", "refusal"),
        ("Blocked.", "", "content_filter"), ("Paris is", "", "length"), ("Paris is", "", "stop"),
    ]  # fmt: skip
    assert replies[2].refusal == "I can't help."
    assert replies[0].usage == {"prompt_tokens": 10, "answer_tokens": 3}


def test_a_budget_of_thinking_and_what_a_request_holds_reach_the_provider(mock):
    asked = []

    def said(text, config):
        asked.append(config)
        thought = [model.ContentReasoning(reasoning="Hm.")] if config.reasoning_tokens else []
        return says([*thought, model.ContentText(text="Paris")])

    mock(said)
    engine = open_server(
        MOCK,
        progress=False,
        thinking="500",
        header=("X-Team: red",),
        extra_body='{"mine": 7, "top_k": 9}',
    )
    assert engine.thinks
    assert engine.budget == 532
    engine.generate(
        CAPITAL[:1], max_new_tokens=80, stop=("###",), top_p=0.9, temperature=0.7, progress=False
    )
    told = {
        name: getattr(asked[-1], name)
        for name in ("max_tokens", "stop_seqs", "top_p", "temperature", "top_k")
    }
    assert told == {
        "max_tokens": 80,
        "stop_seqs": ["###"],
        "top_p": 0.9,
        "temperature": 0.7,
        "top_k": 9,
    }
    assert (asked[-1].reasoning_tokens, asked[-1].extra_body) == (500, {"mine": 7})
    assert (asked[-1].extra_headers, asked[-1].max_retries) == ({"X-Team": "red"}, 0)


def test_answers_are_held_by_a_schema_where_the_provider_obeys_it(mock):
    def said(_, config):
        if config.response_schema is None:
            return says("The capital is Paris.")
        choices = config.response_schema.json_schema.properties["answer"].enum
        return says(json.dumps({"answer": choices[-1]}))

    mock(said)
    engine = open_server(MOCK, progress=False)
    assert "constrained_text" in engine.abilities
    asked = [Request("item", CAPITAL[0].prompt, (" A", " B"))]
    assert engine.generate(asked, constrained=True, progress=False).texts == [["B"]]


class Busy(Exception):
    """What a provider's own package may raise."""


def test_a_failure_of_a_provider_names_its_item_and_the_others_go_on(mock, monkeypatch):
    left = {3: 1}

    def said(text, _):
        number = numbered(text)
        if left.get(number, 0) > 0:
            left[number] -= 1
            raise Busy("come back")
        if number == 5:
            raise KeyError("no such thing")
        return says("Paris")

    mock(said)
    monkeypatch.setattr("rightreasons.models.servers.client.FIRST_PAUSE", 0.01)
    engine = open_server(MOCK, progress=False)
    monkeypatch.setattr(
        type(engine.client._model.api), "should_retry", lambda _, error: isinstance(error, Busy)
    )
    answers = engine.generate(CAPITAL, progress=False)
    assert answers.failures == {"item 5": "the provider fails: KeyError: 'no such thing'"}
    assert [row[0].text for row in answers.replies if row] == ["Paris"] * 11
    assert engine.client.usage.repeated == 1


def test_a_key_that_a_provider_repeats_is_written_nowhere(local):
    with serving() as fake:
        local(fake.url)
        fake.faults = lambda *_: (
            401,
            {},
            json.dumps({"error": {"message": "bad key sk-of-local"}}),
        )
        with pytest.raises(
            ValueError, match=r"the server refuses the key|asks for a key"
        ) as failure:
            open_server(LOCAL, progress=False, retries=0)
        assert "sk-of-local" not in str(failure.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nobody/x", "Model API nobody of model 'nobody/x' not recognized"),
        ("openai-api/unset/x", "UNSET_API_KEY"),
        ("x", "should be in the format of"),
    ],
)
def test_a_model_that_inspect_does_not_have_is_one_sentence(name, told):
    with pytest.raises(
        ValueError,
        match=f"^Expected a model that inspect_ai can ask, but of inspect:{name}: .*{told}",
    ):
        open_server(f"inspect:{name}", progress=False)
