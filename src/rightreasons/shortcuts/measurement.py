"""Measure what the question about shortcuts reports.

`measure` is the entry point. It lists words that predict a label in the training texts, measures
what decides by swaps on the primary split, and adds the figures of the Reliability Paradox if the
model has gradients. `ShortcutAnswers` holds the results and selects those that the page shows.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.core.decisions import Power
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.json_files import read_json
from rightreasons.core.sentences import format_value
from rightreasons.core.store import digest_value
from rightreasons.io.samples import choose_rows
from rightreasons.models.runs.progress import bars_about
from rightreasons.shortcuts.judging import (
    Judge,
    conclude,
    find_vanishing_words,
    list_effects,
    list_followed_insertions,
)
from rightreasons.shortcuts.measure import (
    ShortcutMeasurement,
    WithheldError,
    join_pairs,
    measure_shortcuts,
    rank_training_heads,
)
from rightreasons.shortcuts.measure_deciding import (
    EARLIER_TESTS,
    NAMING_TESTS,
    NO_RECORD,
    FeatureEffect,
    SwapMeasurement,
    convert_seconds,
    measure_swaps,
)
from rightreasons.shortcuts.options import MAX_ITEMS, ShortcutsOptions
from rightreasons.shortcuts.protocols import Protocol, get_protocol
from rightreasons.shortcuts.reliance import NullModel
from rightreasons.shortcuts.stop_words import load_stop_words
from rightreasons.shortcuts.swapping.duplicates import near_duplicates
from rightreasons.shortcuts.swapping.record import FeatureRecord, read_record
from rightreasons.shortcuts.swapping.training import TrainingTexts

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.classes import Classifier

POWER = Power("decides", n_tests=8, item_fraction=0.5)
"""Differences that a number of items can detect, of which half choose the features."""

MIN_HALVED = 100
"""Minimum number of labeled items for half of them to replace missing training texts."""

POSITION_TESTS = ("place", "one text alone")
"""Tests that report one of several positions, the most effective one."""

RECORDS = "shortcuts.json"
"""File that `ShortcutCallback(out=...)` writes into the folder of the model."""

MAX_REMEMBERED = 20_000
"""Number of items, and of training texts, that are searched for near duplicates of each other."""


@dataclasses.dataclass(frozen=True)
class EarlierAudit:
    """What an earlier audit tested and found, as its audit.json has it.

    Attributes:
        record: Words that it tested.
        test: Test whose feature its headline named; "" if it named none.
        name: Name of that feature.
        words: Words by which the report named it, the most effective first; () if it is no words.
        decisive_share: Share of the predictions that the feature decided, in [0, 1].
        n_items: Number of items that it tested.
        sampling: Digest of the items and of the seed that ordered them.
    """

    record: FeatureRecord
    test: str
    name: str
    words: tuple[str, ...]
    decisive_share: float
    n_items: int
    sampling: str

    @property
    def repeating_tests(self) -> tuple[str, ...]:
        """Tests that show what the named feature decides now, the closest one first."""
        if self.test in NAMING_TESTS:
            return ("words named before",)
        # Without an earlier list, the training texts gave the same one again.
        return EARLIER_TESTS.get(self.test, self.test), self.test


@dataclasses.dataclass(frozen=True, eq=False)
class ShortcutAnswers:
    """Features that decide the predictions of a model, and the shortcuts of its predictions.

    Attributes:
        context: The audit.
        swaps: Effects of all features, by swaps.
        judge: Evidence on what is no reason for a label.
        protocol: Settings by which shortcuts were found.
        items: Items of the primary split whose attributions were measured; None if too few are
            valid.
        measured: Their shortcuts; None if too few are valid.
        withheld: Reason why there are no attributions; "" if there are some.
        records: Figures that a callback recorded over training, one row per evaluation.
        remembered: (N,) whether an item of the primary split is a near duplicate of a training
            text.
        is_halved: Whether half of the audited items replace the training texts, as none are given.
        previous: What an earlier audit found; None without one.
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
    is_halved: bool = False
    previous: EarlierAudit | None = None

    @functools.cached_property
    def by_memory(self) -> list[tuple[str, Estimate]]:
        """Accuracy on near duplicates of training texts and on others; [] without duplicates."""
        split = self.context.primary
        if self.remembered is None or not self.remembered[split.labeled].any():
            return []
        # Accuracy that falls beyond the duplicates is a sign of memory, not of skill.
        is_correct = self.context.scores().predicted == split.labels
        accuracies = []
        for name, mask in (
            ("near duplicates of training texts", self.remembered),
            ("other items", ~self.remembered),
        ):
            hits = is_correct[mask & split.labeled]
            estimate = estimate_share(int(hits.sum()), len(hits), self.context.resampling)
            if estimate is not None:
                accuracies.append((name, estimate))
        return accuracies

    @property
    def n_items(self) -> int:
        """Number of items of the primary split whose attributions were measured."""
        return self.measured.reliance.n_items if self.measured else 0

    @functools.cached_property
    def conclusion(self) -> str:
        """The key of the verdict."""
        return conclude(self.swaps, self.judge, has_training=not self.is_halved)

    @functools.cached_property
    def effects(self) -> list[FeatureEffect]:
        """Effects on which the conclusion rests, largest first."""
        return sorted(
            list_effects(self.swaps, self.judge), key=lambda row: -row.effect.deciding_share
        )

    @functools.cached_property
    def deciding(self) -> list[FeatureEffect]:
        """Features that decide: spurious ones first, then strong pairs of words, then others."""
        rows = [row for row in self.effects if row.is_decisive]
        if not rows:
            return []
        largest = rows[0].effect.deciding_share

        def rank(row: FeatureEffect) -> tuple[bool, bool, float]:
            is_spurious = row.decision.level == "large" and self.judge.judge(row) == "spurious"
            # A single pair says more than a list that holds it, unless the list decides much more.
            is_specific = row.test == "words" and row.effect.deciding_share > 0.6 * largest
            return not is_spurious, not is_specific, -row.effect.deciding_share

        return sorted(rows, key=rank)

    @property
    def followed(self) -> list[FeatureEffect]:
        """Words that make their label nearly wherever they are put in."""
        return list_followed_insertions(self.swaps, self.judge)

    @property
    def undecided(self) -> list[FeatureEffect]:
        """Effects whose intervals include a margin, largest first."""
        return [row for row in self.effects if row.decision.level == "unknown"]

    @property
    def strongest(self) -> FeatureEffect | None:
        """The feature of the verdict: the first that decides, or else a pair of words."""
        if self.deciding:
            return self.deciding[0]
        pairs = [row for row in self.effects if row.test == "words"]
        candidates = [*pairs, *self.effects]
        return candidates[0] if candidates else None

    @property
    def reported(self) -> FeatureEffect | None:
        """Effect of the strongest feature as quoted; a pair's is of items that did not select it."""
        row = self.strongest
        unbiased = self.swaps.strongest_pair
        # The largest of many effects is too large: the items that select it do not measure it.
        if row is not None and unbiased is not None and row.words == unbiased.words:
            return unbiased
        return row

    @property
    def deciding_estimate(self) -> Estimate | None:
        """Share of all predictions that the strongest feature decides, as quoted."""
        return None if self.reported is None else self.reported.estimate

    @property
    def named_before(self) -> FeatureEffect | None:
        """What the feature that an earlier audit named decides now; None if it named none.

        Its words are swapped together, if they are single words or pairs; a list of words is
        swapped again as it was.
        """
        if self.previous is None:
            return None
        for test in self.previous.repeating_tests:
            for row in self.swaps.rows:
                # Another third of the text is another feature.
                is_other = row.test in POSITION_TESTS and row.name != self.previous.name
                if row.test == test and not is_other:
                    return self._name_as_before(row)
        return None

    def _name_as_before(self, row: FeatureEffect) -> FeatureEffect:
        """Return an effect with the words by which the earlier report named the feature."""
        # The words of a list that flip most now are others than those that a reader knows.
        if self.previous is not None and row.test in EARLIER_TESTS.values():
            return dataclasses.replace(row, words=self.previous.words)
        return row

    @property
    def has_new_feature(self) -> bool:
        """Whether the feature of the verdict decides, and is other than the one named before."""
        if not self.deciding or self.named_before is None:
            return False
        if self.deciding[0].test == self.named_before.test:
            return False
        words = set(self.deciding[0].words)
        return not words or not words <= set(self.named_before.words)

    @property
    def has_same_items(self) -> bool:
        """Whether an earlier audit tested the same items."""
        if self.previous is None:
            return False
        is_same_order = self.previous.sampling == digest_sampling(self.context)
        return is_same_order and self.previous.n_items == self.swaps.n_items

    @property
    def n_needed(self) -> int | None:
        """Planned number of items; None if there are as many, or if all tests are decided."""
        if not self.undecided:
            return None
        return POWER.find_needed_items(self.swaps.n_items)

    @property
    def types(self) -> dict[str, Estimate]:
        """Shares of lexicon-cued and of grammar-cued predictions."""
        if self.measured is None:
            return {}
        # The two types exclude each other, so that each is a share of all predictions.
        reliance = self.measured.reliance
        shares = {"lexicon_cued": reliance.lexicon_cued, "grammar_cued": reliance.grammar_cued}
        rates = {}
        for name, share in shares.items():
            n_cued = round(share * reliance.n_items)
            rate = estimate_share(n_cued, reliance.n_items, self.context.resampling)
            if rate is not None:
                rates[name] = rate
        return rates

    @property
    def null(self) -> NullModel | None:
        """Shortcut rate of random words of similar frequency; None if nothing was measured."""
        return self.measured.reliance.null["frequency"] if self.measured else None


def measure(context: AuditContext, options: ShortcutsOptions) -> ShortcutAnswers:
    """Measure what decides by swaps, then the figures of the paper on the primary split."""
    is_halved = context.train is None
    protocol = get_protocol(options.protocol)
    if options.stop_words is not None:
        # A missing list of stop words is said now rather than after the swaps.
        load_stop_words(options.stop_words)
        protocol = protocol.replace(stop_words=options.stop_words)
    context = with_training(context)
    split = context.primary
    train = cast("datasets.Dataset", context.train)
    # Training texts may lack the second column of a pair: then only first texts are compared.
    names = [name for name in ("text", "text_pair") if name in train.column_names]
    columns: list[list[str]] = [train[name][:] for name in names]
    items = [column for column in (split.texts, split.text_pairs) if column is not None]
    items = items[: len(columns)]
    judge = _make_judge(context, options, columns)
    previous = _read_previous(context, n_columns=len(columns))
    swaps = _measure_swaps(context, options, columns, items, judge, previous)
    file = Path(context.scorer.name) / RECORDS
    answers = ShortcutAnswers(
        context,
        swaps,
        judge,
        protocol,
        records=read_json(file) if file.is_file() else [],
        remembered=_find_remembered(items, columns),
        is_halved=is_halved,
        previous=previous,
    )
    # The figures of the paper need gradients, the swaps do not.
    withheld = context.why_no_gradients()
    if withheld:
        return dataclasses.replace(answers, withheld=withheld)
    return _measure_attributions(answers, options, columns)


def _measure_swaps(
    context: AuditContext,
    options: ShortcutsOptions,
    columns: Sequence[Sequence[str]],
    items: Sequence[Sequence[str]],
    judge: Judge,
    previous: EarlierAudit | None,
) -> SwapMeasurement:
    """Measure what decides by swaps on the primary split."""
    split = context.primary
    limit = options.items
    record = NO_RECORD
    if previous is not None:
        record = previous.record
        # As many of the same items, so that both audits are about the same ones.
        if limit is None and previous.sampling == digest_sampling(context):
            limit = previous.n_items
    # The former option is read as a budget, so that commands of the last release still run.
    budget = options.get_budget(context)
    if options.seconds is not None:
        budget = convert_seconds(options.seconds)
    training = TrainingTexts(
        columns,
        train_labels(context),
        len(context.label_names or ()),
        suspected=[*options.words, *sorted(judge.declared)],
        reasons=options.reasons,
    )
    # An unknown word is refused before anything that takes long.
    vocabulary = {word for _, word in training.index}
    for word in options.words:
        if word.strip().lower() not in vocabulary:
            raise OptionError(
                f"Expected single words of the training data in `words`, but none of its texts has "
                f"{format_value(word)}.",
                option="words",
            )
    folder = context.folder(f"swaps-{safe_name(split.name)}", split.fingerprint, str(context.seed))
    with bars_about(split.name, "swaps"):
        return measure_swaps(
            context.scorer,
            items,
            context.scores().predicted,
            training,
            ids=split.ids,
            labels=split.labels,
            clusters=None if split.clusters is None else split.clusters.tolist(),
            resampling=context.resampling,
            budget=budget,
            limit=limit,
            declared=sorted(judge.declared),
            previous=record,
            **context.running(folder),
        )


def digest_sampling(context: AuditContext) -> str:
    """Return a digest of the primary items and of the seed, which order the tested items."""
    return digest_value([context.primary.fingerprint, context.seed])


def make_earlier_values(m: ShortcutAnswers) -> dict[str, Any]:
    """Return the plain values from which a later audit reads an `EarlierAudit`."""
    # Plain values rather than the class: audit.json and audit.yaml hold them.
    return {
        **_describe_named_feature(m),
        "n_items": m.swaps.n_items,
        "sampling": digest_sampling(m.context),
        **m.swaps.record.to_plain(m.context.label_names or ()),
    }


def _describe_named_feature(m: ShortcutAnswers) -> dict[str, Any]:
    """Return the feature that the headline names, and the share that it decides."""
    # Where nothing decides any more, a third audit still tests what the first one named.
    named = m.deciding[0] if m.deciding else m.named_before
    if named is None:
        return {"test": "", "name": "", "words": [], "decisive_share": 0.0}
    shares = [named.effect.deciding_share]
    if named.test in NAMING_TESTS:
        # A later audit swaps the words of all pairs together, of which the strongest one counts.
        for row in (*m.swaps.rows, *m.swaps.pairs):
            if row.test in NAMING_TESTS:
                shares.append(row.effect.deciding_share)
    return {
        "test": named.test,
        "name": named.name,
        "words": list(named.words),
        "decisive_share": max(0.0, *shares),
    }


def _read_previous(context: AuditContext, n_columns: int) -> EarlierAudit | None:
    """Return what an earlier audit tested; None without one."""
    values = context.previous.get("shortcuts")
    if values is None:
        return None
    return EarlierAudit(
        record=read_record(values, context.label_names or (), n_columns),
        # Reports of earlier versions name pairs of words only.
        test=values.get("test", "words"),
        name=values.get("name", ""),
        words=tuple(values.get("words", ())),
        decisive_share=values["decisive_share"],
        n_items=values["n_items"],
        sampling=values["sampling"],
    )


def _measure_attributions(
    answers: ShortcutAnswers, options: ShortcutsOptions, columns: Sequence[Sequence[str]]
) -> ShortcutAnswers:
    """Add the figures of the paper, or the reason why there are none."""
    context = answers.context
    split = context.primary
    protocol = answers.protocol
    # Attributions take many passes each, and their figures few items.
    n_attributed = min(options.items or MAX_ITEMS, int(split.labeled.sum()))
    selection = context.sample_items(split, n_attributed)
    classifier = cast("Classifier", context.scorer)
    heads = rank_training_heads(
        columns[0],
        train_labels(context),
        text_pairs=columns[1] if len(columns) > 1 else None,
        protocol=protocol,
        classifier=classifier,
    )
    folder = context.folder(
        f"shortcuts-{safe_name(split.name)}",
        split.fingerprint,
        str(len(selection)),
        str(context.seed),
        json.dumps(protocol.to_dict(), sort_keys=True),
    )
    try:
        with bars_about(split.name):
            measured = measure_shortcuts(
                classifier,
                selection.texts,
                selection.labels,
                heads,
                text_pairs=selection.text_pairs,
                ids=selection.ids,
                resampling=context.resampling,
                protocol=protocol,
                **context.running(folder),
            )
    # The verdict rests on the swaps, so that a report without these figures is still one.
    except WithheldError as error:
        return dataclasses.replace(answers, withheld=str(error))
    return dataclasses.replace(answers, items=selection.take(measured.rows), measured=measured)


def _find_remembered(
    items: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]
) -> NDArray[np.bool_]:
    """Return (N,) whether an item is a near duplicate of a training text.

    Only the first items are searched.
    """
    texts = join_pairs(*[column[:MAX_REMEMBERED] for column in items])
    training = join_pairs(*[column[:MAX_REMEMBERED] for column in columns])
    # Items beyond the searched ones count as new: comparing all would take as long as the swaps.
    flags = np.zeros(len(items[0]), dtype=np.bool_)
    flags[: len(texts)] = near_duplicates(texts, training)
    return flags


def has_training(context: AuditContext) -> bool:
    """Return whether there are labeled training texts, or enough items to replace them."""
    if context.train is not None:
        return "label" in context.train.column_names
    return int(context.primary.labeled.sum()) >= MIN_HALVED


def with_training(context: AuditContext) -> AuditContext:
    """Return the audit with training texts, replaced by half of the items if none are given.

    Words that predict a label are then listed in one half, and tested on the other.
    """
    if context.train is not None:
        return context
    split = context.primary
    training_rows = _select_half(context)
    tested_rows = np.setdiff1d(np.arange(len(split)), training_rows)
    scores = context.scores().take(tested_rows)
    # A separate fingerprint keeps the predictions of the half apart from those of all items.
    fingerprint = digest_value([split.fingerprint, "half"])
    return dataclasses.replace(
        context,
        primary=dataclasses.replace(split.take(tested_rows), fingerprint=fingerprint),
        train=split.data.select(training_rows),
        answers={**context.answers, split.name: scores},
        # The items are others; the model is the same, and every weight is read for its fingerprint.
        _shared={"fingerprint": context.model_fingerprint},
    )


def train_labels(context: AuditContext) -> NDArray[np.int64]:
    """Return the labels of the training texts or their replacement; -1 for unlabeled texts."""
    train = context.train
    class_of = context.primary.class_of
    if class_of is None:
        return np.empty(0, np.int64)
    if train is None:
        return context.primary.labels[_select_half(context)]
    # Training texts may number the classes otherwise than the model.
    return class_of[np.array(train["label"][:], dtype=np.int64)]


def find_missing_class(context: AuditContext) -> str | None:
    """Return the first class without a training text; None if every class has one."""
    # Without texts of a class no word is listed for it, and it would seem free of cues.
    labels = set(train_labels(context).tolist())
    for label, name in enumerate(context.label_names or ()):
        if label not in labels:
            return name
    return None


def _select_half(context: AuditContext) -> NDArray[np.int64]:
    """Return the rows of half of the labeled items, by seed and id."""
    split = context.primary
    labeled = np.flatnonzero(split.labeled)
    # Items that belong together are in the same half, or one would give the other away.
    groups = None
    if split.clusters is not None:
        groups = split.clusters[labeled].tolist()
    ids = [split.ids[row] for row in labeled.tolist()]
    rows = choose_rows(ids, len(labeled) // 2, seed=context.seed, groups=groups)
    return np.asarray(labeled[rows])


def _make_judge(
    context: AuditContext, options: ShortcutsOptions, columns: Sequence[Sequence[str]]
) -> Judge:
    """Collect what the data and the user say about words that are no reasons."""
    # Words that a data set plants are no reasons, whatever they predict.
    planted: set[str] = set()
    for tokens in context.primary.planted or ():
        planted.update(token["token"].lower() for token in tokens)
    vanishing = frozenset[str]()
    if options.other_split:
        vanishing = _find_vanishing(context, options, columns)
    return Judge(
        reasons=frozenset(map(str.lower, options.reasons)),
        not_reasons=frozenset(map(str.lower, options.not_reasons)),
        planted=frozenset(planted),
        vanishing=vanishing,
    )


def _find_vanishing(
    context: AuditContext, options: ShortcutsOptions, columns: Sequence[Sequence[str]]
) -> frozenset[str]:
    """Return the listed words whose association vanishes in the split that the user names."""
    splits = {split.name: split for split in context.splits}
    split = splits.get(str(options.other_split))
    if split is None:
        raise make_unknown_name_error("audited split", str(options.other_split), list(splits))
    labels = train_labels(context)
    training = TrainingTexts(columns[:1], labels, len(context.label_names or ()))
    words = [word for _, word in training.list_by_labels().labels]
    return find_vanishing_words(
        words, (columns[0], labels), (split.texts, split.labels), context.resampling
    )
