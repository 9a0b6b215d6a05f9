"""Twelve scripts: texts whose words are written in other letters, so that what decides stays known.

Each Latin letter becomes a letter of the script. Scripts that write no spaces get none, and Chinese
has one or two ideographs for each word. The texts mean nothing to a reader of the script, but they have
its letters, its casing, its direction, and its way to divide words.
"""

from __future__ import annotations

import dataclasses
import hashlib
import string

ALPHABETS = {
    "Cyrillic": "абвгдежзийклмнопрстуфхцчшщ",
    "Greek": "αβγδεζηθικλμνξοπρστυφχψωάέ",
    "Armenian": "աբգդեզէըթժիլխծկհձղճմյնշոչպ",
    "Georgian": "აბგდევზთიკლმნოპჟრსტუფქღყშჩ",
    "Arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنه",
    "Hebrew": "אבגדהוזחטיכלמנסעפצקרשתךםןף",
    "Devanagari": "कखगघचछजझटठडढणतथदधनपफबभमयरल",
    "Bengali": "কখগঘচছজঝটঠডঢণতথদধনপফবভমযরল",
    "Thai": "กขคฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผ",
    "Hangul": "가나다라마바사아자차카타파하거너더러머버서어저처커터",
    "Katakana": "アイウエオカキクケコサシスセソタチツテトナニヌネノハ",
    "Chinese": "",
}
"""Script -> 26 letters. Chinese writes words, not letters."""

WITHOUT_SPACES = ("Thai", "Katakana", "Chinese")
FIRST_IDEOGRAPH = 0x4E00
N_IDEOGRAPHS = 3_000


@dataclasses.dataclass(frozen=True)
class Script:
    """A way to write Latin words in other letters.

    Attributes:
        name: Name in `ALPHABETS`.
    """

    name: str

    @property
    def has_spaces(self) -> bool:
        """Whether spaces stand between words."""
        return self.name not in WITHOUT_SPACES

    def write_word(self, word: str) -> str:
        """Write one word; what is no Latin letter stays."""
        if self.name == "Chinese":
            return self._write_ideographs(word)
        table = {}
        for latin, letter in zip(string.ascii_lowercase, ALPHABETS[self.name], strict=True):
            table[ord(latin)] = letter
            # Scripts without capitals write the same letter.
            table[ord(latin.upper())] = letter.upper()
        return word.translate(table)

    def write(self, text: str) -> str:
        """Write a text of words that are separated by spaces."""
        separator = " " if self.has_spaces else ""
        return separator.join([self.write_word(word) for word in text.split(" ")])

    def _write_ideographs(self, word: str) -> str:
        """Write a word with one ideograph if it is short, and two if it is long."""
        letters = word.strip(string.punctuation).lower()
        if not letters:
            return word
        digest = hashlib.sha256(letters.encode()).digest()
        n_ideographs = 1 if len(letters) <= 3 else 2
        ideographs = ""
        for position in range(n_ideographs):
            number = int.from_bytes(digest[4 * position : 4 * position + 4], "big")
            ideographs += chr(FIRST_IDEOGRAPH + number % N_IDEOGRAPHS)
        return ideographs
