"""Counts of data beyond memory: each file by itself, on any engine, kept as it is finished, and merged at the end."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.analysis.calibration.errors import CalibrationBins
from rightreasons.analysis.cues.statistics import CueCounts
from rightreasons.analysis.shortcuts.lmi import LmiCounts
from rightreasons.data.opening.streams.batches import Stream, open_stream
from rightreasons.foundations.code_version import code_version
from rightreasons.foundations.engines.options import EngineOptions
from rightreasons.foundations.engines.tasks import run_tasks
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.storing.records import Records
from rightreasons.measuring.shortcuts import with_pairs
from rightreasons.models.loading import Classifier
from rightreasons.models.protocol import Scorer
from rightreasons.models.scoring.classes import predict

Plain = dict[str, Any]


@checks_kinds
def count_words(source: Any, *, count: str = "occurrence", **options: Any) -> LmiCounts:
    """Count the words of labeled texts by label, for `LmiCounts.result`; memory grows with the vocabulary alone.

    Args:
        source: As in `open_stream`.
        count: "occurrence" or "presence", as in `LmiCounts`.
        **options: Those of `open_stream`, and `engine`, `out` and `progress` of `count_parts`.

    Returns:
        The counts of all texts, the same as those of `LmiCounts.update` over all of them.

    Raises:
        TypeError: As `open_stream`.
        ValueError: As `open_stream`.

    Example:
        >>> import datasets
        >>> rows = datasets.Dataset.from_dict({"text": ["good film", "bad film"], "label": [1, 0]})
        >>> count_words(rows.to_iterable_dataset()).tokens[1]
        Counter({'good': 1, 'film': 1})
    """
    parts = count_parts(source, _count_words, {"count": count}, **options)
    merged = LmiCounts(count=count)
    for part in parts:
        merged.documents.update({int(label): number for label, number in part["documents"].items()})
        for label, tokens in part["tokens"].items():
            merged.tokens.setdefault(int(label), Counter()).update(tokens)
    return merged


@checks_kinds
def count_cues(source: Any, *, features: tuple[str, ...] = ("unigram",), **options: Any) -> CueCounts:
    """Count the cues of labeled multiple-choice items, for `CueCounts.result`.

    Args:
        source: As in `open_stream`.
        features: Families of cues, as in `cue_statistics`.
        **options: Those of `open_stream`, and `engine`, `out` and `progress` of `count_parts`.

    Returns:
        The counts of all items, the same as those of `CueCounts.update` over all of them.

    Raises:
        TypeError: As `open_stream`.
        ValueError: As `open_stream`.

    Example:
        >>> import datasets
        >>> item = {"prompt": ["Why?"], "choices": [["a true one", "a false one"]], "label": [0]}
        >>> counts = count_cues(datasets.Dataset.from_dict(item).to_iterable_dataset())
        >>> [(row.cue, row.productivity) for row in counts.result().cues]
        [('false', 0.0), ('true', 1.0)]
    """
    parts = count_parts(source, _count_cues, {"features": tuple(features)}, task="multiple_choice", **options)
    merged = CueCounts(features)
    for part in parts:
        merged.n_items += part["n_items"]
        for name in ("applicable", "correct"):
            for size, cues in part[name].items():
                getattr(merged, name).setdefault(int(size), Counter()).update(cues)
    return merged


@checks_kinds
def predict_stream(
    classifier: Classifier | Scorer, stream: Stream, *, out: str | os.PathLike[str] | None = None, **options: Any
) -> Iterator[Scores]:
    """Score a stream of texts batch by batch.

    Args:
        classifier: As in `predict`.
        stream: From `open_stream`.
        out: A folder for the scores of each batch; a killed run resumes. None keeps nothing.
        **options: Those of `predict`.

    Returns:
        An iterator over the scores of the batches, for `CalibrationBins.update` or a file of your own.

    Raises:
        ValueError: As `predict`.
    """
    for number, batch in enumerate(stream):
        yield predict(
            classifier,
            batch["text"][:],
            text_pairs=batch["text_pair"][:] if "text_pair" in batch.column_names else None,
            ids=batch["id"][:],
            labels=batch["label"][:] if "label" in batch.column_names else None,
            out=None if out is None else Path(out) / f"batch-{number:06d}",
            **options,
        )


@checks_kinds
def calibrate_stream(
    classifier: Classifier | Scorer, stream: Stream, *, bins: CalibrationBins | None = None, **options: Any
) -> CalibrationBins:
    """Fill the bins of a calibration error with the answers to a stream of labeled texts.

    Args:
        classifier: As in `predict`.
        stream: From `open_stream`.
        bins: Bins to fill; None for those of `CalibrationBins(scores="logits")`.
        **options: Those of `predict_stream`.

    Returns:
        The bins; their `result` is that of `calibration_error` over all items.

    Raises:
        ValueError: As `predict`, or if there are no labels.
    """
    filled = CalibrationBins(scores="logits") if bins is None else bins
    for scores in predict_stream(classifier, stream, **options):
        if scores.labels is None or (np.asarray(scores.labels) < 0).any():
            raise ValueError(f"Expected a label on every item of {stream.name}, but some have none.")
        filled.update(scores.logits, scores.labels)
    return filled


def count_parts(
    source: Any,
    count: Callable[[Stream, int, Plain], Plain],
    settings: Plain,
    *,
    engine: EngineOptions | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> list[Plain]:
    """Count each file of a source.

    Args:
        source: As in `open_stream`.
        count: Counts one part of a stream, with settings.
        settings: Its settings.
        engine: Where files are counted; None counts them here.
        out: A folder for the counts of each file; a killed run resumes. None keeps nothing.
        progress: Whether to show a progress bar.
        **options: Those of `open_stream`.

    Returns:
        The counts of each file, in their order.
    """
    stream = open_stream(source, **options)
    records = None
    if out is not None:
        files = [None if path is None else [path.name, *_state(path)] for path in stream.parts]
        about = {"settings": settings, "options": {key: repr(value) for key, value in options.items()}}
        code = code_version(f"{count.__module__}:{count.__name__}")
        records = Records(out, {"kind": count.__name__, "files": files, "code": code, **about})
    results: dict[int, Plain] = {}
    for place in range(len(stream.parts)):
        kept = records.read_json(f"part-{place:06d}.json") if records else None
        if kept is not None:
            results[place] = kept
    pending = [place for place in range(len(stream.parts)) if place not in results]
    task = functools.partial(_count_part, count, stream, settings)
    for number, counts in run_tasks(task, pending, options=engine, progress=progress, description="files"):
        results[pending[number]] = counts
        if records:
            records.write_json(f"part-{pending[number]:06d}.json", counts)
    return [results[place] for place in sorted(results)]


def _count_part(count: Callable[[Stream, int, Plain], Plain], stream: Stream, settings: Plain, place: int) -> Plain:
    return count(stream, place, settings)


def _state(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _count_words(stream: Stream, place: int, settings: Plain) -> Plain:
    counts = LmiCounts(**settings)
    for batch in stream.part(place):
        labels = np.array(batch["label"][:])
        pairs = batch["text_pair"][:] if "text_pair" in batch.column_names else None
        texts = with_pairs(batch["text"][:], pairs)
        rows = np.flatnonzero(labels >= 0)
        counts.update([texts[row] for row in rows.tolist()], labels[rows])
    return {"documents": dict(counts.documents), "tokens": {label: dict(of) for label, of in counts.tokens.items()}}


def _count_cues(stream: Stream, place: int, settings: Plain) -> Plain:
    counts = CueCounts(**settings)
    for batch in stream.part(place):
        labels = np.array(batch["label"][:])
        rows = np.flatnonzero(labels >= 0)
        labeled = batch.select(rows)
        counts.update(labeled["choices"][:], labels[rows], labeled["prompt"][:])
    plain = {name: {size: dict(of) for size, of in getattr(counts, name).items()} for name in ("applicable", "correct")}
    return {"n_items": counts.n_items, **plain}
