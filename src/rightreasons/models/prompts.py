"""Items put into words: a template, few-shot examples and a chat around them become the request of a model."""

from __future__ import annotations

import dataclasses
import functools
import itertools
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
    r"/(?:original|no_question|wrong_question|no_right_answer|(?:extra|near)_choices(?:_\d+)?|none_(?:added|right)|"
    r"(?:random )?order \d+|without word \d+)$"
)
"""What the id of a changed version of an item has behind the id of the item."""


@dataclasses.dataclass(frozen=True)
class Item:
    """An item as it is asked: a text with classes, or a question with choices.

    Attributes:
        id: Its id.
        fields: The fields of the template that are its own: text and text_pair, or prompt and choices.
        label: The right answer; -1 where there is none.
        follow: Turns of a chat after the question: a first answer, and what is asked about it.
    """

    id: str
    fields: Mapping[str, Any]
    label: int = -1
    follow: tuple[Message, ...] = ()


def items_of(
    ids: Sequence[object], labels: Sequence[int] | None = None, **fields: Sequence[Any]
) -> list[Item]:
    """Return items of columns.

    Args:
        ids: Their ids.
        labels: The right answers; None where they are not known.
        **fields: The fields of an item by name; a text may be without `text_pair`.
    """
    if "text" in fields:
        fields.setdefault("text_pair", [None] * len(ids))
    rows = zip(
        ids,
        [-1] * len(ids) if labels is None else labels,
        zip(*fields.values(), strict=True),
        strict=True,
    )
    return [
        Item(str(name), dict(zip(fields, values, strict=True)), int(label))
        for name, label, values in rows
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceItems:
    """Checked multiple-choice items.

    Attributes:
        ids: N ids.
        prompts: N prompts.
        choices: N lists of choices.
        counts: (N,) choices of each item.
        labels: (N,) the index of the right choice, -1 where there is none; None when the data has no labels.
    """

    ids: tuple[str, ...]
    prompts: list[str]
    choices: list[list[str]]
    counts: NDArray[np.int64]
    labels: NDArray[np.int64] | None

    @classmethod
    def of(
        cls,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: object = None,
        allow_empty: bool = False,
    ) -> ChoiceItems:
        """Check items; `allow_empty` allows choices without words.

        Raises:
            TypeError: If a column is of the wrong kind.
            ValueError: If columns differ in length, an item has fewer than two choices, an id comes twice, or a label
                is no choice of its item.
        """
        texts = check_texts(prompts, "prompts", allow_empty=True)
        check_same_length(prompts=texts, choices=choices)
        rows = check_choice_lists(choices, "choices", allow_empty=allow_empty)
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        names = tuple(check_ids(range(len(texts)) if ids is None else ids, "ids"))
        check_same_length(prompts=texts, ids=names)
        if labels is None:
            return cls(names, texts, rows, counts, None)
        check_same_length(prompts=texts, labels=labels)
        return cls(
            names, texts, rows, counts, check_labels(labels, counts, name="labels", minimum=-1)
        )

    def items(self) -> list[Item]:
        """Return the items as they are asked."""
        return items_of(self.ids, prompt=self.prompts, choices=self.choices)


def wordless(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[int, str]:
    """Return why items with an answer without words, which has no likelihood, cannot be scored, by their places."""
    return {
        item: f"Expected answers with words, but answer {place} of item {names[item]!r} is {text!r}."
        for item, row in enumerate(rows)
        for place, text in enumerate(row)
        if not text.strip()
    }


def distinct_texts(
    keys: Iterable[Any], rows: Iterable[Sequence[str]]
) -> tuple[list[list[str]], list[tuple[int, list[int]]]]:
    """Gather the texts that come under equal keys, such as the choices after one prompt, each once.

    Returns:
        The texts of each distinct key, in the order of both; and for each row the place of its key, and those of its
        texts there.

    Example:
        >>> distinct_texts(["a", "b", "a"], [["x", "y"], ["x"], ["z", "x"]])
        ([['x', 'y', 'z'], ['x']], [(0, [0, 1]), (1, [0]), (0, [2, 0])])
    """
    groups: dict[Any, tuple[int, dict[str, int]]] = {}
    places = []
    for key, row in zip(keys, rows, strict=True):
        group, texts = groups.setdefault(key, (len(groups), {}))
        places.append((group, [texts.setdefault(text, len(texts)) for text in row]))
    return [list(texts) for _, texts in groups.values()], places


class Examples:
    """Labeled items of a training split, from which few-shot examples are drawn.

    Args:
        items: The items; those without a label are left out.

    Example:
        >>> items = [Item(str(n), {"text": f"text {n}", "text_pair": None}, n % 2) for n in range(9)]
        >>> examples = Examples(items)
        >>> drawn = examples.draw(items[4], 3, seed=0)
        >>> len(drawn), items[4] in drawn, drawn == Examples(items[::-1]).draw(items[4], 3, seed=0)
        (3, False, True)
    """

    def __init__(self, items: Sequence[Item]) -> None:
        # The order of the rows decides nothing.
        self.items = sorted((item for item in items if item.label >= 0), key=lambda item: item.id)

    @classmethod
    def of(cls, ids: Sequence[object], labels: Sequence[int], **fields: Sequence[Any]) -> Examples:
        """Make examples of columns: their ids, the right answers, and the fields of an item by name."""
        check_same_length(ids=ids, labels=labels, **fields)
        return cls(items_of(ids, labels, **fields))

    def draw(self, item: Item, count: int, *, seed: int) -> list[Item]:
        """Draw examples for an item: never the item itself, nor one of its id or its words.

        Args:
            item: The item.
            count: How many.
            seed: Decides which, with the id of the item; a changed version of an item has the examples of the item.

        Raises:
            ValueError: If there are not so many.
        """
        order = item_rng(seed, _VERSION.sub("", item.id)).permutation(len(self.items))
        others = (self.items[index] for index in order if not _is_origin(self.items[index], item))
        drawn = list(itertools.islice(others, count))
        if len(drawn) < count:
            raise ValueError(
                f"Expected {count} few-shot examples beside each item, but the training split has {len(drawn)} labeled "
                f"items beside {item.id!r}."
            )
        return drawn


def _is_origin(example: Item, item: Item) -> bool:
    """Return whether an example is an item, or the origin of it: of its words, or of its id before a slash."""
    named = item.id == example.id or item.id.startswith(f"{example.id}/")
    return named or dict(example.fields) == dict(item.fields)


@dataclasses.dataclass(frozen=True)
class Rendering:
    """A prompt with nothing left open: the task, the style, the words and whether there is a chat are known.

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
    def of(
        cls,
        prompt: Prompt,
        *,
        chat: bool,
        scorings: Sequence[str],
        label_names: Sequence[str] | None = None,
        constrains: bool = False,
    ) -> Rendering:
        """Settle what a prompt leaves open.

        Args:
            prompt: The options.
            chat: Whether items are asked as turns of a conversation.
            scorings: The scorings that the model is able to, the preferred one first.
            label_names: The names of the K classes; None for multiple choice.
            constrains: Whether the model is able to hold generated answers to given ones.

        Raises:
            ValueError: If the template is none or names a field that the task has not, or label words do not fit.
        """
        task = "multiple_choice" if label_names is None else "classification"
        scoring = prompt.scoring
        if scoring == "auto":
            likely = (
                "mean" if task == "multiple_choice" and prompt.style in ("auto", "words") else "sum"
            )
            scoring = likely if likely in scorings else scorings[0]
            if (prompt.pattern is not None or prompt.samples > 1) and "generated" in scorings:
                scoring = "generated"
        style = prompt.style
        if style == "auto":
            marked = task == "multiple_choice" and scoring in ("next_words", "generated")
            style = "letters" if marked else "words"
        words = _label_words(prompt, label_names)
        template, form = prompt.template, prompt.form
        if form == "auto":
            is_custom = template is not None or prompt.pattern is not None
            form = "free" if is_custom else usual_form(chat=chat, constrains=constrains)
        if template is None:
            template = TEMPLATES[
                task, style != "words" or (task == "multiple_choice" and scoring == "generated")
            ]
            template += instruction(style, scoring=scoring, form=form, chat=chat)
        prefix = prompt.answer_prefix
        if prefix is None:
            bare = task == "multiple_choice" and style == "words" and scoring != "generated"
            prefix = "" if chat or bare or prompt.template is not None else PREFIX
        rendering = cls(prompt, task, template, style, scoring, chat, prefix, words, form)
        rendering._check_template()
        return rendering

    @property
    def joint(self) -> bool:
        """Whether the choices of an item are in what is asked, and so seen together."""
        return self.style != "words" or bool({"choices", "options"} & _names(self.template))

    def answers(self, item: Item) -> list[str]:
        """Return the answers of an item as they are asked for: words, letters or numbers."""
        texts = self.texts(item)
        if self.style == "words":
            return texts
        marks = dict(zip(self.places(len(texts)), _marks(self.style, len(texts)), strict=True))
        return [marks[place] for place in range(len(texts))]

    def places(self, count: int) -> list[int]:
        """Return which of the answers is shown at each place.

        Args:
            count: The number of answers.
        """
        given = list(range(count))
        return {"given": given, "reversed": given[::-1], "rotated": [*given[1:], *given[:1]]}[
            self.order
        ]

    def texts(self, item: Item) -> list[str]:
        """Return the answers of an item in words."""
        return (
            list(self.label_words)
            if self.task == "classification"
            else list(item.fields["choices"])
        )

    def request(self, item: Item, examples: Sequence[Item] = ()) -> Request:
        """Return the request of an item.

        Args:
            item: The item.
            examples: Few-shot examples before it.
        """
        body, answers, gap = self._body(item), self.answers(item), self._gap
        system = self.prompt.system
        shots = [
            (self._body(example), self.said(self.answers(example)[example.label]))
            for example in examples
        ]
        if self.chat:
            turns: list[Message] = [] if system is None else [{"role": "system", "content": system}]
            for question, answer in shots:
                turns += [
                    _turn("user", question),
                    _turn("assistant", f"{self.answer_prefix}{gap}{answer}"),
                ]
            turns += [_turn("user", body), *item.follow]
            turns += [_turn("assistant", self.answer_prefix)] if self.answer_prefix else []
            return Request(item.id, tuple(turns), tuple(f"{gap}{answer}" for answer in answers))
        parts = [system] if system else []
        parts += [f"{self._plain(question)}{gap}{answer}" for question, answer in shots]
        text = "\n\n".join([*parts, self._plain(body)])
        # As lm-evaluation-harness does, white space at the end of what is asked belongs to the answer.
        head = text.rstrip()
        return Request(
            item.id, head, tuple(f"{text[len(head) :]}{gap}{answer}" for answer in answers)
        )

    def said(self, answer: str) -> str:
        """Return an answer in the form that is asked for."""
        return (
            f"ANSWER: {answer}" if self.form == "line" and self.scoring == "generated" else answer
        )

    def without_item(self, item: Item) -> Request:
        """Return a request of the same answers where nothing is asked: the prefix of the answer alone."""
        gap = self._gap
        continuations = tuple(f"{gap}{answer}" for answer in self.answers(item))
        if not self.chat:
            return Request(item.id, self.answer_prefix, continuations)
        turns = [_turn("user", "")] + (
            [_turn("assistant", self.answer_prefix)] if self.answer_prefix else []
        )
        return Request(item.id, tuple(turns), continuations)

    @functools.cached_property
    def _gap(self) -> str:
        """What is between the question and the answer."""
        if self.chat and not self.answer_prefix:
            return ""
        end = self.answer_prefix or self.template
        return "" if end[-1:].isspace() else " "

    def _plain(self, body: str) -> str:
        if not self.answer_prefix:
            return body
        return f"{body}\n{self.answer_prefix}".lstrip("\n")

    def _body(self, item: Item) -> str:
        texts = self.texts(item)
        shown = [texts[place] for place in self.places(len(texts))]
        marks = (
            ["-"] * len(texts)
            if self.style == "words"
            else [f"{mark}." for mark in _marks(self.style, len(texts))]
        )
        options = "\n".join(f"{mark} {text}" for mark, text in zip(marks, shown, strict=True))
        fields = {
            **item.fields,
            "options": options,
            "label_words": shown if self.label_words else [],
        }
        try:
            return self._template.render(fields).lstrip("\n")
        except Exception as error:
            raise ValueError(
                f"Expected a template that can be filled with item {item.id!r}, but it fails: {error}."
            ) from error

    @functools.cached_property
    def _template(self) -> jinja2.Template:
        return _environment().from_string(self.template)

    def _check_template(self) -> None:
        import jinja2

        known = FIELDS[self.task]
        try:
            names = _names(self.template)
        except jinja2.TemplateSyntaxError as error:
            raise OptionError(
                f"Expected `template` to be a jinja template, but line {error.lineno} is none: {error.message}.",
                option="template",
            ) from error
        for name in sorted(names - set(known)):
            raise make_unknown_name_error(
                f"field of a template for {self.task.replace('_', ' ')}", name, known
            )
        fields = {"text"} if self.task == "classification" else {"prompt", "choices", "options"}
        if not names & fields:
            raise OptionError(
                f"Expected `template` to name the item by {' or '.join(sorted(fields))}, but got {self.template!r}.",
                option="template",
            )


def usual_form(*, chat: bool, constrains: bool) -> str:
    """Return the form of generated answers where nothing names one: what the server holds, else a line in a chat."""
    return "constrained" if constrains else "line" if chat else "free"


def instruction(style: str, *, scoring: str, form: str, chat: bool) -> str:
    r"""Return what a question ends with that is answered by what a model writes, or in a chat by its next token.

    Example:
        >>> instruction("letters", scoring="generated", form="line", chat=True)
        '\nAnswer with one line alone: ANSWER: X, where X is the letter.'
        >>> instruction("letters", scoring="next_words", form="line", chat=True)
        '\nAnswer with the letter alone.'
    """
    kind = _KINDS[style]
    if scoring == "generated" and form == "line":
        return f"\nAnswer with one line alone: ANSWER: X, where X is the {kind}."
    written = scoring == "generated" or (chat and scoring == "next_words")
    return f"\nAnswer with the {kind} alone." if written else ""


def _label_words(prompt: Prompt, label_names: Sequence[str] | None) -> tuple[str, ...]:
    words, names = prompt.label_words or tuple(label_names or ()), label_names or ()
    if len(words) != len(names):
        raise OptionError(
            f"Expected one of `label_words` for each of {len(names)} labels, and none for multiple choice, but got "
            f"{len(words)}.",
            option="label_words",
        )
    return words


def _marks(style: str, count: int) -> list[str]:
    if style == "numbers":
        return [str(number + 1) for number in range(count)]
    if count > len(LETTERS):
        raise ValueError(
            f"Expected at most {len(LETTERS)} answers with letters, but got {count}: numbers have no end."
        )
    return list(LETTERS[:count])


def _turn(role: str, content: str) -> Message:
    return {"role": role, "content": content}


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2.sandbox

    # Texts for a model, not for a page: nothing is escaped. The sandbox keeps templates of others from running code.
    return jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )


def _names(template: str) -> set[str]:
    import jinja2.meta

    environment = _environment()
    return jinja2.meta.find_undeclared_variables(environment.parse(template)) - set(
        environment.globals
    )
