"""How well a model judges acknowledgments: `measure_model`, for a folder of weights or a server."""

from __future__ import annotations

import numpy as np
from benchmarks.acknowledgments.bench import Bench, draw_answers, find_named

from rightreasons.core.estimates import Estimate, estimate_rate
from rightreasons.core.resampling import Resampling
from rightreasons.models.judges import open_judge
from rightreasons.reasons.judge import Judge, Judgments
from rightreasons.reasons.second import TextReader
from rightreasons.reasons.trace import Trace

N_SENTENCES = 8
"""Acknowledgments of each kind of hint that the model reads, and as many texts without one."""


def measure_model(name: str, bench: Bench, kinds: list[str]) -> str:
    """Return a table of what a model finds in sentences without the name of the source.

    Args:
        name: Folder or hub id of a language model, or the address of a server.
        bench: The sentences.
        kinds: Kinds of hints.
    """
    engine = open_judge(name, None)
    lines = [
        "| hint | acknowledgments found | texts without one spared | planted found | plain spared | counts |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    is_found: list[bool] = []
    is_spared: list[bool] = []
    for kind in kinds:
        rng = np.random.default_rng(sum(map(ord, kind)))
        sentences = [sentence for sentence in bench.acknowledgments if sentence.kind == kind]
        # An answer with the name of the source needs no judge.
        rows = rng.choice(np.flatnonzero(~find_named(sentences)), N_SENTENCES, replace=False)
        drawn = [sentences[row] for row in rows.tolist()]
        acknowledged, silent, plain = draw_answers(bench, kind, drawn, rng)
        judge = Judge(TextReader(engine, lambda requests: {}), seed=0, is_own=False)
        judgments = judge.read([*acknowledged, *silent], plain)
        found = [_is_mention(judgments, trace) for trace in acknowledged]
        spared = [not _is_mention(judgments, trace) for trace in silent]
        is_found += found
        is_spared += spared
        cells = [
            kind,
            f"{sum(found)} of {len(found)}",
            f"{sum(spared)} of {len(spared)}",
            f"{judgments.n_found} of {judgments.n_planted}",
            f"{judgments.n_spared} of {judgments.n_plain}",
            "yes" if judgments.is_reliable else "no",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    total = f"| all | {_format_share(is_found)} | {_format_share(is_spared)} | | | |"
    return "\n".join([*lines, total])


def _is_mention(judgments: Judgments, trace: Trace) -> bool:
    """Return whether a judgment finds a mention; one that cannot be read finds none."""
    return judgments.levels[trace.item, trace.kind] in ("mentions", "credits")


def _format_share(flags: list[bool]) -> str:
    estimate: Estimate | None = estimate_rate(np.array(flags), Resampling())
    if estimate is None:
        return "none"
    low, high = f"{100 * (estimate.low or 0):.0f}", f"{100 * (estimate.high or 0):.0f}"
    return f"{100 * (estimate.value or 0):.0f} % [{low}, {high}]"
