"""Fine-tuning on the Trainer of transformers."""
