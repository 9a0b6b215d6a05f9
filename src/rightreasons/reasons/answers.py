"""The answers of a model in all arms, and which of them show reasons or name a hint.

`Traces` has all that was asked and answered; `Traces.arm` gives the answers of one `Arm`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.reasons.hints import find_mentions, have_reasons
from rightreasons.reasons.judge import Judgments
from rightreasons.reasons.trace import HINT, OWN, Trace

Flags = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class Arm:
    """The answers of an arm. Their texts are only searched for mentions when first needed.

    Attributes:
        traces: Item -> its answer.
        kind: Kind of hint whose source is searched for in the texts, such as "colleague"; "" for
            the kind of each answer.
    """

    traces: Mapping[str, Trace] = dataclasses.field(default_factory=dict)
    kind: str = ""

    @functools.cached_property
    def channels(self) -> dict[str, NDArray[np.int64]]:
        """Whether the thinking, and whether the answer, of each item names the source of the hint.

        "thinking" and "answer" -> (N,): 1 for a text that names the source, 0 for one that does
        not, -1 for an empty text.
        """
        kinds = []
        sources = []
        questions = []
        texts_by_channel: dict[str, list[str]] = {"thinking": [], "answer": []}
        for trace in self.traces.values():
            kinds.append(self.kind or trace.kind)
            sources.append(trace.source)
            questions.append(trace.question)
            texts_by_channel["thinking"].append(trace.thinking)
            texts_by_channel["answer"].append(trace.text)

        # Thinking and answer may say different things.
        channels = {}
        for channel, texts in texts_by_channel.items():
            mentions = find_mentions(texts, kinds, sources, questions)
            # An empty text is marked by -1, because it does not show that no hint was used.
            has_text = np.array(texts, dtype=object) != ""
            channels[channel] = np.where(has_text, mentions, -1)
        return channels

    @functools.cached_property
    def mentions(self) -> Flags:
        """(N,) whether the thinking or the text of each answer names the source of the hint."""
        # A channel is 1 if it names the source, 0 if it does not, and -1 if it is empty.
        return np.asarray(np.maximum(*self.channels.values()) > 0)

    @functools.cached_property
    def shows(self) -> Flags:
        """(N,) whether the thinking and the text of each answer together show reasons."""
        texts = []
        for trace in self.traces.values():
            text = trace.text
            if trace.thinking:
                text = f"{trace.thinking} {text}"
            texts.append(text)
        return have_reasons(texts)

    @property
    def hits(self) -> Flags:
        """Whether each answer is the option that its hint names."""
        hits = []
        for trace in self.traces.values():
            hits.append(trace.answer == trace.hint >= 0)
        return np.array(hits, dtype=bool)

    def list_answers(self, items: Iterable[str]) -> list[int]:
        """Return the index of the option that answers each item.

        -1 for an unread answer, and for an item that is missing in this arm.

        Args:
            items: Ids of N items.
        """
        answers = []
        for item in items:
            # The request about an item may have failed in this arm, but not in others.
            trace = self.traces.get(item)
            if trace is None:
                answers.append(NO_ANSWER)
            else:
                answers.append(trace.answer)
        return answers


@dataclasses.dataclass(frozen=True)
class Traces:
    """The answers to all requests about reasons.

    Attributes:
        traces: Answers with reasoning.
        early: Item -> whether the answer is the plain one after each cut of the plain reasoning, and
            whether the first of these answers is correct, None without a label.
        cells: Item -> whether the answer is the hinted option, by question and reasoning as in
            `transplant`.
        edited: "mistake" or "reworded" -> item -> the answer when asked again with the reasoning as
            it was, and with the edited one; -1 if there is none.
        judgments: What a judge reads in the answers at hints. None without a judge.
        no_early: Why no reasoning was cut or transplanted. "" if it was.
    """

    traces: tuple[Trace, ...]
    early: Mapping[str, tuple[tuple[bool, ...], bool | None]] = dataclasses.field(
        default_factory=dict
    )
    cells: Mapping[str, tuple[bool, bool, bool, bool]] = dataclasses.field(default_factory=dict)
    edited: Mapping[str, Mapping[str, tuple[int, int]]] = dataclasses.field(default_factory=dict)
    judgments: Judgments | None = None
    no_early: str = ""

    @functools.cached_property
    def arms(self) -> dict[tuple[str, str], Arm]:
        """(arm, kind of hint) -> its answers, with the kind "" for the arms plain and neutral."""
        traces_by_key: dict[tuple[str, str], dict[str, Trace]] = {}
        for trace in self.traces:
            # All kinds of hints are compared with the same neutral answers.
            key = (trace.arm, "")
            if trace.arm in (HINT, OWN):
                key = (trace.arm, trace.kind)
            traces_by_key.setdefault(key, {})[trace.item] = trace
        return {key: Arm(traces) for key, traces in traces_by_key.items()}

    def arm(self, name: str, kind: str = "") -> Arm:
        """Return the answers of an arm, which may be none."""
        return self.arms.get((name, kind), Arm())
