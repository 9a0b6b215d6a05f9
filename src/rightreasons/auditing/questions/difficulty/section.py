"""Which examples is it fragile on?"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.difficulty import ranking as measures
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.parts import (
    APPLIES,
    Applicability,
    Column,
    Estimate,
    Example,
    ExampleList,
    Headline,
    Mark,
    Part,
    SectionResult,
    Table,
    Verdict,
    applies_not,
)
from rightreasons.auditing.page.words import fraction, percent, with_interval
from rightreasons.auditing.predictions import safe_name
from rightreasons.auditing.questions.difficulty import plots as plots_difficulty
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.validation import check_count, check_options
from rightreasons.measuring.estimates import estimate_of

if TYPE_CHECKING:
    from rightreasons.auditing.questions.difficulty.data_map import OpenedMap, Trained
    from rightreasons.measuring.substitutions import SubstitutionTests
    from rightreasons.models.gradients.fisher import FisherInformation

Floats = NDArray[np.float64]

OPTIONS = ("items", "neighbors", "data_map")
"""Of the question: how many items, which words stand in for others (`training.substitution_sources`), and the folder of
a data map of the same items."""

MIN_ITEMS = 20
"""With fewer items than this, nothing is said about how difficulty is spread."""

MAX_ITEMS = 1000
"""Items whose eigenvalue is computed: --limit lowers it, the question's option `items` raises it."""

N_GROUPS = 10
N_EXAMPLES = 6
N_TESTED = 8
"""Hardest and easiest items whose words are replaced."""

TOP_K = 6
"""Words of each that are replaced, those with the largest attribution."""

MARKED = 0.2
"""Words are marked from this share of the most moved word on."""

DATTA = "Datta et al. 2020, arXiv:2010.07212"
DEFINITION = (
    "Largest eigenvalue λ of the Fisher information of the prediction with respect to the word embeddings: a step of "
    "length e in the worst direction changes the prediction by about λe²/2 nats of KL divergence."
)


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """What was computed of the items of the primary split; failed ones are left out.

    Attributes:
        fisher: All of it, failed ones too.
        looked: (m,) rows of the split that were looked at.
        rows: (n,) rows of `looked` whose eigenvalue is known.
        values: (n,) eigenvalues.
        predicted: (n,) predicted classes.
        confidence: (n,) probability of them.
        margin: (n,) gap of the two largest probabilities.
        entropy: (n,) entropy of the probabilities; None where the number of choices differs.
        labels: (n,) labels, -1 for none.
    """

    fisher: FisherInformation
    looked: NDArray[np.int64]
    rows: NDArray[np.int64]
    values: Floats
    predicted: NDArray[np.int64]
    confidence: Floats
    margin: Floats
    entropy: Floats
    labels: NDArray[np.int64]

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return np.asarray(self.labels >= 0)

    @property
    def correct(self) -> NDArray[np.bool_]:
        return np.asarray(self.predicted == self.labels)

    @property
    def items(self) -> list[int]:
        """Rows of the split."""
        rows: list[int] = self.looked[self.rows].tolist()
        return rows

    def item(self, place: int) -> int:
        """Return the row of the split."""
        return int(self.looked[self.rows[place]])


@dataclasses.dataclass(frozen=True, eq=False)
class _Tested:
    """Substitution tests of the hardest and the easiest items.

    Attributes:
        places: Place in `_Found` of each tested item, the hardest ones first.
        n_hard: How many of them are hard.
        tests: What became of them.
        sources: Where replacements came from, in words.
    """

    places: list[int]
    n_hard: int
    tests: SubstitutionTests
    sources: str

    def flips(self, hard: bool) -> tuple[int, int]:
        """Count the items that one replaced word flips, and the items."""
        needed = self.tests.needed[: self.n_hard] if hard else self.tests.needed[self.n_hard :]
        return sum(count is not None for count in needed), len(needed)

    def attempts(self, hard: bool) -> tuple[int, int]:
        """Count the flips and the attempts."""
        flipped = [a.flipped for a in self.tests.attempts if (a.item < self.n_hard) == hard]
        return sum(flipped), len(flipped)


class Difficulty:
    """How fragile each prediction is, where that lies, and what flips the most fragile ones."""

    question = "difficulty"
    title = "Which examples is it fragile on?"
    order = 5
    needs_labels = False

    def applies(self, context: AuditContext) -> Applicability:
        """Ask for some items, and for a model whose word embeddings can be moved."""
        from rightreasons.models.gradients.embedding_input import EmbeddingInput

        if len(context.primary) < MIN_ITEMS:
            return applies_not(f"It takes at least {MIN_ITEMS} items, but there are {len(context.primary)}.")
        if not getattr(context.classifier.tokenizer, "is_fast", False):
            return applies_not("The tokenizer does not tell where its tokens stand in the text.")
        try:
            EmbeddingInput(context.classifier.model)
        except ValueError as error:
            return applies_not(str(error))
        return APPLIES

    def run(self, context: AuditContext) -> SectionResult:
        """Answer the question."""
        data_map = _data_map(context)
        found = _compute(context)
        if len(found.values) < MIN_ITEMS:
            raise ValueError(
                f"Expected the eigenvalue of at least {MIN_ITEMS} items, but it is known of {len(found.values)}: "
                f"{found.fisher.failures[0][1]}"
            )
        trained = None
        if data_map is not None:
            trained = data_map.of_items(found.items, context.primary.ids, context.primary.name)
        tested = _test(context, found)
        deciles = _deciles(found)
        headlines = _headlines(context, found, tested, deciles)
        return SectionResult(
            verdict=_verdict(found, tested, headlines),
            headlines=tuple(headlines.values())[:4],
            parts=(
                _spread_part(context, found, headlines),
                _agreement_part(context, found, trained, deciles),
                _example_part(context, found, tested),
            ),
            limits=_limits(context, found, tested),
            data=_data(context, found, tested, trained, deciles),
        )


SECTION = Difficulty()


# ---------------------------------------------------------------------------------------------------------- computing


def _options(context: AuditContext, *names: str) -> dict[str, Any]:
    """Return those of the question's options that are given."""
    given = dict(context.options.get("difficulty") or {})
    check_options(given, OPTIONS, "the question 'difficulty'")
    return {name: given[name] for name in names if given.get(name) is not None}


def _data_map(context: AuditContext) -> OpenedMap | None:
    from rightreasons.auditing.questions.difficulty.data_map import OpenedMap

    folder = _options(context, "data_map").get("data_map")
    return None if folder is None else OpenedMap.of(folder)


def _compute(context: AuditContext) -> _Found:
    from rightreasons.data.opening.datasets import chosen_rows
    from rightreasons.models.gradients.fisher import fisher_information

    split = context.primary
    most = check_count(_options(context, "items").get("items", MAX_ITEMS), "items")
    looked = np.arange(len(split))
    if most < len(split):
        looked = np.sort(np.array(chosen_rows(split.ids, most, seed=context.seed)))

    def taken(column: list[Any] | None) -> list[Any] | None:
        return None if column is None else [column[row] for row in looked.tolist()]

    fisher = fisher_information(
        context.classifier,
        [split.texts[row] for row in looked.tolist()],
        text_pairs=taken(split.text_pairs),
        choices=taken(split.choices),
        ids=[split.ids[row] for row in looked.tolist()],
        eigenvector=True,
        unit="word",
        batch_size=context.batch_size,
        progress=context.progress,
        out=context.folder(f"difficulty-{safe_name(split.name)}", split.fingerprint, str(most)),
    )
    rows = np.flatnonzero(np.isfinite(fisher.eigenvalues))
    logits = fisher.logits
    table = list(logits) if isinstance(logits, Ragged) else logits
    scores = [softmax(np.asarray(table[row])[None])[0] for row in rows]
    return _Found(
        fisher=fisher,
        looked=looked,
        rows=rows,
        values=fisher.eigenvalues[rows],
        predicted=np.array([row.argmax() for row in scores], dtype=np.int64),
        confidence=np.array([row.max() for row in scores]),
        margin=np.array([np.sort(row)[-1] - np.sort(row)[-2] for row in scores]),
        entropy=np.array([-(row * np.log(np.maximum(row, 1e-300))).sum() for row in scores]),
        labels=split.labels[looked[rows]],
    )


def _test(context: AuditContext, found: _Found) -> _Tested | None:
    """Replace words of the hardest and the easiest items, one at a time."""
    from rightreasons.measuring.substitution_sources import replacement_sources
    from rightreasons.measuring.substitutions import substitution_tests

    split = context.primary
    if context.task != "classification" or split.text_pairs is not None:
        return None
    # A word's class is that of the labels, and where there are none that of the predictions.
    labels = np.where(found.labelled, found.labels, found.predicted).tolist()
    texts = [split.texts[item] for item in found.items]
    sources = replacement_sources(context.classifier, texts, labels, **_options(context, "neighbors"))
    order = np.argsort(-found.values, kind="stable")
    n_hard = min(N_TESTED, len(order) // 2)
    places = [*order[:n_hard].tolist(), *order[::-1][:n_hard].tolist()]
    items = [found.item(place) for place in places]
    tests = substitution_tests(
        context.classifier,
        [split.texts[item] for item in items],
        sources.lookups,
        ids=[split.ids[item] for item in items],
        top_k=TOP_K,
        n_candidates=2,
        batch_size=context.batch_size,
        seed=context.seed,
        progress=context.progress,
    )
    return _Tested(places, n_hard, tests, sources.described)


def _deciles(found: _Found) -> measures.AccuracyByDifficulty | None:
    known = found.labelled
    if int(known.sum()) < MIN_ITEMS:
        return None
    n_groups = min(N_GROUPS, max(2, int(known.sum()) // 10))
    return measures.accuracy_by_difficulty(
        found.values[known], found.predicted[known], found.labels[known], n_groups=n_groups
    )


# ------------------------------------------------------------------------------------------------------------ telling


def _headlines(
    context: AuditContext, found: _Found, tested: _Tested | None, deciles: measures.AccuracyByDifficulty | None
) -> dict[str, Headline]:
    level = context.confidence_level
    shared: dict[str, Any] = {"split": context.primary.name, "n": len(found.values)}
    median = intervals.bootstrap(
        lambda x: float(np.median(x)),
        found.values,
        confidence_level=level,
        n_resamples=context.n_resamples,
        seed=context.seed,
    )
    headlines = {
        "median_difficulty": Headline(
            key="median_difficulty",
            name="Median eigenvalue",
            estimate=estimate_of(float(np.median(found.values)), median),
            definition=DEFINITION,
            source=DATTA,
            unit="ratio",
            better="lower",
            **shared,
        )
    }
    if deciles is not None:
        for key, name, place in (("hardest", "hardest", -1), ("easiest", "easiest", 0)):
            n, share = deciles.counts[place], deciles.accuracies[place]
            ends = intervals.wilson(round(share * n), n, confidence_level=level)
            headlines[f"{key}_accuracy"] = Headline(
                key=f"{key}_accuracy",
                name=f"Accuracy, {name} group",
                estimate=estimate_of(share, ends),
                definition=f"Share of right answers among the {n} items of {'largest' if place else 'smallest'} "
                f"eigenvalue ({len(deciles.counts)} groups of equal size).",
                source="Counted",
                better="higher",
                split=context.primary.name,
                n=n,
            )
    if tested is not None:
        for hard in (True, False):
            flips, n = tested.flips(hard)
            name = "hardest" if hard else "easiest"
            headlines[f"{name}_flipped"] = Headline(
                key=f"{name}_flipped",
                name=f"Flipped by one word, {name} {n}",
                estimate=estimate_of(flips / n, intervals.wilson(flips, n, confidence_level=level)),
                definition=f"Share of the {n} items of {'largest' if hard else 'smallest'} eigenvalue whose predicted "
                f"class at least one replacement of one of their {TOP_K} most attributed words changes.",
                source=f"{DATTA}, section 4.2.1",
                better="lower",
                split=context.primary.name,
                n=n,
            )
    order = ("hardest_accuracy", "easiest_accuracy", "hardest_flipped", "median_difficulty", "easiest_flipped")
    return {key: headlines[key] for key in order if key in headlines}


def _spread_part(context: AuditContext, found: _Found, headlines: dict[str, Headline]) -> Part:
    values = found.values
    known = found.correct if found.labelled.all() else None
    told = ", ".join(f"{q:.0%} {fraction(float(np.quantile(values, q)))}" for q in (0.1, 0.5, 0.9))
    histogram = plots_difficulty.difficulty_histogram("difficulty_histogram", difficulty=values, correct=known)
    scatter = plots_difficulty.difficulty_scatter(
        "difficulty_confidence", difficulty=values, confidence=found.confidence, correct=known
    )
    largest = float(np.sort(values)[-max(1, len(values) // 10) :].sum() / max(float(values.sum()), 1e-300))
    return Part(
        title="How fragility is spread",
        text="Each prediction is pushed in the direction of its word embeddings in which it changes fastest. The "
        "eigenvalue tells how fast: where it is large, a small change of the words is enough for another answer.\n\n"
        f"The hardest tenth of the items holds {largest:.0%} of the sum of all eigenvalues.",
        headlines=tuple(headlines.values()),
        plots=(
            histogram.plot(
                key="difficulty_histogram",
                title="Largest Fisher eigenvalue",
                caption="Items by eigenvalue, on a logarithmic axis. No interval is drawn: every item is counted.",
                alt=f"Histogram of eigenvalues; quantiles: {told}.",
                source=DATTA,
            ),
            scatter.plot(
                key="difficulty_confidence",
                title="Eigenvalue and confidence",
                caption="One point an item. Where the model is sure the eigenvalue goes to 0, for wrong answers too.",
                alt="Eigenvalue against confidence, one point an item; rank correlation "
                f"{fraction(measures.rank_correlation(values, found.confidence).rho or 0.0)}.",
                source=DATTA,
            ),
        ),
    )


def _agreement_part(
    context: AuditContext,
    found: _Found,
    trained: Trained | None,
    deciles: measures.AccuracyByDifficulty | None,
) -> Part:
    others: list[tuple[str, Floats, str]] = [
        ("Small margin", -found.margin, "Minus the gap of the two largest probabilities."),
        ("Entropy", found.entropy, "Of the probabilities, in nats."),
        ("Gradient norm", found.fisher.gradient_norms[found.rows], "Of log p of the predicted class."),
    ]
    if found.fisher.tokens is not None:
        words = np.array([len(found.fisher.tokens[row]) for row in found.rows], dtype=np.float64)
        others.append(("Words", words, "Of the text."))
    rows: list[tuple[Any, ...]] = [
        (name, *_rho(context, found.values, other), definition) for name, other, definition in others
    ]
    if trained is not None:
        values = found.values[trained.places]
        rows += [(name, *_rho(context, values, other), what) for name, other, what in trained.measures()]
    known = found.labelled
    if deciles is not None:
        wrong = (~found.correct[known]).astype(np.float64)
        rows.append(("Being wrong", *_rho(context, found.values[known], wrong), "1 for a wrong answer, 0 for a right."))
    plots = []
    if deciles is not None:
        ends = [
            intervals.wilson(round(share * n), n, confidence_level=context.confidence_level)
            for share, n in zip(deciles.accuracies, deciles.counts, strict=True)
        ]
        drawing = plots_difficulty.accuracy_steps(
            "difficulty_accuracy",
            accuracies=deciles.accuracies,
            lows=[end.low for end in ends],
            highs=[end.high for end in ends],
            xlabel=f"group of rising eigenvalue ({deciles.counts[0]} items each)",
        )
        plots.append(
            drawing.plot(
                key="difficulty_accuracy",
                title="Accuracy by difficulty",
                caption=f"Groups of equal size. Whiskers are {percent(context.confidence_level)} Wilson intervals.",
                alt="Accuracy from the easiest to the hardest group: "
                f"{', '.join(fraction(share) for share in deciles.accuracies)}.",
                source=DATTA,
            )
        )
    return Part(
        title="What it goes with",
        text="The eigenvalue is p(1−p) times a squared gradient for two classes, so it grows near the decision "
        "boundary and where the model reacts strongly. What cheaper measures say of the same items stands beside it.",
        plots=tuple(plots),
        tables=(
            Table(
                key="difficulty_correlations",
                title="Rank correlations with the eigenvalue",
                columns=(
                    Column("measure", "Measure", "text"),
                    Column("rho", "Spearman's ρ"),
                    Column("p", "p", "p_value", "Of no correlation."),
                    Column("definition", "What it is", "text"),
                ),
                rows=tuple(rows),
                note=f"In brackets: {percent(context.confidence_level)} bootstrap intervals over items.",
                source="Spearman 1904" if trained is None else "Spearman 1904; data map: Swayamdipta et al. 2020",
            ),
        ),
    )


def _rho(context: AuditContext, first: Floats, second: Floats) -> tuple[Estimate | None, float | None]:
    found = measures.rank_correlation(first, second)
    if found.rho is None:
        return None, None
    interval = intervals.bootstrap(
        lambda a, b: measures.rank_correlation(a, b).rho,
        first,
        second,
        confidence_level=context.confidence_level,
        n_resamples=min(context.n_resamples, 300),
        seed=context.seed,
    )
    return estimate_of(found.rho, interval), found.p_value


def _example_part(context: AuditContext, found: _Found, tested: _Tested | None) -> Part:
    order = np.argsort(-found.values, kind="stable").tolist()
    lists = []
    for key, title, places, note in (
        ("hardest", "The hardest", order[:N_EXAMPLES], "The largest eigenvalues, the largest first"),
        ("easiest", "The easiest", order[::-1][:N_EXAMPLES], "The smallest eigenvalues, the smallest first"),
    ):
        lists.append(
            ExampleList(
                key=f"{key}_examples",
                title=title,
                note=f"{note}. Marked: the words that the fragile direction moves, by the norm of its part there.",
                examples=tuple(_example(context, found, tested, place) for place in places),
            )
        )
    return Part(title="Hardest and easiest", text=_told(tested), examples=tuple(lists))


def _told(tested: _Tested | None) -> str:
    if tested is None:
        return ""
    hard, easy = tested.attempts(True), tested.attempts(False)
    return (
        f"The {TOP_K} most attributed words of the {tested.n_hard} hardest and the {tested.n_hard} easiest items were "
        f"replaced one at a time, by words from {tested.sources}: {hard[0]:,} of {hard[1]:,} replacements flip a hard "
        f"item, {easy[0]:,} of {easy[1]:,} an easy one."
    )


def _example(context: AuditContext, found: _Found, tested: _Tested | None, place: int) -> Example:
    item = found.item(place)
    example = example_of(
        context,
        context.primary,
        item,
        int(found.predicted[place]),
        float(found.confidence[place]),
        marks=_marks(context, found, place),
    )
    note = f"λ = {fraction(float(found.values[place]))}"
    if tested is not None and place in tested.places:
        note += f". {_flip(context, tested, tested.places.index(place))}"
    return dataclasses.replace(example, note=f"{example.note} {note}".strip())


def _flip(context: AuditContext, tested: _Tested, at: int) -> str:
    attempts = [attempt for attempt in tested.tests.attempts if attempt.item == at]
    flips = [attempt for attempt in attempts if attempt.flipped]
    if not attempts:
        return "No word of it could be replaced."
    # The mildest change says most: a synonym before an opposite.
    kinds = ("synonym", "name", "neighbor", "antonym")
    best = min(flips or attempts, key=lambda a: (kinds.index(a.kind) if flips else 0, a.confidence_after))
    change = best.changes[0]
    words = f"“{change.original}” → “{change.replacement}” ({best.kind})"
    if flips:
        return (
            f"{words} flips it to {context.label_name(best.after)} ({len(flips)} of {len(attempts)} replacements do)."
        )
    return (
        f"None of {len(attempts)} replacements flips it; {words} comes closest "
        f"(confidence {fraction(best.confidence_before)} to {fraction(best.confidence_after)})."
    )


def _marks(context: AuditContext, found: _Found, place: int) -> tuple[Mark, ...]:
    fisher, row = found.fisher, int(found.rows[place])
    if context.task != "classification" or fisher.token_norms is None or fisher.starts is None or fisher.ends is None:
        return ()
    first, last = fisher.token_norms.offsets[row : row + 2]
    norms = fisher.token_norms.values[first:last]
    largest = float(norms.max()) if len(norms) else 0.0
    marks: list[Mark] = []
    reached = 0
    length = len(context.primary.texts[found.item(place)])
    for norm, start, end in zip(
        norms.tolist(), fisher.starts[first:last].tolist(), fisher.ends[first:last].tolist(), strict=True
    ):
        if start < reached or end > length:
            break  # the second text of a pair begins
        reached = end
        if largest > 0 and norm >= MARKED * largest and end > start:
            marks.append(Mark(start, end, "weight", norm / largest, f"moves by {fraction(norm)}"))
    return tuple(marks)


def _verdict(found: _Found, tested: _Tested | None, headlines: dict[str, Headline]) -> Verdict:
    told = ""
    if "hardest_accuracy" in headlines:
        hard, easy = headlines["hardest_accuracy"].estimate, headlines["easiest_accuracy"].estimate
        told = f"Right on {with_interval(hard)} of the hardest group and {with_interval(easy)} of the easiest. "
    if tested is not None:
        told += (
            f"One replaced word flips {tested.flips(True)[0]} of the {tested.n_hard} hardest items and "
            f"{tested.flips(False)[0]} of the {tested.n_hard} easiest."
        )
        if tested.flips(False)[0] * 2 >= tested.n_hard:
            return Verdict("bad", "Single words flip even easy items", told)
    if "hardest_accuracy" in headlines and (hard.high or 0.0) < (easy.low or 0.0):
        return Verdict("warn", "Errs where it is fragile", told)
    if tested is not None and tested.flips(True)[0] * 2 >= tested.n_hard:
        return Verdict("warn", "Single words flip the hardest", told)
    return Verdict("neutral", "Ranked by fragility", told or f"{len(found.values):,} items are ranked.")


def _limits(context: AuditContext, found: _Found, tested: _Tested | None) -> tuple[str, ...]:
    limits = [
        "The eigenvalue is about small steps between words, which no real word may stand on.",
        "A small eigenvalue does not make an answer right: where the model is sure, it is small for errors too.",
    ]
    if tested is not None:
        limits.append(
            "Replacements are neither inflected nor read by a person: an antonym should flip some items, and a synonym "
            "may be of another sense. No item is labelled anew."
        )
    if len(found.looked) < len(context.primary):
        limits.append(f"{len(found.looked):,} of {len(context.primary):,} items were looked at, chosen by the seed.")
    if found.fisher.failures:
        limits.append(f"{len(found.fisher.failures):,} items could not be computed; the first: "
                      f"{found.fisher.failures[0][1]}")  # fmt: skip
    if found.fisher.truncated.any():
        limits.append(f"{int(found.fisher.truncated.sum()):,} texts were cut; nothing is said of what was cut off.")
    return tuple(limits)


def _data(
    context: AuditContext,
    found: _Found,
    tested: _Tested | None,
    trained: Trained | None,
    deciles: measures.AccuracyByDifficulty | None,
) -> dict[str, Any]:
    order = np.argsort(-found.values, kind="stable")
    return {
        "definition": DEFINITION,
        "ranking": [
            {
                "id": context.primary.ids[found.item(place)],
                "eigenvalue": float(found.values[place]),
                "scale_free": float(found.fisher.scale_free[found.rows[place]]),
                "prediction": context.label_name(int(found.predicted[place])),
                "confidence": float(min(found.confidence[place], 1.0)),
                "label": context.label_name(int(found.labels[place])),
                "words": _words(found, int(found.rows[place])),
            }
            for place in order.tolist()
        ],
        "failures": [{"id": name, "reason": why} for name, why in found.fisher.failures],
        "data_map": _mapped(context, found, trained),
        "accuracy_by_difficulty": None if deciles is None else deciles.to_dict(),
        "substitutions": None if tested is None else tested.tests.to_dict(),
    }


def _mapped(context: AuditContext, found: _Found, trained: Trained | None) -> dict[str, Any] | None:
    if trained is None:
        return None
    ids = [context.primary.ids[found.item(place)] for place in trained.places.tolist()]
    return trained.to_dict(found.values[trained.places], ids)


def _words(found: _Found, row: int, count: int = 3) -> list[str]:
    """Return the words that the eigenvector moves most."""
    fisher = found.fisher
    if fisher.tokens is None or fisher.token_norms is None:
        return []
    return [fisher.tokens[row][place] for place in np.argsort(-fisher.token_norms[row], kind="stable")[:count]]
