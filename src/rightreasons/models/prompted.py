"""A scorer made of a prompt and a language model, for items of classification and multiple choice.

`Prompted` puts items into words by `Rendering`, asks an engine, and turns likelihoods or generated
answers into scores. Generated answers are read by `ReplyReader`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.replies import WITHHELD, Reply
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
    make_items,
    wordless,
)
from rightreasons.models.protocol import BRIEF, Ability, Answers, Engine, Generation, Request
from rightreasons.models.replies.answers import Reading
from rightreasons.models.replies.gates import N_FIRST, check_first_answers
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.reading import UNREAD, ReplyReader, count_layers, describe_layers
from rightreasons.models.replies.repair import SecondReader
from rightreasons.models.wording import LIKELIHOODS, Prompt

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.audited.logged_arms import LoggedArms
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
        unserved: Items of the same whose request failed, was filtered, or was refused: no answer of the model.
        assumed: What an answer that cannot be read counts as, "right" or "wrong"; "" leaves its item without a score.
        logged_arms: Answers to changed versions of the items, if a log stands for the model; None otherwise.

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
        self.rendering = Rendering.settle(
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
        self.unserved: set[str] = set()
        self.assumed = ""
        self._is_checked = False
        self.logged_arms: LoggedArms | None = None
        self.second_reader: SecondReader | None = None
        is_repaired = self.rendering.chat if prompt.repair == "auto" else prompt.repair == "on"
        if is_repaired and self.rendering.scoring == "generated":
            self.second_reader = SecondReader(engine, seed=self.seed)
        self._known: dict[str, list[Reading]] = {}

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the engine, the prompt with nothing left open, the examples and the seed."""
        return self._digest(self.prompt)

    @functools.cached_property
    def asked(self) -> str:
        """The same digest but for what is asked alone: answers that are read in another way are not new ones."""
        return self._digest(self.prompt.replace(pattern=None, repair="auto"))

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
            "readings": count_layers(self.reader.readings),
            "finish": dict(
                Counter(reply.finish for replies in self.replies.values() for reply in replies)
            ),
        }

    @functools.cached_property
    def reader(self) -> ReplyReader:
        """The reader of generated answers."""
        return ReplyReader(
            self.rendering,
            pattern=self.prompt.pattern,
            second=self.second_reader,
            known_readings=self._known,
        )

    def server(self, out: str | os.PathLike[str] | None = None) -> dict[str, Any] | None:
        """Return the server's trial and its costs; None where the model is here.

        Args:
            out: A folder of answers that the costs are about; None for this run as a whole.
        """
        describe = getattr(self.engine, "describe", None)
        return None if describe is None else dict(describe(out))

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
        return self.score_items(make_items(names, text=first, text_pair=pairs), gold, **how)

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
        items = ChoiceItems.check(prompts, choices, ids=ids, labels=labels, allow_empty=True)
        return self.score_items(items.items(), items.labels, **how)

    def assuming(self, assumed: str) -> Prompted:
        """Return a scorer that gives the answers that this one was given, and asks nothing more.

        Args:
            assumed: What an answer that cannot be read counts as, where the right one is known: "right" or "wrong".
        """
        other = copy.copy(self)
        other.engine, other.assumed = cast("Engine", _Told(self.engine, self.replies)), assumed
        other.failures, other.replies, other.unserved = {}, {}, set()
        other.__dict__.pop("reader", None)
        other._known = dict(self.reader.readings)
        other.second_reader = None
        other._is_checked = True
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
        self.unserved |= failures.keys()
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
        # The first answers are read before the others cost anything.
        n_first = 0
        if not self._is_checked and len(items) > N_FIRST:
            n_first = N_FIRST
        results = []
        for start, stop, folder in (
            (0, n_first, "answers-first"),
            (n_first, len(items), "answers"),
        ):
            if start < stop:
                results.append(
                    self._generate(items[start:stop], requests[start:stop], folder, **how)
                )
            self._check_first(results)

        failures: dict[str, str] = {}
        replies: list[list[Reply]] = []
        readings: list[list[Reading]] = []
        for answers, answer_readings in results:
            failures |= answers.failures
            replies += answers.replies
            readings += answer_readings
        rows = []
        for item, item_replies, item_readings in zip(items, replies, readings, strict=True):
            counts = self._count_answers(item, item_readings)
            if item.id not in failures and not any(counts):
                failures[item.id] = _explain_unread(item_replies[0])
            # A share of 0 has no logarithm; the least positive number stands for it.
            shares = np.array(counts) / max(sum(counts), 1)
            rows.append(np.log(np.maximum(shares, np.finfo(np.float64).tiny)))
        way = "; ".join(filter(None, [results[-1][0].way, _describe_readings(replies, readings)]))
        truncated = sum(answers.truncated for answers, _ in results)
        return rows, failures, truncated, way

    def _generate(
        self,
        items: Sequence[Item],
        requests: Sequence[Request],
        folder: str,
        **how: Unpack[HowToKeep],
    ) -> tuple[Answers, list[list[Reading]]]:
        """Return the replies to items, and their readings."""
        out = how.get("out")
        is_constrained = self.rendering.form == "constrained"
        answers = self.engine.generate(
            requests,
            options=self.generation(n=self.prompt.samples).replace(constrained=is_constrained),
            progress=how.get("progress", True),
            out=get_results_subfolder(out, folder),
        )
        self.unserved |= answers.failures.keys()
        for item, replies in zip(items, answers.replies, strict=True):
            self.replies[item.id] = replies
            # What a filter stopped, or the model refused, is no attempt at an answer.
            if replies and all(reply.finish in WITHHELD for reply in replies):
                self.unserved.add(item.id)
        repairs = get_results_subfolder(out, f"{folder}-repair")
        return answers, self.reader.read(items, answers.replies, out=repairs)

    def _check_first(self, results: Sequence[tuple[Answers, list[list[Reading]]]]) -> None:
        """Raise an error if most of the first answers cannot be read."""
        if self._is_checked or not results:
            return
        self._is_checked = True
        unread = []
        n_answers = 0
        for answers, readings in results:
            for replies, row in zip(answers.replies, readings, strict=True):
                n_answers += len(row)
                for reply, reading in zip(replies, row, strict=True):
                    # A refusal is an outcome: it has no answer that could be read otherwise.
                    is_text = reply.finish in ("stop", "length", "thinking")
                    if reading.answer == NO_ANSWER and is_text:
                        unread.append(reply.text or reply.no_answer_reason)
        check_first_answers(unread, n_answers, self.name)

    def _count_answers(self, item: Item, readings: Sequence[Reading]) -> list[int]:
        """Return how many replies give each answer of an item."""
        counts = [0] * len(self.rendering.texts(item))
        for reading in readings:
            if reading.answer != NO_ANSWER:
                counts[reading.answer] += 1
        if self.assumed and item.label >= 0 and readings and not any(counts):
            incorrect = (item.label + 1) % len(counts)
            counts[item.label if self.assumed == "right" else incorrect] = 1
        return counts

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
        """Return which answer the form of a reply gives to an item, or `NO_ANSWER`."""
        return self.reader.find(item, reply).answer


def _explain_unread(reply: Reply) -> str:
    """Return why a reply gives no answer."""
    return reply.no_answer_reason or f"no answer in {reply.text.strip()[:80]!r}"


def _describe_readings(
    replies: Sequence[Sequence[Reply]], readings: Sequence[Sequence[Reading]]
) -> str:
    """Return in words how many answers were read, by which layer, and why others were not."""
    reasons: Counter[str] = Counter()
    for item_replies, item_readings in zip(replies, readings, strict=True):
        for reply, reading in zip(item_replies, item_readings, strict=True):
            if reading.answer == NO_ANSWER:
                reasons[reply.no_answer_reason or UNREAD] += 1
    total = sum(map(len, replies))
    sentence = f"{sum(reasons.values())} of {total} generated answers give no answer"
    named = [f"{count} {reason}" for reason, count in reasons.most_common() if reason != UNREAD]
    if named:
        sentence += f" ({', '.join(named)})"
    layers = describe_layers(count_layers(dict(enumerate(readings))))
    return f"{sentence}; read: {layers}" if layers else sentence


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
