"""The benchmark data sets, one file per family."""
