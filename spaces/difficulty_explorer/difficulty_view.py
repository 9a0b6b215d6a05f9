"""What the explorer shows for texts: how fragile each prediction is, and what flips it.

`rank` computes texts once; the functions below it write what the page shows of them as HTML.
"""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from difficulty_model import IMDB_PAIRS, open_model, own_model, read_pairs

from rightreasons.core.sentences import pluralize
from rightreasons.datasets.perturbing.edits import list_lookups
from rightreasons.difficulty.measure import measure_difficulty
from rightreasons.difficulty.substitutions import SubstitutionOptions, substitution_tests
from rightreasons.models.loading import Classifier
from rightreasons.page.formats import percent
from rightreasons.widget.pages import table, tiles, verdict

MAX_TEXTS = 200
MAX_TOKENS = 256

MIN_SHARE = 0.15
"""Least share of the longest part of the eigenvector that shades a word."""

OWN_PAIRS = "Written for this page, in the words of its network."

IMDB_SOURCE = (
    "Reviews of IMDb (Maas et al. 2011) with the edits of Gardner et al. 2020, read by two layers of "
    "a small encoder that was trained on 1,707 other reviews."
)


@dataclasses.dataclass(frozen=True)
class Ranked:
    """A text with its prediction and its difficulty.

    Attributes:
        text: The text.
        eigenvalue: Its largest Fisher eigenvalue. None if it could not be computed.
        label: The name of the predicted class. "" if it could not be computed.
        confidence: The probability of that class. None if it could not be computed.
        marked: The text as HTML, its words shaded by how far the fragile direction moves them.
        reason: Why it could not be computed. "" if it could.
    """

    text: str
    eigenvalue: float | None
    label: str
    confidence: float | None
    marked: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Pair:
    """A contrast pair: a text and an edited form with another label.

    Attributes:
        texts: The original and the edited text, as computed.
        labels: The gold label of each.
    """

    texts: tuple[Ranked, Ranked]
    labels: tuple[str, str]

    @property
    def is_consistent(self) -> bool:
        """Whether both predictions are correct."""
        return tuple(text.label for text in self.texts) == self.labels

    @property
    def eigenvalue(self) -> float:
        """The larger eigenvalue of the two texts; 0 without any."""
        return max(text.eigenvalue or 0.0 for text in self.texts)


def rank(classifier: Classifier, texts: Sequence[str]) -> list[Ranked]:
    """Compute all texts, the most difficult first; those that fail come last."""
    if not 0 < len(texts) <= MAX_TEXTS:
        raise ValueError(
            f"Expected from 1 to {MAX_TEXTS} texts, one per line, but got {len(texts)}."
        )
    measured = measure_difficulty(
        classifier,
        texts,
        eigenvector=True,
        unit="word",
        max_length=min(MAX_TOKENS, classifier.max_length),
        progress=False,
    )
    names = classifier.label_names or ()
    fisher = measured.fisher
    ranked = []
    for index in measured.order:
        row = int(measured.rows[index])
        # Each text has its own number of words.
        start, end = fisher.token_norms.offsets[row : row + 2]
        spans = list(
            zip(fisher.starts[start:end].tolist(), fisher.ends[start:end].tolist(), strict=True)
        )
        ranked.append(
            Ranked(
                text=texts[row],
                eigenvalue=float(measured.values[index]),
                label=names[int(measured.predicted[index])],
                confidence=float(measured.confidence[index]),
                marked=shade(texts[row], spans, fisher.token_norms.values[start:end]),
                reason="",
            )
        )
    # Failures are named by the index of their text.
    for name, reason in fisher.failures:
        text = texts[int(name)]
        ranked.append(Ranked(text, None, "", None, html.escape(text), reason))
    return ranked


def first_page() -> tuple[tuple[str, ...], list[Ranked], list[Pair]]:
    """Return the texts of the page, ranked by its own model, and its contrast pairs."""
    classifier, texts = own_model()
    return texts, rank(classifier, texts), rank_pairs(classifier, read_pairs())


def rank_named(model: str, texts: Sequence[str]) -> list[Ranked]:
    """Rank texts by a model of the hub, or by the Space's own."""
    return rank(open_model(model), texts)


def rank_pairs(classifier: Classifier, rows: Sequence[dict[str, Any]]) -> list[Pair]:
    """Compute contrast pairs, the most difficult first.

    Args:
        classifier: The model.
        rows: Pairs with their `texts` and `labels`, of the original and of the edited text.
    """
    pairs = []
    for row in rows:
        original, edited = row["texts"]
        # One by one, since `rank` sorts its texts.
        texts = (rank(classifier, [original])[0], rank(classifier, [edited])[0])
        pairs.append(Pair(texts, tuple(row["labels"])))
    return sorted(pairs, key=lambda pair: -pair.eigenvalue)


def read_imdb_pairs() -> list[Pair]:
    """Return the pairs of film reviews that `make_imdb.py` computed; none in a checkout."""
    if not IMDB_PAIRS.is_file():
        return []
    pairs = []
    # The file holds the fields of `Ranked`, so that no model is needed.
    for row in json.loads(IMDB_PAIRS.read_text("utf-8")):
        original, edited = (Ranked(**text) for text in row["texts"])
        pairs.append(Pair((original, edited), tuple(row["labels"])))
    return pairs


# --------------------------------------------------------------------------------------- ranking


def shade(text: str, spans: Sequence[tuple[int, int]], norms: Any) -> str:
    """Shade words by their share of the longest part of the eigenvector."""
    largest = float(np.max(norms)) if len(norms) else 0.0
    parts = []
    position = 0
    for (start, end), norm in zip(spans, np.asarray(norms).tolist(), strict=True):
        # Pieces of one word may overlap; the first piece represents the word.
        if start < position or end <= start:
            continue
        parts.append(html.escape(text[position:start]))
        # Without any movement, no word is shaded.
        share = 0.0
        if largest > 0:
            share = norm / largest
        word = html.escape(text[start:end])
        # Faint shades on every word would hide the strong ones.
        if share >= MIN_SHARE:
            word = (
                f'<mark class="dx-mark" style="--share:{100 * share:.0f}%" '
                f'title="moves by {norm:.2f}">{word}</mark>'
            )
        parts.append(word)
        position = end
    parts.append(html.escape(text[position:]))
    return "".join(parts)


def ranking_verdict(ranked: Sequence[Ranked]) -> str:
    """Say in one sentence which text is the most fragile, and how much more than the median."""
    computed = [item for item in ranked if item.eigenvalue is not None]
    if not computed:
        return verdict("None of these texts could be computed.")
    hardest = computed[0]
    # Texts are sorted, so the middle one has the median.
    median = computed[len(computed) // 2]
    words = hardest.text
    if len(words) > 60:
        words = f"{words[:59]}…"
    comparison = ""
    ratio = hardest.eigenvalue / median.eigenvalue if median.eigenvalue else float("inf")
    # A ratio without meaning is not shown: to the same text, or to one that is saturated.
    if 1.5 <= ratio < 1e6:
        comparison = f", with a λ {ratio:,.1f} times the median"
    return verdict(
        f"Most fragile: “{words}” ({hardest.label}, {percent(hardest.confidence)} confident){comparison}."
    )


def ranking_page(ranked: Sequence[Ranked]) -> str:
    """Write the list of texts, the most difficult first."""
    rows = []
    for number, item in enumerate(ranked, start=1):
        rows.append(
            f'<li value="{number}"><div>{item.marked}</div>'
            f'<div class="rr-small">{describe_prediction(item)}</div></li>'
        )
    return f'<ol class="dx-list rr-list">{"".join(rows)}</ol>'


def describe_prediction(item: Ranked) -> str:
    """Return the eigenvalue and the prediction of a text, or why it has none."""
    if item.eigenvalue is None:
        return html.escape(item.reason)
    label = html.escape(item.label)
    return f"λ = {item.eigenvalue:.3g} · {label}, confidence {percent(item.confidence)}"


def pairs_page(pairs: Sequence[Pair], source: str) -> str:
    """Write contrast pairs with the eigenvalue and the prediction of each text.

    Args:
        pairs: The pairs, the most difficult first.
        source: A sentence on where they are from.
    """
    n_consistent = sum(pair.is_consistent for pair in pairs)
    articles = []
    for pair in pairs:
        rows = []
        for name, text, label in zip(("original", "edited"), pair.texts, pair.labels, strict=True):
            outcome = "correct" if text.label == label else f"incorrect: {html.escape(label)}"
            rows.append(
                f'<div><span class="rr-small">{name}</span> {text.marked}</div>'
                f'<div class="rr-small">{describe_prediction(text)} ({outcome})</div>'
            )
        css_class = "dx-pair" if pair.is_consistent else "dx-pair dx-inconsistent"
        articles.append(f'<article class="{css_class}">{"".join(rows)}</article>')
    return (
        f'<p class="rr-small">A contrast pair is a text and a small edit that changes its label '
        f"(Gardner et al. 2020). The network classifies both texts correctly in {n_consistent} of "
        f"{pluralize(len(pairs), 'pair')}; the most difficult pairs come first. {source}</p>"
        f"{''.join(articles)}"
    )


# ----------------------------------------------------------------------------------------- edits


def edited_page(original: Ranked, edited: Ranked) -> str:
    """Show a text and its edited form side by side."""
    if original.eigenvalue is None or edited.eigenvalue is None:
        return f'<p class="rr-small">{html.escape(edited.reason or original.reason)}</p>'
    # A saturated prediction has the eigenvalue 0, and no ratio to it.
    ratio = ""
    if original.eigenvalue > 0:
        ratio = f": ×{edited.eigenvalue / original.eigenvalue:.2f}"
    movement = f"{edited.label}, as before"
    if original.label != edited.label:
        movement = f"flipped: {original.label} → {edited.label}"
    entries = [
        (
            "λ, largest Fisher eigenvalue",
            f"{edited.eigenvalue:.3g}",
            f"was {original.eigenvalue:.3g}{ratio}",
        ),
        (
            "Confidence",
            percent(edited.confidence),
            f"was {percent(original.confidence)} for {original.label}",
        ),
        ("Predicted label", edited.label, movement),
    ]
    return f'{tiles(entries)}<p class="dx-text">{edited.marked}</p>'


def replacements_page(model: str, text: str) -> str:
    """Try one replacement of a word at a time, of those that the prediction relies on.

    Args:
        model: The model, as in `rank_named`.
        text: The text.
    """
    classifier = open_model(model)
    # Only words that the prediction relies on are replaced, each alone.
    tests = substitution_tests(
        classifier,
        [text],
        list_lookups(),
        SubstitutionOptions(
            top_k=5,
            n_candidates=3,
            max_length=min(MAX_TOKENS, classifier.max_length),
            progress=False,
        ),
    )
    if not tests.attempts:
        return (
            '<p class="rr-small">The thesaurus has no replacement for the words that the '
            "prediction relies on.</p>"
        )
    names = classifier.label_names or ()
    rows = []
    # The replacement that moves the confidence the most comes first.
    for attempt in sorted(tests.attempts, key=lambda attempt: attempt.confidence_after):
        rows.append(
            {
                "word": attempt.changes[0].original,
                "replacement": attempt.changes[0].replacement,
                "kind": attempt.kind,
                "old": round(attempt.confidence_before, 3),
                "new": round(attempt.confidence_after, 3),
                "flips": f"yes, to {names[attempt.after]}" if attempt.flipped else "no",
            }
        )
    columns = {
        "word": "Word",
        "replacement": "Replaced by",
        "kind": "Kind",
        "old": f"P({names[tests.attempts[0].before]}) before",
        "new": "after",
        "flips": "Flips",
    }
    n_flips = sum(attempt.flipped for attempt in tests.attempts)
    verb = "flip"
    if n_flips == 1:
        verb = "flips"
    caption = f"{n_flips} of {pluralize(len(rows), 'single replacement')} {verb} the prediction"
    return table(rows, columns, caption=caption)
