"""A scorer made of a prompt and a language model: it answers items of classification and of multiple choice."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.replies import Reply
from rightreasons.core.scores import Scores
from rightreasons.core.store import digest_value, get_results_subfolder
from rightreasons.core.validation import (
    check_ids,
    check_labels,
    check_same_length,
    check_seed,
    check_texts,
)
from rightreasons.models.prompts import (
    ChoiceItems,
    Examples,
    Item,
    Rendering,
    distinct_texts,
    items_of,
    wordless,
)
from rightreasons.models.protocol import BRIEF, Ability, Answers, Engine, Generation, Request
from rightreasons.models.replies.answers import NO_ANSWER, read_answer
from rightreasons.models.wording import LIKELIHOODS, Prompt

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep

_ABLE: Mapping[Ability, tuple[str, ...]] = {
    "likelihoods": LIKELIHOODS,
    "next_words": ("next_words",),
    "text": ("generated",),
}


class Prompted:
    r"""A `Scorer` that asks a language model through a prompt.

    With l(a | x) the log-likelihood of the answer a, as many tokens as it has, after what is asked about x, the scores
    of the answers are

        sum            l(a | x)
        mean           l(a | x) / number of tokens of a
        unconditional  l(a | x) - l(a | x0), x0 the prefix of the answer alone (Holtzman et al. 2021, PMI_DC)
        next_words     the log-probability of the first token of a
        generated      log of the share of generated answers that give a

    An answer is its own words, or with `style` its letter or number. Their softmax over an item's answers is its
    confidence. Of one generated answer it is 1: an answer has no confidence by itself. An item of which no generated
    answer can be read has no score; `Scores.failures` names it, and `Scores.way` tells the rate.

    Args:
        prompt: How items are asked.
        engine: The model.
        label_names: The names of the K classes; None for a scorer of choices.
        examples: Labeled items for few-shot examples, which `prompt.shots` asks for.
        seed: Decides few-shot examples and drawn answers.

    Attributes:
        abilities: What the engine can do.
        joint: Whether the choices of an item are in what is asked.
        answers_once: Whether an item has one generated answer, and so no confidence.
        n_parameters: Number of parameters of the model; None where it is not in this process.
        failures: Item, of whatever was asked so far -> why it has no score.
        replies: Item of the same -> what the model wrote.
        assumed: What an answer that cannot be read counts as, "right" or "wrong"; "" leaves its item without a score.

    Raises:
        ValueError: If the model has no chat template where one is asked for, or cannot do what the scoring needs, the
            template or the label words do not fit, or there are no examples.

    References:
        Holtzman et al. (2021), "Surface Form Competition", EMNLP.
    """

    def __init__(
        self,
        prompt: Prompt,
        engine: Engine,
        label_names: Sequence[str] | None = None,
        *,
        examples: Examples | None = None,
        seed: int = 0,
    ) -> None:
        if label_names is not None and len(label_names) < 2:
            raise OptionError(
                f"Expected at least two labels to choose from, but the data has {len(label_names)}"
                f"{''.join(f', {name!r}' for name in label_names)}: `label_names` names them all.",
                option="label_names",
            )
        self.prompt, self.engine, self.name = prompt, engine, engine.name
        self.label_names = None if label_names is None else tuple(label_names)
        self.examples, self.seed = examples, check_seed(seed)
        if prompt.shots and (examples is None or not examples.items):
            raise ValueError(
                f"Expected a labeled training split for {prompt.shots} few-shot examples, but there is none."
            )
        self.rendering = Rendering.of(
            prompt,
            chat=_chat(prompt, engine),
            scorings=_scorings(prompt, engine, thinks=_chat(prompt, engine) and engine.thinks),
            label_names=self.label_names,
            constrains="constrained_text" in engine.abilities,
        )
        if self.rendering.form == "constrained" and "constrained_text" not in engine.abilities:
            raise OptionError(
                f"Expected a server that holds answers to given ones where `form` is 'constrained', but {engine.name} "
                "does not: form='line' asks for one line.",
                option="form",
            )
        self.abilities, self.joint = engine.abilities, self.rendering.joint
        self.answers_once = self.rendering.scoring == "generated" and prompt.samples == 1
        model = getattr(engine, "model", None)
        self.n_parameters = None if model is None else int(model.num_parameters())
        self._example: Request | None = None
        self._way = ""
        self.failures: dict[str, str] = {}
        self.replies: dict[str, list[Reply]] = {}
        self.assumed = ""

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the engine, the prompt with nothing left open, the examples and the seed."""
        return self._digest(self.prompt)

    @functools.cached_property
    def asked(self) -> str:
        """The same digest but for what is asked alone: answers that are read by another `pattern` are not new ones."""
        return self._digest(self.prompt.replace(pattern=None))

    def _digest(self, prompt: Prompt) -> str:
        rendering = self.rendering
        parts = [
            self.engine.fingerprint, prompt.to_dict(), rendering.task, rendering.template, rendering.style,
            rendering.scoring, rendering.chat, rendering.answer_prefix, rendering.label_words, rendering.form,
            rendering.order, self.seed, [(item.id, dict(item.fields), item.label) for item in self.examples.items]
            if self.prompt.shots and self.examples else [],
        ]  # fmt: skip
        return digest_value(parts)

    def describe(self) -> dict[str, Any]:
        """Return the prompt as asked, verbatim, and the first item that was asked, as the model read it."""
        rendering = self.rendering
        fields: dict[str, Any] = {"text": "(text)", "text_pair": None}
        if self.label_names is None:
            fields = {"prompt": "(prompt)", "choices": ["(first choice)", "(second choice)"]}
        example = self._example or rendering.request(Item("", fields))
        return {
            **{
                name: getattr(rendering, name)
                for name in ("template", "chat", "style", "scoring", "answer_prefix")
            },
            **{
                name: getattr(self.prompt, name)
                for name in ("system", "shots", "pattern", "samples", "thinking")
            },
            "label_words": list(rendering.label_words),
            "form": rendering.form if rendering.scoring == "generated" else "",
            "example": self.engine.render(example.prompt),
            "answers": list(example.continuations),
            "way": self._way,
            "finish": dict(
                Counter(reply.finish for replies in self.replies.values() for reply in replies)
            ),
        }

    def server(self) -> dict[str, Any] | None:
        """Return the server's trial and what was asked of it so far; None where the model is here."""
        describe = getattr(self.engine, "describe", None)
        return None if describe is None else dict(describe())

    def predict(
        self,
        texts: Sequence[str],
        *,
        text_pairs: Sequence[str] | None = None,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **how: Unpack[HowToKeep],
    ) -> Scores:
        """Score the classes of N texts, as `rightreasons.models.classes.predict` does of a classifier.

        Raises:
            ValueError: If this is a scorer of choices, columns differ in length, or a label is no class.
        """
        if self.label_names is None:
            raise ValueError(
                f"Expected a scorer of classes, but {self.name} is asked for choices: use `choose`."
            )
        first = check_texts(texts, "texts", allow_empty=True)
        pairs = (
            [None] * len(first)
            if text_pairs is None
            else check_texts(text_pairs, "text_pairs", allow_empty=True)
        )
        names = check_ids(range(len(first)) if ids is None else ids, "ids")
        check_same_length(
            texts=first, text_pairs=pairs, ids=names, labels=first if labels is None else labels
        )
        gold = (
            None
            if labels is None
            else check_labels(labels, len(self.label_names), name="labels", minimum=-1)
        )
        return self.score_items(items_of(names, text=first, text_pair=pairs), gold, **how)

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **how: Unpack[HowToKeep],
    ) -> Scores:
        """Score the choices of N items, as `rightreasons.models.choices.choose` does.

        Raises:
            ValueError: If this is a scorer of classes, columns differ in length, or a label is no choice of its item.
        """
        if self.label_names is not None:
            raise ValueError(
                f"Expected a scorer of choices, but {self.name} is asked for classes: use `predict`."
            )
        items = ChoiceItems.of(prompts, choices, ids=ids, labels=labels, allow_empty=True)
        return self.score_items(items.items(), items.labels, **how)

    def assuming(self, assumed: str) -> Prompted:
        """Return a scorer that gives the answers that this one was given, and asks nothing more.

        Args:
            assumed: What an answer that cannot be read counts as, where the right one is known: "right" or "wrong".
        """
        other = copy.copy(self)
        other.engine, other.assumed = cast("Engine", _Told(self.engine, self.replies)), assumed
        other.failures, other.replies = {}, {}
        return other

    def shots(self, item: Item) -> list[Item]:
        """Return the few-shot examples of an item."""
        count = self.prompt.shots
        return (
            []
            if self.examples is None or not count
            else self.examples.draw(item, count, seed=self.seed)
        )

    def score_items(
        self, items: Sequence[Item], gold: NDArray[np.int64] | None, **how: Unpack[HowToKeep]
    ) -> Scores:
        """Score the answers of items as they are asked; `gold` are the right ones, None for those of the items."""
        rendering = self.rendering
        if gold is not None:
            items = [
                dataclasses.replace(item, label=int(label))
                for item, label in zip(items, gold, strict=True)
            ]
        requests = [rendering.request(item, self.shots(item)) for item in items]
        if self._example is None and requests:
            self._example = requests[0]
        ask = self._generated if rendering.scoring == "generated" else self._likely
        names = [item.id for item in items]
        empty = (
            {}
            if rendering.scoring == "generated"
            else wordless(names, [each.continuations for each in requests])
        )
        places = [place for place in range(len(items)) if place not in empty]
        if empty and not places:
            raise ValueError(next(iter(empty.values())))
        rows, failures, truncated, self._way = ask(
            [items[place] for place in places], [requests[place] for place in places], **how
        )
        failures |= {names[place]: why for place, why in empty.items()}
        self.failures |= failures
        kept = {
            place: row
            for place, row in zip(places, rows, strict=True)
            if names[place] not in failures
        }
        able = [*kept]
        logits = Ragged.of(
            np.concatenate([np.empty(0), *kept.values()]), [*map(len, kept.values())]
        )
        return Scores(
            tuple(names[place] for place in able),
            logits.table() if able else np.empty((0, len(self.label_names or ()))),
            None if gold is None else gold[able],
            self.label_names,
            truncated,
            way=self._way,
            failures=failures,
        )

    # --------------------------------------------------------------------------------------------------------- private

    def _likely(
        self, items: Sequence[Item], requests: Sequence[Request], **how: Unpack[HowToKeep]
    ) -> tuple[list[NDArray[np.float64]], dict[str, str], int, str]:
        """Return a row of scores per item, why some have none, how many were cut, and the way in words."""
        rendering, out = self.rendering, how.get("out")
        ask = (
            self.engine.next_words if rendering.scoring == "next_words" else self.engine.likelihoods
        )
        seen = _Distinct(requests)
        found = ask(
            seen.requests,
            progress=how.get("progress", True),
            out=get_results_subfolder(out, "items"),
        )
        rows, failures = seen.rows(found.values), seen.failures(found.failures)
        if rendering.scoring == "mean":
            rows = [row / size for row, size in zip(rows, seen.rows(found.lengths), strict=True)]
        if rendering.scoring == "unconditional":
            # What failed is not asked again: it would take along the items that share its request.
            able = [place for place, item in enumerate(items) if item.id not in failures]
            alone = _Distinct([rendering.without_item(items[place]) for place in able])
            known = self.engine.likelihoods(
                alone.requests, progress=False, out=get_results_subfolder(out, "alone")
            )
            failures |= alone.failures(known.failures)
            for place, row in zip(able, alone.rows(known.values), strict=True):
                rows[place] = rows[place] - row
        return rows, failures, found.truncated, found.way

    def _generated(
        self, items: Sequence[Item], requests: Sequence[Request], **how: Unpack[HowToKeep]
    ) -> tuple[list[NDArray[np.float64]], dict[str, str], int, str]:
        """Return a row of log shares per item, why some have none, how many were cut, and the way in words."""
        prompt, rendering = self.prompt, self.rendering
        found = self.engine.generate(
            requests,
            options=self.generation(n=prompt.samples).replace(
                constrained=rendering.form == "constrained"
            ),
            progress=how.get("progress", True),
            out=get_results_subfolder(how.get("out"), "answers"),
        )
        rows, failures = list[NDArray[np.float64]](), dict(found.failures)
        lacks: Counter[str] = Counter()
        for item, replies in zip(items, found.replies, strict=True):
            self.replies[item.id] = replies
            counts, lacking = [0] * len(rendering.texts(item)), list[str]()
            for reply in replies:
                place = self.read(item, reply)
                if place == NO_ANSWER:
                    lacks[reply.no_answer_reason or "give no answer"] += 1
                    lacking.append(
                        reply.no_answer_reason or f"no answer in {reply.text.strip()[:80]!r}"
                    )
                else:
                    counts[place] += 1
            if item.id not in failures and not any(counts):
                if self.assumed and item.label >= 0:
                    counts[
                        item.label if self.assumed == "right" else (item.label + 1) % len(counts)
                    ] = 1
                else:
                    failures[item.id] = lacking[0]
            # A share of 0 has no logarithm; the least positive number stands for it.
            rows.append(
                np.log(
                    np.maximum(np.array(counts) / max(sum(counts), 1), np.finfo(np.float64).tiny)
                )
            )
        total = sum(map(len, found.replies))
        rate = f"{sum(lacks.values())} of {total} generated answers give no answer"
        named = ", ".join(
            f"{count} {lack}" for lack, count in lacks.most_common() if lack != "give no answer"
        )
        way = "; ".join(filter(None, [found.way, rate + (named and f" ({named})")]))
        return rows, failures, found.truncated, way

    def generation(
        self, *, n: int = 1, temperature: float | None = None, brief: int = BRIEF
    ) -> Generation:
        """Return how answers are generated.

        Args:
            n: Answers per item.
            temperature: Their temperature; None takes that of the prompt, or 0 for one and 1 for several.
            brief: Maximum tokens where the prompt names none and the model answers at once.
        """
        prompt, chat = self.prompt, self.rendering.chat
        degree = prompt.temperature if temperature is None else temperature
        return Generation(
            n=n,
            temperature=(0.0 if n == 1 else 1.0) if degree is None else degree,
            top_p=prompt.top_p,
            max_new_tokens=prompt.max_new_tokens
            or (max(brief, self.engine.budget) if chat else brief),
            stop=prompt.stop or (() if chat else ("\n\n",)),
            seed=self.seed,
            thinking_tags=prompt.thinking_tags,
        )

    def read(self, item: Item, reply: Reply) -> int:
        """Return which answer a reply gives to an item, by `read_answer`; `NO_ANSWER` for one that gives none."""
        if reply.no_answer_reason and reply.finish != "length":
            return NO_ANSWER
        answers, texts = self.rendering.answers(item), self.rendering.texts(item)
        places = self.rendering.places(
            len(texts)
        )  # a list that is repeated is one in the order that is shown
        place = read_answer(
            reply.text,
            [answers[place] for place in places],
            others=() if self.rendering.style == "words" else [texts[place] for place in places],
            pattern=self.prompt.pattern,
            cut=reply.finish == "length",
        )
        return NO_ANSWER if place == NO_ANSWER else places[place]


def prompted_of(scorer: object) -> Prompted | None:
    """Return a scorer that is asked through a prompt; None for any other."""
    return scorer if isinstance(scorer, Prompted) else None


class _Told:
    """An engine that is asked nothing more: it gives the replies that it gave, by the names of their requests."""

    def __init__(self, engine: Engine, replies: Mapping[str, list[Reply]]) -> None:
        self._engine, self._replies = engine, replies

    def generate(self, requests: Sequence[Request], **how: Any) -> Answers:
        known = {request.name: self._replies.get(request.name, []) for request in requests}
        return Answers(
            [*known.values()], {name: "not asked" for name, replies in known.items() if not replies}
        )

    def __getattr__(self, name: str) -> Any:
        if name in ("likelihoods", "next_words"):
            raise ValueError(f"Expected nothing more to be asked of {self._engine.name}.")
        return getattr(self._engine, name)


class _Distinct:
    """Requests that ask the same are asked once, with every answer that one of them asks about.

    So an item under several probes costs only what differs, and an answer has exactly the same score everywhere.

    Args:
        requests: N requests.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        self._asked = requests
        texts, self._places = distinct_texts(
            [str(request.prompt) for request in requests],
            [request.continuations for request in requests],
        )
        first = dict(
            zip((group for group, _ in reversed(self._places)), reversed(requests), strict=True)
        )
        self.requests = [
            dataclasses.replace(first[group], continuations=tuple(texts_of))
            for group, texts_of in enumerate(texts)
        ]

    def rows(self, values: Ragged) -> list[NDArray[np.float64]]:
        """Return the values of each request, in the order of its answers."""
        return [
            np.asarray(values[group], dtype=np.float64)[places] for group, places in self._places
        ]

    def failures(self, failures: Mapping[str, str]) -> dict[str, str]:
        """Return why some of the requests have no answer."""
        return {
            request.name: failures[self.requests[group].name]
            for request, (group, _) in zip(self._asked, self._places, strict=True)
            if self.requests[group].name in failures
        }


def _chat(prompt: Prompt, engine: Engine) -> bool:
    if prompt.chat == "on" and not engine.has_template:
        raise OptionError(
            f"Expected a model with a chat template where `chat` is 'on', but {engine.name} has none: chat='off' asks "
            "without one.",
            option="chat",
        )
    return engine.has_template if prompt.chat == "auto" else prompt.chat == "on"


def _scorings(prompt: Prompt, engine: Engine, *, thinks: bool) -> list[str]:
    """Return the scorings that an engine is able to; one that is asked for must be among them."""
    able = [
        scoring
        for ability, scorings in _ABLE.items()
        if ability in engine.abilities
        for scoring in scorings
    ]
    able = [scoring for scoring in able if scoring == "generated" or not thinks]
    if prompt.scoring != "auto" and prompt.scoring not in able:
        listed = ", ".join(able) or "none"
        why = ". It thinks before it answers: thinking='off' asks it without, scoring='generated' waits for its answer"
        raise OptionError(
            f"Expected a scoring that {engine.name} is able to ({listed}), but got scoring={prompt.scoring!r}"
            f"{why if thinks else ''}.",
            option="scoring",
        )
    if not able:
        raise ValueError(
            f"Expected a model that scores or generates answers, but {engine.name} does neither."
        )
    return able
