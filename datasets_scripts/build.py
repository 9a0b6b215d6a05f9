"""Writes a data set as parquet files with the card in the folder of its name; see --help for the options.

python datasets_scripts/build.py sst2 --out sst2 --data-dir data
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rightreasons.datasets.builder import available_datasets
from rightreasons.datasets.publishing import publish


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Write a data set as parquet files with a card.")
    parser.add_argument(
        "name", choices=available_datasets(), metavar="NAME", help="a data set of the package"
    )
    parser.add_argument("--out", required=True, help="the folder to write")
    parser.add_argument(
        "--data-dir", help="the folder of local copies (or set RIGHTREASONS_DATA_DIR)"
    )
    parser.add_argument(
        "--config", action="append", dest="configs", help="a configuration; may be repeated"
    )
    parser.add_argument(
        "--other-versions",
        action="store_true",
        help="read local files other than the published ones",
    )
    options = vars(parser.parse_args(arguments))
    name = options.pop("name")
    card = Path(__file__).parent / name / "README.md"
    try:
        written = publish(
            name, options.pop("out"), card=card if card.is_file() else None, **options
        )
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print(f"{name}: written to {written}")


if __name__ == "__main__":
    main()
