"""WordNet through NLTK, and substitutions that are on record."""

import shutil
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from rightreasons.datasets.perturbing import edits as wordnet
from rightreasons.datasets.perturbing.edits import (
    FOLDERS,
    LAST_NAMES,
    NAMES,
    VARIABLE,
    Substitution,
    apply_substitutions,
    find_names,
    find_wordnet,
    name_substitutions,
    substitution_lookups,
    word_substitutions,
)

LICENSE = "  1 This line begins with two spaces, as the license does.\n"


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Each test finds its own WordNet, and NLTK forgets the folders that it was shown."""
    nltk_data = pytest.importorskip("nltk.data", reason="nltk is not installed")
    monkeypatch.setattr(nltk_data, "path", list(nltk_data.path))
    monkeypatch.delenv(VARIABLE, raising=False)
    find_wordnet.cache_clear()
    yield
    find_wordnet.cache_clear()


@pytest.fixture
def folder(tmp_path):
    """A database of a few synsets, written by hand in the format of wndb(5WN)."""
    synsets = {
        "adj": [
            ("good", "00 a 02 good 0 fine(ip) 0 002 ! {bad} a 0101 & {great} a 0000 | of high quality"),
            ("bad", "00 a 01 bad 0 001 ! {good} a 0101 | of low quality"),
            ("great", "00 s 02 great 0 very_good 0 001 & {good} a 0000 | very good"),
        ],
        "verb": [("like", "00 v 02 like 0 enjoy 0 001 ! {dislike} v 0101 | find pleasant"),
                 ("dislike", "00 v 01 dislike 0 001 ! {like} v 0101 | not like")],
        "noun": [("mouse", "00 n 01 mouse 0 000 | a rodent")],
        "adv": [],
    }  # fmt: skip
    index = {
        "adj": [("good", "good", 9), ("fine", "good", 0), ("bad", "bad", 5), ("great", "great", 3)],
        "verb": [("like", "like", 7), ("enjoy", "like", 2), ("dislike", "dislike", 1)],
        "noun": [("mouse", "mouse", 1)],
        "adv": [],
    }
    places = {}
    for part, rows in synsets.items():
        at = len(LICENSE)
        for name, line in rows:
            places[part, name] = at
            # An offset has eight digits, whatever it is.
            filled = line
            for other, _ in rows:
                filled = filled.replace(f"{{{other}}}", "0" * 8)
            at += len(f"{at:08d} {filled}\n")
        text = LICENSE
        for name, line in rows:
            filled = line
            for other, _ in rows:
                filled = filled.replace(f"{{{other}}}", f"{places[part, other]:08d}")
            text += f"{places[part, name]:08d} {filled}\n"
        (tmp_path / f"data.{part}").write_text(text, "utf-8")
        listed = "".join(
            f"{word} {part[0]} 1 0 1 {tagged} {places[part, name]:08d}  \n"
            for word, name, tagged in index[part]
        )
        (tmp_path / f"index.{part}").write_text(LICENSE + listed, "utf-8")
        (tmp_path / f"{part}.exc").write_text("mice mouse\n" if part == "noun" else "", "utf-8")
    counts = ("bad%3:00:00:: 1 5", "good%3:00:00:: 1 9", "fine%3:00:00:: 1 2", "like%2:00:00:: 1 7")
    (tmp_path / "cntlist.rev").write_text("".join(f"{line}\n" for line in counts), "utf-8")
    return tmp_path


@pytest.fixture
def tiny(folder):
    return find_wordnet(str(folder))


class TestDatabase:
    def test_synonyms(self, tiny):
        assert tiny.synonyms("good") == [
            "fine"
        ]  # "very good" is two words, and "great" a similar sense
        assert tiny.synonyms("Enjoy") == ["like"]
        assert tiny.synonyms("like") == []  # no tagged text has "enjoy" in this sense
        assert tiny.synonyms("mouse") == tiny.synonyms("nothing") == []

    def test_antonyms(self, tiny):
        assert tiny.antonyms("good") == ["bad"]
        # The pointer is from the first word of the synset, and not from "fine".
        assert tiny.antonyms("fine") == []
        # Of its own it has none; its cluster's head is opposed to "bad".
        assert tiny.antonyms("great") == ["bad"]

    def test_base_forms(self, tiny):
        assert tiny.base_forms("liked") == [("v", "like")]
        assert tiny.base_forms("mice") == [("n", "mouse")]
        assert tiny.antonyms("likes") == ["dislike"]

    def test_a_missing_file(self, folder):
        (folder / "index.verb").unlink()
        with pytest.raises(ValueError, match=r"database files of WordNet in .*index\.verb"):
            find_wordnet(str(folder))

    def test_a_folder_that_the_environment_names(self, folder, monkeypatch):
        monkeypatch.setenv(VARIABLE, str(folder))
        assert find_wordnet().synonyms("good") == ["fine"]

    @pytest.mark.parametrize("packed", [False, True], ids=["unpacked", "archive"])
    def test_the_corpus_of_nltk(self, folder, tiny, monkeypatch, tmp_path_factory, packed):
        from nltk.corpus import LazyCorpusLoader
        from nltk.corpus.reader.wordnet import WordNetCorpusReader

        place = tmp_path_factory.mktemp("nltk_data")
        (place / "wordnet").mkdir()
        shutil.copytree(folder, place / "wordnet", dirs_exist_ok=True)
        names = "".join(f"{number:02d}\tfile{number}\t0\n" for number in range(45))
        (place / "wordnet" / "lexnames").write_text(names, "utf-8")
        (place / "wordnet" / "index.sense").write_text("mouse%1:00:00:: 00000058 1 1\n", "utf-8")
        (place / "corpora").mkdir()
        if packed:
            shutil.make_archive(str(place / "corpora" / "wordnet"), "zip", place, "wordnet")
        else:
            shutil.copytree(place / "wordnet", place / "corpora" / "wordnet")
        monkeypatch.setattr("nltk.data.path", [str(place), str(folder)])
        # As nltk.corpus makes it: what it has loaded before must not be found here.
        monkeypatch.setattr(
            "nltk.corpus.wordnet", LazyCorpusLoader("wordnet", WordNetCorpusReader, None)
        )
        monkeypatch.setattr(wordnet, "FOLDERS", ())
        found = find_wordnet()
        for word in ("good", "Enjoy", "mouse", "great", "liked", "mice", "nothing"):
            assert found.synonyms(word) == tiny.synonyms(word)
            assert found.antonyms(word) == tiny.antonyms(word)

    def test_no_wordnet_is_installed(self, monkeypatch, tmp_path):
        from nltk.corpus import LazyCorpusLoader
        from nltk.corpus.reader.wordnet import WordNetCorpusReader

        monkeypatch.setattr("nltk.data.path", [str(tmp_path)])
        monkeypatch.setattr(
            "nltk.corpus.wordnet", LazyCorpusLoader("wordnet", WordNetCorpusReader, None)
        )
        monkeypatch.setattr(wordnet, "FOLDERS", ())
        with pytest.raises(ImportError, match="apt-get install wordnet-base"):
            find_wordnet()

    def test_no_nltk_is_installed(self, monkeypatch):
        class WithoutNltk(PathFinder):
            @classmethod
            def find_spec(cls, name, *rest):
                return None if name.split(".")[0] == "nltk" else PathFinder.find_spec(name, *rest)

        for name in [name for name in sys.modules if name.split(".")[0] == "nltk"]:
            monkeypatch.delitem(sys.modules, name)
        finders = [WithoutNltk if finder is PathFinder else finder for finder in sys.meta_path]
        monkeypatch.setattr(sys, "meta_path", finders)
        with pytest.raises(ImportError, match=r"pip install 'rightreasons\[wordnet\]'"):
            find_wordnet()

    @pytest.mark.real_data
    def test_the_real_one(self):
        if not any((Path(folder) / "data.noun").is_file() for folder in FOLDERS):
            pytest.skip("WordNet is not installed (Debian: apt-get install wordnet-base)")
        real = find_wordnet()
        assert real.synonyms("movie")[:2] == ["film", "picture"]
        assert real.antonyms("good")[:2] == ["bad", "evil"]
        assert "dislike" in real.antonyms("liked")
        assert real.antonyms("movie") == []
        assert "inferior" in real.antonyms("excellent")
        # "corps" is listed itself, so the senses of "corp" are not its own.
        assert real.synonyms("corps") == []
        # Not "atrocious", which no tagged text has in this sense, and not "bad", which is similar.
        assert real.synonyms("awful") == ["dreadful", "terrible", "unspeakable"]
        assert real.synonyms("dull") == []  # "bovine" and "arid" are similar


class TestSubstitutions:
    def test_they_keep_capitals_and_are_on_record(self, tiny):
        lookups = substitution_lookups(tiny)
        found = word_substitutions(
            "GOOD! Good, good", [(0, 4), (6, 10), (12, 16)], lookups, item_id="a", among=1
        )
        assert [(c.kind, c.original, c.replacement) for c in found] == [
            ("synonym", "GOOD", "FINE"),
            ("antonym", "GOOD", "BAD"),
            ("synonym", "Good", "Fine"),
            ("antonym", "Good", "Bad"),
            ("synonym", "good", "fine"),
            ("antonym", "good", "bad"),
        ]
        assert {change.source for change in found} == {"WordNet"}

    def test_the_draw_depends_on_seed_and_id_alone(self, tiny):
        lookups = {"synonym": (lambda word: [f"{word}{i}" for i in range(9)], "a list")}
        spans = [(0, 4), (5, 9)]

        def draw(**options):
            return word_substitutions("good film", spans, lookups, among=9, **options)

        assert draw(item_id="a") == draw(item_id="a")
        others = [draw(item_id=name, seed=seed) for name in "abcd" for seed in (0, 1)]
        assert len({tuple(change.replacement for change in found) for found in others}) > 4
        # Another kind beside it does not move what is drawn before it for the same word.
        two = word_substitutions(
            "good film",
            spans[:1],
            {**lookups, "antonym": (lambda _: [], "none")},
            item_id="a",
            among=9,
        )
        assert two == draw(item_id="a")[:1]

    def test_several_candidates(self):
        lookups = {"synonym": (lambda word: ["b", "c", "d", "e"], "a list")}
        found = word_substitutions("a", [(0, 1)], lookups, item_id="0", n_candidates=2)
        assert len({change.replacement for change in found}) == 2
        assert {change.replacement for change in found} <= {"b", "c", "d"}

    def test_they_are_made_together(self):
        text = "Tom likes good films"
        changes = [
            Substitution(10, 14, "good", "bad", "antonym", "x"),
            Substitution(0, 3, "Tom", "Ann Lee", "name", "x"),
        ]
        assert apply_substitutions(text, changes) == "Ann Lee likes bad films"
        assert apply_substitutions(text, []) == text

    def test_what_does_not_stand_there_is_refused(self):
        change = Substitution(0, 4, "good", "bad", "antonym", "x")
        with pytest.raises(ValueError, match="'good' at characters 0 to 4 of the text"):
            apply_substitutions("a good film", [change])
        with pytest.raises(ValueError, match="apart from other substitutions"):
            apply_substitutions("good film", [change, change])


class TestNames:
    TEXT = "James Smith meets Mary Jones in The Big Film. Not A Name."

    def test_names_are_found(self):
        assert [self.TEXT[a:b] for a, b in find_names(self.TEXT)] == ["James Smith", "Mary Jones"]
        assert find_names("Nobody is named here") == []
        # A known last name is enough for two words; of three the first name has to be known.
        text = "Quentin Wilson met Quentin Tom Wilson"
        assert [text[a:b] for a, b in find_names(text)] == ["Quentin Wilson"]

    def test_another_of_the_same_text(self):
        found = name_substitutions(self.TEXT, item_id="0")
        assert apply_substitutions(self.TEXT, found).startswith("Mary Jones meets James Smith")
        assert {change.source for change in found} == {"the text"}

    def test_a_lone_name(self):
        (found,) = name_substitutions(
            "James Smith is in it", item_id="0", pool=["James Smith", "Linda Brown"]
        )
        assert (found.replacement, found.source) == ("Linda Brown", "other texts")
        (found,) = name_substitutions("James Smith is in it", item_id="0")
        first, last = found.replacement.split()
        assert first in (*NAMES["male"], *NAMES["female"])
        assert last in LAST_NAMES
