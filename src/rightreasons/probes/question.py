"""The question about answer priors: does a model pick an answer before reading the question?

`PROBES` declares the figures, the verdict and the parts of the section; what is measured is in
`measurement`. `JUDGES` is the section of judges of pairs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
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

MAX_CHOICE_LENGTH = 160
"""Number of characters of a choice that an example shows."""

SHEN, ZHENG = "Shen & Kejriwal 2022", "Zheng et al. 2024"
BALEPUR = "Balepur et al. 2024; comparison of this package"

WITHOUT = {
    "no_question": "without the question",
    "wrong_question": "with the question of another item",
}
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


def show_kept_items(measurement: Any) -> Iterator[Example]:
    """Yield up to `N_EXAMPLES` items whose answer stays the same without their question.

    Items that are answered correctly come first, because these are the clearest examples.
    """
    answers = measurement.picked[ORIGINAL]
    is_kept = (answers == measurement.picked[measurement.probe]) & (answers >= 0)
    kept_rows = np.flatnonzero(is_kept)
    is_incorrect = measurement.tables.labels()[kept_rows] != answers[kept_rows]
    # The sort is stable and puts correct items (False) before incorrect ones (True).
    order = np.argsort(is_incorrect, kind="stable")
    for row in kept_rows[order[:N_EXAMPLES]].tolist():
        yield _make_example(measurement, row, int(answers[row]))


def _make_example(measurement: Any, row: int, answer: int) -> Example:
    """Make an example of an item whose answer stays the same without the question.

    Args:
        measurement: The measurement, with the tables of the items under each probe.
        row: Row of the item.
        answer: Position of the choice that is picked with and without the question.
    """
    item = measurement.tables.tables[ORIGINAL][row]
    # In the probe, the prompt is empty or the question of another item.
    probe_prompt = measurement.tables.tables[measurement.probe][row]["prompt"]
    change = "Without its question"
    if probe_prompt:
        change = f"With “{shorten(probe_prompt)}” instead of its question"
    # Generated answers have no confidence.
    confidence = None
    if is_scored(measurement):
        confidence = float(measurement.tables.confidences[ORIGINAL][row][answer])
    return Example(
        id=str(item["id"]),
        text=item["prompt"],
        label=shorten(item["choices"][item["label"]]),
        prediction=shorten(item["choices"][answer]),
        confidence=confidence,
        note=f"{change}, the answer is the same.",
    )


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


def shorten(text: str) -> str:
    """Truncate a long text."""
    # The last character is that of the ellipsis.
    if len(text) <= MAX_CHOICE_LENGTH:
        return text
    return f"{text[: MAX_CHOICE_LENGTH - 1].rstrip()}…"


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
    """Yield figures with a value per item, by which two models are compared.

    They are whether the answer stays without the question, whether the choice that was correct is
    picked under each probe, the prior bias, and the drop of confidence with the most added choices.

    Args:
        measurement: The measurement. Without scores of choices, there are no such figures.
    """
    if measurement.scored is None:
        return
    tables = measurement.tables
    # Lower is better for all of these figures.
    make_figure = functools.partial(
        ItemFigure.from_arrays, better="lower", ids=tables.column(ORIGINAL, "id")
    )
    is_kept = measurement.picked[ORIGINAL] == measurement.picked["no_question"]
    yield make_figure("kept_without_question", "Answer stays without the question", values=is_kept)
    for name, words in WITHOUT.items():
        # The choice that was correct is only known if the items have labels.
        if measurement.scored.prior_bias[name].pseudo_correct is not None:
            is_old_answer = measurement.picked[name] == tables.labels(name, "pseudo_label")
            title = f"Old answer picked {words}"
            yield make_figure(f"pseudo_correct_{name}", title, values=is_old_answer)
    variances = [float(np.var(row)) for row in tables.confidences["no_question"]]
    yield make_figure(
        "prior_bias_no_question",
        "Prior bias without the question",
        values=variances,
        # The largest variance is that of the confidences 1 and 0 in two choices.
        high=0.25,
        unit="ratio",
    )
    # The drop includes the dilution by added choices, which is the same for all models.
    # Positive if the confidence falls, as in the table of the page.
    confidence = tables.get_correct_confidence()
    drop = confidence - tables.get_correct_confidence(name_extra_choices(measurement.k))
    title = f"Drop with {measurement.k} more choices"
    yield make_figure(f"choice_paralysis_{measurement.k}", title, values=drop, low=-1.0)


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
        "order_consistency",
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
                Examples("kept", show_kept_items),
            ),
            figures=(*KEPT.values(), "lost_without_question", "pseudo_correct"),
            condition=lambda m: m.reading,
        ),
        Part(
            "bias",
            (Table("prior_bias", list_biases, SHEN),),
            figures=("prior_bias_no_question",),
            condition=is_scored,
        ),
        Part(
            "paralysis",
            (
                Plot("choice_paralysis", draw_paralysis, SHEN),
                Table("choice_paralysis", list_paralysis, SHEN),
            ),
            figures=("choice_paralysis", "restricted_drop"),
            condition=is_scored,
        ),
        Part(
            "order",
            figures=("order_consistency",),
            condition=is_scored,
        ),
        Part("picks", condition=lambda m: not is_scored(m)),
    ),
    # The order of the choices comes first, because it decides whatever the question is.
    leads=(
        Lead(
            "order",
            figure="order_consistency",
            contrast=lambda m: (1 - m.consistency.value, m.consistency),
            size=lambda m: 1 - m.consistency.value,
            condition=lambda m: m.moves,
        ),
        Lead(
            "paralysis",
            figure="restricted_drop",
            plot="choice_paralysis",
            size=lambda m: max(m.drop.mean, 0.0),
            condition=lambda m: (
                m.says("paralysis", "large")
                and not (m.says("kept", "large", "some") or m.is_as_good_without)
            ),
        ),
        Lead(
            "kept",
            figure="kept_without_question",
            pair=lambda m: tuple(show_kept_items(m))[:1],
            contrast=lambda m: (m.read.kept, m.read.by_chance),
            size=lambda m: max(m.read.beyond_chance.value or 0.0, 0.0),
            condition=lambda m: m.read,
        ),
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
