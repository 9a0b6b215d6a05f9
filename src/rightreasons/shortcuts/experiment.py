"""Edit the items of an audit, ask the model about the edited items, and collect what changes.

`Experiment` holds the items and every answer of the model. Its methods run one kind of edit each
and return an `Outcome`: for each item, the label that the model predicts after the edit and after
its control. An edit is written only for the items that have something to exchange.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.clusters import number_clusters
from rightreasons.core.interning import intern_token_lists
from rightreasons.core.resampling import Resampling, item_rng
from rightreasons.core.results import Result
from rightreasons.core.validation import softmax
from rightreasons.shortcuts.swapping import edits, forms, pairs
from rightreasons.shortcuts.swapping.edits import NO_EDIT, Edit, Pair
from rightreasons.shortcuts.swapping.segments import Text, get_kind
from rightreasons.shortcuts.swapping.training import TrainingTexts
from rightreasons.shortcuts.swapping.word_lists import N_PARTNERS, Drop, Key, WordList
from rightreasons.shortcuts.swaps import DecidingShare, deciding_share, fixed_share

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Rows = NDArray[np.intp]

MAX_LEARNING_ITEMS = 200
"""Number of items, at most half, on which words are learned or selected. They are tested on the
others."""

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


class EditArguments(TypedDict):
    """Arguments of an edit towards another label.

    Attributes:
        label: Predicted label of the item.
        goal: Label towards which it is edited; -1 if there is none.
        rng: Generator of the choices of the edit.
    """

    label: int
    goal: int
    rng: np.random.Generator


class Donors(NamedTuple):
    """Items whose feature, such as their length, is given to an item and to its control.

    Attributes:
        donor: Item with another predicted label; None if all items have the same one.
        peer: Item with the same predicted label; None if no other item has it.
    """

    donor: Text | None
    peer: Text | None


@dataclasses.dataclass(frozen=True)
class SwapCounts(Result):
    """Numbers of items from which the effect of a feature is computed.

    A deciding share is `(n_flipped - n_control_flipped) / n_items`.

    Attributes:
        n_items: Number of tested items, including those without the feature.
        n_containing: Number of these that contain a word of the feature; None if the feature does
            not consist of particular words.
        n_swapped: Number of items in which something was swapped.
        n_flipped: Number of these whose prediction changes.
        n_controls: Number of items with a control.
        n_control_flipped: Number of these whose prediction changes with the control.
        n_towards_other: Number of items that were swapped towards another label than the predicted
            one, of which the follow rate is a share.
    """

    n_items: int
    n_containing: int | None
    n_swapped: int
    n_flipped: int
    n_controls: int
    n_control_flipped: int
    n_towards_other: int


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions after an edit and after its control.

    Attributes:
        rows: (M,) rows of the items that were to be edited.
        texts: M edited items; None for an item that lacks the feature.
        treated: (M,) label predicted for each edited item; -1 if there is none.
        control: (M,) label predicted for each control; -1 if there is none.
        goals: (M,) label that the new feature predicts; -1 if there is none.
        words: M tuples of replaced words.
        has_words: (M,) whether an item contains a word of the feature; None if the feature does not
            consist of particular words.
    """

    rows: Rows
    texts: Sequence[Text | None]
    treated: Labels
    control: Labels
    goals: Labels
    words: Sequence[tuple[str, ...]]
    has_words: Flags | None = None

    @property
    def is_edited(self) -> Flags:
        """(M,) whether the model predicts a label for the edited item."""
        return np.asarray(self.treated >= 0)

    def take(self, indices: Rows) -> Outcome:
        """Return the outcome of some of the edits.

        Args:
            indices: (m,) indices into the M edits, from 0 to M - 1. They are not rows of items.
        """
        has_words = None
        if self.has_words is not None:
            has_words = self.has_words[indices]
        return Outcome(
            rows=self.rows[indices],
            texts=[self.texts[index] for index in indices.tolist()],
            treated=self.treated[indices],
            control=self.control[indices],
            goals=self.goals[indices],
            words=[self.words[index] for index in indices.tolist()],
            has_words=has_words,
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
        """Store the items, draw the label towards which each is edited, and index their words.

        The rows of the items are split in two: word lists are learned from the `learning_rows`, and
        their effects are tested on the `testing_rows`, so that a list is not tested on the items from
        which it was selected.
        """
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
            rows = np.flatnonzero(predictions == label)
            self.rows_by_label.append(rows)

        self.goals = np.empty(len(items), dtype=np.int64)
        for row in range(len(items)):
            self.goals[row] = self._draw_goal(row)
        # Most words are in few items: an index finds these without a look at the others.
        self.words = intern_token_lists(map(training.segmenter.list_keys, items))
        self.word_index = self.words.index_rows()

    def make_rng(self, name: str, row: int) -> np.random.Generator:
        """Return a random generator for one edit of one item, independent of all other edits."""
        return item_rng(self.seed, f"{name} {self.ids[row]}")

    def _draw_goal(self, row: int) -> int:
        """Draw the label towards which an item is edited; -1 if all items have the same one.

        A label other than the predicted one is drawn with a probability in proportion to its
        number of predictions.

        Args:
            row: Row of the item.
        """
        # With equal chances, the few texts of a rare label would be the donors of half of all edits.
        sizes = np.array(list(map(len, self.rows_by_label)), dtype=np.float64)
        sizes[self.predictions[row]] = 0.0
        if not sizes.any():
            return -1
        rng = self.make_rng("goal", row)
        goal = rng.choice(len(sizes), p=sizes / sizes.sum())
        return int(goal)

    def _make_edit_arguments(self, name: str, row: int) -> EditArguments:
        """Return the predicted label of an item, its goal, and the random generator of an edit."""
        return {
            "label": int(self.predictions[row]),
            "goal": int(self.goals[row]),
            "rng": self.make_rng(name, row),
        }

    # ------------------------------------------------------------------ queries

    def query(self, texts: Iterable[Text | None]) -> None:
        """Ask the model about edited items, and store its scores in `answers`.

        Args:
            texts: Items, each a tuple of one or two texts; None for an item without an edit. Items
                that the model has answered before, or that have an empty text, are skipped.
        """
        unanswered = []
        # Different edits of an item often give the same text.
        for text in dict.fromkeys(texts):
            if text is None or text in self.answers:
                continue
            # An edit may have removed the last word of a text.
            has_empty_text = any(not part.strip() for part in text)
            if not has_empty_text:
                unanswered.append(text)
        if unanswered:
            answers = self.ask(unanswered)
            self.n_asked += len(unanswered)
            self.answers.update(zip(unanswered, answers, strict=True))

    def _find_scores(self, text: Text | None) -> Floats | None:
        """Return the (K,) scores of a text; None if there is no text or no answer."""
        if text is None:
            return None
        scores = self.answers.get(text)
        # The model may have failed on a text, or refused to answer.
        if scores is None or np.isnan(scores).any():
            return None
        return scores

    def get_label(self, text: Text | None) -> int:
        """Return the predicted label of a text; -1 if there is no text or no answer."""
        scores = self._find_scores(text)
        return -1 if scores is None else int(scores.argmax())

    def compute_confidence(self, text: Text) -> float:
        """Return the probability of the predicted label of a text; NaN without an answer."""
        scores = self._find_scores(text)
        if scores is None:
            return float("nan")
        return float(softmax(scores[None]).max())

    def find_margin(self, text: Text, label: int) -> float | None:
        """Return by how much the score of a label exceeds the next one; None without an answer."""
        scores = self._find_scores(text)
        if scores is None:
            return None
        competitors = np.delete(scores, label)
        return float(scores[label] - competitors.max())

    def find_rows(self, keys: Collection[Key]) -> Rows:
        """Return the rows of the items that contain any of some words, in ascending order.

        Args:
            keys: (column, word) of each word.
        """
        # An empty array first: `concatenate` refuses a list without arrays.
        rows = [np.empty(0, dtype=np.int32)]
        for key in keys:
            token_id = self.words.find_id(key)
            if token_id is not None:
                rows.append(self.word_index.list_rows(token_id))
        return np.unique(np.concatenate(rows)).astype(np.intp)

    def run(
        self,
        rows: Rows,
        make_edit: Callable[[int], Edit],
        *,
        keys: Collection[Key] | None = None,
    ) -> Outcome:
        """Edit items, query the model with them and their controls, and return the predictions.

        Args:
            rows: (M,) rows of the items.
            make_edit: Function that edits an item, given its row.
            keys: Words without which an item has nothing to exchange; None if any item may have.

        Returns:
            The outcome of the M items. An item without an edit has the predictions -1.
        """
        has_words: Flags | None = None
        indices = np.arange(len(rows))
        if keys is not None:
            has_words = np.isin(rows, self.find_rows(keys))
            indices = np.flatnonzero(has_words)

        edit_by_index: dict[int, Edit] = {}
        queries: list[Text | None] = []
        for index in indices.tolist():
            # `rows` may be any of the items, in any order.
            edit = make_edit(int(rows[index]))
            edit_by_index[index] = edit
            queries += [edit.treated, edit.control]
        # One batch for all items: models answer many texts much faster than one at a time.
        self.query(queries)

        # Items without an edit keep the initial values.
        n_rows = len(rows)
        texts: list[Text | None] = [None] * n_rows
        words: list[tuple[str, ...]] = [()] * n_rows
        treated = np.full(n_rows, -1)
        control = np.full(n_rows, -1)
        goals = np.full(n_rows, -1)
        for index, edit in edit_by_index.items():
            texts[index] = edit.treated
            words[index] = edit.words
            treated[index] = self.get_label(edit.treated)
            control[index] = self.get_label(edit.control)
            goals[index] = edit.goal
        return Outcome(rows, texts, treated, control, goals, words, has_words)

    # ------------------------------------------------------------------ words

    def swap_pair(self, pair: Pair, rows: Rows) -> Outcome:
        """Exchange the two words of a pair for each other in some items."""
        # The name seeds the choices of the control. Another name would change earlier results.
        words = " ".join(pair.words)
        name = f"pair {pair.column} {words}"
        return self.swap_pairs([pair], rows, name)

    def swap_pairs(self, word_pairs: Sequence[Pair], rows: Rows, name: str) -> Outcome:
        """Exchange the two words of each pair for each other, all pairs at once.

        Args:
            word_pairs: The pairs.
            rows: Rows of the items.
            name: Name of the edit, which seeds the choices of the controls.
        """
        keys: set[Key] = set()
        for pair in word_pairs:
            keys.update(pair.keys)

        def make_edit(row: int) -> Edit:
            rng = self.make_rng(name, row)
            return edits.swap_pairs(self.training, word_pairs, self.items[row], rng)

        return self.run(rows, make_edit, keys=keys)

    def swap_list(
        self,
        words: WordList,
        rows: Rows,
        name: str,
    ) -> Outcome:
        """Exchange every listed word of the predicted label for one of another label.

        Args:
            words: The list, with the label that each word predicts.
            rows: Rows of the items.
            name: Name of the edit, which seeds its choices.
        """

        def make_edit(row: int) -> Edit:
            arguments = self._make_edit_arguments(name, row)
            return edits.swap_list(self.training, words, self.items[row], **arguments)

        return self.run(rows, make_edit, keys=words.labels)

    def swap_strongest(self, words: WordList, rows: Rows) -> Outcome:
        """Exchange the strongest listed word of each item for a similar word of another label.

        Args:
            words: The list, with the label that each word predicts and the strength of each word.
            rows: Rows of the items.
        """

        def make_edit(row: int) -> Edit:
            arguments = self._make_edit_arguments("strongest", row)
            return edits.swap_strongest(self.training, words, self.items[row], **arguments)

        return self.run(rows, make_edit, keys=words.labels)

    def exchange_strongest(self, strongest: Mapping[int, Drop]) -> Outcome:
        """Replace the strongest word of each learning item by that of another learning item.

        The other item has another predicted label, and its word matters about as much.

        Args:
            strongest: Row -> the token of this item that matters most.
        """

        def make_edit(row: int) -> Edit:
            """Exchange the strongest word of an item; `NO_EDIT` if there is none, or no partner."""
            drop = strongest.get(row)
            if drop is None:
                return NO_EDIT
            goal = int(self.goals[row])
            partners = self._list_partners(drop, goal, strongest)
            if not partners:
                return NO_EDIT
            rng = self.make_rng("strongest of all", row)
            word = partners[int(rng.integers(len(partners)))]
            return edits.replace_word(
                self.training, self.items[row], drop.token.key, word, goal=goal, rng=rng
            )

        return self.run(self.learning_rows, make_edit)

    def _list_partners(self, drop: Drop, goal: int, strongest: Mapping[int, Drop]) -> list[str]:
        """Return the strongest words of items with another predicted label that matter about as much.

        Args:
            drop: Effect of the word to replace.
            goal: The other label; -1 if there is none.
            strongest: Row -> the token of this item that matters most.

        Returns:
            At most `N_PARTNERS` words of the same column, the most similar first. They are of the
            same kind (word, number or mark) if there are any.
        """
        candidates = []
        for row, candidate in strongest.items():
            if self.predictions[row] == goal and candidate.token.column == drop.token.column:
                candidates.append(candidate)
        # A number instead of a word would make an unnatural text.
        kind = get_kind(drop.token.word)
        same_kind = [
            candidate for candidate in candidates if get_kind(candidate.token.word) == kind
        ]
        # Of two equal distances, the earlier row comes first.
        partners = sorted(
            same_kind or candidates,
            key=lambda candidate: (abs(candidate.size - drop.size), candidate.row),
        )
        return [partner.token.word for partner in partners[:N_PARTNERS]]

    def swap_rare_words(self) -> Outcome:
        """Exchange words that are in at most one training text for rare words of another label."""

        def make_edit(row: int) -> Edit:
            arguments = self._make_edit_arguments("rare", row)
            return edits.swap_rare_words(self.training, self.items[row], **arguments)

        return self.run(self.all_rows, make_edit)

    def replace_neutral_words(self) -> Outcome:
        """Replace one word that predicts no label by another such word, in all items.

        Such an edit should change no prediction.
        """

        def make_edit(row: int) -> Edit:
            rng = self.make_rng("neutral", row)
            return edits.replace_neutral_word(self.training, self.items[row], rng)

        return self.run(self.all_rows, make_edit)

    def neutralize(self, words: WordList, rows: Rows) -> Outcome:
        """Replace every listed word by a neutral one of similar frequency.

        Args:
            words: The list.
            rows: Rows of the items.
        """

        def make_edit(row: int) -> Edit:
            rng = self.make_rng("neutralize", row)
            return edits.neutralize(self.training, words, self.items[row], rng)

        return self.run(rows, make_edit, keys=words.labels)

    def insert_strongest(self, label: int, lists: Sequence[WordList]) -> tuple[Key, Outcome] | None:
        """Find the word whose insertion changes most predictions to a label, and measure it.

        The word is selected on the learning items and measured on the others, in both cases on
        items whose predictions are other labels. If it were measured on the items that select it,
        its rate would be too large.

        Args:
            label: The label.
            lists: Lists of words. The `N_INSERTED` strongest words of each list compete.

        Returns:
            (column, word) and the predictions after the insertion; None if no word predicts the
            label, or no item has another prediction.
        """
        candidates: list[Key] = []
        for words in lists:
            keys = [key for key in words.labels if words.labels[key] == label]
            # The strength is that of a single occurrence, and one occurrence is inserted.
            keys.sort(key=lambda key: -words.strengths[key])
            candidates += keys[:N_INSERTED]

        selecting_rows = self._find_others(label, self.learning_rows)[:N_SELECTING_ITEMS]
        if not candidates or not len(selecting_rows):
            return None

        rates = []
        # A word of two lists is tried once.
        for key in dict.fromkeys(candidates):
            # Controls are not needed to rank the words.
            outcome = self._insert(key, label, selecting_rows, has_control=False)
            rate = float((outcome.treated == label).mean())
            rates.append((rate, key))
        _, strongest = max(rates)
        inserted = self.insert_word(strongest, label)
        if inserted is None:
            return None
        return strongest, inserted

    def insert_word(self, key: Key, label: int) -> Outcome | None:
        """Insert a word into items with other predictions than a label; None if there are none."""
        measuring = self._find_others(label, self.testing_rows)[:MAX_INSERTING_ITEMS]
        if not len(measuring):
            return None
        return self._insert(key, label, measuring, has_control=True)

    def _find_others(self, label: int, rows: Rows) -> Rows:
        """Return the rows whose prediction is another label than the given one, in their order."""
        is_other = np.asarray(self.predictions[rows] != label)
        selection: Rows = rows[is_other]
        return selection

    def _insert(
        self,
        key: Key,
        label: int,
        rows: Rows,
        *,
        has_control: bool,
    ) -> Outcome:
        """Insert a word into items, at a random position, and return the predictions.

        Args:
            key: Column of the text (0, or 1 for second texts), and word.
            label: Label that the word predicts.
            rows: Rows of the items.
            has_control: Whether the model is also asked about the item with a neutral word in the
                same position.
        """

        def make_edit(row: int) -> Edit:
            item = self.items[row]
            rng = self.make_rng(f"insert {key}", row)
            edit = edits.insert_word(self.training, key, item, goal=label, rng=rng)
            # The model is not queried with a control of None.
            if not has_control:
                edit = dataclasses.replace(edit, control=None)
            return edit

        return self.run(rows, make_edit)

    # ------------------------------------------------------------------ everything else

    def _draw_donors(self, name: str, row: int) -> Donors:
        """Draw two items whose feature, such as their length, an item and its control get.

        Donors are chosen by the model's predictions, not by the gold labels: what the model relies
        on must differ between them, even if the audited file balances it across the labels.

        Args:
            name: Name of the exchange, which seeds the draw.
            row: Row of the item.

        Returns:
            A random item whose prediction is the goal of this one, and a random other item with the
            same prediction.
        """
        rng = self.make_rng(f"donor {name}", row)
        goal = int(self.goals[row])
        donor = None
        if goal >= 0:
            donor_row = rng.choice(self.rows_by_label[goal])
            donor = self.items[int(donor_row)]

        label = int(self.predictions[row])
        peers = self.rows_by_label[label]
        # An item would not change by its own features.
        peers = peers[peers != row]
        peer = None
        if len(peers):
            peer_row = rng.choice(peers)
            peer = self.items[int(peer_row)]
        return Donors(donor, peer)

    def exchange(
        self,
        name: str,
        exchange: edits.Exchange,
        rows: Rows | None = None,
    ) -> Outcome:
        """Give each item a feature of a random item of another predicted label.

        Its control gets the feature of another item of the same predicted label.

        Args:
            name: Name of the feature, which seeds the draw of the donors.
            exchange: Function of a text and a donor text that returns the text with the feature of
                the donor, such as `forms.take_length`.
            rows: Rows of the items; None for all of them.
        """

        def make_edit(row: int) -> Edit:
            donor, peer = self._draw_donors(name, row)
            if donor is None:
                return NO_EDIT
            goal = int(self.goals[row])
            return edits.exchange_parts(exchange, self.items[row], donor, peer, goal=goal)

        if rows is None:
            rows = self.all_rows
        return self.run(rows, make_edit)

    def exchange_form(self) -> Outcome:
        """Give items the capitals, accents and marks of items of another predicted label.

        Marks that the user accepts as reasons for a label stay.
        """
        take_form = functools.partial(forms.take_form, reasons=self.training.reasons)
        return self.exchange("form", take_form)

    def exchange_third(self, third: int) -> Outcome:
        """Replace a third of each item by that of an item of another predicted label.

        Words that the user accepts as reasons for a label stay.

        Args:
            third: 0 for the first third, 1 for the middle one, 2 for the last one.
        """
        take_third = functools.partial(forms.take_third, third=third, reasons=self.training.reasons)
        return self.exchange(THIRDS[third], take_third)

    def exchange_overlap(self) -> Outcome:
        """Make the two texts of each item share as many words as those of a donor.

        The donor of an item has another predicted label; that of its control has the same one.
        """

        def make_edit(row: int) -> Edit:
            """Edit an item towards the overlap of a donor; the control, towards that of a peer."""
            donor, peer = self._draw_donors("overlap", row)
            # If all predictions are the same label, no item can be a donor.
            if donor is None:
                return NO_EDIT
            return pairs.swap_overlap(
                self.training,
                self.items[row],
                donor,
                peer,
                goal=int(self.goals[row]),
                rng=self.make_rng("overlap", row),
            )

        return self.run(self.all_rows, make_edit)

    def exchange_text(self, column: int) -> Outcome:
        """Replace one of the two texts of each item by that of another item, drawn at random.

        The other item may have any label: the question is whether the prediction stays the same.

        Args:
            column: 0 to replace the first text, 1 to replace the second.

        Returns:
            Predictions after the exchange, for all items.
        """

        def make_edit(row: int) -> Edit:
            rng = self.make_rng(f"text {column}", row)
            donor_row = pairs.draw_row(len(self.items), row, rng)
            return pairs.exchange_text(self.items[row], column, self.items[donor_row])

        return self.run(self.all_rows, make_edit)

    # ------------------------------------------------------------------ effects

    def get_clusters(self, rows: Rows) -> NDArray[np.int64] | None:
        """Return the clusters of items; None if the items are independent."""
        if self.clusters is None:
            return None
        return self.clusters[rows]

    def measure(self, outcome: Outcome, resampling: Resampling) -> DecidingShare:
        """Return the share of predictions that an edit changes, minus that of its control.

        Args:
            outcome: Predictions after the edit and after the control, for M of the items.
            resampling: Confidence level of the interval.
        """
        return deciding_share(
            self.predictions[outcome.rows],
            outcome.treated,
            outcome.control,
            goals=outcome.goals,
            clusters=self.get_clusters(outcome.rows),
            resampling=resampling,
        )

    def measure_fixed(self, outcome: Outcome, resampling: Resampling) -> DecidingShare:
        """Return the share of predictions that stay the same after the edit, beyond chance.

        Args:
            outcome: Predictions after the edit, for M of the items.
            resampling: Confidence level of the interval.
        """
        return fixed_share(
            self.predictions[outcome.rows],
            outcome.treated,
            clusters=self.get_clusters(outcome.rows),
            resampling=resampling,
        )

    def compute_differences(self, outcome: Outcome) -> Floats:
        """Return (M,) whether the edit changes the prediction, minus whether its control does.

        Args:
            outcome: Predictions after the edit and after the control, for M of the items.

        Returns:
            1 if only the edit changes the prediction, -1 if only the control does, else 0.
        """
        changes = self.is_changed(outcome).astype(np.float64)
        return changes - self.is_control_changed(outcome)

    def is_changed(self, outcome: Outcome) -> Flags:
        """Return (M,) whether an edit changes the prediction."""
        is_changed = outcome.treated != self.predictions[outcome.rows]
        return np.asarray(outcome.is_edited & is_changed)

    def is_control_changed(self, outcome: Outcome) -> Flags:
        """Return (M,) whether the control of an edit changes the prediction."""
        is_changed = outcome.control != self.predictions[outcome.rows]
        return np.asarray((outcome.control >= 0) & is_changed)

    def count(self, outcome: Outcome) -> SwapCounts:
        """Return the numbers of items from which the effect of an edit is computed.

        Args:
            outcome: Predictions after the edit and after the control, for M of the items.

        Returns:
            Numbers of items: all M, those with a word of the feature, those that were edited, those
            whose prediction the edit or the control changes, and those that were edited towards
            another label than the predicted one.
        """
        n_containing = None
        if outcome.has_words is not None:
            n_containing = int(outcome.has_words.sum())
        # Only an edit towards another label than the predicted one shows whether the model follows.
        has_goal = outcome.is_edited & (outcome.goals >= 0)
        is_towards_other = has_goal & (outcome.goals != self.predictions[outcome.rows])
        return SwapCounts(
            n_items=len(outcome.rows),
            n_containing=n_containing,
            n_swapped=int(outcome.is_edited.sum()),
            n_flipped=int(self.is_changed(outcome).sum()),
            n_controls=int((outcome.control >= 0).sum()),
            n_control_flipped=int(self.is_control_changed(outcome).sum()),
            n_towards_other=int(is_towards_other.sum()),
        )

    def name_words(self, outcome: Outcome, strengths: Mapping[Key, float]) -> tuple[str, ...]:
        """Return the words of a list that contribute most to an effect, at most `MAX_NAMED`.

        A changed prediction counts if the control does not change it. It is divided among the words
        that were replaced in this item, in proportion to the squares of their strengths.

        Args:
            outcome: Predictions after the words of the list were replaced.
            strengths: (column, word) -> strength of each word that may have been replaced.
        """
        strength_by_word = {word: strength for (_, word), strength in strengths.items()}
        contributions: dict[str, float] = {}
        is_cause = self.is_changed(outcome) & ~self.is_control_changed(outcome)
        for index in np.flatnonzero(is_cause).tolist():
            replaced_words = outcome.words[index]
            squares = [strength_by_word[word] ** 2 for word in replaced_words]
            # Suspected words may all have a strength of 0.
            total = max(sum(squares), 1e-12)
            for word, square in zip(replaced_words, squares, strict=True):
                share = square / total
                contributions[word] = contributions.get(word, 0.0) + share
        # Words of equal contributions are in alphabetical order.
        ordered = sorted(contributions, key=lambda word: (-contributions[word], word))
        return tuple(ordered[:MAX_NAMED])


def encode_clusters(clusters: Sequence[object] | None, n_items: int) -> NDArray[np.int64] | None:
    """Return (N,) codes of clusters; None if the items are independent."""
    codes = number_clusters(clusters, n_items)
    return None if codes is None else np.asarray(codes, dtype=np.int64)
