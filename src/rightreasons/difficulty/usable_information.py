"""How much of a label a prompted model has from its input: what it says of each item with the input, and without."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.intervals import Estimate, share
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.core.validation import softmax
from rightreasons.difficulty.information import VInformation, v_information
from rightreasons.difficulty.measure import RankedItems
from rightreasons.models.occlusion import Occlusion
from rightreasons.models.prompted import Prompted


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WordShifts(RankedItems):
    r"""The n items with words and answers, out of N: their `values` are their largest shifts, in [0, 1].

    \[ D(x) = \max_j TV(x, j), \quad TV(x, j) = \frac12 \sum_k |p_k(x) - p_k(x_{-j})| \]

    for the probabilities p of the labels, or choices, of the text x, and of the text without its word j: the most
    probability that one left-out word moves to other labels. It is no Fisher information: it is about whole words, not
    about small steps, and a word may be left out for a good reason to decide otherwise ("not"). Of generated answers,
    whose distribution is one answer, it is 1 where a word exists without which the answer is another, else 0.

    Attributes:
        occlusion: What was asked about all N items.
        mean: (n,) the mean of TV over the words of each item.
        flips: (n,) how many words of each item change its prediction when one is left out.
        n_words: (n,) how many of its words have an answer without them.
    """

    occlusion: Occlusion
    mean: NDArray[np.float64]
    flips: NDArray[np.int64]
    n_words: NDArray[np.int64]

    @property
    def others(self) -> Mapping[str, NDArray[np.float64]]:
        """The number of words, and the mean shift."""
        return {"words": self.n_words.astype(np.float64), "mean_shift": self.mean}

    def shifts(self, place: int) -> NDArray[np.float64]:
        """Return TV of each word of an item; NaN where there is no answer without it."""
        return self.occlusion.shifts[int(self.rows[place])]

    def words(self, place: int, count: int = 3) -> list[str]:
        """Return the words of an item that move most."""
        shifts, tokens = np.nan_to_num(self.shifts(place), nan=-1.0), self.occlusion.tokens[int(self.rows[place])]
        return [tokens[word] for word in np.argsort(-shifts, kind="stable")[:count]]

    def flipped(self, resampling: Resampling) -> Estimate:
        """Return the share of items whose prediction changes without one word or other, with its Wilson interval."""
        return share(int((self.flips > 0).sum()), len(self), resampling) or Estimate(None)


def measure_word_shifts(occlusion: Occlusion) -> WordShifts:
    """Rank items by the most that one left-out word moves their answer.

    Args:
        occlusion: From `occlude`.

    Returns:
        A `WordShifts`: of the items with an answer, and an answer without at least one of their words.

    Raises:
        ValueError: If there is no such item.

    References:
        Li, Monroe and Jurafsky (2016), Understanding Neural Networks through Representation Erasure, for leaving words
        out; the total variation and its maximum are this package's.
    """
    known = [~np.isnan(row) for row in occlusion.shifts]
    rows = np.array([row for row, words in enumerate(known) if words.any()], dtype=np.int64)
    if not len(rows):
        raise ValueError(f"Expected items with words and answers, but none of {len(occlusion)} is one.")
    before = np.repeat(occlusion.predicted, np.diff(occlusion.offsets))
    changed = (occlusion.predicted_without >= 0) & (occlusion.predicted_without != before)
    shifts = [occlusion.shifts[row] for row in rows.tolist()]
    spans = [slice(*occlusion.offsets[row : row + 2]) for row in rows.tolist()]
    return WordShifts(
        occlusion=occlusion,
        rows=rows,
        values=np.array([np.nanmax(row) for row in shifts]),
        mean=np.array([np.nanmean(row) for row in shifts]),
        flips=np.array([changed[span].sum() for span in spans], dtype=np.int64),
        n_words=np.array([known[row].sum() for row in rows.tolist()], dtype=np.int64),
        labels=np.full(len(rows), -1) if occlusion.labels is None else occlusion.labels[rows],
        **RankedItems.answers(occlusion.logits, rows),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class InformationMeasurement:
    """Usable information of the n items with a label and both answers.

    Attributes:
        figures: Pointwise V-information in bits, its mean, and the entropies.
        ids: n ids.
        with_input: (n,) the probability of the label with the input.
        without_input: (n,) the same without it.
        n_left_out: How many labeled items lack one of the answers.
    """

    figures: VInformation
    ids: tuple[str, ...]
    with_input: NDArray[np.float64]
    without_input: NDArray[np.float64]
    n_left_out: int

    def __len__(self) -> int:
        return len(self.ids)

    def misled(self, resampling: Resampling) -> Estimate:
        """Return the share of items whose input makes their label less probable, with its Wilson interval."""
        return share(self.figures.n_misled, len(self), resampling) or Estimate(None)


def measure_information(
    scorer: Prompted,
    scores: Scores,
    labels: Sequence[int] | NDArray[Any],
    *,
    ids: Iterable[object] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    has_pairs: bool = False,
    resampling: Resampling = Resampling(),
    **running: Any,
) -> InformationMeasurement:
    r"""Compare the probability of each label with the input, and with an empty text in its place.

    \[ PVI(x \to y) = \log_2 p(y \mid x) - \log_2 p(y \mid \varnothing) \]

    where p are the probabilities of the labels, or choices, under the prompt, and the empty input is the prompt whose
    template is filled with an empty text: the few-shot examples, the label words and the choices stay. Ethayarajh et
    al. train one model on inputs and one on empty inputs; of a prompted model, which is not trained, both are the model
    itself. So the figure depends on the prompt, and a label that the prompt favors leaves little to learn from a text.

    Args:
        scorer: A prompted language model whose answers are scored.
        scores: What it says with the input.
        labels: (N,) gold labels; items with -1 are left out.
        ids: N unique ids; by default "0", "1", …
        choices: N lists of choices.
        has_pairs: Whether items have a second text, which is left out too.
        resampling: Level, resamples and seed of the interval.
        **running: `progress`, and `out`, a folder for the answers without the input, from which a killed run resumes.

    Returns:
        An `InformationMeasurement`.

    Raises:
        ValueError: If answers are generated, so that labels have no probability; if no item has a label and both
            answers; or if a label has a probability of 0, as one has that a server does not tell: its information is
            infinite.

    References:
        Ethayarajh, Choi, Swayamdipta (2022), Understanding Dataset Difficulty with V-Usable Information, ICML,
        equation 4, with in-context examples as in section 4.
    """
    if scorer.rendering.scoring == "generated":
        raise ValueError(
            f"Expected answers with probabilities, but those of {scorer.name} are generated: "
            "`--scoring next_words` asks for the first token alone."
        )
    names = [str(name) for name in (range(len(labels)) if ids is None else ids)]
    gold = dict(zip(names, np.asarray(labels, dtype=np.int64).tolist(), strict=True))
    empty = [""] * len(names)
    if choices is not None:
        bare = scorer.choose(empty, choices, ids=names, **running)
    else:
        bare = scorer.predict(empty, text_pairs=empty if has_pairs else None, ids=names, **running)
    first, second = (
        {name: softmax(np.asarray(row)[None])[0] for name, row in zip(side.ids, side.logits, strict=True)}
        for side in (scores, bare)
    )
    labeled = [name for name in names if gold[name] >= 0]
    known = [name for name in labeled if name in first and name in second]
    if not known:
        raise ValueError(
            f"Expected items with a label, and an answer with the input and without, but got none of {len(names)}."
        )
    sides = np.array([[side[name][gold[name]] for name in known] for side in (first, second)])
    n_without = int((sides == 0).any(axis=0).sum())
    if n_without:
        raise ValueError(
            f"Expected labels with a probability above 0, but {scorer.name} tells none of those of {n_without} of "
            f"{len(known)} items, whose information is infinite."
        )
    with_input, without_input = sides
    tables = [np.column_stack((side, 1 - side)) for side in sides]  # of each item, the label and all the others
    label = np.zeros(len(known), dtype=np.int64)
    figures = v_information(tables[0], tables[1], label, scores="probabilities", resampling=resampling)
    return InformationMeasurement(
        figures=figures,
        ids=tuple(known),
        with_input=with_input,
        without_input=without_input,
        n_left_out=len(labeled) - len(known),
    )
