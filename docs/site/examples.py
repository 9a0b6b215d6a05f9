"""Reads the `Example:` of a docstring as the section of doctests that it is."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = re.compile(r"^Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Names the section as griffe's reader of Google's style knows it."""

    def on_object(self, *, obj: griffe.Object, **options: Any) -> None:
        """Rename the heading in an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = HEADING.sub("Examples:", obj.docstring.value)
