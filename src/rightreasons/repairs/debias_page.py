"""The page of a correction of answer priors: before and after side by side, and whether it is recommended."""

from __future__ import annotations

from collections.abc import Iterator

from rightreasons.core.estimates import Estimate
from rightreasons.core.store import digest_value
from rightreasons.page.formats import short_name
from rightreasons.page.parts import Cell
from rightreasons.page.prose import prose
from rightreasons.page.question import Figure, Lead, Part, Question, Rule, Table
from rightreasons.probes.corrections import PriorCorrection
from rightreasons.repairs.acceptance import (
    get_failed_name,
    make_condition_part,
    make_decision_figure,
    write_proof,
)
from rightreasons.repairs.debias_result import DebiasResult
from rightreasons.report.outcomes import Outcome
from rightreasons.report.record import make_record
from rightreasons.report.render import Page

SOURCE = "This package; Cohen 1960; McNemar 1947"

METHOD_NAMES = {
    "per_item": "per item: divided by the answer without the question",
    "positions": "per position: PriDe (Zheng et al. 2024)",
    "content_free": "per position: contextual calibration (Zhao et al. 2021)",
}
"""Method -> its name on the page."""

CRITERION_NAMES = {
    "prior": "lower bound of the answers kept beyond chance before, at least",
    "kept": "upper bound of the change of the answers kept, below",
    "accuracy": "change of the accuracy, at least",
}
"""Condition -> its name on the page."""


def describe_correction(correction: PriorCorrection) -> str:
    """Describe the parameters of a correction, such as "strength 0.80, temperature 1.20"."""
    # A prior over positions has no other parameters than its shares.
    if correction.prior is not None:
        shares = ", ".join(f"{share:.1%}" for share in correction.prior)
        return f"prior of the positions {shares}"
    return f"strength {correction.strength:.2f}, temperature {correction.temperature:.2f}"


def list_comparison(result: DebiasResult) -> Iterator[tuple[Cell, ...]]:
    """Yield a row per figure: name, value without and with the correction per item, and p-value.

    Shares beyond chance and calibration errors are not means over items, so that they have no
    paired test.

    Args:
        result: Figures of the model without the correction (`before`) and with it (`after`), which
            also has the paired tests of the change.
    """
    original = result.before
    corrected = result.after
    # A fall of the accuracy by more than 2 points is not accepted.
    yield (
        "accuracy",
        original.accuracy,
        corrected.accuracy,
        corrected.accuracy_test.p_value,
    )
    # The correction is accepted only if this share falls significantly.
    yield (
        "answers kept with another question",
        original.kept,
        corrected.kept,
        corrected.kept_test.p_value,
    )
    yield "the same, beyond chance", original.beyond_chance, corrected.beyond_chance, None
    yield (
        "calibration error",
        Estimate(original.calibration_error),
        Estimate(corrected.calibration_error),
        None,
    )


def list_methods(result: DebiasResult) -> Iterator[tuple[Cell, ...]]:
    """Yield a row per method: name, parameters, accuracy, and answers kept with another question.

    The first row is the uncorrected model. All methods are judged on the same items.
    """
    yield "as it is", "", result.before.accuracy, result.before.kept, result.before.beyond_chance
    # Methods that do not apply, such as priors over positions of single choices, have no row.
    for method, effect in result.effects.items():
        yield (
            METHOD_NAMES[method],
            describe_correction(effect.correction),
            effect.accuracy,
            effect.kept,
            effect.beyond_chance,
        )


def contrast_kept(result: DebiasResult) -> tuple[Estimate, Estimate]:
    """Return the answers kept with another question, before and after."""
    return result.before.kept, result.after.kept


DEBIAS = Question(
    name="debias",
    title="Is its answer prior corrected?",
    prose=prose(
        __file__,
        describe_correction=describe_correction,
        get_failed_name=get_failed_name,
        METHOD_NAMES=METHOD_NAMES,
    ),
    figures=(
        make_decision_figure("recommended", lambda m: m.recommended, SOURCE),
        Figure("kept", lambda m: m.after.kept, SOURCE, better="lower"),
        Figure("kept_before", lambda m: m.before.kept, SOURCE, better="lower"),
        Figure("accuracy", lambda m: m.after.accuracy, SOURCE, better="higher"),
        Figure("accuracy_before", lambda m: m.before.accuracy, SOURCE, better="higher"),
    ),
    headlines=("kept", "kept_before", "accuracy", "accuracy_before"),
    verdict=(
        Rule("good", "recommended", lambda m: m.recommended),
        Rule("neutral", "no_prior", lambda m: m.recommended is None),
        Rule("bad", "not_recommended"),
    ),
    parts=(
        Part("compared", (Table("comparison", list_comparison, SOURCE),)),
        make_condition_part(
            "conditions", lambda m: m.criteria, CRITERION_NAMES, figures=("recommended",)
        ),
        Part("methods", (Table("methods", list_methods, "Zheng et al. 2024; Zhao et al. 2021"),)),
    ),
    leads=(
        Lead(
            "recommended",
            figure="kept",
            contrast=contrast_kept,
            condition=lambda m: m.recommended,
        ),
        Lead("no_prior", figure="kept_before", condition=lambda m: m.recommended is None),
        Lead("not_recommended", figure="kept", contrast=contrast_kept),
    ),
)
"""The section of the page, and its record in audit.json."""


def write_debias_page(result: DebiasResult) -> None:
    """Write index.html and audit.json into the folder of a correction; `gate` reads the latter.

    Args:
        result: The fitted corrections with their figures, the model and the items.
    """
    context = result.context
    answer = DEBIAS.answer(result, context.resampling.level, split=context.primary.name)
    outcome = Outcome(DEBIAS.name, DEBIAS.title, "answered", "", answer)
    # audit.json describes the model and the items as that of an audit does.
    settings = context.settings.to_dict()
    subject = digest_value([context.model_fingerprint, context.primary.fingerprint, settings])
    record = make_record(context, [outcome], settings, {}, subject, None)
    prose = DEBIAS.prose.of(m=result, record=record)
    # The finding of the page continues the name of the model.
    model_name = short_name(context.source.name)
    page = Page(
        title=f"Answer priors of {model_name}",
        # The page is about this question only.
        heading=DEBIAS.title,
        facts=prose.pairs("facts"),
        outcomes=[outcome],
        made=prose.pairs("made"),
        subject=model_name,
        is_correction=True,
    )
    write_proof(result.out, page, record)
