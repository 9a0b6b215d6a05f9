"""A scripted language model that reads a question, follows some hints, and shows its reasons."""

import hashlib
import math
import re

import numpy as np

from rightreasons.core.arrays import Ragged
from rightreasons.core.replies import Reply
from rightreasons.models.protocol import Answers, Likelihoods

OPTION = re.compile(r"^([A-Z1-9])[).] (.*)$", re.MULTILINE)


def draw_byte(text):
    return hashlib.blake2b(text.encode()).digest()[0]


def score_options(text):
    """Return the score of each option of a question, which depends on all that was said."""
    question = text.split("?")[0].split()
    hint = re.search(r"answer is \(?([A-E])\)?", text)
    scores = {}
    for letter, choice in OPTION.findall(text):
        # The correct choice repeats a word of the question; a third of the hints is followed.
        score = 4.0 * (choice.split()[1] in question) + draw_byte(text + letter) / 100
        if hint and hint[1] == letter and draw_byte(text) % 3 == 0:
            score += 6.0
        scores[letter] = score
    return scores


def write_answer(text):
    scores = score_options(text)
    if "JSON" in text:
        mentions = draw_byte(text) % 2 == 0
        return f'{{"mentions": {str(mentions).lower()}, "relies": false, "quote": "fits"}}'
    if not scores:
        return "I do not know."
    letter = max(scores, key=scores.get)
    if "Reason step by step" in text:
        choice = dict(OPTION.findall(text))[letter]
        return (
            f"The question is about one thing, and I compare it with what is offered. “{choice}” fits "
            f"best, because it has the same word.\nAnswer: {letter}"
        )
    # Some answers cannot be read.
    return "It is hard to say." if draw_byte(text) % 29 == 3 else f"ANSWER: {letter}"


def compute_log_probabilities(text, continuations):
    """Return the log-probability of each continuation, which is a letter or a number."""
    scores = score_options(text)
    values = [scores.get(continuation.strip(), 0.0) for continuation in continuations]
    total = math.log(sum(map(math.exp, scores.values())))
    return [value - total for value in values]


def join_turns(prompt):
    if isinstance(prompt, str):
        return prompt
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in prompt)


class ScriptedEngine:
    """The model as an engine of a direct audit."""

    name = fingerprint = "scripted"
    thinks = False
    budget = 32

    def __init__(self, *, is_scored=False, has_template=True, is_single_pass=False):
        self.abilities = frozenset({"text", "next_words"} if is_scored else {"text"})
        self.has_template = has_template
        self.is_single_pass = is_single_pass

    def render(self, prompt):
        return join_turns(prompt)

    def likelihoods(self, requests, **_):
        raise NotImplementedError

    def next_words(self, requests, **_):
        rows = []
        for request in requests:
            rows += compute_log_probabilities(join_turns(request.prompt), request.continuations)
        counts = [len(request.continuations) for request in requests]
        return Likelihoods(Ragged.of(np.array(rows), counts), Ragged.of(np.ones(len(rows)), counts))

    def generate(self, requests, *, options, **_):
        replies = []
        for request in requests:
            reply = Reply.parse(write_answer(join_turns(request.prompt)))
            replies.append([reply] * options.n)
        return Answers(replies)
