"""What the explorer shows for texts: how fragile each prediction is, which words make it so, what flips it."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from difficulty_model import open_model, own_model

from rightreasons.core.sentences import pluralize
from rightreasons.datasets.perturbing.edits import substitution_lookups
from rightreasons.difficulty.measure import measure_difficulty
from rightreasons.difficulty.substitutions import SubstitutionOptions, substitution_tests
from rightreasons.models.loading import Classifier
from rightreasons.widget.pages import table, tiles, verdict

MOST_TEXTS = 200
LONGEST = 256


@dataclasses.dataclass(frozen=True)
class Ranked:
    """A text with what is known of it.

    Attributes:
        text: The text.
        eigenvalue: Its largest Fisher eigenvalue; None where it could not be computed.
        label: The name of the predicted class; "" likewise.
        confidence: The probability of that class; None likewise.
        marked: The text as HTML, its words shaded by how far the fragile direction moves them.
        why: Why it could not be computed; "" where it could.
    """

    text: str
    eigenvalue: float | None
    label: str
    confidence: float | None
    marked: str
    why: str


def rank(classifier: Classifier, texts: Sequence[str]) -> list[Ranked]:
    """Compute all texts, the most difficult first; those that fail come last."""
    if not 0 < len(texts) <= MOST_TEXTS:
        raise ValueError(
            f"Expected from 1 to {MOST_TEXTS} texts, one per line, but got {len(texts)}."
        )
    measured = measure_difficulty(
        classifier,
        texts,
        eigenvector=True,
        unit="word",
        max_length=min(LONGEST, classifier.max_length),
        progress=False,
    )
    names, fisher = classifier.label_names or (), measured.fisher
    ranked = []
    for place in measured.order:
        row = int(measured.rows[place])
        a, b = fisher.token_norms.offsets[row : row + 2]
        spans = list(zip(fisher.starts[a:b].tolist(), fisher.ends[a:b].tolist(), strict=True))
        ranked.append(
            Ranked(
                texts[row],
                float(measured.values[place]),
                names[int(measured.predicted[place])],
                float(measured.confidence[place]),
                shade(texts[row], spans, fisher.token_norms.values[a:b]),
                "",
            )
        )
    for name, reason in fisher.failures:
        text = texts[int(name)]
        ranked.append(Ranked(text, None, "", None, html.escape(text), reason))
    return ranked


def first_page() -> tuple[tuple[str, ...], list[Ranked]]:
    """Rank the Space's own texts by its own model; returns both."""
    classifier, texts = own_model()
    return texts, rank(classifier, texts)


def rank_named(model: str, texts: Sequence[str]) -> list[Ranked]:
    """Rank texts by a model of the hub, or by the Space's own."""
    return rank(open_model(model), texts)


def shade(text: str, spans: Sequence[tuple[int, int]], norms: Any) -> str:
    """Shade words by their share of the longest part of the eigenvector."""
    largest = float(np.max(norms)) if len(norms) else 0.0
    parts, at = [], 0
    for (start, end), norm in zip(spans, np.asarray(norms).tolist(), strict=True):
        if start < at or end <= start:
            continue
        parts.append(html.escape(text[at:start]))
        share = norm / largest if largest > 0 else 0.0
        word = html.escape(text[start:end])
        parts.append(
            f'<mark class="dx-mark" style="--share:{100 * share:.0f}%" title="moves by {norm:.2f}">{word}</mark>'
            if share >= 0.15
            else word
        )
        at = end
    return "".join((*parts, html.escape(text[at:])))


def ranking_verdict(ranked: Sequence[Ranked]) -> str:
    """Say in one sentence which text is the most fragile, and how much more than the median."""
    known = [item for item in ranked if item.eigenvalue is not None and item.confidence is not None]
    if not known:
        return verdict("None of these texts could be computed.")
    first, middle = known[0], known[len(known) // 2]
    ratio = first.eigenvalue / middle.eigenvalue if middle.eigenvalue else float("inf")
    words = first.text if len(first.text) <= 60 else f"{first.text[:59]}…"
    times = f", with a λ {ratio:,.1f} times the median" if 1.5 <= ratio < 1e6 else ""
    return verdict(f"Most fragile: “{words}” ({first.label}, {first.confidence:.0%} sure){times}.")


def ranking_page(ranked: Sequence[Ranked]) -> str:
    """Write the list of texts, the most difficult first."""
    rows = []
    for place, item in enumerate(ranked, start=1):
        line = (
            html.escape(item.why)
            if item.eigenvalue is None
            else f"λ = {item.eigenvalue:.4g} · {html.escape(item.label)}, confidence {item.confidence:.3f}"
        )
        rows.append(
            f'<li value="{place}"><div>{item.marked}</div><div class="rr-small">{line}</div></li>'
        )
    return f'<ol class="dx-list rr-list">{"".join(rows)}</ol>'


def edited_page(before: Ranked, after: Ranked) -> str:
    """Show a text and its edited form side by side."""
    if after.eigenvalue is None or before.eigenvalue is None:
        return f'<p class="rr-small">{html.escape(after.why or before.why)}</p>'
    flipped = before.label != after.label
    times = f": ×{after.eigenvalue / before.eigenvalue:.2f}" if before.eigenvalue > 0 else ""
    label = f"{before.label} → {after.label}" if flipped else f"{after.label}, as before"
    shown = tiles(
        [
            (
                "λ, largest Fisher eigenvalue",
                f"{after.eigenvalue:.4g}",
                f"was {before.eigenvalue:.4g}{times}",
            ),
            (
                "Confidence",
                f"{after.confidence:.3f}",
                f"was {before.confidence:.3f} in {before.label}",
            ),
            ("Predicted label", after.label, f"{'flipped: ' if flipped else ''}{label}"),
        ]
    )
    return f'{shown}<p class="dx-text">{after.marked}</p>'


def replacements_page(model: str, text: str) -> str:
    """Try one replacement of a word at a time, of those that the prediction rests on.

    Args:
        model: The model, as in `rank_named`.
        text: The text.
    """
    classifier = open_model(model)
    tests = substitution_tests(
        classifier,
        [text],
        substitution_lookups(),
        SubstitutionOptions(
            top_k=5, n_candidates=3, max_length=min(LONGEST, classifier.max_length), progress=False
        ),
    )
    names = classifier.label_names or ()
    rows = [
        {
            "word": attempt.changes[0].original,
            "replacement": attempt.changes[0].replacement,
            "kind": attempt.kind,
            "before": round(attempt.confidence_before, 3),
            "after": round(attempt.confidence_after, 3),
            "flips": f"yes, to {names[attempt.after]}" if attempt.flipped else "no",
        }
        for attempt in sorted(tests.attempts, key=lambda item: item.confidence_after)
    ]
    if not rows:
        return '<p class="rr-small">The thesaurus has no replacement for the words that the prediction relies on.</p>'
    flips = sum(attempt.flipped for attempt in tests.attempts)
    columns = {
        "word": "Word",
        "replacement": "Replaced by",
        "kind": "Kind",
        "before": f"P({names[tests.attempts[0].before]}) before",
        "after": "after",
        "flips": "Flips",
    }
    flip = "flips" if flips == 1 else "flip"
    return table(
        rows,
        columns,
        caption=f"{flips} of {pluralize(len(rows), 'single replacement')} {flip} the prediction",
    )
