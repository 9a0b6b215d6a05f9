"""The question about answer priors: does a model pick an answer before reading the question?

`PROBES` declares the figures, the verdict and the parts of the section; what is measured is in
`measurement`. `JUDGES` is the section of judges of pairs.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.decisions import MARGINS
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.datasets.perturbing.arms import name_extra_choices
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.parts import Cell, Example, ItemFigure
from rightreasons.page.plots import Curve, Drawing, curves
from rightreasons.page.prose import Prose, prose
from rightreasons.page.question import (
    Condition,
    Examples,
    Figure,
    Lead,
    Need,
    Part,
    Plot,
    Question,
    Rule,
    Table,
)
from rightreasons.probes.bias import PriorBias
from rightreasons.probes.examples import (
    list_kept_examples,
    list_order_examples,
    list_paralysis_examples,
    list_unanswerable_examples,
)
from rightreasons.probes.measure import WITHOUT_ANSWER, count_spare_choices
from rightreasons.probes.measurement import NAMES, POWER, ProbesMeasurement, measure


def draw_paralysis(key: str, measurement: Any) -> Drawing:
    """Draw the drop of the confidence in the correct choice against the number of added choices.

    Further curves show the drop among the item's own choices, and that of the null model.

    Args:
        key: Key of the drawing.
        measurement: `ProbesMeasurement` with scored choices.
    """
    effects = dict(sorted(measurement.scored.paralysis.items()))
    drops = []
    restricted_drops = []
    null_drops = []
    for effect in effects.values():
        drops.append(effect.drop.estimate)
        restricted_drops.append(effect.restricted_drop.estimate)
        # The null model is computed without sampling error, so that it has no interval.
        null_drops.append(Estimate(effect.null_drop))
    lines = [
        Curve("drop", drops),
        Curve("among its own choices", restricted_drops),
        Curve("null", null_drops, dashed=True),
    ]
    return curves(
        key,
        list(effects),
        lines,
        xlabel="added choices",
        ylabel="drop of the confidence",
        zero=True,
    )


MIN_ITEMS = 10
"""Number of labeled items that the question needs."""

N_EXAMPLES = 3
"""Number of examples of a list."""

SHEN, ZHENG = "Shen & Kejriwal 2022", "Zheng et al. 2024"
BALEPUR = "Balepur et al. 2024; comparison of this package"

WITHOUT = {
    "no_question": "without the question",
    "wrong_question": "with the question of another item",
}
UNANSWERABLE = {
    "no_question": "without the question",
    "no_right_answer": "without a correct choice",
}
"""Probe without a correct choice -> its name in that of its prior bias by item."""
DONE = {
    "no_question": "the prompt is removed",
    "wrong_question": "the prompt is replaced by that of another item",
    "no_right_answer": "the correct choice is replaced by one of another item",
}
KEPT = {"no_question": "kept_without_question", "wrong_question": "kept_with_another_question"}
"""Probe -> figure of the answers that stay the same under it."""

DROPS = {
    "choice_paralysis": lambda effect: effect.drop.estimate,
    "restricted_drop": lambda effect: effect.restricted_drop.estimate,
}


def list_readings(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Yield a row per probe: how many answers stay without the question, and the accuracies.

    A row has: probe, answers kept, answers kept by chance, beyond chance, accuracy without the
    question, accuracy of guessing, and loss of accuracy.
    """
    for name, reading in measurement.reading.items():
        yield (
            NAMES[name],
            reading.kept,
            reading.by_chance,
            reading.beyond_chance,
            reading.accuracy_without,
            reading.guessing,
            reading.accuracy_loss,
        )


def list_first_examples(
    list_examples: Callable[[ProbesMeasurement], Iterator[Example]],
    measurement: ProbesMeasurement,
    *,
    n_examples: int = N_EXAMPLES,
) -> tuple[Example, ...]:
    """Return the first examples of a list, the clearest ones.

    Args:
        list_examples: Function of a measurement that yields examples, such as `list_order_examples`.
        measurement: The measurement.
        n_examples: Maximum number of examples.
    """
    return tuple(itertools.islice(list_examples(measurement), n_examples))


def declare_examples(
    key: str,
    list_examples: Callable[[ProbesMeasurement], Iterator[Example]],
    get_figure: Callable[[ProbesMeasurement], str],
    condition: Condition = None,
) -> Examples:
    """Declare a list of examples of the page.

    Args:
        key: Key of its prose.
        list_examples: Function of a measurement that yields examples.
        get_figure: Function of a measurement that returns the key of the figure that they show.
        condition: Whether it is shown.
    """
    # The list ends before the examples that nobody sees are made.
    pick = functools.partial(list_first_examples, list_examples)
    return Examples(key, pick, get_figure, condition=condition)


def declare_hero(
    list_examples: Callable[[ProbesMeasurement], Iterator[Example]],
) -> Callable[[ProbesMeasurement], tuple[Example, ...]]:
    """Declare the single example of a finding on the first screen."""
    return functools.partial(list_first_examples, list_examples, n_examples=1)


def estimate_bias(bias: PriorBias) -> Estimate:
    """Return a prior bias with its interval."""
    return make_estimate(bias.prior_bias, bias.interval)


def list_biases(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Yield the prior bias on the unchanged items, and under each probe without a correct choice.

    A row has: probe, prior bias, normalized bias, normalized divergence, mean largest confidence,
    and the rate, chance and p-value of the choice that was correct before.
    """
    biases = {ORIGINAL: measurement.scored.original, **measurement.scored.prior_bias}
    for name, bias in biases.items():
        pseudo_correct: tuple[Cell, ...] = (None, None, None)
        # If the probe replaced the correct choice, these cells are empty.
        if bias.pseudo_correct is not None:
            interval = measurement.scored.pseudo_correct_intervals.get(name)
            rate = make_estimate(bias.pseudo_correct.rate, interval)
            pseudo_correct = (rate, bias.pseudo_correct.chance, bias.pseudo_correct.p_value)
        yield (
            NAMES[name],
            estimate_bias(bias),
            bias.normalized_prior_bias,
            bias.normalized_divergence,
            bias.mean_top_confidence,
            *pseudo_correct,
        )


def list_paralysis(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each number of added choices: their effect on confidence and accuracy.

    A row has: number; drop of the confidence and its p-value; drops of the null model and by
    dilution; drop among the own choices and its p-value; accuracies before, after, and after among
    the own choices.
    """
    for k, effect in sorted(measurement.scored.paralysis.items()):
        yield (
            k,
            effect.drop.estimate,
            effect.drop.t_p_value,
            effect.null_drop,
            effect.mechanical_drop,
            effect.restricted_drop.estimate,
            effect.restricted_drop.t_p_value,
            effect.accuracy,
            effect.perturbed_accuracy,
            effect.restricted_accuracy,
        )


def describe_data(measurement: ProbesMeasurement) -> dict[str, Any]:
    """Return the data that audit.json stores about the question, next to the figures.

    Args:
        measurement: The measurement.

    Returns:
        "decided" and "n_left_out"; for generated answers also "reading", and for scored ones
        "figures", "orders" (None without orders), "not_scored" and "sees_choices_together".
    """
    decided = {name: decision.to_dict() for name, decision in measurement.decided.items()}
    if measurement.scored is None:
        return {
            "reading": {name: reading.to_dict() for name, reading in measurement.reading.items()},
            "decided": decided,
            "n_left_out": measurement.tables.n_dropped,
        }
    orders = None
    # Only choices that are scored together are asked in several orders.
    if measurement.orders is not None:
        orders = measurement.orders.to_dict()
        # One flag per item would make the record too long.
        del orders["steady"]
    return {
        "figures": measurement.scored.to_dict(),
        "orders": orders,
        "decided": decided,
        "n_left_out": measurement.tables.n_dropped,
        "not_scored": [
            {"id": item_id, "reason": reason} for item_id, reason in measurement.tables.left_out
        ],
        "sees_choices_together": measurement.joint,
    }


def list_item_figures(measurement: ProbesMeasurement) -> Iterator[ItemFigure]:
    """Yield figures with a value per item, by which items are filtered and two models compared.

    They are whether the answer changes with the order of the choices, and stays without the
    question; and for scored choices, those of `_list_scored_figures`. Two models are compared by the
    first two only if a report is about them.

    Args:
        measurement: The measurement.
    """
    item_ids = measurement.tables.column(ORIGINAL, "id")
    ordered = measurement.ordered
    if ordered is not None:
        yield ItemFigure.from_arrays(
            "order_changes",
            "Answer changes with the order",
            better="lower",
            ids=np.array(item_ids)[ordered.is_answered],
            values=~ordered.is_steady,
            is_finding=measurement.moves,
        )
    answers = measurement.picked[ORIGINAL]
    for name in measurement.reading:
        # All reports of scored choices are compared by this figure.
        is_common = is_scored(measurement) and name == "no_question"
        yield ItemFigure.from_arrays(
            KEPT[name],
            f"Answer stays {WITHOUT[name]}",
            better="lower",
            ids=item_ids,
            # An item without an answer keeps none.
            values=(answers == measurement.picked[name]) & (answers >= 0),
            is_finding=is_common or measurement.says(f"kept_{name}", "large", "some"),
        )
    if is_scored(measurement):
        yield from _list_scored_figures(measurement)


def _list_scored_figures(measurement: Any) -> Iterator[ItemFigure]:
    """Yield the figures with a value per item that need scores of the choices.

    They are whether the choice that was correct is picked under each probe, the prior bias, and the
    drops of confidence with the most added choices.

    Args:
        measurement: The measurement, with scored choices.
    """
    tables = measurement.tables
    # Lower is better for all of these figures.
    make_figure = functools.partial(
        ItemFigure.from_arrays, better="lower", ids=tables.column(ORIGINAL, "id")
    )
    for name, words in WITHOUT.items():
        # The choice that was correct is only known if the items have labels.
        if measurement.scored.prior_bias[name].pseudo_correct is not None:
            is_old_answer = measurement.picked[name] == tables.labels(name, "pseudo_label")
            title = f"Old answer picked {words}"
            yield make_figure(f"pseudo_correct_{name}", title, values=is_old_answer)
    for name, words in UNANSWERABLE.items():
        yield make_figure(
            f"prior_bias_{name}",
            f"Prior bias {words}",
            values=[float(np.var(row)) for row in tables.confidences[name]],
            # The largest variance is that of the confidences 1 and 0 in two choices.
            high=0.25,
            unit="ratio",
            is_finding=name == "no_question",
        )
    # The drop includes the dilution by added choices, which is the same for all models.
    # Positive if the confidence falls, as in the table of the page.
    k = measurement.k
    confidence = tables.get_correct_confidence()
    drop = confidence - tables.get_correct_confidence(name_extra_choices(k))
    title = f"Drop with {k} more choices"
    yield make_figure(f"choice_paralysis_{k}", title, values=drop, low=-1.0)
    yield make_figure(
        f"restricted_drop_{k}",
        f"{title}, beyond dilution",
        values=tables.get_restricted_drop(k),
        low=-1.0,
        is_finding=is_paralyzed(measurement),
    )


def is_paralyzed(measurement: Any) -> bool:
    """Return whether added choices lower the confidence of a model that uses the question."""
    # Without the question, the confidence of a model means nothing.
    has_prior = measurement.says("kept", "large", "some") or measurement.is_as_good_without
    return measurement.says("paralysis", "large") and not has_prior


def is_scored(measurement: Any) -> bool:
    """Return whether choices are scored, and have confidences."""
    return measurement.scored is not None


def has_several_prompts(context: Any, options: Any) -> bool:
    """Return whether a prompt can be replaced by that of another item."""
    # Prompts that differ by case or spaces alone ask the same.
    prompts = {text.strip().casefold() for text in context.primary.texts}
    return len(prompts) > 1


def make_kept_figure(probe: str) -> Figure:
    """Declare the figure of the answers that stay the same under a probe that removes the question.

    Args:
        probe: "no_question" or "wrong_question".
    """

    def get_kept(measurement: Any) -> Estimate | None:
        if probe not in measurement.reading:
            return None
        kept: Estimate = measurement.reading[probe].kept
        return kept

    return Figure(KEPT[probe], get_kept, BALEPUR, better="lower")


def make_drop_figure(key: str) -> Figure:
    """Declare the figure of a drop of confidence with the most added choices.

    Args:
        key: A name of `DROPS`. The name of the figure ends with the number of added choices, which
            depends on the data.
    """

    def get_drop(measurement: Any) -> Estimate | None:
        if measurement.scored is None:
            return None
        drop: Estimate = DROPS[key](measurement.effect)
        return drop

    return Figure(key, get_drop, SHEN, better="lower", suffix=lambda m: m.k)


def declare_kept_lead(probe: str) -> Lead:
    """Declare the finding on the answers that stay under the probe of the first screen.

    Args:
        probe: "no_question" or "wrong_question".
    """
    return Lead(
        KEPT[probe],
        figure=KEPT[probe],
        pair=declare_hero(list_kept_examples),
        contrast=lambda m: (m.read.kept, m.read.by_chance),
        size=lambda m: max(m.read.beyond_chance.value or 0.0, 0.0),
        item_figure=lambda m: KEPT[probe],
        # The first screen is about the probe under which most answers stay the same.
        condition=lambda m: m.read and m.probe == probe,
    )


PROBES = Question(
    name="probes",
    title="Does it pick an answer before reading the question?",
    prose=prose(
        __file__,
        MIN_ITEMS=MIN_ITEMS,
        MARGINS=MARGINS,
        WITHOUT=WITHOUT,
        DONE=DONE,
        NAMES=NAMES,
        WITHOUT_ANSWER=WITHOUT_ANSWER,
    ),
    # Each need is checked before the model is asked.
    needs=(
        Need(
            "choices",
            lambda context, options: context.unscored or context.primary.choices is not None,
        ),
        Need(
            "asked",
            lambda context, options: context.stored is None or context.logged_arms is not None,
        ),
        Need("labels", lambda context, options: context.primary.labeled.sum() >= MIN_ITEMS),
        Need("prompts", has_several_prompts),
        Need("spare", lambda context, options: count_spare_choices(context.primary.choices) > 0),
    ),
    measure=measure,
    # Two readings, accuracy without the question, paralysis and order share the error.
    power=POWER,
    figures=(
        *map(make_kept_figure, KEPT),
        Figure(
            "lost_without_question",
            lambda m: m.read and m.read.accuracy_loss,
            BALEPUR,
            better="higher",
        ),
        Figure(
            "prior_bias_no_question",
            lambda m: m.scored and estimate_bias(m.scored.prior_bias["no_question"]),
            SHEN,
            unit="ratio",
            better="lower",
        ),
        Figure(
            "pseudo_correct",
            lambda m: m.read and m.read.accuracy_without,
            SHEN,
            better="lower",
            n=lambda m: m.read.n_items,
            suffix=lambda m: m.probe,
        ),
        *map(make_drop_figure, DROPS),
        Figure(
            "order_changes",
            lambda m: m.order_changes,
            ZHENG,
            better="lower",
            n=lambda m: m.n_ordered,
        ),
        Figure(
            "order_consistency",
            lambda m: m.consistency,
            ZHENG,
            better="higher",
            n=lambda m: m.n_ordered,
        ),
    ),
    headlines=(
        *KEPT.values(),
        "lost_without_question",
        "pseudo_correct",
        "choice_paralysis",
        "restricted_drop",
        "order_changes",
    ),
    max_headlines=7,
    # The first rule that holds: what decides for all items comes before what decides for some.
    verdict=(
        Rule("bad", "order", lambda m: m.says("order", "large")),
        Rule("bad", "kept", lambda m: m.says("kept", "large")),
        Rule("bad", "as_good", lambda m: m.is_as_good_without),
        Rule("warn", "order_some", lambda m: m.says("order", "some")),
        Rule("warn", "kept_some", lambda m: m.says("kept", "some")),
        Rule("warn", "unasked", lambda m: m.says("unasked", "large")),
        Rule("warn", "paralyzed", lambda m: m.says("paralysis", "large")),
        Rule("neutral", "open", lambda m: m.open_questions),
        Rule("good", "no_sign"),
    ),
    parts=(
        Part(
            "reading",
            (
                Table("reading", list_readings, f"{BALEPUR}; Cohen 1960"),
                declare_examples("kept", list_kept_examples, lambda m: KEPT[m.probe]),
            ),
            figures=(*KEPT.values(), "lost_without_question", "pseudo_correct"),
            condition=lambda m: m.reading,
        ),
        Part(
            "bias",
            (
                Table("prior_bias", list_biases, SHEN),
                declare_examples(
                    "unanswerable",
                    list_unanswerable_examples,
                    lambda m: "prior_bias_no_right_answer",
                ),
            ),
            figures=("prior_bias_no_question",),
            condition=is_scored,
        ),
        Part(
            "paralysis",
            (
                Plot("choice_paralysis", draw_paralysis, SHEN),
                Table("choice_paralysis", list_paralysis, SHEN),
                # The scores of a model that sees one choice at a time cannot change.
                declare_examples(
                    "paralysis",
                    list_paralysis_examples,
                    lambda m: f"restricted_drop_{m.k}",
                    condition=lambda m: m.joint,
                ),
            ),
            figures=("choice_paralysis", "restricted_drop"),
            condition=is_scored,
        ),
        Part(
            "order",
            (declare_examples("order", list_order_examples, lambda m: "order_changes"),),
            figures=("order_changes", "order_consistency"),
            condition=is_scored,
        ),
        Part(
            "picks",
            # The examples of both parts are the same, but only one of the parts is shown.
            (declare_examples("picks", list_order_examples, lambda m: "order_changes"),),
            figures=("order_changes", "order_consistency"),
            condition=lambda m: not is_scored(m),
        ),
    ),
    # The order of the choices comes first, because it decides whatever the question is.
    leads=(
        Lead(
            "order",
            figure="order_changes",
            pair=declare_hero(list_order_examples),
            contrast=lambda m: (m.order_changes, m.changes_by_chance),
            size=lambda m: m.order_changes.value,
            item_figure=lambda m: "order_changes",
            condition=lambda m: m.moves,
        ),
        Lead(
            "paralysis",
            figure="restricted_drop",
            plot="choice_paralysis",
            size=lambda m: max(m.drop.mean, 0.0),
            pair=declare_hero(list_paralysis_examples),
            item_figure=lambda m: f"restricted_drop_{m.k}",
            condition=is_paralyzed,
        ),
        *map(declare_kept_lead, KEPT),
        Lead("nothing"),
    ),
    data=describe_data,
    by_item=list_item_figures,
)


PREFERENCES = {
    "consistency": "Same winner in both orders",
    "position": "First place over second",
    "length": "Longer over shorter",
    "length_beyond": "Longer, beyond the reference",
    "own": "Its own over the other",
    "own_beyond": "Its own, beyond the reference",
}
"""Field of a `JudgeBias` -> its name for readers."""


def list_preferences(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Yield the preferences of each judge that the data show.

    A row has: judge, preference, estimate, p-value, number of pairs, and number of items.
    """
    for name, bias in measurement.judges.items():
        for key, words in PREFERENCES.items():
            preference = getattr(bias, key)
            # A table may lack lengths, authors or swapped orders.
            if preference is None:
                continue
            value = make_estimate(preference.value, preference.interval)
            yield name, words, value, preference.p_value, preference.n_pairs, preference.n_items


JUDGES = Question(
    name="judges",
    prose=Prose(Path(__file__).with_name("preferences.md.j2"), PREFERENCES=PREFERENCES),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("judges", (Table("judges", list_preferences),)),),
)
"""The section that `rightreasons judges` prints."""


JUDGED_FIGURES = {
    "judged": "Correct by the judge",
    "human": "Correct by the human labels alone",
    "prediction_powered": "Corrected, prediction-powered",
    "rogan_gladen": "Corrected, Rogan-Gladen",
    "sensitivity": "Correct answers that the judge calls correct",
    "specificity": "Incorrect answers that the judge calls incorrect",
}
"""Field of a `JudgedAccuracy` -> its name for readers."""


def list_judged_figures(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Yield the accuracy by each judge and its corrections: judge, figure, estimate, answers."""
    for name, accuracy in measurement.judges.items():
        for field, words in JUDGED_FIGURES.items():
            estimate = getattr(accuracy, field)
            # A judge at chance has no correction by its error rates.
            if estimate is None:
                continue
            # These figures are about the answers with a human label, the others about all answers.
            n_answers = accuracy.n_items
            if field in ("human", "sensitivity", "specificity"):
                n_answers = accuracy.n_labeled
            yield name, words, estimate, n_answers


JUDGED = Question(
    name="judged",
    prose=Prose(Path(__file__).with_name("judged.md.j2")),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "judged",
            (
                Table(
                    "judged", list_judged_figures, "Rogan & Gladen 1978; Angelopoulos et al. 2023"
                ),
            ),
        ),
    ),
)
"""The section that `rightreasons judges --human-column` prints."""
