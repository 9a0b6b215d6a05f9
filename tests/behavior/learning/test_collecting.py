"""G scores of a plan by hand: fixed functionalities, the whole suite's accuracy, tests of the printed figure."""

import dataclasses

import pytest

from rightreasons.behavior.generalization import compare_generalization
from rightreasons.behavior.learning.collect import collect_scores, compare_averages, outcomes
from rightreasons.behavior.learning.options import PARTITIONS
from rightreasons.behavior.learning.plan import PlannedRun
from rightreasons.cli.show import show_scores

# Three functionalities of 2, 3 and 1 test cases; the last is undefined for one run.
NAMES, COUNTS = ("a", "b", "c"), (2, 3, 1)


@dataclasses.dataclass
class FakePlan:
    runs: list
    stored: dict
    settings: dict

    def results(self):
        return list(self.stored.values())


def rates(passed):
    places = {"a": passed[:2], "b": passed[2:5], "c": passed[5:]}
    return {
        name: None if set(part) == {"-"} else part.count("1") / (len(part) - part.count("-"))
        for name, part in places.items()
    }


def result(run, passed, right, called=0.5):
    return {
        "key": run.key, "pass_rates": rates(passed), "passed": passed, "iid_right": right,
        "iid_accuracy": right.count("1") / len(right), "iid_predicted_negative": called, "mean_confidence": 0.8,
    }  # fmt: skip


def plan(seeds=(1,), called=0.5, unfinished=()):
    runs, stored = [], {}
    for seed in seeds:
        iid = PlannedRun("IID", "vanilla", "seen", "", (), seed)
        whole = PlannedRun("IID->T", "lp", "seen", "", (), seed)
        of_a = PlannedRun("IID->T", "lp", "functionality", "a", ("a",), seed)
        others = PlannedRun("IID->T", "lp", "functionality", "b", ("b", "c"), seed)
        for run, passed, right in (
            (iid, "100110", "11110000"),
            (whole, "111101" if seed == 1 else "111001", "11111100"),
            (of_a, "011111", "11000000"),
            (others, "11001-", "10000000"),
        ):
            runs.append(run)
            if (run.partition, run.held) not in unfinished:
                stored[run.key] = result(run, passed, right, called)
    return FakePlan(
        runs,
        stored,
        {"functionalities": [(name, "A", "MFT") for name in NAMES], "n_cases": list(COUNTS)},
    )


def test_scores_are_those_of_the_paper():
    found = collect_scores(plan())
    # c is undefined where it was held out, so every mean is over a and b.
    assert (found.functionalities, found.n_functionalities) == (("a", "b"), 3)
    iid, row = found.rows
    assert (iid.iid_score, row.iid_score) == (0.5, 0.75)
    # IID: a 1/2, b 2/3 (letters 0, 1, 1); whole: a 1, b 2/3; held out: a 1/2, b 1/3.
    assert iid.suite_scores == {"standard": pytest.approx((1 / 2 + 2 / 3) / 2)}
    assert row.suite_scores == {
        "seen": pytest.approx((1 + 2 / 3) / 2),
        "functionality": pytest.approx((1 / 2 + 1 / 3) / 2),
    }
    # G of both settings takes the accuracy of the whole suite's model, 3/4, not the 1/8 to 1/4 of the held-out runs.
    for setting in ("seen", "functionality"):
        s = row.suite_scores[setting]
        assert row.scores[setting] == pytest.approx(2 * 0.75 * s / (0.75 + s))
    assert row.average is None
    assert row.pass_rates["functionality"]["c"] is None


def test_the_test_is_of_the_printed_difference():
    iid, row = collect_scores(plan()).rows
    assert (iid.differences, iid.p_values) == ({}, {})
    for setting in ("seen", "functionality"):
        assert row.differences[setting] == pytest.approx(
            row.scores[setting] - iid.scores["standard"]
        )
    # By hand for "functionality": a of the run that held out a, b of the run that held out b.
    test = compare_generalization(
        (outcomes("11111100"), outcomes("11110000")),
        [(outcomes("01"), outcomes("10")), (outcomes("001"), outcomes("011"))],
        seed=42,
    )
    assert row.p_values["functionality"] == test.p_value
    # McNemar by the mid-p: two items, both for the row, has 1/4, of which half counts, on each side: p = 2 * 1/2 * 1/4.
    assert row.p_values["iid"] == 0.25


def test_the_average_needs_all_four_settings():
    made = plan()
    whole = made.stored[made.runs[1].key]
    for partition in PARTITIONS[2:]:
        run = PlannedRun("IID->T", "lp", partition, "x", NAMES, 1)
        made.runs.append(run)
        made.stored[run.key] = {**whole, "key": run.key}
    row = collect_scores(made).rows[1]
    assert row.average == pytest.approx(sum(row.scores[setting] for setting in PARTITIONS) / 4)


def test_what_is_unfinished_is_left_out():
    found = collect_scores(plan(unfinished=(("functionality", "b"),)))
    assert list(found.rows[1].scores) == ["seen"]
    assert found.functionalities == NAMES
    assert (found.n_done, found.n_runs) == (3, 4)
    # Without the whole suite's model there is no accuracy for any G.
    row = collect_scores(plan(unfinished=(("seen", ""),))).rows[0]
    assert (row.iid_score, row.scores) == (None, {})
    assert list(row.suite_scores) == ["functionality"]


def test_a_method_that_changed_nothing_is_counted():
    made = plan()
    iid = made.stored[made.runs[0].key]
    for run, passed in zip(made.runs[1:], ("100110", "10....", "..0111"), strict=True):
        made.stored[run.key] = {**result(run, iid["passed"], iid["iid_right"]), "passed": passed}
    # The last run is asked b and c: IID has 011 and 0 there, and the run 011 and 1.
    idle, row = collect_scores(made).rows
    assert (idle.n_runs, idle.n_unchanged) == (1, 0)
    assert (row.n_runs, row.n_unchanged) == (3, 2)
    # A run with the outcomes of IID on the suite alone is another model.
    made.stored[made.runs[1].key]["iid_right"] = "11110001"
    assert collect_scores(made).rows[1].n_unchanged == 1


def test_what_is_printed_is_a_line_per_finding(capsys):
    made = plan(seeds=(1, 2), called=0.95)
    for run in made.runs:
        if run.seed == 2:
            made.stored[run.key] |= {"passed": "100110", "iid_right": "11110000"}
    show_scores(collect_scores(made))
    *_, idle = capsys.readouterr().out.splitlines()
    assert idle == (
        "  Changed nothing: 3 of 3 runs of IID->T lp (seed 2). All of their outcomes equal those of IID."
    )


@pytest.mark.parametrize(("called", "n_degenerate"), [(0.5, 0), (0.95, 4), (0.02, 4), (0.9, 0)])
def test_models_of_one_answer(called, n_degenerate):
    found = collect_scores(plan(called=called)).degenerate
    assert len(found) == n_degenerate
    if found:
        held = next(run for run in found if run["held"] == "b")
        assert held["pass_rate"] == pytest.approx(1 / 3)  # b 1/3, c undefined


def with_weights(fake_plan, digests):
    """Store digests of weights: those of the start are "0"."""
    for run in fake_plan.runs:
        if run.configuration != "IID":
            weights = digests[run.method]
            fake_plan.stored[run.key].update(initial_weights="0", weights=weights)
    return fake_plan


def two_methods():
    first = plan()
    for run in list(first.runs):
        if run.configuration != "IID":
            partner = dataclasses.replace(run, method="dropout")
            first.runs.append(partner)
            first.stored[partner.key] = {**first.stored[run.key], "key": partner.key}
    return first


def test_methods_that_end_with_the_same_weights_are_refused():
    with pytest.raises(ValueError, match="train differently"):
        collect_scores(with_weights(two_methods(), {"lp": "a", "dropout": "a"}))

    scores = collect_scores(with_weights(two_methods(), {"lp": "a", "dropout": "b"}))
    assert [row.method for row in scores.rows] == ["vanilla", "lp", "dropout"]


def test_a_method_that_changes_no_weight_is_refused():
    with pytest.raises(ValueError, match="to change weights"):
        collect_scores(with_weights(plan(), {"lp": "0"}))


def test_results_without_digests_of_weights_are_collected():
    assert [row.method for row in collect_scores(two_methods()).rows] == [
        "vanilla",
        "lp",
        "dropout",
    ]


def complete_plan(seeds=(1, 2), n_items=40, share=0.9):
    """Return a plan whose row passes a share of what IID half passes, in all four settings."""
    names = ("a", "b")
    settings = {"functionalities": [(name, "A", "MFT") for name in names], "n_cases": [20, 20]}
    runs, stored = [], {}
    for seed in seeds:
        n_passed = round(share * 20) - seed
        for configuration, partition, held in (
            ("IID", "seen", ()),
            *(("IID->T", partition, ()) for partition in PARTITIONS),
        ):
            run = PlannedRun(configuration, "lp", partition, "", held, seed)
            count = 10 if configuration == "IID" else n_passed
            letters = "1" * count + "0" * (20 - count)
            right = "1" * n_items
            runs.append(run)
            stored[run.key] = {
                **result(run, "111111", right),
                "passed": letters * 2,
                "pass_rates": dict.fromkeys(names, count / 20),
            }
    return FakePlan(runs, stored, settings)


def test_averages_pool_seeds_and_tasks():
    plans = [complete_plan(), complete_plan(seeds=(3,), share=0.8)]

    (row,) = compare_averages(plans)

    # All are correct on independent data: G = 2 s / (1 + s). Task 1: s = 17/20 and 16/20, task 2: 13/20.
    def compute_g(s):
        return 2 * s / (1 + s)

    first = (compute_g(17 / 20) + compute_g(16 / 20)) / 2
    average = (first + compute_g(13 / 20)) / 2
    assert (row.configuration, row.method, row.n_tasks, row.n_seeds) == ("IID->T", "lp", 2, 3)
    assert row.average == pytest.approx(average)
    # IID: s = 10/20.
    assert row.difference == pytest.approx(average - compute_g(10 / 20))
    assert row.p_value < 0.01
    # One seed less is less evidence; the mean of task 2 alone is that of its seed.
    (single,) = compare_averages(plans[1:])
    assert single.average == pytest.approx(compute_g(13 / 20))
    assert single.p_value > row.p_value


def test_averages_need_all_settings_in_every_task():
    assert compare_averages([plan()]) == []
    assert compare_averages([complete_plan(), plan()]) == []
    assert compare_averages([]) == []


def test_losses_on_held_out_functionalities_are_named(capsys):
    lossy = complete_plan(seeds=(1,), share=0.15)

    scores = collect_scores(lossy)

    iid, row = scores.rows
    assert iid.negative_transfer == []
    # 10 of 20 cases pass before, and 2 of these after: p = 2^-8, times two functionalities.
    assert [loss.functionality for loss in row.negative_transfer] == ["a", "b"]
    assert row.negative_transfer[0].p_value == pytest.approx(2 / 2**8)
    show_scores(scores, compare_averages([lossy]))
    printed = " ".join(capsys.readouterr().out.split())
    assert "Negative transfer: IID->T lp (seed 1)" in printed
    assert "Mean G of IID->T lp over 1 seed" in printed
