"""Where replacements of words come from: WordNet, if it is installed, and the embeddings of a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from rightreasons.data.perturbing.substitutions import Lookups, class_words, substitution_lookups
from rightreasons.data.perturbing.wordnet import Thesaurus, find_wordnet
from rightreasons.foundations.choices import NEIGHBORS
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of
from rightreasons.models.gradients.neighbors import EmbeddingNeighbors, NoWordError, class_neighbors
from rightreasons.models.loading import Classifier


@dataclasses.dataclass(frozen=True)
class ReplacementSources:
    """The lookups for `substitution_tests`, with a description for readers.

    Attributes:
        lookups: The candidates of a word for each predicted class.
        described: A description of the sources.
    """

    lookups: Callable[[int], Lookups]
    described: str


@checks_kinds
def replacement_sources(
    classifier: Classifier, texts: Sequence[str], labels: Sequence[int], *, neighbors: str = "same_class"
) -> ReplacementSources:
    """Collect synonyms and antonyms of WordNet and neighbors in the model's table of word embeddings.

    Args:
        classifier: A sequence classifier.
        texts: N texts, which decide the words of each class.
        labels: (N,) their classes, gold or predicted; -1 for none.
        neighbors: "same_class" (default): neighbors are words of the predicted class, as `class_words`
            assigns them, so that the new word by itself does not explain a flip; "any": all words of the vocabulary,
            opposites included.

    Returns:
        The sources; only neighbors where WordNet is not installed.

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
