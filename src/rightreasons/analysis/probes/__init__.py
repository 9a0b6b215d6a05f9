"""Does a model prefer answers before reading? Prior bias, choice paralysis, option order."""
