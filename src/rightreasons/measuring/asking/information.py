"""How much of a label a prompted model has from its input: what it says of each item with the input, and without."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.difficulty.information import VInformation, v_information
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.estimates import Estimate, share
from rightreasons.models.prompting.prompted import Prompted


@dataclasses.dataclass(frozen=True, eq=False)
class InformationMeasurement:
    """Usable information of the n items with a label and both answers.

    Attributes:
        figures: Pointwise V-information in bits, its mean, and the entropies.
        ids: n ids.
        labels: (n,) gold labels.
        with_input: (n,) the probability of the label with the input.
        without_input: (n,) the same without it.
        n_left_out: How many labeled items lack one of the answers.
    """

    figures: VInformation
    ids: tuple[str, ...]
    labels: NDArray[np.int64]
    with_input: NDArray[np.float64]
    without_input: NDArray[np.float64]
    n_left_out: int

    def __len__(self) -> int:
        return len(self.ids)

    def misled(self, resampling: Resampling) -> Estimate:
        """Return the share of items whose input makes their label less probable, with its Wilson interval."""
        return share(self.figures.n_misled, len(self), resampling) or Estimate(None)


@checks_kinds
def measure_information(
    scorer: Prompted,
    texts: Sequence[str],
    labels: Sequence[int] | NDArray[Any],
    *,
    text_pairs: Sequence[str] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    ids: Iterable[object] | None = None,
    scores: Scores | None = None,
    resampling: Resampling = Resampling(),
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> InformationMeasurement:
    r"""Compare the probability of each label with the input, and with an empty text in its place.

    \[ PVI(x \to y) = \log_2 p(y \mid x) - \log_2 p(y \mid \varnothing) \]

    where p are the probabilities of the labels, or choices, under the prompt, and the empty input is the prompt whose
    template is filled with an empty text: the few-shot examples, the label words and the choices stay. Ethayarajh et
    al. train one model on inputs and one on empty inputs; of a prompted model, which is not trained, both are the model
    itself. So the figure depends on the prompt, and a label that the prompt favors leaves little to learn from a text.

    Args:
        scorer: A prompted language model whose answers are scored.
        texts: N texts, or prompts of choices.
        labels: (N,) gold labels; items with -1 are left out.
        text_pairs: N second texts, which are left out too.
        choices: N lists of choices.
        ids: N unique ids; by default "0", "1", …
        scores: What the scorer says with the input, if that is known already; None to ask.
        resampling: Level, resamples and seed of the interval.
        progress: Whether to show a progress bar.
        out: A folder for the answers without the input, from which a killed run resumes.

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
    names = [str(name) for name in (range(len(texts)) if ids is None else ids)]
    gold = dict(zip(names, np.asarray(labels, dtype=np.int64).tolist(), strict=True))
    empty = [""] * len(names)

    def ask(own: Sequence[str], pairs: Sequence[str] | None, folder: Any) -> Scores:
        if choices is not None:
            return scorer.choose(own, choices, ids=names, progress=progress, out=folder)
        return scorer.predict(own, text_pairs=pairs, ids=names, progress=progress, out=folder)

    told = ask(texts, text_pairs, None) if scores is None else scores
    bare = ask(empty, None if text_pairs is None else empty, out)
    first, second = (
        {name: softmax(np.asarray(row)[None])[0] for name, row in zip(each.ids, each.logits, strict=True)}
        for each in (told, bare)
    )
    labeled = [name for name in names if gold[name] >= 0]
    known = [name for name in labeled if name in first and name in second]
    if not known:
        raise ValueError(
            f"Expected items with a label, and an answer with the input and without, but got none of {len(names)}."
        )
    shares = np.array([[side[name][gold[name]] for name in known] for side in (first, second)])
    n_without = int((shares == 0).any(axis=0).sum())
    if n_without:
        raise ValueError(
            f"Expected labels with a probability above 0, but {scorer.name} tells none of those of {n_without} of "
            f"{len(known)} items, whose information is infinite."
        )
    # Of each item, the label and all the others.
    tables = [np.column_stack((own, 1 - own)) for own in shares]
    figures = v_information(
        tables[0], tables[1], np.zeros(len(known), dtype=np.int64), scores="probabilities", resampling=resampling
    )
    return InformationMeasurement(
        figures=figures,
        ids=tuple(known),
        labels=np.array([gold[name] for name in known], dtype=np.int64),
        with_input=shares[0],
        without_input=shares[1],
        n_left_out=len(labeled) - len(known),
    )
