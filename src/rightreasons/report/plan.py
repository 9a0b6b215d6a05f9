"""Costs of an audit of a language model, per question, before the requests of a question are sent.

`plan_audit` runs the questions with a `CountingEngine`, which counts the requests and answers at
random. The questions send what they would send to the model, and their figures are discarded. A
server is sent a few of these requests, to estimate from them what all of them will cost.
`forecast_audit` does the same before a run, which uses these first answers, and
`plan_command` does it for a command that asks one question.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rightreasons.audited.scoring import score_audit
from rightreasons.core.arrays import Ragged
from rightreasons.core.replies import Reply
from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import pluralize
from rightreasons.core.store import WORK
from rightreasons.models.protocol import Answers, Engine, Generation, Likelihoods, Request
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.planning import (
    ECHOES,
    PART,
    PlannedRequests,
    estimate_cost,
    forecast_cost,
    make_keys,
)
from rightreasons.models.servers.usage import Forecast
from rightreasons.models.wrapped_engine import WrappedEngine
from rightreasons.page.formats import align_columns

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.core.options import Options
    from rightreasons.models.prompted import Prompted
    from rightreasons.page.question import Question

NO_REQUESTS = "The model sends no requests, because it is not a language model."

HEADINGS = ("", "requests", "prompt tokens, about", "generated tokens, at most", "price, about")
"""Headings of the table of costs; the price is shown only if there is one."""

EXPECTED_HEADINGS = (*HEADINGS[:3], "generated tokens, about", "at most", "price, about", "at most")
"""Headings of the table of costs if the lengths of answers are estimated from earlier ones."""

COSTS = ("requests", "prompt_tokens", "answer_tokens", "price")
"""Counts of a plan in --json: the highest costs."""

ITEMS = "the items"
"""Name of the step of an audit that scores the unchanged items, before any question."""

MAX_PLANNED_ITEMS = 5000
"""Largest number of items for which an audit counts its requests in advance. It is slow for more."""

N_RESAMPLES_OF_PLAN = 2
"""Number of bootstrap resamples for figures that are discarded."""


class CountingEngine(WrappedEngine):
    """An engine that counts requests, and answers them at random.

    Attributes that it lacks are those of the engine that it replaces. Requests whose answers are
    known cost nothing. If all answers to some requests are known, they are returned instead of random
    ones, so that the plan of a finished report has no requests.

    Args:
        engine: The engine that it replaces.
        out: Folder with the answers of a server. None if a plan leaves no file.
        samples: Whether a server is sent a few requests, to learn what the others cost.

    Attributes:
        cost: What the requests of the current step will cost.
    """

    def __init__(
        self,
        engine: Engine,
        out: str | os.PathLike[str] | None = None,
        *,
        samples: bool = True,
    ) -> None:
        """Replace an engine, with no request counted yet."""
        super().__init__(engine)
        self._out = out
        self._samples = samples
        self._counted_keys: set[str] = set()
        self._sampled_keys: set[str] = set()
        self.cost = Forecast()
        self._is_first = True
        # Random replies copy all fields but the text from the last reply of the model, if any.
        self._reply = Reply()

    def begin_step(self) -> None:
        """Count the cost of another question from 0."""
        self.cost = Forecast()
        self._is_first = True

    def likelihoods(self, requests: Sequence[Request], **options: Any) -> Likelihoods:
        """Count requests, and return random likelihoods."""
        return self._draw_likelihoods(requests, "likelihoods", self._engine.likelihoods)

    def next_words(self, requests: Sequence[Request], **options: Any) -> Likelihoods:
        """Count requests, and return random likelihoods."""
        return self._draw_likelihoods(requests, "next words", self._engine.next_words)

    def generate(
        self, requests: Sequence[Request], *, options: Generation, **keywords: Any
    ) -> Answers:
        """Count requests, and return `options.n` random replies to each.

        If all answers are already stored, they are returned instead.

        Args:
            requests: The requests.
            options: How the model would generate: number of replies, temperature and seed.
            **keywords: Further arguments of an engine, which are ignored.
        """
        settings = {**options.to_dict(), "drawn": options.temperature > 0}

        def ask(batch: Sequence[Request]) -> Answers:
            answers = self._engine.generate(batch, options=options, progress=False, out=self._out)
            # Later requests depend on other fields of a reply, such as the reasoning before it.
            for replies in answers.replies:
                self._reply = replies[0] if replies else self._reply
            return answers

        if self._count(requests, "replies", settings, ask):
            return ask(requests)
        answers = []
        for request in requests:
            rng = item_rng(options.seed, request.name)
            replies = []
            for _ in range(options.n):
                text = _draw_answer(request, rng)
                replies.append(dataclasses.replace(self._reply, text=text, finish="stop"))
            answers.append(replies)
        return Answers(answers)

    def _draw_likelihoods(
        self, requests: Sequence[Request], kind: str, compute: Callable[..., Likelihoods]
    ) -> Likelihoods:
        """Count requests, and return random likelihoods of one token per continuation.

        If all answers are already stored, they are returned instead.

        Args:
            requests: The requests.
            kind: "likelihoods" or "next words".
            compute: Method of the replaced engine that returns the likelihoods of the model.
        """

        def ask(batch: Sequence[Request]) -> Likelihoods:
            return compute(batch, progress=False, out=self._out)

        if self._count(requests, kind, {}, ask):
            return ask(requests)
        counts = []
        # An empty array first: `concatenate` refuses a list without arrays.
        values = [np.empty(0)]
        for request in requests:
            count = len(request.continuations)
            counts.append(count)
            # The negative of an exponential number is the logarithm of a uniform one, and so a
            # valid log-probability.
            exponentials = item_rng(0, request.name).exponential(size=count)
            values.append(-exponentials)
        log_probabilities = Ragged.of(np.concatenate(values), counts)
        n_tokens = Ragged.of(np.ones(sum(counts)), counts)
        return Likelihoods(log_probabilities, n_tokens)

    def _count(
        self,
        requests: Sequence[Request],
        kind: str,
        settings: Mapping[str, Any],
        ask: Callable[[Sequence[Request]], object],
    ) -> bool:
        """Add the cost of those requests that were neither counted before nor answered.

        Args:
            requests: The requests.
            kind: "likelihoods", "next words" or "replies".
            settings: What the answers depend on in addition to the requests, such as a temperature.
            ask: Sends requests to the model, to learn from a few answers how long others will be.

        Returns:
            Whether the answers to all requests are stored.
        """
        engine: Any = self._engine
        # A local model is sent the requests as they are, and stores no answers.
        if not hasattr(engine, "plan_requests"):
            plan = PlannedRequests(kind, settings, requests)
            keys = make_keys({"kind": kind, **settings}, requests)
            new_requests = self._select_new(plan, keys)
            self._counted_keys |= set(keys)
            self.cost += forecast_cost(estimate_cost(None, new_requests, kind, settings), None, {})
            return False
        is_first = self._is_first
        self._is_first = False
        plans, is_known = self._list_new(requests, kind, settings)
        # Only the first requests of a question are sampled: later ones may depend on answers, which
        # are random here.
        if plans and is_first and self._samples and engine.needs_samples(kind, settings):
            self._sampled_keys |= engine.sample(_select_original(requests, plans), ask)
            # The samples show whether the server needs further requests, such as echoes of letters
            # that are not among its likeliest tokens.
            plans, is_known = self._list_new(requests, kind, settings)
        for plan in plans:
            self.cost += engine.forecast(plan.requests, plan.kind, plan.settings)
            self._counted_keys |= set(engine.make_keys(plan))
        return is_known

    def _list_new(
        self, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]
    ) -> tuple[list[PlannedRequests], bool]:
        """Return what a server would be sent that it was not sent before.

        Args:
            requests: The requests.
            kind: "likelihoods", "next words" or "replies".
            settings: What the answers depend on in addition to the requests.

        Returns:
            Requests that were neither counted nor answered before, by kind; and whether the answers
            to all requests are stored.
        """
        engine: Any = self._engine
        new_plans = []
        is_known = bool(requests)
        # A server may need several requests in place of one, which `plan_requests` returns.
        for plan in engine.plan_requests(requests, kind, settings, self._out):
            keys = engine.make_keys(plan)
            stored = engine.take_stored(plan, self._out)
            is_known = is_known and stored >= set(keys)
            # A run is billed for the samples, too: either it sends them itself, or it uses those
            # that its forecast has sent.
            new_requests = self._select_new(plan, keys, stored - self._sampled_keys)
            if new_requests:
                new_plans.append(plan._replace(requests=new_requests))
        return new_plans, is_known

    def _select_new(
        self, plan: PlannedRequests, keys: Sequence[str], stored: Set[str] = frozenset()
    ) -> list[Request]:
        """Return the requests that are neither answered nor counted.

        Args:
            plan: Requests as they would be sent.
            keys: The key of each request. Equal requests have the same key, and are sent once.
            stored: Keys of the requests whose answers are stored.
        """
        new_requests = {}
        for key, request in zip(keys, plan.requests, strict=True):
            if key not in self._counted_keys and key not in stored:
                new_requests[key] = request
        return list(new_requests.values())


def _select_original(
    requests: Sequence[Request], plans: Sequence[PlannedRequests]
) -> list[Request]:
    """Return the requests of a question for which the planned requests would be sent.

    Args:
        requests: Requests of a question.
        plans: What a server is sent for some of them. A request for the likelihood of each
            continuation is sent once per continuation (an echo).
    """
    names = set()
    for plan in plans:
        for planned in plan.requests:
            name = planned.name
            # The name of an echo is that of its request and the position of the continuation.
            if plan.kind == ECHOES:
                name, _, _ = planned.name.rpartition(PART)
            names.add(name)
    return [request for request in requests if request.name in names]


def _draw_answer(request: Request, rng: np.random.Generator) -> str:
    """Return a random reply to a request: four reasons, and one of its continuations as the answer.

    A request without continuations asks for a probability, and the reply is "0.5".
    """
    if not request.continuations:
        return "0.5"
    # Later requests may quote the reasons. They contain the name of the request, because later
    # requests with the same text would be counted only once.
    reasons = " ".join(f"Reason {letter} of {request.name!r}." for letter in "abcd")
    option = str(rng.choice(request.continuations)).strip()
    return f"{reasons}\nANSWER: {option}"


class Plan(NamedTuple):
    """Requests that would be sent.

    Attributes:
        lines: A table of them, and further lines.
        costs: Question -> its `requests`, `prompt_tokens`, `answer_tokens` and `price`.
    """

    lines: list[str]
    costs: dict[str, dict[str, Any]]


def plan_command(name: str, prompted: Prompted | None, run: Callable[..., object]) -> Plan:
    """Return the cost of a command that asks one question.

    Args:
        name: Name of the question in the table of costs.
        prompted: The language model; None for a model of another type, which is sent no requests.
        run: Runs the command. It is called with a copy of the model that counts requests, and with
            `out`, a temporary folder for the answers.
    """
    if prompted is None:
        return Plan([NO_REQUESTS], {})
    engine = CountingEngine(prompted.engine)
    planned = _replace_engine(prompted, engine)
    # Figures of random answers may be undefined, which raises an error. By then, all requests
    # have been counted.
    with _discard_results() as folder, contextlib.suppress(ValueError):
        run(planned, out=folder)
    return _price_plan([(name, engine.cost)], prompted.engine)


def plan_audit(
    context: AuditContext,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    skip_reasons: Mapping[str, str],
) -> Plan:
    """Return the cost of each question of an audit and of all together.

    Args:
        context: The audit, not scored.
        sections: Name -> question.
        options: Question -> its options.
        skip_reasons: Question -> why it does not apply; "" if it does.
    """
    prompted = context.prompted
    if prompted is None:
        return Plan([NO_REQUESTS], {})
    engine = CountingEngine(prompted.engine)
    costs = _count_costs(context, prompted, engine, sections, options, skip_reasons)
    total = Forecast()
    for _, cost in costs:
        total = total + cost
    skipped_lines = []
    for name, reason in skip_reasons.items():
        if reason:
            skipped_lines.append(f"Not asked: {name}. {reason}")
    return _price_plan([*costs, ("together", total)], prompted.engine, skipped_lines)


def forecast_audit(
    context: AuditContext,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    skip_reasons: Mapping[str, str],
) -> dict[str, Forecast]:
    """Return the approximate cost of each step of an audit of a language model.

    A server is sent a few of the requests, whose answers are stored for the audit.

    Args:
        context: The audit, not scored.
        sections: Name -> question.
        options: Question -> its options.
        skip_reasons: Question -> why it does not apply; "" if it does.

    Returns:
        Step -> its cost, in the order of the audit; empty for models of other types, and for more
        than `MAX_PLANNED_ITEMS` items.
    """
    prompted = context.prompted
    if prompted is None:
        return {}
    n_items = sum(map(len, context.splits))
    if n_items > MAX_PLANNED_ITEMS:
        return {}
    reasons = dict(skip_reasons)
    for name, question_options in options.items():
        # Opening a judge, which is a second model, sends it a trial request. The question does so
        # itself, and the plan must not do it a second time.
        if getattr(question_options, "judge", None) is not None:
            reasons[name] = "It has a judge."
    engine = CountingEngine(prompted.engine, context.out / WORK)
    try:
        costs = _count_costs(context, prompted, engine, sections, options, reasons)
    except ValueError:
        # The audit itself will raise the error.
        return {}
    return {step: cost for step, cost in costs if cost.at_most.requests}


def _count_costs(
    context: AuditContext,
    prompted: Prompted,
    engine: CountingEngine,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    skip_reasons: Mapping[str, str],
) -> list[tuple[str, Forecast]]:
    """Return the cost of each step of an audit, by running it with an engine that counts requests.

    Args:
        context: The audit, not scored.
        prompted: Its language model.
        engine: The engine that counts.
        sections: Name -> question.
        options: Question -> its options.
        skip_reasons: Question -> why it does not apply; "" if it does.

    Returns:
        (step, cost) of the items, of each question, and of each second model of a question.
    """
    planned = _replace_engine(prompted, engine)
    # Some questions query a second model, such as a judge.
    second_engines: list[CountingEngine] = []

    def wrap_second_engine(second_engine: Engine) -> Any:
        second_engines.append(CountingEngine(second_engine))
        return second_engines[-1]

    costs: list[tuple[str, Forecast]] = []
    with _discard_results() as folder:
        planned_context = dataclasses.replace(
            context,
            source=planned,
            out=folder,
            settings=context.settings.replace(n_resamples=N_RESAMPLES_OF_PLAN),
            progress=False,
            wrap_engine=wrap_second_engine,
        )
        scored = score_audit(planned_context, [section.reads for section in sections.values()])
        if scored.answers:
            costs.append((ITEMS, engine.cost))
        for name, section in sections.items():
            if skip_reasons[name]:
                continue
            # The engine remembers the requests of earlier steps, so that equal ones cost nothing.
            engine.begin_step()
            # Figures of random answers may be undefined.
            with contextlib.suppress(ValueError):
                section.run(scored, options[name])
            costs.append((name, engine.cost))
            for second_engine in second_engines:
                costs.append((f"{name}, the second model, at most", second_engine.cost))
            second_engines.clear()
    return costs


def _replace_engine(model: Prompted, engine: CountingEngine) -> Prompted:
    """Return a copy of a model whose requests are counted."""
    from rightreasons.models.prompted import Prompted

    return Prompted(
        model.prompt, engine, model.label_names, examples=model.examples, seed=model.seed
    )


@contextlib.contextmanager
def _discard_results() -> Iterator[Path]:
    """Give a folder that is deleted afterwards, and silence warnings about random figures."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield Path(folder)


def _price_plan(
    costs: Sequence[tuple[str, Forecast]], engine: Engine, further_lines: Sequence[str] = ()
) -> Plan:
    """Return a plan: a table of costs, what a server was sent so far, and further lines.

    Args:
        costs: (step, cost) of each row of the table.
        engine: Engine of the model. That of a server has a client, whose options have prices.
        further_lines: Lines after the table.
    """
    client = getattr(engine, "client", None)
    options = None
    if client is not None:
        options = client.options
    # Expected costs are known if some answers of a server were sampled. Otherwise, each answer is
    # assumed to have the greatest allowed length.
    is_expected = any(cost.answer_tokens != cost.at_most.answer_tokens for _, cost in costs)
    lines = _make_table(costs, options, is_expected=is_expected)
    if client is not None:
        n_sampled = getattr(engine, "n_sampled", 0)
        lines.append(
            f"Sent so far, for the trial and {pluralize(n_sampled, 'prompt')}: "
            f"{client.usage.describe(client.options)}"
        )

    counts_by_step: dict[str, dict[str, Any]] = {}
    for step, cost in costs:
        counts = cost.at_most.to_dict(options or ServerOptions())
        counts_by_step[step] = {column: counts[column] for column in COSTS}
        if is_expected:
            expected = cost.expected.to_dict(options or ServerOptions())
            counts_by_step[step]["expected_answer_tokens"] = expected["answer_tokens"]
            counts_by_step[step]["expected_price"] = expected["price"]
    return Plan([*lines, *further_lines], counts_by_step)


def _make_table(
    costs: Sequence[tuple[str, Forecast]], options: ServerOptions | None, *, is_expected: bool
) -> list[str]:
    """Return the lines of a table of costs, with aligned columns.

    Args:
        costs: (step, cost) of each row.
        options: The prices of a server; None for a local model.
        is_expected: Whether to show the expected costs in addition to the highest ones.
    """
    table: list[tuple[str, ...]] = [EXPECTED_HEADINGS if is_expected else HEADINGS]
    has_prices = False
    for step, cost in costs:
        n_requests, prompt_tokens, highest_tokens, highest_price = cost.at_most.list_words(options)
        _, _, answer_tokens, price = cost.expected.list_words(options)
        has_prices = has_prices or bool(price)
        cells = [highest_tokens, highest_price]
        if is_expected:
            cells = [answer_tokens, highest_tokens, price, highest_price]
        table.append((step, n_requests, prompt_tokens, *cells))
    # The last columns are prices, which local models do not have.
    n_columns = len(table[0])
    if not has_prices:
        n_columns -= 2 if is_expected else 1
    return align_columns([row[:n_columns] for row in table])
