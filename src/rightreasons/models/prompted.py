"""A scorer made of a prompt and a language model, for items of classification and multiple choice.

`Prompted` makes requests from items by `Rendering`, sends them to an engine, and turns likelihoods
or generated answers into scores. `ReplyReader` finds the answer in a generated reply.
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
    find_wordless_items,
    make_items,
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
"""Ability of an engine -> the scorings that it makes possible."""

TEXT_FINISHES = ("stop", "length", "thinking")
"""Reasons why a reply ended that leave a text. A refusal, for example, has no answer to read."""

MAX_QUOTED = 80
"""Characters of an unread answer that its reason quotes."""

_RENDERING_FIELDS = ("template", "chat", "style", "scoring", "answer_prefix")
_PROMPT_FIELDS = ("system", "shots", "pattern", "samples", "thinking")


@dataclasses.dataclass
class _Scored:
    """Scores of items, in the form of the engine's answers.

    Attributes:
        rows: N rows of scores, one value per answer.
        failures: Id of an item -> why it has no score.
        n_truncated: Number of items whose text was truncated.
        way: Description of how the scores were computed.
    """

    rows: list[NDArray[np.float64]]
    failures: dict[str, str]
    n_truncated: int
    way: str


class Prompted:
    r"""A `Scorer` that asks a language model through a prompt.

    With l(a | x) the log-likelihood of the answer a after the prompt of the item x, summed over the
    tokens of a, the scores of the answers are

        sum            l(a | x)
        mean           l(a | x) / number of tokens of a
        unconditional  l(a | x) - l(a | x0), with x0 the prefix of the answer only (PMI_DC of
                       Holtzman et al. 2021)
        next_words     log-probability of the first token of a
        generated      log of the share of generated answers that are a

    An answer is written in words or, depending on `style`, as a letter or number. The softmax over
    the answers of an item is the confidence. With one generated answer per item the confidence is
    always 1, and has no meaning. An item without a readable generated answer has no score;
    `Scores.failures` names it, and `Scores.way` states the rate.

    Args:
        prompt: How items are rendered, and how answers are scored.
        engine: The model.
        label_names: Names of the K classes. None for a scorer of choices.
        examples: Labeled items from which few-shot examples are sampled if `prompt.shots` is not 0.
        seed: Seed of few-shot examples and sampled answers.

    Attributes:
        abilities: Abilities of the engine.
        joint: Whether the question lists all choices, so that the model sees them together.
        answers_once: Whether an item has a single generated answer, and thus no confidence.
        n_parameters: Number of parameters of the model. None if it is not in this process.
        failures: Id of an item -> why it has no score, for all items so far.
        replies: Id of an item -> the replies of the model, for all items so far.
        unserved: Ids of the items whose request failed, was filtered or was refused, so that the
            model gave no answer.
        unread: Ids of the items with a complete reply in which no answer can be read. Their
            `failures` quote the reply.
        assumed: What a reply that cannot be read counts as, "right" or "wrong". Empty if such items
            have no score.
        logged_arms: Answers to changed versions of the items, if a log replaces the model; None
            otherwise.

    Raises:
        ValueError: If `prompt.chat` is "on" but the model has no chat template, the engine does not
            support the scoring, the template or the label words do not fit, or there are no
            examples for `prompt.shots`.

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
        """Check the options, and choose how items are rendered. No item is scored yet.

        Raises:
            ValueError: If few-shot examples are requested but there are none, or an option does not
                fit the model or the labels.
        """
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
        self.rendering = _make_rendering(prompt, engine, self.label_names)
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
        self.unread: set[str] = set()
        self.assumed = ""
        self.logged_arms: LoggedArms | None = None
        self._example: Request | None = None
        self._way = ""
        self._is_checked = False
        self._earlier_readings: dict[str, list[Reading]] = {}

    # --- Descriptions

    @functools.cached_property
    def fingerprint(self) -> str:
        """Digest of the engine, the rendered prompt, the few-shot examples and the seed."""
        return self._digest(self.prompt)

    @functools.cached_property
    def request_fingerprint(self) -> str:
        """Digest of the requests, without the options that only change how replies are read."""
        request_options = self.prompt.replace(pattern=None, repair="auto")
        # The digest contains the values of these options in the rendering. It must not depend on
        # whether the user chose a value, or "auto" did.
        request_options = request_options.replace(
            chat="auto", scoring="auto", style="auto", form="auto"
        )
        return self._digest(request_options)

    def _digest(self, prompt: Prompt) -> str:
        """Return a digest of everything that the scores of items depend on.

        Args:
            prompt: The options of the prompt that are part of the digest: `self.prompt`, or a copy
                without the options that only change how replies are read.
        """
        rendering = self.rendering
        example_values = []
        if self.prompt.shots and self.examples:
            for item in self.examples.items:
                example_values.append((item.id, dict(item.fields), item.label))
        # The order must not change, because stored runs are found by this digest.
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
            The options of the prompt by name, with every "auto" decided, and the following entries:
            `label_words`; `form`, the form of generated answers; `example`, the first prompt that
            the model read, and its `answers`; `way`, how scores were computed; `readings`, how many
            generated answers each layer of the reader read; and `finish`, how many replies ended
            for each reason.
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
        """Return an item like "(text)", which shows the prompt before any item has been scored."""
        fields: dict[str, Any] = {"text": "(text)", "text_pair": None}
        # Only a scorer of choices has no labels.
        if self.label_names is None:
            fields = {"prompt": "(prompt)", "choices": ["(first choice)", "(second choice)"]}
        return Item("", fields)

    def server(self, out: str | os.PathLike[str] | None = None) -> dict[str, Any] | None:
        """Return the results of the trial of a server, and its costs.

        Args:
            out: Folder with the answers whose costs are returned. None for all answers of this run.

        Returns:
            A dictionary for a report; None if the model is in this process.
        """
        describe = getattr(self.engine, "describe", None)
        return None if describe is None else dict(describe(out))

    @functools.cached_property
    def reader(self) -> ReplyReader:
        """The reader that finds the answer in a generated reply."""
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
        """Return a scorer that repeats the replies to this one, and counts unread ones as assumed.

        The scores under the two assumptions are bounds of what the unread replies could change. The
        model is not asked again.

        Args:
            assumed: "right" or "wrong": whether a reply that cannot be read counts as the correct
                answer, or as an incorrect one.
        """
        scorer = copy.copy(self)
        scorer.engine = cast("Engine", ReplayedEngine(self.engine, self.replies))
        scorer.assumed = assumed
        # The copy must not change the records of this scorer.
        scorer.failures = {}
        scorer.replies = {}
        scorer.unserved = set()
        scorer.unread = set()
        # The cached reader belongs to this scorer. The copy makes another one, which has the same
        # readings, but no second reader that would ask the model.
        scorer.__dict__.pop("reader", None)
        scorer._earlier_readings = dict(self.reader.readings)
        scorer.second_reader = None
        # The first replies have been checked already.
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

        Args:
            texts: N texts.
            text_pairs: N second texts for a task of pairs.
            ids: N unique ids. If None, "0", "1", …
            labels: (N,) gold labels, -1 if unknown. None for data without labels.
            **storage: Options of `HowToKeep`.

        Raises:
            ValueError: If this is a scorer of choices, columns differ in length, or a label is not
                a class.
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

        Args:
            prompts: N prompts, which may be empty.
            choices: N lists of at least two strings.
            ids: N unique ids. If None, "0", "1", …
            labels: (N,) index of the correct choice, -1 if unknown. None for data without labels.
            **storage: Options of `HowToKeep`.

        Raises:
            ValueError: If this is a scorer of classes, columns differ in length, or a label is not
                the index of a choice.
        """
        if self.label_names is not None:
            raise ValueError(
                f"Expected a scorer of choices, but {self.name} is asked for classes: use `predict`."
            )
        items = ChoiceItems.check(prompts, choices, ids=ids, labels=labels, allow_empty=True)
        return self.score_items(items.items(), items.labels, **storage)

    def shots(self, item: Item) -> list[Item]:
        """Sample the few-shot examples of an item; empty if the prompt has none."""
        if self.examples is None or not self.prompt.shots:
            return []
        return self.examples.draw(item, self.prompt.shots, seed=self.seed)

    def score_items(
        self, items: Sequence[Item], gold: NDArray[np.int64] | None, **storage: Unpack[HowToKeep]
    ) -> Scores:
        """Score the answers of items through the prompt.

        Items of which an answer has no words are not sent to the model. The others are scored by the
        likelihoods of their answers, or, with scoring="generated", by generated replies.

        Args:
            items: N items.
            gold: (N,) correct answers, which replace the labels of the items. None to use the
                labels of the items.
            **storage: Options of `HowToKeep`.

        Returns:
            The scores of the items without a failure; the others are in `Scores.failures`.

        Raises:
            ValueError: If every item has an answer without words, which has no likelihood.
        """
        if gold is not None:
            labeled_items = []
            for item, label in zip(items, gold.tolist(), strict=True):
                labeled_items.append(dataclasses.replace(item, label=label))
            items = labeled_items
        # A request is the prompt of an item, after its few-shot examples, with the answers to score.
        requests = []
        for item in items:
            few_shot_examples = self.shots(item)
            requests.append(self.rendering.request(item, few_shot_examples))
        # The report shows the first prompt that the model read.
        if self._example is None and requests:
            self._example = requests[0]

        names = [item.id for item in items]
        is_generated = self.rendering.scoring == "generated"
        # Index of an item -> why the model is not asked.
        wordless_reasons: dict[int, str] = {}
        if not is_generated:
            # A text without tokens has no likelihood.
            answers_by_item = [request.continuations for request in requests]
            wordless_reasons = find_wordless_items(names, answers_by_item)
        rows = [row for row in range(len(items)) if row not in wordless_reasons]
        if wordless_reasons and not rows:
            first_reason = next(iter(wordless_reasons.values()))
            raise ValueError(first_reason)
        asked_items = [items[row] for row in rows]
        asked_requests = [requests[row] for row in rows]
        # `scored.rows` has the scores of each asked item, one per answer.
        if is_generated:
            scored = self._score_generated(asked_items, asked_requests, **storage)
        else:
            scored = self._score_likelihoods(asked_items, asked_requests, **storage)

        # For the report: how the scores were computed, and which items failed in all calls so far.
        self._way = scored.way
        failures = dict(scored.failures)
        for row, reason in wordless_reasons.items():
            failures[names[row]] = reason
        self.failures |= failures
        scores_by_row = {}
        for row, values in zip(rows, scored.rows, strict=True):
            # An item also fails if its generated answer cannot be read.
            if names[row] not in failures:
                scores_by_row[row] = values
        scored_rows = list(scores_by_row)
        return Scores(
            ids=tuple(names[row] for row in scored_rows),
            logits=self._join_rows(list(scores_by_row.values())),
            labels=None if gold is None else gold[scored_rows],
            label_names=self.label_names,
            truncated=scored.n_truncated,
            way=scored.way,
            failures=failures,
        )

    def _join_rows(self, rows: Sequence[NDArray[np.float64]]) -> Any:
        """Join the scores of n items: (n, K) if all items have K answers, otherwise `Ragged`."""
        # Without any item, the number of choices is unknown, but that of classes is not.
        if not rows:
            return np.empty((0, len(self.label_names or ())))
        return Ragged.of(np.concatenate(rows), list(map(len, rows))).table()

    # --- Likelihoods

    def _score_likelihoods(
        self, items: Sequence[Item], requests: Sequence[Request], **storage: Unpack[HowToKeep]
    ) -> _Scored:
        """Score items by the likelihoods of their answers, or of the first tokens of the answers.

        Args:
            items: N items.
            requests: N requests, with the answers of the items as continuations.
            **storage: Options of `HowToKeep`.
        """
        scoring = self.rendering.scoring
        out = storage.get("out")
        ask = self.engine.likelihoods
        if scoring == "next_words":
            ask = self.engine.next_words
        # Equal prompts, such as those of an item under several probes, are sent once.
        distinct = DistinctRequests(requests)
        likelihoods = ask(
            distinct.requests,
            progress=storage.get("progress", True),
            out=get_results_subfolder(out, "items"),
        )
        rows = distinct.select_rows(likelihoods.values)
        failures = distinct.select_failures(likelihoods.failures)
        self.unserved |= failures.keys()
        # Longer answers have smaller likelihoods. The mean per token compensates for that.
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
        """Subtract the log-likelihoods that answers have without the question of their item.

        Args:
            items: N items.
            rows: N rows of log-likelihoods with the question, which are changed in place.
            failures: Id -> reason of the items that have no log-likelihoods.
            out: Folder for the log-likelihoods without the question.

        Returns:
            Id -> reason of the items whose request without the question fails.
        """
        # Items with equal answers share a request without a question, which fails if an answer of
        # one of them does. Items that failed before are therefore left out.
        indices = [index for index, item in enumerate(items) if item.id not in failures]
        requests = [self.rendering.make_unconditional_request(items[index]) for index in indices]
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
        """Score each answer of an item by the share of generated replies that give it.

        Args:
            items: N items.
            requests: N requests, which ask the items.
            **storage: Options of `HowToKeep`.
        """
        # The first few replies are generated and checked before the others cost anything.
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
                failures[item.id] = self._explain_unread(item, item_replies[0])
            shares = np.array(counts) / max(sum(counts), 1)
            # The smallest positive number replaces a share of 0, which has no logarithm.
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
        """Generate replies to items, record them for the report, and read the answers in them.

        Args:
            items: N items.
            requests: N requests, which ask the items.
            folder: Name of the subfolder of `storage["out"]` in which the replies are stored.
            **storage: Options of `HowToKeep`.

        Returns:
            The replies to the N items; and N lists with the reading of each reply, which says which
            answer the reply gives.
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
            self.replies[item.id] = replies
            # A reply that a filter stopped, or a refusal, is no attempt at an answer.
            if replies and all(reply.finish in WITHHELD for reply in replies):
                self.unserved.add(item.id)
        repairs = get_results_subfolder(out, f"{folder}-repair")
        return answers, self.reader.read(items, answers.replies, out=repairs)

    def _check_first(
        self, answers: Sequence[Answers], readings: Sequence[Sequence[Reading]]
    ) -> None:
        """Raise an error if most of the first replies cannot be read.

        Only the first call with replies checks anything.

        Args:
            answers: The replies so far, in stages; may be empty.
            readings: For each item, the readings of its replies.

        Raises:
            ValueError: If too many of the replies give no answer.
        """
        if self._is_checked or not answers:
            return
        self._is_checked = True
        replies: list[list[Reply]] = []
        for stage_answers in answers:
            replies += stage_answers.replies
        unread_texts = []
        for item_replies, item_readings in zip(replies, readings, strict=True):
            for reply, reading in zip(item_replies, item_readings, strict=True):
                if reading.answer == NO_ANSWER and reply.finish in TEXT_FINISHES:
                    unread_texts.append(reply.text or reply.no_answer_reason)
        check_first_answers(unread_texts, sum(map(len, readings)), self.name)

    def _count_answers(self, item: Item, readings: Sequence[Reading]) -> list[int]:
        """Count how many replies to an item give each of its K answers.

        If no reply can be read, and `assumed` says what unread replies count as, one correct or
        incorrect answer is counted.

        Args:
            item: The item.
            readings: The reading of each reply to the item, whose `answer` is the index of an
                answer or `NO_ANSWER`.

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
                # The next answer after the correct one; any other would do.
                answer = (item.label + 1) % len(counts)
            counts[answer] = 1
        return counts

    def _explain_unread(self, item: Item, reply: Reply) -> str:
        """Return why a reply gives no answer to an item, and record whether it is a complete one."""
        if reply.no_answer_reason:
            return reply.no_answer_reason
        self.unread.add(item.id)
        return f"no answer in {reply.text.strip()[:MAX_QUOTED]!r}"

    def generation(
        self, *, n: int = 1, temperature: float | None = None, brief: int = BRIEF
    ) -> Generation:
        """Return the options of generated answers, from the options of the prompt and defaults.

        Args:
            n: Number of answers per item.
            temperature: Temperature of the answers. If None, that of the prompt, or else 0 for one
                answer and 1 for several.
            brief: Maximum number of tokens of an answer without thinking, if the prompt sets none.
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
            # In a chat, a model may think first. The engine knows how many tokens that takes.
            if is_chat:
                max_new_tokens = max(brief, self.engine.budget)
        stop = prompt.stop
        # A model that continues a text writes another question after an empty line.
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
    """Return a scorer that asks a language model through a prompt; None for any other scorer."""
    return scorer if isinstance(scorer, Prompted) else None


# --- Descriptions of readings


def _describe_readings(
    replies: Sequence[Sequence[Reply]], readings: Sequence[Sequence[Reading]]
) -> str:
    """Describe how many generated replies were read, by which layer, and why others were not.

    An example is "3 of 40 generated answers give no answer (2 refused); read: …".

    Args:
        replies: N lists of replies.
        readings: N lists of the reading of each reply, whose `answer` is `NO_ANSWER` if it was not
            read.
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
        # A text without an answer is the usual reason, which needs no note.
        if reason != UNREAD:
            notes.append(f"{count} {reason}")
    if notes:
        sentence += f" ({', '.join(notes)})"
    layers = describe_layers(count_layers(dict(enumerate(readings))))
    return f"{sentence}; read: {layers}" if layers else sentence


# --- Settling of the options


def _check_label_names(label_names: Sequence[str] | None) -> None:
    """Check that a scorer of classes has at least two labels.

    Args:
        label_names: Names of the labels. None for a scorer of choices, which has none.

    Raises:
        OptionError: If there are fewer than two labels.
    """
    if label_names is None or len(label_names) >= 2:
        return
    names = "".join(f", {name!r}" for name in label_names)
    raise OptionError(
        "Expected at least two labels to choose from, but the data has "
        f"{len(label_names)}{names}. Pass all labels with `label_names`.",
        option="label_names",
    )


def _make_rendering(prompt: Prompt, engine: Engine, label_names: Sequence[str] | None) -> Rendering:
    """Choose what the options of a prompt leave open, according to the abilities of the engine.

    Args:
        prompt: Options of the prompt.
        engine: The model.
        label_names: Names of the K classes. None for choices.

    Raises:
        OptionError: If the engine cannot do what an option requests.
    """
    is_chat = _is_chat(prompt, engine)
    can_constrain = "constrained_text" in engine.abilities
    rendering = Rendering.from_prompt(
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
    """Return whether items are rendered as turns of a conversation.

    Args:
        prompt: How items are prompted. Its option `chat` decides: "on", "off", or "auto" for turns if
            the model has a chat template.
        engine: The language model. `has_template` is whether it has a chat template.

    Raises:
        OptionError: If `prompt.chat` is "on", but the model has no chat template.
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
    """Return whether replies that cannot be read are sent back to the model."""
    # Only in a conversation can a model be asked about its reply.
    if prompt.repair == "auto":
        return rendering.chat
    return prompt.repair == "on"


def _list_scorings(prompt: Prompt, engine: Engine, *, thinks: bool) -> list[str]:
    """Return the scorings that an engine supports, such as ["mean", "sum", "generated"].

    Args:
        prompt: Options of the prompt, whose `scoring` has to be one of them, or "auto".
        engine: The model.
        thinks: Whether the model thinks before it answers. Then only generated answers can be
            scored, because its next token belongs to a thought.

    Raises:
        OptionError: If the requested scoring is not supported.
        ValueError: If the engine supports no scoring.
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
