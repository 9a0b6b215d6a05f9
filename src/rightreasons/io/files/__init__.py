"""Files as tables of Arrow, with a module for each format; `readers.read_file` reads a file of any format."""
