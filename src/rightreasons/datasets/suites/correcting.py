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
"""Action of an entry -> description of its cases in a report."""


# ------------------------------------------------------------------------------------------- rules


def find_all_cases(cases: Cases) -> list[int]:
    """Return the positions of all cases."""
    return list(range(len(cases)))


def find_label(cases: Cases, *, label: int) -> list[int]:
    """Return the positions of the cases in which an example has a label."""
    positions = []
    for position, case in enumerate(cases):
        if label in (case.labels or ()):
            positions.append(position)
    return positions


def find_unchanged_versions(cases: Cases) -> list[int]:
    """Return the positions of the cases in which a changed version has the texts of the original.

    The first example of a case is the original, and the others are its changed versions.

    Args:
        cases: The cases of a functionality.
    """
    positions = []
    for position, case in enumerate(cases):
        # Examples are tuples of texts: a pair of questions is unchanged if both questions are.
        original, *versions = case.examples
        if original in versions:
            positions.append(position)
    return positions


def find_equal_versions(cases: Cases) -> list[int]:
    """Return the positions of the cases that cannot fail because all versions equal the original.

    The first example of a case is the original, and the others are its changed versions.

    Args:
        cases: The cases of a functionality.
    """
    positions = []
    for position, case in enumerate(cases):
        # A case with a single example has no versions.
        has_versions = len(case.examples) > 1
        if has_versions and len(set(case.examples)) == 1:
            positions.append(position)
    return positions


def find_repeated_cases(cases: Cases) -> list[int]:
    """Return the positions of the cases that have the same examples as an earlier case.

    Args:
        cases: The cases of a functionality.
    """
    seen_texts = set()
    positions = []
    for position, case in enumerate(cases):
        if case.examples in seen_texts:
            positions.append(position)
        seen_texts.add(case.examples)
    return positions


def find_case_matches(cases: Cases, *, pattern: str, ignore_case: bool = False) -> list[int]:
    """Return the positions of the cases in which a regular expression matches a text of any example.

    Args:
        cases: The cases of a functionality.
        pattern: The regular expression.
        ignore_case: Whether the case of letters is ignored.
    """
    expression = compile_pattern(pattern, ignore_case)
    positions = []
    for position, case in enumerate(cases):
        # One match suffices, because the examples of a case are made from the same template.
        texts = itertools.chain.from_iterable(case.examples)
        if any(expression.search(text) for text in texts):
            positions.append(position)
    return positions


def find_case_mismatches(cases: Cases, *, pattern: str, ignore_case: bool = False) -> list[int]:
    """Return the positions of the cases in which a regular expression matches no text."""
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
    """Return the positions of the cases that an entry of a table is about, by its rule or its ids.

    Args:
        issue: Entry of a table of known issues.
        cases: The released cases of a functionality.

    Raises:
        ValueError: If the rule is unknown.
    """
    if issue.rule is None:
        # The id of a released case is its number in the published file.
        return [position for position, case in enumerate(cases) if case.id in issue.ids]
    name, parameters = split_rule(issue.rule)
    if name not in SUITE_RULES:
        raise make_unknown_name_error("rule of a known issue of a suite", name, SUITE_RULES)
    find_positions = SUITE_RULES[name]
    return find_positions(cases, **parameters)


# ------------------------------------------------------------------------------------ corrections


def describe_changes(name: str, changes: Sequence[IssueCount]) -> str:
    """Describe the corrections of known issues in a suite, in one sentence; "" if there are none.

    Args:
        name: Name of the suite.
        changes: One count per entry and functionality. Its `split` is the name of the functionality.

    Example:
        >>> count = IssueCount("a test", "wrong_label", "relabel", 988, 988, "")
        >>> describe_changes("my suite", [count])
        'Known issues of my suite: 988 cases of 1 test with a corrected label.'
    """
    clauses = []
    for action, phrase in ACTION_PHRASES.items():
        n_cases = 0
        functionalities = set()
        for count in changes:
            if count.action == action:
                n_cases += count.n_items
                functionalities.add(count.split)
        if functionalities:
            tests = pluralize(len(functionalities), "test")
            clauses.append(f"{n_cases:,} cases of {tests} {phrase}")
    if not clauses:
        return ""
    return f"Known issues of {name}: {', '.join(clauses)}."


def correct_functionality(
    functionality: Functionality, issues: Sequence[Issue], *, is_published: bool = False
) -> tuple[Functionality, list[IssueCount]]:
    """Apply entries of a table of known issues to one functionality.

    Each entry finds its cases among the released ones, so that the order of the entries does not matter.

    Args:
        functionality: The functionality.
        issues: The entries about this functionality.
        is_published: Whether the cases are those of the released suite, for which an entry states the
            exact number of cases.

    Returns:
        The corrected functionality, and a count per entry that found a case.

    Raises:
        ValueError: If an entry finds another number of cases than it states.
    """
    # A dropped case is replaced by None, so that the positions of the other cases stay the same.
    cases: list[Case | None] = list(functionality.cases)
    counts = []
    changed_fields: dict[str, Any] = {}
    for issue in issues:
        positions = find_cases(issue, functionality.cases)
        _check_count(issue, positions, functionality, is_published)
        if issue.action == "relabel":
            changed_fields.update(_relabel(issue, functionality, cases, positions))
        elif issue.action == "drop":
            _drop_cases(issue, cases, positions)
        if positions:
            counts.append(
                IssueCount(
                    split=functionality.name,
                    kind=issue.kind,
                    action=issue.action,
                    n_items=len(positions),
                    n_total=len(functionality.cases),
                    reason=issue.reason,
                )
            )
    if not counts:
        return functionality, []

    # The positions of dropped cases are stored, because a split is drawn over the released cases.
    remaining = []
    excluded = []
    for position, case in enumerate(cases):
        if case is None:
            excluded.append(position)
        else:
            remaining.append(case)
    corrected = dataclasses.replace(
        functionality, cases=tuple(remaining), excluded=tuple(excluded), **changed_fields
    )
    return corrected, counts


def _check_count(
    issue: Issue, matches: Sequence[int], functionality: Functionality, is_published: bool
) -> None:
    """Check that a released functionality has as many cases with an issue as the table states.

    Args:
        issue: Entry of the table. If it has no count, nothing is checked.
        matches: Positions of the cases in which the issue was found.
        functionality: The functionality.
        is_published: Whether the cases are those of the released suite; otherwise nothing is checked.

    Raises:
        ValueError: If the numbers differ.
    """
    if is_published and issue.count is not None and issue.count != len(matches):
        raise OptionError(
            f"Expected the known issue {issue.kind!r} in {issue.count} cases of "
            f"{functionality.name!r}, but found the issue in {len(matches)}. Correct the table, "
            "or turn off known issues with known_issues=False.",
            option=OPTION,
        )


def _relabel(
    issue: Issue, functionality: Functionality, cases: list[Case | None], matches: Sequence[int]
) -> dict[str, Any]:
    """Correct the labels of some cases of a functionality.

    If an entry has one new label, the cases get it. If it has several correct labels, the cases keep
    their labels, and the expectation accepts all correct labels.

    Args:
        issue: Entry of a table; `to` is the new label, or all correct labels.
        functionality: The released functionality.
        cases: Its cases, None for dropped ones. Relabeled cases are replaced in this list.
        matches: Positions of the cases to relabel.

    Returns:
        Field of the functionality -> its new value, such as {"test_type": "MFT"}.
    """
    if len(issue.to) > 1:
        correct_labels = list(issue.to)
        accepted_by_label = {}
        for position in matches:
            labels = set(functionality.cases[position].labels or ())
            for label in labels.intersection(correct_labels):
                accepted_by_label[str(label)] = correct_labels
        return {"expectation": {**functionality.expectation, "accept": accepted_by_label}}

    (new_label,) = issue.to
    for position in matches:
        case = functionality.cases[position]
        new_labels = (new_label,) * len(case.examples)
        cases[position] = dataclasses.replace(case, labels=new_labels, meta=None)
    if len(matches) < len(cases):
        # The other cases still compare examples with the original.
        return {}
    # All cases have labels now, so that examples are not compared with the original any more.
    return {"test_type": "MFT", "expectation": {"name": "equal"}}


def _drop_cases(issue: Issue, cases: list[Case | None], matches: Sequence[int]) -> None:
    """Replace cases by None in a list, or only drop their versions that repeat the original.

    Args:
        issue: Entry of a table. If its field `drop` is "version", only versions are dropped.
        cases: The cases of a functionality, None for dropped ones; changed in place.
        matches: Positions of the cases in which the issue was found.
    """
    for position in matches:
        if issue.drop == "version":
            cases[position] = _drop_repeated_versions(cases[position])
        else:
            cases[position] = None


def _drop_repeated_versions(case: Case | None) -> Case | None:
    """Return a case without the changed versions that repeat the original.

    Args:
        case: The case, whose first example is the original; None if it was dropped before.

    Returns:
        The case; None if no version is left to compare with the original.
    """
    if case is None:
        return None
    original = case.examples[0]
    # Positions of the examples to keep, first that of the original.
    positions = [0]
    for position, texts in enumerate(case.examples):
        if texts != original:
            positions.append(position)
    if len(positions) == 1:
        return None
    # Labels and replacements have one entry per example, too.
    changes: dict[str, Any] = {}
    for name in ("examples", "labels", "meta"):
        column = getattr(case, name)
        if column is not None:
            changes[name] = tuple(column[position] for position in positions)
    return dataclasses.replace(case, **changes)
