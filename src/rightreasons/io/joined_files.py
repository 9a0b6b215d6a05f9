"""Items and answers in two files, which `--items` and `--answers` or a data.yaml name.

`rightreasons.io.joins` makes one table of the two files of `JoinedFiles`.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class JoinedFiles:
    """A source of items and a source of answers, which are joined by their ids.

    Attributes:
        items: Anything that `as_table` accepts: the items with their gold labels.
        answers: Anything that `as_table` accepts: the answers of a model, with one or several rows per item.
        join: The columns of the ids, such as "id=custom_id"; None to find them.
    """

    items: Any
    answers: Any
    join: str | None = None

    @property
    def name(self) -> str:
        """The names of both files, for messages."""
        return f"{name_file(self.answers)} for {name_file(self.items)}"


def name_file(source: Any) -> str:
    """Return the name of a file, or "the table" for a table in memory, for messages."""
    return Path(source).name if isinstance(source, (str, os.PathLike)) else "the table"
