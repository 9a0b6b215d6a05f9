"""The trial of a server: echoed and reported log-probabilities are compared with generated texts.

Real servers return incorrect log-probabilities without an error, ignore parameters, or refuse
parameters that other servers need. `try_server` tries each ability, and a server that fails in one
is used only for the others. `load_trial` returns a stored trial of the same day if the server has
not changed.
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
"""Largest difference of two log-probabilities of one token, in nats, on average and at most. Rounding
to 16 bits cannot explain more."""

MIN_COMPARED_TOKENS = 8
"""Number of tokens that must be compared before an echo is relied upon."""

N_TOPS = (20, 10, 5)
"""Numbers of likeliest tokens to request, until the server accepts one of them."""

N_DRAWS = 3
DRAWING_TEMPERATURE = 1.5

MAX_TOTAL_PROBABILITY = 1.01
"""Largest sum of probabilities that rounding can explain."""

ANSWER_TOKENS = 16
"""Maximum number of tokens of a short answer; some servers refuse a smaller limit."""

TOKEN_LIMITS = (1024, 4096, 16384)
"""Limits of tokens for the answer to an easy question, which are tried until the answer ends."""

BUDGET_PER_EASY_TOKEN = 8
"""Number of tokens of a hard answer per token of an easy one."""

CHARACTERS_PER_TOKEN = 4
"""Estimate for answers whose tokens the server does not count."""

CONSTRAINED = "constrained answers"
DRAWN = "sampled answers"
NEXT_TOKENS = "likeliest next tokens"
GIVEN_TEXTS = "log-probabilities of given texts"
"""Names of parts of the trial."""

THINKS_FIRST = (
    "It thinks first, so its next token is not an answer. To switch thinking off, set `thinking` "
    "to 'off'."
)

_DRAWING_FIELDS = {"generation_config": '{"do_sample": true}'}
_OPTIONAL_PARAMETERS = ("logprobs", "seed", "temperature")
_SAVED_FIELDS = tuple(
    field.name for field in dataclasses.fields(Endpoint) if field.name not in ("client", "tags")
)


# --- Trials of the same day


def load_trial(client: Client, model: str, thinking: str = "auto", chat: str = "auto") -> Endpoint:
    """Try a server, or return the stored result of a trial of the same day.

    A stored result is identified by the server, the model, the fields of every request, the options
    `thinking` and `chat`, and the version of this package. It is used if the server answers a short
    question as it did in the trial, with the same model name and `system_fingerprint`.

    Args:
        client: The server.
        model: Name of the model on the server.
        thinking: "on", "off", "auto", or the maximum number of tokens, as in `try_server`.
        chat: "on", "off" or "auto", as in `try_server`.

    Raises:
        RequestError: If the server cannot be reached, or refuses the key.
        ValueError: If its thinking cannot be turned on or off as requested.
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
    """Return the path of the file for a trial of today; None if trials are not stored."""
    options = client.options
    today = time.strftime("%Y-%m-%d", time.gmtime())
    settings = [client.extra, list(options.header), options.key_variable]
    parts = [client.url, model, thinking, chat, settings, digest_package_code(), today]
    return get_trial_file(parts)


def _read_trial(client: Client, file: Path | None) -> Endpoint | None:
    """Read a stored trial, and check that the server has not changed since.

    Args:
        client: The server.
        file: File of the trial. None if trials are not stored.

    Returns:
        The result of the trial. None if no file is stored, it is damaged, or the server has
        changed.
    """
    if file is None:
        return None
    try:
        record = json.loads(file.read_text("utf-8"))
        endpoint = Endpoint(client, **record["endpoint"])
        # JSON stores sets and named tuples as lists.
        endpoint.refused = set(endpoint.refused)
        endpoint.findings = [Finding(*finding) for finding in endpoint.findings]
        signature = record["seen"]
    except (OSError, ValueError, TypeError, KeyError):
        # A file that is missing, damaged or of another version only costs another trial.
        return None
    if not _is_unchanged(endpoint, signature):
        return None
    words = "The server was tested today, and still gives the same answer."
    if client.bound:
        words = f"The server was tested today, and receives no further request, because {client.bound} is reached."
    endpoint.findings.insert(0, Finding("trial", True, words))
    return endpoint


def _write_trial(endpoint: Endpoint, file: Path) -> None:
    """Store the result of a trial; if the folder is not writable, do nothing."""
    values = {name: getattr(endpoint, name) for name in _SAVED_FIELDS}
    values["refused"] = sorted(endpoint.refused)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, {"seen": _request_signature(endpoint), "endpoint": values})


def _is_unchanged(endpoint: Endpoint, signature: list[str]) -> bool:
    """Return whether a server still answers a short question as in its trial.

    If a limit on requests or price is reached, the server is assumed to be unchanged, so that a
    report whose answers are all stored can be made again without a request.

    Args:
        endpoint: The result of the trial.
        signature: Result of `_request_signature` in the trial.
    """
    try:
        return _request_signature(endpoint) == signature
    except RequestError:
        return bool(endpoint.client.bound)
    except BadReplyError:
        return False


def _request_signature(endpoint: Endpoint) -> list[str]:
    """Ask a server one short question, and return what identifies the model behind it.

    Returns:
        The name of the model with its fingerprint, as the reply states them, and the beginning of
        the answer.
    """
    # The client counts replies by the model name and fingerprint in them. After the counts are
    # cleared, they have one entry, which is that of this reply.
    endpoint.client.served.clear()
    prompt = _list_prompts(endpoint)[0]
    completion = endpoint.ask(prompt, max_tokens=ANSWER_TOKENS, temperature=0.0, seed=0)
    return [*endpoint.client.served, _get_beginning(completion)]


# --- The trial


def try_server(client: Client, model: str, thinking: str = "auto", chat: str = "auto") -> Endpoint:
    """Find out what a server can do, by about thirty short requests.

    - Answers: it generates a chat, or the continuation of a text.
    - Thinking: shown or hidden, it is separated from the answer, and its tokens are counted. It is
      turned on or off if that is requested. The next token of a chat that thinks is not an answer.
    - Constrained answers: it gives one of two allowed answers to a question that neither of them
      fits.
    - Greedy answers: two equal requests have the same answer.
    - Sampled answers: three requests at a high temperature have more than one answer, perhaps only
      with the parameter that makes `transformers serve` sample.
    - Likeliest next tokens: their probabilities sum to at most 1, and a greedy answer begins with
      the likeliest token.
    - Log-probabilities of given texts: those in an echo are equal to those while generating, and to
      those in a second echo.

    Args:
        client: The server.
        model: Name of the model on the server.
        thinking: "on", "off", the maximum number of tokens of thinking, or "auto" for the default
            of the server.
        chat: "on" for conversations, "off" for texts, or "auto" for conversations if the server
            accepts them.

    Raises:
        RequestError: If the server cannot be reached, or refuses the key.
        ValueError: If its thinking cannot be turned on or off as requested.
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
    """The trial of one path of a server, such as "/chat/completions".

    What it finds out is written into the attributes of `endpoint`.

    Args:
        endpoint: The path.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._prompts = _list_prompts(endpoint)
        self._greedy: list[Completion] = []

    def _add_finding(self, part: str, passed: bool, words: str) -> bool:
        """Add the result of one part of the trial to the findings, and return whether it passed."""
        self.endpoint.findings.append(Finding(part, passed, words))
        return passed

    def _negotiate(self, prompt: Any, max_tokens: int = ANSWER_TOKENS) -> Completion:
        """Ask for a greedy answer, and leave out or rename parameters that the server refuses.

        Args:
            prompt: A text, or the turns of a conversation.
            max_tokens: Maximum number of tokens of the answer.

        Raises:
            RequestError: If the server fails, or refuses the request for another reason.
        """
        parameters: dict[str, Any] = {"max_tokens": max_tokens, "temperature": 0.0, "seed": 0}
        while True:
            try:
                return self.endpoint.ask(prompt, **parameters)
            except RequestError as failure:
                # Each repetition changes one more parameter, so that the loop ends.
                if failure.is_of_server or not self._adapt(str(failure)):
                    raise

    def _adapt(self, message: str) -> bool:
        """Stop sending the parameters that an error message of the server names, or rename them.

        Args:
            message: The message.

        Returns:
            Whether anything changed, so that the request may be sent again.
        """
        refused = {name for name in _OPTIONAL_PARAMETERS if name in message}
        refused -= self.endpoint.refused
        if refused:
            self.endpoint.refused |= refused
            return True
        # Newer models of OpenAI require `max_completion_tokens` in place of `max_tokens`, and name
        # it in the error. A message that the number is too large also names it, but does not ask
        # for another parameter.
        is_too_large = re.search("large|exceed|context", message) is not None
        is_renamed = "max_completion_tokens" in message and not is_too_large
        if not is_renamed or "max_tokens" in self.endpoint.renamed:
            return False
        self.endpoint.renamed["max_tokens"] = "max_completion_tokens"
        return True

    def _request_greedy_answers(self) -> None:
        """Request greedy answers to the first two questions, for comparison in later parts."""
        self._greedy = [self._negotiate(prompt) for prompt in self._prompts[:2]]

    # --- Answers and thinking

    def try_answers(self) -> bool:
        """Find out whether the path generates text, with which parameters, and whether it thinks.

        Returns:
            Whether the path generates text.

        Raises:
            RequestError: If the server fails.
        """
        endpoint = self.endpoint
        try:
            self._request_greedy_answers()
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
        """Turn thinking on or off if requested, and find out how many tokens an answer needs.

        Args:
            thinking: "on", "off", "auto" for the default of the server, or the maximum number of
                tokens of thinking, such as "2048".

        Raises:
            OptionError: If thinking cannot be turned on or off.
        """
        endpoint = self.endpoint
        n_tokens = self._count_answer_tokens()
        if thinking != "auto":
            n_tokens = self._turn_thinking(thinking, n_tokens)
        # Answers that are compared with others must have been requested with the same fields.
        if endpoint.extra:
            self._request_greedy_answers()
        max_allowed = endpoint.budget
        self._set_budget(n_tokens)

        note = f" ({json.dumps(endpoint.extra)})" if endpoint.extra else ""
        if not endpoint.thinks:
            # The absence of thinking is only reported if it was requested.
            if thinking == "off":
                self._add_finding("thinking", True, f"It answers without thinking{note}.")
            return
        if thinking.isdecimal():
            self._limit_thinking(int(thinking))
            return
        count = str(n_tokens) if n_tokens else f"more than {max_allowed:,}"
        words = f"It thinks before it answers{note}: {count} tokens for an easy question"
        self._add_finding("thinking", True, f"{words}, and may take {endpoint.budget:,}.")

    def _turn_thinking(self, thinking: str, n_tokens: int | None) -> int | None:
        """Turn thinking on or off, by trying the request fields that servers have for this.

        Args:
            thinking: "on", "off", or the maximum number of tokens of thinking.
            n_tokens: Number of tokens of the answer to an easy question so far. None if that answer
                does not end.

        Returns:
            The number of tokens of this answer now. None if it does not end.

        Raises:
            OptionError: If no field has the requested effect.
        """
        endpoint = self.endpoint
        should_think = thinking != "off"
        if endpoint.thinks == should_think:
            return n_tokens
        candidates = []
        if thinking.isdecimal():
            candidates += [{name: int(thinking)} for name in DIALECTS["bounded"]]
        candidates += DIALECTS["turned"]["on" if should_think else "off"]
        for fields in candidates:
            if self._accepts(fields):
                # This also updates `endpoint.thinks`.
                n_tokens = self._count_answer_tokens()
                if endpoint.thinks == should_think:
                    return n_tokens
            # Fields without effect are removed.
            endpoint.extra = {}
            endpoint.thinks = not should_think
        state = "thinks" if endpoint.thinks else "does not think"
        raise OptionError(
            f"Expected {endpoint.client.url} to answer with thinking {thinking}, but it {state}, and "
            "none of the known options changes that. If the server has another option for thinking, "
            "set it in `extra_body`.",
            option="thinking",
        )

    def _accepts(self, fields: Mapping[str, Any]) -> bool:
        """Add fields to every request, and return whether the server accepts them.

        If it refuses them, they are removed again.
        """
        extra = self.endpoint.extra
        self.endpoint.extra = {**extra, **fields}
        if isinstance(_try(self._negotiate, self._prompts[0]), RequestError):
            self.endpoint.extra = extra
            return False
        return True

    def _count_answer_tokens(self) -> int | None:
        """Ask an easy question with increasing limits of tokens, until its answer ends.

        This also updates two attributes of the endpoint: `thinks`, and `budget`, the largest limit
        that the server accepted.

        Returns:
            The number of tokens of the answer, including those of its thinking. None if the answer
            does not end.
        """
        endpoint = self.endpoint
        endpoint.budget = ANSWER_TOKENS
        limits = TOKEN_LIMITS if endpoint.thinks else TOKEN_LIMITS[:1]
        for limit in limits:
            completion = self._ask_easy_question(limit, endpoint.budget)
            if completion is None:
                break
            # Thinking that is neither shown nor counted is detected by a short limit, which it uses
            # up.
            endpoint.thinks = _is_thinking(completion) or _is_thinking(
                self._negotiate(self._prompts[0])
            )
            if completion.reply.finished:
                text = f"{completion.reply.thinking} {completion.reply.text}"
                n_estimated = len(text) // CHARACTERS_PER_TOKEN
                return completion.reply.usage.get("answer_tokens", n_estimated)
        return None

    def _ask_easy_question(self, max_tokens: int, accepted: int) -> Completion | None:
        """Ask an easy question with a limit of tokens, which is halved until the server accepts it.

        The accepted limit becomes the budget of the endpoint.

        Args:
            max_tokens: Maximum number of tokens of the answer.
            accepted: A limit that the server is known to accept.

        Returns:
            The answer. None if the server accepts no limit above the known one.
        """
        while max_tokens > accepted:
            outcome = _try(self._negotiate, _make_turns(DIALECTS["choice"]), max_tokens)
            if not isinstance(outcome, RequestError):
                self.endpoint.budget = max_tokens
                return outcome
            if outcome.is_of_server:
                raise outcome
            max_tokens //= 2
        return None

    def _set_budget(self, n_tokens: int | None) -> None:
        """Set the maximum number of tokens of an answer, as far as the server accepts it.

        Args:
            n_tokens: Number of tokens of the answer to an easy question. None if it did not end. A
                hard question may need `BUDGET_PER_EASY_TOKEN` times as many.
        """
        endpoint = self.endpoint
        accepted = endpoint.budget
        if n_tokens is None and endpoint.thinks:
            # More tokens may help, unless the server has refused a larger limit.
            if accepted == TOKEN_LIMITS[-1]:
                endpoint.budget = BUDGET_PER_EASY_TOKEN * accepted
            return
        min_budget = LONG if endpoint.thinks else BRIEF
        budget = max(min_budget, BUDGET_PER_EASY_TOKEN * (n_tokens or 0))
        # A limit that is larger than all so far has to be tried.
        if budget <= accepted or self._ask_easy_question(budget, accepted) is None:
            endpoint.budget = min(budget, accepted)

    def _limit_thinking(self, n_tokens: int) -> None:
        """Limit the tokens of thinking, by the first parameter that the server accepts.

        Args:
            n_tokens: Maximum number of tokens of thinking. The budget adds those of a brief answer.
        """
        endpoint = self.endpoint
        note = "the server accepts no limit: longer reasoning is truncated"
        for name in DIALECTS["bounded"]:
            if name in endpoint.extra or self._accepts({name: n_tokens}):
                note = f"limited by the parameter {name}"
                break
        endpoint.budget = n_tokens + BRIEF
        words = f"It thinks before it answers, at most {n_tokens} tokens ({note})."
        self._add_finding("thinking", True, words)

    # --- Constrained, greedy and drawn answers

    def try_constraints(self) -> None:
        """Find a parameter that restricts answers to given strings.

        Nobody would give these strings as answers to the question. If the reply is one of them, the
        parameter has an effect.
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
            is_restricted = reply.text.strip() in DIALECTS["unlikely"]
            # A constraint that prevents thinking would change the model that is measured.
            if is_restricted and (reply.thinks or not endpoint.thinks):
                self._add_finding(CONSTRAINED, True, f"The server accepts them by {name}.")
                return
        endpoint.constraint = ""
        names = ", ".join(CONSTRAINTS)
        words = f"The server ignores {names}, so the prompt requests the form of an answer."
        self._add_finding(CONSTRAINED, False, words)

    def try_greedy_answers(self) -> None:
        """Compare the answers to two equal requests at temperature 0.

        If they differ, a run cannot be reproduced.
        """
        answer = _get_beginning(self._greedy[0])
        repeated = _get_beginning(self._negotiate(self._prompts[0]))
        if "temperature" in self.endpoint.refused:
            is_equal = False
            words = "The server accepts no temperature: its answers are sampled."
        elif answer == repeated:
            is_equal = True
            words = "Two equal requests get the same answer."
        else:
            is_equal = False
            words = f"Two equal requests get the answers {answer!r} and {repeated!r}."
        self._add_finding("greedy answers", is_equal, words)

    def try_drawn_answers(self) -> None:
        """Find out whether answers differ at a high temperature, perhaps only with another field.

        A server that does not sample repeats one answer, whatever the seed.
        """
        endpoint = self.endpoint
        max_tokens = ANSWER_TOKENS
        # Hidden thinking comes first, and an answer needs more tokens than that.
        if endpoint.thinks and not any(map(_get_beginning, self._greedy)):
            max_tokens = endpoint.budget
        candidates: Sequence[dict[str, str]] = ({}, _DRAWING_FIELDS)
        for fields in candidates:
            endpoint.drawing = fields
            endpoint.draws = len(self._sample_answers(max_tokens)) > 1
            if endpoint.draws:
                note = f" with {', '.join(fields)}" if fields else ""
                self._add_finding(DRAWN, True, f"Three requests get different answers{note}.")
                return
        endpoint.drawing = {}
        words = f"Three requests at temperature {DRAWING_TEMPERATURE} get the same answer."
        self._add_finding(DRAWN, False, words)

    def _sample_answers(self, max_tokens: int) -> set[str]:
        """Sample a few answers to one question with different seeds, and return the distinct ones.

        Args:
            max_tokens: Maximum number of tokens of an answer.
        """
        answers = set()
        for seed in range(N_DRAWS):
            outcome = _try(
                self.endpoint.ask,
                self._prompts[1],
                seed=seed,
                max_tokens=max_tokens,
                temperature=DRAWING_TEMPERATURE,
            )
            if isinstance(outcome, Completion):
                answers.add(_get_beginning(outcome))
        return answers

    # --- Log-probabilities

    def try_next_tokens(self) -> None:
        """Find out how many of the likeliest next tokens the path reports, and check them.

        For a model that thinks, nothing is requested, because its next token belongs to a thought.
        """
        endpoint = self.endpoint
        if endpoint.thinks:
            self._add_finding(NEXT_TOKENS, False, THINKS_FIRST)
            return
        words = ""
        for n_tokens in N_TOPS:
            outcome = _try(self._request_tops, n_tokens)
            if not isinstance(outcome, RequestError):
                words = self._check_tops(outcome)
                if not words:
                    # Some servers accept the number, but report fewer tokens.
                    n_reported = [len(completion.tops[0]) for completion in outcome]
                    endpoint.top = min(n_tokens, *n_reported)
                    words = f"{endpoint.top} are reported, and greedy answers begin with the first"
                break
            # A server may refuse a large number, and accept a smaller one.
            words = f"They are not reported: {outcome}"
            if outcome.is_of_server:
                break
        self._add_finding(NEXT_TOKENS, bool(endpoint.top), f"{words}.")

    def _request_tops(self, n_tokens: int) -> list[Completion]:
        """Request the likeliest next tokens after two questions, and in a chat one about letters."""
        prompts = self._prompts[:2]
        if self.endpoint.is_chat:
            prompts = [*prompts, _make_turns(DIALECTS["choice"])]
        return [self.endpoint.request_next_tokens(prompt, n_tokens) for prompt in prompts]

    def _check_tops(self, completions: Sequence[Completion]) -> str:
        """Check reported next tokens, and return a problem with them; "" if there is none.

        Args:
            completions: Replies to the first two questions and, in a chat, to a question whose
                answer is a letter.
        """
        # Only the first two questions have a greedy answer.
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
        """Compare log-probabilities of given texts with those while the texts were generated."""
        endpoint = self.endpoint
        # A model that thinks would insert a thought between the question and the given text.
        if endpoint.thinks:
            self._add_finding(GIVEN_TEXTS, False, THINKS_FIRST)
            return
        pairs: list[_Pair] = []
        # The problem if there are no pairs to compare.
        problem = "The server reports no log-probabilities of generated tokens"
        for seed, prompt in enumerate(self._prompts):
            try:
                should_go_on = self._compare_echo(prompt, seed, pairs)
            except BadReplyError as failure:
                problem = f"Given texts are not echoed: the server sent {failure}"
                break
            except RequestError as failure:
                if failure.ends:
                    raise
                problem = f"Given texts are not echoed: {failure}"
                break
            if not should_go_on:
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
        """Generate a text, request its echo twice, and compare the log-probabilities.

        Args:
            prompt: A text, or the turns of a conversation.
            seed: Seed of the generated text.
            pairs: Compared log-probabilities so far, to which those of this text are added.

        Returns:
            Whether to compare another text. False if the server reports no log-probabilities, or
            the echo has incorrect ones.
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
        # If the first echo is incorrect, a second one is not needed.
        if any(pair.difference > MAX_DIFFERENCE for pair in pairs):
            return False
        repeated = endpoint.request_continuations(prompt, [text])[0]
        pairs += _pair_tokens("Two echoes of one text have", "and", echoed, repeated)
        return True


# --- Requests and their outcomes


def _make_turns(question: str) -> list[Message]:
    return [{"role": "user", "content": question}]


def _list_prompts(endpoint: Endpoint) -> list[Any]:
    """Return the prompts of the trial: questions in a chat, or beginnings of texts."""
    if endpoint.is_chat:
        return list(map(_make_turns, DIALECTS["questions"]))
    return list(DIALECTS["beginnings"])


def _try(ask: Callable[..., T], *arguments: Any, **options: Any) -> T | RequestError:
    """Call a function that sends requests, and return its result or its error.

    Args:
        ask: The function.
        *arguments: Its arguments.
        **options: Its keyword arguments.

    Raises:
        RequestError: If no further request can be answered either, such as without a valid key.
    """
    try:
        return ask(*arguments, **options)
    except RequestError as failure:
        if failure.ends:
            raise
        return failure


def _get_beginning(completion: Completion) -> str:
    """Return the thinking of a completion, which comes first, or else its text."""
    return completion.reply.thinking or completion.reply.text


def _is_thinking(completion: Completion) -> bool:
    """Return whether a completion thought, even if the thinking is hidden.

    Hidden thinking is recognized if it used up all tokens before any text.
    """
    reply = completion.reply
    return reply.thinks or (not reply.finished and not reply.text.strip())


# --- Checks of log-probabilities


def _find_problem_of_top(completion: Completion, greedy: Completion) -> str:
    """Check the likeliest next tokens of a reply, and return a problem, or an empty string.

    Args:
        completion: The reply. The first entry of its `tops` is token -> log-probability.
        greedy: The greedy answer to the same question, which should begin with the likeliest token.
    """
    top = completion.tops[0] if completion.tops else {}
    if len(top) < 2:
        return "The server reports none"
    values = sorted(top.values(), reverse=True)
    if any(math.isnan(value) for value in values):
        return "Some of their log-probabilities are not numbers"
    # Log-probabilities are at most 0. Larger ones are clipped, because `exp` may overflow.
    total = math.fsum(math.exp(min(value, 1.0)) for value in values)
    if total > MAX_TOTAL_PROBABILITY:
        return f"Their probabilities sum to {total:.2f}"
    likeliest = max(top, key=lambda token: top[token]).strip()
    # If two tokens are almost equally likely, rounding decides which one is generated.
    is_clear = values[0] - values[1] > MAX_DIFFERENCE
    answer = _get_beginning(greedy)
    if is_clear and likeliest and answer.strip() and not answer.strip().startswith(likeliest):
        return f"The likeliest is {likeliest!r}, but the greedy answer is {answer!r}"
    return ""


def _find_problem_of_letters(completion: Completion) -> str:
    """Check the next tokens after a question about letters; an empty string if there is no problem.

    The likeliest token should be a letter. Otherwise the probabilities of letters are not those of
    answers.

    Args:
        completion: The reply. The first entry of its `tops` is token -> log-probability.
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
    """Two log-probabilities of one token, which should be equal.

    Attributes:
        value: The first log-probability.
        difference: Absolute difference between the two.
        words: Both log-probabilities in words, for a report.
    """

    value: float
    difference: float
    words: str


def _pair_tokens(begin: str, link: str, echoed: Completion, compared: Completion) -> list[_Pair]:
    """Pair the log-probabilities of the tokens that two completions begin with in common.

    Args:
        begin: Words before the first log-probability, such as "The echo has".
        link: Words before the second log-probability, such as "but while generating it had".
        echoed: The first completion.
        compared: The second completion.
    """
    pairs = []
    rows = zip(echoed.tokens, echoed.logprobs, compared.tokens, compared.logprobs, strict=False)
    for token, value, other_token, other_value in rows:
        # From here on, the text is divided into different tokens.
        if token != other_token:
            break
        if value is not None and other_value is not None:
            words = f"{begin} {value:.2f} for {token!r}, {link} {other_value:.2f}"
            pairs.append(_Pair(value, abs(value - other_value), words))
    return pairs


def _find_problem_of_pairs(pairs: Sequence[_Pair]) -> str:
    """Check the log-probabilities of echoes, and return a problem, or an empty string.

    Args:
        pairs: At least one pair of log-probabilities that should be equal.
    """
    differences = np.array([pair.difference for pair in pairs])
    if differences.mean() > MAX_MEAN_DIFFERENCE or differences.max() > MAX_DIFFERENCE:
        return pairs[int(differences.argmax())].words
    if len(pairs) < MIN_COMPARED_TOKENS:
        return f"Only {len(pairs)} log-probabilities could be compared with those of generation"
    # A stub that reports the same number for every token would pass the comparison.
    if len({pair.value for pair in pairs}) == 1:
        return f"Every token has the same log-probability, {pairs[0].value:.2f}"
    return ""
