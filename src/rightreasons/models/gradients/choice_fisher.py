"""Fragile choices: Fisher information with respect to the prompt of the choices.

The classes are the choices of an item, or the label words of a language model. Gradients are with
respect to the embeddings of the tokens before the choices, which all choices have in common. A
correction of a score by a constant does not change its gradients. `measure_choice_fisher` is the
entry point. Items are read one at a time and without padding, which is exact for every model.
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
from rightreasons.models.language.continuations import TokenizedItem
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
    """One sequence that a model reads, and the choices that it scores.

    Attributes:
        inputs: Arguments of the model, with one row.
        choices: Indices of the choices that are scored by this sequence.
        choice_tokens: Tokens of each of these choices, for a language model; empty for a
            multiple-choice head.
    """

    inputs: dict[str, Any]
    choices: tuple[int, ...]
    choice_tokens: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class ReadItem:
    """An item as the sequences that a model reads.

    Attributes:
        n_prompt: Number of tokens before the choices, which all sequences have in common.
        n_choices: Number of choices.
        readings: The sequences. Together, they score each choice once.
        is_truncated: Whether the prompt was truncated.
    """

    n_prompt: int
    n_choices: int
    readings: tuple[Reading, ...]
    is_truncated: bool


@dataclass(frozen=True)
class ChoiceTexts:
    """The items of a model that scores choices or label words.

    Attributes:
        texts: N texts, or prompts.
        text_pairs: N second texts. None for single texts.
        choices: N lists of choices. None for label words.
        ids: N unique ids.
        max_length: Maximum number of tokens per sequence of a multiple-choice head. None for the
            maximum of the model.
        scores: Scores of the N items by the same model, or failures. None to compute them.
    """

    texts: Sequence[str]
    text_pairs: Sequence[str] | None
    choices: Sequence[Sequence[str]] | None
    ids: Sequence[str]
    max_length: int | None
    scores: Scores | None = None


class HeadReader:
    """Reads items by a multiple-choice head, one sequence per choice.

    Args:
        classifier: A multiple-choice model.
        items: The items.
        max_length: Maximum number of tokens per sequence. None for the maximum of the model.
    """

    def __init__(
        self, classifier: Classifier, items: ChoiceItems, *, max_length: int | None = None
    ) -> None:
        """Tokenize each prompt with each of its choices."""
        self.scorer = classifier
        self.model = classifier.model
        self.counts = items.counts
        self._items = items
        self._max_length = max_length
        self._pairs = Items.of_pairs(classifier, items, max_length=max_length)
        # The sequences of item i are `_starts[i]:_starts[i + 1]`.
        self._starts = np.concatenate(([0], np.cumsum(self.counts)))

    def score(self, **options: Any) -> Scores:
        """Return the scores of the choices of all items."""
        items = self._items
        return self.scorer.choose(
            items.prompts, items.choices, ids=items.ids, max_length=self._max_length, **options
        )

    def read(self, row: int) -> ReadItem:
        """Return the sequences of an item: its prompt with each of its choices.

        Args:
            row: Index of the item.

        Raises:
            ValueError: If the sequences do not begin with the same tokens of the prompt.
        """
        sequences = range(self._starts[row], self._starts[row + 1])
        prompts = [self._get_prompt(sequence) for sequence in sequences]
        # A long choice leaves fewer tokens to its prompt than a short one. Gradients are computed
        # for the tokens that all sequences have in common.
        n_shared = min(map(len, prompts))
        for prompt in prompts:
            if prompt[:n_shared] != prompts[0][:n_shared]:
                raise ValueError(_describe_unequal_prompts(self._items.ids[row]))
        readings = []
        for choice, sequence in enumerate(sequences):
            inputs = self._pairs.inputs(np.array([sequence]))
            readings.append(Reading(inputs=inputs, choices=(choice,)))
        is_truncated = self._pairs.encoded.truncated[list(sequences)]
        return ReadItem(
            n_prompt=n_shared,
            n_choices=len(readings),
            readings=tuple(readings),
            is_truncated=bool(is_truncated.any()),
        )

    def _get_prompt(self, sequence: int) -> list[int]:
        """Return the tokens of a sequence before its choice, special tokens included."""
        encoded = self._pairs.encoded
        positions = self._pairs.token_positions
        columns = slice(encoded.offsets[sequence], encoded.offsets[sequence + 1])
        tokens: list[int] = encoded.columns["input_ids"][columns].tolist()
        # For the tokenizer, the prompt is the first text (0), and the choice the second (1).
        is_choice = (positions.sequence[columns] == 1) & ~positions.special[columns]
        # If the choice is empty, the whole sequence is its prompt.
        if not is_choice.any():
            return tokens
        first_choice_token = int(is_choice.argmax())
        return tokens[:first_choice_token]

    def select_scores(self, logits: Tensor, reading: Reading, n_prompt: int) -> list[Tensor]:
        """Return the score of the choice of a sequence, in a list.

        Args:
            logits: The single logit of the sequence.
            reading: Not used.
            n_prompt: Not used.
        """
        return [logits.flatten()[0]]


class LanguageModelReader:
    """Reads items by a causal language model, one sequence for several choices if possible.

    Args:
        prompted: A scorer by likelihood or by next words.
        items: The items.
    """

    def __init__(self, prompted: Prompted, items: Sequence[Item]) -> None:
        """Render the items as requests, and tokenize these."""
        self.scorer = prompted
        self._engine = cast("LocalEngine", prompted.engine)
        self.model = self._engine.model
        self._items = items
        self._scoring = prompted.rendering.scoring
        requests = []
        for item in items:
            examples = prompted.shots(item)
            requests.append(prompted.rendering.request(item, examples))
        self.counts = np.array([len(request.continuations) for request in requests])
        # Index of an item that cannot be tokenized -> the reason, which `read` raises.
        self._failures: dict[int, str] = {}
        self._tokens = self._engine.tokenize(requests, failures=self._failures)
        # A single pass needs no cache, and with one some models cannot be differentiated.
        self._options = {}
        if "use_cache" in inspect.signature(self.model.forward).parameters:
            self._options["use_cache"] = False

    def score(self, *, fail_fast: bool = False, **options: Any) -> Scores:
        """Return the scores of the choices, or of the label words, of all items."""
        return self.scorer.score_items(self._items, None, **options)

    def read(self, row: int) -> ReadItem:
        """Return the sequences of an item: its prompt with the beginnings of its choices.

        The last token of a choice is predicted, but not read. Choices that differ in their last
        token only therefore share a sequence. For choices of a single token, such as letters, it is
        the prompt.

        Args:
            row: Index of the item.

        Raises:
            ValueError: If the item cannot be tokenized, or a long prompt is truncated to different
                lengths for its choices.
        """
        if row in self._failures:
            raise ValueError(self._failures[row])
        # There is one entry for each length to which the prompt is truncated.
        if len(self._tokens[row]) != 1:
            raise ValueError(_describe_unequal_prompts(self._items[row].id))
        (tokens,) = self._tokens[row]
        choice_tokens = self._select_tokens(tokens)
        # Tokens that are read after the prompt -> the choices that begin with them.
        choices_by_read_tokens: dict[tuple[int, ...], list[int]] = {}
        for choice, answer in enumerate(choice_tokens):
            choices_by_read_tokens.setdefault(answer[:-1], []).append(choice)
        readings = []
        for read_tokens, choices in choices_by_read_tokens.items():
            input_ids = torch.tensor([[*tokens.prompt, *read_tokens]], device=self.model.device)
            readings.append(
                Reading(
                    inputs={"input_ids": input_ids, **self._options},
                    choices=tuple(tokens.choice_indices[choice] for choice in choices),
                    choice_tokens=tuple(choice_tokens[choice] for choice in choices),
                )
            )
        return ReadItem(
            n_prompt=len(tokens.prompt),
            n_choices=len(choice_tokens),
            readings=tuple(readings),
            is_truncated=tokens.truncated,
        )

    def select_scores(self, logits: Tensor, reading: Reading, n_prompt: int) -> list[Tensor]:
        """Return the log-likelihood of each choice of a sequence, or its mean per token.

        Args:
            logits: (1, T, V) logits of the sequence, and perhaps of virtual tokens before it.
            reading: The sequence, and the tokens of its choices.
            n_prompt: Number of tokens of the prompt.

        Returns:
            One scalar with its graph for each of the choices.
        """
        # Prompt tuning inserts virtual tokens before those of the sequence.
        n_tokens = reading.inputs["input_ids"].shape[1]
        sequence_logits = logits[0, -n_tokens:]
        # The first token of a choice is predicted at the last token of the prompt.
        log_p = sequence_logits[n_prompt - 1 :].double().log_softmax(dim=-1)
        scores = []
        for tokens in reading.choice_tokens:
            index = torch.tensor(tokens, device=log_p.device)[:, None]
            # A scorer with a correction subtracts a constant from this, which has no gradients.
            score = log_p.gather(1, index).sum()
            if self._scoring == "mean":
                score = score / len(tokens)
            scores.append(score)
        return scores

    def _select_tokens(self, tokens: TokenizedItem) -> list[tuple[int, ...]]:
        """Return the tokens of each choice that are scored: all of them, or the first one."""
        if self._scoring == "next_words":
            return [(choice[0],) for choice in tokens.choices]
        return [tuple(choice) for choice in tokens.choices]


Reader: TypeAlias = HeadReader | LanguageModelReader


def explain_missing_choice_gradients(scorer: Scorer | CausalLM) -> str:
    """Return why gradients of choices cannot be computed for a model, or an empty string.

    Gradients can be computed for multiple-choice heads and causal language models in this process,
    if these are scored by likelihood or by next words, and no layer is quantized.
    """
    if isinstance(scorer, CausalLM):
        scorer = bare(scorer)
    if isinstance(scorer, Classifier):
        return explain_quantization(scorer.model)
    if not isinstance(scorer, Prompted) or not isinstance(scorer.engine, LocalEngine):
        reason = explain_missing_ability(scorer, "gradients")
        return reason or f"{scorer.name} is not a transformers model."
    # The exact class, because encoder-decoders and masked models are subclasses of `CausalLM`, but
    # read prompt and answer differently.
    if type(scorer.engine.scorer) is not CausalLM:
        return explain_missing_ability(scorer, "gradients")
    if scorer.rendering.scoring == "generated":
        return f"This needs likelihoods, but {scorer.name} is asked for generated answers."
    return explain_quantization(scorer.engine.model)


def is_scorer_of_choices(scorer: Scorer | CausalLM) -> bool:
    """Return whether a model scores choices or label words, and not classes by a head."""
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
    """Compute the Fisher information of the choices of every item with respect to its prompt.

    Args:
        scorer: A multiple-choice head, or a causal language model that is scored by likelihood or
            by next words.
        requests: The items, with their scores if they are known.
        options: Options of `fisher_information`.
        progress: Whether to show progress bars.
        out: Folder for the scores and the results. If None, they are kept in memory only.
        fail_fast: Whether an item that fails is an error.

    Raises:
        ValueError: If gradients cannot be computed for the model, an option does not apply, or
            every item fails.
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
        # One reason is enough, because usually all items fail for the same reason.
        _, first_reason = run.sort_failures(reasons)[0]
        raise ValueError(first_reason)
    columns = run_model(
        reader.model,
        functools.partial(run.measure, items, EmbeddingInput(reader.model)),
        # Each batch is one item, given by its index among the items that can be read.
        [np.array([index]) for index in range(len(items))],
        kind="Fisher information of choices",
        inputs=run.list_dependencies,
        progress=progress,
        out=get_results_subfolder(out, "fisher"),
        fail_fast=fail_fast,
    )
    return run.make_result(items, columns, reasons)


@dataclass(frozen=True, eq=False)
class _Run:
    """The computation over all items of a call.

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
        """Id of an item -> (K,) the scores of its choices. Items that failed have no entry."""
        rows = map(np.asarray, self.scores.logits)
        return dict(zip(self.scores.ids, rows, strict=True))

    def read_items(self) -> tuple[dict[int, ReadItem], dict[str, str]]:
        """Make the sequences of all items that have scores.

        Returns:
            Index of an item -> its sequences; and id -> reason of the items that have no scores, or
            that the reader refuses.
        """
        reasons = dict(self.scores.failures)
        items: dict[int, ReadItem] = {}
        for row, item_id in enumerate(self.requests.ids):
            # An item without scores has no probabilities.
            if item_id in reasons:
                continue
            try:
                items[row] = self.reader.read(row)
            except ValueError as error:
                reasons[item_id] = str(error)
        return items, reasons

    def sort_failures(self, reasons: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return ids and reasons of failed items, in the order of the items."""
        return [(name, reasons[name]) for name in self.requests.ids if name in reasons]

    def list_dependencies(self) -> dict[str, Any]:
        """Return everything that identifies stored results besides the model, as short values."""
        requests = self.requests
        # A column may be an array, but its digest is that of a list of strings.
        text_pairs = requests.text_pairs
        if text_pairs is not None:
            text_pairs = list(text_pairs)
        options = self.options.model_dump(exclude={"unit"})
        options["max_length"] = requests.max_length
        return {
            "ids": fingerprint_texts(requests.ids),
            "scorer": self.reader.scorer.fingerprint,
            "texts": digest_value([list(requests.texts), text_pairs, requests.choices]),
            # Scores that were computed in other batches may differ in their last digits.
            "scores": digest_value([row.tolist() for row in self._logits.values()]),
            "options": options,
        }

    def measure(
        self, items: Mapping[int, ReadItem], embedding_input: EmbeddingInput, batch: Ints
    ) -> dict[str, Column]:
        """Compute the Fisher information of a batch of one item.

        Args:
            items: Index of an item in the data -> its sequences, for all items that can be read.
            embedding_input: The model, fed by embeddings.
            batch: (1,) index of the item among the entries of `items`.

        Returns:
            The columns of `_measure_item`: one row each of `eigenvalues`, `gradient_norms`, `error`,
            `scale` and, if requested, `spectrum`.
        """
        # Items that failed have no entry, so that the index of the entry is not that of the item.
        (index,) = batch.tolist()
        row = list(items)[index]
        item_id = self.requests.ids[row]
        # (K,) scores of the choices, which become (1, K) with a dimension for the batch.
        choice_scores = self._logits[item_id]
        logits = torch.from_numpy(choice_scores[None])
        with name_failing_item(self.reader.scorer.name, item_id):
            return _measure_item(self.reader, embedding_input, items[row], logits, self.options)

    def make_result(
        self, items: Mapping[int, ReadItem], columns: Columns, reasons: dict[str, str]
    ) -> FisherInformation:
        """Return the result for all N items; failed items have NaN, and a reason.

        Args:
            items: Index of an item in the data -> its sequences, for all items that can be read.
            columns: The columns of `measure`, with one row for each of these items.
            reasons: Id -> reason of the other items, to which failures of the run are added.
        """
        ids = self.requests.ids
        rows = list(items)
        for index, reason in columns.failures.items():
            reasons[ids[rows[index]]] = reason
        columns = columns.fill_failed({"spectrum": self.reader.counts[rows] - 1})

        def get_column(name: str) -> NDArray[np.float64]:
            values = np.full(len(ids), np.nan)
            values[rows] = columns.array(name)
            return values

        is_truncated = np.zeros(len(ids), dtype=np.bool_)
        for row, item in items.items():
            is_truncated[row] = item.is_truncated
        spectrum = None
        if self.options.spectrum:
            spectrum = self._spread_spectrum(rows, columns.ragged("spectrum"))
        return FisherInformation(
            ids=tuple(ids),
            eigenvalues=get_column("eigenvalues"),
            scale_free=get_column("eigenvalues") * get_column("scale"),
            gradient_norms=get_column("gradient_norms"),
            logits=self._make_logits_table(rows),
            error=get_column("error"),
            truncated=is_truncated,
            failures=tuple(self.sort_failures(reasons)),
            label_names=self.reader.scorer.label_names,
            definition=CHOICE_DEFINITION,
            spectrum=spectrum,
        )

    def _make_logits_table(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """Return the scores of the choices of all items as a table.

        Args:
            rows: Indices of the items that can be read.

        Returns:
            (N, K) scores, with K the largest number of choices. A row with fewer choices ends in
            -inf. An item that cannot be read has a row of NaN.
        """
        ids = self.requests.ids
        table = np.full((len(ids), int(self.reader.counts.max())), np.nan)
        for row in rows:
            logits = self._logits[ids[row]]
            # The probability of a choice that an item does not have is 0.
            table[row] = -np.inf
            table[row, : len(logits)] = logits
        return table

    def _spread_spectrum(self, rows: Sequence[int], spectrum: Ragged) -> Ragged:
        """Extend the eigenvalues of the items that can be read to all items.

        Args:
            rows: Indices of the items that can be read.
            spectrum: For each of these items, one eigenvalue less than it has choices.

        Returns:
            N rows, with NaN for the other items.
        """
        lengths = self.reader.counts - 1
        values = [np.full(length, np.nan) for length in lengths]
        for row, eigenvalues in zip(rows, spectrum, strict=True):
            values[row] = eigenvalues
        return Ragged.of(np.concatenate(values), lengths)


def _check_scores(scores: Scores, ids: Sequence[str]) -> None:
    """Check that each item has scores, or a reason why it has none."""
    known = {*scores.ids, *scores.failures}
    for name in ids:
        if name not in known:
            raise OptionError(
                f"Expected `scores` for every item, but got none for item {name!r}.",
                option="scores",
            )


def _check_options(options: FisherOptions) -> None:
    """Check that the options apply to a model that chooses.

    Raises:
        OptionError: If the eigenvector or power iteration is requested.
    """
    if options.eigenvector:
        raise OptionError(
            "Expected eigenvector=False for a model that chooses between answers, but got True. "
            "The eigenvector of such a model belongs to the whole prompt with its instructions, "
            "not to the words of a text.",
            option="eigenvector",
        )
    if options.method == "power":
        raise OptionError(
            "Expected `method` 'gram' or 'auto' for a model that chooses, but got 'power'.",
            option="method",
        )


def _make_reader(scorer: Scorer | CausalLM, requests: ChoiceTexts) -> Reader:
    """Check the items, and return the reader for the kind of model.

    Args:
        scorer: A multiple-choice head or a causal language model.
        requests: The items.

    Raises:
        OptionError: If a model without label words has no choices, one with label words has
            choices, or `max_length` is given for a prompted model.
    """
    if isinstance(scorer, CausalLM):
        scorer = bare(scorer)
    choices = requests.choices
    has_label_words = scorer.label_names is not None
    has_choices = choices is not None
    if has_label_words == has_choices:
        count = "some" if has_choices else "none"
        raise OptionError(
            "Expected `choices` for a model that chooses between answers, and no `choices` for a "
            f"classifier, but got {count} for {scorer.name}.",
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
    # A prompt with label words contains one text, or two.
    text_pairs: Sequence[str | None] = [None] * len(requests.texts)
    if requests.text_pairs is not None:
        text_pairs = list(requests.text_pairs)
    items_of_texts = make_items(requests.ids, text=requests.texts, text_pair=text_pairs)
    return LanguageModelReader(cast("Prompted", scorer), items_of_texts)


def _measure_item(
    reader: Reader,
    embedding_input: EmbeddingInput,
    item: ReadItem,
    logits: Tensor,
    options: FisherOptions,
) -> dict[str, Column]:
    """Compute the Fisher information of the K choices of one item with respect to its prompt.

    Args:
        reader: Selects the scores of choices from the logits of a sequence.
        embedding_input: The model, fed by embeddings.
        item: The sequences of the item, with the choices that each of them scores.
        logits: (1, K) scores of the choices, whose softmax are the probabilities.
        options: Whether to return all eigenvalues.

    Returns:
        Columns of one row: `eigenvalues`, `gradient_norms`, `error`, `scale` (the squared mean
        norm of the embeddings of the prompt) and, if requested, `spectrum`.

    Raises:
        ValueError: If a score or a gradient is not finite.
    """
    # Index of a choice -> the gradient of its score with respect to the prompt, flattened.
    gradients: dict[int, Tensor] = {}
    scale = 0.0
    for reading in item.readings:
        embeddings = embedding_input.look_up(reading.inputs["input_ids"])
        # The prompt is a leaf of the graph, and the tokens after it are constants.
        prompt = embeddings[..., : item.n_prompt, :].detach().requires_grad_()
        mixed = torch.cat((prompt, embeddings[..., item.n_prompt :, :]), dim=-2)
        with torch.enable_grad():
            outputs = embedding_input.logits(mixed, reading.inputs)
            scores = reader.select_scores(outputs, reading, item.n_prompt)
            for index, score in enumerate(scores):
                # The backward pass of the last score frees the graph.
                is_needed_again = index < len(scores) - 1
                (gradient,) = torch.autograd.grad(score, prompt, retain_graph=is_needed_again)
                gradients[reading.choices[index]] = gradient.flatten().double()
        # The prompt, and thus the scale, is the same in all sequences.
        scale = float(prompt.detach().norm(dim=-1).double().mean()) ** 2

    # (K, D), in the order of the logits.
    table = torch.stack([gradients[choice] for choice in sorted(gradients)])
    # The softmax depends on differences of scores only: (1, K - 1, D).
    differences = (table[1:] - table[:1])[None]
    leading = solve_gram(logits.to(table.device), differences, options)
    # Raised here, because the batch is only this item.
    if not bool(torch.isfinite(leading.eigenvalues).all()):
        raise ValueError("Expected finite scores and gradients, but got NaN or infinity.")
    columns: dict[str, Column] = {
        "eigenvalues": leading.eigenvalues.cpu().numpy(),
        "gradient_norms": leading.gradient_norms.cpu().numpy(),
        "error": leading.error.cpu().numpy(),
        "scale": np.array([scale]),
    }
    if leading.spectrum is not None:
        columns["spectrum"] = Ragged.of_table(leading.spectrum.cpu().numpy())
    return columns


def _describe_unequal_prompts(name: str) -> str:
    return (
        f"Expected a prompt that fits next to each choice, but item {name!r} is too long: its "
        "choices are read after different parts of the prompt."
    )
