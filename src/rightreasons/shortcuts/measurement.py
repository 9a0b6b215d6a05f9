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
from rightreasons.models.runs.progress import prefix_bar_titles
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
    STRONGEST_TEST,
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
"""Differences that a number of items can detect. Half of the items select the features."""

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
        words: Words by which the report named it, the most effective first; empty for a feature
            without words.
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
        judge: Evidence on which features are reasons for a label, and which are spurious.
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
        """Name and accuracy of two sets: near duplicates of training texts, and all other items.

        A lower accuracy on the others is a sign that the model has memorized its training texts.
        Empty if no labeled item is a near duplicate.
        """
        split = self.context.primary
        if self.remembered is None or not self.remembered[split.labeled].any():
            return []
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

    @property
    def n_replacing(self) -> int:
        """Number of audited items that replace missing training texts, and are not tested."""
        if not self.is_halved or self.context.train is None:
            return 0
        return len(self.context.train)

    @functools.cached_property
    def conclusion(self) -> str:
        """The key of the verdict."""
        return conclude(self.swaps, self.judge, has_training=not self.is_halved)

    @functools.cached_property
    def effects(self) -> list[FeatureEffect]:
        """Effects on which the conclusion rests, largest first."""
        effects = list_effects(self.swaps, self.judge)
        return sorted(effects, key=lambda row: -row.effect.deciding_share)

    @functools.cached_property
    def deciding(self) -> list[FeatureEffect]:
        """Features that decide: spurious ones first, then strong pairs of words, then others."""
        decisive = [row for row in self.effects if row.is_decisive]
        if not decisive:
            return []
        # The effects are sorted.
        largest_share = decisive[0].effect.deciding_share

        def rank(row: FeatureEffect) -> tuple[bool, bool, bool, float]:
            """Return a key that is smaller for features that are named first."""
            share = row.effect.deciding_share
            is_spurious = row.decision.level == "large" and self.judge.judge(row) == "spurious"
            # A single pair is easier to judge than a list that contains it, and is named first
            # unless the list decides much more.
            is_strong_pair = row.test == "words" and share > 0.6 * largest_share
            # The strongest word of each text is named last: a list says which words decide.
            is_unlisted = row.test == STRONGEST_TEST
            return not is_spurious, not is_strong_pair, is_unlisted, -share

        return sorted(decisive, key=rank)

    @property
    def followed(self) -> list[FeatureEffect]:
        """Words whose insertion changes nearly every prediction to their label."""
        return list_followed_insertions(self.swaps, self.judge)

    @property
    def undecided(self) -> list[FeatureEffect]:
        """Effects whose intervals include a margin, largest first; words without a list come last."""
        undecided = [row for row in self.effects if row.decision.level == "unknown"]
        return sorted(undecided, key=lambda row: row.test == STRONGEST_TEST)

    @property
    def strongest(self) -> FeatureEffect | None:
        """The feature of the verdict: the first that decides, or else the strongest pair of words.

        Without pairs, it is the strongest feature of any test; None if nothing was tested.
        """
        if self.deciding:
            return self.deciding[0]
        for row in self.effects:
            if row.test == "words":
                return row
        if self.effects:
            return self.effects[0]
        return None

    @property
    def reported(self) -> FeatureEffect | None:
        """The strongest feature, with the effect that the report quotes.

        For a pair of words, the effect is measured on other items than those that selected the
        pair: the largest of many measured effects is too large by chance.
        """
        row = self.strongest
        unbiased = self.swaps.strongest_pair
        if row is not None and unbiased is not None and row.words == unbiased.words:
            return unbiased
        return row

    @property
    def deciding_estimate(self) -> Estimate | None:
        """Share of all predictions that the strongest feature decides, as quoted."""
        return None if self.reported is None else self.reported.estimate

    @property
    def named_before(self) -> FeatureEffect | None:
        """Present effect of the feature that an earlier audit named; None if it named none.

        Single words and pairs are now swapped together; a list of words is swapped again with the
        same words.
        """
        if self.previous is None:
            return None
        for test in self.previous.repeating_tests:
            for row in self.swaps.rows:
                # These tests report the most effective position, which may be another one now.
                is_other_position = row.test in POSITION_TESTS and row.name != self.previous.name
                if row.test == test and not is_other_position:
                    return self._name_as_before(row)
        return None

    def _name_as_before(self, row: FeatureEffect) -> FeatureEffect:
        """Return an effect with the words by which the earlier report named the feature.

        A reader knows these words. The words of the same list that flip most predictions now may be
        others.
        """
        if self.previous is not None and row.test in EARLIER_TESTS.values():
            return dataclasses.replace(row, words=self.previous.words)
        return row

    @property
    def has_new_feature(self) -> bool:
        """Whether something decides that an earlier audit did not name."""
        if not self.deciding or self.named_before is None:
            return False
        strongest = self.deciding[0]
        if strongest.test == self.named_before.test:
            return False
        words = set(strongest.words)
        # A feature without words, such as the length, is new if its test is.
        if not words:
            return True
        return not words <= set(self.named_before.words)

    @property
    def has_same_items(self) -> bool:
        """Whether an earlier audit tested the same items."""
        if self.previous is None:
            return False
        is_same_order = self.previous.sampling == digest_sampling(self.context)
        return is_same_order and self.previous.n_items == self.swaps.n_items

    @property
    def n_needed(self) -> int | None:
        """Number of items that would settle the undecided tests; None if no more are needed."""
        if not self.undecided:
            return None
        return POWER.find_needed_items(self.swaps.n_items)

    @property
    def types(self) -> dict[str, Estimate]:
        """Shares of predictions by the type of their shortcuts: "lexicon_cued", "grammar_cued".

        Empty if no attributions were measured.
        """
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
    """Measure on the primary split what decides predictions, and the figures of the paper.

    Swaps show what decides. The figures of the paper are added if the model has gradients.

    Args:
        context: The audit, scored. Without training texts, half of its items replace them.
        options: Options of the question, such as `items` and `budget`.
    """
    protocol = get_protocol(options.protocol)
    if options.stop_words is not None:
        # A missing list of stop words raises an error before the swaps, which take long.
        load_stop_words(options.stop_words)
        protocol = protocol.replace(stop_words=options.stop_words)

    is_halved = context.train is None
    context = add_training_texts(context)
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
    # `ShortcutCallback` writes a record of the training into the folder of the model.
    records = []
    records_file = Path(context.scorer.name) / RECORDS
    if records_file.is_file():
        records = read_json(records_file)
    answers = ShortcutAnswers(
        context,
        swaps,
        judge,
        protocol,
        records=records,
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
    """Measure by swaps which features decide the predictions on the primary split.

    Args:
        context: The audit, with training texts.
        options: Options of the question, such as `items` and `budget`.
        columns: One or two lists of training texts.
        items: One or two lists of the texts of the primary split.
        judge: Evidence on which words are no reasons for a label; these are always tested.
        previous: The earlier audit whose tests are repeated; None if there is none.

    Raises:
        OptionError: If a suspected word is in no training text.
    """
    split = context.primary
    limit = options.items
    record = NO_RECORD
    if previous is not None:
        record = previous.record
        # If the items have the same order, as many of them are the same items.
        if limit is None and previous.sampling == digest_sampling(context):
            limit = previous.n_items
    budget = options.get_budget(context)
    # The former option takes precedence, so that commands of the last release still run.
    if options.seconds is not None:
        budget = convert_seconds(options.seconds)
    training = TrainingTexts(
        columns,
        get_training_labels(context),
        len(context.label_names or ()),
        suspected=[*options.words, *sorted(judge.declared)],
        reasons=options.reasons,
    )
    # An unknown word is refused before the model is queried.
    _check_suspected_words(options.words, training)
    clusters = None
    if split.clusters is not None:
        clusters = split.clusters.tolist()
    folder = context.folder(f"swaps-{safe_name(split.name)}", split.fingerprint, str(context.seed))
    with prefix_bar_titles(split.name, "swaps"):
        return measure_swaps(
            context.scorer,
            items,
            context.scores().predicted,
            training,
            ids=split.ids,
            labels=split.labels,
            clusters=clusters,
            resampling=context.resampling,
            budget=budget,
            limit=limit,
            declared=sorted(judge.declared),
            previous=record,
            **context.get_run_arguments(folder),
        )


def _check_suspected_words(words: Sequence[str], training: TrainingTexts) -> None:
    """Check that each word that a user suspects is in a training text.

    Args:
        words: Words as the user wrote them.
        training: Training texts whose words are counted.

    Raises:
        OptionError: If a word is in no training text; the message names it.
    """
    vocabulary = {word for _, word in training.index}
    for word in words:
        if word.strip().lower() not in vocabulary:
            raise OptionError(
                "Expected single words of the training data in `words`, but no training text "
                f"contains {format_value(word)}.",
                option="words",
            )


def digest_sampling(context: AuditContext) -> str:
    """Return a digest of the primary items and of the seed, which order the tested items."""
    return digest_value([context.primary.fingerprint, context.seed])


def make_earlier_values(measurement: ShortcutAnswers) -> dict[str, Any]:
    """Return the record of an audit from which a later one reads an `EarlierAudit`.

    The values are plain, because audit.json and audit.yaml store them.
    """
    return {
        **_describe_named_feature(measurement),
        "n_items": measurement.swaps.n_items,
        "sampling": digest_sampling(measurement.context),
        **measurement.swaps.record.to_plain(measurement.context.label_names or ()),
    }


def _describe_named_feature(measurement: ShortcutAnswers) -> dict[str, Any]:
    """Return the feature that the headline names, as plain values.

    Args:
        measurement: Results of the question about shortcuts: `deciding`, the decisive features with
            the strongest first; `named_before`, the feature that an earlier audit named, None without
            one; and `swaps`, the effects of the tests (`rows`) and of single pairs of words (`pairs`).

    Returns:
        `test`, `name` and `words` of the feature, and `decisive_share`, the share of predictions
        that it decides; empty values and 0 if the headline names no feature.
    """
    # If nothing decides any more, a third audit still tests what the first one named.
    feature = measurement.named_before
    if measurement.deciding:
        feature = measurement.deciding[0]
    if feature is None:
        return {"test": "", "name": "", "words": [], "decisive_share": 0.0}
    shares = [feature.effect.deciding_share]
    # A later audit swaps the words of all decisive pairs together. Its effect is compared with the
    # largest effect of a single pair.
    if feature.test in NAMING_TESTS:
        for row in (*measurement.swaps.rows, *measurement.swaps.pairs):
            if row.test in NAMING_TESTS:
                shares.append(row.effect.deciding_share)
    return {
        "test": feature.test,
        "name": feature.name,
        "words": list(feature.words),
        "decisive_share": max(0.0, *shares),
    }


def _read_previous(context: AuditContext, n_columns: int) -> EarlierAudit | None:
    """Return what an earlier audit tested and named; None if there is no earlier audit.

    Args:
        context: The audit, with the audit.json of the earlier one in `previous`.
        n_columns: Number of texts of an item: 1, or 2 for pairs.
    """
    values = context.previous.get("shortcuts")
    if values is None:
        return None
    return EarlierAudit(
        record=read_record(values, context.label_names or (), n_columns),
        # Reports of earlier versions lack these three, and name pairs of words only.
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
    """Add the figures of the paper, which need attributions.

    Args:
        answers: The answers so far, about a model with gradients.
        options: Options of the question, such as `items` and `budget`.
        columns: One or two lists of training texts.

    Returns:
        The answers with the figures; with the reason why there are none, if too few items have
        valid attributions.
    """
    context = answers.context
    split = context.primary
    protocol = answers.protocol
    # An attribution takes many passes, and these figures need only a few hundred items.
    n_attributed = min(options.items or MAX_ITEMS, int(split.labeled.sum()))
    selection = context.sample_items(split, n_attributed)
    classifier = cast("Classifier", context.scorer)
    second_texts = None
    if len(columns) > 1:
        second_texts = columns[1]
    heads = rank_training_heads(
        columns[0],
        get_training_labels(context),
        text_pairs=second_texts,
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
        with prefix_bar_titles(split.name):
            measured = measure_shortcuts(
                classifier,
                selection.texts,
                selection.labels,
                heads,
                text_pairs=selection.text_pairs,
                ids=selection.ids,
                resampling=context.resampling,
                protocol=protocol,
                **context.get_run_arguments(folder),
            )
    # The verdict rests on the swaps, and does not need these figures.
    except WithheldError as error:
        return dataclasses.replace(answers, withheld=str(error))
    return dataclasses.replace(answers, items=selection.take(measured.rows), measured=measured)


def _find_remembered(
    items: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]
) -> NDArray[np.bool_]:
    """Return (N,) whether an item is a near duplicate of a training text.

    Only the first `MAX_REMEMBERED` items and training texts are compared; further items count as
    new, because comparing all of them would take as long as the swaps.

    Args:
        items: One or two lists of N texts.
        columns: One or two lists of training texts.
    """
    texts = join_pairs(*[column[:MAX_REMEMBERED] for column in items])
    training_texts = join_pairs(*[column[:MAX_REMEMBERED] for column in columns])
    is_remembered = np.zeros(len(items[0]), dtype=np.bool_)
    is_remembered[: len(texts)] = near_duplicates(texts, training_texts)
    return is_remembered


def has_training(context: AuditContext) -> bool:
    """Return whether there are labeled training texts, or enough items to replace them."""
    if context.train is not None:
        return "label" in context.train.column_names
    return int(context.primary.labeled.sum()) >= MIN_HALVED


def add_training_texts(context: AuditContext) -> AuditContext:
    """Return an audit that has training texts.

    If none are given, half of the labeled items replace them: words that predict a label are listed
    in this half, and tested on the other items.

    Args:
        context: The audit: the model, the tested split (`primary`), the training texts (`train`, None
            if the user has none), and the scores of the model for each split (`answers`).

    Returns:
        The same audit if it has training texts, otherwise one of the other half of the items.
    """
    if context.train is not None:
        return context
    split = context.primary
    training_rows = _select_half(context)
    tested_rows = np.setdiff1d(np.arange(len(split)), training_rows)
    # Stored results of all items must not be taken for results of these.
    fingerprint = digest_value([split.fingerprint, "half"])
    tested_split = dataclasses.replace(split.take(tested_rows), fingerprint=fingerprint)
    tested_scores = context.scores().take(tested_rows)
    return dataclasses.replace(
        context,
        primary=tested_split,
        train=split.data.select(training_rows),
        answers={**context.answers, split.name: tested_scores},
        # The model is the same. Its fingerprint would be slow to compute again from all weights.
        _shared={"fingerprint": context.model_fingerprint},
    )


def get_training_labels(context: AuditContext) -> NDArray[np.int64]:
    """Return the labels of the training texts or their replacement.

    Returns:
        (M,) labels in the numbering of the model, -1 for unlabeled texts; empty if the labels of
        the data are not classes of the model.
    """
    class_of_label = context.primary.class_of
    if class_of_label is None:
        return np.empty(0, np.int64)
    if context.train is None:
        return context.primary.labels[_select_half(context)]
    data_labels = np.array(context.train["label"][:], dtype=np.int64)
    # The data may number the classes otherwise than the model.
    return class_of_label[data_labels]


def find_missing_class(context: AuditContext) -> str | None:
    """Return the name of the first class without a training text; None if every class has one."""
    # Without texts of a class, no word could be listed for it, and it would seem free of cues.
    labels = set(get_training_labels(context).tolist())
    for label, name in enumerate(context.label_names or ()):
        if label not in labels:
            return name
    return None


def _select_half(context: AuditContext) -> NDArray[np.int64]:
    """Select half of the labeled items at random, and return their rows.

    The selection depends on the seed and the ids only. Items of one cluster, such as versions of a
    text, are in the same half, because one of them would give the other away.
    """
    split = context.primary
    labeled_rows = np.flatnonzero(split.labeled)
    ids = [split.ids[row] for row in labeled_rows.tolist()]
    groups = None
    if split.clusters is not None:
        groups = split.clusters[labeled_rows].tolist()
    selected = choose_rows(ids, len(ids) // 2, seed=context.seed, groups=groups)
    return np.asarray(labeled_rows[selected])


def _make_judge(
    context: AuditContext, options: ShortcutsOptions, columns: Sequence[Sequence[str]]
) -> Judge:
    """Collect the evidence on which words are reasons for a label, and which are not.

    Args:
        context: The audit, whose data may declare planted words.
        options: Words and features that the user calls reasons or no reasons, and the split in
            which spurious words are not associated with a label.
        columns: One or two lists of training texts.
    """
    planted: set[str] = set()
    # The data lists the planted tokens of each item.
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
    """Return the words that predict a label in the training texts but not in another split.

    Args:
        context: The audit, with training texts.
        options: Options of the question; `other_split` names the split.
        columns: One or two lists of training texts. Only the first is compared.

    Raises:
        ValueError: If the split is not audited.
    """
    other_name = str(options.other_split)
    split_by_name = {split.name: split for split in context.splits}
    if other_name not in split_by_name:
        raise make_unknown_name_error("audited split", other_name, list(split_by_name))
    other_split = split_by_name[other_name]
    labels = get_training_labels(context)
    training = TrainingTexts(columns[:1], labels, len(context.label_names or ()))
    words = [word for _, word in training.list_by_labels().labels]
    return find_vanishing_words(
        words, (columns[0], labels), (other_split.texts, other_split.labels), context.resampling
    )
