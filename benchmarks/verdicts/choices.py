"""Models of choices whose truth is known: rules behind the contract of a scorer, tried on the probes and on cues."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import datasets
import numpy as np
from benchmarks.verdicts import Scenario, Tone

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.cues import question as cues
from rightreasons.cues.options import CuesOptions
from rightreasons.probes import question as probes
from rightreasons.probes.options import ProbesOptions

N_CHOICES, N_TOPICS, CUE = 4, 300, "indeed"
RESAMPLES = 200

datasets.disable_progress_bars()

Rule = Callable[[str, Sequence[str]], Sequence[float]]
"""(prompt, choices) -> a score per choice."""


def number(*texts: str) -> float:
    """Return a number in [0, 1) that depends on some texts as if it were random."""
    digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") / 2**32


def items(n_items: int, seed: int, *, cued: float = 0.25) -> datasets.Dataset:
    """Make items whose right choice shares its topic with the question.

    Args:
        n_items: Number of items.
        seed: Decides all of them.
        cued: Share of the items whose right choice has the cue; in the others a wrong one has it.
    """
    rng = np.random.default_rng([seed, n_items])
    rows = []
    for item in range(n_items):
        topics = rng.choice(N_TOPICS, N_CHOICES, replace=False)
        label = int(rng.integers(N_CHOICES))
        marked = (
            label if rng.random() < cued else int((label + rng.integers(1, N_CHOICES)) % N_CHOICES)
        )
        choices = [f"topic{topic} w{rng.integers(5000)} w{rng.integers(5000)}" for topic in topics]
        choices[marked] += f" {CUE}"
        prompt = f"what of topic{topics[label]} q{rng.integers(5000)}"
        rows.append({"id": f"i{item}", "prompt": prompt, "choices": choices, "label": label})
    return datasets.Dataset.from_list(rows)


def reads(prompt: str, choices: Sequence[str]) -> list[float]:
    """Take the choice whose topic the question has; without one, none is better by more than a whim."""
    words = set(prompt.split())
    return [4.0 * (choice.split()[0] in words) + number(prompt, choice) / 2 for choice in choices]


def reads_badly(prompt: str, choices: Sequence[str]) -> list[float]:
    """Read, but take another choice in a third of the items."""
    if number(prompt, *sorted(choices)) < 1 / 3:
        return [number(prompt, choice, "wrong") for choice in choices]
    return reads(prompt, choices)


def likes_words(prompt: str, choices: Sequence[str]) -> list[float]:
    """Take the choice whose words it likes."""
    return [number(choice) for choice in choices]


def takes_the_cue(prompt: str, choices: Sequence[str]) -> list[float]:
    """Take the choice that has the cue; without one, the words it likes."""
    return [4.0 * (CUE in choice.split()) + number(choice) for choice in choices]


def takes_the_first(prompt: str, choices: Sequence[str]) -> list[float]:
    """Take the first choice."""
    return [2.0] + [0.0] * (len(choices) - 1)


def leans_to_the_first(prompt: str, choices: Sequence[str]) -> list[float]:
    """Draw a choice at random, the first more often."""
    return [
        number(prompt, *choices, str(place)) + 0.5 * (place == 0) for place in range(len(choices))
    ]


def draws(prompt: str, choices: Sequence[str]) -> list[float]:
    """Draw a choice at random for each question."""
    return [number(prompt, choice) for choice in choices]


def mixed(share: float, first: Rule, second: Rule = reads) -> Rule:
    """Follow one rule in a share of the items, whatever their order or question, and another one in the others."""

    def rule(prompt: str, choices: Sequence[str]) -> Sequence[float]:
        # What is borrowed must not move an item to the other rule: its first choice in the alphabet decides.
        return (first if number(min(choices), "mixed") < share else second)(prompt, choices)

    return rule


class RuleScorer:
    """A rule as a scorer of choices."""

    label_names = None
    abilities: frozenset[Any] = frozenset({"next_words"})

    def __init__(self, rule: Rule, *, joint: bool) -> None:
        self.rule, self.joint = rule, joint
        self.name = self.fingerprint = getattr(rule, "__name__", "rule")

    def describe(self) -> dict[str, Any]:
        """Say how it is asked."""
        return {}

    def predict(self, texts: Sequence[str], **options: Any) -> Scores:
        """Refuse: it knows no classes."""
        raise ValueError("Expected choices, but got texts.")

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        **options: Any,
    ) -> Scores:
        """Score the choices of each item."""
        rows = [
            np.asarray(self.rule(prompt, row), dtype=np.float64)
            for prompt, row in zip(prompts, choices, strict=True)
        ]
        names = range(len(rows)) if ids is None else ids
        logits = Ragged.of(np.concatenate(rows), np.array([len(row) for row in rows])).table()
        return Scores(tuple(map(str, names)), logits, None, None, None)


def context(
    scorer: RuleScorer, data: datasets.Dataset, seed: int, train: datasets.Dataset | None = None
) -> Any:
    """Return what the questions need of an audit: the items and the model."""
    split = SimpleNamespace(
        data=data,
        before_exclusion=None,
        groups_column=None,
        fingerprint="",
        name="test",
        ids=tuple(data["id"]),
    )
    answers = scorer.choose(data["prompt"][:], data["choices"][:], ids=data["id"][:])
    return SimpleNamespace(
        primary=split,
        train=train,
        stored=None,
        logged_arms=None,
        joint=scorer.joint,
        prompted=None,
        server=None,
        scorer=scorer,
        scores=lambda: answers,
        has_scores=lambda split: False,
        folder=lambda *depends: Path(),
        resampling=Resampling(resamples=RESAMPLES, seed=seed),
        seed=seed,
        running=lambda out: {"out": out, "batch_size": 64, "progress": False, "fail_fast": False},
    )


def ask_probes(n_items: int, seed: int, *, rule: Rule, joint: bool, cued: float) -> Tone:
    """Return the tone of the probes' verdict."""
    audited = context(RuleScorer(rule, joint=joint), items(n_items, seed, cued=cued), seed)
    return probes.PROBES.find_rule(probes.measure(audited, ProbesOptions(ks=(4,)))).tone


def ask_cues(n_items: int, seed: int, *, rule: Rule, cued: float) -> Tone:
    """Return the tone of the verdict on cues, which are counted on as many training items."""
    train = items(n_items, seed + 1000, cued=cued)
    audited = context(RuleScorer(rule, joint=False), items(n_items, seed, cued=cued), seed, train)
    return cues.CUES.find_rule(
        cues.measure(audited, CuesOptions(features=("unigram", "length")))
    ).tone


def scenario(
    name: str,
    truth: Literal["follower", "reader", "none"],
    strength: float,
    rule: Rule,
    *,
    joint: bool = False,
    cued: float = 0.25,
) -> Scenario:
    """Make a scenario of the probes."""
    return Scenario(
        name,
        "probes",
        truth,
        strength,
        functools.partial(ask_probes, rule=rule, joint=joint, cued=cued),
    )


_LISTED = (
    scenario("reads the question", "reader", 0.0, reads),
    scenario("reads the question, by letters", "reader", 0.0, reads, joint=True),
    scenario("reads the question, is right in two of three", "reader", 0.0, reads_badly),
    scenario("reads the question, ignores a cue of 80 %", "reader", 0.0, reads, cued=0.8),
    scenario("likes words, to no use", "follower", 1.0, likes_words),
    scenario("likes words, to no use, by letters", "follower", 1.0, likes_words, joint=True),
    scenario("likes the cue, right in 80 %", "follower", 1.0, takes_the_cue, cued=0.8),
    scenario("likes the cue, right in 95 %", "follower", 1.0, takes_the_cue, cued=0.95),
    scenario("always A", "follower", 1.0, takes_the_first, joint=True),
    scenario("random with a position bias", "follower", 0.5, leans_to_the_first, joint=True),
    scenario(
        "A in half of the items, reads the others",
        "follower",
        0.5,
        mixed(0.5, takes_the_first),
        joint=True,
    ),
    scenario("likes words in 60 %, reads the others", "follower", 0.6, mixed(0.6, likes_words)),
    scenario("likes words in 30 %, reads the others", "follower", 0.3, mixed(0.3, likes_words)),
    scenario("random", "none", 0.0, draws),
    scenario("constant", "none", 0.0, lambda prompt, choices: [0.0] * len(choices)),
    *(
        Scenario(name, "cues", truth, strength, functools.partial(ask_cues, rule=rule, cued=cued))  # type: ignore[arg-type]
        for name, truth, strength, rule, cued in (
            ("takes the cue, right in 80 %", "follower", 1.0, takes_the_cue, 0.8),
            ("takes the cue, right in 95 %", "follower", 1.0, takes_the_cue, 0.95),
            ("takes the cue in half of the items", "follower", 0.5, mixed(0.5, takes_the_cue), 0.8),
            ("reads, no cue in the data", "reader", 0.0, reads, 0.25),
            ("reads badly, no cue in the data", "reader", 0.0, reads_badly, 0.25),
            ("reads, ignores a cue of 80 %", "none", 0.0, reads, 0.8),
        )
    ),
)
SCENARIOS: dict[str, Scenario] = {f"{each.question}: {each.name}": each for each in _LISTED}
