"""What the first screen says about behavioral tests."""

from __future__ import annotations

from rightreasons.auditing.page.actions import gate
from rightreasons.auditing.page.parts import Action, Finding
from rightreasons.auditing.page.words import percent
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.behavior import SuiteAnswers


def finding(answers: SuiteAnswers, n_weak: int, bound: float) -> Finding:
    """Say which share of the cases passes, and how many functionalities surely fall below a bound."""
    rate = answers.result.behavioral_pass_rate
    asked = [each for _, each in answers.weakest if each.pass_rate is not None]
    if rate is None or not asked:
        return Finding(claim="was asked nothing that applies", evidence=f"Suite {answers.suite.name}.")
    worst = asked[0]
    one_answer = f" {answers.one_answer}." if answers.one_answer else ""
    weakest = f"; the weakest is “{worst.functionality}” ({percent(worst.pass_rate or 0.0)})" if n_weak else ""
    return Finding(
        claim=f"passes {percent(rate)} of the cases of {answers.suite.name}, as a mean over functionalities: "
        f"{n_weak} of {len(asked)} surely {'passes' if n_weak == 1 else 'pass'} fewer than {bound:.0%}{weakest}",
        evidence=f"Exact tests of each functionality, {counted(sum(each.n_cases for each in asked), 'case')} "
        f"with a known rule.{one_answer}",
        figure="pass_rate",
        size=1 - rate,
        actions=(
            Action("Read the failing cases, the weakest functionality first.", link="#behavior"),
            Action(
                "Train on cases of the suite and measure whether it generalizes to functionalities held out.",
                "rightreasons learn plan plan --model MODEL --suite SUITE --data DATASET",
            ),
            gate("behavior.pass_rate.high < 0.9", "the mean pass rate is surely below 90%"),
        ),
    )
