"""Fisher information of a causal language model: how far its answer moves with the word embeddings of the prompt."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.foundations.ragged import offsets_of
from rightreasons.foundations.storing.records import digest_of_arrays
from rightreasons.models.gradients.embedding_input import EmbeddingInput
from rightreasons.models.gradients.fisher_eigen import FisherEigen, Solver
from rightreasons.models.items import Items
from rightreasons.models.prompting.prompted import Prompted
from rightreasons.models.prompting.rendering import Item
from rightreasons.models.protocol import lacking
from rightreasons.models.running.batching import Encoded, Places, check_fast
from rightreasons.models.running.fingerprint import fingerprint_texts
from rightreasons.models.running.run import Columns, run_model
from rightreasons.models.running.store import Column
from rightreasons.models.scoring.causal import CausalLM, ChoiceItems, choose_causal, with_letters
from rightreasons.models.scoring.likelihoods import PADDED, causal_way, groups_of, plain_rows, width
from rightreasons.models.scoring.local import LocalEngine
from rightreasons.models.scoring.requests import Asked, tokenize_choices

_TOGETHER = 16


class _Prompts(Items):
    """Prompts with the places of their tokens; a causal language model reads them as `CausalFisher` says."""

    def __post_init__(self) -> None:
        """Try nothing: these items are not padded as those of a classifier are."""


class CausalFisher:
    """The prompts and choices of N items as a causal language model reads them, and the gradients of their scores.

    The scores of the choices are those of `choose_causal` with the method of the model. What is moved is the prompt,
    which all choices share; with "letters" that includes the choices.

    Args:
        scorer: From `load_causal` or `load_chooser`, or a `Prompted` scorer of choices by likelihood: then all that is
            asked is moved, its template included.
        prompts: N prompts.
        choices: N lists of at least two texts.
        ids: N unique ids; by default "0", "1", …

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an item has fewer than two choices, no item can be read, or the
            tokenizer is slow.
    """

    def __init__(
        self,
        scorer: CausalLM | Prompted,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
    ) -> None:
        asked = ChoiceItems.of(prompts, choices, ids=ids, allow_empty=True)
        self.counts = asked.counts
        self._failures: dict[int, str] = {}
        self._offsets = offsets_of(self.counts)
        self._constants = np.zeros(int(self.counts.sum()))
        if isinstance(scorer, Prompted):
            self._ask(scorer, asked)
        else:
            self._ask_bare(scorer, asked)
        self._divisors = np.ones(len(self._constants))
        if self.method == "mean":
            self._divisors = np.array([len(choice) for item in self._asked for choice in item.choices], dtype=float)

    def _ask(self, prompted: Prompted, asked: ChoiceItems) -> None:
        """Take what a prompted model is asked."""
        engine, rendering = prompted.engine, prompted.rendering
        if not isinstance(engine, LocalEngine) or "gradients" not in prompted.abilities:
            raise ValueError(lacking(prompted, "gradients", "difficulty"))
        check_fast(engine.tokenizer)
        self._scorer, self.method = engine.scorer, rendering.scoring
        rows = zip(asked.ids, asked.prompts, asked.choices, strict=True)
        items = [Item(name, {"prompt": prompt, "choices": row}) for name, prompt, row in rows]
        requests = [rendering.request(item, prompted.shots(item)) for item in items]
        if rendering.style == "words":
            self._failures = asked.wordless()
        self._asked = self._joined(engine.tokens(requests, failures=self._failures), asked)
        if self.method == "next_words":
            self._asked = [
                dataclasses.replace(item, choices=[tokens[:1] for tokens in item.choices]) for item in self._asked
            ]
        places = []
        for item, request, text in zip(self._asked, requests, asked.prompts, strict=True):
            whole = engine.render(request.prompt)
            start = whole.rfind(text.rstrip()) if text.strip() else -1
            tokens = engine.tokenizer(
                whole, add_special_tokens=isinstance(request.prompt, str), verbose=False
            ).encodings[0]  # fmt: skip
            places.append(_within(tokens, item.prompt, start, text))
        self.items = self._items(asked, places)
        if self.method in ("unconditional", "calibrated"):
            # What is taken off the likelihood of each choice; a number that all choices of an item share moves nothing.
            likely, own = (
                each.choose(asked.prompts, asked.choices, ids=asked.ids, progress=False)
                for each in (prompted.by_sum(), prompted)
            )
            first = dict(zip(likely.ids, likely.logits, strict=True))
            place = {name: item for item, name in enumerate(asked.ids)}
            for name, row in zip(own.ids, own.logits, strict=True):  # an item that cannot be scored has none
                start = self._offsets[place[name]]
                self._constants[start : start + len(row)] = first[name] - row

    def _ask_bare(self, scorer: CausalLM, asked: ChoiceItems) -> None:
        """Take prompts as they are, with choices or letters behind them."""
        check_fast(scorer.tokenizer)
        heads, rows = with_letters(asked) if scorer.method == "letters" else (asked.prompts, asked.choices)
        self._failures = asked.wordless()
        parts = tokenize_choices(
            scorer.tokenizer,
            asked.ids,
            heads,
            rows,
            start_token=scorer.start_token,
            max_length=scorer.max_length,
            model_name=scorer.name,
            failures=self._failures,
        )
        self._scorer, self.method = scorer, scorer.method
        self._asked = self._joined(parts, asked)
        places = [
            _places(scorer.tokenizer, item.prompt, head.rstrip(), prompt)
            for item, head, prompt in zip(self._asked, heads, asked.prompts, strict=True)
        ]
        self.items = self._items(asked, places)
        if scorer.method == "unconditional":
            able = [item for item in range(len(rows)) if item not in self._failures]
            places_of = [self._offsets[item] + place for item in able for place in range(len(rows[item]))]
            self._constants[places_of] = self._alone([text for item in able for text in rows[item]])

    def _joined(self, items: Sequence[list[Asked]], asked: ChoiceItems) -> list[Asked]:
        """Join the parts of each item; a token stands for what cannot be read.

        Raises:
            ValueError: If no item can be.
        """
        if len(self._failures) == len(items):
            raise ValueError(self._failures[0])
        return [
            _joined(parts) if parts else Asked(name, [0], [[0]] * int(count), list(range(count)), False)
            for parts, name, count in zip(items, asked.ids, asked.counts, strict=True)
        ]

    def _alone(self, texts: list[str]) -> NDArray[np.float64]:
        """Return the log-likelihood of each text after no prompt; equal texts are scored once."""
        distinct = list(dict.fromkeys(texts))
        groups = [distinct[start : start + _TOGETHER] for start in range(0, len(distinct), _TOGETHER)]
        rows = [group if len(group) > 1 else group * 2 for group in groups]
        scores = choose_causal(self._scorer, [""] * len(rows), rows, method="sum", progress=False).logits
        known = {
            text: float(score)
            for row, values in zip(rows, scores, strict=True)
            for text, score in zip(row, values, strict=True)
        }
        return np.array([known[text] for text in texts])

    def _items(self, asked: ChoiceItems, places: Sequence[NDArray[np.int64]]) -> Items:
        """Return the prompts as items of one sequence, with the places of their tokens in the prompts of the user."""
        tokens = [np.array(item.prompt, dtype=np.int32) for item in self._asked]
        table = np.concatenate(places)
        encoded = Encoded(
            columns={"input_ids": np.concatenate(tokens)},
            offsets=offsets_of([len(row) for row in tokens]),
            truncated=np.array([item.truncated for item in self._asked], dtype=np.bool_),
            padding={"input_ids": 0},
        )
        return _Prompts(
            self._scorer,  # type: ignore[arg-type]
            asked.ids,
            np.ones(len(tokens), dtype=np.int64),
            encoded,
            first=asked.prompts,
            _places=Places(table[:, 0] < 0, np.zeros(len(table), np.int64), *np.maximum(table, 0).T),
        )

    def run(
        self,
        solver: Solver,
        columns_of: Any,
        *,
        batch_size: int,
        max_tokens: int | None,
        progress: bool,
        out: str | os.PathLike[str] | None,
        fail_fast: bool,
    ) -> Columns:
        """Compute the columns of every item: `columns_of` takes what `Solver` found, scores, embeddings and mask."""
        scorer, asked = self._scorer, self._asked
        embedding_input = EmbeddingInput(scorer.model)
        way = causal_way(
            scorer.model,
            scorer.tokenizer,
            scorer.name,
            longest=max(width(item, PADDED) for item in asked),
            bound=scorer.max_length,
            shared_prefix=False,
        )

        def compute(batch: NDArray[np.int64]) -> Mapping[str, Column]:
            for item in batch.tolist():
                if item in self._failures:
                    raise ValueError(self._failures[item])
            prompts, real = self._prompts(batch)
            embeddings = embedding_input.look_up(prompts).requires_grad_()
            with torch.enable_grad():
                scores = self._scores(embedding_input, embeddings, batch, way.name)
                leading: FisherEigen = solver(scores, embeddings)
            columns: Mapping[str, Column] = columns_of(leading, scores, embeddings, real)
            return columns

        return run_model(
            scorer.model,
            compute,
            self._batches(batch_size, max_tokens),
            kind="Fisher information of answers",
            inputs=lambda: {
                "ids": fingerprint_texts(self.items.ids),
                "texts": digest_of_arrays(
                    {
                        "tokens": np.concatenate([np.concatenate([item.prompt, *item.choices]) for item in asked]),
                        "lengths": np.array([len(part) for item in asked for part in (item.prompt, *item.choices)]),
                        "choices": self.counts,
                    }
                ),
                "method": self.method,
                "constants": digest_of_arrays({"constants": self._constants}),
                "options": vars(solver),
            },
            progress=progress,
            out=out,
            fail_fast=fail_fast,
        )

    def _batches(self, batch_size: int, max_tokens: int | None) -> list[NDArray[np.int64]]:
        """Cut items into batches of one number of choices and of like length, the longest first."""
        sizes = np.array([width(item, PADDED) for item in self._asked])
        order = np.lexsort((-sizes, self.counts))
        batches: list[NDArray[np.int64]] = []
        for _, group in itertools.groupby(order.tolist(), key=lambda item: int(self.counts[item])):
            rest = np.array(list(group), dtype=np.int64)
            while len(rest):
                rows = int(sizes[rest[0]] * self.counts[rest[0]])
                size = batch_size if max_tokens is None else max(1, min(batch_size, max_tokens // max(rows, 1)))
                batches.append(rest[:size])
                rest = rest[size:]
        return batches

    def _prompts(self, batch: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return the tokens of some prompts, padded on the right, and which of them are real."""
        prompts = [self._asked[item].prompt for item in batch]
        table = np.zeros((len(prompts), max(map(len, prompts))), dtype=np.int64)
        real = np.zeros_like(table)
        for row, prompt in enumerate(prompts):
            table[row, : len(prompt)], real[row, : len(prompt)] = prompt, 1
        device = self._scorer.model.device
        return torch.from_numpy(table).to(device), torch.from_numpy(real).to(device)

    def _scores(
        self, embedding_input: EmbeddingInput, embeddings: Tensor, batch: NDArray[np.int64], way: str
    ) -> Tensor:
        """Return the scores of the choices of some items, (b, C), as functions of the embeddings of their prompts."""
        model, device = self._scorer.model, embeddings.device
        n_choices = int(self.counts[batch[0]])
        rows = [row for place, item in enumerate(batch) for row in plain_rows(self._asked[item], place * n_choices)]
        owners, parts = [], []
        for group in groups_of(rows, way):
            ids = np.zeros((len(group), max(map(len, group))), dtype=np.int64)
            mask, prompt = np.zeros_like(ids), np.zeros(ids.shape, dtype=np.bool_)
            item = np.array([int(row.owners[0]) // n_choices for row in group])
            for place, row in enumerate(group):
                ids[place, : len(row)], mask[place, : len(row)] = row.tokens, 1
                prompt[place, : len(self._asked[batch[item[place]]].prompt)] = True
            inputs: dict[str, Any] = {"input_ids": torch.from_numpy(ids).to(device)}
            if way == PADDED:
                inputs["attention_mask"] = torch.from_numpy(mask).to(device)
            if "use_cache" in inspect.signature(model.forward).parameters:
                inputs["use_cache"] = False
            own = embeddings[torch.from_numpy(item).to(device)]
            own = torch.nn.functional.pad(own, (0, 0, 0, max(0, ids.shape[1] - own.shape[1])))[:, : ids.shape[1]]
            fed = torch.where(
                torch.from_numpy(prompt).to(device).unsqueeze(-1), own, embedding_input.look_up(inputs["input_ids"])
            )
            logits = embedding_input.logits(fed, inputs)
            at_row = np.repeat(np.arange(len(group)), [len(row.wanted) for row in group])
            index = [torch.from_numpy(np.concatenate(part)).to(device) for part in (
                [row.columns for row in group], [row.wanted for row in group], [row.owners for row in group],
            )]  # fmt: skip
            log = logits[torch.from_numpy(at_row).to(device), index[0]]
            log = log if log.dtype == torch.float64 else log.float()
            parts.append(log.gather(1, index[1][:, None])[:, 0] - log.logsumexp(dim=1))
            owners.append(index[2])
        total = torch.zeros(len(batch) * n_choices, dtype=parts[0].dtype, device=device)
        total = total.index_add(0, torch.cat(owners), torch.cat(parts)).view(len(batch), n_choices)
        places = self._offsets[batch][:, None] + np.arange(n_choices)
        divisors, constants = (
            torch.from_numpy(values[places]).to(total) for values in (self._divisors, self._constants)
        )
        return total / divisors - constants


def _joined(parts: list[Asked]) -> Asked:
    """Join the parts of an item whose prompt was cut in several ways: all of its choices see the shortest."""
    if len(parts) == 1 and parts[0].places == sorted(parts[0].places):
        return parts[0]
    shortest = min((part.prompt for part in parts), key=len)
    choices = sorted((place, choice) for part in parts for place, choice in zip(part.places, part.choices, strict=True))
    return Asked(parts[0].name, shortest, [choice for _, choice in choices], [place for place, _ in choices], True)


def _within(encoding: Any, tokens: list[int], start: int, text: str) -> NDArray[np.int64]:
    """Return the first and one past the last character of each token in a text that starts at a place; else -1."""
    places = np.full((len(tokens), 2), -1, dtype=np.int64)
    first = len(encoding.ids) - len(tokens)
    if start < 0 or first < 0 or encoding.ids[first:] != tokens:
        return places
    for place, (low, high) in enumerate(encoding.offsets[first:]):
        if max(low, start) < min(high, start + len(text)):
            places[place] = max(low, start) - start, min(high, start + len(text)) - start
    return places


def _places(tokenizer: Any, tokens: list[int], head: str, prompt: str) -> NDArray[np.int64]:
    """Return the first and one past the last character of each token in the prompt of the user; -1 for others."""
    places = np.full((len(tokens), 2), -1, dtype=np.int64)
    encoding = tokenizer(head, verbose=False).encodings[0]
    starts = range(len(encoding.ids) - len(tokens), -1, -1)
    first = next((start for start in starts if encoding.ids[start : start + len(tokens)] == tokens), None)
    if first is None:
        return places
    # What was written around a prompt for letters begins behind it; line ends before it were left out.
    shift = 0 if head.startswith(prompt.rstrip()) else len(prompt) - len(prompt.lstrip("\n"))
    for place in range(len(tokens)):
        start, end = (edge + shift for edge in encoding.offsets[first + place])
        if encoding.sequence_ids[first + place] is not None and start < len(prompt):
            places[place] = start, min(end, len(prompt))
    return places
