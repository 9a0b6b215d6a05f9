"""Costs of an audit of a language model, per question, before any request of a question is sent.

`plan_audit` runs the questions with a `CountingEngine`, which counts the requests and answers at
random. The questions send what they would send to the model, and their figures are discarded.
`plan_command` does the same for a command that asks one question.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rightreasons.audited.scoring import score_audit
from rightreasons.core.arrays import Ragged
from rightreasons.core.replies import Reply
from rightreasons.core.resampling import item_rng
from rightreasons.models.protocol import Answers, Engine, Generation, Likelihoods, Request
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.planning import N_SAMPLED_PROMPTS, estimate_cost, make_keys
from rightreasons.models.servers.usage import Usage
from rightreasons.page.formats import align_columns

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.core.options import Options
    from rightreasons.models.prompted import Prompted
    from rightreasons.page.question import Question

NO_REQUESTS = "The model sends no requests, because it is not a language model."

HEADINGS = ("", "requests", "prompt tokens, about", "generated tokens, at most", "price, about")
"""Headings of the table of costs; the price is shown only if there is one."""

COSTS = ("requests", "prompt_tokens", "answer_tokens", "price")
"""Counts of a plan in --json."""

ITEMS = "the items"
"""Name of the step of an audit that reads the items as they are, before any question."""

MAX_PLANNED_ITEMS = 5000
"""Items up to which an audit counts its requests beforehand, which takes about a millisecond each."""

N_RESAMPLES_OF_PLAN = 2
"""Number of bootstrap resamples for figures that are discarded."""


class CountingEngine:
    """An engine that sends nothing: it counts requests, and answers them at random.

    Attributes that it lacks are those of the engine that it replaces.

    Args:
        engine: The engine that it replaces.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.cost = Usage()
        self._counted_keys: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def likelihoods(self, requests: Sequence[Request], **options: Any) -> Likelihoods:
        """Count requests, and return random likelihoods."""
        return self._draw_likelihoods(requests, "likelihoods")

    def next_words(self, requests: Sequence[Request], **options: Any) -> Likelihoods:
        """Count requests, and return random likelihoods."""
        return self._draw_likelihoods(requests, "next words")

    def generate(
        self, requests: Sequence[Request], *, options: Generation, **keywords: Any
    ) -> Answers:
        """Count requests, and return `options.n` random replies to each."""
        settings = {**options.to_dict(), "drawn": options.temperature > 0}
        self._count(requests, "replies", settings)
        answers = []
        for request in requests:
            rng = item_rng(options.seed, request.name)
            replies = [Reply(_draw_answer(request, rng)) for _ in range(options.n)]
            answers.append(replies)
        return Answers(answers)

    def _draw_likelihoods(self, requests: Sequence[Request], kind: str) -> Likelihoods:
        """Count requests, and return random log-probabilities of one token per continuation."""
        self._count(requests, kind, {})
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

    def _count(self, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]) -> None:
        """Add the cost of requests to `cost`, without those that were counted before.

        Args:
            requests: The requests of a question.
            kind: What is asked for: "likelihoods", "next words" or "replies".
            settings: Options of generation, which distinguish requests; {} without generation.
        """
        sent_groups: Sequence[tuple[str, Sequence[Request]]] = [(kind, requests)]
        estimate: Callable[..., Usage] = functools.partial(estimate_cost, None)
        engine: Any = self._engine
        # A server is sent other requests than a local model, and bills their tokens.
        if hasattr(engine, "plan_requests"):
            estimate = engine.cost
            # Trial requests show how many tokens the prompts have, and how they are sent.
            is_first_call = not self._counted_keys
            if is_first_call and requests:
                engine.sample_prompts(requests)
            sent_groups = engine.plan_requests(requests, kind)
        for sent_kind, sent_requests in sent_groups:
            keys = make_keys({"kind": sent_kind, **settings}, sent_requests)
            # Equal requests are sent once, and answered from the journal afterwards.
            new_requests = {}
            for key, request in zip(keys, sent_requests, strict=True):
                if key not in self._counted_keys:
                    new_requests[key] = request
            self._counted_keys.update(new_requests)
            self.cost += estimate(list(new_requests.values()), sent_kind, settings)


def _draw_answer(request: Request, rng: np.random.Generator) -> str:
    """Return a random reply to a request: four reasons and one of its options.

    A request without options asks for a probability, and the reply is "0.5".
    """
    if not request.continuations:
        return "0.5"
    # Later requests may quote reasons. Those of different requests differ, because equal requests
    # are counted once.
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
    """Return the cost of a command that asks one question, without sending its requests.

    Args:
        name: Name of the row.
        prompted: The language model. None for another kind of model, which is sent no requests.
        run: Runs the command. It is called with a copy of the model that sends nothing, and with
            `out`, a folder for its answers, which is deleted afterwards.
    """
    if prompted is None:
        return Plan([NO_REQUESTS], {})
    planned, engine = _replace_engine(prompted)
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
    costs = _count_costs(context, prompted, sections, options, skip_reasons)
    total = Usage()
    for _, cost in costs:
        total = total + cost
    skipped_lines = []
    for name, reason in skip_reasons.items():
        if reason:
            skipped_lines.append(f"Not asked: {name}. {reason}")
    return _price_plan([*costs, ("together", total)], prompted.engine, skipped_lines)


def count_requests(
    context: AuditContext,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    skip_reasons: Mapping[str, str],
) -> dict[str, int]:
    """Estimate how many requests each step of an audit sends to a local language model.

    Args:
        context: The audit, not scored.
        sections: Name -> question.
        options: Question -> its options.
        skip_reasons: Question -> why it does not apply; "" if it does.

    Returns:
        Step -> number of requests, in the order in which they are made; {} for models of other
        kinds, for servers, whose plan has to send some prompts, and for more than
        `MAX_PLANNED_ITEMS` items.
    """
    prompted = context.prompted
    if prompted is None or hasattr(prompted.engine, "plan_requests"):
        return {}
    n_items = sum(map(len, context.splits))
    if n_items > MAX_PLANNED_ITEMS:
        return {}
    reasons = dict(skip_reasons)
    for name, question_options in options.items():
        # A judge, which is a second model, is tried when it is opened. The question itself does
        # so, and not its plan as well.
        if getattr(question_options, "judge", None) is not None:
            reasons[name] = "It has a judge."
    try:
        costs = _count_costs(context, prompted, sections, options, reasons)
    except ValueError:
        # The audit itself will raise the error.
        return {}
    return {step: cost.requests for step, cost in costs if cost.requests}


def _count_costs(
    context: AuditContext,
    prompted: Prompted,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    skip_reasons: Mapping[str, str],
) -> list[tuple[str, Usage]]:
    """Return the cost of each step of an audit, by running it with an engine that counts requests.

    Args:
        context: The audit, not scored.
        prompted: Its language model.
        sections: Name -> question.
        options: Question -> its options.
        skip_reasons: Question -> why it does not apply; "" if it does.

    Returns:
        (step, cost) of the items, of each question, and of each second model of a question.
    """
    planned, engine = _replace_engine(prompted)
    # Some questions query a second model, such as a judge.
    second_engines: list[CountingEngine] = []

    def wrap_second_engine(second_engine: Engine) -> Any:
        second_engines.append(CountingEngine(second_engine))
        return second_engines[-1]

    costs: list[tuple[str, Usage]] = []
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
            engine.cost = Usage()
            # Figures of random answers may be undefined.
            with contextlib.suppress(ValueError):
                section.run(scored, options[name])
            costs.append((name, engine.cost))
            for second_engine in second_engines:
                costs.append((f"{name}, the second model, at most", second_engine.cost))
            second_engines.clear()
    return costs


def _replace_engine(model: Prompted) -> tuple[Prompted, CountingEngine]:
    """Return a copy of a model whose requests are counted, and the engine that counts them."""
    from rightreasons.models.prompted import Prompted

    engine = CountingEngine(model.engine)
    planned = Prompted(
        model.prompt, engine, model.label_names, examples=model.examples, seed=model.seed
    )
    return planned, engine


@contextlib.contextmanager
def _discard_results() -> Iterator[Path]:
    """Give a folder that is deleted afterwards, and silence warnings about random figures."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield Path(folder)


def _price_plan(
    costs: Sequence[tuple[str, Usage]], engine: Engine, further_lines: Sequence[str] = ()
) -> Plan:
    """Return a plan: a table of costs, what a server was sent so far, and further lines.

    Args:
        costs: (step, cost) of each row.
        engine: Engine of the model. That of a server has a client, whose options have prices.
        further_lines: Lines after the table.
    """
    client = getattr(engine, "client", None)
    options = None
    if client is not None:
        options = client.options
    table = [HEADINGS]
    for step, cost in costs:
        table.append((step, *cost.list_words(options)))
    # The last column is the price, which local models do not have.
    has_prices = any(row[-1] for row in table[1:])
    n_columns = len(HEADINGS) if has_prices else len(HEADINGS) - 1
    lines = align_columns([row[:n_columns] for row in table])
    if client is not None:
        lines.append(
            f"Sent so far, for the trial and {N_SAMPLED_PROMPTS} prompts: "
            f"{client.usage.describe(client.options)}"
        )

    counts_by_step: dict[str, dict[str, Any]] = {}
    for step, cost in costs:
        counts = cost.to_dict(options or ServerOptions())
        counts_by_step[step] = {column: counts[column] for column in COSTS}
    return Plan([*lines, *further_lines], counts_by_step)
