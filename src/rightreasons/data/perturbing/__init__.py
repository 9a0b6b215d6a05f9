"""Changes of texts and items: perturbations, confusion probes, mirrored items, substitutions."""
