"""Tables and figures of the finished runs: G scores, tests against IID, degenerate models, the heat map."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.behavior.learning.collect import collect_scores
from rightreasons.behavior.learning.options import PARTITIONS
from rightreasons.behavior.learning.plan import Plan
from rightreasons.behavior.plots import behavior_heat_map
from rightreasons.core.bootstrap import make_quantile_interval
from rightreasons.core.intervals import Interval

ROUNDING = 1e-9
"""G scores that differ by less are equal."""

SHORT = {"seen": "seen", "functionality": "func", "class": "class", "type": "type"}


def write_report(plans: Mapping[str, Plan], out: Path) -> None:
    """Write results.json, RESULTS.md and a figure for each task."""
    results: dict[str, Any] = {}
    lines = ["# Results", "", "Written by `run.py --report` from the runs in `stored/`.", ""]
    for name, plan in plans.items():
        found = one_task(plan)
        results[name] = found
        lines += _task_lines(name, plan, found)
        draw(name, plan, found, out / "figures")
    if len(plans) > 1:
        lines += _average_lines(results)
    out.joinpath("RESULTS.md").write_text("\n".join(lines).rstrip() + "\n", "utf-8")
    out.joinpath("results.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def one_task(plan: Plan) -> dict[str, Any]:
    """Collect the scores of a task, with their tests against IID."""
    collected = collect_scores(plan)
    rows = [row.to_dict() for row in collected.rows]
    return {
        "n_runs": collected.n_runs,
        "hours": sum(run["seconds"] for run in plan.results()) / 3600,
        "functionalities": list(collected.functionalities),
        "n_functionalities": collected.n_functionalities,
        "rows": rows,
        "steps": steps(rows),
        "degenerate": collected.degenerate,
    }


def over_rows(values: NDArray[np.float64]) -> Interval:
    """Return the percentile bootstrap interval of a mean over rows."""
    n = len(values)
    drawn = np.random.default_rng([0, 1]).multinomial(n, np.full(n, 1 / n), size=1000)
    return make_quantile_interval(drawn @ np.sort(values) / n, 0.95)


def steps(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Compare G of each setting with that of the next, harder one, paired over the rows that have all settings."""
    complete = [
        row["scores"] for row in rows if all(setting in row["scores"] for setting in PARTITIONS)
    ]
    compared = {}
    for easier, harder in itertools.pairwise(PARTITIONS):
        differences = np.array([scores[easier] - scores[harder] for scores in complete])
        falls, rises = int((differences > ROUNDING).sum()), int((differences < -ROUNDING).sum())
        interval = over_rows(differences)
        compared[f"{SHORT[easier]} - {SHORT[harder]}"] = {
            "n_rows": len(complete),
            "mean": float(differences.mean()),
            "low": interval.low,
            "high": interval.high,
            "falls": falls,
            "rises": rises,
            "sign_test": float(stats.binomtest(falls, falls + rises).pvalue)
            if falls + rises
            else 1.0,
        }
    return compared


def draw(name: str, plan: Plan, found: Mapping[str, Any], folder: Path) -> None:
    """Draw Figure 1: for each configuration and method the pass rate of each functionality when it was held out."""
    columns = [tuple(column) for column in plan.settings["functionalities"]]
    rows = {}
    for row in found["rows"]:
        setting = "standard" if row["configuration"] == "IID" else "functionality"
        if setting in row["pass_rates"]:
            rows[label(row)] = row["pass_rates"][setting]
    folder.mkdir(exist_ok=True)
    drawing = behavior_heat_map(name, rows=rows, functionalities=columns)
    (folder / f"{name}.png").write_bytes(drawing.png)


def label(row: Mapping[str, Any]) -> str:
    """Name a row."""
    return "IID" if row["configuration"] == "IID" else f"{row['configuration']} {row['method']}"


def _task_lines(name: str, plan: Plan, found: Mapping[str, Any]) -> list[str]:
    scale = plan.settings["scale"]
    lines = [
        f"## {name}: {scale['suite']} and {scale['data']}",
        "",
        f"{found['n_runs']:,} runs, {found['hours']:.1f} hours, one core each. In percent; * is p < 0.05 against IID:",
        (
            "McNemar's test of accuracy, approximate randomization of the printed difference of G. "
            f"s: mean pass rate over the {len(found['functionalities'])} of {found['n_functionalities']} "
            "functionalities that are defined in every row; G: its harmonic mean with the accuracy of the model "
            "trained on the whole suite; Avg: mean of the four G's."
        ),
        "",
        "| configuration | method | accuracy |"
        + "".join(f" {score} {SHORT[each]} |" for score in "sG" for each in PARTITIONS)
        + " Avg |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        p = row["p_values"]
        if row["configuration"] == "IID":
            s, g = (row[key]["standard"] for key in ("suite_scores", "scores"))
            iid = _percent(row["iid_score"])
            lines.append(
                f"| IID | vanilla | {iid} |" + f" {_percent(s)} |" * 4 + f" {_percent(g)} |" * 5
            )
            continue
        cells = [row["configuration"], row["method"], _percent(row["iid_score"], p.get("iid"))]
        cells += [_percent(row["suite_scores"].get(setting)) for setting in PARTITIONS]
        cells += [_percent(row["scores"].get(setting), p.get(setting)) for setting in PARTITIONS]
        cells.append(_percent(row["average"]))
        lines.append("| " + " | ".join(cells) + " |")
    means = _means(found)
    lines += [
        "",
        "Means over all configurations and methods that were run in all settings: "
        + ", ".join(f"G {SHORT[setting]} {_percent(value)}" for setting, value in means.items())
        + f"; IID itself {_percent(found['rows'][0]['scores']['standard'])}.",
        "",
        *_step_lines(found),
        "",
        f"![Pass rates of {name}](figures/{name}.png)",
        "",
        "Each cell: the pass rate of a functionality by the model that was trained on all others.",
        "",
        (
            "Runs trained on the whole suite, or without one test type, that call the independent items one class in "
            "over 90 % (or under 10 %) of the cases (results.json has all):"
        ),
        "",
    ]
    strange = [run for run in found["degenerate"] if run["partition"] in ("seen", "type")]
    if not strange:
        return [*lines, "none.", ""]
    lines += [
        "| run | held out | called class 0 | accuracy | mean confidence where asked | pass rate of what was held out |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    for row in strange:
        values = [
            row[key] for key in ("called_class_0", "iid_accuracy", "mean_confidence", "pass_rate")
        ]
        lines.append(
            f"| {label(row)} | {row['held'] or '(nothing)'} | "
            + " | ".join(map(_percent, values))
            + " |"
        )
    return [*lines, ""]


def _complete(found: Mapping[str, Any]) -> list[dict[str, float]]:
    return [
        row["scores"]
        for row in found["rows"]
        if all(setting in row["scores"] for setting in PARTITIONS)
    ]


def _step_lines(found: Mapping[str, Any]) -> list[str]:
    """Say how far G falls from one setting to the next, harder one."""
    lines = [
        "Steps, in points of G, paired over the rows that have all settings (bootstrap over rows, exact sign test):",
        "",
        "| step | rows | mean | falls | rises | p |",
        "|---|---|---|---|---|---|",
    ]
    for name, step in found["steps"].items():
        mean, low, high = (f"{100 * step[key]:+.1f}" for key in ("mean", "low", "high"))
        counts = f"{step['n_rows']} | {mean} [{low}, {high}] | {step['falls']} | {step['rises']}"
        lines.append(f"| {name} | {counts} | {step['sign_test']:.3f} |")
    return lines


def _means(found: Mapping[str, Any]) -> dict[str, float]:
    """Average G over the rows that have all settings, so that the settings can be compared."""
    rows = _complete(found)
    return (
        {setting: float(np.mean([scores[setting] for scores in rows])) for setting in PARTITIONS}
        if rows
        else {}
    )


def _average_lines(results: Mapping[str, Any]) -> list[str]:
    lines = [
        "## All tasks",
        "",
        "Mean G over the configurations and methods that were run in all settings.",
        "",
        "| task | seen | func | class | type |",
        "|---|---|---|---|---|",
    ]
    for name, found in results.items():
        means = _means(found)
        lines.append(
            f"| {name} | "
            + " | ".join(_percent(means.get(setting)) for setting in PARTITIONS)
            + " |"
        )
    return [*lines, ""]


def _percent(value: float | None, p_value: float | None = None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + ("*" if p_value is not None and p_value < 0.05 else "")
