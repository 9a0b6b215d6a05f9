"""Models that think first are used on every kind of server; what they think is never their answer."""

from __future__ import annotations

import contextlib
import json

import pytest

from rightreasons.core.errors import OptionError, UnreadAnswersError
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Request
from rightreasons.models.servers.opening import open_server
from rightreasons.models.wording import Prompt
from thinking_server import CHOICES, DIALECTS, PROMPTS, RIGHT, thinking

SWITCHABLE = ("vllm", "vllm_reasoning", "llamacpp", "deepseek", "openai", "openrouter")
FORMS = (
    "**{}**",
    "{}",
    "ANSWER: {}",
    "The answer is \\boxed{{{}}}.",
    "After all of that, I choose option {}.",
)


def ask(server, **options):
    """Return an engine of the server, and the scores of its answers to the items."""
    thinking_option = options.get("thinking", "auto")
    engine = open_server(server.url, progress=False, retries=0, thinking=thinking_option)
    scores = Prompted(Prompt(**options), engine).choose(
        PROMPTS, CHOICES, labels=RIGHT, progress=False
    )
    return engine, scores


def read_number(body):
    """Return the number of the item that a request is about; None for another request."""
    text = body["messages"][-1]["content"]
    if not text.startswith("Which is it"):
        return None
    return int(text.split("?")[0].split()[-1])


def get_max_tokens(body):
    return body.get("max_tokens", body.get("max_completion_tokens"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_answer_is_what_follows_the_thinking(dialect):
    with thinking(dialect) as server:
        engine, scores = ask(server)

        assert engine.thinks
        assert engine.abilities == {"text"}
        assert scores.predicted.tolist() == RIGHT
        # 60 tokens of thinking and one of the answer for an easy question; at least 2,048 for others.
        assert get_max_tokens(server.bodies[-1]) == 2048


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_that_is_truncated_in_its_thinking_is_unread(dialect):
    with (
        thinking(dialect) as server,
        pytest.raises(UnreadAnswersError, match="20 of the first 20"),
    ):
        ask(server, max_new_tokens=30)


@pytest.mark.parametrize("dialect", SWITCHABLE)
def test_thinking_is_turned_off_by_the_parameter_that_the_trial_finds(dialect):
    with thinking(dialect) as server:
        engine, scores = ask(server, thinking="off")
        assert not engine.thinks
        assert engine.endpoint.extra
        assert scores.predicted.tolist() == RIGHT
        bodies = [body for body in server.bodies if "Which is it" in str(body)]
        assert len(bodies) == 20
        assert not any(server.thinker.thinks(body) for body in bodies)

    with thinking(dialect, thinks=False) as server:
        engine, scores = ask(server, thinking="off")
        assert not engine.endpoint.extra
        if dialect != "openai":
            engine, scores = ask(server, thinking="on")
            assert engine.thinks
            assert scores.predicted.tolist() == RIGHT


def test_thinking_that_cannot_be_turned_on_or_off_is_an_error():
    with (
        thinking("raw_tags") as server,
        pytest.raises(OptionError, match="set it in `extra_body`"),
    ):
        ask(server, thinking="off")
    with (
        thinking("raw_tags", thinks=False) as server,
        pytest.raises(OptionError, match="but it does not think, and"),
    ):
        ask(server, thinking="on")


def test_a_budget_of_thinking_limits_the_answer():
    with thinking("vllm", tokens=500) as server:
        engine, scores = ask(server, thinking="100")

        # 32 more for the answer.
        assert engine.budget == 132
        assert scores.predicted.tolist() == RIGHT
        assert server.bodies[-1]["thinking_token_budget"] == 100
        assert server.bodies[-1]["max_tokens"] == 132


def test_the_error_of_letters_by_next_tokens_names_the_remedy():
    with thinking("vllm") as server:
        engine = open_server(server.url, progress=False)

        with pytest.raises(OptionError, match="answers: thinking='off'"):
            Prompted(Prompt(style="letters", scoring="next_words"), engine)

        lines = [line for line in engine.describe_trial().splitlines() if "next tokens" in line]
        assert len(lines) == 1
        assert lines[0].endswith(
            "It thinks first, so its next token is not an answer. To switch thinking off, set `thinking` to 'off'."
        )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", ["vllm", "raw_tags", "openai"])
def test_answers_are_read_in_every_wording(dialect, form):
    with thinking(dialect, form=form) as server:
        _, scores = ask(server)

        assert scores.predicted.tolist() == RIGHT


def test_requests_have_the_options_of_the_server_and_of_sampling():
    with thinking("vllm") as server:
        engine = open_server(
            server.url,
            progress=False,
            extra_body='{"seed_of_mine": 7}',
            reasoning_effort="low",
            thinking="auto",
        )
        prompted = Prompted(Prompt(temperature=0.6, top_p=0.9, stop=("###", "@")), engine)
        prompted.choose(PROMPTS, CHOICES, progress=False)

        expected = {
            "seed_of_mine": 7,
            "reasoning_effort": "low",
            "temperature": 0.6,
            "top_p": 0.9,
            "stop": ["###", "@"],
        }
        body = server.bodies[-1]
        assert {name: body[name] for name in expected} == expected
        default_engine = open_server(server.url, progress=False)
        assert default_engine.fingerprint != engine.fingerprint


def test_unusual_tags_of_thinking_can_be_named():
    tags = ("<<muse>>", "<<done>>")

    def add_thinking(body, reply):
        message = reply["choices"][0]["message"]
        message["content"] = f"<<muse>>The answer is A.<<done>>{message['content']}"

    with thinking("raw_tags", thinks=False, form="ANSWER: {}") as server:
        server.change = add_thinking
        engine, scores = ask(server, thinking_tags=tags, max_new_tokens=50)
        assert scores.predicted.tolist() == RIGHT

        request = Request("q", ({"role": "user", "content": "?"},))
        ((reply,),) = engine.generate([request], thinking_tags=tags).replies
        assert reply.thinking == "The answer is A."
        with pytest.raises(OptionError, match="Expected `thinking_tags` in pairs"):
            engine.generate([], thinking_tags=("<<muse>>",))


@pytest.mark.parametrize("body", ["[1]", "{", '{"model": "x"}', "3"])
def test_an_invalid_extra_body_is_refused(body):
    with pytest.raises(OptionError, match="^Expected a JSON object without model"):
        open_server("http://127.0.0.1:1/v1", extra_body=body, progress=False)


def test_refusals_and_filtered_answers_are_counted_by_name():
    def refuse_or_filter(body, reply):
        number = read_number(body)
        if number is None:
            return
        choice = reply["choices"][0]
        if number < 5:
            choice["message"] = {"role": "assistant", "content": None, "refusal": "I can't help."}
        elif number < 8:
            choice["finish_reason"] = "content_filter"

    with thinking("vllm", thinks=False) as server:
        server.change = refuse_or_filter

        _, scores = ask(server)

        reasons = list(scores.failures.values())
        assert reasons.count("refused") == 5
        assert reasons.count("stopped by a content filter") == 3
        assert "refused, 3 stopped" in scores.way


def test_hidden_thinking_is_counted_if_the_total_includes_it():
    with thinking("gemini") as server:
        engine = open_server(server.url, progress=False, retries=0)
        trial_usage = engine.client.usage

        Prompted(Prompt(), engine).choose(PROMPTS, CHOICES, labels=RIGHT, progress=False)

        usage = engine.client.usage - trial_usage
        assert usage.requests == 20
        assert usage.prompt_tokens == 400
        # 60 tokens of thinking and one of the answer for each of 20.
        assert usage.answer_tokens == 1220


def test_a_filtered_answer_is_recognized_in_the_words_of_each_server():
    def filter_reply(body, reply):
        number = read_number(body)
        if number in (0, 1):
            # Gemini's form.
            message = {"role": "assistant"}
            reply["choices"][0] = {"message": message, "finish_reason": "content_filter: SPII"}
        elif number == 2:
            # No choices, the cost of the question, and no reason.
            reply["choices"] = []

    def filter_request(number, body):
        if "messages" not in body or read_number(body) != 3:
            return None
        message = "The response was filtered due to Azure's content management policy."
        error = {"message": message, "code": "content_filter"}
        return 400, {}, json.dumps({"error": error})

    with thinking("vllm", thinks=False) as server:
        server.change = filter_reply
        server.faults = filter_request

        _, scores = ask(server)

        reasons = list(scores.failures.values())
        assert reasons.count("stopped by a content filter") == 3
        # A filter is not the only possible reason for an empty list.
        assert reasons.count("the server returned no choice") == 1


@pytest.mark.parametrize("form", ["auto", "line"])
def test_a_new_pattern_reads_the_stored_replies_again_without_requests(tmp_path, form):
    # Without a pattern, the model's form of an answer cannot be read.
    with thinking("vllm", thinks=False, form="I choose {} today, friend.") as server:
        engine = open_server(server.url, progress=False, retries=0)
        fingerprints = []
        predictions = []
        numbers = []
        for options in ({"form": form}, {"pattern": r"choose (\w)"}):
            prompted = Prompted(Prompt(repair="off", **options), engine)
            fingerprints.append(prompted.request_fingerprint)
            n_requests = len(server.bodies)
            with contextlib.suppress(UnreadAnswersError):
                scores = prompted.choose(
                    PROMPTS, CHOICES, labels=RIGHT, progress=False, out=tmp_path
                )
                predictions.append(scores.predicted.tolist())
            numbers.append(len(server.bodies) - n_requests)

    assert fingerprints[0] == fingerprints[1]
    assert predictions == [RIGHT]
    assert numbers == [20, 0]


def limit_tokens(max_allowed, min_allowed=1):
    """Refuse requests for too many tokens in the words of vLLM, and for too few in those of OpenAI."""

    def find_fault(number, body):
        n_tokens = get_max_tokens(body) or 0
        if n_tokens > max_allowed:
            message = (
                f"'max_tokens' or 'max_completion_tokens' is too large: {n_tokens}. "
                "This model's maximum context length is"
            )
        elif 1 < n_tokens < min_allowed:
            message = (
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
            )
        else:
            return None
        return 400, {}, json.dumps({"error": {"message": message}})

    return find_fault


@pytest.mark.parametrize(
    ("tokens", "max_allowed", "budget"),
    [
        # 2,048 are refused, and half of them is allowed.
        (60, 1500, 1024),
        # 8 times 601.
        (600, 8192, 4808),
        # It does not end in 1,024, but in 4,096; half of 8 times 2,001.
        (2000, 8192, 8004),
        # 4,096 are refused.
        (2000, 3000, 2048),
        # It does not end within the allowed number.
        (5000, 3000, 2048),
    ],
)
def test_the_budget_of_an_answer_is_what_the_server_allows(tokens, max_allowed, budget):
    with thinking("vllm", tokens=tokens) as server:
        server.faults = limit_tokens(max_allowed)

        engine = open_server(server.url, progress=False, retries=0)

        assert engine.budget == budget
        assert not engine.endpoint.renamed


def test_a_model_that_writes_before_it_answers_has_a_larger_budget():
    form = "First I look at each of them. ANSWER: {}"
    with thinking("vllm", thinks=False, form=form) as server:
        server.faults = limit_tokens(10_000, min_allowed=16)

        engine, scores = ask(server)

        # 9 words about an easy question, times 8.
        assert engine.budget == 9 * 8
        assert scores.predicted.tolist() == RIGHT
