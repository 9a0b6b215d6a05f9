"""The explorer's models: its own, which comes with it, and those of the hub."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.widget.pages import typed_hub_id, typed_text

BUNDLED = Path(__file__).resolve().parent / "bundled"
"""A small network and reviews that it has not seen; `make_model.py` makes them."""

TEXTS = BUNDLED / "texts.json"

PAIRS = BUNDLED / "pairs.json"
"""Contrast pairs in the words that the network knows, written by hand."""

IMDB_PAIRS = Path(__file__).resolve().parent / "imdb_pairs.json"
"""Pairs of film reviews with their eigenvalues. `make_imdb.py` writes them; a checkout has none."""


@functools.cache
def own_model() -> tuple[Classifier, tuple[str, ...]]:
    """Return the small network of the Space with the initial reviews of the page."""
    return load_classifier(BUNDLED), tuple(json.loads(TEXTS.read_text("utf-8")))


def read_pairs() -> list[dict[str, Any]]:
    """Read the contrast pairs: `texts` and `labels`, of the original and of the edited text."""
    return json.loads(PAIRS.read_text("utf-8"))


@functools.lru_cache(maxsize=2)
def _load_named(name: str) -> Classifier:
    # Two models are kept: a visitor may go back and forth between them.
    return load_classifier(name)


def open_model(name: str) -> Classifier:
    """Open a model of the hub by its id, or the Space's own if the name is empty."""
    # An empty field selects the page's own model.
    if not typed_text(name, "Model").strip():
        return own_model()[0]
    return _load_named(typed_hub_id(name, "Model"))
