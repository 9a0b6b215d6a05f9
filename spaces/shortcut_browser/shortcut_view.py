"""From runs and settings to what the page shows: the paradox, sentences, null models, and curves.

`app.py` calls the functions below "the page" with the settings of its controls. Each returns HTML.
"""

import dataclasses
import functools
import html

import numpy as np
from shortcut_runs import STRENGTHS, Run, cue_labels, heads, read_runs

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.decisions import MARGINS, decide
from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.sentences import pluralize
from rightreasons.datasets.planted import LABELS
from rightreasons.page.formats import number, p_equals, percent
from rightreasons.page.plots import Curve, curves
from rightreasons.shortcuts.detector import Shortcuts, find_shortcuts
from rightreasons.shortcuts.plots import draw_confidence_bins
from rightreasons.shortcuts.reliance import ShortcutReliance, summarize_shortcuts
from rightreasons.shortcuts.swaps import DecidingShare, deciding_share
from rightreasons.widget.pages import between, table, tiles, verdict

NAMES = LABELS[2]
SPLITS = {"cue as in training": "test", "cue absent": "test_absent", "cue flipped": "test_flipped"}
TONES = {
    "large": ("bad", "The planted cue decides"),
    "some": ("warn", "The planted cue decides some"),
    "small": ("good", "The planted cue decides little"),
    "unknown": ("neutral", "Inconclusive whether the planted cue decides"),
}
SHOWN = ("the cue decides", "all", "shortcut-cued", "not cued", "incorrect")
PAGE_SIZE = 8
N_RESAMPLES = 500
NO_SPACE_BEFORE = frozenset(".,;:!?'’)-")
STRENGTH_AXIS = "how often the cue agrees with the label"


@dataclasses.dataclass(frozen=True, eq=False)
class Detected:
    """Shortcuts that the detector finds in a run.

    Attributes:
        found: Shortcuts, token by token.
        summary: Rates over the explained texts.
    """

    shortcuts: Shortcuts
    summary: ShortcutReliance


@dataclasses.dataclass(frozen=True)
class Quality:
    """How good a run looks to somebody who does not know the cue.

    Attributes:
        accuracy: The share of correct predictions.
        confidence: The mean confidence.
        ece: The top-label calibration error.
    """

    accuracy: Estimate
    confidence: float
    ece: Estimate


@functools.cache
def measure_decided(strength: float) -> DecidingShare:
    """Compare the predictions with those on the same texts with the cue of the other label."""
    runs = read_runs()[strength]
    cue = cue_labels(strength)
    # Texts without a cue have nothing to swap: -1 excludes them.
    has_cue = cue >= 0
    return deciding_share(
        runs["test"].predictions,
        np.where(has_cue, runs["test_flipped"].predictions, -1),
        # There is no control: the swap of a planted cue changes nothing else.
        np.full(len(cue), -1),
        goals=np.where(has_cue, 1 - cue, -1),
    )


@functools.cache
def measure_quality(strength: float, split: str) -> Quality:
    """Measure the accuracy and the calibration of a run."""
    run = read_runs()[strength][split]
    n_correct = int((run.predictions == run.labels).sum())
    calibration = calibration_error(run.positive, run.labels, resampling=Resampling())
    return Quality(
        accuracy=estimate_share(n_correct, len(run.labels), Resampling()),
        confidence=float(run.confidences.mean()),
        ece=make_estimate(calibration.ece, calibration.interval),
    )


@functools.lru_cache(maxsize=256)
def detect(strength: float, split: str, top_n: int, head_percent: float) -> Detected:
    """Find the shortcuts of a run."""
    run = read_runs()[strength][split]
    # Only the first texts were attributed.
    n_explained = len(run.tokens)
    ranking = heads(strength, head_percent)
    predictions = run.predictions[:n_explained]
    shortcuts = find_shortcuts(run.tokens, run.attributions, predictions, ranking, top_n=top_n)
    summary = summarize_shortcuts(
        shortcuts,
        references=run.labels[:n_explained],
        confidences=run.confidences[:n_explained],
        resampling=Resampling(resamples=N_RESAMPLES),
    )
    return Detected(shortcuts, summary)


# -------------------------------------------------------------------------------------- the page


def headline(strength: float) -> str:
    """Write how many predictions the planted cue decides, and how good the model looks."""
    result = measure_decided(strength)
    # The margins are those of an audit.
    estimate = make_estimate(result.deciding_share, result.interval)
    level = decide(estimate, MARGINS["decides"], result.n_items).level
    tone, words = TONES[level]
    share = percent(result.deciding_share)
    sentence = f"{words}: {share} of all predictions change when it is swapped for that of the other label."
    entries = [
        ("Decided by the cue", number(result.deciding_share), between(result.interval)),
        ("Follow rate", number(result.follow_rate), between(result.follow_interval)),
        ("Texts with a cue", number(result.coverage), ""),
    ]
    return (
        f"{verdict(sentence, tone)}{draw_paradox(strength)}{tiles(entries)}"
        f'<p class="rr-small">The same {result.n_items} texts are predicted with the cue as in '
        "training and with that of the other label in its place; nothing else is changed. The "
        "sliders do not change this.</p>"
    )


def draw_paradox(strength: float) -> str:
    """Draw accuracy and calibration next to what the cue decides, in one picture."""
    trained = measure_quality(strength, "test")
    flipped = measure_quality(strength, "test_flipped")
    decided = measure_decided(strength)
    share = make_estimate(decided.deciding_share, decided.interval)
    # What looks good is blue, what it hides is orange.
    bars = (
        draw_bar("Accuracy", trained.accuracy)
        + draw_bar("Calibration error (ECE)", trained.ece)
        + draw_bar("Predictions that the cue decides", share, is_bad=True)
        + draw_bar("Accuracy with the cue flipped", flipped.accuracy, is_bad=True)
    )
    return (
        f'<figure class="rr-figure sc-paradox" id="paradox">{bars}<figcaption>The reliability '
        "paradox (Bihani &amp; Rayz 2025): on texts like those in training, the model is correct on "
        f"{percent(trained.accuracy.value)} with a calibration error of {percent(trained.ece.value)}. "
        f"With the cue flipped, it is correct on {percent(flipped.accuracy.value)}, and still "
        f"{percent(flipped.confidence)} confident. Accuracy and calibration do not reveal this."
        "</figcaption></figure>"
    )


def draw_bar(name: str, estimate: Estimate, *, is_bad: bool = False) -> str:
    """Draw a share as a bar with its value and its interval."""
    css_class = "sc-bar sc-bar-bad" if is_bad else "sc-bar"
    return (
        f'<div class="{css_class}"><span>{name}</span>'
        f'<span class="sc-track"><span style="width:{estimate.value:.1%}"></span></span>'
        f"<span><b>{percent(estimate.value)}</b> "
        f'<span class="rr-small">{percent(estimate.low)} to {percent(estimate.high)}</span>'
        "</span></div>"
    )


def figures(strength: float, split: str, top_n: int, head_percent: float) -> str:
    """Write what the detector finds in a run, and how good the model looks."""
    quality = measure_quality(strength, split)
    summary = detect(strength, split, top_n, head_percent).summary
    # Words of similar frequency are the harder comparison.
    null = summary.null["frequency"]
    excess_note = f"{between(null.interval)}, p {p_equals(null.p_value)}"
    return tiles(
        [
            ("Shortcut rate", number(summary.shortcut_reliance), between(summary.interval)),
            ("Excess over random words", number(null.excess), excess_note),
            ("Accuracy", number(quality.accuracy.value), describe_estimate(quality.accuracy)),
            ("ECE (top-label)", number(quality.ece.value), describe_estimate(quality.ece)),
        ]
    )


def describe_estimate(estimate: Estimate) -> str:
    """Return the interval of an estimate as the small line of a tile."""
    return f"95% interval {number(estimate.low)} to {number(estimate.high)}"


def confidence_bins(strength: float, split: str, top_n: int, head_percent: float) -> str:
    """Draw accuracy and types of shortcuts by confidence: Figure 3 of the Reliability Paradox."""
    summary = detect(strength, split, top_n, head_percent).summary
    intervals = []
    # The bins store rates; the interval needs counts.
    for row in summary.bins:
        n_correct = round((row.accuracy or 0.0) * row.n_items)
        intervals.append(estimate_share(n_correct, row.n_items, Resampling()))
    null_rate = summary.null["frequency"].rate
    drawing = draw_confidence_bins("bins", summary.bins, intervals=intervals, null=null_rate)
    ece = measure_quality(strength, split).ece.value
    share = measure_decided(strength).deciding_share
    return (
        f'<figure class="rr-figure">{drawing.svg}<figcaption>Above: accuracy by confidence, with '
        "95% Wilson intervals. Below: predictions that are lexicon-cued, grammar-cued, or not cued; "
        "the dashed line is the rate of random words of similar frequency (Bihani &amp; Rayz 2025, "
        f"figure 3).</figcaption></figure><p>The calibration error is {percent(ece)}, and the planted "
        f"cue decides {percent(share)} of the predictions: calibration does not show what a prediction "
        "relies on.</p>"
    )


def null_models(strength: float, split: str, top_n: int, head_percent: float) -> str:
    """Write the shortcut rate of the model next to those of random words."""
    summary = detect(strength, split, top_n, head_percent).summary
    # The model's own row has no excess over itself.
    rows = [{"picks": "the model's top words", "rate": summary.shortcut_reliance}]
    for name, words in (
        ("random", "random words"),
        ("frequency", "random words of similar frequency"),
    ):
        null = summary.null[name]
        rows.append(
            {
                "picks": words,
                "rate": null.rate,
                "excess": null.excess,
                "p": null.p_value,
            }
        )
    columns = {"picks": pluralize(top_n, "word"), "rate": "cued", "excess": "excess", "p": "p"}
    units = {"rate": "fraction", "excess": "fraction", "p": "p_value"}
    return table(rows, columns, caption="Comparison with random words", units=units)


# -------------------------------------------------------------------------------------- sentences


def sentences(
    strength: float, split: str, top_n: int, head_percent: float, filter_name: str, page: int
) -> str:
    """Write a page of sentences with their attributions and cues."""
    run = read_runs()[strength][split]
    shortcuts = detect(strength, split, top_n, head_percent).shortcuts
    # A text without a cue, or with a flipped one, is compared with the one as in training.
    counterpart = "test_flipped" if split == "test" else "test"
    swapped = read_runs()[strength][counterpart]
    selection = select_sentences(run, shortcuts, swapped, filter_name)

    # Rounded up; a filter without sentences still has a page.
    n_pages = max(1, -(-len(selection) // PAGE_SIZE))
    page = min(max(page, 1), n_pages)
    start = (page - 1) * PAGE_SIZE
    articles = []
    for row in selection[start : start + PAGE_SIZE].tolist():
        articles.append(write_sentence(run, shortcuts, row, float(swapped.positive[row])))
    count = f"{len(selection)} of {len(run.tokens)} sentences; page {page} of {n_pages}."
    return f'<p class="rr-small">{count}</p>{"".join(articles)}'


def select_sentences(run: Run, shortcuts: Shortcuts, swapped: Run, filter_name: str) -> np.ndarray:
    """Return the rows of the explained texts that the filter shows."""
    n_explained = len(run.tokens)
    predictions = run.predictions[:n_explained]
    # In the order of `SHOWN`, which names the filters.
    masks = {
        "the cue decides": predictions != swapped.predictions[:n_explained],
        "all": np.ones(n_explained, bool),
        "shortcut-cued": shortcuts.cued,
        "not cued": ~shortcuts.cued,
        "incorrect": predictions != run.labels[:n_explained],
    }
    return np.flatnonzero(masks[filter_name])


def write_sentence(run: Run, shortcuts: Shortcuts, row: int, swapped: float) -> str:
    """Write a text with its marked words, its prediction, and the one with the other cue."""
    predicted = int(run.predictions[row])
    is_correct = predicted == run.labels[row]
    outcome = "correct" if is_correct else f"incorrect: {NAMES[run.labels[row]]}"
    cued = "shortcut-cued" if shortcuts.cued[row] else "not cued"
    chance = f"{shortcuts.chance_frequency[row]:.0%}"
    css_class = "sc-right" if is_correct else "sc-wrong"
    return (
        f'<article class="sc-item {css_class}"><p>{write_tokens(run, shortcuts, row)}</p>'
        f'<p class="rr-small"><b>{NAMES[predicted]}</b> {run.confidences[row]:.0%} ({outcome}) · '
        f"<b>{cued}</b> · random words of similar frequency: cued in {chance}</p>"
        f'<p class="rr-small sc-tests">With the other cue: '
        f"{describe_prediction(swapped, predicted)}.</p></article>"
    )


def write_tokens(run: Run, shortcuts: Shortcuts, row: int) -> str:
    """Write the tokens of a text, shaded by attribution, with top words and cues marked."""
    start = int(shortcuts.offsets[row])
    # No attribution may be positive: the scale is then arbitrary.
    largest = max(*run.attributions[row], 1e-9)
    parts = []
    for index, token in enumerate(run.tokens[row]):
        weight = run.attributions[row][index]
        classes = ["sc-token"]
        if shortcuts.in_top[start + index]:
            classes.append("sc-top")
        if run.planted[row][index]:
            classes.append("sc-planted")
        if shortcuts.is_shortcut[start + index]:
            classes.append("sc-cue")
        # Tokens are joined as they stood in the text, except for unusual spacing.
        if token not in NO_SPACE_BEFORE:
            parts.append(" ")
        parts.append(
            f'<span class="{" ".join(classes)}" style="--w:{weight / largest:.2f}" '
            f'title="attribution {weight:.3f}">{html.escape(token)}</span>'
        )
    return "".join(parts).strip()


def describe_prediction(positive: float, predicted: int) -> str:
    """Return a label with its probability, bold if it is another one than was predicted."""
    label = int(positive > 0.5)
    text = f"{NAMES[label]} {max(positive, 1 - positive):.0%}"
    return text if label == predicted else f"<b>{text}</b>"


# ----------------------------------------------------------------------------------------- curves


def growth(top_n: int, head_percent: float) -> str:
    """Draw what decides, the detector, and the quality of the model over the strength of the cue."""
    return (
        f'<div class="sc-pair"><figure class="rr-figure">{draw_quality_curves()}'
        "<figcaption>The model: with the cue as in training it looks accurate and well calibrated. "
        "Flipped, it shows from which strength on it relies on the cue.</figcaption></figure>"
        f'<figure class="rr-figure">{draw_deciding_curves()}<figcaption>What decides: '
        "predictions that change when the cue is swapped for that of the other label, and how often "
        "they change to that label.</figcaption></figure>"
        f'<figure class="rr-figure">{draw_detector_curves(top_n, head_percent)}'
        "<figcaption>The detector: shortcut-cued predictions, and the rate of random words."
        "</figcaption></figure></div>"
    )


def draw_detector_curves(top_n: int, head_percent: float) -> str:
    """Draw the shortcut rate of the model and that of random words."""
    rates = []
    null_rates = []
    # On texts as in training: the detector sees no others in practice.
    for step in STRENGTHS:
        summary = detect(step, "test", top_n, head_percent).summary
        rates.append(make_estimate(summary.shortcut_reliance, summary.interval))
        null_rates.append(Estimate(summary.null["frequency"].rate))
    lines = [
        Curve("shortcut rate", rates),
        Curve("of random words", null_rates, dashed=True),
    ]
    return draw_curves("detector", lines)


@functools.cache
def draw_deciding_curves() -> str:
    """Draw how many predictions the cue decides, and how many follow it."""
    shares = []
    follow_rates = []
    for step in STRENGTHS:
        result = measure_decided(step)
        shares.append(make_estimate(result.deciding_share, result.interval))
        follow_rates.append(make_estimate(result.follow_rate, result.follow_interval))
    lines = [Curve("decided by the cue", shares), Curve("follow rate", follow_rates)]
    return draw_curves("decided", lines)


@functools.cache
def draw_quality_curves() -> str:
    """Draw accuracy and calibration error, with the cue as in training and flipped."""
    lines = []
    for words, split in (("cue as in training", "test"), ("flipped", "test_flipped")):
        qualities = [measure_quality(step, split) for step in STRENGTHS]
        lines.append(Curve(f"accuracy, {words}", [quality.accuracy for quality in qualities]))
        lines.append(Curve(f"ECE, {words}", [quality.ece for quality in qualities], dashed=True))
    return draw_curves("model", lines)


def draw_curves(key: str, lines: list[Curve]) -> str:
    """Draw curves over the strength of the cue."""
    return curves(key, list(STRENGTHS), lines, xlabel=STRENGTH_AXIS, ylabel="share").svg
