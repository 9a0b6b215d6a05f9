"""What the model says: scores, attributions, Fisher eigenvalues. With training, the only home of torch."""
