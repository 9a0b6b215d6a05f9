"""The figures of an audit as other collections keep them: Every Eval Ever's records, and results of hub benchmarks."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightreasons.core.errors import OptionError, unknown_name
from rightreasons.core.store import check_file, write_bytes, write_json
from rightreasons.report.files import AuditFigure, audit_figures
from rightreasons.report.schema import read_audit


def every_eval_ever(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return an audit as a record of Every Eval Ever (schema 0.3.0), with intervals and numbers of items.

    Args:
        audit: What `read_audit` returns.

    Returns:
        The record: one result per figure that is defined. Who made the model and who asks is not in an audit: the
        organization is "unknown" and the relationship "other", until the one who sends it says so.
    """
    made = datetime.datetime.fromisoformat(audit["created"])
    model, server = audit["model"]["name"], audit["model"]["server"]
    stamp = str(int(made.timestamp()))
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"rightreasons/{model}/{stamp}",
        "evaluation_timestamp": stamp,
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "rightreasons", "version": audit["rightreasons"]},
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {
                "deployment_type": "self_deployed" if server is None else "unknown",
                "model_availability": "unknown",
                "fingerprint": audit["model"]["fingerprint"],
            },
        },
        "evaluation_results": [
            _result(figure, audit) for figure in audit_figures(audit).values() if figure.estimate.value is not None
        ],
    }


def write_every_eval_ever(report: str | os.PathLike[str], to: str | os.PathLike[str]) -> Path:
    """Write a report as a record of Every Eval Ever; see `every_eval_ever`.

    Args:
        report: The folder of a report, or its audit.json.
        to: The file, such as record.json.

    Returns:
        The file.

    Raises:
        FileNotFoundError: If there is no report.
    """
    return write_json(check_file(to, "to"), every_eval_ever(read_audit(report)))


def write_eval_results(
    report: str | os.PathLike[str], to: str | os.PathLike[str], *, benchmark: str, figure: str
) -> Path:
    """Write one figure of a report as the hub shows results of its benchmarks beside a model.

    Args:
        report: The folder of a report, or its audit.json.
        to: The file, such as .eval_results/reasons.yaml in the folder of the model.
        benchmark: The data set that the hub lists as a benchmark, and its task: "org/data:task".
        figure: The path of the figure, such as "reasons.silent_sway".

    Returns:
        The file. A result has one number; the interval and the number of items are in its notes.

    Raises:
        ValueError: If the benchmark has no task, or the audit has no such figure.
        FileNotFoundError: If there is no report.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    data, _, task = benchmark.partition(":")
    if not data or not task:
        raise OptionError(f"Expected `benchmark` as org/data:task, but got {benchmark!r}.", option="benchmark")
    audit = read_audit(report)
    figures = {path: each for path, each in audit_figures(audit).items() if each.estimate.value is not None}
    if figure not in figures:
        raise unknown_name("figure", figure, figures)
    found = figures[figure]
    entry = EvalResultEntry(
        dataset_id=data,
        task_id=task,
        value=found.estimate.value,
        date=audit["created"][:10],
        notes=f"{found.name}: {found.in_words}; rightreasons {audit['rightreasons']}",
    )
    return write_bytes(
        check_file(to, "to"), yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False).encode("utf-8")
    )


def _result(figure: AuditFigure, audit: Mapping[str, Any]) -> dict[str, Any]:
    estimate = figure.estimate
    ends = [end for end in (estimate.value, estimate.low) if end is not None]
    least = (-1.0 if figure.unit == "fraction" else "-Infinity") if min(ends) < 0 else 0.0
    uncertainty: dict[str, Any] = {} if figure.n is None else {"num_samples": figure.n}
    if estimate.low is not None and estimate.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": estimate.level,
            "method": estimate.method,
        }
    return {
        "evaluation_name": figure.path,
        "source_data": {
            "dataset_name": audit["dataset"]["name"],
            "source_type": "other",
            "additional_details": {"split": figure.split or audit["dataset"]["primary"]},
        },
        "metric_config": {
            "metric_id": f"rightreasons.{figure.path}",
            "metric_name": figure.name,
            "metric_unit": "proportion" if figure.unit == "fraction" else figure.unit,
            "lower_is_better": figure.better == "lower",
            "score_type": "continuous",
            "min_score": least,
            "max_score": 1.0 if figure.unit == "fraction" else "Infinity",
            "additional_details": {"better": figure.better or "neither"},
        },
        "score_details": {"score": estimate.value} | ({"uncertainty": uncertainty} if uncertainty else {}),
    }
