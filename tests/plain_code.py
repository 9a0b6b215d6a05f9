"""Measures of how plainly a file of Python is written: density, comments, names and sizes.

Each limit is one that 84 to 100 % of the files of torchmetrics, cleanlab, captum and scikit-learn
meet. `measure` gives the figures of a file, `find_excess` those that are beyond their limits.
`python tests/plain_code.py` writes the figures of the files that are not yet plain.
"""

import ast
import functools
import io
import json
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rightreasons"
BASELINE = Path(__file__).with_name("plain_code.json")

MAX_FIGURES = {
    "nodes_per_line": 6.5,
    "comprehensions_per_100_lines": 4.0,
    "conditional_expressions_per_100_lines": 2.5,
    "long_lines_per_100_lines": 5.0,
    "vague_names": 1,
    "long_functions": 1,
    "wide_functions": 1,
}
MIN_COMMENTS_PER_100_LINES = 5.0
MAX_LINE_LENGTH = 100
MAX_FUNCTION_LINES = 50
MAX_PARAMETERS = 7
MIN_FILE_LINES = 20
"""Files with fewer lines of code are too short for rates."""

# Grammar words and bare participles, which say nothing about what a variable holds.
VAGUE_NAMES = frozenset(
    """able about after again alike alone among apart around asked aside away before beside between
    beyond both but by chosen counted cut done drawn each earlier else enough ever every everything
    few first found free from given gone had has heard held here how its just kept known lacking
    last least left less like listed lost made many met more most much named needed new none not odd
    of off old on once one only other others over own part place put read right said same seen
    several shown single some spent still such taken tells that them then there these this told too
    took under until upon wanted what when where whether which who whole whose why with within
    without wrong written""".split()
)
# Idiomatic names of parameters and functions; variables inside functions may not take them.
IDIOMATIC_NAMES = frozenset(
    "left right last first one part place to on read free like after before".split()
)
VAGUE_ENDINGS = frozenset(
    "of on by at to for in with from told met held apart beside among".split()
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def list_code_lines(tree, lines):
    """Return the numbers of the lines that are neither blank, nor a comment, nor a docstring."""
    docstrings = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant):
                docstrings.update(range(statement.lineno, statement.end_lineno + 1))
    numbers = set()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#") and number not in docstrings:
            numbers.add(number)
    return numbers


def is_vague_function(name):
    """Return whether a function is named by a vague word, or ends in a preposition."""
    words = name.strip("_").split("_")
    if len(words) == 1:
        return words[0] in VAGUE_NAMES - IDIOMATIC_NAMES
    return words[-1] in VAGUE_ENDINGS and words[0] not in ("from", "is", "has")


def count_vague_names(tree):
    """Count the variables, parameters and functions that a file names vaguely."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            count += node.id.strip("_") in VAGUE_NAMES
        elif isinstance(node, ast.arg):
            count += node.arg.strip("_") in VAGUE_NAMES - IDIOMATIC_NAMES
        elif isinstance(node, FUNCTIONS):
            count += is_vague_function(node.name)
    return count


def count_comments(source):
    """Count comments, without directives for tools and without dividing lines."""
    count = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            count += not re.match(r"#\s*(-{4}|type:|noqa)", token.string)
    return count


def measure(source):
    """Return the figures of a file, or None if it is too short for rates."""
    tree = ast.parse(source)
    lines = source.splitlines()
    code_lines = list_code_lines(tree, lines)
    if len(code_lines) < MIN_FILE_LINES:
        return None
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    long_functions = 0
    wide_functions = 0
    for function in functions:
        body = code_lines.intersection(range(function.lineno, function.end_lineno + 1))
        arguments = function.args
        parameters = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        long_functions += len(body) > MAX_FUNCTION_LINES
        wide_functions += len(parameters) > MAX_PARAMETERS
    per_100_lines = 100 / len(code_lines)
    # The context of a name (read or written) is a node of Python's tree, but nothing to read.
    n_nodes = sum(not isinstance(node, (ast.Load, ast.Store)) for node in nodes)
    n_comprehensions = sum(isinstance(node, COMPREHENSIONS) for node in nodes)
    n_conditionals = sum(isinstance(node, ast.IfExp) for node in nodes)
    n_long = sum(len(lines[number - 1]) > MAX_LINE_LENGTH for number in code_lines)
    return {
        "nodes_per_line": round(n_nodes / len(code_lines), 2),
        "comprehensions_per_100_lines": round(n_comprehensions * per_100_lines, 1),
        "conditional_expressions_per_100_lines": round(n_conditionals * per_100_lines, 1),
        "long_lines_per_100_lines": round(n_long * per_100_lines, 1),
        "vague_names": count_vague_names(tree),
        "long_functions": long_functions,
        "wide_functions": wide_functions,
        "comments_per_100_lines": round(count_comments(source) * per_100_lines, 1),
    }


def find_excess(figures):
    """Return the figures that are beyond their limits, each with the ratio to its limit."""
    excess = {}
    for name, limit in MAX_FIGURES.items():
        if figures[name] > limit:
            excess[name] = (figures[name] + 1) / (limit + 1)
    comments = figures["comments_per_100_lines"]
    if comments < MIN_COMMENTS_PER_100_LINES:
        excess["comments_per_100_lines"] = (MIN_COMMENTS_PER_100_LINES + 1) / (comments + 1)
    return excess


@functools.cache
def measure_package():
    """Return the figures of each file of the package that is long enough for rates, by its path."""
    figures_by_file = {}
    for path in sorted(SOURCE.rglob("*.py")):
        figures = measure(path.read_text("utf-8"))
        if figures is not None:
            figures_by_file[path.relative_to(SOURCE).as_posix()] = figures
    return figures_by_file


def write_baseline():
    """Write the figures of the files that exceed a limit."""
    baseline = {}
    for name, figures in measure_package().items():
        if find_excess(figures):
            baseline[name] = {key: figures[key] for key in find_excess(figures)}
    rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in baseline.items()]
    BASELINE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


if __name__ == "__main__":
    write_baseline()
