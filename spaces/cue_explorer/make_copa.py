"""Write COPA's training items and the mirrors of Balanced COPA for the page.

    python spaces/cue_explorer/make_copa.py [DATA_DIR]

The items are downloaded, or read from the folder with the published files. They are no part of the
repository; the Space gets them when it is published. COPA: Roemmele, Bejan & Gordon 2011
(BSD-2-Clause). The mirrors: Kavumba et al. 2019 (MIT on its site, CC BY 4.0 on the Hub).
"""

import sys

from choice_sets import COPA_ITEMS

from rightreasons.datasets.builder import load_dataset


def main(data_dir: str | None) -> None:
    """Write originals and mirrors as one file."""
    items = load_dataset("balanced_copa", "balanced", split="train", data_dir=data_dir)
    items.to_csv(COPA_ITEMS, index=False)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
