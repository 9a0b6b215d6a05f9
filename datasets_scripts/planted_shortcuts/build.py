"""Write planted_shortcuts as parquet files with a card; see --help for the options."""

from pathlib import Path

from rightreasons.data.builders.publish import main

if __name__ == "__main__":
    main("planted_shortcuts", card=Path(__file__).with_name("README.md"))
