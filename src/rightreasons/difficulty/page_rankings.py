"""The part of the report that ranks items by the largest Fisher eigenvalue.

`EIGENVALUE` is the question. Words are replaced in items at three levels of difficulty, and if the data has
contrast sets, the eigenvalues of originals and revisions are compared.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.audited.examples import make_example
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.core.sentences import pluralize
from rightreasons.core.store import format_csv
from rightreasons.difficulty.fisher_items import measure_split, select_items
from rightreasons.difficulty.measure import (
    KEPT,
    NEAR,
    REVERSED,
    DifficultyMeasurement,
    WordFlips,
    measure_flips,
)
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.difficulty.page_contrast import find_contrast_sets
from rightreasons.difficulty.ranking import PairedDifficulty, paired_difficulty
from rightreasons.difficulty.scope import explain_missing_fisher
from rightreasons.difficulty.substitutions import Attempt, SubstitutionOptions
from rightreasons.models.runs.progress import bars_about
from rightreasons.page.formats import decimal, percent
from rightreasons.page.parts import Change, Example, Mark
from rightreasons.page.plots import Curve, Drawing, curves
from rightreasons.page.prose import prose
from rightreasons.page.question import Examples, Figure, Lead, Need, Part, Plot, Question, Rule

if TYPE_CHECKING:
    from rightreasons.models.classes import Classifier

N_EXAMPLES = 6

TOP_K = 6
"""Number of words of each tested item that are replaced, those of largest attribution."""

MIN_MARK = 0.2
"""Smallest share of the largest move of a word with which another word is marked."""

GROUP_BY_END = {"hardest": -1, "easiest": 0}
"""Index of the group at each end of the ranking."""

DATTA = "Datta et al. 2020, arXiv:2010.07212"

KINDS_BY_EFFECT = {"meaning kept": KEPT, "similar meaning": NEAR, "meaning reversed": REVERSED}
"""Effect of a replacement on the meaning of a word, according to its source -> its kinds."""


@dataclasses.dataclass(frozen=True, eq=False)
class EigenvalueAnswers:
    """The items of the primary split, ranked by their eigenvalue.

    Attributes:
        context: The audit.
        split: The items that were measured.
        measured: Their eigenvalues.
        flips: Effect of single replaced words; None if words are not replaced.
        pairs: Change of the eigenvalue from originals to their revisions; None without contrast sets.
    """

    context: AuditContext
    split: AuditSplit
    measured: DifficultyMeasurement
    flips: WordFlips | None = None
    pairs: PairedDifficulty | None = None

    @property
    def n_items(self) -> int:
        """Number of ranked items."""
        return len(self.measured)

    @functools.cached_property
    def accuracies(self) -> list[Estimate]:
        """Accuracy on each group, the easiest first; [] if labels are too few."""
        return self.measured.accuracies(self.context.resampling)

    def n_in_group(self, group: int) -> int:
        """Return the size of a group."""
        return len(self.measured.groups[group]) if self.measured.groups else 0

    def examples(self, end: str) -> Iterator[Example]:
        """Show the hardest items, or the easiest."""
        # The order begins with the hardest item.
        step = 1 if end == "hardest" else -1
        for index in self.measured.order[::step][:N_EXAMPLES]:
            yield make_example(
                self.context,
                self.split,
                int(self.measured.rows[index]),
                int(self.measured.predicted[index]),
                float(self.measured.confidence[index]),
                self.mark_words(index),
                self.describe_item(index),
            )

    def flipped(self, level: str, *, keeps: bool = True) -> tuple[int, int]:
        """Return how many items of a level a replacement flips, and how many have one.

        Args:
            level: "hardest", "middle" or "easiest".
            keeps: Whether the replacement keeps the meaning or reverses it.
        """
        if self.flips is None:
            return 0, 0
        return self.flips.count_flipped(level, KEPT if keeps else REVERSED)

    def flip_rate(self, level: str, *, keeps: bool) -> Estimate | None:
        """Return the share of the items of a level that a replacement flips."""
        n_flipped, n_tested = self.flipped(level, keeps=keeps)
        return estimate_share(n_flipped, n_tested, self.context.resampling)

    @functools.cached_property
    def rates(self) -> dict[str, list[Estimate]]:
        """Share of attempts that flip by difficulty, the easiest third first, for each effect."""
        rates = {}
        for effect, kinds in KINDS_BY_EFFECT.items():
            result = self.flips and self.flips.measure_rates(kinds, self.context.resampling)
            # With ties, or few items that have such a word, there are fewer than three groups.
            if result and len(result.groups) == 3:
                rates[effect] = [
                    make_estimate(group.rate, group.interval) for group in result.groups
                ]
        return rates

    @property
    def not_harder(self) -> Estimate | None:
        """Share of the contrast sets whose revisions are not harder than their original."""
        if self.pairs is None:
            return None
        # The share is of whole sets, so this is their number.
        n_not_harder = round(self.pairs.not_harder * self.pairs.n_pairs)
        return estimate_share(n_not_harder, self.pairs.n_pairs, self.context.resampling)

    def describe_item(self, index: int) -> str:
        """Describe how fragile an item is, and what flips it."""
        note = f"λ = {decimal(float(self.measured.values[index]))}"
        attempts = None if self.flips is None else self.flips.list_attempts(index)
        if attempts is None:
            return note
        return f"{note}. {self._describe_attempts(attempts)}"

    def _describe_attempts(self, attempts: list[Attempt]) -> str:
        if not attempts:
            return "No word of it could be replaced."
        # The attempts are sorted, so the most informative one is described.
        best = attempts[0]
        change = best.changes[0]
        words = f"“{change.original}” → “{change.replacement}” ({best.kind})"
        if best.flipped:
            n_flips = sum(attempt.flipped for attempt in attempts)
            label = self.context.label_name(best.after)
            return f"{words} flips it to {label} ({n_flips} of {len(attempts)} replacements do)."
        return (
            f"None of {len(attempts)} replacements flips it; {words} comes closest "
            f"(confidence {percent(best.confidence_before)} to {percent(best.confidence_after)})."
        )

    def list_changes(self) -> Iterator[tuple[str, Change]]:
        """Return the changed texts with their predictions, each after its original."""
        if self.flips is None:
            return
        # An attempt counts tested items, whose rows are known by their index among the measured ones.
        for attempt in self.flips.tests.attempts:
            row = int(self.measured.rows[self.flips.indices[attempt.item]])
            words = [f"“{change.original}” → “{change.replacement}”" for change in attempt.changes]
            label = self.context.label_name(attempt.after)
            change = Change(", ".join(words), attempt.text, label, attempt.new_confidence)
            yield self.split.texts[row], change

    def mark_words(self, index: int) -> tuple[Mark, ...]:
        """Mark the words of an item that the eigenvector moves."""
        fisher = self.measured.fisher
        row = int(self.measured.rows[index])
        if fisher.token_norms is None:
            return ()
        # The tokens of all items are in flat arrays, one item after another.
        words = slice(*fisher.token_norms.offsets[row : row + 2])
        norms = fisher.token_norms[row]
        starts = np.asarray(fisher.starts)[words].tolist()
        ends = np.asarray(fisher.ends)[words].tolist()
        # A text without words has no norms.
        largest = float(norms.max(initial=0.0))

        marks = []
        reached = 0
        for norm, start, end in zip(norms.tolist(), starts, ends, strict=True):
            # Characters begin again with the second text of a pair, which is not displayed.
            if start < reached or end > len(self.split.texts[row]):
                break
            reached = end
            if largest > 0 and norm >= MIN_MARK * largest and end > start:
                note = f"moves by {decimal(norm)}"
                marks.append(Mark(start, end, "weight", norm / largest, note))
        return tuple(marks)


def measure_eigenvalues(context: AuditContext, options: DifficultyOptions) -> EigenvalueAnswers:
    """Rank the items of the primary split, and replace words at three levels of difficulty."""
    split = select_items(context, options)
    measured = measure_split(context, split)
    flips = None
    # Words are chosen by attributions, which only classifiers have, and in a single text.
    if split.text_pairs is None and not context.why_no_gradients():
        flip_options = SubstitutionOptions(
            top_k=TOP_K,
            n_candidates=2,
            batch_size=context.running(context.out)["batch_size"],
            seed=context.seed,
            progress=context.progress,
            fail_fast=context.settings.fail_fast,
        )
        classifier = cast("Classifier", context.scorer)
        with bars_about("words replaced"):
            flips = measure_flips(classifier, split.texts, measured, flip_options)
    pairs = compare_revisions(context, measured, options)
    return EigenvalueAnswers(context, split, measured, flips, pairs)


def compare_revisions(
    context: AuditContext, measured: DifficultyMeasurement, options: DifficultyOptions
) -> PairedDifficulty | None:
    """Compare the eigenvalue of each original with the mean of its revisions; None without sets."""
    sets = find_contrast_sets(context, context.primary, options)
    if sets is None:
        return None
    values = dict(zip(measured.ids, measured.values.tolist(), strict=True))
    ids = [context.primary.ids[row] for row in sets.rows]
    originals: dict[str, float] = {}
    revisions: dict[str, list[float]] = {}
    for name, group, is_original in zip(ids, sets.groups, sets.is_original, strict=True):
        # Of a sample of the items, a set may be there in part.
        if name not in values:
            continue
        if is_original:
            originals[group] = values[name]
        else:
            revisions.setdefault(group, []).append(values[name])

    groups = [group for group in originals if group in revisions]
    if not groups:
        return None
    # The mean over revisions makes sets the units: revisions of one original depend on each other.
    return paired_difficulty(
        [originals[group] for group in groups],
        [float(np.mean(revisions[group])) for group in groups],
        resampling=context.resampling,
    )


def draw_accuracy(key: str, m: EigenvalueAnswers) -> Drawing:
    """Draw the accuracy on groups of equal size, by rising eigenvalue."""
    # Groups without ties differ by one item at most, so the size of one stands for all.
    xlabel = f"group of rising eigenvalue ({pluralize(m.n_in_group(0), 'item')} each)"
    groups = range(1, len(m.accuracies) + 1)
    curve = Curve("accuracy", m.accuracies)
    return curves(key, groups, [curve], xlabel=xlabel, ylabel="accuracy")


def draw_flips(key: str, m: EigenvalueAnswers) -> Drawing:
    """Draw the share of attempts that flip, by rising eigenvalue and effect."""
    lines = [Curve(effect, estimates) for effect, estimates in m.rates.items()]
    return curves(
        key,
        range(1, 4),
        lines,
        xlabel="third of the tested items by rising eigenvalue",
        ylabel="replacements that flip",
    )


def list_data(m: EigenvalueAnswers) -> dict[str, Any]:
    """Return the contents of audit.json in addition to the figures."""
    measured = m.measured
    accuracy = None
    if measured.groups:
        accuracy = {
            "accuracies": [estimate.value for estimate in m.accuracies],
            "counts": [len(group) for group in measured.groups],
        }
    # Unlike the picture, the file also has effects with fewer than three groups.
    flips = None
    if m.flips is not None:
        flips = {}
        for effect, kinds in KINDS_BY_EFFECT.items():
            rates = m.flips.measure_rates(kinds, m.context.resampling)
            flips[effect] = rates and rates.to_dict()
    return {
        "ranking": _rank_items(m),
        "failures": [{"id": name, "reason": reason} for name, reason in measured.fisher.failures],
        "accuracy_by_difficulty": accuracy,
        "flips_by_difficulty": flips,
        "revisions": m.pairs and m.pairs.to_dict(),
        "substitutions": m.flips and m.flips.tests.to_dict(),
    }


def _rank_items(m: EigenvalueAnswers) -> list[dict[str, Any]]:
    measured = m.measured
    rows = []
    for index in measured.order:
        row = {
            "id": measured.ids[index],
            "eigenvalue": float(measured.values[index]),
            "scale_free": float(measured.fisher.scale_free[measured.rows[index]]),
            "prediction": m.context.label_name(int(measured.predicted[index])),
            # Rounding may put the sum of the probabilities above 1.
            "confidence": float(min(measured.confidence[index], 1.0)),
            "label": m.context.label_name(int(measured.labels[index])),
            "words": measured.words(index),
        }
        rows.append(row)
    return rows


def write_ranking(m: EigenvalueAnswers) -> Mapping[str, str]:
    """Return the ranking as a file for a spreadsheet."""
    # A cell of a spreadsheet holds one text, so the words are joined.
    rows = _rank_items(m)
    lines = [list(rows[0])]
    for row in rows:
        lines.append([*(row | {"words": " ".join(row["words"])}).values()])
    return {"ranking.csv": format_csv(lines)}


def list_flipped_examples(m: EigenvalueAnswers) -> tuple[Example, ...]:
    """Return the hardest item that a replacement flips, if there is one."""
    # The note says which replacement flips the item, if one does.
    for example in m.examples("hardest"):
        if "flips it" in example.note:
            return (example,)
    return ()


def _make_accuracy_figure(end: str) -> Figure:
    group = GROUP_BY_END[end]
    return Figure(
        f"{end}_accuracy",
        lambda m: m.accuracies[group] if m.accuracies else None,
        "Counted",
        better="higher",
        n=lambda m: m.n_in_group(group),
    )


def _make_flip_figure(end: str, key: str) -> Figure:
    # A word of the same meaning should not flip a prediction; one of the opposite meaning may have to.
    keeps = key == "flipped"
    return Figure(
        f"{end}_{key}",
        lambda m: m.flip_rate(end, keeps=keeps),
        f"{DATTA}, section 4.2.1",
        better="lower" if keeps else "higher",
        n=lambda m: m.flipped(end, keeps=keeps)[1],
    )


FIGURES = (
    _make_accuracy_figure("hardest"),
    _make_accuracy_figure("easiest"),
    _make_flip_figure("hardest", "flipped"),
    _make_flip_figure("hardest", "reversed"),
    _make_flip_figure("easiest", "flipped"),
    _make_flip_figure("easiest", "reversed"),
    Figure(
        "revisions_not_harder",
        lambda m: m.not_harder,
        f"{DATTA}, Table 4",
        n=lambda m: m.pairs.n_pairs,
    ),
    Figure(
        "median_difficulty",
        lambda m: m.measured.median(m.context.resampling),
        DATTA,
        "ratio",
        "lower",
    ),
)

# The first two are displayed if contrast sets have figures, too.
HEADLINES = (
    "hardest_accuracy",
    "easiest_accuracy",
    "hardest_flipped",
    "median_difficulty",
    "easiest_flipped",
    "hardest_reversed",
    "easiest_reversed",
    "revisions_not_harder",
)

EIGENVALUE = Question(
    name="eigenvalue",
    title="How far is each prediction from changing?",
    prose=prose(
        __file__,
        MIN_ITEMS=MIN_ITEMS,
        TOP_K=TOP_K,
        KINDS_BY_EFFECT=KINDS_BY_EFFECT,
        explain_missing_fisher=explain_missing_fisher,
    ),
    needs=(
        Need("model", lambda context, options: context.stored is None),
        Need("items", lambda context, options: len(context.primary) >= MIN_ITEMS),
        Need("gradients", lambda context, options: not explain_missing_fisher(context)),
    ),
    measure=measure_eigenvalues,
    figures=FIGURES,
    headlines=HEADLINES,
    verdict=(Rule("neutral", "ranked"),),
    parts=(
        Part("spread", figures=HEADLINES),
        Part(
            "agreement",
            (Plot("difficulty_accuracy", draw_accuracy, DATTA),),
            condition=lambda m: m.accuracies,
        ),
        Part(
            "flips",
            (Plot("difficulty_flips", draw_flips, f"{DATTA}, section 4.2.1"),),
            condition=lambda m: m.rates,
        ),
        Part("revisions", condition=lambda m: m.pairs),
        Part(
            "ends",
            (
                Examples("hardest_examples", lambda m: m.examples("hardest")),
                Examples("easiest_examples", lambda m: m.examples("easiest")),
            ),
        ),
    ),
    leads=(
        Lead(
            "flipped",
            figure="hardest_flipped",
            plot="difficulty_accuracy",
            size=lambda m: None,
            pair=list_flipped_examples,
            contrast=lambda m: [m.flip_rate(end, keeps=True) for end in GROUP_BY_END],
            condition=lambda m: m.flipped("hardest")[1],
        ),
        Lead(
            "right",
            figure="hardest_accuracy",
            plot="difficulty_accuracy",
            size=lambda m: None,
            contrast=lambda m: [m.accuracies[group] for group in GROUP_BY_END.values()],
            condition=lambda m: m.accuracies,
        ),
        Lead("ranked", size=lambda m: None),
    ),
    data=list_data,
    files=write_ranking,
    changes=lambda m: m.list_changes(),
)
