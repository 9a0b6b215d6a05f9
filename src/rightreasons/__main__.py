"""`python -m rightreasons`, also under `accelerate launch -m rightreasons`."""

from rightreasons.cli import main

main()
