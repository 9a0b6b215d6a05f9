"""Does good behavior generalize? Expectations, pass rates and G scores."""
