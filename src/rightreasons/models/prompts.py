"""Requests to a language model: items in words, by a template, few-shot examples and a chat.

`Rendering.from_prompt` chooses what the options of a `Prompt` leave open, and `Rendering.request`
returns the request that asks an item. `Examples` samples few-shot examples.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.choices import LETTERS
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.resampling import item_rng
from rightreasons.core.validation import (
    check_choice_lists,
    check_ids,
    check_labels,
    check_same_length,
    check_texts,
)
from rightreasons.models.protocol import Message, Request
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    import jinja2

FIELDS: Mapping[str, tuple[str, ...]] = {
    "classification": ("text", "text_pair", "label_words", "options"),
    "multiple_choice": ("prompt", "choices", "options"),
}
"""Task -> names of the fields that its template may use."""

_TEXT = "{{ text }}{% if text_pair %}\n{{ text_pair }}{% endif %}\n\n"
TEMPLATES = {
    ("classification", False): _TEXT + "Which label fits: {{ label_words | join(', ') }}?",
    ("classification", True): _TEXT + "Which label fits?\n{{ options }}",
    ("multiple_choice", False): "{{ prompt }}",
    ("multiple_choice", True): "{{ prompt }}\n{{ options }}",
}
"""(task, whether the question lists the answers) -> the default template."""

# What an instruction asks for, by the style of answers.
_ANSWER_BY_STYLE = {"words": "words of one answer", "letters": "letter", "numbers": "number"}
PREFIX = "Answer:"

ORDERS = ("given", "reversed", "rotated")
"""The displayed orders of the answers of an item; "rotated" moves the first to the end."""

_VERSION = re.compile(
    r"/(?:original|no_question|wrong_question|no_right_answer|(?:extra|near)_choices(?:_\d+)?"
    r"|none_(?:added|right)|(?:random )?order \d+|without word \d+)$"
)
"""End of the id of a changed version of an item, such as "/no_question" of "7/no_question"."""


@dataclasses.dataclass(frozen=True)
class Item:
    """An item for a prompt: a text with classes, or a question with choices.

    Attributes:
        id: Id of the item.
        fields: Fields of the template: text and text_pair, or prompt and choices.
        label: Index of the correct answer, -1 for an unlabeled item.
        follow: Turns of a chat after the question: a first answer, and a request about it.
        links: Column -> id that the item shares with related items; empty for independent items.
    """

    id: str
    fields: Mapping[str, Any]
    label: int = -1
    follow: tuple[Message, ...] = ()
    # These are not part of a prompt. Confidence intervals treat linked items as one unit.
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)


def make_items(
    ids: Sequence[object], labels: Sequence[int] | None = None, **fields: Sequence[Any]
) -> list[Item]:
    """Make items from columns.

    Args:
        ids: N ids.
        labels: N correct answers, -1 if unknown. None if all are unknown.
        **fields: N values of each field, such as `prompt` and `choices`. If there is a `text`, but
            no `text_pair`, all items get the `text_pair` None.

    Example:
        >>> make_items([7], [1], prompt=["2 + 2 ="], choices=[["3", "4"]])[0].fields
        {'prompt': '2 + 2 =', 'choices': ['3', '4']}
    """
    if "text" in fields:
        fields.setdefault("text_pair", [None] * len(ids))
    if labels is None:
        labels = [-1] * len(ids)
    items = []
    rows = zip(*fields.values(), strict=True)
    for item_id, label, values in zip(ids, labels, rows, strict=True):
        values_by_field = dict(zip(fields, values, strict=True))
        items.append(Item(str(item_id), values_by_field, int(label)))
    return items


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceItems:
    """Checked multiple-choice items.

    Attributes:
        ids: N ids.
        prompts: N prompts.
        choices: N lists of choices.
        counts: (N,) number of choices of each item.
        labels: (N,) indices of the correct choices, -1 for unlabeled items. None for data without
            labels.
    """

    ids: tuple[str, ...]
    prompts: list[str]
    choices: list[list[str]]
    counts: NDArray[np.int64]
    labels: NDArray[np.int64] | None

    @classmethod
    def check(
        cls,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: object = None,
        allow_empty: bool = False,
    ) -> ChoiceItems:
        """Check the columns of multiple-choice items, and return them as items.

        Args:
            prompts: N prompts, which may be empty.
            choices: N lists of at least two strings.
            ids: N unique ids. If None, "0", "1", …
            labels: (N,) index of the correct choice, -1 if it is unknown. None for data without
                labels.
            allow_empty: Whether choices may be empty or consist of white space.

        Raises:
            TypeError: If a column has the wrong type.
            ValueError: If columns differ in length, an item has fewer than two choices, an id
                occurs twice, or a label is not the index of a choice.
        """
        texts = check_texts(prompts, "prompts", allow_empty=True)
        check_same_length(prompts=texts, choices=choices)
        rows = check_choice_lists(choices, "choices", allow_empty=allow_empty)
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        if ids is None:
            ids = range(len(texts))
        names = tuple(check_ids(ids, "ids"))
        check_same_length(prompts=texts, ids=names)
        gold = None
        if labels is not None:
            check_same_length(prompts=texts, labels=labels)
            # The number of classes differs from item to item.
            gold = check_labels(labels, counts, name="labels", minimum=-1)
        return cls(ids=names, prompts=texts, choices=rows, counts=counts, labels=gold)

    def items(self) -> list[Item]:
        """Return the items as they are asked."""
        return make_items(self.ids, prompt=self.prompts, choices=self.choices)


def find_wordless_items(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[int, str]:
    """Find the items with an answer without words, because its likelihood is not defined.

    Args:
        names: N ids of items.
        rows: N lists of the answers of an item.

    Returns:
        Index of an item -> an error message that names its last answer without words.
    """
    reasons = {}
    for index, (name, answers) in enumerate(zip(names, rows, strict=True)):
        for number, answer in enumerate(answers):
            if not answer.strip():
                reasons[index] = (
                    f"Expected answers with words, but answer {number} of item {name!r} is "
                    f"{answer!r}."
                )
    return reasons


def group_distinct_texts(
    keys: Iterable[Any], rows: Iterable[Sequence[str]]
) -> tuple[list[list[str]], list[tuple[int, list[int]]]]:
    """Collect the distinct texts of rows with equal keys, such as the choices after one prompt.

    Args:
        keys: N keys.
        rows: N lists of texts.

    Returns:
        For each of the G distinct keys, in the order of their first occurrence, a list of its
        distinct texts; and for each of the N rows a pair of the index of its key, and the indices
        of its texts in the list of that key.

    Example:
        >>> group_distinct_texts(["a", "b", "a"], [["x", "y"], ["x"], ["z", "x"]])
        ([['x', 'y', 'z'], ['x']], [(0, [0, 1]), (1, [0]), (0, [2, 0])])
    """
    index_by_key: dict[Any, int] = {}
    # For each distinct key: text -> index of the text.
    index_by_text_of_keys: list[dict[str, int]] = []
    indices_by_row = []
    for key, row in zip(keys, rows, strict=True):
        if key not in index_by_key:
            index_by_key[key] = len(index_by_key)
            index_by_text_of_keys.append({})
        key_index = index_by_key[key]
        index_by_text = index_by_text_of_keys[key_index]
        text_indices = []
        for text in row:
            if text not in index_by_text:
                index_by_text[text] = len(index_by_text)
            text_indices.append(index_by_text[text])
        indices_by_row.append((key_index, text_indices))
    # Dictionaries keep the order of insertion, which is that of the indices.
    return [list(index_by_text) for index_by_text in index_by_text_of_keys], indices_by_row


class Examples:
    """Labeled items of a training split, from which few-shot examples are sampled.

    Args:
        items: The items; unlabeled ones are left out.

    Example:
        >>> rows = [{"text": f"text {n}", "text_pair": None} for n in range(9)]
        >>> items = [Item(str(n), row, n % 2) for n, row in enumerate(rows)]
        >>> examples = Examples(items)
        >>> drawn = examples.draw(items[4], 3, seed=0)
        >>> len(drawn), items[4] in drawn, drawn == Examples(items[::-1]).draw(items[4], 3, seed=0)
        (3, False, True)
    """

    def __init__(self, items: Sequence[Item]) -> None:
        labeled_items = [item for item in items if item.label >= 0]
        # Sorted by id, so that examples do not depend on the order of the data.
        self.items = sorted(labeled_items, key=lambda item: item.id)

    @classmethod
    def from_columns(
        cls, ids: Sequence[object], labels: Sequence[int], **fields: Sequence[Any]
    ) -> Examples:
        """Make examples from columns: ids, correct answers, and the fields of an item by name."""
        check_same_length(ids=ids, labels=labels, **fields)
        return cls(make_items(ids, labels, **fields))

    def draw(self, item: Item, count: int, *, seed: int) -> list[Item]:
        """Sample few-shot examples for an item, which are never the item itself.

        An example with the same id, or the same words, counts as the item itself.

        Args:
            item: The item.
            count: Number of examples.
            seed: Seed of the sample, together with the id of the item. A changed version of an
                item, such as "7/no_question", has the same examples as the item "7".

        Raises:
            ValueError: If there are fewer than `count` examples.
        """
        original_id = _VERSION.sub("", item.id)
        order = item_rng(seed, original_id).permutation(len(self.items))
        examples: list[Item] = []
        for index in order:
            if len(examples) == count:
                break
            # An example that is the item would contain its answer.
            if not _is_origin(self.items[index], item):
                examples.append(self.items[index])
        if len(examples) < count:
            raise ValueError(
                f"Expected {count} few-shot examples for each item, but the training split has "
                f"{len(examples)} labeled items besides {item.id!r}."
            )
        return examples


def _is_origin(example: Item, item: Item) -> bool:
    """Return whether an example is an item itself, or the item that it was made from.

    That is the case if their ids or their fields are equal, or if the id of the item is that of the
    example with a suffix after a slash, such as "12/near_choices" for the example "12".
    """
    if item.id == example.id or item.id.startswith(f"{example.id}/"):
        return True
    return dict(example.fields) == dict(item.fields)


@dataclasses.dataclass(frozen=True)
class Rendering:
    """How items become requests: the options of a prompt, with every "auto" decided.

    Attributes:
        prompt: The options.
        task: "classification" or "multiple_choice".
        template: The template of a question.
        style: Style of answers: "words", "letters" or "numbers".
        scoring: How answers are scored, such as "sum"; never "auto".
        chat: Whether items are rendered as turns of a conversation.
        answer_prefix: Words before the answer, such as "Answer:"; may be empty.
        label_words: Words of the K classes; empty for multiple choice.
        form: Form of generated answers: "constrained", "line" or "free".
        order: Order in which answers are displayed, one of `ORDERS`. Letters and numbers follow it,
            but scores are in the order of the item.
    """

    prompt: Prompt
    task: str
    template: str
    style: str
    scoring: str
    chat: bool
    answer_prefix: str
    label_words: tuple[str, ...] = ()
    form: str = "free"
    order: str = "given"

    @classmethod
    def from_prompt(
        cls,
        prompt: Prompt,
        *,
        chat: bool,
        scorings: Sequence[str],
        label_names: Sequence[str] | None = None,
        constrains: bool = False,
    ) -> Rendering:
        """Choose all settings that the options of a prompt leave to the task and the model.

        Args:
            prompt: The options, of which `scoring`, `style` and `form` may be "auto", and
                `template` and `answer_prefix` None.
            chat: Whether items are rendered as turns of a conversation.
            scorings: Scorings that the model supports, the preferred one first.
            label_names: Names of the K classes. None for multiple choice.
            constrains: Whether the model can restrict generated answers to given strings.

        Raises:
            ValueError: If the template is not valid or names an unknown field, or the number of
                label words is not K.
        """
        is_choice = label_names is None
        scoring = _choose_scoring(prompt, scorings, is_choice=is_choice)
        style = _choose_style(prompt, scoring, is_choice=is_choice)
        form = _choose_form(prompt, chat=chat, constrains=constrains)
        task = "multiple_choice" if is_choice else "classification"
        template = prompt.template
        if template is None:
            # The question lists the answers if an answer is a letter or number, or has to be
            # written.
            is_listed = style != "words" or (is_choice and scoring == "generated")
            template = TEMPLATES[task, is_listed]
            template += write_instruction(style, scoring=scoring, form=form, chat=chat)
        prefix = prompt.answer_prefix
        if prefix is None:
            # The text of a choice continues its prompt directly, like the end of a sentence.
            is_continuation = is_choice and style == "words" and scoring != "generated"
            has_no_prefix = chat or is_continuation or prompt.template is not None
            prefix = "" if has_no_prefix else PREFIX
        rendering = cls(
            prompt=prompt,
            task=task,
            template=template,
            style=style,
            scoring=scoring,
            chat=chat,
            answer_prefix=prefix,
            label_words=_choose_label_words(prompt, label_names),
            form=form,
        )
        rendering._check_template()
        return rendering

    @property
    def joint(self) -> bool:
        """Whether the question lists all choices of an item, so that the model sees all of them."""
        return self.style != "words" or bool(
            {"choices", "options"} & _find_template_variables(self.template)
        )

    def answers(self, item: Item) -> list[str]:
        """Return the answers of an item in the style that the model should give them.

        They are words, letters or numbers, in the order of the item. Letters and numbers count the
        displayed options: with order="reversed", the first answer of the item has the last letter.
        """
        texts = self.texts(item)
        if self.style == "words":
            return texts
        answers = [""] * len(texts)
        displayed_order = self.get_displayed_order(len(texts))
        marks = _list_marks(self.style, len(texts))
        for index, mark in zip(displayed_order, marks, strict=True):
            answers[index] = mark
        return answers

    def get_displayed_order(self, count: int) -> list[int]:
        """Return the index of the answer that is displayed first, second, and so on.

        With `order` "reversed", three answers are displayed in the order [2, 1, 0]; with "rotated",
        in the order [1, 2, 0].

        Args:
            count: Number of answers.
        """
        indices = list(range(count))
        if self.order == "reversed":
            return indices[::-1]
        if self.order == "rotated":
            return [*indices[1:], *indices[:1]]
        return indices

    def texts(self, item: Item) -> list[str]:
        """Return the answers of an item in words: the label words, or its choices."""
        if self.task == "classification":
            return list(self.label_words)
        return list(item.fields["choices"])

    def request(self, item: Item, examples: Sequence[Item] = ()) -> Request:
        """Return the request to a model that asks an item, with the answers as continuations.

        Args:
            item: The item.
            examples: Labeled items that are shown with their answers before it.
        """
        # Pairs of a question and its answer.
        shots = []
        for example in examples:
            answer = self.answers(example)[example.label]
            shots.append((self._render_question(example), self.format_answer(answer)))
        if self.chat:
            return self._make_conversation(item, shots)
        return self._make_text(item, shots)

    def _make_conversation(self, item: Item, shots: Sequence[tuple[str, str]]) -> Request:
        """Return the request that asks an item in a conversation.

        The turns are the system prompt, a question and an answer for each example, the question of
        the item, and the turns that follow it. If answers have a prefix, it begins the turn of the
        assistant, which the model continues.

        Args:
            item: The item.
            shots: (question, answer) of each example.
        """
        turns: list[Message] = []
        if self.prompt.system is not None:
            turns.append({"role": "system", "content": self.prompt.system})
        for question, answer in shots:
            prefixed_answer = f"{self.answer_prefix}{self._separator}{answer}"
            turns.append({"role": "user", "content": question})
            turns.append({"role": "assistant", "content": prefixed_answer})
        turns.append({"role": "user", "content": self._render_question(item)})
        turns += item.follow
        if self.answer_prefix:
            turns.append({"role": "assistant", "content": self.answer_prefix})
        continuations = self._list_continuations(item, self._separator)
        return Request(item.id, tuple(turns), continuations)

    def _make_text(self, item: Item, shots: Sequence[tuple[str, str]]) -> Request:
        """Return the request that asks an item by a plain text, which the model continues.

        The text has the system prompt, the examples with their answers, and the question of the
        item, separated by empty lines.

        Args:
            item: The item.
            shots: (question, answer) of each example.
        """
        parts = []
        if self.prompt.system:
            parts.append(self.prompt.system)
        for question, answer in shots:
            parts.append(f"{self._add_answer_prefix(question)}{self._separator}{answer}")
        parts.append(self._add_answer_prefix(self._render_question(item)))
        text = "\n\n".join(parts)
        # As in lm-evaluation-harness, white space at the end of the text is moved to the answer.
        stripped_text = text.rstrip()
        space = text[len(stripped_text) :]
        continuations = self._list_continuations(item, f"{space}{self._separator}")
        return Request(item.id, stripped_text, continuations)

    def _list_continuations(self, item: Item, separator: str) -> tuple[str, ...]:
        """Return the answers of an item with white space before each of them."""
        return tuple(f"{separator}{answer}" for answer in self.answers(item))

    def format_answer(self, answer: str) -> str:
        """Return an answer as a model should write it, such as "ANSWER: B" for the form "line"."""
        if self.form == "line" and self.scoring == "generated":
            return f"ANSWER: {answer}"
        return answer

    def make_unconditional_request(self, item: Item) -> Request:
        """Return a request for the likelihoods of the answers of an item without its question.

        The prompt is the prefix of the answer only, such as "Answer:". In a chat, the turn of the
        user is empty. The scoring "unconditional" subtracts these log-likelihoods from those with
        the question.
        """
        continuations = self._list_continuations(item, self._separator)
        if not self.chat:
            return Request(item.id, self.answer_prefix, continuations)
        turns: list[Message] = [{"role": "user", "content": ""}]
        if self.answer_prefix:
            turns.append({"role": "assistant", "content": self.answer_prefix})
        return Request(item.id, tuple(turns), continuations)

    @functools.cached_property
    def _separator(self) -> str:
        """White space before an answer: a space, or nothing at the start of a turn or a line."""
        # In a chat without a prefix, the answer begins the turn of the assistant.
        if self.chat and not self.answer_prefix:
            return ""
        text_before_answer = self.answer_prefix or self.template
        if text_before_answer[-1:].isspace():
            return ""
        return " "

    def _add_answer_prefix(self, question: str) -> str:
        """Return a question with the prefix of the answer, such as "Answer:", on a new line."""
        if not self.answer_prefix:
            return question
        return f"{question}\n{self.answer_prefix}".lstrip("\n")

    def _render_question(self, item: Item) -> str:
        """Fill the template with the fields and the answers of an item.

        The result does not include the prefix of the answer.

        Raises:
            ValueError: If the template fails.
        """
        texts = self.texts(item)
        displayed_texts = [texts[index] for index in self.get_displayed_order(len(texts))]
        # One answer per line, such as "A. yes" or "- yes".
        option_lines = []
        if self.style == "words":
            option_lines += [f"- {text}" for text in displayed_texts]
        else:
            marks = _list_marks(self.style, len(texts))
            for mark, text in zip(marks, displayed_texts, strict=True):
                option_lines.append(f"{mark}. {text}")
        fields = {**item.fields, "options": "\n".join(option_lines), "label_words": []}
        if self.label_words:
            fields["label_words"] = displayed_texts
        try:
            return self._template.render(fields).lstrip("\n")
        except Exception as error:
            # A template of a user can raise errors of any type.
            raise ValueError(
                f"Expected a template that can be filled with item {item.id!r}, but it fails: "
                f"{error}."
            ) from error

    @functools.cached_property
    def _template(self) -> jinja2.Template:
        return _make_environment().from_string(self.template)

    def _check_template(self) -> None:
        """Check that the template is valid jinja, and has a field that distinguishes items.

        Raises:
            OptionError: If the template is not valid, names a field that its task does not have, or
                would ask the same of every item.
        """
        import jinja2

        known_fields = FIELDS[self.task]
        try:
            names = _find_template_variables(self.template)
        except jinja2.TemplateSyntaxError as error:
            raise OptionError(
                f"Expected `template` to be a jinja template, but line {error.lineno} is not "
                f"valid: {error.message}.",
                option="template",
            ) from error
        for name in sorted(names - set(known_fields)):
            task = self.task.replace("_", " ")
            raise make_unknown_name_error(f"field of a template for {task}", name, known_fields)
        # Without any of these fields, every item would have the same question.
        item_fields = {"prompt", "choices", "options"}
        if self.task == "classification":
            item_fields = {"text"}
        if not names & item_fields:
            raise OptionError(
                f"Expected `template` to contain the field {' or '.join(sorted(item_fields))} of "
                f"the item, but got {self.template!r}.",
                option="template",
            )


def _choose_scoring(prompt: Prompt, scorings: Sequence[str], *, is_choice: bool) -> str:
    """Return how answers are scored: as the prompt says or, with "auto", as suits the task.

    Args:
        prompt: The options.
        scorings: Scorings that the model supports, the preferred one first.
        is_choice: Whether the task is multiple choice.

    Returns:
        A scoring such as "sum", "mean" or "generated".
    """
    if prompt.scoring != "auto":
        return prompt.scoring
    # A pattern, or several samples, only make sense for generated answers.
    if (prompt.pattern is not None or prompt.samples > 1) and "generated" in scorings:
        return "generated"
    # A sum of log-likelihoods prefers short answers. Texts of choices differ in length, but label
    # words and letters hardly do.
    scoring = "sum"
    if is_choice and prompt.style in ("auto", "words"):
        scoring = "mean"
    if scoring in scorings:
        return scoring
    return scorings[0]


def _choose_style(prompt: Prompt, scoring: str, *, is_choice: bool) -> str:
    """Return the style of answers, "words", "letters" or "numbers", as suits the scoring.

    Args:
        prompt: The options, whose style is returned unless it is "auto".
        scoring: How answers are scored, such as "sum".
        is_choice: Whether the task is multiple choice.
    """
    if prompt.style != "auto":
        return prompt.style
    # Several choices may begin with the same token, and a model rarely writes the exact text of a
    # choice.
    if is_choice and scoring in ("next_words", "generated"):
        return "letters"
    return "words"


def _choose_form(prompt: Prompt, *, chat: bool, constrains: bool) -> str:
    """Return the form of generated answers, "constrained", "line" or "free".

    Args:
        prompt: The options, whose form is returned unless it is "auto".
        chat: Whether items are rendered as turns of a conversation.
        constrains: Whether the model can restrict generated answers to given strings.
    """
    if prompt.form != "auto":
        return prompt.form
    # If the user wrote a template, it defines how to answer. A pattern does not change the requests,
    # so that it can be added after the run, when the replies are stored.
    if prompt.template is not None:
        return "free"
    return get_default_form(chat=chat, constrains=constrains)


def get_default_form(*, chat: bool, constrains: bool) -> str:
    """Return the default form of generated answers.

    Args:
        chat: Whether items are rendered as turns of a conversation.
        constrains: Whether the model can restrict generated answers to given strings.

    Returns:
        "constrained" if the model can; otherwise "line", a last line "ANSWER: …", in a chat, and
        "free" outside a chat.
    """
    if constrains:
        return "constrained"
    return "line" if chat else "free"


def write_instruction(style: str, *, scoring: str, form: str, chat: bool) -> str:
    r"""Return the instruction at the end of a question on how to answer it, or an empty string.

    Args:
        style: Style of answers: "words", "letters" or "numbers".
        scoring: How answers are scored, such as "generated".
        form: Form of generated answers: "constrained", "line" or "free".
        chat: Whether the question is a turn of a conversation.

    Example:
        >>> write_instruction("letters", scoring="generated", form="line", chat=True)
        '\nAnswer with one line alone: ANSWER: X, where X is the letter.'
        >>> write_instruction("letters", scoring="next_words", form="line", chat=True)
        '\nAnswer with the letter alone.'
    """
    answer = _ANSWER_BY_STYLE[style]
    if scoring == "generated" and form == "line":
        return f"\nAnswer with one line alone: ANSWER: X, where X is the {answer}."
    if scoring == "generated" or (chat and scoring == "next_words"):
        return f"\nAnswer with the {answer} alone."
    # The likelihoods of given answers do not depend on what the model would write.
    return ""


def _choose_label_words(prompt: Prompt, label_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the words that represent the K classes: those of the prompt, or else their names.

    Args:
        prompt: The options, whose `label_words` may be empty.
        label_names: Names of the K classes. None for multiple choice, where K is 0.

    Raises:
        OptionError: If the prompt has another number of label words.
    """
    names = tuple(label_names or ())
    words = prompt.label_words or names
    if len(words) != len(names):
        raise OptionError(
            f"Expected one word in `label_words` for each of {len(names)} labels, and no words "
            f"for multiple choice, but got {len(words)}.",
            option="label_words",
        )
    return words


def _list_marks(style: str, count: int) -> list[str]:
    """Return the letters or numbers that mark some options, such as ["A", "B"] or ["1", "2"].

    Args:
        style: "letters" or "numbers".
        count: Number of options.

    Raises:
        ValueError: If there are more options than letters.
    """
    if style == "numbers":
        return [str(number + 1) for number in range(count)]
    if count > len(LETTERS):
        raise ValueError(
            f"Expected at most {len(LETTERS)} answers with letters, but got {count}. Use numbers "
            "for more answers."
        )
    return list(LETTERS[:count])


@functools.cache
def _make_environment() -> jinja2.Environment:
    """Return the jinja environment in which templates are rendered."""
    import jinja2.sandbox

    # Nothing is escaped, because the texts are for a model, not for a web page. The sandbox keeps
    # templates of strangers from running code.
    return jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )


def _find_template_variables(template: str) -> set[str]:
    """Return the names of the variables that a jinja template uses, such as {"text", "options"}.

    Raises:
        jinja2.TemplateSyntaxError: If the template is not valid.
    """
    import jinja2.meta

    environment = _make_environment()
    names = jinja2.meta.find_undeclared_variables(environment.parse(template))
    # Functions that jinja provides, such as `range`, are no variables.
    return names - set(environment.globals)
