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

NO_REQUESTS = "Nothing is sent: the model is no language model that is asked by requests."

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
        """Count requests, and return random answers."""
        settings = {**options.to_dict(), "drawn": options.temperature > 0}
        self._count(requests, "replies", settings)
        answers = []
        for request in requests:
            rng = item_rng(options.seed, request.name)
            answers.append([Reply(_draw_answer(request, rng)) for _ in range(options.n)])
        return Answers(answers)

    def _draw_likelihoods(self, requests: Sequence[Request], kind: str) -> Likelihoods:
        """Count requests, and return random likelihoods of one token per continuation."""
        self._count(requests, kind, {})
        # Logarithms of uniform numbers, which are valid log-probabilities.
        counts = []
        values = [np.empty(0)]
        for request in requests:
            count = len(request.continuations)
            counts.append(count)
            values.append(-item_rng(0, request.name).exponential(size=count))
        return Likelihoods(
            Ragged.of(np.concatenate(values), counts), Ragged.of(np.ones(sum(counts)), counts)
        )

    def _count(self, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]) -> None:
        """Add the cost of requests that were not counted before."""
        groups: Sequence[tuple[str, Sequence[Request]]] = [(kind, requests)]
        estimate: Callable[..., Usage] = functools.partial(estimate_cost, None)
        # A server is sent other requests than a local model, and bills their tokens.
        engine: Any = self._engine
        if hasattr(engine, "plan_requests"):
            estimate = engine.cost
            # The first prompts tell how many tokens all of them have, and which requests are sent.
            if not self._counted_keys and requests:
                engine.sample_prompts(requests)
            groups = engine.plan_requests(requests, kind)
        for sent_kind, sent_requests in groups:
            # Equal requests are sent once, and answered from the journal afterwards.
            new_requests = {}
            keys = make_keys({"kind": sent_kind, **settings}, sent_requests)
            for key, request in zip(keys, sent_requests, strict=True):
                if key not in self._counted_keys:
                    new_requests[key] = request
            self._counted_keys |= new_requests.keys()
            self.cost += estimate(list(new_requests.values()), sent_kind, settings)


def _draw_answer(request: Request, rng: np.random.Generator) -> str:
    """Return a random answer with reasons, or a probability if a request has no options."""
    if not request.continuations:
        return "0.5"
    # Each reply has its own reasons, as later requests about reasons quote them.
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
        name: Name of the row.
        prompted: The language model. None for another kind of model, which is sent no requests.
        run: Runs the command; called with a model that sends nothing, and `out`, a folder for its
            answers.
    """
    if prompted is None:
        return Plan([NO_REQUESTS], {})
    planned, engine = _replace_engine(prompted)
    # Random answers may have no figures: by then the requests have been counted.
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
    rows = _count_costs(context, prompted, sections, options, skip_reasons)
    skipped = []
    for name, reason in skip_reasons.items():
        if reason:
            skipped.append(f"Not asked: {name}. {reason}")
    total = sum((cost for _, cost in rows), Usage())
    return _price_plan([*rows, ("together", total)], prompted.engine, skipped)


def count_requests(
    context: AuditContext,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    skip_reasons: Mapping[str, str],
) -> dict[str, int]:
    """Return how many requests each step of an audit of a local language model makes, about.

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
    if sum(map(len, context.splits)) > MAX_PLANNED_ITEMS:
        return {}
    reasons = dict(skip_reasons)
    for name, question_options in options.items():
        # A second model is tried when it is opened, which the question itself does once.
        if getattr(question_options, "judge", None) is not None:
            reasons[name] = "It has a judge."
    try:
        rows = _count_costs(context, prompted, sections, options, reasons)
    except ValueError:
        # The audit itself will say what is wrong.
        return {}
    return {name: cost.requests for name, cost in rows if cost.requests}


def _count_costs(
    context: AuditContext,
    prompted: Prompted,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    skip_reasons: Mapping[str, str],
) -> list[tuple[str, Usage]]:
    """Return the cost of the items and of each question that applies, by running it without a model."""
    planned, engine = _replace_engine(prompted)
    # Some questions query a second model, such as a judge.
    second_engines: list[CountingEngine] = []

    def wrap_second_engine(second_engine: Engine) -> Any:
        second_engines.append(CountingEngine(second_engine))
        return second_engines[-1]

    rows: list[tuple[str, Usage]] = []
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
            rows.append((ITEMS, engine.cost))
        for name, section in sections.items():
            if skip_reasons[name]:
                continue
            # The engine keeps what it counted before, so that equal requests are free.
            engine.cost = Usage()
            with contextlib.suppress(ValueError):
                section.run(scored, options[name])
            rows.append((name, engine.cost))
            for second_engine in second_engines:
                rows.append((f"{name}, the second model, at most", second_engine.cost))
            second_engines.clear()
    return rows


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
    rows: Sequence[tuple[str, Usage]], engine: Engine, further_lines: Sequence[str] = ()
) -> Plan:
    """Return the table of costs, what a server was sent so far, and further lines."""
    # A local model has neither a client nor prices.
    client = getattr(engine, "client", None)
    options = None if client is None else client.options
    table = [HEADINGS]
    for name, cost in rows:
        table.append((name, *cost.list_words(options)))
    # A column of dashes would only ask what it means.
    has_prices = any(row[-1] for row in table[1:])
    n_columns = len(HEADINGS) if has_prices else len(HEADINGS) - 1
    lines = align_columns([row[:n_columns] for row in table])
    if client is not None:
        lines.append(
            f"Sent so far, for the trial and {N_SAMPLED_PROMPTS} prompts: "
            f"{client.usage.describe(client.options)}"
        )

    costs: dict[str, dict[str, Any]] = {}
    for name, cost in rows:
        counts = cost.to_dict(options or ServerOptions())
        costs[name] = {}
        for column in COSTS:
            costs[name][column] = counts[column]
    return Plan([*lines, *further_lines], costs)
