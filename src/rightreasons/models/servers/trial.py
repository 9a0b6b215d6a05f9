"""Try a server before it is believed: what it echoes and reports is compared with what it generates.

Real servers return wrong log-probabilities in silence, ignore what they are asked for, or refuse parameters that others
need. A server that fails a part of the trial is used for the rest alone.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.core.replies import Reply
from rightreasons.core.store import digest_package_code, get_trial_file, write_json
from rightreasons.models.protocol import BRIEF, LONG, Message
from rightreasons.models.servers.client import (
    CHAT,
    CONSTRAINTS,
    DIALECTS,
    TEXT,
    BadReplyError,
    Client,
    Completion,
    Endpoint,
    Finding,
    RequestError,
    unwrapped,
)

T = TypeVar("T")

BEGINNINGS, QUESTIONS, CHOICE, UNLIKELY = (
    DIALECTS[name] for name in ("beginnings", "questions", "choice", "unlikely")
)
TURNED, BOUNDED = DIALECTS["turned"], DIALECTS["bounded"]

MEAN_DIFFERENCE = 0.1
LARGEST_DIFFERENCE = 0.5
"""How far the log-probabilities of one token may lie apart, in nats: rounding to 16 bits explains no more."""

TOPS = (20, 10, 5)
"""How many likeliest tokens are asked for, until the server agrees."""

_BRIEF = 16
"""Tokens of a short answer: the fewest that some servers let a request ask for."""
_REACHES = (1024, 4096, 16384)
_NEXT, _GIVEN = "likeliest next tokens", "log-probabilities of given texts"
_FEWEST_TOKENS = 8
_THINKS_FIRST = "It thinks first, so that its next token is no answer: thinking off asks without."
_DRAWING = {"generation_config": '{"do_sample": true}'}
_OPTIONAL = ("logprobs", "seed", "temperature")


def kept_trial(client: Client, model: str, thinking: str = "auto", chat: str = "auto") -> Endpoint:
    """Return the trial of a server, as `try_server` finds it; one of the same day holds while its answer is the same.

    A trial is kept for the day by server, model, what every request holds, thinking, the way of asking and the version
    of this package. One short question shows that the server still runs what it ran: another name, `system_fingerprint`
    or greedy answer is tried again.

    Raises:
        RequestError: If the server cannot be reached, or refuses the key.
        ValueError: If its thinking cannot be turned on or off as asked.
    """
    options, today = client.options, time.strftime("%Y-%m-%d", time.gmtime())
    settings = [client.more, list(options.header), options.key_variable]
    place = get_trial_file(
        [client.url, model, thinking, chat, settings, digest_package_code(), today]
    )
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(place.read_text("utf-8")) if place is not None else {}
        endpoint = Endpoint(client, **kept["endpoint"])
        endpoint.refused, endpoint.findings = (
            set(endpoint.refused),
            [Finding(*each) for each in endpoint.findings],
        )
        if _is_unchanged(endpoint, kept["seen"]):
            words = "It was tried today, and answers as it did then."
            if client.bound:
                words = f"It was tried today, and is not asked again, as {client.bound}."
            endpoint.findings.insert(0, Finding("trial", True, words))
            return endpoint
    endpoint = try_server(client, model, thinking, chat)
    if place is not None and endpoint.works:
        held = {**vars(endpoint), "refused": sorted(endpoint.refused)}
        del held["client"], held["tags"]
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            write_json(place, {"seen": _signature(endpoint), "endpoint": held})
    return endpoint


def _is_unchanged(endpoint: Endpoint, signature: list[str]) -> bool:
    """Return whether a server answers as it did; yes if a bound allows no request.

    A report whose answers are all stored can be repeated then, and needs no request.
    """
    try:
        return _signature(endpoint) == signature
    except RequestError:
        if endpoint.client.bound:
            return True
        raise


def _signature(endpoint: Endpoint) -> list[str]:
    """Ask one short question; return the model that answers, by name and `system_fingerprint`, and what it says."""
    endpoint.client.served.clear()
    said = _said(
        endpoint.ask(_prompts(endpoint.path)[0], max_tokens=_BRIEF, temperature=0.0, seed=0)
    )
    return [*endpoint.client.served, said]


def try_server(client: Client, model: str, thinking: str = "auto", chat: str = "auto") -> Endpoint:
    """Try what a server can be asked, by some thirty short requests.

    - It generates: a chat, or the continuation of a text.
    - Thinking: a chat that thinks before it answers, shown or hidden, is told apart; it is turned on or off where that
      is asked for, and its tokens are counted. The next token of a chat that thinks is no answer, and is not asked for.
    - Greedy answers: two equal requests have one answer.
    - Drawn answers: three requests at a high temperature have more than one, perhaps only with the parameter with which
      `transformers serve` draws.
    - The likeliest next tokens: their probabilities sum to at most 1, and the likeliest is the one that a greedy answer
      begins with.
    - Log-probabilities of given texts: those of generated tokens are the same when the text is echoed as they were
      while it was generated, and the same again when the echo is repeated.

    Args:
        client: The server.
        model: The model's name on it.
        thinking: "on", "off", the most tokens that it may think, or "auto" for its own way.
        chat: "on" for conversations, "off" for texts, or "auto" for conversations where the server takes them.

    Raises:
        RequestError: If the server cannot be reached, or refuses the key.
        ValueError: If its thinking cannot be turned on or off as asked.
    """
    findings: list[Finding] = []
    for path in {"on": (CHAT,), "off": (TEXT,)}.get(chat, (CHAT, TEXT)):
        attempt = _Attempt(Endpoint(client, model, path, findings=findings))
        if attempt.generates():
            if path == CHAT:
                attempt.settles_thinking(thinking)
            attempt.holds_answers()
            attempt.repeats_itself()
            attempt.draws()
            attempt.reports_next_tokens()
            attempt.echoes()
            break
    return attempt.endpoint


class _Attempt:
    """The trial of one path; what it finds is written into `endpoint`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._prompts = _prompts(endpoint.path)
        self._greedy: list[Completion] = []

    def generates(self) -> bool:
        """Find the parameters with which the path generates text."""
        path = self.endpoint.path
        try:
            self._greedy = [self._negotiate(prompt) for prompt in self._prompts[:2]]
        except RequestError as failure:
            if failure.gone:
                raise
            return self._find("answers", False, f"{path} is not of use: {failure}.")
        self.endpoint.thinks = any(map(_thinks, self._greedy))
        self.endpoint.works = self.endpoint.thinks or any(
            _said(completion).strip() for completion in self._greedy
        )
        without = (
            f", without {' and '.join(sorted(self.endpoint.refused))}"
            if self.endpoint.refused
            else ""
        )
        words = f"generates text{without}" if self.endpoint.works else "answers with empty texts"
        return self._find("answers", self.endpoint.works, f"{path} {words}.")

    def settles_thinking(self, wanted: str) -> None:
        """Turn thinking on or off where that is asked for, and count the tokens that an answer needs."""
        endpoint, part = self.endpoint, "thinking"
        used, wants = self._counts_tokens(), wanted != "off"
        bounds = [{name: int(wanted)} for name in BOUNDED] if wanted.isdecimal() else []
        turning = [*bounds, *TURNED["on" if wants else "off"]] if wanted != "auto" else []
        for extra in turning if endpoint.thinks != wants else ():
            if self._takes(extra):
                used = self._counts_tokens()
                if endpoint.thinks == wants:
                    break
            endpoint.extra, endpoint.thinks = {}, not wants
        if turning and endpoint.thinks != wants:
            raise OptionError(
                f"Expected {self.endpoint.client.url} to answer with thinking {wanted}, but it "
                f"{'thinks' if endpoint.thinks else 'does not think'} whatever it is told: `extra_body` may say what "
                "it wants.",
                option="thinking",
            )
        if endpoint.extra:
            self._greedy = [self._negotiate(prompt) for prompt in self._prompts[:2]]
        note = f" ({json.dumps(endpoint.extra)})" if endpoint.extra else ""
        # What it writes about an easy question is the least: an answer to a hard one has room for eight times that.
        reached, wished = endpoint.budget, max(LONG if endpoint.thinks else BRIEF, 8 * (used or 0))
        if used is None and endpoint.thinks:
            endpoint.budget = 8 * reached if reached == _REACHES[-1] else reached
        elif wished <= reached or self._with_room(wished, reached) is None:
            endpoint.budget = min(wished, reached)
        if not endpoint.thinks:
            if wanted == "off":
                self._find(part, True, f"It answers without thinking{note}.")
            return
        if wanted.isdecimal():
            bound = next(
                (
                    name
                    for name in BOUNDED
                    if name in endpoint.extra or self._takes({name: int(wanted)})
                ),
                "",
            )
            endpoint.budget = int(wanted) + BRIEF
            note = (
                f" (told by {bound})"
                if bound
                else " (the server takes no bound: what is longer is cut)"
            )
            self._find(part, True, f"It thinks before it answers, at most {wanted} tokens{note}.")
            return
        words = f"{used or f'more than {reached:,}'} tokens for an easy question"
        self._find(
            part,
            True,
            f"It thinks before it answers{note}: {words}, and may take {endpoint.budget:,}.",
        )

    def _counts_tokens(self) -> int | None:
        """Ask an easy question with growing room; return the tokens of its answer, None where it does not end."""
        endpoint = self.endpoint
        endpoint.budget = BRIEF
        for reach in _REACHES if endpoint.thinks else _REACHES[:1]:
            completion = self._with_room(reach, endpoint.budget)
            if completion is None:
                break
            # Thinking that is neither shown nor counted takes the room of a brief answer.
            endpoint.thinks = _thinks(completion) or _thinks(self._negotiate(self._prompts[0]))
            if completion.reply.finished:
                words = len(f"{completion.reply.thinking} {completion.reply.text}") // 4
                return completion.reply.usage.get("answer_tokens", words)
        return None

    def _with_room(self, room: int, known: int) -> Completion | None:
        """Return the answer to an easy question with some room, or half of it and so on where the server refuses that.

        What it allows becomes the budget; None where that is no more than is known.
        """
        while room > known:
            outcome = _tried(self._negotiate, _asked(CHOICE), room)
            if not isinstance(outcome, RequestError):
                self.endpoint.budget = room
                return outcome
            if outcome.gone:
                raise outcome
            room //= 2
        return None

    def _takes(self, extra: Mapping[str, Any]) -> bool:
        """Tell whether the server takes a parameter; it is kept if it does."""
        before, self.endpoint.extra = self.endpoint.extra, {**self.endpoint.extra, **extra}
        if isinstance(_tried(self._negotiate, self._prompts[0]), RequestError):
            self.endpoint.extra = before
        return self.endpoint.extra is not before

    def holds_answers(self) -> None:
        """Ask for one of some answers that nobody would give to the question."""
        endpoint, part = self.endpoint, "answers held to given ones"
        for way in CONSTRAINTS:
            endpoint.constraint = way
            settings = {
                "max_tokens": endpoint.budget,
                "temperature": 0.0,
                **endpoint.constrained(UNLIKELY),
            }
            outcome = _tried(endpoint.ask, self._prompts[0], **settings)
            reply = Reply() if isinstance(outcome, RequestError) else outcome.reply
            # A constraint that stops the thinking asks another model.
            if unwrapped(reply).text.strip() in UNLIKELY and (reply.thinks or not endpoint.thinks):
                self._find(part, True, f"They are held by {way}.")
                return
        endpoint.constraint = ""
        self._find(
            part,
            False,
            f"None of {', '.join(CONSTRAINTS)} holds them: the form of an answer is asked for.",
        )

    def repeats_itself(self) -> None:
        """Compare two equal greedy requests."""
        first, again = _said(self._greedy[0]), _said(self._negotiate(self._prompts[0]))
        words = "Two equal requests have one answer."
        if drawn := "temperature" in self.endpoint.refused:
            words = "The server takes no temperature: its answers are drawn at random."
        elif first != again:
            words = f"Two equal requests have the answers {first!r} and {again!r}."
        self._find("greedy answers", first == again and not drawn, words)

    def draws(self) -> None:
        """Draw answers at a high temperature, which a server that draws gives but once."""
        endpoint = self.endpoint
        # Hidden thinking takes its tokens before a text can differ.
        hidden = endpoint.thinks and not any(map(_said, self._greedy))
        how = {"max_tokens": endpoint.budget if hidden else _BRIEF, "temperature": 1.5}
        for endpoint.drawing, with_ in (({}, ""), (_DRAWING, f" with {', '.join(_DRAWING)}")):
            drawn = [_tried(endpoint.ask, self._prompts[1], seed=seed, **how) for seed in range(3)]
            endpoint.draws = (
                len({_said(each) for each in drawn if isinstance(each, Completion)}) > 1
            )
            if endpoint.draws:
                self._find("drawn answers", True, f"Three draws differ{with_}.")
                return
        endpoint.drawing = {}
        self._find("drawn answers", False, "Three draws at temperature 1.5 have one answer.")

    def reports_next_tokens(self) -> None:
        """Check the likeliest next tokens that the path reports."""
        if self.endpoint.thinks:
            self._find(_NEXT, False, _THINKS_FIRST)
            return
        trouble, choice = "", [_asked(CHOICE)] if self.endpoint.path == CHAT else []
        for top in TOPS:
            ask = functools.partial(self.endpoint.next_tokens, top=top)
            found: list[Completion] | RequestError = _tried(
                list, map(ask, [*self._prompts[:2], *choice])
            )
            if not isinstance(found, RequestError):
                checks = (
                    map(_trouble_with_top, found, self._greedy),
                    map(_trouble_with_letters, found[2:]),
                )
                trouble = next(filter(None, itertools.chain(*checks)), "")
                if not trouble:
                    self.endpoint.top = min(top, *(len(completion.tops[0]) for completion in found))
                    trouble = (
                        f"{self.endpoint.top} are reported, and greedy answers begin with the first"
                    )
                break
            trouble = f"They are not reported: {found}"
            if found.gone:
                break
        self._find(_NEXT, bool(self.endpoint.top), f"{trouble}.")

    def echoes(self) -> None:
        """Compare the log-probabilities of given texts with those that the server reports while it generates."""
        if self.endpoint.thinks:
            self._find(_GIVEN, False, _THINKS_FIRST)
            return
        pairs: list[tuple[float, float, str]] = []
        trouble = "The server reports no log-probabilities of what it generates"
        settings = {
            "max_tokens": _BRIEF,
            "temperature": 1.0,
            "logprobs": self.endpoint.path == CHAT or 1,
        }
        for seed, prompt in enumerate(self._prompts):
            try:
                completion = self.endpoint.ask(prompt, seed=seed, **settings)
                if not completion.logprobs:
                    break
                echoed = self.endpoint.continued(prompt, [completion.reply.text])[0]
                pairs += _pairs("The echo has", "but while generating it had", echoed, completion)
                if any(apart > LARGEST_DIFFERENCE for _, apart, _ in pairs):
                    break
                again = self.endpoint.continued(prompt, [completion.reply.text])[0]
                pairs += _pairs("Two echoes of one text have", "and", echoed, again)
            except (BadReplyError, RequestError) as failure:
                if isinstance(failure, RequestError) and failure.ends:
                    raise
                sent = "the server sent " if isinstance(failure, BadReplyError) else ""
                trouble = f"Given texts are not echoed: {sent}{failure}"
                break
        values, apart = (np.array([pair[place] for pair in pairs]) for place in (0, 1))
        agree = ""
        if pairs and (apart.mean() > MEAN_DIFFERENCE or apart.max() > LARGEST_DIFFERENCE):
            trouble = pairs[int(apart.argmax())][2]
        elif 0 < len(pairs) < _FEWEST_TOKENS:
            trouble = (
                f"Only {len(pairs)} log-probabilities could be compared with those of generation"
            )
        elif pairs and not np.ptp(values):
            trouble = f"Every token has the same log-probability, {values[0]:.2f}"
        elif pairs:
            agree = (
                f"Echo and generation agree on {len(pairs)} log-probabilities, to {apart.max():.2g}"
            )
        self.endpoint.echo = self._find(_GIVEN, bool(agree), f"{agree or trouble}.")

    def _negotiate(self, prompt: Any, room: int = _BRIEF) -> Completion:
        """Ask for a greedy answer, and leave out or rename the parameters that the server refuses by name."""
        parameters: dict[str, Any] = {"max_tokens": room, "temperature": 0.0, "seed": 0}
        while True:
            try:
                return self.endpoint.ask(prompt, **parameters)
            except RequestError as failure:
                words = str(failure)
                refused = {name for name in _OPTIONAL if name in words} - self.endpoint.refused
                renames = "max_completion_tokens" in words and not re.search(
                    "large|exceed|context", words
                )
                if failure.gone or not (refused or renames):
                    raise
                if refused:
                    self.endpoint.refused |= refused
                elif "max_tokens" in self.endpoint.renamed:
                    raise
                else:
                    self.endpoint.renamed["max_tokens"] = "max_completion_tokens"

    def _find(self, part: str, passed: bool, words: str) -> bool:
        self.endpoint.findings.append(Finding(part, passed, words))
        return passed


def _asked(question: str) -> list[Message]:
    return [{"role": "user", "content": question}]


def _prompts(path: str) -> list[Any]:
    return list(map(_asked, QUESTIONS)) if path == CHAT else BEGINNINGS


def _tried(ask: Callable[..., T], *what: Any, **how: Any) -> T | RequestError:
    """Return what is asked for, or why it is refused; the error is raised where no other request is answered either."""
    try:
        return ask(*what, **how)
    except RequestError as failure:
        if failure.ends:
            raise
        return failure


def _said(completion: Completion) -> str:
    """Return what a completion begins with: its thinking, or its text."""
    return completion.reply.thinking or completion.reply.text


def _thinks(completion: Completion) -> bool:
    """Tell whether a completion thought, perhaps hidden: all of its tokens went somewhere, and none into its text."""
    reply = completion.reply
    return reply.thinks or (not reply.finished and not reply.text.strip())


def _trouble_with_top(completion: Completion, greedy: Completion) -> str:
    """Return what is wrong with the likeliest next tokens; "" where nothing is."""
    top = completion.tops[0] if completion.tops else {}
    if len(top) < 2:
        return "The server reports none"
    values = sorted(top.values(), reverse=True)
    if any(math.isnan(value) for value in values):
        return "Some of their log-probabilities are not numbers"
    total = math.fsum(math.exp(min(value, 1.0)) for value in values)
    if total > 1.01:
        return f"Their probabilities sum to {total:.2f}"
    best = max(top, key=lambda token: top[token]).strip()
    sure = values[0] - values[1] > LARGEST_DIFFERENCE
    answer = _said(greedy).strip()
    if sure and best and answer and not answer.startswith(best):
        return f"The likeliest is {best!r}, but the greedy answer is {_said(greedy)!r}"
    return ""


def _trouble_with_letters(completion: Completion) -> str:
    """Return what the answer to a choice begins with, if that is no letter: others' shares are no answer then."""
    likeliest = max(completion.tops[0].items(), key=lambda pair: pair[1])[0]
    bare = likeliest.strip("( \n")
    return "" if bare and bare in "ABCD" else f"Asked for a letter, it begins with {likeliest!r}"


def _pairs(
    begins: str, between: str, echoed: Completion, other: Completion
) -> list[tuple[float, float, str]]:
    """Compare the log-probabilities of the tokens that two texts have in common from the beginning on.

    Returns:
        The first log-probability of each token, how far the second lies apart, and both in words.
    """
    pairs = []
    for token, value, same, also in zip(
        echoed.tokens, echoed.logprobs, other.tokens, other.logprobs, strict=False
    ):
        if token != same:
            break  # cut into other tokens from here on
        if value is not None and also is not None:
            pairs.append(
                (
                    value,
                    abs(value - also),
                    f"{begins} {value:.2f} for {token!r}, {between} {also:.2f}",
                )
            )
    return pairs
