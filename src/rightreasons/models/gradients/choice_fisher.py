"""Where a model that chooses is fragile: Fisher information with respect to the prompt of its choices.

The classes are the choices of an item, or the label words that a language model is asked for. What is moved
are the embeddings of the tokens before the choices, which all choices share. The probabilities are those of
the model's own scores, so a score that is corrected by a constant keeps its gradients. `measure_choice_fisher`
is the entry point; items are read one at a time and without padding, which is exact for every model.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.scores import Scores
from rightreasons.core.store import digest_value, get_results_subfolder
from rightreasons.models.choices import bare
from rightreasons.models.classes import Classifier
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.gradients.eigenvalues import (
    DEFINITION,
    FisherInformation,
    FisherOptions,
    solve_gram,
)
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.items import Items
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.language.continuations import Tokens
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import ChoiceItems, Item, make_items
from rightreasons.models.protocol import Scorer, lacking
from rightreasons.models.running import Column, run_model
from rightreasons.models.trial import fails_at
from rightreasons.models.weights import explain_quantization

CHOICE_DEFINITION = DEFINITION.replace(
    "word embeddings of the item", "word embeddings of the prompt"
)


@dataclass(frozen=True, eq=False)
class Reading:
    """One sequence that a model reads, and the scores that it gives.

    Attributes:
        inputs: What the model is called with, one row.
        choices: The choices that the sequence gives scores of.
        wanted: The tokens of each of these choices, for a language model; () for a head.
    """

    inputs: dict[str, Any]
    choices: tuple[int, ...]
    wanted: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class ReadItem:
    """An item as a model reads it.

    Attributes:
        n_prompt: Number of tokens before the choices, the same in each sequence.
        n_choices: Number of choices.
        readings: Sequences that give the score of each choice once.
        is_truncated: Whether the prompt lost tokens.
    """

    n_prompt: int
    n_choices: int
    readings: tuple[Reading, ...]
    is_truncated: bool


@dataclass(frozen=True)
class ChoiceTexts:
    """What a model that chooses is asked.

    Attributes:
        texts: N texts, or prompts.
        text_pairs: N second texts; None for single texts.
        choices: N lists of choices; None for label words.
        ids: N unique ids.
        max_length: Maximum tokens per sequence of a head; None takes what the model allows.
    """

    texts: Sequence[str]
    text_pairs: Sequence[str] | None
    choices: Sequence[Sequence[str]] | None
    ids: Sequence[str]
    max_length: int | None


class HeadReader:
    """Reads items by a multiple-choice head, a sequence per choice.

    Args:
        classifier: A multiple-choice model.
        items: The items.
        max_length: Maximum tokens per sequence; None takes what the model allows.
    """

    def __init__(
        self, classifier: Classifier, items: ChoiceItems, *, max_length: int | None = None
    ) -> None:
        self.scorer, self.model = classifier, classifier.model
        self.counts = items.counts
        self._items = items
        self._max_length = max_length
        self._pairs = Items.of_pairs(classifier, items, max_length=max_length)
        self._starts = np.concatenate(([0], np.cumsum(self.counts)))

    def score(self, **options: Any) -> Scores:
        """Return the scores of the choices."""
        items = self._items
        return self.scorer.choose(
            items.prompts, items.choices, ids=items.ids, max_length=self._max_length, **options
        )

    def read(self, row: int) -> ReadItem:
        """Return the sequences of an item.

        Raises:
            ValueError: If its sequences do not begin with the same tokens.
        """
        sequences = range(self._starts[row], self._starts[row + 1])
        encoded, parts = self._pairs.encoded, self._pairs.places.sequence
        prompts = []
        for sequence in sequences:
            place = slice(encoded.offsets[sequence], encoded.offsets[sequence + 1])
            tokens = encoded.columns["input_ids"][place]
            is_choice = (parts[place] == 1) & ~self._pairs.places.special[place]
            # An empty choice leaves the special tokens of the end, which are no part of the prompt.
            n_prompt = int(is_choice.argmax()) if is_choice.any() else len(tokens)
            prompts.append(tokens[:n_prompt].tolist())
        n_prompt = min(map(len, prompts))
        if any(prompt[:n_prompt] != prompts[0][:n_prompt] for prompt in prompts):
            raise ValueError(_describe_unequal_prompts(self._items.ids[row]))
        readings = [
            Reading(self._pairs.inputs(np.array([sequence])), (choice,))
            for choice, sequence in enumerate(sequences)
        ]
        is_truncated = bool(encoded.truncated[list(sequences)].any())
        return ReadItem(n_prompt, len(readings), tuple(readings), is_truncated)

    def read_scores(self, logits: Tensor, reading: Reading, n_prompt: int) -> list[Tensor]:
        """Return the score of the choice of a sequence."""
        return [logits.flatten()[0]]


class LanguageModelReader:
    """Reads items by a causal language model, a sequence for all choices that end differently.

    Args:
        prompted: A scorer by likelihood or by next words.
        items: The items as they are asked.
    """

    def __init__(self, prompted: Prompted, items: Sequence[Item]) -> None:
        self.scorer = prompted
        self._engine = cast("LocalEngine", prompted.engine)
        self.model = self._engine.model
        self._items = items
        self._scoring = prompted.rendering.scoring
        requests = [prompted.rendering.request(item, prompted.shots(item)) for item in items]
        self.counts = np.array([len(request.continuations) for request in requests])
        self._failures: dict[int, str] = {}
        self._tokens = self._engine.tokens(requests, failures=self._failures)
        parameters = inspect.signature(self.model.forward).parameters
        self._options = {"use_cache": False} if "use_cache" in parameters else {}

    def score(self, *, fail_fast: bool = False, **options: Any) -> Scores:
        """Return the scores of the choices, or of the label words."""
        return self.scorer.score_items(self._items, None, **options)

    def read(self, row: int) -> ReadItem:
        """Return the sequences of an item.

        Raises:
            ValueError: If its choices see different parts of a long prompt.
        """
        name = self._items[row].id
        if row in self._failures:
            raise ValueError(self._failures[row])
        if len(self._tokens[row]) != 1:
            raise ValueError(_describe_unequal_prompts(name))
        (tokens,) = self._tokens[row]
        # Choices that share all but their last token are read once: one pass for single tokens.
        choices_by_start: dict[tuple[int, ...], list[int]] = {}
        wanted = self._select_tokens(tokens)
        for choice, answer in enumerate(wanted):
            choices_by_start.setdefault(answer[:-1], []).append(choice)
        readings = []
        for start, choices in choices_by_start.items():
            ids = torch.tensor([[*tokens.prompt, *start]], device=self.model.device)
            readings.append(
                Reading(
                    inputs={"input_ids": ids, **self._options},
                    choices=tuple(tokens.places[choice] for choice in choices),
                    wanted=tuple(wanted[choice] for choice in choices),
                )
            )
        return ReadItem(len(tokens.prompt), len(wanted), tuple(readings), tokens.truncated)

    def read_scores(self, logits: Tensor, reading: Reading, n_prompt: int) -> list[Tensor]:
        """Return the log-likelihood of each choice of a sequence, or its mean per token."""
        # Prompt tuning puts tokens of its own before those that are asked.
        rows = logits[0, -reading.inputs["input_ids"].shape[1] :]
        log_p = rows[n_prompt - 1 :].double().log_softmax(dim=-1)
        scores = []
        for tokens in reading.wanted:
            index = torch.tensor(tokens, device=log_p.device)[:, None]
            score = log_p.gather(1, index).sum()
            scores.append(score / len(tokens) if self._scoring == "mean" else score)
        return scores

    def _select_tokens(self, tokens: Tokens) -> list[tuple[int, ...]]:
        if self._scoring == "next_words":
            return [(choice[0],) for choice in tokens.choices]
        return [tuple(choice) for choice in tokens.choices]


Reader: TypeAlias = HeadReader | LanguageModelReader


def explain_missing_choice_gradients(scorer: Scorer | CausalLM) -> str:
    """Return why the prompts of a scorer of choices have no gradients; "" if they have.

    Multiple-choice heads and causal language models in this process have them, if they are scored by
    likelihood or by next words and no layer is quantized.
    """
    if isinstance(scorer, CausalLM):
        scorer = bare(scorer)
    if isinstance(scorer, Classifier):
        return explain_quantization(scorer.model)
    if not isinstance(scorer, Prompted) or not isinstance(scorer.engine, LocalEngine):
        return lacking(scorer, "gradients") or f"{scorer.name} is no model of transformers."
    if type(scorer.engine.scorer) is not CausalLM:
        # An encoder-decoder or a masked model reads prompt and answer in other ways.
        return lacking(scorer, "gradients")
    if scorer.rendering.scoring == "generated":
        return f"This needs likelihoods, but {scorer.name} is asked for generated answers."
    return explain_quantization(scorer.engine.model)


def is_scorer_of_choices(scorer: Scorer | CausalLM) -> bool:
    """Return whether a model scores choices or label words, which `fisher_information` reads here."""
    if isinstance(scorer, Classifier):
        return scorer.label_names is None
    return isinstance(scorer, (CausalLM, Prompted))


def measure_choice_fisher(
    scorer: Scorer | CausalLM,
    asked: ChoiceTexts,
    options: FisherOptions,
    *,
    progress: bool,
    out: str | os.PathLike[str] | None,
    fail_fast: bool,
) -> FisherInformation:
    """Compute the Fisher information of the choices of every item; `fisher_information` has the arguments."""
    reason = explain_missing_choice_gradients(scorer)
    if reason:
        raise ValueError(reason)
    _check_options(options)
    names = asked.ids
    reader = _make_reader(scorer, asked)
    scores = reader.score(
        progress=progress, out=get_results_subfolder(out, "scores"), fail_fast=fail_fast
    )
    row_by_id = {name: row for row, name in enumerate(scores.ids)}

    reasons = dict(scores.failures)
    items: dict[int, ReadItem] = {}
    for row, name in enumerate(names):
        try:
            if name not in reasons:
                items[row] = reader.read(row)
        except ValueError as error:
            reasons[name] = str(error)
    if (fail_fast and reasons) or not items:
        raise ValueError(next(reasons[name] for name in names if name in reasons))

    rows = list(items)
    embedding_input = EmbeddingInput(reader.model)

    def compute(batch: NDArray[np.int64]) -> dict[str, Column]:
        (place,) = batch.tolist()
        row = rows[place]
        logits = torch.from_numpy(np.asarray(scores.logits[row_by_id[names[row]]])[None])
        with fails_at(reader.scorer.name, names[row]):
            return _measure_item(reader, embedding_input, items[row], logits, options)

    columns = run_model(
        reader.model,
        compute,
        [np.array([place]) for place in range(len(rows))],
        kind="Fisher information of choices",
        inputs=lambda: {
            "ids": fingerprint_texts(names),
            "scorer": reader.scorer.fingerprint,
            "texts": digest_value(
                [list(asked.texts), asked.text_pairs and list(asked.text_pairs), asked.choices]
            ),
            "options": {**options.model_dump(exclude={"unit"}), "max_length": asked.max_length},
        },
        progress=progress,
        out=get_results_subfolder(out, "fisher"),
        fail_fast=fail_fast,
    )
    for place, reason in columns.failures.items():
        reasons[names[rows[place]]] = reason
    n_values = reader.counts[rows] - 1
    columns = columns.filled({"spectrum": n_values})

    def spread(name: str) -> NDArray[np.float64]:
        values = np.full(len(names), np.nan)
        values[rows] = columns.array(name)
        return values

    logits = np.full((len(names), int(reader.counts.max())), np.nan)
    for row in rows:
        scored = np.asarray(scores.logits[row_by_id[names[row]]])
        logits[row] = -np.inf
        logits[row, : len(scored)] = scored
    truncated = np.zeros(len(names), dtype=np.bool_)
    for row, item in items.items():
        truncated[row] = item.is_truncated
    spectrum = None
    if options.spectrum:
        values_by_row = dict(zip(rows, columns.ragged("spectrum"), strict=True))
        lengths = reader.counts - 1
        blank = [np.full(length, np.nan) for length in lengths]
        spectrum = Ragged.of(
            np.concatenate([values_by_row.get(row, blank[row]) for row in range(len(names))]),
            lengths,
        )
    return FisherInformation(
        ids=tuple(names),
        eigenvalues=spread("eigenvalues"),
        scale_free=spread("eigenvalues") * spread("scale"),
        gradient_norms=spread("gradient_norms"),
        logits=logits,
        error=spread("error"),
        truncated=truncated,
        failures=tuple((name, reasons[name]) for name in names if name in reasons),
        label_names=reader.scorer.label_names,
        definition=CHOICE_DEFINITION,
        spectrum=spectrum,
    )


def _check_options(options: FisherOptions) -> None:
    if options.eigenvector:
        raise OptionError(
            "Expected eigenvector=False for a model that chooses, but got True: its eigenvector is that "
            "of a prompt with all its instructions, and not of the words of a text.",
            option="eigenvector",
        )
    if options.method == "power":
        raise OptionError(
            "Expected `method` 'gram' or 'auto' for a model that chooses, but got 'power'.",
            option="method",
        )


def _make_reader(scorer: Scorer | CausalLM, asked: ChoiceTexts) -> Reader:
    """Return the items as the model reads them."""
    if isinstance(scorer, CausalLM):
        scorer = bare(scorer)
    needs_choices = scorer.label_names is None
    if needs_choices != (asked.choices is not None):
        found = "none" if asked.choices is None else "some"
        raise OptionError(
            f"Expected `choices` for a model that chooses, and none for {scorer.name} if it has classes, "
            f"but got {found}.",
            option="choices",
        )
    if isinstance(scorer, Prompted) and asked.max_length is not None:
        raise OptionError(
            f"Expected no `max_length` for the prompts of {scorer.name}, but got {asked.max_length}.",
            option="max_length",
        )
    if asked.choices is not None:
        items = ChoiceItems.check(asked.texts, asked.choices, ids=asked.ids, allow_empty=True)
        if isinstance(scorer, Prompted):
            return LanguageModelReader(scorer, items.items())
        return HeadReader(cast("Classifier", scorer), items, max_length=asked.max_length)
    pairs: Sequence[str | None] = [None] * len(asked.texts)
    if asked.text_pairs is not None:
        pairs = list(asked.text_pairs)
    items_of_texts = make_items(asked.ids, text=asked.texts, text_pair=pairs)
    return LanguageModelReader(cast("Prompted", scorer), items_of_texts)


def _measure_item(
    reader: Reader,
    embedding_input: EmbeddingInput,
    item: ReadItem,
    logits: Tensor,
    options: FisherOptions,
) -> dict[str, Column]:
    """Return the columns of one item, each with one row."""
    gradients: list[Tensor | None] = [None] * item.n_choices
    scale = 0.0
    for reading in item.readings:
        ids = reading.inputs["input_ids"]
        embeddings = embedding_input.look_up(ids)
        prompt = embeddings[..., : item.n_prompt, :].detach().requires_grad_()
        # What follows the prompt keeps its own embeddings.
        moved = torch.cat((prompt, embeddings[..., item.n_prompt :, :]), dim=-2)
        with torch.enable_grad():
            outputs = embedding_input.logits(moved, reading.inputs)
            scores = reader.read_scores(outputs, reading, item.n_prompt)
            for number, (choice, score) in enumerate(zip(reading.choices, scores, strict=True)):
                is_needed_again = number < len(scores) - 1
                (gradient,) = torch.autograd.grad(score, prompt, retain_graph=is_needed_again)
                gradients[choice] = gradient.flatten().double()
        scale = float(prompt.detach().norm(dim=-1).double().mean()) ** 2

    table = torch.stack([gradient for gradient in gradients if gradient is not None])
    differences = (table[1:] - table[:1])[None]
    leading = solve_gram(logits.to(table.device), differences, options)
    columns: dict[str, Column] = {
        "eigenvalues": leading.eigenvalues.cpu().numpy(),
        "gradient_norms": leading.gradient_norms.cpu().numpy(),
        "error": leading.error.cpu().numpy(),
        "scale": np.array([scale]),
    }
    if not bool(torch.isfinite(leading.eigenvalues).all()):
        raise ValueError("Expected finite scores and gradients, but got NaN or infinity.")
    if leading.spectrum is not None:
        columns["spectrum"] = Ragged.of_table(leading.spectrum.cpu().numpy())
    return columns


def _describe_unequal_prompts(name: str) -> str:
    return (
        f"Expected a prompt that fits beside each choice, but item {name!r} is too long: its choices "
        "are read after different parts of the prompt."
    )
