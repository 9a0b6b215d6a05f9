"""Texts as columns of token numbers: the tokenization that all word-level statistics share.

`intern_texts` and `intern_token_lists` return `InternedTexts` (`texts.py`). Words are found by
`scanning.py` and numbered by `pool.py`; `runs.py` has steps for rows that lie one after another.
"""

from rightreasons.core.interning.texts import InternedTexts as InternedTexts
from rightreasons.core.interning.texts import RowIndex as RowIndex
from rightreasons.core.interning.texts import intern_texts as intern_texts
from rightreasons.core.interning.texts import intern_token_lists as intern_token_lists
from rightreasons.core.interning.texts import sort_tokens as sort_tokens
