"""`python -m rightreasons`, also under `accelerate launch -m rightreasons`."""

from __future__ import annotations

from rightreasons.cli import main

main()
