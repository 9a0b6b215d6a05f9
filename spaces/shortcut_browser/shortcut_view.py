"""From runs and settings to what the page shows: sentences with their cues, null models, curves over strength."""

import dataclasses
import functools
import html

import numpy as np
from shortcut_runs import STRENGTHS, Run, cue_labels, heads, read_runs

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.decisions import MARGINS, decide
from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.core.intervals import wilson
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.planted import LABELS
from rightreasons.page.plots import Curve, curves
from rightreasons.page.prose import percent
from rightreasons.shortcuts.detector import Shortcuts, find_shortcuts
from rightreasons.shortcuts.plots import draw_confidence_bins
from rightreasons.shortcuts.reliance import ShortcutReliance, summarize_shortcuts
from rightreasons.shortcuts.swaps import DecidingShare, deciding_share
from rightreasons.widget.pages import between, figure, table, tiles, verdict

NAMES = LABELS[2]
SPLITS = {"cue as in training": "test", "cue absent": "test_absent", "cue flipped": "test_flipped"}
TONES = {
    "large": ("bad", "The planted cue decides"),
    "some": ("warn", "The planted cue decides some"),
    "small": ("good", "The planted cue decides little"),
    "unknown": ("neutral", "Inconclusive whether the planted cue decides"),
}
SHOWN = ("the cue decides", "all", "shortcut-cued", "not cued", "wrong")
PAGE = 8
N_RESAMPLES = 500
NO_SPACE_BEFORE = frozenset(".,;:!?'’)-")


@dataclasses.dataclass(frozen=True, eq=False)
class Detected:
    """What the detector found in a run.

    Attributes:
        found: Token by token.
        summary: Over the explained texts.
    """

    found: Shortcuts
    summary: ShortcutReliance


@functools.cache
def decided(strength: float) -> DecidingShare:
    """Compare the predictions on the test texts with those where the planted cue is that of the other label."""
    runs, cue = read_runs()[strength], cue_labels(strength)
    swapped = np.where(cue >= 0, runs["test_flipped"].predictions, -1)
    nothing = np.full(len(cue), -1)
    goals = np.where(cue >= 0, 1 - cue, -1)
    return deciding_share(runs["test"].predictions, swapped, nothing, goals=goals)


@functools.lru_cache(maxsize=256)
def detect(strength: float, split: str, top_n: int, percent: float) -> Detected:
    """Find the shortcuts of a run."""
    run = read_runs()[strength][split]
    n = len(run.tokens)
    found = find_shortcuts(
        run.tokens, run.attributions, run.predictions[:n], heads(strength, percent), top_n=top_n
    )
    return Detected(
        found,
        summarize_shortcuts(
            found,
            references=run.labels[:n],
            confidences=run.confidences[:n],
            resampling=Resampling(resamples=N_RESAMPLES),
        ),
    )


# ---------------------------------------------------------------------------------------------------------- the page


def headline(strength: float) -> str:
    """Write how many predictions the planted cue decides."""
    found = decided(strength)
    estimate = make_estimate(found.deciding_share, found.interval)
    tone, words = TONES[decide(estimate, MARGINS["decides"], found.n_items).level]
    entries = [
        ("Decided by the cue", figure(found.deciding_share), between(found.interval)),
        ("Follow rate", figure(found.follow_rate), between(found.follow_interval)),
        ("Texts with a cue", figure(found.coverage), ""),
    ]
    share = f"{percent(found.deciding_share)} of all predictions change when it is swapped for that of the other label"
    return (
        f"{verdict(f'{words}: {share}.', tone)}{tiles(entries)}"
        f'<p class="rr-small">The same {found.n_items} texts are predicted with the cue as in training and with that '
        "of the other label in its place; nothing else is changed. The sliders do not change this.</p>"
    )


def figures(strength: float, split: str, top_n: int, percent: float) -> str:
    """Write what the detector finds in a run, and how the model does."""
    run, detected = read_runs()[strength][split], detect(strength, split, top_n, percent)
    ece = calibration_error(run.positive, run.labels, resampling=Resampling())
    right = int((run.predictions == run.labels).sum())
    null = detected.summary.null["frequency"]
    entries = [
        (
            "Shortcut rate",
            figure(detected.summary.shortcut_reliance),
            between(detected.summary.interval),
        ),
        (
            "Excess over blind picks",
            figure(null.excess),
            f"{between(null.interval)}, p = {null.p_value:.3f}",
        ),
        ("Accuracy", figure(right / len(run.labels)), between(wilson(right, len(run.labels)))),
        ("ECE (top-label)", figure(ece.ece), between(ece.interval)),
    ]
    return tiles(entries)


def confidence_bins(strength: float, split: str, top_n: int, percent: float) -> str:
    """Draw accuracy and the types of shortcuts by confidence: Figure 3 of the Reliability Paradox."""
    run, summary = read_runs()[strength][split], detect(strength, split, top_n, percent).summary
    intervals = []
    for row in summary.bins:
        n_correct = round((row.accuracy or 0.0) * row.n_items)
        intervals.append(estimate_share(n_correct, row.n_items, Resampling()))
    drawing = draw_confidence_bins(
        "bins", summary.bins, intervals=intervals, null=summary.null["frequency"].rate
    )
    ece = calibration_error(run.positive, run.labels, resampling=Resampling()).ece
    share = decided(strength).deciding_share
    return (
        f'<figure class="rr-figure">{drawing.svg}<figcaption>Above: accuracy by confidence, with 95% '
        "Wilson intervals. Below: predictions that are lexicon-cued, grammar-cued, or not cued; the "
        "dashed line is the rate of random words of similar frequency (Bihani &amp; Rayz 2025, figure 3)."
        f"</figcaption></figure><p>The calibration error is {ece:.3f}, and the planted cue decides "
        f"{share:.0%} of the predictions: calibration does not show what a prediction relies on.</p>"
    )


def null_models(strength: float, split: str, top_n: int, percent: float) -> str:
    """Write the shortcut rate of the model beside those of blind picks."""
    summary = detect(strength, split, top_n, percent).summary
    rows = [{"picks": "the model's", "rate": summary.shortcut_reliance}]
    for name, words in (("random", "any words"), ("frequency", "words of like frequency")):
        null = summary.null[name]
        rows.append(
            {
                "picks": f"blind: {words}",
                "rate": null.rate,
                "excess": null.excess,
                "p": null.p_value,
            }
        )
    columns = {"picks": f"top {top_n} words", "rate": "cued", "excess": "excess", "p": "p"}
    return table(rows, columns, caption="The null model")


def sentences(
    strength: float, split: str, top_n: int, percent: float, shown: str, page: int
) -> str:
    """Write a page of sentences with their attributions and cues."""
    run, detected = read_runs()[strength][split], detect(strength, split, top_n, percent)
    n = len(run.tokens)
    right = run.predictions[:n] == run.labels[:n]
    cued = detected.found.cued
    swapped = read_runs()[strength]["test_flipped" if split == "test" else "test"]
    of_kind = (
        run.predictions[:n] != swapped.predictions[:n],
        np.ones(n, bool),
        cued,
        ~cued,
        ~right,
    )
    chosen = np.flatnonzero(dict(zip(SHOWN, of_kind, strict=True))[shown])
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(max(page, 1), pages)
    first = (page - 1) * PAGE
    written = [
        _sentence(run, detected.found, int(i), swapped.positive[i])
        for i in chosen[first : first + PAGE]
    ]
    count = f'<p class="rr-small">{len(chosen)} of {n} sentences; page {page} of {pages}.</p>'
    return count + "".join(written)


def _sentence(run: Run, found: Shortcuts, i: int, swapped: float) -> str:
    start, end = int(found.offsets[i]), int(found.offsets[i + 1])
    top = max(*run.attributions[i], 1e-9)
    words = []
    for position in range(start, end):
        token, weight = run.tokens[i][position - start], run.attributions[i][position - start]
        kinds = ["sc-top"] * bool(found.in_top[position]) + ["sc-planted"] * run.planted[i][
            position - start
        ]
        kinds += ["sc-cue"] * bool(found.is_shortcut[position])
        space = "" if token in NO_SPACE_BEFORE else " "
        words.append(
            f'{space}<span class="sc-token {" ".join(kinds)}" style="--w:{weight / top:.2f}" '
            f'title="attribution {weight:.3f}">{html.escape(token)}</span>'
        )
    predicted, confidence = NAMES[run.predictions[i]], run.confidences[i]
    right = run.predictions[i] == run.labels[i]
    verdict = "correct" if right else f"incorrect: {NAMES[run.labels[i]]}"
    chance = f"random words of similar frequency: cued in {found.chance_frequency[i]:.0%}"
    cued = "shortcut-cued" if found.cued[i] else "not cued"
    return (
        f'<article class="sc-item {"sc-right" if right else "sc-wrong"}"><p>{"".join(words).strip()}</p>'
        f'<p class="rr-small"><b>{predicted}</b> {confidence:.0%} ({verdict}) · <b>{cued}</b> · {chance}</p>'
        f'<p class="rr-small sc-tests">With the other cue: {_said(float(swapped), int(run.predictions[i]))}.</p>'
        "</article>"
    )


def _said(positive: float, predicted: int) -> str:
    label = int(positive > 0.5)
    text = f"{NAMES[label]} {max(positive, 1 - positive):.0%}"
    return text if label == predicted else f"<b>{text}</b>"


def growth(strength: float, top_n: int, percent: float) -> str:
    """Draw detector and calibration over the strength of the cue."""
    runs = read_runs()
    x = list(runs)
    found = [detect(s, "test", top_n, percent) for s in x]
    detector = curves(
        "detector",
        x,
        [
            Curve(
                "shortcut rate",
                [make_estimate(d.summary.shortcut_reliance, d.summary.interval) for d in found],
            ),
            Curve(
                "of blind picks",
                [Estimate(d.summary.null["frequency"].rate) for d in found],
                dashed=True,
            ),
        ],
        xlabel="how often the cue agrees with the label",
        ylabel="share",
    )
    model = _model_curves(strength)
    return (
        '<div class="sc-pair">'
        f'<figure class="rr-figure">{_deciding_curves(strength)}<figcaption>What decides: predictions that change when '
        "the cue is swapped for that of the other label, and how often they become that label.</figcaption></figure>"
        f'<figure class="rr-figure">{detector.svg}<figcaption>The detector: predictions that rest on a cue, beside '
        "blind picks.</figcaption></figure>"
        f'<figure class="rr-figure">{model}<figcaption>The model: with the cue as in training it looks accurate and '
        "well calibrated; flipped, it shows from where on it leans on the cue.</figcaption></figure></div>"
    )


@functools.lru_cache(maxsize=32)
def _deciding_curves(strength: float) -> str:
    found = [decided(s) for s in STRENGTHS]
    lines = [
        Curve(
            "decided by the cue",
            [make_estimate(point.deciding_share, point.interval) for point in found],
        ),
        Curve(
            "follow rate",
            [make_estimate(point.follow_rate, point.follow_interval) for point in found],
        ),
    ]
    drawing = curves(
        "decided",
        list(STRENGTHS),
        lines,
        xlabel="how often the cue agrees with the label",
        ylabel="share",
    )
    return drawing.svg


@functools.lru_cache(maxsize=32)
def _model_curves(strength: float) -> str:
    runs = read_runs()
    lines = []
    for words, split in (("cue as in training", "test"), ("flipped", "test_flipped")):
        right = [
            (int((run.predictions == run.labels).sum()), len(run.labels))
            for run in (s[split] for s in runs.values())
        ]
        lines.append(
            Curve(f"accuracy, {words}", [make_estimate(k / n, wilson(k, n)) for k, n in right])
        )
        errors = [
            calibration_error(s[split].positive, s[split].labels, resampling=Resampling())
            for s in runs.values()
        ]
        lines.append(
            Curve(f"ECE, {words}", [make_estimate(e.ece, e.interval) for e in errors], dashed=True)
        )
    drawing = curves(
        "model", list(runs), lines, xlabel="how often the cue agrees with the label", ylabel="share"
    )
    return drawing.svg
