"""Tables and figures of the finished runs: G scores, tests against IID, degenerate models, the heat map."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rightreasons.analysis.behavior.generalization import compare_generalization
from rightreasons.analysis.intervals import mcnemar
from rightreasons.auditing.questions.behavior.plots import pass_rate_heat_map
from rightreasons.training.behavior.options import PARTITIONS
from rightreasons.training.behavior.plan import Plan, PlanScores, collect_scores

SHUFFLE_SEED = 42  # as in the published analysis
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
    """Collect the scores of a task, and compare every row with the model of independent data alone."""
    collected = collect_scores(plan)
    runs = plan.results()
    places = case_places(plan)
    baseline = next(run for run in runs if run["configuration"] == "IID")
    rows = []
    for row in collected.rows:
        compared = {} if row.configuration == "IID" else comparisons(row, runs, baseline, places)
        rows.append({**row.to_dict(), "p_values": compared})
    return {
        "n_runs": collected.n_runs,
        "hours": sum(run["seconds"] for run in runs) / 3600,
        "rows": rows,
        "degenerate": degenerate(runs),
    }


def case_places(plan: Plan) -> dict[str, slice]:
    """Return the positions of each functionality's test cases in the letters of `passed`, in the suite's order."""
    names = [name for name, _, _ in plan.settings["functionalities"]]
    counts = plan.settings["n_cases"]
    ends = np.cumsum(counts)
    return {name: slice(end - n, end) for name, n, end in zip(names, counts, ends.tolist(), strict=True)}


def comparisons(
    row: PlanScores, runs: list[dict[str, Any]], baseline: dict[str, Any], places: Mapping[str, slice]
) -> dict[str, float]:
    """Test a row against IID: McNemar's test of accuracy, and approximate randomization of G in each setting.

    Each functionality's cases are those of the run that was kept from it. Several runs have an i.i.d. score in a
    held-out setting; the outcome of an item is its mean over them, so the test takes the item's majority.
    """
    compared: dict[str, float] = {}
    for setting in PARTITIONS:
        members = [
            run
            for run in runs
            if (run["configuration"], run["method"], run["seed"]) == (row.configuration, row.method, row.seed)
            and run["partition"] == setting
        ]
        if not members or setting not in row.pass_rates:
            continue
        iid = np.stack([outcomes(run["iid_right"]) for run in members]).mean(axis=0) >= 0.5
        if setting == "seen":
            compared["iid"] = mcnemar(outcomes(baseline["iid_right"]) == 1, iid).p_value
        suites = []
        for name, place in places.items():
            run = next(run for run in members if setting == "seen" or name in run["held_out"])
            first, second = outcomes(run["passed"][place]), outcomes(baseline["passed"][place])
            if not (np.isnan(first).all() or np.isnan(second).all()):
                suites.append((first, second))
        both = (iid.astype(float), outcomes(baseline["iid_right"]))
        compared[setting] = compare_generalization(both, suites, seed=SHUFFLE_SEED).p_value
    return compared


def outcomes(letters: str) -> NDArray[np.float64]:
    """Read outcomes: 1, 0, and - for undefined."""
    return np.array([np.nan if letter == "-" else float(letter) for letter in letters])


def degenerate(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Look for models that give one answer: the share of independent items called class 0, run by run.

    The paper finds one in the setting "type", trained on INV and DIR tests alone (its section 5.5).
    """
    found = []
    for run in runs:
        if run["partition"] in ("seen", "type"):
            of_held = [run["pass_rates"][name] for name in run["held_out"] or run["pass_rates"]]
            found.append(
                {
                    "configuration": run["configuration"],
                    "method": run["method"],
                    "held": run["held"],
                    "called_class_0": run.get("iid_predicted_negative"),
                    "iid_accuracy": run["iid_accuracy"],
                    "mean_confidence": run["mean_confidence"],
                    "pass_rate_of_held": float(np.mean([rate for rate in of_held if rate is not None])),
                }
            )
    return found


def draw(name: str, plan: Plan, found: Mapping[str, Any], folder: Path) -> None:
    """Draw Figure 1: for each configuration and method the pass rate of each functionality when it was held out."""
    columns = [tuple(column) for column in plan.settings["functionalities"]]
    rows = {}
    for row in found["rows"]:
        setting = "standard" if row["configuration"] == "IID" else "functionality"
        if setting in row["pass_rates"]:
            rows[label(row)] = row["pass_rates"][setting]
    folder.mkdir(exist_ok=True)
    drawn = io.BytesIO()
    pass_rate_heat_map(rows, columns).savefig(drawn, dpi=100)
    # 64 colors are enough for this picture, and a third of the bytes.
    Image.open(drawn).convert("RGB").quantize(64).save(folder / f"{name}.png", optimize=True)


def label(row: Mapping[str, Any]) -> str:
    """Name a row."""
    return "IID" if row["configuration"] == "IID" else f"{row['configuration']} {row['method']}"


def _task_lines(name: str, plan: Plan, found: Mapping[str, Any]) -> list[str]:
    scale = plan.settings["scale"]
    lines = [
        f"## {name}: {scale['suite']} and {scale['data']}",
        "",
        f"{found['n_runs']:,} runs, {found['hours']:.1f} hours, one core each. In percent; * is p < 0.05 against IID:",
        "McNemar's test of accuracy, approximate randomization of G. s: mean pass rate; G: its mean with accuracy.",
        "",
        "| configuration | method | accuracy |"
        + "".join(f" {score} {SHORT[each]} |" for score in "sG" for each in PARTITIONS),
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        p = row["p_values"]
        if row["configuration"] == "IID":
            iid, s, g = (row[key]["standard"] for key in ("iid_score", "suite_scores", "scores"))
            lines.append(f"| IID | vanilla | {_percent(iid)} |" + f" {_percent(s)} |" * 4 + f" {_percent(g)} |" * 4)
            continue
        cells = [row["configuration"], row["method"], _percent(row["iid_score"]["seen"], p.get("iid"))]
        cells += [_percent(row["suite_scores"].get(setting)) for setting in PARTITIONS]
        cells += [_percent(row["scores"].get(setting), p.get(setting)) for setting in PARTITIONS]
        lines.append("| " + " | ".join(cells) + " |")
    means = _means(found)
    lines += [
        "",
        "Means over all configurations and methods that were run in all settings: "
        + ", ".join(f"G {SHORT[setting]} {_percent(value)}" for setting, value in means.items())
        + f"; IID itself {_percent(found['rows'][0]['scores']['standard'])}.",
        "",
        _order_line(found),
        "",
        f"![Pass rates of {name}](figures/{name}.png)",
        "",
        "Each cell: the pass rate of a functionality by the model that was trained on all others.",
        "",
        "Runs that call the independent items one class in over 90 % (or under 10 %) of the cases:",
        "",
    ]
    if found["degenerate"][0]["called_class_0"] is None:
        return lines[:-2]  # answers are spans, not classes
    strange = [row for row in found["degenerate"] if not 0.1 <= row["called_class_0"] <= 0.9]
    if not strange:
        return [*lines, "none.", ""]
    lines += [
        "| run | held out | called class 0 | accuracy | mean confidence on the suite | pass rate of what was held out |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    for row in strange:
        values = [row[key] for key in ("called_class_0", "iid_accuracy", "mean_confidence", "pass_rate_of_held")]
        lines.append(f"| {label(row)} | {row['held'] or '(nothing)'} | " + " | ".join(map(_percent, values)) + " |")
    return [*lines, ""]


def _complete(found: Mapping[str, Any]) -> list[dict[str, float]]:
    return [row["scores"] for row in found["rows"] if all(setting in row["scores"] for setting in PARTITIONS)]


def _order_line(found: Mapping[str, Any]) -> str:
    """Say in how many rows G falls and rises from one setting to the next, harder one."""
    rows = _complete(found)
    said = []
    for easier, harder in itertools.pairwise(PARTITIONS):
        falls, rises = (sum(sign * (row[easier] - row[harder]) > 0 for row in rows) for sign in (1, -1))
        said.append(f"{SHORT[easier]} to {SHORT[harder]} {falls} and {rises}")
    return f"Of {len(rows)} such rows, G falls and rises in: {', '.join(said)}."


def _means(found: Mapping[str, Any]) -> dict[str, float]:
    """Average G over the rows that have all settings, so that the settings can be compared."""
    rows = _complete(found)
    return {setting: float(np.mean([scores[setting] for scores in rows])) for setting in PARTITIONS} if rows else {}


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
        lines.append(f"| {name} | " + " | ".join(_percent(means.get(setting)) for setting in PARTITIONS) + " |")
    return [*lines, ""]


def _percent(value: float | None, p_value: float | None = None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + ("*" if p_value is not None and p_value < 0.05 else "")
