"""Files as tables of Arrow, one module per format; `readers.read_file` reads any of them."""
