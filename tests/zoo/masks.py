"""Masks that are wrong on purpose in padded batches of a model in bfloat16: which of them a trial notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rightreasons.models.trial import (
    PaddingTrial,
    _make_trial_items,
    get_tolerance,
    set_padding_token,
)
from zoo.building import N_CLASSES, build, reads_types
from zoo.words import tokenizer

SEEDS = tuple(range(6))
MOST_TOKENS = 1000


def attended(mask: Tensor) -> dict[str, Tensor]:
    return {"attention_mask": torch.ones_like(mask)}


def one_attended(mask: Tensor) -> dict[str, Tensor]:
    """The padding that follows a text is attended."""
    return {"attention_mask": torch.cat((torch.ones_like(mask[:, :1]), mask[:, :-1]), 1)}


def one_hidden(mask: Tensor) -> dict[str, Tensor]:
    """The first token of a padded text is not attended."""
    return {
        "attention_mask": mask
        * torch.cat((mask.all(1, keepdim=True).to(mask), torch.ones_like(mask[:, 1:])), 1)
    }


def shifted(mask: Tensor) -> dict[str, Tensor]:
    """Positions of a padded text count from one."""
    places = (mask.cumsum(1) - 1).clamp(min=0)
    return {"attention_mask": mask, "position_ids": places + (mask == 0).any(1, keepdim=True)}


def uncausal(mask: Tensor) -> dict[str, Tensor]:
    return {"attention_mask": _added(mask.bool()[:, None, :].expand(-1, mask.shape[1], -1))}


def window_of(width: int) -> Callable[[Tensor], dict[str, Tensor]]:
    def within(mask: Tensor) -> dict[str, Tensor]:
        place = torch.arange(mask.shape[1])
        back = place[:, None] - place[None, :]
        return {
            "attention_mask": _added(((back >= 0) & (back < width))[None] & mask.bool()[:, None, :])
        }

    return within


def _added(seen: Tensor) -> Tensor:
    return torch.where(seen, 0.0, float(torch.finfo(torch.bfloat16).min)).bfloat16()[:, None]


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A mistake in padded batches alone.

    Attributes:
        what: The mistake, in words.
        family: The family of the model.
        made: What the model is given in place of the mask.
        longest: Tokens of the longest item of the trial.
        window: The model's window; None for the family's own.
    """

    what: str
    family: str
    made: Callable[[Tensor], dict[str, Tensor]]
    longest: int = 60
    window: int | None = None


MISTAKES = (
    Mistake("none: rounding", "bert", lambda mask: {"attention_mask": mask}),
    Mistake("none: rounding", "mistral", window_of(8)),
    Mistake("all padding is attended", "bert", attended),
    Mistake("one padding is attended", "bert", one_attended),
    Mistake("one token of the text is hidden", "bert", one_hidden),
    Mistake("one token of the text is hidden", "llama", one_hidden),
    Mistake("positions are shifted by one", "bert", shifted),
    Mistake("positions are shifted by one", "gpt2", shifted),
    Mistake("no causal mask", "gpt2", uncausal),
    Mistake("no causal mask", "llama", uncausal),
    *(
        Mistake(
            f"a window of {width} is one too wide",
            "mistral",
            window_of(width + 1),
            4 * width,
            width,
        )
        for width in (8, 32, 128, 250)
    ),
    Mistake("a window of 250 is not applied", "mistral", window_of(MOST_TOKENS), MOST_TOKENS, 250),
)


def off_by(mistake: Mistake, seed: int) -> tuple[float, bool]:
    """Ask a model in bfloat16, as one above 200M parameters is asked; the largest error as a share, and if noticed."""
    model = build("classes", mistake.family, seed=seed)
    for module in model.modules():
        if mistake.window and hasattr(module, "sliding_window"):
            module.sliding_window = mistake.window
    if mistake.window:
        model.config.sliding_window = mistake.window
    words = tokenizer(types=reads_types(model))

    def wrong(module: Any, inputs: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        mask = named["attention_mask"]
        return inputs, named if bool(mask.all()) else {**named, **mistake.made(mask)}

    model = model.bfloat16()
    model.register_forward_pre_hook(wrong, with_kwargs=True)
    off, noticed = 0.0, False
    for short in (True, False):  # as a trial asks, first short texts, then long ones
        items = _make_trial_items(model, words, mistake.longest, is_paired=False, is_short=short)
        trial = PaddingTrial(model, mistake.family, items, joint=False, n_classes=N_CLASSES)
        with torch.no_grad(), set_padding_token(model, items.padding["input_ids"]):
            alone, right = np.array(trial.score_singly()), np.array(trial.score_padded())
        error, scale = float(np.abs(right - alone).max()), float(np.abs(alone).max())
        off, noticed = max(off, error / scale), noticed or error > get_tolerance(model, scale)
    return off, noticed


def table() -> list[str]:
    """Return the lines of the page: how many mistakes are always noticed, and a table of the others."""
    lines = ["| mistake | model | off by, of the largest | noticed |", "|---|---|---:|---:|"]
    n_mistakes = 0
    n_always_noticed = 0
    for mistake in MISTAKES:
        # Rounding is no mistake.
        if mistake.what.startswith("none"):
            continue
        off, noticed = zip(*(off_by(mistake, seed) for seed in SEEDS), strict=True)
        n_mistakes += 1
        if all(noticed):
            n_always_noticed += 1
            continue
        lines.append(
            f"| {mistake.what} | {mistake.family} | {min(off):.1%} to {max(off):.1%} | {sum(noticed)} of {len(off)} |"
        )
    summary = f"Of {n_mistakes} mistakes, the trial detects {n_always_noticed} in all models, and these in some:"
    return [summary, "", *lines]
