"""Correct the answer priors of a model on held-out items, and prove what the correction changes on others.

`debias` is the entry point: it asks a model about items with their question, without it and with another one, fits the
corrections on some of the items, and compares the answers on the remaining ones.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.audited.opening import AskingOptions, open_inputs
from rightreasons.audited.splits import choose_splits, take_splits
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, check_options
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import WORK, check_folder
from rightreasons.core.validation import check_ragged
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.io.options import AuditOptions
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt
from rightreasons.probes.corrections import (
    PriorCorrection,
    fit_content_free_prior,
    fit_position_prior,
    fit_prior_correction,
)
from rightreasons.probes.measure import (
    WITHOUT_QUESTION,
    ProbeTables,
    ask_in_orders,
    probe_tables,
)
from rightreasons.probes.options import DebiasOptions
from rightreasons.repairs.acceptance import MIN_ITEMS
from rightreasons.repairs.debias_page import write_debias_page
from rightreasons.repairs.debias_result import DebiasResult
from rightreasons.repairs.prior_effects import (
    NO_CORRECTION,
    QuestionScores,
    list_correction_criteria,
    measure_effect,
)
from rightreasons.report.render import PAGE
from rightreasons.report.request import select_options
from rightreasons.report.schema import AUDIT_FILE

if TYPE_CHECKING:
    from rightreasons.models.protocol import Scorer

CORRECTION_FILE = "correction.json"
"""The fitted correction, which `load_prior_correction` reads."""

OWN = (AUDIT_FILE, PAGE, "figures", CORRECTION_FILE)
"""What a correction writes into its folder."""

MIN_FIT = 30
"""Number of labeled items that a fit needs."""

CONTENT_FREE = ("N/A", "", "[MASK]")
"""Questions without content, as in the code of Zhao et al."""


def debias(
    model: Any,
    dataset: Any,
    *,
    out: str | os.PathLike[str] = "debias",
    progress: bool = True,
    **settings: Any,
) -> DebiasResult:
    """Correct the answer priors of a model of multiple choice, and prove what changes on other items.

    The correction subtracts a part of what the model answers without the question from what it answers with it; the
    part and a temperature are fitted on some of the items. On the others, both answers are compared with those to the
    question of another item. The correction is recommended if at least 10 % of the answers did not depend on the
    question (low end of the interval), significantly fewer stay with another question than before, and the accuracy
    falls by at most 2 points. A prior that carries accuracy is not removed.

    Args:
        model: What `audit` takes: a folder, a hub id, the address of a server, or a scorer of choices.
        dataset: Multiple-choice items with labels, as `audit` takes them.
        out: Folder for correction.json, the page and audit.json. The model's scores are stored there, too, so that an
            interrupted call resumes.
        progress: Whether to show progress bars.
        **settings: Fields of `DebiasOptions` (`fit_share`), of `AuditOptions` (such as `limit`, `split` and `seed`), of
            `Prompt` and of `ServerOptions`.

    Returns:
        A `DebiasResult`: `correction`, `before`, `after`, `recommended`, `page` and more.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an option is unknown, the model has classes, or there are too few labeled items.
        FileNotFoundError: If the data is not there.
    """
    kinds: tuple[type[Options], ...] = (DebiasOptions, AuditOptions, Prompt, ServerOptions)
    # An unknown option is refused before anything is opened.
    names: list[str] = []
    for kind in kinds:
        names.extend(kind.list_names())
    check_options(settings, names, "debias")
    options = select_options(DebiasOptions, settings)
    general = select_options(AuditOptions, {"task": "multiple_choice", **settings})
    folder = check_folder(out, own=OWN)
    context = _open_context(
        model,
        dataset,
        general,
        select_options(Prompt, settings),
        select_options(ServerOptions, settings),
        folder,
    )
    context = dataclasses.replace(context, progress=progress)

    result = measure_debiasing(context, options)
    result.correction.save(folder / CORRECTION_FILE)
    write_debias_page(result)
    return result


def _open_context(
    model: Any,
    dataset: Any,
    settings: AuditOptions,
    prompt: Prompt,
    server: ServerOptions,
    folder: Path,
) -> AuditContext:
    """Open the model and the labeled items of one split."""
    asking = AskingOptions(prompt, server, folder / WORK)
    data, scorer = open_inputs(model, dataset, settings, asking, require_labels=True)
    if scorer.label_names is not None:
        raise OptionError(
            f"Expected a model of multiple choice, but {scorer.name} has the classes "
            f"{', '.join(scorer.label_names)}.",
            option="model",
        )
    # Data in memory has no name, and the page needs one.
    is_named = isinstance(dataset, (str, os.PathLike))
    name = os.fspath(dataset) if is_named else "the data"
    split_name = choose_splits(data, settings.split, name)[0]
    split = take_splits(data, {split_name: "primary"}, settings, None, name)[0]
    return AuditContext(
        source=scorer,
        dataset_name=name,
        primary=split,
        comparisons=(),
        train=None,
        out=folder,
        settings=settings,
    )


# ------------------------------------------------------------------------------------- measurement


def measure_debiasing(context: AuditContext, options: DebiasOptions) -> DebiasResult:
    """Fit the corrections on some items of an audit, and judge them on the others.

    Raises:
        ValueError: If there are too few labeled items for either.
    """
    split = context.primary
    tables = probe_tables(
        split.data,
        ks=(),
        probes=WITHOUT_QUESTION,
        groups_column=split.groups_column,
        seed=context.seed,
    )
    # Before the model is asked, which may take long; again for the items that it could score.
    _check_number(len(tables), options)
    # The scores of other models and items never take their place.
    source: Any = context.source
    digest = f"debias-{source.fingerprint[:16]}-{split.fingerprint[:16]}"
    ask = functools.partial(
        _ask, scorer=source, out=context.out / WORK / digest, progress=context.progress
    )
    tables = tables.scored_by(functools.partial(ask, name="questions"))
    n_fit = _check_number(len(tables), options)

    fit_rows, judging_rows = divide_items(tables, n_fit, context.seed)
    # One request had all items, so that a batch could hold items of both parts.
    scores = read_question_scores(tables)
    fit = scores.take(fit_rows)
    judging = scores.take(judging_rows)
    corrections = {
        "per_item": fit_prior_correction(list(fit.question), list(fit.no_question), fit.labels)
    }
    items = tables.tables[ORIGINAL].select(fit_rows)
    position_corrections, skipped = _fit_position_corrections(
        items, fit, ask, is_joint=bool(source.joint)
    )
    corrections.update(position_corrections)

    resampling = context.resampling
    # The items of the fit would flatter every correction.
    original = measure_effect(judging, NO_CORRECTION, resampling)
    effects = {}
    for method, correction in corrections.items():
        effects[method] = measure_effect(judging, correction, resampling)
    return DebiasResult(
        out=context.out,
        context=context,
        correction=corrections["per_item"],
        before=original,
        effects=effects,
        skipped=skipped,
        criteria=list_correction_criteria(original, effects["per_item"]),
        n_fit=len(fit),
        n_items=len(judging),
    )


def _ask(
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    ids: Sequence[str],
    *,
    name: str,
    scorer: Scorer,
    out: Path,
    progress: bool,
) -> Any:
    """Score choices, and store the scores under a name, from which a later call resumes."""
    return scorer.choose(prompts, choices, ids=ids, progress=progress, out=out / name)


def _check_number(n_items: int, options: DebiasOptions) -> int:
    """Return the number of items to fit on, if there are enough for the fit and for its judgment."""
    # The judgment needs as many items as that of a repair; two parameters need fewer.
    n_fit = round(options.fit_share * n_items)
    if n_fit < MIN_FIT or n_items - n_fit < MIN_ITEMS:
        raise OptionError(
            f"Expected at least {MIN_FIT} labeled items to fit on and {MIN_ITEMS} others to test on, but "
            f"`fit_share` divides {n_items} into {n_fit} and {n_items - n_fit}.",
            option="fit_share",
        )
    return n_fit


def divide_items(
    tables: ProbeTables, n_fit: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide items into those to fit on and those that judge; items of one cluster stay together.

    Args:
        tables: The items.
        n_fit: Smallest number of items to fit on.
        seed: Seed; an item's part depends on it and on the ids of the items of its cluster.

    Returns:
        Rows of both parts, each in the order of the data.
    """
    ids = tables.column(ORIGINAL, "id")
    units = tables.units
    if units is None:
        units = np.arange(len(ids))
    # The rows of each cluster; an independent item is a separate cluster.
    rows_by_unit: dict[int, list[int]] = {}
    for row, unit in enumerate(units.tolist()):
        rows_by_unit.setdefault(unit, []).append(row)

    def draw(rows: list[int]) -> float:
        """Return a number that depends on the seed and the first id of a unit, in any order of the data."""
        first_id = min(str(ids[row]) for row in rows)
        return float(item_rng(seed, f"debias {first_id}").random())

    # Items of one cluster know each other's answers, so that none may judge a fit of another.
    fit_rows: list[int] = []
    for rows in sorted(rows_by_unit.values(), key=draw):
        if len(fit_rows) >= n_fit:
            break
        fit_rows.extend(rows)
    is_fit = np.zeros(len(ids), dtype=np.bool_)
    is_fit[fit_rows] = True
    return np.flatnonzero(is_fit), np.flatnonzero(~is_fit)


def read_question_scores(tables: ProbeTables) -> QuestionScores:
    """Return the scores of scored tables."""
    logits = tables.logits
    if logits is None:
        raise ValueError("Expected tables with scores, but these have none.")
    return QuestionScores(
        question=logits[ORIGINAL],
        no_question=logits["no_question"],
        other_question=logits["wrong_question"],
        labels=tables.labels(),
        clusters=tables.units,
    )


def _fit_position_corrections(
    items: Any, fit: QuestionScores, ask: Any, *, is_joint: bool
) -> tuple[dict[str, PriorCorrection], dict[str, str]]:
    """Return the corrections of the two papers, and the reasons for those that do not apply."""
    # The papers ask for one letter of a list that all items share.
    reason = ""
    if not is_joint:
        reason = "The model scores each choice alone, so that a position cannot have a prior."
    elif len(np.unique(fit.question.lengths)) > 1:
        reason = "The items have different numbers of choices."
    if reason:
        return {}, {"positions": reason, "content_free": reason}
    places, _, answers = ask_in_orders(items, functools.partial(ask, name="orders"))
    observed = check_ragged(answers.logits, scores="logits").values
    # Order, item and position become item, order and position.
    table = observed.reshape(len(places), len(fit), -1).transpose(1, 0, 2)

    # The choices of the items, after questions that say nothing.
    content_free = []
    for number, text in enumerate(CONTENT_FREE):
        answers = ask(
            [text] * len(fit), items["choices"][:], items["id"][:], name=f"content_free_{number}"
        )
        content_free.append(np.array(list(check_ragged(answers.logits, scores="logits"))))
    corrections = {
        "positions": fit_position_prior(table),
        "content_free": fit_content_free_prior(content_free),
    }
    return corrections, {}
