"""Known issues of data sets: tables, the rules that find the items, and what is done about them."""
