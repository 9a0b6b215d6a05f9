"""Where replacements of words come from on this machine: WordNet, where it is installed, and a model's embeddings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from rightreasons.data.perturbing.substitutions import Lookups, class_words, substitution_lookups
from rightreasons.data.perturbing.wordnet import Thesaurus, find_wordnet
from rightreasons.foundations.validation import check_one_of
from rightreasons.models.gradients.neighbors import EmbeddingNeighbors, NoWordError, class_neighbors
from rightreasons.models.loading import Classifier

NEIGHBORS = ("same_class", "any")
"""Which words of the embedding table may stand in for a word; see `replacement_sources`."""


@dataclasses.dataclass(frozen=True)
class ReplacementSources:
    """What `substitution_tests` takes, and what to tell a reader of it.

    Attributes:
        lookups: The candidates of a word for each predicted class.
        described: The sources in words.
    """

    lookups: Callable[[int], Lookups]
    described: str


def replacement_sources(
    classifier: Classifier, texts: Sequence[str], labels: Sequence[int], *, neighbors: str = "same_class"
) -> ReplacementSources:
    """Collect synonyms and antonyms of WordNet and neighbors in the model's table of word embeddings.

    Args:
        classifier: A sequence classifier.
        texts: N texts whose words tell what words a class has.
        labels: (N,) their classes, given or predicted; -1 for none.
        neighbors: "same_class" (default): neighbors are words that go with the predicted class, as
            `data.substitutions.class_words` parts them, so that a flip is not told by the new word itself; "any": all
            words of the vocabulary, opposites too.

    Returns:
        The sources; without WordNet, neighbors alone.

    Raises:
        ValueError: If the model has no table of word embeddings.
    """
    check_one_of(neighbors, NEIGHBORS, "neighbors")
    thesaurus: Thesaurus | None
    try:
        thesaurus = find_wordnet()
    except ImportError:
        thesaurus = None
    if neighbors == "any":
        try:
            table = substitution_lookups(thesaurus, EmbeddingNeighbors(classifier))
        except NoWordError:
            table = substitution_lookups(thesaurus)
        return ReplacementSources(lambda label: table, _described(thesaurus, "the model's word embeddings"))
    own = class_neighbors(classifier, class_words(texts, labels))
    names = classifier.label_names or ()

    def lookups(label: int) -> Lookups:
        source = f"words of class {names[label]} among the model's word embeddings"
        return substitution_lookups(thesaurus, own.get(label), neighbor_source=source)

    return ReplacementSources(
        lookups, _described(thesaurus, "the model's word embeddings (words of the predicted class alone)")
    )


def _described(thesaurus: Thesaurus | None, embeddings: str) -> str:
    return f"WordNet and {embeddings}" if thesaurus is not None else f"{embeddings}; WordNet is not installed"
