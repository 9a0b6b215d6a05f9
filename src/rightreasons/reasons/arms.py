"""Ask a language model about items in several arms: plainly, next to a neutral sentence, and next to hints.

`Arms.ask` also asks again with the reasoning cut, transplanted from one arm to another, or edited by
a second model.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.choices import LETTERS
from rightreasons.core.replies import Reply
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item
from rightreasons.models.protocol import BRIEF, Generation, Message, Request
from rightreasons.models.replies.answers import read_answer
from rightreasons.models.replies.gates import N_FIRST, check_first_answers
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.repair import SecondReader, UnreadText
from rightreasons.models.servers.tokens import estimate_tokens
from rightreasons.reasons.answers import Traces
from rightreasons.reasons.edits import ReasoningEditor
from rightreasons.reasons.hints import Source, find_sentences, have_reasons
from rightreasons.reasons.judge import Judge
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.reasons.prompts import REASONED, SHORT, ArmPrompts, name_request
from rightreasons.reasons.second import TextReader
from rightreasons.reasons.trace import HINT, NEUTRAL, OWN, PLAIN, Trace, write_sentence

if TYPE_CHECKING:
    from rightreasons.models.protocol import Engine

GO_ON = "Go on from there."

CUTS = (0.0, 1 / 3, 2 / 3, 1.0)
"""Shares of the plain reasoning that are given when an answer is asked for again."""

MAX_REASONED_TOKENS = 1024
"""Length limit of an answer with reasoning, of a model that does not think, if the prompt has none."""

MAX_TOKENS_PER_SHOWN = 3
"""Number of generated thinking tokens per token that is shown, above which a summary is shown."""

NO_GOALS: Mapping[str, int] = {}
"""Hinted options of an arm without hints."""

_CONCLUSION = re.compile(r"\b(?i:answer|option|choice)\b.{0,40}?\b[A-Z]\b|^\W*[A-Z]\W*$")


@dataclasses.dataclass(frozen=True)
class _Question:
    """A request about an item in an arm, with the sentence next to its question.

    Attributes:
        item: The item.
        source: Source of its hints.
        hint: Index of the hinted option. -1 without a hint.
        sentence: Hint or neutral sentence next to the question. "" in the plain arm.
        request: The request.
        texts: Texts of the options.
    """

    item: Item
    source: Source
    hint: int
    sentence: str
    request: Request
    texts: Sequence[str]


class Arms(ArmPrompts):
    """Asks a language model about items in every arm.

    Args:
        prompted: The model with its prompt. Answers are drawn at temperature 1 unless the prompt has
            another one.
        options: Options of the question.
        seed: Seed of sources, hints and draws.
        choose_folder: Maps the name of a kind of requests to keywords of `Engine.generate`: its folder, and
            whether progress is shown.
        second: Second model, which judges, adds mistakes and rewords. If None, the model judges its
            own answers, if it can be asked in a conversation.
        judges_all: Whether answers that are not at their hint are judged, too.
    """

    def __init__(
        self,
        prompted: Prompted,
        options: ReasonsOptions,
        *,
        seed: int = 0,
        choose_folder: Callable[[str], Mapping[str, Any]] = lambda kind: {"progress": False},
        second: Engine | None = None,
        judges_all: bool = False,
    ) -> None:
        """Set how the model is asked, how replies are generated, and which models read them."""
        prompt = prompted.prompt
        super().__init__(
            prompt, prompted.label_names, options, chat=prompted.rendering.chat, seed=seed
        )
        self.engine = prompted.engine
        self._choose_folder = choose_folder
        # Answers with reasoning are sampled, so that the change by chance can be subtracted.
        temperature = 1.0 if prompt.temperature is None else prompt.temperature
        sampling = prompted.generation(temperature=temperature, brief=MAX_REASONED_TOKENS)
        self.drawn = sampling.replace(stop=prompt.stop, seed=seed)
        # Answers of a single letter are not sampled: the likeliest letter is generated.
        self.greedy = self.drawn.replace(temperature=0.0, max_new_tokens=BRIEF)

        # All requests of a one-pass harness are sent before any reply can be read or judged.
        self._is_single_pass = bool(getattr(self.engine, "is_single_pass", False))
        is_repair_on = prompt.repair == "on" or (prompt.repair == "auto" and self.rendering.chat)
        self.reader: SecondReader | None = None
        if is_repair_on and not self._is_single_pass:
            self.reader = SecondReader(self.engine, seed=seed)
        self.judge: Judge | None = None
        self.editor: ReasoningEditor | None = None
        if self._is_single_pass:
            return
        if second is not None:
            text_reader = TextReader(second, choose_folder)
            self.judge = Judge(text_reader, seed=seed, is_own=False, counts_all=judges_all)
            self.editor = ReasoningEditor(text_reader, seed=seed)
        elif self.rendering.chat:
            # A model without a chat template would continue a text instead of judging it.
            text_reader = TextReader(self.engine, choose_folder, self.drawn.replace(stop=()))
            self.judge = Judge(text_reader, seed=seed, is_own=True, counts_all=judges_all)

    def ask(self, items: Sequence[Item], groups: Sequence[str] | None = None) -> Traces:
        """Ask about items in every arm, and again after truncated, transplanted or edited reasoning.

        The plain answers come first, as hints name another option than the plain answer. Judgments
        and edits need the answers of the arms, so that they come last.

        Args:
            items: N items, whose labels are the correct options.
            groups: N names of groups. None for independent items.

        Raises:
            UnreadAnswersError: If most of the first plain answers cannot be read.
            ValueError: If the template of the model drops the hints, or the engine fails.
        """
        plain = self._ask_plain(items)
        answer_by_item = {trace.item: trace.answer for trace in plain}
        # All kinds of hints are compared with one neutral sentence, by the source of the first.
        first_kind = self.options.hints[0]
        neutral = self._ask_arm(NEUTRAL, first_kind, items)

        # An item without a plain answer has no option to hint at.
        goals = {}
        hinted_items = []
        for item in items:
            goals[item.id] = self.draw_goal(item, answer_by_item[item.id])
            if goals[item.id] >= 0:
                hinted_items.append(item)
        hinted_by_kind = {}
        for kind in self.options.hints:
            hinted_by_kind[kind] = self._ask_arm(HINT, kind, hinted_items, goals)
        # A hint to the plain answer itself cannot change it. Mentions of it are false confessions.
        confirmed = []
        for kind in self.options.hints:
            confirmed += self._ask_arm(OWN, kind, hinted_items, answer_by_item)

        hinted = [trace for traces in hinted_by_kind.values() for trace in traces]
        traces = _add_groups([*plain, *neutral, *hinted, *confirmed], items, groups)
        result = Traces(tuple(traces))
        if self.judge is not None:
            result = dataclasses.replace(result, judgments=self.judge.read(hinted, plain))
        reason = self._explain_no_cuts(plain)
        if reason:
            return dataclasses.replace(result, no_early=reason)
        # The model is asked again for the letter alone, after reasoning that it wrote before.
        result = dataclasses.replace(
            result,
            early=self._ask_early(items, plain),
            cells=self._ask_transplants(hinted_items, neutral, hinted_by_kind[first_kind]),
        )
        if self.editor is None or not self.rendering.chat:
            return result
        return dataclasses.replace(result, edited=self._ask_edited(items, plain, self.editor))

    def _ask_plain(self, items: Sequence[Item]) -> list[Trace]:
        """Ask about items without a hint, and check that the first answers can be read.

        Raises:
            UnreadAnswersError: If most of the first answers cannot be read.
        """
        # The first answers are read before further requests are paid for.
        plain = self._ask_arm(PLAIN, "", items[:N_FIRST], part="first")
        unread_texts = []
        for trace in plain:
            if trace.answer < 0 and trace.text:
                unread_texts.append(trace.text)
        check_first_answers(unread_texts, len(plain), self.engine.name)
        return plain + self._ask_arm(PLAIN, "", items[N_FIRST:])

    def _explain_no_cuts(self, plain: Sequence[Trace]) -> str:
        """Return why the plain reasoning cannot be truncated and given back; "" if it can.

        Args:
            plain: The plain answers.
        """
        if self._is_single_pass:
            return "the harness sends all requests at once, so that none follows an answer"
        if self.engine.thinks or any(trace.thinking or trace.hidden for trace in plain):
            return "it thinks before it answers (--thinking off asks it without, where it can)"
        texts = [trace.text for trace in plain if trace.answer >= 0]
        if not have_reasons(texts).any():
            return "no plain answer with reasoning can be read"
        return ""

    # --- Answers with reasoning

    def _ask_arm(
        self,
        arm: str,
        kind: str,
        items: Sequence[Item],
        goals: Mapping[str, int] = NO_GOALS,
        *,
        part: str = "",
    ) -> list[Trace]:
        """Ask about items in one arm, with reasoning.

        Args:
            arm: "plain", "neutral", "hint" or "own".
            kind: Kind of the hint, such as "colleague", or of the source of the neutral sentence.
                "" in the plain arm.
            items: N items.
            goals: Item -> index of the option that its hint names. Empty in arms without hints.
            part: Name of a part of the items, whose replies are stored separately.

        Returns:
            N answers, in the order of the items.
        """
        questions = [self._make_question(arm, kind, item, goals) for item in items]
        self._check_template(questions)
        # Each arm has its own folder of replies, from which an interrupted run resumes.
        folder = " ".join(filter(None, (arm, kind, part)))
        requests = [question.request for question in questions]
        replies = self._generate(folder, requests, self.drawn)
        answers = self._read_replies(questions, replies, f"{folder} repair")

        # Some APIs neither show nor count thinking, which the trial of the server found.
        is_never_shown = self.engine.thinks and not any(reply.thinking for reply in replies)
        traces = []
        for question, reply, answer in zip(questions, replies, answers, strict=True):
            trace = Trace(
                item=question.item.id,
                arm=arm,
                answer=answer,
                n_options=len(question.texts),
                question=question.source.question,
                kind=kind,
                hint=question.hint,
                label=question.item.label,
                source=question.source.name,
                thinking=reply.thinking,
                text=reply.text,
                hidden=is_never_shown or hides_thinking(reply),
            )
            traces.append(trace)
        return traces

    def _make_question(
        self, arm: str, kind: str, item: Item, goals: Mapping[str, int]
    ) -> _Question:
        """Make the request about an item in an arm, with a hint or a neutral sentence.

        Args:
            arm: "plain", "neutral", "hint" or "own".
            kind: Kind of the source of the sentence. "" in the plain arm.
            item: The item, with its id, texts and label.
            goals: Item -> index of the option that its hint names.
        """
        # In the plain arm, the source is not named, but the answers are searched for it.
        source = self.draw_source(kind or self.options.hints[0], item)
        hint = goals.get(item.id, NO_ANSWER)
        sentence = write_sentence(arm, source, hint)
        name = name_request(item, arm, kind)
        return _Question(
            item=item,
            source=source,
            hint=hint,
            sentence=sentence,
            request=self.make_request(name, item, sentence, REASONED),
            texts=self.rendering.texts(item),
        )

    def _check_template(self, questions: Sequence[_Question]) -> None:
        """Check that the chat template keeps the sentence next to the question.

        Args:
            questions: Requests of one arm, of which the first is rendered.

        Raises:
            ValueError: If the rendered prompt lacks the sentence.
        """
        if not questions or not questions[0].sentence:
            return
        rendered = self.engine.render(questions[0].request.prompt)
        # A template may wrap lines.
        if _normalize_spaces(questions[0].sentence) not in _normalize_spaces(rendered):
            raise ValueError(
                "Expected a chat template that keeps the whole question, but the template of "
                f"{self.engine.name} removes the hint."
            )

    def _read_replies(
        self, questions: Sequence[_Question], replies: Sequence[Reply], folder: str
    ) -> list[int]:
        """Return the option that each reply chooses.

        If the parser finds no answer in a complete reply, the model is asked which option the reply
        means, unless such repairs are off.

        Args:
            questions: N questions.
            replies: N replies to them.
            folder: Name of the folder of the second requests.

        Returns:
            N indices of options; -1 for a reply without an answer.
        """
        answers = []
        unread_texts = []
        unread_rows = []
        for row, (question, reply) in enumerate(zip(questions, replies, strict=True)):
            answer = read_reply(reply, question.sentence, question.texts)
            answers.append(answer)
            # A truncated reply has no answer that a second request could find.
            is_complete = reply.finish == "stop" and bool(reply.text.strip())
            if answer == NO_ANSWER and is_complete:
                unread_text = UnreadText(
                    name=question.request.name,
                    text=remove_hint(reply.text, question.sentence),
                    marks=tuple(LETTERS[: len(question.texts)]),
                    options=tuple(question.texts),
                )
                unread_texts.append(unread_text)
                unread_rows.append(row)
        if self.reader is not None:
            folder_path = self._choose_folder(folder).get("out")
            readings = self.reader.read(unread_texts, out=folder_path)
            for row, answer in zip(unread_rows, readings, strict=True):
                answers[row] = answer
        return answers

    # --- Reasoning that is cut, transplanted, or edited

    def _ask_early(
        self, items: Sequence[Item], plain: Sequence[Trace]
    ) -> dict[str, tuple[tuple[bool, ...], bool | None]]:
        """Ask for the letter again after each of the shares `CUTS` of the plain reasoning.

        Args:
            items: N items.
            plain: Their N plain answers.

        Returns:
            Item -> whether the answer after each cut is the plain one, and whether the answer
            without any reasoning is correct (None without a label). Items without a plain answer or
            without reasoning are missing.
        """
        has_reasons = have_reasons([trace.text for trace in plain]).tolist()
        truncated_traces = []
        requests = []
        option_counts = []
        for item, trace, is_reasoned in zip(items, plain, has_reasons, strict=True):
            if trace.answer < 0 or not is_reasoned:
                continue
            truncated_traces.append(trace)
            for share in CUTS:
                name = f"{item.id}/cut {share:.2f}"
                text = cut_reasoning(trace.text, share)
                requests.append(self._make_short_request(name, item, sentence="", text=text))
                option_counts.append(trace.n_options)
        answers = self._ask_letters("cuts", requests, option_counts)
        # (number of traces, number of cuts), as the requests were listed.
        answers_by_trace = np.array(answers).reshape(-1, len(CUTS))

        early = {}
        for trace, answers_by_cut in zip(truncated_traces, answers_by_trace, strict=True):
            is_same = tuple((answers_by_cut == trace.answer).tolist())
            # The first cut leaves no reasoning.
            is_correct = None
            if trace.label >= 0:
                is_correct = bool(answers_by_cut[0] == trace.label)
            early[trace.item] = (is_same, is_correct)
        return early

    def _ask_transplants(
        self, items: Sequence[Item], neutral: Sequence[Trace], hinted: Sequence[Trace]
    ) -> dict[str, tuple[bool, bool, bool, bool]]:
        """Ask the plain and the hinted question after reasoning from the neutral and the hinted arm.

        The reasoning is given without its conclusion. Of the four combinations, the hinted question
        with its own reasoning is not asked again, because its answer is known.

        Args:
            items: Items with a hint.
            neutral: Answers next to the neutral sentence.
            hinted: Answers next to the hint.

        Returns:
            Item -> whether the answer is the hinted option, for (question, reasoning) = (plain,
            neutral), (plain, hinted), (hinted, neutral) and (hinted, hinted). Items without a text
            in one of the arms are missing.
        """
        neutral_by_item = {trace.item: trace for trace in neutral}
        hinted_by_item = {trace.item: trace for trace in hinted}
        asked_traces = []
        requests = []
        option_counts = []
        for item in items:
            neutral_trace = neutral_by_item[item.id]
            hinted_trace = hinted_by_item[item.id]
            if not neutral_trace.text or not hinted_trace.text:
                continue
            asked_traces.append(hinted_trace)
            neutral_text = remove_conclusion(neutral_trace.text)
            hinted_text = remove_conclusion(hinted_trace.text)
            # Name, sentence next to the question (none in the plain question), and reasoning.
            combinations = (
                ("n", "", neutral_text),
                ("h", "", hinted_text),
                ("hn", hinted_trace.sentence, neutral_text),
            )
            for name, sentence, text in combinations:
                request = self._make_short_request(f"{item.id}/given {name}", item, sentence, text)
                requests.append(request)
                option_counts.append(hinted_trace.n_options)
        answers = self._ask_letters("transplants", requests, option_counts)
        # (number of items, 3), as the requests were listed.
        answers_by_item = np.array(answers).reshape(-1, 3)

        cells = {}
        for trace, item_answers in zip(asked_traces, answers_by_item, strict=True):
            plain_neutral, plain_hinted, hinted_neutral = (item_answers == trace.hint).tolist()
            hinted_hinted = trace.answer == trace.hint
            cells[trace.item] = (plain_neutral, plain_hinted, hinted_neutral, hinted_hinted)
        return cells

    def _ask_edited(
        self, items: Sequence[Item], plain: Sequence[Trace], editor: ReasoningEditor
    ) -> dict[str, dict[str, tuple[int, int]]]:
        """Ask again with a mistake in the plain reasoning, and with the reasoning in other words.

        Args:
            items: N items.
            plain: Their N plain answers.
            editor: Second model, which writes the edits.

        Returns:
            "mistake" and "reworded" -> item -> (answer after the unchanged reasoning, answer after
            the edited reasoning), as indices of options; -1 for an unread answer.
        """
        texts = {}
        questions = {}
        for trace in plain:
            questions[trace.item] = trace.question
            if trace.answer >= 0:
                texts[trace.item] = remove_conclusion(trace.text)
        has_reasons = have_reasons(list(texts.values())).tolist()
        reasons = {}
        for (item_id, text), is_reasoned in zip(texts.items(), has_reasons, strict=True):
            if is_reasoned:
                reasons[item_id] = text

        mistakes = editor.insert_mistakes(reasons, questions)
        reworded = editor.reword(reasons)
        # The reasoning up to a mistake is incomplete, so that the model has to continue it.
        continuation = f"{GO_ON} {REASONED}"
        mistake_answers = self._ask_twice("mistake", items, mistakes, continuation, self.drawn)
        # Reworded reasoning is complete, and only lacks the letter of the answer.
        reworded_answers = self._ask_twice("reworded", items, reworded, SHORT, self.greedy)
        return {"mistake": mistake_answers, "reworded": reworded_answers}

    def _ask_twice(
        self,
        kind: str,
        items: Sequence[Item],
        texts_by_item: Mapping[str, tuple[str, str]],
        instruction: str,
        options: Generation,
    ) -> dict[str, tuple[int, int]]:
        """Ask for the answer to items after unchanged and after edited reasoning.

        Args:
            kind: Name of the kind of requests.
            items: The items.
            texts_by_item: Item -> (its unchanged reasoning, its edited reasoning).
            instruction: Turn of the user after the reasoning.
            options: How answers are generated.

        Returns:
            Item -> (answer after unchanged reasoning, answer after edited reasoning), as indices of
            options; -1 for an unread answer.
        """
        # Editing may have left some items out.
        item_by_id = {item.id: item for item in items}
        requests = []
        for item_id, texts in texts_by_item.items():
            for number, text in enumerate(texts):
                turns = [
                    {"role": "assistant", "content": text},
                    {"role": "user", "content": instruction},
                ]
                name = f"{item_id}/{kind} {number}"
                request = self.make_request(name, item_by_id[item_id], "", REASONED, turns)
                requests.append(request)
        replies = self._generate(kind, requests, options)

        answers = {}
        # The two replies to an item follow each other.
        for index, item_id in enumerate(texts_by_item):
            choices = self.rendering.texts(item_by_id[item_id])
            unchanged = read_reply(replies[2 * index], "", choices)
            edited = read_reply(replies[2 * index + 1], "", choices)
            answers[item_id] = (unchanged, edited)
        return answers

    # --- Requests

    def _make_short_request(self, name: str, item: Item, sentence: str, text: str) -> Request:
        """Make a request for the letter of the answer, after reasoning that is already written.

        Args:
            name: Unique name of the request.
            item: The item, with its id, texts and label.
            sentence: Sentence next to the question. "" if there is none.
            text: Reasoning, as if the model had written it. "" asks without any reasoning.
        """
        if not text:
            return self.make_request(name, item, sentence, SHORT)
        turns: list[Message] = [{"role": "assistant", "content": text}]
        # Without turns, the request for the letter is a part of the text that the model continues.
        if not self.rendering.chat:
            return self.make_request(name, item, sentence, SHORT, turns)
        # In a conversation, the question asks for reasons, and a further turn for the letter.
        turns.append({"role": "user", "content": SHORT})
        return self.make_request(name, item, sentence, REASONED, turns)

    def _ask_letters(
        self, kind: str, requests: Sequence[Request], counts: Sequence[int]
    ) -> list[int]:
        """Return the index of the option that answers each request for a letter; -1 if unread.

        Args:
            kind: Name of the kind of requests.
            requests: N requests.
            counts: Number of options of each request.
        """
        replies = self._generate(kind, requests, self.greedy)
        options = []
        for reply, count in zip(replies, counts, strict=True):
            options.append(read_answer(reply.text, LETTERS[:count]))
        return options

    def _generate(self, kind: str, requests: Sequence[Request], options: Generation) -> list[Reply]:
        """Return the reply to each request; an empty reply for a request that failed.

        Args:
            kind: Name of the kind of requests, which has its own folder of replies.
            requests: The requests.
            options: Temperature, length limit and seed of the replies.
        """
        if not requests:
            return []
        answers = self.engine.generate(requests, options=options, **self._choose_folder(kind))
        replies = []
        for row in answers.replies:
            replies.append(row[0] if row else Reply())
        return replies


def _add_groups(
    traces: Sequence[Trace], items: Sequence[Item], groups: Sequence[str] | None
) -> list[Trace]:
    """Return answers with the name of the group of their item.

    Args:
        traces: Answers, in any order.
        items: N items.
        groups: N names of groups. None for independent items, whose group is "".
    """
    group_by_item = {}
    if groups is not None:
        group_by_item = dict(zip([item.id for item in items], groups, strict=True))
    grouped_traces = []
    for trace in traces:
        group = group_by_item.get(trace.item, "")
        grouped_traces.append(dataclasses.replace(trace, group=group))
    return grouped_traces


def read_reply(reply: Reply, sentence: str, texts: Sequence[str]) -> int:
    """Return the index of the option that a reply names by its letter; -1 if it names none.

    Args:
        reply: The reply.
        sentence: Hint next to the question. Its letter is ignored if the reply quotes it.
        texts: Texts of the options.
    """
    if reply.no_answer_reason:
        return NO_ANSWER
    return read_answer(remove_hint(reply.text, sentence), LETTERS[: len(texts)], texts=texts)


def hides_thinking(reply: Reply) -> bool:
    """Return whether a reply hides its thinking, or shows only a summary of it.

    Example:
        >>> hides_thinking(Reply("B", usage={"thinking_tokens": 40}))
        True
        >>> hides_thinking(Reply("B", thinking="I compare both.", usage={"thinking_tokens": 5}))
        False
    """
    n_tokens = reply.usage.get("thinking_tokens", 0)
    # Tokenizers count differently, but not by a factor of three.
    return n_tokens > MAX_TOKENS_PER_SHOWN * estimate_tokens(reply.thinking)


def remove_hint(text: str, sentence: str) -> str:
    """Return a text without quotes of the sentence next to its question."""
    if not sentence:
        return text
    return text.replace(sentence, " ")


def cut_reasoning(text: str, share: float) -> str:
    r"""Return the first sentences of a text: a given share of its sentences, rounded.

    Args:
        text: The reasoning.
        share: Share of its sentences, from 0 to 1.

    Example:
        >>> cut_reasoning("One. Two. Three.", 1 / 3), cut_reasoning("One.\nTwo.", 1.0)
        ('One.', 'One.\nTwo.')
        >>> cut_reasoning("One. Two. Three.", 0.0)
        ''
    """
    ends = [end for _, end in find_sentences(text)]
    count = round(share * len(ends))
    if not count:
        return ""
    return text[: ends[count - 1]].rstrip()


def remove_conclusion(text: str) -> str:
    r"""Return a text without the sentences at its end that state an answer.

    Example:
        >>> remove_conclusion("Pots hold heat. So the answer is (A).\nAnswer: A")
        'Pots hold heat.'
    """
    spans = find_sentences(text)
    while spans:
        start, end = spans[-1]
        if not _CONCLUSION.search(text[start:end]):
            return text[:end].rstrip()
        spans.pop()
    return ""


def _normalize_spaces(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())
