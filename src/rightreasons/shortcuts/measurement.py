"""What the question about shortcuts measures: the cues of each split, whether they decide, and accuracy by cue."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext, AuditSplit, safe_name
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.json_files import read_json
from rightreasons.core.sentences import format_value
from rightreasons.core.store import digest_value
from rightreasons.io.tables import chosen_rows
from rightreasons.models.running import bars_about
from rightreasons.shortcuts.families.training import Training, near_duplicates
from rightreasons.shortcuts.judging import Judge, conclude, considered, vanishing_words
from rightreasons.shortcuts.measure import (
    ShortcutMeasurement,
    WithheldError,
    measure_shortcuts,
    training_heads,
    with_pairs,
)
from rightreasons.shortcuts.measure_deciding import FamilyEffect, SwapMeasurement, measure_swaps
from rightreasons.shortcuts.options import MAX_ITEMS, ShortcutsOptions
from rightreasons.shortcuts.protocols import Protocol, protocol_of
from rightreasons.shortcuts.reliance import NullModel

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.classes import Classifier

MIN_HALVED = 100
"""The labeled items that the audited split must have for half of them to stand for absent training texts."""

RECORDS = "shortcuts.json"
"""What `ShortcutCallback(out=...)` writes; the audit finds it in the folder of the model."""


@dataclasses.dataclass(frozen=True, eq=False)
class ShortcutAnswers:
    """What the predictions of a model rest on, and whether that decides.

    Attributes:
        context: The audit.
        swaps: What decides, by swaps.
        judge: What is known about the reasons of the task.
        protocol: How shortcuts were found.
        items: The items of the primary split whose attributions were measured; None where too few are valid.
        measured: Their shortcuts; None likewise.
        withheld: Why nothing is said of them; "" where something is.
        records: What a callback has recorded over training.
        remembered: (N,) which items of the primary split are near duplicates of training texts.
        halved: Whether half of the audited items stand for training texts, as none are given.
    """

    context: AuditContext
    swaps: SwapMeasurement
    judge: Judge
    protocol: Protocol
    items: AuditSplit | None = None
    measured: ShortcutMeasurement | None = None
    withheld: str = ""
    records: Sequence[Mapping[str, Any]] = ()
    remembered: NDArray[np.bool_] | None = None
    halved: bool = False

    @functools.cached_property
    def by_memory(self) -> list[tuple[str, Estimate]]:
        """The accuracy on near duplicates of training texts and on other items; none where there are no duplicates."""
        split, found = self.context.primary, self.remembered
        if found is None or not found[split.labeled].any():
            return []
        right = self.context.scores().predicted == split.labels
        parts = {"near duplicates of training texts": found, "other items": ~found}
        of_parts = ((name, right[rows & split.labeled]) for name, rows in parts.items())
        shares = (
            (name, estimate_share(int(hits.sum()), len(hits), self.context.resampling))
            for name, hits in of_parts
        )
        return [(name, estimate) for name, estimate in shares if estimate is not None]

    @property
    def n_items(self) -> int:
        """The number of items of the primary split whose attributions were measured."""
        return self.measured.reliance.n_items if self.measured else 0

    @functools.cached_property
    def conclusion(self) -> str:
        """What follows about what decides, the key of the verdict."""
        return conclude(self.swaps, self.judge)

    @property
    def deciding(self) -> list[FamilyEffect]:
        """The features that surely decide: no reasons first, reasons last; then by what they decide and by words."""
        large = [row for row in considered(self.swaps, self.judge) if row.decision.level == "large"]
        judged = ("spurious", "open", "reason")
        large.sort(
            key=lambda row: (
                judged.index(self.judge.judge(row)),
                -round(row.effect.deciding_share, 1),
                row.n_pairs,
            )
        )
        # Several pairs decide where one of them does.
        return [
            row
            for row in large
            if row.n_pairs == 1 or not any(other.n_pairs == 1 for other in large if other.words)
        ]

    @property
    def strongest(self) -> FamilyEffect | None:
        """The feature that decides most: of those that the verdict names, or of all."""
        single = [row for row in self.swaps.rows if row.n_pairs == 1]
        return next(iter(self.deciding or single), None)

    @property
    def n_needed(self) -> int | None:
        """About how many items would decide the families that are open; None where none or no number would."""
        return max((row.decision.n_needed or 0 for row in self.swaps.rows), default=0) or None

    @property
    def types(self) -> dict[str, Estimate]:
        """The shares of lexicon-cued and of grammar-cued predictions."""
        if self.measured is None:
            return {}
        found, resampling = self.measured.reliance, self.context.resampling
        shares = {"lexicon_cued": found.lexicon_cued, "grammar_cued": found.grammar_cued}
        rates = {
            name: estimate_share(round(value * found.n_items), found.n_items, resampling)
            for name, value in shares.items()
        }
        return {name: rate for name, rate in rates.items() if rate is not None}

    @property
    def null(self) -> NullModel | None:
        """What blind picks of words of like frequency give; None where nothing was measured."""
        return self.measured.reliance.null["frequency"] if self.measured else None


def measure(context: AuditContext, options: ShortcutsOptions) -> ShortcutAnswers:
    """Measure what decides by swaps, then the figures of the paper on the primary split."""
    halved = context.train is None
    context = with_training(context)
    split, train = context.primary, cast("datasets.Dataset", context.train)
    columns: list[list[str]] = [
        train[name][:] for name in ("text", "text_pair") if name in train.column_names
    ]
    items = [column for column in (split.texts, split.text_pairs) if column is not None][
        : len(columns)
    ]
    labels = train_labels(context)
    training = Training(
        columns,
        labels,
        len(context.label_names or ()),
        suspected=options.words,
        reasons=options.reasons,
    )
    for word in options.words:  # refused before anything that takes long
        if not any(word.strip().lower() in table for table in training.texts_with):
            raise OptionError(
                f"Expected single words of the training data in `words`, but none of its texts has {format_value(word)}.",
                option="words",
            )
    with bars_about(split.name, "swaps"):
        swaps = measure_swaps(
            context.scorer,
            items,
            context.scores().predicted,
            training,
            ids=split.ids,
            labels=split.labels,
            clusters=None if split.clusters is None else split.clusters.tolist(),
            resampling=context.resampling,
            seconds=options.seconds,
            limit=options.items,
            **context.running(
                context.folder(
                    f"swaps-{safe_name(split.name)}", split.fingerprint, str(context.seed)
                )
            ),
        )
    file = Path(context.scorer.name) / RECORDS
    answers = ShortcutAnswers(
        context,
        swaps,
        _judge(context, options, training, swaps),
        protocol_of(options.protocol),
        records=read_json(file) if file.is_file() else [],
        remembered=near_duplicates(with_pairs(*items), with_pairs(*columns)),
        halved=halved,
    )
    withheld = context.why_no_gradients()
    if withheld:
        return dataclasses.replace(answers, withheld=withheld)
    protocol, chosen = (
        answers.protocol,
        context.picked(split, min(options.items or MAX_ITEMS, int(split.labeled.sum()))),
    )
    classifier, pairs = cast("Classifier", context.scorer), columns[1] if len(columns) > 1 else None
    heads = training_heads(
        columns[0], labels, text_pairs=pairs, protocol=protocol, classifier=classifier
    )
    depends = (
        split.fingerprint,
        str(len(chosen)),
        str(context.seed),
        json.dumps(protocol.to_dict(), sort_keys=True),
    )
    try:
        with bars_about(split.name):
            measured = measure_shortcuts(
                classifier,
                chosen.texts,
                chosen.labels,
                heads,
                text_pairs=chosen.text_pairs,
                ids=chosen.ids,
                resampling=context.resampling,
                protocol=protocol,
                **context.running(context.folder(f"shortcuts-{safe_name(split.name)}", *depends)),
            )
    except WithheldError as error:
        return dataclasses.replace(answers, withheld=str(error))
    return dataclasses.replace(answers, items=chosen.take(measured.rows), measured=measured)


def has_training(context: AuditContext) -> bool:
    """Return whether there are labeled training texts, or enough audited items for half of them to stand for them."""
    if context.train is not None:
        return "label" in context.train.column_names
    return int(context.primary.labeled.sum()) >= MIN_HALVED


def with_training(context: AuditContext) -> AuditContext:
    """Return the audit with training texts: where none are given, half of the audited items stand for them.

    What goes with a label is then looked for in one half, and tried on the other.
    """
    if context.train is not None:
        return context
    split, first = context.primary, _half(context)
    rest = np.setdiff1d(np.arange(len(split)), first)
    scores = context.scores().take(rest)
    return dataclasses.replace(
        context,
        primary=dataclasses.replace(
            split.take(rest), fingerprint=digest_value([split.fingerprint, "half"])
        ),
        train=split.data.select(first),
        answers={**context.answers, split.name: scores},
        # The items are others; the model is the same, and every weight is read for its fingerprint.
        _shared={"fingerprint": context.model_fingerprint},
    )


def train_labels(context: AuditContext) -> NDArray[np.int64]:
    """The labels of the training texts, or of those that stand for them, in the model's numbering; -1 for none."""
    train, class_of = context.train, context.primary.class_of
    if class_of is None:
        return np.empty(0, np.int64)
    if train is None:
        return context.primary.labels[_half(context)]
    return class_of[np.array(train["label"][:], dtype=np.int64)]


def missing_class(context: AuditContext) -> str | None:
    """Return the first class of which there is no training text; None where there are some of all."""
    known = set(train_labels(context).tolist())
    return next((name for k, name in enumerate(context.label_names or ()) if k not in known), None)


def _half(context: AuditContext) -> NDArray[np.int64]:
    """Return the rows of half of the labeled items, by seed and id; those that belong together are in the same half."""
    split = context.primary
    labeled = np.flatnonzero(split.labeled)
    groups = None if split.clusters is None else split.clusters[labeled].tolist()
    ids = [split.ids[row] for row in labeled.tolist()]
    return np.asarray(
        labeled[chosen_rows(ids, len(labeled) // 2, seed=context.seed, groups=groups)]
    )


def _judge(
    context: AuditContext, options: ShortcutsOptions, training: Training, swaps: SwapMeasurement
) -> Judge:
    """Gather what the data and the user say about the words that may decide."""
    planted = {token["token"].lower() for row in context.primary.planted or () for token in row}
    named = tuple(
        {word for row in swaps.rows if row.decision.level == "large" for word in row.words}
    )
    vanishing = frozenset[str]()
    if options.other_split and named:
        other = next((s for s in context.splits if s.name == options.other_split), None)
        if other is None:
            raise make_unknown_name_error(
                "audited split", options.other_split, [split.name for split in context.splits]
            )
        train = training.columns[0], training.labels
        vanishing = vanishing_words(named, train, (other.texts, other.labels), context.resampling)
    return Judge(
        label_names=context.label_names or (),
        reasons=frozenset(map(str.lower, options.reasons)),
        not_reasons=frozenset(map(str.lower, options.not_reasons)),
        planted=frozenset(planted),
        vanishing=vanishing,
    )
