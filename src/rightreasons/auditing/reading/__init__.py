"""What is done with a finished report: its figures by name, a gate, a model card."""
