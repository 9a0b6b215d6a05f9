"""Commands that train and recalibrate."""
