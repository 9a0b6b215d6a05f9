"""Writes pictures of the documents with few colors: `python docs/site/pictures.py FILE [FILE ...]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from PIL import Image

N_COLORS = 64
"""Enough for plots and screenshots of reports, at about a third of the bytes."""


def write_picture(source: Path | BinaryIO, target: Path) -> None:
    """Write a picture as PNG with a palette."""
    with Image.open(source) as image:
        image.convert("RGB").quantize(N_COLORS).save(target, optimize=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_picture(Path(name), Path(name))
