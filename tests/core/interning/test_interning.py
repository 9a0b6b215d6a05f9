"""Interned texts: the tokens of `split_words` as numbers, and what is counted with them."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.core.interning import intern_texts, intern_token_lists, pool, runs
from rightreasons.core.interning import texts as texts_module
from rightreasons.core.interning.scanning import encode_text, find_words
from rightreasons.core.tokens import WORD_PATTERN, split_words

# Words, marks, ideographs, vowel signs and joiners, white space of all kinds, capitals whose lower case is longer or
# depends on its neighbors, NUL, a lone surrogate, and characters beyond 16 bits.
CHARACTERS = "ab9_ .,'!-\n\t\x00\x1c\x7f\xa0\u2028İΣσß我\u3400\U00020000कि\u0301\u200d\u200c\ud800😀👍🏽\u2019\ufe0f🇩🇪กำขัは\U000e0067"
TEXTS = st.lists(st.text(alphabet=CHARACTERS, max_size=20), max_size=8)


def list_rows(texts):
    return [texts.get_tokens(row) for row in range(len(texts))]


class TestTokens:
    @settings(max_examples=300, deadline=None)
    @given(TEXTS)
    def test_rows_are_the_words_that_the_pattern_finds(self, texts):
        interned = intern_texts(texts, with_spans=True)

        expected = [split_words(text) for text in texts]
        assert list_rows(interned) == expected
        assert interned.vocabulary == sorted(set(itertools.chain.from_iterable(expected)))
        spans = [match.span() for text in texts for match in WORD_PATTERN.finditer(text)]
        assert interned.spans.tolist() == [list(span) for span in spans]

    def test_characters_are_split_as_by_the_pattern(self):
        # All of the first alphabets and scripts, and a sample of the rest of Unicode.
        codes = [*range(0x3100), *range(0x3100, sys.maxunicode, 211)]
        # Alone, inside a word, and after an accent.
        for template in ("{}", "a{}a", "a\u0301{}"):
            text = " ".join(template.format(chr(code)) for code in codes)
            starts, ends = find_words(encode_text(text))
            matches = list(WORD_PATTERN.finditer(text))
            assert starts.tolist() == [match.start() for match in matches]
            assert ends.tolist() == [match.end() for match in matches]

    def test_chunks_do_not_show(self, monkeypatch):
        texts = ["a b c", "", "b b", "A long word: extraordinarily", "c, a"] * 3
        whole = intern_texts(texts, with_spans=True)

        for size in (1, 4, 10):
            monkeypatch.setattr(texts_module, "CHUNK_CHARACTERS", size)
            chunked = intern_texts(texts, with_spans=True)
            assert chunked.ids.tolist() == whole.ids.tolist()
            assert chunked.offsets.tolist() == whole.offsets.tolist()
            assert chunked.spans.tolist() == whole.spans.tolist()

    @pytest.mark.parametrize("base", [1, 3, (1 << 63) + 1])
    def test_tokens_with_equal_hashes_are_different_tokens(self, monkeypatch, base):
        # With base 1 the hash is the sum of the characters: "ad" and "bc" have the same, as do "abc" and "cba".
        monkeypatch.setattr(pool, "_HASH_BASE", base)
        pool._list_powers.cache_clear()
        try:
            texts = ["ad bc ad", "abc cba bac", "bc ad", "\x03a d"]
            assert list_rows(intern_texts(texts)) == [split_words(text) for text in texts]
        finally:
            pool._list_powers.cache_clear()

    def test_words_that_collide_by_the_actual_hash(self):
        # Polynomials of the Thue-Morse sequence agree modulo a power of two for every odd base.
        bits = [index.bit_count() % 2 for index in range(1 << 11)]
        word = "".join("ab"[bit] for bit in bits)
        partner = "".join("ba"[bit] for bit in bits)
        codes = encode_text(f"{word} {partner}")
        hashes = pool.hash_spans(codes, *find_words(codes))
        assert hashes[0] == hashes[1]

        texts = [f"{word} {partner}", f"{partner} {partner}", f"x {word}"]
        assert list_rows(intern_texts(texts)) == [split_words(text) for text in texts]

    def test_pool_grows_beyond_its_first_size(self):
        texts = [f"w{number:09d}" for number in range(10_000)]
        interned = intern_texts(texts)
        assert interned.ids.tolist() == list(range(10_000))
        assert interned.vocabulary == texts

    def test_no_texts(self):
        interned = intern_texts([])
        assert (len(interned), interned.n_tokens, interned.vocabulary) == (0, 0, [])
        assert len(interned.select_distinct()) == 0
        assert interned.make_ngrams(2).n_tokens == 0

    def test_token_lists_give_the_same_columns(self):
        texts = ["b a, b", "", "c"]
        expected = intern_texts(texts)
        interned = intern_token_lists(split_words(text) for text in texts)
        assert interned.ids.tolist() == expected.ids.tolist()
        assert interned.offsets.tolist() == expected.offsets.tolist()
        assert interned.vocabulary == expected.vocabulary
        assert intern_token_lists([]).ids.dtype == expected.ids.dtype == np.int32


class TestColumns:
    @settings(max_examples=100, deadline=None)
    @given(TEXTS, st.sampled_from([1, 3, runs.BLOCK_SIZE]))
    def test_distinct_tokens(self, texts, size):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runs.iterate_blocks, "__defaults__", (size,))
            distinct = intern_texts(texts).select_distinct()
        assert list_rows(distinct) == [sorted(set(split_words(text))) for text in texts]

    @settings(max_examples=100, deadline=None)
    @given(TEXTS, st.integers(1, 4))
    def test_ngrams(self, texts, size):
        grams = intern_texts(texts).make_ngrams(size)

        tokens = [split_words(text) for text in texts]
        expected = [
            [" ".join(row[start : start + size]) for start in range(len(row) - size + 1)]
            for row in tokens
        ]
        assert list_rows(grams) == expected
        assert list(grams.vocabulary) == sorted(set(itertools.chain.from_iterable(expected)))
        assert list(grams.vocabulary[1:]) == list(grams.vocabulary)[1:]

    @settings(max_examples=150, deadline=None)
    @given(st.lists(TEXTS.filter(len), max_size=5), st.sampled_from([1, 3, runs.BLOCK_SIZE]))
    def test_tokens_that_one_row_of_a_group_has(self, groups, size):
        offsets = np.cumsum([0, *map(len, groups)])
        texts = intern_texts(list(itertools.chain.from_iterable(groups)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runs.iterate_blocks, "__defaults__", (size,))
            exclusive = texts.find_exclusive(offsets)

        expected = []
        for group, members in enumerate(groups):
            sets = [set(split_words(text)) for text in members]
            for token in sorted(set().union(*sets)):
                owners = [member for member, tokens in enumerate(sets) if token in tokens]
                if len(owners) == 1:
                    expected.append((group, owners[0], token))
        tokens = [texts.vocabulary[token_id] for token_id in exclusive.ids.tolist()]
        columns = (exclusive.groups.tolist(), exclusive.members.tolist(), tokens)
        assert list(zip(*columns, strict=True)) == expected

    def test_counts_by_label_leave_out_unlabeled_rows(self):
        texts = intern_texts(["a b a", "b", "b c", "c"])
        counts = texts.count_by_label(np.array([1, 0, -1, 1]), 2)
        assert counts.tolist() == [[0, 1, 0], [2, 1, 1]]
        assert texts.count_tokens(np.array([2, 0])).tolist() == [2, 2, 1]

    def test_index_lists_the_rows_that_have_a_token(self):
        texts = intern_texts(["a b a", "", "b", "c a"])
        index = texts.index_rows()
        rows = [index.list_rows(texts.find_id(token)).tolist() for token in "abc"]
        assert rows == [[0, 3], [0, 2], [3]]

    def test_find_id(self):
        texts = intern_texts(["b d"])
        assert [texts.find_id(token) for token in "abcde"] == [None, 0, None, 1, None]

    def test_selected_rows_keep_vocabulary_and_spans(self):
        texts = intern_texts(["a b", "İ c", "d"], with_spans=True)
        selected = texts.select_rows(np.array([1, 1, 0]))
        assert list_rows(selected) == [["i̇", "c"], ["i̇", "c"], ["a", "b"]]
        # The lower case of the first letter has two characters, but the spans are those of the text as given.
        assert selected.spans.tolist() == [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1], [2, 3]]
        assert selected.vocabulary is texts.vocabulary
        assert texts.rows.tolist() == [0, 0, 1, 1, 2]
        assert texts.lengths.tolist() == [2, 2, 1]
        assert texts.select_distinct().select_rows(np.array([2])).spans is None
