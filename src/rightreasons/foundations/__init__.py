"""What every floor stands on: validation, results, randomness, numeric helpers. Knows numpy and scipy alone."""
