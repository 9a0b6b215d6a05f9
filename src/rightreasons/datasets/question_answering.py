"""Questions whose answers are spans of a context: SQuAD 1.1, and files in its form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from rightreasons.core.json_files import read_json
from rightreasons.core.sentences import format_value
from rightreasons.datasets.builder import Builder, Row

XQUAD_FILE = "xquad.en.json"
"""A file without splits, which this package splits by article."""

ARTICLE_SHARES = {"train": 4 / 6, "validation": 1 / 6, "test": 1 / 6}
"""Shares of the articles of a file that has no splits."""

# Errors of a file in another form than SQuAD's.
_FORM_ERRORS = (LookupError, TypeError, AttributeError)


class SQuAD(Builder):
    """Questions, their contexts, and the spans that answer them.

    The hub and the publisher's files have 87,599 training and 10,570 validation questions; no test
    answers are public. A local folder with XQuAD's English file instead holds 1,190 questions of
    SQuAD's validation part, five paragraphs of each of its 48 articles, one answer each. That file
    has no splits, so it is split here by article (32, 8 and 8, by a digest of the title): no article
    is in two splits. It is a small stand-in: figures on it are not those of SQuAD, and a model that
    was trained on SQuAD has not seen it.
    """

    NAME = "squad"

    def features(self) -> datasets.Features:
        """Return the columns."""
        return make_question_features()

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield one example per question."""
        ((path, file),) = files.items()
        yield from read_squad(file, part=split if path == XQUAD_FILE else None)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        """Turn a row of the hub into an example."""
        example = {name: row[name] for name in make_question_features()}
        # The copy on the hub keeps the outer spaces of some questions.
        example["question"] = row["question"].strip()
        return example


def make_question_features() -> datasets.Features:
    """Return the types of the columns id, title, context, question and answers."""
    text = datasets.Value("string")
    columns: dict[str, Any] = dict.fromkeys(("id", "title", "context", "question"), text)
    columns["answers"] = {
        "text": datasets.List(text),
        "answer_start": datasets.List(datasets.Value("int32")),
    }
    return datasets.Features(columns)


def read_squad(file: Path, *, part: str | None = None) -> Iterator[Row]:
    """Yield the questions of a file in the JSON form of SQuAD 1.1.

    Args:
        file: A JSON file such as {"data": [{"title": …, "paragraphs": [{"context": …, "qas": [{"id": …,
            "question": …, "answers": [{"text": …, "answer_start": 12}]}]}]}]}.
        part: "train", "validation" or "test", for the articles of this split only; None for all articles.

    Yields:
        One row per question: id, title, context, question and answers.

    Raises:
        ValueError: If the file has another form. The message names the error.
    """
    content = read_json(file)
    try:
        articles = content["data"]
        if part is not None:
            # Questions on an article share its paragraphs, so that they must be in the same split.
            titles = [str(article.get("title")) for article in articles]
            selected_titles = select_articles(part, titles)
            selected_articles = []
            for article, title in zip(articles, titles, strict=True):
                if title in selected_titles:
                    selected_articles.append(article)
            articles = selected_articles
    except _FORM_ERRORS as error:
        raise _make_form_error(str(file), error) from error
    yield from read_questions(articles, str(file))


def read_questions(articles: Iterable[Mapping[str, Any]], source: str) -> Iterator[Row]:
    """Yield the questions of articles in the form of SQuAD.

    Args:
        articles: Articles, such as {"title": …, "paragraphs": [{"context": …, "qas": […]}]}; the title
            may be missing.
        source: Name of their file, for error messages.

    Yields:
        One row per question: id, title, context, question and answers.

    Raises:
        ValueError: If an article has another form, an empty context, or an answer outside its context.
    """
    try:
        for number, article in enumerate(articles):
            # Every article of SQuAD has a title, but an article of a user's file may have none.
            title = str(article.get("title") or number)
            location = f"the article {title!r} of {source}"
            for paragraph in article["paragraphs"]:
                context: str = paragraph["context"]
                if not context.strip():
                    raise ValueError(
                        f"Expected words in each `context` of {location}, but a context has no "
                        "words."
                    )
                for question in paragraph["qas"]:
                    yield _parse_question(question, title, context, location)
    except _FORM_ERRORS as error:
        raise _make_form_error(source, error) from error


def _parse_question(question: Mapping[str, Any], title: str, context: str, location: str) -> Row:
    """Convert an entry of SQuAD's `qas` to a row: id, title, context, question and answers.

    Args:
        question: Entry such as {"id": …, "question": …, "answers": [{"text": …, "answer_start": 12}]}.
        title: Title of the article.
        context: Paragraph that contains the answers.
        location: Description of the article and its file, for error messages.

    Raises:
        ValueError: If an answer does not fit into the context.
    """
    question_id = question["id"]
    question_text = question["question"]
    question_location = f"{question_id!r} of {location}"
    texts = []
    starts = []
    for answer in question["answers"]:
        text = answer["text"]
        start = answer["answer_start"]
        _check_answer(text, start, context, question_location)
        texts.append(text)
        starts.append(start)
    return {
        "id": str(question_id),
        "title": title,
        "context": context,
        # Some questions of SQuAD begin or end with spaces.
        "question": question_text.strip(),
        "answers": {"text": texts, "answer_start": starts},
    }


def _check_answer(answer: object, start: object, context: str, location: str) -> None:
    """Check that an answer is a string that fits into its context.

    Whether the context contains the answer at `start` is not checked, because some answers of released
    files would fail.

    Args:
        answer: Text of the answer.
        start: First character of the answer in the context.
        context: Paragraph that contains the answer.
        location: Description of the question, for the error message.

    Raises:
        ValueError: If the answer or its start has the wrong type, or the answer exceeds the context.
    """
    is_inside = False
    if isinstance(answer, str) and isinstance(start, int):
        is_inside = 0 <= start <= len(context) - len(answer)
    if not is_inside:
        raise ValueError(
            f"Expected answers of question {location} to have a `text` and an `answer_start` inside "
            f"the context, but got {answer!r} at {start!r}."
        )


def _make_form_error(source: str, error: Exception) -> ValueError:
    return ValueError(
        f"Expected {source} in the form of SQuAD (`data`, `paragraphs`, `context`, `qas`, `id`, "
        f"`question`, `answers`, `text`, `answer_start`), but got {format_value(error)}."
    )


def select_articles(part: str, titles: Sequence[str]) -> set[str]:
    """Select the articles of one split, for a file without splits.

    The distinct titles are put into a pseudo-random order. The first two thirds are for training, the
    next sixth for validation and the last sixth for testing (`ARTICLE_SHARES`).

    Args:
        part: "train", "validation" or "test".
        titles: Titles of all articles.

    Returns:
        Titles of the articles of the split.

    Example:
        >>> names = [f"article {number}" for number in range(12)]
        >>> [len(select_articles(part, names)) for part in ("train", "validation", "test")]
        [8, 2, 2]
    """
    # The titles are sorted by a digest, because the numbers of a random generator may change with its
    # version.
    order = sorted(set(titles), key=_digest_title)
    start_share = 0.0
    for name, share in ARTICLE_SHARES.items():
        if name == part:
            break
        start_share += share
    end_share = start_share + ARTICLE_SHARES[part]
    start = round(start_share * len(order))
    end = round(end_share * len(order))
    return set(order[start:end])


def _digest_title(title: str) -> str:
    return hashlib.blake2b(title.encode(), digest_size=8).hexdigest()
