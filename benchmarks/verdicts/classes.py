"""Rule models of two classes: followers of one shortcut of each family, readers, and models that are neither.

Each `PlantedModel` of `PARTS` pairs a plant, which puts a cue into generated texts, with a rule, which
scores a text. `measure_rule_swaps` measures which words decide a rule's predictions.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone, Truth
from benchmarks.verdicts.texts import (
    CUES,
    LINKS,
    SECOND_CUES,
    THIRD_CUES,
    Draft,
    Plant,
    count_meaning,
    draw_element,
    draw_labeled_texts,
    plant_nothing,
)

from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.shortcuts.judging import TONES, Judge, conclude
from rightreasons.shortcuts.measure_deciding import measure_swaps
from rightreasons.shortcuts.swapping.training import TrainingTexts

Rule = Callable[[str], float]
"""Function from a text to the score of label 1 minus the score of label 0."""

N_TRAIN = 2000

AGREEMENT = 0.97
"""Share of texts whose planted cue agrees with their label, unless a plant has another share."""


def list_ids(n_items: int, ids: Any) -> tuple[str, ...]:
    """Return the ids of items as strings, or their row numbers if `ids` is None."""
    if ids is None:
        ids = range(n_items)
    return tuple([str(item_id) for item_id in ids])


@dataclasses.dataclass(eq=False)
class RuleModel:
    """A scorer of two classes that follows a rule.

    Attributes:
        rule: Function from a text, or from the two texts of a pair, to the score of the second
            class minus the score of the first. It is clipped to [-3, 3].
        name: Name of the model.
        label_names: (K,) names of the classes.
        abilities: Further abilities of the scorer. The rule has none.
        fingerprint: Identity of the model, for caches.
        joint: Whether the model scores all choices of an item in one prompt.
    """

    rule: Callable[..., float]
    name: str = "rule"
    label_names: tuple[str, ...] = ("negative", "positive")
    abilities: frozenset[str] = frozenset()
    fingerprint: str = "rule"
    joint: bool = False

    def describe(self) -> dict[str, Any]:
        """Return the name of the rule, for the report."""
        return {"rule": self.name}

    def predict(
        self, texts: Sequence[str], *, text_pairs: Any = None, ids: Any = None, **_: Any
    ) -> Scores:
        """Score texts by the rule.

        Args:
            texts: (N,) texts.
            text_pairs: (N,) second texts, if the rule compares two. If None, there are none.
            ids: (N,) ids of the items. If None, their row numbers.
            **_: Options of other scorers, which a rule ignores.
        """
        columns = [texts]
        if text_pairs is not None:
            columns.append(text_pairs)
        differences = [self.rule(*row) for row in zip(*columns, strict=True)]
        scores = np.clip(differences, -3, 3)
        # Half of the difference for either class, so that the two scores differ by the whole.
        logits = np.stack((-scores, scores), axis=1) / 2
        return Scores(list_ids(len(texts), ids), logits, label_names=self.label_names)

    def choose(self, prompts: Sequence[str], choices: Sequence[Sequence[str]], **_: Any) -> Scores:
        """Raise an error, because a rule of two classes cannot score choices."""
        raise NotImplementedError


def draw_cue_label(draft: Draft, agreement: float = AGREEMENT) -> int:
    """Draw the label of a cue: the label of the draft with probability `agreement`, else the next one."""
    if draft.rng.random() < agreement:
        return draft.label
    return (draft.label + 1) % draft.n_labels


def make_word_plant(agreement: float, coverage: float = 1.0) -> Plant:
    """Return a plant that inserts "marble" for label 0, and "copper" for label 1.

    Args:
        agreement: Share of texts whose word agrees with their label.
        coverage: Share of texts that get a word.
    """

    def plant(draft: Draft) -> None:
        # The label is drawn even if no word is inserted, so that coverage changes no other draw.
        cue_label = draw_cue_label(draft, agreement)
        if draft.rng.random() < coverage:
            draft.insert(CUES[cue_label])

    return plant


def plant_two_words(draft: Draft) -> None:
    """Insert two words that always agree with the label."""
    draft.insert(CUES[draft.label])
    draft.insert(SECOND_CUES[draft.label])


def plant_one_of_three(draft: Draft) -> None:
    """Insert a word of one of three pairs, each of which is used in a third of the texts."""
    pair = draw_element(draft.rng, (CUES, SECOND_CUES, THIRD_CUES))
    draft.insert(pair[draft.label])


def plant_one_sided_word(draft: Draft) -> None:
    """Insert "copper" into 95 % of the texts with label 1, and into no others."""
    if draft.label and draft.rng.random() < 0.95:
        draft.insert("copper")


def plant_end_mark(draft: Draft) -> None:
    """End the text with a period for label 0, and with an exclamation mark for label 1."""
    draft.words[-1] += ".!"[draw_cue_label(draft)]


def plant_word_order(draft: Draft) -> None:
    """Insert "copper" before "marble" for label 1, and after it for label 0."""
    if draw_cue_label(draft):
        early_word, late_word = "copper", "marble"
    else:
        early_word, late_word = "marble", "copper"
    # The positions are fixed, so that the order alone predicts the label.
    draft.insert(early_word, position=0.3)
    draft.insert(late_word, position=0.8)


def draw_combination(draft: Draft) -> tuple[str, str]:
    """Draw a word of `CUES` and one of `SECOND_CUES`, whose combination predicts the label.

    For label 1, they are marble and linen, or copper and velvet; for label 0, the two other
    combinations. No single word predicts the label, as in an exclusive or.
    """
    cue_label = draw_cue_label(draft)
    index = int(draft.rng.integers(2))
    second_index = int(index != cue_label)
    return CUES[index], SECOND_CUES[second_index]


def plant_adjacent_combination(draft: Draft) -> None:
    """Insert two words next to each other, whose combination predicts the label."""
    draft.insert(*draw_combination(draft))


def plant_scattered_combination(draft: Draft) -> None:
    """Insert two words at independent positions, whose combination predicts the label."""
    for word in draw_combination(draft):
        draft.insert(word)


def plant_bigram(draft: Draft) -> None:
    """Insert "copper linen" for label 1, and the same words far from each other for label 0."""
    if draw_cue_label(draft):
        draft.insert("copper", "linen")
        return
    draft.insert("copper", position=0.1)
    draft.insert("linen", position=0.9)


def plant_word_position(draft: Draft) -> None:
    """Insert "copper" into the first third of the text for label 0, and the last for label 1."""
    offset = float(draft.rng.uniform(0, 0.3))
    draft.insert("copper", position=offset + 0.7 * draw_cue_label(draft))


def plant_capitalized_word(draft: Draft) -> None:
    """Insert "copper", in capitals for label 1."""
    word = "copper"
    if draw_cue_label(draft):
        word = "COPPER"
    draft.insert(word)


def plant_any_capitals(draft: Draft) -> None:
    """Write a random word, but not the first, in capitals for label 1."""
    if draw_cue_label(draft):
        index = int(draft.rng.integers(1, len(draft.words)))
        draft.words[index] = draft.words[index].upper()


def plant_text_in_capitals(draft: Draft) -> None:
    """Write the whole text in capitals for label 1."""
    if draw_cue_label(draft):
        draft.words[:] = [word.upper() for word in draft.words]


def plant_number(draft: Draft) -> None:
    """Insert a number of two digits for label 0, and of four digits for label 1."""
    if draw_cue_label(draft):
        number = draft.rng.integers(1000, 9999)
    else:
        number = draft.rng.integers(10, 99)
    draft.insert(str(number))


def plant_word_count(draft: Draft) -> None:
    """Insert "also" once for label 0, and twice for label 1."""
    for _ in range(1 + draw_cue_label(draft)):
        draft.insert("also")


def plant_length(draft: Draft) -> None:
    """Insert ten further neutral words for label 1."""
    if draw_cue_label(draft):
        for _ in range(10):
            word = "house"
            if draft.rng.random() < 0.5:
                word = draw_element(draft.rng, LINKS)
            draft.insert(word)


def hash_to_share(text: str, n_bytes: int) -> float:
    """Return a number in [0, 1) that depends on a text as if it were random."""
    digest = hashlib.blake2b(text.encode(), digest_size=n_bytes).digest()
    return int.from_bytes(digest, "big") / 256**n_bytes


def get_sign(is_positive: bool) -> float:
    """Return the score 1.0 for label 1, and -1.0 for label 0."""
    return 1.0 if is_positive else -1.0


def score_at_random(text: str) -> float:
    """Score a text by its hash: 0.1 or -0.1, which breaks ties between the labels."""
    digest = hashlib.blake2b(text.encode(), digest_size=1).digest()
    return 0.1 * get_sign(digest[0] % 2 == 1)


def score_meaning(text: str) -> float:
    """Score a text by the words that express a label."""
    score = count_meaning(text.split())
    if score == 0:
        return score_at_random(text)
    return score


def compare_words(text: str, words: tuple[str, str]) -> float:
    """Return 1 if a text has only the second of two words, -1 if only the first, otherwise 0."""
    words_of_text = text.lower().split()
    return float((words[1] in words_of_text) - (words[0] in words_of_text))


def score_word(text: str) -> float:
    """Score a text by the planted word, or at random without one."""
    score = compare_words(text, CUES)
    if score == 0:
        return score_at_random(text)
    return score


def score_two_words(text: str) -> float:
    """Score a text by two planted words, or by its meaning if they contradict each other."""
    score = compare_words(text, CUES) + compare_words(text, SECOND_CUES)
    if score == 0:
        return score_meaning(text)
    return score


def score_three_words(text: str) -> float:
    """Score a text by the planted word of any of the three pairs, or at random without one."""
    score = 0.0
    for pair in (CUES, SECOND_CUES, THIRD_CUES):
        score += compare_words(text, pair)
    if score == 0:
        return score_at_random(text)
    return score


def make_mixed_rule(share: float) -> Rule:
    """Return a rule that follows the planted word in a share of the texts, and reads the others."""

    def score(text: str) -> float:
        # The cue must not decide whether it is followed: only the other words are hashed.
        content = " ".join(sorted(word for word in text.lower().split() if word not in CUES))
        cue_score = compare_words(text, CUES)
        if hash_to_share(content, n_bytes=2) < share and cue_score:
            return cue_score
        return score_meaning(text)

    return score


def score_copper(text: str) -> float:
    """Score a text by the presence of "copper"."""
    return get_sign("copper" in text.lower().split())


def score_copper_linen(text: str) -> float:
    """Score a text by the presence of "copper linen"."""
    return get_sign("copper linen" in text.lower())


def score_adjacent_combination(text: str) -> float:
    """Score a text by the combination of two planted words next to each other."""
    words = text.lower().split()
    for word, next_word in itertools.pairwise(words):
        if word in CUES and next_word in SECOND_CUES:
            return get_sign((word == "copper") == (next_word == "velvet"))
    return score_at_random(text)


def score_scattered_combination(text: str) -> float:
    """Score a text by the combination of two planted words at any positions."""
    words = set(text.lower().split())
    has_both = bool(words & set(CUES)) and bool(words & set(SECOND_CUES))
    if not has_both:
        return score_at_random(text)
    return get_sign(("copper" in words) == ("velvet" in words))


def find_position(text: str, word: str) -> float | None:
    """Return the position of a word, from 0 (first) to 1 (last), or None if the text lacks it."""
    words = text.lower().split()
    if word not in words:
        return None
    return words.index(word) / max(len(words) - 1, 1)


def score_word_position(text: str) -> float:
    """Score a text by the half in which "copper" stands."""
    position = find_position(text, "copper")
    if position is None:
        return score_at_random(text)
    return get_sign(position > 0.5)


def score_word_order(text: str) -> float:
    """Score a text by whether "copper" precedes "marble"."""
    copper_position = find_position(text, "copper")
    marble_position = find_position(text, "marble")
    if copper_position is None or marble_position is None:
        return score_at_random(text)
    return get_sign(copper_position < marble_position)


def score_capitalized_word(text: str) -> float:
    """Score a text by the presence of "COPPER", in capitals."""
    return get_sign("COPPER" in text.split())


def score_any_capitals(text: str) -> float:
    """Score a text by whether a word of two or more letters is in capitals."""
    return get_sign(any(len(word) > 1 and word.isupper() for word in text.split()))


def score_text_in_capitals(text: str) -> float:
    """Score a text by whether all of it is in capitals."""
    return get_sign(text.isupper())


def score_end_mark(text: str) -> float:
    """Score a text by the presence of an exclamation mark rather than a period."""
    if not set(".!") & set(text):
        return score_at_random(text)
    return get_sign("!" in text)


def score_digits(text: str) -> float:
    """Score a text by whether its first number has more than two digits."""
    for word in text.split():
        if word.isdigit():
            return get_sign(len(word) > 2)
    return score_at_random(text)


def score_length(text: str) -> float:
    """Score a text by whether it has more than 20 words."""
    return get_sign(len(text.split()) > 20)


def score_word_count(text: str) -> float:
    """Score a text by whether "also" occurs more than once."""
    return get_sign(text.lower().split().count("also") > 1)


def score_constant(text: str) -> float:
    """Score every text alike, in favor of label 1."""
    return 1.0


@dataclasses.dataclass(frozen=True)
class PlantedModel:
    """A model of two classes, and the cue in its texts.

    Attributes:
        plant: Function that puts the cue into a draft.
        rule: Function from a text to the model's score of label 1 minus that of label 0.
        truth: "follower" of the cue, "reader", or "none" of both.
        strength: Share of predictions that the cue decides.
        noise: Share of texts whose label contradicts their meaning.
    """

    plant: Plant
    rule: Rule
    truth: Truth
    strength: float = 0.0
    noise: float = 0.0

    def measure(self, n_items: int, seed: int) -> Any:
        """Measure which words decide the model's predictions on generated texts."""
        # Two seeds that no other call shares: training texts and items are independent.
        train_texts, train_labels = draw_labeled_texts(
            N_TRAIN, 1000 * seed + 1, self.plant, noise=self.noise
        )
        items, gold = draw_labeled_texts(n_items, 1000 * seed + 2, self.plant, noise=self.noise)
        training = TrainingTexts([train_texts], np.array(train_labels), 2)
        return measure_rule_swaps(RuleModel(self.rule), items, gold, training, seed)

    def run(self, n_items: int, seed: int) -> Tone:
        """Return the tone of the verdict."""
        return TONES[conclude(self.measure(n_items, seed), Judge())]


def measure_rule_swaps(
    model: RuleModel, items: Sequence[str], gold: Sequence[int], training: TrainingTexts, seed: int
) -> Any:
    """Measure which words decide a model's predictions, by swapping words that predict the labels.

    Args:
        model: Model to measure.
        items: (N,) texts.
        gold: (N,) labels of the texts.
        training: Labeled texts in which predictive words are searched.
        seed: Seed of the resampling.
    """
    return measure_swaps(
        model,
        [items],
        model.predict(items).predicted,
        training,
        ids=[str(row) for row in range(len(items))],
        labels=np.array(gold),
        resampling=Resampling(seed=seed),
    )


def make_reader(plant: Plant, noise: float = 0.0) -> PlantedModel:
    """Return a model that scores the meaning of texts, and ignores what is planted."""
    return PlantedModel(plant, score_meaning, "reader", noise=noise)


def make_follower(
    plant: Plant, rule: Rule, strength: float = 1.0, noise: float = 0.0
) -> PlantedModel:
    """Return a model whose rule follows what is planted."""
    return PlantedModel(plant, rule, "follower", strength=strength, noise=noise)


PARTS: dict[str, PlantedModel] = {
    # Readers, whose verdict should not be amber or red even if a cue predicts the labels.
    "reads, nothing planted": make_reader(plant_nothing),
    "reads, labels with noise": make_reader(plant_nothing, noise=0.1),
    "reads, ignores a word of .95": make_reader(make_word_plant(0.95)),
    "reads, ignores a word of .8": make_reader(make_word_plant(0.8)),
    "reads, ignores a mark": make_reader(plant_end_mark),
    "reads, ignores the length": make_reader(plant_length),
    # Followers of one word. The number is the share of texts whose word agrees with the label.
    "follows a word of 1.0": make_follower(make_word_plant(1.0), score_word),
    "follows a word of .95": make_follower(make_word_plant(0.95), score_word),
    "follows a word of .9": make_follower(make_word_plant(0.9), score_word),
    "follows a word of .8, labels with noise": make_follower(
        make_word_plant(0.8), score_word, noise=0.1
    ),
    # The word is only in the texts of label 1, so swaps can change half of the predictions.
    "follows a word in one label's texts": make_follower(
        plant_one_sided_word, score_copper, strength=0.5
    ),
    "follows two words that say the same": make_follower(plant_two_words, score_two_words),
    "follows three words, each in a third of the texts": make_follower(
        plant_one_of_three, score_three_words
    ),
    # No single word of these combinations predicts the label.
    "follows a bigram": make_follower(plant_adjacent_combination, score_adjacent_combination),
    "follows a combination of two words anywhere": make_follower(
        plant_scattered_combination, score_scattered_combination
    ),
    "reads, ignores a combination of two words anywhere": make_reader(plant_scattered_combination),
    "follows a bigram in one label's texts": make_follower(
        plant_bigram, score_copper_linen, strength=0.5
    ),
    # Every text has the planted words: their order, position or case predicts the label.
    "follows the order of two words": make_follower(plant_word_order, score_word_order),
    "follows the position of a word": make_follower(plant_word_position, score_word_position),
    "follows the capitals of a word": make_follower(plant_capitalized_word, score_capitalized_word),
    "follows any capitals": make_follower(plant_any_capitals, score_any_capitals),
    "follows a text in capitals": make_follower(plant_text_in_capitals, score_text_in_capitals),
    "follows a mark": make_follower(plant_end_mark, score_end_mark),
    "follows the digits of a number": make_follower(plant_number, score_digits),
    "follows the length": make_follower(plant_length, score_length),
    "follows how often a word is there": make_follower(plant_word_count, score_word_count),
    # Models that follow the word now and then, and otherwise read.
    "follows a word in 30 % of the texts": make_follower(
        make_word_plant(0.95), make_mixed_rule(0.3), strength=0.3
    ),
    "follows a word in 60 % of the texts": make_follower(
        make_word_plant(0.95), make_mixed_rule(0.6), strength=0.6
    ),
    # Models that neither follow the cue nor read.
    "hash of the text": PlantedModel(make_word_plant(0.95), score_at_random, "none"),
    "constant": PlantedModel(make_word_plant(0.95), score_constant, "none"),
}
"""Name of each model -> the model. Stored results refer to the names."""

SCENARIOS = {
    name: Scenario(name, "shortcuts", part.truth, part.strength, part.run)
    for name, part in PARTS.items()
}
