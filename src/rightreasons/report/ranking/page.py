"""The section of a page about the models of a task: the finding, the models, and the items that show it.

`conclude` makes a `TaskComparison` of a ranking, and `RANKING` declares its section; the sentences
are in `templates/ranking.md.j2` and, for the heading, in `templates/headings.md.j2`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rightreasons.core.estimates import Estimate
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.page import parts as p
from rightreasons.page.formats import format_estimate
from rightreasons.page.prose import Prose
from rightreasons.page.question import Lead, Part, Question, Rule, Table
from rightreasons.report.outcomes import LIGHTS
from rightreasons.report.ranking.findings import (
    AccuracyFinding,
    ReasonsFinding,
    find_accuracy,
    find_reasons,
    list_models,
)
from rightreasons.report.ranking.items import (
    ItemTable,
    OutcomePattern,
    RankedItem,
    describe_confidences,
    list_disagreements,
    list_evidence,
    list_report_examples,
    make_example,
)
from rightreasons.report.ranking.models import RankedModel, Ranking
from rightreasons.report.ranking.verdicts import ModelVerdict
from rightreasons.report.render import PAGE, Front, get_address, sentences
from rightreasons.report.schema import get_names
from rightreasons.report.views import render_comparison

HEADINGS = sentences("headings", list_models=list_models)
"""Sentences that state what a comparison found."""

TESTS = "McNemar 1947; Fisher 1935; Agresti & Min 2005; Holm 1979"


@dataclasses.dataclass(frozen=True)
class TaskComparison(Result):
    """What the comparison of the models of a task found.

    Attributes:
        heading: The finding in one or two sentences.
        ranking: The models, the most accurate first, with their tests.
        accuracy: What the tests show about the accuracies.
        reasons: What the reports and the tests show about the reasons for the predictions.
        patterns: Number of items for each set of correct models, disagreements first.
        disagreements: Items on which some models are correct and others are not.
        evidence: Items that show the finding about reasons.
    """

    heading: str
    ranking: Ranking
    accuracy: AccuracyFinding
    reasons: ReasonsFinding
    patterns: tuple[OutcomePattern, ...]
    disagreements: ItemTable
    evidence: ItemTable

    @property
    def is_single(self) -> bool:
        """Whether fewer than two models can be compared."""
        return self.accuracy.kind == "single"


def conclude(ranking: Ranking) -> TaskComparison:
    """Conclude from a ranking what a reader should know, and list the items that show it.

    Args:
        ranking: The ranking, whose tests are corrected.
    """
    reasons = find_reasons(ranking)
    patterns, disagreements = list_disagreements(ranking.group)
    comparison = TaskComparison(
        heading="",
        ranking=ranking,
        accuracy=find_accuracy(ranking),
        reasons=reasons,
        patterns=patterns,
        disagreements=disagreements,
        evidence=list_evidence(ranking, reasons),
    )
    # The sentence needs all of the findings.
    heading = ComparisonView(comparison).headings(f"heading.{comparison.accuracy.kind}")
    return dataclasses.replace(comparison, heading=heading)


@dataclasses.dataclass(frozen=True, eq=False)
class ComparisonView:
    """The comparison of the models of a task as a page shows it.

    Attributes:
        comparison: The comparison.
        n_tests: Number of tests for which the p-values are corrected, also those of other tasks.
        out: Folder of the page, from which it links to the reports. None for no links.
        key: Suffix of the names by which links of the page find items; "" on a page about a single
            task.
    """

    comparison: TaskComparison
    n_tests: int = 0
    out: Path | None = None
    key: str = ""

    @property
    def ranking(self) -> Ranking:
        """The models with their tests."""
        return self.comparison.ranking

    @property
    def values(self) -> dict[str, Any]:
        """Values for the templates, in addition to the view `m`."""
        return {
            "ranking": self.ranking,
            "accuracy": self.comparison.accuracy,
            "finding": self.comparison.reasons,
            "claimed": self.comparison.reasons.figure,
            "evidence": self.comparison.evidence,
            "disagreements": self.comparison.disagreements,
        }

    @property
    def headings(self) -> Prose:
        """The sentences that state what the comparison found, filled in."""
        return HEADINGS.of(m=self, **self.values)

    @property
    def names(self) -> list[str]:
        """Names of the compared models."""
        return [model.name for model in self.ranking.models]

    @property
    def unpaired_names(self) -> list[str]:
        """Names of the models that are not compared with the others."""
        # A single report is compared with none.
        if len(self.ranking.all_models) < 2:
            return []
        return [model.name for model in self.ranking.unpaired]

    @property
    def replaced_names(self) -> dict[str, list[str]]:
        """Name of several models -> the folders of their reports, by which the page names them."""
        folders_by_name: dict[str, list[str]] = {}
        for report in self.ranking.group.reports:
            name, _ = get_names(report.audit)
            # A short name is repeated next to the folder.
            if name and not report.name.startswith(name):
                folders_by_name.setdefault(name, []).append(report.name)
        return folders_by_name

    @property
    def accuracy_difference(self) -> Estimate | None:
        """Accuracy of the first model minus that of the second one; None for other numbers of models."""
        tests = self.ranking.list_accuracy_tests()
        if len(self.ranking.models) != 2 or not tests:
            return None
        difference = tests[0].figure.difference
        if tests[0].model == self.names[0] or difference.value is None:
            return difference
        negated_low = None if difference.high is None else -difference.high
        negated_high = None if difference.low is None else -difference.low
        return dataclasses.replace(
            difference, value=-difference.value, low=negated_low, high=negated_high
        )

    @property
    def is_first_to_blame(self) -> bool:
        """Whether the sentence about reasons continues that about the most accurate model."""
        has_best = self.comparison.accuracy.kind == "best"
        return has_best and self.comparison.reasons.model == self.names[0]

    @property
    def evidence_sentence(self) -> str:
        """What the items of the evidence show, in one sentence."""
        key, _, _ = self.comparison.reasons.figure.key.partition(".")
        return self.headings(f"shows.{key}")

    @property
    def example_title(self) -> str:
        """Title of the item that the page shows first."""
        has_finding = self.comparison.accuracy.kind in ("best", "partly")
        if has_finding or self.comparison.reasons.model:
            return "One item that shows it"
        return "One item on which the models disagree"

    @property
    def has_predictions(self) -> bool:
        """Whether the reports store the predictions, and not only whether they are correct."""
        answers = self.ranking.group.answers
        return all((model_answers.predicted >= 0).any() for model_answers in answers)

    @property
    def has_unread(self) -> bool:
        """Whether an answer cannot be read."""
        return any(report.audit["answers"]["lacks"] for report in self.ranking.group.reports)

    @property
    def max_items(self) -> int:
        """Number of items of the largest compared report."""
        return max([0, *(model.n_items for model in self.ranking.models)])

    @property
    def is_partial(self) -> bool:
        """Whether a report contains items that not all compared reports do."""
        return 0 < self.ranking.n_items < self.max_items

    def make_anchor(self, table: str, item_id: str) -> str:
        """Return the name by which a link finds an item in a table of the page."""
        return f"{table}{self.key}-{get_address(item_id)}"

    def link(self, model: RankedModel, text: str, fragment: str = "", **fields: str) -> p.Link:
        """Return a link to the report of a model.

        Args:
            model: The model.
            text: Text of the link.
            fragment: Name of a place of the report; "" for its beginning.
            **fields: Further fields of the link.
        """
        page = Path(model.report) / PAGE
        address = ""
        # The page of a report may have been deleted.
        if self.out is not None and page.is_file():
            path = Path(_get_relative_path(page, self.out))
            address = quote(path.as_posix())
            if fragment:
                address += f"#{quote(fragment)}"
        return p.Link(text, address, **fields)


def _get_relative_path(page: Path, folder: Path) -> str:
    """Return the path of a page from a folder; its absolute path if they are on different drives."""
    # A relative path is also valid if both folders are moved together.
    try:
        return os.path.relpath(page, folder)
    except ValueError:
        return str(page.resolve())


# -------------------------------------------------------------------------------------- tables


def list_model_rows(view: ComparisonView) -> Iterator[tuple[p.Cell, ...]]:
    """Yield a row per model: its accuracy, its value of the claimed figure, and its verdicts."""
    figure = view.comparison.reasons.figure
    for model in view.ranking.all_models:
        cells: list[p.Cell] = [view.link(model, model.name), p.Amount(model.accuracy, "fraction")]
        # The template of the columns has the same conditions.
        if view.is_partial:
            cells.append(_make_amount(model.common_accuracy, "fraction"))
        if figure.better:
            value = figure.find_value(model.name)
            cells.append(None if value is None else _make_amount(value.estimate, value.unit))
        for question, _ in view.ranking.questions:
            verdict = model.find_verdict(question)
            cells.append(None if verdict is None else _make_verdict_cell(view, model, verdict))
        yield tuple(cells)


def _make_amount(estimate: Estimate | None, unit: str) -> p.Amount | None:
    """Return a cell with an estimate; None if there is none."""
    return None if estimate is None else p.Amount(estimate, unit)


def _make_verdict_cell(view: ComparisonView, model: RankedModel, verdict: ModelVerdict) -> p.Link:
    """Return a link to the section of a report, with the light of its verdict.

    Args:
        view: The comparison.
        model: The model.
        verdict: A verdict of its report.
    """
    text = verdict.label
    # A terminal has no room for sentences.
    if view.out is None:
        text = ""
        if verdict.estimate is not None and verdict.estimate.value is not None:
            text = format_estimate(verdict.estimate, verdict.unit)
    light = LIGHTS[verdict.tone]
    return view.link(model, text, verdict.question, light=light, tone=verdict.tone)


def list_finding_rows(view: ComparisonView) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the claim of each report for each question, the worst first."""
    findings = []
    for model in view.ranking.all_models:
        for verdict in model.verdicts:
            findings.append((model, verdict))
    # Sorting keeps the order of the models.
    findings.sort(key=lambda finding: finding[1].badness)
    for model, verdict in findings:
        # Without a finding, the verdict is the claim.
        claim = f"{model.name}: {verdict.label}."
        if verdict.claim:
            claim = f"{model.name} {verdict.claim}."
        evidence = view.link(model, "its section", verdict.question)
        # The page of the report lists its items by their ids.
        if verdict.item:
            evidence = view.link(model, verdict.item, get_address(verdict.item))
        title = p.Link(verdict.title, light=LIGHTS[verdict.tone], tone=verdict.tone)
        yield model.name, title, claim, evidence


def list_pattern_rows(view: ComparisonView) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the number of items for each set of correct models, with a link to the first one."""
    for pattern in view.comparison.patterns:
        # Items on which all models agree are not listed.
        link = None
        if pattern.item:
            link = p.Link(pattern.item, f"#{quote(view.make_anchor('items', pattern.item))}")
        yield (
            ", ".join(pattern.correct) or "none",
            ", ".join(pattern.incorrect) or "none",
            pattern.n_items,
            link,
        )


def list_item_rows(view: ComparisonView) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the items on which the models disagree, with the answer of each model."""
    for item in view.comparison.disagreements.items:
        yield _list_item_cells(view, item, "items")


def list_evidence_rows(view: ComparisonView) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the items that show the finding about reasons, with the answer of each model."""
    for item in view.comparison.evidence.items:
        yield _list_item_cells(view, item, "evidence")


def _list_item_cells(view: ComparisonView, item: RankedItem, table: str) -> tuple[p.Cell, ...]:
    """Return the cells of an item: id, text, label, and the answer of each model as a link."""
    anchor = view.make_anchor(table, item.id)
    cells: list[p.Cell] = [p.Link(item.id, anchor=anchor), item.text, item.label]
    for model, answer in zip(view.ranking.models, item.answers, strict=True):
        mark = "✓" if answer.is_correct else "✗"
        text = f"{mark}\N{NO-BREAK SPACE}{answer.outcome}"
        # The note of the table says which models have the values 0 and 1.
        if answer.value is not None and answer.value not in (0.0, 1.0):
            text += f" ({answer.value:.3f})"
        cells.append(view.link(model, text, get_address(item.id)))
    return tuple(cells)


def list_test_rows(view: ComparisonView) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the paired tests."""
    for test in view.ranking.tests:
        figure = test.figure
        # A test without a significant difference does not show that models are equal.
        yield (
            test.better or "undecided",
            figure.name,
            ", ".join(test.models),
            p.Amount(figure.first, figure.unit),
            p.Amount(figure.second, figure.unit),
            p.Amount(figure.difference, figure.unit),
            figure.n_items,
            figure.p_value,
            figure.holm_p_value,
        )


# ------------------------------------------------------------------------------------- example


def pick_example(view: ComparisonView) -> tuple[p.Example, ...]:
    """Return the one item that shows the finding; none if the models give the same answers."""
    comparison = view.comparison
    examples = list_report_examples(view.ranking, comparison.reasons)
    if comparison.evidence.items:
        item = comparison.evidence.items[0]
        marked = examples.get(item.id)
        note = view.evidence_sentence
        if marked is not None:
            note = f"{comparison.reasons.model}: {marked.note} {note}"
        return (make_example(item, note, marked),)
    # A finding without a significantly better model is shown by the example of its report.
    for example in examples.values():
        prediction = f"{example.prediction} ({comparison.reasons.model})"
        return (dataclasses.replace(example, prediction=prediction),)
    disagreement = _find_disagreement(view)
    if disagreement is None:
        return ()
    return (make_example(disagreement, describe_confidences(disagreement)),)


def _find_disagreement(view: ComparisonView) -> RankedItem | None:
    """Return an item that the first model answers correctly, and as many others as possible do not.

    If there is none, it is the first item on which the models disagree.
    """
    item_id = ""
    n_incorrect = 0
    for pattern in view.comparison.patterns:
        is_first_correct = view.names[0] in pattern.correct
        if pattern.item and is_first_correct and len(pattern.incorrect) > n_incorrect:
            item_id = pattern.item
            n_incorrect = len(pattern.incorrect)
    for item in view.comparison.disagreements.items:
        if item.id == item_id or not item_id:
            return item
    return None


# ------------------------------------------------------------------------------------ question


RANKING = Question(
    name="ranking",
    prose=sentences("ranking", list_models=list_models),
    verdict=(Rule("neutral", "found"),),
    parts=(
        Part("models", (Table("models", list_model_rows, "Wilson 1927"),)),
        Part(
            "findings",
            (Table("findings", list_finding_rows),),
            condition=lambda m: m.ranking.questions,
        ),
        Part(
            "items",
            (
                Table(
                    "evidence", list_evidence_rows, condition=lambda m: m.comparison.evidence.items
                ),
                Table("patterns", list_pattern_rows),
                Table(
                    "items", list_item_rows, condition=lambda m: m.comparison.disagreements.items
                ),
            ),
            condition=lambda m: m.comparison.patterns,
        ),
        Part(
            "tests",
            (Table("tests", list_test_rows, TESTS, folded=True),),
            condition=lambda m: m.ranking.tests,
        ),
    ),
    leads=(Lead("found", pair=pick_example),),
)


def make_model_table(view: ComparisonView) -> p.Table:
    """Return the table of the models, the most accurate first.

    Args:
        view: The comparison, as the page shows it.
    """
    (table,) = answer_ranking(view).parts[0].tables
    return table


def answer_ranking(view: ComparisonView, omitted: Collection[str] = ()) -> p.SectionResult:
    """Return the section about the models of a task.

    Args:
        view: The comparison, as the page shows it.
        omitted: Keys of parts that are shown elsewhere.
    """
    parts = [section_part for section_part in RANKING.parts if section_part.key not in omitted]
    return dataclasses.replace(RANKING, parts=parts).answer(view, **view.values)


def make_front(view: ComparisonView, table: p.Table) -> Front:
    """Return what the page shows below its heading: the models, and links to the items.

    Args:
        view: The comparison of the finding, as the page shows it.
        table: Table of the models.
    """
    evidence_addresses = _list_addresses(view, "evidence", view.comparison.evidence)
    item_addresses = _list_addresses(view, "items", view.comparison.disagreements)
    # The first item of a table stands for the table.
    links = []
    if evidence_addresses:
        n_items = view.comparison.evidence.n_items
        text = pluralize(n_items, "item that shows this", "items that show this")
        links.append((next(iter(evidence_addresses.values())), text))
    if item_addresses:
        text = f"{pluralize(view.comparison.disagreements.n_items, 'item')} on which the models disagree"
        links.append((next(iter(item_addresses.values())), text))
    # An item in both tables is shown as evidence.
    return Front(table, view.example_title, links, {**item_addresses, **evidence_addresses})


def _list_addresses(view: ComparisonView, key: str, table: ItemTable) -> dict[str, str]:
    """Return id -> address of the row, for the items of a table of the page."""
    addresses = {}
    for item in table.items:
        addresses[item.id] = f"#{quote(view.make_anchor(key, item.id))}"
    return addresses


def render_views(heading: str, views: Sequence[ComparisonView]) -> str:
    """Render comparisons of models as HTML for a notebook.

    Args:
        heading: The finding.
        views: The comparison of each task.
    """
    tables = [make_model_table(view) for view in views]
    examples: list[tuple[str, Any]] = []
    # The finding about several tasks has no item.
    if len(views) == 1:
        for example in pick_example(views[0]):
            examples.append((views[0].example_title, example))
    return render_comparison(heading, tables, examples)
