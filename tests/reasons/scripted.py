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
from rightreasons.models.prompts import Item
from rightreasons.models.protocol import Answers
from rightreasons.reasons.judge import read_planted
from rightreasons.reasons.prompts import REASONED, SHORT

HINTED = re.compile(r'(?:answer is \(|<answer>|question with \(|== ")([A-Z])')
SOURCES = re.compile(
    r"(\w+), a colleague|Professor (\w+)|<source>(\w+)|session, named (\w+)|def ([a-z]+)_check"
)
CONCLUSION = re.compile("leads to option ([A-Z])")
QUOTED = re.compile(r"<<<\n(.*?)\n>>>", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Script:
    """What the model does.

    Attributes:
        sway: Chance that a hint moves its answer.
        says: Chance that a moved answer credits the hint.
        names: Chance that a moved answer that does not credit it names it.
        churn: Chance that an answer is drawn anew.
        by_chance: Chance that an answer that no hint moved names it.
        bends_reasoning: Whether a hint acts through the stated reasoning; if not, it bypasses it.
        thinks: Whether the reasoning is thinking between tags.
        is_bare: Whether it answers without reasoning.
        truncation: Share of the answers to hinted questions that never end.
        hides_thinking: Whether thinking is counted but not shown.
        summarizes: Whether only a summary of the thinking is shown.
    """

    sway: float = 0.3
    says: float = 0.0
    names: float = 0.0
    churn: float = 0.1
    by_chance: float = 0.0
    bends_reasoning: bool = True
    thinks: bool = False
    is_bare: bool = False
    truncation: float = 0.0
    hides_thinking: bool = False
    summarizes: bool = False

    def reply(self, turns, seed):
        """Answer a conversation, or continue a text."""
        if isinstance(turns, str):
            turns = split_turns(turns)
        prompt = find_content(turns, "user")
        if "Answer with JSON alone" in prompt:
            return Reply.parse(judge(prompt))

        rng = np.random.default_rng(hash_text(f"{seed} {prompt}", 8))
        letters = re.findall(r"^([A-Z])\. ", prompt, re.MULTILINE) or ["A", "B"]
        question = prompt.partition("\n\n")[0]
        base = letters[hash_text(question, 4) % len(letters)]
        if len(turns) == 1 and not prompt.endswith((REASONED, SHORT)):
            # A trial of the server, or a question that asks for a letter alone.
            return Reply.parse(base if "Number" in prompt else f"Fine {rng.integers(1000)}.")

        # Reasoning that is put into its mouth decides in place of the question.
        conclusions = CONCLUSION.findall(find_content(turns, "assistant"))
        if conclusions:
            base = conclusions[-1]
        hint = HINTED.search(prompt)
        if turns[-1]["content"].endswith(SHORT):
            is_moved = hint and not self.bends_reasoning and rng.random() < self.sway
            return Reply.parse(hint[1] if is_moved else base)
        return self._reason(prompt, hint, letters, base, rng)

    def _reason(self, prompt, hint, letters, base, rng):
        """Answer with reasoning; every random choice is drawn in one fixed order."""
        answer = base
        if rng.random() < self.churn:
            answer = letters[rng.integers(len(letters))]
        is_moved = hint is not None and rng.random() < self.sway
        if is_moved:
            answer = hint[1]
        acknowledgment = self._acknowledge(prompt, hint, is_moved, rng)
        if self.is_bare:
            usage = {"thinking_tokens": 40} if self.hides_thinking else {}
            return Reply.parse(f"Answer: {answer}", usage=usage)

        conclusion = base if is_moved and not self.bends_reasoning else answer
        text = (
            f"Let me look at the question and the options. {acknowledgment} "
            f"The sense leads to option {conclusion}. That is all."
        )
        if hint and rng.random() < self.truncation:
            return Reply.parse(text, finish="length")
        if self.summarizes:
            # Ten times as many tokens as the summary has.
            usage = {"thinking_tokens": 300}
            return Reply.parse(f"<think>{text}</think>{text}\nAnswer: {answer}", usage=usage)
        if self.thinks:
            return Reply.parse(f"<think>{text}</think>Answer: {answer}")
        return Reply.parse(f"{text}\nAnswer: {answer}")

    def _acknowledge(self, prompt, hint, is_moved, rng):
        """Return a sentence that credits or names the source of the hint, or ""."""
        source = SOURCES.search(prompt)
        name = get_name(source) if source and hint else ""
        if is_moved and rng.random() < self.says:
            return f"Since {name} points there, I go with that."
        if is_moved:
            is_named = rng.random() < self.names
        else:
            is_named = name and rng.random() < self.by_chance
        return f"There is a word by {name} here." if is_named else ""


def split_turns(text):
    """Return the turns of a text without a chat template."""
    question, separator, reasoning = text.partition(SHORT)
    turns = [{"role": "user", "content": question}]
    if separator:
        turns.append({"role": "assistant", "content": reasoning})
        turns.append({"role": "user", "content": SHORT})
    return turns


def find_content(turns, role):
    """Return the content of the first turn of a role; "" if there is none."""
    for turn in turns:
        if turn["role"] == role:
            return turn["content"]
    return ""


def hash_text(text, n_bytes):
    digest = hashlib.blake2b(text.encode(), digest_size=n_bytes).digest()
    return int.from_bytes(digest, "little")


def get_name(source):
    """Return the name in a match of `SOURCES`, of which one group matches."""
    return next(filter(None, source.groups())).capitalize()


class ScriptedEngine:
    """The model in this process."""

    name = "scripted"
    fingerprint = "scripted"
    has_template = True
    abilities = frozenset(("text",))
    thinks = False
    budget = 32

    def __init__(self, script, drops_prompt=False):
        self.script = script
        self.drops_prompt = drops_prompt
        self.requests = []

    def render(self, prompt):
        if self.drops_prompt:
            return ""
        if isinstance(prompt, str):
            return prompt
        return "\n".join(turn["content"] for turn in prompt)

    def generate(self, requests, *, options, progress=True, out=None):
        self.requests += requests
        rows = []
        for request in requests:
            rows.append([self.script.reply(request.prompt, f"{options.seed} {request.name}")])
        return Answers(rows)


def set_script(server: FakeServer, script):
    """Let a fake server answer as the script does."""

    def chat(body):
        seed = body.get("seed", 0) if body.get("temperature") else 0
        reply = script.reply(body["messages"], seed)
        message = {"role": "assistant", "content": reply.text}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        finish = "length" if reply.finish == "length" else "stop"
        choice = {"message": message, "finish_reason": finish}
        return {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 20}}

    server.chat = chat
    server.lacks = {"text", "logprobs"}
    return server


def make_items(n, k=4, is_labeled=True):
    """Return n questions with k options."""
    choices = ["a pot", "a hat", "a cup", "a boat", "a lamp", "a bag"][:k]
    items = []
    for i in range(n):
        fields = {"prompt": f"Number {i}: where is soup kept?", "choices": choices}
        label = i % k if is_labeled else -1
        items.append(Item(f"q{i}", fields, label))
    return items


def compile_planted():
    """Return a pattern of the planted acknowledgments, whatever their names and letters are."""
    forms = []
    for rows in read_planted().values():
        for row in rows:
            forms.append(re.sub(r"\\{\w+\\}", ".+", re.escape(row["text"])))
    return re.compile("|".join(forms))


PLANTED = compile_planted()


def judge(prompt, quote_prefix=""):
    """Judge a text by the name of the source, or as it was planted."""
    note, text = QUOTED.findall(prompt)
    name = get_name(SOURCES.search(note))
    # Neither the metadata nor the validator is named by its name.
    role = next((word for word in ("metadata", "validator") if word in text), name)
    quote = ""
    for sentence in re.split(r"(?<=[.?。])\s+", text):
        if name in sentence or role in sentence or PLANTED.fullmatch(sentence):
            quote = sentence
            break
    judgment = {
        "mentions": bool(quote),
        "relies": "go with" in quote,
        "quote": quote and f"{quote_prefix}{quote}",
    }
    return f"Here it is: {json.dumps(judgment)}"


def replace_option(match):
    """Return another option than the one that a sentence names."""
    letter = "B" if match[1] == "A" else "A"
    return f"option {letter}"


class ScriptedJudge:
    """A second model: it finds the name of the source, puts mistakes into sentences that name an option, and rewords.

    Attributes:
        quote_prefix: Text before its quotes, which then do not occur in what it judges.
    """

    name = "judge"
    fingerprint = "judge"
    has_template = True
    budget = 32
    abilities = frozenset(("text",))

    def __init__(self, quote_prefix=""):
        self.quote_prefix = quote_prefix

    def generate(self, requests, *, options, progress=True, out=None):
        return Answers.of([[self.reply(request.prompt[-1]["content"])] for request in requests])

    def reply(self, prompt):
        quoted = QUOTED.findall(prompt)
        if "JSON" in prompt:
            return judge(prompt, self.quote_prefix)
        if "mistake" in prompt:
            return re.sub(r"option ([A-Z])", replace_option, quoted[1])
        return f"In other words: {quoted[0]}"
