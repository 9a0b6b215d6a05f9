"""Choices scored by a causal language model: by their likelihood after the prompt, or jointly, by letter.

The log-likelihoods are those of lm-evaluation-harness; the model's trial decides how prompts and choices are batched.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, offsets_of
from rightreasons.core.choices import LETTERS, SCORING_METHODS
from rightreasons.core.scores import Scores
from rightreasons.core.store import digest_of_arrays
from rightreasons.core.validation import (
    check_choices,
    check_count,
    check_ids,
    check_labels,
    check_one_of,
    check_same_length,
    lettered,
)
from rightreasons.models.likelihoods import (
    PADDED,
    SHARED,
    Asked,
    Prefix,
    causal_way,
    likelihoods,
    n_rows,
    one_by_one,
    token_likelihoods,
    tokenize_choices,
    width,
)
from rightreasons.models.loading import (
    check_device,
    check_model,
    check_report,
    check_vocabulary,
    load_tokenizer,
    open_weights,
)
from rightreasons.models.protocol import Ability
from rightreasons.models.running import (
    Column,
    Columns,
    HowToRun,
    default_device,
    fingerprint_model,
    fingerprint_texts,
    run_model,
)
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    SHORTEST,
    TRIALS,
    UNBOUNDED,
    Answers,
    Way,
    check_tokens,
    fastest_way,
    first_line,
    ordinary_tokens,
    position_bound,
    reach_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

APART = "no common prefix"
"""The way of a model that cannot go on from tokens that it has read, or not exactly."""

FEWEST_ITEMS = 8
"""Fewer items than this do not make up for the trial."""

_FEWEST_TOKENS = 16
# A prefix that is shorter than this share of what follows it saves little.
_LEAST_SHARE = 0.25

WAY = "way.json"
"""The file of a store that tells how its items were batched."""

ALONE = "alone"
"""The folder, in that of the scores, of the choices after the unconditional prompt."""

# So many tokens that a model has read before take about the memory of one that it reads.
_HELD = 4

JOINT = ("letters",)
"""The methods that see the choices of an item together; the others score each choice by itself."""


@dataclass(frozen=True, eq=False)
class CausalLM:
    """A causal language model with its tokenizer.

    Attributes:
        model: A model of transformers with a language-modeling head, in evaluation mode.
        tokenizer: Its tokenizer.
        name: What the user called it.
        method: How `choose` scores its choices by default; one of `SCORING_METHODS`.
    """

    model: Any
    tokenizer: Any
    name: str
    method: str = "mean"

    @property
    def label_names(self) -> None:
        """None: it scores choices and has no classes."""
        return None

    @property
    def abilities(self) -> frozenset[Ability]:
        """Likelihoods of choices, gradients, and items shared by processes."""
        return frozenset(("likelihoods", "gradients", "processes"))

    @property
    def fingerprint(self) -> str:
        """A digest of the configuration, of every weight as it is now, and of the tokenizer."""
        return fingerprint_model(self.model, self.tokenizer)

    @property
    def joint(self) -> bool:
        """Whether the choices of an item are seen together: they are by letters."""
        return self.method in JOINT

    @property
    def n_parameters(self) -> int:
        """Number of parameters of the model."""
        return int(self.model.num_parameters())

    @property
    def max_length(self) -> int:
        """Maximum tokens per sequence: the model's bound, else the tokenizer's, else 2048."""
        bound = position_bound(self.model)
        if bound is None:
            bound = int(getattr(self.tokenizer, "model_max_length", UNBOUNDED))
        return bound if 0 < bound < UNBOUNDED else 2048

    @property
    def start_token(self) -> int | None:
        """The token that takes the place of an empty prompt: begin of sequence, else end of sequence, else None."""
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        return next((int(token) for token in tokens if token is not None), None)

    def describe(self) -> dict[str, Any]:
        """Return the architecture, and how choices are scored."""
        return {"architecture": type(self.model).__name__, "method": self.method}

    def predict(self, texts: Sequence[str], **how: Any) -> Scores:
        """Refuse: a language model has no classes."""
        raise ValueError(
            f"Expected a scorer of classes where there are no choices, but {self.name} is a language model without a "
            "prompt: `Prompted` gives it one."
        )

    def choose(self, prompts: Sequence[str], choices: Sequence[Sequence[str]], **how: Any) -> Scores:
        """Score the choices of N items; the arguments are those of `choose_causal`."""
        return choose_causal(self, prompts, choices, **{"method": self.method, **how})


@dataclass(frozen=True, eq=False)
class Common:
    """Items that begin with the same tokens, which are read once.

    Attributes:
        members: Positions of the items.
        prefix: The tokens, as the model holds them.
        way: How the rest of the items is batched.
    """

    members: NDArray[np.int64]
    prefix: Prefix
    way: Way

    def rest(self, asked: Asked) -> Asked:
        """Return a member without the prefix."""
        return asked.after(len(self.prefix))


def find_common(scorer: CausalLM, items: Sequence[Asked]) -> Common | None:
    """Return the items that begin alike where reading that once pays and is exact; None where not.

    Args:
        scorer: The model.
        items: Items as tokens.
    """
    widths = np.array([width(asked, SHARED) for asked in items])
    readable = np.flatnonzero(widths <= scorer.max_length)
    size, inside = longest_common([items[place].prompt for place in readable.tolist()])
    members = readable[inside]
    rest = widths[members].mean() - size if len(members) else 0.0
    if len(members) < FEWEST_ITEMS or size < max(_FEWEST_TOKENS, _LEAST_SHARE * rest):
        return None
    way = _prefix_way(scorer, size, int(widths[members].max()))
    if way.name == APART:
        return None
    return Common(members, Prefix(scorer.model, items[members[0]].prompt[:size]), way)


def longest_common(prompts: Sequence[list[int]]) -> tuple[int, NDArray[np.int64]]:
    """Return how many tokens prompts have in common at their beginning, and which prompts.

    Of all beginnings of the prompt in the middle of their order, it is the one that saves the most tokens where it is
    read once. The last token of a prompt stays out of it, since what follows is read off it.

    Example:
        >>> size, members = longest_common([[7, 8, 9, 1], [5, 5], [7, 8, 9, 2], [7, 8, 9, 3], [7, 4]])
        >>> size, members.tolist()
        (3, [0, 2, 3])
        >>> longest_common([[7]])[0]
        0
    """
    if not prompts:
        return 0, np.empty(0, dtype=np.int64)
    middle = sorted(range(len(prompts)), key=lambda place: prompts[place])[len(prompts) // 2]
    first = prompts[middle]

    def common(prompt: list[int]) -> int:
        end = min(len(first), len(prompt)) - 1
        if prompt[:end] == first[:end]:
            return end
        # The shortest beginning that differs is one token longer than what they have in common.
        return bisect.bisect_left(range(end), True, key=lambda size: prompt[: size + 1] != first[: size + 1])

    sizes = np.array([common(prompt) for prompt in prompts])
    steps = np.unique(sizes)
    saved = [int(step) * (int((sizes >= step).sum()) - 1) for step in steps]
    size = int(steps[int(np.argmax(saved))])
    return size, np.flatnonzero(sizes >= size)


def _prefix_way(scorer: CausalLM, size: int, longest: int) -> Way:
    """Return how a model goes on from a prefix, from a trial; `APART` if it does not."""
    model = scorer.model

    def find(reach: int) -> Way:
        draw, words = np.random.default_rng(0), ordinary_tokens(model, scorer.tokenizer)
        begin = draw.choice(words, size).tolist()
        room = max(1, min(reach, scorer.max_length) - size - 5)
        shapes = [(1, (2, 1)), (room, (4, 2, 2))]
        items = [
            Asked(
                "trial", begin + draw.choice(words, n).tolist(), [draw.choice(words, k).tolist() for k in ks], [], False
            )
            for n, ks in shapes
        ]
        answers: list[Answers] = []

        def alone() -> Answers:
            answers.append(one_by_one(model, items))
            return answers[0]

        def after(way: str) -> Answers:
            return token_likelihoods(model, [asked.after(size) for asked in items], way, Prefix(model, begin))

        ways = {way: functools.partial(after, way) for way in (SHARED, PADDED, EQUAL_LENGTHS)}
        return fastest_way(model, scorer.name, alone, {**ways, APART: lambda: answers[0]}, longest=reach)

    kind = f"what follows {reach_of(size)} tokens, up to {reach_of(longest)}"
    return TRIALS.way(model, kind, longest, find)


def load_causal(
    name_or_path: str | os.PathLike[str],
    *,
    revision: str | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
) -> CausalLM:
    """Load a causal language model and its tokenizer, and try it on a few short sequences.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        revision: A branch, tag or commit of the hub repository.
        device: Device of the model; None takes a GPU if there is one, else the CPU.
        dtype: Type of the weights; None keeps that of the checkpoint.

    Returns:
        The model, in evaluation mode.

    Raises:
        ValueError: If there is no such model, or it is not a causal language model, or its tokenizer is missing, or the
            trial finds that it cannot be asked.
    """
    path = gguf_path(name_or_path)
    name = check_model(name_or_path) if path is None else str(path.parent)
    options = {} if path is None else {"gguf_file": path.name}
    model, report = open_weights(
        transformers.AutoModelForCausalLM, "causal language model", name, revision=revision, dtype=dtype, **options
    )
    check_report(model, report, "causal language model", name)
    if report["missing_keys"]:
        absent = ", ".join(sorted(report["missing_keys"])[:3])
        raise ValueError(
            f"Expected {name} to be a causal language model, but its checkpoint lacks the weights {absent}."
        )
    tokenizer = load_tokenizer(name, revision, **options)
    check_vocabulary(model, tokenizer, name)
    model.to(default_device() if device is None else check_device(device))
    scorer = CausalLM(model.eval(), tokenizer, os.fspath(name_or_path))
    causal_way(scorer, longest=SHORTEST)
    return scorer


def gguf_path(name_or_path: object) -> Path | None:
    """Return the path of a GGUF file; None for anything else."""
    if not isinstance(name_or_path, (str, os.PathLike)):
        return None
    path = Path(os.fspath(name_or_path))
    return path if path.suffix == ".gguf" and path.is_file() else None


def choose_causal(
    scorer: CausalLM,
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    *,
    method: str = "mean",
    unconditional_prompt: str = "",
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    max_tokens: int = 4096,
    shared_prefix: bool = True,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> Scores:
    r"""Score the choices of every item by a causal language model.

    With l(a | p) = sum_t log P(a_t | p, a_<t), the log-likelihood of the tokens of a space and the choice after p,
    `loglikelihood` of the pair in lm-evaluation-harness:

        sum            l(a | p)
        mean           l(a | p) / number of tokens of a
        unconditional  l(a | p) - l(a | p0), p0 the unconditional prompt (Holtzman et al. 2021, PMI_DC)
        letters        log P(letter | p, all choices with letters, "Answer:"): the model sees the choices together

    Args:
        scorer: From `load_causal`.
        prompts: N prompts; an empty one is read as the tokenizer's start token.
        choices: N lists of at least two texts.
        method: "mean" (default), "sum", "unconditional" or "letters".
        unconditional_prompt: The prompt p0; by default empty.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) the index of the right choice, -1 where there is none.
        max_tokens: Maximum tokens per padded batch; a single item may exceed it.
        shared_prefix: Whether the prompt may be encoded once per item rather than once per choice, and what many
            prompts begin with once in all (default), which is faster. It is where the model's trial finds it exact.
        progress: Whether to show a progress bar.
        out: A folder for the results; a killed run resumes.
        fail_fast: Whether an item that cannot be scored is an error (default). If not, it is left out, and `failures`
            has its id and the reason.

    Returns:
        ids, the scores of the choices ((N, C) where all items have C choices, else `Ragged`), labels, how many prompts
        were cut (at their beginning) to fit the model, and what was left out.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an item has fewer than two choices, or a score is not finite (the item
            is named).

    References:
        Holtzman et al. (2021), "Surface Form Competition: Why the Highest Probability Answer Isn't Always Right",
        EMNLP.
    """
    check_one_of(method, SCORING_METHODS, "method")
    check_count(max_tokens, "max_tokens")
    asked = ChoiceItems.of(prompts, choices, ids=ids, labels=labels, allow_empty=not fail_fast)
    prompts, rows = with_letters(asked) if method == "letters" else (asked.prompts, asked.choices)
    how: dict[str, Any] = {
        "max_tokens": max_tokens,
        "shared_prefix": shared_prefix,
        "progress": progress,
        "fail_fast": fail_fast,
    }
    scored = _score(scorer, asked.ids, prompts, rows, kind=f"choices by {method}", out=out, **how)
    likelihood, reasons = scored.likelihoods, {**scored.reasons, **asked.wordless()}
    if method == "mean":
        likelihood = likelihood / scored.lengths
    if method == "unconditional":
        # Every distinct choice is scored once after the unconditional prompt.
        place = {text: index for index, text in enumerate(dict.fromkeys(itertools.chain.from_iterable(rows)))}
        names = [f"choice {text!r}" for text in place]
        beside = None if out is None else Path(out) / ALONE
        texts = [[text] for text in place]
        alone = _score(
            scorer, names, [unconditional_prompt] * len(place), texts, kind="choices alone", out=beside, **how
        )
        for item, row in enumerate(rows):
            failed = next((alone.reasons[place[text]] for text in row if place[text] in alone.reasons), None)
            if failed is not None:
                reasons.setdefault(item, failed)
        likelihood = likelihood - alone.likelihoods[[place[text] for row in rows for text in row]]
    kept = np.setdiff1d(np.arange(len(rows)), list(reasons))
    if not len(kept):
        raise ValueError(next(iter(reasons.values())))
    table = Ragged.of(likelihood, asked.counts)
    return Scores(
        tuple(asked.ids[item] for item in kept),
        (table.take(kept) if reasons else table).table(),
        None if asked.labels is None else asked.labels[kept],
        None,
        scored.truncated,
        way=scored.way,
        failures={asked.ids[item]: reason for item, reason in sorted(reasons.items())},
    )


@dataclass(frozen=True, eq=False)
class ChoiceItems:
    """Checked multiple-choice items.

    Attributes:
        ids: N ids.
        prompts: N prompts.
        choices: N lists of choices.
        counts: (N,) choices of each item.
        labels: (N,) the index of the right choice, -1 where there is none; None when the data has no labels.
    """

    ids: tuple[str, ...]
    prompts: list[str]
    choices: list[list[str]]
    counts: NDArray[np.int64]
    labels: NDArray[np.int64] | None

    @classmethod
    def of(
        cls,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: object = None,
        allow_empty: bool = False,
    ) -> ChoiceItems:
        """Check items; `allow_empty` allows choices without words.

        Raises:
            TypeError: If a column is of the wrong kind.
            ValueError: If columns differ in length, an item has fewer than two choices, an id comes twice, or a label
                is no choice of its item.
        """
        texts, rows, counts = check_choices(prompts, choices, allow_empty=allow_empty)
        names = tuple(check_ids(range(len(texts)) if ids is None else ids, "ids"))
        check_same_length(prompts=texts, ids=names)
        if labels is None:
            return cls(names, texts, rows, counts, None)
        check_same_length(prompts=texts, labels=labels)
        return cls(names, texts, rows, counts, check_labels(labels, counts, name="labels", minimum=-1))

    def wordless(self) -> dict[int, str]:
        """Return why items with a choice without words, which has no likelihood, cannot be scored."""
        return {
            item: f"Expected choices with words, but choice {place} of item {self.ids[item]!r} is {text!r}."
            for item, row in enumerate(self.choices)
            for place, text in enumerate(row)
            if not text.strip()
        }


def with_letters(items: ChoiceItems) -> tuple[list[str], list[list[str]]]:
    """Write the choices into the prompts with letters, and let the letters be the choices."""
    if (most := int(items.counts.max())) > len(LETTERS):
        raise ValueError(
            f"Expected at most {len(LETTERS)} choices with letters, but item {int(items.counts.argmax())} has {most}."
        )
    asked = [lettered(prompt, row) for prompt, row in zip(items.prompts, items.choices, strict=True)]
    return [text for text, _ in asked], [letters for _, letters in asked]


@dataclass(frozen=True, eq=False)
class Scored:
    """The log-likelihoods of the continuations of some items.

    Attributes:
        likelihoods: (P,) in nats, one continuation after another.
        lengths: (P,) the tokens of each.
        truncated: How many prompts were cut.
        way: How the items were batched, in words.
        reasons: Item -> why it could not be scored; its numbers are NaN.
    """

    likelihoods: NDArray[np.float64]
    lengths: NDArray[np.int64]
    truncated: int
    way: str
    reasons: dict[int, str]


def score_asked(
    scorer: CausalLM,
    items: Sequence[Sequence[Asked]],
    *,
    kind: str,
    counts: Sequence[int] | None = None,
    max_tokens: int = 4096,
    shared_prefix: bool = True,
    common_prefix: bool = True,
    **how: Unpack[HowToRun],
) -> Scored:
    """Score the continuations of tokenized items.

    Args:
        scorer: From `load_causal`.
        items: From `tokenize_choices` or `tokenize_continuations`.
        kind: What is scored, for the progress bar and the store.
        counts: Continuations of each item; None where each is among `items`.
        max_tokens: Maximum tokens per padded batch.
        shared_prefix: Whether a prompt may be read once for all of its continuations.
        common_prefix: Whether what many prompts begin with may be read once; never without `shared_prefix`.
        **how: As in `run_model`.
    """
    parts = list(itertools.chain.from_iterable(items))
    sizes = [sum(len(asked.choices) for asked in group) for group in items] if counts is None else counts
    tokens = (token for asked in parts for part in (asked.prompt, *asked.choices) for token in part)
    check_tokens(scorer.model, scorer.name, max(tokens))
    plans = _plans(scorer, parts, shared_prefix, common_prefix)
    columns = _likelihoods(scorer, parts, plans, kind=kind, max_tokens=max_tokens, **how)
    owners = np.repeat(np.arange(len(items)), [len(group) for group in items])
    _, reasons = columns.whole(owners)
    first = offsets_of(sizes)
    places = [start + np.array(asked.places) for start, asked in zip(first[owners], parts, strict=True)]
    likelihood, lengths = np.full(int(first[-1]), np.nan), np.ones(int(first[-1]), dtype=np.int64)
    for place, asked in zip(places, parts, strict=True):
        lengths[place] = [len(choice) for choice in asked.choices]
    for part, row in zip(columns.positions.tolist(), columns.ragged("likelihood"), strict=True):
        likelihood[places[part]] = row
    truncated = sum(any(asked.truncated for asked in group) for group in items)
    return Scored(likelihood, lengths, truncated, _way_in_words(plans), reasons)


def _score(
    scorer: CausalLM, names: Sequence[str], prompts: Sequence[str], rows: Sequence[Sequence[str]], **options: Any
) -> Scored:
    """Score the choices of every item, one after another."""
    reasons: dict[int, str] = {}
    items = tokenize_choices(scorer, names, prompts, rows, failures=None if options["fail_fast"] else reasons)
    scored = score_asked(scorer, items, counts=[len(row) for row in rows], **options)
    return replace(scored, reasons={**reasons, **scored.reasons})


@dataclass(frozen=True, eq=False)
class _Plan:
    """How some items are read.

    Attributes:
        rows: Positions of the items.
        way: How they are batched.
        prefix: What is read once before all of them; None for nothing.
    """

    rows: NDArray[np.int64]
    way: Way
    prefix: Prefix | None = None


def _plans(scorer: CausalLM, items: Sequence[Asked], shared_prefix: bool, common_prefix: bool) -> list[_Plan]:
    """Plan how every item is read: the fastest way that is exact."""
    plans: list[_Plan] = []
    rest = np.arange(len(items))
    if shared_prefix and common_prefix:
        common = find_common(scorer, items)
        if common is not None:
            plans.append(_Plan(common.members, common.way, common.prefix))
            rest = np.setdiff1d(rest, common.members)
    ways = _ways(scorer, [items[int(row)] for row in rest], shared_prefix) if len(rest) else []
    for name in dict.fromkeys(way.name for way in ways):
        own = [way for way in ways if way.name == name]
        plans.append(_Plan(rest[[way.name == name for way in ways]], max(own, key=lambda way: way.longest)))
    return plans


def _way_in_words(plans: Sequence[_Plan]) -> str:
    """Return how items are read in words."""
    total = sum(len(plan.rows) for plan in plans)
    parts = []
    for plan in plans:
        words = str(plan.way)
        if plan.prefix is not None:
            whose = "all items" if len(plan.rows) == total else f"{len(plan.rows)} of {total} items"
            words += f" after the first {len(plan.prefix)} tokens, which {whose} share and are read once"
        elif len(plans) > 1:
            words += f" of up to {plan.way.longest} tokens"
        parts.append(words)
    return "; ".join(parts)


def _likelihoods(
    scorer: CausalLM,
    items: Sequence[Asked],
    plans: Sequence[_Plan],
    *,
    kind: str,
    max_tokens: int,
    **how: Unpack[HowToRun],
) -> Columns:
    """Return the log-likelihood of every choice of every item."""
    plan_of = {int(row): plan for plan in plans for row in plan.rows}
    batches = [
        plan.rows[batch]
        for plan in plans
        for batch in _batches([items[int(row)] for row in plan.rows], plan, max_tokens)
    ]

    @torch.inference_mode()
    def score(batch: NDArray[np.int64]) -> dict[str, Column]:
        plan = plan_of[int(batch[0])]
        chosen = [items[int(index)] for index in batch]
        asked = chosen if plan.prefix is None else [item.after(len(plan.prefix)) for item in chosen]
        try:
            rows = likelihoods(scorer.model, asked, plan.way.name, plan.prefix)
        except (RuntimeError, IndexError) as error:
            raise ValueError(
                f"Expected a model that can read every item, but {scorer.name} fails at item {chosen[0].name!r}, or "
                f"one of its batch: {first_line(error)}"
            ) from error
        for item, row in zip(chosen, rows, strict=True):
            if not np.isfinite(row).all():
                raise ValueError(
                    f"Expected finite scores, but {scorer.name} gave NaN or infinity for item {item.name!r}."
                )
        return {"likelihood": Ragged.of(np.concatenate(rows), [len(row) for row in rows])}

    def inputs() -> dict[str, str]:
        sequences = [part for asked in items for part in (asked.prompt, *asked.choices)]
        arrays = {
            "tokens": np.fromiter(itertools.chain.from_iterable(sequences), dtype=np.int64),
            "lengths": np.array([len(part) for part in sequences]),
            "choices": np.array([len(asked.choices) for asked in items]),
        }
        return {"ids": fingerprint_texts(asked.name for asked in items), "texts": digest_of_arrays(arrays)}

    how["notes"] = {WAY: _way_in_words(plans)}
    return run_model(
        scorer.model,
        score,
        batches,
        kind=kind,
        inputs=inputs,
        **how,
    )


def _ways(scorer: CausalLM, items: Sequence[Asked], shared_prefix: bool) -> list[Way]:
    """Return the way of each item: the fastest that a trial at about its length finds exact."""
    bound = scorer.max_length
    widths = [width(asked, SHARED) for asked in items]
    longest: dict[int, int] = {}
    for size in sorted(size for size in widths if size <= bound):
        longest[reach_of(size)] = size
    found: dict[int, Way] = {}
    for reach in sorted(longest, reverse=True):
        found[reach] = causal_way(scorer, longest=longest[reach], shared_prefix=shared_prefix)
        if found[reach].name == causal_way(scorer, longest=SHORTEST, shared_prefix=shared_prefix).name:
            break  # what is exact for long sequences is exact for shorter ones
    ways = []
    for asked, size in zip(items, widths, strict=True):
        if size <= bound:
            ways.append(found.get(reach_of(size)) or found[min(found)])
        else:  # a row of prompt and all choices is longer than what the model reads
            ways.append(causal_way(scorer, longest=width(asked, ONE_BY_ONE), shared_prefix=False))
    return ways


def _batches(items: Sequence[Asked], plan: _Plan, max_tokens: int) -> list[NDArray[np.int64]]:
    """Cut items into batches of prompts, and of choices together, of like length; the longest first."""
    before = 0 if plan.prefix is None else len(plan.prefix)
    prompts = np.array([len(asked.prompt) for asked in items]) - before
    widths = np.array([width(asked, plan.way.name) for asked in items]) - before
    rows = np.array([n_rows(asked, plan.way.name) for asked in items])
    order = np.lexsort((-(widths - prompts), -(prompts // 8))).astype(np.int64)
    batches, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order):
            batch = order[start : end + 1]
            count, longest = rows[batch].sum(), widths[batch].max()
            # What a model holds of a prefix takes less memory than reading it.
            if max(count * longest, count * (before + longest) / _HELD) > max_tokens:
                break
            end += 1
        batches.append(order[start:end])
        start = end
    return batches
