"""A server's abilities are tried before they are used."""

from __future__ import annotations

import itertools

import pytest

from fake_server import ToyModel, serving
from rightreasons.core.errors import OptionError
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Request
from rightreasons.models.servers.endpoints import CONSTRAINTS
from rightreasons.models.servers.opening import open_server
from rightreasons.models.servers.planning import estimate_cost
from rightreasons.models.servers.tokens import PromptLength, TokenEstimate
from rightreasons.models.wording import Prompt
from thinking_server import thinking

REQUESTS = [
    Request(f"item {n}", f"Review {n}: it was", (" positive", " negative")) for n in range(3)
]


@pytest.fixture
def server():
    with serving() as fake_server:
        yield fake_server


def open_engine(server, **options):
    return open_server(server.url, retries=0, progress=False, **options)


def find_finding(engine, part):
    """Return the finding of the trial about a part of the server."""
    (finding,) = [finding for finding in engine.endpoint.findings if finding.part == part]
    return finding


def list_echoed(body, reply):
    """Return the log-probabilities of an echo, which may be changed in place; [] without an echo."""
    if not body.get("echo"):
        return []
    return reply["choices"][0]["logprobs"]["token_logprobs"]


def list_top_logprobs(reply):
    """Return the likeliest tokens at each position, with their log-probabilities."""
    logprobs = reply["choices"][0].get("logprobs") or {}
    return [entry["top_logprobs"] for entry in logprobs.get("content", ())]


def test_an_honest_server_has_all_abilities_with_and_without_chat(server):
    for chat in ("on", "off"):
        engine = open_engine(server, chat=chat)
        assert engine.abilities == {"likelihoods", "next_words", "text"}
        assert engine.has_template is (chat == "on")
        failed = [finding.part for finding in engine.endpoint.findings if not finding.passed]
        assert failed == ["constrained answers"]

    # By default, conversations are used if the server accepts them.
    assert open_engine(server).has_template
    assert engine.name == "toy"
    assert server.url in engine.describe_trial()


def shift_echo(body, reply):
    """Shift the echoed log-probabilities by one position, as a server with a wrong index does."""
    logprobs = list_echoed(body, reply)
    if logprobs:
        logprobs[1:] = [*logprobs[2:], -1.0]


def test_a_wrong_echo_is_refused_with_its_figures_and_other_abilities_are_used(server):
    server.change = shift_echo

    engine = open_engine(server, chat="off")

    assert engine.abilities == {"next_words", "text"}
    words = find_finding(engine, "log-probabilities of given texts").words
    assert words.startswith("The echo has -")
    assert "but while generating it had -" in words


def test_an_echo_that_is_right_for_likely_tokens_alone_is_refused(server):
    def clip_echo(body, reply):
        logprobs = list_echoed(body, reply)
        for index, value in enumerate(logprobs):
            if value is not None:
                logprobs[index] = max(value, -3.0)

    server.change = clip_echo

    assert "likelihoods" not in open_engine(server, chat="off").abilities


def test_an_echo_that_differs_from_itself_is_refused(server):
    echoes = itertools.count()

    def lower_every_second_echo(body, reply):
        logprobs = list_echoed(body, reply)
        if not logprobs or next(echoes) % 2 == 0:
            return
        for index, value in enumerate(logprobs):
            if value is not None:
                logprobs[index] = value - 0.7

    server.change = lower_every_second_echo

    engine = open_engine(server, chat="off")

    words = find_finding(engine, "log-probabilities of given texts").words
    assert "Two echoes of one text have" in words


@pytest.mark.parametrize(
    ("lacks", "words"), [({"echo"}, "sent an echo"), ({"logprobs"}, "server reports")]
)
def test_parameters_that_a_server_ignores_are_detected(server, lacks, words):
    server.lacks = lacks

    engine = open_engine(server, chat="off")

    assert "likelihoods" not in engine.abilities
    assert words in find_finding(engine, "log-probabilities of given texts").words
    assert ("next_words" in engine.abilities) is ("logprobs" not in lacks)
    # After a request without an echo, none is requested.
    assert sum("prompt_logprobs" in body for body in server.bodies) <= 2
    assert sum("echo" in body for body in server.bodies) <= 2


def test_likeliest_tokens_that_sum_to_more_than_one_are_refused(server):
    def raise_logprobs(body, reply):
        for tokens in list_top_logprobs(reply):
            for token in tokens:
                token["logprob"] += 1

    server.change = raise_logprobs

    engine = open_engine(server)

    assert "next_words" not in engine.abilities
    # A share of nine tenths, times e.
    words = find_finding(engine, "likeliest next tokens").words
    assert words == "Their probabilities sum to 2.45."


def test_likeliest_tokens_of_another_position_are_refused(server):
    def rotate_tokens(body, reply):
        for tokens in list_top_logprobs(reply):
            names = [token["token"] for token in tokens]
            for token, name in zip(tokens, names[1:] + names[:1], strict=True):
                token["token"] = name

    server.model.seed = 3
    server.change = rotate_tokens

    engine = open_engine(server)

    assert "but the greedy answer is" in find_finding(engine, "likeliest next tokens").words


def test_a_model_that_does_not_begin_with_a_letter_is_not_scored_by_its_first_token(server):
    def begin_with_article(body, reply):
        # The trial asks for the letter of a color.
        if " color" not in str(body):
            return
        for tokens in list_top_logprobs(reply):
            for token in tokens:
                token["token"] = token["token"].replace(" C", "The")

    server.change = begin_with_article

    engine = open_engine(server)

    assert "next_words" not in engine.abilities
    words = "Asked for a letter, it begins with 'The'."
    assert find_finding(engine, "likeliest next tokens").words == words


def test_greedy_answers_that_differ_are_reported(server):
    def number_answers(body, reply):
        message = reply["choices"][0].setdefault("message", {})
        message["content"] = f"answer {len(server.bodies)}"

    server.change = number_answers

    finding = find_finding(open_engine(server), "greedy answers")

    assert not finding.passed
    assert "Two equal requests get the answers 'answer " in finding.words


def test_an_ability_that_is_an_error_on_a_server_is_not_used(server, monkeypatch):
    monkeypatch.setattr("rightreasons.models.servers.client.FIRST_PAUSE", 0.001)
    reply = '{"error": {"message": "logprobs is not supported"}}'
    server.faults = lambda number, body: (500, {}, reply) if "logprobs" in body else None

    engine = open_server(server.url, progress=False)

    assert engine.abilities == {"text"}
    words = "They are not reported: the server answers 500: logprobs is not supported (3 attempts)."
    assert find_finding(engine, "likeliest next tokens").words == words


def test_a_server_that_always_samples_the_same_answer_is_asked_for_one(server):
    def ignore_temperature(number, body):
        body["temperature"] = 0.0

    server.faults = ignore_temperature

    engine = open_engine(server)

    words = find_finding(engine, "sampled answers").words
    assert words == "Three requests at temperature 1.5 get the same answer."
    request = Request("a", ({"role": "user", "content": "Which?"},))
    assert len(engine.generate([request], temperature=1.0, progress=False).texts[0]) == 1
    with pytest.raises(ValueError, match="draws answers for `n`"):
        engine.generate([request], n=3, temperature=1.0, progress=False)


def test_a_server_may_sample_by_its_own_parameter_one_answer_at_a_time(server, tmp_path, capsys):
    """`transformers serve` takes the likeliest token at any temperature unless `do_sample` is set, and refuses `n`."""

    def sample_only_on_request(number, body):
        if "n" in body:
            return 422, {}, '{"error": {"message": "Unsupported fields in the request: n"}}'
        if "do_sample" not in body.get("generation_config", ""):
            body["temperature"] = 0.0
        return None

    server.faults = sample_only_on_request
    engine = open_engine(server)
    words = find_finding(engine, "sampled answers").words
    assert words == "Three requests get different answers with generation_config."

    requests = [Request(name, ({"role": "user", "content": "Which?"},)) for name in "abc"]
    options = {"n": 3, "temperature": 1.5, "progress": True, "out": tmp_path}
    server.bodies.clear()
    sampled = engine.generate(requests, **options)
    assert not sampled.failures
    assert [len(texts) for texts in sampled.texts] == [3, 3, 3]
    # Neither the answers of an item nor those of different items have the same seed.
    assert len({body["seed"] for body in server.bodies}) == 9
    assert "9 requests" in capsys.readouterr().err

    stored = engine.generate(requests, **options)
    assert stored.texts == sampled.texts
    assert "requests" not in capsys.readouterr().err

    # A greedy answer is not sampled.
    server.bodies.clear()
    engine.generate(requests[:1], progress=False)
    assert "generation_config" not in server.bodies[0]


def test_several_answers_are_requested_and_planned_one_at_a_time(server):
    engine = open_engine(server, chat="off")
    request = Request("a", "Which?")
    assert engine.cost([request], "replies", {"n": 3, "max_new_tokens": 4}).requests == 3

    server.bodies.clear()
    engine.generate([request], n=3, temperature=1.0, progress=False)
    assert len(server.bodies) == 3


def test_the_template_of_a_server_counts_once_per_request():
    # A hundred short words are as many tokens. A prompt of 3 tokens is billed as 32, so that the
    # template of the server has 29.
    requests = [Request(name, "word " * 100, (" A", " B")) for name in "ab"]
    tokens = TokenEstimate()
    tokens.add_short_prompt(PromptLength(3), 32)

    with_template = estimate_cost(tokens, requests, "next words", {})
    assert with_template.prompt_tokens == 2 * (100 + 29)
    without_template = estimate_cost(None, requests, "next words", {})
    assert without_template.prompt_tokens == 2 * 100


def test_texts_are_not_sent_as_conversations_nor_conversations_as_texts(server):
    turns = ({"role": "user", "content": "Which month comes after January?"},)
    chats = [Request("a", turns, (" A", " B"))]

    for chat, requests, words in (("auto", REQUESTS, "conversations"), ("off", chats, "texts")):
        engine = open_engine(server, chat=chat)
        server.reset()
        message = f"^Expected {words}, as .* was opened for, but got the other: see `chat`"
        with pytest.raises(ValueError, match=message):
            engine.next_words(requests, progress=False)
        assert not server.bodies


@pytest.mark.parametrize(
    ("chat", "path"), [("auto", "/v1/chat/completions"), ("off", "/v1/completions")]
)
def test_only_the_endpoint_that_is_used_is_tried_by_some_thirty_requests(server, chat, path):
    open_engine(server, chat=chat)

    paths = [body["path"] for body in server.bodies if body["path"] != "/v1/models"]
    assert set(paths) == {path}
    assert len(paths) <= 35


def test_refused_parameters_are_omitted_or_renamed(server):
    server.refuses = {"seed", "temperature"}
    engine = open_engine(server)
    words = find_finding(engine, "answers").words
    assert words == "/chat/completions generates text, without seed and temperature."
    assert "are sampled" in find_finding(engine, "greedy answers").words

    def rename_max_tokens(number, body):
        if "max_tokens" in body:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return 400, {}, f'{{"error": {{"message": "{message}"}}}}'
        body["max_tokens"] = body["max_completion_tokens"]
        return None

    server.refuses = set()
    server.faults = rename_max_tokens
    assert "text" in open_engine(server).abilities


def test_a_server_may_accept_only_texts_or_only_conversations(server):
    server.lacks = {"chat"}
    assert not open_engine(server).has_template
    with pytest.raises(ValueError, match="not: /chat/completions"):
        open_engine(server, chat="on")

    server.lacks = {"text"}
    assert open_engine(server).has_template
    with pytest.raises(ValueError, match="not: /completions"):
        open_engine(server, chat="off")

    server.lacks = {"text", "chat"}
    with pytest.raises(ValueError, match="generate text"):
        open_engine(server)


def test_an_address_with_another_path_leads_to_the_usual_one(server):
    for path in ("/", "/chat/completions", "/completions/", "/models"):
        engine = open_server(f"{server.url}{path}", progress=False)
        assert engine.client.url == server.url

    without_version = server.url.removesuffix("/v1")
    for options in ({}, {"server_model": "toy"}):
        with pytest.raises(ValueError, match=r"Most addresses end in /v1\.$"):
            open_server(without_version, progress=False, **options)


def test_the_model_is_the_only_one_of_the_server_or_named(server):
    server.names = ["large", "small"]
    with pytest.raises(ValueError, match="models: large"):
        open_engine(server)
    assert open_engine(server, server_model="small").model_name == "small"
    # Some servers list other models than the one that they were started with.
    assert open_engine(server, server_model="other").model_name == "other"

    server.names = []
    with pytest.raises(ValueError, match="has 0 models: none"):
        open_engine(server)

    server.names = ["toy"]
    server.lacks = {"models"}
    with pytest.raises(OptionError, match="`server_model`, as"):
        open_engine(server)
    assert open_engine(server, server_model="toy").model_name == "toy"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:8000", "Expected the address of a server"),
        ("http://user:secret@127.0.0.1/v1", "give a key by an environment variable"),
        ("http://127.0.0.1/v1?key=secret", "give a key by an environment variable"),
    ],
)
def test_an_invalid_address_or_one_with_a_secret_is_refused(url, message):
    with pytest.raises(ValueError, match=message) as error:
        open_server(url)

    assert "secret" not in str(error.value)


def test_several_processes_are_refused(server, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")

    with pytest.raises(ValueError, match="Expected one process for a server"):
        open_engine(server)


@pytest.mark.parametrize("parameter", list(CONSTRAINTS))
def test_answers_are_constrained_by_the_parameter_that_the_trial_finds(server, parameter):
    server.holds = parameter
    # OpenAI's servers refuse parameters that they do not know.
    server.refuses = {"guided_choice"} - {parameter}

    engine = open_engine(server)

    assert "constrained_text" in engine.abilities
    words = find_finding(engine, "constrained answers").words
    assert words == f"The server accepts them by {parameter}."

    choices = [["no", "yes"], ["a", "b", "c"], ["d", "e"]]
    prompted = Prompted(Prompt(scoring="generated"), engine)
    scores = prompted.choose(["Which?"] * 3, choices, progress=False)
    assert len(scores) == 3
    assert scores.failures == {}
    assert prompted.describe()["form"] == "constrained"
    bodies = [body for body in server.bodies if "Which?" in str(body)]
    assert all(parameter in body for body in bodies)
    assert all("Answer with the letter alone." in str(body) for body in bodies)


def test_a_server_that_ignores_constraints_is_asked_for_a_line(server):
    prompted = Prompted(Prompt(scoring="generated"), open_engine(server))
    prompted.choose(["Which?"], [["no", "yes"]], progress=False)

    body = server.bodies[-1]
    assert body["messages"][-1]["content"].endswith(
        "Answer with one line alone: ANSWER: X, where X is the letter."
    )
    assert not set(CONSTRAINTS) & set(body)
    with pytest.raises(OptionError, match="restrict answers"):
        Prompted(Prompt(scoring="generated", form="constrained"), open_engine(server))


def test_a_constraint_that_stops_the_thinking_is_not_used():
    def drop_thinking(body, reply):
        if "grammar" in body:
            reply["choices"][0]["message"].pop("reasoning_content")

    with thinking("vllm") as server:
        server.holds = "grammar"
        # The answer after the thinking is constrained.
        assert "constrained_text" in open_engine(server).abilities

        server.change = drop_thinking
        assert "constrained_text" not in open_engine(server).abilities


def test_a_trial_is_stored_for_the_day_while_the_server_answers_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTREASONS_CACHE_DIR", str(tmp_path))
    with serving() as server:

        def open_and_count(**options):
            """Open the server; return the engine and the number of requests of its trial."""
            server.reset()
            engine = open_server(server.url, progress=False, **options)
            return engine, sum(body["path"] != "/v1/models" for body in server.bodies)

        def count_requests(**options):
            _, n_requests = open_and_count(**options)
            return n_requests

        tried, n_tried = open_and_count()
        stored, n_stored = open_and_count()
        assert n_tried > 20
        assert n_stored == 1
        assert stored.fingerprint == tried.fingerprint
        assert stored.abilities == tried.abilities
        assert "was tested today" in stored.describe_trial()
        tried_fields = {**vars(tried.endpoint), "client": None}
        stored_fields = {**vars(stored.endpoint), "client": None}
        # The first finding is that the trial is stored.
        stored_fields["findings"] = stored_fields["findings"][1:]
        assert tried_fields == stored_fields
        assert count_requests(reasoning_effort="low") > 20

        # Another build of the model.
        server.fingerprint = "fp_2"
        assert count_requests() > 20
        assert count_requests() == 1
        # Another model of the same name.
        server.model = ToyModel(seed=5)
        assert count_requests() > 20
        # A stored trial that cannot be read.
        for file in (tmp_path / "trials").iterdir():
            file.write_text('{"trial": 3}')
        assert count_requests() > 20
        # Another day.
        monkeypatch.setattr(
            "rightreasons.models.servers.trial.time.strftime", lambda *_: "2099-01-01"
        )
        assert count_requests() > 20
