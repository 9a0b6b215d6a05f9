"""Run the peers' scenarios against the library: `python benchmarks/peers`.

The scenarios follow the peers' own tests, in our words; the peers are called at the versions that are installed. The
exit status is 1 when a case differs without a reason.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from scenario import Case

PEERS = ("evaluate", "torchmetrics", "netcal", "relplot", "captum", "checklist")


def rows(peer: str) -> list[tuple[str, int, int, str]]:
    """Run a peer's scenarios; returns of each its name, the numbers of cases and of same ones, and reasons."""
    scenarios = importlib.import_module(f"with_{peer}")
    by_scenario: dict[str, list[Case]] = {}
    for case in scenarios.cases():
        by_scenario.setdefault(case.scenario, []).append(case)
    table = []
    for scenario, cases in by_scenario.items():
        different = [case for case in cases if not case.same]
        for case in different:
            if not case.reason:
                print(
                    f"{peer}, {scenario}, {case.name}: {case.ours} and {case.peer}", file=sys.stderr
                )
        reasons = sorted({case.reason or "NO REASON" for case in different})
        table.append((scenario, len(cases), len(cases) - len(different), "; ".join(reasons)))
    return table


def version(peer: str) -> str:
    """Return the installed version."""
    try:
        return importlib.metadata.version(peer)
    except importlib.metadata.PackageNotFoundError:
        return ""


def main() -> int:
    warnings.simplefilter("ignore")
    for variable in ("HF_HUB_DISABLE_PROGRESS_BARS", "TQDM_DISABLE"):
        os.environ.setdefault(variable, "1")
    unexplained = 0
    print(
        "| library | scenarios | cases | agree | why other cases differ |\n|---|---|---:|---:|---|"
    )
    for peer in PEERS:
        if importlib.util.find_spec(peer) is None:
            print(f"| {peer} | not installed | | | |")
            continue
        scenarios, cases, same, whys = zip(*rows(peer), strict=True)
        reasons = "; ".join(
            f"{scenario}: {why}" for scenario, why in zip(scenarios, whys, strict=True) if why
        )
        names = "; ".join(scenarios)
        print(
            f"| {peer} {version(peer)} | {names} | {sum(cases):,} | {sum(same):,} | {reasons} |",
            flush=True,
        )
        unexplained += "NO REASON" in reasons
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
