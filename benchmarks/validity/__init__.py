"""Every p-value and interval of the package, simulated under its null and over known truths."""
