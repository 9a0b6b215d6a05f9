"""Does confidence match accuracy? Calibration errors, proper scores and selective prediction."""
