"""What an audit would send to a language model, question by question, counted before anything is sent.

The questions are asked of an engine that answers at random and counts: they ask as they would, and read the answers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
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

NOTHING = "Nothing is sent: the model is no language model that is asked by requests."

_RESAMPLES = 2
"""Nothing of the figures is read."""


class Counting:
    """An engine that sends nothing: it counts what it is asked, and answers at random.

    Args:
        engine: The engine in its place.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.cost = Usage()
        self._asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def likelihoods(self, requests: Sequence[Request], **how: Any) -> Likelihoods:
        """Count requests, and answer at random."""
        return self._likely(requests, "likelihoods")

    def next_words(self, requests: Sequence[Request], **how: Any) -> Likelihoods:
        """Count requests, and answer at random."""
        return self._likely(requests, "next words")

    def generate(self, requests: Sequence[Request], *, options: Generation, **how: Any) -> Answers:
        """Count requests, and answer at random."""
        settings = {**options.to_dict(), "drawn": options.temperature > 0}
        self._count(requests, "replies", settings)
        drawn = [item_rng(options.seed, request.name) for request in requests]
        return Answers(
            [
                [Reply(_stand_in(request, rng)) for _ in range(options.n)]
                for request, rng in zip(requests, drawn, strict=True)
            ]
        )

    def _likely(self, requests: Sequence[Request], kind: str) -> Likelihoods:
        self._count(requests, kind, {})
        counts = [len(request.continuations) for request in requests]
        rows = [
            -item_rng(0, request.name).exponential(size=n)
            for request, n in zip(requests, counts, strict=True)
        ]
        return Likelihoods(
            Ragged.of(np.concatenate([np.empty(0), *rows]), counts),
            Ragged.of(np.ones(sum(counts)), counts),
        )

    def _count(self, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]) -> None:
        """Add what requests will cost, without those that were counted before."""
        groups: Sequence[tuple[str, Sequence[Request]]] = [(kind, requests)]
        estimate: Callable[..., Usage] = functools.partial(estimate_cost, None)
        # A server is sent other requests than a local model, and bills their tokens.
        engine: Any = self._engine
        if hasattr(engine, "plan_requests"):
            groups = engine.plan_requests(requests, kind)
            estimate = engine.cost
            if not self._asked and requests:
                engine.sample_prompts(requests)
        for sent_kind, sent in groups:
            keys = make_keys({"kind": sent_kind, **settings}, sent)
            # An answer that is known is not asked for again.
            new = {}
            for key, request in zip(keys, sent, strict=True):
                if key not in self._asked:
                    new[key] = request
            self._asked |= new.keys()
            self.cost += estimate([*new.values()], sent_kind, settings)


def _stand_in(request: Request, rng: np.random.Generator) -> str:
    """Return an answer at random after reasons of its own, as what is asked about two answers is asked of each."""
    if not request.continuations:
        return "0.5"
    reasons = " ".join(f"Reason {part} of {request.name!r}." for part in "abcd")
    return f"{reasons}\nANSWER: {str(rng.choice(request.continuations)).strip()}"


class Plan(NamedTuple):
    """What would be sent.

    Attributes:
        lines: In words.
        costs: The same by name: `requests`, `prompt_tokens`, `answer_tokens` and `price`.
    """

    lines: list[str]
    costs: dict[str, dict[str, Any]]


def _counting(model: Prompted) -> tuple[Prompted, Counting]:
    """Return the same model asked of an engine that counts, and this; what was settled for its own holds."""
    counting = Counting(model.engine)
    from rightreasons.models.prompted import Prompted

    return Prompted(
        model.prompt, counting, model.label_names, examples=model.examples, seed=model.seed
    ), counting


def plan_command(name: str, prompted: Prompted | None, ask: Callable[..., object]) -> Plan:
    """Return what one command would send, as `plan_audit` does.

    Args:
        name: What the line is called.
        prompted: The language model; None for another one.
        ask: Called with a model that sends nothing, and `out`, a folder for its answers.
    """
    if prompted is None:
        return Plan([NOTHING], {})
    planned, counting = _counting(prompted)
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        contextlib.suppress(ValueError),
    ):
        warnings.simplefilter("ignore")  # as the figures are of answers at random
        ask(planned, out=Path(folder))
    return _priced([(name, counting.cost)], prompted.engine)


def plan_audit(
    context: AuditContext,
    sections: Mapping[str, Question],
    options: Mapping[str, Options],
    why_not: Mapping[str, str],
) -> Plan:
    """Return what each question would send, a line each, and their sum; and why others are not asked.

    Args:
        context: The audit, not scored.
        sections: The questions by name.
        options: Question -> its options.
        why_not: Question -> why it is not asked; "" where it is.
    """
    prompted = context.prompted
    if prompted is None:
        return Plan([NOTHING], {})
    planned, counting = _counting(prompted)
    rows: list[tuple[str, Usage]] = []
    others: list[Counting] = []

    def beside(engine: Engine) -> Any:
        others.append(Counting(engine))
        return others[-1]

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = context.settings.replace(n_resamples=_RESAMPLES)
        planned_audit = dataclasses.replace(
            context,
            source=planned,
            out=Path(folder),
            settings=settings,
            progress=False,
            wrap_engine=beside,
        )
        scored = score_audit(planned_audit, [section.reads for section in sections.values()])
        rows += [("the items", counting.cost)] if scored.answers else []
        for name, section in sections.items():
            if why_not[name]:
                continue
            counting.cost = Usage()
            with contextlib.suppress(
                ValueError
            ):  # of figures of answers at random: what is asked has been counted
                section.run(scored, options[name])
            rows.append((name, counting.cost))
            rows += [(f"{name}, the second model, at most", other.cost) for other in others]
            others.clear()
    untold = [f"Not asked: {name}. {why_not[name]}" for name in sections if why_not[name]]
    return _priced(
        [*rows, ("together", sum((cost for _, cost in rows), Usage()))], prompted.engine, untold
    )


def _priced(rows: Sequence[tuple[str, Usage]], engine: Engine, further: Sequence[str] = ()) -> Plan:
    """Return a line per cost by its name, what a server was sent so far, and further lines."""
    client = getattr(engine, "client", None)
    heads = ("", "requests", "prompt tokens, about", "generated tokens, at most", "price, about")
    table = [
        heads,
        *(
            (name, *cost.list_words(None if client is None else client.options))
            for name, cost in rows
        ),
    ]
    n_shown = len(heads) if any(row[-1] for row in table[1:]) else len(heads) - 1
    lines = align_columns([row[:n_shown] for row in table])
    if client is not None:
        lines.append(
            f"Sent so far, for the trial and {N_SAMPLED_PROMPTS} prompts: "
            f"{client.usage.describe(client.options)}"
        )
    columns = ("requests", "prompt_tokens", "answer_tokens", "price")
    options = ServerOptions() if client is None else client.options
    costs = {name: {key: cost.to_dict(options)[key] for key in columns} for name, cost in rows}
    return Plan([*lines, *further], costs)
