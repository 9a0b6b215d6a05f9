"""The report as a page: its parts, figures, plots and words."""
