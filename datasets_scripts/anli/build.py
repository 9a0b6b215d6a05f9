"""Write anli as parquet files with a card; see --help for the options."""

from pathlib import Path

from rightreasons.data.builders.publish import main

if __name__ == "__main__":
    main("anli", card=Path(__file__).with_name("README.md"))
