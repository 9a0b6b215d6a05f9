"""Choices scored by a causal language model: by their likelihood after the prompt, or jointly, by letter.

The prompt of an item is encoded once. Its choices follow it in one sequence, and an attention mask lets each see only
the prompt and itself; the positions of each continue those of the prompt. One forward pass thus gives the same as one
pass per (prompt, choice) pair, at the cost of the tokens that differ.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.foundations.choices import SCORING_METHODS
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.validation import (
    check_choices,
    check_count,
    check_ids,
    check_labels,
    check_one_of,
    check_same_length,
)
from rightreasons.models.loading import check_model, first_line, load_tokenizer, position_bound, quiet
from rightreasons.models.running.fingerprint import fingerprint_arrays, fingerprint_texts
from rightreasons.models.running.processes import default_device
from rightreasons.models.running.run import run_model
from rightreasons.models.running.store import Column

LETTERS = string.ascii_uppercase


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
    def max_length(self) -> int:
        """Maximum tokens per sequence; 2048 if the model has no bound."""
        return position_bound(self.model) or 2048

    @property
    def start_token(self) -> int:
        """The token that takes the place of an empty prompt: begin of sequence, else end of sequence."""
        for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        raise ValueError(
            f"Expected the tokenizer of {self.name} to have a begin- or end-of-sequence token, but it has neither."
        )


def load_causal(
    name_or_path: str | os.PathLike[str],
    *,
    revision: str | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
) -> CausalLM:
    """Load a causal language model and its tokenizer.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        revision: A branch, tag or commit of the hub repository.
        device: Device of the model; None takes a GPU if there is one, else the CPU.
        dtype: Type of the weights; None keeps that of the checkpoint.

    Returns:
        The model, in evaluation mode.

    Raises:
        ValueError: If there is no such model, or it is not a causal language model, or its tokenizer is missing.
    """
    options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    path = gguf_path(name_or_path)
    if path:
        name, options["gguf_file"] = str(path.parent), path.name
    else:
        name = check_model(name_or_path)
    try:
        with quiet():
            model, report = transformers.AutoModelForCausalLM.from_pretrained(
                name, revision=revision, output_loading_info=True, **options
            )
            if path:
                tokenizer = transformers.AutoTokenizer.from_pretrained(name, gguf_file=path.name)
            else:
                tokenizer = load_tokenizer(name, revision)
    except (OSError, KeyError, RuntimeError, ImportError) as error:
        raise ValueError(
            f"Expected {os.fspath(name_or_path)} to be a causal language model, but it cannot be opened as one: "
            f"{first_line(error)}"
        ) from error
    if report["missing_keys"]:
        absent = ", ".join(sorted(report["missing_keys"])[:3])
        raise ValueError(
            f"Expected {name} to be a causal language model, but its checkpoint lacks the weights {absent}."
        )
    model.to(device if device is not None else default_device())
    return CausalLM(model.eval(), tokenizer, os.fspath(name_or_path))


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
) -> Scores:
    r"""Score the choices of every item by a causal language model.

    With l(a | p) = sum_t log P(a_t | p, a_<t), the log-likelihood of the tokens of a space and the choice after p:

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
        shared_prefix: Whether the prompt is encoded once per item (default) rather than once per choice. The scores are
            the same to rounding; models with an attention of their own may need False.
        progress: Whether to show a progress bar.
        out: A folder for the results; a killed run resumes.

    Returns:
        ids, the scores of the choices ((N, C) where all items have C choices, else `Ragged`), labels, and how many
        prompts were cut (at their beginning) to fit the model.

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
    asked = ChoiceItems.of(prompts, choices, ids=ids, labels=labels)
    prompts, rows = _with_letters(asked) if method == "letters" else (asked.prompts, asked.choices)
    items = [_tokenize(scorer, *item) for item in zip(asked.ids, prompts, rows, strict=True)]
    lengths = [len(choice) for item in items for choice in item.choices]
    truncated = sum(item.truncated for item in items)
    if not shared_prefix:
        items = [dataclasses.replace(item, choices=[choice]) for item in items for choice in item.choices]
    score = functools.partial(_likelihoods, scorer, max_tokens=max_tokens, progress=progress)
    likelihood = score(items, kind=f"choices by {method}", out=out)
    if method == "mean":
        likelihood = likelihood / lengths
    if method == "unconditional":
        # Every distinct choice is scored once after the unconditional prompt.
        place = {text: index for index, text in enumerate(dict.fromkeys(itertools.chain.from_iterable(rows)))}
        alone = [_tokenize(scorer, f"choice {text!r}", unconditional_prompt, [text]) for text in place]
        likelihood = likelihood - score(alone, kind="choices alone")[[place[text] for row in rows for text in row]]
    return Scores(asked.ids, Ragged.of(likelihood, asked.counts).table(), asked.labels, None, truncated)


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


@dataclass(frozen=True)
class _Item:
    """An item as tokens: its name, one prompt (never empty), the choices, and whether the prompt was cut."""

    name: str
    prompt: list[int]
    choices: list[list[int]]
    truncated: bool

    @property
    def tokens(self) -> int:
        return len(self.prompt) + sum(map(len, self.choices))


def _with_letters(items: ChoiceItems) -> tuple[list[str], list[list[str]]]:
    """Write the choices into the prompts with letters, and let the letters be the choices."""
    if (most := int(items.counts.max())) > len(LETTERS):
        raise ValueError(
            f"Expected at most {len(LETTERS)} choices with letters, but item {int(items.counts.argmax())} has {most}."
        )
    prompts = []
    for prompt, row in zip(items.prompts, items.choices, strict=True):
        lines = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, row, strict=False))
        prompts.append(f"{prompt}\n{lines}\nAnswer:".lstrip("\n"))
    return prompts, [list(LETTERS[:count]) for count in items.counts]


def _tokenize(scorer: CausalLM, name: str, prompt: str, row: Sequence[str]) -> _Item:
    # The space belongs to the choice: that is how a running text is cut into tokens.
    tokenizer = scorer.tokenizer
    choices = tokenizer([f" {choice}" for choice in row], add_special_tokens=False)["input_ids"]
    tokens = tokenizer(prompt)["input_ids"] if prompt else []
    room = scorer.max_length - max(map(len, choices))
    if room < 1:
        raise ValueError(
            f"Expected choices that {scorer.name} can read (up to {scorer.max_length} tokens), but one of item "
            f"{name!r} has {max(map(len, choices))}."
        )
    return _Item(name, tokens[-room:] or [scorer.start_token], choices, len(tokens) > room)


def _likelihoods(
    scorer: CausalLM,
    items: Sequence[_Item],
    *,
    kind: str,
    max_tokens: int,
    progress: bool,
    out: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    """Return the summed log-likelihood of every choice of every item, one after another."""

    @torch.inference_mode()
    def score(batch: NDArray[np.int64]) -> dict[str, Column]:
        rows = _forward(scorer.model, [items[index] for index in batch])
        finite = np.isfinite(rows.reduce(np.add))
        if not finite.all():
            name = items[batch[int(finite.argmin())]].name
            raise ValueError(f"Expected finite scores, but {scorer.name} gave NaN or infinity for item {name!r}.")
        return {"likelihood": rows}

    def inputs() -> dict[str, str]:
        sequences = [part for item in items for part in (item.prompt, *item.choices)]
        arrays = {
            "tokens": np.fromiter(itertools.chain.from_iterable(sequences), dtype=np.int64),
            "lengths": np.array([len(part) for part in sequences]),
            "choices": np.array([len(item.choices) for item in items]),
        }
        return {"ids": fingerprint_texts(item.name for item in items), "texts": fingerprint_arrays(arrays)}

    batches = _batches(items, max_tokens)
    columns = run_model(scorer.model, score, batches, kind=kind, inputs=inputs, progress=progress, out=out)
    return columns.ragged("likelihood").values


def _batches(items: Sequence[_Item], max_tokens: int) -> list[NDArray[np.int64]]:
    """Cut items into batches of prompts, and of choices together, of like length; the longest first."""
    prompt = np.array([len(item.prompt) for item in items])
    total = np.array([item.tokens for item in items])
    order = np.lexsort((-(total - prompt), -(prompt // 8))).astype(np.int64)
    batches, start = [], 0
    while start < len(order):
        end, width, tail = start, 0, 0
        while end < len(order):
            width = max(width, int(prompt[order[end]]))
            tail = max(tail, int(total[order[end]] - prompt[order[end]]))
            if end > start and (end - start + 1) * (width + tail) > max_tokens:
                break
            end += 1
        batches.append(order[start:end])
        start = end
    return batches


def _forward(model: Any, items: Sequence[_Item]) -> Ragged:
    """Score all choices of some items by one forward pass: a row of log-likelihoods per item.

    Prompts end in the same column, so that only the logits of the last columns are needed.
    """
    width = max(len(item.prompt) for item in items)
    tail = max(item.tokens - len(item.prompt) for item in items)
    shape = (len(items), width + tail)
    tokens, positions = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    segment = np.full(shape, -1, dtype=np.int64)  # 0 is the prompt, j + 1 the j-th choice, -1 padding
    source = np.zeros(shape, dtype=np.int64)  # the column whose logits predict this token
    for row, item in enumerate(items):
        size = len(item.prompt)
        tokens[row, width - size : width] = item.prompt
        positions[row, width - size : width] = np.arange(size)
        segment[row, width - size : width] = 0
        column = width
        for index, choice in enumerate(item.choices):
            span = slice(column, column + len(choice))
            tokens[row, span] = choice
            positions[row, span] = size + np.arange(len(choice))
            segment[row, span] = index + 1
            source[row, span] = np.arange(column - 1, column + len(choice) - 1)
            source[row, column] = width - 1
            column += len(choice)
    device = model.device
    segments = torch.from_numpy(segment).to(device)
    causal = torch.ones(shape[1], shape[1], dtype=torch.bool, device=device).tril()
    key, query = segments[:, None, :], segments[:, :, None]
    allowed = causal & (key >= 0) & ((key == 0) | (key == query))
    allowed |= torch.eye(shape[1], dtype=torch.bool, device=device)  # padding sees itself, so that no row is empty
    # transformers takes an additive, four-dimensional mask unchanged.
    mask = torch.zeros(allowed.shape, dtype=model.dtype, device=device)
    mask.masked_fill_(~allowed, torch.finfo(model.dtype).min)
    logits = model(
        input_ids=torch.from_numpy(tokens).to(device),
        attention_mask=mask[:, None],
        position_ids=torch.from_numpy(positions).to(device),
        use_cache=False,
        logits_to_keep=tail + 1,
    ).logits
    at_row, at_column = np.nonzero(segment > 0)
    wanted = torch.from_numpy(tokens[at_row, at_column]).to(device)
    rows = torch.from_numpy(at_row).to(device)
    columns = torch.from_numpy(source[at_row, at_column] - (width - 1)).to(device)
    likelihood = np.empty(len(at_row))
    # In parts: the table of all logits is in memory already, a float copy of it need not be.
    for start in range(0, len(at_row), 512):
        part = slice(start, start + 512)
        scores = logits[rows[part], columns[part]].float()
        picked = scores.gather(1, wanted[part][:, None])[:, 0] - scores.logsumexp(dim=1)
        likelihood[part] = picked.double().cpu().numpy()
    owner = at_row * (segment.max() + 1) + segment[at_row, at_column]  # which choice of which item
    starts = np.flatnonzero(np.diff(np.concatenate(([-1], owner))))
    return Ragged.of(np.add.reduceat(likelihood, starts), [len(item.choices) for item in items])
