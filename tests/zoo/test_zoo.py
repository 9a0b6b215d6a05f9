"""A family per mechanism, tiny and from its configuration, compared with one item at a time."""

import csv
import functools
import re

import pytest
import transformers

from zoo.building import TASKS, NotBuilt, families
from zoo.families import HALF, KNOWN, MECHANISMS, REFUSED
from zoo.half import measure_rounding
from zoo.holding import CALLS, compare_family, use_single_thread
from zoo.masks import MISTAKES, try_mistake


def list_cases():
    """Return the parameters of each call on a family per mechanism; known errors are expected to fail."""
    cases = []
    for task, family_names in MECHANISMS.items():
        for family in family_names:
            for call in CALLS[task]:
                name = f"{task}-{family}-{call}"
                marks = []
                if name in KNOWN:
                    marks.append(pytest.mark.xfail(reason=KNOWN[name], strict=True))
                cases.append(pytest.param(task, family, call, id=name, marks=marks))
    return cases


# The calls of a family are compared at once.


@functools.cache
def list_outcomes(task, family):
    use_single_thread()
    return compare_family(task, family, is_brief=True)


@pytest.mark.parametrize(("task", "family", "call"), list_cases())
def test_a_family_is_exact_or_refused_with_a_reason(task, family, call):
    outcomes = [outcome for outcome in list_outcomes(task, family) if outcome.call == call]
    exact = [outcome for outcome in outcomes if outcome.verdict == "exact"]
    failures = [outcome for outcome in outcomes if outcome.verdict not in ("exact", "refused")]

    assert failures == []
    assert bool(exact) == (f"{task}-{family}-{call}" not in REFUSED)


@pytest.mark.parametrize(
    ("task", "family"),
    [*(("classes", name) for name in HALF["classes"][1:]), ("causal", "gemma2")],
)
def test_bfloat16_differs_from_float32_as_a_plain_loop_does(task, family):
    use_single_thread()

    roundings = measure_rounding(task, family)

    assert [rounding for rounding in roundings if not rounding.is_rounding] == []


@pytest.mark.parametrize(
    "mistake", MISTAKES, ids=lambda mistake: f"{mistake.description} ({mistake.family})"
)
def test_wrong_masks_are_detected_in_bfloat16_but_for_one_token_in_long_texts(mistake):
    use_single_thread()

    error, is_detected = try_mistake(mistake, seed=1)

    is_rounding = "rounding" in mistake.description
    is_one_of_many_tokens = "one too wide" in mistake.description and mistake.window >= 128
    assert is_detected == (not is_rounding and not is_one_of_many_tokens)
    assert is_detected or error < 0.1


def test_the_mechanisms_are_families_of_the_installed_transformers():
    for task in TASKS:
        assert set(MECHANISMS[task]) <= set(families(task))
    assert len(families("classes")) > 60
    with pytest.raises(NotBuilt, match="no tiny configuration"):
        compare_family("classes", "layoutlmv2")


def test_the_table_has_the_families_of_its_version(root):
    page_file = root / "docs" / "evidence" / "models.md"
    page = page_file.read_text(encoding="utf-8")
    table = page_file.with_suffix(".csv").read_text(encoding="utf-8")
    version = re.search(r"families of transformers (\S+) ", page)
    assert version
    if version[1] != transformers.__version__:
        pytest.skip(
            f"docs/evidence/models.md was written with transformers {version[1]}: make -C benchmarks zoo"
        )

    table_families = {row["family"] for row in csv.DictReader(table.splitlines())}
    assert set().union(*map(families, TASKS)) == table_families
    # A wrong call would be bold.
    assert "**" not in table
