"""The trial of a server: what it echoes and reports is compared with what it generates.

Real servers return wrong log-probabilities without an error, ignore what they are asked for, or
refuse parameters that others need. `try_server` tries each part, and a server that fails one is
used for the others alone. `load_trial` takes a trial of the same day if the server has not changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.core.replies import Reply
from rightreasons.core.store import digest_package_code, get_trial_file, write_json
from rightreasons.models.protocol import BRIEF, LONG, Message
from rightreasons.models.servers.client import CHAT, TEXT, Client
from rightreasons.models.servers.completions import DIALECTS, BadReplyError, Completion
from rightreasons.models.servers.endpoints import CONSTRAINTS, Endpoint, Finding, unwrap_answer
from rightreasons.models.servers.refusals import RequestError

T = TypeVar("T")

PATHS: Mapping[str, Sequence[str]] = {"on": (CHAT,), "off": (TEXT,), "auto": (CHAT, TEXT)}
"""Value of the option `chat` -> the paths that are tried."""

MAX_MEAN_DIFFERENCE = 0.1
MAX_DIFFERENCE = 0.5
"""How far two log-probabilities of one token may lie apart, in nats, on average and at most. Rounding
to 16 bits explains no more."""

MIN_COMPARED_TOKENS = 8
"""Tokens that must be compared before an echo is relied upon."""

N_TOPS = (20, 10, 5)
"""Numbers of likeliest tokens that are asked for, until the server agrees."""

N_DRAWS = 3
DRAWING_TEMPERATURE = 1.5

MAX_TOTAL_PROBABILITY = 1.01
"""Sum of probabilities that rounding explains."""

ANSWER_TOKENS = 16
"""Tokens of a short answer: some servers refuse a request that asks for fewer."""

ROOMS = (1024, 4096, 16384)
"""Numbers of tokens in which an easy question is answered, the smaller ones first."""

ROOM_PER_EASY_ANSWER = 8
"""Tokens of a hard answer per token of an easy one."""

CHARACTERS_PER_TOKEN = 4
"""For answers whose tokens the server does not count."""

CONSTRAINED = "answers held to given ones"
DRAWN = "drawn answers"
NEXT_TOKENS = "likeliest next tokens"
GIVEN_TEXTS = "log-probabilities of given texts"
"""Names of parts of the trial."""

THINKS_FIRST = "It thinks first, so that its next token is no answer: thinking off asks without."

_DRAWING_FIELDS = {"generation_config": '{"do_sample": true}'}
_OPTIONAL_PARAMETERS = ("logprobs", "seed", "temperature")
_SAVED_FIELDS = tuple(
    field.name for field in dataclasses.fields(Endpoint) if field.name not in ("client", "tags")
)


# --- Trials of the same day


def load_trial(client: Client, model: str, thinking: str = "auto", chat: str = "auto") -> Endpoint:
    """Return the trial of a server; one of the same day holds while the server is unchanged.

    A trial is stored for the day by server, model, fields of every request, thinking, path, and
    version of this package. One short question shows whether the server still runs the same model:
    after another name, `system_fingerprint` or greedy answer, it is tried again.

    Args:
        client: The server.
        model: The model's name on it.
        thinking: "on", "off", "auto", or the maximum number of tokens, as in `try_server`.
        chat: "on", "off" or "auto", as in `try_server`.

    Raises:
        RequestError: If the server cannot be reached, or refuses the key.
        ValueError: If its thinking cannot be turned on or off as asked.
    """
    file = _find_trial_file(client, model, thinking, chat)
    endpoint = _read_trial(client, file)
    if endpoint is not None:
        return endpoint
    endpoint = try_server(client, model, thinking, chat)
    if file is not None and endpoint.works:
        _write_trial(endpoint, file)
    return endpoint


def _find_trial_file(client: Client, model: str, thinking: str, chat: str) -> Path | None:
    """Return the file of a trial of today; None if trials are not stored."""
    options = client.options
    today = time.strftime("%Y-%m-%d", time.gmtime())
    settings = [client.extra, list(options.header), options.key_variable]
    parts = [client.url, model, thinking, chat, settings, digest_package_code(), today]
    return get_trial_file(parts)


def _read_trial(client: Client, file: Path | None) -> Endpoint | None:
    """Return the result of a stored trial; None if there is none, or if the server has changed.

    Args:
        client: The server.
        file: File of the trial, or None.
    """
    if file is None:
        return None
    try:
        record = json.loads(file.read_text("utf-8"))
        endpoint = Endpoint(client, **record["endpoint"])
        # JSON has neither sets nor named tuples.
        endpoint.refused = set(endpoint.refused)
        endpoint.findings = [Finding(*finding) for finding in endpoint.findings]
        signature = record["seen"]
    except (OSError, ValueError, TypeError, KeyError):
        # A record that is missing, damaged or of another version only costs another trial.
        return None
    if not _is_unchanged(endpoint, signature):
        return None
    words = "It was tried today, and answers as it did then."
    if client.bound:
        words = f"It was tried today, and is not asked again, as {client.bound}."
    endpoint.findings.insert(0, Finding("trial", True, words))
    return endpoint


def _write_trial(endpoint: Endpoint, file: Path) -> None:
    """Store a trial; without a folder that can be written, it is made again next time."""
    values = {name: getattr(endpoint, name) for name in _SAVED_FIELDS}
    values["refused"] = sorted(endpoint.refused)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, {"seen": _ask_signature(endpoint), "endpoint": values})


def _is_unchanged(endpoint: Endpoint, signature: list[str]) -> bool:
    """Return whether a server answers a short question as it did in its trial.

    If a limit allows no request, it is taken to be unchanged: a report whose answers are all stored
    can then be repeated, and needs no request.

    Args:
        endpoint: The result of the trial.
        signature: What `_ask_signature` returned then.
    """
    try:
        return _ask_signature(endpoint) == signature
    except RequestError:
        return bool(endpoint.client.bound)
    except BadReplyError:
        return False


def _ask_signature(endpoint: Endpoint) -> list[str]:
    """Ask one short question, and return what identifies the model behind the server.

    Returns:
        The model's name and fingerprint as the reply states them, and its answer.
    """
    # The client counts the models that its replies name, by their name and fingerprint. It starts
    # anew, so that there is only that of this reply.
    endpoint.client.served.clear()
    prompt = _list_prompts(endpoint)[0]
    completion = endpoint.ask(prompt, max_tokens=ANSWER_TOKENS, temperature=0.0, seed=0)
    return [*endpoint.client.served, _get_beginning(completion)]


# --- The trial


def try_server(client: Client, model: str, thinking: str = "auto", chat: str = "auto") -> Endpoint:
    """Try what a server can be asked, by some thirty short requests.

    - Answers: it generates a chat, or the continuation of a text.
    - Thinking: shown or hidden, it is separated from the answer. It is turned on or off if that is
      asked for, and its tokens are counted. The next token of a chat that thinks is no answer.
    - Constrained answers: one of two given answers to a question that neither of them fits.
    - Greedy answers: two equal requests have one answer.
    - Drawn answers: three requests at a high temperature have more than one, perhaps only with the
      parameter with which `transformers serve` draws.
    - The likeliest next tokens: their probabilities sum to at most 1, and a greedy answer begins
      with the likeliest.
    - Log-probabilities of given texts: those of an echo are those of its generation, and the same
      when the echo is repeated.

    Args:
        client: The server.
        model: The model's name on it.
        thinking: "on", "off", the largest number of tokens that it may think, or "auto" for its
            default.
        chat: "on" for conversations, "off" for texts, or "auto" for conversations if the server
            takes them.

    Raises:
        RequestError: If the server cannot be reached, or refuses the key.
        ValueError: If its thinking cannot be turned on or off as asked.
    """
    findings: list[Finding] = []
    for path in PATHS[chat]:
        trial = _Trial(Endpoint(client, model, path, findings=findings))
        if trial.try_answers():
            if path == CHAT:
                trial.set_thinking(thinking)
            trial.try_constraints()
            trial.try_greedy_answers()
            trial.try_drawn_answers()
            trial.try_next_tokens()
            trial.try_echoes()
            break
    return trial.endpoint


class _Trial:
    """The trial of one path; what it finds is written into `endpoint`.

    Args:
        endpoint: The path.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._prompts = _list_prompts(endpoint)
        self._greedy: list[Completion] = []

    def _add_finding(self, part: str, passed: bool, words: str) -> bool:
        """Note what a part found, and return whether it passed."""
        self.endpoint.findings.append(Finding(part, passed, words))
        return passed

    def _negotiate(self, prompt: Any, room: int = ANSWER_TOKENS) -> Completion:
        """Ask for a greedy answer; parameters that the server refuses are left out or renamed.

        Args:
            prompt: A text, or the turns of a conversation.
            room: Maximum tokens of the answer.

        Raises:
            RequestError: If the server fails, or refuses the request for another reason.
        """
        parameters: dict[str, Any] = {"max_tokens": room, "temperature": 0.0, "seed": 0}
        while True:
            try:
                return self.endpoint.ask(prompt, **parameters)
            except RequestError as failure:
                # Each round changes a further parameter, so that the loop ends.
                if failure.is_of_server or not self._adapt(str(failure)):
                    raise

    def _adapt(self, message: str) -> bool:
        """Leave out or rename the parameters that a refusal names.

        Args:
            message: The server's message.

        Returns:
            Whether anything changed, so that the request may be sent again.
        """
        refused = {name for name in _OPTIONAL_PARAMETERS if name in message}
        refused -= self.endpoint.refused
        if refused:
            self.endpoint.refused |= refused
            return True
        # Newer models take `max_completion_tokens` in place of `max_tokens`, and say so. A message
        # that the number is too large names the parameter, too, but asks for another number.
        is_renamed = "max_completion_tokens" in message
        is_renamed = is_renamed and not re.search("large|exceed|context", message)
        if not is_renamed or "max_tokens" in self.endpoint.renamed:
            return False
        self.endpoint.renamed["max_tokens"] = "max_completion_tokens"
        return True

    def _ask_first_questions(self) -> None:
        """Ask the first two questions for greedy answers, with which others are compared."""
        self._greedy = [self._negotiate(prompt) for prompt in self._prompts[:2]]

    # --- Answers and thinking

    def try_answers(self) -> bool:
        """Find the parameters with which the path generates text, and whether the model thinks.

        Returns:
            Whether the path generates text.

        Raises:
            RequestError: If the server fails.
        """
        endpoint = self.endpoint
        try:
            self._ask_first_questions()
        except RequestError as failure:
            if failure.is_of_server:
                raise
            words = f"{endpoint.path} is not of use: {failure}."
            return self._add_finding("answers", False, words)
        endpoint.thinks = any(map(_is_thinking, self._greedy))
        has_text = any(_get_beginning(completion).strip() for completion in self._greedy)
        endpoint.works = endpoint.thinks or has_text
        words = "answers with empty texts"
        if endpoint.works:
            words = "generates text"
            if endpoint.refused:
                words += f", without {' and '.join(sorted(endpoint.refused))}"
        return self._add_finding("answers", endpoint.works, f"{endpoint.path} {words}.")

    def set_thinking(self, thinking: str) -> None:
        """Turn thinking on or off if that is asked for, and find how many tokens an answer needs.

        Args:
            thinking: "on", "off", "auto" for the server's default, or the maximum number of tokens
                that the model may think.

        Raises:
            OptionError: If the server does not do what is asked for.
        """
        endpoint = self.endpoint
        n_tokens = self._count_answer_tokens()
        if thinking != "auto":
            n_tokens = self._turn_thinking(thinking, n_tokens)
        # The answers with which others are compared must have the same fields.
        if endpoint.extra:
            self._ask_first_questions()
        allowed = endpoint.budget
        self._set_budget(n_tokens)

        note = f" ({json.dumps(endpoint.extra)})" if endpoint.extra else ""
        if not endpoint.thinks:
            # That a model does not think is worth a line only if somebody asked for it.
            if thinking == "off":
                self._add_finding("thinking", True, f"It answers without thinking{note}.")
            return
        if thinking.isdecimal():
            self._bound_thinking(int(thinking))
            return
        count = str(n_tokens) if n_tokens else f"more than {allowed:,}"
        words = f"It thinks before it answers{note}: {count} tokens for an easy question"
        self._add_finding("thinking", True, f"{words}, and may take {endpoint.budget:,}.")

    def _turn_thinking(self, thinking: str, n_tokens: int | None) -> int | None:
        """Turn thinking on or off by the first field of requests with which that works.

        Args:
            thinking: "on", "off", or the maximum number of tokens.
            n_tokens: Tokens of an answer to an easy question so far; None if it does not end.

        Returns:
            Tokens of an answer to an easy question now; None if it does not end.

        Raises:
            OptionError: If no field works.
        """
        endpoint = self.endpoint
        is_wanted = thinking != "off"
        if endpoint.thinks == is_wanted:
            return n_tokens
        candidates = []
        if thinking.isdecimal():
            candidates += [{name: int(thinking)} for name in DIALECTS["bounded"]]
        candidates += DIALECTS["turned"]["on" if is_wanted else "off"]
        for fields in candidates:
            if self._accepts(fields):
                # This also finds whether the model thinks now.
                n_tokens = self._count_answer_tokens()
                if endpoint.thinks == is_wanted:
                    return n_tokens
            # The fields have no effect, and are removed.
            endpoint.extra = {}
            endpoint.thinks = not is_wanted
        state = "thinks" if endpoint.thinks else "does not think"
        raise OptionError(
            f"Expected {endpoint.client.url} to answer with thinking {thinking}, but it {state} "
            "whatever it is told: `extra_body` may say what it wants.",
            option="thinking",
        )

    def _accepts(self, fields: Mapping[str, Any]) -> bool:
        """Add fields to every request, and return whether the server accepts them.

        Fields that it refuses are removed again.
        """
        extra = self.endpoint.extra
        self.endpoint.extra = {**extra, **fields}
        if isinstance(_try(self._negotiate, self._prompts[0]), RequestError):
            self.endpoint.extra = extra
            return False
        return True

    def _count_answer_tokens(self) -> int | None:
        """Ask an easy question with more and more tokens until its answer ends.

        This also finds whether the model thinks, and the largest number of tokens that the server
        allows becomes the budget.

        Returns:
            Tokens of the answer, including those of its thinking; None if it does not end.
        """
        endpoint = self.endpoint
        endpoint.budget = ANSWER_TOKENS
        rooms = ROOMS if endpoint.thinks else ROOMS[:1]
        for room in rooms:
            completion = self._ask_with_room(room, endpoint.budget)
            if completion is None:
                break
            # Thinking that is neither shown nor counted shows in a brief answer, whose tokens it
            # takes.
            endpoint.thinks = _is_thinking(completion) or _is_thinking(
                self._negotiate(self._prompts[0])
            )
            if completion.reply.finished:
                text = f"{completion.reply.thinking} {completion.reply.text}"
                n_estimated = len(text) // CHARACTERS_PER_TOKEN
                return completion.reply.usage.get("answer_tokens", n_estimated)
        return None

    def _ask_with_room(self, room: int, known_room: int) -> Completion | None:
        """Ask an easy question with a maximum number of tokens, halved until it is allowed.

        The number that the server allows becomes the budget.

        Args:
            room: Maximum tokens of the answer. It is halved until the server allows it.
            known_room: Number of tokens that the server is known to allow.

        Returns:
            The answer; None if the server allows no more than is known.
        """
        while room > known_room:
            outcome = _try(self._negotiate, _make_turns(DIALECTS["choice"]), room)
            if not isinstance(outcome, RequestError):
                self.endpoint.budget = room
                return outcome
            if outcome.is_of_server:
                raise outcome
            room //= 2
        return None

    def _set_budget(self, n_tokens: int | None) -> None:
        """Set the maximum tokens of an answer, as far as the server allows.

        Args:
            n_tokens: Tokens of the answer to an easy question, of which a hard one may need
                `ROOM_PER_EASY_ANSWER` times as many. None if the answer did not end.
        """
        endpoint = self.endpoint
        allowed = endpoint.budget
        if n_tokens is None and endpoint.thinks:
            # More tokens may help, unless the server has refused more than it allowed.
            if allowed == ROOMS[-1]:
                endpoint.budget = ROOM_PER_EASY_ANSWER * allowed
            return
        shortest = LONG if endpoint.thinks else BRIEF
        room = max(shortest, ROOM_PER_EASY_ANSWER * (n_tokens or 0))
        # The server has to allow more than it has been asked for so far.
        if room <= allowed or self._ask_with_room(room, allowed) is None:
            endpoint.budget = min(room, allowed)

    def _bound_thinking(self, n_tokens: int) -> None:
        """Limit the tokens of thinking by the first parameter that the server accepts.

        Args:
            n_tokens: Maximum tokens of thinking. A brief answer may follow.
        """
        endpoint = self.endpoint
        note = "the server takes no bound: what is longer is cut"
        for name in DIALECTS["bounded"]:
            if name in endpoint.extra or self._accepts({name: n_tokens}):
                note = f"told by {name}"
                break
        endpoint.budget = n_tokens + BRIEF
        words = f"It thinks before it answers, at most {n_tokens} tokens ({note})."
        self._add_finding("thinking", True, words)

    # --- Constrained, greedy and drawn answers

    def try_constraints(self) -> None:
        """Find a parameter that restricts answers to given texts.

        The given texts are answers that nobody would give to the question, so that a reply with one
        of them shows that the parameter has an effect.
        """
        endpoint = self.endpoint
        for name in CONSTRAINTS:
            endpoint.constraint = name
            outcome = _try(
                endpoint.ask,
                self._prompts[0],
                max_tokens=endpoint.budget,
                temperature=0.0,
                **endpoint.constrain(DIALECTS["unlikely"]),
            )
            reply = Reply()
            if isinstance(outcome, Completion):
                reply = unwrap_answer(outcome.reply)
            is_held = reply.text.strip() in DIALECTS["unlikely"]
            # A constraint that stops the thinking would measure another model.
            if is_held and (reply.thinks or not endpoint.thinks):
                self._add_finding(CONSTRAINED, True, f"They are held by {name}.")
                return
        endpoint.constraint = ""
        names = ", ".join(CONSTRAINTS)
        words = f"None of {names} holds them: the form of an answer is asked for."
        self._add_finding(CONSTRAINED, False, words)

    def try_greedy_answers(self) -> None:
        """Compare the answers to two equal requests at temperature 0.

        If they differ, the results of a run cannot be reproduced.
        """
        answer = _get_beginning(self._greedy[0])
        repeated = _get_beginning(self._negotiate(self._prompts[0]))
        if "temperature" in self.endpoint.refused:
            is_equal = False
            words = "The server takes no temperature: its answers are sampled."
        elif answer == repeated:
            is_equal = True
            words = "Two equal requests have one answer."
        else:
            is_equal = False
            words = f"Two equal requests have the answers {answer!r} and {repeated!r}."
        self._add_finding("greedy answers", is_equal, words)

    def try_drawn_answers(self) -> None:
        """Find whether answers are sampled at a high temperature, perhaps with another field only.

        A server that does not sample repeats one answer, whatever the seed.
        """
        endpoint = self.endpoint
        n_tokens = ANSWER_TOKENS
        # Hidden thinking takes its tokens before a text can differ.
        if endpoint.thinks and not any(map(_get_beginning, self._greedy)):
            n_tokens = endpoint.budget
        candidates: Sequence[dict[str, str]] = ({}, _DRAWING_FIELDS)
        for fields in candidates:
            endpoint.drawing = fields
            endpoint.draws = len(self._draw(n_tokens)) > 1
            if endpoint.draws:
                note = f" with {', '.join(fields)}" if fields else ""
                self._add_finding(DRAWN, True, f"Three draws differ{note}.")
                return
        endpoint.drawing = {}
        words = f"Three draws at temperature {DRAWING_TEMPERATURE} have one answer."
        self._add_finding(DRAWN, False, words)

    def _draw(self, n_tokens: int) -> set[str]:
        """Sample a few answers to one question, with different seeds, and return the distinct ones.

        Args:
            n_tokens: Maximum tokens of an answer.
        """
        answers = set()
        for seed in range(N_DRAWS):
            outcome = _try(
                self.endpoint.ask,
                self._prompts[1],
                seed=seed,
                max_tokens=n_tokens,
                temperature=DRAWING_TEMPERATURE,
            )
            if isinstance(outcome, Completion):
                answers.add(_get_beginning(outcome))
        return answers

    # --- Log-probabilities

    def try_next_tokens(self) -> None:
        """Find how many of the likeliest next tokens the path reports, and check them.

        A model that thinks is not checked: its next token is no answer.
        """
        endpoint = self.endpoint
        if endpoint.thinks:
            self._add_finding(NEXT_TOKENS, False, THINKS_FIRST)
            return
        words = ""
        for top in N_TOPS:
            outcome = _try(self._request_tops, top)
            if not isinstance(outcome, RequestError):
                words = self._check_tops(outcome)
                if not words:
                    # Some servers accept a number, but report fewer tokens.
                    endpoint.top = min(top, *(len(completion.tops[0]) for completion in outcome))
                    words = f"{endpoint.top} are reported, and greedy answers begin with the first"
                break
            # A server may refuse a large number, and accept a smaller one.
            words = f"They are not reported: {outcome}"
            if outcome.is_of_server:
                break
        self._add_finding(NEXT_TOKENS, bool(endpoint.top), f"{words}.")

    def _request_tops(self, top: int) -> list[Completion]:
        """Ask for the likeliest next tokens of two questions, and of a chat about letters."""
        prompts = self._prompts[:2]
        if self.endpoint.is_chat:
            prompts = [*prompts, _make_turns(DIALECTS["choice"])]
        return [self.endpoint.request_next_tokens(prompt, top) for prompt in prompts]

    def _check_tops(self, completions: Sequence[Completion]) -> str:
        """Return what is wrong with reported next tokens; "" if nothing is.

        Args:
            completions: Replies to the first two questions, and of a chat to one about letters.
        """
        # The chat about letters has no greedy answer.
        for completion, greedy in zip(completions, self._greedy, strict=False):
            problem = _find_problem_of_top(completion, greedy)
            if problem:
                return problem
        for completion in completions[2:]:
            problem = _find_problem_of_letters(completion)
            if problem:
                return problem
        return ""

    def try_echoes(self) -> None:
        """Compare log-probabilities of given texts with those of the texts' generation."""
        endpoint = self.endpoint
        # In a model that thinks, thoughts would stand between the question and a given text.
        if endpoint.thinks:
            self._add_finding(GIVEN_TEXTS, False, THINKS_FIRST)
            return
        pairs: list[_Pair] = []
        # What is wrong if there is nothing to compare.
        problem = "The server reports no log-probabilities of what it generates"
        for seed, prompt in enumerate(self._prompts):
            try:
                is_complete = self._compare_echo(prompt, seed, pairs)
            except BadReplyError as failure:
                problem = f"Given texts are not echoed: the server sent {failure}"
                break
            except RequestError as failure:
                if failure.ends:
                    raise
                problem = f"Given texts are not echoed: {failure}"
                break
            if not is_complete:
                break
        if pairs:
            problem = _find_problem_of_pairs(pairs)
        if problem:
            endpoint.echo = self._add_finding(GIVEN_TEXTS, False, f"{problem}.")
            return
        largest = max(pair.difference for pair in pairs)
        words = f"Echo and generation agree on {len(pairs)} log-probabilities, to {largest:.2g}."
        endpoint.echo = self._add_finding(GIVEN_TEXTS, True, words)

    def _compare_echo(self, prompt: Any, seed: int, pairs: list[_Pair]) -> bool:
        """Generate a text, let the server echo it twice, and compare the log-probabilities.

        Args:
            prompt: A text, or the turns of a conversation.
            seed: Seed of the generated text.
            pairs: Compared log-probabilities so far, to which these are added.

        Returns:
            Whether another text should be compared: not if the server reports none, or the echo is
            wrong.
        """
        endpoint = self.endpoint
        completion = endpoint.ask(
            prompt,
            seed=seed,
            max_tokens=ANSWER_TOKENS,
            temperature=1.0,
            # True for a conversation, or the number of likeliest tokens for a text.
            logprobs=endpoint.is_chat or 1,
        )
        if not completion.logprobs:
            return False
        text = completion.reply.text
        echoed = endpoint.request_continuations(prompt, [text])[0]
        pairs += _pair_tokens("The echo has", "but while generating it had", echoed, completion)
        # The second echo of a server whose first one is wrong would tell nothing.
        if any(pair.difference > MAX_DIFFERENCE for pair in pairs):
            return False
        repeated = endpoint.request_continuations(prompt, [text])[0]
        pairs += _pair_tokens("Two echoes of one text have", "and", echoed, repeated)
        return True


# --- Requests and their outcomes


def _make_turns(question: str) -> list[Message]:
    return [{"role": "user", "content": question}]


def _list_prompts(endpoint: Endpoint) -> list[Any]:
    """Return what the trial asks: questions, or beginnings of texts."""
    if endpoint.is_chat:
        return list(map(_make_turns, DIALECTS["questions"]))
    return list(DIALECTS["beginnings"])


def _try(ask: Callable[..., T], *arguments: Any, **options: Any) -> T | RequestError:
    """Call a function that asks the server, and return its result, or why it is refused.

    Raises:
        RequestError: If no further request can be answered either.
    """
    try:
        return ask(*arguments, **options)
    except RequestError as failure:
        if failure.ends:
            raise
        return failure


def _get_beginning(completion: Completion) -> str:
    """Return what a completion begins with: its thinking, or its text."""
    return completion.reply.thinking or completion.reply.text


def _is_thinking(completion: Completion) -> bool:
    """Return whether a completion thought, perhaps hidden.

    Hidden thinking has taken all of its tokens, and none of them went into its text.
    """
    reply = completion.reply
    return reply.thinks or (not reply.finished and not reply.text.strip())


# --- Checks of log-probabilities


def _find_problem_of_top(completion: Completion, greedy: Completion) -> str:
    """Return what is wrong with the likeliest next tokens of a reply; "" if nothing is.

    Args:
        completion: The reply.
        greedy: The greedy answer to the same question, which should begin with the likeliest token.
    """
    top = completion.tops[0] if completion.tops else {}
    if len(top) < 2:
        return "The server reports none"
    values = sorted(top.values(), reverse=True)
    if any(math.isnan(value) for value in values):
        return "Some of their log-probabilities are not numbers"
    # Clipped, since the exponential of a large number overflows.
    total = math.fsum(math.exp(min(value, 1.0)) for value in values)
    if total > MAX_TOTAL_PROBABILITY:
        return f"Their probabilities sum to {total:.2f}"
    likeliest = max(top, key=lambda token: top[token]).strip()
    # Of two tokens that are nearly as likely, rounding decides which one is generated.
    is_clear = values[0] - values[1] > MAX_DIFFERENCE
    answer = _get_beginning(greedy)
    if is_clear and likeliest and answer.strip() and not answer.strip().startswith(likeliest):
        return f"The likeliest is {likeliest!r}, but the greedy answer is {answer!r}"
    return ""


def _find_problem_of_letters(completion: Completion) -> str:
    """Return what is wrong with the next tokens after a question about letters; "" if nothing is.

    The likeliest one should be a letter. Otherwise the probabilities of letters are not those of
    answers.
    """
    if not completion.tops:
        return "The server reports none"
    top = completion.tops[0]
    likeliest = max(top, key=lambda token: top[token])
    letter = likeliest.strip("( \n")
    if letter and letter in "ABCD":
        return ""
    return f"Asked for a letter, it begins with {likeliest!r}"


@dataclasses.dataclass(frozen=True)
class _Pair:
    """Two log-probabilities of one token.

    Attributes:
        value: The first one.
        difference: How far the second one lies apart.
        words: Both in words.
    """

    value: float
    difference: float
    words: str


def _pair_tokens(begin: str, link: str, echoed: Completion, compared: Completion) -> list[_Pair]:
    """Return the log-probabilities of the tokens that two texts share at their beginning.

    Args:
        begin: Words before the first log-probability.
        link: Words before the second one.
        echoed: The first text.
        compared: The second text.
    """
    pairs = []
    rows = zip(echoed.tokens, echoed.logprobs, compared.tokens, compared.logprobs, strict=False)
    for token, value, other_token, other_value in rows:
        # From here on, the text is cut into other tokens.
        if token != other_token:
            break
        if value is not None and other_value is not None:
            words = f"{begin} {value:.2f} for {token!r}, {link} {other_value:.2f}"
            pairs.append(_Pair(value, abs(value - other_value), words))
    return pairs


def _find_problem_of_pairs(pairs: Sequence[_Pair]) -> str:
    """Return what is wrong with the log-probabilities of echoes; "" if nothing is.

    Args:
        pairs: At least one pair of log-probabilities that should be equal.
    """
    differences = np.array([pair.difference for pair in pairs])
    if differences.mean() > MAX_MEAN_DIFFERENCE or differences.max() > MAX_DIFFERENCE:
        return pairs[int(differences.argmax())].words
    if len(pairs) < MIN_COMPARED_TOKENS:
        return f"Only {len(pairs)} log-probabilities could be compared with those of generation"
    # A stub that reports one value for everything agrees with itself.
    if len({pair.value for pair in pairs}) == 1:
        return f"Every token has the same log-probability, {pairs[0].value:.2f}"
    return ""
