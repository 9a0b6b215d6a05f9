"""Whether the words that a detector names decide: each prediction without its cue, and without a control word."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.resampling import Resampling, item_rng
from rightreasons.core.results import Result
from rightreasons.core.tokens import words as tokenize
from rightreasons.core.validation import check_labels, check_texts, softmax
from rightreasons.datasets.perturbing.edits import delete_words, insert_word, replace_words
from rightreasons.models.classes import predict
from rightreasons.models.loading import Classifier
from rightreasons.models.protocol import Scorer
from rightreasons.shortcuts.causal import CausalShortcuts, WorstGroup, causal_shortcuts, worst_group_accuracy
from rightreasons.shortcuts.measure import Cue, ShortcutMeasurement, with_pairs
from rightreasons.shortcuts.mutual_information import LmiResult

Floats = NDArray[np.float64]

N_NEIGHBORS = 20
"""A word of like frequency is drawn from this many of nearest frequency."""

NAMED_P = 0.05
"""A cue is named where as many predictions by blind picks would be rarer than this."""

Spans = Sequence[tuple[int, int]]
Replace = Callable[[str, Spans, str], str]
"""(text, where a word stands, another word) -> the text without the word."""

Items = TypeVar("Items")


@dataclasses.dataclass(frozen=True)
class Edit:
    """Changed texts of some of the measured items.

    Attributes:
        name: What was done to them.
        rows: (n,) the items.
        texts: n texts; in a task of pairs, then n second texts.
    """

    name: str
    rows: Sequence[int]
    texts: Sequence[list[str]]


@dataclasses.dataclass(frozen=True)
class TreatedItem(Result):
    """What was done to one item.

    Attributes:
        row: Its place among the measured items.
        cue: The word of its head that its prediction rests on most.
        control: A word of like frequency in the same text that is in no head.
        replacement: The word that takes the place of the cue in "swap", of like frequency and in no head.
        control_replacement: The word that takes the place of the control.
        control_removal: How the control is removed, drawn from the removals.
    """

    row: int
    cue: str
    control: str
    replacement: str
    control_replacement: str
    control_removal: str


@dataclasses.dataclass(frozen=True)
class InsertedItem(Result):
    """A word put into one item: the cue of another label, and a control word of like frequency in the same place."""

    row: int
    label: int
    cue: str
    control: str
    place: int


@dataclasses.dataclass(frozen=True, eq=False)
class CausalMeasurement:
    """Whether the named cues decide.

    Attributes:
        shortcuts: The figures; None where no item has a cue and a control word.
        items: What was done to each item of the removals.
        inserted: What was done to each item of the insertion.
        n_with_cue: Predictions with a named cue of the predicted label.
        n_items: Measured predictions.
        without_cue: removal -> (n, K) probabilities without the cue, in the order of `items`.
        without_control: (n, K) probabilities without the control word, in the order of `items`.
        with_cue: (m, K) probabilities with the cue that is put in, in the order of `inserted`.
        with_control: (m, K) probabilities with the control word that is put in, in the order of `inserted`.
        left_out: removal -> why it was not made.
        n_failed: Items of which the model could not score a changed text; they are not among `items` or `inserted`.
    """

    shortcuts: CausalShortcuts | None
    items: tuple[TreatedItem, ...]
    inserted: tuple[InsertedItem, ...]
    n_with_cue: int
    n_items: int
    without_cue: Mapping[str, NDArray[np.float64]]
    without_control: NDArray[np.float64]
    with_cue: NDArray[np.float64]
    with_control: NDArray[np.float64]
    left_out: Mapping[str, str]
    n_failed: int = 0


def named_cues(cues: Sequence[Cue]) -> list[Cue]:
    """Return the cues that cue more predictions than blind picks would, by a test at 0.05 for each.

    Args:
        cues: From `ShortcutMeasurement.cues`.
    """
    return [cue for cue in cues if cue.p_value < NAMED_P]


def measure_causal_shortcuts(
    classifier: Classifier | Scorer,
    texts: Sequence[str],
    measured: ShortcutMeasurement,
    heads: LmiResult,
    cues: Sequence[Cue],
    *,
    text_pairs: Sequence[str] | None = None,
    resampling: Resampling = Resampling(),
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> CausalMeasurement:
    """Predict the measured items again without their cues, without control words, and with cues of other labels.

    In each text whose predicted label has a named cue in it, the cue with the largest attribution is deleted, masked,
    and swapped for a word of like frequency, in all its occurrences. One of the three, drawn for each item, is done to
    a control word: of the words of the text that are in no head, the one whose frequency in the training data is
    nearest to the cue's; for a mark of punctuation, of the marks, or of the words where the text has no other mark.
    Into texts that lack a named cue of another label, one such cue is put, and in the same place a control word. So of
    R removals, the items go through the model at most R + 2 times more: once per intervention, and once with control
    words. Where that would not do, cues are put into fewer texts, at least half of them.

    Args:
        classifier: The classifier that was measured.
        texts: The N texts that were measured: of those that `measure_shortcuts` was given, `measured.rows`.
        measured: Their attributions and predictions, from `measure_shortcuts`.
        heads: The `LmiResult` of the training data.
        cues: The cues to test: `named_cues(measured.cues(…))`.
        text_pairs: The N second texts.
        resampling: Level of the intervals, number of sign flips; the seed draws the words too, per item.
        progress: Whether to show progress bars.
        out: A folder for the predictions, from which a killed run resumes.
        fail_fast: Whether a changed text that the model cannot score is an error (default); if not, its item is left
            out.

    Returns:
        `CausalMeasurement`.

    Raises:
        ValueError: If the measured tokens are pieces of words, or there are other numbers of texts.
    """
    if measured.protocol.unit != "word":
        raise ValueError(
            "Expected shortcuts that are words, which can be taken out of a text, but the protocol "
            f"{measured.protocol.name!r} ranks pieces."
        )
    columns = [list(texts)] if text_pairs is None else [list(texts), list(text_pairs)]
    n_items = len(measured.probabilities)
    for name, column in zip(("texts", "text_pairs"), columns, strict=False):
        if len(column) != n_items:
            raise ValueError(
                f"Expected the {n_items} `{name}` that were measured (`measured.rows` of those given to "
                f"`measure_shortcuts`), but got {len(column)}."
            )

    def score(edits: Iterable[Edit]) -> dict[str, Floats]:
        options: dict[str, Any] = {"progress": progress, "fail_fast": fail_fast}
        return {
            edit.name: _score(classifier, measured, edit, None if out is None else Path(out) / edit.name, options)
            for edit in edits
        }

    words = _Vocabulary(heads)
    named = {label: _tokens(cues, label) for label in range(measured.probabilities.shape[1])}
    removals, left_out = _removals(classifier)
    chosen, n_with_cue = _choose(measured, words, named, list(removals), resampling.seed)
    items, removed = drop_failed(chosen, score(_removed(measured, columns, chosen, removals)))
    # One pass per intervention and one with control words, of which the removals leave this to the insertion.
    n_passes = (len(removals) + 2) * n_items - (len(removals) + 1) * len(items)
    planned = _insertions(measured, words, named, resampling.seed, most=n_passes // 2) if items else ()
    inserted, put_in = drop_failed(planned, score(_inserted(columns, planned)))
    without_control = removed.pop("control")
    before, rows = measured.probabilities, [item.row for item in inserted]
    goals = np.array([item.label for item in inserted])
    shortcuts = None
    if items:
        shortcuts = causal_shortcuts(
            before[[item.row for item in items]],
            removed,
            without_control,
            [item.cue for item in items],
            control_removals=[item.control_removal for item in items],
            inserted=(before[rows], put_in["insert-cue"], put_in["insert-control"], goals) if inserted else None,
            resampling=resampling,
        )
    return CausalMeasurement(
        shortcuts=shortcuts,
        items=items,
        inserted=inserted,
        n_with_cue=n_with_cue,
        n_items=n_items,
        without_cue=removed,
        without_control=without_control,
        with_cue=put_in["insert-cue"],
        with_control=put_in["insert-control"],
        left_out=left_out,
        n_failed=len(chosen) - len(items) + len(planned) - len(inserted),
    )


def drop_failed(items: Sequence[Items], tables: Mapping[str, Floats]) -> tuple[tuple[Items, ...], dict[str, Floats]]:
    """Leave out the items of which the model could not score a changed text; their rows are NaN in a table."""
    scored = np.asarray(np.isfinite(np.hstack(list(tables.values()))).all(axis=1), dtype=np.bool_)
    return tuple(compress(items, scored)), {name: table[scored] for name, table in tables.items()}


def cue_groups(
    texts: Sequence[str],
    predictions: Any,
    labels: Any,
    cues: Sequence[Cue],
    *,
    text_pairs: Sequence[str] | None = None,
    cue_labels: Any = None,
    resampling: Resampling = Resampling(),
) -> WorstGroup:
    """Compare the accuracy on texts whose cues agree with the gold label, disagree with it, or are absent.

    Args:
        texts: N texts.
        predictions: (N,) predicted labels.
        labels: (N,) gold labels.
        cues: The named cues.
        text_pairs: N second texts.
        cue_labels: (N,) the label of each text's planted cue, -1 for none, of data that tells it: it takes the place of
            the named cues. None where unknown.
        resampling: Level of the intervals.

    Returns:
        `WorstGroup` of `worst_group_accuracy`.
    """
    if cue_labels is not None:
        planted = check_labels(cue_labels, name="cue_labels", minimum=-1)
        has_planted = {int(label): planted == label for label in np.unique(planted[planted >= 0])}
        return worst_group_accuracy(predictions, labels, has_planted, confidence_level=resampling.level)
    words = [set(tokenize(text)) for text in with_pairs(check_texts(texts, "texts", allow_empty=True), text_pairs)]
    named = {label: _tokens(cues, label) for label in sorted({cue.label for cue in cues})}
    has_cue = {label: [not present.isdisjoint(tokens) for present in words] for label, tokens in named.items()}
    return worst_group_accuracy(predictions, labels, has_cue, confidence_level=resampling.level)


def _score(
    classifier: Classifier | Scorer,
    measured: ShortcutMeasurement,
    edit: Edit,
    out: Path | None,
    options: dict[str, Any],
) -> Floats:
    """Return the (n, K) probabilities of changed texts; NaN where the model could not score one."""
    table = np.full((len(edit.rows), measured.probabilities.shape[1]), np.nan)
    if edit.rows:
        ids = [measured.attributions.ids[row] for row in edit.rows]
        pairs = edit.texts[1] if len(edit.texts) > 1 else None
        scores = predict(classifier, edit.texts[0], text_pairs=pairs, ids=ids, out=out, **options)
        table[[name not in scores.failures for name in ids]] = softmax(np.asarray(scores.logits))
    return table


def _tokens(cues: Sequence[Cue], label: int) -> set[str]:
    return {cue.token for cue in cues if cue.label == label}


class _Vocabulary:
    """The words of the training data by frequency, and those that are in no head."""

    def __init__(self, heads: LmiResult) -> None:
        self.frequencies = heads.frequencies()
        self.in_heads = {token for head in heads.heads.values() for token in head}
        pool = [token for token in self.frequencies if token not in self.in_heads]
        # Words replace words, marks replace marks.
        self.pools = {
            kind: sorted((self.frequencies[token], token) for token in pool if token.isalpha() == kind)
            for kind in (True, False)
        }
        self.counts = {kind: np.array([count for count, _ in pool]) for kind, pool in self.pools.items()}

    def distance(self, word: str, other: str) -> float:
        return abs(float(np.log1p(self.frequencies.get(word, 0)) - np.log1p(self.frequencies.get(other, 0))))

    def like(self, token: str, absent: set[str], rng: np.random.Generator) -> str | None:
        """Draw a word of like frequency that is in no head and not among some words."""
        pool, counts = self.pools[token.isalpha()], self.counts[token.isalpha()]
        middle = int(np.searchsorted(counts, self.frequencies.get(token, 0)))
        window = range(max(0, middle - 2 * N_NEIGHBORS), min(len(pool), middle + 2 * N_NEIGHBORS))
        near = sorted((self.distance(token, pool[place][1]), pool[place][1]) for place in window)
        candidates = [word for _, word in near if word not in absent][:N_NEIGHBORS]
        return candidates[int(rng.integers(len(candidates)))] if candidates else None


def _choose(
    measured: ShortcutMeasurement,
    words: _Vocabulary,
    named: Mapping[int, set[str]],
    removals: Sequence[str],
    seed: int,
) -> tuple[list[TreatedItem], int]:
    """Choose the cue, the control and their replacements in each item that has them; and count the items with a cue."""
    attributions, n_with_cue, items = measured.attributions, 0, []
    every_cue = set().union(*named.values())
    for row, label in enumerate(measured.predictions.tolist()):
        tokens, sizes = attributions.tokens[row], np.abs(attributions.scores[row])
        cues = [place for place, token in enumerate(tokens) if token in named[label]]
        if not cues:
            continue
        n_with_cue += 1
        cue = tokens[max(cues, key=lambda place: (sizes[place], -place))]
        present, rng = set(tokens), item_rng(seed, attributions.ids[row])
        # A word for a word, a mark for a mark; the other where the text has none of the kind.
        controls = sorted(
            (token.isalpha() != cue.isalpha(), words.distance(cue, token), token)
            for token in present - every_cue - words.in_heads
        )
        if not controls:
            continue
        control = controls[0][2]
        replacement = words.like(cue, present, rng)
        control_replacement = words.like(control, present | {replacement or ""}, rng)
        if replacement is None or control_replacement is None:
            continue
        removal = removals[int(rng.integers(len(removals)))]
        items.append(TreatedItem(row, cue, control, replacement, control_replacement, removal))
    return items, n_with_cue


def _removals(classifier: Classifier | Scorer) -> tuple[dict[str, Replace], dict[str, str]]:
    """Return how each removal changes a text, and why some are not made."""
    mask = getattr(getattr(classifier, "tokenizer", None), "mask_token", None)
    if not mask:
        return {"delete": _delete, "swap": replace_words}, {"mask": "The model has no mask token."}
    masked = functools.partial(_mask, mask=mask)
    return {"delete": _delete, "mask": masked, "swap": replace_words}, {}


def _delete(text: str, spans: Spans, word: str) -> str:
    return delete_words(text, spans)


def _mask(text: str, spans: Spans, word: str, *, mask: str) -> str:
    return replace_words(text, spans, mask, cased=False)


def _removed(
    measured: ShortcutMeasurement,
    columns: Sequence[list[str]],
    items: Sequence[TreatedItem],
    removals: Mapping[str, Replace],
) -> Iterator[Edit]:
    """Take the cue out of each item in every way, and its control word in one."""
    attributions, rows = measured.attributions, [item.row for item in items]

    def without(item: TreatedItem, column: int, word: str, removal: str, replacement: str) -> str:
        first, last = attributions.scores.offsets[item.row : item.row + 2]
        places = zip(attributions.tokens[item.row], range(first, last), strict=True)
        here = [at for token, at in places if token == word and attributions.parts[at] == column]
        spans = [(int(attributions.starts[at]), int(attributions.ends[at])) for at in here]
        return removals[removal](columns[column][item.row], spans, replacement)

    parts = range(len(columns))
    for name in removals:
        yield Edit(
            name, rows, [[without(item, part, item.cue, name, item.replacement) for item in items] for part in parts]
        )
    yield Edit(
        "control",
        rows,
        [
            [without(item, part, item.control, item.control_removal, item.control_replacement) for item in items]
            for part in parts
        ],
    )


def _inserted(columns: Sequence[list[str]], items: Sequence[InsertedItem]) -> Iterator[Edit]:
    """Put the cue into each item, and a control word in the same place."""
    rows = [item.row for item in items]
    rest = [[column[row] for row in rows] for column in columns[1:]]
    for name in ("cue", "control"):
        texts = [insert_word(columns[0][item.row], item.place, getattr(item, name)) for item in items]
        yield Edit(f"insert-{name}", rows, [texts, *rest])


def _insertions(
    measured: ShortcutMeasurement, words: _Vocabulary, named: Mapping[int, set[str]], seed: int, *, most: int
) -> tuple[InsertedItem, ...]:
    """Choose a cue of another label, a control word and a place for each item that lacks one, or for some of them."""
    attributions, insertions, drawn = measured.attributions, [], []
    for row, predicted in enumerate(measured.predictions.tolist()):
        present, rng = set(attributions.tokens[row]), item_rng(seed, f"insert {attributions.ids[row]}")
        absent = [
            (label, cue) for label in sorted(named) if label != predicted for cue in sorted(named[label] - present)
        ]
        first, last = attributions.scores.offsets[row : row + 2]
        starts = attributions.starts[first:last][attributions.parts[first:last] == 0]
        if not absent or not len(starts):
            continue
        label, cue = absent[int(rng.integers(len(absent)))]
        control = words.like(cue, present, rng)
        if control is not None:
            insertions.append(InsertedItem(row, label, cue, control, int(starts[int(rng.integers(len(starts)))])))
            drawn.append(float(rng.random()))
    return tuple(insertions[place] for place in sorted(np.argsort(drawn, kind="stable")[:most].tolist()))
