"""What a scorer that sees all choices together says under every cyclic order of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.probes.option_order import (
    contextual_calibration,
    permutation_consistency,
    position_bias,
    pride_debias,
    pride_prior,
)
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import (
    as_ragged,
    check_fraction,
    check_labels,
    check_ragged,
    check_same_length,
    check_texts,
)

CONTENT_FREE = ("N/A", "[MASK]", "")
"""The inputs without content of Zhao et al. (2021)."""

Score = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[str]], Any]


@dataclasses.dataclass(frozen=True)
class Corrected(Result):
    """A scorer on the held-out items, under one correction.

    Attributes:
        accuracy: Accuracy in [0, 1].
        rstd: Spread of the recalls over the position of the right choice (`position_bias`).
        picked: How often each position is picked.
    """

    accuracy: float
    rstd: float
    picked: list[int]


@dataclasses.dataclass(frozen=True)
class OrderFigures(Result):
    """What the order of the choices does; see `cyclic_orders`.

    Attributes:
        n_items: How many items.
        n_choices: How many choices each has, which is how many cyclic orders there are.
        consistency: Share of items whose picked content is the same under every order.
        prior: The scorer's prior over positions (PriDe), from the estimation items.
        content_free: Its mean confidence in each position for inputs without content.
        n_estimation: Items the prior was estimated on; the corrections are judged on the others.
        as_it_is: The held-out items without correction.
        pride: The same with the prior divided out.
        calibrated: The same by contextual calibration.
    """

    n_items: int
    n_choices: int
    consistency: float
    prior: list[float]
    content_free: list[float]
    n_estimation: int
    as_it_is: Corrected
    pride: Corrected
    calibrated: Corrected


def cyclic_orders(
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    labels: Sequence[int] | NDArray[np.int64],
    ids: Sequence[str],
    score: Score,
    *,
    share: float = 0.25,
) -> OrderFigures:
    """Ask for every cyclic order of the choices, and take the preference for positions out.

    In order r, position j holds choice (j + r) mod n: over the n orders every choice stands once at every position.

    Args:
        prompts: N prompts.
        choices: N lists of n choices, n the same for all.
        labels: (N,) the right choices.
        ids: N ids.
        score: (prompts, choices, ids) -> logits; it has to see the choices together, or nothing can come of it.
        share: Share of the items, the first ones, on which PriDe's prior is estimated; default 0.25, and at least one.

    Returns:
        An `OrderFigures`.

    Raises:
        ValueError: If there are fewer than two items or the number of choices differs between items.

    References:
        Zheng et al. (2024), "Large Language Models Are Not Robust Multiple Choice Selectors", ICLR; Zhao et al. (2021),
        "Calibrate Before Use", ICML.
    """
    texts = check_texts(prompts, "prompts", allow_empty=True)
    check_same_length(prompts=texts, choices=choices, labels=labels, ids=ids)
    sizes = sorted({len(row) for row in choices})
    if len(sizes) > 1 or len(texts) < 2:
        raise ValueError(
            "Expected at least two items with one number of choices to turn, but got "
            f"{len(texts)} with {', '.join(map(str, sizes))}."
        )
    n, size = sizes[0], len(texts)
    gold = check_labels(labels, n)
    n_estimation = min(max(1, math.ceil(check_fraction(share, "share") * size)), size - 1)
    turned = [[row[(j + r) % n] for j in range(n)] for r in range(n) for row in choices]
    names = [f"{item}/order {r}" for r in range(n) for item in ids]
    empty = [["N/A"] * n for _ in CONTENT_FREE]
    logits = as_ragged(
        score(
            [*texts * n, *CONTENT_FREE],
            [*turned, *empty],
            [*names, *(f"content-free {index}" for index in range(len(CONTENT_FREE)))],
        ),
        "scores",
    )
    table = check_ragged(Ragged(logits.values, logits.offsets), scores="logits").values.reshape(-1, n)
    observed = table[: n * size].reshape(n, size, n).transpose(1, 0, 2)  # item, order, position
    content_free = table[n * size :]
    picks = (observed.argmax(axis=2) + np.arange(n)) % n
    prior = pride_prior(observed[:n_estimation])
    kept, held = observed[n_estimation:, 0], gold[n_estimation:]

    def judged(probabilities: NDArray[np.float64]) -> Corrected:
        picked = probabilities.argmax(axis=1)
        spread = position_bias(picked, held, n)
        return Corrected(float((picked == held).mean()), spread.rstd, spread.picked)

    return OrderFigures(
        n_items=size,
        n_choices=n,
        consistency=permutation_consistency(picks),
        prior=prior.tolist(),
        content_free=content_free.mean(axis=0).tolist(),
        n_estimation=n_estimation,
        as_it_is=judged(kept),
        pride=judged(pride_debias(kept, prior)),
        calibrated=judged(contextual_calibration(kept, content_free)),
    )
