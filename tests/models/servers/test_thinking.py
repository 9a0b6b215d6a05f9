"""Models that think first are asked on every kind of server; what they think is never their answer."""

from __future__ import annotations

import json

import pytest

from rightreasons.core.errors import OptionError, UnreadAnswersError
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Request
from rightreasons.models.servers.opening import open_server
from rightreasons.models.wording import Prompt
from thinking_server import CHOICES, DIALECTS, PROMPTS, RIGHT, thinking

TURNED = ("vllm", "vllm_reasoning", "llamacpp", "deepseek", "openai", "openrouter")
FORMS = (
    "**{}**",
    "{}",
    "ANSWER: {}",
    "The answer is \\boxed{{{}}}.",
    "After all of that, I choose option {}.",
)


def asked(fake, **how):
    engine = open_server(fake.url, progress=False, retries=0, thinking=how.get("thinking", "auto"))
    scorer = Prompted(Prompt(**how), engine)
    return engine, scorer.choose(PROMPTS, CHOICES, labels=RIGHT, progress=False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_answer_is_what_comes_after_the_thinking(dialect):
    with thinking(dialect) as fake:
        engine, scores = asked(fake)
        assert engine.thinks
        assert engine.abilities == {"text"}
        assert scores.predicted.tolist() == RIGHT
        # 60 tokens of thinking and one of the answer for an easy question; room for at least 2,048 for others.
        assert (
            fake.bodies[-1].get("max_tokens", fake.bodies[-1].get("max_completion_tokens")) == 2048
        )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_cut_within_its_thinking_is_not_finished(dialect):
    with thinking(dialect) as fake, pytest.raises(UnreadAnswersError, match="20 of the first 20"):
        asked(fake, max_new_tokens=30)


@pytest.mark.parametrize("dialect", TURNED)
def test_thinking_is_turned_off_as_the_trial_finds_out(dialect):
    with thinking(dialect) as fake:
        engine, scores = asked(fake, thinking="off")
        assert not engine.thinks
        assert engine.endpoint.extra
        assert scores.predicted.tolist() == RIGHT
        bodies = [body for body in fake.bodies if "Which is it" in str(body)]
        assert len(bodies) == 20
        assert not any(fake.thinker.thinks(body) for body in bodies)
    with thinking(dialect, thinks=False) as fake:
        engine, scores = asked(fake, thinking="off")
        assert not engine.endpoint.extra
        if dialect != "openai":
            engine, scores = asked(fake, thinking="on")
            assert engine.thinks
            assert scores.predicted.tolist() == RIGHT


def test_thinking_that_cannot_be_turned_off_is_told():
    with (
        thinking("raw_tags") as fake,
        pytest.raises(OptionError, match="set it in `extra_body`"),
    ):
        asked(fake, thinking="off")
    with (
        thinking("raw_tags", thinks=False) as fake,
        pytest.raises(OptionError, match="but it does not think, and"),
    ):
        asked(fake, thinking="on")


def test_a_budget_of_thinking_bounds_the_answer():
    with thinking("vllm", tokens=500) as fake:
        engine, scores = asked(fake, thinking="100")
        assert engine.budget == 132
        assert scores.predicted.tolist() == RIGHT
        assert fake.bodies[-1]["thinking_token_budget"] == 100
        assert fake.bodies[-1]["max_tokens"] == 132


def test_letters_by_next_tokens_are_refused_with_the_way_that_works():
    with thinking("vllm") as fake:
        engine = open_server(fake.url, progress=False)
        with pytest.raises(
            OptionError,
            match="answers: thinking='off'",
        ):
            Prompted(Prompt(style="letters", scoring="next_words"), engine)
        told = [line for line in engine.describe_trial().splitlines() if "next tokens" in line]
        assert len(told) == 1
        assert told[0].endswith(
            "It thinks first, so that its next token is no answer: thinking off asks without."
        )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", ["vllm", "raw_tags", "openai"])
def test_the_same_answers_are_the_same_whatever_their_wording(dialect, form):
    with thinking(dialect, form=form) as fake:
        assert asked(fake)[1].predicted.tolist() == RIGHT


def test_what_every_request_holds_and_what_draws_are_passed_on():
    with thinking("vllm") as fake:
        engine = open_server(
            fake.url,
            progress=False,
            extra_body='{"seed_of_mine": 7}',
            reasoning_effort="low",
            thinking="auto",
        )
        scorer = Prompted(Prompt(temperature=0.6, top_p=0.9, stop=("###", "@")), engine)
        scorer.choose(PROMPTS, CHOICES, progress=False)
        body = fake.bodies[-1]
        told = {
            name: body[name]
            for name in ("seed_of_mine", "reasoning_effort", "temperature", "top_p", "stop")
        }
        assert told == {
            "seed_of_mine": 7, "reasoning_effort": "low", "temperature": 0.6, "top_p": 0.9, "stop": ["###", "@"],
        }  # fmt: skip
        plain = open_server(fake.url, progress=False)
        assert plain.fingerprint != engine.fingerprint


def test_unusual_tags_of_thinking_are_named():
    def change(body, reply):
        message = reply["choices"][0]["message"]
        message["content"] = f"<<muse>>The answer is A.<<done>>{message['content']}"

    with thinking("raw_tags", thinks=False, form="ANSWER: {}") as fake:
        fake.change = change
        engine, scores = asked(fake, thinking_tags=("<<muse>>", "<<done>>"), max_new_tokens=50)
        assert scores.predicted.tolist() == RIGHT
        reply = engine.generate(
            [Request("q", ({"role": "user", "content": "?"},))],
            thinking_tags=("<<muse>>", "<<done>>"),
        )
        assert reply.replies[0][0].thinking == "The answer is A."
        with pytest.raises(OptionError, match="Expected `thinking_tags` in pairs"):
            engine.generate([], thinking_tags=("<<muse>>",))


@pytest.mark.parametrize("body", ["[1]", "{", '{"model": "x"}', "3"])
def test_a_wrong_extra_body_is_one_sentence(body):
    with pytest.raises(OptionError, match="^Expected a JSON object without model"):
        open_server("http://127.0.0.1:1/v1", extra_body=body, progress=False)


def test_a_refusal_and_a_filter_are_counted_by_name():
    with thinking("vllm", thinks=False) as fake:

        def change(body, reply):
            number = re_number(body)
            if number is not None and number < 5:
                reply["choices"][0]["message"] = {
                    "role": "assistant",
                    "content": None,
                    "refusal": "I can't help.",
                }
            elif number is not None and number < 8:
                reply["choices"][0]["finish_reason"] = "content_filter"

        fake.change = change
        _, scores = asked(fake)
        reasons = list(scores.failures.values())
        assert (reasons.count("refused"), reasons.count("stopped by a content filter")) == (5, 3)
        assert "refused, 3 stopped" in scores.way


def re_number(body):
    text = body["messages"][-1]["content"]
    return int(text.split("?")[0].split()[-1]) if text.startswith("Which is it") else None


def test_hidden_thinking_is_counted_where_the_total_tells_it():
    with thinking("gemini") as fake:
        engine = open_server(fake.url, progress=False, retries=0)
        before = engine.client.usage
        Prompted(Prompt(), engine).choose(PROMPTS, CHOICES, labels=RIGHT, progress=False)
        used = engine.client.usage - before
        # 60 tokens of thinking and one of the answer for each of 20.
        assert (used.requests, used.prompt_tokens, used.answer_tokens) == (20, 400, 1220)


def test_what_a_filter_stops_is_a_reply_however_the_server_says_it():
    with thinking("vllm", thinks=False) as fake:

        def change(body, reply):
            number = re_number(body)
            if number in (0, 1):  # Gemini
                reply["choices"][0] = {
                    "message": {"role": "assistant"},
                    "finish_reason": "content_filter: SPII",
                }
            elif number == 2:  # Azure: no choices, and what the question cost
                reply["choices"] = []

        def blocked(number, body):
            message = "The response was filtered due to Azure's content management policy."
            stopped = re_number(body) == 3 if "messages" in body else False
            return (
                (400, {}, json.dumps({"error": {"message": message, "code": "content_filter"}}))
                if stopped
                else None
            )

        fake.change, fake.faults = change, blocked
        _, scores = asked(fake)
        assert [*scores.failures.values()] == 4 * ["stopped by a content filter"]


def limited(most, least=1):
    """Refuse what asks for more tokens than vLLM's context has, in its words, or for fewer than OpenAI's least."""

    def fault(number, body):
        room = body.get("max_tokens", body.get("max_completion_tokens", 0))
        if room > most:
            told = f"'max_tokens' or 'max_completion_tokens' is too large: {room}. This model's maximum context length is"
            return 400, {}, json.dumps({"error": {"message": told}})
        if 1 < room < least:
            told = (
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
            )
            return 400, {}, json.dumps({"error": {"message": told}})
        return None

    return fault


@pytest.mark.parametrize(
    ("tokens", "most", "budget"),
    [
        (60, 1500, 1024),  # 2,048 are refused, and half of them is allowed
        (600, 8192, 4808),  # 8 times 601
        (2000, 8192, 8004),  # not in 1,024; in 4,096; half of 8 times 2,001
        (2000, 3000, 2048),  # 4,096 are refused
        (5000, 3000, 2048),  # it does not end in what is allowed
    ],
)
def test_an_answer_has_the_room_that_the_server_allows(tokens, most, budget):
    with thinking("vllm", tokens=tokens) as fake:
        fake.faults = limited(most)
        engine = open_server(fake.url, progress=False, retries=0)
        assert engine.budget == budget
        assert not engine.endpoint.renamed


def test_a_model_that_writes_before_it_answers_has_room_for_that():
    with thinking("vllm", thinks=False, form="First I look at each of them. ANSWER: {}") as fake:
        fake.faults = limited(10_000, least=16)
        engine, scores = asked(fake)
        assert engine.budget == 9 * 8  # 9 words about an easy question
        assert scores.predicted.tolist() == RIGHT
