"""The items of a report: on its page, in its files, and as a table for pandas."""
