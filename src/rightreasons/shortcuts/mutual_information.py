"""Rank the tokens of every label of a data set: local mutual information and related figures.

`lmi` counts how often each token occurs with each label, in columns of interned tokens, and
computes all figures from these counts. A label keeps only the tokens that occur with it, so that
memory grows with the vocabulary and not with the number of labels times the vocabulary.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.choices import HEAD_ROUNDINGS
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.interning import InternedTexts, intern_texts, intern_token_lists
from rightreasons.core.interning.runs import group_rows
from rightreasons.core.labels.names import check_label_names
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.core.results import Result
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
NULL_SHARES = ("prior", "uniform")
TOKENIZERS = ("words", "none")

MAX_PMI_SMOOTHING = 1e12

MIN_LOG_BASE = 1.000001
"""Smallest base of a logarithm; that of base 1 is undefined."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Tokenizer = Callable[[str], Iterable[str]]


class LmiOptions(Options):
    """How the figures are computed from counts; see `lmi`."""

    denominator: str = option(
        "tokens",
        "What |D| in p(w, l) is.",
        choices=DENOMINATORS,
    )
    head_fraction: float = option(
        0.05,
        "Share of a label's tokens that makes its head.",
        minimum=0.0,
        maximum=1.0,
    )
    head_size: int | None = option(
        None,
        "The head as a number of tokens instead.",
        minimum=1,
    )
    head_rounding: str = option(
        "up",
        "How the share becomes a number of tokens.",
        choices=HEAD_ROUNDINGS,
    )
    log_base: float | None = option(
        None,
        "Base of the logarithm of LMI.",
        minimum=MIN_LOG_BASE,
    )
    pmi_smoothing: float = option(
        100.0,
        "What PMI adds to every cell.",
        minimum=0.0,
        maximum=MAX_PMI_SMOOTHING,
    )
    null: str = option(
        "prior",
        "p_0 of z.",
        choices=NULL_SHARES,
    )

    def compute_head_size(self, n_tokens: int) -> int:
        """Return how many of the tokens of a label make its head."""
        if self.head_size is not None:
            return min(self.head_size, n_tokens)
        if self.head_rounding == "nearest_plus_one":
            # Python rounds halves to the even number, as the released code does.
            return min(round(n_tokens * self.head_fraction) + 1, n_tokens)
        # 0.07 * 100 is 7.000000000000001 in floating point: that is seven tokens, not eight.
        return math.ceil(round(self.head_fraction * n_tokens, 9))


@dataclasses.dataclass(frozen=True, eq=False)
class LabelTokens(Result):
    """The tokens of one label, best first.

    The arrays have one entry for each of the V_l tokens with count(w, l) > 0, in descending order
    of LMI. Ties are in descending order of count, then in the order of the tokens.

    Attributes:
        label: The label l.
        prior: p(l), in (0, 1).
        head_size: Number of tokens from the top that make the head.
        tokens: (V_l,) the tokens w.
        lmi: (V_l,) local mutual information, in nats unless there is a `log_base`. Tokens above 0
            are associated with the label, tokens below 0 with other labels.
        pmi: (V_l,) pointwise mutual information, smoothed, in nats.
        count: (V_l,) count(w, l).
        total: (V_l,) count(w) over all labels.
        p_label: (V_l,) p(l | w), in (0, 1].
        z: (V_l,) number of standard errors by which the share of label l among the texts with w
            exceeds the share expected of an uninformative token. It counts texts even if `count` is
            "occurrence", because a text repeats its words.
        p_value: (V_l,) two-sided p-value of z (normal approximation), not corrected for the number
            of tokens.
    """

    label: int
    prior: float
    head_size: int
    tokens: tuple[str, ...]
    lmi: Floats
    pmi: Floats
    count: Counts
    total: Counts
    p_label: Floats
    z: Floats
    p_value: Floats

    @property
    def head(self) -> tuple[str, ...]:
        """The tokens of the head, best first."""
        return self.tokens[: self.head_size]

    def rows(self, top_k: int | None = None) -> list[dict[str, Any]]:
        """Return one dictionary per token, best first: the token and its figures.

        Args:
            top_k: Number of tokens; None (default) for all of them.

        Returns:
            Rows such as `{"token": "good", "lmi": 0.2, "pmi": 0.1, "count": 3, ...}`.
        """
        if top_k is not None:
            check_count(top_k, "top_k")
        columns: dict[str, Sequence[Any]] = {"token": self.tokens[:top_k]}
        for name in _FIGURES:
            columns[name] = getattr(self, name)[:top_k].tolist()

        rows = []
        for values in zip(*columns.values(), strict=True):
            rows.append(dict(zip(columns, values, strict=True)))
        return rows


_FIGURES = ("lmi", "pmi", "count", "total", "p_label", "z", "p_value")


@dataclasses.dataclass(frozen=True, eq=False)
class LmiResult(Result):
    """The tokens of every label, and the size of the data set.

    Attributes:
        by_label: One table per label, in ascending order of labels.
        n_documents: Number of texts.
        n_tokens: Number of tokens in all texts (count="occurrence"), or of (token, text) pairs
            (count="presence").
        vocabulary_size: Number of distinct tokens.
        count: "occurrence" or "presence".
        denominator: Meaning of |D| in p(w, l), "tokens" or "vocab".
        log_base: Base of the logarithm of LMI; None for the natural logarithm.
    """

    by_label: tuple[LabelTokens, ...]
    n_documents: int
    n_tokens: int
    vocabulary_size: int
    count: str
    denominator: str
    log_base: float | None = None

    def __getitem__(self, label: int) -> LabelTokens:
        """Return the tokens of a label. Labels need not be consecutive.

        Raises:
            ValueError: If no text has the label; the message lists the labels.
        """
        for table in self.by_label:
            if table.label == label:
                return table
        known = [str(number) for number in self.labels]
        raise make_unknown_name_error("label that was counted", label, known)

    @property
    def labels(self) -> tuple[int, ...]:
        """The labels, in ascending order."""
        return tuple(table.label for table in self.by_label)

    @property
    def heads(self) -> dict[int, tuple[str, ...]]:
        """Label -> tokens of its head; an argument of `shortcut_reliance`."""
        return {table.label: table.head for table in self.by_label}

    @property
    def definition(self) -> str:
        """A sentence on how the figures were computed: the logarithm, the units and |D|."""
        unit = "texts" if self.count == "presence" else "tokens"
        # |D| is the number of distinct tokens in two papers, and otherwise that of counted units.
        divisor = "distinct tokens" if self.denominator == "vocab" else unit
        measure = "nats"
        if self.log_base is not None:
            measure = f"logarithms of base {self.log_base:g}"
        return (
            f"Local mutual information in {measure}, counted over {unit} ({self.count}); |D| in "
            f"p(w, l) is the number of {divisor}."
        )

    def name_labels(self, names: Sequence[str] | None) -> dict[int, str]:
        """Return label -> name of the label, such as `{0: "negative", 1: "positive"}`.

        Args:
            names: Names of the labels 0, 1, …; None to name each label by its number.

        Raises:
            ValueError: If a label has no name, or two labels have the same name.
        """
        if names is None:
            return {label: str(label) for label in self.labels}

        checked = check_label_names(names)
        largest = self.labels[-1]
        if largest >= len(checked):
            raise OptionError(
                f"Expected a name for each label in `label_names`, but got {len(checked)} names "
                f"and a label {largest}.",
                option="label_names",
            )
        return {label: checked[label] for label in self.labels}

    def frequencies(self) -> dict[str, int]:
        """Return count(w) of every token, over all labels."""
        # A token of several labels has the same total in each of them.
        frequencies: dict[str, int] = {}
        for table in self.by_label:
            frequencies.update(zip(table.tokens, table.total.tolist(), strict=True))
        return frequencies


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

    \[ LMI(w, l) = p(w, l) \log \frac{p(l \mid w)}{p(l)}, \quad
       p(w, l) = \frac{count(w, l)}{|D|}, \quad
       p(l \mid w) = \frac{count(w, l)}{count(w)}, \quad p(l) = \frac{count(l)}{N} \]

    with natural logarithms unless `log_base` is given, N the number of tokens and count(l) the
    number of tokens in texts of label l. Further figures are

    \[ PMI(w, l) = \log \frac{(count(w, l) + k)\, N'}{(count(w) + kK)\,(count(l) + kV)}, \quad
       N' = N + kKV \]

    for K labels, V distinct tokens and k = `pmi_smoothing` added to every cell; and the distance of
    the token from one that carries no information,

    \[ z = \frac{n(w, l) / n(w) - p_0}{\sqrt{p_0 (1 - p_0) / n(w)}} \]

    with n(w, l) of the n(w) texts that have the token. LMI favors frequent tokens, PMI rare ones; z
    is a test. It counts texts even if `count` is "occurrence", because the occurrences of a word in
    one text are not independent.

    Args:
        data: N texts, or N lists of tokens with tokenizer="none".
        labels: (N,) labels, whole numbers from 0; at least two different ones.
        tokenizer: Method of splitting a text. "words" (default): lower-case words and marks of
            punctuation, see `tokens.split_words`. "none": the data are lists of tokens already. Or
            a function of one text that returns its tokens, or a Hugging Face tokenizer, for word
            pieces.
        count: "occurrence" (default) or "presence": a token counts once per text, and p(w, l) and
            p(l) are shares of texts.
        options: An `LmiOptions`, in place of the following keywords.
        denominator: Meaning of |D| in p(w, l): "tokens" (default; the number of counted units N) or
            "vocab" (the number of distinct tokens, as Du et al. and Bihani and Rayz write). It
            scales LMI and does not change the ranking.
        head_fraction: Share of a label's tokens that makes its head; default 0.05.
        head_size: Size of the head as a number of tokens instead; default None.
        head_rounding: Rounding of the share to a number of tokens: "up" (default;
            ceil(head_fraction · V_l), V_l = number of tokens with count(w, l) > 0) or
            "nearest_plus_one" (round(head_fraction · V_l) + 1, as the released code of Bihani and
            Rayz has it).
        log_base: Base of the logarithm of LMI, above 1; default None, the natural logarithm. It
            scales LMI and does not change the ranking.
        pmi_smoothing: k of PMI, at most 1e12; default 100, as Gururangan et al.; 0 for plain PMI.
        null: p_0 of z: "prior" (default; the share of texts of the label) or "uniform" (1/K, as
            Gardner et al.). Both are equal for balanced labels.

    Returns:
        `LmiResult`: per label the ranked tokens with their figures and the head.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ, a text is empty, there are fewer than two labels, or an
            option is unknown.

    References:
        Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section 3; Du et al.
        2021, "Towards Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", eq. 1;
        Bihani and Rayz 2025, eq. 3; Gururangan et al. 2018, "Annotation Artifacts in Natural
        Language Inference Data", section 3.2; Gardner et al. 2021, "Competency Problems", section
        3.

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
    # Everything after this line works on token ids: neither texts nor labels are checked again.
    corpus = _parse_corpus(data, labels, tokenizer)
    counts = _count_tokens(corpus, is_presence=count == "presence")

    tables = []
    for cell in counts.cells:
        # The labels are ranked one by one, so that no table of all tokens and labels is made.
        tables.append(_rank_tokens(cell, counts, options))
    return LmiResult(
        by_label=tuple(tables),
        n_documents=counts.n_documents,
        n_tokens=counts.n_tokens,
        vocabulary_size=len(counts.vocabulary),
        count=count,
        denominator=options.denominator,
        log_base=options.log_base,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Corpus:
    """Labeled texts that were checked and split into tokens.

    Attributes:
        texts: N interned texts.
        labels: K distinct labels, in ascending order.
        rows_by_label: The rows of each label.
    """

    texts: InternedTexts
    labels: Counts
    rows_by_label: list[Counts]


@dataclasses.dataclass(frozen=True, eq=False)
class _Cell:
    """The tokens that occur in the texts of one label.

    Attributes:
        label: The label l.
        n_documents: Number of its texts.
        ids: (V_l,) the tokens w with count(w, l) > 0, as positions in the vocabulary.
        count: (V_l,) count(w, l).
        n_texts: (V_l,) number of its texts that have the token.
    """

    label: int
    n_documents: int
    ids: Counts
    count: Counts
    n_texts: Counts


@dataclasses.dataclass(frozen=True, eq=False)
class _TokenCounts:
    """The counts from which all figures follow.

    Attributes:
        cells: The tokens of each label.
        vocabulary: V distinct tokens in sorted order.
        total: (V,) count(w) over all labels.
        n_texts: (V,) number of texts that have each token.
        n_documents: Number of texts.
        is_presence: Whether a token counts once per text.
    """

    cells: list[_Cell]
    vocabulary: Sequence[str]
    total: Counts
    n_texts: Counts
    n_documents: int
    is_presence: bool

    @property
    def n_tokens(self) -> int:
        """Number of tokens, or of (token, text) pairs if a token counts once per text."""
        return int(self.total.sum())

    @property
    def n_units(self) -> int:
        """Number N of the units that p(l) and p(w, l) are shares of: tokens or texts."""
        return self.n_documents if self.is_presence else self.n_tokens


def _parse_corpus(data: Iterable[Any], labels: Any, tokenizer: str | Tokenizer) -> _Corpus:
    """Check texts and labels, split the texts into tokens, and number the tokens.

    Args:
        data: N texts, or N lists of tokens if `tokenizer` is "none".
        labels: (N,) whole numbers, of which at least two differ.
        tokenizer: "words", "none", a function of a text, or a Hugging Face tokenizer.

    Returns:
        The interned tokens of the N texts, the distinct labels, and the rows of each label.
    """
    if not callable(tokenizer):
        check_one_of(tokenizer, TOKENIZERS, "tokenizer")
    texts: list[Any]
    if tokenizer == "none":
        texts = check_token_lists(data, "data")
    else:
        texts = check_texts(data, "data")
    numbers = check_labels(labels, name="labels")
    check_same_length(data=texts, labels=numbers)

    # Labels may be any whole numbers; their ranks number the cells.
    distinct, codes = np.unique(numbers, return_inverse=True)
    if len(distinct) < 2:
        raise ValueError(
            f"Expected texts of at least two labels, but got labels: {int(distinct[0])}."
        )
    return _Corpus(
        texts=_intern_tokens(texts, tokenizer),
        labels=distinct,
        rows_by_label=group_rows(codes, len(distinct)),
    )


def _intern_tokens(texts: list[Any], tokenizer: str | Tokenizer) -> InternedTexts:
    """Split texts and number their tokens."""
    if tokenizer == "words":
        return intern_texts(texts)
    if tokenizer == "none":
        return intern_token_lists(texts)
    # A Hugging Face tokenizer is also a function, but returns numbers instead of tokens.
    split: Any = getattr(tokenizer, "tokenize", tokenizer)
    return intern_token_lists(map(split, texts))


def _count_tokens(corpus: _Corpus, *, is_presence: bool) -> _TokenCounts:
    """Count how often each token occurs in the texts of each label, and in how many texts.

    Args:
        corpus: The tokens of the texts, and the rows of the texts of each label.
        is_presence: Whether a token counts once per text.

    Raises:
        ValueError: If the texts of a label have no tokens.
    """
    # Texts with each token once: their counts are numbers of texts.
    distinct = corpus.texts.select_distinct()
    texts = distinct if is_presence else corpus.texts
    total = np.zeros(len(texts.vocabulary), dtype=np.int64)
    total_texts = np.zeros_like(total)
    cells = []
    for label, rows in zip(corpus.labels.tolist(), corpus.rows_by_label, strict=True):
        count = texts.count_tokens(rows)
        # A token without an occurrence has no figures: its LMI would be 0 times an infinite number.
        ids = np.flatnonzero(count)
        if not ids.size:
            raise ValueError(
                f"Expected tokens in the texts of label {label}, but the tokenizer found none."
            )
        n_texts = count if is_presence else distinct.count_tokens(rows)
        total += count
        total_texts += n_texts
        cells.append(
            _Cell(
                label=label,
                n_documents=len(rows),
                ids=ids,
                count=count[ids],
                n_texts=n_texts[ids],
            )
        )

    return _TokenCounts(
        cells=cells,
        vocabulary=texts.vocabulary,
        total=total,
        n_texts=total_texts,
        n_documents=len(texts),
        is_presence=is_presence,
    )


def _rank_tokens(cell: _Cell, counts: _TokenCounts, options: LmiOptions) -> LabelTokens:
    """Compute the figures of the tokens of one label, and sort the tokens by LMI, the largest first.

    Args:
        cell: Counts of the label's tokens.
        counts: Counts over all labels.
        options: Definitions of the figures; see `lmi` for the formulas.
    """
    # p(l) and p(l | w), of the units that are counted.
    label_total = int(cell.count.sum())
    total = counts.total[cell.ids]
    n_units = counts.n_units
    prior = (cell.n_documents if counts.is_presence else label_total) / n_units
    p_label = cell.count / total

    # The divisor and the base scale LMI; neither changes the ranking.
    n_vocabulary = len(counts.vocabulary)
    divisor = n_vocabulary if options.denominator == "vocab" else n_units
    log_base = options.log_base or math.e
    lmi_values = cell.count / divisor * np.log(p_label / prior) / math.log(log_base)

    # Smoothing adds k to each of the K * V cells, and thus k * K to a token and k * V to a label.
    smoothing = options.pmi_smoothing
    n_labels = len(counts.cells)
    smoothed_count = cell.count + smoothing
    smoothed_total = counts.n_tokens + smoothing * n_vocabulary * n_labels
    smoothed_product = (total + smoothing * n_labels) * (label_total + smoothing * n_vocabulary)
    pmi_values = np.log(smoothed_count * smoothed_total / smoothed_product)

    # The test is about texts, whose labels are independent; occurrences in one text are not.
    n_texts = counts.n_texts[cell.ids]
    p_null = 1 / n_labels
    if options.null == "prior":
        p_null = cell.n_documents / counts.n_documents
    standard_errors = np.sqrt(p_null * (1 - p_null) / n_texts)
    z = (cell.n_texts / n_texts - p_null) / standard_errors
    p_values = 2.0 * special.ndtr(-np.abs(z))

    # Ids are positions in the sorted vocabulary, so that they order ties as the tokens would.
    order = np.lexsort((cell.ids, -cell.count, -lmi_values))
    tokens = [counts.vocabulary[token_id] for token_id in cell.ids[order].tolist()]
    return LabelTokens(
        label=cell.label,
        prior=prior,
        head_size=options.compute_head_size(len(tokens)),
        tokens=tuple(tokens),
        lmi=lmi_values[order],
        pmi=pmi_values[order],
        count=cell.count[order],
        total=total[order],
        p_label=p_label[order],
        z=z[order],
        p_value=p_values[order],
    )
