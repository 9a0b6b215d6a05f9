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
from rightreasons.models.runs.progress import prefix_bar_titles
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
        """Yield the hardest items for the page, or the easiest, with marked words and a note.

        Args:
            end: "hardest" or "easiest".
        """
        order = self.measured.order
        if end == "easiest":
            # The order begins with the hardest item.
            order = order[::-1]
        for index in order[:N_EXAMPLES]:
            yield make_example(
                self.context,
                self.split,
                int(self.measured.rows[index]),
                predicted=int(self.measured.predicted[index]),
                confidence=float(self.measured.confidence[index]),
                marks=self.mark_words(index),
                note=self.describe_item(index),
            )

    def flipped(self, level: str, *, keeps: bool = True) -> tuple[int, int]:
        """Count the items of a level whose prediction a replaced word flips.

        Args:
            level: "hardest", "middle" or "easiest".
            keeps: Whether the replacement keeps the meaning or reverses it.

        Returns:
            Number of items that a replacement flips, and number of items that have one; 0 and 0 if no words
            were replaced.
        """
        if self.flips is None:
            return 0, 0
        # A prediction should withstand the former, and may have to follow the latter.
        kinds = KEPT if keeps else REVERSED
        return self.flips.count_flipped(level, kinds)

    def flip_rate(self, level: str, *, keeps: bool) -> Estimate | None:
        """Return the share of the items of a level that a replacement flips."""
        n_flipped, n_tested = self.flipped(level, keeps=keeps)
        return estimate_share(n_flipped, n_tested, self.context.resampling)

    @functools.cached_property
    def rates(self) -> dict[str, list[Estimate]]:
        """Share of attempts that flip in each third of the items, the easiest first, by effect.

        The keys are effects of a replacement on the meaning, such as "meaning kept". An effect is excluded
        if its items do not form three groups.
        """
        rates: dict[str, list[Estimate]] = {}
        if self.flips is None:
            return rates
        for effect, kinds in KINDS_BY_EFFECT.items():
            result = self.flips.measure_rates(kinds, self.context.resampling)
            # With ties, or few items that have such a word, there are fewer than three groups.
            if result is None or len(result.groups) != 3:
                continue
            rates[effect] = [make_estimate(group.rate, group.interval) for group in result.groups]
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
        """Describe how fragile an item is, and which replaced word flips it if that was tested.

        Args:
            index: Index of the item among the measured ones.

        Returns:
            Sentences such as "λ = 0.42. None of 5 replacements flips it; …".
        """
        note = f"λ = {decimal(float(self.measured.values[index]))}"
        attempts = None
        if self.flips is not None:
            attempts = self.flips.list_attempts(index)
        if attempts is None:
            return note
        return f"{note}. {self._describe_attempts(attempts)}"

    def _describe_attempts(self, attempts: list[Attempt]) -> str:
        """Describe in one sentence whether a replaced word flips an item, by the best attempt.

        Args:
            attempts: Attempts on the item, the most informative first; [] if no word could be replaced.
        """
        if not attempts:
            return "No word could be replaced."
        best = attempts[0]
        change = best.changes[0]
        words = f"“{change.original}” → “{change.replacement}” ({best.kind})"
        if best.flipped:
            n_flips = sum(attempt.flipped for attempt in attempts)
            label = self.context.label_name(best.after)
            return (
                f"{words} flips it to {label} (flips: {n_flips} of {len(attempts)} replacements)."
            )
        # Without a flip, the first attempt is the one with the lowest remaining confidence.
        return (
            f"None of {len(attempts)} replacements flips it; {words} comes closest "
            f"(confidence {percent(best.confidence_before)} to {percent(best.confidence_after)})."
        )

    def list_changes(self) -> Iterator[tuple[str, Change]]:
        """Yield each attempt as the original text and its change.

        The change has the replaced words, the new text, and its prediction.
        """
        if self.flips is None:
            return
        for attempt in self.flips.tests.attempts:
            # `attempt.item` counts the tested items, `index` the measured ones, `row` those of the split.
            index = self.flips.indices[attempt.item]
            row = int(self.measured.rows[index])
            words = [f"“{change.original}” → “{change.replacement}”" for change in attempt.changes]
            label = self.context.label_name(attempt.after)
            change = Change(", ".join(words), attempt.text, label, attempt.new_confidence)
            yield self.split.texts[row], change

    def mark_words(self, index: int) -> tuple[Mark, ...]:
        """Mark the words of an item that the eigenvector moves most, for the page.

        Args:
            index: Index of the item among the measured ones.

        Returns:
            A mark for each word that moves by at least `MIN_MARK` of the largest move; () if the eigenvector
            was not computed.
        """
        fisher = self.measured.fisher
        row = int(self.measured.rows[index])
        if fisher.token_norms is None:
            return ()
        # The characters of the words of all items are in flat arrays, one item after another.
        start_word, end_word = fisher.token_norms.offsets[row : row + 2]
        starts = np.asarray(fisher.starts)[start_word:end_word].tolist()
        ends = np.asarray(fisher.ends)[start_word:end_word].tolist()
        norms = fisher.token_norms[row]
        # A text without words has no norms.
        largest = float(norms.max(initial=0.0))

        marks = []
        previous_end = 0
        for norm, start, end in zip(norms.tolist(), starts, ends, strict=True):
            # Characters are counted from 0 again in the second text of a pair, which is not displayed.
            if start < previous_end or end > len(self.split.texts[row]):
                break
            previous_end = end
            if largest > 0 and norm >= MIN_MARK * largest and end > start:
                note = f"moves by {decimal(norm)}"
                marks.append(Mark(start, end, "weight", norm / largest, note))
        return tuple(marks)


def measure_eigenvalues(context: AuditContext, options: DifficultyOptions) -> EigenvalueAnswers:
    """Rank the items of the primary split by Fisher eigenvalue, the measure of their difficulty.

    A classifier of single texts also predicts the easiest, middle and hardest items again with replaced
    words. If the split has contrast sets, the eigenvalues of originals and revisions are compared.

    Args:
        context: The audit, with its model and its primary split.
        options: Options of the question: the maximum number of items, and the columns of contrast sets.

    Returns:
        The eigenvalues, the flips by replaced words, and the comparison of originals with revisions.
        The last two are None if they do not apply.
    """
    split = select_items(context, options)
    measured = measure_split(context, split)

    flips = None
    # The words to replace are chosen by their attributions, which need gradients of a single text.
    has_attributions = split.text_pairs is None and not context.why_no_gradients()
    if has_attributions:
        flip_options = SubstitutionOptions(
            top_k=TOP_K,
            n_candidates=2,
            batch_size=context.get_run_arguments(context.out)["batch_size"],
            seed=context.seed,
            progress=context.progress,
            fail_fast=context.settings.fail_fast,
        )
        classifier = cast("Classifier", context.scorer)
        with prefix_bar_titles("words replaced"):
            flips = measure_flips(classifier, split.texts, measured, flip_options)

    return EigenvalueAnswers(
        context=context,
        split=split,
        measured=measured,
        flips=flips,
        pairs=compare_revisions(context, measured, options),
    )


def compare_revisions(
    context: AuditContext, measured: DifficultyMeasurement, options: DifficultyOptions
) -> PairedDifficulty | None:
    """Compare the eigenvalue of each original of a contrast set with the mean of its revisions.

    Args:
        context: The audit, whose primary split may have contrast sets.
        measured: Eigenvalues of its items, or of a sample of them.
        options: Options of the question.

    Returns:
        The comparison; None if no set has both an original and a revision with an eigenvalue.
    """
    sets = find_contrast_sets(context, context.primary, options)
    if sets is None:
        return None
    eigenvalue_by_id = dict(zip(measured.ids, measured.values.tolist(), strict=True))
    ids = [context.primary.ids[row] for row in sets.rows]
    originals: dict[str, float] = {}
    revisions: dict[str, list[float]] = {}
    for item_id, group, is_original in zip(ids, sets.groups, sets.is_original, strict=True):
        # A sample of the items may have a set in part.
        if item_id not in eigenvalue_by_id:
            continue
        eigenvalue = eigenvalue_by_id[item_id]
        if is_original:
            originals[group] = eigenvalue
        else:
            revisions.setdefault(group, []).append(eigenvalue)

    groups = [group for group in originals if group in revisions]
    if not groups:
        return None
    # The mean over revisions makes sets the units: revisions of one original depend on each other.
    return paired_difficulty(
        [originals[group] for group in groups],
        [float(np.mean(revisions[group])) for group in groups],
        resampling=context.resampling,
    )


def draw_accuracy(key: str, measurement: EigenvalueAnswers) -> Drawing:
    """Draw the accuracy on groups of items of about equal size, by rising eigenvalue.

    Args:
        key: Key of the picture, its name in the report.
        measurement: The ranked items, with the accuracy on each group.
    """
    # The sizes of the groups differ by one item at most, so the axis names the size of the first one.
    group_size = pluralize(measurement.n_in_group(0), "item")
    return curves(
        key,
        range(1, len(measurement.accuracies) + 1),
        [Curve("accuracy", measurement.accuracies)],
        xlabel=f"group of rising eigenvalue ({group_size} each)",
        ylabel="accuracy",
    )


def draw_flips(key: str, measurement: EigenvalueAnswers) -> Drawing:
    """Draw the share of word replacements that flip a prediction, in thirds of the items by eigenvalue.

    There is a line for each effect of the replacements, such as "meaning kept".

    Args:
        key: Key of the picture, its name in the report.
        measurement: The ranked items; `rates` has three estimates for each effect.
    """
    lines = [Curve(effect, estimates) for effect, estimates in measurement.rates.items()]
    thirds = (1, 2, 3)
    return curves(
        key,
        thirds,
        lines,
        xlabel="third of the tested items by rising eigenvalue",
        ylabel="replacements that flip",
    )


def list_data(measurement: EigenvalueAnswers) -> dict[str, Any]:
    """Return the contents of audit.json in addition to the figures: the ranking and all attempts.

    Args:
        measurement: The ranked items, with their accuracies, replaced words, and pairs of
            originals and revisions.

    Returns:
        Plain values, by key. What was not measured is None.
    """
    measured = measurement.measured
    accuracy = None
    if measured.groups:
        accuracy = {
            "accuracies": [estimate.value for estimate in measurement.accuracies],
            "counts": [len(group) for group in measured.groups],
        }
    # Unlike the picture, the file also has effects with fewer than three groups.
    flips = None
    substitutions = None
    if measurement.flips is not None:
        substitutions = measurement.flips.tests.to_dict()
        flips = {}
        for effect, kinds in KINDS_BY_EFFECT.items():
            rates = measurement.flips.measure_rates(kinds, measurement.context.resampling)
            flips[effect] = None if rates is None else rates.to_dict()
    revisions = None
    if measurement.pairs is not None:
        revisions = measurement.pairs.to_dict()
    return {
        "ranking": _rank_items(measurement),
        "failures": [{"id": name, "reason": reason} for name, reason in measured.fisher.failures],
        "accuracy_by_difficulty": accuracy,
        "flips_by_difficulty": flips,
        "revisions": revisions,
        "substitutions": substitutions,
    }


def _rank_items(measurement: EigenvalueAnswers) -> list[dict[str, Any]]:
    """Return a row of plain values for each measured item, the most difficult first.

    Args:
        measurement: The ranked items.
    """
    measured = measurement.measured
    rows = []
    for index in measured.order:
        row = {
            "id": measured.ids[index],
            "eigenvalue": float(measured.values[index]),
            "scale_free": float(measured.fisher.scale_free[measured.rows[index]]),
            "prediction": measurement.context.label_name(int(measured.predicted[index])),
            # Rounding may put the sum of the probabilities above 1.
            "confidence": float(min(measured.confidence[index], 1.0)),
            "label": measurement.context.label_name(int(measured.labels[index])),
            "words": measured.words(index),
        }
        rows.append(row)
    return rows


def write_ranking(measurement: EigenvalueAnswers) -> Mapping[str, str]:
    """Return the ranking of the items as a csv file for a spreadsheet.

    Args:
        measurement: The ranked items.

    Returns:
        Name of the file -> its content.
    """
    rows = _rank_items(measurement)
    headings = list(rows[0])
    lines = [headings]
    for row in rows:
        # A cell of a spreadsheet holds one text, so the words are joined.
        cells = {**row, "words": " ".join(row["words"])}
        lines.append(list(cells.values()))
    return {"ranking.csv": format_csv(lines)}


def list_flipped_examples(measurement: EigenvalueAnswers) -> tuple[Example, ...]:
    """Return the first of the hardest items on the page that a replacement flips; () if there is none."""
    for example in measurement.examples("hardest"):
        # The note of an item says which replacement flips it, if one does.
        if "flips it" in example.note:
            return (example,)
    return ()


def _make_accuracy_figure(end: str) -> Figure:
    """Return the definition of a figure of the report: the accuracy at one end of the ranking.

    Args:
        end: "hardest" or "easiest" items.
    """
    group = GROUP_BY_END[end]
    return Figure(
        f"{end}_accuracy",
        lambda m: m.accuracies[group] if m.accuracies else None,
        "Counted",
        better="higher",
        n=lambda m: m.n_in_group(group),
    )


def _make_flip_figure(end: str, key: str) -> Figure:
    """Return the definition of a figure of the report: the share of items that a replaced word flips.

    Args:
        end: "hardest" or "easiest" items.
        key: "flipped" for words of the same meaning, "reversed" for words of the opposite meaning.
    """
    keeps_meaning = key == "flipped"

    def count_tested_items(measurement: EigenvalueAnswers) -> int:
        # Only items in which a word could be replaced by one of these kinds.
        _, n_tested = measurement.flipped(end, keeps=keeps_meaning)
        return n_tested

    return Figure(
        f"{end}_{key}",
        lambda m: m.flip_rate(end, keeps=keeps_meaning),
        f"{DATTA}, section 4.2.1",
        # A word of the same meaning should not flip a prediction. One of the opposite meaning may have to.
        better="lower" if keeps_meaning else "higher",
        n=count_tested_items,
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
