"""What the probes say of models whose answers are known: by one decision for each test, at one level for all."""

import dataclasses
from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.probes.measure import ProbeTables
from rightreasons.probes.measurement import ProbesMeasurement, decide_figures
from rightreasons.probes.question import KEPT, PROBES

N_CHOICES = 4
RESAMPLING = Resampling(resamples=50)


def tables(labels, groups=None):
    columns = {
        "id": [f"i{n}" for n in range(len(labels))],
        "choices": [list("abcd")] * len(labels),
        "label": list(labels),
        **({} if groups is None else {"source_id": groups}),
    }
    return ProbeTables({ORIGINAL: datasets.Dataset.from_dict(columns)}, (), 0)


def measured(n_items, *, kept=0.0, accuracy=0.9, prior=0.25, steady=None, copies=1):
    """Keep the answer without the question in a share of the items; without it, be right as often as `prior`."""
    rng = np.random.default_rng(5)
    right = rng.integers(N_CHOICES, size=n_items)
    without = np.where(
        rng.random(n_items) < prior, right, (right + rng.integers(1, 4, size=n_items)) % 4
    )
    reading = np.where(rng.random(n_items) < accuracy, right, (right + 1) % 4)
    answers = np.where(np.arange(n_items) < kept * n_items, without, reading)
    other = np.where(np.arange(n_items) < kept * n_items, without, rng.integers(4, size=n_items))
    picked = {ORIGINAL: answers, "no_question": without, "wrong_question": other}
    picked = {name: np.repeat(column, copies) for name, column in picked.items()}
    groups = None if copies == 1 else [f"g{n // copies}" for n in range(n_items * copies)]
    found = tables(np.repeat(right, copies), groups)
    hits = None if steady is None else (np.arange(steady[1]) < steady[0], None)
    decided = decide_figures(found, picked, steady=hits, resampling=RESAMPLING)
    reading, context = (
        found.compare_readings(picked, RESAMPLING),
        SimpleNamespace(resampling=RESAMPLING, logged_arms=None),
    )
    return ProbesMeasurement(context, found, picked, decided, reading, steady=hits)


@pytest.mark.parametrize(
    ("groups", "units"), [([0, 0, 1, 1], [0, 0, 1, 1]), (["", "", "a", "a"], [0, 1, 2, 2])]
)
def test_a_group_may_be_called_zero_and_only_an_empty_name_is_none(groups, units):
    found = tables([0, 1, 2, 3], groups).units
    _, numbers = np.unique(found, return_inverse=True)
    pairs = {(left, right) for left, right in zip(numbers.tolist(), units, strict=True)}
    assert len(pairs) == len(set(units)) == len(set(numbers.tolist()))


@pytest.mark.parametrize(
    ("n_items", "options", "tone", "key"),
    [
        (500, {"steady": (500, 500)}, "good", "no_sign"),
        (30, {"steady": (500, 500)}, "neutral", "open"),
        (500, {}, "neutral", "open"),  # other orders of the choices were not asked
        (200, {"kept": 1.0, "steady": (500, 500)}, "bad", "kept"),
        (200, {"kept": 1.0, "prior": 0.8}, "bad", "kept"),
        (2000, {"kept": 0.18}, "warn", "kept_some"),
        # Nearly all answers are right, with the question and without: two such answers agree by chance as well.
        (60, {"kept": 1.0, "prior": 0.97}, "bad", "as_good"),
        # It reads, and would guess most answers from the choices.
        (500, {"accuracy": 1.0, "prior": 0.8, "steady": (500, 500)}, "warn", "unasked"),
        # Right as often as chance, with the question too.
        (2000, {"accuracy": 0.25, "steady": (500, 500)}, "neutral", "open"),
        (500, {"steady": (10, 40)}, "bad", "order"),
        (500, {"steady": (28, 40)}, "warn", "order_some"),
        (500, {"steady": (30, 30)}, "neutral", "open"),
    ],
)
def test_verdict(n_items, options, tone, key):
    m = measured(n_items, **options)
    rule = PROBES.find_rule(m)
    assert (rule.tone, rule.key) == (tone, key)


def test_copies_do_not_decide():
    # 50 items of which each comes ten times are 50 items.
    assert PROBES.find_rule(measured(500, steady=(500, 500))).key == "no_sign"
    copied = measured(50, steady=(500, 500), copies=10)
    assert PROBES.find_rule(copied).key == "open"
    once = measured(50, steady=(500, 500))
    assert {name: each.level for name, each in copied.decided.items()} == {
        n: d.level for n, d in once.decided.items()
    }


def test_a_gray_verdict_says_how_many_items_would_tell():
    m = measured(30, steady=(500, 500))
    # The number that was printed before the run: (2.576 / 2 / 0.1)² = 165.9 for five tests.
    assert m.n_needed == PROBES.power.n_planned == 170
    say = PROBES.prose.of(m=m, figures={}, context=None)
    assert f"About {m.n_needed:,} items would settle the question." in say("verdict.open")
    assert len({name for name in m.open_questions if name.startswith("kept")}) == 2
    assert say("verdict.open").count("of the answers do not depend on the question") == 1
    unasked = measured(170, steady=(500, 500))
    unasked = dataclasses.replace(unasked, decided=m.decided)
    assert unasked.n_needed is None
    say = PROBES.prose.of(m=unasked, figures={}, context=None)
    assert "would not settle the question" in say("verdict.open")
    assert " or the accuracy " in say("verdict.open").partition("The data do not show whether")[2]


def test_paralysis_is_that_of_the_most_choices_and_a_test_of_its_own(monkeypatch):
    asked = []

    def measure_paralysis(self, k, resampling):
        asked.append((k, resampling.level))
        return SimpleNamespace(restricted_drop=SimpleNamespace(estimate=Estimate(0.3, 0.2, 0.4)))

    monkeypatch.setattr(ProbeTables, "measure_paralysis", measure_paralysis)
    labels = np.arange(40) % 4
    scores = ProbeTables(tables(labels).tables, (1, 4, 2), 0)
    picked = dict.fromkeys((ORIGINAL, "no_question", "wrong_question"), labels)
    assert (
        decide_figures(scores, picked, joint=True, resampling=RESAMPLING)["paralysis"].level
        == "large"
    )
    assert "paralysis" not in decide_figures(scores, picked, resampling=RESAMPLING)
    # Four tests: with another question, with none, what is right without one, and added choices.
    assert asked == [(4, pytest.approx(1 - 0.05 / 4))]


@pytest.mark.parametrize(
    ("levels", "as_good", "leads"),
    [
        ({"paralysis": "large"}, False, True),
        ({"paralysis": "some"}, False, False),
        ({"paralysis": "large", "kept": "some"}, False, False),
        ({"paralysis": "large"}, True, False),
    ],
)
def test_the_page_leads_with_what_is_not_told_by_another_sign(levels, as_good, leads):
    _, paralysis, kept, kept_with_another, _ = PROBES.leads
    m = SimpleNamespace(is_as_good_without=as_good, says=lambda name, *of: levels.get(name) in of)
    assert paralysis.condition(m) is leads
    # Each of these two findings shows the figure of its own probe.
    for lead, probe in ((kept, "no_question"), (kept_with_another, "wrong_question")):
        for shown in ("no_question", "wrong_question"):
            assert lead.condition(SimpleNamespace(read=True, probe=shown)) is (shown == probe)
        assert lead.figure == lead.item_figure(None) == KEPT[probe]
    for value, size in ((-0.1, 0.0), (None, 0.0), (0.3, 0.3)):
        assert (
            kept.size(SimpleNamespace(read=SimpleNamespace(beyond_chance=Estimate(value)))) == size
        )
