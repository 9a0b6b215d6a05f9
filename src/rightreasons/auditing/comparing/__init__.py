"""Reports beside each other: two models item by item, checkpoints in a row."""
