"""Code is plain, and what is not plain yet gets no denser.

`plain_code.json` lists the files that exceed a limit, with their figures. A file that is not listed
must be within all limits, and a listed one may not get worse. In a finished room one file in seven
may be listed, with one figure that is at most 30 % beyond its limit: where the subject asks for it.
"""

import json
import math

import pytest

from plain_code import BASELINE, find_excess, measure, measure_package

FINISHED_ROOMS = (
    "audited",
    "behavior",
    "calibration",
    "core",
    "cues",
    "datasets",
    "difficulty",
    "evaluate_module",
    "integrations",
    "io",
    "models",
    "models/replies",
    "models/servers",
    "page",
    "probes",
    "reasons",
    "repairs",
    "replicate",
    "report",
    "shortcuts",
    "training",
    "ways",
    "widget",
)
MAX_EXCESS_IN_FINISHED_ROOM = 1.3


def read_baseline():
    return json.loads(BASELINE.read_text("utf-8"))


def is_worse(name, value, earlier):
    """Return whether a figure got worse; there should be many comments, and little of the rest."""
    if name == "comments_per_100_lines":
        return value < earlier
    return value > earlier


def test_no_file_exceeds_a_limit_that_it_met():
    baseline = read_baseline()
    worse = {}
    for path, figures in measure_package().items():
        earlier = baseline.get(path, {})
        for name in find_excess(figures):
            if name not in earlier or is_worse(name, figures[name], earlier[name]):
                worse[f"{path}: {name}"] = figures[name]

    assert worse == {}


def test_no_listed_file_became_plain_or_is_gone():
    figures_by_file = measure_package()
    outdated = []
    for path in read_baseline():
        figures = figures_by_file.get(path)
        if figures is None or not find_excess(figures):
            outdated.append(path)

    assert outdated == [], "run `python tests/plain_code.py`"


@pytest.mark.parametrize("room", FINISHED_ROOMS)
def test_a_finished_room_has_few_exceptions(room):
    paths = [path for path in measure_package() if path.startswith(f"{room}/")]
    exceptions = {}
    for path, row in read_baseline().items():
        if path.startswith(f"{room}/"):
            exceptions[path] = row

    assert len(exceptions) <= math.ceil(len(paths) / 7)
    for path, row in exceptions.items():
        excess = find_excess(measure_package()[path])
        assert len(row) == 1, path
        # A result may have two fields that only their public names keep, such as `before`.
        if excess != {"vague_names": 3 / 2}:
            assert max(excess.values()) <= MAX_EXCESS_IN_FINISHED_ROOM, path


DENSE = """
def kept(where, told):
    held = [x if x else y for x, y in zip(where, told) if [z for z in x]]
    return {each: (a if a else b) for each in held for a, b in each} if held else None
"""


def test_a_dense_file_exceeds_the_limits():
    figures = measure(DENSE * 10)

    # Each copy has three lines of code, three comprehensions and three conditional expressions.
    assert figures["comprehensions_per_100_lines"] == pytest.approx(100)
    assert figures["conditional_expressions_per_100_lines"] == pytest.approx(100)
    # kept(), where, told, held, each: five vague names a copy.
    assert figures["vague_names"] == 50
    assert {"nodes_per_line", "comments_per_100_lines"} <= set(find_excess(figures))


def test_a_plain_file_is_within_the_limits():
    lines = [
        "# The sum of a number and one.",
        "def add_one(number):",
        "    total = number",
        "    total += 1",
        "    return total",
        "",
    ]

    assert find_excess(measure("\n".join(lines * 10))) == {}
