"""Commands that read finished reports."""
