"""Which tokens of a labeled data set point to which label: local mutual information and related figures.

All figures follow from counts of (token, label), which are sparse: their memory grows with the vocabulary.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.choices import HEAD_ROUNDINGS
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.label_names import check_label_names
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.core.results import Result
from rightreasons.core.tokens import split_words
from rightreasons.core.validation import (
    check_count,
    check_labels,
    check_one_of,
    check_same_length,
    check_texts,
    check_token_lists,
)

COUNTS = ("occurrence", "presence")
DENOMINATORS = ("tokens", "vocab")
TOKENIZERS = ("words", "none")

MOST_SMOOTHING = 1e12
LEAST_BASE = 1.000001

Tokenizer = Callable[[str], Iterable[str]]


class LmiOptions(Options):
    """How the figures are made from counts; see `lmi`."""

    denominator: str = option("tokens", "What |D| in p(w, l) is.", choices=DENOMINATORS)
    head_fraction: float = option(
        0.05, "Share of a label's tokens that makes its head.", minimum=0.0, maximum=1.0
    )
    head_size: int | None = option(None, "The head as a number of tokens instead.", minimum=1)
    head_rounding: str = option(
        "up", "How the share becomes a number of tokens.", choices=HEAD_ROUNDINGS
    )
    log_base: float | None = option(None, "Base of the logarithm of LMI.", minimum=LEAST_BASE)
    pmi_smoothing: float = option(
        100.0, "What PMI adds to every cell.", minimum=0.0, maximum=MOST_SMOOTHING
    )
    null: str = option("prior", "p_0 of z.", choices=("prior", "uniform"))

    def size_of(self, n_tokens: int) -> int:
        """Return how many of the tokens of a label make its head."""
        if self.head_size is not None:
            return min(self.head_size, n_tokens)
        if self.head_rounding == "nearest_plus_one":  # Python rounds halves to the even number
            return min(round(n_tokens * self.head_fraction) + 1, n_tokens)
        # 0.07 * 100 is 7.000000000000001 in floating point: that is seven tokens, not eight.
        return math.ceil(round(self.head_fraction * n_tokens, 9))


@dataclasses.dataclass(frozen=True, eq=False)
class LabelTokens(Result):
    """The tokens of one label, best first.

    Every array has one entry per token with count(w, l) > 0, by falling LMI; ties by falling count, then by name.

    Attributes:
        label: The label l.
        prior: p(l), in (0, 1).
        head_size: How many tokens from the top make the head.
        tokens: (V_l,) the tokens w.
        lmi: (V_l,) local mutual information, in nats unless there is a `log_base`; above 0 the token points at the
            label, below 0 away from it.
        pmi: (V_l,) pointwise mutual information, smoothed, in nats.
        count: (V_l,) count(w, l).
        total: (V_l,) count(w) over all labels.
        p_label: (V_l,) p(l | w), in (0, 1].
        z: (V_l,) how many standard errors the share of label l among the texts with w lies above its value when the
            token says nothing. Texts are counted, whatever `count` is: one text repeats a word.
        p_value: (V_l,) two-sided p-value of z (normal approximation), not corrected for the number of tokens.
    """

    label: int
    prior: float
    head_size: int
    tokens: tuple[str, ...]
    lmi: NDArray[np.float64]
    pmi: NDArray[np.float64]
    count: NDArray[np.int64]
    total: NDArray[np.int64]
    p_label: NDArray[np.float64]
    z: NDArray[np.float64]
    p_value: NDArray[np.float64]

    @property
    def head(self) -> tuple[str, ...]:
        """The tokens of the head, best first."""
        return self.tokens[: self.head_size]

    def rows(self, top_k: int | None = None) -> list[dict[str, Any]]:
        """Return the table row by row as plain values, the first `top_k` rows or all."""
        if top_k is not None:
            check_count(top_k, "top_k")
        columns = {
            "token": self.tokens[:top_k],
            **{name: getattr(self, name)[:top_k].tolist() for name in _COLUMNS},
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


_COLUMNS = ("lmi", "pmi", "count", "total", "p_label", "z", "p_value")


@dataclasses.dataclass(frozen=True, eq=False)
class LmiResult(Result):
    """The tokens of every label, and what they were counted in.

    Attributes:
        by_label: One table per label, by the label's number.
        n_documents: Number of texts.
        n_tokens: Number of tokens in all texts (count="occurrence"), or of (token, text) pairs (count="presence").
        vocabulary_size: Number of distinct tokens.
        count: "occurrence" or "presence".
        denominator: What |D| in p(w, l) was, "tokens" or "vocab".
        log_base: Base of the logarithm of LMI; None is e.
    """

    by_label: tuple[LabelTokens, ...]
    n_documents: int
    n_tokens: int
    vocabulary_size: int
    count: str
    denominator: str
    log_base: float | None = None

    def __getitem__(self, label: int) -> LabelTokens:
        for table in self.by_label:
            if table.label == label:
                return table
        raise make_unknown_name_error(
            "label that was counted", label, [str(table.label) for table in self.by_label]
        )

    @property
    def labels(self) -> tuple[int, ...]:
        """The labels, in order."""
        return tuple(table.label for table in self.by_label)

    @property
    def heads(self) -> dict[int, tuple[str, ...]]:
        """The head of each label: what `shortcut_reliance` takes."""
        return {table.label: table.head for table in self.by_label}

    @property
    def definition(self) -> str:
        """What was computed, in words."""
        unit = "texts" if self.count == "presence" else "tokens"
        divisor = "distinct tokens" if self.denominator == "vocab" else unit
        measure = "nats" if self.log_base is None else f"logarithms of base {self.log_base:g}"
        return (
            f"Local mutual information in {measure}, counted over {unit} ({self.count}); |D| in p(w, l) is the number "
            f"of {divisor}."
        )

    def name_labels(self, names: Sequence[str] | None) -> dict[int, str]:
        """Return the name of each label: its number when there are no names.

        Raises:
            ValueError: If a label has no name, or two have the same.
        """
        if names is None:
            return {label: str(label) for label in self.labels}
        checked = check_label_names(names)
        if self.labels[-1] >= len(checked):
            raise OptionError(
                f"Expected a name for each label in `label_names`, but there are {len(checked)} names and a label "
                f"{self.labels[-1]}.",
                option="label_names",
            )
        return {label: checked[label] for label in self.labels}

    def frequencies(self) -> dict[str, int]:
        """Return count(w) of every token, over all labels."""
        return {
            token: count
            for table in self.by_label
            for token, count in zip(table.tokens, table.total.tolist(), strict=True)
        }


@accept_options_as_keywords(LmiOptions)
def lmi(
    data: Iterable[Any],
    labels: Any,
    *,
    tokenizer: str | Tokenizer = "words",
    count: str = "occurrence",
    options: LmiOptions,
) -> LmiResult:
    r"""Rank the tokens of every label by local mutual information.

    \[ LMI(w, l) = p(w, l) \log \frac{p(l \mid w)}{p(l)}, \quad p(w, l) = \frac{count(w, l)}{|D|}, \quad
       p(l \mid w) = \frac{count(w, l)}{count(w)}, \quad p(l) = \frac{count(l)}{N} \]

    with natural logarithms unless `log_base` is given, N the number of tokens and count(l) the number of tokens in
    texts of label l. Beside it:

    \[ PMI(w, l) = \log \frac{(count(w, l) + k)\, N'}{(count(w) + kK)\,(count(l) + kV)}, \quad N' = N + kKV \]

    for K labels, V distinct tokens and k = `pmi_smoothing` added to every cell; and how far the token is from one that
    carries no information,

    \[ z = \frac{n(w, l) / n(w) - p_0}{\sqrt{p_0 (1 - p_0) / n(w)}} \]

    with n(w, l) of the n(w) texts that have the token. LMI favors frequent tokens, PMI rare ones; z is a test. It
    counts texts, whatever `count` is, as the occurrences of a word in one text are not independent.

    Args:
        data: N texts, or N lists of tokens with tokenizer="none".
        labels: (N,) labels, whole numbers from 0; at least two different ones.
        tokenizer: How a text becomes tokens. "words" (default): lower-case words and marks of punctuation, see
            `tokens.words`. "none": the data are lists of tokens already. Or a function of one text that gives its
            tokens, or a Hugging Face tokenizer, for its word pieces.
        count: "occurrence" (default) or "presence": a token counts once per text, and p(w, l) and p(l) are shares of
            texts.
        options: An `LmiOptions`, in place of the following keywords.
        denominator: What |D| in p(w, l) is: "tokens" (default; the number of counted units N) or "vocab" (the number of
            distinct tokens, as Du et al. and Bihani and Rayz write). It scales LMI and does not change the ranking.
        head_fraction: The share of a label's tokens that make its head; default 0.05.
        head_size: The head as a number of tokens instead; default None.
        head_rounding: How the share becomes a number of tokens: "up" (default; ceil(head_fraction · V_l), V_l = number
            of tokens with count(w, l) > 0) or "nearest_plus_one" (round(head_fraction · V_l) + 1, as the released code
            of Bihani and Rayz has it).
        log_base: Base of the logarithm of LMI, above 1; default None, the natural one. It scales LMI and does not
            change the ranking.
        pmi_smoothing: k of PMI, at most 1e12; default 100, as Gururangan et al.; 0 for plain PMI.
        null: p_0 of z: "prior" (default; the share of texts of the label) or "uniform" (1/K, as Gardner et al.). For
            balanced labels the same.

    Returns:
        `LmiResult`: per label the ranked tokens with their figures and the head.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ, a text is empty, there are fewer than two labels, or an option is unknown.

    References:
        Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section 3; Du et al. 2021, "Towards
        Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", eq. 1; Bihani and Rayz 2025, eq. 3;
        Gururangan et al. 2018, "Annotation Artifacts in Natural Language Inference Data", section 3.2; Gardner et al.
        2021, "Competency Problems", section 3.

    Example:
        >>> texts = ["good movie", "good good plot", "bad movie", "bad plot"]
        >>> result = lmi(texts, [0, 0, 1, 1])
        >>> dict(zip(result[0].tokens, result[0].lmi.round(6).tolist()))
        {'good': 0.195929, 'movie': -0.011707, 'plot': -0.011707}
        >>> result[1].head
        ('bad',)
        >>> round(float(lmi(texts, [0, 0, 1, 1], denominator="vocab")[0].lmi[0]), 6)
        0.44084
    """
    check_one_of(count, COUNTS, "count")
    # A tokenizer of transformers can be called too, but gives ids then.
    split: Any = getattr(tokenizer, "tokenize", tokenizer)
    if not callable(tokenizer):
        split = {"words": split_words, "none": list}[
            check_one_of(tokenizer, TOKENIZERS, "tokenizer")
        ]
    texts: list[Any] = (
        check_token_lists(data, "data") if tokenizer == "none" else check_texts(data, "data")
    )
    numbers = check_labels(labels, name="labels").tolist()
    check_same_length(data=texts, labels=numbers)
    documents = Counter(numbers)
    if len(documents) < 2:
        raise ValueError(
            f"Expected texts of at least two labels, but got labels: {', '.join(map(str, documents))}."
        )
    # label -> token -> the texts that have it, and count(w, l).
    present = {label: Counter[str]() for label in sorted(documents)}
    counted = present if count == "presence" else {label: Counter[str]() for label in present}
    for text, label in zip(texts, numbers, strict=True):
        tokens = list(split(text))
        present[label].update(set(tokens))
        if counted is not present:
            counted[label].update(tokens)
    for label, counter in counted.items():
        if not counter:
            raise ValueError(
                f"Expected tokens in the texts of label {label}, but the tokenizer found none."
            )

    # Sorted, so that an id is also the place in the alphabet.
    vocabulary = sorted(set().union(*counted.values()))
    index = {token: position for position, token in enumerate(vocabulary)}
    total, n_texts = np.zeros((2, len(vocabulary)), dtype=np.int64)
    cells: dict[int, NDArray[np.int64]] = {}
    for label, counter in counted.items():
        rows = [(index[token], number, present[label][token]) for token, number in counter.items()]
        ids, of_tokens, with_token = cells[label] = np.array(rows, dtype=np.int64).T
        total[ids] += of_tokens
        n_texts[ids] += with_token

    # The units that are counted: tokens, or (for p(l) and p(w, l) of presences) texts.
    n_tokens, n_labels, presence = int(total.sum()), len(cells), count == "presence"
    n_units = len(texts) if presence else n_tokens
    divisor = len(vocabulary) if options.denominator == "vocab" else n_units
    smoothing = options.pmi_smoothing
    smoothed_total = n_tokens + smoothing * len(vocabulary) * n_labels
    tables = []
    for label, (ids, number, with_token) in cells.items():
        of_label, of_token = int(number.sum()), total[ids]
        prior = (documents[label] if presence else of_label) / n_units
        p_label = number / of_token
        lmi_values = (
            number / divisor * np.log(p_label / prior) / math.log(options.log_base or math.e)
        )
        smoothed = (of_token + smoothing * n_labels) * (of_label + smoothing * len(vocabulary))
        p_null = documents[label] / len(texts) if options.null == "prior" else 1 / n_labels
        z = (with_token / n_texts[ids] - p_null) / np.sqrt(p_null * (1 - p_null) / n_texts[ids])
        order = np.lexsort((ids, -number, -lmi_values))
        columns = {
            "lmi": lmi_values,
            "pmi": np.log((number + smoothing) * smoothed_total / smoothed),
            "count": number,
            "total": of_token,
            "p_label": p_label,
            "z": z,
            "p_value": 2.0 * special.ndtr(-np.abs(z)),
        }
        tables.append(
            LabelTokens(
                label=label,
                prior=prior,
                head_size=options.size_of(len(ids)),
                tokens=tuple(vocabulary[i] for i in ids[order].tolist()),
                **{name: column[order] for name, column in columns.items()},
            )
        )
    return LmiResult(
        by_label=tuple(tables),
        n_documents=len(texts),
        n_tokens=n_tokens,
        vocabulary_size=len(vocabulary),
        count=count,
        denominator=options.denominator,
        log_base=options.log_base,
    )
