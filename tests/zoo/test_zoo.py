"""A family per mechanism, tiny and from its configuration, compared with one item at a time."""

import csv
import functools
import re

import pytest
import transformers

from zoo.building import TASKS, NotBuilt, families
from zoo.families import HALF, KNOWN, MECHANISMS, REFUSED
from zoo.half import hold_half
from zoo.holding import CALLS, hold, single_thread
from zoo.masks import MISTAKES, off_by


def cases():
    for task, names in MECHANISMS.items():
        for family in names:
            for call in CALLS[task]:
                name = f"{task}-{family}-{call}"
                marks = (
                    [pytest.mark.xfail(reason=KNOWN[name], strict=True)] if name in KNOWN else []
                )
                yield pytest.param(task, family, call, id=name, marks=marks)


@functools.cache
def outcomes(task, family):
    single_thread()
    return hold(task, family, brief=True)


@pytest.mark.parametrize(("task", "family", "call"), cases())
def test_a_family_is_exact_or_refused_in_a_sentence(task, family, call):
    held = [outcome for outcome in outcomes(task, family) if outcome.call == call]
    assert [outcome for outcome in held if outcome.verdict not in ("exact", "refused")] == []
    exact = [outcome for outcome in held if outcome.verdict == "exact"]
    assert bool(exact) == (f"{task}-{family}-{call}" not in REFUSED)


@pytest.mark.parametrize(
    ("task", "family"),
    [*(("classes", name) for name in HALF["classes"][1:]), ("causal", "gemma2")],
)
def test_bfloat16_differs_from_float32_as_a_plain_loop_does(task, family):
    single_thread()
    assert [rounding for rounding in hold_half(task, family) if not rounding.is_rounding] == []


@pytest.mark.parametrize(
    "mistake", MISTAKES, ids=lambda mistake: f"{mistake.what} ({mistake.family})"
)
def test_wrong_masks_are_noticed_in_bfloat16_but_for_one_token_in_long_texts(mistake):
    single_thread()
    off, noticed = off_by(mistake, seed=1)
    assert noticed == (
        "rounding" not in mistake.what
        and (mistake.window or 0) * ("one too wide" in mistake.what) < 128
    )
    assert noticed or off < 0.1


def test_the_mechanisms_are_families_of_the_installed_transformers():
    for task in TASKS:
        assert set(MECHANISMS[task]) <= set(families(task))
    assert len(families("classes")) > 60
    with pytest.raises(NotBuilt, match="no tiny configuration"):
        hold("classes", "layoutlmv2")


def test_the_table_has_the_families_of_its_version(root):
    page = root / "docs" / "evidence" / "models.md"
    text, table = (
        page.read_text(encoding="utf-8"),
        page.with_suffix(".csv").read_text(encoding="utf-8"),
    )
    version = re.search(r"families of transformers (\S+) ", text)
    assert version
    if version[1] != transformers.__version__:
        pytest.skip(
            f"docs/evidence/models.md was written with transformers {version[1]}: make -C benchmarks zoo"
        )
    assert set().union(*map(families, TASKS)) == {
        row["family"] for row in csv.DictReader(table.splitlines())
    }
    assert "**" not in table  # no call is wrong
