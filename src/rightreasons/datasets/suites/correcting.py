"""Applies known issues to a behavioral suite: labels, expectations, versions and cases.

The entries of a table (`datasets.issues.table`) name a functionality as `test`. A rule of
`SUITE_RULES` finds the cases, and the entry says whether they are relabeled or left out. A version is
an example after the first, which is the original.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.sentences import pluralize
from rightreasons.datasets.issues.correcting import IssueCount
from rightreasons.datasets.issues.rules import compile_pattern, split_rule
from rightreasons.datasets.issues.table import OPTION, Issue
from rightreasons.datasets.suites.cases import Case, Functionality

Cases = Sequence[Case]

ACTION_PHRASES = {
    "relabel": "with a corrected label",
    "drop": "left out, whole or in part",
    "note": "noted, most of them as repetitions",
}
"""Action of an entry -> what a report says about its cases."""


# ------------------------------------------------------------------------------------------- rules


def find_all_cases(cases: Cases) -> list[int]:
    """Return all cases."""
    return list(range(len(cases)))


def find_label(cases: Cases, *, label: int) -> list[int]:
    """Return the cases in which an example has a label."""
    rows = []
    for row, case in enumerate(cases):
        if label in (case.labels or ()):
            rows.append(row)
    return rows


def find_unchanged_versions(cases: Cases) -> list[int]:
    """Return the cases in which a version has the texts of the original."""
    rows = []
    for row, case in enumerate(cases):
        # A pair of questions is unchanged only if both of its texts are.
        if case.examples[0] in case.examples[1:]:
            rows.append(row)
    return rows


def find_equal_versions(cases: Cases) -> list[int]:
    """Return the cases in which no version differs from the original, so that none can fail."""
    rows = []
    for row, case in enumerate(cases):
        # A case of one example has no version that could be equal.
        if len(case.examples) > 1 and len(set(case.examples)) == 1:
            rows.append(row)
    return rows


def find_repeated_cases(cases: Cases) -> list[int]:
    """Return the cases whose texts are those of an earlier case."""
    known = set()
    rows = []
    for row, case in enumerate(cases):
        if case.examples in known:
            rows.append(row)
        known.add(case.examples)
    return rows


def find_case_matches(cases: Cases, *, pattern: str, ignore_case: bool = False) -> list[int]:
    """Return the cases with a regular expression in a text of an example."""
    expression = compile_pattern(pattern, ignore_case)
    rows = []
    for row, case in enumerate(cases):
        # One match in any version is enough, as the versions share their template.
        texts = itertools.chain.from_iterable(case.examples)
        if any(map(expression.search, texts)):
            rows.append(row)
    return rows


def find_case_mismatches(cases: Cases, *, pattern: str, ignore_case: bool = False) -> list[int]:
    """Return the cases without a regular expression in any text."""
    matches = find_case_matches(cases, pattern=pattern, ignore_case=ignore_case)
    return sorted(set(range(len(cases))).difference(matches))


SUITE_RULES: Mapping[str, Callable[..., list[int]]] = {
    "whole_test": find_all_cases,
    "label_is": find_label,
    "version_equals_first": find_unchanged_versions,
    "versions_equal": find_equal_versions,
    "repeated_cases": find_repeated_cases,
    "match": find_case_matches,
    "not_match": find_case_mismatches,
}
"""Name of a rule in a table -> its function of the cases of a functionality."""


def find_cases(issue: Issue, cases: Cases) -> list[int]:
    """Return the positions of the cases that an entry is about.

    Raises:
        ValueError: If the rule or a parameter is unknown.
    """
    if issue.rule is None:
        # The ids of released cases are their numbers in the published file, which do not change.
        return [row for row, case in enumerate(cases) if case.id in issue.ids]
    name, parameters = split_rule(issue.rule)
    if name not in SUITE_RULES:
        raise make_unknown_name_error("rule of a known issue of a suite", name, SUITE_RULES)
    return SUITE_RULES[name](cases, **parameters)


# ------------------------------------------------------------------------------------ corrections


def describe_changes(name: str, changes: Sequence[IssueCount]) -> str:
    """Return what known issues changed in a suite, as one sentence; "" if they changed nothing.

    Args:
        name: Name of the suite.
        changes: Its counts.

    Example:
        >>> count = IssueCount("a test", "wrong_label", "relabel", 988, 988, "")
        >>> describe_changes("my suite", [count])
        'Known issues of my suite: 988 cases of 1 test with a corrected label.'
    """
    clauses = []
    for action, phrase in ACTION_PHRASES.items():
        counts = [count for count in changes if count.action == action]
        if counts:
            n_cases = 0
            names = set()
            for count in counts:
                n_cases += count.n_items
                names.add(count.split)
            tests = pluralize(len(names), "test")
            clauses.append(f"{n_cases:,} cases of {tests} {phrase}")
    if not clauses:
        return ""
    return f"Known issues of {name}: {', '.join(clauses)}."


def correct_functionality(
    functionality: Functionality, issues: Sequence[Issue], *, is_published: bool = False
) -> tuple[Functionality, list[IssueCount]]:
    """Apply entries to one functionality. All of them look at the cases as released.

    Args:
        functionality: The functionality.
        issues: The entries about it.
        is_published: Whether it is the released one, so that the counts must be exact.

    Returns:
        The corrected functionality, and a count per entry that found a case.

    Raises:
        ValueError: If an entry finds another number of cases than it says.
    """
    # A dropped case becomes None, so that the positions of the others do not move.
    cases: list[Case | None] = list(functionality.cases)
    counts = []
    changes: dict[str, Any] = {}
    for issue in issues:
        matches = find_cases(issue, functionality.cases)
        _check_count(issue, matches, functionality, is_published)
        if issue.action == "relabel":
            changes.update(_relabel(issue, functionality, cases, matches))
        elif issue.action == "drop":
            for row in matches:
                cases[row] = _drop_versions(cases[row]) if issue.drop == "version" else None
        if matches:
            counts.append(
                IssueCount(
                    split=functionality.name,
                    kind=issue.kind,
                    action=issue.action,
                    n_items=len(matches),
                    n_total=len(functionality.cases),
                    reason=issue.reason,
                )
            )
    if not counts:
        return functionality, []

    remaining = tuple(case for case in cases if case is not None)
    excluded = tuple(row for row, case in enumerate(cases) if case is None)
    changes.update(cases=remaining, excluded=excluded)
    return dataclasses.replace(functionality, **changes), counts


def _check_count(
    issue: Issue, matches: Sequence[int], functionality: Functionality, is_published: bool
) -> None:
    """Check that the released suite has as many cases with an issue as its table says."""
    if is_published and issue.count is not None and issue.count != len(matches):
        raise OptionError(
            f"Expected the known issue {issue.kind!r} in {issue.count} cases of "
            f"{functionality.name!r}, but it is in {len(matches)}: correct the table, or turn it "
            "off by known_issues=False.",
            option=OPTION,
        )


def _relabel(
    issue: Issue, functionality: Functionality, cases: list[Case | None], matches: Sequence[int]
) -> dict[str, Any]:
    """Give cases their new label, and return what changes in the functionality.

    With several correct labels, the cases keep their label and the expectation accepts the others.
    """
    if len(issue.to) > 1:
        accepted = {}
        for row in matches:
            # The label of the case is one of the correct ones, and stands for all of them.
            for label in set(functionality.cases[row].labels or ()) & set(issue.to):
                accepted[str(label)] = list(issue.to)
        return {"expectation": {**functionality.expectation, "accept": accepted}}

    (label,) = issue.to
    for row in matches:
        case = functionality.cases[row]
        cases[row] = dataclasses.replace(case, labels=(label,) * len(case.examples), meta=None)
    if len(matches) < len(cases):
        return {}
    # A test whose cases all have a label is a minimum functionality test.
    return {"test_type": "MFT", "expectation": {"name": "equal"}}


def _drop_versions(case: Case | None) -> Case | None:
    """Return a case without the versions that repeat the original; None if no version is left."""
    if case is None:
        return None
    positions = [0]
    for position, texts in enumerate(case.examples):
        if texts != case.examples[0]:
            positions.append(position)
    if len(positions) == 1:
        return None
    # Labels and replacements belong to the examples, so they go with them.
    changes: dict[str, Any] = {}
    for name in ("examples", "labels", "meta"):
        column = getattr(case, name)
        if column is not None:
            changes[name] = tuple(column[position] for position in positions)
    return dataclasses.replace(case, **changes)
