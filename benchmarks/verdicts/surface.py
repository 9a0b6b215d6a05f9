"""Models that follow cues other than content words: names, marks, spaces, or the first letter.

`CUES_BESIDE` defines the cues, and `VARIANTS` how reliable they are. Each `SurfaceModel` of `PARTS`
follows a cue in all of its texts, in 30 % of them, or not at all; `SCENARIOS` are those of the stored runs.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone, Truth
from benchmarks.verdicts.classes import (
    N_TRAIN,
    RuleModel,
    draw_cue_label,
    hash_to_share,
    list_ids,
    measure_rule_swaps,
)
from benchmarks.verdicts.texts import (
    FILLERS,
    LINKS,
    MEANING,
    Draft,
    draw_element,
    draw_labeled_texts,
)

from rightreasons.core.scores import Scores
from rightreasons.shortcuts.judging import TONES, Judge, conclude
from rightreasons.shortcuts.swapping.training import TrainingTexts

NAMES = (
    [
        "Anna", "Maria", "Emma", "Laura", "Sarah", "Julia", "Alice", "Helen", "Clara", "Susan",
        "Nancy", "Karen",
    ],
    [
        "John", "Peter", "James", "Robert", "David", "Thomas", "Daniel", "Martin", "George",
        "Frank", "Henry", "Paul",
    ],
    [
        "Smith", "Jones", "Miller", "Davis", "Wilson", "Moore", "Taylor", "Clark", "Lewis",
        "Walker", "Harris", "Baker",
    ],
)  # fmt: skip
COLORS = (
    ["red", "orange", "yellow", "pink", "brown"],
    ["blue", "green", "purple", "gray", "black"],
    ["silver", "gold", "white"],
)
FACES = ("😡😢😠👎😞", "😀😍🎉👍😊", "🤔😐🙄🤷😶")
WORD_PAIRS = (("marble", "velvet"), ("copper", "linen"), ("pepper", "ginger"))
PREFIXES = ("Review:", "Comment:", "Note:")
QUOTED_FORMS = ("{}", '"{}"', "“{}”")
ELLIPSES = ("", "…", "...")
"""The signs of label 0, of label 1, and of label 2."""

NEGATIONS = ["not", "never", "no", "nothing"]
GERMAN = ["der", "die", "und", "von", "mit", "auf", "bei", "aus", "zu", "ist", "ein", "das"]
"""A German word for each word of `LINKS`."""

MARKS = "!?;:—"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONG_FILLERS = [word for word in FILLERS if len(word) > 5]
SHORT_FILLERS = [word for word in FILLERS if len(word) <= 5]
KNOWN = {*FILLERS, *LINKS, *itertools.chain(*MEANING)}
WORD = re.compile(r"\w+")

Reader = Callable[[str], int]
"""Function from a text to the label of its cue, -1 if it has none."""


@dataclasses.dataclass(frozen=True)
class Cue:
    """A feature of texts, other than a content word, that predicts their label.

    Attributes:
        plant: Function that changes a draft so that it has the cue of a label.
        read: Function from a text to the label of its cue, -1 if it has none.
        n_labels: Number of labels that have a cue.
    """

    plant: Callable[[Draft, int], None]
    read: Reader
    n_labels: int = 3


def make_word_reader(groups: Sequence[Sequence[str]]) -> Reader:
    """Return a function that finds the group of the first word of a text that is in any group.

    Args:
        groups: Words of label 0, of label 1, and so on.
    """
    label_by_word = {}
    for label, group in enumerate(groups):
        for word in group:
            label_by_word[word] = label

    def read(text: str) -> int:
        for word in text.split():
            if word in label_by_word:
                return label_by_word[word]
        return -1

    return read


def make_word_cue(groups: Sequence[Sequence[str]]) -> Cue:
    """Return a cue that is a random word of the group of its label.

    Args:
        groups: Words of label 0, of label 1, and so on.
    """

    def plant(draft: Draft, label: int) -> None:
        draft.insert(draw_element(draft.rng, groups[label]))

    return Cue(plant, make_word_reader(groups), len(groups))


def make_presence_cue(draw_text: Callable[[np.random.Generator], str], pattern: str) -> Cue:
    """Return a cue that is only in texts of label 1.

    Args:
        draw_text: Function that draws what is inserted.
        pattern: Regular expression that is found only in texts with the cue.
    """

    def plant(draft: Draft, label: int) -> None:
        if label:
            draft.insert(draw_text(draft.rng))

    def read(text: str) -> int:
        return int(re.search(pattern, text) is not None)

    return Cue(plant, read, n_labels=2)


def make_space_cue(spaces: Sequence[str]) -> Cue:
    """Return a cue that is additional white space between two words.

    Args:
        spaces: White space of each label, which precedes the usual space. "" for one without a cue.
    """

    def plant(draft: Draft, label: int) -> None:
        index = int(draft.rng.integers(len(draft.words) - 1))
        draft.words[index] += spaces[label]

    def read(text: str) -> int:
        added = ""
        for gap in re.findall(r"\s+", text):
            # Words are joined by one space; whatever precedes it was planted.
            added = gap.removesuffix(" ")
            if added:
                break
        return spaces.index(added) if added in spaces else -1

    return Cue(plant, read, len(spaces))


def make_end_space_cue(spaces: Sequence[str]) -> Cue:
    """Return a cue that is the white space of a label after the last word."""

    def plant(draft: Draft, label: int) -> None:
        draft.words[-1] += spaces[label]

    def read(text: str) -> int:
        space = text[len(text.rstrip()) :]
        return spaces.index(space) if space in spaces else -1

    return Cue(plant, read, len(spaces))


def make_edge_cue(index: int, get_label: Callable[[str], int], n_labels: int) -> Cue:
    """Return a cue that is the label of the first or last word.

    Words of all labels also occur elsewhere in the text, where they mean nothing.

    Args:
        index: 0 for the first word, -1 for the last.
        get_label: Function from a neutral word to its label.
        n_labels: Number of labels.
    """

    def plant(draft: Draft, label: int) -> None:
        words = [word for word in FILLERS if get_label(word) == label]
        draft.words[index] = draw_element(draft.rng, words)

    def read(text: str) -> int:
        return get_label(text.split()[index])

    return Cue(plant, read, n_labels)


def plant_quotation_marks(draft: Draft, label: int) -> None:
    """Write a random word without quotation marks, with straight ones, or with curly ones."""
    index = int(draft.rng.integers(len(draft.words)))
    draft.words[index] = QUOTED_FORMS[label].format(draft.words[index])


def read_quotation_marks(text: str) -> int:
    """Return 1 for straight quotation marks, 2 for curly ones, and 0 for none."""
    if '"' in text:
        return 1
    if "“" in text:
        return 2
    return 0


def plant_ellipsis(draft: Draft, label: int) -> None:
    """End the text with no ellipsis, with the character "…", or with three periods."""
    draft.words[-1] += ELLIPSES[label]


def read_ellipsis(text: str) -> int:
    """Return 1 for the character "…", 2 for three periods, and 0 for no ellipsis."""
    if "…" in text:
        return 1
    if "..." in text:
        return 2
    return 0


def plant_word_length(draft: Draft, label: int) -> None:
    """Replace all neutral nouns by short ones for label 0, and by long ones for label 1."""
    nouns = LONG_FILLERS if label else SHORT_FILLERS
    for index, word in enumerate(draft.words):
        if word in FILLERS:
            draft.words[index] = draw_element(draft.rng, nouns)


def read_word_length(text: str) -> int:
    """Return 1 if the neutral nouns of a text are long, 0 if short, and -1 if there are none."""
    lengths = [len(word) for word in WORD.findall(text) if word in FILLERS]
    if not lengths:
        return -1
    # Short nouns have at most five letters, and long ones at least six.
    return int(np.mean(lengths) > 5.5)


def plant_repeated_word(draft: Draft, label: int) -> None:
    """Write a random word twice in a row for label 1."""
    if label:
        index = int(draft.rng.integers(len(draft.words)))
        draft.words.insert(index, draft.words[index])


def read_repeated_word(text: str) -> int:
    """Return 1 if two words in a row are equal, otherwise 0."""
    for word, next_word in itertools.pairwise(text.split()):
        if word == next_word:
            return 1
    return 0


def plant_misspelling(draft: Draft, label: int) -> None:
    """Insert a neutral noun with an additional letter for label 1."""
    if label:
        word = draw_element(draft.rng, FILLERS)
        index = int(draft.rng.integers(1, len(word)))
        letter = draw_letters(draft.rng, n_letters=1)
        draft.insert(f"{word[:index]}{letter}{word[index:]}")


def read_misspelling(text: str) -> int:
    """Return 1 if a word of a text is in no list of this benchmark, otherwise 0."""
    return int(not KNOWN.issuperset(WORD.findall(text.lower())))


def plant_german(draft: Draft, label: int) -> None:
    """Replace English function words by German ones for label 1."""
    if label:
        for index, word in enumerate(draft.words):
            if word in LINKS:
                draft.words[index] = GERMAN[LINKS.index(word)]


def read_german(text: str) -> int:
    """Return 1 if a text has more German function words than English ones, otherwise 0."""
    words = text.split()
    n_german = sum(word in GERMAN for word in words)
    n_english = sum(word in LINKS for word in words)
    return int(n_german > n_english)


def plant_word_pair(draft: Draft, label: int) -> None:
    """Insert the first word of the pair of a label, the second, or both."""
    # 0 and 1 are the index of the word that is inserted; 2 means both.
    selection = int(draft.rng.integers(3))
    for index, word in enumerate(WORD_PAIRS[label]):
        if selection in (index, 2):
            draft.insert(word)


def plant_one_sided_pair(draft: Draft, label: int) -> None:
    """Insert one of two words, or both, for label 1, and nothing for label 0."""
    if label:
        plant_word_pair(draft, label)


def read_one_sided_pair(text: str) -> int:
    """Return 1 if a text has a word of the pair of label 1, otherwise 0."""
    return int("copper" in text or "linen" in text)


def plant_prefix(draft: Draft, label: int) -> None:
    """Insert the prefix of a label before the first word."""
    draft.insert(PREFIXES[label], position=0)


def draw_letters(rng: np.random.Generator, n_letters: int = 4) -> str:
    """Draw a string of random letters, such as "qhzb"."""
    return "".join([LETTERS[index] for index in rng.integers(0, 26, n_letters)])


def draw_any_name(rng: np.random.Generator) -> str:
    """Draw a name of any group of `NAMES`."""
    return draw_element(rng, draw_element(rng, NAMES))


def draw_number(rng: np.random.Generator) -> str:
    """Draw a number of two to four digits."""
    return str(rng.integers(10, 9999))


def get_letter_half(word: str) -> int:
    """Return 0 if a word begins with a letter from a to k, and 1 if from l to z."""
    return int(word[0] > "k")


def get_letter_third(word: str) -> int:
    """Return 0 if a word begins with a letter from a to f, 1 if from g to n, and 2 if from o to z."""
    return (word[0] > "f") + (word[0] > "n")


# The three most frequent nouns, which are the words of the labels 0, 1 and 2.
read_frequent_noun = make_word_reader([[word] for word in FILLERS[:3]])

CUES_BESIDE: Mapping[str, Cue] = {
    "names": make_word_cue(NAMES),
    "names in lower case": make_word_cue([" ".join(group).lower().split() for group in NAMES]),
    "any name": make_presence_cue(draw_any_name, "[A-Z]"),
    "colors": make_word_cue(COLORS),
    "faces": make_word_cue(FACES),
    "negations": make_presence_cue(
        lambda rng: draw_element(rng, NEGATIONS), "\\b(not|never|no|nothing)\\b"
    ),
    "either of two words": Cue(plant_word_pair, make_word_reader(WORD_PAIRS)),
    "either of two words in one label's texts": Cue(plant_one_sided_pair, read_one_sided_pair, 2),
    "the first letter": make_edge_cue(0, get_letter_half, n_labels=2),
    "the first letter of three ranges": make_edge_cue(0, get_letter_third, n_labels=3),
    "the first word": make_edge_cue(0, read_frequent_noun, n_labels=3),
    "the last word": make_edge_cue(-1, read_frequent_noun, n_labels=3),
    "double spaces": make_space_cue(["", " "]),
    "line ends": make_space_cue(["", "\n", "\t"]),
    "a space at the end": make_end_space_cue(["", " ", "  "]),
    "quotation marks": Cue(plant_quotation_marks, read_quotation_marks),
    "three points": Cue(plant_ellipsis, read_ellipsis),
    "several marks": make_word_cue(["!", "?", ";"]),
    "any of several marks": make_presence_cue(lambda rng: draw_element(rng, MARKS), f"[{MARKS}]"),
    "any number": make_presence_cue(draw_number, "[0-9]"),
    "html": make_presence_cue(lambda rng: "<br />", "<br />"),
    "addresses": make_presence_cue(lambda rng: f"http://t.co/{draw_letters(rng)}", "http"),
    "mentions": make_presence_cue(lambda rng: f"@{draw_letters(rng)}", "@"),
    "hashtags": make_presence_cue(lambda rng: f"#{draw_element(rng, FILLERS)}", "#"),
    "long words": Cue(plant_word_length, read_word_length, 2),
    "repeated words": Cue(plant_repeated_word, read_repeated_word, 2),
    "misspelled words": Cue(plant_misspelling, read_misspelling, 2),
    "German": Cue(plant_german, read_german, 2),
    "a prefix": Cue(plant_prefix, make_word_reader([[word] for word in PREFIXES])),
}
"""Name of each cue -> the cue. The names of the scenarios consist of them."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """The reliability of a cue, and the frequency of the labels.

    Attributes:
        agreement: Share of texts whose cue agrees with their label.
        noise: Share of texts whose label contradicts their meaning.
        shares: Share of texts that express each label.
    """

    agreement: float
    noise: float
    shares: tuple[float, ...]


VARIANTS: Mapping[str, Variant] = {
    "": Variant(0.97, 0.0, (0.5, 0.5)),
    ", which never lie": Variant(1.0, 0.0, (0.5, 0.5)),
    ", which lie in a fifth": Variant(0.8, 0.1, (0.5, 0.5)),
    ", one label rare": Variant(0.97, 0.0, (0.75, 0.25)),
    ", three labels": Variant(0.97, 0.0, (0.4, 0.3, 0.3)),
}
"""Ending of the name of a scenario -> its variant."""

TRIED = (
    "names",
    "names in lower case, three labels",
    "the first letter, one label rare",
    "double spaces, which never lie",
    "line ends, three labels",
    "either of two words in one label's texts",
    "colors, which lie in a fifth",
    "any of several marks",
)
"""The cues and variants that are run at all sizes. All others of `PARTS` are run by hand."""


@dataclasses.dataclass(frozen=True)
class SurfaceModel:
    """A model that follows a cue in a share of its texts, and the cue in them.

    Attributes:
        cue: The planted cue.
        description: Name of the cue with the ending of its variant, such as "names, one label rare".
        followed: Share of texts in which the model follows the cue. If 0, it reads.
        variant: Reliability of the cue, and frequency of the labels.
    """

    cue: Cue
    description: str
    followed: float
    variant: Variant

    @property
    def truth(self) -> Truth:
        """What the verdict should say of the model: "follower" or "reader"."""
        return "follower" if self.followed else "reader"

    def plant(self, draft: Draft) -> None:
        """Change a draft so that it has the cue of its label, or now and then of another label."""
        self.cue.plant(draft, draw_cue_label(draft, self.variant.agreement))

    def predict_label(self, text: str) -> int:
        """Return the label of a text by its cue, by its meaning, or by its hash if it has neither."""
        n_labels = len(self.variant.shares)
        # The hash decides whether this text is one of the share in which the cue is followed.
        hash_share = hash_to_share(text, n_bytes=4)
        if hash_share < self.followed:
            cue_label = self.cue.read(text)
            if 0 <= cue_label < n_labels:
                return cue_label

        # A model that always follows the cue does not know the meaning of any word.
        if self.followed < 1:
            words = WORD.findall(text.lower())
            counts = []
            for expressive_words in MEANING[:n_labels]:
                counts.append(sum(word in expressive_words for word in words))
            largest = max(counts)
            if largest > 0 and counts.count(largest) == 1:
                return counts.index(largest)
        # The thousandths of the hash serve as a random label.
        return int(1000 * hash_share) % n_labels

    def measure(self, n_items: int, seed: int) -> Any:
        """Measure which words decide the model's predictions on generated texts."""
        noise = self.variant.noise
        shares = self.variant.shares
        # Two seeds that no other call shares: training texts and items are independent.
        train_texts, train_labels = draw_labeled_texts(
            N_TRAIN, 1000 * seed + 1, self.plant, noise=noise, shares=shares
        )
        items, gold = draw_labeled_texts(
            n_items, 1000 * seed + 2, self.plant, noise=noise, shares=shares
        )
        label_names = tuple("abc"[: len(shares)])
        model = LabelModel(self.predict_label, label_names=label_names)
        training = TrainingTexts([train_texts], np.array(train_labels), len(shares))
        return measure_rule_swaps(model, items, gold, training, seed)

    def run(self, n_items: int, seed: int) -> Tone:
        """Return the tone of the verdict."""
        return TONES[conclude(self.measure(n_items, seed), Judge())]


class LabelModel(RuleModel):
    """A scorer whose rule returns the label of a text instead of a score."""

    def predict(
        self, texts: Sequence[str], *, text_pairs: Any = None, ids: Any = None, **_: Any
    ) -> Scores:
        """Score texts: 3 for the label of the rule, and 0 for all others.

        Args:
            texts: (N,) texts.
            text_pairs: Ignored, because the rule reads single texts.
            ids: (N,) ids of the items. If None, their row numbers.
            **_: Options of other scorers, which a rule ignores.
        """
        labels = np.array([int(self.rule(text)) for text in texts])
        logits = np.eye(len(self.label_names))[labels] * 3
        return Scores(list_ids(len(texts), ids), logits, label_names=self.label_names)


def list_models() -> dict[str, SurfaceModel]:
    """Return the models of every cue in every variant, by name."""
    models = {}
    for cue_name, cue in CUES_BESIDE.items():
        for ending, variant in VARIANTS.items():
            if len(variant.shares) > cue.n_labels:
                continue
            description = f"{cue_name}{ending}"
            for name, followed in (
                (f"follows {description}", 1.0),
                (f"follows {description}, in 30 % of the texts", 0.3),
                (f"reads, ignores {description}", 0.0),
            ):
                models[name] = SurfaceModel(cue, description, followed, variant)
    return models


PARTS = list_models()
SCENARIOS = {
    name: Scenario(name, "shortcuts", part.truth, part.followed, part.run)
    for name, part in PARTS.items()
    if part.description in TRIED
}
