"""A language model: opened, and its choices scored by their likelihood after the prompt, or jointly, by letter.

The log-likelihoods are those of lm-evaluation-harness.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import transformers

from rightreasons.core.choices import SCORING_METHODS
from rightreasons.core.scores import Scores
from rightreasons.core.validation import check_one_of
from rightreasons.models.classes import OfTransformers
from rightreasons.models.likelihoods import WAYS, likelihood_way, likelihoods, one_by_one, token_likelihoods
from rightreasons.models.loading import (
    HowToOpen,
    check_model,
    check_vocabulary,
    gguf_path,
    load_tokenizer,
    open_weights,
)
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import ChoiceItems
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import ONE_BY_ONE, SHORTEST, Answers
from rightreasons.models.weights import quantized
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from rightreasons.models.likelihoods import Encoder, Prefix, Tokens

JOINT = ("letters",)
"""The methods that see the choices of an item together; the others score each choice by itself."""


@dataclass(frozen=True, eq=False)
class CausalLM(OfTransformers):
    """A causal language model with its tokenizer; the other kinds of language models differ in how they are read.

    Attributes:
        KIND: What it is, for errors.
        OPENED_BY: The class of transformers that opens it.
        ASKED: What an engine can ask of it beside likelihoods.
        WAYS: How requests may be batched, the fastest way first: a trial finds which of them is exact.
        TOLD: What is said of its answers beside the way; "" where there is nothing to say.
        SURROUNDED: Whether special tokens stand around all that is read, so that a prompt may be empty.
        model: A model of transformers with a language-modeling head, in evaluation mode.
        tokenizer: Its tokenizer.
        name: What the user called it.
        method: How `choose` scores its choices by default; one of `SCORING_METHODS`.
    """

    model: Any
    tokenizer: Any
    name: str
    method: str = "mean"

    KIND: ClassVar[str] = "causal language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForCausalLM
    ASKED: ClassVar[frozenset[Ability]] = frozenset({"next_words", "text"})
    WAYS: ClassVar[Sequence[str]] = WAYS
    TOLD: ClassVar[str] = ""
    SURROUNDED: ClassVar[bool] = False

    @property
    def label_names(self) -> None:
        """None: it scores choices and has no classes."""
        return None

    @property
    def abilities(self) -> frozenset[Ability]:
        """Likelihoods of choices, items shared by processes, and gradients where they are known to pass."""
        able: set[Ability] = {"likelihoods", "processes"}
        return frozenset(able if quantized(self.model) else able | {"gradients"})

    @property
    def joint(self) -> bool:
        """Whether the choices of an item are seen together: they are by letters."""
        return self.method in JOINT

    @property
    def start_token(self) -> int | None:
        """The token that takes the place of an empty prompt: begin of sequence, else end of sequence, else None."""
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        return next((int(token) for token in tokens if token is not None), None)

    @property
    def opening(self) -> dict[str, Any]:
        """Settings of generation that say how an answer begins where the prompt is not before it; {} where it is."""
        return {}

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt before a continuation of `size` tokens, whose last is not read."""
        return bound + 1 - size

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield the tokens of each text, and of each of its continuations.

        Both are tokenized together, and the tokens beyond as many as the text has by itself are those of the
        continuation. Special tokens at the end of a text ([SEP] or </s>) are left out.

        Args:
            encode: Tokenizes texts.
            heads: N texts.
            texts: N lists of continuations, exactly as they follow.
            bare: Whether the texts have all of their special tokens.
        """
        with_start = encode.bare if bare else encode
        before = with_start(heads)
        whole = iter(with_start([head + text for head, row in zip(heads, texts, strict=True) if head for text in row]))
        alone = iter(encode.bare([text for head, row in zip(heads, texts, strict=True) if not head for text in row]))
        for head, row, tokens in zip(heads, texts, before, strict=True):
            first = tokens if head else []
            joined = list(itertools.islice(whole if head else alone, len(row)))
            parts = [tokens[len(first) :] for tokens in joined]
            if bare:  # a text that has its tokens ends where it ends: what follows does not change those before
                parts = [
                    part if tokens[: len(first)] == first else encode.bare([text])[0]
                    for part, tokens, text in zip(parts, joined, row, strict=True)
                ]
            if not head:  # a text that begins with the start token is its own prompt
                parts = [part[1:] if encode.start and part[:1] == encode.start else part for part in parts]
            yield first or encode.start, parts

    def score(
        self, items: Sequence[Tokens], way: str, prefix: Prefix | None = None
    ) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the log-likelihood of each continuation of each item, as `likelihoods` says."""
        return likelihoods(self.model, items, way, prefix)

    def answers(self, items: Sequence[Tokens], way: str, name: str | None = None) -> Answers:
        """Answer the items of a trial in a way; the arguments are those of `one_by_one`."""
        return one_by_one(self.model, items, name) if way == ONE_BY_ONE else token_likelihoods(self.model, items, way)()

    def try_out(self) -> None:
        """Try it on a few short sequences.

        Raises:
            ValueError: If it cannot be asked.
        """
        likelihood_way(self, longest=SHORTEST)

    def describe(self) -> dict[str, Any]:
        """Return the architecture, what its weights are, and how choices are scored."""
        return {**super().describe(), "method": self.method}

    def predict(self, texts: Sequence[str], **how: Any) -> Scores:
        """Refuse: a language model has no classes."""
        raise ValueError(
            f"Expected a scorer of classes where there are no choices, but {self.name} is a language model without a "
            "prompt: `Prompted` gives it one."
        )

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        method: str | None = None,
        ids: Iterable[object] | None = None,
        fail_fast: bool = True,
        **how: Any,
    ) -> Scores:
        r"""Score the choices of every item.

        With l(a | p) = sum_t log P(a_t | p, a_<t), the log-likelihood of the tokens of a space and the choice after p,
        `loglikelihood` of the pair in lm-evaluation-harness:

            sum            l(a | p)
            mean           l(a | p) / number of tokens of a
            unconditional  l(a | p) - l(a | p0), p0 the empty prompt (Holtzman et al. 2021, PMI_DC)
            letters        log P(letter | p, all choices with letters, "Answer:"): the model sees the choices together

        Args:
            prompts: N prompts; an empty one is read as the tokenizer's start token.
            choices: N lists of at least two texts.
            method: "mean" (default), "sum", "unconditional" or "letters"; None takes that of the model.
            ids: N unique ids; by default "0", "1", …
            fail_fast: Whether an item that cannot be scored is an error (default). If not, it is left out, and
                `failures` has its id and the reason.
            **how: `labels`, (N,) the index of the right choice, -1 where there is none; `progress` and `out`, a folder
                for the results, from which a killed run resumes; `max_tokens` per padded batch (4096), which a single
                item may exceed; and `shared_prefix`, whether a prompt may be encoded once per item rather than once per
                choice, and what many prompts begin with once in all (True): it is where the model's trial finds it
                exact.

        Returns:
            ids, the scores of the choices ((N, C) where all items have C choices, else `Ragged`), labels, how many
            prompts were cut (at their beginning) to fit the model, and what was left out.

        Raises:
            TypeError: If a column is of the wrong kind.
            ValueError: If columns differ in length, an item has fewer than two choices, or a score is not finite (the
                item is named).

        References:
            Holtzman et al. (2021), "Surface Form Competition: Why the Highest Probability Answer Isn't Always Right",
            EMNLP.
        """
        items = ChoiceItems.of(prompts, choices, ids=ids, labels=how.pop("labels", None), allow_empty=not fail_fast)
        reading = {name: how.pop(name) for name in ("max_tokens", "shared_prefix") if name in how}
        wordless = items.wordless()
        rows = [row for row in range(len(items.ids)) if row not in wordless]
        if not rows:
            raise ValueError(wordless[0])
        scores = bare(self, method, **reading).choose(
            [items.prompts[row] for row in rows],
            [items.choices[row] for row in rows],
            ids=[items.ids[row] for row in rows],
            labels=None if items.labels is None else items.labels[rows],
            **how,
        )
        if fail_fast and scores.failures:
            raise ValueError(next(iter(scores.failures.values())))
        failures = {**scores.failures, **{items.ids[row]: reason for row, reason in wordless.items()}}
        return dataclasses.replace(scores, failures={name: failures[name] for name in items.ids if name in failures})


Model = TypeVar("Model", bound=CausalLM)


def load_causal(name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]) -> CausalLM:
    """Load a causal language model and its tokenizer, and try it on a few short sequences.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        **how: `revision`, `device` and `dtype`, as `HowToOpen` says.

    Returns:
        The model, in evaluation mode.

    Raises:
        ValueError: If there is no such model, or it is not a causal language model, or its tokenizer is missing, or the
            trial finds that it cannot be asked.
    """
    return open_language_model(CausalLM, name_or_path, how)


def open_language_model(kind: type[Model], name_or_path: str | os.PathLike[str], how: HowToOpen) -> Model:
    """Open a language model of a kind, and try it; the errors are those of `load_causal`.

    Args:
        kind: `CausalLM`, or a kind that is read in another way.
        name_or_path: A folder, a hub id, or a GGUF file.
        how: `revision`, `device` and `dtype`.
    """
    path = gguf_path(name_or_path)
    name = check_model(name_or_path) if path is None else str(path.parent)
    options: dict[str, Any] = {} if path is None else {"gguf_file": path.name}
    model, absent = open_weights(kind.OPENED_BY, kind.KIND, name, how, **options)
    if absent:
        raise ValueError(
            f"Expected {name} to be a {kind.KIND}, but its checkpoint lacks the weights {', '.join(absent[:3])}."
        )
    tokenizer = load_tokenizer(name, how.get("revision"), **options)
    check_vocabulary(model, tokenizer, name)
    scorer = kind(model, tokenizer, os.fspath(name_or_path))
    scorer.try_out()
    return scorer


def bare(scorer: CausalLM, method: str | None = None, **reading: Any) -> Prompted:
    """Return a causal language model as a scorer that is asked prompts as they are.

    Args:
        scorer: The model.
        method: One of `SCORING_METHODS`; None takes the model's.
        **reading: As in `LocalEngine`.
    """
    method = check_one_of(scorer.method if method is None else method, SCORING_METHODS, "method")
    if method == "letters":
        template = "{{ prompt }}\n{{ options }}"
        prompt = Prompt(chat="off", template=template, style=method, answer_prefix="Answer:", scoring="sum")
    else:
        prompt = Prompt(chat="off", template="{{ prompt }}", style="words", scoring=method)
    return Prompted(prompt, LocalEngine(scorer, **reading))
