"""NLTK's stop words: another list gives other types of shortcuts, and its absence is one sentence."""

import sys

import pytest

from rightreasons.core.tokens import STOP_WORDS
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.shortcuts.reliance import shortcut_reliance
from rightreasons.shortcuts.stop_words import load_stop_words

HEADS = {0: ["film"], 1: ["of", "good"]}
TOKENS = [["film", "a"], ["of", "it"], ["good", "it"]]
ATTRIBUTIONS = [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]]
PREDICTIONS = [0, 1, 1]


def make_corpus(folder, words):
    """Write a corpus of stop words in the layout of NLTK's data."""
    lists = folder / "corpora" / "stopwords"
    lists.mkdir(parents=True)
    (lists / "english").write_text("\n".join(words), "utf-8")


@pytest.fixture
def nltk_data(tmp_path, monkeypatch):
    """Let NLTK look into a folder of this test only."""
    nltk = pytest.importorskip("nltk")
    from nltk.corpus.reader import WordListCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    # The reader of another test may have loaded its corpus already.
    loader = LazyCorpusLoader("stopwords", WordListCorpusReader, r"(?!README|\.).*")
    monkeypatch.setattr(nltk.corpus, "stopwords", loader)
    return tmp_path


def measure_types(**options):
    result = shortcut_reliance(TOKENS, ATTRIBUTIONS, PREDICTIONS, HEADS, top_n=1, **options)
    return [example.type for example in result.examples]


def test_types_follow_the_list(nltk_data):
    # "film" is a stop word of this list, and "of" is none: the types change places.
    make_corpus(nltk_data, ["film", "it"])

    assert measure_types() == ["lexicon", "grammar", "lexicon"]
    assert measure_types(stop_words="nltk") == ["grammar", "lexicon", "lexicon"]
    # The released code looks words up as they are written; the list is the same.
    assert measure_types(stop_words="nltk", kinds="bihani2025") == ["grammar", "lexicon", "lexicon"]


def test_shares_are_those_of_the_definition(nltk_data):
    make_corpus(nltk_data, ["of", "it"])

    result = shortcut_reliance(
        TOKENS, ATTRIBUTIONS, PREDICTIONS, HEADS, top_n=1, stop_words="nltk", kinds="bihani2025"
    )

    # All three are cued: two by a lexical word, one by a stop word only.
    assert (result.lexicon_cued, result.grammar_cued) == (2 / 3, 1 / 3)
    assert result.lexicon_cued + result.grammar_cued == result.shortcut_reliance
    assert [example.categories for example in result.examples] == [
        ("lexical",),
        ("stop_word",),
        ("lexical",),
    ]


def test_a_missing_list_names_the_download(nltk_data):
    with pytest.raises(FileNotFoundError, match="nltk.downloader stopwords") as error:
        measure_types(stop_words="nltk")

    assert error.value.option == ("stop_words",)
    assert "\n" not in str(error.value)


def test_without_nltk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ModuleNotFoundError, match="pip install") as error:
        load_stop_words("nltk")

    assert "'nltk'" in str(error.value)


def test_the_own_list_needs_nothing():
    assert load_stop_words() == STOP_WORDS


def test_a_protocol_takes_the_list_of_the_paper():
    assert get_protocol("bihani2025").stop_words == "rightreasons"
    assert get_protocol("bihani2025", stop_words="nltk").stop_words == "nltk"
    with pytest.raises(ValueError, match="stop_words"):
        get_protocol(stop_words="nlt")
