"""What a model passes of a behavioral suite beyond memory: its parts asked one after the other, the counts merged."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate, PassCounts
from rightreasons.data.suites.streaming import SuiteStream
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.behavior import ask, check_asked, match_classes
from rightreasons.models.loading import Classifier
from rightreasons.models.protocol import Scorer


@dataclasses.dataclass(frozen=True)
class StreamedBehavior(Result):
    """What a model passes of a suite that was read part by part.

    Attributes:
        result: Its pass rates, without the outcome of each case.
        matched: How the model's classes were matched with the suite's labels, in words.
        failures: Id of an example that the model could not answer -> why; it counts as a wrong answer.
    """

    result: BehavioralPassRate
    matched: str
    failures: Mapping[str, str]


@checks_kinds
def behavior_stream(
    classifier: Classifier | Scorer,
    stream: SuiteStream,
    *,
    batch_size: int = 32,
    resampling: Resampling = Resampling(),
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> StreamedBehavior:
    """Ask a classifier a suite part by part, and merge the counts: the pass rates of `measure_behavior`.

    Args:
        classifier: As in `measure_behavior`.
        stream: From `stream_suite`.
        batch_size: Maximum number of items per batch.
        resampling: Level of the intervals.
        progress: Whether to show progress bars, one per part.
        out: A folder for the answers of each part, from which a killed run resumes. None keeps nothing.
        fail_fast: As in `measure_behavior`.

    Returns:
        `StreamedBehavior`.

    Raises:
        ValueError: As `measure_behavior`.
    """
    check_asked(classifier, stream.outline)
    match = match_classes(stream.outline, classifier.label_names or (), classifier.name)
    counts, failures = PassCounts(), dict[str, str]()
    for place, (first, part) in enumerate(stream):
        answers = ask(
            classifier,
            part,
            match,
            first=first,
            batch_size=batch_size,
            resampling=resampling,
            progress=progress,
            out=None if out is None else Path(out) / f"part-{place:06d}",
            fail_fast=fail_fast,
        )
        counts.add(answers.table, answers.result.passed)
        failures |= answers.failures
    return StreamedBehavior(counts.result(confidence_level=resampling.level), match.matched, failures)
