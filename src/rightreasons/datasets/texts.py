"""Texts with labels: SST-2, CoLA, TREC, AG News, TweetEval, QQP, pairs of film reviews, and SQuAD 1.1."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.core.json_files import read_json
from rightreasons.core.sentences import format_value
from rightreasons.datasets.builder import (
    Builder,
    ClassificationBuilder,
    Config,
    classification_features,
    read_lines,
    read_table,
)

ARTICLE_SHARES = {"train": 4 / 6, "validation": 1 / 6, "test": 1 / 6}
"""Shares of the articles of a file that has no splits of its own."""


class SQuAD(Builder):
    """Questions, their contexts, and the spans that answer them.

    The hub and the publisher's files have 87,599 training and 10,570 validation questions; no test answers are public.
    A local folder with XQuAD's English file instead holds 1,190 questions of SQuAD's validation part, five paragraphs
    of each of its 48 articles, one answer each. That file has no splits, so it is split here by article (32, 8 and 8,
    drawn by a digest of the title): no article is in two splits. It is a small stand-in: figures on it are not those of
    SQuAD, and a model that was trained on SQuAD has not seen it.
    """

    NAME = "squad"

    def features(self) -> datasets.Features:
        """Return the columns."""
        return question_features()

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per question."""
        ((path, file),) = files.items()
        yield from read_squad(file, part=split if path == "xquad.en.json" else None)

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any]:
        """Turn a row of the hub into an example."""
        return {
            **{name: row[name] for name in question_features()},
            "question": row["question"].strip(),
        }


def question_features() -> datasets.Features:
    """Return the columns id, title, context, question and answers."""
    text = datasets.Value("string")
    answers = {"text": datasets.List(text), "answer_start": datasets.List(datasets.Value("int32"))}
    return datasets.Features(
        {**dict.fromkeys(("id", "title", "context", "question"), text), "answers": answers}
    )


def read_squad(file: Path, *, part: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the questions of a file in the JSON form of SQuAD 1.1.

    Args:
        file: {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}.
        part: One of `ARTICLE_SHARES`, for the articles of that split alone; None for all.

    Yields:
        One row per question with the columns of `question_features`.

    Raises:
        ValueError: If it is no such file; the message names the error.
    """
    content = read_json(file)
    try:
        articles = content["data"]
        if part is not None:
            chosen = articles_of(part, [str(article.get("title")) for article in articles])
            articles = [article for article in articles if str(article.get("title")) in chosen]
    except (LookupError, TypeError, AttributeError) as error:
        raise _out_of_form(str(file), error) from error
    yield from questions_in(articles, str(file))


def questions_in(articles: Iterable[Mapping[str, Any]], source: str) -> Iterator[dict[str, Any]]:
    """Yield the questions of articles in the form of SQuAD, as `read_squad`; `source` is what they are from."""
    try:
        for number, article in enumerate(articles):
            title = str(article.get("title") or number)
            for paragraph in article["paragraphs"]:
                context: str = paragraph["context"]
                if not context.strip():
                    raise ValueError(
                        f"Expected words in each `context` of the article {title!r} of {source}."
                    )
                for question in paragraph["qas"]:
                    yield _question(question, title, context, f"the article {title!r} of {source}")
    except (LookupError, TypeError, AttributeError) as error:
        raise _out_of_form(source, error) from error


def _out_of_form(source: str, error: Exception) -> ValueError:
    return ValueError(
        f"Expected {source} in the form of SQuAD (`data`, `paragraphs`, `context`, `qas`, `id`, `question`, `answers`, "
        f"`text`, `answer_start`), but got {format_value(error)}."
    )


def articles_of(part: str, titles: Sequence[str]) -> set[str]:
    """Return the articles of one split: they are ordered by a digest of their titles and cut by `ARTICLE_SHARES`.

    Example:
        >>> names = [f"article {number}" for number in range(12)]
        >>> [len(articles_of(part, names)) for part in ("train", "validation", "test")]
        [8, 2, 2]
    """
    order = sorted(
        set(titles), key=lambda title: hashlib.blake2b(title.encode(), digest_size=8).hexdigest()
    )
    parts = list(ARTICLE_SHARES)
    before = sum(ARTICLE_SHARES[name] for name in parts[: parts.index(part)])
    return set(
        order[round(before * len(order)) : round((before + ARTICLE_SHARES[part]) * len(order))]
    )


def _question(question: Mapping[str, Any], title: str, context: str, where: str) -> dict[str, Any]:
    key, text = question["id"], question["question"]
    answers = [(answer["text"], answer["answer_start"]) for answer in question["answers"]]
    for said, start in answers:
        if (
            not isinstance(said, str)
            or not isinstance(start, int)
            or not 0 <= start <= len(context) - len(said)
        ):
            raise ValueError(
                f"Expected answers of question {key!r} of {where} to have a `text` and an `answer_start` inside the "
                f"context, but got {said!r} at {start!r}."
            )
    # Some questions of SQuAD begin or end with spaces, which say nothing.
    return {
        "id": str(key),
        "title": title,
        "context": context,
        "question": text.strip(),
        "answers": {
            "text": [said for said, _ in answers],
            "answer_start": [start for _, start in answers],
        },
    }


Row = dict[str, Any]


class SST2(ClassificationBuilder):
    """The whole sentences of SST-2 with labels on all three splits: 6,920, 872 and 1,821.

    The publisher's copy lacks most punctuation; the hub's (SetFit/sst2) has the same sentences with the treebank's
    tokens. GLUE's SST-2 differs: it has 67,349 training phrases and no labels on the test split.
    """

    NAME = "sst2"

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        yield from ((text, int(label)) for text, label in read_table(files[0]))


class CoLA(ClassificationBuilder):
    """CoLA 1.1: 8,551 training sentences, and two development splits with labels.

    `validation` holds 527 sentences from the sources of the training split and `validation_out_of_domain` 516 from
    others. The hub's copy (GLUE) joins both in one `validation` of 1,043. No test labels are public.
    """

    NAME = "cola"
    HUB_TEXT = "sentence"

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        # Source, label, the author's mark, sentence.
        yield from ((text, int(label)) for _, label, _, text in read_table(files[0]))


class TREC(ClassificationBuilder):
    """5,452 training and 500 test questions: six coarse classes, or with the configuration "fine" fifty.

    The training file is Latin-1; its one byte beyond ASCII, between two words, is read as a space. The repository on
    the hub holds a loading script; its commit in the table is the hub's own conversion of it to parquet. The classes
    have the order of the hub's copy, so that models trained on either have the same.
    """

    NAME = "trec"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="coarse"), Config(name="fine")]

    def features(self) -> datasets.Features:
        return classification_features(self.LABELS[self.config.name])

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        for line in read_lines(files[0], "latin-1"):
            fine, _, text = line.replace("\xf0", " ").partition(" ")
            yield text, fine if self.config.name == "fine" else fine.partition(":")[0]

    def from_hub(self, split: str, row: Row, number: int) -> Row | None:
        return super().from_hub(split, {**row, "label": row[f"{self.config.name}_label"]}, number)


class AGNews(ClassificationBuilder):
    """News items of four topics.

    `default` is the usual data set: title and description in one text, 120,000 training and 7,600
    test items; a local folder without the big `train.csv` gives the test items alone. `descriptions` has the
    description alone and works with a small local copy: its `train` holds 9,991 items (a published sample of 10,001
    without the ten whose description is also in the test split), its `test` the 7,600.
    """

    NAME = "ag_news"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="default"), Config(name="descriptions")]

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        if len(files) == 2:  # the sample, and the test items, which it must not contain
            held_out = {description.strip() for _, _, description in _csv_rows(files[1], ",")}
            for text, topic in _csv_rows(files[0], "\t"):
                yield "" if text.strip() in held_out else text, topic
            return
        for label, title, description in _csv_rows(files[0], ","):
            yield (
                description if self.config.name == "descriptions" else f"{title} {description}",
                int(label) - 1,
            )


class TweetEval(ClassificationBuilder):
    """One task of TweetEval: one file with a tweet per line and one with a label per line.

    Tweets that are empty without their spaces (seven in the training and one in the validation split of `hate`) are
    left out; the ids keep the numbers of the lines.
    """

    def rows(self, *files: Path) -> Iterator[Sequence[Any]]:
        yield from ((text, int(label)) for text, label in zip(*map(read_lines, files), strict=True))


class TweetEvalEmotion(TweetEval):
    """The emotion of a tweet (SemEval-2018 task 1): 3,257, 374 and 1,421 tweets."""

    NAME = "tweeteval_emotion"


class TweetEvalHate(TweetEval):
    """Hateful or not, against women and immigrants (SemEval-2019 task 5): 8,993, 999 and 2,970 tweets."""

    NAME = "tweeteval_hate"


class TweetEvalIrony(TweetEval):
    """Ironic or not (SemEval-2018 task 3): 2,862, 955 and 784 tweets."""

    NAME = "tweeteval_irony"


class TweetEvalSentiment(TweetEval):
    """The sentiment of a tweet (SemEval-2017 task 4): 45,615, 2,000 and 12,284 tweets.

    A local folder without the big training files gives the other two splits.
    """

    NAME = "tweeteval_sentiment"


class QQP(Builder):
    """Quora question pairs with labels 0 (not duplicate) and 1 (duplicate).

    The local files are a sample that was published with another paper's code: 8,999 training and 1,000 validation
    pairs, 36 % and 38 % of them duplicates. The hub's copy (GLUE) is complete: about 364,000 and 40,000 pairs; a pair
    of which one question is empty is left out, and so is the test split, whose labels are not public.
    """

    NAME = "qqp"

    def features(self) -> datasets.Features:
        """Return the columns."""
        return classification_features(self.LABELS, text_pair=datasets.Value("string"))

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per entry: number -> text_a, text_b, and the label as a digit."""
        (file,) = files.values()
        for number, entry in read_json(file).items():
            row = {
                "question1": entry["text_a"],
                "question2": entry["text_b"],
                "label": int(entry["label"]),
            }
            if (example := self.from_hub(split, row, number)) is not None:
                yield example

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any] | None:
        """Turn a row of the hub into an example."""
        first, second = row["question1"].strip(), row["question2"].strip()
        columns = {
            "id": f"{split}-{number}",
            "text": first,
            "text_pair": second,
            "label": row["label"],
        }
        return columns if first and second else None


SENTIMENTS = ("Negative", "Positive")
ROLES = ("original", "perturbed")
_BREAK = re.compile(r"<br\s*/?>?")  # some revisions broke a tag


class PairedReviews(Builder):
    """The common part of both sets: the columns, and how a review becomes a row."""

    def features(self) -> datasets.Features:
        return classification_features(
            ["negative", "positive"],
            pair_id=datasets.Value("string"),
            role=datasets.Value("string"),
        )

    def opposed(
        self, split: str, pair: object, first: Sequence[str], second: Sequence[str]
    ) -> Iterator[Row]:
        """Yield an original and its perturbed twin, whose sentiments must differ; line breaks become spaces."""
        if {first[0], second[0]} != set(SENTIMENTS):
            raise ValueError(
                f"Expected a negative and a positive review in pair {pair} of {self.NAME!r}, but got {first[0]!r} and "
                f"{second[0]!r}."
            )
        for role, (sentiment, text) in zip(ROLES, (first[:2], second[:2]), strict=True):
            yield {
                "id": f"{split}-{pair}-{role}",
                "text": " ".join(_BREAK.sub(" ", text).split()),
                "label": SENTIMENTS.index(sentiment),
                "pair_id": f"{split}-{pair}",
                "role": role,
            }


class ImdbContrast(PairedReviews):
    """Contrast sets: IMDb reviews that experts revised to reverse the sentiment."""

    NAME = "imdb_contrast"

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        originals, contrasts = (list(_csv_rows(file, "\t"))[1:] for file in files.values())
        for number, (first, second) in enumerate(zip(originals, contrasts, strict=True)):
            yield from self.opposed(split, number, first, second)


class ImdbCounterfactual(PairedReviews):
    """Counterfactually augmented IMDb: reviews that crowd workers revised to reverse the sentiment."""

    NAME = "imdb_counterfactual"

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        pairs: dict[str, list[list[str]]] = {}
        for row in list(_csv_rows(next(iter(files.values())), "\t"))[1:]:
            pairs.setdefault(row[2], []).append(row)
        for pair, (first, second) in pairs.items():
            # The original comes first, as the separate files of originals and revisions show where their texts agree.
            yield from self.opposed(split, pair, first, second)


def _csv_rows(file: Path, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows of a file with quotes."""
    with open(file, encoding="utf-8", newline="") as stream:
        yield from csv.reader(stream, delimiter=delimiter)
