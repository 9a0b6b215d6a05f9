"""A page about behavioral learning: pass rates and G scores before and after training on a suite.

`write_learning_report` writes it next to the collected scores of a plan. "Before" is the model that
was trained on independent data alone (IID), "after" the one that was then trained on the suite.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import rightreasons
from rightreasons.behavior.learning.collect import AverageScore, CollectedScores, PlanScores
from rightreasons.behavior.learning.options import PARTITIONS
from rightreasons.behavior.learning.plan import Plan
from rightreasons.core.estimates import Estimate
from rightreasons.page import parts as p
from rightreasons.page.formats import short_name
from rightreasons.page.plots import Drawing, dot_rows
from rightreasons.page.question import Part, Plot, Question, Rule, Table
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import PAGE, Page, sentences, write_page
from rightreasons.report.schema import prepare_page_folder

LUZ_DE_ARAUJO = "Luz de Araujo & Roth 2023"

ALPHA = 0.05
"""Significance level of the verdict."""

HELD_OUT = "functionality"
"""The setting that decides: each functionality is scored by the model that did not train on it."""

SETTING_NAMES = {
    "seen": "trained on all functionalities",
    "functionality": "functionality held out",
    "class": "class held out",
    "type": "test type held out",
}
"""Name of each setting for readers."""


@dataclasses.dataclass(frozen=True, eq=False)
class LearningOutcome:
    """The scores of a plan, with the training that its page is about.

    Attributes:
        model: Name of the model.
        suite: Name of the suite.
        scores: The collected scores.
        averages: The mean G of each configuration and method.
        functionalities: (name, class, test type) of each functionality of the suite.
    """

    model: str
    suite: str
    scores: CollectedScores
    averages: Sequence[AverageScore]
    functionalities: Sequence[tuple[str, str, str]]

    @property
    def trained(self) -> list[PlanScores]:
        """The rows that were trained on the suite and can be compared with IID."""
        # IID itself, and a row without a finished IID of its seed, have no differences.
        return [row for row in self.scores.rows if row.differences]

    @property
    def best(self) -> PlanScores | None:
        """The training with the highest G on what was held out; None if none is finished."""
        if not self.trained:
            return None
        # The training on all functionalities is no criterion: it may have learned them by heart.
        return max(self.trained, key=lambda row: row.scores.get(HELD_OUT, 0.0))

    @property
    def baseline(self) -> PlanScores | None:
        """The IID row with the seed of the best training."""
        return None if self.best is None else self.find_baseline(self.best)

    def find_baseline(self, trained: PlanScores) -> PlanScores | None:
        """Return the IID row with the seed of a training; None if it is not finished."""
        # Trainings with one seed start from the same model.
        for row in self.scores.rows:
            if row.configuration == "IID" and row.seed == trained.seed:
                return row
        return None

    @property
    def loses_accuracy(self) -> bool:
        """Whether the best training made the model significantly worse on independent data."""
        best = self.best
        baseline = self.baseline
        if best is None or baseline is None or best.iid_score is None or baseline.iid_score is None:
            return False
        is_lower = best.iid_score < baseline.iid_score
        return is_lower and best.p_values.get("iid", 1.0) < ALPHA

    @property
    def change(self) -> float | None:
        """The change of G on held-out functionalities; None if their runs are not finished."""
        return None if self.best is None else self.best.differences.get(HELD_OUT)

    @property
    def is_significant(self) -> bool:
        """Whether that change is significant."""
        return self.best is not None and self.best.p_values.get(HELD_OUT, 1.0) < ALPHA

    def list_changes(self) -> list[tuple[str, float, float]]:
        """List the G scores of the best training by setting, next to those of the model before it.

        Returns:
            (setting, G before, G after) in the order of `PARTITIONS`, such as
            `("functionality", 0.61, 0.74)`, for the settings whose runs are finished.
        """
        best = self.best
        if best is None:
            return []
        changes = []
        for setting in PARTITIONS:
            # The difference is the score after the training minus the score before.
            difference = best.differences.get(setting)
            if difference is None:
                continue
            score = best.scores[setting]
            changes.append((setting, score - difference, score))
        return changes

    def get_rate(self, row: PlanScores | None, setting: str, name: str) -> float | None:
        """Return a pass rate of a row; None if its runs are not finished."""
        if row is None:
            return None
        return row.pass_rates.get(setting, {}).get(name)


def list_score_rows(result: LearningOutcome) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the accuracy and the G scores of each training, with those of the model before it.

    Args:
        result: The scores of a plan. "IID" is the model before a training, trained on independent
            data only.

    Yields:
        Name of the training, name of the score, its value before and after the training, the
        difference, and its p-value.
    """
    for trained in result.trained:
        training = f"{trained.configuration}, {trained.method}, seed {trained.seed}"
        baseline = result.find_baseline(trained)
        # The accuracy on independent data may not have been measured.
        if (
            baseline is not None
            and baseline.iid_score is not None
            and trained.iid_score is not None
        ):
            yield (
                training,
                "accuracy on independent data",
                baseline.iid_score,
                trained.iid_score,
                trained.iid_score - baseline.iid_score,
                trained.p_values["iid"],
            )
        for setting, difference in trained.differences.items():
            score = trained.scores[setting]
            # The difference is to IID, the model before.
            old_score = score - difference
            yield (
                training,
                f"G, {SETTING_NAMES[setting]}",
                old_score,
                score,
                difference,
                trained.p_values[setting],
            )


def list_rate_rows(result: LearningOutcome) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the pass rates of each functionality before and after the best training.

    Rows are sorted by the rate before the training, the lowest first.

    Args:
        result: The scores of a plan.

    Yields:
        Name, class and test type of the functionality; its pass rate before the training, after it,
        and after a training without this functionality; and the change from the first of these
        rates to the last one. A rate without finished runs is None.
    """
    rows = []
    for name, functionality_class, test_type in result.functionalities:
        old_rate = result.get_rate(result.baseline, "standard", name)
        trained_rate = result.get_rate(result.best, "seen", name)
        held_out_rate = result.get_rate(result.best, HELD_OUT, name)
        change = None
        if old_rate is not None and held_out_rate is not None:
            change = held_out_rate - old_rate
        # A functionality without a rate comes last, with those that always passed.
        sorting_rate = 1.0
        if old_rate is not None:
            sorting_rate = old_rate
        row = (name, functionality_class, test_type, old_rate, trained_rate, held_out_rate, change)
        rows.append((sorting_rate, row))
    # Only the rate is compared: the sort keeps the order of functionalities with equal rates.
    rows.sort(key=lambda rate_and_row: rate_and_row[0])
    for _, row in rows:
        yield row


def draw_scores(key: str, result: LearningOutcome) -> Drawing:
    """Draw two dots per setting: the G score before and after the best training.

    Args:
        key: Name of the drawing, and of its file.
        result: The scores of a plan. `list_changes` returns (setting, G before, G after) for each
            setting.
    """
    rows = []
    for setting, old_score, new_score in result.list_changes():
        estimates = [Estimate(old_score), Estimate(new_score)]
        rows.append((SETTING_NAMES[setting], estimates))
    return dot_rows(key, rows=rows, series=("before", "after"), xlabel="G")


WORDS = sentences(
    "learning", RATES_FILE="collected.json", version=rightreasons.__version__, HELD_OUT=HELD_OUT
)

LEARNING = Question(
    name="learning",
    title="Does training on the tests teach more than the tests?",
    prose=WORDS,
    # The first rule whose condition is true decides.
    verdict=(
        Rule("neutral", "nothing", lambda m: m.best is None),
        Rule("neutral", "unfinished", lambda m: m.change is None),
        Rule("neutral", "unchanged", lambda m: 2 * m.best.n_unchanged > m.best.n_runs),
        Rule("warn", "costs", lambda m: m.loses_accuracy),
        Rule("warn", "transfer", lambda m: m.best.negative_transfer and m.change > 0),
        Rule("good", "generalizes", lambda m: m.is_significant and m.change > 0),
        Rule("bad", "worse", lambda m: m.is_significant),
        Rule("neutral", "cannot_tell"),
    ),
    parts=(
        Part(
            "scores",
            (
                Plot("scores", draw_scores, LUZ_DE_ARAUJO),
                Table("scores", list_score_rows, LUZ_DE_ARAUJO),
            ),
            condition=lambda m: m.trained,
        ),
        Part(
            "rates",
            (Table("rates", list_rate_rows, LUZ_DE_ARAUJO),),
            condition=lambda m: m.trained,
        ),
    ),
)


def make_learning_outcome(
    plan: Plan, scores: CollectedScores, averages: Sequence[AverageScore]
) -> LearningOutcome:
    """Return the scores of a plan with the names that its page shows.

    Args:
        plan: The plan.
        scores: Its scores, from `collect_scores`.
        averages: Its mean scores, from `compare_averages`.
    """
    functionalities = []
    # The plan stores [name, class, test type] of each functionality.
    for functionality in plan.settings.get("functionalities", []):
        functionalities.append(tuple(functionality))
    return LearningOutcome(
        model=short_name(str(plan.settings.get("model", "the model"))),
        suite=str(plan.settings.get("suite", "the suite")),
        scores=scores,
        averages=averages,
        functionalities=functionalities,
    )


def write_learning_report(
    plan: Plan, scores: CollectedScores, averages: Sequence[AverageScore], out: Path
) -> Path:
    """Write index.html and figures/ about the finished runs of a plan.

    Args:
        plan: The plan.
        scores: Its scores, from `collect_scores`.
        averages: Its mean scores, from `compare_averages`.
        out: The folder, which may be that of the plan.

    Returns:
        The page.
    """
    # The plan and the results of its runs, which may be in the same folder, are not overwritten.
    folder = prepare_page_folder(out, "plan.json", "results", "collected.json")
    outcome = make_learning_outcome(plan, scores, averages)
    answer = LEARNING.answer(outcome)
    prose = WORDS.of(m=outcome)
    page = Page(
        title=f"Learning from {outcome.suite}",
        # The page answers a single question, so that its verdict is the heading.
        heading=f"{answer.verdict.label}: {outcome.model} trained on {outcome.suite}",
        facts=prose.pairs("facts"),
        outcomes=[Outcome(LEARNING.name, LEARNING.title, "answered", "", answer)],
        made=prose.pairs("made"),
        command=f"rightreasons learn collect {plan.folder}",
    )
    write_page(folder, page, {})
    return folder / PAGE
