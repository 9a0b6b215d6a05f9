"""Words that give the label of a text away, without any model.

`measure_word_cues` tests every word of a labeled data set. `rightreasons cues` prints the result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy import special

from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import holm
from rightreasons.core.validation import check_count
from rightreasons.shortcuts.mutual_information import lmi


@dataclasses.dataclass(frozen=True)
class WordCue(Result):
    """A word, and the label that it is associated with.

    Attributes:
        word: The word.
        label: Name of the label.
        n_texts: Number of texts with the word.
        share: Share of these texts with the label, in [0, 1].
        prior: Share of all texts with the label.
        p_value: Exact one-sided p-value of a share no larger than the prior, with Holm's correction
            for all pairs of a word and a label.
    """

    word: str
    label: str
    n_texts: int
    share: float
    prior: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class WordCues(Result):
    """The words of a data set that give labels away; from `measure_word_cues`.

    Attributes:
        cues: Words whose texts have a label significantly more often than all texts do, those
            with the smallest p-value first.
        n_words: Number of words that were tested.
        n_texts: Number of texts.
        confidence_level: One minus the chance that any word is listed wrongly.
    """

    cues: tuple[WordCue, ...]
    n_words: int
    n_texts: int
    confidence_level: float


def measure_word_cues(
    texts: Sequence[str],
    labels: object,
    label_names: Sequence[str],
    *,
    min_texts: int = 1,
    resampling: Resampling = Resampling(),
) -> WordCues:
    r"""Find the words whose texts have one label more often than chance allows.

    With n(w) texts that have the word w, n(w, l) of them of label l, and the share p_l of all texts
    of label l, a word without information has

    \[ n(w, l) \sim \text{Binomial}(n(w), p_l), \quad p = P(X \ge n(w, l)). \]

    Args:
        texts: N texts.
        labels: (N,) labels, whole numbers from 0; at least two different ones.
        label_names: Name of each label.
        min_texts: Number of texts that a word must be in to be tested; default 1.
        resampling: Its level decides which words are listed.

    Returns:
        The words. A word may be a cue of several labels.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ, a text is empty, or there are fewer than two labels.

    References:
        Gururangan et al. (2018), "Annotation Artifacts in Natural Language Inference Data";
        Gardner et al. (2021), "Competency Problems", whose test is the normal approximation.

    Example:
        A word is in all of six ironic texts of twelve, and in no other: p = 2^-6, times five pairs of
        a word and a label. In 36 texts of the same kind, p = 5 * 2^-18.

        >>> texts, labels = ["so happy indeed", "so happy"] * 6, [1, 0] * 6
        >>> measure_word_cues(texts, labels, ["sincere", "ironic"]).cues
        ()
        >>> found = measure_word_cues(texts * 3, labels * 3, ["sincere", "ironic"])
        >>> [(cue.word, cue.label, cue.n_texts, cue.share) for cue in found.cues]
        [('indeed', 'ironic', 18, 1.0)]
    """
    check_count(min_texts, "min_texts")
    tables = lmi(texts, labels, count="presence")
    names = tables.name_labels(label_names)

    # Every word is tested with every label that it occurs with: all of these make the family.
    candidates = []
    p_values = []
    words = set()
    for table in tables.by_label:
        # By texts, as the occurrences of a word in one text are not independent.
        prior = float(np.mean(np.asarray(labels) == table.label))
        # P(X > k - 1) is P(X >= k). The normal approximation would list words of a single text.
        tails = special.bdtrc(table.count - 1, table.total, prior)
        for index in np.flatnonzero(table.total >= min_texts).tolist():
            word = table.tokens[index]
            words.add(word)
            cue = WordCue(
                word=word,
                label=names[table.label],
                n_texts=int(table.total[index]),
                share=float(table.p_label[index]),
                prior=prior,
                p_value=1.0,
            )
            candidates.append(cue)
            p_values.append(float(tails[index]))

    # The corrected p-values decide what is listed, and are what a reader sees.
    cues = []
    corrected = holm(np.array(p_values)).tolist()
    for cue, p_value in zip(candidates, corrected, strict=True):
        if p_value <= 1 - resampling.level:
            cues.append(dataclasses.replace(cue, p_value=p_value))
    # Words of equal p-values are in the order of the number of their texts.
    cues.sort(key=lambda cue: (cue.p_value, -cue.n_texts, cue.word))
    return WordCues(
        cues=tuple(cues),
        n_words=len(words),
        n_texts=len(texts),
        confidence_level=resampling.level,
    )
