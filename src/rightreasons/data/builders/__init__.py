"""The machinery behind every data set: builders, the catalog, verified sources, publishing."""
