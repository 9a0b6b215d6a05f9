"""Ways to ask: how much of an accuracy is the format of the prompt, and whether an answer stands when it is doubted."""
