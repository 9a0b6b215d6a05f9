"""Which examples is a model fragile on? Rankings, overlap of sets, flips, data maps."""
