"""Limits of the size of tables, and of what strangers may send to a public page.

A page serves all visitors from one machine, so that no single one may use all of it.
"""

from __future__ import annotations

MAX_LINE_CHARACTERS = 1 << 26
"""Largest number of characters of one line of a text file."""

MAX_CELL_CHARACTERS = 1 << 24
"""Largest number of characters of one cell of a table."""

MAX_COLUMNS = 10_000
"""Largest number of columns of a table."""

MAX_UPLOAD_BYTES = 50_000_000
"""Largest size of an uploaded file."""

MAX_UNPACKED_BYTES = 200_000_000
"""Largest size of the content of an uploaded file once it is unpacked."""

MAX_UPLOAD_ROWS = 1_000_000
"""Largest number of rows of an uploaded table."""

MAX_UPLOAD_CELLS = 10_000_000
"""Largest number of values of an uploaded table, including those inside lists."""

MAX_PAGE_ROWS = 10_000
"""Largest number of rows of a table that is typed into a page."""

MAX_PAGE_CHARACTERS = 100_000
"""Largest number of characters of one text, or one cell, that is typed into a page."""

MAX_PAGE_DRAWS = 10_000
"""Largest number of resamples, permutations or folds that a page computes."""
