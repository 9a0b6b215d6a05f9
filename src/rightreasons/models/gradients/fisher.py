"""Where a model is fragile: the Fisher information of its prediction with respect to the input embeddings.

Of a causal language model it is how far its answer moves with the word embeddings of the prompt.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from rightreasons.core.arrays import Ragged, offsets_of
from rightreasons.core.choices import UNITS
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option, takes
from rightreasons.core.store import digest_of_arrays
from rightreasons.models.batching import Encoded, Places, check_fast, later, length_batches, pad, sent
from rightreasons.models.choices import CausalLM, bare
from rightreasons.models.gradients.inputs import EmbeddingInput, merge_pieces, with_gradients
from rightreasons.models.items import Items
from rightreasons.models.likelihoods import (
    PADDED,
    Tokens,
    fingerprints_of,
    groups_of,
    inputs_of,
    likelihood_way,
    log_of_wanted,
    plain_rows,
    width,
)
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import ChoiceItems
from rightreasons.models.protocol import Scorer, lacking
from rightreasons.models.running import Column, Columns, HowToRun, Later, run_model

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class FisherEigen:
    """The leading eigenvalue of G for each of b items; NaN where logits or gradients were not finite.

    Attributes:
        eigenvalues: (b,) float64, the largest eigenvalue, at least 0.
        gradient_norms: (b,) float64, norm of the gradient of log p of the predicted class.
        error: (b,) float64, bound on the distance of `eigenvalues` from an eigenvalue of G; 0 for the Gram matrix.
        spectrum: (b, K - 1) float64, all eigenvalues that may differ from 0, the largest first; None unless asked for.
        eigenvector: The unit eigenvector, in the shape of the inputs; None unless asked for. Its sign means nothing.
    """

    eigenvalues: Tensor
    gradient_norms: Tensor
    error: Tensor
    spectrum: Tensor | None
    eigenvector: Tensor | None


@dataclass(frozen=True)
class Solver:
    """What is computed of G, and how.

    Attributes:
        power: Whether by power iteration, whose cost does not grow with the number of classes, or by the Gram matrix.
        spectrum: Whether to return all eigenvalues (Gram matrix only).
        eigenvector: Whether to return the leading eigenvector.
        tolerance: Relative residual at which power iteration stops.
        max_iterations: Maximum rounds of power iteration.
    """

    power: bool = False
    spectrum: bool = False
    eigenvector: bool = False
    tolerance: float = 1e-4
    max_iterations: int = 100

    def __call__(self, logits: Tensor, inputs: Tensor) -> FisherEigen:
        r"""Find the leading eigenvalue of G = sum_y p_y grad log p_y grad log p_y^T for every item.

        Args:
            logits: (b, K), K >= 2, with the graph that leads back to `inputs`. Item i may depend only on inputs[i].
            inputs: (b, ...) that require gradients.

        Returns:
            A `FisherEigen`.

        References:
            Datta et al. (2020), "Geometry matters", algorithm 1.

        Example:
            One linear logit z = 3 x_0 + 4 x_1 against 0, at z = 0: p(1-p) |w|^2 = 25 / 4.

            >>> x = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
            >>> z = x @ torch.tensor([[0.0, 3.0], [0.0, 4.0]], dtype=torch.float64)
            >>> round(Solver()(z, x).eigenvalues.item(), 6)
            6.25
        """
        return self._power(logits, inputs) if self.power else self._gram(logits, inputs)

    def _gram(self, logits: Tensor, inputs: Tensor) -> FisherEigen:
        n_items, n_classes = logits.shape
        # Only differences of logits matter, so K - 1 backward passes are enough.
        differences = logits[:, 1:] - logits[:, :1]
        last = n_classes - 2
        gradients = torch.stack(
            [
                torch.autograd.grad(differences[:, k].sum(), inputs, retain_graph=k < last)[0].flatten(1)
                for k in range(n_classes - 1)
            ],
            dim=1,
        )  # (b, K - 1, D)
        inner = torch.zeros(n_items, n_classes, n_classes, dtype=torch.float64, device=logits.device)
        inner[:, 1:, 1:] = torch.bmm(gradients, gradients.transpose(1, 2)).double()
        p = logits.detach().double().softmax(dim=-1)
        # grad log p_y = h_y - sum_k p_k h_k, with h the gradients of the differences and h_0 = 0.
        center = torch.eye(n_classes, dtype=torch.float64, device=logits.device) - p[:, None, :]
        scaled = p.sqrt()[:, :, None] * center
        gram = scaled @ inner @ scaled.transpose(1, 2)
        finite = torch.isfinite(gram).flatten(1).all(dim=1)
        values, vectors = torch.linalg.eigh(torch.where(finite[:, None, None], gram, torch.zeros_like(gram)))
        values = torch.where(finite[:, None], values.clamp_min(0), torch.full_like(values, torch.nan))
        row = center[torch.arange(n_items, device=p.device), _predicted(p)]
        squared = torch.einsum("bi,bij,bj->b", row, inner, row)
        eigenvector = None
        if self.eigenvector:
            weights = torch.einsum("by,byk->bk", vectors[:, :, -1], scaled)[:, 1:]
            weights = weights / values[:, -1:].sqrt().clamp_min(1e-300)
            eigenvector = torch.einsum("bk,bkd->bd", weights.to(gradients.dtype), gradients).view_as(inputs)
        return FisherEigen(
            values[:, -1],
            squared.clamp_min(0).sqrt(),
            torch.zeros(n_items, dtype=torch.float64, device=logits.device),
            values[:, 1:].flip(1) if self.spectrum else None,
            eigenvector,
        )

    def _power(self, logits: Tensor, inputs: Tensor) -> FisherEigen:
        """Iterate exact products G v = J^T (diag p - p p^T) J v.

        J v, for the Jacobian J of the logits, is the derivative of u -> J^T u, which is linear, in the direction v.
        """
        p = logits.detach().softmax(dim=-1)
        u = torch.zeros_like(logits, requires_grad=True)
        (pulled,) = torch.autograd.grad(logits, inputs, u, create_graph=True)
        shape = (-1,) + (1,) * (inputs.dim() - 1)

        def product(v: Tensor) -> Tensor:
            (pushed,) = torch.autograd.grad(pulled, u, v, retain_graph=True)
            s = p * pushed - p * (p * pushed).sum(dim=1, keepdim=True)
            moved: Tensor = torch.autograd.grad(logits, inputs, s, retain_graph=True)[0]
            return moved

        top = torch.zeros_like(logits).scatter_(1, _predicted(p)[:, None], 1.0)
        (start,) = torch.autograd.grad(logits, inputs, top - p, retain_graph=True)
        gradient_norms = _norm(start)
        v = start / gradient_norms.clamp_min(1e-300).view(shape).to(start.dtype)
        values = torch.zeros(len(logits), dtype=torch.float64, device=logits.device)
        error = torch.full_like(values, torch.inf)
        for _ in range(self.max_iterations):
            moved = product(v)
            values = (v * moved).flatten(1).double().sum(dim=1)
            error = _norm(moved - values.view(shape).to(v.dtype) * v)
            if bool((error.nan_to_num(0) <= self.tolerance * values.abs().nan_to_num(0)).all()):
                break
            v = moved / _norm(moved).clamp_min(1e-300).view(shape).to(v.dtype)
        return FisherEigen(values, gradient_norms, error, None, v if self.eigenvector else None)


def _predicted(p: Tensor) -> Tensor:
    return p.nan_to_num(-1).argmax(dim=1)


def _norm(v: Tensor) -> Tensor:
    norms: Tensor = v.flatten(1).double().norm(dim=1)
    return norms


class CausalFisher:
    """The prompts and choices of N items as a causal language model reads them, and the gradients of their scores.

    The scores of the choices are those of `CausalLM.choose` with its own method. What is moved is the prompt,
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
        items = ChoiceItems.of(prompts, choices, ids=ids, allow_empty=True)
        prompted = scorer if isinstance(scorer, Prompted) else bare(scorer)
        engine, rendering = prompted.engine, prompted.rendering
        if not isinstance(engine, LocalEngine) or "gradients" not in prompted.abilities:
            raise ValueError(lacking(prompted, "gradients", "difficulty"))
        check_fast(engine.tokenizer)
        self._scorer, self.counts = engine.scorer, items.counts
        self.method = rendering.scoring if isinstance(scorer, Prompted) else scorer.method
        self._failures = items.wordless() if rendering.style == "words" else {}
        requests = [rendering.request(item, prompted.shots(item)) for item in items.items()]
        tokenized = engine.tokens(requests, failures=self._failures)
        if len(self._failures) == len(requests):
            raise ValueError(self._failures[0])
        # A token stands for what cannot be read.
        self._asked = [
            _joined(parts) if parts else Tokens(name, [0], [[0]] * int(count), list(range(count)), False)
            for parts, name, count in zip(tokenized, items.ids, self.counts, strict=True)
        ]
        if self.method == "next_words":
            self._asked = [
                dataclasses.replace(item, choices=[tokens[:1] for tokens in item.choices]) for item in self._asked
            ]
        places = []
        for item, request, text in zip(self._asked, requests, items.prompts, strict=True):
            whole, special = engine.render(request.prompt), isinstance(request.prompt, str)
            start = whole.rfind(text.rstrip()) if text.strip() else -1
            (encoding,) = engine.tokenizer(whole, add_special_tokens=special, verbose=False).encodings
            places.append(_within(encoding, item.prompt, start, text))
        table = np.concatenate(places)
        encoded = Encoded(
            columns={"input_ids": np.concatenate([np.array(item.prompt, dtype=np.int32) for item in self._asked])},
            offsets=offsets_of([len(item.prompt) for item in self._asked]),
            truncated=np.array([item.truncated for item in self._asked], dtype=np.bool_),
            padding={"input_ids": 0},
        )
        # The prompts as items of one sequence, with the places of their tokens in the prompts of the user.
        self.items = Items(
            self._scorer,  # type: ignore[arg-type]
            items.ids,
            np.ones(len(places), dtype=np.int64),
            encoded,
            first=items.prompts,
            known=Places(table[:, 0] < 0, np.zeros(len(table), np.int64), *np.maximum(table, 0).T),
        )
        self._offsets = offsets_of(self.counts)
        self._constants = np.zeros(int(self.counts.sum()))
        if self.method in ("unconditional", "calibrated"):
            # What is taken off the likelihood of each choice; a number that all choices of an item share moves nothing.
            likely, by_question = (
                each.choose(items.prompts, items.choices, ids=items.ids, progress=False)
                for each in (prompted.asking(scoring="sum"), prompted)
            )
            first = dict(zip(likely.ids, likely.logits, strict=True))
            start_of = dict(zip(items.ids, self._offsets.tolist(), strict=False))
            for name, row in zip(by_question.ids, by_question.logits, strict=True):  # an item that failed has none
                self._constants[start_of[name] : start_of[name] + len(row)] = first[name] - row
        self._divisors = np.ones(len(self._constants))
        if self.method == "mean":
            self._divisors = np.array([len(choice) for item in self._asked for choice in item.choices], dtype=float)

    def run(
        self,
        solver: Solver,
        *,
        batch_size: int,
        max_tokens: int | None,
        **how: Unpack[HowToRun],
    ) -> Columns:
        """Compute the columns of every item; those of a batch have one number of choices."""
        scorer, tokenized = self._scorer, self._asked
        embedding_input = EmbeddingInput(scorer.model)
        way = likelihood_way(scorer, longest=max(width(item, PADDED) for item in tokenized), shared_prefix=False)

        def compute(batch: NDArray[np.int64]) -> Later:
            for item in batch.tolist():
                if item in self._failures:
                    raise ValueError(self._failures[item])
            prompts = pad(self.items.encoded, batch, scorer.model.device)
            embeddings = embedding_input.look_up(prompts["input_ids"]).requires_grad_()
            with torch.enable_grad():
                scores = self._scores(embedding_input, embeddings, batch, way.name)
                leading: FisherEigen = solver(scores, embeddings)
            return _columns(leading, scores, embeddings, prompts["attention_mask"])

        return run_model(
            scorer.model,
            compute,
            length_batches(
                self.counts * np.array([width(item, PADDED) for item in tokenized]),
                batch_size=batch_size,
                max_tokens=max_tokens,
                groups=self.counts,
            ),
            kind="Fisher information of answers",
            inputs=lambda: {
                **fingerprints_of(tokenized),
                "method": self.method,
                "constants": digest_of_arrays({"constants": self._constants}),
                "options": vars(solver),
            },
            **how,
        )

    def _scores(
        self, embedding_input: EmbeddingInput, embeddings: Tensor, batch: NDArray[np.int64], way: str
    ) -> Tensor:
        """Return the scores of the choices of some items, (b, C), as functions of the embeddings of their prompts."""
        model, device = self._scorer.model, embeddings.device
        n_choices = int(self.counts[batch[0]])
        rows = [row for place, item in enumerate(batch) for row in plain_rows(self._asked[item], place * n_choices)]
        owners, parts = [], []
        for group in groups_of(rows, way):
            inputs = inputs_of(model, group, way)
            longest = inputs["input_ids"].shape[1]
            item = np.array([int(row.owners[0]) // n_choices for row in group])
            sizes = np.array([len(self._asked[batch[each]].prompt) for each in item])
            prompt = np.arange(longest) < sizes[:, None]
            vectors = embeddings[sent(item, device)]
            vectors = torch.nn.functional.pad(vectors, (0, 0, 0, max(0, longest - vectors.shape[1])))[:, :longest]
            fed = torch.where(sent(prompt, device).unsqueeze(-1), vectors, embedding_input.look_up(inputs["input_ids"]))
            logits = embedding_input.logits(fed, inputs)[:, -longest:]
            parts.append(log_of_wanted(logits, group))
            owners.append(sent(np.concatenate([row.owners for row in group]), device))
        total = torch.zeros(len(batch) * n_choices, dtype=parts[0].dtype, device=device)
        total = total.index_add(0, torch.cat(owners), torch.cat(parts)).view(len(batch), n_choices)
        places = self._offsets[batch][:, None] + np.arange(n_choices)
        divisors, constants = (sent(values[places], device).to(total) for values in (self._divisors, self._constants))
        return total / divisors - constants


def _joined(parts: list[Tokens]) -> Tokens:
    """Join the parts of an item whose prompt was cut in several ways: all of its choices see the shortest."""
    if len(parts) == 1 and parts[0].places == sorted(parts[0].places):
        return parts[0]
    shortest = min((part.prompt for part in parts), key=len)
    choices = sorted((place, choice) for part in parts for place, choice in zip(part.places, part.choices, strict=True))
    return Tokens(parts[0].name, shortest, [choice for _, choice in choices], [place for place, _ in choices], True)


def _within(encoding: Any, tokens: list[int], start: int, text: str) -> NDArray[np.int64]:
    """Return the first and one past the last character of each token in a text that starts at a place; else -1."""
    places = np.full((len(tokens), 2), -1, dtype=np.int64)
    firsts = range(len(encoding.ids) - len(tokens), -1, -1)  # some tokenizers put a token behind a text
    first = next((first for first in firsts if encoding.ids[first : first + len(tokens)] == tokens), None)
    if start < 0 or first is None:
        return places
    for place, (low, high) in enumerate(encoding.offsets[first : first + len(tokens)]):
        if max(low, start) < min(high, start + len(text)):
            places[place] = max(low, start) - start, min(high, start + len(text)) - start
    return places


METHODS = ("auto", "gram", "power")

GRAM_CLASSES = 24
"""Maximum classes for which method="auto" takes the Gram matrix; with more, its backward passes cost more than
iteration."""

DEFINITION = (
    "Largest eigenvalue of the Fisher information G = sum_y p(y|x) grad log p(y|x) grad log p(y|x)^T with respect to "
    "the word embeddings of the item (Datta et al.): KL(p(.|x) || p(.|x + e v)) is about e^2 / 2 times it along its "
    "eigenvector v."
)


@dataclass(frozen=True, eq=False)
class FisherInformation:
    """The fragility of each prediction, in the order of the items.

    The numbers of an item that could not be computed are NaN, and `failures` has the reason.

    Attributes:
        ids: N item ids.
        eigenvalues: (N,) the largest eigenvalue, at least 0; larger is more fragile.
        scale_free: (N,) the same times the squared mean norm of the item's word embeddings, which makes models with
            embeddings of different sizes comparable.
        spectrum: N rows of the non-zero eigenvalues (at most K - 1), the largest first; None unless asked for.
        gradient_norms: (N,) norm of the gradient of log p of the predicted class.
        logits: (N, K) float64, or `Ragged` where the number of choices differs.
        error: (N,) bound on the distance of `eigenvalues` from an eigenvalue of G: 0 for the Gram matrix, the residual
            of the iteration for method="power".
        tokens: N tuples of tokens; None unless the eigenvector was asked for.
        token_norms: N rows: how far the unit eigenvector moves each token (squares sum to 1 less what falls on special
            tokens); None unless asked for.
        starts: (total,) first character of each token in its text; None unless asked for.
        ends: (total,) one past its last character; None unless asked for.
        truncated: (N,) whether a text of the item was cut.
        failures: (id, sentence) of the items that could not be computed.
        label_names: K names of the classes; None for multiple choice.
        definition: The measure in words.
    """

    ids: tuple[str, ...]
    eigenvalues: NDArray[np.float64]
    scale_free: NDArray[np.float64]
    spectrum: Ragged | None
    gradient_norms: NDArray[np.float64]
    logits: NDArray[np.float64] | Ragged
    error: NDArray[np.float64]
    tokens: tuple[tuple[str, ...], ...] | None
    token_norms: Ragged | None
    starts: NDArray[np.int64] | None
    ends: NDArray[np.int64] | None
    truncated: NDArray[np.bool_]
    failures: tuple[tuple[str, str], ...]
    label_names: tuple[str, ...] | None
    definition: str = DEFINITION

    def __len__(self) -> int:
        return len(self.ids)


class FisherOptions(Options):
    """The settings of `fisher_information` that change its result."""

    method: str = option("auto", "How the eigenvalue is computed.", choices=METHODS)
    spectrum: bool = option(False, "Return all non-zero eigenvalues.")
    eigenvector: bool = option(False, "Return how far the leading eigenvector moves each token.")
    unit: str = option("wordpiece", "Tokens that the eigenvector is reduced to.", choices=UNITS)
    tolerance: float = option(1e-4, "Relative residual at which power iteration stops.", minimum=0.0)
    max_iterations: int = option(100, "Maximum rounds of power iteration.", minimum=1)

    def solver(self, n_classes: int) -> Solver:
        """Return the solver for a number of classes."""
        power = self.method == "power" or (self.method == "auto" and n_classes > GRAM_CLASSES)
        if self.spectrum and power:
            raise OptionError(
                "Expected method='gram' with spectrum=True, but got power iteration, which finds one eigenvalue.",
                option="method",
            )
        return Solver(power, self.spectrum, self.eigenvector, self.tolerance, self.max_iterations)


@takes(FisherOptions)
def fisher_information(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    ids: Iterable[object] | None = None,
    options: FisherOptions,
    batch_size: int = 32,
    max_tokens: int | None = 4096,
    max_length: int | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = False,
) -> FisherInformation:
    r"""Compute the largest eigenvalue of the input-embedding Fisher information of every item.

    For class probabilities p of an item with word embeddings x in R^D, D = tokens x dimensions,

        G = sum_y p_y g_y g_y^T,   g_y = grad_x log p_y,   A = diag(sqrt p) (g_1, ..., g_K)^T,   G = A^T A

    G is never built: its non-zero eigenvalues are those of the K x K Gram matrix A A^T, and its eigenvectors are
    A^T u / sqrt(lambda). Only differences of logits matter, so K - 1 backward passes are enough: one for two classes.
    With many classes (method="power") each product G v takes one backward and one double-backward pass, whatever K is.

    Args:
        classifier: From `load_classifier`, `load_multiple_choice`, `load_causal` or `load_chooser`, or a
            `Prompted` by likelihood, of which x is all that is asked.
        texts: N texts, or the prompts of a multiple-choice or a causal language model.
        text_pairs: N second texts for a task of pairs.
        choices: N lists of choices, for a multiple-choice model, where x is all choices' embeddings together, or for a
            causal language model: answers or label words, whose scores are those of `CausalLM.choose` with the method
            of the model ("letters" among them). There p is the softmax of the scores, and x the prompt.
        ids: N unique ids; by default "0", "1", …
        options: A `FisherOptions`, in place of the following keywords.
        method: "gram" (exact), "power" (power iteration, with its error) or "auto" (default): gram up to
            `GRAM_CLASSES` classes.
        spectrum: Whether to return all non-zero eigenvalues (method gram); default False.
        eigenvector: Whether to return how far the leading eigenvector moves each token; default False.
        unit: "wordpiece" (default) or "word" for those tokens.
        tolerance: Relative residual at which power iteration stops; default 1e-4.
        max_iterations: Maximum rounds of power iteration; default 100.
        batch_size: Maximum items per batch.
        max_tokens: Maximum tokens per padded batch; None for no bound.
        max_length: Maximum tokens per sequence; None takes what the model allows.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed; a killed run resumes.
        fail_fast: Whether an item that cannot be computed is an error; default False.

    Returns:
        A `FisherInformation`. An item whose text has no tokens, whose logits are not finite, or that the model cannot
        read, is in `failures` and does not affect the others.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an option is wrong, or the model has no word embeddings through which
            gradients flow, or no item can be read.

    References:
        Datta, Kumar, Barnes & Fletcher (2020), "Geometry matters: Exploring language examples at the decision
        boundary", algorithm 1; Zhao, Fletcher, Yu, Peng, Zhang & Shen (2019), "The Adversarial Attack and Detection
        under the Fisher Information Metric", AAAI.

    Example:
        >>> from rightreasons.models.loading import load_classifier
        >>> classifier = load_classifier(folder)  # doctest: +SKIP
        >>> fisher_information(classifier, ["a good film"]).eigenvalues  # doctest: +SKIP
        array([0.0213])
    """
    model = with_gradients(classifier)
    definition = DEFINITION
    run: Callable[..., Columns]
    if isinstance(model, (CausalLM, Prompted)):
        if choices is None or text_pairs is not None or max_length is not None:
            came = "none" if choices is None else "`text_pairs`" if text_pairs is not None else "`max_length`"
            raise ValueError(f"Expected `choices` alone for the causal language model {model.name}, but got {came}.")
        causal = CausalFisher(model, texts, choices, ids=ids)
        items, n_scores = causal.items, causal.counts
        solver = options.solver(int(n_scores.max()))
        definition = DEFINITION.replace("of the item (", f"of the prompt (choices by {causal.method}; ")
        run = functools.partial(causal.run, solver)
    else:
        check_fast(model.tokenizer)
        items = Items.of(
            model, texts, text_pairs=text_pairs, choices=choices, ids=ids, max_length=max_length, allow_empty=True
        )
        n_scores = items.counts if items.joint else np.full(len(items), len(model.label_names or ()))
        solver = options.solver(int(n_scores.max()))
        embedding_input = EmbeddingInput(model.model)

        def compute(inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> Later:
            embeddings = embedding_input.look_up(inputs["input_ids"]).requires_grad_()
            with torch.enable_grad():
                logits = embedding_input.logits(embeddings, inputs)
                leading = solver(logits, embeddings)
            return _columns(leading, logits, embeddings, inputs["attention_mask"])

        run = functools.partial(items.run, "Fisher information", compute, depends={"options": vars(solver)})
    # Only plain attention can be differentiated twice; the faster kernels have no second derivative.
    with sdpa_kernel(SDPBackend.MATH) if solver.power else nullcontext():
        columns = run(batch_size=batch_size, max_tokens=max_tokens, progress=progress, out=out, fail_fast=fail_fast)
    result = _fisher_information(items, columns, n_scores, options, fail_fast)
    return dataclasses.replace(result, definition=definition)


def _columns(leading: FisherEigen, logits: Tensor, embeddings: Tensor, mask: Tensor) -> Later:
    """Return the results of one batch; an item that comes out as NaN stays NaN and does not affect the others."""
    real = mask.unsqueeze(-1).to(embeddings.dtype)
    norms = (embeddings.detach() * real).norm(dim=-1).flatten(1).double().sum(dim=1)
    mean_norm = norms / real.flatten(1).double().sum(dim=1)
    tensors = {
        "logits": logits.double(),
        "eigenvalues": leading.eigenvalues,
        "gradient_norms": leading.gradient_norms,
        "scale": mean_norm**2,
        "error": leading.error,
    }
    if leading.spectrum is not None:
        tensors["spectrum"] = leading.spectrum
    if leading.eigenvector is not None:
        tensors["token_norms"] = (leading.eigenvector * real).norm(dim=-1).flatten(1).double()

    def columns(real: NDArray[np.bool_], *arrays: NDArray[np.float64]) -> dict[str, Column]:
        found: dict[str, Column] = dict(zip(tensors, arrays, strict=True))
        for name in {"logits", "spectrum"} & found.keys():
            found[name] = Ragged.of_table(np.asarray(found[name]))
        if "token_norms" in found:
            found["token_norms"] = Ragged.of(np.asarray(found["token_norms"])[real], real.sum(axis=1))
        return found

    return later(columns, mask.bool().flatten(1), *tensors.values())


def _fisher_information(
    items: Items, columns: Columns, n_scores: NDArray[np.int64], options: FisherOptions, fail_fast: bool
) -> FisherInformation:
    reasons = columns.failures
    columns = columns.filled({"logits": n_scores, "spectrum": n_scores - 1, "token_norms": items.lengths})
    logits = columns.ragged("logits")
    n_tokens = np.add.reduceat(~items.places.special, items.encoded.offsets[items.offsets[:-1]])
    bad = ~np.isfinite(logits.reduce(np.add)) | ~np.isfinite(columns.array("eigenvalues")) | (n_tokens == 0)

    failures = tuple(
        (items.ids[item], reasons.get(item) or _why(items, item, int(n_tokens[item])))
        for item in np.flatnonzero(bad).tolist()
    )
    if failures and fail_fast:
        raise ValueError(failures[0][1])

    def column(name: str) -> NDArray[np.float64]:
        return np.where(bad, np.nan, columns.array(name))

    moved = None
    if options.eigenvector:  # squares of norms add up
        moved = merge_pieces(items, columns.ragged("token_norms").values ** 2, unit=options.unit, merge="sum")
    return FisherInformation(
        ids=items.ids,
        eigenvalues=column("eigenvalues"),
        scale_free=column("eigenvalues") * column("scale"),
        spectrum=columns.ragged("spectrum") if options.spectrum else None,
        gradient_norms=column("gradient_norms"),
        logits=logits.table(),
        error=column("error"),
        tokens=None if moved is None else moved.tokens,
        token_norms=None if moved is None else Ragged(np.sqrt(moved.scores.values), moved.scores.offsets),
        starts=None if moved is None else moved.starts,
        ends=None if moved is None else moved.ends,
        truncated=items.truncated,
        failures=failures,
        label_names=items.classifier.label_names,
    )


def _why(items: Items, item: int, n_tokens: int) -> str:
    if n_tokens == 0:
        return f"Expected a text with tokens, but item {items.ids[item]!r} has none."
    return (
        f"Expected finite logits and gradients, but {items.classifier.name} gave NaN or infinity for item "
        f"{items.ids[item]!r}."
    )
