"""Rule models of multiple choice, on which the verdicts of the probes and on cues are checked.

`draw_items` generates items whose correct choice shares a topic with the question. A rule scores the
choices of an item, and a `RuleScorer` wraps it as the model of an audit.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import numpy as np
from benchmarks.verdicts import Scenario, Tone, Truth

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.cues import question as cues
from rightreasons.cues.options import CuesOptions
from rightreasons.probes import question as probes
from rightreasons.probes.options import ProbesOptions

N_CHOICES = 4
N_TOPICS = 300
CUE = "indeed"
RESAMPLES = 200

datasets.disable_progress_bars()

Rule = Callable[[str, Sequence[str]], Sequence[float]]
"""Function from a prompt and its choices to a score for each choice."""


def hash_texts(*texts: str) -> float:
    """Return a number in [0, 1) that depends on texts as if it were random."""
    digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") / 2**32


def draw_items(n_items: int, seed: int, *, cued: float = 0.25) -> datasets.Dataset:
    """Draw items whose correct choice shares its topic with the question.

    Args:
        n_items: Number of items.
        seed: Seed of all draws.
        cued: Share of items whose correct choice has the cue. In the others, an incorrect one has it.

    Returns:
        Items with the columns "id", "prompt", "choices" and "label".
    """
    rng = np.random.default_rng([seed, n_items])
    rows = []
    for row in range(n_items):
        # Topics differ within an item, so that only one choice fits the question.
        topics = rng.choice(N_TOPICS, N_CHOICES, replace=False)
        label = int(rng.integers(N_CHOICES))
        cued_choice = label
        if rng.random() >= cued:
            cued_choice = int((label + rng.integers(1, N_CHOICES)) % N_CHOICES)

        choices = []
        for topic in topics:
            choices.append(f"topic{topic} w{rng.integers(5000)} w{rng.integers(5000)}")
        choices[cued_choice] += f" {CUE}"
        prompt = f"what of topic{topics[label]} q{rng.integers(5000)}"
        rows.append({"id": f"i{row}", "prompt": prompt, "choices": choices, "label": label})
    return datasets.Dataset.from_list(rows)


def score_topics(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer the choice whose topic is in the question, and break ties by a hash of the texts."""
    words = set(prompt.split())
    scores = []
    for choice in choices:
        topic = choice.split()[0]
        scores.append(4.0 * (topic in words) + hash_texts(prompt, choice) / 2)
    return scores


def score_topics_with_errors(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer the choice whose topic is in the question, but a random choice in a third of the items."""
    # The order of the choices must not decide which items are answered at random.
    if hash_texts(prompt, *sorted(choices)) < 1 / 3:
        return [hash_texts(prompt, choice, "wrong") for choice in choices]
    return score_topics(prompt, choices)


def score_words(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer certain words, by a hash of each choice without its question."""
    return [hash_texts(choice) for choice in choices]


def score_cue(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer the choice with the cue, and break ties by a hash of the choice."""
    return [4.0 * (CUE in choice.split()) + hash_texts(choice) for choice in choices]


def score_first(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer the first choice."""
    return [2.0] + [0.0] * (len(choices) - 1)


def score_first_more_often(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer a random choice, the first more often than the others."""
    scores = [hash_texts(prompt, *choices, str(index)) for index in range(len(choices))]
    scores[0] += 0.5
    return scores


def score_at_random(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer a random choice, which depends on the question."""
    return [hash_texts(prompt, choice) for choice in choices]


def score_constant(prompt: str, choices: Sequence[str]) -> list[float]:
    """Prefer no choice."""
    return [0.0] * len(choices)


def make_mixed_rule(share: float, shortcut: Rule) -> Rule:
    """Return a rule that follows another rule in a share of the items, and reads the rest.

    Args:
        share: Share of items that follow the shortcut, whatever their question or order of choices.
        shortcut: Rule to follow in these items.
    """

    def score(prompt: str, choices: Sequence[str]) -> Sequence[float]:
        # A probe may borrow another question or reorder the choices, which must not move an item
        # to the other rule. So only its first choice in alphabetical order decides.
        if hash_texts(min(choices), "mixed") < share:
            return shortcut(prompt, choices)
        return score_topics(prompt, choices)

    return score


class RuleScorer:
    """A scorer of choices that follows a rule."""

    label_names = None
    abilities: frozenset[Any] = frozenset({"next_words"})

    def __init__(self, rule: Rule, *, is_joint: bool) -> None:
        """Wrap a rule.

        Args:
            rule: Function from a prompt and its choices to a score for each choice.
            is_joint: Whether the audit regards the choices as scored in one prompt, by letters.
        """
        self.rule = rule
        self.joint = is_joint
        self.name = getattr(rule, "__name__", "rule")
        self.fingerprint = self.name

    def describe(self) -> dict[str, Any]:
        """Return an empty description, since the rule has no settings."""
        return {}

    def predict(self, texts: Sequence[str], **options: Any) -> Scores:
        """Raise an error, because the rule scores choices, not classes."""
        raise ValueError("Expected choices, but got texts.")

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        **options: Any,
    ) -> Scores:
        """Score the choices of each item.

        Args:
            prompts: (N,) questions.
            choices: (N,) lists of choices.
            ids: (N,) ids of the items. If None, their row numbers.
            **options: Options of other scorers, which a rule ignores.
        """
        rows = []
        for prompt, options_of_item in zip(prompts, choices, strict=True):
            rows.append(np.asarray(self.rule(prompt, options_of_item), dtype=np.float64))
        lengths = np.array([len(row) for row in rows])
        logits = Ragged.of(np.concatenate(rows), lengths).table()
        names = range(len(rows)) if ids is None else ids
        return Scores(tuple(map(str, names)), logits, None, None, None)


def make_context(
    scorer: RuleScorer, data: datasets.Dataset, seed: int, train: datasets.Dataset | None = None
) -> Any:
    """Return the attributes of an audit that the probes and the question on cues read.

    Args:
        scorer: Model of the audit.
        data: Audited items.
        seed: Seed of the audit.
        train: Training items. If None, there are none.
    """
    # The questions read few attributes of an audit, so plain namespaces replace its data and model.
    split = SimpleNamespace(
        data=data,
        before_exclusion=None,
        groups_column=None,
        fingerprint="",
        name="test",
        ids=tuple(data["id"]),
    )
    scores = scorer.choose(data["prompt"][:], data["choices"][:], ids=data["id"][:])
    return SimpleNamespace(
        primary=split,
        train=train,
        stored=None,
        logged_arms=None,
        joint=scorer.joint,
        prompted=None,
        server=None,
        scorer=scorer,
        scores=lambda: scores,
        has_scores=lambda split: False,
        folder=lambda *depends: Path(),
        resampling=Resampling(resamples=RESAMPLES, seed=seed),
        seed=seed,
        get_run_arguments=lambda out: {
            "out": out,
            "batch_size": 64,
            "progress": False,
            "fail_fast": False,
        },
    )


def ask_probes(n_items: int, seed: int, *, rule: Rule, is_joint: bool, cued: float) -> Tone:
    """Return the tone of the verdict of the probes on a rule."""
    data = draw_items(n_items, seed, cued=cued)
    context = make_context(RuleScorer(rule, is_joint=is_joint), data, seed)
    return probes.PROBES.find_rule(probes.measure(context, ProbesOptions(ks=(4,)))).tone


def ask_cues(n_items: int, seed: int, *, rule: Rule, cued: float) -> Tone:
    """Return the tone of the verdict on cues. They are searched in as many training items."""
    train = draw_items(n_items, seed + 1000, cued=cued)
    data = draw_items(n_items, seed, cued=cued)
    context = make_context(RuleScorer(rule, is_joint=False), data, seed, train)
    options = CuesOptions(features=("unigram", "length"))
    return cues.CUES.find_rule(cues.measure(context, options)).tone


def make_probes_scenario(
    name: str,
    truth: Truth,
    strength: float,
    rule: Rule,
    *,
    is_joint: bool = False,
    cued: float = 0.25,
) -> Scenario:
    """Return a scenario of the probes.

    Args:
        name: What decides the model's answers, in words.
        truth: "follower" of a shortcut, "reader" of the question, or "none".
        strength: Share of answers that the shortcut decides.
        rule: Function from a prompt and its choices to a score for each choice.
        is_joint: Whether the choices are scored in one prompt, by letters.
        cued: Share of items whose correct choice has the cue.
    """
    run = functools.partial(ask_probes, rule=rule, is_joint=is_joint, cued=cued)
    return Scenario(name, "probes", truth, strength, run)


def make_cues_scenario(
    name: str, truth: Truth, strength: float, rule: Rule, cued: float
) -> Scenario:
    """Return a scenario of the question on cues, with the cue in a share `cued` of correct choices."""
    run = functools.partial(ask_cues, rule=rule, cued=cued)
    return Scenario(name, "cues", truth, strength, run)


_LISTED = (
    # The probes ask whether a model needs the question, and whether it prefers a letter.
    make_probes_scenario("reads the question", "reader", 0.0, score_topics),
    make_probes_scenario(
        "reads the question, by letters", "reader", 0.0, score_topics, is_joint=True
    ),
    make_probes_scenario(
        "reads the question, is right in two of three", "reader", 0.0, score_topics_with_errors
    ),
    make_probes_scenario(
        "reads the question, ignores a cue of 80 %", "reader", 0.0, score_topics, cued=0.8
    ),
    make_probes_scenario("likes words, to no use", "follower", 1.0, score_words),
    make_probes_scenario(
        "likes words, to no use, by letters", "follower", 1.0, score_words, is_joint=True
    ),
    make_probes_scenario("likes the cue, right in 80 %", "follower", 1.0, score_cue, cued=0.8),
    make_probes_scenario("likes the cue, right in 95 %", "follower", 1.0, score_cue, cued=0.95),
    make_probes_scenario("always A", "follower", 1.0, score_first, is_joint=True),
    make_probes_scenario(
        "random with a position bias", "follower", 0.5, score_first_more_often, is_joint=True
    ),
    make_probes_scenario(
        "A in half of the items, reads the others",
        "follower",
        0.5,
        make_mixed_rule(0.5, score_first),
        is_joint=True,
    ),
    make_probes_scenario(
        "likes words in 60 %, reads the others", "follower", 0.6, make_mixed_rule(0.6, score_words)
    ),
    make_probes_scenario(
        "likes words in 30 %, reads the others", "follower", 0.3, make_mixed_rule(0.3, score_words)
    ),
    # These two use neither a shortcut nor the question.
    make_probes_scenario("random", "none", 0.0, score_at_random),
    make_probes_scenario("constant", "none", 0.0, score_constant),
    make_cues_scenario("takes the cue, right in 80 %", "follower", 1.0, score_cue, cued=0.8),
    make_cues_scenario("takes the cue, right in 95 %", "follower", 1.0, score_cue, cued=0.95),
    make_cues_scenario(
        "takes the cue in half of the items",
        "follower",
        0.5,
        make_mixed_rule(0.5, score_cue),
        cued=0.8,
    ),
    # With four choices, a cue in a quarter of the correct ones predicts nothing.
    make_cues_scenario("reads, no cue in the data", "reader", 0.0, score_topics, cued=0.25),
    make_cues_scenario(
        "reads badly, no cue in the data", "reader", 0.0, score_topics_with_errors, cued=0.25
    ),
    make_cues_scenario("reads, ignores a cue of 80 %", "none", 0.0, score_topics, cued=0.8),
)
SCENARIOS = {f"{scenario.question}: {scenario.name}": scenario for scenario in _LISTED}
