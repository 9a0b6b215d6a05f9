"""A scripted language model: it follows hints at a rate, says so at a rate, drifts, and mentions by chance.

It reads nothing but what it is sent, as an engine in this process or behind an OpenAI-compatible server.
"""

import dataclasses
import hashlib
import json
import re

import numpy as np

from fake_server import FakeServer
from rightreasons.core.replies import Reply
from rightreasons.models.protocol import Answers
from rightreasons.reasons.judge import read_planted
from rightreasons.reasons.prompts import REASONED, SHORT

HINTED = re.compile(r'(?:answer is \(|<answer>|question with \(|== ")([A-Z])')
SOURCES = re.compile(
    r"(\w+), a colleague|Professor (\w+)|<source>(\w+)|session, named (\w+)|def ([a-z]+)_check"
)


@dataclasses.dataclass(frozen=True)
class Script:
    """What the model does.

    Attributes:
        sway: Chance that a hint moves its answer.
        says: Chance that a moved answer credits the hint.
        names: Chance that a moved answer that does not credit it names it.
        churn: Chance that an answer is drawn anew.
        by_chance: Chance that an answer that no hint moved names it.
        through: Whether a hint bends the stated reasoning; if not, it acts beside it.
        thinks: Whether the reasoning is thinking between tags.
        bare: Whether it answers without reasoning.
        cut: Share of the answers beside hints that never end.
        hides: Whether thinking is counted but not shown.
        summarizes: Whether only a summary of the thinking is shown.
    """

    sway: float = 0.3
    says: float = 0.0
    names: float = 0.0
    churn: float = 0.1
    by_chance: float = 0.0
    through: bool = True
    thinks: bool = False
    bare: bool = False
    cut: float = 0.0
    hides: bool = False
    summarizes: bool = False

    def reply(self, turns, seed):
        """Answer a conversation, or continue a text."""
        if isinstance(turns, str):
            question, _, given = turns.partition(SHORT)
            own = [{"role": "assistant", "content": given}, {"role": "user", "content": SHORT}]
            turns = [{"role": "user", "content": question}, *(own if SHORT in turns else [])]
        asked = next(turn["content"] for turn in turns if turn["role"] == "user")
        draw = np.random.default_rng(
            int.from_bytes(
                hashlib.blake2b(f"{seed} {asked}".encode(), digest_size=8).digest(), "little"
            )
        )
        letters = re.findall(r"^([A-Z])\. ", asked, re.MULTILINE) or ["A", "B"]
        question = asked.partition("\n\n")[0]
        base = letters[
            int.from_bytes(hashlib.blake2b(question.encode(), digest_size=4).digest(), "little")
            % len(letters)
        ]
        if "Answer with JSON alone" in asked:
            return Reply.parse(judge(asked))
        hint, source = HINTED.search(asked), SOURCES.search(asked)
        if len(turns) == 1 and not asked.endswith((REASONED, SHORT)):
            return Reply.parse(base if "Number" in asked else f"Fine {draw.integers(1000)}.")
        given = next((turn["content"] for turn in turns if turn["role"] == "assistant"), "")
        if turns[-1]["content"].endswith(SHORT):
            said = re.findall(r"leads to option ([A-Z])", given)
            moved = hint and not self.through and draw.random() < self.sway
            return Reply.parse(hint[1] if moved else said[-1] if said else base)
        led = re.findall(r"leads to option ([A-Z])", given)
        base = led[-1] if led else base
        answer = letters[draw.integers(len(letters))] if draw.random() < self.churn else base
        moved = hint is not None and draw.random() < self.sway
        answer = hint[1] if moved else answer
        name = next(filter(None, source.groups())).capitalize() if source and hint else ""
        said = ""
        if moved and draw.random() < self.says:
            said = f"Since {name} points there, I go with that."
        elif (moved and draw.random() < self.names) or (
            not moved and name and draw.random() < self.by_chance
        ):
            said = f"There is a word by {name} here."
        if self.bare:
            return Reply.parse(
                f"Answer: {answer}", usage={"thinking_tokens": 40} if self.hides else {}
            )
        shown = answer if self.through or not moved else base
        text = f"Let me look at the question and the options. {said} The sense leads to option {shown}. That is all."
        if hint and draw.random() < self.cut:
            return Reply.parse(text, finish="length")
        if self.summarizes:
            # Ten times as many tokens as the summary has.
            usage = {"thinking_tokens": 300}
            return Reply.parse(f"<think>{text}</think>{text}\nAnswer: {answer}", usage=usage)
        if self.thinks:
            return Reply.parse(f"<think>{text}</think>Answer: {answer}")
        return Reply.parse(f"{text}\nAnswer: {answer}")


class ScriptedEngine:
    """The model in this process."""

    name, fingerprint, has_template = "scripted", "scripted", True
    abilities = frozenset(("text",))
    thinks, budget = False, 32

    def __init__(self, script, drops=False):
        self.script, self.drops, self.asked = script, drops, []

    def render(self, prompt):
        text = prompt if isinstance(prompt, str) else "\n".join(turn["content"] for turn in prompt)
        return "" if self.drops else text

    def generate(self, requests, *, options, progress=True, out=None):
        self.asked += requests
        return Answers(
            [
                [self.script.reply(request.prompt, f"{options.seed} {request.name}")]
                for request in requests
            ]
        )


def behind(fake: FakeServer, script):
    """Let a fake server answer as the script does."""

    def chat(body):
        reply = script.reply(
            body["messages"], body.get("seed", 0) if body.get("temperature") else 0
        )
        message = {"role": "assistant", "content": reply.text}
        message |= {"reasoning_content": reply.thinking} if reply.thinking else {}
        choice = {
            "message": message,
            "finish_reason": "length" if reply.finish == "length" else "stop",
        }
        return {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 20}}

    fake.chat = chat
    fake.lacks = {"text", "logprobs"}
    return fake


def items(n, k=4, labeled=True):
    """Make questions with k options."""
    from rightreasons.models.prompts import Item

    things = ["a pot", "a hat", "a cup", "a boat", "a lamp", "a bag"][:k]
    return [
        Item(
            f"q{i}",
            {"prompt": f"Number {i}: where is soup kept?", "choices": things},
            i % k if labeled else -1,
        )
        for i in range(n)
    ]


def compile_planted():
    """Return a pattern of the planted acknowledgments, whatever their names and letters are."""
    forms = []
    for rows in read_planted().values():
        for row in rows:
            forms.append(re.sub(r"\\{\w+\\}", ".+", re.escape(row["text"])))
    return re.compile("|".join(forms))


PLANTED = compile_planted()


def judge(asked, adds=""):
    """Judge a text by the name of the source, or as it was planted; `adds` is put before the quote."""
    note, text = re.findall(r"<<<\n(.*?)\n>>>", asked, re.DOTALL)
    name = next(filter(None, SOURCES.search(note).groups())).capitalize()
    # Neither the metadata nor the validator is named by its name.
    role = next((word for word in ("metadata", "validator") if word in text), name)
    sentences = re.split(r"(?<=[.?。])\s+", text)
    lines = [line for line in sentences if name in line or role in line or PLANTED.fullmatch(line)]
    quote = lines[0] if lines else ""
    judgment = {
        "mentions": bool(quote),
        "relies": "go with" in quote,
        "quote": quote and f"{adds}{quote}",
    }
    return f"Here it is: {json.dumps(judgment)}"


class ScriptedJudge:
    """A second model: it finds the name of the source, puts mistakes into sentences that name an option, and rewords.

    Attributes:
        adds: Put before its quotes, which then do not occur.
    """

    name, fingerprint, has_template, budget, abilities = (
        "judge",
        "judge",
        True,
        32,
        frozenset(("text",)),
    )

    def __init__(self, adds=""):
        self.adds = adds

    def generate(self, requests, *, options, progress=True, out=None):
        return Answers.of([[self.reply(request.prompt[-1]["content"])] for request in requests])

    def reply(self, asked):
        parts = re.findall(r"<<<\n(.*?)\n>>>", asked, re.DOTALL)
        if "JSON" in asked:
            return judge(asked, self.adds)
        if "mistake" in asked:
            return re.sub(
                r"option ([A-Z])",
                lambda found: f"option {'B' if found[1] == 'A' else 'A'}",
                parts[1],
            )
        return f"In other words: {parts[0]}"
