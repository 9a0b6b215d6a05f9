"""Twelve scripts, in whose letters texts are written so that the words that decide stay known.

Each Latin letter becomes a letter of the script. Scripts without spaces between words get none, and a
Chinese word has one or two ideographs. The texts mean nothing to a reader of the script, but they have
its letters, casing, direction, and division into words. `Script` is the entry point.
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
"""Script -> its letters for a to z. Chinese has none, because its ideographs stand for words."""

WITHOUT_SPACES = ("Thai", "Katakana", "Chinese")
FIRST_IDEOGRAPH = 0x4E00
N_IDEOGRAPHS = 3_000


@dataclasses.dataclass(frozen=True)
class Script:
    """A script, in whose letters Latin words are written.

    Attributes:
        name: Name in `ALPHABETS`.
    """

    name: str

    @property
    def has_spaces(self) -> bool:
        """Whether words are separated by spaces."""
        return self.name not in WITHOUT_SPACES

    def write_word(self, word: str) -> str:
        """Replace the Latin letters of a word by letters of the script, and keep other characters."""
        if self.name == "Chinese":
            return self._write_ideographs(word)
        table = {}
        for latin, letter in zip(string.ascii_lowercase, ALPHABETS[self.name], strict=True):
            table[ord(latin)] = letter
            # For scripts without capitals, `upper` returns the same letter.
            table[ord(latin.upper())] = letter.upper()
        return word.translate(table)

    def write(self, text: str) -> str:
        """Write a text, whose Latin words are separated by spaces, in the script."""
        separator = " " if self.has_spaces else ""
        return separator.join([self.write_word(word) for word in text.split(" ")])

    def _write_ideographs(self, word: str) -> str:
        """Return one ideograph for a word of up to three letters, and two for a longer one.

        The ideographs depend on the letters of the word alone. A word without letters is kept.
        """
        letters = word.strip(string.punctuation).lower()
        if not letters:
            return word
        # Four bytes of the digest choose each ideograph.
        digest = hashlib.sha256(letters.encode()).digest()
        n_ideographs = 1 if len(letters) <= 3 else 2
        ideographs = ""
        for position in range(n_ideographs):
            number = int.from_bytes(digest[4 * position : 4 * position + 4], "big")
            ideographs += chr(FIRST_IDEOGRAPH + number % N_IDEOGRAPHS)
        return ideographs
