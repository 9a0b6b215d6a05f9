"""From runs and settings to what the page shows: sentences with their cues, null models, curves over strength."""

import dataclasses
import functools
import html
from typing import Any

import numpy as np
from shortcut_runs import HEAD, REMOVALS, STRENGTHS, TOP_N, PutIn, Run, Treated, heads, read_runs

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.intervals import Interval, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_count, check_number, check_one_of
from rightreasons.datasets.planted import LABELS
from rightreasons.page.plots import Curve, curves
from rightreasons.page.prose import percent
from rightreasons.shortcuts.causal import CausalShortcuts, Effect, causal_shortcuts
from rightreasons.shortcuts.reliance import ShortcutReliance, Shortcuts, find_shortcuts, summarize
from rightreasons.shortcuts.tradeoff import DetectionQuality, detection_quality
from rightreasons.widget.pages import figure, table, tiles, verdict

NAMES = LABELS[2]
TONES = {"cues decide": "warn", "cues do not decide": "good", "cannot tell": "neutral"}
SPLITS = {"cue as in training": "test", "cue absent": "test_absent", "cue flipped": "test_flipped"}
WAYS = {"delete": "deleted", "mask": "masked", "swap": "swapped"}
SHOWN = ("a word decides", "all", "shortcut-cued", "not cued", "wrong")
PAGE = 8
N_RESAMPLES = 500
NO_SPACE_BEFORE = frozenset(".,;:!?'’)-")


@dataclasses.dataclass(frozen=True, eq=False)
class Detected:
    """What the detector found in a run.

    Attributes:
        found: Token by token.
        summary: Over the explained texts.
        quality: Against the planted truth; None where nothing was planted.
    """

    found: Shortcuts
    summary: ShortcutReliance
    quality: DetectionQuality


@functools.cache
def tested(strength: float, split: str) -> CausalShortcuts | None:
    """Compare what the model says without cues and without control words; None where no text has both."""
    run = read_runs()[strength][split]
    if not run.treated:
        return None
    return causal_shortcuts(
        _table([run.positive[one.row] for one in run.treated]),
        {name: _table([one.without_cue[name] for one in run.treated]) for name in REMOVALS},
        _table([one.without_control for one in run.treated]),
        [one.cue for one in run.treated],
        control_removals=[one.control_removal for one in run.treated],
        inserted=(
            _table([run.positive[one.row] for one in run.put_in]),
            _table([one.with_cue for one in run.put_in]),
            _table([one.with_control for one in run.put_in]),
            [one.label for one in run.put_in],
        )
        if run.put_in
        else None,
    )


def _table(positive: list[float]) -> np.ndarray:
    return np.column_stack((1 - np.array(positive), positive))


@functools.lru_cache(maxsize=256)
def detect(strength: float, split: str, top_n: int, percent: float) -> Detected:
    """Find the shortcuts of a run."""
    run = read_runs()[strength][split]
    n = len(run.tokens)
    found = find_shortcuts(run.tokens, run.attributions, run.predictions[:n], heads(strength, percent), top_n=top_n)
    flags = np.split(found.found, found.offsets[1:-1])
    return Detected(
        found,
        summarize(found, references=run.labels[:n], resampling=Resampling(resamples=N_RESAMPLES)),
        detection_quality([row.tolist() for row in flags], run.planted, resampling=Resampling(resamples=N_RESAMPLES)),
    )


# ---------------------------------------------------------------------------------------------------------- the page


def headline(strength: float, split: str) -> str:
    """Write whether the named cues decide."""
    causal, run = tested(strength, split), read_runs()[strength][split]
    if causal is None:
        return verdict("No prediction has a named cue and a control word, so nothing can be tested.")
    removal = causal.removal
    entries = [
        ("Causal shortcut rate", figure(removal.rate), _between(removal.interval)),
        ("The same of control words", figure(removal.control_rate), _between(removal.control_interval)),
        ("Difference", figure(removal.excess), _between(removal.excess_interval)),
    ]
    if causal.insertion is not None:
        effect = causal.insertion
        control = f"control words: {figure(effect.control_rate)}; {_between(effect.interval)}"
        entries.append(("Follow a cue that is put in", figure(effect.rate), control))
    return (
        f"{verdict(f'{causal.in_words}: {_sentence_of(causal)}.', _tone(strength, causal))}"
        f'{tiles(entries)}<p class="rr-definition">{html.escape(causal.reason)}</p>'
        f'<p class="rr-small">Predictions that change when their cue is deleted, masked or swapped for a word of like '
        f"frequency, and when one of these is done to another word of the text. Tested are the words that the detector "
        f"names with {TOP_N} top words and a head of {HEAD}%, in {len(run.treated)} of {len(run.tokens)} texts; the "
        f"sliders do not change the test.</p>"
    )


def _tone(strength: float, causal: CausalShortcuts) -> str:
    """Return the tone of a conclusion; red takes ground truth: predictions change without a planted word."""
    run = read_runs()[strength]["test"]
    flagged = zip(run.tokens, run.planted, strict=True)
    planted = {token.lower() for row in flagged for token, is_planted in zip(*row, strict=True) if is_planted}
    decides = any(cue.effect.excess > 0 for cue in causal.cues if cue.cue in planted)
    red = causal.conclusion == "cues decide" and causal.removal.excess_interval.low > 0 and decides
    return "bad" if red else TONES[causal.conclusion]


def _sentence_of(causal: CausalShortcuts) -> str:
    removal = causal.removal
    return (
        f"{percent(removal.rate)} of the tested predictions change without their cue, {percent(removal.control_rate)} "
        "without another word"
    )


def interventions(strength: float, split: str) -> str:
    """Write what each intervention does, and each cue."""
    causal = tested(strength, split)
    if causal is None:
        return ""
    rows = [_row(WAYS[name], effect) for name, effect in causal.removals.items()]
    if causal.insertion is not None:
        rows.append(_row("put in where it lacks", causal.insertion))
    columns = {"what": "the cue is", "n": "texts", "rate": "change", "control": "control", "excess": "difference"}
    first = table(rows, columns, caption="By intervention: of the texts whose control word is treated in the same way")
    rows = [
        _row(cue.cue, cue.effect)
        for cue in sorted(causal.cues, key=lambda cue: -cue.effect.excess * cue.effect.n_items)
    ]
    return first + table(rows, {**columns, "what": "cue"}, caption="By cue: over all ways of taking it out")


def _row(what: str, effect: Effect) -> dict[str, object]:
    excess = f"{effect.excess:+.3f} [{effect.excess_interval.low:+.3f}, {effect.excess_interval.high:+.3f}]"
    return {
        "what": what, "n": effect.n_items, "rate": effect.rate, "control": effect.control_rate, "excess": excess,
    }  # fmt: skip


def shortcuts(strength: float = 1.0, split: str = "test", top_n: int = TOP_N, head: float = HEAD) -> dict[str, Any]:
    """Say whether single words decide the predictions of a bundled run, and what the detector finds in it.

    Args:
        strength: How often the planted cue agrees with the label in training: one of `STRENGTHS`.
        split: "test", "test_absent" or "test_flipped".
        top_n: Top words of a prediction.
        head: Share of the label's words that may be shortcuts, in percent.

    Returns:
        "causal", what `CausalShortcuts.to_dict` gives or null where nothing can be tested, and "detector".
    """
    if strength not in STRENGTHS:
        raise ValueError(f"Expected `strength` to be one of {', '.join(map(str, STRENGTHS))}, but got {strength!r}.")
    check_one_of(split, tuple(SPLITS.values()), "split")
    check_count(top_n, "top_n", minimum=1, maximum=8)
    check_number(head, "head", minimum=0.5, maximum=20)
    causal, found = tested(float(strength), split), detect(float(strength), split, top_n, float(head))
    return {
        "causal": None if causal is None else causal.to_dict(),
        "detector": {"reliance": found.summary.to_dict(), "planted_truth": found.quality.to_dict()},
    }


def figures(strength: float, split: str, top_n: int, percent: float) -> str:
    """Write what the detector finds in a run, and how the model does."""
    run, detected = read_runs()[strength][split], detect(strength, split, top_n, percent)
    ece = calibration_error(run.positive, run.labels, resampling=Resampling())
    right = int((run.predictions == run.labels).sum())
    null, quality = detected.summary.null["frequency"], detected.quality
    entries = [
        ("Shortcut rate", figure(detected.summary.shortcut_reliance), _between(detected.summary.interval)),
        ("Excess over blind picks", figure(null.excess), f"{_between(null.interval)}, p = {null.p_value:.3f}"),
        ("Detector's precision", figure(quality.precision), _between(quality.precision_interval)),
        ("Detector's recall", figure(quality.recall), _between(quality.recall_interval) or "nothing was planted"),
        ("Accuracy", figure(right / len(run.labels)), _between(wilson(right, len(run.labels)))),
        ("ECE (top-label)", figure(ece.ece), _between(ece.interval)),
    ]
    warning = detected.summary.warning
    told = f'<p class="rr-warning">{html.escape(warning)}</p>' if warning else ""
    return tiles(entries) + told


def null_models(strength: float, split: str, top_n: int, percent: float) -> str:
    """Write the shortcut rate of the model beside those of blind picks."""
    summary = detect(strength, split, top_n, percent).summary
    rows = [{"picks": "the model's", "rate": summary.shortcut_reliance}]
    for name, words in (("random", "any words"), ("frequency", "words of like frequency")):
        null = summary.null[name]
        rows.append({"picks": f"blind: {words}", "rate": null.rate, "excess": null.excess, "p": null.p_value})
    columns = {"picks": f"top {top_n} words", "rate": "cued", "excess": "excess", "p": "p"}
    return table(rows, columns, caption="The null model")


def cues(strength: float, split: str, top_n: int, percent: float) -> str:
    """Write the commonest shortcuts of each label."""
    summary, ranking = detect(strength, split, top_n, percent).summary, heads(strength, percent)
    rows = []
    for label, found in summary.cues.items():
        order = {token: rank for rank, token in enumerate(ranking[label].head, start=1)}
        for cue in found[:5]:
            token = str(cue["token"])
            rows.append({"cue": token, "label": NAMES[label], "predictions": cue["count"], "rank": order[token]})
    columns = {"cue": "cue", "label": "of the label", "predictions": "cues", "rank": "rank in head"}
    return table(rows, columns, caption="What cues the predictions")


def sentences(strength: float, split: str, top_n: int, percent: float, shown: str, page: int) -> tuple[str, int]:
    """Write a page of sentences with their attributions and cues; returns it and how many pages there are."""
    run, detected = read_runs()[strength][split], detect(strength, split, top_n, percent)
    n = len(run.tokens)
    right = run.predictions[:n] == run.labels[:n]
    cued = detected.found.cued
    treated, put_in = ({one.row: one for one in part} for part in (run.treated, run.put_in))
    decided = np.array([_changed(int(run.predictions[i]), treated.get(i), put_in.get(i)) for i in range(n)])
    of_kind = (decided, np.ones(n, bool), cued, ~cued, ~right)
    chosen = np.flatnonzero(dict(zip(SHOWN, of_kind, strict=True))[shown])
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(max(page, 1), pages)
    first = (page - 1) * PAGE
    written = [
        _sentence(run, detected.found, int(i), treated.get(int(i)), put_in.get(int(i)))
        for i in chosen[first : first + PAGE]
    ]
    count = f'<p class="rr-small">{len(chosen)} of {n} sentences; page {page} of {pages}.</p>'
    return count + "".join(written), pages


def _sentence(run: Run, found: Shortcuts, i: int, treated: Treated | None, put_in: PutIn | None) -> str:
    start, end = int(found.offsets[i]), int(found.offsets[i + 1])
    top = max(*run.attributions[i], 1e-9)
    words = []
    for position in range(start, end):
        token, weight = run.tokens[i][position - start], run.attributions[i][position - start]
        kinds = ["sc-top"] * bool(found.in_top[position]) + ["sc-planted"] * run.planted[i][position - start]
        kinds += ["sc-cue"] * bool(found.found[position])
        space = "" if token in NO_SPACE_BEFORE else " "
        words.append(
            f'{space}<span class="sc-token {" ".join(kinds)}" style="--w:{weight / top:.2f}" '
            f'title="attribution {weight:.3f}">{html.escape(token)}</span>'
        )
    predicted, confidence = NAMES[run.predictions[i]], run.confidences[i]
    right = run.predictions[i] == run.labels[i]
    verdict = "right" if right else f"wrong: {NAMES[run.labels[i]]}"
    chance = f"blind picks of like frequency would meet a cue in {found.chance_frequency[i]:.0%}"
    cued = "shortcut-cued" if found.cued[i] else "not cued"
    return (
        f'<article class="sc-item {"sc-right" if right else "sc-wrong"}"><p>{"".join(words).strip()}</p>'
        f'<p class="rr-small"><b>{predicted}</b> {confidence:.0%} ({verdict}) · <b>{cued}</b> · {chance}</p>'
        f"{_tests(int(run.predictions[i]), treated, put_in)}</article>"
    )


def _tests(predicted: int, treated: Treated | None, put_in: PutIn | None) -> str:
    """Write what is predicted without the cue, without the control word, and with a cue of the other label."""
    told = []
    if treated is not None:
        ways = ", ".join(f"{WAYS[name]} {_said(p, predicted)}" for name, p in treated.without_cue.items())
        control = _said(treated.without_control, predicted)
        told.append(
            f"Without “{html.escape(treated.cue)}”: {ways}; without the control word "
            f"“{html.escape(treated.control)}”: {WAYS[treated.control_removal]} {control}."
        )
    if put_in is not None:
        told.append(
            f"With “{html.escape(put_in.cue)}” put in: {_said(put_in.with_cue, predicted)}; with the control word "
            f"“{html.escape(put_in.control)}”: {_said(put_in.with_control, predicted)}."
        )
    return f'<p class="rr-small sc-tests">{" ".join(told)}</p>' if told else ""


def _changed(predicted: int, treated: Treated | None, put_in: PutIn | None) -> bool:
    """Return whether a prediction changes without a cue or with another, but not with the control word."""
    changes = []
    if treated is not None:
        changes.append(([*treated.without_cue.values()], treated.without_control))
    if put_in is not None:
        changes.append(([put_in.with_cue], put_in.with_control))
    return any(
        int(control > 0.5) == predicted and any(int(positive > 0.5) != predicted for positive in cue)
        for cue, control in changes
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
                [d.summary.shortcut_reliance for d in found],
                [_ends(d.summary.interval) for d in found],
            ),
            Curve("of blind picks", [d.summary.null["frequency"].rate for d in found], dashed=True),
            Curve("recall", [d.quality.recall for d in found], [_ends(d.quality.recall_interval) for d in found]),
            Curve(
                "precision", [d.quality.precision for d in found], [_ends(d.quality.precision_interval) for d in found]
            ),
        ],
        xlabel="how often the cue agrees with the label",
        ylabel="share",
        here=strength,
    )
    model = _model_curves(strength)
    return (
        '<div class="sc-pair">'
        f'<figure class="rr-figure">{_causal_curves(strength)}<figcaption>The test: predictions that change without '
        "their cue, beside those that change without a control word; and predictions that become the label of a cue "
        "that is put in.</figcaption></figure>"
        f'<figure class="rr-figure">{detector.svg}<figcaption>The detector: predictions that rest on a cue, beside '
        "blind picks; how many planted words it finds, and how many of its finds are planted. A planted word that the "
        "model does not use is rightly not found.</figcaption></figure>"
        f'<figure class="rr-figure">{model}<figcaption>The model: with the cue as in training it looks accurate and '
        "well calibrated; flipped, it shows from where on it leans on the cue.</figcaption></figure></div>"
    )


@functools.lru_cache(maxsize=32)
def _causal_curves(strength: float) -> str:
    found = {s: causal for s in read_runs() if (causal := tested(s, "test")) is not None}
    removals = [causal.removal for causal in found.values()]
    put_in = [causal.insertion for causal in found.values()]
    lines = [
        Curve("causal shortcut rate", [one.rate for one in removals], [_ends(one.interval) for one in removals]),
        Curve("of control words", [one.control_rate for one in removals], dashed=True),
        Curve(
            "follow a cue put in",
            [None if one is None else one.rate for one in put_in],
            [None if one is None else _ends(one.interval) for one in put_in],
        ),
        Curve("a control word put in", [None if one is None else one.control_rate for one in put_in], dashed=True),
    ]
    drawing = curves(
        "causal", list(found), lines, xlabel="how often the cue agrees with the label", ylabel="share", here=strength
    )
    return drawing.svg


@functools.lru_cache(maxsize=32)
def _model_curves(strength: float) -> str:
    runs = read_runs()
    lines = []
    for words, split in (("cue as in training", "test"), ("flipped", "test_flipped")):
        right = [
            (int((run.predictions == run.labels).sum()), len(run.labels)) for run in (s[split] for s in runs.values())
        ]
        lines.append(Curve(f"accuracy, {words}", [k / n for k, n in right], [_ends(wilson(k, n)) for k, n in right]))
        errors = [calibration_error(s[split].positive, s[split].labels, resampling=Resampling()) for s in runs.values()]
        lines.append(Curve(f"ECE, {words}", [e.ece for e in errors], [_ends(e.interval) for e in errors], dashed=True))
    drawing = curves(
        "model", list(runs), lines, xlabel="how often the cue agrees with the label", ylabel="share", here=strength
    )
    return drawing.svg


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)


def _between(interval: Interval | None) -> str:
    return (
        ""
        if interval is None
        else f"{interval.confidence_level:.0%} interval {interval.low:.3f} to {interval.high:.3f}"
    )
