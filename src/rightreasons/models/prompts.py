"""Items in words: a template, few-shot examples and a chat around them become a request.

`Rendering.settle` settles what a `Prompt` leaves open, and `Rendering.request` returns the request
of an item. `Examples` draws few-shot examples.
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
"""The fields of a template, by task."""

_TEXT = "{{ text }}{% if text_pair %}\n{{ text_pair }}{% endif %}\n\n"
TEMPLATES = {
    ("classification", False): _TEXT + "Which label fits: {{ label_words | join(', ') }}?",
    ("classification", True): _TEXT + "Which label fits?\n{{ options }}",
    ("multiple_choice", False): "{{ prompt }}",
    ("multiple_choice", True): "{{ prompt }}\n{{ options }}",
}
"""What is asked, by task, and whether the answers are listed."""

_KINDS = {"words": "words of one answer", "letters": "letter", "numbers": "number"}
PREFIX = "Answer:"

ORDERS = ("given", "reversed", "rotated")
"""The orders in which the answers of an item may be shown; rotated, the first is the last."""

_VERSION = re.compile(
    r"/(?:original|no_question|wrong_question|no_right_answer|(?:extra|near)_choices(?:_\d+)?"
    r"|none_(?:added|right)|(?:random )?order \d+|without word \d+)$"
)
"""End of the id of a changed version of an item, after the id of the item."""


@dataclasses.dataclass(frozen=True)
class Item:
    """An item as it is asked: a text with classes, or a question with choices.

    Attributes:
        id: Id of the item.
        fields: Fields of the template: text and text_pair, or prompt and choices.
        label: Correct answer, -1 for an unlabeled item.
        follow: Turns of a chat after the question: a first answer, and a request about it.
        links: Column -> id that the item shares with related ones. {} for independent items.
    """

    id: str
    fields: Mapping[str, Any]
    label: int = -1
    follow: tuple[Message, ...] = ()
    # No prompt shows these: they say which items are one unit of an interval.
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)


def make_items(
    ids: Sequence[object], labels: Sequence[int] | None = None, **fields: Sequence[Any]
) -> list[Item]:
    """Make items of columns.

    Args:
        ids: N ids.
        labels: N correct answers. None for unlabeled items.
        **fields: N values of each field of an item; `text_pair` may be missing.

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
        """Check the columns of multiple-choice items.

        Args:
            prompts: N prompts; one may be empty.
            choices: N lists of at least two texts.
            ids: N unique ids; by default "0", "1", …
            labels: (N,) index of the correct choice, -1 if it is unknown. None for data without
                labels.
            allow_empty: Whether choices may have no words.

        Raises:
            TypeError: If a column is of the wrong kind.
            ValueError: If columns differ in length, an item has fewer than two choices, an id
                occurs twice, or a label is no choice of its item.
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


def wordless(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[int, str]:
    """Find the items with an answer without words, which has no likelihood.

    Args:
        names: N ids of items.
        rows: N lists of the answers of each.

    Returns:
        Index of an item -> a sentence that names its last empty answer.
    """
    reasons = {}
    for index, (name, texts) in enumerate(zip(names, rows, strict=True)):
        for number, text in enumerate(texts):
            if not text.strip():
                reasons[index] = (
                    f"Expected answers with words, but answer {number} of item {name!r} is "
                    f"{text!r}."
                )
    return reasons


def distinct_texts(
    keys: Iterable[Any], rows: Iterable[Sequence[str]]
) -> tuple[list[list[str]], list[tuple[int, list[int]]]]:
    """Collect the distinct texts that belong to equal keys, such as the choices after one prompt.

    Args:
        keys: N keys.
        rows: N lists of texts.

    Returns:
        The texts of each of the G distinct keys, in the order of their first occurrence; and for
        each of the N rows the index of its key, with the indices of its texts among those of the
        key.

    Example:
        >>> distinct_texts(["a", "b", "a"], [["x", "y"], ["x"], ["z", "x"]])
        ([['x', 'y', 'z'], ['x']], [(0, [0, 1]), (1, [0]), (0, [2, 0])])
    """
    index_by_key: dict[Any, int] = {}
    # For each distinct key: text -> its index.
    index_by_text: list[dict[str, int]] = []
    indices = []
    for key, row in zip(keys, rows, strict=True):
        if key not in index_by_key:
            index_by_key[key] = len(index_by_key)
            index_by_text.append({})
        key_index = index_by_key[key]
        known_texts = index_by_text[key_index]
        text_indices = []
        for text in row:
            if text not in known_texts:
                known_texts[text] = len(known_texts)
            text_indices.append(known_texts[text])
        indices.append((key_index, text_indices))
    return [list(texts) for texts in index_by_text], indices


class Examples:
    """Labeled items of a training split, from which few-shot examples are drawn.

    Args:
        items: The items; unlabeled ones are excluded.

    Example:
        >>> rows = [{"text": f"text {n}", "text_pair": None} for n in range(9)]
        >>> items = [Item(str(n), row, n % 2) for n, row in enumerate(rows)]
        >>> examples = Examples(items)
        >>> drawn = examples.draw(items[4], 3, seed=0)
        >>> len(drawn), items[4] in drawn, drawn == Examples(items[::-1]).draw(items[4], 3, seed=0)
        (3, False, True)
    """

    def __init__(self, items: Sequence[Item]) -> None:
        # The order of the rows decides nothing.
        self.items = sorted((item for item in items if item.label >= 0), key=lambda item: item.id)

    @classmethod
    def from_columns(
        cls, ids: Sequence[object], labels: Sequence[int], **fields: Sequence[Any]
    ) -> Examples:
        """Make examples of columns: ids, correct answers, and the fields of an item by name."""
        check_same_length(ids=ids, labels=labels, **fields)
        return cls(make_items(ids, labels, **fields))

    def draw(self, item: Item, count: int, *, seed: int) -> list[Item]:
        """Draw examples for an item: never the item itself, nor one with its id or its words.

        Args:
            item: The item.
            count: Number of examples.
            seed: Seed of the draw, with the id of the item. A changed version of an item has the
                examples of the item.

        Raises:
            ValueError: If there are fewer examples.
        """
        # Without the end of the id that marks a changed version.
        original_id = _VERSION.sub("", item.id)
        order = item_rng(seed, original_id).permutation(len(self.items))
        examples: list[Item] = []
        for index in order:
            if len(examples) == count:
                break
            # The answer to an item must not be among its examples.
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

    It is if their ids or their fields are equal, or if the id of the item is that of the example
    with a suffix after a slash, such as "12/near_choices".
    """
    if item.id == example.id or item.id.startswith(f"{example.id}/"):
        return True
    return dict(example.fields) == dict(item.fields)


@dataclasses.dataclass(frozen=True)
class Rendering:
    """A prompt with nothing left open: task, style, words and the use of a chat are known.

    Attributes:
        prompt: The options.
        task: "classification" or "multiple_choice".
        template: The template.
        style: "words", "letters" or "numbers".
        scoring: One of the scorings but "auto".
        chat: Whether items are asked as turns of a conversation.
        answer_prefix: The words that the answer follows; "" for none.
        label_words: The words of the K classes; () for multiple choice.
        form: How a generated answer gets its form: "constrained", "line" or "free".
        order: The order in which answers are shown, one of `ORDERS`; marks go by it, scores do not.
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
    def settle(
        cls,
        prompt: Prompt,
        *,
        chat: bool,
        scorings: Sequence[str],
        label_names: Sequence[str] | None = None,
        constrains: bool = False,
    ) -> Rendering:
        """Decide what a prompt leaves open: scoring, style, form, template and answer prefix.

        Args:
            prompt: The options.
            chat: Whether items are asked as turns of a conversation.
            scorings: Scorings that the model is able to do, the preferred one first.
            label_names: Names of the K classes. None for multiple choice.
            constrains: Whether the model is able to restrict generated answers to given ones.

        Raises:
            ValueError: If the template is none or names an unknown field, or label words do not
                fit.
        """
        is_choice = label_names is None
        scoring = _settle_scoring(prompt, scorings, is_choice=is_choice)
        style = _settle_style(prompt, scoring, is_choice=is_choice)
        form = _settle_form(prompt, chat=chat, constrains=constrains)
        task = "multiple_choice" if is_choice else "classification"
        template = prompt.template
        if template is None:
            # The answers are listed if one is named by its letter or number, or is to be written.
            is_listed = style != "words" or (is_choice and scoring == "generated")
            template = TEMPLATES[task, is_listed]
            template += instruction(style, scoring=scoring, form=form, chat=chat)
        prefix = prompt.answer_prefix
        if prefix is None:
            # The text of a choice continues its prompt, as a sentence does.
            is_continuation = is_choice and style == "words" and scoring != "generated"
            is_bare = chat or is_continuation or prompt.template is not None
            prefix = "" if is_bare else PREFIX
        rendering = cls(
            prompt=prompt,
            task=task,
            template=template,
            style=style,
            scoring=scoring,
            chat=chat,
            answer_prefix=prefix,
            label_words=_settle_label_words(prompt, label_names),
            form=form,
        )
        # The fields of a template are those of its task.
        rendering._check_template()
        return rendering

    @property
    def joint(self) -> bool:
        """Whether the choices of an item are in what is asked, and so seen together."""
        return self.style != "words" or bool({"choices", "options"} & _names(self.template))

    def answers(self, item: Item) -> list[str]:
        """Return the answers of an item as they are requested: words, letters or numbers.

        The order is that of the item. Letters and numbers count the answers in the displayed order:
        with order="reversed", the first answer of the item has the last letter.
        """
        texts = self.texts(item)
        if self.style == "words":
            return texts
        answers = [""] * len(texts)
        displayed_indices = self.places(len(texts))
        marks = _marks(self.style, len(texts))
        for index, mark in zip(displayed_indices, marks, strict=True):
            answers[index] = mark
        return answers

    def places(self, count: int) -> list[int]:
        """Return the index of the answer that is displayed at each position.

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
        """Return the answers of an item in words."""
        if self.task == "classification":
            return list(self.label_words)
        return list(item.fields["choices"])

    def request(self, item: Item, examples: Sequence[Item] = ()) -> Request:
        """Return the request of an item.

        Args:
            item: The item.
            examples: Few-shot examples before it.
        """
        shots = []
        for example in examples:
            answer = self.answers(example)[example.label]
            shots.append((self._body(example), self.format_answer(answer)))
        if self.chat:
            return self._make_conversation(item, shots)
        return self._make_text(item, shots)

    def _make_conversation(self, item: Item, shots: Sequence[tuple[str, str]]) -> Request:
        """Return the request of an item as a conversation.

        Args:
            item: The item, whose question is the last turn of the user.
            shots: (question, answer) of each example, which are two turns before it.
        """
        turns: list[Message] = []
        if self.prompt.system is not None:
            turns.append(_turn("system", self.prompt.system))
        for question, answer in shots:
            turns.append(_turn("user", question))
            turns.append(_turn("assistant", f"{self.answer_prefix}{self._gap}{answer}"))
        turns.append(_turn("user", self._body(item)))
        turns += item.follow
        # The last turn is begun for the model.
        if self.answer_prefix:
            turns.append(_turn("assistant", self.answer_prefix))
        return Request(item.id, tuple(turns), self._continue(self._gap, item))

    def _make_text(self, item: Item, shots: Sequence[tuple[str, str]]) -> Request:
        """Return the request of an item as one text, which the model continues.

        Args:
            item: The item, whose question is at the end.
            shots: (question, answer) of each example before it.
        """
        parts = []
        if self.prompt.system:
            parts.append(self.prompt.system)
        for question, answer in shots:
            parts.append(f"{self._plain(question)}{self._gap}{answer}")
        parts.append(self._plain(self._body(item)))
        text = "\n\n".join(parts)
        # As in lm-evaluation-harness, white space at the end of the text belongs to the answer.
        head = text.rstrip()
        space = text[len(head) :]
        return Request(item.id, head, self._continue(f"{space}{self._gap}", item))

    def _continue(self, space: str, item: Item) -> tuple[str, ...]:
        """Return the answers of an item after white space."""
        return tuple(f"{space}{answer}" for answer in self.answers(item))

    def format_answer(self, answer: str) -> str:
        """Return an answer in the form that is requested."""
        if self.form == "line" and self.scoring == "generated":
            return f"ANSWER: {answer}"
        return answer

    def without_item(self, item: Item) -> Request:
        """Return a request of the answers of an item after their prefix, without the question.

        The likelihoods of such answers are unconditional. In a chat, the user's turn is empty.
        """
        continuations = self._continue(self._gap, item)
        if not self.chat:
            return Request(item.id, self.answer_prefix, continuations)
        turns = [_turn("user", "")]
        if self.answer_prefix:
            turns.append(_turn("assistant", self.answer_prefix))
        return Request(item.id, tuple(turns), continuations)

    @functools.cached_property
    def _gap(self) -> str:
        """White space between the question, or the prefix of the answer, and the answer."""
        # The answer begins a turn of its own.
        if self.chat and not self.answer_prefix:
            return ""
        before_answer = self.answer_prefix or self.template
        if before_answer[-1:].isspace():
            return ""
        return " "

    def _plain(self, body: str) -> str:
        if not self.answer_prefix:
            return body
        return f"{body}\n{self.answer_prefix}".lstrip("\n")

    def _body(self, item: Item) -> str:
        """Return the question of an item: the template, filled with its fields and its answers.

        The prefix of the answer is not included.

        Raises:
            ValueError: If the template fails.
        """
        texts = self.texts(item)
        displayed_texts = [texts[index] for index in self.places(len(texts))]
        # One answer per line, such as "A. yes" or "- yes".
        option_lines = []
        if self.style == "words":
            option_lines += [f"- {text}" for text in displayed_texts]
        else:
            marks = _marks(self.style, len(texts))
            for mark, text in zip(marks, displayed_texts, strict=True):
                option_lines.append(f"{mark}. {text}")
        fields = {**item.fields, "options": "\n".join(option_lines), "label_words": []}
        if self.label_words:
            fields["label_words"] = displayed_texts
        try:
            return self._template.render(fields).lstrip("\n")
        except Exception as error:
            # A template of the user may fail in any way.
            raise ValueError(
                f"Expected a template that can be filled with item {item.id!r}, but it fails: "
                f"{error}."
            ) from error

    @functools.cached_property
    def _template(self) -> jinja2.Template:
        return _environment().from_string(self.template)

    def _check_template(self) -> None:
        """Check that the template is valid, and names fields of its task that distinguish items.

        Raises:
            OptionError: If not.
        """
        import jinja2

        known_fields = FIELDS[self.task]
        try:
            names = _names(self.template)
        except jinja2.TemplateSyntaxError as error:
            raise OptionError(
                f"Expected `template` to be a jinja template, but line {error.lineno} is not "
                f"valid: {error.message}.",
                option="template",
            ) from error
        for name in sorted(names - set(known_fields)):
            task = self.task.replace("_", " ")
            raise make_unknown_name_error(f"field of a template for {task}", name, known_fields)
        # Without any of these, every item would be asked the same.
        item_fields = {"prompt", "choices", "options"}
        if self.task == "classification":
            item_fields = {"text"}
        if not names & item_fields:
            raise OptionError(
                f"Expected `template` to contain the field {' or '.join(sorted(item_fields))} of "
                f"the item, but got {self.template!r}.",
                option="template",
            )


def _settle_scoring(prompt: Prompt, scorings: Sequence[str], *, is_choice: bool) -> str:
    """Return how answers are scored: as requested, or by the best scoring that the model can do.

    Args:
        prompt: The options.
        scorings: Scorings that the model is able to do, the preferred one first.
        is_choice: Whether the task is multiple choice.
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


def _settle_style(prompt: Prompt, scoring: str, *, is_choice: bool) -> str:
    """Return the style of answers: "words", "letters" or "numbers"."""
    if prompt.style != "auto":
        return prompt.style
    # The first tokens of choices may be equal, and a generated text may differ from a choice.
    if is_choice and scoring in ("next_words", "generated"):
        return "letters"
    return "words"


def _settle_form(prompt: Prompt, *, chat: bool, constrains: bool) -> str:
    """Return the form of generated answers, "constrained", "line" or "free"."""
    if prompt.form != "auto":
        return prompt.form
    # A template or a pattern of the user says by itself how to answer.
    if prompt.template is not None or prompt.pattern is not None:
        return "free"
    return usual_form(chat=chat, constrains=constrains)


def usual_form(*, chat: bool, constrains: bool) -> str:
    """Return the default form of generated answers: held by the server, or a line in a chat."""
    if constrains:
        return "constrained"
    return "line" if chat else "free"


def instruction(style: str, *, scoring: str, form: str, chat: bool) -> str:
    r"""Return the instruction at the end of a question on how to answer it; "" if none is needed.

    Args:
        style: "words", "letters" or "numbers".
        scoring: How answers are scored.
        form: Form of generated answers.
        chat: Whether the question is a turn of a conversation.

    Example:
        >>> instruction("letters", scoring="generated", form="line", chat=True)
        '\nAnswer with one line alone: ANSWER: X, where X is the letter.'
        >>> instruction("letters", scoring="next_words", form="line", chat=True)
        '\nAnswer with the letter alone.'
    """
    kind = _KINDS[style]
    if scoring == "generated" and form == "line":
        return f"\nAnswer with one line alone: ANSWER: X, where X is the {kind}."
    if scoring == "generated" or (chat and scoring == "next_words"):
        return f"\nAnswer with the {kind} alone."
    # The likelihoods of given answers do not depend on what the model would write.
    return ""


def _settle_label_words(prompt: Prompt, label_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the words that represent the K classes: those of the prompt, or else the names.

    Raises:
        OptionError: If their number is not K.
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


def _marks(style: str, count: int) -> list[str]:
    """Return the letters or numbers of some answers."""
    if style == "numbers":
        return [str(number + 1) for number in range(count)]
    if count > len(LETTERS):
        raise ValueError(
            f"Expected at most {len(LETTERS)} answers with letters, but got {count}. Use numbers "
            "for more answers."
        )
    return list(LETTERS[:count])


def _turn(role: str, content: str) -> Message:
    return {"role": role, "content": content}


@functools.cache
def _environment() -> jinja2.Environment:
    """Return the jinja environment in which templates are rendered."""
    import jinja2.sandbox

    # Texts for a model, not for a page: nothing is escaped. The sandbox keeps templates of others
    # from running code.
    return jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )


def _names(template: str) -> set[str]:
    """Return the names of the variables that a jinja template needs.

    Raises:
        jinja2.TemplateSyntaxError: If it is no template.
    """
    import jinja2.meta

    environment = _environment()
    names = jinja2.meta.find_undeclared_variables(environment.parse(template))
    # Functions that jinja provides, such as `range`.
    return names - set(environment.globals)
