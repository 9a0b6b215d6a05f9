"""Results that the hub shows next to a model, for the data sets that it lists as benchmarks."""

from __future__ import annotations

import os
from pathlib import Path

from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.store import check_file, write_bytes
from rightreasons.report.figures import audit_figures
from rightreasons.report.schema import read_audit


def write_eval_results(
    report: str | os.PathLike[str], to: str | os.PathLike[str], *, benchmark: str, figure: str
) -> Path:
    """Write one figure of a report in the format of benchmark results on the model pages of the hub.

    Args:
        report: The folder of a report, or its audit.json.
        to: The file, such as .eval_results/reasons.yaml in the folder of the model.
        benchmark: The data set that the hub lists as a benchmark, and its task: "org/data:task".
        figure: Path of the figure, such as "reasons.silent_sway".

    Returns:
        The file. A result has one number; the interval and the number of items are in its notes.

    Raises:
        ValueError: If the benchmark has no task, or the audit has no such figure.
        FileNotFoundError: If there is no report.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    dataset, _, task = benchmark.partition(":")
    if not dataset or not task:
        raise OptionError(
            f"Expected `benchmark` as org/data:task, but got {benchmark!r}.", option="benchmark"
        )
    audit = read_audit(report)
    figures = {}
    for path, candidate in audit_figures(audit).items():
        # An undefined figure is no result.
        if candidate.estimate.value is not None:
            figures[path] = candidate
    if figure not in figures:
        raise make_unknown_name_error("figure", figure, figures)
    result = figures[figure]
    entry = EvalResultEntry(
        dataset_id=dataset,
        task_id=task,
        value=result.estimate.value,
        date=audit["created"][:10],
        # The hub has no fields for an interval.
        notes=f"{result.name}: {result.in_words}; rightreasons {audit['rightreasons']}",
    )
    content = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False)
    return write_bytes(check_file(to, "to"), content.encode("utf-8"))
