"""The table of synonyms and antonyms, the script that writes it, and substitutions that are on record."""

import importlib.util
import sys
from pathlib import Path

import pytest

from rightreasons.datasets.perturbing.edits import (
    LAST_NAMES,
    NAMES,
    Substitution,
    apply_substitutions,
    draw_substitutions,
    find_names,
    list_lookups,
    name_substitutions,
)
from rightreasons.datasets.perturbing.thesaurus import Thesaurus, load_thesaurus

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_thesaurus.py"

# Three adjectives around "good", a verb with its opposite, and a noun, in the format of wndb(5WN).
DATABASE = {
    "adj": [
        "00000001 00 a 02 good 0 fine(ip) 0 002 ! 00000002 a 0101 & 00000003 a 0000 | of high quality",
        "00000002 00 a 01 bad 0 001 ! 00000001 a 0101 | of low quality",
        "00000003 00 s 02 great 0 very_good 0 001 & 00000001 a 0000 | very good",
    ],
    "verb": [
        "00000001 00 v 02 like 0 enjoy 0 001 ! 00000002 v 0101 | find pleasant",
        "00000002 00 v 01 dislike 0 001 ! 00000001 v 0101 | not like",
    ],
    "noun": ["00000001 00 n 01 mouse 0 000 | a rodent"],
    "adv": [],
}
SENSES = [
    "bad%3:00:00:: 00000002 1 5",
    "dislike%2:00:00:: 00000002 1 1",
    "enjoy%2:00:00:: 00000001 1 2",
    "fine%3:00:00:: 00000001 1 3",
    "good%3:00:00:: 00000001 1 9",
    "great%5:00:00:good:00 00000003 1 3",
    "like%2:00:00:: 00000001 1 0",
    "mouse%1:00:00:: 00000001 1 1",
]


@pytest.fixture
def database(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("make_thesaurus", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_thesaurus", script)
    spec.loader.exec_module(script)
    for part, lines in DATABASE.items():
        text = "\n".join(["  1 A line of the license.", *lines])
        (tmp_path / f"data.{part}").write_text(text, "utf-8")
    (tmp_path / "index.sense").write_text("\n".join(SENSES), "utf-8")
    return script.WordNet(tmp_path)


class TestScript:
    def test_synonyms_are_single_words_that_are_tagged(self, database):
        assert database.find_synonyms("good") == ["fine"]
        # No tagged text has "like" in this sense; "very good" is two words.
        assert database.find_synonyms("enjoy") == []
        assert database.find_synonyms("great") == []

    def test_similar_words_are_those_of_similar_adjectives(self, database):
        assert database.find_similar("good") == ["great"]
        assert database.find_similar("great") == ["good", "fine"]
        assert database.find_similar("mouse") == []

    def test_antonyms_belong_to_one_word_of_a_sense_or_to_a_similar_adjective(self, database):
        assert database.find_antonyms("good") == ["bad"]
        # The pointer leads from the word "good" of the sense, and not from "fine".
        assert database.find_antonyms("fine") == []
        # "great" has no antonym, but its similar adjective "good" has.
        assert database.find_antonyms("great") == ["bad"]
        assert database.find_antonyms("like") == ["dislike"]


class TestTable:
    def test_entries_of_wordnet(self):
        table = load_thesaurus()

        assert table.synonyms("Movie") == ("film", "picture")
        assert table.synonyms("awful") == ("unspeakable", "terrible", "dreadful")
        assert table.similar("interesting") == ("fascinating", "engrossing")
        assert table.antonyms("good")[:2] == ("bad", "evil")
        assert table.antonyms("excellent") == ("inferior",)

    def test_inflected_and_unknown_words_have_no_entry(self):
        table = load_thesaurus()

        for word in ("liked", "movies", "xyzzy"):
            assert table.synonyms(word) == table.similar(word) == table.antonyms(word) == ()

    def test_every_replacement_is_a_single_other_word(self):
        for word, kinds in load_thesaurus().entries.items():
            assert any(kinds)
            for words in kinds:
                assert word not in words
                assert len(set(words)) == len(words) <= 6
                assert all(other.isalpha() and other.islower() for other in words)

    def test_the_license_is_beside_the_table(self):
        folder = SCRIPT.parents[1] / "src" / "rightreasons" / "datasets" / "perturbing"

        text = (folder / "thesaurus_license.txt").read_text("utf-8")

        assert "WordNet 3.0 Copyright 2006 by Princeton University" in text


@pytest.fixture
def tiny():
    return Thesaurus({"good": (("fine",), ("great",), ("bad",))})


class TestSubstitutions:
    def test_they_keep_capitals_and_are_on_record(self, tiny):
        lookups = list_lookups(tiny)
        found = draw_substitutions(
            "GOOD! Good, good", [(0, 4), (6, 10), (12, 16)], lookups, item_id="a", among=1
        )
        assert [(c.kind, c.original, c.replacement) for c in found] == [
            ("synonym", "GOOD", "FINE"),
            ("antonym", "GOOD", "BAD"),
            ("similar", "GOOD", "GREAT"),
            ("synonym", "Good", "Fine"),
            ("antonym", "Good", "Bad"),
            ("similar", "Good", "Great"),
            ("synonym", "good", "fine"),
            ("antonym", "good", "bad"),
            ("similar", "good", "great"),
        ]
        assert {change.source for change in found} == {"WordNet"}

    def test_the_draw_depends_on_seed_and_id_alone(self, tiny):
        lookups = {"synonym": (lambda word: [f"{word}{i}" for i in range(9)], "a list")}
        spans = [(0, 4), (5, 9)]

        def draw(**options):
            return draw_substitutions("good film", spans, lookups, among=9, **options)

        assert draw(item_id="a") == draw(item_id="a")
        others = [draw(item_id=name, seed=seed) for name in "abcd" for seed in (0, 1)]
        assert len({tuple(change.replacement for change in found) for found in others}) > 4
        # Another kind beside it does not move what is drawn before it for the same word.
        two = draw_substitutions(
            "good film",
            spans[:1],
            {**lookups, "antonym": (lambda _: [], "none")},
            item_id="a",
            among=9,
        )
        assert two == draw(item_id="a")[:1]

    def test_several_candidates(self):
        lookups = {"synonym": (lambda word: ["b", "c", "d", "e"], "a list")}
        found = draw_substitutions("a", [(0, 1)], lookups, item_id="0", n_candidates=2)
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
