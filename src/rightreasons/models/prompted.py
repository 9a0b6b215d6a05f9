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
from rightreasons.models.distinct_requests import DistinctRequests, ReplayedEngine
from rightreasons.models.prompts import (
    ChoiceItems,
    Examples,
    Item,
    Rendering,
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

SCORINGS_BY_ABILITY: Mapping[Ability, tuple[str, ...]] = {
    "likelihoods": LIKELIHOODS,
    "next_words": ("next_words",),
    "text": ("generated",),
}
"""Ability of an engine -> the scorings that it is enough for."""

TEXT_FINISHES = ("stop", "length", "thinking")
"""Ends of replies that are texts. A refusal has no answer that could be read in another way."""

MAX_QUOTED = 80
"""Characters of an unread answer that its reason quotes."""

_RENDERING_FIELDS = ("template", "chat", "style", "scoring", "answer_prefix")
_PROMPT_FIELDS = ("system", "shots", "pattern", "samples", "thinking")


@dataclasses.dataclass
class _Scored:
    """Scores of items before they are laid out.

    Attributes:
        rows: N rows of scores, one value per answer.
        failures: Item -> why it has no score.
        n_truncated: Number of items whose text was truncated.
        way: How the scores came about, in words.
    """

    rows: list[NDArray[np.float64]]
    failures: dict[str, str]
    n_truncated: int
    way: str


class Prompted:
    r"""A `Scorer` that asks a language model through a prompt.

    With l(a | x) the log-likelihood of the answer a, summed over its tokens, after what is asked
    about x, the scores of the answers are

        sum            l(a | x)
        mean           l(a | x) / number of tokens of a
        unconditional  l(a | x) - l(a | x0), x0 the prefix of the answer alone (Holtzman et al.
        2021, PMI_DC) next_words     the log-probability of the first token of a
        generated      log of the share of generated answers that give a

    An answer is its own words, or with `style` its letter or number. The softmax over an item's
    answers is its confidence. Of one generated answer it is 1: an answer alone has no confidence.
    An item without a readable generated answer has no score; `Scores.failures` names it, and
    `Scores.way` states the rate.

    Args:
        prompt: How items are asked.
        engine: The model.
        label_names: Names of the K classes. None for a scorer of choices.
        examples: Labeled items for few-shot examples, which `prompt.shots` asks for.
        seed: Seed of few-shot examples and drawn answers.

    Attributes:
        abilities: What the engine can do.
        joint: Whether the choices of an item are in what is asked.
        answers_once: Whether an item has one generated answer, and so no confidence.
        n_parameters: Number of parameters of the model. None if it is not in this process.
        failures: Item -> why it has no score, of all items that were asked so far.
        replies: Item -> what the model wrote, of the same items.
        unserved: Those of these items whose request failed, was filtered, or was refused: they have
            no answer of the model.
        assumed: What an answer that cannot be read counts as, "right" or "wrong"; "" leaves its
            item without a score.
        logged_arms: Answers to changed versions of the items, if a log replaces the model; None
            otherwise.

    Raises:
        ValueError: If the model has no chat template although one is asked for, or cannot do what
            the scoring needs, the template or the label words do not fit, or there are no examples.

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
        _check_label_names(label_names)
        self.prompt = prompt
        self.engine = engine
        self.name = engine.name
        self.label_names = None if label_names is None else tuple(label_names)
        self.examples = examples
        self.seed = check_seed(seed)
        if prompt.shots and (examples is None or not examples.items):
            raise ValueError(
                f"Expected a labeled training split for {prompt.shots} few-shot examples, but there "
                "is none."
            )
        self.rendering = _settle_rendering(prompt, engine, self.label_names)
        self.abilities = engine.abilities
        self.joint = self.rendering.joint
        is_generated = self.rendering.scoring == "generated"
        self.answers_once = is_generated and prompt.samples == 1
        # A server does not say how many parameters its model has.
        model = getattr(engine, "model", None)
        self.n_parameters = None if model is None else int(model.num_parameters())
        self.second_reader: SecondReader | None = None
        if is_generated and _is_repaired(prompt, self.rendering):
            self.second_reader = SecondReader(engine, seed=self.seed)

        self.failures: dict[str, str] = {}
        self.replies: dict[str, list[Reply]] = {}
        self.unserved: set[str] = set()
        self.assumed = ""
        self.logged_arms: LoggedArms | None = None
        self._example: Request | None = None
        self._way = ""
        self._is_checked = False
        self._earlier_readings: dict[str, list[Reading]] = {}

    # --- Descriptions

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the engine, the settled prompt, the examples and the seed."""
        return self._digest(self.prompt)

    @functools.cached_property
    def request_fingerprint(self) -> str:
        """A digest of what is asked: answers that are read in another way are not new ones."""
        return self._digest(self.prompt.replace(pattern=None, repair="auto"))

    def _digest(self, prompt: Prompt) -> str:
        """Return a digest of everything that scores depend on.

        Args:
            prompt: The options of the prompt that count. They are `self.prompt`, perhaps without
                those that only decide how answers are read.
        """
        rendering = self.rendering
        example_values = []
        if self.prompt.shots and self.examples:
            for item in self.examples.items:
                example_values.append((item.id, dict(item.fields), item.label))
        # Earlier runs are found by this digest, whose parts keep their order.
        parts = [
            self.engine.fingerprint,
            prompt.to_dict(),
            rendering.task,
            rendering.template,
            rendering.style,
            rendering.scoring,
            rendering.chat,
            rendering.answer_prefix,
            rendering.label_words,
            rendering.form,
            rendering.order,
            self.seed,
            example_values,
        ]
        return digest_value(parts)

    def describe(self) -> dict[str, Any]:
        """Describe the prompt and the answers so far, for a report.

        Returns:
            The settled options of the prompt by name, `label_words`, `form`; `example`, the first
            item as the model read it, with its `answers`; `way`, how scores were computed;
            `readings`, how many generated answers each layer of the reader read; and `finish`, how
            many ended for each reason.
        """
        rendering = self.rendering
        example = self._example
        if example is None:
            example = rendering.request(self._make_placeholder())
        values = {name: getattr(rendering, name) for name in _RENDERING_FIELDS}
        values |= {name: getattr(self.prompt, name) for name in _PROMPT_FIELDS}
        finishes: Counter[str] = Counter()
        for replies in self.replies.values():
            finishes.update(reply.finish for reply in replies)
        return {
            **values,
            "label_words": list(rendering.label_words),
            "form": rendering.form if rendering.scoring == "generated" else "",
            "example": self.engine.render(example.prompt),
            "answers": list(example.continuations),
            "way": self._way,
            "readings": count_layers(self.reader.readings),
            "finish": dict(finishes),
        }

    def _make_placeholder(self) -> Item:
        """Return an item that names its fields, for a prompt that was not asked yet."""
        fields: dict[str, Any] = {"text": "(text)", "text_pair": None}
        # Only a scorer of choices has no labels.
        if self.label_names is None:
            fields = {"prompt": "(prompt)", "choices": ["(first choice)", "(second choice)"]}
        return Item("", fields)

    def server(self, out: str | os.PathLike[str] | None = None) -> dict[str, Any] | None:
        """Return the server's trial and its costs; None if the model is in this process.

        Args:
            out: Folder with the answers whose costs are returned. None for all answers of this run.
        """
        describe = getattr(self.engine, "describe", None)
        return None if describe is None else dict(describe(out))

    @functools.cached_property
    def reader(self) -> ReplyReader:
        """The reader of generated answers."""
        return ReplyReader(
            self.rendering,
            pattern=self.prompt.pattern,
            second=self.second_reader,
            known_readings=self._earlier_readings,
        )

    def read(self, item: Item, reply: Reply) -> int:
        """Return which answer the form of a reply gives to an item, or `NO_ANSWER`."""
        return self.reader.find(item, reply).answer

    def assuming(self, assumed: str) -> Prompted:
        """Return a scorer that repeats the answers to this one, with an assumption on unread ones.

        Two such scorers bound what the unread answers could change. Neither asks the model
        anything.

        Args:
            assumed: What an answer that cannot be read counts as, if the correct one is known:
                "right" or "wrong".
        """
        scorer = copy.copy(self)
        scorer.engine = cast("Engine", ReplayedEngine(self.engine, self.replies))
        scorer.assumed = assumed
        # The copy must not change the records of this scorer.
        scorer.failures = {}
        scorer.replies = {}
        scorer.unserved = set()
        # The cached reader belongs to this scorer. The copy makes its own, which takes over the
        # readings but asks no second reader.
        scorer.__dict__.pop("reader", None)
        scorer._earlier_readings = dict(self.reader.readings)
        scorer.second_reader = None
        # The check of the first answers has been made.
        scorer._is_checked = True
        return scorer

    # --- Scores

    def predict(
        self,
        texts: Sequence[str],
        *,
        text_pairs: Sequence[str] | None = None,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **storage: Unpack[HowToKeep],
    ) -> Scores:
        """Score the classes of N texts; see `rightreasons.models.classes.predict`.

        Raises:
            ValueError: If this is a scorer of choices, columns differ in length, or a label is no
                class.
        """
        if self.label_names is None:
            raise ValueError(
                f"Expected a scorer of classes, but {self.name} is asked for choices: use `choose`."
            )
        checked_texts = check_texts(texts, "texts", allow_empty=True)
        pairs: Sequence[str | None] = [None] * len(checked_texts)
        if text_pairs is not None:
            pairs = check_texts(text_pairs, "text_pairs", allow_empty=True)
        # Without ids, items are numbered.
        names = check_ids(range(len(checked_texts)) if ids is None else ids, "ids")
        label_column = checked_texts if labels is None else labels
        check_same_length(texts=checked_texts, text_pairs=pairs, ids=names, labels=label_column)
        gold = None
        if labels is not None:
            gold = check_labels(labels, len(self.label_names), name="labels", minimum=-1)
        items = make_items(names, text=checked_texts, text_pair=pairs)
        return self.score_items(items, gold, **storage)

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **storage: Unpack[HowToKeep],
    ) -> Scores:
        """Score the choices of N items; see `rightreasons.models.choices.choose`.

        Raises:
            ValueError: If this is a scorer of classes, columns differ in length, or a label is no
                choice of its item.
        """
        if self.label_names is not None:
            raise ValueError(
                f"Expected a scorer of choices, but {self.name} is asked for classes: use `predict`."
            )
        items = ChoiceItems.check(prompts, choices, ids=ids, labels=labels, allow_empty=True)
        return self.score_items(items.items(), items.labels, **storage)

    def shots(self, item: Item) -> list[Item]:
        """Return the few-shot examples of an item."""
        if self.examples is None or not self.prompt.shots:
            return []
        return self.examples.draw(item, self.prompt.shots, seed=self.seed)

    def score_items(
        self, items: Sequence[Item], gold: NDArray[np.int64] | None, **storage: Unpack[HowToKeep]
    ) -> Scores:
        """Score the answers of items through the prompt.

        Args:
            items: N items.
            gold: (N,) correct answers. None for those of the items.
            **storage: Options of `HowToKeep`.

        Returns:
            The scores of the items that have any; the others are in `Scores.failures`.

        Raises:
            ValueError: If every item has an answer without words, which has no likelihood.
        """
        if gold is not None:
            labeled_items = []
            for item, label in zip(items, gold.tolist(), strict=True):
                labeled_items.append(dataclasses.replace(item, label=label))
            items = labeled_items
        requests = [self.rendering.request(item, self.shots(item)) for item in items]
        # The report shows the first item as the model read it.
        if self._example is None and requests:
            self._example = requests[0]

        names = [item.id for item in items]
        is_generated = self.rendering.scoring == "generated"
        # Row of an item -> why it is not asked.
        wordless_reasons: dict[int, str] = {}
        if not is_generated:
            wordless_reasons = wordless(names, [request.continuations for request in requests])
        rows = [row for row in range(len(items)) if row not in wordless_reasons]
        if wordless_reasons and not rows:
            raise ValueError(next(iter(wordless_reasons.values())))
        score = self._score_generated if is_generated else self._score_likelihoods
        scored = score([items[row] for row in rows], [requests[row] for row in rows], **storage)

        self._way = scored.way
        failures = dict(scored.failures)
        for row, reason in wordless_reasons.items():
            failures[names[row]] = reason
        self.failures |= failures
        scores_by_row = {}
        for row, values in zip(rows, scored.rows, strict=True):
            # An item may also have failed after it was asked, if its answer cannot be read.
            if names[row] not in failures:
                scores_by_row[row] = values
        return self._lay_out(names, gold, scores_by_row, failures, scored)

    def _lay_out(
        self,
        names: Sequence[str],
        gold: NDArray[np.int64] | None,
        scores_by_row: Mapping[int, NDArray[np.float64]],
        failures: dict[str, str],
        scored: _Scored,
    ) -> Scores:
        """Make the `Scores` of the items that have any.

        Args:
            names: N ids of all items.
            gold: (N,) correct answers, or None.
            scores_by_row: Position of an item -> the scores of its answers.
            failures: Id -> reason of the other items.
            scored: Number of truncated items, and how the scores were computed.
        """
        rows = list(scores_by_row)
        logits: Any = np.empty((0, len(self.label_names or ())))
        if rows:
            values = list(scores_by_row.values())
            logits = Ragged.of(np.concatenate(values), list(map(len, values))).table()
        return Scores(
            ids=tuple(names[row] for row in rows),
            logits=logits,
            labels=None if gold is None else gold[rows],
            label_names=self.label_names,
            truncated=scored.n_truncated,
            way=scored.way,
            failures=failures,
        )

    # --- Likelihoods

    def _score_likelihoods(
        self, items: Sequence[Item], requests: Sequence[Request], **storage: Unpack[HowToKeep]
    ) -> _Scored:
        """Score items by the likelihoods of their answers, or of the first words of these.

        Args:
            items: N items.
            requests: Their requests, with the answers as continuations.
            **storage: Options of `HowToKeep`.
        """
        scoring = self.rendering.scoring
        out = storage.get("out")
        ask = self.engine.likelihoods
        if scoring == "next_words":
            ask = self.engine.next_words
        # Equal prompts, such as those of an item under several probes, are asked once.
        distinct = DistinctRequests(requests)
        likelihoods = ask(
            distinct.requests,
            progress=storage.get("progress", True),
            out=get_results_subfolder(out, "items"),
        )
        rows = distinct.select_rows(likelihoods.values)
        failures = distinct.select_failures(likelihoods.failures)
        self.unserved |= failures.keys()
        # Longer answers have smaller likelihoods, which the mean per token makes up for.
        if scoring == "mean":
            lengths = distinct.select_rows(likelihoods.lengths)
            rows = [row / length for row, length in zip(rows, lengths, strict=True)]
        if scoring == "unconditional":
            failures |= self._subtract_unconditional(items, rows, failures, out)
        return _Scored(
            rows=rows,
            failures=failures,
            n_truncated=likelihoods.truncated,
            way=likelihoods.way,
        )

    def _subtract_unconditional(
        self,
        items: Sequence[Item],
        rows: list[NDArray[np.float64]],
        failures: Mapping[str, str],
        out: str | os.PathLike[str] | None,
    ) -> dict[str, str]:
        """Subtract from the likelihoods of answers those that the answers have without their item.

        Args:
            items: N items.
            rows: N rows of log-likelihoods, which are changed.
            failures: Id -> reason of the items that have no likelihoods.
            out: Folder for the likelihoods.

        Returns:
            Id -> reason of items that fail here.
        """
        # Items without the item's text share a request. One that failed before would let the others
        # fail with it, and is left out.
        indices = [index for index, item in enumerate(items) if item.id not in failures]
        requests = [self.rendering.without_item(items[index]) for index in indices]
        distinct = DistinctRequests(requests)
        likelihoods = self.engine.likelihoods(
            distinct.requests, progress=False, out=get_results_subfolder(out, "alone")
        )
        for index, row in zip(indices, distinct.select_rows(likelihoods.values), strict=True):
            rows[index] = rows[index] - row
        return distinct.select_failures(likelihoods.failures)

    # --- Generated answers

    def _score_generated(
        self, items: Sequence[Item], requests: Sequence[Request], **storage: Unpack[HowToKeep]
    ) -> _Scored:
        """Score items by the shares of their generated answers.

        Args:
            items: N items.
            requests: Their requests.
            **storage: Options of `HowToKeep`.
        """
        # The first few answers are generated and checked before the others cost anything.
        n_first = 0
        if not self._is_checked and len(items) > N_FIRST:
            n_first = N_FIRST
        stages = {"answers-first": slice(0, n_first), "answers": slice(n_first, len(items))}
        answers: list[Answers] = []
        readings: list[list[Reading]] = []
        for folder, rows in stages.items():
            if rows.start < rows.stop:
                stage_answers, stage_readings = self._generate(
                    items[rows], requests[rows], folder, **storage
                )
                answers.append(stage_answers)
                readings += stage_readings
            self._check_first(answers, readings)

        replies: list[list[Reply]] = []
        failures: dict[str, str] = {}
        n_truncated = 0
        for stage_answers in answers:
            replies += stage_answers.replies
            failures |= stage_answers.failures
            n_truncated += stage_answers.truncated
        scores = []
        for item, item_replies, item_readings in zip(items, replies, readings, strict=True):
            counts = self._count_answers(item, item_readings)
            if item.id not in failures and not any(counts):
                failures[item.id] = _explain_unread(item_replies[0])
            shares = np.array(counts) / max(sum(counts), 1)
            # A share of 0 has no logarithm; the smallest positive number represents it.
            scores.append(np.log(np.maximum(shares, np.finfo(np.float64).tiny)))
        way = _describe_readings(replies, readings)
        if answers[-1].way:
            way = f"{answers[-1].way}; {way}"
        return _Scored(rows=scores, failures=failures, n_truncated=n_truncated, way=way)

    def _generate(
        self,
        items: Sequence[Item],
        requests: Sequence[Request],
        folder: str,
        **storage: Unpack[HowToKeep],
    ) -> tuple[Answers, list[list[Reading]]]:
        """Generate answers to items, record them, and read them.

        Args:
            items: N items.
            requests: Their requests.
            folder: Name of the subfolder of the answers in `storage["out"]`.
            **storage: Options of `HowToKeep`.

        Returns:
            The replies to the N items, and N lists of the reading of each reply.
        """
        out = storage.get("out")
        is_constrained = self.rendering.form == "constrained"
        answers = self.engine.generate(
            requests,
            options=self.generation(n=self.prompt.samples).replace(constrained=is_constrained),
            progress=storage.get("progress", True),
            out=get_results_subfolder(out, folder),
        )
        self.unserved |= answers.failures.keys()
        for item, replies in zip(items, answers.replies, strict=True):
            # The report stores all that the model wrote.
            self.replies[item.id] = replies
            # A reply that a filter stopped, or a refusal, is no attempt at an answer.
            if replies and all(reply.finish in WITHHELD for reply in replies):
                self.unserved.add(item.id)
        repairs = get_results_subfolder(out, f"{folder}-repair")
        return answers, self.reader.read(items, answers.replies, out=repairs)

    def _check_first(
        self, answers: Sequence[Answers], readings: Sequence[Sequence[Reading]]
    ) -> None:
        """Raise an error if most of the first answers cannot be read; later calls check nothing.

        Args:
            answers: The answers so far, which may be none.
            readings: The readings of each reply, item by item.

        Raises:
            ValueError: If too many of the texts that the model wrote give no answer.
        """
        if self._is_checked or not answers:
            return
        self._is_checked = True
        replies: list[list[Reply]] = []
        for stage_answers in answers:
            replies += stage_answers.replies
        unread = []
        for item_replies, item_readings in zip(replies, readings, strict=True):
            for reply, reading in zip(item_replies, item_readings, strict=True):
                if reading.answer == NO_ANSWER and reply.finish in TEXT_FINISHES:
                    unread.append(reply.text or reply.no_answer_reason)
        check_first_answers(unread, sum(map(len, readings)), self.name)

    def _count_answers(self, item: Item, readings: Sequence[Reading]) -> list[int]:
        """Count how many replies to an item give each of its K answers.

        If no reply can be read, and unread answers are assumed to be right or wrong, one such
        answer is counted.

        Args:
            item: The item.
            readings: The readings of its replies.

        Returns:
            K counts.
        """
        counts = [0] * len(self.rendering.texts(item))
        for reading in readings:
            if reading.answer != NO_ANSWER:
                counts[reading.answer] += 1
        is_unread = bool(readings) and not any(counts)
        if self.assumed and item.label >= 0 and is_unread:
            answer = item.label
            if self.assumed != "right":
                # Any other answer is incorrect.
                answer = (item.label + 1) % len(counts)
            counts[answer] = 1
        return counts

    def generation(
        self, *, n: int = 1, temperature: float | None = None, brief: int = BRIEF
    ) -> Generation:
        """Return the options of generated answers, from those of the prompt and usual ones.

        Args:
            n: Answers per item.
            temperature: Their temperature. If None, that of the prompt, or else 0 for one answer
                and 1 for several.
            brief: Maximum tokens if the prompt names none and the model answers at once.
        """
        prompt = self.prompt
        is_chat = self.rendering.chat
        if temperature is None:
            temperature = prompt.temperature
        if temperature is None:
            temperature = 0.0 if n == 1 else 1.0
        max_new_tokens = prompt.max_new_tokens
        if not max_new_tokens:
            max_new_tokens = brief
            # A model may think in a chat, for which the engine knows the budget.
            if is_chat:
                max_new_tokens = max(brief, self.engine.budget)
        stop = prompt.stop
        # A model that continues a text goes on with another question after an empty line.
        if not stop and not is_chat:
            stop = ("\n\n",)
        return Generation(
            n=n,
            temperature=temperature,
            top_p=prompt.top_p,
            max_new_tokens=max_new_tokens,
            stop=stop,
            seed=self.seed,
            thinking_tags=prompt.thinking_tags,
        )


def find_prompted(scorer: object) -> Prompted | None:
    """Return a scorer that is asked through a prompt; None for any other."""
    return scorer if isinstance(scorer, Prompted) else None


# --- Descriptions of readings


def _explain_unread(reply: Reply) -> str:
    """Return why a reply gives no answer."""
    return reply.no_answer_reason or f"no answer in {reply.text.strip()[:MAX_QUOTED]!r}"


def _describe_readings(
    replies: Sequence[Sequence[Reply]], readings: Sequence[Sequence[Reading]]
) -> str:
    """Describe how many generated answers were read, by which layer, and why others were not.

    An example is "3 of 40 generated answers give no answer (2 refused); read: …".

    Args:
        replies: N lists of replies.
        readings: N lists of the reading of each reply.
    """
    count_by_reason: Counter[str] = Counter()
    for item_replies, item_readings in zip(replies, readings, strict=True):
        for reply, reading in zip(item_replies, item_readings, strict=True):
            if reading.answer == NO_ANSWER:
                count_by_reason[reply.no_answer_reason or UNREAD] += 1
    n_replies = sum(map(len, replies))
    sentence = f"{sum(count_by_reason.values())} of {n_replies} generated answers give no answer"
    notes = []
    for reason, count in count_by_reason.most_common():
        # Texts without an answer are the usual reason, which needs no note.
        if reason != UNREAD:
            notes.append(f"{count} {reason}")
    if notes:
        sentence += f" ({', '.join(notes)})"
    layers = describe_layers(count_layers(dict(enumerate(readings))))
    return f"{sentence}; read: {layers}" if layers else sentence


# --- Settling of the options


def _check_label_names(label_names: Sequence[str] | None) -> None:
    """Check that there are labels to choose from."""
    if label_names is None or len(label_names) >= 2:
        return
    names = "".join(f", {name!r}" for name in label_names)
    raise OptionError(
        "Expected at least two labels to choose from, but the data has "
        f"{len(label_names)}{names}. Pass all labels with `label_names`.",
        option="label_names",
    )


def _settle_rendering(
    prompt: Prompt, engine: Engine, label_names: Sequence[str] | None
) -> Rendering:
    """Decide what the prompt leaves open, by what the engine is able to do.

    Args:
        prompt: Options of the prompt.
        engine: The model.
        label_names: Names of the K classes. None for choices.

    Raises:
        OptionError: If the engine is not able to do what an option asks for.
    """
    is_chat = _is_chat(prompt, engine)
    can_constrain = "constrained_text" in engine.abilities
    rendering = Rendering.settle(
        prompt,
        chat=is_chat,
        scorings=_list_scorings(prompt, engine, thinks=is_chat and engine.thinks),
        label_names=label_names,
        constrains=can_constrain,
    )
    if rendering.form == "constrained" and not can_constrain:
        raise OptionError(
            "Expected a server that can restrict answers to the options for `form` "
            f"'constrained', but {engine.name} cannot. Use form='line' to request a one-line "
            "answer.",
            option="form",
        )
    return rendering


def _is_chat(prompt: Prompt, engine: Engine) -> bool:
    """Return whether items are asked as turns of a conversation.

    Raises:
        OptionError: If that is asked for, but the model has no chat template.
    """
    if prompt.chat == "on" and not engine.has_template:
        raise OptionError(
            f"Expected a model with a chat template where `chat` is 'on', but {engine.name} has "
            "no chat template. Use chat='off' to prompt the model without a template.",
            option="chat",
        )
    if prompt.chat == "auto":
        return engine.has_template
    return prompt.chat == "on"


def _is_repaired(prompt: Prompt, rendering: Rendering) -> bool:
    """Return whether unread answers are sent back."""
    # A text that is continued cannot be asked about.
    if prompt.repair == "auto":
        return rendering.chat
    return prompt.repair == "on"


def _list_scorings(prompt: Prompt, engine: Engine, *, thinks: bool) -> list[str]:
    """Return the scorings that an engine is able to do, such as ["mean", "sum", "generated"].

    Args:
        prompt: Options of the prompt, of which `scoring` may request one of them.
        engine: The model.
        thinks: Whether it thinks before it answers: then its next token is no answer, so that only
            generated answers can be scored.

    Raises:
        OptionError: If the requested scoring is not among them.
        ValueError: If there are none.
    """
    scorings: list[str] = []
    for ability, ability_scorings in SCORINGS_BY_ABILITY.items():
        if ability in engine.abilities:
            scorings += ability_scorings
    if thinks:
        scorings = [scoring for scoring in scorings if scoring == "generated"]
    if prompt.scoring != "auto" and prompt.scoring not in scorings:
        names = ", ".join(scorings) or "none"
        note = ""
        if thinks:
            note = (
                ". It thinks before it answers: thinking='off' asks it without, scoring='generated' "
                "waits for its answer"
            )
        raise OptionError(
            f"Expected a scoring that {engine.name} supports ({names}), but got "
            f"scoring={prompt.scoring!r}{note}.",
            option="scoring",
        )
    if not scorings:
        raise ValueError(
            f"Expected a model that scores or generates answers, but {engine.name} does neither."
        )
    return scorings
