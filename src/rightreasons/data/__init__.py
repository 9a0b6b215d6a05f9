"""What goes in: builders, sources and perturbations. Dataset in, Dataset out; no torch here."""
