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
        return best.iid_score < baseline.iid_score and best.p_values.get("iid", 1.0) < ALPHA

    @property
    def change(self) -> float | None:
        """The change of G on held-out functionalities; None if their runs are not finished."""
        return None if self.best is None else self.best.differences.get(HELD_OUT)

    @property
    def is_significant(self) -> bool:
        """Whether that change is significant."""
        return self.best is not None and self.best.p_values.get(HELD_OUT, 1.0) < ALPHA

    def list_changes(self) -> list[tuple[str, float, float]]:
        """Return setting, G before and G after of the best training, in the usual order."""
        if self.best is None:
            return []
        changes = []
        for setting in PARTITIONS:
            difference = self.best.differences.get(setting)
            # The runs of some settings may not be finished.
            if difference is not None:
                score = self.best.scores[setting]
                changes.append((setting, score - difference, score))
        return changes

    def get_rate(self, row: PlanScores | None, setting: str, name: str) -> float | None:
        """Return a pass rate of a row; None if its runs are not finished."""
        if row is None:
            return None
        return row.pass_rates.get(setting, {}).get(name)


def list_score_rows(m: LearningOutcome) -> Iterator[tuple[p.Cell, ...]]:
    """Yield accuracy and G scores of each training by setting, before and after."""
    for row in m.trained:
        training = f"{row.configuration}, {row.method}, seed {row.seed}"
        baseline = m.find_baseline(row)
        if baseline is not None and baseline.iid_score is not None and row.iid_score is not None:
            yield (
                training,
                "accuracy on independent data",
                baseline.iid_score,
                row.iid_score,
                row.iid_score - baseline.iid_score,
                row.p_values["iid"],
            )
        for setting, difference in row.differences.items():
            score = row.scores[setting]
            yield (
                training,
                f"G, {SETTING_NAMES[setting]}",
                # The difference is to IID, the model before.
                score - difference,
                score,
                difference,
                row.p_values[setting],
            )


def list_rate_rows(m: LearningOutcome) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the pass rates of each functionality, before and after, the weakest first."""
    rows = []
    for name, functionality_class, test_type in m.functionalities:
        old_rate = m.get_rate(m.baseline, "standard", name)
        trained_rate = m.get_rate(m.best, "seen", name)
        held_out_rate = m.get_rate(m.best, HELD_OUT, name)
        change = None
        if old_rate is not None and held_out_rate is not None:
            change = held_out_rate - old_rate
        about = (name, functionality_class, test_type)
        rows.append((*about, old_rate, trained_rate, held_out_rate, change))
    # The weakest functionality is read first; one without a rate comes last.
    yield from sorted(rows, key=lambda row: 1.0 if row[3] is None else row[3])


def draw_scores(key: str, m: LearningOutcome) -> Drawing:
    """Draw the G scores of the best training next to those before."""
    rows = []
    for setting, old_score, new_score in m.list_changes():
        rows.append((SETTING_NAMES[setting], [Estimate(old_score), Estimate(new_score)]))
    return dot_rows(key, rows=rows, series=("before", "after"), xlabel="G")


WORDS = sentences(
    "learning", RATES_FILE="collected.json", version=rightreasons.__version__, HELD_OUT=HELD_OUT
)

LEARNING = Question(
    name="learning",
    title="Does training on the tests teach more than the tests?",
    prose=WORDS,
    # The first rule that holds decides.
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
    """Return the scores of a plan with the names that a page needs.

    Args:
        plan: The plan.
        scores: Its scores, from `collect_scores`.
        averages: Its mean scores, from `compare_averages`.
    """
    functionalities = [tuple(row) for row in plan.settings.get("functionalities", [])]
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
    # The page belongs to the plan, whose runs stay in the folder.
    folder = prepare_page_folder(out, "plan.json", "results", "collected.json")
    outcome = make_learning_outcome(plan, scores, averages)
    answer = LEARNING.answer(outcome)
    # The page is about one comparison, whose verdict is its heading.
    prose = WORDS.of(m=outcome)
    page = Page(
        title=f"Learning from {outcome.suite}",
        heading=f"{answer.verdict.label}: {outcome.model} trained on {outcome.suite}",
        facts=prose.pairs("facts"),
        outcomes=[Outcome(LEARNING.name, LEARNING.title, "answered", "", answer)],
        made=prose.pairs("made"),
        command=f"rightreasons learn collect {plan.folder}",
    )
    write_page(folder, page, {})
    return folder / PAGE
