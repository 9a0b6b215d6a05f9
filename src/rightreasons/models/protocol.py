"""Contracts of models: what questions ask of a folder of weights, a server, or stored answers.

A `Scorer` answers items: classes of a text, or the choice among several. An `Engine` answers
requests of a language model: it continues them, or returns how likely given continuations are. A
prompt turns items into requests, and so makes a scorer of any engine; it is written once for models
in this process and for servers.

Nothing here imports torch, so that a server or a log can be asked without it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, describe_kind
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.core.replies import Reply
from rightreasons.core.scores import Scores
from rightreasons.core.sentences import short_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

Ability: TypeAlias = Literal[
    "likelihoods", "next_words", "text", "constrained_text", "gradients", "processes"
]
"""Something that an engine or a scorer can do.

- "likelihoods": the log-likelihood of any given continuation of a request;
- "next_words": the log-probability of a short word or letter as the continuation of a request, if
  it is among the most likely ones;
- "text": generated answers;
- "constrained_text": generated answers that are restricted to the continuations of their request;
- "gradients": derivatives with respect to the input embeddings;
- "processes": the items of one run are shared by several processes (`accelerate launch`).
"""

Message: TypeAlias = Mapping[str, str]
"""A turn of a conversation: {"role": "system" | "user" | "assistant", "content": text}."""


@dataclasses.dataclass(frozen=True)
class Request:
    """One request to a language model.

    Attributes:
        name: The item, for stores and errors; unique in a run.
        prompt: The text to continue, unchanged, or the turns of a conversation, which the engine
            puts into the chat template of its model. A last turn of the assistant is continued;
            after any other one, the assistant's begins.
        continuations: Texts whose likelihood is requested, exactly as they follow the prompt, with
            the space between them if there is one. Empty for a generated answer.
    """

    name: str
    prompt: str | tuple[Message, ...]
    continuations: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Likelihoods:
    """Likelihoods of the continuations of N requests.

    Attributes:
        values: N rows of natural logarithms of probabilities, one per continuation, summed over its
            tokens.
        lengths: N rows of the number of tokens of each continuation.
        failures: Name of a request -> the reason why it has no answer. Its values are NaN.
        truncated: Number of requests whose beginning was left out, because they were too long.
        way: Description of how the engine asked. Empty if there is none.
    """

    values: Ragged
    lengths: Ragged
    # A mapping cannot be a default value of a dataclass, only a factory.
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    truncated: int = 0
    way: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Answers of a language model to N requests.

    Attributes:
        replies: N lists of replies, `n` each. Empty for a request that failed.
        failures: Name of a request -> the reason why it has no reply.
        truncated: Number of requests whose beginning was left out, because they were too long.
        way: Description of how the engine asked. Empty if there is none.
    """

    # A reply also has its thinking and the reason why it stopped, which its text does not show.
    replies: list[list[Reply]]
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    truncated: int = 0
    way: str = ""

    @classmethod
    def of(
        cls, texts: Sequence[Sequence[str]], failures: Mapping[str, str] | None = None
    ) -> Answers:
        """Make answers of plain texts, which may contain thinking between tags."""
        replies = []
        for row in texts:
            replies.append([Reply.parse(text) for text in row])
        return cls(replies, failures or {})

    @property
    def texts(self) -> list[list[str]]:
        """Texts of the replies, including those without an answer; see `Reply.no_answer_reason`."""
        rows = []
        for row in self.replies:
            rows.append([reply.text for reply in row])
        return rows


BRIEF = 32
"""Default number of tokens of an answer of a model that answers at once."""

LONG = 2048
"""Smallest number of tokens of an answer of a model that thinks."""


class Generation(Options):
    """Options of generated answers."""

    # A temperature of 0 is reproducible on every engine, so that it is the default.
    n: int = option(1, "Answers per request.", minimum=1)
    temperature: float = option(
        0.0,
        "0 selects the likeliest token; above 0, tokens are sampled at this temperature.",
        minimum=0.0,
    )
    top_p: float = option(
        1.0,
        "Probability mass of the likeliest tokens that are sampled from.",
        minimum=0.01,
        maximum=1.0,
    )
    max_new_tokens: int = option(64, "Maximum tokens per answer.", minimum=1)
    stop: tuple[str, ...] = option((), "Texts that end an answer; they are cut off.")
    seed: int = option(0, "Seed of sampled answers; a server may ignore it.")
    thinking_tags: tuple[str, ...] = option(
        (), "What opens and what closes thinking in an answer, in turns, where it is unusual."
    )
    constrained: bool = option(
        False,
        "Whether an answer is constrained to the continuations of its request, if it has any.",
    )

    def _check(self) -> None:
        """Check that thinking tags come in pairs."""
        if len(self.thinking_tags) % 2:
            raise OptionError(
                "Expected `thinking_tags` in pairs of an opening and a closing tag, but got "
                f"{len(self.thinking_tags)}.",
                option="thinking_tags",
            )

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """Thinking tags as pairs."""
        # An option is a flat list, as a command line gives it.
        return tuple(zip(self.thinking_tags[::2], self.thinking_tags[1::2], strict=True))


class HowToKeep(TypedDict, total=False):
    """Display and storage of a run, which do not change its answers.

    Attributes:
        progress: Whether to show a progress bar. Defaults to True.
        out: A folder for the answers, from which an interrupted run resumes; a later run requests
            only the missing ones. None (default) keeps them in memory.
    """

    progress: bool
    out: str | os.PathLike[str] | None


class Source(Protocol):
    """The common part of engines and scorers; see `Engine` and `Scorer`."""

    # Properties, so that an implementation may have plain attributes or computed ones.
    @property
    def name(self) -> str:
        """Name of the model, as the user gave it."""

    @property
    def abilities(self) -> frozenset[Ability]:
        """The abilities of the model."""

    @property
    def fingerprint(self) -> str:
        """A digest of everything that its answers depend on."""


@runtime_checkable
class Engine(Source, Protocol):
    """A language model that answers requests: in this process, or on a server.

    Attributes:
        name: Name of the model, as the user gave it.
        abilities: What it can do, as found by a trial.
        fingerprint: A digest of everything that its answers depend on: weights or the server's
            model, tokenizer, template.
        has_template: Whether it takes conversations.
        thinks: Whether it thinks before it answers a conversation: then its next token is no
            answer.
        budget: Tokens that an answer to a conversation needs, with its thinking, as a trial found.
    """

    @property
    def has_template(self) -> bool:
        """Whether it takes conversations."""

    @property
    def thinks(self) -> bool:
        """Whether it thinks before it answers a conversation."""

    @property
    def budget(self) -> int:
        """Tokens that an answer to a conversation needs."""

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return the text that the model reads, with its template.

        A server may hide its template: then the turns are returned as text.
        """

    def likelihoods(self, requests: Sequence[Request], **options: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-likelihoods of the continuations of each request ("likelihoods")."""

    def next_words(self, requests: Sequence[Request], **options: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-probability of the first token of each continuation ("next_words").

        The continuations of a request must begin with different tokens. One that is not among the
        tokens that the engine reports gets minus infinity, and a request of which no continuation
        is among them is a failure.
        """

    @accept_options_as_keywords(Generation)
    def generate(
        self,
        requests: Sequence[Request],
        *,
        options: Generation,
        progress: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> Answers:
        """Return generated answers to each request ("text")."""


@runtime_checkable
class Scorer(Source, Protocol):
    """A model that answers the items of a dataset: classes of texts, or choices after prompts.

    Attributes:
        name: Name of the model, as the user gave it.
        label_names: Names of the classes; None for a scorer of choices.
        abilities: What it can do.
        fingerprint: A digest of everything that its scores depend on: the engine, the prompt, and
            the options.
        joint: Whether the choices of an item are seen together, so that one can change the scores
            of the others.
    """

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the classes; None for a scorer of choices."""

    @property
    def joint(self) -> bool:
        """Whether the choices of an item are seen together."""

    def describe(self) -> dict[str, Any]:
        """Return what a report says at its top: prompt, options, and a rendered example."""

    # Ids and labels are passed through, so that scores stay with their items.
    def predict(
        self,
        texts: Sequence[str],
        *,
        text_pairs: Sequence[str] | None = None,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **options: Unpack[HowToKeep],
    ) -> Scores:
        """Score the classes of N texts."""

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **options: Unpack[HowToKeep],
    ) -> Scores:
        """Score the choices of N items."""


def can_score_next_words(engine: Engine) -> bool:
    """Return whether short replies are best scored by the probabilities of the next token.

    Generated text is better if the engine can restrict it to the options, which is exact. It is
    also better for a model that thinks before it answers, because its next token belongs to a
    thought.
    """
    abilities = engine.abilities
    return "next_words" in abilities and "constrained_text" not in abilities and not engine.thinks


def explain_missing_ability(source: Source, ability: Ability) -> str:
    """Return why a model lacks an ability; an empty string if it has the ability.

    Args:
        source: A scorer or an engine.
        ability: The ability, such as "gradients".

    Raises:
        TypeError: If the object is not a model.

    Example:
        >>> class Served:
        ...     name, abilities = "http://127.0.0.1:8000/v1", frozenset({"text"})
        >>> explain_missing_ability(Served(), "gradients")
        'This needs gradients, which http://127.0.0.1:8000/v1 cannot give: it gives text.'
    """
    # A user may pass any object.
    if not hasattr(source, "abilities"):
        raise TypeError(f"Expected a model, but got {describe_kind(source)}.")
    if ability in source.abilities:
        return ""
    missing = ability.replace("_", " ")
    name = short_name(source.name)
    # A function of texts has no abilities besides its scores.
    if not source.abilities:
        return f"This needs {missing}, which {name} cannot give."
    alternatives = ", ".join(sorted(source.abilities)).replace("_", " ")
    return f"This needs {missing}, which {name} cannot give: it gives {alternatives}."
