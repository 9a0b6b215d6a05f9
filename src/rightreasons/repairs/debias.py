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
"""Files and folders that a correction writes into its folder."""

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
    """Correct the answer prior of a multiple-choice model, and measure the effect on other items.

    The correction subtracts a part of the log-probabilities without the question from those with
    it. The part and a temperature are fitted on some of the items. On the others, answers with and
    without the correction are compared with those to the question of another item. The correction
    is recommended if at least 10 % of the answers did not depend on the question (low end of the
    interval), significantly fewer answers stay the same with another question, and the accuracy
    falls by at most 2 points, so that a prior that carries accuracy is not removed.

    Args:
        model: A model in any form that `audit` accepts: a folder, a hub id, the address of a
            server, or a scorer of choices.
        dataset: Multiple-choice items with labels, in any form that `audit` accepts.
        out: Folder for correction.json, the page and audit.json. The model's scores are stored
            there, too, so that an interrupted call resumes.
        progress: Whether to show progress bars.
        **settings: Fields of `DebiasOptions` (`fit_share`), of `AuditOptions` (such as `limit`,
            `split` and `seed`), of `Prompt` and of `ServerOptions`.

    Returns:
        A `DebiasResult`: `correction`, `before`, `after`, `recommended`, `page` and more.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an option is unknown, the model has classes, or there are too few labeled items.
        FileNotFoundError: If the data is not found.
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
    """Open a multiple-choice model, and the labeled items of one split.

    Args:
        model: The model, in any form that `audit` accepts.
        dataset: The items, in any form that `audit` accepts.
        settings: Options of the audit as a whole.
        prompt: Options of the prompt of a language model.
        server: Options of a model server.
        folder: Folder of the correction.

    Raises:
        OptionError: If the model has classes.
    """
    asking = AskingOptions(prompt, server, folder / WORK)
    data, scorer = open_inputs(model, dataset, settings, asking, require_labels=True)
    if scorer.label_names is not None:
        raise OptionError(
            f"Expected a multiple-choice model, but {scorer.name} has the classes "
            f"{', '.join(scorer.label_names)}.",
            option="model",
        )
    # The page needs a name of the data, which data in memory lacks.
    data_name = "the data"
    if isinstance(dataset, (str, os.PathLike)):
        data_name = os.fspath(dataset)
    # Of several splits, the first one that is selected is used.
    split_name = choose_splits(data, settings.split, data_name)[0]
    split = take_splits(data, {split_name: "primary"}, settings, None, data_name)[0]
    return AuditContext(
        source=scorer,
        dataset_name=data_name,
        primary=split,
        comparisons=(),
        train=None,
        out=folder,
        settings=settings,
    )


# ------------------------------------------------------------------------------------- measurement


def measure_debiasing(context: AuditContext, options: DebiasOptions) -> DebiasResult:
    """Fit the corrections on some items of an audit, and judge them on the others.

    Args:
        context: The audit: a multiple-choice model, and labeled items.
        options: Share of the items to fit on.

    Raises:
        ValueError: If there are too few labeled items to fit on, or to judge by.
    """
    split = context.primary
    tables = probe_tables(
        split.data,
        ks=(),
        probes=WITHOUT_QUESTION,
        groups_column=split.groups_column,
        seed=context.seed,
    )
    # The number is checked before the model is queried, which may take long.
    _compute_fit_size(len(tables), options)
    source: Any = context.source
    # Scores are stored by model and items, so that a later call does not reuse others.
    folder_name = f"debias-{source.fingerprint[:16]}-{split.fingerprint[:16]}"
    ask = functools.partial(
        _score_choices,
        scorer=source,
        out=context.out / WORK / folder_name,
        progress=context.progress,
    )
    tables = tables.scored_by(functools.partial(ask, name="questions"))
    # The number is checked again, because the model may not have scored all items.
    n_fit = _compute_fit_size(len(tables), options)

    fit_rows, judging_rows = divide_items(tables, n_fit, context.seed)
    scores = read_question_scores(tables)
    fit_scores = scores.take(fit_rows)
    judging_scores = scores.take(judging_rows)
    per_item = fit_prior_correction(
        list(fit_scores.question), list(fit_scores.no_question), fit_scores.labels
    )
    fit_items = tables.tables[ORIGINAL].select(fit_rows)
    position_corrections, skipped = _fit_position_corrections(
        fit_items, fit_scores, ask, is_joint=bool(source.joint)
    )
    corrections = {"per_item": per_item, **position_corrections}

    # All corrections, and no correction, are measured on the items that they were not fitted on.
    resampling = context.resampling
    original = measure_effect(judging_scores, NO_CORRECTION, resampling)
    effects = {}
    for method, correction in corrections.items():
        effects[method] = measure_effect(judging_scores, correction, resampling)
    return DebiasResult(
        out=context.out,
        context=context,
        correction=per_item,
        before=original,
        effects=effects,
        skipped=skipped,
        criteria=list_correction_criteria(original, effects["per_item"]),
        n_fit=len(fit_scores),
        n_items=len(judging_scores),
    )


def _score_choices(
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    ids: Sequence[str],
    *,
    name: str,
    scorer: Scorer,
    out: Path,
    progress: bool,
) -> Any:
    """Score choices with a model, and store the scores, from which a later call resumes.

    Args:
        prompts: N questions.
        choices: N lists of choices.
        ids: N ids.
        name: Name of the folder of the scores.
        scorer: A multiple-choice model.
        out: Folder of all scores.
        progress: Whether to show a progress bar.
    """
    return scorer.choose(prompts, choices, ids=ids, progress=progress, out=out / name)


def _compute_fit_size(n_items: int, options: DebiasOptions) -> int:
    """Return the number of items to fit the corrections on. The others judge them.

    Args:
        n_items: Number of labeled items.
        options: Share of the items to fit on.

    Raises:
        OptionError: If fewer than `MIN_FIT` items are to be fitted on, or fewer than `MIN_ITEMS`
            remain to judge by.
    """
    n_fit = round(options.fit_share * n_items)
    # A fit of two parameters needs fewer items than a judgment with an interval.
    if n_fit < MIN_FIT or n_items - n_fit < MIN_ITEMS:
        raise OptionError(
            f"Expected at least {MIN_FIT} labeled items to fit on and {MIN_ITEMS} others to test "
            f"on, but `fit_share` divides {n_items} into {n_fit} and {n_items - n_fit}.",
            option="fit_share",
        )
    return n_fit


def divide_items(
    tables: ProbeTables, n_fit: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide items at random into those to fit on and those that judge.

    Items of one cluster are in the same part, because they may give away each other's answers.

    Args:
        tables: The items, with their ids and clusters.
        n_fit: Smallest number of items to fit on.
        seed: Seed. Together with the ids of a cluster, it determines the part of its items.

    Returns:
        Rows of the items to fit on, and rows of the other items, each in the order of the data.
    """
    ids = tables.column(ORIGINAL, "id")
    clusters = tables.units
    # Independent items are clusters of one item.
    if clusters is None:
        clusters = np.arange(len(ids))
    rows_by_cluster: dict[int, list[int]] = {}
    for row, cluster in enumerate(clusters.tolist()):
        rows_by_cluster.setdefault(cluster, []).append(row)

    def draw_rank(rows: list[int]) -> float:
        """Draw a random number for a cluster of items, given their rows.

        It depends on the smallest id, and not on the order of the data.
        """
        first_id = min(str(ids[row]) for row in rows)
        return float(item_rng(seed, f"debias {first_id}").random())

    # Whole clusters are taken in random order until there are enough items.
    fit_rows: list[int] = []
    for rows in sorted(rows_by_cluster.values(), key=draw_rank):
        if len(fit_rows) >= n_fit:
            break
        fit_rows.extend(rows)
    is_fit = np.zeros(len(ids), dtype=np.bool_)
    is_fit[fit_rows] = True
    return np.flatnonzero(is_fit), np.flatnonzero(~is_fit)


def read_question_scores(tables: ProbeTables) -> QuestionScores:
    """Return the scores of items with their question, without it, and with another question.

    Raises:
        ValueError: If the tables were not scored.
    """
    logits = tables.logits
    if logits is None:
        raise ValueError("Expected tables with scores, but got tables without scores.")
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
    """Fit the corrections of two papers, which estimate a prior of each position of a choice.

    Args:
        items: Table of the N items to fit on, with the columns "id" and "choices".
        fit: Scores of these items, with and without their questions.
        ask: Function that scores choices; see `_score_choices`.
        is_joint: Whether the model sees all choices of an item at once.

    Returns:
        Two dictionaries, one of which is empty. Method -> correction, for "positions" (PriDe) and
        "content_free" (contextual calibration); and method -> reason why it does not apply.
    """
    reason = ""
    if not is_joint:
        reason = "The model scores each choice alone, so that a position cannot have a prior."
    elif len(np.unique(fit.question.lengths)) > 1:
        reason = "The items have different numbers of choices."
    if reason:
        return {}, {"positions": reason, "content_free": reason}
    orders, _, answers = ask_in_orders(items, functools.partial(ask, name="orders"))
    observed = check_ragged(answers.logits, scores="logits").values
    # The scores are listed by order, then item, then position. The fit expects (items, orders,
    # positions).
    scores_by_order = observed.reshape(len(orders), len(fit), -1)
    scores_by_item = scores_by_order.transpose(1, 0, 2)

    # The choices of all items are scored after questions without content, such as "N/A".
    content_free = []
    choices = items["choices"][:]
    ids = items["id"][:]
    for number, question in enumerate(CONTENT_FREE):
        answers = ask([question] * len(fit), choices, ids, name=f"content_free_{number}")
        logits = check_ragged(answers.logits, scores="logits")
        content_free.append(np.array(list(logits)))
    corrections = {
        "positions": fit_position_prior(scores_by_item),
        "content_free": fit_content_free_prior(content_free),
    }
    return corrections, {}
