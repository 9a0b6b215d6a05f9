"""Known issues of data sets: tables, rules that find the items, and corrections."""
