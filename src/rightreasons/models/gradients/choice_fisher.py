"""Fragile choices: Fisher information with respect to the prompt of the choices.

The classes are the choices of an item, or the label words that a language model is asked for. What
is moved are the embeddings of the tokens before the choices, which all choices share. The
probabilities are those of the model's own scores, so a score that is corrected by a constant keeps
its gradients. `measure_choice_fisher` is the entry point; items are read one at a time and without
padding, which is exact for every model.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.arrays import Ints, Ragged
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
from rightreasons.models.protocol import Scorer, explain_missing_ability
from rightreasons.models.running import run_model
from rightreasons.models.runs.columns import Column, Columns
from rightreasons.models.trial import name_failing_item
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
        choice_tokens: The tokens of each of these choices, for a language model; () for a head.
    """

    inputs: dict[str, Any]
    choices: tuple[int, ...]
    choice_tokens: tuple[tuple[int, ...], ...] = ()


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
        scores: Scores of the N items by the same model, or why an item has none; None to ask for
            them.
    """

    texts: Sequence[str]
    text_pairs: Sequence[str] | None
    choices: Sequence[Sequence[str]] | None
    ids: Sequence[str]
    max_length: int | None
    scores: Scores | None = None


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
        self.scorer = classifier
        self.model = classifier.model
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
        prompts = [self._get_prompt(sequence) for sequence in sequences]
        # A long choice may have cut the prompt of its sequence.
        n_prompt = min(map(len, prompts))
        for prompt in prompts:
            if prompt[:n_prompt] != prompts[0][:n_prompt]:
                raise ValueError(_describe_unequal_prompts(self._items.ids[row]))
        readings = []
        for choice, sequence in enumerate(sequences):
            readings.append(Reading(self._pairs.inputs(np.array([sequence])), (choice,)))
        is_truncated = bool(self._pairs.encoded.truncated[list(sequences)].any())
        return ReadItem(n_prompt, len(readings), tuple(readings), is_truncated)

    def _get_prompt(self, sequence: int) -> list[int]:
        """Return the tokens of a sequence before its choice."""
        encoded = self._pairs.encoded
        places = self._pairs.places
        columns = slice(encoded.offsets[sequence], encoded.offsets[sequence + 1])
        tokens: list[int] = encoded.columns["input_ids"][columns].tolist()
        is_choice = (places.sequence[columns] == 1) & ~places.special[columns]
        # An empty choice leaves the special tokens of the end, which are no part of the prompt.
        if not is_choice.any():
            return tokens
        return tokens[: int(is_choice.argmax())]

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
        requests = []
        for item in items:
            requests.append(prompted.rendering.request(item, prompted.shots(item)))
        self.counts = np.array([len(request.continuations) for request in requests])
        self._failures: dict[int, str] = {}
        self._tokens = self._engine.tokens(requests, failures=self._failures)
        # A cache has no use in a single pass, and some models cannot be differentiated with one.
        self._options = {}
        if "use_cache" in inspect.signature(self.model.forward).parameters:
            self._options["use_cache"] = False

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
        choice_tokens = self._select_tokens(tokens)
        for choice, answer in enumerate(choice_tokens):
            choices_by_start.setdefault(answer[:-1], []).append(choice)
        readings = []
        for start, choices in choices_by_start.items():
            ids = torch.tensor([[*tokens.prompt, *start]], device=self.model.device)
            readings.append(
                Reading(
                    inputs={"input_ids": ids, **self._options},
                    choices=tuple(tokens.places[choice] for choice in choices),
                    choice_tokens=tuple(choice_tokens[choice] for choice in choices),
                )
            )
        n_choices = len(choice_tokens)
        return ReadItem(len(tokens.prompt), n_choices, tuple(readings), tokens.truncated)

    def read_scores(self, logits: Tensor, reading: Reading, n_prompt: int) -> list[Tensor]:
        """Return the log-likelihood of each choice of a sequence, or its mean per token."""
        # Prompt tuning puts its own tokens before those that are asked.
        rows = logits[0, -reading.inputs["input_ids"].shape[1] :]
        log_p = rows[n_prompt - 1 :].double().log_softmax(dim=-1)
        scores = []
        for tokens in reading.choice_tokens:
            index = torch.tensor(tokens, device=log_p.device)[:, None]
            # The scores are those of the scorer, so that its prior correction keeps the gradients.
            score = log_p.gather(1, index).sum()
            if self._scoring == "mean":
                score = score / len(tokens)
            scores.append(score)
        return scores

    def _select_tokens(self, tokens: Tokens) -> list[tuple[int, ...]]:
        if self._scoring == "next_words":
            return [(choice[0],) for choice in tokens.choices]
        return [tuple(choice) for choice in tokens.choices]


Reader: TypeAlias = HeadReader | LanguageModelReader


def explain_missing_choice_gradients(scorer: Scorer | CausalLM) -> str:
    """Return why the prompts of a scorer of choices have no gradients; "" if they have.

    Multiple-choice heads and causal language models in this process have them, if they are scored
    by likelihood or by next words and no layer is quantized.
    """
    if isinstance(scorer, CausalLM):
        scorer = bare(scorer)
    if isinstance(scorer, Classifier):
        return explain_quantization(scorer.model)
    if not isinstance(scorer, Prompted) or not isinstance(scorer.engine, LocalEngine):
        return (
            explain_missing_ability(scorer, "gradients")
            or f"{scorer.name} is no model of transformers."
        )
    if type(scorer.engine.scorer) is not CausalLM:
        # An encoder-decoder or a masked model reads prompt and answer in other ways.
        return explain_missing_ability(scorer, "gradients")
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
    requests: ChoiceTexts,
    options: FisherOptions,
    *,
    progress: bool,
    out: str | os.PathLike[str] | None,
    fail_fast: bool,
) -> FisherInformation:
    """Compute the Fisher information of the choices of every item.

    `fisher_information` describes the arguments, the result and the errors.
    """
    reason = explain_missing_choice_gradients(scorer)
    if reason:
        raise ValueError(reason)
    _check_options(options)
    reader = _make_reader(scorer, requests)
    scores = requests.scores
    if scores is None:
        scores = reader.score(
            progress=progress, out=get_results_subfolder(out, "scores"), fail_fast=fail_fast
        )
    _check_scores(scores, requests.ids)
    run = _Run(reader, requests, options, scores)
    items, reasons = run.read_items()
    if (fail_fast and reasons) or not items:
        # The first failure stands for all.
        raise ValueError(run.sort_failures(reasons)[0][1])

    columns = run_model(
        reader.model,
        functools.partial(run.measure, items, EmbeddingInput(reader.model)),
        [np.array([position]) for position in range(len(items))],
        kind="Fisher information of choices",
        inputs=run.list_dependencies,
        progress=progress,
        out=get_results_subfolder(out, "fisher"),
        fail_fast=fail_fast,
    )
    return run.make_result(items, columns, reasons)


@dataclass(frozen=True, eq=False)
class _Run:
    """The computation for all items that can be read.

    Attributes:
        reader: Reads the items.
        requests: The items.
        options: The options.
        scores: Scores of the choices.
    """

    reader: Reader
    requests: ChoiceTexts
    options: FisherOptions
    scores: Scores

    @cached_property
    def _logits(self) -> dict[str, NDArray[np.float64]]:
        """Id of an item -> the scores of its choices."""
        rows = map(np.asarray, self.scores.logits)
        return dict(zip(self.scores.ids, rows, strict=True))

    def read_items(self) -> tuple[dict[int, ReadItem], dict[str, str]]:
        """Return the readable items by their row, and the reasons of the others by their id."""
        reasons = dict(self.scores.failures)
        items: dict[int, ReadItem] = {}
        for row, name in enumerate(self.requests.ids):
            # Without scores, an item has no probabilities.
            if name in reasons:
                continue
            try:
                items[row] = self.reader.read(row)
            except ValueError as error:
                reasons[name] = str(error)
        return items, reasons

    def sort_failures(self, reasons: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return ids and reasons of failed items, in the order of the items."""
        return [(name, reasons[name]) for name in self.requests.ids if name in reasons]

    def list_dependencies(self) -> dict[str, Any]:
        """Return everything that stored results depend on, besides the model."""
        requests = self.requests
        # A column of an array or a table is digested as its texts.
        pairs = requests.text_pairs
        if pairs is not None:
            pairs = list(pairs)
        return {
            "ids": fingerprint_texts(requests.ids),
            "scorer": self.reader.scorer.fingerprint,
            "texts": digest_value([list(requests.texts), pairs, requests.choices]),
            # Scores of another batch may differ in their last digits, and so do the eigenvalues.
            "scores": digest_value([row.tolist() for row in self._logits.values()]),
            "options": {
                **self.options.model_dump(exclude={"unit"}),
                "max_length": requests.max_length,
            },
        }

    def measure(
        self, items: Mapping[int, ReadItem], embedding_input: EmbeddingInput, batch: Ints
    ) -> dict[str, Column]:
        """Return the results of a batch of one item."""
        # A batch counts the items that can be read.
        (position,) = batch.tolist()
        row = list(items)[position]
        name = self.requests.ids[row]
        logits = torch.from_numpy(self._logits[name][None])
        with name_failing_item(self.reader.scorer.name, name):
            return _measure_item(self.reader, embedding_input, items[row], logits, self.options)

    def make_result(
        self, items: Mapping[int, ReadItem], columns: Columns, reasons: dict[str, str]
    ) -> FisherInformation:
        """Return the result for all items; those without one have NaN and a reason."""
        names = self.requests.ids
        rows = list(items)
        for position, reason in columns.failures.items():
            reasons[names[rows[position]]] = reason
        columns = columns.fill_failed({"spectrum": self.reader.counts[rows] - 1})

        def spread(name: str) -> NDArray[np.float64]:
            values = np.full(len(names), np.nan)
            values[rows] = columns.array(name)
            return values

        is_truncated = np.zeros(len(names), dtype=np.bool_)
        for row, item in items.items():
            is_truncated[row] = item.is_truncated
        spectrum = None
        if self.options.spectrum:
            spectrum = self._spread_spectrum(rows, columns.ragged("spectrum"))
        return FisherInformation(
            ids=tuple(names),
            eigenvalues=spread("eigenvalues"),
            scale_free=spread("eigenvalues") * spread("scale"),
            gradient_norms=spread("gradient_norms"),
            logits=self._make_logits_table(rows),
            error=spread("error"),
            truncated=is_truncated,
            failures=tuple(self.sort_failures(reasons)),
            label_names=self.reader.scorer.label_names,
            definition=CHOICE_DEFINITION,
            spectrum=spectrum,
        )

    def _make_logits_table(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """Return the scores of all items, (N, K), with -inf after the choices of an item."""
        names = self.requests.ids
        table = np.full((len(names), int(self.reader.counts.max())), np.nan)
        for row in rows:
            logits = self._logits[names[row]]
            # A choice that an item does not have is never chosen.
            table[row] = -np.inf
            table[row, : len(logits)] = logits
        return table

    def _spread_spectrum(self, rows: Sequence[int], spectrum: Ragged) -> Ragged:
        """Return the eigenvalues of all items, NaN for those that could not be computed."""
        lengths = self.reader.counts - 1
        values = [np.full(length, np.nan) for length in lengths]
        for row, eigenvalues in zip(rows, spectrum, strict=True):
            values[row] = eigenvalues
        return Ragged.of(np.concatenate(values), lengths)


def _check_scores(scores: Scores, ids: Sequence[str]) -> None:
    known = {*scores.ids, *scores.failures}
    for name in ids:
        if name not in known:
            raise OptionError(
                f"Expected `scores` of every item, but got none of item {name!r}.", option="scores"
            )


def _check_options(options: FisherOptions) -> None:
    if options.eigenvector:
        raise OptionError(
            "Expected eigenvector=False for a model that chooses, but got True: its eigenvector is "
            "that of a prompt with all its instructions, and not of the words of a text.",
            option="eigenvector",
        )
    if options.method == "power":
        raise OptionError(
            "Expected `method` 'gram' or 'auto' for a model that chooses, but got 'power'.",
            option="method",
        )


def _make_reader(scorer: Scorer | CausalLM, requests: ChoiceTexts) -> Reader:
    """Return the items as the model reads them."""
    if isinstance(scorer, CausalLM):
        scorer = bare(scorer)
    choices = requests.choices
    needs_choices = scorer.label_names is None
    if needs_choices != (choices is not None):
        count = "none" if choices is None else "some"
        raise OptionError(
            f"Expected `choices` for a model that chooses, and none for {scorer.name} if it has "
            f"classes, but got {count}.",
            option="choices",
        )
    if isinstance(scorer, Prompted) and requests.max_length is not None:
        raise OptionError(
            f"Expected no `max_length` for the prompts of {scorer.name}, but got "
            f"{requests.max_length}.",
            option="max_length",
        )
    if choices is not None:
        items = ChoiceItems.check(requests.texts, choices, ids=requests.ids, allow_empty=True)
        if isinstance(scorer, Prompted):
            return LanguageModelReader(scorer, items.items())
        return HeadReader(cast("Classifier", scorer), items, max_length=requests.max_length)
    # Label words are asked after one text, or after two.
    pairs: Sequence[str | None] = [None] * len(requests.texts)
    if requests.text_pairs is not None:
        pairs = list(requests.text_pairs)
    items_of_texts = make_items(requests.ids, text=requests.texts, text_pair=pairs)
    return LanguageModelReader(cast("Prompted", scorer), items_of_texts)


def _measure_item(
    reader: Reader,
    embedding_input: EmbeddingInput,
    item: ReadItem,
    logits: Tensor,
    options: FisherOptions,
) -> dict[str, Column]:
    """Return the columns of one item, each with one row."""
    gradients: dict[int, Tensor] = {}
    scale = 0.0
    for reading in item.readings:
        embeddings = embedding_input.look_up(reading.inputs["input_ids"])
        prompt = embeddings[..., : item.n_prompt, :].detach().requires_grad_()
        # What follows the prompt keeps its own embeddings.
        mixed = torch.cat((prompt, embeddings[..., item.n_prompt :, :]), dim=-2)
        with torch.enable_grad():
            outputs = embedding_input.logits(mixed, reading.inputs)
            scores = reader.read_scores(outputs, reading, item.n_prompt)
            for number, score in enumerate(scores):
                # The graph is freed with the last score.
                is_needed_again = number < len(scores) - 1
                (gradient,) = torch.autograd.grad(score, prompt, retain_graph=is_needed_again)
                gradients[reading.choices[number]] = gradient.flatten().double()
        # The prompt is the same in every sequence.
        scale = float(prompt.detach().norm(dim=-1).double().mean()) ** 2

    # The order of the choices is that of their scores.
    table = torch.stack([gradients[choice] for choice in sorted(gradients)])
    # Only differences of scores matter to their softmax.
    differences = (table[1:] - table[:1])[None]
    leading = solve_gram(logits.to(table.device), differences, options)
    columns: dict[str, Column] = {
        "eigenvalues": leading.eigenvalues.cpu().numpy(),
        "gradient_norms": leading.gradient_norms.cpu().numpy(),
        "error": leading.error.cpu().numpy(),
        "scale": np.array([scale]),
    }
    # The only item of its batch has no neighbors that could go on.
    if not bool(torch.isfinite(leading.eigenvalues).all()):
        raise ValueError("Expected finite scores and gradients, but got NaN or infinity.")
    if leading.spectrum is not None:
        columns["spectrum"] = Ragged.of_table(leading.spectrum.cpu().numpy())
    return columns


def _describe_unequal_prompts(name: str) -> str:
    return (
        f"Expected a prompt that fits next to each choice, but item {name!r} is too long: its "
        "choices are read after different parts of the prompt."
    )
