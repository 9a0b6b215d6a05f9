"""Edit the items of an audit, ask the model about the edited items, and collect what changes.

`Experiment` holds the items and every answer of the model. Its methods run one kind of edit each and return an
`Outcome`: for each item, the label that the model predicts after the edit and after its control.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.clusters import number_clusters
from rightreasons.core.resampling import Resampling, item_rng
from rightreasons.shortcuts.swapping import edits, forms, pairs
from rightreasons.shortcuts.swapping.edits import NO_EDIT, Edit, Pair
from rightreasons.shortcuts.swapping.segments import Text, delete_token, get_kind
from rightreasons.shortcuts.swapping.training import Key, TrainingTexts, WordList
from rightreasons.shortcuts.swaps import DecidingShare, deciding_share, fixed_share

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Rows = NDArray[np.intp]

MAX_LEARNING_ITEMS = 200
"""Number of items, at most half, on which the model's own list is learned. It is tested on the others."""

MAX_LEFT_OUT = 40
"""Number of tokens of an item that are left out one at a time; of a longer item, this many random ones."""

MAX_PAIRS = 10
"""Number of word pairs of each source that are swapped one at a time."""

MAX_FREQUENCY_RATIO = 2.0
"""Two words form a pair if neither is more frequent among its label's texts than the other by more than this."""

N_INSERTED = 5
"""Number of words per label and source that compete to be inserted."""

N_SELECTING_ITEMS = 100
"""Number of items on which the inserted word of each label is selected."""

MAX_INSERTING_ITEMS = 300
"""Number of items into which the selected word is inserted."""

MAX_NAMED = 12
"""Number of words by which a list is described."""

THIRDS = ("first third", "middle third", "last third")

ONE_TEXT = ("the first text alone", "the second text alone")


class Removal(NamedTuple):
    """An item without one of its tokens.

    Attributes:
        row: Row of the item.
        key: Column and word of the token.
        text: The item without it.
    """

    row: int
    key: Key
    text: Text


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions after an edit and after its control.

    Attributes:
        rows: (M,) items that were edited, in the order of the experiment.
        texts: M edited items; None for an item that lacks the feature.
        treated: (M,) label predicted for each edited item; -1 for none.
        control: (M,) label predicted for each control; -1 for none.
        goals: (M,) label that the new feature predicts; -1 for none.
        words: M tuples of replaced words.
    """

    rows: Rows
    texts: Sequence[Text | None]
    treated: Labels
    control: Labels
    goals: Labels
    words: Sequence[tuple[str, ...]]

    def take(self, indices: Rows) -> Outcome:
        """Return the outcome of some of the edits."""
        return Outcome(
            rows=self.rows[indices],
            texts=[self.texts[index] for index in indices.tolist()],
            treated=self.treated[indices],
            control=self.control[indices],
            goals=self.goals[indices],
            words=[self.words[index] for index in indices.tolist()],
        )


class Experiment:
    """The items of an audit, with the model's answers about their edits.

    Args:
        ask: Maps items to (M, K) scores; a row of NaN for an item that the model could not score.
        training: Labeled texts that offer words.
        items: N items, in random order.
        predictions: (N,) label that the model predicts for each unchanged item.
        ids: N unique ids. With the seed, they determine all random choices.
        clusters: (N,) cluster of each item; None if the items are independent.
        seed: Seed of the random choices.
    """

    def __init__(
        self,
        ask: Callable[[Sequence[Text]], Floats],
        training: TrainingTexts,
        *,
        items: Sequence[Text],
        predictions: Labels,
        ids: Sequence[str],
        clusters: NDArray[np.int64] | None = None,
        seed: int = 0,
    ) -> None:
        self.ask = ask
        self.training = training
        self.items = items
        self.predictions = predictions
        self.ids = ids
        self.clusters = clusters
        self.seed = seed
        self.answers: dict[Text, Floats] = {}
        self.n_asked = 0
        # The items are in random order, so that the first ones are a random sample.
        n_learning = min(len(items) // 2, MAX_LEARNING_ITEMS)
        self.all_rows = np.arange(len(items))
        self.learning_rows = self.all_rows[:n_learning]
        self.testing_rows = self.all_rows[n_learning:]
        self.rows_by_label = []
        for label in range(training.n_classes):
            self.rows_by_label.append(np.flatnonzero(predictions == label))
        goals = [self._draw_goal(row) for row in range(len(items))]
        self.goals = np.array(goals, dtype=np.int64)

    # ------------------------------------------------------------------ queries

    def query(self, texts: Iterable[Text | None]) -> None:
        """Ask the model about the texts that it has not answered yet."""
        unanswered = []
        # Different edits of an item often give the same text.
        for text in dict.fromkeys(texts):
            # An edit may remove the last word of a text; the model cannot answer an empty text.
            if text is not None and text not in self.answers and all(map(str.strip, text)):
                unanswered.append(text)
        if unanswered:
            self.n_asked += len(unanswered)
            self.answers.update(zip(unanswered, self.ask(unanswered), strict=True))

    def _find_scores(self, text: Text | None) -> Floats | None:
        """Return the (K,) scores of a text; None if there is no text or no answer."""
        if text is None:
            return None
        scores = self.answers.get(text)
        if scores is None or np.isnan(scores).any():
            return None
        return scores

    def get_label(self, text: Text | None) -> int:
        """Return the predicted label of a text; -1 if there is no text or no answer."""
        scores = self._find_scores(text)
        return -1 if scores is None else int(scores.argmax())

    def find_margin(self, text: Text, label: int) -> float | None:
        """Return by how much the score of a label exceeds the next one; None without an answer."""
        scores = self._find_scores(text)
        if scores is None:
            return None
        competitors = np.delete(scores, label)
        return float(scores[label] - competitors.max())

    def run(self, rows: Rows, write: Callable[[int], Edit]) -> Outcome:
        """Edit items, ask the model about them and their controls, and return the predictions."""
        queries: list[Text | None] = []
        prepared: list[Edit] = []
        for row in rows.tolist():
            edit = write(row)
            prepared.append(edit)
            queries += [edit.treated, edit.control]
        # One batch for all items: models answer many texts much faster than one at a time.
        self.query(queries)

        treated = []
        control = []
        for edit in prepared:
            treated.append(self.get_label(edit.treated))
            control.append(self.get_label(edit.control))
        return Outcome(
            rows=rows,
            texts=[edit.treated for edit in prepared],
            treated=np.array(treated, dtype=np.int64),
            control=np.array(control, dtype=np.int64),
            goals=np.array([edit.goal for edit in prepared], dtype=np.int64),
            words=[edit.words for edit in prepared],
        )

    def _make_rng(self, name: str, row: int) -> np.random.Generator:
        """Return the generator of one edit of one item, whatever else is edited."""
        return item_rng(self.seed, f"{name} {self.ids[row]}")

    def _draw_goal(self, row: int) -> int:
        """Draw another label than the predicted one, as frequent as the model predicts it; -1 if it predicts one."""
        # A rare label is a rare goal: its texts would else be the donors of half of all edits.
        sizes = np.array([len(rows) for rows in self.rows_by_label], dtype=np.float64)
        sizes[self.predictions[row]] = 0.0
        if not sizes.any():
            return -1
        rng = self._make_rng("goal", row)
        goal = rng.choice(len(sizes), p=sizes / sizes.sum())
        return int(goal)

    # ------------------------------------------------------------------ words

    def learn_own_list(self) -> WordList:
        """List the words whose removal lowers the score of the predicted label, on the learning items.

        Every token of an item is left out once. The drops of a word are summed, so that frequent words come first; the
        strength of a word is its mean drop, which is shrunk if the word occurs only a few times.
        """
        removals = self._list_removals()
        self.query(self.items[row] for row in self.learning_rows.tolist())
        self.query(removal.text for removal in removals)

        n_classes = self.training.n_classes
        drops: dict[Key, Floats] = {}
        counts: Counter[Key] = Counter()
        for removal in removals:
            label = int(self.predictions[removal.row])
            original = self.find_margin(self.items[removal.row], label)
            remaining = self.find_margin(removal.text, label)
            if original is not None and remaining is not None:
                drop = drops.setdefault(removal.key, np.zeros(n_classes))
                drop[label] += original - remaining
                counts[removal.key] += 1

        candidates = []
        for key, drop in drops.items():
            label = int(drop.argmax())
            size = float(drop[label])
            if size > 0:
                # Two occurrences without a drop are added: a word met once may be strong by accident.
                strength = size / (counts[key] + 2)
                candidates.append((size, strength, key, label))
        return self.training.make_list(candidates)

    def _list_removals(self) -> list[Removal]:
        """Return the learning items, each without one of its tokens at a time."""
        removals = []
        for row in self.learning_rows.tolist():
            tokens = self.training.segmenter.split(self.items[row])
            indices = np.arange(len(tokens))
            # Long items would take most of the budget, and tell little more.
            if len(tokens) > MAX_LEFT_OUT:
                rng = self._make_rng("leave out", row)
                indices = np.sort(rng.permutation(len(tokens))[:MAX_LEFT_OUT])
            for index in indices.tolist():
                token = tokens[index]
                text = delete_token(self.items[row], token)
                removals.append(Removal(row, token.key, text))
        return removals

    def pair_words(self, words: WordList) -> list[Pair]:
        """Pair the first words of a list with similar ones of other labels, or else with neutral words."""
        suspected = self.training.suspected
        order = sorted(words.labels, key=lambda key: key[1] not in suspected)
        paired: set[Key] = set()
        pairs: list[Pair] = []
        # Words that a user suspects come first, and beyond the usual number.
        n_suspected = 0
        for key in order:
            if key in paired:
                continue
            if len(pairs) >= MAX_PAIRS + n_suspected:
                break
            pair = self._make_pair(words, key, paired)
            if pair is not None:
                pairs.append(pair)
                n_suspected += bool(suspected & set(pair.words))
        return pairs

    def _make_pair(
        self,
        words: WordList,
        key: Key,
        paired: set[Key],
    ) -> Pair | None:
        """Return the pair of a word, and note its words as paired; None if there is no partner at all."""
        column, word = key
        label = words.labels[key]
        paired.add(key)
        partner = self._find_partner(words, key, paired)
        if partner is not None:
            paired.add(partner)
            return Pair(column, (word, partner[1]), (label, words.labels[partner]))
        # The neutral partner is the same for all items, so that the pair has a name.
        rng = item_rng(self.seed, f"neutral {word}")
        neutral = edits.draw_similar_neutral(self.training, key, rng)
        if neutral is None:
            return None
        return Pair(column, (word, neutral), (label, -1))

    def _find_partner(
        self,
        words: WordList,
        key: Key,
        paired: set[Key],
    ) -> Key | None:
        """Return the word of another label that is most similar in coverage and strength; None if none is similar."""
        column, word = key
        coverage = self._get_coverage(words, key)
        distances = []
        for partner, label in words.labels.items():
            is_other = label != words.labels[key] and partner not in paired
            is_alike = partner[0] == column and get_kind(partner[1]) == get_kind(word)
            if not is_other or not is_alike:
                continue
            ratio = self._get_coverage(words, partner) / coverage
            strength = max(words.strengths[partner], 1e-9) / max(words.strengths[key], 1e-9)
            # A frequent word in place of a rare one would make texts that nobody writes.
            if 1 / MAX_FREQUENCY_RATIO <= ratio <= MAX_FREQUENCY_RATIO:
                distance = abs(np.log(ratio)) + abs(np.log(strength))
                distances.append((distance, partner))
        return min(distances)[1] if distances else None

    def _get_coverage(self, words: WordList, key: Key) -> float:
        """Return a word's frequency relative to that of its label: cues of a rare label are rare themselves."""
        # In a file with one positive text in ten, a cue of positive texts is in a tenth of all.
        prior = max(float(self.training.priors[words.labels[key]]), 1e-9)
        return self.training.get_frequency(key) / prior

    def swap_pair(self, pair: Pair, rows: Rows) -> Outcome:
        """Exchange two words for each other."""
        name = f"pair {pair.column} {' '.join(pair.words)}"

        def write(row: int) -> Edit:
            return edits.swap_pair(self.training, pair, self.items[row], self._make_rng(name, row))

        return self.run(rows, write)

    def swap_list(
        self,
        words: WordList,
        rows: Rows,
        name: str,
    ) -> Outcome:
        """Exchange every listed word that predicts the predicted label for one of another label."""

        def write(row: int) -> Edit:
            return edits.swap_list(self.training, words, self.items[row], **self._aim(name, row))

        return self.run(rows, write)

    def swap_strongest(self, words: WordList, rows: Rows) -> Outcome:
        """Exchange the strongest listed word of each item for one of another label."""

        def write(row: int) -> Edit:
            aim = self._aim("strongest", row)
            return edits.swap_strongest(self.training, words, self.items[row], **aim)

        return self.run(rows, write)

    def swap_rare_words(self) -> Outcome:
        """Exchange words that the training texts hardly know for rare words of another label."""

        def write(row: int) -> Edit:
            aim = self._aim("rare", row)
            return edits.swap_rare_words(self.training, self.items[row], **aim)

        return self.run(self.all_rows, write)

    def _aim(self, name: str, row: int) -> dict[str, Any]:
        """Return the label, the goal, and the generator of an edit."""
        return {
            "label": int(self.predictions[row]),
            "goal": int(self.goals[row]),
            "rng": self._make_rng(name, row),
        }

    def replace_neutral_words(self) -> Outcome:
        """Replace one word that predicts no label by another one, which should change nothing."""

        def write(row: int) -> Edit:
            rng = self._make_rng("neutral", row)
            return edits.replace_neutral_word(self.training, self.items[row], rng)

        return self.run(self.all_rows, write)

    def neutralize(self, words: WordList, rows: Rows) -> Outcome:
        """Replace every listed word by a neutral one of similar frequency."""

        def write(row: int) -> Edit:
            rng = self._make_rng("neutralize", row)
            return edits.neutralize(self.training, words, self.items[row], rng)

        return self.run(rows, write)

    def insert_strongest(self, label: int, lists: Sequence[WordList]) -> tuple[Key, Outcome] | None:
        """Insert the word that makes the label most often; None if no word or no item can tell.

        The word is selected on the learning items and measured on the others, whose predictions are other labels.
        """
        candidates: list[Key] = []
        for words in lists:
            keys = [key for key in words.labels if words.labels[key] == label]
            # A word that is put in once counts by the strength of a single occurrence.
            keys.sort(key=lambda key: -words.strengths[key])
            candidates += keys[:N_INSERTED]
        # An item that has the label already cannot follow.
        is_other = self.predictions != label
        selecting = self.learning_rows[is_other[self.learning_rows]][:N_SELECTING_ITEMS]
        measuring = self.testing_rows[is_other[self.testing_rows]][:MAX_INSERTING_ITEMS]
        if not candidates or not len(selecting) or not len(measuring):
            return None

        rates = []
        for key in dict.fromkeys(candidates):
            # Controls are not needed to rank the words.
            outcome = self._insert(key, label, selecting, has_control=False)
            rate = float((outcome.treated == label).mean())
            rates.append((rate, key))
        # The word is selected on other items than it is measured on, or its rate would be flattered.
        _, strongest = max(rates)
        return strongest, self._insert(strongest, label, measuring, has_control=True)

    def _insert(
        self,
        key: Key,
        label: int,
        rows: Rows,
        *,
        has_control: bool,
    ) -> Outcome:
        """Put a word into items, with or without the control."""

        def write(row: int) -> Edit:
            rng = self._make_rng(f"insert {key}", row)
            edit = edits.insert_word(
                self.training,
                key,
                self.items[row],
                goal=label,
                rng=rng,
            )
            if not has_control:
                edit = dataclasses.replace(edit, control=None)
            return edit

        return self.run(rows, write)

    # ------------------------------------------------------------------ everything else

    def _draw_donors(self, name: str, row: int) -> tuple[Text | None, Text | None]:
        """Draw an item that the model gives the goal, and one that it gives the same label as the edited item.

        Donors are chosen by the model's predictions, not by the gold labels: what the model relies on must differ
        between them, even if the audited file balances it across the labels.
        """
        rng = self._make_rng(f"donor {name}", row)
        goal = int(self.goals[row])
        donor = None
        if goal >= 0:
            donor = self.items[int(rng.choice(self.rows_by_label[goal]))]
        # An item is no peer of itself: its own form would change nothing.
        peers = self.rows_by_label[int(self.predictions[row])]
        peers = peers[peers != row]
        peer = None
        if len(peers):
            peer = self.items[int(rng.choice(peers))]
        return donor, peer

    def exchange(
        self,
        name: str,
        exchange: edits.Exchange,
        rows: Rows | None = None,
    ) -> Outcome:
        """Give items a feature of items of another predicted label."""

        def write(row: int) -> Edit:
            donor, peer = self._draw_donors(name, row)
            if donor is None:
                return NO_EDIT
            return edits.exchange_parts(
                exchange, self.items[row], donor, peer, goal=int(self.goals[row])
            )

        if rows is None:
            rows = self.all_rows
        return self.run(rows, write)

    def exchange_third(self, third: int) -> Outcome:
        """Replace a third of each item by that of an item of another predicted label; reasons stay."""
        take_third = functools.partial(forms.take_third, third=third, reasons=self.training.reasons)
        return self.exchange(THIRDS[third], take_third)

    def exchange_overlap(self) -> Outcome:
        """Let the two texts of items share as many words as those of another predicted label."""

        def write(row: int) -> Edit:
            donor, peer = self._draw_donors("overlap", row)
            if donor is None:
                return NO_EDIT
            rng = self._make_rng("overlap", row)
            goal = int(self.goals[row])
            return pairs.swap_overlap(
                self.training,
                self.items[row],
                donor,
                peer,
                goal=goal,
                rng=rng,
            )

        return self.run(self.all_rows, write)

    def exchange_text(self, column: int) -> Outcome:
        """Replace one of the two texts of items by that of random items."""

        def write(row: int) -> Edit:
            rng = self._make_rng(f"text {column}", row)
            # Any item will do, whatever its label: the question is whether the prediction stays.
            donor = self.items[pairs.draw_row(len(self.items), row, rng)]
            return pairs.exchange_text(self.items[row], column, donor)

        return self.run(self.all_rows, write)

    # ------------------------------------------------------------------ effects

    def get_clusters(self, rows: Rows) -> NDArray[np.int64] | None:
        """Return the clusters of items; None if the items are independent."""
        if self.clusters is None:
            return None
        return self.clusters[rows]

    def measure(self, outcome: Outcome, resampling: Resampling) -> DecidingShare:
        """Return the share of predictions that an edit changes beyond its control."""
        return deciding_share(
            self.predictions[outcome.rows],
            outcome.treated,
            outcome.control,
            goals=outcome.goals,
            clusters=self.get_clusters(outcome.rows),
            resampling=resampling,
        )

    def measure_fixed(self, outcome: Outcome, resampling: Resampling) -> DecidingShare:
        """Return the share of predictions that stay when the other text is exchanged, beyond chance."""
        return fixed_share(
            self.predictions[outcome.rows],
            outcome.treated,
            clusters=self.get_clusters(outcome.rows),
            resampling=resampling,
        )

    def compute_differences(self, outcome: Outcome) -> Floats:
        """Return (M,) differences of the edit and its control: 1, 0, or -1 changed predictions."""
        changes = self.is_changed(outcome).astype(np.float64)
        return changes - self.is_control_changed(outcome)

    def is_changed(self, outcome: Outcome) -> NDArray[np.bool_]:
        """Return (M,) whether an edit changes the prediction."""
        is_changed = outcome.treated != self.predictions[outcome.rows]
        return np.asarray((outcome.treated >= 0) & is_changed, dtype=np.bool_)

    def is_control_changed(self, outcome: Outcome) -> NDArray[np.bool_]:
        """Return (M,) whether the control of an edit changes the prediction."""
        is_changed = outcome.control != self.predictions[outcome.rows]
        return np.asarray((outcome.control >= 0) & is_changed, dtype=np.bool_)

    def name_words(self, outcome: Outcome, words: WordList) -> tuple[str, ...]:
        """Return the words that contribute most to an effect.

        A word contributes where its replacement changes the prediction and the control does not. Among words that are
        replaced together, those of large strength are the more likely cause.
        """
        strengths = {word: strength for (_, word), strength in words.strengths.items()}
        contributions: dict[str, float] = {}
        is_cause = self.is_changed(outcome) & ~self.is_control_changed(outcome)
        for index in np.flatnonzero(is_cause).tolist():
            replaced = outcome.words[index]
            total = 0.0
            for word in replaced:
                total += strengths[word] ** 2
            # Each change counts once, shared by the words that were replaced.
            for word in replaced:
                contribution = strengths[word] ** 2 / max(total, 1e-12)
                contributions[word] = contributions.get(word, 0.0) + contribution
        ordered = sorted(contributions, key=lambda word: (-contributions[word], word))
        return tuple(ordered[:MAX_NAMED])


def encode_clusters(clusters: Sequence[object] | None, n_items: int) -> NDArray[np.int64] | None:
    """Return (N,) codes of clusters; None if the items are independent."""
    codes = number_clusters(clusters, n_items)
    return None if codes is None else np.asarray(codes, dtype=np.int64)
