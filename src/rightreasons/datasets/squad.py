"""SQuAD 1.1: questions on paragraphs of Wikipedia, each answered by a span of its paragraph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from rightreasons.core.validation import read_json
from rightreasons.datasets.builder import Builder

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
        return {**{name: row[name] for name in question_features()}, "question": row["question"].strip()}


def question_features() -> datasets.Features:
    """Return the columns id, title, context, question and answers."""
    text = datasets.Value("string")
    answers = {"text": datasets.List(text), "answer_start": datasets.List(datasets.Value("int32"))}
    return datasets.Features(
        {**dict.fromkeys(("id", "title", "context", "question"), text), "answers": answers},
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
    articles = _articles(file)
    if part is not None:
        chosen = articles_of(part, [str(article.get("title")) for article in articles])
        articles = [article for article in articles if str(article.get("title")) in chosen]
    for number, article in enumerate(articles):
        title = str(article.get("title", number))
        where = f"the article {title!r} of {file}"
        for paragraph in _list(article, "paragraphs", where):
            context = paragraph.get("context")
            if not isinstance(context, str) or not context.strip():
                raise ValueError(f"Expected a `context` with words in each paragraph of {where}.")
            for question in _list(paragraph, "qas", f"a paragraph of {where}"):
                yield _question(question, title, context, where)


def articles_of(part: str, titles: Sequence[str]) -> set[str]:
    """Return the articles of one split: they are ordered by a digest of their titles and cut by `ARTICLE_SHARES`.

    Example:
        >>> names = [f"article {number}" for number in range(12)]
        >>> [len(articles_of(part, names)) for part in ("train", "validation", "test")]
        [8, 2, 2]
    """
    order = sorted(set(titles), key=lambda title: hashlib.blake2b(title.encode(), digest_size=8).hexdigest())
    parts = list(ARTICLE_SHARES)
    before = sum(ARTICLE_SHARES[name] for name in parts[: parts.index(part)])
    return set(order[round(before * len(order)) : round((before + ARTICLE_SHARES[part]) * len(order))])


def _articles(file: Path) -> list[dict[str, Any]]:
    content = read_json(file)
    if not isinstance(content, dict) or "data" not in content:
        raise ValueError(f"Expected a file in the form of SQuAD in {file}, an object with `data`, but it is none.")
    return _list(content, "data", str(file))


def _list(holder: Mapping[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    entries = holder.get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"Expected a list of objects in `{name}` of {where}, but there is none.")
    return entries


def _question(question: Mapping[str, Any], title: str, context: str, where: str) -> dict[str, Any]:
    key, text = question.get("id"), question.get("question")
    if key is None or not isinstance(text, str):
        raise ValueError(f"Expected an `id` and a `question` in each of the `qas` of {where}, but one lacks them.")
    texts, starts = [], []
    for answer in _list(question, "answers", f"question {key!r} of {where}"):
        said, start = answer.get("text"), answer.get("answer_start")
        if not isinstance(said, str) or not isinstance(start, int) or not 0 <= start <= len(context) - len(said):
            raise ValueError(
                f"Expected answers of question {key!r} of {where} to have a `text` and an `answer_start` inside the "
                f"context, but got {said!r} at {start!r}."
            )
        texts.append(said)
        starts.append(start)
    # Some questions of SQuAD begin or end with spaces, which say nothing.
    return {
        "id": str(key),
        "title": title,
        "context": context,
        "question": text.strip(),
        "answers": {"text": texts, "answer_start": starts},
    }
