"""What left-out words say about a prediction, in the form in which attributions are read."""

from __future__ import annotations

import numpy as np

from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.occlusion.leaving_out import Occlusion
from rightreasons.models.gradients.attribution import Attributions

DEFINITION = (
    "Occlusion: the {target} of the {label} label, minus the same where the word is left out of the text. One number "
    "per occurrence of a word or mark of punctuation; below 0 where the label gains without it."
)


@checks_kinds
def occlusion_attributions(
    occlusion: Occlusion, *, target: str = "probability", label: str = "predicted"
) -> Attributions:
    r"""Say what each prediction rests on by leaving words out, where there are no gradients.

    \[ a_j = f_y(x) - f_y(x_{-j}) \]

    for the score f_y of the explained label y, and the text without its word j. It is the importance of Li et al., who
    take log-likelihoods, divide by f_y(x), which is the same for all words of a text, and average over texts. Words
    that stand for one another hide each other: without one of two, the other still speaks. The numbers need not add up
    to anything, so that there is no completeness gap.

    Args:
        occlusion: From `occlude`.
        target: "probability" (default) or "logit" of the explained label.
        label: "predicted" (default) or "gold".

    Returns:
        `Attributions` over words, signed. Items without an answer, or without one for some of their words, are not
        valid, and their numbers are 0. `gap` and `baseline_value` are NaN; `nodes` is how often the scorer was asked.

    Raises:
        ValueError: If label="gold" and an item has none.

    References:
        Li, Monroe and Jurafsky (2016), Understanding Neural Networks through Representation Erasure, equation 1.
    """
    explained = occlusion.predicted
    if label == "gold":
        if occlusion.labels is None or (occlusion.labels < 0).any():
            raise ValueError("Expected a gold label of each item with label='gold', but there are items without.")
        explained = occlusion.labels
    scores = occlusion.importances(explained, target=target)
    gaps = np.array([np.isnan(row).any() for row in scores])
    valid = occlusion.answered & ~gaps
    lengths = np.diff(occlusion.offsets)
    scores.values[~np.repeat(valid, lengths)] = 0.0
    whole = occlusion.probabilities if target == "probability" else occlusion.logits
    logits = type(occlusion.logits)(np.nan_to_num(occlusion.logits.values), occlusion.logits.offsets)
    n_items = len(occlusion)
    cut = f" {occlusion.n_truncated:,} texts were cut." if occlusion.n_truncated else ""
    return Attributions(
        ids=occlusion.ids,
        tokens=occlusion.tokens,
        scores=scores,
        starts=occlusion.starts,
        ends=occlusion.ends,
        parts=occlusion.parts,
        choices=np.zeros(len(occlusion.starts), dtype=np.int64),
        explained=np.maximum(explained, 0),
        logits=logits.table(),
        labels=occlusion.labels,
        value=whole.at(np.maximum(explained, 0)),
        baseline_value=np.full(n_items, np.nan),
        gap=np.full(n_items, np.nan),
        special_share=np.zeros(n_items),
        nodes=lengths + 1,
        truncated=np.zeros(n_items, dtype=np.bool_),
        label_names=occlusion.label_names,
        baseline="none",
        valid=valid,
        definition=DEFINITION.format(target=target, label=label) + cut,
    )
