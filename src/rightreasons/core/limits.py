"""Limits of tables, and of uploads to public pages."""

from __future__ import annotations

MAX_LINE_CHARACTERS = 1 << 26
"""Characters of one line of a text file."""

MAX_CELL_CHARACTERS = 1 << 24
"""Characters of one cell of a table."""

MAX_COLUMNS = 10_000
"""Columns of a table."""

# ---- what strangers may send to a public page: one visitor may not take the machine from all others

MAX_UPLOAD_BYTES = 50_000_000
"""Bytes of one uploaded file."""

MAX_UNPACKED_BYTES = 200_000_000
"""Bytes of what an uploaded file holds once it is unpacked."""

MAX_UPLOAD_ROWS = 1_000_000
"""Rows of an uploaded table."""

MAX_UPLOAD_CELLS = 10_000_000
"""Values of an uploaded table, those inside lists included."""

MAX_PAGE_ROWS = 10_000
"""Rows of a table that is typed into a page."""

MAX_PAGE_CHARACTERS = 100_000
"""Characters of one text that is typed into a page, or of one cell."""

MAX_PAGE_DRAWS = 10_000
"""Resamples, permutations or folds that a page computes."""
