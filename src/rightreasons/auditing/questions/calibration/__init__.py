"""The section about calibration."""
