"""Commands that prepare data and suites."""
