"""A server is tried before it is believed."""

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
    with serving() as fake:
        yield fake


def opened(fake, **options):
    return open_server(fake.url, retries=0, progress=False, **options)


def finding(engine, part):
    return next(one for one in engine.endpoint.findings if one.part == part)


def test_an_honest_server_can_do_everything_by_either_way(server):
    for chat in ("on", "off"):
        engine = opened(server, chat=chat)
        assert engine.abilities == {"likelihoods", "next_words", "text"}
        assert engine.has_template is (chat == "on")
        assert [one.part for one in engine.endpoint.findings if not one.passed] == [
            "answers held to given ones"
        ]
    assert opened(server).has_template  # conversations, where they are taken
    assert engine.name == "toy"
    assert server.url in engine.describe_trial()


def wrong_echo(body, reply):
    """Shift the echoed log-probabilities by one place, as a server with a wrong index does."""
    if body.get("echo"):
        told = reply["choices"][0]["logprobs"]["token_logprobs"]
        told[1:] = [*told[2:], -1.0]


def test_a_wrong_echo_is_refused_with_its_figures_and_the_rest_is_used(server):
    server.change = wrong_echo
    engine = opened(server, chat="off")
    assert engine.abilities == {"next_words", "text"}
    words = finding(engine, "log-probabilities of given texts").words
    assert words.startswith("The echo has -")
    assert "but while generating it had -" in words


def test_an_echo_that_is_right_for_likely_tokens_alone_is_refused(server):
    def flat(body, reply):
        if body.get("echo"):
            told = reply["choices"][0]["logprobs"]["token_logprobs"]
            told[:] = [None if value is None else max(value, -3.0) for value in told]

    server.change = flat
    assert "likelihoods" not in opened(server, chat="off").abilities


def test_an_echo_that_differs_from_itself_is_refused(server):
    echoes = itertools.count()

    def shaking(body, reply):
        if body.get("echo") and next(echoes) % 2:
            told = reply["choices"][0]["logprobs"]["token_logprobs"]
            told[:] = [None if value is None else value - 0.7 for value in told]

    server.change = shaking
    engine = opened(server, chat="off")
    assert (
        "Two echoes of one text have" in finding(engine, "log-probabilities of given texts").words
    )


@pytest.mark.parametrize(
    ("lacks", "words"),
    [
        (
            {"echo"},
            "sent an echo",
        ),
        ({"logprobs"}, "server reports"),
    ],
)
def test_what_a_server_ignores_is_found_out(server, lacks, words):
    server.lacks = lacks
    engine = opened(server, chat="off")
    assert "likelihoods" not in engine.abilities
    assert words in finding(engine, "log-probabilities of given texts").words
    assert ("next_words" in engine.abilities) is ("logprobs" not in lacks)
    # What was not echoed once is not asked for again.
    assert sum("prompt_logprobs" in body for body in server.bodies) <= 2
    assert sum("echo" in body for body in server.bodies) <= 2


def test_likeliest_tokens_that_sum_to_more_than_one_are_refused(server):
    def doubled(body, reply):
        logprobs = reply["choices"][0].get("logprobs") or {}
        for entry in logprobs.get("content", ()):
            entry["top_logprobs"] = [
                {**one, "logprob": one["logprob"] + 1} for one in entry["top_logprobs"]
            ]

    server.change = doubled
    engine = opened(server)
    assert "next_words" not in engine.abilities
    # A share of nine tenths, times e.
    assert finding(engine, "likeliest next tokens").words == "Their probabilities sum to 2.45."


def test_likeliest_tokens_of_another_place_are_refused(server):
    def elsewhere(body, reply):
        logprobs = reply["choices"][0].get("logprobs") or {}
        for entry in logprobs.get("content", ()):
            names = [one["token"] for one in entry["top_logprobs"]]
            for one, name in zip(entry["top_logprobs"], names[1:] + names[:1], strict=True):
                one["token"] = name

    server.model.seed = 3
    server.change = elsewhere
    engine = opened(server)
    assert "but the greedy answer is" in finding(engine, "likeliest next tokens").words


def test_a_model_that_does_not_begin_with_a_letter_is_not_asked_by_its_first_token(server):
    def polite(body, reply):
        logprobs = reply["choices"][0].get("logprobs") or {}
        for entry in logprobs.get("content", ()):
            for one in entry["top_logprobs"]:
                one["token"] = (
                    one["token"].replace(" C", "The") if " color" in str(body) else one["token"]
                )

    server.change = polite
    engine = opened(server)
    assert "next_words" not in engine.abilities
    words = "Asked for a letter, it begins with 'The'."
    assert finding(engine, "likeliest next tokens").words == words


def test_greedy_answers_that_differ_are_told(server):
    def restless(body, reply):
        reply["choices"][0].setdefault("message", {})["content"] = f"answer {len(server.bodies)}"

    server.change = restless
    engine = opened(server)
    assert not finding(engine, "greedy answers").passed
    assert "Two equal requests have the answers 'answer " in finding(engine, "greedy answers").words


def test_what_is_an_error_on_a_server_is_not_asked_of_it(server, monkeypatch):
    monkeypatch.setattr("rightreasons.models.servers.client.FIRST_PAUSE", 0.001)
    told = '{"error": {"message": "logprobs is not supported"}}'
    server.faults = lambda number, body: (500, {}, told) if "logprobs" in body else None
    engine = open_server(server.url, progress=False)
    assert engine.abilities == {"text"}
    words = "They are not reported: the server answers 500: logprobs is not supported (3 attempts)."
    assert finding(engine, "likeliest next tokens").words == words


def test_a_server_that_draws_one_answer_again_and_again_is_asked_for_one(server):
    def stuck(number, body):
        body["temperature"] = 0.0

    server.faults = stuck
    engine = opened(server)
    assert (
        finding(engine, "drawn answers").words == "Three draws at temperature 1.5 have one answer."
    )
    request = Request("a", ({"role": "user", "content": "Which?"},))
    assert len(engine.generate([request], temperature=1.0, progress=False).texts[0]) == 1
    with pytest.raises(ValueError, match="draws answers for `n`"):
        engine.generate([request], n=3, temperature=1.0, progress=False)


def test_a_server_that_draws_with_a_parameter_of_its_own_one_answer_at_a_time(
    server, tmp_path, capsys
):
    """`transformers serve` takes the likeliest token at any temperature unless it is told to draw, and refuses `n`."""

    def stuck(number, body):
        if "n" in body:
            return 422, {}, '{"error": {"message": "Unsupported fields in the request: n"}}'
        if "do_sample" not in body.get("generation_config", ""):
            body["temperature"] = 0.0
        return None

    server.faults = stuck
    engine = opened(server)
    assert finding(engine, "drawn answers").words == "Three draws differ with generation_config."
    requests = [Request(name, ({"role": "user", "content": "Which?"},)) for name in "abc"]
    server.bodies.clear()
    drawn = engine.generate(requests, n=3, temperature=1.5, progress=True, out=tmp_path)
    assert not drawn.failures
    assert [len(texts) for texts in drawn.texts] == [3, 3, 3]
    # Neither the answers of an item nor those of different items are drawn with one seed.
    assert len({body["seed"] for body in server.bodies}) == 9
    assert "9 requests" in capsys.readouterr().err
    assert (
        engine.generate(requests, n=3, temperature=1.5, progress=True, out=tmp_path).texts
        == drawn.texts
    )
    assert "requests" not in capsys.readouterr().err
    # A greedy answer is not drawn.
    server.bodies.clear()
    engine.generate(requests[:1], progress=False)
    assert "generation_config" not in server.bodies[0]


def test_several_answers_are_asked_for_and_planned_one_at_a_time(server):
    engine = opened(server, chat="off")
    request = Request("a", "Which?")
    assert engine.cost([request], "replies", {"n": 3, "max_new_tokens": 4}).requests == 3
    server.bodies.clear()
    engine.generate([request], n=3, temperature=1.0, progress=False)
    assert len(server.bodies) == 3


def test_the_template_of_a_server_counts_once_a_request():
    # A hundred short words are as many tokens; the template of the server has 29 more.
    asked = [Request(name, "word " * 100, (" A", " B")) for name in "ab"]
    tokens = TokenEstimate()
    tokens.add_short_prompt(PromptLength(3), 32)
    assert estimate_cost(tokens, asked, "next words", {}).prompt_tokens == 2 * (100 + 29)
    assert estimate_cost(None, asked, "next words", {}).prompt_tokens == 2 * 100


def test_texts_are_not_asked_as_conversations_nor_the_reverse(server):
    turns = [
        Request(
            "a", ({"role": "user", "content": "Which month comes after January?"},), (" A", " B")
        )
    ]
    for chat, requests, words in (("auto", REQUESTS, "conversations"), ("off", turns, "texts")):
        engine = opened(server, chat=chat)
        server.reset()
        with pytest.raises(
            ValueError,
            match=rf"^Expected {words}, as .* was opened for, but got the other: see `chat`",
        ):
            engine.next_words(requests, progress=False)
        assert not server.bodies


@pytest.mark.parametrize(
    ("chat", "path"), [("auto", "/v1/chat/completions"), ("off", "/v1/completions")]
)
def test_only_the_way_that_is_asked_is_tried_by_some_thirty_requests(server, chat, path):
    opened(server, chat=chat)
    asked = [body["path"] for body in server.bodies if body["path"] != "/v1/models"]
    assert set(asked) == {path}
    assert len(asked) <= 35


def test_refused_parameters_are_left_out_or_renamed(server):
    server.refuses = {"seed", "temperature"}
    engine = opened(server)
    assert (
        finding(engine, "answers").words
        == "/chat/completions generates text, without seed and temperature."
    )
    assert "are sampled" in finding(engine, "greedy answers").words

    def newer(number, body):
        if "max_tokens" in body:
            told = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return 400, {}, f'{{"error": {{"message": "{told}"}}}}'
        body["max_tokens"] = body["max_completion_tokens"]
        return None

    server.refuses, server.faults = set(), newer
    assert "text" in opened(server).abilities


def test_a_server_without_conversations_is_asked_texts_and_the_reverse(server):
    server.lacks = {"chat"}
    assert not opened(server).has_template
    with pytest.raises(ValueError, match="not: /chat/completions"):
        opened(server, chat="on")
    server.lacks = {"text"}
    assert opened(server).has_template
    with pytest.raises(ValueError, match="not: /completions"):
        opened(server, chat="off")
    server.lacks = {"text", "chat"}
    with pytest.raises(
        ValueError,
        match="generate text",
    ):
        opened(server)


def test_an_address_of_another_path_leads_to_the_usual_one(server):
    for path in ("/", "/chat/completions", "/completions/", "/models"):
        assert open_server(f"{server.url}{path}", progress=False).client.url == server.url
    for how in ({}, {"server_model": "toy"}):
        with pytest.raises(ValueError, match=r"Most addresses end in /v1\.$"):
            open_server(server.url.removesuffix("/v1"), progress=False, **how)


def test_the_model_is_the_only_one_or_named(server):
    server.names = ["large", "small"]
    with pytest.raises(ValueError, match="models: large"):
        opened(server)
    assert opened(server, server_model="small").model_name == "small"
    # Some servers list other models than the one that they were started with.
    assert opened(server, server_model="other").model_name == "other"
    server.names = []
    with pytest.raises(ValueError, match="has 0 models: none"):
        opened(server)
    server.names, server.lacks = ["toy"], {"models"}
    with pytest.raises(OptionError, match="`server_model`, as"):
        opened(server)
    assert opened(server, server_model="toy").model_name == "toy"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("127.0.0.1:8000", "Expected the address of a server"),
        ("http://user:secret@127.0.0.1/v1", "give a key by an environment variable"),
        ("http://127.0.0.1/v1?key=secret", "give a key by an environment variable"),
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(url, words):
    with pytest.raises(ValueError, match=words) as raised:
        open_server(url)
    assert "secret" not in str(raised.value)


def test_several_processes_are_refused(server, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="Expected one process for a server"):
        opened(server)


@pytest.mark.parametrize("way", list(CONSTRAINTS))
def test_an_answer_is_held_to_the_given_ones_by_the_way_that_the_trial_finds(server, way):
    server.holds = way
    server.refuses = {"guided_choice"} - {way}  # as OpenAI's: what it does not know is an error
    engine = opened(server)
    assert "constrained_text" in engine.abilities
    assert finding(engine, "answers held to given ones").words == f"They are held by {way}."
    scorer = Prompted(Prompt(scoring="generated"), engine)
    scores = scorer.choose(
        ["Which?"] * 3, [["no", "yes"], ["a", "b", "c"], ["d", "e"]], progress=False
    )
    assert (len(scores), scores.failures, scorer.describe()["form"]) == (3, {}, "constrained")
    bodies = [body for body in server.bodies if "Which?" in str(body)]
    assert all(way in body for body in bodies)
    assert all("Answer with the letter alone." in str(body) for body in bodies)


def test_a_server_that_ignores_a_constraint_is_asked_for_a_line(server):
    scorer = Prompted(Prompt(scoring="generated"), opened(server))
    scorer.choose(["Which?"], [["no", "yes"]], progress=False)
    last = server.bodies[-1]
    assert last["messages"][-1]["content"].endswith(
        "Answer with one line alone: ANSWER: X, where X is the letter."
    )
    assert not {*CONSTRAINTS} & set(last)
    with pytest.raises(OptionError, match="restrict answers"):
        Prompted(Prompt(scoring="generated", form="constrained"), opened(server))


def test_a_constraint_that_stops_the_thinking_is_not_used():
    with thinking("vllm") as fake:
        fake.holds = "grammar"
        assert (
            "constrained_text" in opened(fake).abilities
        )  # what is held is what follows the thoughts
        fake.change = lambda body, reply: (
            "grammar" in body and reply["choices"][0]["message"].pop("reasoning_content")
        )
        assert "constrained_text" not in opened(fake).abilities


def test_a_trial_is_kept_for_the_day_while_the_server_answers_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTREASONS_CACHE_DIR", str(tmp_path))
    with serving() as fake:

        def counted(**how):
            fake.reset()
            engine = open_server(fake.url, progress=False, **how)
            return engine, sum(body["path"] != "/v1/models" for body in fake.bodies)

        first, n_first = counted()
        again, n_again = counted()
        assert n_first > 20
        assert n_again == 1
        assert again.fingerprint == first.fingerprint
        assert again.abilities == first.abilities
        assert "was tried today" in again.describe_trial()
        told = [{**vars(engine.endpoint), "client": None} for engine in (first, again)]
        del told[1]["findings"][0]
        assert told[0] == told[1]
        assert counted(reasoning_effort="low")[1] > 20
        # Another build of the model, another model of the same name, and what was kept but cannot be read.
        fake.fingerprint = "fp_2"
        assert counted()[1] > 20
        assert counted()[1] == 1
        fake.model = ToyModel(seed=5)
        assert counted()[1] > 20
        for place in (tmp_path / "trials").iterdir():
            place.write_text('{"trial": 3}')
        assert counted()[1] > 20
        monkeypatch.setattr(
            "rightreasons.models.servers.trial.time.strftime", lambda *_: "2099-01-01"
        )
        assert counted()[1] > 20
