"""The gate of a build: conditions and exit codes."""

import pytest

from command_line import run
from rightreasons.report.gates import gate
from small_audits import small_audit


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return small_audit(tmp_path_factory.mktemp("gate") / "report")


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ("calibration.ece > 0.05", "fail"),
        ("calibration.ece>6%", "pass"),
        ("calibration.ece >= 6 %", "fail"),
        ("  calibration.ece.value == 6e-2 ", "fail"),
        ("calibration.ece.low > .02", "pass"),
        ("calibration.ece.high != 0.1", "pass"),
        ("calibration.accuracy.n < 150", "pass"),
        ("calibration.accuracy.n <= 150", "fail"),
        ("calibration.accuracy < 0.95", "fail"),
        ("calibration.test_odd.accuracy < 0.6", "fail"),
        ("calibration.test_odd.accuracy.low < 0.42", "pass"),
        ("calibration.nll > -1", "fail"),
        ("calibration.brier.low == 0.1", "fail"),
        ("shortcuts.deciding_share > 0.1", "fail"),
        ("shortcuts.rate.high > 0.8", "pass"),
        ("shortcuts.verdict == bad", "fail"),
        ("shortcuts.verdict != bad", "pass"),
        ("calibration.verdict != good", "pass"),
        ("behavior.pass_rate < 0.5", "undefined"),
        ("behavior.verdict == bad", "undefined"),
        ("difficulty.hardest_flipped > 0.5", "undefined"),
        ("calibration.auroc < 0.5", "undefined"),
        ("calibration.nll.low > 0", "undefined"),
        ("calibration.test_odd.accuracy.n > 0", "undefined"),
    ],
)
def test_conditions(report, condition, outcome):
    (check,) = gate(report, [condition]).checks
    assert check.outcome == outcome
    assert gate(report, [condition]).passed == (outcome == "pass")


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("calibration.auroc < 0.5", "auroc is undefined for these items."),
        ("calibration.nll.low > 0", "nll has no interval."),
        ("calibration.nll.high > 0", "nll has no interval."),
        ("calibration.test_odd.accuracy.n > 0", "has no number of items in the report."),
        ("behavior.pass_rate < 0.5", "No behavioral suite was named."),
        ("probes.prior_bias > 0.5", "The question was not asked."),
    ],
)
def test_a_check_that_cannot_be_made_says_why(report, condition, reason):
    (check,) = gate(report, [condition]).checks
    assert check.outcome == "undefined"
    assert check.told.endswith(reason)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "calibration.ecce > 0.1",
            "the name of a figure, but got 'calibration.ecce'. Did you mean 'calibration.ece'",
        ),
        (
            "shortcut.rate > 0.1",
            "the name of a question, but got 'shortcut'. Did you mean 'shortcuts'",
        ),
        ("calibration.ece.lo > 0.1", "value, low, high or n after calibration.ece, but got 'lo'"),
        ("calibration > 0.1", "the name of a figure, but got 'calibration'"),
        ("calibration.ece > nan", "a number at the end of 'calibration.ece > nan', but got 'nan'"),
        ("calibration.ece = 0.1", "Expected a path, one of"),
        ("calibration.ece > 0.1 or 1", "Expected a path, one of"),
        ("0.1 < calibration.ece < 0.3", "Expected a path, one of"),
        ("__import__('os').getpid() > 0", "the name of a question"),
        ("", "Expected a path, one of"),
        ("calibration.verdict > bad", "Expected == or != with a verdict"),
        (
            "calibration.verdict == red",
            "Expected `calibration.verdict` to be one of .* but got 'red'",
        ),
        ("calibration.verdict == 1", "but got '1'"),
        (
            "calibration.ece.low > 5",
            "a share from 0 to 1, or a percentage, in 'calibration.ece.low > 5', but got 5",
        ),
    ],
)
def test_what_is_no_condition(report, condition, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        gate(report, [condition])


def test_exit_codes_and_lines(capsys, report):
    failing = ("--fail-if", "shortcuts.deciding_share > 10%", "--fail-if", "calibration.ece > 1")
    code, out, _ = run(capsys, "gate", report, *failing)
    assert (code, out.splitlines()) == (
        1,
        [
            "FAIL      shortcuts.deciding_share > 10%: 25.0% [12.5, 40.0] on 40 items of test",
            "ok        calibration.ece > 1: 6.0% [2.0, 10.0] on 150 items of test",
        ],
    )
    assert run(capsys, "gate", report, "--fail-if", "calibration.ece > 1").code == 0
    assert run(capsys, "gate", report, "--fail-if", "behavior.pass_rate < 1").code == 1
    assert run(capsys, "gate", report).code == 2


def test_the_list_of_paths(capsys, report):
    lines = run(capsys, "gate", report, "--list").out.splitlines()
    paths = [line.split()[0] for line in lines]
    assert paths == [
        "calibration.accuracy", "calibration.ece", "calibration.nll", "calibration.auroc", "calibration.brier",
        "calibration.test_odd.accuracy", "shortcuts.deciding_share", "shortcuts.rate",
    ]  # fmt: skip
    assert lines[2].split(maxsplit=1)[1] == "0.300 on 150 items of test"
    assert lines[3].split(maxsplit=1)[1] == "– on 150 items of test"
    for path in paths:
        gate(report, [f"{path} > 1"])
