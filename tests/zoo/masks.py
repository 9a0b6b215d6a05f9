"""Wrong masks, on purpose, in padded batches of a model in bfloat16: which of them a trial detects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rightreasons.models.padding_trial import PaddingTrial, _make_trial_items, set_padding_token
from rightreasons.models.trial import get_tolerance
from zoo.building import N_CLASSES, build, has_token_types
from zoo.words import tokenizer

SEEDS = tuple(range(6))
MAX_TOKENS = 1000


def attend_to_all(mask: Tensor) -> dict[str, Tensor]:
    return {"attention_mask": torch.ones_like(mask)}


def attend_to_one_padding(mask: Tensor) -> dict[str, Tensor]:
    """Attend to the padding token that follows a text."""
    first_column = torch.ones_like(mask[:, :1])
    return {"attention_mask": torch.cat((first_column, mask[:, :-1]), 1)}


def hide_one_token(mask: Tensor) -> dict[str, Tensor]:
    """Hide the first token of a padded text."""
    is_unpadded = mask.all(1, keepdim=True).to(mask)
    columns = torch.cat((is_unpadded, torch.ones_like(mask[:, 1:])), 1)
    return {"attention_mask": mask * columns}


def shift_positions(mask: Tensor) -> dict[str, Tensor]:
    """Count the positions of a padded text from one."""
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    is_padded = (mask == 0).any(1, keepdim=True)
    return {"attention_mask": mask, "position_ids": positions + is_padded}


def look_ahead(mask: Tensor) -> dict[str, Tensor]:
    """Let each token attend to the later ones, too."""
    is_visible = mask.bool()[:, None, :].expand(-1, mask.shape[1], -1)
    return {"attention_mask": make_additive_mask(is_visible)}


def limit_window(width: int) -> Callable[[Tensor], dict[str, Tensor]]:
    """Let each token attend to itself and the width - 1 tokens before it."""

    def limit(mask: Tensor) -> dict[str, Tensor]:
        positions = torch.arange(mask.shape[1])
        distances = positions[:, None] - positions[None, :]
        is_in_window = (distances >= 0) & (distances < width)
        is_visible = is_in_window[None] & mask.bool()[:, None, :]
        return {"attention_mask": make_additive_mask(is_visible)}

    return limit


def make_additive_mask(is_visible: Tensor) -> Tensor:
    """Return what is added to scores of attention: 0 where a token is visible, the least number elsewhere."""
    lowest = float(torch.finfo(torch.bfloat16).min)
    return torch.where(is_visible, 0.0, lowest).bfloat16()[:, None]


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A mistake in padded batches alone.

    Attributes:
        description: The mistake, in words.
        family: The family of the model.
        replace_mask: Makes the arguments of the model in place of the mask.
        n_tokens: Tokens of the longest item of the trial.
        window: The model's window; None for the family's own.
    """

    description: str
    family: str
    replace_mask: Callable[[Tensor], dict[str, Tensor]]
    n_tokens: int = 60
    window: int | None = None


def make_wide_window(width: int) -> Mistake:
    description = f"a window of {width} is one too wide"
    return Mistake(description, "mistral", limit_window(width + 1), 4 * width, width)


MISTAKES = (
    Mistake("none: rounding", "bert", lambda mask: {"attention_mask": mask}),
    Mistake("none: rounding", "mistral", limit_window(8)),
    Mistake("all padding is attended", "bert", attend_to_all),
    Mistake("one padding is attended", "bert", attend_to_one_padding),
    Mistake("one token of the text is hidden", "bert", hide_one_token),
    Mistake("one token of the text is hidden", "llama", hide_one_token),
    Mistake("positions are shifted by one", "bert", shift_positions),
    Mistake("positions are shifted by one", "gpt2", shift_positions),
    Mistake("no causal mask", "gpt2", look_ahead),
    Mistake("no causal mask", "llama", look_ahead),
    make_wide_window(8),
    make_wide_window(32),
    make_wide_window(128),
    make_wide_window(250),
    Mistake("a window of 250 is not applied", "mistral", limit_window(MAX_TOKENS), MAX_TOKENS, 250),
)


def build_mistaken_model(mistake: Mistake, seed: int) -> Any:
    """Return a tiny model in bfloat16 that makes a mistake in padded batches."""
    model = build("classes", mistake.family, seed=seed)
    if mistake.window:
        model.config.sliding_window = mistake.window
        for module in model.modules():
            if hasattr(module, "sliding_window"):
                module.sliding_window = mistake.window

    def replace(module: Any, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        mask = options["attention_mask"]
        if not bool(mask.all()):
            options = {**options, **mistake.replace_mask(mask)}
        return inputs, options

    model = model.bfloat16()
    model.register_forward_pre_hook(replace, with_kwargs=True)
    return model


def try_mistake(mistake: Mistake, seed: int) -> tuple[float, bool]:
    """Run the trial that a bfloat16 model with more than 200 million parameters gets.

    Returns:
        The largest error relative to the largest number, and whether the trial detects the mistake.
    """
    model = build_mistaken_model(mistake, seed)
    words = tokenizer(types=has_token_types(model))
    max_error = 0.0
    is_detected = False
    # A trial first compares short texts, and then long ones.
    for is_short in (True, False):
        items = _make_trial_items(
            model, words, mistake.n_tokens, is_paired=False, is_short=is_short
        )
        trial = PaddingTrial(model, mistake.family, items, joint=False, n_classes=N_CLASSES)
        with torch.no_grad(), set_padding_token(model, items.padding["input_ids"]):
            separate = np.array(trial.score_singly())
            padded = np.array(trial.score_padded())
        error = float(np.abs(padded - separate).max())
        scale = float(np.abs(separate).max())
        max_error = max(max_error, error / scale)
        is_detected = is_detected or error > get_tolerance(model, scale)
    return max_error, is_detected


def make_table() -> list[str]:
    """Return the lines of the page: how many mistakes are always detected, and a table of the others."""
    lines = ["| mistake | model | off by, of the largest | noticed |", "|---|---|---:|---:|"]
    n_mistakes = 0
    n_always_detected = 0
    for mistake in MISTAKES:
        # Rounding is not a mistake.
        if mistake.description.startswith("none"):
            continue
        trials = [try_mistake(mistake, seed) for seed in SEEDS]
        errors, is_detected = zip(*trials, strict=True)
        n_mistakes += 1
        if all(is_detected):
            n_always_detected += 1
            continue
        lines.append(
            f"| {mistake.description} | {mistake.family} | {min(errors):.1%} to {max(errors):.1%} "
            f"| {sum(is_detected)} of {len(is_detected)} |"
        )
    summary = (
        f"Of {n_mistakes} mistakes, the trial detects {n_always_detected} in all models, "
        "and these in some:"
    )
    return [summary, "", *lines]
