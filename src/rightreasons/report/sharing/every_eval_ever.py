"""Records of Every Eval Ever, a collection of results of evaluations."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightreasons.core.store import check_file, write_json
from rightreasons.report.figures import AuditFigure, audit_figures
from rightreasons.report.schema import get_names, read_audit

SCHEMA = "0.3.0"
"""Version of their schema."""


def write_every_eval_ever(report: str | os.PathLike[str], to: str | os.PathLike[str]) -> Path:
    """Write a report as a record of Every Eval Ever, with intervals and numbers of items.

    The record has one result per defined figure. An audit does not know who made or evaluated the
    model: the organization is "unknown" and the relationship "other", for the user to replace.

    Args:
        report: The folder of a report, or its audit.json.
        to: The file, such as record.json.

    Returns:
        The file.

    Raises:
        FileNotFoundError: If there is no report.
    """
    audit = read_audit(report)
    model_name, data_name = get_names(audit)
    created = datetime.datetime.fromisoformat(audit["created"])
    timestamp = str(int(created.timestamp()))
    results = []
    for figure in audit_figures(audit).values():
        # An undefined figure is no result.
        if figure.estimate.value is not None:
            split = figure.split or audit["dataset"]["primary"]
            results.append(_make_result(figure, data_name, split))
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"rightreasons/{model_name}/{timestamp}",
        "evaluation_timestamp": timestamp,
        "retrieved_timestamp": timestamp,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "rightreasons", "version": audit["rightreasons"]},
        "model_info": _describe_model(model_name, audit["model"]),
        "evaluation_results": results,
    }
    return write_json(check_file(to, "to"), record)


def _describe_model(name: str, model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a model in the schema of Every Eval Ever.

    Args:
        name: Name of the model.
        model: Its description in audit.json.
    """
    deployment = "self_deployed"
    # It is not recorded who runs the server of a model.
    if model["server"] is not None:
        deployment = "unknown"
    return {
        "name": name,
        "id": name,
        "additional_details": {
            "deployment_type": deployment,
            "model_availability": "unknown",
            "fingerprint": model["fingerprint"],
        },
    }


def _make_result(figure: AuditFigure, data_name: str, split: str) -> dict[str, Any]:
    """Return a figure as a result in the schema of Every Eval Ever.

    Args:
        figure: The figure, which has a value.
        data_name: Name of the data.
        split: Name of the split.
    """
    details: dict[str, Any] = {"score": figure.estimate.value}
    uncertainty = _describe_uncertainty(figure)
    # The schema allows no empty record of an uncertainty.
    if uncertainty:
        details["uncertainty"] = uncertainty
    return {
        "evaluation_name": figure.path,
        "source_data": {
            "dataset_name": data_name,
            "source_type": "other",
            "additional_details": {"split": split},
        },
        "metric_config": _describe_metric(figure),
        "score_details": details,
    }


def _describe_metric(figure: AuditFigure) -> dict[str, Any]:
    """Return the unit and the range of a figure in the schema of Every Eval Ever.

    A share is a "proportion" from 0 to 1, and other units are unbounded above. A difference, which
    may be negative, ranges from -1 to 1 for shares, and is unbounded below for other units.

    Args:
        figure: The figure, with its unit and its interval.
    """
    # Only a difference has a negative value, or an interval that begins below 0.
    ends = (figure.estimate.value, figure.estimate.low)
    is_negative = any(end is not None and end < 0 for end in ends)
    lowest: float | str = 0.0
    highest: float | str = "Infinity"
    unit = figure.unit
    if unit == "fraction":
        unit = "proportion"
        highest = 1.0
        if is_negative:
            lowest = -1.0
    elif is_negative:
        lowest = "-Infinity"
    return {
        "metric_id": f"rightreasons.{figure.path}",
        "metric_name": figure.name,
        "metric_unit": unit,
        "lower_is_better": figure.better == "lower",
        "score_type": "continuous",
        "min_score": lowest,
        "max_score": highest,
        "additional_details": {"better": figure.better or "neither"},
    }


def _describe_uncertainty(figure: AuditFigure) -> dict[str, Any]:
    """Return the number of items and the interval of a figure, without unknown values.

    Args:
        figure: The figure.

    Returns:
        "num_samples" and "confidence_interval", in the schema of Every Eval Ever; empty if neither
        is known.
    """
    estimate = figure.estimate
    uncertainty: dict[str, Any] = {}
    if figure.n is not None:
        uncertainty["num_samples"] = figure.n
    # Some figures have no interval.
    if estimate.low is not None and estimate.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": estimate.level,
            "method": estimate.method,
        }
    return uncertainty
