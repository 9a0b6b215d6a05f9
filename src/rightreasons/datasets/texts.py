"""Texts with labels: SST-2, CoLA, TREC, AG News, TweetEval, QQP, and pairs of film reviews.

Each class says which rows its published files have, and how they become examples. The facts about
the files are in `declared.json`, and their known issues in `issues/tables`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.core.json_files import read_json
from rightreasons.datasets.builder import Builder, ClassificationBuilder, Config, Row
from rightreasons.datasets.files import make_classification_features, read_lines, read_table

SENTIMENTS = ("Negative", "Positive")

# Some revisions broke a tag.
_BREAK = re.compile(r"<br\s*/?>?")


class SST2(ClassificationBuilder):
    """The whole sentences of SST-2 with labels on all three splits: 6,920, 872 and 1,821.

    The publisher's copy lacks most punctuation; the hub's (SetFit/sst2) has the same sentences with
    the treebank's tokens. GLUE's SST-2 differs: it has 67,349 training phrases and no labels on the
    test split.
    """

    NAME = "sst2"

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        # The file has no heading, and its label is a digit.
        for text, label in read_table(files[0]):
            yield text, int(label)


class CoLA(ClassificationBuilder):
    """CoLA 1.1: 8,551 training sentences, and two development splits with labels.

    `validation` holds 527 sentences from the sources of the training split, and
    `validation_out_of_domain` 516 from others. The hub's copy (GLUE) joins both in one `validation`
    of 1,043. No test labels are public.
    """

    NAME = "cola"
    HUB_TEXT = "sentence"

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        # The fields are source, label, the author's mark, and sentence.
        for _, label, _, text in read_table(files[0]):
            yield text, int(label)


class TREC(ClassificationBuilder):
    """5,452 training and 500 test questions: six coarse classes, or fifty with "fine".

    The training file is Latin-1; its one byte beyond ASCII, between two words, is read as a space.
    The repository on the hub holds a loading script, so its pinned commit is the hub's conversion of
    it to parquet. The classes have the order of the hub's copy, so that models trained on either
    have the same.
    """

    NAME = "trec"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="coarse"), Config(name="fine")]

    def features(self) -> datasets.Features:
        return make_classification_features(self.LABELS[self.config.name])

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        """Yield (question, label) for each line.

        A line begins with its coarse and its fine class, such as "DESC:def What is an atom ?".
        """
        for line in read_lines(files[0], "latin-1"):
            # The only byte beyond ASCII is between two words, in place of a space.
            label, _, text = line.replace("\xf0", " ").partition(" ")
            if self.config.name == "coarse":
                label = label.partition(":")[0]
            yield text, label

    def from_hub(self, split: str, row: Row, number: int) -> Row | None:
        label = row[f"{self.config.name}_label"]
        return super().from_hub(split, {**row, "label": label}, number)


class AGNews(ClassificationBuilder):
    """News items of four topics.

    `default` is the usual data set: title and description in one text, 120,000 training and 7,600
    test items. A local folder without the big `train.csv` has only the test items. `descriptions`
    has only the description, and works with a small local copy: its `train` has 9,991 items (a
    published sample of 10,001 without the ten whose description is also in the test split), and its
    `test` the 7,600.
    """

    NAME = "ag_news"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="default"), Config(name="descriptions")]

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        """Yield (text, label) for each news item.

        Args:
            *files: A file of rows (label, title, description), whose labels count from 1; or the published
                sample of training items, followed by the test file.
        """
        is_sample = len(files) == 2
        if is_sample:
            yield from self._read_sample(*files)
            return
        for label, title, description in read_quoted_rows(files[0], ","):
            text = description
            if self.config.name == "default":
                text = f"{title} {description}"
            yield text, int(label) - 1

    def _read_sample(self, sample: Path, test: Path) -> Iterator[Sequence[Any]]:
        """Yield (text, topic) for each item of the published training sample.

        An item whose description is also in the test split gets an empty text. The builder leaves it out,
        but counts its line in the ids of the following items.

        Args:
            sample: File of rows (description, topic).
            test: File of rows (label, title, description).
        """
        test_texts = set()
        for _, _, description in read_quoted_rows(test, ","):
            test_texts.add(description.strip())
        for text, topic in read_quoted_rows(sample, "\t"):
            if text.strip() in test_texts:
                text = ""
            yield text, topic


class TweetEval(ClassificationBuilder):
    """One task of TweetEval: one file with a tweet per line and one with a label per line.

    Tweets that are empty without their spaces (seven in the training and one in the validation split
    of `hate`) are left out. The ids keep the numbers of the lines.
    """

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        texts, labels = map(read_lines, files)
        # Blank lines count: without them, every later label would be another tweet's.
        for text, label in zip(texts, labels, strict=True):
            yield text, int(label)


class TweetEvalEmotion(TweetEval):
    """The emotion of a tweet (SemEval-2018 task 1): 3,257, 374 and 1,421 tweets."""

    NAME = "tweeteval_emotion"


class TweetEvalHate(TweetEval):
    """Hateful or not, against women and immigrants (SemEval-2019 task 5): 8,993, 999 and 2,970.

    233 test tweets are training tweets too, 91 of them with the other label. The training copies are
    left out, unless `known_issues=False`.
    """

    NAME = "tweeteval_hate"


class TweetEvalIrony(TweetEval):
    """Ironic or not (SemEval-2018 task 3): 2,862, 955 and 784 tweets.

    The hashtags that name the label (#irony, #sarcasm, #not) are in 431 test tweets, and in no other
    split. See docs/evidence/tweeteval_irony.md.
    """

    NAME = "tweeteval_irony"


class TweetEvalSentiment(TweetEval):
    """The sentiment of a tweet (SemEval-2017 task 4): 45,615, 2,000 and 12,284 tweets.

    A local folder without the big training files has the other two splits.
    """

    NAME = "tweeteval_sentiment"


class QQP(Builder):
    """Quora question pairs with labels 0 (not duplicate) and 1 (duplicate).

    The local files are a sample that was published with another paper's code: 8,999 training and
    1,000 validation pairs, 36 % and 38 % of them duplicates. The hub's copy (GLUE) is complete: about
    364,000 and 40,000 pairs. A pair with an empty question is left out, and so is the test split,
    whose labels are not public.
    """

    NAME = "qqp"

    def features(self) -> datasets.Features:
        """Return the columns."""
        return make_classification_features(self.LABELS, text_pair=datasets.Value("string"))

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield one example per pair of questions.

        Args:
            split: Name of the split.
            files: Path of the source -> a JSON file such as {"0": {"text_a": …, "text_b": …, "label": "1"}}.
        """
        (file,) = files.values()
        for number, entry in read_json(file).items():
            row = {
                "question1": entry["text_a"],
                "question2": entry["text_b"],
                "label": int(entry["label"]),
            }
            example = self.from_hub(split, row, number)
            if example is not None:
                yield example

    def from_hub(self, split: str, row: Row, number: int) -> Row | None:
        """Convert a row of the hub (question1, question2, label) to an example.

        None if one of the questions is empty.

        Args:
            split: Name of the split.
            row: Row of the hub: question1, question2 and label.
            number: Number of the row in its split, for the id.
        """
        example = {
            "id": f"{split}-{number}",
            "text": row["question1"].strip(),
            "text_pair": row["question2"].strip(),
            "label": row["label"],
        }
        # GLUE's copy has a few empty questions.
        if not example["text"] or not example["text_pair"]:
            return None
        return example


class PairedReviews(Builder):
    """The common part of both sets of pairs: the columns, and how a review becomes a row."""

    def features(self) -> datasets.Features:
        return make_classification_features(
            ["negative", "positive"],
            pair_id=datasets.Value("string"),
            role=datasets.Value("string"),
        )

    def read_pair(
        self, split: str, pair: object, original: Sequence[str], revision: Sequence[str]
    ) -> Iterator[Row]:
        """Yield an original review and its revision as two examples, whose sentiments must differ.

        Args:
            split: Name of the split.
            pair: Number of the pair.
            original: Fields of the original: its sentiment ("Negative" or "Positive"), its text, and
                further fields, which are not used.
            revision: Fields of the revision.

        Yields:
            Column -> value: id, text, label, pair_id and role ("original" or "perturbed").

        Raises:
            ValueError: If the sentiments are not a negative and a positive one.
        """
        original_sentiment, original_text, *_ = original
        revised_sentiment, revised_text, *_ = revision
        if {original_sentiment, revised_sentiment} != set(SENTIMENTS):
            raise ValueError(
                f"Expected a negative and a positive review in pair {pair} of {self.NAME!r}, "
                f"but got {original_sentiment!r} and {revised_sentiment!r}."
            )
        reviews = (
            ("original", original_sentiment, original_text),
            ("perturbed", revised_sentiment, revised_text),
        )
        for role, sentiment, text in reviews:
            # Replace line breaks by spaces.
            words = _BREAK.sub(" ", text).split()
            yield {
                "id": f"{split}-{pair}-{role}",
                "text": " ".join(words),
                "label": SENTIMENTS.index(sentiment),
                "pair_id": f"{split}-{pair}",
                "role": role,
            }


class ImdbContrast(PairedReviews):
    """Contrast sets: IMDb reviews that experts revised to reverse the sentiment."""

    NAME = "imdb_contrast"

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield both reviews of each pair. Line i of both files belongs to pair i.

        Args:
            split: Name of the split.
            files: Path of a source -> its file: first the file of the originals, then that of the
                revisions. Their columns are the sentiment and the text.
        """
        originals_file, revisions_file = files.values()
        # The first row of each file has the names of the columns.
        originals = list(read_quoted_rows(originals_file, "\t"))[1:]
        revisions = list(read_quoted_rows(revisions_file, "\t"))[1:]
        pairs = zip(originals, revisions, strict=True)
        for number, (original, revision) in enumerate(pairs):
            yield from self.read_pair(split, number, original, revision)


class ImdbCounterfactual(PairedReviews):
    """Counterfactually augmented IMDb: reviews that crowd workers revised to reverse the sentiment.

    Four revisions that repeat their original, and a pair of two different films, are left out unless
    `known_issues=False`.
    """

    NAME = "imdb_counterfactual"

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield both reviews of each pair from a file of rows (sentiment, text, number of the pair).

        Args:
            split: Name of the split.
            files: Path of the source -> its file, with rows (sentiment, text, number of the pair).
        """
        (file,) = files.values()
        # The first row has the names of the columns.
        rows = list(read_quoted_rows(file, "\t"))[1:]
        rows_by_pair: dict[str, list[list[str]]] = {}
        for row in rows:
            _, _, pair, *_ = row
            rows_by_pair.setdefault(pair, []).append(row)
        for pair, (original, revision) in rows_by_pair.items():
            # The file does not say which review is the original. It is the first one, according to the
            # separate files of originals and revisions that were published, too.
            yield from self.read_pair(split, pair, original, revision)


def read_quoted_rows(file: Path, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows of a file whose fields may be in quotation marks."""
    with open(file, encoding="utf-8", newline="") as stream:
        yield from csv.reader(stream, delimiter=delimiter)
